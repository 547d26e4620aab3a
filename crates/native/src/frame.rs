//! What native code is told and what it tells, besides the words of the state.

use raddle_explore::{Access, AccessKind, Location, Place, SyncOp, Variable};

use crate::objects::Objects;

/// The most accesses of a native step.
pub(crate) const MOST_ACCESSES: usize = 62;

/// An access as native code writes it down.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NativeAccess {
    /// The location: a global slot, a reference to a slot of an object, or the name of a thread that ends or is waited for.
    pub(crate) location: u64,
    /// The instruction (from bit 16), the number of the kind in [`KINDS`] (from bit 8), whether it writes (bit 0).
    pub(crate) rest: u64,
}

impl NativeAccess {
    #[inline]
    pub(crate) fn writes(self) -> bool {
        self.rest & 1 != 0
    }

    #[inline]
    pub(crate) fn writes_plainly(self) -> bool {
        self.rest & 0x1F01 == (kind::PLAIN << 8 | 1) as u64
    }

    /// What it accesses, in a program without a heap whose threads do not spawn.
    #[inline]
    pub(crate) fn variable(self) -> Variable {
        Variable(self.location)
    }

    #[inline]
    pub(crate) fn access(self, blocked: bool) -> Access {
        Access {
            location: Location(self.location),
            writes: self.writes() && !blocked,
            kind: KINDS[(self.rest >> 8) as usize & 0x1F],
            place: Place((self.rest >> 16) as u32),
        }
    }
}

/// The numbers of kinds of accesses.
pub(crate) mod kind {
    pub(crate) const PLAIN: i64 = 0;
    pub(crate) const ATOMIC: i64 = 1;
    pub(crate) const ACQUIRE: i64 = 2;
    pub(crate) const RELEASE: i64 = 3;
    pub(crate) const TRY: i64 = 4;
    pub(crate) const DOWN: i64 = 5;
    pub(crate) const UP: i64 = 6;
    pub(crate) const POLL: i64 = 7;
    pub(crate) const SEND: i64 = 8;
    pub(crate) const RECEIVE: i64 = 9;
    pub(crate) const WAIT: i64 = 10;
    pub(crate) const RESUME: i64 = 11;
    pub(crate) const NOTIFY: i64 = 12;
    pub(crate) const ACQUIRE_SHARED: i64 = 13;
    pub(crate) const RELEASE_SHARED: i64 = 14;
    pub(crate) const TRY_SHARED: i64 = 15;
    pub(crate) const JOIN: i64 = 16;
    pub(crate) const EXIT: i64 = 17;
    pub(crate) const FREE: i64 = 18;
    pub(crate) const DESTROY: i64 = 19;
}

/// The kinds of accesses that native code makes, by number.
const KINDS: [AccessKind; 20] = [
    AccessKind::Plain,
    AccessKind::Atomic,
    AccessKind::Sync(SyncOp::Acquire),
    AccessKind::Sync(SyncOp::Release),
    AccessKind::Sync(SyncOp::Try),
    AccessKind::Sync(SyncOp::Down),
    AccessKind::Sync(SyncOp::Up),
    AccessKind::Sync(SyncOp::Poll),
    AccessKind::Sync(SyncOp::Send),
    AccessKind::Sync(SyncOp::Receive),
    AccessKind::Sync(SyncOp::Wait),
    AccessKind::Sync(SyncOp::Resume),
    AccessKind::Sync(SyncOp::Notify),
    AccessKind::Sync(SyncOp::AcquireShared),
    AccessKind::Sync(SyncOp::ReleaseShared),
    AccessKind::Sync(SyncOp::TryShared),
    AccessKind::Sync(SyncOp::Join),
    AccessKind::Sync(SyncOp::Exit),
    AccessKind::Sync(SyncOp::Free),
    AccessKind::Sync(SyncOp::Destroy),
];

// SAFETY: one pointer is that of constants which are read, never written, and live in what the owner of the frame keeps. The other one is
// used while a step is executed, and is that of objects which the owner of the frame lends for this step.
unsafe impl Send for NativeFrame {}

/// The most choices of a native step.
pub(crate) const MOST_PICKS: usize = 8;

/// A choice of a native step.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pick {
    /// Which alternative.
    pub(crate) pick: u64,
    /// Of how many.
    pub(crate) of: u64,
}

/// What native code is told and what it tells.
#[repr(C)]
#[derive(Clone, Debug)]
pub(crate) struct NativeFrame {
    /// How many accesses there are.
    pub(crate) count: u64,
    /// The blocks of code that it has executed, as bits.
    pub(crate) blocks: u64,
    /// The parts that it has changed, as bits, but for those of threads.
    pub(crate) changed: u64,
    /// Whether it has changed other threads.
    pub(crate) wakes: u64,
    /// The constants of the thread.
    pub(crate) constants: *const i64,
    /// The name of the thread.
    pub(crate) me: i64,
    /// The number of the thread.
    pub(crate) tid: i64,
    /// The code of the name of the thread in one byte, or -1.
    pub(crate) my_code: i64,
    /// What is left of the number of the alternative that the step takes.
    pub(crate) choice: u64,
    /// How many choices it has made.
    pub(crate) picked: u64,
    /// How many threads were spawned that are there.
    pub(crate) spawned: u64,
    /// The heap objects, if there is a heap.
    pub(crate) objects: *mut Objects,
    /// Its choices.
    pub(crate) picks: [Pick; MOST_PICKS],
    /// The accesses.
    pub(crate) accesses: [NativeAccess; MOST_ACCESSES],
}

impl Default for NativeFrame {
    fn default() -> Self {
        Self {
            count: 0,
            blocks: 0,
            changed: 0,
            wakes: 0,
            constants: std::ptr::null(),
            me: 0,
            tid: 0,
            my_code: 0,
            choice: 0,
            picked: 0,
            spawned: 0,
            objects: std::ptr::null_mut(),
            picks: [Pick::default(); MOST_PICKS],
            accesses: [NativeAccess::default(); MOST_ACCESSES],
        }
    }
}
