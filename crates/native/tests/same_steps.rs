//! Native code and the interpreter make the same steps: status, state after it, footprint, changed parts, next choice.
//!
//! Every program of the corpus, of the examples and of the benchmark, and random programs, each up to
//! a number of states: whatever state the interpreter reaches, both machines try every step in it, one by one, and the native one also all
//! at once. `RADDLE_TEST_PROGRAMS` and
//! `RADDLE_TEST_SEED` say how many random programs, and which; `RADDLE_TEST_PROFILE`, what they are like.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use raddle_difftest::campaign::Campaign;
use raddle_difftest::generate::by_name;
use raddle_explore::{
    Batch, Choice, Footprint, Packed, Parts, Position, Renamed, Status, Step, Successors, System,
    Unseen,
};
use raddle_lang::Source;
use raddle_machine::{Granularity, Machine, Program, State};
use raddle_native::{Code, NativeMachine, PackedState};

const MOST_STATES: usize = 3_000;
const MOST_CHOICES: usize = 50;

/// What was compared.
#[derive(Debug, Default)]
struct Compared {
    programs: u64,
    /// Those whose states have a layout.
    compiled: u64,
    steps: u64,
    tried: u64,
    interpreted: u64,
    /// States all of whose steps were made at once.
    at_once: u64,
    /// Steps of programs whose disciplines are enforced, and those of them that were interpreted.
    disciplined: u64,
    disciplined_interpreted: u64,
}

/// Compares both machines on the states of a program, as many as there may be.
fn compare(name: &str, program: &Arc<Program>, compared: &mut Compared) {
    compare_some(name, program, MOST_STATES, compared);
}

/// The same, on so many states; with disciplines and without, if some are declared.
fn compare_some(name: &str, program: &Arc<Program>, most: usize, compared: &mut Compared) {
    let machine = Machine::new(Arc::clone(program), Granularity::Access);
    if machine.enforces_disciplines() {
        let mut disciplined = Compared::default();
        compare_machines(name, program, machine.clone(), most, &mut disciplined);
        compared.disciplined += disciplined.tried;
        compared.disciplined_interpreted += disciplined.interpreted;
    }
    compare_machines(
        name,
        program,
        machine.with_disciplines(false),
        most,
        compared,
    );
}

fn compare_machines(
    name: &str,
    program: &Arc<Program>,
    mut interpreter: Machine,
    most: usize,
    compared: &mut Compared,
) {
    let code = Code::compile(program).map(Arc::new);
    let mut native = NativeMachine::new(interpreter.clone(), code);
    let mut native_state = PackedState::default();
    let mut native_packed = Packed::default();
    // What threads do before their first step counts as executed.
    native.initial();
    let mut seen: HashSet<Packed> = HashSet::new();
    let mut pending = vec![interpreter.initial()];
    let (mut expected, mut found) = (Step::default(), Step::default());
    let (mut packed, mut next_packed) = (Packed::default(), Packed::default());
    let mut successors = Expected::default();
    while let Some(mut state) = pending.pop() {
        interpreter.encode(&state, &mut packed);
        if seen.len() >= most || !seen.insert(packed.clone()) {
            continue;
        }
        // As a search sees it.
        interpreter.decode(packed.words(), &mut state);
        native.decode(packed.words(), &mut native_state);
        if seen.len() % SOME == 1 && interpreter.program().allocates() {
            compare_chain(
                name,
                &mut interpreter,
                &state,
                &mut native,
                &native_state,
                CHAIN,
            );
        }
        successors.begin_state();
        for thread in 0..interpreter.thread_count(&state) {
            let thread = Position(thread as u32);
            let mut next = Some(Choice::FIRST);
            for _ in 0..MOST_CHOICES {
                let Some(choice) = next else { break };
                interpreter.step(&state, thread, choice, &mut expected);
                native.step(&native_state, thread, choice, &mut found);
                compared.steps += 1;
                next = expected.next_choice;
                assert_eq!(expected.status, found.status, "{name}");
                assert_eq!(expected.footprint, found.footprint, "{name}");
                assert_eq!(expected.next_choice, found.next_choice, "{name}");
                compare_knowledge(
                    name,
                    &mut interpreter,
                    &state,
                    &mut native,
                    &native_state,
                    thread,
                    &expected.footprint,
                );
                successors.count(&expected.status);
                if matches!(expected.status, Status::Moved | Status::Failed(_)) {
                    // What only disciplines change, native code does not.
                    let both = expected.changed.with(found.changed);
                    assert_eq!(expected.changed, both, "{name}");
                    let may_be_renamed = interpreter.canonicalise(&mut expected.after);
                    // Native code knows more: that nothing is.
                    let renamed = native.canonicalise(&mut found.after);
                    assert!(
                        [may_be_renamed, Renamed::Nothing].contains(&renamed),
                        "{name}"
                    );
                    interpreter.encode(&expected.after, &mut next_packed);
                    let changed = renamed.after(found.changed);
                    let (parts, _) = native.encode_successor(
                        packed.parts(),
                        changed,
                        &found.after,
                        &mut native_packed,
                    );
                    assert_eq!(next_packed.parts(), parts, "{name}");
                    successors.states.push(next_packed.clone());
                    pending.push(expected.after.clone());
                }
            }
            successors.are_more |= next.is_some();
        }
        compared.at_once += u64::from(successors.are_added(name, &mut native, packed.parts()));
    }
    assert_eq!(
        interpreter.unreached(),
        native.interpreter().unreached(),
        "{name}"
    );
    assert_eq!(
        interpreter.unreached_goals(),
        native.interpreter().unreached_goals(),
        "{name}"
    );
    compared.programs += 1;
    let Some(report) = native.report() else {
        return;
    };
    compared.compiled += 1;
    compared.tried += report.steps;
    compared.interpreted += report.interpreted.all();
}

