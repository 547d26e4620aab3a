//! Where Raddle spends its time, by `perf`.

use std::path::Path;
use std::process::Command;

use crate::model::Files;
use crate::{Result, cpu};

/// What the samples are sorted into: the first part of which some word is in the name of
/// the function or of the file it was inlined from.
const PARTS: &[(&str, &[&str])] = &[
    ("kernel (page faults)", &["[k]"]),
    ("hashing", &["rapid"]),
    ("allocation", &["malloc", "_int_free", "cfree", "realloc"]),
    ("canonical form", &["canonical"]),
    (
        "copying states and registers",
        &[
            "memmove",
            "memcpy",
            "memset",
            "clone_from",
            "of_thread",
            "write_back",
            "::state::",
        ],
    ),
    ("encoding", &["System>::encode", "encode::write", "Extend"]),
    ("decoding", &["System>::decode", "encode::Reader"]),
    (
        "growing the table",
        &["Lines<W>::put", "Lines<W>::grow", "::take_line"],
    ),
    ("looking up and storing states", &["raddle_store", "memcmp"]),
    (
        "interpreter",
        &[
            "::execute::",
            "System>::step",
            "constants::",
            "raddle_machine",
        ],
    ),
    ("search", &["raddle_explore"]),
];

const OTHER: &str = "everything else";

/// Profiles Raddle on a model and prints the shares of its parts.
pub(crate) fn profile(raddle: &Path, files: &Files) -> Result<()> {
    let data = files.directory.join("perf.data");
    let recorded = cpu::run(
        Command::new("perf")
            .args(["record", "--quiet", "--freq", "4000", "--output"])
            .arg(&data)
            .arg(raddle)
            .args(["check", "--all", "--quiet", "--format", "json"])
            .arg(&files.rad),
    );
    recorded.map_err(|e| format!("{e}\nperf is needed for a profile (Debian: linux-perf)"))?;
    let report = cpu::run(
        Command::new("perf")
            .args(["report", "--stdio", "--no-inline", "--sort", "sym,srcfile"])
            .args(["--field-separator", "|", "--input"])
            .arg(&data),
    )?;
    for (part, percent) in shares(&report.output) {
        println!("{percent:6.1} %  {part}");
    }
    println!(
        "\nfor more: perf report --no-inline --input {}",
        data.display()
    );
    Ok(())
}

/// The parts and their percentages, largest first.
fn shares(report: &str) -> Vec<(&'static str, f64)> {
    let mut shares: Vec<(&'static str, f64)> = Vec::new();
    for line in report.lines().filter(|line| !line.starts_with('#')) {
        let Some((percent, place)) = line.split_once('|') else {
            continue;
        };
        let Ok(percent) = percent.trim().trim_end_matches('%').parse::<f64>() else {
            continue;
        };
        let part = part_of(place);
        match shares.iter_mut().find(|(known, _)| *known == part) {
            Some((_, sum)) => *sum += percent,
            None => shares.push((part, percent)),
        }
    }
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares
}

fn part_of(place: &str) -> &'static str {
    let is_in = |words: &[&str]| words.iter().any(|word| place.contains(word));
    let part = PARTS.iter().find(|(_, words)| is_in(words));
    part.map_or(OTHER, |(part, _)| part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_sorted_into_parts() {
        let report = "\
# Overhead|Symbol|Source File
    21.00%|[.] <raddle_store::flat::FlatWorker<F> as raddle_store::Worker>::flush|flat.rs
     1.50%|[.] raddle_store::hash::hash_words|rapid_const.rs
    11.25%|[.] raddle_machine::execute::Execution::execute|mod.rs
     3.00%|[.] <raddle_machine::machine::Machine as raddle_explore::system::System>::encode|mod.rs
     6.75%|[.] raddle_machine::execute::Execution::run|mod.rs
     0.50%|[.] main|main.c
";
        let expected = [
            ("looking up and storing states", 21.0),
            ("interpreter", 18.0),
            ("encoding", 3.0),
            ("hashing", 1.5),
            (OTHER, 0.5),
        ];
        assert_eq!(shares(report), expected);
    }
}
