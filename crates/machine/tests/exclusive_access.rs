//! What a location is called in every state, which locks protect it, and who owns it.

mod common;

use common::{advance, machine, run};
use raddle_explore::{
    Access, AccessKind, Choice, Location, Place, Position, Status, Step, System, Variable,
};
use raddle_machine::{Machine, State};

/// The access that the next step of a thread makes last.
fn next_access(machine: &mut Machine, state: &State, thread: u32) -> Access {
    let mut step = Step::default();
    machine.step(state, Position(thread), Choice::FIRST, &mut step);
    assert_eq!(step.status, Status::Moved);
    *step.footprint.last().expect("it accesses something")
}

/// The names of the locks that protect an access of a thread to a location.
fn guards_of(machine: &Machine, state: &State, thread: u32, access: &Access) -> Vec<String> {
    let mut guards = Vec::new();
    machine.guards(state, Position(thread), access, &mut guards);
    let mut names: Vec<_> = guards.iter().map(|g| machine.guard_name(*g)).collect();
    names.sort();
    names
}

fn access_to(location: Location, writes: bool) -> Access {
    Access {
        location,
        writes,
        kind: AccessKind::Plain,
        place: Place(0),
    }
}

#[test]
fn every_kind_of_lock_guards_while_it_is_held() {
    let mut machine = machine(
        "mutex m; reentrant mutex r; rwlock l; mutex locks[2]; int x;
         void main() { lock(m); lock(r); lock(r); unlock(r); lock(locks[1]); unlock(m);
             write_lock(l); unlock(l); read_lock(l); read_lock(l); unlock(r); }
         void other() { x = 1; }
         run main() || other();",
    );
    let x = Location(7);
    let mut state = machine.initial();
    assert_eq!(
        machine.variable_name(machine.variable(&state, x)),
        "x",
        "the locks come first"
    );
    let expected = [
        (vec!["m"], vec!["m"]),
        (vec!["m", "r"], vec!["m", "r"]),
        (vec!["m", "r"], vec!["m", "r"]),
        (vec!["m", "r"], vec!["m", "r"]),
        (vec!["locks[1]", "m", "r"], vec!["locks[1]", "m", "r"]),
        (vec!["locks[1]", "r"], vec!["locks[1]", "r"]),
        (vec!["l", "locks[1]", "r"], vec!["l", "locks[1]", "r"]),
        (vec!["locks[1]", "r"], vec!["locks[1]", "r"]),
        // A read lock guards reads, however often it is held.
        (vec!["l", "locks[1]", "r"], vec!["locks[1]", "r"]),
        (vec!["l", "locks[1]", "r"], vec!["locks[1]", "r"]),
        (vec!["l", "locks[1]"], vec!["locks[1]"]),
    ];
    for (reading, writing) in expected {
        state = advance(&mut machine, &state, 0);
        for (writes, mut locks) in [(false, reading), (true, writing)] {
            locks.push("thread main");
            assert_eq!(guards_of(&machine, &state, 0, &access_to(x, writes)), locks);
            let others = guards_of(&machine, &state, 1, &access_to(x, writes));
            assert_eq!(others, ["thread other"]);
        }
    }
    let (r, l, locks_1) = (Location(1), Location(3), Location(6));
    let me = Position(0);
    assert!(machine.holds(&state, me, locks_1) && !machine.holds(&state, Position(1), locks_1));
    assert!(
        !machine.holds(&state, me, r)
            && !machine.holds(&state, me, l)
            && !machine.holds(&state, me, x)
    );
}

#[test]
fn a_thread_variable_is_no_lock() {
    let mut machine = machine(
        "thread t; void child() { yield; }
         void main() { t = spawn child(); yield; }",
    );
    let state = run(&mut machine, &[0, 0]);
    assert!(!machine.holds(&state, Position(1), Location(0)));
}

const NODES: &str = "struct Node { mutex guard; int key; rwlock l; Node* next; };
    Node* n;
    void main() { n = new Node[2]; lock(n[1].guard); read_lock(n[1].l); n[1].key = 1; n[0].key = 2; }
    void other() { yield; }
    run main() || other();";

#[test]
fn a_lock_in_the_same_element_guards_it() {
    let mut machine = machine(NODES);
    // Store n; read n, lock; read n, read lock; read n.
    let state = run(&mut machine, &[0, 0, 0, 0, 0, 0]);
    let access = next_access(&mut machine, &state, 0);
    let key = machine.variable(&state, access.location);
    assert_eq!(machine.variable_name(key), "Node.key");
    let read = Access {
        writes: false,
        ..access
    };
    assert_eq!(
        guards_of(&machine, &state, 0, &access),
        ["this.guard", "thread main"]
    );
    assert_eq!(
        guards_of(&machine, &state, 0, &read),
        ["this.guard", "this.l", "thread main"]
    );
    assert_eq!(guards_of(&machine, &state, 1, &access), ["thread other"]);
    // The other element is the same variable, and has a lock of its own.
    let state = advance(&mut machine, &state, 0);
    let state = advance(&mut machine, &state, 0);
    let access = next_access(&mut machine, &state, 0);
    assert_eq!(machine.variable(&state, access.location), key);
    assert_eq!(guards_of(&machine, &state, 0, &access), ["thread main"]);
}

