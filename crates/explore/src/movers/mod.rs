//! Which steps commute with those of other threads.
//!
//! Lipton's reduction knows two kinds of steps that commute. A *right mover* can be
//! put off: if another thread moves right after it, the other could have moved
//! first. A *left mover* can be brought forward: if another thread moves right before it, it could
//! have moved before that. Flanagan and Qadeer ("Transactions for Software Model Checking",
//! 2003) tell them from *exclusive access*: a step is a left mover if its thread has
//! exclusive access to everything that the step touches in the state before it, and a
//! right mover if it does in the state after it (section 4.2). What gives exclusive access:
//!
//! | to | exclusive access of a thread |
//! |---|---|
//! | a mutex, a reader-writer lock taken for writing | owning it |
//! | the waiters of a monitor | owning the monitor |
//! | data with a declared discipline | what is declared: a lock, a predicate, being the only one |
//! | what only the thread can reach | always: nobody else was ever started, or it is a new object |
//! | other data, channels, the waiters of a condition variable | holding all locks that protect it, as far as [`Protection`] knows |
//!
//! From that follow the movers of each operation:
//!
//! | step | left | right | because |
//! |---|---|---|---|
//! | local code, a choice | yes | yes | nobody else sees it |
//! | access to protected or owned data | yes | yes | nobody else can touch it meanwhile |
//! | access to unprotected data | no | no | |
//! | read of data that nobody writes | yes | yes | reads commute |
//! | taking a mutex | no | yes | nobody else can take or release it as long as it is held |
//! | releasing it | yes | no | the same, before |
//! | taking or releasing a re-entrant mutex that stays owned | yes | yes | |
//! | taking a reader-writer lock for reading | no | yes | other readers do not mind; writers wait |
//! | releasing that | yes | no | |
//! | trying any of them | no | no | it sees whether somebody else has it |
//! | taking or releasing a lock that somebody tries | no | no | a failing try tells before from after |
//! | waiting, part one: giving up the mutex | yes | no | a release |
//! | waiting, part two: taking it again | no | yes | an acquire; it cannot happen while the mutex is held |
//! | notifying | as an access to the waiters | | the waiters belong to the monitor or condition |
//! | semaphore down | no | yes | after it, others can do no more than before it |
//! | semaphore up | yes | no | before it, others can do no more than after it |
//! | semaphore operations, if somebody tries it | no | no | |
//! | channel operations | as an access to the channel | | |
//! | spawn | yes | no | nobody else sees the new thread before; names commute |
//! | join | no | yes | the other thread stays ended |
//! | the end of a thread | yes | no | but see [`Protection`] on being alone |
//! | freeing an object | as a write to all of its data | | |
//! | freeing an object with a lock or semaphore in it | no | no | as if it were tried: using it becomes an error |

mod protection;

pub use protection::{Knowledge, Protection};

use crate::repair::Repair;
use crate::system::{
    Access, AccessKind, Footprint, Place, PlaceSet, Position, Status, Step, SyncOp, System, Unseen,
    Variable, VariableSet,
};

/// How a step commutes with those of other threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mover {
    /// It could have been taken before any step of another thread that came before it.
    pub left: bool,
    /// It could have been taken after any step of another thread that comes after it.
    pub right: bool,
}

impl Mover {
    /// It commutes both ways.
    pub const BOTH: Self = Self {
        left: true,
        right: true,
    };
    /// It commutes to the left only.
    pub const LEFT: Self = Self {
        left: true,
        right: false,
    };
    /// It commutes to the right only.
    pub const RIGHT: Self = Self {
        left: false,
        right: true,
    };
    /// It does not commute.
    pub const NON: Self = Self {
        left: false,
        right: false,
    };

    /// The mover that a step is that does both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            left: self.left && other.left,
            right: self.right && other.right,
        }
    }

    fn only_if(self, condition: bool) -> Self {
        if condition { self } else { Self::NON }
    }

    /// As Lipton would call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match (self.left, self.right) {
            (true, true) => "both-mover",
            (true, false) => "left mover",
            (false, true) => "right mover",
            (false, false) => "non-mover",
        }
    }
}

