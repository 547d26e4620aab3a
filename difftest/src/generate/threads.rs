//! Patterns about who may touch what, and threads that come and go.

use super::blocking::new_plain_object;
use super::{Context, Generator, Pattern, only};
use crate::syntax::make::{assign, index, infix, int, member, name, perform, prefix, word};
use crate::syntax::{Block, Expr, Stmt};

/// No thread has this number.
pub(super) const NOBODY: i64 = 5;

impl Generator {
    pub(super) fn thread_pattern(&mut self, pattern: Pattern, context: Context) -> Option<Block> {
        let is_about_threads = !matches!(pattern, Pattern::Give | Pattern::Take);
        if self.profile.twins && is_about_threads {
            return None;
        }
        Some(match pattern {
            Pattern::Spawn | Pattern::SpawnJoin => self.spawn_pattern(pattern, context)?,
            Pattern::Give => {
                let mut block = self.access(name("data"), context);
                block.push(assign(name("flag"), word("true")));
                block
            }
            Pattern::Take => self.take(context),
            Pattern::ThreadLocal => {
                let slot = if self.random.percent(90) {
                    infix(word("tid"), "&", int(3))
                } else {
                    int(self.random.below(2) as i64)
                };
                self.access(index("mine", slot), context)
            }
            Pattern::Guarded => {
                let inside = self.access(name("guarded"), context);
                self.mostly_locked(name("m"), inside)
            }
            Pattern::BareGuarded => self.access(name("guarded"), context),
            Pattern::GuardedEach if self.random.percent(40) => {
                let account = index("accounts", int(self.random.below(2) as i64));
                let inside = self.access(member(account.clone(), ".", "balance"), context);
                self.mostly_locked(member(account, ".", "guard"), inside)
            }
            Pattern::GuardedEach => {
                let slot = self.random.below(2) as i64;
                let inside = self.access(index("parts", int(slot)), context);
                let lock = if self.random.percent(95) {
                    slot
                } else {
                    1 - slot
                };
                self.mostly_locked(index("locks", int(lock)), inside)
            }
            Pattern::Exclusive => {
                let mut inside = self.access(name("buffer"), context);
                if self.random.percent(60) {
                    let next = infix(infix(word("tid"), "+", int(1)), "&", int(1));
                    inside.push(assign(name("owner"), next));
                }
                if self.random.percent(7) {
                    inside
                } else {
                    let mine = infix(name("owner"), "==", word("tid"));
                    vec![Stmt::If(mine, inside, vec![])]
                }
            }
            Pattern::TakeOver => self.take_over(context),
            Pattern::DisciplinedBlock => self.disciplined_block(context),
            _ => return None,
        })
    }

    /// Who owns the buffer changes without regard for who owns it, or who is still there.
    fn take_over(&mut self, context: Context) -> Block {
        let mut block = vec![assign(name("owner"), self.owner())];
        if self.random.percent(25) {
            block.extend(self.access(name("buffer"), context));
        }
        let free = infix(name("owner"), "==", int(NOBODY));
        match self.random.below(6) {
            0 => vec![Stmt::If(free, block, vec![])],
            1 => {
                let mine = infix(name("owner"), "==", word("tid"));
                vec![Stmt::If(mine, block, vec![])]
            }
            2 => {
                block.insert(0, perform("await", [free]));
                vec![Stmt::Atomic(block)]
            }
            _ => block,
        }
    }

    /// An atomic block in which disciplines are kept, broken, or broken and mended before it ends,
    /// depending on what it reads on the way.
    fn disciplined_block(&mut self, context: Context) -> Block {
        let inside = context.in_atomic();
        let mut block = Block::new();
        if self.random.percent(20) {
            block.push(perform("await", [self.guard(inside)]));
        }
        for _ in 0..1 + self.random.below(3) {
            let part = self.disciplined_part(inside);
            if self.random.percent(30) {
                let condition = self.condition(inside);
                block.push(Stmt::If(condition, part, vec![]));
            } else {
                block.extend(part);
            }
        }
        let mut around = vec![Stmt::Atomic(block)];
        if self.random.percent(25) {
            around = self.mostly_locked(name("m"), around);
        }
        // What follows is reached only if the block keeps to the disciplines.
        match self.random.below(4) {
            0 => around.extend([
                Stmt::Word("yield"),
                perform("assert", [self.claim(context)]),
            ]),
            1 => around.extend([Stmt::Word("yield"), Stmt::Word("reach")]),
            2 => around.push(perform("assert", [self.claim(context)])),
            _ => {}
        }
        around
    }