/// Compares steps that follow each other in states which are not made canonical in between: there, objects have the names that their makers gave
/// them.
fn compare_chain(
    name: &str,
    interpreter: &mut Machine,
    state: &State,
    native: &mut NativeMachine,
    native_state: &PackedState,
    length: usize,
) {
    let (mut expected, mut found) = (Step::default(), Step::default());
    for thread in 0..interpreter.thread_count(state) {
        let thread = Position(thread as u32);
        interpreter.step(state, thread, Choice::FIRST, &mut expected);
        native.step(native_state, thread, Choice::FIRST, &mut found);
        assert_eq!(expected.status, found.status, "{name}");
        assert_eq!(expected.footprint, found.footprint, "{name}");
        if expected.status != Status::Moved {
            continue;
        }
        compare_knowledge(
            name,
            interpreter,
            &expected.after,
            native,
            &found.after,
            thread,
            &expected.footprint,
        );
        if length > 0 {
            let (after, native_after) = (&expected.after, &found.after);
            compare_chain(name, interpreter, after, native, native_after, length - 1);
        }
        // Others may have been made and dropped on the way.
        let (mut canonical, mut native_canonical) = (expected.after.clone(), found.after.clone());
        interpreter.canonicalise(&mut canonical);
        native.canonicalise(&mut native_canonical);
        let (mut packed, mut native_packed) = (Packed::default(), Packed::default());
        interpreter.encode(&canonical, &mut packed);
        native.encode(&native_canonical, &mut native_packed);
        assert_eq!(packed, native_packed, "{name}");
    }
}

/// In one of so many states.
const SOME: usize = 8;
/// So many steps follow another one.
const CHAIN: usize = 2;

/// The states after all steps from a state, as they are made one by one.
#[derive(Default)]
struct Expected {
    states: Vec<Packed>,
    steps: Successors,
    fails: bool,
    are_more: bool,
}

impl Expected {
    fn begin_state(&mut self) {
        *self = Self::default();
    }

    fn count(&mut self, status: &Status) {
        *match status {
            Status::Moved => &mut self.steps.moved,
            Status::Blocked { .. } => &mut self.steps.blocked,
            Status::Ended => &mut self.steps.ended,
            Status::Failed(_) => {
                self.fails = true;
                return;
            }
        } += 1;
    }

    /// Makes them all at once, and says whether that was possible.
    fn are_added(&self, name: &str, native: &mut NativeMachine, before: Parts<'_>) -> bool {
        let mut batch = Batch::default();
        batch.begin().0.extend_from_slice(before.words);
        let Some(steps) = native.successors(&mut batch, Unseen::All) else {
            assert!(batch.is_empty(), "{name}");
            return false;
        };
        if self.are_more {
            return true;
        }
        assert!(!self.fails, "{name}");
        let writes_plainly = steps.writes_plainly;
        let expected = Successors {
            writes_plainly,
            ..self.steps
        };
        assert_eq!(steps, expected, "{name}");
        assert_eq!(batch.len(), self.states.len(), "{name}");
        for (number, state) in self.states.iter().enumerate() {
            assert_eq!(batch.words(number), state.words(), "{name}");
        }
        true
    }
}

