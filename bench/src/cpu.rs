//! Running other programs, and the CPU time that they take.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::Result;

/// What `/proc/self/stat` counts in, on every Linux there is: the kernel's interface is
/// fixed at 100 per second.
const TICKS_PER_SECOND: f64 = 100.0;

/// The fields of `/proc/self/stat` with user times; system times follow them.
const FIRST_OWN_TIME: usize = 14;
const FIRST_CHILDREN_TIME: usize = 16;

/// What a program printed, and the CPU time it took.
#[derive(Clone, Debug)]
pub(crate) struct Finished {
    pub(crate) output: String,
    pub(crate) user: f64,
    pub(crate) system: f64,
}

/// Runs a program to its end. Programs run one at a time, so that what the children of this
/// process have used more than before is what this one has used.
pub(crate) fn run(command: &mut Command) -> Result<Finished> {
    run_with_exit_codes(command, &[0])
}

/// The same for a run of Raddle that may find something, or not come to a verdict.
pub(crate) fn run_whatever_it_finds(command: &mut Command) -> Result<Finished> {
    run_with_exit_codes(command, &[0, 1, 3])
}

fn run_with_exit_codes(command: &mut Command, expected: &[i32]) -> Result<Finished> {
    let before = children_times()?;
    let name = name_of(command.get_program().as_ref());
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("{name}: {e}"))?;
    let after = children_times()?;
    if !output
        .status
        .code()
        .is_some_and(|code| expected.contains(&code))
    {
        let complaint = String::from_utf8_lossy(&output.stderr);
        let printed = String::from_utf8_lossy(&output.stdout);
        return Err(format!("{name}: {}\n{printed}{complaint}", output.status));
    }
    Ok(Finished {
        output: String::from_utf8_lossy(&output.stdout).into_owned(),
        user: after.0 - before.0,
        system: after.1 - before.1,
    })
}

fn name_of(program: &Path) -> String {
    program.display().to_string()
}

/// The user time of this process so far, in seconds.
pub(crate) fn own_user_time() -> Result<f64> {
    read_times(FIRST_OWN_TIME).map(|(user, _)| user)
}

/// User and system time of all children that have ended, in seconds.
fn children_times() -> Result<(f64, f64)> {
    read_times(FIRST_CHILDREN_TIME)
}

fn read_times(first_field: usize) -> Result<(f64, f64)> {
    let path = "/proc/self/stat";
    let stat = std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
    parse_times(&stat, first_field).ok_or_else(|| format!("{path} is not as expected"))
}

/// A field, counted from 1, and the next one. The second field is a name in parentheses that
/// may contain anything.
fn parse_times(stat: &str, first_field: usize) -> Option<(f64, f64)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(first_field - 3);
    let mut next = || Some(fields.next()?.parse::<f64>().ok()? / TICKS_PER_SECOND);
    Some((next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_times_behind_any_name() {
        let stat = "14981 (a) b) R 1 2 3 0 -1 4194304 99 0 0 0 11 12 250 33 20 0 1 0";
        assert_eq!(parse_times(stat, FIRST_OWN_TIME), Some((0.11, 0.12)));
        assert_eq!(parse_times(stat, FIRST_CHILDREN_TIME), Some((2.5, 0.33)));
        assert_eq!(parse_times("1 (x) R", FIRST_OWN_TIME), None);
    }
}
