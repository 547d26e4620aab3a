//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// Measures Raddle beside SPIN on the same models.
#[derive(Parser, Debug)]
#[command(
    name = "raddle-bench",
    version,
    about,
    args_conflicts_with_subcommands = true
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// How to print the table.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,

    /// Only models whose name begins like this; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Vec<String>,

    /// Run each tool that many times, in turns, and keep the best run of each.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: u32,

    /// Run Raddle alone.
    #[arg(long)]
    pub(crate) no_spin: bool,

    /// The `raddle` to measure, instead of the one that is built from this workspace.
    #[arg(long, value_name = "FILE")]
    pub(crate) raddle: Option<PathBuf>,

    /// Say where Raddle spends its time on the first selected model, by `perf`.
    #[arg(long)]
    pub(crate) profile: bool,
}

/// What to do instead of the comparison with SPIN.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Write docs/evaluation.md: the reductions on the programs of their papers, and beyond.
    Evaluation {
        /// Write nothing; fail if a count in the document is not what it is now.
        #[arg(long)]
        check: bool,
    },
}

/// How to print.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Markdown,
    Json,
}
