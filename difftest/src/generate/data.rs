//! Patterns that access data: variables, arrays, references, heap objects, atomics.

use super::{Context, Generator, Pattern, bounded};
use crate::syntax::make::{assign, call, index, infix, int, member, name, perform, prefix, word};
use crate::syntax::{Block, Expr, Stmt};

impl Generator {
    pub(super) fn data_pattern(&mut self, pattern: Pattern, context: Context) -> Option<Block> {
        Some(match pattern {
            Pattern::Write => self.write(context),
            Pattern::Read => vec![assign(self.register(), self.shared())],
            Pattern::Increment => self.increment(context),
            Pattern::Array => {
                let cell = index("cells", self.position(context));
                self.access(cell, context)
            }
            Pattern::Fields => {
                let pair = match self.random.below(2) {
                    0 => name("pair"),
                    _ => index("pairs", self.position(context)),
                };
                let field = self.random.pick(&["a", "b"]);
                self.access(member(pair, ".", field), context)
            }
            Pattern::Pointer => self.pointer(context),
            Pattern::BareData => self.access(name("data"), context),
            Pattern::Cas => self.cas(context),
            Pattern::FetchAdd if !context.endless => {
                let shared = self.shared();
                vec![assign(self.register(), call("fetch_add", [shared, int(1)]))]
            }
            Pattern::Swap | Pattern::FetchAdd => {
                let (shared, number) = (self.shared(), self.number());
                vec![assign(self.register(), call("swap", [shared, number]))]
            }
            Pattern::AtomicVariable => self.atomic_variable(context),
            Pattern::New => self.new_object(context),
            Pattern::Allocations => self.allocations(context),
            Pattern::HeapRead => vec![
                assign(name("n"), name("head")),
                Stmt::If(
                    infix(name("n"), "!=", word("null")),
                    vec![assign(self.register(), member(name("n"), "->", "value"))],
                    vec![],
                ),
            ],
            Pattern::HeapWrite => {
                let value = self.value(context);
                vec![
                    assign(name("n"), name("head")),
                    Stmt::If(
                        infix(name("n"), "!=", word("null")),
                        vec![assign(member(name("n"), "->", "value"), value)],
                        vec![],
                    ),
                ]
            }
            Pattern::HeapLocked => {
                let guard = || member(name("n"), "->", "guard");
                let access = self.access(member(name("n"), "->", "value"), context);
                let mut locked = vec![perform("lock", [guard()])];
                locked.extend(access);
                locked.push(perform("unlock", [guard()]));
                vec![
                    assign(name("n"), name("head")),
                    Stmt::If(infix(name("n"), "!=", word("null")), locked, vec![]),
                ]
            }
            Pattern::Free => {
                let mut block = vec![assign(name("n"), name("head"))];
                if self.random.percent(60) {
                    block.push(assign(name("head"), word("null")));
                }
                block.push(perform("free", [name("n")]));
                block
            }
            _ => return None,
        })
    }

    /// A local variable to read into.
    pub(super) fn register(&mut self) -> Expr {
        name(self.random.pick(&["r", "r", "s"]))
    }

    pub(super) fn write(&mut self, context: Context) -> Block {
        let place = self.shared();
        vec![assign(place, self.value(context))]
    }

    /// Reads or writes a place.
    pub(super) fn access(&mut self, place: Expr, context: Context) -> Block {
        match self.random.below(5) {
            0 | 1 => vec![assign(self.register(), place)],
            2 => vec![assign(
                place.clone(),
                bounded(infix(place, "+", int(1)), context),
            )],
            _ => vec![assign(place, self.value(context))],
        }
    }

    fn increment(&mut self, context: Context) -> Block {
        let place = self.shared();
        if context.endless {
            let value = bounded(infix(place.clone(), "+", int(1)), context);
            return vec![assign(place, value)];
        }
        let operator = self.random.pick(&["+=", "+=", "-="]);
        vec![Stmt::Assign(place, operator, self.number())]
    }

