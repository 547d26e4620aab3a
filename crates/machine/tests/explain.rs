//! What `explain` says of a program: movers, protection, atomic functions.

mod common;

use std::sync::Arc;

use raddle_explore::{Property, PropertySet, Search};
use raddle_machine::Granularity;
use raddle_machine::explain::explain;
use raddle_report::explanation::{
    Explanation, Function, Mover, Often, Options, Protection, Step, Variable, render,
};

fn explained(text: &str) -> Explanation {
    let machine = common::machine(text);
    let properties = PropertySet::SAFETY
        .without(Property::Deadlock)
        .without(Property::Race);
    let search = Search::new().properties(properties).collect_all();
    let program = Arc::new(machine.program().clone());
    let (explanation, outcome) = explain(&program, Granularity::Access, search);
    assert!(explanation.complete && outcome.explored.cut().is_none());
    explanation
}

fn function<'e>(explanation: &'e Explanation, name: &str) -> &'e Function {
    let mut functions = explanation.functions.iter();
    functions
        .find(|function| function.name == name)
        .expect(name)
}

fn variable<'e>(explanation: &'e Explanation, name: &str) -> &'e Variable {
    let mut variables = explanation.variables.iter();
    variables
        .find(|variable| variable.name == name)
        .expect(name)
}

/// The steps of the only line with this text.
fn steps<'e>(explanation: &'e Explanation, text: &str) -> &'e [Step] {
    let mut lines = explanation.lines.iter();
    let line = lines.find(|line| line.text.trim() == text).expect(text);
    &line.steps
}

const COUNTER: &str = "
mutex m;
int x;

void add() {
    lock(m);
    x++;
    unlock(m);
}

void twice() {
    for (int i = 0; i < 2; i++) {
        add();
    }
}

run twice() || twice();
";

#[test]
fn a_function_that_is_called_in_a_loop_is_atomic() {
    let explanation = explained(COUNTER);
    assert!(function(&explanation, "add").atomic);
    let twice = function(&explanation, "twice");
    assert!(!twice.atomic);
    let places: Vec<_> = (twice.interrupted_at.iter())
        .map(|access| (access.line, access.text.as_str()))
        .collect();
    assert_eq!(places, [(13, "add()")]);
}

#[test]
fn a_critical_section_begins_with_a_right_mover_and_commits_with_the_release() {
    let explanation = explained(COUNTER);
    let [lock] = steps(&explanation, "lock(m);") else {
        panic!("taking a lock is one step");
    };
    assert_eq!(lock.movers, [Mover::Right]);
    assert_eq!((lock.begins, lock.commits), (Often::Always, Often::Never));
    let increment = steps(&explanation, "x++;");
    assert_eq!(increment.len(), 2, "a read and a write");
    assert!(increment.iter().all(|step| step.movers == [Mover::Both]));
    let [unlock] = steps(&explanation, "unlock(m);") else {
        panic!("releasing a lock is one step");
    };
    assert_eq!(unlock.movers, [Mover::Left]);
    assert_eq!(
        (unlock.begins, unlock.commits),
        (Often::Never, Often::Always)
    );
}

#[test]
fn one_access_that_breaks_the_discipline_makes_others_divisible() {
    let text = COUNTER.replace(
        "run twice() || twice();",
        "void look() {\n    int r = x;\n}\n\nrun twice() || look();",
    );
    let explanation = explained(&text);
    let x = variable(&explanation, "x");
    assert_eq!(x.protection, Protection::Unprotected);
    assert_eq!(x.nearly.as_deref(), Some("m"));
    let breaking: Vec<_> = (x.broken_by.iter())
        .map(|access| access.text.as_str())
        .collect();
    assert_eq!(breaking, ["int r = x"]);
    assert!(!function(&explanation, "add").atomic);
    // One access alone is atomic all the same.
    assert!(function(&explanation, "look").atomic);
    let increment = steps(&explanation, "x++;");
    assert!(increment.iter().all(|step| step.movers == [Mover::Non]));
}

