//! [`Disciplines`]: declared disciplines that can be checked in the packed words of a state.
//!
//! The interpreter checks every access of a step against the rules, in the state before it, and looks at what the step has decided for others. Native code
//! does not: its steps are checked here, by their accesses. A step keeps to what is declared, and differs from one without disciplines in nothing but its footprint, if
//!
//! 1. each access to a slot that is `guarded_by` a lock is made by its holder, or reads and the thread has taken the lock for reading;
//! 2. or it is one to an object that only its maker has ever known, which is exempt. The interpreter has looked who is left then: so the
//!    footprint says that the other threads were looked at;
//! 3. each access to what is `thread_local` is made by the thread that was first. The footprint says that the ghost word was read;
//! 4. none is made to what is `exclusive`, and none writes what a condition depends on;
//! 5. and the step is not blocked, unless it has made no access that a rule is about.
//!
//! The end of a thread is an access of its own. All other steps are left to the interpreter, which knows what is wrong, who is exempt, and who comes first. Objects that
//! others get to know are marked after a step, in the words.

use raddle_explore::{Access, AccessKind, Footprint, Location, Place, SyncOp};
use raddle_machine::Machine;
use raddle_machine::native::{Declared, Field, Heap, Layout, NOWHERE, Rule, code_of, thread_word};

use crate::frame::NativeAccess;
use crate::objects::Objects;

/// Which rule there is for each slot, and where what it depends on is.
#[derive(Clone, Debug)]
pub(crate) struct Disciplines {
    declared: Declared,
    /// The codes of the names of threads, in one byte and in two.
    names: Box<[[Option<u16>; 2]]>,
    /// Whether some rule is about objects.
    pub(crate) are_on_heap: bool,
}

/// What an access comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// There is no rule for it.
    NotDeclared,
    Kept,
    /// By whoever was first, as this ghost word says.
    ByFirst(u32),
    /// Nobody else has ever known the object.
    Exempt,
    /// The interpreter knows.
    Unknown,
}

/// A step of a thread.
pub(crate) struct Made<'s> {
    pub(crate) layout: &'s Layout,
    pub(crate) before: &'s [u64],
    pub(crate) objects: Option<&'s Objects>,
    pub(crate) thread: usize,
    pub(crate) accesses: &'s [NativeAccess],
    pub(crate) blocked: bool,
}

impl Disciplines {
    /// Those of a machine that enforces some; none if they are broken from the start.
    pub(crate) fn of(machine: &Machine, layout: &Layout) -> Option<Self> {
        let declared = machine.declared_rules()?;
        let names = (0..layout.most_threads()).map(|thread| {
            let name = thread_word(thread);
            [false, true].map(|wide| code_of(name, wide))
        });
        Some(Self {
            are_on_heap: (declared.layouts.iter().flatten()).any(Option::is_some),
            declared,
            names: names.collect(),
        })
    }

    /// Whether a thread may access a global slot in a state, by the lock that is declared for it; nothing if there is no rule. Not known if there is a rule of another
    /// kind.
    #[inline]
    pub(crate) fn allows(
        &self,
        layout: &Layout,
        words: &[u64],
        thread: usize,
        location: u64,
        writes: bool,
    ) -> Result<Option<bool>, Unknown> {
        match self.declared.globals.get(location as usize) {
            Some(None) => Ok(None),
            Some(Some(Rule::Lock(slot))) => {
                let holds = self.holds_lock(layout, words, thread, *slot, writes);
                Ok(Some(holds))
            }
            _ => Err(Unknown),
        }
    }

    #[inline]
    fn is_mine(&self, words: &[u64], thread: usize, owner: Field) -> bool {
        let mine = self.names[thread][usize::from(owner.wide)];
        Some(Layout::code(owner, words)) == mine
    }

    #[inline]
    fn holds_lock(
        &self,
        layout: &Layout,
        words: &[u64],
        thread: usize,
        slot: u32,
        writes: bool,
    ) -> bool {
        let mut read_holds = layout.read_holds(words, thread);
        self.is_mine(words, thread, layout.slots[slot as usize])
            || !writes && read_holds.any(|held| held == slot)
    }

