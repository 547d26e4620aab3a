//! From tokens to a syntax tree: recursive descent, and precedence climbing for
//! operators.
//!
//! A function that parses something returns `Err(Reported)` if it cannot go on;
//! the error is in the list by then. Statements, items and what is in parentheses
//! catch it, skip to a place where things make sense again, and carry on.
//! Mistakes whose meaning is clear (`:=` for `=`) are reported and read as meant.

mod cursor;
mod declarations;
mod expressions;
mod hints;
mod items;
mod loops;
mod marks;
mod recovery;
mod statements;
mod types;

#[cfg(test)]
mod tests;

pub(crate) use marks::{Marks, Role, Start};

use std::collections::HashSet;

use crate::ast::Program;
use crate::diagnostic::Diagnostic;
use crate::span::{Source, Span};
use crate::token::{Token, TokenKind, lex};

/// How deep expressions and statements may nest.
const MAX_DEPTH: usize = 200;

/// After so many errors there is no point in going on.
const MAX_ERRORS: usize = 50;

/// Reads a program. If there are errors, the tree has holes where they are.
#[must_use]
pub fn parse(source: &Source) -> (Program, Vec<Diagnostic>) {
    let parsed = parse_tokens(source);
    (parsed.program, parsed.problems)
}

/// All that is known after parsing.
pub(crate) struct ParsedSource {
    pub(crate) program: Program,
    pub(crate) problems: Vec<Diagnostic>,
    /// All tokens, comments included.
    pub(crate) tokens: Vec<Token>,
    pub(crate) marks: Marks,
}

/// Reads a program, and keeps what the formatter needs.
pub(crate) fn parse_tokens(source: &Source) -> ParsedSource {
    let (tokens, mut problems) = lex(source);
    let mut parser = Parser::new(source, &tokens);
    let program = parser.program();
    problems.append(&mut parser.problems);
    problems.sort_by_key(|problem| problem.span);
    problems.truncate(MAX_ERRORS);
    ParsedSource {
        program,
        problems,
        tokens,
        marks: parser.marks,
    }
}

/// Proof that an error is in the list.
#[derive(Clone, Copy, Debug)]
struct Reported;

type Parsed<T> = Result<T, Reported>;

struct Parser<'s> {
    source: &'s Source,
    /// The tokens without comments; the last is the end of the file.
    tokens: Vec<Token>,
    /// The number of the current token.
    at: usize,
    /// Where the last consumed token ends.
    last_end: u32,
    /// How many nested constructs enclose the current token.
    depth: usize,
    problems: Vec<Diagnostic>,
    /// The token at which the last error was found.
    last_error: Option<usize>,
    /// Whether it has been said that the program nests too deeply.
    told_too_deep: bool,
    /// A brace whose partner is indented less: a suspect if one is missing.
    suspect: Option<Span>,
    /// The names of the structs and enums, which may be words of other languages.
    declared_types: HashSet<&'s str>,
    marks: Marks,
}

impl<'s> Parser<'s> {
    fn new(source: &'s Source, tokens: &[Token]) -> Self {
        let end = source.text.len() as u32;
        let mut tokens: Vec<Token> = tokens
            .iter()
            .filter(|token| !token.kind.is_comment())
            .copied()
            .collect();
        tokens.push(Token {
            kind: TokenKind::EndOfFile,
            span: Span::new(end, end),
        });
        let declared_types = tokens
            .windows(2)
            .filter(|pair| matches!(pair[0].kind, TokenKind::Struct | TokenKind::Enum))
            .map(|pair| source.snippet(pair[1].span))
            .collect();
        Self {
            source,
            marks: Marks::new(tokens.len()),
            tokens,
            at: 0,
            last_end: 0,
            depth: 0,
            problems: Vec::new(),
            last_error: None,
            told_too_deep: false,
            suspect: None,
            declared_types,
        }
    }
}
