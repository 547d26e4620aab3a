//! What is told of executions that are graphs.

use std::path::PathBuf;

use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::*, fence};
use raddle::sync::{Arc, Barrier, Condvar, Mutex, mpsc};
use raddle::{Checker, Failed, Memory, thread};
use serde_json::Value;

/// The first failure under RC11, what each step is said to do, and the steps as JSON. It is the same if it is run again from the string.
fn failing(
    name: &str,
    body: impl Fn() + Send + Sync + Clone + 'static,
) -> (Failed, Vec<String>, Value) {
    let run = |checker: Checker, file: &str| {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(file);
        let failed = checker.report_file(&path).run(body.clone());
        let report = std::fs::read_to_string(&path).unwrap();
        let report: Value = serde_json::from_str(&report).unwrap();
        let trace = report["violations"][0]["trace"].clone();
        (failed.expect_err("it fails"), trace)
    };
    let checker = Checker::new().memory(Memory::Rc11);
    let (failed, trace) = run(checker, &format!("story-{name}.json"));
    let checker = Checker::new().replay(&failed.schedule);
    let (again, retold) = run(checker, &format!("story-{name}-again.json"));
    assert_eq!(again.failure, failed.failure);
    assert_eq!(again.schedule, failed.schedule);
    assert_eq!(retold, trace, "{}\n{}", failed.text, again.text);
    let steps = trace["steps"].as_array().unwrap().iter();
    let said = steps.map(|step| {
        let text = |field: &str| step[field].as_str().unwrap();
        format!("{}: {}", text("thread"), text("action"))
    });
    (failed, said.collect(), trace["steps"].clone())
}

fn message_passing() {
    let shared = Arc::new((AtomicU32::new(0), AtomicBool::new(false)));
    let theirs = shared.clone();
    let child = thread::spawn(move || {
        theirs.0.store(42, Relaxed);
        theirs.1.store(true, Relaxed);
    });
    if shared.1.load(Acquire) {
        assert_eq!(shared.0.load(Relaxed), 42);
    }
    child.join().unwrap();
}

/// A read of the initial value after a write: marked in the lanes, and in the report.
#[test]
fn a_read_that_misses_a_write_says_so() {
    let (failed, said, steps) = failing("message-passing", message_passing);
    assert_eq!(
        said[1..],
        [
            "thread 1: writes 42 to atomic 2 (relaxed)",
            "thread 1: writes 1 to atomic 1 (relaxed)",
            "main: reads atomic 1 = 1 (acquire)",
            "main: reads atomic 2 = 0 (relaxed), not the 42 written at step 2: nothing orders that write before this read",
        ]
    );
    assert_eq!(steps[3]["reads_from"], 3);
    assert_eq!(steps[3]["missed"], Value::Null);
    assert_eq!(steps[4]["reads_from"], Value::Null);
    assert_eq!(steps[4]["missed"], 2);
    let marks = failed.text.lines().filter(|line| line.contains('↖'));
    let marks: Vec<&str> = marks.collect();
    assert_eq!(marks.len(), 2, "{}", failed.text);
    assert_eq!(
        marks[0],
        "↖start: reads the initial value, not the last write"
    );
    assert!(marks[1].contains("↖start"), "{}", failed.text);
}

/// A write is told after one that it comes before: it changes nothing that others find at the end.
#[test]
fn a_write_that_comes_before_an_earlier_one_says_so() {
    let (_, said, steps) = failing("2+2w", || {
        let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let theirs = shared.clone();
        let child = thread::spawn(move || {
            theirs.0.store(1, Relaxed);
            theirs.1.store(2, Relaxed);
        });
        shared.1.store(1, Relaxed);
        shared.0.store(2, Relaxed);
        child.join().unwrap();
        assert!(shared.0.load(Relaxed) != 1 || shared.1.load(Relaxed) != 1);
    });
    assert_eq!(
        said[1..],
        [
            "main: writes 1 to atomic 1 (relaxed)",
            "main: writes 2 to atomic 2 (relaxed)",
            "thread 1: writes 1 to atomic 2 (relaxed)",
            "thread 1: writes 2 to atomic 1 (relaxed), in modification order before the 1 written at step 2",
            "main: joins thread 1",
            "main: reads atomic 2 = 1 (relaxed)",
            "main: reads atomic 1 = 1 (relaxed)",
        ]
    );
    assert_eq!(steps[4]["comes_before"], 2);
    assert_eq!(steps[4]["changes"], serde_json::json!([]));
    assert_eq!(steps[7]["reads_from"], 2);
    assert_eq!(steps[7]["missed"], Value::Null);
}

/// A value that is looked at without a step is the last one in modification order, also when the execution is made again by its moves.
#[test]
fn what_is_left_at_the_end_is_the_same_in_a_replay() {
    failing("last-value", || {
        let mut number = Arc::new(AtomicU32::new(0));
        let other = number.clone();
        let child = thread::spawn(move || {
            other.store(2, Relaxed);
            other.store(3, Relaxed);
        });
        number.store(1, Relaxed);
        child.join().unwrap();
        let number = Arc::get_mut(&mut number).unwrap();
        assert_eq!(*number.get_mut(), 3);
    });
}

