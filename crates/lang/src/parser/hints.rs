//! Advice for those who come from C, from other languages, or from papers.

use super::Parser;
use crate::ast::{BinaryOp, Expr, ExprKind};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::token::TokenKind as T;

/// What to use in place of a type of another language.
fn foreign_type(word: &str) -> Option<&'static str> {
    Some(match word {
        "long" | "int64" | "int64_t" | "uint64" | "uint64_t" | "i64" | "u64" | "size_t"
        | "usize" | "isize" => "integers have at most 32 bits: use `int` or `u32`",
        "unsigned" | "uint" | "uint32" | "uint32_t" => "use `u32`, `u16` or `u8`",
        "signed" | "int32" | "int32_t" | "integer" | "Integer" => "use `int`",
        "short" | "int16" | "int16_t" => "use `i16`",
        "uint16" | "uint16_t" => "use `u16`",
        "char" | "byte" | "uint8" | "uint8_t" => "use `u8`",
        "int8" | "int8_t" => "use `i8`",
        "float" | "double" | "f32" | "f64" => "all numbers are integers: use `int`",
        "boolean" | "Boolean" | "_Bool" => "use `bool`",
        "string" | "String" => "there are no strings as values",
        "pthread_t" => "use `thread`",
        "pthread_mutex_t" => "use `mutex`",
        "pthread_cond_t" => "use `cond`",
        "sem_t" => "use `semaphore`",
        "auto" | "var" | "let" => "a declaration names its type: `int x = 1;`",
        _ => return None,
    })
}

/// What to say about a word before a declaration that has no meaning here.
fn useless_prefix(word: &str) -> Option<&'static str> {
    Some(match word {
        "static" | "extern" | "inline" | "register" | "public" | "private" | "local" => {
            "leave it out"
        }
        "volatile" | "shared" | "global" => {
            "leave it out: every global variable is shared, and every access to it is a step"
        }
        "_Atomic" => "write `atomic int x;`",
        _ => return None,
    })
}

/// What to write in place of a declaration of another language.
pub(super) fn foreign_item(word: &str) -> Option<&'static str> {
    Some(match word {
        "fn" | "def" | "func" | "function" | "proc" | "procedure" | "process" | "proctype"
        | "active" => "a function is written `void f(int x) { ... }`",
        "typedef" | "using" => "there are no other names for types",
        "class" => "use a `struct` and functions",
        "import" | "include" | "use" => "a program is a single file",
        "init" => "the program starts at `void main() { ... }`",
        "macro" | "define" => "for a constant, write `const int N = 3;`",
        _ => return None,
    })
}

/// Whether this is a built-in operation that is used as a statement.
fn is_operation(word: &str) -> bool {
    matches!(
        word,
        "lock"
            | "unlock"
            | "acquire"
            | "acq"
            | "release"
            | "rel"
            | "read_lock"
            | "write_lock"
            | "wait"
            | "notify"
            | "notify_all"
            | "signal"
            | "broadcast"
            | "down"
            | "up"
            | "send"
            | "recv"
            | "join"
            | "free"
            | "store"
    )
}

/// Whether an operator compares.
fn is_comparison(operator: BinaryOp) -> bool {
    use BinaryOp::{Equal, NotEqual};
    matches!(operator, Equal | NotEqual) || is_order(operator)
}

fn is_order(operator: BinaryOp) -> bool {
    use BinaryOp::{Greater, GreaterEqual, Less, LessEqual};
    matches!(operator, Less | LessEqual | Greater | GreaterEqual)
}

