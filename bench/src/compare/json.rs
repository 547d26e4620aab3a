//! The comparison, for programs.

use serde::Serialize;

use crate::Result;
use crate::measure::{Comparison, Mean, Means, Run};

/// What was measured, and what follows from it.
#[derive(Serialize)]
struct Entry<'r> {
    #[serde(flatten)]
    run: &'r Run,
    transitions_per_second: Option<f64>,
    states_per_second: Option<f64>,
    bytes_per_state: Option<f64>,
}

impl<'r> From<&'r Run> for Entry<'r> {
    fn from(run: &'r Run) -> Self {
        Self {
            run,
            transitions_per_second: run.transitions_per_second(),
            states_per_second: run.states_per_second(),
            bytes_per_state: run.bytes_per_state(),
        }
    }
}

#[derive(Serialize)]
struct Row<'r> {
    model: &'r str,
    same_state_space: bool,
    raddle: Entry<'r>,
    spin: Option<Entry<'r>>,
}

/// Over the models that have a rate.
#[derive(Serialize)]
struct GeometricMean {
    models: Vec<&'static str>,
    raddle: Mean,
    spin: Option<Mean>,
    ratio: Option<Mean>,
}

#[derive(Serialize)]
struct Report<'r> {
    raddle_args: &'r [String],
    models: Vec<Row<'r>>,
    geometric_mean: Option<GeometricMean>,
}

/// One object, with one per model in it.
pub(super) fn json(comparisons: &[Comparison], raddle_args: &[String]) -> Result<String> {
    let models = comparisons.iter().map(|comparison| Row {
        model: comparison.model,
        same_state_space: comparison.agrees(),
        raddle: (&comparison.raddle).into(),
        spin: comparison.spin.as_ref().map(Entry::from),
    });
    let mean = |means: Means| GeometricMean {
        ratio: means.ratio(),
        models: means.models,
        raddle: means.raddle,
        spin: means.spin,
    };
    let report = Report {
        raddle_args,
        models: models.collect(),
        geometric_mean: Means::of(comparisons).map(mean),
    };
    serde_json::to_string_pretty(&report).map_err(|e| e.to_string())
}
