//! A graph as SVG.
//!
//! Each thread has a column, and program order leads down. An event stands below those that come before it in program order and reads-from, as high as
//! possible: so events at one height are not ordered by that. Arrows lead through the gaps between columns and behind the boxes.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{Event, Graph, Relation, main_relation, names, place, title};
use crate::style::Role;
use crate::text::{Item, Span, clean, truncate, width, wrap};

/// The most characters of a line in a box.
const MOST_CHARACTERS: usize = 34;
/// The width of a character and the height of a line, in a font of 12 pixels.
const CHARACTER: usize = 7;
const LINE: usize = 16;
/// Between the border of a box and its text, around the picture, between rows, and between columns.
const PADDING: usize = 8;
const MARGIN: usize = 20;
const ROW_GAP: usize = 26;
const COLUMN_GAP: usize = 90;

/// Where an event is drawn.
struct Box {
    x: usize,
    y: usize,
    width: usize,
    height: usize,
    /// The lines of text; the last one is the place, if there is one.
    lines: Vec<String>,
    has_place: bool,
}

impl Box {
    fn middle(&self) -> usize {
        self.y + self.height / 2
    }
}

pub(super) fn write(graph: &Graph) -> String {
    let rows = rows(graph);
    let mut boxes: Vec<Box> = graph.events.iter().map(sized).collect();
    let (columns, right) = place_columns(graph, &mut boxes);
    let title_lines = lines_of(&graph.message, right.saturating_sub(MARGIN) / CHARACTER);
    let top = MARGIN + title_lines.len() * (LINE + 2) + LINE + PADDING;
    let bottom = place_rows(&rows, &mut boxes, top);

    let arrows = graph.arrows();
    let used: BTreeSet<Relation> = arrows.values().flatten().copied().collect();
    let notes = notes(graph);
    let widest = notes
        .iter()
        .map(|note| MARGIN + width(note) * CHARACTER)
        .max();
    let page = (right + MARGIN)
        .max(MARGIN + widest.unwrap_or(0))
        .max(MARGIN + 46 * CHARACTER);
    let legend = bottom + LINE;
    let after_legend = legend + (used.len() + 1) * LINE;
    let height = after_legend + notes.len() * LINE + MARGIN;

    let mut svg = Svg::new(page, height, &used);
    for (index, line) in title_lines.iter().enumerate() {
        svg.text(
            MARGIN,
            MARGIN + LINE / 2 + index * (LINE + 2),
            "title",
            line,
        );
    }
    for (thread, (x, width)) in columns.iter().enumerate() {
        svg.column(*x, *width, top - LINE, bottom, &graph.thread_name(thread));
    }
    for (&(from, to), relations) in &arrows {
        let is_next = relations.contains(&Relation::Po);
        svg.arrow(&boxes[from], &boxes[to], relations, is_next);
    }
    for (event, place) in graph.events.iter().zip(&boxes) {
        svg.event(event, place);
    }
    for (index, &relation) in used.iter().enumerate() {
        svg.legend(MARGIN, legend + index * LINE, relation);
    }
    for (index, note) in notes.iter().enumerate() {
        svg.text(MARGIN, after_legend + index * LINE, "place", note);
    }
    svg.finish()
}

/// The row of each event.
fn rows(graph: &Graph) -> Vec<usize> {
    let mut rows = vec![0; graph.events.len()];
    // Program order is among the arrows. Sources come first in the list of events, so one pass is enough.
    for ((from, to), relations) in by_target(graph) {
        if from < to && relations.iter().any(|relation| relation.is_downwards()) {
            rows[to] = rows[to].max(rows[from] + 1);
        }
    }
    rows
}

fn by_target(graph: &Graph) -> Vec<((usize, usize), Vec<Relation>)> {
    let mut arrows: Vec<_> = graph.arrows().into_iter().collect();
    arrows.sort_by_key(|((from, to), _)| (*to, *from));
    arrows
}

fn lines_of(text: &str, most: usize) -> Vec<String> {
    let text = clean(text);
    if text.is_empty() {
        return Vec::new();
    }
    let item = Item {
        span: Span::new(Role::Plain, text),
        separator: "",
    };
    let rows = wrap(&[item], most.max(20)).into_iter();
    rows.map(|row| row.into_iter().map(|span| span.text).collect())
        .collect()
}

