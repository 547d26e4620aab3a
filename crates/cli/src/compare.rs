//! `raddle compare`

mod agreement;
mod print;
mod rows;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use raddle_outcome::Verdict;
use raddle_report::json::{CheckReport, Comparison};
use raddle_report::style::Role;

use crate::args::{Compare, Drawing, Format, Output, TableFormat};
use crate::load::{Loaded, load};
use crate::terminal::{Terminal, complain, print};
use crate::{Exit, interrupt, orderings, reduction};
use print::{CSV_HEADER, Compared};

pub(crate) fn compare(args: &Compare) -> Exit {
    let terminal = terminal(args);
    let names = match names(args) {
        Ok(names) => names,
        Err(problem) => {
            terminal.error(&problem);
            if terminal.is_json() {
                let report = CheckReport {
                    reason: Some(problem),
                    ..CheckReport::default()
                };
                print(&report.to_json());
            }
            return Exit::ERROR;
        }
    };
    let cancel = interrupt::flag();
    let cancelled = || cancel.load(Ordering::SeqCst);
    if args.format == TableFormat::Csv {
        print(CSV_HEADER);
    }
    let mut all = Vec::new();
    let mut exit = Exit::SUCCESS;
    for (index, path) in args.files.iter().enumerate() {
        if cancelled() {
            break;
        }
        let compared = compare_file(path, &names, args, terminal, &cancel);
        match args.format {
            TableFormat::Text => print_text(&compared, index, args, terminal),
            TableFormat::Csv => print(&compared.csv()),
            TableFormat::Json => {}
        }
        if compared.error.is_some() {
            exit = worse(exit, Exit::ERROR);
        }
        for complaint in compared.complaints() {
            complain(&format!("{complaint}\n"));
            exit = worse(exit, Exit::DISAGREEMENT);
        }
        all.push(compared);
    }
    if args.format == TableFormat::Json {
        let files = all.iter().map(Compared::to_json).collect();
        print(&Comparison::new(files).to_json());
    }
    if cancelled() {
        complain("interrupted: these are the rows so far\n");
        exit = worse(exit, Exit::of(Verdict::Inconclusive));
    }
    exit
}

/// An error in Raddle matters more than one in a file, and that more than an interruption.
fn worse(one: Exit, other: Exit) -> Exit {
    let order = [
        Exit::DISAGREEMENT,
        Exit::ERROR,
        Exit::of(Verdict::Inconclusive),
    ];
    let found = order.into_iter().find(|exit| [one, other].contains(exit));
    found.unwrap_or(Exit::SUCCESS)
}

fn terminal(args: &Compare) -> Terminal {
    let output = Output {
        format: match args.format {
            TableFormat::Json => Format::Json,
            TableFormat::Text | TableFormat::Csv => Format::Text,
        },
        quiet: args.quiet,
        colour: args.colour,
    };
    let drawing = Drawing {
        ascii: args.ascii,
        width: 80,
    };
    Terminal::new(output, drawing)
}

/// The reductions to compare: those that were asked for, or all.
fn names(args: &Compare) -> Result<Vec<String>, String> {
    let mut known = reduction::names();
    known.push(reduction::UNSOUND);
    if args.reduction.is_empty() {
        return Ok(known.into_iter().map(str::to_owned).collect());
    }
    match (args.reduction.iter()).find(|name| reduction::by_name(name).is_none()) {
        None => Ok(args.reduction.clone()),
        Some(unknown) => Err(format!(
            "there is no reduction `{unknown}` to compare; there are: {}",
            known.join(", ")
        )),
    }
}

fn compare_file(
    path: &Path,
    names: &[String],
    args: &Compare,
    terminal: Terminal,
    cancel: &Arc<AtomicBool>,
) -> Compared {
    let mut compared = Compared {
        file: path.display().to_string(),
        error: None,
        rows: Vec::new(),
        diagnostics: Vec::new(),
    };
    let program = match load(path, terminal, None) {
        Ok(Loaded {
            program,
            diagnostics,
        }) => {
            compared.diagnostics = diagnostics;
            program
        }
        Err(not_loaded) => {
            compared.error = Some(not_loaded.reason);
            compared.diagnostics = not_loaded.diagnostics;
            return compared;
        }
    };
    compared.file.clone_from(&program.source().name);
    orderings::warn(&program, terminal);
    for name in names {
        if cancel.load(Ordering::SeqCst) {
            break;
        }
        let row = rows::run(name, args, &program, terminal, cancel);
        compared.rows.push(row);
    }
    compared
}

fn print_text(compared: &Compared, index: usize, args: &Compare, terminal: Terminal) {
    if compared.error.is_some() {
        return;
    }
    let mut text = String::new();
    if args.files.len() > 1 {
        let gap = if index > 0 { "\n" } else { "" };
        let name = terminal.palette().paint(Role::Source, &compared.file);
        text += &format!("{gap}{name}\n");
    }
    print(&(text + &compared.table(args.ascii)));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use raddle_explore::{Property, PropertySet, Statistics};
    use raddle_outcome::{Explored, Extent, LeftOut};

    use super::agreement::{Answers, Finding, Question};
    use super::rows::Row;
    use super::*;

    fn row(reduction: &'static str, findings: &[Finding]) -> Row {
        let mut explored = Explored::default();
        explored.covered(LeftOut::default().covering(Extent::All));
        Row {
            reduction,
            sound: true,
            answers: Answers {
                preserves: PropertySet::ALL,
                goals: true,
                excludes_deadlocks: false,
                complete: true,
                findings: findings.iter().copied().collect::<BTreeSet<_>>(),
            },
            asked: Vec::new(),
            not_checked: PropertySet::NONE,
            deadlock_excluded: None,
            explored,
            statistics: Statistics::default(),
            transitions: 0,
        }
    }

    #[test]
    fn a_disagreement_is_told_with_both_rows() {
        let finding = Finding {
            question: Question::Property(Property::Assertion),
            at: Some((17, 9)),
        };
        let compared = Compared {
            file: "bank.rad".into(),
            error: None,
            rows: vec![row("full", &[finding]), row("other", &[])],
            diagnostics: Vec::new(),
        };
        assert_eq!(
            compared.complaints(),
            [
                "internal error: the reductions do not agree about assertion in bank.rad:17:9\n  \
                 full finds it: assertion @ 17\n  \
                 other does not: verified\n  \
                 please report: this program, and both lines"
            ]
        );
        let json = compared.to_json();
        assert_eq!(json.disagreements[0].found_by, "full");
        assert_eq!(json.disagreements[0].missed_by, "other");
    }

    #[test]
    fn the_worst_exit_wins() {
        let worst = |exits: &[Exit]| exits.iter().copied().fold(Exit::SUCCESS, worse);
        assert_eq!(worst(&[]), Exit::SUCCESS);
        assert_eq!(
            worst(&[Exit::of(Verdict::Inconclusive), Exit::ERROR]),
            Exit::ERROR
        );
        let all = [
            Exit::ERROR,
            Exit::DISAGREEMENT,
            Exit::of(Verdict::Inconclusive),
        ];
        assert_eq!(worst(&all), Exit::DISAGREEMENT);
    }
}
