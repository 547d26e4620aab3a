//! An execution in words.

use raddle_report::story::{Change, Ending, Event, Note, Story};
use raddle_schedule::{LocationId, Mode, ThreadId};

use super::failure::{Failure, FailureKind, Remark, spot};
use super::graph::Told;
use super::objects::Kind;
use super::operation::{Operation, Reason, channel, count};
use super::state::{Made, State};
use crate::source::Sources;

impl State {
    /// This execution in words.
    pub(crate) fn story(&self) -> Story {
        let mut sources = Sources::default();
        let threads = self.started.iter().map(|&id| self.name_of(id)).collect();
        let mut held: Vec<Vec<LocationId>> = vec![Vec::new(); self.started.len()];
        let mut steps = Vec::new();
        let mut told = Told::default();
        for (index, made) in self.made.iter().enumerate() {
            let lane = self.lane(made.thread);
            track(&mut held[lane], made);
            if self.goes_without_saying(made) {
                continue;
            }
            let writes = self.tell_writes(&mut told, index, steps.len() + 1);
            // A write that comes before another one in modification order is not what others find now.
            let changes = match writes.comes_before {
                Some(_) => Vec::new(),
                None => self.changes(index),
            };
            steps.push(Event {
                thread: lane,
                at: sources.with_text(spot(made.place)),
                action: self.action(made),
                changes,
                writes,
                holds: held[lane]
                    .iter()
                    .map(|&lock| self.objects.name(lock))
                    .collect(),
            });
        }
        Story {
            threads,
            steps,
            ending: self.ending(&mut sources),
        }
    }

    /// Threads begin where they are started, and where they end is rarely of interest.
    pub(super) fn goes_without_saying(&self, made: &Made) -> bool {
        match made.operation {
            Operation::Begin => true,
            Operation::End { .. } => self.thread(made.thread).panicked.is_none(),
            _ => false,
        }
    }

    pub(super) fn lane(&self, id: ThreadId) -> usize {
        let found = self.started.iter().position(|&other| other == id);
        found.unwrap_or(0)
    }

    fn changes(&self, index: usize) -> Vec<Change> {
        self.accesses_of(index)
            .iter()
            .filter(|access| {
                matches!(
                    self.objects.kind(access.location),
                    Kind::Atomic | Kind::Count
                ) && access.mode != Mode::Read
                    && access.before != access.after
            })
            .map(|access| {
                let shown = |value| self.shown(access.location, value);
                Change {
                    name: self.objects.name(access.location),
                    before: Some(shown(access.before)),
                    after: shown(access.after),
                    shared: true,
                }
            })
            .collect()
    }

    /// A value of an atomic or of a count, which has the weak references above the others.
    pub(super) fn shown(&self, at: LocationId, value: u64) -> String {
        let weak = match self.objects.kind(at) {
            Kind::Count => value / count::WEAK,
            _ => 0,
        };
        match weak {
            0 => value.to_string(),
            _ => format!("{} + {weak} weak", value & count::STRONG),
        }
    }

    /// An operation that a thread has not made yet, in words.
    pub(super) fn plan(&self, thread: ThreadId, operation: Operation) -> String {
        let verb = operation.verb();
        let name = |at| self.objects.name(at);
        match operation {
            Operation::Spawn { .. } => verb.into(),
            Operation::Load { at, .. } => format!("reads {}", name(at)),
            Operation::Update { at, operand, .. } => {
                format!("updates {} with {operand}", name(at))
            }
            Operation::CompareExchange {
                at, expected, new, ..
            } => format!("exchanges {} from {expected} to {new}", name(at)),
            Operation::Choose { alternatives, .. } => {
                format!("{verb}: {alternatives} alternatives")
            }
            Operation::Send { channel, .. } | Operation::Receive { channel, .. } => {
                format!("{verb} channel {}", channel + 1)
            }
            operation => self.plain_action(&Made {
                thread,
                operation,
                place: self.origin,
                choice: 0,
                result: 1,
                last_resort: false,
                first_access: 0,
            }),
        }
    }

    pub(super) fn action(&self, made: &Made) -> String {
        let in_graph = self.is_graph().then(|| self.action_in_graph(made));
        in_graph
            .flatten()
            .unwrap_or_else(|| self.plain_action(made))
    }