/// Tells movers, and keeps what it has to know about the program to do so.
#[derive(Debug, Default)]
pub struct Movers {
    /// What is known so far about who protects what.
    pub protection: Protection,
    reads: Footprint,
    /// By place, what is known of the steps from there.
    places: Vec<KnownPlace>,
    fixed: FixedPlaces,
}

/// What is known of the steps from a place.
#[derive(Debug, Default)]
enum KnownPlace {
    #[default]
    Nothing,
    /// They access some of these variables. It was asked whether they are non-movers when so much was known.
    Accesses {
        variables: Vec<Variable>,
        asked_at: Option<u32>,
    },
    /// That is all.
    Anything,
}

/// Places from which every step is a non-mover, and will be: it accesses nothing but variables that are unprotected. Nothing is learned from
/// such a step either, so nobody needs to look at it.
///
/// Some of what could be accessed there may be accessed nowhere: an element of an array, say. That is relied on; if it is accessed after all, the search starts again.
///
/// A macro-step that comes to such a place after its commit ends there: the next step is no left mover, or it is blocked.
#[derive(Debug, Default)]
pub(crate) struct FixedPlaces {
    /// These places.
    pub(crate) taken: PlaceSet,
    /// Those of them at which a thread was seen blocked.
    pub(crate) blocked: PlaceSet,
    /// The variables that were unprotected, if others could be accessed from these places.
    variables: VariableSet,
    has_others: bool,
}

impl FixedPlaces {
    /// Adds a place whose steps access some of these variables, if that makes them non-movers.
    fn add(&mut self, place: Place, variables: &[Variable], protection: &mut Protection) {
        let is_no_mover = |variable: &Variable| {
            protection.is_unprotected(*variable) || !protection.is_accessed(*variable)
        };
        if !variables.iter().all(is_no_mover) {
            return;
        }
        for &variable in variables {
            if protection.is_unprotected(variable) {
                self.variables.insert(variable);
            } else {
                self.has_others = true;
                protection.leave_out(variable);
            }
        }
        self.taken.insert(place);
    }

    /// The steps that nobody needs to look at.
    pub(crate) fn steps(&self) -> Unseen<'_> {
        Unseen::Between {
            taken: &self.taken,
            blocked: &self.blocked,
            variables: self.has_others.then_some(&self.variables),
        }
    }
}

impl Movers {
    /// The mover that a step is, which moved or failed. `state` is the state before it.
    pub fn of_step<S: System>(
        &mut self,
        system: &mut S,
        state: &S::State,
        thread: Position,
        step: &Step<S::State>,
    ) -> Mover {
        let mut mover = Mover::BOTH;
        for access in &step.footprint {
            mover = mover.and(self.of_access(system, state, thread, step, access));
        }
        // A thread that relies on being the last one must see the others before they end.
        if self.protection.relies_on_being_alone() && system.ended(&step.after, thread) {
            mover.left = false;
        }
        mover
    }

    /// Takes note that a step from a place was a non-mover, or that it is blocked.
    ///
    /// All that is asked here is whether that will be so for good, and nothing is learned from it. Steps of that place have been seen, so it is known whether
    /// they access anything plainly.
    pub(crate) fn note_place<S: System>(&mut self, system: &S, place: Place, blocked: bool) {
        if self.protection.keeps_places() || !Repair::are_all_on() {
            return;
        }
        let index = place.0 as usize;
        if self.places.len() <= index {
            self.places.resize_with(index + 1, KnownPlace::default);
        }
        let known = &mut self.places[index];
        if let KnownPlace::Nothing = known {
            *known = match system.accessed_from(place) {
                Some(variables) => KnownPlace::Accesses {
                    variables,
                    asked_at: None,
                },
                None => KnownPlace::Anything,
            };
        }
        let now = Some(self.protection.unprotected());
        if let KnownPlace::Accesses {
            variables,
            asked_at,
        } = known
            && *asked_at != now
        {
            *asked_at = now;
            self.fixed.add(place, variables, &mut self.protection);
        }
        if blocked && self.fixed.taken.contains(place) {
            self.fixed.blocked.insert(place);
        }
    }

