//! What running executions has shown, for people.

use raddle_machine::Program;
use raddle_report::style::Role;
use raddle_report::table::{key_values, number};

use super::super::property_names;
use super::super::text::{elapsed, headline, stories, warn_unreached};
use super::Findings;
use crate::args::Check;
use crate::terminal::Terminal;

pub(super) use super::super::text::counted;

pub(in super::super) fn text(
    args: &Check,
    program: &Program,
    findings: &Findings,
    terminal: Terminal,
) -> String {
    let mut text = stories(&findings.stories, terminal);
    if terminal.is_quiet() {
        return text;
    }
    warn_unreached(program, &findings.unreached, terminal);
    if args.stats {
        text += &statistics_table(args, findings);
        text += "\n";
    }
    text + &summary(args, findings, terminal)
}

fn summary(args: &Check, findings: &Findings, terminal: Terminal) -> String {
    let found = &findings.found;
    let (role, verdict) = match findings.verified_up_to_bound() {
        Some(bound) => (Role::Warning, format!("verified up to bound {bound}")),
        None => headline(findings.verdict(), findings.stories.len()),
    };
    let verdict = terminal.palette().paint(role, &verdict);
    let classes = if found.classes == 1 {
        "class"
    } else {
        "classes"
    };
    let mut lines = vec![format!(
        "{verdict}: {} of {} {classes}, {}, {} ({})",
        counted(found.executions, "execution"),
        number(found.classes),
        counted(found.steps, "step"),
        elapsed(args, findings.elapsed),
        findings.exploration.name(),
    )];
    let mut remark = |remark: String| lines.push(format!("  {remark}"));
    if !args.asked.property.is_empty() {
        let names = property_names(findings.exploration.properties, args);
        remark(format!("checked: {}", names.join(", ")));
    }
    if let Some(reason) = &findings.reason {
        remark(reason.clone());
    } else if found.cut > 0 {
        remark(format!(
            "{} cut by `assume`",
            counted(found.cut, "execution")
        ));
    }
    lines.join("\n") + "\n"
}

fn statistics_table(args: &Check, findings: &Findings) -> String {
    let found = &findings.found;
    let seconds = findings.elapsed.as_secs_f64().max(1e-9);
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
    rows.push(("time", elapsed(args, findings.elapsed)));
    rows.push(("executions per second", per_second(found.executions)));
    key_values(&rows)
}
