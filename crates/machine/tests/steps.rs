//! What one step is: how many there are, what each touches, what a blocked one waits for.

mod common;

use std::sync::Arc;

use common::{explore_with, machine, machine_with, states};
use raddle_explore::{
    AccessKind, Cause, Choice, Location, Order, Packed, Position, Search, Status, Step, SyncOp,
    System, reductions,
};
use raddle_machine::{Granularity, Machine, State, counterexample};

/// The footprints of all steps of a single thread, as text: `r0` reads slot 0, `w1` writes
/// slot 1, capital letters are atomic accesses, synchronisation operations have their names.
fn footprints(text: &str) -> Vec<String> {
    footprints_with(text, Granularity::Access)
}

fn footprints_with(text: &str, granularity: Granularity) -> Vec<String> {
    let mut machine = machine_with(text, granularity);
    let mut state = machine.initial();
    let mut step = Step::default();
    let mut all = Vec::new();
    loop {
        machine.step(&state, Position(0), Choice::FIRST, &mut step);
        if step.status != Status::Moved {
            return all;
        }
        all.push(shown(&step));
        std::mem::swap(&mut state, &mut step.after);
        machine.canonicalise(&mut state);
    }
}

fn shown(step: &Step<State>) -> String {
    let accesses = step.footprint.iter().map(|access| {
        let letter = if access.writes { 'w' } else { 'r' };
        let Location(slot) = access.location;
        match access.kind {
            AccessKind::Plain => format!("{letter}{slot}"),
            AccessKind::Atomic => format!("{}{slot}", letter.to_ascii_uppercase()),
            AccessKind::Sync(op) => format!("{op:?} {letter}{slot}"),
        }
    });
    accesses.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_statement_over_globals_is_one_step_per_access() {
    let program = "int x, y, z; void main() { x = y + z; }";
    assert_eq!(footprints(program), ["r1", "r2", "w0"]);
    assert_eq!(
        footprints("int x; void main() { x++; x += 2; }"),
        ["r0", "w0", "r0", "w0"]
    );
    assert_eq!(
        footprints("int x; void main() { int i = 1; i++; i = i * 3; x = i; }"),
        ["w0"]
    );
}

#[test]
fn operands_are_read_from_left_to_right_and_the_place_comes_first() {
    let program = "int i, j, x, a[3]; int* p = &x;
        void main() { a[i] = a[j] + x; *p += i; x = i * j - (x ? i : j); }";
    assert_eq!(
        footprints(program),
        [
            "r0", "r1", "r3", "r2", "w3", // a[i] = a[j] + x
            "r6", "r2", "r0", "w2", // *p += i
            "r0", "r1", "r2", "r1", "w2", // x = i * j - (x ? i : j), where x is 0
        ]
    );
}

#[test]
fn short_circuits_read_only_what_they_need() {
    let program = "bool a, b, c; void main() { c = a && b; c = a || b; c = a ==> b; }";
    assert_eq!(
        footprints(program),
        ["r0", "w2", "r0", "r1", "w2", "r0", "w2"]
    );
}

#[test]
fn atomics_are_one_step() {
    let program = "atomic int x; int y; void main() {
        x++; x += 3; x = 1; cas(y, 0, 5); cas(y, 0, 6); swap(y, 2); fetch_add(y, 1);
        y = load(y); store(y, 3); }";
    assert_eq!(
        footprints(program),
        ["W0", "W0", "W0", "W1", "R1", "W1", "W1", "R1", "w1", "W1"]
    );
}

#[test]
fn an_atomic_block_is_one_step_with_all_its_accesses() {
    let program = "int x, y; void main() { atomic { x = y + 1; if (x > 0) y = x; } x = 2; }";
    assert_eq!(footprints(program), ["R1 W0 R0 R0 W1", "w0"]);
    let left = "int x; void main() { while (true) { atomic { x++; break; } } x = 5; x = 6; }";
    assert_eq!(footprints(left), ["R0 W0", "w0", "w0"]);
    let nested = "int x; void f() { atomic { x++; return; } }
        void main() { atomic { f(); f(); } x = 5; }";
    assert_eq!(footprints(nested), ["R0 W0 R0 W0", "w0"]);
}

