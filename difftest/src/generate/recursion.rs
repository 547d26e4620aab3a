//! Functions that call themselves, or each other.

use super::calls::called;
use super::{Context, Generator, Pattern, bounded};
use crate::syntax::make::{assign, call, index, infix, int, name, perform};
use crate::syntax::{Block, Stmt};

/// Functions that call themselves, or each other. They may be called in atomic blocks.
const LOCAL: [&str; 2] = ["fall", "climb"];
/// The same; they may wait, and hold locks while they call.
const WAITING: [&str; 2] = ["sink", "rise"];
/// It calls itself more often than others, and accesses hardly anything.
const PLUNGE: &str = "plunge";
/// Fewer calls than the machine allows, or than have native code, and more.
const DEPTHS: [i64; 5] = [9, 20, 70, 250, 300];

impl Generator {
    /// Calls a function that calls itself.
    pub(super) fn recursion(&mut self, context: Context) -> Block {
        if self.random.percent(8) {
            return self.plunge();
        }
        let functions = match context.atomic || self.random.percent(60) {
            true => LOCAL,
            false => WAITING,
        };
        if !self.is_made(functions[0]) {
            self.make_recursive(functions);
        }
        let depth = 1 + self.random.below(self.deepest) as i64;
        let which = self.random.pick(&[0, 0, 1]);
        let called = call(functions[which], [int(depth)]);
        match self.random.below(4) {
            0 => vec![assign(self.shared(), bounded(called, context))],
            1 => vec![Stmt::Do(called)],
            _ => vec![assign(self.register(), bounded(called, context))],
        }
    }

    /// Makes two functions, which mostly call each other.
    fn make_recursive(&mut self, functions: [&'static str; 2]) {
        let [first, second] = functions;
        // With two calls each, there are many of them all together.
        let calls_twice = self.random.percent(25);
        self.deepest = self.deepest.min(if calls_twice { 2 } else { 4 });
        let is_mutual = self.random.percent(50);
        for (function, other) in [(first, second), (second, first)] {
            let next = if is_mutual { other } else { function };
            let body = self.recursive_body(next, functions == WAITING, calls_twice);
            self.function("int", function, true, body);
        }
    }

    fn recursive_body(&mut self, next: &'static str, waits: bool, calls_twice: bool) -> Block {
        let inside = called(!waits);
        let mut bottom = self.level(inside, 70);
        let value = self.local(inside);
        bottom.push(Stmt::Return(bounded(value, inside)));
        let mut body = vec![Stmt::If(infix(name("k"), "<=", int(0)), bottom, vec![])];
        body.extend(self.level(inside, 40));
        let mut calls = self.call_below(next, inside);
        if calls_twice {
            let below = call(next, [infix(name("k"), "-", int(1))]);
            calls.push(assign(name("s"), below));
        }
        if waits && self.random.percent(35) {
            // Whoever holds one that is not reentrant is blocked deep down.
            let lock = self.random.pick(&["rm", "rm", "rm", "m"]);
            calls.insert(0, perform("lock", [name(lock)]));
            calls.push(perform("unlock", [name(lock)]));
        }
        body.extend(calls);
        body.extend(self.level(inside, 40));
        let (level, value) = (self.local(inside), self.register());
        let value = infix(value, self.random.pick(&["+", "-"]), level);
        body.push(Stmt::Return(bounded(value, inside)));
        body
    }

    /// What a level does apart from its calls, in so many of a hundred functions.
    fn level(&mut self, context: Context, percent: u32) -> Block {
        if !self.random.percent(percent) {
            return Block::new();
        }
        // Threads have none left for it, mostly.
        self.patterns += 1;
        match self.random.below(6) {
            0 => self.pattern(Pattern::AssertLocal, context),
            1 => self.pattern(Pattern::AssertGlobal, context),
            2 => self.local_array(context),
            _ => self.block(context, 1),
        }
    }

    fn call_below(&mut self, next: &'static str, context: Context) -> Block {
        let below = call(next, [infix(name("k"), "-", int(1))]);
        let register = self.register();
        match self.random.below(8) {
            0 if context.atomic => vec![Stmt::Atomic(vec![assign(register, below)])],
            1 => vec![assign(index("a", self.position(context)), below)],
            2 => {
                let otherwise = self.write(context);
                vec![Stmt::If(
                    self.condition(context),
                    vec![assign(register, below)],
                    otherwise,
                )]
            }
            3 => vec![assign(self.shared(), below)],
            _ => vec![assign(register, below)],
        }
    }

    /// Calls a function that goes deep, and mostly does nothing on the way.
    fn plunge(&mut self) -> Block {
        if !self.is_made(PLUNGE) {
            let access = assign(self.shared(), infix(name("r"), "%", int(3)));
            let level = int(self.random.pick(&[0, 1, 2, 9, 64]));
            let condition = infix(name("k"), "==", level);
            let body = vec![
                Stmt::If(
                    infix(name("k"), "<", int(0)),
                    vec![Stmt::Return(int(1))],
                    vec![],
                ),
                Stmt::If(condition, vec![access], vec![]),
                assign(name("r"), call(PLUNGE, [infix(name("k"), "-", int(1))])),
                Stmt::Return(infix(infix(name("r"), "+", name("k")), "%", int(5))),
            ];
            self.function("int", PLUNGE, true, body);
        }
        let depth = int(self.random.pick(&DEPTHS));
        vec![assign(self.register(), call(PLUNGE, [depth]))]
    }
}
