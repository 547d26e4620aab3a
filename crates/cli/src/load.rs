//! From a path to a program, with messages about what is wrong on the way.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use raddle_lang::{Diagnostic, Severity, Source};
use raddle_machine::Program;
use raddle_report::json;

use crate::terminal::{Terminal, complain};

/// Texts longer than this are no programs.
const MAX_SOURCE_BYTES: u64 = 16 << 20;

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
    let bytes = bytes.map_err(|error| format!("can not read {name}: {error}"))?;
    if bytes.len() as u64 > MAX_SOURCE_BYTES {
        return Err(format!("{name} is too long for a program (over 16 MiB)"));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| format!("{name} is not text in UTF-8: is it a .rad program?"))?;
    Ok(Source::new(name, text))
}

/// Reads, checks and compiles a program; prints diagnostics.
pub(crate) fn load(path: &Path, terminal: Terminal) -> Result<Loaded, NotLoaded> {
    let source = read(path).map_err(|reason| {
        terminal.error(&reason);
        NotLoaded {
            reason,
            diagnostics: Vec::new(),
        }
    })?;
    let (program, problems) = raddle_machine::load(source.clone());
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
                reason,
                diagnostics,
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