/// A box with its text, without a place.
fn sized(event: &Event) -> Box {
    let mut lines = lines_of(&title(event), MOST_CHARACTERS);
    let at = place(&event.at);
    let has_place = !at.is_empty();
    if has_place {
        let text = clean(&event.at.text);
        let place = if text.is_empty() {
            at
        } else {
            format!("{at}  {text}")
        };
        lines.push(truncate(&place, MOST_CHARACTERS, "…"));
    }
    let widest = lines.iter().map(|line| width(line)).max().unwrap_or(0);
    Box {
        x: 0,
        y: 0,
        width: widest * CHARACTER + 2 * PADDING,
        height: lines.len().max(1) * LINE + PADDING,
        lines,
        has_place,
    }
}

/// Gives boxes their columns; returns where each column is and how wide, and where the last one ends.
fn place_columns(graph: &Graph, boxes: &mut [Box]) -> (Vec<(usize, usize)>, usize) {
    let mut columns = Vec::new();
    let mut x = MARGIN;
    for thread in 0..graph.columns() {
        let of_thread = || {
            graph
                .events
                .iter()
                .zip(0..)
                .filter(move |(event, _)| event.thread == thread)
        };
        let widest = of_thread()
            .map(|(_, index): (_, usize)| boxes[index].width)
            .max();
        let name = width(&graph.thread_name(thread)) * CHARACTER;
        let column = widest.unwrap_or(0).max(name + 2 * PADDING);
        for (_, index) in of_thread() {
            let place = &mut boxes[index];
            place.x = x + (column - place.width) / 2;
        }
        columns.push((x, column));
        x += column + COLUMN_GAP;
    }
    let right = if columns.is_empty() {
        x
    } else {
        x - COLUMN_GAP
    };
    (columns, right)
}

/// Gives boxes their heights; returns where the last row ends.
fn place_rows(rows: &[usize], boxes: &mut [Box], top: usize) -> usize {
    let mut y = top;
    let count = rows.iter().max().map_or(0, |last| last + 1);
    for row in 0..count {
        let mut tallest = 0;
        for (place, _) in boxes.iter_mut().zip(rows).filter(|(_, of)| **of == row) {
            place.y = y;
            tallest = tallest.max(place.height);
        }
        y += tallest + ROW_GAP;
    }
    y
}

/// What is said of places.
fn notes(graph: &Graph) -> Vec<String> {
    let note = |note: &crate::story::Note| {
        let thread = note.thread.map(|thread| graph.thread_name(thread));
        let at = place(&note.at);
        let parts = [at, thread.unwrap_or_default(), clean(&note.text)];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join(": ")
    };
    graph.notes.iter().map(note).collect()
}

/// The text of a picture.
struct Svg {
    text: String,
}

impl Svg {
    fn new(width: usize, height: usize, used: &BTreeSet<Relation>) -> Self {
        let mut svg = Self {
            text: String::new(),
        };
        svg.line(&format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">"
        ));
        svg.line("<style>");
        svg.line("text { font: 12px monospace; fill: #1f2328; dominant-baseline: central; }");
        svg.line(".title { font-size: 14px; font-weight: bold; fill: #cf222e; }");
        svg.line(".thread { font-weight: bold; text-anchor: middle; }");
        svg.line(".place { fill: #656d76; font-size: 11px; }");
        svg.line(".name { font-size: 11px; text-anchor: middle; stroke: white; stroke-width: 4px; paint-order: stroke; }");
        svg.line(".lane { fill: #f6f8fa; }");
        svg.line(".event { fill: white; stroke: #8c959f; }");
        svg.line(".wrong { fill: #ffebe9; stroke: #cf222e; stroke-width: 2px; }");
        svg.line(".arrow { fill: none; stroke-width: 1.5px; }");
        svg.line("</style>");
        svg.line("<defs>");
        for relation in Relation::ALL
            .into_iter()
            .filter(|relation| used.contains(relation))
        {
            svg.line(&format!(
                "<marker id=\"{}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto-start-reverse\"><path d=\"M0 0 L8 4 L0 8 z\" fill=\"{}\"/></marker>",
                relation.name(),
                relation.colour()
            ));
        }
        svg.line("</defs>");
        svg.line(&format!(
            "<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>"
        ));
        svg
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn text(&mut self, x: usize, y: usize, class: &str, text: &str) {
        let text = escaped(text);
        self.line(&format!(
            "<text x=\"{x}\" y=\"{y}\" class=\"{class}\">{text}</text>"
        ));
    }

    fn column(&mut self, x: usize, width: usize, top: usize, bottom: usize, name: &str) {
        let (left, top, width) = (x - PADDING, top - PADDING, width + 2 * PADDING);
        let height = bottom
            .saturating_sub(top + ROW_GAP - PADDING)
            .max(LINE + PADDING);
        self.line(&format!(
            "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" rx=\"6\" class=\"lane\"/>"
        ));
        self.text(left + width / 2, top + PADDING + 2, "thread", name);
    }

