//! The repairs of the papers' algorithms, each with a switch.
//!
//! Read literally, the papers' pseudo-code misses failures of some programs. Each
//! [`Repair`] mends one such hole. To show that the tests would notice if one of them were
//! missing, a build with the feature `mutations` can switch it off (`without`); in
//! any other build a repair is always on and the question costs nothing.

/// A departure from the letter of a paper without which a reduction would be unsound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Repair {
    /// What a blocked guard reads counts as an access when locks are inferred.
    BlockedGuardIsAnAccess,
    /// The search starts again when a variable turns out to be unprotected.
    StartAgainWhenUnprotected,
    /// Whether an acquire or a release moves is told from who owns the lock, so that the inner
    /// ones of a re-entrant lock are both-movers.
    InnerLocksAreBothMovers,
    /// A thread that is blocked, ended or failed after its commit ends its transaction.
    StuckAfterCommitEndsTransaction,
    /// A transaction that can go on for ever after its commit is ended by force.
    ForcedEnd,
    /// A lock that somebody tries is neither acquired by a right mover nor released by a left
    /// mover.
    TriedLocksDoNotMove,
    /// The first thread that accesses a variable does so like any other.
    NoFreeFirstOwner,
    /// A thread may end by a left mover only if nobody relies on being the last one.
    LastThreadSeesOthersEnd,
    /// A state repeated on the invisible path is a scheduling point.
    InvisibleLoopsEnd,
    /// Violations of the classification count in intermediate states too.
    IntermediateViolations,
    /// The end of a thread is a transition of its prefix.
    TerminationIsATransition,
    /// A blocked thread's transition to itself reads its guard.
    BlockedReadsItsGuard,
    /// On a conflict of two last transitions, both threads stop, in the minimal vector too.
    BothStopOnConflict,
    /// Whether a prefix comes back is told from whole states, not from the thread's.
    CycleTestComparesWholeStates,
    /// A choice never extends a prefix.
    ChoiceEndsPrefix,
    /// A spawn ends the prefix that it is in.
    SpawnEndsPrefix,
    /// A step that changes what an invariant reads conflicts with the observer of it.
    InvariantObserver,
    /// A step that breaks a discipline by the state that it leads to reports all of its
    /// accesses. (The machine does so, not a reduction.)
    BreachIsDecidedByWholeStep,
}

impl Repair {
    /// Every repair.
    pub const ALL: [Self; 18] = [
        Self::BlockedGuardIsAnAccess,
        Self::StartAgainWhenUnprotected,
        Self::InnerLocksAreBothMovers,
        Self::StuckAfterCommitEndsTransaction,
        Self::ForcedEnd,
        Self::TriedLocksDoNotMove,
        Self::NoFreeFirstOwner,
        Self::LastThreadSeesOthersEnd,
        Self::InvisibleLoopsEnd,
        Self::IntermediateViolations,
        Self::TerminationIsATransition,
        Self::BlockedReadsItsGuard,
        Self::BothStopOnConflict,
        Self::CycleTestComparesWholeStates,
        Self::ChoiceEndsPrefix,
        Self::SpawnEndsPrefix,
        Self::InvariantObserver,
        Self::BreachIsDecidedByWholeStep,
    ];

    /// Whether all of them are on.
    #[cfg(not(feature = "mutations"))]
    #[inline(always)]
    #[must_use]
    pub fn are_all_on() -> bool {
        true
    }

    /// Whether all of them are on.
    #[cfg(feature = "mutations")]
    #[must_use]
    pub fn are_all_on() -> bool {
        OFF.with(|off| off.get().is_none())
    }

    /// Whether the repair is on.
    #[cfg(not(feature = "mutations"))]
    #[inline(always)]
    #[must_use]
    pub fn is_on(self) -> bool {
        true
    }

    /// Whether the repair is on.
    #[cfg(feature = "mutations")]
    #[must_use]
    pub fn is_on(self) -> bool {
        OFF.with(|off| off.get() != Some(self))
    }
}

#[cfg(feature = "mutations")]
thread_local! {
    static OFF: std::cell::Cell<Option<Repair>> = const { std::cell::Cell::new(None) };
}

/// Runs a function without one of the repairs: reductions are unsound while it runs.
#[cfg(feature = "mutations")]
pub fn without<T>(repair: Repair, run: impl FnOnce() -> T) -> T {
    let _restored = Restored(OFF.with(|off| off.replace(Some(repair))));
    run()
}

/// What was off before is off again when this goes, also when the function panics.
#[cfg(feature = "mutations")]
struct Restored(Option<Repair>);

#[cfg(feature = "mutations")]
impl Drop for Restored {
    fn drop(&mut self) {
        OFF.with(|off| off.set(self.0));
    }
}
