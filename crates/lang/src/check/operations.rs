//! The built-in operations: synchronisation and atomics.

use super::Checker;
use super::constants::int_type;
use super::expressions::count;
use super::types::error;
use crate::ast;
use crate::diagnostic::Diagnostic;
use crate::hir::{Expr, ExprKind, Operation, OperationKind, Orders, Place, PlaceBase, Type};
use crate::span::Span;

/// The names of all operations; a program cannot declare them again.
pub(super) const NAMES: &[&str] = &[
    "lock",
    "acquire",
    "acq",
    "unlock",
    "release",
    "rel",
    "try_lock",
    "read_lock",
    "write_lock",
    "try_read_lock",
    "try_write_lock",
    "wait",
    "notify",
    "signal",
    "notify_all",
    "broadcast",
    "down",
    "up",
    "try_down",
    "send",
    "recv",
    "try_send",
    "try_recv",
    "len",
    "cas",
    "fetch_add",
    "swap",
    "load",
    "store",
    "fence",
    "join",
    "free",
];

/// A call of an operation, as far as it has been checked.
pub(super) struct Call<'a> {
    pub(super) name: &'a ast::Name,
    pub(super) arguments: &'a [ast::Expr],
    pub(super) span: Span,
}

impl<'a> Checker<'a> {
    /// The operation of that name, if it is one.
    pub(super) fn operation(
        &mut self,
        name: &'a ast::Name,
        arguments: &'a [ast::Expr],
        span: Span,
    ) -> Option<Expr> {
        if !NAMES.contains(&name.text.as_str()) {
            return None;
        }
        let call = Call {
            name,
            arguments,
            span,
        };
        let checked = match self.effect_allowed(span, &format!("`{}`", name.text)) {
            true => self.checked_operation(&call),
            false => None,
        };
        Some(checked.map_or_else(
            || error(span),
            |(operation, ty)| Expr {
                kind: ExprKind::Operation(Box::new(operation)),
                ty,
                span,
            },
        ))
    }

    fn checked_operation(&mut self, call: &Call<'a>) -> Option<(Operation, Type)> {
        use OperationKind as Op;
        match call.name.text.as_str() {
            "lock" | "acquire" | "acq" => self.on_mutex(call, Op::Lock, Type::Void),
            "unlock" | "release" | "rel" => {
                let object = self.only_object(call)?;
                let kind = match object.ty {
                    Type::Mutex { .. } => Op::Unlock,
                    Type::RwLock => Op::UnlockRw,
                    _ => return self.wrong_object(call, &object, "a `mutex` or an `rwlock`"),
                };
                simple(kind, object, Type::Void)
            }
            "try_lock" => self.on_mutex(call, Op::TryLock, Type::Bool),
            "read_lock" => self.on(call, Op::ReadLock, &Type::RwLock, Type::Void),
            "write_lock" => self.on(call, Op::WriteLock, &Type::RwLock, Type::Void),
            "try_read_lock" => self.on(call, Op::TryReadLock, &Type::RwLock, Type::Bool),
            "try_write_lock" => self.on(call, Op::TryWriteLock, &Type::RwLock, Type::Bool),
            "wait" => self.wait(call),
            "notify" | "signal" => self.notify(call, Op::Notify),
            "notify_all" | "broadcast" => self.notify(call, Op::NotifyAll),
            "down" => self.on(call, Op::Down, &Type::Semaphore, Type::Void),
            "up" => self.on(call, Op::Up, &Type::Semaphore, Type::Void),
            "try_down" => self.on(call, Op::TryDown, &Type::Semaphore, Type::Bool),
            "send" => self.send(call, Op::Send, Type::Void),
            "try_send" => self.send(call, Op::TrySend, Type::Bool),
            "recv" => self.recv(call, Op::Recv),
            "try_recv" => self.recv(call, Op::TryRecv),
            "len" => {
                let object = self.only_object(call)?;
                match object.ty {
                    Type::Channel(..) => simple(Op::Len, object, Type::INT),
                    _ => self.wrong_object(call, &object, "a channel"),
                }
            }
            "cas" => self.atomic(call, Op::Cas),
            "fetch_add" => self.atomic(call, Op::FetchAdd),
            "swap" => self.atomic(call, Op::Swap),
            "load" => self.atomic(call, Op::AtomicLoad),
            "store" => self.atomic(call, Op::AtomicStore),
            "fence" => {
                let (_, orders) = self.atomic_arguments(call, Op::Fence, 0)?;
                let fence = with(Op::Fence, Vec::new(), Vec::new());
                Some((Operation { orders, ..fence }, Type::Void))
            }
            "join" => {
                self.arity(call, 1)?;
                let handle = self.expr(&call.arguments[0]);
                if handle.ty.is_integer() {
                    self.report(
                        Diagnostic::error(handle.span, "`join` waits for a thread")
                            .label("this is a number")
                            .help("keep what `spawn` gives: `thread t = spawn f();`"),
                    );
                    return None;
                }
                let handle = self.convert(handle, &Type::Thread);
                Some((with(Op::Join, Vec::new(), vec![handle]), Type::Void))
            }
            "free" => {
                self.arity(call, 1)?;
                let reference = self.expr(&call.arguments[0]);
                if !matches!(reference.ty, Type::Pointer(_) | Type::Error) {
                    let name = self.a_type(&reference.ty);
                    self.report(
                        Diagnostic::error(reference.span, "`free` takes a reference")
                            .label(format!("this is {name}")),
                    );
                    return None;
                }
                Some((with(Op::Free, Vec::new(), vec![reference]), Type::Void))
            }
            name => unreachable!("`{name}` is listed as an operation"),
        }
    }

