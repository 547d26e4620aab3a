//! Violations become stories.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use raddle_explore::{Access, Cause, Fault, Position, Property, System, Violation};
use raddle_lang::Span;
use raddle_machine::Machine;
use raddle_machine::narrate::{Narrator, Told};
use raddle_report::json::ViolationKind;
use raddle_report::story::{Ending, Event, Note, Story};

/// The kind of a violation in reports.
pub(crate) fn kind(violation: &Violation) -> ViolationKind {
    kind_of(violation.property())
}

pub(crate) fn kind_of(property: Property) -> ViolationKind {
    match property {
        Property::Assertion => ViolationKind::Assertion,
        Property::Runtime => ViolationKind::Runtime,
        Property::Deadlock => ViolationKind::Deadlock,
        Property::Race => ViolationKind::Race,
        Property::Invariant => ViolationKind::Invariant,
        Property::Discipline => ViolationKind::Discipline,
        Property::Termination => ViolationKind::Termination,
    }
}

/// How long stories may take to tell, all together.
pub(crate) struct Patience {
    started: Instant,
    /// When there is no time left.
    deadline: Option<Instant>,
    cancel: Arc<AtomicBool>,
}

/// Telling never hurries before it took as long as this: most stories are told by then, and a
/// search that has used up its time is worth nothing without its story.
const ALWAYS_ALLOWED: Duration = Duration::from_secs(1);

impl Patience {
    pub(crate) fn new(deadline: Option<Instant>, cancel: Arc<AtomicBool>) -> Self {
        Self {
            started: Instant::now(),
            deadline,
            cancel,
        }
    }

    fn is_over(&self) -> bool {
        let now = Instant::now();
        now - self.started >= ALWAYS_ALLOWED
            && (self.deadline.is_some_and(|deadline| now >= deadline)
                || self.cancel.load(Ordering::Relaxed))
    }
}

/// A story, and whether it is told in full.
pub(crate) struct ToldStory {
    pub(crate) story: Story,
    /// The steps that are told in brief, because the time was over.
    pub(crate) in_brief: Range<usize>,
}

/// How many steps at the end are told in full even then.
const LAST_STEPS: usize = 20;

/// Runs the schedule of a violation again, and tells it.
pub(crate) fn story(machine: Machine, violation: &Violation, patience: &Patience) -> ToldStory {
    let mut narrator = Narrator::new(machine);
    let mut steps = Vec::new();
    let mut failed_in = None;
    let last_steps = violation.schedule.len().saturating_sub(LAST_STEPS);
    let mut in_brief = last_steps..last_steps;
    for (number, &step_move) in violation.schedule.iter().enumerate() {
        if number < in_brief.start && patience.is_over() {
            in_brief.start = number;
        }
        let told = match in_brief.contains(&number) {
            false => narrator.step(step_move),
            true => narrator.step_in_brief(step_move),
        };
        match told {
            Told::Moved(event) => steps.push(event),
            Told::Failed(event, _) => {
                failed_in = Some(event.thread);
                steps.push(event);
            }
            Told::Impossible => unreachable!("the search has taken this step"),
        }
    }
    let ending = ending(&mut narrator, violation, &steps, failed_in);
    ToldStory {
        story: Story {
            threads: narrator.threads().to_vec(),
            steps,
            ending,
        },
        in_brief,
    }
}

fn ending(
    narrator: &mut Narrator,
    violation: &Violation,
    steps: &[Event],
    failed_in: Option<usize>,
) -> Ending {
    let known = "the search has found this";
    match &violation.cause {
        Cause::Fault { fault, .. } => failure(narrator, failed_in.expect(known), fault),
        Cause::Start { thread, fault } => failed_start(narrator, *thread, fault),
        Cause::Invariant { .. } => broken_invariant(narrator).expect(known),
        Cause::Deadlock { .. } => deadlock(narrator).expect(known),
        Cause::Race(race) => {
            let racers = [&race.first, &race.second].map(|racer| (racer.thread, racer.access));
            race_between(narrator, &racers)
        }
        Cause::Endless { repeats_from, .. } => {
            let moving: Vec<usize> = lanes_from(steps, *repeats_from);
            endless(narrator, *repeats_from, &moving)
        }
    }
}

