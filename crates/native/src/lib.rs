//! Steps of `.rad` programs as native code.
//!
//! [`compile`] makes one function for each instruction at which a step can begin. It executes the step in the words of a
//! state, as the [interpreter](raddle_machine) would, and writes down the accesses. What it cannot
//! execute, it leaves to the interpreter: at such an instruction it gives up, and the machine executes the
//! step again. These are calls and what comes back from them, the heap, spawned threads, waiting and notifying,
//! channels, read locks and choices. Failures are left to the interpreter as well.
//!
//! # Why it is safe
//!
//! Compiled code reads and writes four things, and nothing else:
//!
//! 1. **Global slots**, `words[0..globals]`. Slots that the code names are below `globals` (checked when it is
//!    compiled); slots that are computed are compared with it first, and the code gives up if they are not.
//! 2. **Registers**, `words[registers..registers + frame_size]`. Numbers of registers that the code names are
//!    below the frame size of its function (checked when it is compiled), computed ones are compared with the number of
//!    registers that are alive.
//! 3. **The table of atomic slots**, at the number of a slot that was checked. It lives as long as the code.
//! 4. **The frame** that the caller lends it: the number of accesses is compared with the room for them before each one
//!    but the first.
//!
//! [`NativeCode::step`] compares the length of `words` with what 1 and 2 need before it calls the function.
//! A function ends: every jump backwards takes one of a fixed number of turns, and it gives up when these are used up.
//! Whether it does what the interpreter does is a matter of tests, which compare both step by step.

mod emit;
mod region;

use std::fmt;
use std::sync::Arc;

use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Linkage, Module};
use raddle_machine::Program;
use raddle_machine::native::{Bytecode, NativeCode, NativeFrame, NativeStatus};

use region::Region;

/// What a compiled function returns: one of these in the low byte, an instruction from bit 32.
pub(crate) mod status {
    pub(crate) const MOVED: u8 = 0;
    pub(crate) const RETURNED: u8 = 1;
    pub(crate) const BLOCKED: u8 = 2;
    pub(crate) const CUT: u8 = 3;
    pub(crate) const GAVE_UP: u8 = 4;
}

/// Programs with more code than this in all steps together are compiled in part: steps overlap, so code can be
/// much larger than the program.
const MOST_NODES: usize = 100_000;

/// The words, the registers of the current frame, and the frame that is lent.
type Function = unsafe extern "C" fn(*mut i64, *mut i64, *mut NativeFrame) -> u64;

/// The compiled steps of a program.
struct Compiled {
    /// Owns the code. It is not touched again before everything is dropped.
    module: Option<JITModule>,
    /// By the instruction at which the step begins.
    functions: Vec<Option<Function>>,
    globals: usize,
    frame_sizes: Vec<u32>,
    /// The code reads it: it must stay where it is.
    _atomic_slots: Box<[u8]>,
    places: usize,
    not_compiled: usize,
}

// SAFETY: after it was made, only `functions` and numbers are used until it is dropped, by whoever is the last owner. The functions
// have no state: they work on what they are lent.
unsafe impl Send for Compiled {}
// SAFETY: as above.
unsafe impl Sync for Compiled {}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let compiled = self.places - self.not_compiled;
        write!(f, "Compiled({compiled} of {} places)", self.places)
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: the functions are dropped with this, and none is running: running one borrows it.
            unsafe { module.free_memory() };
        }
    }
}

impl NativeCode for Compiled {
    #[inline]
    fn step(
        &self,
        pc: u32,
        words: &mut [i64],
        registers: usize,
        frame: &mut NativeFrame,
    ) -> NativeStatus {
        let Some(function) = self.functions[pc as usize] else {
            return NativeStatus::GaveUp;
        };
        let end = registers + self.frame_sizes[pc as usize] as usize;
        assert!(
            self.globals <= registers && end <= words.len(),
            "the frame lies behind the globals, and within the words"
        );
        let words = words.as_mut_ptr();
        // SAFETY: the function was compiled for this signature, and it stays within the globals, the
        // frame of its registers, both of which the words have room for, and `frame`. See the module.
        let result = unsafe { function(words, words.add(registers), frame) };
        let at = (result >> 32) as u32;
        match result as u8 {
            status::MOVED => NativeStatus::Moved(at),
            status::RETURNED => NativeStatus::Returned(at),
            status::BLOCKED => NativeStatus::Blocked(false, at),
            status::CUT => NativeStatus::Blocked(true, at),
            _ => NativeStatus::GaveUp,
        }
    }

    fn places(&self) -> (usize, usize) {
        (self.places, self.not_compiled)
    }
}

/// Compiles the steps of a program, as far as possible. `None` if there is no code generator for this computer.
///
/// # Panics
///
/// If the code generator rejects what it is given, which is an error of this crate.
#[must_use]
pub fn compile(program: &Program) -> Option<Arc<dyn NativeCode>> {
    let bytecode = Bytecode::of(program);
    let mut flags = settings::builder();
    for (name, value) in [("opt_level", "none"), ("is_pic", "false")] {
        flags.set(name, value).expect("a flag that exists");
    }
    let flags = settings::Flags::new(flags);
    let isa = cranelift_native::builder().ok()?.finish(flags).ok()?;
    let config = isa.frontend_config();
    let atomic_slots: Box<[u8]> = bytecode
        .atomic_slots
        .iter()
        .copied()
        .map(u8::from)
        .collect();
    let builder = JITBuilder::with_isa(isa, cranelift_module::default_libcall_names());
    let mut module = JITModule::new(builder);
    let mut context = module.make_context();
    let mut builder_context = FunctionBuilderContext::new();
    let mut ids = vec![None; bytecode.code.len()];
    let (mut nodes, mut places, mut not_compiled) = (0, 0, 0);
    for pc in bytecode.functions.iter().cloned().flatten() {
        if !bytecode.code[pc as usize].is_visible() {
            continue;
        }
        places += 1;
        let region = (nodes < MOST_NODES).then(|| Region::of(&bytecode, pc));
        let Some(region) = region.flatten() else {
            not_compiled += 1;
            continue;
        };
        nodes += region.len();
        emit::function(
            &bytecode,
            &atomic_slots,
            &region,
            config,
            &mut context.func,
            &mut builder_context,
        );
        let id = module
            .declare_function(
                &format!("step{pc}"),
                Linkage::Local,
                &context.func.signature,
            )
            .expect("a function that was not declared");
        module
            .define_function(id, &mut context)
            .expect("code that is well formed");
        module.clear_context(&mut context);
        ids[pc as usize] = Some(id);
    }
    module.finalize_definitions().ok()?;
    let function = |id| {
        let code = module.get_finalized_function(id);
        // SAFETY: `emit` gives all functions the signature of `Function`.
        unsafe { std::mem::transmute::<*const u8, Function>(code) }
    };
    let functions = ids.into_iter().map(|id| id.map(function)).collect();
    Some(Arc::new(Compiled {
        functions,
        module: Some(module),
        globals: bytecode.globals,
        frame_sizes: bytecode.frame_sizes,
        _atomic_slots: atomic_slots,
        places,
        not_compiled,
    }))
}
