// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What would make a task fit, and how much room a task that fits has.
//!
//! To find a figure, the search makes the plan anew with each candidate. The plan holds with the figure, everything
//! else as in the manifest, and not with one step more, unless [`Room::is_hasty`]. Steps are whole microseconds if the
//! present figure is at least one microsecond, else nanoseconds. With the figure, the plan still keeps everything that
//! it keeps now. Open choices are made anew for each figure, so between two figures with which the plan holds there
//! may be one with which it does not.

use taut_analysis::{BoundTerm, Verdict, Why};
use taut_model::{Class, Cost, Model, Overrun, RealTime, Segment, Stated, TaskId};
use taut_time::Duration;

use crate::advice::feasibility::Feasibility;
use crate::placement::{Placements, Who};
use crate::response::proof::{Effort, Proof};

/// The number of analyses of the whole plan after which the search stops. A figure takes fewer than 40.
const ASKED_MAX: u32 = 200;
/// The most other cores that are tried.
const CORES_MAX: usize = 16;
/// The longest deadline tried, in periods, if jobs may wait for earlier jobs of their task.
const PERIODS_MAX: u64 = 8;

/// What could be shorter in another task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stretch {
    /// A section: its position in the task's list.
    Section(usize),
    /// Its non-preemptive stretch.
    NonPreemptive,
    /// Its whole execution time.
    Whole,
}

impl Stretch {
    pub(crate) fn length(self, of: &RealTime) -> Option<Duration> {
        match self {
            Self::Section(at) => of.sections.get(at).map(|section| section.longest),
            Self::NonPreemptive => Some(of.non_preemptive),
            Self::Whole => Some(of.wcet.value),
        }
    }
}

/// Makes plans with other parameters of a task, and remembers what the plan keeps now.
pub(crate) struct Room<'m> {
    model: &'m Model,
    task: TaskId,
    now: &'m RealTime,
    before: Feasibility,
    effort: Effort,
    asked: u32,
}

impl<'m> Room<'m> {
    /// None if the task has no deadline.
    pub(crate) fn of(model: &'m Model, task: TaskId) -> Option<Self> {
        let Class::RealTime(now) = &model.task(task).class else { return None };
        // If the quick analysis shows less than the plan keeps now, use the whole analysis.
        let before = Feasibility::of(model, Effort::Whole);
        let quick = before == Feasibility::of(model, Effort::Quick);
        let effort = if quick { Effort::Quick } else { Effort::Whole };
        Some(Self { model, task, now, before, effort, asked: 0 })
    }

    /// Whether the plan may hold with more than the figures say, because the search did not look at offsets.
    pub(crate) fn is_hasty(&self) -> bool {
        self.effort == Effort::Quick && Proof::find(self.model, Effort::Quick, &mut Vec::new()).is_hasty()
    }

    /// Whether the task keeps its deadline now.
    pub(crate) fn is_kept(&self) -> bool {
        self.before.tasks[self.task.index()]
    }

    /// Whether everything is kept now.
    pub(crate) fn is_proven(&self) -> bool {
        self.before.is_proven()
    }

    /// The largest value that its execution time may have, before the margin; none if no value fits.
    pub(crate) fn wcet(&mut self) -> Option<Duration> {
        let now = self.now;
        let value = now.wcet.value;
        let step = step(value);
        let holds = |room: &mut Self, value| {
            let stated = Stated { wcet: Cost { value, ..now.wcet }, ..now.stated };
            room.holds(now, room.task, RealTime { stated, ..now.clone() })
        };
        if self.is_kept() {
            let limit = most(now);
            return Some(self.last(value, limit, step, holds).max(value));
        }
        let least = least(now).max(Duration::from_ns(step));
        (least < value && holds(self, least)).then(|| self.last(least, value, step, holds))
    }

