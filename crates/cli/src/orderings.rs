//! Orderings of atomic operations, where everything is run as sequentially consistent.

use raddle_lang::Span;
use raddle_machine::Program;
use raddle_report::story::Spot;

use crate::terminal::Terminal;

/// A part of the source.
pub(crate) fn spot(program: &Program, span: Span) -> Spot {
    let source = program.source();
    let at = source.line_column(span.start);
    let first_line = source.snippet(span).lines().next().unwrap_or("");
    Spot {
        file: source.name.clone(),
        line: at.line,
        column: at.column,
        text: first_line.trim().to_owned(),
    }
}

/// The orderings that are weaker than sequential consistency, in the order of the text.
pub(crate) fn weaker(program: &Program) -> Vec<Spot> {
    let places = program.weaker_orderings().into_iter();
    places
        .map(|place| spot(program, program.span(place)))
        .collect()
}

/// `test.rad:3:5: `load(x, relaxed)` asks for less than sequential consistency`, about the first that does.
pub(crate) fn complaint(program: &Program) -> Option<String> {
    let first = weaker(program).into_iter().next()?;
    let Spot {
        file,
        line,
        column,
        text,
    } = first;
    Some(format!(
        "{file}:{line}:{column}: `{text}` asks for less than sequential consistency"
    ))
}

/// Says that orderings are ignored, if the program has some that matter.
pub(crate) fn warn(program: &Program, terminal: Terminal) {
    if let (Some(complaint), false) = (complaint(program), terminal.is_quiet()) {
        terminal.warning(&format!(
            "{complaint}; here everything is sequentially consistent (`raddle check --explore optimal --memory rc11` is not)"
        ));
    }
}
