//! What threads do between operations, and which of them can make one.

use std::cell::Cell;

use super::state::{Sleep, State};
use super::step::Step;
use super::{Instruction, Unbounded};
use crate::syntax::{Op, Test};

/// Values outside of this are taken for a state space without end.
pub(super) const LARGEST: i64 = 40;
/// More local instructions in a row than this are taken for a loop without operations.
pub(super) const MOST_LOCAL: usize = 1000;

#[derive(Default)]
pub(super) struct Moves {
    pub(super) likely: Vec<State>,
    /// What may happen or not.
    pub(super) unlikely: Vec<State>,
}

pub(super) struct Machine<'a> {
    pub(super) codes: &'a [Vec<Instruction>],
    pub(super) receiver: usize,
    pub(super) spurious: u32,
    /// Whether a thread has said that it spins, or that it waits for a limited time only.
    pub(super) marked: Cell<bool>,
}

impl Machine<'_> {
    /// Runs what is between operations.
    pub(super) fn run_local(&self, state: &mut State, me: usize) -> Result<(), Unbounded> {
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
    pub(super) fn is_idle(&self, state: &State, me: usize, op: Op) -> bool {
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
    pub(super) fn spins_unmarked(&self, state: &State, me: usize) -> Result<bool, Unbounded> {
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

    pub(super) fn moves(
        &self,
        state: &State,
        me: usize,
        moves: &mut Moves,
    ) -> Result<(), Unbounded> {
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