    fn disciplined_part(&mut self, context: Context) -> Block {
        match self.random.below(10) {
            0 => self.access(name("guarded"), context),
            1 => {
                // The lock is not held when the block begins.
                let inside = self.access(name("guarded"), context);
                self.mostly_locked(name("m"), inside)
            }
            2 => {
                let slot = self.random.below(2) as i64;
                let slot = self
                    .random
                    .pick(&[int(slot), infix(word("tid"), "&", int(3))]);
                self.access(index("mine", slot), context)
            }
            3 => {
                let mine = infix(name("owner"), "==", word("tid"));
                let mut inside = self.access(name("buffer"), context);
                inside.push(assign(name("owner"), self.owner()));
                vec![Stmt::If(mine, inside, vec![])]
            }
            4 => self.access(name("buffer"), context),
            5 | 6 => vec![assign(name("owner"), self.owner())],
            7 => {
                // Lent, and given back under a condition: what counts is the end of the block.
                let owner = assign(name("owner"), self.owner());
                let condition = self.guard(context);
                let back = Stmt::If(condition, vec![assign(name("owner"), name("s"))], vec![]);
                vec![assign(name("s"), name("owner")), owner, back]
            }
            8 => self.write(context),
            _ => vec![assign(self.register(), self.shared())],
        }
    }

    /// Somebody that the buffer may be given to.
    fn owner(&mut self) -> Expr {
        match self.random.below(6) {
            0 | 1 => word("tid"),
            2 => infix(infix(word("tid"), "+", int(1)), "&", int(1)),
            3 => int(NOBODY),
            _ => self.number(),
        }
    }

    fn mostly_locked(&mut self, lock: Expr, inside: Block) -> Block {
        if self.random.percent(7) {
            return inside;
        }
        let mut block = vec![perform("lock", [lock.clone()])];
        block.extend(inside);
        block.push(perform("unlock", [lock]));
        block
    }

    fn take(&mut self, context: Context) -> Block {
        let flag = || name("flag");
        let access = self.access(name("data"), context);
        let mut block = match self.random.below(5) {
            0 => return vec![Stmt::If(flag(), access, vec![])],
            1 if !context.atomic => vec![Stmt::While(prefix("!", flag()), only("skip"))],
            2 => vec![perform("assume", [flag()])],
            _ => vec![perform("await", [flag()])],
        };
        block.extend(access);
        block
    }

    fn spawn_pattern(&mut self, pattern: Pattern, context: Context) -> Option<Block> {
        if context.called || context.endless || context.atomic || self.spawns == 0 {
            return None;
        }
        self.spawns -= 1;
        if !self.functions.iter().any(|known| known.name == "child") {
            let inside = Context {
                parameter: true,
                // No children of children.
                called: true,
                ..Context::THREAD
            };
            let body = self.inner(inside);
            self.function("void", "child", true, body);
        }
        let mut block = vec![self.spawn("t", "child", context)];
        if pattern == Pattern::SpawnJoin {
            if self.random.percent(60) && context.nests() {
                block.extend(self.inner(context.deeper()));
            }
            block.push(perform("join", [name("t")]));
        }
        Some(block)
    }

    fn spawn(&mut self, handle: &'static str, function: &'static str, context: Context) -> Stmt {
        let argument = self.local(context);
        assign(name(handle), Expr::Spawn(function, vec![argument]))
    }

    /// A `main` that prepares, spawns, works, joins, and looks at what became of it.
    pub(super) fn main(&mut self) {
        let context = Context::THREAD;
        let workers = self.random.weighted(&[(1, 3), (2, 4)]);
        let names = [("t", "first"), ("u", "second")];
        let mut main = if self.random.percent(60) {
            let before = 1 + self.random.below(2);
            self.patterns = before + 1;
            self.block(context, before)
        } else {
            Block::new()
        };
        if self.profile.objects > 0 && self.random.percent(self.profile.objects) {
            main.extend(new_plain_object());
        }
        for (handle, function) in &names[..workers] {
            let inside = Context {
                parameter: true,
                ..context
            };
            let body = self.thread(workers + 1, inside);
            self.function("void", function, true, body);
            main.push(self.spawn(handle, function, context));
        }
        let meanwhile = self.random.below(3);
        self.patterns = meanwhile + 2;
        main.extend(self.block(context, meanwhile));
        for (handle, _) in &names[..workers] {
            if self.random.percent(80) {
                main.push(perform("join", [name(handle)]));
            }
        }
        let after = self.random.below(3);
        self.patterns = after + 2;
        main.extend(self.block(context, after));
        if self.random.percent(40) {
            // Whoever is alone needs no lock.
            let bare = self.random.pick(&[Pattern::BareData, Pattern::BareGuarded]);
            main.extend(self.pattern(bare, context));
        }
        self.function("void", "main", false, main);
    }
}
