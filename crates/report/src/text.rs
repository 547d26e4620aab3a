//! Fitting text into columns.
//!
//! Every character counts as one column.

use crate::style::Role;

/// A piece of text of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) role: Role,
    pub(crate) text: String,
}

impl Span {
    pub(crate) fn new(role: Role, text: impl Into<String>) -> Self {
        Self {
            role,
            text: text.into(),
        }
    }

    pub(crate) fn width(&self) -> usize {
        width(&self.text)
    }
}

/// Something to say that is kept on one row if it fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) span: Span,
    /// What parts it from the item before it on the same row.
    pub(crate) separator: &'static str,
}

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}

/// The text on one line and without anything that moves the cursor, reverses the
/// direction of writing, or cannot be seen.
pub(crate) fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut folding = false;
    for c in text.trim().chars() {
        if folding && c.is_whitespace() {
            continue;
        }
        folding = c != ' ' && c.is_whitespace();
        if folding {
            if !clean.ends_with(' ') {
                clean.push(' ');
            }
        } else if is_hidden(c) {
            clean.extend(c.escape_unicode());
        } else {
            clean.push(c);
        }
    }
    clean
}

fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// At most `max` columns of a text, with `ellipsis` in place of what is missing at the end.
pub(crate) fn truncate(text: &str, max: usize, ellipsis: &str) -> String {
    if width(text) <= max {
        return text.to_owned();
    }
    let kept = max.saturating_sub(width(ellipsis));
    text.chars()
        .take(kept)
        .chain(ellipsis.chars())
        .take(max)
        .collect()
}

/// At most `max` columns of a name. What tells `philosopher[1]` from `philosopher[2]` is at its
/// end, so what is missing is missing before that.
pub(crate) fn shorten_name(name: &str, max: usize, ellipsis: &str) -> String {
    let tail_at = name.rfind(['[', '#']).unwrap_or(name.len());
    let (head, tail) = name.split_at(tail_at);
    if width(name) <= max || width(tail) + width(ellipsis) >= max {
        return truncate(name, max, ellipsis);
    }
    truncate(head, max - width(tail), ellipsis) + tail
}

/// Sets items into rows of at most `max` columns. An item that is longer than a row is broken
/// between words, a word that is longer anywhere.
pub(crate) fn wrap(items: &[Item], max: usize) -> Vec<Vec<Span>> {
    let mut rows = Rows {
        max: max.max(1),
        done: Vec::new(),
        row: Vec::new(),
        used: 0,
    };
    for item in items {
        let (role, text) = (item.span.role, item.span.text.as_str());
        if !rows.fits(item.separator, text) {
            rows.end_row();
        }
        if rows.fits(item.separator, text) {
            rows.push(item.separator, role, text);
        } else {
            rows.push_broken(role, text);
        }
    }
    rows.end_row();
    rows.done
}

struct Rows {
    max: usize,
    done: Vec<Vec<Span>>,
    row: Vec<Span>,
    used: usize,
}

impl Rows {
    fn gap<'a>(&self, separator: &'a str) -> &'a str {
        if self.used == 0 { "" } else { separator }
    }

    fn fits(&self, separator: &str, text: &str) -> bool {
        self.used + width(self.gap(separator)) + width(text) <= self.max
    }

    fn push(&mut self, separator: &str, role: Role, text: &str) {
        let gap = self.gap(separator);
        if !gap.is_empty() {
            self.used += width(gap);
            self.row.push(Span::new(Role::Faint, gap));
        }
        self.used += width(text);
        self.row.push(Span::new(role, text));
    }

    fn push_broken(&mut self, role: Role, text: &str) {
        for word in text.split(' ') {
            if !self.fits(" ", word) {
                self.end_row();
            }
            let mut rest = word;
            while let Some((at, _)) = rest.char_indices().nth(self.max) {
                let (row, after) = rest.split_at(at);
                self.push("", role, row);
                self.end_row();
                rest = after;
            }
            self.push(" ", role, rest);
        }
    }

    fn end_row(&mut self) {
        if !self.row.is_empty() {
            self.done.push(std::mem::take(&mut self.row));
        }
        self.used = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(texts: &[&str], max: usize) -> Vec<String> {
        let items: Vec<Item> = texts
            .iter()
            .map(|text| Item {
                span: Span::new(Role::Plain, *text),
                separator: ", ",
            })
            .collect();
        wrap(&items, max)
            .iter()
            .map(|row| row.iter().map(|span| span.text.as_str()).collect())
            .collect()
    }

    #[test]
    fn clean_text_is_one_line_that_can_be_seen() {
        assert_eq!(clean("  x = 1;\n\t  y = 2; "), "x = 1; y = 2;");
        assert_eq!(clean("\"a  b\""), "\"a  b\"");
        assert_eq!(
            clean("a\u{1b}[31mb\u{202e}\u{7f}"),
            "a\\u{1b}[31mb\\u{202e}\\u{7f}"
        );
        assert_eq!(clean("größe → ∞"), "größe → ∞");
    }

    #[test]
    fn truncation_counts_characters() {
        assert_eq!(truncate("größer", 6, "…"), "größer");
        assert_eq!(truncate("größer", 5, "…"), "größ…");
        assert_eq!(truncate("größer", 5, "..."), "gr...");
        assert_eq!(truncate("größer", 2, "..."), "..");
        assert_eq!(truncate("größer", 0, "…"), "");
    }

    #[test]
    fn short_names_keep_their_number() {
        assert_eq!(shorten_name("philosopher[12]", 15, "…"), "philosopher[12]");
        assert_eq!(shorten_name("philosopher[12]", 10, "…"), "philo…[12]");
        assert_eq!(shorten_name("philosopher[12]", 5, "…"), "phil…");
        assert_eq!(shorten_name("philosopher", 5, "…"), "phil…");
    }

    #[test]
    fn items_stay_whole_where_they_can() {
        assert_eq!(
            wrapped(&["reads x = 1", "y: 0 → 1"], 21),
            ["reads x = 1, y: 0 → 1"]
        );
        assert_eq!(
            wrapped(&["reads x = 1", "y: 0 → 1"], 20),
            ["reads x = 1", "y: 0 → 1"]
        );
        assert_eq!(wrapped(&["a", "reads x = 1"], 8), ["a", "reads x", "= 1"]);
        assert_eq!(wrapped(&["abcdefghij k"], 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(wrapped(&["abcdefgh"], 4), ["abcd", "efgh"]);
        assert!(wrapped(&[], 4).is_empty());
    }
}
