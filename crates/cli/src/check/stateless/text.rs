//! What running executions adds to the text for people.

use raddle_report::table::{key_values, number};

use super::super::findings::Details;
use super::super::text::{counted, elapsed};
use super::Explored;
use crate::args::Check;

pub(in super::super) fn details(args: &Check, explored: &Explored) -> Details {
    let found = &explored.found;
    let classes = if found.classes == 1 {
        "class"
    } else {
        "classes"
    };
    Details {
        statistics: match args.stats {
            true => statistics_table(args, explored) + "\n",
            false => String::new(),
        },
        numbers: format!(
            "{} of {} {classes}, {}, {} ({})",
            counted(found.executions, "execution"),
            number(found.classes),
            counted(found.steps, "step"),
            elapsed(args, explored.elapsed),
            explored.exploration.name(),
        ),
        plan: Vec::new(),
        remarks: Vec::new(),
        told: None,
    }
}

fn statistics_table(args: &Check, explored: &Explored) -> String {
    let found = &explored.found;
    let seconds = explored.elapsed.as_secs_f64().max(1e-9);
    let per_second = |count: u64| number((count as f64 / seconds) as u64);
    let mut rows = vec![
        ("executions", number(found.executions)),
        ("classes", number(found.classes)),
        ("steps", number(found.steps)),
        ("longest execution", number(found.longest as u64)),
        ("terminated", number(found.terminated)),
        ("deadlocked", number(found.deadlocked)),
        ("failed", number(found.failed)),
        ("cut by assume", number(found.cut)),
    ];
    if !found.within_bounds.is_empty() {
        let executions: Vec<_> = found.within_bounds.iter().map(|n| number(*n)).collect();
        rows.push(("within bounds 0, 1, ...", executions.join(", ")));
    }
    rows.push(("time", elapsed(args, explored.elapsed)));
    rows.push(("executions per second", per_second(found.executions)));
    key_values(&rows)
}