#[test]
fn synchronisation_is_one_step() {
    let program = "mutex m; reentrant mutex r; semaphore s = 1; rwlock l; chan<int, 2> c; cond d;
        void main() { lock(m); unlock(m); lock(r); lock(r); unlock(r); down(s); up(s);
            try_down(s); try_down(s); read_lock(l); unlock(l); write_lock(l); unlock(l);
            send(c, 1); int x = recv(c); int n = len(c); bool b = try_lock(m); b = try_lock(m);
            notify(d); }";
    assert_eq!(
        footprints(program),
        [
            "Acquire w0",
            "Release w0",
            "Acquire w1",
            "Acquire w1",
            "Release w1",
            "Down w3",
            "Up w3",
            "Try w3",
            "Try r3",
            "AcquireShared w4",
            "ReleaseShared w4",
            "Acquire w4",
            "Release w4",
            "Send w6",
            "Receive w6",
            "Poll r6",
            "Try w0",
            "Try r0",
            "Notify r9",
        ]
    );
}

#[test]
fn choices_and_yields_are_steps_that_touch_nothing() {
    let program = "int x; void main() { int n = choose(1..3); if (*) skip; yield; x = n; }";
    assert_eq!(footprints(program), ["", "", "", "w0"]);
}

#[test]
fn a_statement_is_one_step_if_asked_for() {
    let program = "int x, y, z; mutex m;
        void main() { x = y + z; x++; if (x > y) z = x; while (x < 3) x = x + y + 1; lock(m); }";
    assert_eq!(
        footprints_with(program, Granularity::Statement),
        [
            "r1 r2 w0",
            "r0 w0",
            "r0 r1",
            "r0 w2",
            "r0",
            "r0 r1 w0",
            "r0",
            "r0 r1 w0",
            "r0",
            "Acquire w3",
        ]
    );
}

/// The last step of the first thread, which must be blocked, after as many steps of the
/// second one.
fn blocked(text: &str, steps: &[u32]) -> (Status, String) {
    let mut machine = machine(text);
    let state = common::run(&mut machine, steps);
    let mut step = Step::default();
    machine.step(&state, Position(0), Choice::FIRST, &mut step);
    assert!(
        matches!(step.status, Status::Blocked { .. }),
        "{:?}",
        step.status
    );
    (step.status.clone(), shown(&step))
}

#[test]
fn a_blocked_step_reports_what_its_guard_has_read() {
    let waits = Status::Blocked { assumption: false };
    let assumes = Status::Blocked { assumption: true };
    let blocked_at = |operation: &str| {
        let text = format!(
            "int x, y; mutex m; semaphore s; chan<int, 1> c; rwlock l; thread t; cond d; \
             void a() {{ {operation} }} \
             void b() {{ lock(m); write_lock(l); }} \
             run a() || b();"
        );
        blocked(&text, &[1, 1])
    };
    assert_eq!(
        blocked_at("await(x == 1 && y == 2);"),
        (waits.clone(), "R0".into())
    );
    assert_eq!(
        blocked_at("assume(x == 0 && y == 2);"),
        (assumes, "R0 R1".into())
    );
    assert_eq!(blocked_at("lock(m);"), (waits.clone(), "Acquire r2".into()));
    assert_eq!(blocked_at("down(s);"), (waits.clone(), "Down r3".into()));
    assert_eq!(
        blocked_at("int v = recv(c);"),
        (waits.clone(), "Receive r4".into())
    );
    assert_eq!(
        blocked_at("read_lock(l);"),
        (waits.clone(), "AcquireShared r6".into())
    );
    assert_eq!(
        blocked_at("atomic { x = 1; await(y == 1); }"),
        (waits, "R0 R1".into())
    );
}

