//! "Sound Transaction-based Reduction without Cycle Detection": its figures, and a table of
//! the shape of its table 1.

use raddle_explore::interior::Completion;
use raddle_explore::reductions::cartesian::CycleTest;

use super::Extent;
use super::document::{Block, NOTHING, Table};
use super::run::{Subject, Way, program};
use crate::Result;
use crate::table::grouped;

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
do; in figure 8 line L19 forces less than the others. Figure 2 with `assume(false)` is
there because cycle detection by the letter misses it: a transaction that blocks closes no cycle.
Here a thread that can not move after its commit ends its transaction, whatever the
completion, so nobody misses it.
"#;

const TABLE: &str = r#"
Table 1 of the paper has the visited states of ten programs. Those with the same names here are **other models** of
the same algorithms (the paper's are translated from C by abstraction and are not printed), so only the
order of the columns can be compared, not their size.
"#;

const TABLE_SHOWS: &str = r#"
The order is the paper's: every completion but cycle detection stays close to the lower bound that
unsound reduction gives, and cycle detection is far above it where loops end by choice
(Philosophers).

**The default is `scc`**: in every row it visits no more states than the other sound completions, and
it forces an end in one state of a component only, however the component is entered.
Commit point completion is decided while the search goes back, so it may force an
end at a state from which one was about to be found. What `scc` costs is Tarjan's bookkeeping within
one transaction, not states. Only in programs like figure 8, where one commit leads into several endless loops, does line L19 force
fewer ends.
"#;

const FIGURES: &[(&str, &str)] = &[
    ("figure 1", "cpc-figure-1-ignoring"),
    ("figure 2", "cpc-figure-2-one-branch-ends"),
    ("figure 2, `assume(false)`", "cpc-figure-2-assume-false"),
    ("figure 3", "cpc-figure-3-left-movers"),
    ("figure 8", "cpc-figure-8-two-loops"),
];

/// The paper's numbers: unsound reduction, commit point completion, cycle detection.
type Paper = Option<[u64; 3]>;

/// Name, file in `corpus`, constants, and the paper's numbers.
type Model = (
    &'static str,
    &'static str,
    &'static [(&'static str, u32)],
    Paper,
);

const MODELS: &[Model] = &[
    (
        "Peterson",
        "classics/peterson",
        &[],
        Some([1_080, 1_213, 3_427]),
    ),
    (
        "Bakery, 2 threads",
        "classics/bakery-2",
        &[],
        Some([10_221, 14_935, 14_254]),
    ),
    ("Bakery, 3 threads", "classics/bakery-3", &[], None),
    (
        "Alternating bit",
        "classics/alternating-bit",
        &[],
        Some([1_180, 1_180, 1_349]),
    ),
    (
        "Bluetooth",
        "classics/bluetooth-driver",
        &[],
        Some([48_109, 52_092, 116_559]),
    ),
    (
        "Bluetooth, repaired",
        "classics/bluetooth-driver-fixed",
        &[],
        None,
    ),
    (
        "Philosophers 3",
        "papers/cpc-philosophers",
        &[("N", 3)],
        Some([87_399, 87_399, 428_896]),
    ),
    (
        "Philosophers 4",
        "papers/cpc-philosophers",
        &[("N", 4)],
        None,
    ),
    (
        "Philosophers 5",
        "papers/cpc-philosophers",
        &[("N", 5)],
        None,
    ),
    (
        "Philosophers 6",
        "papers/cpc-philosophers",
        &[("N", 6)],
        None,
    ),
    (
        "Counter (transactions paper)",
        "papers/transactions-counter",
        &[],
        None,
    ),
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
    for (name, file, constants, paper) in MODELS {
        extent.progress(name);
        let file = format!("corpus/{file}.rad");
        let subject = Subject::new(program(&file, constants)?, extent.most_states).count_visited();
        let mut ways = vec![Way::Full];
        ways.extend(COMPLETIONS.map(Way::Transactions));
        // Not in the table; it only has to agree.
        ways.extend([Way::Optimistic, Way::Cartesian(CycleTest::ToTheLetter)]);
        let outcomes = subject.search_all(name, &ways)?;
        if extent.leaves_out(&outcomes) {
            continue;
        }
        let mut row = vec![(*name).to_owned(), extent.count(&outcomes[0], |s| s.states)];
        for outcome in &outcomes[1..=COMPLETIONS.len()] {
            row.push(extent.count(outcome, |s| s.visited_states));
        }
        match paper {
            Some(numbers) => row.extend(numbers.map(grouped)),
            None => row.extend([NOTHING; 3].map(str::to_owned)),
        }
        table.row(row);
    }
    Ok(table)
}
