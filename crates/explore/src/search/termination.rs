//! Whether every weakly fair execution ends, and one that does not.
//!
//! An infinite execution is *weakly fair* if each of its threads moves again and again, or cannot
//! move again and again. (A thread that could move from some point on for ever, and never does,
//! was treated unfairly: a real scheduler gets round to it.) An execution does not count if a
//! thread waits in it at an assumption that never holds again, or if a thread has failed: what the
//! others then wait for may be its doing.
//!
//! # How it is decided
//!
//! States are finitely many, so an infinite execution stays, from some point on, in one strongly
//! connected component `C` of the graph of all states. Threads may be renumbered along an edge, so
//! a thread is followed through the *threaded graph* of `C`: its nodes are pairs of a state of `C`
//! and a thread of it that has not ended; an edge of `C` leads from each thread before it to the
//! same thread after it, if that has not ended. An *event* satisfies a thread: it moves, it
//! ends, or it cannot move (and does not wait at an assumption). A thread that waits at an assumption
//! is satisfied by two visits: one where it can move and one where it cannot.
//!
//! **Claim.** There is a weakly fair execution that stays in `C` if and only if `C` has an edge and
//! from each node of its threaded graph an event can be reached that satisfies the thread.
//!
//! *If:* take the threads of the current state in turn. For each there is a way within `C` to what
//! satisfies it; follow that. Other threads are somewhere else then, and so are those that were
//! started meanwhile, but from every node there is a way, so all get their turn, for ever.
//!
//! *Only if:* let `D` be what the execution visits infinitely often: strongly connected, a part of
//! `C`. A node of the threaded graph of `D` from which nothing satisfies its thread would be
//! visited by the execution, and that thread would be treated unfairly. So the condition holds for
//! `D`. From any node of `C` there is a way to a state of `D`, on which the thread ends or arrives
//! at a node of `D`; so it holds for `C`.
//!
//! Components are therefore looked at whole, each once. The components of the graph are found by
//! Tarjan's algorithm. Where no edge of a component renumbers threads, the threaded graph falls
//! into one part for each thread, and it is enough to collect what happens to each thread
//! anywhere in the component.
//!
//! All this is about all steps of all threads. A search under a reduction has not stored the
//! states in between, so only the full search decides it.

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;

use raddle_outcome::Kind;
use raddle_store::{StateId, Store, Worker};

use super::worklist::NOBODY;
use crate::parts::Packed;
use crate::system::{Action, Choice, Position, Status, Step, System};

/// A weakly fair execution that does not end.
pub(super) struct Lasso {
    /// The moves to the part that repeats.
    pub(super) stem: Vec<Action>,
    /// The moves that repeat.
    pub(super) cycle: Vec<Action>,
}

/// Whether to go on, given how much memory was taken.
pub(super) type Interrupted<'i> = dyn FnMut(usize) -> Option<Kind> + 'i;

/// Looks for a weakly fair execution that does not end: the part that repeats is reached by as few
/// steps as possible. `states` must be all that are reachable.
pub(super) fn endless<S: System>(
    system: &mut S,
    store: &dyn Store,
    root: StateId,
    interrupted: &mut Interrupted<'_>,
) -> Result<Option<Lasso>, Kind> {
    // Numbers of states in tables have 32 bits.
    u32::try_from(store.index_bound()).map_err(|_| Kind::Memory)?;
    let root = Number(store.index(root) as u32);
    let mut graph = Graph {
        system,
        store,
        worker: store.worker(),
        interrupted,
        held_bytes: 0,
        state: S::State::default(),
        canonical: S::State::default(),
        step: Step::default(),
        packed: Packed::default(),
        words: Vec::new(),
    };
    let components = Components::find(&mut graph, root)?;
    let Some(parents) = components.way_to_a_fair_one(&mut graph, root)? else {
        return Ok(None);
    };
    let stem = graph.moves_along(&parents)?;
    let start = *parents.last().expect("the way has an end");
    let cycle = Walk::new(&mut graph, &components, start).run()?;
    Ok(Some(Lasso { stem, cycle }))
}

/// A state, by its index in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Number(u32);

/// What a thread can do in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Can {
    Action,
    /// It waits, at an assumption or not.
    Wait {
        assumption: bool,
    },
    /// It has ended.
    Nothing,
}

/// A step from one stored state to another.
struct Edge<'e, State> {
    taken: Action,
    to: Number,
    /// How many threads there were before it. New ones come behind them.
    threads: usize,
    /// The state after the step, before it was brought into canonical form, if that may have
    /// renumbered threads.
    renumbered: Option<&'e State>,
}

