//! Whether unsound reductions are noticed, and what shows it becomes small.

use raddle_difftest::{Aspect, Campaign, Contender, Recorder};
use raddle_explore::reductions::full::Full;
use raddle_explore::{
    Action, Changed, Choice, Effort, Fault, Position, PropertySet, Race, Reduction, Status, Step,
    System, Visitor,
};

/// Finds a program on which the reduction goes wrong, and shrinks it.
fn shrunken<R: Reduction<Recorder> + Default + 'static>() -> (String, Aspect, usize) {
    let campaign = Campaign {
        contenders: vec![Contender::new(R::default)],
        ..Campaign::new(1, 2_000)
    };
    let report = campaign.run(|_| {});
    let failure = report.failures.first().expect("it is unsound");
    let (shrunk, disagreement) = campaign.shrink(failure);
    (shrunk.to_string(), disagreement.aspect, shrunk.lines())
}

/// Schedules only the first thread that can move.
#[derive(Default)]
struct FirstThread {
    step: Step<<Recorder as System>::State>,
}

impl Reduction<Recorder> for FirstThread {
    fn name(&self) -> &'static str {
        "first-thread"
    }

    fn preserves(&self) -> PropertySet {
        PropertySet::NONE
    }

    fn expand(
        &mut self,
        system: &mut Recorder,
        state: &<Recorder as System>::State,
        visitor: &mut dyn Visitor<Recorder>,
    ) -> Effort {
        let mut effort = Effort::default();
        for thread in (0..system.thread_count(state)).map(|t| Position(t as u32)) {
            let mut moved = false;
            system.for_each_step(state, thread, &mut self.step, |system, taken, step| {
                let goes_on = match &step.status {
                    Status::Moved => true,
                    Status::Failed(fault) => visitor.fault(system, &[taken], fault),
                    _ => return,
                };
                moved = true;
                effort.transitions += 1;
                if goes_on {
                    system.canonicalise(&mut step.after);
                    visitor.successor(system, &[taken], &step.after, Changed::ALL);
                }
            });
            if moved {
                break;
            }
        }
        effort
    }
}

#[test]
fn a_reduction_that_ignores_threads_is_noticed() {
    let (program, aspect, lines) = shrunken::<FirstThread>();
    assert_eq!(aspect, Aspect::LocalStates, "{program}");
    assert!(lines <= 12, "{program}");
}

/// The full search, but what it tells goes through a filter.
#[derive(Default)]
struct Filtered<F> {
    full: Full<Recorder>,
    filter: F,
}

/// What is kept from the search.
trait Filter: Default + Copy {
    const NAME: &'static str;

    fn hides_successor(self, path: &[Action]) -> bool;
    fn hides_ends(self) -> bool;
}

/// Choices have one alternative.
#[derive(Clone, Copy, Default)]
struct OneChoice;

impl Filter for OneChoice {
    const NAME: &'static str = "one-choice";

    fn hides_successor(self, path: &[Action]) -> bool {
        path[0].choice != Choice::FIRST
    }

    fn hides_ends(self) -> bool {
        false
    }
}

/// Nobody ever waits.
#[derive(Clone, Copy, Default)]
struct NoEnds;

impl Filter for NoEnds {
    const NAME: &'static str = "no-ends";

    fn hides_successor(self, _: &[Action]) -> bool {
        false
    }

    fn hides_ends(self) -> bool {
        true
    }
}

struct Through<'v, F> {
    visitor: &'v mut dyn Visitor<Recorder>,
    filter: F,
}

type State = <Recorder as System>::State;

impl<F: Filter> Visitor<Recorder> for Through<'_, F> {
    fn properties(&self) -> PropertySet {
        self.visitor.properties()
    }

    fn successor(
        &mut self,
        system: &mut Recorder,
        path: &[Action],
        state: &State,
        changed: Changed,
    ) {
        if !self.filter.hides_successor(path) {
            self.visitor.successor(system, path, state, changed);
        }
    }

    fn fault(&mut self, system: &mut Recorder, path: &[Action], fault: &Fault) -> bool {
        self.visitor.fault(system, path, fault)
    }

    fn race(&mut self, system: &mut Recorder, path: &[Action], state: &State, race: &Race) {
        self.visitor.race(system, path, state, race);
    }

    fn end(
        &mut self,
        system: &mut Recorder,
        path: &[Action],
        state: &State,
        end: raddle_explore::End,
        blocked: &[raddle_explore::BlockedThread],
    ) {
        if !self.filter.hides_ends() {
            self.visitor.end(system, path, state, end, blocked);
        }
    }
}

impl<F: Filter> Reduction<Recorder> for Filtered<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn preserves(&self) -> PropertySet {
        PropertySet::SAFETY
    }

    fn expand(
        &mut self,
        system: &mut Recorder,
        state: &State,
        visitor: &mut dyn Visitor<Recorder>,
    ) -> Effort {
        let filter = self.filter;
        self.full
            .expand(system, state, &mut Through { visitor, filter })
    }
}

#[test]
fn a_reduction_that_forgets_choices_is_noticed() {
    let (program, _, lines) = shrunken::<Filtered<OneChoice>>();
    assert!(lines <= 12, "{program}");
}

#[test]
fn a_reduction_that_forgets_who_waits_is_noticed() {
    let (program, aspect, lines) = shrunken::<Filtered<NoEnds>>();
    assert!(
        matches!(aspect, Aspect::Deadlock | Aspect::Vacuity),
        "{aspect:?} {program}"
    );
    assert!(lines <= 8, "{program}");
}
