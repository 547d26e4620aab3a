//! Whether what a lock protects was changed while it was held.

use std::cell::Cell;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher, Hasher as _};

use crate::rt;

/// Larger values are not looked at.
const MOST_BYTES: usize = 4096;

/// What a guard knows of changes to what it guards.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Whether somebody could have changed it.
    possible: Cell<bool>,
    /// What it looked like before that, if that may be asked for.
    before: Cell<Option<u64>>,
}

impl Changes {
    /// Somebody gets it to change it.
    pub(super) fn begin<T: ?Sized>(&self, value: &T) {
        if !self.possible.replace(true) && rt::is_spinning() {
            self.before.set(fingerprint(value));
        }
    }

    pub(super) fn are_possible(&self) -> bool {
        self.possible.get()
    }

    /// Whether it looks as before, although it could have been changed. What it points to may still have changed.
    pub(super) fn show_nothing<T: ?Sized>(&self, value: &T) -> bool {
        self.before.get().is_some() && self.before.get() == fingerprint(value)
    }
}

/// A hash of the bytes of a value, if it is not too large.
fn fingerprint<T: ?Sized>(value: &T) -> Option<u64> {
    let size = size_of_val(value);
    if size > MOST_BYTES {
        return None;
    }
    let bytes = std::ptr::from_ref(value).cast::<u8>();
    let mut hasher = BuildHasherDefault::<DefaultHasher>::default().build_hasher();
    for index in 0..size {
        // SAFETY: the byte belongs to a value that is borrowed. It may be padding, which has no defined content; a volatile
        // read gives whatever is in memory there. If that differs from time to time, a change is seen where there is none, which
        // costs some executions.
        hasher.write_u8(unsafe { bytes.add(index).read_volatile() });
    }
    Some(hasher.finish())
}
