//! Panics of the code under test.

use std::panic::PanicHookInfo;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

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
    let thread = state.current;
    if is_fatal(&message) {
        let reason = "a destructor panicked while a panic unwound its thread";
        say(|| last_words(&state, reason));
        return true;
    }
    state.panics.push(Panic {
        thread,
        message,
        at,
    });
    true
}

/// Whether the process is about to be aborted: what the standard library says when a panic cannot unwind.
fn is_fatal(message: &str) -> bool {
    matches!(
        message,
        "panic in a destructor during cleanup" | "panic in a function that cannot unwind"
    )
}

/// Whether all is said that can be said when the process is lost.
static SAID: AtomicBool = AtomicBool::new(false);

/// Says the last words, unless they were said.
pub(super) fn say(words: impl FnOnce() -> String) {
    if !SAID.swap(true, Ordering::Relaxed) {
        eprintln!("{}", words());
    }
}

/// All that can still be said when the process is lost.
pub(super) fn last_words(state: &State, reason: &str) -> String {
    let mut text = format!("raddle: {reason}\n");
    for panic in &state.panics {
        let at = &panic.at;
        text.push_str(&format!(
            "{} panicked at {}:{}:{}: {}\n",
            state.name_of(panic.thread),
            at.file,
            at.line,
            at.column,
            panic.message
        ));
    }
    if state.phase != Phase::Running {
        text.push_str(
            "note: an execution was being given up, which runs destructors; \
             let them ask `raddle::thread::panicking()` first\n",
        );
    }
    text + &state.describe_schedule()
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
