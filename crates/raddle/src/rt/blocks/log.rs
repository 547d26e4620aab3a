//! What was allocated and freed in an execution, and which of it an address belongs to.
//!
//! Most blocks hold no object of this crate, and nobody ever asks for them. So an event costs next to nothing: who asks looks through the last events, and
//! what is older is sorted when there is much of it.

use std::collections::BTreeMap;

use super::Moment;
use crate::rt::quarantine::{Event, What};
use crate::rt::system::List;

/// So many events are looked through without being sorted.
const UNSORTED: usize = 128;

/// Events that a thread has made between two of its operations.
#[derive(Clone, Copy, Debug)]
struct Segment {
    first: usize,
    allocated: Moment,
    freed: Moment,
}

#[derive(Clone, Copy, Debug)]
struct Extent {
    end: usize,
    /// The number of the last event of the block.
    event: usize,
}

#[derive(Debug, Default)]
pub(super) struct Log {
    segments: Vec<Segment>,
    /// How many events are known.
    known: usize,
    by_start: BTreeMap<usize, Extent>,
    /// How many events are in there.
    sorted: usize,
}

impl Log {
    pub(super) fn clear(&mut self) {
        self.segments.clear();
        self.known = 0;
        self.by_start.clear();
        self.sorted = 0;
    }

    /// How many events are known.
    #[inline]
    pub(super) fn known(&self) -> usize {
        self.known
    }

    /// The events up to this one are known now, and were made when these moments say.
    pub(super) fn know(&mut self, events: usize, allocated: Moment, freed: Moment) {
        self.segments.push(Segment {
            first: self.known,
            allocated,
            freed,
        });
        self.known = events;
    }

    /// When an event was made.
    pub(super) fn moment(&self, number: usize, what: What) -> Option<Moment> {
        let after = self
            .segments
            .partition_point(|segment| segment.first <= number);
        let segment = self.segments.get(after.checked_sub(1)?)?;
        Some(match what {
            What::Allocated => segment.allocated,
            What::Freed { .. } | What::FreedTwice => segment.freed,
        })
    }

    /// The last event of the block that an address belongs to, and its number.
    pub(super) fn find(&mut self, events: &List<Event>, address: usize) -> Option<(usize, Event)> {
        if self.known - self.sorted > UNSORTED {
            self.sort(events);
        }
        for number in (self.sorted..self.known).rev() {
            let event = events.get(number)?;
            if address.wrapping_sub(event.start) < event.size && event.what != What::FreedTwice {
                return Some((number, event));
            }
        }
        let (_, extent) = self.by_start.range(..=address).next_back()?;
        match address < extent.end {
            true => Some((extent.event, events.get(extent.event)?)),
            false => None,
        }
    }

    /// The event that has allocated a block which another event has freed.
    pub(super) fn allocation(&self, events: &List<Event>, freed: usize) -> Option<Moment> {
        let start = events.get(freed)?.start;
        let allocates = |number: &usize| {
            let event = events.get(*number);
            event.is_some_and(|event| event.start == start && event.what == What::Allocated)
        };
        let number = (0..freed).rev().find(allocates)?;
        self.moment(number, What::Allocated)
    }

    /// Sorts all events. What was at an address before was freed by somebody else.
    #[cold]
    fn sort(&mut self, events: &List<Event>) {
        for number in self.sorted..self.known {
            let Some(Event { start, size, what }) = events.get(number) else {
                break;
            };
            if what == What::FreedTwice {
                continue;
            }
            let end = start + size;
            while let Some((&before, extent)) = self.by_start.range(..end).next_back()
                && extent.end > start
            {
                self.by_start.remove(&before);
            }
            let event = number;
            self.by_start.insert(start, Extent { end, event });
        }
        self.sorted = self.known;
    }
}

#[cfg(test)]
mod tests {
    use raddle_schedule::ThreadId;

    use super::*;
    use crate::rt::here;

    fn moment(time: u32) -> Moment {
        Moment {
            thread: ThreadId::MAIN,
            time,
            place: here(),
        }
    }

    /// Whether events are sorted or not, the last one of a block is found.
    #[test]
    fn blocks_are_found_by_their_addresses() {
        let events = List::default();
        let mut log = Log::default();
        let freed = What::Freed {
            looks_counted: false,
        };
        for number in 0..3 * UNSORTED {
            for what in [What::Allocated, freed].into_iter().take(1 + number % 2) {
                let (start, size) = (100 * (number + 1), 50);
                assert!(events.push(Event { start, size, what }));
            }
            log.know(events.len(), moment(1), moment(2));
            if number % 7 == 0 {
                for earlier in 0..=number {
                    let start = 100 * (earlier + 1);
                    for inside in [start, start + 49] {
                        let (_, event) = log.find(&events, inside).expect("it is known");
                        assert_eq!(event.start, start);
                        assert_eq!(event.what == freed, earlier % 2 == 1);
                    }
                    assert!(log.find(&events, start + 50).is_none());
                }
            }
        }
        // Another block is where two were.
        let what = What::Allocated;
        let (start, size) = (120, 100);
        assert!(events.push(Event { start, size, what }));
        log.know(events.len(), moment(3), moment(4));
        log.sort(&events);
        for inside in [120, 200, 219] {
            assert_eq!(log.find(&events, inside).expect("it is known").1.start, 120);
        }
        for outside in [110, 230] {
            assert!(log.find(&events, outside).is_none());
        }
    }
}