    fn event(&mut self, event: &Event, place: &Box) {
        let class = if event.is_wrong {
            "event wrong"
        } else {
            "event"
        };
        let (x, y, width, height) = (place.x, place.y, place.width, place.height);
        self.line(&format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"4\" class=\"{class}\"/>"
        ));
        for (index, line) in place.lines.iter().enumerate() {
            let is_place = place.has_place && index + 1 == place.lines.len();
            let class = if is_place { "place" } else { "label" };
            let y = y + PADDING / 2 + LINE / 2 + index * LINE;
            self.text(x + PADDING, y, class, line);
        }
    }

    fn arrow(&mut self, from: &Box, to: &Box, relations: &[Relation], is_next: bool) {
        let main = main_relation(relations);
        let (path, name) = match is_next {
            true => next(from, to),
            false => curve(from, to),
        };
        let (colour, id) = (main.colour(), main.name());
        let dashed = match main {
            Relation::Rb | Relation::Race => " stroke-dasharray=\"5 3\"",
            _ => "",
        };
        let back = match main {
            Relation::Race => format!(" marker-start=\"url(#{id})\""),
            _ => String::new(),
        };
        self.line(&format!(
            "<path d=\"{path}\" class=\"arrow\" stroke=\"{colour}\"{dashed}{back} marker-end=\"url(#{id})\"/>"
        ));
        let names = names(relations);
        if !names.is_empty() {
            let (x, y) = name;
            self.line(&format!(
                "<text x=\"{x}\" y=\"{y}\" class=\"name\" style=\"fill: {colour}\">{names}</text>"
            ));
        }
    }

    fn legend(&mut self, x: usize, y: usize, relation: Relation) {
        let (colour, id, end) = (relation.colour(), relation.name(), x + 36);
        self.line(&format!(
            "<path d=\"M{x} {y} L{end} {y}\" class=\"arrow\" stroke=\"{colour}\" marker-end=\"url(#{id})\"/>"
        ));
        let text = format!("{:4} {}", relation.name(), relation.meaning());
        self.text(end + PADDING, y, "legend", &text);
    }

    fn finish(mut self) -> String {
        self.line("</svg>");
        self.text
    }
}

/// A path, and where its name stands.
type Path = (String, (usize, usize));

/// From an event to the next one of its thread.
fn next(from: &Box, to: &Box) -> Path {
    let x = from.x + from.width / 2;
    let (start, end) = (from.y + from.height, to.y);
    let path = format!("M{x} {start} L{x} {end}");
    (path, (x + 3 * CHARACTER, usize::midpoint(start, end)))
}

/// A bow from the side of one box to the side of another one.
fn curve(from: &Box, to: &Box) -> Path {
    let (start, end) = (from.middle(), to.middle());
    let is_same_column = from.x < to.x + to.width && to.x < from.x + from.width;
    let mut path = String::new();
    if is_same_column {
        let (x, other) = (from.x + from.width, to.x + to.width);
        let bow = x.max(other) + COLUMN_GAP / 3;
        let _ = write!(
            path,
            "M{x} {start} C{bow} {start} {bow} {end} {other} {end}"
        );
        return (path, (bow - PADDING / 2, usize::midpoint(start, end)));
    }
    let (x, other) = match from.x < to.x {
        true => (from.x + from.width, to.x),
        false => (from.x, to.x + to.width),
    };
    let middle = usize::midpoint(x, other);
    let _ = write!(
        path,
        "M{x} {start} C{middle} {start} {middle} {end} {other} {end}"
    );
    let is_near = x.abs_diff(other) <= 2 * COLUMN_GAP;
    let name = match is_near {
        true => (middle, usize::midpoint(start, end)),
        false => beside((x, start), (other, end)),
    };
    (path, name)
}

/// Where a bow is in the gap before the column that it leads to: further back, it may be behind a box.
fn beside((x, start): (usize, usize), (other, end): (usize, usize)) -> (usize, usize) {
    let at = |from: usize, to: usize, part: f64| {
        let (from, to) = (from as f64, to as f64);
        from + (to - from) * part
    };
    let far = x.abs_diff(other) as f64;
    let wanted = 1.0 - (COLUMN_GAP / 2) as f64 / far;
    // Both coordinates grow with the parameter of the curve, so it is found by halving.
    let across = |u: f64| 1.5 * u * (1.0 - u) + u * u * u;
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..20 {
        let middle = f64::midpoint(low, high);
        match across(middle) < wanted {
            true => low = middle,
            false => high = middle,
        }
    }
    let down = low * low * (3.0 - 2.0 * low);
    (
        at(x, other, across(low)) as usize,
        at(start, end, down) as usize,
    )
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    escaped
}
