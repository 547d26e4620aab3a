//! Having memory brought nearer before it is needed.

/// Has what is there brought into the cache. It changes nothing else.
#[inline]
#[allow(unsafe_code)]
pub(crate) fn prefetch<T>(what: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction is a hint. It reads nothing that the program could see, and does not
    // fault whatever the address; this one is that of a reference.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(what).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = what;
}
