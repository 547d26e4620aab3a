//! Synchronisation and atomic operations.

use raddle_lang::ast::BinaryOp;
use raddle_lang::check::constants::int_type;
use raddle_lang::hir::{Operation, OperationKind, Orders, Place, Type};

use super::Compiler;
use super::places::Used;
use crate::op::{ChannelShape, LockKind, Op, Reg};
use crate::orders::Ordering;

impl Compiler<'_> {
    /// The next instruction has the orderings of an operation.
    fn order(&mut self, orders: Orders) {
        if orders.are_weaker() {
            let pc = self.pc();
            self.orders.push((pc, Ordering::Access(orders)));
        }
    }

    /// An operation; its result, if it has one, is in a temporary.
    pub(super) fn operation(&mut self, operation: &Operation) -> Reg {
        use OperationKind as Kind;
        let mark = self.frame.height;
        let place = operation.places.first();
        let object = place.map(|place| self.reference(place, mark));
        let object_of = || object.expect("the operation has an object");
        let place_of = || place.expect("the operation has an object");
        match operation.kind {
            Kind::Join => {
                let thread = self.value(&operation.arguments[0]);
                self.no_result(mark, Op::Join { thread })
            }
            Kind::Free => {
                let reference = self.value(&operation.arguments[0]);
                self.no_result(mark, Op::Free { reference })
            }
            Kind::Lock => {
                let (mutex, kind) = (object_of(), lock_kind(place_of()));
                self.no_result(mark, Op::Lock { mutex, kind })
            }
            Kind::Unlock => {
                let (mutex, kind) = (object_of(), lock_kind(place_of()));
                self.no_result(mark, Op::Unlock { mutex, kind })
            }
            Kind::TryLock => {
                let (mutex, kind) = (object_of(), lock_kind(place_of()));
                self.result(mark, |to| Op::TryLock { to, mutex, kind })
            }
            Kind::ReadLock => self.no_result(mark, Op::ReadLock { lock: object_of() }),
            Kind::WriteLock => self.no_result(mark, Op::WriteLock { lock: object_of() }),
            Kind::UnlockRw => self.no_result(mark, Op::UnlockRw { lock: object_of() }),
            Kind::TryReadLock => {
                let lock = object_of();
                self.result(mark, |to| Op::TryReadLock { to, lock })
            }
            Kind::TryWriteLock => {
                let lock = object_of();
                self.result(mark, |to| Op::TryWriteLock { to, lock })
            }
            Kind::Wait => self.wait(operation, object_of(), mark),
            Kind::Notify | Kind::NotifyAll => {
                let notify = Op::Notify {
                    object: object_of(),
                    all: operation.kind == Kind::NotifyAll,
                    monitor: place_of().ty != Type::Cond,
                };
                self.no_result(mark, notify)
            }
            Kind::Down => self.no_result(
                mark,
                Op::Down {
                    semaphore: object_of(),
                },
            ),
            Kind::Up => self.no_result(
                mark,
                Op::Up {
                    semaphore: object_of(),
                },
            ),
            Kind::TryDown => {
                let semaphore = object_of();
                self.result(mark, |to| Op::TryDown { to, semaphore })
            }
            Kind::Send | Kind::TrySend => self.send(operation, object_of(), mark),
            Kind::Recv | Kind::TryRecv => self.receive(operation, object_of(), mark),
            Kind::Len => {
                let (channel, shape) = (object_of(), self.shape(place_of()));
                self.result(mark, |to| Op::Len { to, channel, shape })
            }
            Kind::Cas => {
                let reference = object_of();
                let expected = self.consecutive(&operation.arguments);
                self.order(operation.orders);
                self.result(mark, |to| Op::Cas {
                    to,
                    reference,
                    expected,
                })
            }
            Kind::FetchAdd => {
                let reference = object_of();
                let operand = self.value(&operation.arguments[0]);
                let (op, int) = (BinaryOp::Add, int_type(&place_of().ty));
                let fit = self.fit(&Type::Int(int), &place_of().ty);
                self.order(operation.orders);
                self.result(mark, |to| Op::Update {
                    op,
                    int,
                    to,
                    reference,
                    operand,
                    fit,
                })
            }
            Kind::Swap => {
                let reference = object_of();
                let from = self.value(&operation.arguments[0]);
                self.order(operation.orders);
                self.result(mark, |to| Op::Swap {
                    to,
                    reference,
                    from,
                })
            }
            Kind::AtomicLoad => {
                let reference = object_of();
                self.order(operation.orders);
                self.result(mark, |to| Op::AtomicLoad { to, reference })
            }
            Kind::AtomicStore => {
                let reference = object_of();
                let from = self.value(&operation.arguments[0]);
                self.order(operation.orders);
                self.no_result(mark, Op::AtomicStore { reference, from })
            }
            Kind::Fence => {
                // Without weak orderings a fence does nothing. It is a step, so that others see where it is.
                let fence = Ordering::Fence(operation.orders.order);
                self.orders.push((self.pc(), fence));
                self.no_result(mark, Op::Yield)
            }
        }
    }

    fn no_result(&mut self, mark: u32, op: Op) -> Reg {
        self.consume(mark, op);
        // Nobody looks at the value of an operation that has none.
        0
    }

    fn wait(&mut self, operation: &Operation, object: Reg, mark: u32) -> Reg {
        let kind = lock_kind(&operation.places[1]);
        // `wait(m)` names the mutex once: computing it again could read shared memory.
        let java = operation.places[0].ty != Type::Cond;
        let mutex = if java {
            object
        } else {
            let above = self.frame.height;
            self.reference(&operation.places[1], above)
        };
        let height = self.frame.height;
        let saved = self.temp();
        self.emit_at(
            height,
            Op::Wait {
                object,
                mutex,
                saved,
                kind,
            },
        );
        self.no_result(
            mark,
            Op::Resume {
                object,
                mutex,
                saved,
                kind,
            },
        )
    }

    fn send(&mut self, operation: &Operation, channel: Reg, mark: u32) -> Reg {
        let shape = self.shape(&operation.places[0]);
        let before = self.frame.height;
        let values = self.consecutive(&operation.arguments);
        if operation.kind == OperationKind::TrySend {
            return self.result(mark, |to| Op::TrySend {
                to,
                channel,
                values,
                shape,
            });
        }
        self.consume(
            before,
            Op::Send {
                channel,
                values,
                shape,
            },
        );
        if self.shapes[shape as usize].capacity == 0 {
            self.emit(Op::Handoff { channel });
        }
        self.frame.height = mark;
        0
    }

    /// The values are received into temporaries, and from there into the variables.
    fn receive(&mut self, operation: &Operation, channel: Reg, mark: u32) -> Reg {
        let shape = self.shape(&operation.places[0]);
        let count = u32::from(self.shapes[shape as usize].values);
        if operation.targets.is_empty() {
            return self.result(mark, |to| Op::Recv { channel, to, shape });
        }
        let message_types = match &operation.places[0].ty {
            Type::Channel(types, _) => types.clone(),
            _ => unreachable!("checked to be a channel"),
        };
        // Only the channel is alive before the operation.
        let height = self.frame.height;
        self.frame.height = mark;
        let success = self.temp();
        let first = self.frame.height;
        for _ in 0..count {
            self.temp();
        }
        let values = self.narrow(first);
        let attempt = operation.kind == OperationKind::TryRecv;
        self.emit_at(
            height,
            if attempt {
                Op::TryRecv {
                    to: success,
                    channel,
                    values,
                    shape,
                }
            } else {
                Op::Recv {
                    channel,
                    to: values,
                    shape,
                }
            },
        );
        let failed = attempt.then(|| {
            self.emit(Op::JumpUnless {
                reg: success,
                to: 0,
            })
        });
        for (index, (target, from)) in operation.targets.iter().zip(&message_types).enumerate() {
            let reg = values + index as Reg;
            let fit = self.fit(from, &target.ty);
            self.emit_fit(reg, fit);
            let target = self.place(target, Used::AtOnce);
            self.store(&target, reg);
            self.frame.height = first + count;
        }
        self.frame.height = mark + 1;
        self.join(failed);
        success
    }

    fn shape(&mut self, channel: &Place) -> u16 {
        let Type::Channel(message, capacity) = &channel.ty else {
            unreachable!("checked to be a channel");
        };
        let shape = ChannelShape {
            values: message.len() as u16,
            capacity: *capacity as u16,
        };
        let known = self.shapes.iter().position(|known| *known == shape);
        let index = known.unwrap_or_else(|| {
            self.shapes.push(shape);
            self.shapes.len() - 1
        });
        self.narrow(index as u32)
    }
}

fn lock_kind(mutex: &Place) -> LockKind {
    match mutex.ty {
        Type::Mutex { reentrant: true } => LockKind::Reentrant,
        _ => LockKind::Plain,
    }
}