    #[inline]
    fn keeps(&self, made: &Made<'_>, access: NativeAccess) -> Verdict {
        let (location, writes) = (access.location, access.writes());
        let Some(rule) = self.declared.globals.get(location as usize) else {
            return match made.objects.and_then(|objects| objects.at(location)) {
                Some((position, slot)) => self.keeps_in_object(made, position, slot, writes),
                None if writes && self.declared.anything_decides => Verdict::Unknown,
                // An object that is made in this step, or a thread.
                None => Verdict::NotDeclared,
            };
        };
        if writes && self.declared.decides[location as usize] {
            return Verdict::Unknown;
        }
        match *rule {
            None => Verdict::NotDeclared,
            Some(Rule::Lock(slot)) => {
                match self.holds_lock(made.layout, made.before, made.thread, slot, writes) {
                    true => Verdict::Kept,
                    false => Verdict::Unknown,
                }
            }
            Some(Rule::First { ghost }) => {
                let field = made.layout.slots[ghost as usize];
                match self.is_mine(made.before, made.thread, field) {
                    true => Verdict::ByFirst(ghost),
                    false => Verdict::Unknown,
                }
            }
            Some(Rule::Sibling(_) | Rule::When) => Verdict::Unknown,
        }
    }

    fn keeps_in_object(
        &self,
        made: &Made<'_>,
        position: usize,
        slot: usize,
        writes: bool,
    ) -> Verdict {
        if writes && self.declared.anything_decides {
            return Verdict::Unknown;
        }
        let Some(area) = made.objects.and_then(|objects| objects.before(position)) else {
            return Verdict::NotDeclared;
        };
        let header = made.before[area as usize / 8];
        let rules = &self.declared.layouts[Heap::layout_of(header)];
        let slots = rules.len().max(1);
        let offset = slot % slots;
        let holds = match rules.get(offset).copied().flatten() {
            None => return Verdict::NotDeclared,
            Some(Rule::Lock(lock)) => {
                self.holds_lock(made.layout, made.before, made.thread, lock, writes)
            }
            Some(Rule::Sibling(lock)) => {
                let slot = (slot - offset) as u32 + lock;
                let owner = Field {
                    byte: area + Heap::HEADER + 2 * slot,
                    wide: true,
                };
                self.is_mine(made.before, made.thread, owner)
            }
            Some(Rule::First { .. } | Rule::When) => return Verdict::Unknown,
        };
        match holds {
            true => Verdict::Kept,
            false if header & Heap::ESCAPED == 0 => Verdict::Exempt,
            false => Verdict::Unknown,
        }
    }

    /// Whether a step keeps to what is declared for sure.
    #[inline]
    pub(crate) fn allow(&self, made: &Made<'_>) -> bool {
        made.accesses.iter().all(|access| {
            let kept = self.keeps(made, *access);
            // What a blocked step would do is not known exactly.
            kept == Verdict::NotDeclared || kept != Verdict::Unknown && !made.blocked
        })
    }

    /// Adds to a footprint what was looked at to tell that the step keeps to what is declared, and that its thread has ended with it.
    pub(crate) fn add_looks(&self, made: &Made<'_>, has_ended: bool, footprint: &mut Footprint) {
        let mut look = |location: i64, writes: bool, kind: AccessKind| {
            footprint.push(Access {
                location: Location(location as u64),
                writes,
                kind,
                place: Place(NOWHERE),
            });
        };
        for access in made.accesses {
            match self.keeps(made, *access) {
                Verdict::ByFirst(ghost) => look(ghost.into(), false, AccessKind::Atomic),
                Verdict::Exempt => {
                    let threads = 0..made.layout.threads(made.before);
                    for other in threads.filter(|other| *other != made.thread) {
                        let kind = AccessKind::Sync(SyncOp::Census);
                        look(thread_word(other), false, kind);
                    }
                }
                Verdict::NotDeclared | Verdict::Kept | Verdict::Unknown => {}
            }
        }
        if has_ended {
            let kind = AccessKind::Sync(SyncOp::Exit);
            look(thread_word(made.thread), true, kind);
        }
    }
}

/// The interpreter knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unknown;
