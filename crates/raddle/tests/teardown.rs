//! Executions that are given up: code under test only ever runs in states that executions have.

mod common;

use std::cell::Cell;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst as StdSeqCst;
use std::time::Duration;

use common::Random;
use raddle::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use raddle::sync::atomic::{AtomicBool, AtomicU32};
use raddle::sync::{Arc, Condvar, Mutex, mpsc};
use raddle::{Assumed, Backend, Checker, FailureKind, Memory, Options, Program, thread};
use raddle_schedule::{Execution, Move, Observed, Readiness, ThreadId};

const EXPLORERS: [&str; 8] = [
    "optimal",
    "iterative",
    "bounded",
    "algorithm1",
    "cb-dfs",
    "dfs",
    "random",
    "pct",
];

/// What is alive, of one test.
#[derive(Clone, Default)]
struct Alive(std::sync::Arc<AtomicUsize>);

impl Alive {
    fn now(&self) -> usize {
        self.0.load(StdSeqCst)
    }
}

/// Something that has to be finished before it is dropped, unless a panic unwinds its thread.
struct Task {
    finished: Cell<bool>,
    alive: Alive,
}

impl Task {
    fn new(alive: &Alive) -> Self {
        alive.0.fetch_add(1, StdSeqCst);
        Self {
            finished: Cell::new(false),
            alive: alive.clone(),
        }
    }

    fn finish(self) {
        self.finished.set(true);
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.alive.0.fetch_sub(1, StdSeqCst);
        assert!(self.finished.get(), "dropped before it was finished");
    }
}

/// As loom's `arc::basic_usage`: scouts and redundant sequences are given up while the value is still 0.
#[test]
fn a_drop_that_asserts_beside_a_loop_that_yields() {
    struct State {
        value: AtomicU32,
        ready: AtomicBool,
    }
    impl Drop for State {
        fn drop(&mut self) {
            assert_eq!(*self.value.get_mut(), 1, "dropped too early");
        }
    }
    for explorer in EXPLORERS {
        for backend in [Backend::Coroutines, Backend::Threads] {
            let checker = Checker::new().explorer(explorer).backend(backend);
            let report = checker.max_executions(200).check(|| {
                let state = Arc::new(State {
                    value: AtomicU32::new(0),
                    ready: AtomicBool::new(false),
                });
                let theirs = state.clone();
                thread::spawn(move || {
                    theirs.value.store(1, SeqCst);
                    theirs.ready.store(true, SeqCst);
                });
                while !state.ready.load(SeqCst) {
                    thread::yield_now();
                }
                assert_eq!(state.value.load(SeqCst), 1);
            });
            let exhausts = matches!(explorer, "optimal" | "iterative" | "bounded" | "dfs");
            assert!(report.exhausted || !exhausts, "{explorer}");
        }
    }
}

/// Gives up an execution after each number of steps, and says what is alive then.
fn give_up_everywhere(alive: &Alive, options: &Options, body: fn(&Alive)) {
    let theirs = alive.clone();
    let mut program = Program::new(std::sync::Arc::new(move || body(&theirs)), options);
    for first in [0, usize::MAX] {
        for steps in 0..60 {
            program.restart();
            assert_eq!(alive.now(), 0, "left after {steps} steps");
            let mut step = Observed::default();
            for _ in 0..steps {
                let can_move = |id: &&ThreadId| program.readiness(**id) == Readiness::Enabled;
                let mut threads = program.threads().iter();
                let next = if first == 0 {
                    threads.find(can_move)
                } else {
                    threads.rfind(can_move)
                };
                let Some(&thread) = next else { break };
                program.step(Move { thread, choice: 0 }, &mut step).unwrap();
            }
        }
    }
    drop(program);
    assert_eq!(alive.now(), 0);
}

#[test]
fn an_execution_that_is_given_up_is_run_on() {
    fn body(alive: &Alive) {
        let shared = Arc::new((Mutex::new(0), Condvar::new()));
        let children: Vec<_> = (0..2)
            .map(|_| {
                let (task, shared, alive) = (Task::new(alive), shared.clone(), alive.clone());
                thread::spawn(move || {
                    let inner = Task::new(&alive);
                    *shared.0.lock().unwrap() += 1;
                    shared.1.notify_all();
                    inner.finish();
                    task.finish();
                })
            })
            .collect();
        let task = Task::new(alive);
        let mut count = shared.0.lock().unwrap();
        while *count < 2 {
            count = shared.1.wait(count).unwrap();
        }
        drop(count);
        for child in children {
            child.join().unwrap();
        }
        task.finish();
    }
    for backend in [Backend::Coroutines, Backend::Threads] {
        let mut options = Options::default();
        options.backend = backend;
        give_up_everywhere(&Alive::default(), &options, body);
    }
}

