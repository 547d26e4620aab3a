//! [`Script`]: programs that are lists of steps, and random ones.

use super::toy::{Body, Halt, Round, Run, Toy};
use crate::operation::{Effect, Order, Update};

/// One step. Locations and locks are numbers; a location is one or the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Reads.
    Read(u32, Order),
    /// Writes a value.
    Write(u32, u64, Order),
    /// Writes what was read last, and one more.
    Copy(u32, Order),
    /// Adds.
    Add(u32, u64, Order),
    /// Writes the third if it finds the second; the second ordering if it fails.
    CompareExchange(u32, u64, u64, Order, Order),
    /// A fence.
    Fence(Order),
    /// Any number below this one.
    Choose(u32),
    /// Skips this number of steps if what was read last is not 0.
    SkipUnlessZero(usize),
    /// Takes a lock.
    Lock(u32),
    /// Takes a lock if it is free. If not, skips the steps up to the next unlock, inclusive.
    TryLock(u32),
    /// Gives a lock back.
    Unlock(u32),
    /// Waits until a location has this value, and writes another one.
    Take(u32, u64, u64, Order),
    /// Writes 1 if it finds 0, waits if it finds 1.
    Begin(u32, Order),
    /// Waits until a location does not have 0.
    Await(u32, Order),
    /// Reads until a location has this value.
    Spin(u32, u64, Order),
    /// Reads two locations until both have this value.
    SpinBoth(u32, u32, u64, Order),
    /// Takes the first, a lock, reads the second, and gives the lock back, until it has read this value.
    SpinLocked(u32, u32, u64),
    /// Adds 0 until it reads this value.
    SpinAdd(u32, u64, Order),
    /// Writes 1 until it reads 0.
    SpinSwap(u32, Order),
    /// Adds 1 by a compare-exchange of what it reads first, until that succeeds.
    SpinExchange(u32, Order),
    /// Starts a thread.
    Spawn(u32),
    /// Waits for the end of a thread.
    Join(u32),
    /// Reads a cell that is not atomic.
    ReadCell(usize),
    /// Writes a cell that is not atomic.
    WriteCell(usize),
}

/// What random programs are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Reads, writes, updates, fences and choices.
    Atomics,
    /// Locks, nested too, in any order, and a few reads and writes.
    Locks,
    /// Locations with updates that wait, and others that may never let them go on.
    Waiting,
    /// The same with plain writes.
    WaitingWrites,
    /// Reads that wait for what stays so.
    Flags,
    /// Loops that wait.
    Loops,
    /// Atomics, and accesses of a cell that is not atomic.
    Cells,
    /// Atomics in threads that the first one starts, and waits for.
    Threads,
}

/// A program as lists of steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The steps of each thread.
    pub threads: Vec<Vec<Step>>,
    /// After how many iterations that change nothing a loop is blocked.
    pub iterations: usize,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            threads: Vec::new(),
            iterations: 1,
        }
    }
}

/// Locks have numbers from here.
const LOCKS: u32 = 3;

impl Script {
    /// The program.
    #[must_use]
    pub fn toy(&self) -> Toy {
        let body = |steps: &Vec<Step>| -> Body {
            let (steps, iterations) = (steps.clone(), self.iterations);
            Box::new(move |run| interpret(&steps, iterations, run))
        };
        let is_started = |thread: usize| {
            let mut steps = self.threads.iter().flatten();
            steps.any(|&step| step == Step::Spawn(thread as u32))
        };
        let first = (0..self.threads.len()).position(is_started);
        Toy::with_children(
            self.threads.iter().map(body).collect(),
            first.unwrap_or(self.threads.len()),
        )
    }

    /// A random program with two to four threads and at most this many events. (A step is an event, or none.)
    #[must_use]
    pub fn random(seed: u64, profile: Profile, events: usize) -> Self {
        let mut random = Random::new(seed);
        match profile {
            Profile::Atomics => atomics(&mut random, events),
            Profile::Locks => locks(&mut random, events),
            Profile::Waiting => waiting(&mut random, events, false),
            Profile::WaitingWrites => waiting(&mut random, events, true),
            Profile::Flags => flags(&mut random, events),
            Profile::Loops => loops(&mut random, events),
            Profile::Cells => cells(&mut random, events),
            Profile::Threads => threads(&mut random, events),
        }
    }
}

