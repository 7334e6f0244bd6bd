// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Modes in a plan, and the changes between them.

use std::fmt::Write;

use taut_policy::ServiceStart;
use taut_time::Duration;
use taut_time::shown::percent;

use crate::{ChangePlan, ModeBound, ModePlan, Plan, TaskPlan};

impl ChangePlan {
    /// The longest time from the request until the new mode is reached: every task that stops has stopped, and
    /// every task that starts has completed its first job. None if no bound is shown.
    pub fn latency(&self) -> Option<Duration> {
        self.stop.checked_add(self.idle?)?.checked_add(self.start)
    }
}

impl Plan {
    /// The position of a mode.
    pub fn mode(&self, name: &str) -> Option<usize> {
        self.modes.iter().position(|mode| mode.name == name)
    }

    /// The position of the mode at release 0; none without modes.
    pub fn first_mode(&self) -> Option<usize> {
        self.first_mode.as_ref().and_then(|name| self.mode(name))
    }

    /// The change between two modes, by their positions.
    pub fn change(&self, from: usize, to: usize) -> Option<&ChangePlan> {
        let (from, to) = (self.modes.get(from)?, self.modes.get(to)?);
        self.changes.iter().find(|change| change.from == from.name && change.to == to.name)
    }

    /// Whether a task runs in a mode, by its position: tasks of no service run in all modes.
    pub fn runs_in(&self, task: &TaskPlan, mode: usize) -> bool {
        let of = |service| self.modes.get(mode).is_some_and(|mode| mode.services.contains(service));
        task.service.as_ref().is_none_or(of)
    }

    /// Whether a task runs from release 0 on: its service starts at boot, or is in the first mode.
    pub fn starts_at_boot(&self, task: &TaskPlan) -> bool {
        if let Some(mode) = self.first_mode() {
            return self.runs_in(task, mode);
        }
        let service = self.services.iter().find(|service| task.service.as_ref() == Some(&service.name));
        service.is_none_or(|service| service.start == ServiceStart::Boot)
    }

    /// What is proven of modes and changes, for people: a line each; none without modes.
    pub fn mode_lines(&self) -> Vec<String> {
        let mut lines = Vec::with_capacity(self.modes.len() + self.changes.len() + 1);
        lines.extend(self.modes.iter().map(|mode| mode_line(self, mode)));
        if let Some(why) = &self.together {
            lines.push(format!("all modes are proven as one: {why}"));
        }
        lines.extend(self.changes.iter().map(line));
        lines
    }
}

/// What is proven of a mode: the bounds of its tasks, and the changes from it and to it; `None` if there is no such mode.
pub fn explain_mode(plan: &Plan, name: &str) -> Option<String> {
    let mode = &plan.modes[plan.mode(name)?];
    let of_changes = |change: &&ChangePlan| change.from == name || change.to == name;
    let mut text = format!("{}\n", mode_line(plan, mode));
    if let Some(why) = &plan.together {
        let _ = writeln!(text, "all modes are proven as one: {why}");
    }
    let width = mode.bounds.iter().map(|bound| bound.task.chars().count()).max().unwrap_or(0);
    for ModeBound { task, response } in &mode.bounds {
        let response = response
            .map_or("NOT PROVEN".to_owned(), |response| format!("responds within {}", response.rounded()));
        let _ = writeln!(text, "  {task:width$}  {response}");
    }
    for change in plan.changes.iter().filter(of_changes) {
        let _ = writeln!(text, "{}", line(change));
    }
    Some(text)
}

/// A mode for people.
fn mode_line(plan: &Plan, mode: &ModePlan) -> String {
    let services = if mode.services.is_empty() { "no service".to_owned() } else { mode.services.join(", ") };
    let used = plan.cores.iter().zip(&mode.utilisation_ppm);
    let used = used.map(|(core, ppm)| format!("core {} {} used", core.cpu, percent(*ppm)));
    let first = if plan.first_mode.as_ref() == Some(&mode.name) { ", at release 0" } else { "" };
    format!("mode {}{first}: {services}; {}", mode.name, used.collect::<Vec<_>>().join(", "))
}

/// A change for people, rounded up.
fn line(change: &ChangePlan) -> String {
    let ChangePlan { from, to, stop, idle, start } = change;
    let (Some(latency), Some(idle)) = (change.latency(), idle) else {
        return format!("change {from} -> {to}: no bound");
    };
    let until = if start.is_zero() { "all have stopped" } else { "the first jobs are complete" };
    let parts = [("stop", *stop), ("idle", *idle), ("start", *start)];
    let parts = parts.iter().filter(|(_, time)| !time.is_zero());
    let parts: Vec<_> = parts.map(|(what, time)| format!("{what} {}", time.rounded())).collect();
    let parts = if parts.len() < 2 { String::new() } else { format!(" ({})", parts.join(", ")) };
    format!("change {from} -> {to}: at most {} until {until}{parts}", latency.rounded())
}
