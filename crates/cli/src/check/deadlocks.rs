//! What is known about deadlocks that were not looked for, in words.

use raddle_explore::Place;
use raddle_explore::lock_order::{Deadlocks, PossibleDeadlock, Taken};
use raddle_machine::Machine;
use raddle_machine::narrate::Narrator;
use raddle_report::json::{self, PossibleDeadlockKind};
use raddle_report::story::Spot;

/// Why there may be a deadlock, with words for it.
#[derive(Default)]
pub(super) struct Reasons {
    pub(super) list: Vec<Reason>,
}

/// One reason.
pub(super) struct Reason {
    kind: PossibleDeadlockKind,
    /// In a few words, without places.
    what: String,
    /// For a circle, what is taken where.
    details: Vec<String>,
    places: Vec<Spot>,
}

impl Reasons {
    /// Finds the words.
    pub(super) fn new(deadlocks: &Deadlocks, machine: &Machine) -> Self {
        let narrator = Narrator::new(machine.clone());
        let reason = |possible: &PossibleDeadlock| {
            let spot = |place: Place| narrator.statement_spot(place);
            match possible {
                PossibleDeadlock::Circle(circle) => Reason {
                    kind: PossibleDeadlockKind::Circle,
                    what: "locks are taken in a circle".into(),
                    details: circle
                        .iter()
                        .map(|taken| held_and(taken, machine))
                        .collect(),
                    places: circle.iter().map(|taken| spot(taken.place)).collect(),
                },
                PossibleDeadlock::Waits(place) => Reason {
                    kind: PossibleDeadlockKind::Wait,
                    what: "threads wait for more than locks".into(),
                    details: Vec::new(),
                    places: vec![spot(*place)],
                },
                PossibleDeadlock::EndsHolding { lock, place } => Reason {
                    kind: PossibleDeadlockKind::End,
                    what: format!(
                        "a thread can end while it holds {}",
                        machine.variable_name(*lock)
                    ),
                    details: Vec::new(),
                    places: vec![spot(*place)],
                },
            }
        };
        let list = match deadlocks {
            Deadlocks::Excluded => Vec::new(),
            Deadlocks::Possible(list) => list.iter().map(reason).collect(),
        };
        Self { list }
    }

    /// The first reason, in one line.
    pub(super) fn first(&self) -> String {
        match self.list.first() {
            Some(reason) => reason.line(),
            None => "the order of locks is not known as a whole".into(),
        }
    }

    /// For reports.
    pub(super) fn to_json(&self) -> Vec<json::PossibleDeadlock> {
        let one = |reason: &Reason| json::PossibleDeadlock {
            kind: reason.kind,
            message: match reason.details.as_slice() {
                [] => reason.what.clone(),
                details => format!("{}: {}", reason.what, details.join(", ")),
            },
            places: reason.places.iter().map(json::Unreached::from).collect(),
        };
        self.list.iter().map(one).collect()
    }
}

impl Reason {
    /// `locks are taken in a circle (a.rad:3, a.rad:8)`
    fn line(&self) -> String {
        let places: Vec<_> = self.places.iter().map(short).collect();
        format!("{} ({})", self.what, places.join(", "))
    }

    /// The reason, and under it what is taken where.
    pub(super) fn lines(&self) -> Vec<String> {
        if self.details.is_empty() {
            return vec![self.line()];
        }
        let details = self.details.iter().zip(&self.places);
        let details = details.map(|(detail, spot)| format!("  {detail} ({})", short(spot)));
        std::iter::once(format!("{}:", self.what))
            .chain(details)
            .collect()
    }
}

fn held_and(taken: &Taken, machine: &Machine) -> String {
    let (new, held) = (
        machine.variable_name(taken.taken),
        machine.variable_name(taken.held),
    );
    match new == held {
        true => format!("{new} while it is held already"),
        false => format!("{new} while {held} is held"),
    }
}

fn short(spot: &Spot) -> String {
    format!("{}:{}", spot.file, spot.line)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use raddle_explore::{Position, System, Variable};
    use raddle_lang::Source;
    use raddle_machine::Granularity;

    use super::*;

    /// A program whose threads are about to take locks in lines 2 and 3, and these places.
    fn program() -> (Machine, [Place; 2]) {
        let text = "mutex a; mutex b;\nvoid x() { lock(a); lock(b); }\n\
                    void y() { lock(b); lock(a); }\nrun x() || y();\n";
        let (program, _) = raddle_machine::load(Source::new("a.rad", text));
        let program = Arc::new(program.expect("it compiles"));
        let mut machine = Machine::new(program, Granularity::Access);
        let state = machine.initial();
        let places = [0, 1].map(|thread| machine.place(&state, Position(thread)));
        (machine, places)
    }

    #[test]
    fn a_circle_is_told_with_its_places() {
        let (machine, [first, second]) = program();
        let (a, b) = (Variable(0), Variable(1));
        let taken = |held, taken, place| Taken { held, taken, place };
        let circle = vec![taken(a, b, first), taken(b, a, second)];
        let deadlocks = Deadlocks::Possible(vec![PossibleDeadlock::Circle(circle)]);
        let reasons = Reasons::new(&deadlocks, &machine);
        assert_eq!(
            reasons.first(),
            "locks are taken in a circle (a.rad:2, a.rad:3)"
        );
        let (a, b) = (machine.variable_name(a), machine.variable_name(b));
        assert_eq!(
            reasons.list[0].lines(),
            [
                "locks are taken in a circle:".to_owned(),
                format!("  {b} while {a} is held (a.rad:2)"),
                format!("  {a} while {b} is held (a.rad:3)"),
            ]
        );
        let json = reasons.to_json();
        assert_eq!(json[0].kind, PossibleDeadlockKind::Circle);
        assert_eq!(json[0].places[1].line, 3);
    }

    #[test]
    fn other_reasons_are_one_line() {
        let (machine, [place, _]) = program();
        let lock = Variable(0);
        let deadlocks = Deadlocks::Possible(vec![
            PossibleDeadlock::Waits(place),
            PossibleDeadlock::EndsHolding { lock, place },
        ]);
        let reasons = Reasons::new(&deadlocks, &machine);
        assert_eq!(
            reasons.list[0].lines(),
            ["threads wait for more than locks (a.rad:2)"]
        );
        assert!(
            reasons.list[1]
                .line()
                .starts_with("a thread can end while it holds ")
        );
        assert!(Reasons::new(&Deadlocks::Excluded, &machine).list.is_empty());
    }
}
