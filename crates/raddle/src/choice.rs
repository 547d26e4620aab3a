//! Values that are not determined.

use std::ops::Range;

use crate::rt::{
    self,
    operation::{Operation, Reason},
};

/// One of the numbers of a range: each is tried.
///
/// ```
/// let seen = std::sync::Mutex::new(std::collections::BTreeSet::new());
/// let seen = std::sync::Arc::new(seen);
/// let all = seen.clone();
/// raddle::check(move || {
///     all.lock().unwrap().insert(raddle::choose(3..6));
/// });
/// assert_eq!(*seen.lock().unwrap(), [3, 4, 5].into());
/// ```
///
/// # Panics
///
/// If the range is empty or has more than `u32::MAX` numbers.
#[track_caller]
#[must_use]
pub fn choose(range: Range<usize>) -> usize {
    let alternatives = u32::try_from(range.len()).expect("too many numbers to choose from");
    assert!(alternatives > 0, "nothing to choose from");
    let chosen = rt::perform(|_| {
        Ok(Operation::Choose {
            alternatives,
            reason: Reason::Asked,
        })
    });
    range.start + chosen as usize
}

/// `false` or `true`: both are tried.
#[track_caller]
#[must_use]
pub fn any_bool() -> bool {
    choose(0..2) == 1
}
