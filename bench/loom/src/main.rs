//! Runs loom's own tests and the loom tests of published crates with `crates/loom`, and compares what comes of each test with what is
//! expected (`crates.toml`).
//!
//! Packages are downloaded by cargo, as for any user, and copied to a folder of their own; nothing of them is kept here.

mod data;
mod known;
mod packages;
mod page;
mod tests;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use data::{Crate, Expected};
use serde::{Deserialize, Serialize};
use tests::{Limits, Outcome, Ran};

const USAGE: &str = "usage: raddle-bench-loom [--only CRATE]... [--cap SECONDS] [--beside-loom] [--no-run] [--work FOLDER] [--page FILE]";

/// What is asked for.
struct Options {
    only: Vec<String>,
    /// The most CPU seconds of a test.
    cap: u32,
    /// Whether to run all tests with loom itself too.
    beside_loom: bool,
    /// Whether to run nothing, and only write the page.
    no_run: bool,
    work: PathBuf,
    page: Option<PathBuf>,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            only: Vec::new(),
            cap: 10,
            beside_loom: false,
            no_run: false,
            work: std::env::temp_dir().join("raddle-loom-crates"),
            page: None,
        };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--only" => options.only.push(value()?),
                "--cap" => {
                    let seconds = value()?;
                    let parsed = seconds.parse();
                    options.cap = parsed.map_err(|_| format!("`{seconds}` is no number"))?;
                }
                "--beside-loom" => options.beside_loom = true,
                "--no-run" => options.no_run = true,
                "--work" => options.work = value()?.into(),
                "--page" => options.page = Some(value()?.into()),
                _ => return Err(format!("`{argument}` is no option\n{USAGE}")),
            }
        }
        Ok(options)
    }
}

/// What came of a crate.
struct CrateResult {
    krate: Crate,
    tests: Vec<Test>,
    /// Why there are no tests.
    broken: Option<String>,
}

/// What came of a test.
#[derive(Clone, Serialize, Deserialize)]
struct Test {
    name: String,
    raddle: Ran,
    loom: Option<Ran>,
}

impl Test {
    fn is_as_expected(&self, krate: &Crate) -> bool {
        match krate.expected_of(&self.name) {
            Expected::Passes => self.raddle.outcome == Outcome::Passes,
            Expected::Fails(_) => self.raddle.outcome == Outcome::Fails,
            // It may become faster, and machines differ.
            Expected::Limit(_) => self.raddle.outcome != Outcome::Fails,
        }
    }
}

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = match data::read(&here.join("crates.toml")) {
        Ok(crates) => crates,
        Err(error) => {
            eprintln!("crates.toml: {error}");
            return ExitCode::from(2);
        }
    };
    let known = |name: &String| crates.iter().any(|krate| krate.name == *name);
    if let Some(unknown) = options.only.iter().find(|name| !known(name)) {
        eprintln!("there is no crate `{unknown}` in crates.toml");
        return ExitCode::from(2);
    }
    let mut results = Vec::new();
    for krate in &crates {
        let is_wanted = options.only.is_empty() || options.only.contains(&krate.name);
        if is_wanted && !options.no_run {
            let result = run(krate.clone(), &options, &here.join("../.."));
            // What came of it earlier is not forgotten because it does not build now.
            if result.broken.is_none()
                && let Err(error) = known::keep(&result, &options)
            {
                eprintln!("{error}");
            }
            results.push(result);
        }
    }
    let unexpected = summary(&results);
    if let Some(page) = &options.page {
        // Those that were run earlier, too.
        let is_broken = |result: &CrateResult| result.broken.is_some();
        let mut broken: Vec<_> = results.into_iter().filter(is_broken).collect();
        let mut all = Vec::new();
        for krate in &crates {
            let is_this = |result: &CrateResult| result.krate.name == krate.name;
            match broken.iter().position(is_this) {
                Some(index) => all.push(broken.swap_remove(index)),
                None => all.extend(known::recall(krate, &options)),
            }
        }
        if let Err(error) = std::fs::write(page, page::text(&all, &options)) {
            eprintln!("{}: {error}", page.display());
            return ExitCode::from(2);
        }
    }
    ExitCode::from(u8::from(unexpected > 0))
}