impl Parser<'_> {
    /// What to use in place of the current token if it is a type of another language.
    pub(super) fn at_foreign_type(&self) -> Option<&'static str> {
        self.unless_type_of_program(foreign_type)
    }

    /// What to say about the current token if it has no meaning before a declaration.
    pub(super) fn at_useless_prefix(&self) -> Option<&'static str> {
        let next = self.peek(1).kind;
        let declares = next.is_keyword() || next == T::Name;
        self.unless_type_of_program(useless_prefix)
            .filter(|_| declares)
    }

    /// Whether a built-in operation and its argument are here, without parentheses.
    pub(super) fn at_bare_operation(&self) -> bool {
        self.peek(1).kind == T::Name
            && self
                .unless_type_of_program(|word| is_operation(word).then_some(""))
                .is_some()
    }

    /// Advice about the current word, which does not hold if the program says that this
    /// is the name of a type.
    fn unless_type_of_program(
        &self,
        advice: fn(&str) -> Option<&'static str>,
    ) -> Option<&'static str> {
        let word = self.text(self.span());
        advice(word).filter(|_| self.is(T::Name) && !self.declared_types.contains(word))
    }

    /// What may have gone wrong where the current token is not what was expected.
    pub(super) fn hint_at_unexpected(&self) -> Option<String> {
        let previous = self.at.checked_sub(1).map(|at| self.tokens[at].kind);
        let word = self.text(self.span());
        let hint = match self.kind() {
            T::Name => foreign_item(word)?,
            T::String => "strings are only for the messages of `assert` and `reach`",
            T::If => "for a value, write `c ? a : b`",
            T::Plus => "there is no unary `+`: leave it out",
            T::Greater if previous == Some(T::Less) => "to say that two values differ, write `!=`",
            T::OpenBrace if previous == Some(T::Assign) => {
                "a list in braces can only initialise a variable in its declaration"
            }
            T::AndAnd | T::OrOr if previous == Some(T::CloseParen) => {
                "the whole condition must be in parentheses"
            }
            T::OpenParen if previous == Some(T::Spawn) => {
                "name the function after `spawn`: `spawn f(1, 2)`"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// What may have gone wrong where a `;` was expected.
    pub(super) fn hint_instead_of_semicolon(&self) -> Option<String> {
        let before = |n| Some(self.tokens[self.at.checked_sub(n)?].kind);
        let hint = match self.kind() {
            T::Comma => "there is no comma operator: write two statements",
            T::OpenParen if before(2) == Some(T::Thread) => {
                "to start a thread, write `thread t = spawn f(...);`"
            }
            T::String if before(1) == Some(T::Reach) => "write `reach(\"name\");`",
            T::String => "strings are only for the messages of `assert` and `reach`",
            T::Colon if self.peek(1).kind == T::Colon => "there are no namespaces",
            T::OpenBrace => "only `if`, `while`, `for`, `atomic`, ... are followed by a block",
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// Says that there is an assignment where an expression should be.
    pub(super) fn report_assignment(&mut self) {
        let operator = self.text(self.span()).to_owned();
        let message = format!("unexpected `{operator}`: an assignment is not an expression");
        let problem = Diagnostic::error(self.span(), message);
        let next = self.peek(1);
        let problem = if !matches!(self.kind(), T::Assign | T::ColonAssign) {
            problem.help("make it a statement of its own")
        } else if next.kind == T::Less && next.span.start == self.span().end {
            problem.help("less or equal is written `<=`")
        } else {
            problem
                .help("to compare, write `==`")
                .help("to assign, make it a statement of its own")
        };
        self.report(problem);
    }

    /// Turns `and`, `or` and `mod` into the operators they stand for, with a message.
    pub(super) fn replace_word_operator(&mut self) {
        let operator = match self.text(self.span()) {
            "and" => T::AndAnd,
            "or" => T::OrOr,
            "mod" => T::Percent,
            "xor" => T::Caret,
            _ => return,
        };
        if !matches!(self.kind(), T::Name | T::Or) || self.is_on_new_line() {
            return;
        }
        let message = format!("`{}` is not an operator", self.text(self.span()));
        let help = format!("write `{}`", operator.text().unwrap_or_default());
        self.report(Diagnostic::error(self.span(), message).help(help));
        self.tokens[self.at].kind = operator;
    }

    /// Whether `not` is used as an operator here; if so, says that it is none.
    pub(super) fn at_word_not(&mut self) -> bool {
        let operand = matches!(self.peek(1).kind, T::Name | T::True | T::False);
        if !self.is_word("not") || !operand {
            return false;
        }
        let problem = Diagnostic::error(self.span(), "`not` is not an operator").help("write `!`");
        self.report(problem);
        true
    }

    /// Reports an operator of another language.
    pub(super) fn check_operator(&mut self) {
        if self.is(T::FatArrow) {
            let problem = Diagnostic::error(self.span(), "`=>` is not an operator")
                .help("greater or equal is written `>=`, implication `==>`");
            self.report(problem);
        }
    }

    /// Reports the `=` of `===`, just after the `==`.
    pub(super) fn check_adjacent_operator(&mut self) {
        if self.is(T::Assign) && self.is_adjacent() {
            let problem =
                Diagnostic::error(self.span(), "one `=` too many").help("equality is written `==`");
            self.report(problem);
            self.bump();
        }
    }

    /// Reports operators that do not group as they look.
    pub(super) fn check_mixture(&mut self, operator: BinaryOp, left: &Expr, right: &Expr) {
        use BinaryOp::{BitAnd, BitOr, BitXor};
        if is_order(operator)
            && let ExprKind::Binary(inner, _, middle) = &left.kind
            && is_order(*inner)
        {
            let help = format!(
                "write `{} && {}`",
                self.text(left.span),
                self.text(middle.span.to(right.span))
            );
            let span = left.span.to(right.span);
            let problem = Diagnostic::error(span, "comparisons cannot be chained").help(help);
            self.report(problem);
        }
        if !matches!(operator, BitAnd | BitXor | BitOr) {
            return;
        }
        let parenthesised = |expr: Span| format!("({})", self.text(expr));
        // What it most likely means, and what it would mean in C.
        let (meant, grouped) = if let ExprKind::Binary(inner, near, _) = &right.kind
            && is_comparison(*inner)
        {
            let first = left.span.to(near.span);
            let rest = Span::new(near.span.end, right.span.end);
            let between = Span::new(left.span.start, right.span.start);
            (
                parenthesised(first) + self.text(rest),
                self.text(between).to_owned() + &parenthesised(right.span),
            )
        } else if let ExprKind::Binary(inner, _, near) = &left.kind
            && is_comparison(*inner)
        {
            let last = near.span.to(right.span);
            let before = Span::new(left.span.start, near.span.start);
            let rest = Span::new(left.span.end, right.span.end);
            (
                self.text(before).to_owned() + &parenthesised(last),
                parenthesised(left.span) + self.text(rest),
            )
        } else {
            return;
        };
        let span = left.span.to(right.span);
        let problem = Diagnostic::error(
            span,
            "bitwise operators and comparisons are mixed without parentheses",
        )
        .help(format!("write `{meant}` or `{grouped}`"));
        self.report(problem);
    }

    /// Reports `A[x, y]`, and steps over the rest of the index.
    pub(super) fn report_comma_in_index(&mut self, array: &Expr, first: &Expr) {
        let comma = self.span();
        let mut help = format!("{}[{}]", self.text(array.span), self.text(first.span));
        while self.eat(T::Comma).is_some() {
            let Ok(next) = self.expression() else { return };
            help += &format!("[{}]", self.text(next.span));
        }
        let problem =
            Diagnostic::error(comma, "unexpected `,` in an index").help(format!("write `{help}`"));
        self.report(problem);
    }

    /// Reports a call of something that is not a name, such as `m.lock()`.
    pub(super) fn report_indirect_call(&mut self, callee: &Expr) {
        let problem = match &callee.kind {
            ExprKind::Field(object, name) => {
                let (name, object) = (&name.text, self.text(object.span));
                Diagnostic::error(callee.span, "there are no methods")
                    .help(format!("write `{name}({object})`"))
            }
            ExprKind::Arrow(object, name) => {
                let (name, object) = (&name.text, self.text(object.span));
                Diagnostic::error(callee.span, "there are no methods")
                    .help(format!("write `{name}(*{object})`"))
            }
            _ => Diagnostic::error(callee.span, "only a function can be called, by its name"),
        };
        self.report(problem);
    }
}
