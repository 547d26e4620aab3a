//! [`Barrier`].

use std::fmt;

use crate::rt::{self, Home, Id, Kind, home, operation::Operation};

/// Lets threads wait for each other: as `std::sync::Barrier`.
///
/// ```
/// use raddle::sync::{Arc, Barrier};
///
/// raddle::check(|| {
///     let barrier = Arc::new(Barrier::new(2));
///     let other = barrier.clone();
///     let child = raddle::thread::spawn(move || other.wait().is_leader());
///     assert_ne!(barrier.wait().is_leader(), child.join().unwrap());
/// });
/// ```
pub struct Barrier {
    id: Id,
    size: u32,
}

// SAFETY: it consists of plain values.
unsafe impl Home for Barrier {
    fn id(&self) -> &Id {
        &self.id
    }
}

/// What a thread gets that has waited: as `std::sync::BarrierWaitResult`.
#[derive(Debug)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Whether it was the last one to come.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    /// A barrier for this many threads.
    #[must_use]
    pub const fn new(n: usize) -> Self {
        assert!(n <= u32::MAX as usize, "too many threads for a barrier");
        Self {
            id: Id::new(),
            size: n as u32,
        }
    }

    /// Waits until all have come.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let this = home(self);
        // A thread that was woken made another step since, and that gives nothing.
        let last = rt::perform(|state| {
            Ok(Operation::Arrive {
                barrier: state.locate(&this.id, Kind::Barrier, || 0)?,
                size: this.size,
            })
        });
        BarrierWaitResult(last == 1)
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}
