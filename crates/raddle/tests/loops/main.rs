//! Random programs with loops that wait, run by every explorer, against an interpreter that shares nothing with the runtime.
//!
//! The interpreter searches the whole states of a program, so that a loop without a bound is no problem to it: states repeat. The
//! runtime has to know which iterations it may leave out.
//!
//! - `syntax.rs`: programs. `generate/`: random ones, by profiles. `shrink.rs`: smaller ones.
//! - `interpret.rs`: all outcomes of a program, by explicit-state search.
//! - `real.rs`: the same program as Rust code that uses `raddle`.
//! - `compare.rs`: what must agree. `campaign.rs`: many programs. `fixed.rs`: programs that showed something once.

mod campaign;
mod compare;
#[path = "../outcomes/explore.rs"]
#[allow(dead_code)]
mod explore;
mod fixed;
mod generate;
mod interpret;
mod real;
mod shrink;
mod syntax;
