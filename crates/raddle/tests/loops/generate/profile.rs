//! Forms of loops, and which of them programs are made of.

use crate::syntax::Inside;

/// Forms of loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Form {
    /// Looks, marks, looks again.
    Wait,
    /// Looks at another object each round, in turn, or in an order such as x, x, y.
    ScanOneEachRound,
    /// Looks at several objects in each round, with marks in between or after all of them.
    ScanAllEachRound,
    /// Gives up after some rounds.
    GiveUp,
    /// The same, with another object each round.
    GiveUpScanning,
    /// The same, without a mark.
    GiveUpUnmarked,
    /// More and more calls of `spin_loop`.
    Backoff,
    /// Does something when it sees another value than before.
    Remember,
    /// Counts its rounds, without bound, and tells.
    Counter,
    /// The same, but counts on the heap.
    CounterOnHeap,
    /// Marks at two places in turns.
    TwoMarks,
    /// Waits and goes on, twice, in one loop.
    Twice,
    /// Reads until nobody has written in between.
    SeqLock,
    /// Changes something in each round.
    Effect,
    /// A loop that gives up within a loop that does not.
    Nested,
    TwoInARow,
    CasCarry,
    CasReload,
    Ticket,
    SwapLock,
    TestAndSwapLock,
    OrLock,
    TryLock,
    FutureWakesItself,
    FutureJoin,
    FutureRegisters,
    CondvarWait,
    CondvarWhile,
    CondvarTimeout,
    CondvarGiveUp,
    Park,
    ParkTimeout,
    /// Waits until a thread has ended.
    Finished,
    /// Waits for a count of references; who changes it polls afterwards.
    CountThenWait,
    /// Polls by waits that time out, as another thread does that waits for it.
    TwoTimeouts,
    /// A buffer for one number, mostly behind a pointer, that two threads poll.
    Slot,
}

/// How a loop looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Look {
    Load,
    AddZero,
    Cas,
    Lock,
    LockTake,
    TryLock,
    Read,
    TryRead,
    TryWrite,
    Recv,
    TryRecv,
    RecvTimeout,
    Once,
    /// Looks at a flag, and then under a lock.
    LoadThenLock,
    /// At how many references there are.
    Strong,
    /// The same, before, between or after making one and dropping it.
    CloneStrong,
    /// Whether there is one.
    Upgrade,
    /// The same, and then how many there are.
    UpgradeStrong,
}

/// What programs are made of.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    pub(crate) forms: Vec<Form>,
    pub(crate) looks: Vec<Look>,
    pub(crate) insides: Vec<Inside>,
}

/// Forms of loops that are known limits: the counter is guessed at or cannot be seen, or the executions have no bound.
const LIMITS: [&str; 6] = [
    "Counter",
    "CounterOnHeap",
    "Effect",
    "CondvarTimeout",
    "ParkTimeout",
    "LookRecvTimeout",
];

impl Profile {
    /// What holds. What is left out here is a known limit.
    pub(crate) fn holds() -> Self {
        let mut profile = Self::everything();
        for name in LIMITS {
            profile.leave_out(name);
        }
        profile
    }

    /// Loops that look at references, and what holds otherwise.
    pub(crate) fn references() -> Self {
        Self {
            forms: vec![
                Form::Wait,
                Form::Wait,
                Form::ScanAllEachRound,
                Form::GiveUp,
                Form::Remember,
                Form::TwoMarks,
                Form::TwoInARow,
                Form::Nested,
            ],
            looks: vec![
                Look::Strong,
                Look::CloneStrong,
                Look::CloneStrong,
                Look::Upgrade,
                Look::UpgradeStrong,
            ],
            ..Self::holds()
        }
    }

    /// Loops of two threads that wait for each other, and what holds otherwise.
    pub(crate) fn pairs() -> Self {
        Self {
            forms: vec![
                Form::CountThenWait,
                Form::TwoTimeouts,
                Form::Slot,
                Form::Slot,
                Form::GiveUp,
            ],
            ..Self::holds()
        }
    }

    /// Leaves out a form, a way to look, or what mutexes have inside.
    pub(crate) fn leave_out(&mut self, name: &str) {
        let count = |it: &Self| it.forms.len() + it.looks.len() + it.insides.len();
        let before = count(self);
        self.forms.retain(|form| format!("{form:?}") != name);
        self.looks.retain(|look| format!("Look{look:?}") != name);
        self.insides
            .retain(|inside| format!("Inside{inside:?}") != name);
        assert!(count(self) < before, "there is no `{name}`");
    }

    /// Everything.
    pub(crate) fn everything() -> Self {
        Self {
            forms: vec![
                Form::Wait,
                Form::ScanOneEachRound,
                Form::ScanAllEachRound,
                Form::GiveUp,
                Form::GiveUpScanning,
                Form::GiveUpUnmarked,
                Form::Backoff,
                Form::Remember,
                Form::Counter,
                Form::CounterOnHeap,
                Form::TwoMarks,
                Form::Twice,
                Form::SeqLock,
                Form::Effect,
                Form::Nested,
                Form::TwoInARow,
                Form::CasCarry,
                Form::CasReload,
                Form::Ticket,
                Form::SwapLock,
                Form::TestAndSwapLock,
                Form::OrLock,
                Form::TryLock,
                Form::FutureWakesItself,
                Form::FutureJoin,
                Form::FutureRegisters,
                Form::CondvarWait,
                Form::CondvarWhile,
                Form::CondvarTimeout,
                Form::CondvarGiveUp,
                Form::Park,
                Form::ParkTimeout,
                Form::Finished,
                Form::CountThenWait,
                Form::TwoTimeouts,
                Form::Slot,
            ],
            looks: vec![
                Look::Load,
                Look::AddZero,
                Look::Cas,
                Look::Lock,
                Look::LockTake,
                Look::TryLock,
                Look::Read,
                Look::TryRead,
                Look::TryWrite,
                Look::Recv,
                Look::TryRecv,
                Look::RecvTimeout,
                Look::Once,
                Look::LoadThenLock,
                Look::Strong,
                Look::CloneStrong,
                Look::Upgrade,
                Look::UpgradeStrong,
            ],
            insides: vec![Inside::Plain, Inside::Cell, Inside::RefCell, Inside::Boxed],
        }
    }
}
