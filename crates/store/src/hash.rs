//! Hashes. No answer of an exact store depends on them.

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mixes the bits of a word.
#[must_use]
#[inline]
pub(crate) fn mix(word: u64) -> u64 {
    let product = u128::from(word ^ ODD) * u128::from(0xd6e8_feb8_6659_fd93_u64);
    (product as u64) ^ (product >> 64) as u64
}

/// The upper half of a hash, which is that of the better bits.
#[must_use]
#[inline]
pub(crate) fn upper(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// The hash of words: a sum over all of them and their places, so that they are hashed independently of
/// each other.
#[must_use]
#[inline]
pub fn hash_words(words: &[u64]) -> u64 {
    let mut sum = words.len() as u64;
    let mut salt = ODD;
    for &word in words {
        sum = sum.wrapping_add(mix(word.wrapping_add(salt)));
        salt = salt.wrapping_add(0xa24b_aed4_963e_e407);
    }
    mix(sum)
}