#[test]
fn a_lock_that_somebody_tries_moves_for_nobody() {
    let text = "
mutex m;
int x;

void waits() {
    lock(m);
    x = 1;
    unlock(m);
}

void tries() {
    if (try_lock(m)) {
        x = 2;
        unlock(m);
    }
}

run waits() || tries();
";
    let explanation = explained(text);
    assert_eq!(variable(&explanation, "m").protection, Protection::Tried);
    assert_eq!(steps(&explanation, "lock(m);")[0].movers, [Mover::Non]);
    // What it protects is protected none the less.
    let x = variable(&explanation, "x");
    assert_eq!(
        (x.protection, &*x.locks),
        (Protection::Locks, &["m".into()][..])
    );
    assert_eq!(steps(&explanation, "x = 1;")[0].movers, [Mover::Both]);
    assert!(!function(&explanation, "waits").atomic);
}

#[test]
fn data_of_one_thread_and_data_that_is_only_read_need_no_lock() {
    let text = "
int limit = 3;
int mine;

void counts() {
    mine = 1;
    mine = limit;
}

void reads() {
    int r = limit;
    int s = limit;
}

run counts() || reads();
";
    let explanation = explained(text);
    let limit = variable(&explanation, "limit");
    assert_eq!(limit.protection, Protection::ReadOnly);
    let mine = variable(&explanation, "mine");
    assert_eq!(mine.protection, Protection::ThreadLocal);
    assert_eq!(mine.locks, ["thread counts"]);
    assert!(explanation.functions.iter().all(|function| function.atomic));
}

#[test]
fn what_the_last_thread_does_alone_is_told_apart() {
    let text = "
mutex m;
int x;

void child() {
    lock(m);
    x = 1;
    unlock(m);
}

void main() {
    thread t = spawn child();
    lock(m);
    x = 2;
    unlock(m);
    join(t);
    int r = x;
}
";
    let explanation = explained(text);
    let x = variable(&explanation, "x");
    assert_eq!(
        (x.protection, x.except_when_alone),
        (Protection::Locks, true)
    );
}

#[test]
fn a_function_that_is_never_called_is_said_to_be_so() {
    let text = "int x;\nvoid unused() { x = 2; }\nvoid main() { x = 1; }\n";
    let explanation = explained(text);
    assert!(!function(&explanation, "unused").executed);
    let options = Options {
        colour: false,
        ascii: true,
    };
    let drawn = render(&explanation, &options);
    assert!(drawn.contains("unused  never called\n"), "{drawn}");
    assert!(drawn.is_ascii());
}

#[test]
fn a_transaction_that_is_ended_by_force_is_marked() {
    let text = "
int g;

void ends() {
    g = 1;
    while (true) {
        skip;
    }
}

void looks() {
    int r = g;
}

run ends() || looks();
";
    let explanation = explained(text);
    let mut all = explanation.lines.iter().flat_map(|line| &line.steps);
    assert!(all.any(|step| step.forced));
}

#[test]
fn a_violation_does_not_keep_the_explanation_from_going_on() {
    let text = COUNTER.replace("x++;", "x++;\n    assert(x < 3);");
    let explanation = explained(&text);
    assert!(function(&explanation, "add").executed);
    assert_eq!(variable(&explanation, "x").protection, Protection::Locks);
}

#[test]
fn what_is_declared_in_one_line_shares_its_remarks() {
    let text = "
mutex m;
int x, y, z;

void add() {
    lock(m);
    x++;
    y++;
    unlock(m);
    z = 1;
}

run add() || add();
";
    let explanation = explained(text);
    let line = &explanation.lines[2];
    assert_eq!(line.remarks, ["x, y: protected by m", "z: unprotected"]);
    let options = Options {
        colour: false,
        ascii: false,
    };
    let drawn = render(&explanation, &options);
    let remark = "int x, y, z;  // x, y: protected by m; z: unprotected\n";
    assert!(drawn.contains(remark), "{drawn}");
    // The write to `z` is a transaction of its own, the rest is another one.
    for line in [
        "  ┌  R      6      lock(m);\n",
        "  ┌● N     10      z = 1;\n",
    ] {
        assert!(drawn.contains(line), "{line}{drawn}");
    }
}
