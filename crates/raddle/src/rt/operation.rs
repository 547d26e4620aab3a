//! [`Operation`]: what a thread is about to do.
//!
//! An operation is a plain value that names locations; what it does is a function of their
//! values and of nothing else (see `effect.rs`). So the same operation can be made, can be asked
//! whether it is possible now, and can be foreseen in a state that never was.

use std::sync::atomic::Ordering;

use raddle_schedule::{LocationId, ThreadId};

/// A step that a thread has announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// The first step of a thread.
    Begin,
    /// What a thread returns is there, and destructors of its thread-locals run next. Without destructors this is part of its last step.
    Finish {
        end: LocationId,
    },
    /// The last step of a thread.
    End {
        end: LocationId,
    },
    /// Starts a thread.
    Spawn {
        child: ThreadId,
    },
    /// Waits for the end of a thread.
    Join {
        end: LocationId,
    },
    /// Waits for the ends of several threads: those of a group of this number.
    JoinAll {
        group: u32,
    },
    /// Takes one of several alternatives.
    Choose {
        alternatives: u32,
        reason: Reason,
    },
    /// Goes on after having been woken.
    Resume,
    /// Stops for good, because an assumption does not hold.
    Stop,

    Load {
        at: LocationId,
        order: Ordering,
    },
    Store {
        at: LocationId,
        value: u64,
        order: Ordering,
    },
    Update {
        at: LocationId,
        update: Update,
        operand: u64,
        order: Ordering,
    },
    CompareExchange {
        at: LocationId,
        expected: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    },
    /// Adds to a count whose changes commute.
    Count {
        at: LocationId,
        add: u64,
    },

    /// Takes another reference, if there is one still.
    Upgrade {
        count: LocationId,
    },
    /// Gives up the only reference, if there is only one.
    TakeOnly {
        count: LocationId,
    },

    Lock {
        mutex: LocationId,
    },
    TryLock {
        mutex: LocationId,
    },
    Unlock {
        mutex: LocationId,
        left: Left,
    },

    ReadLock {
        lock: LocationId,
    },
    TryReadLock {
        lock: LocationId,
    },
    ReadUnlock {
        lock: LocationId,
    },
    WriteLock {
        lock: LocationId,
    },
    TryWriteLock {
        lock: LocationId,
    },
    WriteUnlock {
        lock: LocationId,
        left: Left,
    },
    /// Turns a lock for writing into one for reading.
    Downgrade {
        lock: LocationId,
    },

    /// Gives back a mutex and falls asleep.
    Wait {
        condvar: LocationId,
        mutex: LocationId,
    },
    NotifyOne {
        condvar: LocationId,
    },
    NotifyAll {
        condvar: LocationId,
    },

    /// Arrives at a barrier for this many threads, where it matters who comes last.
    Arrive {
        barrier: LocationId,
        size: u32,
    },
    /// Joins those that gather at a barrier, where it does not matter: see `barriers.rs`.
    Gather {
        barrier: LocationId,
        gathering: LocationId,
        size: u32,
    },
    /// Waits until all have come.
    Pass {
        barrier: LocationId,
        gathering: LocationId,
        size: u32,
    },

    Park {
        token: LocationId,
    },
    Unpark {
        token: LocationId,
    },

    /// Begins an initialisation, or finds that it is done. `again`: also after one that panicked.
    OnceBegin {
        once: LocationId,
        again: bool,
    },
    OnceFinish {
        once: LocationId,
        state: u64,
    },
    /// Waits until an initialisation is done.
    OnceWait {
        once: LocationId,
        again: bool,
    },

    Send {
        channel: u32,
        blocking: bool,
    },
    /// Waits until the message with this number was received, on a channel without a buffer.
    Taken {
        channel: u32,
        message: u32,
    },
    Receive {
        channel: u32,
        message: u32,
        blocking: bool,
    },
    /// Says that the receiver of a channel without a buffer waits.
    Offer {
        channel: u32,
    },

    // What follows is what operations on several locations consist of where executions are graphs: see `rt/graph`.
    /// A fence. Where all is sequentially consistent, it is no step.
    Fence {
        order: Ordering,
    },
    /// Waits until a value that only grows is at least this.
    Await {
        at: LocationId,
        least: u64,
        order: Ordering,
    },
    /// Says that a thread waits on a condition variable.
    Enlist {
        condvar: LocationId,
        who: u64,
    },
    /// Takes from those who wait: all, or the one who does. If it is to be one of several, it only looks who they are.
    Notify {
        condvar: LocationId,
        all: bool,
    },
    /// Takes one of those who wait, if that one still does.
    Pick {
        condvar: LocationId,
        who: u64,
    },
    /// Takes the number of the next message of a channel, if it is below a limit and the receiver is not gone.
    Ticket {
        tail: LocationId,
        limit: u64,
    },
}

