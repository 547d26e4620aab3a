//! Random programs with loops.
//!
//! - `profile.rs`: which forms of loops there are. `forms.rs`, `waits.rs`, `pairs.rs`: loops of each form.
//! - `looks.rs`: how loops look, and what they wait for.

mod forms;
mod looks;
mod pairs;
mod profile;
mod waits;

use crate::syntax::Test;
use crate::syntax::{Inside, Mark, Op, Program, Register, Statement, Value};
pub(crate) use profile::{Form, Profile};

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
    if forms.contains(&Form::Slot) && !generator.rng.one_in(3) {
        program.mutexes[0] = Inside::Boxed;
    }
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

    /// Makes it possible, or not, to tell how a loop went.
    fn forget(&mut self, register: Register) -> Vec<Statement> {
        match self.rng.below(2) {
            0 => vec![],
            _ => vec![Statement::Set(register, Value::Is(0))],
        }
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
