// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The keys of mechanisms, with their costs, and of methods.

use std::ops::Range;

use taut_model::codes;

use crate::fault::Faults;
use crate::generator::{Buffered, Lock, Mechanisms};
use crate::language::TIMES;
use crate::method::Method;
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
    let mechanisms = Mechanisms {
        msrp: table.may("msrp", faults, lock),
        mpcp: table.may("mpcp", faults, lock),
        dbp: table.may("dbp", faults, buffered),
        tccp: table.may("tccp", faults, buffered),
    };
    let any = ["msrp", "mpcp", "dbp", "tccp"].iter().any(|key| table.has(key));
    table.finish(faults);
    if !any {
        let label = "one of msrp, mpcp, dbp and tccp";
        return faults.add(codes::MISSING_KEY, &span, "no mechanism for any object", label, None);
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
    let has = |method: &Method| {
        mechanisms.is_none_or(|has| match method {
            Method::Msrp => has.msrp.is_some(),
            Method::Mpcp => has.mpcp.is_some(),
            Method::Dbp => has.dbp.is_some(),
            Method::Tccp => has.tccp.is_some(),
            Method::Locks => has.msrp.is_some() && has.mpcp.is_some(),
            _ => true,
        })
    };
    let fixed = [
        ("msrp", Method::Msrp),
        ("mpcp", Method::Mpcp),
        ("dbp", Method::Dbp),
        ("tccp", Method::Tccp),
        ("locks", Method::Locks),
    ];
    for (key, method) in fixed {
        let asked = table.may(key, faults, |value, faults| {
            let span = value.span.clone();
            let asked = value.truth(faults)?;
            if asked && !has(&method) {
                let message = format!("`{key}` without a mechanism of that name");
                let label = "asks for what [mechanisms] does not have";
                return faults.add(codes::MISPLACED_KEY, &span, message, label, None);
            }
            Some(asked)
        });
        methods.extend(asked.filter(|asked| *asked).map(|_| method));
    }
    let depth = |most: u64| {
        move |value: Value<'_>, faults: &mut Faults<'_>| {
            let one = |value: Value<'_>, faults: &mut Faults<'_>| value.integer(0..=most, faults);
            let name = |_: &str, at: &Range<usize>, faults: &mut Faults<'_>| {
                faults.add(codes::WRONG_TYPE, at, "depths have no weights", "a list of depths", None)
            };
            value.weighted(faults, one, name)
        }
    };
    let depths = table.may("heuristic", faults, depth(16)).unwrap_or_default();
    methods.extend(depths.into_iter().map(|(_, depth)| Method::Heuristic(depth as usize)));
    let depths = table.may("backtracking", faults, depth(12)).unwrap_or_default();
    methods.extend(depths.into_iter().map(|(_, depth)| Method::Backtracking(depth as usize)));
    let best = table.may("best", faults, |value, faults| value.integer(0..=1_000_000_000, faults));
    methods.extend(best.map(Method::Best));
    let most = table.may("exhaustive", faults, |value, faults| value.integer(0..=16, faults));
    methods.extend(most.map(|most| Method::Exhaustive(most as usize)));
    table.finish(faults);
    let twice = methods.iter().enumerate().find(|(at, method)| methods[..*at].contains(method));
    if let Some((_, method)) = twice {
        let message = format!("`{}` is asked for twice", method.name());
        return faults.add(codes::DUPLICATE_NAME, &span, message, "twice in here", None);
    }
    if methods.is_empty() && faults.is_empty() {
        let help = Some("as in `msrp = true` or `heuristic = 5`".into());
        return faults.add(codes::MISSING_KEY, &span, "nothing is asked of the systems", "no method", help);
    }
    Some(methods)
}
