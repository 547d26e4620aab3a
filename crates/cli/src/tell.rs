//! Violations become stories.

use std::sync::Arc;

use raddle_explore::{Cause, Property, Violation};
use raddle_lang::Span;
use raddle_machine::narrate::{Narrator, Told};
use raddle_machine::{Granularity, Machine, Program};
use raddle_report::json::ViolationKind;
use raddle_report::story::{Ending, Note, Story};

/// The kind of a violation in reports.
pub(crate) fn kind(violation: &Violation) -> ViolationKind {
    match violation.property() {
        Property::Assertion => ViolationKind::Assertion,
        Property::Runtime => ViolationKind::Runtime,
        Property::Deadlock => ViolationKind::Deadlock,
        Property::Race => ViolationKind::Race,
        Property::Invariant => ViolationKind::Invariant,
    }
}

/// Runs the schedule of a violation again, and tells it.
pub(crate) fn story(
    program: &Arc<Program>,
    granularity: Granularity,
    violation: &Violation,
) -> Story {
    let mut narrator = Narrator::new(Machine::new(Arc::clone(program), granularity));
    let mut steps = Vec::new();
    let mut failed_in = None;
    for &step_move in &violation.schedule {
        match narrator.step(step_move) {
            Told::Moved(event) => steps.push(event),
            Told::Failed(event, _) => {
                failed_in = Some(event.thread);
                steps.push(event);
            }
            Told::Impossible => unreachable!("the search has taken this step"),
        }
    }
    let ending = ending(&mut narrator, violation, failed_in);
    Story {
        threads: narrator.threads().to_vec(),
        steps,
        ending,
    }
}

fn ending(narrator: &mut Narrator, violation: &Violation, failed_in: Option<usize>) -> Ending {
    let message = match &violation.cause {
        Cause::Fault { fault, .. } | Cause::Invariant { fault } => fault.message.clone(),
        Cause::Deadlock { blocked } => deadlock(blocked.len()),
        Cause::Race(_) => "data race: two threads access one location, at least one writes".into(),
    };
    let notes = match &violation.cause {
        Cause::Fault { fault, .. } => vec![Note {
            thread: failed_in,
            at: narrator.statement_spot(fault.place),
            text: String::new(),
        }],
        Cause::Invariant { fault } => vec![broken_invariant(narrator, fault.place)],
        Cause::Deadlock { blocked } => {
            let threads: Vec<_> = blocked.iter().map(|blocked| blocked.thread).collect();
            threads
                .into_iter()
                .map(|thread| narrator.waiting(thread))
                .collect()
        }
        Cause::Race(race) => [&race.first, &race.second]
            .into_iter()
            .map(|racer| Note {
                thread: Some(narrator.lane(racer.thread)),
                at: narrator.statement_spot(racer.access.place),
                text: narrator.about_to(&racer.access),
            })
            .collect(),
    };
    Ending {
        message,
        in_last_step: failed_in.is_some(),
        notes,
    }
}

/// An invariant that does not hold in the state that the narrator is in.
pub(crate) fn broken_invariant(narrator: &mut Narrator, place: raddle_explore::Place) -> Note {
    Note {
        thread: None,
        at: narrator.spot_of(place),
        text: invariant_values(narrator, place),
    }
}

/// The message of a deadlock.
pub(crate) fn deadlock(blocked: usize) -> String {
    match blocked {
        1 => "deadlock: one thread waits for ever".into(),
        n => format!("deadlock: {n} threads wait for ever"),
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
