//! Draws how a story ended: the message, and the remarks with their places.

use super::canvas::Canvas;
use super::layout::name_of;
use crate::story::{Note, Story};
use crate::style::Role;
use crate::text::{Item, Span, clean, truncate, wrap};

/// How far what belongs to a remark is indented.
const INDENT: usize = 6;

pub(super) fn draw(page: &mut Canvas, story: &Story) {
    let ending = &story.ending;
    if ending.message.is_empty() && ending.notes.is_empty() {
        return;
    }
    page.end_line();
    if !ending.message.is_empty() {
        let end = page.put(0, Role::Error, "error");
        page.put(end, Role::Source, ":");
        paragraph(page, end + 2, Role::Source, &ending.message);
    }
    for note in &ending.notes {
        draw_note(page, story, note);
        if !note.text.is_empty() {
            page.put(3, Role::Line, page.glyphs.remark);
            paragraph(page, INDENT, Role::Error, &note.text);
        }
    }
    for note in &ending.help {
        page.end_line();
        let end = page.put(0, Role::Success, "help");
        page.put(end, Role::Source, ":");
        paragraph(page, end + 2, Role::Source, &note.text);
        draw_note(page, story, note);
    }
}

/// The place of a remark, and what stands there.
fn draw_note(page: &mut Canvas, story: &Story, note: &Note) {
    if let Some(place) = place(story, note) {
        page.put(2, Role::Line, "-->");
        paragraph(page, INDENT, Role::Plain, &place);
    }
    let text = clean(&note.at.text);
    if !text.is_empty() {
        page.put(3, Role::Line, page.glyphs.quote);
        let room = page.width() - INDENT;
        let text = truncate(&text, room, page.glyphs.ellipsis);
        page.put(INDENT, Role::Source, &text);
        page.end_line();
    }
}

/// `bank.rad:13:5 in main`
fn place(story: &Story, note: &Note) -> Option<String> {
    let at = &note.at;
    let place = (at.line > 0).then(|| format!("{}:{}:{}", at.file, at.line, at.column));
    let thread = note.thread.map(|thread| name_of(story, thread));
    match (place, thread) {
        (Some(place), Some(thread)) => Some(format!("{place} in {thread}")),
        (place, thread) => place.or(thread),
    }
}

/// Wraps a text from a column on.
pub(super) fn paragraph(page: &mut Canvas, start: usize, role: Role, text: &str) {
    let item = Item {
        span: Span::new(role, clean(text)),
        separator: "",
    };
    for row in wrap(&[item], page.width() - start) {
        page.put_spans(start, &row);
        page.end_line();
    }
}
