//! [`BlockVec`]: a vector that grows without moving what it holds.

/// Elements per block.
const BLOCK: usize = 1 << 12;

/// A growing sequence in blocks of a fixed size: no reallocation copies it, and at
/// most one block of it is unused.
pub(crate) struct BlockVec<T> {
    blocks: Vec<Vec<T>>,
    len: usize,
}

impl<T: Copy> BlockVec<T> {
    pub(crate) const fn new() -> Self {
        Self {
            blocks: Vec::new(),
            len: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn push(&mut self, value: T) {
        if self.len.is_multiple_of(BLOCK) {
            // The first block grows with its content, so that small runs stay small.
            let room = if self.len == 0 { 0 } else { BLOCK };
            self.blocks.push(Vec::with_capacity(room));
        }
        self.blocks[self.len / BLOCK].push(value);
        self.len += 1;
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> T {
        self.blocks[index / BLOCK][index % BLOCK]
    }

    pub(crate) fn get_mut(&mut self, index: usize) -> &mut T {
        &mut self.blocks[index / BLOCK][index % BLOCK]
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        // All blocks but the first have the same capacity.
        let first = self.blocks.first().map_or(0, Vec::capacity);
        let others = self.blocks.len().saturating_sub(1) * BLOCK;
        (first + others) * size_of::<T>() + self.blocks.capacity() * size_of::<Vec<T>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_what_was_pushed() {
        let mut long = BlockVec::new();
        for i in 0..3 * BLOCK as u32 + 5 {
            long.push(i);
        }
        *long.get_mut(BLOCK) = 7;
        assert_eq!(long.len(), 3 * BLOCK + 5);
        for i in (0..long.len()).filter(|&i| i != BLOCK) {
            assert_eq!(long.get(i), i as u32);
        }
        assert_eq!(long.get(BLOCK), 7);
        let least = long.len() * 4;
        assert!((least..least + 4 * BLOCK + 256).contains(&long.memory_bytes()));
    }
}
