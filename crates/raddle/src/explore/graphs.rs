//! Explorations of execution graphs: every behaviour that a memory model allows, each once.

use std::ops::ControlFlow;

use raddle_memory::{Graph, Leaf, Model, Refused, Trust, Visitor};
use raddle_outcome::{Assumption, Coverage, Extent, Kind, LeftOut};
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
        let mut unsupported = None;
        let most_events = self.options.max_steps;
        let mut attempt = self.attempt(limits, 1, &mut |program, watches| {
            let mut trust = Trust::new(model).most_events(most_events);
            let (explored, refused) = visit(program, watches, |graphs, leaves| {
                trust.explore(graphs, leaves)
            });
            unsupported = refused;
            explored
        });
        if self.options.count_classes {
            attempt.classes = Some(self.ends.count());
        }
        unsupported.map_or(Ok(attempt), Err)
    }

    /// Makes one execution by the moves that lead to its graph.
    pub(super) fn graph_again(&mut self, model: Model, moves: &[Move]) -> Attempt {
        let most_events = self.options.max_steps;
        self.attempt(Limits::NONE, 1, &mut |program, watches| {
            let mut trust = Trust::new(model).most_events(most_events);
            let mut misled = None;
            let (followed, _) = visit(program, watches, |graphs, leaves| {
                misled = trust.follow(graphs, leaves, moves)?.err();
                let mut left_out = LeftOut::default();
                left_out.note(Kind::OneSchedule);
                Ok(left_out.covering(Extent::Some))
            });
            match misled {
                Some(misled) => Err(Diverged {
                    expected: format!("move {} of the execution is possible", misled.at + 1),
                    found: misled.because.into(),
                }),
                None => followed,
            }
        })
    }
}

/// Runs a program from graphs.
fn visit(
    program: &mut Program,
    watches: &Watches<'_, '_>,
    explore: impl FnOnce(&mut Graphs<'_>, &mut Leaves<'_, '_>) -> Result<Coverage, Refused>,
) -> (Result<Coverage, Diverged>, Option<Unsupported>) {
    let mut leaves = Leaves {
        watch: watches.watch(),
    };
    let explored = explore(&mut Graphs::new(program), &mut leaves);
    let unsupported = program.refused();
    let unsupported = unsupported.map(|(place, what)| Unsupported { what, place });
    let explored = explored.map_err(|refused| match refused {
        Refused::Diverged(diverged) => diverged,
        Refused::Condition { .. } => {
            unreachable!("what an operation waits for stays true in all executions")
        }
    });
    (explored, unsupported)
}

/// Takes note of executions.
struct Leaves<'a, 'p> {
    watch: Watch<'a, 'p>,
}

impl Visitor<Graphs<'_>> for Leaves<'_, '_> {
    fn leaf(&mut self, graphs: &mut Graphs<'_>, leaf: &Leaf<'_>) -> ControlFlow<()> {
        let program = &mut *graphs.program;
        if program.refused().is_some() {
            return ControlFlow::Break(());
        }
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
                is_sampled: false,
            },
        )
    }

    fn pulse(&mut self, graphs: &mut Graphs<'_>, _: &Graph) -> ControlFlow<()> {
        match graphs.program.refused() {
            Some(_) => ControlFlow::Break(()),
            None => self.watch.look_around(),
        }
    }

    fn left_out(&mut self, graphs: &mut Graphs<'_>, omission: Omission) {
        let thread = omission.step.map(|(thread, _)| thread);
        let place = thread.and_then(|thread| graphs.program.place_of_next(thread));
        self.watch.all().explored.assume(Assumption {
            place,
            ..Assumption::from(omission.kind)
        });
    }
}
