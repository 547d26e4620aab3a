//! Steps do not allocate: neither the interpreter, nor what the search does around
//! it for each state (canonical form, encoding, decoding).
//!
//! A global allocator counts the allocations of each thread. Each model of the benchmark
//! takes the same walk twice: once for the buffers to grow, once to be counted.

#![expect(
    unsafe_code,
    reason = "a global allocator cannot be written without it"
)]

use std::alloc::{GlobalAlloc, Layout, System as SystemAllocator};
use std::cell::Cell;
use std::sync::Arc;

use raddle_explore::{Choice, Footprint, Guard, Packed, Position, Status, Step, System};
use raddle_lang::Source;
use raddle_machine::{Granularity, Machine};

const STEPS: u32 = 10_000;

thread_local! {
    /// How often this thread has allocated. It has no destructor and needs no
    /// initialisation, so the allocator may use it at any time.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The allocator of the system, with a counter.
struct Counting;

// SAFETY: every call is passed on to the allocator of the system with the same arguments, which
// fulfils the contract; counting touches nothing but a `Cell` of the current thread.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`, which is that of this method.
        unsafe { SystemAllocator.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above; and all memory comes from the allocator of the system.
        unsafe { SystemAllocator.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as above; and all memory comes from the allocator of the system.
        unsafe { SystemAllocator.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Everything that is made once and reused.
struct Walk {
    machine: Machine,
    initial: <Machine as System>::State,
    state: <Machine as System>::State,
    step: Step<<Machine as System>::State>,
    packed: Packed,
    guards: Vec<Guard>,
    reads: Footprint,
}

impl Walk {
    fn new(name: &str, text: &str) -> Self {
        let (program, problems) = raddle_machine::load(Source::new(name, text));
        assert!(problems.is_empty(), "{name} has problems");
        let program = program.expect("a program without problems");
        let mut machine = Machine::new(Arc::new(program), Granularity::Access);
        Self {
            initial: machine.initial(),
            machine,
            state: <Machine as System>::State::default(),
            step: Step::default(),
            packed: Packed::default(),
            guards: Vec::new(),
            reads: Vec::new(),
        }
    }

    /// A random walk from the initial state, and again when everything has ended. Gives
    /// how many steps moved.
    fn run(&mut self) -> u32 {
        let Self {
            machine,
            initial,
            state,
            step,
            packed,
            guards,
            reads,
        } = self;
        let mut random = 0x2545_F491_4F6C_DD1D_u64;
        let mut moved = 0;
        let mut stuck = 0;
        state.clone_from(initial);
        for _ in 0..STEPS {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let threads = machine.thread_count(state) as u64;
            let thread = Position((random % threads) as u32);
            machine.step(state, thread, Choice::FIRST, step);
            for access in &step.footprint {
                guards.clear();
                reads.clear();
                machine.guards(state, thread, access, guards);
                machine.owns(state, thread, access.location);
                machine.declared(state, thread, access, reads);
            }
            if step.status == Status::Moved {
                machine.canonicalise(&mut step.after);
                machine.encode(&step.after, packed);
                machine.decode(packed.words(), state);
                moved += 1;
                stuck = 0;
            } else {
                stuck += 1;
                if stuck > 100 {
                    state.clone_from(initial);
                }
            }
        }
        moved
    }
}

#[test]
fn a_step_does_not_allocate() {
    let models = [
        ("bakery", include_str!("../models/bakery.rad")),
        ("filter-lock", include_str!("../models/filter-lock.rad")),
        ("philosophers", include_str!("../models/philosophers.rad")),
        (
            "readers-writers",
            include_str!("../models/readers-writers.rad"),
        ),
        (
            "counters-private",
            include_str!("../models/counters-private.rad"),
        ),
        (
            "counters-shared",
            include_str!("../models/counters-shared.rad"),
        ),
    ];
    let disciplined = "mutex m; int x guarded_by m, mine[2] thread_local; int owner, buffer;
        exclusive buffer when (owner == tid);
        struct Node { mutex guard; int v guarded_by guard; }; Node* n;
        void worker() {
            while (true) {
                lock(m); x = 1 - x; unlock(m);
                mine[tid] = 1 - mine[tid];
                if (owner == tid) { buffer = 1 - buffer; owner = 1 - tid; }
                Node* a = new Node; a->v = 1; n = a;
            }
        }
        run worker()[2];";
    let models = models.into_iter().chain([("disciplined", disciplined)]);
    for (name, text) in models {
        let mut walk = Walk::new(name, text);
        let warm_up = walk.run();
        let before = ALLOCATIONS.get();
        assert!(before > 0, "the counter counts");
        let moved = walk.run();
        let allocations = ALLOCATIONS.get() - before;
        assert_eq!(moved, warm_up, "the same walk");
        assert!(moved > STEPS / 10, "{name}: only {moved} steps moved");
        assert_eq!(
            allocations, 0,
            "{name}: {allocations} allocations in {moved} steps"
        );
    }
}