/// A wait that was chosen not to time out and that nothing ends is infeasible, and times out after all when it is given up.
#[test]
fn an_infeasible_execution_comes_to_an_end() {
    fn condvar(alive: &Alive) {
        let task = Task::new(alive);
        let (lock, condvar) = (Mutex::new(false), Condvar::new());
        let guard = lock.lock().unwrap();
        let (guard, waited) = condvar.wait_timeout(guard, Duration::ZERO).unwrap();
        // Nobody notifies it.
        let spurious = raddle::Options::default().spurious_wakeups;
        assert!(waited.timed_out() || spurious > 0);
        drop(guard);
        task.finish();
    }
    fn park(alive: &Alive) {
        let task = Task::new(alive);
        thread::park_timeout(Duration::ZERO);
        task.finish();
    }
    fn channel(alive: &Alive) {
        let task = Task::new(alive);
        let (sender, receiver) = mpsc::channel::<u32>();
        let timed_out = receiver.recv_timeout(Duration::ZERO);
        assert_eq!(timed_out, Err(mpsc::RecvTimeoutError::Timeout));
        drop(sender);
        task.finish();
    }
    fn spinning(alive: &Alive) {
        let task = Task::new(alive);
        let flag = Arc::new(AtomicBool::new(false));
        let theirs = flag.clone();
        let child = thread::spawn(move || {
            while !theirs.load(SeqCst) {
                thread::yield_now();
            }
        });
        thread::park_timeout(Duration::ZERO);
        flag.store(true, SeqCst);
        child.join().unwrap();
        task.finish();
    }
    for body in [condvar, park, channel, spinning] {
        give_up_everywhere(&Alive::default(), &Options::default(), body);
        for explorer in EXPLORERS {
            let alive = Alive::default();
            let theirs = alive.clone();
            let checker = Checker::new().explorer(explorer).max_executions(50);
            checker.check(move || body(&theirs));
            assert_eq!(alive.now(), 0, "{explorer}");
        }
    }
}

/// It waits for something that happens in every execution.
#[test]
fn a_destructor_that_waits_gets_what_it_waits_for() {
    struct Waits(Arc<AtomicBool>);
    impl Drop for Waits {
        fn drop(&mut self) {
            while !self.0.load(SeqCst) {
                thread::yield_now();
            }
        }
    }
    fn body(alive: &Alive) {
        let task = Task::new(alive);
        let flag = Arc::new(AtomicBool::new(false));
        let waits = Waits(flag.clone());
        let child = thread::spawn(move || flag.store(true, SeqCst));
        drop(waits);
        child.join().unwrap();
        task.finish();
    }
    give_up_everywhere(&Alive::default(), &Options::default(), body);
}

/// An execution with no end in sight is left behind: none of its destructors run.
#[test]
fn what_comes_to_no_end_is_left_behind() {
    let alive = Alive::default();
    let theirs = alive.clone();
    let body = move || {
        let task = Task::new(&theirs);
        let value = AtomicU32::new(0);
        // It does not say that it spins.
        while value.fetch_add(1, SeqCst) != u32::MAX {}
        task.finish();
    };
    let mut program = Program::new(std::sync::Arc::new(body), &Options::default());
    let main = Move {
        thread: ThreadId::MAIN,
        choice: 0,
    };
    for count in 0..3 {
        program.restart();
        program.step(main, &mut Observed::default()).unwrap();
        assert_eq!(alive.now(), count + 1);
    }
    drop(program);
    assert_eq!(alive.now(), 3);
}

/// As much may be left behind as there is room for. Then the check ends, and says why.
#[test]
fn what_is_left_behind_is_limited() {
    let checker = Checker::new().explorer("random").reruns(0);
    let report = checker.max_executions(10_000_000).check(|| {
        let value = AtomicU32::new(0);
        raddle::assume(value.load(SeqCst) > 0);
    });
    assert!(!report.complete && report.executions < 10_000_000);
    let kinds: Vec<Assumed> = report.assumptions.iter().map(|one| one.kind).collect();
    assert!(kinds.contains(&Assumed::Memory), "{kinds:?}");
    assert!(!kinds.contains(&Assumed::Executions), "{kinds:?}");
}

