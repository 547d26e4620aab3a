//! One program, explored and enumerated.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use raddle_memory::testing::{Toy, enumerate};
use raddle_memory::{Counts, End, Leaf, Model, Rule, Schedule, Trust};

/// What the threads have told in an execution, and how it has ended.
pub(crate) type Outcome = (Vec<Vec<u64>>, End);

/// What an exploration has found.
#[derive(Debug, Default)]
pub(crate) struct Explored {
    /// The graphs with how they end, and how often they were visited.
    pub(crate) graphs: BTreeMap<Vec<u32>, (End, u64)>,
    pub(crate) outcomes: BTreeSet<Outcome>,
    pub(crate) counts: Counts,
    pub(crate) is_all: bool,
}

impl Explored {
    pub(crate) fn duplicates(&self) -> u64 {
        self.graphs.values().map(|(_, times)| times - 1).sum()
    }

    /// Complete graphs, and others.
    pub(crate) fn numbers(&self) -> (u64, u64) {
        let complete = self.counts.of(End::Complete);
        (complete, self.counts.graphs() - complete)
    }
}

pub(crate) fn explore(toy: &mut Toy, trust: &mut Trust) -> Explored {
    explore_up_to(toy, trust, u64::MAX)
}

pub(crate) fn explore_up_to(toy: &mut Toy, trust: &mut Trust, most: u64) -> Explored {
    let mut explored = Explored::default();
    let mut left = most;
    let coverage = trust.explore(toy, &mut |toy: &mut Toy, leaf: &Leaf<'_>| {
        let graph = explored
            .graphs
            .entry(leaf.graph.key())
            .or_insert((leaf.end, 0));
        graph.1 += 1;
        explored.outcomes.insert((toy.seen(), leaf.end));
        left -= 1;
        match left {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    explored.is_all = coverage.expect("a program that is explored").is_all();
    explored.counts = *trust.counts();
    explored
}

/// How an exploration differs from enumeration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) duplicates: u64,
    pub(crate) missing: u64,
    pub(crate) extra: u64,
}

impl Difference {
    pub(crate) fn of(explored: &Explored, all: &BTreeMap<Vec<u32>, End>) -> Self {
        let explored_ends = |key| explored.graphs.get(key).map(|(end, _)| *end);
        let missing = all
            .iter()
            .filter(|(key, end)| explored_ends(*key) != Some(**end));
        let extra = explored
            .graphs
            .iter()
            .filter(|(key, (end, _))| all.get(*key) != Some(end));
        Self {
            duplicates: explored.duplicates(),
            missing: missing.count() as u64,
            extra: extra.count() as u64,
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.duplicates += other.duplicates;
        self.missing += other.missing;
        self.extra += other.extra;
    }
}

pub(crate) fn enumerated(toy: &mut Toy, model: Model) -> BTreeMap<Vec<u32>, End> {
    enumerate(toy, model, |_, _| {})
}

pub(crate) const SCHEDULES: [Schedule; 4] = [
    Schedule::Forward,
    Schedule::Backward,
    Schedule::Latest,
    Schedule::WritesFirst,
];

/// Explores a program by a model with all schedules, and panics if it differs from enumeration. The number of graphs.
pub(crate) fn compare(toy: &mut Toy, model: Model, seed: u64, has_oracle: bool) -> u64 {
    let all = enumerated(toy, model);
    let random = Schedule::Random(seed | 1);
    for schedule in SCHEDULES.into_iter().chain([random]) {
        let mut trust = Trust::new(model).schedule(schedule);
        // The others make the same checks, by and large.
        if has_oracle && (schedule == random || schedule == Schedule::Latest) {
            trust = trust.with_oracle();
        }
        let explored = explore(toy, &mut trust);
        let mut difference = Difference::of(&explored, &all);
        if explored.counts.in_doubt > 0 {
            difference.duplicates = 0;
        }
        assert_eq!(difference, Difference::default(), "{model:?}, {schedule:?}");
        assert!(explored.is_all);
        // One run for each graph.
        if explored.counts.in_doubt == 0 {
            assert_eq!(explored.counts.runs, explored.counts.graphs());
        }
    }
    all.len() as u64
}

/// How an exploration without some rules differs, with all schedules together. One that goes astray is given up.
pub(crate) fn without(toy: &mut Toy, model: Model, rules: &[Rule]) -> Difference {
    let all = enumerated(toy, model);
    let mut together = Difference::default();
    for schedule in SCHEDULES {
        let trust = Trust::new(model).schedule(schedule);
        let mut trust = rules.iter().fold(trust, |trust, &rule| trust.without(rule));
        let explored = explore_up_to(toy, &mut trust, 20 * all.len() as u64 + 20);
        assert!(!explored.is_all, "nothing is claimed without a rule");
        together.add(Difference::of(&explored, &all));
    }
    together
}
