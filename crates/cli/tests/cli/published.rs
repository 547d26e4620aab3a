//! `--count-self-loops` gives the numbers of published tables.

use crate::support::raddle;

#[test]
fn published_numbers_are_reproduced() {
    for (program, self_loops, states, transitions) in [
        ("philosophers-2", "all", "11", "22"),
        ("philosophers-7", "all", "4,287", "30,009"),
        ("shared-ptr", "all", "32,131", "64,262"),
        ("shared-array", "all", "2,276", "4,552"),
        ("robots-2", "all", "4,877", "9,754"),
        ("indexer-5", "blocked", "3,125", "12,500"),
        ("file-system-4", "blocked", "6,561", "23,328"),
    ] {
        let path = format!("corpus/papers/cartesian-{program}.rad");
        let full = ["check", &path, "--reduction", "full"];
        raddle(&[&full[..], &["--count-self-loops", self_loops]].concat())
            .exits(0)
            .says(&[&format!(
                "verified: {states} states, {transitions} transitions,"
            )]);
    }
}

#[test]
fn self_loops_are_not_counted_by_default() {
    let path = "corpus/papers/cartesian-philosophers-2.rad";
    let full = ["check", path, "--reduction", "full"];
    raddle(&full).says(&["11 states, 14 transitions"]);
    let json = [
        "check",
        path,
        "--reduction",
        "full",
        "--count-self-loops",
        "all",
        "--format",
        "json",
    ];
    assert_eq!(raddle(&json).exits(0).json()["transitions"], 22);
}
