//! The instructions.
//!
//! Registers are numbered from the start of the frame of the current call.
//! A *visible* instruction is one that other threads can notice, or that chooses: a
//! step is one of them and the local instructions after it.

use raddle_lang::ast::{BinaryOp, IntType, UnaryOp};

use crate::word;

/// A register of the current frame.
pub type Reg = u16;
/// A position in the code.
pub type Pc = u32;

/// What happens to a value on its way into a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It fits as it is.
    AsIs,
    /// Its low bits are kept.
    Wrap(IntType),
    /// It must be in a range, by its number in the program.
    Range(u16),
}

/// How a lock counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    Plain,
    Reentrant,
}

impl LockKind {
    /// Whether a thread can take a mutex that has this owner.
    pub(crate) fn is_free_for(self, thread: i64, owner: i64) -> bool {
        owner == word::NULL || self == Self::Reentrant && owner == thread
    }
}

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    // ---- local ----
    Const {
        to: Reg,
        value: i32,
    },
    /// A constant above `i32::MAX`.
    ConstUnsigned {
        to: Reg,
        value: u32,
    },
    GlobalRef {
        to: Reg,
        slot: u16,
    },
    Move {
        to: Reg,
        from: Reg,
    },
    /// Sets registers from `first` up to, not including, `end` to zero.
    Clear {
        first: Reg,
        end: Reg,
    },
    Unary {
        op: UnaryOp,
        int: IntType,
        to: Reg,
        a: Reg,
    },
    Binary {
        op: BinaryOp,
        int: IntType,
        to: Reg,
        a: Reg,
        b: Reg,
    },
    BinaryConst {
        op: BinaryOp,
        int: IntType,
        to: Reg,
        a: Reg,
        b: i16,
    },
    Fit {
        reg: Reg,
        fit: Fit,
    },
    /// Fails unless the register refers to something.
    NonNull {
        reg: Reg,
    },
    /// Moves a reference (or an offset) by a constant.
    Advance {
        reg: Reg,
        by: u16,
    },
    /// Moves a reference by an index that is known to be in bounds.
    Slide {
        reg: Reg,
        by: Reg,
    },
    /// Moves a reference (or an offset) by an index into an array.
    Element {
        reg: Reg,
        index: Reg,
        length: u16,
        stride: u16,
    },
    /// Fails unless the register is an index into an array of that length.
    InBounds {
        index: Reg,
        length: u16,
    },
    /// Moves a reference by an index, within whatever it refers into.
    /// `layout` is that of what it refers to.
    Offset {
        reg: Reg,
        index: Reg,
        layout: u16,
    },
    /// Part of a local array or struct, by an offset in a register.
    GetLocal {
        to: Reg,
        base: Reg,
        offset: Reg,
    },
    SetLocal {
        base: Reg,
        offset: Reg,
        from: Reg,
    },
    Jump {
        to: Pc,
    },
    /// A jump backwards.
    Loop {
        to: Pc,
    },
    JumpIf {
        reg: Reg,
        to: Pc,
    },
    JumpUnless {
        reg: Reg,
        to: Pc,
    },
    /// Calls a function with arguments in consecutive registers. `height` registers of this
    /// frame are alive during the call.
    Call {
        function: u16,
        arguments: Reg,
        height: Reg,
        to: Reg,
    },
    Return {
        from: Option<Reg>,
    },
    Assert {
        reg: Reg,
        message: u16,
    },
    Reach {
        goal: u16,
    },
    Tid {
        to: Reg,
    },
    /// Allocates; the number of elements is in `count`, or one.
    New {
        to: Reg,
        layout: u16,
        count: Option<Reg>,
    },

    // ---- visible ----
    Load {
        to: Reg,
        slot: u16,
    },
    LoadElement {
        to: Reg,
        slot: u16,
        index: Reg,
    },
    LoadAt {
        to: Reg,
        reference: Reg,
    },
    Store {
        slot: u16,
        from: Reg,
    },
    StoreElement {
        slot: u16,
        index: Reg,
        from: Reg,
    },
    StoreAt {
        reference: Reg,
        from: Reg,
    },
    AtomicLoad {
        to: Reg,
        reference: Reg,
    },
    AtomicStore {
        reference: Reg,
        from: Reg,
    },
    /// `expected` and the new value are in consecutive registers.
    Cas {
        to: Reg,
        reference: Reg,
        expected: Reg,
    },
    /// Computes with the value in memory; gives the value before.
    Update {
        op: BinaryOp,
        int: IntType,
        to: Reg,
        reference: Reg,
        operand: Reg,
        fit: Fit,
    },
    Swap {
        to: Reg,
        reference: Reg,
        from: Reg,
    },

    Lock {
        mutex: Reg,
        kind: LockKind,
    },
    Unlock {
        mutex: Reg,
        kind: LockKind,
    },
    TryLock {
        to: Reg,
        mutex: Reg,
        kind: LockKind,
    },
    ReadLock {
        lock: Reg,
    },
    WriteLock {
        lock: Reg,
    },
    UnlockRw {
        lock: Reg,
    },
    TryReadLock {
        to: Reg,
        lock: Reg,
    },
    TryWriteLock {
        to: Reg,
        lock: Reg,
    },
    /// Gives up the mutex and joins the waiters; its count is kept in `saved`.
    Wait {
        object: Reg,
        mutex: Reg,
        saved: Reg,
        kind: LockKind,
    },
    /// Always follows `Wait`.
    Resume {
        object: Reg,
        mutex: Reg,
        saved: Reg,
        kind: LockKind,
    },
    /// `monitor`: the object is a mutex, which the thread must hold.
    Notify {
        object: Reg,
        all: bool,
        monitor: bool,
    },
    Down {
        semaphore: Reg,
    },
    Up {
        semaphore: Reg,
    },
    TryDown {
        to: Reg,
        semaphore: Reg,
    },
    /// The values are in consecutive registers.
    Send {
        channel: Reg,
        values: Reg,
        shape: u16,
    },
    /// The second step of a rendezvous; always follows its `Send`.
    Handoff {
        channel: Reg,
    },
    Recv {
        channel: Reg,
        to: Reg,
        shape: u16,
    },
    TrySend {
        to: Reg,
        channel: Reg,
        values: Reg,
        shape: u16,
    },
    TryRecv {
        to: Reg,
        channel: Reg,
        values: Reg,
        shape: u16,
    },
    Len {
        to: Reg,
        channel: Reg,
        shape: u16,
    },

    /// Any integer from one register to another.
    Choose {
        to: Reg,
        low: Reg,
        high: Reg,
    },
    /// Any integer below a number.
    ChooseBelow {
        to: Reg,
        below: u16,
    },
    Spawn {
        to: Reg,
        function: u16,
        arguments: Reg,
    },
    Join {
        thread: Reg,
    },
    Free {
        reference: Reg,
    },
    /// The end of a spawned thread; the last instruction of every function.
    Exit,
    Yield,
    AtomicBegin,
    AtomicEnd,
    /// Blocks the step unless the register is true; only inside atomic code.
    Guard {
        reg: Reg,
        assumption: bool,
    },
}

