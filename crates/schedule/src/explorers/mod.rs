//! The explorers: one file each.

pub mod dfs;
pub mod optimal;

pub use dfs::Dfs;
pub use optimal::Optimal;
