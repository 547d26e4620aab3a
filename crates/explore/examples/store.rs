//! How fast the exact store is, and how much room a state takes in it:
//! `cargo run --release -p raddle-explore --example store`.

use std::time::Instant;

use raddle_explore::{ExactStore, Store};

fn main() {
    for states in [100_000, 1_000_000, 6_291_456, 10_000_000] {
        let mut store = ExactStore::new();
        let start = Instant::now();
        for number in 0..states {
            store.insert(&encoding(number)).expect("there is room");
        }
        let fresh = start.elapsed();
        let start = Instant::now();
        for number in 0..states {
            // In an order that no cache foresees.
            let known = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % states;
            store.insert(&encoding(known)).expect("there is room");
        }
        let known = start.elapsed();
        println!(
            "{states:>9} states: {:.1} bytes each, {:.1} M new/s, {:.1} M known/s",
            store.memory_bytes() as f64 / states as f64,
            states as f64 / fresh.as_secs_f64() / 1e6,
            states as f64 / known.as_secs_f64() / 1e6,
        );
    }
}

/// Twenty-five bytes, as many as a state of three threads has, most of them small.
fn encoding(number: u64) -> [u8; 25] {
    let mut bytes = [1; 25];
    bytes[8..16].copy_from_slice(&number.to_le_bytes());
    bytes
}
