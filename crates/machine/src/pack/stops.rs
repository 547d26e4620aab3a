//! Numbers for where a thread is and what it is doing, in states of a fixed size.

use super::code::Width;
use super::spots::Spots;
use crate::native;
use crate::op::{Op, Pc};
use crate::program::Program;
use crate::state::Phase;

/// There is no such number.
const NONE: u32 = u32::MAX;

/// Where a thread is that has neither ended nor failed, and what it is doing, or where it has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// At a spot; it has frames.
    At(u32, Phase),
    Ended,
    /// Its frames are gone, so nothing but the instruction is left.
    Failed(Pc),
}

/// The stops of the threads of a program, and their numbers.
///
/// Those where threads mostly are have the low numbers: before visible instructions, waiting to be resumed, at the end. Where no thread
/// ever is, as far as the program tells, there is no number: a state of a thread that is there does not have the fixed size.
#[derive(Clone, Debug)]
pub(super) struct Stops {
    all: Vec<Stop>,
    /// By spot and phase.
    numbers: Vec<[u32; PHASES]>,
    ended: u32,
    /// By instruction.
    failed: Vec<u32>,
    /// How wide a number is.
    width: Width,
}

const PHASES: usize = 6;

impl Stops {
    /// The stops at the spots that some thread reaches.
    pub(super) fn new(program: &Program, spots: &Spots, is_reached: &[bool]) -> Self {
        let reached = (0..spots.len() as u32).filter(|spot| is_reached[*spot as usize]);
        let phases = [
            Phase::Running,
            Phase::Waiting,
            Phase::Notified,
            Phase::FailedAtStart,
        ];
        let at = reached.flat_map(|spot| phases.map(|phase| (spot, phase)));
        let op = |spot: u32| program.code[spots.at(spot).pc as usize];
        let (mut all, mut rare) = (Vec::new(), Vec::new());
        for (spot, phase) in at {
            let resumes = matches!(op(spot), Op::Resume { .. });
            let stop = Stop::At(spot, phase);
            match phase {
                Phase::Running if op(spot).is_visible() && !resumes => all.push(stop),
                Phase::Waiting | Phase::Notified if resumes => all.push(stop),
                Phase::Waiting | Phase::Notified => {}
                _ => rare.push(stop),
            }
        }
        all.push(Stop::Ended);
        let width = match all.len() < Width::One.escape() as usize {
            true => Width::One,
            false => Width::Two,
        };
        all.append(&mut rare);
        let code = program.functions.iter();
        let code = code.flat_map(|function| function.entry..function.end);
        all.extend(code.map(Stop::Failed));
        // The others have no number.
        all.truncate(width.escape() as usize);
        let mut stops = Self {
            numbers: vec![[NONE; PHASES]; spots.len()],
            ended: NONE,
            failed: vec![NONE; program.code.len()],
            width,
            all,
        };
        for (number, stop) in (0..).zip(&stops.all) {
            match *stop {
                Stop::At(spot, phase) => {
                    stops.numbers[spot as usize][phase as usize] = number;
                }
                Stop::Ended => stops.ended = number,
                Stop::Failed(pc) => stops.failed[pc as usize] = number,
            }
        }
        stops
    }

    pub(super) fn width(&self) -> Width {
        self.width
    }

    /// The number of a stop, if it has one.
    #[inline]
    pub(super) fn number(&self, stop: Stop) -> Option<u32> {
        let number = match stop {
            Stop::At(spot, phase) => self.numbers[spot as usize][phase as usize],
            Stop::Ended => self.ended,
            Stop::Failed(pc) => self.failed[pc as usize],
        };
        (number != NONE).then_some(number)
    }

    /// What a number stands for.
    #[inline]
    pub(super) fn stop(&self, number: u64) -> Stop {
        self.all[number as usize]
    }

    /// What the numbers stand for, for native code.
    pub(super) fn for_native_code(&self, spots: &Spots) -> Vec<native::Stop> {
        let stop = |stop: &Stop| match *stop {
            Stop::At(spot, phase) => {
                let pc = spots.at(spot).pc;
                let at = native::At { spot, pc };
                match phase {
                    Phase::Running => native::Stop::Running(at),
                    Phase::Waiting => native::Stop::Waiting(at),
                    Phase::Notified => native::Stop::Notified(at),
                    Phase::Ended => native::Stop::Stopped(pc, false),
                    Phase::Failed | Phase::FailedAtStart => native::Stop::Stopped(pc, true),
                }
            }
            Stop::Ended => native::Stop::Stopped(0, false),
            Stop::Failed(pc) => native::Stop::Stopped(pc, true),
        };
        self.all.iter().map(stop).collect()
    }
}
