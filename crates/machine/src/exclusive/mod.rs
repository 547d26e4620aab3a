//! Exclusive access: what protects a location from the other threads.
//!
//! What is known about locations across states is kept by variable, and what protects a
//! variable is a lock that is named relative to it (`locks.rs`); an object that only its maker
//! knows needs no protection at all (`owned.rs`). The disciplines that a program declares are
//! rules for its locations (`rules.rs`), which every step is checked against
//! (`enforce.rs`), as in the instrumented program P# of Flanagan and Qadeer, "Transactions for
//! Software Model Checking", section 4.2.

mod enforce;
mod locks;
mod messages;
mod owned;
mod rules;

pub(crate) use enforce::{Breach, Decided, Enforcer, NOWHERE, Taken};
pub(crate) use locks::{Locks, guards, held_locks, holds};
pub(crate) use rules::Rules;

use raddle_explore::{Guard, Location, Variable};

use crate::program::Program;
use crate::state::{State, header};
use crate::word::{Name, Reference};
use owned::Owned;

/// Marks what belongs to all elements of all heap objects of a layout.
const OF_LAYOUT: u64 = 1 << 40;
/// Marks what belongs to threads.
const OF_THREAD: u64 = 1 << 41;
const LAYOUT_SHIFT: u32 = 20;

/// A part of the elements of a layout, as a number that is no global slot.
fn of_layout(layout: u16, offset: usize) -> u64 {
    OF_LAYOUT | u64::from(layout) << LAYOUT_SHIFT | offset as u64
}

/// What a number of a variable or a guard stands for.
enum Known {
    Global(usize),
    OfLayout { layout: usize, offset: usize },
    OfThread(u64),
}

fn known(number: u64) -> Known {
    if number & OF_THREAD != 0 {
        Known::OfThread(number & (OF_THREAD - 1))
    } else if number & OF_LAYOUT != 0 {
        let number = (number & (OF_LAYOUT - 1)) as usize;
        Known::OfLayout {
            layout: number >> LAYOUT_SHIFT,
            offset: number & ((1 << LAYOUT_SHIFT) - 1),
        }
    } else {
        Known::Global(number as usize)
    }
}

/// A heap location, as a part of an element of its object.
struct Part {
    layout: u16,
    /// From the start of the element.
    offset: usize,
    /// The first word of the element in the state, and from the start of the object.
    element_cell: usize,
    element_offset: usize,
}

impl Part {
    /// Nothing if the object does not exist in this state.
    fn of(program: &Program, state: &State, name: Name, offset: usize) -> Option<Self> {
        let object = state.objects.get(state.find_object(name)?)?;
        let slots = program.layouts[object.layout as usize].slots.max(1) as usize;
        let element_offset = offset / slots * slots;
        Some(Self {
            layout: object.layout,
            offset: offset - element_offset,
            element_cell: object.start as usize + element_offset,
            element_offset,
        })
    }
}

/// The variable that a location belongs to.
pub(crate) fn variable(program: &Program, state: &State, location: Location) -> Variable {
    match crate::word::at(location) {
        Reference::Global(slot) => Variable(slot as u64),
        Reference::Heap(name, offset) => match Part::of(program, state, name, offset) {
            Some(part) => Variable(of_layout(part.layout, part.offset)),
            None => Variable(location.0),
        },
        // What is known about one thread says nothing about another.
        Reference::Thread(_) | Reference::Null => Variable(OF_THREAD),
    }
}

/// The pseudo lock of the thread with a lasting number.
pub(crate) fn pseudo_lock(number: u64) -> Guard {
    Guard(OF_THREAD | number)
}

/// Whether a guard is the pseudo lock of a thread.
pub(crate) fn is_pseudo_lock(guard: Guard) -> bool {
    guard.0 & OF_THREAD != 0
}

/// The number of a thread, if no other thread ever has it.
fn lasting_number(program: &Program, state: &State, thread: usize) -> Option<u64> {
    let fixed = thread < program.hir.starts.len();
    let tid = state.thread(thread)[header::TID];
    (fixed || program.features.numbers_threads).then_some(tid as u64)
}
