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

/// Each cell of the table of the cartesian paper, in one call.
#[test]
fn a_comparison_counts_them_too() {
    let rows = |self_loops: &[&str], program: &str| {
        let path = format!("corpus/papers/cartesian-{program}.rad");
        let compare = ["compare", &path, "--format", "csv", "--reduction"];
        let which = ["full,cartesian-paper,cartesian"];
        let said = raddle(&[&compare[..], &which, self_loops].concat()).exits(0);
        let mut rows = said.stdout.lines().skip(1);
        [(); 3].map(|()| {
            let cells: Vec<_> = rows.next().unwrap().split(',').collect();
            let number = |column: usize| cells[column].parse::<u64>().unwrap();
            (number(3), number(4))
        })
    };
    let all = ["--count-self-loops", "all"];
    let blocked = ["--count-self-loops", "blocked"];
    assert_eq!(
        rows(&all, "shared-ptr"),
        [(32_131, 64_262), (418, 12_785), (418, 12_368)]
    );
    assert_eq!(
        rows(&all, "philosophers-5"),
        [(393, 1_965), (295, 2_984), (289, 2_503)]
    );
    assert_eq!(
        rows(&blocked, "file-system-3"),
        [(729, 1_944), (1, 24), (1, 24)]
    );
    assert_eq!(rows(&[], "philosophers-2")[0], (11, 14));
}
