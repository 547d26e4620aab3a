//! Every reduction agrees with the full search on random programs.
//!
//! This is the short form of what `cargo run --release -p raddle-difftest` does for as long
//! as one likes.

use raddle_difftest::Campaign;

/// At least this many programs for every reduction; all of them get the same ones.
const PROGRAMS: u64 = 2_200;

#[test]
fn every_reduction_agrees_with_the_full_search() {
    let campaign = Campaign {
        jobs: 2,
        ..Campaign::new(1, PROGRAMS)
    };
    let report = campaign.run(|_| {});
    if let Some(failure) = report.failures.first() {
        let (shrunk, disagreement) = campaign.shrink(failure);
        panic!("{}", failure.tell(&shrunk, &disagreement));
    }
    let compared = report.tallies.values();
    let compared: u64 = compared.map(|tally| tally.programs - tally.given_up).sum();
    assert!(compared >= 2_000, "only {compared} programs were compared");
}
