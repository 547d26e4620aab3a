//! The `.expect` file beside a program; `corpus/README.md` says what is in it.

use std::collections::{BTreeSet, HashSet};

/// The keys of memory models.
const MODELS: [&str; 3] = ["sc", "ra", "rc11"];

/// What is expected of a program.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Expectation {
    /// Whether some property or goal is violated.
    pub(crate) violated: bool,
    /// `kind @ LINE`, or `deadlock`.
    pub(crate) violations: BTreeSet<String>,
    pub(crate) races: bool,
    /// Whether every weakly fair execution ends, if that is said.
    pub(crate) terminates: Option<bool>,
    /// Without them, the program has not been counted yet.
    pub(crate) counts: Option<Counts>,
    pub(crate) published: Option<Published>,
}

/// The size of a state space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) states: u64,
    pub(crate) transitions: u64,
}

/// The size that a paper gives, and how it was counted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Published {
    pub(crate) counts: Counts,
    pub(crate) self_loops: SelfLoops,
    /// With cartesian reduction, as the paper prints it.
    pub(crate) cartesian: Option<Counts>,
    /// With cartesian reduction, as the paper's tables have it.
    pub(crate) cartesian_paper: Option<Counts>,
}

/// Which threads that cannot move count as transitions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SelfLoops {
    Blocked,
    All,
}

impl Expectation {
    /// Reads the text of a file.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut fields = Fields::parse(text)?;
        // What is expected under memory models is compared elsewhere (`crates/graphs/tests/litmus.rs`).
        fields.single.retain(|(key, _)| !MODELS.contains(key));
        let expectation = Self {
            violated: match fields.needed("verdict")? {
                "verified" => false,
                "violation" => true,
                other => return Err(format!("`{other}` is no verdict")),
            },
            races: match fields.needed("races")? {
                "yes" => true,
                "no" => false,
                other => return Err(format!("races = {other}: yes or no is needed")),
            },
            terminates: match fields.take("terminates") {
                None => None,
                Some("yes") => Some(true),
                Some("no") => Some(false),
                Some(other) => return Err(format!("terminates = {other}: yes or no is needed")),
            },
            counts: fields.counts("states", "transitions")?,
            published: match fields.counts("reference_states", "reference_transitions")? {
                None => None,
                Some(counts) => Some(Published {
                    counts,
                    self_loops: match fields.needed("self_loops")? {
                        "blocked" => SelfLoops::Blocked,
                        "all" => SelfLoops::All,
                        other => return Err(format!("`{other}` are no self-loops")),
                    },
                    cartesian: fields.counts("cartesian_states", "cartesian_transitions")?,
                    cartesian_paper: fields
                        .counts("cartesian_paper_states", "cartesian_paper_transitions")?,
                }),
            },
            violations: fields.violations,
        };
        if let Some((key, _)) = fields.single.first() {
            return Err(format!("there is no key `{key}` (here)"));
        }
        if expectation.violated == expectation.violations.is_empty() {
            return Err("verdict and violations contradict one another".into());
        }
        Ok(expectation)
    }
}

/// The text with other counts, and nothing else changed.
pub(crate) fn with_counts(text: &str, counts: Counts) -> String {
    let is_count = |line: &&str| {
        let key = line.split('=').next().unwrap_or_default().trim();
        key == "states" || key == "transitions"
    };
    let others: String = text
        .lines()
        .filter(|line| !is_count(line))
        .flat_map(|line| [line, "\n"])
        .collect();
    let Counts {
        states,
        transitions,
    } = counts;
    format!("{others}states = {states}\ntransitions = {transitions}\n")
}

/// The lines of a file, those that have not been asked for yet.
struct Fields<'t> {
    single: Vec<(&'t str, &'t str)>,
    violations: BTreeSet<String>,
}

impl<'t> Fields<'t> {
    fn parse(text: &'t str) -> Result<Self, String> {
        let mut fields = Self {
            single: Vec::new(),
            violations: BTreeSet::new(),
        };
        let mut seen = HashSet::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let (key, value) = line
                .split_once('=')
                .map(|(key, value)| (key.trim(), value.trim()))
                .ok_or_else(|| format!("`{line}` is not `key = value`"))?;
            let new = if key == "violation" {
                fields.violations.insert(value.to_owned())
            } else {
                fields.single.push((key, value));
                seen.insert(key)
            };
            if !new {
                return Err(format!("`{line}` repeats a key or a violation"));
            }
        }
        Ok(fields)
    }

    fn take(&mut self, key: &str) -> Option<&'t str> {
        let position = self.single.iter().position(|(other, _)| *other == key)?;
        Some(self.single.remove(position).1)
    }

    fn needed(&mut self, key: &str) -> Result<&'t str, String> {
        self.take(key).ok_or_else(|| format!("`{key}` is missing"))
    }

    /// Two numbers of which there are both or none.
    fn counts(&mut self, states: &str, transitions: &str) -> Result<Option<Counts>, String> {
        let number = |text: &str| text.parse().map_err(|_| format!("`{text}` is no number"));
        match (self.take(states), self.take(transitions)) {
            (None, None) => Ok(None),
            (Some(states), Some(transitions)) => Ok(Some(Counts {
                states: number(states)?,
                transitions: number(transitions)?,
            })),
            _ => Err(format!("there is only one of `{states}`, `{transitions}`")),
        }
    }
}

#[test]
fn a_file_is_read_and_its_counts_are_replaced() {
    let text = "verdict = violation\nviolation = assertion @ 17\nviolation = deadlock\n\
                races = no\n";
    let expectation = Expectation::parse(text).unwrap();
    assert!(expectation.violated && !expectation.races);
    assert_eq!(expectation.violations.len(), 2);
    assert_eq!(expectation.counts, None);

    let counts = Counts {
        states: 3,
        transitions: 4,
    };
    let counted = with_counts(text, counts);
    assert_eq!(Expectation::parse(&counted).unwrap().counts, Some(counts));
    assert_eq!(with_counts(&counted, counts), counted);
}

#[test]
fn mistakes_in_a_file_are_reported() {
    for (text, complaint) in [
        ("races = no", "`verdict` is missing"),
        ("verdict = verified", "`races` is missing"),
        ("verdict = maybe\nraces = no", "no verdict"),
        ("verdict = violation\nraces = no", "contradict"),
        ("verdict = verified\nraces = no\nstates = 3", "only one of"),
        (
            "verdict = verified\nraces = no\ncolour = red",
            "no key `colour`",
        ),
        ("verdict = verified\nverdict = verified", "repeats"),
        ("verdict", "not `key = value`"),
    ] {
        let error = Expectation::parse(text).unwrap_err();
        assert!(error.contains(complaint), "{text}: {error}");
    }
}
