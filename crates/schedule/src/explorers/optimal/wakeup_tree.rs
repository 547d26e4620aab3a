//! Wake-up trees: the sequences that are to be run from a state.

use super::names::{Name, Names};
use crate::execution::{LocationId, Mode, Move};
use crate::trace::Trace;

/// What a step touches.
type Touches = Vec<(LocationId, Mode)>;

/// What a step of a wake-up tree touches.
#[derive(Debug)]
struct Planned {
    location: LocationId,
    mode: Mode,
    /// What it is called in other executions, if it may have another number there.
    names: Box<[Name]>,
}

/// What the executions have in common in which a sequence was found and in which it is inserted.
pub(super) struct Here<'a> {
    pub(super) trace: &'a Trace,
    pub(super) names: &'a mut Names,
    /// The locations below this have the same numbers in all executions that come by the state.
    pub(super) stable: usize,
}

/// A sequence that is to be inserted.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequence {
    pub(super) elements: Vec<Element>,
    /// What the last element touches, which is a step that was not made like this.
    pub(super) last: Touches,
    /// The events of the sequence that it directly comes after.
    pub(super) after: Vec<usize>,
}

/// A step of a sequence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    pub(super) step: Move,
    /// The event of the trace that it stands for, unless it is the last.
    pub(super) event: Option<usize>,
}

impl Sequence {
    /// Whether something holds of all that an element touches.
    fn all_touched(
        &self,
        trace: &Trace,
        element: Element,
        mut holds: impl FnMut(LocationId, Mode) -> bool,
    ) -> bool {
        match element.event {
            Some(event) => trace
                .accesses(event)
                .all(|access| holds(access.location, access.mode)),
            None => self.last.iter().all(|&(at, mode)| holds(at, mode)),
        }
    }

    /// Takes out the first step of the move's thread, if there is one.
    pub(super) fn take_out(&mut self, step: Move) {
        let mut elements = self.elements.iter();
        if let Some(position) = elements.position(|element| element.step.thread == step.thread) {
            self.elements.remove(position);
        }
    }

    /// What an element touches, for a tree that other executions are compared with.
    fn planned(&self, here: &mut Here<'_>, element: Element) -> Vec<Planned> {
        let mut planned = Vec::new();
        self.all_touched(here.trace, element, |location, mode| {
            let names = if location.index() < here.stable {
                Box::default()
            } else {
                here.names.of(here.trace, location)
            };
            planned.push(Planned {
                location,
                mode,
                names,
            });
            true
        });
        planned
    }
}

/// A step to be made, and what is to be run after it: whatever comes, if that is empty.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) step: Move,
    touches: Vec<Planned>,
    pub(super) then: WakeupTree,
    /// The locations below this have the same numbers in the execution that it was found in and in all that come by the state
    /// it was to be run from.
    stable: usize,
    /// Whether the sequence that ends here may begin no execution that others do not: see [`WakeupTree::insert`].
    pub(super) doubtful: bool,
}

/// An ordered tree of steps: each way from its root to a leaf is a sequence to be run.
#[derive(Debug, Default)]
pub(super) struct WakeupTree(Vec<Branch>);

impl WakeupTree {
    /// The tree that has one sequence. It is only to be run: nothing can be inserted.
    pub(super) fn of_one(steps: &[Move]) -> Self {
        let mut tree = Self::default();
        for &step in steps.iter().rev() {
            tree = Self(vec![Branch {
                step,
                touches: Vec::new(),
                then: tree,
                stable: 0,
                doubtful: false,
            }]);
        }
        tree
    }

    /// How many branches it has.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is nothing to run.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the first branch out.
    pub(super) fn take_first(&mut self) -> Option<Branch> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }

    /// Adds a sequence, unless one of the tree begins all executions that this one begins. It goes down along the
    /// first branches that are weak initials of what is left of the sequence; that is `insert` of the paper.
    ///
    /// Locations from `stable` on may have had other numbers when the tree was made. One that has no name in this execution may be any of
    /// them. It is taken for the same, and then the sequence may be redundant: it is *doubtful*. When it is run, what sleeps at its end tells whether
    /// it is, and then it is given up. Until then it covers nothing: a sequence that begins like it makes it longer
    /// instead. (Whatever is run after a sequence first, what else can come follows from the races of that.)
    /// It may be `doubtful` before.
    pub(super) fn insert(
        &mut self,
        here: &mut Here<'_>,
        sequence: &mut Sequence,
        mut doubtful: bool,
    ) {
        let mut tree = self;
        loop {
            let mut weak_initial = None;
            for (position, branch) in tree.0.iter().enumerate() {
                match branch.is_weak_initial(here, sequence) {
                    Some(true) => {
                        weak_initial = Some(position);
                        break;
                    }
                    Some(false) => {}
                    None => doubtful = true,
                }
            }
            let Some(position) = weak_initial else {
                break;
            };
            let ends_in_doubt = tree.0[position].doubtful;
            tree = &mut tree.0[position].then;
            if tree.0.is_empty() {
                if ends_in_doubt && !sequence.elements.is_empty() {
                    doubtful = true;
                    break;
                }
                return;
            }
        }
        let mut added = Self::default();
        for &element in sequence.elements.iter().rev() {
            added = Self(vec![Branch {
                step: element.step,
                touches: sequence.planned(here, element),
                stable: here.stable,
                doubtful: doubtful && added.0.is_empty(),
                then: added,
            }]);
        }
        tree.0.append(&mut added.0);
    }
}

impl Branch {
    /// Whether some execution that begins with this step has the same events as one that begins with the
    /// sequence, as far as is known. If so, takes the step out of the sequence.
    pub(super) fn is_weak_initial(
        &self,
        here: &mut Here<'_>,
        sequence: &mut Sequence,
    ) -> Option<bool> {
        let own = sequence
            .elements
            .iter()
            .position(|element| element.step.thread == self.step.thread);
        let Some(position) = own else {
            let mut known = Some(true);
            for &element in &sequence.elements {
                match self.is_independent_of(here, sequence, element) {
                    Some(true) => {}
                    Some(false) => return Some(false),
                    None => known = None,
                }
            }
            return known;
        };
        let element = sequence.elements[position];
        let comes_first = sequence.elements[..position]
            .iter()
            .all(|earlier| match earlier.event {
                Some(earlier) => match element.event {
                    Some(event) => !here.trace.happens_before(earlier, event),
                    None => !sequence.after.contains(&earlier),
                },
                None => false,
            });
        let is_initial = element.step == self.step && comes_first;
        if is_initial {
            sequence.elements.remove(position);
        }
        Some(is_initial)
    }

    fn is_independent_of(
        &self,
        here: &mut Here<'_>,
        sequence: &Sequence,
        element: Element,
    ) -> Option<bool> {
        // The tree may have been part of one that was made for an earlier state.
        let stable = self.stable.min(here.stable);
        let mut known = Some(true);
        for mine in &self.touches {
            let is_other = sequence.all_touched(here.trace, element, |theirs, mode| {
                if !mine.mode.conflicts_with(mode) {
                    return true;
                }
                if mine.location.index().min(theirs.index()) < stable {
                    return mine.location != theirs;
                }
                match here.names.locate(here.trace, &mine.names) {
                    Some(location) => location != theirs,
                    None => {
                        known = None;
                        true
                    }
                }
            });
            if !is_other {
                return Some(false);
            }
        }
        known
    }
}
