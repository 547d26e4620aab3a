//! [`Guarded`]: declared disciplines that can be checked in the packed words of a state.
//!
//! Where everything that is declared is `guarded_by` a lock among the globals, a step keeps to it if its thread holds that lock in the state before, or has
//! taken it for reading and only reads. Then enforcing disciplines changes nothing about the step, unless its thread ends with it: that is an access of its own, for others
//! may be exempt from then on. All other steps are left to the interpreter, which knows what is wrong and who is exempt.

use raddle_machine::Program;
use raddle_machine::native::{Field, Layout, code_of, guarding_locks, thread_word};

use crate::frame::NativeAccess;

/// Which lock guards each global slot.
#[derive(Clone, Debug)]
pub(crate) struct Guarded {
    by_slot: Box<[Option<Lock>]>,
    /// The codes of the names of threads, in one byte and in two.
    names: Box<[[Option<u16>; 2]]>,
    /// The first bytes of their areas.
    areas: Box<[u32]>,
}

#[derive(Clone, Copy, Debug)]
struct Lock {
    /// Where its owner is.
    owner: Field,
    /// Where in the area of a thread is how often it holds it for reading.
    holds: Option<Field>,
}

impl Guarded {
    /// The disciplines of a program; none if there are others than these.
    pub(crate) fn of(program: &Program, layout: &Layout) -> Option<Self> {
        let lock = |slot: u32| Lock {
            owner: layout.slots[slot as usize],
            holds: (layout.holds.iter())
                .find(|(held, _)| *held == slot)
                .map(|(_, field)| *field),
        };
        let by_slot = guarding_locks(program)?.into_iter();
        let names = (0..layout.run_threads()).map(|thread| {
            let name = thread_word(thread);
            [false, true].map(|wide| code_of(name, wide))
        });
        Some(Self {
            by_slot: by_slot.map(|slot| slot.map(lock)).collect(),
            names: names.collect(),
            areas: layout.areas.clone().into(),
        })
    }

    /// Whether a thread may make an access in a state, by what is declared for it; nothing if nothing is.
    #[inline]
    pub(crate) fn allows(
        &self,
        words: &[u64],
        thread: usize,
        location: u64,
        writes: bool,
    ) -> Option<bool> {
        let lock = (*self.by_slot.get(location as usize)?)?;
        let mine = self.names[thread][usize::from(lock.owner.wide)];
        let held_for_reading = || {
            lock.holds.is_some_and(|field| {
                let byte = self.areas[thread] + field.byte;
                Layout::code(Field { byte, ..field }, words) != 0
            })
        };
        let is_mine = Some(Layout::code(lock.owner, words)) == mine;
        Some(is_mine || !writes && held_for_reading())
    }

    /// Whether a step of a thread from a state keeps to what is declared for sure.
    #[inline]
    pub(crate) fn allows_all(
        &self,
        words: &[u64],
        thread: usize,
        accesses: &[NativeAccess],
        blocked: bool,
    ) -> bool {
        accesses.iter().all(|access| {
            let allowed = self.allows(words, thread, access.location, access.writes());
            // What a blocked step would do is not known exactly.
            allowed.is_none_or(|allowed| allowed && !blocked)
        })
    }
}
