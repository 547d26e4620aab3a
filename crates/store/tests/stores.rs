//! Every store is a set: compared with the standard library's, alone and with several workers.

use std::collections::HashMap;
use std::sync::Mutex;

use raddle_store::family::Std;
use raddle_store::lines::Lines;
use raddle_store::{
    Batch, Changed, Flat, Form, Inserted, Insertion, Packed, Sample, StateId, Store, StoreFull,
    Tell, Tree, Worker,
};

/// All stores, with common and with tiny tables.
fn stores(most: usize) -> Vec<Box<dyn Store>> {
    vec![
        Box::new(Flat::<Std>::with_limit(most)),
        Box::new(Tree::<Std>::with_limit(most)),
        Box::new(Flat::<Std>::with_index(most, Lines::with_homes(1, 1))),
        Box::new(Tree::<Std>::with_tables(most, || Lines::with_homes(1, 1))),
        Box::new(Tree::<Std>::compact_with_limit(most)),
        Box::new(Tree::<Std>::compact_with_tables(most, || {
            Lines::with_homes(1, 1)
        })),
    ]
}

/// Random numbers that are always the same.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (self.0 >> 33) % bound
    }

    /// A state of few or many parts, some empty, with words that occur again.
    fn state(&mut self) -> Packed {
        let mut state = Packed::default();
        // The words tell where parts end.
        let parts = self.below(6);
        state.push(parts);
        state.end_part();
        for _ in 0..parts {
            let words = self.below(4);
            state.push(words);
            for _ in 0..words {
                let word = self.below(4);
                state.push(word.wrapping_sub(1));
            }
            state.end_part();
        }
        if self.below(50) == 0 {
            let long = vec![self.below(3); 70_000];
            state.extend(&long);
        }
        state.end_part();
        state
    }
}

fn words_of(store: &dyn Store, id: StateId) -> Vec<u64> {
    let mut words = vec![1, 2, 3];
    store.worker().read(id, &mut words);
    words
}

#[test]
fn a_store_is_a_set() {
    for mut store in stores(usize::MAX) {
        for _ in 0..2 {
            let mut random = Random(7);
            let mut known: HashMap<Vec<u64>, StateId> = HashMap::new();
            let mut worker = store.worker();
            let mut queue = Batch::default();
            for _ in 0..40 {
                let batch: Vec<Packed> = (0..random.below(100)).map(|_| random.state()).collect();
                for state in &batch {
                    queue.push(state.parts(), Changed::ALL);
                }
                assert_eq!(queue.len(), batch.len());
                let mut next = 0;
                worker.flush(&mut queue, Tell::All, &mut |number, words, insertion| {
                    assert_eq!((number, words), (next, batch[number].words()));
                    next += 1;
                    let (id, inserted) = insertion.unwrap();
                    let before = known.insert(words.to_vec(), id);
                    assert_eq!(inserted == Inserted::New, before.is_none());
                    assert!(before.is_none_or(|before| before == id));
                });
                assert_eq!(next, batch.len());
                assert!(queue.is_empty());
                // Who wants to know only what is new is told of nothing else.
                for state in &batch {
                    queue.push(state.parts(), Changed::ALL);
                }
                worker.flush(&mut queue, Tell::New, &mut |_, _, _| {
                    panic!("all are known")
                });
            }
            assert_eq!(store.len(), known.len());
            let mut indices = std::collections::HashSet::new();
            for (words, &id) in &known {
                assert_eq!(words_of(store.as_ref(), id), *words);
                let index = store.index(id);
                assert!(index < store.index_bound() && indices.insert(index));
                assert_eq!(store.at(index), id);
            }
            let mut all = Vec::new();
            store.for_each(&mut |id| all.push(id));
            assert_eq!(all.len(), known.len());
            assert!(all.iter().all(|&id| indices.contains(&store.index(id))));
            for _ in 0..100 {
                let state = random.state();
                let found = worker.find(state.parts());
                assert_eq!(found, known.get(state.words()).copied());
            }
            assert!(store.memory_bytes() > 0);
            drop(worker);
            store.clear();
            assert!(store.is_empty());
        }
    }
}

/// Successors of a state, by what has changed: the same names as without telling.
#[test]
fn what_has_not_changed_need_not_be_looked_at() {
    for store in stores(usize::MAX) {
        let mut random = Random(3);
        let mut worker = store.worker();
        let mut batch = Batch::default();
        let mut known: HashMap<Vec<u64>, StateId> = HashMap::new();
        for _ in 0..200 {
            let mut state = random.state();
            batch.push(state.parts(), Changed::ALL);
            let mut from = None;
            worker.flush(&mut batch, Tell::All, &mut |_, _, insertion| {
                from = insertion.ok();
            });
            worker.begin(from.unwrap().0, &mut batch);
            assert_eq!(batch.begun(), state.words());
            for flush_between in [false, true] {
                for _ in 0..3 {
                    let before = state.clone();
                    let mut changed = Changed::NONE;
                    let part = random.below(state.parts().len() as u64) as usize;
                    if let Some(word) = state.part_mut(part).last_mut() {
                        *word ^= random.below(3);
                    }
                    changed.add(part);
                    batch.push(state.parts(), changed);
                    // The same, written in place.
                    batch.set_ends(state.parts().ends);
                    batch.open().copy_from_slice(state.words());
                    batch.keep(changed);
                    // Other successors of the same state.
                    state = before;
                }
                // The other half is of the same state, after a flush.
                if flush_between {
                    worker.flush(&mut batch, Tell::All, &mut |_, words, insertion| {
                        let id = insertion.unwrap().0;
                        assert_eq!(*known.entry(words.to_vec()).or_insert(id), id);
                    });
                }
            }
        }
        for (words, &id) in &known {
            assert_eq!(words_of(store.as_ref(), id), *words);
        }
    }
}

