//! What variables, values and locations are called in messages.

use raddle_lang::hir::{self, Type};

use crate::op::Pc;
use crate::program::{Program, Variable};
use crate::state::{Phase, State};
use crate::word::{self, Reference};

/// The names of what a program makes while it runs, by position in the state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) threads: Vec<String>,
    pub(crate) objects: Vec<String>,
}

/// A variable, or a part of one, that has a value of its own.
pub(crate) struct Leaf<'t> {
    /// `table[3].next`
    pub(crate) name: String,
    pub(crate) ty: &'t Type,
    /// Where its words begin, from the start of the variable.
    pub(crate) offset: usize,
}

impl Program {
    /// Calls `visit` for every leaf of a variable.
    pub(crate) fn leaves<'t>(
        &'t self,
        name: &str,
        ty: &'t Type,
        offset: usize,
        visit: &mut dyn FnMut(Leaf<'t>),
    ) {
        match ty {
            Type::Array(element, length) => {
                let stride = self.hir.slots(element) as usize;
                for index in 0..*length as usize {
                    let name = format!("{name}[{index}]");
                    self.leaves(&name, element, offset + index * stride, visit);
                }
            }
            Type::Struct(id) => {
                for field in &self.hir.structs[id.0 as usize].fields {
                    let name = format!("{name}.{}", field.name);
                    self.leaves(&name, &field.ty, offset + field.offset as usize, visit);
                }
            }
            _ => visit(Leaf {
                name: name.to_owned(),
                ty,
                offset,
            }),
        }
    }

    /// Calls `visit` for every leaf of the shared state, with where its words begin.
    pub(crate) fn shared_leaves<'t>(
        &'t self,
        state: &State,
        names: &Names,
        visit: &mut dyn FnMut(Leaf<'t>),
    ) {
        for global in &self.hir.globals {
            self.leaves(&global.name, &global.ty, global.slot as usize, visit);
        }
        for (object, name) in state.objects.iter().zip(&names.objects) {
            if object.freed {
                continue;
            }
            let layout = &self.layouts[object.layout as usize];
            let slots = layout.slots.max(1) as usize;
            let count = object.length as usize / slots;
            for index in 0..count {
                let name = match count {
                    1 => name.clone(),
                    _ => format!("{name}[{index}]"),
                };
                self.leaves(
                    &name,
                    &layout.ty,
                    object.start as usize + index * slots,
                    visit,
                );
            }
        }
    }

