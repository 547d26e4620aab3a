//! An explanation as text.

use super::{Explanation, Function, Line, Often, Protection, Step, Variable};
use crate::style::{Palette, Role};

/// How to draw an explanation.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether to use colours.
    pub colour: bool,
    /// Whether to use ASCII characters only.
    pub ascii: bool,
}

/// The signs in the margin.
struct Signs {
    begins: char,
    may_begin: char,
    inside: char,
    commits: char,
    may_commit: char,
}

const UNICODE: Signs = Signs {
    begins: '┌',
    may_begin: '├',
    inside: '│',
    commits: '●',
    may_commit: '○',
};

const ASCII: Signs = Signs {
    begins: '+',
    may_begin: '?',
    inside: '|',
    commits: '*',
    may_commit: 'o',
};

/// An explanation as text: the source with a margin, and what is to be said about variables and
/// functions.
///
/// ```
/// use raddle_report::explanation::*;
///
/// let explanation = Explanation {
///     version: VERSION,
///     file: "bank.rad".into(),
///     complete: true,
///     reason: None,
///     lines: vec![Line {
///         number: 7,
///         text: "    lock(m);".into(),
///         steps: vec![Step {
///             column: 5,
///             text: "lock(m)".into(),
///             movers: vec![Mover::Right],
///             begins: Often::Always,
///             commits: Often::Never,
///             forced: false,
///         }],
///         remarks: vec![],
///     }],
///     variables: vec![],
///     functions: vec![],
///     deadlocks: None,
/// };
/// let text = render(&explanation, &Options { colour: false, ascii: true });
/// assert!(text.starts_with("bank.rad\n\n  +  R      7      lock(m);\n"));
/// ```
#[must_use]
pub fn render(explanation: &Explanation, options: &Options) -> String {
    let palette = match options.colour {
        true => Palette::coloured(),
        false => Palette::plain(),
    };
    let signs = if options.ascii { &ASCII } else { &UNICODE };
    let mut text = format!("{}\n\n", explanation.file);
    let letters = explanation.lines.iter().map(|line| letters(line).len());
    let width = letters.max().unwrap_or(0).max(4);
    for line in &explanation.lines {
        text += &source_line(line, width, signs, palette);
    }
    text += "\n";
    text += &legend(signs);
    section(&mut text, "Variables", &explanation.variables, variable);
    section(&mut text, "Functions", &explanation.functions, function);
    if let Some(deadlocks) = &explanation.deadlocks {
        text += &format!("\nDeadlocks\n  {deadlocks}\n");
    }
    if let Some(reason) = &explanation.reason {
        let warning = palette.paint(Role::Warning, "incomplete");
        text += &format!("\n{warning}: {reason}; there may be more to say\n");
    }
    text
}

fn section<T>(text: &mut String, title: &str, items: &[T], line: impl Fn(&T) -> (String, String)) {
    if items.is_empty() {
        return;
    }
    let rows: Vec<_> = items.iter().map(line).collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).max();
    let width = width.unwrap_or(0);
    *text += &format!("\n{title}\n");
    for (name, rest) in rows {
        *text += &format!("  {name:<width$}  {rest}\n");
    }
}

fn source_line(line: &Line, width: usize, signs: &Signs, palette: Palette) -> String {
    let margin = format!("  {} {:<width$}", sign(&line.steps, signs), letters(line));
    let number = palette.paint(Role::Line, &format!("{:>4}", line.number));
    let source = palette.paint(Role::Source, &line.text);
    let mut text = format!("{margin}{number}  {source}");
    if !line.remarks.is_empty() {
        text += "  ";
        text += &palette.paint(Role::Faint, &format!("// {}", line.remarks.join("; ")));
    }
    let text = text.trim_end().to_owned();
    text + "\n"
}

/// The movers of a line's steps, in order, equal ones in a row once.
fn letters(line: &Line) -> String {
    let mut words: Vec<String> = Vec::new();
    for step in &line.steps {
        let letters: Vec<String> = (step.movers.iter())
            .map(|mover| mover.letter().to_string())
            .collect();
        let word = letters.join("/");
        if words.last() != Some(&word) {
            words.push(word);
        }
    }
    words.join(" ")
}

/// Where transactions begin in a line, and where they commit: a column for each, since one step
/// can do both.
fn sign(steps: &[Step], signs: &Signs) -> String {
    if steps.is_empty() {
        return "  ".to_owned();
    }
    let often = |of: fn(&Step) -> Often| {
        let all: Vec<Often> = steps.iter().map(of).collect();
        match () {
            () if all.contains(&Often::Always) => Often::Always,
            () if all.contains(&Often::Sometimes) => Often::Sometimes,
            () => Often::Never,
        }
    };
    let begins = match often(|step| step.begins) {
        Often::Always => signs.begins,
        Often::Sometimes => signs.may_begin,
        Often::Never => signs.inside,
    };
    let commits = match often(|step| step.commits) {
        Often::Always => signs.commits,
        Often::Sometimes => signs.may_commit,
        Often::Never => ' ',
    };
    format!("{begins}{commits}")
}

fn legend(signs: &Signs) -> String {
    let Signs {
        begins,
        may_begin,
        inside,
        commits,
        may_commit,
    } = signs;
    format!(
        "  {begins} a transaction begins  {may_begin} sometimes  {inside} it goes on  \
         {commits} it commits  {may_commit} sometimes\n  \
         R right mover  B both-mover  L left mover  N non-mover\n"
    )
}

fn variable(variable: &Variable) -> (String, String) {
    let locks = variable.locks.join(", ");
    let mut text = match variable.protection {
        Protection::Locks => format!("protected by {locks}"),
        Protection::ThreadLocal => format!("accessed by {locks} only"),
        Protection::ReadOnly => "never written once there are several threads".to_owned(),
        Protection::Declared if locks.is_empty() => "protected as declared".to_owned(),
        Protection::Declared => format!("protected by {locks}, as declared"),
        Protection::Tried => "somebody tries it: using it does not commute".to_owned(),
        Protection::Unprotected => {
            let places = (variable.broken_by.iter())
                .map(|access| format!("line {}: {}", access.line, access.text))
                .collect::<Vec<_>>();
            let places = places.join("; ");
            match &variable.nearly {
                Some(lock) => format!("unprotected: {lock} is held but for {places}"),
                None if places.is_empty() => "unprotected".to_owned(),
                None => format!("unprotected: {places}"),
            }
        }
    };
    if variable.except_when_alone {
        text += ", or by the last thread alone";
    }
    (variable.name.clone(), text)
}

fn function(function: &Function) -> (String, String) {
    let text = match (function.executed, function.atomic) {
        (false, _) => "never called".to_owned(),
        (true, true) => "atomic".to_owned(),
        (true, false) => {
            let places = (function.interrupted_at.iter())
                .map(|access| format!("line {}: {}", access.line, access.text))
                .collect::<Vec<_>>();
            format!("can be interrupted before {}", places.join("; "))
        }
    };
    (function.name.clone(), text)
}
