//! Executions that are graphs: real code under weak memory models.

mod failures;
mod limits;
mod litmus;
mod mixed;
mod nondeterminism;
mod pictures;
mod plain;
mod programs;
mod published;
mod random;
mod stories;
