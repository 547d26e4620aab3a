//! What several tests need.

#![allow(dead_code, reason = "each test uses a part of it")]

use raddle_lang::{Source, format, parse};

/// The programs of the language's documentation.
pub(crate) fn documented_programs() -> Vec<String> {
    let page = include_str!("../../../../docs/language.md");
    let programs: Vec<String> = page
        .split("```rad\n")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once("```")?.0.to_owned()))
        .collect();
    assert!(programs.len() >= 9, "the page has lost its programs");
    programs
}

/// The tree of a program, without places.
pub(crate) fn tree(text: &str) -> String {
    let (program, problems) = parse(&Source::new("t.rad", text));
    assert!(problems.is_empty(), "{text}\n{problems:?}");
    let mut tree = String::new();
    for (n, part) in format!("{program:?}").split("Span {").enumerate() {
        let part = match n {
            0 => part,
            _ => part.split_once('}').map_or("", |(_, rest)| rest),
        };
        tree.push_str(part);
    }
    tree
}

/// The text without any blanks.
fn ink(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Formats a program and checks that it is still the same one, and that formatting it
/// again changes nothing.
pub(crate) fn format_and_check(text: &str) -> String {
    let once = format(&Source::new("t.rad", text)).expect("a program");
    assert_eq!(
        ink(text),
        ink(&once),
        "formatting changes\n{text}\nto\n{once}"
    );
    assert_eq!(
        tree(text),
        tree(&once),
        "formatting changes\n{text}\nto\n{once}"
    );
    let twice = format(&Source::new("t.rad", once.clone())).expect("still a program");
    assert_eq!(once, twice, "formatting is not idempotent on\n{text}");
    once
}
