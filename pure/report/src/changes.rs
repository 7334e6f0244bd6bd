// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Changes of mode: how long tasks took to follow each, against its bound.
//!
//! A task that stops has followed once it has stopped, one that starts once its first job is about to complete. As a
//! change waits for tasks of all cores, a stall of any core may have delayed it.

use crate::figures::ModeChangeFigures;
use crate::judge::Judge;
use crate::observations::ModeStep;
use crate::verdict::Breach;

impl Judge<'_> {
    /// The figures of the changes that the run made, in the plan's order.
    pub(crate) fn changes(&mut self) -> Vec<ModeChangeFigures> {
        let mut all = Vec::new();
        for change in &self.plan.changes {
            let position = |name: &str| self.plan.mode(name).and_then(|at| u16::try_from(at).ok());
            let pair = (position(&change.from), position(&change.to));
            let steps = self.seen.modes.iter().filter(|step| (Some(step.from), Some(step.to)) == pair);
            // Nothing follows before release 0, whenever the application asked.
            let within =
                |step: &ModeStep| ModeStep { since: step.since.min(self.since_begin(step.at)), ..*step };
            let steps: Vec<ModeStep> = steps.map(within).collect();
            let Some(longest_ns) = steps.iter().map(|step| step.since).max() else { continue };
            let mut figures = ModeChangeFigures {
                from: change.from.clone(),
                to: change.to.clone(),
                followed: steps.len() as u64,
                longest_ns,
                bound_ns: change.latency().map(|bound| bound.as_ns()),
                late_machine: 0,
                late_ours: 0,
                late_not_judged: 0,
            };
            for step in steps {
                self.step(step, &mut figures);
            }
            self.machine += figures.late_machine;
            self.not_judged += figures.late_not_judged;
            all.push(figures);
        }
        all
    }

    fn step(&mut self, step: ModeStep, figures: &mut ModeChangeFigures) {
        let Some(task) = self.plan.tasks.get(usize::from(step.task)) else { return };
        let starts = self.plan.runs_in(task, usize::from(step.to));
        let change = self.plan.change(step.from.into(), step.to.into());
        let limit = change.and_then(|change| if starts { change.latency() } else { Some(change.stop) });
        let Some(limit_ns) = limit.map(|limit| limit.as_ns()).filter(|limit| step.since > *limit) else {
            return;
        };
        let asked = step.at.saturating_sub(step.since);
        let stolen = self.stalls.values().map(|stalls| stalls.stolen(asked, step.at));
        if self.is_unrecorded(asked) {
            figures.late_not_judged += 1;
        } else if step.since - limit_ns <= stolen.fold(0, u64::saturating_add) {
            figures.late_machine += 1;
        } else {
            figures.late_ours += 1;
            self.breaches.push(Breach::ModeChange {
                from: figures.from.clone(),
                to: figures.to.clone(),
                task: task.name.clone(),
                at_ns: self.since_begin(step.at),
                took_ns: step.since,
                limit_ns,
            });
        }
    }
}
