//! TruSt: every consistent execution graph of a program, each exactly once.
//!
//! After Kokologiannakis, Marmanis, Gladstein, Vafeiadis, *Truly stateless, optimal dynamic partial order reduction* (POPL 2022), algorithm 1. A
//! graph is extended event by event. Which thread makes the next event does not matter; which write a read reads from, and where a write stands in
//! modification order, is tried in all consistent ways. A read can only read from a write that is there already. So each new write also *revisits*
//! the reads of its location: what is younger than the read and not in the prefix of the write is deleted, and the read reads from the write. For
//! each graph exactly one way leads there, because a revisit may only delete events that were added in the default, *maximal* way.
//!
//! ```text
//! visit(G):
//!   (t, op) = next(G)                         none: a leaf
//!   fence, spawn, join:  add; visit
//!   choice n: for c in 0..n: add C=c; visit
//!   read:     for w in sources (the last one first): add R with rf=w; if consistent: visit
//!   write:    add W (not yet in mo) → a
//!             for p in places (the end first): insert a at p; if consistent: visit
//!             revisit(G + a, a)
//!   update:   for w in sources: add R with rf=w; complete(G, that event, op)
//!
//! complete(G, u, op):                         u reads, and has the ordering of the update
//!   if inconsistent: return
//!   no write (a compare-exchange that fails): visit(G); return
//!   make u a U
//!   G' = G with u in mo immediately after rf(u);  if consistent: visit(G')
//!   revisit(G with u not in mo, u)            also if G' is inconsistent
//!
//! revisit(G, a):                              a is in its thread, not in mo
//!   P = prefix(a)
//!   for r in reads (R or U) of the location of a, not in P:
//!     D = { e : stamp(e) > stamp(r), e ∉ P }
//!     if not all e in D ∪ {r}: maximal(G, e, P): continue
//!     H = G without D; if r is a U its writing part goes too;  rf(r) = a
//!     for p in places of a in H:
//!       K = H with a at p
//!       r is an update: complete(K, r, op)    else if consistent(K): visit(K)
//!
//! maximal(G, e, P):                           was e added in the default way?
//!   prev(x) = x ∈ P \ {a}  or  stamp(x) ≤ stamp(e)
//!   e settled (see below): no
//!   e choice: the first alternative.   e on no location: yes
//!   e reads:  prev(rf(e))  and no other w mo-after rf(e) with prev(w)
//!   e writes: no w mo-after e with prev(w)
//! ```
//!
//! # Why each graph exactly once
//!
//! *At least once.* Let `G` be a full consistent graph. Run the algorithm and at each step take the alternative that agrees with `G`. There is none
//! only when a read `r` should read from a write `w` that is not there yet. Then let `r`, and everything up to `w`, be added in the default way,
//! which is always consistent (extensibility, see [`model`](crate::model)). `w` is added at last, since its prefix in `G` does not contain `r` and is
//! not affected; `r` can be revisited by `w`, because everything that is deleted is default, and the result agrees with `G` on more.
//!
//! *At most once.* From a graph and the rule that picks threads, its predecessor is determined. Which step was the last one can be told from the
//! stamps: a revisited read is older than what it reads from, and what was added since is younger than both. If the last step has added an event, the
//! predecessor is the graph without it. If it was a revisit of `r` by `w`, the predecessor is the graph in which `r`, and after it all events outside
//! of the prefix of `w` up to `w`, are added in the default way; these are unique, because the default is. Two different predecessors would have to
//! differ in a default choice.
//!
//! The paper proves this for reads and writes that never wait. The departures below are tested (`tests/`: against enumeration, with 0 duplicates, 0
//! missing and 0 extra graphs), and each rule that something breaks without is a [`Rule`] with a test that it is missed.
//!
//! # Departures
//!
//! - **Updates are one event.** The paper's are a read and a write. A revisit of an update takes its writing part away; the new one makes its own
//!   revisits. The event keeps its stamp. An update that reads what another update has read is inconsistent as it stands, and is the only way to
//!   revisit that other one.
//! - **Places after the revisit.** The places of `a` are tried in the restricted graph, not before. So one revisit serves all of them.
//! - **Choices** are default if the first alternative is taken.
//! - **Threads** start and are joined by events; their ends are none. A join waits for the end of its thread, and is not in the
//!   graph before that.
//! - **Waiting updates** (a lock: [`Update::waits`](crate::Update::waits)) are not in the graph until they need not wait for the last value. A
//!   revisit of a lock `r` by a write `a` that leaves it locked removes `r`, if `a` is put at the end: its thread waits again. That `a` and its
//!   prefix are settled then keeps `r` from coming back by a revisit that deletes `a`. Otherwise graphs would be visited twice as soon as locks are
//!   nested (`A{B{}} ∥ A{B{}} ∥ B{}`).
//! - **Waiting at leaves.** Where threads wait at a leaf, each of them is tried with every value that it need not wait for. Its event is inconsistent
//!   there, but the revisits that it makes are not: without them the other lock order of a deadlock is never found (`A{B{}} ∥ B{A{}}`).
//!
//!   If an event that is tried at a leaf is consistent as it stands, its graph may have been visited before. It is not if the waiting update writes
//!   whenever it does not wait, and every other write of the location is an update, or immediately follows a write of its own thread: locks,
//!   semaphores, parking. With other waiting updates no graph is missing, but some may be visited more than once (both tested). Such graphs are
//!   counted ([`Counts::in_doubt`]); `Once`, whose waiting update only reads once all is done, counts too, but is visited once (tested).
//! - **Waiting reads** ([`Operation::Await`](crate::Operation::Await)) are not revisited by a write that they would wait for. Their condition must
//!   stay true once it is; that is checked in every leaf.
//! - **Settled events.** The prefix `P` of a write `a` that has revisited a read `r` is not deleted any more. In the paper this follows from
//!   `maximal`. Here it is a rule, since it is what stays true if `r` was removed (waiting updates), and since it is cheap: a number for each thread.
//!   It also replaces a second stamp for the writing part of an update, which is younger than its reading part if that was revisited: what was added
//!   between the two is in `P`.
//!
//! # Order of work, memory
//!
//! Depth-first with an explicit stack. Forward alternatives are kept as (event, alternative) against the graph under construction, which is cut back
//! to the time of the frame; a backward revisit copies the restricted graph. A new run of the program is needed for each alternative that is
//! consistent, so runs are leaves; whether an alternative is consistent is found without the program, because an update is a function of the value
//! that it reads ([`Update`](crate::Update)).
//!
//! A graph that was put aside keeps the values of its run: all values of a graph are of one run, so that they can be compared with each other even if
//! they are addresses.

