//! Locks, condition variables, barriers, and what is done once: `lib::sync`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::lib::sync::{
    Arc, Barrier, BarrierWaitResult, Condvar, LazyLock, LockResult, Mutex, MutexGuard, ONCE_INIT,
    Once, OnceLock, OnceState, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
    TryLockError, TryLockResult, WaitTimeoutResult,
};
use super::lib::thread;
use super::{
    Seen, is_debug, is_default, is_error, is_ref_unwind_safe, is_send, is_shared, is_sync,
    is_unpin, is_unwind_safe, see,
};

static GLOBAL: Mutex<u32> = Mutex::new(1);
static SHARED: RwLock<u32> = RwLock::new(1);
static CHANGED: Condvar = Condvar::new();
static START: Once = Once::new();
static NAME: OnceLock<String> = OnceLock::new();
static LAZY: LazyLock<u32> = LazyLock::new(|| 5);
static MEET: Barrier = Barrier::new(1);

pub(super) fn run(seen: &mut Seen) {
    is_shared::<Mutex<u32>>();
    is_shared::<RwLock<u32>>();
    is_shared::<Condvar>();
    is_shared::<Barrier>();
    is_shared::<Once>();
    is_shared::<OnceLock<u32>>();
    is_shared::<LazyLock<u32>>();
    is_sync::<MutexGuard<'_, u32>>();
    is_sync::<RwLockReadGuard<'_, u32>>();
    is_sync::<RwLockWriteGuard<'_, u32>>();
    is_unpin::<MutexGuard<'_, u32>>();
    is_unwind_safe::<MutexGuard<'_, u32>>();
    is_unwind_safe::<RwLockReadGuard<'_, u32>>();
    is_unwind_safe::<RwLockWriteGuard<'_, u32>>();
    is_ref_unwind_safe::<MutexGuard<'_, u32>>();
    is_ref_unwind_safe::<RwLockReadGuard<'_, u32>>();
    is_ref_unwind_safe::<RwLockWriteGuard<'_, u32>>();
    is_send::<Mutex<dyn Fn() + Send>>();
    is_debug::<Mutex<u32>>();
    is_debug::<RwLock<u32>>();
    is_debug::<Condvar>();
    is_debug::<Barrier>();
    is_debug::<BarrierWaitResult>();
    is_debug::<Once>();
    is_debug::<OnceState>();
    is_debug::<LazyLock<u32>>();
    is_default::<Mutex<u32>>();
    is_default::<RwLock<u32>>();
    is_default::<Condvar>();
    is_default::<OnceLock<u32>>();
    is_default::<LazyLock<u32>>();
    is_error::<PoisonError<u32>>();
    is_error::<TryLockError<u32>>();
    mutex(seen);
    rwlock(seen);
    waiting(seen);
    once(seen);
    lazy(seen);
}

fn mutex(seen: &mut Seen) {
    *GLOBAL.lock().expect("nobody panicked") += 1;
    see!(seen, *GLOBAL.lock().expect("nobody panicked"));
    let mut mutex = Mutex::from(3);
    let guard: LockResult<MutexGuard<'_, u32>> = mutex.lock();
    let guard = guard.expect("nobody panicked");
    let busy: TryLockResult<MutexGuard<'_, u32>> = mutex.try_lock();
    see!(
        seen,
        guard,
        guard.to_string(),
        matches!(busy, Err(TryLockError::WouldBlock))
    );
    drop((busy, guard));
    see!(seen, mutex.try_lock().map(|guard| *guard).ok());
    *mutex.get_mut().expect("nobody panicked") += 1;
    let poison = catch_unwind(AssertUnwindSafe(|| {
        let _held = mutex.lock();
        std::panic::resume_unwind(Box::new(1));
    }));
    see!(seen, poison.is_err(), mutex.is_poisoned());
    see!(
        seen,
        mutex
            .lock()
            .map(|guard| *guard)
            .map_err(|error| *error.into_inner())
    );
    mutex.clear_poison();
    see!(seen, mutex.is_poisoned(), mutex.into_inner().ok());
    let functions: Box<Mutex<dyn Fn() -> u32>> = Box::new(Mutex::new(|| 7));
    see!(seen, (functions.lock().expect("nobody panicked"))());
}

