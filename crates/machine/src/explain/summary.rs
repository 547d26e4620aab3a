//! From what was seen to an [`Explanation`] in terms of the source.

use std::collections::{BTreeMap, BTreeSet};

use raddle_explore::lock_order::{Deadlocks, PossibleDeadlock};
use raddle_explore::movers::{Knowledge, Protection as Inferred};
use raddle_explore::reductions::transactions::Transactions;
use raddle_explore::{Guard, Outcome, Place, Reduction};
use raddle_lang::Span;
use raddle_lang::hir::Discipline;
use raddle_report::explanation::{
    Access, Explanation, Function, Line, Often, Protection, Step, VERSION, Variable,
};

use super::{Log, Seen};
use crate::Machine;
use crate::exclusive::NOWHERE;
use crate::op::Pc;
use crate::program::Program;

pub(super) fn summarise(
    machine: &Machine,
    transactions: &Transactions<Machine>,
    log: &Log,
    outcome: &Outcome,
) -> Explanation {
    let program = machine.program();
    let known = transactions
        .protection()
        .map(Inferred::knowledge)
        .unwrap_or_default();
    let mut variables: Vec<Variable> = (known.iter())
        .filter_map(|known| variable(machine, known))
        .collect();
    variables.extend(declared(program));
    variables.sort_by_key(|variable| declaration(program, &variable.name));
    Explanation {
        version: VERSION,
        file: program.source.name.clone(),
        complete: outcome.explored.cut().is_none(),
        reason: outcome.explored.cut().map(ToString::to_string),
        lines: lines(program, log, &variables),
        variables,
        functions: functions(program, log),
        deadlocks: (outcome.noticed.deadlocks.as_ref())
            .map(|deadlocks| in_words(machine, deadlocks)),
    }
}

fn lines(program: &Program, log: &Log, variables: &[Variable]) -> Vec<Line> {
    let source = &program.source;
    let mut lines: Vec<Line> = (source.text.lines().zip(1..))
        .map(|(text, number)| Line {
            number,
            text: text.to_owned(),
            ..Line::default()
        })
        .collect();
    for (&pc, seen) in &log.places {
        if seen.taken == 0 {
            continue;
        }
        let at = source.line_column(program.spans[pc as usize].start);
        if let Some(line) = lines.get_mut(at.line as usize - 1) {
            line.steps.push(step(program, pc, seen));
        }
    }
    for line in &mut lines {
        line.steps.sort_by_key(|step| step.column);
    }
    let mut remarks: BTreeMap<u32, Vec<(&str, String)>> = BTreeMap::new();
    for global in &program.hir.globals {
        let at = source.line_column(global.span.start);
        let parts: Vec<&Variable> = (variables.iter())
            .filter(|variable| is_part(&variable.name, &global.name))
            .collect();
        if let (Some(line), Some(remark)) = (lines.get(at.line as usize - 1), in_one_word(&parts))
            && global.discipline.is_none()
        {
            remarks
                .entry(line.number)
                .or_default()
                .push((&global.name, remark));
        }
    }
    for (number, remarks) in remarks {
        lines[number as usize - 1].remarks = by_remark(&remarks);
    }
    lines
}

/// The remarks about the globals of one line, each once, with all names that it is about.
fn by_remark(remarks: &[(&str, String)]) -> Vec<String> {
    let mut groups: Vec<(Vec<&str>, &str)> = Vec::new();
    for (name, remark) in remarks {
        match groups.iter_mut().find(|(_, same)| same == remark) {
            Some((names, _)) => names.push(name),
            None => groups.push((vec![name], remark)),
        }
    }
    (groups.into_iter())
        .map(|(names, remark)| format!("{}: {remark}", names.join(", ")))
        .collect()
}

