//! How loops look, and what others do so that they find something.

use super::profile::Look;
use super::{FOUND, Generator, Looking, OTHER, POSITION};
use crate::syntax::{DISCONNECTED, NOTHING, Op, Statement, Test, Value};

impl Generator<'_> {
    /// Changes how many references there are, for a while or for good.
    pub(super) fn referring(&mut self, object: Value) -> Vec<Statement> {
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
    pub(super) fn look_at_references(
        &mut self,
        look: Look,
        object: Value,
    ) -> (Vec<Statement>, Test) {
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

    /// Looks at one object, or at one of several.
    pub(super) fn look(&mut self) -> Looking {
        let object = self.object();
        let look = self.rng.pick(&self.profile.looks);
        self.look_at(look, Value::Is(object as i64), &[object])
    }

    pub(super) fn look_at(&mut self, look: Look, object: Value, objects: &[usize]) -> Looking {
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
    pub(super) fn news(&mut self, look: Look, objects: &[usize]) {
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
    pub(super) fn scan(&mut self) -> (Looking, i64) {
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
}
