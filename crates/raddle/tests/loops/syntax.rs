//! Programs with loops, and how they are printed.

use std::fmt;

/// How many registers a thread has.
pub(crate) const REGISTERS: usize = 4;
/// How many objects there are of each kind.
pub(crate) const OBJECTS: usize = 3;
/// What is read where there is nothing to read.
pub(crate) const NOTHING: i64 = -2;
pub(crate) const DISCONNECTED: i64 = -1;

pub(crate) type Register = usize;

/// A local value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    Is(i64),
    Of(Register),
    /// One more than in the register.
    Next(Register),
    /// One of these, by the number in the register.
    Pick([i64; 4], Register),
}

/// A local condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Test {
    Is(Register, i64),
    IsNot(Register, i64),
    Same(Register, Register),
    AtMost(Register, i64),
}

/// An operation on an object, which a value names: so one place in the code can scan several objects.
///
/// What needs a guard that the thread does not have, or would take one a second time, does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    Load(Value),
    Store(Value, Value),
    Swap(Value, Value),
    Add(Value, i64),
    Or(Value, i64),
    Xor(Value, i64),
    Max(Value, i64),
    /// From the second to the third; what it found.
    Cas(Value, Value, Value),

    Lock(Value),
    /// Whether it has it now.
    TryLock(Value),
    Unlock(Value),
    /// What the mutex protects; none of these three is a step.
    Get(Value),
    Put(Value, Value),
    /// Takes out what is there, and leaves 0.
    Take(Value),

    Read(Value),
    TryRead(Value),
    Write(Value),
    TryWrite(Value),
    UnlockRw(Value),
    GetRw(Value),
    PutRw(Value, Value),

    /// On a condition variable, with the mutex of the same number.
    Wait(usize),
    /// Whether it timed out.
    WaitTimeout(usize),
    /// While the mutex protects this value.
    WaitWhile(usize, i64),
    NotifyOne(usize),
    NotifyAll(usize),

    Send(usize, Value),
    DropSender(usize),
    Recv(Value),
    TryRecv(Value),
    RecvTimeout(Value),

    Park,
    ParkTimeout,
    /// A thread that was started earlier; the main thread may name any.
    Unpark(usize),
    /// Only by the main thread.
    IsFinished(Value),

    OnceGet(Value),
    /// Whether it was the first.
    OnceSet(usize, i64),

    /// One more of the thread's own references, if it has one.
    Clone(Value),
    /// Drops one of them.
    Release(Value),
    /// How many references there are.
    Strong(Value),
    /// Whether there is one. Then the thread has one more.
    Upgrade(Value),

    /// Only in futures: wakes the future itself.
    WakeSelf,
    /// Only in futures: leaves its waker in a slot.
    Register(usize),
    /// Takes the waker out of a slot and wakes it.
    Wake(usize),
}

/// How a loop says that it spins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mark {
    Yield,
    SpinLoop,
    Sleep,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Statement {
    /// What the operation reads goes into the register. The last number is the place in the source code.
    Do(Op, Option<Register>, usize),
    Set(Register, Value),
    /// Adds 1 modulo this.
    Count(Register, i64),
    If(Test, Vec<Statement>, Vec<Statement>),
    Loop(Vec<Statement>),
    /// Leaves so many loops. In a future: it is ready.
    Break(usize),
    Mark(Mark, usize),
    /// `block_on`: what is polled, again whenever it has been woken, until it breaks.
    BlockOn(Vec<Statement>, usize),
}

/// What a mutex has inside: how its value can be changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Inside {
    #[default]
    Plain,
    Cell,
    RefCell,
    Boxed,
}

/// The main thread starts all others, runs its own statements, and joins them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) threads: Vec<Vec<Statement>>,
    pub(crate) mutexes: [Inside; OBJECTS],
    /// How often a thread may be woken for no reason.
    pub(crate) spurious: u32,
    /// Whether the main thread uses all objects before it starts the others.
    pub(crate) touched: bool,
    /// Whether threads have their registers on the heap, not on their stacks.
    pub(crate) heap: bool,
}

/// What came of an execution.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Outcome {
    /// Whether threads wait or spin for ever.
    pub(crate) stuck: bool,
    /// The registers of each thread that came to the end of its statements.
    pub(crate) threads: Vec<Option<[i64; REGISTERS]>>,
    /// What the atomics and the mutexes hold in the end, if there is one.
    pub(crate) objects: Vec<i64>,
}