/// All steps of all threads between stored states.
struct Graph<'g, 'i, S: System> {
    system: &'g mut S,
    store: &'g dyn Store,
    worker: Box<dyn Worker + 'g>,
    interrupted: &'g mut Interrupted<'i>,
    held_bytes: usize,
    state: S::State,
    canonical: S::State,
    step: Step<S::State>,
    packed: Packed,
    words: Vec<u64>,
}

impl<S: System> Graph<'_, '_, S> {
    /// Calls `see` for every step from a state until it has seen enough, and returns what each
    /// thread can do there; which is not to be relied on if `see` did not see all.
    fn expand(
        &mut self,
        from: Number,
        mut see: impl FnMut(&mut S, Edge<'_, S::State>) -> ControlFlow<()>,
    ) -> Result<Vec<Can>, Kind> {
        let Self {
            system,
            store,
            worker,
            interrupted,
            held_bytes,
            state,
            canonical,
            step,
            packed,
            words,
        } = self;
        worker.read(store.at(from.0 as usize), words);
        system.decode(words, state);
        if system.failed(state) {
            return Ok(Vec::new());
        }
        let threads = system.thread_count(state);
        let mut can = vec![Can::Nothing; threads];
        for position in 0..threads {
            let thread = Position(position as u32);
            let mut next = Some(Choice::FIRST);
            while let Some(choice) = next {
                if let Some(limit) = interrupted(*held_bytes) {
                    return Err(limit);
                }
                system.step(state, thread, choice, step);
                next = step.next_choice;
                match &step.status {
                    Status::Ended => {}
                    Status::Blocked { assumption } => match &mut can[position] {
                        Can::Action => {}
                        Can::Wait { assumption: all } => *all &= assumption,
                        nothing @ Can::Nothing => {
                            *nothing = Can::Wait {
                                assumption: *assumption,
                            };
                        }
                    },
                    // Executions in which a thread has failed do not count.
                    Status::Failed(_) => can[position] = Can::Action,
                    Status::Moved => {
                        can[position] = Can::Action;
                        canonical.clone_from(&step.after);
                        system.canonicalise(canonical);
                        system.encode(canonical, packed);
                        let to = worker.find(packed.parts());
                        let to = to.expect("a complete search has stored every successor");
                        let same_threads = system.thread_count(&step.after) == threads
                            && system.thread_count(canonical) == threads;
                        let edge = Edge {
                            taken: Action { thread, choice },
                            to: Number(store.index(to) as u32),
                            threads,
                            renumbered: (!same_threads).then_some(&step.after),
                        };
                        if see(system, edge).is_break() {
                            return Ok(can);
                        }
                    }
                }
            }
        }
        Ok(can)
    }

    /// The moves along a way of states.
    fn moves_along(&mut self, way: &[Number]) -> Result<Vec<Action>, Kind> {
        let mut moves = Vec::new();
        for pair in way.windows(2) {
            self.expand(pair[0], |_, edge| {
                if edge.to == pair[1] {
                    moves.push(edge.taken);
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            })?;
        }
        Ok(moves)
    }
}

/// Where a thread is after an edge: nothing if it has ended.
fn follow<S: System>(
    system: &mut S,
    edge: &Edge<'_, S::State>,
    thread: Position,
) -> Option<Position> {
    let Some(after) = edge.renumbered else {
        return Some(thread);
    };
    if system.ended(after, thread) {
        return None;
    }
    Some(system.canonicalise_following(&mut after.clone(), thread))
}

/// No component: the state lies on no cycle.
const NONE: u32 = u32::MAX;

/// The strongly connected components.
struct Components {
    /// For each state that lies on a cycle, which component it is in.
    of: Vec<u32>,
    /// For each component, whether it has a fair execution.
    fair: Vec<bool>,
}

/// A state whose successors are being explored.
struct Frame {
    state: Number,
    successors: Vec<Number>,
}

impl Components {
    /// Finds all components (Tarjan's algorithm), and looks at each.
    fn find<S: System>(graph: &mut Graph<'_, '_, S>, root: Number) -> Result<Self, Kind> {
        let bound = graph.store.index_bound();
        let mut found = Self {
            of: vec![NONE; bound],
            fair: Vec::new(),
        };
        // 0: not visited.
        let mut numbers = vec![0_u32; bound];
        let mut lowlinks = vec![0_u32; bound];
        let mut is_open = vec![false; bound];
        let mut open = Vec::new();
        let mut frames: Vec<Frame> = Vec::new();
        let mut next_number = 0;
        let mut enter = Some(root);
        let tables = bound * (3 * size_of::<u32>() + 1);
        let mut waiting = 0;
        loop {
            if let Some(state) = enter.take() {
                next_number += 1;
                numbers[state.0 as usize] = next_number;
                lowlinks[state.0 as usize] = next_number;
                is_open[state.0 as usize] = true;
                open.push(state);
                let mut successors = Vec::new();
                graph.held_bytes = tables + (waiting + open.len()) * size_of::<Number>();
                graph.expand(state, |_, edge| {
                    successors.push(edge.to);
                    ControlFlow::Continue(())
                })?;
                successors.sort_unstable();
                successors.dedup();
                waiting += successors.len();
                frames.push(Frame { state, successors });
            }
            let Some(frame) = frames.last_mut() else {
                return Ok(found);
            };
            let at = frame.state.0 as usize;
            if let Some(to) = frame.successors.pop() {
                waiting -= 1;
                let to_index = to.0 as usize;
                if numbers[to_index] == 0 {
                    enter = Some(to);
                } else if is_open[to_index] {
                    lowlinks[at] = lowlinks[at].min(numbers[to_index]);
                    // A component of one state has an edge only if that leads to itself.
                    if to == Number(at as u32) {
                        found.of[at] = 0;
                    }
                }
                continue;
            }
            frames.pop();
            if let Some(before) = frames.last() {
                let before = before.state.0 as usize;
                lowlinks[before] = lowlinks[before].min(lowlinks[at]);
            }
            if lowlinks[at] == numbers[at] {
                let first = open.iter().rposition(|state| state.0 as usize == at);
                let members = open.split_off(first.expect("it is open"));
                for member in &members {
                    is_open[member.0 as usize] = false;
                }
                if members.len() > 1 || found.of[at] == 0 {
                    found.add(graph, &members)?;
                }
            }
        }
    }

    /// Adds a component that has an edge.
    fn add<S: System>(
        &mut self,
        graph: &mut Graph<'_, '_, S>,
        members: &[Number],
    ) -> Result<(), Kind> {
        let number = self.fair.len() as u32;
        for member in members {
            self.of[member.0 as usize] = number;
        }
        let fair = match self.is_fair_without_renumbering(graph, members)? {
            Some(fair) => fair,
            None => self.is_fair(graph, members)?,
        };
        self.fair.push(fair);
        Ok(())
    }

    fn are_together(&self, one: Number, other: Number) -> bool {
        self.of[one.0 as usize] == self.of[other.0 as usize]
    }

    /// Whether a component has a fair execution; nothing if threads are renumbered in it.
    fn is_fair_without_renumbering<S: System>(
        &self,
        graph: &mut Graph<'_, '_, S>,
        members: &[Number],
    ) -> Result<Option<bool>, Kind> {
        let mut threads: Vec<Progress> = Vec::new();
        let mut renumbered = false;
        for &member in members {
            let mut moved = Vec::new();
            let can = graph.expand(member, |_, edge| {
                if self.are_together(member, edge.to) {
                    renumbered |= edge.renumbered.is_some();
                    moved.push(edge.taken.thread);
                }
                match renumbered {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            })?;
            if renumbered {
                return Ok(None);
            }
            threads.resize(can.len(), Progress::default());
            for (thread, &can) in threads.iter_mut().zip(&can) {
                thread.see(can);
            }
            for thread in moved {
                threads[thread.index()].satisfied = true;
            }
        }
        Ok(Some(threads.iter().all(|thread| thread.is_satisfied())))
    }

    /// Whether a component has a fair execution.
    fn is_fair<S: System>(
        &self,
        graph: &mut Graph<'_, '_, S>,
        members: &[Number],
    ) -> Result<bool, Kind> {
        // The threaded graph, with its edges turned round.
        let mut nodes: HashMap<(Number, Position), usize> = HashMap::new();
        let mut before: Vec<Vec<usize>> = Vec::new();
        let mut seen: Vec<Progress> = Vec::new();
        let mut edges = 0;
        for &member in members {
            let mut number = |state, thread, before: &mut Vec<Vec<usize>>| {
                *nodes.entry((state, thread)).or_insert_with(|| {
                    before.push(Vec::new());
                    before.len() - 1
                })
            };
            let mut moved = Vec::new();
            let can = graph.expand(member, |system, edge| {
                if !self.are_together(member, edge.to) {
                    return ControlFlow::Continue(());
                }
                moved.push(edge.taken.thread);
                for position in 0..edge.threads {
                    let thread = Position(position as u32);
                    if let Some(after) = follow(system, &edge, thread) {
                        let from = number(member, thread, &mut before);
                        let to = number(edge.to, after, &mut before);
                        before[to].push(from);
                        edges += 1;
                    } else {
                        // It ends here.
                        moved.push(thread);
                    }
                }
                ControlFlow::Continue(())
            })?;
            for (position, &can) in can.iter().enumerate() {
                let node = number(member, Position(position as u32), &mut before);
                seen.resize(before.len().max(seen.len()), Progress::default());
                seen[node].see(can);
            }
            for thread in moved {
                let node = number(member, thread, &mut before);
                seen.resize(before.len().max(seen.len()), Progress::default());
                seen[node].satisfied = true;
            }
            graph.held_bytes = edges * size_of::<usize>() + before.len() * 64;
        }
        seen.resize(before.len(), Progress::default());
        // What can be seen from a node by some way: backwards from where it is seen.
        let reaches = |is_it: fn(&Progress) -> bool| {
            let mut reaches: Vec<bool> = seen.iter().map(is_it).collect();
            let mut work: Vec<usize> = (0..seen.len()).filter(|&node| reaches[node]).collect();
            while let Some(node) = work.pop() {
                for &earlier in &before[node] {
                    if !std::mem::replace(&mut reaches[earlier], true) {
                        work.push(earlier);
                    }
                }
            }
            reaches
        };
        let satisfied = reaches(|progress| progress.satisfied);
        let could_move = reaches(|progress| progress.could_move);
        let cut = reaches(|progress| progress.cut);
        Ok((0..seen.len()).all(|node| satisfied[node] || could_move[node] && cut[node]))
    }

    /// The states on a shortest way to a component with a fair execution.
    fn way_to_a_fair_one<S: System>(
        &self,
        graph: &mut Graph<'_, '_, S>,
        root: Number,
    ) -> Result<Option<Vec<Number>>, Kind> {
        if !self.fair.contains(&true) {
            return Ok(None);
        }
        let is_fair = |state: Number| {
            let component = self.of[state.0 as usize];
            component != NONE && self.fair[component as usize]
        };
        let mut parents = vec![None; graph.store.index_bound()];
        parents[root.0 as usize] = Some(NOBODY);
        let mut queue = VecDeque::from([root]);
        graph.held_bytes = parents.len() * (size_of::<Option<u32>>() + size_of::<Number>());
        while let Some(state) = queue.pop_front() {
            if is_fair(state) {
                let mut way = vec![state];
                let mut at = state.0;
                while let Some(parent) = parents[at as usize].filter(|&parent| parent != NOBODY) {
                    way.push(Number(parent));
                    at = parent;
                }
                way.reverse();
                return Ok(Some(way));
            }
            graph.expand(state, |_, edge| {
                let parent = &mut parents[edge.to.0 as usize];
                if parent.is_none() {
                    *parent = Some(state.0);
                    queue.push_back(edge.to);
                }
                ControlFlow::Continue(())
            })?;
        }
        Ok(None)
    }
}

/// What was seen of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    satisfied: bool,
    could_move: bool,
    /// It could not, and waited at an assumption.
    cut: bool,
}

impl Progress {
    fn see(&mut self, can: Can) {
        match can {
            Can::Action => self.could_move = true,
            Can::Wait { assumption: true } => self.cut = true,
            Can::Wait { assumption: false } | Can::Nothing => self.satisfied = true,
        }
    }

    fn is_satisfied(self) -> bool {
        self.satisfied || self.could_move && self.cut
    }
}

/// A walk round a component that satisfies every thread, and comes back.
///
/// If it is repeated for ever, each thread that is there when a round begins is satisfied in that
/// round, and those that are started on the way in the next one; wherever they are by then.
struct Walk<'w, 'g, 'i, S: System> {
    graph: &'w mut Graph<'g, 'i, S>,
    components: &'w Components,
    start: Number,
    at: Number,
    moves: Vec<Action>,
    /// The threads that are not satisfied yet, by where they are now.
    pending: Vec<(Position, Progress)>,
}

/// How a node of a breadth-first search was reached.
type Links<Node> = HashMap<Node, (Node, Action)>;

impl<'w, 'g, 'i, S: System> Walk<'w, 'g, 'i, S> {
    fn new(graph: &'w mut Graph<'g, 'i, S>, components: &'w Components, start: Number) -> Self {
        Self {
            graph,
            components,
            start,
            at: start,
            moves: Vec::new(),
            pending: Vec::new(),
        }
    }

