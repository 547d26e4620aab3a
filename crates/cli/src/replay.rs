//! `raddle replay`, and the trace files that it reads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use raddle_explore::{Action, Choice, Position, Violation, repeats_fairly};
use raddle_machine::narrate::{Narrator, Told};
use raddle_machine::{Granularity, Machine, Program};
use raddle_outcome::Verdict;
use raddle_report::json::{
    self, CheckReport, ScheduledMove, TraceFile, TracedProgram, TracedViolation, ViolationKind,
};
use raddle_report::lanes;
use raddle_report::story::Story;

use crate::Exit;
use crate::args::{GranularityArg, Replay};
use crate::debugger::Debugger;
use crate::load::{Loaded, STANDARD_INPUT, load};
use crate::terminal::{Terminal, print};
use crate::{picture, tell};

/// The trace file of a violation.
pub(crate) fn trace_file(
    program: &Program,
    granularity: GranularityArg,
    violation: &Violation,
    kind: ViolationKind,
    story: &Story,
) -> TraceFile {
    let source = program.source();
    let place = json::Violation::new(kind, story);
    TraceFile::new(
        TracedProgram {
            file: source.name.clone(),
            hash: fingerprint(&source.text),
        },
        granularity.name(),
        violation
            .schedule
            .iter()
            .map(|step| ScheduledMove {
                thread: step.thread.0,
                choice: step.choice.0,
            })
            .collect(),
        TracedViolation {
            kind,
            message: place.message,
            line: place.line,
            column: place.column,
            repeats_from: story.ending.repeats_from,
        },
    )
}

/// Tells whether a text has changed (FNV-1a; nobody forges traces).
fn fingerprint(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("fnv1a:{hash:016x}")
}

/// A trace and the program that it is about.
pub(crate) struct Traced {
    pub(crate) program: Arc<Program>,
    pub(crate) granularity: Granularity,
    pub(crate) schedule: Vec<Action>,
    pub(crate) expected: TracedViolation,
    granularity_name: &'static str,
    diagnostics: Vec<json::Diagnostic>,
    changed: bool,
}

impl Traced {
    /// Starts the execution.
    pub(crate) fn narrator(&self) -> Narrator {
        let narrator = |disciplines: bool| {
            let machine = Machine::new(Arc::clone(&self.program), self.granularity);
            Narrator::new(machine.with_disciplines(disciplines))
        };
        // The trace may come from a check that did not ask for disciplines. Then it may break them,
        // or not fit a machine that remembers who accesses what.
        let mut enforcing = narrator(true);
        let mut keeps_disciplines = || {
            let mut steps = self.schedule.iter().map(|step| enforcing.step(*step));
            steps.all(|told| match told {
                Told::Moved(_) => true,
                Told::Failed(_, fault) => {
                    tell::failure_kind(&fault) != Some(ViolationKind::Discipline)
                }
                Told::Impossible => false,
            })
        };
        narrator(self.expected.kind == ViolationKind::Discipline || keeps_disciplines())
    }
}

pub(crate) fn replay(args: &Replay) -> Exit {
    let terminal = Terminal::new(args.output, args.drawing);
    if args.interactive && terminal.is_json() {
        let problem = "--interactive is for people: leave out --format json";
        return fail(args, terminal, problem.to_owned().into());
    }
    match open(args, terminal).and_then(|traced| run(args, &traced, terminal)) {
        Ok(exit) => exit,
        Err(problem) => fail(args, terminal, problem),
    }
}

fn fail(args: &Replay, terminal: Terminal, problem: Problem) -> Exit {
    if !problem.printed {
        terminal.error(&problem.message);
    }
    if terminal.is_json() {
        let report = CheckReport {
            verdict: Verdict::Error,
            reason: Some(problem.message),
            file: args.file.display().to_string(),
            diagnostics: problem.diagnostics,
            ..CheckReport::default()
        };
        print(&report.to_json());
    }
    Exit::ERROR
}

/// Why a trace cannot be replayed.
struct Problem {
    message: String,
    printed: bool,
    diagnostics: Vec<json::Diagnostic>,
}

impl From<String> for Problem {
    fn from(message: String) -> Self {
        Self {
            message,
            printed: false,
            diagnostics: Vec::new(),
        }
    }
}

