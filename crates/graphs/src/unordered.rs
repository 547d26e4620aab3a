//! The orderings that are too weak to keep two accesses apart that race: [`raddle_memory::missing`], in the words of the language.

use std::collections::{HashMap, HashSet};

use raddle_memory::{Action, EventId, Graph, Kind, Location, Missing, Order, Point, Step, missing};
use raddle_schedule::ThreadId;

use crate::races::{Access, Race};
use crate::run::{MadeEvent, Run};

/// An ordering that is too weak.
pub(crate) struct TooWeak {
    /// The event that has it.
    pub(crate) event: EventId,
    /// By position.
    pub(crate) thread: usize,
    pub(crate) text: String,
}

fn step(made: &MadeEvent, numbers: &HashMap<EventId, usize>) -> Step {
    let event = &made.event;
    let is_plain = made.is_data && !made.is_atomic;
    let action = match event.kind {
        Kind::Spawn => Action::Starts(event.operation.child()),
        Kind::Join => Action::Joins(event.operation.child()),
        Kind::Fence => Action::Fence,
        Kind::Read | Kind::Write | Kind::Update if !is_plain => Action::Access {
            from: (event
                .from
                .iter()
                .filter_map(|from| numbers.get(from))
                .copied())
            .collect(),
            writes: event.kind.writes(),
        },
        _ => Action::None,
    };
    Step {
        thread: made.id.thread,
        action,
        order: event.order,
        is_open: made.is_data && made.is_atomic,
    }
}

fn point(access: &Access) -> Point {
    Point {
        thread: ThreadId(access.thread as u32),
        steps: access.index as usize,
    }
}

fn name(order: Order) -> &'static str {
    match order {
        Order::Relaxed => "relaxed",
        Order::Acquire => "acquire",
        Order::Release => "release",
        Order::AcqRel => "acq_rel",
        Order::SeqCst => "seq_cst",
    }
}

/// How much help is given at most.
const MOST_HELP: usize = 4;

/// The weakest ordering that has both.
fn stronger(order: Order, needed: Order) -> Order {
    match (order, needed) {
        (Order::Acquire, Order::Release) | (Order::Release, Order::Acquire) => Order::AcqRel,
        _ => needed,
    }
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "load",
        Kind::Write => "store",
        _ => "update",
    }
}

impl Run {
    /// The events of this execution, in the order in which they were made, each with the position of its thread.
    pub(crate) fn events(&self) -> Vec<(usize, &MadeEvent)> {
        let made = self.made.iter();
        made.filter_map(|made| Some((made.position, made.event.as_ref()?)))
            .collect()
    }

    /// The same, as far as they can order others.
    pub(crate) fn steps(&self) -> Vec<Step> {
        let mut numbers = HashMap::new();
        let mut steps = Vec::new();
        for (number, (_, made)) in self.events().iter().enumerate() {
            steps.push(step(made, &numbers));
            numbers.insert(made.id, number);
        }
        steps
    }

    /// The orderings that keep one access of a race from happening before the other.
    pub(crate) fn too_weak(&self, race: &Race) -> Vec<TooWeak> {
        self.between(&self.steps(), point(&race.one), point(&race.other))
    }

    /// The orderings that let reads of this execution miss writes that were made before: with them, this execution would not be possible.
    pub(crate) fn lets_miss_writes(&self, graph: &Graph) -> Vec<TooWeak> {
        let place = |id: EventId| graph.event(id).place();
        let steps = self.steps();
        let mut last: HashMap<Location, EventId> = HashMap::new();
        let mut found: Vec<TooWeak> = Vec::new();
        for (_, made) in self.events() {
            let Some(location) = made.event.location.filter(|_| made.is_data) else {
                continue;
            };
            let written = last.get(&location).copied();
            let read = made.event.from.map_or(0, place);
            if let (Kind::Read, Some(missed)) = (made.event.kind, written)
                && read < place(missed)
            {
                let after = Point {
                    thread: missed.thread,
                    steps: missed.index as usize + 1,
                };
                let before = Point {
                    thread: made.id.thread,
                    steps: made.id.index as usize,
                };
                let between = self.between(&steps, after, before);
                found.extend(between);
            }
            if made.event.kind.writes() && place(made.id) > written.map_or(0, place) {
                last.insert(location, made.id);
            }
        }
        let mut seen = HashSet::new();
        found.retain(|one| seen.insert(one.event));
        found.truncate(MOST_HELP);
        found
    }

    /// The orderings that keep one point of this execution from happening before another one.
    fn between(&self, steps: &[Step], one: Point, other: Point) -> Vec<TooWeak> {
        let events = self.events();
        let missing = missing(steps, one, other);
        let told = missing.into_iter().map(|missing| {
            let (number, needed) = match missing {
                Missing::Release { write } => (write, Order::Release),
                Missing::Acquire { read, .. } => (read, Order::Acquire),
            };
            let (thread, made) = events[number];
            let (what, is) = (word(made.event.kind), name(made.event.order));
            let needed = name(stronger(made.event.order, needed));
            let lacks = match missing {
                Missing::Release { .. } => "publish what its thread did before",
                Missing::Acquire { .. } => {
                    "acquire what was done before the write that it reads from"
                }
            };
            TooWeak {
                event: made.id,
                thread,
                text: format!("this {what} is {is}, so it does not {lacks}: it has to be {needed}"),
            }
        });
        told.collect()
    }
}
