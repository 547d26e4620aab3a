//! What a few executions show about a program, before its states are packed.
//!
//! How wide a variable is, and how often a function occurs in a chain of calls, depends on what the program computes. Types and constants tell
//! little of that. So the interpreter makes a few [walks](WALKS) through the program, with threads and choices at random, and notes which
//! variables outgrow a byte and how deep recursion goes.
//!
//! # Why this changes no result
//!
//! A sample is only a guess at what fits. The [packing](super) gives different states different words whatever the widths
//! are, and a state that does not fit is written in the general form. So states, transitions and verdicts are the same with any sample
//! (`results_do_not_depend_on_the_sample`). What depends on it is time and memory: a step from a state that does not fit is interpreted.
//!
//! The walks are the same each time a program is loaded, so its states have the same words in every run.

use std::collections::BTreeSet;
use std::sync::Arc;

use raddle_explore::{Choice, Position, Status, Step, System};

use super::code::{self, Width};
use super::{fixed, has_frames};
use crate::machine::Machine;
use crate::op::{Op, Pc};
use crate::program::{Granularity, Program};
use crate::state::State;

/// How many steps each walk has, at most, and how threads take turns. A long walk sees what counters come to; with a thread that goes on as long as it
/// can, what others never let it do.
const WALKS: [(u64, Turns); 4] = [
    (2_500, Turns::AtRandom),
    (500, Turns::AsLongAsPossible),
    (500, Turns::AtRandom),
    (500, Turns::AtRandom),
];

/// Which thread makes a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turns {
    AtRandom,
    /// The last one, if it can.
    AsLongAsPossible,
}

/// How many words of states all walks together may copy; a turn of a loop in a step counts as [so many](TURN).
const MOST_COPIED: u64 = 1 << 22;
const TURN: u64 = 32;
/// How many alternatives of a step are looked at, at most.
const MOST_CHOICES: u32 = 8;

/// What a few executions of a program have shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    /// Global slots that had a value for which two bytes are enough but one is not.
    slots: BTreeSet<usize>,
    /// The same of registers, by function.
    registers: BTreeSet<(usize, usize)>,
    /// How often a function was in a chain of calls, at most; also in the middle of a step.
    rounds: usize,
}

impl Sample {
    /// Walks through a program. It need not be known yet how its states are packed.
    pub(crate) fn of(program: &Arc<Program>) -> Self {
        let mut sample = Self::default();
        if program.hir.starts.is_empty() {
            return sample;
        }
        let mut walk = Walk::through(program);
        for (steps, turns) in WALKS {
            let mut state = walk.machine.initial();
            sample.see(program, &state);
            for _ in 0..steps {
                if !walk.go_on(&mut state, turns) {
                    break;
                }
                sample.see(program, &state);
            }
        }
        sample.rounds = walk.machine.scratch.most_rounds.unwrap_or(1);
        sample
    }

    /// What nobody has seen, but for how often a function is in a chain of calls.
    pub(crate) fn of_rounds(rounds: usize) -> Self {
        Self {
            rounds,
            ..Self::default()
        }
    }

    /// The width of a global slot, given the one that its type says.
    pub(super) fn width_of_slot(&self, slot: usize, width: Width) -> Width {
        match self.slots.contains(&slot) {
            true => Width::Two,
            false => width,
        }
    }

    /// The width of a register of a function, given the one that its type says.
    pub(super) fn width_of_register(&self, owner: Option<(usize, usize)>, width: Width) -> Width {
        match owner.is_some_and(|owner| self.registers.contains(&owner)) {
            true => Width::Two,
            false => width,
        }
    }

    /// How often a function is in a chain of calls, mostly at most.
    pub(super) fn rounds(&self) -> usize {
        self.rounds
    }

    /// Notes what a state shows.
    fn see(&mut self, program: &Program, state: &State) {
        let globals = &state.words[..program.initial.len()];
        let wide = globals
            .iter()
            .enumerate()
            .filter(|(_, word)| is_wide(**word));
        self.slots.extend(wide.map(|(slot, _)| slot));
        for thread in 0..state.threads.len() {
            if has_frames(state.phase(thread)) {
                self.see_frames(program, state.pc(thread), state.frames(thread));
            }
        }
    }

    /// Notes what the frames of a thread show, from the innermost one on.
    fn see_frames(&mut self, program: &Program, pc: Pc, frames: &[i64]) {
        let mut at = (pc, program.heights[pc as usize]);
        let mut rest = frames;
        loop {
            let (pc, height) = at;
            let (below, own) = rest.split_at(rest.len() - height as usize);
            let function = program.function_number(pc);
            let wide = own.iter().enumerate().filter(|(_, word)| is_wide(**word));
            (self.registers).extend(wide.map(|(register, _)| (function, register)));
            let Some((back, below)) = below.split_last() else {
                break;
            };
            let call = *back as Pc - 1;
            let Op::Call { height, .. } = program.code[call as usize] else {
                unreachable!("a frame returns behind a call");
            };
            at = (call, height);
            rest = below;
        }
    }
}

