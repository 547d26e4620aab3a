//! Steps by native code, in the packed words of states.

use std::sync::Arc;

use raddle_explore::{Batch, Changed, Choice, Place, Successors, Unseen};
use raddle_machine::Symmetry;
use raddle_machine::native::{Layout, Stop, code_of, thread_word};

use crate::disciplines::{Disciplines, Made};
use crate::frame::{NativeAccess, NativeFrame, Pick};
use crate::objects::{self, Objects, Walk, Walked};
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
    /// Whether some step has made a plain access that writes.
    writes_plainly: bool,
    /// By the number of a stop, where that is, if threads can move there.
    places: Box<[Option<Place>]>,
    /// Whether there are locks.
    has_locks: bool,
    /// The heap, if there is one.
    pub(crate) heap: Option<Box<NativeHeap>>,
}

/// What is needed for programs with a heap.
#[derive(Clone, Debug)]
pub(crate) struct NativeHeap {
    /// Those of the state from which steps are made.
    pub(crate) objects: Objects,
    pub(crate) walk: Walk,
    /// The ends of the parts of a state after a step.
    ends: Vec<u32>,
}

/// What is known of a thread.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    position: usize,
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
                position: thread,
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
        Self {
            seen: vec![0; code.entries.len()].into(),
            threads,
            writes_plainly: false,
            has_locks,
            heap: layout.heap.map(|_| {
                Box::new(NativeHeap {
                    objects: Objects::new(),
                    walk: Walk::new(layout),
                    ends: Vec::new(),
                })
            }),
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
        symmetry: Option<&mut Symmetry>,
        disciplines: Option<&Disciplines>,
    ) -> Option<Successors> {
        let is_plain = self.heap.is_none()
            && self.code.layout.spawned.is_none()
            && matches!(unseen, Unseen::All)
            && symmetry.is_none()
            && disciplines.is_none();
        match is_plain {
            true => self.add_all::<true>(batch, unseen, symmetry, disciplines),
            false => self.add_all::<false>(batch, unseen, symmetry, disciplines),
        }
    }

    /// The same. `PLAIN` says that there are neither a heap nor spawned threads, that all steps are unseen, and that there are neither symmetry nor
    /// disciplines: the code for all of that, of which each costs a few instructions a step, is left out then.
    fn add_all<const PLAIN: bool>(
        &mut self,
        batch: &mut Batch,
        unseen: Unseen<'_>,
        symmetry: Option<&mut Symmetry>,
        disciplines: Option<&Disciplines>,
    ) -> Option<Successors> {
        let code = &*self.code;
        if !code.layout.fits(batch.begun()) {
            return None;
        }
        let unseen = if PLAIN { Unseen::All } else { unseen };
        let mut symmetry = symmetry.filter(|_| !PLAIN);
        let disciplines = disciplines.filter(|_| !PLAIN);
        let mut heap = self.heap.as_deref_mut().filter(|_| !PLAIN);
        match &mut heap {
            None => batch.set_ends(code.layout.ends(batch.begun())),
            // What the representative is depends on the objects.
            Some(_) if symmetry.is_some() => return None,
            Some(heap) => {
                if !heap.objects.find(&code.layout, batch.begun(), &[]) {
                    return None;
                }
            }
        }
        let threads = match PLAIN {
            true => code.layout.run_threads(),
            false => code.layout.threads(batch.begun()),
        };
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
            let function = match &code.entries[stop] {
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
                let words = match heap {
                    None => batch.open(),
                    Some(_) => batch.open_with_room(function.room as usize),
                };
                let objects = heap.as_mut().map(|heap| &mut heap.objects);
                let status = thread.execute(code, function, taken, words, objects);
                if let Some(variables) = variables
                    && !(thread.accesses().iter())
                        .all(|access| variables.contains(access.variable()))
                {
                    return None;
                }
                if let Some(disciplines) = disciplines {
                    let made = Made {
                        layout: &code.layout,
                        before: batch.begun(),
                        objects: heap.as_ref().map(|heap| &heap.objects),
                        thread: position,
                        accesses: thread.accesses(),
                        blocked: status != NativeStatus::Moved,
                    };
                    if status == NativeStatus::GaveUp || !disciplines.allow(&made) {
                        return None;
                    }
                }
                match status {
                    NativeStatus::Moved => {
                        if thread.frame.blocks & !self.seen[stop] != 0
                            || !PLAIN && !may_be_unseen_at(thread.stop(batch.opened()))
                        {
                            return None;
                        }
                        match &mut heap {
                            None => {
                                if !PLAIN
                                    && !referred::keeps_all_threads(&code.layout, batch.opened())
                                {
                                    return None;
                                }
                                let exchanged = (symmetry.as_mut())
                                    .is_some_and(|symmetry| symmetry.represent(batch.opened()));
                                batch.keep(match exchanged {
                                    false => thread.changed(&code.layout, threads),
                                    true => Changed::ALL,
                                });
                            }
                            Some(heap) => {
                                let changed = thread.changed(&code.layout, threads);
                                heap.keep(&code.layout, disciplines, batch, changed)?;
                            }
                        }
                        steps.moved += 1;
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

impl NativeHeap {
    /// Adds the state after a step to a batch, with canonical names. Nothing if a thread disappears from it.
    #[inline]
    fn keep(
        &mut self,
        layout: &Layout,
        disciplines: Option<&Disciplines>,
        batch: &mut Batch,
        changed: Changed,
    ) -> Option<()> {
        let mut count = self.objects.words();
        let words = batch.opened_words(count);
        let marked = match disciplines {
            Some(disciplines) if disciplines.are_on_heap => {
                self.objects.note_escapes(&self.walk, words)
            }
            _ => 0,
        };
        let walked = self.walk.canonicalise(layout, words);
        match walked {
            Walked::Canonical => {}
            Walked::Renamed(words) => count = words,
            Walked::Unknown => return None,
        }
        let words = &words[..count];
        if !referred::keeps_all_threads(layout, words) {
            return None;
        }
        self.ends.clear();
        self.ends.extend_from_slice(layout.ends(words));
        objects::add_ends(layout, words, &mut self.ends);
        let changed = match walked != Walked::Canonical || self.objects.are_more() {
            true => Changed::ALL,
            false => changed.with_bits(marked),
        };
        batch.keep_words(count, &self.ends, changed);
        Some(())
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

    /// Executes its step in the words of a state, by the function for where it is. Always part of its callers, who mostly know that there are no objects.
    #[inline(always)]
    pub(crate) fn execute(
        &mut self,
        code: &Code,
        function: &StepFunction,
        choice: Choice,
        words: &mut [u64],
        objects: Option<&mut Objects>,
    ) -> NativeStatus {
        let frame = &mut *self.frame;
        let layout = &code.layout;
        if let Some(objects) = objects {
            objects.begin(self.position, words.len());
            frame.objects = objects;
        }
        if let Some(spawned) = &layout.spawned {
            frame.spawned = layout.spawned_threads(words) as u64;
            if self.is_spawned {
                let Some(kind) = function.kind else {
                    return NativeStatus::GaveUp;
                };
                frame.constants = layout.thread_constants[kind as usize].as_ptr();
                let tid = spawned.tid;
                frame.tid = tid.map_or(0, |tid| layout.word_in_area(words, self.position, tid));
            }
        }
        frame.count = 0;
        frame.choice = choice.0;
        frame.picked = 0;
        frame.wakes = 0;
        code.step(function, words, self.area, frame)
    }

    /// The parts that its last step has changed, in a state of so many threads.
    #[inline]
    pub(crate) fn changed(&self, layout: &Layout, threads: usize) -> Changed {
        let written = self.bit.with_bits(self.frame.changed);
        match self.frame.wakes {
            0 => written,
            _ => (0..threads).fold(written, |changed, thread| {
                changed.with_bits(layout.bits(thread))
            }),
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