    /// A new round begins with what is known now.
    pub(crate) fn begin_round(&mut self) {
        self.protection.begin_round();
        self.fixed = FixedPlaces::default();
        for known in &mut self.places {
            if let KnownPlace::Accesses { asked_at, .. } = known {
                *asked_at = None;
            }
        }
    }

    /// The places from which every step is known to be a non-mover.
    pub(crate) fn fixed_places(&self) -> &FixedPlaces {
        &self.fixed
    }

    fn of_access<S: System>(
        &mut self,
        system: &mut S,
        state: &S::State,
        thread: Position,
        step: &Step<S::State>,
        access: &Access,
    ) -> Mover {
        let after = &step.after;
        let AccessKind::Sync(op) = access.kind else {
            return self.of_data(system, state, thread, step, access);
        };
        let moves = |this: &mut Self, system: &mut S, mover: Mover| {
            let variable = system.variable(state, access.location);
            mover.only_if(!this.protection.is_tried(variable))
        };
        match op {
            SyncOp::Spawn | SyncOp::Exit => Mover::LEFT,
            SyncOp::Join => Mover::RIGHT,
            SyncOp::Census => {
                self.protection.rely_on_being_alone();
                Mover::RIGHT
            }
            SyncOp::Down | SyncOp::AcquireShared => moves(self, system, Mover::RIGHT),
            SyncOp::Up | SyncOp::ReleaseShared => moves(self, system, Mover::LEFT),
            SyncOp::Acquire | SyncOp::Release => {
                let owned = Mover {
                    left: system.holds(state, thread, access.location),
                    right: system.holds(after, thread, access.location),
                };
                // Who tries it sees no difference if it stays owned.
                match owned == Mover::BOTH {
                    true => owned,
                    false => moves(self, system, owned),
                }
            }
            SyncOp::Try | SyncOp::TryShared | SyncOp::Destroy => {
                if system.owns(state, thread, access.location) {
                    return Mover::BOTH;
                }
                let variable = system.variable(state, access.location);
                self.protection.note_try(variable);
                Mover::NON
            }
            SyncOp::Resume if access.writes => moves(self, system, Mover::RIGHT),
            SyncOp::Resume => {
                let is_monitor = step
                    .footprint
                    .iter()
                    .any(|other| other.writes && other.location == access.location);
                match is_monitor {
                    true => Mover::RIGHT,
                    // The waiters of a condition variable. The step is not possible while
                    // anybody holds the mutex, so the locks that count are those after it.
                    false => {
                        let protected = self.protection.access(system, after, thread, access);
                        Mover::RIGHT.only_if(protected)
                    }
                }
            }
            SyncOp::Wait | SyncOp::Notify if system.holds(state, thread, access.location) => {
                let owned = Mover {
                    left: true,
                    right: system.holds(after, thread, access.location),
                };
                match owned == Mover::BOTH {
                    true => owned,
                    false => moves(self, system, owned),
                }
            }
            SyncOp::Wait
            | SyncOp::Notify
            | SyncOp::Send
            | SyncOp::Receive
            | SyncOp::Poll
            | SyncOp::Free => self.of_data(system, state, thread, step, access),
        }
    }

