//! Compares every reduction with the full search, on random programs.
//!
//! A reduction leaves out schedules because an argument says that they show nothing new.
//! Arguments have holes. So random programs are [made](generate()), [observed](observe) under
//! the full search and under each reduction, and [compared](compare): violations, ends,
//! and above all the sets of local states that each thread can reach. A program on which they
//! disagree is [shrunk](shrink()) to a few lines.

pub mod campaign;
pub mod compare;
pub mod generate;
pub mod lock_sets;
#[cfg(feature = "mutations")]
pub mod mutations;
pub mod observe;
mod print;
pub mod random;
pub mod recorder;
pub mod shrink;
pub mod syntax;

pub use campaign::{Campaign, Failure};
pub use compare::{Aspect, Contender, Disagreement, Examined, examine};
pub use generate::generate;
pub use recorder::Recorder;
pub use shrink::shrink;

use std::sync::Arc;

use raddle_lang::{Severity, Source};
use raddle_machine::Granularity;

/// Compiles the text of a program.
///
/// # Errors
///
/// What is wrong with it, for people.
pub fn compile(text: &str) -> Result<Arc<raddle_machine::Program>, String> {
    let source = Source::new("random.rad", text);
    let (program, problems) = raddle_machine::load(source);
    program.map(Arc::new).ok_or_else(|| {
        let errors = problems
            .iter()
            .filter(|problem| problem.severity == Severity::Error);
        let messages: Vec<_> = errors.map(|problem| problem.message.as_str()).collect();
        messages.join("; ")
    })
}

/// The first line of a program whose statements are steps.
pub(crate) const BY_STATEMENTS: &str = "// by statements";

/// What is one step of a program: its text says so.
#[must_use]
pub fn granularity_of(program: &raddle_machine::Program) -> Granularity {
    match program.source().text.starts_with(BY_STATEMENTS) {
        true => Granularity::Statement,
        false => Granularity::Access,
    }
}