/// Why there are alternatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The program asks for a value.
    Asked,
    /// Waiting may take too long.
    Timeout,
    /// What waits may be woken for no reason.
    Spurious,
    /// A weak compare-exchange may fail for no reason.
    WeakFailure,
    /// Several wait, and one is to be notified.
    Waiters,
}

/// How an atomic changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Update {
    Swap,
    Add(Width),
    Sub(Width),
    And,
    Nand(Width),
    Or,
    Xor,
    Max,
    Min,
    SignedMax(Width),
    SignedMin(Width),
}

/// How many bits an atomic has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Width(pub(crate) u8);

impl Width {
    fn cut(self, value: u64) -> u64 {
        let unused = 64 - u32::from(self.0);
        (value << unused) >> unused
    }

    /// The value as a signed number.
    pub(crate) fn signed(self, value: u64) -> i64 {
        let unused = 64 - u32::from(self.0);
        ((value << unused).cast_signed()) >> unused
    }
}

impl Update {
    /// The new value.
    pub(crate) fn apply(self, old: u64, operand: u64) -> u64 {
        match self {
            Self::Swap => operand,
            Self::Add(width) => width.cut(old.wrapping_add(operand)),
            Self::Sub(width) => width.cut(old.wrapping_sub(operand)),
            Self::And => old & operand,
            Self::Nand(width) => width.cut(!(old & operand)),
            Self::Or => old | operand,
            Self::Xor => old ^ operand,
            Self::Max => old.max(operand),
            Self::Min => old.min(operand),
            Self::SignedMax(width) if width.signed(operand) > width.signed(old) => operand,
            Self::SignedMin(width) if width.signed(operand) < width.signed(old) => operand,
            Self::SignedMax(_) | Self::SignedMin(_) => old,
        }
    }
}

/// The states of an initialisation.
pub(crate) mod once {
    pub(crate) const NEW: u64 = 0;
    pub(crate) const RUNNING: u64 = 1;
    pub(crate) const DONE: u64 = 2;
    pub(crate) const POISONED: u64 = 3;
}

/// Who waits on a condition variable, where executions are graphs: a bit for each thread.
pub(crate) mod waiting {
    /// Whether a notification that finds this takes all who wait.
    pub(crate) fn are_taken(waiting: u64, all: bool) -> bool {
        all && waiting != 0 || waiting.count_ones() == 1
    }
}

/// What becomes of sending and receiving.
pub(crate) mod channel {
    pub(crate) const OK: u64 = 0;
    /// There is no room, or no message.
    pub(crate) const NOT_NOW: u64 = 1;
    /// The other side is gone.
    pub(crate) const DISCONNECTED: u64 = 2;

    /// The states of a message, once it is sent.
    pub(crate) const SENT: u64 = 1;
    pub(crate) const TAKEN: u64 = 2;
    /// In the place of a message, where executions are graphs: there are no more senders.
    pub(crate) const LAST: u64 = 2;
    /// In the place of the room that a received message leaves: the receiver is gone.
    pub(crate) const ABANDONED: u64 = 2;
    /// In the number of messages: the receiver is gone.
    pub(crate) const GONE: u64 = 1 << 63;
}