/// Compares what reductions ask about a thread and what its next step touches.
fn compare_knowledge(
    name: &str,
    interpreter: &mut Machine,
    state: &State,
    native: &mut NativeMachine,
    native_state: &PackedState,
    thread: Position,
    footprint: &Footprint,
) {
    assert_eq!(
        interpreter.thread_count(state),
        native.thread_count(native_state),
        "{name}"
    );
    assert_eq!(
        interpreter.place(state, thread),
        native.place(native_state, thread),
        "{name}"
    );
    assert_eq!(
        interpreter.ended(state, thread),
        native.ended(native_state, thread),
        "{name}"
    );
    assert_eq!(
        interpreter.can_be_joined(state, thread),
        native.can_be_joined(native_state, thread),
        "{name}"
    );
    assert_eq!(
        interpreter.thread_name(state, thread),
        native.thread_name(native_state, thread),
        "{name}"
    );
    assert_eq!(
        interpreter.failed(state),
        native.failed(native_state),
        "{name}"
    );
    let (mut expected, mut found) = (Vec::new(), Vec::new());
    interpreter.held_locks(state, thread, &mut expected);
    native.held_locks(native_state, thread, &mut found);
    assert_eq!(expected, found, "{name}");
    for access in footprint {
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        interpreter.guards(state, thread, access, &mut expected);
        native.guards(native_state, thread, access, &mut found);
        assert_eq!(expected, found, "{name}");
        let location = access.location;
        assert_eq!(
            interpreter.variable(state, location),
            native.variable(native_state, location),
            "{name}"
        );
        assert_eq!(
            interpreter.holds(state, thread, location),
            native.holds(native_state, thread, location),
            "{name}"
        );
        assert_eq!(
            interpreter.owns(state, thread, location),
            native.owns(native_state, thread, location),
            "{name}"
        );
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        assert_eq!(
            interpreter.declared(state, thread, access, &mut expected),
            native.declared(native_state, thread, access, &mut found),
            "{name}"
        );
        assert_eq!(expected, found, "{name}");
    }
}

fn compare_folder(folder: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut compared = Compared::default();
    for path in programs(&root.join(folder)) {
        let text = std::fs::read_to_string(&path).expect("a program can be read");
        let name = path.display().to_string();
        let (program, _) = raddle_machine::load(Source::new(&name, &text));
        if let Some(program) = program {
            compare(&name, &Arc::new(program), &mut compared);
        }
    }
    println!("{folder}: {compared:?}");
    assert!(compared.programs > 0 && compared.interpreted < compared.tried / 2);
}

fn programs(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder can be listed") {
        let path = entry.expect("a folder can be listed").path();
        if path.is_dir() {
            found.extend(programs(&path));
        } else if path.extension().is_some_and(|extension| extension == "rad") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn on_the_corpus() {
    compare_folder("corpus");
}

#[test]
fn on_the_examples() {
    compare_folder("examples");
}

#[test]
fn on_the_benchmark() {
    compare_folder("bench/models");
}

/// Programs of the corpus with a few words exchanged, removed or doubled: most are none any more, and those that are do what
/// nobody has thought of.
#[test]
fn on_mutated_programs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let texts: Vec<String> = (programs(&root.join("corpus")).iter())
        .map(|path| std::fs::read_to_string(path).expect("a program can be read"))
        .collect();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut compared = Compared::default();
    for number in 0..MUTANTS {
        let text = mutated(&texts[random.below(texts.len())], &mut random);
        let name = format!("mutant {number}: {text}");
        let (program, _) = raddle_machine::load(Source::new("mutant.rad", &text));
        if let Some(program) = program {
            compare_some(&name, &Arc::new(program), MUTANT_STATES, &mut compared);
        }
    }
    println!("mutated programs: {compared:?}");
    assert!(compared.programs > MUTANTS / 10);
}

const MUTANTS: u64 = 3_000;
const MUTANT_STATES: usize = 200;

