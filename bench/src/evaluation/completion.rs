//! "Sound Transaction-based Reduction without Cycle Detection": its figures, and a table of
//! the shape of its table 1.

use std::sync::Arc;

use raddle_explore::interior::Completion;
use raddle_explore::reductions::cartesian::CycleTest;
use raddle_machine::Program;

use super::Extent;
use super::document::{Block, NOTHING};
use super::run::{Subject, Way, compile, program, text};
use crate::Result;
use crate::table::{Table, grouped};

const TEXT: &str = r#"
## Completion of transactions

Levin, Palmer, Qadeer, Rajamani, "Sound Transaction-based Reduction without Cycle Detection" (2005):
a transaction that can go on for ever after its commit must be made to end somewhere. The programs
are the figures of the paper; all of them can fail. *Boundary states* are stored;
*visited states* are those and all that lie between them, told apart by whether the
transaction has committed; *forced ends* are states in which others are scheduled only for the sake of
completion. *none* is the paper's "unsound reduction".
"#;

const FIGURES_SHOW: &str = r#"
As in the paper: without completion the failures of figures 1, 3 and 8 are missed; in figure 2 commit
point completion with line L19 forces nothing, and cycle detection and plain commit point completion
do; in figure 8 line L19 forces less than the others. (T1 commits from two boundary states, one before and one
after T2, so one forced end per commit point is counted twice.) Figure 2 with `assume(false)` is
there because cycle detection by the letter misses it: a transaction that blocks closes no cycle.
Here a thread that cannot move after its commit ends its transaction, whatever the
completion, so nobody misses it.
"#;

const TABLE: &str = r#"
Table 1 of the paper has the visited states of ten programs. Those with the same names here are **other models** of
the same algorithms (the paper's are not printed; Peterson and Bluetooth came from C by abstraction), so only the order of the
columns can be compared, not their size. *Idle* are programs in which the threads do something else for as long as they like,
`while (*) yield;`, between two rounds; in *idle, loop first* the alternative that goes on comes before the one that ends the
loop, `choose { yield; } or { break; }`, which means the same. A state counts twice if it is met before and after a commit, so
there can be more visited states than the full search has states.
"#;

const TABLE_SHOWS: &str = r#"
Without idle loops the completions do not differ: a step here is a shared access and the local code
after it, so what is a loop of local steps in the paper is often no loop at all, and a loop that looks at
shared variables ends a transaction with every look. With idle loops the order is the paper's: `scc` and
commit point completion meet the lower bound that unsound reduction gives, and cycle detection is above it. (But
for the bakery of 3, whose threads idle only before their single round, when nothing is committed.)
Plain `cpc` is as bad as cycle detection once the loop comes first: it decides while the search goes back from a state, and may not have
seen the way out yet.

**The default is `scc`.** In the table no sound completion visits fewer states, and how many ends it forces does not depend on the order of
alternatives. The numbers do not make it the best everywhere: `cpc-l19` equals it in all rows but one, and forces fewer ends
in figures 2 and 8, where one way out of the commit is enough. But `cpc-l19` too depends on what the search
has seen: in [two ways into a loop](../corpus/witnesses/two-ways-into-a-loop.rad) a second commit point leads
into the middle of a loop that was left before its end was found, and `cpc-l19` forces an end for nothing.
What `scc` costs is Tarjan's bookkeeping within one transaction, not states.
"#;

const FIGURES: &[(&str, &str)] = &[
    ("figure 1", "cpc-figure-1-ignoring"),
    ("figure 2", "cpc-figure-2-one-branch-ends"),
    ("figure 2, `assume(false)`", "cpc-figure-2-assume-false"),
    ("figure 3", "cpc-figure-3-left-movers"),
    ("figure 8", "cpc-figure-8-two-loops"),
];

/// A program of the corpus, perhaps with other constants and idle loops.
struct Model {
    name: &'static str,
    file: &'static str,
    constants: &'static [(&'static str, u32)],
    idle: Option<Idle>,
    /// The paper's numbers for a program of that name: unsound reduction, commit point completion,
    /// cycle detection.
    paper: Option<[u64; 3]>,
}