    fn of_data<S: System>(
        &mut self,
        system: &mut S,
        state: &S::State,
        thread: Position,
        step: &Step<S::State>,
        access: &Access,
    ) -> Mover {
        let (location, after) = (access.location, &step.after);
        let variable = system.variable(state, location);
        if access.writes && self.protection.is_observed(variable) {
            self.protection.access(system, state, thread, access);
            return Mover::NON;
        }
        if system.owns(state, thread, location) {
            return Mover {
                left: true,
                right: system.owns(after, thread, location),
            };
        }
        self.reads.clear();
        if let Some(exclusive) = system.declared(state, thread, access, &mut self.reads) {
            let exclusive_after = system.declared(after, thread, access, &mut self.reads);
            self.observe_reads(system, state);
            return match exclusive {
                true => Mover {
                    left: true,
                    right: exclusive_after == Some(true),
                },
                false if is_alone(system, state, thread) => {
                    self.protection.rely_on_being_alone();
                    Mover::BOTH.only_if(is_alone(system, after, thread))
                }
                // The access that claims a thread-local variable.
                false => Mover::NON,
            };
        }
        if !self.protection.access(system, state, thread, access) {
            return Mover::NON;
        }
        // Only a step that also does something else can have released a lock.
        let still_protected =
            step.footprint.len() == 1 || self.protection.protects(system, after, thread, access);
        Mover {
            left: true,
            right: still_protected,
        }
    }

    /// Takes note of a blocked step: what its guard reads is accessed although nothing happens.
    ///
    /// Otherwise a variable that is written by one thread and only waited for by another
    /// would look as if it belonged to the writer, and the values in between would be lost.
    /// Taking a lock, a semaphore or a wait again is no such look: it is possible only when
    /// nobody else has exclusive access.
    pub fn note_blocked<S: System>(
        &mut self,
        system: &mut S,
        state: &S::State,
        thread: Position,
        step: &Step<S::State>,
    ) {
        debug_assert!(matches!(step.status, Status::Blocked { .. }));
        if !Repair::BlockedGuardIsAnAccess.is_on() {
            return;
        }
        for access in &step.footprint {
            if system.owns(state, thread, access.location) {
                continue;
            }
            let looks = match access.kind {
                AccessKind::Plain | AccessKind::Atomic => true,
                AccessKind::Sync(SyncOp::Try | SyncOp::TryShared | SyncOp::Destroy) => {
                    // In a block that blocks after it has tried.
                    let variable = system.variable(state, access.location);
                    self.protection.note_try(variable);
                    false
                }
                AccessKind::Sync(SyncOp::Census) => {
                    self.protection.rely_on_being_alone();
                    false
                }
                AccessKind::Sync(op) => matches!(
                    op,
                    SyncOp::Send
                        | SyncOp::Receive
                        | SyncOp::Poll
                        | SyncOp::Wait
                        | SyncOp::Notify
                        | SyncOp::Free
                ),
            };
            if !looks {
                continue;
            }
            self.reads.clear();
            let declared = system.declared(state, thread, access, &mut self.reads);
            match declared {
                Some(true) => self.observe_reads(system, state),
                Some(false) => {
                    self.observe_reads(system, state);
                    if is_alone(system, state, thread) {
                        self.protection.rely_on_being_alone();
                    }
                }
                None => {
                    self.protection.access(system, state, thread, access);
                }
            }
        }
    }

    /// Takes note that somebody who holds no locks reads these locations: the observer of an
    /// invariant, or of a declared predicate. They belong to nobody then, so that no step
    /// that changes them is hidden inside a transaction.
    pub fn observe<S: System>(&mut self, system: &S, state: &S::State, reads: &Footprint) {
        if !Repair::InvariantObserver.is_on() {
            return;
        }
        for access in reads {
            let variable = system.variable(state, access.location);
            self.protection.observe(variable);
        }
    }

    fn observe_reads<S: System>(&mut self, system: &S, state: &S::State) {
        let reads = std::mem::take(&mut self.reads);
        self.observe(system, state, &reads);
        self.reads = reads;
    }
}

/// Whether all other threads have ended.
fn is_alone<S: System>(system: &S, state: &S::State, thread: Position) -> bool {
    (0..system.thread_count(state))
        .map(|position| Position(position as u32))
        .all(|other| other == thread || system.ended(state, other))
}
