//! What programs mean: small programs with exactly the violations they must have.

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{explore, explore_with, machine, machine_with, states, violations};
use raddle_explore::reductions::full::Full;
use raddle_explore::{Property, Search};
use raddle_machine::narrate::{Narrator, Told};
use raddle_machine::{Granularity, Machine};

/// Runs statements one after the other; their assertions hold.
#[track_caller]
fn holds(globals: &str, bodies: &[&str]) {
    for body in bodies {
        let text = format!("{globals}\nvoid main() {{\n{body}\n}}");
        assert_eq!(violations(&text), [""; 0], "{text}");
    }
}

/// Programs with their violations (each `line: message`), and how many states they have.
#[track_caller]
fn behave(programs: &[(&str, &[&str], u64)]) {
    for (text, expected, count) in programs {
        let mut found = violations(text);
        found.sort();
        assert_eq!(found, *expected, "{text}");
        assert_eq!(states(text), *count, "{text}");
    }
}

/// Like [`behave`], for programs that can deadlock, and have no other violations.
#[track_caller]
fn deadlock(programs: &[(&str, u64)]) {
    for (text, count) in programs {
        let outcome = explore(text);
        let mut found = outcome.violations.iter().map(|v| v.property());
        assert!(
            found.all(|property| property == Property::Deadlock),
            "{text}"
        );
        assert!(outcome.statistics.ends.deadlocked > 0, "{text}");
        assert_eq!(outcome.statistics.states, *count, "{text}");
    }
}

#[test]
fn operands_are_evaluated_from_left_to_right() {
    holds(
        "int x; int a[3];
         int pair(int a, int b) { return a * 10 + b; }
         bool both(bool a, bool b) { return a && b; }
         int bump() { x++; return x; }",
        &[
            "int i = 0; a[i] = i++; assert(a[0] == 0 && i == 1);",
            "x = 1; int sum = x + x++; assert(sum == 2 && x == 2);",
            "int y = 1; int sum = y + y++; assert(sum == 2); sum = y++ + y; assert(sum == 5);",
            "int y = 3; assert(y - --y == 1); y = y++; assert(y == 2); y = y++ + y++; assert(y == 5);",
            "x = 1; assert(x + bump() == 3); assert(bump() + x == 6); assert(bump() - bump() == -1);",
            "assert(pair(pair(1, 2), pair(3, pair(4, 5))) == 195);",
            "int i = 0; assert(pair(i++, pair(i++, i++)) == 12 && i == 3);",
            "int i = 3; assert(both(i == 3 && i++ == 3, i == 4 || i++ > 0) && i == 4);",
            "int i = 5; int j = i > 3 ? i++ : i--; assert(j == 5 && i == 6);",
            "int i = 6; assert((!(i == 6) ==> i++ == 0) && i == 6);",
            "int v[2]; v[v[0]] = v[0]++ + v[1] + 5; assert(v[0] == 5 && v[1] == 0);",
        ],
    );
}

#[test]
fn compound_assignments_evaluate_their_place_once() {
    holds(
        "int a[3];",
        &[
            "int i = 0; a[i++] += i; assert(a[0] == 1 && a[1] == 0 && i == 1);",
            "int i = 0; a[i] += i++; assert(a[0] == 0 && i == 1); a[i] += i++; assert(a[1] == 1);",
            "int v[3]; int i = 0; v[i++] += i; assert(v[0] == 1 && i == 1);",
            "int v[3]; int i = 1; v[i] += i++; assert(v[1] == 1 && v[2] == 0);",
            "int i = 2; i += i++; assert(i == 4); i -= --i; assert(i == 1);",
        ],
    );
}

#[test]
fn integers_wrap_around() {
    holds(
        "u8 a; atomic u8 b; i8 c; u16 d; i16 e;",
        &[
            "a--; assert(a == 255); a += 2; assert(a == 1); a -= 3; assert(a == 254);",
            "a = 255; assert(++a == 0); assert(a-- == 0 && a == 255); a *= 2; assert(a == 254);",
            "a = 200; assert(a << 1 == 400); a <<= 1; assert(a == 144); assert(a + a == 288);",
            "a = 254; assert(fetch_add(a, 5) == 254 && a == 3); assert(swap(a, 300) == 3 && a == 44);",
            "b = 255; assert(++b == 0); assert(b-- == 0 && b == 255); b += 3; assert(b == 2);",
            "c = 127; assert(++c == -128); c--; assert(c == 127); c += 200; assert(c == 71);",
            "c = -128; c /= -1; assert(c == -128);",
            "d--; assert(d == 65535); d += 1; assert(d == 0); e = 32767; e++; assert(e == -32768);",
            "u8 v = 255; assert(++v == 0); v -= 1; assert(v == 255); v++; assert(v == 0);",
            "int m = -2147483648; assert(m / -1 == m && m % -1 == 0 && -m == m && m * -1 == m);",
            "int m = -2147483648; m--; assert(m == 2147483647); m++; m /= -1; assert(m < 0);",
            "int m = -7; int two = 2; assert(m / two == -3 && m % two == -1 && 7 % -two == 1);",
            "int m = 5; assert(m > -2147483648 && -2147483648 < 0 && -2147483648 == -2147483647 - 1);",
            "int n = -1; assert((1 << n) < 0 && n >> n == -1 && 1 << n + 34 == 2 && -8 >> 33 == -4);",
        ],
    );
}