    fn run(mut self) -> Result<Vec<Action>, Kind> {
        let can = self
            .graph
            .expand(self.start, |_, _| ControlFlow::Continue(()))?;
        let threads = (0..can.len()).map(|position| Position(position as u32));
        self.pending = threads
            .map(|thread| (thread, Progress::default()))
            .collect();
        self.see(&can);
        while let Some(&(thread, progress)) = self.pending.first() {
            for taken in self.way_to_satisfy(thread, progress)? {
                self.take(taken)?;
            }
        }
        if self.moves.is_empty() || self.at != self.start {
            for taken in self.way_back()? {
                self.take(taken)?;
            }
        }
        Ok(self.moves)
    }

    /// Notes what threads can do where the walk is.
    fn see(&mut self, can: &[Can]) {
        for (thread, progress) in &mut self.pending {
            if !progress.satisfied {
                progress.see(can[thread.index()]);
            }
        }
        self.pending
            .retain(|(_, progress)| !progress.is_satisfied());
    }

    fn take(&mut self, taken: Action) -> Result<(), Kind> {
        let mut to = None;
        let pending = &mut self.pending;
        self.graph.expand(self.at, |system, edge| {
            if edge.taken != taken {
                return ControlFlow::Continue(());
            }
            to = Some(edge.to);
            for (thread, progress) in pending.iter_mut() {
                progress.satisfied |= edge.taken.thread == *thread;
                match follow(system, &edge, *thread) {
                    Some(after) => *thread = after,
                    None => progress.satisfied = true,
                }
            }
            ControlFlow::Break(())
        })?;
        self.at = to.expect("the move is possible");
        self.moves.push(taken);
        let can = self
            .graph
            .expand(self.at, |_, _| ControlFlow::Continue(()))?;
        self.see(&can);
        Ok(())
    }

