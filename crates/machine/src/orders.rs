//! Memory orderings, by the instructions that have them.
//!
//! The machine executes everything as sequentially consistent, and looks at none of this: who explores weaker executions asks for the ordering of
//! an instruction, and who does not says what it has left out. A fence is a `Yield`, a step that touches nothing.

use raddle_explore::Place;
use raddle_lang::hir::{Order, Orders};

use crate::op::{Op, Pc};
use crate::program::Program;

/// The ordering of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ordering {
    /// Of an atomic operation.
    Access(Orders),
    /// The instruction is a fence.
    Fence(Order),
}

impl Ordering {
    fn is_weaker(self) -> bool {
        match self {
            Self::Access(orders) => orders.are_weaker(),
            Self::Fence(order) => order != Order::SeqCst,
        }
    }
}

impl Program {
    fn ordering(&self, pc: Pc) -> Option<Ordering> {
        let found = self.orders.binary_search_by_key(&pc, |(at, _)| *at).ok()?;
        Some(self.orders[found].1)
    }

    /// The orderings of the atomic operation at an instruction.
    pub(crate) fn orders_at(&self, pc: Pc) -> Orders {
        match self.ordering(pc) {
            Some(Ordering::Access(orders)) => orders,
            _ => Orders::default(),
        }
    }

    /// The ordering of the fence at an instruction, if it is one.
    pub(crate) fn fence_at(&self, pc: Pc) -> Option<Order> {
        match self.ordering(pc) {
            Some(Ordering::Fence(order)) => Some(order),
            _ => None,
        }
    }

    /// Whether the program declares disciplines.
    #[must_use]
    pub fn has_disciplines(&self) -> bool {
        self.rules.are_there()
    }

    /// Where the program asks for less than sequential consistency, in the order of the text.
    #[must_use]
    pub fn weaker_orderings(&self) -> Vec<Place> {
        let weaker = self.orders.iter().filter(|(_, order)| order.is_weaker());
        let mut places: Vec<Place> = weaker.map(|(pc, _)| Place(*pc)).collect();
        places.sort_by_key(|place| self.span(*place));
        places
    }

    /// The first place that reads without acquiring. No compiler or processor has a write come before an earlier read that acquires, so a program without such places
    /// has no load buffering.
    #[must_use]
    pub fn relaxed_read(&self) -> Option<Place> {
        let is_relaxed = |orders: Orders, op: &Op| match op {
            Op::AtomicStore { .. } => false,
            Op::Cas { .. } => !orders.order.acquires() || !orders.failure.acquires(),
            _ => !orders.order.acquires(),
        };
        let accesses = self.orders.iter().filter(|(pc, ordering)| match ordering {
            Ordering::Access(orders) => is_relaxed(*orders, &self.code[*pc as usize]),
            Ordering::Fence(_) => false,
        });
        let places = accesses.map(|(pc, _)| Place(*pc));
        places.min_by_key(|place| self.span(*place))
    }
}

#[cfg(test)]
mod tests {
    use raddle_lang::Source;

    /// The texts of what asks for less than sequential consistency.
    fn weaker(body: &str) -> Vec<String> {
        let text = format!("atomic int x;\nint relaxed;\nvoid main() {{ {body} }}");
        let (program, problems) = crate::load(Source::new("t.rad", text));
        let program = program.unwrap_or_else(|| panic!("{problems:?}"));
        let places = program.weaker_orderings().into_iter();
        let texts = places.map(|place| program.source().snippet(program.span(place)).to_owned());
        texts.collect()
    }

    #[test]
    fn what_is_weaker_than_seq_cst_is_known_by_its_place() {
        assert_eq!(weaker("x = load(x); x++; fence(seq_cst);"), [""; 0]);
        assert_eq!(
            weaker("store(x, 1, seq_cst); cas(x, 1, 2, seq_cst);"),
            [""; 0]
        );
        assert_eq!(
            weaker("if (load(x, acquire) == 1) { fence(release); store(x, relaxed); }"),
            ["load(x, acquire)", "fence(release)"]
        );
        assert_eq!(
            weaker("int i = fetch_add(x, swap(x, 1, acq_rel), relaxed);"),
            [
                "fetch_add(x, swap(x, 1, acq_rel), relaxed)",
                "swap(x, 1, acq_rel)"
            ]
        );
        assert_eq!(
            weaker("await(load(x, acquire) == 0); cas(x, 0, 1, seq_cst, relaxed);"),
            ["load(x, acquire)", "cas(x, 0, 1, seq_cst, relaxed)"]
        );
    }

    #[test]
    fn reads_that_do_not_acquire_are_known() {
        let relaxed_read = |body: &str| {
            let text = format!("atomic int x;\nvoid main() {{ {body} }}");
            let (program, _) = crate::load(Source::new("t.rad", text));
            let program = program.expect("it is correct");
            let place = program.relaxed_read()?;
            Some(program.source().snippet(program.span(place)).to_owned())
        };
        for body in [
            "store(x, 1, relaxed); store(x, 1, release); x = 2;",
            "load(x, acquire); fetch_add(x, 1, acq_rel); fence(release);",
            "cas(x, 0, 1, acquire);",
        ] {
            assert_eq!(relaxed_read(body), None, "{body}");
        }
        for read in [
            "load(x, relaxed)",
            "swap(x, 1, release)",
            "cas(x, 0, 1, acquire, relaxed)",
            "cas(x, 0, 1, release)",
        ] {
            let body = format!("x = 1; {read}; load(x, relaxed);");
            assert_eq!(relaxed_read(&body).as_deref(), Some(read));
        }
    }

    /// The failure of a `cas` is that of its success, without the release.
    #[test]
    fn failures_have_an_ordering_of_their_own() {
        use raddle_lang::hir::Order::{AcqRel, Acquire, Relaxed, Release, SeqCst};
        for (said, order, failure) in [
            ("release", Release, Relaxed),
            ("acq_rel", AcqRel, Acquire),
            ("relaxed, seq_cst", Relaxed, SeqCst),
            ("release, acquire", Release, Acquire),
        ] {
            let text = format!("atomic int x; void main() {{ cas(x, 0, 1, {said}); }}");
            let (program, _) = crate::load(Source::new("t.rad", text));
            let program = program.expect("it is correct");
            let orders = program.orders_at(program.weaker_orderings()[0].0);
            assert_eq!((orders.order, orders.failure), (order, failure), "{said}");
        }
    }
}