/// Where an idle loop is put, and how it is written.
struct Idle {
    /// A line of the program, before which the loop comes; or a loop that it replaces.
    at: &'static str,
    replaces: bool,
    text: &'static str,
}

const EXIT_FIRST: &str = "while (*) yield;";
const LOOP_FIRST: &str = "while (true) { choose { yield; } or { break; } }";

impl Model {
    const fn new(name: &'static str, file: &'static str) -> Self {
        Self {
            name,
            file,
            constants: &[],
            idle: None,
            paper: None,
        }
    }

    const fn constants(mut self, constants: &'static [(&'static str, u32)]) -> Self {
        self.constants = constants;
        self
    }

    const fn paper(mut self, numbers: [u64; 3]) -> Self {
        self.paper = Some(numbers);
        self
    }

    const fn idle_before(mut self, at: &'static str, text: &'static str) -> Self {
        self.idle = Some(Idle {
            at,
            replaces: false,
            text,
        });
        self
    }

    const fn idle_instead_of(mut self, at: &'static str, text: &'static str) -> Self {
        self.idle = Some(Idle {
            at,
            replaces: true,
            text,
        });
        self
    }

    fn program(&self) -> Result<Arc<Program>> {
        let file = format!("corpus/{}.rad", self.file);
        let mut text = text(&file, self.constants)?;
        if let Some(idle) = &self.idle {
            if !text.contains(idle.at) {
                return Err(format!("{file} has no `{}`", idle.at));
            }
            let after = match idle.replaces {
                true => idle.text.to_owned(),
                false => format!("{} {}", idle.text, idle.at),
            };
            text = text.replace(idle.at, &after);
        }
        compile(&file, text)
    }
}

const THINKING: &str = "while (*) skip;";

const MODELS: &[Model] = &[
    Model::new("Peterson", "classics/peterson").paper([1_080, 1_213, 3_427]),
    Model::new("Peterson, idle", "classics/peterson")
        .idle_before("interested[me] = true;", EXIT_FIRST),
    Model::new("Peterson, idle, loop first", "classics/peterson")
        .idle_before("interested[me] = true;", LOOP_FIRST),
    Model::new("Bakery 2", "classics/bakery-2").paper([10_221, 14_935, 14_254]),
    Model::new("Bakery 2, idle", "classics/bakery-2")
        .idle_before("choosing[me] = true;", EXIT_FIRST),
    Model::new("Bakery 3", "classics/bakery-3"),
    Model::new("Bakery 3, idle", "classics/bakery-3")
        .idle_before("choosing[me] = true;", EXIT_FIRST),
    Model::new("Alternating bit", "classics/alternating-bit").paper([1_180, 1_180, 1_349]),
    Model::new("Alternating bit, idle", "classics/alternating-bit")
        .idle_before("recv(messages, value, tag);", EXIT_FIRST),
    Model::new(
        "Alternating bit, idle, loop first",
        "classics/alternating-bit",
    )
    .idle_before("recv(messages, value, tag);", LOOP_FIRST),
    Model::new("Bluetooth", "classics/bluetooth-driver").paper([48_109, 52_092, 116_559]),
    Model::new("Bluetooth, repaired", "classics/bluetooth-driver-fixed"),
    Model::new("Philosophers 3", "papers/cpc-philosophers").paper([87_399, 87_399, 428_896]),
    Model::new("Philosophers 3, idle", "papers/cpc-philosophers")
        .idle_instead_of(THINKING, EXIT_FIRST),
    Model::new(
        "Philosophers 3, idle, loop first",
        "papers/cpc-philosophers",
    )
    .idle_instead_of(THINKING, LOOP_FIRST),
    Model::new("Philosophers 4, idle", "papers/cpc-philosophers")
        .constants(&[("N", 4)])
        .idle_instead_of(THINKING, EXIT_FIRST),
    Model::new("Philosophers 5, idle", "papers/cpc-philosophers")
        .constants(&[("N", 5)])
        .idle_instead_of(THINKING, EXIT_FIRST),
    Model::new("Philosophers 6, idle", "papers/cpc-philosophers")
        .constants(&[("N", 6)])
        .idle_instead_of(THINKING, EXIT_FIRST),
    Model::new(
        "Counter (transactions paper)",
        "papers/transactions-counter",
    ),
    Model::new("Counter, idle", "papers/transactions-counter").idle_before("choose {", EXIT_FIRST),
    Model::new("Two ways into a loop", "witnesses/two-ways-into-a-loop"),
];

