//! The `.rad` language: from text to a checked program.
//!
//! ```
//! let source = raddle_lang::Source::new("counter.rad", "int x; void main() { x = 1; }");
//! let (tree, problems) = raddle_lang::parse(&source);
//! assert!(problems.is_empty());
//! assert_eq!(tree.items.len(), 2);
//! ```

pub mod ast;
pub mod check;
pub mod diagnostic;
mod format;
pub mod hir;
mod parser;
mod span;
mod token;

pub use diagnostic::{Diagnostic, Severity, Style};
pub use format::format;
pub use parser::parse;
pub use span::{LineColumn, Source, Span};

/// Parses and checks a program. Without errors among the diagnostics, there is a program.
///
/// ```
/// let source = raddle_lang::Source::new("typo.rad", "int count; void main() { cuont = 1; }");
/// let (program, problems) = raddle_lang::analyse(&source);
/// assert!(program.is_none());
/// assert_eq!(problems[0].help, ["did you mean `count`?"]);
/// ```
#[must_use]
pub fn analyse(source: &Source) -> (Option<hir::Program>, Vec<Diagnostic>) {
    let (tree, mut diagnostics) = parse(source);
    // What could not be parsed would only cause more complaints.
    if diagnostics
        .iter()
        .any(|problem| problem.severity == Severity::Error)
    {
        return (None, diagnostics);
    }
    let (program, problems) = check::check(&tree);
    diagnostics.extend(problems);
    (program, diagnostics)
}
