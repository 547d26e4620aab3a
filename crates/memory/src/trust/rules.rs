//! The rules of the algorithm that something breaks without, each with a switch for tests of the tests.

/// A rule of the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// An update that is inconsistent as it stands makes its revisits all the same.
    RevisitsOfInconsistentUpdates,
    /// The writing part of an update has a stamp of its own.
    WriteStamps,
    /// Whether an event was added in the default way is judged by what was there before it, not by the whole graph.
    Previous,
    /// A write that has made a lock wait is not deleted.
    StickyWrites,
    /// Threads that wait at a leaf try to be earlier than those that they wait for.
    WaitingAtLeaves,
    /// Prefixes of writes that have revisited something are not revisited. A shortcut: these events are never default ones.
    Settled,
    /// A write that something read which was there before it was not added in the default way. It follows from the other conditions.
    EarlierReaders,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::RevisitsOfInconsistentUpdates,
        Self::WriteStamps,
        Self::Previous,
        Self::StickyWrites,
        Self::WaitingAtLeaves,
        Self::Settled,
        Self::EarlierReaders,
    ];

    /// Whether the exploration is the same without it.
    #[must_use]
    pub fn is_redundant(self) -> bool {
        matches!(self, Self::Settled | Self::EarlierReaders)
    }
}
