//! The values of options: properties, numbers, sizes and times.

use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use raddle_explore::{HashWidth, Property, PropertySet, StoreKind};
use raddle_schedule::explorers::{ALL, Entry, by_name};

/// One word of `--property`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PropertyArg {
    All,
    /// Goals are not looked for by the search: it tells afterwards what was never reached.
    Goal,
    One(Property),
}

/// Whether goals that are never reached are to be reported.
pub(crate) fn goals_wanted(words: &[PropertyArg]) -> bool {
    let mentioned = |word: &PropertyArg| matches!(word, PropertyArg::All | PropertyArg::Goal);
    words.is_empty() || words.iter().any(mentioned)
}

/// The set that the words stand for; the default if there are none.
pub(crate) fn properties(words: &[PropertyArg]) -> PropertySet {
    if words.is_empty() {
        return PropertySet::default();
    }
    words
        .iter()
        .fold(PropertySet::NONE, |set, word| match word {
            // Many programs are meant to go on for ever.
            PropertyArg::All => set.with_all(PropertySet::SAFETY),
            PropertyArg::Goal => set,
            PropertyArg::One(property) => set.with(*property),
        })
}

/// What `--explore` runs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Explore {
    /// Executions, as sequences of steps.
    Executions(&'static Entry),
    /// Execution graphs.
    Graphs,
}

impl Explore {
    /// What `--explore` calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Executions(entry) => entry.name,
            Self::Graphs => "graphs",
        }
    }
}

/// The explorers of the registry, by their names, and that of execution graphs.
pub(super) fn explorer() -> impl TypedValueParser<Value = Explore> {
    const GRAPHS: &str =
        "Each execution graph of a memory model once (`--memory`; rc11 if none is named)";
    let names = ALL
        .iter()
        .map(|entry| PossibleValue::new(entry.name).help(entry.runs));
    let names = names.chain([PossibleValue::new(Explore::Graphs.name()).help(GRAPHS)]);
    PossibleValuesParser::new(names)
        .map(|name| by_name(&name).map_or(Explore::Graphs, Explore::Executions))
}

pub(super) fn property(text: &str) -> Result<PropertyArg, String> {
    if text == "all" {
        return Ok(PropertyArg::All);
    }
    let singular = text.strip_suffix('s').unwrap_or(text);
    if singular == "goal" {
        return Ok(PropertyArg::Goal);
    }
    Property::from_name(text)
        .or_else(|| Property::from_name(singular))
        .map(PropertyArg::One)
        .ok_or_else(|| {
            let names: Vec<_> = Property::ALL
                .iter()
                .map(|property| property.name())
                .collect();
            format!(
                "there is no such property; there are: {}, goal, all (which is all but termination)",
                names.join(", ")
            )
        })
}