    pub(super) fn arity(&mut self, call: &Call<'a>, expected: usize) -> Option<()> {
        if call.arguments.len() == expected {
            return Some(());
        }
        self.report(Diagnostic::error(
            call.span,
            format!(
                "`{}` takes {}, not {}",
                call.name.text,
                count(expected, "argument"),
                call.arguments.len()
            ),
        ));
        None
    }

    fn only_object(&mut self, call: &Call<'a>) -> Option<Place> {
        self.arity(call, 1)?;
        self.place(&call.arguments[0])
    }

    fn wrong_object<T>(&mut self, call: &Call<'a>, object: &Place, wanted: &str) -> Option<T> {
        let name = self.a_type(&object.ty);
        let mut diagnostic =
            Diagnostic::error(object.span, format!("`{}` needs {wanted}", call.name.text))
                .label(format!("this is {name}"));
        match (&object.ty, call.name.text.as_str()) {
            (Type::Pointer(to), _) if to.is_synchronisation() => {
                diagnostic =
                    diagnostic.help("name what the reference refers to: write `*` before it");
            }
            (Type::RwLock, "lock" | "acquire" | "acq" | "try_lock") => {
                diagnostic = diagnostic.help("an `rwlock` is taken by `read_lock` or `write_lock`");
            }
            (Type::Semaphore, _) => {
                diagnostic = diagnostic.help("a semaphore has `down`, `up` and `try_down`");
            }
            (Type::Cond, _) => {
                diagnostic =
                    diagnostic.help("a condition variable has `wait`, `notify` and `notify_all`");
            }
            _ => {}
        }
        self.report(diagnostic);
        None
    }

    fn on(
        &mut self,
        call: &Call<'a>,
        kind: OperationKind,
        wanted: &Type,
        result: Type,
    ) -> Option<(Operation, Type)> {
        let object = self.only_object(call)?;
        if object.ty != *wanted {
            let name = self.a_type(wanted);
            return self.wrong_object(call, &object, &name);
        }
        simple(kind, object, result)
    }

