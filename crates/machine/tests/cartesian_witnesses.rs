//! Each repair of cartesian reduction has a witness in the corpus: without the repair, a
//! violation of it is missed. (`cargo test -p raddle-machine --features mutations`)
#![cfg(feature = "mutations")]

use std::path::Path;
use std::sync::Arc;

use raddle_explore::Search;
use raddle_explore::reductions::cartesian::Cartesian;
use raddle_explore::repair::{Repair, without};
use raddle_lang::Source;
use raddle_machine::{Granularity, Machine};

/// How many violations cartesian reduction finds in a witness.
fn violations(witness: &str) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/witnesses");
    let path = folder.join(format!("{witness}.rad"));
    let text = std::fs::read_to_string(path).expect("it is in the corpus");
    let (program, _) = raddle_machine::load(Source::new("witness.rad", text));
    let program = Arc::new(program.expect("it compiles"));
    let mut machine = Machine::new(program, Granularity::Access);
    let outcome = Search::new()
        .collect_all()
        .run(&mut machine, &mut Cartesian::default());
    outcome.violations.len()
}

#[test]
fn every_repair_has_a_witness() {
    let mut useless = Vec::new();
    for (repair, witness) in [
        (
            Repair::TerminationIsATransition,
            "termination-is-a-transition",
        ),
        (
            Repair::BlockedReadsItsGuard,
            "blocked-thread-reads-its-guard",
        ),
        (Repair::BothStopOnConflict, "lock-set-shrinks-late"),
        (
            Repair::CycleTestComparesWholeStates,
            "same-place-other-memory",
        ),
        (Repair::ChoiceEndsPrefix, "choice-ends-a-prefix"),
        (Repair::SpawnEndsPrefix, "spawn-ends-a-prefix"),
        (Repair::InvariantObserver, "invariant-needs-an-observer"),
    ] {
        let all = violations(witness);
        assert!(all > 0, "{witness}");
        if without(repair, || violations(witness)) >= all {
            useless.push((repair, witness));
        }
    }
    assert_eq!(useless, [], "these are found without the repair");
}
