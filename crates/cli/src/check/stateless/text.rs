//! What running executions adds to the text for people.

use raddle_report::table::{key_values, number};

use super::super::findings::Details;
use super::super::text::{counted, elapsed};
use super::Examined;
use crate::args::Check;

pub(in super::super) fn details(args: &Check, examined: &Examined) -> Details {
    let statistics = &examined.found.statistics;
    let classes = statistics.classes.unwrap_or(0);
    let of_classes = if classes == 1 { "class" } else { "classes" };
    Details {
        statistics: match args.stats {
            true => statistics_table(args, examined) + "\n",
            false => String::new(),
        },
        numbers: format!(
            "{} of {} {of_classes}, {}, {} ({})",
            counted(statistics.executions, "execution"),
            number(classes),
            counted(statistics.steps.unwrap_or(0), "step"),
            elapsed(args, statistics.elapsed),
            examined.exploration.name(),
        ),
        plan: Vec::new(),
        remarks: Vec::new(),
        told: None,
    }
}

fn statistics_table(args: &Check, examined: &Examined) -> String {
    let statistics = &examined.found.statistics;
    let seconds = statistics.elapsed.as_secs_f64().max(1e-9);
    let per_second = |count: u64| number((count as f64 / seconds) as u64);
    let if_counted = |count: Option<u64>| count.map_or_else(|| "not counted".into(), number);
    let mut rows = vec![
        ("executions", number(statistics.executions)),
        ("classes", if_counted(statistics.classes)),
        ("steps", if_counted(statistics.steps)),
        ("longest execution", if_counted(statistics.longest)),
        ("terminated", number(statistics.ends.terminated)),
        ("deadlocked", number(statistics.ends.deadlocked)),
        ("failed", number(statistics.ends.failed)),
        ("cut by assume", number(statistics.ends.cut)),
    ];
    if !statistics.within_bounds.is_empty() {
        let executions: Vec<_> = statistics
            .within_bounds
            .iter()
            .map(|n| number(*n))
            .collect();
        rows.push(("within bounds 0, 1, ...", executions.join(", ")));
    }
    rows.push(("time", elapsed(args, statistics.elapsed)));
    rows.push(("executions per second", per_second(statistics.executions)));
    key_values(&rows)
}