/// Builds and runs the tests of a crate.
fn run(krate: Crate, options: &Options, repository: &Path) -> CrateResult {
    println!("\n{} {}", krate.name, krate.version);
    let built = packages::build(&krate, &options.work, Some(repository));
    let (mut tests, mut broken) = (Vec::new(), None);
    match built {
        Err(error) => {
            println!("  does not build: {error}");
            broken = Some(error);
        }
        Ok(binaries) => {
            let beside = options
                .beside_loom
                .then(|| packages::build(&krate, &options.work, None));
            if let Some(Err(error)) = &beside {
                println!("  does not build with loom itself: {error}");
            }
            // Several of this command may work in one folder.
            let output = options.work.join(format!("output-{}", std::process::id()));
            if let Err(error) = std::fs::create_dir_all(&output) {
                println!("  {}: {error}", output.display());
            }
            let limits = Limits {
                cap: options.cap,
                folder: &output,
            };
            // What loom took in an earlier run is still so.
            let earlier = known::recall(&krate, options);
            let earlier = earlier.map_or(Vec::new(), |earlier| earlier.tests);
            for found in tests::list(&binaries, &krate) {
                let loom = match &beside {
                    Some(Ok(beside)) => tests::run_in(beside, &found, &krate, &limits),
                    Some(Err(_)) => None,
                    None => {
                        let mut earlier = earlier.iter();
                        let same = earlier.find(|test| test.name == found.name);
                        same.and_then(|test| test.loom.clone())
                    }
                };
                let test = Test {
                    raddle: tests::run(&found.binary, &found.path, &krate, &limits),
                    loom,
                    name: found.name,
                };
                let loom = test.loom.as_ref();
                println!(
                    "  {} {}{}{}",
                    mark(&test, &krate),
                    test.name,
                    test.raddle.describe(),
                    loom.map_or(String::new(), |loom| format!("; loom{}", loom.describe()))
                );
                tests.push(test);
            }
        }
    }
    if broken.is_none() && tests.is_empty() {
        println!("  ! it has no tests");
        broken = Some("it has no tests".into());
    }
    // A test that is expected to do something, and is not there, is a finding too.
    for name in krate.expected.keys() {
        if broken.is_none() && !tests.iter().any(|test| test.name == *name) {
            println!("  ! {name} is expected and does not exist");
            broken = Some(format!("`{name}` does not exist"));
        }
    }
    CrateResult {
        krate,
        tests,
        broken,
    }
}

fn mark(test: &Test, krate: &Crate) -> &'static str {
    match (test.is_as_expected(krate), &test.raddle.outcome) {
        (true, Outcome::Passes) => "ok      ",
        (true, Outcome::Fails) => "(fails) ",
        (true, Outcome::Limit) => "(limit) ",
        (false, Outcome::Passes) => "PASSES  ",
        (false, Outcome::Fails) => "FAILS   ",
        (false, Outcome::Limit) => "LIMIT   ",
    }
}

/// Prints the sums, and returns how much is not as expected.
fn summary(results: &[CrateResult]) -> usize {
    println!();
    let mut unexpected = 0;
    for result in results {
        let count = |wanted: &dyn Fn(&&Test) -> bool| result.tests.iter().filter(wanted).count();
        let passed = count(&|test| test.raddle.outcome == Outcome::Passes);
        let surprises = count(&|test| !test.is_as_expected(&result.krate));
        unexpected += surprises + usize::from(result.broken.is_some());
        println!(
            "{:20} {:8} {passed:4} of {:4} pass, {surprises} not as expected",
            result.krate.name,
            result.krate.version,
            result.tests.len()
        );
    }
    unexpected
}
