//! `raddle explain`

use std::sync::Arc;
use std::time::{Duration, Instant};

use raddle_explore::{Property, PropertySet, Search};
use raddle_machine::explain::explain as explain_program;
use raddle_outcome::Verdict;
use raddle_report::explanation::{Options, render};
use raddle_report::json::CheckReport;

use crate::args::Explain;
use crate::load::{Loaded, load};
use crate::progress::ProgressLine;
use crate::terminal::{Terminal, print};
use crate::{Exit, interrupt, memory, orderings};

/// What the search looks at: whether the program is correct is not the question here, but
/// invariants and disciplines have a say in what protects what.
fn properties() -> PropertySet {
    PropertySet::SAFETY
        .without(Property::Deadlock)
        .without(Property::Race)
}

pub(crate) fn explain(args: &Explain) -> Exit {
    let started = Instant::now();
    let terminal = Terminal::new(args.output, args.drawing);
    let program = match load(&args.file, terminal, args.timeout) {
        Ok(Loaded { program, .. }) => program,
        Err(not_loaded) => {
            let exit = Exit::of(not_loaded.verdict());
            if terminal.is_json() {
                let report = CheckReport {
                    verdict: not_loaded.verdict(),
                    reason: Some(not_loaded.reason),
                    file: args.file.display().to_string(),
                    diagnostics: not_loaded.diagnostics,
                    ..CheckReport::default()
                };
                print(&report.to_json());
            }
            return exit;
        }
    };
    orderings::warn(&program, terminal);
    let mut line = ProgressLine::about("transactions", terminal);
    let mut search = Search::new()
        .properties(properties())
        .collect_all()
        .cancel(interrupt::flag());
    if let Some(states) = args.limits.max_states {
        search = search.max_states(states);
    }
    if let Some(memory) = args.limits.max_memory.or_else(memory::half_of_all) {
        search = search.max_memory(memory);
    }
    if let Some(time) = args.timeout {
        // The time is for compiling and searching together.
        let left = time.saturating_sub(started.elapsed());
        search = search.timeout(left.max(Duration::from_nanos(1)));
    }
    if let Some(line) = &mut line {
        search = search.on_progress(|progress| line.show(progress));
    }
    let granularity = args.step.granularity.granularity();
    let (explanation, outcome) = explain_program(&Arc::clone(&program), granularity, search);
    drop(line);
    if terminal.is_json() {
        print(&explanation.to_json());
    } else {
        let options = Options {
            colour: terminal.lanes().colour,
            ascii: args.drawing.ascii,
        };
        print(&render(&explanation, &options));
    }
    match outcome.explored.cut() {
        None => Exit::SUCCESS,
        Some(_) => Exit::of(Verdict::Inconclusive),
    }
}
