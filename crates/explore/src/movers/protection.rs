//! [`Protection`]: which locks protect which variable, as far as was seen.
//!
//! Section 6 of Flanagan and Qadeer: every variable starts out protected by all locks, and
//! each access removes those that are not held. As long as one is left, whoever accesses the
//! variable has exclusive access to it. Sets only ever shrink, and every access that is taken
//! away from is a real one, so in the end they are what a full search would find.
//!
//! Departures from the paper:
//!
//! - Each location has its own set, not each variable of the program; fields of heap
//!   objects have one for all objects of their kind, in which a lock of the same object
//!   counts as such. (The name of a heap object depends on the schedule. A set under a name that
//!   another thread's step can change would be no fact about the object.)
//! - A thread always holds a pseudo lock of its own (section 5.1), so thread-local data
//!   needs no rule; if the system has a name for it that no other thread ever has.
//! - A variable that nobody writes after the first thread was started needs no lock at all.
//! - What a blocked guard reads is an access, and so is what an invariant reads.
//! - When a set becomes empty on which expansions have relied, the search starts again with
//!   the sets reached so far. The paper goes on, but then states that were expanded
//!   under the stronger assumption have no successors of other threads.
//! - Accesses by the last thread that has not ended need no lock, see below.
//!
//! # Being alone
//!
//! A program that joins its workers and then looks at the result without a lock does so with
//! exclusive access, in a sense: no other thread is left. But that is given to it by other
//! threads, as they end, and exclusive access must not be given by a step that is moved: if
//! the end of a thread is a left mover, it becomes one transaction with the critical section
//! before it, and nobody is scheduled in a state in which the thread is still there. So
//! what another thread could have done wrong before is done in the reduced system when it
//! has become right. With
//!
//! ```text
//! lock(m); y = 1; x = 1; x = 2; unlock(m);   ||   await(y == 1); r = x; assert(r != 1);
//! ```
//!
//! the second thread would find itself alone whenever it reads `x`. Therefore the sets of
//! accesses while alone are kept apart from the others. If a variable is protected only because they do not
//! count, being alone is relied on, and then the last step of a thread is no left mover.

use rapidhash::{RapidHashMap as HashMap, RapidHashSet as HashSet};

use super::is_alone;
use crate::repair::Repair;
use crate::system::{Access, AccessKind, Guard, Place, Position, System, Variable};

/// A set of locks that was all of them at first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Locks {
    #[default]
    All,
    These(Vec<Guard>),
}

impl Locks {
    fn retain(&mut self, held: &[Guard]) {
        match self {
            Self::All => *self = Self::These(held.to_vec()),
            Self::These(locks) => locks.retain(|lock| held.contains(lock)),
        }
    }

    fn is_empty(&self) -> bool {
        matches!(self, Self::These(locks) if locks.is_empty())
    }

    /// Those in both.
    fn intersect(&mut self, other: Self) {
        match other {
            Self::All => {}
            Self::These(locks) => self.retain(&locks),
        }
    }

    fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::These(locks), Self::These(others)) => {
                locks.iter().any(|lock| others.contains(lock))
            }
            (set, Self::All) | (Self::All, set) => !set.is_empty(),
        }
    }
}

/// What was seen of one variable.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// The locks held in all accesses while other threads had not ended.
    locks: Locks,
    /// The locks held in all accesses by the last thread.
    locks_alone: Locks,
    written: bool,
    written_alone: bool,
    /// Whether it was accessed by a plain access.
    plain: bool,
    /// Whether somebody has tried it: for locks and semaphores.
    tried: bool,
    /// Whether an invariant or a declared predicate reads it.
    observed: bool,
    /// Whether expansions have relied on what was known.
    used: bool,
    /// Whether it was accessed.
    accessed: bool,
    /// Who was first; only for a mutation.
    first: Option<Position>,
}

impl Seen {
    /// Whether it is protected in the presence of other threads.
    fn is_protected(&self) -> bool {
        !self.locks.is_empty() || !self.written
    }

    /// Whether it would be protected as well if the accesses of the last thread counted.
    fn is_protected_to_the_end(&self) -> bool {
        self.locks.meets(&self.locks_alone) || !(self.written || self.written_alone)
    }

