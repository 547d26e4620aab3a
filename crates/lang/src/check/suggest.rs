//! "Did you mean ...?"

/// The candidate nearest to a misspelt name, if one is near enough to be meant.
pub(super) fn nearest<'c>(
    name: &str,
    candidates: impl Iterator<Item = &'c str>,
) -> Option<&'c str> {
    let limit = (name.chars().count() / 3).max(1);
    candidates
        .map(|candidate| (distance(name, candidate, limit), candidate))
        .filter(|(distance, candidate)| *distance <= limit && *candidate != name)
        .min()
        .map(|(_, candidate)| candidate)
}

/// The number of insertions, deletions and replacements between two names, or
/// something above `limit` if it is more than that.
fn distance(a: &str, b: &str, limit: usize) -> usize {
    let b: Vec<char> = b.chars().collect();
    if a.chars().count().abs_diff(b.len()) > limit {
        return limit + 1;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let names = ["balance", "amount", "x"];
        assert_eq!(nearest("balanse", names.into_iter()), Some("balance"));
        assert_eq!(nearest("blance", names.into_iter()), Some("balance"));
        assert_eq!(nearest("total", names.into_iter()), None);
    }
}