/// The parts of the value of a count of references: below are the strong ones.
pub(crate) mod count {
    pub(crate) const WEAK: u64 = 1 << 32;
    pub(crate) const STRONG: u64 = WEAK - 1;
}

/// How a thread leaves what a lock protects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Left {
    /// It may have changed it: the lock gets another version.
    #[default]
    Changed,
    /// It has not even looked at it: the lock is as if it had not been there.
    Unchanged,
    /// It may have changed it, but it is polling, and the bytes are as before. The lock is marked in a way that wakes others who poll once.
    Alike,
    /// The same, but one of the bytes' words may be an address: it may have changed what is there. The lock is marked in another way.
    Behind,
}

/// The value of a lock that is given back, given its parts.
pub(crate) fn given_back(value: u64, left: Left, version: u64, alike: u64, behind: u64) -> u64 {
    // Marks of the one kind must not be taken for marks of the other.
    let all_alike = !(alike - 1) & (behind - 1);
    match left {
        Left::Changed => value.wrapping_add(version),
        Left::Unchanged => value,
        Left::Alike => value & !all_alike | value.wrapping_add(alike) & all_alike,
        Left::Behind => value.wrapping_add(behind),
    }
}

/// The value of a mutex: whether it is locked, its version, and how often it was left [alike](Left::Alike), and so [behind](Left::Behind).
pub(crate) mod mx {
    pub(crate) const LOCKED: u64 = 1;
    /// Added when it was held, or poisoned.
    pub(crate) const VERSION: u64 = 2;
    pub(crate) const ALIKE: u64 = 1 << 48;
    /// Where executions are graphs, and locks have no versions: a thread panicked while it held the lock.
    pub(crate) const POISONED: u64 = ALIKE;
    pub(crate) const BEHIND: u64 = 1 << 56;
    pub(crate) const ALL_BEHIND: u64 = !(BEHIND - 1);
    /// The marks of both kinds.
    pub(crate) const ALL_ALIKE: u64 = !(ALIKE - 1);
}

/// The parts of the value of a reader-writer lock: below are the readers, above a count of
/// how often it was given back after writing.
pub(crate) mod rw {
    pub(crate) const WRITER: u64 = 1 << 32;
    pub(crate) const READERS: u64 = WRITER - 1;
    pub(crate) const VERSION: u64 = WRITER << 1;
    pub(crate) const ALIKE: u64 = 1 << 52;
    /// Where executions are graphs, and locks have no versions: a thread panicked while it held the lock.
    pub(crate) const POISONED: u64 = ALIKE;
    pub(crate) const BEHIND: u64 = 1 << 58;
    pub(crate) const ALL_BEHIND: u64 = !(BEHIND - 1);
    /// The marks of both kinds.
    pub(crate) const ALL_ALIKE: u64 = !(ALIKE - 1);
}

impl Operation {
    /// Whether it waits for a lock, or gives one back.
    #[inline]
    pub(crate) fn waits_for_lock(&self) -> bool {
        matches!(
            self,
            Self::Lock { .. }
                | Self::Unlock { .. }
                | Self::ReadLock { .. }
                | Self::ReadUnlock { .. }
                | Self::WriteLock { .. }
                | Self::WriteUnlock { .. }
                | Self::Wait { .. }
        )
    }

    /// Whether it may have to wait for other threads.
    #[inline]
    pub(crate) fn may_wait(&self) -> bool {
        match self {
            Self::Join { .. }
            | Self::JoinAll { .. }
            | Self::Lock { .. }
            | Self::ReadLock { .. }
            | Self::WriteLock { .. }
            | Self::Wait { .. }
            | Self::Arrive { .. }
            | Self::Pass { .. }
            | Self::Park { .. }
            | Self::OnceBegin { .. }
            | Self::OnceWait { .. }
            | Self::Await { .. }
            | Self::Taken { .. } => true,
            Self::Send { blocking, .. } | Self::Receive { blocking, .. } => *blocking,
            _ => false,
        }
    }

