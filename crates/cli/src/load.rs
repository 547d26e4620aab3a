//! From a path to a program, with messages about what is wrong on the way.

use std::io::Read;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use raddle_lang::{Diagnostic, Severity, Source};
use raddle_machine::Program;
use raddle_outcome::Verdict;
use raddle_report::json;

use crate::terminal::{Terminal, complain, print};

/// Texts longer than this are no programs. A tree takes up to a few hundred times as much memory as
/// its text.
const MAX_SOURCE_BYTES: u64 = 4 << 20;

/// The stack of the thread that compiles. What it needs is bounded, because nesting is; this is
/// ten times as much, in a build without optimisations too.
const STACK_BYTES: usize = 32 << 20;

/// What a program is called that comes from standard input.
pub(crate) const STANDARD_INPUT: &str = "<stdin>";

/// A program that can be run, and what was said about it.
pub(crate) struct Loaded {
    pub(crate) program: Arc<Program>,
    pub(crate) diagnostics: Vec<json::Diagnostic>,
}

/// Why there is no program.
pub(crate) struct NotLoaded {
    pub(crate) reason: String,
    pub(crate) diagnostics: Vec<json::Diagnostic>,
    /// Whether the time was over before it was known whether there is one.
    pub(crate) out_of_time: bool,
}

impl NotLoaded {
    fn because(reason: String) -> Self {
        Self {
            reason,
            diagnostics: Vec::new(),
            out_of_time: false,
        }
    }

    /// What that means for the question that was asked.
    pub(crate) fn verdict(&self) -> Verdict {
        match self.out_of_time {
            true => Verdict::Inconclusive,
            false => Verdict::Error,
        }
    }
}

/// The text of a file, or of standard input for `-`.
pub(crate) fn read(path: &Path) -> Result<Source, String> {
    let (name, bytes) = if path == Path::new("-") {
        let mut bytes = Vec::new();
        let read = std::io::stdin()
            .lock()
            .take(MAX_SOURCE_BYTES + 1)
            .read_to_end(&mut bytes);
        (STANDARD_INPUT.to_owned(), read.map(|_| bytes))
    } else {
        let read = std::fs::File::open(path).and_then(|file| {
            let mut bytes = Vec::new();
            file.take(MAX_SOURCE_BYTES + 1).read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        (path.display().to_string(), read)
    };
    let bytes = bytes.map_err(|error| format!("cannot read {name}: {error}"))?;
    if bytes.len() as u64 > MAX_SOURCE_BYTES {
        return Err(format!("{name} is too long for a program (over 4 MiB)"));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| format!("{name} is not text in UTF-8: is it a .rad program?"))?;
    Ok(Source::new(name, text))
}

/// A text, the program that it is if it is one, and what there is to say about it.
type Compiled = (Source, Option<Program>, Vec<Diagnostic>);

/// Reads, checks and compiles a program, for at most so long.
///
/// A thread of its own does it. When the time is over nobody waits for that thread any more: it
/// ends with the process. So the limit holds whatever takes the time, be it standard
/// input that never ends.
fn compile_within(path: &Path, time: Option<Duration>) -> Result<Compiled, NotLoaded> {
    let (done, compiled) = mpsc::channel();
    let of_thread = path.to_owned();
    let work = move || {
        let compiled = read(&of_thread).map(|source| {
            let (program, problems) = raddle_machine::load(source.clone());
            (source, program, problems)
        });
        // Nobody waits for it if the time is over.
        let _ = done.send(compiled);
    };
    let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn(work);
    let thread =
        thread.map_err(|error| NotLoaded::because(format!("cannot start a thread: {error}")))?;
    let received = match time {
        None => compiled
            .recv()
            .map_err(|_| mpsc::RecvTimeoutError::Disconnected),
        Some(time) => compiled.recv_timeout(time),
    };
    match received {
        Ok(compiled) => compiled.map_err(NotLoaded::because),
        Err(mpsc::RecvTimeoutError::Timeout) => Err(NotLoaded {
            out_of_time: true,
            ..NotLoaded::because(format!(
                "the limit on time was reached before {} was compiled",
                path.display()
            ))
        }),
        Err(mpsc::RecvTimeoutError::Disconnected) => match thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => unreachable!("it sends before it ends"),
        },
    }
}

/// Reads, checks and compiles a program, for at most so long; prints diagnostics.
pub(crate) fn load(
    path: &Path,
    terminal: Terminal,
    time: Option<Duration>,
) -> Result<Loaded, NotLoaded> {
    let compiled = compile_within(path, time);
    match &compiled {
        Err(not_loaded) if not_loaded.out_of_time && !terminal.is_json() => {
            let verdict = not_loaded.verdict().name();
            print(&format!("{verdict}: {}\n", not_loaded.reason));
        }
        Err(not_loaded) if !not_loaded.out_of_time => terminal.error(&not_loaded.reason),
        _ => {}
    }
    let (source, program, problems) = compiled?;
    for problem in &problems {
        if problem.severity == Severity::Error || !terminal.is_quiet() {
            let text = raddle_lang::diagnostic::render(problem, &source, terminal.diagnostics());
            complain(&format!("{text}\n\n"));
        }
    }
    let diagnostics = problems
        .iter()
        .map(|problem| to_json(problem, &source))
        .collect();
    match program {
        Some(program) => Ok(Loaded {
            program: Arc::new(program),
            diagnostics,
        }),
        None => {
            let errors = problems
                .iter()
                .filter(|problem| problem.severity == Severity::Error)
                .count();
            let count = if errors == 1 {
                "an error".into()
            } else {
                format!("{errors} errors")
            };
            let reason = format!("{} has {count}", source.name);
            terminal.error(&reason);
            Err(NotLoaded {
                diagnostics,
                ..NotLoaded::because(reason)
            })
        }
    }
}

fn to_json(problem: &Diagnostic, source: &Source) -> json::Diagnostic {
    let at = source.line_column(problem.span.start);
    json::Diagnostic {
        severity: match problem.severity {
            Severity::Error => json::Severity::Error,
            Severity::Warning => json::Severity::Warning,
        },
        message: match problem.label.as_str() {
            "" => problem.message.clone(),
            label => format!("{}: {label}", problem.message),
        },
        file: source.name.clone(),
        line: at.line,
        column: at.column,
        help: problem.help.clone(),
    }
}
