//! Where a thread can be when functions call functions.
//!
//! A *chain* of calls leads from the function that a thread starts with to the one that it is in. A
//! *spot* is an instruction together with such a chain: the code of a function is repeated for each chain that leads to it, as
//! if every call were replaced by the function. A spot tells
//!
//! - where the registers of the innermost frame begin among all words of the frames of the thread (its `base`): the interpreter
//!   puts the frame of a call behind the `height` registers of the caller that are alive during the call, and a word for where to
//!   return to;
//! - how many words the frames have together: up to the base, and as many more as are alive at the instruction;
//! - the words for where to return to: each is the same whenever a thread is there.
//!
//! So the words of all frames are one frame, whose registers are numbered from the bottom of the stack, and everything that is known of
//! frames without calls holds for it: a call copies its arguments to other registers and jumps to the first spot of the function, and
//! returning copies the result to a register and jumps behind the call.
//!
//! # Chains that are too long
//!
//! With recursion there are infinitely many chains, and without it there can be very many. Those beyond a [`Cut`] have no spots: a call that would lead there
//! [is cut](Link::Cut). A thread that is in a function called from there has no spot ([`Spots::find`] finds none), so the state does not have the fixed size, and its steps are
//! the interpreter's. The thread comes back by returning to the spot behind the call. Until then nobody has changed the words of the frames that have spots:
//! no instruction writes a register of another frame, but for returning, which writes the result. So whoever asks
//! [what is known](super::constants) of registers behind a call that is cut knows what was known before it, but nothing of the result.
//!
//! The cut is the weakest of a list for which spots are few. Where a thread has its spots depends on the program alone, so all states of a search
//! agree on it.
//!
//! # Spots are told by states
//!
//! **Claim.** The words of the frames of a thread and its instruction tell its spot, or that it has none; and no two. *Why:* the instruction tells how many registers the innermost frame
//! has; the word below it, where it returns to, and so the call that made it, which tells how many registers the frame below has; and so on down to the bottom. The
//! chain of calls leads from the first spot of the thread to this one, or to a call that is cut.
//!
//! Threads of one *kind* start at the same spot: each thread of `run` is a kind of its own, and so are all threads that are spawned with a certain function.
//! The instruction in its outermost frame tells the kind of a thread that was spawned.

use super::constants::frame_size;
use crate::native::{Link, Spot};
use crate::op::{Op, Pc, Reg};
use crate::program::Program;

/// Programs that have more spots than instructions, by more than this, have none.
const MOST_COPIED: usize = 1 << 13;
/// Frames have at most that many words together.
const MOST_REGISTERS: usize = 256;
/// The words of the frames at all spots, and those of all threads.
const MOST_WORDS: usize = 1 << 22;
const MOST_WORDS_OF_THREADS: usize = 1 << 24;
/// Chains of calls are no longer than this, and shorter than what the interpreter allows.
const MOST_CALLS: usize = 64;
/// Where chains are cut, code is repeated for no more than this: most of it would never be executed.
const MOST_COPIED_OF_CUT: usize = 1 << 11;

/// Which chains of calls have no spots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    /// Those in which a function occurs more often.
    rounds: usize,
    /// Longer ones.
    calls: usize,
}

/// The spots of a program.
#[derive(Clone, Debug)]
pub(crate) struct Spots {
    all: Vec<Spot>,
    /// In the order of their spots.
    copies: Vec<Copy>,
    /// Where threads of each kind start, those of `run` first.
    starts: Vec<u32>,
    /// How many threads of `run` there are.
    run: usize,
    /// How many registers are used, by all frames of a thread together.
    registers: usize,
    cut: Cut,
    /// Whether some chains have no spots.
    is_cut: bool,
}

/// The code of a function, for one chain of calls.
#[derive(Clone, Copy, Debug)]
struct Copy {
    /// Its first spot; the others follow.
    first: u32,
    function: usize,
    base: usize,
    /// The copy that calls it.
    caller: Option<usize>,
}

