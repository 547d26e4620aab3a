//! Wake-up trees: the sequences that are to be run from a state.

use crate::execution::{Location, Mode, Move};
use crate::trace::Trace;

/// What a step touches.
type Touches = Vec<(Location, Mode)>;

/// A step of a sequence that is to be inserted.
#[derive(Clone, Debug)]
pub(super) struct Element {
    pub(super) step: Move,
    /// The event of the trace that it stands for; the last element is a step that was not made like this.
    pub(super) event: Option<usize>,
    pub(super) touches: Touches,
    /// For the last element, the events of the sequence that it directly comes after.
    pub(super) after: Vec<usize>,
}

/// A step to be made, and what is to be run after it: whatever comes, if that is empty.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) step: Move,
    touches: Touches,
    pub(super) then: WakeupTree,
    /// The locations below this have the same numbers in the execution that it was found in and in all that come by the state
    /// it was to be run from.
    stable: usize,
    /// Whether the sequence that ends here may begin no execution that others do not: see [`WakeupTree::insert`].
    doubtful: bool,
}

/// An ordered tree of steps: each way from its root to a leaf is a sequence to be run.
#[derive(Debug, Default)]
pub(super) struct WakeupTree(Vec<Branch>);

impl WakeupTree {
    /// Takes the first branch out.
    pub(super) fn take_first(&mut self) -> Option<Branch> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }

    /// Adds a sequence, unless one of the tree begins all executions that this one begins. It goes down along the
    /// first branches that are weak initials of what is left of the sequence; that is `insert` of the paper.
    ///
    /// Locations from `stable` on may have had other numbers when the tree was made: two of those may be the same.
    /// They are taken for the same, and then the sequence may be redundant. What begins like a redundant one is not
    /// all run by it, since what sleeps is not tried again; so a sequence that begins like a doubtful one makes it longer
    /// instead of being covered by it. (Whatever is run after a sequence first, what else can come
    /// follows from the races of that.)
    pub(super) fn insert(&mut self, trace: &Trace, mut sequence: Vec<Element>, stable: usize) {
        let mut tree = self;
        let mut doubtful = false;
        loop {
            let mut weak_initial = None;
            for (position, branch) in tree.0.iter().enumerate() {
                match branch.is_weak_initial(trace, &mut sequence, stable) {
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
                if ends_in_doubt && !sequence.is_empty() {
                    doubtful = true;
                    break;
                }
                return;
            }
        }
        let mut added = Self::default();
        for element in sequence.into_iter().rev() {
            added = Self(vec![Branch {
                step: element.step,
                touches: element.touches,
                stable,
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
    fn is_weak_initial(
        &self,
        trace: &Trace,
        sequence: &mut Vec<Element>,
        stable: usize,
    ) -> Option<bool> {
        let own = sequence
            .iter()
            .position(|element| element.step.thread == self.step.thread);
        let Some(position) = own else {
            let mut known = Some(true);
            for element in sequence.iter() {
                match self.is_independent_of(element, stable) {
                    Some(true) => {}
                    Some(false) => return Some(false),
                    None => known = None,
                }
            }
            return known;
        };
        let element = &sequence[position];
        let comes_first = sequence[..position]
            .iter()
            .all(|earlier| match earlier.event {
                Some(earlier) => match element.event {
                    Some(event) => !trace.happens_before(earlier, event),
                    None => !element.after.contains(&earlier),
                },
                None => false,
            });
        let is_initial = element.step == self.step && comes_first;
        if is_initial {
            sequence.remove(position);
        }
        Some(is_initial)
    }

    fn is_independent_of(&self, element: &Element, stable: usize) -> Option<bool> {
        // The tree may have been part of one that was made for an earlier state.
        let stable = self.stable.min(stable);
        let mut known = Some(true);
        for &(mine, mode) in &self.touches {
            for &(theirs, other) in &element.touches {
                if !mode.conflicts_with(other) {
                    continue;
                }
                if mine.index().min(theirs.index()) >= stable {
                    known = None;
                } else if mine == theirs {
                    return Some(false);
                }
            }
        }
        known
    }
}
