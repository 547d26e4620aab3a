//! [`check`] and [`Checker`].

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use raddle_outcome::{Assumptions, Kind};
use raddle_report::graph::Format;
use raddle_report::json::CheckReport;

use crate::explore::{self, Checked, Finding};
use crate::options::{Memory, Options};
use crate::rt::{Backend, Failure, Place, Program, Stepping, here};
use crate::{print, report_file};

/// Runs a closure under every schedule that matters.
///
/// # Panics
///
/// If one of the executions fails: it panics, its threads wait for ever, it has a data race, it leaks.
/// The message tells the execution step by step.
///
/// ```should_panic
/// use raddle::sync::{Arc, Mutex};
///
/// raddle::check(|| {
///     let (a, b) = (Arc::new(Mutex::new(1)), Arc::new(Mutex::new(2)));
///     let (a2, b2) = (a.clone(), b.clone());
///     let child = raddle::thread::spawn(move || *a2.lock().unwrap() + *b2.lock().unwrap());
///     let sum = *b.lock().unwrap() + *a.lock().unwrap();
///     assert_eq!(child.join().unwrap(), sum);
/// });
/// ```
#[track_caller]
pub fn check<F>(body: F)
where
    F: Fn() + Send + Sync + 'static,
{
    Checker::new().check(body);
}

/// Sets up a check.
///
/// ```
/// let report = raddle::Checker::new().max_executions(1000).check(|| {
///     raddle::thread::spawn(|| ()).join().unwrap();
/// });
/// assert!(report.complete);
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Checker {
    options: Options,
}

/// What came of a check that found nothing wrong.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// How many executions were made. It is never 0: a check in which no execution came to its end has checked nothing, and does not pass.
    pub executions: u64,
    /// Whether the code has no execution that could show anything else: every schedule that matters was run, and
    /// the [assumptions](Self::assumptions) take nothing away.
    pub complete: bool,
    /// Whether every schedule that matters was run, but perhaps not everything that a real machine does: an ordering weaker than
    /// sequential consistency, one more spurious wake-up, one more iteration of a loop that polls. The assumptions say what.
    pub exhausted: bool,
    /// All schedules with at most this many preemptions were covered, if not all were.
    pub bound: Option<u32>,
    /// How many of the executions do not count, because what they [assume](crate::assume) does not hold. If that are
    /// all, nothing was checked, and the check is not complete.
    pub cut: u64,
    /// How many happens-before classes the executions belong to, if
    /// [`count_classes`](Checker::count_classes) asks for it.
    pub classes: Option<u64>,
    /// What was left out, cut, bounded or guessed, and where in the code.
    pub assumptions: Assumptions<Place>,
}

impl Report {
    /// What may be claimed follows from what was explored, and from nothing else.
    fn new(checked: Checked) -> Self {
        Self {
            executions: checked.statistics.executions,
            complete: checked.explored.is_complete(),
            exhausted: checked.explored.is_exhausted(),
            bound: checked.explored.bound(),
            cut: checked.statistics.ends.cut,
            classes: checked.statistics.classes,
            assumptions: checked.explored.into_assumptions(),
        }
    }

    /// Whether nothing was checked: no execution counts, because what they [assume](crate::assume) holds in none.
    #[must_use]
    pub fn is_vacuous(&self) -> bool {
        self.assumptions.find(Kind::Vacuous).is_some()
    }
}

impl Checker {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only executions with at most this many preemptions.
    pub fn bound(mut self, preemptions: u32) -> Self {
        self.options.bound = Some(preemptions);
        self
    }

    /// Under which memory model. Without it, the check begins with sequential consistency, and goes on under
    /// [RC11](Memory::Rc11) if the code asks for weaker orderings.
    pub fn memory(mut self, memory: Memory) -> Self {
        self.options.memory = Some(memory);
        self
    }

    /// How to explore.
    pub fn explorer(mut self, name: &str) -> Self {
        self.options.explorer = Some(name.into());
        self
    }

    /// No more executions than this. Some turn out to be infeasible while they are run, because a wait that was chosen not to time out never ends. They do not count,
    /// unless there are ten times as many of them, and more than 10,000.
    pub fn max_executions(mut self, most: u64) -> Self {
        self.options.max_executions = Some(most);
        self
    }

    /// No longer than this.
    pub fn max_duration(mut self, longest: Duration) -> Self {
        self.options.max_duration = Some(longest);
        self
    }

    /// An execution with more steps than this fails.
    pub fn max_steps(mut self, most: usize) -> Self {
        self.options.max_steps = most;
        self
    }

    /// For how many iterations without any change each thread may poll in one loop before that is a live-lock. A loop that gives up after that many is
    /// taken for one that waits.
    pub fn spin_limit(mut self, rounds: u32) -> Self {
        self.options.spin_limit = rounds;
        self
    }

    /// What random explorers begin with.
    pub fn seed(mut self, seed: u64) -> Self {
        self.options.seed = Some(seed);
        self
    }