#[test]
fn unsigned_integers_compare_and_divide_as_such() {
    holds(
        "u32 u; atomic u32 a;",
        &[
            "u--; assert(u == 4294967295 && u > 5 && u / 2 == 2147483647 && u >> 31 == 1);",
            "u = 4294967295; assert(u % 10 == 5 && -u == 1 && ~u == 0); u++; assert(u == 0);",
            "u = 4000000000; u += 500000000; assert(u == 205032704); u /= 3; assert(u == 68344234);",
            "u = -1; int m = u; assert(m == -1); u = m; assert(m < 0 && u > 0 && m == u);",
            "u = 1; int m = -4; m += u; assert(m == -3); m /= 2; assert(m == -1);",
            "a--; assert(a > 1); a /= 2; assert(a == 2147483647);",
        ],
    );
}

#[test]
fn values_are_checked_against_their_range() {
    let message = |line: u32| format!("{line}: 4 is outside the range 0..3");
    let fails = |globals: &str, body: &str| {
        let text = format!("{globals}\nvoid main() {{ int four = 4;\n{body}\n}}");
        assert_eq!(violations(&text), [message(3)], "{text}");
    };
    fails("int<0..3> r; int<0..3>* p;", "p = &r; *p = four;");
    fails("chan<int<0..3>, 1> c;", "send(c, four);");
    fails("chan<int, 1> c;", "int<0..3> r; send(c, four); recv(c, r);");
    fails("void f(int<0..3> r) { }", "f(four);");
    fails("void f(int<0..3> r) { }", "spawn f(four);");
    fails("int<0..3> r = 3;", "r++;");
    fails("int<0..3> r = 3;", "fetch_add(r, 1);");
    fails("atomic int<0..3> r = 3;", "r += 1;");
    fails("", "int<0..3> r = 3; r++;");
    holds(
        "int<0..3> r = 3; u8 small;",
        &[
            "assert(fetch_add(r, -3) == 3 && r == 0);",
            // What is compared is not stored.
            "int nine = 9; assert(!cas(r, nine, 1)); int k = 256; assert(!cas(small, k, 1));",
        ],
    );
}

#[test]
fn ranges_without_zero_start_at_their_lower_end() {
    holds(
        "struct S { int<1..3> r; int<2..4> a[2]; int z; };
         int<1..3> a[2]; S s;",
        &[
            "assert(a[1] == 1 && s.r == 1 && s.a[1] == 2);",
            "int<1..3> r; int<1..3> v[2]; S t; assert(r == 1 && v[1] == 1 && t.a[0] == 2 && t.z == 0);",
            "for (int i = 0; i < 2; i++) { int<1..3> v[2]; assert(v[1] == 1); v[1] = 3; }",
            "S* h = new S[2]; assert(h->r == 1 && h[1].r == 1 && h[1].a[1] == 2 && h[1].z == 0);",
            "switch (s.z) { case 1: int<1..3> v; break; case 0: assert(v == 1); }",
        ],
    );
}

#[test]
fn variables_are_fresh_whichever_way_they_come_into_scope() {
    holds(
        "int x; struct S { int f; };",
        &[
            "for (int i = 0; i < 3; i++) { int v; int a[2]; S s; assert(v + a[1] + s.f == 0);
             v = 1; a[1] = 1; s.f = 1; x = v; }",
            "int n = 0; again: int v; assert(v == 0); v = 5; n++; if (n < 3) goto again;",
            "int n = 0; { int w = 9; n = w; if (n > 5) goto out; } int z = 3;
             out: assert(z == 0); n++; z = 7; if (n < 12) { z = 0; goto out; }",
            "int n = 0; if (x == 0) goto in; { int q = 3; in: assert(q == 0); q = 4; n = q; }
             assert(n == 4);",
            // The scrutinee was in the register of `y`.
            "int k = x + 1; switch (k + 6) { case 0: int y = 5; x = y; break;
             case 7: assert(y == 0); y++; x = y; break; } assert(x == 1);",
            "for (int i = 0; i < 2; i++) switch (i) { case 0: int y = 5; x = y;
             default: assert(y == (i == 0 ? 5 : 0)); y = 9; }",
            "switch (x) { case 0: int y = 5; case 1: y++; default: assert(y == 6); }",
        ],
    );
}

