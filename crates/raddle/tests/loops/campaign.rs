//! Many random programs.
//!
//! `RADDLE_LOOP_PROGRAMS` says how many, `RADDLE_LOOP_SEED` where they begin. `RADDLE_LOOP_PROFILE=everything` is without restriction,
//! `everything-Counter-LookOnce` without loops of the form `Counter` and without those that look by `Once`, `references` only with loops that look at references, `pairs` with two threads that wait for each other. With `RADDLE_LOOP_FINDINGS` all differences go to that file, made small, and the
//! campaign goes on after them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::compare::{Compared, Difference, EVERYBODY, Effort, Kind, Who, compare};
use crate::generate::{Form, Profile, program};
use crate::interpret;
use crate::shrink::shrink;
use crate::syntax::Program;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
}

const EFFORT: Effort = Effort {
    executions: 1000,
    states: 10_000,
};

/// A program made small that still shows a difference of the same kind, and how it differs.
fn simplest(program: Program, difference: &Difference) -> (Program, Difference) {
    let who = [difference.who];
    let differs = |program: &Program| match compare(program, &who, EFFORT) {
        Some(Err(other)) if other.kind == difference.kind => {
            let unmarked = interpret::spins_unmarked(program, EFFORT.states);
            (unmarked == Ok(false)).then_some(other)
        }
        _ => None,
    };
    if differs(&program).is_none() {
        return (program, difference.clone());
    }
    let small = shrink(program, |smaller| differs(smaller).is_some());
    let difference = differs(&small).unwrap_or_else(|| difference.clone());
    (small, difference)
}

/// Ends the process if a program takes for ever, and says which.
fn watch(current: &Arc<Mutex<Option<(Instant, String)>>>) {
    let current = current.clone();
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_secs(5));
            if let Some((since, what)) = &*current.lock().unwrap()
                && since.elapsed() > Duration::from_secs(300)
            {
                eprintln!("no end in sight: {what}");
                std::process::exit(3);
            }
        }
    });
}

/// Who is compared: all, but in long campaigns two beside the first, in turns.
fn everybody(seed: u64, count: u64) -> Vec<Who> {
    let [first, others @ ..] = EVERYBODY;
    let turn = seed as usize % others.len();
    match count {
        0..=FEW => EVERYBODY.to_vec(),
        _ => vec![first, others[turn], others[(turn + 3) % others.len()]],
    }
}

const FEW: u64 = 300;

fn profile() -> Profile {
    let Ok(asked) = std::env::var("RADDLE_LOOP_PROFILE") else {
        return Profile::holds();
    };
    let mut names = asked.split('-');
    match names.clone().next() {
        Some("references") => return Profile::references(),
        Some("pairs") => return Profile::pairs(),
        _ => {}
    }
    assert_eq!(
        names.next(),
        Some("everything"),
        "there is no other profile"
    );
    let mut profile = Profile::everything();
    for name in names {
        profile.leave_out(name);
    }
    profile
}

#[test]
fn every_explorer_sees_every_outcome() {
    let count = number("RADDLE_LOOP_PROGRAMS", 150);
    let first = number("RADDLE_LOOP_SEED", 0);
    let profile = profile();
    let findings = std::env::var_os("RADDLE_LOOP_FINDINGS");
    let mut findings = findings.map(|path| {
        let file = std::fs::File::options()
            .create(true)
            .append(true)
            .open(path);
        file.expect("the file for findings can be written")
    });
    let current = Arc::default();
    if findings.is_some() {
        watch(&current);
    }
    let mut all = Compared::default();
    let (mut compared, mut too_large) = (0u64, 0u64);
    let mut differences: BTreeMap<Kind, u64> = BTreeMap::new();
    let mut by_form: BTreeMap<Form, (u64, u64, u64)> = BTreeMap::new();
    let mut failures = String::new();
    for seed in first..first + count {
        let (program, forms) = program(seed, &profile);
        *current.lock().unwrap() = Some((Instant::now(), format!("seed {seed}\n{program}")));
        let Some(result) = compare(&program, &everybody(seed, count), EFFORT) else {
            too_large += 1;
            continue;
        };
        compared += 1;
        for form in forms {
            let (programs, different, cut) = by_form.entry(form).or_default();
            *programs += 1;
            *different += u64::from(result.is_err());
            *cut += u64::from(result.as_ref().is_ok_and(|one| one.cut > 0));
        }
        match result {
            Ok(one) => {
                all.explorations += one.explorations;
                all.complete += one.complete;
                all.executions += one.executions;
                all.outcomes += one.outcomes;
                all.stuck += one.stuck;
                all.states += one.states;
                all.cut += one.cut;
            }
            Err(difference) => {
                *differences.entry(difference.kind).or_default() += 1;
                let (small, difference) = simplest(program, &difference);
                let mut text = String::new();
                let _ = writeln!(
                    text,
                    "== seed {seed}: {:?}, {:?}\n{}\n{small}",
                    difference.kind, difference.who, difference.text
                );
                match &mut findings {
                    Some(file) => file.write_all(text.as_bytes()).expect("it can be written"),
                    None => {
                        failures.push_str(&text);
                        if differences.len() >= 3 {
                            break;
                        }
                    }
                }
            }
        }
    }
    *current.lock().unwrap() = None;
    eprintln!(
        "{compared} programs, and {too_large} with too many states; {} with ways to be stuck; {} outcomes, {} states\n\
         {} explorations, {} complete, {} cut; {} executions\n\
         differences: {differences:?}",
        all.stuck,
        all.outcomes,
        all.states,
        all.explorations,
        all.complete,
        all.cut,
        all.executions,
    );
    for (form, (programs, different, cut)) in by_form {
        eprintln!("  {form:?}: {programs} programs, {different} differ, {cut} cut");
    }
    assert!(differences.is_empty(), "{failures}");
}
