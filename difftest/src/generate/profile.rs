//! Profiles: what kinds of patterns a random program is mostly made of.
//!
//! A program that uses everything at once hardly ever meets the narrow conditions under which a
//! reduction goes wrong. So each profile favours a few [`Pattern`]s that belong together, and
//! mixes in some of the others.

use Pattern as P;

/// A pattern of a few statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    missing_docs,
    reason = "the names say it; the code that makes them is next door"
)]
pub enum Pattern {
    Write,
    Read,
    Increment,
    Array,
    Fields,
    Pointer,
    Compute,
    AssertLocal,
    AssertGlobal,
    If,
    IfStar,
    ChooseBlock,
    ChooseNumber,
    Assume,
    Await,
    BoundedLoop,
    Endless,
    LoopBack,
    Switch,
    Locked,
    LockedData,
    BareData,
    NestedLocks,
    Reentrant,
    TryLock,
    ReadLock,
    WriteLock,
    TryReadWrite,
    StrayUnlock,
    Semaphore,
    Down,
    Up,
    TryDown,
    MonitorWait,
    MonitorNotify,
    CondWait,
    CondNotify,
    Send,
    Receive,
    Poll,
    Meet,
    Cas,
    FetchAdd,
    Swap,
    AtomicVariable,
    AtomicBlock,
    AtomicWait,
    Call,
    New,
    HeapRead,
    HeapWrite,
    HeapLocked,
    Free,
    Spawn,
    SpawnJoin,
    Reach,
    Yield,
    Return,
    Give,
    Take,
    ThreadLocal,
    Guarded,
    BareGuarded,
    GuardedEach,
    Exclusive,
    NestedSemaphores,
    SemaphoreAndLock,
    AwaitLocal,
    Upgrade,
    TryThenWait,
    FreeThenWait,
    PlainObject,
    LateWait,
    TakeOver,
    DisciplinedBlock,
    ChooseWide,
    ChooseMany,
    Allocations,
    Chain,
    LocalArray,
    Recursion,
    Objects,
    Rows,
}

/// What random programs are to be like.
#[derive(Debug)]
pub struct Profile {
    /// The name that users write.
    pub name: &'static str,
    /// What they are mostly made of, with weights.
    favours: &'static [(Pattern, u32)],
    /// What threads often end with.
    pub(super) endings: &'static [Pattern],
    /// Whether its patterns take many steps, so that a thread has fewer of them.
    pub(super) long: bool,
    /// How many in a hundred have a `main` that spawns, instead of `run`.
    pub(super) spawning: u32,
    /// In how many in a hundred of those `main` begins with an object that all can reach.
    pub(super) objects: u32,
    /// How many in a hundred have an invariant.
    pub(super) invariants: u32,
    /// Whether threads do the same as others, and do not ask who they are.
    pub(super) twins: bool,
}

impl Profile {
    /// What the next pattern is chosen from.
    pub(super) fn patterns(&self, focused: bool) -> &'static [(Pattern, u32)] {
        if focused { self.favours } else { EVERYTHING }
    }
}

/// The profile of that name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

const fn profile(
    name: &'static str,
    favours: &'static [(Pattern, u32)],
    endings: &'static [Pattern],
) -> Profile {
    Profile {
        name,
        favours,
        endings,
        long: false,
        spawning: 10,
        objects: 0,
        invariants: 10,
        twins: false,
    }
}

