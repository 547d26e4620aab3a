//! Failures, wherever a run comes to them.

use raddle::cell::UnsafeCell;
use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicU32, Ordering::*};
use raddle::{Checker, FailureKind, Memory, thread};

struct Shared {
    turns: AtomicU32,
    cell: UnsafeCell<u32>,
}

// SAFETY: that threads are not ordered is what is found.
unsafe impl Sync for Shared {}

/// The race is in the graph in which the other thread comes first, and a run of that graph comes to it before the update of main, whose read it has revisited.
#[test]
fn a_race_before_the_read_that_was_revisited() {
    let failed = Checker::new().memory(Memory::Rc11).run(|| {
        let shared = Arc::new(Shared {
            turns: AtomicU32::new(0),
            cell: UnsafeCell::new(0),
        });
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            if theirs.turns.fetch_add(1, Relaxed) == 0 {
                // SAFETY: as above.
                theirs.cell.with_mut(|place| unsafe { *place = 1 });
            }
        });
        // SAFETY: as above.
        shared.cell.with(|value| unsafe { *value });
        shared.turns.fetch_add(1, Relaxed);
        other.join().unwrap();
    });
    let failed = failed.expect_err("there is a race");
    assert_eq!(
        failed.failure.kind,
        FailureKind::DataRace,
        "{}",
        failed.text
    );
}