    /// A shortest way to what satisfies a thread.
    fn way_to_satisfy(
        &mut self,
        thread: Position,
        progress: Progress,
    ) -> Result<Vec<Action>, Kind> {
        let from = (self.at, thread);
        let mut links: Links<(Number, Position)> = HashMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            let (state, thread) = node;
            let mut last = None;
            let components = self.components;
            let can = self.graph.expand(state, |system, edge| {
                if !components.are_together(state, edge.to) {
                    return ControlFlow::Continue(());
                }
                match follow(system, &edge, thread) {
                    Some(after) if edge.taken.thread != thread => {
                        let to = (edge.to, after);
                        if to != from && !links.contains_key(&to) {
                            links.insert(to, (node, edge.taken));
                            queue.push_back(to);
                        }
                    }
                    _ => last = last.or(Some(edge.taken)),
                }
                ControlFlow::Continue(())
            })?;
            let mut progress = progress;
            progress.see(can[thread.index()]);
            if progress.is_satisfied() {
                return Ok(path(&links, from, node));
            }
            if let Some(last) = last {
                let mut moves = path(&links, from, node);
                moves.push(last);
                return Ok(moves);
            }
        }
        unreachable!("the component has a fair execution")
    }

    /// A shortest way to where the walk began, of at least one move.
    fn way_back(&mut self) -> Result<Vec<Action>, Kind> {
        let from = self.at;
        let mut links: Links<Number> = HashMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(state) = queue.pop_front() {
            let mut last = None;
            let (components, start) = (self.components, self.start);
            self.graph.expand(state, |_, edge| {
                if edge.to == start {
                    last = Some(edge.taken);
                    return ControlFlow::Break(());
                }
                let known = edge.to == from || links.contains_key(&edge.to);
                if components.are_together(state, edge.to) && !known {
                    links.insert(edge.to, (state, edge.taken));
                    queue.push_back(edge.to);
                }
                ControlFlow::Continue(())
            })?;
            if let Some(last) = last {
                let mut moves = path(&links, from, state);
                moves.push(last);
                return Ok(moves);
            }
        }
        unreachable!("the component is strongly connected")
    }
}

/// The moves from one node to another, along links.
fn path<Node: Copy + Eq + std::hash::Hash>(
    links: &Links<Node>,
    from: Node,
    to: Node,
) -> Vec<Action> {
    let mut moves = Vec::new();
    let mut at = to;
    while at != from {
        let (before, taken) = links[&at];
        moves.push(taken);
        at = before;
    }
    moves.reverse();
    moves
}
