//! Explorations of execution graphs: every behaviour that a memory model allows, each once.

use std::ops::{ControlFlow, DerefMut};
use std::sync::{Mutex, PoisonError};

use raddle_memory::{End, Graph, Leaf, Model, Refused, Trust, Visitor};
use raddle_outcome::{Assumption, Extent, Kind, LeftOut};
use raddle_schedule::{Diverged, Move, Omission};

use super::watch::{Ended, Watch, Watches};
use super::{Attempt, Limits, Run};
use crate::rt::{Graphs, Place, Program, Verdict};

/// The program does something that is not supported where executions are graphs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unsupported {
    pub(super) what: &'static str,
    pub(super) place: Place,
}

impl Run<'_> {
    /// Explores the execution graphs under a model.
    pub(super) fn graphs(&mut self, model: Model, limits: Limits) -> Result<Attempt, Unsupported> {
        self.program.run_from_graphs(Some(model));
        let unsupported = Mutex::new(None);
        let (options, workers) = (self.options, self.workers());
        let mut attempt = self.attempt(limits, workers, &mut |program, watches| {
            let mut trust = Trust::new(model).most_events(options.max_steps);
            let leaves = || Leaves::new(watches, &unsupported);
            let explored = if workers > 1 {
                let twin = program.twin(options);
                let worker = |_| {
                    let mut program = Box::new(twin.program());
                    program.run_from_graphs(Some(model));
                    (Graphs::new(program), leaves())
                };
                trust.explore_in_parallel(workers, worker)
            } else {
                trust.explore(&mut Graphs::new(program), &mut leaves())
            };
            explored.map_err(diverged)
        });
        if self.options.count_classes {
            attempt.classes = Some(self.ends.count());
        }
        let unsupported = unsupported.into_inner();
        let unsupported = unsupported.unwrap_or_else(PoisonError::into_inner);
        unsupported.map_or(Ok(attempt), Err)
    }

    /// Makes one execution by the moves that lead to its graph.
    pub(super) fn graph_again(&mut self, model: Model, moves: &[Move]) -> Attempt {
        let most_events = self.options.max_steps;
        self.attempt(Limits::NONE, 1, &mut |program, watches| {
            let mut trust = Trust::new(model).most_events(most_events);
            let unsupported = Mutex::new(None);
            let mut leaves = Leaves::new(watches, &unsupported);
            let followed = trust.follow(&mut Graphs::new(program), &mut leaves, moves);
            let mut left_out = LeftOut::default();
            left_out.note(Kind::OneSchedule);
            match followed.map_err(diverged)? {
                Ok(()) => Ok(left_out.covering(Extent::Some)),
                Err(misled) => Err(Diverged {
                    expected: format!("move {} of the execution is possible", misled.at + 1),
                    found: misled.because.into(),
                }),
            }
        })
    }
}

fn diverged(refused: Refused) -> Diverged {
    match refused {
        Refused::Diverged(diverged) => diverged,
        Refused::Condition { .. } => {
            unreachable!("what an operation waits for stays true in all executions")
        }
    }
}

/// Takes note of executions.
struct Leaves<'a, 'p> {
    watch: Watch<'a, 'p>,
    unsupported: &'a Mutex<Option<Unsupported>>,
}

impl<'a, 'p> Leaves<'a, 'p> {
    fn new(watches: &Watches<'a, 'p>, unsupported: &'a Mutex<Option<Unsupported>>) -> Self {
        Self {
            watch: watches.watch(),
            unsupported,
        }
    }

    /// Stops the exploration where the program does something that is not supported.
    fn look_for_unsupported(&self, program: &Program) -> ControlFlow<()> {
        let Some((place, what)) = program.refused() else {
            return ControlFlow::Continue(());
        };
        let mut first = (self.unsupported.lock()).unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(Unsupported { what, place });
        ControlFlow::Break(())
    }
}

impl<P: DerefMut<Target = Program>> Visitor<Graphs<P>> for Leaves<'_, '_> {
    fn leaf(&mut self, graphs: &mut Graphs<P>, leaf: &Leaf<'_>) -> ControlFlow<()> {
        let program = &mut *graphs.program;
        self.look_for_unsupported(program)?;
        let Verdict {
            failure,
            is_infeasible,
        } = program.finish_graph(leaf);
        self.watch.note(
            program,
            Ended {
                failure,
                is_infeasible,
                class: None,
                is_sampled: leaf.end == End::Complete,
            },
        )
    }

    fn pulse(&mut self, graphs: &mut Graphs<P>, _: &Graph) -> ControlFlow<()> {
        self.look_for_unsupported(&graphs.program)?;
        self.watch.look_around()
    }

    fn left_out(&mut self, graphs: &mut Graphs<P>, omission: Omission) {
        let thread = omission.step.map(|(thread, _)| thread);
        let place = thread.and_then(|thread| graphs.program.place_of_next(thread));
        self.watch.all().explored.assume(Assumption {
            place,
            ..Assumption::from(omission.kind)
        });
    }
}
