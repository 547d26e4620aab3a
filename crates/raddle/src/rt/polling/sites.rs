//! The sites at which threads poll, and what is known of them from earlier executions.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use raddle_schedule::ThreadId;

use super::past::Past;
use super::scout::{Scout, Wanted};
use crate::rt::Place;
use crate::rt::counts::{Site as Spot, site as spot};
use crate::rt::hash::Table;

/// How many scouts are sent from a site. It has been suspended in as many local states then.
const MOST_SCOUTS: u32 = 1 << 16;

/// How many steps of one execution are looked at to find out by which of them scouts are to be sent: else an execution of very many steps would never be over, and would
/// fill the memory.
const MOST_STEPS_SEEN: usize = 1 << 22;

/// How many scouts of a place make as many iterations as they may.
const LONG_SCOUTS: u32 = 8;

/// How many iterations the next ones make at least. The more scouts there were, the fewer they make.
const FEWER: u32 = 256;

/// How many iterations that change something a thread is granted at most while only loops disturb it.
const MOST_BUSY: u32 = 64;

/// What is known of a site.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site {
    pub(super) place: Place,
    /// How many undisturbed iterations a thread makes there before it may be suspended after the next.
    pub(super) allowance: u32,
    /// Whether an iteration is a single operation, if that is known.
    pub(super) single: Option<bool>,
    /// How many scouts were sent.
    scouts: u32,
    /// Whether a loop at this place has repeated its stack, and then done something else.
    deceives: bool,
}

impl Site {
    fn is_at(&self, place: Place) -> bool {
        spot(self.place) == spot(place)
    }
}

/// All sites: by the thread, the place, and the place of the operation before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sites {
    numbers: HashMap<(ThreadId, Spot, Option<Spot>), usize>,
    /// The same for places that were seen, by their addresses: a place may have several of them.
    seen: Table<(ThreadId, usize, usize), usize>,
    sites: Vec<Site>,
    /// Where scouts were sent from: the site, and what the local state of the thread depends on. Scouts share it, since there may be many.
    scouted: Arc<HashSet<(usize, Past)>>,
    /// How many iterations that change something threads are granted that only loops disturb, if more than by default.
    pub(super) busy: u32,
    /// Sites of this execution from which a scout is to be sent, and what the local states there depend on.
    wanted: Vec<Wanted>,
    wanted_from: HashSet<(usize, Past)>,
    /// How many steps were looked at to find out how to send them.
    steps_seen: usize,
    /// Whether this execution is that of a scout, and not one of the exploration.
    of_scout: bool,
    pub(in crate::rt) scout: Option<Scout>,
}

impl Sites {
    /// An execution begins.
    pub(crate) fn begin(&mut self) {
        let _ = self.take_wanted();
        self.of_scout = self.has_scout();
    }

    /// Whether this execution is that of a scout, which may have seen what it was sent for.
    #[inline]
    pub(super) fn is_of_scout(&self) -> bool {
        self.of_scout
    }

    /// What is known of the sites, without what belongs to this execution.
    pub(crate) fn known(&self) -> Self {
        Self {
            numbers: self.numbers.clone(),
            seen: Table::default(),
            sites: self.sites.clone(),
            scouted: Arc::clone(&self.scouted),
            busy: self.busy,
            wanted: Vec::new(),
            wanted_from: HashSet::new(),
            steps_seen: 0,
            of_scout: false,
            scout: None,
        }
    }

    /// Whether a scout is under way.
    #[inline]
    pub(crate) fn has_scout(&self) -> bool {
        self.scout.is_some()
    }

    /// Whether a scout is under way that is to follow this thread.
    #[inline]
    pub(in crate::rt) fn follows(&self, thread: ThreadId) -> bool {
        self.scout.is_some_and(|scout| scout.thread == thread)
    }

    /// Whether a scout follows this thread now, and nobody else moves.
    #[inline]
    pub(in crate::rt) fn is_alone(&self, thread: ThreadId) -> bool {
        self.scout.is_some_and(|scout| scout.follows(thread))
    }

    pub(super) fn number(&mut self, thread: ThreadId, place: Place, last: Option<Place>) -> usize {
        let address = |place: Place| std::ptr::from_ref(place).addr();
        let key = (thread, address(place), last.map_or(0, address));
        if let Some(&number) = self.seen.get(&key) {
            return number;
        }
        let number = self.find_number(thread, place, last);
        self.seen.insert(key, number);
        number
    }

