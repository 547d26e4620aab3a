//! What a thread runs on: a coroutine, or a real thread that waits for its turn.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex};

use corosensei::stack::{DefaultStack, Stack as _};
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::{Runtime, unwinding};

/// What threads run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// Coroutines: all on one real thread, which is fast.
    #[default]
    Coroutines,
    /// Real threads that run one at a time: for code with thread-locals of the standard library,
    /// and for debuggers.
    Threads,
}

/// How many stacks are kept that were abandoned.
const ABANDONED_STACKS: usize = 512;

/// What runs on a fiber.
pub(crate) type Run = Box<dyn FnOnce()>;

/// A thread, seen by who lets it run.
pub(crate) enum Fiber {
    Coroutine {
        coroutine: Coroutine<(), (), (), DefaultStack>,
        /// Where its stack ends.
        limit: usize,
        /// How many panics unwound it when it stopped.
        panics: u32,
    },
    Thread(RealThread),
}

/// The same thread, seen from inside.
#[derive(Clone, Copy)]
pub(crate) enum Suspender {
    Coroutine(*const Yielder<(), ()>),
    Thread(*const Turn),
}

impl Suspender {
    /// Lets the scheduler go on, and returns when it is this thread's turn again.
    ///
    /// # Safety
    ///
    /// It must be called on the fiber that it belongs to.
    #[inline]
    pub(crate) unsafe fn suspend(self) {
        match self {
            // SAFETY: the yielder lives on the stack of the coroutine that is running.
            Self::Coroutine(yielder) => unsafe { (*yielder).suspend(()) },
            // SAFETY: the thread that is running keeps its turn alive.
            Self::Thread(turn) => unsafe {
                (*turn).give(Whose::Scheduler);
                (*turn).wait_for(Whose::Fiber);
            },
        }
    }
}

/// The runtime itself needs some of a stack.
const LEAST_STACK: usize = 16 * 1024;
/// No machine has more memory than this.
const MOST_STACK: usize = usize::MAX >> 8;

fn allocate(size: usize) -> DefaultStack {
    DefaultStack::new(size.min(MOST_STACK)).unwrap_or_else(|error| {
        panic!("raddle: no memory for the stack of a thread, of {size} bytes: {error}")
    })
}

