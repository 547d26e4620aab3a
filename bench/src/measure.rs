//! Measuring both tools on one model.

use std::path::Path;

use serde::Serialize;

use crate::Result;
use crate::model::Model;
use crate::raddle::Raddle;
use crate::spin::{PartialOrderReduction, Verifier};

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
    /// States and transitions.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.states, self.transitions)
    }

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
        (self.spin.as_ref()).is_none_or(|spin| spin.counts() == self.raddle.counts())
    }

    /// A number of each tool that was run, if all of them have it.
    fn numbers(&self, of: impl Fn(&Run) -> Option<f64>) -> Option<(f64, Option<f64>)> {
        let raddle = of(&self.raddle)?;
        match &self.spin {
            None => Some((raddle, None)),
            Some(spin) => Some((raddle, Some(of(spin)?))),
        }
    }
}

/// The geometric means of the models that every tool took long enough for to have a rate: of
/// the others, the bytes say as little as the times.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Means {
    pub(crate) models: Vec<&'static str>,
    pub(crate) raddle: Mean,
    pub(crate) spin: Option<Mean>,
}

/// The geometric means of one tool, or the ratios of two.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Mean {
    pub(crate) transitions_per_second: f64,
    pub(crate) bytes_per_state: f64,
}

impl Means {
    /// Nothing if no model took long enough.
    pub(crate) fn of(comparisons: &[Comparison]) -> Option<Self> {
        let mut models = Vec::new();
        let (mut raddle, mut spin) = (Logarithms::default(), Logarithms::default());
        for comparison in comparisons {
            let rates = comparison.numbers(Run::transitions_per_second);
            let bytes = comparison.numbers(Run::bytes_per_state);
            let Some((rates, bytes)) = rates.zip(bytes) else {
                continue;
            };
            models.push(comparison.model);
            raddle.add(rates.0, bytes.0);
            if let Some((rate, bytes)) = rates.1.zip(bytes.1) {
                spin.add(rate, bytes);
            }
        }
        Some(Self {
            models,
            raddle: raddle.mean()?,
            spin: spin.mean(),
        })
    }

    /// Those of Raddle by those of SPIN; as means are geometric, also the means of the ratios.
    pub(crate) fn ratio(&self) -> Option<Mean> {
        self.spin.map(|spin| Mean {
            transitions_per_second: self.raddle.transitions_per_second
                / spin.transitions_per_second,
            bytes_per_state: self.raddle.bytes_per_state / spin.bytes_per_state,
        })
    }
}

#[derive(Default)]
struct Logarithms {
    count: u32,
    rate: f64,
    bytes: f64,
}

impl Logarithms {
    fn add(&mut self, rate: f64, bytes: f64) {
        self.count += 1;
        self.rate += rate.ln();
        self.bytes += bytes.ln();
    }

    fn mean(&self) -> Option<Mean> {
        let count = f64::from(self.count);
        (self.count > 0).then(|| Mean {
            transitions_per_second: (self.rate / count).exp(),
            bytes_per_state: (self.bytes / count).exp(),
        })
    }
}

/// What to measure.
#[derive(Clone, Debug)]
pub(crate) struct Tools {
    pub(crate) raddle: Raddle,
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
            keep_better(&mut best_raddle, self.raddle.check(&files.rad)?)?;
            if let Some(verifier) = &verifier {
                keep_better(&mut best_spin, verifier.check()?)?;
            }
        }
        Ok(Comparison {
            model: model.name,
            raddle: best_raddle.ok_or("nothing was measured")?,
            spin: best_spin,
        })
    }
}

/// Keeps the faster of two runs, which must have counted the same.
fn keep_better(best: &mut Option<Run>, run: Run) -> Result<()> {
    match best {
        Some(known) if known.counts() != run.counts() => Err(format!(
            "two runs of one tool differ in states and transitions: {:?}, {:?}",
            known.counts(),
            run.counts()
        )),
        Some(known) if known.user_seconds <= run.user_seconds => Ok(()),
        _ => {
            *best = Some(run);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::model::SMALL;
    use crate::{spin, work_directory};

    fn run(states: u64, transitions: u64, user_seconds: f64) -> Run {
        Run {
            states,
            transitions,
            depth: 1,
            user_seconds,
            system_seconds: 0.0,
            own_seconds: None,
            search_bytes: Some(40 * states),
            state_bytes: None,
            total_bytes: None,
        }
    }

    fn compared(raddle: Run, spin: Option<Run>) -> Comparison {
        let model = "some model";
        Comparison {
            model,
            raddle,
            spin,
        }
    }

    /// What both tools count without reduction. So this notices a search that is reduced even
    /// where SPIN is not installed, and where it is, a model that is not the same in both
    /// languages. (Nothing is written by `eprintln!`, which nobody sees if a test passes.)
    #[test]
    fn the_tools_agree_on_small_models() {
        let has_spin = spin::is_installed();
        if !has_spin {
            let note = "skipped, as spin or gcc is not installed: the comparison with SPIN\n";
            std::io::stderr().write_all(note.as_bytes()).unwrap();
        }
        let tools = Tools {
            raddle: Raddle::of_tests().unwrap(),
            spin: has_spin,
        };
        let work = work_directory().unwrap();
        for (model, counts) in SMALL {
            let comparison = tools.compare(model, &work, 1).unwrap();
            assert_eq!(comparison.raddle.counts(), *counts, "{}", model.name);
            assert_eq!(comparison.spin.is_some(), has_spin);
            assert!(comparison.agrees(), "{comparison:?}");
        }
    }

    #[test]
    fn tools_that_count_differently_disagree() {
        let spin = || Some(run(100, 300, 1.0));
        assert!(compared(run(100, 300, 2.0), spin()).agrees());
        assert!(!compared(run(99, 300, 2.0), spin()).agrees());
        assert!(!compared(run(100, 299, 2.0), spin()).agrees());
        assert!(compared(run(99, 299, 2.0), None).agrees());
    }

    #[test]
    fn the_best_run_is_kept_and_all_must_count_the_same() {
        let mut best = None;
        for seconds in [3.0, 1.0, 2.0] {
            keep_better(&mut best, run(100, 300, seconds)).unwrap();
        }
        assert_eq!(best.as_ref().unwrap().user_seconds, 1.0);
        assert!(keep_better(&mut best, run(100, 301, 0.5)).is_err());
    }

    #[test]
    fn means_are_geometric_and_leave_out_what_is_too_short() {
        let comparisons = [
            compared(run(100, 400, 1.0), Some(run(100, 400, 1.0))),
            compared(run(100, 100, 4.0), Some(run(100, 100, 1.0))),
            compared(run(100, 900, 1.0), Some(run(100, 900, 0.01))),
        ];
        let means = Means::of(&comparisons).unwrap();
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert_eq!(means.models.len(), 2);
        assert!(close(means.raddle.transitions_per_second, 100.0));
        assert!(close(means.raddle.bytes_per_state, 40.0));
        let ratio = means.ratio().unwrap();
        assert!(close(ratio.transitions_per_second, 0.5));
        assert!(close(ratio.bytes_per_state, 1.0));

        let alone = comparisons.map(|comparison| compared(comparison.raddle, None));
        let means = Means::of(&alone).unwrap();
        assert_eq!((means.models.len(), means.ratio()), (3, None));
        assert_eq!(Means::of(&[compared(run(1, 1, 0.0), None)]), None);
    }
}
