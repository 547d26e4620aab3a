//! Random programs with loops.

use crate::syntax::{
    DISCONNECTED, Inside, Mark, NOTHING, Op, Program, Register, Statement, Test, Value,
};

/// Forms of loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Form {
    /// Looks, marks, looks again.
    Wait,
    /// Looks at another object each round, in turn, or in an order such as x, x, y.
    ScanOneEachRound,
    /// Looks at several objects in each round, with marks in between or after all of them.
    ScanAllEachRound,
    /// Gives up after some rounds.
    GiveUp,
    /// The same, with another object each round.
    GiveUpScanning,
    /// The same, without a mark.
    GiveUpUnmarked,
    /// More and more calls of `spin_loop`.
    Backoff,
    /// Does something when it sees another value than before.
    Remember,
    /// Counts its rounds, without bound, and tells.
    Counter,
    /// The same, but counts on the heap.
    CounterOnHeap,
    /// Marks at two places in turns.
    TwoMarks,
    /// Waits and goes on, twice, in one loop.
    Twice,
    /// Reads until nobody has written in between.
    SeqLock,
    /// Changes something in each round.
    Effect,
    /// A loop that gives up within a loop that does not.
    Nested,
    TwoInARow,
    CasCarry,
    CasReload,
    Ticket,
    SwapLock,
    TestAndSwapLock,
    OrLock,
    TryLock,
    FutureWakesItself,
    FutureJoin,
    FutureRegisters,
    CondvarWait,
    CondvarWhile,
    CondvarTimeout,
    CondvarGiveUp,
    Park,
    ParkTimeout,
    /// Waits until a thread has ended.
    Finished,
}

/// How a loop looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Look {
    Load,
    AddZero,
    Cas,
    Lock,
    LockTake,
    TryLock,
    Read,
    TryRead,
    TryWrite,
    Recv,
    TryRecv,
    RecvTimeout,
    Once,
    /// Looks at a flag, and then under a lock.
    LoadThenLock,
    /// At how many references there are.
    Strong,
    /// The same, before, between or after making one and dropping it.
    CloneStrong,
    /// Whether there is one.
    Upgrade,
    /// The same, and then how many there are.
    UpgradeStrong,
}

/// What programs are made of.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    pub(crate) forms: Vec<Form>,
    pub(crate) looks: Vec<Look>,
    pub(crate) insides: Vec<Inside>,
}

/// Forms of loops that are known limits: the counter is guessed at or cannot be seen, or the executions have no bound.
const LIMITS: [&str; 6] = [
    "Counter",
    "CounterOnHeap",
    "Effect",
    "CondvarTimeout",
    "ParkTimeout",
    "LookRecvTimeout",
];

impl Profile {
    /// What holds. What is left out here is a known limit.
    pub(crate) fn holds() -> Self {
        let mut profile = Self::everything();
        for name in LIMITS {
            profile.leave_out(name);
        }
        profile
    }

    /// Loops that look at references, and what holds otherwise.
    pub(crate) fn references() -> Self {
        Self {
            forms: vec![
                Form::Wait,
                Form::Wait,
                Form::ScanAllEachRound,
                Form::GiveUp,
                Form::Remember,
                Form::TwoMarks,
                Form::TwoInARow,
                Form::Nested,
            ],
            looks: vec![
                Look::Strong,
                Look::CloneStrong,
                Look::CloneStrong,
                Look::Upgrade,
                Look::UpgradeStrong,
            ],
            ..Self::holds()
        }
    }

    /// Leaves out a form, a way to look, or what mutexes have inside.
    pub(crate) fn leave_out(&mut self, name: &str) {
        let count = |it: &Self| it.forms.len() + it.looks.len() + it.insides.len();
        let before = count(self);
        self.forms.retain(|form| format!("{form:?}") != name);
        self.looks.retain(|look| format!("Look{look:?}") != name);
        self.insides
            .retain(|inside| format!("Inside{inside:?}") != name);
        assert!(count(self) < before, "there is no `{name}`");
    }

