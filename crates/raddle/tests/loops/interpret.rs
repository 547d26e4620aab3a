//! All outcomes of a program: a search of all its states, written from the documentation of `std`.
//!
//! A state is everything that decides what can still happen: where each thread is, its registers, what every object holds. There
//! are finitely many, so loops without bound need no special care, and marks (`yield_now` and the like) mean nothing.
//!
//! An execution is *stuck* in a state from which no state is reachable in which all threads have ended. Spurious wake-ups may happen or
//! not, so they do not count as a way out; timeouts do.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};

use crate::syntax::{
    DISCONNECTED, NOTHING, OBJECTS, Op, Outcome, Program, REGISTERS, Register, Statement, Test,
    Value,
};

/// What a program can come to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expected {
    pub(crate) outcomes: BTreeSet<Outcome>,
    /// Which threads have come to the end of their statements, with which registers, in states from which the
    /// execution cannot end.
    doomed: BTreeSet<Vec<Option<[i64; REGISTERS]>>>,
    pub(crate) states: usize,
}

impl Expected {
    pub(crate) fn has_stuck(&self) -> bool {
        self.outcomes.iter().any(|outcome| outcome.stuck)
    }

    /// Whether an execution may have no end in which these threads have come to the end of their statements, and others perhaps,
    /// too.
    pub(crate) fn is_doomed(&self, done: &[Option<[i64; REGISTERS]>]) -> bool {
        self.doomed.iter().any(|doomed| {
            let mut both = done.iter().zip(doomed);
            both.all(|(seen, doomed)| seen.is_none() || seen == doomed)
        })
    }
}

/// A statement without structure.
#[derive(Clone, Copy, Debug)]
enum Instruction {
    Do(Op, Option<Register>),
    Set(Register, Value),
    Count(Register, i64),
    Mark,
    Unless(Test, usize),
    Jump(usize),
    /// A future begins.
    Begin,
    /// It is pending: waits until it is woken, and is then polled again from there.
    Pending(usize),
    /// It is ready.
    Ready,
}

/// The jumps out of each loop, from the outermost, which is the whole body, to the innermost. They have no target yet.
type Exits = Vec<Vec<usize>>;

