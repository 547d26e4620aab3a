//! What can be set.

use std::path::PathBuf;
use std::time::Duration;

use raddle_memory::Model;
use raddle_report::graph::Format;
use raddle_schedule::explorers::DEFAULT_DEPTH;

use crate::rt::Backend;
use crate::rt::Settings;

/// The greatest depth of bugs that is looked for: a point in each execution has to be chosen for each of them.
const MOST_DEPTH: u32 = 1000;

/// A memory model: which values atomics may have in an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Memory {
    /// Sequential consistency: whatever ordering is asked for, it is as if threads took turns.
    Sc,
    /// Release and acquire, and coherence of each atomic, but no order of all that is `SeqCst`. It has all executions of [`Rc11`](Self::Rc11), and more.
    Ra,
    /// RC11, the model of Rust and C++ as far as it is agreed on, without load buffering.
    Rc11,
}

impl Memory {
    /// Its name, as `RADDLE_MEMORY` has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        Model::from(self).name()
    }

    pub(crate) fn by_name(name: &str) -> Option<Self> {
        let all = [Self::Sc, Self::Ra, Self::Rc11];
        all.into_iter().find(|memory| memory.name() == name)
    }
}

impl From<Memory> for Model {
    fn from(memory: Memory) -> Self {
        match memory {
            Memory::Sc => Self::Sc,
            Memory::Ra => Self::Ra,
            Memory::Rc11 => Self::Rc11,
        }
    }
}

/// Everything that can be set about a check. [`Checker`](crate::Checker) sets it; so do variables of the
/// environment, which come last: `RADDLE_` and the name in capitals.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The most preemptions of an execution, if they are bounded.
    pub bound: Option<u32>,
    /// The memory model. The default is sequential consistency, and then RC11 if the code asks for weaker orderings.
    pub memory: Option<Memory>,
    /// How to explore, by name; the default depends on the other options.
    pub explorer: Option<String>,
    /// The most executions.
    pub max_executions: Option<u64>,
    /// The longest time.
    pub max_duration: Option<Duration>,
    /// The most steps of an execution; one with more fails.
    pub max_steps: usize,
    /// How often in a row spinning threads may go round in vain.
    pub spin_limit: u32,
    /// What random explorers begin with.
    pub seed: Option<u64>,
    /// How many ordering constraints the bugs have that `pct` looks for.
    pub depth: u32,
    /// How many threads of the operating system explore; 0 for as many as the machine has cores.
    pub workers: usize,
    /// How many executions are run again at the end, to see that they do the same.
    pub reruns: u32,
    /// Whether that is done also if there was only one execution.
    pub reruns_of_one: bool,
    /// A schedule to run instead of exploring.
    pub replay: Option<String>,
    /// Where to write a report.
    pub report_file: Option<PathBuf>,
    /// Where to draw the graph of an execution that fails.
    pub graph_file: Option<PathBuf>,
    /// Whether to count the happens-before classes that are run, which takes memory for each of them.
    pub count_classes: bool,
    /// Whether what can time out does so.
    pub timeouts: bool,
    /// How often a thread may be woken for no reason in one execution.
    pub spurious_wakeups: u32,
    /// Whether a weak compare-exchange may fail for no reason.
    pub weak_failures: bool,
    /// Whether it is a failure if an `Arc` is never dropped.
    pub leaks: bool,
    /// Whether to go on after a failure.
    pub keep_going: bool,
    /// What threads run on.
    pub backend: Backend,
    /// How large the stacks of threads are, in bytes.
    pub stack_size: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bound: None,
            memory: None,
            explorer: None,
            max_executions: None,
            max_duration: None,
            max_steps: 100_000,
            spin_limit: 1000,
            seed: None,
            depth: DEFAULT_DEPTH,
            workers: 1,
            reruns: 16,
            reruns_of_one: true,
            replay: None,
            report_file: None,
            graph_file: None,
            count_classes: false,
            timeouts: true,
            spurious_wakeups: 1,
            weak_failures: false,
            leaks: true,
            keep_going: false,
            backend: Backend::Coroutines,
            stack_size: 256 * 1024,
        }
    }
}

