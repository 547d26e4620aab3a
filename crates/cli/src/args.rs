//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use raddle_explore::{Order, Property, PropertySet};
use raddle_machine::Granularity;

/// Checks multithreaded programs: explores their schedules, and shows what can go wrong.
#[derive(Parser, Debug)]
#[command(name = "raddle", version, max_term_width = 90)]
#[command(
    after_help = "Exit codes: 0 verified (or nothing to report), 1 violation, 2 usage or \
program error, 3 inconclusive."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Check a program: explore all its schedules and report what can go wrong.
    Check(Check),
    /// Explain a program: which steps commute, what protects what, which functions are atomic.
    Explain(Explain),
    /// Execute one random schedule of a program.
    Run(Run),
    /// Execute a counterexample again, step by step.
    Replay(Replay),
    /// Format programs.
    Fmt(Fmt),
}

#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The program (`-` reads standard input).
    pub(crate) file: PathBuf,

    /// The reduction to search with.
    #[arg(long, default_value = "full", value_name = "NAME")]
    pub(crate) reduction: String,

    /// The order of the search.
    #[arg(long, value_enum, default_value_t = SearchOrder::Bfs)]
    pub(crate) search: SearchOrder,

    #[command(flatten)]
    pub(crate) step: Steps,

    /// The properties to check, separated by commas: assertion, runtime, deadlock,
    /// invariant, discipline, goal, race, or `all`. [default: all but race]
    #[arg(long, value_name = "LIST", value_parser = property, value_delimiter = ',')]
    pub(crate) property: Vec<PropertyArg>,

    /// Do not stop at the first violation: find every distinct one.
    #[arg(long)]
    pub(crate) all: bool,

    /// Give up after this many states.
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max_states: Option<u64>,

    /// Do not look further than this many steps from the start.
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max_depth: Option<u64>,

    /// Give up when the search takes this much memory, such as 512M or 4G. [default: half of
    /// the memory of the machine]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_memory: Option<u64>,

    /// Give up after this time, such as 30s, 5m or 1h (a plain number is seconds).
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,

    /// Print all statistics of the search.
    #[arg(long)]
    pub(crate) stats: bool,

    /// Count a thread that can not move as a transition from a state to itself, as some
    /// published tables do. This changes the number that is printed, not the search.
    #[arg(long, value_enum, default_value_t = SelfLoops::None, value_name = "WHICH")]
    pub(crate) count_self_loops: SelfLoops,

    /// Write the (first) counterexample to a file, for `raddle replay`.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) drawing: Drawing,

    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Args, Debug)]
pub(crate) struct Explain {
    /// The program (`-` reads standard input).
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) step: Steps,

    /// Give up after this many states.
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) max_states: Option<u64>,

    /// Give up when the search takes this much memory, such as 512M or 4G. [default: half of
    /// the memory of the machine]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_memory: Option<u64>,

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

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SelfLoops {
    /// Count steps only.
    None,
    /// Count blocked threads too.
    Blocked,
    /// Count blocked and ended threads too.
    All,
}

/// One word of `--property`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PropertyArg {
    All,
    /// Goals are not looked for by the search: it tells afterwards what was never reached.
    Goal,
    One(Property),
}

/// Whether goals that are never reached are to be reported.
pub(crate) fn goals_wanted(words: &[PropertyArg]) -> bool {
    let mentioned = |word: &PropertyArg| matches!(word, PropertyArg::All | PropertyArg::Goal);
    words.is_empty() || words.iter().any(mentioned)
}

/// The set that the words stand for; the default if there are none.
pub(crate) fn properties(words: &[PropertyArg]) -> PropertySet {
    if words.is_empty() {
        return PropertySet::default();
    }
    words
        .iter()
        .fold(PropertySet::NONE, |set, word| match word {
            PropertyArg::All => PropertySet::ALL,
            PropertyArg::Goal => set,
            PropertyArg::One(property) => set.with(*property),
        })
}

fn property(text: &str) -> Result<PropertyArg, String> {
    if text == "all" {
        return Ok(PropertyArg::All);
    }
    let singular = text.strip_suffix('s').unwrap_or(text);
    if singular == "goal" {
        return Ok(PropertyArg::Goal);
    }
    Property::from_name(text)
        .or_else(|| Property::from_name(singular))
        .map(PropertyArg::One)
        .ok_or_else(|| {
            let names: Vec<_> = Property::ALL
                .iter()
                .map(|property| property.name())
                .collect();
            format!(
                "there is no such property; there are: {}, goal, all",
                names.join(", ")
            )
        })
}

/// A positive number, also as `1_000_000`, `500k` or `2M`.
fn count(text: &str) -> Result<u64, String> {
    let (digits, factor) = split_unit(
        text,
        &[("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)],
    );
    number(digits, factor)
}

/// A number of bytes, also as `512K`, `512M`, `4G`.
fn size(text: &str) -> Result<u64, String> {
    let units = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("K", 1 << 10),
        ("k", 1 << 10),
        ("M", 1 << 20),
        ("G", 1 << 30),
        ("T", 1 << 40),
        ("B", 1),
    ];
    let (digits, factor) = split_unit(text, &units);
    number(digits, factor)
}

fn split_unit<'t>(text: &'t str, units: &[(&str, u64)]) -> (&'t str, u64) {
    units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))
        .unwrap_or((text, 1))
}

fn number(digits: &str, factor: u64) -> Result<u64, String> {
    let digits = digits.trim().replace('_', "");
    let number: u64 = digits
        .parse()
        .map_err(|_| "a whole number is needed, such as 1000000, 500k or 2M".to_owned())?;
    match number.checked_mul(factor) {
        Some(0) => Err("it must be more than zero".into()),
        Some(number) => Ok(number),
        None => Err("this number is too large".into()),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let units = [
        ("ms", 0.001),
        ("s", 1.0),
        ("m", 60.0),
        ("min", 60.0),
        ("h", 3600.0),
    ];
    let (digits, factor) = units
        .iter()
        .filter_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))
        .find(|(digits, _)| digits.parse::<f64>().is_ok())
        .unwrap_or((text, 1.0));
    let seconds = digits
        .trim()
        .parse::<f64>()
        .ok()
        .map(|number| number * factor);
    seconds
        .filter(|seconds| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "a time is needed, such as 30s, 5m or 1h".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn numbers_sizes_and_times_have_units() {
        assert_eq!(count("1_000"), Ok(1000));
        assert_eq!(count("2M"), Ok(2_000_000));
        assert!(count("0").is_err() && count("-1").is_err() && count("x").is_err());
        assert_eq!(size("4G"), Ok(4 << 30));
        assert_eq!(size("512MiB"), Ok(512 << 20));
        assert!(size("99999999999G").is_err());
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        for bad in ["", "0", "-3s", "soon", "nan", "inf", "1e300h"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
