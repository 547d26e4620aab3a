//! Two orders of independent spawns or allocations give one state, garbage is no
//! part of a state, and every state survives being stored.

mod common;

use common::{advance, encoded, explore, machine, run, states};
use raddle_explore::{Choice, Position, Status, Step, System};

#[test]
fn independent_allocations_in_either_order_give_one_state() {
    let mut machine = machine(
        "int* a; int* b;
         void first() { a = new int; *a = 1; }
         void second() { b = new int; *b = 2; }
         run first() || second();",
    );
    // Store the reference, read it again, write through it; the allocation is local.
    let one_way = run(&mut machine, &[0, 0, 0, 1, 1, 1]);
    let other_way = run(&mut machine, &[1, 1, 1, 0, 0, 0]);
    let mixed = run(&mut machine, &[1, 0, 0, 1, 1, 0]);
    assert_eq!(one_way, other_way);
    assert_eq!(one_way, mixed);
    assert_eq!(encoded(&machine, &one_way), encoded(&machine, &other_way));
}

#[test]
fn independent_spawns_in_either_order_give_one_state() {
    let mut machine = machine(
        "thread s; thread t; int x;
         void child(int k) { x = k; }
         void first() { s = spawn child(1); }
         void second() { t = spawn child(2); }
         run first() || second();",
    );
    let one_way = run(&mut machine, &[0, 1]);
    let other_way = run(&mut machine, &[1, 0]);
    assert_eq!(one_way, other_way);
    // Their children come in the order of the parents: the first child stores 1.
    let stored = advance(&mut machine, &one_way, 2);
    let stored_other_way = advance(&mut machine, &other_way, 2);
    assert_eq!(stored, stored_other_way);
}

#[test]
fn thread_numbers_depend_on_the_parent_alone() {
    let numbers = "int seen[4];
        void child(int k) { seen[k] = tid; }
        void parent(int k) { spawn child(k); spawn child(k + 1); }
        run parent(0) || parent(2);
        invariant seen[0] == 0 || seen[0] == 2;
        invariant seen[1] == 0 || seen[1] == 3;
        invariant seen[2] == 0 || seen[2] == 1024 + 2;
        invariant seen[3] == 0 || seen[3] == 1024 + 3;";
    assert!(explore(numbers).violations.is_empty());
}

#[test]
fn garbage_is_no_part_of_a_state() {
    // Each round leaves an object behind that nothing refers to any more.
    let with_garbage = "struct Node { int v; Node* next; };
        Node* n;
        void main() { while (true) { n = new Node; n = null; } }";
    let outcome = explore(with_garbage);
    assert!(outcome.is_verified());
    assert_eq!(outcome.statistics.states, 2);

    // A cycle of objects is garbage too.
    let cycle = "struct Node { Node* next; };
        Node* n;
        void main() { while (true) { n = new Node; n->next = n; n = null; } }";
    assert!(states(cycle) < 10);
}

#[test]
fn ended_threads_that_nobody_knows_are_no_part_of_a_state() {
    let server = "int requests;
        void handle() { atomic { requests = (requests + 1) % 2; } }
        void main() { while (true) { thread t = spawn handle(); join(t); } }";
    let outcome = explore(server);
    assert!(outcome.is_verified());
    assert!(
        outcome.statistics.states < 20,
        "{}",
        outcome.statistics.states
    );
}

#[test]
fn freed_objects_stay_while_they_are_referred_to() {
    let dangling = "int* p; void main() { p = new int; free(p); assert(*p == 0); }";
    let messages = common::violations(dangling);
    assert_eq!(messages, ["1: use of a freed object"]);
}

#[test]
fn objects_are_one_state_whichever_variable_was_first() {
    // Two threads build the same two-element list from opposite ends.
    let mut machine = machine(
        "struct Node { int v; Node* next; };
         Node* head; Node* tail;
         void a() { head = new Node; }
         void b() { tail = new Node; }
         run a() || b();",
    );
    let ab = run(&mut machine, &[0, 1]);
    let ba = run(&mut machine, &[1, 0]);
    assert_eq!(ab, ba);
}

/// Walks through all states of a program with everything in it.
#[test]
fn every_state_survives_being_stored() {
    let mut machine = machine(
        "struct Node { int v; Node* next; reentrant mutex m; };
         Node* head; rwlock l; chan<(int, bool), 2> c; thread worker; int* p = &seen[1];
         int seen[3] = {-1, 70000, 300}; cond changed; mutex m; semaphore s = 1;
         int depth(int n) { if (n == 0) return seen[0]; return depth(n - 1) + 1; }
         void child(Node* n) { lock(n->m); lock(n->m); read_lock(l); send(c, -7, true);
             lock(m); wait(changed, m); unlock(m); unlock(l); free(n); seen[2] = tid; }
         void main() { Node* n = new Node; head = n; worker = spawn child(n);
             read_lock(l); seen[1] = depth(3); unlock(l);
             int x; bool b; recv(c, x, b); *p = x; lock(m); notify(changed); unlock(m);
             join(worker); head = null; }",
    );
    let mut pending = vec![machine.initial()];
    let mut seen = std::collections::HashSet::new();
    let mut step = Step::default();
    while let Some(state) = pending.pop() {
        let words = encoded(&machine, &state);
        let mut restored = raddle_machine::State::default();
        machine.decode(&words, &mut restored);
        assert_eq!(restored, state);
        if !seen.insert(words) {
            continue;
        }
        for thread in 0..machine.thread_count(&state) {
            machine.step(&state, Position(thread as u32), Choice::FIRST, &mut step);
            if step.status == Status::Moved {
                let mut after = step.after.clone();
                machine.canonicalise(&mut after);
                pending.push(after);
            }
        }
    }
    assert!(seen.len() > 70, "{}", seen.len());
}
