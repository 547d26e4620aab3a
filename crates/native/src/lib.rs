//! Steps of `.rad` programs as native code.
//!
//! A [`NativeMachine`] is a system like the [interpreter](raddle_machine::Machine), whose states are packed words. [`Code`] has one
//! function for each stop at which a step can begin, which executes the step in these words and writes down the accesses. What
//! it cannot execute, it leaves to the interpreter: it gives up, and the machine has the interpreter execute the step. So the
//! interpreter defines what a step is; native code is the same, sooner. Left to it are steps
//!
//! - that fail, since only the interpreter knows what to say about them;
//! - that execute a block of code for the first time, since only the interpreter keeps track of what was executed;
//! - from states in which calls are nested more deeply than the sample of the program showed (or than there can be code for): such states have no fixed size; and steps that call functions beyond that depth, which give up at the call;
//! - from states with very many or very large objects, or after which a thread that has ended disappears;
//! - that spawn a thread;
//! - that break a declared discipline, or keep to one for a reason that is not seen in the words (`disciplines.rs`);
//! - that meet a value which has no code in its field, or take a lock for reading very often without giving it up.
//!
//! # Why it is safe
//!
//! Compiled code reads and writes six things, and nothing else:
//!
//! 1. **Global fields** of the state, below [`Layout::size`](raddle_machine::native::Layout::size) words. Slots that the code names exist (checked when it is
//!    compiled); numbers of slots that are computed are compared with how many there are first, and the code gives up if they are
//!    not below.
//! 2. **Fields of the area of its thread**: those of the frames at the spots where steps begin and end, of the function that the thread starts with and of those that it calls. Whoever calls the
//!    function checks that the state goes on for as long as the longest of them needs: that is the size of the area. Before these come the number of the stop and how often the thread holds locks for reading, at places that are in a
//!    table (4). `notify` also reads and writes the numbers of the stops of other threads, which
//!    no area is without, and reads what a thread waits for where the area of a thread at that stop has it. `join` reads that of a thread that was spawned: their areas come one after another, and its number among them is compared with how many there are, which the caller says.
//! 3. **Constants** of the thread, of which the caller lends as many as all frames have together, and **registers** that are addressed by an index, in memory of the function's own: the index is compared with the number of
//!    registers that are alive in the innermost frame.
//! 4. **Tables** (`tables.rs`), at the number of a slot that was checked, or at the number of a stop, or at a byte. They live as long as the code.
//! 5. **The frame** that the caller lends it: the number of accesses and of choices is compared with the room for them before each
//!    one, but for the only one.
//! 6. **Heap objects**: the caller lends a list of where they begin in the state, each with all of its area. The position in a reference is compared with
//!    how many there are, an offset with the slots that the header of the object says; no code writes that number but for a new object. That one comes behind the state, where
//!    the caller says how far the words go, and there is room for it in the list: both are compared first.
//!
//! `Code::step` compares the length of the state with what 1 and 2 need before it calls the function.
//! A function ends: every jump backwards and every call takes one of a fixed number of turns, and it gives up when these are used up.
//! Whether it does what the interpreter does is a matter of tests, which compare both step by step.

mod disciplines;
mod emit;
mod frame;
mod machine;
mod objects;
mod referred;
mod region;
mod report;
mod state;
mod steps;
mod tables;

use std::fmt;

use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Linkage, Module};
use raddle_machine::Program;
use raddle_machine::native::{Bytecode, Layout, Stop};
use raddle_machine::op::Op;

use frame::NativeFrame;
pub use machine::NativeMachine;
use objects::ROOM;
use region::Region;
pub use report::{Interpreted, Report, Why};
pub use state::PackedState;
use tables::Tables;

/// What a compiled function returns.
pub(crate) mod status {
    pub(crate) const MOVED: u8 = 0;
    pub(crate) const BLOCKED: u8 = 2;
    pub(crate) const CUT: u8 = 3;
    pub(crate) const GAVE_UP: u8 = 4;
}