/// Whether one byte is too small for a word, and two are not.
#[inline]
fn is_wide(word: i64) -> bool {
    // Nearly all are no wider, and this is asked of each word of each state.
    !code::is_small_integer(word) && is_wide_and_not_small(word)
}

fn is_wide_and_not_small(word: i64) -> bool {
    let fits = |width: Width| fixed::fits(code::code(word, width), width);
    !fits(Width::One) && fits(Width::Two)
}

/// Somebody on the way through a program.
struct Walk {
    machine: Machine,
    step: Step<State>,
    random: Random,
    /// Who has made the last step.
    last: usize,
    /// How many words may still be copied.
    left: u64,
}

impl Walk {
    fn through(program: &Arc<Program>) -> Self {
        let machine = Machine::new(Arc::clone(program), Granularity::Access);
        let mut machine = machine.with_disciplines(false);
        machine.scratch.most_rounds = Some(1);
        Self {
            machine,
            step: Step::default(),
            random: Random(0x9E37_79B9_7F4A_7C15),
            last: 0,
            left: MOST_COPIED,
        }
    }

    /// Has some thread make some step. Says whether the walk goes on.
    fn go_on(&mut self, state: &mut State, turns: Turns) -> bool {
        let threads = state.threads.len();
        let first = match turns {
            Turns::AtRandom => self.random.below(threads as u64) as usize,
            Turns::AsLongAsPossible => self.last,
        };
        let mut threads = (0..threads).map(|index| (first + index) % threads);
        let moved = threads.find(|thread| self.moves(state, Position(*thread as u32)));
        let Some(moved) = moved else {
            return false;
        };
        std::mem::swap(state, &mut self.step.after);
        self.machine.canonicalise(state);
        // It may have another position now, or none: then somebody else goes on.
        self.last = moved;
        true
    }

    /// Whether a thread makes a step, by one of its first alternatives.
    fn moves(&mut self, state: &State, thread: Position) -> bool {
        let mut choice = Choice::FIRST;
        let wanted = self.random.below(MOST_CHOICES.into());
        for number in 0.. {
            let cost = state.words.len() as u64 + TURN * u64::from(self.machine.turns());
            let Some(left) = self.left.checked_sub(cost) else {
                return false;
            };
            self.left = left;
            (self.machine).step(state, thread, choice, &mut self.step);
            match self.step.next_choice {
                Some(next) if number < wanted => choice = next,
                _ => break,
            }
        }
        self.step.status == Status::Moved
    }
}

/// A sequence of numbers that look random (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

#[cfg(test)]
mod tests {
    use raddle_lang::Source;

    use super::*;

    fn program(text: &str) -> Arc<Program> {
        let (program, problems) = crate::load(Source::new("test.rad", text));
        Arc::new(program.unwrap_or_else(|| panic!("{text}: {problems:?}")))
    }

    #[test]
    fn variables_that_outgrow_a_byte_get_two() {
        let program = program(
            "int small, large, huge;
             void t() { int k = 0; for (int i = 0; i < 100; i++) { large += 3; small = (small + 1) % 9; k = large; } small = k % 9; atomic { huge = k; huge = huge * huge * huge; } }
             run t() || t();",
        );
        let sample = Sample::of(&program);
        // Two bytes are too few for the last one.
        let widths = [0, 1, 2].map(|slot| sample.width_of_slot(slot, Width::One));
        assert_eq!(widths, [Width::One, Width::Two, Width::One]);
        let registers = |register| sample.width_of_register(Some((0, register)), Width::One);
        assert_eq!([registers(0), registers(1)], [Width::Two, Width::One]);
        assert_eq!(sample.width_of_register(None, Width::One), Width::One);
        assert_eq!(program.packing.slots, widths);
    }

    #[test]
    fn recursion_is_seen_between_steps_and_in_steps() {
        for (text, rounds) in [
            ("int x; void t() { x = 1; } run t();", 1),
            (
                "int x; void f(int k) { x = k; if (k > 0) f(k - 1); } run f(4);",
                5,
            ),
            (
                "int x; int f(int k) { return k == 0 ? 0 : f(k - 1); } void t() { x = f(3); } run t();",
                4,
            ),
            (
                "int x; int f(int k) { if (k == 0) return 0; return g(k - 1); } int g(int k) { x = k; return f(k); } void t() { x = f(2); } run t();",
                3,
            ),
        ] {
            assert_eq!(Sample::of(&program(text)).rounds(), rounds, "{text}");
        }
    }

    #[test]
    fn long_steps_and_large_states_end_a_walk_early() {
        for text in [
            "int x; void t() { while (true) { atomic { for (int i = 0; i < 50000; i++) x = i % 5; } } } run t();",
            "int x; int a[30000]; void t() { while (true) x = 1 - x; } run t();",
        ] {
            let program = program(text);
            let mut walk = Walk::through(&program);
            let mut state = walk.machine.initial();
            let mut steps = 0;
            while walk.go_on(&mut state, Turns::AtRandom) {
                steps += 1;
            }
            assert!((1..1_000).contains(&steps), "{steps}: {text}");
        }
    }
}