/// The lanes of those who move from a step on, each once.
pub(crate) fn lanes_from(steps: &[Event], from: usize) -> Vec<usize> {
    let mut lanes: Vec<usize> = steps.iter().skip(from).map(|step| step.thread).collect();
    lanes.sort_unstable();
    lanes.dedup();
    lanes
}

/// An execution that does not end, in a state in which the part begins that repeats: who moves in it,
/// and where, and what the others wait for.
pub(crate) fn endless(narrator: &mut Narrator, repeats_from: usize, moving: &[usize]) -> Ending {
    let mut notes = Vec::new();
    for &lane in moving {
        if let Some(at) = narrator.whereabouts(lane) {
            notes.push(Note {
                thread: Some(lane),
                at,
                text: "goes on for ever".into(),
            });
        }
    }
    // Others come and go in each round.
    let message = match notes.len() {
        1 => "the execution does not end: one thread goes on for ever".to_owned(),
        threads => format!("the execution does not end: {threads} threads go on for ever"),
    };
    let waiting = narrator.blocked();
    for thread in waiting {
        if !moving.contains(&narrator.lane(thread)) {
            notes.push(narrator.waiting(thread));
        }
    }
    Ending {
        message,
        repeats_from: Some(repeats_from),
        notes,
        ..Ending::default()
    }
}

/// A step has failed, in the lane of its thread.
pub(crate) fn failure(narrator: &Narrator, lane: usize, fault: &Fault) -> Ending {
    Ending {
        message: fault.message.clone(),
        in_last_step: true,
        notes: vec![Note {
            thread: Some(lane),
            at: narrator.statement_spot(fault.place),
            text: String::new(),
        }],
        ..Ending::default()
    }
}

/// A thread has failed before its first step.
fn failed_start(narrator: &Narrator, thread: Position, fault: &Fault) -> Ending {
    Ending {
        in_last_step: false,
        ..failure(narrator, narrator.lane(thread), fault)
    }
}

/// The threads that have failed before their first steps, each with the kind of its failure.
pub(crate) fn failed_starts(narrator: &mut Narrator) -> Vec<(ViolationKind, Ending)> {
    let state = narrator.state().clone();
    let failed = narrator.machine().failed_starts(&state).into_iter();
    failed
        .filter_map(|(thread, fault)| {
            let kind = failure_kind(&fault)?;
            Some((kind, failed_start(narrator, thread, &fault)))
        })
        .collect()
}

/// The kind of a failure; none if the program only grew larger than can be kept.
pub(crate) fn failure_kind(fault: &Fault) -> Option<ViolationKind> {
    fault.kind.property().ok().map(kind_of)
}

/// The invariant that does not hold now, if there is one.
pub(crate) fn broken_invariant(narrator: &mut Narrator) -> Option<Ending> {
    let state = narrator.state().clone();
    let fault = narrator
        .machine()
        .broken_invariant(&state, &mut Vec::new())?;
    Some(Ending {
        message: fault.message,
        notes: vec![Note {
            thread: None,
            at: narrator.spot_of(fault.place),
            text: invariant_values(narrator, fault.place),
        }],
        ..Ending::default()
    })
}

/// The deadlock that there is now, if it is one: some thread waits, none can move, none has
/// failed, and none is cut by an assumption.
pub(crate) fn deadlock(narrator: &mut Narrator) -> Option<Ending> {
    let state = narrator.state().clone();
    if !narrator.possible().is_empty() || narrator.is_cut() || narrator.machine().failed(&state) {
        return None;
    }
    let blocked = narrator.blocked();
    let message = match blocked.len() {
        0 => return None,
        1 => "deadlock: one thread waits for ever".into(),
        n => format!("deadlock: {n} threads wait for ever"),
    };
    let notes = blocked.into_iter().map(|thread| narrator.waiting(thread));
    Some(Ending {
        message,
        notes: notes.collect(),
        ..Ending::default()
    })
}

