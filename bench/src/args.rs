//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// Measures Raddle beside SPIN on the same models.
#[derive(Parser, Debug)]
#[command(name = "raddle-bench", version, about)]
pub(crate) struct Args {
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

/// How to print.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Markdown,
    Json,
}
