//! The formatter.
//!
//! It moves tokens and never touches them: the output has the same tokens and the same
//! comments as the input, and formatting it again changes nothing.
//!
//! - Four spaces per level, braces as in K&R, `} else {` on one line.
//! - Lines are broken between statements. Statements that were written on one line stay
//!   on one line if they fit in 80 columns: `lock(m); x++; unlock(m);`. The same holds
//!   for blocks, functions and declarations: `void f() { x = 1; }`. If they do not fit,
//!   each gets its own line and its blocks are opened up.
//! - The body of an `if` or a loop that is no block stays where it was: on the same line
//!   or indented on the next.
//! - A label on its own line is set one level to the left of its statement.
//! - Within a statement, lines may be broken after commas and before `||`, `&&` and
//!   `==>`. There they stay broken, elsewhere they are joined. A line of over 100
//!   columns is broken, in as few brackets as possible.
//! - Up to one blank line is kept between statements and between declarations.
//! - A comment stays at the end of a line, or on a line of its own, or in between.
//!   Comments at the ends of successive lines stay aligned if they were.

mod layout;
mod print;
mod spacing;
mod text;

#[cfg(test)]
mod tests;

use crate::diagnostic::Diagnostic;
use crate::parser::{ParsedSource, parse_tokens};
use crate::span::Source;

use text::Text;

/// Beyond this column, what was on one line is taken apart.
const JOINED_WIDTH: usize = 80;
/// Beyond this column, a line is broken.
const LINE_WIDTH: usize = 100;
/// How far one level is indented.
const INDENT: usize = 4;

/// The program in the standard layout; errors if it is no program.
pub fn format(source: &Source) -> Result<String, Vec<Diagnostic>> {
    let ParsedSource {
        problems,
        tokens,
        marks,
        ..
    } = parse_tokens(source);
    if !problems.is_empty() {
        return Err(problems);
    }
    let text = Text::new(source, tokens, &marks);
    let gaps = layout::layout(&text);
    Ok(print::print(&text, &gaps))
}