#[test]
fn parts_of_globals_have_names_of_their_own() {
    let mut machine = machine(
        "struct Account { mutex guard; int balance; };
         int x, a[3]; Account accounts[2];
         void main() { x = 1; a[2] = 1; accounts[1].balance = 1; }
         run main() || main();",
    );
    let state = machine.initial();
    let names: Vec<_> = (0..8)
        .map(|slot| machine.variable_name(machine.variable(&state, Location(slot))))
        .collect();
    assert_eq!(
        names,
        [
            "x",
            "a[0]",
            "a[1]",
            "a[2]",
            "accounts[0].guard",
            "accounts[0].balance",
            "accounts[1].guard",
            "accounts[1].balance"
        ]
    );
    assert_eq!(machine.variable(&state, Location(3)), Variable(3));
}

#[test]
fn spawned_threads_guard_if_they_are_numbered() {
    let spawns = |body: &str| {
        format!("int x; void child() {{ x = 1; {body} }} void main() {{ spawn child(); x = 2; }}")
    };
    let mut numbered = machine(&spawns("x = tid;"));
    let state = run(&mut numbered, &[0]);
    let x = access_to(Location(0), true);
    assert_eq!(guards_of(&numbered, &state, 1, &x), ["thread number 1"]);
    let mut anonymous = machine(&spawns(""));
    let state = run(&mut anonymous, &[0]);
    assert_eq!(guards_of(&anonymous, &state, 1, &x), [""; 0]);
    assert_eq!(guards_of(&anonymous, &state, 0, &x), ["thread main"]);
}

#[test]
fn the_first_thread_owns_everything_until_it_spawns() {
    for tid in ["", "int k = tid;"] {
        let mut machine = machine(&format!(
            "int x; void child() {{ {tid} }}
             void main() {{ x = 1; {{ thread t = spawn child(); join(t); }} x = 2; }}"
        ));
        let (main, x) = (Position(0), Location(0));
        let mut state = machine.initial();
        assert!(machine.owns(&state, main, x));
        state = advance(&mut machine, &state, 0);
        assert!(machine.owns(&state, main, x));
        for thread in [0, 1, 0] {
            state = advance(&mut machine, &state, thread);
            assert!(!machine.owns(&state, main, x));
        }
        // The child is gone, but there was one: also in what is stored.
        assert_eq!(machine.thread_count(&state), 1);
        let mut stored = State::default();
        machine.decode(&common::encoded(&machine, &state), &mut stored);
        assert_eq!(stored, state);
        assert!(!machine.owns(&stored, main, x));
    }
    let mut two = machine("int x; void f() { x = 1; } run f()[2];");
    let state = two.initial();
    assert!(!two.owns(&state, Position(0), Location(0)));
}

#[test]
fn an_object_is_owned_until_somebody_else_can_find_it() {
    let mut machine = machine(
        "struct Node { int v; Node* next; };
         Node* n;
         void main() { yield; Node* a = new Node; Node* b = new Node;
             a->next = b; n = a; b->v = 1; }
         void other() { yield; }
         run main() || other();",
    );
    let before = run(&mut machine, &[]);
    let mut step = Step::default();
    let main = Position(0);
    // Not canonical on the way: that would make the objects old.
    machine.step(&before, main, Choice::FIRST, &mut step);
    let made = step.after.clone();
    let next = next_access(&mut machine, &made, 0).location;
    assert_eq!(
        machine.variable_name(machine.variable(&made, next)),
        "Node.next"
    );
    assert!(machine.owns(&made, main, next));
    assert!(!machine.owns(&made, Position(1), next));
    machine.step(&made, main, Choice::FIRST, &mut step);
    let linked = step.after.clone();
    assert!(machine.owns(&linked, main, next));
    machine.step(&linked, main, Choice::FIRST, &mut step);
    let published = step.after.clone();
    assert!(!machine.owns(&published, main, next));
    // `b` can be found through `a`.
    let v = next_access(&mut machine, &published, 0).location;
    assert!(!machine.owns(&published, main, v) && machine.owns(&linked, main, v));
    // An object that is old in a canonical state is nobody's.
    let mut canonical = made;
    machine.canonicalise(&mut canonical);
    let next = next_access(&mut machine, &canonical, 0).location;
    assert!(!machine.owns(&canonical, main, next));
}

#[test]
fn an_object_passed_to_a_new_thread_is_not_owned() {
    let mut machine = machine(
        "void child(int* p) { *p = 1; }
         void main() { yield; int* p = new int; spawn child(p); *p = 2; }",
    );
    let state = machine.initial();
    let mut step = Step::default();
    machine.step(&state, Position(0), Choice::FIRST, &mut step);
    let made = step.after.clone();
    machine.step(&made, Position(0), Choice::FIRST, &mut step);
    let location = next_access(&mut machine, &step.after.clone(), 0).location;
    assert!(machine.owns(&made, Position(0), location));
    assert!(!machine.owns(&step.after, Position(0), location));
}

/// What was looked at to find a discipline broken from the start belongs to no step: the first footprint is as every other.
#[test]
fn a_discipline_that_is_broken_from_the_start_leaves_no_trace_in_footprints() {
    let mut machine = machine(
        "int x; int* p = null; int buffer; exclusive buffer when (*p == tid);
         void t() { x = 1; p = &x; } run t()[2];",
    );
    let state = machine.initial();
    let mut footprint = || {
        let mut step = Step::default();
        machine.step(&state, Position(0), Choice::FIRST, &mut step);
        step.footprint
    };
    let first = footprint();
    assert_eq!(first, footprint());
}
