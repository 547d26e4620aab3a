//! Hashes. No answer of an exact store depends on how good they are; that a state has one hash, it does.

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The two halves of a product, on each other.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

/// Mixes the bits of a word.
#[must_use]
#[inline]
pub(crate) fn mix(word: u64) -> u64 {
    fold(word ^ ODD, 0xd6e8_feb8_6659_fd93)
}

/// The upper half of a hash, which is that of the better bits.
#[must_use]
#[inline]
pub(crate) fn upper(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// The keys of places. The exact numbers do not matter; they look random, and each is odd.
const KEYS: [u64; 16] = {
    let mut keys = [0; 16];
    let mut place = 0;
    while place < keys.len() {
        keys[place] = scramble((place as u64 + 1).wrapping_mul(ODD)) | 1;
        place += 1;
    }
    keys
};

/// The hash of words: that of a sum over pairs of them, so that they are hashed independently of each other, two by one
/// multiplication. Each place has its own key: otherwise small numbers at different places would have sums like small numbers at others.
#[must_use]
#[inline]
pub fn hash_words(words: &[u64]) -> u64 {
    let mut sum = words.len() as u64;
    let mut further = 0_u64;
    for sixteen in words.chunks(KEYS.len()) {
        let (pairs, rest) = sixteen.as_chunks::<2>();
        for ([a, b], [key, other]) in pairs.iter().zip(KEYS.as_chunks::<2>().0) {
            sum = sum.wrapping_add(fold(a ^ key ^ further, b ^ other));
        }
        if let [a] = rest {
            sum = sum.wrapping_add(fold(a ^ KEYS[0] ^ further, KEYS[15]));
        }
        further = further.wrapping_add(ODD);
    }
    mix(sum)
}

/// A hash of words that stands for them: of different words, two have the same with a probability of `2^-64`, about. It is never zero.
///
/// Each word is mixed by a bijection, so those that differ in one word differ.
#[must_use]
#[inline]
pub(crate) fn fingerprint(words: &[u64]) -> u64 {
    scramble(sum(words, 0)).max(1)
}

/// The same of `2^-128`, in two words: the first is that fingerprint, the second has other keys.
#[must_use]
#[inline]
pub(crate) fn wide_fingerprint(words: &[u64]) -> [u64; 2] {
    [fingerprint(words), scramble(sum(words, OTHER_KEYS))]
}

/// What makes the keys of places others.
const OTHER_KEYS: u64 = 0x5851_f42d_4c95_7f2d;

/// The sum of words, each of which is mixed with the key of its place.
#[inline]
fn sum(words: &[u64], keys: u64) -> u64 {
    let mut sum = words.len() as u64;
    for (place, &word) in words.iter().enumerate() {
        let key = (place as u64 + 1).wrapping_mul(ODD) ^ keys;
        sum = sum.wrapping_add(scramble(word ^ scramble(key)));
    }
    sum
}

/// A bijection that spreads every bit over all.
#[inline]
const fn scramble(mut word: u64) -> u64 {
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// All states of some words, each below a bound, shifted.
    fn dense(words: usize, bound: u64, shift: u32) -> Vec<Vec<u64>> {
        let mut states = vec![vec![0; words]];
        for place in 0..words {
            let shorter = std::mem::take(&mut states);
            for state in shorter {
                states.extend((0..bound).map(|value| {
                    let mut state = state.clone();
                    state[place] = value << shift;
                    state
                }));
            }
        }
        states
    }

    /// Sums must not collide more often than random numbers: in the bits that are kept of a hash, and in lines.
    #[test]
    fn dense_small_states_have_hashes_like_random_ones() {
        for (words, bound) in [(1, 1 << 18), (2, 512), (3, 64), (6, 8), (9, 4), (18, 2)] {
            for shift in [0, 8, 16, 32, 40, 46] {
                let states = dense(words, bound, shift);
                let hashes: Vec<u64> = states.iter().map(|state| hash_words(state)).collect();
                let all = hashes.len();
                let tags: HashSet<u32> = hashes.iter().map(|hash| upper(*hash)).collect();
                // Eight are expected.
                let alike = all - tags.len();
                let names: HashSet<u64> = states.iter().map(|s| fingerprint(s)).collect();
                assert_eq!(names.len(), all);
                // The halves of a wide one say nothing of each other: some bits of both are as good as bits of one.
                let halves = states.iter().map(|state| wide_fingerprint(state));
                let halves = halves.map(|[one, other]| one >> 48 << 16 | other & 0xffff);
                let alike_in_halves = all - halves.collect::<HashSet<_>>().len();
                assert!(alike_in_halves < 40, "{alike_in_halves}");
                assert!(
                    alike < 40,
                    "{words} of {bound} << {shift}: {alike} of {all}"
                );
                // Lines of eight that are full at 5.5 on average: about one entry of 20 is too much.
                let lines = all * 2 / 11;
                let mut counts = vec![0_u32; lines];
                for hash in &hashes {
                    counts[((u64::from(upper(*hash)) * lines as u64) >> 32) as usize] += 1;
                }
                let over: u32 = counts.iter().map(|count| count.saturating_sub(8)).sum();
                assert!(
                    over < all as u32 / 15,
                    "{words} of {bound} << {shift}: {over} of {all}"
                );
            }
        }
    }

    #[test]
    fn each_word_and_the_number_of_words_matter() {
        let mut hashes = HashSet::new();
        for length in 0..40 {
            let mut words = vec![0; length];
            assert!(hashes.insert(hash_words(&words)));
            for place in 0..length {
                words[place] = 1;
                assert!(hashes.insert(hash_words(&words)), "{place} of {length}");
                words[place] = 0;
            }
        }
    }
}
