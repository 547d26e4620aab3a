//! [`Script`]: what to show of a story, in order, before anything has a column.

use std::collections::HashMap;
use std::ops::Range;

use super::canvas::Glyphs;
use crate::story::{Change, Event, Note, Story};
use crate::style::Role;
use crate::text::{Item, Span, clean};

/// Where a read comes from that reads no write.
pub(super) const START: &str = "start";

/// What to show of a story.
pub(super) struct Script {
    pub(super) scenes: Vec<Scene>,
    /// Where threads stand at the end, if no step that is shown is the one that fails.
    pub(super) stands: Vec<Stand>,
}

pub(super) enum Scene {
    Statement(Statement),
    /// Steps that are left out.
    Gap {
        steps: usize,
    },
    /// What comes now repeats for ever.
    Repeat,
}

/// Consecutive steps of one thread in one statement.
pub(super) struct Statement {
    pub(super) thread: usize,
    /// The thread that moved before, if it is another.
    pub(super) switch_from: Option<usize>,
    pub(super) line: u32,
    pub(super) text: String,
    pub(super) steps: Vec<StepDetails>,
    pub(super) fails: bool,
}

/// What there is to say about one step.
pub(super) struct StepDetails {
    /// Counted from 1.
    pub(super) number: usize,
    pub(super) items: Vec<Item>,
}

/// A thread at the place where it is stuck, or that it must not get to.
pub(super) struct Stand {
    pub(super) thread: usize,
    pub(super) line: u32,
    pub(super) text: String,
    pub(super) items: Vec<Item>,
}

impl Script {
    pub(super) fn new(story: &Story, max_steps: Option<usize>, glyphs: &Glyphs) -> Self {
        let writer = Writer {
            story,
            glyphs,
            read_late: read_late(story),
        };
        let (head, tail) = shown(story.steps.len(), max_steps);
        let mut scenes = Vec::new();
        writer.scenes(head.clone(), &mut scenes);
        if head.end < tail.start {
            scenes.push(Scene::Gap {
                steps: tail.start - head.end,
            });
        }
        writer.scenes(tail, &mut scenes);
        let mut script = Self {
            scenes,
            stands: Vec::new(),
        };
        script.mark_failure(&writer);
        script
    }

    pub(super) fn is_empty(&self) -> bool {
        self.scenes.is_empty()
    }

    pub(super) fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.scenes.iter().filter_map(|scene| match scene {
            Scene::Statement(statement) => Some(statement),
            Scene::Gap { .. } | Scene::Repeat => None,
        })
    }

    /// Shows where it went wrong: in the last statement if that failed, or if the remarks
    /// are about no thread; otherwise where the threads stand that they are about.
    fn mark_failure(&mut self, writer: &Writer<'_>) {
        let ending = &writer.story.ending;
        // Nothing goes wrong in an execution that does not end, and nobody stands still.
        if ending.message.is_empty() || ending.repeats_from.is_some() {
            return;
        }
        let by_thread: Vec<(usize, &Note)> = ending
            .notes
            .iter()
            .filter_map(|note| Some((note.thread?, note)))
            .collect();
        let last = match self.scenes.last_mut() {
            Some(Scene::Statement(statement)) => Some(statement),
            _ => None,
        };
        match (last, by_thread.as_slice()) {
            (Some(last), []) => last.fails = true,
            (Some(last), [(thread, note)]) if ending.in_last_step && last.is_at(*thread, note) => {
                last.text = longer(&last.text, &clean(&note.at.text)).to_owned();
                last.fails = true;
            }
            (_, notes) => {
                self.stands = notes
                    .iter()
                    .map(|&(thread, note)| writer.stand(thread, note))
                    .collect();
            }
        }
    }
}

impl Statement {
    /// Whether that step is the one that went wrong: the last.
    pub(super) fn fails_in(&self, step: usize) -> bool {
        self.fails && step + 1 == self.steps.len()
    }

    fn is_at(&self, thread: usize, note: &Note) -> bool {
        let text = clean(&note.at.text);
        self.thread == thread
            && self.line == note.at.line
            && (self.text.contains(&text) || text.contains(&self.text))
    }
}

/// The steps to show at the beginning and at the end. What goes wrong is at the end, so
/// most are from there.
fn shown(steps: usize, max_steps: Option<usize>) -> (Range<usize>, Range<usize>) {
    match max_steps {
        Some(max) if max < steps => {
            let head = max / 3;
            (0..head, steps - (max - head)..steps)
        }
        _ => (0..steps, steps..steps),
    }
}

fn longer<'a>(one: &'a str, other: &'a str) -> &'a str {
    if other.len() > one.len() { other } else { one }
}

/// For each step whose write is read when there are later ones, the steps that do so.
fn read_late(story: &Story) -> HashMap<usize, Vec<usize>> {
    let mut readers: HashMap<usize, Vec<usize>> = HashMap::new();
    for (index, step) in story.steps.iter().enumerate() {
        if let (Some(_), Some(from)) = (&step.writes.missed, step.writes.reads_from) {
            readers.entry(from).or_default().push(index + 1);
        }
    }
    readers
}

struct Writer<'a> {
    story: &'a Story,
    glyphs: &'a Glyphs,
    read_late: HashMap<usize, Vec<usize>>,
}

