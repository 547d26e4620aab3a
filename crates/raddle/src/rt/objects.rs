//! The locations of an execution, and how an object finds its own.

use std::sync::atomic::{AtomicU64, Ordering};

use raddle_schedule::{LocationId, Mode, ValuedAccess};

/// How many bits of an [`Id`] are the number; the others are the execution that it belongs to.
const NUMBER_BITS: u32 = 24;

/// The place in each object that says which number it has in which execution.
///
/// A runtime uses it on one thread at a time. An object that two runtimes share is a static, whose own `Id` is never
/// written, or should not be shared: then only one of them gets it.
#[derive(Debug, Default)]
pub(crate) struct Id(AtomicU64);

impl Id {
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// The number that the object has in an execution.
    #[inline]
    pub(crate) fn number(&self, generation: u64) -> Known {
        let id = self.0.load(Ordering::Relaxed);
        if id >> NUMBER_BITS == generation {
            Known::Number((id & ((1 << NUMBER_BITS) - 1)) as u32)
        } else if id == 0 {
            Known::New
        } else {
            Known::Stale
        }
    }

    /// Whether the object was never used, in any execution.
    #[inline]
    pub(crate) fn is_new(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Gives a new object a number, unless another runtime has just done so.
    #[must_use]
    #[inline]
    pub(crate) fn set(&self, generation: u64, number: u32) -> bool {
        assert!(
            number < 1 << NUMBER_BITS,
            "raddle: more than {} objects in one execution",
            1 << NUMBER_BITS
        );
        let id = generation << NUMBER_BITS | u64::from(number);
        let order = Ordering::Relaxed;
        self.0.compare_exchange(0, id, order, order).is_ok()
    }

    /// Makes it the id of a new object.
    pub(crate) fn forget(&mut self) {
        *self.0.get_mut() = 0;
    }
}

/// What an [`Id`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    Number(u32),
    /// The object was not used yet.
    New,
    /// It was used in another execution.
    Stale,
}

/// What a location belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Atomic,
    Mutex,
    RwLock,
    Condvar,
    Barrier,
    Gathering,
    Once,
    Channel,
    Message,
    Senders,
    Receiver,
    Waiting,
    Room,
    Token,
    Notification,
    End,
    Count,
    Waker,
    Cell,
}

impl Kind {
    const ALL: usize = 19;

    /// What to call such an object.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Count => "Arc",
            kind => kind.noun(),
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Self::Atomic => "atomic",
            Self::Mutex => "mutex",
            Self::RwLock => "rwlock",
            Self::Condvar => "condvar",
            Self::Barrier => "barrier",
            Self::Gathering => "gathering",
            Self::Once => "once",
            Self::Channel => "channel",
            Self::Message => "message",
            Self::Senders => "senders of channel",
            Self::Receiver => "receiver of channel",
            Self::Waiting => "offer on channel",
            Self::Room => "room in channel",
            Self::Token => "token of thread",
            Self::Notification => "notification",
            Self::End => "end of thread",
            Self::Count => "arc",
            Self::Waker => "waker",
            Self::Cell => "cell",
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    value: u64,
    kind: Kind,
    number: u32,
    outside: Outside,
}

/// How often a location was changed by threads that were not in a loop in which they poll.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outside {
    /// In ways that commute, and in others.
    shared: u32,
    written: u32,
}

impl Outside {
    /// Where executions are graphs: an event of a thread that was not in such a loop, as a number that is like no other.
    pub(super) fn of_event(thread: u32, index: u32) -> Self {
        Self {
            shared: thread + 1,
            written: index + 1,
        }
    }

    /// What an access of this mode gets to know: changes that it commutes with may have been made or not.
    #[inline]
    pub(super) fn seen_by(self, mode: Mode, before: Self) -> Self {
        match mode {
            Mode::Read | Mode::Write => self,
            Mode::Shared => Self {
                shared: before.shared,
                ..self
            },
        }
    }
}

/// The locations of a channel.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    /// How many messages there may be, if that is limited.
    pub(crate) capacity: Option<u32>,
    /// How many messages were sent.
    pub(crate) tail: LocationId,
    /// How many senders there are.
    pub(crate) senders: LocationId,
    /// Whether there is a receiver.
    pub(crate) receiver: LocationId,
    /// Whether the receiver waits; only without a buffer.
    pub(crate) waiting: LocationId,
    /// The messages that were sent, and the next one.
    pub(crate) messages: Vec<LocationId>,
    /// Where executions are graphs: whether the receiver waits for a message, and whether it has received it, by message.
    pub(crate) offers: Vec<LocationId>,
    pub(crate) rooms: Vec<LocationId>,
}

impl Channel {
    fn of_messages(&mut self, what: OfMessage) -> &mut Vec<LocationId> {
        match what {
            OfMessage::Slot => &mut self.messages,
            OfMessage::Offer => &mut self.offers,
            OfMessage::Room => &mut self.rooms,
        }
    }
}

