//! Random programs with orderings, against a search of all interleavings.
//!
//! Under `sc` the outcomes are those of the interleavings; a weaker model has them too, and more. With sequentially consistent accesses only,
//! `rc11` has the same graphs as `sc`. `RADDLE_GRAPH_PROGRAMS` runs more programs, from `RADDLE_GRAPH_SEED` on.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;

use raddle_explore::{
    Access, AccessKind, Choice, Location, Packed, Position, Status, Step, System,
};
use raddle_graphs::{Model, Reason, Run};
use raddle_lang::Source;
use raddle_machine::{Granularity, Machine};
use raddle_memory::{End, Leaf, Trust};

/// Xorshift.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..4 {
            random.below(2);
        }
        random
    }

    fn below(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % below
    }

    fn of<'t>(&mut self, choices: &[&'t str]) -> &'t str {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// What programs are made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Profile {
    /// All orderings.
    Weak,
    /// Sequentially consistent accesses only.
    Strong,
    /// All orderings, and plain accesses of shared variables.
    Plain,
}

/// A program as text. What threads see goes into variables of their own.
struct Writer {
    random: Random,
    profile: Profile,
    /// How many variables there are for what was seen.
    seen: usize,
    waits: bool,
}

impl Writer {
    fn order(&mut self, choices: &[&'static str]) -> &'static str {
        match self.profile {
            Profile::Weak | Profile::Plain => self.random.of(choices),
            Profile::Strong => "seq_cst",
        }
    }

    fn load(&mut self) -> &'static str {
        self.order(&["relaxed", "acquire", "seq_cst"])
    }

    fn store(&mut self) -> &'static str {
        self.order(&["relaxed", "release", "seq_cst"])
    }

    fn update(&mut self) -> &'static str {
        self.order(&["relaxed", "acquire", "release", "acq_rel", "seq_cst"])
    }

    fn seen(&mut self) -> String {
        self.seen += 1;
        format!("r{}", self.seen - 1)
    }

    fn statement(&mut self, depth: u32) -> String {
        let x = self
            .random
            .of(&["x", "y", "x", "y", "x", "y", "x", "y", "z[0]", "z[1]"]);
        let value = 1 + self.random.below(2);
        if self.profile == Profile::Plain && self.random.below(3) == 0 {
            return self.plain(depth);
        }
        // Weak outcomes need several loads and stores of the same variables.
        let kind = match self.random.below(2) {
            0 => self.random.below(9),
            _ => self.random.below(20),
        };
        match kind {
            0..=4 => format!("{} = load({x}, {});", self.seen(), self.load()),
            5..=8 => format!("store({x}, {value}, {});", self.store()),
            9 => format!("{} = fetch_add({x}, 1, {});", self.seen(), self.update()),
            10 => format!("{} = swap({x}, {value}, {});", self.seen(), self.update()),
            11 => {
                let (order, failure) = (self.update(), self.load());
                let seen = self.seen();
                format!("if (cas({x}, 0, {value}, {order}, {failure})) {seen} = 1;")
            }
            12 => format!(
                "fence({});",
                self.order(&["acquire", "release", "acq_rel", "seq_cst"])
            ),
            13 => format!("{x} *= 3;"),
            14 => format!("{} = choose(1..2);", self.seen()),
            15 if depth == 0 => {
                let lock = self.random.of(&["m", "n"]);
                let inside = self.statement(1);
                format!("lock({lock}); {inside} unlock({lock});")
            }
            15 => {
                let lock = self.random.of(&["m", "n"]);
                let seen = self.seen();
                format!("if (try_lock({lock})) {{ {seen} = 1; unlock({lock}); }}")
            }
            16 if depth == 0 => format!(
                "if (load({x}, {}) != 0) {{ {} }}",
                self.load(),
                self.statement(1)
            ),
            17 if self.waits => format!("while (load({x}, {}) == 0) skip;", self.load()),
            18 if self.waits => format!("await({x} != 0);"),
            19 if self.waits => {
                let (a, b) = ("down(s);", "up(s);");
                self.random.of(&[a, b, b]).into()
            }
            _ => format!("assume(load({x}, {}) != 2);", self.load()),
        }
    }

    /// Accesses of variables that are not atomic, some of them under a lock.
    fn plain(&mut self, depth: u32) -> String {
        let p = self.random.of(&["p", "q"]);
        match self.random.below(6) {
            0 | 1 => format!("{p} = {};", 1 + self.random.below(2)),
            2 => format!("{} = {p};", self.seen()),
            3 => format!("if ({p} != 0) {{ {} }}", self.statement(1)),
            4 if self.waits => format!("await({p} != 0);"),
            _ if depth == 0 => format!("lock(m); {p} += 1; unlock(m);"),
            _ => format!("if (load({p}, {}) == 0) {p} = 1;", self.load()),
        }
    }

    fn program(seed: u64, profile: Profile) -> String {
        let mut writer = Self {
            random: Random::new(seed),
            profile,
            seen: 0,
            waits: seed.is_multiple_of(3),
        };
        let threads = 2 + writer.random.below(2);
        let mut bodies = String::new();
        for thread in 0..threads {
            let count = 2 + writer.random.below(if threads == 2 { 3 } else { 2 });
            let statements: Vec<_> = (0..count).map(|_| writer.statement(0)).collect();
            let _ = writeln!(bodies, "void t{thread}() {{ {} }}", statements.join(" "));
        }
        let names: Vec<_> = (0..writer.seen).map(|n| format!("r{n}")).collect();
        let results = match names.as_slice() {
            [] => String::new(),
            names => format!("int {};", names.join(", ")),
        };
        let starts: Vec<_> = (0..threads).map(|n| format!("t{n}()")).collect();
        format!(
            "atomic int x, y; atomic int z[2]; int p, q; mutex m, n; semaphore s; {results}\n{bodies}run {};\n",
            starts.join(" || ")
        )
    }
}

