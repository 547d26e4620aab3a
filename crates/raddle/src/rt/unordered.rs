//! What to say of two accesses that race: where they are, and which orderings are too weak to keep them apart.
//!
//! The latter is found out by [`raddle_memory::missing`] from the steps of the execution, whether it was run by a schedule or from a graph.

use std::sync::atomic::Ordering;

use raddle_memory::{Action, Missing, Order, Point, Step, missing};
use raddle_schedule::{Mode, ThreadId};

use super::Place;
use super::clocks::Touch;
use super::failure::{Failure, FailureKind, Remark};
use super::graph;
use super::objects::Kind;
use super::operation::Operation;
use super::state::{Made, State};

/// A fence of an execution in which it is no step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fence {
    thread: ThreadId,
    order: Ordering,
    /// How many steps were made before it.
    made: usize,
}

/// The steps of an execution and the fences between them.
#[derive(Default)]
pub(super) struct Steps {
    pub(super) steps: Vec<Step>,
    /// By step, or fence: how many steps of the execution come before it.
    made: Vec<usize>,
    /// By step of the execution: its number here.
    number: Vec<usize>,
}

/// How much help is given at most.
const MOST_HELP: usize = 4;

impl Steps {
    /// How many steps and fences a thread has made before a step of its own.
    fn before(&self, made: usize) -> usize {
        let number = self.number[made];
        let thread = self.steps[number].thread;
        let before = self.steps[..number].iter();
        before.filter(|step| step.thread == thread).count()
    }

    fn push(&mut self, step: Step, made: usize) {
        self.steps.push(step);
        self.made.push(made);
    }

    /// The step of the execution that one is, if it is no fence.
    pub(super) fn made_by(&self, number: usize) -> Option<usize> {
        let made = self.made[number];
        (self.number.get(made) == Some(&number)).then_some(made)
    }

    /// Where a thread is at some time.
    fn point(&self, thread: ThreadId, time: usize) -> Point {
        let before = self.steps.iter().take(time);
        Point {
            thread,
            steps: before.filter(|step| step.thread == thread).count(),
        }
    }
}

impl State {
    /// A fence is made where it is no step.
    pub(crate) fn note_fence(&mut self, order: Ordering) {
        let current = self.current;
        self.clocks.fence(current, order);
        self.fences.push(Fence {
            thread: current,
            order,
            made: self.made.len(),
        });
    }

    /// How many steps and fences were made.
    #[inline]
    pub(crate) fn time(&self) -> usize {
        self.made.len() + self.fences.len()
    }

    /// What to say of two accesses that race, of which the later one is made now.
    pub(crate) fn race(&self, earlier: &Touch, writes: bool, place: Place) -> Failure {
        let word = |writes| if writes { "writes" } else { "reads" };
        let now = self.current;
        let mut remarks = vec![
            Remark::new(earlier.thread, earlier.place, word(earlier.writes)),
            Remark::new(now, place, word(writes)),
        ];
        remarks.extend(self.too_weak(earlier));
        let message = format!(
            "data race: {} and {} access a cell, and nothing orders that",
            self.name_of(earlier.thread),
            self.name_of(now)
        );
        Failure::new(FailureKind::DataRace, message, remarks)
    }

    /// The orderings that keep an earlier access from happening before what the current thread does now.
    fn too_weak(&self, earlier: &Touch) -> Vec<Remark> {
        let steps = self.steps();
        let mut one = steps.point(earlier.thread, earlier.at);
        // If the access was over before the last step of its thread, that step may have published it.
        one.steps -= usize::from(earlier.was_over && one.steps > 0);
        let other = steps.point(self.current, steps.steps.len());
        let missing = missing(&steps.steps, one, other);
        let help = missing.into_iter();
        help.map(|missing| self.tell_missing(missing, &steps, ""))
            .collect()
    }

    /// The orderings that let reads of this execution miss writes that were made before: with them, this execution would not be possible.
    pub(super) fn help_with_missed_writes(&self) -> Vec<Remark> {
        let Some(graph) = &self.graph else {
            return Vec::new();
        };
        let steps = self.steps();
        let mut help: Vec<Remark> = Vec::new();
        for (read, missed) in graph.missed_writes(self) {
            let (one, other) = (&self.made[missed], &self.made[read]);
            let from = Point {
                thread: one.thread,
                steps: steps.before(missed) + 1,
            };
            let to = Point {
                thread: other.thread,
                steps: steps.before(read),
            };
            let which = format!(
                " (what {} missed at {}:{}, {} had written at {}:{})",
                self.name_of(other.thread),
                other.place.file(),
                other.place.line(),
                self.name_of(one.thread),
                one.place.file(),
                one.place.line()
            );
            for missing in missing(&steps.steps, from, to) {
                let remark = self.tell_missing(missing, &steps, &which);
                if help.iter().all(|known| known.at != remark.at) {
                    help.push(remark);
                }
            }
        }
        help.truncate(MOST_HELP);
        help
    }

