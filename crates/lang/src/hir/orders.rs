//! Memory orderings of atomic operations and fences.

use std::fmt;

/// The ordering of an atomic operation or a fence, as in Rust and C++.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Order {
    /// `relaxed`
    Relaxed,
    /// `acquire`
    Acquire,
    /// `release`
    Release,
    /// `acq_rel`
    AcqRel,
    /// `seq_cst`
    #[default]
    SeqCst,
}

impl Order {
    /// All of them, from the weakest.
    pub const ALL: [Self; 5] = [
        Self::Relaxed,
        Self::Acquire,
        Self::Release,
        Self::AcqRel,
        Self::SeqCst,
    ];

    /// What a program calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Relaxed => "relaxed",
            Self::Acquire => "acquire",
            Self::Release => "release",
            Self::AcqRel => "acq_rel",
            Self::SeqCst => "seq_cst",
        }
    }

    /// The ordering of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.name() == name)
    }

    /// Whether a read of this ordering acquires.
    #[must_use]
    pub fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcqRel | Self::SeqCst)
    }

    /// What is left of the ordering of an update that writes nothing.
    #[must_use]
    pub fn without_release(self) -> Self {
        match self {
            Self::Release => Self::Relaxed,
            Self::AcqRel => Self::Acquire,
            order => order,
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The orderings of an operation. Those that have none are sequentially consistent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Orders {
    /// The ordering; of `cas`, if it stores.
    pub order: Order,
    /// The ordering of a `cas` that does not store.
    pub failure: Order,
}

impl Orders {
    /// Whether it asks for less than sequential consistency.
    #[must_use]
    pub fn are_weaker(self) -> bool {
        self != Self::default()
    }
}
