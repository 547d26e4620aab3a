//! Verdicts and counterexamples for people and for programs.

pub mod story;