    /// Everything.
    pub(crate) fn everything() -> Self {
        Self {
            forms: vec![
                Form::Wait,
                Form::ScanOneEachRound,
                Form::ScanAllEachRound,
                Form::GiveUp,
                Form::GiveUpScanning,
                Form::GiveUpUnmarked,
                Form::Backoff,
                Form::Remember,
                Form::Counter,
                Form::CounterOnHeap,
                Form::TwoMarks,
                Form::Twice,
                Form::SeqLock,
                Form::Effect,
                Form::Nested,
                Form::TwoInARow,
                Form::CasCarry,
                Form::CasReload,
                Form::Ticket,
                Form::SwapLock,
                Form::TestAndSwapLock,
                Form::OrLock,
                Form::TryLock,
                Form::FutureWakesItself,
                Form::FutureJoin,
                Form::FutureRegisters,
                Form::CondvarWait,
                Form::CondvarWhile,
                Form::CondvarTimeout,
                Form::CondvarGiveUp,
                Form::Park,
                Form::ParkTimeout,
                Form::Finished,
            ],
            looks: vec![
                Look::Load,
                Look::AddZero,
                Look::Cas,
                Look::Lock,
                Look::LockTake,
                Look::TryLock,
                Look::Read,
                Look::TryRead,
                Look::TryWrite,
                Look::Recv,
                Look::TryRecv,
                Look::RecvTimeout,
                Look::Once,
                Look::LoadThenLock,
                Look::Strong,
                Look::CloneStrong,
                Look::Upgrade,
                Look::UpgradeStrong,
            ],
            insides: vec![Inside::Plain, Inside::Cell, Inside::RefCell, Inside::Boxed],
        }
    }
}

/// Small, and the same everywhere.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next() % most as u64).expect("it is small")
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// What a loop waits for: something that another thread should do.
#[derive(Clone, Debug)]
struct Wish {
    by: usize,
    granted: Vec<Statement>,
    /// Only the main thread and threads that were started later can do it.
    later: bool,
}

/// Statements that look, and the test that is true if what they found is what the loop waits for.
struct Looking {
    statements: Vec<Statement>,
    ok: Test,
}

/// The registers: what was found, rounds, positions, and what was found before or elsewhere.
const FOUND: Register = 0;
const ROUNDS: Register = 1;
const POSITION: Register = 2;
const OTHER: Register = 3;

struct Generator<'a> {
    rng: Rng,
    profile: &'a Profile,
    /// How many places of the source code statements are spread over.
    places: usize,
    place: usize,
    count: usize,
    wishes: Vec<Wish>,
    me: usize,
}

/// The program of this number.
pub(crate) fn program(seed: u64, profile: &Profile) -> (Program, Vec<Form>) {
    let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1);
    let count = rng.pick(&[2, 2, 2, 3, 3, 4]);
    let places = rng.pick(&[1, 2, 12, 12]);
    let mut generator = Generator {
        rng,
        profile,
        places,
        place: 0,
        count,
        wishes: Vec::new(),
        me: 0,
    };
    let mut program = Program::default();
    let mut forms = Vec::new();
    let loops = generator.rng.pick(&[1, 1, 2, 2, 3]).min(count);
    let first = generator.rng.below(count);
    let same = generator.rng.one_in(3);
    for thread in 0..count {
        generator.me = thread;
        let mut body = Vec::new();
        if generator.rng.one_in(4) {
            body.extend(generator.noise());
        }
        if (thread + count - first) % count < loops {
            let mut form = generator.rng.pick(&profile.forms);
            if let (true, Some(&before)) = (same, forms.first()) {
                form = before;
            }
            forms.push(form);
            body.extend(generator.make(form));
        } else if generator.rng.one_in(2) {
            body.extend(generator.noise());
        }
        if generator.rng.one_in(3) {
            body.extend(generator.noise());
        }
        program.threads.push(body);
    }
    for wish in std::mem::take(&mut generator.wishes) {
        generator.grant(&wish, &mut program);
    }
    program.mutexes = std::array::from_fn(|_| match generator.rng.below(2) {
        0 => Inside::Plain,
        _ => generator.rng.pick(&profile.insides),
    });
    program.spurious = u32::from(generator.rng.one_in(4));
    program.touched = generator.rng.one_in(2);
    program.heap = match (
        forms.contains(&Form::Counter),
        forms.contains(&Form::CounterOnHeap),
    ) {
        (_, true) => true,
        (true, false) => false,
        _ => generator.rng.one_in(3),
    };
    (program, forms)
}

