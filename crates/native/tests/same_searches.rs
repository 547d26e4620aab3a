//! All exact stores, both machines and any number of workers give the same: states, transitions, levels, verdicts, and lengths of
//! counterexamples.
//!
//! On random programs: `RADDLE_TEST_PROGRAMS` and `RADDLE_TEST_SEED` say how many, and which; `RADDLE_TEST_PROFILE`, what they are like.

use std::sync::Arc;

use raddle_difftest::campaign::Campaign;
use raddle_difftest::generate::by_name;
use raddle_explore::interior::{LastStep, StepEvent, Watch};
use raddle_explore::reductions::transactions::Transactions;
use raddle_explore::{
    Outcome, Position, PropertySet, Reduction, Search, StoreKind, System, reductions,
};
use raddle_lang::Source;
use raddle_machine::{Granularity, Machine, Program};
use raddle_native::{Code, NativeMachine, Why};

/// Programs with more states than this take too long; all searches of one are cut there, and then nothing is compared.
const MOST_STATES: u64 = 20_000;

/// What must be the same.
#[derive(Debug, PartialEq)]
struct Result {
    verdict: raddle_explore::Verdict,
    states: u64,
    transitions: u64,
    depth: u64,
    /// The property and the length of each counterexample.
    violations: Vec<(String, usize)>,
}

impl Result {
    fn of(outcome: &Outcome) -> Option<Self> {
        let cut = outcome.explored.cut();
        if cut.is_some_and(|cut| cut.kind == raddle_outcome::Kind::States) {
            return None;
        }
        let violations = outcome.violations.iter();
        let mut violations: Vec<_> = violations
            .map(|violation| (violation.property().to_string(), violation.schedule.len()))
            .collect();
        violations.sort();
        Some(Self {
            verdict: outcome.verdict(),
            states: outcome.statistics.states,
            transitions: outcome.statistics.transitions,
            depth: outcome.statistics.max_depth,
            violations,
        })
    }
}

fn search<S: System + Clone + Send>(
    system: &mut S,
    reduction: &str,
    store: StoreKind,
    workers: usize,
) -> Option<Result> {
    let mut reduction = reductions::by_name::<S>(reduction).expect("it exists");
    search_with(system, reduction.as_mut(), store, workers)
}

fn search_with<S: System + Clone + Send>(
    system: &mut S,
    reduction: &mut dyn Reduction<S>,
    store: StoreKind,
    workers: usize,
) -> Option<Result> {
    let search = Search::new()
        .properties(PropertySet::SAFETY.minus(PropertySet::SAFETY.minus(reduction.preserves())))
        .collect_all()
        .max_states(MOST_STATES)
        .store(store)
        .workers(workers);
    Result::of(&search.run(system, reduction))
}

/// Somebody who watches has every step looked at.
struct Watches;

impl<S: System> Watch<S> for Watches {
    fn begin_round(&mut self) {}