/// What a location has to do with a message, where executions are graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfMessage {
    /// Whether it was sent.
    Slot,
    /// Whether the receiver waits for it.
    Offer,
    /// Whether it was received.
    Room,
}

/// The locations of an execution.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    entries: Vec<Entry>,
    of_kind: [u32; Kind::ALL],
    pub(crate) channels: Vec<Channel>,
    pub(crate) groups: Vec<Vec<LocationId>>,
}

impl Objects {
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.of_kind = [0; Kind::ALL];
        self.channels.clear();
        self.groups.clear();
    }

    /// A new location.
    pub(crate) fn add(&mut self, kind: Kind, value: u64) -> LocationId {
        let count = &mut self.of_kind[kind as usize];
        *count += 1;
        self.entries.push(Entry {
            value,
            kind,
            number: *count,
            outside: Outside::default(),
        });
        LocationId(u32::try_from(self.entries.len() - 1).expect("too many locations"))
    }

    /// Makes a group of locations, and gives it a number.
    pub(crate) fn add_group(&mut self, group: Vec<LocationId>) -> u32 {
        self.groups.push(group);
        u32::try_from(self.groups.len() - 1).expect("too many groups")
    }

    #[inline]
    pub(crate) fn location_count(&self) -> usize {
        self.entries.len()
    }

    #[inline]
    pub(crate) fn value(&self, at: LocationId) -> u64 {
        self.entries[at.index()].value
    }

    #[inline]
    pub(crate) fn set(&mut self, at: LocationId, value: u64) {
        self.entries[at.index()].value = value;
    }

    /// A thread has changed a value that is not in a loop in which it polls.
    #[inline]
    pub(super) fn changed_outside(&mut self, access: &ValuedAccess) {
        let outside = &mut self.entries[access.location.index()].outside;
        match access.mode {
            Mode::Shared => outside.shared += 1,
            Mode::Read | Mode::Write => outside.written += 1,
        }
    }

    /// How often threads have done so.
    #[inline]
    pub(super) fn changes_outside(&self, at: LocationId) -> Outside {
        self.entries[at.index()].outside
    }

    /// Where executions are graphs: who has written what is read next.
    pub(super) fn set_outside(&mut self, at: LocationId, outside: Outside) {
        self.entries[at.index()].outside = outside;
    }

    #[inline]
    pub(crate) fn kind(&self, at: LocationId) -> Kind {
        self.entries[at.index()].kind
    }

    /// `mutex 1`: the first mutex that was used.
    pub(crate) fn name(&self, at: LocationId) -> String {
        match self.entries.get(at.index()) {
            Some(entry) => format!("{} {}", entry.kind.noun(), entry.number),
            // It belongs to another execution.
            None => "another object".into(),
        }
    }

    /// A new channel.
    pub(crate) fn add_channel(&mut self, capacity: Option<u32>) -> u32 {
        let channel = Channel {
            capacity,
            tail: self.add(Kind::Channel, 0),
            senders: self.add(Kind::Senders, 1),
            receiver: self.add(Kind::Receiver, 1),
            waiting: self.add(Kind::Waiting, 0),
            messages: vec![self.add(Kind::Message, 0)],
            offers: Vec::new(),
            rooms: Vec::new(),
        };
        self.channels.push(channel);
        u32::try_from(self.channels.len() - 1).expect("too many channels")
    }

    /// Where executions are graphs: one of the locations that a channel has for a message.
    pub(crate) fn of_message(&mut self, channel: u32, message: u32, what: OfMessage) -> LocationId {
        let kind = match what {
            OfMessage::Slot => Kind::Message,
            OfMessage::Offer => Kind::Waiting,
            OfMessage::Room => Kind::Room,
        };
        let channel = channel as usize;
        loop {
            let known = self.channels[channel].of_messages(what);
            if let Some(&at) = known.get(message as usize) {
                return at;
            }
            let at = self.add(kind, 0);
            self.channels[channel].of_messages(what).push(at);
        }
    }

    /// Where executions are graphs: the channel that has a location for a message, the number of the message, and what it is for.
    pub(crate) fn message_at(&self, at: LocationId) -> Option<(&Channel, usize, OfMessage)> {
        self.channels.iter().find_map(|channel| {
            let all = [
                (&channel.messages, OfMessage::Slot),
                (&channel.offers, OfMessage::Offer),
                (&channel.rooms, OfMessage::Room),
            ];
            all.into_iter().find_map(|(known, what)| {
                let message = known.iter().position(|&known| known == at)?;
                Some((channel, message, what))
            })
        })
    }

    /// Makes a location for the message after the last one that was sent, so that no other operation
    /// than the send before it ever makes one: foreseeing must not.
    pub(crate) fn make_room_in(&mut self, channel: u32) {
        let sent = self.value(self.channels[channel as usize].tail);
        if self.channels[channel as usize].messages.len() as u64 <= sent {
            let slot = self.add(Kind::Message, 0);
            self.channels[channel as usize].messages.push(slot);
        }
    }
}
