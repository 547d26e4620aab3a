//! Running SPIN: it translates a model to C, which is compiled to a verifier, `pan`.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::Result;
use crate::cpu;
use crate::measure::Run;
use crate::model::Files;

/// What to tell who does not have it.
pub(crate) const HOW_TO_INSTALL: &str = "\
note: spin or gcc is not installed, so Raddle runs alone; to compare the two:
    apt-get install spin gcc        (Debian, Ubuntu; other systems: https://spinroot.com)";

/// Safety properties only.
const COMPILER: &[&str] = &["-O2", "-DSAFETY", "-DMEMLIM=16000", "-w"];

/// Whether SPIN leaves out schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartialOrderReduction {
    /// The same search as Raddle's without a reduction.
    Off,
    /// Its default.
    On,
}

/// Whether everything that is needed is there.
pub(crate) fn is_installed() -> bool {
    let answers = |program: &str, option: &str| {
        Command::new(program)
            .arg(option)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    answers("spin", "-V") && answers("gcc", "--version")
}

/// A compiled verifier and the room that its model needs.
#[derive(Clone, Debug)]
pub(crate) struct Verifier {
    pan: PathBuf,
    options: [String; 2],
}

impl Verifier {
    /// Compiles a model, and runs it once to see how much room it needs: the stack as deep as
    /// the search, and a hash table with at least as many slots as there are states. Both
    /// are allocated in advance, and would say nothing about the model otherwise.
    pub(crate) fn compile(files: &Files, reduction: PartialOrderReduction) -> Result<Self> {
        let (name, option) = match reduction {
            PartialOrderReduction::Off => ("pan", Some("-DNOREDUCE")),
            PartialOrderReduction::On => ("pan-reduced", None),
        };
        let here = |program: &str| {
            let mut command = Command::new(program);
            command.current_dir(&files.directory);
            command
        };
        cpu::run(here("spin").arg("-a").arg(&files.pml))?;
        let mut compiler = here("gcc");
        compiler.args(COMPILER).args(option);
        cpu::run(compiler.args(["-o", name, "pan.c"]))?;
        let mut verifier = Self {
            pan: files.directory.join(name),
            options: ["-m10000000".into(), "-w24".into()],
        };
        let first = verifier.check()?;
        let slots = first.states.next_power_of_two().ilog2().max(10);
        verifier.options = [format!("-m{}", first.depth + 10), format!("-w{slots}")];
        Ok(verifier)
    }

    /// Checks the model, all of it.
    pub(crate) fn check(&self) -> Result<Run> {
        // `pan` writes a trail into the current directory if it finds an error.
        let directory = self.pan.parent().unwrap_or(&self.pan);
        let mut command = Command::new(&self.pan);
        let finished = cpu::run(command.args(&self.options).current_dir(directory))?;
        parse(&finished.output, finished.user, finished.system)
            .ok_or_else(|| format!("not the report of a verified model: {}", finished.output))
    }
}

fn parse(output: &str, user: f64, system: f64) -> Option<Run> {
    if !output.contains("errors: 0") || output.contains("max search depth too small") {
        return None;
    }
    let states = before(output, " states, stored")? as u64;
    let megabytes = |label| before(output, label).map(|number| (number * 1_048_576.0) as u64);
    // Small state spaces are all overhead, and the line is left out.
    let stored = megabytes("actual memory usage for states").filter(|bytes| *bytes > 0);
    let table = megabytes("memory used for hash table");
    let stack = megabytes("memory used for DFS stack");
    Some(Run {
        states,
        // What it calls transitions is stored plus matched states, and the initial state
        // is stored without a transition to it.
        transitions: before(output, " transitions (= stored+matched)")? as u64 - 1,
        depth: after(output, "depth reached ")? as u64,
        user_seconds: user,
        system_seconds: system,
        own_seconds: after(output, "pan: elapsed time "),
        search_bytes: stored
            .zip(table)
            .map(|(stored, table)| stored + table + stack.unwrap_or(0)),
        state_bytes: stored,
        total_bytes: megabytes("total actual memory usage"),
    })
}

/// The number before a label.
fn before(output: &str, label: &str) -> Option<f64> {
    let (rest, _) = output.split_once(label)?;
    rest.split_whitespace().next_back()?.parse().ok()
}

/// The number after a label.
fn after(output: &str, label: &str) -> Option<f64> {
    let (_, rest) = output.split_once(label)?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "
State-vector 40 byte, depth reached 40224, errors: 0
  1189871 states, stored
  2379743 states, matched
  3569614 transitions (= stored+matched)
        0 atomic steps

Stats on memory usage (in Megabytes):
   68.085\tequivalent memory usage for states (stored*(State-vector + overhead))
   46.000\tactual memory usage for states (compression: 67.56%)
         \tstate-vector as stored = 20 byte + 20 byte overhead
   16.000\tmemory used for hash table (-w21)
    2.000\tmemory used for DFS stack (-m40234)
   65.000\ttotal actual memory usage

pan: elapsed time 0.58 seconds
";

    #[test]
    fn reads_a_report() {
        let run = parse(REPORT, 0.5, 0.1).unwrap();
        assert_eq!(
            (run.states, run.transitions, run.depth),
            (1_189_871, 3_569_613, 40_224)
        );
        assert_eq!(run.state_bytes, Some(46 << 20));
        assert_eq!(run.search_bytes, Some(64 << 20));
        assert_eq!(run.total_bytes, Some(65 << 20));
        assert_eq!(run.own_seconds, Some(0.58));
        assert!(parse(&REPORT.replace("errors: 0", "errors: 1"), 0.5, 0.1).is_none());
    }
}
