//! Table 1 of "Cartesian Partial-Order Reduction".

use std::sync::Arc;

use raddle_explore::reductions::cartesian::CycleTest;
use raddle_explore::{Outcome, Statistics};
use raddle_machine::Program;

use super::Extent;
use super::document::{Block, NOTHING, pair};
use super::run::{Subject, Way, compile, program, text};
use crate::Result;
use crate::table::Table;

const TEXT: &str = r#"
## Cartesian reduction

Table 1 of Gueta, Flanagan, Yahav, Sagiv, "Cartesian Partial-Order Reduction" (2007). Each cell
is states / transitions. *Standard* is the search without reduction; *published cycle test* is
`cartesian` with the test for infinite prefixes that the authors' implementation must have had,
*figure 6* is the algorithm as it is printed, which is what `--reduction cartesian` does. Both
are sound. Transitions are counted as in the paper: a blocked thread is a transition from a state
to itself, and so is one that has ended, but for File System and Indexer. This prints our cells of a row:

```sh
raddle compare --reduction full,cartesian-paper,cartesian --count-self-loops all corpus/papers/cartesian-shared-ptr.rad
raddle compare --reduction full,cartesian-paper,cartesian --count-self-loops blocked corpus/papers/cartesian-file-system-2.rad
```

Other sizes are other values of the constant in the program.
"#;

const WHAT_IT_SHOWS: &str = r#"
Every count of these programs in the paper is reproduced, states and transitions, with and without the reduction. (The paper also
has one thread of File System and Indexer, without reduction.) Where the paper has no standard search, it ran out of
memory; here an empty cell is a size above the first one that the limit on states has cut.

What it does not show: up to the size at which the threads of File System and Indexer collide, they hardly interact,
and the reduction has an easy task. Philosophers is the honest row: the reduction stores fewer states, and executes *more*
transitions than the search without it.
"#;

const CMIS: &str = r#"
The same paper's concurrent merge-insertion sort is **not the same program here**, and the numbers
must not be compared: the authors simulated the creation of threads by threads that wait in a
loop for requests, in a program that is not printed; ours
([`cartesian-cmis-2-8.rad`](../corpus/papers/cartesian-cmis-2-8.rad)) spawns and
joins its threads. Both sort a descending array of N elements, with insertion sort up to C. That the reduced
searches have the same number of states in two rows is a coincidence until somebody shows otherwise.
"#;

/// States and transitions.
type Counts = (u64, u64);

/// Which threads that cannot move count as transitions.
#[derive(Clone, Copy, PartialEq)]
enum SelfLoops {
    Blocked,
    All,
}

/// A program of the paper, at growing sizes.
struct Family {
    name: &'static str,
    /// In `corpus/papers`.
    file: &'static str,
    constant: &'static str,
    self_loops: SelfLoops,
    sizes: &'static [Size],
}

/// The size, and the paper's counts: without reduction, and with it.
type Size = (u32, Option<Counts>, Counts);

const FAMILIES: &[Family] = &[
    Family {
        name: "SharedPtr",
        file: "cartesian-shared-ptr",
        constant: "N",
        self_loops: SelfLoops::All,
        sizes: &[(100, Some((32_131, 64_262)), (418, 12_785))],
    },
    Family {
        name: "SharedArray",
        file: "cartesian-shared-array",
        constant: "N",
        self_loops: SelfLoops::All,
        sizes: &[(64, Some((2_276, 4_552)), (132, 1_648))],
    },
    Family {
        name: "2 Robots",
        file: "cartesian-robots-2",
        constant: "N",
        self_loops: SelfLoops::All,
        sizes: &[(12, Some((4_877, 9_754)), (56, 2_635))],
    },
    Family {
        name: "3 Robots",
        file: "cartesian-robots-3",
        constant: "N",
        self_loops: SelfLoops::All,
        sizes: &[(12, Some((326_759, 980_277)), (56, 6_387))],
    },
    Family {
        name: "File System",
        file: "cartesian-file-system-2",
        constant: "THREADS",
        self_loops: SelfLoops::Blocked,
        sizes: &[
            (2, Some((81, 144)), (1, 16)),
            (3, Some((729, 1_944)), (1, 24)),
            (4, Some((6_561, 23_328)), (1, 32)),
            (5, Some((59_049, 262_440)), (1, 40)),
            (6, Some((531_441, 2_834_352)), (1, 48)),
            (7, None, (1, 56)),
            (8, None, (1, 64)),
            (9, None, (1, 72)),
            (10, None, (1, 80)),
            (11, None, (1, 88)),
            (12, None, (1, 96)),
            (13, None, (1, 104)),
            (14, None, (10, 1_026)),
            (15, None, (100, 10_120)),
            (16, None, (1_000, 99_800)),
            (17, None, (10_000, 984_000)),
        ],
    },
    Family {
        name: "Indexer",
        file: "cartesian-indexer-2",
        constant: "THREADS",
        self_loops: SelfLoops::Blocked,
        sizes: &[
            (2, Some((25, 40)), (1, 8)),
            (3, Some((125, 300)), (1, 12)),
            (4, Some((625, 2_000)), (1, 16)),
            (5, Some((3_125, 12_500)), (1, 20)),
            (6, Some((15_625, 75_000)), (1, 24)),
            (7, Some((78_125, 437_500)), (1, 28)),
            (8, Some((390_625, 2_500_000)), (1, 32)),
            (9, None, (1, 36)),
            (10, None, (1, 40)),
            (11, None, (1, 44)),
            (12, None, (9, 394)),
            (13, None, (81, 3_528)),
            (14, None, (729, 31_590)),
            (15, None, (6_561, 282_852)),
            (16, None, (59_049, 2_532_546)),
        ],
    },
    Family {
        name: "Philosophers",
        file: "cartesian-philosophers-2",
        constant: "N",
        self_loops: SelfLoops::All,
        sizes: &[
            (2, Some((11, 22)), (9, 28)),
            (3, Some((36, 108)), (27, 174)),
            (4, Some((119, 476)), (94, 750)),
            (5, Some((393, 1_965)), (295, 2_984)),
            (6, Some((1_298, 7_788)), (942, 11_233)),
            (7, Some((4_287, 30_009)), (2_955, 41_091)),
            (8, Some((14_159, 113_272)), (9_212, 145_717)),
            (9, Some((46_764, 420_876)), (28_675, 509_218)),
        ],
    },
];