/// The race that there is now, if there is one.
pub(crate) fn race(narrator: &mut Narrator) -> Option<Ending> {
    let racers = narrator.race()?;
    Some(race_between(narrator, &racers))
}

fn race_between(narrator: &Narrator, racers: &[(Position, Access); 2]) -> Ending {
    let notes = racers.iter().map(|(thread, access)| Note {
        thread: Some(narrator.lane(*thread)),
        at: narrator.statement_spot(access.place),
        text: narrator.about_to(access),
    });
    Ending {
        message: "data race: two threads access one location, at least one writes".into(),
        notes: notes.collect(),
        ..Ending::default()
    }
}

/// The values of the variables that an invariant mentions.
fn invariant_values(narrator: &mut Narrator, place: raddle_explore::Place) -> String {
    let text = narrator.spot_of(place).text;
    let mentioned = |name: &str| {
        let base = name.split(['[', '.']).next().unwrap_or(name);
        text.split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| word == base)
    };
    let values: Vec<String> = narrator
        .values()
        .into_iter()
        .filter(|shown| shown.shared && mentioned(&shown.name))
        .take(8)
        .map(|shown| format!("{} = {}", shown.name, shown.value))
        .collect();
    values.join(", ")
}

/// A goal that no execution reaches: there is no schedule to tell.
pub(crate) fn unreached_goal(narrator: &Narrator, span: Span, name: Option<&str>) -> Story {
    let what = name.map_or_else(
        || "this goal".to_owned(),
        |name| format!("the goal \"{name}\""),
    );
    Story {
        ending: Ending {
            message: format!("no execution reaches {what}"),
            notes: vec![Note {
                thread: None,
                at: narrator.spot(span),
                text: String::new(),
            }],
            ..Ending::default()
        },
        ..Story::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_explore::Search;
    use raddle_explore::reductions::full::Full;
    use raddle_lang::Source;
    use raddle_machine::Granularity;

    #[test]
    fn a_story_is_hurried_in_the_middle_and_stays_complete() {
        let text = "int x; void main() { for (int i = 0; i < 50; i++) { x = i; } assert(false); }";
        let (program, _) = raddle_machine::load(Source::new("test.rad", text));
        let program = Arc::new(program.expect("it is correct"));
        let mut machine = Machine::new(program, Granularity::Access);
        let fresh = machine.clone();
        let outcome = Search::new().run(&mut machine, &mut Full::default());
        let violation = &outcome.violations[0];
        let over = Patience {
            started: Instant::now()
                .checked_sub(ALWAYS_ALLOWED)
                .expect("the clock has run"),
            deadline: Some(Instant::now()),
            cancel: Arc::default(),
        };
        let told = story(fresh.clone(), violation, &over);
        let whole = story(fresh, violation, &Patience::new(None, Arc::default()));
        let steps = violation.schedule.len();
        assert_eq!(told.in_brief, 0..steps - LAST_STEPS);
        assert!(whole.in_brief.is_empty());
        assert_eq!(told.story.ending, whole.story.ending);
        assert_eq!(told.story.steps.len(), steps);
        for (number, (step, full)) in told.story.steps.iter().zip(&whole.story.steps).enumerate() {
            assert_eq!((step.thread, &step.at), (full.thread, &full.at));
            assert_eq!(step == full, !told.in_brief.contains(&number), "{number}");
        }
    }

    #[test]
    fn patience_ends_with_the_time_or_an_interrupt_but_not_at_once() {
        let patience = |told_for: Duration, deadline, cancelled| Patience {
            started: Instant::now()
                .checked_sub(told_for)
                .expect("the clock has run"),
            deadline,
            cancel: Arc::new(AtomicBool::new(cancelled)),
        };
        let (soon, long) = (Duration::ZERO, 2 * ALWAYS_ALLOWED);
        let past = Some(Instant::now());
        let future = Instant::now().checked_add(Duration::from_secs(600));
        assert!(!patience(soon, past, true).is_over());
        assert!(!patience(long, None, false).is_over());
        assert!(!patience(long, future, false).is_over());
        assert!(patience(long, past, false).is_over());
        assert!(patience(long, None, true).is_over());
    }
}
