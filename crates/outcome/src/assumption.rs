//! [`Assumption`]: something that an answer rests on.

use std::borrow::Cow;
use std::fmt;

/// Something that an answer rests on: executions that were left out, cut, bounded or guessed about.
///
/// `P` is a place in the program, as whoever explores it knows places.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Assumption<P> {
    /// What kind of assumption it is.
    pub kind: Kind,
    /// Where in the program, if it is about one place.
    pub place: Option<P>,
    /// What there is to say beyond the kind: a number, a remedy.
    pub detail: Option<Cow<'static, str>>,
}

impl<P> Assumption<P> {
    /// The same, with more to say.
    #[must_use]
    pub fn because(mut self, detail: impl Into<Cow<'static, str>>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// The same at a place as somebody else knows places.
    pub fn map_place<Q>(self, place: impl FnOnce(P) -> Q) -> Assumption<Q> {
        Assumption {
            kind: self.kind,
            place: self.place.map(place),
            detail: self.detail,
        }
    }
}

impl<P> From<Kind> for Assumption<P> {
    fn from(kind: Kind) -> Self {
        Self {
            kind,
            place: None,
            detail: None,
        }
    }
}

/// In one line, without the place.
impl<P> fmt::Display for Assumption<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.message())?;
        match &self.detail {
            Some(detail) => write!(f, ": {detail}"),
            None => Ok(()),
        }
    }
}

/// What an assumption is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Nature {
    /// Executions were left out.
    Limit,
    /// The program can do something on a real machine that no explored execution does.
    Model,
    /// The program itself, or the question, says that these executions do not count.
    Given,
}

/// Makes the enumeration, its names and its messages from one table.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $nature:ident $name:literal $message:literal;)*) => {
        /// The kinds of assumptions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// Its name, for programs.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// What it is about.
            #[must_use]
            pub fn nature(self) -> Nature {
                match self {
                    $(Self::$kind => Nature::$nature,)*
                }
            }

            /// What to say of it, in one line.
            #[must_use]
            pub fn message(self) -> &'static str {
                match self {
                    $(Self::$kind => $message,)*
                }
            }
        }
    };
}

kinds! {
    /// No more executions were allowed.
    Executions Limit "executions" "the limit on executions was reached";
    /// The time was over.
    Time Limit "time" "the limit on time was reached";
    /// No more memory was allowed.
    Memory Limit "memory" "the limit on memory was reached";
    /// No more states were allowed.
    States Limit "states" "the limit on states was reached";
    /// States further away from the initial one were not allowed.
    Depth Limit "depth" "the limit on depth was reached";
    /// The store could take no more states.
    StoreFull Limit "store-full" "the store of states is full";
    /// States were told apart by fingerprints, and two can have the same.
    Fingerprints Limit "fingerprints" "states were told apart by a hash of each, so some may have been missed";
    /// States were remembered by a few bits of a table, which can be those of others.
    Bits Limit "bits" "states were remembered by a few bits of a table, so some may have been missed";
    /// Somebody cancelled it.
    Cancelled Limit "cancelled" "the search was cancelled";
    /// An execution is larger than can be represented.
    Capacity Limit "capacity" "an execution is larger than can be kept";
    /// An execution has more steps than allowed.
    Steps Limit "steps" "an execution has more steps than allowed";
    /// A step has more alternatives than are tried.
    Alternatives Limit "alternatives" "a step has too many alternatives to try each of them";
    /// Executions with more preemptions were left out.
    Preemptions Limit "preemptions" "not all executions beyond the bound on preemptions were run";
    /// Executions were chosen at random.
    Random Limit "random" "executions were chosen at random, which proves nothing about others";
    /// One given schedule was run.
    OneSchedule Limit "one-schedule" "only one schedule was run";
    /// There are more ways to reverse a race than were tried.
    WakeupSequences Limit "wakeup-sequences" "a race has more reversals than are tried";
    /// An explorer remembers as many prefixes of executions as it may.
    Remembered Limit "remembered" "there is no room to remember more prefixes of executions";
    /// There are more ways to leave a loop than were tried.
    Scouts Limit "scouts" "a loop has more ways to go on than are tried";
    /// A thread that polls was suspended, although it is not certain that its next iteration would do the same.
    SuspendedLoop Model "suspended-loop" "a loop that polls is assumed to do the same until something changes that it has touched";
    /// A loop that other loops disturb was continued only when nothing else could happen.
    LoopsDisturbed Limit "loops-disturbed" "a loop that only other loops disturb was run a few times, and then when no other thread could move";
    /// A loop that changes something each time was run a few times.
    ChangingLoop Limit "changing-loop" "a loop that polls and changes something each time was run a few times, and then when something else had changed";
    /// An execution was given up before its end.
    GivenUp Limit "given-up" "an execution was given up before its end";
    /// The way of exploring does not preserve a property that was asked for.
    NotPreserved Limit "not-preserved" "the reduction does not preserve what was asked for";
    /// No execution was checked to its end.
    Vacuous Limit "vacuous" "vacuous: every execution that was seen to its end was cut by an `assume`, so nothing was checked";
    /// Atomics were run with a stronger ordering than the program asks for.
    WeakOrdering Model "weak-ordering" "atomics were run as sequentially consistent, though the program asks for less";
    /// Something that can time out did not.
    Timeouts Model "timeouts" "a wait that can time out never did";
    /// A thread that can be woken without reason was not, or not as often as it can.
    SpuriousWakeups Model "spurious-wakeups" "spurious wake-ups beyond the limit were not run";
    /// A reader never had to wait for a writer that waits itself, though a thread waits while it reads.
    WaitingWriters Model "waiting-writers" "a reader was never kept out by a waiting writer, though a thread waits for something while it reads";
    /// A weak compare-exchange never failed without reason.
    WeakFailures Model "weak-failures" "spurious failures of a weak compare-exchange were not run";
    /// Memory that was freed was not given out again within an execution.
    ReusedMemory Model "reused-memory" "memory that was freed was never allocated again within an execution, though a compare-exchange could see it (ABA)";
    /// Memory that other threads have used was freed by whoever dropped the last of its references, which were counted where Raddle does not look.
    UnseenCounts Given "unseen-counts" "memory that several threads use was freed by who dropped its last reference, as far as Raddle can tell: it does not see the counts of `std::sync::Arc`";
    /// The memory model that was asked for leaves out executions in which a read comes before what it depends on.
    LoadBuffering Given "load-buffering" "the memory model has no load buffering, in which a thread reads what another one writes because of what the first one writes later";
    /// The program cut executions by `assume`.
    Assume Given "assume" "executions were cut by `assume`";
}

