//! What the layout looks like, and that nothing gets lost.

use super::*;
use crate::token::{TokenKind, lex};

/// The tokens with their texts; comments without their indentation.
fn tokens(text: &str) -> Vec<(TokenKind, String)> {
    let source = Source::new("t.rad", text);
    let (tokens, _) = lex(&source);
    tokens
        .iter()
        .map(|token| {
            let lines = source.snippet(token.span).lines().map(str::trim);
            (token.kind, lines.collect::<Vec<_>>().join("\n"))
        })
        .collect()
}

fn formatted(text: &str) -> String {
    let source = Source::new("t.rad", text);
    let once = format(&source).unwrap_or_else(|problems| panic!("{text}\n{problems:?}"));
    let twice = format(&Source::new("t.rad", once.clone())).expect("still a program");
    assert_eq!(once, twice, "formatting again changes it:\n{text}");
    assert_eq!(tokens(text), tokens(&once));
    once
}

/// Asserts that the text is already in the standard layout.
fn keeps(text: &str) {
    assert_eq!(formatted(text), text);
}

fn body(text: &str) -> String {
    formatted(&format!("void f() {{\n{text}\n}}"))
}

#[test]
fn short_blocks_stay_on_their_line() {
    keeps("void first() { x = 1; if (y == 1) reach(\"both\"); }\n");
    keeps("struct Point { int x; int y; };\n");
    keeps("enum Colour { RED, GREEN, BLUE };\n");
    keeps("void f() {\n    if (owner == tid) { buffer = 1; owner = 1 - tid; }\n}\n");
}

#[test]
fn long_blocks_are_opened_up() {
    let name = "v".repeat(40);
    let long = format!("void f() {{ {name} = 1; {name} = 2; if (a) {{ x = 1; }} }}");
    let open =
        format!("void f() {{\n    {name} = 1;\n    {name} = 2;\n    if (a) {{ x = 1; }}\n}}\n");
    assert_eq!(formatted(&long), open);
}

#[test]
fn statements_on_one_line_stay_together_if_they_fit() {
    keeps("void f() {\n    lock(m); x++; unlock(m);\n    y = 1;\n}\n");
    let name = "v".repeat(40);
    assert_eq!(
        body(&format!("{name} = 1; {name} = 2; x = 3;")),
        format!("void f() {{\n    {name} = 1;\n    {name} = 2;\n    x = 3;\n}}\n")
    );
}

#[test]
fn braces_are_cuddled() {
    assert_eq!(
        body(
            "if (a)\n{\nx=1;\n}\nelse if (b)\n{ y=2; }\nelse\n{\nz=3; }\ndo\n{ x++;\n}\nwhile(x<3);"
        ),
        "void f() {\n    if (a) {\n        x = 1;\n    } else if (b) {\n        y = 2;\n    } \
         else {\n        z = 3;\n    }\n    do {\n        x++;\n    } while (x < 3);\n}\n"
    );
    assert_eq!(
        body("choose { x = 1; }\nor { skip; }\natomic\n{ y = 1;\n}"),
        "void f() {\n    choose {\n        x = 1;\n    } or {\n        skip;\n    }\n    \
         atomic {\n        y = 1;\n    }\n}\n"
    );
}

#[test]
fn bodies_without_braces_stay_where_they_were() {
    keeps(
        "void f() {\n    if (a) x = 1;\n    else y = 1;\n    while (b)\n        if (c)\n            z = 1;\n        else\n            z = 2;\n}\n",
    );
}

#[test]
fn labels_and_cases_are_indented_as_in_the_documentation() {
    keeps(
        "void main() {\n    int i = 0;\nagain:\n    switch (i % 3) {\n        case 0:\n        case 1: total += i; break;\n        case 2: {\n            x = 1;\n        }\n        default:\n            skip;\n            break;\n    }\nL0: L1: x = 1;\nend:\n}\n"
            .replace("L0: L1", "    L0: L1")
            .as_str(),
    );
}

#[test]
fn cases_that_do_not_fit_are_taken_apart() {
    let name = "v".repeat(40);
    assert_eq!(
        body(&format!(
            "switch (x) {{\ncase 0: {name} = 1; {name} = 2; break;\n}}"
        )),
        format!(
            "void f() {{\n    switch (x) {{\n        case 0:\n            {name} = 1;\n            \
             {name} = 2;\n            break;\n    }}\n}}\n"
        )
    );
}

