//! From text to tokens.
//!
//! Comments are tokens too: the parser skips them, the formatter keeps them.
//! What is no token of the language becomes [`TokenKind::Unknown`] and is
//! reported here, so that the parser need not speak of it again.

use logos::Logos;

use crate::diagnostic::Diagnostic;
use crate::span::{Source, Span};

/// A token with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
}

/// How long a name may be.
const MAX_NAME: usize = 255;

/// Defines the token kinds, and for those that are always written the same way, how.
macro_rules! tokens {
    ($($name:ident = $text:tt,)*) => {
        /// The kinds of tokens.
        #[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
        #[logos(skip r"[ \t\r\n\f\u{feff}]+")]
        pub(crate) enum TokenKind {
            $(#[token($text)] $name,)*
            #[regex("[A-Za-z_][A-Za-z0-9_]*")]
            Name,
            #[regex("[0-9][0-9A-Za-z_]*")]
            Number,
            #[token("\"", string)]
            String,
            #[regex(r"//[^\n]*", allow_greedy = true)]
            LineComment,
            #[token("/*", block_comment)]
            BlockComment,
            /// Not of this language, though it may be of another.
            #[regex(r"#[^\n]*", allow_greedy = true)]
            #[regex(r"'[^'\n]*'?")]
            #[regex(r"[0-9]+\.[0-9][0-9A-Za-z_]*")]
            Unknown,
            EndOfFile,
        }

        impl TokenKind {
            /// How the token is always written; `None` if there is more than one way.
            pub(crate) fn text(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some($text),)*
                    _ => None,
                }
            }
        }
    };
}

tokens! {
    // Words that begin a declaration.
    Const = "const",
    Run = "run",
    Invariant = "invariant",
    Exclusive = "exclusive",
    When = "when",
    GuardedBy = "guarded_by",
    ThreadLocal = "thread_local",
    // Types.
    Void = "void",
    Bool = "bool",
    Int = "int",
    I8 = "i8",
    I16 = "i16",
    I32 = "i32",
    U8 = "u8",
    U16 = "u16",
    U32 = "u32",
    Struct = "struct",
    Enum = "enum",
    Thread = "thread",
    Reentrant = "reentrant",
    Mutex = "mutex",
    RwLock = "rwlock",
    Cond = "cond",
    Semaphore = "semaphore",
    Chan = "chan",
    // Statements.
    If = "if",
    Else = "else",
    While = "while",
    Do = "do",
    For = "for",
    Switch = "switch",
    Case = "case",
    Default = "default",
    Break = "break",
    Continue = "continue",
    Return = "return",
    Goto = "goto",
    Skip = "skip",
    Yield = "yield",
    Assert = "assert",
    Assume = "assume",
    Await = "await",
    Reach = "reach",
    Atomic = "atomic",
    Choose = "choose",
    Or = "or",
    // Expressions.
    True = "true",
    False = "false",
    Null = "null",
    Tid = "tid",
    Spawn = "spawn",
    New = "new",
    // Brackets and separators.
    OpenBrace = "{",
    CloseBrace = "}",
    OpenParen = "(",
    CloseParen = ")",
    OpenBracket = "[",
    CloseBracket = "]",
    Semicolon = ";",
    Comma = ",",
    Colon = ":",
    Question = "?",
    Dot = ".",
    DotDot = "..",
    Arrow = "->",
    // Operators.
    Implies = "==>",
    OrOr = "||",
    AndAnd = "&&",
    Pipe = "|",
    Caret = "^",
    Ampersand = "&",
    EqualEqual = "==",
    NotEqual = "!=",
    Less = "<",
    LessEqual = "<=",
    Greater = ">",
    GreaterEqual = ">=",
    ShiftLeft = "<<",
    ShiftRight = ">>",
    Plus = "+",
    Minus = "-",
    Star = "*",
    Slash = "/",
    Percent = "%",
    Bang = "!",
    Tilde = "~",
    PlusPlus = "++",
    MinusMinus = "--",
    // Assignments.
    Assign = "=",
    PlusAssign = "+=",
    MinusAssign = "-=",
    StarAssign = "*=",
    SlashAssign = "/=",
    PercentAssign = "%=",
    AndAssign = "&=",
    OrAssign = "|=",
    XorAssign = "^=",
    ShiftLeftAssign = "<<=",
    ShiftRightAssign = ">>=",
    // Not of this language, but so common elsewhere that the parser has an answer.
    ColonAssign = ":=",
    FatArrow = "=>",
}

impl TokenKind {
    /// Whether it is a comment.
    pub(crate) fn is_comment(self) -> bool {
        matches!(self, Self::LineComment | Self::BlockComment)
    }

    /// Whether it is a word of the language.
    pub(crate) fn is_keyword(self) -> bool {
        self.text()
            .is_some_and(|text| text.starts_with(|c: char| c.is_ascii_alphabetic()))
    }

