//! The same by several workers.
//!
//! The states near the root are shared: a worker that has nothing to do takes a sequence from one of their
//! wake-up trees and explores what begins with it. A busy worker shares more of its states while
//! others have nothing to do. The sequences of races whose first event comes after a shared state are inserted
//! there, whoever finds them.
//!
//! Branches of one state are then explored at the same time. That changes two things.
//!
//! - **What sleeps.** Branches are *begun* one after the other, and all that were begun before a branch sleep for it,
//!   completed or not. So what a branch does not run is run by one that was begun before.
//! - **What is covered.** With one worker, a sequence that has a branch as a weak initial is either inserted below that branch, or the
//!   branch is completed and covers it. A branch that is under way may rely on others that are too: it has not tried what
//!   sleeps for it, so it will not find the races of that by itself, and those who find them must
//!   tell. So a sequence goes down along branches that were begun as it does along those that were not. It is
//!   inserted where nothing was begun that is a weak initial of what is left of it, also if all else below that
//!   state is completed. It is covered where it gets to the end of a planned sequence: nothing sleeps there any more, and what comes
//!   after it depends on nobody.
//!
//! - **Doubts.** A sequence that may be redundant (see [`WakeupTree::insert`]) has to be run to know. If something sleeps at its end, it is:
//!   others cover what it would. It is then dropped as if it had never been begun. Nobody goes on at the state where it was
//!   begun before that is known, since all who do rely on what was begun.
//!
//! So at the end every state has a list of branches, each of which has all earlier ones asleep, such that every race
//! that was found below leads along them to where it is covered, as with one worker.

use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use super::wakeup_tree::{Branch, Here, Sequence, WakeupTree};
use super::{Node, Optimal, Search};
use raddle_outcome::{Coverage, Extent};

use crate::execution::{Diverged, Execution, Move};
use crate::explorer::Visitor;
use crate::workers::{Pool, Stoppable};

/// So many states may be shared. They are kept to the end.
const MOST_SHARED: usize = 1 << 18;

/// How often who waits for another worker looks whether that has stopped.
const STOPPED_AFTER: Duration = Duration::from_millis(20);

/// What the workers have in common.
pub(super) struct Common {
    /// The shared states. Each knows its number here.
    nodes: RwLock<Vec<Arc<SharedNode>>>,
    /// The numbers of those that may have something to run.
    pool: Pool<usize>,
}

/// A state that several workers explore from.
pub(super) struct SharedNode {
    number: usize,
    /// The number of the state before it, and which of its branches leads here.
    parent: Option<(usize, usize)>,
    branches: Mutex<Branches>,
    /// Something that was begun is no longer in doubt.
    settled: Condvar,
}

#[derive(Default)]
struct Branches {
    /// In the order in which they were begun.
    begun: Vec<Begun>,
    wakeup_tree: WakeupTree,
}

/// A branch that somebody explores or has explored.
struct Begun {
    step: Move,
    /// What was planned; there is nothing if the state is not on the way of a planned sequence.
    planned: Option<Branch>,
    /// The number of the state after it, if that is still on the way.
    child: Option<usize>,
    standing: Standing,
}

/// Whether others can rely on a branch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Sound,
    /// It may turn out to be redundant.
    InDoubt,
    /// It has: it does not count.
    Redundant,
}

/// A shared state on the path of a worker, and which of its branches the path takes.
#[derive(Clone)]
pub(super) struct Taken {
    node: Arc<SharedNode>,
    branch: usize,
}

/// A sequence that was begun: from the last of the states that were there before.
struct Task {
    /// The shared states on its path, from the root on.
    path: Vec<Taken>,
    /// The moves from the first new state on.
    steps: Vec<Move>,
    /// Whether it may be redundant.
    is_in_doubt: bool,
}

