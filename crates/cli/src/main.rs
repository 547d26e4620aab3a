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
mod progress;
mod reduction;
mod replay;
mod simulate;
mod tell;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use raddle_report::json::{CheckReport, Verdict};

use args::{Cli, Command};

/// What a command says to the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    /// Verified, or done.
    Success = 0,
    /// There is a violation (or a file that would be formatted).
    Violation = 1,
    /// The command line or the program is wrong, or the output could not be written.
    Error = 2,
    /// The search proves nothing.
    Inconclusive = 3,
    /// Reductions that should agree do not: there is an error in one of them.
    Disagreement = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Prints help, or what is wrong with the command line; as JSON too if that was asked for.
fn usage(error: &clap::Error) -> Exit {
    terminal::note_output(error.print());
    if !error.use_stderr() {
        return Exit::Success;
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
    Exit::Error
}

fn main() -> ExitCode {
    let exit = match Cli::try_parse() {
        Ok(cli) => run(&cli.command),
        Err(error) => usage(&error),
    };
    match terminal::lost_output() {
        true => Exit::Error.into(),
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