    fn plain_action(&self, made: &Made) -> String {
        let verb = made.operation.verb();
        let name = |at| self.objects.name(at);
        match made.operation {
            Operation::Spawn { child } => format!("starts {}", self.name_of(child)),
            Operation::Join { end } => format!("joins {}", self.owner_of(end)),
            Operation::Unpark { token } => format!("unparks {}", self.owner_of(token)),
            Operation::Choose {
                reason: Reason::Asked,
                ..
            } => format!("chooses {}", made.choice),
            Operation::Choose {
                reason: Reason::Waiters,
                ..
            } => format!("notifies number {} of those who wait", made.choice + 1),
            Operation::Choose { reason, .. } => {
                let what = match reason {
                    Reason::Timeout => "timeout",
                    Reason::Spurious => "spurious wake-up",
                    _ => "spurious failure",
                };
                format!("{} {what}", if made.choice == 0 { "no" } else { "a" })
            }
            Operation::Load { at, .. } => format!("reads {} = {}", name(at), made.result),
            Operation::Store { at, value, .. } => format!("writes {value} to {}", name(at)),
            Operation::Update { at, .. } => format!("updates {}", name(at)),
            Operation::CompareExchange { at, expected, .. } if made.result == expected => {
                format!("exchanges {}", name(at))
            }
            Operation::CompareExchange { at, expected, .. } => {
                format!("finds {} = {}, not {expected}", name(at), made.result)
            }
            Operation::Count { at, .. } => format!("counts references of {}", name(at)),
            Operation::Upgrade { count } | Operation::TakeOnly { count } => {
                format!("{verb} {}", name(count))
            }
            Operation::TryLock { mutex: lock }
            | Operation::TryReadLock { lock }
            | Operation::TryWriteLock { lock } => {
                let failed = if made.result == 1 { "" } else { ", in vain" };
                format!("{verb} {}{failed}", name(lock))
            }
            Operation::Lock { mutex: lock }
            | Operation::Unlock { mutex: lock, .. }
            | Operation::ReadLock { lock }
            | Operation::ReadUnlock { lock }
            | Operation::WriteLock { lock }
            | Operation::WriteUnlock { lock, .. } => format!("{verb} {}", name(lock)),
            Operation::Wait { condvar, .. }
            | Operation::NotifyOne { condvar }
            | Operation::NotifyAll { condvar } => format!("{verb} {}", name(condvar)),
            Operation::Arrive { barrier, .. }
            | Operation::Gather { barrier, .. }
            | Operation::Pass { barrier, .. } => format!("{verb} {}", name(barrier)),
            Operation::OnceBegin { once, .. }
            | Operation::OnceFinish { once, .. }
            | Operation::OnceWait { once, .. } => format!("{verb} {}", name(once)),
            Operation::Send { channel, .. } | Operation::Receive { channel, .. } => {
                let failed = match made.result {
                    channel::OK => "",
                    channel::DISCONNECTED => ": disconnected",
                    _ if matches!(made.operation, Operation::Send { .. }) => ": full",
                    _ => ": empty",
                };
                format!("{verb} channel {}{failed}", channel + 1)
            }
            Operation::Taken { channel, .. } | Operation::Offer { channel } => {
                format!("{verb} channel {}", channel + 1)
            }
            Operation::End { .. } if self.thread(made.thread).panicked.is_some() => {
                "ends with a panic".into()
            }
            _ => verb.into(),
        }
    }

    /// The thread whose end or token a location is.
    pub(super) fn owner_of(&self, at: LocationId) -> String {
        let owner = self
            .started
            .iter()
            .find(|&&id| self.thread(id).end == Some(at) || self.thread(id).token == Some(at));
        owner.map_or_else(|| self.objects.name(at), |&id| self.name_of(id))
    }

    fn ending(&self, sources: &mut Sources) -> Ending {
        let Some(failure) = &self.failure else {
            return Ending::default();
        };
        let mut notes = |is_help: bool| {
            let remarks = failure.remarks.iter();
            let remarks = remarks.filter(|remark| remark.is_help == is_help);
            let notes = remarks.map(|remark| Note {
                thread: remark.thread.map(|id| self.lane(id)),
                at: sources.with_text(remark.at.clone()),
                text: remark.text.clone(),
            });
            notes.collect()
        };
        Ending {
            message: failure.message.clone(),
            notes: notes(false),
            help: notes(true),
            ..Ending::default()
        }
    }

