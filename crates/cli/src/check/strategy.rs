//! Which searches answer for what was asked, and what is wrong with the question.

use raddle_explore::interior::Completion;
use raddle_explore::reductions::auto::{self, Locks, Plan};
use raddle_explore::reductions::cartesian::CycleTest;
use raddle_explore::{PropertySet, reductions};
use raddle_machine::Program;

use crate::args::{Check, properties};
use crate::native::Executor;
use crate::reduction;

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// What seems best.
    Auto(Plan),
    /// What the user wants.
    Fixed {
        reduction: String,
        properties: PropertySet,
        /// Default properties that the reduction does not preserve.
        lost: PropertySet,
    },
}

impl Strategy {
    /// The same, now that the program is known.
    pub(super) fn for_program(self, args: &Check, program: &Program) -> Self {
        let locks = match program.has_locks() {
            true => Locks::Some,
            false => Locks::None,
        };
        match self {
            Self::Auto(_) => {
                let asked = properties(&args.asked.property);
                Self::Auto(auto::plan::<Executor>(asked, locks))
            }
            fixed @ Self::Fixed { .. } => fixed,
        }
    }
}

/// What the arguments ask for, or what is wrong with them.
pub(super) fn strategy(args: &Check) -> Result<Strategy, String> {
    let asked = properties(&args.asked.property);
    let name = named(args)?;
    if name == "auto" {
        return Ok(Strategy::Auto(auto::plan::<Executor>(asked, Locks::Some)));
    }
    if name == reduction::UNSOUND {
        return Err(
            "transactions without a completion are unsound: what happens after one that goes on \
             for ever is not looked at; `raddle compare` shows what they miss"
                .into(),
        );
    }
    let Some(reduction) = reduction::by_name(&name) else {
        return Err(format!(
            "there is no reduction `{name}`; there are: auto, {}",
            reduction::names().join(", ")
        ));
    };
    let lost = asked.minus(reduction.preserves());
    if !lost.is_empty() && !args.asked.property.is_empty() {
        let fit = reductions::preserving::<Executor>(asked).join(", ");
        return Err(format!(
            "the reduction `{name}` does not preserve: {lost}; these do: {fit} (and `auto` \
             chooses)"
        ));
    }
    Ok(Strategy::Fixed {
        reduction: name,
        properties: asked.minus(lost),
        lost,
    })
}

/// The name of the reduction, with its options.
fn named(args: &Check) -> Result<String, String> {
    let name = args.reduction.as_str();
    let is_transactions = name == reduction::transactions(Completion::default());
    let is_cartesian = name == reduction::cartesian(CycleTest::default());
    match (args.completion, args.cycle_test) {
        (Some(_), _) if !is_transactions => {
            Err("`--completion` is an option of `--reduction transactions`".into())
        }
        (_, Some(_)) if !is_cartesian => {
            Err("`--cycle-test` is an option of `--reduction cartesian`".into())
        }
        (Some(completion), _) => Ok(reduction::transactions(completion.completion()).into()),
        (None, Some(cycle_test)) => Ok(reduction::cartesian(cycle_test.cycle_test()).into()),
        (None, None) => Ok(name.into()),
    }
}
