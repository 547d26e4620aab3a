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

/// Leaves out executions: those in which the condition is `false` do not count.
///
/// The thread stops there. The execution does not fail if others wait for it, or if what was not joined has panicked, or if something is
/// not dropped; other threads go on, and it is a failure if one of them fails by itself. All other
/// executions are made. What threads own that have stopped, or that wait for them, stays in memory: no code may run that relies on an
/// assumption that does not hold. A check with very many of them gives up, and says so.
///
/// [`Report::cut`](crate::Report::cut) says how many did not count; a check in which none does says so, and is not
/// complete.
///
/// ```
/// use raddle::sync::Arc;
/// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
///
/// let report = raddle::Checker::new().check(|| {
///     let number = Arc::new(AtomicU32::new(0));
///     let other = number.clone();
///     let child = raddle::thread::spawn(move || other.store(2, SeqCst));
///     let seen = number.load(SeqCst);
///     raddle::assume(seen > 0);
///     assert_eq!(10 / seen, 5);
///     child.join().unwrap();
/// });
/// assert!(report.complete);
/// assert_eq!((report.executions, report.cut), (2, 1));
/// ```
#[track_caller]
pub fn assume(condition: bool) {
    if !condition {
        rt::perform(|_| Ok(Operation::Stop));
    }
}