/// Whether a variable is a global, or a part of it.
fn is_part(name: &str, global: &str) -> bool {
    let rest = name.strip_prefix(global);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// How all parts of a global are protected, if that can be said in a word.
fn in_one_word(parts: &[&Variable]) -> Option<String> {
    let words: BTreeSet<String> = (parts.iter())
        .map(|part| match part.protection {
            Protection::Locks => format!("protected by {}", part.locks.join(", ")),
            Protection::ThreadLocal => "thread-local".to_owned(),
            Protection::ReadOnly => "read-only".to_owned(),
            Protection::Declared => "protected as declared".to_owned(),
            Protection::Tried => "somebody tries it".to_owned(),
            Protection::Unprotected => "unprotected".to_owned(),
        })
        .collect();
    match words.len() {
        0 => None,
        1 => words.into_iter().next(),
        _ => Some("differs by element, see below".to_owned()),
    }
}

fn step(program: &Program, pc: Pc, seen: &Seen) -> Step {
    let span = program.spans[pc as usize];
    let often = |count: u64| match count {
        0 => Often::Never,
        count if count == seen.taken => Often::Always,
        _ => Often::Sometimes,
    };
    Step {
        column: program.source.line_column(span.start).column,
        text: first_line(program.source.snippet(span)),
        movers: seen.movers.iter().copied().collect(),
        begins: often(seen.began),
        commits: often(seen.committed),
        forced: seen.forced,
    }
}

fn variable(machine: &Machine, known: &Knowledge) -> Option<Variable> {
    let plain = |protection| Variable {
        name: machine.variable_name(known.variable),
        protection,
        locks: Vec::new(),
        except_when_alone: false,
        nearly: None,
        broken_by: Vec::new(),
    };
    if known.tried {
        return Some(plain(Protection::Tried));
    }
    // Nothing else is known of a lock, or of what a thread owns.
    let locks = known.locks.as_deref()?;
    if !machine.program().is_declared(known.variable) {
        return None;
    }
    let names = |guards: &[Guard]| {
        guards
            .iter()
            .map(|guard| machine.guard_name(*guard))
            .collect()
    };
    let real: Vec<Guard> = (locks.iter().copied())
        .filter(|guard| !machine.is_pseudo_lock(*guard))
        .collect();
    let protection = match () {
        () if !known.protected => Protection::Unprotected,
        () if !real.is_empty() => Protection::Locks,
        () if !locks.is_empty() => Protection::ThreadLocal,
        () => Protection::ReadOnly,
    };
    let (nearly, broken_by) = match protection {
        Protection::Unprotected => breach(machine, known),
        _ => (None, Vec::new()),
    };
    Some(Variable {
        locks: names(if real.is_empty() { locks } else { &real }),
        except_when_alone: known.relies_on_being_alone,
        nearly: nearly.map(|lock| machine.guard_name(lock)),
        broken_by,
        ..plain(protection)
    })
}

/// The globals with a declared discipline: nothing has to be inferred about them.
fn declared(program: &Program) -> Vec<Variable> {
    let globals = program.hir.globals.iter();
    globals
        .filter_map(|global| {
            let lock = |slot: u32| program.variable_name(raddle_explore::Variable(slot.into()));
            let locks = match global.discipline.as_ref()? {
                Discipline::Lock(slot) => vec![lock(*slot)],
                Discipline::Locks { first, .. } => {
                    let first = lock(*first);
                    vec![first.replacen("[0]", "[]", 1)]
                }
                Discipline::Sibling(_) | Discipline::ThreadLocal => Vec::new(),
            };
            Some(Variable {
                name: global.name.clone(),
                protection: Protection::Declared,
                locks,
                except_when_alone: false,
                nearly: None,
                broken_by: Vec::new(),
            })
        })
        .collect()
}

/// Where a variable is declared among the globals; fields of heap objects come last.
fn declaration(program: &Program, name: &str) -> usize {
    let mut globals = program.hir.globals.iter();
    let position = globals.position(|global| is_part(name, &global.name));
    position.unwrap_or(usize::MAX)
}

/// The lock that is held at the most places at which a variable is accessed, and the places at
/// which it is not. If there is none, all places.
fn breach(machine: &Machine, known: &Knowledge) -> (Option<Guard>, Vec<Access>) {
    let held_at = |lock: Guard| {
        let accesses = known.accesses.iter();
        accesses
            .filter(move |(_, locks)| locks.contains(&lock))
            .count()
    };
    let accesses: Vec<_> = (known.accesses.iter())
        .filter(|(place, _)| *place != NOWHERE)
        .collect();
    let candidates: BTreeSet<Guard> = (known.accesses.iter())
        .flat_map(|(_, locks)| locks.iter().copied())
        .filter(|lock| !machine.is_pseudo_lock(*lock))
        .collect();
    let nearly = candidates.into_iter().max_by_key(|lock| held_at(*lock));
    let breaking = (accesses.iter())
        .filter(|(_, locks)| nearly.is_none_or(|lock| !locks.contains(&lock)))
        .map(|(place, _)| access(machine.program(), *place));
    let breaking: BTreeSet<Access> = breaking.collect();
    (nearly, breaking.into_iter().collect())
}

fn access(program: &Program, place: Place) -> Access {
    let span = match program.statement(place) {
        span if span == Span::default() => program.span(place),
        span => span,
    };
    let at = program.source.line_column(span.start);
    let text = first_line(program.source.snippet(span));
    Access {
        line: at.line,
        column: at.column,
        text: text.trim_end_matches(';').to_owned(),
    }
}

fn functions(program: &Program, log: &Log) -> Vec<Function> {
    let checked = program.hir.functions.iter();
    (program.functions.iter().zip(checked).enumerate())
        .map(|(index, (function, checked))| {
            let places: BTreeSet<Access> = (log.interrupted.iter())
                .filter(|(interrupted, _)| *interrupted == index)
                .map(|(_, pc)| access(program, Place(*pc)))
                .collect();
            Function {
                name: function.name.clone(),
                line: program.source.line_column(checked.span.start).line,
                executed: log.executed.contains(&index),
                atomic: places.is_empty(),
                interrupted_at: places.into_iter().collect(),
            }
        })
        .collect()
}

fn in_words(machine: &Machine, deadlocks: &Deadlocks) -> String {
    let possible = match deadlocks {
        Deadlocks::Excluded => {
            return "none: locks are always taken in the same order, and nothing else is waited \
                    for"
            .to_owned();
        }
        Deadlocks::Possible(possible) => possible,
    };
    let place = |place: Place| {
        let at = access(machine.program(), place);
        format!("line {}: {}", at.line, at.text)
    };
    let reasons: Vec<String> = (possible.iter())
        .map(|reason| match reason {
            PossibleDeadlock::Circle(taken) => {
                let steps = taken.iter().map(|taken| {
                    format!(
                        "{} is taken while {} is held ({})",
                        machine.variable_name(taken.taken),
                        machine.variable_name(taken.held),
                        place(taken.place)
                    )
                });
                steps.collect::<Vec<_>>().join(", and ")
            }
            PossibleDeadlock::Waits(at) => format!("a thread can wait ({})", place(*at)),
            PossibleDeadlock::EndsHolding { lock, place: at } => format!(
                "a thread can end while it holds {} ({})",
                machine.variable_name(*lock),
                place(*at)
            ),
        })
        .collect();
    format!("possible: {}", reasons.join("; "))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim().to_owned()
}
