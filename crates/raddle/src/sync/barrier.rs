//! [`Barrier`].

use std::fmt;
use std::sync::atomic::Ordering;

use crate::rt::operation::{Operation, Update, Width};
use crate::rt::{self, Home, Id, Kind, Place, here, home};

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
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Whether it was the last one to come.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        if rt::try_current().is_some() && !rt::is_graph() {
            rt::with(rt::State::order_of_arrivals_matters);
        }
        self.0
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult")
            .field("is_leader", &self.is_leader())
            .finish()
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
        let size = this.size;
        if rt::is_graph() {
            return this.wait_in_graph(here());
        }
        let mut passes = Operation::Resume;
        let last = rt::perform(|state| {
            let barrier = state.locate(&this.id, Kind::Barrier, || 0)?;
            let Some(gathering) = state.come_to_barrier(barrier, size) else {
                return Ok(Operation::Arrive { barrier, size });
            };
            passes = Operation::Pass {
                barrier,
                gathering,
                size,
            };
            Ok(Operation::Gather {
                barrier,
                gathering,
                size,
            })
        });
        // Whoever has waited because the order of arrivals matters has made its second step already, and that gives nothing.
        if last == 1 || passes != Operation::Resume {
            rt::perform(|_| Ok(passes));
        }
        BarrierWaitResult(last == 1)
    }

    /// The same where executions are graphs: threads are counted, and the last one lets the others go on. All who ever come are, so that who comes next tells from its
    /// number with whom it waits.
    fn wait_in_graph(&self, place: Place) -> BarrierWaitResult {
        let size = u64::from(self.size.max(1));
        let number = rt::perform_at(place, |state| {
            Ok(Operation::Update {
                at: state.locate(&self.id, Kind::Barrier, || 0)?,
                update: Update::Add(Width(64)),
                operand: 1,
                order: Ordering::AcqRel,
            })
        });
        let is_last = number % size == size - 1;
        if size == 1 {
            return BarrierWaitResult(true);
        }
        rt::perform_at(place, |state| {
            let barrier = state.locate(&self.id, Kind::Barrier, || 0)?;
            let at = state.gathering(barrier, number / size);
            Ok(if is_last {
                Operation::Store {
                    at,
                    value: 1,
                    order: Ordering::Release,
                }
            } else {
                Operation::Await {
                    at,
                    least: 1,
                    order: Ordering::Acquire,
                }
            })
        });
        BarrierWaitResult(is_last)
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}
