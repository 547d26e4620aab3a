//! Several workers on one exploration.
//!
//! What is still to be tried of a frame, and a copy of the graph that it is tried on, is all that it takes to go on from there: the graph knows the stamps, the
//! modification orders and what is settled, and a replay makes the rest. So a worker whose colleagues have nothing to do gives the lowest frame of its stack away, which has
//! the largest part of what is left. Each alternative is tried by one worker, and which one does not matter: what follows from a graph depends on
//! the graph alone. So each graph is still visited once.

use std::ops::ControlFlow;

use raddle_outcome::{Coverage, Extent, LeftOut};
use raddle_schedule::Omission;
use raddle_schedule::workers::{Pool, Stop};

use super::ends::{Leaf, Visitor};
use super::search::{Frame, Search};
use super::{Counts, Refused, Trust};
use crate::graph::Graph;
use crate::program::Program;

/// What another worker can go on with.
#[derive(Debug)]
struct Task {
    graph: Graph,
    frame: Frame,
}

impl Trust {
    /// The same as [`explore`](Self::explore) by several workers, each with a program and a visitor of its own. If one visitor has seen enough, the others stop.
    /// Threads need to have the same names in all programs.
    ///
    /// # Errors
    ///
    /// If a program does not keep to what [`Program`] and [`Operation`](crate::Operation) ask of it.
    pub fn explore_in_parallel<P: Program, V: Visitor<P>>(
        &mut self,
        workers: usize,
        worker: impl Fn(usize) -> (P, V) + Sync,
    ) -> Result<Coverage, Refused> {
        let pool = Pool::new(workers);
        let trust = &*self;
        let found = pool.work(|number| {
            let (mut program, mut visitor) = worker(number);
            let mut visitor = Stoppable {
                visitor: &mut visitor,
                stop: pool.stop(),
            };
            let mut search = trust.search(&mut program, &mut visitor);
            let ended = search.work(&pool, number == 0);
            pool.stop().unless_done(ended)?;
            Ok::<_, Refused>((search.counts, search.left_out))
        })?;
        self.counts = Counts::default();
        let mut left_out = LeftOut::default();
        for (counts, others) in found {
            self.counts.absorb(&counts);
            left_out.absorb(others);
        }
        let extent = match self.rules.has_all() {
            true => Extent::All,
            false => Extent::Some,
        };
        Ok(pool.stop().coverage(extent, left_out))
    }
}

impl<P: Program, V: Visitor<P>> Search<'_, P, V> {
    /// Does what is there to be done, and what others give away, until nothing is left. The first worker begins with the empty graph.
    fn work(&mut self, pool: &Pool<Task>, is_first: bool) -> Result<ControlFlow<()>, Refused> {
        let mut give = |search: &mut Self| {
            if pool.is_hungry()
                && let Some(task) = search.give_away()
            {
                pool.put(task);
            }
        };
        if is_first && self.run(&mut give)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        while let Some(Task { graph, frame }) = pool.take() {
            self.go_on_with(graph, frame);
            if self.backtrack()? && self.run(&mut give)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The lowest frame of which something is left, with the graph that it is tried on; half of it, if that is all that is left.
    fn give_away(&mut self) -> Option<Task> {
        let left: usize = self.stack.iter().map(Frame::left).sum();
        let lowest = self.stack.iter().position(|frame| frame.left() > 0)?;
        if left < 2 {
            return None;
        }
        // A revisit has put the graph aside that all frames below it are about.
        let aside = self.stack[lowest..].iter().find_map(|frame| match frame {
            Frame::Revisit(before) => Some(&**before),
            _ => None,
        });
        let graph = aside.unwrap_or(&self.graph).clone();
        let is_all = self.stack[lowest].left() == left;
        let frame = self.stack[lowest].take(is_all);
        Some(Task { graph, frame })
    }
}

/// A visitor that also stops when another worker has.
struct Stoppable<'a, V> {
    visitor: &'a mut V,
    stop: &'a Stop,
}

