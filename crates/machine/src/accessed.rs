//! What every step from an instruction accesses, as far as the code tells.

use raddle_lang::ast::BinaryOp;

use crate::op::{Fit, Op, Pc, Reg};
use crate::pack::whole_objects;
use crate::program::{Features, Program};
use crate::word::Reference;

impl Program {
    /// The global slots that steps from an instruction access: one of them at least, each by a plain or atomic access, and
    /// nothing else. Nothing if the code does not tell.
    ///
    /// A thread may own what it accesses if it is the only one, and in programs that spawn or allocate; in those with disciplines it may have to.
    pub(crate) fn accessed_from(&self, pc: Pc) -> Option<Vec<u32>> {
        let Features { spawn, heap, .. } = self.features;
        if spawn || heap || self.hir.starts.len() < 2 || !self.rules.is_empty() {
            return None;
        }
        let mut slots = match self.code[pc as usize] {
            Op::AtomicBegin => self.accessed_in_block(pc as usize)?,
            op => self.accessed_by(pc as usize, op)?,
        };
        slots.sort_unstable();
        slots.dedup();
        Some(slots)
    }

    /// The same for an atomic block that has no choices, calls no functions, and is left at its end only.
    fn accessed_in_block(&self, begin: usize) -> Option<Vec<u32>> {
        let mut depth = 0;
        let ends = self.code[begin..].iter().position(|op| {
            depth += i32::from(*op == Op::AtomicBegin) - i32::from(*op == Op::AtomicEnd);
            depth == 0
        });
        let end = begin + ends?;
        let mut slots = Vec::new();
        for pc in begin + 1..end {
            match self.code[pc] {
                Op::AtomicBegin | Op::AtomicEnd => {}
                Op::Jump { to }
                | Op::Loop { to }
                | Op::JumpIf { to, .. }
                | Op::JumpUnless { to, .. } => {
                    let stays = (begin + 1..=end).contains(&(to as usize));
                    // What comes first is accessed in any case.
                    if !stays || slots.is_empty() {
                        return None;
                    }
                }
                Op::Guard { .. } if slots.is_empty() => return None,
                Op::Guard { .. } => {}
                Op::Call { .. } | Op::Return { .. } => return None,
                op if op.is_visible() => slots.extend(self.accessed_by(pc, op)?),
                // A block that fails before its first access is a step without accesses, which commutes with all others.
                op if slots.is_empty() && may_fail(op) => return None,
                _ => {}
            }
        }
        (!slots.is_empty()).then_some(slots)
    }

    /// The slots that an instruction may access, if it is a plain or atomic access.
    fn accessed_by(&self, pc: usize, op: Op) -> Option<Vec<u32>> {
        match op {
            Op::Load { slot, .. } | Op::Store { slot, .. } => Some(vec![slot.into()]),
            Op::LoadElement { slot, .. } | Op::StoreElement { slot, .. } => {
                Some(self.slots_of_global_at(slot.into()))
            }
            Op::LoadAt { reference, .. }
            | Op::StoreAt { reference, .. }
            | Op::AtomicLoad { reference, .. }
            | Op::AtomicStore { reference, .. }
            | Op::Cas { reference, .. }
            | Op::Update { reference, .. }
            | Op::Swap { reference, .. } => Some(self.slots_behind(pc, reference)),
            _ => None,
        }
    }

    /// The slots of the variable that a slot belongs to.
    fn slots_of_global_at(&self, slot: u32) -> Vec<u32> {
        let behind = (self.hir.globals).partition_point(|global| global.slot <= slot);
        let global = &self.hir.globals[behind - 1];
        (global.slot..global.slot + self.hir.slots(&global.ty)).collect()
    }

    /// The slots that a register may refer to, in a program without a heap.
    fn slots_behind(&self, pc: usize, reference: Reg) -> Vec<u32> {
        let known = self.packing.constant(pc, reference).map(Reference::of);
        if let Some(Reference::Global(slot)) = known {
            return vec![slot as u32];
        }
        let mut is_data = vec![true; self.hir.initial.len()];
        for global in &self.hir.globals {
            whole_objects(self, &global.ty, global.slot as usize, &mut |slots| {
                is_data[slots].fill(false);
            });
        }
        (0..)
            .zip(is_data)
            .filter_map(|(slot, data)| data.then_some(slot))
            .collect()
    }
}

