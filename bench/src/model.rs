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

/// The models whose names begin with one of the prefixes; all if there is no prefix.
pub(crate) fn selected(prefixes: &[String]) -> Result<Vec<&'static Model>> {
    let wanted = |model: &&Model| {
        prefixes.is_empty() || prefixes.iter().any(|prefix| model.name.starts_with(prefix))
    };
    let models: Vec<_> = MODELS.iter().filter(wanted).collect();
    if models.is_empty() {
        let names: Vec<_> = MODELS.iter().map(|model| model.name).collect();
        return Err(format!(
            "there is no such model; there are: {}",
            names.join(", ")
        ));
    }
    Ok(models)
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

    #[test]
    fn every_constant_is_in_both_files() {
        for model in MODELS {
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
        for model in MODELS {
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
