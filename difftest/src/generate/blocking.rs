//! Patterns that wait where reductions do not look at first: for tokens, for oneself, and in the
//! middle of a block.

use super::synchronisation::between;
use super::{Context, Generator, Pattern, only};
use crate::syntax::make::{assign, call, infix, int, name, perform, prefix, word};
use crate::syntax::{Block, Expr, Stmt};

/// An object without a lock in it, that all can reach.
pub(super) fn new_plain_object() -> Block {
    let new = assign(name("q"), Expr::New("int"));
    vec![new, assign(name("p"), name("q"))]
}

impl Generator {
    pub(super) fn blocking_pattern(&mut self, pattern: Pattern, context: Context) -> Option<Block> {
        Some(match pattern {
            Pattern::NestedSemaphores => {
                let (outer, inner) = self.random.pick(&[
                    ("sem", "sem"),
                    ("sem", "gate"),
                    ("gate", "sem"),
                    ("gate", "sem"),
                ]);
                let inside = self.sometimes_data(context);
                let inside = between("down", name(inner), inside, "up");
                between("down", name(outer), inside, "up")
            }
            Pattern::SemaphoreAndLock => self.semaphore_and_lock(context),
            Pattern::AwaitLocal => self.await_local(),
            Pattern::Upgrade => self.upgrade(context),
            Pattern::TryThenWait => self.try_then_wait(context),
            Pattern::FreeThenWait => {
                let mut block = if self.random.percent(40) && !context.endless {
                    self.new_object(context)
                } else {
                    vec![assign(name("n"), name("head"))]
                };
                let mut inside = vec![perform("free", [name("n")]), self.wait_for(context)];
                if self.random.percent(30) {
                    inside.push(assign(name("head"), word("null")));
                }
                block.push(Stmt::Atomic(inside));
                block
            }
            Pattern::PlainObject => self.plain_object(context),
            Pattern::LateWait if context.nests() => {
                let mut inside = self.inner(context.in_atomic());
                inside.push(self.wait_for(context));
                vec![Stmt::Atomic(inside)]
            }
            _ => return None,
        })
    }

    /// An object without a lock in it is made, or freed, by a block that may wait.
    fn plain_object(&mut self, context: Context) -> Block {
        if self.random.percent(20) {
            return new_plain_object();
        }
        let mut inside = vec![perform("free", [name("q")])];
        if self.random.percent(50) {
            inside = vec![Stmt::Atomic(vec![inside.remove(0), self.wait_for(context)])];
        }
        let made = infix(name("q"), "!=", word("null"));
        let free = Stmt::If(made, inside, vec![]);
        let mut block = vec![assign(name("q"), name("p")), free];
        // Who never does anything more may never be seen to have freed it.
        if !context.atomic && self.random.percent(30) {
            block.push(Stmt::While(word("true"), only("skip")));
        }
        block
    }

    fn sometimes_data(&mut self, context: Context) -> Block {
        if self.random.percent(50) {
            self.access(name("data"), context)
        } else {
            Block::new()
        }
    }

    /// A token and a lock, in either order.
    fn semaphore_and_lock(&mut self, context: Context) -> Block {
        let token = name(self.random.pick(&["sem", "gate", "gate"]));
        let inside = self.sometimes_data(context);
        let (take, lock) = match self.random.below(6) {
            0 => ("read_lock", name("l")),
            1 => ("write_lock", name("l")),
            _ => ("lock", name(self.data_lock)),
        };
        if self.random.percent(50) {
            let inside = between(take, lock, inside, "unlock");
            between("down", token, inside, "up")
        } else {
            let inside = between("down", token, inside, "up");
            between(take, lock, inside, "unlock")
        }
    }

    /// Nobody else can end this wait.
    fn await_local(&mut self) -> Block {
        let register = self.register();
        let (mut block, condition) = match self.random.below(5) {
            0 => (vec![], name("b")),
            1 | 2 => {
                let choice = assign(register.clone(), Expr::Choose(0, 1));
                let wanted = int(self.random.below(2) as i64);
                (vec![choice], infix(register, "==", wanted))
            }
            3 => (vec![], infix(register, "<=", self.number())),
            _ => (vec![], infix(register, "!=", self.number())),
        };
        let wait = vec![perform("await", [condition])];
        if self.random.percent(40) {
            block.extend(between("lock", name(self.data_lock), wait, "unlock"));
        } else {
            block.extend(wait);
        }
        block
    }

    /// A lock is given up and taken again, otherwise, in one block.
    fn upgrade(&mut self, context: Context) -> Block {
        let (first, second) = match self.random.below(8) {
            0 => ("write_lock", "read_lock"),
            1 => ("read_lock", "try_write_lock"),
            _ => ("read_lock", "write_lock"),
        };
        let lock = || name("l");
        let mut block = vec![perform(first, [lock()])];
        if self.random.percent(40) {
            block.push(assign(self.register(), name("data")));
        }
        let mut exchange = vec![perform("unlock", [lock()])];
        if second == "try_write_lock" {
            exchange.push(assign(name("b"), call(second, [lock()])));
            exchange.push(perform("await", [name("b")]));
        } else {
            exchange.push(perform(second, [lock()]));
        }
        block.push(Stmt::Atomic(exchange));
        block.extend(self.access(name("data"), context));
        block.push(perform("unlock", [lock()]));
        block
    }

    /// A block that tries, and goes on only if it likes the result, or for another reason.
    fn try_then_wait(&mut self, context: Context) -> Block {
        let (attempt, undo) = match self.random.below(8) {
            0 => (call("try_down", [name("sem")]), Some(("up", name("sem")))),
            1 => {
                let attempt = self.random.pick(&["try_read_lock", "try_write_lock"]);
                (call(attempt, [name("l")]), Some(("unlock", name("l"))))
            }
            2 => (call("try_send", [name("ch"), self.number()]), None),
            3 => (call("try_recv", [name("ch"), name("r")]), None),
            _ => {
                let lock = self.lock();
                (call("try_lock", [lock.clone()]), Some(("unlock", lock)))
            }
        };
        let wait = match self.random.below(4) {
            0 => perform("await", [name("b")]),
            1 | 2 => perform("await", [prefix("!", name("b"))]),
            _ => self.wait_for(context),
        };
        let mut block = vec![Stmt::Atomic(vec![assign(name("b"), attempt), wait])];
        if let Some((undo, object)) = undo {
            let mut inside = self.sometimes_data(context);
            inside.push(perform(undo, [object]));
            block.push(Stmt::If(name("b"), inside, vec![]));
        }
        block
    }

    fn wait_for(&mut self, context: Context) -> Stmt {
        let wait = self.random.pick(&["await", "await", "await", "assume"]);
        perform(wait, [self.guard(context)])
    }
}
