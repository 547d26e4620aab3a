//! Counterexamples with the fewest context switches of all schedules.
//!
//! A search by switches under a reduction finds the fewest among the schedules that the reduction
//! keeps. Those it leaves out may have fewer: a reduction that runs a thread up to its next
//! conflict, say, switches there, and has no schedule that switches one step earlier and
//! thereby saves a switch later.
//!
//! But the violations that it found bound the rest. With `k` switches in the worst of them, only
//! states that are reached by fewer than `k` switches matter, and these are searched without any
//! reduction, in the order of switches. If that search comes to its end, then what it finds has the
//! fewest switches of all schedules; where it finds nothing, the schedule that is known has: any
//! violating schedule with fewer would have been met, since no prefix of a schedule has more
//! switches than the whole. That search never decides the verdict. If a limit ends it, the
//! outcome says so.

use raddle_store::Store;

use super::engine::Engine;
use super::fewest_switches::FewestSwitches;
use super::findings::Key;
use super::monitor::Monitor;
use super::outcome::{Cause, Outcome, Violation};
use super::{Found, Settings, conclude};
use crate::reductions::full::Full;
use crate::replay::replay;
use crate::system::System;

/// Replaces counterexamples by those with the fewest switches of all schedules. Empties the store.
pub(super) fn improve<S: System>(
    outcome: &mut Outcome,
    settings: &Settings,
    monitor: Monitor<'_>,
    store: &mut dyn Store,
    system: &mut S,
) {
    let switches = outcome
        .violations
        .iter()
        .map(|violation| violation.switches);
    let most = switches.max().unwrap_or(0);
    let Some(fewer) = most.checked_sub(1) else {
        return;
    };
    let settings = Settings {
        max_switches: Some(u32::try_from(fewer).unwrap_or(u32::MAX)),
        // Steps of the full search are shorter.
        max_depth: None,
        ..*settings
    };
    store.clear();
    let store = &*store;
    let mut full = Full::default();
    let mut engine = Engine::new(&settings, store, FewestSwitches::new(), monitor);
    engine.run(system, &mut full);
    outcome.noticed.switches_cut = engine.cut.clone();
    let (found, worklist) = Found::by(engine);
    let (better, monitor) = conclude(found, store, Some(&worklist), system, &mut full);
    outcome.statistics.elapsed = monitor.started.elapsed();
    match outcome.violations.as_mut_slice() {
        // Only the best was wanted, whichever it is.
        [only] if settings.stop == super::Stop::AtFirst => {
            if let Some(best) = better.violations.into_iter().next()
                && best.switches < only.switches
            {
                *only = best;
            }
        }
        all => {
            for best in better.violations {
                let key = key_of(system, &best);
                let same = |known: &&mut Violation| key_of(system, known) == key;
                if let Some(known) = all.iter_mut().find(same)
                    && best.switches < known.switches
                {
                    *known = best;
                }
            }
            outcome
                .violations
                .sort_by_key(|violation| violation.switches);
        }
    }
}

/// What makes two violations the same one.
fn key_of<S: System>(system: &mut S, violation: &Violation) -> Key {
    match &violation.cause {
        Cause::Fault { fault, .. } | Cause::Start { fault, .. } | Cause::Invariant { fault } => {
            Key::Fault(violation.property(), fault.place)
        }
        Cause::Race(_) | Cause::Endless { .. } => {
            let mut places = violation.places();
            places.sort_unstable();
            Key::Race(places[0], places[places.len() - 1])
        }
        Cause::Deadlock { blocked } => {
            let initial = system.initial();
            let end = replay(system, &initial, &violation.schedule, |_, _| {});
            let named = blocked.iter();
            let mut named: Vec<_> = named
                .map(|blocked| (system.thread_name(&end, blocked.thread), blocked.place))
                .collect();
            named.sort_unstable();
            Key::Deadlock(named)
        }
    }
}
