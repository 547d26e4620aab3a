//! [`Arena`]: byte strings, one after another, in chunks.

/// The size of a chunk. A string never spans two chunks; one that is longer than a
/// chunk has a chunk of its own.
const CHUNK: usize = 1 << 20;

/// Byte strings that are added and never removed.
///
/// A string is kept with its length before it, as seven bits per byte, lowest first, the
/// eighth bit saying that more follow: one byte for strings below 128 bytes. Its address
/// is the number of its chunk times [`CHUNK`] plus the offset therein.
#[derive(Default)]
pub(super) struct Arena {
    chunks: Vec<Vec<u8>>,
    capacity: usize,
}

impl Arena {
    /// Two strings that are added one after the other have addresses at most this far
    /// apart: the second begins in the chunk of the first or in the next one.
    pub(super) const MAX_DISTANCE: u64 = 2 * CHUNK as u64;

    /// Adds a string and returns its address.
    pub(super) fn push(&mut self, bytes: &[u8]) -> u64 {
        let (prefix, prefix_len) = length_prefix(bytes.len());
        let needed = prefix_len + bytes.len();
        let fits = self
            .chunks
            .last()
            .is_some_and(|chunk| chunk.len() + needed <= CHUNK);
        if !fits {
            // The first chunk grows with its content, so that small runs stay small.
            let room = if self.chunks.is_empty() { 0 } else { CHUNK };
            self.chunks.push(Vec::with_capacity(room.max(needed)));
            self.capacity += room.max(needed);
        }
        let number = self.chunks.len() - 1;
        let chunk = &mut self.chunks[number];
        let offset = chunk.len();
        if offset + needed > chunk.capacity() {
            let room = (offset + needed).next_power_of_two();
            self.capacity += room - chunk.capacity();
            chunk.reserve_exact(room - offset);
        }
        chunk.extend_from_slice(&prefix[..prefix_len]);
        chunk.extend_from_slice(bytes);
        (number * CHUNK + offset) as u64
    }

    /// The string at an address that [`push`](Self::push) returned.
    #[inline]
    pub(super) fn get(&self, address: u64) -> &[u8] {
        let address = address as usize;
        let record = &self.chunks[address / CHUNK][address % CHUNK..];
        let mut len = 0;
        for (i, &byte) in record.iter().enumerate() {
            len |= usize::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                return &record[i + 1..i + 1 + len];
            }
        }
        unreachable!("every length ends")
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.capacity + self.chunks.capacity() * size_of::<Vec<u8>>()
    }
}

fn length_prefix(mut len: usize) -> ([u8; 10], usize) {
    let mut prefix = [0; 10];
    let mut i = 0;
    while len >= 0x80 {
        prefix[i] = (len & 0x7f) as u8 | 0x80;
        len >>= 7;
        i += 1;
    }
    prefix[i] = len as u8;
    (prefix, i + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_all_sizes_come_back() {
        let sizes = [
            0,
            1,
            127,
            128,
            16_383,
            16_384,
            CHUNK - 4,
            CHUNK - 3,
            CHUNK,
            3 * CHUNK + 1,
            5,
            0,
            CHUNK / 2,
            CHUNK / 2,
            CHUNK / 2,
        ];
        let mut arena = Arena::default();
        let strings: Vec<Vec<u8>> = (1u8..)
            .zip(sizes)
            .map(|(fill, size)| vec![fill; size])
            .collect();
        let addresses: Vec<u64> = strings.iter().map(|s| arena.push(s)).collect();
        for (string, &address) in strings.iter().zip(&addresses) {
            assert!(arena.get(address) == string);
        }
        for pair in addresses.windows(2) {
            assert!(pair[0] < pair[1] && pair[1] - pair[0] <= Arena::MAX_DISTANCE);
        }
        assert!(arena.memory_bytes() >= strings.iter().map(Vec::len).sum());
    }
}
