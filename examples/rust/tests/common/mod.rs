//! What the tests of all structures need.
#![allow(dead_code)]

use raddle::{Checker, Failed, FailureKind};

/// How many executions it takes to verify a test.
#[track_caller]
pub(crate) fn verify(body: impl Fn() + Send + Sync + 'static) -> u64 {
    let report = Checker::new().explorer("optimal").check(body);
    assert!(report.exhausted);
    report.executions
}

/// What is wrong with a test: the kind of failure, and the message.
#[track_caller]
pub(crate) fn find(body: impl Fn() + Send + Sync + 'static) -> (FailureKind, String) {
    let found: Result<_, Failed> = Checker::new().explorer("optimal").run(body);
    let failed = found.expect_err("there is a bug");
    println!("{}", failed.text);
    (failed.failure.kind, failed.failure.message)
}
