//! A data race names the orderings that are too weak to keep the two accesses apart.

use std::sync::Arc;

use raddle_graphs::{Model, Settings, examine};
use raddle_lang::Source;
use raddle_machine::{Granularity, Machine};

/// The lines of the orderings that are named, each with what is said there.
fn named(text: &str) -> Vec<(u32, String)> {
    let (program, problems) = raddle_machine::load(Source::new("t.rad", text));
    let program = program.unwrap_or_else(|| panic!("{problems:?}"));
    let mut machine = Machine::new(Arc::new(program), Granularity::Access);
    let found = examine(&mut machine, Model::Rc11, &Settings::default(), &mut |_| {});
    let found = found.unwrap_or_else(|unsupported| panic!("{unsupported:?}"));
    let story = &found.violations[0].story;
    let help = story.ending.help.iter();
    help.map(|note| (note.at.line, note.text.clone())).collect()
}

fn passes_on(store: &str, load: &str) -> String {
    format!(
        "int data; atomic int ready;
         void writer() {{
             data = 1;
             store(ready, 1, {store});
         }}
         void reader() {{
             if (load(ready, {load}) == 1)
                 assert(data == 1);
         }}
         run writer() || reader();"
    )
}

#[test]
fn what_does_not_publish_and_what_does_not_acquire_is_named() {
    let release = (
        4,
        "this store is relaxed, so it does not publish what its thread did before: it has to be release".to_owned(),
    );
    let acquire = (
        7,
        "this load is relaxed, so it does not acquire what was done before the write that it reads from: it has to be acquire".to_owned(),
    );
    assert_eq!(
        named(&passes_on("relaxed", "acquire")),
        std::slice::from_ref(&release)
    );
    assert_eq!(
        named(&passes_on("release", "relaxed")),
        std::slice::from_ref(&acquire)
    );
    assert_eq!(named(&passes_on("relaxed", "relaxed")), [release, acquire]);
}

/// An update between the two carries on what was published, whatever its ordering.
#[test]
fn release_sequences_count() {
    let text = "int data; atomic int ready;
         void writer() {
             data = 1;
             store(ready, 1, relaxed);
         }
         void adder() { fetch_add(ready, 1, relaxed); }
         void reader() {
             if (load(ready, acquire) == 2)
                 assert(data == 1);
         }
         run writer() || adder() || reader();";
    let lines: Vec<u32> = named(text).into_iter().map(|one| one.0).collect();
    assert_eq!(lines, [4]);
}

#[test]
fn nothing_is_named_where_no_ordering_would_help() {
    let text = "int data;
         void one() { data = 1; }
         void two() { data = 2; }
         run one() || two();";
    assert_eq!(named(text), []);
}

/// No data race, but a read of an old value.
#[test]
fn an_ordering_that_lets_a_write_be_missed_is_named() {
    let passes_on = |store: &str, load: &str| {
        let text = passes_on(store, load).replace("int data;", "atomic int data;");
        let text = text.replace("data = 1", "store(data, 1, relaxed)");
        text.replace("assert(data == 1)", "assert(load(data, relaxed) == 1)")
    };
    let lines = |text: &str| -> Vec<u32> { named(text).into_iter().map(|one| one.0).collect() };
    assert_eq!(lines(&passes_on("relaxed", "acquire")), [4]);
    assert_eq!(lines(&passes_on("release", "relaxed")), [7]);
    assert_eq!(lines(&passes_on("relaxed", "relaxed")), [4, 7]);
}
