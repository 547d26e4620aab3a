//! The machine that runs `.rad` programs.
//!
//! A checked program is [compiled](compile) to register bytecode; a [`Machine`]
//! executes it one step at a time, and is all that the search sees of it: it implements
//! [`raddle_explore::System`].

mod accessed;
mod canonical;
mod choices;
mod compile;
pub mod counterexample;
pub mod events;
mod exclusive;
mod execute;
pub mod explain;
mod local;
mod machine;
mod names;
pub mod narrate;
#[doc(hidden)]
pub mod native;
#[doc(hidden)]
pub mod op;
mod orders;
mod pack;
mod program;
mod state;
mod symmetry;
mod word;

pub use compile::compile;
pub use machine::Machine;
pub use program::{Granularity, Program};
pub use state::State;
pub use symmetry::Symmetry;

use raddle_lang::{Diagnostic, Source};

/// Parses, checks and compiles a program. Without errors among the diagnostics, there is a
/// program.
#[must_use]
pub fn load(source: Source) -> (Option<Program>, Vec<Diagnostic>) {
    let (checked, mut diagnostics) = raddle_lang::analyse(&source);
    let program = checked.and_then(|checked| match compile(checked, source) {
        Ok(program) => Some(program),
        Err(problem) => {
            diagnostics.push(problem);
            None
        }
    });
    (program, diagnostics)
}
