//! Types: what they are called, and how much room they take.

use super::{Enum, EnumId, Struct, StructId};
use crate::ast::IntType;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// No value: the result of a function that returns nothing.
    Void,
    /// `bool`
    Bool,
    /// `int`, `u8`, ...
    Int(IntType),
    /// `int<lo..hi>`
    Range(i64, i64),
    /// An enum.
    Enum(EnumId),
    /// A struct.
    Struct(StructId),
    /// `T*`
    Pointer(Box<Type>),
    /// The type of `null`.
    Null,
    /// A thread handle.
    Thread,
    /// `T x[n]`
    Array(Box<Type>, u32),
    /// A lock.
    Mutex {
        /// Whether its owner may take it again.
        reentrant: bool,
    },
    /// A reader-writer lock.
    RwLock,
    /// A condition variable.
    Cond,
    /// A semaphore.
    Semaphore,
    /// A channel; capacity 0 is a rendezvous.
    Channel(Vec<Type>, u32),
    /// The type of something that has been reported as wrong already.
    Error,
}

impl Type {
    /// `int`
    pub const INT: Self = Self::Int(IntType::I32);

    /// Whether it is an integer or a range.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        matches!(self, Self::Int(_) | Self::Range(..))
    }

    /// Whether a value of it fits in one register.
    #[must_use]
    pub fn is_scalar(&self) -> bool {
        matches!(
            self,
            Self::Bool
                | Self::Int(_)
                | Self::Range(..)
                | Self::Enum(_)
                | Self::Pointer(_)
                | Self::Null
                | Self::Thread
                | Self::Error
        )
    }

    /// Whether it is a mutex, a semaphore, a channel, ...
    #[must_use]
    pub fn is_synchronisation(&self) -> bool {
        matches!(
            self,
            Self::Mutex { .. } | Self::RwLock | Self::Cond | Self::Semaphore | Self::Channel(..)
        )
    }
}

/// How many slots a value of a type takes; saturates instead of overflowing.
pub(crate) fn slots(ty: &Type, structs: &[Struct]) -> u32 {
    match ty {
        Type::Void => 0,
        Type::Struct(id) => structs[id.0 as usize].slots,
        Type::Array(element, length) => slots(element, structs).saturating_mul(*length),
        // The owner; and the count.
        Type::Mutex { reentrant } => 1 + u32::from(*reentrant),
        // The writer; and the number of read holds.
        Type::RwLock => 2,
        // How many messages are in it (or the phase of a rendezvous); the messages.
        Type::Channel(message, capacity) => (message.len() as u32)
            .saturating_mul((*capacity).max(1))
            .saturating_add(1),
        _ => 1,
    }
}

pub(crate) fn type_name(ty: &Type, structs: &[Struct], enums: &[Enum]) -> String {
    let name = |ty: &Type| type_name(ty, structs, enums);
    match ty {
        Type::Void => "void".into(),
        Type::Bool => "bool".into(),
        Type::Int(int) => int_name(*int).into(),
        Type::Range(low, high) => format!("int<{low}..{high}>"),
        Type::Enum(id) => enums[id.0 as usize].name.clone(),
        Type::Struct(id) => structs[id.0 as usize].name.clone(),
        Type::Pointer(to) => format!("{}*", name(to)),
        Type::Null => "null".into(),
        Type::Thread => "thread".into(),
        Type::Array(element, length) => {
            // C writes the outermost dimension first.
            let mut dimensions = format!("[{length}]");
            let mut element = element;
            while let Type::Array(inner, length) = &**element {
                dimensions += &format!("[{length}]");
                element = inner;
            }
            format!("{}{dimensions}", name(element))
        }
        Type::Mutex { reentrant: false } => "mutex".into(),
        Type::Mutex { reentrant: true } => "reentrant mutex".into(),
        Type::RwLock => "rwlock".into(),
        Type::Cond => "cond".into(),
        Type::Semaphore => "semaphore".into(),
        Type::Channel(message, capacity) => {
            let mut inner = message.iter().map(name).collect::<Vec<_>>().join(", ");
            if message.len() > 1 {
                inner = format!("({inner})");
            }
            match capacity {
                0 => format!("chan<{inner}>"),
                n => format!("chan<{inner}, {n}>"),
            }
        }
        Type::Error => "?".into(),
    }
}

fn int_name(int: IntType) -> &'static str {
    match int {
        IntType::I8 => "i8",
        IntType::I16 => "i16",
        IntType::I32 => "int",
        IntType::U8 => "u8",
        IntType::U16 => "u16",
        IntType::U32 => "u32",
    }
}
