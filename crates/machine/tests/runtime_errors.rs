//! Every runtime error is a verdict with a place.

mod common;

use common::violations;

#[track_caller]
fn fails(body: &str, expected: &str) {
    let text = format!(
        "int zero; int a[3]; int* p; mutex m; rwlock l; u8 small;\nvoid main() {{\n{body}\n}}"
    );
    assert_eq!(violations(&text), [format!("3: {expected}")], "{body}");
}

#[test]
fn arithmetic() {
    fails("a[0] = 1 / zero;", "division by zero");
    fails("a[0] = 1 % zero;", "division by zero");
    fails("a[0] /= zero;", "division by zero");
}

#[test]
fn arrays() {
    let message = "index out of bounds: there is no element 3, only 0 to 2";
    fails("int i = 3; a[i] = 1;", message);
    fails("int i = 3; a[0] = a[i];", message);
    fails("int i = 3; p = &a[i];", message);
    fails("int b[3]; int i = 3; b[i] = 1;", message);
    fails("p = &a[1]; p[2] = 1;", message);
    fails(
        "p = &a[1]; p[-2] = 1;",
        "index out of bounds: there is no element -1, only 0 to 2",
    );
    fails(
        "p = &zero; p[1] = 1;",
        "index out of bounds: the reference does not refer into an array",
    );
    fails("p = new int[3]; p[3] = 1;", message);
    fails(
        "p = new int[0]; p[0] = 1;",
        "index out of bounds: there is no element 0, the array is empty",
    );
    fails(
        "p = new int[1]; p[1] = 1;",
        "index out of bounds: there is no element 1, only 0",
    );
}

#[test]
fn references() {
    fails("*p = 1;", "use of a null reference");
    fails("zero = *p;", "use of a null reference");
    fails("p[1] = 1;", "use of a null reference");
    fails("p = new int; free(p); *p = 1;", "use of a freed object");
    fails(
        "p = new int[2]; free(p); p[1] = 1;",
        "use of a freed object",
    );
    fails(
        "p = new int; free(p); free(p);",
        "the object was freed before",
    );
    fails("free(&zero);", "only what `new` gave can be freed");
    fails(
        "p = new int[2]; free(&p[1]);",
        "only what `new` gave can be freed",
    );
    fails("p = new int[-1];", "cannot allocate -1 slots");
    fails("p = new int[1000000];", "cannot allocate 1000000 slots");
}

#[test]
fn locks() {
    fails(
        "unlock(m);",
        "unlock of a lock that the thread does not hold",
    );
    fails(
        "unlock(l);",
        "unlock of a lock that the thread does not hold",
    );
    fails(
        "lock(m); unlock(m); unlock(m);",
        "unlock of a lock that the thread does not hold",
    );
    fails("wait(m);", "wait without holding the mutex");
    fails("notify(m);", "notify without holding the mutex");
    fails("thread t; join(t);", "join of a null thread");
}

#[test]
fn ranges_and_choices() {
    fails("int<0..2> r = 2; r++;", "3 is outside the range 0..2");
    fails(
        "int n = choose(3..zero);",
        "nothing to choose from: 3 is greater than 0",
    );
}

#[test]
fn things_without_end() {
    fails(
        "atomic { while (true) small++; }",
        "the atomic block does not end (more than 100000 loop iterations and calls)",
    );
    let recursion = "int f(int n) {\nreturn f(n + 1);\n}\nvoid main() { f(0); }";
    assert_eq!(
        violations(recursion),
        ["2: stack limit: more than 256 nested calls"]
    );
}

#[test]
fn threads_without_end() {
    let bomb = "void f() {\nspawn f(); while (true) skip;\n}\nrun f();";
    let mut machine = common::machine(bomb);
    let outcome = raddle_explore::Search::new().max_states(200).run(
        &mut machine,
        &mut raddle_explore::reductions::full::Full::default(),
    );
    assert_eq!(outcome.verdict(), raddle_explore::Verdict::Inconclusive);
}

#[test]
fn a_failure_before_the_first_visible_operation_is_found() {
    assert_eq!(
        violations("void main() {\nassert(1 > 2);\n}"),
        ["2: assertion failed: 1 > 2"]
    );
    let child =
        "void child(int n) {\nassert(n == 0, \"no luck\");\n}\nvoid main() { spawn child(1); }";
    assert_eq!(violations(child), ["2: assertion failed: no luck"]);
}

#[test]
fn a_thread_that_failed_stops_and_the_others_go_on() {
    let both = "void a() {\nassert(false);\n}\nvoid b() {\nassert(false);\n}\nrun a() || b();";
    let mut found = violations(both);
    found.sort();
    assert_eq!(
        found,
        ["2: assertion failed: false", "5: assertion failed: false"]
    );
}
