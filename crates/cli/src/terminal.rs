//! Where text goes, and what it may look like.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use raddle_lang::Style;
use raddle_report::lanes;
use raddle_report::style::{Palette, Role};

use crate::args::{Colour, Drawing, Format, Output};

/// How to print.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    output: Output,
    drawing: Drawing,
}

impl Terminal {
    pub(crate) fn new(output: Output, drawing: Drawing) -> Self {
        Self { output, drawing }
    }

    /// For commands that draw nothing.
    pub(crate) fn for_text(output: Output) -> Self {
        Self::new(
            output,
            Drawing {
                ascii: false,
                width: 80,
            },
        )
    }

    pub(crate) fn is_json(self) -> bool {
        self.output.format == Format::Json
    }

    pub(crate) fn is_quiet(self) -> bool {
        self.output.quiet
    }

    fn colours(self, terminal: bool) -> bool {
        match self.output.colour {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => {
                let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
                let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
                terminal && !forbidden && !dumb
            }
        }
    }

    /// The colours of standard output.
    pub(crate) fn palette(self) -> Palette {
        match self.colours(io::stdout().is_terminal()) {
            true => Palette::coloured(),
            false => Palette::plain(),
        }
    }

    /// How to draw counterexamples on standard output.
    pub(crate) fn lanes(self) -> lanes::Options {
        lanes::Options {
            width: self.drawing.width,
            colour: self.colours(io::stdout().is_terminal()),
            ascii: self.drawing.ascii,
            max_steps: None,
        }
    }

    /// How to print diagnostics on standard error.
    pub(crate) fn diagnostics(self) -> Style {
        match self.colours(io::stderr().is_terminal()) {
            true => Style::Coloured,
            false => Style::Plain,
        }
    }

    /// An error that is about no place in a program.
    pub(crate) fn error(self, message: &str) {
        self.say(Role::Error, "error", message);
    }

    /// A warning, on standard error too.
    pub(crate) fn warning(self, message: &str) {
        self.say(Role::Warning, "warning", message);
    }

    fn say(self, role: Role, level: &str, message: &str) {
        let palette = match self.diagnostics() {
            Style::Coloured => Palette::coloured(),
            Style::Plain => Palette::plain(),
        };
        complain(&format!("{}: {message}\n", palette.paint(role, level)));
    }
}

/// Why something that was printed has not arrived, the first time that happened.
static LOST_OUTPUT: OnceLock<io::Error> = OnceLock::new();

/// Writes to standard output. What becomes of it, [`lost_output`] tells at the end.
pub(crate) fn print(text: &str) {
    let mut out = io::stdout().lock();
    note_output(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

/// Takes note of an attempt to write to standard output.
pub(crate) fn note_output(result: io::Result<()>) {
    if let Err(error) = result {
        // Only the first counts.
        let _ = LOST_OUTPUT.set(error);
    }
}

/// Whether something that was printed has not arrived, and says so, unless nobody reads
/// any more: whoever closes a pipe knows that it did.
///
/// The exit code of a check is an answer only together with what was printed. If that is lost, the
/// command has failed, whatever was found.
pub(crate) fn lost_output() -> bool {
    let Some(error) = LOST_OUTPUT.get() else {
        return false;
    };
    if error.kind() != io::ErrorKind::BrokenPipe {
        complain(&format!(
            "error: cannot write to standard output: {error}\n"
        ));
    }
    true
}

/// Writes to standard error.
pub(crate) fn complain(text: &str) {
    let mut out = io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