impl Writer<'_> {
    /// A range of steps as statements, with a mark where the part begins that repeats.
    fn scenes(&self, range: Range<usize>, scenes: &mut Vec<Scene>) {
        match self.story.ending.repeats_from {
            Some(from) if range.contains(&from) => {
                self.statements(range.start..from, scenes);
                scenes.push(Scene::Repeat);
                self.statements(from..range.end, scenes);
            }
            _ => self.statements(range, scenes),
        }
    }

    /// Groups a range of steps into statements.
    fn statements(&self, range: Range<usize>, scenes: &mut Vec<Scene>) {
        let mut start = range.start;
        let mut moved = None;
        let lines = self.story.steps[range].chunk_by(|one, other| {
            one.thread == other.thread
                && one.at.line == other.at.line
                && one.at.file == other.at.file
        });
        for steps in lines {
            let texts: Vec<String> = steps.iter().map(|step| clean(&step.at.text)).collect();
            let longest = texts.iter().fold("", |longest, text| longer(longest, text));
            if texts.iter().all(|text| longest.contains(text.as_str())) {
                scenes.push(self.statement(start, steps, longest, moved));
                start += steps.len();
            } else {
                // Several statements on one line.
                for (index, same) in runs(&texts) {
                    let part = &steps[index..index + same];
                    let from = moved.filter(|_| index == 0);
                    scenes.push(self.statement(start, part, &texts[index], from));
                    start += same;
                }
            }
            moved = Some(steps[0].thread);
        }
    }

    fn statement(&self, start: usize, steps: &[Event], text: &str, moved: Option<usize>) -> Scene {
        let first = &steps[0];
        let mut details: Vec<StepDetails> = steps
            .iter()
            .enumerate()
            .map(|(index, step)| StepDetails {
                number: start + index + 1,
                items: self.items(start + index + 1, step),
            })
            .collect();
        if first.at.file != self.story.steps[0].at.file {
            let place = Span::new(Role::Faint, format!("in {}", clean(&first.at.file)));
            details[0].items.insert(0, self.item(place));
        }
        if let (Some(last), Some(step)) = (details.last_mut(), steps.last()) {
            last.items.extend(locks(&step.holds));
        }
        Scene::Statement(Statement {
            thread: first.thread,
            switch_from: moved.filter(|&thread| thread != first.thread),
            line: first.at.line,
            text: text.to_owned(),
            steps: details,
            fails: false,
        })
    }

    fn items(&self, number: usize, step: &Event) -> Vec<Item> {
        let mut items = Vec::new();
        let action = clean(&step.action);
        if !action.is_empty() && !says_no_more(&action, &step.changes) {
            items.push(self.item(Span::new(Role::Faint, action)));
        }
        let (shared, own): (Vec<&Change>, Vec<&Change>) =
            step.changes.iter().partition(|change| change.shared);
        for change in shared.into_iter().chain(own) {
            items.push(self.item(self.change(change)));
        }
        items.extend(self.arrows(number, step));
        let remark = clean(&step.writes.remark());
        if !remark.is_empty() {
            items.push(self.item(Span::new(Role::Warning, remark)));
        }
        items
    }

    /// What stands for arrows from writes to reads that are not of the last write: they would cross too much.
    fn arrows(&self, number: usize, step: &Event) -> Vec<Item> {
        let mut marks = Vec::new();
        if step.writes.missed.is_some() {
            let from = step.writes.reads_from;
            let from = from.map_or_else(|| START.to_owned(), |from| from.to_string());
            marks.push(format!("{}{from}", self.glyphs.reads_from));
        }
        let readers = self.read_late.get(&number).into_iter().flatten();
        marks.extend(readers.map(|reader| format!("{}{reader}", self.glyphs.read_at)));
        let item = |mark| Item {
            span: Span::new(Role::Warning, mark),
            separator: " ",
        };
        marks.into_iter().map(item).collect()
    }

    fn change(&self, change: &Change) -> Span {
        let role = if change.shared {
            Role::Change
        } else {
            Role::Faint
        };
        let (name, after) = (clean(&change.name), clean(&change.after));
        let text = match &change.before {
            Some(before) => format!("{name}: {} {} {after}", clean(before), self.glyphs.becomes),
            None => format!("{name} = {after}"),
        };
        Span::new(role, text)
    }

    fn item(&self, span: Span) -> Item {
        Item {
            span,
            separator: self.glyphs.separator,
        }
    }

    fn stand(&self, thread: usize, note: &Note) -> Stand {
        let holds = self
            .story
            .steps
            .iter()
            .rfind(|step| step.thread == thread)
            .map_or(&[][..], |step| &step.holds);
        Stand {
            thread,
            line: note.at.line,
            text: clean(&note.at.text),
            items: locks(holds).into_iter().collect(),
        }
    }
}

/// The runs of equal texts: where each begins and how long it is.
fn runs(texts: &[String]) -> impl Iterator<Item = (usize, usize)> {
    let mut start = 0;
    texts.chunk_by(|one, other| one == other).map(move |run| {
        start += run.len();
        (start - run.len(), run.len())
    })
}

/// Whether an action is a write that is shown as a change anyway.
fn says_no_more(action: &str, changes: &[Change]) -> bool {
    let Some(write) = action.strip_prefix("writes ") else {
        return false;
    };
    changes.iter().any(|change| {
        let (name, after) = (clean(&change.name), clean(&change.after));
        write
            .strip_prefix(name.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.strip_prefix(" = ") == Some(&after))
    })
}

fn locks(holds: &[String]) -> Option<Item> {
    let names: Vec<String> = holds.iter().map(|name| clean(name)).collect();
    (!names.is_empty()).then(|| Item {
        span: Span::new(Role::Locks, format!("[{}]", names.join(", "))),
        separator: " ",
    })
}
