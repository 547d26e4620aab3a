//! Draws a script in lanes.

use super::canvas::Canvas;
use super::counted;
use super::layout::{BAR, INDENT, Lane, Layout};
use super::script::{Scene, Script, Stand, Statement};
use crate::style::Role;
use crate::text::{Span, truncate, width, wrap};

pub(super) fn draw(page: &mut Canvas, script: &Script, layout: &Layout, lanes: &[Lane]) {
    let mut drawing = Drawing {
        page,
        layout,
        lanes,
    };
    drawing.header();
    for scene in &script.scenes {
        match scene {
            Scene::Statement(statement) => drawing.statement(statement),
            Scene::Gap { steps } => drawing.gap(*steps),
            Scene::Repeat => drawing.repeat(),
        }
    }
    drawing.stands(&script.stands);
}

struct Drawing<'a> {
    page: &'a mut Canvas,
    layout: &'a Layout,
    lanes: &'a [Lane],
}

impl Drawing<'_> {
    fn header(&mut self) {
        header(self.page, self.layout);
        let end = self
            .lanes
            .last()
            .map_or(0, |lane| lane.start + BAR + lane.width);
        for lane in self.lanes {
            self.page
                .put(lane.start, Role::Thread(lane.thread), &lane.name);
        }
        self.page.end_line();
        self.page.fill(0..end, Role::Faint, self.page.glyphs.rule);
        for lane in self.lanes {
            let top = self.page.glyphs.lane_top;
            self.page.put_char(lane.start, Role::Faint, top);
        }
        self.page.end_line();
    }

    fn idle_bars(&mut self) {
        for lane in self.lanes {
            let idle = self.page.glyphs.idle;
            self.page.put_char(lane.start, Role::Faint, idle);
        }
    }

    /// The number of the lane of a thread.
    fn lane_of(&self, thread: usize) -> Option<usize> {
        self.lanes
            .binary_search_by_key(&thread, |lane| lane.thread)
            .ok()
    }

    fn statement(&mut self, statement: &Statement) {
        let Some(number) = self.lane_of(statement.thread) else {
            return;
        };
        let lane = &self.lanes[number];
        let (bar, source) = if statement.fails {
            (Role::Error, Role::Error)
        } else {
            (Role::Thread(lane.thread), Role::Source)
        };
        let active = self.page.glyphs.active;

        self.idle_bars();
        statement_numbers(self.page, self.layout, statement);
        let text = truncate(&statement.text, lane.width, self.page.glyphs.ellipsis);
        self.page.put_char(lane.start, bar, active);
        let end = self.page.put(lane.start + BAR, source, &text);
        if let Some(from) = statement.switch_from.and_then(|from| self.lane_of(from)) {
            self.arrow(from, number, end);
        }
        self.page.end_line();

        for (index, step) in statement.steps.iter().enumerate() {
            let mut rows = wrap(&step.items, lane.width.saturating_sub(INDENT));
            if index > 0 && rows.is_empty() {
                rows.push(Vec::new());
            }
            for (row, spans) in rows.iter().enumerate() {
                self.idle_bars();
                if index > 0 && row == 0 {
                    if statement.fails_in(index) {
                        wrong_mark(self.page);
                    }
                    step_number(self.page, self.layout, step.number);
                }
                self.page.put_char(lane.start, bar, active);
                self.page.put_spans(lane.start + BAR + INDENT, spans);
                self.page.end_line();
            }
        }
    }

    /// An arrow from one lane to the text in another, which ends at `text_end`.
    fn arrow(&mut self, from: usize, to: usize, text_end: usize) {
        let role = Role::Thread(self.lanes[to].thread);
        let (start, target) = (self.lanes[from].start, self.lanes[to].start);
        let glyphs = self.page.glyphs;
        if start < target {
            self.page.put_char(start, role, glyphs.leave_right);
            self.page.fill(start + 1..target - 1, role, glyphs.shaft);
            self.page.put_char(target - 1, role, glyphs.head_right);
        } else {
            self.page.put_char(text_end + 1, role, glyphs.head_left);
            self.page.fill(text_end + 2..start, role, glyphs.shaft);
            self.page.put_char(start, role, glyphs.leave_left);
        }
    }

    fn gap(&mut self, steps: usize) {
        self.idle_bars();
        self.page.end_line();
        gap_marks(self.page, self.layout);
        let text = format!("{} left out", counted(steps, "step"));
        let start = self.lanes.first().map_or(0, |lane| lane.start);
        self.page.put(start, Role::Faint, &text);
        for lane in self.lanes {
            if lane.start > start + width(&text) {
                let gap = self.page.glyphs.gap;
                self.page.put_char(lane.start, Role::Faint, gap);
            }
        }
        self.page.end_line();
        self.idle_bars();
        self.page.end_line();
    }

    /// The line above what repeats for ever.
    fn repeat(&mut self) {
        let start = self.lanes.first().map_or(0, |lane| lane.start);
        let end = (self.lanes.last()).map_or(0, |lane| lane.start + BAR + lane.width);
        self.page.fill(0..end, Role::Change, self.page.glyphs.shaft);
        let text = truncate(
            REPEATS,
            end.saturating_sub(start),
            self.page.glyphs.ellipsis,
        );
        self.page.put(start, Role::Change, &text);
        self.page.end_line();
    }

    /// Where the threads stand at the end, all at once.
    fn stands(&mut self, stands: &[Stand]) {
        let mut cells: Vec<Vec<Vec<Span>>> = vec![Vec::new(); self.lanes.len()];
        let same_line = stands.iter().all(|stand| stand.line == stands[0].line);
        for stand in stands {
            if let Some(lane) = self.lane_of(stand.thread) {
                cells[lane].extend(self.stand(stand, lane, same_line));
            }
        }
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        if height == 0 {
            return;
        }
        if stands.len() > 1 {
            self.idle_bars();
            self.page.end_line();
        }
        for row in 0..height {
            self.idle_bars();
            if row == 0 {
                let line = stands[0].line;
                wrong_mark(self.page);
                if same_line {
                    line_number(self.page, self.layout, line);
                }
            }
            for (lane, cell) in self.lanes.iter().zip(&cells) {
                if let Some(spans) = cell.get(row) {
                    let active = self.page.glyphs.active;
                    self.page.put_char(lane.start, Role::Error, active);
                    self.page.put_spans(lane.start + BAR, spans);
                }
            }
            self.page.end_line();
        }
    }

    fn stand(&self, stand: &Stand, lane: usize, same_line: bool) -> Vec<Vec<Span>> {
        let room = self.lanes[lane].width;
        let number = if same_line || stand.line == 0 {
            String::new()
        } else {
            format!("{}: ", stand.line)
        };
        let text = truncate(
            &stand.text,
            room.saturating_sub(width(&number)),
            self.page.glyphs.ellipsis,
        );
        let mut rows = vec![vec![
            Span::new(Role::Line, number),
            Span::new(Role::Error, text),
        ]];
        for mut row in wrap(&stand.items, room.saturating_sub(INDENT)) {
            row.insert(0, Span::new(Role::Plain, " ".repeat(INDENT)));
            rows.push(row);
        }
        rows
    }
}

