//! Holds what Raddle says of a program against what the interpreter says.
//!
//! - An outcome that Raddle sees is one that the interpreter has: otherwise it is a false alarm.
//! - An exploration that no limit ended has seen every outcome, and every way to be stuck. If it has not, it matters whether it
//!   said that it is complete.
//! - An assertion that one of the outcomes breaks fails.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use raddle::{Assumed, Checker, FailureKind, Options};

use crate::explore::{How, explore};
use crate::interpret::{self, Expected};
use crate::real::{self, Log, SharedLog};
use crate::syntax::{Outcome, Program};

/// Who is compared with the interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Explorer(How),
    /// `Checker`, as users have it, with so many workers.
    Checker(usize),
    /// The same, with an assertion that one of the outcomes breaks.
    Asserting(usize),
}

pub(crate) const EVERYBODY: [Who; 8] = [
    Who::Explorer(How::Optimal),
    Who::Explorer(How::Iterative),
    Who::Explorer(How::Bounded(60)),
    Who::Explorer(How::Dfs),
    Who::Checker(1),
    Who::Checker(2),
    Who::Asserting(1),
    Who::Asserting(2),
];

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// Complete, but without some of the outcomes.
    Lost,
    /// Complete, but without some of the ways to be stuck.
    LostStuck,
    /// Without some of the outcomes, or of the ways to be stuck, and it does not say that it is complete; but no limit ended it.
    Missed,
    /// An outcome that the program does not have.
    Invented,
    /// Stuck, where the program is not.
    InventedStuck,
    /// An execution that is said to have no end, where there is always one.
    NoEnd,
    /// Any other failure.
    Fails,
    /// A panic of the explorer.
    Panics,
}

#[derive(Clone, Debug)]
pub(crate) struct Difference {
    pub(crate) who: Who,
    pub(crate) kind: Kind,
    pub(crate) text: String,
}

/// What was compared.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Compared {
    pub(crate) explorations: u64,
    pub(crate) complete: u64,
    pub(crate) executions: u64,
    pub(crate) outcomes: u64,
    pub(crate) stuck: u64,
    pub(crate) states: u64,
    /// Explorations that a limit ended.
    pub(crate) cut: u64,
}

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// The most executions of one exploration.
    pub(crate) executions: u64,
    /// The most states of the interpreter.
    pub(crate) states: usize,
}

fn options(program: &Program) -> Options {
    let mut options = Options::default();
    options.spurious_wakeups = program.spurious;
    options.leaks = false;
    options.spin_limit = SPIN_LIMIT;
    options.max_steps = MAX_STEPS;
    options
}

/// More than any loop of a generated program makes before it gives up.
const SPIN_LIMIT: u32 = 12;
/// More than any execution needs. Two scans that disturb each other sixteen times make more than 500 steps.
const MAX_STEPS: usize = 800;

/// What one of them saw.
struct Saw {
    outcomes: BTreeSet<Outcome>,
    /// In executions that were ended because they have too many steps: who had come to the end of its statements.
    endless: BTreeSet<Outcome>,
    executions: u64,
    claims_complete: bool,
    cut: bool,
    /// Whether it stopped at a failure.
    failed: bool,
}

/// Compares; `None` if the program is too large for the interpreter.
pub(crate) fn compare(
    program: &Program,
    everybody: &[Who],
    effort: Effort,
) -> Option<Result<Compared, Difference>> {
    let expected = interpret::outcomes(program, effort.states).ok()?;
    let mut compared = Compared {
        outcomes: expected.outcomes.len() as u64,
        stuck: u64::from(expected.has_stuck()),
        states: expected.states as u64,
        ..Compared::default()
    };
    for &who in everybody {
        let saw = catch_unwind(AssertUnwindSafe(|| look(program, who, &expected, effort)));
        let difference = |(kind, text)| Difference { who, kind, text };
        let saw = saw.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.into()));
            Err((Kind::Panics, text.unwrap_or_default()))
        });
        let one = saw.and_then(|saw| judge(&saw, &expected));
        let one = one.map_err(|(kind, text)| match (kind, who) {
            (Kind::Missed, Who::Explorer(how)) if claims_complete(program, how, effort) => {
                (Kind::Lost, text)
            }
            _ => (kind, text),
        });
        // What loops may miss that only loops disturb is told.
        let one = match one {
            Err((Kind::Missed, _)) if is_disturbed(program, who, effort) => Ok(Compared {
                cut: 1,
                ..Compared::default()
            }),
            one => one,
        };
        match one {
            Err(wrong) => return Some(Err(difference(wrong))),
            Ok(one) => {
                compared.explorations += 1;
                compared.executions += one.executions;
                compared.complete += one.complete;
                compared.cut += one.cut;
                // Others would not come further, in more time.
                if one.cut > 0 && who == Who::Explorer(How::Optimal) {
                    break;
                }
            }
        }
    }
    Some(Ok(compared))
}

