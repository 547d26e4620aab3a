//! Whatever the input, the whole pipeline returns, and soon.
//!
//! The programs of the corpus, of the examples and of the documentation are mutated, and
//! whatever still compiles is searched for a while, and its violations are told. Every run
//! is the same. To run more, or other, cases:
//!
//! ```sh
//! RADDLE_ROBUSTNESS_CASES=100000 RADDLE_ROBUSTNESS_SEED=7 \
//!     cargo test -p raddle-machine --test robustness
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use raddle_explore::reductions::full::Full;
use raddle_explore::{Order, Outcome, Packed, PropertySet, Search, System};
use raddle_lang::{Source, Style, diagnostic};
use raddle_machine::narrate::{Narrator, Told};
use raddle_machine::{Granularity, Machine, Program};

const CASES: u64 = 8000;
const MAX_STATES: u64 = 300;
const TIMEOUT: Duration = Duration::from_millis(100);
/// More than enough for the timeout, and for a machine that is busy with other things.
const TOO_LONG: Duration = Duration::from_secs(10);

/// A small generator of random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
}

/// Prints the program if the test fails.
struct Blame<'t> {
    case: u64,
    text: &'t str,
}

impl Drop for Blame<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("case {}:\n{}", self.case, self.text);
        }
    }
}

/// Runs everything on a text; gives whether it is a program.
fn survive(case: u64, text: &str) -> bool {
    let _blame = Blame { case, text };
    let start = Instant::now();
    let source = Source::new("t.rad", text);
    let (program, problems) = raddle_machine::load(source.clone());
    for problem in problems.iter().take(3) {
        assert!(problem.span.start <= problem.span.end);
        assert!(problem.span.end as usize <= text.len());
        let _ = diagnostic::render(problem, &source, Style::Plain);
    }
    let is_program = program.is_some();
    if let Some(program) = program {
        explore(case, &Arc::new(program));
    }
    let took = start.elapsed();
    assert!(took < TOO_LONG, "it took {took:?}");
    is_program
}

fn explore(case: u64, program: &Arc<Program>) {
    let granularity = match case % 4 {
        0 => Granularity::Statement,
        _ => Granularity::Access,
    };
    let order = match case % 5 {
        0 => Order::DepthFirst,
        1 => Order::FewestSwitches,
        _ => Order::BreadthFirst,
    };
    let mut machine = Machine::new(Arc::clone(program), granularity);
    let outcome = Search::new()
        .order(order)
        .properties(PropertySet::ALL)
        .collect_all()
        .max_states(MAX_STATES)
        .max_memory(64 << 20)
        .timeout(TIMEOUT)
        .run(&mut machine, &mut Full::default());
    let _ = (machine.unreached(), machine.unreached_goals());
    round_trip(&mut machine);
    tell(program, granularity, &outcome);
}

/// The initial state is what its encoding says.
fn round_trip(machine: &mut Machine) {
    let state = machine.initial();
    let mut packed = Packed::default();
    machine.encode(&state, &mut packed);
    let mut decoded = state.clone();
    machine.decode(packed.words(), &mut decoded);
    assert_eq!(decoded, state);
}

/// Tells some of the violations, as far as the story is not too long.
fn tell(program: &Arc<Program>, granularity: Granularity, outcome: &Outcome) {
    for violation in outcome.violations.iter().take(3) {
        let mut narrator = Narrator::new(Machine::new(Arc::clone(program), granularity));
        for &step in violation.schedule.iter().take(100) {
            let told = narrator.step(step);
            assert!(!matches!(told, Told::Impossible));
        }
        let _ = (narrator.values(), narrator.blocked(), narrator.is_cut());
        for lane in 0..narrator.threads().len() {
            let _ = narrator.whereabouts(lane);
        }
        for place in violation.places() {
            let _ = (narrator.spot_of(place), narrator.statement_spot(place));
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read_folder(folder: &Path, texts: &mut Vec<String>) {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder exists")
        .map(|entry| entry.expect("it can be read").path())
        .collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            read_folder(&path, texts);
        } else if path.extension().is_some_and(|extension| extension == "rad") {
            texts.push(std::fs::read_to_string(&path).expect("it can be read"));
        }
    }
}

/// The programs of the corpus, the examples and the documentation.
fn programs() -> Vec<String> {
    let mut texts = Vec::new();
    read_folder(&root().join("corpus"), &mut texts);
    read_folder(&root().join("examples"), &mut texts);
    let page = std::fs::read_to_string(root().join("docs/language.md")).expect("it can be read");
    let blocks = page.split("```rad\n").skip(1);
    texts.extend(blocks.filter_map(|rest| Some(rest.split_once("```")?.0.to_owned())));
    assert!(texts.len() > 50, "only {} programs", texts.len());
    texts
}

/// Cuts a text into words, numbers, comments, blanks and operators.
fn pieces(text: &str) -> Vec<&str> {
    const OPERATORS: [&str; 16] = [
        "==>", "<<=", ">>=", "++", "--", "&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "+=",
        "->", "..",
    ];
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let operator = OPERATORS.iter().find(|op| rest.starts_with(**op));
        let end = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            operator.map_or(first.len_utf8(), |op| op.len())
        };
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// What can stand for each other without changing the shape of a program.
const KINDS: [&[&str]; 7] = [
    &[
        "0",
        "1",
        "2",
        "3",
        "7",
        "31",
        "32",
        "200",
        "256",
        "1000",
        "1001",
        "65535",
        "65536",
        "100000",
        "2147483647",
        "2147483648",
        "4294967295",
        "4294967296",
        "99999999999999999999",
    ],
    &[
        "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=", "&&",
        "||", "==>",
    ],
    &["=", "+=", "-=", "/=", "<<="],
    &["++", "--"],
    &[
        "int",
        "u8",
        "i8",
        "i16",
        "u16",
        "u32",
        "bool",
        "int<0..3>",
        "int<1..2>",
        "thread",
        "int*",
    ],
    &[
        "lock",
        "unlock",
        "try_lock",
        "wait",
        "notify",
        "notify_all",
        "read_lock",
        "write_lock",
        "down",
        "up",
        "try_down",
        "send",
        "recv",
        "try_recv",
        "try_send",
        "join",
        "free",
        "assume",
        "await",
        "assert",
        "len",
        "load",
    ],
    &["break", "continue", "return", "yield", "skip"],
];

const INTERESTING: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    ";",
    ",",
    "*",
    "&",
    "-",
    "~",
    "!",
    "x",
    "tid",
    "null",
    "true",
    "if (*) ",
    "while (*) ",
    "atomic { ",
    "yield; ",
    "choose(0..2) ",
    "choose(0..2147483647) ",
    "new int[2] ",
    "(u8) ",
    "[0]",
    ".f",
    "atomic ",
    "reentrant ",
    "\"",
    "é",
    "\0",
    "0x",
    "//",
    "/*",
];

