//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Measures Raddle: beside SPIN on the same models, by instructions, and by what reductions save.
#[derive(Parser, Debug)]
#[command(name = "raddle-bench", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run Raddle and SPIN in turns on the same models, and print their ratios.
    Compare(Compare),
    /// Count the instructions of Raddle's stages, per transition, by callgrind.
    Instructions(Instructions),
    /// Run each reduction and `auto` in turns, and print what `auto` takes beside the best of them; or what several workers gain.
    Reductions(Reductions),
    /// Write docs/evaluation.md: the reductions on the programs of their papers, and beyond.
    Evaluation {
        /// Write nothing; count the tables of counts again, and fail if the document or a plot
        /// says otherwise. Tables with times or memory, and the tables of the first and the last
        /// section, are not compared.
        #[arg(long)]
        check: bool,
    },
}

#[derive(Args, Debug)]
pub(crate) struct Compare {
    #[command(flatten)]
    pub(crate) measured: Measured,

    /// Run each tool that many times, in turns, and keep the best run of each.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: u32,

    /// The models at small sizes, which take no time: only to see whether the tools agree.
    #[arg(long)]
    pub(crate) small: bool,

    /// Run Raddle alone.
    #[arg(long)]
    pub(crate) no_spin: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Instructions {
    #[command(flatten)]
    pub(crate) measured: Measured,
}

#[derive(Args, Debug)]
pub(crate) struct Reductions {
    /// Programs, instead of the models of the benchmark.
    pub(crate) programs: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) measured: Measured,

    /// Run each that many times, in turns, and keep the best times.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: u32,

    /// Instead of CPU times, the time that passes with one worker and with this many.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) workers: Option<u32>,

    /// Also the programs of the corpus with more states than that.
    #[arg(long, value_name = "STATES")]
    pub(crate) corpus_over: Option<u64>,
}

/// What is measured, and how it is printed.
#[derive(Args, Debug)]
pub(crate) struct Measured {
    /// Only models whose name begins like this; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Vec<String>,

    /// The `raddle` to measure, instead of the one that is built from this workspace.
    #[arg(long, value_name = "FILE")]
    pub(crate) raddle: Option<PathBuf>,

    /// More arguments of `raddle check`, separated by spaces, such as "--search dfs".
    #[arg(
        long,
        value_name = "ARGS",
        default_value = "",
        allow_hyphen_values = true
    )]
    pub(crate) raddle_args: String,

    /// How to print the table.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

impl Measured {
    /// The additional arguments, one by one.
    pub(crate) fn raddle_args(&self) -> Vec<String> {
        (self.raddle_args.split_whitespace())
            .map(str::to_owned)
            .collect()
    }
}

/// How to print.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Markdown,
    Json,
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
    fn arguments_for_raddle_may_begin_with_hyphens() {
        let line = [
            "raddle-bench",
            "compare",
            "--raddle-args",
            "--search dfs  --stats",
        ];
        let Command::Compare(compare) = Cli::try_parse_from(line).unwrap().command else {
            panic!("it is a comparison");
        };
        assert_eq!(
            compare.measured.raddle_args(),
            ["--search", "dfs", "--stats"]
        );
    }
}
