//! What is wrong with a system, as an explorer sees it.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use raddle_explore::{Place, Property, PropertySet, System, Violation};
use raddle_outcome::{Executions, Outcome};
use raddle_schedule::Explorer;

use super::findings::{Findings, lock};
use super::names::Names;
use super::worker::{Examiner, Worker};
use super::{MAX_LENGTH, Stepwise};

/// What is looked for, and when to give up.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The properties to check. Races are not looked for.
    pub properties: PropertySet,
    /// Whether to go on after the first violation, for every distinct one.
    pub all: bool,
    /// How many steps an execution may have.
    pub max_length: usize,
    /// How many executions to run at most.
    pub max_executions: Option<u64>,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// Gives up soon after this has become true.
    pub cancel: Option<Arc<AtomicBool>>,
    /// How many workers there are, each on a thread of the operating system. Limits are for all of them together.
    pub workers: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            properties: PropertySet::default(),
            all: false,
            max_length: MAX_LENGTH,
            max_executions: None,
            deadline: None,
            cancel: None,
            workers: 1,
        }
    }
}

/// What an exploration of these properties found out.
///
/// The violations are distinct, and in the order in which they were met. Who meets which first differs from time to time
/// if there are several workers.
pub type Examination = Outcome<PropertySet, Place, Violation, Executions>;

/// How an exploration is coming along.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Executions that were run to their end.
    pub executions: u64,
    /// How many classes they are of.
    pub classes: u64,
    /// The steps of the longest one.
    pub longest: u64,
    /// The greatest bound on preemptions within which all was run, and others were left.
    pub bound: Option<u32>,
    /// Which part of what is known to be run was run, if that is known: mostly too much, since more may be found.
    pub part_done: Option<f64>,
    /// The time since the start.
    pub elapsed: Duration,
}

/// Runs the executions of a system that the explorer wants to see.
pub fn examine<S: System + Clone + Send>(
    system: &mut S,
    explorer: &mut impl Explorer,
    settings: &Settings,
) -> Examination {
    examine_with_progress(system, explorer, settings, &mut |_| {})
}

/// The same, and says now and then how it is coming along.
pub fn examine_with_progress<S: System + Clone + Send>(
    system: &mut S,
    explorer: &mut impl Explorer,
    settings: &Settings,
    on_progress: &mut (dyn FnMut(&Progress) + Send),
) -> Examination {
    let invariants = settings.properties.contains(Property::Invariant);
    let names = Names::default();
    let findings = Mutex::new(Findings::new(system, settings, on_progress));
    let worker = |_| {
        let system = lock(&findings).system.clone();
        let names = names.clone();
        let execution = Stepwise::with_names(system, names, settings.max_length, invariants);
        let examiner = Examiner::new(&findings, &execution);
        (Worker::new(&findings, execution), examiner)
    };
    let explored = if settings.workers > 1 {
        explorer.explore_in_parallel(settings.workers, worker)
    } else {
        let (mut execution, mut examiner) = worker(0);
        explorer.explore(&mut execution, &mut examiner)
    };
    let coverage = explored.expect("a system does the same when it is run again");
    let findings = findings
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    findings.into_examination(coverage)
}
