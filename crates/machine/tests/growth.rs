//! Programs of which there is very much: compiling takes about linear time, and no more room than
//! there is. Without that, these tests would not end, or exhaust the memory.

use std::fmt::Write as _;
use std::sync::Arc;

use raddle_explore::System;
use raddle_lang::{Severity, Source};
use raddle_machine::{Granularity, Machine, Program, load};

/// The program, or the messages of all errors with their labels.
fn loaded(text: &str) -> Result<Program, Vec<String>> {
    let (program, problems) = load(Source::new("program.rad", text));
    program.ok_or_else(|| {
        let errors = problems.into_iter();
        let errors = errors.filter(|problem| problem.severity == Severity::Error);
        let tell =
            |problem: raddle_lang::Diagnostic| format!("{}: {}", problem.message, problem.label);
        errors.map(tell).collect()
    })
}

fn compiles(text: &str) -> Program {
    loaded(text).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn repeat(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, index| {
        let _ = writeln!(text, "{}", line(index));
        text
    })
}

#[test]
fn very_many_cases() {
    let cases = repeat(100_000, |i| format!("case {i}: x = {i}; break;"));
    compiles(&format!(
        "int x; void main() {{ switch (x) {{ {cases} }} }}"
    ));
    let labels = repeat(100_000, |i| format!("case {i}:"));
    compiles(&format!(
        "int x; void main() {{ switch (x) {{ {labels} x = 1; }} }}"
    ));
    let declarations = repeat(60_000, |i| format!("case {i}: int v{i} = x; break;"));
    compiles(&format!(
        "int x; void main() {{ switch (x) {{ {declarations} }} }}"
    ));
}

/// Each arm would give a first value to all variables of the arms before it.
#[test]
fn first_values_that_cases_skip() {
    let text = |cases: usize| {
        let cases = repeat(cases, |i| format!("case {i}: int<1..2> v{i}; break;"));
        format!("int x; void main() {{ switch (x) {{ {cases} }} }}")
    };
    compiles(&text(1_000));
    assert_eq!(
        loaded(&text(50_000)).map(drop),
        Err(vec![
            "the program is too large here: more than 1048576 first values that cases of `switch` skip"
                .to_owned()
        ])
    );
}

#[test]
fn very_many_scopes_and_types() {
    let scopes = repeat(100_000, |i| format!("{{ int v = {i}; }}"));
    compiles(&format!("void main() {{ {scopes} }}"));
    let ranges = repeat(60_000, |i| format!("{{ int<0..{}> r = x; }}", i + 1));
    compiles(&format!("int x; void main() {{ {ranges} }}"));
    let structs = repeat(60_000, |i| format!("struct S{i} {{ int x; }};"));
    let objects = repeat(60_000, |i| format!("{{ S{i}* p = new S{i}; }}"));
    compiles(&format!("{structs} void main() {{ {objects} }}"));
}

/// What is known about the slots of a type takes room, whether or not there is an object of it.
#[test]
fn types_of_objects_that_are_too_large_together() {
    let text = |types: usize| {
        let structs = repeat(types, |i| {
            format!("struct S{i} {{ mutex m; int x[60000] guarded_by m; }};")
        });
        let objects = repeat(types, |i| format!("{{ S{i}* p = new S{i}; }}"));
        format!("{structs} void main() {{ {objects} }}")
    };
    compiles(&text(17));
    assert_eq!(
        loaded(&text(20_000)).map(drop),
        Err(vec![
            "the program is too large here: more than 1048576 slots in the types of heap objects"
                .to_owned()
        ])
    );
}

/// Types as deep and as large as is allowed: whatever walks over them is not much longer under way
/// than they have slots.
#[test]
fn deep_and_large_types() {
    let structs = repeat(40, |i| format!("struct S{} {{ S{i} a[1]; }};", i + 1));
    let way = ".a[0]".repeat(40);
    let text = format!(
        "struct S0 {{ int x[1]; }};
         {structs}
         S40 g[65000];
         int* p = &g[64999]{way}.x[0];
         void main() {{ p[0] = 1; assert(g[64999]{way}.x[0] == 1); }}"
    );
    let mut machine = Machine::new(Arc::new(compiles(&text)), Granularity::Access);
    let _ = machine.initial();
    let dimensions = "[1]".repeat(150);
    let text = format!(
        "int a[400]{dimensions}; int* p = &a[399]{};
         void main() {{ p[0] = 1; assert(a[399]{} == 1); }}",
        "[0]".repeat(150),
        "[0]".repeat(150)
    );
    let mut machine = Machine::new(Arc::new(compiles(&text)), Granularity::Access);
    let _ = machine.initial();
}

#[test]
fn very_many_disciplines() {
    let fields = repeat(30_000, |i| format!("int f{i};"));
    let rules = repeat(30_000, |i| format!("exclusive s.f{i} when (owner == tid);"));
    let text = format!("int owner; struct S {{ {fields} }}; S s; {rules} void main() {{ }}");
    let mut machine = Machine::new(Arc::new(compiles(&text)), Granularity::Access);
    let _ = machine.initial();
}
