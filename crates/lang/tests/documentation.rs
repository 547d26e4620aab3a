//! The programs of the documentation are programs, in the standard layout.

mod common;

use common::{documented_programs, format_and_check};
use raddle_lang::{Source, Style, diagnostic, parse};

#[test]
fn every_documented_program_parses() {
    for text in documented_programs() {
        let source = Source::new("language.md", text);
        let (_, problems) = parse(&source);
        for problem in &problems {
            println!("{}", diagnostic::render(problem, &source, Style::Plain));
        }
        assert!(problems.is_empty());
    }
}

#[test]
fn every_documented_program_is_formatted() {
    for text in documented_programs() {
        assert_eq!(format_and_check(&text), text);
    }
}

#[test]
fn a_program_on_one_line_is_taken_apart() {
    for text in documented_programs() {
        let without_comments: Vec<&str> = text
            .lines()
            .map(|line| line.split("//").next().unwrap_or_default())
            .collect();
        format_and_check(&without_comments.join(" "));
    }
}

#[test]
fn a_program_with_every_token_on_its_own_line_is_put_together() {
    for text in documented_programs() {
        // Only where a blank was, there may be a line break.
        let without_strings: String = text.lines().filter(|l| !l.contains(['"', '/'])).collect();
        let scattered = without_strings.replace(' ', "\n");
        if parse(&Source::new("t.rad", scattered.as_str()))
            .1
            .is_empty()
        {
            format_and_check(&scattered);
        }
    }
}