/// A sequence of numbers that look random (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound.max(1)
    }
}

fn mutated(text: &str, random: &mut Random) -> String {
    let mut words: Vec<&str> = text
        .split_inclusive([' ', '\n', ';', '(', ')', '[', ']'])
        .collect();
    for _ in 0..=random.below(3) {
        let (one, other) = (random.below(words.len()), random.below(words.len()));
        match random.below(4) {
            0 => words.swap(one, other),
            1 => words[one] = words[other],
            2 => drop(words.remove(one)),
            _ => words.insert(one, words[other]),
        }
    }
    words.concat()
}

/// Of a step that may execute very much code, some is compiled: most steps are made there.
#[test]
fn on_steps_with_very_much_code() {
    for (statement, count) in [
        ("if (x == 3) y = (y + 1) % 3; else x = (x + 1) % 4;", 40),
        ("y = (y * 2 + x) % 5;", 200),
    ] {
        let block = statement.repeat(count);
        // The short ways go round the most of it.
        let text = format!(
            "int x, y; void t(int k) {{ for (int i = 0; i < 30; i++) {{ atomic {{ x = (x + k) % 4; if (i % 8 < 7) x = k; else {{ {block} }} }} }} }}
             run t(1) || t(2);"
        );
        let (program, problems) = raddle_machine::load(Source::new("long.rad", &text));
        let program = program.unwrap_or_else(|| panic!("{text}: {problems:?}"));
        let mut compared = Compared::default();
        compare(&text, &Arc::new(program), &mut compared);
        println!("much code: {compared:?}");
        assert!(compared.interpreted < compared.tried / 2);
        // It was not all compiled.
        assert!(compared.interpreted > compared.tried / 20);
    }
}

/// What random programs hardly ever do.
#[test]
fn on_chosen_programs() {
    let mut compared = Compared::default();
    for (number, text) in CHOSEN.iter().enumerate() {
        let (program, problems) = raddle_machine::load(Source::new("chosen.rad", *text));
        let program = program.unwrap_or_else(|| panic!("{text}: {problems:?}"));
        let name = format!("chosen program {number}");
        compare(&name, &Arc::new(program), &mut compared);
    }
    println!("chosen programs: {compared:?}");
    assert_eq!(compared.compiled, CHOSEN.len() as u64);
}

