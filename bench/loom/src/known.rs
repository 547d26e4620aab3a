//! What came of crates that were run, kept beside their copies: a page can be written of several runs.

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::data::Crate;
use crate::{CrateResult, Options, Test};

#[derive(Serialize, Deserialize)]
struct Kept {
    /// The most CPU seconds that a test had.
    cap: u32,
    tests: Vec<Test>,
}

fn path(krate: &Crate, options: &Options) -> PathBuf {
    let name = format!("{}-{}.toml", krate.name, krate.version);
    options.work.join("results").join(name)
}

/// Keeps what came of a crate whose tests were run.
pub(crate) fn keep(result: &CrateResult, options: &Options) -> Result<(), String> {
    let kept = Kept {
        cap: options.cap,
        tests: result.tests.clone(),
    };
    let path = path(&result.krate, options);
    let text = toml::to_string(&kept).map_err(|error| error.to_string())?;
    fs::create_dir_all(options.work.join("results"))
        .and_then(|()| fs::write(&path, text))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// What came of a crate, if it was run with this limit.
pub(crate) fn recall(krate: &Crate, options: &Options) -> Option<CrateResult> {
    let text = fs::read_to_string(path(krate, options)).ok()?;
    let kept: Kept = toml::from_str(&text).ok()?;
    (kept.cap == options.cap).then(|| CrateResult {
        krate: krate.clone(),
        tests: kept.tests,
        broken: None,
    })
}