impl Optimal {
    pub(super) fn explore_together<X: Execution, V: Visitor<X>>(
        &mut self,
        workers: usize,
        worker: impl Fn(usize) -> (X, V) + Sync,
    ) -> Result<Coverage, Diverged> {
        let common = Arc::new(Common {
            nodes: RwLock::default(),
            pool: Pool::new(workers),
        });
        let stop = common.pool.stop();
        let workers = common.pool.work(|number| {
            let (mut execution, mut visitor) = worker(number);
            let mut search = Search::new(&mut execution);
            let mut visitor = Stoppable {
                visitor: &mut visitor,
                stop,
            };
            search.work(&common, number == 0, &mut visitor)?;
            Ok((search.redundant, search.left_out))
        })?;
        let (redundant, left_out): (Vec<_>, Vec<_>) = workers.into_iter().unzip();
        self.redundant = redundant.iter().sum();
        Ok(stop.coverage(Extent::All, left_out.into_iter().collect()))
    }
}

impl<X: Execution> Search<'_, X> {
    /// Explores until nothing is left anywhere. The first worker begins at the root.
    fn work(
        &mut self,
        common: &Arc<Common>,
        is_first: bool,
        visitor: &mut impl Visitor<X>,
    ) -> Result<(), Diverged> {
        self.common = Some(common.clone());
        let mut root = is_first.then(WakeupTree::default);
        if is_first {
            self.execution.restart();
        }
        loop {
            let planned = match root.take() {
                Some(planned) => planned,
                None => match common.begin() {
                    Some(task) => self.begin(task)?,
                    None => return Ok(()),
                },
            };
            let share = |search: &mut Self| {
                if common.pool.is_hungry() {
                    search.share(common);
                }
            };
            if let ControlFlow::Break(()) = self.run(planned, visitor, share)? {
                return Ok(());
            }
        }
    }

    /// Goes to where a task begins, and makes its first step.
    fn begin(&mut self, task: Task) -> Result<WakeupTree, Diverged> {
        let Task {
            path,
            steps,
            is_in_doubt,
        } = task;
        let old = path.len() - steps.len();
        self.trace.truncate(0);
        self.nodes.clear();
        self.execution.restart();
        for (depth, taken) in path[..=old].iter().enumerate() {
            let branches = taken.node.lock();
            let begun = &branches.begun[..=taken.branch];
            // What was begun before sleeps, and what slept in the state before may sleep on.
            let sleep = begun[..taken.branch]
                .iter()
                .filter(|begun| begun.standing == Standing::Sound)
                .map(|begun| begun.step);
            self.nodes.push(Node {
                sleep: sleep.collect(),
                stable_locations: self.execution.location_count(),
                ..Node::default()
            });
            if depth < old {
                let next = begun[taken.branch].step;
                drop(branches);
                self.execution.step(next, &mut self.step)?;
                self.trace.push(next, &self.step);
            }
        }
        self.race.before.clear();
        for event in 0..old {
            self.inherit_sleep(event);
        }
        self.shared = path;
        self.is_in_doubt = is_in_doubt;
        let first = steps[0];
        self.execution.step(first, &mut self.step)?;
        self.trace.push(first, &self.step);
        Ok(WakeupTree::of_one(&steps[1..]))
    }

    /// Shares the states down to the first one that has something for others.
    fn share(&mut self, common: &Common) {
        let own = self.shared.len();
        let has_some = |&index: &usize| !self.nodes[index].wakeup_tree.is_empty();
        let Some(last) = (own..self.nodes.len()).find(has_some) else {
            return;
        };
        let mut nodes = common.write();
        if nodes.len() > MOST_SHARED {
            return;
        }
        for index in own..=last {
            let node = &mut self.nodes[index];
            // Those that were begun here are completed, but for the last one.
            let done = node.sleep[node.inherited..].iter().copied();
            let begun: Vec<_> = done
                .chain([self.trace.events()[index].step])
                .map(|step| Begun {
                    step,
                    planned: None,
                    child: None,
                    standing: Standing::Sound,
                })
                .collect();
            let parent = self.shared.last();
            let parent = parent.map(|parent| (parent.node.number, parent.branch));
            let branch = begun.len() - 1;
            let shared = Arc::new(SharedNode {
                number: nodes.len(),
                parent,
                branches: Mutex::new(Branches {
                    begun,
                    wakeup_tree: std::mem::take(&mut node.wakeup_tree),
                }),
                settled: Condvar::new(),
            });
            nodes.push(shared.clone());
            self.shared.push(Taken {
                node: shared,
                branch,
            });
        }
        common.pool.put(nodes.len() - 1);
    }

    /// Tells others whether the sequence that was in doubt is redundant, if it is one that they wait for.
    pub(super) fn tell_others(&mut self, is_redundant: bool) {
        // Otherwise it is one of this worker's own.
        let is_planned_by_all = self.trace.len() == self.shared.len();
        if let (true, Some(last)) = (is_planned_by_all, self.shared.last()) {
            last.node.lock().begun[last.branch].standing = if is_redundant {
                Standing::Redundant
            } else {
                Standing::Sound
            };
            last.node.settled.notify_all();
        }
    }

    /// Adds the sequence of the race to the wake-up tree of a shared state on the path, or to one after it, unless it is
    /// covered.
    pub(super) fn keep_in_common(&mut self, first: usize) {
        let Self {
            execution,
            trace,
            nodes,
            step,
            race,
            sequence,
            names,
            shared,
            common,
            ..
        } = self;
        let Some(common) = common else { return };
        let mut covers =
            |begun: &Move| race.is_weak_initial(trace, first, *begun, *execution, step);
        let node = &nodes[first];
        if node.sleep[..node.inherited].iter().any(&mut covers) {
            return;
        }
        let Some(mut branches) = shared[first].node.lock_settled(&common.pool) else {
            return;
        };
        let mut sound = branches
            .begun
            .iter()
            .filter(|begun| begun.standing == Standing::Sound);
        let begun = sound.find(|begun| covers(&begun.step));
        let child = match begun {
            None => None,
            Some(Begun { child: None, .. }) => return,
            Some(Begun {
                child: Some(child),
                step,
                ..
            }) => Some((*child, *step)),
        };
        race.sequence(trace, first, sequence);
        let mut here = Here {
            trace,
            names,
            stable: node.stable_locations,
        };
        if let Some((child, step)) = child {
            drop(branches);
            sequence.take_out(step);
            common.insert(child, &mut here, sequence);
        } else {
            branches.wakeup_tree.insert(&mut here, sequence, false);
            drop(branches);
            common.pool.put(shared[first].node.number);
        }
    }
}

