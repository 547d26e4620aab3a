//! Small programs over everything.

use crate::compare::{Effort, compare};
use crate::program::Op::*;
use crate::program::Program;

const EFFORT: Effort = Effort {
    naive: 3000,
    reduced: 3000,
    states: 1_000_000,
};

fn check<const N: usize>(programs: [Program; N]) {
    for program in programs {
        for stable in [true, false] {
            let program = Program {
                stable,
                ..program.clone()
            };
            match compare(&program, EFFORT) {
                Ok(compared) => assert!(compared.any, "{program:?} is too large"),
                Err(difference) => panic!("{program:?}\n{difference}"),
            }
        }
    }
}

#[test]
fn atomics() {
    check([
        // Message passing, store buffering, load buffering.
        Program::new([&[Load(1), Load(0)], &[Store(0, 1), Store(1, 1)]]),
        Program::new([&[Store(0, 1), Load(1)], &[Store(1, 1), Load(0)]]),
        Program::new([&[Load(0), Store(1, 1)], &[Load(1), Store(0, 1)]]),
        // Coherence.
        Program::new([
            &[],
            &[Store(0, 1), Store(0, 2)],
            &[Load(0), Load(0), Load(0)],
        ]),
        // Independent reads of independent writes.
        Program::new([
            &[],
            &[Store(0, 1)],
            &[Store(1, 1)],
            &[Load(0), Load(1)],
            &[Load(1), Load(0)],
        ]),
        // Three operations each.
        Program::new([
            &[Load(0), Load(1), Store(0, 1)],
            &[Load(1), Load(0), Store(1, 2)],
        ]),
        Program::new([
            &[],
            &[Load(0), Store(1, 1), Load(0)],
            &[Load(1), Store(0, 1), Load(1)],
        ]),
        Program::new([&[], &[Add(0, 1), Add(0, 1)], &[Add(0, 1), Load(0)]]),
        Program::new([
            &[],
            &[Cas(0, 0, 1), Load(0)],
            &[Cas(0, 0, 2), Cas(0, 1, 3)],
            &[Cas(0, 2, 4)],
        ]),
        Program::new([&[CasWeak(0, 0, 1)], &[CasWeak(0, 0, 2), CasWeak(0, 1, 3)]]).weak(),
        Program::new([&[], &[Update(0)], &[Update(0)], &[Update(0)]]),
        Program::new([&[], &[Swap(0, 1), Max(0, 2)], &[Swap(0, 3), Load(0)]]),
        Program::new([&[Choose(3)], &[Choose(2), Store(0, 1)], &[Load(0)]]),
    ]);
}

#[test]
fn spinning() {
    check([
        Program::new([&[], &[Await(0, 1), Load(1)], &[Store(1, 1), Store(0, 1)]]),
        Program::new([
            &[],
            &[Await(0, 1), Store(1, 1)],
            &[Store(0, 1), Await(1, 1)],
        ]),
        Program::new([
            &[],
            &[Await(0, 1)],
            &[Await(0, 1)],
            &[Store(0, 1), Store(0, 2)],
        ]),
        Program::new([&[], &[Await(0, 1)], &[Await(1, 1), Store(0, 1)], &[Load(0)]]),
    ]);
}

#[test]
fn giving_up() {
    check([
        Program::new([&[Poll(0, 1, 3), Load(1)], &[Store(1, 1), Store(0, 1)]]),
        Program::new([&[Poll(0, 1, 2), Store(1, 1)], &[Poll(1, 1, 3), Store(0, 1)]]),
        // Twice in a row, with something between, with different patience.
        Program::new([
            &[Poll(0, 1, 2), Poll(0, 1, 3), Load(1)],
            &[Add(1, 1), Store(0, 1)],
        ]),
        Program::new([
            &[Poll(0, 1, 2), Store(2, 1), Poll(0, 1, 3), Load(1)],
            &[Add(1, 1), Store(0, 1)],
        ]),
        Program::new([
            &[],
            &[Poll(0, 1, 2), Poll(1, 1, 2), Load(2)],
            &[Store(2, 1), Store(0, 2), Store(1, 1)],
        ]),
        // One gives up, one does not.
        Program::new([
            &[],
            &[Poll(0, 1, 3), Store(1, 1)],
            &[Await(1, 1), Store(0, 1)],
        ]),
        Program::new([&[], &[Poll(0, 1, 2), Park], &[Store(0, 1), Unpark(1)]]),
        Program::new([&[Poll(0, 1, 2)], &[Await(0, 1)], &[Await(0, 2)]]),
    ]);
}

