//! Loops around particular things: locks that are made of atomics, futures, condition variables, tokens.

use super::profile::Form;
use super::{FOUND, Generator, Looking, OTHER, POSITION, ROUNDS, Wish, looping};
use crate::syntax::{Op, Statement, Test, Value};

impl Generator<'_> {
    pub(super) fn compare_exchange(&mut self, form: Form) -> Vec<Statement> {
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
    pub(super) fn spin_lock(&mut self, form: Form) -> Vec<Statement> {
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

    pub(super) fn future(&mut self, form: Form) -> Vec<Statement> {
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

    pub(super) fn condvar(&mut self, form: Form) -> Vec<Statement> {
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

    pub(super) fn park(&mut self, form: Form) -> Vec<Statement> {
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

    pub(super) fn finished(&mut self) -> Vec<Statement> {
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
