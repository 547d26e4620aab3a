//! [`Objects`]: where the heap objects of a state are, and what they are called; [`Walk`]: canonical names, in packed words.
//!
//! # Why the walk gives the names that the interpreter gives
//!
//! The interpreter names objects in the order in which a walk meets them: through the globals, the threads in their order, then the objects that were met, in
//! the order in which they were met. The fields of a state are visited in that order here too, but for those that never hold a reference to
//! an object (narrow ones, and integers, which have other codes). The order of threads is as it was: whoever calls this knows that no thread
//! is new, and looks afterwards whether one [disappears](crate::referred).
//!
//! Where each object is met for the first time after all before it, and none is left over, the state is canonical already: then nothing is written.

use raddle_explore::Packed;
use raddle_machine::native::{Field, Heap, Layout, Stop, codes, fresh_word, heap_word};

/// There are no more objects in a state.
pub(crate) const MOST_OBJECTS: usize = 64;
/// How many words there are behind the state for a step that allocates.
pub(crate) const ROOM: usize = 64;

/// The heap objects of a state, for native code.
#[repr(C)]
#[derive(Clone, Debug)]
pub(crate) struct Objects {
    /// How many there are.
    pub(crate) count: u64,
    /// The byte of the state where the next one begins.
    pub(crate) end: u64,
    /// The byte behind the words that are lent.
    pub(crate) limit: u64,
    /// There may not be more objects.
    pub(crate) most: u64,
    /// The number of the part of the first one.
    pub(crate) first_part: u64,
    /// What the next one is called that the thread makes.
    pub(crate) fresh: i64,
    /// The first byte of each.
    pub(crate) bytes: [u32; MOST_OBJECTS],
    /// What they are called, as references to their first slots.
    pub(crate) names: [i64; MOST_OBJECTS],
    /// How many there were before the step, and where they ended.
    before: (u64, u64),
    /// The first one that is not called by its position.
    first_fresh: usize,
}

impl Objects {
    pub(crate) fn new() -> Self {
        Self {
            count: 0,
            end: 0,
            limit: 0,
            most: 0,
            first_part: 0,
            fresh: 0,
            bytes: [0; MOST_OBJECTS],
            names: std::array::from_fn(|position| heap_word(position, 0)),
            before: (0, 0),
            first_fresh: 0,
        }
    }

    /// Finds the objects of a state. The last ones have other names than those of a canonical state if some are given. Says whether the words are those of a
    /// state.
    #[inline]
    pub(crate) fn find(&mut self, layout: &Layout, words: &[u64], fresh: &[i64]) -> bool {
        let Some(heap) = &layout.heap else {
            return false;
        };
        let spawned = layout.spawned_threads(words);
        let mut start = first_word(layout, spawned);
        self.first_part = (layout.own_parts + spawned) as u64;
        self.most = (heap.most_areas.saturating_sub(spawned)).min(MOST_OBJECTS) as u64;
        let mut count = 0;
        while let Some(first) = words.get(start) {
            if count as u64 >= self.most {
                return false;
            }
            self.bytes[count] = 8 * start as u32;
            count += 1;
            start += Heap::words_at(*first);
        }
        self.before = (count as u64, 8 * start as u64);
        self.name_last(count, fresh);
        start == words.len()
    }

    /// Gives the last objects their names.
    #[inline]
    fn name_last(&mut self, count: usize, fresh: &[i64]) {
        // Those that have had other names follow each other, also where a step has made more of them.
        for position in self.first_fresh..MOST_OBJECTS {
            let canonical = heap_word(position, 0);
            if std::mem::replace(&mut self.names[position], canonical) == canonical {
                break;
            }
        }
        self.first_fresh = count - fresh.len().min(count);
        self.names[self.first_fresh..count].copy_from_slice(fresh);
    }

