//! Patterns that decide: conditions, choices, loops, assertions.

use super::{Context, Generator, Pattern, bounded, only};
use crate::syntax::make::{assign, index, infix, int, name, perform, prefix, word};
use crate::syntax::{Block, Expr, Stmt};

impl Generator {
    pub(super) fn control_pattern(&mut self, pattern: Pattern, context: Context) -> Option<Block> {
        let deeper = context.deeper();
        Some(match pattern {
            Pattern::Compute => {
                let (left, right) = (self.local(context), self.local(context));
                let value = infix(left, self.random.pick(&["+", "-", "^"]), right);
                vec![assign(self.register(), bounded(value, context))]
            }
            Pattern::AssertLocal => vec![perform("assert", [self.claim(context)])],
            Pattern::AssertGlobal => vec![perform("assert", [self.condition(context)])],
            Pattern::If if context.nests() => {
                let condition = self.condition(context);
                let (yes, no) = (self.inner(deeper), self.sometimes(deeper));
                vec![Stmt::If(condition, yes, no)]
            }
            Pattern::IfStar if context.nests() => {
                let (yes, no) = (self.inner(deeper), self.sometimes(deeper));
                vec![Stmt::If(word("*"), yes, no)]
            }
            Pattern::ChooseBlock if context.nests() => {
                vec![Stmt::Choose(vec![self.inner(deeper), self.inner(deeper)])]
            }
            Pattern::ChooseMany if context.nests() => {
                let alternatives = 3 + self.random.below(4);
                let mut blocks: Vec<_> = (0..alternatives).map(|_| self.write(context)).collect();
                blocks[0] = self.inner(deeper);
                vec![Stmt::Choose(blocks)]
            }
            Pattern::ChooseWide => self.choose_wide(context),
            Pattern::ChooseNumber => {
                let high = 1 + self.random.below(2) as i64;
                vec![assign(self.register(), Expr::Choose(0, high))]
            }
            Pattern::Assume => vec![perform("assume", [self.guard(context)])],
            Pattern::Await => vec![perform("await", [self.guard(context)])],
            Pattern::BoundedLoop if context.nests() => self.bounded_loop(context),
            Pattern::Endless if context.nests() && !context.atomic => self.endless(context),
            Pattern::LoopBack if context.nests() && !context.atomic => self.loop_back(context),
            Pattern::Switch if context.nests() => {
                let cases = vec![self.inner(deeper), self.sometimes(deeper)];
                vec![Stmt::Switch(self.local(context), cases)]
            }
            Pattern::AtomicBlock if context.nests() => {
                vec![Stmt::Atomic(self.inner(context.in_atomic()))]
            }
            Pattern::AtomicWait => {
                let wait = self.random.pick(&["await", "assume"]);
                let mut block = vec![perform(wait, [self.guard(context)])];
                block.extend(self.write(context));
                vec![Stmt::Atomic(block)]
            }
            Pattern::Reach => only("reach"),
            Pattern::Yield => only("yield"),
            // A way out is taken now and then only, or nothing behind it matters.
            Pattern::Return if context.depth > 0 && !context.called => only("return"),
            _ => return None,
        })
    }

    fn sometimes(&mut self, context: Context) -> Block {
        if self.random.percent(40) {
            self.inner(context)
        } else {
            Block::new()
        }
    }

