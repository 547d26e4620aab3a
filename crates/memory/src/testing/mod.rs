//! Toy programs, random programs, and the enumeration that the exploration is compared with.

mod enumeration;
mod script;
mod toy;

pub use enumeration::enumerate;
pub use script::{Profile, Script, Step};
pub use toy::{Body, Halt, Round, Run, Toy};