#[test]
fn a_waiting_thread_waits_for_its_object_and_then_for_the_mutex() {
    let program = "mutex m; cond d; int x;
        void a() { lock(m); wait(d, m); unlock(m); }
        void b() { lock(m); notify(d); unlock(m); }
        run a() || b();";
    assert_eq!(blocked(program, &[0, 0]).1, "Resume r1");
    assert_eq!(blocked(program, &[0, 0, 1]).1, "Resume r1");
    assert_eq!(blocked(program, &[0, 0, 1, 1]).1, "Resume r1 Resume r0");
}

#[test]
fn a_blocked_atomic_block_has_not_happened() {
    let program = "int x, y; void a() { atomic { x = 1; await(y == 1); } }
        void b() { assert(x == 0); } run a() || b();";
    let mut machine = machine(program);
    let outcome = explore_with(&mut machine);
    let properties: Vec<_> = outcome
        .violations
        .iter()
        .map(|v| v.property().name())
        .collect();
    assert_eq!(properties, ["deadlock"]);
}

#[test]
fn local_loops_never_hang() {
    // A step that changes nothing.
    assert_eq!(states("void main() { while (true) skip; }"), 1);
    // A cycle of local states: where the cut falls differs from round to round.
    let cycle = states("void main() { u8 i; while (true) i++; }");
    assert!((1..=256).contains(&cycle), "{cycle}");
    // A long computation is cut into a few steps, and still right.
    let sum = "void main() { int s; for (int i = 0; i < 5000; i++) s += i;
        assert(s == 12497500); }";
    assert!(explore_with(&mut machine(sum)).is_verified());
    assert!(states(sum) <= 7);
}

#[test]
fn variables_out_of_scope_are_no_part_of_a_state() {
    // Without forgetting, the three ways would stay apart.
    let forgets = "int x; void main() { { int n = choose(1..3); x = n; x = 0; } x = 7; }";
    // The start; three choices; three stores; then one again, and the end.
    assert_eq!(states(forgets), 1 + 3 + 3 + 1 + 1);
}

fn alternatives(machine: &mut Machine, state: &State, thread: u32) -> usize {
    let mut count = 0;
    let mut step = Step::default();
    machine.for_each_step(state, Position(thread), &mut step, |_, _, step| {
        count += usize::from(step.status == Status::Moved);
    });
    count
}

#[test]
fn every_waiter_can_be_the_one_that_is_notified() {
    let mut machine = machine(
        "mutex m; cond d; void w() { lock(m); wait(d, m); unlock(m); } void n() { notify(d); }
         run w() || w() || w() || n();",
    );
    let none = machine.initial();
    assert_eq!(alternatives(&mut machine, &none, 3), 1);
    let three = common::run(&mut machine, &[0, 0, 1, 1, 2, 2]);
    assert_eq!(alternatives(&mut machine, &three, 3), 3);
}

#[test]
fn spawn_and_exit_and_join_are_steps() {
    let mut machine =
        machine("int x; void c() { x = 1; } void main() { thread t = spawn c(); join(t); }");
    let mut step = Step::default();
    let state = machine.initial();
    machine.step(&state, Position(0), Choice::FIRST, &mut step);
    assert!(step.footprint[0].kind == AccessKind::Sync(SyncOp::Spawn));
    let state = common::run(&mut machine, &[0]);
    machine.step(&state, Position(0), Choice::FIRST, &mut step);
    assert_eq!(step.status, Status::Blocked { assumption: false });
    // The store, and the end.
    let state = common::run(&mut machine, &[0, 1]);
    machine.step(&state, Position(1), Choice::FIRST, &mut step);
    assert!(step.footprint[0].kind == AccessKind::Sync(SyncOp::Exit));
    let state = common::run(&mut machine, &[0, 1, 1]);
    machine.step(&state, Position(0), Choice::FIRST, &mut step);
    assert_eq!(step.status, Status::Moved);
    assert!(step.footprint[0].kind == AccessKind::Sync(SyncOp::Join));
}

