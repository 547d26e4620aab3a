//! Memory that is added to and never moves, so that what is there can be read without a lock.

use std::sync::OnceLock;

/// Elements of the first segment.
const FIRST: usize = 1 << 5;
const SEGMENTS: usize = 28;

/// A sequence of default values that is as long as needed. Each segment is twice as long as the one
/// before.
pub(crate) struct Doubling<T> {
    segments: [OnceLock<Box<[T]>>; SEGMENTS],
}

fn segment_of(index: usize) -> (usize, usize) {
    let segment = (index / FIRST + 1).ilog2() as usize;
    (segment, index - FIRST * ((1 << segment) - 1))
}

impl<T> Doubling<T> {
    pub(crate) const fn new() -> Self {
        Self {
            segments: [const { OnceLock::new() }; SEGMENTS],
        }
    }

    /// The element, if it or one near it was made.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        let (segment, offset) = segment_of(index);
        Some(&self.segments[segment].get()?[offset])
    }

    /// The element, which is made if it is not there.
    pub(crate) fn make(&self, index: usize, new: impl Fn() -> T) -> &T {
        let (segment, offset) = segment_of(index);
        let made =
            self.segments[segment].get_or_init(|| (0..FIRST << segment).map(|_| new()).collect());
        &made[offset]
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let made = self.segments.iter().filter_map(|segment| segment.get());
        made.map(|segment| segment.len() * size_of::<T>()).sum()
    }
}

/// Elements of a page, but for the first ones.
const PAGE_BITS: u32 = 14;
const PAGE: usize = 1 << PAGE_BITS;
/// The first pages have together as many elements as one of the others, and double.
const SMALL_PAGES: usize = 8;
const SMALLEST: usize = PAGE >> SMALL_PAGES;

/// A long sequence of elements, in pages that are made when they are needed.
pub(crate) struct Pages<T> {
    pages: Doubling<OnceLock<Box<[T]>>>,
}

#[inline]
fn page_of(index: usize) -> (usize, usize, usize) {
    if index >= PAGE {
        let page = SMALL_PAGES + (index >> PAGE_BITS);
        return (page, index % PAGE, PAGE);
    }
    // 0: the first `SMALLEST`; then as many as all before.
    match index / SMALLEST {
        0 => (0, index, SMALLEST),
        times => {
            let bits = times.ilog2() as usize;
            let size = SMALLEST << bits;
            (bits + 1, index - size, size)
        }
    }
}

impl<T> Pages<T> {
    pub(crate) const fn new() -> Self {
        Self {
            pages: Doubling::new(),
        }
    }

    /// The element. Panics if it was not made.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> &T {
        let (page, offset, _) = page_of(index);
        let page = self.pages.get(page).and_then(OnceLock::get);
        &page.expect("it was made")[offset]
    }

    /// The element, which is made if it is not there.
    pub(crate) fn make(&self, index: usize, new: impl Fn() -> T) -> &T {
        let (page, offset, size) = page_of(index);
        let page = self.pages.make(page, OnceLock::new);
        &page.get_or_init(|| (0..size).map(|_| new()).collect())[offset]
    }

    /// Somebody who reads elements and remembers where pages are.
    pub(crate) fn reader(&self) -> Reader<'_, T> {
        Reader {
            pages: self,
            known: Vec::new(),
        }
    }

    /// The memory of a sequence of that length, about.
    pub(crate) fn memory_bytes(&self, len: usize) -> usize {
        let made = if len < PAGE {
            len.next_power_of_two().max(SMALLEST)
        } else {
            len.next_multiple_of(PAGE)
        };
        let made = if len == 0 { 0 } else { made };
        made * size_of::<T>() + self.pages.memory_bytes()
    }
}

/// Reads elements, and remembers where pages are.
pub(crate) struct Reader<'p, T> {
    pages: &'p Pages<T>,
    /// Empty where nothing is known yet.
    known: Vec<&'p [T]>,
}

impl<'p, T> Reader<'p, T> {
    /// The element. Panics if it was not made.
    #[inline]
    pub(crate) fn get(&mut self, index: usize) -> &'p T {
        let (page, offset, _) = page_of(index);
        match self.known.get(page).and_then(|page| page.get(offset)) {
            Some(element) => element,
            None => self.look_up(page, offset),
        }
    }

    #[cold]
    fn look_up(&mut self, page: usize, offset: usize) -> &'p T {
        let elements = self.pages.pages.get(page).and_then(OnceLock::get);
        let elements = elements.expect("it was made");
        if self.known.len() <= page {
            self.known.resize(page + 1, &[]);
        }
        self.known[page] = elements;
        &elements[offset]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_has_its_own_place() {
        let pages = Pages::new();
        for index in 0..3 * PAGE {
            let (page, offset, size) = page_of(index);
            assert!(offset < size, "{index}: {page} {offset} {size}");
            let cell: &std::cell::Cell<usize> = pages.make(index, || std::cell::Cell::new(0));
            assert_eq!(cell.replace(index + 1), 0);
        }
        assert!((0..3 * PAGE).all(|index| pages.get(index).get() == index + 1));
        let mut reader = pages.reader();
        for index in (0..3 * PAGE).rev().chain(0..3 * PAGE) {
            assert_eq!(reader.get(index).get(), index + 1);
        }
    }
}
