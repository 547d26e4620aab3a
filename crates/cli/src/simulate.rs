//! `raddle run`: one random schedule.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use raddle_machine::Machine;
use raddle_machine::narrate::{Narrator, Told};
use raddle_outcome::Verdict;
use raddle_report::json::{self, CheckReport, ViolationKind};
use raddle_report::lanes;
use raddle_report::story::{Ending, Story};

use crate::args::Run;
use crate::load::{Loaded, load};
use crate::tell;
use crate::terminal::{Terminal, print};
use crate::{Exit, orderings};

/// How an execution came to its end.
enum End {
    Violation(ViolationKind, Ending),
    /// All threads have ended, an assumption cut it, there were enough steps, or a state was
    /// too large.
    Quiet(Cow<'static, str>),
}

pub(crate) fn simulate(args: &Run) -> Exit {
    let terminal = Terminal::new(args.output, args.drawing);
    let Loaded {
        program,
        diagnostics,
    } = match load(&args.file, terminal, None) {
        Ok(loaded) => loaded,
        Err(not_loaded) => {
            if terminal.is_json() {
                let report = CheckReport {
                    verdict: Verdict::Error,
                    reason: Some(not_loaded.reason),
                    file: args.file.display().to_string(),
                    diagnostics: not_loaded.diagnostics,
                    ..CheckReport::default()
                };
                print(&report.to_json());
            }
            return Exit::ERROR;
        }
    };
    orderings::warn(&program, terminal);
    let seed = args.seed.unwrap_or_else(clock_seed);
    let machine = Machine::new(Arc::clone(&program), args.step.granularity.granularity());
    let mut narrator = Narrator::new(machine);
    let mut random = Random(seed);
    let mut story = Story::default();
    let end = loop {
        if let Some(end) = ended(&mut narrator) {
            break end;
        }
        if story.steps.len() as u64 == args.steps {
            break End::Quiet("stopped by the limit on steps (see --steps)".into());
        }
        let moves = narrator.possible();
        let step = moves[random.below(moves.len())];
        match narrator.step(step) {
            Told::Moved(event) => story.steps.push(event),
            Told::Failed(event, fault) => {
                let ending = tell::failure(&narrator, event.thread, &fault);
                story.steps.push(event);
                break match tell::failure_kind(&fault) {
                    Some(kind) => End::Violation(kind, ending),
                    None => End::Quiet(format!("stopped: {}", fault.message).into()),
                };
            }
            Told::Impossible => unreachable!("only possible moves are taken"),
        }
    };
    story.threads = narrator.threads().to_vec();
    let (kind, outcome) = match end {
        End::Violation(kind, ending) => {
            story.ending = ending;
            (Some(kind), "violation".into())
        }
        End::Quiet(outcome) => (None, outcome),
    };
    if terminal.is_json() {
        let report = CheckReport {
            verdict: match kind {
                Some(_) => Verdict::Violation,
                None => Verdict::Inconclusive,
            },
            reason: kind
                .is_none()
                .then(|| format!("one schedule, seed {seed}: {outcome}")),
            file: program.source().name.clone(),
            search: format!("random, seed {seed}"),
            granularity: args.step.granularity.name().into(),
            depth: story.steps.len() as u64,
            violations: kind
                .iter()
                .map(|kind| json::Violation::new(*kind, &story))
                .collect(),
            diagnostics,
            ..CheckReport::default()
        };
        print(&report.to_json());
    } else {
        print(&lanes::render(&story, &terminal.lanes()));
        if !terminal.is_quiet() {
            let steps = story.steps.len();
            print(&format!("\nseed {seed}: {steps} steps, {outcome}\n"));
        }
    }
    if kind.is_some() {
        Exit::of(Verdict::Violation)
    } else {
        Exit::SUCCESS
    }
}

/// Whether the execution is over, or something is wrong with the state it is in.
fn ended(narrator: &mut Narrator) -> Option<End> {
    if let Some((kind, ending)) = tell::failed_starts(narrator).into_iter().next() {
        return Some(End::Violation(kind, ending));
    }
    if let Some(ending) = tell::broken_invariant(narrator) {
        return Some(End::Violation(ViolationKind::Invariant, ending));
    }
    if !narrator.possible().is_empty() {
        return None;
    }
    if let Some(ending) = tell::deadlock(narrator) {
        return Some(End::Violation(ViolationKind::Deadlock, ending));
    }
    let end = match narrator.is_cut() {
        true => "cut by an `assume`",
        false => "all threads have ended",
    };
    Some(End::Quiet(end.into()))
}

fn clock_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_nanos() as u64 % 1_000_000)
}

/// SplitMix64: small, and good enough to pick threads.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^= word >> 31;
        (word % bound as u64) as usize
    }
}