    fn on_mutex(
        &mut self,
        call: &Call<'a>,
        kind: OperationKind,
        result: Type,
    ) -> Option<(Operation, Type)> {
        let object = self.only_object(call)?;
        match object.ty {
            Type::Mutex { .. } => simple(kind, object, result),
            _ => self.wrong_object(call, &object, "a `mutex`"),
        }
    }

    fn wait(&mut self, call: &Call<'a>) -> Option<(Operation, Type)> {
        if call.arguments.len() == 1 {
            let object = self.place(&call.arguments[0])?;
            return match object.ty {
                Type::Mutex { .. } => {
                    let places = vec![object.clone(), object];
                    Some((with(OperationKind::Wait, places, Vec::new()), Type::Void))
                }
                Type::Cond => {
                    self.report(
                        Diagnostic::error(call.span, "which mutex is given up while waiting?")
                            .help("write `wait(c, m)`, with the mutex that protects what is waited for"),
                    );
                    None
                }
                _ => self.wrong_object(call, &object, "a `cond` and a `mutex`, or a `mutex`"),
            };
        }
        self.arity(call, 2)?;
        let condition = self.place(&call.arguments[0]);
        let mutex = self.place(&call.arguments[1]);
        let (condition, mutex) = (condition?, mutex?);
        if condition.ty != Type::Cond {
            return self.wrong_object(call, &condition, "a `cond` first");
        }
        if !matches!(mutex.ty, Type::Mutex { .. }) {
            return self.wrong_object(call, &mutex, "a `mutex` second");
        }
        let places = vec![condition, mutex];
        Some((with(OperationKind::Wait, places, Vec::new()), Type::Void))
    }

    fn notify(&mut self, call: &Call<'a>, kind: OperationKind) -> Option<(Operation, Type)> {
        let object = self.only_object(call)?;
        match object.ty {
            Type::Cond | Type::Mutex { .. } => simple(kind, object, Type::Void),
            _ => self.wrong_object(call, &object, "a `cond` or a `mutex`"),
        }
    }

    /// The channel of a call and the types of its messages.
    fn channel(&mut self, call: &Call<'a>) -> Option<(Place, Vec<Type>, u32)> {
        let Some(first) = call.arguments.first() else {
            self.report(Diagnostic::error(
                call.span,
                format!("`{}` needs a channel", call.name.text),
            ));
            return None;
        };
        let object = self.place(first)?;
        match object.ty.clone() {
            Type::Channel(message, capacity) => Some((object, message, capacity)),
            _ => self.wrong_object(call, &object, "a channel"),
        }
    }

    fn message_arity(&mut self, call: &Call<'a>, message: &[Type]) -> Option<()> {
        let found = call.arguments.len() - 1;
        if found == message.len() {
            return Some(());
        }
        self.report(Diagnostic::error(
            call.span,
            format!(
                "a message of this channel has {}, not {found}",
                count(message.len(), "value")
            ),
        ));
        None
    }

    fn send(
        &mut self,
        call: &Call<'a>,
        kind: OperationKind,
        result: Type,
    ) -> Option<(Operation, Type)> {
        let (object, message, capacity) = self.channel(call)?;
        self.message_arity(call, &message)?;
        if kind == OperationKind::TrySend && capacity == 0 {
            self.report(
                Diagnostic::error(
                    call.span,
                    "`try_send` needs a channel with room for a message",
                )
                .label("this channel is a rendezvous")
                .help("give the channel a capacity, such as `chan<int, 1>`"),
            );
            return None;
        }
        let values = call.arguments[1..]
            .iter()
            .zip(&message)
            .map(|(argument, ty)| {
                let value = self.expr(argument);
                self.convert(value, ty)
            })
            .collect();
        Some((with(kind, vec![object], values), result))
    }

