//! Declared disciplines: kept, broken, and when they do not matter.

mod common;

use common::{explore, machine, run, violations};
use raddle_explore::{
    Access, AccessKind, Choice, FaultKind, Location, Place, Position, Property, Status, Step,
    System,
};
use raddle_lang::Span;
use raddle_machine::{Granularity, Machine};

fn verified(text: &str) {
    assert_eq!(violations(text), [""; 0], "{text}");
}

fn broken(text: &str, message: &str) {
    let found = violations(text);
    assert!(
        found.iter().any(|found| found.ends_with(message)),
        "{text}\n{found:?}"
    );
    let outcome = explore(text);
    let discipline = |violation: &raddle_explore::Violation| violation.property();
    assert!(
        outcome
            .violations
            .iter()
            .any(|v| discipline(v) == Property::Discipline)
    );
    let mut lenient = machine(text).with_disciplines(false);
    let outcome = common::explore_with(&mut lenient);
    assert_eq!(outcome.violations.len(), 0, "{text}");
}

#[test]
fn guarded_by_a_mutex() {
    for mutex in ["mutex", "reentrant mutex"] {
        let program = |body: &str| {
            format!("{mutex} m; int x guarded_by m; void f() {{ {body} }} run f()[2];")
        };
        verified(&program("lock(m); x++; unlock(m);"));
        let message = "`x` is guarded by `m`, which the thread does not hold";
        broken(&program("lock(m); x++; unlock(m); x = 2;"), message);
        broken(&program("int k = x;"), message);
        broken(&program("atomic { x++; }"), message);
        // What a condition looks at is accessed, also if it does not hold.
        broken(&program("assume(x == 1);"), message);
    }
}

#[test]
fn guarded_by_a_reader_writer_lock() {
    let program =
        |body: &str| format!("rwlock l; int x guarded_by l; void f() {{ {body} }} run f()[2];");
    verified(&program(
        "write_lock(l); x++; unlock(l); read_lock(l); int k = x; unlock(l);",
    ));
    broken(
        &program("read_lock(l); x = 1; unlock(l);"),
        "`x` is guarded by `l`, which the thread holds for reading only",
    );
}

#[test]
fn guarded_by_arrays_of_locks_and_siblings() {
    let cells = |index: u32| {
        format!(
            "mutex locks[2]; int cells[2] guarded_by locks[];
             void f() {{ lock(locks[1]); cells[{index}]++; unlock(locks[1]); }} run f()[2];"
        )
    };
    verified(&cells(1));
    broken(
        &cells(0),
        "`cells[0]` is guarded by `locks[0]`, which the thread does not hold",
    );
    let accounts = |index: u32| {
        format!(
            "struct Account {{ mutex guard; int balance guarded_by guard; }}; Account accounts[2];
             void f() {{ lock(accounts[1].guard); accounts[{index}].balance++;
                 unlock(accounts[1].guard); }} run f()[2];"
        )
    };
    verified(&accounts(1));
    broken(
        &accounts(0),
        "`accounts[0].balance` is guarded by `accounts[0].guard`, which the thread does not hold",
    );
}

#[test]
fn guarded_by_a_sibling_on_the_heap() {
    let program = |index: u32| {
        format!(
            "struct Node {{ int k; mutex guard; int v guarded_by guard; }}; Node* n;
             void maker() {{ Node* new_nodes = new Node[2]; n = new_nodes; }}
             void user() {{ await(n != null); lock(n[1].guard); n[{index}].v = 1; unlock(n[1].guard); }}
             run maker() || user() || user();"
        )
    };
    verified(&program(1));
    broken(
        &program(0),
        "`Node.v` is guarded by `this.guard`, which the thread does not hold",
    );
}

#[test]
fn freeing_is_an_access() {
    let program = |before: &str| {
        format!(
            "struct Node {{ mutex guard; int v guarded_by guard; }};
             Node* n; void f(Node* n) {{ {before} free(n); }}
             void other() {{ yield; }}
             void main() {{ spawn other(); n = new Node; yield; f(n); }}"
        )
    };
    verified(&program("lock(n->guard);"));
    broken(
        &program(""),
        "`Node.v` is guarded by `this.guard`, which the thread does not hold",
    );
}

