//! What variables, locks and breaches of disciplines are called.

use raddle_explore::{Access, Guard, Variable};
use raddle_lang::hir::Type;

use super::enforce::Taken;
use super::rules::Need;
use super::{Known, known, lasting_number, variable};
use crate::execute::Trouble;
use crate::program::Program;
use crate::state::State;
use crate::word::{self, Reference};

impl Program {
    pub(crate) fn variable_name(&self, variable: Variable) -> String {
        match known(variable.0) {
            Known::Global(slot) => self.global_name(slot),
            Known::OfLayout { layout, offset } => {
                let ty = &self.layouts[layout].ty;
                self.part_name(&self.hir.type_name(ty), layout, offset)
            }
            Known::OfThread(_) => "the end of a thread".into(),
        }
    }

    pub(crate) fn guard_name(&self, guard: Guard) -> String {
        match known(guard.0) {
            Known::Global(slot) => self.global_name(slot),
            Known::OfLayout { layout, offset } => self.part_name("this", layout, offset),
            Known::OfThread(number) => self.thread_called(number),
        }
    }

    fn global_name(&self, slot: usize) -> String {
        let mut found = None;
        for global in &self.hir.globals {
            self.leaves(
                &global.name,
                &global.ty,
                global.slot as usize,
                &mut |leaf| {
                    let slots = leaf.offset..leaf.offset + self.hir.slots(leaf.ty) as usize;
                    if slots.contains(&slot) {
                        found = Some(leaf.name);
                    }
                },
            );
        }
        found.unwrap_or_else(|| "?".into())
    }

    fn part_name(&self, whole: &str, layout: usize, offset: usize) -> String {
        let mut found = None;
        self.leaves(whole, &self.layouts[layout].ty, 0, &mut |leaf| {
            let slots = leaf.offset..leaf.offset + self.hir.slots(leaf.ty) as usize;
            if slots.contains(&offset) {
                found = Some(leaf.name);
            }
        });
        found.unwrap_or_else(|| "?".into())
    }

    fn thread_called(&self, number: u64) -> String {
        match self.hir.starts.get(number as usize) {
            Some(start) => format!("thread {}", start.name),
            None => format!("thread number {number}"),
        }
    }

    fn thread_at(&self, state: &State, thread: usize) -> String {
        lasting_number(self, state, thread).map_or_else(
            || "a spawned thread".into(),
            |number| self.thread_called(number),
        )
    }
}

/// An access that breaks a discipline.
pub(super) fn broken(
    program: &Program,
    step: &Taken<'_>,
    access: &Access,
    need: Need,
    trouble: Option<Trouble>,
) -> String {
    let state = step.before;
    let name = program.variable_name(variable(program, state, access.location));
    match need {
        Need::Lock { cell, reference } => {
            let lock = match Reference::of(reference) {
                // Locks in the same heap object are named from there.
                Reference::Heap(..) => {
                    let lock = variable(program, state, word::location(reference));
                    program.guard_name(Guard(lock.0))
                }
                _ => program.global_name(cell),
            };
            let lack = match state.read_holds(step.thread).contains(&reference) {
                true => "holds for reading only",
                false => "does not hold",
            };
            format!("`{name}` is guarded by `{lock}`, which the thread {lack}")
        }
        Need::First { cell } => {
            let first = match Reference::of(state.words[cell]) {
                Reference::Thread(first) => state.find_thread(first),
                _ => None,
            };
            let first = first.map_or_else(
                || "another thread".into(),
                |first| program.thread_at(state, first),
            );
            format!("`{name}` is thread_local, and {first} has accessed it before")
        }
        Need::When { part } => match trouble {
            Some(trouble) => no_value(program, part, trouble),
            None => format!(
                "`{name}` is exclusive when `{}`, which does not hold for the thread",
                condition(program, part)
            ),
        },
    }
}

fn condition(program: &Program, part: usize) -> &str {
    let declared = &program.hir.exclusives[program.rules.parts[part].predicate];
    program.source.snippet(declared.condition.span)
}

/// `a[1]`, also if that is an array or a struct.
fn part_name(program: &Program, part: usize) -> String {
    let part = &program.rules.parts[part];
    let declared = &program.hir.exclusives[part.predicate];
    let global = &program.hir.globals[declared.global.0 as usize];
    let (mut name, mut ty) = (global.name.clone(), &global.ty);
    let mut offset = part.slot - global.slot;
    while program.hir.slots(ty) > declared.slots {
        match ty {
            Type::Array(element, _) => {
                let stride = program.hir.slots(element);
                name += &format!("[{}]", offset / stride);
                offset %= stride;
                ty = element;
            }
            Type::Struct(id) => {
                let fields = &program.hir.structs[id.0 as usize].fields;
                let field = fields.iter().rfind(|field| field.offset <= offset);
                let field = field.expect("a part of a struct is in a field");
                name += &format!(".{}", field.name);
                offset -= field.offset;
                ty = &field.ty;
            }
            _ => break,
        }
    }
    name
}

/// A predicate that holds for two threads.
pub(super) fn shared(program: &Program, state: &State, part: usize, threads: [usize; 2]) -> String {
    let [first, second] = threads.map(|thread| program.thread_at(state, thread));
    format!(
        "exclusive access to `{}` is not exclusive: {first} and {second} both have it",
        part_name(program, part)
    )
}

/// A predicate that another thread has made false.
pub(super) fn taken(program: &Program, state: &State, part: usize, thread: usize) -> String {
    format!(
        "the step takes the exclusive access to `{}` away from {}",
        part_name(program, part),
        program.thread_at(state, thread)
    )
}

/// A predicate that cannot be evaluated.
pub(super) fn no_value(program: &Program, part: usize, trouble: Trouble) -> String {
    format!(
        "the condition `{}` of exclusive access to `{}` has no value: {trouble}",
        condition(program, part),
        part_name(program, part)
    )
}