/// Makes the memory of a stack that nobody uses zero. A check must not depend on what the one before has left there: what a thread that polls has on its stack is
/// [compared](super::polling), leftovers included.
fn forget_contents(stack: &DefaultStack) {
    let (limit, base) = (stack.limit().get(), stack.base().get());
    #[cfg(target_os = "linux")]
    // SAFETY: the memory is a private mapping of the stack's own, whose pages are zero when they are needed again. Nobody runs on it.
    unsafe {
        libc::madvise(
            limit as *mut libc::c_void,
            base - limit,
            libc::MADV_DONTNEED,
        );
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (limit, base);
}

/// Makes fibers, and keeps the stacks of those that have ended.
pub(crate) struct Fibers {
    backend: Backend,
    stack_size: usize,
    stacks: Vec<DefaultStack>,
    /// Those whose frames were abandoned. Nothing should refer to them, but if something outside of the execution
    /// does, it will not find something else there for a long time.
    abandoned: VecDeque<DefaultStack>,
}

impl Fibers {
    pub(crate) fn new(backend: Backend, stack_size: usize) -> Self {
        Self {
            backend,
            stack_size: stack_size.max(LEAST_STACK),
            stacks: Vec::new(),
            abandoned: VecDeque::new(),
        }
    }

    /// The same, without stacks.
    pub(crate) fn empty(&self) -> Self {
        Self::new(self.backend, self.stack_size)
    }

    /// A fiber that, when it is resumed for the first time, tells `runtime` how to suspend
    /// the current thread, and then runs. Its stack has this size at least.
    pub(crate) fn start(
        &mut self,
        runtime: *const Runtime,
        size: usize,
        run: impl FnOnce() + 'static,
    ) -> Fiber {
        match self.backend {
            Backend::Coroutines => {
                let stack = self.stack_of(size);
                let limit = stack.limit().get();
                let coroutine = Coroutine::with_stack(stack, move |yielder, ()| {
                    // SAFETY: who resumes the fiber has the runtime.
                    unsafe { (*runtime).entered(Suspender::Coroutine(yielder)) };
                    run();
                });
                Fiber::Coroutine {
                    coroutine,
                    limit,
                    panics: 0,
                }
            }
            Backend::Threads => {
                let size = size.max(self.stack_size);
                Fiber::Thread(RealThread::start(runtime, Box::new(run), size))
            }
        }
    }

    fn stack_of(&mut self, size: usize) -> DefaultStack {
        if size <= self.stack_size {
            return self.stacks.pop().unwrap_or_else(|| self.new_stack());
        }
        let length = |stack: &DefaultStack| stack.base().get() - stack.limit().get();
        let large = self.stacks.iter().position(|stack| length(stack) >= size);
        match large {
            Some(index) => self.stacks.swap_remove(index),
            None => allocate(size),
        }
    }

    fn new_stack(&self) -> DefaultStack {
        let spare = SPARE_STACKS.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            let index = spare.iter().position(|spare| spare.0 == self.stack_size)?;
            Some(spare.swap_remove(index).1)
        });
        (spare.ok().flatten()).unwrap_or_else(|| allocate(self.stack_size))
    }

    /// Takes back the stack of a fiber that has ended.
    pub(crate) fn recycle(&mut self, fiber: Fiber) {
        if let Fiber::Coroutine { coroutine, .. } = fiber {
            self.stacks.push(coroutine.into_stack());
        }
    }

    /// Gives up a fiber without running it to its end: what its frames own is leaked.
    pub(crate) fn abandon(&mut self, fiber: Fiber) {
        match fiber {
            Fiber::Coroutine { mut coroutine, .. } => {
                // SAFETY: the frames are never entered again. What they own is leaked, and what borrows from
                // them belongs to threads of the same execution, which are abandoned too or have ended.
                unsafe { coroutine.force_reset() };
                self.abandoned.push_back(coroutine.into_stack());
                if self.abandoned.len() > ABANDONED_STACKS {
                    self.stacks.extend(self.abandoned.pop_front());
                }
            }
            // The real thread waits for its turn until the end of the process.
            Fiber::Thread(thread) => std::mem::forget(thread),
        }
    }
}

impl Drop for Fibers {
    fn drop(&mut self) {
        // If the thread is about to end, they go now.
        let _ = SPARE_STACKS.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            let room = MOST_SPARE_STACKS.saturating_sub(spare.len());
            let kept = self.stacks.drain(..).take(room);
            spare.extend(kept.map(|stack| {
                forget_contents(&stack);
                (self.stack_size, stack)
            }));
        });
    }
}

impl Fiber {
    /// The addresses below its stack that nobody may touch; none if the system looks after that.
    pub(crate) fn guard(&self) -> std::ops::Range<usize> {
        /// Pages may be larger, but are not smaller.
        const PAGE: usize = 4096;
        match self {
            Self::Coroutine { limit, .. } => *limit..limit + PAGE,
            Self::Thread(_) => 0..0,
        }
    }