    /// What to say when threads are left that cannot move.
    pub(crate) fn deadlock(&self) -> Failure {
        let mut remarks = Vec::new();
        for &id in &self.started {
            let thread = self.thread(id);
            if let (false, Some(next)) = (thread.ended, thread.next()) {
                remarks.push(Remark::new(
                    id,
                    next.place,
                    self.what_for(id, &next.operation),
                ));
            }
        }
        let message = match remarks.len() {
            1 => "deadlock: a thread waits for ever".into(),
            count => format!("deadlock: {count} threads wait for ever"),
        };
        Failure::new(FailureKind::Deadlock, message, remarks)
    }

    /// What a thread waits for that cannot move.
    fn what_for(&self, id: ThreadId, operation: &Operation) -> String {
        if let Some(text) = self.what_for_in_graph(id, operation) {
            return text;
        }
        if let Some(bed) = self.bed_of(id) {
            return match self.objects.kind(bed) {
                Kind::Barrier => format!("waits for others at {}", self.objects.name(bed)),
                _ => format!("waits for a notification of {}", self.objects.name(bed)),
            };
        }
        if let Operation::Pass { barrier, .. } = *operation {
            return format!("waits for others at {}", self.objects.name(barrier));
        }
        if let Some(lock) = operation.locks() {
            let mut text = format!("waits for {}", self.objects.name(lock));
            let mut holders = self.started.iter().filter_map(|&other| {
                let held = &self.thread(other).held;
                held.iter()
                    .find(|held| held.0 == lock)
                    .map(|held| (other, held.1))
            });
            if let Some((holder, place)) = holders.next() {
                let who = if holder == id {
                    "itself".into()
                } else {
                    self.name_of(holder)
                };
                text.push_str(&format!(
                    ", held by {who} since {}:{}",
                    place.file(),
                    place.line()
                ));
            }
            return text;
        }
        match *operation {
            Operation::Join { end } => format!("waits for the end of {}", self.owner_of(end)),
            Operation::JoinAll { group } => {
                let left = self.objects.groups[group as usize].iter();
                let names: Vec<String> = left
                    .filter(|&&end| self.objects.value(end) == 0)
                    .map(|&end| self.owner_of(end))
                    .collect();
                format!("waits for the end of {}", names.join(", "))
            }
            Operation::Await { at, .. } => match self.objects.kind(at) {
                Kind::End => format!("waits for the end of {}", self.owner_of(at)),
                _ => format!("waits for {}", self.objects.name(at)),
            },
            Operation::Park { .. } => "is parked, and nobody unparks it".into(),
            Operation::OnceBegin { once, .. } | Operation::OnceWait { once, .. } => {
                format!("waits until {} is done", self.objects.name(once))
            }
            Operation::Send { channel, .. } => {
                format!("waits for room in channel {}", channel + 1)
            }
            Operation::Taken { channel, .. } => {
                format!("waits for the receiver of channel {}", channel + 1)
            }
            Operation::Receive { channel, .. } => {
                format!("waits for a message of channel {}", channel + 1)
            }
            _ => "waits".into(),
        }
    }

    /// Whether a thread is about to wait for a lock that it holds.
    #[inline]
    pub(crate) fn self_deadlock(&self, id: ThreadId) -> Option<Failure> {
        let thread = self.thread(id);
        if thread.held.is_empty() || thread.asleep {
            return None;
        }
        let next = thread.next()?;
        let lock = match next.operation {
            Operation::Lock { mutex } => mutex,
            Operation::WriteLock { lock } => lock,
            Operation::ReadLock { lock }
                if self.objects.value(lock) & super::operation::rw::WRITER != 0 =>
            {
                lock
            }
            _ => return None,
        };
        let taken = thread.held.iter().find(|held| held.0 == lock)?.1;
        let name = self.objects.name(lock);
        let who = self.name_of(id);
        Some(Failure::new(
            FailureKind::SelfDeadlock,
            format!("deadlock: {who} waits for {name}, which it holds itself"),
            vec![
                Remark::new(id, next.place, format!("waits for {name}")),
                Remark::new(id, taken, format!("took {name} here")),
            ],
        ))
    }
}

/// Keeps the list of locks that a thread holds.
fn track(held: &mut Vec<LocationId>, made: &Made) {
    match made.operation {
        Operation::Unlock { mutex: lock, .. }
        | Operation::ReadUnlock { lock }
        | Operation::WriteUnlock { lock, .. }
        | Operation::Wait { mutex: lock, .. } => {
            if let Some(index) = held.iter().rposition(|&other| other == lock) {
                held.remove(index);
            }
        }
        operation => {
            if let (Some(lock), 1) = (operation.locks(), made.result) {
                held.push(lock);
            }
        }
    }
}
