//! Stories to draw.

use crate::story::{Change, Ending, Event, Note, Spot, Story, Writes, Written};

pub(super) fn all() -> Vec<Story> {
    vec![
        Story::default(),
        initial(),
        lost_update(),
        deadlock(),
        race(),
        many_threads(),
        long_lines(),
        long_story(60),
        late_reads(),
    ]
}

fn spot(line: u32, column: u32, text: &str) -> Spot {
    Spot {
        file: "bank.rad".to_owned(),
        line,
        column,
        text: text.to_owned(),
    }
}

fn step(thread: usize, line: u32, text: &str, action: &str) -> Event {
    Event {
        thread,
        at: spot(line, 5, text),
        action: action.to_owned(),
        ..Event::default()
    }
}

fn change(name: &str, before: &str, after: &str) -> Change {
    Change {
        name: name.to_owned(),
        before: (!before.is_empty()).then(|| before.to_owned()),
        after: after.to_owned(),
        shared: true,
    }
}

impl Event {
    fn changes(mut self, name: &str, before: &str, after: &str) -> Self {
        self.changes.push(change(name, before, after));
        self
    }

    fn changes_local(mut self, name: &str, before: &str, after: &str) -> Self {
        self.changes.push(Change {
            shared: false,
            ..change(name, before, after)
        });
        self
    }

    fn holds(mut self, locks: &[&str]) -> Self {
        self.holds = names(locks);
        self
    }
}

fn written(step: usize, value: &str) -> Option<Written> {
    let value = Some(value.to_owned());
    Some(Written { step, value })
}

