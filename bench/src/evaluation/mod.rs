//! The evaluation: what the reductions save, on the programs of their papers and on others.
//! It is written to `docs/evaluation.md`, all of it, with its plots beside it.
//!
//! Counts are the same on every machine, and [`check`] compares them; times are not. The text
//! between the tables was written for the numbers in them: read it again when they change.

mod beside_spin;
mod cartesian_table;
mod completion;
mod context_bound;
mod document;
mod headline;
mod memory;
mod plot;
mod run;
mod scaling;

use std::collections::HashSet;
use std::path::Path;

use raddle_explore::{Outcome, Statistics};

use crate::Result;
use crate::table::grouped;
use document::{Block, pair};

const DOCUMENT: &str = "docs/evaluation.md";
const PLOTS: &str = "docs/evaluation";

const PREAMBLE: &str = r#"
# Evaluation

What the reductions save: on the programs of the papers that they come from, beside the published
numbers; beside SPIN; and as programs grow.

```sh
cargo run --release -p raddle-bench -- evaluation
```

writes this page and its plots, all of it (about a quarter of an hour). Counts of states, transitions and executions are the same on
every machine. With `--check` the command writes nothing: it counts the tables of the sections on papers and on more threads again, and says which lines of
this page have changed; a test does so for small programs. Not compared are the tables "in short" and "beside SPIN", which take long, and the table
of memory. Times are of one run on one core of whatever machine it was, and are there for their order of magnitude.

A search of the tables stops at 1,000,000 stored states unless it says otherwise; "> 1,000,000" is one that
did. Every program is searched completely, not up to its first violation. Whenever two sound
reductions were run on one program they had to agree on which properties are violated; there was no disagreement.
"#;

/// How much is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    most_states: u64,
    /// Whether rows that the limit has cut are left out, and nothing is measured that takes
    /// long or is not the same every time.
    quick: bool,
}

impl Extent {
    const WHOLE: Self = Self {
        most_states: 1_000_000,
        quick: false,
    };

    #[cfg(test)]
    const QUICK: Self = Self {
        most_states: 10_000,
        quick: true,
    };

    /// Whether a row is left out for now.
    fn leaves_out(self, outcomes: &[Outcome]) -> bool {
        self.quick
            && outcomes
                .iter()
                .any(|outcome| outcome.explored.cut().is_some())
    }

    /// A number of a search, unless that was cut.
    fn count(self, outcome: &Outcome, of: impl Fn(&Statistics) -> u64) -> String {
        self.cell(outcome, |statistics| grouped(of(statistics)))
    }

    /// Two numbers of a search, unless that was cut.
    fn counts(self, outcome: &Outcome, of: impl Fn(&Statistics) -> (u64, u64)) -> String {
        self.cell(outcome, |statistics| pair(of(statistics)))
    }

    fn cell(self, outcome: &Outcome, of: impl Fn(&Statistics) -> String) -> String {
        match outcome.explored.cut() {
            Some(_) => format!("> {}", grouped(self.most_states)),
            None => of(&outcome.statistics),
        }
    }

    /// Tells who waits what is going on.
    fn progress(self, what: &str) {
        if !self.quick {
            eprintln!("{what} ...");
        }
    }
}

/// Writes the document and its plots.
pub(crate) fn write() -> Result<()> {
    let blocks = whole_document()?;
    let root = run::root();
    let save = |path: &Path, text: &str| {
        std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
    };
    std::fs::create_dir_all(root.join(PLOTS)).map_err(|e| format!("{PLOTS}: {e}"))?;
    for block in &blocks {
        if let Block::Plot { name, svg } = block {
            save(&root.join(PLOTS).join(format!("{name}.svg")), svg)?;
        }
    }
    let text: Vec<String> = blocks.iter().map(Block::markdown).collect();
    save(&root.join(DOCUMENT), &text.join("\n"))
}

fn whole_document() -> Result<Vec<Block>> {
    let mut blocks = vec![Block::text(PREAMBLE)];
    blocks.extend(headline::section()?);
    blocks.extend(counted_sections(Extent::WHOLE)?);
    blocks.extend(beside_spin::section()?);
    Ok(blocks)
}

/// The sections of which most is counts.
fn counted_sections(extent: Extent) -> Result<Vec<Block>> {
    let mut blocks = cartesian_table::section(extent)?;
    blocks.extend(completion::section(extent)?);
    blocks.extend(memory::section(extent)?);
    blocks.extend(context_bound::section(extent)?);
    blocks.extend(scaling::section(extent)?);
    Ok(blocks)
}

/// Counts all of [`counted_sections`] again; gives whether document and plots say the same. What is
/// [measured](Block::Measured) is not compared.
pub(crate) fn check() -> Result<bool> {
    let blocks = counted_sections(Extent::WHOLE)?;
    let mut stale = stale_lines(&blocks)?;
    for block in &blocks {
        if let Block::Plot { name, svg } = block {
            let file = format!("{PLOTS}/{name}.svg");
            if std::fs::read_to_string(run::root().join(&file))
                .ok()
                .as_ref()
                != Some(svg)
            {
                stale.push(file);
            }
        }
    }
    for line in &stale {
        eprintln!("not in {DOCUMENT}: {line}");
    }
    Ok(stale.is_empty())
}

/// The lines of text and of tables of counts that are not in the document.
fn stale_lines(blocks: &[Block]) -> Result<Vec<String>> {
    let path = run::root().join(DOCUMENT);
    let document = std::fs::read_to_string(path).map_err(|e| format!("{DOCUMENT}: {e}"))?;
    let known: HashSet<&str> = document.lines().collect();
    let lines = blocks.iter().flat_map(|block| match block {
        Block::Counts(table) => table.lines().collect(),
        Block::Text(text) => text.lines().map(str::to_owned).collect(),
        Block::Measured(_) | Block::Plot { .. } => Vec::new(),
    });
    Ok(lines.filter(|line| !known.contains(&**line)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where it fails: find out why the counts have changed, then write the document anew.
    #[test]
    fn the_counts_of_small_programs_are_those_of_the_document() {
        let blocks = counted_sections(Extent::QUICK).unwrap();
        let tables = blocks.iter().filter_map(|block| match block {
            Block::Counts(table) => Some(table.lines().count()),
            _ => None,
        });
        assert!(tables.sum::<usize>() > 80, "hardly anything was counted");
        let stale = stale_lines(&blocks).unwrap();
        assert!(stale.is_empty(), "not in {DOCUMENT}:\n{}", stale.join("\n"));
    }
}
