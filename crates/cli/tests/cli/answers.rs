//! The exit code, the report for programs and the words for people say the same.

use crate::support::{Said, raddle_reading};

const RIGHT: &str = "int x; void a() { atomic { x++; } } run a()[2];";
const WRONG: &str = "int x; void a() { x++; assert(x == 1); } run a()[2];";
const ENDLESS: &str = "int x; void w() { while (true) x++; } run w()[3];";
const VACUOUS: &str = "int x; void main() { assume(x == 1); }";
const ASSUMING: &str = "void main() { int n = choose(1..3); assume(n != 2); }";
const WAITS: &str = "int x; mutex m;
    void a() { lock(m); await(x == 1); unlock(m); } void b() { x = 1; } run a() || b();";
const MANY: &str = "void a() { int x = choose(0..1000000); assert(x >= 0); } run a();";

/// What there is to check, and the kinds of assumptions that the answer rests on.
const CHECKS: [(&str, &[&str], &[&str]); 24] = [
    (RIGHT, &[], &[]),
    (RIGHT, &["--explore", "optimal"], &[]),
    (RIGHT, &["--explore", "iterative"], &[]),
    (RIGHT, &["--explore", "dfs"], &[]),
    (WRONG, &[], &[]),
    (WRONG, &["--explore", "optimal"], &[]),
    (WRONG, &["--explore", "optimal", "--all"], &[]),
    (ENDLESS, &["--max-states", "5"], &["states"]),
    (ENDLESS, &["--max-depth", "3"], &["depth"]),
    (ENDLESS, &["--max-memory", "1K"], &["memory"]),
    (
        ENDLESS,
        &["--explore", "dfs", "--max-depth", "9"],
        &["steps"],
    ),
    (RIGHT, &["--store", "fingerprint"], &["fingerprints"]),
    (WRONG, &["--store", "fingerprint"], &["fingerprints"]),
    (RIGHT, &["--store", "fingerprint:128"], &["fingerprints"]),
    (RIGHT, &["--store", "bits:1M"], &["bits"]),
    (VACUOUS, &[], &["vacuous", "assume"]),
    (VACUOUS, &["--explore", "optimal"], &["assume", "vacuous"]),
    (ASSUMING, &["--reduction", "full"], &["assume"]),
    (ASSUMING, &["--explore", "optimal"], &["assume"]),
    (WAITS, &["--reduction", "transactions"], &["not-preserved"]),
    (MANY, &["--explore", "optimal"], &["alternatives"]),
    (
        RIGHT,
        &["--explore", "dfs", "--max-executions", "1"],
        &["executions"],
    ),
    (
        "int x; void a() { x++; x++; } run a()[2];",
        &["--explore", "bounded", "--bound", "0"],
        &["preemptions"],
    ),
    (
        RIGHT,
        &["--explore", "random", "--max-executions", "3"],
        &["random", "executions"],
    ),
];

fn check(program: &str, more: &[&str]) -> Said {
    raddle_reading(&[&["check", "-"], more].concat(), program)
}

#[test]
fn text_json_and_exit_code_agree() {
    for (program, more, kinds) in CHECKS {
        let what = format!("{more:?} {program}");
        let text = check(program, more);
        let json = check(program, &[more, &["--format", "json"]].concat());
        assert_eq!(text.code, json.code, "{what}");
        let report = json.json();

        let assumptions = report["assumptions"].as_array().expect("a list");
        let found: Vec<_> = assumptions.iter().map(|one| &one["kind"]).collect();
        assert_eq!(found, kinds, "{what}");
        let is_complete = assumptions.iter().all(|one| one["incomplete"] == false);
        let violations = report["violations"].as_array().expect("a list").len();
        let (verdict, code) = match (violations, is_complete) {
            (1.., _) => ("violation", 1),
            (0, true) => ("verified", 0),
            (0, false) => ("inconclusive", 3),
        };
        assert_eq!(report["verdict"], verdict, "{what}");
        assert_eq!(json.code, Some(code), "{what}");

        let headline = match &report["exploration"]["verified_up_to_bound"] {
            bound if bound.is_number() => format!("verified up to bound {bound}: "),
            _ if violations > 1 => format!("{violations} violations: "),
            _ => format!("{verdict}: "),
        };
        let mut lines = text.stdout.lines();
        assert!(
            lines.any(|line| line.starts_with(&headline)),
            "{what}: there is no `{headline}` in {}",
            text.stdout
        );
        // What a reduction does not preserve is told with the reduction.
        if let Some(reason) = report["reason"].as_str()
            && kinds != ["not-preserved"]
        {
            let line = format!("  {reason}");
            assert!(text.stdout.lines().any(|one| one == line), "{what}: {line}");
        }
    }
}

/// `check` and `compare` say the same of one reduction.
#[test]
fn comparisons_give_the_same_answers() {
    for program in [RIGHT, WRONG, VACUOUS, WAITS] {
        for reduction in ["full", "cartesian", "transactions"] {
            let more = ["--reduction", reduction, "--format", "json"];
            let checked = check(program, &[&more[..], &["--all"]].concat()).json();
            let compared = raddle_reading(&[&["compare", "-"], &more[..]].concat(), program);
            let row = &compared.json()["files"][0]["rows"][0];
            assert_eq!(row["verdict"], checked["verdict"], "{reduction}: {program}");
            assert_eq!(row["reason"], checked["reason"], "{reduction}: {program}");
        }
    }
}
