//! The litmus tests of the corpus under each memory model: how many graphs there are, how they end, and what is wrong.
//!
//! `RADDLE_UPDATE=1 cargo test -p raddle-graphs --test litmus` counts anew, and writes the keys `sc`, `ra` and `rc11` of the `.expect` files; nothing else
//! in them is changed. (All other keys are of [the corpus](../../machine/tests/corpus/main.rs).)

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use raddle_explore::Property;
use raddle_graphs::{Examination, Model, Settings, Violation, examine};
use raddle_lang::Source;
use raddle_machine::{Granularity, Machine};

const MODELS: [Model; 3] = [Model::Sc, Model::Ra, Model::Rc11];

fn run(path: &Path, model: Model) -> Examination {
    let text = std::fs::read_to_string(path).expect("the program can be read");
    let (program, problems) = raddle_machine::load(Source::new("t.rad", text));
    let program = program.unwrap_or_else(|| panic!("{}: {problems:?}", path.display()));
    let mut machine = Machine::new(Arc::new(program), Granularity::Access);
    let settings = Settings {
        all: true,
        ..Settings::default()
    };
    let found = examine(&mut machine, model, &settings, &mut |_| {});
    found.unwrap_or_else(|unsupported| panic!("{}: {unsupported:?}", path.display()))
}

/// `assertion @ 17`
fn named(violation: &Violation) -> String {
    let line = violation.story.ending.notes[0].at.line;
    match violation.property {
        Property::Deadlock | Property::Race => violation.property.name().to_owned(),
        property => format!("{} @ {line}", property.name()),
    }
}

/// `3 complete, 1 failed, assertion @ 17`. A race ends the exploration, so graphs are not counted then.
fn outcome(found: &Examination) -> String {
    let wrong: BTreeSet<String> = found.violations.iter().map(named).collect();
    if wrong.contains("race") {
        return "race".into();
    }
    assert!(found.explored.is_exhausted());
    let ends = &found.statistics.ends;
    let counts = [
        (ends.terminated, "complete"),
        (ends.deadlocked, "deadlocked"),
        (ends.failed, "failed"),
        (ends.cut, "cut"),
        (found.noticed.hanging, "hanging"),
        (found.noticed.blocked, "blocked"),
    ];
    let total: u64 = counts.iter().map(|(count, _)| count).sum();
    assert_eq!(total, found.statistics.executions);
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts = counts.map(|(count, what)| format!("{count} {what}"));
    counts.chain(wrong).collect::<Vec<_>>().join(", ")
}

fn programs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/litmus");
    let entries = std::fs::read_dir(folder).expect("there are litmus tests");
    let paths = entries.map(|entry| entry.expect("the folder can be listed").path());
    let mut programs: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "rad"))
        .collect();
    programs.sort();
    programs
}

/// The value of a key.
fn value<'t>(expected: &'t str, key: &str) -> Option<&'t str> {
    let pairs = expected.lines().filter_map(|line| line.split_once(" = "));
    pairs
        .into_iter()
        .find(|pair| pair.0 == key)
        .map(|pair| pair.1)
}

#[test]
fn litmus_tests_have_their_graphs() {
    let update = std::env::var_os("RADDLE_UPDATE").is_some_and(|value| value == "1");
    let mut problems = String::new();
    for path in programs() {
        let sidecar = path.with_extension("expect");
        let expected = std::fs::read_to_string(&sidecar).expect("there is an expectation");
        let mut counted = String::new();
        for model in MODELS {
            let (key, found) = (model.name(), outcome(&run(&path, model)));
            let should = value(&expected, key);
            if should != Some(&found) {
                let name = path.display();
                problems += &format!("  {name}: {key} = {found}, and not {should:?}\n");
            }
            counted += &format!("{key} = {found}\n");
        }
        if update {
            let is_counted = |line: &&str| {
                let key = line.split(" = ").next().unwrap_or_default();
                MODELS.iter().any(|model| model.name() == key)
            };
            let others: String = expected
                .lines()
                .filter(|line| !is_counted(line))
                .flat_map(|line| [line, "\n"])
                .collect();
            std::fs::write(sidecar, others + &counted).expect("it can be written");
        }
    }
    assert!(update || problems.is_empty(), "\n{problems}");
}

/// What is wrong under sequential consistency is what a search of all interleavings finds, and a weaker model has it too, unless it races.
#[test]
fn weaker_models_have_more_violations() {
    for path in programs() {
        let wrong = |model| -> BTreeSet<String> {
            run(&path, model).violations.iter().map(named).collect()
        };
        let (sc, ra, rc11) = (wrong(Model::Sc), wrong(Model::Ra), wrong(Model::Rc11));
        let sidecar = path.with_extension("expect");
        let expected = std::fs::read_to_string(&sidecar).expect("there is an expectation");
        let of_search = expected
            .lines()
            .filter_map(|line| line.strip_prefix("violation = "));
        let of_search: BTreeSet<String> = of_search.map(str::to_owned).collect();
        assert_eq!(sc, of_search, "{}", path.display());
        for (weak, strong) in [(&rc11, &sc), (&ra, &rc11)] {
            let is_more = weak.contains("race") || weak.is_superset(strong);
            assert!(is_more, "{}: {weak:?} {strong:?}", path.display());
        }
    }
}
