//! Whether the random programs are what they should be.

use std::collections::BTreeSet;

use raddle_difftest::generate::{PROFILES, generate};
use raddle_difftest::{compile, examine};

#[test]
fn every_program_compiles() {
    for profile in PROFILES {
        for number in 0..500 {
            let text = generate(7, profile, number).to_string();
            if let Err(problem) = compile(&text) {
                panic!("program {number} of {}: {problem}\n{text}", profile.name);
            }
        }
    }
}

#[test]
fn a_program_is_always_the_same() {
    for profile in PROFILES {
        let texts = || (0..20).map(|number| generate(3, profile, number).to_string());
        assert!(texts().eq(texts()));
        let different: BTreeSet<_> = texts().collect();
        assert!(different.len() > 15, "{}", profile.name);
    }
}

/// Nearly all state spaces are small, and there are programs with and without violations in
/// every profile.
#[test]
fn programs_are_small_and_varied() {
    for profile in PROFILES {
        let programs = 150;
        let (mut given_up, mut violated) = (0, 0);
        for number in 0..programs {
            let text = generate(5, profile, number).to_string();
            let program = compile(&text).expect("every program compiles");
            let examined = examine(&program, []);
            given_up += u64::from(examined.given_up);
            violated += u64::from(!examined.violated.is_empty());
        }
        let name = profile.name;
        assert!(given_up * 20 < programs, "{name}: {given_up} given up");
        assert!(violated > 0 && violated < programs, "{name}: {violated}");
    }
}

/// What the language has, the programs have.
#[test]
fn the_whole_language_is_used() {
    let texts: Vec<String> = PROFILES
        .iter()
        .flat_map(|profile| (0..200).map(|number| generate(1, profile, number).to_string()))
        .collect();
    let words = "mutex reentrant rwlock cond semaphore chan< atomic Pair Node int* int<0..3> u8 \
        lock( unlock( try_lock( read_lock( write_lock( try_read_lock( try_write_lock( wait( \
        notify( notify_all( down( up( try_down( send( recv( try_send( try_recv( len( cas( \
        fetch_add( swap( load( store( assert( assume( await( reach; yield; skip; spawn join( \
        new free( invariant guarded_by thread_local exclusive choose { or choose( while do for \
        switch goto return if else tid null true false ==> && || run main(";
    for word in words.split_whitespace() {
        let used = texts.iter().filter(|text| text.contains(word)).count();
        assert!(used >= 5, "`{word}` is in {used} of {}", texts.len());
    }
}