    fn pointer(&mut self, context: Context) -> Block {
        let target = || prefix("*", name("q"));
        let address = |generator: &mut Self| match generator.random.below(4) {
            0 => prefix("&", index("cells", generator.position(context))),
            1 => prefix("&", member(name("pair"), ".", "a")),
            _ => prefix("&", name(generator.random.pick(&["x", "y"]))),
        };
        match self.random.below(4) {
            0 => vec![assign(name("p"), address(self))],
            1 => vec![
                assign(name("q"), name("p")),
                Stmt::If(
                    infix(name("q"), "!=", word("null")),
                    self.access(target(), context),
                    vec![],
                ),
            ],
            2 => self.access(prefix("*", name("p")), context),
            _ => {
                let mut block = vec![assign(name("q"), address(self))];
                block.extend(self.access(target(), context));
                block
            }
        }
    }

    fn cas(&mut self, context: Context) -> Block {
        let (old, new) = (self.number(), self.number());
        let place = match self.random.below(4) {
            0 => index("cells", self.position(context)),
            _ => self.shared(),
        };
        let cas = call("cas", [place, old, new]);
        if context.nests() && self.random.percent(50) {
            let then = self.inner(context.deeper());
            vec![Stmt::If(cas, then, vec![])]
        } else {
            vec![assign(name("b"), cas)]
        }
    }

    fn atomic_variable(&mut self, context: Context) -> Block {
        match self.random.below(6) {
            0 | 1 => vec![assign(self.register(), name("hits"))],
            2 => vec![assign(name("hits"), self.value(context))],
            3 => vec![perform("store", [name("data"), self.number()])],
            4 => vec![assign(self.register(), call("load", [name("data")]))],
            _ if context.endless => vec![assign(name("hits"), self.number())],
            _ => vec![Stmt::Assign(name("hits"), "+=", int(1))],
        }
    }

    pub(super) fn new_object(&mut self, context: Context) -> Block {
        let mut block = vec![assign(name("n"), Expr::New("Node"))];
        if self.random.percent(50) {
            let value = self.value(context);
            block.push(assign(member(name("n"), "->", "value"), value));
        }
        // In a loop the list would grow.
        if !context.endless && self.random.percent(40) {
            block.push(assign(member(name("n"), "->", "next"), name("head")));
        }
        block.push(match self.random.below(4) {
            0 => assign(
                name("b"),
                call("cas", [name("head"), word("null"), name("n")]),
            ),
            _ => assign(name("head"), name("n")),
        });
        if self.random.percent(30) {
            let value = self.value(context);
            block.push(assign(member(name("n"), "->", "value"), value));
        }
        block
    }

    /// Many objects, of which few remain, mostly.
    fn allocations(&mut self, context: Context) -> Block {
        let new = || assign(name("n"), Expr::New("Node"));
        let publish = || assign(name("head"), name("n"));
        match self.random.below(6) {
            0 if context.nests() && !context.atomic => {
                let condition = self.random.pick(&["*", "*", "true"]);
                let mut body = vec![new()];
                if self.random.percent(40) {
                    body.push(publish());
                }
                vec![Stmt::While(word(condition), body)]
            }
            0 | 1 => {
                let many = self.random.weighted(&[(10, 10), (100, 5), (3_000, 1)]);
                let garbage = Stmt::For("j", many, vec![new()]);
                vec![Stmt::Atomic(vec![garbage]), publish()]
            }
            2 if !context.endless => {
                let link = assign(member(name("n"), "->", "next"), name("head"));
                vec![Stmt::For("j", 2, vec![new(), link, publish()])]
            }
            2 | 3 => vec![new(), new(), perform("free", [name("n")])],
            4 => {
                let value = assign(member(name("n"), "->", "value"), self.number());
                vec![new(), value, new(), publish()]
            }
            _ => vec![Stmt::For("j", 3, vec![new(), publish()])],
        }
    }
}
