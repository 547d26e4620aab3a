//! A line on the terminal that tells how a search is coming along.

use std::io::{self, IsTerminal};

use raddle_explore::Progress;
use raddle_report::table::{bytes, duration, number};
use raddle_stateless::Progress as Executions;

use crate::terminal::{Terminal, complain};

/// Prints the progress over and over on one line of standard error.
pub(crate) struct ProgressLine {
    /// What is being done.
    label: String,
    shown: bool,
}

impl ProgressLine {
    /// Nothing is printed where nobody watches.
    pub(crate) fn about(label: &str, terminal: Terminal) -> Option<Self> {
        let watched = io::stderr().is_terminal() && !terminal.is_quiet();
        watched.then(|| Self {
            label: label.to_owned(),
            shown: false,
        })
    }

    pub(crate) fn show(&mut self, progress: &Progress) {
        let seconds = progress.elapsed.as_secs_f64().max(0.001);
        let rate = (progress.states as f64 / seconds) as u64;
        let lasts = match progress.memory_lasts() {
            Some(time) => format!(", lasts for {}", duration(time)),
            None => String::new(),
        };
        complain(&format!(
            "\r\x1b[K{}: {} states ({}/s) · frontier {} · depth {} · {} ({:.1}/state{lasts}) · {}",
            self.label,
            number(progress.states),
            number(rate),
            number(progress.frontier),
            number(progress.depth),
            bytes(progress.memory_bytes),
            progress.bytes_per_state(),
            duration(progress.elapsed),
        ));
        self.shown = true;
    }

    /// The same for executions that are run one by one.
    pub(crate) fn show_executions(&mut self, progress: &Executions) {
        let seconds = progress.elapsed.as_secs_f64().max(0.001);
        let rate = (progress.executions as f64 / seconds) as u64;
        let bound = match progress.bound {
            Some(bound) => format!(" · done up to bound {bound}"),
            None => String::new(),
        };
        let done = match progress.part_done {
            Some(part) => format!(" · {:.1} % of what is known to be run", part * 100.0),
            None => String::new(),
        };
        complain(&format!(
            "\r\x1b[K{}: {} executions ({}/s) · {} classes · longest {}{bound}{done} · {}",
            self.label,
            number(progress.executions),
            number(rate),
            number(progress.classes),
            number(progress.longest),
            duration(progress.elapsed),
        ));
        self.shown = true;
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.shown {
            complain("\r\x1b[K");
        }
    }
}
