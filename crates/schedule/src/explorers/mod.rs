//! The explorers: one file each.

pub mod bounded;
pub mod chess;
pub mod dfs;
pub mod optimal;
pub mod random;
pub mod replay;
mod workers;

pub use bounded::{Bounded, Deepening};
pub use chess::{Algorithm1, Algorithm2, Iterative};
pub use dfs::Dfs;
pub use optimal::Optimal;
pub use random::{Pct, Random};
pub use replay::Replay;
