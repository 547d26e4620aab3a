//! Draws a script in one column, with the name of the thread beside each statement.

use super::canvas::Canvas;
use super::counted;
use super::draw::{
    REPEATS, gap_marks, header, line_number, statement_numbers, step_number, wrong_mark,
};
use super::layout::{INDENT, Layout, List, name_of};
use super::script::{Scene, Script, Stand, Statement};
use crate::story::Story;
use crate::style::Role;
use crate::text::{Item, shorten_name, truncate, wrap};

pub(super) fn draw(
    page: &mut Canvas,
    story: &Story,
    script: &Script,
    layout: &Layout,
    list: &List,
) {
    let mut drawing = Drawing {
        page,
        story,
        layout,
        list,
    };
    drawing.header();
    for scene in &script.scenes {
        match scene {
            Scene::Statement(statement) => drawing.statement(statement),
            Scene::Gap { steps } => drawing.gap(*steps),
            Scene::Repeat => drawing.repeat(),
        }
    }
    for stand in &script.stands {
        drawing.stand(stand);
    }
}

struct Drawing<'a> {
    page: &'a mut Canvas,
    story: &'a Story,
    layout: &'a Layout,
    list: &'a List,
}

impl Drawing<'_> {
    fn header(&mut self) {
        header(self.page, self.layout);
        self.page.put(self.list.names, Role::Faint, "thread");
        self.page.end_line();
        let end = self.page.width();
        self.page.fill(0..end, Role::Faint, self.page.glyphs.rule);
        self.page.end_line();
    }

    /// The line above what repeats for ever.
    fn repeat(&mut self) {
        let (start, end) = (self.list.names, self.page.width());
        self.page.fill(0..end, Role::Change, self.page.glyphs.shaft);
        let text = truncate(
            REPEATS,
            end.saturating_sub(start),
            self.page.glyphs.ellipsis,
        );
        self.page.put(start, Role::Change, &text);
        self.page.end_line();
    }

    fn statement(&mut self, statement: &Statement) {
        statement_numbers(self.page, self.layout, statement);
        if statement.switch_from.is_some() {
            let role = Role::Thread(statement.thread);
            let head = self.page.glyphs.head_right;
            self.page.put_char(self.list.names - 2, role, head);
        }
        let source = if statement.fails {
            Role::Error
        } else {
            Role::Source
        };
        self.source(statement.thread, source, &statement.text);
        for (index, step) in statement.steps.iter().enumerate() {
            let number = (index > 0).then_some(step.number);
            if index > 0 && statement.fails_in(index) {
                wrong_mark(self.page);
            }
            self.details(number, &step.items);
        }
    }

    fn stand(&mut self, stand: &Stand) {
        wrong_mark(self.page);
        line_number(self.page, self.layout, stand.line);
        self.source(stand.thread, Role::Error, &stand.text);
        self.details(None, &stand.items);
    }

    fn source(&mut self, thread: usize, role: Role, text: &str) {
        let (list, ellipsis) = (self.list, self.page.glyphs.ellipsis);
        let name = shorten_name(&name_of(self.story, thread), list.name_width, ellipsis);
        self.page.put(list.names, Role::Thread(thread), &name);
        self.page
            .put(list.start, role, &truncate(text, list.width, ellipsis));
        self.page.end_line();
    }

    fn details(&mut self, number: Option<usize>, items: &[Item]) {
        let mut rows = wrap(items, self.list.width.saturating_sub(INDENT));
        if number.is_some() && rows.is_empty() {
            rows.push(Vec::new());
        }
        for (row, spans) in rows.iter().enumerate() {
            if let (0, Some(number)) = (row, number) {
                step_number(self.page, self.layout, number);
            }
            self.page.put_spans(self.list.start + INDENT, spans);
            self.page.end_line();
        }
    }

    fn gap(&mut self, steps: usize) {
        gap_marks(self.page, self.layout);
        let text = format!("{} left out", counted(steps, "step"));
        self.page.put(self.list.names, Role::Faint, &text);
        self.page.end_line();
    }
}