/// What is said above steps that repeat.
pub(super) const REPEATS: &str = " from here on, again and again ";

pub(super) fn header(page: &mut Canvas, layout: &Layout) {
    page.put_right(layout.step_end, Role::Faint, "step");
    page.put_right(layout.line_end, Role::Faint, "line");
}

pub(super) fn statement_numbers(page: &mut Canvas, layout: &Layout, statement: &Statement) {
    if statement.fails_in(0) {
        wrong_mark(page);
    }
    step_number(page, layout, statement.steps[0].number);
    line_number(page, layout, statement.line);
}

pub(super) fn wrong_mark(page: &mut Canvas) {
    page.put_char(0, Role::Error, page.glyphs.wrong);
}

pub(super) fn step_number(page: &mut Canvas, layout: &Layout, number: usize) {
    page.put_right(layout.step_end, Role::Faint, &number.to_string());
}

pub(super) fn line_number(page: &mut Canvas, layout: &Layout, line: u32) {
    if line > 0 {
        page.put_right(layout.line_end, Role::Line, &line.to_string());
    }
}

pub(super) fn gap_marks(page: &mut Canvas, layout: &Layout) {
    let gap = page.glyphs.gap;
    page.put_char(layout.step_end - 1, Role::Faint, gap);
    page.put_char(layout.line_end - 1, Role::Faint, gap);
}
