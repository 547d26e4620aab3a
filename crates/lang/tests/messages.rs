//! What people are told about typical mistakes.
//!
//! Each case is a program; its snapshot has all messages about it, as printed. A case
//! goes through all stages up to the first that finds errors.

use std::fmt::Write as _;

use raddle_lang::{Diagnostic, Source, Style, analyse, diagnostic, parse};

/// All messages about a program.
fn messages(text: &str) -> String {
    let source = Source::new("program.rad", text);
    let (_, problems) = analyse(&source);
    render(&problems, &source)
}

fn render(problems: &[Diagnostic], source: &Source) -> String {
    problems.iter().fold(String::new(), |mut out, problem| {
        let _ = writeln!(
            out,
            "{}\n",
            diagnostic::render(problem, source, Style::Plain)
        );
        out
    })
}

/// Defines a test for each case: a name, and the program.
macro_rules! cases {
    ($($name:ident: $text:literal,)*) => {
        $(
            #[test]
            fn $name() {
                insta::assert_snapshot!(stringify!($name), messages($text), $text);
            }
        )*
    };
}

// Programs that cannot be parsed.
cases! {
    assign_with_colon: "int x;\nvoid main() {\n    x := 1;\n}\n",
    assignment_in_condition: "void main() {\n    if (x = 1) x = 2;\n}\n",
    assignment_from_call_in_condition: "void main() {\n    while (c = recv(ch)) { x++; }\n}\n",
    comparison_as_statement: "void main() {\n    x == 1;\n}\n",
    arrow_assignment: "void main() {\n    x <- 1;\n}\n",
    missing_semicolon: "void main() {\n    x = 1\n    y = 2;\n}\n",
    missing_semicolon_at_end_of_block: "void main() { x = 1 }\n",
    thread_local_prefix: "thread_local int x;\n",
    array_type: "int[4] a;\nvoid main() {\n    Point[2] b;\n}\n",
    for_in: "void main() {\n    for (i in 0..3) x++;\n    for (int i : a) x++;\n}\n",
    word_operators: "void main() {\n    if (a and not b or c) x = 1;\n}\n",
    comma_in_index: "void main() {\n    A[x, y + 1] = true;\n}\n",
    condition_without_parentheses: "void main() {\n    if x == 1 { y = 2; }\n}\n",
    function_without_braces: "void main()\n    x = 1;\n",
    unclosed_brace: "void main() {\n    while (x) {\n        y = 1;\n}\n\nvoid other() {\n}\n",
    unclosed_brace_at_end: "void main() {\n    x = 1;\n",
    unclosed_parenthesis: "void main() {\n    f(1, (2 + 3);\n}\n",
    types_of_other_languages: "long a;\nunsigned int b;\nchar c;\nfloat d;\ni64 e;\nvar f = 1;\n",
    bitwise_and_comparison: "void main() {\n    if (x & 1 == 0) y = a == b | c;\n}\n",
    chained_comparison: "invariant 0 <= x < 3;\n",
    local_constant: "void main() {\n    const int n = 3;\n}\n",
    local_atomic: "void main() {\n    atomic int n = 3;\n}\n",
    array_parameter: "int sum(int a[], int n) { return 0; }\n",
    void_parameters: "void main(void) { }\n",
    prototype: "void f();\nvoid f() { }\n",
    no_result_type: "main() {\n    x = 1;\n}\n",
    methods: "void main() {\n    m.lock();\n    p->m.unlock();\n}\n",
    operation_without_parentheses: "void main() {\n    lock m;\n    x = 1;\n    unlock m;\n}\n",
    number_too_large: "int x = 4_294_967_296;\nint y = 10L;\nint z = 1.5;\n",
    symbols_of_papers: "invariant x ≤ 3 ∧ y ≠ 2;\n",
    preprocessor: "#define N 3\nint x = 'a';\n",
    unterminated: "void main() { reach(\"here); }\n/* the end\n",
    keyword_as_name: "int cond;\n",
    two_stars: "int *p, *q;\n",
    threads_with_commas: "run f(), g();\n",
    else_without_if: "void main() {\n    if (x) y = 1; z = 2;\n    else y = 3;\n}\n",
    elif: "void main() {\n    if (x) y = 1;\n    elif (z) y = 2;\n}\n",
    choose_from_list: "void main() {\n    int x = choose(1, 2, 3);\n}\n",
    star_in_a_condition: "void main() {\n    if ((*) && x) y = 1;\n}\n",
    statement_at_top_level: "int x;\nx = 1;\n",
    strings: "void main() {\n    print(\"hello\");\n}\n",
    thread_constructor: "void main() {\n    thread t(worker, 1);\n}\n",
    triple_equals: "void main() {\n    assert(x === 1);\n}\n",
    less_or_equal_backwards: "void main() {\n    assert(x =< 1 && y => 2);\n}\n",
}

