//! The models, and the sizes at which they are run.

use std::path::{Path, PathBuf};

use crate::Result;

/// A model at one size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model {
    pub(crate) name: &'static str,
    rad: &'static str,
    pml: &'static str,
    /// Constants of the model that have another value than in the file.
    constants: &'static [(&'static str, u32)],
}

/// The files of a model, ready to be run.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    pub(crate) directory: PathBuf,
    pub(crate) rad: PathBuf,
    pub(crate) pml: PathBuf,
}

macro_rules! model {
    ($name:literal, $file:literal $(, $constant:ident = $value:literal)*) => {
        Model {
            name: $name,
            rad: include_str!(concat!("../models/", $file, ".rad")),
            pml: include_str!(concat!("../models/", $file, ".pml")),
            constants: &[$((stringify!($constant), $value)),*],
        }
    };
}

const MODELS: &[Model] = &[
    model!("bakery-3", "bakery"),
    model!("bakery-4", "bakery", N = 4, LIMIT = 4),
    model!("filter-lock-3", "filter-lock"),
    model!("filter-lock-4", "filter-lock", N = 4),
    model!("philosophers-8", "philosophers"),
    model!("philosophers-9", "philosophers", N = 9),
    model!("philosophers-10", "philosophers", N = 10),
    model!("readers-writers", "readers-writers"),
    model!("counters-private", "counters-private"),
    model!("counters-shared", "counters-shared"),
];

/// Each at a size that takes no time, and the states and transitions that it has: what both tools
/// count without reduction.
pub(crate) const SMALL: &[(Model, (u64, u64))] = &[
    (
        model!("bakery-small", "bakery", LIMIT = 3),
        (22_390, 67_170),
    ),
    (model!("filter-lock-small", "filter-lock"), (2_390, 7_170)),
    (
        model!("philosophers-small", "philosophers", N = 4),
        (159, 392),
    ),
    (
        model!(
            "readers-writers-small",
            "readers-writers",
            READERS = 3,
            WRITERS = 2
        ),
        (924, 2_000),
    ),
    (
        model!("counters-private-small", "counters-private", N = 3, K = 4),
        (125, 300),
    ),
    (
        model!("counters-shared-small", "counters-shared", K = 3),
        (7_646, 18_843),
    ),
];

/// How large the models are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sizes {
    /// Large enough to be measured.
    Measured,
    /// Just large enough to see whether the tools agree.
    Small,
}

/// The models whose names begin with one of the prefixes; all if there is no prefix.
pub(crate) fn selected(sizes: Sizes, prefixes: &[String]) -> Result<Vec<&'static Model>> {
    let all: Vec<&Model> = match sizes {
        Sizes::Measured => MODELS.iter().collect(),
        Sizes::Small => SMALL.iter().map(|(model, _)| model).collect(),
    };
    let names: Vec<_> = all.iter().map(|model| model.name).collect();
    let matches = |model: &Model, prefix: &String| model.name.starts_with(prefix);
    if let Some(unknown) =
        (prefixes.iter()).find(|prefix| !all.iter().any(|model| matches(model, prefix)))
    {
        return Err(format!(
            "there is no model `{unknown}`; there are: {}",
            names.join(", ")
        ));
    }
    let wanted = |model: &&Model| {
        prefixes.is_empty() || prefixes.iter().any(|prefix| matches(model, prefix))
    };
    Ok(all.into_iter().filter(wanted).collect())
}

impl Model {
    /// Writes both files to a directory of their own.
    pub(crate) fn write(&self, work: &Path) -> Result<Files> {
        let directory = work.join(self.name);
        let files = Files {
            rad: directory.join("model.rad"),
            pml: directory.join("model.pml"),
            directory,
        };
        let write = || {
            std::fs::create_dir_all(&files.directory)?;
            std::fs::write(&files.rad, self.program())?;
            std::fs::write(&files.pml, self.promela())
        };
        write().map_err(|e| format!("{}: {e}", files.directory.display()))?;
        Ok(files)
    }

    pub(crate) fn program(&self) -> String {
        self.instance(self.rad, |name| format!("const int {name} = "), ";")
    }

    fn promela(&self) -> String {
        self.instance(self.pml, |name| format!("#define {name} "), "")
    }

    /// The text with the values of constants replaced.
    fn instance(&self, text: &str, before: impl Fn(&str) -> String, after: &str) -> String {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (name, value) in self.constants {
            let before = before(name);
            for line in lines.iter_mut().filter(|line| line.starts_with(&before)) {
                *line = format!("{before}{value}{after}");
            }
        }
        lines.push(String::new());
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = &'static Model> {
        MODELS.iter().chain(SMALL.iter().map(|(model, _)| model))
    }

    #[test]
    fn models_are_selected_by_how_they_begin() {
        let names = |prefixes: &[&str]| {
            let prefixes: Vec<String> = prefixes.iter().map(|&prefix| prefix.into()).collect();
            let models = selected(Sizes::Measured, &prefixes)?;
            Result::Ok(models.iter().map(|model| model.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap().len(), MODELS.len());
        assert_eq!(names(&["bakery"]).unwrap(), ["bakery-3", "bakery-4"]);
        assert_eq!(
            names(&["readers", "bakery-3"]).unwrap(),
            ["bakery-3", "readers-writers"]
        );
        assert!(names(&["bakery", "baker's"]).is_err());
    }

    #[test]
    fn every_constant_is_in_both_files() {
        for model in all() {
            for (name, value) in model.constants {
                let program = format!("const int {name} = {value};\n");
                assert!(model.program().contains(&program), "{}", model.name);
                let promela = format!("#define {name} {value}\n");
                assert!(model.promela().contains(&promela), "{}", model.name);
            }
        }
    }

    /// A constant that is not replaced must not differ either.
    #[test]
    fn both_files_have_the_same_constants() {
        for model in all() {
            let mut constants = 0;
            for line in model.program().lines() {
                let Some(constant) = line.strip_prefix("const int ") else {
                    continue;
                };
                let (name, value) = constant.trim_end_matches(';').split_once(" = ").unwrap();
                let define = format!("#define {name} {value}\n");
                assert!(
                    model.promela().contains(&define),
                    "{}: {define}",
                    model.name
                );
                constants += 1;
            }
            assert!(constants > 0, "{}", model.name);
        }
    }
}