impl Spots {
    /// The spots of a program in which a chain of calls mostly has a function so often, at most; nothing for one that has too many even without calls.
    pub(super) fn of(program: &Program, rounds: usize) -> Option<Self> {
        let by_rounds = (1..=rounds.max(1)).rev().map(|rounds| Cut {
            rounds,
            calls: MOST_CALLS,
        });
        let by_length = [16, 8, 4, 2, 1].map(|calls| Cut { rounds: 1, calls });
        let mut cuts = by_rounds.chain(by_length);
        cuts.find_map(|cut| Self::within(program, cut))
    }

    /// The spots of the chains within a cut, if they are not too many.
    fn within(program: &Program, cut: Cut) -> Option<Self> {
        let mut spots = Self {
            all: Vec::new(),
            copies: Vec::new(),
            starts: Vec::new(),
            run: program.hir.starts.len(),
            registers: 0,
            cut,
            is_cut: false,
        };
        let run = program.hir.starts.iter();
        let run = run.map(|start| start.function.0 as usize);
        for function in run.chain(spawned(program)) {
            let entry = program.functions[function].entry;
            let known = (spots.starts.iter()).find(|start| spots.at(**start).pc == entry);
            let first = match known {
                Some(first) => *first,
                None => {
                    let tree = spots.all.len() as u32;
                    let code = &program.functions[function];
                    let outermost = Frame {
                        tree,
                        base: 0,
                        caller: None,
                        // The last instruction of every function is its exit.
                        returns: Link::Exits(tree + code.end - code.entry - 1),
                    };
                    spots.expand(program, function, outermost, &mut Vec::new())?
                }
            };
            spots.starts.push(first);
        }
        let words = (0..spots.all.len() as u32).map(|spot| spots.height(program, spot));
        let words = words.sum::<usize>();
        let fits = words <= MOST_WORDS && words * spots.starts.len() <= MOST_WORDS_OF_THREADS;
        fits.then_some(spots)
    }