/// C, N, and the paper's counts.
const CMIS_SIZES: &[(u32, u32, Option<Counts>, Counts)] = &[
    (2, 8, Some((16_430, 115_010)), (51, 1_627)),
    (4, 16, Some((1_014_131, 7_098_917)), (51, 3_091)),
    (8, 32, None, (51, 8_035)),
    (16, 64, None, (51, 25_987)),
    (32, 128, None, (51, 94_147)),
    (64, 256, None, (51, 359_491)),
    (128, 256, None, (6, 100_336)),
    (127, 255, None, (11, 221_954)),
];

const CYCLE_TESTS: [Way; 2] = [
    Way::Cartesian(CycleTest::AsPublished),
    Way::Cartesian(CycleTest::ToTheLetter),
];

pub(super) fn section(extent: Extent) -> Result<Vec<Block>> {
    let mut table = Table::new(
        1,
        &[
            "program",
            "standard: paper",
            "standard: ours",
            "cartesian: paper",
            "ours, published cycle test",
            "ours, figure 6",
        ],
    );
    for family in FAMILIES {
        family.add_to(&mut table, extent)?;
    }
    Ok(vec![
        Block::text(TEXT),
        Block::Counts(table),
        Block::text(WHAT_IT_SHOWS),
        Block::text(CMIS),
        Block::Counts(cmis(extent)?),
    ])
}

impl Family {
    fn add_to(&self, table: &mut Table, extent: Extent) -> Result<()> {
        let file = format!("corpus/papers/{}.rad", self.file);
        let mut standard_is_cut = false;
        for &(size, paper_standard, paper) in self.sizes {
            let subject = Subject::new(
                program(&file, &[(self.constant, size)])?,
                extent.most_states,
            );
            let name = match self.sizes.len() {
                1 => self.name.to_owned(),
                _ => format!("{} {size}", self.name),
            };
            extent.progress(&name);
            let mut ways = CYCLE_TESTS.to_vec();
            if !standard_is_cut {
                ways.push(Way::Full);
            }
            let outcomes = subject.search_all(&name, &ways)?;
            if extent.leaves_out(&outcomes) {
                return Ok(());
            }
            standard_is_cut |= outcomes
                .last()
                .is_some_and(|full| full.explored.cut().is_some());
            let count = |outcome| extent.counts(outcome, |s| counts(s, self.self_loops));
            let standard = outcomes.get(CYCLE_TESTS.len());
            table.row([
                name,
                paper_standard.map_or(NOTHING.into(), pair),
                standard.map_or(NOTHING.into(), count),
                pair(paper),
                count(&outcomes[0]),
                count(&outcomes[1]),
            ]);
        }
        Ok(())
    }
}

fn counts(statistics: &Statistics, self_loops: SelfLoops) -> Counts {
    let ended = match self_loops {
        SelfLoops::Blocked => 0,
        SelfLoops::All => statistics.ended_steps,
    };
    let transitions = statistics.transitions + statistics.blocked_steps + ended;
    (statistics.states, transitions)
}

fn cmis(extent: Extent) -> Result<Table> {
    let mut table = Table::new(
        1,
        &[
            "CMIS",
            "standard: paper",
            "standard: another program",
            "cartesian: paper",
            "another program, published cycle test",
            "another program, figure 6",
        ],
    );
    let mut standard_is_cut = false;
    for &(c, n, paper_standard, paper) in CMIS_SIZES {
        let name = format!("C={c} N={n}");
        extent.progress(&format!("CMIS {name}"));
        let subject = Subject::new(cmis_program(c, n)?, extent.most_states);
        let mut ways = CYCLE_TESTS.to_vec();
        if !standard_is_cut {
            ways.push(Way::Full);
        }
        let outcomes = subject.search_all(&name, &ways)?;
        if extent.leaves_out(&outcomes) {
            break;
        }
        standard_is_cut |= outcomes
            .last()
            .is_some_and(|full| full.explored.cut().is_some());
        let count = |outcome: &Outcome| extent.counts(outcome, |s| counts(s, SelfLoops::Blocked));
        table.row([
            name,
            paper_standard.map_or(NOTHING.into(), pair),
            outcomes
                .get(CYCLE_TESTS.len())
                .map_or(NOTHING.into(), count),
            pair(paper),
            count(&outcomes[0]),
            count(&outcomes[1]),
        ]);
    }
    Ok(table)
}

/// The program of the corpus for another size: the array to be sorted grows as well.
fn cmis_program(c: u32, n: u32) -> Result<Arc<Program>> {
    let file = "corpus/papers/cartesian-cmis-2-8.rad";
    let elements: Vec<String> = (1..=n).rev().map(|element| element.to_string()).collect();
    let text = text(file, &[("C", c), ("N", n)])?;
    let array = "8, 7, 6, 5, 4, 3, 2, 1";
    compile(file, text.replace(array, &elements.join(", ")))
}
