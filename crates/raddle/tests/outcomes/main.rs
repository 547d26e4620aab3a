//! Which outcomes a program can have, and in how many classes of executions: under every explorer the same
//! as a model that was written from the documentation of the standard library alone.

mod attack;
mod compare;
mod counts;
mod explore;
mod generate;
mod handwritten;
mod litmus;
mod model;
mod program;
mod random;
mod real;
