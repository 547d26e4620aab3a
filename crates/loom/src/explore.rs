//! Hints about what to explore. They are not followed: everything is.

/// Says that what comes next need not be explored. It is nevertheless.
pub fn stop_exploring() {}

/// Says that what comes next is to be explored. It is anyway.
pub fn explore() {}

/// Says that nothing but the current execution need be explored from here on. It is nevertheless.
pub fn skip_branch() {}
