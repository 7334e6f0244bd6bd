// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Maps the analyses of other tools to ours, and compares the results.
//!
//! The name of a result decides, never the case: every case with a result under a listed name is compared.

mod edf;
mod fixed;
mod locks;
mod offsets;
mod values;

use serde_json::Value;
use taut_time::Duration;

use crate::case::Case;
use crate::table::{Agreement, Compared, Table};

/// The outcome for one result.
enum Found {
    /// It was compared with the result of our analysis of this name.
    Compared(&'static str, Agreement, Compared),
    /// It was not compared, for this reason.
    Left(&'static str),
}

/// The time step of all cases.
const STEP: Duration = Duration::from_us(1);

/// The groups that the format names.
const GROUPS: [&str; 7] = ["A", "B", "C", "D", "E", "F", "G"];

/// Compares all results of a case. A result that breaks the format is recorded in the table as a fault.
pub(crate) fn case(case: &Case, table: &mut Table) {
    if !GROUPS.contains(&case.group.as_str()) {
        table.odd_group(&case.group);
    }
    for (tool, results) in &case.oracle {
        let Some(named) = results.as_object() else {
            table.fault(format!("{}: {tool}: no results by name", case.id));
            continue;
        };
        // SimSo has a single result, without a name.
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

/// The outcome for a result, from the first module that knows its name.
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

/// Whether MAST gave bounds. It compares them with deadlines afterwards.
fn done(result: &Value) -> bool {
    result["status"].as_str().is_none_or(|status| ["DONE", "NOT-SCHEDULABLE"].contains(&status))
}
