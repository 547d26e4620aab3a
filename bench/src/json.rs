//! The table, for programs.

use serde::Serialize;

use crate::Result;
use crate::measure::{Comparison, Run};

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

/// One object per model, in an array.
pub(crate) fn json(comparisons: &[Comparison]) -> Result<String> {
    let rows: Vec<Row<'_>> = comparisons
        .iter()
        .map(|comparison| Row {
            model: comparison.model,
            same_state_space: comparison.agrees(),
            raddle: (&comparison.raddle).into(),
            spin: comparison.spin.as_ref().map(Entry::from),
        })
        .collect();
    serde_json::to_string_pretty(&rows).map_err(|e| e.to_string())
}
