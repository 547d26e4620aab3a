//! Checks each structure with its bug and without.

mod common;

use std::collections::BTreeSet;

use common::{find, verify};
use raddle::FailureKind::{
    DataRace, Deadlock, LiveLock, Panic, UnsynchronisedPublication, UseAfterFree,
};
use raddle::future::block_on;
use raddle::sync::Arc;
use raddle::thread;
use raddle_examples::async_channel::channel;
use raddle_examples::bounded_queue::BoundedQueue;
use raddle_examples::deque::{Deque, Stolen};
use raddle_examples::hazard::Shared;
use raddle_examples::queue::Queue;
use raddle_examples::seqlock::SeqLock;
use raddle_examples::stack::Stack;

/// An owner and a thief: each item is taken once.
fn deque<const BUGGY: bool>() {
    let deque = Arc::new(Deque::<BUGGY>::new());
    deque.push(1);
    deque.push(2);
    let theirs = deque.clone();
    let thief = thread::spawn(move || [theirs.steal(), theirs.steal()]);
    let mut taken: Vec<u32> = [deque.pop(), deque.pop()].into_iter().flatten().collect();
    deque.push(3);
    taken.extend(deque.pop());
    for stolen in thief.join().unwrap() {
        if let Stolen::Item(item) = stolen {
            taken.push(item);
        }
    }
    taken.extend(std::iter::from_fn(|| deque.pop()));
    taken.sort_unstable();
    assert_eq!(taken, [1, 2, 3], "each item once");
}

#[test]
fn the_deque() {
    let (kind, message) = find(deque::<true>);
    assert_eq!(kind, Panic);
    assert!(message.contains("each item once"), "{message}");
    assert_eq!(verify(deque::<false>), 183);
}

/// Two producers and a consumer: no item is lost, and those of a producer come in order.
fn queue<const BUGGY: bool>() {
    let queue = Arc::new(Queue::<BUGGY>::new());
    let producers = [[1, 2], [3, 4]].map(|items| {
        let queue = queue.clone();
        thread::spawn(move || items.map(|item| queue.push(item)))
    });
    let mut taken: Vec<u32> = [queue.pop(), queue.pop()].into_iter().flatten().collect();
    for producer in producers {
        producer.join().unwrap();
    }
    taken.extend(std::iter::from_fn(|| queue.pop()));
    let place = |item| taken.iter().position(|&taken| taken == item);
    assert!(place(1) < place(2) && place(3) < place(4), "{taken:?}");
    assert_eq!(taken.iter().collect::<BTreeSet<_>>().len(), 4, "{taken:?}");
}

#[test]
fn the_queue() {
    let (kind, message) = find(queue::<true>);
    assert_eq!(kind, UnsynchronisedPublication);
    assert!(
        message.contains("has allocated, and nothing orders that"),
        "{message}"
    );
    assert_eq!(verify(queue::<false>), 9004);
}

/// Two producers that wait for room, and a consumer.
fn bounded_queue<const BUGGY: bool>() {
    let queue = Arc::new(BoundedQueue::<BUGGY>::new());
    let producers = [vec![1, 2], vec![3]].map(|items| {
        let queue = queue.clone();
        thread::spawn(move || items.into_iter().for_each(|item| queue.push(item)))
    });
    let taken: BTreeSet<u32> = (0..3).map(|_| queue.pop()).collect();
    for producer in producers {
        producer.join().unwrap();
    }
    assert_eq!(taken, [1, 2, 3].into());
}

#[test]
fn the_bounded_queue() {
    let (kind, message) = find(bounded_queue::<true>);
    assert_eq!(kind, LiveLock);
    assert_eq!(
        message,
        "live-lock: the threads that are left spin for ever"
    );
    assert_eq!(verify(bounded_queue::<false>), 2136);
}

/// A writer and a reader: both numbers are always the same.
fn seqlock<const BUGGY: bool>() {
    let lock = Arc::new(SeqLock::<BUGGY>::new());
    let readers = [lock.clone()].map(|lock| thread::spawn(move || lock.read()));
    lock.write([1, 1]);
    lock.write([2, 2]);
    for reader in readers {
        let [one, other] = reader.join().unwrap();
        assert_eq!(one, other, "half of a write was read");
    }
}

#[test]
fn the_seqlock() {
    let (kind, message) = find(seqlock::<true>);
    assert_eq!(kind, Panic);
    assert!(message.contains("half of a write was read"), "{message}");
    assert_eq!(verify(seqlock::<false>), 6083);
}

/// A writer and two readers.
fn hazard<const BUGGY: bool>() {
    let shared = Arc::new(Shared::<BUGGY>::new(0));
    let readers = [0, 1].map(|reader| {
        let shared = shared.clone();
        thread::spawn(move || assert!(shared.read(reader) <= 2))
    });
    shared.write(1);
    shared.write(2);
    for reader in readers {
        reader.join().unwrap();
    }
    assert!(shared.freed() <= 2);
}

#[test]
fn hazard_pointers() {
    let (kind, message) = find(hazard::<true>);
    assert_eq!(kind, DataRace);
    assert!(
        message.contains("access a cell, and nothing orders that"),
        "{message}"
    );
    assert_eq!(verify(hazard::<false>), 1849);
}

/// Two senders, and a receiver that is a future.
fn async_channel<const BUGGY: bool>() {
    let (sender, mut receiver) = channel::<BUGGY>();
    let senders = [(sender.clone(), 1), (sender, 2)]
        .map(|(sender, message)| thread::spawn(move || sender.send(message)));
    let received = block_on(async move {
        let mut received = BTreeSet::new();
        while let Some(message) = receiver.receive().await {
            received.insert(message);
        }
        received
    });
    assert_eq!(received, [1, 2].into());
    for sender in senders {
        sender.join().unwrap();
    }
}

#[test]
fn the_async_channel() {
    let (kind, message) = find(async_channel::<true>);
    assert_eq!(kind, Deadlock);
    assert_eq!(message, "deadlock: a thread waits for ever");
    assert_eq!(verify(async_channel::<false>), 288);
}

/// Two threads that take what is there: each number is taken once, and no node is freed that somebody reads.
fn stack<const BUGGY: bool>() {
    let stack = Arc::new(Stack::<BUGGY>::new());
    stack.push(1);
    stack.push(2);
    let theirs = stack.clone();
    let other = thread::spawn(move || theirs.pop());
    let mine = stack.pop();
    assert_eq!(
        mine.into_iter().chain(other.join().unwrap()).sum::<u32>(),
        3
    );
}

#[test]
fn the_stack() {
    let (kind, message) = find(stack::<true>);
    assert_eq!(kind, UseAfterFree);
    assert!(message.starts_with("use after free"), "{message}");
    assert_eq!(verify(stack::<false>), 1318);
}
