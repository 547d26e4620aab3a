//! What is said before the process is lost. Each test runs itself again in a process of its own.
#![cfg(unix)]

use raddle::sync::Mutex;
use std::process::Command;

/// Runs the test with this name in another process, and returns what that says.
fn last_words(test: &str) -> String {
    let program = std::env::current_exe().unwrap();
    let output = Command::new(program)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("RADDLE_TEST_ABORT", "1")
        .env("RUST_BACKTRACE", "0")
        .output()
        .unwrap();
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn is_other_process() -> bool {
    std::env::var_os("RADDLE_TEST_ABORT").is_some()
}

#[test]
fn a_stack_that_overflows_is_named() {
    #[allow(unconditional_recursion)]
    fn deeper(depth: u64) -> u64 {
        let here = std::hint::black_box([depth; 64]);
        deeper(depth + 1) + here[3]
    }
    if !is_other_process() {
        let words = last_words("a_stack_that_overflows_is_named");
        assert!(words.contains("deep has overflowed its stack"), "{words}");
        assert!(words.contains("main: locks at"), "{words}");
        return;
    }
    raddle::check(|| {
        let lock = Mutex::new(());
        drop(lock.lock().unwrap());
        let child = raddle::thread::Builder::new().name("deep".into());
        let child = child.spawn(|| deeper(0)).unwrap();
        child.join().unwrap();
    });
}

#[test]
fn a_panic_while_panicking_is_told() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("the second");
        }
    }
    if !is_other_process() {
        let words = last_words("a_panic_while_panicking_is_told");
        assert!(words.contains(": the first\n"), "{words}");
        assert!(words.contains(": the second\n"), "{words}");
        assert!(words.contains("main: locks at"), "{words}");
        return;
    }
    raddle::check(|| {
        let lock = Mutex::new(());
        drop(lock.lock().unwrap());
        let _panics = Panics;
        panic!("the first");
    });
}

/// Neither the standard library nor anybody else says more of it.
#[test]
fn an_abort_is_told() {
    if !is_other_process() {
        let words = last_words("an_abort_is_told");
        assert!(
            words.contains("raddle: quitter aborts the process"),
            "{words}"
        );
        assert!(words.contains("main: locks at"), "{words}");
        return;
    }
    raddle::check(|| {
        let lock = Mutex::new(());
        drop(lock.lock().unwrap());
        let child = raddle::thread::Builder::new().name("quitter".into());
        let child = child.spawn(|| std::process::abort()).unwrap();
        child.join().unwrap();
    });
}

/// Nobody shall read the report of an earlier check and take it for that of one whose process was lost.
#[test]
fn the_report_of_a_check_that_aborts_is_an_error() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("check-that-aborts.json");
    let checker = || raddle::Checker::new().report_file(&path);
    if !is_other_process() {
        checker().check(|| {});
        let report = std::fs::read_to_string(&path).unwrap();
        assert!(report.contains(r#""verdict": "verified""#), "{report}");
        last_words("the_report_of_a_check_that_aborts_is_an_error");
        let report = std::fs::read_to_string(&path).unwrap();
        assert!(report.contains(r#""verdict": "error""#), "{report}");
        std::fs::remove_file(&path).unwrap();
        return;
    }
    checker().check(|| std::process::abort());
}

/// Whoever has set up a handler for aborts before still gets the signal.
#[test]
fn a_handler_of_aborts_is_called_after_ours() {
    extern "C" fn handler(_: libc::c_int) {
        eprintln!("the other handler");
    }
    if !is_other_process() {
        let words = last_words("a_handler_of_aborts_is_called_after_ours");
        assert!(words.contains("main aborts the process"), "{words}");
        assert!(words.contains("the other handler"), "{words}");
        return;
    }
    // SAFETY: the process is lost when it is called.
    unsafe { libc::signal(libc::SIGABRT, handler as *const () as libc::sighandler_t) };
    raddle::check(|| std::process::abort());
}

/// The runtime itself needs some of a stack.
#[test]
fn stacks_are_never_too_small_to_run() {
    for bytes in [0, 1, 1024] {
        let report = raddle::Checker::new().stack_size(bytes).check(|| {
            raddle::thread::spawn(|| {}).join().unwrap();
        });
        assert!(report.complete);
    }
}