/// Programs with more code than this in all steps together are compiled in part: steps overlap, so code can be
/// much larger than the program.
const MOST_NODES: usize = 100_000;

/// The bytes of the state, the area of the thread, and the frame that is lent.
type Function = unsafe extern "C" fn(*mut u8, *mut u8, *mut NativeFrame) -> u64;

/// What is being compiled.
struct Compiling<'p> {
    program: &'p Program,
    bytecode: &'p Bytecode,
    tables: &'p Tables,
}

/// A compiled step.
#[derive(Clone, Copy)]
struct StepFunction {
    function: Function,
    /// How many bytes of the area of its thread it needs.
    needed: u32,
    /// Whether it may make a plain access that writes.
    writes_plainly: bool,
    /// Of which kind threads are that were spawned and are there.
    kind: Option<u32>,
    /// How many words it needs behind the state.
    room: u32,
}

/// What happens to a thread that is at a stop.
#[derive(Clone, Copy)]
enum Entry {
    /// It never moves again.
    Stopped,
    /// The step of a function.
    Compiled(StepFunction),
    /// What the interpreter says.
    Interpreted,
}

/// The compiled steps of a program.
pub struct Code {
    /// Owns the code. It is not touched again before everything is dropped.
    module: Option<JITModule>,
    /// By the number of a stop.
    entries: Box<[Entry]>,
    layout: Layout,
    /// How many words a state has.
    size: usize,
    /// The code reads them: they must stay where they are.
    _tables: Box<Tables>,
    places: usize,
    not_compiled: usize,
    /// The instructions that start threads.
    spawns: Vec<u32>,
}

// SAFETY: after it was made, only `entries` and numbers are used until it is dropped, by whoever is the last owner. The functions
// have no state: they work on what they are lent.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let compiled = self.places - self.not_compiled;
        write!(f, "Code({compiled} of {} places)", self.places)
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: the functions are dropped with this, and none is running: running one borrows it.
            unsafe { module.free_memory() };
        }
    }
}

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NativeStatus {
    /// The step was made.
    Moved,
    /// The step is blocked.
    Blocked,
    /// The step is blocked by an assumption.
    Cut,
    /// The interpreter is to execute the step.
    GaveUp,
}

impl NativeStatus {
    /// What it means that a function returns something else than that the step was made.
    #[inline]
    fn of_no_step(status: u8) -> Self {
        match status {
            status::BLOCKED => Self::Blocked,
            status::CUT => Self::Cut,
            _ => Self::GaveUp,
        }
    }
}

impl Code {
    /// Why there is no code for the steps that begin at a stop.
    fn why_not_compiled(&self, stop: usize) -> Why {
        match self.layout.stops.get(stop) {
            Some(stop) if self.spawns.contains(&stop.pc()) => Why::Spawn,
            _ => Why::NotCompiled,
        }
    }

    /// Executes a step of a thread whose area begins at a byte of these words of a state.
    #[inline(always)]
    fn step(
        &self,
        step: &StepFunction,
        words: &mut [u64],
        area: usize,
        frame: &mut NativeFrame,
    ) -> NativeStatus {
        assert!(
            words.len() >= self.size && area + step.needed as usize <= 8 * words.len(),
            "the state has the size that the code is made for"
        );
        let words = words.as_mut_ptr().cast::<u8>();
        // SAFETY: the function was compiled for this signature, and it stays within the state and the area, whose lengths were
        // checked, and `frame`. See the module.
        let result = unsafe { (step.function)(words, words.add(area), frame) };
        match result as u8 {
            status::MOVED => NativeStatus::Moved,
            status => NativeStatus::of_no_step(status),
        }
    }