fn interpret(steps: &[Step], iterations: usize, run: &mut Run<'_>) -> Result<(), Halt> {
    let (mut last, mut at) = (0, 0);
    while let Some(&step) = steps.get(at) {
        at += 1;
        match step {
            Step::Read(location, order) => last = run.load(location, order)?,
            Step::Write(location, value, order) => run.store(location, value, order)?,
            Step::Copy(location, order) => run.store(location, last + 1, order)?,
            Step::Add(location, value, order) => last = run.add(location, value, order)?,
            Step::CompareExchange(location, expected, new, order, failure) => {
                let read = run.compare_exchange(location, expected, new, order, failure)?;
                last = read.unwrap_or_else(|read| read);
            }
            Step::Fence(order) => run.fence(order)?,
            Step::Choose(alternatives) => last = run.choose(alternatives)?,
            Step::SkipUnlessZero(count) => at += if last == 0 { 0 } else { count },
            Step::Spawn(child) => run.spawn(child)?,
            Step::Join(child) => run.join(child)?,
            Step::Lock(lock) => run.lock(lock)?,
            Step::TryLock(lock) => {
                if !run.try_lock(lock)? {
                    let unlock = steps[at..].iter().position(|&s| s == Step::Unlock(lock));
                    at = unlock.map_or(steps.len(), |unlock| at + unlock + 1);
                }
            }
            Step::Unlock(lock) => run.unlock(lock)?,
            Step::Begin(location, order) => {
                let effect = |read, _| match read {
                    0 => Effect::Write(1),
                    1 => Effect::Wait,
                    _ => Effect::Read,
                };
                last = run
                    .update(location, Update::waiting(order, effect, [0, 0]))?
                    .0;
            }
            Step::Await(location, order) => {
                last = run.wait(location, order, |value, _| value != 0, 0)?;
            }
            Step::Spin(location, value, order) => run.spin_for(iterations, |run| {
                last = run.load(location, order)?;
                Ok(Round::leave_if(last == value))
            })?,
            Step::SpinBoth(one, other, value, order) => run.spin_for(iterations, |run| {
                let (one, other) = (run.load(one, order)?, run.load(other, order)?);
                Ok(Round::leave_if(one == value && other == value))
            })?,
            Step::SpinLocked(lock, location, value) => run.spin_for(iterations, |run| {
                run.lock(lock)?;
                last = run.load(location, Order::Relaxed)?;
                run.unlock(lock)?;
                Ok(Round::leave_if(last == value))
            })?,
            Step::SpinAdd(location, value, order) => run.spin_for(iterations, |run| {
                last = run.add(location, 0, order)?;
                Ok(Round::leave_if(last == value))
            })?,
            Step::SpinSwap(location, order) => run.spin_for(iterations, |run| {
                last = run.swap(location, 1, order)?;
                Ok(match last {
                    0 => Round::Leave,
                    1 => Round::Pure,
                    _ => Round::Changed,
                })
            })?,
            Step::SpinExchange(location, order) => run.spin_for(iterations, |run| {
                last = run.load(location, Order::Relaxed)?;
                let new = last + 1;
                let failure = Order::Relaxed;
                let exchanged = run.compare_exchange(location, last, new, order, failure)?;
                Ok(Round::leave_if(exchanged.is_ok()))
            })?,
            Step::Take(location, expected, new, order) => {
                let effect = |read, [expected, new]: [u64; 2]| match read == expected {
                    true => Effect::Write(new),
                    false => Effect::Wait,
                };
                let take = Update::waiting(order, effect, [expected, new]);
                last = run.update(location, take)?.0;
            }
            Step::ReadCell(cell) => run.read_cell(cell),
            Step::WriteCell(cell) => run.write_cell(cell),
        }
        run.see(last);
    }
    Ok(())
}