    /// Adds the spots of a function and of those that it calls; gives the first.
    fn expand(
        &mut self,
        program: &Program,
        function: usize,
        frame: Frame,
        chain: &mut Vec<usize>,
    ) -> Option<u32> {
        let code = program.functions[function].entry..program.functions[function].end;
        let first = self.all.len() as u32;
        let registers = frame.base + frame_size(program, code.clone()) as usize;
        let copied = match self.is_cut {
            false => MOST_COPIED,
            true => MOST_COPIED_OF_CUT,
        };
        let most = program.code.len() + copied;
        if first as usize + code.len() > most || registers > MOST_REGISTERS {
            return None;
        }
        let copy = self.copies.len();
        self.copies.push(Copy {
            first,
            function,
            base: frame.base,
            caller: frame.caller,
        });
        self.registers = self.registers.max(registers);
        self.all.extend(code.clone().map(|pc| Spot {
            pc,
            base: frame.base as Reg,
            tree: frame.tree,
            link: match program.code[pc as usize] {
                Op::Return { .. } => frame.returns,
                _ => Link::None,
            },
        }));
        chain.push(function);
        for (spot, pc) in (first..).zip(code) {
            let Op::Call {
                function,
                height,
                to,
                ..
            } = program.code[pc as usize]
            else {
                continue;
            };
            // What is alive behind the call: the registers that were, and the result.
            let alive = program.heights[pc as usize + 1];
            if alive > height && !(alive == height + 1 && to == height) {
                return None;
            }
            let callee = function as usize;
            let rounds = chain.iter().filter(|above| **above == callee).count();
            if rounds >= self.cut.rounds || chain.len() >= self.cut.calls {
                self.is_cut = true;
                self.all[spot as usize].link = Link::Cut;
                continue;
            }
            let inner = Frame {
                base: frame.base + height as usize + 1,
                caller: Some(copy),
                returns: Link::Returns {
                    to: (frame.base + to as usize) as Reg,
                    spot: spot + 1,
                },
                ..frame
            };
            let entry = self.expand(program, callee, inner, chain)?;
            self.all[spot as usize].link = Link::Calls(entry);
        }
        chain.pop();
        Some(first)
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[Spot] {
        &self.all
    }

    /// The spot of a number.
    #[inline]
    pub(super) fn at(&self, spot: u32) -> Spot {
        self.all[spot as usize]
    }

    /// Where a thread of a kind starts.
    #[inline]
    pub(crate) fn start(&self, kind: usize) -> u32 {
        self.starts[kind]
    }

    /// How many kinds of threads there are.
    pub(crate) fn kinds(&self) -> usize {
        self.starts.len()
    }

    /// The kind of the thread at a position that is at a spot.
    #[inline]
    pub(super) fn kind(&self, thread: usize, spot: u32) -> usize {
        if thread < self.run {
            return thread;
        }
        let tree = self.at(spot).tree;
        let spawned = self.starts[self.run..].iter();
        let kind = spawned.enumerate().find(|(_, start)| **start == tree);
        self.run + kind.map_or(0, |(kind, _)| kind)
    }

    /// How many registers are used, by all frames of a thread together.
    pub(crate) fn registers(&self) -> usize {
        self.registers
    }

    /// The function that a register of all frames at a spot belongs to, and its number there. The words for where to return to belong to none.
    pub(super) fn owner(&self, spot: u32, register: usize) -> Option<(usize, usize)> {
        let behind = self.copies.partition_point(|copy| copy.first <= spot);
        let mut copy = &self.copies[behind - 1];
        while register + 1 < copy.base {
            copy = &self.copies[copy.caller?];
        }
        let own = register.checked_sub(copy.base)?;
        Some((copy.function, own))
    }

    /// How many words the frames of a thread have there.
    #[inline]
    pub(super) fn height(&self, program: &Program, spot: u32) -> usize {
        let Spot { pc, base, .. } = self.at(spot);
        base as usize + program.heights[pc as usize] as usize
    }

    /// Where a thread is, by its next instruction and the words of its frames.
    #[inline]
    pub(super) fn find(
        &self,
        program: &Program,
        thread: usize,
        pc: Pc,
        frames: &[i64],
    ) -> Option<u32> {
        let base = frames.len() - program.heights[pc as usize] as usize;
        self.find_above(program, thread, pc, &frames[..base])
    }

    /// Where threads start that are spawned with the function of an instruction.
    fn start_of_spawned(&self, program: &Program, pc: Pc) -> Option<u32> {
        let functions = program.functions.iter();
        let mut around = functions.filter(|function| (function.entry..function.end).contains(&pc));
        let entry = around.next()?.entry;
        let mut spawned = self.starts[self.run..].iter();
        spawned.find(|start| self.at(**start).pc == entry).copied()
    }

    /// The same, by the words below the innermost frame.
    fn find_above(&self, program: &Program, thread: usize, pc: Pc, below: &[i64]) -> Option<u32> {
        let entry = match below.split_last() {
            None if thread < self.run => self.start(thread),
            None => self.start_of_spawned(program, pc)?,
            Some((back, below)) => {
                let call = *back as Pc - 1;
                let Op::Call { height, .. } = program.code[call as usize] else {
                    return None;
                };
                let below = &below[..below.len() - height as usize];
                let caller = self.find_above(program, thread, call, below)?;
                match self.at(caller).link {
                    Link::Calls(entry) => entry,
                    _ => return None,
                }
            }
        };
        let spot = entry + pc.checked_sub(self.at(entry).pc)?;
        let found = self.all.get(spot as usize)?;
        (found.pc == pc).then_some(spot)
    }
}

/// The functions that threads are spawned with, each once.
fn spawned(program: &Program) -> Vec<usize> {
    let spawned = program.code.iter().filter_map(|op| match *op {
        Op::Spawn { function, .. } => Some(usize::from(function)),
        _ => None,
    });
    let mut spawned: Vec<usize> = spawned.collect();
    spawned.sort_unstable();
    spawned.dedup();
    spawned
}

/// A frame of a chain of calls.
#[derive(Clone, Copy)]
struct Frame {
    /// The first spot of the function that the thread starts with.
    tree: u32,
    base: usize,
    caller: Option<usize>,
    returns: Link,
}

#[cfg(test)]
mod tests {
    use raddle_lang::Source;

    use super::*;

    fn program(text: &str) -> Program {
        let (program, problems) = crate::load(Source::new("test.rad", text));
        program.unwrap_or_else(|| panic!("{text}: {problems:?}"))
    }

    /// Functions of which each calls the next one so many times.
    fn chain(functions: usize, calls: usize) -> Program {
        let mut text = String::from("int x; void f0() { x = 1; }");
        for number in 1..functions {
            let call = format!("f{}(); ", number - 1).repeat(calls);
            text += &format!("void f{number}() {{ {call} }}");
        }
        program(&format!("{text} run f{}();", functions - 1))
    }