    /// The shortest deadline that the task keeps; longer than now if it does not keep the present one. None if it
    /// keeps no deadline up to its period, or up to [`PERIODS_MAX`] periods if its jobs may wait for earlier ones.
    pub(crate) fn deadline(&mut self) -> Option<Duration> {
        let now = self.now;
        let step = step(now.deadline);
        let holds = |room: &mut Self, deadline| {
            let stated = Stated { deadline, ..now.stated };
            room.holds(now, room.task, RealTime { stated, ..now.clone() })
        };
        if self.is_kept() {
            return Some(self.last(now.deadline, Duration::ZERO, step, holds).min(now.deadline));
        }
        let period = now.arrival.period();
        let limit = match now.on_overrun {
            Overrun::RunOn => period.checked_mul(PERIODS_MAX).unwrap_or(period),
            _ => period,
        };
        (limit > now.deadline && holds(self, limit)).then(|| self.last(limit, now.deadline, step, holds))
    }

    /// The CPUs of the other cores on which the task fits with nothing else changed, and whether all were tried.
    pub(crate) fn cores(&mut self) -> (Vec<u16>, bool) {
        let placements = Placements::choose(self.model, None);
        let own = placements
            .placements
            .iter()
            .find(|placement| placement.who == Who::Task(self.task))
            .map(|placement| placement.core);
        let others: Vec<_> = self.model.cores().filter(|core| Some(core.index()) != own).collect();
        let tried = others.len().min(CORES_MAX);
        let now = self.now;
        let mut found = Vec::new();
        for &core in others.iter().take(tried) {
            if self.holds(now, self.task, RealTime { core: Some(core), ..now.clone() }) {
                found.push(self.model.cpu(core));
            }
        }
        (found, tried == others.len())
    }

    /// The greatest length that a stretch of another task may have; none if no length fits.
    pub(crate) fn other(&mut self, task: TaskId, stretch: Stretch) -> Option<Duration> {
        let Class::RealTime(other) = &self.model.task(task).class else { return None };
        let length = stretch.length(other)?;
        let step = step(length);
        let holds = |room: &mut Self, length| {
            let mut bound = other.clone();
            match stretch {
                Stretch::Section(at) => bound.sections[at].longest = length,
                Stretch::NonPreemptive => bound.non_preemptive = length,
                Stretch::Whole => bound.wcet.value = length,
            }
            room.holds(other, task, bound)
        };
        let floor = if stretch == Stretch::Whole { least(other) } else { Duration::ZERO };
        let least = floor.max(Duration::from_ns(step));
        (least < length && holds(self, least)).then(|| self.last(least, length, step, holds))
    }

    /// Whether the task keeps its deadline, and the plan all that it keeps now, if the task `of` has the parameters
    /// `bound` instead of `now`.
    fn holds(&mut self, now: &RealTime, of: TaskId, bound: RealTime) -> bool {
        self.asked += 1;
        if self.asked > ASKED_MAX || bound == *now {
            return bound == *now && self.is_kept();
        }
        let changed = self.model.with_promise(of, bound);
        changed.is_some_and(|changed| {
            Feasibility::of(&changed, self.effort).serves(self.task.index(), &self.before)
        })
    }

    /// From `good`, which holds, towards `limit`: the last multiple of `step` ns that holds; `limit` if `limit` holds.
    fn last(
        &mut self,
        good: Duration,
        limit: Duration,
        step: u64,
        holds: impl Fn(&mut Self, Duration) -> bool,
    ) -> Duration {
        let (from, to) = (good.as_ns(), limit.as_ns());
        if good == limit || holds(self, limit) {
            return limit;
        }
        // Count in steps. The far end does not hold.
        let (mut good, mut bad) =
            if from < to { (from / step, to.div_ceil(step)) } else { (from.div_ceil(step), to / step) };
        while good.abs_diff(bad) > 1 {
            let middle = good.midpoint(bad);
            if holds(self, Duration::from_ns(middle.saturating_mul(step))) {
                good = middle;
            } else {
                bad = middle;
            }
        }
        Duration::from_ns(good.saturating_mul(step))
    }
}

/// The step of a figure, in ns.
fn step(now: Duration) -> u64 {
    if now >= Duration::from_us(1) { 1_000 } else { 1 }
}

