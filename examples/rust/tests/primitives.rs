//! How many executions each primitive takes under sequential consistency: one for each happens-before class, and one for each graph.

use raddle::{Checker, Memory};
use raddle_examples::primitives::PRIMITIVES;

/// By program: how many there are of both.
const EXPECTED: &[(&str, u64, u64)] = &[
    ("mutex, 2 threads", 2, 2),
    ("mutex, 3 threads", 6, 6),
    ("mutex, 4 threads", 24, 24),
    ("mutex, 2 threads that try", 4, 4),
    ("mutexes, nested, 3 threads", 6, 6),
    // Of a writer and k readers there are 2^k classes. A graph has one location for the lock, whose updates are ordered.
    ("rwlock, 1 reader, 1 writer", 2, 2),
    ("rwlock, 2 readers, 1 writer", 4, 14),
    ("rwlock, 3 readers, 1 writer", 8, 216),
    ("rwlock, 4 readers, 1 writer", 16, 5_976),
    ("rwlock, 2 readers, 2 writers", 18, 48),
    ("condvar, 1 waits", 2, 2),
    ("condvar, 2 wait", 10, 10),
    // The arrivals of n threads are ordered: n! for each generation.
    ("barrier, 3 threads", 1, 6),
    ("barrier, 3 threads, twice", 1, 36),
    ("barrier, 3 threads, who leads", 6, 6),
    ("once, 2 threads", 2, 2),
    ("once, 3 threads", 3, 3),
    ("once, 4 threads", 4, 4),
    ("once lock, 3 threads", 3, 3),
    ("park, 1 unparks", 1, 1),
    ("park, 2 unpark", 4, 4),
    ("park, 3 unpark", 18, 18),
    // The clones and drops of senders are ordered.
    ("channel, 1 sends 3", 1, 1),
    ("channel, 3 send 1", 6, 57),
    ("channel, 2 send 2", 6, 13),
    ("channel with room for 2, 1 sends 3", 1, 1),
    ("channel with room for 1, 2 send 2", 6, 12),
    ("channel without room, 1 sends 3", 1, 1),
    // As those of references are, if somebody looks at their number.
    ("Arc, 3 drop", 1, 1),
    ("Arc, 2 count and drop", 5, 8),
    ("Arc, 3 count and drop", 63, 174),
    ("scope, 3 threads", 6, 6),
    ("thread-locals, 3 threads", 6, 6),
];

#[test]
fn executions_of_primitives() {
    let found = PRIMITIVES.iter().map(|primitive| {
        let [classes, graphs] = ["optimal", "graphs"].map(|explorer| {
            let check = Checker::new().memory(Memory::Sc).explorer(explorer);
            let report = check.spurious_wakeups(0).check(primitive.run);
            assert!(report.exhausted, "{explorer}: {:?}", report.assumptions);
            report.executions
        });
        (primitive.name, classes, graphs)
    });
    assert_eq!(found.collect::<Vec<_>>(), EXPECTED);
}
