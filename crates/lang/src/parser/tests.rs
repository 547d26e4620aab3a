//! What trees come out, and where they say they are.

use super::*;
use crate::ast::{Expr, ExprKind, Item, Statement, StatementKind, TypeKind};

fn messages(text: &str) -> Vec<String> {
    let (_, problems) = parse(&Source::new("t.rad", text));
    problems.into_iter().map(|p| p.message).collect()
}

fn statements(body: &str) -> Vec<Statement> {
    let text = format!("void main() {{ {body} }}");
    let (program, problems) = parse(&Source::new("t.rad", text));
    assert!(problems.is_empty(), "{body}: {problems:?}");
    match program.items.into_iter().next() {
        Some(Item::Function(function)) => function.body.statements,
        other => panic!("not a function: {other:?}"),
    }
}

/// Fully parenthesised.
fn show(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Int(value) => value.to_string(),
        ExprKind::Name(name) => name.clone(),
        ExprKind::Paren(inner) => format!("[{}]", show(inner)),
        ExprKind::Binary(op, a, b) => format!("({} {op:?} {})", show(a), show(b)),
        ExprKind::Unary(op, a) => format!("({op:?} {})", show(a)),
        ExprKind::Conditional(c, a, b) => format!("({} ? {} : {})", show(c), show(a), show(b)),
        ExprKind::Deref(a) => format!("(* {})", show(a)),
        ExprKind::AddressOf(a) => format!("(& {})", show(a)),
        ExprKind::Index(a, i) => format!("{}[{}]", show(a), show(i)),
        ExprKind::Field(a, f) => format!("{}.{}", show(a), f.text),
        ExprKind::Arrow(a, f) => format!("{}->{}", show(a), f.text),
        ExprKind::Cast(_, a) => format!("(cast {})", show(a)),
        other => format!("{other:?}"),
    }
}

fn expr(text: &str) -> String {
    match &statements(&format!("x = {text};"))[0].kind {
        StatementKind::Assign { value, .. } => show(value),
        other => panic!("not an assignment: {other:?}"),
    }
}

#[test]
fn operators_group_as_in_the_table() {
    assert_eq!(expr("a + b * c"), "(a Add (b Multiply c))");
    assert_eq!(expr("a - b - c"), "((a Subtract b) Subtract c)");
    assert_eq!(expr("a ==> b ==> c"), "(a Implies (b Implies c))");
    assert_eq!(expr("a || b && c"), "(a Or (b And c))");
    assert_eq!(expr("a | b ^ c & d"), "(a BitOr (b BitXor (c BitAnd d)))");
    assert_eq!(
        expr("a == b < c << d"),
        "(a Equal (b Less (c ShiftLeft d)))"
    );
    assert_eq!(expr("a ? b : c ? d : e"), "(a ? b : (c ? d : e))");
    assert_eq!(expr("-a[1].f"), "(Negate a[1].f)");
    assert_eq!(expr("!*p->f"), "(Not (* p->f))");
    assert_eq!(expr("(a & 1) == 0"), "([(a BitAnd 1)] Equal 0)");
}

#[test]
fn casts_are_told_from_parentheses() {
    assert_eq!(expr("(int) a + 1"), "((cast a) Add 1)");
    assert_eq!(expr("(Colour) a"), "(cast a)");
    assert_eq!(expr("(Node*) p"), "(cast p)");
    assert_eq!(expr("(a) - b"), "([a] Subtract b)");
    assert_eq!(expr("(a) * b"), "([a] Multiply b)");
}

#[test]
fn declarations_are_told_from_expressions() {
    let declares = |text: &str| matches!(statements(text)[0].kind, StatementKind::Declare(_));
    for text in [
        "int x;",
        "Node n;",
        "Node* n;",
        "Node* n = p;",
        "Node** n[3];",
        "struct Node* n;",
        "enum Colour c;",
        "int<0..7> x;",
    ] {
        assert!(declares(text), "{text}");
    }
    for text in [
        "f(x);",
        "x = a * b;",
        "x++;",
        "*p = 1;",
        "a[i] = 1;",
        "a * b == c ? f() : g();",
    ] {
        assert!(!declares(text), "{text}");
    }
}

#[test]
fn functions_may_return_references() {
    let text = "Node* pop() { return null; }\nNode** both(Node* a) { return null; }\nNode* top;";
    assert_eq!(messages(text), [""; 0]);
}