#[test]
fn condition_variables_read_well() {
    let (_, said, _) = failing("condvar", || {
        let shared = Arc::new((Mutex::new(0), Condvar::new()));
        let children: Vec<_> = (0..2)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let mut ready = shared.0.lock().unwrap();
                    *ready += 1;
                    drop(shared.1.wait(ready).unwrap());
                })
            })
            .collect();
        raddle::assume(*shared.0.lock().unwrap() == 2);
        shared.1.notify_one();
        shared.1.notify_all();
        for child in children {
            child.join().unwrap();
        }
        panic!("the end");
    });
    let about: Vec<&str> = said
        .iter()
        .map(String::as_str)
        .filter(|said| !said.contains("mutex") && !said.contains("spurious"))
        .collect();
    assert_eq!(
        about[2..],
        [
            "thread 2: waits on condvar 1",
            "thread 1: waits on condvar 1",
            "main: notifies one of condvar 1: one of thread 1, thread 2",
            "main: notifies number 1 of those who wait",
            "main: notifies thread 1 of condvar 1",
            "main: wakes thread 1",
            "main: notifies all of condvar 1: thread 2",
            "main: wakes thread 2",
            "thread 1: was notified",
            "thread 2: was notified",
            "main: joins thread 1",
            "main: joins thread 2",
        ]
    );
}

#[test]
fn barriers_read_well() {
    let (_, said, _) = failing("barrier", || {
        let barrier = Arc::new(Barrier::new(2));
        let other = barrier.clone();
        let child = thread::spawn(move || {
            other.wait();
        });
        barrier.wait();
        child.join().unwrap();
        panic!("the end");
    });
    assert_eq!(
        said[1..],
        [
            "main: arrives at barrier 1, as number 1",
            "thread 1: arrives at barrier 1, as number 2",
            "thread 1: lets the others pass barrier 1",
            "main: passes barrier 1",
            "main: joins thread 1",
        ]
    );
    let (failed, ..) = failing("barrier-deadlock", || Barrier::new(2).wait_alone());
    assert_eq!(
        failed.failure.remarks[0].text,
        "waits for others at barrier 1"
    );
}

trait Alone {
    fn wait_alone(&self);
}

impl Alone for Barrier {
    fn wait_alone(&self) {
        self.wait();
    }
}

#[test]
fn channels_read_well() {
    let (_, said, _) = failing("channel", || {
        let (sender, receiver) = mpsc::sync_channel(1);
        let child = thread::spawn(move || {
            sender.send(1).unwrap();
            sender.send(2).unwrap();
        });
        receiver.recv().unwrap();
        receiver.recv().unwrap();
        assert!(receiver.recv().is_err());
        child.join().unwrap();
        drop(receiver);
        panic!("the end");
    });
    assert_eq!(
        said[1..],
        [
            "thread 1: takes number 1 on channel 1",
            "thread 1: sends message 1 of channel 1",
            "thread 1: takes number 2 on channel 1",
            "main: receives message 1 of channel 1",
            "main: makes room in channel 1",
            "thread 1: finds room in channel 1",
            "thread 1: sends message 2 of channel 1",
            "thread 1: drops the last sender of channel 1",
            "thread 1: looks at channel 1: 2 sent",
            "thread 1: says that channel 1 has no senders",
            "main: receives message 2 of channel 1",
            "main: makes room in channel 1",
            "main: finds that channel 1 has no senders",
            "main: joins thread 1",
            "main: drops the receiver of channel 1",
        ]
    );
    let (failed, ..) = failing("channel-deadlock", || {
        let (sender, receiver) = mpsc::channel::<u32>();
        let child = thread::spawn(move || receiver.recv().is_ok());
        child.join().unwrap();
        drop(sender);
    });
    let remarks = failed.failure.remarks.iter();
    let remarks: Vec<&str> = remarks.map(|remark| remark.text.as_str()).collect();
    assert_eq!(
        remarks,
        [
            "waits for the end of thread 1",
            "waits for message 1 of channel 1"
        ]
    );
}

#[test]
fn a_channel_without_a_buffer_reads_well() {
    let (_, said, _) = failing("rendezvous", || {
        let (sender, receiver) = mpsc::sync_channel(0);
        let child = thread::spawn(move || sender.send(1).unwrap());
        receiver.recv().unwrap();
        child.join().unwrap();
        panic!("the end");
    });
    assert_eq!(
        said[1..7],
        [
            "main: waits for a message of channel 1",
            "thread 1: takes number 1 on channel 1",
            "thread 1: sends message 1 of channel 1",
            "main: receives message 1 of channel 1",
            "main: says that message 1 of channel 1 was received",
            "thread 1: finds that message 1 of channel 1 was received",
        ]
    );
}

#[test]
fn scopes_counts_and_fences_read_well() {
    let (_, said, _) = failing("scope", || {
        let number = Arc::new(5);
        let weak = Arc::downgrade(&number);
        let mut count = 0;
        thread::scope(|scope| {
            let other = number.clone();
            scope.spawn(move || {
                fence(AcqRel);
                drop(other);
            });
            count = Arc::strong_count(&number);
        });
        assert_eq!(count, 2);
        drop(weak);
    });
    assert_eq!(
        said[..7],
        [
            "main: makes a weak reference of arc 1",
            "main: makes a reference of arc 1",
            "main: starts thread 1",
            "thread 1: passes a fence (acq_rel)",
            "thread 1: drops a reference of arc 1",
            "main: reads arc 1: 1 reference, 1 weak",
            "main: joins thread 1",
        ]
    );
}
