// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which analysis of ours answers which of others', and whether they agree.
//!
//! A row here is a name, never a case: whatever set carries a result under a name of the list is compared.

mod edf;
mod fixed;
mod locks;
mod offsets;
mod values;

use serde_json::Value;
use taut_time::Duration;

use crate::case::Case;
use crate::table::{Agreement, Compared, Table};

/// What came of a result.
enum Found {
    /// It was compared with ours, of this name.
    Compared(&'static str, Agreement, Compared),
    /// It was not, for this reason.
    Left(&'static str),
}

/// Microseconds are the step of time of all cases.
const STEP: Duration = Duration::from_us(1);

/// The groups that the format names.
const GROUPS: [&str; 7] = ["A", "B", "C", "D", "E", "F", "G"];

/// Compares all results of a case. One that is not of the form that the format says is a fault of the table's.
pub(crate) fn case(case: &Case, table: &mut Table) {
    if !GROUPS.contains(&case.group.as_str()) {
        table.odd_group(&case.group);
    }
    for (tool, results) in &case.oracle {
        let Some(named) = results.as_object() else {
            table.fault(format!("{}: {tool}: no results by name", case.id));
            continue;
        };
        // That tool has one result, and no name for it.
        if tool.starts_with("simso") {
            let scheduler = results["scheduler"].as_str().unwrap_or("run");
            let analysis = scheduler.rsplit('.').next().unwrap_or_default();
            note(case, tool, analysis, fixed::simso(case, analysis, results), table);
            continue;
        }
        for (analysis, result) in named {
            let found = match result.get("timeout") {
                Some(_) => Ok(Found::Left("it ran out of time")),
                None => result_of(case, tool, analysis, result),
            };
            note(case, tool, analysis, found, table);
        }
    }
}

fn note(case: &Case, tool: &str, analysis: &str, found: Result<Found, String>, table: &mut Table) {
    let key = [case.group.clone(), tool.to_owned(), analysis.to_owned()];
    match found {
        Ok(Found::Compared(ours, agreement, compared)) => table.add(key, ours, agreement, &case.id, compared),
        Ok(Found::Left(why)) => table.leave(key, why),
        Err(why) => table.fault(format!("{}: {tool} {analysis}: {why}", case.id)),
    }
}

/// What came of a result, from the first group that knows its name.
fn result_of(case: &Case, tool: &str, analysis: &str, result: &Value) -> Result<Found, String> {
    // A tool's name may end in its version.
    let tool = ["rta_crate", "pycpa", "mast"].into_iter().find(|name| tool.starts_with(name)).unwrap_or(tool);
    for group in [fixed::result_of, edf::result_of, locks::result_of, offsets::result_of] {
        if let Some(found) = group(case, tool, analysis, result)? {
            return Ok(found);
        }
    }
    Ok(Found::Left("the name is not known here"))
}

/// Whether it gave bounds; it holds them against deadlines afterwards.
fn done(result: &Value) -> bool {
    result["status"].as_str().is_none_or(|status| ["DONE", "NOT-SCHEDULABLE"].contains(&status))
}
