//! Steps by native code, in the packed words of states.

use std::sync::Arc;

use raddle_explore::{Batch, Changed, Choice, Place, Successors, Unseen};
use raddle_machine::Symmetry;
use raddle_machine::native::{Stop, code_of, thread_word};

use crate::frame::{NativeAccess, NativeFrame, Pick};
use crate::guarded::Guarded;
use crate::{Code, Entry, NativeStatus, StepFunction, referred};

/// More states than this are not added at once: somebody looks at limits now and then.
const MOST_AT_ONCE: usize = 1 << 12;

/// Native code, and what this machine has seen of it.
#[derive(Clone, Debug)]
pub(crate) struct Native {
    pub(crate) code: Arc<Code>,
    /// The blocks that were executed in steps that began at each stop.
    pub(crate) seen: Box<[u64]>,
    pub(crate) threads: Box<[Thread]>,
    /// The bits of the parts of all threads.
    pub(crate) all_threads: Changed,
    /// Whether some step has made a plain access that writes.
    writes_plainly: bool,
    /// By the number of a stop, where that is, if threads can move there.
    places: Box<[Option<Place>]>,
    /// Whether there are locks.
    has_locks: bool,
}

/// What is known of a thread.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    /// The first byte of its area.
    area: usize,
    /// Where the number of its stop is.
    word: usize,
    shift: u32,
    mask: u64,
    /// Its parts.
    bit: Changed,
    /// Whether it was spawned.
    is_spawned: bool,
    /// What native code is told of it, and tells of its last step.
    pub(crate) frame: Box<NativeFrame>,
}

impl Native {
    pub(crate) fn new(code: Arc<Code>, has_locks: bool) -> Self {
        let layout = &code.layout;
        let thread = |thread: usize| {
            let me = thread_word(thread);
            let area = layout.area(thread);
            let is_spawned = thread >= layout.run_threads();
            Thread {
                is_spawned,
                area: area as usize,
                word: (area / 8) as usize,
                shift: area % 8 * 8,
                mask: if layout.stop.wide { 0xFFFF } else { 0xFF },
                bit: Changed::NONE.with_bits(layout.bits(thread)),
                frame: Box::new(NativeFrame {
                    // They belong to the code, which this machine keeps.
                    constants: match is_spawned {
                        false => layout.thread_constants[thread].as_ptr(),
                        // They are those of its kind, which depends on what it was spawned with.
                        true => std::ptr::null(),
                    },
                    me,
                    my_code: code_of(me, false).map_or(-1, i64::from),
                    tid: thread as i64,
                    ..NativeFrame::default()
                }),
            }
        };
        let threads: Box<[Thread]> = (0..layout.most_threads()).map(thread).collect();
        let bits = threads.iter().map(|thread| thread.bit);
        Self {
            seen: vec![0; code.entries.len()].into(),
            all_threads: bits.fold(Changed::NONE, Changed::with),
            threads,
            writes_plainly: false,
            has_locks,
            places: code.layout.stops.iter().map(place_of).collect(),
            code,
        }
    }
}

