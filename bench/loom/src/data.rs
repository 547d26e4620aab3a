//! `crates.toml`: which tests are run how, and what is expected of them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    #[serde(rename = "crate")]
    crates: Vec<Crate>,
}

/// A published crate with tests for loom.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Crate {
    pub(crate) name: String,
    pub(crate) version: String,
    /// What `--cfg` it is built with.
    pub(crate) cfg: Vec<String>,
    #[serde(default)]
    pub(crate) features: Vec<String>,
    #[serde(default)]
    pub(crate) no_default_features: bool,
    /// What cargo is told to test: `--lib`, `--test loom`, `--tests`.
    pub(crate) target: Vec<String>,
    /// Only tests whose names contain one of these, if there are any.
    #[serde(default)]
    pub(crate) only: Vec<String>,
    /// Whether to build with debug assertions.
    #[serde(default)]
    pub(crate) debug_assertions: bool,
    /// `LOOM_MAX_PREEMPTIONS`.
    pub(crate) bound: Option<u32>,
    /// The version of loom that it uses, if that is not 0.7.
    pub(crate) loom: Option<String>,
    /// Lines that its manifest needs to be built alone, with what they are replaced by.
    #[serde(default)]
    pub(crate) replace: BTreeMap<String, String>,
    /// What is expected of tests that do not pass, by name: `fails: ` or `limit: ` and why.
    #[serde(default)]
    pub(crate) expected: BTreeMap<String, String>,
}

/// What is expected of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    Passes,
    /// It fails, for this reason.
    Fails(String),
    /// It does not end within the limit, maybe.
    Limit(String),
}

impl Crate {
    pub(crate) fn expected_of(&self, test: &str) -> Expected {
        match self.expected.get(test) {
            None => Expected::Passes,
            Some(text) => match text.split_once(": ") {
                Some(("limit", why)) => Expected::Limit(why.into()),
                _ => Expected::Fails(text.trim_start_matches("fails: ").into()),
            },
        }
    }
}

pub(crate) fn read(path: &Path) -> Result<Vec<Crate>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let file: File = toml::from_str(&text).map_err(|error| error.to_string())?;
    for krate in &file.crates {
        for (test, text) in &krate.expected {
            let kind = text.split_once(": ").map(|parts| parts.0);
            if !matches!(kind, Some("fails" | "limit")) {
                return Err(format!(
                    "{} of {}: what is expected begins with `fails: ` or `limit: `",
                    test, krate.name
                ));
            }
        }
    }
    Ok(file.crates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_crates_can_be_read() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates.toml");
        let crates = read(&path).unwrap();
        assert!(crates.len() > 10);
        let names: std::collections::BTreeSet<_> = crates.iter().map(|one| &one.name).collect();
        assert_eq!(names.len(), crates.len(), "each has one entry");
    }

    #[test]
    fn what_is_not_said_to_fail_passes() {
        let text = "name = \"a\"\nversion = \"1.0.0\"\ncfg = []\ntarget = [\"--lib\"]\n\
                    [expected]\none = \"fails: for a reason\"\ntwo = \"limit: too large\"\n";
        let krate: Crate = toml::from_str(text).unwrap();
        assert_eq!(
            krate.expected_of("one"),
            Expected::Fails("for a reason".into())
        );
        assert_eq!(
            krate.expected_of("two"),
            Expected::Limit("too large".into())
        );
        assert_eq!(krate.expected_of("three"), Expected::Passes);
    }
}
