//! One claim, wherever it is made: the verdict, the exit code, the report for programs and the words for people follow from what
//! was explored and found, for each kind of assumption.

#[path = "support/schema.rs"]
mod schema;

use raddle_outcome::{Explored, Extent, Kind, LeftOut, Verdict};
use raddle_report::answer::Answer;
use raddle_report::json::{CheckReport, Violation, ViolationKind};
use raddle_report::story::{Spot, Story};
use serde_json::Value;

/// Kinds that take nothing away. Every other kind, a new one too, makes a check without a violation inconclusive.
const HARMLESS: [&str; 3] = ["assume", "load-buffering", "unseen-counts"];

fn explored(kind: Option<Kind>, extent: Extent) -> Explored<Spot> {
    let mut explored = Explored::default();
    if let Some(kind) = kind {
        explored.assume(kind.at(Spot {
            file: "a.rad".into(),
            line: 3,
            column: 5,
            text: String::new(),
        }));
    }
    explored.covered(LeftOut::default().covering(extent));
    explored
}

fn json(explored: &Explored<Spot>, violations: usize) -> Value {
    let violation = Violation::new(ViolationKind::Assertion, &Story::default());
    let report = CheckReport::of(explored, vec![violation; violations]);
    let report: Value = serde_json::from_str(&report.to_json()).expect("it is JSON");
    assert_eq!(schema::differences(&report), [""; 0], "{report}");
    report
}

#[test]
fn every_kind_of_assumption_is_told_alike_everywhere() {
    for kind in Kind::ALL.iter().map(|kind| Some(*kind)).chain([None]) {
        for extent in [Extent::All, Extent::UpToBound(1), Extent::Some] {
            for violations in 0..3 {
                let explored = explored(kind, extent);
                let is_harmless = kind.is_none_or(|kind| HARMLESS.contains(&kind.name()));
                // Said here once more, by itself.
                let (name, exit_code) = match violations {
                    1.. => ("violation", 1),
                    0 if is_harmless && extent == Extent::All => ("verified", 0),
                    0 => ("inconclusive", 3),
                };
                let what = format!("{kind:?}, {extent:?}, {violations} violations");

                let verdict = Verdict::of(violations, &explored);
                assert_eq!(
                    (verdict.name(), verdict.exit_code()),
                    (name, exit_code),
                    "{what}"
                );

                let report = json(&explored, violations);
                assert_eq!(report["verdict"], name, "{what}");
                let is_open = name == "inconclusive";
                assert_eq!(report["reason"].is_string(), is_open, "{what}");
                let assumptions = report["assumptions"].as_array().expect("a list");
                if let Some(kind) = kind {
                    let mut alike = assumptions.iter().filter(|one| one["kind"] == kind.name());
                    let told = alike.next().unwrap_or_else(|| panic!("{what}: {report}"));
                    assert_eq!(told["incomplete"], !is_harmless, "{what}");
                    assert_eq!(told["place"]["line"], 3, "{what}");
                    let reason = report["reason"].as_str().unwrap_or_default();
                    let is_reason = reason.contains(kind.message());
                    assert_eq!(is_reason, is_open && !is_harmless, "{what}: {reason}");
                }

                let answer = Answer::of(&explored, violations);
                assert_eq!(answer.verdict, verdict, "{what}");
                assert_eq!(
                    report["reason"].as_str(),
                    answer.reason.as_deref(),
                    "{what}"
                );
                let headline = match (answer.verified_up_to_bound, violations) {
                    (Some(1), 0) => "verified up to bound 1",
                    (None, 2) => "2 violations",
                    (None, _) => name,
                    other => panic!("{what}: {other:?}"),
                };
                assert_eq!(answer.headline(), headline, "{what}");
                // Only what is not verified is verified up to a bound.
                assert!(answer.verified_up_to_bound.is_none() || is_open, "{what}");
            }
        }
    }
}

/// All that was left out is a reason, and nothing else is.
#[test]
fn reasons_are_told_together() {
    let mut explored = explored(Some(Kind::WeakOrdering), Extent::UpToBound(2));
    explored.assume(Kind::Time);
    explored.assume(Kind::Assume);
    let reason = Answer::of(&explored, 0).reason.expect("it is inconclusive");
    let said: Vec<_> = reason.split("; ").collect();
    assert_eq!(
        said,
        [
            "atomics were run as sequentially consistent, though the program asks for less, at a.rad:3:5",
            "not all executions beyond the bound on preemptions were run: those with more than 2",
            "the limit on time was reached",
        ]
    );
}
