//! The orderings of atomic operations and fences.
//!
//! An ordering is known by its place among the arguments, so its names are no keywords: a variable may be called `relaxed`, and is no
//! ordering.

use super::Checker;
use super::expressions::count;
use super::operations::Call;
use super::suggest::nearest;
use crate::ast;
use crate::diagnostic::Diagnostic;
use crate::hir::{OperationKind, Order, Orders};

/// What an ordering is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Load,
    Store,
    Update,
    Failure,
    Fence,
}

impl Use {
    /// The orderings that make sense for it, from the weakest.
    fn orders(self) -> &'static [Order] {
        use Order::{AcqRel, Acquire, Relaxed, Release, SeqCst};
        match self {
            Self::Load | Self::Failure => &[Relaxed, Acquire, SeqCst],
            Self::Store => &[Relaxed, Release, SeqCst],
            Self::Update => &Order::ALL,
            Self::Fence => &[Acquire, Release, AcqRel, SeqCst],
        }
    }

    /// Why it cannot have this one.
    fn reason(self, order: Order) -> &'static str {
        match (self, order) {
            (Self::Load, _) => "a load stores nothing that it could release",
            (Self::Failure, _) => "a `cas` that fails stores nothing that it could release",
            (Self::Store, _) => "a store reads nothing that it could acquire",
            (Self::Fence | Self::Update, _) => "a relaxed fence orders nothing",
        }
    }

    /// The remedy.
    fn instead(self, order: Order) -> String {
        match (self, order) {
            (Self::Load | Self::Failure, Order::AcqRel) => "write `acquire`".into(),
            (Self::Store, Order::AcqRel) => "write `release`".into(),
            (Self::Fence, _) => format!("leave it out, or choose {}", list(self.orders())),
            _ => format!("choose {}", list(self.orders())),
        }
    }
}

/// ``one of `relaxed`, `acquire` and `seq_cst` ``
fn list(orders: &[Order]) -> String {
    let names: Vec<String> = orders.iter().map(|order| format!("`{order}`")).collect();
    let (last, others) = names.split_last().expect("there are orderings");
    format!("one of {} and {last}", others.join(", "))
}

/// How the orderings of other languages are written here.
fn translated(name: &str) -> Option<Order> {
    let short = name.strip_prefix("memory_order_").unwrap_or(name);
    let plain = short.replace('_', "").to_lowercase();
    let same = |order: &Order| order.name().replace('_', "") == plain;
    Order::ALL.into_iter().find(same).or(match plain.as_str() {
        "consume" => Some(Order::Acquire),
        "sc" => Some(Order::SeqCst),
        _ => None,
    })
}

impl<'a> Checker<'a> {
    /// Splits the arguments of an atomic operation: the values, of which it takes that many, and its orderings.
    pub(super) fn atomic_arguments(
        &mut self,
        call: &Call<'a>,
        kind: OperationKind,
        values: usize,
    ) -> Option<(&'a [ast::Expr], Orders)> {
        let uses: &[Use] = match kind {
            OperationKind::AtomicLoad => &[Use::Load],
            OperationKind::AtomicStore => &[Use::Store],
            OperationKind::Cas => &[Use::Update, Use::Failure],
            OperationKind::Fence => &[Use::Fence],
            _ => &[Use::Update],
        };
        let found = call.arguments.len();
        let name = &call.name.text;
        if kind == OperationKind::Fence && found != 1 {
            self.report(
                Diagnostic::error(call.span, format!("`{name}` takes an ordering"))
                    .help(format!("choose {}", list(Use::Fence.orders()))),
            );
            return None;
        }
        if found < values {
            self.arity(call, values)?;
        }
        if found > values + uses.len() {
            let orderings = match uses {
                [_] => "an ordering",
                _ => "up to 2 orderings",
            };
            self.report(Diagnostic::error(
                call.span,
                format!(
                    "`{name}` takes {} and {orderings}, not {found} in all",
                    count(values, "argument"),
                ),
            ));
            return None;
        }
        let (values, orderings) = call.arguments.split_at(values);
        let mut said = uses.iter().zip(orderings);
        let mut next = || {
            let (&purpose, argument) = said.next()?;
            Some(self.order(name, argument, purpose))
        };
        let (order, failure) = (next(), next());
        let order = order.unwrap_or(Some(Order::SeqCst))?;
        // As C++ has it: what is left of the ordering if nothing is stored.
        let failure = failure.unwrap_or_else(|| Some(order.without_release()))?;
        let failure = match kind {
            OperationKind::Cas => failure,
            _ => Order::SeqCst,
        };
        Some((values, Orders { order, failure }))
    }

    /// The ordering that an argument names.
    fn order(&mut self, operation: &str, argument: &ast::Expr, purpose: Use) -> Option<Order> {
        let ast::ExprKind::Name(name) = &argument.kind else {
            let known = list(purpose.orders());
            self.report(
                Diagnostic::error(argument.span, "an ordering is expected here")
                    .label("this is a value")
                    .help(format!("choose {known}, or leave it out for `seq_cst`")),
            );
            return None;
        };
        let Some(order) = Order::named(name) else {
            let near = || nearest(name, Order::ALL.iter().map(|order| order.name()));
            let meant = translated(name).map(Order::name).or_else(near);
            let help = match meant {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("choose {}", list(purpose.orders())),
            };
            let message = format!("`{name}` is not an ordering");
            self.report(Diagnostic::error(argument.span, message).help(help));
            return None;
        };
        if !purpose.orders().contains(&order) {
            let of = match purpose {
                Use::Failure => "the failure of `cas`".to_owned(),
                _ => format!("`{operation}`"),
            };
            self.report(
                Diagnostic::error(argument.span, format!("{of} cannot be `{order}`"))
                    .label(purpose.reason(order))
                    .help(purpose.instead(order)),
            );
            return None;
        }
        Some(order)
    }
}