impl Native {
    /// Adds the states after all steps from the state that was begun. If it cannot, it may have added some.
    #[inline]
    pub(crate) fn add_successors(
        &mut self,
        batch: &mut Batch,
        unseen: Unseen<'_>,
        mut symmetry: Option<&mut Symmetry>,
        guarded: Option<&Guarded>,
    ) -> Option<Successors> {
        let code = &*self.code;
        if !code.layout.fits(batch.begun()) {
            return None;
        }
        let size = batch.begun().len();
        batch.set_ends(code.layout.ends(size));
        let threads = code.layout.threads(size);
        let places = &self.places;
        // A thread that has ended holds no lock if there are none.
        let may_end = !self.has_locks;
        let may_be_unseen_at = |stop: usize| match unseen {
            Unseen::All => true,
            Unseen::Between { taken, .. } => {
                places[stop].map_or(may_end, |place| taken.contains(place))
            }
        };
        let is_blocked_unseen = |stop: usize| match unseen {
            Unseen::All => true,
            Unseen::Between { blocked, .. } => {
                places[stop].is_some_and(|place| blocked.contains(place))
            }
        };
        let variables = match unseen {
            Unseen::Between { variables, .. } => variables,
            Unseen::All => None,
        };
        let mut steps = Successors::default();
        for (position, thread) in self.threads[..threads].iter_mut().enumerate() {
            let stop = thread.stop(batch.begun());
            let function = match code.entries[stop] {
                Entry::Compiled(function) => function,
                Entry::Stopped => {
                    steps.ended += 1;
                    continue;
                }
                Entry::Interpreted => return None,
            };
            if !may_be_unseen_at(stop) {
                return None;
            }
            let mut choice = Some(Choice::FIRST);
            while let Some(taken) = choice {
                let words = batch.open();
                let status = thread.execute(code, function, taken, words);
                if let Some(variables) = variables
                    && !(thread.accesses().iter())
                        .all(|access| variables.contains(access.variable()))
                {
                    return None;
                }
                if let Some(guarded) = guarded {
                    let (before, accesses) = (batch.begun(), thread.accesses());
                    let blocked = status != NativeStatus::Moved;
                    if !guarded.allows_all(before, position, accesses, blocked) {
                        return None;
                    }
                }
                match status {
                    NativeStatus::Moved => {
                        if thread.frame.blocks & !self.seen[stop] != 0
                            || !may_be_unseen_at(thread.stop(batch.opened()))
                            || !referred::keeps_all_threads(&code.layout, batch.opened())
                        {
                            return None;
                        }
                        steps.moved += 1;
                        let exchanged = (symmetry.as_mut())
                            .is_some_and(|symmetry| symmetry.represent(batch.opened()));
                        batch.keep(match exchanged {
                            false => thread.changed(self.all_threads),
                            true => Changed::ALL,
                        });
                        if function.writes_plainly && !self.writes_plainly {
                            let mut accesses = thread.accesses().iter();
                            self.writes_plainly = accesses.any(|access| access.writes_plainly());
                        }
                    }
                    NativeStatus::Blocked | NativeStatus::Cut if is_blocked_unseen(stop) => {
                        steps.blocked += 1;
                    }
                    NativeStatus::Blocked | NativeStatus::Cut => return None,
                    NativeStatus::GaveUp => return None,
                }
                choice = match thread.frame.picked {
                    0 => None,
                    _ if batch.len() < MOST_AT_ONCE => thread.next_choice().ok()?,
                    _ => return None,
                };
            }
        }
        steps.writes_plainly = self.writes_plainly;
        (steps.moved > 0).then_some(steps)
    }
}

/// Where a stop is, unless it is the end.
fn place_of(stop: &Stop) -> Option<Place> {
    match stop {
        Stop::Stopped(..) => None,
        stop => Some(Place(stop.pc())),
    }
}

impl Thread {
    /// The number of the stop where it is, in the words of a state.
    #[inline]
    pub(crate) fn stop(&self, words: &[u64]) -> usize {
        (words[self.word] >> self.shift & self.mask) as usize
    }

    /// Executes its step in the words of a state, by the function for where it is.
    #[inline]
    pub(crate) fn execute(
        &mut self,
        code: &Code,
        function: StepFunction,
        choice: Choice,
        words: &mut [u64],
    ) -> NativeStatus {
        let frame = &mut *self.frame;
        let layout = &code.layout;
        if let Some(spawned) = &layout.spawned {
            frame.spawned = ((words.len() - layout.size) / spawned.words) as u64;
            if self.is_spawned {
                let Some(kind) = function.kind else {
                    return NativeStatus::GaveUp;
                };
                frame.constants = layout.thread_constants[kind as usize].as_ptr();
                let position = layout.run_threads() + (self.area / 8 - layout.size) / spawned.words;
                let tid = spawned.tid;
                frame.tid = tid.map_or(0, |tid| layout.word_in_area(words, position, tid));
            }
        }
        frame.count = 0;
        frame.choice = choice.0;
        frame.picked = 0;
        frame.wakes = 0;
        code.step(function, words, self.area, frame)
    }

    /// The parts that its last step has changed. All threads together have those parts.
    #[inline]
    pub(crate) fn changed(&self, all_threads: Changed) -> Changed {
        let written = Changed::NONE.with_bits(self.frame.changed);
        match self.frame.wakes {
            0 => self.bit.with(written),
            _ => all_threads.with(written),
        }
    }

    /// The accesses of its last step.
    #[inline]
    pub(crate) fn accesses(&self) -> &[NativeAccess] {
        &self.frame.accesses[..self.frame.count as usize]
    }

    /// The next alternative of its last step; an error if they are too many for a number.
    pub(crate) fn next_choice(&self) -> Result<Option<Choice>, ()> {
        let picks = &self.frame.picks[..self.frame.picked as usize];
        let all = picks
            .iter()
            .try_fold(1_u64, |all, pick| all.checked_mul(pick.of));
        all.ok_or(())?;
        let Some(last) = picks.iter().rposition(|pick| pick.pick + 1 < pick.of) else {
            return Ok(None);
        };
        let (mut number, mut weight) = (0, 1);
        for (index, Pick { pick, of }) in picks[..=last].iter().enumerate() {
            number += weight * (pick + u64::from(index == last));
            weight *= of;
        }
        Ok(Some(Choice(number)))
    }
}
