//! What the parts of a report look like.
//!
//! Code that draws says what a piece of text *is*, a [`Role`]; only the [`Palette`] knows
//! the colour of that. Without colour the text is left as it is.

use anstyle::{AnsiColor, Effects, Style};

/// What a piece of text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Nothing in particular.
    #[default]
    Plain,
    /// Source text.
    Source,
    /// What explains something else, or frames it.
    Faint,
    /// A line number.
    Line,
    /// A change that other threads can see.
    Change,
    /// The locks that a thread holds.
    Locks,
    /// Something of the thread with this number.
    Thread(usize),
    /// What is wrong.
    Error,
    /// What may be wrong.
    Warning,
    /// What is right.
    Success,
}

/// The colours of threads. Red, yellow and green mean something already.
const THREADS: [AnsiColor; 6] = [
    AnsiColor::Cyan,
    AnsiColor::Magenta,
    AnsiColor::Blue,
    AnsiColor::BrightCyan,
    AnsiColor::BrightMagenta,
    AnsiColor::BrightBlue,
];

/// Gives roles their looks.
///
/// ```
/// use raddle_report::style::{Palette, Role};
///
/// assert_eq!(Palette::plain().paint(Role::Error, "deadlock"), "deadlock");
/// assert_eq!(
///     Palette::coloured().paint(Role::Error, "deadlock"),
///     "\u{1b}[1m\u{1b}[31mdeadlock\u{1b}[0m",
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    colour: bool,
}

impl Palette {
    /// Everything looks the same.
    #[must_use]
    pub const fn plain() -> Self {
        Self { colour: false }
    }

    /// ANSI colours.
    #[must_use]
    pub const fn coloured() -> Self {
        Self { colour: true }
    }

    /// The style of a role.
    #[must_use]
    pub fn style(self, role: Role) -> Style {
        if !self.colour {
            return Style::new();
        }
        match role {
            Role::Plain => Style::new(),
            Role::Source | Role::Change => Style::new().bold(),
            Role::Faint => Style::new().dimmed(),
            Role::Line => AnsiColor::Blue.on_default(),
            Role::Locks | Role::Warning => AnsiColor::Yellow.on_default(),
            Role::Thread(number) => THREADS[number % THREADS.len()].on_default() | Effects::BOLD,
            Role::Error => AnsiColor::Red.on_default() | Effects::BOLD,
            Role::Success => AnsiColor::Green.on_default() | Effects::BOLD,
        }
    }

    /// The text in the style of a role.
    #[must_use]
    pub fn paint(self, role: Role, text: &str) -> String {
        let style = self.style(role);
        format!("{style}{text}{style:#}")
    }
}