    /// What it does, for a comparison between two executions and for messages.
    pub(crate) fn verb(&self) -> &'static str {
        match self {
            Self::Begin => "begins",
            Self::Finish { .. } => "returns, and drops its thread-locals next",
            Self::End { .. } => "ends",
            Self::Spawn { .. } => "starts a thread",
            Self::Join { .. } => "joins a thread",
            Self::JoinAll { .. } => "joins all threads of its scope",
            Self::Choose { reason, .. } => match reason {
                Reason::Asked => "chooses",
                Reason::Timeout => "decides about a timeout",
                Reason::Spurious => "decides about a spurious wake-up",
                Reason::WeakFailure => "decides about a spurious failure",
                Reason::Waiters => "decides who is notified",
            },
            Self::Resume => "goes on",
            Self::Stop => "stops at an assumption",
            Self::Load { .. } => "reads",
            Self::Store { .. } => "writes",
            Self::Update { .. } => "updates",
            Self::CompareExchange { .. } => "compares and exchanges",
            Self::Count { .. } => "counts",
            Self::Upgrade { .. } => "upgrades a reference of",
            Self::TakeOnly { .. } => "takes the only reference of",
            Self::Lock { .. } => "locks",
            Self::TryLock { .. } => "tries to lock",
            Self::Unlock { .. } => "unlocks",
            Self::ReadLock { .. } => "locks for reading",
            Self::TryReadLock { .. } => "tries to lock for reading",
            Self::ReadUnlock { .. } => "unlocks after reading",
            Self::WriteLock { .. } => "locks for writing",
            Self::TryWriteLock { .. } => "tries to lock for writing",
            Self::WriteUnlock { .. } => "unlocks after writing",
            Self::Downgrade { .. } => "keeps the lock for reading",
            Self::Wait { .. } => "waits on",
            Self::NotifyOne { .. } => "notifies one of",
            Self::NotifyAll { .. } => "notifies all of",
            Self::Arrive { .. } | Self::Gather { .. } => "arrives at",
            Self::Pass { .. } => "passes",
            Self::Park { .. } => "parks",
            Self::Unpark { .. } => "unparks",
            Self::OnceBegin { .. } => "calls once",
            Self::OnceFinish { .. } => "finishes",
            Self::OnceWait { .. } => "waits for",
            Self::Send { .. } => "sends on",
            Self::Taken { .. } => "waits for the receiver of",
            Self::Receive { .. } => "receives from",
            Self::Offer { .. } => "waits for a message of",
            Self::Fence { .. } => "passes a fence",
            Self::Await { .. } => "has waited for",
            Self::Enlist { .. } => "waits on",
            Self::Notify { all: true, .. } => "notifies all of",
            Self::Notify { .. } => "notifies one of",
            Self::Pick { .. } => "picks who is notified of",
            Self::Ticket { .. } => "takes the next number of",
        }
    }

    /// The mutex or lock that it waits for or takes.
    #[inline]
    pub(crate) fn locks(&self) -> Option<LocationId> {
        match *self {
            Self::Lock { mutex } | Self::TryLock { mutex } => Some(mutex),
            Self::ReadLock { lock }
            | Self::TryReadLock { lock }
            | Self::WriteLock { lock }
            | Self::TryWriteLock { lock } => Some(lock),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_stay_within_their_width() {
        let byte = Width(8);
        assert_eq!(Update::Add(byte).apply(255, 1), 0);
        assert_eq!(Update::Sub(byte).apply(0, 1), 255);
        assert_eq!(Update::Nand(byte).apply(0b1100, 0b1010), 0xf7);
        assert_eq!(Update::SignedMax(byte).apply(0xff, 1), 1);
        assert_eq!(Update::SignedMin(byte).apply(0xff, 1), 0xff);
        assert_eq!(Update::Max.apply(0xff, 1), 0xff);
        assert_eq!(Update::Add(Width(64)).apply(u64::MAX, 2), 1);
    }
}