fn compile(body: &[Statement], code: &mut Vec<Instruction>, exits: &mut Exits) {
    for statement in body {
        match statement {
            Statement::Do(op, into, _) => code.push(Instruction::Do(*op, *into)),
            Statement::Set(register, value) => code.push(Instruction::Set(*register, *value)),
            Statement::Count(register, most) => code.push(Instruction::Count(*register, *most)),
            Statement::Mark(..) => code.push(Instruction::Mark),
            Statement::If(test, one, other) => {
                let branch = code.len();
                code.push(Instruction::Unless(*test, 0));
                compile(one, code, exits);
                let skip = code.len();
                code.push(Instruction::Jump(0));
                code[branch] = Instruction::Unless(*test, code.len());
                compile(other, code, exits);
                code[skip] = Instruction::Jump(code.len());
            }
            Statement::Loop(body) => {
                let start = code.len();
                exits.push(Vec::new());
                compile(body, code, exits);
                code.push(Instruction::Jump(start));
                for exit in exits.pop().unwrap_or_default() {
                    code[exit] = Instruction::Jump(code.len());
                }
            }
            Statement::BlockOn(body, _) => {
                code.push(Instruction::Begin);
                let start = code.len();
                let mut exits = vec![Vec::new()];
                compile(body, code, &mut exits);
                code.push(Instruction::Pending(start));
                for exit in exits.into_iter().flatten() {
                    code[exit] = Instruction::Jump(code.len());
                }
                code.push(Instruction::Ready);
            }
            Statement::Break(levels) => {
                let outermost = exits.len().saturating_sub(*levels);
                exits[outermost].push(code.len());
                code.push(Instruction::Jump(0));
            }
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Sleep {
    #[default]
    Awake,
    Waits,
    /// Notified, or timed out, but without the mutex.
    Back {
        timed_out: bool,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Thread {
    pc: usize,
    registers: [i64; REGISTERS],
    sleep: Sleep,
    token: bool,
    spurious: u32,
    /// Which future it runs, if any, counted from 1, and whether that has been woken.
    future: u8,
    polls: bool,
    woken: bool,
    /// How many references it has.
    references: [u8; OBJECTS],
    /// A waker that it has taken and is about to wake.
    waking: Option<(usize, u8)>,
    /// It is about to make a value known.
    setting: bool,
    /// At the end of its statements.
    done: bool,
    ended: bool,
    joined: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Mutex {
    holder: Option<usize>,
    value: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct RwLock {
    writer: Option<usize>,
    readers: BTreeSet<usize>,
    value: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Channel {
    messages: Vec<i64>,
    senders: BTreeSet<usize>,
    receiver: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Once {
    #[default]
    New,
    Running,
    Done(i64),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct State {
    threads: Vec<Thread>,
    started: usize,
    atomics: [i64; OBJECTS],
    mutexes: [Mutex; OBJECTS],
    locks: [RwLock; OBJECTS],
    channels: [Channel; OBJECTS],
    onces: [Once; OBJECTS],
    slots: [Option<(usize, u8)>; OBJECTS],
}

/// Values outside of this are taken for a state space without end.
const LARGEST: i64 = 40;
/// More local instructions in a row than this are taken for a loop without operations.
const MOST_LOCAL: usize = 1000;

/// A program that this does not answer for: it has too many states, or loops without operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unbounded;

/// All outcomes of a program, if it has no more states than this.
pub(crate) fn outcomes(program: &Program, most: usize) -> Result<Expected, Unbounded> {
    search(program, most, |_, _| Ok(()))
}

/// Whether a thread of the program, left alone, can spin for ever without saying so. Programs may not do that. It says so by a mark, or
/// by an operation with a timeout, or as a future that is polled again.
pub(crate) fn spins_unmarked(program: &Program, most: usize) -> Result<bool, Unbounded> {
    let mut found = false;
    search(program, most, |machine, state| {
        for thread in 0..state.started {
            found |= machine.spins_unmarked(state, thread)?;
        }
        Ok(())
    })?;
    Ok(found)
}

/// Looks at all states.
fn search(
    program: &Program,
    most: usize,
    mut see: impl FnMut(&Machine<'_>, &State) -> Result<(), Unbounded>,
) -> Result<Expected, Unbounded> {
    let codes: Vec<Vec<Instruction>> = program
        .threads
        .iter()
        .map(|body| {
            let (mut code, mut exits) = (Vec::new(), vec![Vec::new()]);
            compile(body, &mut code, &mut exits);
            for exit in exits.into_iter().flatten() {
                code[exit] = Instruction::Jump(code.len());
            }
            code
        })
        .collect();
    let receiver = program.receiver();
    let mut first = State {
        threads: vec![Thread::default(); codes.len()],
        started: 1,
        ..State::default()
    };
    for (number, channel) in first.channels.iter_mut().enumerate() {
        channel.receiver = program.has_channels();
        channel.senders = (0..codes.len())
            .filter(|&thread| program.sends(thread, number))
            .collect();
    }
    for (thread, own) in first.threads.iter_mut().enumerate() {
        own.references = std::array::from_fn(|number| program.shares(thread, number).into());
    }
    let machine = Machine {
        codes: &codes,
        receiver,
        spurious: program.spurious,
        marked: Cell::new(false),
    };
    for thread in 0..codes.len() {
        machine.run_local(&mut first, thread)?;
    }
    let mut numbers = HashMap::from([(first.clone(), 0)]);
    let mut states = vec![first];
    // Without what may happen or not.
    let mut edges: Vec<Vec<usize>> = Vec::new();
    while edges.len() < states.len() {
        let state = states[edges.len()].clone();
        see(&machine, &state)?;
        let mut moves = Moves::default();
        for thread in 0..state.started {
            machine.moves(&state, thread, &mut moves)?;
        }
        let mut number = |next: State| {
            let new = states.len();
            *numbers.entry(next).or_insert_with_key(|next| {
                states.push(next.clone());
                new
            })
        };
        edges.push(moves.likely.into_iter().map(&mut number).collect());
        for next in moves.unlikely {
            number(next);
        }
        if states.len() > most {
            return Err(Unbounded);
        }
    }
    Ok(summarise(&states, &edges))
}

fn summarise(states: &[State], edges: &[Vec<usize>]) -> Expected {
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); states.len()];
    for (from, targets) in edges.iter().enumerate() {
        for &to in targets {
            before[to].push(from);
        }
    }
    let spread = |mut left: Vec<usize>| {
        let mut reached = vec![false; states.len()];
        for &state in &left {
            reached[state] = true;
        }
        while let Some(state) = left.pop() {
            for &earlier in &before[state] {
                if !std::mem::replace(&mut reached[earlier], true) {
                    left.push(earlier);
                }
            }
        }
        reached
    };
    let all = || 0..states.len();
    let ends = spread(all().filter(|&s| states[s].is_over()).collect());
    // From where threads can still come to the end of their statements.
    let advances = |s: usize| {
        edges[s]
            .iter()
            .any(|&t| states[s].done() != states[t].done())
    };
    let advances = spread(all().filter(|&s| advances(s)).collect());
    let mut expected = Expected {
        states: states.len(),
        ..Expected::default()
    };
    for (number, state) in states.iter().enumerate() {
        if state.is_over() {
            expected.outcomes.insert(Outcome {
                stuck: false,
                threads: state.done(),
                objects: state.objects(),
            });
        } else if !ends[number] {
            expected.doomed.insert(state.done());
            if !advances[number] {
                expected.outcomes.insert(Outcome {
                    stuck: true,
                    threads: state.done(),
                    objects: Vec::new(),
                });
            }
        }
    }
    expected
}

impl State {
    fn is_over(&self) -> bool {
        self.threads.iter().all(|thread| thread.ended)
    }

    fn done(&self) -> Vec<Option<[i64; REGISTERS]>> {
        let done = |thread: &Thread| thread.done.then_some(thread.registers);
        self.threads.iter().map(done).collect()
    }

    fn objects(&self) -> Vec<i64> {
        let mutexes = self.mutexes.iter().map(|mutex| mutex.value);
        self.atomics.iter().copied().chain(mutexes).collect()
    }

    fn value(&self, thread: usize, value: Value) -> i64 {
        let registers = &self.threads[thread].registers;
        match value {
            Value::Is(value) => value,
            Value::Of(register) => registers[register],
            Value::Next(register) => registers[register] + 1,
            Value::Pick(values, register) => {
                let count = values.len() as i64;
                values[registers[register].rem_euclid(count) as usize]
            }
        }
    }

    fn thread(&self, thread: usize, value: Value) -> usize {
        self.value(thread, value)
            .rem_euclid(self.threads.len() as i64) as usize
    }

    /// How many references there are.
    fn references(&self, number: usize) -> i64 {
        let own = self.threads.iter().map(|own| own.references[number]);
        own.map(i64::from).sum()
    }

    fn object(&self, thread: usize, value: Value) -> usize {
        self.value(thread, value).rem_euclid(OBJECTS as i64) as usize
    }
}

#[derive(Default)]
struct Moves {
    likely: Vec<State>,
    /// What may happen or not.
    unlikely: Vec<State>,
}

struct Machine<'a> {
    codes: &'a [Vec<Instruction>],
    receiver: usize,
    spurious: u32,
    /// Whether a thread has said that it spins, or that it waits for a limited time only.
    marked: Cell<bool>,
}

impl Machine<'_> {
    /// Runs what is between operations.
    fn run_local(&self, state: &mut State, me: usize) -> Result<(), Unbounded> {
        for _ in 0..MOST_LOCAL {
            let pc = state.threads[me].pc;
            let Some(&instruction) = self.codes[me].get(pc) else {
                state.threads[me].done = true;
                return Ok(());
            };
            let mut next = pc + 1;
            match instruction {
                Instruction::Do(Op::Get(m), into) => {
                    let mutex = state.mutexes[state.object(me, m)];
                    if let (Some(me_), Some(into)) = (mutex.holder, into)
                        && me_ == me
                    {
                        state.threads[me].registers[into] = mutex.value;
                    }
                }
                Instruction::Do(Op::Put(m, value), _) => {
                    let (m, value) = (state.object(me, m), state.value(me, value));
                    if state.mutexes[m].holder == Some(me) {
                        state.mutexes[m].value = value;
                    }
                }
                Instruction::Do(Op::Take(m), into) => {
                    let m = state.object(me, m);
                    if state.mutexes[m].holder == Some(me) {
                        let taken = std::mem::take(&mut state.mutexes[m].value);
                        if let Some(into) = into {
                            state.threads[me].registers[into] = taken;
                        }
                    }
                }
                Instruction::Do(Op::GetRw(l), into) => {
                    let lock = &state.locks[state.object(me, l)];
                    let (mine, value) = (
                        lock.writer == Some(me) || lock.readers.contains(&me),
                        lock.value,
                    );
                    if let (true, Some(into)) = (mine, into) {
                        state.threads[me].registers[into] = value;
                    }
                }
                Instruction::Do(Op::PutRw(l, value), _) => {
                    let (l, value) = (state.object(me, l), state.value(me, value));
                    if state.locks[l].writer == Some(me) {
                        state.locks[l].value = value;
                    }
                }
                Instruction::Do(op, _) => {
                    if !self.is_idle(state, me, op) {
                        return Ok(());
                    }
                }
                Instruction::Set(register, value) => {
                    state.threads[me].registers[register] = state.value(me, value);
                }
                Instruction::Count(register, most) => {
                    let register = &mut state.threads[me].registers[register];
                    *register = (*register + 1) % most;
                }
                Instruction::Unless(test, target) => {
                    let registers = &state.threads[me].registers;
                    let holds = match test {
                        Test::Is(register, value) => registers[register] == value,
                        Test::IsNot(register, value) => registers[register] != value,
                        Test::Same(one, other) => registers[one] == registers[other],
                        Test::AtMost(register, most) => registers[register] <= most,
                    };
                    if !holds {
                        next = target;
                    }
                }
                Instruction::Mark => self.marked.set(true),
                Instruction::Jump(target) => next = target,
                Instruction::Begin => {
                    let thread = &mut state.threads[me];
                    thread.future += 1;
                    (thread.polls, thread.woken) = (true, false);
                    if thread.future > 20 {
                        return Err(Unbounded);
                    }
                }
                Instruction::Ready => state.threads[me].polls = false,
                Instruction::Pending(_) => return Ok(()),
            }
            state.threads[me].pc = next;
        }
        Err(Unbounded)
    }

    /// Whether an operation does nothing, because the thread lacks what it needs or has what it would take.
    fn is_idle(&self, state: &State, me: usize, op: Op) -> bool {
        match op {
            Op::Lock(m) | Op::TryLock(m) => state.mutexes[state.object(me, m)].holder == Some(me),
            Op::Unlock(m) => state.mutexes[state.object(me, m)].holder != Some(me),
            Op::Wait(c) | Op::WaitTimeout(c) | Op::WaitWhile(c, _) => {
                state.threads[me].sleep == Sleep::Awake && state.mutexes[c].holder != Some(me)
            }
            Op::Read(l) | Op::TryRead(l) | Op::Write(l) | Op::TryWrite(l) => {
                let lock = &state.locks[state.object(me, l)];
                lock.writer == Some(me) || lock.readers.contains(&me)
            }
            Op::UnlockRw(l) => {
                let lock = &state.locks[state.object(me, l)];
                lock.writer != Some(me) && !lock.readers.contains(&me)
            }
            Op::Send(c, _) | Op::DropSender(c) => !state.channels[c].senders.contains(&me),
            Op::Recv(_) | Op::TryRecv(_) | Op::RecvTimeout(_) => self.receiver != me,
            Op::Clone(r) | Op::Release(r) => state.threads[me].references[state.object(me, r)] == 0,
            Op::WakeSelf | Op::Register(_) => !state.threads[me].polls,
            Op::IsFinished(thread) => me != 0 || state.thread(me, thread) == 0,
            _ => false,
        }
    }

    /// Whether a thread comes to the same state again, if it alone moves, without a mark in between.
    fn spins_unmarked(&self, state: &State, me: usize) -> Result<bool, Unbounded> {
        let mut seen = vec![state.clone()];
        self.marked.set(false);
        loop {
            let mut moves = Moves::default();
            self.moves(&seen[seen.len() - 1], me, &mut moves)?;
            let next = moves.likely.into_iter().next();
            match next {
                _ if self.marked.get() => return Ok(false),
                None => return Ok(false),
                Some(next) if seen.contains(&next) => return Ok(true),
                Some(next) => seen.push(next),
            }
        }
    }

    fn moves(&self, state: &State, me: usize, moves: &mut Moves) -> Result<(), Unbounded> {
        let thread = &state.threads[me];
        if thread.ended {
            return Ok(());
        }
        let mut step = Step {
            machine: self,
            state,
            me,
            into: None,
            next: thread.pc + 1,
            moves,
        };
        if me == 0 && state.started < state.threads.len() {
            step.stay(|state| state.started += 1);
            return Ok(());
        }
        match self.codes[me].get(thread.pc) {
            None => {
                step.end();
                Ok(())
            }
            Some(&Instruction::Do(op, into)) => {
                step.into = into;
                step.make(op)
            }
            Some(&Instruction::Pending(start)) => {
                self.marked.set(true);
                if thread.woken {
                    step.next = start;
                    step.go(|state| state.threads[me].woken = false)?;
                }
                Ok(())
            }
            Some(_) => Err(Unbounded),
        }
    }
}

/// What one thread can do in a state.
struct Step<'a> {
    machine: &'a Machine<'a>,
    state: &'a State,
    me: usize,
    into: Option<Register>,
    next: usize,
    moves: &'a mut Moves,
}

impl Step<'_> {
    /// A way to go on within the operation.
    fn stay(&mut self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.clone();
        change(&mut state);
        self.moves.likely.push(state);
    }

    /// A way to go on after the operation.
    fn after(&self, change: impl FnOnce(&mut State)) -> Result<State, Unbounded> {
        let mut state = self.state.clone();
        change(&mut state);
        state.threads[self.me].pc = self.next;
        self.machine.run_local(&mut state, self.me)?;
        let atomics = state.atomics.iter();
        let messages = state.channels.iter().map(|channel| channel.messages.len());
        let references = state.threads.iter().flat_map(|own| own.references);
        if atomics.max() > Some(&LARGEST) || messages.max() > Some(8) || references.max() > Some(8)
        {
            return Err(Unbounded);
        }
        Ok(state)
    }

    fn go(&mut self, change: impl FnOnce(&mut State)) -> Result<(), Unbounded> {
        let state = self.after(change)?;
        self.moves.likely.push(state);
        Ok(())
    }

    /// Reads a value.
    fn get(&mut self, value: i64, change: impl FnOnce(&mut State)) -> Result<(), Unbounded> {
        let (me, into) = (self.me, self.into);
        self.go(|state| {
            change(state);
            if let Some(into) = into {
                state.threads[me].registers[into] = value;
            }
        })
    }

    fn make(&mut self, op: Op) -> Result<(), Unbounded> {
        let (me, state) = (self.me, self.state);
        let number = |value| state.object(me, value);
        let value = |value| state.value(me, value);
        match op {
            Op::Load(x) => self.get(state.atomics[number(x)], |_| ()),
            Op::Store(x, to) => self.go(|s| s.atomics[number(x)] = value(to)),
            Op::Swap(x, to) => self.update(number(x), |_| value(to)),
            Op::Add(x, added) => self.update(number(x), |found| found + added),
            Op::Or(x, bits) => self.update(number(x), |found| found | bits),
            Op::Xor(x, bits) => self.update(number(x), |found| found ^ bits),
            Op::Max(x, least) => self.update(number(x), |found| found.max(least)),
            Op::Cas(x, from, to) => {
                let (from, to) = (value(from), value(to));
                self.update(number(x), |found| if found == from { to } else { found })
            }
            Op::Lock(_) | Op::TryLock(_) | Op::Unlock(_) => self.mutex(op),
            Op::Read(_) | Op::TryRead(_) | Op::Write(_) | Op::TryWrite(_) | Op::UnlockRw(_) => {
                self.rwlock(op)
            }
            // These are done between operations.
            Op::Get(_) | Op::Put(..) | Op::Take(_) | Op::GetRw(_) | Op::PutRw(..) => Err(Unbounded),
            Op::Wait(c) | Op::WaitTimeout(c) | Op::WaitWhile(c, _) => self.wait(op, c),
            Op::NotifyOne(c) => {
                let waiting = self.waiting(c);
                if waiting.is_empty() {
                    self.go(|_| ())?;
                }
                for thread in waiting {
                    self.go(|s| s.threads[thread].sleep = Sleep::Back { timed_out: false })?;
                }
                Ok(())
            }
            Op::NotifyAll(c) => {
                let waiting = self.waiting(c);
                self.go(|s| {
                    for thread in waiting {
                        s.threads[thread].sleep = Sleep::Back { timed_out: false };
                    }
                })
            }
            Op::Send(c, message) => {
                if state.channels[c].receiver {
                    self.get(1, |s| s.channels[c].messages.push(value(message)))
                } else {
                    self.get(DISCONNECTED, |_| ())
                }
            }
            Op::DropSender(c) => self.go(|s| {
                s.channels[c].senders.remove(&me);
            }),
            Op::Recv(c) | Op::TryRecv(c) | Op::RecvTimeout(c) => {
                if let Op::RecvTimeout(_) = op {
                    self.machine.marked.set(true);
                }
                let c = number(c);
                let channel = &state.channels[c];
                if let Some(&message) = channel.messages.first() {
                    self.get(message, |s| {
                        s.channels[c].messages.remove(0);
                    })
                } else if channel.senders.is_empty() {
                    self.get(DISCONNECTED, |_| ())
                } else if let Op::Recv(_) = op {
                    Ok(())
                } else {
                    self.get(NOTHING, |_| ())
                }
            }
            Op::Park => {
                if state.threads[me].token {
                    self.go(|s| s.threads[me].token = false)?;
                }
                if state.threads[me].spurious < self.machine.spurious {
                    let next = self.after(|s| s.threads[me].spurious += 1)?;
                    self.moves.unlikely.push(next);
                }
                Ok(())
            }
            Op::ParkTimeout => {
                self.machine.marked.set(true);
                self.go(|s| s.threads[me].token = false)
            }
            Op::Unpark(thread) => self.go(|s| s.threads[thread].token = true),
            Op::IsFinished(thread) => {
                let thread = state.thread(me, thread);
                self.get(i64::from(state.threads[thread].ended), |_| ())
            }
            Op::OnceGet(o) => match state.onces[number(o)] {
                Once::Done(found) => self.get(found, |_| ()),
                _ => self.get(NOTHING, |_| ()),
            },
            Op::OnceSet(o, to) => match state.onces[o] {
                _ if state.threads[me].setting => self.get(1, |s| {
                    s.onces[o] = Once::Done(to);
                    s.threads[me].setting = false;
                }),
                Once::New => {
                    self.stay(|s| {
                        s.onces[o] = Once::Running;
                        s.threads[me].setting = true;
                    });
                    Ok(())
                }
                Once::Running => Ok(()),
                Once::Done(_) => self.get(0, |_| ()),
            },
            Op::Clone(r) => self.go(|s| s.threads[me].references[number(r)] += 1),
            Op::Release(r) => self.go(|s| s.threads[me].references[number(r)] -= 1),
            Op::Strong(r) => self.get(state.references(number(r)), |_| ()),
            Op::Upgrade(r) => {
                let is_there = state.references(number(r)) > 0;
                self.get(i64::from(is_there), |s| {
                    s.threads[me].references[number(r)] += u8::from(is_there);
                })
            }
            Op::WakeSelf => self.go(|s| s.threads[me].woken = true),
            Op::Register(w) => {
                let waker = (me, state.threads[me].future);
                self.go(|s| s.slots[w] = Some(waker))
            }
            Op::Wake(w) => match (state.threads[me].waking, state.slots[w]) {
                (Some((thread, future)), _) => self.go(|s| {
                    s.threads[me].waking = None;
                    let woken = &mut s.threads[thread];
                    woken.woken |= woken.polls && woken.future == future;
                }),
                (None, None) => self.go(|_| ()),
                (None, taken) => {
                    self.stay(|s| {
                        s.slots[w] = None;
                        s.threads[me].waking = taken;
                    });
                    Ok(())
                }
            },
        }
    }

    fn update(&mut self, x: usize, to: impl FnOnce(i64) -> i64) -> Result<(), Unbounded> {
        let found = self.state.atomics[x];
        self.get(found, |state| state.atomics[x] = to(found))
    }

    fn mutex(&mut self, op: Op) -> Result<(), Unbounded> {
        let (me, state) = (self.me, self.state);
        let (Op::Lock(m) | Op::TryLock(m) | Op::Unlock(m)) = op else {
            return Err(Unbounded);
        };
        let m = state.object(me, m);
        match (op, state.mutexes[m].holder) {
            (Op::Unlock(_), _) => self.go(|s| s.mutexes[m].holder = None),
            (Op::Lock(_), None) => self.go(|s| s.mutexes[m].holder = Some(me)),
            (_, None) => self.get(1, |s| s.mutexes[m].holder = Some(me)),
            (Op::Lock(_), Some(_)) => Ok(()),
            (_, Some(_)) => self.get(0, |_| ()),
        }
    }

    fn rwlock(&mut self, op: Op) -> Result<(), Unbounded> {
        let (me, state) = (self.me, self.state);
        let (Op::Read(l) | Op::TryRead(l) | Op::Write(l) | Op::TryWrite(l) | Op::UnlockRw(l)) = op
        else {
            return Err(Unbounded);
        };
        let l = state.object(me, l);
        let lock = &state.locks[l];
        let (readable, writable) = (
            lock.writer.is_none(),
            lock.writer.is_none() && lock.readers.is_empty(),
        );
        let read = |s: &mut State| {
            s.locks[l].readers.insert(me);
        };
        let write = |s: &mut State| s.locks[l].writer = Some(me);
        match op {
            Op::Read(_) if readable => self.go(read),
            Op::Write(_) if writable => self.go(write),
            Op::TryRead(_) if readable => self.get(1, read),
            Op::TryWrite(_) if writable => self.get(1, write),
            Op::TryRead(_) | Op::TryWrite(_) => self.get(0, |_| ()),
            Op::UnlockRw(_) => self.go(|s| {
                s.locks[l].readers.remove(&me);
                s.locks[l].writer = s.locks[l].writer.filter(|&writer| writer != me);
            }),
            _ => Ok(()),
        }
    }

    /// Who waits for a condition variable.
    fn waiting(&self, condition: usize) -> Vec<usize> {
        let waits = |thread: &usize| {
            let code = &self.machine.codes[*thread];
            let thread = &self.state.threads[*thread];
            let op = code.get(thread.pc);
            thread.sleep == Sleep::Waits
                && matches!(op, Some(Instruction::Do(Op::Wait(c) | Op::WaitTimeout(c) | Op::WaitWhile(c, _), _)) if *c == condition)
        };
        (0..self.state.threads.len()).filter(waits).collect()
    }

    fn wait(&mut self, op: Op, c: usize) -> Result<(), Unbounded> {
        let (me, state) = (self.me, self.state);
        let goes_on = |value: i64| !matches!(op, Op::WaitWhile(_, unwanted) if value == unwanted);
        match state.threads[me].sleep {
            Sleep::Awake if matches!(op, Op::WaitWhile(..)) && goes_on(state.mutexes[c].value) => {
                self.go(|_| ())
            }
            Sleep::Awake => {
                self.stay(|s| {
                    s.mutexes[c].holder = None;
                    s.threads[me].sleep = Sleep::Waits;
                });
                Ok(())
            }
            Sleep::Waits => {
                if let Op::WaitTimeout(_) = op {
                    self.machine.marked.set(true);
                    self.stay(|s| s.threads[me].sleep = Sleep::Back { timed_out: true });
                }
                if state.threads[me].spurious < self.machine.spurious {
                    let mut next = state.clone();
                    next.threads[me].spurious += 1;
                    next.threads[me].sleep = Sleep::Back { timed_out: false };
                    self.moves.unlikely.push(next);
                }
                Ok(())
            }
            Sleep::Back { .. } if state.mutexes[c].holder.is_some() => Ok(()),
            // It holds the mutex, and waits again.
            Sleep::Back { .. } if !goes_on(state.mutexes[c].value) => {
                self.stay(|s| {
                    s.mutexes[c].holder = Some(me);
                    s.threads[me].sleep = Sleep::Awake;
                });
                Ok(())
            }
            Sleep::Back { timed_out } => {
                let back = |s: &mut State| {
                    s.mutexes[c].holder = Some(me);
                    s.threads[me].sleep = Sleep::Awake;
                };
                match op {
                    Op::WaitTimeout(_) => self.get(i64::from(timed_out), back),
                    _ => self.go(back),
                }
            }
        }
    }

    /// Gives back what is left, one after the other, and ends.
    fn end(&mut self) {
        let (me, state) = (self.me, self.state);
        let mut objects = 0..OBJECTS;
        if let Some(m) = objects.find(|&m| state.mutexes[m].holder == Some(me)) {
            return self.stay(|s| s.mutexes[m].holder = None);
        }
        let holds = |l: &usize| {
            let lock = &state.locks[*l];
            lock.writer == Some(me) || lock.readers.contains(&me)
        };
        if let Some(l) = (0..OBJECTS).find(holds) {
            return self.stay(|s| {
                s.locks[l].readers.remove(&me);
                s.locks[l].writer = s.locks[l].writer.filter(|&writer| writer != me);
            });
        }
        if let Some(c) = (0..OBJECTS).find(|&c| state.channels[c].senders.contains(&me)) {
            return self.stay(|s| {
                s.channels[c].senders.remove(&me);
            });
        }
        let receives = self.machine.receiver == me;
        if let Some(c) = (0..OBJECTS).find(|&c| receives && state.channels[c].receiver) {
            return self.stay(|s| {
                s.channels[c].receiver = false;
                s.channels[c].messages.clear();
            });
        }
        if let Some(r) = (0..OBJECTS).find(|&r| state.threads[me].references[r] > 0) {
            return self.stay(|s| s.threads[me].references[r] -= 1);
        }
        let joined = state.threads[me].joined + 1;
        if me == 0 && joined < state.threads.len() {
            if state.threads[joined].ended {
                self.stay(|s| s.threads[0].joined = joined);
            }
            return;
        }
        self.stay(|s| s.threads[me].ended = true);
    }
}
