//! What reductions must agree on, and whether they do.
//!
//! A reduction that preserves a property and has come to its end knows whether the property is
//! violated. For failures of threads it also knows where: a reduction keeps every local state
//! of every thread. So all reductions that answer a question must give the same answer. Nothing
//! here runs a search: rows go in, disagreements come out.

use std::collections::BTreeSet;
use std::fmt;

use raddle_explore::{Property, PropertySet};

/// What a program is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Question {
    Property(Property),
    /// Whether every goal is reached.
    Goal,
}

impl Question {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Property(property) => property.name(),
            Self::Goal => "goal",
        }
    }

    /// Whether the places at which it is violated must be the same under every reduction. Of
    /// deadlocks, races and broken invariants another one may be met.
    pub(super) fn is_about_places(self) -> bool {
        match self {
            Self::Property(property) => matches!(
                property,
                Property::Assertion | Property::Runtime | Property::Discipline
            ),
            Self::Goal => true,
        }
    }
}

/// Something that is wrong with a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Finding {
    pub(super) question: Question,
    /// Line and column, if the question is about places.
    pub(super) at: Option<(u32, u32)>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.question.name())?;
        match self.at {
            Some((line, _)) => write!(f, " @ {line}"),
            None => Ok(()),
        }
    }
}

/// What a reduction has to say about a program.
#[derive(Clone, Debug)]
pub(super) struct Answers {
    /// What it claims to preserve, of what was asked.
    pub(super) preserves: PropertySet,
    /// Whether it also answers for goals.
    pub(super) goals: bool,
    /// Whether it claims that there are no deadlocks, without having looked for them.
    pub(super) excludes_deadlocks: bool,
    /// Whether its search came to its end.
    pub(super) complete: bool,
    pub(super) findings: BTreeSet<Finding>,
}

impl Answers {
    /// Whether it says something about the question that can be relied on.
    fn answers(&self, question: Question) -> bool {
        self.complete
            && match question {
                Question::Property(property) => {
                    self.preserves.contains(property)
                        || (property == Property::Deadlock && self.excludes_deadlocks)
                }
                Question::Goal => self.goals,
            }
    }
}

/// One has found something that another one says is not there; both by their positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Disagreement {
    pub(super) about: Finding,
    pub(super) found_by: usize,
    pub(super) missed_by: usize,
}

/// Everything that two of the rows should agree on and do not.
pub(super) fn disagreements(rows: &[&Answers]) -> Vec<Disagreement> {
    let mut disagreements = Vec::new();
    for about in found_by_any(rows) {
        let answering = |row: &&Answers| row.answers(about.question);
        let found = |row: &&Answers| row.findings.contains(&about);
        let found_by = rows.iter().position(|row| answering(row) && found(row));
        for (missed_by, row) in rows.iter().enumerate() {
            if let Some(found_by) = found_by
                && answering(row)
                && !found(row)
            {
                disagreements.push(Disagreement {
                    about,
                    found_by,
                    missed_by,
                });
            }
        }
    }
    disagreements
}

/// What a row that answers for nothing has not found, of what the others have: only
/// questions that it was asked.
pub(super) fn missed(row: &Answers, asked: &[Question], rows: &[&Answers]) -> Vec<Finding> {
    if !row.complete {
        return Vec::new();
    }
    let found = found_by_any(rows).into_iter();
    found
        .filter(|finding| asked.contains(&finding.question) && !row.findings.contains(finding))
        .collect()
}

/// What rows that can be relied on have found.
fn found_by_any(rows: &[&Answers]) -> BTreeSet<Finding> {
    let reliable = rows.iter().flat_map(|row| {
        let findings = row.findings.iter().copied();
        findings.filter(|finding| row.answers(finding.question))
    });
    reliable.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assertion(line: u32) -> Finding {
        Finding {
            question: Question::Property(Property::Assertion),
            at: Some((line, 5)),
        }
    }

    const DEADLOCK: Finding = Finding {
        question: Question::Property(Property::Deadlock),
        at: None,
    };
    const GOAL: Finding = Finding {
        question: Question::Goal,
        at: Some((9, 1)),
    };

    fn row(preserves: PropertySet, findings: &[Finding]) -> Answers {
        Answers {
            preserves,
            goals: true,
            excludes_deadlocks: false,
            complete: true,
            findings: findings.iter().copied().collect(),
        }
    }

    fn full(findings: &[Finding]) -> Answers {
        row(PropertySet::ALL, findings)
    }

    fn without_deadlocks(findings: &[Finding]) -> Answers {
        row(PropertySet::ALL.without(Property::Deadlock), findings)
    }

    #[test]
    fn equal_answers_agree() {
        let rows = [
            full(&[assertion(3), DEADLOCK]),
            full(&[DEADLOCK, assertion(3)]),
        ];
        assert_eq!(disagreements(&[&rows[0], &rows[1]]), []);
        assert_eq!(disagreements(&[]), []);
    }

    #[test]
    fn a_place_that_is_missed_is_a_disagreement_whoever_comes_first() {
        let more = full(&[assertion(3), assertion(7)]);
        let less = full(&[assertion(3)]);
        let about = assertion(7);
        assert_eq!(
            disagreements(&[&more, &less]),
            [Disagreement {
                about,
                found_by: 0,
                missed_by: 1
            }]
        );
        assert_eq!(
            disagreements(&[&less, &more, &less]),
            [
                Disagreement {
                    about,
                    found_by: 1,
                    missed_by: 0
                },
                Disagreement {
                    about,
                    found_by: 1,
                    missed_by: 2
                },
            ]
        );
    }

    #[test]
    fn what_is_not_preserved_need_not_be_found() {
        let full = full(&[DEADLOCK]);
        assert_eq!(disagreements(&[&full, &without_deadlocks(&[])]), []);
        // But what is excluded must not be there.
        let excluding = Answers {
            excludes_deadlocks: true,
            ..without_deadlocks(&[])
        };
        let [disagreement] = disagreements(&[&full, &excluding])[..] else {
            panic!("one is wrong");
        };
        assert_eq!(disagreement.about, DEADLOCK);
    }

    #[test]
    fn a_search_that_was_cut_answers_nothing() {
        let cut = Answers {
            complete: false,
            ..full(&[])
        };
        assert_eq!(disagreements(&[&full(&[assertion(3)]), &cut]), []);
        assert_eq!(disagreements(&[&cut, &full(&[GOAL])]), []);
    }

    #[test]
    fn goals_are_compared_too() {
        let disagreements = disagreements(&[&full(&[]), &without_deadlocks(&[GOAL])]);
        assert_eq!(disagreements[0].about, GOAL);
        assert_eq!(
            (disagreements[0].found_by, disagreements[0].missed_by),
            (1, 0)
        );
    }

    #[test]
    fn an_unsound_row_misses_but_does_not_disagree() {
        let unsound = Answers {
            goals: false,
            ..row(PropertySet::NONE, &[assertion(3)])
        };
        let full = full(&[assertion(3), assertion(7), DEADLOCK]);
        assert_eq!(disagreements(&[&full, &unsound]), []);
        let asked = [assertion(3).question, Question::Goal];
        let missed_by = |row: &Answers| missed(row, &asked, &[&full, row]);
        assert_eq!(missed_by(&unsound), [assertion(7)]);
        let cut = Answers {
            complete: false,
            ..unsound
        };
        assert_eq!(missed_by(&cut), []);
    }
}
