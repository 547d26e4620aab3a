//! Memory models: which way of checking goes with which, and what is said of orderings that were not explored.

use raddle_graphs::Model;
use raddle_machine::Program;
use raddle_outcome::Kind;
use raddle_schedule::explorers::Entry;

use super::findings::Findings;
use crate::args::{Check, Explore, MemoryArg};
use crate::orderings;

/// A way to check.
pub(super) enum Way {
    /// Searches that store states.
    Searches,
    /// Executions one by one, sequentially consistent.
    Executions(&'static Entry),
    /// Execution graphs.
    Graphs(Model),
}

/// The way that the arguments ask for, or what is wrong with them.
pub(super) fn way(args: &Check) -> Result<Way, String> {
    let model = args.memory.map(|memory| match memory {
        MemoryArg::Sc => Model::Sc,
        MemoryArg::Ra => Model::Ra,
        MemoryArg::Rc11 => Model::Rc11,
    });
    match (args.explore, model) {
        (Some(Explore::Graphs), model) => Ok(Way::Graphs(model.unwrap_or(Model::Rc11))),
        (None, None | Some(Model::Sc)) => Ok(Way::Searches),
        (Some(Explore::Executions(how)), None | Some(Model::Sc)) => Ok(Way::Executions(how)),
        // A class of executions is a graph.
        (Some(Explore::Executions(how)), Some(weak)) if how.name == "optimal" => {
            Ok(Way::Graphs(weak))
        }
        (Some(how), Some(weak)) => Err(format!(
            "`--explore {}` runs interleavings of steps, and `--memory {weak}` has executions that are none; \
             `--explore optimal --memory {weak}` explores these",
            how.name(),
            weak = weak.name(),
        )),
        (None, Some(weak)) => Err(format!(
            "a search that stores states is sequentially consistent; `--explore optimal --memory {}` explores \
             the executions of that memory model",
            weak.name(),
        )),
    }
}

/// Why a program is not run as sequentially consistent, unless somebody says so.
pub(super) fn problem(args: &Check, program: &Program) -> Option<String> {
    if args.memory.is_some() {
        return None;
    }
    let complaint = orderings::complaint(program)?;
    let what = match args.explore {
        Some(how) => format!("`--explore {}` runs", how.name()),
        None => "a search that stores states runs".into(),
    };
    Some(format!(
        "{complaint}, and {what} everything as sequentially consistent; `--explore optimal --memory rc11` explores \
         what the orderings allow, `--memory sc` ignores them, which the verdict then says"
    ))
}

/// The program was run as sequentially consistent.
pub(super) fn assume(findings: &mut Findings, program: &Program) {
    for place in orderings::weaker(program) {
        findings.explored.assume(Kind::WeakOrdering.at(place));
    }
}