    fn tell_missing(&self, missing: Missing, steps: &Steps, which: &str) -> Remark {
        let made = |number: usize| &self.made[steps.made[number]];
        match missing {
            Missing::Release { write } => {
                let writer = made(write);
                let (what, is) = self.ordering_in_words(writer);
                let needed = stronger(is, Ordering::Release);
                let text = format!(
                    "this {what} is {is:?}, so it does not publish what its thread did before{which}: it has to be {needed:?}"
                );
                Remark::help(writer.thread, writer.place, text)
            }
            Missing::Acquire { read, write } => {
                let (reader, writer) = (made(read), made(write));
                let (what, is) = self.ordering_in_words(reader);
                let needed = stronger(is, Ordering::Acquire);
                let (file, line) = (writer.place.file(), writer.place.line());
                let text = format!(
                    "this {what} is {is:?}, so it does not acquire what {} did before it wrote, at {file}:{line}, what is read here{which}: it has to be {needed:?}",
                    self.name_of(writer.thread)
                );
                Remark::help(reader.thread, reader.place, text)
            }
        }
    }

    /// What an atomic access is called, and the ordering that it was asked for.
    fn ordering_in_words(&self, made: &Made) -> (&'static str, Ordering) {
        match made.operation {
            Operation::Load { order, .. } => ("load", order),
            Operation::Store { order, .. } => ("store", order),
            Operation::Update { order, .. } => ("update", order),
            Operation::CompareExchange {
                expected,
                success,
                failure,
                ..
            } => match made.result == expected {
                true => ("compare-exchange", success),
                false => ("compare-exchange, which fails here and then", failure),
            },
            _ => unreachable!("only atomics are open"),
        }
    }

    pub(super) fn steps(&self) -> Steps {
        let mut steps = Steps::default();
        let mut fences = self.fences.iter().peekable();
        for (number, made) in self.made.iter().enumerate() {
            while let Some(fence) = fences.next_if(|fence| fence.made <= number) {
                steps.push(fence_step(fence), number);
            }
            let step = self.step(number, made, &steps.number);
            steps.number.push(steps.steps.len());
            steps.push(step, number);
        }
        for fence in fences {
            steps.push(fence_step(fence), self.made.len());
        }
        steps
    }

    /// A step of the execution; the numbers of those before it are known.
    fn step(&self, number: usize, made: &Made, numbers: &[usize]) -> Step {
        let event = self.graph.as_ref().and_then(|graph| graph.link(number));
        let accesses = self.accesses_of(number);
        let (from, writes): (Vec<usize>, bool) = match event {
            Some(event) => (event.from.into_iter().collect(), event.writes),
            None => {
                let is_store = matches!(made.operation, Operation::Store { .. });
                let read = accesses.iter().filter(|_| !is_store);
                let from = read.filter_map(|access| self.last_write(number, access.location));
                let writes = accesses.iter().any(|access| access.mode != Mode::Read);
                (from.collect(), writes)
            }
        };
        let (order, is_open) = self.ordering(made);
        let action = match made.operation {
            Operation::Spawn { child } => Action::Starts(child),
            Operation::Fence { .. } => Action::Fence,
            _ if from.is_empty() && !writes => Action::None,
            _ => Action::Access {
                from: from.iter().map(|&step| numbers[step]).collect(),
                writes,
            },
        };
        Step {
            thread: made.thread,
            action,
            order,
            is_open,
        }
    }

    /// The last step before another one that has written a location.
    fn last_write(&self, before: usize, at: raddle_schedule::LocationId) -> Option<usize> {
        (0..before).rev().find(|&step| {
            let mut accesses = self.accesses_of(step).iter();
            accesses.any(|access| access.location == at && access.mode != Mode::Read)
        })
    }

    /// The ordering that a step has, and whether the code under test could have asked for another one.
    fn ordering(&self, made: &Made) -> (Order, bool) {
        let is_open = |at| self.objects.kind(at) == Kind::Atomic;
        let (at, order) = match made.operation {
            Operation::Load { at, order }
            | Operation::Store { at, order, .. }
            | Operation::Update { at, order, .. } => (at, order),
            Operation::CompareExchange {
                at,
                expected,
                success,
                failure,
                ..
            } => match made.result == expected {
                true => (at, success),
                false => (at, failure),
            },
            Operation::Fence { order } => return (graph::order(order), false),
            ref operation => return (graph::order_of(operation), false),
        };
        (graph::order(order), is_open(at))
    }
}

fn fence_step(fence: &Fence) -> Step {
    Step {
        thread: fence.thread,
        action: Action::Fence,
        order: graph::order(fence.order),
        is_open: false,
    }
}

/// The weakest ordering that has both.
fn stronger(order: Ordering, needed: Ordering) -> Ordering {
    match (order, needed) {
        (Ordering::Acquire, Ordering::Release) | (Ordering::Release, Ordering::Acquire) => {
            Ordering::AcqRel
        }
        _ => needed,
    }
}