fn rwlock(seen: &mut Seen) {
    *SHARED.write().expect("nobody panicked") += 1;
    see!(seen, *SHARED.read().expect("nobody panicked"));
    let mut lock = RwLock::from(3);
    let reads: RwLockReadGuard<'_, u32> = lock.read().expect("nobody panicked");
    see!(
        seen,
        reads,
        reads.to_string(),
        lock.try_read().is_ok(),
        lock.try_write().is_err()
    );
    drop(reads);
    let mut writes: RwLockWriteGuard<'_, u32> = lock.write().expect("nobody panicked");
    *writes += 1;
    see!(seen, writes, writes.to_string(), lock.try_read().is_err());
    let reads = RwLockWriteGuard::downgrade(writes);
    see!(seen, *reads);
    drop(reads);
    see!(
        seen,
        lock.try_write().map(|guard| *guard).ok(),
        lock.is_poisoned()
    );
    lock.clear_poison();
    *lock.get_mut().expect("nobody panicked") += 1;
    see!(seen, lock.into_inner().ok());
}

fn waiting(seen: &mut Seen) {
    CHANGED.notify_one();
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let other = pair.clone();
    let setter = thread::spawn(move || {
        *other.0.lock().expect("nobody panicked") = 1;
        other.1.notify_all();
    });
    let mut guard = pair.0.lock().expect("nobody panicked");
    while *guard == 0 {
        guard = pair.1.wait(guard).expect("nobody panicked");
    }
    let guard = pair
        .1
        .wait_while(guard, |value| *value == 0)
        .expect("nobody panicked");
    let waited: LockResult<(MutexGuard<'_, u32>, WaitTimeoutResult)> =
        pair.1
            .wait_timeout_while(guard, Duration::from_secs(1), |value| *value == 0);
    let (guard, result) = waited.expect("nobody panicked");
    see!(seen, *guard, result.timed_out(), result == result.clone());
    drop(guard);
    setter.join().expect("it does not panic");
    type Timeout = for<'a> fn(
        &Condvar,
        MutexGuard<'a, u32>,
        Duration,
    ) -> LockResult<(MutexGuard<'a, u32>, WaitTimeoutResult)>;
    let _: Timeout = Condvar::wait_timeout;
    type TimeoutMs =
        for<'a> fn(&Condvar, MutexGuard<'a, u32>, u32) -> LockResult<(MutexGuard<'a, u32>, bool)>;
    let _: TimeoutMs = Condvar::wait_timeout_ms;
    see!(seen, MEET.wait().is_leader());
}

fn once(seen: &mut Seen) {
    see!(seen, START.is_completed());
    START.call_once(|| ());
    START.call_once(|| unreachable!("it was called before"));
    START.wait();
    START.wait_force();
    see!(seen, START.is_completed());
    let poisoned = ONCE_INIT;
    let failed = catch_unwind(AssertUnwindSafe(|| {
        poisoned.call_once(|| std::panic::resume_unwind(Box::new(1)));
    }));
    let mut found = None;
    poisoned.call_once_force(|state: &OnceState| found = Some(state.is_poisoned()));
    see!(seen, failed.is_err(), found);
    see!(
        seen,
        NAME.get(),
        NAME.set("a".into()),
        NAME.set("b".into()),
        NAME.get()
    );
    see!(
        seen,
        NAME.wait(),
        NAME.get_or_init(|| "c".into()),
        NAME.clone(),
        NAME
    );
    let mut once = OnceLock::from(1);
    see!(
        seen,
        once == OnceLock::from(1),
        once.get_mut(),
        once.take(),
        once.into_inner()
    );
}

fn lazy(seen: &mut Seen) {
    see!(
        seen,
        LazyLock::get(&LAZY),
        *LAZY,
        LazyLock::force(&LAZY),
        LazyLock::get(&LAZY)
    );
    let mut lazy = LazyLock::new(|| 6);
    see!(seen, LazyLock::get_mut(&mut lazy));
    *LazyLock::force_mut(&mut lazy) += 1;
    *lazy += 1;
    see!(seen, LazyLock::get_mut(&mut lazy));
}
