//! Threads that do the same are interchangeable.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use raddle_explore::{
    Order, Outcome, Packed, Place, Property, PropertySet, Search, Step, System, Verdict, reductions,
};
use raddle_machine::{Granularity, Machine, Program, Symmetry, counterexample};

fn program(text: &str) -> Arc<Program> {
    let source = raddle_lang::Source::new("test.rad", text);
    let (program, problems) = raddle_machine::load(source);
    Arc::new(program.unwrap_or_else(|| panic!("{problems:?}")))
}

fn machine(program: &Arc<Program>, symmetry: bool) -> Machine {
    Machine::new(Arc::clone(program), Granularity::Access).with_symmetry(symmetry)
}

fn search(program: &Arc<Program>, reduction: &str, symmetry: bool) -> Outcome {
    let mut machine = machine(program, symmetry);
    let mut reduction = reductions::by_name(reduction).expect("it exists");
    let search = Search::new().collect_all();
    search.run(&mut machine, reduction.as_mut())
}

fn groups(text: &str) -> Vec<Vec<usize>> {
    let machine = machine(&program(text), true);
    let groups = machine
        .symmetry()
        .map(|symmetry| symmetry.groups().to_vec());
    groups.unwrap_or_default()
}

#[test]
fn interchangeable_are_threads_that_start_alike() {
    let none: Vec<Vec<usize>> = Vec::new();
    assert_eq!(
        groups("int x; void f() { x = 1; } run f()[3];"),
        [[0, 1, 2]]
    );
    let two = "int x; void f(int k) { x = k; } void g() { x = 2; }
        run f(1) || g() || f(1) || f(2) || g();";
    assert_eq!(groups(two), [[0, 2], [1, 4]]);
    assert_eq!(
        groups("int x; void f(int k) { x = k; } run f(tid)[3];"),
        none
    );
    assert_eq!(groups("int x; void f() { x = tid; } run f()[3];"), none);
}

#[test]
fn threads_that_ask_who_they_are_are_not() {
    let none: Vec<Vec<usize>> = Vec::new();
    let calls = "int x; int me() { return tid; } void f() { x = me(); } run f()[2];";
    assert_eq!(groups(calls), none);
    let spawns =
        "int x; void g() { x = 1; } void f() { thread t = spawn g(); join(t); } run f()[2];";
    assert_eq!(groups(spawns), none);
    let disciplined =
        "int x; mutex m; int y guarded_by m; void f() { lock(m); y = 1; unlock(m); } run f()[2];";
    assert_eq!(groups(disciplined), none);
    // Whoever else asks does not matter.
    let other = "int x; void f() { x = 1; } void g() { x = tid; } run f()[2] || g();";
    assert_eq!(groups(other), [[0, 1]]);
}

/// Five threads with four local states each: multisets, not sequences.
#[test]
fn they_cost_multisets() {
    let program = program("void f() { yield; yield; yield; } run f()[5];");
    assert_eq!(
        search(&program, "full", false).statistics.states,
        4_u64.pow(5)
    );
    // Of five out of four kinds: 8 choose 3.
    assert_eq!(search(&program, "full", true).statistics.states, 56);
}

const PROGRAMS: &[&str] = &[
    "int x; void f() { int t = x; x = t + 1; } run f()[3];",
    // Who holds which lock is part of a local state.
    "mutex m[2]; int x; void f() { int i = choose(0..1); lock(m[i]); i = 0; x = x + 1; unlock(m[x & 1]); } run f()[3];",
    "rwlock w; int x; void f() { read_lock(w); int t = x; unlock(w); write_lock(w); x = t + 1; unlock(w); } run f()[3];",
    "mutex m; cond c; int x; void f() { lock(m); x = x + 1; while (x < 3) wait(c, m); notify(c); unlock(m); }
        void g() { lock(m); x = 5; notify(c); unlock(m); } run f()[3] || g();",
    // Two groups, and one that belongs to none.
    "semaphore s = 1; int x; void f() { down(s); x = x + 1; up(s); } void g() { x = 0; } void h() { assert(x < 4); }
        run f()[2] || g()[2] || h();",
    "chan<int, 1> c; void f() { send(c, 1); } void g() { int v = recv(c); assert(v == 1); } run f()[3] || g()[2];",
    // Values that have no short code.
    "int x; void f() { int t = x; x = t + 1000000; } run f()[3];",
    "struct Node { int v; Node* next; }; Node* head; void f() { Node* n = new Node; n->next = head; head = n; } run f()[3];",
];