    fn relies_on_being_alone(&self) -> bool {
        self.is_protected() && !self.is_protected_to_the_end()
    }

    /// Whether expansions by somebody who knew this have relied on what is not so by what is known now.
    fn has_misled(&self, now: &Self) -> bool {
        let tried = !self.tried && now.tried && Repair::TriedLocksDoNotMove.is_on();
        let unprotected = self.is_protected() && !now.is_protected();
        self.used && (unprotected || tried || !self.observed && now.observed)
    }

    /// Adds what another worker has seen.
    fn merge(&mut self, other: Self) {
        self.locks.intersect(other.locks);
        self.locks_alone.intersect(other.locks_alone);
        self.written |= other.written;
        self.written_alone |= other.written_alone;
        self.plain |= other.plain;
        self.tried |= other.tried;
        self.observed |= other.observed;
        self.used |= other.used;
        self.accessed |= other.accessed;
        self.first = self.first.or(other.first);
    }
}

/// What is known about a variable, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Knowledge {
    /// Which.
    pub variable: Variable,
    /// The locks that were held at every access that counts; nothing if it was only
    /// accessed in ways that need none.
    pub locks: Option<Vec<Guard>>,
    /// Whether it was written when that needs a lock.
    pub written: bool,
    /// Whether accesses to it are exclusive.
    pub protected: bool,
    /// Whether it was accessed without its locks by a thread when all others had ended.
    pub relies_on_being_alone: bool,
    /// For locks and semaphores: whether it was tried.
    pub tried: bool,
    /// The places of its accesses, with the locks that are always held there; only if asked for.
    pub accesses: Vec<(Place, Vec<Guard>)>,
}

/// Which locks protect which variable, and what follows.
#[derive(Clone, Debug, Default)]
pub struct Protection {
    variables: HashMap<Variable, Seen>,
    /// The locks that were held at each place; kept only for explanations.
    places: Option<HashMap<(Variable, Place), Locks>>,
    alone: bool,
    /// How many variables are the reason for that now.
    reliant: usize,
    /// The same for declared disciplines, for ever.
    alone_as_declared: bool,
    /// How many variables have turned out to be unprotected, at least.
    unprotected: u32,
    /// Variables of which expansions have relied on that they are not accessed.
    left_out: HashSet<Variable>,
    outdated: bool,
    /// Whether accesses are not taken note of; only for a mutation.
    looks_away: bool,
    held: Vec<Guard>,
}

impl Protection {
    /// Also keeps the locks that are held at each place.
    pub fn keep_places(&mut self) {
        self.places.get_or_insert_default();
    }

    /// Whether accesses to some variable may race, as far as was seen: plain ones, without a lock in
    /// common, and it is written. Nothing is known of when they happen, so they need not.
    pub(crate) fn may_race(&self) -> bool {
        let mut variables = self.variables.values();
        variables.any(|seen| seen.plain && !seen.is_protected())
    }

    /// How much memory it takes, about. What is kept for explanations counts too.
    pub(crate) fn held_bytes(&self) -> usize {
        // A set of locks is rarely larger than this: it holds locks that one thread had at once.
        let locks = 4 * size_of::<Guard>();
        let variable = size_of::<(Variable, Seen)>() + 1 + 2 * locks;
        let place = size_of::<((Variable, Place), Locks)>() + 1 + locks;
        let places = self.places.as_ref().map_or(0, HashMap::capacity);
        self.variables.capacity() * variable + places * place
    }