    fn comparison(&mut self) -> &'static str {
        self.random.pick(&["==", "==", "!=", "<", "<=", ">"])
    }

    /// A condition on local variables that holds more often than not: a thread that fails at
    /// once shows nothing.
    pub(super) fn claim(&mut self, context: Context) -> Expr {
        let bound = int(1 + self.random.below(2) as i64);
        match self.random.below(10) {
            0 => self.local_condition(context),
            1..=3 => infix(self.register(), "<=", bound),
            _ => infix(self.register(), "!=", bound),
        }
    }

    /// A condition on local variables.
    fn local_condition(&mut self, context: Context) -> Expr {
        match self.random.below(8) {
            0 => name("b"),
            1 => {
                let right = self.local(context);
                infix(name("r"), "!=", right)
            }
            _ => {
                let register = self.register();
                infix(register, self.comparison(), self.number())
            }
        }
    }

    /// A condition that reads something shared, mostly.
    pub(super) fn condition(&mut self, context: Context) -> Expr {
        match self.random.below(10) {
            0 => self.local_condition(context),
            1 => name(self.random.pick(&["flag", "ready"])),
            2 => {
                let connective = self.random.pick(&["&&", "||", "==>"]);
                let left = self.guard(context);
                infix(left, connective, self.guard(context))
            }
            3 => prefix("!", infix(self.shared(), "==", self.number())),
            _ => self.guard(context),
        }
    }

    /// A condition on one shared variable.
    pub(super) fn guard(&mut self, context: Context) -> Expr {
        match self.random.below(8) {
            0 => name(self.random.pick(&["flag", "ready"])),
            1 => {
                let cell = index("cells", self.position(context));
                infix(cell, "==", self.number())
            }
            2 => infix(self.shared(), "!=", int(0)),
            3 => infix(self.shared(), "==", self.shared()),
            _ => infix(self.shared(), self.comparison(), self.number()),
        }
    }

    /// An invariant over shared variables.
    pub(super) fn invariant(&mut self) -> Expr {
        let bound = int(1 + self.random.below(3) as i64);
        // What is accessed under one lock mostly can change twice in a coarse step.
        if self.profile.invariants == 100 && self.random.percent(50) {
            return match self.random.below(2) {
                0 => infix(name("data"), "!=", self.number()),
                _ => infix(name("data"), "<=", bound),
            };
        }
        match self.random.below(5) {
            0 => prefix("!", infix(name("flag"), "&&", name("ready"))),
            1 => infix(self.shared(), "<=", bound),
            2 => infix(infix(name("x"), "+", name("y")), "<=", bound),
            3 => {
                let premise = infix(name("x"), "==", self.number());
                infix(premise, "==>", infix(name("y"), "!=", self.number()))
            }
            _ => prefix("!", infix(name("x"), "&&", name("y"))),
        }
    }

    fn bounded_loop(&mut self, context: Context) -> Block {
        let bound = 2 + i64::from(self.random.percent(15));
        if context.counter.is_none() && self.random.percent(70) {
            let inside = Context {
                counter: Some("i"),
                ..context.deeper()
            };
            return vec![Stmt::For("i", bound, self.inner(inside))];
        }
        // The body may change the counter, so it counts as a loop without bound.
        let mut body = self.inner(context.in_endless());
        body.push(assign(
            name("s"),
            bounded(infix(name("s"), "+", int(1)), context.in_endless()),
        ));
        let condition = infix(name("s"), "<", int(2));
        vec![if self.random.percent(70) || context.atomic {
            Stmt::For("j", bound, self.inner(context.deeper()))
        } else {
            Stmt::DoWhile(body, condition)
        }]
    }

    /// One of many numbers, of which few remain, mostly.
    fn choose_wide(&mut self, context: Context) -> Block {
        // The choices of a block are all made at once.
        let high = if context.atomic {
            self.random.pick(&[3, 4])
        } else {
            self.random.weighted(&[(4, 3), (9, 3), (30, 2), (100, 1)])
        };
        let low = self.random.pick(&[0, 0, -2]);
        let register = self.register();
        let mut block = vec![assign(register.clone(), Expr::Choose(low, high))];
        let rest = match self.random.below(6) {
            0 if high <= 4 => None,
            // Between choice and assumption there are as many states as alternatives.
            0 | 1 if high <= 9 => {
                let wanted = infix(register, "<=", self.number());
                Some(perform("assume", [wanted]))
            }
            0..=2 => {
                let few = infix(register.clone(), ">", int(1));
                let value = self.local(context);
                Some(Stmt::If(few, vec![assign(register, value)], vec![]))
            }
            3 => {
                let least = int(high - 1);
                let value = self.value(context);
                let rare = vec![assign(self.shared(), value)];
                let test = infix(register.clone(), ">", least);
                block.push(Stmt::If(test, rare, vec![]));
                Some(assign(register, int(0)))
            }
            4 => Some(assign(register.clone(), infix(register, "%", int(3)))),
            _ => Some(assign(register.clone(), infix(register, "&", int(1)))),
        };
        block.extend(rest);
        block
    }

    fn endless(&mut self, context: Context) -> Block {
        let body = match self.random.below(6) {
            0 | 1 => only("skip"),
            2 => only("yield"),
            3 => {
                let value = self.local(context.in_endless());
                vec![assign(name("r"), value)]
            }
            _ => self.inner(context.in_endless()),
        };
        vec![Stmt::While(word("true"), body)]
    }

    /// A loop that comes back to where it was, or goes on.
    fn loop_back(&mut self, context: Context) -> Block {
        let inside = context.in_endless();
        let condition = if self.random.percent(50) {
            word("*")
        } else {
            self.condition(context)
        };
        vec![match self.random.below(4) {
            0 => Stmt::While(condition, only("skip")),
            1 => {
                self.labels += 1;
                let label = self.labels;
                Stmt::Retry(label, self.inner(inside), condition)
            }
            2 => Stmt::DoWhile(self.inner(inside), condition),
            _ => Stmt::While(condition, self.inner(inside)),
        }]
    }
}
