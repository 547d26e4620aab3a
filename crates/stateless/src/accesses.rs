//! Footprints as accesses.

use raddle_explore::{Access, AccessKind, SyncOp};
use raddle_schedule::{LocationId, Mode, ValuedAccess};

/// How an access of a system is made.
pub(super) fn access_of(access: &Access, location: LocationId) -> ValuedAccess {
    let (mode, before, after) = match access.kind {
        _ if !access.writes => (Mode::Read, 0, 0),
        // Readers come and go in any order. Whether one comes or goes is told by the sign.
        AccessKind::Sync(SyncOp::AcquireShared | SyncOp::TryShared) => (Mode::Shared, 0, 1),
        AccessKind::Sync(SyncOp::ReleaseShared) => (Mode::Shared, 1, 0),
        _ => (Mode::Write, 0, 0),
    };
    ValuedAccess {
        location,
        mode,
        before,
        after,
    }
}

/// Adds an access to those of a step, so that each location is there once, in a way that conflicts with all
/// that one of them conflicts with.
pub(super) fn add(accesses: &mut Vec<ValuedAccess>, new: ValuedAccess) {
    let same = accesses
        .iter_mut()
        .find(|access| access.location == new.location);
    match same {
        None => accesses.push(new),
        Some(old) if *old == new => {}
        Some(old) => {
            *old = ValuedAccess {
                mode: Mode::Write,
                before: 0,
                after: 0,
                ..new
            }
        }
    }
}

/// Whether the order of two steps that touch this matters.
pub(super) fn conflict(one: &[ValuedAccess], other: &[ValuedAccess]) -> bool {
    one.iter().any(|mine| {
        other
            .iter()
            .any(|theirs| mine.location == theirs.location && mine.mode.conflicts_with(theirs.mode))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_touched_twice_conflicts_with_everything_that_either_touch_does() {
        let touch = |mode, before, after| ValuedAccess {
            location: LocationId(3),
            mode,
            before,
            after,
        };
        let read = touch(Mode::Read, 0, 0);
        let enter = touch(Mode::Shared, 0, 1);
        let leave = touch(Mode::Shared, 1, 0);
        let write = touch(Mode::Write, 0, 0);
        for (one, other, both) in [
            (read, read, read),
            (enter, enter, enter),
            (enter, leave, write),
            (read, enter, write),
            (write, read, write),
        ] {
            let mut accesses = Vec::new();
            add(&mut accesses, one);
            add(&mut accesses, other);
            assert_eq!(accesses, [both]);
        }
    }
}
