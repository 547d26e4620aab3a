//! The stores themselves, under every schedule: their own code, with atomics and locks of a checker.

use std::collections::BTreeMap;

use raddle::sync::atomic::{AtomicU64, Ordering};
use raddle::sync::{Arc, RwLock};
use raddle_store::family::{Family, Lock, Word};
use raddle_store::lines::{Claim, Lines};
use raddle_store::{
    Approximate, Batch, Changed, Flat, Inserted, Packed, StateId, Store, Tell, Tree, Wide,
};

/// Atomics and locks whose operations are steps of a schedule.
struct Checked;

impl Family for Checked {
    type Word = Atomic;
    type Lock<T: Send + Sync> = Locked<T>;
}

struct Atomic(AtomicU64);

impl Word for Atomic {
    fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    fn load(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    fn peek(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn put(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    fn claim(&self, value: u64) -> Result<(), u64> {
        let claimed = (self.0).compare_exchange(0, value, Ordering::Release, Ordering::Acquire);
        claimed.map(|_| ())
    }

    fn set(&self, bits: u64) -> u64 {
        self.0.fetch_or(bits, Ordering::Relaxed)
    }
}

struct Locked<T>(RwLock<T>);

impl<T: Send + Sync> Lock<T> for Locked<T> {
    fn new(value: T) -> Self {
        Self(RwLock::new(value))
    }

    fn read<R>(&self, see: impl FnOnce(&T) -> R) -> R {
        see(&self.0.read().unwrap())
    }

    fn write<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        change(&mut self.0.write().unwrap())
    }

    fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap()
    }
}

/// Runs a program under every schedule, and says how many classes of schedules there are.
fn every_schedule(body: impl Fn() + Send + Sync + 'static) -> u64 {
    // Pages are handed from thread to thread by cells of `std`, which Raddle does not see.
    let checker = raddle::Checker::new().explorer("optimal");
    let report = checker.use_after_free(false).check(body);
    assert!(report.exhausted, "{report:?}");
    report.executions
}

/// Several threads bring entries to a table, each with its key, which is also its hash.
fn claims(threads: &'static [&'static [(u64, u32)]], homes: usize, spare: usize) -> u64 {
    every_schedule(move || {
        let lines = Arc::new(Lines::<Atomic>::with_homes(homes, spare));
        let children: Vec<_> = threads
            .iter()
            .map(|entries| {
                let lines = lines.clone();
                raddle::thread::spawn(move || {
                    let claim = |&(entry, hash): &(u64, u32)| {
                        lines.find_or_claim(hash, |there| there == entry, || entry)
                    };
                    entries.iter().map(claim).collect::<Vec<_>>()
                })
            })
            .collect();
        let claims: Vec<Vec<Claim>> = children.into_iter().map(|c| c.join().unwrap()).collect();
        let mut claimed: BTreeMap<u64, usize> = BTreeMap::new();
        for (entries, claims) in threads.iter().zip(&claims) {
            for (&(entry, hash), claim) in entries.iter().zip(claims) {
                match claim {
                    Claim::Claimed => *claimed.entry(entry).or_default() += 1,
                    Claim::Found(there) => assert_eq!(*there, entry),
                    Claim::Full => {
                        assert!(!lines.has_place(hash));
                        continue;
                    }
                }
                assert!(lines.find(hash, |there| there == entry).is_some());
            }
        }
        assert!(claimed.values().all(|&times| times == 1), "{claims:?}");
        let held = (0..lines.slot_bound()).filter(|&slot| lines.slot(slot) != 0);
        assert_eq!(held.count(), claimed.len());
    })
}

#[test]
fn the_same_key_is_claimed_once() {
    assert!(claims(&[&[(5, 0)], &[(5, 0)]], 1, 0) > 1);
    assert!(claims(&[&[(5, 0)], &[(5, 0)], &[(5, 0)]], 1, 0) > 6);
}

#[test]
fn different_keys_in_one_line() {
    assert!(claims(&[&[(5, 0), (6, 0)], &[(6, 0), (5, 0)]], 1, 0) > 1);
    assert!(claims(&[&[(5, 0), (6, 1)], &[(6, 1), (7, 0)]], 1, 0) > 1);
    assert!(claims(&[&[(5, 0)], &[(6, 0)], &[(5, 0)]], 1, 0) > 2);
}

