//! What a campaign came to, as Markdown tables.

use std::fmt::Write;

use raddle_difftest::Contender;
use raddle_difftest::campaign::{Report, Tally};
use raddle_explore::{Property, PropertySet};

/// A row of a table.
fn row(text: &mut String, cells: &[String]) {
    writeln!(text, "| {} |", cells.join(" | ")).expect("writing to a string");
}

fn header(text: &mut String, cells: &[&str]) {
    writeln!(text, "| {} |", cells.join(" | ")).expect("writing to a string");
    writeln!(text, "|{}", "---|".repeat(cells.len())).expect("writing to a string");
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// What the programs of each profile are like.
pub(crate) fn programs(report: &Report) -> String {
    let mut text = String::new();
    let properties = PropertySet::SAFETY.iter().map(Property::name);
    let mut titles = vec!["profile", "programs", "given up", "mean states", "correct"];
    titles.extend(properties);
    titles.push("vacuous");
    header(&mut text, &titles);
    let line = |text: &mut String, name: &str, tally: &Tally| {
        let examined = tally.programs - tally.given_up;
        let mut cells = vec![
            name.to_owned(),
            tally.programs.to_string(),
            percent(tally.given_up, tally.programs),
            (tally.full_states / examined.max(1)).to_string(),
            percent(tally.correct, examined),
        ];
        let violated = |property| tally.violated.get(&property).copied().unwrap_or_default();
        let shares = PropertySet::SAFETY.iter();
        cells.extend(shares.map(|property| percent(violated(property), examined)));
        cells.push(percent(tally.vacuous, examined));
        row(text, &cells);
    };
    let mut all = Tally::default();
    for (name, tally) in &report.tallies {
        line(&mut text, name, tally);
        all.programs += tally.programs;
        all.given_up += tally.given_up;
        all.full_states += tally.full_states;
        all.correct += tally.correct;
        all.vacuous += tally.vacuous;
        for (&property, count) in &tally.violated {
            *all.violated.entry(property).or_default() += count;
        }
    }
    line(&mut text, "**all**", &all);
    text
}

/// What each reduction did with the programs of each profile.
pub(crate) fn reductions(report: &Report, contenders: &[Contender]) -> String {
    let mut text = String::new();
    header(
        &mut text,
        &[
            "profile",
            "reduction",
            "programs",
            "states of full",
            "states",
            "of full",
            "missed race pairs",
            "disagreements",
        ],
    );
    for (name, tally) in &report.tallies {
        for (contender, sums) in contenders.iter().zip(&tally.contenders) {
            row(
                &mut text,
                &[
                    (*name).to_owned(),
                    contender.name.clone(),
                    (tally.programs - tally.given_up).to_string(),
                    tally.full_states.to_string(),
                    sums.states.to_string(),
                    percent(sums.states, tally.full_states),
                    sums.missed_race_pairs.to_string(),
                    sums.disagreements.to_string(),
                ],
            );
        }
    }
    text
}

/// Which missing repairs were noticed.
#[cfg(feature = "mutations")]
pub(crate) fn mutants(mutants: &[raddle_difftest::mutations::Mutant]) -> String {
    let mut text = String::new();
    header(
        &mut text,
        &[
            "without",
            "reduction",
            "profile",
            "programs",
            "lines of the witness",
        ],
    );
    for mutant in mutants {
        let mut cells = vec![format!("{:?}", mutant.repair), mutant.reduction.clone()];
        match &mutant.noticed {
            Some(noticed) => cells.extend([
                noticed.profile.name.to_owned(),
                noticed.programs.to_string(),
                noticed.witness.lines().to_string(),
            ]),
            None => cells.extend(["**not noticed**", "", ""].map(str::to_owned)),
        }
        row(&mut text, &cells);
    }
    text
}
