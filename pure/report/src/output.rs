// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A report is made from a run, and written for a terminal, a program, a browser and Perfetto.

use taut_event::file::Run;
use taut_plan::Plan;

use crate::report::{About, Report};
use crate::tracks::Tracks;
use crate::{html, json, judge, perfetto, text};

impl Report {
    /// Joins the plan with a run of it, and judges. Ignores records whose subject the plan does not have.
    pub fn new(plan: &Plan, run: &Run) -> Self {
        judge::judge(plan, run)
    }

    /// For a terminal of `width` columns, at least 60; with ANSI colours if `color`. Ends with a line break.
    pub fn text(&self, width: usize, color: bool) -> String {
        text::write(self, width, color)
    }

    /// For programs: a JSON object with `schema_version` 1. The name of every time states its unit, ns; times of
    /// events count from release 0. Ends with a line break.
    pub fn json(&self) -> String {
        json::write(self)
    }

    /// For a browser: one file that loads nothing else.
    pub fn html(&self, about: &About<'_>) -> String {
        html::write(self, about)
    }

    /// For Perfetto: jobs per task, CPU tracks, response times, flows of values; Protobuf bytes.
    pub fn perfetto(&self) -> Vec<u8> {
        perfetto::write(&Tracks::of(self))
    }
}
