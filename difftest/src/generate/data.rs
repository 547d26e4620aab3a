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
            Pattern::Objects => self.objects(context),
            Pattern::Rows => self.rows(context),
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

    /// Objects in which there is everything, and one global variable of their type.
    fn objects(&mut self, context: Context) -> Block {
        let of = |field: &'static str| member(name("o"), "->", field);
        let mut block = match self.random.below(5) {
            0 => vec![assign(name("o"), Expr::New("Box"))],
            1 => vec![
                assign(name("o"), Expr::New("Box")),
                assign(of("next"), name("top")),
                assign(name("top"), name("o")),
            ],
            2 => vec![assign(name("o"), prefix("&", name("whole")))],
            _ => vec![assign(name("o"), name("top"))],
        };
        let value = self.number();
        let blocks = !context.atomic;
        let used = match self.random.below(18) {
            0 => vec![assign(of("data"), self.value(context))],
            1 => vec![assign(self.register(), of("data"))],
            2 => vec![assign(of("next"), name("top"))],
            3 => vec![assign(name("top"), of("next"))],
            4 => vec![assign(
                self.register(),
                call("fetch_add", [of("data"), int(1)]),
            )],
            5 => vec![assign(name("b"), call("cas", [of("data"), int(0), value]))],
            6 if blocks => vec![
                perform("lock", [of("m")]),
                assign(of("data"), value),
                perform("unlock", [of("m")]),
            ],
            7 if blocks => vec![
                perform("lock", [of("rm")]),
                perform("lock", [of("rm")]),
                assign(self.register(), of("data")),
                perform("unlock", [of("rm")]),
            ],
            8 if blocks => {
                let lock = self.random.pick(&["read_lock", "write_lock"]);
                vec![
                    perform(lock, [of("l")]),
                    assign(of("data"), value),
                    perform("unlock", [of("l")]),
                ]
            }
            9 => vec![assign(name("b"), call("try_send", [of("ch"), value]))],
            10 if blocks => vec![assign(self.register(), call("recv", [of("ch")]))],
            11 => vec![perform("up", [of("sem")])],
            12 if blocks => vec![perform("down", [of("sem")])],
            13 if blocks => vec![
                perform("lock", [of("m")]),
                perform("wait", [of("c"), of("m")]),
                perform("unlock", [of("m")]),
            ],
            14 => vec![perform("notify_all", [of("c")])],
            15 if blocks => vec![
                perform("lock", [of("m")]),
                assign(of("kept"), value),
                perform("unlock", [of("m")]),
            ],
            16 => vec![assign(of("kept"), value)],
            _ if blocks => vec![perform("send", [of("meet"), value])],
            _ => vec![assign(of("flag"), name("b"))],
        };
        block.push(match self.random.percent(80) {
            true => Stmt::If(infix(name("o"), "!=", word("null")), used, vec![]),
            false => Stmt::Atomic(vec![Stmt::If(
                infix(name("o"), "!=", word("null")),
                vec![assign(of("data"), self.number())],
                vec![],
            )]),
        });
        block
    }

    /// Arrays of different lengths, references into them, and what is freed.
    fn rows(&mut self, context: Context) -> Block {
        let new = self
            .random
            .pick(&["int[1]", "int[3]", "int[6]", "int[s + 2]", "int[20]"]);
        let mut made = vec![assign(name("d"), Expr::New(new))];
        if new == "int[s + 2]" {
            // Only variables that are seen to be used are declared, and not those in a type.
            made.insert(0, assign(name("s"), int(self.random.below(3) as i64)));
        }
        match self.random.below(6) {
            0 | 1 => {
                if self.random.percent(60) {
                    let position = self.position(context);
                    made.push(assign(index("d", position), self.number()));
                }
                made.push(assign(name("row"), name("d")));
                made
            }
            2 => {
                let position = self.position(context);
                let read = vec![assign(self.register(), index("d", position))];
                vec![
                    assign(name("d"), name("row")),
                    Stmt::If(infix(name("d"), "!=", word("null")), read, vec![]),
                ]
            }
            3 => {
                let element = index("d", int(self.random.below(4) as i64));
                let move_on = vec![assign(name("d"), prefix("&", element))];
                vec![
                    assign(name("d"), name("row")),
                    Stmt::If(infix(name("d"), "!=", word("null")), move_on, vec![]),
                    assign(name("row"), name("d")),
                ]
            }
            4 => vec![
                assign(name("d"), name("row")),
                assign(name("row"), word("null")),
                perform("free", [name("d")]),
            ],
            _ => {
                made.push(perform("free", [name("d")]));
                made
            }
        }
    }
}