/// Statics are dropped after each execution, whatever their destructors do.
#[test]
fn statics_with_destructors_that_misbehave() {
    struct Waits(AtomicU32);
    impl Drop for Waits {
        fn drop(&mut self) {
            while self.0.load(SeqCst) == 0 {
                thread::yield_now();
            }
        }
    }
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("nobody drops a static");
        }
    }
    static WAITS: Mutex<Option<Waits>> = Mutex::new(None);
    static PANICS: Mutex<Option<Panics>> = Mutex::new(None);
    static COUNTED: Mutex<Option<Arc<u32>>> = Mutex::new(None);
    let report = Checker::new().run(|| {
        let child = thread::spawn(|| *COUNTED.lock().unwrap() = Some(Arc::new(1)));
        *COUNTED.lock().unwrap() = Some(Arc::new(2));
        *PANICS.lock().unwrap() = Some(Panics);
        child.join().unwrap();
    });
    assert!(report.unwrap().complete);
    let report = Checker::new().run(|| {
        let child = thread::spawn(|| *COUNTED.lock().unwrap() = Some(Arc::new(1)));
        *COUNTED.lock().unwrap() = Some(Arc::new(2));
        *WAITS.lock().unwrap() = Some(Waits(AtomicU32::new(0)));
        child.join().unwrap();
    });
    assert!(report.unwrap().complete);
}

/// What the threads of a random program share. Its invariants hold whenever it is dropped.
struct Shared {
    flags: [AtomicBool; 2],
    mutex: Mutex<i32>,
    condvar: Condvar,
    running: AtomicU32,
    alive: Alive,
}

impl Drop for Shared {
    fn drop(&mut self) {
        assert_eq!(*self.running.get_mut(), 0, "dropped while threads run");
        assert_eq!(*self.mutex.get_mut().unwrap(), 0, "dropped half-way");
        self.alive.0.fetch_sub(1, StdSeqCst);
    }
}

/// One action of a random program. What it makes is finished when it is dropped.
fn act(shared: &Shared, code: u64) {
    let (what, with) = (code % 8, (code / 8) as usize);
    let flag = &shared.flags[with % 2];
    let task = Task::new(&shared.alive);
    match what {
        0 => flag.store(true, SeqCst),
        1 => {
            *shared.mutex.lock().unwrap() += 1;
            *shared.mutex.lock().unwrap() -= 1;
        }
        2 => {
            let mut rounds = 0;
            while !flag.load(SeqCst) && rounds < 3 {
                rounds += with / 2;
                thread::yield_now();
            }
        }
        3 => shared.condvar.notify_all(),
        4 => {
            let guard = shared.mutex.lock().unwrap();
            drop(shared.condvar.wait_timeout(guard, Duration::ZERO).unwrap());
        }
        5 => thread::park_timeout(Duration::ZERO),
        6 => {
            let inner = Task::new(&shared.alive);
            let _ = flag.swap(false, SeqCst);
            inner.finish();
        }
        _ => {
            let _ = flag.compare_exchange(false, true, SeqCst, SeqCst);
        }
    }
    task.finish();
}

/// A random program, which says what is alive.
fn random_program(codes: &[Vec<u64>], alive: &Alive) {
    alive.0.fetch_add(1, StdSeqCst);
    let shared = Arc::new(Shared {
        flags: [AtomicBool::new(false), AtomicBool::new(false)],
        mutex: Mutex::new(0),
        condvar: Condvar::new(),
        running: AtomicU32::new(0),
        alive: alive.clone(),
    });
    let whole = Task::new(alive);
    let children: Vec<_> = codes[1..]
        .iter()
        .map(|codes| {
            shared.running.fetch_add(1, SeqCst);
            let (codes, shared) = (codes.clone(), shared.clone());
            thread::spawn(move || {
                codes.iter().for_each(|&code| act(&shared, code));
                shared.running.fetch_sub(1, SeqCst);
            })
        })
        .collect();
    codes[0].iter().for_each(|&code| act(&shared, code));
    if codes[0].len() != 2 {
        children.into_iter().for_each(|child| child.join().unwrap());
    }
    whole.finish();
}