/// What is stored is one copy of each state.
#[test]
fn representatives_of_all_states_are_stored() {
    for text in PROGRAMS {
        let program = program(text);
        let mut machine = machine(&program, true);
        let mut plain = machine.without_symmetry().expect("it is symmetric");
        let mut seen: HashSet<Packed> = HashSet::new();
        let mut representatives: HashSet<Packed> = HashSet::new();
        let mut waiting = vec![plain.initial()];
        let mut step = Step::default();
        while let Some(state) = waiting.pop() {
            let mut packed = Packed::default();
            plain.encode(&state, &mut packed);
            if !seen.insert(packed) {
                continue;
            }
            let mut representative = state.clone();
            machine.represent(&mut representative);
            let mut packed = Packed::default();
            machine.encode(&representative, &mut packed);
            representatives.insert(packed);
            // Representatives are their own.
            let again = representative.clone();
            machine.represent(&mut representative);
            assert_eq!(representative, again, "{text}");
            for thread in 0..plain.thread_count(&state) as u32 {
                let thread = raddle_explore::Position(thread);
                let mut after = Vec::new();
                plain.for_each_step(&state, thread, &mut step, |_, _, step| {
                    if step.status.makes_its_accesses() {
                        after.push(step.after.clone());
                    }
                });
                for mut state in after {
                    plain.canonicalise(&mut state);
                    waiting.push(state);
                }
            }
        }
        let found = search(&program, "full", true);
        let stored = found.statistics.states;
        match text.contains("new") {
            false => assert_eq!(stored, representatives.len() as u64, "{text}"),
            // Copies may have several, and not all of them are met.
            true => assert!(stored <= representatives.len() as u64, "{text}"),
        }
        let all = search(&program, "full", false);
        assert_eq!(all.statistics.states, seen.len() as u64, "{text}");
        assert!(found.statistics.states < all.statistics.states, "{text}");
    }
}

/// All reductions give the verdict of the full search, and schedules are executions of the program.
#[test]
fn verdicts_are_the_same() {
    for text in PROGRAMS {
        let program = program(text);
        for reduction in ["full", "cartesian", "transactions", "optimistic"] {
            let [plain, symmetric] =
                [false, true].map(|symmetry| search(&program, reduction, symmetry));
            assert!(symmetric.noticed.used_symmetry && !plain.noticed.used_symmetry);
            assert_eq!(plain.verdict(), symmetric.verdict(), "{reduction}: {text}");
            assert!(symmetric.statistics.states <= plain.statistics.states);
            for violation in &symmetric.violations {
                let verified = counterexample::verify(&program, Granularity::Access, violation);
                assert_eq!(verified, Ok(()), "{reduction}: {text}");
            }
        }
    }
}

/// The schedule says which of the waiters is woken by its position, and they were exchanged.
#[test]
fn a_waiter_that_was_exchanged_is_woken() {
    let program = program(
        "mutex m; cond c; int x;
        void f() { lock(m); x = x + 1; int mine = x; wait(c, m); assert(mine != 2); unlock(m); }
        void g() { lock(m); if (x == 3) notify(c); unlock(m); }
        run f()[3] || g();",
    );
    for reduction in ["full", "cartesian"] {
        let outcome = search(&program, reduction, true);
        let mut assertions = (outcome.violations.iter())
            .filter(|violation| violation.property() == Property::Assertion);
        let violation = assertions.next().expect("one is woken that came second");
        let verified = counterexample::verify(&program, Granularity::Access, violation);
        assert_eq!(verified, Ok(()));
    }
}

/// What depends on who is who is looked for without symmetry.
#[test]
fn names_matter_to_termination_and_switches() {
    let program = program("int x; void f() { while (x < 2) x = x + 1; } run f()[3];");
    let states = search(&program, "full", false).statistics.states;
    let searches = [
        Search::new().order(Order::FewestSwitches),
        Search::new().properties(PropertySet::default().with(Property::Termination)),
    ];
    for search in searches {
        let mut machine = machine(&program, true);
        let mut full = reductions::by_name("full").expect("it exists");
        let outcome = search.run(&mut machine, full.as_mut());
        assert_eq!(outcome.verdict(), Verdict::Verified);
        assert!(!outcome.noticed.used_symmetry);
        assert_eq!(outcome.statistics.states, states);
    }
}

/// The programs of the corpus whose threads are interchangeable.
#[test]
fn the_corpus_has_the_same_violations() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = [
        "corpus/classics",
        "corpus/papers",
        "corpus/witnesses",
        "examples",
    ];
    let files = folders.iter().flat_map(|folder| {
        let entries = fs::read_dir(root.join(folder)).expect("it is a folder");
        entries.map(|entry| entry.expect("it can be read").path())
    });
    let mut compared = 0;
    for file in files.filter(|file| file.extension().is_some_and(|kind| kind == "rad")) {
        let program = program(&fs::read_to_string(&file).expect("it is text"));
        if Symmetry::of(&program).is_none() {
            continue;
        }
        compared += 1;
        for reduction in ["full", "cartesian", "transactions", "optimistic"] {
            let [plain, symmetric] =
                [false, true].map(|symmetry| search(&program, reduction, symmetry));
            let name = format!("{reduction}: {}", file.display());
            assert_eq!(violated(&plain), violated(&symmetric), "{name}");
            assert!(
                symmetric.statistics.states < plain.statistics.states,
                "{name}"
            );
            for violation in &symmetric.violations {
                let verified = counterexample::verify(&program, Granularity::Access, violation);
                assert_eq!(verified, Ok(()), "{name}");
            }
        }
    }
    assert!(compared > 10, "only {compared} programs were compared");
}

/// What is violated where, whoever does it.
fn violated(outcome: &Outcome) -> BTreeSet<(Property, Vec<Place>)> {
    let violations = outcome.violations.iter();
    violations
        .map(|violation| {
            let mut places = violation.places();
            places.sort_unstable();
            (violation.property(), places)
        })
        .collect()
}