#[test]
fn switches_fall_through() {
    holds(
        "enum Colour { RED, GREEN, BLUE }; Colour c = GREEN;",
        &[
            "int k = 0; switch (c) { case RED: k = 1; case GREEN: k = 2; case BLUE: k += 10; break;
             default: k = 100; } assert(k == 12);",
            "int k = 0; switch ((int) c) { default: k++; case 5: k += 10; } assert(k == 11);",
            "int k = 0; while (true) { switch (k) { case 3: goto out; default: k++; continue; } k = 9; }
             out: assert(k == 3);",
        ],
    );
}

#[test]
fn references_move_within_their_array() {
    holds(
        "struct S { int a; int b; int w[2]; };
         struct One { int x[1]; };
         S s[2]; One ones[2]; int* p; S* q; int** r;",
        &[
            "p = &s[1].b; *p = 4; assert(s[1].b == 4); r = &p; **r = 5; assert(s[1].b == 5);",
            "q = &s[0]; q[1].a = 7; assert(s[1].a == 7); q = &q[1]; assert(q[-1].a == 0);",
            "p = &s[1].w[0]; p[1] = 5; assert(s[1].w[1] == 5);",
            "q = new S[2]; q[1].w[1] = 3; p = &q[1].w[0]; assert(p[1] == 3); q = &q[1]; q[-1].a = 1;",
            // A struct can be as large as its only field.
            "One* one = &ones[0]; one[1].x[0] = 3; assert(ones[1].x[0] == 3);",
            "One* one = new One[2]; one[1].x[0] = 3; p = &one[1].x[0]; assert(p[0] == 3);",
        ],
    );
    behave(&[
        (
            "struct One { int x[1]; }; One ones[2];\nvoid main() {\nint* p = &ones[0].x[0];\np[1] = 3; }",
            &["4: index out of bounds: there is no element 1, only 0"],
            1,
        ),
        (
            "int* p; int* q;\nvoid main() { p = new int; q = p; free(p); p = null;\n*q = 1; }",
            &["3: use of a freed object"],
            9,
        ),
        (
            "struct S { mutex m; };\nS* p;\nvoid main() { p = new S; lock(p->m); free(p);\nunlock(p->m); }",
            &["4: use of a freed object"],
            8,
        ),
    ]);
}

#[test]
fn many_objects_in_one_step() {
    let text = "struct N { N* next; }; N* head;
        void main() { atomic { for (int i = 0; i < 20000; i++) {
            N* n = new N; n->next = head; head = n; } } assert(head->next != null); }";
    assert!(explore(text).is_verified());
}

#[test]
fn atomic_blocks_can_be_left_by_jumps() {
    behave(&[(
        "int x, y;
         void leave() { atomic { x = 1; return; } }
         int jump() {
             while (true) { atomic { x++; if (x > 1) break; continue; } }
             atomic { atomic { x++; goto out; } }
             out: y = 1;
             return x;
         }
         void main() { leave(); assert(jump() == 3); yield; x = 2; }
         void watch() { atomic { assert(x >= 0); } }
         run main() || watch();",
        &[],
        16,
    )]);
}

#[test]
fn blocked_atomic_blocks_have_no_effect() {
    deadlock(&[(
        "int x; chan<int, 1> c; cond k;
         void w() { x = 1; }
         void main() { atomic { thread t = spawn w(); int* p = new int; notify(k);
             int q = choose(0..1); send(c, q); recv(c); recv(c); } }",
        1,
    )]);
    behave(&[(
        "int x;
void main() { atomic { int q = choose(0..3); await(q % 2 == 1); x = q; } int y = x; x = 0;
assert(y == 1 || y == 3); assert(y == 1); }",
        &["3: assertion failed: y == 1"],
        // The start, two choices, two loads, the end, and the failure.
        7,
    )]);
}

#[test]
fn too_many_choices_in_one_step_are_an_error() {
    behave(&[(
        "void main() { atomic {\nwhile (*) skip; } }",
        &["2: too many choices in one step"],
        3,
    )]);
}