/// Whether an instruction of local code may make its step fail.
fn may_fail(op: Op) -> bool {
    match op {
        Op::Binary { op, .. } | Op::BinaryConst { op, .. } => {
            matches!(op, BinaryOp::Divide | BinaryOp::Remainder)
        }
        Op::Fit { fit, .. } => matches!(fit, Fit::Range(_)),
        op => !matches!(
            op,
            Op::Const { .. }
                | Op::ConstUnsigned { .. }
                | Op::GlobalRef { .. }
                | Op::Move { .. }
                | Op::Clear { .. }
                | Op::Unary { .. }
                | Op::Advance { .. }
                | Op::Slide { .. }
                | Op::GetLocal { .. }
                | Op::SetLocal { .. }
                | Op::Tid { .. }
                | Op::Reach { .. }
        ),
    }
}

#[cfg(test)]
mod tests {
    use raddle_lang::Source;

    use crate::op::Op;

    /// The source, and the slots that are accessed from the instructions that are visible, up to the end of the function.
    fn accessed(globals: &str, body: &str) -> Vec<Option<Vec<u32>>> {
        let text = format!("{globals}\nvoid t() {{ {body} }}\nrun t() || t();");
        let (program, problems) = crate::load(Source::new("t.rad", text));
        assert!(problems.is_empty(), "{problems:?}");
        let program = program.unwrap();
        let function = &program.functions[program.hir.starts[0].function.0 as usize];
        let mut depth = 0;
        let code = function.entry..function.end;
        let stops = code.filter(|pc| {
            let op = program.code[*pc as usize];
            let begins = depth == 0 && op.is_visible() && op != Op::Exit;
            depth += i32::from(op == Op::AtomicBegin) - i32::from(op == Op::AtomicEnd);
            begins
        });
        stops.map(|pc| program.accessed_from(pc)).collect()
    }

    #[test]
    fn accesses_have_their_slots() {
        let globals = "int x; int a[3]; atomic int y;";
        assert_eq!(accessed(globals, "x = 1;"), [Some(vec![0])]);
        assert_eq!(
            accessed(globals, "int i = x; a[i] = 1;"),
            [Some(vec![0]), Some(vec![1, 2, 3])]
        );
        assert_eq!(accessed(globals, "y = 1;"), [Some(vec![4])]);
        assert_eq!(accessed(globals, "fetch_add(y, 1);"), [Some(vec![4])]);
    }

    #[test]
    fn references_may_lead_to_all_data() {
        let accessed = accessed("mutex m; int x; int a[2]; int* p = &x;", "*p = 1;");
        assert_eq!(accessed, [Some(vec![4]), Some(vec![1, 2, 3, 4])]);
    }

    #[test]
    fn blocks_have_those_of_all_that_they_may_do() {
        let globals = "int x; int y; int z;";
        assert_eq!(
            accessed(globals, "await(x == 1 && y == 0);"),
            [Some(vec![0, 1])]
        );
        assert_eq!(
            accessed(globals, "atomic { x = 1; if (y == 0) z = 1; }"),
            [Some(vec![0, 1, 2])]
        );
    }

    #[test]
    fn what_may_access_nothing_is_not_known() {
        let globals = "int x; int y; mutex m;";
        // The first look is at a local variable.
        assert_eq!(
            accessed(globals, "int i = x; atomic { if (i == 0) x = 1; }"),
            [Some(vec![0]), None]
        );
        assert_eq!(
            accessed(globals, "int i = x; await(i == 1);"),
            [Some(vec![0]), None]
        );
        assert_eq!(
            accessed(globals, "atomic { x = 1; lock(m); unlock(m); }"),
            [None]
        );
        assert_eq!(accessed(globals, "atomic { x = choose(0..1); }"), [None]);
        // It fails before it accesses anything, unless that comes first.
        for (begin, known) in [
            ("assert(i == 0);", false),
            ("i = 1 / i;", false),
            ("i = i + 1;", true),
            ("y = 1; assert(i == 0);", true),
        ] {
            let body = format!("int i = x; atomic {{ {begin} x = i; }}");
            assert_eq!(accessed(globals, &body)[1].is_some(), known, "{begin}");
        }
        // It is left in the middle.
        let body = "while (true) { atomic { x = 1; if (y == 1) break; y = 2; } }";
        assert_eq!(accessed(globals, body)[0], None);
        assert_eq!(accessed(globals, "lock(m); unlock(m);"), [None, None]);
    }

    #[test]
    fn programs_with_disciplines_tell_nothing() {
        assert_eq!(
            accessed("mutex m; int x guarded_by m; int y;", "y = 1;"),
            [None]
        );
    }
}
