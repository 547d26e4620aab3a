//! States against threads.

use super::Extent;
use super::document::{Block, NOTHING};
use super::plot::{Line, Plot};
use super::run::{Subject, Way, program};
use crate::Result;
use crate::table::Table;

const TEXT: &str = r#"
## More threads

Stored states of each reduction as threads are added. A line ends where the search has
hit the limit on states, or at the largest size that was tried. `transactions` is checked without deadlocks, which it does not preserve.
"#;

const SHOWS: &str = r#"
No reduction is best everywhere.

- Where data is protected by locks (philosophers, tellers, pipeline), `optimistic` and `transactions` store from about ten to several hundred
  times fewer states than the full search, and the factor grows with the threads. `transactions` gains most where a thread takes
  one lock after another; in the pipeline every lock is taken alone, and the two are the same.
- In the pipeline `cartesian` overtakes both: only neighbours interact, and its states grow with the square of the stages, as far as was tried.
- In the file system and the indexer the threads touch different things until there are too many of them. `cartesian` sees that with
  a single state. `optimistic` and `transactions` see it too, but keep apart which threads have run, which is 2 to
  the number of threads at least. When the threads begin to collide (14 and 12 threads), all grow faster, and `cartesian` is still the smallest.

Where threads compete for the same locks all growth remains exponential; a reduction makes the base smaller.
"#;

struct Family {
    /// Also the name of the file of its plot.
    name: &'static str,
    title: &'static str,
    file: &'static str,
    constant: &'static str,
    sizes: std::ops::RangeInclusive<u32>,
}

const FAMILIES: &[Family] = &[
    Family {
        name: "philosophers",
        title: "Philosophers with ordered mutexes",
        file: "corpus/classics/philosophers-ordered.rad",
        constant: "N",
        sizes: 2..=9,
    },
    Family {
        name: "file-system",
        title: "File system",
        file: "corpus/papers/cartesian-file-system-2.rad",
        constant: "THREADS",
        sizes: 2..=15,
    },
    Family {
        name: "indexer",
        title: "Indexer",
        file: "corpus/papers/cartesian-indexer-2.rad",
        constant: "THREADS",
        sizes: 2..=13,
    },
    Family {
        name: "pipeline",
        title: "Pipeline with a locked slot between stages",
        file: "examples/pipeline.rad",
        constant: "STAGES",
        sizes: 2..=9,
    },
    Family {
        name: "tellers",
        title: "Tellers",
        file: "examples/tellers.rad",
        constant: "TELLERS",
        sizes: 2..=7,
    },
];

pub(super) fn section(extent: Extent) -> Result<Vec<Block>> {
    let mut blocks = vec![Block::text(TEXT), Block::text(SHOWS)];
    for family in FAMILIES {
        blocks.extend(family.blocks(extent)?);
    }
    Ok(blocks)
}

impl Family {
    fn blocks(&self, extent: Extent) -> Result<[Block; 3]> {
        let mut head = vec![self.name];
        head.extend(Way::ALL.map(Way::name));
        let mut table = Table::new(1, &head);
        let mut lines = Way::ALL.map(|way| Line::new(way.name()));
        let mut still = Way::ALL.to_vec();
        for threads in self.sizes.clone() {
            let name = format!("{} {threads}", self.name);
            extent.progress(&name);
            let program = program(self.file, &[(self.constant, threads)])?;
            let subject = Subject::new(program, extent.most_states);
            let outcomes = subject.search_all(&name, &still)?;
            if extent.leaves_out(&outcomes) {
                break;
            }
            let mut row = vec![name];
            for (way, line) in Way::ALL.into_iter().zip(&mut lines) {
                let position = still.iter().position(|&other| other == way);
                row.push(match position.map(|position| &outcomes[position]) {
                    Some(outcome) => {
                        if outcome.explored.cut().is_none() {
                            line.add(threads, outcome.statistics.states);
                        }
                        extent.count(outcome, |s| s.states)
                    }
                    None => NOTHING.to_owned(),
                });
            }
            table.row(row);
            let mut cut = outcomes
                .iter()
                .map(|outcome| outcome.explored.cut().is_some());
            still.retain(|_| !cut.next().unwrap_or(true));
            if still.is_empty() {
                break;
            }
        }
        let plot = Plot {
            title: self.title,
            x: "threads",
            y: "stored states",
            lines: &lines,
        };
        let source = format!(
            "### {}\n\nThe program is [`{file}`](../{file}).",
            self.title,
            file = self.file
        );
        Ok([
            Block::Text(source),
            Block::Plot {
                name: self.name.into(),
                svg: plot.svg(),
            },
            Block::Counts(table),
        ])
    }
}
