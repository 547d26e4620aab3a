//! Running a closure under all schedules.

use std::env;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Runs a closure under all schedules, with the defaults of a [`Builder`].
///
/// # Panics
///
/// If an execution fails.
#[track_caller]
pub fn model<F>(f: F)
where
    F: Fn() + Sync + Send + 'static,
{
    Builder::new().check(f);
}

/// How many branches an execution of loom has at most, unless one says otherwise.
const DEFAULT_BRANCHES: usize = 1000;

/// Sets up a model.
#[derive(Debug)]
#[non_exhaustive]
pub struct Builder {
    /// The most threads. There may be more all the same.
    pub max_threads: usize,
    /// The most steps of an execution. `LOOM_MAX_BRANCHES`. Steps are not quite loom's branches, so a limit of at least
    /// 1000, which is loom's default, is taken to be at least 100,000.
    pub max_branches: usize,
    /// The most executions. `LOOM_MAX_PERMUTATIONS`.
    pub max_permutations: Option<usize>,
    /// The longest time. `LOOM_MAX_DURATION`, in seconds.
    pub max_duration: Option<Duration>,
    /// The most preemptions of an execution. `LOOM_MAX_PREEMPTIONS`.
    pub preemption_bound: Option<usize>,
    /// Is ignored. `LOOM_CHECKPOINT_FILE`.
    pub checkpoint_file: Option<PathBuf>,
    /// Is ignored. `LOOM_CHECKPOINT_INTERVAL`.
    pub checkpoint_interval: usize,
    /// Is ignored: everything is explored.
    pub expect_explicit_explore: bool,
    /// Is ignored: places are always known. `LOOM_LOCATION`.
    pub location: bool,
    /// Prints how many executions there were. `LOOM_LOG`.
    pub log: bool,
}

impl Builder {
    /// What the environment says, or else the defaults.
    ///
    /// # Panics
    ///
    /// If a variable of the environment makes no sense.
    #[must_use]
    pub fn new() -> Self {
        Self {
            max_threads: crate::MAX_THREADS,
            max_branches: variable("LOOM_MAX_BRANCHES").unwrap_or(DEFAULT_BRANCHES),
            max_permutations: variable("LOOM_MAX_PERMUTATIONS"),
            max_duration: variable("LOOM_MAX_DURATION").map(Duration::from_secs),
            preemption_bound: variable("LOOM_MAX_PREEMPTIONS"),
            checkpoint_file: variable("LOOM_CHECKPOINT_FILE"),
            checkpoint_interval: variable("LOOM_CHECKPOINT_INTERVAL").unwrap_or(20_000),
            expect_explicit_explore: false,
            location: env::var_os("LOOM_LOCATION").is_some(),
            log: env::var_os("LOOM_LOG").is_some(),
        }
    }

    /// Sets a file, which is ignored.
    pub fn checkpoint_file(&mut self, file: &str) -> &mut Self {
        self.checkpoint_file = Some(file.into());
        self
    }

    /// Runs a closure under all schedules.
    ///
    /// # Panics
    ///
    /// If an execution fails.
    #[track_caller]
    pub fn check<F>(&self, f: F)
    where
        F: Fn() + Sync + Send + 'static,
    {
        let report = self.checker().check(f);
        if self.log {
            println!("Completed in {} iterations", report.executions);
        }
    }

    /// Like loom, nothing takes too long, no condition variable wakes for no reason, a model with one execution is run
    /// once, and memory is looked after only as far as the code asks for it.
    fn checker(&self) -> raddle::Checker {
        let mut checker = raddle::Checker::new().timeouts(false).spurious_wakeups(0);
        checker = checker.reruns_of_one(false).use_after_free(false);
        let steps = if self.max_branches < DEFAULT_BRANCHES {
            self.max_branches
        } else {
            checker.options().max_steps.max(self.max_branches)
        };
        checker = checker.max_steps(steps);
        if let Some(most) = self.max_permutations {
            checker = checker.max_executions(most as u64);
        }
        if let Some(longest) = self.max_duration {
            checker = checker.max_duration(longest);
        }
        match self.preemption_bound {
            Some(most) => checker.bound(u32::try_from(most).unwrap_or(u32::MAX)),
            None => checker,
        }
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

fn variable<T: FromStr>(name: &str) -> Option<T> {
    let value = env::var(name).ok()?;
    match value.parse() {
        Ok(value) => Some(value),
        Err(_) => panic!("invalid value for `{name}`"),
    }
}
