//! Many programs, one after another, on several threads.

use std::collections::BTreeMap;
use std::panic;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use raddle_explore::Property;

use crate::compare::{Aspect, Contender, Disagreement, Examined, examine};
use crate::compile;
use crate::generate::{PROFILES, Profile, by_name, generate};
use crate::shrink::shrink;
use crate::syntax::Program;

/// Programs to examine.
pub struct Campaign {
    /// What the programs are made from.
    pub seed: u64,
    /// How many there are, over all profiles.
    pub count: u64,
    /// What they are like, in turns.
    pub profiles: Vec<&'static Profile>,
    /// What is compared with the full search.
    pub contenders: Vec<Contender>,
    /// How many threads examine them.
    pub jobs: usize,
}

/// A program on which a reduction disagrees with the full search.
pub struct Failure {
    /// The seed, profile and number from which it was made.
    pub origin: (u64, &'static str, u64),
    /// What was made.
    pub program: Program,
    /// What is wrong.
    pub disagreement: Disagreement,
}

/// What the programs of one profile came to.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// How many there were.
    pub programs: u64,
    /// How many had too many states.
    pub given_up: u64,
    /// How many violate each property.
    pub violated: BTreeMap<Property, u64>,
    /// How many violate nothing, races apart.
    pub correct: u64,
    /// In how many every execution is cut.
    pub vacuous: u64,
    /// The states of the full search, together.
    pub full_states: u64,
    /// For every contender: states, programs with disagreements, programs in which some
    /// pairs of racing places were not met.
    pub contenders: Vec<Sums>,
}

/// What one contender came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// The states that it stored, together.
    pub states: u64,
    /// On how many programs it disagrees with the full search.
    pub disagreements: u64,
    /// In how many it missed pairs of places that race.
    pub missed_race_pairs: u64,
}

/// What a campaign came to.
#[derive(Default)]
pub struct Report {
    /// By profile.
    pub tallies: BTreeMap<&'static str, Tally>,
    /// The first failures, in order of their numbers.
    pub failures: Vec<Failure>,
}

impl Campaign {
    /// All profiles and all reductions.
    #[must_use]
    pub fn new(seed: u64, count: u64) -> Self {
        Self {
            seed,
            count,
            profiles: PROFILES.iter().collect(),
            contenders: Contender::all(),
            jobs: 1,
        }
    }

    /// The same, unless the environment asks for another seed (`RADDLE_TEST_SEED`), more programs (`RADDLE_TEST_PROGRAMS`) or
    /// those of one profile (`RADDLE_TEST_PROFILE`).
    ///
    /// # Panics
    ///
    /// If what it asks for is no number, or no profile.
    #[must_use]
    pub fn as_asked(seed: u64, count: u64) -> Self {
        let asked = |variable: &str| std::env::var(variable).ok();
        let number = |variable: &str| Some(asked(variable)?.parse().expect("a number"));
        let seed = number("RADDLE_TEST_SEED").unwrap_or(seed);
        let mut campaign = Self::new(seed, number("RADDLE_TEST_PROGRAMS").unwrap_or(count));
        if let Some(name) = asked("RADDLE_TEST_PROFILE") {
            campaign.profiles = vec![by_name(&name).expect("a profile")];
        }
        campaign
    }

    /// The program of that number, and its profile.
    #[must_use]
    pub fn program(&self, number: u64) -> (&'static Profile, Program) {
        let profile = self.profiles[(number % self.profiles.len() as u64) as usize];
        let program = generate(self.seed, profile, number / self.profiles.len() as u64);
        (profile, program)
    }

