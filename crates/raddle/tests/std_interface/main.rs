//! What code under test can use instead of `std` has the same names, signatures and results.
//!
//! `probe/` is compiled twice: with `std` as `lib`, and with `raddle` as `lib`. It uses everything of `std` 1.95 that is stable in the
//! modules that this crate has (see `probe/mod.rs` for what is missing, and why). What it computes is compared too.

// It calls what is there, whether that makes sense or not.
#![allow(
    deprecated,
    clippy::all,
    clippy::needless_pass_by_value,
    clippy::redundant_clone
)]

use std::sync::{Arc, Mutex};

#[path = ""]
mod with_std {
    use ::std as lib;

    #[path = "probe/mod.rs"]
    pub(crate) mod probe;
}

#[path = ""]
mod with_raddle {
    use ::raddle as lib;

    #[path = "probe/mod.rs"]
    pub(crate) mod probe;
}

#[test]
fn the_same_code_computes_the_same_with_std_and_with_raddle() {
    let expected = with_std::probe::run();
    assert!(expected.len() > 200, "the probe has lost its parts");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let all = seen.clone();
    raddle::Checker::new()
        .timeouts(false)
        .spurious_wakeups(0)
        .max_executions(20)
        .check(move || {
            let found = with_raddle::probe::run();
            all.lock().unwrap().push(found);
        });
    let seen = seen.lock().unwrap();
    assert!(!seen.is_empty());
    for found in &*seen {
        for (expected, found) in expected.iter().zip(found) {
            assert_eq!(expected, found);
        }
        assert_eq!(expected.len(), found.len());
    }
}
