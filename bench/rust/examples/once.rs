//! Runs one program under one library, once or as often as a fourth argument says: for profilers, which count
//! instructions.
//!
//! ```sh
//! cargo build --release --manifest-path bench/rust/Cargo.toml --example once
//! valgrind --tool=callgrind bench/rust/target/release/examples/once "raddle optimal" stack "2 2"
//! ```

#[allow(dead_code)]
#[path = "../src/libraries/mod.rs"]
mod libraries;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [tool, program, size, repeat @ ..] = &arguments[..] else {
        panic!("a library, a program and a size are needed");
    };
    let times: u32 = repeat
        .first()
        .map_or(1, |times| times.parse().expect("not a number"));
    let tool = libraries::Tool::of_name(tool).expect("there is no such library");
    let size: Vec<usize> = size
        .split_whitespace()
        .map(|number| number.parse().expect("a size consists of numbers"))
        .collect();
    let begun = Arc::new(AtomicU64::new(0));
    for _ in 0..times {
        let body = tool
            .program(program, &size)
            .expect("there is no such program");
        let count = begun.clone();
        tool.check(move || {
            count.fetch_add(1, Ordering::Relaxed);
            body();
        });
    }
    println!("{} executions", begun.load(Ordering::Relaxed));
}