/// Xorshift.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        // Spreads small seeds.
        let mut random = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..4 {
            random.below(2);
        }
        random
    }

    fn below(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % below
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn read_order(&mut self) -> Order {
        self.of(&[Order::Relaxed, Order::Acquire, Order::SeqCst])
    }

    fn write_order(&mut self) -> Order {
        self.of(&[Order::Relaxed, Order::Release, Order::SeqCst])
    }

    fn update_order(&mut self) -> Order {
        self.of(&[
            Order::Relaxed,
            Order::Acquire,
            Order::Release,
            Order::AcqRel,
            Order::SeqCst,
        ])
    }

    fn fence_order(&mut self) -> Order {
        self.of(&[Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst])
    }
}

fn atomics(random: &mut Random, events: usize) -> Script {
    let threads = 2 + random.below(3) as usize;
    let locations = 1 + random.below(3);
    let mut script = Script {
        threads: vec![Vec::new(); threads],
        ..Script::default()
    };
    let mut left = events - random.below(3).min(events as u64) as usize;
    let mut silent = 0;
    while left > 0 {
        let steps = &mut script.threads[random.below(threads as u64) as usize];
        let location = random.below(locations) as u32;
        left -= 1;
        steps.push(match random.below(20) {
            0..=5 => Step::Read(location, random.read_order()),
            6..=10 => Step::Write(location, 1 + random.below(2), random.write_order()),
            11 => Step::Copy(location, random.write_order()),
            12 | 13 => Step::Add(location, 1, random.update_order()),
            14 | 15 => Step::CompareExchange(
                location,
                random.below(2),
                1 + random.below(2),
                random.update_order(),
                random.read_order(),
            ),
            16 | 17 => Step::Fence(random.fence_order()),
            18 => Step::Choose(2),
            _ => {
                left += usize::from(silent < 2);
                silent += 1;
                Step::SkipUnlessZero(1)
            }
        });
    }
    script
}

fn cells(random: &mut Random, events: usize) -> Script {
    let mut script = atomics(random, events);
    for _ in 0..3 {
        let threads = script.threads.len() as u64;
        let steps = &mut script.threads[random.below(threads) as usize];
        let access = random.of(&[Step::ReadCell(0), Step::WriteCell(0)]);
        steps.insert(random.below(steps.len() as u64 + 1) as usize, access);
    }
    script
}

fn threads(random: &mut Random, events: usize) -> Script {
    let mut script = atomics(random, events);
    for child in (1..script.threads.len() as u32).rev() {
        // Each thread starts the next one, or the first one starts them all.
        let parent = random.of(&[0, child as usize - 1]);
        let steps = &mut script.threads[parent];
        let at = random.below(steps.len() as u64 + 1) as usize;
        steps.insert(at, Step::Spawn(child));
        if random.below(3) > 0 {
            let rest = steps.len() - at;
            let after = at + 1 + random.below(rest as u64) as usize;
            steps.insert(after, Step::Join(child));
        }
    }
    script
}

fn locks(random: &mut Random, events: usize) -> Script {
    let threads = 2 + random.below(2) as usize;
    let mut script = Script {
        threads: vec![Vec::new(); threads],
        ..Script::default()
    };
    let mut left = events as i64;
    while left > 0 {
        let steps = &mut script.threads[random.below(threads as u64) as usize];
        left -= section(random, steps, 0) as i64;
    }
    script
}

