//! Random programs, and smaller ones that still do the same.

use crate::program::{OBJECTS, Op, Program};

pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next() % most as u64).unwrap()
    }

    fn value(&mut self) -> i64 {
        i64::try_from(self.below(3)).unwrap()
    }
}

/// Kinds of objects that a program uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Theme {
    Atomics,
    Mutex,
    RwLock,
    Condition,
    Barrier,
    Once,
    Park,
    Channel,
    Arc,
}

const THEMES: [Theme; 9] = [
    Theme::Atomics,
    Theme::Mutex,
    Theme::RwLock,
    Theme::Condition,
    Theme::Barrier,
    Theme::Once,
    Theme::Park,
    Theme::Channel,
    Theme::Arc,
];

pub(crate) fn program(seed: u64) -> Program {
    let rng = &mut Rng::new(seed);
    let mut themes = vec![THEMES[rng.below(THEMES.len())]];
    if rng.below(2) == 0 {
        themes.push(THEMES[rng.below(THEMES.len())]);
    }
    if rng.below(3) == 0 {
        themes.push(Theme::Atomics);
    }
    let count = [2, 3, 3, 3, 4, 4][rng.below(6)];
    let length = match count {
        2 => 5,
        3 => 4,
        _ => 3,
    };
    let mut program = Program::default();
    for channel in 0..OBJECTS {
        program.channels[channel] = [None, Some(0), Some(1), Some(2)][rng.below(4)];
    }
    program.spurious = u32::from(rng.below(4) == 0);
    program.weak = rng.below(4) == 0;
    program.stable = rng.below(2) == 0;
    for thread in 0..count {
        let shorter = if thread == 0 {
            rng.below(length + 1)
        } else {
            0
        };
        let length = 1 + rng.below(length);
        let mut ops = Vec::new();
        while ops.len() + shorter < length {
            let theme = themes[rng.below(themes.len())];
            step(rng, theme, thread, count, &mut ops);
        }
        program.threads.push(ops);
    }
    // A receiver has one owner.
    let owners: Vec<usize> = (0..OBJECTS).map(|_| rng.below(count)).collect();
    for (thread, ops) in program.threads.iter_mut().enumerate() {
        for op in ops.iter_mut() {
            if let Some(c) = op.receives_from()
                && owners[c] != thread
            {
                *op = Op::Send(c, 1);
            }
        }
        // One that panics before the end has operations that are never made.
        if thread != 0 && rng.below(20) == 0 {
            let at = rng.below(ops.len() + 1);
            ops.insert(at, Op::Panic);
        }
    }
    if rng.below(6) == 0 && count > 1 {
        let asked = 1 + rng.below(count - 1);
        let at = rng.below(program.threads[0].len() + 1);
        program.threads[0].insert(at, Op::IsFinished(asked));
    }
    program
}