/// Every way to go on is tried, but a limit on the search counts in the middle of that, too.
#[test]
fn billions_of_alternatives_do_not_outlast_the_limits() {
    let search = |text: &str| {
        let (mut machine, mut full) = (machine(text), Full::default());
        let search = Search::new()
            .max_states(100)
            .timeout(Duration::from_millis(200));
        let start = Instant::now();
        let outcome = search.run(&mut machine, &mut full);
        assert!(start.elapsed() < Duration::from_secs(20), "{text}");
        outcome
    };
    let many = "choose(-2147483648..2147483647)";
    let stored = search(&format!("int x; void main() {{ x = {many}; }}"));
    assert_eq!(stored.statistics.states, 100);
    search(&format!(
        "void main() {{ atomic {{ {many}; {many}; {many}; }} }}"
    ));
    search(&format!("void main() {{ {many}; assert(false); }}"));
    search(&format!(
        "int x; void main() {{ x = {many}; assert(x >= 0); }}"
    ));
}

#[test]
fn locks() {
    deadlock(&[
        ("mutex m; void main() { lock(m); lock(m); }", 2),
        (
            "rwlock l; void main() { read_lock(l); read_lock(l); write_lock(l); }",
            3,
        ),
        ("rwlock l; void main() { write_lock(l); read_lock(l); }", 2),
    ]);
    behave(&[
        (
            "mutex m;\nvoid a() { lock(m); }\nvoid b() {\nunlock(m); }\nrun a() || b();",
            &["4: unlock of a lock that the thread does not hold"],
            4,
        ),
        (
            "rwlock l; void main() { write_lock(l); assert(!try_read_lock(l) && !try_write_lock(l));
             unlock(l); assert(try_read_lock(l) && try_read_lock(l) && !try_write_lock(l));
             unlock(l); assert(!try_write_lock(l)); unlock(l); assert(try_write_lock(l)); }",
            &[],
            12,
        ),
        (
            "semaphore s = 2147483647; void main() { up(s); down(s); assert(try_down(s)); }",
            &[],
            4,
        ),
    ]);
}

#[test]
fn waiting_gives_up_the_whole_lock() {
    behave(&[
        (
            "reentrant mutex m; int x;
             void a() { lock(m); lock(m); x = 1; wait(m); assert(x == 2); unlock(m); unlock(m); }
             void b() { await(x == 1); lock(m); x = 2; notify(m); unlock(m); }
             run a() || b();",
            &[],
            15,
        ),
        (
            "mutex m; cond c; int n, woken;
void w(int i) { lock(m); n++; wait(c, m); woken = i; unlock(m); }
void s() { await(n == 3); lock(m); notify(c); unlock(m); await(woken != 0);
assert(woken != 1);
assert(woken != 2);
assert(woken != 3); }
run w(1) || w(2) || w(3) || s();",
            &[
                "4: assertion failed: woken != 1",
                "5: assertion failed: woken != 2",
                "6: assertion failed: woken != 3",
            ],
            82,
        ),
    ]);
}

#[test]
fn channels() {
    behave(&[
        (
            "chan<(int, bool), 3> c;
             void main() {
                 send(c, 1, true); send(c, 2, false); int a; bool b;
                 recv(c, a, b); assert(a == 1 && b);
                 send(c, 3, true); send(c, 4, false); assert(!try_send(c, 5, true) && len(c) == 3);
                 recv(c, a, b); assert(a == 2 && !b); recv(c, a, b); assert(a == 3 && b);
                 assert(try_recv(c, a, b) && a == 4 && !b);
                 a = 77; b = true; assert(!try_recv(c, a, b) && a == 77 && b);
             }",
            &[],
            12,
        ),
        (
            "chan<int> c; int got;
             void s(int v) { send(c, v); }
             void r() { int a = recv(c); atomic { got += a; } }
             void done() { await(got == 3); }
             run s(1) || s(2) || r() || r() || done();",
            &[],
            51,
        ),
    ]);
    deadlock(&[(
        "chan<int> c; void s(int v) { send(c, v); } void r() { recv(c); } run s(1) || s(2) || r();",
        9,
    )]);
}