/// A critical section, or an access. How many events it has.
fn section(random: &mut Random, steps: &mut Vec<Step>, held: u32) -> usize {
    let lock = random.below(2) as u32;
    let is_free = held >> lock & 1 == 0;
    if !is_free || random.below(3) == 0 {
        let location = random.below(2) as u32;
        steps.push(match random.below(2) {
            0 => Step::Read(location, random.read_order()),
            _ => Step::Write(location, 1 + random.below(2), random.write_order()),
        });
        return 1;
    }
    // A section that may be skipped has no other section of its lock in it, so that it ends with the next unlock.
    let tries = random.below(5) == 0;
    steps.push(match tries {
        true => Step::TryLock(LOCKS + lock),
        false => Step::Lock(LOCKS + lock),
    });
    let mut events = 2;
    for _ in 0..random.below(3) {
        events += section(random, steps, held | 1 << lock);
    }
    steps.push(Step::Unlock(LOCKS + lock));
    events
}

fn waiting(random: &mut Random, events: usize, writes: bool) -> Script {
    let threads = 2 + random.below(3) as usize;
    let mut script = Script {
        threads: vec![Vec::new(); threads],
        ..Script::default()
    };
    for _ in 0..events - random.below(3).min(events as u64) as usize {
        let steps = &mut script.threads[random.below(threads as u64) as usize];
        let location = random.below(2) as u32;
        let (order, value) = (random.update_order(), random.below(3));
        steps.push(match random.below(10) {
            0..=2 => Step::Take(location, value, random.below(3), order),
            3 => Step::Begin(location, order),
            4 | 5 => Step::Add(location, 1, order),
            6 => {
                let failure = random.read_order();
                Step::CompareExchange(location, value, random.below(3), order, failure)
            }
            7 if writes => Step::Write(location, value, random.write_order()),
            7 => Step::Add(location, 2, order),
            _ => Step::Read(location, random.read_order()),
        });
    }
    script
}

fn flags(random: &mut Random, events: usize) -> Script {
    let threads = 2 + random.below(3) as usize;
    let mut script = Script {
        threads: vec![Vec::new(); threads],
        ..Script::default()
    };
    for _ in 0..events - random.below(3).min(events as u64) as usize {
        let steps = &mut script.threads[random.below(threads as u64) as usize];
        let location = random.below(3) as u32;
        steps.push(match random.below(10) {
            0..=2 => Step::Await(location, random.read_order()),
            3..=5 => Step::Write(location, 1 + random.below(2), random.write_order()),
            6 => Step::Add(location, 1, random.update_order()),
            7 => {
                let (order, failure) = (random.update_order(), random.read_order());
                Step::CompareExchange(location, random.below(2), 3, order, failure)
            }
            8 => Step::Fence(random.fence_order()),
            _ => Step::Read(location, random.read_order()),
        });
    }
    script
}

fn loops(random: &mut Random, events: usize) -> Script {
    let threads = 2 + random.below(2) as usize;
    let mut script = Script {
        threads: vec![Vec::new(); threads],
        ..Script::default()
    };
    let (mut left, mut loops) = (events as i64, 0);
    while left > 0 {
        let steps = &mut script.threads[random.below(threads as u64) as usize];
        let (location, value) = (random.below(2) as u32, 1 + random.below(2));
        let (read, update) = (random.read_order(), random.update_order());
        left -= 1;
        if loops < 2 && random.below(3) == 0 {
            loops += 1;
            steps.push(match random.below(7) {
                0 | 1 => Step::Spin(location, value, read),
                2 => Step::SpinBoth(location, 1 - location, value, read),
                3 => {
                    left -= 1;
                    Step::SpinLocked(LOCKS, location, value)
                }
                4 => Step::SpinAdd(location, value, update),
                5 => Step::SpinSwap(location, update),
                _ => Step::SpinExchange(location, update),
            });
            continue;
        }
        match random.below(8) {
            0..=2 => {
                let value = random.of(&[0, 1, 1, 2, 2]);
                steps.push(Step::Write(location, value, random.write_order()));
            }
            3 | 4 => steps.push(Step::Read(location, read)),
            5 => steps.push(Step::Add(location, 1, update)),
            6 => {
                left -= 2;
                let write = Step::Write(location, value, random.write_order());
                steps.extend([Step::Lock(LOCKS), write, Step::Unlock(LOCKS)]);
            }
            _ => steps.push(Step::Fence(random.fence_order())),
        }
    }
    script
}
