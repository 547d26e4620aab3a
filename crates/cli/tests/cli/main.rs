//! The `raddle` command as its users meet it: arguments in, text and exit codes out.

mod answers;
mod checking;
mod comparing;
mod exploring;
mod formatting;
mod golden;
mod json;
mod limits;
mod memory;
mod published;
mod reductions;
mod replaying;
mod running;
#[path = "../../../report/tests/support/schema.rs"]
mod schema;
mod support;
mod terminal;
mod termination;
