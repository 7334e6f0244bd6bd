// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Transactions with offsets.

use serde_json::Value;
use taut_analysis::uni::fp::offsets::{self, Activity, OffsetTheorem, Transaction};
use taut_analysis::{Verdict, Why};
use taut_time::Duration;

use super::values::{equal, said, same_count, times};
use super::{Found, done};
use crate::case::{Case, MOST_US};
use crate::table::{Agreement, Compared};

/// The most scenarios per activity that the exact method examines.
const SCENARIOS: u64 = 10_000_000;

/// The outcome for a result, if its name is listed here.
pub(super) fn result_of(
    case: &Case,
    tool: &str,
    analysis: &str,
    result: &Value,
) -> Result<Option<Found>, String> {
    let found = match (tool, analysis) {
        ("mast", "holistic") => {
            transactions(case, "uni::fp::offsets::holistic", OffsetTheorem::Holistic, result)
        }
        ("mast", "offset_based_approx") => {
            transactions(case, "uni::fp::offsets::approximate", OffsetTheorem::Approximate, result)
        }
        ("mast", "offset_based_slanted") => {
            transactions(case, "uni::fp::offsets::slanted", OffsetTheorem::Slanted, result)
        }
        ("mast", "offset_based_brute_force") => {
            transactions(case, "uni::fp::offsets::exact", OffsetTheorem::Exact(SCENARIOS), result)
        }
        _ => return Ok(None),
    };
    found.map(Some)
}

fn transactions(
    case: &Case,
    name: &'static str,
    method: OffsetTheorem,
    result: &Value,
) -> Result<Found, String> {
    if !done(result) {
        return Ok(Found::Left("it did not finish"));
    }
    if case.transactions.is_empty() {
        return Err("no transactions".into());
    }
    let us = |us: u64| {
        if us <= MOST_US {
            Ok(Duration::from_us(us))
        } else {
            Err(format!("a time longer than {MOST_US} us"))
        }
    };
    let mut set = Vec::new();
    for given in &case.transactions {
        let mut activities = Vec::new();
        for activity in &given.activities {
            activities.push(Activity {
                cost: us(activity.cost)?,
                cost_least: us(activity.cost)?,
                priority: activity.priority,
                offset: us(activity.offset)?,
                jitter: Duration::ZERO,
                blocking: Duration::ZERO,
                deadline: Duration::MAX,
            });
        }
        set.push(Transaction { period: us(given.period)?, periodic: true, activities });
    }
    let theirs = theirs(result, &set)?;
    let ours = match said(offsets::chained(method, &set))? {
        Verdict::Schedulable(ends) => Some(ends),
        Verdict::NotShown(Why::Rate | Why::Passes(_)) => None,
        // A search that gave up is no answer.
        Verdict::NotShown(Why::Steps(steps)) => {
            return Err(format!("our analysis gave up after {steps} steps"));
        }
        other => return Err(format!("ours does not apply: {other:?}")),
    };
    let mut compared = Compared::default();
    let Some(ours) = ours else {
        // Our analysis bounds the whole set or nothing. So the set is one value: whether each activity has a bound.
        let bounded = theirs.iter().flatten().all(Option::is_some);
        compared.take(!bounded, || "all activities have bounds, ours none".into());
        return Ok(Found::Compared(name, Agreement::Equal, compared));
    };
    for (at, (theirs, ours)) in theirs.iter().zip(&ours).enumerate() {
        equal(&mut compared, &format!("R of transaction {at}"), theirs, |at| Some(ours[at]));
    }
    Ok(Found::Compared(name, Agreement::Equal, compared))
}

/// Their bounds, one per activity; none for a set that they call not schedulable and give no bounds for.
fn theirs(result: &Value, set: &[Transaction]) -> Result<Vec<Vec<Option<Duration>>>, String> {
    let Some(lists) = result["R"].as_array() else {
        if result["status"] == "NOT-SCHEDULABLE" {
            return Ok(set.iter().map(|transaction| vec![None; transaction.activities.len()]).collect());
        }
        return Err("no list in `R`".into());
    };
    if lists.len() != set.len() {
        return Err(format!("{} lists for {} transactions", lists.len(), set.len()));
    }
    let list = |(list, transaction): (&Value, &Transaction)| {
        let theirs = times(list)?;
        same_count(&theirs, transaction.activities.len()).map(|()| theirs)
    };
    lists.iter().zip(set).map(list).collect()
}
