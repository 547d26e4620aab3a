//! Table 1 of "Partial-Order Reduction for Context-Bounded State Exploration".

use raddle_machine::{Granularity, Machine};
use raddle_outcome::Extent as Explored;
use raddle_schedule::Explorer;
use raddle_schedule::explorers::{Algorithm2, Dfs};
use raddle_stateless::{Settings, examine};

use super::Extent;
use super::document::{Block, pair};
use super::run::program;
use crate::Result;
use crate::table::{Table, grouped};

const FILE: &str = "corpus/papers/work-stealing-queue.rad";

const TEXT: &str = r#"
## Context bounds

Table 1 of Musuvathi, Qadeer, "Partial-Order Reduction for Context-Bounded State Exploration" (2007): executions of a
work-stealing queue with at most so many preemptions. A cell is *cb-dfs*, which runs every such schedule, / *cb-por*, algorithm
2 of the paper, which runs one execution of each class of equivalent ones. Ours is **another program**,
[`work-stealing-queue.rad`](../corpus/papers/work-stealing-queue.rad), so only the shape can be compared, not the numbers.

```sh
raddle check --explore cb-dfs --bound 2 corpus/papers/work-stealing-queue.rad
raddle check --explore algorithm2 --bound 2 corpus/papers/work-stealing-queue.rad
```
"#;

const SHOWS: &str = r#"
Why they differ:

- The paper's program is about 1000 lines of C++ that are not printed, and neither is its driver, nor what its *size* counts. Ours follows the published
  algorithm of that queue; its sizes are the items that are pushed, with two attempts to steal.
- With bound 0 the paper has two executions, so two threads must have been able to begin. Here the owner of the queue starts the stealer, and only a
  preemption, or the end of the owner's work, lets the stealer run: there is one.
- The paper does not say what a step is. CHESS, the checker that it measures, is described elsewhere (Musuvathi, Qadeer, "Iterative Context Bounding for
  Systematic Testing of Multithreaded Programs", 2007) as switching threads only at synchronisation. Here every shared access is a step:
  those to the elements, to the size of the array and to the counts of what was taken are places for a preemption as well.
- Most of these additional places do not matter: accesses to elements rarely conflict, and two reads never do. So most schedules are
  equivalent, and the reduction saves much from bound 1 on, where the paper's saves nothing. If only the accesses to
  head, tail and lock are steps, and any two of one location conflict, less is left to save:
  34 / 25, 469 / 150 and 5,171 / 886 with bounds 1 to 3 and 4 items ([as a Rust test](../crates/schedule/tests/work_stealing/main.rs)).

That some numbers of *cb-dfs* are close is a coincidence until somebody shows otherwise.
What carries over: *cb-por* never runs more than *cb-dfs*, and what it saves grows with the bound. That it runs as many executions as there are classes is
checked while this table is made.
"#;

/// The paper's executions of `cb-dfs` and `cb-por`, for sizes 3, 4 and 5; by the bound.
const PAPER: [[(u64, u64); 3]; 5] = [
    [(2, 2), (2, 2), (2, 2)],
    [(46, 46), (54, 54), (67, 67)],
    [(756, 713), (898, 853), (1_197, 1_136)],
    [(8_918, 7_838), (12_711, 8_458), (19_460, 14_563)],
    [(66_374, 48_828), (95_935, 52_572), (161_637, 95_068)],
];

/// How many items ours pushes.
const ITEMS: [u32; 3] = [2, 4, 6];

/// Enough for every cell.
const MOST_EXECUTIONS: u64 = 500_000;

/// The largest bound that takes no time.
const QUICK_BOUND: usize = 2;

pub(super) fn section(extent: Extent) -> Result<Vec<Block>> {
    let mut table = Table::new(
        0,
        &[
            "bound",
            "paper: size 3",
            "paper: size 4",
            "paper: size 5",
            "ours: 2 items",
            "ours: 4 items",
            "ours: 6 items",
        ],
    );
    for (bound, paper) in PAPER.iter().enumerate() {
        if extent.quick && bound > QUICK_BOUND {
            break;
        }
        extent.progress(&format!("work-stealing queue, bound {bound}"));
        let mut row = vec![bound.to_string()];
        row.extend(paper.map(pair));
        for items in ITEMS {
            row.push(cell(items, bound as u32)?);
        }
        table.row(row);
    }
    Ok(vec![
        Block::text(TEXT),
        Block::Counts(table),
        Block::text(SHOWS),
    ])
}

fn cell(items: u32, bound: u32) -> Result<String> {
    let all = executions(items, &mut Dfs { bound: Some(bound) })?;
    let reduced = executions(items, &mut Algorithm2 { bound })?;
    let of = |found: &Executions| match found.complete {
        true => grouped(found.executions),
        false => format!("> {}", grouped(MOST_EXECUTIONS)),
    };
    if reduced.complete && reduced.executions != reduced.classes {
        return Err(format!(
            "{items} items, bound {bound}: a class was run twice"
        ));
    }
    if all.complete && reduced.complete && all.classes != reduced.classes {
        return Err(format!("{items} items, bound {bound}: classes are missing"));
    }
    Ok(format!("{} / {}", of(&all), of(&reduced)))
}

struct Executions {
    executions: u64,
    classes: u64,
    /// Whether all within the bound were run.
    complete: bool,
}

fn executions(items: u32, explorer: &mut impl Explorer) -> Result<Executions> {
    let mut machine = Machine::new(program(FILE, &[("ITEMS", items)])?, Granularity::Access);
    let settings = Settings {
        all: true,
        max_executions: Some(MOST_EXECUTIONS),
        ..Settings::default()
    };
    let found = examine(&mut machine, explorer, &settings);
    match found.violations.first() {
        Some(violation) => Err(format!("{FILE}: {}", violation.message())),
        None => Ok(Executions {
            executions: found.statistics.executions,
            classes: (found.statistics.classes).ok_or("the classes were not counted")?,
            complete: found.explored.extent() != Explored::Some,
        }),
    }
}
