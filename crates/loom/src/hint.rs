//! As `std::hint`.

pub use raddle::hint::spin_loop;

/// Says that this is never reached, and panics if it is.
///
/// # Safety
///
/// As for `std::hint::unreachable_unchecked`, although here it is checked.
///
/// # Panics
///
/// Always.
#[track_caller]
pub unsafe fn unreachable_unchecked() -> ! {
    unreachable!("unreachable_unchecked was reached");
}
