//! Executions that are graphs: real code under weak memory models.

mod litmus;
mod nondeterminism;
mod pictures;
mod plain;
mod random;
mod stories;
