//! What programs read: the report of a check and the trace file.
//!
//! Every command prints one [`CheckReport`], but for those that take several files. Fields are printed in the order in which they
//! are declared here and are never left out: what is not known is `null`. A reader can
//! rely on [`VERSION`]: it grows when a field changes its meaning or goes away.

mod comparison;
mod report;
mod run;
#[cfg(test)]
mod tests;
mod trace_file;
mod violation;

pub use comparison::{ComparedFile, ComparedRow, Comparison, Disagreement, Found};
pub use report::{
    Assumption, CheckReport, Diagnostic, Exploration, Severity, Statistics, Unreached, VERSION,
};
pub use run::{PossibleDeadlock, PossibleDeadlockKind, Run};
pub use trace_file::{
    ScheduledMove, TRACE_VERSION, TraceError, TraceFile, TracedProgram, TracedViolation,
};
pub use violation::{Remark, Trace, TraceStep, Violation, ViolationKind};

/// A value as indented JSON with a newline at the end.
pub(crate) fn pretty(value: &impl serde::Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value)
        .expect("no map has keys other than strings, and nothing else can fail");
    text.push('\n');
    text
}
