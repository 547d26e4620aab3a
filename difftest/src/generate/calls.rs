//! Functions that call functions.

use super::{Context, Generator, Pattern, bounded};
use crate::syntax::make::{assign, call, index, infix, int, name};
use crate::syntax::{Block, Stmt};

/// Functions of which each calls the next one. They may be called in atomic blocks.
const LOCAL: [&str; 3] = ["outer", "middle", "inner"];
/// The same; they may wait.
const WAITING: [&str; 3] = ["tour", "walk", "visit"];
/// It calls itself.
const RECURSIVE: &str = "again";

impl Generator {
    pub(super) fn call_pattern(&mut self, pattern: Pattern, context: Context) -> Option<Block> {
        Some(match pattern {
            Pattern::Call if !context.called => self.call(context),
            Pattern::Chain if !context.called => self.chain(context),
            Pattern::Recursion if !context.called => self.recursion(context),
            Pattern::LocalArray => self.local_array(context),
            _ => return None,
        })
    }

    /// Calls a function that is made on the first call.
    fn call(&mut self, context: Context) -> Block {
        let gives = self.random.percent(50);
        let function = if gives { "compute" } else { "touch" };
        if !self.is_made(function) {
            // It may be called in loops and in atomic blocks.
            let inside = called(true);
            let mut body = self.inner(inside);
            if gives {
                let value = self.local(inside);
                body.push(Stmt::Return(value));
            }
            let result = if gives { "int" } else { "void" };
            self.function(result, function, true, body);
        }
        let called = call(function, [self.local(context)]);
        vec![if gives {
            assign(self.register(), called)
        } else {
            Stmt::Do(called)
        }]
    }

    pub(super) fn is_made(&self, function: &str) -> bool {
        self.functions.iter().any(|known| known.name == function)
    }

    /// Calls a function that calls others, once or twice.
    fn chain(&mut self, context: Context) -> Block {
        if !context.endless && self.random.percent(5) {
            return self.count_down();
        }
        let functions = match context.atomic || self.random.percent(50) {
            true => LOCAL,
            false => WAITING,
        };
        let level = self.random.pick(&[0, 0, 0, 1, 2]);
        self.make_chain(&functions[level..], functions == LOCAL);
        self.use_of(functions[level], context)
    }

    /// Makes functions of which each calls the next one, from the last one on, unless there are such.
    fn make_chain(&mut self, functions: &[&'static str], atomic: bool) {
        let Some((first, others)) = functions.split_first() else {
            return;
        };
        self.make_chain(others, atomic);
        if self.is_made(first) {
            return;
        }
        let inside = called(atomic);
        let mut body = Block::new();
        for _ in 0..1 + self.random.below(2) {
            if self.random.percent(25) {
                // A way out before the end.
                let value = self.local(inside);
                let condition = self.condition(inside);
                body.push(Stmt::If(condition, vec![Stmt::Return(value)], vec![]));
            }
            match others.first() {
                Some(next) if self.random.percent(75) => {
                    let used = self.use_of(next, inside);
                    match self.random.below(6) {
                        0 => body.push(Stmt::For("i", 2, used)),
                        1 if atomic => body.push(Stmt::Atomic(used)),
                        _ => body.extend(used),
                    }
                }
                _ => {
                    // Threads have none left for it, mostly.
                    self.patterns += 1;
                    body.extend(self.block(inside, 1));
                }
            }
        }
        let value = self.local(inside);
        body.push(Stmt::Return(bounded(value, inside)));
        self.function("int", first, true, body);
    }

    /// Statements that call a function of a chain.
    fn use_of(&mut self, function: &'static str, context: Context) -> Block {
        let one = |generator: &mut Self| {
            let argument = generator.local(context);
            call(function, [bounded(argument, context)])
        };
        let value = match self.random.below(8) {
            0 => call(function, [one(self)]),
            1 => infix(one(self), "-", one(self)),
            2 => {
                let before = self.local(context);
                infix(before, "+", one(self))
            }
            _ => one(self),
        };
        let value = bounded(value, context);
        match self.random.below(6) {
            0 => vec![assign(self.shared(), value)],
            1 => {
                let condition = infix(value, "==", self.number());
                vec![Stmt::If(condition, self.write(context), vec![])]
            }
            2 => vec![assign(index("a", self.position(context)), value)],
            3 => vec![Stmt::Do(one(self))],
            _ => vec![assign(self.register(), value)],
        }
    }

    fn count_down(&mut self) -> Block {
        if !self.is_made(RECURSIVE) {
            let less = infix(name("k"), "-", int(1));
            let body = vec![
                Stmt::If(
                    infix(name("k"), "<=", int(0)),
                    vec![Stmt::Return(int(0))],
                    vec![],
                ),
                assign(self.shared(), name("k")),
                assign(name("r"), call(RECURSIVE, [less])),
                Stmt::Return(infix(name("r"), "+", int(1))),
            ];
            self.function("int", RECURSIVE, true, body);
        }
        let depth = int(1 + self.random.below(2) as i64);
        vec![assign(self.register(), call(RECURSIVE, [depth]))]
    }

    /// Reads and writes an array of the function's own.
    pub(super) fn local_array(&mut self, context: Context) -> Block {
        let position = self.position(context);
        let value = self.value(context);
        let write = assign(index("a", position), value);
        let read = assign(self.register(), index("a", self.position(context)));
        match self.random.below(3) {
            0 => vec![write],
            1 => vec![read],
            _ => vec![write, read],
        }
    }
}

/// In a function that is called, perhaps in loops.
pub(super) fn called(atomic: bool) -> Context {
    Context {
        called: true,
        atomic,
        endless: true,
        parameter: true,
        counter: None,
        depth: 1,
    }
}
