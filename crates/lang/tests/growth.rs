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

/// Types that nest without end by themselves would exhaust the stack of everything that walks over
/// them.
#[test]
fn arrays_of_very_many_dimensions() {
    let text = |dimensions: usize| format!("int x{}; void main() {{ }}", "[1]".repeat(dimensions));
    assert!(errors(&text(200)).is_empty());
    for dimensions in [201, 100_000] {
        let errors = errors(&text(dimensions));
        assert_eq!(errors, ["this type is nested too deeply"]);
    }
    let local = format!("void main() {{ int x{}; }}", "[1]".repeat(100_000));
    assert_eq!(errors(&local), ["this type is nested too deeply"]);
}

/// Each struct is known when the next one needs it, so that nothing recurses while they are laid out.
#[test]
fn structs_that_nest_without_recursion() {
    let text = |count: usize| {
        let structs = repeat(count - 1, |i| {
            format!("struct S{} {{ S{i} a; int b[2]; }};", i + 1)
        });
        format!(
            "struct S0 {{ int x; }};\n{structs}S{} g; void main() {{ }}",
            count - 1
        )
    };
    assert!(errors(&text(200)).is_empty());
    for count in [201, 200_000] {
        let errors = errors(&text(count));
        assert_eq!(errors, ["this type is nested too deeply"]);
    }
}

#[test]
fn arrays_and_structs_count_together() {
    let structs = repeat(100, |i| format!("struct S{} {{ S{i} a[1]; }};", i + 1));
    let text = format!("struct S0 {{ int x; }};\n{structs}void main() {{ }}");
    assert_eq!(errors(&text), ["this type is nested too deeply"]);
}

#[test]
fn chains_of_structs_by_reference() {
    let structs = repeat(100_000, |i| format!("struct S{} {{ S{i}* a; }};", i + 1));
    let text = format!("struct S0 {{ int x; }};\n{structs}S100000 g; void main() {{ }}");
    assert!(errors(&text).is_empty());
}

#[test]
fn very_many_cases() {
    let cases = repeat(200_000, |i| format!("case {i}: x = {i}; break;"));
    let text = format!("int x; void main() {{ switch (x) {{ {cases} }} }}");
    assert!(errors(&text).is_empty());
}

#[test]
fn very_many_fields() {
    let fields = repeat(60_000, |i| format!("int f{i};"));
    let uses = repeat(60_000, |i| format!("s.f{i} = 1;"));
    let text = format!("struct S {{ {fields} }}; S s; void main() {{ {uses} }}");
    assert!(errors(&text).is_empty());
    let text = format!(
        "struct S {{ {} }}; void main() {{ }}",
        "int f; ".repeat(100_000)
    );
    assert_eq!(
        errors(&text).last().unwrap(),
        "and there are 99949 more errors"
    );
}

#[test]
fn very_many_names_that_are_nearly_right() {
    let known = repeat(60_000, |i| format!("int counter{i};"));
    let uses = repeat(60_000, |i| format!("countr{i} = 1;"));
    let text = format!("{known} void main() {{ {uses} }}");
    assert_eq!(errors(&text).len(), 51);
}

/// What costs time for a type costs it once, not once for every variable of a declaration.
#[test]
fn declarations_of_very_many_variables_of_a_large_type() {
    let names = repeat(50_000, |i| format!("c{i},"));
    let values = "int, ".repeat(50_000);
    let text = format!("chan<({values} int), 1> {names} c; void main() {{ }}");
    assert_eq!(
        errors(&text),
        ["a message of this channel has too many values"]
    );
    let arguments = "1, ".repeat(50_000);
    let text = format!("int<f({arguments} 1)..2> {names} c; void main() {{ }}");
    assert_eq!(errors(&text), ["there is no function `f`"]);
}

#[test]
fn very_many_parameters() {
    let parameters = repeat(100_000, |i| format!("int p{i},"));
    let arguments = "1, ".repeat(100_000);
    let text = format!("void f({parameters} int p) {{ }} run f({arguments} 1)[1000];");
    assert!(errors(&text).contains(&"`f` has too many parameters".to_owned()));
}

#[test]
fn very_many_disciplines() {
    let fields = repeat(30_000, |i| format!("int f{i};"));
    let rules = repeat(30_000, |i| format!("exclusive s.f{i} when (owner == tid);"));
    let text = format!("int owner; struct S {{ {fields} }}; S s; {rules} void main() {{ }}");
    assert!(errors(&text).is_empty());
    let rules = "exclusive a[i] when (owner == tid);\n".repeat(10_000);
    let text = format!("int owner, a[60000]; {rules} void main() {{ }}");
    assert_eq!(errors(&text)[0], "a variable has one discipline");
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