    /// Prepares for a step of a thread, which is lent so many words.
    #[inline]
    pub(crate) fn begin(&mut self, thread: usize, words: usize) {
        (self.count, self.end) = self.before;
        self.limit = 8 * words as u64;
        let made = |name: &&i64| **name >> 40 == fresh_word(thread, 0) >> 40;
        let known = self.names[..self.count as usize].iter();
        self.fresh = match known.rev().find(made) {
            Some(last) => last + (fresh_word(thread, 1) - fresh_word(thread, 0)),
            None => fresh_word(thread, 0),
        };
    }

    /// The object that a location is in, by what it is called, and which slot of it that is.
    #[inline]
    pub(crate) fn at(&self, location: u64) -> Option<(usize, usize)> {
        let slot = location as usize & ((1 << 20) - 1);
        let name = location as i64 - slot as i64;
        let names = &self.names[..self.count as usize];
        let position = names.iter().position(|known| *known == name)?;
        Some((position, slot))
    }

    /// The first byte of an object that there was before the step.
    #[inline]
    pub(crate) fn before(&self, position: usize) -> Option<u32> {
        ((position as u64) < self.before.0).then(|| self.bytes[position])
    }

    /// Marks the objects that others than their makers know in the words after a step: globals or such objects refer to them. Gives the parts that this
    /// changes, as bits.
    pub(crate) fn note_escapes(&self, walk: &Walk, words: &mut [u64]) -> u64 {
        let areas = &self.bytes[..self.count as usize];
        let first = |position: usize| areas[position] as usize / 8;
        let mut known = 0_u64;
        for field in &walk.globals {
            if let Some(position) = walk.position(Layout::code(*field, words)) {
                known |= 1 << position;
            }
        }
        for position in 0..areas.len() {
            let has_escaped = words[first(position)] & Heap::ESCAPED != 0;
            known |= u64::from(has_escaped) << position;
        }
        let (mut open, mut changed) = (known, 0);
        while open != 0 {
            let position = open.trailing_zeros() as usize;
            open &= open - 1;
            let start = first(position);
            let area = &words[start..start + Heap::words_at(words[start])];
            for slot in 0..slots_of(area) {
                if let Some(other) = walk.position(take(area, slot))
                    && known & 1 << other == 0
                {
                    known |= 1 << other;
                    open |= 1 << other;
                }
            }
            if words[start] & Heap::ESCAPED == 0 {
                words[start] |= Heap::ESCAPED;
                changed |= 1 << (self.first_part as usize + position);
            }
        }
        changed
    }

    /// How many words the state has after the step.
    #[inline]
    pub(crate) fn words(&self) -> usize {
        self.end as usize / 8
    }

    /// Whether the step has allocated.
    #[inline]
    pub(crate) fn are_more(&self) -> bool {
        self.count > self.before.0
    }

    /// The names that were given in the step.
    #[inline]
    pub(crate) fn new_names(&self) -> &[i64] {
        &self.names[self.before.0 as usize..self.count as usize]
    }
}

/// The word where the heap begins.
#[inline]
fn first_word(layout: &Layout, spawned: usize) -> usize {
    let of_one = layout.spawned.as_ref().map_or(0, |spawned| spawned.words);
    layout.size() + spawned * of_one
}

/// The ends of the parts of the objects of a state.
pub(crate) fn add_ends(layout: &Layout, words: &[u64], ends: &mut Vec<u32>) {
    let mut start = first_word(layout, layout.spawned_threads(words));
    while let Some(first) = words.get(start) {
        start += Heap::words_at(*first);
        ends.push(start as u32);
    }
}

/// Tells the parts of a state.
pub(crate) fn find_parts(layout: &Layout, words: &[u64], packed: &mut Packed) {
    packed.clear();
    let mut start = 0;
    let mut add = |end: usize| {
        packed.extend(&words[start..end]);
        packed.end_part();
        start = end;
        words.get(end).copied()
    };
    let mut first = None;
    for end in layout.ends(words) {
        first = add(*end as usize);
    }
    let mut end = first_word(layout, layout.spawned_threads(words));
    while let Some(header) = first {
        end += Heap::words_at(header);
        first = add(end);
    }
}

