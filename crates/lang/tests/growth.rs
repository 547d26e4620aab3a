//! Short texts that could take for ever: everything the checker does is at most about linear
//! in the text, or limited. Without that, these tests would not end.

use std::fmt::Write as _;

use raddle_lang::{Severity, Source, analyse};

/// The messages of all errors.
fn errors(text: &str) -> Vec<String> {
    let (_, problems) = analyse(&Source::new("program.rad", text));
    problems
        .into_iter()
        .filter(|problem| problem.severity == Severity::Error)
        .map(|problem| problem.message)
        .collect()
}

fn repeat(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, index| {
        let _ = writeln!(text, "{}", line(index));
        text
    })
}

/// Each struct has two of the next: the first would have 2^depth slots.
fn doubling_structs(depth: usize) -> String {
    let structs = repeat(depth, |i| {
        format!("struct S{i} {{ S{} a; S{} b; }};", i + 1, i + 1)
    });
    format!("{structs}struct S{depth} {{ int x; }};\n")
}

#[test]
fn structs_that_double() {
    let local = doubling_structs(40) + "void main() { S0 p; }";
    assert_eq!(errors(&local), ["`p` is too large for a local variable"]);
    let global = doubling_structs(40) + "S0 g; void main() { }";
    assert_eq!(errors(&global), ["the global variables are too large"]);
}

#[test]
fn structs_that_nest_too_deeply() {
    let text = doubling_structs(300) + "S0 g; void main() { }";
    assert!(errors(&text).contains(&"too many definitions depend on one another".to_owned()));
}

#[test]
fn constants_that_nest_too_deeply() {
    let constants = repeat(5_000, |i| format!("const int C{i} = C{};", i + 1));
    let text = constants + "const int C5000 = 1; void main() { }";
    assert!(errors(&text).contains(&"too many definitions depend on one another".to_owned()));
}

#[test]
fn labels_that_lead_backwards() {
    let labels = repeat(20_000, |i| format!("L{i}: goto L{};", i.saturating_sub(1)));
    let text = format!("void main() {{ goto L19999; {labels} }}");
    assert!(errors(&text).is_empty());
}

#[test]
fn chains_of_calls() {
    let functions = repeat(20_000, |i| format!("void f{i}() {{ f{}(); }}", i + 1));
    let text = format!(
        "mutex m; {functions} void f20000() {{ wait(m); }} void main() {{ atomic {{ f0(); }} }}"
    );
    assert_eq!(
        errors(&text),
        ["a call of a function that waits in an atomic block"]
    );
}

#[test]
fn many_errors() {
    let text = format!("void main() {{ {} }}", "y = 1; ".repeat(20_000));
    let errors = errors(&text);
    assert_eq!(errors.len(), 51);
    assert_eq!(errors[50], "and there are 19950 more errors");
}
