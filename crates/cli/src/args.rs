//! The command line.

mod values;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use raddle_explore::interior::Completion;
use raddle_explore::reductions::cartesian::CycleTest;
use raddle_explore::{Order, Statistics, StoreKind};
use raddle_machine::Granularity;

pub(crate) use values::{Explore, PropertyArg, goals_wanted, properties};
use values::{count, depth, duration, explorer, property, size, store, workers};

/// Checks multithreaded programs: explores their schedules, and shows what can go wrong.
#[derive(Parser, Debug)]
#[command(name = "raddle", version, max_term_width = 90)]
#[command(
    after_help = "Exit codes: 0 verified (or nothing to report), 1 violation, 2 usage or \
program error, or output that could not be written, 3 inconclusive, 4 reductions disagree (an error in raddle)."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Check a program: explore all its schedules and report what can go wrong.
    Check(Check),
    /// Search programs with every reduction, and compare what they find and what it costs.
    Compare(Compare),
    /// Explain a program: which steps commute, what protects what, which functions are atomic.
    Explain(Explain),
    /// Execute one random schedule of a program.
    Run(Run),
    /// Execute a counterexample again, step by step.
    Replay(Replay),
    /// Format programs.
    Fmt(Fmt),
}

#[derive(Args, Debug, Clone)]
pub(crate) struct Check {
    /// The program (`-` reads standard input).
    pub(crate) file: PathBuf,

    /// The reduction to search with: auto, full, optimistic, transactions or cartesian. `auto`
    /// chooses by the properties, and says what it chose.
    #[arg(long, default_value = "auto", value_name = "NAME")]
    pub(crate) reduction: String,

    /// How transactions that could go on for ever are made to end, with `--reduction
    /// transactions`. [default: scc]
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) completion: Option<CompletionArg>,

    /// When a thread counts as going on for ever, with `--reduction cartesian`. [default:
    /// letter]
    #[arg(long, value_enum, value_name = "WHICH")]
    pub(crate) cycle_test: Option<CycleTestArg>,

    /// Store no states: run executions one after another, each from the beginning. For
    /// programs that terminate.
    #[arg(long, value_parser = explorer(), value_name = "HOW", conflicts_with_all = STATEFUL)]
    pub(crate) explore: Option<Explore>,

    /// The memory model. `sc`: everything is sequentially consistent, whatever orderings the program asks for. `ra` and `rc11`, with
    /// `--explore optimal` or `graphs`: what the orderings of atomic accesses and fences allow. A program that asks for weaker orderings is checked
    /// only with one of them.
    #[arg(long, value_enum, value_name = "MODEL")]
    pub(crate) memory: Option<MemoryArg>,

    /// The greatest number of preemptions of an execution, with `--explore bounded`, `algorithm1`,
    /// `algorithm2` and `cb-dfs` [default: 2], and where `--explore iterative` stops.
    #[arg(long, value_name = "N", requires = "explore")]
    pub(crate) bound: Option<u32>,

    /// Give up after this many executions, with `--explore` [default for `random` and `pct`, if
    /// there is no `--timeout`: 10000].
    #[arg(long, value_name = "N", value_parser = count, requires = "explore")]
    pub(crate) max_executions: Option<u64>,

    /// Where the random choices start, with `--explore random` and `pct`; the same seed gives
    /// the same executions. [default: 0]
    #[arg(long, value_name = "N", requires = "explore")]
    pub(crate) seed: Option<u64>,

    /// The depth of the errors that `--explore pct` looks for: how many pairs of events have to
    /// come in one order. 1 for most wrong orders, 2 for most deadlocks and broken atomicity.
    /// [default: 3]
    #[arg(long, value_name = "N", value_parser = depth, requires = "explore")]
    pub(crate) depth: Option<u32>,

    /// Search with that many threads at once: breadth-first only; or with `--explore`, but for
    /// `bounded` and `iterative`. [default: 1]
    #[arg(long, value_name = "N", value_parser = workers)]
    pub(crate) workers: Option<usize>,

    /// What executes the steps.
    #[arg(long, value_enum, default_value_t = MachineArg::Auto, value_name = "WHICH")]
    pub(crate) machine: MachineArg,

    /// The order of the search.
    #[arg(long, value_enum, default_value_t = SearchOrder::Bfs)]
    pub(crate) search: SearchOrder,

    /// Whether threads that do the same are interchangeable, so that it does not matter which of them is where. `auto`: with
    /// `--reduction auto`.
    #[arg(long, value_enum, default_value_t = SymmetryArg::Auto, value_name = "WHETHER")]
    pub(crate) symmetry: SymmetryArg,

    /// Where states are kept: `flat` is the fastest, `tree` takes ten bytes a state, `compact` fewer; `auto` begins with `flat`, and
    /// goes over to the others when memory gets short. `fingerprint`, `fingerprint:128` and `bits:SIZE` are for searches that fit nowhere else: they may
    /// miss states, and never verify.
    #[arg(long, value_parser = store, default_value = "auto", value_name = "WHICH")]
    pub(crate) store: StoreKind,

    #[command(flatten)]
    pub(crate) step: Steps,

    #[command(flatten)]
    pub(crate) asked: Asked,

    /// Do not stop at the first violation: find every distinct one.
    #[arg(long)]
    pub(crate) all: bool,

    /// Do not look further than this many steps of the reduction from the start. With
    /// `--explore`, give up if an execution is longer than this [default: 10000].
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max_depth: Option<u64>,

    #[command(flatten)]
    pub(crate) limits: Limits,

    /// Give up after this time, such as 30s, 5m or 1h (a plain number is seconds).
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,

    /// Print all statistics of the search. Counting the states that are not stored takes as
    /// much memory as storing them.
    #[arg(long)]
    pub(crate) stats: bool,

    #[command(flatten)]
    pub(crate) counting: Counting,

    /// Write the (first) counterexample to a file, for `raddle replay`.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,

    /// Draw the (first) counterexample as a graph: its events, with arrows for what reads from
    /// what. The file ends in `.svg`, or in `.dot` for Graphviz.
    #[arg(long, value_name = "FILE")]
    pub(crate) graph: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) drawing: Drawing,

    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Args, Debug)]
