//! The `.rad` language: from text to a checked program.
//!
//! ```
//! let source = raddle_lang::Source::new("counter.rad", "int x; void main() { x = 1; }");
//! let (tree, problems) = raddle_lang::parse(&source);
//! assert!(problems.is_empty());
//! assert_eq!(tree.items.len(), 2);
//! ```

pub mod ast;
pub mod diagnostic;
mod parser;
mod span;
mod token;

pub use diagnostic::{Diagnostic, Severity, Style};
pub use parser::parse;
pub use span::{LineColumn, Source, Span};
