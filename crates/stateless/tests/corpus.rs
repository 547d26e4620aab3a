//! The explorers against the full search, on the programs of the corpus that end soon.
#![allow(missing_docs)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use raddle_explore::reductions::full::Full;
use raddle_explore::{Place, Property, Search, Violation};
use raddle_lang::Source;
use raddle_machine::{Granularity, Machine};
use raddle_schedule::explorers::{Algorithm1, Algorithm2, Bounded, Deepening, Dfs, Optimal};
use raddle_schedule::{Explorer, Extent};
use raddle_stateless::{Examination, Settings, examine};

/// Programs with longer executions are left out, and those with more of them.
const LONGEST: usize = 60;
const MOST_EXECUTIONS: u64 = 200;
/// What naive enumeration is tried for.
const MOST_NAIVE_EXECUTIONS: u64 = 2_000;

/// One execution, but of threads that have nothing to do with each other: algorithm 1 visits all of its 50,000 parts.
const WIDE: &str = "corpus/papers/cartesian-file-system-5.rad";

/// The violations: what, and where.
type Found = BTreeSet<(Property, Vec<Place>)>;

fn found(violations: &[Violation]) -> Found {
    let key = |violation: &Violation| {
        let mut places = violation.places();
        places.sort_unstable();
        (violation.property(), places)
    };
    violations.iter().map(key).collect()
}

fn run(machine: &Machine, explorer: &mut impl Explorer, most: u64) -> Examination {
    run_with(1, &mut machine.clone(), explorer, most)
}

fn run_with(
    workers: usize,
    machine: &mut Machine,
    explorer: &mut impl Explorer,
    most: u64,
) -> Examination {
    let settings = Settings {
        all: true,
        max_length: LONGEST,
        max_executions: Some(most),
        workers,
        ..Settings::default()
    };
    examine(machine, explorer, &settings)
}

/// Compares the explorers on a program. Returns whether it is small enough.
fn compare(machine: &Machine, problems: &mut Vec<String>) -> Option<bool> {
    let optimal = run(machine, &mut Optimal::default(), MOST_EXECUTIONS);
    if optimal.explored.extent() == Extent::Some {
        return None;
    }
    let second = run(
        machine,
        &mut Algorithm2::UNBOUNDED.clone(),
        2 * MOST_EXECUTIONS,
    );
    let classes = classes_of(&second);
    let full = Search::new()
        .collect_all()
        .run(&mut machine.clone(), &mut Full::default());
    let expected = found(&full.violations);
    let mut expect = |what: &str, is: String, should: String| {
        if is != should {
            problems.push(format!("{what}: {is}, and not {should}"));
        }
    };
    let mut all = |what: &str, run: &Examination| {
        expect(
            &format!("{what} finds"),
            format!("{:?}", found(&run.violations)),
            format!("{expected:?}"),
        );
        expect(
            &format!("classes of {what}"),
            format!(
                "{} of {} {:?}",
                classes_of(run),
                run.statistics.executions,
                run.explored.extent()
            ),
            format!("{classes} of {classes} {:?}", Extent::All),
        );
    };
    all("algorithm 2", &second);
    all("optimal", &optimal);
    let mut unbounded = Algorithm1 {
        bound: u32::MAX,
        ..Algorithm1::default()
    };
    all(
        "algorithm 1",
        &run(machine, &mut unbounded, 2 * MOST_EXECUTIONS),
    );
    let naive = run(machine, &mut Dfs::default(), MOST_NAIVE_EXECUTIONS);
    if naive.explored.extent() != Extent::Some {
        expect(
            "naive search finds",
            format!("{:?}", found(&naive.violations)),
            format!("{expected:?}"),
        );
        expect(
            "classes of naive search",
            classes_of(&naive).to_string(),
            classes.to_string(),
        );
    }
    for bound in 0..=2 {
        let mut dfs = Dfs { bound: Some(bound) };
        let naive = run(machine, &mut dfs, MOST_NAIVE_EXECUTIONS);
        let mut algorithm1 = Algorithm1 {
            bound,
            ..Algorithm1::default()
        };
        let one = run(machine, &mut algorithm1, 2 * MOST_EXECUTIONS);
        let two = run(machine, &mut Algorithm2 { bound }, 2 * MOST_EXECUTIONS);
        let mut iterative = Deepening { bound: Some(bound) };
        for (what, again) in [
            (
                "bounded",
                run(machine, &mut Bounded::new(bound), MOST_NAIVE_EXECUTIONS),
            ),
            (
                "iterative",
                run(machine, &mut iterative, MOST_NAIVE_EXECUTIONS),
            ),
        ] {
            expect(
                &format!("{what} within bound {bound} finds"),
                format!("{:?}", found(&again.violations)),
                format!("{:?}", found(&two.violations)),
            );
            expect(
                &format!("classes of {what} within bound {bound}"),
                classes_of(&again).to_string(),
                classes_of(&two).to_string(),
            );
            // The bound may have cut only what has a schedule within it.
            let is_less = again.explored.extent() == Extent::UpToBound(bound);
            if !is_less || two.explored.extent() == Extent::Some {
                expect(
                    &format!("{what} within bound {bound} covers"),
                    format!("{:?}", again.explored.extent()),
                    format!("{:?}", two.explored.extent()),
                );
            }
        }
        for (what, run) in [("algorithm 1", one), ("algorithm 2", two)] {
            if naive.explored.extent() != Extent::Some {
                expect(
                    &format!("{what} within bound {bound} finds"),
                    format!("{:?}", found(&run.violations)),
                    format!("{:?}", found(&naive.violations)),
                );
                expect(
                    &format!("classes of {what} within bound {bound}"),
                    format!("{} of {}", classes_of(&run), run.statistics.executions),
                    format!("{0} of {0}", classes_of(&naive)),
                );
            }
        }
    }
    Some(naive.explored.extent() != Extent::Some)
}