pub(crate) struct Compare {
    /// The programs (`-` reads standard input).
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// The reductions to compare, separated by commas. [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) reduction: Vec<String>,

    /// Search with that many threads at once: breadth-first only, and with `full` and `cartesian`;
    /// the others count visited states here, which one thread does alone. [default: 1]
    #[arg(long, value_name = "N", value_parser = workers)]
    pub(crate) workers: Option<usize>,

    /// The order of the search.
    #[arg(long, value_enum, default_value_t = SearchOrder::Bfs)]
    pub(crate) search: SearchOrder,

    /// Whether threads that do the same are interchangeable. `auto`: they are not.
    #[arg(long, value_enum, default_value_t = SymmetryArg::Auto, value_name = "WHETHER")]
    pub(crate) symmetry: SymmetryArg,

    #[command(flatten)]
    pub(crate) step: Steps,

    #[command(flatten)]
    pub(crate) asked: Asked,

    #[command(flatten)]
    pub(crate) counting: Counting,

    #[command(flatten)]
    pub(crate) limits: Limits,

    /// Give up on a reduction after this time, such as 30s, 5m or 1h (a plain number is
    /// seconds).
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "60s")]
    pub(crate) timeout: Duration,

    /// Tables for people, one JSON object, or lines of comma-separated values.
    #[arg(long, value_enum, default_value_t = TableFormat::Text)]
    pub(crate) format: TableFormat,

    /// Draw with ASCII characters only.
    #[arg(long)]
    pub(crate) ascii: bool,

    /// Print no progress and no warnings.
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// When to use colours (`NO_COLOR` is respected).
    #[arg(long, alias = "color", value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub(crate) colour: Colour,
}

#[derive(Args, Debug)]
pub(crate) struct Explain {
    /// The program (`-` reads standard input).
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) step: Steps,

    #[command(flatten)]
    pub(crate) limits: Limits,

    /// Give up after this time, such as 30s, 5m or 1h (a plain number is seconds).
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,

    #[command(flatten)]
    pub(crate) drawing: Drawing,

    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Args, Debug)]
pub(crate) struct Run {
    /// The program (`-` reads standard input).
    pub(crate) file: PathBuf,

    /// Where the random choices start; the same seed gives the same schedule.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Stop after this many steps.
    #[arg(long, value_name = "N", default_value = "1000", value_parser = count)]
    pub(crate) steps: u64,

    #[command(flatten)]
    pub(crate) step: Steps,

    #[command(flatten)]
    pub(crate) drawing: Drawing,

    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Args, Debug)]
pub(crate) struct Replay {
    /// The file that `raddle check --trace` has written.
    pub(crate) file: PathBuf,

    /// The program, if it is not where the trace says.
    #[arg(long, value_name = "FILE")]
    pub(crate) program: Option<PathBuf>,

    /// Draw the execution as a graph. The file ends in `.svg`, or in `.dot` for Graphviz.
    #[arg(long, value_name = "FILE")]
    pub(crate) graph: Option<PathBuf>,

    /// Step through it by hand.
    #[arg(long, short)]
    pub(crate) interactive: bool,

    #[command(flatten)]
    pub(crate) drawing: Drawing,

    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Args, Debug)]
pub(crate) struct Fmt {
    /// The programs (`-` reads standard input and writes standard output).
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Change nothing; exit with 1 if something would change.
    #[arg(long)]
    pub(crate) check: bool,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// What is asked for.
#[derive(Args, Debug, Clone)]
pub(crate) struct Asked {
    /// The properties to check, separated by commas: assertion, runtime, deadlock,
    /// invariant, discipline, goal, race, termination, or `all`, which is all but termination.
    /// [default: all but race and termination]
    #[arg(long, value_name = "LIST", value_parser = property, value_delimiter = ',')]
    pub(crate) property: Vec<PropertyArg>,
}

/// What is counted.
#[derive(Args, Debug, Clone, Copy)]
pub(crate) struct Counting {
    /// Count a thread that cannot move as a transition from a state to itself, as some
    /// published tables do. This changes the number that is printed, not the search.
    #[arg(long, value_enum, default_value_t = SelfLoops::None, value_name = "WHICH")]
    count_self_loops: SelfLoops,
}

impl Counting {
    /// The number of transitions, by the accounting that was asked for.
    pub(crate) fn transitions(self, statistics: &Statistics) -> u64 {
        statistics.transitions
            + match self.count_self_loops {
                SelfLoops::None => 0,
                SelfLoops::Blocked => statistics.blocked_steps,
                SelfLoops::All => statistics.blocked_steps + statistics.ended_steps,
            }
    }
}

/// When to give up.
#[derive(Args, Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Give up after this many states.
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max_states: Option<u64>,