    /// Examines the programs, and stops soon after a disagreement.
    ///
    /// # Panics
    ///
    /// If a program does not compile: that is a fault of the generator.
    pub fn run(&self, progress: impl Fn(u64) + Sync) -> Report {
        let report = Mutex::new(Report::default());
        let next = AtomicU64::new(0);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..self.jobs {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= self.count {
                            return;
                        }
                        let (profile, program) = self.program(number);
                        let examined = self.examine(&program);
                        if !examined.disagreements.is_empty() {
                            stop.store(true, Ordering::Relaxed);
                        }
                        let mut report = report.lock().expect("nobody panics holding it");
                        self.enter(&mut report, profile, number, program, &examined);
                        progress(number);
                    }
                });
            }
        });
        let mut report = report.into_inner().expect("nobody panics holding it");
        report.failures.sort_by_key(|failure| failure.origin.2);
        report
    }

    fn examine(&self, program: &Program) -> Examined {
        let text = program.to_string();
        match compile(&text) {
            Ok(program) => examine(&program, &self.contenders),
            Err(problem) => panic!("the generator made what does not compile: {problem}\n{text}"),
        }
    }

    fn enter(
        &self,
        report: &mut Report,
        profile: &'static Profile,
        number: u64,
        program: Program,
        examined: &Examined,
    ) {
        let tally = report.tallies.entry(profile.name).or_default();
        tally.programs += 1;
        tally
            .contenders
            .resize(self.contenders.len(), Sums::default());
        if examined.given_up {
            tally.given_up += 1;
            return;
        }
        tally.full_states += examined.full_states;
        tally.vacuous += u64::from(examined.vacuous);
        let mut violated = examined.violated.clone();
        for property in &violated {
            *tally.violated.entry(*property).or_default() += 1;
        }
        violated.remove(&Property::Race);
        tally.correct += u64::from(violated.is_empty());
        let contended = examined.contenders.iter().zip(&self.contenders);
        for (sums, (contended, contender)) in tally.contenders.iter_mut().zip(contended) {
            sums.states += contended.states;
            sums.missed_race_pairs += u64::from(contended.missed_race_pairs);
            let mut disagreements = examined.disagreements.iter();
            sums.disagreements += u64::from(disagreements.any(|d| d.contender == contender.name));
        }
        if let Some(disagreement) = examined.disagreements.first() {
            report.failures.push(Failure {
                origin: (self.seed, profile.name, number / self.profiles.len() as u64),
                program,
                disagreement: disagreement.clone(),
            });
        }
    }

    /// The smallest program that shows the disagreement of a failure, and how it shows it.
    #[must_use]
    pub fn shrink(&self, failure: &Failure) -> (Program, Disagreement) {
        let Disagreement {
            contender, aspect, ..
        } = &failure.disagreement;
        let contenders: Vec<_> = (self.contenders.iter())
            .filter(|candidate| candidate.name == *contender)
            .collect();
        let mut latest = failure.disagreement.clone();
        let smallest = quietly(*aspect, || {
            shrink(&failure.program, |program| {
                let Ok(program) = compile(&program.to_string()) else {
                    return false;
                };
                let contenders = contenders.iter().copied();
                let mut found = examine(&program, contenders).disagreements.into_iter();
                let found = found.find(|disagreement| disagreement.aspect == *aspect);
                let still = found.is_some();
                latest = found.unwrap_or_else(|| latest.clone());
                still
            })
        });
        (smallest, latest)
    }
}

/// Runs something that is expected to panic again and again, without a word for each time.
fn quietly<T>(aspect: Aspect, run: impl FnOnce() -> T) -> T {
    if aspect != Aspect::Panic {
        return run();
    }
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let result = run();
    panic::set_hook(hook);
    result
}

impl Failure {
    /// The failure for people: where it comes from, what is wrong, and the program. It is a
    /// program itself.
    #[must_use]
    pub fn tell(&self, shrunk: &Program, disagreement: &Disagreement) -> String {
        let (seed, profile, number) = self.origin;
        format!(
            "// Program {number} of seed {seed}, profile {profile}, shrunken.\n// {disagreement}\n\n{shrunk}"
        )
    }
}