type Wrong = (Kind, String);

fn look(program: &Program, who: Who, expected: &Expected, effort: Effort) -> Result<Saw, Wrong> {
    match who {
        Who::Explorer(how) => explored(program, how, effort),
        Who::Checker(workers) => checked(program, workers, None, expected, effort),
        Who::Asserting(workers) => {
            // The last one: mostly one that needs the most to happen.
            let broken = expected.outcomes.iter().rfind(|outcome| !outcome.stuck);
            let Some(broken) = broken else {
                return checked(program, workers, None, expected, effort);
            };
            let saw = checked(program, workers, Some(broken.clone()), expected, effort)?;
            let text = || format!("not reported: {broken:?}");
            match saw {
                _ if saw.cut || saw.failed => Ok(saw),
                _ if saw.claims_complete => Err((Kind::Lost, text())),
                _ => Err((Kind::Missed, text())),
            }
        }
    }
}

fn judge(saw: &Saw, expected: &Expected) -> Result<Compared, Wrong> {
    let invented = first(saw.outcomes.difference(&expected.outcomes));
    if let Some((outcome, text)) = invented {
        let kind = if outcome.stuck {
            Kind::InventedStuck
        } else {
            Kind::Invented
        };
        return Err((kind, text));
    }
    let could_end = |outcome: &&Outcome| !expected.is_doomed(&outcome.threads);
    if let Some((_, text)) = first(saw.endless.iter().filter(could_end)) {
        return Err((Kind::NoEnd, text));
    }
    let lost = first(expected.outcomes.difference(&saw.outcomes).filter(|lost| {
        // One that goes on for ever in many ways is seen in some of them.
        !lost.stuck || saw.endless.is_empty()
    }));
    if let (Some((outcome, text)), false) = (lost, saw.cut || saw.failed) {
        let kind = match (saw.claims_complete, outcome.stuck) {
            (true, false) => Kind::Lost,
            (true, true) => Kind::LostStuck,
            (false, _) => Kind::Missed,
        };
        return Err((kind, text));
    }
    Ok(Compared {
        executions: saw.executions,
        complete: u64::from(saw.claims_complete),
        cut: u64::from(saw.cut),
        ..Compared::default()
    })
}

/// The first of them, and a text that says how many there are.
fn first<'a, T: Debug + 'a>(mut all: impl Iterator<Item = &'a T>) -> Option<(&'a T, String)> {
    let first = all.next()?;
    let others = all.count();
    Some((first, format!("{first:?}, and {others} others")))
}

fn explored(program: &Program, how: How, effort: Effort) -> Result<Saw, Wrong> {
    let latest: Arc<Mutex<SharedLog>> = Arc::default();
    let body = {
        let (latest, program) = (latest.clone(), program.clone());
        move || {
            let log = SharedLog::default();
            *latest.lock().unwrap() = log.clone();
            real::run(&program, &log);
        }
    };
    /// What an execution came to.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    enum End {
        Seen(Outcome),
        Endless(Outcome),
        Failed(String),
    }
    let options = options(program);
    let explored = explore(how, &options, effort.executions, body, |failure| {
        let log: Log = latest.lock().unwrap().lock().unwrap().clone();
        match failure {
            None => log.ended().map(End::Seen),
            Some(failure) => Some(match failure.kind {
                FailureKind::Deadlock | FailureKind::LiveLock => End::Seen(log.stuck()),
                FailureKind::TooManySteps => End::Endless(log.stuck()),
                _ => End::Failed(format!("{failure:?}")),
            }),
        }
    });
    let mut saw = Saw {
        outcomes: BTreeSet::new(),
        endless: BTreeSet::new(),
        executions: explored.executions,
        claims_complete: false,
        cut: !explored.complete,
        failed: false,
    };
    for end in explored.outcomes {
        match end {
            End::Seen(outcome) => {
                saw.outcomes.insert(outcome);
            }
            End::Endless(outcome) => {
                saw.endless.insert(outcome);
            }
            End::Failed(text) => return Err((Kind::Fails, text)),
        }
    }
    Ok(saw)
}