impl Op {
    /// Whether a step begins here.
    pub fn is_visible(&self) -> bool {
        !matches!(
            self,
            Self::Const { .. }
                | Self::ConstUnsigned { .. }
                | Self::GlobalRef { .. }
                | Self::Move { .. }
                | Self::Clear { .. }
                | Self::Unary { .. }
                | Self::Binary { .. }
                | Self::BinaryConst { .. }
                | Self::Fit { .. }
                | Self::NonNull { .. }
                | Self::Advance { .. }
                | Self::Slide { .. }
                | Self::Element { .. }
                | Self::InBounds { .. }
                | Self::Offset { .. }
                | Self::GetLocal { .. }
                | Self::SetLocal { .. }
                | Self::Jump { .. }
                | Self::Loop { .. }
                | Self::JumpIf { .. }
                | Self::JumpUnless { .. }
                | Self::Call { .. }
                | Self::Return { .. }
                | Self::Assert { .. }
                | Self::Reach { .. }
                | Self::Tid { .. }
                | Self::New { .. }
                | Self::AtomicEnd
                | Self::Guard { .. }
        )
    }

    /// The register that the result goes to, if there is one and it may be any register.
    pub(crate) fn target_mut(&mut self) -> Option<&mut Reg> {
        match self {
            Self::Const { to, .. }
            | Self::ConstUnsigned { to, .. }
            | Self::GlobalRef { to, .. }
            | Self::Move { to, .. }
            | Self::Unary { to, .. }
            | Self::Binary { to, .. }
            | Self::BinaryConst { to, .. }
            | Self::GetLocal { to, .. }
            | Self::Call { to, .. }
            | Self::Tid { to }
            | Self::New { to, .. }
            | Self::Load { to, .. }
            | Self::LoadElement { to, .. }
            | Self::LoadAt { to, .. }
            | Self::AtomicLoad { to, .. }
            | Self::Cas { to, .. }
            | Self::Update { to, .. }
            | Self::Swap { to, .. }
            | Self::TryLock { to, .. }
            | Self::TryReadLock { to, .. }
            | Self::TryWriteLock { to, .. }
            | Self::TryDown { to, .. }
            | Self::TrySend { to, .. }
            | Self::Len { to, .. }
            | Self::Choose { to, .. }
            | Self::ChooseBelow { to, .. }
            | Self::Spawn { to, .. } => Some(to),
            // A message of one value, received as the value of an expression, is in `to`; one
            // of several values needs all of its registers.
            _ => None,
        }
    }
}

/// The shape of the messages of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelShape {
    /// How many values a message has.
    pub values: u16,
    /// How many messages fit; 0 is a rendezvous.
    pub capacity: u16,
}