    fn recv(&mut self, call: &Call<'a>, kind: OperationKind) -> Option<(Operation, Type)> {
        let (object, message, _) = self.channel(call)?;
        if call.arguments.len() == 1 && kind == OperationKind::Recv {
            if let [only] = message.as_slice() {
                let result = only.clone();
                return Some((with(kind, vec![object], Vec::new()), result));
            }
            self.report(
                Diagnostic::error(
                    call.span,
                    format!(
                        "a message of this channel has {}",
                        count(message.len(), "value")
                    ),
                )
                .help("name a local variable for each: `recv(c, x, y);`"),
            );
            return None;
        }
        self.message_arity(call, &message)?;
        let mut targets = Vec::new();
        for (argument, ty) in call.arguments[1..].iter().zip(&message) {
            let target = self.place(argument)?;
            if !matches!(target.base, PlaceBase::Local(_)) {
                self.report(
                    Diagnostic::error(target.span, "a message is received into local variables")
                        .label("this is shared")
                        .help("receive into a local variable first, then store it"),
                );
                return None;
            }
            if target.ty != *ty && !(target.ty.is_integer() && ty.is_integer()) {
                let (found, wanted) = (self.a_type(&target.ty), self.a_type(ty));
                self.report(
                    Diagnostic::error(target.span, "the types do not match").label(format!(
                        "the message has {wanted} here, this variable is {found}"
                    )),
                );
                return None;
            }
            targets.push(target);
        }
        let mut operation = with(kind, vec![object], Vec::new());
        operation.targets = targets;
        let result = if kind == OperationKind::Recv {
            Type::Void
        } else {
            Type::Bool
        };
        Some((operation, result))
    }

    fn atomic(&mut self, call: &Call<'a>, kind: OperationKind) -> Option<(Operation, Type)> {
        let values = match kind {
            OperationKind::Cas => 2,
            OperationKind::AtomicLoad => 0,
            _ => 1,
        };
        let (arguments, orders) = self.atomic_arguments(call, kind, values + 1)?;
        if let ast::ExprKind::AddressOf(_) = arguments[0].kind {
            self.report(
                Diagnostic::error(
                    arguments[0].span,
                    format!("`{}` takes the variable itself", call.name.text),
                )
                .label("this is a reference to it")
                .help("leave out the `&`"),
            );
            return None;
        }
        let object = self.place(&arguments[0])?;
        if let PlaceBase::Local(_) = object.base {
            self.report(
                Diagnostic::error(object.span, "a local variable needs no atomic operation")
                    .label("no other thread can see it"),
            );
            return None;
        }
        if !object.ty.is_scalar() {
            return self.wrong_object(call, &object, "a single value");
        }
        if kind == OperationKind::FetchAdd && !object.ty.is_integer() {
            return self.wrong_object(call, &object, "an integer");
        }
        let ty = object.ty.clone();
        let values = arguments[1..]
            .iter()
            .enumerate()
            .map(|(position, argument)| {
                let value = self.expr(argument);
                match kind {
                    // An increment may be negative whatever the type of the variable.
                    OperationKind::FetchAdd => self.integer(value, "what is added"),
                    // What is only compared need not fit into the variable.
                    OperationKind::Cas if position == 0 && ty.is_integer() => {
                        self.convert(value, &Type::Int(int_type(&ty)))
                    }
                    _ => self.convert(value, &ty),
                }
            })
            .collect();
        let result = match kind {
            OperationKind::Cas => Type::Bool,
            OperationKind::AtomicStore => Type::Void,
            _ => ty,
        };
        let operation = with(kind, vec![object], values);
        Some((
            Operation {
                orders,
                ..operation
            },
            result,
        ))
    }
}

fn with(kind: OperationKind, places: Vec<Place>, arguments: Vec<Expr>) -> Operation {
    Operation {
        kind,
        places,
        arguments,
        targets: Vec::new(),
        orders: Orders::default(),
    }
}

fn simple(kind: OperationKind, object: Place, result: Type) -> Option<(Operation, Type)> {
    Some((with(kind, vec![object], Vec::new()), result))
}
