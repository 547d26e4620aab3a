//! A graph in the language of Graphviz.

use std::fmt::Write as _;

use super::{Graph, Relation, main_relation, names, place, title};
use crate::text::clean;

pub(super) fn write(graph: &Graph) -> String {
    let mut text = String::from("digraph execution {\n");
    let mut line = |line: String| {
        let _ = writeln!(text, "  {line}");
    };
    if !graph.message.is_empty() {
        line(format!("label={};", quoted(&[&clean(&graph.message)])));
        line("labelloc=t;".into());
    }
    line("node [shape=box, style=rounded, fontname=monospace, fontsize=10];".into());
    line("edge [fontname=monospace, fontsize=9];".into());
    for thread in 0..graph.columns() {
        line(format!("subgraph cluster_{thread} {{"));
        line(format!(
            "  label={};",
            quoted(&[&graph.thread_name(thread)])
        ));
        line("  color=\"#cccccc\";".into());
        let events = graph.events.iter().enumerate();
        for (index, event) in events.filter(|(_, event)| event.thread == thread) {
            let label = quoted(&[&title(event), &place(&event.at)]);
            let wrong = match event.is_wrong {
                true => format!(
                    ", color=\"{0}\", fontcolor=\"{0}\"",
                    Relation::Race.colour()
                ),
                false => String::new(),
            };
            line(format!("  e{index} [label={label}{wrong}];"));
        }
        line("}".into());
    }
    for ((from, to), relations) in graph.arrows() {
        let main = main_relation(&relations);
        let mut attributes = vec![format!("color=\"{}\"", main.colour())];
        if main != Relation::Po {
            attributes.push(format!("fontcolor=\"{}\"", main.colour()));
            attributes.push(format!("label={}", quoted(&[&names(&relations)])));
        }
        if main == Relation::Race {
            attributes.push("dir=both".into());
        }
        if main == Relation::Rb {
            attributes.push("style=dashed".into());
        }
        if !relations.iter().any(|relation| relation.is_downwards()) {
            attributes.push("constraint=false".into());
        }
        line(format!("e{from} -> e{to} [{}];", attributes.join(", ")));
    }
    text.push_str("}\n");
    text
}

/// Lines as one string of DOT; empty ones are left out.
fn quoted(lines: &[&str]) -> String {
    let lines = lines.iter().filter(|line| !line.is_empty());
    let lines: Vec<String> = lines
        .map(|line| line.replace('\\', "\\\\").replace('"', "\\\""))
        .collect();
    format!("\"{}\"", lines.join("\\n"))
}
