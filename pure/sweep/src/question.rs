// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The keys of mechanisms, with their costs, and of methods.

use std::ops::Range;

use taut_analysis::multi::Guard;
use taut_model::{Mechanism, codes};

use crate::fault::Faults;
use crate::generator::{Buffered, Costs, Lock, Mechanisms};
use crate::language::TIMES;
use crate::method::{Method, guard, offerable};
use crate::read::Value;

pub(crate) fn mechanisms(value: Value<'_>, faults: &mut Faults<'_>) -> Option<Mechanisms> {
    let span = value.span.clone();
    let mut table = value.table(faults)?;
    let time = |value: Value<'_>, faults: &mut Faults<'_>| value.time(TIMES, faults);
    let lock = |value: Value<'_>, faults: &mut Faults<'_>| {
        let mut table = value.table(faults)?;
        let spent = table.must("time", faults, time);
        let held = table.may("held", faults, time).unwrap_or(0);
        let bytes = table.must("bytes", faults, Value::size);
        table.finish(faults);
        Some(Lock { time: spent?, held, bytes: bytes? })
    };
    let buffered = |value: Value<'_>, faults: &mut Faults<'_>| {
        let mut table = value.table(faults)?;
        let write = table.must("write", faults, time);
        let read = table.must("read", faults, time);
        let write_per_reader = table.may("write-per-reader", faults, time);
        let per_byte = table.may("per-byte", faults, time);
        let index = table.must("index", faults, Value::size);
        table.finish(faults);
        let (write_per_reader, per_byte) = (write_per_reader.unwrap_or(0), per_byte.unwrap_or(0));
        Some(Buffered { write: write?, write_per_reader, read: read?, per_byte, index: index? })
    };
    let mut mechanisms = Mechanisms::new();
    for mechanism in offerable() {
        let costs = match guard(mechanism) {
            None | Some(Guard::Absent) => table.may(mechanism.word(), faults, buffered).map(Costs::Buffered),
            Some(guard) => table.may(mechanism.word(), faults, lock).map(|costs| Costs::Lock(guard, costs)),
        };
        mechanisms.extend(costs.map(|costs| (mechanism, costs)));
    }
    let words: Vec<_> = offerable().map(Mechanism::word).collect();
    let any = words.iter().any(|key| table.has(key));
    table.finish(faults);
    if !any {
        let (last, others) = words.split_last().unwrap_or((&"", &[]));
        let label = format!("one of {} and {last}", others.join(", "));
        return faults.add(codes::MISSING_KEY, &span, "no mechanism for any object", &label, None);
    }
    Some(mechanisms)
}

pub(crate) fn methods(
    value: Value<'_>,
    mechanisms: Option<&Mechanisms>,
    faults: &mut Faults<'_>,
) -> Option<Vec<Method>> {
    let span = value.span.clone();
    let mut table = value.table(faults)?;
    let mut methods = Vec::new();
    let only = offerable().map(|mechanism| (mechanism.word(), Method::Only(mechanism)));
    for (key, method) in only.chain([("locks", Method::Locks)]) {
        let has = mechanisms.is_none_or(|mechanisms| suffice_for(mechanisms, &method));
        let asked = table.may(key, faults, |value, faults| asked(key, has, value, faults));
        methods.extend(asked.filter(|asked| *asked).map(|_| method));
    }
    let found = table.may("heuristic", faults, |value, faults| depths(16, value, faults));
    methods.extend(found.unwrap_or_default().into_iter().map(Method::Heuristic));
    let found = table.may("backtracking", faults, |value, faults| depths(12, value, faults));
    methods.extend(found.unwrap_or_default().into_iter().map(Method::Backtracking));
    let best = table.may("best", faults, |value, faults| value.integer(0..=1_000_000_000, faults));
    methods.extend(best.map(Method::Best));
    let most = table.may("exhaustive", faults, |value, faults| value.integer(0..=16, faults));
    methods.extend(most.map(|most| Method::Exhaustive(most as usize)));
    table.finish(faults);
    let twice = methods.iter().enumerate().find(|(at, method)| methods[..*at].contains(method));
    if let Some((_, method)) = twice {
        let message = format!("the file asks for `{}` twice", method.name());
        return faults.add(codes::DUPLICATE_NAME, &span, message, "twice in here", None);
    }
    if methods.is_empty() && faults.is_empty() {
        let help = Some("as in `msrp = true` or `heuristic = 5`".into());
        return faults.add(codes::MISSING_KEY, &span, "the file asks for no method", "no method", help);
    }
    Some(methods)
}

/// Whether the mechanisms that a method needs are among these.
fn suffice_for(mechanisms: &Mechanisms, method: &Method) -> bool {
    let has = |by| mechanisms.iter().any(|(mechanism, _)| guard(*mechanism) == Some(by));
    match method {
        Method::Only(only) => mechanisms.iter().any(|(mechanism, _)| mechanism == only),
        Method::Locks => has(Guard::Spinning) && has(Guard::Suspending),
        Method::Heuristic(_) | Method::Backtracking(_) | Method::Best(_) | Method::Exhaustive(_) => true,
    }
}

/// Whether the file asks for a method; it is a fault to ask for a method that lacks a mechanism.
fn asked(key: &str, has_mechanisms: bool, value: Value<'_>, faults: &mut Faults<'_>) -> Option<bool> {
    let span = value.span.clone();
    let asked = value.truth(faults)?;
    if asked && !has_mechanisms {
        let message = format!("`{key}` without a mechanism of that name");
        let label = "[mechanisms] does not have it";
        return faults.add(codes::MISPLACED_KEY, &span, message, label, None);
    }
    Some(asked)
}

/// Depths of a search, each up to `most`.
fn depths(most: u64, value: Value<'_>, faults: &mut Faults<'_>) -> Option<Vec<usize>> {
    let one = |value: Value<'_>, faults: &mut Faults<'_>| value.integer(0..=most, faults);
    let name = |_: &str, at: &Range<usize>, faults: &mut Faults<'_>| {
        faults.add(codes::WRONG_TYPE, at, "depths have no weights", "a list of depths", None)
    };
    let depths = value.weighted(faults, one, name)?;
    Some(depths.into_iter().map(|(_, depth)| depth as usize).collect())
}
