//! Panics of the code under test.

use std::panic::PanicHookInfo;
use std::sync::Once;

use raddle_report::story::Spot;
use raddle_schedule::ThreadId;

use super::state::{Phase, State};

/// A panic in an execution.
#[derive(Clone, Debug)]
pub(crate) struct Panic {
    pub(crate) thread: ThreadId,
    pub(crate) message: String,
    pub(crate) at: Spot,
}

/// Sets up the hook that keeps panics inside of executions quiet and remembers them.
pub(crate) fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !observe(info) {
                previous(info);
            }
        }));
    });
}

/// Returns whether the panic belongs to an execution.
fn observe(info: &PanicHookInfo<'_>) -> bool {
    let Some(runtime) = super::try_current() else {
        return false;
    };
    // If it is borrowed, the panic is one of the runtime itself.
    let Ok(mut state) = runtime.state.try_borrow_mut() else {
        return false;
    };
    let message = message_of(info);
    let at = info.location().map_or_else(Spot::default, |place| Spot {
        file: place.file().into(),
        line: place.line(),
        column: place.column(),
        text: String::new(),
    });
    if state.phase != Phase::Running {
        // If it comes from a destructor, the process is about to be aborted.
        eprintln!(
            "raddle: panic while an execution was given up: {message}\n  at {}:{}:{}\n\
             note: destructors run then; let them ask `raddle::thread::panicking()` first",
            at.file, at.line, at.column
        );
        return true;
    }
    let thread = state.current;
    if state.thread(thread).panicking {
        eprintln!(
            "raddle: {} panicked while it was panicking: {message}\n  at {}:{}:{}\n{}",
            state.name_of(thread),
            at.file,
            at.line,
            at.column,
            state.describe_schedule()
        );
    }
    state.thread_mut(thread).panicking = true;
    state.panics.push(Panic {
        thread,
        message,
        at,
    });
    true
}

fn message_of(info: &PanicHookInfo<'_>) -> String {
    info.payload_as_str()
        .unwrap_or("a value that is no text")
        .to_owned()
}

impl State {
    /// What a thread is called.
    pub(crate) fn name_of(&self, id: ThreadId) -> String {
        match &self.thread(id).name {
            Some(name) => name.clone(),
            None if id == ThreadId::MAIN => "main".into(),
            None => {
                // By when it was started, which is what a reader sees.
                let number = self.started.iter().position(|&other| other == id);
                format!("thread {}", number.unwrap_or(id.index()))
            }
        }
    }

    /// The schedule so far, in few words: for when there will be no chance to say more.
    pub(crate) fn describe_schedule(&self) -> String {
        let mut text = String::from("the schedule so far:");
        for made in &self.made {
            text.push_str(&format!(
                "\n  {}: {} at {}:{}",
                self.name_of(made.thread),
                made.operation.verb(),
                made.place.file(),
                made.place.line()
            ));
        }
        text
    }
}