/// A positive number, also as `1_000_000`, `500k` or `2M`.
pub(super) fn count(text: &str) -> Result<u64, String> {
    let (digits, factor) = split_unit(
        text,
        &[("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)],
    );
    number(digits, factor)
}

/// The size of a table of bits, unless it is given.
const BITS: u64 = 256 << 20;

/// Where states are kept.
pub(super) fn store(text: &str) -> Result<StoreKind, String> {
    match text.split_once(':') {
        Some(("bits", bytes)) => Ok(StoreKind::Bits(size(bytes)?)),
        Some(("fingerprint", "64")) => Ok(StoreKind::Fingerprint(HashWidth::Bits64)),
        Some(("fingerprint", "128")) => Ok(StoreKind::Fingerprint(HashWidth::Bits128)),
        _ => match text {
            "auto" => Ok(StoreKind::Auto),
            "flat" => Ok(StoreKind::Flat),
            "tree" => Ok(StoreKind::Tree),
            "compact" => Ok(StoreKind::Compact),
            "fingerprint" => Ok(StoreKind::Fingerprint(HashWidth::default())),
            "bits" => Ok(StoreKind::Bits(BITS)),
            _ => Err(
                "there is no such store; there are: auto, flat, tree, compact, fingerprint, \
                 fingerprint:64, fingerprint:128, bits, bits:SIZE"
                    .into(),
            ),
        },
    }
}

/// A number of threads.
pub(super) fn workers(text: &str) -> Result<usize, String> {
    const MOST: usize = 1024;
    match text.parse() {
        Ok(workers @ 1..=MOST) => Ok(workers),
        _ => Err(format!("a number from 1 to {MOST} is needed")),
    }
}

/// How many events have to come in the right order.
pub(super) fn depth(text: &str) -> Result<u32, String> {
    const MOST: u32 = 1000;
    match text.parse() {
        Ok(depth @ 1..=MOST) => Ok(depth),
        _ => Err(format!("a number from 1 to {MOST} is needed")),
    }
}

/// A number of bytes, also as `512K`, `512M`, `1.5G`, in either case, with or without a space.
/// `M` and `MiB` are 1024 × 1024 bytes, `MB` is a million, as in the tools of GNU.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let needed = || "a size is needed, such as 512M, 4G or 1.5GiB".to_owned();
    let text = text.trim().to_ascii_lowercase();
    let unit = text.find(|c: char| c.is_ascii_alphabetic());
    let (digits, unit) = text.split_at(unit.unwrap_or(text.len()));
    let (prefix, base) = match unit.strip_suffix("ib") {
        Some(prefix) => (prefix, 1024),
        None => match unit.strip_suffix('b') {
            Some(prefix) => (prefix, 1000),
            None => (unit, 1024),
        },
    };
    let power = match prefix {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return Err(needed()),
    };
    let factor = u64::pow(base, power);
    if digits.contains('.') {
        let number: f64 = digits.trim().parse().map_err(|_| needed())?;
        // No size that a machine has loses a byte here, and none is negative.
        return match number * factor as f64 {
            bytes if (1.0..9e18).contains(&bytes) => Ok(bytes as u64),
            _ => Err("this size is out of range".into()),
        };
    }
    number(digits, factor)
}

fn split_unit<'t>(text: &'t str, units: &[(&str, u64)]) -> (&'t str, u64) {
    units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))
        .unwrap_or((text, 1))
}

fn number(digits: &str, factor: u64) -> Result<u64, String> {
    let digits = digits.trim().replace('_', "");
    let number: u64 = digits
        .parse()
        .map_err(|_| "a whole number is needed, such as 1000000, 500k or 2M".to_owned())?;
    match number.checked_mul(factor) {
        Some(0) => Err("it must be more than zero".into()),
        Some(number) => Ok(number),
        None => Err("this number is too large".into()),
    }
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let units = [
        ("ms", 0.001),
        ("s", 1.0),
        ("m", 60.0),
        ("min", 60.0),
        ("h", 3600.0),
    ];
    let (digits, factor) = units
        .iter()
        .filter_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))
        .find(|(digits, _)| digits.parse::<f64>().is_ok())
        .unwrap_or((text, 1.0));
    let seconds = digits
        .trim()
        .parse::<f64>()
        .ok()
        .map(|number| number * factor);
    seconds
        .filter(|seconds| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "a time is needed, such as 30s, 5m or 1h".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sizes_and_times_have_units() {
        assert_eq!(count("1_000"), Ok(1000));
        assert_eq!(count("2M"), Ok(2_000_000));
        assert!(count("0").is_err() && count("-1").is_err() && count("x").is_err());
        assert_eq!(size("4G"), Ok(4 << 30));
        assert_eq!(size("512MiB"), Ok(512 << 20));
        // What a person may write for fifty megabytes; `50MB` was refused once.
        for text in ["50M", "50m", "50 M", "50MiB", "50 mib", " 50M "] {
            assert_eq!(size(text), Ok(50 << 20), "{text}");
        }
        for text in ["50MB", "50 MB", "50mb", "50_000KB", "50000000", "50000000B"] {
            assert_eq!(size(text), Ok(50_000_000), "{text}");
        }
        assert_eq!(size("1.5G"), Ok(3 << 29));
        for bad in [
            "", "M", "0", "0.0M", "-1M", "1X", "1MBB", "1.5.2G", "1e3M", "M5", "iB",
        ] {
            assert!(size(bad).is_err(), "{bad}");
        }
        assert!(size("99999999999G").is_err());
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        for bad in ["", "0", "-3s", "soon", "nan", "inf", "1e300h"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