    fn step(&mut self, _: &S, _: &S::State, _: Position, _: StepEvent<'_, S>) {}

    fn end(&mut self, _: &S, _: LastStep<'_, S>) {}
}

/// Transactions that look at every step, also where it is known not to commute.
fn search_watched(machine: &mut Machine) -> Option<Result> {
    let mut transactions = Transactions::default();
    transactions.watch(Box::new(Watches));
    search_with(machine, &mut transactions, StoreKind::Flat, 1)
}

fn compare(name: &str, program: &Arc<Program>, code: Option<&Arc<Code>>) -> bool {
    let machine = Machine::new(Arc::clone(program), Granularity::Access);
    if machine.enforces_disciplines() {
        compare_searches(&format!("{name}, disciplined"), &machine, code);
    }
    let machine = machine.with_disciplines(false);
    let symmetric = machine.clone().with_symmetry(true);
    let compared = compare_searches(name, &machine, code);
    if symmetric.is_symmetric() {
        compare_searches(&format!("{name}, symmetric"), &symmetric, code);
    }
    compared
}

fn compare_searches(name: &str, machine: &Machine, code: Option<&Arc<Code>>) -> bool {
    let mut compared = false;
    for reduction in ["full", "cartesian", "transactions", "optimistic"] {
        let expected = search(&mut machine.clone(), reduction, StoreKind::Flat, 1);
        let Some(expected) = expected else { continue };
        compared = true;
        if reduction == "transactions" {
            let watched = search_watched(&mut machine.clone());
            assert_eq!(Some(&expected), watched.as_ref(), "{name}, watched");
        }
        for (store, workers) in [
            (StoreKind::Flat, 1),
            (StoreKind::Flat, 3),
            (StoreKind::Tree, 1),
            (StoreKind::Tree, 2),
            (StoreKind::Compact, 1),
            (StoreKind::Compact, 8),
        ] {
            let mut native = NativeMachine::new(machine.clone(), code.cloned());
            let found = search(&mut native, reduction, store, workers);
            assert_eq!(
                Some(&expected),
                found.as_ref(),
                "{name}: {reduction}, {store:?}, {workers} workers"
            );
        }
    }
    compared
}

#[test]
fn on_random_programs() {
    compare_campaign(&Campaign::as_asked(7, 60));
}

#[test]
fn on_programs_that_call() {
    let profiles = vec![by_name("calls").expect("a profile")];
    compare_campaign(&Campaign {
        profiles,
        ..Campaign::as_asked(8, 40)
    });
}

#[test]
fn on_programs_that_call_themselves() {
    let profiles = vec![by_name("recursion").expect("a profile")];
    compare_campaign(&Campaign {
        profiles,
        ..Campaign::as_asked(11, 40)
    });
}

/// How states are packed changes no result: states that do not fit are stored too.
#[test]
fn results_do_not_depend_on_the_sample() {
    let profiles =
        ["recursion", "calls", "data", "heap"].map(|name| by_name(name).expect("a profile"));
    let campaign = Campaign {
        profiles: profiles.to_vec(),
        ..Campaign::as_asked(12, 40)
    };
    let mut compared = 0;
    for number in 0..campaign.count {
        let (profile, program) = campaign.program(number);
        let name = format!("{} {number}", profile.name);
        let program = raddle_difftest::compile(&program.to_string()).expect("it compiles");
        for rounds in [1, 2] {
            let other = Arc::new(Program::clone(&program).packed_for_rounds(rounds));
            let code = Code::compile(&other).map(Arc::new);
            let machine = |program: &Arc<Program>| {
                Machine::new(Arc::clone(program), Granularity::Access).with_disciplines(false)
            };
            for reduction in ["full", "optimistic"] {
                let expected = search(&mut machine(&program), reduction, StoreKind::Flat, 1);
                let mut native = NativeMachine::new(machine(&other), code.clone());
                let found = search(&mut native, reduction, StoreKind::Tree, 2);
                assert_eq!(expected, found, "{name}: {reduction}, {rounds} rounds");
                compared += u64::from(expected.is_some());
            }
        }
    }
    assert!(compared > campaign.count);
}

/// A thread comes to an atomic block that fails before it accesses anything: whether its steps are looked at makes no difference.
#[test]
fn on_blocks_that_fail_at_once() {
    let text = "int x = 1; int data; mutex w;
         void writes() { for (int i = 0; i < 2; i++) { while (x != 1) x = 1; } x = 0; x = 2; x = 0; }
         void fails() { int r = x; x = 2; atomic { assert(r <= 1); await(x == x); } lock(w); data = x; unlock(w); }
         run writes() || fails();";
    let program = raddle_difftest::compile(text).expect("it compiles");
    let code = Code::compile(&program).map(Arc::new);
    assert!(compare("blocks that fail at once", &program, code.as_ref()));
}

/// Recursion, and variables that outgrow a byte, do not leave a program to the interpreter.
#[test]
fn few_steps_are_interpreted() {
    for name in [
        "cartesian-cmis-2-4",
        "cartesian-cmis-2-8",
        "cartesian-shared-ptr",
    ] {
        let path = format!("../../corpus/papers/{name}.rad");
        let text = std::fs::read_to_string(&path).expect("it is in the corpus");
        let (program, _) = raddle_machine::load(Source::new(path, text));
        let program = Arc::new(program.expect("it compiles"));
        let code = Code::compile(&program).map(Arc::new);
        let mut machine = NativeMachine::new(Machine::new(program, Granularity::Access), code);
        let mut full = reductions::by_name("full").expect("it exists");
        Search::new().run(&mut machine, full.as_mut());
        let report = machine.report().expect("it is compiled");
        let interpreted = report.interpreted.all() - report.interpreted.because(Why::NewCode);
        assert!(interpreted * 50 < report.steps, "{name}: {report:?}");
    }
}

#[test]
fn on_programs_with_objects() {
    let profiles = ["objects", "heap"].map(|name| by_name(name).expect("a profile"));
    compare_campaign(&Campaign {
        profiles: profiles.to_vec(),
        ..Campaign::as_asked(10, 40)
    });
}

#[test]
fn on_programs_with_interchangeable_threads() {
    let profiles = ["twins", "locked-twins"].map(|name| by_name(name).expect("a profile"));
    compare_campaign(&Campaign {
        profiles: profiles.to_vec(),
        ..Campaign::as_asked(9, 40)
    });
}

fn compare_campaign(campaign: &Campaign) {
    let programs = campaign.count;
    let (mut compared, mut compiled) = (0, 0);
    for number in 0..programs {
        let (profile, program) = campaign.program(number);
        let name = format!("{} {number}", profile.name);
        if let Ok(program) = raddle_difftest::compile(&program.to_string()) {
            let code = Code::compile(&program).map(Arc::new);
            let is_compared = compare(&name, &program, code.as_ref());
            compared += u64::from(is_compared);
            compiled += u64::from(is_compared && code.is_some());
        }
    }
    println!("{compared} of {programs} programs were compared, {compiled} with native code");
    assert!(compared > programs / 2 && compiled > programs / 4);
}