/// Every profile.
pub const PROFILES: &[Profile] = &[
    Profile {
        spawning: 0,
        twins: true,
        long: true,
        ..profile("twins", EVERYTHING, &[P::AssertLocal])
    },
    Profile {
        spawning: 0,
        twins: true,
        long: true,
        ..profile(
            "locked-twins",
            &[
                (P::LockedData, 5),
                (P::BareData, 1),
                (P::NestedLocks, 2),
                (P::CondWait, 2),
                (P::CondNotify, 3),
                (P::MonitorWait, 2),
                (P::MonitorNotify, 3),
                (P::Semaphore, 1),
                (P::ReadLock, 1),
                (P::TryLock, 1),
                (P::Write, 3),
                (P::Read, 3),
                (P::AssertLocal, 2),
            ],
            &[P::AssertLocal, P::CondNotify],
        )
    },
    Profile {
        spawning: 25,
        invariants: 20,
        ..profile("mixed", EVERYTHING, &[])
    },
    profile(
        "data",
        &[
            (P::Write, 4),
            (P::Read, 4),
            (P::Increment, 2),
            (P::Array, 2),
            (P::Fields, 1),
            (P::Pointer, 2),
            (P::AssertLocal, 3),
            (P::AssertGlobal, 1),
        ],
        &[P::AssertLocal],
    ),
    profile(
        "choice-after-commit",
        &[
            (P::Write, 5),
            (P::IfStar, 4),
            (P::ChooseNumber, 2),
            (P::ChooseBlock, 2),
            (P::Assume, 4),
            (P::Read, 2),
            (P::AssertLocal, 2),
            (P::Compute, 1),
        ],
        &[P::IfStar, P::Read],
    ),
    profile(
        "blocked-guards",
        &[
            (P::Assume, 3),
            (P::Await, 3),
            (P::AtomicWait, 1),
            (P::Write, 9),
            (P::Read, 2),
            (P::AssertLocal, 2),
            (P::AssertGlobal, 1),
        ],
        &[P::AssertLocal, P::Write],
    ),
    profile(
        "reentrant",
        &[
            (P::Reentrant, 6),
            (P::Write, 2),
            (P::Read, 2),
            (P::LockedData, 2),
            (P::AssertLocal, 2),
            (P::BareData, 1),
        ],
        &[P::AssertLocal],
    ),
    profile(
        "monitors",
        &[
            (P::MonitorWait, 3),
            (P::MonitorNotify, 4),
            (P::CondWait, 3),
            (P::CondNotify, 4),
            (P::LockedData, 2),
            (P::Write, 1),
            (P::AssertGlobal, 1),
        ],
        &[P::MonitorNotify, P::CondNotify],
    ),
    Profile {
        spawning: 100,
        ..profile(
            "spawn-join",
            &[
                (P::SpawnJoin, 3),
                (P::Spawn, 1),
                (P::LockedData, 2),
                (P::BareData, 2),
                (P::Write, 3),
                (P::Read, 3),
                (P::AssertLocal, 2),
                (P::Pointer, 1),
            ],
            &[P::AssertLocal, P::BareData],
        )
    },
    Profile {
        long: true,
        ..profile(
            "heap",
            &[
                (P::New, 4),
                (P::HeapRead, 4),
                (P::HeapWrite, 3),
                (P::HeapLocked, 3),
                (P::Free, 1),
                (P::Allocations, 2),
                (P::Cas, 1),
                (P::AssertLocal, 2),
            ],
            &[P::HeapRead, P::Free],
        )
    },
    Profile {
        long: true,
        ..profile(
            "tries",
            &[
                (P::TryLock, 4),
                (P::TryReadWrite, 2),
                (P::TryDown, 2),
                (P::Poll, 2),
                (P::Locked, 3),
                (P::LockedData, 3),
                (P::Semaphore, 1),
                (P::WriteLock, 1),
                (P::AssertLocal, 1),
            ],
            &[P::TryLock],
        )
    },
    profile(
        "locked-data",
        &[
            (P::LockedData, 8),
            (P::BareData, 1),
            (P::Locked, 2),
            (P::NestedLocks, 2),
            (P::AssertLocal, 2),
            (P::BoundedLoop, 1),
        ],
        &[P::BareData, P::AssertLocal],
    ),
    profile(
        "lock-order",
        &[
            (P::NestedLocks, 6),
            (P::Locked, 2),
            (P::WriteLock, 1),
            (P::ReadLock, 1),
            (P::Down, 1),
            (P::Up, 1),
            (P::Write, 1),
        ],
        &[],
    ),
    profile(
        "endless",
        &[
            (P::Write, 5),
            (P::LoopBack, 2),
            (P::Read, 2),
            (P::AssertGlobal, 3),
            (P::IfStar, 1),
            (P::LockedData, 1),
        ],
        &[P::Endless, P::Endless, P::LoopBack],
    ),
    Profile {
        invariants: 100,
        ..profile(
            "invariants",
            &[
                (P::Write, 6),
                (P::Increment, 2),
                (P::LockedData, 6),
                (P::AtomicBlock, 2),
                (P::Read, 1),
                (P::IfStar, 1),
            ],
            &[],
        )
    },
    Profile {
        spawning: 30,
        ..profile(
            "disciplines",
            &[
                (P::ThreadLocal, 4),
                (P::Guarded, 6),
                (P::BareGuarded, 1),
                (P::GuardedEach, 3),
                (P::Exclusive, 4),
                (P::Write, 2),
                (P::Read, 1),
                (P::AssertLocal, 1),
            ],
            &[],
        )
    },
    profile(
        "handover",
        &[
            (P::Give, 4),
            (P::Take, 4),
            (P::BareData, 2),
            (P::LockedData, 1),
            (P::AssertLocal, 1),
        ],
        &[P::BareData, P::Take],
    ),
    profile(
        "read-write-locks",
        &[
            (P::ReadLock, 4),
            (P::WriteLock, 4),
            (P::TryReadWrite, 1),
            (P::BareData, 1),
            (P::AssertLocal, 2),
        ],
        &[P::AssertLocal],
    ),
    profile(
        "channels",
        &[
            (P::Send, 6),
            (P::Receive, 3),
            (P::Meet, 1),
            (P::Poll, 4),
            (P::Write, 2),
            (P::AssertLocal, 2),
            (P::Semaphore, 1),
        ],
        &[P::Send, P::Poll],
    ),
    Profile {
        long: true,
        ..profile(
            "semaphores",
            &[
                (P::NestedSemaphores, 4),
                (P::SemaphoreAndLock, 4),
                (P::AwaitLocal, 2),
                (P::NestedLocks, 1),
                (P::Semaphore, 1),
                (P::Down, 1),
                (P::Up, 1),
                (P::TryDown, 1),
                (P::Write, 2),
                (P::AssertLocal, 1),
            ],
            &[],
        )
    },
    Profile {
        spawning: 30,
        objects: 50,
        ..profile(
            "blocks-that-block",
            &[
                (P::TryThenWait, 4),
                (P::LateWait, 4),
                (P::Upgrade, 2),
                (P::FreeThenWait, 2),
                (P::PlainObject, 4),
                (P::Write, 4),
                (P::LockedData, 3),
                (P::WriteLock, 1),
                (P::New, 1),
                (P::Free, 1),
                (P::Semaphore, 1),
                (P::Send, 1),
                (P::AssertLocal, 2),
            ],
            &[P::AssertLocal, P::Write, P::Endless],
        )
    },
    Profile {
        spawning: 30,
        ..profile(
            "taking-over",
            &[
                (P::TakeOver, 5),
                (P::Exclusive, 4),
                (P::Write, 3),
                (P::Read, 1),
                (P::Yield, 1),
                (P::IfStar, 1),
                (P::AssertLocal, 1),
            ],
            &[P::TakeOver, P::Write, P::Yield],
        )
    },
    Profile {
        spawning: 30,
        ..profile(
            "disciplined-blocks",
            &[
                (P::DisciplinedBlock, 8),
                (P::Exclusive, 2),
                (P::TakeOver, 2),
                (P::Guarded, 1),
                (P::Write, 4),
                (P::Read, 1),
                (P::AtomicWait, 1),
                (P::Yield, 1),
                (P::AssertLocal, 1),
            ],
            // What a step finds out about who is left depends on every end of a thread. Threads that
            // do not end leave room for other dependencies to matter.
            &[P::DisciplinedBlock, P::Endless, P::AwaitLocal],
        )
    },
    Profile {
        long: true,
        ..profile(
            "wide-choices",
            &[
                (P::ChooseWide, 5),
                (P::ChooseMany, 2),
                (P::AwaitLocal, 1),
                (P::Assume, 2),
                (P::Write, 4),
                (P::Read, 3),
                (P::LockedData, 2),
                (P::AssertLocal, 2),
            ],
            &[P::Read],
        )
    },
    profile(
        "atomics",
        &[
            (P::Cas, 3),
            (P::FetchAdd, 3),
            (P::Swap, 2),
            (P::AtomicVariable, 3),
            (P::AtomicBlock, 3),
            (P::AtomicWait, 1),
            (P::Read, 2),
            (P::AssertLocal, 2),
        ],
        &[P::AssertLocal],
    ),
    profile(
        "control",
        &[
            (P::BoundedLoop, 3),
            (P::LoopBack, 2),
            (P::Switch, 2),
            (P::If, 3),
            (P::Call, 4),
            (P::Return, 1),
            (P::Write, 3),
            (P::Read, 3),
            (P::AssertLocal, 2),
            (P::Reach, 1),
        ],
        &[],
    ),
    Profile {
        long: true,
        ..profile(
            "calls",
            &[
                (P::Chain, 10),
                (P::Call, 2),
                (P::LocalArray, 3),
                (P::BoundedLoop, 2),
                (P::AtomicBlock, 2),
                (P::If, 1),
                (P::Write, 4),
                (P::Read, 3),
                (P::Array, 1),
                (P::Pointer, 1),
                (P::ChooseNumber, 1),
                (P::LockedData, 2),
                (P::CondWait, 1),
                (P::CondNotify, 1),
                (P::Semaphore, 1),
                (P::Send, 1),
                (P::Await, 1),
                (P::AssertLocal, 1),
            ],
            &[P::Chain, P::Read],
        )
    },
    Profile {
        long: true,
        ..profile(
            "recursion",
            &[
                (P::Recursion, 10),
                (P::LocalArray, 1),
                (P::BoundedLoop, 1),
                (P::AtomicBlock, 2),
                (P::If, 1),
                (P::Write, 4),
                (P::Read, 3),
                (P::LockedData, 2),
                (P::CondNotify, 1),
                (P::Reentrant, 1),
                (P::Send, 1),
                (P::AssertLocal, 1),
            ],
            &[P::Recursion, P::Read],
        )
    },
    Profile {
        long: true,
        spawning: 30,
        ..profile(
            "objects",
            &[
                (P::Objects, 10),
                (P::Rows, 4),
                (P::New, 2),
                (P::HeapRead, 2),
                (P::HeapLocked, 1),
                (P::Allocations, 1),
                (P::Free, 1),
                (P::AtomicBlock, 3),
                (P::BoundedLoop, 1),
                (P::Call, 1),
                (P::SpawnJoin, 1),
                (P::Write, 1),
                (P::AssertLocal, 1),
            ],
            &[P::Objects, P::Rows],
        )
    },
];