fn kind_of(piece: &str) -> Option<&'static [&'static str]> {
    if piece.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(KINDS[0]);
    }
    KINDS.into_iter().find(|kind| kind.contains(&piece))
}

fn is_name(piece: &str) -> bool {
    piece.starts_with(|c: char| c.is_alphabetic()) && kind_of(piece).is_none()
}

/// The pieces from the beginning of a statement (or declaration) up to its `;`.
fn statement(pieces: &[&str], at: usize) -> std::ops::Range<usize> {
    let ends = |piece: &&str| matches!(*piece, ";" | "{" | "}");
    let start = pieces[..at].iter().rposition(ends).map_or(0, |end| end + 1);
    let length = pieces[at..].iter().position(ends);
    start..length.map_or(pieces.len(), |length| at + length + 1)
}

/// The pieces of a function, from the blank line before it up to the next.
fn paragraph(pieces: &[&str], at: usize) -> std::ops::Range<usize> {
    let blank = |pair: &[&str]| pair == ["\n", "\n"];
    let start = pieces[..at].windows(2).rposition(blank);
    let length = pieces[at..].windows(2).position(blank);
    start.map_or(0, |start| start + 1)..length.map_or(pieces.len(), |length| at + length + 1)
}

fn mutate<'t>(random: &mut Random, mutant: &mut Vec<&'t str>, donors: &[Vec<&'t str>]) {
    let at = random.below(mutant.len());
    let other = random.below(mutant.len());
    match random.below(16) {
        // Replacements of the same kind most often still compile.
        0..=5 => {
            let alike = (at..mutant.len()).find(|index| kind_of(mutant[*index]).is_some());
            if let Some(index) = alike {
                let kind = kind_of(mutant[index]).expect("it has one");
                mutant[index] = *random.pick(kind);
            }
        }
        6 | 7 => {
            let names: Vec<usize> = (0..mutant.len())
                .filter(|index| is_name(mutant[*index]))
                .collect();
            if !names.is_empty() {
                mutant[*random.pick(&names)] = mutant[*random.pick(&names)];
            }
        }
        8 | 9 => {
            let copied = mutant[statement(mutant, at)].to_vec();
            let end = statement(mutant, other).end;
            mutant.splice(end..end, copied);
        }
        10 => drop(mutant.drain(statement(mutant, at))),
        11 => {
            let donor = random.pick(donors);
            let copied = &donor[paragraph(donor, random.below(donor.len()))];
            let end = paragraph(mutant, at).end;
            mutant.splice(end..end, copied.iter().copied());
        }
        12 => mutant.swap(at, other),
        13 => drop(mutant.remove(at)),
        14 => mutant.insert(at, mutant[at]),
        _ => mutant.insert(at, *random.pick(INTERESTING)),
    }
}

#[test]
fn mutated_programs() {
    let cases = variable("RADDLE_ROBUSTNESS_CASES", CASES);
    let seed = variable("RADDLE_ROBUSTNESS_SEED", 0x5eed);
    let texts = programs();
    let donors: Vec<Vec<&str>> = texts.iter().map(|text| pieces(text)).collect();
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut compiled = 0;
    for case in 0..cases {
        let mut mutant = random.pick(&donors).clone();
        for _ in 0..=random.below(3) {
            mutate(&mut random, &mut mutant, &donors);
            if mutant.is_empty() {
                break;
            }
        }
        compiled += u64::from(survive(case, &mutant.concat()));
    }
    // Otherwise this would be a test of the parser.
    assert!(compiled * 5 > cases, "only {compiled} of {cases} compile");
}

#[test]
fn arbitrary_bytes() {
    let texts = programs();
    let mut random = Random(0xb17e5);
    for case in 0..variable("RADDLE_ROBUSTNESS_CASES", CASES) / 10 {
        let mut bytes = random.pick(&texts).clone().into_bytes();
        for _ in 0..=random.below(8) {
            let at = random.below(bytes.len());
            bytes[at] = random.below(256) as u8;
        }
        survive(case, &String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn globals_beyond_the_limit() {
    // The first has all slots that there are.
    let text = "int a[65535]; int b[65535]; int c; mutex m; void main() { c = a[0] + b[1]; }";
    assert!(!survive(0, text));
}
