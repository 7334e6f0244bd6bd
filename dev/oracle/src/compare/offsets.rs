// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Transactions with offsets.

use serde_json::Value;
use taut_analysis::Verdict;
use taut_analysis::uni::fp::offsets::{self, Activity, Method, Transaction};
use taut_time::Duration;

use super::values::{equal, said, same_count, times};
use super::{Found, done};
use crate::case::{Case, MOST_US};
use crate::table::{Compared, Standing};

/// Scenarios per activity that are looked at.
const SCENARIOS: u64 = 10_000_000;

/// What came of a result, if its name is one of these.
pub(super) fn result_of(
    case: &Case,
    tool: &str,
    analysis: &str,
    result: &Value,
) -> Result<Option<Found>, String> {
    let found = match (tool, analysis) {
        ("mast", "holistic") => transactions(case, "uni::fp::offsets::holistic", Method::Holistic, result),
        ("mast", "offset_based_approx") => {
            transactions(case, "uni::fp::offsets::approximate", Method::Approximate, result)
        }
        ("mast", "offset_based_slanted") => {
            transactions(case, "uni::fp::offsets::slanted", Method::Slanted, result)
        }
        ("mast", "offset_based_brute_force") => {
            transactions(case, "uni::fp::offsets::exact", Method::Exact(SCENARIOS), result)
        }
        _ => return Ok(None),
    };
    found.map(Some)
}

fn transactions(case: &Case, name: &'static str, method: Method, result: &Value) -> Result<Found, String> {
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
    let ours = match said(offsets::chained(method, &set))? {
        Verdict::Schedulable(ends) => ends,
        other => return Err(format!("ours gives no bound: {other:?}")),
    };
    let theirs = result["R"].as_array().ok_or("no list in `R`")?;
    if theirs.len() != ours.len() {
        return Err(format!("{} lists for {} transactions", theirs.len(), ours.len()));
    }
    let mut compared = Compared::default();
    for (at, (theirs, ours)) in theirs.iter().zip(&ours).enumerate() {
        let theirs = times(theirs)?;
        same_count(&theirs, ours.len())?;
        equal(&mut compared, &format!("R of transaction {at}"), &theirs, |at| Some(ours[at]));
    }
    Ok(Found::Compared(name, Standing::Equal, compared))
}