mod ends;
mod maximal;
mod parallel;
mod replay;
mod rules;
mod script;
mod search;

use std::fmt;
use std::ops::ControlFlow;

use raddle_outcome::{Coverage, Extent};
use raddle_schedule::{Diverged, ThreadId};

use crate::model::Model;
use crate::operation::Location;
use crate::program::Program;
pub use ends::{Counts, End, Leaf, Stop, Visitor};
pub(crate) use replay::{Replayed, replay};
pub use rules::Rule;
pub use script::Misled;
use search::{Rules, Search};

/// Which thread makes the next event. The graphs are the same with all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// The first one that can.
    Forward,
    /// The last one that can.
    Backward,
    /// The one that has made the youngest event, then those after it.
    #[default]
    Latest,
    /// The first one that can write.
    WritesFirst,
    /// A random one, from a seed.
    Random(u64),
}

/// Why an exploration was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The program did not do the same when it was run again.
    Diverged(Diverged),
    /// The condition of a waiting read was true for a write of its location and not for a later one, so it cannot be explored as a waiting read.
    Condition {
        /// Who waits.
        thread: ThreadId,
        /// What is read.
        location: Location,
    },
}

impl From<Diverged> for Refused {
    fn from(diverged: Diverged) -> Self {
        Self::Diverged(diverged)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Diverged(Diverged { expected, found }) => {
                write!(
                    f,
                    "the program did {found} where it had done {expected} before"
                )
            }
            Self::Condition { thread, location } => write!(
                f,
                "thread {} waits for a value of location {} that may be overwritten by one that it waits again for: read it in a loop instead",
                thread.0, location.0
            ),
        }
    }
}

impl std::error::Error for Refused {}

/// The exploration of all execution graphs of a program.
#[derive(Clone, Copy, Debug)]
pub struct Trust {
    model: Model,
    schedule: Schedule,
    most_events: Option<usize>,
    rules: Rules,
    has_oracle: bool,
    counts: Counts,
}

impl Trust {
    /// The graphs of a model.
    #[must_use]
    pub fn new(model: Model) -> Self {
        Self {
            model,
            schedule: Schedule::default(),
            most_events: None,
            rules: Rules::default(),
            has_oracle: false,
            counts: Counts::default(),
        }
    }

    /// Another order of work.
    #[must_use]
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = schedule;
        self
    }

    /// Cuts executions that have more events. The exploration is then not complete, and says so.
    #[must_use]
    pub fn most_events(mut self, most: usize) -> Self {
        self.most_events = Some(most);
        self
    }

    /// Leaves a rule of the algorithm out, to see whether tests notice. Nothing is claimed then.
    #[must_use]
    pub fn without(mut self, rule: Rule) -> Self {
        self.rules.leave_out(rule);
        self
    }

    /// Compares each check, and each default choice, with [`Model::defines`], for tests. The exploration panics if they differ.
    #[must_use]
    pub fn with_oracle(mut self) -> Self {
        self.has_oracle = true;
        self
    }

    /// What the last exploration took.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Explores until there is nothing left or the visitor has seen enough. What is covered is what the model has: [`Extent::All`] means every
    /// execution graph that it admits.
    ///
    /// # Errors
    ///
    /// If the program does not keep to what [`Program`] and [`Operation`](crate::Operation) ask of it.
    pub fn explore<P: Program>(
        &mut self,
        program: &mut P,
        visitor: &mut impl Visitor<P>,
    ) -> Result<Coverage, Refused> {
        let mut search = self.search(program, visitor);
        let ended = search.run(&mut |_| ());
        self.counts = search.counts;
        let left_out = search.left_out;
        Ok(left_out.covering(match ended? {
            ControlFlow::Continue(()) if self.rules.has_all() => Extent::All,
            _ => Extent::Some,
        }))
    }

    fn search<'a, P: Program, V: Visitor<P>>(
        &self,
        program: &'a mut P,
        visitor: &'a mut V,
    ) -> Search<'a, P, V> {
        Search::new(
            program,
            visitor,
            self.model,
            self.schedule,
            self.rules,
            self.most_events,
            self.has_oracle,
        )
    }
}
