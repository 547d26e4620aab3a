//! A [`Story`] drawn for people: time runs down the page, every thread has a lane.
//!
//! ```text
//!  step line  main                           deposit#1
//! ────────────┬──────────────────────────────┬────────────────────────────
//!     2    6  ┃ balance = balance + amount;  ┊
//!             ┃   reads balance = 100        ┊
//!     3    6  ╰┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄▸┃ balance = balance + amount;
//!             ┊                              ┃   reads balance = 100
//!     4       ┊                              ┃   balance: 100 → 150
//!     5    6  ┃ balance = balance + amount; ◂╯
//!             ┃   balance: 150 → 130         ┊
//! ```
//!
//! - The heavy bar follows the thread that moves. Where another thread takes over, the bar
//!   turns into an arrow that leads to its lane.
//! - A statement is printed once, with the steps that were made in it below: what they
//!   did, what changed, and in brackets the locks that the thread holds afterwards.
//! - In an execution graph, a read need not be of the last write. One that is not has a mark with the step
//!   that it reads from (`↖3`; `↖start` for the initial value), and that step one with the step that reads it (`↘7`).
//! - The end is red: the step that fails, or, where no step does, the places at which the
//!   threads of a deadlock or a race stand, side by side. Below are the message
//!   and the remarks on these places.
//!
//! Where there are too many threads for lanes that can be read, there is one column, and the
//! name of the thread to the left of each statement.

mod canvas;
mod draw;
mod ending;
mod layout;
mod list;
mod script;
#[cfg(test)]
mod tests;

use crate::story::{Event, Story};
use crate::style::{Palette, Role};
use canvas::{Canvas, Glyphs};
use layout::{Columns, Layout};
use script::{START, Script};

/// The least width that is taken seriously; what is asked to be narrower is this wide.
const LEAST_WIDTH: usize = 30;

/// How to draw a story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The width of the page: no line is longer, unless fewer than 30 columns are asked for.
    pub width: usize,
    /// Whether to use colours.
    pub colour: bool,
    /// Whether to draw with ASCII characters only. Names and source text are left alone.
    pub ascii: bool,
    /// The most steps to show. If there are more, some in the middle are left out.
    pub max_steps: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            width: 80,
            colour: false,
            ascii: false,
            max_steps: None,
        }
    }
}

/// Draws a story.
///
/// ```
/// use raddle_report::lanes::{Options, render};
/// use raddle_report::story::{Ending, Event, Note, Spot, Story};
///
/// let spot = Spot { file: "m.rad".into(), line: 2, column: 15, text: "lock(m)".into() };
/// let story = Story {
///     threads: vec!["main".into()],
///     steps: vec![Event {
///         at: spot.clone(),
///         action: "locks m".into(),
///         holds: vec!["m".into()],
///         ..Event::default()
///     }],
///     ending: Ending {
///         message: "deadlock".into(),
///         notes: vec![Note {
///             thread: Some(0),
///             at: Spot { line: 3, column: 5, ..spot },
///             text: "waits for m, which it holds".into(),
///         }],
///         ..Ending::default()
///     },
/// };
/// assert_eq!(
///     render(&story, &Options::default()),
///     "\
/// 1 step · [ ] locks held
///
///  step line  main
/// ────────────┬──────────────
///     1    2  ┃ lock(m)
///             ┃   locks m [m]
/// ✗        3  ┃ lock(m)
///             ┃   [m]
///
/// error: deadlock
///   --> m.rad:3:5 in main
///    │  lock(m)
///    ╰─ waits for m, which it holds
/// ",
/// );
/// ```
#[must_use]
pub fn render(story: &Story, options: &Options) -> String {
    let (mut page, glyphs) = blank_page(options);
    let script = Script::new(story, options.max_steps, glyphs);
    caption(&mut page, story, glyphs);
    if !script.is_empty() {
        page.end_line();
        let layout = Layout::new(story, &script, page.width(), glyphs);
        match &layout.columns {
            Columns::Lanes(lanes) => draw::draw(&mut page, &script, &layout, lanes),
            Columns::List(list) => list::draw(&mut page, story, &script, &layout, list),
        }
    }
    ending::draw(&mut page, story);
    page.finish()
}

/// Only how a story ends: the message and the remarks. Also for what has no story, such as
/// a goal that no execution reaches.
#[must_use]
pub fn render_ending(story: &Story, options: &Options) -> String {
    let (mut page, _) = blank_page(options);
    ending::draw(&mut page, story);
    page.finish().trim_start_matches('\n').to_owned()
}

fn blank_page(options: &Options) -> (Canvas, &'static Glyphs) {
    let palette = if options.colour {
        Palette::coloured()
    } else {
        Palette::plain()
    };
    let glyphs = if options.ascii {
        &canvas::ASCII
    } else {
        &canvas::UNICODE
    };
    (
        Canvas::new(options.width.max(LEAST_WIDTH), palette, glyphs),
        glyphs,
    )
}

/// What there is to see.
fn caption(page: &mut Canvas, story: &Story, glyphs: &Glyphs) {
    let text = if story.steps.is_empty() {
        "No step was made: this is the initial state.".to_owned()
    } else {
        let mut parts = vec![counted(story.steps.len(), "step")];
        if story.switches() > 0 {
            parts.push(counted(story.switches(), "context switch"));
        }
        if story.steps.iter().any(|step| !step.holds.is_empty()) {
            parts.push("[ ] locks held".to_owned());
        }
        if let Some(before) = story.ending.repeats_from {
            let steps = story.steps.len();
            parts.push(match before + 1 == steps {
                true => format!("step {steps} repeats for ever"),
                false => format!("steps {} to {steps} repeat for ever", before + 1),
            });
        }
        parts.join(glyphs.separator)
    };
    page.put(0, Role::Faint, &text);
    page.end_line();
    legend(page, story, glyphs);
}

/// What the marks beside reads mean, if there are any.
fn legend(page: &mut Canvas, story: &Story, glyphs: &Glyphs) {
    let late = |step: &&Event| step.writes.missed.is_some();
    let sources: Vec<Option<usize>> = (story.steps.iter().filter(late))
        .map(|step| step.writes.reads_from)
        .collect();
    let from = glyphs.reads_from;
    let mut parts = Vec::new();
    if let Some(step) = sources.iter().copied().flatten().next() {
        parts.push(format!("{from}{step}: reads what step {step} wrote"));
    }
    if sources.contains(&None) {
        parts.push(format!("{from}{START}: reads the initial value"));
    }
    if !parts.is_empty() {
        let text = parts.join(glyphs.separator) + ", not the last write";
        ending::paragraph(page, 0, Role::Faint, &text);
    }
}

/// `1 step`, `2 steps`.
fn counted(number: usize, what: &str) -> String {
    let plural = match number {
        1 => "",
        _ if what.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {what}{plural}", crate::table::number(number as u64))
}
