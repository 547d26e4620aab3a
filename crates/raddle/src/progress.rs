//! A line on the terminal while a check takes long.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// Shows how an exploration goes on, if somebody can see it. It writes to the terminal itself: what a test prints
/// is kept from sight until it has failed.
#[derive(Debug)]
pub(crate) struct Progress {
    began: Instant,
    shown: Option<Instant>,
    visible: bool,
    bound: Option<u32>,
    /// Which part of what is known is done, if that is known.
    done: Option<f64>,
}

impl Progress {
    /// How long a check takes before anything is shown, and how often it is.
    const PATIENCE: Duration = Duration::from_secs(2);

    pub(crate) fn new() -> Self {
        Self {
            began: Instant::now(),
            shown: None,
            visible: std::io::stderr().is_terminal(),
            bound: None,
            done: None,
        }
    }

    /// This part of what is known to be run was run.
    pub(crate) fn done(&mut self, part: f64) {
        self.done = Some(part);
    }

    /// All executions up to a bound were made.
    pub(crate) fn bound_reached(&mut self, bound: u32) {
        self.bound = Some(bound);
    }

    pub(crate) fn show(&mut self, now: Instant, executions: u64, classes: Option<usize>) {
        let last = self.shown.unwrap_or(self.began);
        if !self.visible || now.duration_since(last) < Self::PATIENCE {
            return;
        }
        self.shown = Some(now);
        let seconds = now.duration_since(self.began).as_secs_f64();
        let rate = executions as f64 / seconds;
        let classes = match classes {
            Some(classes) => format!(" of {classes} classes"),
            None => String::new(),
        };
        let bound = match self.bound {
            Some(bound) => format!(", done with up to {bound} preemptions"),
            None => String::new(),
        };
        let done = match self.done.take() {
            Some(part) => format!(", {:.1} % of what is known to be run", part * 100.0),
            None => String::new(),
        };
        // Nothing is lost if the terminal has gone.
        let _ = write!(
            std::io::stderr(),
            "\rraddle: {executions} executions{classes} in {seconds:.0} s, {rate:.0} a second{bound}{done} "
        );
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _ = writeln!(std::io::stderr());
        }
    }
}
