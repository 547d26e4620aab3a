//! Running one reduction on one program.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use raddle_explore::interior::Completion;
use raddle_explore::reductions::cartesian::{Cartesian, CycleTest};
use raddle_explore::reductions::full::Full;
use raddle_explore::reductions::optimistic::Optimistic;
use raddle_explore::reductions::transactions::Transactions;
use raddle_explore::{Outcome, Property, PropertySet, Reduction, Search};
use raddle_lang::Source;
use raddle_machine::{Granularity, Machine, Program};
use raddle_native::{Code, NativeMachine};

use crate::Result;

/// A search that the limit on states does not end is ended by this one, and then the document
/// depends on the machine. It is there for programs that are added later.
const LONGEST: Duration = Duration::from_secs(300);

/// The root of the workspace.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A program in a file of the workspace, some of whose constants have other values.
pub(super) fn program(file: &str, constants: &[(&str, u32)]) -> Result<Arc<Program>> {
    compile(file, text(file, constants)?)
}

/// The text of such a program.
pub(super) fn text(file: &str, constants: &[(&str, u32)]) -> Result<String> {
    let path = root().join(file);
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    constants
        .iter()
        .try_fold(text, |text, &(name, value)| replace(&text, name, value))
        .ok_or_else(|| format!("{file} has no such constants: {constants:?}"))
}

pub(super) fn compile(name: &str, text: String) -> Result<Arc<Program>> {
    let (program, problems) = raddle_machine::load(Source::new(name, text));
    match program {
        Some(program) => Ok(Arc::new(program)),
        None => Err(format!("{name} does not compile: {problems:?}")),
    }
}

/// The text with another value for a constant, if it has that.
fn replace(text: &str, constant: &str, value: u32) -> Option<String> {
    let definition = format!("const int {constant} = ");
    let (before, after) = text.split_once(&definition)?;
    let (_, after) = after.split_once(';')?;
    Some(format!("{before}{definition}{value};{after}"))
}

/// A reduction, with its variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Full,
    Optimistic,
    Transactions(Completion),
    Cartesian(CycleTest),
}

impl Way {
    /// One of each, as users get them.
    pub(super) const ALL: [Self; 4] = [
        Self::Full,
        Self::Optimistic,
        Self::Transactions(Completion::Scc),
        Self::Cartesian(CycleTest::ToTheLetter),
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Optimistic => "optimistic",
            Self::Transactions(_) => "transactions",
            Self::Cartesian(_) => "cartesian",
        }
    }

    fn reduction(self) -> Box<dyn Reduction<NativeMachine>> {
        match self {
            Self::Full => Box::new(Full::default()),
            Self::Optimistic => Box::new(Optimistic::default()),
            Self::Transactions(completion) => Box::new(Transactions::with_completion(completion)),
            Self::Cartesian(cycle_test) => Box::new(Cartesian::with_cycle_test(cycle_test)),
        }
    }

    /// What users check by default, as far as the reduction preserves it.
    fn properties(self) -> PropertySet {
        match self {
            Self::Transactions(_) => PropertySet::default().without(Property::Deadlock),
            _ => PropertySet::default(),
        }
    }

    /// Whether it loses nothing.
    fn is_sound(self) -> bool {
        self != Self::Transactions(Completion::None)
    }
}

/// A program to be searched, in several ways.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    program: Arc<Program>,
    most_states: u64,
    granularity: Granularity,
    count_visited: bool,
}

impl Subject {
    pub(super) fn new(program: Arc<Program>, most_states: u64) -> Self {
        Self {
            program,
            most_states,
            granularity: Granularity::Access,
            count_visited: false,
        }
    }

    /// All accesses of a statement are one step.
    pub(super) fn by_statements(mut self) -> Self {
        self.granularity = Granularity::Statement;
        self
    }

    /// Also counts the states that are not stored.
    pub(super) fn count_visited(mut self) -> Self {
        self.count_visited = true;
        self
    }

    /// Searches all of it.
    pub(super) fn search(&self, way: Way) -> Outcome {
        let machine = Machine::new(Arc::clone(&self.program), self.granularity);
        let code = Code::compile(&self.program).map(Arc::new);
        let mut machine = NativeMachine::new(machine, code);
        let mut reduction = way.reduction();
        if self.count_visited {
            reduction.count_visited();
        }
        Search::new()
            .properties(way.properties())
            .collect_all()
            .max_states(self.most_states)
            .timeout(LONGEST)
            .run(&mut machine, &mut *reduction)
    }

    /// Searches all of it in several ways, which must agree on what is wrong with the program.
    pub(super) fn search_all(&self, name: &str, ways: &[Way]) -> Result<Vec<Outcome>> {
        let outcomes: Vec<_> = ways.iter().map(|&way| self.search(way)).collect();
        let complete = || {
            let pairs = ways.iter().zip(&outcomes);
            pairs.filter(|(way, outcome)| way.is_sound() && outcome.explored.cut().is_none())
        };
        for (one, outcome) in complete() {
            for (other, other_outcome) in complete() {
                let both = |property: &Property| {
                    one.properties().contains(*property) && other.properties().contains(*property)
                };
                if violated(outcome, both) != violated(other_outcome, both) {
                    return Err(format!("{one:?} and {other:?} disagree on {name}"));
                }
            }
        }
        Ok(outcomes)
    }
}

/// The properties that are violated, of those that are asked for.
fn violated(outcome: &Outcome, asked: impl Fn(&Property) -> bool) -> PropertySet {
    let violated = outcome.violations.iter().map(|one| one.property());
    violated.filter(asked).collect()
}