fn machine(text: &str) -> Machine {
    let (program, problems) = raddle_machine::load(Source::new("random.rad", text));
    let program = program.unwrap_or_else(|| panic!("{problems:?}\n{text}"));
    Machine::new(Arc::new(program), Granularity::Access)
}

/// The values in the end, and whether the threads wait for each other.
type Outcome = (Vec<i64>, bool);

fn slots(machine: &Machine) -> u32 {
    machine.program().checked().initial.len() as u32
}

/// What all interleavings lead to, and whether two threads are about to race in one of them.
fn interleavings(machine: &mut Machine) -> (BTreeSet<Outcome>, bool) {
    let slots = slots(machine);
    let mut outcomes = BTreeSet::new();
    let mut races = false;
    let mut known = HashSet::new();
    let mut todo = vec![machine.initial()];
    let (mut step, mut packed) = (Step::default(), Packed::default());
    while let Some(state) = todo.pop() {
        machine.encode(&state, &mut packed);
        if !known.insert(packed.words().to_vec()) {
            continue;
        }
        let (mut moves, mut blocked, mut assumes) = (false, false, false);
        let mut next_accesses: Vec<(usize, Access)> = Vec::new();
        for thread in 0..machine.thread_count(&state) {
            let mut next = Some(Choice::FIRST);
            while let Some(choice) = next {
                machine.step(&state, Position(thread as u32), choice, &mut step);
                next = step.next_choice;
                match step.status {
                    Status::Moved => {
                        let accesses = step.footprint.iter().map(|access| (thread, *access));
                        next_accesses.extend(accesses);
                        moves = true;
                        let mut after = step.after.clone();
                        machine.canonicalise(&mut after);
                        todo.push(after);
                    }
                    Status::Blocked { assumption } => {
                        blocked = true;
                        assumes |= assumption;
                    }
                    Status::Ended => {}
                    Status::Failed(ref fault) => panic!("{fault:?}"),
                }
            }
        }
        races |= next_accesses.iter().any(|(one, access)| {
            access.kind == AccessKind::Plain
                && next_accesses
                    .iter()
                    .any(|(other, second)| one != other && access.conflicts_with(second))
        });
        if !moves && !assumes {
            let words = (0..slots).map(|slot| state.word(Location(slot.into())));
            outcomes.insert((words.collect(), blocked));
        }
    }
    (outcomes, races)
}

/// What the graphs of a model lead to, and how many there are: those that are complete, and all others. Nothing if there is a race.
fn graphs_unless_race(machine: &Machine, model: Model) -> Option<(BTreeSet<Outcome>, (u64, u64))> {
    let slots = slots(machine);
    let mut run = Run::new(machine, model);
    let mut outcomes = BTreeSet::new();
    let mut keys = HashSet::new();
    let mut counts = (0, 0);
    let mut leaf = |run: &mut Run, leaf: &Leaf<'_>| {
        if run.has_race() {
            return ControlFlow::Break(());
        }
        assert!(keys.insert(leaf.graph.key()), "a graph was visited twice");
        let is_waiting = leaf.threads.iter().all(|(thread, _)| {
            !matches!(run.reason(*thread), Some(Reason::Spins | Reason::Chooses))
        });
        match leaf.end {
            End::Complete => counts.0 += 1,
            _ => counts.1 += 1,
        }
        let hangs = match leaf.end {
            End::Complete => Some(false),
            End::Deadlock => Some(true),
            End::Livelock if is_waiting => Some(true),
            _ => None,
        };
        if let Some(hangs) = hangs {
            let word = |slot| {
                let location = run.location_of(slot);
                let last = leaf.graph.last_value(location);
                last.map_or_else(|| run.initial_word(slot), u64::cast_signed)
            };
            outcomes.insert(((0..slots).map(word).collect(), hangs));
        }
        ControlFlow::Continue(())
    };
    let mut trust = Trust::new(model).most_events(100);
    let coverage = trust
        .explore(&mut run, &mut leaf)
        .expect("it does the same again");
    assert!(run.unsupported().is_none() && run.failed() == 0);
    if run.has_race() {
        return None;
    }
    assert!(coverage.is_all());
    Some((outcomes, counts))
}