/// Everything there is.
const EVERYTHING: &[(Pattern, u32)] = &[
    (P::Write, 12),
    (P::Read, 10),
    (P::Increment, 4),
    (P::Array, 4),
    (P::Fields, 2),
    (P::Pointer, 3),
    (P::Compute, 3),
    (P::AssertLocal, 6),
    (P::AssertGlobal, 3),
    (P::If, 4),
    (P::IfStar, 4),
    (P::ChooseBlock, 2),
    (P::ChooseNumber, 3),
    (P::Assume, 4),
    (P::Await, 3),
    (P::BoundedLoop, 2),
    (P::Endless, 1),
    (P::LoopBack, 2),
    (P::Switch, 1),
    (P::Locked, 4),
    (P::LockedData, 5),
    (P::BareData, 2),
    (P::NestedLocks, 2),
    (P::Reentrant, 2),
    (P::TryLock, 2),
    (P::ReadLock, 2),
    (P::WriteLock, 2),
    (P::TryReadWrite, 1),
    (P::StrayUnlock, 1),
    (P::Semaphore, 2),
    (P::Down, 1),
    (P::Up, 1),
    (P::TryDown, 1),
    (P::MonitorWait, 1),
    (P::MonitorNotify, 2),
    (P::CondWait, 1),
    (P::CondNotify, 2),
    (P::Send, 2),
    (P::Receive, 2),
    (P::Poll, 1),
    (P::Meet, 1),
    (P::Cas, 2),
    (P::FetchAdd, 2),
    (P::Swap, 1),
    (P::AtomicVariable, 2),
    (P::AtomicBlock, 3),
    (P::AtomicWait, 1),
    (P::Call, 3),
    (P::New, 2),
    (P::HeapRead, 2),
    (P::HeapWrite, 1),
    (P::HeapLocked, 1),
    (P::Free, 1),
    (P::Spawn, 1),
    (P::SpawnJoin, 1),
    (P::Reach, 1),
    (P::Yield, 1),
    (P::Return, 1),
    (P::Give, 1),
    (P::Take, 1),
    (P::ThreadLocal, 1),
    (P::Guarded, 1),
    (P::GuardedEach, 1),
    (P::Exclusive, 1),
    (P::NestedSemaphores, 1),
    (P::SemaphoreAndLock, 1),
    (P::AwaitLocal, 1),
    (P::Upgrade, 1),
    (P::TryThenWait, 1),
    (P::FreeThenWait, 1),
    (P::PlainObject, 1),
    (P::LateWait, 1),
    (P::TakeOver, 1),
    (P::DisciplinedBlock, 1),
    (P::ChooseWide, 1),
    (P::ChooseMany, 1),
    (P::Allocations, 1),
];
