//! Running tests one by one, each in a process of its own.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::data::Crate;
use crate::packages::{Binary, lines_of};

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
    /// The most memory that was resident at a time, in bytes.
    pub(crate) memory: u64,
    /// Whether executions that only weak orderings allow were left out. What was kept of earlier runs may not say.
    pub(crate) leaves_out_weak: Option<bool>,
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
            (Outcome::Fails, None) => ": fails".into(),
            (Outcome::Limit, _) => ": limit".into(),
            (Outcome::Passes, _) => String::new(),
        };
        let memory = self.memory as f64 / 1e6;
        let weak = if self.leaves_out_weak == Some(true) {
            ", not all of RC11"
        } else {
            ""
        };
        format!(
            " ({:.2} s, {memory:.0} MB{executions}{weak}){message}",
            self.cpu
        )
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

/// How tests are run.
pub(crate) struct Limits<'a> {
    /// The most CPU seconds of a test.
    pub(crate) cap: u32,
    /// Where their output goes.
    pub(crate) folder: &'a Path,
}

/// Runs the same test in the program of the same target that was built with loom itself.
pub(crate) fn run_in(
    beside: &[Binary],
    test: &InProgram,
    krate: &Crate,
    limits: &Limits<'_>,
) -> Option<Ran> {
    let target = &test.binary.target;
    let other = beside.iter().find(|other| other.target == *target)?;
    Some(run(other, &test.path, krate, limits))
}

/// Runs a test within the limits.
pub(crate) fn run(binary: &Binary, test: &str, krate: &Crate, limits: &Limits<'_>) -> Ran {
    let run = start(binary, test, krate, limits).and_then(|child| Usage::of(&child));
    let usage = match run {
        Ok(usage) => usage,
        Err(error) => {
            return Ran {
                outcome: Outcome::Fails,
                executions: 0,
                cpu: 0.0,
                memory: 0,
                leaves_out_weak: None,
                message: Some(format!("it cannot be run: {error}")),
            };
        }
    };
    let output = || {
        let lines = |name| lines_of(&limits.folder.join(name));
        lines(ERRORS).chain(lines(OUTPUT))
    };
    let executions = output().filter_map(|line| {
        let rest = line.split_once("Completed in ")?.1;
        rest.split(' ').next()?.parse::<u64>().ok()
    });
    // `test result: ok. 0 passed` is no test at all.
    let has_passed = || output().any(|line| line.starts_with("test result: ok. 1 passed"));
    let outcome = if usage.exit_code == Some(0) && has_passed() {
        Outcome::Passes
    } else if usage.exit_code.is_none() && usage.cpu >= f64::from(limits.cap) * NEARLY {
        Outcome::Limit
    } else {
        Outcome::Fails
    };
    let mut after_panic = output().skip_while(|line| !line.contains("panicked at"));
    after_panic.next();
    let message = after_panic.find(|line| !line.trim().is_empty());
    Ran {
        outcome,
        executions: executions.sum(),
        cpu: usage.cpu,
        memory: usage.memory,
        leaves_out_weak: Some(output().any(|line| line.contains(LEAVES_OUT_WEAK))),
        message,
    }
}

/// The part of its limit after which a process that a signal has ended is taken to have reached it: what the system enforces is not quite
/// what it tells.
const NEARLY: f64 = 0.8;

/// What a check with Raddle notes that has not run all executions of a memory model weaker than sequential consistency.
const LEAVES_OUT_WEAK: &str = "note: atomics were run as sequentially consistent";

const OUTPUT: &str = "stdout";
const ERRORS: &str = "stderr";

fn start(binary: &Binary, test: &str, krate: &Crate, limits: &Limits<'_>) -> io::Result<Child> {
    let mut command = Command::new("sh");
    // The system ends it, however busy the machine is.
    command
        .args(["-c", "ulimit -t \"$1\"; shift; exec \"$@\"", "sh"])
        .arg(limits.cap.to_string())
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
        .stdin(Stdio::null())
        .stdout(File::create(limits.folder.join(OUTPUT))?)
        .stderr(File::create(limits.folder.join(ERRORS))?);
    match krate.bound {
        Some(bound) => command.env("LOOM_MAX_PREEMPTIONS", bound.to_string()),
        None => command.env_remove("LOOM_MAX_PREEMPTIONS"),
    };
    command.spawn()
}

/// What a process took.
struct Usage {
    /// Nothing, if a signal has ended it.
    exit_code: Option<i32>,
    /// CPU seconds.
    cpu: f64,
    /// The most memory that was resident at a time, in bytes.
    memory: u64,
}

impl Usage {
    /// Waits for the end of a process.
    fn of(child: &Child) -> io::Result<Self> {
        let pid = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
        let mut status = 0;
        // SAFETY: a structure of numbers, which the system fills. Nobody else waits for the process.
        let (waited, usage) = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            let waited = libc::wait4(pid, &raw mut status, 0, &raw mut usage);
            (waited, usage)
        };
        if waited != pid {
            return Err(io::Error::last_os_error());
        }
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        // The system counts in kilobytes, but on macOS.
        let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
        Ok(Self {
            exit_code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
            cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            memory: u64::try_from(usage.ru_maxrss).unwrap_or(0) * unit,
        })
    }
}
