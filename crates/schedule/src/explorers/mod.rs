//! The explorers: one file each.

pub mod bounded;
pub mod chess;
pub mod dfs;
pub mod optimal;
pub mod random;
mod registry;
pub mod replay;

pub use bounded::{Bounded, Deepening};
pub use chess::{Algorithm1, Algorithm2};
pub use dfs::Dfs;
pub use optimal::Optimal;
pub use random::{Pct, Random};
pub use registry::{
    ALL, DEFAULT_BOUND, DEFAULT_DEPTH, Entry, Guarantee, Named, Parameters, by_name, names,
};
pub use replay::Replay;
