//! Executions that are graphs: real code under weak memory models.

mod failures;
mod litmus;
mod published;
mod random;
