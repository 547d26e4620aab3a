//! One program through one reduction.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use raddle_explore::lock_order::Deadlocks;
use raddle_explore::{Outcome, Property, PropertySet, Search, Statistics, not_preserved};
use raddle_machine::narrate::Narrator;
use raddle_machine::{Machine, Program};
use raddle_outcome::Explored;
use raddle_report::answer::Answer;
use raddle_report::story::Spot;

use super::agreement::{Answers, Finding, Question};
use crate::args::{Compare, SymmetryArg, goals_wanted, properties};
use crate::native::{self, Compiled};
use crate::progress::ProgressLine;
use crate::terminal::Terminal;
use crate::{memory, reduction};

/// What one reduction did with a program.
pub(super) struct Row {
    pub(super) reduction: &'static str,
    pub(super) sound: bool,
    pub(super) answers: Answers,
    /// What it was asked.
    pub(super) asked: Vec<Question>,
    /// What was not even asked, as the reduction does not preserve it.
    pub(super) not_checked: PropertySet,
    /// Whether the order of locks excludes deadlocks, if those were not checked.
    pub(super) deadlock_excluded: Option<bool>,
    /// What was explored, for what was asked.
    pub(super) explored: Explored<Spot>,
    pub(super) statistics: Statistics,
    /// As they are to be counted.
    pub(super) transitions: u64,
}

impl Row {
    /// What it says.
    pub(super) fn answer(&self) -> Answer {
        Answer::of(&self.explored, self.answers.findings.len())
    }

    /// States between those that were stored, if the reduction counts them.
    pub(super) fn interior_states(&self) -> Option<u64> {
        let visited = reduction::visited(self.reduction, &self.statistics)?;
        Some(visited - self.statistics.states)
    }
}

/// Searches a program with a reduction.
pub(super) fn run(
    name: &str,
    args: &Compare,
    program: &Arc<Program>,
    terminal: Terminal,
    cancel: &Arc<AtomicBool>,
) -> Row {
    let mut reduction = reduction::by_name(name).expect("names were looked up before");
    reduction.count_visited();
    let asked = properties(&args.asked.property);
    let preserves = reduction.preserves();
    let sound = name != reduction::UNSOUND;
    // An unsound reduction is asked what its sound relatives are.
    let comparable = match sound {
        true => preserves,
        false => PropertySet::SAFETY
            .without(Property::Deadlock)
            .without(Property::Race),
    };
    let not_checked = asked.minus(comparable);
    let checked = asked.minus(not_checked);

    let granularity = args.step.granularity.granularity();
    let machine = Machine::new(Arc::clone(program), granularity)
        .with_disciplines(asked.contains(Property::Discipline))
        .with_symmetry(args.symmetry == SymmetryArg::On);
    let mut executor = native::executor(machine, Compiled::new(program));
    let mut line = ProgressLine::about(name, terminal);
    let mut search = Search::new()
        .order(args.search.order())
        .properties(checked)
        .collect_all()
        .timeout(args.timeout)
        .cancel(Arc::clone(cancel));
    if let Some(workers) = args.workers {
        search = search.workers(workers);
    }
    if let Some(states) = args.limits.max_states {
        search = search.max_states(states);
    }
    if let Some(memory) = args.limits.max_memory.or_else(memory::half_of_all) {
        search = search.max_memory(memory);
    }
    if let Some(line) = &mut line {
        search = search.on_progress(|progress| line.show(progress));
    }
    let mut outcome = search.run(&mut executor, reduction.as_mut());
    let machine = native::interpreter(executor);

    let goals = goals_wanted(&args.asked.property);
    let complete = outcome.explored.cut().is_none();
    let mut findings = violations(&outcome, program);
    if complete && goals {
        findings.extend(unreached_goals(&machine, program));
    }
    let deadlock_excluded = (outcome.noticed.deadlocks.as_ref())
        .filter(|_| not_checked.contains(Property::Deadlock))
        .map(|deadlocks| *deadlocks == Deadlocks::Excluded);
    // What the order of locks excludes need not be looked for.
    let excluded = PropertySet::NONE.with(Property::Deadlock);
    let open = match deadlock_excluded {
        Some(true) => not_checked.minus(excluded),
        _ => not_checked,
    };
    let lost = checked.minus(preserves).with_all(open);
    not_preserved(&mut outcome.explored, lost);
    let narrator = Narrator::new(machine);
    let explored = outcome.explored;
    let explored = explored.map_places(|place| narrator.statement_spot(place));
    let questions = checked.iter().map(Question::Property);
    Row {
        reduction: outcome.asked.reduction,
        sound,
        asked: questions.chain(goals.then_some(Question::Goal)).collect(),
        not_checked,
        deadlock_excluded,
        explored,
        transitions: args.counting.transitions(&outcome.statistics),
        statistics: outcome.statistics,
        answers: Answers {
            preserves: checked.minus(checked.minus(preserves)),
            goals: goals && sound,
            excludes_deadlocks: deadlock_excluded == Some(true),
            complete,
            findings: findings.into_iter().collect(),
        },
    }
}

fn violations(outcome: &Outcome, program: &Program) -> Vec<Finding> {
    let finding = |violation: &raddle_explore::Violation| {
        let question = Question::Property(violation.property());
        let place = violation.places().first().copied();
        Finding {
            question,
            at: place
                .filter(|_| question.is_about_places())
                .map(|place| line_column(program, program.span(place))),
        }
    };
    outcome.violations.iter().map(finding).collect()
}

fn unreached_goals(machine: &Machine, program: &Program) -> Vec<Finding> {
    let goals = machine.unreached_goals().into_iter();
    goals
        .map(|goal| Finding {
            question: Question::Goal,
            at: Some(line_column(program, program.checked().goals[goal].span)),
        })
        .collect()
}

fn line_column(program: &Program, span: raddle_lang::Span) -> (u32, u32) {
    let at = program.source().line_column(span.start);
    (at.line, at.column)
}
