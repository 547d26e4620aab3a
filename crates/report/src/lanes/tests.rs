//! Golden tests: what people see.

use super::*;

mod fixtures;

use fixtures::{
    deadlock, initial, late_reads, long_lines, long_story, lost_update, many_threads, race,
};

fn drawn(story: &Story) -> String {
    render(story, &Options::default())
}

#[test]
fn a_lost_update() {
    insta::assert_snapshot!(drawn(&lost_update()));
}

#[test]
fn a_lost_update_in_ascii() {
    let options = Options {
        ascii: true,
        ..Options::default()
    };
    let text = render(&lost_update(), &options);
    assert!(text.is_ascii());
    insta::assert_snapshot!(text);
}

/// Guards the mark above the part that repeats, in lanes and in a list.
#[test]
fn an_execution_that_does_not_end() {
    let mut story = lost_update();
    story.ending.repeats_from = Some(2);
    for width in [80, 30] {
        let options = Options {
            width,
            ..Options::default()
        };
        let text = render(&story, &options);
        let lines: Vec<&str> = text.lines().collect();
        let mark = lines.iter().position(|line| line.contains("from here on"));
        let mark = mark.expect("there is a mark");
        let steps = |line: &&str| {
            let number = line.get(0..6).map(str::trim);
            number.is_some_and(|number| number.parse::<u32>().is_ok())
        };
        assert_eq!(
            lines[..mark]
                .iter()
                .copied()
                .filter(|line| steps(line))
                .count(),
            2,
            "{text}"
        );
        assert!(width < 80 || lines[0].contains("repeat for ever"), "{text}");
        assert!(!text.contains('✗'), "{text}");
        assert!(
            lines.iter().all(|line| line.chars().count() <= width),
            "{text}"
        );
    }
}

#[test]
fn a_lost_update_in_colour() {
    let options = Options {
        colour: true,
        ..Options::default()
    };
    let text = render(&lost_update(), &options);
    insta::assert_snapshot!(text.replace('\u{1b}', "␛"));
}

#[test]
fn colour_changes_nothing_but_colour() {
    for story in fixtures::all() {
        let options = Options {
            colour: true,
            ..Options::default()
        };
        assert_eq!(without_colour(&render(&story, &options)), drawn(&story));
    }
}

fn without_colour(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        let (_, after) = part.split_once('m').expect("a style ends with m");
        plain + after
    })
}

#[test]
fn a_deadlock_of_three() {
    insta::assert_snapshot!(drawn(&deadlock()));
}

#[test]
fn a_race() {
    insta::assert_snapshot!(drawn(&race()));
}

#[test]
fn reads_that_are_not_of_the_last_write() {
    insta::assert_snapshot!(drawn(&late_reads()));
}

/// There is no room for arrows: the marks have to be there, in ASCII too.
#[test]
fn reads_that_are_not_of_the_last_write_in_a_list() {
    let options = Options {
        width: 50,
        ascii: true,
        ..Options::default()
    };
    let mut story = late_reads();
    story.threads = (0..8).map(|thread| format!("worker[{thread}]")).collect();
    story.steps[2].thread = 5;
    let first = story.steps[0].clone();
    let others = (0..5).map(|thread| Event {
        thread,
        ..first.clone()
    });
    story.steps.extend(others);
    let text = render(&story, &options);
    assert!(text.is_ascii());
    insta::assert_snapshot!(text);
}

#[test]
fn too_many_threads_for_lanes() {
    insta::assert_snapshot!(drawn(&many_threads()));
}

#[test]
fn long_source_lines() {
    insta::assert_snapshot!(drawn(&long_lines()));
}

#[test]
fn wrong_in_the_initial_state() {
    insta::assert_snapshot!(drawn(&initial()));
}

#[test]
fn nothing_at_all() {
    insta::assert_snapshot!(drawn(&Story::default()), @"No step was made: this is the initial state.");
}

#[test]
fn the_middle_left_out() {
    let options = Options {
        max_steps: Some(9),
        ..Options::default()
    };
    insta::assert_snapshot!(render(&long_story(1000), &options));
}

#[test]
fn all_steps_left_out() {
    let options = Options {
        max_steps: Some(0),
        ..Options::default()
    };
    insta::assert_snapshot!(render(&long_story(1000), &options));
}

#[test]
fn several_files() {
    let mut story = lost_update();
    for step in &mut story.steps[2..4] {
        step.at.file = "src/account.rs".to_owned();
    }
    insta::assert_snapshot!(drawn(&story));
}

#[test]
fn no_line_is_wider_than_the_page() {
    for story in fixtures::all() {
        for width in 40..=120 {
            for ascii in [false, true] {
                for max_steps in [None, Some(3)] {
                    let options = Options {
                        width,
                        ascii,
                        max_steps,
                        ..Options::default()
                    };
                    let text = render(&story, &options);
                    for line in text.lines() {
                        assert!(line.chars().count() <= width, "{width}:\n{text}");
                        assert_eq!(line, line.trim_end(), "{width}:\n{text}");
                    }
                }
            }
        }
    }
}

#[test]
fn every_step_and_remark_is_shown_at_any_width() {
    for story in fixtures::all() {
        for width in [0, 30, 40, 60, 80, 200] {
            let options = Options {
                width,
                ..Options::default()
            };
            let text = render(&story, &options);
            for number in 1..=story.steps.len() {
                let shown = text.lines().any(|line| {
                    let columns = line.trim_start_matches('✗').split_whitespace();
                    columns.take(1).eq([number.to_string()])
                });
                assert!(shown, "step {number} at width {width}:\n{text}");
            }
            assert_eq!(text.matches("-->").count(), story.ending.notes.len());
        }
    }
}

#[test]
fn a_thread_without_a_name_is_no_reason_to_panic() {
    let mut story = lost_update();
    story.threads.truncate(1);
    assert!(drawn(&story).contains("thread 1"));
}

/// Anything worse than linear would take minutes.
#[test]
fn long_stories_are_drawn_in_linear_time() {
    let text = drawn(&long_story(100_000));
    assert!(text.lines().count() > 100_000);
}
