//! Which calls of functions last from one state to another.

use std::collections::HashMap;

use crate::op::{Op, Pc};
use crate::program::Program;
use crate::state::State;

/// Tells calls that go on from calls that ended and were made again.
#[derive(Debug, Default)]
pub(super) struct Activations {
    /// Whether a function can get from one place to another in one step.
    ways: HashMap<(Pc, Pc), bool>,
}

impl Activations {
    /// The functions that were being executed before a step of a thread and, without having
    /// returned, still are after it; and where they are then. They have done something, and
    /// are not done.
    pub(super) fn of_both(
        &mut self,
        program: &Program,
        before: &State,
        after: &State,
        thread: usize,
    ) -> Vec<(usize, Pc)> {
        let outermost_first = |state| {
            let mut places: Vec<Pc> = program
                .frames(state, thread)
                .into_iter()
                .map(|(pc, _)| pc)
                .collect();
            places.reverse();
            places
        };
        let (before, after) = (outermost_first(before), outermost_first(after));
        let mut lasting = Vec::new();
        for (&from, &to) in before.iter().zip(&after) {
            let function = program.function_index(from);
            if program.function_index(to) != function || !self.is_way(program, from, to) {
                break;
            }
            lasting.push((function, to));
        }
        lasting
    }

    fn is_way(&mut self, program: &Program, from: Pc, to: Pc) -> bool {
        let known = self.ways.entry((from, to));
        *known.or_insert_with(|| is_way(program, from, to))
    }
}

/// Whether a function can get from the operation at one place to that at another within one
/// step: through local code, or the rest of an atomic block.
fn is_way(program: &Program, from: Pc, to: Pc) -> bool {
    // A frame whose call has not returned stays where it is.
    if from == to && matches!(program.code[from as usize], Op::Call { .. }) {
        return true;
    }
    let mut met = vec![(from, 0_u32)];
    let mut next = 0;
    while next < met.len() {
        let (pc, depth) = met[next];
        next += 1;
        let op = program.code[pc as usize];
        if next > 1 {
            if pc == to {
                return true;
            }
            if op.is_visible() && depth == 0 {
                continue;
            }
        }
        let depth = match op {
            Op::AtomicBegin => depth + 1,
            Op::AtomicEnd => depth.saturating_sub(1),
            _ => depth,
        };
        let targets = match op {
            Op::Return { .. } | Op::Exit => [None, None],
            Op::Jump { to } | Op::Loop { to } => [Some(to), None],
            Op::JumpIf { to, .. } | Op::JumpUnless { to, .. } => [Some(pc + 1), Some(to)],
            _ => [Some(pc + 1), None],
        };
        for target in targets.into_iter().flatten() {
            if !met.contains(&(target, depth)) {
                met.push((target, depth));
            }
        }
    }
    false
}