    /// Whether something was learned since the round began that contradicts what was relied
    /// on before.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        // If a variable for which being alone mattered turns out to be unprotected anyhow,
        // nothing found is wrong, but the numbers would depend on the order.
        let needlessly_alone = self.alone && self.reliant == 0 && !self.alone_as_declared;
        (self.outdated || needlessly_alone) && Repair::StartAgainWhenUnprotected.is_on()
    }

    /// A new round begins with what is known now.
    pub fn begin_round(&mut self) {
        self.outdated = false;
        self.alone = self.alone_as_declared || self.reliant > 0;
        for seen in self.variables.values_mut() {
            seen.used = false;
        }
        self.left_out.clear();
    }

    /// Adds what another worker of the same round has seen since both knew the same.
    ///
    /// What either of them has relied on, and is not so by what both know, makes the round outdated, just as
    /// if one worker had seen it first and relied on it, and then learned better.
    pub(crate) fn merge(&mut self, other: Self) {
        self.outdated |= other.outdated;
        // It matters to every step of the last thread whether being alone is relied on.
        self.outdated |= self.alone != other.alone;
        self.alone |= other.alone;
        self.alone_as_declared |= other.alone_as_declared;
        for (variable, theirs) in other.variables {
            let seen = self.variables.entry(variable).or_default();
            let (ours, copy) = (seen.clone(), theirs.clone());
            seen.merge(theirs);
            self.outdated |= ours.has_misled(seen) || copy.has_misled(seen);
        }
        self.left_out.extend(other.left_out);
        self.outdated |= (self.left_out.iter()).any(|&variable| self.is_accessed(variable));
        let reliant = self
            .variables
            .values()
            .filter(|seen| seen.relies_on_being_alone());
        self.reliant = reliant.count();
        if self.reliant > 0 && !self.alone {
            self.alone = true;
            self.outdated = true;
        }
    }

    /// Whether it is kept for explanations too.
    pub(crate) fn keeps_places(&self) -> bool {
        self.places.is_some()
    }

    /// Takes note of accesses, or not: which is unsound.
    pub(crate) fn look_away(&mut self, away: bool) {
        self.looks_away = away;
    }

    /// Whether some thread accesses a variable as it may only because all others have ended.
    #[must_use]
    pub fn relies_on_being_alone(&self) -> bool {
        self.alone && Repair::LastThreadSeesOthersEnd.is_on()
    }

    /// Takes note of an access that a declared discipline forbids unless its thread is alone.
    pub(super) fn rely_on_being_alone(&mut self) {
        self.outdated |= !self.alone;
        self.alone = true;
        self.alone_as_declared = true;
    }

    /// Takes note of an access by a thread in a state, and says whether it is exclusive.
    pub(super) fn access<S: System>(
        &mut self,
        system: &S,
        state: &S::State,
        thread: Position,
        access: &Access,
    ) -> bool {
        let variable = system.variable(state, access.location);
        // What is not protected will not be: which locks are held does not matter any more.
        if self.places.is_none()
            && Repair::NoFreeFirstOwner.is_on()
            && let Some(seen) = self.variables.get_mut(&variable)
            && !seen.is_protected()
        {
            seen.plain |= access.kind == AccessKind::Plain;
            return false;
        }
        self.held.clear();
        system.guards(state, thread, access, &mut self.held);
        if let Some(places) = &mut self.places {
            let locks = places.entry((variable, access.place)).or_default();
            locks.retain(&self.held);
        }
        let seen = self.variables.entry(variable).or_default();
        if !Repair::NoFreeFirstOwner.is_on() && *seen.first.get_or_insert(thread) == thread {
            return true;
        }
        seen.plain |= access.kind == AccessKind::Plain;
        if !std::mem::replace(&mut seen.accessed, true) {
            self.outdated |= self.left_out.contains(&variable);
        }
        // All that can change is whether it is protected: mostly nothing more to learn.
        let was_protected = seen.is_protected();
        if !was_protected || self.looks_away {
            return was_protected;
        }
        let was_used = std::mem::replace(&mut seen.used, true);
        let was_reliant = seen.relies_on_being_alone();
        if is_alone(system, state, thread) {
            seen.locks_alone.retain(&self.held);
            seen.written_alone |= access.writes;
        } else {
            seen.locks.retain(&self.held);
            seen.written |= access.writes;
        }
        let protected = seen.is_protected();
        let is_reliant = seen.relies_on_being_alone();
        self.reliant = self.reliant + usize::from(is_reliant) - usize::from(was_reliant);
        if is_reliant && !self.alone {
            self.alone = true;
            self.outdated = true;
        }
        self.outdated |= was_used && !protected;
        self.unprotected += u32::from(!protected);
        protected
    }

    /// Whether an access by the thread would be exclusive in the state.
    pub(super) fn protects<S: System>(
        &mut self,
        system: &S,
        state: &S::State,
        thread: Position,
        access: &Access,
    ) -> bool {
        let variable = system.variable(state, access.location);
        let Some(seen) = self.variables.get(&variable) else {
            return false;
        };
        if !seen.written || is_alone(system, state, thread) {
            return seen.is_protected();
        }
        self.held.clear();
        system.guards(state, thread, access, &mut self.held);
        match &seen.locks {
            Locks::All => true,
            Locks::These(locks) => {
                !locks.is_empty() && locks.iter().all(|lock| self.held.contains(lock))
            }
        }
    }

    /// Somebody without locks reads it.
    pub(super) fn observe(&mut self, variable: Variable) {
        let seen = self.variables.entry(variable).or_default();
        if seen.observed {
            return;
        }
        self.reliant -= usize::from(seen.relies_on_being_alone());
        seen.locks.retain(&[]);
        seen.observed = true;
        self.reliant += usize::from(seen.relies_on_being_alone());
        self.outdated |= seen.used;
        self.unprotected += 1;
    }

    /// How much is known about what is not protected: more than before if the number has changed.
    pub(super) fn unprotected(&self) -> u32 {
        self.unprotected
    }

    /// Whether a variable is known to have no protection. It never will then, and nothing can be learned from an access to it but whether that is plain.
    pub(super) fn is_unprotected(&self, variable: Variable) -> bool {
        let seen = self.variables.get(&variable);
        seen.is_some_and(|seen| !seen.is_protected())
    }

    /// Whether a variable was accessed so far.
    pub(super) fn is_accessed(&self, variable: Variable) -> bool {
        let seen = self.variables.get(&variable);
        seen.is_some_and(|seen| seen.accessed)
    }

    /// It is relied on that a variable is not accessed.
    pub(super) fn leave_out(&mut self, variable: Variable) {
        self.left_out.insert(variable);
    }

    /// Whether somebody without locks reads it; the answer is relied on.
    pub(super) fn is_observed(&mut self, variable: Variable) -> bool {
        let seen = self.variables.entry(variable).or_default();
        seen.used = true;
        seen.observed
    }

    /// Somebody tries a lock or semaphore.
    pub(super) fn note_try(&mut self, variable: Variable) {
        let seen = self.variables.entry(variable).or_default();
        self.outdated |= seen.used && !seen.tried && Repair::TriedLocksDoNotMove.is_on();
        seen.tried = true;
    }

    /// Whether somebody tries a lock or semaphore; the answer is relied on.
    pub(super) fn is_tried(&mut self, variable: Variable) -> bool {
        let seen = self.variables.entry(variable).or_default();
        seen.used = true;
        seen.tried && Repair::TriedLocksDoNotMove.is_on()
    }

    /// Everything that is known, in a fixed order.
    #[must_use]
    pub fn knowledge(&self) -> Vec<Knowledge> {
        let mut all: Vec<_> = self
            .variables
            .iter()
            .map(|(&variable, seen)| Knowledge {
                variable,
                locks: match &seen.locks {
                    Locks::All => None,
                    Locks::These(locks) => Some(sorted(locks)),
                },
                written: seen.written,
                protected: seen.is_protected(),
                relies_on_being_alone: seen.relies_on_being_alone(),
                tried: seen.tried,
                accesses: self.accesses(variable),
            })
            .collect();
        all.sort_by_key(|known| known.variable);
        all
    }

    fn accesses(&self, variable: Variable) -> Vec<(Place, Vec<Guard>)> {
        let places = self.places.iter().flatten();
        let mut accesses: Vec<_> = places
            .filter(|((of, _), _)| *of == variable)
            .map(|((_, place), locks)| match locks {
                Locks::All => (*place, Vec::new()),
                Locks::These(locks) => (*place, sorted(locks)),
            })
            .collect();
        accesses.sort();
        accesses
    }
}

fn sorted(locks: &[Guard]) -> Vec<Guard> {
    let mut locks = locks.to_vec();
    locks.sort_unstable();
    locks
}
