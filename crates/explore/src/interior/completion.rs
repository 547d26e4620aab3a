//! How a transaction that can go on for ever after its commit point is made to end.
//!
//! After its commit, what a transaction has done is visible to others, so they must be scheduled
//! in some state after it: every state after the commit must reach one in which the
//! transaction ends. Where the program itself does not end it, in a loop of left
//! movers, an end must be forced (the *ignoring problem*). Levin, Palmer, Qadeer and
//! Rajamani ("Sound Transaction-based Reduction without Cycle Detection", 2005) compare ways
//! to choose where.
//!
//! The decisions are made in a depth-first search of one transaction. A node whose successors
//! have all been explored is *popped*; the fields have the paper's names (figure 6).

use crate::repair::Repair;
use crate::system::Choice;

/// How transactions are completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Completion {
    /// Not at all: what happens after an endless transaction is not explored. Unsound; it is
    /// the lower bound that the paper compares with.
    None,
    /// Where a cycle is closed.
    Cycle,
    /// In one state of each terminal strongly connected component that reaches no end
    /// (Tarjan's algorithm, as Flanagan and Qadeer suggest).
    #[default]
    Scc,
    /// Commit point completion without line L19: where a state is popped that reaches no end
    /// as far as was seen.
    Cpc,
    /// Commit point completion with line L19: only in commit points, that is, states reached
    /// by a step that is not a right mover.
    CpcL19,
}

impl Completion {
    /// All of them, the unsound one first.
    pub const ALL: [Self; 5] = [Self::None, Self::Cycle, Self::Scc, Self::Cpc, Self::CpcL19];

    /// The name that users write.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Cycle => "cycle",
            Self::Scc => "scc",
            Self::Cpc => "cpc",
            Self::CpcL19 => "cpc-l19",
        }
    }

    /// Whether nothing is lost.
    #[must_use]
    pub fn is_sound(self) -> bool {
        self != Self::None
    }
}

/// The number of a node; the root is 0.
pub(super) type NodeId = u32;

/// A state that the search of a transaction has met, before (`phase`) or after its commit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// Whether the transaction has not committed.
    pub(super) phase: bool,
    /// Whether other threads are scheduled here: the transaction ends, of itself or by force.
    pub(super) xend: bool,
    /// Whether a state is known to be reachable in which the transaction ends.
    pub(super) cpc: bool,
    /// Whether it was reached by right movers only.
    pub(super) rm: bool,
    /// Whether its successors are being explored.
    pub(super) on_stack: bool,
    /// Where it was met first.
    pub(super) pred: NodeId,
    /// By which alternative.
    pub(super) choice: Choice,
    lowlink: NodeId,
    in_component: bool,
}

/// The part of a transaction that was explored so far.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    /// Tarjan's stack: nodes whose component is not complete.
    component: Vec<NodeId>,
}

impl Graph {
    pub(super) fn held_bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>() + self.component.capacity() * size_of::<NodeId>()
    }

    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.component.clear();
    }

    pub(super) fn add(&mut self, pred: NodeId, choice: Choice, phase: bool, rm: bool) -> NodeId {
        let id = self.nodes.len() as NodeId;
        self.nodes.push(Node {
            phase,
            xend: false,
            cpc: false,
            rm,
            on_stack: true,
            pred,
            choice,
            lowlink: id,
            in_component: true,
        });
        self.component.push(id);
        id
    }

    /// The transaction ends of itself in the node that was added last: it has no successors.
    pub(super) fn end(&mut self, q: NodeId) {
        let node = &mut self.nodes[q as usize];
        node.xend = true;
        node.cpc = true;
        node.on_stack = false;
        node.in_component = false;
        let pred = node.pred;
        self.component.pop();
        self.nodes[pred as usize].cpc = true;
    }

    /// A step leads from `q` to a node that is known (figure 6, L9 to L11). Returns a node in
    /// which an end must be forced now.
    pub(super) fn meet(
        &mut self,
        completion: Completion,
        q: NodeId,
        known: NodeId,
        rm: bool,
    ) -> Option<NodeId> {
        let met = self.nodes[known as usize];
        let node = &mut self.nodes[q as usize];
        node.cpc |= met.cpc;
        if met.in_component {
            node.lowlink = node.lowlink.min(known);
        }
        if completion == Completion::Cycle
            && met.on_stack
            && !node.phase
            && Repair::ForcedEnd.is_on()
        {
            node.xend = true;
            node.cpc = true;
        }
        // The paper keeps how a state was reached first. But it is a commit point if it is
        // reached by a commit on any way, and if it had been popped as none, it is late.
        let met = &mut self.nodes[known as usize];
        met.rm &= rm;
        let late = completion == Completion::CpcL19
            && !met.on_stack
            && !(met.phase || met.rm || met.cpc)
            && Repair::ForcedEnd.is_on();
        if late {
            met.xend = true;
            met.cpc = true;
        }
        late.then_some(known)
    }

    /// All successors of `q` have been explored (figure 6, L17 to L23). Says whether an end
    /// is forced there.
    pub(super) fn pop(&mut self, completion: Completion, q: NodeId) -> bool {
        let is_root_of_component = self.nodes[q as usize].lowlink == q;
        let first = match is_root_of_component {
            true => (self.component.iter().rposition(|member| *member == q)).expect("it is there"),
            false => self.component.len(),
        };
        let members = &self.component[first..];
        let completes = (members.iter()).any(|member| self.nodes[*member as usize].cpc);
        let node = &mut self.nodes[q as usize];
        node.on_stack = false;
        if !node.phase && !node.cpc && Repair::ForcedEnd.is_on() {
            node.xend |= match completion {
                Completion::None | Completion::Cycle => false,
                Completion::Scc => is_root_of_component && !completes,
                Completion::Cpc => true,
                Completion::CpcL19 => !node.rm,
            };
        }
        node.cpc |= node.xend;
        for member in self.component.drain(first..) {
            let member = &mut self.nodes[member as usize];
            member.in_component = false;
            // By now the whole component reaches an end, of itself or by force.
            member.cpc |= completion == Completion::Scc;
        }
        let node = &self.nodes[q as usize];
        let (forced, pred) = (node.xend, node.pred);
        let (cpc, lowlink) = (node.cpc, node.lowlink);
        if q != pred {
            let pred = &mut self.nodes[pred as usize];
            pred.cpc |= cpc;
            pred.lowlink = pred.lowlink.min(lowlink);
        }
        forced
    }
}
