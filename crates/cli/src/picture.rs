//! `--graph`: a counterexample as a picture.

use std::collections::HashMap;
use std::path::Path;

use raddle_explore::{AccessKind, Action, Step, System};
use raddle_machine::Machine;
use raddle_machine::events::Access::Write as Written;
use raddle_machine::events::Act;
use raddle_machine::narrate::{Narrator, Told};
use raddle_report::graph::{Format, Graph, Relation};
use raddle_report::story::Story;

/// Writes a picture, in the format that the file asks for.
pub(crate) fn write(path: &Path, graph: &Graph) -> Result<(), String> {
    let text = graph.to_text(Format::of(path)?);
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// The execution of a schedule as a graph: a read is of the last write, and writes are in the order in which they were made.
pub(crate) fn of_schedule(machine: Machine, schedule: &[Action], story: &Story) -> Graph {
    let mut prober = machine.clone();
    let mut narrator = Narrator::new(machine);
    let mut graph = Graph::of(story);
    let mut last: HashMap<String, usize> = HashMap::new();
    let mut step = Step::default();
    for (number, &taken) in schedule.iter().enumerate().take(story.steps.len()) {
        let act = prober.act(narrator.state(), taken.thread);
        prober.step(narrator.state(), taken.thread, taken.choice, &mut step);
        let touched = step.footprint.iter().map(|access| {
            let reads = match act {
                Act::Access {
                    location,
                    access: Written(..),
                    ..
                } => location != access.location,
                Act::Access { .. } => true,
                _ => !access.writes || access.kind != AccessKind::Plain,
            };
            (narrator.name_at(access.location), reads, access.writes)
        });
        let touched: Vec<_> = touched.collect();
        if narrator.step_in_brief(taken) == Told::Impossible {
            break;
        }
        for (name, reads, writes) in touched {
            let from = last.get(&name).copied();
            let other =
                from.filter(|&from| graph.events[from].thread != graph.events[number].thread);
            if let Some(from) = other {
                for (is_related, relation) in [(reads, Relation::Rf), (writes, Relation::Mo)] {
                    if is_related {
                        graph.relate(from, number, relation);
                    }
                }
            }
            if writes {
                last.insert(name, number);
            }
        }
    }
    graph
}
