//! Loops of two threads that wait for each other: what one of them waits for is done by a thread that polls itself afterwards.

use super::profile::Form;
use super::{FOUND, Generator, Looking, ROUNDS, looping};
use crate::syntax::{Op, Statement, Test, Value};

impl Generator<'_> {
    pub(super) fn pair(&mut self, form: Form) -> Vec<Statement> {
        match form {
            Form::CountThenWait => self.count_then_wait(),
            Form::TwoTimeouts => self.two_timeouts(),
            _ => self.slot(),
        }
    }

    /// Waits until the other thread has dropped its reference, and then tells it.
    fn count_then_wait(&mut self) -> Vec<Statement> {
        let (counted, flag) = (self.named(), self.named());
        let told = Looking {
            statements: vec![self.into(FOUND, Op::Load(flag))],
            ok: Test::Is(FOUND, 1),
        };
        let mark = self.mark();
        let wish = vec![
            self.make_one(Op::Release(counted)),
            looping(vec![], told, vec![mark]),
        ];
        self.wish(wish);
        let op = self.rng.pick(&[Op::Strong(counted), Op::Upgrade(counted)]);
        let mut statements = vec![self.into(FOUND, op)];
        if matches!(op, Op::Upgrade(_)) {
            let release = vec![self.make_one(Op::Release(counted))];
            statements.push(Statement::If(Test::Is(FOUND, 1), release, vec![]));
        }
        let alone = Looking {
            statements,
            ok: Test::AtMost(FOUND, 0),
        };
        let mark = self.mark();
        vec![
            looping(vec![], alone, vec![mark]),
            self.make_one(Op::Store(flag, Value::Is(1))),
        ]
    }

    /// Hands a number to and fro, behind a mutex and without a notification.
    fn two_timeouts(&mut self) -> Vec<Statement> {
        let c = self.rng.below(2);
        let m = Value::Is(c as i64);
        let put = |value| Statement::Do(Op::Put(m, Value::Is(value)), None, 0);
        let until = |ok| Looking {
            statements: vec![Statement::Do(Op::Get(m), Some(FOUND), 0)],
            ok,
        };
        let (one, other) = (
            self.make_one(Op::WaitTimeout(c)),
            self.make_one(Op::WaitTimeout(c)),
        );
        let wish = vec![
            self.make_one(Op::Lock(m)),
            put(1),
            looping(vec![], until(Test::IsNot(FOUND, 1)), vec![one]),
            self.make_one(Op::Unlock(m)),
        ];
        self.wish(wish);
        vec![
            self.make_one(Op::Lock(m)),
            looping(vec![], until(Test::Is(FOUND, 1)), vec![other]),
            put(2),
            self.make_one(Op::Unlock(m)),
        ]
    }

    /// Takes out of a buffer what another thread puts there, once or twice.
    fn slot(&mut self) -> Vec<Statement> {
        let most = self.rng.pick(&[1, 2, 2]);
        let wish = self.exchange(0, 1, most);
        self.wish(wish);
        self.exchange(1, 0, most)
    }

    fn exchange(&mut self, from: i64, to: i64, times: i64) -> Vec<Statement> {
        let m = Value::Is(0);
        let done = vec![
            Statement::Do(Op::Put(m, Value::Is(to)), None, 0),
            self.make_one(Op::Unlock(m)),
            Statement::Break(1),
        ];
        let once = vec![
            self.make_one(Op::Lock(m)),
            Statement::Do(Op::Get(m), Some(FOUND), 0),
            Statement::If(Test::Is(FOUND, from), done, vec![]),
            self.make_one(Op::Unlock(m)),
            self.mark(),
        ];
        let all = vec![
            Statement::Loop(once),
            Statement::Count(ROUNDS, times),
            Statement::If(Test::Is(ROUNDS, 0), vec![Statement::Break(1)], vec![]),
        ];
        vec![Statement::Loop(all)]
    }
}