#[test]
fn spans_are_exact() {
    let source = Source::new("t.rad", "void f() { x = -(a + b)[1] ; }");
    let (program, _) = parse(&source);
    let Item::Function(function) = &program.items[0] else {
        panic!("not a function");
    };
    assert_eq!(source.snippet(function.span), "void f()");
    let statement = &function.body.statements[0];
    assert_eq!(source.snippet(statement.span), "x = -(a + b)[1] ;");
    let StatementKind::Assign { value, .. } = &statement.kind else {
        panic!("not an assignment");
    };
    assert_eq!(source.snippet(value.span), "-(a + b)[1]");
    let ExprKind::Unary(_, index) = &value.kind else {
        panic!("not a negation");
    };
    let ExprKind::Index(array, _) = &index.kind else {
        panic!("not an index");
    };
    assert_eq!(source.snippet(array.span), "(a + b)");
}

#[test]
fn two_closing_angles_may_be_one_token() {
    let (program, problems) = parse(&Source::new("t.rad", "chan<int<0..3>> c;"));
    assert!(problems.is_empty(), "{problems:?}");
    let Item::Global(global) = &program.items[0] else {
        panic!("not a variable");
    };
    assert!(matches!(
        global.variables[0].ty.kind,
        TypeKind::Channel { .. }
    ));
}

#[test]
fn labels_may_end_a_block() {
    assert!(matches!(
        &statements("goto end; end: ")[1].kind,
        StatementKind::Label(name, _) if name.text == "end"
    ));
}

#[test]
fn asserts_need_no_parentheses() {
    for text in [
        "assert x == 1;",
        "assert (a) == b;",
        "assert(a, \"b\");",
        "assert(a);",
    ] {
        assert!(matches!(
            statements(text)[0].kind,
            StatementKind::Assert { .. }
        ));
    }
}

#[test]
fn switch_arms_collect_labels_and_statements() {
    let StatementKind::Switch { arms, .. } =
        &statements("switch (x) { case 0: case 1: a(); break; default: skip; }")[0].kind
    else {
        panic!("not a switch");
    };
    let shape: Vec<_> = arms
        .iter()
        .map(|arm| (arm.labels.len(), arm.statements.len()))
        .collect();
    assert_eq!(shape, [(2, 2), (1, 1)]);
}

#[test]
fn one_mistake_is_one_message() {
    for text in [
        "int x\nint y;",
        "void f() { x := 1; }",
        "void f() { if (x = 1) y = 2; else y = 3; }",
        "void f() { while (c = recv(ch)) { x++; } }",
        "void f() { for (i in 0..3) { x++; } y = 1; }",
        "void f() { for (int i = 0, i < 3; i++) x++; y = 1; }",
        "void f() { if x == 1 { y = 2; } }",
        "void f() { x = @ + 1; y = 2; }",
        "void f() { x = (1 + ; y = 2; }",
        "void f() { if (x { y = 1; } }",
        "void f() { int[4] a; }",
        "void f() { unsigned long int x = 1; }",
        "void f() { A[x, y] = 1; }",
        "void f() { x = 1 }",
        "void f() { lock m; x = 1; }",
        "void f() { a = b = c; }",
        "void f() { if (x) y = ; else z = 1; }",
        "void f() { switch (x) { case : y = 1; } }",
        "void f() { x = 1;\nvoid g() { }\nrun f();",
        "thread_local int x;",
        "int f(int a[], int b) { return 0; }",
        "void f() { } }",
        "void f() { x = 4294967296; }",
        "run f() | g();",
        "void f(void) { }",
        "void f() { else x = 1; }",
        "chan<int c; int x;",
        "int x = {1, 2;",
    ] {
        assert_eq!(messages(text).len(), 1, "{text}: {:?}", messages(text));
    }
}

#[test]
fn several_mistakes_are_reported_together() {
    let text =
        "void f() {\n x = ;\n y = 1;\n if (z] w = 1;\n}\nint 5;\nvoid g() { return return; }";
    assert_eq!(messages(text).len(), 4, "{:?}", messages(text));
}

#[test]
fn errors_are_capped() {
    assert_eq!(messages(&"int 5;\n".repeat(1000)).len(), MAX_ERRORS);
}

#[test]
fn nesting_is_limited_to_what_is_documented() {
    let nested = |n: usize| format!("int x = {}1{};", "(".repeat(n), ")".repeat(n));
    assert!(messages(&nested(MAX_DEPTH - 2)).is_empty());
    assert_eq!(
        messages(&nested(MAX_DEPTH + 1)),
        ["this is nested too deeply"]
    );
    let chain = |n: usize| format!("int x = 1{};", " + 1".repeat(n));
    assert!(messages(&chain(MAX_DEPTH - 3)).is_empty());
    assert_eq!(
        messages(&chain(MAX_DEPTH + 1)),
        ["this is nested too deeply"]
    );
}

#[test]
fn after_too_much_nesting_the_rest_is_still_read() {
    let text = format!("int x = 1{};\nint y = ;", " + 1".repeat(1000));
    assert_eq!(messages(&text).len(), 2);
}
