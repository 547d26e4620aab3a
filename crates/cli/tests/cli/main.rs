//! The `raddle` command as its users meet it: arguments in, text and exit codes out.

mod checking;
mod formatting;
mod golden;
mod json;
mod limits;
mod published;
mod replaying;
mod running;
mod support;
mod terminal;
