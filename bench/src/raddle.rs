//! Running Raddle.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Result;
use crate::cpu;
use crate::measure::Run;

/// Builds the `raddle` of this workspace; gives the executable, which is next to this one.
pub(crate) fn build() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let built = Command::new(cargo)
        .args([
            "build",
            "--release",
            "--package",
            "raddle-cli",
            "--manifest-path",
            manifest,
        ])
        .status()
        .map_err(|e| format!("cargo: {e}"))?;
    let raddle = std::env::current_exe()
        .map_err(|e| e.to_string())?
        .with_file_name(format!("raddle{}", std::env::consts::EXE_SUFFIX));
    match built.success() && raddle.exists() {
        true => Ok(raddle),
        false => Err(format!(
            "{} was not built; name it by --raddle",
            raddle.display()
        )),
    }
}

/// Checks a model, all of it.
pub(crate) fn check(raddle: &Path, model: &Path) -> Result<Run> {
    let finished = cpu::run(
        Command::new(raddle)
            .args(["check", "--all", "--quiet", "--format", "json"])
            .arg(model),
    )?;
    let report: Value = serde_json::from_str(&finished.output).map_err(|e| e.to_string())?;
    parse(&report, finished.user, finished.system)
        .ok_or_else(|| format!("not the report of a verified model: {}", finished.output))
}

fn parse(report: &Value, user: f64, system: f64) -> Option<Run> {
    if report["verdict"] != "verified" {
        return None;
    }
    let states = report["states"].as_u64()?;
    let search = report["statistics"]["search_memory_bytes"].as_u64()?;
    Some(Run {
        states,
        transitions: report["transitions"].as_u64()?,
        depth: report["depth"].as_u64()?,
        user_seconds: user,
        system_seconds: system,
        own_seconds: report["seconds"].as_f64(),
        search_bytes: Some(search),
        state_bytes: None,
        total_bytes: report["peak_memory_bytes"].as_u64(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_report() {
        let report = r#"{
            "version": 1, "verdict": "verified", "states": 42, "transitions": 99,
            "depth": 7, "seconds": 0.5, "peak_memory_bytes": 4096,
            "statistics": {"search_memory_bytes": 2048}
        }"#;
        let run = parse(&serde_json::from_str(report).unwrap(), 0.4, 0.1).unwrap();
        assert_eq!((run.states, run.transitions, run.depth), (42, 99, 7));
        assert_eq!(
            (run.search_bytes, run.total_bytes),
            (Some(2048), Some(4096))
        );
        let violation = report.replace("verified", "violation");
        assert!(parse(&serde_json::from_str(&violation).unwrap(), 0.4, 0.1).is_none());
    }
}
