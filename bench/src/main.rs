//! Measures Raddle: `cargo run --release -p raddle-bench -- compare` runs it beside SPIN on the
//! same models.
//!
//! See the README of this directory for what is measured and how to read it.

mod args;
mod callgrind;
mod compare;
mod cpu;
mod evaluation;

mod instructions;
mod measure;
mod model;
mod raddle;
mod reductions;
mod spin;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

/// What can go wrong, for people.
type Result<T> = std::result::Result<T, String>;

fn main() -> ExitCode {
    match run(&Cli::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Does what the command line says; gives whether what was compared is the same.
fn run(command: &Command) -> Result<bool> {
    match command {
        Command::Compare(args) => compare::compare(args),
        Command::Instructions(args) => instructions::instructions(args).map(|()| true),
        Command::Reductions(args) => reductions::reductions(args).map(|()| true),
        Command::Evaluation { check: true } => evaluation::check(),
        Command::Evaluation { check: false } => evaluation::write().map(|()| true),
    }
}

/// Where models and verifiers are written: next to this executable, in the target directory.
fn work_directory() -> Result<PathBuf> {
    let executable = std::env::current_exe().map_err(|e| e.to_string())?;
    let directory = executable.with_file_name("raddle-bench-work");
    std::fs::create_dir_all(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    Ok(directory)
}
