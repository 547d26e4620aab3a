//! `raddle replay --interactive`: through a counterexample by hand.

use raddle_machine::narrate::{Narrator, Told};
use raddle_report::lanes;
use raddle_report::story::{Ending, Event, Story};
use raddle_report::style::Role;

use crate::keys::Input;
use crate::replay::Traced;
use crate::terminal::{Terminal, print};

const HELP: &str = "\
n, Enter     the next step (on a terminal, also Space and the right arrow)
b            one step back (also the left arrow)
t THREAD     on to the next step of a thread (its name, or the start of it)
p NAME       the value of a variable (and of its parts)
v            all variables
w            where every thread is
s            the story so far
g NUMBER     go to a step
e            go to the end
q            leave
";

/// The state of a session. Going back is running again from the start, less one step.
pub(crate) struct Debugger<'t> {
    traced: &'t Traced,
    story: &'t Story,
    terminal: Terminal,
    narrator: Narrator,
    /// How many steps have been taken.
    taken: usize,
}

enum Next {
    Continue,
    Leave,
}

impl<'t> Debugger<'t> {
    pub(crate) fn new(traced: &'t Traced, story: &'t Story, terminal: Terminal) -> Self {
        Self {
            narrator: traced.narrator(),
            traced,
            story,
            terminal,
            taken: 0,
        }
    }

    pub(crate) fn run(&mut self) {
        print(&format!(
            "{} steps, {} threads; h for help\n",
            self.story.steps.len(),
            self.story.threads.len()
        ));
        let mut input = Input::new();
        loop {
            self.prompt();
            let Some(command) = input.command() else {
                return print("\n");
            };
            if let Next::Leave = self.obey(command.trim()) {
                return;
            }
        }
    }

    fn prompt(&self) {
        let palette = self.terminal.palette();
        let position = format!("[{}/{}]", self.taken, self.story.steps.len());
        print(&format!("{} ", palette.paint(Role::Line, &position)));
    }

    fn obey(&mut self, line: &str) -> Next {
        let (command, argument) = match line.split_once(char::is_whitespace) {
            Some((command, argument)) => (command, argument.trim()),
            None => (line, ""),
        };
        match command {
            "" | "n" | "next" => self.forward(),
            "b" | "back" => self.back(),
            "t" | "thread" => self.forward_to_thread(argument),
            "p" | "print" => self.show_variables(argument),
            "v" | "variables" => self.show_variables(""),
            "w" | "where" => self.show_threads(),
            "s" | "story" => print(&lanes::render(&self.so_far(), &self.terminal.lanes())),
            "g" | "go" => match argument.parse::<usize>() {
                Ok(step) if step <= self.story.steps.len() => {
                    self.go(step);
                    self.show_last_step();
                }
                _ => print(&format!(
                    "a number from 0 to {} is needed\n",
                    self.story.steps.len()
                )),
            },
            "e" | "end" => {
                self.go(self.story.steps.len());
                self.show_end();
            }
            "q" | "quit" | "exit" => return Next::Leave,
            "h" | "help" | "?" => print(HELP),
            other => print(&format!("there is no command `{other}`; h for help\n")),
        }
        Next::Continue
    }

    fn advance(&mut self) -> Option<&'t Event> {
        let step = *self.traced.schedule.get(self.taken)?;
        // The whole schedule was run before: every step can be taken.
        let told = self.narrator.step(step);
        debug_assert!(told != Told::Impossible);
        self.taken += 1;
        self.story.steps.get(self.taken - 1)
    }

    fn forward(&mut self) {
        match self.advance() {
            Some(event) => {
                self.show_step(event);
                if self.taken == self.story.steps.len() {
                    self.show_end();
                }
            }
            None => self.show_end(),
        }
    }

    fn back(&mut self) {
        if self.taken == 0 {
            return print("this is the beginning\n");
        }
        self.go(self.taken - 1);
        self.show_last_step();
    }

    fn show_last_step(&self) {
        match self.taken.checked_sub(1) {
            Some(last) => self.show_step(&self.story.steps[last]),
            None => print("the beginning\n"),
        }
    }

    fn go(&mut self, step: usize) {
        if step < self.taken {
            self.narrator = self.traced.narrator();
            self.taken = 0;
        }
        while self.taken < step {
            self.advance();
        }
    }

    fn forward_to_thread(&mut self, name: &str) {
        let threads = &self.story.threads;
        let exact = threads.iter().position(|thread| thread == name);
        let found = exact.or_else(|| {
            let starts = |thread: &String| !name.is_empty() && thread.starts_with(name);
            threads.iter().position(starts)
        });
        let Some(thread) = found else {
            return print(&format!("the threads are: {}\n", threads.join(", ")));
        };
        let rest = &self.story.steps[self.taken..];
        match rest.iter().position(|event| event.thread == thread) {
            Some(distance) => {
                self.go(self.taken + distance);
                self.forward();
            }
            None => print(&format!("{} makes no more steps\n", threads[thread])),
        }
    }

    fn show_step(&self, event: &Event) {
        let palette = self.terminal.palette();
        let mut text = format!(
            "{} {}:{}: {}\n    {}\n",
            palette.paint(
                Role::Thread(event.thread),
                &self.story.threads[event.thread]
            ),
            event.at.file,
            event.at.line,
            palette.paint(Role::Source, &event.at.text),
            event.action,
        );
        for change in &event.changes {
            let changed = match &change.before {
                Some(before) => format!("{}: {before} → {}", change.name, change.after),
                None => format!("{} = {}", change.name, change.after),
            };
            text += &format!("    {}\n", palette.paint(Role::Change, &changed));
        }
        if !event.holds.is_empty() {
            text += &format!("    holds {}\n", event.holds.join(", "));
        }
        print(&text);
    }

    fn show_end(&self) {
        print(&lanes::render_ending(self.story, &self.terminal.lanes()));
    }

    fn show_variables(&mut self, name: &str) {
        let mut text = String::new();
        for shown in self.narrator.values() {
            let plain = shown.name.rsplit(": ").next().unwrap_or(&shown.name);
            let base = plain.split(['[', '.']).next().unwrap_or(plain);
            if name.is_empty() || name == shown.name || name == plain || name == base {
                text += &format!("{} = {}\n", shown.name, shown.value);
            }
        }
        if text.is_empty() {
            text = format!("there is no variable `{name}` here\n");
        }
        print(&text);
    }

    fn show_threads(&mut self) {
        let mut text = String::new();
        for lane in 0..self.narrator.threads().len() {
            let at = match self.narrator.whereabouts(lane) {
                Some(spot) => format!("{}:{}: {}", spot.file, spot.line, spot.text),
                None => "has ended".to_owned(),
            };
            text += &format!("{}: {at}\n", self.narrator.threads()[lane]);
        }
        print(&text);
    }

    fn so_far(&self) -> Story {
        Story {
            threads: self.story.threads.clone(),
            steps: self.story.steps[..self.taken].to_vec(),
            ending: if self.taken == self.story.steps.len() {
                self.story.ending.clone()
            } else {
                Ending::default()
            },
        }
    }
}
