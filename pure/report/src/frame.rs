// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Facts and instants of a whole run.

use std::collections::BTreeMap;

use taut_event::file::{ERRORS_OF, Run};
use taut_event::{Kind, Record};
use taut_time::Instant;

/// Parses `key = value` lines, without quotes around the values.
pub(crate) fn facts(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter_map(|line| line.split_once('='));
    let clean = |text: &str| text.trim().trim_matches('"').to_owned();
    lines.map(|(key, value)| (clean(key), clean(value))).collect()
}

/// By task, the names of its errors.
pub(crate) type ErrorNames = BTreeMap<String, Vec<String>>;

/// Splits facts: by task the names of its errors, and the facts of the machine.
pub(crate) fn error_names(facts: Vec<(String, String)>) -> (ErrorNames, Vec<(String, String)>) {
    let (names, machine): (Vec<_>, Vec<_>) =
        facts.into_iter().partition(|(key, _)| key.starts_with(ERRORS_OF));
    let of_task = |(key, value): (String, String)| {
        (key[ERRORS_OF.len()..].to_owned(), value.split(", ").map(str::to_owned).collect())
    };
    (names.into_iter().map(of_task).collect(), machine)
}

/// The beginning of the run, its end if that is recorded, and the instant of the last record.
pub(crate) fn frame(run: &Run, records: &[Record]) -> (u64, Option<u64>, u64) {
    let of = |kind| records.iter().find(move |record| record.kind == kind);
    let times = records.iter().filter(|record| record.kind != Kind::Counted).map(|record| record.at.as_ns());
    let begin = of(Kind::Begin).map(|record| record.at).or(run.begin).map(Instant::as_ns);
    let begin = begin.or_else(|| times.clone().min()).unwrap_or(0);
    let end = records.iter().filter(|record| record.kind == Kind::End).map(|record| record.at.as_ns()).max();
    (begin, end, end.or(times.max()).unwrap_or(begin))
}
