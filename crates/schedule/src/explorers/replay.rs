//! One given schedule.

use raddle_outcome::{Coverage, Extent, Kind, LeftOut};

use crate::execution::{Diverged, Execution, Move, Observed, Readiness, ThreadId};
use crate::explorer::{Explorer, Omission, Visitor, default_thread};
use crate::trace::Trace;

/// Runs one execution: the moves that are given, then each thread as long as it can.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The moves, with threads numbered in the order in which this execution starts them.
    pub schedule: Vec<Move>,
}

impl Explorer for Replay {
    fn explore<X: Execution>(
        &mut self,
        execution: &mut X,
        visitor: &mut impl Visitor<X>,
    ) -> Result<Coverage, Diverged> {
        let mut left_out = LeftOut::default();
        Omission::from(Kind::OneSchedule).note(&mut left_out, execution, visitor);
        let mut trace = Trace::new();
        let mut step = Observed::default();
        execution.restart();
        loop {
            let next = match self.schedule.get(trace.len()) {
                Some(&next) => {
                    let thread = execution.threads().get(next.thread.index()).copied();
                    let can_move =
                        |thread: &ThreadId| execution.readiness(*thread) == Readiness::Enabled;
                    let Some(thread) = thread.filter(can_move) else {
                        return Err(Diverged {
                            expected: format!(
                                "thread {} makes step {} of the schedule",
                                next.thread.0,
                                trace.len() + 1
                            ),
                            found: if thread.is_some() {
                                "it can't move there".to_owned()
                            } else {
                                "there is no such thread".to_owned()
                            },
                        });
                    };
                    let alternatives = execution.alternatives(thread);
                    if next.choice >= alternatives {
                        return Err(Diverged {
                            expected: format!(
                                "thread {} takes alternative {} at step {} of the schedule",
                                next.thread.0,
                                next.choice,
                                trace.len() + 1
                            ),
                            found: match alternatives {
                                1 => "there are none".to_owned(),
                                _ => format!("the last one is {}", alternatives - 1),
                            },
                        });
                    }
                    Move { thread, ..next }
                }
                None => {
                    let last = trace.events().last().map(|event| event.thread());
                    match default_thread(execution, last) {
                        Some(thread) => Move { thread, choice: 0 },
                        None => break,
                    }
                }
            };
            execution.step(next, &mut step)?;
            trace.push(next, &step);
            if visitor.pulse().is_break() {
                return Ok(left_out.covering(Extent::Some));
            }
        }
        let _ = visitor.ended(execution, &trace);
        Ok(left_out.covering(Extent::Some))
    }

    fn explore_in_parallel<X: Execution, V: Visitor<X>>(
        &mut self,
        _workers: usize,
        worker: impl Fn(usize) -> (X, V) + Sync,
    ) -> Result<Coverage, Diverged> {
        // One execution is nothing to share.
        let (mut execution, mut visitor) = worker(0);
        self.explore(&mut execution, &mut visitor)
    }
}
