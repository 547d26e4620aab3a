//! Violations become stories.

use raddle_explore::{Access, Cause, Fault, FaultKind, Property, System, ThreadId, Violation};
use raddle_lang::Span;
use raddle_machine::Machine;
use raddle_machine::narrate::{Narrator, Told};
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
        Property::Discipline => ViolationKind::Discipline,
    }
}

/// Runs the schedule of a violation again, and tells it.
pub(crate) fn story(machine: Machine, violation: &Violation) -> Story {
    let mut narrator = Narrator::new(machine);
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
    let known = "the search has found this";
    match &violation.cause {
        Cause::Fault { fault, .. } => failure(narrator, failed_in.expect(known), fault),
        Cause::Invariant { .. } => broken_invariant(narrator).expect(known),
        Cause::Deadlock { .. } => deadlock(narrator).expect(known),
        Cause::Race(race) => {
            let racers = [&race.first, &race.second].map(|racer| (racer.thread, racer.access));
            race_between(narrator, &racers)
        }
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
    }
}

/// The kind of a failure; none if the program only grew larger than can be kept.
pub(crate) fn failure_kind(fault: &Fault) -> Option<ViolationKind> {
    Some(match fault.kind {
        FaultKind::Assertion => ViolationKind::Assertion,
        FaultKind::Runtime => ViolationKind::Runtime,
        FaultKind::Invariant => ViolationKind::Invariant,
        FaultKind::Discipline => ViolationKind::Discipline,
        FaultKind::Capacity(_) => return None,
    })
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

fn race_between(narrator: &Narrator, racers: &[(ThreadId, Access); 2]) -> Ending {
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
