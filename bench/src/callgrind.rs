//! Counting instructions by function: runs valgrind's callgrind, and reads what it writes.
//!
//! The [format] is lines: `fn=NAME` begins a function; a line that begins with a position has
//! the cost of that line; `cfn=NAME` and `calls=...` announce a call, and the line after them has
//! the cost of all of it, callee and what that calls included.
//!
//! [format]: https://valgrind.org/docs/manual/cl-format.html

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use crate::{Result, cpu};

/// What to tell who does not have it.
const HOW_TO_INSTALL: &str = "valgrind is needed to count instructions (Debian: valgrind)";

/// The instructions of one run, by function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Profile {
    pub(crate) total: u64,
    functions: BTreeMap<String, Function>,
}

#[derive(Clone, Debug, Default)]
struct Function {
    /// What was executed in it and in what it called.
    inclusive: u64,
    callees: BTreeSet<String>,
}

/// Runs a program under callgrind; gives what it printed and its profile.
pub(crate) fn run(line: &[String], directory: &Path) -> Result<(String, Profile)> {
    let file = directory.join("callgrind.out");
    let finished = cpu::run(
        Command::new("valgrind")
            .args(["--quiet", "--tool=callgrind", "--compress-strings=no"])
            .arg(format!("--callgrind-out-file={}", file.display()))
            .args(line),
    );
    let finished = finished.map_err(|e| format!("{e}\n{HOW_TO_INSTALL}"))?;
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok((finished.output, Profile::parse(&text)?))
}

impl Profile {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut profile = Self::default();
        let mut function = String::new();
        let mut callee = String::new();
        let mut total = None;
        for line in text.lines() {
            let wrong = || format!("not a line of callgrind: {line}");
            if let Some(name) = line.strip_prefix("fn=") {
                function = name.to_owned();
                profile.functions.entry(function.clone()).or_default();
            } else if let Some(name) = line.strip_prefix("cfn=") {
                callee = name.to_owned();
            } else if line.starts_with("calls=") {
                let caller = profile.functions.entry(function.clone()).or_default();
                caller.callees.insert(std::mem::take(&mut callee));
            } else if let Some(costs) = line.strip_prefix("totals:") {
                total = Some(costs.trim().parse().map_err(|_| wrong())?);
            } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
                // The cost of the line itself, or of a call: both count for the caller. A line
                // without a cost has none.
                let cost = line.split_whitespace().nth(1).unwrap_or("0");
                let cost: u64 = cost.parse().map_err(|_| wrong())?;
                let caller = profile.functions.entry(function.clone()).or_default();
                caller.inclusive += cost;
            }
        }
        profile.total = total.ok_or("callgrind has written no totals")?;
        Ok(profile)
    }

    /// The instructions of a function and of what it called, if it was executed.
    pub(crate) fn inclusive(&self, function: &str) -> Option<u64> {
        self.functions.get(function).map(|found| found.inclusive)
    }

    /// Whether a function may call another one, possibly itself, over any number of others.
    pub(crate) fn reaches(&self, from: &str, to: &str) -> bool {
        let callees = |name: &str| self.functions.get(name).map(|found| &found.callees);
        let mut seen = BTreeSet::new();
        let mut open: Vec<&str> = callees(from).into_iter().flatten().map(|s| &**s).collect();
        while let Some(name) = open.pop() {
            if name == to {
                return true;
            }
            if seen.insert(name) {
                open.extend(callees(name).into_iter().flatten().map(|s| &**s));
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As callgrind writes it: a function may come in several parts, and lines of other files
    /// that were inlined belong to it too.
    const OUTPUT: &str = "\
# callgrind format
version: 1
positions: line
events: Ir
summary: 1000

ob=/usr/bin/raddle
fl=main.rs
fn=main
16 5
cfi=search.rs
cfn=search
calls=1 50
+3 900
fi=vec.rs
40 5
fe=main.rs
-2 20

fl=search.rs
fn=search
50 100
cfn=step
calls=7 80
* 700
cfn=free
calls=7 1
* 40

fl=step.rs
fn=step
80 650
cfn=free
calls=2 1
+1 10

fl=search.rs
fn=search
60 60

fl=step.rs
fn=step
90 40

fl=???
fn=free
1 50

totals: 1000
";

    #[test]
    fn costs_of_all_parts_and_calls_are_added() {
        let profile = Profile::parse(OUTPUT).unwrap();
        assert_eq!(profile.total, 1000);
        assert_eq!(profile.inclusive("main"), Some(930));
        assert_eq!(profile.inclusive("search"), Some(900));
        assert_eq!(profile.inclusive("step"), Some(700));
        assert_eq!(profile.inclusive("steps"), None);
    }

    #[test]
    fn calls_are_followed() {
        let profile = Profile::parse(OUTPUT).unwrap();
        assert!(profile.reaches("main", "free"));
        assert!(!profile.reaches("free", "main"));
        assert!(!profile.reaches("step", "step"));
    }

    #[test]
    fn a_file_that_was_cut_is_an_error() {
        let (cut, _) = OUTPUT.split_once("totals").unwrap();
        assert!(Profile::parse(cut).is_err());
        assert!(Profile::parse(&OUTPUT.replace("16 5", "16 five")).is_err());
    }
}
