//! What a graph is written as.

use super::*;
use crate::story::{Event as Step, Writes, Written};

fn step(thread: usize, line: u32, action: &str) -> Step {
    Step {
        thread,
        at: Spot {
            file: "corpus/litmus/mp.rad".into(),
            line,
            column: 5,
            text: "if (x < 1 && \"y\") …".into(),
        },
        action: action.into(),
        ..Step::default()
    }
}

/// Message passing: the flag is read, the message is not.
fn message_passing() -> Graph {
    let mut story = Story {
        threads: vec!["sender".into(), "receiver".into()],
        steps: vec![
            step(0, 6, "writes data = 1 (relaxed)"),
            step(0, 7, "writes ready = 1 (release)"),
            step(1, 11, "reads ready = 1 (acquire)"),
            step(1, 12, "reads data = 0 (relaxed)"),
        ],
        ending: Ending {
            message: "assertion failed: \"data\" < 1".into(),
            in_last_step: true,
            notes: vec![Note {
                thread: Some(1),
                text: "data is 0".into(),
                ..Note::default()
            }],
            ..Ending::default()
        },
    };
    story.steps[3].writes = Writes {
        missed: Some(Written {
            step: 1,
            value: Some("1".into()),
        }),
        ..Writes::default()
    };
    let mut graph = Graph::of(&story);
    graph.relate(1, 2, Relation::Sw);
    graph.relate(1, 2, Relation::Rf);
    graph
}

#[test]
fn a_graph_as_dot() {
    insta::assert_snapshot!(message_passing().to_text(Format::Dot));
}

/// A race: two accesses of plain memory between the steps, and a writes that are ordered against the direction of reading.
fn race() -> Graph {
    let mut graph = message_passing();
    graph.relate(2, 0, Relation::Mo);
    let access = |thread| Event {
        thread,
        label: "writes".into(),
        is_wrong: true,
        ..Event::default()
    };
    let first = graph.insert(1, access(0));
    let second = graph.insert(4, access(1));
    graph.relate(first, second, Relation::Race);
    graph
}

#[test]
fn a_race_as_dot() {
    insta::assert_snapshot!(race().to_text(Format::Dot));
}

/// The elements of a text of XML, and their attributes. Fails if it is not well-formed.
fn elements(text: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut open = Vec::new();
    let mut elements = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let content = &rest[..start];
        assert!(!content.contains('>'), "{content}");
        let mut entities = content.split('&').skip(1);
        let known = ["amp;", "lt;", "gt;", "quot;"];
        assert!(entities.all(|entity| known.iter().any(|known| entity.starts_with(known))));
        let (tag, after) = rest[start + 1..].split_once('>').expect("a tag ends");
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let is_empty = tag.ends_with('/');
        let tag = tag.trim_end_matches('/');
        let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        let mut found = Vec::new();
        while let Some((key, value)) = attributes.split_once("=\"") {
            let (value, after) = value.split_once('"').expect("a value ends");
            found.push((key.trim().to_owned(), value.to_owned()));
            attributes = after;
        }
        assert_eq!(attributes.trim(), "", "{tag}");
        elements.push((name.to_owned(), found));
        if !is_empty {
            open.push(name.to_owned());
        }
    }
    assert!(open.is_empty() && rest.trim().is_empty());
    elements
}

fn of_class<'a>(
    elements: &'a [(String, Vec<(String, String)>)],
    class: &str,
) -> Vec<&'a Vec<(String, String)>> {
    let is_of = |attributes: &&Vec<(String, String)>| {
        let mut all = attributes.iter();
        all.any(|(key, value)| key == "class" && value.split(' ').any(|one| one == class))
    };
    elements
        .iter()
        .map(|element| &element.1)
        .filter(is_of)
        .collect()
}

fn number(attributes: &[(String, String)], key: &str) -> usize {
    let found = attributes.iter().find(|attribute| attribute.0 == key);
    found.expect("the attribute").1.parse().expect("a number")
}

/// Everything is there, nothing lies on anything else or outside of the picture, and program order leads down.
#[test]
fn a_graph_as_svg() {
    let mut many = race();
    for number in 0..40 {
        many.events.push(Event {
            thread: number % 4,
            step: Some(number + 10),
            label: format!(
                "reads x[{number}] = {number} & goes on for longer than fits in one line"
            ),
            ..Event::default()
        });
        many.relate(number, number + 2, Relation::Rf);
    }
    for graph in [Graph::default(), message_passing(), race(), many] {
        let text = graph.to_text(Format::Svg);
        let elements = elements(&text);
        let boxes = of_class(&elements, "event");
        assert_eq!(boxes.len(), graph.events.len());
        let wrong = graph.events.iter().filter(|event| event.is_wrong).count();
        assert_eq!(of_class(&elements, "wrong").len(), wrong);
        let arrows = graph.arrows();
        let used: std::collections::BTreeSet<_> = arrows.values().flatten().collect();
        assert_eq!(
            of_class(&elements, "arrow").len(),
            arrows.len() + used.len()
        );
        let (width, height) = (
            number(&elements[0].1, "width"),
            number(&elements[0].1, "height"),
        );
        let area = |one: &[(String, String)]| {
            let (x, y) = (number(one, "x"), number(one, "y"));
            (x..x + number(one, "width"), y..y + number(one, "height"))
        };
        let areas: Vec<_> = boxes.iter().map(|one| area(one)).collect();
        for (index, (columns, rows)) in areas.iter().enumerate() {
            assert!(columns.end < width && rows.end < height, "{text}");
            for (other_columns, other_rows) in &areas[..index] {
                let meet = columns.start < other_columns.end && other_columns.start < columns.end;
                let meet = meet && rows.start < other_rows.end && other_rows.start < rows.end;
                assert!(!meet, "{text}");
            }
        }
        for ((from, to), relations) in arrows {
            if relations.contains(&Relation::Po) {
                assert!(areas[from].1.end < areas[to].1.start, "{text}");
            }
        }
    }
}

/// What is in the source text does not become part of the picture's own.
#[test]
fn labels_are_escaped() {
    let text = message_passing().to_text(Format::Svg);
    assert!(
        text.contains("assertion failed: &quot;data&quot; &lt; 1"),
        "{text}"
    );
    assert!(text.contains("if (x &lt; 1 &amp;&amp;"), "{text}");
    let mut graph = message_passing();
    graph.events[0].label = "a\u{1b}[31m\\ \"".into();
    let dot = graph.to_text(Format::Dot);
    assert!(dot.contains(r#"1: a\\u{1b}[31m\\ \"\nmp.rad:6""#), "{dot}");
    elements(&graph.to_text(Format::Svg));
}

/// Threads that wait at the end get an event that says for what.
#[test]
fn what_threads_wait_for_is_an_event() {
    let story = Story {
        threads: vec!["one".into(), "two".into()],
        steps: vec![step(0, 3, "locks a")],
        ending: Ending {
            message: "deadlock".into(),
            notes: (0..2)
                .map(|thread| Note {
                    thread: Some(thread),
                    text: "waits for a".into(),
                    ..Note::default()
                })
                .collect(),
            ..Ending::default()
        },
    };
    let graph = Graph::of(&story);
    let shown: Vec<(usize, &str, bool)> = graph
        .events
        .iter()
        .map(|event| (event.thread, event.label.as_str(), event.is_wrong))
        .collect();
    assert_eq!(
        shown,
        [
            (0, "locks a", false),
            (0, "waits for a", true),
            (1, "waits for a", true)
        ]
    );
}