/// An execution graph: a read of the initial value after a write, one of a write after another one, and a write that comes before an earlier one.
pub(super) fn late_reads() -> Story {
    let weak = |event: Event, writes: Writes| Event { writes, ..event };
    Story {
        threads: names(&["left", "right"]),
        steps: vec![
            step(0, 8, "store(x, 1, relaxed);", "writes x = 1 (relaxed)").changes("x", "0", "1"),
            step(0, 9, "store(x, 2, relaxed);", "writes x = 2 (relaxed)").changes("x", "1", "2"),
            weak(
                step(1, 13, "r = load(x, relaxed);", "reads x = 1 (relaxed)"),
                Writes {
                    reads_from: Some(1),
                    missed: written(2, "2"),
                    comes_before: None,
                },
            ),
            weak(
                step(1, 14, "s = load(y, relaxed);", "reads y = 0 (relaxed)"),
                Writes {
                    reads_from: None,
                    missed: Some(Written {
                        step: 2,
                        value: None,
                    }),
                    comes_before: None,
                },
            ),
            weak(
                step(1, 15, "store(x, 3, relaxed);", "writes x = 3 (relaxed)"),
                Writes {
                    comes_before: written(2, "2"),
                    ..Writes::default()
                },
            ),
        ],
        ending: ending(
            "assertion failed: r != 1",
            vec![note(1, 16, "assert(r != 1);", "")],
        ),
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn note(thread: usize, line: u32, source: &str, text: &str) -> Note {
    Note {
        thread: Some(thread),
        at: spot(line, 5, source),
        text: text.to_owned(),
    }
}

fn ending(message: &str, notes: Vec<Note>) -> Ending {
    Ending {
        message: message.to_owned(),
        in_last_step: notes.len() == 1,
        notes,
        ..Ending::default()
    }
}

pub(super) fn lost_update() -> Story {
    let add = "balance = balance + amount;";
    Story {
        threads: names(&["main", "deposit#1"]),
        steps: vec![
            step(0, 10, "thread t = spawn deposit(50);", "starts deposit#1").changes_local(
                "t",
                "",
                "deposit#1",
            ),
            step(0, 6, add, "reads balance = 100"),
            step(1, 6, add, "reads balance = 100"),
            step(1, 6, add, "writes balance = 150").changes("balance", "100", "150"),
            step(1, 7, "}", "ends"),
            step(0, 6, add, "writes balance = 130").changes("balance", "150", "130"),
            step(0, 12, "join(t);", "joins deposit#1"),
            step(0, 13, "balance", "reads balance = 130"),
        ],
        ending: ending(
            "assertion failed: balance == 180",
            vec![note(0, 13, "assert(balance == 180);", "balance is 130")],
        ),
    }
}

pub(super) fn deadlock() -> Story {
    let (left, right) = ("lock(fork[tid]);", "lock(fork[(tid + 1) % 3]);");
    let held = |thread: usize| format!("philosopher[{thread}]");
    Story {
        threads: (0..3).map(held).collect(),
        steps: vec![
            step(0, 8, left, "locks fork[0]").holds(&["fork[0]"]),
            step(2, 8, left, "locks fork[2]").holds(&["fork[2]"]),
            step(1, 8, left, "locks fork[1]").holds(&["fork[1]"]),
        ],
        ending: ending(
            "deadlock: every thread waits for another",
            (0..3)
                .map(|thread| {
                    let next = (thread + 1) % 3;
                    let text = format!("waits for fork[{next}], held by {}", held(next));
                    note(thread, 9, right, &text)
                })
                .collect(),
        ),
    }
}

pub(super) fn race() -> Story {
    Story {
        threads: names(&["producer", "consumer", "idle"]),
        steps: vec![
            step(0, 6, "lock(m);", "locks m").holds(&["m"]),
            step(0, 7, "buffer[0] = 7;", "writes buffer[0] = 7")
                .changes("buffer[0]", "0", "7")
                .holds(&["m"]),
            step(0, 8, "unlock(m);", "unlocks m"),
            step(1, 14, "while (count == 0) skip;", "reads count = 0"),
        ],
        ending: ending(
            "data race on count",
            vec![
                note(0, 9, "count = 1;", "writes count, holding no lock"),
                note(1, 14, "count", "reads count, holding no lock"),
            ],
        ),
    }
}

pub(super) fn many_threads() -> Story {
    let text = "total = total + partial_sum(tid);";
    let mut steps = Vec::new();
    for thread in [0, 3, 3, 7, 2, 1, 6, 4, 5, 0] {
        let total = steps.len().to_string();
        steps.push(
            step(thread, 21, text, "reads total = 0")
                .changes_local("partial", "", &total)
                .holds(&["m"]),
        );
    }
    Story {
        threads: (0..9).map(|thread| format!("worker[{thread}]")).collect(),
        steps,
        ending: ending(
            "assertion failed: total == 28",
            vec![
                note(0, 22, "assert(total == 28);", "total is 9"),
                note(8, 30, "join(all);", "never moves"),
            ],
        ),
    }
}

pub(super) fn long_lines() -> Story {
    let text = "table[(first_index + second_index) % TABLE_SIZE].next->value = \
                \t\u{1b}[31mcompute_the_größte_value(first_index, second_index, third_index);";
    let name = "a_rather_long_name_for_something_without_any_spaces_in_it_at_all.field";
    let mut story = Story {
        threads: names(&["the_thread_with_a_long_name[10]", "other"]),
        steps: vec![
            step(0, 12_345, text, "reads table[3].next = &node4"),
            step(0, 12_345, text, "writes it").changes(name, "-2147483648", "2147483647"),
            step(1, 9, text, "reads x")
                .changes("a", "0", "1")
                .changes("b", "0", "1")
                .changes("c", "RED", "GREEN")
                .holds(&["accounts[0].guard", "accounts[1].guard"]),
            step(0, 12, "x\n = \n 1", "").changes("x", "0", "1"),
        ],
        ending: ending(
            "a message that goes on and on about all of the many things that went wrong here, \
             beyond the end of the line",
            vec![note(1, 9, text, text)],
        ),
    };
    story.ending.notes[0].at.file = format!("{}/bank.rad", "a/long/path".repeat(12));
    story
}

pub(super) fn initial() -> Story {
    Story {
        threads: names(&["first", "second"]),
        steps: Vec::new(),
        ending: Ending {
            message: "invariant violated: x + y <= 2".to_owned(),
            notes: vec![Note {
                thread: None,
                at: spot(2, 1, "invariant x + y <= 2;"),
                text: "x is 3, y is 0".to_owned(),
            }],
            ..Ending::default()
        },
    }
}

pub(super) fn long_story(steps: usize) -> Story {
    let steps = (0..steps).map(|number| {
        let (before, after) = (number.to_string(), (number + 1).to_string());
        step(
            number / 3 % 2,
            4 + (number % 3 == 0) as u32,
            "x++;",
            "writes x",
        )
        .changes("x", &before, &after)
    });
    Story {
        threads: names(&["ping", "pong"]),
        steps: steps.collect(),
        ending: ending("invariant violated: x < 1000", Vec::new()),
    }
}