/// Random programs whose destructors assert what holds in every execution: no check fails because of that, whoever
/// explores, and nothing is left of a program that does not fail.
#[test]
fn destructors_of_random_programs_never_see_what_is_half_done() {
    let programs = std::env::var("RADDLE_TEST_PROGRAMS").map_or(48, |count| count.parse().unwrap());
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let (mut complete, mut failed) = (0, 0);
    for number in 0..programs {
        let codes: Vec<Vec<u64>> = (0..2 + random.below(2))
            .map(|_| (0..1 + random.below(3)).map(|_| random.below(48)).collect())
            .collect();
        let check = |explorer, backend, executions| {
            let alive = Alive::default();
            let (theirs, codes) = (alive.clone(), codes.clone());
            let checker = Checker::new().explorer(explorer).backend(backend);
            let checked = checker.max_executions(executions);
            let checked = checked.run(move || random_program(&codes, &theirs));
            if let Err(failed) = &checked {
                let kind = failed.failure.kind;
                assert!(
                    matches!(kind, FailureKind::Deadlock | FailureKind::LiveLock),
                    "{explorer}: {}",
                    failed.text
                );
            }
            (checked, alive.now())
        };
        let is_right = match check("optimal", Backend::Coroutines, 1_000) {
            (Ok(report), left) => {
                assert!(left == 0 || !report.complete, "{codes:?}");
                report.complete
            }
            (Err(_), _) => {
                failed += 1;
                false
            }
        };
        let explorer = EXPLORERS[number % EXPLORERS.len()];
        let backend = match number % 6 {
            0 => Backend::Threads,
            _ => Backend::Coroutines,
        };
        let (checked, left) = check(explorer, backend, 100);
        if is_right {
            complete += 1;
            assert!(checked.is_ok() && left == 0, "{explorer}: {codes:?}");
        }
    }
    println!("{complete} programs are right, {failed} fail");
    assert!(complete > programs / 4 && failed > 0);
}

struct Counts(Arc<AtomicU32>);

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// That dropping a reference is a step is learned from the destructor that makes an operation. Here, the first execution that comes to the
/// destructor is an infeasible one that is run on: nobody unparks the thread, and it was chosen not to time out. What is learned there must
/// wait until the exploration begins again; the executions after it were not those that the explorer knew, and failed as not determined.
#[test]
fn what_is_learned_while_an_execution_is_run_on_waits() {
    for explorer in ["optimal", "dfs", "iterative", "algorithm2"] {
        for workers in [1, 2] {
            let report = Checker::new()
                .explorer(explorer)
                .workers(workers)
                .check(|| {
                    let count = Arc::new(AtomicU32::new(0));
                    let counts = Arc::new(Counts(count.clone()));
                    drop(counts.clone());
                    let child = thread::spawn(move || {
                        thread::park_timeout(Duration::from_millis(1));
                        drop(counts);
                    });
                    child.join().unwrap();
                    assert_eq!(count.load(SeqCst), 1);
                });
            assert_eq!(report.executions, 1, "{explorer}: {report:?}");
        }
    }
}

/// What a thread has seen of several atomics need not be true of all of them at once. Where a scout has the values of one thread that waits, the code under test
/// must not run on with them: here the token would be taken twice, as a list would be whose nodes are freed then.
#[test]
fn what_one_waiting_thread_has_seen_is_no_state_to_run_on_from() {
    static TAKEN_TWICE: AtomicUsize = AtomicUsize::new(0);
    let report = Checker::new().memory(Memory::Rc11).check(|| {
        let is_free = Arc::new(AtomicBool::new(true));
        let is_ready = Arc::new(AtomicBool::new(false));
        let taken = Alive::default();
        let take = |is_free: &AtomicBool, taken: &Alive| {
            if is_free.swap(false, SeqCst) && taken.0.fetch_add(1, StdSeqCst) > 0 {
                TAKEN_TWICE.fetch_add(1, StdSeqCst);
            }
        };
        let threads = [
            {
                let (is_free, taken) = (is_free.clone(), taken.clone());
                thread::spawn(move || take(&is_free, &taken))
            },
            {
                let (is_free, is_ready, taken) = (is_free, is_ready.clone(), taken);
                thread::spawn(move || {
                    let _ = is_free.load(Relaxed);
                    while !is_ready.load(Acquire) {
                        thread::yield_now();
                    }
                    take(&is_free, &taken);
                })
            },
            thread::spawn(move || is_ready.store(true, Release)),
        ];
        for thread in threads {
            thread.join().unwrap();
        }
    });
    assert!(report.exhausted);
    assert_eq!(TAKEN_TWICE.load(StdSeqCst), 0);
}