#[test]
fn mutexes() {
    check([
        Program::new([
            &[],
            &[Lock(0), Set(0, 1), Unlock(0)],
            &[TryLock(0), Set(0, 2), Unlock(0)],
        ]),
        Program::new([
            &[TryLock(0)],
            &[TryLock(0), TryLock(1)],
            &[Lock(1), Lock(0)],
        ]),
        Program::new([&[], &[Lock(0), Lock(1)], &[Lock(1), Lock(0)]]),
        Program::new([&[Lock(0)], &[Lock(0), Set(0, 1), Panic], &[Lock(0)]]),
        Program::new([&[IsPoisoned(0), TryLock(0)], &[Lock(0), Panic]]),
        Program::new([
            &[IsPoisoned(0)],
            &[Lock(0), Panic],
            &[ClearPoison(0), Lock(0)],
        ]),
    ]);
}

#[test]
fn reader_writer_locks() {
    check([
        // Readers overtake writers and are overtaken.
        Program::new([
            &[],
            &[Read(0), UnlockRw(0), Read(0)],
            &[Write(0), SetRw(0, 1)],
            &[Read(0)],
        ]),
        Program::new([
            &[],
            &[Read(0), Store(0, 1), UnlockRw(0)],
            &[Write(0), SetRw(0, 1), UnlockRw(0)],
            &[Read(0), Load(0)],
        ]),
        Program::new([
            &[],
            &[TryWrite(0), SetRw(0, 1)],
            &[Read(0), UnlockRw(0)],
            &[TryRead(0)],
        ]),
        Program::new([
            &[],
            &[Write(0), SetRw(0, 1), Downgrade(0), Load(0)],
            &[Read(0), Store(0, 1)],
            &[TryWrite(0)],
        ]),
        Program::new([&[], &[Write(0), Panic], &[Read(0)], &[TryRead(0)]]),
        Program::new([
            &[],
            &[Read(0), Panic],
            &[Read(0), Write(1)],
            &[Write(1), TryWrite(0)],
        ]),
    ]);
}

#[test]
fn condition_variables() {
    check([
        Program::new([&[NotifyOne(0)], &[Lock(0), Wait(0, 0)]]),
        Program::new([
            &[Lock(0), Set(0, 1), Unlock(0), NotifyOne(0)],
            &[Lock(0), Wait(0, 0)],
        ])
        .spurious(1),
        Program::new([
            &[],
            &[Lock(0), Wait(0, 0)],
            &[Lock(0), Wait(0, 0)],
            &[NotifyOne(0)],
        ]),
        Program::new([
            &[],
            &[Lock(0), Wait(0, 0), Store(0, 1)],
            &[Lock(0), Wait(0, 0), Store(0, 2)],
            &[NotifyOne(0), NotifyOne(0)],
        ]),
        Program::new([
            &[],
            &[Lock(0), Wait(0, 0)],
            &[Lock(0), Wait(0, 0)],
            &[Lock(0), NotifyAll(0)],
        ]),
        Program::new([&[NotifyOne(0)], &[Lock(0), WaitTimeout(0, 0)]]),
        Program::new([
            &[],
            &[Lock(0), WaitTimeout(0, 0)],
            &[Lock(0), Wait(0, 0), NotifyOne(0)],
            &[NotifyOne(0)],
        ]),
        Program::new([
            &[],
            &[Lock(0), WaitTimeout(0, 0)],
            &[Lock(0), Set(0, 1), Panic],
        ]),
    ]);
}