#[test]
fn operators_are_told_apart() {
    assert_eq!(
        body(
            "x=a*b-- - -c;*p=&q[1];if(*)x= - -y&(z);int<-1..7>r;chan<(int,Node*),2>c;Node*n=(Node*)p;x=(int)b;x=c?a:b;for(;;)skip;for(int i=0;*;i++)!x;p->f=s.f;y=~a<b>>2;"
        ),
        "void f() {
    x = a * b-- - -c;
    *p = &q[1];
    if (*) x = - -y & (z);
    int<-1..7> r;
    chan<(int, Node*), 2> c;
    Node* n = (Node*) p;
    x = (int) b;
    x = c ? a : b;
    for (;;) skip;
    for (int i = 0; *; i++) !x;
    p->f = s.f;
    y = ~a < b >> 2;
}
"
    );
}

#[test]
fn comments_stay_where_they_were() {
    keeps(
        "// first

/* a block
 * of text */
int x; // trailing
/* why */ int y;

void f() { // opening
    // before
    x = 1; /* after */ // and more

    // between
    if (a) {
        // empty
    } // closed
    // otherwise
    else {
        y = /* inline */ 2;
        // at the end
    }
    while (b) { /* spin */ }
    g(x, // first
        y);
    g(
        // own line
        x);
    switch (x) {
        // before a case
        case 0: skip; // trailing
            // in an arm
    }
    // last
}
// end of file
",
    );
}

#[test]
fn comments_in_strange_places_survive() {
    formatted("void /*a*/ f(/*b*/) /*c*/ { /*d*/ } /*e*/");
    formatted("void f(int x // a\n, int y) // b\n{ // c\nx = // d\n1 // e\n; // f\n} // g");
    formatted("void f() { if (a) // b\nx = 1; // c\nelse // d\n// e\n{ y = 2; } }");
    formatted("int a[2] = { // x\n 1, // y\n 2 // z\n};");
    formatted("enum E { A, // a\n B /* b */ };\nstruct S { int x; // x\n // y\n };");
}

#[test]
fn blank_lines_are_collapsed() {
    assert_eq!(
        formatted("\n\nint x;\n\n\n\nint y;\nvoid f() {\n\n\nx = 1;\n\n\ny = 2;\n\n}\n\n\n"),
        "int x;\n\nint y;\nvoid f() {\n    x = 1;\n\n    y = 2;\n}\n"
    );
}

#[test]
fn long_lines_are_broken() {
    let run = format!(
        "run {}a();",
        "some_function_with_a_long_name(1, 2) || ".repeat(4)
    );
    assert_eq!(
        formatted(&run),
        "run some_function_with_a_long_name(1, 2) || some_function_with_a_long_name(1, 2)\n    \
         || some_function_with_a_long_name(1, 2) || some_function_with_a_long_name(1, 2) || a();\n"
    );
    let table = format!("int table[64] = {{{}1}};", "1000, ".repeat(30));
    assert!(
        formatted(&table)
            .lines()
            .all(|line| line.len() <= LINE_WIDTH)
    );
}

#[test]
fn long_lines_are_broken_in_few_brackets() {
    let (a, b) = ("a".repeat(30), "b".repeat(30));
    assert_eq!(
        body(&format!("await(({a} ==> {b}) && (x ==> {a} || {b} || y));")),
        format!("void f() {{\n    await(({a} ==> {b})\n        && (x ==> {a} || {b} || y));\n}}\n")
    );
}

#[test]
fn breaks_where_they_are_allowed_are_kept() {
    keeps("run first()\n    || second();\n");
    assert_eq!(formatted("int x =\n1 +\n2;"), "int x = 1 + 2;\n");
}

#[test]
fn aligned_comments_stay_aligned() {
    assert_eq!(
        formatted("int x;     // x\nint yyy;   // y\n\nint z;     // z\n"),
        "int x;   // x\nint yyy; // y\n\nint z; // z\n"
    );
    keeps("int x; // x\nint yyy; // y\n");
}

#[test]
fn rows_of_an_initialiser_are_kept() {
    keeps("int a[2][2] = {\n    {1, 2},\n    {3, 4}\n};\n");
    keeps("int a[2][2] = {{1, 2}, {3, 4}};\n");
}

#[test]
fn nothing_is_formatted_if_there_are_errors() {
    assert!(format(&Source::new("t.rad", "int")).is_err());
    assert_eq!(formatted(""), "");
    assert_eq!(
        formatted("// only\n\n\n// comments"),
        "// only\n\n// comments\n"
    );
}

#[test]
fn orderings_are_arguments() {
    assert_eq!(
        body("fence( acq_rel );\ncas(x,0,1,release ,relaxed);"),
        body("fence(acq_rel);\ncas(x, 0, 1, release, relaxed);")
    );
    keeps("void f() { store(x, load(x, acquire), release); }\n");
}
