//! The exploration against enumeration, published counts, and itself without some of its rules.
//!
//! - `compare.rs`: one program, explored and enumerated. `states.rs`: all states of a program with loops. `random.rs`: many programs.
//! - `litmus.rs`, `structures.rs`: programs with published counts. `waiting.rs`, `spinning.rs`: locks, other waiting operations, loops.
//!   `programs.rs`: what programs are asked for. `rules.rs`: tests of the tests.
//!
//! A long run: `RADDLE_GRAPH_PROGRAMS=100000 RADDLE_GRAPH_SEED=7 cargo test --release -p raddle-memory --test graphs random`. `RADDLE_GRAPH_EVENTS`
//! is the number of events of the programs, `RADDLE_GRAPH_ORACLE=0` leaves out the comparison of each check with the definition.

mod compare;
mod litmus;
mod programs;
mod random;
mod rules;
mod spinning;
mod states;
mod structures;
mod synchronises;
mod waiting;