#[test]
fn a_full_line() {
    const FILL: [(u64, u32); 7] = [
        (11, 0),
        (12, 0),
        (13, 0),
        (14, 0),
        (15, 0),
        (16, 0),
        (17, 0),
    ];
    const THIS: [(u64, u32); 9] = [
        FILL[0],
        FILL[1],
        FILL[2],
        FILL[3],
        FILL[4],
        FILL[5],
        FILL[6],
        (5, 0),
        (6, 0),
    ];
    // Two new keys and one free slot, with and without a line to go on to.
    for spare in [0, 1] {
        assert!(claims(&[&THIS, &[(6, 0)]], 1, spare) > 1);
    }
}

fn state(word: u64) -> Packed {
    let mut state = Packed::default();
    state.push(word);
    state.end_part();
    state.push(9);
    state.end_part();
    state
}

/// Two workers insert states into a store of tiny tables, some of which must grow.
fn inserts<St: Store + 'static>(
    new: impl Fn() -> St + Send + Sync + 'static,
    before: &'static [u64],
    threads: &'static [&'static [u64]],
) -> u64 {
    every_schedule(move || {
        let store = Arc::new(new());
        let insert = |store: &St, words: &[u64]| {
            let mut worker = store.worker();
            let mut batch = Batch::default();
            for &word in words {
                batch.push(state(word).parts(), Changed::ALL);
            }
            let mut told = Vec::new();
            worker.flush(&mut batch, Tell::All, &mut |number, _, insertion| {
                told.push((words[number], insertion.unwrap()));
            });
            told
        };
        let mut told = insert(&store, before);
        let children: Vec<_> = threads
            .iter()
            .map(|words| {
                let store = store.clone();
                raddle::thread::spawn(move || insert(&store, words))
            })
            .collect();
        for child in children {
            told.extend(child.join().unwrap());
        }
        let mut names: BTreeMap<u64, StateId> = BTreeMap::new();
        let mut news: BTreeMap<u64, usize> = BTreeMap::new();
        for &(word, (id, inserted)) in &told {
            assert_eq!(*names.entry(word).or_insert(id), id);
            *news.entry(word).or_default() += usize::from(inserted == Inserted::New);
        }
        assert!(news.values().all(|&times| times == 1), "{told:?}");
        assert_eq!(store.len(), names.len());
        let mut worker = store.worker();
        for (&word, &id) in &names {
            assert_eq!(worker.find(state(word).parts()), Some(id));
            let mut words = Vec::new();
            worker.read(id, &mut words);
            assert_eq!(words, [word, 9]);
        }
    })
}

fn tiny() -> Lines<Atomic> {
    Lines::with_homes(1, 0)
}

#[test]
fn two_workers_insert_the_same_and_different_states() {
    let flat = || Flat::<Checked>::with_index(usize::MAX, tiny());
    assert!(inserts(flat, &[], &[&[1], &[1]]) > 1);
    assert!(inserts(flat, &[], &[&[1], &[2]]) > 1);
    let tree = || Tree::<Checked>::with_tables(usize::MAX, tiny);
    assert!(inserts(tree, &[], &[&[1], &[1]]) > 1);
    assert!(inserts(tree, &[], &[&[1], &[2]]) > 1);
    let compact = || Tree::<Checked>::compact_with_tables(usize::MAX, tiny);
    assert!(inserts(compact, &[], &[&[1], &[1]]) > 1);
    assert!(inserts(compact, &[], &[&[1], &[2]]) > 1);
    assert!(inserts(compact, &[1, 2], &[&[3], &[3]]) > 1);
    let fingerprints = || Approximate::<Checked>::fingerprints(usize::MAX);
    assert!(inserts(fingerprints, &[], &[&[1], &[1]]) > 1);
    let wide = || Wide::<Checked>::with_limit(usize::MAX);
    assert!(inserts(wide, &[], &[&[1], &[1]]) > 1);
    let bits = || Approximate::<Checked>::bits(usize::MAX, 64);
    assert!(inserts(bits, &[], &[&[1], &[1]]) > 1);
}

#[test]
fn one_worker_inserts_while_another_has_the_table_grow() {
    // The room of a line is six: one worker finds it, or both do, or none.
    let flat = || Flat::<Checked>::with_index(usize::MAX, tiny());
    assert!(inserts(flat, &[1, 2, 3, 4, 5, 6], &[&[7], &[7]]) > 1);
    assert!(inserts(flat, &[1, 2, 3, 4, 5], &[&[7, 8], &[8]]) > 1);
    let tree = || Tree::<Checked>::with_tables(usize::MAX, tiny);
    assert!(inserts(tree, &[1, 2, 3, 4, 5, 6], &[&[7], &[8]]) > 1);
}
