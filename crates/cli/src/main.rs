//! The `raddle` command.

mod args;
mod check;
mod debugger;
mod format;
mod keys;
mod load;
mod memory;
mod progress;
mod replay;
mod simulate;
mod tell;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

/// What a command says to the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    /// Verified, or done.
    Success = 0,
    /// There is a violation (or a file that would be formatted).
    Violation = 1,
    /// The command line or the program is wrong.
    Error = 2,
    /// The search proves nothing.
    Inconclusive = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let exit = match &cli.command {
        Command::Check(args) => check::check(args),
        Command::Run(args) => simulate::simulate(args),
        Command::Replay(args) => replay::replay(args),
        Command::Fmt(args) => format::format(args),
    };
    exit.into()
}
