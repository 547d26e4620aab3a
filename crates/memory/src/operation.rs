//! [`Operation`]: what a thread announces that it does next, as a plain value.

use raddle_schedule::ThreadId;

/// The ordering of an atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// No ordering beyond that of the location.
    Relaxed,
    /// Reads of this order synchronise with what released the value.
    Acquire,
    /// Writes of this order release what came before them.
    Release,
    /// Both, for updates and fences.
    AcqRel,
    /// Both, and in one order with everything of this order.
    SeqCst,
}

impl Order {
    /// Whether a read or a fence of this order acquires.
    #[must_use]
    #[inline]
    pub fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcqRel | Self::SeqCst)
    }

    /// Whether a write or a fence of this order releases.
    #[must_use]
    #[inline]
    pub fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcqRel | Self::SeqCst)
    }

    /// Whether it is [`SeqCst`](Self::SeqCst).
    #[must_use]
    #[inline]
    pub fn is_seq_cst(self) -> bool {
        self == Self::SeqCst
    }
}

/// The name of a location. It is kept in the events of a graph, so it does not depend on the order in which a replay makes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location(pub u32);

impl Location {
    /// The number as an index.
    #[must_use]
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The object that an operation is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its location. `None`: no event of this execution has touched the object so far.
    pub location: Option<Location>,
    /// The value that it has before all writes.
    pub initial: u64,
}

/// What an update does with the value that it has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It waits for another value.
    Wait,
    /// It leaves the value: a compare-exchange that fails.
    Read,
    /// It writes this.
    Write(u64),
}

/// A read-modify-write. What it does is a function of the value read and of its operands, so the explorer evaluates it for any value without running
/// user code.
#[derive(Clone, Copy, Debug)]
pub struct Update {
    /// The ordering if it writes.
    pub order: Order,
    /// The ordering if it only reads.
    pub failure: Order,
    /// What it does: a function of the value read and of the operands.
    pub effect: fn(u64, [u64; 2]) -> Effect,
    /// The operands.
    pub operands: [u64; 2],
    /// Whether [`effect`](Self::effect) may say [`Effect::Wait`].
    pub waits: bool,
}

impl Update {
    /// An update that always writes a function of the value read and of one operand.
    #[must_use]
    pub fn write(order: Order, effect: fn(u64, [u64; 2]) -> Effect, operand: u64) -> Self {
        Self {
            order,
            failure: order,
            effect,
            operands: [operand, 0],
            waits: false,
        }
    }

    /// Writes a value.
    #[must_use]
    pub fn swap(order: Order, value: u64) -> Self {
        Self::write(order, |_, [value, _]| Effect::Write(value), value)
    }

    /// Adds to a value of 64 bits.
    #[must_use]
    pub fn add(order: Order, value: u64) -> Self {
        Self::write(
            order,
            |read, [value, _]| Effect::Write(read.wrapping_add(value)),
            value,
        )
    }

    /// Writes a value if it finds another one, with the second ordering if it fails.
    #[must_use]
    pub fn compare_exchange(order: Order, failure: Order, expected: u64, new: u64) -> Self {
        Self {
            order,
            failure,
            effect: |read, [expected, new]| match read == expected {
                true => Effect::Write(new),
                false => Effect::Read,
            },
            operands: [expected, new],
            waits: false,
        }
    }

    /// An update that waits for some values.
    #[must_use]
    pub fn waiting(order: Order, effect: fn(u64, [u64; 2]) -> Effect, operands: [u64; 2]) -> Self {
        Self {
            order,
            failure: order,
            effect,
            operands,
            waits: true,
        }
    }

    /// Takes a lock: waits for [`FREE`], writes [`HELD`].
    #[must_use]
    pub fn lock() -> Self {
        let effect = |read, _| match read {
            FREE => Effect::Write(HELD),
            _ => Effect::Wait,
        };
        Self::waiting(Order::Acquire, effect, [0, 0])
    }

    /// Takes a lock if it is free. (A failure is relaxed, as in `std`.)
    #[must_use]
    pub fn try_lock() -> Self {
        Self::compare_exchange(Order::Acquire, Order::Relaxed, FREE, HELD)
    }

    /// Gives a lock back.
    #[must_use]
    pub fn unlock() -> Self {
        Self::swap(Order::Release, FREE)
    }

    /// What it does if it reads this.
    #[must_use]
    #[inline]
    pub fn effect(&self, read: u64) -> Effect {
        (self.effect)(read, self.operands)
    }
}

/// The value of a lock that nobody holds.
pub const FREE: u64 = 0;
/// The value of a lock that somebody holds.
pub const HELD: u64 = 1;

/// What a waiting read waits for: a function of the value and of an operand.
#[derive(Clone, Copy, Debug)]
pub struct Until {
    /// Whether the value is one that is waited for.
    pub holds: fn(u64, u64) -> bool,
    /// The operand.
    pub operand: u64,
}

impl Until {
    /// Whether the value is one that is waited for.
    #[must_use]
    #[inline]
    pub fn holds(&self, value: u64) -> bool {
        (self.holds)(value, self.operand)
    }
}

/// What a thread does next.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    /// Reads.
    Read {
        /// What is read.
        target: Target,
        /// How.
        order: Order,
    },
    /// Writes.
    Write {
        /// What is written.
        target: Target,
        /// How.
        order: Order,
        /// What is written there.
        value: u64,
    },
    /// Reads and writes in one event; or waits, or fails and only reads.
    Update {
        /// What is updated.
        target: Target,
        /// How.
        update: Update,
    },
    /// Waits for a value and reads it. In each execution the condition, once true for a write, must be true for all later writes of the location; the
    /// explorer checks that.
    Await {
        /// What is read.
        target: Target,
        /// How.
        order: Order,
        /// What is waited for.
        until: Until,
    },
    /// A fence.
    Fence {
        /// Its kind.
        order: Order,
    },
    /// Any number below this one, which is at least 1. The default is 0.
    Choose {
        /// How many there are.
        alternatives: u32,
    },
    /// Starts a thread.
    Spawn {
        /// The thread.
        child: ThreadId,
    },
    /// Waits for the end of a thread.
    Join {
        /// The thread.
        child: ThreadId,
    },
}

impl Operation {
    /// The object that it is on.
    #[must_use]
    pub fn target(&self) -> Option<Target> {
        match *self {
            Self::Read { target, .. }
            | Self::Write { target, .. }
            | Self::Update { target, .. }
            | Self::Await { target, .. } => Some(target),
            Self::Fence { .. } | Self::Choose { .. } | Self::Spawn { .. } | Self::Join { .. } => {
                None
            }
        }
    }

    /// The ordering, for an update that of its write.
    #[must_use]
    pub fn order(&self) -> Order {
        match *self {
            Self::Read { order, .. }
            | Self::Write { order, .. }
            | Self::Await { order, .. }
            | Self::Fence { order } => order,
            Self::Update { update, .. } => update.order,
            Self::Choose { .. } | Self::Spawn { .. } | Self::Join { .. } => Order::Relaxed,
        }
    }
}

impl Operation {
    /// The thread that it starts or waits for.
    ///
    /// # Panics
    ///
    /// If it does neither.
    #[must_use]
    pub fn child(&self) -> ThreadId {
        match *self {
            Self::Spawn { child } | Self::Join { child } => child,
            _ => unreachable!("neither a spawn nor a join"),
        }
    }
}
