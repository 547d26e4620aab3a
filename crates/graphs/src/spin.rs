//! Iterations of loops that wait.
//!
//! An iteration is *pure* if the thread is in the same local state after it as before, and it has left all locations as they were: it has only read, written what
//! it had read, passed fences, or taken locks and given them back. After the first pure iteration the thread is blocked.
//!
//! *Claim.* No failure, and no way to leave the loop, is lost. *Why.* Leave a pure iteration out of an execution: whoever read a write of it reads what that write had
//! read, and whoever took a lock after it takes it after what the iteration did. All relations only become smaller, so the graph is still consistent, and the thread is in the same
//! state. So whatever the thread does after some pure iterations, it does after none. *What would break it:* a local state that is not the whole one. Here it is: everything that
//! a thread does depends on the words of its part of the state, and on what it reads.
//!
//! A loop that counts is in another state after each iteration, so all of its iterations are explored.

use raddle_memory::Location;

/// What an event means for the iteration that it is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It leaves everything as it is.
    Looks,
    /// Takes a lock.
    Locks(Location),
    /// Gives it back.
    Unlocks(Location),
    /// A choice: the thread could have left the loop by another one.
    Chooses,
    /// Something else.
    Changes,
}

/// An event, and the local state before it.
#[derive(Clone, Debug)]
pub(crate) struct Past {
    pub(crate) local: Vec<i64>,
    pub(crate) role: Role,
}

/// A pure iteration that has just ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Iteration {
    /// Its first event.
    pub(crate) since: usize,
    /// Whether there is a choice in it. Then the thread could do otherwise, so it does not hang.
    pub(crate) chooses: bool,
}

/// The shortest pure iteration that ends with the last event, if there is one.
pub(crate) fn iteration(past: &[Past], local: &[i64]) -> Option<Iteration> {
    let changes = |past: &&Past| past.role != Role::Changes;
    let still = past.iter().rev().take_while(changes).count();
    let first = past.len() - still;
    let since = (first..past.len())
        .rev()
        .find(|&since| past[since].local == local && gives_back(&past[since..]))?;
    let chooses = past[since..].iter().any(|one| one.role == Role::Chooses);
    Some(Iteration { since, chooses })
}

/// Whether all locks are given back that are taken, and no others.
fn gives_back(past: &[Past]) -> bool {
    let mut held: Vec<Location> = Vec::new();
    for one in past {
        match one.role {
            Role::Locks(lock) => held.push(lock),
            Role::Unlocks(lock) => match held.iter().position(|held| *held == lock) {
                Some(at) => {
                    held.swap_remove(at);
                }
                None => return false,
            },
            _ => {}
        }
    }
    held.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past(events: &[(i64, Role)]) -> Vec<Past> {
        let past = |&(local, role): &(i64, Role)| Past {
            local: vec![local],
            role,
        };
        events.iter().map(past).collect()
    }

    #[test]
    fn an_iteration_ends_where_it_began_and_changes_nothing() {
        let since = |events: &[(i64, Role)], local| {
            iteration(&past(events), &[local]).map(|found| found.since)
        };
        let lock = Location(3);
        assert_eq!(since(&[(1, Role::Changes), (2, Role::Looks)], 2), Some(1));
        assert_eq!(since(&[(1, Role::Looks), (2, Role::Looks)], 1), Some(0));
        assert_eq!(since(&[(1, Role::Looks), (2, Role::Changes)], 1), None);
        assert_eq!(since(&[(1, Role::Looks)], 2), None);
        let section = [(1, Role::Locks(lock)), (2, Role::Unlocks(lock))];
        assert_eq!(since(&section, 1), Some(0));
        assert_eq!(since(&section[..1], 1), None);
        assert_eq!(since(&[section[1], section[0]], 2), None);
    }
}