/// The codes of the slots of the objects of a state.
pub(crate) fn slot_codes(layout: &Layout, words: &[u64]) -> impl Iterator<Item = u16> {
    let mut objects = words[first_word(layout, layout.spawned_threads(words))..].iter();
    let areas = std::iter::from_fn(move || {
        let header = objects.as_slice().first()?;
        let (area, rest) = objects.as_slice().split_at(Heap::words_at(*header));
        objects = rest.iter();
        Some(area)
    });
    areas.flat_map(|area| (0..slots_of(area)).map(|slot| take(area, slot)))
}

/// How many slots an object has that are not zero altogether.
#[inline]
fn slots_of(area: &[u64]) -> usize {
    match area[0] & Heap::FREED {
        0 => (area[0] >> 8) as usize & Heap::MOST_SLOTS,
        _ => 0,
    }
}

/// The code of a slot.
#[inline]
fn take(area: &[u64], slot: usize) -> u16 {
    let byte = Heap::HEADER as usize + 2 * slot;
    (area[byte / 8] >> (byte % 8 * 8)) as u16
}

/// What a walk has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walked {
    /// Names are canonical.
    Canonical,
    /// They were not, and are now. The state has so many words then.
    Renamed(usize),
    /// The interpreter is to find out.
    Unknown,
}

/// Gives objects canonical names.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    /// The wide global fields.
    globals: Box<[Field]>,
    /// By the number of a stop, the wide fields in the area of the thread; nothing where that is not known: a thread that has failed at its start may have frames.
    threads: Box<[Option<Box<[Field]>>]>,
    /// The first code of a reference to an object, and how many each object has.
    first: u16,
    offsets: u16,
    /// Where objects are, old positions in the new order, and new ones by old ones.
    areas: Vec<(u32, u32)>,
    order: Vec<u8>,
    renamed: [u8; MOST_OBJECTS],
    moved: Vec<u64>,
}

/// It was not met.
const NOT_MET: u8 = u8::MAX;

impl Walk {
    pub(crate) fn new(layout: &Layout) -> Self {
        let wide = |fields: &mut dyn Iterator<Item = Field>| -> Box<[Field]> {
            fields.filter(|field| field.wide).collect()
        };
        let of_stop = |stop: &Stop| match stop {
            Stop::Running(at) | Stop::Waiting(at) | Stop::Notified(at) => {
                let fields = layout.frames[at.spot as usize].iter();
                Some(wide(&mut fields.map(|(_, field)| *field)))
            }
            Stop::Stopped(_, false) => Some(Box::default()),
            Stop::Stopped(_, true) => None,
        };
        let [.., first] = codes(true);
        Self {
            globals: wide(&mut layout.slots.iter().copied()),
            threads: layout.stops.iter().map(of_stop).collect(),
            first: first as u16,
            offsets: Heap::OFFSETS as u16,
            areas: Vec::new(),
            order: Vec::new(),
            renamed: [NOT_MET; MOST_OBJECTS],
            moved: Vec::new(),
        }
    }

    /// Renames objects, and drops those that nothing refers to.
    #[inline]
    pub(crate) fn canonicalise(&mut self, layout: &Layout, words: &mut [u64]) -> Walked {
        let is_known = |thread: usize| {
            let stop = layout.stop_number(words, thread);
            self.threads.get(stop).is_some_and(Option::is_some)
        };
        if !(0..layout.threads(words)).all(is_known) {
            return Walked::Unknown;
        }
        match self.is_canonical(layout, words) {
            true => Walked::Canonical,
            false => Walked::Renamed(self.rename(layout, words)),
        }
    }

    /// The position of the object that a code refers to.
    #[inline]
    fn position(&self, code: u16) -> Option<usize> {
        let number = code.checked_sub(self.first)?;
        Some(usize::from(number / self.offsets))
    }

