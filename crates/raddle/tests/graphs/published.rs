//! Data structures with the numbers of graphs that GenMC's tests of the same shape have.

use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{AtomicI32, AtomicIsize, AtomicU32, AtomicUsize, Ordering::*, fence};
use raddle::sync::{Arc, Mutex};
use raddle::{Checker, Memory, hint, thread};

/// How many executions there are under RC11 and under sequential consistency.
fn executions<T: Send + Sync + 'static>(shared: fn() -> T, threads: &[fn(&T)]) -> [u64; 2] {
    [Memory::Rc11, Memory::Sc].map(|memory| {
        let check = Checker::new().memory(memory).explorer("graphs");
        let threads = threads.to_vec();
        let report = check.check(move || {
            let shared = Arc::new(shared());
            let threads = threads.iter().map(|&thread| {
                let shared = shared.clone();
                thread::spawn(move || thread(&shared))
            });
            for thread in threads.collect::<Vec<_>>() {
                thread.join().unwrap();
            }
        });
        assert!(report.exhausted, "{:?}", report.assumptions);
        report.executions - report.cut
    })
}

/// Plain memory.
#[derive(Default)]
struct Plain(UnsafeCell<usize>);

// SAFETY: races are what is looked for.
unsafe impl Sync for Plain {}

impl Plain {
    fn get(&self) -> usize {
        // SAFETY: as above.
        self.0.with(|value| unsafe { *value })
    }

    fn set(&self, value: usize) {
        // SAFETY: as above.
        self.0.with_mut(|place| unsafe { *place = value });
    }
}

const ROOM: isize = 10;

#[derive(Default)]
struct Deque {
    top: AtomicIsize,
    bottom: AtomicIsize,
    items: [AtomicU32; ROOM as usize],
}

impl Deque {
    fn slot(&self, at: isize) -> &AtomicU32 {
        &self.items[at.rem_euclid(ROOM) as usize]
    }

    fn push(&self, item: u32) {
        let bottom = self.bottom.load(Relaxed);
        if bottom - self.top.load(Acquire) < ROOM {
            self.slot(bottom).store(item, Relaxed);
            self.bottom.store(bottom + 1, Release);
        }
    }

    fn pop(&self) {
        let bottom = self.bottom.load(Relaxed) - 1;
        self.bottom.store(bottom, Relaxed);
        fence(SeqCst);
        let top = self.top.load(Relaxed);
        if top <= bottom {
            self.slot(bottom).load(Relaxed);
        }
        if top == bottom {
            let _ = self.top.compare_exchange(top, top + 1, AcqRel, Acquire);
        }
        if top >= bottom {
            self.bottom.store(bottom + 1, Relaxed);
        }
    }

    fn steal(&self) {
        let top = self.top.load(Relaxed);
        fence(SeqCst);
        if top < self.bottom.load(Acquire) {
            self.slot(top).load(Relaxed);
            let _ = self.top.compare_exchange(top, top + 1, Release, Relaxed);
        }
    }
}

#[test]
fn chase_lev() {
    let found = executions(
        Deque::default,
        &[
            |deque| {
                (1..=5).for_each(|item| deque.push(item));
                (0..3).for_each(|_| deque.pop());
                (6..=7).for_each(|item| deque.push(item));
            },
            Deque::steal,
        ],
    );
    assert_eq!(found, [65, 59]);
}

const BIAS: i32 = 0x10_0000;

/// The lock for readers and writers that Linux once had.
struct RwLock {
    lock: AtomicI32,
    data: Plain,
}

impl RwLock {
    fn new() -> Self {
        Self {
            lock: AtomicI32::new(BIAS),
            data: Plain::default(),
        }
    }

    fn lock<const RETRIES: bool>(&self, share: i32, is_free: fn(i32) -> bool) {
        while !is_free(self.lock.fetch_sub(share, Acquire)) {
            raddle::assume(RETRIES);
            self.lock.fetch_add(share, Relaxed);
            while !is_free(self.lock.load(Relaxed)) {
                hint::spin_loop();
            }
        }
    }

    fn read_and_write<const RETRIES: bool>(&self) {
        self.lock::<RETRIES>(1, |left| left > 0);
        self.data.get();
        self.lock.fetch_add(1, Release);
        self.lock::<RETRIES>(BIAS, |left| left == BIAS);
        self.data.set(1);
        self.lock.fetch_add(BIAS, Release);
    }
}

