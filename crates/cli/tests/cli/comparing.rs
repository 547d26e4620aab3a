//! `raddle compare`: tables, formats, and what goes wrong.

use crate::support::{ENDLESS, Folder, raddle, raddle_reading};

const IGNORING: &str = "corpus/papers/cpc-figure-1-ignoring.rad";
const PETERSON: &str = "corpus/classics/peterson.rad";

/// The sound reductions that must be there, and the unsound one.
const REDUCTIONS: [&str; 9] = [
    "full",
    "optimistic",
    "transactions",
    "transactions-cycle",
    "transactions-cpc",
    "transactions-cpc-l19",
    "cartesian",
    "cartesian-paper",
    "transactions-none",
];

#[test]
fn a_table_has_a_row_for_every_reduction() {
    let said = raddle(&["compare", PETERSON]).exits(0).complains_not();
    let rows: Vec<_> = said.stdout.lines().collect();
    assert!(rows[0].starts_with("reduction "), "{}", said.stdout);
    for name in REDUCTIONS {
        let row = rows.iter().find(|row| row.split(' ').next() == Some(name));
        assert!(row.is_some(), "{name} is missing in\n{}", said.stdout);
    }
    said.says(&["full  ", " 72  ", "verified", "transactions-none (unsound)"]);
}

#[test]
fn what_an_unsound_reduction_misses_is_remarked() {
    let said = raddle(&["compare", IGNORING]).exits(0);
    let unsound = said.stdout.lines().find(|line| line.contains("(unsound)"));
    let unsound = unsound.expect("there is a row");
    assert!(
        unsound.contains("nothing found; misses: assertion @ 19"),
        "{unsound}"
    );
    assert_eq!(said.stdout.matches("misses").count(), 1);

    let report = raddle(&["compare", IGNORING, "--format", "json"])
        .exits(0)
        .json();
    let rows = report["files"][0]["rows"].as_array().unwrap();
    let unsound = rows.iter().find(|row| row["sound"] == false).unwrap();
    assert_eq!(unsound["misses"][0]["kind"], "assertion");
    assert_eq!(unsound["misses"][0]["line"], 19);
    assert_eq!(rows[0]["violations"], unsound["misses"]);
}

#[test]
fn several_files_have_several_tables_and_broken_ones_do_not_stop_it() {
    let folder = Folder::new("comparing-broken");
    let broken = folder.write("broken.rad", "int x");
    let files = ["compare", "no/such.rad", PETERSON, &broken, IGNORING];
    let said = raddle(&files).exits(2);
    assert_eq!(said.stdout.matches("reduction ").count(), 2);
    said.says(&[PETERSON, IGNORING])
        .complains(&["cannot read no/such.rad", "has an error"]);

    let report = raddle(&[&files[..], &["--format", "json"]].concat())
        .exits(2)
        .json();
    assert_eq!(report["version"], 1);
    let files = report["files"].as_array().unwrap();
    assert_eq!(files.len(), 4);
    assert!(files[0]["error"].as_str().unwrap().contains("cannot read"));
    assert!(files[1]["error"].is_null());
    assert!(!files[2]["diagnostics"].as_array().unwrap().is_empty());
    assert_eq!(files[3]["disagreements"], serde_json::json!([]));
}

#[test]
fn rows_can_be_selected() {
    let select = ["compare", PETERSON, "--reduction", "transactions,full"];
    let said = raddle(&select).exits(0);
    let names: Vec<_> = (said.stdout.lines().skip(2))
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(names, ["transactions", "full"]);
    for unknown in ["nothing", "auto"] {
        raddle(&["compare", PETERSON, "--reduction", unknown])
            .exits(2)
            .complains(&["no reduction", "there are: full"]);
    }
}

#[test]
fn comma_separated_values_are_one_table() {
    let said = raddle(&["compare", PETERSON, IGNORING, "--format", "csv"]).exits(0);
    let mut lines = said.stdout.lines();
    let header = lines.next().unwrap();
    assert!(
        header.starts_with("file,reduction,sound,states,"),
        "{header}"
    );
    assert!(lines.clone().count() >= 2 * REDUCTIONS.len());
    let first = lines.next().unwrap();
    assert!(first.starts_with("corpus/classics/peterson.rad,full,true,72,144,0,0,1,"));
    assert_eq!(first.split(',').count(), header.split(',').count());
}

#[test]
fn each_search_is_limited() {
    for (limit, value, reason) in [
        ("--max-states", "100", "the limit on states was reached"),
        ("--timeout", "50ms", "the limit on time was reached"),
        ("--max-memory", "1M", "the limit on memory was reached"),
    ] {
        let mut arguments = vec![
            "compare",
            "-",
            "--reduction",
            "full,transactions",
            limit,
            value,
        ];
        if limit != "--max-states" {
            arguments.extend(["--max-states", "3M"]);
        }
        let said = raddle_reading(&arguments, ENDLESS).exits(0);
        assert_eq!(said.stdout.matches(reason).count(), 2, "{}", said.stdout);
    }
}

#[test]
fn properties_and_steps_can_be_selected() {
    let program = "int x; mutex m;
        void a() { x = 1; lock(m); lock(m); }
        void b() { x = 2; }
        run a() || b();";
    let compare = |options: &[&str]| {
        let arguments = [
            &["compare", "-", "--reduction", "full,transactions"],
            options,
        ];
        raddle_reading(&arguments.concat(), program).exits(0)
    };
    compare(&[]).says(&[" deadlock\n", "inconclusive; deadlock not checked\n"]);
    compare(&["--property", "all"]).says(&[
        " deadlock, race\n",
        "inconclusive; deadlock, race not checked\n",
    ]);
    let said = compare(&["--property", "assertion", "--granularity", "statement"]);
    assert_eq!(said.stdout.matches(" verified\n").count(), 2);
    let ascii = compare(&["--ascii", "--search", "dfs"]);
    assert!(ascii.stdout.is_ascii());
}

#[test]
fn deadlocks_that_are_excluded_are_said_to_be() {
    let program = "int x; void w() { x = 1; } run w()[2];";
    let arguments = ["compare", "-", "--reduction", "transactions"];
    raddle_reading(&arguments, program)
        .exits(0)
        .says(&["verified; deadlock excluded\n"]);
}

#[test]
fn several_workers_count_the_same() {
    let program = "int x; void w() { for (int i = 0; i < 4; i++) x++; } run w()[3];";
    let counts = |workers: &str| {
        let options = [
            "--reduction",
            "full,cartesian,transactions",
            "--format",
            "json",
        ];
        let arguments = [&["compare", "-", "--workers", workers], &options[..]].concat();
        let report = raddle_reading(&arguments, program).exits(0).json();
        let rows = report["files"][0]["rows"].as_array().expect("rows").clone();
        let count = |row: &serde_json::Value| {
            ["states", "transitions", "interior_states"].map(|what| row[what].clone())
        };
        rows.iter().map(count).collect::<Vec<_>>()
    };
    let alone = counts("1");
    assert_eq!(alone.len(), 3);
    assert_eq!(alone, counts("2"));
}