#[test]
fn barriers_and_once() {
    check([
        Program::new([&[], &[Barrier(0), Load(0)], &[Store(0, 1), Barrier(0)]]),
        Program::new([
            &[],
            &[Barrier(0)],
            &[Barrier(0)],
            &[Barrier(0)],
            &[Barrier(0)],
        ]),
        Program::new([&[], &[Barrier(0), Barrier(0)], &[Barrier(0)], &[Barrier(0)]]),
        Program::new([&[Barrier(0)], &[Barrier(0)], &[Barrier(0)]]),
        Program::new([&[], &[GetOrInit(0, 1)], &[GetOrInit(0, 2)], &[GetOnce(0)]]),
        Program::new([&[], &[SetOnce(0, 1)], &[SetOnce(0, 2)], &[WaitOnce(0)]]),
        Program::new([
            &[GetOnce(0)],
            &[SetOnce(0, 1), GetOnce(1)],
            &[GetOrInit(0, 2), SetOnce(1, 3)],
        ]),
    ]);
}

#[test]
fn parking() {
    check([
        Program::new([&[Park, Load(0)], &[Store(0, 1), Unpark(0)]]),
        Program::new([&[Unpark(1), Unpark(1)], &[Park, Park]]),
        Program::new([
            &[Unpark(1)],
            &[ParkTimeout, Load(0)],
            &[Store(0, 1), Unpark(1)],
        ]),
        Program::new([
            &[Unpark(2), ParkTimeout],
            &[Unpark(0)],
            &[Unpark(1), ParkTimeout],
        ]),
        Program::new([
            &[],
            &[ParkTimeout, ParkTimeout, Unpark(0)],
            &[Unpark(0), Unpark(1)],
            &[Unpark(0), Unpark(1)],
        ]),
        Program::new([&[Park], &[Park, Unpark(0)], &[Unpark(1), Unpark(0)]]),
    ]);
}

#[test]
fn channels() {
    check([
        Program::new([&[Recv(0), Recv(0)], &[Send(0, 1)], &[Send(0, 2)]]),
        Program::new([&[TryRecv(0), TryRecv(0)], &[Send(0, 1), Send(0, 2)]]),
        Program::new([&[Recv(0)], &[DropSender(0)], &[Send(0, 1)]]),
        Program::new([&[RecvTimeout(0)], &[Send(0, 1)]]),
        Program::new([&[RecvTimeout(0)], &[DropSender(0), Load(0)], &[Store(0, 1)]]),
        Program::new([&[DropReceiver(0)], &[Send(0, 1), Send(0, 2)]]),
        // One place.
        Program::new([
            &[Recv(0), TryRecv(0)],
            &[Send(0, 1), Send(0, 2)],
            &[TrySend(0, 3)],
        ])
        .bounded(0, 1),
        Program::new([&[], &[Send(0, 1)], &[Send(0, 0), TryRecv(0)]]).bounded(0, 1),
        Program::new([&[DropReceiver(0)], &[Send(0, 1), Send(0, 2)], &[Load(0)]]).bounded(0, 1),
        // Two: what fills it is not what makes room.
        Program::new([&[Send(0, 1)], &[Send(0, 1), Send(0, 0), Recv(0)]]).bounded(0, 2),
        Program::new([&[Send(0, 2), Recv(0)], &[Send(0, 1)], &[Send(0, 0)]]).bounded(0, 2),
        Program::new([&[Send(0, 1)], &[Send(0, 2), RecvTimeout(0)], &[Send(0, 1)]]).bounded(0, 2),
        // None.
        Program::new([&[Recv(0)], &[Send(0, 1), Load(0)], &[Store(0, 1)]]).bounded(0, 0),
        Program::new([&[Recv(0), Recv(0)], &[TrySend(0, 1)], &[Send(0, 2)]]).bounded(0, 0),
        Program::new([
            &[TryRecv(0), DropReceiver(0)],
            &[Send(0, 1)],
            &[TrySend(0, 2)],
        ])
        .bounded(0, 0),
        Program::new([&[RecvTimeout(0)], &[TrySend(0, 1)], &[Send(0, 2)]]).bounded(0, 0),
    ]);
}

#[test]
fn references_and_ends() {
    check([
        Program::new([&[], &[DropArc(0)], &[DropArc(0)], &[Count(0)]]),
        Program::new([&[TryUnwrap(0)], &[DropArc(0)], &[DropArc(0), Upgrade(0)]]),
        Program::new([&[IsFinished(1), Load(0), IsFinished(1)], &[Store(0, 1)]]),
        Program::new([&[IsFinished(1)], &[Panic]]),
        Program::new([&[], &[Send(0, 1), Panic], &[Recv(0), Recv(0)]]),
    ]);
}
