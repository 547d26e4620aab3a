//! [`Layout`]: where the columns are.

use super::canvas::Glyphs;
use super::script::{Script, Statement};
use crate::story::Story;
use crate::text::{Item, clean, shorten_name, width};

/// A lane that is narrower than what is in it is at least this wide.
const LEAST_LANE: usize = 18;
/// The bar of a lane and a space.
pub(super) const BAR: usize = 2;
/// How far the details of a step are indented below its statement.
pub(super) const INDENT: usize = 2;
/// Between two lanes: room for the head of an arrow.
const BETWEEN: usize = 2;
/// Details are wrapped rather than make a lane wider than this.
const WIDE_DETAILS: usize = 36;

pub(super) struct Layout {
    /// The columns after the step number and after the line number.
    pub(super) step_end: usize,
    pub(super) line_end: usize,
    pub(super) columns: Columns,
}

pub(super) enum Columns {
    /// One for each thread.
    Lanes(Vec<Lane>),
    /// One for all.
    List(List),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lane {
    pub(super) thread: usize,
    pub(super) name: String,
    pub(super) start: usize,
    /// How wide the text in it may be, without the bar.
    pub(super) width: usize,
}

pub(super) struct List {
    pub(super) names: usize,
    pub(super) name_width: usize,
    pub(super) start: usize,
    pub(super) width: usize,
}

impl Layout {
    pub(super) fn new(story: &Story, script: &Script, page: usize, glyphs: &Glyphs) -> Self {
        let line = script.statements().map(|statement| statement.line).max();
        let line = line.max(script.stands.iter().map(|stand| stand.line).max());
        // The mark of failure and a space before the step number, two columns after the
        // line number.
        let step_end = (2 + digits(story.steps.len())).max(" step".len());
        let line_end = step_end + 1 + digits(line.unwrap_or(0) as usize).max("line".len());
        let start = line_end + 2;

        let columns = lanes(story, script, start, page, glyphs).map_or_else(
            || Columns::List(list(story, start, page, script)),
            Columns::Lanes,
        );
        Self {
            step_end,
            line_end,
            columns,
        }
    }
}

fn digits(number: usize) -> usize {
    number.to_string().len()
}

/// The name of a thread; a number for one that the story has no name for.
pub(super) fn name_of(story: &Story, thread: usize) -> String {
    story
        .threads
        .get(thread)
        .map_or_else(|| format!("thread {thread}"), |name| clean(name))
}

/// The threads that move in what is shown, or stand somewhere at its end, in order.
fn cast(script: &Script) -> Vec<usize> {
    let moving = script.statements().map(|statement| statement.thread);
    let standing = script.stands.iter().map(|stand| stand.thread);
    let mut threads: Vec<usize> = moving.chain(standing).collect();
    threads.sort_unstable();
    threads.dedup();
    threads
}

/// A lane for each thread, or `None` if they would be too narrow.
fn lanes(
    story: &Story,
    script: &Script,
    start: usize,
    page: usize,
    glyphs: &Glyphs,
) -> Option<Vec<Lane>> {
    let threads = cast(script);
    let mut wanted: Vec<usize> = threads
        .iter()
        .map(|&thread| BAR + width(&name_of(story, thread)))
        .collect();
    let mut want = |thread: usize, columns: usize| {
        if let Ok(lane) = threads.binary_search(&thread) {
            wanted[lane] = wanted[lane].max(BAR + columns);
        }
    };
    for statement in script.statements() {
        want(statement.thread, statement_width(statement));
    }
    for stand in &script.stands {
        // The line number may have to be put before the text.
        let number = digits(stand.line as usize) + 2;
        want(stand.thread, number + width(&stand.text));
        want(stand.thread, INDENT + details_width(&stand.items));
    }

    let between = BETWEEN * threads.len().saturating_sub(1);
    let available = page.checked_sub(start + between)?;
    let granted = share(available, &wanted);
    let readable = granted
        .iter()
        .zip(&wanted)
        .all(|(&granted, &wanted)| granted >= wanted.min(LEAST_LANE));
    if threads.is_empty() || !readable {
        return None;
    }
    let mut at = start;
    let lanes = threads.iter().zip(granted).map(|(&thread, columns)| {
        let lane = Lane {
            thread,
            name: shorten_name(&name_of(story, thread), columns - BAR, glyphs.ellipsis),
            start: at,
            width: columns - BAR,
        };
        at += columns + BETWEEN;
        lane
    });
    Some(lanes.collect())
}

fn statement_width(statement: &Statement) -> usize {
    let details = statement
        .steps
        .iter()
        .map(|step| details_width(&step.items));
    width(&statement.text).max(INDENT + details.max().unwrap_or(0))
}

/// How wide details want to be: on one row if that is not too much, but whole in any case.
fn details_width(items: &[Item]) -> usize {
    let widest = items.iter().map(|item| item.span.width()).max();
    let all: usize = items
        .iter()
        .enumerate()
        .map(|(index, item)| {
            let separator = if index == 0 { "" } else { item.separator };
            width(separator) + item.span.width()
        })
        .sum();
    all.min(WIDE_DETAILS).max(widest.unwrap_or(0))
}

/// Shares columns out: who wants less than an equal share gets it all, and the others share the
/// rest equally.
fn share(available: usize, wanted: &[usize]) -> Vec<usize> {
    let mut by_need: Vec<usize> = (0..wanted.len()).collect();
    by_need.sort_by_key(|&lane| wanted[lane]);
    let mut granted = vec![0; wanted.len()];
    let mut left = available;
    for (done, &lane) in by_need.iter().enumerate() {
        granted[lane] = wanted[lane].min(left / (wanted.len() - done));
        left -= granted[lane];
    }
    granted
}

fn list(story: &Story, start: usize, page: usize, script: &Script) -> List {
    let shown = script.statements().map(|statement| statement.thread);
    let stuck = script.stands.iter().map(|stand| stand.thread);
    let longest = shown
        .chain(stuck)
        .map(|thread| width(&name_of(story, thread)));
    // Two columns for the mark of a context switch.
    let names = start + 2;
    let available = page.saturating_sub(names);
    let name_width = longest
        .max()
        .unwrap_or(0)
        .min(available / 3)
        .max("thread".len());
    let text = names + name_width + 2;
    List {
        names,
        name_width,
        start: text,
        width: page.saturating_sub(text).max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn modest_lanes_leave_room_for_others() {
        assert_eq!(share(60, &[10, 20, 20]), [10, 20, 20]);
        assert_eq!(share(60, &[10, 90, 90]), [10, 25, 25]);
        assert_eq!(share(60, &[90, 22, 90]), [20, 20, 20]);
        assert_eq!(share(61, &[90, 5, 30]), [28, 5, 28]);
        assert!(share(60, &[]).is_empty());
    }
}
