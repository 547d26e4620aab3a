//! Explores a few classic programs, and tells how fast and in how much memory.
//!
//! `cargo run --release -p raddle-memory --example speed`, with the beginning of a name to run only that program.
#![forbid(unsafe_code)]

use std::ops::ControlFlow;
use std::time::Instant;

use raddle_memory::Order::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use raddle_memory::testing::{Halt, Round, Run, Toy};
use raddle_memory::{End, Leaf, Model, Trust};

fn same(threads: u32, body: fn(&mut Run<'_>, u32) -> Result<(), Halt>) -> Toy {
    (0..threads).fold(Toy::default(), |toy, thread| {
        toy.thread(move |t| body(t, thread))
    })
}

/// Each thread takes a lock and increments.
fn counter_with_lock(threads: u32) -> Toy {
    same(threads, |t, _| {
        t.lock(0)?;
        let value = t.load(1, Relaxed)?;
        t.store(1, value + 1, Relaxed)?;
        t.unlock(0)
    })
}

/// Each thread writes its location and reads the next one.
fn store_buffering(threads: u32) -> Toy {
    (0..threads).fold(Toy::default(), |toy, thread| {
        toy.thread(move |t| {
            t.store(thread, 1, Relaxed)?;
            t.load((thread + 1) % threads, Relaxed).map(|_| ())
        })
    })
}

/// The same with fences.
fn store_buffering_with_fences(threads: u32) -> Toy {
    (0..threads).fold(Toy::default(), |toy, thread| {
        toy.thread(move |t| {
            t.store(thread, 1, Relaxed)?;
            t.fence(SeqCst)?;
            t.load((thread + 1) % threads, Relaxed).map(|_| ())
        })
    })
}

/// Readers, and writers of one location.
fn readers_and_writers(threads: u32) -> Toy {
    same(threads, |t, thread| match thread % 2 {
        0 => t.store(0, 1, SeqCst),
        _ => {
            t.load(0, SeqCst)?;
            t.load(0, SeqCst).map(|_| ())
        }
    })
}

fn fetch_add(threads: u32) -> Toy {
    same(threads, |t, _| t.add(0, 1, AcqRel).map(|_| ()))
}

/// A ticket lock whose threads spin.
fn ticket_lock(threads: u32) -> Toy {
    same(threads, |t, _| {
        let ticket = t.add(0, 1, Relaxed)?;
        t.spin(|t| Ok(Round::leave_if(t.load(1, Acquire)? == ticket)))?;
        let value = t.load(2, Relaxed)?;
        t.store(2, value + 1, Relaxed)?;
        t.store(1, ticket + 1, Release)
    })
}

/// Threads that add elements to a stack, by a compare-exchange loop.
fn treiber_stack(threads: u32) -> Toy {
    same(threads, |t, thread| {
        let node = u64::from(thread) + 1;
        t.spin(|t| {
            let head = t.load(0, Relaxed)?;
            t.store(1 + thread, head, Relaxed)?;
            let pushed = t.compare_exchange(0, head, node, Release, Relaxed)?;
            Ok(match pushed {
                Ok(_) => Round::Leave,
                Err(_) => Round::Changed,
            })
        })
    })
}

/// A channel of slots, and a flag that the receiver looks at after each message: few executions, but long ones.
fn long_executions(messages: u32) -> Toy {
    Toy::default()
        .thread(move |t| {
            for message in 1..=messages {
                t.store(message, 1, Release)?;
            }
            t.store(0, 1, Relaxed)
        })
        .thread(move |t| {
            for message in 1..=messages {
                t.wait(message, Acquire, |value, _| value == 1, 0)?;
                t.load(0, Relaxed)?;
            }
            Ok(())
        })
}

type Make = fn(u32) -> Toy;

const PROGRAMS: &[(&str, Make, u32)] = &[
    ("counter with lock", counter_with_lock, 7),
    ("store buffering", store_buffering, 13),
    (
        "store buffering with fences",
        store_buffering_with_fences,
        12,
    ),
    ("readers and writers", readers_and_writers, 6),
    ("fetch_add", fetch_add, 8),
    ("ticket lock", ticket_lock, 5),
    ("Treiber stack", treiber_stack, 4),
    ("long executions", long_executions, 200),
];

/// The most memory that this process has had so far, where the system tells.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes / 1024.0)
}

fn main() {
    let name = std::env::args().nth(1).unwrap_or_default();
    println!(
        "{:<28} {:>3} {:<5} {:>9} {:>9} {:>7} {:>9} {:>9} {:>7} {:>6} {:>8}",
        "program",
        "n",
        "model",
        "complete",
        "blocked",
        "seconds",
        "graphs/s",
        "events/s",
        "longest",
        "copies",
        "peak MiB"
    );
    for (name, make, size) in PROGRAMS
        .iter()
        .filter(|(program, ..)| program.starts_with(&name))
    {
        for model in [Model::Sc, Model::Rc11] {
            let mut trust = Trust::new(model);
            let start = Instant::now();
            let coverage = trust
                .explore(&mut make(*size), &mut |_: &mut Toy, _: &Leaf<'_>| {
                    ControlFlow::Continue(())
                })
                .expect("a program that does the same again");
            assert!(coverage.is_all());
            let seconds = start.elapsed().as_secs_f64();
            let counts = trust.counts();
            // Replays make events too.
            let events = counts.events + counts.replayed;
            println!(
                "{name:<28} {size:>3} {:<5} {:>9} {:>9} {seconds:>7.2} {:>9.0} {:>9.0} {:>7} {:>6} {:>8.1}",
                model.name(),
                counts.of(End::Complete),
                counts.graphs() - counts.of(End::Complete),
                counts.graphs() as f64 / seconds,
                events as f64 / seconds,
                counts.longest,
                counts.deepest,
                peak_memory().unwrap_or(f64::NAN),
            );
        }
    }
}
