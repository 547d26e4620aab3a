//! Loops that wait for other threads.

#[path = "../common/mod.rs"]
mod common;
mod futures;
mod several;
mod waiting;

use raddle::{Checker, Options};

fn impatient() -> Options {
    let mut options = Options::default();
    options.spin_limit = 20;
    options
}

/// Under every explorer, all schedules are covered but for those that suspended loops leave out, and nothing fails.
fn ends(body: impl Fn() + Clone + Send + Sync + 'static) {
    for (explorer, workers) in [("optimal", 1), ("algorithm2", 1), ("optimal", 3)] {
        let checker = Checker::new().explorer(explorer).workers(workers);
        // More preemptions than any execution has.
        let report = checker
            .bound(1_000)
            .max_executions(50_000)
            .check(body.clone());
        assert!(report.exhausted, "{explorer}, {workers} workers");
    }
}