#[test]
fn explorers_agree_with_the_full_search_on_the_corpus() {
    let programs = programs();
    let (mut compared, mut enumerated) = (0, 0);
    let mut report = String::new();
    for (name, machine) in &programs {
        let mut problems = Vec::new();
        if let Some(naive) = compare(machine, &mut problems) {
            compared += 1;
            enumerated += usize::from(naive);
        }
        for problem in problems {
            report += &format!("  {name}: {problem}\n");
        }
    }
    println!(
        "{} programs, {compared} compared, {enumerated} with naive search",
        programs.len()
    );
    assert!(report.is_empty(), "\n{report}");
    assert!(
        compared >= 90 && enumerated >= 70,
        "{compared} {enumerated}"
    );
}

/// The classes of the executions, which are always counted.
fn classes_of(found: &Examination) -> u64 {
    found.statistics.classes.expect("they are counted")
}

/// What does not depend on the number of workers.
fn essence(found: &Examination, machine: &Machine) -> String {
    format!(
        "{:?} {:?}, {} executions of {} classes, longest {:?}; {:?}; {:?}; {:?}; never {:?}",
        found.explored.extent(),
        found.explored.assumptions(),
        found.statistics.executions,
        classes_of(found),
        found.statistics.longest,
        found.statistics.ends,
        found.statistics.within_bounds,
        self::found(&found.violations),
        machine.unreached(),
    )
}

/// Compares three workers with one. Returns whether the program is small enough.
fn compare_workers(
    machine: &Machine,
    explorer: &(impl Explorer + Clone),
    problems: &mut Vec<String>,
) -> bool {
    let run = |workers| {
        let mut machine = machine.clone();
        let found = run_with(
            workers,
            &mut machine,
            &mut explorer.clone(),
            MOST_NAIVE_EXECUTIONS,
        );
        (
            found.explored.extent() != Extent::Some,
            essence(&found, &machine),
        )
    };
    let (small, alone) = run(1);
    if !small {
        return false;
    }
    let (_, together) = run(3);
    if together != alone {
        problems.push(format!("three workers: {together}\n    and one: {alone}"));
    }
    true
}

#[test]
fn several_workers_find_what_one_finds() {
    let mut report = String::new();
    let (mut compared, mut naive) = (0, 0);
    for (name, machine) in programs() {
        let mut problems = Vec::new();
        if compare_workers(&machine, &Optimal::default(), &mut problems) {
            compared += 1;
            for bound in 0..=1 {
                compare_workers(&machine, &Dfs { bound: Some(bound) }, &mut problems);
                compare_workers(&machine, &Algorithm2 { bound }, &mut problems);
            }
            let fits = compare_workers(&machine, &Dfs::default(), &mut problems);
            naive += usize::from(fits);
            if fits {
                compare_workers(&machine, &Algorithm2::UNBOUNDED, &mut problems);
                compare_workers(&machine, &Deepening::default(), &mut problems);
            }
        }
        for problem in problems {
            report += &format!("  {name}: {problem}\n");
        }
    }
    assert!(report.is_empty(), "\n{report}");
    assert!(compared >= 90 && naive >= 70, "{compared} {naive}");
}

/// The programs, and their names.
fn programs() -> Vec<(String, Machine)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = Vec::new();
    for folder in ["corpus", "examples"] {
        list(&root.join(folder), &mut paths);
    }
    let mut programs = Vec::new();
    for path in &paths {
        let text = std::fs::read_to_string(path).expect("it can be read");
        let name = path.strip_prefix(&root).unwrap_or(path);
        let name = name.display().to_string();
        let (program, _) = raddle_machine::load(Source::new(&name, &text));
        if let Some(program) = program.filter(|_| name != WIDE) {
            let machine = Machine::new(Arc::new(program), Granularity::Access);
            programs.push((name, machine));
        }
    }
    programs
}

fn list(folder: &Path, programs: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("the folder can be listed");
    for entry in entries {
        let path = entry.expect("the folder can be listed").path();
        if path.is_dir() {
            list(&path, programs);
        } else if path.extension().is_some_and(|found| found == "rad") {
            programs.push(path);
        }
    }
    programs.sort();
}
