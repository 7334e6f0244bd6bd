// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The model with other parameters of one task.

use taut_time::Duration;

use crate::{Class, Model, Overrun, RealTime, Segment, Stated, TaskId};

impl Model {
    /// The same application, in which one real-time task has other timing, other sections or another core. All else
    /// that the manifest states of it stays: its memory, arrival, server and overrun policy.
    ///
    /// `None` if the rules for drafts reject the change, or if the task is not real-time.
    #[must_use]
    pub fn with_promise(&self, task: TaskId, real_time: RealTime) -> Option<Self> {
        let Class::RealTime(now) = &self.task(task).class else { return None };
        let Stated { deadline, jitter, wcet, non_preemptive, budget, .. } = real_time.stated;
        let stays = Stated { deadline, jitter, wcet, non_preemptive, budget, ..now.stated }
            == real_time.stated
            && real_time.arrival == now.arrival
            && real_time.server == now.server;
        if !stays || !self.is_promise(task, &real_time) {
            return None;
        }
        let mut changed = self.clone();
        changed.tasks[task.index()].class = Class::RealTime(real_time);
        Some(changed)
    }

    fn is_promise(&self, task: TaskId, real_time: &RealTime) -> bool {
        let is_aperiodic = real_time.arrival.is_aperiodic();
        let period = if is_aperiodic { Duration::MAX } else { real_time.arrival.period() };
        let deadline = !real_time.deadline.is_zero()
            && (real_time.deadline <= period || real_time.on_overrun == Overrun::RunOn)
            && real_time.jitter < real_time.deadline;
        let whole = real_time.wcet.value;
        let bound = real_time.wcet.bound().unwrap_or(Duration::MAX);
        let wcet =
            !whole.is_zero() && bound <= real_time.deadline.min(period) && real_time.non_preemptive <= bound;
        let sections = real_time.sections.iter().try_fold(Duration::ZERO, |sum, section| {
            sum.checked_add(section.longest.checked_mul(section.count.into())?)
        });
        let sections = sections.is_some_and(|sum| sum <= whole)
            && real_time
                .sections
                .iter()
                .all(|s| !s.longest.is_zero() && s.resource.index() < self.resources.len());
        let segments = sum(&real_time.segments).is_some_and(|sum| sum <= whole);
        let place = real_time.core.is_none_or(|core| core.index() < self.platform.cores.len());
        // A fixed priority on a fixed core belongs to only one task.
        let same_place = |other: &RealTime| {
            other.core == real_time.core && real_time.core.is_some() && other.priority == real_time.priority
        };
        let taken = real_time.priority.is_some()
            && self.real_time().any(|(id, _, other)| id != task && same_place(other));
        // A task in a server has nothing that others wait for, and no core or priority of its own.
        let in_server = real_time.core.is_none()
            && real_time.priority.is_none()
            && real_time.non_preemptive.is_zero()
            && real_time.sections.is_empty()
            && real_time.segments.is_empty();
        let served = real_time.server.is_none() || in_server;
        served && deadline && wcet && sections && segments && place && !taken
    }
}

fn sum(segments: &[Segment]) -> Option<Duration> {
    segments.iter().try_fold(Duration::ZERO, |total, segment| match segment {
        Segment::Normal(time) => total.checked_add(*time),
        Segment::Section { inside, .. } => total.checked_add(sum(inside)?),
    })
}
