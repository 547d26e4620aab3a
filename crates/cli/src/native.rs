//! Native code for the steps of a program, where this build generates it.

use std::sync::Arc;

use raddle_machine::native::NativeCode;
use raddle_machine::{Machine, Program};

/// The compiled steps of a program; none if there is no code generator for this computer in this build.
#[cfg(feature = "native")]
pub(crate) fn compile(program: &Program) -> Option<Arc<dyn NativeCode>> {
    raddle_native::compile(program)
}

/// None: this build has no code generator.
#[cfg(not(feature = "native"))]
pub(crate) fn compile(_: &Program) -> Option<Arc<dyn NativeCode>> {
    None
}

/// What has executed the steps of a machine: `native, 12 of 14 places compiled, 31 of 2800 steps interpreted`.
pub(crate) fn describe(machine: &Machine) -> String {
    let Some(report) = machine.native_report() else {
        return "interpreter".into();
    };
    format!(
        "native, {} of {} places compiled, {} of {} steps interpreted",
        report.places - report.not_compiled,
        report.places,
        report.interpreted,
        report.steps,
    )
}
