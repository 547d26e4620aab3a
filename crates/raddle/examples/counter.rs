//! Two threads count to two, or so they think: `cargo run -p raddle --example counter`. It prints the execution that
//! goes wrong, step by step, and ends with
//!
//! ```text
//! error: main panicked: assertion `left == right` failed left: 1 right: 2
//!   --> crates/raddle/examples/counter.rs:28:9 in main
//!    │  assert_eq!(count.load(SeqCst), 2);
//!    ╰─ panicked: assertion `left == right` failed left: 1 right: 2
//!
//! found in execution 2; to run it again: RADDLE_REPLAY=0*3,1*4,0*3
//! ```

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::thread;

fn main() {
    raddle::check(|| {
        let count = Arc::new(AtomicU32::new(0));
        let increment = |count: &AtomicU32| {
            let now = count.load(SeqCst);
            count.store(now + 1, SeqCst); // `count.fetch_add(1, SeqCst)` would be right
        };
        let theirs = count.clone();
        let child = thread::spawn(move || increment(&theirs));
        increment(&count);
        child.join().unwrap();
        assert_eq!(count.load(SeqCst), 2);
    });
}