    #[test]
    fn every_call_has_a_copy_of_its_function() {
        let program = program(
            "int x; int f(int k) { x = k; return k; }
             int g(int k) { int r = f(k); return r + f(r); }
             void t(int k) { x = g(k) + f(k); }
             void u() { f(1); }
             run t(1) || u() || t(2);",
        );
        let spots = Spots::of(&program, 1).expect("there are few");
        assert!(!spots.is_cut);
        assert_eq!(spots.start(0), spots.start(2));
        let copies = |function: usize| {
            let entry = program.functions[function].entry;
            spots.all().iter().filter(|spot| spot.pc == entry).count()
        };
        let all: Vec<usize> = (0..4).map(copies).collect();
        // `f`: twice in the `g` of `t`, once in `t`, once in `u`.
        assert_eq!(all, [4, 1, 1, 1]);
        for spot in spots.all() {
            if let Link::Calls(entry) = spot.link {
                let Op::Call { height, .. } = program.code[spot.pc as usize] else {
                    panic!("{spot:?} is a call");
                };
                assert_eq!(spots.at(entry).base, spot.base + height + 1);
                assert_eq!(spots.at(entry).tree, spot.tree);
            }
        }
    }

    /// How many calls of all spots are cut.
    fn cuts(spots: &Spots) -> usize {
        let all = spots.all().iter();
        all.filter(|spot| spot.link == Link::Cut).count()
    }

    #[test]
    fn recursion_is_cut_behind_so_many_rounds() {
        let program = program(
            "int x; void g(int k) { if (k > 0) { x = k; f(k - 1); } } void f(int k) { x = 0; g(k); }
             run f(2);",
        );
        let copies = |spots: &Spots, function: usize| {
            let entry = program.functions[function].entry;
            spots.all().iter().filter(|spot| spot.pc == entry).count()
        };
        for rounds in 1..5 {
            let spots = Spots::of(&program, rounds).expect("there are few");
            assert_eq!([copies(&spots, 0), copies(&spots, 1)], [rounds; 2]);
            assert_eq!((cuts(&spots), spots.is_cut), (1, true));
        }
        assert!(Spots::of(&program, 0).is_some());
    }

    #[test]
    fn chains_are_cut_that_are_too_long_or_too_many() {
        for (functions, calls, is_cut) in [
            (MOST_CALLS, 1, false),
            (MOST_CALLS + 1, 1, true),
            (8, 2, false),
            (20, 2, true),
        ] {
            let program = chain(functions, calls);
            let spots = Spots::of(&program, 1).expect("some calls are left");
            assert_eq!((cuts(&spots) > 0, spots.is_cut), (is_cut, is_cut));
            assert!(spots.len() <= program.code.len() + MOST_COPIED);
        }
    }

    #[test]
    fn registers_belong_to_functions() {
        let program = program(
            "int x; int f(int k) { if (k > 0) { int less = k - 1; x = k; k = f(less); } return k; }
             run f(2);",
        );
        let spots = Spots::of(&program, 3).expect("there are few");
        let entry = program.functions[0].entry;
        let mut last = None;
        for (number, spot) in (0..).zip(spots.all()) {
            let base = spot.base as usize;
            assert_eq!(spots.owner(number, base), Some((0, 0)));
            assert_eq!(spots.owner(number, base + 1), Some((0, 1)));
            // The outermost frame begins at the bottom; a word for where to return to is below each other one.
            assert_eq!(spots.owner(number, 0), Some((0, 0)));
            if base > 0 {
                assert_eq!(spots.owner(number, base - 1), None);
                assert_eq!(
                    spots.owner(number, base - 2),
                    Some((0, base_of(&spots, number) - 2))
                );
            }
            if spot.pc == entry {
                last = Some(base);
            }
        }
        assert!(last > Some(0));
    }

    /// Where the innermost frame begins, behind the one of its caller.
    fn base_of(spots: &Spots, spot: u32) -> usize {
        let behind = spots.copies.partition_point(|copy| copy.first <= spot);
        let copy = spots.copies[behind - 1];
        copy.base - copy.caller.map_or(0, |caller| spots.copies[caller].base)
    }
}
