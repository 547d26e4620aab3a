//! Channels.

mod common;

use common::all;
use raddle::sync::mpsc::{self, TryRecvError, TrySendError};
use raddle::thread;
use std::time::Duration;

#[test]
fn messages_of_a_sender_stay_in_order() {
    let all = all(|| {
        let (sender, receiver) = mpsc::channel();
        let other = sender.clone();
        let one = thread::spawn(move || {
            other.send(1).unwrap();
            other.send(2).unwrap();
        });
        let two = thread::spawn(move || sender.send(3).unwrap());
        let seen: Vec<i32> = receiver.iter().collect();
        one.join().unwrap();
        two.join().unwrap();
        seen
    });
    assert_eq!(
        all.outcomes,
        [vec![1, 2, 3], vec![1, 3, 2], vec![3, 1, 2]].into()
    );
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn trying_to_receive() {
    let all = all(|| {
        let (sender, receiver) = mpsc::channel();
        let child = thread::spawn(move || sender.send(1).unwrap());
        let seen = receiver.try_recv();
        child.join().unwrap();
        let after = (receiver.try_recv(), receiver.try_recv());
        (format!("{seen:?}"), format!("{after:?}"))
    });
    let end = format!("{:?}", Err::<i32, _>(TryRecvError::Disconnected));
    let pair = |one: &str, two: &str| (one.to_owned(), two.to_owned());
    assert_eq!(
        all.outcomes,
        [
            pair("Ok(1)", &format!("({end}, {end})")),
            pair("Err(Empty)", &format!("(Ok(1), {end})")),
        ]
        .into()
    );
}

#[test]
fn receiving_may_take_too_long() {
    let all = all(|| {
        let (sender, receiver) = mpsc::channel();
        let child = thread::spawn(move || sender.send(1).unwrap());
        let seen = receiver.recv_timeout(Duration::from_secs(1));
        child.join().unwrap();
        format!("{seen:?}")
    });
    assert_eq!(
        all.outcomes,
        ["Ok(1)".to_owned(), "Err(Timeout)".to_owned()].into()
    );
}

#[test]
fn a_receiver_that_is_gone_is_noticed() {
    let all = all(|| {
        let (sender, receiver) = mpsc::channel();
        let child = thread::spawn(move || sender.send(1).is_ok());
        drop(receiver);
        child.join().unwrap()
    });
    assert_eq!(all.outcomes, [false, true].into());
}

#[test]
fn a_receiver_without_senders_does_not_wait() {
    let all = all(|| {
        let (sender, receiver) = mpsc::channel::<u8>();
        thread::spawn(move || drop(sender));
        receiver.recv().is_err()
    });
    assert_eq!(all.outcomes, [true].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn waiting_for_oneself_is_a_deadlock() {
    let all = all(|| {
        let (_sender, receiver) = mpsc::channel::<u8>();
        receiver.recv().is_err()
    });
    assert_eq!(all.failures, [("Deadlock".to_owned(), 1)].into());
}

#[test]
fn a_bounded_channel_makes_senders_wait() {
    let all = all(|| {
        let (sender, receiver) = mpsc::sync_channel(1);
        sender.send(1).unwrap();
        let full = matches!(sender.try_send(9), Err(TrySendError::Full(9)));
        let child = thread::spawn(move || {
            sender.send(2).unwrap();
            sender.try_send(3).is_ok()
        });
        let mut seen = vec![receiver.recv().unwrap(), receiver.recv().unwrap()];
        let third = child.join().unwrap();
        seen.extend(receiver.iter());
        (full, third, seen)
    });
    assert_eq!(
        all.outcomes,
        [(true, false, vec![1, 2]), (true, true, vec![1, 2, 3])].into()
    );
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn without_a_buffer_the_sender_waits_for_the_receiver() {
    let all = all(|| {
        let (sender, receiver) = mpsc::sync_channel(0);
        let taken = std::sync::Arc::new(raddle::sync::atomic::AtomicBool::new(false));
        let taken2 = taken.clone();
        let child = thread::spawn(move || {
            sender.send(1).unwrap();
            taken2.load(raddle::sync::atomic::Ordering::SeqCst)
        });
        taken.store(true, raddle::sync::atomic::Ordering::SeqCst);
        let value = receiver.recv().unwrap();
        (value, child.join().unwrap())
    });
    assert_eq!(all.outcomes, [(1, true)].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn without_a_buffer_trying_needs_a_receiver_that_waits() {
    let all = all(|| {
        let (sender, receiver) = mpsc::sync_channel(0);
        let child = thread::spawn(move || sender.try_send(1).is_ok());
        let received = receiver.recv().is_ok();
        (received, child.join().unwrap())
    });
    assert_eq!(all.outcomes, [(false, false), (true, true)].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}

#[test]
fn without_a_buffer_a_message_comes_back() {
    let all = all(|| {
        let (sender, receiver) = mpsc::sync_channel(0);
        let child = thread::spawn(move || sender.send(7).map_err(|error| error.0));
        drop(receiver);
        child.join().unwrap()
    });
    assert_eq!(all.outcomes, [Err(7)].into());
    assert!(all.failures.is_empty(), "{:?}", all.messages);
}
