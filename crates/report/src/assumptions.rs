//! What a verdict rests on, for people.

use std::fmt::Write as _;

use raddle_outcome::{Assumptions, Kind};

use crate::story::Spot;

/// So many places of one kind are named.
const MOST_PLACES: usize = 3;

/// One line for each kind of assumption, with its places: those that make a search incomplete, or all.
///
/// ```
/// use raddle_outcome::{Assumptions, Kind};
/// use raddle_report::{assumptions, story::Spot};
///
/// let mut all = Assumptions::default();
/// for line in 1..=5 {
///     let place = Spot { file: "a.rs".into(), line, column: 9, text: String::new() };
///     all.add(Kind::WeakOrdering.at(place));
/// }
/// let lines = assumptions::lines(&all, |_| true);
/// assert!(lines[0].ends_with(", at a.rs:1:9, a.rs:2:9, a.rs:3:9 and 2 more places"));
/// ```
#[must_use]
pub fn lines(all: &Assumptions<Spot>, wanted: impl Fn(Kind) -> bool) -> Vec<String> {
    let mut kinds: Vec<Kind> = Vec::new();
    for one in all {
        if wanted(one.kind) && !kinds.contains(&one.kind) {
            kinds.push(one.kind);
        }
    }
    kinds.into_iter().map(|kind| line(all, kind)).collect()
}

fn line(all: &Assumptions<Spot>, kind: Kind) -> String {
    let alike = || all.iter().filter(|one| one.kind == kind);
    let places: Vec<_> = alike().filter_map(|one| one.place.as_ref()).collect();
    let mut line = kind.message().to_owned();
    for (index, place) in places.iter().take(MOST_PLACES).enumerate() {
        line += if index == 0 { ", at " } else { ", " };
        let _ = write!(line, "{}:{}:{}", place.file, place.line, place.column);
        if !place.text.is_empty() {
            let _ = write!(line, " (`{}`)", place.text);
        }
    }
    match places.len().saturating_sub(MOST_PLACES) {
        0 => {}
        1 => line += " and 1 more place",
        more => {
            let _ = write!(line, " and {more} more places");
        }
    }
    if let Some(detail) = alike().find_map(|one| one.detail.as_ref()) {
        let _ = write!(line, ": {detail}");
    }
    line
}
