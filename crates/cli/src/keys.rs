//! Commands from the keyboard: one key each on a terminal, one line each otherwise.

use std::io::{self, BufRead, IsTerminal, Read};

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

use crate::terminal::print;

/// Where commands come from.
pub(crate) enum Input {
    Keys,
    Lines,
}

impl Input {
    pub(crate) fn new() -> Self {
        if io::stdin().is_terminal() && io::stdout().is_terminal() {
            Self::Keys
        } else {
            Self::Lines
        }
    }

    /// The next command; `None` at the end of the input.
    pub(crate) fn command(&mut self) -> Option<String> {
        match self {
            Self::Lines => line(),
            Self::Keys => {
                let command = match key() {
                    Some(key) => key,
                    // The terminal does not give single keys: lines will do.
                    None => {
                        *self = Self::Lines;
                        return line();
                    }
                };
                let question = match command {
                    't' => "thread: ",
                    'p' => "variable: ",
                    'g' => "step: ",
                    key => {
                        print("\n");
                        return Some(key.to_string());
                    }
                };
                print(question);
                line().map(|argument| format!("{command} {argument}"))
            }
        }
    }
}

fn line() -> Option<String> {
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line),
    }
}

/// Waits for a key and gives the command it stands for.
fn key() -> Option<char> {
    enable_raw_mode().ok()?;
    let mut bytes = [0; 8];
    let read = io::stdin().lock().read(&mut bytes);
    disable_raw_mode().ok()?;
    let count = read.ok()?;
    Some(match &bytes[..count] {
        // Ctrl-C, Ctrl-D, Escape, and the end of the input.
        [] | [3] | [4] | [27] => 'q',
        [b'\r' | b'\n' | b' '] | [27, b'[', b'C' | b'B'] => 'n',
        [127 | 8] | [27, b'[', b'D' | b'A'] => 'b',
        [key, ..] if key.is_ascii_graphic() => char::from(*key),
        _ => 'h',
    })
}
