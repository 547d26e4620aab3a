//! Random programs.
//!
//! Program number `n` of a seed and a profile is always the same. All programs compile, and
//! most have fewer than a few thousand states: what could grow without bound
//! does not stand in loops without bound.

mod blocking;
mod calls;
mod control;
mod data;
mod globals;
mod profile;
mod recursion;
mod synchronisation;
mod threads;

pub use profile::{PROFILES, Pattern, Profile, by_name};

use crate::random::Random;
use crate::syntax::make::{infix, int, name};
use crate::syntax::{Block, Expr, Function, Program, Start, Stmt};

/// The program of that number.
#[must_use]
pub fn generate(seed: u64, profile: &'static Profile, number: u64) -> Program {
    Generator::new(Random::new(seed, profile.name, number), profile).program()
}

/// Makes one program.
struct Generator {
    random: Random,
    profile: &'static Profile,
    /// The shared integers of this program; few, so that threads meet.
    integers: Vec<&'static str>,
    /// The lock that `data` is mostly accessed under.
    data_lock: &'static str,
    /// Functions that are called or spawned.
    functions: Vec<Function>,
    /// How many patterns may still be made.
    patterns: usize,
    /// How many threads may still be spawned by patterns.
    spawns: usize,
    labels: u32,
    /// How deep functions may call themselves.
    deepest: usize,
}

/// Where in the program a pattern stands.
#[derive(Clone, Copy)]
struct Context {
    depth: u32,
    /// In an atomic block, or in a function that may be called in one.
    atomic: bool,
    /// In a loop that may go on for ever: nothing may grow here.
    endless: bool,
    /// In a function that is called: no calls but those of a chain, no spawning.
    called: bool,
    /// Whether there is a parameter `k`.
    parameter: bool,
    /// The variable of the bounded loop that it is in.
    counter: Option<&'static str>,
}

impl Context {
    const THREAD: Self = Self {
        depth: 0,
        atomic: false,
        endless: false,
        called: false,
        parameter: false,
        counter: None,
    };

    fn deeper(self) -> Self {
        Self {
            depth: self.depth + 1,
            ..self
        }
    }

    fn in_atomic(self) -> Self {
        Self {
            atomic: true,
            ..self.deeper()
        }
    }

    fn in_endless(self) -> Self {
        Self {
            endless: true,
            ..self.deeper()
        }
    }

    /// Whether a block may begin here.
    fn nests(self) -> bool {
        self.depth < 2
    }
}

/// The names of the threads' functions.
const THREADS: [&str; 4] = ["T0", "T1", "T2", "T3"];

impl Generator {
    fn new(mut random: Random, profile: &'static Profile) -> Self {
        let integers = match random.below(4) {
            0 => vec!["x"],
            1 | 2 => vec!["x", "y"],
            _ => vec!["x", "y", "z"],
        };
        let data_lock = random.pick(&["m", "m", "w", "rm", "rm"]);
        Self {
            random,
            profile,
            integers,
            data_lock,
            functions: Vec::new(),
            patterns: 0,
            spawns: 2,
            labels: 0,
            deepest: 4,
        }
    }

    fn program(mut self) -> Program {
        let spawning = self.random.percent(self.profile.spawning);
        let starts = if spawning {
            self.main();
            Vec::new()
        } else {
            self.starts()
        };
        let mut invariants = Vec::new();
        if self.random.percent(self.profile.invariants) {
            invariants.push(self.invariant());
            if self.random.percent(15) {
                invariants.push(self.invariant());
            }
        }
        let by_statements = self.random.percent(15);
        Program {
            globals: self.globals(),
            functions: self.functions,
            starts,
            invariants,
            by_statements,
        }
    }

    /// The threads of `run`.
    fn starts(&mut self) -> Vec<Start> {
        let threads = match self.profile.twins {
            false => self.random.weighted(&[(2, 5), (3, 4), (4, 1)]),
            true => self.random.weighted(&[(2, 4), (3, 5), (4, 2)]),
        };
        let mut starts: Vec<Start> = Vec::new();
        let mut started = 0;
        while started < threads {
            let count = match threads - started {
                left if left > 1 && self.profile.twins => 2 + self.random.below(left - 1),
                left if left > 1 && self.random.percent(15) => 2,
                _ => 1,
            };
            let parameter = self.random.percent(20);
            let function = THREADS[starts.len()];
            let context = Context {
                parameter,
                ..Context::THREAD
            };
            let body = self.thread(threads, context);
            self.function("void", function, parameter, body);
            let argument = parameter.then(|| match self.random.below(3) {
                0 if !self.profile.twins => Expr::Word("tid"),
                _ => int(self.random.below(3) as i64),
            });
            starts.push(Start {
                function,
                argument,
                count,
            });
            started += count;
        }
        starts
    }