    fn find_number(&mut self, thread: ThreadId, place: Place, last: Option<Place>) -> usize {
        let new = self.sites.len();
        let number = *self
            .numbers
            .entry((thread, spot(place), last.map(spot)))
            .or_insert(new);
        if number == new {
            let allowance = self.allowance_at(place);
            let deceives = self.at(place).any(|site| site.deceives);
            self.sites.push(Site {
                place,
                allowance,
                single: None,
                scouts: 0,
                deceives,
            });
        }
        number
    }

    /// The highest allowance of the sites at a place. The loops of several threads there are mostly the same code, and so is a loop that
    /// comes to the place by several ways. Each of them would find out about itself, late, and have the exploration begin again. More than a site
    /// needs is never wrong: its threads are suspended later.
    fn allowance_at(&self, place: Place) -> u32 {
        let same = self.at(place).map(|site| site.allowance);
        same.max().unwrap_or(0)
    }

    fn at(&self, place: Place) -> impl Iterator<Item = &Site> {
        self.sites.iter().filter(move |site| site.is_at(place))
    }

    #[inline]
    pub(super) fn site(&self, number: usize) -> &Site {
        &self.sites[number]
    }

    /// Whether a scout was sent, or is to be sent, from where a thread with this past is suspended at a site.
    pub(super) fn is_scouted(&self, site: usize, past: Past) -> bool {
        let from = (site, past);
        self.scouted.contains(&from) || self.wanted_from.contains(&from)
    }

    /// Whether no more scouts are sent from a site, or from this execution, after so many steps. If they are, it is found out by which of these.
    #[must_use]
    pub(super) fn sends_no_more(&mut self, site: usize, steps: usize) -> bool {
        let are_too_many =
            self.sites[site].scouts >= MOST_SCOUTS || self.steps_seen + steps > MOST_STEPS_SEEN;
        if !are_too_many {
            self.steps_seen += steps;
        }
        are_too_many
    }

    /// A thread with this past is suspended at a site, after these steps: a scout is to be sent, unless one was.
    pub(super) fn want(&mut self, thread: ThreadId, site: usize, past: Past, steps: Vec<usize>) {
        if !self.is_scouted(site, past) {
            self.wanted_from.insert((site, past));
            self.wanted.push(Wanted {
                thread,
                site,
                past,
                steps,
            });
        }
    }

    /// A scout is sent. Returns how many iterations it makes at least: fewer, the more others have seen the place. (Of an execution that is given up, none
    /// is sent: others come to the same state.)
    pub(super) fn send(&mut self, wanted: &Wanted) -> u32 {
        Arc::make_mut(&mut self.scouted).insert((wanted.site, wanted.past));
        self.sites[wanted.site].scouts += 1;
        let Site {
            place, deceives, ..
        } = self.sites[wanted.site];
        let scouts: u32 = self.at(place).map(|site| site.scouts).sum();
        if deceives || scouts <= LONG_SCOUTS {
            u32::MAX
        } else {
            LONG_SCOUTS * FEWER / scouts
        }
    }

    /// A scout has found out nothing, because another thread held a lock. It will be wanted again, in executions where none does.
    pub(super) fn take_back(&mut self, wanted: &Wanted) {
        Arc::make_mut(&mut self.scouted).remove(&(wanted.site, wanted.past));
        self.sites[wanted.site].scouts -= 1;
    }

    pub(super) fn take_wanted(&mut self) -> Vec<Wanted> {
        self.wanted_from.clear();
        self.steps_seen = 0;
        std::mem::take(&mut self.wanted)
    }

    /// Threads make at least this many undisturbed iterations at a site. Returns whether that is new.
    pub(super) fn raise(&mut self, site: usize, count: u32) -> bool {
        let Site {
            allowance, place, ..
        } = self.sites[site];
        let is_new = count > allowance;
        if is_new {
            // A loop that turns out to need more each time is not to be found out about step by step.
            let raised = count.max(allowance.saturating_mul(2));
            self.sites[site].allowance = raised;
            for other in &mut self.sites {
                if other.is_at(place) && other.single != Some(true) {
                    other.allowance = other.allowance.max(raised);
                }
            }
        }
        is_new
    }

    /// A thread that only loops disturbed has left its loop after so many iterations that changed something. Returns whether it is granted as many from now on.
    pub(super) fn raise_busy(&mut self, count: u32) -> bool {
        let is_new = count > self.busy && count <= MOST_BUSY;
        if is_new {
            self.busy = count.max(2 * self.busy).min(MOST_BUSY);
        }
        is_new
    }

    /// A scout has come back. Returns whether that is to be known from the beginning.
    pub(super) fn learn(&mut self, scout: &Scout) -> bool {
        let mut is_new = self.raise(scout.site, scout.allowance());
        let site = &mut self.sites[scout.site];
        let single = scout.is_single() && site.single != Some(false);
        is_new |= site.single.replace(single).unwrap_or(false) != single;
        is_new | self.learn_deceit(scout.site, scout.is_deceived())
    }