const CHOSEN: [&str; 28] = [
    // Threads that are joined in another order than they end in, or never, or whose handles are overwritten or in a global variable.
    "int x; thread g; void w(int k) { x = k; x = x + 1; }
     void main() { thread a = spawn w(1); thread b = spawn w(2); g = spawn w(3); a = b; join(b); x = 5; g = null; x = 6; join(a); }",
    // Children of children, with numbers.
    "int x; int owner[40]; void leaf() { owner[tid % 40] = tid; }
     void node(int k) { thread a = spawn leaf(); if (k > 0) { thread b = spawn leaf(); join(b); } x = tid; join(a); }
     run node(0) || node(1);",
    // A function that threads of both kinds execute; interchangeable threads beside one that spawns.
    "int x; mutex m; void w() { lock(m); x = (x + 1) % 3; unlock(m); }
     void s() { thread t = spawn w(); w(); join(t); }
     run w() || w() || s();",
    // Locks that are held to the end of a thread, reader-writer locks, threads that wait.
    "mutex m; rwlock l; cond c; int x;
     void keeps() { lock(m); x = 1; }
     void reads() { read_lock(l); x = 2; if (*) unlock(l); }
     void waits() { if (try_lock(m)) { wait(c, m); unlock(m); } }
     void main() { thread a = spawn keeps(); thread b = spawn reads(); thread d = spawn waits(); join(b); notify_all(c); write_lock(l); x = 3; join(d); }",
    // More threads than states of a fixed size have, and threads that fail at the start or have nothing to do.
    "int x; void nothing() {} void fails(int k) { assert(k == 0); x = 1; }
     void main() { for (int i = 0; i < 70; i++) { spawn nothing(); } thread a = spawn fails(0); thread b = spawn fails(1); join(a); join(b); }",
    // A value that depends on who it is, in functions that are called; arrays of handles.
    "int x; int id() { return tid; } void w(int k) { int a[2]; a[k] = id(); x = a[0] + a[1]; }
     void main() { thread t[2]; for (int i = 0; i < 2; i++) t[i] = spawn w(i); for (int i = 0; i < 2; i++) join(t[i]); assert(x >= 0); }",
    // A step ends after many loop iterations and calls, in the middle of local code, also in a called function.
    "int x; int more(int k) { return k + 1; }
     int three(int k) { return more(more(more(k))); }
     void t() { x = 1; int r = 0; for (int i = 0; i < 150; i++) { r = three(r); r = three(r) % 5; } x = r; }
     run t()[2];",
    "int x; int more(int k) { return (k + 1) % 7; }
     void t() { atomic { for (int i = 0; i < 700; i++) { x = more(more(x)); } } x = 0; }
     run t()[2];",
    // Failures in a function that is called in several places, and before the first step.
    "int x; void fails(int k) { x = k; assert(x != k, \"no\"); }
     void t() { if (*) fails(1); else fails(1); }
     run t()[2];",
    "int x; int divided(int k) { return 1 / k; } void t(int k) { x = divided(k) + divided(k - 1); }
     run t(1) || t(2) || t(0);",
    // Arrays in several frames, references as arguments, several arguments.
    "int x, y; mutex m, n;
     int sum(int k) { int a[3]; a[k] = k; a[(k + 1) % 3] = 5; x = a[k]; return a[0] + a[1] + a[2]; }
     void under(mutex* l, int* p) { lock(*l); *p = *p + 1; unlock(*l); }
     int less(int a, int b, int c) { x = b; return a - b - 2 * c; }
     void t(int k) { int b[2]; b[k] = sum(k); b[1 - k] = sum(b[k] % 3); y = b[0]; under(&m, &x); under(&n, &y); y = less(x, b[1], y); }
     run t(0) || t(1);",
    // Waiting in a function that is called in several places, for one of several things.
    "mutex m; cond c, d; int x;
     void until(cond* what, int wanted) { while (x != wanted) wait(*what, m); }
     void t() { lock(m); until(&c, 1); x = 2; notify_all(d); until(&d, 3); unlock(m); }
     void u() { lock(m); x = 1; notify(c); until(&d, 2); x = 3; notify_all(d); unlock(m); }
     run t() || u();",
    // Locks that are held for reading often, or to the end, or that are found out when the program runs.
    "rwlock l, k[2]; int x;
     void read(rwlock* w) { read_lock(*w); x = x; }
     void t(int i) { for (int j = 0; j < 5; j++) read(&l); for (int j = 0; j < 4; j++) unlock(l); if (*) unlock(l); read(&k[i]); }
     void u(int i) { if (try_write_lock(l)) { x = 1; unlock(l); } if (try_read_lock(k[x & 1])) unlock(k[x & 1]); write_lock(k[i]); x = 0; }
     run t(0) || u(1);",
    // Numbers that are too large for a field, in any frame.
    "int x; int same(int k) { x = k % 3; int r = x; return k + r; }
     void t(int k) { int r = (x + k) * 1000000; r = same(k) + same(r) + r; x = r / 1000000; r = same(1); x = r; }
     run t(1) || t(2);",
    // Objects that are made, found, freed and forgotten in one step and in several, by several threads.
    "struct Node { int value; Node* next; mutex guard; }; Node* top; int x;
     void push(int k) { Node* n = new Node; n->value = k; atomic { n->next = top; top = n; } }
     void pop() { Node* n; atomic { n = top; if (n != null) { top = n->next; x = n->value; } } free(n); }
     void both(int k) { push(k); pop(); atomic { Node* a = new Node; Node* b = new Node; a->next = b; b->value = k; x = a->next->value; } }
     run both(1) || both(2);",
    // Arrays, references into them, far and near; what is read after it was freed; what is too large.
    "int* row; int* at; int x;
     void t(int k) { int* r = new int[k]; at = &r[k - 1]; r[0] = k; row = r; x = *at; int* s = &r[k / 2]; x = s[k / 2]; free(row); x = r[0]; }
     run t(3) || t(40) || t(300);",
    "struct Wide { int a[70]; int b; }; Wide* w; int x;
     void t(int k) { Wide* v = new Wide; v->a[k] = k; v->b = 1; w = v; x = w->a[k]; int* p = &v->a[k]; *p = 1000000; x = *p % 3; *p = 1; }
     run t(1) || t(69);",
    // More objects than states of a fixed size have.
    "struct Node { int value; Node* next; }; Node* top; int x;
     void t() { for (int i = 0; i < 80; i++) { Node* n = new Node; n->next = top; top = n; } for (int i = 0; i < 70; i++) { top = top->next; } x = 1; }
     run t();",
    // All kinds of objects to wait for on the heap, and spawned threads that are referred to from there.
    "struct Box { mutex m; cond c; rwlock l; semaphore s; chan<int, 2> ch; chan<int> meet; thread t; int x; }; Box* box; Box other; int y;
     void w(Box* b, int k) { lock(b->m); while (b->x == 0) wait(b->c, b->m); unlock(b->m); read_lock(b->l); y = b->x; unlock(b->l); down(b->s); send(b->ch, k); send(b->meet, k); }
     void main() { box = new Box; Box* b = box; b->t = spawn w(b, 1); thread u = spawn w(&other, 2); lock(b->m); b->x = 1; notify(b->c); unlock(b->m); up(b->s); up(other.s);
     lock(other.m); other.x = 2; notify_all(other.c); unlock(other.m); y = recv(b->ch); y = recv(b->meet); y = recv(other.ch); y = recv(other.meet); write_lock(b->l); unlock(b->l); join(b->t); b->t = null; join(u); box = null; }",
    // Locks of objects that guard their fields, also from threads that were spawned, and objects that nobody else knows yet.
    "struct Node { mutex guard; int value guarded_by guard; Node* next guarded_by guard; }; Node* top guarded_by m; mutex m; int mine[4] thread_local; int owner; int data; exclusive data when (owner == tid);
     void push(int k) { Node* n = new Node; n->value = k; lock(m); n->next = top; top = n; unlock(m); lock(n->guard); n->value = n->value + 1; unlock(n->guard); mine[k] = k; mine[k] = mine[k] + 1; }
     void main() { thread a = spawn push(1); thread b = spawn push(2); mine[0] = 3; data = 1; owner = 5; lock(m); Node* n = top; unlock(m); if (n != null) { lock(n->guard); mine[0] = n->value; unlock(n->guard); } join(a); join(b); mine[0] = top->value; }",
    // Objects that others know are accessed without their locks, and those that nobody knows yet.
    "struct Node { mutex guard; int value guarded_by guard; Node* next; }; Node* top; int x;
     void t(int k) { Node* n = new Node; n->value = k; Node* o = top; if (o != null) { lock(o->guard); o->value = k; unlock(o->guard); if (k == 1) x = o->value; } n->next = o; top = n; if (*) n->value = 2; }
     run t(0) || t(1) || t(2);",
    // Some of several threads that wait for the same in different functions, woken by those that were spawned and by those that were not.
    "struct Box { mutex m; cond c; int x; }; Box a; Box* b; int y; mutex m; cond c[2];
     void w(Box* p, int k) { lock(p->m); if (k == p->x) wait(p->c, p->m); unlock(p->m); lock(m); wait(c[k], m); y = k; notify(c[1 - k]); unlock(m); }
     void v(int k) { w(&a, k); }
     void main() { b = new Box; thread t = spawn w(&a, 0); thread u = spawn v(0); thread s = spawn w(b, 0); lock(a.m); notify(a.c); a.x = 1; unlock(a.m); notify_all(b->c); notify(c[0]); lock(b->m); notify(b->c); unlock(b->m); notify_all(c[1]); join(t); }",
    // Recursion.
    "int x; int depth(int k) { if (k == 0) return 0; x = k; return depth(k - 1) + 1; }
     void t() { int r = depth(3); x = r; }
     run t()[2];",
    // Each of two functions calls the other, once or twice, with arrays, under a lock, and one fails at the bottom.
    "int x; reentrant mutex m; int odd(int k) { int a[2]; a[k & 1] = x; if (k == 0) return a[0]; lock(m); int r = even(k - 1); unlock(m); return r + a[1]; }
     int even(int k) { if (k == 0) { assert(x < 3); return 1; } x = k; return odd(k - 1) - even(k - 2 < 0 ? 0 : k - 2); }
     run even(2) || odd(3) || even(4);",
    // Much recursion within one step.
    "int x, y; int fib(int n) { if (n < 2) return n; return fib(n - 1) + fib(n - 2); }
     void t(int k) { for (int i = 0; i < 7; i++) { x = fib(i); y = x + k; } }
     run t(1) || t(2);",
    // As deep as the machine allows, and deeper: in one step, and in many.
    "int x; int local(int k) { if (k == 0) return 0; int r = local(k - 1); return r + 1; }
     int shared(int k) { x = k; if (k == 0) return 0; int r = shared(k - 1); x = r; return r + 1; }
     void t(int k) { x = local(k); x = shared(k); }
     run t(3) || t(300);",
    "int x; int dive(int k) { if (k == 100) x = 1; if (k == 0) return x; int r = dive(k - 1); if (k == 90) x = r; return r; }
     void t(int k) { x = dive(k); }
     run t(200) || t(257) || t(5);",
    // Threads that wait, and spawn others, deep down.
    "mutex m; cond c; int x; void wake(int k) { lock(m); x = k; notify(c); unlock(m); }
     void deep(int k) { if (k == 0) { lock(m); while (x == 0) wait(c, m); unlock(m); return; } if (k == 2) { thread t = spawn wake(k); deep(k - 1); join(t); } else deep(k - 1); }
     void main() { thread a = spawn deep(3); deep(1); wake(5); join(a); }",
];

