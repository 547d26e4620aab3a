//! [`Report`]: what has executed the steps, and why it was the interpreter.

/// What has executed the steps of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// At how many places steps can begin.
    pub places: usize,
    /// How many of them are not compiled.
    pub not_compiled: usize,
    /// How many steps were executed.
    pub steps: u64,
    /// Those that the interpreter executed.
    pub interpreted: Interpreted,
}

/// Why the interpreter executes a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It starts a thread.
    Spawn,
    /// It begins where code is not compiled: there is too much of it in the program, or it is where an earlier step has used up its turns.
    NotCompiled,
    /// It executes code that no step has executed before.
    NewCode,
    /// What is declared for what it accesses is not seen to be kept.
    Discipline,
    /// The state has not the fixed size.
    Form,
    /// It fails, goes on beyond the code that there is for the step (calls are too deep, or it is too long), or meets a value or an object that is too large.
    GaveUp,
}

/// All reasons, in words.
const REASONS: [(Why, &str); 6] = [
    (Why::Spawn, "that start a thread"),
    (Why::NotCompiled, "where code is not compiled"),
    (Why::NewCode, "by code that was new"),
    (Why::Discipline, "for declared disciplines"),
    (Why::Form, "from states without a fixed size"),
    (
        Why::GaveUp,
        "that failed, or met something too large or too deep",
    ),
];

/// How many steps the interpreter has executed, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interpreted([u64; REASONS.len()]);

impl Interpreted {
    pub(crate) fn count(&mut self, why: Why) {
        self.0[why as usize] += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }

    /// How many they are for one reason.
    #[must_use]
    pub fn because(&self, why: Why) -> u64 {
        self.0[why as usize]
    }

    /// How many they are together.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The reasons that there were, in words, with how many steps.
    pub fn reasons(&self) -> impl Iterator<Item = (u64, &'static str)> {
        let reasons = REASONS
            .iter()
            .map(|(why, words)| (self.because(*why), *words));
        reasons.filter(|(count, _)| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_words() {
        for (number, (why, _)) in REASONS.iter().enumerate() {
            assert_eq!(*why as usize, number);
            let mut interpreted = Interpreted::default();
            interpreted.count(*why);
            let all = interpreted;
            interpreted.add(&all);
            assert_eq!((interpreted.all(), interpreted.because(*why)), (2, 2));
            let words: Vec<_> = interpreted.reasons().collect();
            assert_eq!(words, [(2, REASONS[number].1)]);
        }
    }
}
