// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Helpers that tests with an allocator of their own use, too.

use taut_boot::Guarantees;
use taut_plan::{Input, Plan, digest};
use taut_planner::Planned;
use taut_run::{Reason, RunObserver};
use taut_time::Duration;

/// An observer that reports failures only.
pub struct Quiet;

impl RunObserver for Quiet {
    fn guarantees(&mut self, _: &Guarantees) {}
    fn removed_stale(&mut self, _: &str) {}
    fn started(&mut self, _: &Plan, _: Option<Duration>) {}
    fn stopping(&mut self, _: Reason) {}
    fn stuck(&mut self, task: &str) {
        panic!("{task} is stuck");
    }
    fn unfinished(&mut self, task: &str, error: &dyn std::error::Error) {
        panic!("{task}: {error}");
    }
}

/// The plan of a manifest, which must be proven.
pub fn planned(manifest: &str) -> Plan {
    let source = taut_manifest::SourceText { name: "taut.toml".to_owned(), text: manifest.to_owned() };
    let loaded = taut_manifest::load(&source, &[]);
    let shown = taut_manifest::render(&loaded.diagnostics, &[&source], false, 100);
    let model = loaded.model.unwrap_or_else(|| panic!("{shown}"));
    let input = Input { path: "taut.toml".to_owned(), hash: digest(manifest.as_bytes()) };
    let planned = Planned::make(&model, vec![input]);
    assert!(planned.plan.proven, "{:#?}", planned.faults);
    planned.plan
}