#[test]
fn on_random_programs() {
    compare_campaign(&Campaign::as_asked(1, 400));
}

/// Programs whose functions call functions, several times, in loops, in atomic blocks, and wait in them; with local arrays.
#[test]
fn on_programs_that_call() {
    let campaign = Campaign {
        profiles: vec![by_name("calls").expect("a profile")],
        ..Campaign::as_asked(2, 200)
    };
    let compared = compare_campaign(&campaign);
    assert_eq!(compared.compiled, compared.programs);
}

/// Programs whose functions call themselves and each other, with states of a fixed size for as many rounds as a sample shows, and for other numbers of them: so there are deeper stacks.
#[test]
fn on_programs_that_call_themselves() {
    let campaign = Campaign {
        profiles: vec![by_name("recursion").expect("a profile")],
        ..Campaign::as_asked(5, 150)
    };
    let compared = compare_campaign(&campaign);
    assert_eq!(compared.compiled, compared.programs);
    let mut interpreted = Vec::new();
    for rounds in 1..=3 {
        let mut compared = Compared::default();
        for number in 0..campaign.count {
            let (_, program) = campaign.program(number);
            let program = raddle_difftest::compile(&program.to_string()).expect("it compiles");
            let program = Arc::unwrap_or_clone(program).packed_for_rounds(rounds);
            let name = format!("recursion {number}, {rounds} rounds");
            compare(&name, &Arc::new(program), &mut compared);
        }
        println!("{rounds} rounds: {compared:?}");
        interpreted.push(compared.interpreted);
    }
    // With fewer rounds, more is left to the interpreter.
    assert!(interpreted.is_sorted_by(|more, fewer| more > fewer));
}

