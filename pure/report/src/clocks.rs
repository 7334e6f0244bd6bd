// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Tasks that follow a device's clock: since when, how closely, and whether the device kept its word.
//!
//! A record tells a change of state, or a larger phase error than since the last one. So the largest error of those is the largest
//! of all releases.

use taut_event::GridPhase;
use taut_plan::ClassPlan;

use crate::figures::ClockFigures;
use crate::judge::Judge;
use crate::verdict::Warning;

impl Judge<'_> {
    /// The figures of each clock that a task of the plan follows.
    pub(crate) fn clocks(&mut self) -> Vec<ClockFigures> {
        let mut all = Vec::new();
        for (at, task) in self.plan.tasks.iter().enumerate() {
            let ClassPlan::RealTime { arrival, .. } = &task.class else { continue };
            let Some(clock) = arrival.clock() else { continue };
            let mut figures = ClockFigures {
                clock: clock.name.clone(),
                task: task.name.clone(),
                locked_since_ns: None,
                lost: 0,
                broken: 0,
                error_ns: None,
                bound_ns: clock.phase_error().as_ns(),
            };
            let mut was_locked = false;
            for step in self.seen.followed.iter().filter(|step| usize::from(step.task) == at) {
                let is_locked = step.phase == GridPhase::Locked;
                if is_locked && !was_locked {
                    figures.locked_since_ns = Some(self.since_begin(step.at));
                }
                if !is_locked {
                    figures.locked_since_ns = None;
                    figures.lost += u64::from(was_locked);
                }
                figures.broken += u64::from(step.has_broken);
                figures.error_ns = figures.error_ns.max(is_locked.then_some(step.error));
                was_locked = is_locked;
            }
            self.warn_of(&figures);
            all.push(figures);
        }
        all
    }

    fn warn_of(&mut self, figures: &ClockFigures) {
        let clock = || figures.clock.clone();
        if figures.error_ns.is_none() {
            self.warnings.push(Warning::ClockNotLocked { clock: clock() });
        }
        if figures.lost > 0 {
            self.warnings.push(Warning::ClockLost { clock: clock(), times: figures.lost });
        }
        if figures.broken > 0 {
            self.warnings.push(Warning::ClockBroken { clock: clock(), times: figures.broken });
        }
    }
}