    /// Whether it begins a type, and nothing else.
    pub(crate) fn is_type_keyword(self) -> bool {
        use TokenKind::*;
        matches!(
            self,
            Void | Bool
                | Int
                | I8
                | I16
                | I32
                | U8
                | U16
                | U32
                | Struct
                | Enum
                | Thread
                | Reentrant
                | Mutex
                | RwLock
                | Cond
                | Semaphore
                | Chan
        )
    }
}

/// All tokens of a text, comments included, and what is wrong with them.
pub(crate) fn lex(source: &Source) -> (Vec<Token>, Vec<Diagnostic>) {
    let mut tokens: Vec<Token> = Vec::new();
    let mut problems = Vec::new();
    for (kind, range) in TokenKind::lexer(&source.text).spanned() {
        let kind = kind.unwrap_or(TokenKind::Unknown);
        let mut text = &source.text[range.clone()];
        if kind == TokenKind::LineComment {
            text = text.trim_end();
        }
        let span = Span::new(range.start as u32, (range.start + text.len()) as u32);
        if let Some(last) = tokens.last_mut()
            && (kind, last.kind) == (TokenKind::Unknown, TokenKind::Unknown)
            && last.span.end == span.start
        {
            // One message for a run of strange characters is enough.
            last.span.end = span.end;
            continue;
        }
        problems.extend(problem(kind, text, span));
        tokens.push(Token { kind, span });
    }
    (tokens, problems)
}

/// The value of a number, or what is wrong with it.
pub(crate) fn number(text: &str) -> Result<u32, &'static str> {
    let (digits, radix) = match text.get(..2) {
        Some("0x" | "0X") => (&text[2..], 16),
        Some("0b" | "0B") => (&text[2..], 2),
        _ => (text, 10),
    };
    let plain: String = digits.chars().filter(|&c| c != '_').collect();
    if plain.is_empty() || !plain.chars().all(|c| c.is_digit(radix)) {
        return Err("this is not a number");
    }
    u32::from_str_radix(&plain, radix).map_err(|_| "this number does not fit in 32 bits")
}

/// The text that a string literal stands for.
pub(crate) fn unescape(literal: &str) -> String {
    let inner = literal.strip_prefix('"').unwrap_or(literal);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    let mut text = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        text.push(match c {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some(other) => other,
                None => '\\',
            },
            c => c,
        });
    }
    text
}

/// Takes the rest of a string literal; fails if it does not end on its line.
fn string(lexer: &mut logos::Lexer<'_, TokenKind>) -> bool {
    let rest = lexer.remainder();
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        match c {
            '\n' => {
                lexer.bump(at);
                return false;
            }
            '"' if !escaped => {
                lexer.bump(at + 1);
                return true;
            }
            _ => escaped = c == '\\' && !escaped,
        }
    }
    lexer.bump(rest.len());
    false
}

/// Takes the rest of a block comment; fails if it does not end.
fn block_comment(lexer: &mut logos::Lexer<'_, TokenKind>) -> bool {
    let rest = lexer.remainder();
    let end = rest.find("*/");
    lexer.bump(end.map_or(rest.len(), |at| at + 2));
    end.is_some()
}

/// What is wrong with a token, if anything.
fn problem(kind: TokenKind, text: &str, span: Span) -> Option<Diagnostic> {
    match kind {
        TokenKind::Name if text.len() > MAX_NAME => Some(
            Diagnostic::error(span, "this name is too long")
                .label(format!("{} characters", text.len()))
                .help(format!("names have at most {MAX_NAME} characters")),
        ),
        TokenKind::Number => number(text)
            .err()
            .map(|message| explain_number(text, span, message)),
        TokenKind::String => bad_escape(text).map(|(at, c)| {
            let start = span.start + at as u32;
            let end = start + 1 + c.len_utf8() as u32;
            Diagnostic::error(Span::new(start, end), format!("unknown escape `\\{c}`"))
                .help(r#"the escapes are `\n`, `\t`, `\"` and `\\`"#)
        }),
        TokenKind::Unknown => Some(explain_unknown(text, span)),
        _ => None,
    }
}

fn explain_number(text: &str, span: Span, message: &str) -> Diagnostic {
    let problem = Diagnostic::error(span, message);
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    if digits.len() < text.len() && number(digits).is_ok() {
        problem.help(format!("numbers have no suffix: `{digits}`"))
    } else if text.chars().all(|c| c.is_ascii_alphanumeric()) && number(text).is_err() {
        problem.help("numbers go up to 4294967295; write them as `42`, `0x2a` or `0b10_1010`")
    } else {
        problem
    }
}

/// The first escape of a string literal that is none, with its place.
fn bad_escape(literal: &str) -> Option<(usize, char)> {
    let mut chars = literal.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == '\\'
            && let Some((_, escape)) = chars.next()
            && !matches!(escape, 'n' | 't' | '"' | '\\')
        {
            return Some((at, escape));
        }
    }
    None
}