/// Programs that declare disciplines of all kinds, and keep to them or not.
#[test]
fn on_programs_with_disciplines() {
    let profiles = ["disciplines", "disciplined-blocks", "taking-over"];
    let profiles = profiles.map(|name| by_name(name).expect("a profile"));
    let compared = compare_campaign(&Campaign {
        profiles: profiles.to_vec(),
        ..Campaign::as_asked(4, 150)
    });
    assert!(compared.disciplined_interpreted < compared.disciplined / 2);
}

/// Programs with objects in which there is everything, and arrays that are allocated.
#[test]
fn on_programs_with_objects() {
    let profiles = ["objects", "heap"].map(|name| by_name(name).expect("a profile"));
    compare_campaign(&Campaign {
        profiles: profiles.to_vec(),
        ..Campaign::as_asked(3, 200)
    });
}

fn compare_campaign(campaign: &Campaign) -> Compared {
    let programs = campaign.count;
    let mut compared = Compared::default();
    for number in 0..programs {
        let (profile, program) = campaign.program(number);
        let name = format!("{} {number}", profile.name);
        if let Ok(program) = raddle_difftest::compile(&program.to_string()) {
            compare(&name, &program, &mut compared);
        }
    }
    println!("random programs: {compared:?}");
    assert!(compared.programs > programs / 4 * 3 && compared.interpreted < compared.tried / 2);
    assert!(compared.at_once > compared.compiled);
    compared
}
