//! Two threads that count together, and lose a count.

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

fn main() {
    raddle::check(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let other = {
            let count = count.clone();
            thread::spawn(move || increment(&count))
        };
        increment(&count);
        other.join().unwrap();
        assert_eq!(count.load(SeqCst), 2);
    });
}

fn increment(count: &AtomicUsize) {
    let seen = count.load(SeqCst);
    count.store(seen + 1, SeqCst);
}