fn open(args: &Replay, terminal: Terminal) -> Result<Traced, Problem> {
    let shown = args.file.display();
    let text = std::fs::read_to_string(&args.file)
        .map_err(|error| format!("cannot read {shown}: {error}"))?;
    let trace = TraceFile::parse(&text).map_err(|error| match args.file.extension() {
        Some(extension) if extension == "rad" => format!(
            "{shown} is a program, not a trace: write one with `raddle check {shown} --trace FILE`"
        ),
        _ => format!("{shown}: {error}"),
    })?;
    let granularity = GranularityArg::from_name(&trace.granularity)
        .ok_or_else(|| format!("{shown}: unknown granularity `{}`", trace.granularity))?;
    let path = match &args.program {
        Some(path) => path.clone(),
        None if trace.program.file == STANDARD_INPUT => {
            let what = "the program was read from standard input; name it with --program";
            return Err(format!("{shown}: {what}").into());
        }
        None => find_program(&trace.program.file, &args.file),
    };
    let Loaded {
        program,
        diagnostics,
    } = load(&path, terminal, None).map_err(|not_loaded| Problem {
        message: not_loaded.reason,
        printed: true,
        diagnostics: not_loaded.diagnostics,
    })?;
    let changed = fingerprint(&program.source().text) != trace.program.hash;
    if changed && !terminal.is_quiet() {
        terminal.warning("the program has changed since the trace was written");
    }
    let schedule = trace.schedule.iter().map(|step| Action {
        thread: Position(step.thread),
        choice: Choice(step.choice),
    });
    Ok(Traced {
        program,
        granularity: granularity.granularity(),
        granularity_name: granularity.name(),
        schedule: schedule.collect(),
        expected: trace.violation,
        diagnostics,
        changed,
    })
}

/// The program as the trace names it, or beside the trace.
fn find_program(named: &str, trace: &Path) -> PathBuf {
    let path = PathBuf::from(named);
    if !path.exists()
        && let (Some(folder), Some(name)) = (trace.parent(), path.file_name())
        && folder.join(name).exists()
    {
        return folder.join(name);
    }
    path
}

fn run(args: &Replay, traced: &Traced, terminal: Terminal) -> Result<Exit, Problem> {
    let story = retell(traced)?;
    if let Some(path) = &args.graph {
        let machine = traced.narrator().machine().clone();
        let graph = picture::of_schedule(machine, &traced.schedule, &story);
        picture::write(path, &graph)?;
    }
    if args.interactive {
        Debugger::new(traced, &story, terminal).run();
    } else if terminal.is_json() {
        let report = CheckReport {
            verdict: Verdict::Violation,
            file: traced.program.source().name.clone(),
            search: "replay".into(),
            granularity: traced.granularity_name.into(),
            depth: story.steps.len() as u64,
            violations: vec![json::Violation::new(traced.expected.kind, &story)],
            diagnostics: traced.diagnostics.clone(),
            ..CheckReport::default()
        };
        print(&report.to_json());
    } else {
        print(&lanes::render(&story, &terminal.lanes()));
    }
    Ok(Exit::of(Verdict::Violation))
}

/// Runs the schedule, and makes sure that it still ends as the trace says.
fn retell(traced: &Traced) -> Result<Story, Problem> {
    let why = if traced.changed {
        "the program has changed since the trace was written"
    } else {
        "the trace was written by hand, or by another version"
    };
    let misfit = |what: String| {
        Problem::from(format!(
            "the trace no longer fits the program: {what} ({why}); run `raddle check` again"
        ))
    };
    let mut narrator = traced.narrator();
    let mut steps = Vec::new();
    let mut failure = None;
    for (number, &step) in traced.schedule.iter().enumerate() {
        if failure.is_some() {
            return Err(misfit(format!("step {number} fails, and is not the last")));
        }
        match narrator.step(step) {
            Told::Moved(event) => steps.push(event),
            Told::Failed(event, fault) => {
                failure = Some((event.thread, fault));
                steps.push(event);
            }
            Told::Impossible => {
                return Err(misfit(format!("step {} cannot be taken", number + 1)));
            }
        }
    }
    let expected = &traced.expected;
    let ending = match (expected.kind, &failure) {
        (kind, Some((lane, fault))) if Some(kind) == tell::failure_kind(fault) => {
            Some(tell::failure(&narrator, *lane, fault))
        }
        (ViolationKind::Deadlock, None) => tell::deadlock(&mut narrator),
        (ViolationKind::Invariant, None) => tell::broken_invariant(&mut narrator),
        (ViolationKind::Race, None) => tell::race(&mut narrator),
        (ViolationKind::Termination, None) => expected
            .repeats_from
            .filter(|&from| {
                let mut machine = narrator.machine().clone();
                repeats_fairly(&mut machine, &traced.schedule, from)
            })
            .map(|from| tell::endless(&mut narrator, from, &tell::lanes_from(&steps, from))),
        (expected, None) => {
            let mut failed = tell::failed_starts(&mut narrator).into_iter();
            let found = failed.find(|(kind, ending)| {
                *kind == expected && ending.message == traced.expected.message
            });
            found.map(|(_, ending)| ending)
        }
        _ => None,
    };
    let ending = ending
        .filter(|ending| ending.message == expected.message)
        .ok_or_else(|| misfit(format!("it ends without \"{}\"", expected.message)))?;
    Ok(Story {
        threads: narrator.threads().to_vec(),
        steps,
        ending,
    })
}
