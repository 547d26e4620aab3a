//! One measurement: a program under one library, in a process of its own.
//!
//! The process counts how often the program begins, which is the same for all libraries, and ends when
//! its time is over, in the middle of whatever it is doing.

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::cases::Case;
use crate::libraries::{Outcome, Tool};

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// All there was to run was run.
    Complete,
    /// Its time was over.
    Stopped,
    Bug(String),
    /// It came to no end that it should come to.
    Broken(String),
}

/// What was measured.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) status: Status,
    pub(crate) executions: u64,
    pub(crate) seconds: f64,
}

impl Measured {
    pub(crate) fn rate(&self) -> f64 {
        self.executions as f64 / self.seconds
    }
}

/// A run is repeated until this much time has gone by, so that there is something to measure.
const ENOUGH: f64 = 0.3;

/// Runs a program in a process of its own.
pub(crate) fn measure(case: &Case, tool: Tool, cap: f64) -> Measured {
    let broken = |why: String| Measured {
        status: Status::Broken(why),
        executions: 0,
        seconds: 0.0,
    };
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return broken(error.to_string()),
    };
    let output = Command::new(program)
        .args([CHILD, tool.name(), case.program, &case.size_text()])
        .arg(cap.to_string())
        .stdin(Stdio::null())
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => return broken(error.to_string()),
    };
    let said = String::from_utf8_lossy(&output.stdout);
    parse(&said).unwrap_or_else(|| {
        let last = String::from_utf8_lossy(&output.stderr);
        let last = last.lines().last().unwrap_or_default().to_owned();
        broken(format!("{}: {last}", output.status))
    })
}

fn parse(said: &str) -> Option<Measured> {
    let line = said.lines().find_map(|line| line.strip_prefix(RESULT))?;
    let mut words = line.splitn(4, ' ');
    let executions = words.next()?.parse().ok()?;
    let seconds = words.next()?.parse().ok()?;
    let status = match (words.next()?, words.next().unwrap_or_default()) {
        ("complete", _) => Status::Complete,
        ("stopped", _) => Status::Stopped,
        (_, message) => Status::Bug(message.to_owned()),
    };
    Some(Measured {
        status,
        executions,
        seconds,
    })
}

/// The first argument of a process that measures.
pub(crate) const CHILD: &str = "measure";
const RESULT: &str = "measured ";

static BEGUN: AtomicU64 = AtomicU64::new(0);
/// The time when the measurement began.
static START: OnceLock<f64> = OnceLock::new();

/// What such a process does, with the arguments that come after.
pub(crate) fn child(arguments: &[String]) -> Option<()> {
    let [tool, program, size, cap] = arguments else {
        return None;
    };
    let tool = Tool::of_name(tool)?;
    let size = size
        .split_whitespace()
        .map(|number| number.parse().ok())
        .collect::<Option<Vec<usize>>>()?;
    let cap: f64 = cap.parse().ok()?;
    limit_time(cap);
    START.set(cpu_time()).ok()?;
    if matches!(tool, Tool::Loom | Tool::Shuttle) {
        // They panic when they find something, and have much to say about it.
        std::panic::set_hook(Box::new(|_| ()));
    }
    let mut runs = 0;
    loop {
        let body = tool.program(program, &size)?;
        let check = move || {
            tool.check(move || {
                let begun = BEGUN.fetch_add(1, Ordering::Relaxed);
                if begun.is_multiple_of(64) && cpu_seconds() > cap {
                    say(begun, cpu_seconds(), runs + 1, "stopped");
                }
                body();
            })
        };
        let outcome = catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|payload| {
            let text = payload.downcast_ref::<String>().cloned();
            let text = text.or_else(|| payload.downcast_ref::<&str>().map(|&text| text.into()));
            Outcome::Bug(text.unwrap_or_default())
        });
        runs += 1;
        let seconds = cpu_seconds();
        if seconds > ENOUGH {
            let status = match outcome {
                Outcome::Complete => "complete".into(),
                Outcome::Bug(message) => format!("bug {message}"),
            };
            say(BEGUN.load(Ordering::Relaxed), seconds, runs, &status);
        }
    }
}

/// Says what was measured, and ends the process.
fn say(begun: u64, seconds: f64, runs: u64, status: &str) -> ! {
    let status = status.lines().next().unwrap_or_default();
    let line = format!(
        "\n{RESULT}{} {} {status}\n",
        begun / runs,
        seconds / runs as f64
    );
    let mut out = std::io::stdout().lock();
    let said = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    std::process::exit(i32::from(said.is_err()));
}

/// The time since the measurement began.
fn cpu_seconds() -> f64 {
    cpu_time() - START.get().copied().unwrap_or_default()
}

/// The time that the process has run, on whatever core, in itself and in the system.
fn cpu_time() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is there to be written to.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Has the system end the process if it does not do so itself.
fn limit_time(cap: f64) {
    let seconds = (cap * 2.0).ceil() as libc::rlim_t + 2;
    let limit = libc::rlimit {
        rlim_cur: seconds,
        rlim_max: seconds,
    };
    // SAFETY: `limit` is there to be read.
    unsafe { libc::setrlimit(libc::RLIMIT_CPU, &raw const limit) };
}
