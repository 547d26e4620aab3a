//! Messages about a program, with a place, a reason and a way out.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::span::{Source, Span};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The program means something, but perhaps not what was meant.
    Warning,
    /// The program has no meaning.
    Error,
}

/// A message about a place in a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub message: String,
    /// Where.
    pub span: Span,
    /// What to say at that place; may be empty.
    pub label: String,
    /// Other places that matter, with what to say there.
    pub related: Vec<(Span, String)>,
    /// What to do about it.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// An error.
    #[must_use]
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, span, message.into())
    }

    /// A warning.
    #[must_use]
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, span, message.into())
    }

    fn new(severity: Severity, span: Span, message: String) -> Self {
        Self {
            severity,
            message,
            span,
            label: String::new(),
            related: Vec::new(),
            help: Vec::new(),
        }
    }

    /// What to say at the place itself.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Another place that matters.
    #[must_use]
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push((span, label.into()));
        self
    }

    /// A way out.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }
}

/// Whether to colour the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// No escape sequences.
    Plain,
    /// Colours for a terminal.
    Coloured,
}

/// The message as text, in the manner of rustc.
#[must_use]
pub fn render(diagnostic: &Diagnostic, source: &Source, style: Style) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let clamp = |span: Span| clamp(span, &source.text);
    let mut primary = AnnotationKind::Primary.span(clamp(diagnostic.span));
    if !diagnostic.label.is_empty() {
        primary = primary.label(&diagnostic.label);
    }
    let snippet = Snippet::source(&source.text)
        .path(&source.name)
        .annotation(primary)
        .annotations(
            diagnostic
                .related
                .iter()
                .map(|(span, label)| AnnotationKind::Context.span(clamp(*span)).label(label)),
        );
    let group: Group<'_> = level
        .primary_title(&diagnostic.message)
        .element(snippet)
        .elements(diagnostic.help.iter().map(|help| Level::HELP.message(help)));
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Coloured => Renderer::styled(),
    };
    renderer.render(&[group])
}

/// Keeps a span inside the text and on character boundaries, whatever it was.
fn clamp(span: Span, text: &str) -> std::ops::Range<usize> {
    let floor = |at: u32| {
        let mut at = (at as usize).min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = floor(span.start);
    start..floor(span.end).max(start)
}
