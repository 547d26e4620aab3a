//! The choices within one step, as one number.
//!
//! A step may make several choices (in an atomic block), and how many
//! alternatives a later one has may depend on what an earlier one was. A path through
//! them is a sequence of picks, each below the number of its alternatives; as one number
//! it is that sequence in mixed radix, the first pick least significant, so that it can be
//! taken apart while the step runs.

use raddle_explore::Choice;

/// The picks of the step that is running.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choices {
    /// What is left of the number.
    rest: u64,
    /// The product of the alternatives so far.
    paths: u64,
    /// Picks made, each with the number of its alternatives.
    made: Vec<(u64, u64)>,
}

impl Choices {
    pub(crate) fn begin(&mut self, choice: Choice) {
        self.rest = choice.0;
        self.paths = 1;
        self.made.clear();
    }

    /// One of that many alternatives; `None` if the number would not fit any more.
    pub(crate) fn pick(&mut self, alternatives: u64) -> Option<u64> {
        self.paths = self.paths.checked_mul(alternatives)?;
        let pick = self.rest % alternatives;
        self.rest /= alternatives;
        self.made.push((pick, alternatives));
        Some(pick)
    }

    /// The path after this one: the last pick that has another alternative takes
    /// it, and the picks after that are open again.
    pub(crate) fn next(&self) -> Option<Choice> {
        let last = self
            .made
            .iter()
            .rposition(|(pick, radix)| pick + 1 < *radix)?;
        let (mut number, mut weight) = (0u64, 1u64);
        for (index, (pick, radix)) in self.made[..=last].iter().enumerate() {
            number += weight * (pick + u64::from(index == last));
            weight *= radix;
        }
        Some(Choice(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second choice has as many alternatives as the first pick says.
    #[test]
    fn all_paths_are_enumerated_once() {
        let mut choices = Choices::default();
        let mut seen = Vec::new();
        let mut next = Some(Choice::FIRST);
        while let Some(choice) = next {
            choices.begin(choice);
            let first = choices.pick(3).unwrap();
            let second = if first > 0 {
                choices.pick(first + 1).unwrap()
            } else {
                9
            };
            let third = choices.pick(2).unwrap();
            seen.push((first, second, third));
            next = choices.next();
        }
        let expected: Vec<_> = [(0, 9), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)]
            .into_iter()
            .flat_map(|(a, b)| [(a, b, 0), (a, b, 1)])
            .collect();
        assert_eq!(seen, expected);
    }

    /// A pick that does not fit any more is no pick: its alternatives are not tried.
    #[test]
    fn paths_that_cannot_be_numbered_are_not_enumerated() {
        let mut choices = Choices::default();
        let mut next = Some(Choice(3));
        for expected in [3, 4, 5] {
            choices.begin(next.expect("the first pick has more alternatives"));
            assert_eq!(choices.pick(1 << 40), Some(expected));
            assert_eq!(choices.pick(1 << 40), None);
            next = choices.next();
        }
    }
}