impl Statement {
    pub(crate) fn visit<'a>(&'a self, see: &mut impl FnMut(&'a Statement)) {
        see(self);
        match self {
            Self::If(_, one, other) => one.iter().chain(other).for_each(|s| s.visit(see)),
            Self::Loop(body) | Self::BlockOn(body, _) => body.iter().for_each(|s| s.visit(see)),
            _ => {}
        }
    }
}

impl Program {
    fn does(&self, thread: usize, is_it: impl Fn(Op) -> bool) -> bool {
        let mut found = false;
        for statement in &self.threads[thread] {
            statement.visit(&mut |statement| {
                if let Statement::Do(op, ..) = statement {
                    found |= is_it(*op);
                }
            });
        }
        found
    }

    pub(crate) fn sends(&self, thread: usize, channel: usize) -> bool {
        self.does(thread, |op| match op {
            Op::Send(c, _) | Op::DropSender(c) => c == channel,
            _ => false,
        })
    }

    /// Whether a thread begins with a reference: it does something with its own ones.
    pub(crate) fn shares(&self, thread: usize, reference: usize) -> bool {
        self.does(thread, |op| match op {
            Op::Clone(Value::Is(r)) | Op::Release(Value::Is(r)) => r == reference as i64,
            Op::Clone(_) | Op::Release(_) => true,
            _ => false,
        })
    }

    /// All receivers belong to the first thread that receives, or to the main thread.
    pub(crate) fn receiver(&self) -> usize {
        let receives = |op| matches!(op, Op::Recv(_) | Op::TryRecv(_) | Op::RecvTimeout(_));
        let mut threads = 0..self.threads.len();
        threads.find(|&t| self.does(t, receives)).unwrap_or(0)
    }

    /// Whether there is any channel.
    pub(crate) fn has_channels(&self) -> bool {
        (0..self.threads.len()).any(|t| {
            self.does(t, |op| {
                matches!(
                    op,
                    Op::Recv(_) | Op::TryRecv(_) | Op::RecvTimeout(_) | Op::Send(..)
                )
            }) || (0..OBJECTS).any(|c| self.sends(t, c))
        })
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(value) => write!(f, "{value}"),
            Self::Of(register) => write!(f, "r{register}"),
            Self::Next(register) => write!(f, "r{register}+1"),
            Self::Pick(values, register) => write!(f, "{values:?}[r{register}]"),
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(register, value) => write!(f, "r{register} == {value}"),
            Self::IsNot(register, value) => write!(f, "r{register} != {value}"),
            Self::Same(one, other) => write!(f, "r{one} == r{other}"),
            Self::AtMost(register, most) => write!(f, "r{register} <= {most}"),
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load(x) => write!(f, "x[{x}].load()"),
            Self::Store(x, v) => write!(f, "x[{x}].store({v})"),
            Self::Swap(x, v) => write!(f, "x[{x}].swap({v})"),
            Self::Add(x, v) => write!(f, "x[{x}].fetch_add({v})"),
            Self::Or(x, v) => write!(f, "x[{x}].fetch_or({v})"),
            Self::Xor(x, v) => write!(f, "x[{x}].fetch_xor({v})"),
            Self::Max(x, v) => write!(f, "x[{x}].fetch_max({v})"),
            Self::Cas(x, from, to) => write!(f, "x[{x}].compare_exchange({from}, {to})"),
            Self::Lock(m) => write!(f, "m[{m}].lock()"),
            Self::TryLock(m) => write!(f, "m[{m}].try_lock()"),
            Self::Unlock(m) => write!(f, "m[{m}].unlock()"),
            Self::Get(m) => write!(f, "*m[{m}]"),
            Self::Put(m, v) => write!(f, "*m[{m}] = {v}"),
            Self::Take(m) => write!(f, "take(m[{m}])"),
            Self::Read(l) => write!(f, "l[{l}].read()"),
            Self::TryRead(l) => write!(f, "l[{l}].try_read()"),
            Self::Write(l) => write!(f, "l[{l}].write()"),
            Self::TryWrite(l) => write!(f, "l[{l}].try_write()"),
            Self::UnlockRw(l) => write!(f, "l[{l}].unlock()"),
            Self::GetRw(l) => write!(f, "*l[{l}]"),
            Self::PutRw(l, v) => write!(f, "*l[{l}] = {v}"),
            Self::Wait(c) => write!(f, "c[{c}].wait(m[{c}])"),
            Self::WaitTimeout(c) => write!(f, "c[{c}].wait_timeout(m[{c}])"),
            Self::WaitWhile(c, v) => write!(f, "c[{c}].wait_while(m[{c}], |v| v == {v})"),
            Self::NotifyOne(c) => write!(f, "c[{c}].notify_one()"),
            Self::NotifyAll(c) => write!(f, "c[{c}].notify_all()"),
            Self::Send(c, v) => write!(f, "ch[{c}].send({v})"),
            Self::DropSender(c) => write!(f, "drop(ch[{c}].sender)"),
            Self::Recv(c) => write!(f, "ch[{c}].recv()"),
            Self::TryRecv(c) => write!(f, "ch[{c}].try_recv()"),
            Self::RecvTimeout(c) => write!(f, "ch[{c}].recv_timeout()"),
            Self::Park => write!(f, "park()"),
            Self::ParkTimeout => write!(f, "park_timeout()"),
            Self::Unpark(t) => write!(f, "unpark(thread {t})"),
            Self::IsFinished(t) => write!(f, "thread[{t}].is_finished()"),
            Self::OnceGet(o) => write!(f, "once[{o}].get()"),
            Self::OnceSet(o, v) => write!(f, "once[{o}].set({v})"),
            Self::Clone(r) => write!(f, "a[{r}].push(a[{r}].last().clone())"),
            Self::Release(r) => write!(f, "drop(a[{r}].pop())"),
            Self::Strong(r) => write!(f, "w[{r}].strong_count()"),
            Self::Upgrade(r) => write!(f, "a[{r}].extend(w[{r}].upgrade())"),
            Self::WakeSelf => write!(f, "cx.waker().wake_by_ref()"),
            Self::Register(w) => write!(f, "slot[{w}] = cx.waker().clone()"),
            Self::Wake(w) => write!(f, "slot[{w}].take().wake()"),
        }
    }
}

