// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Reads the values that other tools write, and compares them with ours.

use serde_json::Value;
use taut_analysis::Overflow;
use taut_time::Duration;

use super::Found;
use crate::case::MOST_US;
use crate::table::{Agreement, Compared};

/// How some tools write "no bound": 32 bits of ones.
const UNBOUNDED: u64 = u32::MAX as u64;

pub(super) fn said<T>(found: Result<T, Overflow>) -> Result<T, String> {
    found.map_err(|overflow| format!("our analysis: {overflow}"))
}

/// MAST calculates with this value where there is no bound.
const LARGE_TIME: f64 = 1e100;

/// A time in microseconds; none if there is no bound.
pub(super) fn time(value: &Value) -> Result<Option<Duration>, String> {
    let large = value.as_f64().is_some_and(|time| time >= LARGE_TIME);
    let infinite =
        value.as_str().is_some_and(|word| word.to_lowercase().trim_start_matches('+').starts_with("inf"));
    if value.is_null() || large || infinite {
        return Ok(None);
    }
    let whole = value.as_u64().or_else(|| {
        let float = value.as_f64()?;
        // Whole numbers below this are exact in a float.
        (float >= 0.0 && float.fract() == 0.0 && float < 9.0e15).then_some(float as u64)
    });
    match whole {
        Some(UNBOUNDED) => Ok(None),
        Some(us) if us <= MOST_US => Ok(Some(Duration::from_us(us))),
        _ => Err(format!("{value} is not a time in whole microseconds")),
    }
}

pub(super) fn times(value: &Value) -> Result<Vec<Option<Duration>>, String> {
    value.as_array().ok_or("a list of times is missing")?.iter().map(time).collect()
}

pub(super) fn same_count(theirs: &[Option<Duration>], count: usize) -> Result<(), String> {
    if theirs.len() == count { Ok(()) } else { Err(format!("{} times for {count} tasks", theirs.len())) }
}

/// Whether the other tool calls the set schedulable; none if it cannot decide.
pub(super) fn schedulable(result: &Value) -> Result<Option<bool>, String> {
    match &result["schedulable"] {
        Value::Bool(is) => Ok(Some(*is)),
        Value::Null if result.get("schedulable").is_some() => Ok(None),
        _ => Err("neither true, false nor null in `schedulable`".into()),
    }
}

/// A time in microseconds, for people.
pub(super) fn shown(time: Option<Duration>) -> String {
    time.map_or("none".into(), |time| format!("{} us", time.as_ns() as f64 / 1000.0))
}

pub(super) fn equal(
    compared: &mut Compared,
    what: &str,
    theirs: &[Option<Duration>],
    ours: impl Fn(usize) -> Option<Duration>,
) {
    for (at, theirs) in theirs.iter().enumerate() {
        let ours = ours(at);
        compared.take(*theirs == ours, || {
            format!("{what} of task {at}: {}, ours {}", shown(*theirs), shown(ours))
        });
    }
}

pub(super) fn same(name: &'static str, result: &Value, ours: &[Option<Duration>]) -> Result<Found, String> {
    let theirs = times(result)?;
    same_count(&theirs, ours.len())?;
    let mut compared = Compared::default();
    equal(&mut compared, "R", &theirs, |at| ours[at]);
    Ok(Found::Compared(name, Agreement::Equal, compared))
}

/// A list to compare: its path in the result, and our value for each task.
pub(super) type List<'a> = (&'a str, &'a dyn Fn(usize) -> Option<Duration>);

/// Compares a verdict about a whole set and, if theirs is positive, the lists. Ours is positive if every list has a
/// value for every task.
pub(super) fn settled(
    name: &'static str,
    result: &Value,
    lists: &[List<'_>],
    tasks: usize,
) -> Result<Found, String> {
    let Some(theirs) = schedulable(result)? else {
        return Ok(Found::Left("it did not settle"));
    };
    let bounded = |list: &List<'_>| (0..tasks).all(|at| list.1(at).is_some());
    let ours = lists.iter().all(bounded);
    let mut compared = Compared::default();
    compared.take(theirs == ours, || format!("schedulable: {theirs}, ours {ours}"));
    if theirs {
        for (path, ours) in lists {
            let value = path.split('.').fold(result, |value, key| &value[key]);
            let theirs = times(value)?;
            same_count(&theirs, tasks)?;
            equal(&mut compared, path, &theirs, ours);
        }
    }
    Ok(Found::Compared(name, Agreement::Equal, compared))
}

pub(super) fn verdict(name: &'static str, result: &Value, ours: bool) -> Result<Found, String> {
    let Some(theirs) = schedulable(result)? else {
        return Ok(Found::Left("it did not settle"));
    };
    let mut compared = Compared::default();
    compared.take(theirs == ours, || format!("schedulable: {theirs}, ours {ours}"));
    Ok(Found::Compared(name, Agreement::Equal, compared))
}