/// GenMC leaves out attempts that fail, since a thread gives back what it has taken. Others can see that it had taken something, so here they count:
/// 222 by an enumeration of all orders of the updates, with the places of the loads between them. In 14 no attempt fails.
#[test]
fn linux_rwlock() {
    let all = executions(
        RwLock::new,
        &[
            RwLock::read_and_write::<true>,
            RwLock::read_and_write::<true>,
        ],
    );
    assert_eq!(all, [222, 222]);
    let first = executions(
        RwLock::new,
        &[
            RwLock::read_and_write::<false>,
            RwLock::read_and_write::<false>,
        ],
    );
    assert_eq!(first, [14, 14]);
}

#[derive(Default)]
struct McsLock {
    tail: AtomicUsize,
    next: [AtomicUsize; 3],
    waits: [AtomicUsize; 3],
    data: Plain,
}

impl McsLock {
    fn use_it(&self, me: usize) {
        self.next[me].store(0, Relaxed);
        self.waits[me].store(1, Relaxed);
        let before = self.tail.swap(me, AcqRel);
        if before != 0 {
            self.next[before].store(me, Release);
            while self.waits[me].load(Acquire) == 1 {
                hint::spin_loop();
            }
        }
        self.data.set(me);
        let mut after = self.next[me].load(Acquire);
        if after == 0 {
            if self.tail.compare_exchange(me, 0, Release, Relaxed).is_ok() {
                return;
            }
            loop {
                after = self.next[me].load(Acquire);
                if after != 0 {
                    break;
                }
                hint::spin_loop();
            }
        }
        self.waits[after].store(0, Release);
    }
}

#[test]
fn mcs_lock() {
    let found = executions(
        McsLock::default,
        &[|lock| lock.use_it(1), |lock| lock.use_it(2)],
    );
    assert_eq!(found, [6, 6]);
}

#[derive(Default)]
struct SeqLock {
    lock: Mutex<()>,
    version: AtomicU32,
    data: AtomicU32,
}

impl SeqLock {
    fn write(&self) {
        let _writer = self.lock.lock().unwrap();
        let version = self.version.load(Relaxed);
        self.version.store(version + 1, Relaxed);
        fence(Release);
        self.data.store(42, Relaxed);
        fence(Release);
        self.version.store(version + 2, Relaxed);
    }

    fn read<const RETRIES: bool>(&self) {
        loop {
            let version = self.version.load(Relaxed);
            if version.is_multiple_of(2) {
                fence(Acquire);
                self.data.load(Relaxed);
                fence(Acquire);
                if self.version.load(Relaxed) == version {
                    return;
                }
            }
            raddle::assume(RETRIES);
            hint::spin_loop();
        }
    }
}

/// Where the loop begins is not known before it has been gone through once, so a reader fails once more than in GenMC's test before it is suspended.
#[test]
fn seqlock() {
    let all = executions(SeqLock::default, &[SeqLock::write, SeqLock::read::<true>]);
    assert_eq!(all, [6, 6]);
    let first = executions(SeqLock::default, &[SeqLock::write, SeqLock::read::<false>]);
    assert_eq!(first, [2, 2]);
}

#[derive(Default)]
struct TicketLock {
    next: AtomicUsize,
    served: AtomicUsize,
    data: Plain,
}

impl TicketLock {
    fn use_it(&self, me: usize) {
        let mine = self.next.fetch_add(1, Relaxed);
        while self.served.load(Acquire) != mine {
            hint::spin_loop();
        }
        self.data.set(me);
        assert_eq!(self.data.get(), me);
        self.served.store(mine + 1, Release);
    }
}

#[test]
fn ticket_lock() {
    let found = executions(
        TicketLock::default,
        &[|lock| lock.use_it(0), |lock| lock.use_it(1)],
    );
    assert_eq!(found, [2, 2]);
}

#[derive(Default)]
struct Nested {
    one: Mutex<()>,
    other: Mutex<()>,
    data: Plain,
    turn: AtomicU32,
    flag: AtomicU32,
}

impl Nested {
    fn race(&self) {
        raddle::assume(self.turn.fetch_add(1, SeqCst) < 2);
        let _other = self.other.lock().unwrap();
        self.data.set(1);
    }
}

/// GenMC's `lock-nested`, of which it counts threads that do the same once: 6.
#[test]
fn nested_locks_and_assumptions() {
    let found = executions(
        Nested::default,
        &[
            Nested::race,
            Nested::race,
            |shared| {
                let other = shared.other.lock().unwrap();
                raddle::assume(shared.turn.fetch_add(1, SeqCst) == 3);
                shared.flag.store(1, SeqCst);
                drop(shared.one.lock().unwrap());
                drop(other);
            },
            |shared| {
                let _one = shared.one.lock().unwrap();
                raddle::assume(shared.turn.fetch_add(1, SeqCst) == 2);
                raddle::assume(shared.flag.load(SeqCst) == 1);
            },
        ],
    );
    assert_eq!(found, [12, 12]);
}
