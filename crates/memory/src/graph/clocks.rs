//! What comes before an event, in vector clocks: for each thread, how many of its events.
//!
//! ```text
//! hb(e)  = hb(po-predecessor), own entry = index + 1
//! R, U:  v = released(rf);  if it acquires: hb(e) ⊔= v   else: pending(e) ⊔= v
//! F acq: hb(e) ⊔= pending(e)             F rel: fenced(e) = hb(e)
//! W, U:  released(e) = if it releases { hb(e) } else { fenced(e) };   U: released(e) ⊔= released(rf)
//! ```
//!
//! Clocks of a thread (`pending`, `fenced`) are kept with each of its events, so cutting a thread restores them.

use super::{EventId, Graph, Kind, Thread};

/// The clocks of an event that others ask for. Two more follow: `pending`, what a later acquire fence of the thread acquires, and `fenced`, what
/// happens before the last release fence of the thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Row {
    /// What comes before it in `(po ∪ rf)⁺`, and itself.
    Porf,
    /// What happens before it, and itself.
    Hb,
    /// What happens before those that acquire what it writes.
    Released,
}

impl Row {
    pub(super) const COUNT: usize = 5;
}

impl Thread {
    fn row(&self, width: usize, index: usize, row: Row) -> &[u32] {
        let start = (index * Row::COUNT + row as usize) * width;
        &self.clocks[start..start + width]
    }
}

fn join(clock: &mut [u32], other: &[u32]) {
    for (entry, other) in clock.iter_mut().zip(other) {
        *entry = (*entry).max(*other);
    }
}

impl Graph {
    /// A clock of an event.
    #[inline]
    pub(crate) fn clock(&self, id: EventId, row: Row) -> &[u32] {
        self.threads[id.thread.index()].row(self.width, id.index as usize, row)
    }

    /// For each thread, how many of its events happen before an event, or are it. After a join of a thread it is one more than the thread has.
    /// Threads without events that no event names may be missing at the end.
    #[must_use]
    pub fn happens_before(&self, id: EventId) -> &[u32] {
        self.clock(id, Row::Hb)
    }

    /// For each thread, how many of its events come before an event in program order and reads-from, or are it.
    #[must_use]
    pub fn prefix(&self, id: EventId) -> &[u32] {
        self.clock(id, Row::Porf)
    }

    /// Gives clocks more entries.
    pub(super) fn widen(&mut self, width: usize) {
        for thread in &mut self.threads {
            let rows = thread.events.len() * Row::COUNT;
            let mut clocks = Vec::with_capacity(rows * width);
            for row in 0..rows {
                clocks.extend_from_slice(&thread.clocks[row * self.width..][..self.width]);
                clocks.resize((row + 1) * width, 0);
            }
            thread.clocks = clocks;
        }
        self.width = width;
    }

    pub(super) fn drop_clocks(&mut self, id: EventId) {
        let clocks = &mut self.threads[id.thread.index()].clocks;
        clocks.truncate(id.index as usize * Row::COUNT * self.width);
    }

    /// Computes the clocks of the last event of a thread.
    pub(crate) fn compute_clocks(&mut self, id: EventId) {
        let (width, index) = (self.width, id.index as usize);
        let start = index * Row::COUNT * width;
        // Taken out, so that those of other events can be read meanwhile.
        let mut clocks = std::mem::take(&mut self.threads[id.thread.index()].clocks);
        clocks.truncate(start);
        match index {
            0 => clocks.resize(Row::COUNT * width, 0),
            _ => clocks.extend_from_within(start - Row::COUNT * width..start),
        }
        let (earlier, own) = clocks.split_at_mut(start);
        let (porf, rest) = own.split_at_mut(width);
        let (hb, rest) = rest.split_at_mut(width);
        let (released, rest) = rest.split_at_mut(width);
        let (pending, fenced) = rest.split_at_mut(width);
        let row = |other: EventId, row: Row| match other.thread == id.thread {
            true => &earlier[(other.index as usize * Row::COUNT + row as usize) * width..][..width],
            false => self.threads[other.thread.index()].row(width, other.index as usize, row),
        };
        if let (0, Some(spawn)) = (index, self.threads[id.thread.index()].spawned_by) {
            join(porf, row(spawn, Row::Porf));
            join(hb, row(spawn, Row::Hb));
        }
        porf[id.thread.index()] = id.index + 1;
        hb[id.thread.index()] = id.index + 1;

        let event = &self.threads[id.thread.index()].events[index];
        if let Some(from) = event.from {
            join(porf, row(from, Row::Porf));
            match event.kind {
                Kind::Join => {
                    join(hb, row(from, Row::Hb));
                    // Also what the thread has done after its last event.
                    let child = event.operation.child();
                    hb[child.index()] = self.threads[child.index()].events.len() as u32 + 1;
                }
                _ if event.order.acquires() => join(hb, row(from, Row::Released)),
                _ => join(pending, row(from, Row::Released)),
            }
        }
        if event.kind == Kind::Fence {
            if event.order.acquires() {
                join(hb, pending);
            }
            if event.order.releases() {
                fenced.copy_from_slice(hb);
            }
        }
        if event.kind.writes() {
            released.copy_from_slice(match event.order.releases() {
                true => hb,
                false => fenced,
            });
            if let Some(from) = event.from {
                join(released, row(from, Row::Released));
            }
        }
        self.threads[id.thread.index()].clocks = clocks;
    }
}