/// The local code before the first visible operation belongs to the step that starts the thread. If
/// it fails, that is so too: there is no step that fails.
#[test]
fn a_failure_before_the_first_step_is_no_step() {
    for (text, states, transitions, steps) in [
        ("void main() { assert(false); }", 1, 0, 0),
        ("void main() { int i = 0; i = 1 / i; }", 1, 0, 0),
        (
            "int x; void f() { assert(false); } void g() { x = 1; } run f() || g();",
            2,
            1,
            0,
        ),
        // The spawn, and the end of `main`, which is local.
        (
            "void f() { assert(false); } void main() { spawn f(); }",
            2,
            1,
            1,
        ),
        (
            "int x; void f(int i) { assert(i == 0); x = 1; }
             void main() { spawn f(0); spawn f(1); }",
            // `main` has spawned one or both, and the first child made none, one or both of its steps.
            7,
            8,
            2,
        ),
    ] {
        let outcome = explore_with(&mut machine(text));
        let counts = (outcome.statistics.states, outcome.statistics.transitions);
        assert_eq!(counts, (states, transitions), "{text}");
        let [violation] = outcome.violations.as_slice() else {
            panic!("{text}: {:?}", outcome.violations);
        };
        assert_eq!(violation.schedule.len(), steps, "{text}");
        assert!(matches!(violation.cause, Cause::Start { .. }), "{text}");
    }
}

/// Every reduction and every explorer finds such a failure, and its schedule leads there.
#[test]
fn all_reductions_find_failures_before_the_first_step() {
    let text = "int x; mutex m;
         void bad(int i) { int a[2]; a[i] = 1; x = 1; }
         void good() { lock(m); x = 2; unlock(m); }
         void main() { spawn good(); lock(m); spawn bad(1); x = 3; spawn bad(2); unlock(m); }
         run main() || good();";
    let program = Arc::new(machine(text).program().clone());
    for mut reduction in reductions::all() {
        for order in [
            Order::BreadthFirst,
            Order::DepthFirst,
            Order::FewestSwitches,
        ] {
            let mut machine = machine(text);
            let outcome = Search::new()
                .order(order)
                .properties(reduction.preserves())
                .collect_all()
                .run(&mut machine, reduction.as_mut());
            let starts: Vec<_> = (outcome.violations.iter())
                .filter(|violation| matches!(violation.cause, Cause::Start { .. }))
                .collect();
            let name = reduction.name();
            assert_eq!(starts.len(), 1, "{name}, {order:?}");
            assert_eq!(
                starts[0].message(),
                "index out of bounds: there is no element 2, only 0 to 1"
            );
            counterexample::verify(&program, Granularity::Access, starts[0])
                .unwrap_or_else(|problem| panic!("{name}, {order:?}: {problem}"));
        }
    }
}

/// Of a thread that has failed nothing is left but where: not who called the function that it failed in.
#[test]
fn states_that_are_the_same_have_the_same_words() {
    let text = "int x; void fails() { x = 1; assert(x != 1); }
        void t() { if (*) fails(); else fails(); }
        run t();";
    let mut machine = machine(text);
    let initial = machine.initial();
    let mut after = |choice: Choice, steps: usize| {
        let (mut state, mut step) = (initial.clone(), Step::default());
        for number in 0..steps {
            let choice = if number == 0 { choice } else { Choice::FIRST };
            machine.step(&state, Position(0), choice, &mut step);
            std::mem::swap(&mut state, &mut step.after);
        }
        let mut packed = Packed::default();
        machine.encode(&state, &mut packed);
        packed
    };
    let (one, other) = (Choice::FIRST, Choice(1));
    for steps in [1, 2] {
        assert_ne!(after(one, steps), after(other, steps), "in different calls");
    }
    assert_eq!(after(one, 3), after(other, 3));
}