    /// Lets it run until it suspends itself (`false`) or ends (`true`).
    pub(crate) fn resume(&mut self, runtime: *const Runtime) -> bool {
        match self {
            Self::Coroutine {
                coroutine, panics, ..
            } => {
                let outer_panics = unwinding::take();
                unwinding::give(*panics);
                let outer = replace_current(runtime);
                let result = coroutine.resume(());
                replace_current(outer);
                *panics = unwinding::take();
                unwinding::give(outer_panics);
                match result {
                    CoroutineResult::Yield(()) => false,
                    CoroutineResult::Return(()) => true,
                }
            }
            Self::Thread(thread) => thread.resume(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Scheduler,
    Fiber,
    /// The fiber has ended.
    Nobodys,
}

/// Whose turn it is.
pub(crate) struct Turn {
    whose: Mutex<Whose>,
    changed: Condvar,
}

impl Turn {
    fn give(&self, to: Whose) {
        *self.lock() = to;
        self.changed.notify_all();
    }

    fn wait_for(&self, mine: Whose) -> Whose {
        let mut whose = self.lock();
        while *whose != mine && *whose != Whose::Nobodys {
            whose = self
                .changed
                .wait(whose)
                .unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        *whose
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Whose> {
        self.whose
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A real thread that runs when it is its turn.
pub(crate) struct RealThread {
    turn: Arc<Turn>,
    handle: Option<std::thread::JoinHandle<()>>,
}

/// Something that moves to another thread although its type does not say that it may.
struct Handed<T>(T);

// SAFETY: only one of the threads of a runtime runs at a time, and the turn is handed over under a
// mutex. Bodies of threads were `Send` when they were given to the runtime.
unsafe impl<T> Send for Handed<T> {}

impl RealThread {
    fn start(runtime: *const Runtime, run: Run, stack_size: usize) -> Self {
        let turn = Arc::new(Turn {
            whose: Mutex::new(Whose::Scheduler),
            changed: Condvar::new(),
        });
        let inside = turn.clone();
        let handed = Handed((runtime, run));
        let handle = std::thread::Builder::new()
            .stack_size(stack_size)
            .spawn(move || {
                let Handed((runtime, run)) = { handed };
                inside.wait_for(Whose::Fiber);
                // SAFETY: the runtime lives until all of its fibers have ended or were abandoned; those never
                // get their turn.
                unsafe {
                    replace_current(runtime);
                    (*runtime).entered(Suspender::Thread(&raw const *inside));
                }
                // A panic was caught below, so this is only for what was not expected.
                let ended = catch_unwind(AssertUnwindSafe(run));
                replace_current(std::ptr::null());
                drop(ended);
                inside.give(Whose::Nobodys);
            })
            .expect("raddle: no more threads");
        Self {
            turn,
            handle: Some(handle),
        }
    }

    fn resume(&mut self) -> bool {
        self.turn.give(Whose::Fiber);
        let ended = self.turn.wait_for(Whose::Scheduler) == Whose::Nobodys;
        if ended && let Some(handle) = self.handle.take() {
            // Its destructors of real thread-locals have run then.
            drop(handle.join());
        }
        ended
    }
}

/// A check of a few threads is over sooner than the system has made their stacks.
const MOST_SPARE_STACKS: usize = 16;

thread_local! {
    /// Stacks, and how large they were asked for, that checks before have left to those that come.
    static SPARE_STACKS: RefCell<Vec<(usize, DefaultStack)>> = const { RefCell::new(Vec::new()) };
    static CURRENT: Cell<*const Runtime> = const { Cell::new(std::ptr::null()) };
}

#[inline]
fn replace_current(runtime: *const Runtime) -> *const Runtime {
    with_current(|current| current.replace(runtime))
}

/// Does something as if it were code under test.
pub(super) fn with_runtime(runtime: *const Runtime, code: impl FnOnce()) {
    let outer = replace_current(runtime);
    code();
    replace_current(outer);
}

#[inline]
pub(super) fn current() -> *const Runtime {
    with_current(Cell::get)
}

/// The thread-local has no destructor, so it is there as long as the thread is. (Unlike `with`, `try_with` is inlined: this is called several times per step, and
/// whenever memory is freed.)
#[inline]
fn with_current(use_it: impl FnOnce(&Cell<*const Runtime>) -> *const Runtime) -> *const Runtime {
    CURRENT.try_with(use_it).unwrap_or(std::ptr::null())
}
