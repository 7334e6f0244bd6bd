// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The keys of a generator file; those of mechanisms and methods are in `question`.

use std::ops::{Range, RangeInclusive};

use taut_model::codes;
use taut_planner::select::Equations;

use crate::fault::{Faults, GeneratorFault};
use crate::generator::{Cut, Generator, Objects, Periods, Point, Scheme, Sections, Tasks};
use crate::quantity;
use crate::question::{mechanisms, methods};
use crate::read::{self, Table, Value};

const MICROSECOND: u64 = 1_000;
const HOUR: u64 = 3_600_000_000_000;
const PERIODS: RangeInclusive<u64> = MICROSECOND..=HOUR;
pub(crate) const TIMES: RangeInclusive<u64> = 0..=HOUR;
/// Readers of an object. More readers are rare, and leave no mechanisms to compare.
const READERS: RangeInclusive<u64> = 1..=64;

impl Generator {
    /// Reads a generator file; `docs/sweep.md` says what each key means.
    ///
    /// # Errors
    /// All faults of the file.
    pub fn parse(text: &str) -> Result<Self, Vec<GeneratorFault>> {
        let mut faults = Faults::new(text);
        let generator = read::document(text, &mut faults).and_then(|root| whole(root, &mut faults));
        match generator {
            Some(generator) if faults.is_empty() => Ok(generator),
            _ => Err(faults.finish()),
        }
    }
}

fn whole(mut root: Table<'_>, faults: &mut Faults<'_>) -> Option<Generator> {
    root.must("generator", faults, |value, faults| value.integer(1..=1, faults));
    let seed = root.may("seed", faults, |value, faults| value.integer(0..=u64::MAX, faults));
    let rows_per_point =
        root.must("rows-per-point", faults, |value, faults| value.integer(1..=10_000_000, faults));
    let words = [("sound", Equations::Sound), ("printed", Equations::Printed)];
    let equations = root.may("equations", faults, |value, faults| value.word(&words, faults));
    let loads = root.must("utilisation", faults, loads);
    let tasks = root.must("tasks", faults, tasks);
    let schemes = root.must("schemes", faults, schemes);
    let no_objects = Objects { count: None, same_core: false };
    let objects = match root.has("objects") {
        true => root.may("objects", faults, objects),
        false => Some(no_objects),
    };
    let sections = root.must("sections", faults, sections);
    let mechanisms = root.must("mechanisms", faults, mechanisms);
    // A method may need a mechanism whose key is misspelt above.
    let known = mechanisms.as_ref().filter(|_| faults.is_empty());
    let methods = root.must("methods", faults, |value, faults| methods(value, known, faults));
    root.finish(faults);
    let (loads, schemes) = (loads?, schemes?);
    let points = (0..schemes.len()).flat_map(|at| {
        let point = |&utilisation: &u64| Point { scheme: schemes[at].name.clone(), utilisation, at };
        loads.iter().map(point).collect::<Vec<_>>()
    });
    Some(Generator {
        seed: seed.unwrap_or(1),
        rows_per_point: rows_per_point?,
        equations: equations.unwrap_or(Equations::Sound),
        points: points.collect(),
        tasks: tasks?,
        objects: objects?,
        sections: sections?,
        mechanisms: mechanisms?,
        methods: methods?,
        schemes,
    })
}

/// `"70%"`, or `{ from = "40%", to = "95%", step = "5%" }`.
fn loads(value: Value<'_>, faults: &mut Faults<'_>) -> Option<Vec<u64>> {
    let load = |value: Value<'_>, faults: &mut Faults<'_>| {
        let span = value.span.clone();
        let millionths = value.percent(faults)?;
        if millionths.is_multiple_of(1_000) && millionths > 0 {
            return Some(millionths);
        }
        let label = if millionths == 0 { "more than 0%" } else { "one decimal at most" };
        faults.add(
            codes::BAD_PERCENT,
            &span,
            "a load that is not counted in tenths of a percent",
            label,
            None,
        )
    };
    if !matches!(value.value, toml::de::DeValue::Table(_)) {
        return Some(vec![load(value, faults)?]);
    }
    let span = value.span.clone();
    let mut table = value.table(faults)?;
    let from = table.must("from", faults, load);
    let to = table.must("to", faults, load);
    let step = table.must("step", faults, load);
    table.finish(faults);
    let (from, to, step) = (from?, to?, step?);
    if from > to {
        return faults.add(codes::OUT_OF_RANGE, &span, "loads from more to less", "nothing between", None);
    }
    Some((from..=to).step_by(usize::try_from(step).ok()?).collect())
}

fn tasks(value: Value<'_>, faults: &mut Faults<'_>) -> Option<Tasks> {
    let mut table = value.table(faults)?;
    let cores = table.must("cores", faults, |value, faults| value.integer(1..=64, faults));
    let count = |value: Value<'_>, faults: &mut Faults<'_>| value.integer(1..=256, faults);
    let per_core = table.must("per-core", faults, |value, faults| value.range(faults, count));
    let periods = table.must("periods", faults, periods);
    let deadlines = table.may("deadlines", faults, |value, faults| {
        value.range(faults, |value, faults| {
            let span = value.span.clone();
            match value.percent(faults)? {
                0 => faults.add(codes::BAD_PERCENT, &span, "a deadline of 0%", "more than 0%", None),
                millionths => Some(millionths),
            }
        })
    });
    let cuts = [("any", Cut::Any), ("even", Cut::Even)];
    let cut = table.may("cut", faults, |value, faults| value.word(&cuts, faults));
    table.finish(faults);
    Some(Tasks {
        cores: usize::try_from(cores?).ok()?,
        per_core: per_core?,
        periods: periods?,
        deadlines: deadlines.unwrap_or((1_000_000, 1_000_000)),
        cut: cut.unwrap_or(Cut::Any),
    })
}

