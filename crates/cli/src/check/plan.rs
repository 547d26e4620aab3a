//! Which reductions were used and why, in words.

use std::sync::Arc;

use raddle_explore::reductions::auto::Plan;
use raddle_machine::{Machine, Program};

use super::deadlocks::Reasons;
use super::searches::{DeadlockAnswer, Searched};
use super::strategy::Strategy;
use crate::args::Check;

/// Which reductions were used and why, in one line.
pub(super) fn line(searched: &Searched, args: &Check, program: &Arc<Program>) -> String {
    let first = searched.runs[0].asked.reduction;
    match (&searched.strategy, &searched.deadlocks) {
        (Strategy::Fixed { .. }, None) => format!("{first}, as asked for"),
        (Strategy::Fixed { .. }, Some(answer)) => {
            let lost = format!("deadlocks are not preserved by {first}");
            match answer {
                DeadlockAnswer::Excluded => format!("{lost}, but excluded by the lock order"),
                DeadlockAnswer::Possible(_) => {
                    let reasons = reasons(searched, args, program).unwrap_or_default();
                    format!("{lost}: there may be one, because {}", reasons.first())
                }
                DeadlockAnswer::NotLookedFor(why) => {
                    format!("{lost}: nothing is known about them, because {why}")
                }
            }
        }
        (Strategy::Auto(Plan::One { because, .. }), _) => {
            format!("auto: {first}, because {because}")
        }
        (Strategy::Auto(Plan::DeadlocksApart { deadlocks: by, .. }), answer) => match answer {
            None | Some(DeadlockAnswer::Excluded) => {
                format!("auto: {first}; deadlock excluded by the lock order")
            }
            Some(DeadlockAnswer::Possible(_)) => {
                let reasons = reasons(searched, args, program).unwrap_or_default();
                let why = reasons.first();
                // A trial may have shown that another one is better.
                let by = searched.runs.get(1).map_or(by, |run| &run.asked.reduction);
                format!("auto: {first}; deadlock checked by {by}, because {why}")
            }
            Some(DeadlockAnswer::NotLookedFor(why)) => {
                format!("auto: {first}; deadlock not looked for, because {why}")
            }
        },
    }
}

/// What a person should know about the choice, one or more lines; nothing if the user chose
/// and nothing was lost.
pub(super) fn remarks(searched: &Searched, args: &Check, program: &Arc<Program>) -> Vec<String> {
    let mut lines = match (&searched.strategy, &searched.deadlocks) {
        (Strategy::Fixed { .. }, None) => Vec::new(),
        (Strategy::Fixed { .. }, Some(DeadlockAnswer::Possible(_))) => {
            let first = searched.runs[0].asked.reduction;
            let reasons = reasons(searched, args, program).unwrap_or_default();
            let mut lines = vec![format!(
                "deadlocks are not preserved by {first}: there may be one, because"
            )];
            match reasons.list.as_slice() {
                [] => lines.push(format!("  {}", reasons.first())),
                list => {
                    let details = list.iter().flat_map(|reason| reason.lines());
                    lines.extend(details.map(|line| format!("  {line}")));
                }
            }
            lines.push("to find out: --reduction auto, or --property deadlock".into());
            lines
        }
        _ => vec![line(searched, args, program)],
    };
    lines.extend(searched.symmetry.iter().map(|group| interchangeable(group)));
    lines
}

/// `worker[0], worker[1] and worker[2] are interchangeable`
fn interchangeable(group: &[String]) -> String {
    let (last, others) = group.split_last().expect("a group has members");
    format!("{} and {last} are interchangeable", others.join(", "))
}

/// Why there may be a deadlock that was asked for and not looked for.
pub(super) fn open_reasons(
    searched: &Searched,
    args: &Check,
    program: &Arc<Program>,
) -> Option<Reasons> {
    match searched.strategy {
        Strategy::Fixed { .. } => reasons(searched, args, program),
        Strategy::Auto(_) => None,
    }
}

/// Why there may be a deadlock, as far as the first search tells.
fn reasons(searched: &Searched, args: &Check, program: &Arc<Program>) -> Option<Reasons> {
    let Some(DeadlockAnswer::Possible(possible)) = &searched.deadlocks else {
        return None;
    };
    let machine = Machine::new(Arc::clone(program), args.step.granularity.granularity());
    Some(Reasons::new(possible, &machine))
}
