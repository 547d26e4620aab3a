//! What people are told about typical mistakes.
//!
//! Each case is a program; its snapshot has all messages about it, as printed. A case
//! goes through all stages up to the first that finds errors.

use std::fmt::Write as _;

use raddle_lang::{Diagnostic, Source, Style, diagnostic, parse};

/// All messages about a program.
fn messages(text: &str) -> String {
    let source = Source::new("program.rad", text);
    let (_, problems) = parse(&source);
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
