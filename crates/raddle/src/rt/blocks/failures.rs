//! What to say of memory that is used too late, freed too early, freed twice, or published too early.

use std::sync::atomic::Ordering;

use raddle_schedule::{LocationId, Mode, ThreadId};

use super::{Moment, Use};
use crate::rt::Place;
use crate::rt::failure::{Failure, FailureKind, Remark};
use crate::rt::operation::Operation;
use crate::rt::state::{Made, State};

fn remark(moment: &Moment, text: impl Into<String>) -> Remark {
    Remark::new(moment.thread, moment.place, text)
}

fn article(word: &str) -> &'static str {
    match word.starts_with(['a', 'e', 'i', 'o', 'u', 'A']) {
        true => "an",
        false => "a",
    }
}

fn releases(order: Ordering) -> bool {
    matches!(
        order,
        Ordering::Release | Ordering::AcqRel | Ordering::SeqCst
    )
}

fn acquires(order: Ordering) -> bool {
    matches!(
        order,
        Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst
    )
}

/// The ordering that an operation reads with, if it is one on an atomic, and whether it was told to write.
fn ordering(made: &Made) -> Option<Ordering> {
    match made.operation {
        Operation::Load { order, .. }
        | Operation::Store { order, .. }
        | Operation::Update { order, .. } => Some(order),
        Operation::CompareExchange {
            expected,
            success,
            failure,
            ..
        } => Some(match made.result == expected {
            true => success,
            false => failure,
        }),
        _ => None,
    }
}

impl State {
    /// How a thread uses a block, in words.
    fn what(&self, thread: ThreadId, how: Use) -> String {
        match how {
            Use::Operation(operation) => self.plan(thread, operation),
            Use::Cell { writes: true } => "writes a cell".into(),
            Use::Cell { writes: false } => "reads a cell".into(),
            Use::Reference => "makes an Arc of a pointer".into(),
            Use::Remains(kind) => format!("uses what was {} {}", article(kind.word()), kind.word()),
        }
    }

    fn end_of_block(&self, number: u32) -> Vec<Remark> {
        let block = self.blocks.used.get(number as usize);
        let freed = block.and_then(|block| block.freed);
        freed
            .map(|freed| remark(&freed, "freed the memory after this"))
            .into_iter()
            .collect()
    }

    fn beginning_of_block(&self, number: u32) -> Vec<Remark> {
        let block = self.blocks.used.get(number as usize);
        let allocated = block.and_then(|block| block.allocated);
        allocated
            .map(|allocated| remark(&allocated, "allocated the memory before this"))
            .into_iter()
            .collect()
    }

    /// A block is used after its end.
    pub(super) fn used_too_late(&mut self, number: u32, used: &Moment, how: Use) -> Failure {
        let freed = self.blocks.used.at(number as usize).freed;
        let is_ordered = freed.is_some_and(|freed| self.comes_after(&freed));
        let by = freed.map_or(used.thread, |freed| freed.thread);
        let (user, by) = (self.name_of(used.thread), self.name_of(by));
        let message = match is_ordered {
            true => format!("use after free: {user} uses memory that {by} has freed"),
            false => format!(
                "use after free: {user} uses memory that {by} has freed, and nothing orders that"
            ),
        };
        let mut remarks = self.end_of_block(number);
        remarks.push(remark(used, self.what(used.thread, how)));
        remarks.extend(self.beginning_of_block(number));
        Failure::new(FailureKind::UseAfterFree, message, remarks)
    }

    /// A block is freed, and nothing orders that after a use of it.
    pub(super) fn freed_too_early(&self, number: u32, used: &Moment, how: Use) -> Failure {
        let (user, by) = (self.name_of(used.thread), self.name_of(self.current));
        let mut remarks = vec![remark(used, self.what(used.thread, how))];
        remarks.extend(self.end_of_block(number));
        remarks.extend(self.beginning_of_block(number));
        Failure::new(
            FailureKind::UseAfterFree,
            format!("use after free: {by} frees memory that {user} uses, and nothing orders that"),
            remarks,
        )
    }