impl Common {
    fn node(&self, number: usize) -> Arc<SharedNode> {
        let nodes = self.nodes.read().unwrap_or_else(PoisonError::into_inner);
        nodes[number].clone()
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Vec<Arc<SharedNode>>> {
        self.nodes.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a sequence that nobody has begun.
    fn begin(&self) -> Option<Task> {
        loop {
            let node = self.node(self.pool.take()?);
            let mut branches = node.lock_settled(&self.pool)?;
            let Some(branch) = branches.wakeup_tree.take_first() else {
                continue;
            };
            let first = branches.begun.len();
            let mut path = self.path_to(&node);
            let mut steps = Vec::new();
            let begun = self.prepare(&node, first, branch, &mut path, &mut steps);
            // From here on, others can go down along it.
            branches.begun.push(begun);
            drop(branches);
            // There may be more, for others.
            for taken in &path[path.len() - steps.len()..] {
                if !taken.node.lock().wakeup_tree.is_empty() {
                    self.pool.put(taken.node.number);
                }
            }
            let last = path.last()?;
            let standing = last.node.lock().begun[last.branch].standing;
            return Some(Task {
                is_in_doubt: standing == Standing::InDoubt,
                path,
                steps,
            });
        }
    }

    /// Makes the states on the way of a planned sequence, whose first step is `branch`.
    fn prepare(
        &self,
        node: &Arc<SharedNode>,
        index: usize,
        mut branch: Branch,
        path: &mut Vec<Taken>,
        steps: &mut Vec<Move>,
    ) -> Begun {
        let mut first = None;
        let mut at = (node.clone(), index);
        loop {
            let mut then = std::mem::take(&mut branch.then);
            let next = then.take_first();
            steps.push(branch.step);
            path.push(Taken {
                node: at.0.clone(),
                branch: at.1,
            });
            let child = next.is_some().then(|| {
                let mut nodes = self.write();
                let child = Arc::new(SharedNode {
                    number: nodes.len(),
                    parent: Some((at.0.number, at.1)),
                    branches: Mutex::new(Branches::default()),
                    settled: Condvar::new(),
                });
                nodes.push(child.clone());
                child
            });
            let in_doubt = child.is_none() && branch.doubtful;
            let begun = Begun {
                step: branch.step,
                planned: Some(branch),
                child: child.as_ref().map(|child| child.number),
                standing: if in_doubt {
                    Standing::InDoubt
                } else {
                    Standing::Sound
                },
            };
            match &mut first {
                None => first = Some(begun),
                Some(_) => at.0.lock().begun.push(begun),
            }
            let (Some(child), Some(next)) = (child, next) else {
                break;
            };
            child.lock().wakeup_tree = then;
            branch = next;
            at = (child, 0);
        }
        first.expect("a sequence has a step")
    }

    /// The shared states before one, and which of their branches lead to it.
    fn path_to(&self, node: &SharedNode) -> Vec<Taken> {
        let nodes = self.nodes.read().unwrap_or_else(PoisonError::into_inner);
        let mut path = Vec::new();
        let mut parent = node.parent;
        while let Some((number, branch)) = parent {
            let node = nodes[number].clone();
            parent = node.parent;
            path.push(Taken { node, branch });
        }
        path.reverse();
        path
    }

    /// Adds a sequence to the wake-up tree of a state on the way of a planned one, or further down the way, unless it is
    /// covered.
    fn insert(&self, number: usize, here: &mut Here<'_>, sequence: &mut Sequence) {
        let mut node = self.node(number);
        let mut doubtful = false;
        loop {
            let Some(mut branches) = node.lock_settled(&self.pool) else {
                return;
            };
            let mut weak_initial = None;
            for begun in &branches.begun {
                let planned = match (&begun.planned, begun.standing) {
                    (Some(planned), Standing::Sound) => planned,
                    _ => continue,
                };
                match planned.is_weak_initial(here, sequence) {
                    Some(true) => {
                        weak_initial = Some(begun);
                        break;
                    }
                    Some(false) => {}
                    None => doubtful = true,
                }
            }
            match weak_initial {
                Some(Begun { child: None, .. }) => return,
                Some(Begun {
                    child: Some(child), ..
                }) => {
                    let child = self.node(*child);
                    drop(branches);
                    node = child;
                }
                None => {
                    let tree = &mut branches.wakeup_tree;
                    tree.insert(here, sequence, doubtful);
                    drop(branches);
                    self.pool.put(node.number);
                    return;
                }
            }
        }
    }
}

impl SharedNode {
    fn lock(&self) -> MutexGuard<'_, Branches> {
        self.branches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nothing is in doubt that was begun here: until somebody has run it. Nobody waits who has something in doubt
    /// himself. There is nothing to wait for if somebody has stopped the others.
    fn lock_settled(&self, pool: &Pool<usize>) -> Option<MutexGuard<'_, Branches>> {
        let mut branches = self.lock();
        let in_doubt = |begun: &Begun| begun.standing == Standing::InDoubt;
        while branches.begun.iter().any(in_doubt) {
            if pool.stop().is_set() {
                return None;
            }
            let waited = self.settled.wait_timeout(branches, STOPPED_AFTER);
            branches = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Some(branches)
    }
}
