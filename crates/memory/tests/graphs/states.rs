//! All states of a program under sequential consistency, with loops without bound: states repeat. It shares nothing with the exploration of graphs.

use std::collections::{BTreeSet, HashMap};

use raddle_memory::testing::Toy;
use raddle_memory::{Blocked, Effect, Next, Operation};
use raddle_schedule::ThreadId;

/// What the threads have told.
pub(crate) type Told = Vec<Vec<u64>>;

/// What becomes of a program.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcomes {
    /// All threads have ended.
    pub(crate) complete: BTreeSet<Told>,
    /// Some threads will never end, whatever is scheduled: they wait or spin.
    pub(crate) hanging: BTreeSet<Told>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    memory: [u64; 4],
    /// What the operations of each thread have read, and whether they have written. An iteration after which the thread is in the same state is taken back.
    threads: Vec<Vec<(u64, bool)>>,
}

/// The outcomes of a program, or `None` if it has too many states.
pub(crate) fn outcomes(toy: &Toy, threads: usize) -> Option<Outcomes> {
    let first = State {
        memory: [0; 4],
        threads: vec![Vec::new(); threads],
    };
    let mut numbers = HashMap::from([(first.clone(), 0)]);
    let mut states = vec![first];
    let mut successors: Vec<Vec<usize>> = Vec::new();
    let mut told = Vec::new();
    while let Some(state) = states.get(successors.len()).cloned() {
        if states.len() > 100_000 {
            return None;
        }
        let (mut next_states, mut ended, mut seen) = (Vec::new(), true, Vec::new());
        for thread in 0..threads {
            let (next, told) = toy.after(ThreadId(thread as u32), &state.threads[thread]);
            seen.push(told);
            if let Next::Operation(operation) = next {
                ended = false;
                next_states.extend(step(toy, &state, thread, operation));
            }
        }
        let number = |state: State| {
            *numbers.entry(state.clone()).or_insert_with(|| {
                states.push(state);
                states.len() - 1
            })
        };
        successors.push(next_states.into_iter().map(number).collect());
        told.push((ended, seen));
    }
    let mut found = Outcomes::default();
    let is_at_bottom = bottoms(&successors);
    for ((ended, seen), is_at_bottom) in told.into_iter().zip(is_at_bottom) {
        if ended {
            found.complete.insert(seen);
        } else if is_at_bottom {
            found.hanging.insert(seen);
        }
    }
    Some(found)
}

/// The state after an operation, if it need not wait.
fn step(toy: &Toy, state: &State, thread: usize, operation: Operation) -> Option<State> {
    let mut state = state.clone();
    let at = operation.target().and_then(|target| target.location);
    let value = at.map(|location| state.memory[location.index()]);
    let written = match operation {
        Operation::Write { value, .. } => Some(value),
        Operation::Update { update, .. } => match update.effect(value?) {
            Effect::Wait => return None,
            Effect::Read => None,
            Effect::Write(written) => Some(written),
        },
        _ => None,
    };
    if let (Some(location), Some(written)) = (at, written) {
        state.memory[location.index()] = written;
    }
    state.threads[thread].push((value.unwrap_or(0), written.is_some()));
    let (next, _) = toy.after(ThreadId(thread as u32), &state.threads[thread]);
    if let Next::Blocked(Blocked::Spinning { since }) = next {
        state.threads[thread].truncate(since as usize);
    }
    Some(state)
}

/// Which nodes of a graph reach only nodes that reach them.
fn bottoms(successors: &[Vec<usize>]) -> Vec<bool> {
    let count = successors.len();
    let mut predecessors = vec![Vec::new(); count];
    for (node, next) in successors.iter().enumerate() {
        for &next in next {
            predecessors[next].push(node);
        }
    }
    // Strongly connected components by two depth-first searches.
    let mut order = Vec::new();
    let mut is_seen = vec![false; count];
    for root in 0..count {
        let mut stack = vec![(root, 0)];
        while let Some((node, next)) = stack.pop() {
            if next == 0 && std::mem::replace(&mut is_seen[node], true) {
                continue;
            }
            match successors[node].get(next) {
                Some(&successor) => stack.extend([(node, next + 1), (successor, 0)]),
                None => order.push(node),
            }
        }
    }
    let mut component = vec![usize::MAX; count];
    for &root in order.iter().rev() {
        let mut stack = vec![root];
        while let Some(node) = stack.pop() {
            if component[node] == usize::MAX {
                component[node] = root;
                stack.extend(&predecessors[node]);
            }
        }
    }
    let mut is_bottom = vec![true; count];
    for (node, next) in successors.iter().enumerate() {
        if next.iter().any(|&next| component[next] != component[node]) {
            is_bottom[component[node]] = false;
        }
    }
    component
        .into_iter()
        .map(|component| is_bottom[component])
        .collect()
}
