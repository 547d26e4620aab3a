//! Measuring both tools on one model.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::model::Model;
use crate::spin::{PartialOrderReduction, Verifier};
use crate::{Result, raddle};

/// CPU times below this say nothing: the clock ticks every 0.01 s.
const SHORTEST: f64 = 0.1;

/// One run of one tool.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Run {
    pub(crate) states: u64,
    pub(crate) transitions: u64,
    pub(crate) depth: u64,
    pub(crate) user_seconds: f64,
    pub(crate) system_seconds: f64,
    /// The time that the tool itself reports: elapsed for Raddle, CPU for SPIN.
    pub(crate) own_seconds: Option<f64>,
    /// The memory of the search: states, hash table, and the links or the stack that lead to
    /// a counterexample.
    pub(crate) search_bytes: Option<u64>,
    /// The states alone, if the tool tells.
    pub(crate) state_bytes: Option<u64>,
    /// The memory of the whole process.
    pub(crate) total_bytes: Option<u64>,
}

impl Run {
    pub(crate) fn states_per_second(&self) -> Option<f64> {
        self.per_second(self.states)
    }

    pub(crate) fn transitions_per_second(&self) -> Option<f64> {
        self.per_second(self.transitions)
    }

    fn per_second(&self, count: u64) -> Option<f64> {
        (self.user_seconds >= SHORTEST).then(|| count as f64 / self.user_seconds)
    }

    /// Bytes of the search per state.
    pub(crate) fn bytes_per_state(&self) -> Option<f64> {
        Some(self.search_bytes? as f64 / self.states as f64)
    }

    /// Bytes per state without hash table, links and stack.
    pub(crate) fn bare_bytes_per_state(&self) -> Option<f64> {
        Some(self.state_bytes? as f64 / self.states as f64)
    }
}

/// The best runs of both tools on one model.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) model: &'static str,
    pub(crate) raddle: Run,
    pub(crate) spin: Option<Run>,
}

impl Comparison {
    /// Whether the tools have seen the same state space.
    pub(crate) fn agrees(&self) -> bool {
        self.spin.as_ref().is_none_or(|spin| {
            (spin.states, spin.transitions) == (self.raddle.states, self.raddle.transitions)
        })
    }
}

/// What to measure.
#[derive(Clone, Debug)]
pub(crate) struct Tools {
    pub(crate) raddle: PathBuf,
    pub(crate) spin: bool,
}

impl Tools {
    /// Runs the tools in turns, so that both have their share of what else the machine does,
    /// and keeps the best run of each.
    pub(crate) fn compare(&self, model: &Model, work: &Path, repeat: u32) -> Result<Comparison> {
        let files = model.write(work)?;
        let compile = || Verifier::compile(&files, PartialOrderReduction::Off);
        let verifier = self.spin.then(compile).transpose()?;
        let mut best_raddle = None;
        let mut best_spin = None;
        for _ in 0..repeat.max(1) {
            keep_better(&mut best_raddle, raddle::check(&self.raddle, &files.rad)?);
            if let Some(verifier) = &verifier {
                keep_better(&mut best_spin, verifier.check()?);
            }
        }
        Ok(Comparison {
            model: model.name,
            raddle: best_raddle.ok_or("nothing was measured")?,
            spin: best_spin,
        })
    }
}

fn keep_better(best: &mut Option<Run>, run: Run) {
    if best
        .as_ref()
        .is_none_or(|best| run.user_seconds < best.user_seconds)
    {
        *best = Some(run);
    }
}