/// `["5ms", "10ms"]`, `{ "5ms" = 3, "10ms" = 2 }`, or `{ from = "1ms", to = "1s", step = "1ms" }`.
fn periods(value: Value<'_>, faults: &mut Faults<'_>) -> Option<Periods> {
    let time = |value: Value<'_>, faults: &mut Faults<'_>| value.time(PERIODS, faults);
    let span = value.span.clone();
    let is_range = match &value.value {
        toml::de::DeValue::Table(table) => ["from", "to", "step"].iter().any(|key| table.get(*key).is_some()),
        _ => false,
    };
    if !is_range {
        let name = |text: &str, at: &Range<usize>, faults: &mut Faults<'_>| {
            let time = quantity::time(text, at, faults)?;
            if PERIODS.contains(&time) {
                return Some(time);
            }
            faults.add(codes::OUT_OF_RANGE, at, "a period out of range", "1us to 1h", None)
        };
        return value.weighted(faults, time, name).map(Periods::Listed);
    }
    let mut table = value.table(faults)?;
    let from = table.must("from", faults, time);
    let to = table.must("to", faults, time);
    let step = table.may("step", faults, |value, faults| value.time(1..=HOUR, faults));
    table.finish(faults);
    let (range, step) = ((from?, to?), step.unwrap_or(1));
    if range.0 > range.1 || range.0 < step {
        let label = if range.0 < step { "`from` is less than a step" } else { "nothing between" };
        return faults.add(codes::OUT_OF_RANGE, &span, "periods that cannot be drawn", label, None);
    }
    Some(Periods::Octaves { range, step })
}

fn schemes(value: Value<'_>, faults: &mut Faults<'_>) -> Option<Vec<Scheme>> {
    let span = value.span.clone();
    let mut schemes = Vec::new();
    for (name, _, value) in value.table(faults)?.all() {
        let Some(mut table) = value.table(faults) else { continue };
        let number = |value: Value<'_>, faults: &mut Faults<'_>| value.integer(READERS, faults);
        let named = |text: &str, at: &Range<usize>, faults: &mut Faults<'_>| match text
            .parse()
            .ok()
            .filter(|number| READERS.contains(number))
        {
            Some(number) => Some(number),
            None => faults.add(codes::OUT_OF_RANGE, at, "no number of readers", "1 to 64", None),
        };
        let readers = table.must("readers", faults, |value, faults| value.weighted(faults, number, named));
        let size = |value: Value<'_>, faults: &mut Faults<'_>| value.size(faults);
        let sizes = table.must("sizes", faults, |value, faults| value.weighted(faults, size, quantity::size));
        table.finish(faults);
        if let (Some(readers), Some(sizes)) = (readers, sizes) {
            schemes.push(Scheme { name: name.into_owned(), readers, sizes });
        }
    }
    if schemes.is_empty() && faults.is_empty() {
        let help = Some("as in [schemes.light] with readers = 1 and sizes = \"4B\"".into());
        return faults.add(codes::MISSING_KEY, &span, "no scheme of sharing", "none is here", help);
    }
    Some(schemes)
}

fn objects(value: Value<'_>, faults: &mut Faults<'_>) -> Option<Objects> {
    let mut table = value.table(faults)?;
    let count = table.may("count", faults, |value, faults| value.integer(0..=4_096, faults));
    let same_core = table.may("same-core", faults, Value::truth);
    table.finish(faults);
    Some(Objects {
        count: count.and_then(|count| usize::try_from(count).ok()),
        same_core: same_core.unwrap_or(false),
    })
}

fn sections(value: Value<'_>, faults: &mut Faults<'_>) -> Option<Sections> {
    let span = value.span.clone();
    let mut table = value.table(faults)?;
    let percent = |value: Value<'_>, faults: &mut Faults<'_>| value.percent(faults);
    let share = table.may("share", faults, |value, faults| value.range(faults, percent));
    let time = |value: Value<'_>, faults: &mut Faults<'_>| value.time(TIMES, faults);
    let length = table.may("length", faults, |value, faults| value.range(faults, time));
    let access = table.may("access", faults, |value, faults| {
        let mut table = value.table(faults)?;
        let fixed = table.must("fixed", faults, time);
        let per_byte = table.must("per-byte", faults, time);
        table.finish(faults);
        Some(Sections::Access { fixed: fixed?, per_byte: per_byte? })
    });
    let said = ["share", "length", "access"].iter().filter(|key| table.has(key)).count();
    table.finish(faults);
    if said != 1 {
        let help = Some("as in share = [\"1%\", \"10%\"]".into());
        let label = "one of `share`, `length` and `access`";
        return faults.add(
            codes::MISPLACED_KEY,
            &span,
            "the length of sections is not given exactly once",
            label,
            help,
        );
    }
    share.map(Sections::Share).or(length.map(Sections::Length)).or(access)
}
