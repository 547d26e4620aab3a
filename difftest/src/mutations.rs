//! Whether the comparison would notice if a repair of an algorithm were missing.
//!
//! Each [`Repair`] is switched off, and random programs are examined until one shows that the
//! reduction is unsound without it.

use raddle_explore::repair::{self, Repair};

use crate::campaign::{Campaign, Failure};
use crate::compare::{Contender, examine};
use crate::generate::Profile;
use crate::{compile, syntax::Program};

/// A reduction without one of its repairs, and how that was noticed.
pub struct Mutant {
    /// What is missing.
    pub repair: Repair,
    /// Where.
    pub reduction: String,
    /// How it was noticed, if it was.
    pub noticed: Option<Noticed>,
}

/// How a missing repair was noticed.
pub struct Noticed {
    /// With which profile.
    pub profile: &'static Profile,
    /// How many programs it took.
    pub programs: u64,
    /// The smallest program that shows it.
    pub witness: Program,
    /// All about it.
    pub story: String,
}

/// The reductions that a repair is for, by how their names begin.
fn families(repair: Repair) -> &'static [&'static str] {
    match repair {
        Repair::BlockedGuardIsAnAccess
        | Repair::StartAgainWhenUnprotected
        | Repair::StuckAfterCommitEndsTransaction
        | Repair::TriedLocksDoNotMove
        | Repair::NoFreeFirstOwner
        | Repair::LastThreadSeesOthersEnd => &["transactions", "optimistic"],
        Repair::InnerLocksAreBothMovers | Repair::ForcedEnd => &["transactions"],
        Repair::InvisibleLoopsEnd | Repair::IntermediateViolations => &["optimistic"],
        Repair::TerminationIsATransition
        | Repair::BlockedReadsItsGuard
        | Repair::BothStopOnConflict
        | Repair::CycleTestComparesWholeStates
        | Repair::ChoiceEndsPrefix
        | Repair::SpawnEndsPrefix => &["cartesian"],
        Repair::InvariantObserver | Repair::BreachIsDecidedByWholeStep => {
            &["transactions", "optimistic", "cartesian"]
        }
    }
}

/// Examines every reduction of the campaign without each of the repairs that are for it. Each
/// mutant has as many programs as the campaign.
pub fn run(campaign: &Campaign, mut done: impl FnMut(&Mutant)) -> Vec<Mutant> {
    let mut mutants = Vec::new();
    for repair in Repair::ALL {
        for contender in &campaign.contenders {
            let mut families = families(repair).iter();
            if families.any(|family| contender.name.starts_with(family)) {
                let noticed = repair::without(repair, || notice(campaign, contender));
                let mutant = Mutant {
                    repair,
                    reduction: contender.name.clone(),
                    noticed,
                };
                done(&mutant);
                mutants.push(mutant);
            }
        }
    }
    mutants
}

/// Examines programs until one shows a disagreement.
fn notice(campaign: &Campaign, contender: &Contender) -> Option<Noticed> {
    (0..campaign.count).find_map(|number| {
        let (profile, program) = campaign.program(number);
        let compiled = compile(&program.to_string()).ok()?;
        let mut found = examine(&compiled, [contender]).disagreements.into_iter();
        let failure = Failure {
            origin: (
                campaign.seed,
                profile.name,
                number / campaign.profiles.len() as u64,
            ),
            program,
            disagreement: found.next()?,
        };
        let (witness, disagreement) = campaign.shrink(&failure);
        Some(Noticed {
            profile,
            programs: number + 1,
            story: failure.tell(&witness, &disagreement),
            witness,
        })
    })
}
