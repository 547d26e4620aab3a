//! `lib::thread`.

use std::cell::{Cell, RefCell};
use std::hash::Hash;
use std::time::Duration;

use super::lib::sync::atomic::{AtomicU32, Ordering};
use super::lib::thread::{
    self, AccessError, Builder, JoinHandle, LocalKey, Scope, ScopedJoinHandle, Thread, ThreadId,
};
use super::{Seen, is_debug, is_error, is_send, is_shared, is_sync, is_unpin, lib, see};

lib::thread_local! {
    static COUNT: Cell<u32> = const { Cell::new(1) };
    /// With an attribute, and a trailing semicolon.
    pub(crate) static NAMES: RefCell<Vec<u32>> = RefCell::new(vec![1]);
    static PLAIN: u32 = 5;
}

pub(super) fn run(seen: &mut Seen) {
    is_shared::<Thread>();
    is_shared::<ThreadId>();
    is_send::<JoinHandle<u32>>();
    is_sync::<JoinHandle<u32>>();
    is_unpin::<JoinHandle<u32>>();
    is_sync::<Scope<'_, '_>>();
    is_send::<ScopedJoinHandle<'_, u32>>();
    is_sync::<ScopedJoinHandle<'_, u32>>();
    is_debug::<JoinHandle<u32>>();
    is_debug::<ScopedJoinHandle<'_, u32>>();
    is_debug::<Scope<'_, '_>>();
    is_debug::<Builder>();
    is_debug::<Thread>();
    is_debug::<LocalKey<u32>>();
    is_error::<AccessError>();
    fn is_key<T: Clone + Copy + Eq + Hash + std::fmt::Debug>() {}
    is_key::<ThreadId>();
    starting(seen);
    scoped(seen);
    local(seen);
}

fn starting(seen: &mut Seen) {
    let child: JoinHandle<u32> = thread::spawn(|| 3);
    let other = child.thread().id();
    see!(seen, other == thread::current().id(), child.thread().name());
    let result: thread::Result<u32> = child.join();
    see!(seen, result.ok());
    let child = Builder::new()
        .name("child".into())
        .stack_size(100_000)
        .spawn(|| thread::current().name().map(String::from))
        .expect("a thread can be started");
    see!(seen, child.thread().name(), child.join().ok());
    let panicked = thread::spawn(|| std::panic::resume_unwind(Box::new(7_u32))).join();
    let payload: Result<(), _> = panicked.map_err(|payload| payload.downcast_ref::<u32>().copied());
    see!(seen, payload);
    // SAFETY: nothing is borrowed.
    let unchecked = unsafe { Builder::new().spawn_unchecked(|| 4) };
    see!(
        seen,
        unchecked.expect("a thread can be started").join().ok()
    );
    thread::current().unpark();
    thread::park();
    thread::current().unpark();
    thread::park_timeout(Duration::from_secs(1));
    thread::current().unpark();
    thread::park_timeout_ms(1000);
    thread::yield_now();
    thread::sleep(Duration::ZERO);
    thread::sleep_ms(0);
    see!(
        seen,
        thread::panicking(),
        thread::available_parallelism().is_ok()
    );
    let child = thread::spawn(thread::park);
    child.thread().clone().unpark();
    let _: fn(&JoinHandle<()>) -> bool = JoinHandle::is_finished;
    see!(seen, child.join().ok());
}

fn scoped(seen: &mut Seen) {
    let count = AtomicU32::new(0);
    let sum = thread::scope(|scope| {
        let one: ScopedJoinHandle<'_, u32> =
            scope.spawn(|| count.fetch_add(1, Ordering::SeqCst) + 1);
        let _: bool = one.is_finished();
        let named = Builder::new()
            .name("named".into())
            .spawn_scoped(scope, || 2);
        let named = named.expect("a thread can be started");
        see!(seen, named.thread().name());
        one.join().unwrap_or(0) + named.join().unwrap_or(0)
    });
    see!(seen, sum, count);
}

fn local(seen: &mut Seen) {
    COUNT.set(5);
    see!(
        seen,
        COUNT.get(),
        COUNT.replace(6),
        COUNT.take(),
        COUNT.with(Cell::get)
    );
    let theirs = thread::spawn(|| COUNT.get()).join();
    see!(seen, theirs.ok());
    NAMES.with_borrow_mut(|names| names.push(2));
    see!(
        seen,
        NAMES.with_borrow(Vec::len),
        NAMES.replace(vec![]),
        NAMES.take()
    );
    NAMES.set(vec![3]);
    see!(
        seen,
        NAMES.with_borrow(Clone::clone),
        PLAIN.try_with(|plain| *plain)
    );
}