    /// Give up when the search takes this much memory, such as 512M, 4G or 500MB (`M` and `MiB`
    /// are 1024 * 1024 bytes, `MB` is a million). [default: half of the memory of the machine]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_memory: Option<u64>,
}

/// What a step is.
#[derive(Args, Debug, Clone, Copy)]
pub(crate) struct Steps {
    /// What is one step: a shared access, or a whole statement.
    #[arg(long, value_enum, default_value_t = GranularityArg::Access)]
    pub(crate) granularity: GranularityArg,
}

/// How to print.
#[derive(Args, Debug, Clone, Copy)]
pub(crate) struct Output {
    /// Text for people, or one JSON object on standard output.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,

    /// Print no progress, no warnings and no summary.
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// When to use colours (`NO_COLOR` is respected).
    #[arg(long, alias = "color", value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub(crate) colour: Colour,
}

/// How to draw executions.
#[derive(Args, Debug, Clone, Copy)]
pub(crate) struct Drawing {
    /// Draw with ASCII characters only.
    #[arg(long)]
    pub(crate) ascii: bool,

    /// The width of the page for counterexamples.
    #[arg(long, value_name = "COLUMNS", default_value_t = 80)]
    pub(crate) width: usize,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Json,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableFormat {
    Text,
    Json,
    Csv,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompletionArg {
    /// Once in each group of states that reach one another and no end.
    Scc,
    /// Wherever a cycle is closed.
    Cycle,
    /// Where a state turns out to reach no end.
    Cpc,
    /// Only at commit points.
    CpcL19,
    /// Not at all, which is unsound: only `compare` does it.
    None,
}

impl CompletionArg {
    pub(crate) fn completion(self) -> Completion {
        match self {
            Self::Scc => Completion::Scc,
            Self::Cycle => Completion::Cycle,
            Self::Cpc => Completion::Cpc,
            Self::CpcL19 => Completion::CpcL19,
            Self::None => Completion::None,
        }
    }
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CycleTestArg {
    /// When it comes to a state that it has been in.
    Letter,
    /// One round later, as for the tables in the paper.
    Paper,
}

impl CycleTestArg {
    pub(crate) fn cycle_test(self) -> CycleTest {
        match self {
            Self::Letter => CycleTest::ToTheLetter,
            Self::Paper => CycleTest::AsPublished,
        }
    }
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    Auto,
    Always,
    Never,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SearchOrder {
    /// Breadth first: a counterexample with the fewest steps.
    Bfs,
    /// Depth first.
    Dfs,
    /// Fewest context switches first.
    Switches,
}

impl SearchOrder {
    pub(crate) fn order(self) -> Order {
        match self {
            Self::Bfs => Order::BreadthFirst,
            Self::Dfs => Order::DepthFirst,
            Self::Switches => Order::FewestSwitches,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bfs => "bfs",
            Self::Dfs => "dfs",
            Self::Switches => "switches",
        }
    }
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GranularityArg {
    Access,
    Statement,
}

impl GranularityArg {
    pub(crate) fn granularity(self) -> Granularity {
        match self {
            Self::Access => Granularity::Access,
            Self::Statement => Granularity::Statement,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Access => "access",
            Self::Statement => "statement",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::Access, Self::Statement]
            .into_iter()
            .find(|granularity| granularity.name() == name)
    }
}

/// What is an option of searches that store states only.
const STATEFUL: [&str; 7] = [
    "search",
    "store",
    "max_states",
    "max_memory",
    "count_self_loops",
    "machine",
    "symmetry",
];

/// The memory model.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemoryArg {
    /// Sequential consistency.
    Sc,
    /// Release and acquire: RC11 without the order of `seq_cst`.
    Ra,
    /// RC11, the memory model of C++ and Rust without load buffering.
    Rc11,
}

/// Whether a search makes use of interchangeable threads.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SymmetryArg {
    /// Where the counts of states are no matter of interest.
    Auto,
    /// Yes, if there are some.
    On,
    /// No.
    Off,
}

/// What executes the steps of a search.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MachineArg {
    /// Native code if this build can generate it, the interpreter otherwise.
    Auto,
    /// The interpreter alone.
    Interpreter,
    /// Native code; the interpreter executes what is not compiled.
    Native,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum SelfLoops {
    /// Count steps only.
    None,
    /// Count blocked threads too.
    Blocked,
    /// Count blocked and ended threads too.
    All,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
