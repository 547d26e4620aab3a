//! Patterns that synchronise: locks, monitors, semaphores, channels.

use super::{Context, Generator, Pattern};
use crate::syntax::make::{assign, call, infix, int, name, perform, prefix, word};
use crate::syntax::{Block, Expr, Stmt};

/// The operation, the statements, the opposite operation.
pub(super) fn between(begin: &'static str, lock: Expr, inside: Block, end: &'static str) -> Block {
    let mut block = vec![perform(begin, [lock.clone()])];
    block.extend(inside);
    block.push(perform(end, [lock]));
    block
}

impl Generator {
    pub(super) fn synchronisation_pattern(
        &mut self,
        pattern: Pattern,
        context: Context,
    ) -> Option<Block> {
        Some(match pattern {
            Pattern::Locked if context.nests() => {
                let lock = self.lock();
                let inside = self.inner(context.deeper());
                between("lock", lock, inside, "unlock")
            }
            Pattern::LockedData | Pattern::Locked => {
                let mut inside = self.access(name("data"), context);
                if self.random.percent(30) {
                    inside.extend(self.access(name("data"), context));
                }
                between("lock", name(self.data_lock), inside, "unlock")
            }
            Pattern::NestedLocks => {
                let (outer, inner) = match self.random.below(2) {
                    0 => ("m", "w"),
                    _ => ("w", "m"),
                };
                let inside = self.access(name("data"), context);
                let inside = between("lock", name(inner), inside, "unlock");
                between("lock", name(outer), inside, "unlock")
            }
            Pattern::Reentrant => {
                let inside = self.access(name("data"), context);
                let mut outside = if self.random.percent(50) {
                    self.write(context)
                } else {
                    Block::new()
                };
                outside.extend(between("lock", name("rm"), inside, "unlock"));
                if self.random.percent(50) {
                    outside.extend(self.access(name("data"), context));
                }
                between("lock", name("rm"), outside, "unlock")
            }
            Pattern::TryLock => {
                let lock = self.lock();
                let inside = self.access(name("data"), context);
                let otherwise = if self.random.percent(40) {
                    self.write(context)
                } else {
                    Block::new()
                };
                self.attempt("try_lock", lock, inside, "unlock", otherwise)
            }
            Pattern::ReadLock => {
                let inside = vec![assign(self.register(), name("data"))];
                between("read_lock", name("l"), inside, "unlock")
            }
            Pattern::WriteLock => {
                let inside = self.access(name("data"), context);
                between("write_lock", name("l"), inside, "unlock")
            }
            Pattern::TryReadWrite => {
                let operation = self.random.pick(&["try_read_lock", "try_write_lock"]);
                let inside = self.access(name("data"), context);
                self.attempt(operation, name("l"), inside, "unlock", Block::new())
            }
            Pattern::StrayUnlock if self.random.percent(30) => {
                vec![perform("unlock", [self.lock()])]
            }
            Pattern::Semaphore => {
                let inside = self.access(name("data"), context);
                between("down", name("sem"), inside, "up")
            }
            Pattern::Down => vec![perform("down", [name("sem")])],
            Pattern::Up if !context.endless => vec![perform("up", [name("sem")])],
            Pattern::TryDown => {
                let inside = self.access(name("data"), context);
                self.attempt("try_down", name("sem"), inside, "up", Block::new())
            }
            Pattern::MonitorWait | Pattern::CondWait if !context.atomic => {
                self.wait(pattern == Pattern::CondWait)
            }
            Pattern::MonitorNotify | Pattern::CondNotify => {
                self.notify(pattern == Pattern::CondNotify)
            }
            Pattern::Send => {
                let value = self.local(context);
                match self.random.below(3) {
                    0 => {
                        let flag = self.random.pick(&["true", "false"]);
                        vec![perform("send", [name("wide"), value, word(flag)])]
                    }
                    _ => vec![perform("send", [name("ch"), value])],
                }
            }
            Pattern::Receive => match self.random.below(3) {
                0 => vec![perform("recv", [name("wide"), name("r"), name("b")])],
                1 => vec![perform("recv", [name("ch"), name("s")])],
                _ => vec![assign(name("r"), call("recv", [name("ch")]))],
            },
            Pattern::Poll => vec![match self.random.below(3) {
                0 => assign(name("b"), call("try_send", [name("ch"), self.number()])),
                1 => assign(name("b"), call("try_recv", [name("ch"), name("r")])),
                _ => assign(name("s"), call("len", [name("ch")])),
            }],
            Pattern::Meet => {
                if !context.atomic && self.random.percent(50) {
                    vec![perform("send", [name("meet"), self.local(context)])]
                } else {
                    vec![assign(name("r"), call("recv", [name("meet")]))]
                }
            }
            _ => return None,
        })
    }

