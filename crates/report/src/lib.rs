//! Verdicts and counterexamples for people and for programs.
//!
//! A [`Story`](story::Story) is one execution in words. [`lanes::render`] draws it for
//! people, one column per thread; [`json`] has the types of everything that programs
//! read: the report of a check, and the trace file that replays one. [`graph`] draws its graph as DOT and SVG. [`table`] sets
//! out numbers, [`answer`] has the words for verdicts, and [`style`] is the one place that knows colours.
//!
//! Nothing here prints, looks at the terminal or at the environment: everything is a
//! function from values to text.

pub mod answer;
pub mod assumptions;
pub mod explanation;
pub mod graph;
pub mod json;
pub mod lanes;
pub mod story;
pub mod style;
pub mod table;
mod text;