    /// The body of one of so many threads.
    fn thread(&mut self, threads: usize, context: Context) -> Block {
        let (least, more) = match (threads, self.profile.long) {
            (0..=2, false) => (2, 3),
            (0..=2, true) => (2, 2),
            (3, false) => (1, 2),
            (3, true) | (_, false) => (1, 1),
            (_, true) => (1, 0),
        };
        let size = least + self.random.below(more + 1);
        self.patterns = size + if self.profile.long { 2 } else { 3 };
        let mut body = self.block(context, size);
        if !self.profile.endings.is_empty() && self.random.percent(60) {
            let ending = self.random.pick(self.profile.endings);
            self.patterns += 1;
            body.extend(self.pattern(ending, context));
        }
        body
    }

    fn function(&mut self, result: &'static str, name: &'static str, parameter: bool, body: Block) {
        self.functions.push(Function {
            result,
            name,
            parameter: parameter.then_some("k"),
            body,
        });
    }

    /// So many patterns.
    fn block(&mut self, context: Context, size: usize) -> Block {
        let mut block = Block::new();
        for _ in 0..size {
            let focused = self.random.percent(80);
            let pattern = self.random.weighted(self.profile.patterns(focused));
            block.extend(self.pattern(pattern, context));
        }
        block
    }

    /// One or two patterns, one level deeper.
    fn inner(&mut self, context: Context) -> Block {
        let size = 1 + usize::from(self.random.percent(30));
        self.block(context, size)
    }

    fn pattern(&mut self, pattern: Pattern, context: Context) -> Block {
        if self.patterns == 0 {
            return self.write(context);
        }
        self.patterns -= 1;
        let made = self
            .data_pattern(pattern, context)
            .or_else(|| self.control_pattern(pattern, context))
            .or_else(|| self.call_pattern(pattern, context))
            .or_else(|| self.synchronisation_pattern(pattern, context))
            .or_else(|| self.blocking_pattern(pattern, context))
            .or_else(|| self.thread_pattern(pattern, context));
        // What is not allowed here becomes something simple.
        made.unwrap_or_else(|| self.write(context))
    }

    fn number(&mut self) -> Expr {
        int(self.random.below(3) as i64)
    }

    /// A shared integer.
    fn shared(&mut self) -> Expr {
        let integer = self.random.pick(&self.integers);
        name(integer)
    }

    /// An integer that takes no shared access.
    fn local(&mut self, context: Context) -> Expr {
        match self.random.below(8) {
            0 | 1 => self.number(),
            2 if context.parameter => name("k"),
            3 if context.counter.is_some() => name(context.counter.unwrap_or("r")),
            4 if !self.profile.twins => Expr::Word("tid"),
            5 => name("s"),
            _ => name("r"),
        }
    }

    /// An integer to be stored.
    fn value(&mut self, context: Context) -> Expr {
        let one = |generator: &mut Self| match generator.random.below(6) {
            0 => generator.shared(),
            1 | 2 => generator.local(context),
            _ => generator.number(),
        };
        if self.random.percent(75) {
            return one(self);
        }
        let operator = self.random.pick(&["+", "+", "-", "*", "/", "%"]);
        // What is constant might be found out not to fit before the program runs.
        let left = match one(self) {
            Expr::Int(_) => self.register(),
            other => other,
        };
        let right = match operator {
            // Divisors are mostly not zero.
            "/" | "%" if self.random.percent(80) => int(2),
            "/" | "%" => name("r"),
            _ => one(self),
        };
        let value = infix(left, operator, right);
        bounded(value, context)
    }

    /// An index that is mostly right.
    fn position(&mut self, context: Context) -> Expr {
        match self.random.below(10) {
            0..=3 => int(self.random.below(2) as i64),
            // A constant would be found out before the program runs.
            4 => name("r"),
            _ => {
                let local = self.local(context);
                infix(local, "&", int(1))
            }
        }
    }
}

/// A value that does not grow from one round of a loop to the next.
fn bounded(value: Expr, context: Context) -> Expr {
    if context.endless {
        infix(value, "%", int(3))
    } else {
        value
    }
}

/// A statement that consists of one word.
fn only(word: &'static str) -> Block {
    vec![Stmt::Word(word)]
}