    /// A block is freed that was freed before.
    pub(super) fn double_free(&mut self, start: usize, again: &Moment) -> Failure {
        let block = self.blocks.find(&self.quarantine.events, start);
        let mut remarks = block.map_or_else(Vec::new, |block| self.end_of_block(block));
        remarks.push(remark(again, "freed it once more after this"));
        remarks.extend(block.map_or_else(Vec::new, |block| self.beginning_of_block(block)));
        let by = self.name_of(again.thread);
        Failure::new(
            FailureKind::DoubleFree,
            format!("double free: {by} frees memory that was freed before"),
            remarks,
        )
    }

    /// A block is used, and nothing orders that after its allocation.
    pub(super) fn used_too_early(&self, number: u32, used: &Moment, how: Use) -> Failure {
        let mut remarks = self.beginning_of_block(number);
        let by = remarks.first().and_then(|remark| remark.thread);
        remarks.extend(self.publication(number, used.thread));
        remarks.push(remark(used, self.what(used.thread, how)));
        Failure::new(
            FailureKind::UnsynchronisedPublication,
            format!(
                "unsynchronised publication: {} uses memory that {} has allocated, and nothing orders that",
                self.name_of(used.thread),
                self.name_of(by.unwrap_or(used.thread))
            ),
            remarks,
        )
    }

    /// How a thread has come to know a pointer into a block from another one: the write and the read, with what their orderings lack. The first pair that lacks something is told, or else
    /// the first one.
    fn publication(&self, number: u32, thread: ThreadId) -> Vec<Remark> {
        let Some(block) = self.blocks.used.get(number as usize) else {
            return Vec::new();
        };
        let inside = block.start as u64..block.end as u64;
        let pair = |read: usize| {
            let made = &self.made[read];
            let reads = made.thread == thread
                && ordering(made).is_some()
                && !matches!(made.operation, Operation::Store { .. });
            let mut accesses = self.accesses_of(read).iter().filter(|_| reads);
            let access = accesses.find(|access| inside.contains(&access.before))?;
            let write = self.writer(read, access.location, access.before)?;
            (self.made[write].thread != thread).then_some((write, read))
        };
        let pairs = || (0..self.made.len()).filter_map(pair);
        let lacks_nothing = |(step, suffices): (usize, fn(Ordering) -> bool)| {
            ordering(&self.made[step]).is_some_and(suffices)
        };
        let lacks = |&(write, read): &(usize, usize)| {
            !lacks_nothing((write, releases)) || !lacks_nothing((read, acquires))
        };
        let Some((write, read)) = pairs().find(lacks).or_else(|| pairs().next()) else {
            return Vec::new();
        };
        let tell = |step: usize, verb: &str, suffices: fn(Ordering) -> bool, wanted: &str| {
            let made = &self.made[step];
            let order = ordering(made)?;
            let text = match suffices(order) {
                true => format!("{verb} the pointer ({order:?})"),
                false => format!("{verb} the pointer ({order:?}); `{wanted}` would order it"),
            };
            Some(Remark::new(made.thread, made.place, text))
        };
        let write = tell(write, "publishes", releases, "Release");
        let read = tell(read, "reads", acquires, "Acquire");
        write.into_iter().chain(read).collect()
    }

    /// The step that has written what another one has read.
    fn writer(&self, read: usize, at: LocationId, value: u64) -> Option<usize> {
        if let Some(graph) = &self.graph {
            return graph.link(read)?.from;
        }
        let writes = |step: &usize| {
            let mut accesses = self.accesses_of(*step).iter();
            accesses.any(|access| {
                access.location == at && access.mode != Mode::Read && access.after == value
            })
        };
        (0..read).rev().find(writes)
    }

    /// Where the current thread stands: what a failure of its memory is told at.
    pub(in crate::rt) fn stands_at(&self) -> Place {
        let thread = self.thread(self.current);
        let last = (thread.steps as usize).checked_sub(1);
        let last = last.and_then(|last| thread.announced.get(last));
        last.map_or(self.origin, |last| last.place)
    }
}