    /// How many ordering constraints the bugs have that the explorer `pct` looks for: 3, unless this says otherwise.
    pub fn depth(mut self, constraints: u32) -> Self {
        self.options.depth = constraints;
        self
    }

    /// How many threads of the operating system explore: one, unless this says otherwise, since tests mostly run beside others
    /// anyway; 0 is as many as the machine has cores. The closure is then called by all of them at the same time.
    pub fn workers(mut self, threads: usize) -> Self {
        self.options.workers = threads;
        self
    }

    /// How many executions are run once more at the end, to see that they do the same: 16, unless this says otherwise.
    ///
    /// What is explored says something about all schedules only if nothing but the schedule decides what the
    /// closure does. An execution that does something else when it is run again fails. What is run again does not count as an
    /// execution.
    pub fn reruns(mut self, executions: u32) -> Self {
        self.options.reruns = executions;
        self
    }

    /// Whether the execution is run once more also if there was only one: it is unless this is `false`. A closure that may
    /// only be run once, because of a static of `std`, can be checked only if it has one execution.
    pub fn reruns_of_one(mut self, on: bool) -> Self {
        self.options.reruns_of_one = on;
        self
    }

    /// Runs one schedule instead of exploring: one from the message of a failure.
    pub fn replay(mut self, schedule: &str) -> Self {
        self.options.replay = Some(schedule.into());
        self
    }

    /// Writes a report to a file, as JSON: what was explored, or what failed, with every step of the execution and the
    /// string that replays it.
    pub fn report_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.options.report_file = Some(path.into());
        self
    }

    /// Draws the graph of the first execution that fails: its events, with arrows for what reads from what and what orders what. The file ends in `.svg`, or in `.dot` for Graphviz.
    pub fn graph_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.options.graph_file = Some(path.into());
        self
    }

    /// Whether to count the happens-before classes that are run. It takes memory for each of them.
    pub fn count_classes(mut self, on: bool) -> Self {
        self.options.count_classes = on;
        self
    }

    /// Whether what can time out does so in some executions. It does unless this is `false`.
    pub fn timeouts(mut self, on: bool) -> Self {
        self.options.timeouts = on;
        self
    }

    /// How often a thread that waits for a condition variable, or is parked, may be woken for no reason, in one execution. Once,
    /// unless this says otherwise.
    pub fn spurious_wakeups(mut self, most: u32) -> Self {
        self.options.spurious_wakeups = most;
        self
    }

    /// Whether a weak compare-exchange may fail for no reason. It does not unless this is `true`.
    pub fn weak_failures(mut self, on: bool) -> Self {
        self.options.weak_failures = on;
        self
    }

    /// Whether it is a failure if an `Arc` is never dropped. It is unless this is `false`.
    pub fn leaks(mut self, on: bool) -> Self {
        self.options.leaks = on;
        self
    }

    /// Whether to go on after a failure. The check then makes all other executions too; [`Failed::found`] has all failures that differ, each
    /// with a schedule. In an execution that fails, the thread that has failed stops, and the others go on.
    /// Failures differ if their kinds, threads, places or messages do; the numbers of objects ("mutex 1") depend on the schedule and do not count.
    ///
    /// ```
    /// use raddle::sync::Arc;
    /// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
    ///
    /// let failed = raddle::Checker::new().keep_going(true).run(|| {
    ///     let number = Arc::new(AtomicU32::new(0));
    ///     let other = number.clone();
    ///     raddle::thread::spawn(move || {
    ///         other.store(1, SeqCst);
    ///         other.store(2, SeqCst);
    ///     });
    ///     match number.load(SeqCst) {
    ///         0 => {}
    ///         1 => panic!("half done"),
    ///         _ => panic!("too late"),
    ///     }
    /// });
    /// let failed = failed.unwrap_err();
    /// assert_eq!(failed.found.different.len(), 2);
    /// assert_eq!((failed.executions, failed.found.executions), (3, 2));
    /// ```
    pub fn keep_going(mut self, on: bool) -> Self {
        self.options.keep_going = on;
        self
    }

    /// What threads run on.
    pub fn backend(mut self, backend: Backend) -> Self {
        self.options.backend = backend;
        self
    }

    /// How large the stacks of threads are, in bytes: at least 16 kB.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.options.stack_size = bytes;
        self
    }

    /// Everything that is set.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Runs a closure under every schedule that matters.
    ///
    /// # Panics
    ///
    /// If an execution fails: see [`check`].
    #[track_caller]
    pub fn check<F>(self, body: F) -> Report
    where
        F: Fn() + Send + Sync + 'static,
    {
        match self.run(body) {
            Ok(report) => {
                // Tests show it if they are asked to.
                for line in print::notes(&report.assumptions) {
                    eprintln!("raddle: {line}");
                }
                report
            }
            Err(failed) => panic!("{}", failed.text),
        }
    }

    /// The same, but returns what is wrong.
    ///
    /// # Errors
    ///
    /// If an execution fails.
    ///
    /// # Panics
    ///
    /// If an option makes no sense, if a limit ended the check before an execution came to its end, or inside of another check.
    #[track_caller]
    pub fn run<F>(self, body: F) -> Result<Report, Failed>
    where
        F: Fn() + Send + Sync + 'static,
    {
        assert!(
            crate::rt::try_current().is_none(),
            "raddle: a check cannot be made inside of another one"
        );
        let place = here();
        let options = self.options.overridden(from_environment);
        let options = options.unwrap_or_else(|error| panic!("raddle: {error}"));
        let body = Arc::new(body);
        if std::thread::panicking() {
            // This is a destructor. On a thread of its own, nothing of the check takes the panic for its own.
            return std::thread::scope(|scope| {
                let checked = scope.spawn(|| Self::run_with(body, &options, place)).join();
                checked.unwrap_or_else(|payload| std::panic::resume_unwind(payload))
            });
        }
        Self::run_with(body, &options, place)
    }

    fn run_with(
        body: Arc<dyn Fn() + Send + Sync>,
        options: &Options,
        place: Place,
    ) -> Result<Report, Failed> {
        let report = |report: &dyn Fn() -> CheckReport| {
            if let Some(path) = &options.report_file {
                report_file::write(path, &report());
            }
        };
        // A process that ends by itself writes no report: nobody shall take that of an earlier check for it.
        report(&|| report_file::error("the process ended before the check did", place));
        let mut program = Program::new(body, options);
        program.checked_at(place);
        let checked = match &options.replay {
            Some(schedule) => print::parse_schedule(schedule)
                .and_then(|schedule| explore::replay(&mut program, schedule, options)),
            None => explore::explore(&mut program, options),
        };
        let checked = checked.unwrap_or_else(|error| {
            report(&|| report_file::error(&error, place));
            panic!("raddle: {error}")
        });
        report(&|| report_file::report(&program, &checked, place));
        match checked.violations.first() {
            None => Ok(Report::new(checked)),
            Some(first) => Err(Failed {
                text: print::failure(&program, &first.failure, checked.statistics.executions)
                    + &print::found(&program, &checked)
                    + &graph_file(&program, options),
                schedule: print::schedule(&first.schedule, &program.stepping()),
                failure: first.failure.clone(),
                executions: checked.statistics.executions,
                found: Box::new(Findings::new(&checked, &program.stepping())),
            }),
        }
    }
}

