//! Programs with published counts of graphs: complete ones, and those that are blocked.
//!
//! Those with a dot or a plus in their name are as in the tests of these names of GenMC, whose counts are in the comments where they differ.

use raddle_memory::Model::{self, Genmc, Ra, Rc11, Sc};
use raddle_memory::Order::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use raddle_memory::testing::{Halt, Run, Toy};
use raddle_memory::{End, Trust};

use crate::compare::{Outcome, compare, explore};

/// Locations.
const X: u32 = 0;
const Y: u32 = 1;

type Thread = fn(&mut Run<'_>) -> Result<(), Halt>;

fn toy(threads: &[Thread]) -> Toy {
    threads
        .iter()
        .fold(Toy::default(), |toy, &body| toy.thread(body))
}

/// Asserts how many complete graphs a program has, and that enumeration agrees.
fn graphs(threads: &[Thread], expected: &[(Model, u64)]) {
    for &(model, count) in expected {
        let mut toy = toy(threads);
        let explored = explore(&mut toy, &mut Trust::new(model));
        assert_eq!(explored.numbers(), (count, 0), "{model:?}");
        compare(&mut toy, model, 1, true);
    }
}

/// Whether the threads can tell this.
fn allows(threads: &[Thread], model: Model, told: &[&[u64]]) -> bool {
    let explored = explore(&mut toy(threads), &mut Trust::new(model));
    let told: Outcome = (
        told.iter().map(|told| told.to_vec()).collect(),
        End::Complete,
    );
    explored.outcomes.contains(&told)
}

#[test]
fn store_buffering() {
    let relaxed: [Thread; 2] = [
        |t| {
            t.store(X, 1, Relaxed)?;
            let y = t.load(Y, Relaxed)?;
            t.see(y);
            Ok(())
        },
        |t| {
            t.store(Y, 1, Relaxed)?;
            let x = t.load(X, Relaxed)?;
            t.see(x);
            Ok(())
        },
    ];
    graphs(&relaxed, &[(Rc11, 4), (Ra, 4), (Sc, 3)]);
    assert!(allows(&relaxed, Rc11, &[&[0], &[0]]));
    assert!(!allows(&relaxed, Sc, &[&[0], &[0]]));
    let seq_cst: [Thread; 2] = [
        |t| {
            t.store(X, 1, SeqCst)?;
            t.load(Y, SeqCst).map(|_| ())
        },
        |t| {
            t.store(Y, 1, SeqCst)?;
            t.load(X, SeqCst).map(|_| ())
        },
    ];
    graphs(&seq_cst, &[(Rc11, 3), (Ra, 4), (Sc, 3)]);
    let fences: [Thread; 2] = [
        |t| {
            t.store(X, 1, Relaxed)?;
            t.fence(SeqCst)?;
            t.load(Y, Relaxed).map(|_| ())
        },
        |t| {
            t.store(Y, 1, Relaxed)?;
            t.fence(SeqCst)?;
            t.load(X, Relaxed).map(|_| ())
        },
    ];
    graphs(&fences, &[(Rc11, 3), (Ra, 4), (Sc, 3)]);
}

#[test]
fn message_passing() {
    let relaxed: [Thread; 2] = [
        |t| {
            t.store(X, 1, Relaxed)?;
            t.store(Y, 1, Relaxed)
        },
        |t| {
            t.load(Y, Relaxed)?;
            t.load(X, Relaxed).map(|_| ())
        },
    ];
    graphs(&relaxed, &[(Rc11, 4), (Sc, 3)]);
    let synchronised: [Thread; 2] = [
        |t| {
            t.store(X, 1, Relaxed)?;
            t.store(Y, 1, Release)
        },
        |t| {
            t.load(Y, Acquire)?;
            t.load(X, Relaxed).map(|_| ())
        },
    ];
    graphs(&synchronised, &[(Rc11, 3), (Ra, 3), (Sc, 3)]);
    let fences: [Thread; 2] = [
        |t| {
            t.store(X, 1, Relaxed)?;
            t.fence(Release)?;
            t.store(Y, 1, Relaxed)
        },
        |t| {
            t.load(Y, Relaxed)?;
            t.fence(Acquire)?;
            t.load(X, Relaxed).map(|_| ())
        },
    ];
    graphs(&fences, &[(Rc11, 3)]);
    // MP+rels+acq. A later relaxed write of the same thread is not in the release sequence since C++20; it was before, with 3 graphs.
    let sequence: [Thread; 2] = [
        |t| {
            t.store(X, 1, Relaxed)?;
            t.store(Y, 0, Release)?;
            t.store(Y, 1, Relaxed)
        },
        |t| {
            if t.load(Y, Acquire)? == 1 {
                t.load(X, Relaxed)?;
            }
            Ok(())
        },
    ];
    graphs(&sequence, &[(Rc11, 4)]);
}

#[test]
fn load_buffering_is_left_out() {
    let threads: [Thread; 2] = [
        |t| {
            t.load(X, Relaxed)?;
            t.store(Y, 1, Relaxed)
        },
        |t| {
            t.load(Y, Relaxed)?;
            t.store(X, 1, Relaxed)
        },
    ];
    graphs(&threads, &[(Rc11, 3), (Ra, 3), (Sc, 3)]);
}

#[test]
fn independent_reads_of_independent_writes() {
    let relaxed: [Thread; 4] = [
        |t| t.store(X, 1, Relaxed),
        |t| t.store(Y, 1, Relaxed),
        |t| {
            t.load(X, Relaxed)?;
            t.load(Y, Relaxed).map(|_| ())
        },
        |t| {
            t.load(Y, Relaxed)?;
            t.load(X, Relaxed).map(|_| ())
        },
    ];
    graphs(&relaxed, &[(Rc11, 16), (Sc, 15)]);
    let acquire: [Thread; 4] = [
        |t| t.store(X, 1, SeqCst),
        |t| t.store(Y, 1, SeqCst),
        |t| {
            t.load(X, Acquire)?;
            t.load(Y, Acquire).map(|_| ())
        },
        |t| {
            t.load(Y, Acquire)?;
            t.load(X, Acquire).map(|_| ())
        },
    ];
    graphs(&acquire, &[(Rc11, 16)]);
    let seq_cst: [Thread; 4] = [
        |t| t.store(X, 1, SeqCst),
        |t| t.store(Y, 1, SeqCst),
        |t| {
            t.load(X, SeqCst)?;
            t.load(Y, SeqCst).map(|_| ())
        },
        |t| {
            t.load(Y, SeqCst)?;
            t.load(X, SeqCst).map(|_| ())
        },
    ];
    graphs(&seq_cst, &[(Rc11, 15)]);
}

#[test]
fn coherence() {
    // 2+2W
    let two_and_two: [Thread; 2] = [
        |t| {
            t.store(X, 1, Relaxed)?;
            t.store(Y, 2, Relaxed)
        },
        |t| {
            t.store(Y, 1, Relaxed)?;
            t.store(X, 2, Relaxed)
        },
    ];
    graphs(&two_and_two, &[(Rc11, 4), (Sc, 3)]);
    // Two reads read 0, 1 and 2 in this order.
    let read_read: [Thread; 2] = [
        |t| {
            t.store(X, 1, Release)?;
            t.store(X, 2, Release)
        },
        |t| {
            t.load(X, Acquire)?;
            t.load(X, Acquire).map(|_| ())
        },
    ];
    graphs(&read_read, &[(Rc11, 6), (Sc, 6)]);
    // Two orders of the writes, six pairs, three values.
    let writers: [Thread; 4] = [
        |t| t.store(X, 1, Release),
        |t| t.store(X, 2, Release),
        |t| {
            t.load(X, Acquire)?;
            t.load(X, Acquire).map(|_| ())
        },
        |t| t.load(X, Acquire).map(|_| ()),
    ];
    graphs(&writers, &[(Rc11, 36), (Sc, 36)]);
}

#[test]
fn write_to_read_causality() {
    // WRC and ISA2: an acquire reads what a relaxed write passes on, or a release.
    let relaxed: [Thread; 3] = [
        |t| t.store(X, 1, Relaxed),
        |t| {
            let x = t.load(X, Relaxed)?;
            t.see(x);
            t.store(Y, 1, Release)
        },
        |t| {
            let (y, x) = (t.load(Y, Acquire)?, t.load(X, Relaxed)?);
            t.see(y);
            t.see(x);
            Ok(())
        },
    ];
    graphs(&relaxed, &[(Rc11, 7), (Sc, 7)]);
    // What the second thread has read happens before its release, so the third one cannot read something older.
    assert!(!allows(&relaxed, Rc11, &[&[], &[1], &[1, 0]]));
    const Z: u32 = 2;
    let isa2: [Thread; 3] = [
        |t| {
            t.store(X, 1, Relaxed)?;
            t.store(Y, 1, Release)
        },
        |t| {
            let y = t.load(Y, Acquire)?;
            t.see(y);
            t.store(Z, 1, Release)
        },
        |t| {
            let (z, x) = (t.load(Z, Acquire)?, t.load(X, Relaxed)?);
            t.see(z);
            t.see(x);
            Ok(())
        },
    ];
    graphs(&isa2, &[(Rc11, 7), (Sc, 7)]);
    assert!(!allows(&isa2, Rc11, &[&[], &[1], &[1, 0]]));
}

#[test]
fn release_sequences() {
    // MPU2+rels+acq
    let updates: [Thread; 4] = [
        |t| {
            t.store(X, 1, Relaxed)?;
            t.store(Y, 0, Release)?;
            t.store(Y, 1, Relaxed)
        },
        |t| t.compare_exchange(Y, 2, 3, Relaxed, Relaxed).map(|_| ()),
        |t| t.compare_exchange(Y, 1, 2, Relaxed, Relaxed).map(|_| ()),
        |t| match t.load(Y, Acquire)? {
            3.. => t.store(X, 2, Relaxed),
            _ => Ok(()),
        },
    ];
    graphs(&updates, &[(Rc11, 36)]);
    // relseq
    let swap: [Thread; 3] = [
        |t| {
            t.store(X, 1, Relaxed)?;
            t.store(Y, 1, Release)?;
            t.store(Y, 2, Relaxed)
        },
        |t| t.swap(Y, 3, Relaxed).map(|_| ()),
        |t| {
            t.load(Y, Relaxed)?;
            t.fence(AcqRel)?;
            t.load(X, Relaxed).map(|_| ())
        },
    ];
    graphs(&swap, &[(Rc11, 20)]);
}

#[test]
fn the_order_of_seq_cst_events() {
    // WWmerge1
    let merge: [Thread; 3] = [
        |t| {
            t.store(X, 1, SeqCst)?;
            t.store(X, 2, SeqCst)
        },
        |t| {
            t.load(X, Acquire)?;
            t.load(Y, SeqCst).map(|_| ())
        },
        |t| {
            t.store(Y, 1, SeqCst)?;
            t.load(X, SeqCst).map(|_| ())
        },
    ];
    graphs(&merge, &[(Rc11, 18), (Genmc, 17)]);
    // Z6.U
    let update: [Thread; 3] = [
        |t| {
            t.store(X, 1, SeqCst)?;
            t.store(Y, 1, Release)
        },
        |t| {
            t.add(Y, 1, SeqCst)?;
            t.load(Y, Relaxed).map(|_| ())
        },
        |t| {
            t.store(Y, 3, SeqCst)?;
            t.load(X, SeqCst).map(|_| ())
        },
    ];
    graphs(&update, &[(Rc11, 24), (Genmc, 22)]);
    // SB+rfis. x86 forwards from the store buffer; C++20 to the letter has 3.
    let forwarded: [Thread; 2] = [
        |t| {
            t.store(X, 1, Relaxed)?;
            t.load(X, SeqCst)?;
            t.load(Y, SeqCst).map(|_| ())
        },
        |t| {
            t.store(Y, 1, Relaxed)?;
            t.load(Y, SeqCst)?;
            t.load(X, SeqCst).map(|_| ())
        },
    ];
    graphs(&forwarded, &[(Rc11, 4), (Genmc, 4), (Sc, 3)]);
    // n6, which C++20 to the letter forbids, and x86 does.
    let n6: [Thread; 2] = [
        |t| {
            t.store(X, 1, SeqCst)?;
            t.store(Y, 1, SeqCst)
        },
        |t| {
            t.store(Y, 2, Relaxed)?;
            let (y, x) = (t.load(Y, SeqCst)?, t.load(X, SeqCst)?);
            t.see(y);
            t.see(x);
            Ok(())
        },
    ];
    assert!(allows(&n6, Rc11, &[&[], &[2, 0]]));
}

#[test]
fn happens_before_between_seq_cst_events() {
    const Z: u32 = 2;
    // W+RWC: the first write comes before the read of Z by what is neither a SeqCst event nor in one thread.
    let passed_on: [Thread; 3] = [
        |t| {
            t.store(X, 1, SeqCst)?;
            t.store(Y, 1, Release)
        },
        |t| {
            let (y, z) = (t.load(Y, Acquire)?, t.load(Z, SeqCst)?);
            t.see(y);
            t.see(z);
            Ok(())
        },
        |t| {
            t.store(Z, 1, SeqCst)?;
            let x = t.load(X, SeqCst)?;
            t.see(x);
            Ok(())
        },
    ];
    graphs(&passed_on, &[(Rc11, 7), (Ra, 8), (Sc, 7)]);
    assert!(!allows(&passed_on, Rc11, &[&[], &[1, 0], &[0]]));
    assert!(allows(&passed_on, Ra, &[&[], &[1, 0], &[0]]));
    // IRIW with fences between the reads, which see the writes in different orders.
    let fences: [Thread; 4] = [
        |t| t.store(X, 1, Relaxed),
        |t| t.store(Y, 1, Relaxed),
        |t| {
            t.load(X, Relaxed)?;
            t.fence(SeqCst)?;
            t.load(Y, Relaxed).map(|_| ())
        },
        |t| {
            t.load(Y, Relaxed)?;
            t.fence(SeqCst)?;
            t.load(X, Relaxed).map(|_| ())
        },
    ];
    graphs(&fences, &[(Rc11, 15), (Ra, 16), (Sc, 15)]);
}