    /// Where a scout shows that the stack does not tell when a loop repeats, what brief ones have found is not worth anything.
    fn learn_deceit(&mut self, site: usize, is_deceived: bool) -> bool {
        let Site {
            place, deceives, ..
        } = self.sites[site];
        if deceives || !is_deceived {
            return false;
        }
        for site in &mut self.sites {
            site.deceives |= site.is_at(place);
        }
        let sites = &self.sites;
        Arc::make_mut(&mut self.scouted).retain(|&(site, _)| !sites[site].deceives);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::*;

    /// What a worker has learned is handed to a program that has made no execution yet, and can send no scouts from one.
    #[test]
    fn what_is_wanted_in_an_execution_is_not_handed_on() {
        let mut sites = Sites::default();
        let site = sites.number(ThreadId(0), Location::caller(), None);
        sites.want(ThreadId(0), site, Past::default(), vec![39]);
        let mut known = sites.known();
        assert!(known.take_wanted().is_empty());
        assert_eq!(sites.take_wanted().len(), 1);
    }

    #[test]
    fn so_many_steps_are_looked_at_in_an_execution_and_no_more() {
        let mut sites = Sites::default();
        let site = sites.number(ThreadId(0), Location::caller(), None);
        assert!(!sites.sends_no_more(site, MOST_STEPS_SEEN - 7));
        assert!(sites.sends_no_more(site, 8));
        assert!(!sites.sends_no_more(site, 7));
        assert!(sites.sends_no_more(site, 1));
        sites.begin();
        assert!(!sites.sends_no_more(site, 1));
    }

    /// An execution that is given up sends none, and then another one has to.
    #[test]
    fn a_scout_is_wanted_until_one_was_sent() {
        let mut sites = Sites::default();
        let site = sites.number(ThreadId(0), Location::caller(), None);
        for _ in 0..2 {
            sites.begin();
            sites.want(ThreadId(0), site, Past::default(), vec![39]);
            sites.want(ThreadId(0), site, Past::default(), vec![39]);
            assert_eq!(sites.wanted.len(), 1);
        }
        let wanted = sites.take_wanted().remove(0);
        assert_eq!(sites.send(&wanted), u32::MAX);
        sites.want(ThreadId(0), site, Past::default(), vec![39]);
        assert!(sites.take_wanted().is_empty());
    }

    /// The first scouts of a place stay for long, whichever of its sites they are sent from. After a deceit all do, and those that did not are sent again.
    #[test]
    fn scouts_get_brief_unless_one_was_deceived() {
        let mut sites = Sites::default();
        let place = Location::caller();
        let numbers = [0, 1].map(|thread| sites.number(ThreadId(thread), place, None));
        let wanted = |number: u32| Wanted {
            thread: ThreadId(number % 2),
            site: numbers[number as usize % 2],
            past: Past::of(number),
            steps: Vec::new(),
        };
        let stays: Vec<u32> = (0..200).map(|number| sites.send(&wanted(number))).collect();
        assert!(stays[..8].iter().all(|&stay| stay == u32::MAX));
        assert_eq!((stays[8], stays[31], stays[127]), (227, 64, 16));

        assert!(!sites.learn_deceit(numbers[0], false));
        assert!(sites.is_scouted(numbers[1], Past::of(1)));
        assert!(sites.learn_deceit(numbers[0], true));
        assert!(!sites.learn_deceit(numbers[1], true));
        assert!(!sites.is_scouted(numbers[1], Past::of(1)));
        let new = sites.number(ThreadId(2), place, None);
        assert!(sites.site(new).deceives);
        assert_eq!(sites.send(&wanted(1)), u32::MAX);
    }

    /// Without this, each thread that runs the same loop would have the exploration begin again.
    #[test]
    fn sites_at_one_place_have_one_allowance() {
        let (place, elsewhere) = (Location::caller(), crate::rt::here());
        let mut sites = Sites::default();
        let first = sites.number(ThreadId(0), place, None);
        let known = sites.number(ThreadId(1), place, None);
        let single = sites.number(ThreadId(2), place, None);
        let other = sites.number(ThreadId(0), elsewhere, None);
        sites.sites[single].single = Some(true);
        assert!(sites.raise(first, 3));
        assert!(!sites.raise(known, 3));
        let new = sites.number(ThreadId(3), place, Some(elsewhere));
        let allowances = [first, known, single, other, new].map(|site| sites.site(site).allowance);
        assert_eq!(allowances, [3, 3, 0, 0, 3]);
    }
}