impl Kind {
    /// The assumption of this kind about a place.
    pub fn at<P>(self, place: P) -> Assumption<P> {
        Assumption {
            kind: self,
            place: Some(place),
            detail: None,
        }
    }

    /// Whether a search that assumes this may have missed something.
    #[must_use]
    pub fn makes_incomplete(self) -> bool {
        self.nature() != Nature::Given
    }
}

/// What an answer rests on. One kind is listed once for each place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumptions<P> {
    list: Vec<Assumption<P>>,
}

impl<P> Default for Assumptions<P> {
    fn default() -> Self {
        Self { list: Vec::new() }
    }
}

impl<P: PartialEq> Assumptions<P> {
    /// Adds one, unless it is known.
    pub fn add(&mut self, assumption: impl Into<Assumption<P>>) {
        let new = assumption.into();
        let same = |old: &Assumption<P>| old.kind == new.kind && old.place == new.place;
        if !self.list.iter().any(same) {
            self.list.push(new);
        }
    }

    /// Adds those of another part of the same check.
    pub fn absorb(&mut self, others: Self) {
        for assumption in others.list {
            self.add(assumption);
        }
    }
}

impl<P> Assumptions<P> {
    /// Whether nothing was left out: the explored executions are all that the program has.
    #[must_use]
    pub fn are_none(&self) -> bool {
        !self.iter().any(|one| one.kind.makes_incomplete())
    }

    /// Whether no execution was left out of those that the explorer can run. Those that only a real
    /// machine has do not count: see [`Nature::Model`].
    #[must_use]
    pub fn are_of_the_model(&self) -> bool {
        !self.iter().any(|one| one.kind.nature() == Nature::Limit)
    }

    /// In the order in which they were met.
    pub fn iter(&self) -> std::slice::Iter<'_, Assumption<P>> {
        self.list.iter()
    }

    /// The first of a kind.
    #[must_use]
    pub fn find(&self, kind: Kind) -> Option<&Assumption<P>> {
        self.iter().find(|one| one.kind == kind)
    }

    /// Says more of those of a kind, in place of what is said beyond the kind.
    pub fn explain(&mut self, more: impl Fn(Kind) -> Option<String>) {
        for one in &mut self.list {
            if let Some(detail) = more(one.kind) {
                one.detail = Some(detail.into());
            }
        }
    }

    /// The same, with places as somebody else knows them.
    pub fn map_places<Q>(self, mut place: impl FnMut(P) -> Q) -> Assumptions<Q> {
        let list = self.list.into_iter();
        Assumptions {
            list: list.map(|one| one.map_place(&mut place)).collect(),
        }
    }
}

impl<'a, P> IntoIterator for &'a Assumptions<P> {
    type Item = &'a Assumption<P>;
    type IntoIter = std::slice::Iter<'a, Assumption<P>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_kind_is_listed_once_for_each_place() {
        let mut all = Assumptions::default();
        all.add(Kind::WeakOrdering.at(1));
        all.add(Kind::WeakOrdering.at(2));
        all.add(Kind::WeakOrdering.at(1).because("again"));
        all.add(Kind::Time);
        let places: Vec<_> = all.iter().map(|one| one.place).collect();
        assert_eq!(places, [Some(1), Some(2), None]);
    }

    #[test]
    fn only_what_is_given_takes_nothing_away() {
        for &kind in Kind::ALL {
            let mut all = Assumptions::<u32>::default();
            all.add(kind);
            let is_given = matches!(
                kind,
                Kind::Assume | Kind::LoadBuffering | Kind::UnseenCounts
            );
            assert_eq!(all.are_none(), is_given, "{kind:?}");
        }
        assert!(Assumptions::<u32>::default().are_none());
    }

    #[test]
    fn names_are_different() {
        let names: std::collections::HashSet<_> =
            Kind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), Kind::ALL.len());
    }
}