/// Draws the execution that the program has just made, if that is asked for. Returns what to say of it.
///
/// # Panics
///
/// If the file cannot be written.
fn graph_file(program: &Program, options: &Options) -> String {
    let Some(path) = &options.graph_file else {
        return String::new();
    };
    let shown = path.display();
    let written = Format::of(path).and_then(|format| {
        let text = program.picture().to_text(format);
        std::fs::write(path, text)
            .map_err(|error| format!("the graph can't be written to {shown}: {error}"))
    });
    written.unwrap_or_else(|error| panic!("raddle: {error}"));
    format!("\nits graph is in {shown}")
}

/// The value of a variable of the environment as it was at the first check.
fn from_environment(name: &str) -> Option<String> {
    static VARIABLES: OnceLock<HashMap<String, String>> = OnceLock::new();
    let variables = VARIABLES.get_or_init(|| {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| name.starts_with("RADDLE_"))
            .collect()
    });
    variables.get(name).cloned()
}

/// A check that found something.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Failed {
    /// What is wrong.
    pub failure: Failure,
    /// The execution, drawn for people.
    pub text: String,
    /// What runs it again: see [`Checker::replay`].
    pub schedule: String,
    /// How many executions were made.
    pub executions: u64,
    /// All failures, if it [goes on](Checker::keep_going) after the first.
    pub found: Box<Findings>,
}

/// The failures of a check that [goes on](Checker::keep_going).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Findings {
    /// Those that differ, in the order in which they were found.
    pub different: Vec<Found>,
    /// How many executions failed.
    pub executions: u64,
    /// Whether all executions were made, so that there is no other failure, as far as the assumptions hold.
    pub exhausted: bool,
    /// What that rests on.
    pub assumptions: Assumptions<Place>,
}

impl Findings {
    fn new(checked: &Checked, stepping: &Stepping) -> Self {
        let (different, executions) = explore::found_by_going_on(checked);
        let found = |finding: &Finding| Found {
            failure: finding.failure.clone(),
            schedule: print::schedule(&finding.schedule, stepping),
            executions: finding.executions,
        };
        Self {
            different: different.into_iter().map(found).collect(),
            executions,
            exhausted: checked.explored.is_exhausted(),
            assumptions: checked.explored.assumptions().clone(),
        }
    }
}

/// A failure of a check that [goes on](Checker::keep_going).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Found {
    /// What is wrong.
    pub failure: Failure,
    /// What runs it again, with [`Checker::replay`] and [`Checker::keep_going`].
    pub schedule: String,
    /// How many executions failed so.
    pub executions: u64,
}