fn block(f: &mut fmt::Formatter<'_>, body: &[Statement], depth: usize) -> fmt::Result {
    for statement in body {
        let indent = "    ".repeat(depth);
        match statement {
            Statement::Do(op, None, site) => writeln!(f, "{indent}{op};  // at {site}")?,
            Statement::Do(op, Some(register), site) => {
                writeln!(f, "{indent}r{register} = {op};  // at {site}")?;
            }
            Statement::Set(register, value) => writeln!(f, "{indent}r{register} = {value};")?,
            Statement::Count(register, most) => {
                writeln!(f, "{indent}r{register} = (r{register} + 1) % {most};")?;
            }
            Statement::If(test, one, other) => {
                writeln!(f, "{indent}if {test} {{")?;
                block(f, one, depth + 1)?;
                if !other.is_empty() {
                    writeln!(f, "{indent}}} else {{")?;
                    block(f, other, depth + 1)?;
                }
                writeln!(f, "{indent}}}")?;
            }
            Statement::Loop(body) => {
                writeln!(f, "{indent}loop {{")?;
                block(f, body, depth + 1)?;
                writeln!(f, "{indent}}}")?;
            }
            Statement::Break(1) => writeln!(f, "{indent}break;")?,
            Statement::Break(levels) => writeln!(f, "{indent}break {levels} loops;")?,
            Statement::Mark(mark, site) => writeln!(f, "{indent}{mark:?}!;  // at {site}")?,
            Statement::BlockOn(body, site) => {
                writeln!(
                    f,
                    "{indent}block_on {{  // at {site}; break is Ready, the end Pending"
                )?;
                block(f, body, depth + 1)?;
                writeln!(f, "{indent}}}")?;
            }
        }
    }
    Ok(())
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "mutexes {:?}, spurious {}, touched {}, heap {}",
            self.mutexes, self.spurious, self.touched, self.heap
        )?;
        for (thread, body) in self.threads.iter().enumerate() {
            writeln!(f, "thread {thread}:")?;
            block(f, body, 1)?;
        }
        Ok(())
    }
}
