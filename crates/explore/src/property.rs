//! What can be asked of a program, and sets of it.

use std::fmt;

use raddle_outcome::{Assumption, Kind};

use crate::system::{FaultKind, Place};

/// A property that a search checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Property {
    /// No assertion fails.
    Assertion,
    /// No step makes a runtime error.
    Runtime,
    /// There is no state in which some thread is blocked and none can move.
    Deadlock,
    /// There is no state in which two threads are about to make conflicting plain
    /// accesses.
    Race,
    /// Every invariant holds in every state.
    Invariant,
    /// Every access keeps to the discipline that is declared for what it touches.
    Discipline,
    /// Every weakly fair execution ends: no thread goes on for ever.
    Termination,
}

impl Property {
    /// All properties, in a fixed order.
    pub const ALL: [Self; 7] = [
        Self::Assertion,
        Self::Runtime,
        Self::Deadlock,
        Self::Race,
        Self::Invariant,
        Self::Discipline,
        Self::Termination,
    ];

    /// The name that users write.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Assertion => "assertion",
            Self::Runtime => "runtime",
            Self::Deadlock => "deadlock",
            Self::Race => "race",
            Self::Invariant => "invariant",
            Self::Discipline => "discipline",
            Self::Termination => "termination",
        }
    }

    /// The property of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|property| property.name() == name)
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FaultKind {
    /// The property that such a failure violates.
    ///
    /// # Errors
    ///
    /// If it violates none: it is a limit of the system, which cuts the search.
    pub fn property(self) -> Result<Property, Assumption<Place>> {
        Ok(match self {
            Self::Assertion => Property::Assertion,
            Self::Runtime => Property::Runtime,
            Self::Invariant => Property::Invariant,
            Self::Discipline => Property::Discipline,
            Self::Capacity(what) => return Err(Assumption::from(Kind::Capacity).because(what)),
        })
    }
}

/// A set of properties. The default is all but [`Property::Race`] and [`Property::Termination`]: every
/// schedule of plain accesses has a defined meaning, so a race is not an error in itself, and many
/// programs are meant to go on for ever.
///
/// ```
/// use raddle_explore::{Property, PropertySet};
///
/// let asked = PropertySet::default().with(Property::Race);
/// assert_eq!(asked, PropertySet::SAFETY);
/// assert_eq!(asked.minus(PropertySet::default()).to_string(), "race");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PropertySet(u8);

impl PropertySet {
    /// No property.
    pub const NONE: Self = Self(0);
    /// Every property.
    pub const ALL: Self = Self((1 << Property::ALL.len()) - 1);

    /// Every property that a finite execution can violate: all but termination.
    pub const SAFETY: Self = Self::ALL.without(Property::Termination);

    /// Whether the property is in the set.
    #[must_use]
    pub const fn contains(self, property: Property) -> bool {
        self.0 & property.bit() != 0
    }

    /// The set and one property more.
    #[must_use]
    pub const fn with(self, property: Property) -> Self {
        Self(self.0 | property.bit())
    }

    /// What is in this set or in the other.
    #[must_use]
    pub const fn with_all(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The set without one property.
    #[must_use]
    pub const fn without(self, property: Property) -> Self {
        Self(self.0 & !property.bit())
    }

    /// What is in this set and not in the other.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether nothing is in the set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The properties in the set, in the order of [`Property::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Property> {
        Property::ALL.into_iter().filter(move |&p| self.contains(p))
    }
}

impl Default for PropertySet {
    fn default() -> Self {
        Self::SAFETY.without(Property::Race)
    }
}

impl FromIterator<Property> for PropertySet {
    fn from_iter<I: IntoIterator<Item = Property>>(properties: I) -> Self {
        properties.into_iter().fold(Self::NONE, Self::with)
    }
}

impl fmt::Display for PropertySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(Property::name).collect();
        f.write_str(&names.join(", "))
    }
}

impl fmt::Debug for PropertySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_what_was_put_in() {
        for property in Property::ALL {
            let alone: PropertySet = [property].into_iter().collect();
            assert!(alone.contains(property));
            assert_eq!(alone.iter().collect::<Vec<_>>(), [property]);
            assert!(alone.without(property).is_empty());
            assert_eq!(Property::from_name(property.name()), Some(property));
        }
        assert!(!PropertySet::default().contains(Property::Race));
        assert_eq!(PropertySet::default().iter().count(), 5);
        assert_eq!(
            Property::ALL.into_iter().collect::<PropertySet>(),
            PropertySet::ALL
        );
    }
}
