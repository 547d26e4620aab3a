//! An explorer asks whether its time is over not only once an execution.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;

use raddle_schedule::explorers::Bounded;
use raddle_schedule::testing::{Op, Toy};
use raddle_schedule::{
    Cut, Diverged, Execution, Explorer, Move, Observed, Readiness, ThreadId, Trace, Visitor,
};

/// How often an explorer has looked ahead since it has asked last, and the most of these.
#[derive(Clone, Default)]
struct Looks {
    now: Rc<Cell<usize>>,
    most: Rc<Cell<usize>>,
}

/// An execution that counts how often an explorer looks ahead.
struct Counted {
    toy: Toy,
    looks: Looks,
}

impl Execution for Counted {
    fn restart(&mut self) {
        self.toy.restart();
    }

    fn threads(&self) -> &[ThreadId] {
        self.toy.threads()
    }

    fn location_count(&self) -> usize {
        self.toy.location_count()
    }

    fn readiness(&self, thread: ThreadId) -> Readiness {
        self.toy.readiness(thread)
    }

    fn alternatives(&self, thread: ThreadId) -> u32 {
        self.toy.alternatives(thread)
    }

    fn step(&mut self, next: Move, step: &mut Observed) -> Result<(), Diverged> {
        self.toy.step(next, step)
    }

    fn foresee(
        &mut self,
        trace: &Trace,
        cut: &Cut,
        thread: ThreadId,
        number: u32,
        step: &mut Observed,
    ) -> bool {
        self.looks.now.set(self.looks.now.get() + 1);
        self.toy.foresee(trace, cut, thread, number, step)
    }
}

/// Ends the search after some executions.
struct Patient {
    looks: Looks,
    executions: usize,
}

impl Visitor<Counted> for Patient {
    fn ended(&mut self, _: &mut Counted, _: &Trace) -> ControlFlow<()> {
        self.executions += 1;
        match self.executions {
            10 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pulse(&mut self) -> ControlFlow<()> {
        let now = self.looks.now.take();
        self.looks.most.set(self.looks.most.get().max(now));
        ControlFlow::Continue(())
    }
}

/// The most looks ahead between two questions.
fn most_looks(mut explorer: impl Explorer, program: &[&[Op]]) -> usize {
    let looks = Looks::default();
    let mut counted = Counted {
        toy: Toy::new(program),
        looks: looks.clone(),
    };
    let mut patient = Patient {
        looks: looks.clone(),
        executions: 0,
    };
    let coverage = explorer.explore(&mut counted, &mut patient).unwrap();
    assert!(!coverage.is_all(), "10 executions are not all");
    assert!(looks.most.get() > 0, "it looks ahead");
    looks.most.get()
}

#[test]
fn long_executions_are_not_thought_about_for_long() {
    for additions in [20, 200] {
        // The last step of one thread races with all additions of the other one.
        let adds = vec![Op::Add(0, 1); additions];
        let program: [&[Op]; 2] = [&adds, &[Op::Write(1, 1), Op::Add(0, 1)]];
        assert!(most_looks(Bounded::new(2), &program) <= 8);
    }
}

/// Two threads that wait for each other move in turns, while executions differ by what two others do.
#[test]
fn executions_of_many_runs_are_not_thought_about_for_long() {
    for turns in [20, 200] {
        let turn = |even| move |turn: u64| [Op::Await(0, 2 * turn + even), Op::Add(0, 1)];
        let first: Vec<Op> = (0..turns).flat_map(turn(0)).collect();
        let second: Vec<Op> = (0..turns).flat_map(turn(1)).collect();
        let (adds, writes) = ([Op::Add(1, 1); 3], [Op::Write(1, 1); 3]);
        let program: [&[Op]; 4] = [&first, &second, &adds, &writes];
        assert!(most_looks(Bounded::new(1_000), &program) <= 8);
    }
}