/// Says what a piece of text is, given that it is no token.
fn explain_unknown(text: &str, span: Span) -> Diagnostic {
    let first = text.chars().next().unwrap_or(' ');
    let error = |length: usize, message: &str| {
        let end = span.start + length as u32;
        Diagnostic::error(Span::new(span.start, end), message)
    };
    match first {
        '/' => error(2, "this comment does not end").help("close it with `*/`"),
        '"' => error(text.len(), "this string does not end")
            .help("a string ends with `\"` on the line it begins on"),
        '\'' => error(text.len(), "there are no characters in this language")
            .help("use a number, or an enum"),
        '#' => error(text.len(), "there is no preprocessor")
            .help("for a constant, write `const int N = 3;`"),
        '0'..='9' => error(text.len(), "there are no floating-point numbers")
            .help("all numbers are integers of at most 32 bits"),
        _ => {
            let problem = error(first.len_utf8(), &strange_character(first));
            match ascii_spelling(first) {
                Some(spelling) => problem.help(format!("write `{spelling}`")),
                None if first.is_alphabetic() => {
                    problem.help("names are made of `a` to `z`, `A` to `Z`, `0` to `9` and `_`")
                }
                None => problem,
            }
        }
    }
}

fn strange_character(c: char) -> String {
    if c.is_control() || c.is_whitespace() {
        format!("unexpected character U+{:04X}", u32::from(c))
    } else {
        format!("unexpected character `{c}`")
    }
}

/// How a symbol of the papers, or of a word processor, is written here.
fn ascii_spelling(c: char) -> Option<&'static str> {
    Some(match c {
        '≤' => "<=",
        '≥' => ">=",
        '≠' => "!=",
        '∧' => "&&",
        '∨' => "||",
        '¬' => "!",
        '⇒' | '→' => "==>",
        '←' | '≔' => "=",
        '∥' | '‖' => "||",
        '×' | '·' => "*",
        '÷' => "/",
        '−' | '–' | '—' => "-",
        '⊕' => "^",
        '“' | '”' => "\"",
        '…' => "..",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use TokenKind::{DotDot, I8, Int, Name, Number, Unknown};

    fn kinds(text: &str) -> Vec<TokenKind> {
        let (tokens, _) = lex(&Source::new("t.rad", text));
        tokens.iter().map(|token| token.kind).collect()
    }

    fn problems(text: &str) -> Vec<String> {
        let (_, problems) = lex(&Source::new("t.rad", text));
        problems.into_iter().map(|p| p.message).collect()
    }

    #[test]
    fn ranges_are_not_floating_point_numbers() {
        assert_eq!(kinds("0..7"), [Number, DotDot, Number]);
        assert_eq!(kinds("1.5"), [Unknown]);
    }

    #[test]
    fn comments_are_tokens_and_lose_trailing_blanks() {
        let source = Source::new("t.rad", "x // y  \r\n/* a\n * b */ z");
        let (tokens, _) = lex(&source);
        let texts: Vec<_> = tokens.iter().map(|t| source.snippet(t.span)).collect();
        assert_eq!(texts, ["x", "// y", "/* a\n * b */", "z"]);
    }

    #[test]
    fn numbers_in_all_bases() {
        assert_eq!(number("1_000"), Ok(1000));
        assert_eq!(number("0xFF_ff"), Ok(0xffff));
        assert_eq!(number("0b101"), Ok(5));
        assert_eq!(number("4294967295"), Ok(u32::MAX));
        assert!(number("4294967296").is_err());
        assert!(number("0x").is_err());
        assert!(number("12ab").is_err());
        assert!(number("0b102").is_err());
    }

    #[test]
    fn strings_end_on_their_line() {
        assert_eq!(kinds(r#""a\"b" x"#), [TokenKind::String, Name]);
        assert_eq!(unescape(r#""a\"\\\n""#), "a\"\\\n");
        assert_eq!(problems("\"abc\nx"), ["this string does not end"]);
        assert_eq!(problems(r#""a\qb""#), [r"unknown escape `\q`"]);
    }

    #[test]
    fn what_does_not_end_is_reported() {
        assert_eq!(problems("x /* y"), ["this comment does not end"]);
        assert_eq!(problems("\""), ["this string does not end"]);
    }

    #[test]
    fn a_run_of_strange_characters_is_one_problem() {
        assert_eq!(problems("@@@$ x"), ["unexpected character `@`"]);
    }

    #[test]
    fn longer_names_than_the_limit_are_errors() {
        assert!(problems(&"a".repeat(255)).is_empty());
        assert_eq!(problems(&"a".repeat(256)), ["this name is too long"]);
    }

    #[test]
    fn keywords_are_whole_words() {
        assert_eq!(kinds("int integer i8 i80"), [Int, Name, I8, Name]);
    }
}
