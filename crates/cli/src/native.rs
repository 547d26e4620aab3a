//! What executes the steps of a search: native code where this build generates it, the interpreter otherwise.

use std::sync::Arc;

use raddle_machine::{Machine, Program};

/// The compiled steps of a program; none if there is no code generator for this computer in this build, or none for such programs.
#[derive(Clone)]
pub(crate) struct Compiled(Option<Arc<imp::Code>>);

impl Compiled {
    /// Compiles the steps of a program.
    pub(crate) fn new(program: &Program) -> Self {
        Self(imp::compile(program).map(Arc::new))
    }

    /// No step is compiled.
    pub(crate) fn nothing() -> Self {
        Self(None)
    }
}

/// Whether this build generates native code.
pub(crate) const IS_GENERATED: bool = cfg!(feature = "native");

pub(crate) use imp::{Executor, describe, executor, interpreter};

#[cfg(feature = "native")]
mod imp {
    pub(crate) use raddle_native::{Code, NativeMachine as Executor};

    use super::{Compiled, Machine, Program};

    pub(super) fn compile(program: &Program) -> Option<Code> {
        Code::compile(program)
    }

    /// A system that makes the steps of a machine, and uses compiled ones as far as they are there.
    pub(crate) fn executor(machine: Machine, compiled: Compiled) -> Executor {
        Executor::new(machine, compiled.0)
    }

    /// The machine behind it, which knows what was executed.
    pub(crate) fn interpreter(executor: Executor) -> Machine {
        executor.into_interpreter()
    }

    /// What has executed the steps: `native, 12 of 14 places compiled, 31 of 2800 steps interpreted (20 by code that was new, 11 that start a thread)`.
    pub(crate) fn describe(executor: &Executor) -> String {
        let Some(report) = executor.report() else {
            return match executor.why_there_is_none() {
                Some(why) => format!("interpreter ({why})"),
                None => "interpreter".into(),
            };
        };
        let reasons = report.interpreted.reasons();
        let reasons: Vec<String> = reasons
            .map(|(count, reason)| format!("{count} {reason}"))
            .collect();
        let reasons = match reasons.is_empty() {
            true => String::new(),
            false => format!(" ({})", reasons.join(", ")),
        };
        format!(
            "native, {} of {} places compiled, {} of {} steps interpreted{reasons}",
            report.places - report.not_compiled,
            report.places,
            report.interpreted.all(),
            report.steps,
        )
    }
}

#[cfg(not(feature = "native"))]
mod imp {
    pub(crate) use raddle_machine::Machine as Executor;

    use super::{Compiled, Machine, Program};

    /// There is none.
    pub(crate) enum Code {}

    pub(super) fn compile(_: &Program) -> Option<Code> {
        None
    }

    /// A system that makes the steps of a machine.
    pub(crate) fn executor(machine: Machine, compiled: Compiled) -> Executor {
        debug_assert!(compiled.0.is_none(), "this build compiles nothing");
        machine
    }

    /// The machine behind it, which knows what was executed.
    pub(crate) fn interpreter(executor: Executor) -> Machine {
        executor
    }

    /// What has executed the steps.
    pub(crate) fn describe(_: &Executor) -> String {
        "interpreter".into()
    }
}
