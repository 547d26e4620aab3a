//! A sequence lock: a writer makes the version odd while it writes; readers try again if the version was odd, or
//! has changed meanwhile.
//!
//! The bug: readers do not mind an odd version. One that begins and ends in the midst of a write reads half of it.

use raddle::sync::atomic::{AtomicU32, Ordering::*, fence};

/// Two numbers that are read and written together.
#[derive(Debug, Default)]
pub struct SeqLock<const BUGGY: bool> {
    version: AtomicU32,
    pair: [AtomicU32; 2],
}

impl<const BUGGY: bool> SeqLock<BUGGY> {
    /// Two zeros.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes both. There is one writer.
    pub fn write(&self, pair: [u32; 2]) {
        let version = self.version.load(Relaxed);
        self.version.store(version + 1, Relaxed);
        fence(Release);
        self.pair[0].store(pair[0], Relaxed);
        self.pair[1].store(pair[1], Relaxed);
        self.version.store(version + 2, Release);
    }

    /// Reads both.
    pub fn read(&self) -> [u32; 2] {
        loop {
            let before = self.version.load(Acquire);
            let pair = [self.pair[0].load(Relaxed), self.pair[1].load(Relaxed)];
            fence(Acquire);
            let after = self.version.load(Relaxed);
            if before == after && (BUGGY || before.is_multiple_of(2)) {
                return pair;
            }
            raddle::hint::spin_loop();
        }
    }
}