/// Whether a check by this explorer would be complete. One that fails is not.
fn claims_complete(program: &Program, how: How, effort: Effort) -> bool {
    let checker = by(checker(program, effort), how);
    let program = program.clone();
    let result = checker.run(move || real::run(&program, &SharedLog::default()));
    result.is_ok_and(|report| report.complete)
}

/// Whether a check says that it may miss something because loops disturb each other.
fn is_disturbed(program: &Program, who: Who, effort: Effort) -> bool {
    let checker = checker(program, effort);
    let checker = match who {
        Who::Explorer(how) => by(checker, how),
        Who::Checker(workers) | Who::Asserting(workers) => checker.workers(workers),
    };
    let program = program.clone();
    let result = checker.run(move || real::run(&program, &SharedLog::default()));
    result.is_ok_and(|report| report.assumptions.find(Assumed::LoopsDisturbed).is_some())
}

fn by(checker: Checker, how: How) -> Checker {
    match how {
        How::Optimal => checker.explorer("optimal"),
        How::Dfs => checker.explorer("dfs"),
        How::Bounded(bound) => checker.explorer("bounded").bound(bound),
        _ => checker.explorer("iterative"),
    }
}

fn checker(program: &Program, effort: Effort) -> Checker {
    // What the loops are compared with is sequentially consistent.
    Checker::new()
        .memory(raddle::Memory::Sc)
        .spurious_wakeups(program.spurious)
        .leaks(false)
        .spin_limit(SPIN_LIMIT)
        .max_steps(MAX_STEPS)
        .max_executions(effort.executions)
}

fn checked(
    program: &Program,
    workers: usize,
    broken: Option<Outcome>,
    expected: &Expected,
    effort: Effort,
) -> Result<Saw, Wrong> {
    let outcomes = Arc::new(Mutex::new(BTreeSet::new()));
    let asserts = broken.is_some();
    let body = {
        let (outcomes, program) = (outcomes.clone(), program.clone());
        move || {
            let log = SharedLog::default();
            real::run(&program, &log);
            let outcome = log.lock().unwrap().ended().expect("it has ended");
            let is_broken = broken.as_ref() == Some(&outcome);
            outcomes.lock().unwrap().insert(outcome);
            assert!(!is_broken, "{BROKEN}");
        }
    };
    let checker = checker(program, effort).workers(workers);
    let result = std::thread::scope(|scope| scope.spawn(|| checker.run(body)).join());
    let result = result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let mut saw = Saw {
        outcomes: std::mem::take(&mut outcomes.lock().unwrap()),
        endless: BTreeSet::new(),
        executions: 0,
        claims_complete: false,
        cut: false,
        failed: false,
    };
    match result {
        Ok(report) => {
            saw.executions = report.executions;
            saw.claims_complete = report.complete;
            saw.cut = report.assumptions.find(Assumed::Executions).is_some();
        }
        Err(failed) => {
            saw.executions = failed.executions;
            saw.failed = true;
            match failed.failure.kind {
                FailureKind::Panic if asserts && failed.failure.message.contains(BROKEN) => {}
                // It does not say who has ended; any way to be stuck will do.
                kind @ (FailureKind::Deadlock
                | FailureKind::LiveLock
                | FailureKind::TooManySteps) => {
                    let kind = match kind {
                        FailureKind::TooManySteps => Kind::NoEnd,
                        _ => Kind::InventedStuck,
                    };
                    if !expected.has_stuck() {
                        return Err((kind, failed.failure.message));
                    }
                }
                _ => return Err((Kind::Fails, format!("{:?}", failed.failure))),
            }
        }
    }
    Ok(saw)
}

const BROKEN: &str = "the outcome that must not be";