    /// Compiles the steps of a program, as far as possible. `None` if its states have no common layout, or there is no
    /// code generator for this computer.
    ///
    /// # Panics
    ///
    /// If the code generator rejects what it is given, which is an error of this crate.
    #[must_use]
    pub fn compile(program: &Program) -> Option<Self> {
        if cfg!(target_endian = "big") {
            return None;
        }
        let bytecode = Bytecode::of(program)?;
        let tables = Box::new(Tables::new(program, &bytecode));
        let compiling = Compiling {
            program,
            bytecode: &bytecode,
            tables: &tables,
        };
        let mut flags = settings::builder();
        let verify = if cfg!(debug_assertions) {
            "true"
        } else {
            "false"
        };
        for (name, value) in [
            ("opt_level", "none"),
            ("is_pic", "false"),
            ("enable_verifier", verify),
        ] {
            flags.set(name, value).expect("a flag that exists");
        }
        let flags = settings::Flags::new(flags);
        let isa = cranelift_native::builder().ok()?.finish(flags).ok()?;
        let config = isa.frontend_config();
        let builder = JITBuilder::with_isa(isa, cranelift_module::default_libcall_names());
        let mut module = JITModule::new(builder);
        let mut context = module.make_context();
        let mut builder_context = FunctionBuilderContext::new();
        let mut ids = vec![None; bytecode.layout.stops.len()];
        let (mut nodes, mut places, mut not_compiled) = (0, 0, 0);
        for (number, stop) in bytecode.layout.stops.iter().enumerate() {
            if !is_place(&bytecode, *stop) {
                continue;
            }
            places += 1;
            let region = (nodes < MOST_NODES).then(|| Region::of(&bytecode, *stop));
            let Some(region) = region.flatten() else {
                not_compiled += 1;
                continue;
            };
            nodes += region.len();
            let writes_plainly = emit::function(
                &compiling,
                &region,
                config,
                &mut context.func,
                &mut builder_context,
            );
            let signature = &context.func.signature;
            let id = module
                .declare_function(&format!("step{number}"), Linkage::Local, signature)
                .expect("a function that was not declared");
            module
                .define_function(id, &mut context)
                .expect("code that is well formed");
            module.clear_context(&mut context);
            let room = if region.allocates { ROOM } else { 0 };
            ids[number] = Some((id, region.start.spot, writes_plainly, room));
        }
        module.finalize_definitions().ok()?;
        let mut entries: Vec<Entry> = (ids.into_iter().zip(&bytecode.layout.stops))
            .map(|(id, stop)| match (id, stop) {
                (Some((id, spot, writes_plainly, room)), _) => {
                    let code = module.get_finalized_function(id);
                    // SAFETY: `emit` gives all functions the signature of `Function`.
                    let function = unsafe { std::mem::transmute::<*const u8, Function>(code) };
                    Entry::Compiled(StepFunction {
                        function,
                        needed: bytecode.area_bytes(spot),
                        writes_plainly,
                        kind: bytecode.layout.kinds[spot as usize].map(|kind| kind as u32),
                        room: room as u32,
                    })
                }
                (None, Stop::Stopped(..)) => Entry::Stopped,
                (None, _) => Entry::Interpreted,
            })
            .collect();
        let numbers = if bytecode.layout.stop.wide {
            1 << 16
        } else {
            1 << 8
        };
        entries.resize(numbers, Entry::Interpreted);
        let code = (0..).zip(&bytecode.code);
        let spawns = code.filter(|(_, op)| matches!(op, Op::Spawn { .. }));
        Some(Self {
            spawns: spawns.map(|(pc, _)| pc).collect(),
            entries: entries.into(),
            module: Some(module),
            size: bytecode.layout.size(),
            layout: bytecode.layout,
            _tables: tables,
            places,
            not_compiled,
        })
    }
}

/// Whether steps begin at a stop.
fn is_place(bytecode: &Bytecode, stop: Stop) -> bool {
    let op = bytecode.code[stop.pc() as usize];
    let resumes = matches!(op, Op::Resume { .. });
    match stop {
        Stop::Running(_) => op.is_visible() && !resumes,
        Stop::Waiting(_) | Stop::Notified(_) => resumes,
        Stop::Stopped(..) => false,
    }
}
