//! As `std::hint`.

pub use std::hint::{
    assert_unchecked, black_box, cold_path, select_unpredictable, unreachable_unchecked,
};

/// As [`thread::yield_now`](crate::thread::yield_now).
#[track_caller]
#[inline(always)]
pub fn spin_loop() {
    crate::rt::poll_at(std::panic::Location::caller());
}
