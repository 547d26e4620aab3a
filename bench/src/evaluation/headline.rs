//! One program that only the reduced searches finish.

use raddle_explore::Outcome;

use super::document::Block;
use super::run::{Subject, Way, program};
use crate::table::{Table, grouped};
use crate::{Result, cpu};

const FILE: &str = "examples/tellers.rad";
const SIZE: [(&str, u32); 2] = [("TELLERS", 5), ("ROUNDS", 3)];
const MOST_STATES: u64 = 10_000_000;

const TEXT: &str = r#"
## In short

Five tellers of a bank, each of whom makes three deposits and three transfers under locks: the program
[`examples/tellers.rad`](../examples/tellers.rad) with larger constants. Without reduction the search has not ended after
10,000,000 states. The reduced searches end in seconds, and verify it.

```sh
sed 's/TELLERS = 3/TELLERS = 5/; s/ROUNDS = 2/ROUNDS = 3/' examples/tellers.rad > tellers-5.rad
raddle check --reduction full --max-states 10M tellers-5.rad
raddle check tellers-5.rad
```
"#;

const SHOWS: &str = r#"
`transactions` does not look for deadlocks, but sees the order in which locks are taken; here that excludes
them. That the locks protect the accounts is declared
(`guarded_by`), and checked on the way.
What this does not show: a program whose threads share data without locks gains much less.
"#;

pub(super) fn section() -> Result<Vec<Block>> {
    let subject = Subject::new(program(FILE, &SIZE)?, MOST_STATES);
    let head = [
        "reduction",
        "result",
        "states",
        "transitions",
        "memory MB",
        "CPU s",
    ];
    let mut table = Table::new(2, &head);
    for way in Way::ALL {
        eprintln!("tellers, {} ...", way.name());
        let before = cpu::own_user_time()?;
        let outcome = subject.search(way);
        let seconds = cpu::own_user_time()? - before;
        let statistics = &outcome.statistics;
        let at_least = match outcome.explored.cut() {
            Some(_) => "> ",
            None => "",
        };
        table.row([
            way.name().into(),
            result(&outcome),
            format!("{at_least}{}", grouped(statistics.states)),
            format!("{at_least}{}", grouped(statistics.transitions)),
            format!("{:.1}", statistics.memory_bytes as f64 / 1e6),
            format!("{seconds:.1}"),
        ]);
    }
    Ok(vec![
        Block::text(TEXT),
        Block::Measured(table),
        Block::text(SHOWS),
    ])
}

fn result(outcome: &Outcome) -> String {
    use raddle_explore::lock_order::Deadlocks;
    match (outcome.explored.cut(), outcome.violations.is_empty()) {
        (_, false) => "violation".into(),
        (Some(_), true) => "not finished".into(),
        (None, true) => match &outcome.noticed.deadlocks {
            None => "verified".into(),
            Some(Deadlocks::Excluded) => "verified, deadlocks excluded by lock order".into(),
            Some(Deadlocks::Possible(_)) => "verified but for deadlocks".into(),
        },
    }
}