impl<P, V: Visitor<P>> Visitor<P> for Stoppable<'_, V> {
    fn leaf(&mut self, program: &mut P, leaf: &Leaf<'_>) -> ControlFlow<()> {
        self.visitor.leaf(program, leaf)
    }

    fn pulse(&mut self, program: &mut P, graph: &Graph) -> ControlFlow<()> {
        match self.stop.is_set() {
            true => ControlFlow::Break(()),
            false => self.visitor.pulse(program, graph),
        }
    }

    fn left_out(&mut self, program: &mut P, omission: Omission) {
        self.visitor.left_out(program, omission);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::Model;
    use crate::testing::{Profile, Script, Toy};
    use crate::trust::End;

    /// The graphs, how they end, and how often they were visited.
    type Graphs = BTreeMap<Vec<u32>, (End, u64)>;

    /// Explores, and gives something away whenever that is possible.
    fn explored(script: &Script, model: Model, gives: bool) -> (Graphs, Counts, usize) {
        let (mut graphs, mut given) = (Graphs::new(), 0);
        let mut visitor = |_: &mut Toy, leaf: &Leaf<'_>| {
            let graph = graphs.entry(leaf.graph.key()).or_insert((leaf.end, 0));
            graph.1 += 1;
            ControlFlow::Continue(())
        };
        let (mut toy, trust) = (script.toy(), Trust::new(model));
        let mut search = trust.search(&mut toy, &mut visitor);
        let mut tasks: Vec<Task> = Vec::new();
        let mut work = |search: &mut Search<'_, _, _>, tasks: &mut Vec<Task>| {
            let ended = search.run(&mut |search| {
                while gives && let Some(task) = search.give_away() {
                    tasks.push(task);
                    given += 1;
                }
            });
            assert_eq!(ended, Ok(ControlFlow::Continue(())));
        };
        work(&mut search, &mut tasks);
        while let Some(Task { graph, frame }) = tasks.pop() {
            search.go_on_with(graph, frame);
            if search.backtrack().expect("a program that is explored") {
                work(&mut search, &mut tasks);
            }
        }
        let counts = search.counts;
        (graphs, counts, given)
    }

    #[test]
    fn what_is_given_away_is_explored_once() {
        let profiles = [
            Profile::Atomics,
            Profile::Locks,
            Profile::Threads,
            Profile::Waiting,
            Profile::Loops,
        ];
        let mut given = 0;
        for profile in profiles {
            for seed in 0..60 {
                let script = Script::random(seed, profile, 8);
                for model in [Model::Sc, Model::Rc11] {
                    let (alone, ..) = explored(&script, model, false);
                    let (together, _, tasks) = explored(&script, model, true);
                    assert_eq!(together, alone, "{profile:?} {seed} {model:?}");
                    given += tasks;
                }
            }
        }
        assert!(given > 3_000, "{given} tasks");
    }

    #[test]
    fn workers_find_what_one_finds() {
        use std::sync::Mutex;

        for seed in 0..40 {
            let script = Script::random(seed, Profile::Atomics, 9);
            let (alone, counts, _) = explored(&script, Model::Rc11, false);
            for workers in [1, 2, 3] {
                let graphs = Mutex::new(Graphs::new());
                let mut trust = Trust::new(Model::Rc11);
                let coverage = trust.explore_in_parallel(workers, |_| {
                    let visitor = |_: &mut Toy, leaf: &Leaf<'_>| {
                        let mut graphs = graphs.lock().expect("nobody panics");
                        let graph = graphs.entry(leaf.graph.key()).or_insert((leaf.end, 0));
                        graph.1 += 1;
                        ControlFlow::Continue(())
                    };
                    (script.toy(), visitor)
                });
                assert!(coverage.is_ok_and(|coverage| coverage.is_all()));
                let graphs = graphs.into_inner().expect("nobody panics");
                assert_eq!(graphs, alone, "{seed}, {workers} workers");
                assert_eq!(trust.counts().ends, counts.ends);
            }
        }
    }

    #[test]
    fn one_who_has_seen_enough_stops_the_others() {
        let script = Script::random(3, Profile::Atomics, 9);
        let mut trust = Trust::new(Model::Rc11);
        let coverage = trust.explore_in_parallel(2, |_| {
            let visitor = |_: &mut Toy, _: &Leaf<'_>| ControlFlow::Break(());
            (script.toy(), visitor)
        });
        assert!(coverage.is_ok_and(|coverage| !coverage.is_all()));
        assert!(trust.counts().graphs() <= 2);
    }
}