fn graphs(machine: &Machine, model: Model) -> (BTreeSet<Outcome>, (u64, u64)) {
    graphs_unless_race(machine, model).expect("there are no plain accesses")
}

fn number(name: &str, default: u64) -> u64 {
    let said = std::env::var(name).ok();
    said.map_or(default, |said| said.parse().expect("a number"))
}

fn each_program(profile: Profile, mut check: impl FnMut(&str, &mut Machine)) {
    let seed = number("RADDLE_GRAPH_SEED", 1);
    for seed in seed..seed + number("RADDLE_GRAPH_PROGRAMS", 1_500) {
        let text = Writer::program(seed, profile);
        check(&text, &mut machine(&text));
    }
}

#[test]
fn sequential_consistency_has_the_outcomes_of_all_interleavings_and_weaker_models_have_more() {
    let (mut weak, mut more) = (0, 0);
    each_program(Profile::Weak, |text, machine| {
        let (expected, _) = interleavings(machine);
        let (sc, _) = graphs(machine, Model::Sc);
        assert_eq!(sc, expected, "{text}");
        let (rc11, _) = graphs(machine, Model::Rc11);
        let (ra, _) = graphs(machine, Model::Ra);
        assert!(rc11.is_superset(&sc), "{text}");
        assert!(ra.is_superset(&rc11), "{text}");
        weak += usize::from(rc11 != sc);
        more += usize::from(ra != rc11);
    });
    assert!(weak > 10 && more > 0, "{weak} {more}");
}

#[test]
fn seq_cst_accesses_are_sequentially_consistent() {
    each_program(Profile::Strong, |text, machine| {
        let (expected, _) = interleavings(machine);
        let (sc, graphs_of_sc) = graphs(machine, Model::Sc);
        let (rc11, graphs_of_rc11) = graphs(machine, Model::Rc11);
        assert_eq!(sc, expected, "{text}");
        assert_eq!(rc11, sc, "{text}");
        // Locks and semaphores are not seq_cst.
        if ["lock", "up(", "down("]
            .iter()
            .all(|word| !text[text.find('\n').unwrap()..].contains(word))
        {
            assert_eq!(graphs_of_rc11, graphs_of_sc, "{text}");
        }
    });
}

/// Under `sc` plain accesses are like others. A race between steps that are about to be made is one by happens-before too; and without a race nothing is lost.
#[test]
fn plain_accesses_are_exact_or_race() {
    let (mut racing, mut weak) = (0, 0);
    each_program(Profile::Plain, |text, machine| {
        let (expected, races) = interleavings(machine);
        let (sc, _) = graphs(machine, Model::Sc);
        assert_eq!(sc, expected, "{text}");
        let rc11 = graphs_unless_race(machine, Model::Rc11);
        racing += usize::from(rc11.is_none());
        if races {
            assert!(rc11.is_none(), "{text}");
        }
        if let Some((rc11, _)) = rc11 {
            assert!(rc11.is_superset(&sc), "{text}");
            weak += usize::from(rc11 != sc);
            let ra = graphs_unless_race(machine, Model::Ra);
            assert!(ra.is_none_or(|(ra, _)| ra.is_superset(&rc11)), "{text}");
        } else {
            assert!(graphs_unless_race(machine, Model::Ra).is_none(), "{text}");
        }
    });
    assert!(racing > 10 && weak > 0, "{racing} {weak}");
}

/// Local code that takes long is cut into pieces. What comes after it reads what the graph says, like everything else.
#[test]
fn long_local_code_changes_nothing() {
    for rounds in [0, 1, 999, 1000, 1001, 2000, 3500] {
        let wait = format!("for (int i = 0; i < {rounds}; i++) skip;");
        let text = format!(
            "atomic int x, y; int a, b;
             void left() {{ {wait} store(x, 1, relaxed); {wait} a = load(y, relaxed); {wait} }}
             void right() {{ store(y, 1, relaxed); {wait} b = load(x, relaxed); }}
             run left() || right();"
        );
        let mut machine = machine(&text);
        let (expected, _) = interleavings(&mut machine);
        let (sc, graphs_of_sc) = graphs(&machine, Model::Sc);
        assert_eq!((sc, graphs_of_sc), (expected, (3, 0)), "{rounds}");
        let (rc11, graphs_of_rc11) = graphs(&machine, Model::Rc11);
        assert_eq!((rc11.len(), graphs_of_rc11), (4, (4, 0)), "{rounds}");
    }
}
