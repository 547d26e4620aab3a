//! Executions that are graphs: real code under weak memory models.

mod behind_locks;
mod failures;
mod found_weakly;
mod limits;
mod litmus;
mod mixed;
mod nondeterminism;
mod pictures;
mod plain;
mod polls;
mod programs;
mod published;
mod random;
mod stories;
