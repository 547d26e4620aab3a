//! The parts of a Markdown document.

use crate::table::{Table, grouped};

/// What there is nothing to say about.
pub(super) const NOTHING: &str = "";

/// A part of the document.
#[derive(Clone, Debug)]
pub(super) enum Block {
    Text(String),
    /// A table of numbers that are the same on every machine.
    Counts(Table),
    /// A table of numbers that are not.
    Measured(Table),
    /// A plot and the name of its file, without folder and ending.
    Plot {
        name: String,
        svg: String,
    },
}

impl Block {
    pub(super) fn text(text: &str) -> Self {
        Self::Text(text.trim().to_owned())
    }

    pub(super) fn markdown(&self) -> String {
        match self {
            Self::Text(text) => format!("{text}\n"),
            Self::Counts(table) | Self::Measured(table) => table.markdown(),
            Self::Plot { name, .. } => format!("![States of {name}](evaluation/{name}.svg)\n"),
        }
    }
}

/// Two numbers that belong together: states and transitions.
pub(super) fn pair((one, other): (u64, u64)) -> String {
    format!("{} / {}", grouped(one), grouped(other))
}

/// How many times one number is the other.
pub(super) fn ratio(one: u64, other: u64) -> String {
    let ratio = one as f64 / other as f64;
    match ratio < 10.0 {
        true => format!("{ratio:.1}"),
        false => format!("{ratio:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_ratios_have_a_digit_more() {
        assert_eq!(ratio(3, 2), "1.5");
        assert_eq!(ratio(2_204, 100), "22");
    }
}
