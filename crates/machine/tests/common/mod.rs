//! What the tests of the machine share.
#![allow(dead_code, reason = "each test file uses its own part of this")]

use std::sync::Arc;

use raddle_explore::reductions::full::Full;
use raddle_explore::{Choice, Outcome, Packed, Position, Search, Status, Step, System, Violation};
use raddle_lang::{Severity, Source};
use raddle_machine::{Granularity, Machine, State};

/// Compiles a program that is expected to be correct.
pub(crate) fn machine(text: &str) -> Machine {
    machine_with(text, Granularity::Access)
}

pub(crate) fn machine_with(text: &str, granularity: Granularity) -> Machine {
    let source = Source::new("test.rad", text);
    let (program, problems) = raddle_machine::load(source.clone());
    let errors: Vec<_> = problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .map(|problem| raddle_lang::diagnostic::render(problem, &source, raddle_lang::Style::Plain))
        .collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
    Machine::new(Arc::new(program.expect("no errors")), granularity)
}

/// Searches the whole state space.
pub(crate) fn explore(text: &str) -> Outcome {
    explore_with(&mut machine(text))
}

pub(crate) fn explore_with(machine: &mut Machine) -> Outcome {
    Search::new()
        .collect_all()
        .run(machine, &mut Full::default())
}

/// The number of states.
pub(crate) fn states(text: &str) -> u64 {
    explore(text).statistics.states
}

/// The messages of all violations, each with its line.
pub(crate) fn violations(text: &str) -> Vec<String> {
    let mut machine = machine(text);
    let outcome = explore_with(&mut machine);
    let source = machine.program().source();
    let line = |violation: &Violation| {
        let span = machine.program().span(violation.places()[0]);
        source.line_column(span.start).line
    };
    outcome
        .violations
        .iter()
        .map(|violation| format!("{}: {}", line(violation), violation.message()))
        .collect()
}

/// Takes a step that must succeed; the new state is canonical.
pub(crate) fn advance(machine: &mut Machine, state: &State, thread: u32) -> State {
    let mut step = Step::default();
    machine.step(state, Position(thread), Choice::FIRST, &mut step);
    assert_eq!(step.status, Status::Moved);
    machine.canonicalise(&mut step.after);
    step.after
}

/// Runs threads in the order given, one step each.
pub(crate) fn run(machine: &mut Machine, schedule: &[u32]) -> State {
    let mut state = machine.initial();
    for &thread in schedule {
        state = advance(machine, &state, thread);
    }
    state
}

/// A state as the store sees it.
pub(crate) fn encoded(machine: &Machine, state: &State) -> Vec<u64> {
    let mut packed = Packed::default();
    machine.encode(state, &mut packed);
    packed.words().to_vec()
}
