//! All outcomes of a program: a search of all its states, written from the documentation of `std`.
//!
//! A state is everything that decides what can still happen: where each thread is, its registers, what every object holds. There
//! are finitely many, so loops without bound need no special care, and marks (`yield_now` and the like) mean nothing.
//!
//! An execution is *stuck* in a state from which no state is reachable in which all threads have ended. Spurious wake-ups may happen or
//! not, so they do not count as a way out; timeouts do.

mod machine;
mod state;
mod step;

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};

use crate::syntax::{Op, Outcome, Program, REGISTERS, Register, Statement, Test, Value};
use machine::{Machine, Moves};
use state::{State, Thread};

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
