//! Whether what a lock protects was changed while it was held.

use std::cell::Cell;
use std::mem::MaybeUninit;

use crate::rt::operation::Left;
use crate::rt::{self, mix};

/// Larger values are not looked at.
const MOST_BYTES: usize = 4096;

/// What a guard knows of changes to what it guards.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Whether somebody got at it. A shared reference is enough: the type may have interior mutability.
    possible: Cell<bool>,
    /// What it looked like before that, if that may be asked for.
    before: Cell<Option<u64>>,
}

impl Changes {
    /// Somebody gets at the value.
    pub(super) fn begin<T: ?Sized>(&self, value: &T) {
        if !self.possible.replace(true) && rt::is_polling() {
            self.before.set(fingerprint(value).map(|found| found.hash));
        }
    }

    /// How the value is left.
    pub(super) fn left<T: ?Sized>(&self, value: &T) -> Left {
        if !self.possible.get() {
            return Left::Unchanged;
        }
        let (before, now) = (self.before.get(), || fingerprint(value));
        match before.and_then(|before| now().filter(|now| now.hash == before)) {
            None => Left::Changed,
            Some(same) if same.has_address => Left::Behind,
            Some(_) => Left::Alike,
        }
    }
}

/// What a value looks like.
#[derive(Clone, Copy, Debug)]
struct Fingerprint {
    hash: u64,
    /// Whether one of its words may be an address.
    has_address: bool,
}

/// A hash of the bytes of a value, if it is not too large. What the value points to is not looked at. A change of one word is always noticed, and one of several words
/// unless two hashes of 64 bits are the same by chance.
fn fingerprint<T: ?Sized>(value: &T) -> Option<Fingerprint> {
    const CHUNK: usize = 64;
    let size = size_of_val(value);
    if size > MOST_BYTES {
        return None;
    }
    let bytes = std::ptr::from_ref(value).cast::<MaybeUninit<u8>>();
    let (mut hash, mut has_address) = (0, false);
    let mut chunk = [MaybeUninit::<u8>::uninit(); CHUNK];
    for start in (0..size).step_by(CHUNK) {
        let length = CHUNK.min(size - start);
        // SAFETY: the bytes belong to a value that is borrowed, and nobody else runs. Some may be padding, so they are copied as what may
        // have no value.
        unsafe {
            bytes
                .add(start)
                .copy_to_nonoverlapping(chunk.as_mut_ptr(), length);
        };
        let settled = settled(&mut chunk[..length])?;
        // An address is aligned, since the value is.
        let (addresses, _) = settled.as_chunks();
        let may_be_one = |word: &[u8; size_of::<usize>()]| {
            usize::from_ne_bytes(*word) as u64 >= rt::LEAST_ADDRESS
        };
        has_address |= addresses.iter().any(may_be_one);
        let (words, rest) = settled.as_chunks();
        hash = words
            .iter()
            .map(|word| u64::from_ne_bytes(*word))
            .fold(hash, mix);
        hash = rest.iter().map(|byte| u64::from(*byte)).fold(hash, mix);
    }
    Some(Fingerprint { hash, has_address })
}

/// The bytes that are in memory, padding too. If padding differs from time to time, a change is seen where there is none, which costs some
/// executions.
#[cfg(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "arm",
    target_arch = "aarch64",
    target_arch = "riscv32",
    target_arch = "riscv64",
    target_arch = "loongarch64"
))]
fn settled(bytes: &mut [MaybeUninit<u8>]) -> Option<&[u8]> {
    // SAFETY: the assembly does nothing. But it may, as far as the compiler knows, write to all bytes that it gets a pointer to: after it
    // each of them has a value, which happens to be the one in memory.
    unsafe {
        std::arch::asm!("/* {0} */", in(reg) bytes.as_mut_ptr(), options(nostack, preserves_flags));
        Some(&*(std::ptr::from_ref(bytes) as *const [u8]))
    }
}

/// Other platforms do not say what padding contains: every access counts as a change.
#[cfg(not(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "arm",
    target_arch = "aarch64",
    target_arch = "riscv32",
    target_arch = "riscv64",
    target_arch = "loongarch64"
)))]
fn settled(_: &mut [MaybeUninit<u8>]) -> Option<&[u8]> {
    None
}
