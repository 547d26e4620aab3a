//! The rules of the algorithm that something breaks without, each with a switch for tests of the tests.

/// A rule of the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// An update that is inconsistent as it stands makes its revisits all the same.
    RevisitsOfInconsistentUpdates,
    /// Whether an event was added in the default way is judged by what was there before it, not by the whole graph.
    Previous,
    /// The prefix of a write that has revisited something is not deleted.
    Settled,
    /// At a leaf, the event of each thread that waits is tried with the older values that it need not wait for.
    WaitingAtLeaves,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::RevisitsOfInconsistentUpdates,
        Self::Previous,
        Self::Settled,
        Self::WaitingAtLeaves,
    ];
}
