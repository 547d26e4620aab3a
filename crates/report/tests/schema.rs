//! The schema of reports, and what it refuses.

#[path = "support/schema.rs"]
mod schema;

use raddle_outcome::Verdict;
use raddle_report::json::CheckReport;
use serde_json::{Value, json};

fn report(verdict: Verdict) -> Value {
    let report = CheckReport {
        verdict,
        ..CheckReport::default()
    };
    serde_json::from_str(&report.to_json()).expect("a report is JSON")
}

#[test]
fn reports_fit() {
    for verdict in [Verdict::Verified, Verdict::Inconclusive, Verdict::Error] {
        assert_eq!(schema::differences(&report(verdict)), [""; 0]);
    }
}

/// The schema can fail: a field that is missing, one of another type, and a verdict that does not follow from the rest.
#[test]
fn what_is_no_report_does_not_fit() {
    let broken = |change: fn(&mut Value)| {
        let mut report = report(Verdict::Verified);
        change(&mut report);
        schema::differences(&report).len()
    };
    assert_eq!(broken(|_| ()), 0);
    assert_eq!(broken(|report| report["states"] = json!("many")), 1);
    assert_eq!(broken(|report| report["version"] = json!(7)), 1);
    assert_eq!(broken(|report| report["verdict"] = json!("bounded")), 1);
    let unnamed = |report: &mut Value| {
        report.as_object_mut().expect("an object").remove("reason");
    };
    assert_eq!(broken(unnamed), 1);
    let assumption = json!({ "kind": "time", "message": "", "place": null, "incomplete": true });
    let mut unsound = report(Verdict::Verified);
    unsound["assumptions"] = json!([assumption]);
    assert_eq!(schema::differences(&unsound).len(), 1);
    assert_eq!(schema::differences(&report(Verdict::Violation)).len(), 1);
}
