//! The `raddle` command.

mod args;
mod check;
mod compare;
mod debugger;
mod explain;
mod format;
mod interrupt;
mod keys;
mod load;
mod memory;
mod native;
mod orderings;
mod picture;
mod progress;
mod reduction;
mod replay;
mod simulate;
mod tell;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use raddle_outcome::Verdict;
use raddle_report::json::CheckReport;

use args::{Cli, Command};

/// What a command says to the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Exit(u8);

impl Exit {
    /// Done.
    const SUCCESS: Self = Self::of(Verdict::Verified);
    /// The command line or the program is wrong, or the output could not be written.
    const ERROR: Self = Self::of(Verdict::Error);
    /// A file would be formatted.
    const UNFORMATTED: Self = Self(1);
    /// Reductions that should agree do not: there is an error in one of them.
    const DISAGREEMENT: Self = Self(4);

    /// The answer to what was asked.
    const fn of(verdict: Verdict) -> Self {
        Self(verdict.exit_code())
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.0)
    }
}

/// Prints help, or what is wrong with the command line; as JSON too if that was asked for.
fn usage(error: &clap::Error) -> Exit {
    terminal::note_output(error.print());
    if !error.use_stderr() {
        return Exit::SUCCESS;
    }
    let words: Vec<_> = std::env::args().collect();
    let json = words.iter().any(|word| word == "--format=json")
        || words.windows(2).any(|pair| pair == ["--format", "json"]);
    if json {
        let message = error.to_string();
        let reason = message.lines().next().unwrap_or_default();
        let report = CheckReport {
            verdict: Verdict::Error,
            reason: Some(reason.trim_start_matches("error: ").to_owned()),
            ..CheckReport::default()
        };
        terminal::print(&report.to_json());
    }
    Exit::ERROR
}

fn main() -> ExitCode {
    let exit = match Cli::try_parse() {
        Ok(cli) => run(&cli.command),
        Err(error) => usage(&error),
    };
    match terminal::lost_output() {
        true => Exit::ERROR.into(),
        false => exit.into(),
    }
}

fn run(command: &Command) -> Exit {
    match command {
        Command::Check(args) => check::check(args),
        Command::Compare(args) => compare::compare(args),
        Command::Explain(args) => explain::explain(args),
        Command::Run(args) => simulate::simulate(args),
        Command::Replay(args) => replay::replay(args),
        Command::Fmt(args) => format::format(args),
    }
}