#[test]
fn a_fresh_object_needs_no_lock() {
    // All in one step: the object is not there before it.
    verified(
        "struct Node { mutex guard; int v guarded_by guard; }; Node* n;
         void maker() { atomic { Node* a = new Node; a->v = 1; n = a; } }
         run maker() || maker();",
    );
    // Nor does it in later steps, until others can find it.
    let program = |after: &str| {
        format!(
            "struct Node {{ mutex guard; int v guarded_by guard; Node* next; }}; Node* n;
             void maker() {{ Node* a = new Node; Node* b = new Node; a->next = b; b->v = 1; n = a;
                 {after} yield; }}
             run maker() || maker();"
        )
    };
    verified(&program("lock(b->guard); b->v = 2; unlock(b->guard);"));
    broken(
        &program("b->v = 2;"),
        "`Node.v` is guarded by `this.guard`, which the thread does not hold",
    );
}

#[test]
fn alone_a_thread_needs_no_lock() {
    verified(
        "mutex m; int x guarded_by m;
         void child() { lock(m); x++; unlock(m); }
         void main() { x = 1; thread t = spawn child(); join(t); assert(x == 2); }",
    );
    broken(
        "mutex m; int x guarded_by m;
         void child() { lock(m); x++; unlock(m); }
         void main() { thread t = spawn child(); x = 1; join(t); }",
        "`x` is guarded by `m`, which the thread does not hold",
    );
}

#[test]
fn thread_local_variables_belong_to_the_first() {
    verified("int mine[2] thread_local; void f() { mine[tid]++; mine[tid]++; } run f()[2];");
    broken(
        "int x thread_local; void a() { x = 1; yield; } void b() { int k = x; yield; } run a() || b();",
        "`x` is thread_local, and thread a has accessed it before",
    );
    // What the first thread does alone, and what the last one does, claims nothing.
    verified(
        "int x thread_local; void child() { x++; x++; }
         void main() { x = 1; thread t = spawn child(); join(t); assert(x == 3); }",
    );
    broken(
        "int x thread_local; void child() { x++; }
         void main() { thread t = spawn child(); thread u = spawn child(); join(t); join(u); }",
        "`x` is thread_local, and a spawned thread has accessed it before",
    );
}

#[test]
fn the_claim_of_a_thread_local_variable_is_declared_and_stored() {
    let mut machine = machine(
        "int x thread_local; void f() { x = 1; x = 2; yield; } void g() { yield; } run f() || g();",
    );
    let (x, mut reads) = (Location(0), Vec::new());
    let state = machine.initial();
    let declared = |machine: &mut Machine, state, thread| {
        machine.declared(state, Position(thread), &write(x), &mut reads)
    };
    let mut declared = declared;
    assert_eq!(declared(&mut machine, &state, 0), Some(false));
    let state = run(&mut machine, &[0]);
    let mut stored = raddle_machine::State::default();
    machine.decode(&common::encoded(&machine, &state), &mut stored);
    assert_eq!(stored, state);
    assert_eq!(declared(&mut machine, &stored, 0), Some(true));
    assert_eq!(declared(&mut machine, &stored, 1), Some(false));
    assert!(reads.is_empty());
    let mut lenient = machine.with_disciplines(false);
    assert_eq!(
        lenient.declared(&stored, Position(0), &write(x), &mut reads),
        None
    );
}

const HANDOVER: &str = "int owner, buffer; exclusive buffer when (owner == tid);";

#[test]
fn exclusive_when_a_condition_holds() {
    verified(&format!(
        "{HANDOVER} void f() {{ if (owner == tid) {{ buffer = 1; owner = 1 - tid; }} }} run f()[2];"
    ));
    broken(
        &format!("{HANDOVER} void f() {{ if (owner != tid) buffer = 1; else yield; }} run f()[2];"),
        "`buffer` is exclusive when `owner == tid`, which does not hold for the thread",
    );
    broken(
        &format!("{HANDOVER} void f() {{ owner = tid; yield; }} run f()[2];"),
        "the step takes the exclusive access to `buffer` away from thread f[0]",
    );
}

