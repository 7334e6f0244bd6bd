// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What would be if one task promised something else.

use taut_time::Duration;

use crate::{Class, Model, Overrun, RealTime, Segment, TaskId};

impl Model {
    /// The same application, but that one real-time task promises something else about time, sections or its core; its
    /// memory, its arrival, its server and what happens on an overrun stay.
    ///
    /// None if the rules that a draft is checked by refuse that, or if the task is not real-time.
    #[must_use]
    pub fn with_promise(&self, task: TaskId, promise: RealTime) -> Option<Self> {
        let Class::RealTime(now) = &self.task(task).class else { return None };
        let same = promise.arrival == now.arrival
            && promise.server == now.server
            && promise.on_overrun == now.on_overrun
            && (promise.persistent, promise.release) == (now.persistent, now.release);
        if !same || !self.is_promise(task, &promise) {
            return None;
        }
        let mut changed = self.clone();
        changed.tasks[task.index()].class = Class::RealTime(promise);
        Some(changed)
    }

    fn is_promise(&self, task: TaskId, promise: &RealTime) -> bool {
        let period = promise.arrival.period();
        let deadline = !promise.deadline.is_zero()
            && (promise.deadline <= period || promise.on_overrun == Overrun::RunOn)
            && promise.jitter < promise.deadline;
        let whole = promise.wcet.value;
        let bound = promise.wcet.bound().unwrap_or(Duration::MAX);
        let wcet =
            !whole.is_zero() && bound <= promise.deadline.min(period) && promise.non_preemptive <= bound;
        let sections = promise.sections.iter().try_fold(Duration::ZERO, |sum, section| {
            sum.checked_add(section.longest.checked_mul(section.count.into())?)
        });
        let sections = sections.is_some_and(|sum| sum <= whole)
            && promise
                .sections
                .iter()
                .all(|s| !s.longest.is_zero() && s.resource.index() < self.resources.len());
        let segments = sum(&promise.segments).is_some_and(|sum| sum <= whole);
        let place = promise.core.is_none_or(|core| core.index() < self.platform.cores.len());
        // A number that is fixed is one task's on a core that is.
        let same_place = |other: &RealTime| {
            other.core == promise.core && promise.core.is_some() && other.priority == promise.priority
        };
        let taken = promise.priority.is_some()
            && self.real_time().any(|(id, _, other)| id != task && same_place(other));
        // In a server there is nothing that others wait for, and no place of its own.
        let in_server = promise.core.is_none()
            && promise.priority.is_none()
            && promise.non_preemptive.is_zero()
            && promise.sections.is_empty()
            && promise.segments.is_empty();
        let served = promise.server.is_none() || in_server;
        served && deadline && wcet && sections && segments && place && !taken
    }
}

fn sum(segments: &[Segment]) -> Option<Duration> {
    segments.iter().try_fold(Duration::ZERO, |total, segment| match segment {
        Segment::Normal(time) => total.checked_add(*time),
        Segment::Section { inside, .. } => total.checked_add(sum(inside)?),
    })
}
