//! Cells that are watched for data races: as `std::cell`.

mod unsafe_cell;

pub use raddle::cell::Cell;
pub use unsafe_cell::{ConstPtr, MutPtr, UnsafeCell};