#[test]
fn threads() {
    behave(&[
        (
            "thread t; int x;
             void w() { x = 1; }
             void j() { await(t != null); join(t); assert(x == 1); }
             void main() { t = spawn w(); join(t); join(t); }
             run main() || j() || j();",
            &[],
            165,
        ),
        (
            // Handles in heap objects that refer to themselves are garbage in the end.
            "struct N { thread t; N* n; }; int x;
             void w(N* self) { x++; self->n = self; }
             void main() { for (int i = 0; i < 2; i++) { N* n = new N; n->t = spawn w(n); } yield; }",
            &[],
            117,
        ),
        (
            "int seen[4];
             void w(int d) { seen[d] = tid; if (d == 1) { thread t = spawn w(2); join(t); } }
             void main() { thread a = spawn w(0); thread b = spawn w(1); join(a); join(b);
                 assert(seen[0] == 1 && seen[1] == 2 && seen[2] == 2049); }",
            &[],
            36,
        ),
        (
            "int x; int f(int n) { x += n; return x; }
             void main() { thread t = spawn f(1); join(t); assert(f(2) == 3); }",
            &[],
            10,
        ),
        (
            "void w() { } void main() { while (true) { thread t = spawn w(); join(t); } }",
            &[],
            4,
        ),
    ]);
}

/// They are no states of their own.
#[test]
fn failures_before_the_first_visible_operation() {
    behave(&[
        (
            "int x;\nvoid main() {\nassert(false); }\nvoid o() { x = 1; }\nrun main() || o();",
            &["3: assertion failed: false"],
            2,
        ),
        (
            "void w() {\nassert(false); }\nvoid main() { thread t = spawn w(); join(t); }",
            &["2: assertion failed: false"],
            2,
        ),
    ]);
}

#[test]
fn loops_and_recursion() {
    behave(&[
        (
            "int x;\nvoid main() { while (true) skip; }\nvoid o() { x = 1;\nassert(x == 0); }
             run main() || o();",
            &["4: assertion failed: x == 0"],
            3,
        ),
        (
            "int x; void main() { atomic { int s; for (int i = 0; i < 5000; i++) s += i; x = s; }
             assert(x == 12497500); }",
            &[],
            3,
        ),
        (
            "int x; int f(int n) { if (n == 0) return 0; x++; int r = f(n - 1); x--; return r + 1; }
             void main() { assert(f(200) == 200); assert(x == 0); }",
            &[],
            802,
        ),
        (
            "int f(int n) {\nreturn f(n + 1) + 1; } void main() { f(0); }",
            &["2: stack limit: more than 256 nested calls"],
            1,
        ),
    ]);
}

#[test]
fn invariants_without_a_value_are_broken() {
    behave(&[
        (
            "int g; int a[2];\ninvariant a[g] == 0;\nvoid main() { g = 2; }",
            &["2: invariant has no value: index out of bounds: there is no element 2, only 0 to 1"],
            2,
        ),
        (
            "int z = 1;\ninvariant 1 / z >= 0;\nvoid main() { z = 0; }",
            &["2: invariant has no value: division by zero"],
            2,
        ),
        (
            "int* p;\ninvariant *p == 0;\nvoid main() { p = new int; }",
            &["2: invariant has no value: use of a null reference"],
            2,
        ),
    ]);
}

#[test]
fn a_statement_is_one_step_but_calls_are_not_part_of_it() {
    let by_statement = |text: &str| {
        let mut machine = machine_with(text, Granularity::Statement);
        explore_with(&mut machine).statistics.states
    };
    assert_eq!(by_statement("int x, y, z; void main() { x = y + z; }"), 2);
    assert_eq!(
        by_statement("int x, y; void main() { if (x + y == 0) x = y; }"),
        3
    );
    // The statement of the callee, then the rest of the caller's.
    let call = "int x, y, g; int f() { return g; } void main() { x = f() + y; }";
    assert_eq!(by_statement(call), 3);
    assert_eq!(states(call), 4);
    // Before the call, in it, and after it.
    let middle = "int x, y, g; int f() { return g; } void main() { x = y + f() + y; }";
    assert_eq!(by_statement(middle), 4);
}

/// The parameters of a thread that is about to exit are gone; telling must not look for them.
#[test]
fn threads_that_are_about_to_exit_can_be_told() {
    let text = "int x; void w(int a, int b) { x = a; }
        void main() { spawn w(1, 2); await(x == 1); assert(false); }";
    let outcome = explore(text);
    assert_eq!(outcome.violations.len(), 1);
    let program = machine(text).program().clone();
    let machine = Machine::new(Arc::new(program), Granularity::Access);
    let mut narrator = Narrator::new(machine);
    for &step in &outcome.violations[0].schedule {
        assert!(!matches!(narrator.step(step), Told::Impossible));
        let _ = narrator.values();
    }
}
