//! One measurement, in a process of its own, which counts how often the program begins.

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::libraries::{Outcome, Tool};

/// What is run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject<'a> {
    /// A structure, and which of its orderings is weaker.
    Structure {
        name: &'a str,
        weaker: Option<usize>,
    },
    Primitive(&'a str),
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Passes,
    /// Its time was over.
    Stopped,
    Fails(String),
    /// An execution had too many steps.
    GivesUp,
    /// It came to no end that it should come to.
    Broken(String),
}

/// What was measured.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) status: Status,
    /// What the library calls an execution.
    pub(crate) executions: u64,
    /// How often the program began.
    pub(crate) runs: u64,
    pub(crate) seconds: f64,
}

impl Measured {
    pub(crate) fn passes(&self) -> bool {
        self.status == Status::Passes
    }

    pub(crate) fn fails(&self) -> bool {
        matches!(self.status, Status::Fails(_))
    }
}

/// The first argument of a process that measures.
pub(crate) const CHILD: &str = "measure";
const RESULT: &str = "measured ";

/// A run is repeated until this much time has gone by, so that there is something to measure.
const ENOUGH: f64 = 0.1;

/// Runs something in a process of its own.
pub(crate) fn measure(tool: Tool, subject: Subject<'_>, cap: f64) -> Measured {
    let (kind, name, weaker) = match subject {
        Subject::Structure { name, weaker } => ("structure", name, weaker),
        Subject::Primitive(name) => ("primitive", name, None),
    };
    let weaker = weaker.map_or(String::new(), |number| number.to_string());
    let output = std::env::current_exe().and_then(|program| {
        Command::new(program)
            .args([CHILD, &tool.name(), kind, name, &weaker, &cap.to_string()])
            .stdin(Stdio::null())
            .output()
    });
    let broken = |why: String| Measured {
        status: Status::Broken(why),
        executions: 0,
        runs: 0,
        seconds: 0.0,
    };
    match output {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout);
            parse(&said).unwrap_or_else(|| {
                let last = String::from_utf8_lossy(&output.stderr);
                let last = last.lines().last().unwrap_or_default();
                broken(format!("{}: {last}", output.status))
            })
        }
        Err(error) => broken(error.to_string()),
    }
}

/// What loom says of an execution that has too many steps.
const TOO_MANY: &str = "maximum number of branches";

fn parse(said: &str) -> Option<Measured> {
    let line = said.lines().find_map(|line| line.strip_prefix(RESULT))?;
    let mut words = line.splitn(5, ' ');
    let executions = words.next()?.parse().ok()?;
    let runs = words.next()?.parse().ok()?;
    let seconds = words.next()?.parse().ok()?;
    let status = match (words.next()?, words.next().unwrap_or_default()) {
        ("passes", _) => Status::Passes,
        ("stopped", _) => Status::Stopped,
        (_, message) if message.contains(TOO_MANY) => Status::GivesUp,
        (_, message) => Status::Fails(message.to_owned()),
    };
    Some(Measured {
        status,
        executions,
        runs,
        seconds,
    })
}

static BEGUN: AtomicU64 = AtomicU64::new(0);
/// The time when the measurement began.
static START: OnceLock<f64> = OnceLock::new();

/// What such a process does, with the arguments that come after.
pub(crate) fn child(arguments: &[String]) -> Option<()> {
    let [tool, kind, name, weaker, cap] = arguments else {
        return None;
    };
    let tool = Tool::of_name(tool)?;
    let weaker = weaker.parse().ok();
    let subject = match kind.as_str() {
        "structure" => Subject::Structure { name, weaker },
        _ => Subject::Primitive(name),
    };
    let cap: f64 = cap.parse().ok()?;
    START.set(cpu_time()).ok()?;
    if tool == Tool::Loom {
        // It panics when it finds something, and has much to say about it.
        std::panic::set_hook(Box::new(|_| ()));
    }
    let mut repeats = 0;
    loop {
        let begins = move || {
            let begun = BEGUN.fetch_add(1, Ordering::Relaxed);
            if begun.is_multiple_of(64) && cpu_seconds() > cap {
                say((0, begun), cpu_seconds(), repeats + 1, "stopped");
            }
        };
        let check = AssertUnwindSafe(|| tool.check(subject, begins));
        let outcome = match catch_unwind(check) {
            Ok(outcome) => outcome?,
            Err(payload) => {
                let text = payload.downcast_ref::<String>().cloned();
                let text = text.or_else(|| payload.downcast_ref::<&str>().map(|&text| text.into()));
                Outcome::Fails(text.unwrap_or_default())
            }
        };
        repeats += 1;
        let seconds = cpu_seconds();
        if seconds > ENOUGH {
            let (executions, status) = match outcome {
                Outcome::Passes(executions) => (executions, "passes".into()),
                Outcome::Fails(message) => (0, format!("fails {message}")),
            };
            let begun = BEGUN.load(Ordering::Relaxed);
            say((executions, begun), seconds, repeats, &status);
        }
    }
}

/// Says what was measured, and ends the process.
fn say((executions, begun): (u64, u64), seconds: f64, repeats: u64, status: &str) -> ! {
    let status = status.lines().next().unwrap_or_default();
    let line = format!(
        "\n{RESULT}{executions} {} {} {status}\n",
        begun / repeats,
        seconds / repeats as f64
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