/// In the order of the columns.
const COMPLETIONS: [Completion; 5] = [
    Completion::None,
    Completion::CpcL19,
    Completion::Cpc,
    Completion::Scc,
    Completion::Cycle,
];

pub(super) fn section(extent: Extent) -> Result<Vec<Block>> {
    Ok(vec![
        Block::text(TEXT),
        Block::Counts(figures(extent)?),
        Block::text(FIGURES_SHOW),
        Block::text(TABLE),
        Block::Counts(table(extent)?),
        Block::text(TABLE_SHOWS),
    ])
}

fn figures(extent: Extent) -> Result<Table> {
    let head = [
        "program",
        "completion",
        "failure",
        "boundary states",
        "visited states",
        "forced ends",
    ];
    let mut table = Table::new(3, &head);
    for (name, file) in FIGURES {
        let file = format!("corpus/papers/{file}.rad");
        let subject = Subject::new(program(&file, &[])?, extent.most_states).count_visited();
        let mut ways = vec![Way::Full];
        ways.extend(COMPLETIONS.map(Way::Transactions));
        let outcomes = subject.search_all(name, &ways)?;
        for (way, outcome) in ways.iter().zip(&outcomes) {
            let statistics = &outcome.statistics;
            let (completion, visited, forced) = match way {
                Way::Transactions(completion) => (
                    completion.name(),
                    statistics.visited_states,
                    grouped(statistics.forced_ends),
                ),
                _ => ("(full search)", statistics.states, NOTHING.into()),
            };
            let failure = match outcome.violations.is_empty() {
                true => "missed",
                false => "found",
            };
            table.row([
                (*name).into(),
                completion.into(),
                failure.into(),
                grouped(statistics.states),
                grouped(visited),
                forced,
            ]);
        }
    }
    Ok(table)
}

fn table(extent: Extent) -> Result<Table> {
    let head = [
        "visited states",
        "full",
        "none",
        "cpc-l19",
        "cpc",
        "scc",
        "cycle",
        "paper: unsound",
        "paper: CPC",
        "paper: cycle",
    ];
    let mut table = Table::new(1, &head);
    for model in MODELS {
        let name = model.name;
        extent.progress(name);
        let subject = Subject::new(model.program()?, extent.most_states).count_visited();
        let mut ways = vec![Way::Full];
        ways.extend(COMPLETIONS.map(Way::Transactions));
        // Not in the table; it only has to agree.
        ways.extend([Way::Optimistic, Way::Cartesian(CycleTest::ToTheLetter)]);
        let outcomes = subject.search_all(name, &ways)?;
        if extent.leaves_out(&outcomes) {
            continue;
        }
        let mut row = vec![name.to_owned(), extent.count(&outcomes[0], |s| s.states)];
        for outcome in &outcomes[1..=COMPLETIONS.len()] {
            row.push(extent.count(outcome, |s| s.visited_states));
        }
        match model.paper {
            Some(numbers) => row.extend(numbers.map(grouped)),
            None => row.extend([NOTHING; 3].map(str::to_owned)),
        }
        table.row(row);
    }
    Ok(table)
}
