//! Where the locks of a program are, and which of them a thread holds.

use raddle_explore::{Access, Guard, Location};
use raddle_lang::hir::{self, Type};

use super::{OF_THREAD, Part, lasting_number, of_layout};
use crate::program::{Layout, Program};
use crate::state::State;
use crate::word::{self, Reference};

/// The slots at which a mutex or a reader-writer lock begins, in order: looking for those that a
/// thread holds is a walk over them, not over the whole state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Locks {
    globals: Vec<u32>,
    /// Those of them that are reader-writer locks.
    shared: Vec<u32>,
    /// For every layout, from the start of an element.
    layouts: Vec<Vec<u32>>,
    /// The semaphores of every layout.
    semaphores: Vec<Vec<u32>>,
}

impl Locks {
    pub(crate) fn new(program: &hir::Program, layouts: &[Layout]) -> Self {
        let in_globals = |wanted: &dyn Fn(&Type) -> bool| {
            let mut found = Vec::new();
            for global in &program.globals {
                collect(program, &global.ty, global.slot, wanted, &mut found);
            }
            found
        };
        let of_layout = |layout: &Layout, wanted: &dyn Fn(&Type) -> bool| {
            let mut found = Vec::new();
            collect(program, &layout.ty, 0, wanted, &mut found);
            found
        };
        let is_semaphore = |ty: &Type| matches!(ty, Type::Semaphore);
        let of_layouts =
            |wanted: &dyn Fn(&Type) -> bool| layouts.iter().map(|l| of_layout(l, wanted)).collect();
        Self {
            globals: in_globals(&is_lock),
            shared: in_globals(&|ty| matches!(ty, Type::RwLock)),
            layouts: of_layouts(&is_lock),
            semaphores: of_layouts(&is_semaphore),
        }
    }

    /// The global slots at which one begins.
    pub(crate) fn in_globals(&self) -> &[u32] {
        &self.globals
    }

    /// The global slots at which a reader-writer lock begins.
    pub(crate) fn shared_in_globals(&self) -> &[u32] {
        &self.shared
    }

    /// Whether there are any.
    pub(crate) fn are_there(&self) -> bool {
        let in_layouts = || self.layouts.iter().any(|locks| !locks.is_empty());
        !self.globals.is_empty() || in_layouts()
    }

    /// Whether a lock or a semaphore begins at an offset of the elements of a layout.
    pub(crate) fn can_be_taken(&self, layout: u16, offset: usize) -> bool {
        let has = |of: &[Vec<u32>]| of[layout as usize].binary_search(&(offset as u32)).is_ok();
        has(&self.layouts) || has(&self.semaphores)
    }
}

fn is_lock(ty: &Type) -> bool {
    matches!(ty, Type::Mutex { .. } | Type::RwLock)
}

/// The slots at which something of a wanted type begins.
fn collect(
    program: &hir::Program,
    ty: &Type,
    start: u32,
    wanted: &dyn Fn(&Type) -> bool,
    locks: &mut Vec<u32>,
) {
    match ty {
        ty if wanted(ty) => locks.push(start),
        Type::Array(element, length) => {
            let stride = program.slots(element);
            for index in 0..*length {
                let before = locks.len();
                collect(program, element, start + index * stride, wanted, locks);
                if locks.len() == before {
                    break;
                }
            }
        }
        Type::Struct(id) => {
            for field in &program.structs[id.0 as usize].fields {
                collect(program, &field.ty, start + field.offset, wanted, locks);
            }
        }
        _ => {}
    }
}

/// See [`raddle_explore::System::guards`].
pub(crate) fn guards(
    program: &Program,
    state: &State,
    thread: usize,
    access: &Access,
    guards: &mut Vec<Guard>,
) {
    let me = word::thread(state.threads[thread].name);
    let globals = program.locks.globals.iter();
    guards.extend(
        globals
            .filter(|slot| state.words[**slot as usize] == me)
            .map(|slot| Guard((*slot).into())),
    );
    let object = match word::at(access.location) {
        Reference::Heap(name, offset) => {
            Part::of(program, state, name, offset).map(|part| (name, part))
        }
        _ => None,
    };
    if let Some((_, part)) = &object {
        let locks = program.locks.layouts[part.layout as usize].iter();
        guards.extend(
            locks
                .map(|offset| *offset as usize)
                .filter(|offset| state.words.get(part.element_cell + offset) == Some(&me))
                .map(|offset| Guard(of_layout(part.layout, offset))),
        );
    }
    if !access.writes {
        let mut last = word::NULL;
        for &hold in state.read_holds(thread) {
            // They are sorted: a lock that is held several times is there several times in a row.
            if std::mem::replace(&mut last, hold) == hold {
                continue;
            }
            match (Reference::of(hold), &object) {
                (Reference::Global(slot), _) => guards.push(Guard(slot as u64)),
                (Reference::Heap(held, offset), Some((name, part))) if held == *name => {
                    let slots = program.layouts[part.layout as usize].slots as usize;
                    let same_element = part.element_offset..part.element_offset + slots;
                    if same_element.contains(&offset) {
                        let offset = offset - part.element_offset;
                        guards.push(Guard(of_layout(part.layout, offset)));
                    }
                }
                _ => {}
            }
        }
    }
    let number = lasting_number(program, state, thread);
    guards.extend(number.map(|number| Guard(OF_THREAD | number)));
}

/// See [`raddle_explore::System::held_locks`].
pub(crate) fn held_locks(
    program: &Program,
    state: &State,
    thread: usize,
    locks: &mut Vec<Location>,
) {
    let me = word::thread(state.threads[thread].name);
    let globals = program.locks.globals.iter().map(|slot| *slot as usize);
    let held = globals.filter(|slot| state.words[*slot] == me);
    locks.extend(held.map(|slot| word::location(word::global(slot))));
    for object in state.objects.iter().filter(|object| !object.freed) {
        let slots = program.layouts[object.layout as usize].slots.max(1) as usize;
        let offsets = &program.locks.layouts[object.layout as usize];
        for element in (0..object.length as usize).step_by(slots) {
            let offsets = offsets.iter().map(|offset| element + *offset as usize);
            let held = offsets.filter(|offset| state.words[object.start as usize + offset] == me);
            locks.extend(held.map(|offset| word::location(word::heap(object.name, offset))));
        }
    }
    let mut last = word::NULL;
    for &hold in state.read_holds(thread) {
        if std::mem::replace(&mut last, hold) != hold {
            locks.push(word::location(hold));
        }
    }
}

/// See [`raddle_explore::System::holds`].
pub(crate) fn holds(program: &Program, state: &State, thread: usize, lock: Location) -> bool {
    let me = word::thread(state.threads[thread].name);
    match word::at(lock) {
        Reference::Global(slot) => {
            state.words[slot] == me && program.locks.globals.binary_search(&(slot as u32)).is_ok()
        }
        Reference::Heap(name, offset) => {
            let Some(part) = Part::of(program, state, name, offset) else {
                return false;
            };
            let locks = &program.locks.layouts[part.layout as usize];
            state.words[part.element_cell + part.offset] == me
                && locks.binary_search(&(part.offset as u32)).is_ok()
        }
        Reference::Thread(_) | Reference::Null => false,
    }
}
