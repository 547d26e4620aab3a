//! `raddle-bench compare`: Raddle beside SPIN on the same models.

mod json;
mod print;

use crate::args::{Compare, Format};
use crate::measure::{Comparison, Tools};
use crate::model::{self, Sizes};
use crate::raddle::Raddle;
use crate::{Result, spin, work_directory};

/// Measures and prints; gives whether the tools agree.
pub(crate) fn compare(args: &Compare) -> Result<bool> {
    let measured = &args.measured;
    let sizes = match args.small {
        true => Sizes::Small,
        false => Sizes::Measured,
    };
    let models = model::selected(sizes, &measured.model)?;
    let has_spin = !args.no_spin && spin::is_installed();
    if !has_spin && !args.no_spin {
        eprintln!("{}", spin::HOW_TO_INSTALL);
    }
    let tools = Tools {
        raddle: Raddle::asked_for(measured)?,
        spin: has_spin,
    };
    let work = work_directory()?;
    let mut comparisons = Vec::new();
    for model in models {
        eprintln!("{} ...", model.name);
        comparisons.push(tools.compare(model, &work, args.repeat)?);
    }
    let (table, note) = print::table(&comparisons);
    match measured.format {
        Format::Text => print!("{}\n{note}", table.text()),
        Format::Markdown => print!("{}\n{note}", table.markdown()),
        Format::Json => println!("{}", json::json(&comparisons, &measured.raddle_args())?),
    }
    let disagreements: Vec<&str> = (comparisons.iter())
        .filter(|comparison| !comparison.agrees())
        .map(|comparison: &Comparison| comparison.model)
        .collect();
    if !disagreements.is_empty() {
        eprintln!("the tools disagree on: {}", disagreements.join(", "));
    }
    Ok(disagreements.is_empty())
}