#[test]
fn nested_too_deeply() {
    let text = format!("int x = 1{};\n", " + 1".repeat(300));
    let (_, problems) = parse(&Source::new("program.rad", text));
    let messages: Vec<_> = problems.iter().map(|p| (&*p.message, &*p.help)).collect();
    insta::assert_debug_snapshot!("nested_too_deeply", messages);
}

// Programs that can be parsed, but mean nothing.
cases! {
    unknown_names: "int balance;\nvoid main() {\n    balanse = 1;\n    depsit();\n    goto end;\n    lokc(balance);\n}\n",
    words_of_c: "int* p;\nvoid main() {\n    p = NULL;\n    pthread_mutex_lock(&p);\n    sem_wait(p);\n}\n",
    references_for_operations: "mutex m;\nchan<int, 1> c;\nvoid main() {\n    lock(&m);\n    send(&c, 1);\n}\n",
    unknown_type: "Semaphore s;\nmutx m;\nvoid main() { }\n",
    declared_twice: "int x;\nbool x;\nvoid lock() { }\nvoid main(int a, int a) { }\nenum E { A, B };\nstruct S { int f; int f; };\nint A;\nrun main(1, 2);\n",
    wrong_types: "bool b;\nint x;\nmutex m;\nint* p;\nvoid main() {\n    b = 1;\n    x = b;\n    x = m;\n    p = x;\n    x = p;\n    p = 0;\n    if (m) x = 1;\n    x = b + 1;\n}\n",
    enums: "enum Colour { RED, GREEN };\nenum Size { SMALL };\nColour c;\nint x;\nvoid main() {\n    c = 1;\n    x = c;\n    if (c) x = 1;\n    if (c == SMALL) x = 1;\n    RED = 2;\n}\n",
    aggregates: "struct S { int f; };\nS s, t;\nint a[3], b[3];\nvoid main() {\n    s = t;\n    a = b;\n    if (a == b) skip;\n}\nint f(S s) { return 0; }\n",
    fields_and_indices: "struct Node { int value; Node* next; };\nNode n;\nNode* p;\nint a[3];\nint x;\nvoid main() {\n    n.vlaue = 1;\n    p.value = 1;\n    n->value = 1;\n    x.f = 1;\n    x[0] = 1;\n    a[3] = 1;\n    a[true] = 1;\n    n.colour = 2;\n}\n",
    references: "int x;\nvoid main() {\n    int y;\n    int* p = &y;\n    p = &3;\n    *x = 1;\n    p = &x + 1;\n}\n",
    arity: "int f(int a, int b) { return a + b; }\nmutex m;\nvoid main() {\n    f(1);\n    lock();\n    lock(m, m);\n    spawn f(1, 2, 3);\n}\n",
    results: "int f(int a) {\n    if (a > 0) return 1;\n}\nvoid g() { return 1; }\nint h() { return; }\nvoid main() {\n    int x = g();\n    f(1) + 1;\n}\n",
    locks: "rwlock l;\nsemaphore s = 1;\ncond c;\nmutex m;\nmutex* p;\nvoid main() {\n    lock(l);\n    lock(s);\n    lock(c);\n    lock(p);\n    wait(c);\n    wait(m, c);\n    notify(s);\n    down(m);\n    read_lock(m);\n    m = 1;\n}\n",
    channels: "chan<int, 2> c;\nchan<int> r;\nchan<(int, bool), 1> pair;\nint x;\nvoid main() {\n    send(c, true);\n    send(c);\n    try_send(r, 1);\n    int y = recv(pair);\n    bool b;\n    recv(pair, b, y);\n    recv(c, x);\n    send(x, 1);\n    len(x);\n}\n",
    atomics: "int x;\nmutex m;\natomic mutex n;\nvoid main() {\n    int y;\n    cas(&x, 0, 1);\n    cas(y, 0, 1);\n    cas(m, 0, 1);\n    cas(x, 0);\n    fetch_add(x, true);\n    swap(x, null);\n}\n",
    locals_that_must_be_global: "void main() {\n    mutex m;\n    int x guarded_by m;\n    int big[5000];\n}\n",
    orderings: "atomic int x;\nint relaxed;\nvoid main() {\n    load(x, release);\n    load(x, acq_rel);\n    store(x, 1, acquire);\n    store(x, 1, acq_rel);\n    cas(x, 0, 1, acq_rel, release);\n    fence(relaxed);\n    swap(x, 1, relaxed);\n    store(x, relaxed, relaxed);\n    fetch_add(x, 1, acq_rel);\n}\n",
    misspelt_orderings: "atomic int x;\nvoid main() {\n    load(x, aquire);\n    load(x, SeqCst);\n    store(x, 1, memory_order_release);\n    load(x, 1 + 1);\n    load(x, strong);\n    fence();\n    fence(acquire, release);\n    load(x, acquire, acquire);\n    cas(x, 1, 2, seq_cst, relaxed, acquire);\n    fence_all(acquire);\n    relaxed = 1;\n}\n",
    atomic_blocks: "mutex m;\nchan<int> c;\nvoid waits() { lock(m); wait(m); unlock(m); }\nvoid main() {\n    atomic { lock(m); wait(m); }\n    atomic { waits(); }\n    atomic { send(c, 1); }\n    goto inside;\n    atomic { inside: skip; }\n}\n",
    unreachable_code: "int x;\nvoid main() {\n    while (true) {\n        x = 1;\n    }\n    x = 2;\n}\nvoid other() {\n    goto end;\n    x = 3;\nend:\n    return;\n    x = 4;\n}\n",
    jumps: "void main() {\n    break;\n    continue;\n    switch (1) { case 1: continue; }\na: skip;\na: skip;\n}\n",
    switches: "enum E { A, B };\nE e;\nint x;\nvoid main() {\n    switch (x) { case 1: break; case 1: break; case x: break; default: break; default: break; }\n    switch (e) { case A: case 1: break; }\n    switch (null) { }\n}\n",
    constants: "const int A = B;\nconst int B = A + 1;\nconst int C = 1 / 0;\nint x;\nconst int D = x;\nconst mutex M = 1;\nint a[x], b[0], c[-1], d[true];\nvoid main() { }\n",
    ranges: "int<5..1> empty;\nint<0..3> r = 7;\nu8 small = 300;\nvoid main() {\n    r = 9;\n    int n = choose(3..1);\n    small = -1;\n}\n",
    initialisers: "int a[2] = {1, 2, 3};\nint b = {1};\nint c[2] = 1;\nmutex m = 1;\nsemaphore s = -1;\nstruct S { int f = 1; };\nint x;\nint y = x;\nvoid main() { }\n",
    structs: "struct A { B b; };\nstruct B { A a; };\nstruct Empty { };\nvoid main() { }\n",
    threads: "void f(int a) { }\nint x;\nrun f(x) || g() || f(1)[0] || f();\nrun f(1);\n",
    no_threads: "int x;\nvoid f() { x = 1; }\n",
    main_with_arguments: "void main(int n) { }\n",
    thread_handles: "void f() { }\nvoid main() {\n    int t = spawn f();\n    join(t);\n    join(1);\n    thread u = 3;\n}\n",
    invariants: "int x;\nint f() { return 1; }\ninvariant x++ < 3;\ninvariant f() == 1;\ninvariant y == 1;\ninvariant tid == 0;\nvoid main() { }\n",
    disciplines_twice: "mutex m;\nint a[3] guarded_by m, b[3], owner;\nexclusive a[i] when (owner == tid);\nexclusive b when (owner == tid);\nexclusive b[i] when (owner == i);\nvoid main() { a[0] = b[0]; }\n",
    thread_local_field: "struct Account { int balance thread_local; };\nAccount a;\nvoid main() { a.balance = 1; }\n",
    disciplines: "int x guarded_by y;\nint y;\nmutex m, ms[2];\nint a[3] guarded_by ms[];\nint b guarded_by ms[];\nint c guarded_by m thread_local;\nmutex n guarded_by m;\nexclusive z when (tid == 0);\nexclusive a[1] when (tid == 0);\nvoid main() { }\n",
    unused_values: "int x;\nmutex m;\nvoid main() {\n    x;\n    x + 1;\n    try_lock(m);\n    new int;\n}\n",
    functions_as_values: "void f() { }\nint x = f;\nvoid main() {\n    x = f;\n    f = 1;\n    x();\n}\n",
    too_large: "int a[40000], b[40000];\nvoid main() { }\n",
}
