//! [`Findings`]: what a check has to tell, whichever way it was made.

use raddle_explore::{PropertySet, Violation};
use raddle_lang::Span;
use raddle_machine::Program;
use raddle_outcome::{Explored, Kind, Nature, Verdict};
use raddle_report::answer::Answer;
use raddle_report::assumptions;
use raddle_report::graph::Graph;
use raddle_report::json::{self, CheckReport, ViolationKind};
use raddle_report::lanes;
use raddle_report::story::{Spot, Story};

use super::{Counterexample, first_line, property_names};
use crate::args::Check;
use crate::memory;
use crate::terminal::Terminal;

/// What a check has found. The verdict, the reports and the exit code follow from it.
pub(super) struct Findings {
    /// What was explored, and what that rests on.
    pub(super) explored: Explored<Spot>,
    /// The properties that were checked.
    pub(super) checked: PropertySet,
    /// The violations, those of goals included.
    pub(super) stories: Vec<(ViolationKind, Story)>,
    /// The violation that the first story tells, if it has a schedule.
    pub(super) violation: Option<Violation>,
    /// The graph that the first story tells, if it was found as one.
    pub(super) picture: Option<Graph>,
    /// Statements that no execution gets to.
    pub(super) unreached: Vec<Span>,
    /// Where threads go on for ever, if no execution ends.
    pub(super) never_ends: Option<Vec<Spot>>,
}

/// What a way to check adds to the text.
pub(super) struct Details {
    /// Tables, if they are asked for.
    pub(super) statistics: String,
    /// What comes after the verdict: `19 states, 18 transitions, ... (full, bfs)`.
    pub(super) numbers: String,
    /// How it was done.
    pub(super) plan: Vec<String>,
    /// What else there is to say.
    pub(super) remarks: Vec<String>,
    /// A reason that the plan has told.
    pub(super) told: Option<Kind>,
}

impl Findings {
    pub(super) fn answer(&self) -> Answer {
        Answer::of(&self.explored, self.stories.len())
    }

    pub(super) fn into_counterexample(self) -> Option<Counterexample> {
        let (kind, story) = self.stories.into_iter().next()?;
        Some((self.violation?, kind, story))
    }

    /// The report, of which a way to check knows the rest.
    pub(super) fn report(
        &self,
        args: &Check,
        program: &Program,
        diagnostics: Vec<json::Diagnostic>,
        rest: CheckReport,
    ) -> CheckReport {
        let stories = self.stories.iter();
        let violations = stories.map(|(kind, story)| json::Violation::new(*kind, story));
        let answer = CheckReport::of(&self.explored, violations.collect());
        CheckReport {
            verdict: answer.verdict,
            reason: answer.reason,
            assumptions: answer.assumptions,
            violations: answer.violations,
            file: program.source().name.clone(),
            granularity: args.step.granularity.name().into(),
            properties: property_names(self.checked, args),
            peak_memory_bytes: memory::peak_bytes(),
            unreached: unreached(program, &self.unreached),
            never_ends: self
                .never_ends
                .as_ref()
                .map(|spots| spots.iter().map(json::Unreached::from).collect()),
            diagnostics,
            ..rest
        }
    }

    /// The text; warnings go to standard error.
    pub(super) fn text(
        &self,
        args: &Check,
        program: &Program,
        details: &Details,
        terminal: Terminal,
    ) -> String {
        let mut text = String::new();
        for (kind, story) in &self.stories {
            text += &match kind {
                ViolationKind::Goal => lanes::render_ending(story, &terminal.lanes()),
                _ => lanes::render(story, &terminal.lanes()),
            };
            text += "\n";
        }
        if terminal.is_quiet() {
            return text;
        }
        warn_unreached(program, &self.unreached, terminal);
        if let Some(places) = &self.never_ends {
            warn_never_ends(places, terminal);
        }
        text + &details.statistics + &self.summary(args, details, terminal)
    }

    fn summary(&self, args: &Check, details: &Details, terminal: Terminal) -> String {
        let answer = self.answer();
        let verdict = terminal.palette().paint(answer.role(), &answer.headline());
        let mut lines = vec![format!("{verdict}: {}", details.numbers)];
        let mut remark = |remark: &str| lines.push(format!("  {remark}"));
        for line in &details.plan {
            remark(line);
        }
        if !args.asked.property.is_empty() {
            let names = property_names(self.checked, args);
            remark(&format!("checked: {}", names.join(", ")));
        }
        for line in &details.remarks {
            remark(line);
        }
        for line in self.rests_on(answer, args, details) {
            remark(&line);
        }
        lines.join("\n") + "\n"
    }

    /// What the verdict rests on, as far as people need to know.
    fn rests_on(&self, answer: Answer, args: &Check, details: &Details) -> Vec<String> {
        let all = self.explored.assumptions();
        if let Some(reason) = answer.reason {
            let is_reason = |kind: Kind| kind.makes_incomplete();
            let mut reasons = all
                .iter()
                .map(|one| one.kind)
                .filter(|kind| is_reason(*kind));
            let is_told = details
                .told
                .is_some_and(|told| reasons.all(|kind| kind == told));
            return if is_told { Vec::new() } else { vec![reason] };
        }
        let is_limit = |kind: Kind| kind.nature() == Nature::Limit && Some(kind) != details.told;
        let limits = assumptions::lines(all, is_limit);
        if answer.verdict == Verdict::Violation && args.all && !limits.is_empty() {
            return vec![format!("there may be more: {}", limits.join("; "))];
        }
        // A violation is one whatever executions the memory model leaves out.
        let is_violation = answer.verdict == Verdict::Violation;
        let matters = |kind: Kind| !(is_violation && kind == Kind::LoadBuffering);
        assumptions::lines(all, |kind| kind.nature() == Nature::Given && matters(kind))
    }
}

/// Places that no execution gets to.
fn unreached(program: &Program, spans: &[Span]) -> Vec<json::Unreached> {
    let source = program.source();
    spans
        .iter()
        .map(|span| {
            let at = source.line_column(span.start);
            json::Unreached {
                file: source.name.clone(),
                line: at.line,
                column: at.column,
                text: first_line(source.snippet(*span)),
            }
        })
        .collect()
}

fn warn_unreached(program: &Program, unreached: &[Span], terminal: Terminal) {
    const MOST: usize = 10;
    let source = program.source();
    for span in unreached.iter().take(MOST) {
        let at = source.line_column(span.start);
        let text = first_line(source.snippet(*span));
        // Whether it was reached, and never let anybody pass, is not known; this holds either way.
        let waits = ["assume", "await"].iter().any(|word| {
            let rest = text.strip_prefix(word).map(str::trim_start);
            rest.is_some_and(|rest| rest.starts_with('('))
        });
        let never = if waits { "passed" } else { "reached" };
        terminal.warning(&format!(
            "never {never}: {}:{}:{}: {text}",
            source.name, at.line, at.column,
        ));
    }
    if unreached.len() > MOST {
        let more = unreached.len() - MOST;
        terminal.warning(&format!(
            "never reached: {more} more places (see --format json)"
        ));
    }
}

/// Says that the program never ends, and where it goes round.
fn warn_never_ends(places: &[Spot], terminal: Terminal) {
    const MOST: usize = 3;
    let hint = "(--property termination shows how)";
    if places.is_empty() {
        terminal.warning(&format!("no execution ends {hint}"));
    }
    for at in places.iter().take(MOST) {
        terminal.warning(&format!(
            "no execution ends: {}:{}:{}: {} goes on for ever {hint}",
            at.file, at.line, at.column, at.text
        ));
    }
}