    /// The fields of globals and threads, in order.
    #[inline]
    fn fields<'w>(&'w self, layout: &'w Layout, words: &'w [u64]) -> impl Iterator<Item = Field> {
        let of_thread = |thread: usize| {
            let stop = layout.stop_number(words, thread);
            let area = layout.area(thread);
            let fields = self.threads[stop].as_deref().unwrap_or_default();
            fields.iter().map(move |field| Field {
                byte: area + field.byte,
                wide: true,
            })
        };
        let threads = (0..layout.threads(words)).flat_map(of_thread);
        self.globals.iter().copied().chain(threads)
    }

    /// Whether each object is met for the first time right after the one before it, and all are met.
    #[inline]
    fn is_canonical(&self, layout: &Layout, words: &[u64]) -> bool {
        let mut met = 0;
        let mut is_in_order = |code: u16| match self.position(code) {
            Some(position) if position >= met => {
                met += 1;
                position + 1 == met
            }
            _ => true,
        };
        let mut fields = self.fields(layout, words);
        if !fields.all(|field| is_in_order(Layout::code(field, words))) {
            return false;
        }
        let mut start = first_word(layout, layout.spawned_threads(words));
        let mut passed = 0;
        while let Some(first) = words.get(start) {
            if passed == met {
                return false;
            }
            let area = &words[start..start + Heap::words_at(*first)];
            for slot in 0..slots_of(area) {
                if let Some(position) = self.position(take(area, slot))
                    && position >= met
                {
                    if position > met {
                        return false;
                    }
                    met += 1;
                }
            }
            start += area.len();
            passed += 1;
        }
        // What was met is there.
        true
    }

    #[cold]
    fn rename(&mut self, layout: &Layout, words: &mut [u64]) -> usize {
        let heap = first_word(layout, layout.spawned_threads(words));
        self.areas.clear();
        let mut start = heap;
        while let Some(first) = words.get(start) {
            let count = Heap::words_at(*first);
            self.areas.push((start as u32, count as u32));
            start += count;
        }
        self.order.clear();
        let mut renamed = [NOT_MET; MOST_OBJECTS];
        let mut order = std::mem::take(&mut self.order);
        let mut meet = |code: u16, order: &mut Vec<u8>| {
            if let Some(position) = self.position(code)
                && renamed[position] == NOT_MET
            {
                renamed[position] = order.len() as u8;
                order.push(position as u8);
            }
        };
        for field in self.fields(layout, words) {
            meet(Layout::code(field, words), &mut order);
        }
        let mut next = 0;
        while let Some(position) = order.get(next) {
            let (start, count) = self.areas[usize::from(*position)];
            let area = &words[start as usize..(start + count) as usize];
            for slot in 0..slots_of(area) {
                meet(take(area, slot), &mut order);
            }
            next += 1;
        }
        self.renamed = renamed;
        let fields: Vec<Field> = self.fields(layout, words).collect();
        for field in fields {
            let code = Layout::code(field, words);
            let (word, shift) = (field.byte as usize / 8, field.byte % 8 * 8);
            words[word] = put(words[word], shift, self.renamed_code(code));
        }
        let mut moved = std::mem::take(&mut self.moved);
        moved.clear();
        for position in &order {
            let (start, count) = self.areas[usize::from(*position)];
            let at = moved.len();
            moved.extend_from_slice(&words[start as usize..(start + count) as usize]);
            let area = &mut moved[at..];
            for slot in 0..slots_of(area) {
                let byte = Heap::HEADER + 2 * slot as u32;
                let code = self.renamed_code(take(area, slot));
                let word = &mut area[byte as usize / 8];
                *word = put(*word, byte % 8 * 8, code);
            }
        }
        let end = heap + moved.len();
        words[heap..end].copy_from_slice(&moved);
        (self.moved, self.order) = (moved, order);
        end
    }

    /// What a code becomes.
    #[inline]
    fn renamed_code(&self, code: u16) -> u16 {
        match self.position(code) {
            None => code,
            Some(position) => {
                let offset = (code - self.first) % self.offsets;
                self.first + u16::from(self.renamed[position]) * self.offsets + offset
            }
        }
    }
}

#[inline]
fn put(word: u64, shift: u32, code: u16) -> u64 {
    word & !(0xFFFF << shift) | u64::from(code) << shift
}
