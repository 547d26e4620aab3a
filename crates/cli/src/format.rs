//! `raddle fmt`

use std::path::Path;

use serde::Serialize;

use crate::Exit;
use crate::args::Fmt;
use crate::load::read;
use crate::terminal::{Terminal, complain, print};

/// What became of one file.
#[derive(Serialize)]
struct Formatted {
    file: String,
    /// "unchanged", "changed" (or "would change" with `--check`), "error"
    status: &'static str,
    reason: Option<String>,
    /// The formatted text, if it came from standard input.
    text: Option<String>,
}

pub(crate) fn format(args: &Fmt) -> Exit {
    let terminal = Terminal::for_text(args.output);
    let files: Vec<_> = args
        .files
        .iter()
        .map(|path| format_file(path, args, terminal))
        .collect();
    if terminal.is_json() {
        let report = serde_json::json!({ "version": 1, "files": files });
        print(&format!("{report:#}\n"));
    }
    let any = |status| files.iter().any(|file| file.status == status);
    if any("error") {
        Exit::ERROR
    } else if any("would change") {
        Exit::UNFORMATTED
    } else {
        Exit::SUCCESS
    }
}

fn format_file(path: &Path, args: &Fmt, terminal: Terminal) -> Formatted {
    let done = |status, reason| Formatted {
        file: path.display().to_string(),
        status,
        reason,
        text: None,
    };
    let source = match read(path) {
        Ok(source) => source,
        Err(reason) => {
            terminal.error(&reason);
            return done("error", Some(reason));
        }
    };
    let text = match raddle_lang::format(&source) {
        Ok(text) => text,
        Err(problems) => {
            for problem in &problems {
                let text =
                    raddle_lang::diagnostic::render(problem, &source, terminal.diagnostics());
                complain(&format!("{text}\n\n"));
            }
            let reason = format!("{} cannot be formatted: it has errors", source.name);
            terminal.error(&reason);
            return done("error", Some(reason));
        }
    };
    let changed = text != source.text;
    let standard_input = path == Path::new("-");
    if standard_input && !args.check {
        if !terminal.is_json() {
            print(&text);
        }
        return Formatted {
            text: Some(text),
            ..done(if changed { "changed" } else { "unchanged" }, None)
        };
    }
    if !changed {
        return done("unchanged", None);
    }
    if args.check {
        if !terminal.is_json() {
            print(&format!("{} would be formatted\n", source.name));
        }
        return done("would change", None);
    }
    match replace(path, &text) {
        Ok(()) => done("changed", None),
        Err(error) => {
            let reason = format!("cannot write {}: {error}", path.display());
            terminal.error(&reason);
            done("error", Some(reason))
        }
    }
}

/// Writes beside the file first, so that it is never lost half-way.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let path = std::fs::canonicalize(path)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".raddle-fmt");
    let beside = path.with_file_name(name);
    std::fs::write(&beside, text)?;
    std::fs::set_permissions(&beside, std::fs::metadata(&path)?.permissions())?;
    std::fs::rename(&beside, &path)
}
