// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Non-preemptible regions: sections of a resource that all tasks of the core use, under immediate ceilings.

use taut_analysis::uni::fp::preemptive::{FpTask, Subject};
use taut_analysis::uni::fp::{limited_preemption, non_preemptive};
use taut_analysis::{Overflow, Verdict};
use taut_model::ArrivalPattern;
use taut_model::{Body, SchedulingPolicy, Segment, SetTask, TaskSet};
use taut_sim::{GlobalRule, LocalRule, Rules};
use taut_time::Duration;

use super::{Claim, Protocol, judged};
use crate::draw::{self, Draw};

/// How long a less urgent job must already have run to block.
const STEP: Duration = Duration::from_ns(1);

/// Gives each task a final non-preemptible region: the whole job, or a random part of it. Returns the set and its
/// claims.
pub(super) fn of(
    draw: &mut Draw,
    cores: usize,
    tasks: &[SetTask],
    canary: Option<&str>,
) -> Result<(TaskSet, Vec<Protocol>), String> {
    let whole = draw.chance(50);
    let mut last = Vec::new();
    let mut with_region = |task: &SetTask| {
        let Body::Anywhere { cost, .. } = task.body else { return Err("a body of parts".to_owned()) };
        let region = if whole { cost } else { Duration::from_us(draw.pick(1, cost.as_ns() / 1000)) };
        last.push(region);
        let inside = vec![Segment::Normal(region)];
        let section = Segment::Section { resource: task.core, inside };
        let body = Body::Segments(vec![Segment::Normal(cost.saturating_sub(region)), section]);
        Ok(SetTask { body, ..task.clone() })
    };
    let tasks = tasks.iter().map(&mut with_region).collect::<Result<Vec<_>, _>>()?;
    let set = draw::set(cores, SchedulingPolicy::FixedPriority, &tasks, cores)?;
    let name = if whole { "uni::fp::non_preemptive" } else { "uni::fp::limited_preemption" };
    let mut bounds = Vec::new();
    for at in 0..tasks.len() {
        let found = response(&set, &last, at, whole, canary == Some(name));
        bounds.push(judged(found)?.bound().map(|r| r.from_arrival));
    }
    let claims = vec![Claim { name, accepted: bounds.iter().all(Option::is_some), bounds }];
    let rules = Rules::all(&set, LocalRule::Immediate, GlobalRule::Msrp);
    Ok((set, vec![Protocol { rules, claims }]))
}

fn response(
    set: &TaskSet,
    last: &[Duration],
    at: usize,
    whole: bool,
    weak: bool,
) -> Result<Verdict<limited_preemption::WindowResponse>, Overflow> {
    let task = |at: usize| {
        let SetTask { period, jitter, .. } = set.tasks()[at];
        FpTask { cost: set.cost(at), period, jitter, arrivals: ArrivalPattern::Driven }
    };
    let own = &set.tasks()[at];
    let others = || set.on_core(own.core).filter(|&other| other != at);
    let is_lower = |other: &usize| set.tasks()[*other].priority < own.priority;
    let higher: Vec<FpTask> = others().filter(|other| !is_lower(other)).map(task).collect();
    let blocking = non_preemptive::blocking(others().filter(is_lower).map(|lower| last[lower]), STEP);
    let subject = Subject {
        task: task(at),
        deadline: own.deadline,
        blocking: if weak { Duration::ZERO } else { blocking },
        blocking_attained: true,
        preemptible: false,
    };
    if whole {
        non_preemptive::response(&subject, &higher)
    } else {
        limited_preemption::response(&subject, last[at], &higher)
    }
}
