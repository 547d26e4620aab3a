//! What a thread does next as an operation of the memory model.
//!
//! The explorer evaluates an update for any value without running the program. So an update is a function of the value that it reads and of two numbers, into
//! which everything that it depends on is packed.

use raddle_lang::ast::{BinaryOp, IntType};
use raddle_lang::hir;
use raddle_machine::events::{Access, Computation, Fitting, Mutex, Update, Updated};
use raddle_memory::{self as memory, Effect, Model, Operation, Order, Target};

/// A word of the machine as a value.
pub(crate) fn value(word: i64) -> u64 {
    word.cast_unsigned()
}

/// A value as a word of the machine.
pub(crate) fn word(value: u64) -> i64 {
    value.cast_signed()
}

fn order(order: hir::Order) -> Order {
    match order {
        hir::Order::Relaxed => Order::Relaxed,
        hir::Order::Acquire => Order::Acquire,
        hir::Order::Release => Order::Release,
        hir::Order::AcqRel => Order::AcqRel,
        hir::Order::SeqCst => Order::SeqCst,
    }
}

/// A fence.
pub(crate) fn fence(of: hir::Order) -> Operation {
    Operation::Fence { order: order(of) }
}

/// An access of a location. One that is not atomic orders nothing, but under sequential consistency, where every access has its place in the order of all.
pub(crate) fn access(target: Target, access: Access, is_atomic: bool, model: Model) -> Operation {
    let of_data = |announced: hir::Order| match is_atomic || model == Model::Sc {
        true => order(announced),
        false => Order::Relaxed,
    };
    match access {
        Access::Read(order) => Operation::Read {
            target,
            order: of_data(order),
        },
        Access::Write(order, word) => Operation::Write {
            target,
            order: of_data(order),
            value: value(word),
        },
        Access::Update(orders, update) => Operation::Update {
            target,
            update: memory::Update {
                order: order(orders.order),
                failure: order(orders.failure),
                waits: update.waits(),
                ..packed(update)
            },
        },
    }
}

fn effect(update: Update, read: u64) -> Effect {
    match update.of(word(read)) {
        Updated::Waits => Effect::Wait,
        Updated::Leaves => Effect::Read,
        Updated::Stores(word) => Effect::Write(value(word)),
    }
}

/// The effect of an update; its orderings are to be filled in.
fn packed(update: Update) -> memory::Update {
    type Function = fn(u64, [u64; 2]) -> Effect;
    let (operands, effect): ([u64; 2], Function) = match update {
        Update::CompareExchange { expected, new } => {
            ([value(expected), value(new)], |read, [expected, new]| {
                let (expected, new) = (word(expected), word(new));
                effect(Update::CompareExchange { expected, new }, read)
            })
        }
        Update::Swap(new) => ([value(new), 0], |read, [new, _]| {
            effect(Update::Swap(word(new)), read)
        }),
        Update::Compute(computation) => (pack(computation), |read, operands| {
            effect(Update::Compute(unpack(operands)), read)
        }),
        Update::Lock(mutex) => (of_mutex(mutex), |read, operands| {
            effect(Update::Lock(mutex_of(operands)), read)
        }),
        Update::TryLock(mutex) => (of_mutex(mutex), |read, operands| {
            effect(Update::TryLock(mutex_of(operands)), read)
        }),
        Update::Unlock { holder, after } => {
            ([value(holder), value(after)], |read, [holder, after]| {
                let (holder, after) = (word(holder), word(after));
                effect(Update::Unlock { holder, after }, read)
            })
        }
        Update::Down => ([0, 0], |read, _| effect(Update::Down, read)),
        Update::TryDown => ([0, 0], |read, _| effect(Update::TryDown, read)),
        Update::Up => ([0, 0], |read, _| effect(Update::Up, read)),
    };
    memory::Update {
        order: Order::SeqCst,
        failure: Order::SeqCst,
        effect,
        operands,
        waits: false,
    }
}

fn of_mutex(mutex: Mutex) -> [u64; 2] {
    [value(mutex.thread), mutex.is_reentrant.into()]
}

fn mutex_of([thread, is_reentrant]: [u64; 2]) -> Mutex {
    Mutex {
        thread: word(thread),
        is_reentrant: is_reentrant != 0,
    }
}

/// The operators of compound assignments.
const OPERATORS: [BinaryOp; 10] = [
    BinaryOp::Add,
    BinaryOp::Subtract,
    BinaryOp::Multiply,
    BinaryOp::Divide,
    BinaryOp::Remainder,
    BinaryOp::BitAnd,
    BinaryOp::BitOr,
    BinaryOp::BitXor,
    BinaryOp::ShiftLeft,
    BinaryOp::ShiftRight,
];

const TYPES: [IntType; 6] = [
    IntType::I8,
    IntType::I16,
    IntType::I32,
    IntType::U8,
    IntType::U16,
    IntType::U32,
];

const AS_IS: u64 = 6;
const IN_RANGE: u64 = 7;

/// How far the least integer of the language is below zero.
const LEAST: i64 = 1 << 31;

fn number_of<T: PartialEq>(all: &[T], one: &T) -> u64 {
    let found = all.iter().position(|known| known == one);
    found.expect("all that there are are listed") as u64
}

/// The operand in 32 bits, which is enough: it is wrapped to its type; above it the operator, its type, and what becomes of the result. A range is its
/// lower end, counted from the least integer, and its length.
fn pack(computation: Computation) -> [u64; 2] {
    let Computation {
        op,
        int,
        operand,
        result,
    } = computation;
    let (fitting, range) = match result {
        Fitting::AsIs => (AS_IS, 0),
        Fitting::Wrap(int) => (number_of(&TYPES, &int), 0),
        Fitting::Range(low, high) => {
            let (low, length) = ((low + LEAST).cast_unsigned(), (high - low).cast_unsigned());
            (IN_RANGE, low << 32 | length)
        }
    };
    let operand = operand.cast_unsigned() & u64::from(u32::MAX);
    let what = number_of(&OPERATORS, &op) << 8 | number_of(&TYPES, &int) << 4 | fitting;
    [what << 32 | operand, range]
}

fn unpack([what, range]: [u64; 2]) -> Computation {
    let digit = |shift: u32, bits: u64| (what >> shift & bits) as usize;
    let operand = i64::from(what as u32);
    Computation {
        op: OPERATORS[digit(40, 15)],
        int: TYPES[digit(36, 15)],
        operand,
        result: match what >> 32 & 15 {
            AS_IS => Fitting::AsIs,
            IN_RANGE => {
                let low = i64::from((range >> 32) as u32) - LEAST;
                Fitting::Range(low, low + i64::from(range as u32))
            }
            int => Fitting::Wrap(TYPES[int as usize]),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The explorer finds out the same as the machine.
    #[test]
    fn computations_survive_being_packed() {
        let words = [i64::from(i32::MIN), -7, -1, 0, 1, 3, 255, 1 << 31];
        let results = [
            Fitting::AsIs,
            Fitting::Wrap(IntType::I8),
            Fitting::Wrap(IntType::U32),
            Fitting::Range(-LEAST, LEAST - 1),
            Fitting::Range(-3, 5),
        ];
        for op in OPERATORS {
            for int in [IntType::I32, IntType::U32] {
                for operand in words {
                    for result in results {
                        let computation = Computation {
                            op,
                            int,
                            operand,
                            result,
                        };
                        let again = Update::Compute(unpack(pack(computation)));
                        for read in words {
                            assert_eq!(again.of(read), Update::Compute(computation).of(read));
                        }
                    }
                }
            }
        }
    }
}