impl Options {
    /// The defaults, changed by what `variable` says: the value of an environment variable.
    ///
    /// # Errors
    ///
    /// If a value makes no sense.
    pub(crate) fn overridden(
        mut self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let get = |name: &'static str| variable(name).map(|value| (name, value));
        number(get("RADDLE_BOUND"), |value| self.bound = Some(value))?;
        number(get("RADDLE_MAX_EXECUTIONS"), |value| {
            self.max_executions = Some(value);
        })?;
        if let Some((name, value)) = get("RADDLE_MAX_DURATION") {
            // More seconds than there will be are no limit.
            let seconds = value.parse().ok().filter(|&seconds: &f64| seconds >= 0.0);
            let seconds =
                seconds.ok_or_else(|| format!("{name} is a number of seconds, not `{value}`"))?;
            self.max_duration = Duration::try_from_secs_f64(seconds).ok();
        }
        number(get("RADDLE_MAX_STEPS"), |value| self.max_steps = value)?;
        number(get("RADDLE_SPIN_LIMIT"), |value| self.spin_limit = value)?;
        number(get("RADDLE_SEED"), |value| self.seed = Some(value))?;
        number(get("RADDLE_DEPTH"), |value| self.depth = value)?;
        number(get("RADDLE_WORKERS"), |value| self.workers = value)?;
        number(get("RADDLE_RERUNS"), |value| self.reruns = value)?;
        number(get("RADDLE_SPURIOUS_WAKEUPS"), |value| {
            self.spurious_wakeups = value;
        })?;
        number(get("RADDLE_STACK_SIZE"), |value| self.stack_size = value)?;
        flag(get("RADDLE_COUNT_CLASSES"), &mut self.count_classes)?;
        flag(get("RADDLE_TIMEOUTS"), &mut self.timeouts)?;
        flag(get("RADDLE_WEAK_FAILURES"), &mut self.weak_failures)?;
        flag(get("RADDLE_LEAKS"), &mut self.leaks)?;
        flag(get("RADDLE_KEEP_GOING"), &mut self.keep_going)?;
        if let Some((name, value)) = get("RADDLE_MEMORY") {
            let memory = Memory::by_name(&value);
            let memory =
                memory.ok_or_else(|| format!("{name} is `sc`, `ra` or `rc11`, not `{value}`"))?;
            self.memory = Some(memory);
        }
        if let Some((_, value)) = get("RADDLE_EXPLORER") {
            self.explorer = Some(value);
        }
        if let Some((_, value)) = get("RADDLE_REPLAY") {
            self.replay = Some(value);
        }
        if let Some((_, value)) = get("RADDLE_REPORT_FILE") {
            self.report_file = Some(value.into());
        }
        if let Some((_, value)) = get("RADDLE_GRAPH") {
            self.graph_file = Some(value.into());
        }
        if let Some((_, value)) = get("RADDLE_BACKEND") {
            self.backend = match value.as_str() {
                "coroutines" => Backend::Coroutines,
                "threads" => Backend::Threads,
                other => {
                    return Err(format!(
                        "RADDLE_BACKEND is `coroutines` or `threads`, not `{other}`"
                    ));
                }
            };
        }
        if let Some(path) = &self.graph_file {
            Format::of(path)?;
        }
        if self.max_executions == Some(0) {
            return Err(
                "no execution is allowed (max_executions is 0), so nothing would be checked".into(),
            );
        }
        if !(1..=MOST_DEPTH).contains(&self.depth) {
            let depth = self.depth;
            return Err(format!(
                "bugs have a depth from 1 to {MOST_DEPTH}, not {depth}"
            ));
        }
        if self.spin_limit == 0 {
            return Err("loops may make no iteration (spin_limit is 0), so each of them would be a live-lock".into());
        }
        Ok(self)
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings {
            max_steps: self.max_steps,
            spin_limit: self.spin_limit,
            timeouts: self.timeouts,
            spurious_wakeups: self.spurious_wakeups,
            weak_failures: self.weak_failures,
            leaks: self.leaks,
            keep_going: self.keep_going,
            replayed: 0,
        }
    }
}

fn number<N: std::str::FromStr>(
    variable: Option<(&str, String)>,
    set: impl FnOnce(N),
) -> Result<(), String> {
    if let Some((name, value)) = variable {
        let parsed = value.parse();
        set(parsed.map_err(|_| format!("{name} is a number, not `{value}`"))?);
    }
    Ok(())
}

fn flag(variable: Option<(&str, String)>, flag: &mut bool) -> Result<(), String> {
    if let Some((name, value)) = variable {
        *flag = match value.as_str() {
            "1" | "true" | "on" | "yes" => true,
            "0" | "false" | "off" | "no" => false,
            _ => return Err(format!("{name} is `on` or `off`, not `{value}`")),
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_overrides() {
        let variables = |name: &str| match name {
            "RADDLE_BOUND" => Some("2".into()),
            "RADDLE_LEAKS" => Some("off".into()),
            "RADDLE_BACKEND" => Some("threads".into()),
            _ => None,
        };
        let options = Options::default().overridden(variables).unwrap();
        assert_eq!(options.bound, Some(2));
        assert!(!options.leaks);
        assert_eq!(options.backend, Backend::Threads);
        let error = Options::default()
            .overridden(|name| (name == "RADDLE_SEED").then(|| "x".into()))
            .unwrap_err();
        assert_eq!(error, "RADDLE_SEED is a number, not `x`");
    }

    /// A limit that is none would not be noticed.
    #[test]
    fn what_makes_no_sense_is_refused() {
        let with = |name: &'static str, value: &'static str| {
            Options::default().overridden(|asked| (asked == name).then(|| value.into()))
        };
        for seconds in ["-1", "nan", "", "x"] {
            let error = with("RADDLE_MAX_DURATION", seconds).unwrap_err();
            assert_eq!(
                error,
                format!("RADDLE_MAX_DURATION is a number of seconds, not `{seconds}`")
            );
        }
        let duration = |seconds| with("RADDLE_MAX_DURATION", seconds).unwrap().max_duration;
        assert_eq!(duration("1.5"), Some(Duration::from_millis(1500)));
        assert_eq!(duration("inf"), None);
        for depth in ["0", "4294967295"] {
            assert!(with("RADDLE_DEPTH", depth).is_err());
        }
        assert!(with("RADDLE_DEPTH", "1000").is_ok());
    }
}
