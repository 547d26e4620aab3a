//! Beside SPIN, with and without its partial-order reduction.

use raddle_explore::Outcome;

use super::document::{Block, NOTHING, pair};
use super::run::{Subject, Way, compile};
use crate::measure::Run;
use crate::model::{self, Model, Sizes};
use crate::spin::{self, PartialOrderReduction, Verifier};
use crate::table::{Table, grouped};
use crate::{Result, cpu};

/// Enough for the largest model without reduction.
const MOST_STATES: u64 = 4_000_000;

const TEXT: &str = r#"
## Beside SPIN

The [models of the benchmark](../bench/README.md#the-models), which are the same in both languages step by step: without reduction
both tools count exactly the same states and transitions. SPIN is run without (`-DNOREDUCE`) and
with its partial-order reduction, which is its default. A cell is states / transitions; times are
user CPU seconds of the search alone (for SPIN, of `pan`, not of its compilation).
"#;

const WITHOUT_SPIN: &str = "
SPIN or gcc was not installed when this page was written, so its numbers are missing.
";

const SHOWS: &str = r#"
SPIN's reduction must know before the search which statements touch nothing shared. In these models every
step is a shared access, so it removes nothing. (Channels with declared users would be another matter; there
are none here.) Raddle's reductions learn from the run who touches what.

- Philosophers and private counters all but vanish under `optimistic` and `transactions`.
- In algorithms that synchronise by shared variables alone (bakery, filter lock, shared counters) nothing is protected: `optimistic` and
  `transactions` leave out nothing and take two to four times as long as the full search. `cartesian` still saves, since most steps of different threads touch different
  variables: most in the bakery, half of the states but no transitions in the filter lock, next to nothing where all
  threads use one variable.
- In readers and writers, which uses semaphores, all save states, `cartesian` most; only `cartesian` saves time as well.

In plain speed `pan`, which is compiled C, is ahead of Raddle's interpreter in searches without reduction, by up to a factor of about two. These are
single runs; [the benchmark](../bench/README.md#results) takes the best of several, in turns.
"#;

pub(super) fn section() -> Result<Vec<Block>> {
    let has_spin = spin::is_installed();
    if !has_spin {
        eprintln!("{}", spin::HOW_TO_INSTALL);
    }
    let head = [
        "model",
        "SPIN",
        "SPIN, reduced",
        "full",
        "optimistic",
        "transactions",
        "cartesian",
    ];
    let mut counts = Table::new(1, &head);
    let mut times = Table::new(1, &head);
    for model in model::selected(Sizes::Measured, &[])? {
        eprintln!("{} ...", model.name);
        let (mut count_row, mut time_row) =
            (vec![model.name.to_owned()], vec![model.name.to_owned()]);
        let mut unreduced = None;
        for reduction in [PartialOrderReduction::Off, PartialOrderReduction::On] {
            let run = (has_spin.then(|| by_spin(model, reduction))).transpose()?;
            if reduction == PartialOrderReduction::Off {
                unreduced = run.as_ref().map(Run::counts);
            }
            let (count, time) = match run {
                Some(run) => (pair(run.counts()), format!("{:.2}", run.user_seconds)),
                None => (NOTHING.into(), NOTHING.into()),
            };
            count_row.push(count);
            time_row.push(time);
        }
        let subject = Subject::new(compile(model.name, model.program())?, MOST_STATES);
        for way in Way::ALL {
            let before = cpu::own_user_time()?;
            let outcome = subject.search(way);
            let seconds = cpu::own_user_time()? - before;
            let counts = (outcome.statistics.states, outcome.statistics.transitions);
            if way == Way::Full && unreduced.is_some_and(|of_spin| of_spin != counts) {
                return Err(format!(
                    "the tools disagree on {}: {unreduced:?}, {counts:?}",
                    model.name
                ));
            }
            count_row.push(count(&outcome)?);
            time_row.push(time(&outcome, seconds));
        }
        counts.row(count_row);
        times.row(time_row);
    }
    let mut blocks = vec![Block::text(TEXT)];
    if !has_spin {
        blocks.push(Block::text(WITHOUT_SPIN));
    }
    blocks.extend([
        Block::Measured(counts),
        Block::text("CPU seconds of the same searches:"),
        Block::Measured(times),
        Block::text(SHOWS),
    ]);
    Ok(blocks)
}

fn by_spin(model: &Model, reduction: PartialOrderReduction) -> Result<Run> {
    let files = model.write(&crate::work_directory()?)?;
    Verifier::compile(&files, reduction)?.check()
}

/// All models are correct, and every reduction has to say so.
fn count(outcome: &Outcome) -> Result<String> {
    if let Some(violation) = outcome.violations.first() {
        let (name, message) = (outcome.asked.reduction, violation.message());
        return Err(format!("{name} claims a violation: {message}"));
    }
    Ok(match outcome.explored.cut() {
        Some(_) => format!("> {}", grouped(MOST_STATES)),
        None => pair((outcome.statistics.states, outcome.statistics.transitions)),
    })
}

fn time(outcome: &Outcome, seconds: f64) -> String {
    match outcome.explored.cut() {
        Some(_) => format!("> {seconds:.2}"),
        None => format!("{seconds:.2}"),
    }
}