fn step(rng: &mut Rng, theme: Theme, thread: usize, count: usize, ops: &mut Vec<Op>) {
    let (n, v) = (rng.below(2), rng.value());
    match theme {
        Theme::Atomics => ops.push(match rng.below(16) {
            0..=3 => Op::Load(n),
            4..=6 => Op::Store(n, v),
            7 => Op::Swap(n, v),
            8 => Op::Add(n, 1),
            9 => Op::Max(n, v),
            10 => Op::Cas(n, v, v + 1),
            11 => Op::CasWeak(n, v, v + 1),
            12 => Op::Update(n),
            13 | 14 => Op::Poll(n, v.max(1), [1, 2, 2, 3][rng.below(4)]),
            _ => match rng.below(2) {
                0 => Op::Await(n, 1),
                _ => Op::Choose(2),
            },
        }),
        Theme::Mutex => match rng.below(10) {
            0..=3 => ops.extend([Op::Lock(n), Op::Set(n, v), Op::Unlock(n)]),
            4 => ops.push(Op::Lock(n)),
            5 => ops.push(Op::Unlock(n)),
            6 => ops.extend([Op::TryLock(n), Op::Set(n, v)]),
            7 => ops.push(Op::TryLock(n)),
            8 => ops.push(Op::IsPoisoned(n)),
            _ => ops.push(Op::ClearPoison(n)),
        },
        Theme::RwLock => match rng.below(9) {
            0 => ops.extend([Op::Read(n), Op::UnlockRw(n)]),
            1 => ops.push(Op::Read(n)),
            2 => ops.push(Op::TryRead(n)),
            3 | 4 => ops.extend([Op::Write(n), Op::SetRw(n, v), Op::UnlockRw(n)]),
            5 => ops.push(Op::Write(n)),
            6 => ops.extend([Op::TryWrite(n), Op::SetRw(n, v)]),
            7 => ops.push(Op::Downgrade(n)),
            _ => ops.push(Op::UnlockRw(n)),
        },
        Theme::Condition => match rng.below(9) {
            0 | 1 => ops.extend([Op::Lock(0), Op::Wait(n, 0), Op::Unlock(0)]),
            2 => ops.extend([Op::Lock(0), Op::WaitTimeout(n, 0)]),
            3 => ops.extend([Op::Lock(0), Op::Set(0, v), Op::Unlock(0)]),
            4 => ops.push(Op::Unlock(0)),
            5 | 6 => ops.push(Op::NotifyOne(n)),
            _ => ops.push(Op::NotifyAll(n)),
        },
        // If nobody asks who leads, the order of arrivals does not matter.
        Theme::Barrier => ops.push(match rng.below(8) {
            0 => Op::Barrier(n),
            _ => Op::Meet(n),
        }),
        Theme::Once => ops.push(match rng.below(6) {
            0 | 1 => Op::GetOrInit(n, v),
            2 => Op::SetOnce(n, v),
            3 | 4 => Op::GetOnce(n),
            _ => Op::WaitOnce(n),
        }),
        Theme::Park => ops.push(match rng.below(5) {
            0 => Op::Park,
            1 => Op::ParkTimeout,
            _ => Op::Unpark(if thread == 0 {
                rng.below(count)
            } else {
                rng.below(thread)
            }),
        }),
        Theme::Channel => ops.push(match rng.below(10) {
            0..=2 => Op::Send(n, v),
            3 => Op::TrySend(n, v),
            4 => Op::DropSender(n),
            5 | 6 => Op::Recv(n),
            7 => Op::TryRecv(n),
            8 => Op::RecvTimeout(n),
            _ => Op::DropReceiver(n),
        }),
        Theme::Arc => ops.push(match rng.below(5) {
            0 => Op::Count(n),
            1 | 2 => Op::DropArc(n),
            3 => Op::Upgrade(n),
            _ => Op::TryUnwrap(n),
        }),
    }
}

/// A program from which nothing can be removed without `fails` being no longer true.
pub(crate) fn shrink(mut program: Program, fails: impl Fn(&Program) -> bool) -> Program {
    'again: loop {
        for thread in (1..program.threads.len()).rev() {
            let names_threads = program
                .threads
                .iter()
                .flatten()
                .any(|op| matches!(*op, Op::Unpark(t) | Op::IsFinished(t) if t >= thread));
            let mut smaller = program.clone();
            smaller.threads.remove(thread);
            if !names_threads && fails(&smaller) {
                program = smaller;
                continue 'again;
            }
        }
        for thread in 0..program.threads.len() {
            for op in 0..program.threads[thread].len() {
                let mut smaller = program.clone();
                smaller.threads[thread].remove(op);
                if fails(&smaller) {
                    program = smaller;
                    continue 'again;
                }
            }
        }
        for smaller in [
            Program {
                spurious: 0,
                ..program.clone()
            },
            Program {
                weak: false,
                ..program.clone()
            },
            Program {
                channels: Default::default(),
                ..program.clone()
            },
        ] {
            if smaller != program && fails(&smaller) {
                program = smaller;
                continue 'again;
            }
        }
        return program;
    }
}