#[test]
fn exclusive_elements() {
    let program = |init: &str, body: &str| {
        format!(
            "int owner[2] = {init}; int cells[2][2];
             exclusive cells[i] when (owner[i] == tid);
             void f() {{ {body} }} run f()[2];"
        )
    };
    verified(&program(
        "{0, 1}",
        "cells[tid][1] = 1; owner[tid] = -1; yield;",
    ));
    broken(
        &program("{0, 1}", "cells[1][0]++; yield;"),
        "`cells[1][0]` is exclusive when `owner[i] == tid`, which does not hold for the thread",
    );
    broken(
        &program("{0, 1}", "owner[0] = -1; yield;"),
        "the step takes the exclusive access to `cells[0]` away from thread f[0]",
    );
}

#[test]
fn what_is_not_exclusive_from_the_start_or_later() {
    let shared =
        "exclusive access to `x` is not exclusive: thread f[0] and thread f[1] both have it";
    broken(
        "int x, open = 1; exclusive x when (open == 1); void f() { yield; } run f()[2];",
        shared,
    );
    broken(
        "int x, open; exclusive x when (open == 1); void f() { open = 1; yield; } run f()[2];",
        shared,
    );
    // A new thread can be the one too many.
    broken(
        "int x; exclusive x when (tid >= 0); void child() { yield; } void main() { yield; spawn child(); yield; }",
        "exclusive access to `x` is not exclusive: thread main and thread number 1 both have it",
    );
    verified("int x; exclusive x when (tid >= 0); void main() { x = 1; }");
}

#[test]
fn a_condition_without_a_value() {
    broken(
        "int x, i, owner[2]; exclusive x when (owner[i] == tid);
         void f() { i = 2; yield; } void g() { yield; } run f() || g();",
        "the condition `owner[i] == tid` of exclusive access to `x` has no value: \
         index out of bounds: there is no element 2, only 0 to 1",
    );
}

#[test]
fn predicates_say_what_they_read() {
    let mut machine = machine(&format!("{HANDOVER} void f() {{ yield; }} run f()[2];"));
    let state = machine.initial();
    let mut reads = Vec::new();
    let buffer = Location(1);
    assert_eq!(
        machine.declared(&state, Position(0), &write(buffer), &mut reads),
        Some(true)
    );
    assert_eq!(reads.len(), 1);
    assert_eq!((reads[0].location, reads[0].writes), (Location(0), false));
    assert_eq!(
        machine.declared(&state, Position(1), &write(buffer), &mut reads),
        Some(false)
    );
    assert_eq!(
        machine.declared(&state, Position(0), &write(Location(0)), &mut reads),
        None
    );
}

#[test]
fn a_step_that_breaks_a_discipline_changes_nothing_else() {
    let text = "mutex m; int x guarded_by m, y;
        void f() { atomic { y = 1; x = 1; y = 2; } reach(\"after\"); } run f()[2];";
    for granularity in [Granularity::Access, Granularity::Statement] {
        let mut machine = common::machine_with(text, granularity);
        let state = machine.initial();
        let mut step = Step::default();
        machine.step(&state, Position(0), Choice::FIRST, &mut step);
        let Status::Failed(fault) = &step.status else {
            panic!("{:?}", step.status);
        };
        assert_eq!(fault.kind, FaultKind::Discipline);
        assert_eq!(
            machine
                .program()
                .source()
                .snippet(machine.program().statement(fault.place)),
            "x = 1;"
        );
        // The footprint ends at the access that breaks it, but for what was looked at to tell.
        let is_in_program = |place| machine.program().span(place) != Span::default();
        let places = step.footprint.iter().map(|access| access.place);
        let places: Vec<Place> = places.filter(|place| is_in_program(*place)).collect();
        assert_eq!(places.len(), 2);
        assert_eq!(places[1], fault.place);
        assert!(machine.failed(&step.after));
        // Nothing after it counts as reached.
        assert_eq!(machine.unreached_goals(), [0]);
        let mut stored = raddle_machine::State::default();
        machine.canonicalise(&mut step.after);
        machine.decode(&common::encoded(&machine, &step.after), &mut stored);
        assert_eq!(stored, step.after);
        // The other thread sees what was there before.
        let mut other = Step::default();
        machine.step(&stored, Position(1), Choice::FIRST, &mut other);
        assert_eq!(other.status, Status::Moved, "it is alone now");
    }
}

fn write(location: Location) -> Access {
    Access {
        location,
        writes: true,
        kind: AccessKind::Plain,
        place: Place(0),
    }
}