impl Generator<'_> {
    fn place(&mut self) -> usize {
        self.place += 1;
        self.place % self.places
    }

    fn make_one(&mut self, op: Op) -> Statement {
        Statement::Do(op, None, self.place())
    }

    fn into(&mut self, register: Register, op: Op) -> Statement {
        Statement::Do(op, Some(register), self.place())
    }

    fn mark(&mut self) -> Statement {
        let mark = self
            .rng
            .pick(&[Mark::Yield, Mark::SpinLoop, Mark::SpinLoop, Mark::Sleep]);
        Statement::Mark(mark, self.place())
    }

    fn small(&mut self) -> i64 {
        self.rng.pick(&[0, 1, 1, 2])
    }

    fn object(&mut self) -> usize {
        self.rng.pick(&[0, 0, 1, 1, 2])
    }

    fn named(&mut self) -> Value {
        Value::Is(self.object() as i64)
    }

    fn wish(&mut self, granted: Vec<Statement>) {
        self.wishes.push(Wish {
            by: self.me,
            granted,
            later: false,
        });
    }

    /// Has another thread do what a loop waits for, mostly.
    fn grant(&mut self, wish: &Wish, program: &mut Program) {
        if self.rng.one_in(12) {
            return;
        }
        let can = |thread: &usize| {
            *thread != wish.by && (!wish.later || *thread == 0 || *thread > wish.by)
        };
        let others: Vec<usize> = (0..self.count).filter(can).collect();
        if others.is_empty() {
            return;
        }
        let thread = self.rng.pick(&others);
        let body = &mut program.threads[thread];
        // Before its own loop, mostly, so that few programs are stuck for that alone.
        let at = match self.rng.below(3) {
            0 => self.rng.below(body.len() + 1),
            _ => 0,
        };
        body.splice(at..at, wish.granted.iter().cloned());
    }

    /// Something that may matter to others.
    fn noise(&mut self) -> Vec<Statement> {
        let (object, value) = (self.named(), self.small());
        match self.rng.below(12) {
            0..=2 => vec![self.into(OTHER, Op::Load(object))],
            10 => self.referring(object),
            11 => vec![self.into(OTHER, Op::Strong(object))],
            3 | 4 => vec![self.make_one(Op::Store(object, Value::Is(value)))],
            5 => vec![self.into(OTHER, Op::Xor(object, 1))],
            6 => self.locked(object, Op::Put(object, Value::Is(value)), None),
            7 => self.locked(object, Op::Get(object), Some(OTHER)),
            8 => vec![self.into(OTHER, Op::Swap(object, Value::Is(value)))],
            _ => self.written(object, value),
        }
    }

    /// Changes how many references there are, for a while or for good.
    fn referring(&mut self, object: Value) -> Vec<Statement> {
        let (clone, release) = (Op::Clone(object), Op::Release(object));
        match self.rng.below(4) {
            0 => vec![self.make_one(release)],
            1 => vec![self.make_one(clone)],
            2 => vec![self.make_one(clone), self.make_one(release)],
            _ => vec![
                self.into(OTHER, Op::Upgrade(object)),
                self.make_one(release),
            ],
        }
    }

    /// Looks at references. Whose own ones are counted too depends on what else the threads do with them.
    fn look_at_references(&mut self, look: Look, object: Value) -> (Vec<Statement>, Test) {
        let count = self.into(FOUND, Op::Strong(object));
        let upgrade = self.into(FOUND, Op::Upgrade(object));
        let mut release = vec![self.make_one(Op::Release(object))];
        let wanted = match look {
            Look::Strong => self.rng.pick(&[0, 0, 1, 2]),
            Look::CloneStrong => self.rng.pick(&[1, 1, 2, 3]),
            Look::Upgrade => 0,
            _ => self.rng.pick(&[0, 1, 2]),
        };
        let statements = match look {
            Look::CloneStrong => {
                let mut statements = vec![self.make_one(Op::Clone(object)), release.remove(0)];
                let at = self.rng.below(3);
                statements.insert(at, count);
                if self.rng.one_in(4) {
                    let at = self.rng.below(3);
                    let (object, most) = (self.named(), self.rng.pick(&[0, 1]));
                    statements.insert(at, self.into(OTHER, Op::Max(object, most)));
                }
                statements
            }
            Look::Upgrade => vec![
                upgrade,
                Statement::If(Test::Is(FOUND, 1), release, Vec::new()),
            ],
            Look::UpgradeStrong => {
                release.insert(self.rng.below(2), count);
                vec![
                    upgrade,
                    Statement::If(Test::Is(FOUND, 1), release, Vec::new()),
                ]
            }
            _ => vec![count],
        };
        // A loop that waits for a reference which others have for a moment only may wait for ever or not.
        (statements, Test::AtMost(FOUND, wanted))
    }

    /// What a loop does beside waiting. It can be repeated without end.
    fn effect(&mut self) -> Vec<Statement> {
        let (object, value) = (self.named(), self.small());
        match self.rng.below(6) {
            0 | 1 => vec![self.make_one(Op::Store(object, Value::Is(value)))],
            2 => vec![self.make_one(Op::Xor(object, 1))],
            3 => vec![self.make_one(Op::Max(object, 1))],
            4 => vec![self.into(OTHER, Op::Swap(object, Value::Is(value)))],
            _ => self.locked(object, Op::Put(object, Value::Is(value)), None),
        }
    }

    fn locked(&mut self, mutex: Value, inside: Op, into: Option<Register>) -> Vec<Statement> {
        vec![
            self.make_one(Op::Lock(mutex)),
            Statement::Do(inside, into, 0),
            self.make_one(Op::Unlock(mutex)),
        ]
    }

    fn written(&mut self, lock: Value, value: i64) -> Vec<Statement> {
        vec![
            self.make_one(Op::Write(lock)),
            self.make_one(Op::PutRw(lock, Value::Is(value))),
            self.make_one(Op::UnlockRw(lock)),
        ]
    }

    /// Looks at one object, or at one of several.
    fn look(&mut self) -> Looking {
        let object = self.object();
        let look = self.rng.pick(&self.profile.looks);
        self.look_at(look, Value::Is(object as i64), &[object])
    }

    fn look_at(&mut self, look: Look, object: Value, objects: &[usize]) -> Looking {
        let value = self.rng.pick(&[1, 1, 2]);
        let wanted = Value::Is(value);
        let is_wanted = match (look, self.rng.below(3)) {
            // Anything but what is there at first.
            (Look::Load | Look::AddZero | Look::Lock | Look::Read, 0) => Test::IsNot(FOUND, 0),
            _ => Test::Is(FOUND, value),
        };
        let granted = self.rng.pick(objects) as i64;
        let (statements, ok, wish) = match look {
            Look::Load => {
                let look = vec![self.into(FOUND, Op::Load(object))];
                let store = self.make_one(Op::Store(Value::Is(granted), wanted));
                (look, is_wanted, vec![store])
            }
            Look::AddZero => {
                let look = vec![self.into(FOUND, Op::Add(object, 0))];
                let store = self.make_one(Op::Store(Value::Is(granted), wanted));
                (look, is_wanted, vec![store])
            }
            Look::Cas => {
                let to = Value::Is(value + 1);
                let look = vec![self.into(FOUND, Op::Cas(object, wanted, to))];
                let store = self.make_one(Op::Store(Value::Is(granted), wanted));
                (look, is_wanted, vec![store])
            }
            Look::Lock => {
                let look = self.locked(object, Op::Get(object), Some(FOUND));
                let granted = Value::Is(granted);
                let put = self.locked(granted, Op::Put(granted, wanted), None);
                (look, is_wanted, put)
            }
            Look::LockTake => {
                let look = self.locked(object, Op::Take(object), Some(FOUND));
                let granted = Value::Is(granted);
                let put = self.locked(granted, Op::Put(granted, wanted), None);
                (look, Test::IsNot(FOUND, 0), put)
            }
            Look::TryLock => {
                let look = vec![
                    self.into(FOUND, Op::TryLock(object)),
                    Statement::If(
                        Test::Is(FOUND, 1),
                        vec![
                            self.into(FOUND, Op::Get(object)),
                            self.make_one(Op::Unlock(object)),
                        ],
                        vec![Statement::Set(FOUND, Value::Is(NOTHING))],
                    ),
                ];
                let granted = Value::Is(granted);
                let put = self.locked(granted, Op::Put(granted, wanted), None);
                (look, is_wanted, put)
            }
            Look::Read => {
                let look = vec![
                    self.make_one(Op::Read(object)),
                    self.into(FOUND, Op::GetRw(object)),
                    self.make_one(Op::UnlockRw(object)),
                ];
                (look, is_wanted, self.written(Value::Is(granted), value))
            }
            Look::TryRead | Look::TryWrite => {
                let op = match look {
                    Look::TryRead => Op::TryRead(object),
                    _ => Op::TryWrite(object),
                };
                let look = vec![
                    self.into(FOUND, op),
                    Statement::If(
                        Test::Is(FOUND, 1),
                        vec![
                            self.into(FOUND, Op::GetRw(object)),
                            self.make_one(Op::UnlockRw(object)),
                        ],
                        vec![Statement::Set(FOUND, Value::Is(NOTHING))],
                    ),
                ];
                (look, is_wanted, self.written(Value::Is(granted), value))
            }
            Look::Recv | Look::TryRecv | Look::RecvTimeout => {
                let op = match look {
                    Look::Recv => Op::Recv(object),
                    Look::TryRecv => Op::TryRecv(object),
                    _ => Op::RecvTimeout(object),
                };
                let look = vec![self.into(FOUND, op)];
                let granted = granted as usize;
                let mut wish = vec![self.make_one(Op::Send(granted, wanted))];
                if self.rng.one_in(3) {
                    wish.push(self.make_one(Op::DropSender(granted)));
                }
                let ok = match self.rng.below(3) {
                    0 => is_wanted,
                    1 => Test::Is(FOUND, DISCONNECTED),
                    _ => Test::IsNot(FOUND, NOTHING),
                };
                (look, ok, wish)
            }
            Look::Once => {
                let look = vec![self.into(FOUND, Op::OnceGet(object))];
                let set = self.make_one(Op::OnceSet(granted as usize, value));
                (look, Test::IsNot(FOUND, NOTHING), vec![set])
            }
            Look::Strong | Look::CloneStrong | Look::Upgrade | Look::UpgradeStrong => {
                let (look, ok) = self.look_at_references(look, object);
                let mut wish = vec![self.make_one(Op::Release(Value::Is(granted)))];
                if self.rng.one_in(3) {
                    let first = self.referring(Value::Is(granted));
                    wish.splice(0..0, first);
                }
                (look, ok, wish)
            }
            Look::LoadThenLock => {
                let inside = self.locked(object, Op::Get(object), Some(FOUND));
                let look = vec![
                    self.into(FOUND, Op::Load(object)),
                    Statement::If(Test::IsNot(FOUND, 0), inside, Vec::new()),
                ];
                let granted = Value::Is(granted);
                let mut wish = vec![self.make_one(Op::Store(granted, Value::Is(1)))];
                let at = self.rng.pick(&[0, 1]);
                let put = self.locked(granted, Op::Put(granted, wanted), None);
                wish.splice(at..at, put);
                (look, is_wanted, wish)
            }
        };
        self.wish(wish);
        Looking { statements, ok }
    }

    /// Things that others may do to objects that are scanned, so that it can be seen which one was looked at when.
    fn news(&mut self, look: Look, objects: &[usize]) {
        let object = self.rng.pick(objects);
        let (named, value) = (Value::Is(object as i64), self.small());
        let news = match look {
            Look::Load | Look::AddZero | Look::Cas => {
                vec![self.make_one(Op::Store(named, Value::Is(value)))]
            }
            Look::Lock | Look::LockTake | Look::TryLock | Look::LoadThenLock => {
                self.locked(named, Op::Put(named, Value::Is(value)), None)
            }
            Look::Read | Look::TryRead | Look::TryWrite => self.written(named, value),
            Look::Recv | Look::TryRecv | Look::RecvTimeout => {
                vec![self.make_one(Op::Send(object, Value::Is(value)))]
            }
            Look::Once => vec![self.make_one(Op::OnceSet(object, value))],
            Look::Strong | Look::CloneStrong | Look::Upgrade | Look::UpgradeStrong => {
                self.referring(named)
            }
        };
        self.wish(news);
    }

    /// Looks at one of several objects, by position, and how many positions there are.
    fn scan(&mut self) -> (Looking, i64) {
        let (table, count): ([i64; 4], i64) = self.rng.pick(&[
            ([0, 1, 0, 1], 2),
            ([0, 1, 0, 1], 2),
            ([0, 1, 2, 0], 3),
            ([0, 0, 1, 0], 3),
            ([0, 1, 1, 0], 3),
            ([2, 1, 0, 1], 4),
            ([0, 2, 1, 0], 3),
        ]);
        let objects: Vec<usize> = table[..count as usize]
            .iter()
            .map(|&object| object as usize)
            .collect();
        let look = self.rng.pick(&self.profile.looks);
        let looking = self.look_at(look, Value::Pick(table, POSITION), &objects);
        if self.rng.one_in(2) {
            self.news(look, &objects);
        }
        (looking, count)
    }

    /// Makes it possible, or not, to tell how a loop went.
    fn forget(&mut self, register: Register) -> Vec<Statement> {
        match self.rng.below(2) {
            0 => vec![],
            _ => vec![Statement::Set(register, Value::Is(0))],
        }
    }

    fn make(&mut self, form: Form) -> Vec<Statement> {
        match form {
            Form::Wait => {
                let looking = self.look();
                let mark = self.mark();
                vec![match self.rng.below(3) {
                    0 => looping(vec![mark], looking, vec![]),
                    _ => looping(vec![], looking, vec![mark]),
                }]
            }
            Form::TwoInARow => {
                let mut body = self.make(Form::Wait);
                body.extend(self.make(Form::Wait));
                body
            }
            Form::ScanOneEachRound | Form::ScanAllEachRound => self.scanning(form),
            Form::GiveUp | Form::GiveUpScanning | Form::GiveUpUnmarked => self.giving_up(form),
            Form::Backoff => self.backing_off(),
            Form::Remember => {
                let looking = self.look();
                let (effect, mark) = (self.effect(), self.mark());
                let mut news = vec![Statement::Set(OTHER, Value::Of(FOUND))];
                if self.rng.one_in(2) {
                    news.extend(effect);
                }
                let rest = vec![Statement::If(Test::Same(FOUND, OTHER), vec![], news), mark];
                vec![looping(vec![], looking, rest)]
            }
            Form::TwoMarks => {
                let looking = self.look();
                let (one, other) = (self.mark(), self.mark());
                let rest = vec![
                    Statement::If(Test::Is(ROUNDS, 0), vec![one], vec![other]),
                    Statement::Count(ROUNDS, 2),
                ];
                vec![
                    looping(vec![], looking, rest),
                    Statement::Set(ROUNDS, Value::Is(0)),
                ]
            }
            Form::Twice => {
                let mut body = self.make(Form::Wait);
                if let Some(wish) = self.wishes.last().cloned() {
                    self.wishes.push(wish);
                }
                body.extend(self.effect());
                body.push(Statement::Count(ROUNDS, 2));
                let twice = Statement::If(Test::Is(ROUNDS, 0), vec![Statement::Break(1)], vec![]);
                body.push(twice);
                vec![Statement::Loop(body)]
            }
            Form::SeqLock => {
                let (sequence, data) = (Value::Is(0), Value::Is(1));
                let unchanged =
                    Statement::If(Test::IsNot(FOUND, 1), vec![Statement::Break(1)], vec![]);
                let body = vec![
                    self.into(FOUND, Op::Load(sequence)),
                    self.into(OTHER, Op::Load(data)),
                    self.into(ROUNDS, Op::Load(sequence)),
                    Statement::If(Test::Same(FOUND, ROUNDS), vec![unchanged], vec![]),
                    self.mark(),
                ];
                let writes = vec![
                    self.make_one(Op::Store(sequence, Value::Is(1))),
                    self.make_one(Op::Store(data, Value::Is(1))),
                    self.make_one(Op::Store(sequence, Value::Is(2))),
                ];
                self.wish(writes);
                vec![Statement::Loop(body)]
            }
            Form::Counter | Form::CounterOnHeap => {
                let looking = self.look();
                let rounds = self.rng.pick(&[2, 3, 4, 5]);
                let rest = vec![Statement::Count(ROUNDS, rounds), self.mark()];
                let effect = self.effect();
                vec![
                    looping(vec![], looking, rest),
                    Statement::If(Test::Is(ROUNDS, 1), effect, vec![]),
                ]
            }
            Form::Effect => {
                let looking = self.look();
                let mut rest = self.effect();
                rest.push(self.mark());
                if self.rng.one_in(2) {
                    rest.rotate_left(1);
                }
                vec![looping(vec![], looking, rest)]
            }
            Form::Nested => {
                let (inner, outer) = (self.look(), self.look());
                let most = self.rng.pick(&[1, 2, 2]);
                let mut rest = vec![
                    Statement::Count(ROUNDS, 9),
                    Statement::If(Test::Is(ROUNDS, most), vec![Statement::Break(1)], vec![]),
                    self.mark(),
                ];
                let mut body = inner.statements;
                body.push(Statement::If(inner.ok, vec![Statement::Break(2)], vec![]));
                body.append(&mut rest);
                let before = vec![Statement::Set(ROUNDS, Value::Is(0)), Statement::Loop(body)];
                let mark = self.mark();
                let mut all = vec![looping(before, outer, vec![mark])];
                all.push(Statement::Set(ROUNDS, Value::Is(0)));
                all
            }
            Form::CasCarry | Form::CasReload => self.compare_exchange(form),
            Form::Ticket
            | Form::SwapLock
            | Form::TestAndSwapLock
            | Form::OrLock
            | Form::TryLock => self.spin_lock(form),
            Form::FutureWakesItself | Form::FutureJoin | Form::FutureRegisters => self.future(form),
            Form::CondvarWait | Form::CondvarWhile | Form::CondvarTimeout | Form::CondvarGiveUp => {
                self.condvar(form)
            }
            Form::Park | Form::ParkTimeout => self.park(form),
            Form::Finished => self.finished(),
        }
    }

    fn scanning(&mut self, form: Form) -> Vec<Statement> {
        let (looking, count) = self.scan();
        let mark = self.mark();
        let mut body = vec![Statement::Set(POSITION, Value::Is(0))];
        if form == Form::ScanOneEachRound {
            let rest = vec![Statement::Count(POSITION, count), mark];
            body.push(looping(vec![], looking, rest));
        } else {
            let mut one = looking.statements;
            one.push(Statement::If(looking.ok, vec![Statement::Break(2)], vec![]));
            let (inside, after) = self.rng.pick(&[(true, false), (false, true), (true, true)]);
            if inside {
                one.push(mark.clone());
            }
            one.push(Statement::Count(POSITION, count));
            one.push(Statement::If(
                Test::Is(POSITION, 0),
                vec![Statement::Break(1)],
                vec![],
            ));
            let mut round = vec![Statement::Loop(one)];
            if after {
                round.push(mark);
            }
            body.push(Statement::Loop(round));
        }
        body.extend(self.forget(POSITION));
        body
    }

    fn giving_up(&mut self, form: Form) -> Vec<Statement> {
        let most = self.rng.pick(&[1, 2, 2, 3]);
        let (looking, count) = match form {
            Form::GiveUpScanning => self.scan(),
            _ => (self.look(), 1),
        };
        let mut rest = vec![
            Statement::Count(ROUNDS, 9),
            Statement::If(Test::Is(ROUNDS, most), vec![Statement::Break(1)], vec![]),
        ];
        if form == Form::GiveUpScanning {
            rest.push(Statement::Count(POSITION, count));
        }
        if form != Form::GiveUpUnmarked {
            rest.push(self.mark());
        }
        let mut body = vec![looping(vec![], looking, rest)];
        let effect = self.effect();
        if self.rng.one_in(2) {
            body.push(Statement::If(Test::Is(ROUNDS, most), effect, vec![]));
        }
        body.extend(self.forget(POSITION));
        body.extend(self.forget(ROUNDS));
        body
    }

    fn backing_off(&mut self) -> Vec<Statement> {
        let looking = self.look();
        let mark = self.mark();
        let delay = Statement::Loop(vec![
            mark,
            Statement::Count(POSITION, 9),
            Statement::If(
                Test::Same(POSITION, ROUNDS),
                vec![Statement::Break(1)],
                vec![],
            ),
        ]);
        let rest = vec![
            Statement::Set(POSITION, Value::Is(0)),
            delay,
            Statement::If(
                Test::IsNot(ROUNDS, 3),
                vec![Statement::Count(ROUNDS, 9)],
                vec![],
            ),
        ];
        vec![
            Statement::Set(ROUNDS, Value::Is(1)),
            looping(vec![], looking, rest),
            Statement::Set(ROUNDS, Value::Is(0)),
            Statement::Set(POSITION, Value::Is(0)),
        ]
    }

    fn compare_exchange(&mut self, form: Form) -> Vec<Statement> {
        let x = Value::Is(self.rng.pick(&[0, 0, 1]));
        let load = self.into(FOUND, Op::Load(x));
        let exchange = self.into(OTHER, Op::Cas(x, Value::Of(FOUND), Value::Next(FOUND)));
        let done = Statement::If(Test::Same(FOUND, OTHER), vec![Statement::Break(1)], vec![]);
        let mark = self.mark();
        let marked = self.rng.one_in(2);
        let mut body = match form {
            Form::CasCarry => vec![exchange, done, Statement::Set(FOUND, Value::Of(OTHER))],
            _ => vec![load.clone(), exchange, done],
        };
        if marked {
            body.push(mark);
        }
        match form {
            Form::CasCarry => vec![load, Statement::Loop(body)],
            _ => vec![Statement::Loop(body)],
        }
    }

    /// A lock that threads spin for, and something that it protects.
    fn spin_lock(&mut self, form: Form) -> Vec<Statement> {
        let (lock, serving, data) = (Value::Is(0), Value::Is(1), Value::Is(2));
        let free = Test::Is(FOUND, 0);
        let mark = self.mark();
        let take = |look: Statement, ok: Test, mark: Statement| {
            let looking = Looking {
                statements: vec![look],
                ok,
            };
            looping(vec![], looking, vec![mark])
        };
        let mut body = match form {
            Form::Ticket => {
                let number = self.into(ROUNDS, Op::Add(lock, 1));
                let look = self.into(FOUND, Op::Load(serving));
                vec![number, take(look, Test::Same(FOUND, ROUNDS), mark)]
            }
            Form::SwapLock => {
                let look = self.into(FOUND, Op::Swap(lock, Value::Is(1)));
                vec![take(look, free, mark)]
            }
            Form::OrLock => {
                let look = self.into(FOUND, Op::Or(lock, 1));
                vec![take(look, free, mark)]
            }
            Form::TestAndSwapLock => {
                let look = self.into(FOUND, Op::Load(lock));
                let inner = take(look, free, mark);
                let swap = self.into(FOUND, Op::Swap(lock, Value::Is(1)));
                let looking = Looking {
                    statements: vec![inner, swap],
                    ok: free,
                };
                vec![looping(vec![], looking, vec![])]
            }
            _ => {
                let look = self.into(FOUND, Op::TryLock(lock));
                vec![take(look, Test::Is(FOUND, 1), mark)]
            }
        };
        body.push(self.into(OTHER, Op::Load(data)));
        body.push(self.make_one(Op::Store(data, Value::Next(OTHER))));
        let release = match form {
            Form::Ticket => Op::Add(serving, 1),
            Form::TryLock => Op::Unlock(lock),
            _ => Op::Store(lock, Value::Is(0)),
        };
        if !self.rng.one_in(12) {
            body.push(self.make_one(release));
        }
        body
    }

    fn future(&mut self, form: Form) -> Vec<Statement> {
        let ready = |ok| Statement::If(ok, vec![Statement::Break(1)], vec![]);
        let mut body = Vec::new();
        match form {
            Form::FutureWakesItself => {
                let looking = self.look();
                body.extend(looking.statements);
                body.push(ready(looking.ok));
                body.push(self.make_one(Op::WakeSelf));
                if self.rng.one_in(4) {
                    body.push(self.mark());
                }
            }
            Form::FutureJoin => {
                for done in [ROUNDS, POSITION] {
                    let looking = self.look();
                    let mut poll = looking.statements;
                    poll.push(Statement::If(
                        looking.ok,
                        vec![Statement::Set(done, Value::Is(1))],
                        vec![],
                    ));
                    body.push(Statement::If(Test::Is(done, 0), poll, vec![]));
                }
                body.push(Statement::If(
                    Test::Is(ROUNDS, 1),
                    vec![ready(Test::Is(POSITION, 1))],
                    vec![],
                ));
                body.push(self.make_one(Op::WakeSelf));
            }
            _ => {
                let x = self.named();
                let slot = self.rng.below(2);
                let wanted = Test::Is(FOUND, 1);
                body.push(self.make_one(Op::Register(slot)));
                body.push(self.into(FOUND, Op::Load(x)));
                if self.rng.one_in(4) {
                    // The wrong way round: a wake-up can be lost.
                    body.rotate_left(1);
                }
                body.push(ready(wanted));
                let wish = vec![
                    self.make_one(Op::Store(x, Value::Is(1))),
                    self.make_one(Op::Wake(slot)),
                ];
                self.wish(wish);
                if self.rng.one_in(3) {
                    let early = vec![self.make_one(Op::Wake(slot))];
                    self.wish(early);
                }
            }
        }
        vec![Statement::BlockOn(body, self.place())]
    }

    fn condvar(&mut self, form: Form) -> Vec<Statement> {
        let c = self.rng.below(2);
        let m = Value::Is(c as i64);
        let notify = self
            .rng
            .pick(&[Op::NotifyOne(c), Op::NotifyAll(c), Op::NotifyAll(c)]);
        let mut wish = self.locked(m, Op::Put(m, Value::Is(1)), None);
        wish.push(self.make_one(notify));
        if self.rng.one_in(3) {
            // Under the lock.
            wish.swap(2, 3);
        }
        self.wish(wish);
        let looking = Looking {
            statements: vec![Statement::Do(Op::Get(m), Some(FOUND), 0)],
            ok: Test::Is(FOUND, 1),
        };
        let waits = match form {
            Form::CondvarWait => vec![looping(vec![], looking, vec![self.make_one(Op::Wait(c))])],
            Form::CondvarWhile => vec![
                self.make_one(Op::WaitWhile(c, 0)),
                Statement::Do(Op::Get(m), Some(FOUND), 0),
            ],
            Form::CondvarTimeout => {
                let wait = self.into(OTHER, Op::WaitTimeout(c));
                vec![looping(vec![], looking, vec![wait])]
            }
            _ => {
                let most = self.rng.pick(&[1, 2]);
                let rest = vec![
                    Statement::Count(ROUNDS, 9),
                    self.into(OTHER, Op::WaitTimeout(c)),
                    Statement::If(Test::Is(ROUNDS, most), vec![Statement::Break(1)], vec![]),
                ];
                vec![looping(vec![], looking, rest)]
            }
        };
        let mut body = vec![self.make_one(Op::Lock(m))];
        body.extend(waits);
        body.push(self.make_one(Op::Unlock(m)));
        body
    }

    fn park(&mut self, form: Form) -> Vec<Statement> {
        let x = self.named();
        let granted = vec![
            self.make_one(Op::Store(x, Value::Is(1))),
            self.make_one(Op::Unpark(self.me)),
        ];
        self.wishes.push(Wish {
            by: self.me,
            granted,
            later: true,
        });
        let looking = Looking {
            statements: vec![self.into(FOUND, Op::Load(x))],
            ok: Test::Is(FOUND, 1),
        };
        let op = match form {
            Form::Park => Op::Park,
            _ => Op::ParkTimeout,
        };
        let wait = self.make_one(op);
        vec![looping(vec![], looking, vec![wait])]
    }

    fn finished(&mut self) -> Vec<Statement> {
        if self.me != 0 {
            return self.make(self.profile.forms[0]);
        }
        let count = self.count as i64 - 1;
        let one_of_several = self.rng.one_in(2);
        let (which, rest) = if one_of_several {
            let table = std::array::from_fn(|index| 1 + index as i64 % count);
            (
                Value::Pick(table, POSITION),
                vec![Statement::Count(POSITION, count)],
            )
        } else {
            (Value::Is(1 + self.rng.below(count as usize) as i64), vec![])
        };
        let looking = Looking {
            statements: vec![self.into(FOUND, Op::IsFinished(which))],
            ok: Test::Is(FOUND, 1),
        };
        let mut rest = rest;
        rest.push(self.mark());
        let mut body = vec![looping(vec![], looking, rest)];
        let object = self.named();
        body.push(self.into(OTHER, Op::Load(object)));
        body
    }
}

/// A loop that ends when it finds what it looks for.
fn looping(before: Vec<Statement>, looking: Looking, after: Vec<Statement>) -> Statement {
    let mut body = before;
    body.extend(looking.statements);
    body.push(Statement::If(looking.ok, vec![Statement::Break(1)], vec![]));
    body.extend(after);
    Statement::Loop(body)
}
