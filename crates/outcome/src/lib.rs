//! What came of a check, as plain data, for programs in every language.
//!
//! Whoever explores a program, by storing states or by running it again and again, keeps an account of what it left
//! out, cut, bounded or guessed: its [`Assumptions`]. What may be claimed is computed from that account, and stored
//! nowhere else. So no claim survives that something takes away. An [`Outcome`] has that account and everything else that a
//! check has to tell.
//!
//! ```
//! use raddle_outcome::{Assumptions, Extent, Kind, LeftOut};
//!
//! let mut left_out = LeftOut::default();
//! assert_eq!(left_out.clone().covering(Extent::All).extent(), Extent::All);
//! left_out.note(Kind::WakeupSequences);
//! assert_eq!(left_out.covering(Extent::All).extent(), Extent::Some);
//!
//! let mut assumptions = Assumptions::default();
//! assert!(assumptions.are_none());
//! assumptions.add(Kind::WeakOrdering.at("src/lib.rs:7:5"));
//! assert!(!assumptions.are_none());
//! ```
#![forbid(unsafe_code)]

mod assumption;
mod coverage;
mod executions;
mod explored;
mod outcome;
mod verdict;

pub use assumption::{Assumption, Assumptions, Kind, Nature};
pub use coverage::{Coverage, Extent, LeftOut};
pub use executions::{Ends, Executions};
pub use explored::Explored;
pub use outcome::Outcome;
pub use verdict::Verdict;
