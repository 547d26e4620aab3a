//! Running Raddle.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Result;
use crate::args::Measured;
use crate::cpu;
use crate::measure::Run;

/// The reduction of every search that is measured here: none. By default `raddle check`
/// chooses one, and what is left of the models then says nothing about the speed of the search.
const REDUCTION: &str = "full";

/// Which `raddle` is run, and how.
#[derive(Clone, Debug)]
pub(crate) struct Raddle {
    executable: PathBuf,
    /// More arguments of `raddle check`.
    extra: Vec<String>,
}

impl Raddle {
    /// What the command line asks for.
    pub(crate) fn asked_for(args: &Measured) -> Result<Self> {
        Ok(Self {
            executable: match &args.raddle {
                Some(path) => path.clone(),
                None => build("release")?,
            },
            extra: args.raddle_args(),
        })
    }

    /// The program and the arguments that check a model, all of it, and report it as JSON.
    pub(crate) fn command_line(&self, model: &Path) -> Vec<String> {
        self.command_line_with(model, &["--reduction", REDUCTION])
    }

    /// The same, with a reduction or other options.
    pub(crate) fn command_line_with(&self, model: &Path, way: &[&str]) -> Vec<String> {
        let options = ["check", "--all", "--quiet", "--format", "json"];
        let mut line = vec![self.executable.display().to_string()];
        line.extend(options.iter().chain(way).map(|&option| option.to_owned()));
        line.extend(self.extra.iter().cloned());
        line.push(model.display().to_string());
        line
    }

    /// Checks a model, all of it.
    pub(crate) fn check(&self, model: &Path) -> Result<Run> {
        let line = self.command_line(model);
        let finished = cpu::run(Command::new(&line[0]).args(&line[1..]))?;
        Run::reported_by_raddle(&finished.output, finished.user, finished.system)
    }
}

impl Run {
    /// What the report of a search says, if that verified the model without a reduction.
    pub(crate) fn reported_by_raddle(report: &str, user: f64, system: f64) -> Result<Self> {
        let parsed: Value = serde_json::from_str(report).map_err(|e| e.to_string())?;
        let is = |field: &str, expected: &str| match parsed[field] == expected {
            true => Ok(()),
            false => Err(format!(
                "{field} is {} and not {expected}: {report}",
                parsed[field]
            )),
        };
        is("verdict", "verified")?;
        is("reduction", REDUCTION)?;
        parse(&parsed, user, system).ok_or_else(|| format!("not a report of raddle: {report}"))
    }
}

fn parse(report: &Value, user: f64, system: f64) -> Option<Run> {
    Some(Run {
        states: report["states"].as_u64()?,
        transitions: report["transitions"].as_u64()?,
        depth: report["depth"].as_u64()?,
        user_seconds: user,
        system_seconds: system,
        own_seconds: report["seconds"].as_f64(),
        search_bytes: Some(report["statistics"]["search_memory_bytes"].as_u64()?),
        state_bytes: None,
        total_bytes: report["peak_memory_bytes"].as_u64(),
    })
}

/// Builds the `raddle` of this workspace; gives the executable.
fn build(profile: &str) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let built = Command::new(cargo)
        // All of the workspace decides on features: whoever has built that need not build again.
        .args(["build", "--workspace", "--bin", "raddle", "--locked"])
        .args([
            "--profile",
            profile,
            "--message-format",
            "json-render-diagnostics",
        ])
        .args(["--manifest-path", manifest])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cargo: {e}"))?;
    let messages = String::from_utf8_lossy(&built.stdout);
    let executable = executable(&messages).filter(|_| built.status.success());
    executable.ok_or_else(|| "raddle was not built; name it by --raddle".into())
}

/// The executable that cargo has built, by its messages.
fn executable(messages: &str) -> Option<PathBuf> {
    let mut paths = messages.lines().filter_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_raddle = message["target"]["name"] == "raddle";
        let path = message["executable"].as_str().filter(|_| is_raddle)?;
        Some(PathBuf::from(path))
    });
    paths.next()
}

#[cfg(test)]
impl Raddle {
    /// The one that tests of this workspace use.
    pub(crate) fn of_tests() -> Result<Self> {
        Ok(Self {
            executable: build("test")?,
            extra: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"{
        "version": 1, "verdict": "verified", "reduction": "full", "states": 42,
        "transitions": 99, "depth": 7, "seconds": 0.5, "peak_memory_bytes": 4096,
        "statistics": {"search_memory_bytes": 2048}
    }"#;

    #[test]
    fn reads_a_report() {
        let run = Run::reported_by_raddle(REPORT, 0.4, 0.1).unwrap();
        assert_eq!((run.states, run.transitions, run.depth), (42, 99, 7));
        assert_eq!(
            (run.search_bytes, run.total_bytes),
            (Some(2048), Some(4096))
        );
    }

    #[test]
    fn only_a_verified_model_counts_and_only_without_reduction() {
        for (what, instead) in [
            ("verified", "violation"),
            ("full", "cartesian"),
            ("states", "paths"),
        ] {
            let report = REPORT.replace(what, instead);
            let error = Run::reported_by_raddle(&report, 0.4, 0.1).unwrap_err();
            assert!(error.contains(instead), "{error}");
        }
    }

    #[test]
    fn more_arguments_come_before_the_model() {
        let raddle = Raddle {
            executable: "raddle".into(),
            extra: vec!["--search".into(), "dfs".into()],
        };
        let line = raddle.command_line(Path::new("m.rad")).join(" ");
        assert_eq!(
            line,
            "raddle check --all --quiet --format json --reduction full --search dfs m.rad"
        );
    }

    #[test]
    fn finds_what_cargo_has_built() {
        let messages = r#"
            {"reason":"compiler-artifact","target":{"name":"serde"},"executable":null}
            {"reason":"compiler-artifact","target":{"name":"raddle"},"executable":null}
            {"reason":"compiler-artifact","target":{"name":"raddle"},"executable":"/t/raddle"}
            {"reason":"build-finished","success":true}"#;
        assert_eq!(executable(messages), Some(PathBuf::from("/t/raddle")));
        assert_eq!(executable(""), None);
    }
}