    /// The leaf that a word of the shared state belongs to.
    pub(crate) fn leaf_at<'t>(
        &'t self,
        state: &State,
        names: &Names,
        cell: usize,
    ) -> Option<Leaf<'t>> {
        let mut found = None;
        self.shared_leaves(state, names, &mut |leaf| {
            let words = leaf.offset..leaf.offset + self.hir.slots(leaf.ty) as usize;
            if words.contains(&cell) {
                found = Some(leaf);
            }
        });
        found
    }

    /// Where in the words of a state a shared location is.
    pub(crate) fn cell_of(&self, state: &State, reference: i64) -> Option<usize> {
        match Reference::of(reference) {
            Reference::Global(slot) => Some(slot),
            Reference::Heap(name, offset) => {
                let object = state.objects.get(state.find_object(name)?)?;
                Some(object.start as usize + offset)
            }
            _ => None,
        }
    }

    /// The value of a leaf, given its words.
    pub(crate) fn show(&self, state: &State, names: &Names, ty: &Type, words: &[i64]) -> String {
        let thread = |word: i64| match Reference::of(word) {
            Reference::Thread(name) => state
                .find_thread(name)
                .and_then(|position| names.threads.get(position))
                .cloned()
                .unwrap_or_else(|| "an ended thread".into()),
            _ => "null".into(),
        };
        match ty {
            Type::Bool => (words[0] != 0).to_string(),
            Type::Enum(id) => self.hir.enums[id.0 as usize]
                .values
                .get(words[0] as usize)
                .cloned()
                .unwrap_or_else(|| words[0].to_string()),
            Type::Pointer(to) => self.show_reference(state, names, to, words[0]),
            Type::Thread => thread(words[0]),
            Type::Mutex { reentrant } if words[0] != word::NULL => {
                let times = if *reentrant && words[1] > 1 {
                    format!(" ({} times)", words[1])
                } else {
                    String::new()
                };
                format!("held by {}{times}", thread(words[0]))
            }
            Type::Mutex { .. } => "free".into(),
            Type::RwLock if words[0] != word::NULL => format!("written by {}", thread(words[0])),
            Type::RwLock if words[1] > 0 => format!("{} reading", words[1]),
            Type::RwLock => "free".into(),
            Type::Cond => "".into(),
            Type::Channel(message, capacity) => {
                let count = match capacity {
                    0 => usize::from(words[0] == 1),
                    _ => words[0] as usize,
                };
                let messages: Vec<String> = words[1..]
                    .chunks(message.len())
                    .take(count)
                    .map(|values| self.show_message(state, names, message, values))
                    .collect();
                format!("[{}]", messages.join(", "))
            }
            _ => words[0].to_string(),
        }
    }

    fn show_message(&self, state: &State, names: &Names, types: &[Type], values: &[i64]) -> String {
        let shown: Vec<String> = types
            .iter()
            .zip(values)
            .map(|(ty, value)| self.show(state, names, ty, std::slice::from_ref(value)))
            .collect();
        match shown.as_slice() {
            [only] => only.clone(),
            several => format!("({})", several.join(", ")),
        }
    }

    fn show_reference(&self, state: &State, names: &Names, to: &Type, reference: i64) -> String {
        let (name, freed) = match Reference::of(reference) {
            Reference::Null | Reference::Thread(_) => return "null".into(),
            Reference::Global(slot) => {
                let mut parts = self.hir.globals.iter();
                let start = |global: &hir::Global| slot.checked_sub(global.slot as usize);
                let found = parts
                    .find_map(|global| self.part(&global.name, &global.ty, start(global)?, to));
                (found, false)
            }
            Reference::Heap(name, offset) => {
                let Some(position) = state.find_object(name) else {
                    return "?".into();
                };
                let object = state.objects[position];
                let layout = &self.layouts[object.layout as usize];
                let slots = layout.slots.max(1);
                let base = names.objects.get(position).cloned().unwrap_or_default();
                // One object is its own only element.
                let found = if object.length == layout.slots {
                    self.part(&base, &layout.ty, offset, to)
                } else {
                    let array = Type::Array(Box::new(layout.ty.clone()), object.length / slots);
                    self.part(&base, &array, offset, to)
                };
                (found.or(Some(base)), object.freed)
            }
        };
        let gone = if freed { " (freed)" } else { "" };
        format!("&{}{gone}", name.unwrap_or_else(|| "?".into()))
    }

    /// The name of the part of a variable that begins at an offset and has a type.
    fn part(&self, name: &str, ty: &Type, offset: usize, wanted: &Type) -> Option<String> {
        if offset >= self.hir.slots(ty) as usize {
            return None;
        }
        if offset == 0 && ty == wanted {
            return Some(name.to_owned());
        }
        match ty {
            Type::Array(element, _) => {
                let stride = self.hir.slots(element) as usize;
                let index = offset / stride;
                self.part(
                    &format!("{name}[{index}]"),
                    element,
                    offset % stride,
                    wanted,
                )
            }
            Type::Struct(id) => {
                let fields = &self.hir.structs[id.0 as usize].fields;
                let field = fields
                    .iter()
                    .rfind(|field| field.offset as usize <= offset)?;
                let name = format!("{name}.{}", field.name);
                self.part(&name, &field.ty, offset - field.offset as usize, wanted)
            }
            _ => None,
        }
    }

    /// The name of what a reference refers to.
    pub(crate) fn name_of(&self, state: &State, names: &Names, reference: i64) -> String {
        if let Reference::Thread(name) = Reference::of(reference) {
            let position = state.find_thread(name);
            let known = position.and_then(|position| names.threads.get(position));
            return known.cloned().unwrap_or_else(|| "a thread".into());
        }
        self.cell_of(state, reference)
            .and_then(|cell| self.leaf_at(state, names, cell))
            .map_or_else(|| "?".into(), |leaf| leaf.name)
    }

    /// The frames of a thread, innermost first: where it is in each, and its registers.
    pub(crate) fn frames<'s>(&self, state: &'s State, thread: usize) -> Vec<(Pc, &'s [i64])> {
        if matches!(state.phase(thread), Phase::Ended | Phase::Failed) {
            return Vec::new();
        }
        let mut words = state.frames(thread);
        let mut pc = state.pc(thread);
        let mut height = self.heights[pc as usize] as usize;
        let mut frames = Vec::new();
        loop {
            let base = words.len() - height;
            frames.push((pc, &words[base..]));
            if base == 0 {
                return frames;
            }
            pc = words[base - 1] as Pc;
            words = &words[..base - 1];
            let crate::op::Op::Call { height: alive, .. } = self.code[pc as usize - 1] else {
                unreachable!("a frame returns behind a call");
            };
            height = alive as usize;
            pc -= 1;
        }
    }

    /// The variables in scope at an instruction, inner ones last.
    pub(crate) fn variables_at(&self, pc: Pc) -> impl Iterator<Item = &Variable> {
        let variables = self
            .function_at(pc)
            .map_or(&[][..], |function| &function.variables);
        variables
            .iter()
            .filter(move |variable| (variable.from..variable.to).contains(&pc))
    }
}