#[test]
fn as_many_as_allowed_and_each_once() {
    for most in [0, 1, 500, 5000] {
        for store in stores(most) {
            let told: Mutex<Vec<(Vec<u64>, Insertion)>> = Mutex::default();
            std::thread::scope(|scope| {
                for worker in 0..4 {
                    let (store, told) = (&store, &told);
                    scope.spawn(move || {
                        let mut worker_of_store = store.worker();
                        let mut batch = Batch::default();
                        let mut mine = Vec::new();
                        let mut flush = |batch: &mut Batch| {
                            worker_of_store.flush(batch, Tell::All, &mut |_, words, insertion| {
                                mine.push((words.to_vec(), insertion));
                            });
                        };
                        for number in 0..1000_u64 {
                            let mut state = Packed::default();
                            state.extend(&[number ^ worker, 7]);
                            state.end_part();
                            state.push(number % 10);
                            state.end_part();
                            batch.push(state.parts(), Changed::ALL);
                            if batch.len() >= 16 {
                                flush(&mut batch);
                            }
                        }
                        flush(&mut batch);
                        told.lock().unwrap().extend(mine);
                    });
                }
            });
            let told = told.into_inner().unwrap();
            assert_eq!(told.len(), 4000);
            let mut names = HashMap::new();
            let mut news = 0;
            for (words, insertion) in &told {
                match insertion {
                    Ok((id, inserted)) => {
                        assert_eq!(*names.entry(words).or_insert(*id), *id);
                        news += usize::from(*inserted == Inserted::New);
                    }
                    Err(StoreFull) => assert!(most < 4000),
                }
            }
            assert_eq!(news, store.len());
            let all: std::collections::HashSet<_> = told.iter().map(|(words, _)| words).collect();
            assert_eq!(news, most.min(all.len()));
            for (words, &id) in &names {
                assert_eq!(words_of(store.as_ref(), id), **words);
            }
        }
    }
}

/// States with parts of the sizes that a form is for, and others.
struct Alike(Random);

impl Alike {
    /// Six small words, of which some depend on others; or any state.
    fn state(&mut self) -> Packed {
        let random = &mut self.0;
        if random.below(20) == 0 {
            return random.state();
        }
        // It must not be one of the others.
        let mut state = Packed::default();
        state.push(100 + random.below(2));
        state.end_part();
        for _ in 0..3 {
            let value = random.below(7);
            state.extend(&[
                (value << 8) | (value + 1),
                (value * value) << random.below(50),
            ]);
            state.end_part();
        }
        state
    }

    fn form() -> Form {
        let mut alike = Self(Random(5));
        let mut sample = Sample::new(&[1, 3, 5, 7]);
        for _ in 0..2000 {
            sample.add(alike.state().parts());
        }
        sample.form().unwrap()
    }
}

#[test]
fn a_tree_with_a_form_is_a_set() {
    let new = || Lines::with_homes(1, 1);
    for tree in [
        Tree::<Std>::with_tables(usize::MAX, new),
        Tree::<Std>::compact_with_tables(usize::MAX, new),
    ] {
        let mut store = tree.with_form(Some(Alike::form()));
        for _ in 0..2 {
            let mut alike = Alike(Random(11));
            let mut known: HashMap<Vec<u64>, StateId> = HashMap::new();
            let mut worker = store.worker();
            let mut batch = Batch::default();
            for _ in 0..1500 {
                let mut state = alike.state();
                batch.push(state.parts(), Changed::ALL);
                let mut told = Vec::new();
                let mut flush =
                    |batch: &mut Batch, worker: &mut dyn Worker, id: &mut Option<StateId>| {
                        worker.flush(batch, Tell::All, &mut |_, words, insertion| {
                            let (here, inserted) = insertion.unwrap();
                            told.push((words.to_vec(), here, inserted));
                            *id = Some(here);
                        });
                    };
                let mut id = None;
                flush(&mut batch, worker.as_mut(), &mut id);
                worker.begin(id.unwrap(), &mut batch);
                assert_eq!(batch.begun(), state.words());
                for _ in 0..3 {
                    let before = state.clone();
                    let mut changed = Changed::NONE;
                    let part = alike.0.below(state.parts().len() as u64) as usize;
                    if let Some(word) = state.part_mut(part).last_mut() {
                        *word ^= alike.0.below(3) << alike.0.below(60);
                    }
                    changed.add(part);
                    batch.push(state.parts(), changed);
                    state = before;
                }
                flush(&mut batch, worker.as_mut(), &mut id);
                for (words, id, inserted) in told {
                    let before = known.insert(words, id);
                    assert_eq!(inserted == Inserted::New, before.is_none());
                    assert!(before.is_none_or(|before| before == id));
                }
            }
            assert_eq!(store.len(), known.len());
            let mut all = Vec::new();
            store.for_each(&mut |id| all.push(id));
            assert_eq!(all.len(), known.len());
            for (words, &id) in &known {
                assert_eq!(words_of(&store, id), *words);
                assert_eq!(store.at(store.index(id)), id);
            }
            for _ in 0..500 {
                let state = alike.state();
                let found = worker.find(state.parts());
                assert_eq!(found, known.get(state.words()).copied());
            }
            drop(worker);
            store.clear();
        }
    }
}
