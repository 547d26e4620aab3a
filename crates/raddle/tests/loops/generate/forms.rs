//! Loops of each form.

use super::profile::Form;
use super::{FOUND, Generator, OTHER, POSITION, ROUNDS, looping};
use crate::syntax::{Op, Statement, Test, Value};

impl Generator<'_> {
    pub(super) fn make(&mut self, form: Form) -> Vec<Statement> {
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
            Form::CountThenWait | Form::TwoTimeouts | Form::Slot => self.pair(form),
        }
    }

    pub(super) fn scanning(&mut self, form: Form) -> Vec<Statement> {
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

    pub(super) fn giving_up(&mut self, form: Form) -> Vec<Statement> {
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

    pub(super) fn backing_off(&mut self) -> Vec<Statement> {
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
}
