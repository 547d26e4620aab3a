//! Where the registers of a thread are in its area, at each spot.

use super::code::Width;
use super::constants::{Known, constants_of_kind};
use super::layout::Packing;
use super::sample::Sample;
use super::spots::Spots;
use crate::native;
use crate::op::Reg;
use crate::program::Program;

pub(super) const WORD: u32 = 8;

/// Where a value is. It does not cross the end of a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) byte: u32,
    pub(super) width: Width,
}

impl Field {
    pub(super) fn for_native_code(self) -> native::Field {
        native::Field {
            byte: self.byte,
            wide: self.width == Width::Two,
        }
    }

    #[inline]
    pub(super) fn put(self, start: u32, words: &mut [u64], code: u64) {
        let byte = start + self.byte;
        words[(byte / WORD) as usize] |= code << (byte % WORD * 8);
    }

    #[inline]
    pub(super) fn take(self, start: u32, words: &[u64]) -> u64 {
        let byte = start + self.byte;
        words[(byte / WORD) as usize] >> (byte % WORD * 8) & self.width.escape()
    }
}

/// The frames at a spot, as one: where the registers are in the area of the thread. Those that are constant whenever a certain thread is
/// there are nowhere.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    pub(super) fields: Box<[(Reg, Field)]>,
    pub(super) constants: Box<[Reg]>,
    /// Where the values of the constants begin, among the constants of each thread.
    pub(super) first: usize,
    /// How many bytes of the area it needs.
    pub(super) end: u32,
}

/// What is known of the registers of each kind of threads at each spot that they reach.
pub(super) struct Knowledge(Vec<Vec<Option<Vec<Known>>>>);

impl Knowledge {
    pub(super) fn of(program: &Program, spots: &Spots) -> Self {
        let of_kind = |kind| constants_of_kind(program, spots, kind);
        Self((0..spots.kinds()).map(of_kind).collect())
    }

    /// Whether a thread reaches a spot.
    pub(super) fn is_reached(&self, spot: usize) -> bool {
        self.0.iter().any(|known| known[spot].is_some())
    }

    /// What is known of a register, by each kind of threads that come there.
    fn at(&self, spot: usize, register: usize) -> impl Iterator<Item = Option<Known>> + Clone {
        let threads = self.0.iter();
        threads.map(move |known| known[spot].as_ref().map(|registers| registers[register]))
    }
}

/// The frames at all spots, and the constants of each kind of threads.
pub(super) fn frames_of(
    program: &Program,
    packing: &Packing,
    sample: &Sample,
    spots: &Spots,
    known: &Knowledge,
    head: u32,
) -> (Vec<Frame>, Vec<Box<[i64]>>) {
    let mut constants = vec![Vec::new(); known.0.len()];
    let mut frames = Vec::new();
    for spot in 0..spots.len() {
        let first = constants[0].len();
        let mut fixed = Vec::new();
        let mut stored = Vec::new();
        let height = match known.is_reached(spot) {
            true => spots.height(program, spot as u32),
            // It has no number.
            false => 0,
        };
        for register in 0..height {
            let here = known.at(spot, register);
            let value = |known: Option<Known>| match known {
                Some(Known::Constant(value)) => Some(value),
                _ => None,
            };
            // Each thread that comes here has its own value, but always the same.
            if (here.clone().flatten()).all(|known| value(Some(known)).is_some()) {
                fixed.push(register as Reg);
                let some = here.clone().find_map(value).unwrap_or(0);
                for (constants, known) in constants.iter_mut().zip(here) {
                    constants.push(value(known).unwrap_or(some));
                }
                continue;
            }
            let width = match here.flatten().fold(Known::Unreached, Known::join) {
                Known::Constant(_) | Known::Integer => packing.integer,
                Known::Anything | Known::Unreached => packing.anything,
            };
            let owner = spots.owner(spot as u32, register);
            let width = sample.width_of_register(owner, width);
            stored.push((register as Reg, width));
        }
        frames.push(Frame::new(&stored, fixed, first, head));
    }
    (frames, constants.into_iter().map(Into::into).collect())
}

impl Frame {
    fn new(stored: &[(Reg, Width)], constants: Vec<Reg>, first: usize, head: u32) -> Self {
        // Behind the number of the stop and what is held.
        let mut end = head;
        let fields = stored.iter().map(|(register, width)| {
            let bytes = *width as u32;
            if end / WORD != (end + bytes - 1) / WORD {
                end = end.next_multiple_of(WORD);
            }
            let field = Field {
                byte: end,
                width: *width,
            };
            end += bytes;
            (*register, field)
        });
        Self {
            fields: fields.collect(),
            constants: constants.into(),
            first,
            end,
        }
    }
}