    pub(super) fn lock(&mut self) -> Expr {
        match self.random.below(8) {
            0 => crate::syntax::make::index("locks", int(self.random.below(2) as i64)),
            1 | 2 => name(self.random.pick(&["w", "rm"])),
            _ => name(self.data_lock),
        }
    }

    /// Tries; with success goes on, and undoes it, mostly.
    fn attempt(
        &mut self,
        operation: &'static str,
        object: Expr,
        mut inside: Block,
        undo: &'static str,
        otherwise: Block,
    ) -> Block {
        if self.random.percent(90) {
            inside.push(perform(undo, [object.clone()]));
        }
        if self.random.percent(20) {
            let mut block = vec![assign(name("b"), call(operation, [object]))];
            block.push(Stmt::If(name("b"), inside, otherwise));
            return block;
        }
        vec![Stmt::If(call(operation, [object]), inside, otherwise)]
    }

    /// The mutex of the monitor, and what is waited on.
    fn monitor(&mut self, condition: bool) -> (&'static str, Vec<Expr>) {
        if condition {
            ("m", vec![name("c"), name("m")])
        } else {
            let mutex = self.random.pick(&["m", "rm", "rm"]);
            (mutex, vec![name(mutex)])
        }
    }

    fn wait(&mut self, condition: bool) -> Block {
        let (mutex, arguments) = self.monitor(condition);
        let wait = vec![perform("wait", arguments)];
        let ready = prefix("!", name("ready"));
        let mut inside = match self.random.below(4) {
            0 => wait,
            1 => vec![Stmt::If(ready, wait, vec![])],
            _ => vec![Stmt::While(ready, wait)],
        };
        if self.random.percent(40) {
            inside.push(assign(self.register(), name("data")));
        }
        if self.random.percent(30) {
            inside.push(assign(name("ready"), word("false")));
        }
        let locked = between("lock", name(mutex), inside, "unlock");
        if mutex == "rm" && self.random.percent(30) {
            // `wait` gives up both.
            return between("lock", name(mutex), locked, "unlock");
        }
        locked
    }

    fn notify(&mut self, condition: bool) -> Block {
        let (mutex, arguments) = self.monitor(condition);
        let operation = self.random.pick(&["notify", "notify", "notify_all"]);
        let notify = perform(operation, [arguments[0].clone()]);
        let mut inside = Block::new();
        if self.random.percent(30) {
            inside.push(assign(name("data"), self.number()));
        }
        if self.random.percent(80) {
            inside.push(assign(name("ready"), word("true")));
        }
        if condition && self.random.percent(20) {
            // A condition may be notified without the mutex.
            let mut block = between("lock", name(mutex), inside, "unlock");
            block.push(notify);
            return block;
        }
        if condition && self.random.percent(10) {
            return vec![Stmt::If(
                infix(name("r"), "==", int(0)),
                vec![notify],
                vec![],
            )];
        }
        inside.push(notify);
        between("lock", name(mutex), inside, "unlock")
    }
}
