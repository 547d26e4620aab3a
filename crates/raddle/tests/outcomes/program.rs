//! Programs as lists of operations.

/// An operation. Numbers name objects of its kind, or are values.
///
/// What needs a lock, a reference, a sender or a receiver that the thread does not have, and what would
/// take one a second time, does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    Load(usize),
    Store(usize, i64),
    Swap(usize, i64),
    Add(usize, i64),
    Max(usize, i64),
    /// From the second to the third.
    Cas(usize, i64, i64),
    CasWeak(usize, i64, i64),
    /// `fetch_update`: adds 1, but not above 2.
    Update(usize),
    /// Spins until it has the value.
    Await(usize, i64),
    /// Looks for the value at most so many times: how often in vain.
    Poll(usize, i64, u32),
    Choose(usize),

    Lock(usize),
    TryLock(usize),
    /// Changes what the mutex protects: no step.
    Set(usize, i64),
    Unlock(usize),
    IsPoisoned(usize),
    ClearPoison(usize),

    Read(usize),
    TryRead(usize),
    Write(usize),
    TryWrite(usize),
    SetRw(usize, i64),
    Downgrade(usize),
    UnlockRw(usize),

    /// Condition variable, mutex.
    Wait(usize, usize),
    WaitTimeout(usize, usize),
    NotifyOne(usize),
    NotifyAll(usize),

    /// All barriers are for two.
    Barrier(usize),
    /// The same, without asking who leads.
    Meet(usize),

    GetOrInit(usize, i64),
    SetOnce(usize, i64),
    GetOnce(usize),
    WaitOnce(usize),

    Park,
    ParkTimeout,
    /// By the main thread, or one that was started later than it.
    Unpark(usize),

    Send(usize, i64),
    TrySend(usize, i64),
    DropSender(usize),
    Recv(usize),
    TryRecv(usize),
    RecvTimeout(usize),
    DropReceiver(usize),

    /// How many references there are.
    Count(usize),
    DropArc(usize),
    /// From a weak reference, by who has no other any more.
    Upgrade(usize),
    TryUnwrap(usize),

    /// Only by the main thread.
    IsFinished(usize),
    Panic,
}

impl Op {
    pub(crate) fn sends_on(self) -> Option<usize> {
        match self {
            Self::Send(c, _) | Self::TrySend(c, _) | Self::DropSender(c) => Some(c),
            _ => None,
        }
    }

    pub(crate) fn receives_from(self) -> Option<usize> {
        match self {
            Self::Recv(c) | Self::TryRecv(c) | Self::RecvTimeout(c) | Self::DropReceiver(c) => {
                Some(c)
            }
            _ => None,
        }
    }

    pub(crate) fn refers_to(self) -> Option<usize> {
        match self {
            Self::Count(a) | Self::DropArc(a) | Self::Upgrade(a) | Self::TryUnwrap(a) => Some(a),
            _ => None,
        }
    }
}

/// How many objects there are of each kind.
pub(crate) const OBJECTS: usize = 3;

/// The main thread starts all others, makes its own operations, joins them, and reads all variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) threads: Vec<Vec<Op>>,
    /// The capacities of channels.
    pub(crate) channels: [Option<usize>; OBJECTS],
    /// How often a thread may wake up for no reason.
    pub(crate) spurious: u32,
    /// Whether a weak compare-exchange may fail for no reason.
    pub(crate) weak: bool,
    /// Whether the main thread uses all objects before it starts the others. They then have the same numbers in all
    /// executions, which explorations without redundancy need.
    pub(crate) stable: bool,
}

impl Program {
    pub(crate) fn new<const N: usize>(threads: [&[Op]; N]) -> Self {
        Self {
            threads: threads.iter().map(|ops| ops.to_vec()).collect(),
            stable: true,
            ..Self::default()
        }
    }

    /// The channel has this capacity.
    pub(crate) fn bounded(mut self, channel: usize, capacity: usize) -> Self {
        self.channels[channel] = Some(capacity);
        self
    }

    pub(crate) fn spurious(mut self, most: u32) -> Self {
        self.spurious = most;
        self
    }

    pub(crate) fn weak(mut self) -> Self {
        self.weak = true;
        self
    }

    fn who(&self, does: impl Fn(Op) -> bool) -> impl Iterator<Item = usize> {
        let threads = self.threads.iter().enumerate();
        threads.filter_map(move |(thread, ops)| ops.iter().any(|&op| does(op)).then_some(thread))
    }

    pub(crate) fn senders(&self, channel: usize) -> Vec<usize> {
        self.who(|op| op.sends_on() == Some(channel)).collect()
    }

    /// The first one that receives; if nobody does, the main thread has the receiver.
    pub(crate) fn receiver(&self, channel: usize) -> usize {
        self.who(|op| op.receives_from() == Some(channel))
            .next()
            .unwrap_or(0)
    }

    pub(crate) fn is_used(&self, channel: usize) -> bool {
        let mut uses =
            self.who(|op| op.sends_on() == Some(channel) || op.receives_from() == Some(channel));
        uses.next().is_some()
    }

    /// Whether there are loops that give up.
    pub(crate) fn gives_up(&self) -> bool {
        self.who(|op| matches!(op, Op::Poll(..))).next().is_some()
    }

    pub(crate) fn owners(&self, arc: usize) -> Vec<usize> {
        self.who(|op| op.refers_to() == Some(arc)).collect()
    }
}

/// What came of an execution.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Outcome {
    /// Whether threads wait or spin for ever.
    pub(crate) stuck: bool,
    /// What each thread got.
    pub(crate) got: Vec<Vec<i64>>,
}

/// What is got where there is no number to get.
pub(crate) mod got {
    pub(crate) const DISCONNECTED: i64 = -1;
    pub(crate) const NOT_NOW: i64 = -2;
    pub(crate) const NOTHING: i64 = -3;
    pub(crate) const PANICKED: i64 = -4;
    /// Added to what a poisoned lock protects.
    pub(crate) const POISONED: i64 = 1000;
    /// Added to what the destructor of what is counted finds.
    pub(crate) const DROPPED: i64 = 500;
}

/// The variable that destructors of what is counted change.
pub(crate) const DROPS: usize = 2;
/// The variable that initialisers change.
pub(crate) const MAKES: usize = 2;
