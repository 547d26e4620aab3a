use super::*;
use crate::testing::Random;
use std::collections::HashMap;

#[test]
fn agrees_with_a_map_on_random_strings() {
    for (seed, longest, alphabet) in [(1, 3, 4), (2, 40, 2), (3, 300, 256), (4, 9, 256)] {
        let mut random = Random(seed);
        let mut store = ExactStore::new();
        let mut model: HashMap<Vec<u8>, u32> = HashMap::new();
        for _ in 0..50_000 {
            let len = random.below(longest + 1);
            let string: Vec<u8> = (0..len).map(|_| random.below(alphabet) as u8).collect();
            let next = model.len() as u32;
            let expected = model.get(&string).copied();
            assert_eq!(store.find(&string), expected.map(StateId));
            let answer = store.insert(&string).unwrap();
            match expected {
                Some(id) => assert_eq!(answer, (StateId(id), Inserted::Known)),
                None => {
                    assert_eq!(answer, (StateId(next), Inserted::New));
                    model.insert(string, next);
                }
            }
            assert_eq!(store.len(), model.len());
        }
        for (string, &id) in &model {
            assert_eq!(store.get(StateId(id)), &string[..]);
            assert_eq!(store.find(string), Some(StateId(id)));
        }
    }
}

#[test]
fn strings_longer_than_a_chunk_are_kept() {
    let mut store = ExactStore::new();
    let strings: Vec<Vec<u8>> = (0..6u8)
        .map(|i| vec![i; 600_000 * usize::from(i)])
        .collect();
    for round in [Inserted::New, Inserted::Known] {
        for (id, string) in (0..).zip(&strings) {
            assert_eq!(store.insert(string), Ok((StateId(id), round)));
        }
    }
    for (id, string) in (0..).zip(&strings) {
        assert!(store.get(StateId(id)) == string);
    }
}

#[test]
fn a_full_store_says_so_and_still_answers() {
    let mut store = ExactStore::with_limit(1000);
    for i in 0..1000u32 {
        assert!(store.insert(&i.to_le_bytes()).is_ok());
    }
    assert_eq!(store.insert(b"another"), Err(StoreFull));
    assert_eq!(store.len(), 1000);
    assert_eq!(store.find(b"another"), None);
    let known = Ok((StateId(17), Inserted::Known));
    assert_eq!(store.insert(&17u32.to_le_bytes()), known);
}

/// Strings as encodings of states are: 25 bytes, few of which vary.
fn encoding(i: u64) -> [u8; 25] {
    let mut bytes = [7; 25];
    bytes[3..11].copy_from_slice(&i.wrapping_mul(0x9e37_79b9).to_le_bytes());
    bytes
}

#[test]
fn a_state_costs_little_at_every_table_load() {
    let mut store = ExactStore::new();
    for i in 0..600_000 {
        store.insert(&encoding(i)).unwrap();
        if i > 20_000 && i % 1000 == 0 {
            // Half a chunk of the arena may be unused on the average.
            let used = store.memory_bytes() as f64 - (1 << 20) as f64;
            let per_state = used / store.len() as f64;
            assert!(per_state <= 41.0, "{per_state} bytes at {i} states");
        }
    }
}