/// The largest execution time that a model may state.
fn most(now: &RealTime) -> Duration {
    let limit = u128::from(now.deadline.min(now.arrival.period()).as_ns()) * 1_000;
    let value = limit / (1_000 + u128::from(now.wcet.margin_permille));
    Duration::from_ns(u64::try_from(value).unwrap_or(u64::MAX))
}

/// The least execution time that a model may state: no job is shorter than its sections and stretches.
fn least(now: &RealTime) -> Duration {
    fn of(segments: &[Segment]) -> Duration {
        segments.iter().fold(Duration::ZERO, |sum, segment| {
            let time = match segment {
                Segment::Normal(time) => *time,
                Segment::Section { inside, .. } => of(inside),
            };
            sum.checked_add(time).unwrap_or(Duration::MAX)
        })
    }
    let sections = now.sections.iter().fold(Duration::ZERO, |sum, section| {
        let time = section.longest.checked_mul(section.count.into()).unwrap_or(Duration::MAX);
        sum.checked_add(time).unwrap_or(Duration::MAX)
    });
    sections.max(of(&now.segments)).max(now.non_preemptive)
}

/// A help text that says with which wcet the task fits; none if it keeps its deadline now, or if no wcet fits.
pub(crate) fn help(model: &Model, task: TaskId) -> Option<String> {
    let mut room = Room::of(model, task).filter(|room| !room.is_kept())?;
    let margin = margin(room.now.wcet);
    let most = room.wcet()?;
    Some(format!("it fits, with all that it delays, if its wcet is at most `value = \"{most}\"`{margin}"))
}

/// The margin on top of a value, in words.
pub(crate) fn margin(cost: Cost) -> String {
    match cost.margin_permille {
        0 => String::new(),
        m if m % 10 == 0 => format!(" (with its margin of {} % on top)", m / 10),
        m => format!(" (with its margin of {}.{} % on top)", m / 10, m % 10),
    }
}

/// What makes a task wait: the section or stretch of another task that blocks it longest, and the task that delays
/// it longest.
pub(crate) fn delays(proof: &Proof<'_>, model: &Model, task: TaskId) -> Vec<(TaskId, Stretch)> {
    let placements: &Placements<'_> = &proof.placements;
    let Some(at) = placements.placements.iter().position(|placement| placement.who == Who::Task(task)) else {
        return Vec::new();
    };
    let of = |placement: usize| match placements.placements[placement].who {
        Who::Task(id) => Some((id, placements.placements[placement].task)),
        Who::Server(_) => None,
    };
    let mut found = Vec::new();
    if let Some(shared) = &proof.shared {
        if let Some((resource, (id, other))) = shared
            .blocked_by(placements, at)
            .and_then(|(placement, resource)| Some((resource, of(placement)?)))
        {
            let section = other.sections.iter().position(|section| section.resource.index() == resource);
            match section.filter(|_| other.segments.is_empty()) {
                Some(at) => found.push((id, Stretch::Section(at))),
                None if resource >= model.resources().len() => found.push((id, Stretch::NonPreemptive)),
                None => {}
            }
        }
        let delays = shared.delayed_by(placements, at).and_then(of);
        found.extend(delays.map(|(id, _)| (id, Stretch::Whole)));
        return found;
    }
    let verdict = placements.verdict(at);
    let (Ok(Verdict::Unschedulable(bound)) | Ok(Verdict::NotShown(Why::Passes(bound)))) = &verdict else {
        return found;
    };
    let members = &placements.cores[placements.placements[at].core].members;
    for term in &bound.terms {
        if let BoundTerm::Section(j) = term.kind {
            found.extend(of(members[j]).map(|(id, _)| (id, Stretch::NonPreemptive)));
        }
    }
    let others = bound.terms.iter().filter_map(|term| match term.kind {
        BoundTerm::Interference(j) => Some((term.time, members[j])),
        _ => None,
    });
    let most = others.max_by_key(|(time, _)| *time).and_then(|(_, placement)| of(placement));
    found.extend(most.map(|(id, _)| (id, Stretch::Whole)));
    found
}
