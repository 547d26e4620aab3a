//! Running tests one by one, each in a process of its own.

use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::data::Crate;
use crate::packages::Binary;

/// What came of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Outcome {
    Passes,
    Fails,
    /// It took more CPU time than it may.
    Limit,
}

/// A test that was run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Ran {
    pub(crate) outcome: Outcome,
    /// The executions of all its models, as far as they were finished.
    pub(crate) executions: u64,
    /// CPU seconds.
    pub(crate) cpu: f64,
    /// What it panicked with first.
    pub(crate) message: Option<String>,
}

impl Ran {
    pub(crate) fn describe(&self) -> String {
        let executions = match self.executions {
            0 => String::new(),
            executions => format!(", {executions} executions"),
        };
        let message = match (&self.outcome, &self.message) {
            (Outcome::Fails, Some(message)) => format!(": {message}"),
            _ => String::new(),
        };
        format!(" ({:.2} s{executions}){message}", self.cpu)
    }
}

/// A test in a program.
pub(crate) struct InProgram {
    pub(crate) binary: Binary,
    /// What the program calls it.
    pub(crate) path: String,
    /// The same, with the name of the program if there are several.
    pub(crate) name: String,
}

/// The tests of a crate: those that are asked for.
pub(crate) fn list(binaries: &[Binary], krate: &Crate) -> Vec<InProgram> {
    let mut tests = Vec::new();
    for binary in binaries {
        let output = Command::new(&binary.path)
            .args(["--list", "--format=terse"])
            .current_dir(&binary.folder)
            .output();
        let Ok(output) = output else { continue };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        for path in text.lines().filter_map(|line| line.strip_suffix(": test")) {
            if krate.only.is_empty() || krate.only.iter().any(|part| path.contains(part)) {
                let name = match binaries.len() {
                    1 => path.to_owned(),
                    _ => format!("{}::{path}", binary.target),
                };
                tests.push(InProgram {
                    binary: binary.clone(),
                    path: path.into(),
                    name,
                });
            }
        }
    }
    tests
}

/// Runs the same test in the program of the same target that was built with loom itself.
pub(crate) fn run_in(beside: &[Binary], test: &InProgram, krate: &Crate, cap: u32) -> Option<Ran> {
    let target = &test.binary.target;
    let other = beside.iter().find(|other| other.target == *target)?;
    Some(run(other, &test.path, krate, cap))
}

/// Runs a test with at most `cap` CPU seconds.
pub(crate) fn run(binary: &Binary, test: &str, krate: &Crate, cap: u32) -> Ran {
    let mut command = Command::new("sh");
    // The system ends it, however busy the machine is.
    command
        .args(["-c", "ulimit -t \"$1\"; shift; exec \"$@\"", "sh"])
        .arg(cap.to_string())
        .arg(&binary.path)
        .args([
            "--exact",
            test,
            "--nocapture",
            "--include-ignored",
            "--test-threads=1",
        ])
        .current_dir(&binary.folder)
        .env("LOOM_LOG", "info")
        .env("RUST_BACKTRACE", "0")
        .env("NO_COLOR", "1")
        .env("LOOM_MAX_BRANCHES", "100000")
        .stdin(Stdio::null());
    match krate.bound {
        Some(bound) => command.env("LOOM_MAX_PREEMPTIONS", bound.to_string()),
        None => command.env_remove("LOOM_MAX_PREEMPTIONS"),
    };
    let before = cpu_of_children();
    let output = command.output();
    let cpu = cpu_of_children() - before;
    let Ok(output) = output else {
        return Ran {
            outcome: Outcome::Fails,
            executions: 0,
            cpu,
            message: Some("it can't be started".into()),
        };
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let executions = text.lines().chain(errors.lines()).filter_map(|line| {
        let rest = line.split_once("Completed in ")?.1;
        rest.split(' ').next()?.parse::<u64>().ok()
    });
    // `test result: ok. 0 passed` is no test at all.
    let passed = output.status.success() && text.contains("test result: ok. 1 passed");
    let outcome = if passed {
        Outcome::Passes
    } else if output.status.code().is_none() && cpu >= f64::from(cap) - 0.5 {
        Outcome::Limit
    } else {
        Outcome::Fails
    };
    let mut lines = errors.lines().chain(text.lines());
    let message = lines
        .by_ref()
        .find(|line| line.contains("panicked at"))
        .and_then(|_| lines.find(|line| !line.trim().is_empty()))
        .map(str::to_owned);
    Ran {
        outcome,
        executions: executions.sum(),
        cpu,
        message,
    }
}

/// The CPU seconds of all processes that were started here and are over.
fn cpu_of_children() -> f64 {
    // SAFETY: a structure of numbers, which the system fills.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
