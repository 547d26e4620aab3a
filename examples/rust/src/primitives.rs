//! Small programs of one primitive each: how many executions they take is known by counting.

use std::cell::Cell;

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::mpsc::{channel, sync_channel};
use raddle::sync::{Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock};
use raddle::thread;

/// A program of one primitive.
#[derive(Clone, Copy, Debug)]
pub struct Primitive {
    /// What it does.
    pub name: &'static str,
    /// Runs it.
    pub run: fn(),
}

macro_rules! primitives {
    ($($name:literal $run:expr;)*) => {
        /// All of them.
        pub const PRIMITIVES: &[Primitive] = &[$(Primitive { name: $name, run: $run }),*];
    };
}

primitives! {
    "mutex, 2 threads" || locks(2);
    "mutex, 3 threads" || locks(3);
    "mutex, 4 threads" || locks(4);
    "mutex, 2 threads that try" || tries();
    "mutexes, nested, 3 threads" || nested();
    "rwlock, 1 reader, 1 writer" || reads_and_writes(1, 1);
    "rwlock, 2 readers, 1 writer" || reads_and_writes(2, 1);
    "rwlock, 3 readers, 1 writer" || reads_and_writes(3, 1);
    "rwlock, 4 readers, 1 writer" || reads_and_writes(4, 1);
    "rwlock, 2 readers, 2 writers" || reads_and_writes(2, 2);
    "condvar, 1 waits" || waits(1);
    "condvar, 2 wait" || waits(2);
    "barrier, 3 threads" || barrier(3, 1, false);
    "barrier, 3 threads, twice" || barrier(3, 2, false);
    "barrier, 3 threads, who leads" || barrier(3, 1, true);
    "once, 2 threads" || once(2);
    "once, 3 threads" || once(3);
    "once, 4 threads" || once(4);
    "once lock, 3 threads" || once_lock(3);
    "park, 1 unparks" || parks(1);
    "park, 2 unpark" || parks(2);
    "park, 3 unpark" || parks(3);
    "channel, 1 sends 3" || sends(1, 3);
    "channel, 3 send 1" || sends(3, 1);
    "channel, 2 send 2" || sends(2, 2);
    "channel with room for 2, 1 sends 3" || sends_to_few(2, 1, 3);
    "channel with room for 1, 2 send 2" || sends_to_few(1, 2, 2);
    "channel without room, 1 sends 3" || sends_to_few(0, 1, 3);
    "Arc, 3 drop" || drops(3);
    "Arc, 2 count and drop" || counts(2);
    "Arc, 3 count and drop" || counts(3);
    "scope, 3 threads" || scope(3);
    "thread-locals, 3 threads" || thread_locals(3);
}

/// Runs the same function on some threads.
fn all<T: Send + Sync + 'static>(count: usize, shared: T, body: fn(&T, usize)) {
    let shared = Arc::new(shared);
    let threads = (0..count).map(|number| {
        let shared = shared.clone();
        thread::spawn(move || body(&shared, number))
    });
    for thread in threads.collect::<Vec<_>>() {
        thread.join().unwrap();
    }
}

fn locks(threads: usize) {
    all(threads, Mutex::new(0), |sum, _| *sum.lock().unwrap() += 1);
}

fn tries() {
    all(2, Mutex::new(0), |sum, _| {
        if let Ok(mut sum) = sum.try_lock() {
            *sum += 1;
        }
    });
}

fn nested() {
    let locks = [Mutex::new(()), Mutex::new(())];
    all(3, locks, |[one, other], _| {
        let _one = one.lock().unwrap();
        let _other = other.lock().unwrap();
    });
}

fn reads_and_writes(readers: usize, writers: usize) {
    let shared = (readers, RwLock::new(0));
    all(readers + writers, shared, |(readers, lock), number| {
        if number < *readers {
            let _ = *lock.read().unwrap();
        } else {
            *lock.write().unwrap() += 1;
        }
    });
}

fn waits(count: usize) {
    let shared = (Mutex::new(false), Condvar::new());
    all(count + 1, shared, |(flag, condvar), number| {
        if number == 0 {
            *flag.lock().unwrap() = true;
            condvar.notify_all();
        } else {
            let _flag = condvar.wait_while(flag.lock().unwrap(), |is_set| !*is_set);
        }
    });
}

fn barrier(count: usize, rounds: usize, asks: bool) {
    let shared = (Barrier::new(count), rounds, asks);
    all(count, shared, |(barrier, rounds, asks), _| {
        for _ in 0..*rounds {
            let result = barrier.wait();
            let _ = *asks && result.is_leader();
        }
    });
}

fn once(count: usize) {
    all(count, Once::new(), |once, _| once.call_once(|| ()));
}

fn once_lock(count: usize) {
    all(count, OnceLock::new(), |cell, number| {
        cell.get_or_init(|| number);
    });
}

fn parks(unpark: usize) {
    let main = thread::current();
    let threads = (0..unpark).map(|_| {
        let main = main.clone();
        thread::spawn(move || main.unpark())
    });
    let threads: Vec<_> = threads.collect();
    thread::park();
    for thread in threads {
        thread.join().unwrap();
    }
}

fn sends(senders: usize, each: usize) {
    let (sender, receiver) = channel();
    let threads = (0..senders).map(|_| {
        let sender = sender.clone();
        thread::spawn(move || (0..each).for_each(|item| sender.send(item).unwrap()))
    });
    let threads: Vec<_> = threads.collect();
    for _ in 0..senders * each {
        receiver.recv().unwrap();
    }
    for thread in threads {
        thread.join().unwrap();
    }
}

fn sends_to_few(room: usize, senders: usize, each: usize) {
    let (sender, receiver) = sync_channel(room);
    let threads = (0..senders).map(|_| {
        let sender = sender.clone();
        thread::spawn(move || (0..each).for_each(|item| sender.send(item).unwrap()))
    });
    let threads: Vec<_> = threads.collect();
    for _ in 0..senders * each {
        receiver.recv().unwrap();
    }
    for thread in threads {
        thread.join().unwrap();
    }
}

fn drops(count: usize) {
    all(count, (), |(), _| ());
}

fn counts(count: usize) {
    let shared = Arc::new(());
    let threads = (0..count).map(|_| {
        let shared = shared.clone();
        thread::spawn(move || Arc::strong_count(&shared))
    });
    for thread in threads.collect::<Vec<_>>() {
        thread.join().unwrap();
    }
}

fn scope(count: usize) {
    let sum = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| *sum.lock().unwrap() += 1);
        }
    });
}

fn thread_locals(count: usize) {
    raddle::thread_local! {
        static COUNT: Cell<u32> = const { Cell::new(0) };
    }
    all(count, AtomicU32::new(0), |sum, _| {
        COUNT.with(|count| count.set(count.get() + 1));
        sum.fetch_add(COUNT.with(Cell::get), SeqCst);
    });
}
