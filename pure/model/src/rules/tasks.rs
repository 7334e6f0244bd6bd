// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A task's own figures, as far as they can be wrong without looking at another task.

use taut_time::Duration;

use super::names::{Names, Want};
use crate::{ArrivalDraft, ClassDraft, Draft, Fault, Overrun, Place, RealTimeDraft, codes};

pub(super) fn check(draft: &Draft, names: &Names<'_>, faults: &mut Vec<Fault>) {
    for task in &draft.tasks {
        if let Some(service) = &task.service
            && names.service(service).is_none()
        {
            let place = Place::value(format!("tasks.{}.service", task.name));
            faults.extend(names.dangling(Want::Service, service, place));
        }
        match &task.class {
            ClassDraft::RealTime(real_time) => figures(&task.name, real_time, faults),
            ClassDraft::BestEffort(best_effort) => {
                min_gap(best_effort.min_gap, format!("tasks.{}.min-gap", task.name), faults);
            }
        }
    }
    for client in &draft.clients {
        min_gap(client.min_gap, format!("clients.{}.min-gap", client.name), faults);
    }
}

fn min_gap(gap: Option<Duration>, path: String, faults: &mut Vec<Fault>) {
    if gap.is_some_and(Duration::is_zero) {
        let message = "a least gap of zero promises nothing";
        faults.push(
            Fault::error(codes::ZERO_PERIOD, message, Place::value(path), "zero")
                .help("leave `min-gap` out if there is no promise"),
        );
    }
}

impl ArrivalDraft {
    /// T and the key that says it.
    pub(super) fn period(&self) -> (Duration, &'static str) {
        match self {
            Self::Periodic { period, .. } => (*period, "periodic"),
            Self::Sporadic { min_gap, .. } => (*min_gap, "sporadic"),
        }
    }
}

fn figures(name: &str, task: &RealTimeDraft, faults: &mut Vec<Fault>) {
    let at = |key: &str| Place::value(format!("tasks.{name}.{key}"));
    let (period, key) = task.arrival.period();
    let period_place = at(&format!("arrival.{key}"));
    if period.is_zero() {
        let message = format!("task `{name}` has a period of zero");
        faults.push(
            Fault::error(codes::ZERO_PERIOD, message, period_place.clone(), "zero")
                .help("a period, or the least time between two releases, is longer than zero"),
        );
    }
    if task.deadline.is_zero() {
        let message = format!("task `{name}` has a deadline of zero");
        faults.push(
            Fault::error(codes::BAD_DEADLINE, message, at("deadline"), "zero")
                .help(format!("a deadline is longer than zero and at most the period, {period}")),
        );
    } else if task.deadline > period && !period.is_zero() {
        let message = format!("task `{name}` has a deadline longer than its period");
        faults.push(
            Fault::error(codes::BAD_DEADLINE, message, at("deadline"), format!("deadline {}", task.deadline))
                .also(period_place.clone(), format!("period {period}"))
                .note("a job must be done before the next is released")
                .help(format!("use at most \"{period}\"")),
        );
    }
    let sound_deadline = !task.deadline.is_zero() && task.deadline <= period;
    cost(name, task, sound_deadline, faults);
    if sound_deadline && task.jitter >= task.deadline {
        let message = format!("task `{name}` may be released after its deadline");
        faults.push(
            Fault::error(
                codes::BAD_JITTER,
                message,
                at("jitter"),
                format!("released up to {} late", task.jitter),
            )
            .also(at("deadline"), format!("deadline {} after the arrival", task.deadline))
            .help("the deadline counts from the arrival, so it must be longer than the jitter"),
        );
    }
    if let ArrivalDraft::Periodic { offset, .. } = &task.arrival
        && *offset >= period
        && !period.is_zero()
    {
        let message = format!("task `{name}` starts a period late or more");
        faults.push(
            Fault::error(codes::LATE_OFFSET, message, at("arrival.offset"), format!("offset {offset}"))
                .warning()
                .also(period_place, format!("period {period}"))
                .help("an offset usually only orders tasks within a period"),
        );
    }
    if task.on_overrun == Overrun::KillJob {
        faults.push(
            Fault::error(
                codes::NOT_IN_THIS_VERSION,
                "`kill-job` is not in this version",
                at("on-overrun"),
                "a job cannot be ended from outside yet",
            )
            .help("use \"skip-next\", \"run-on\" or \"stop-app\""),
        );
    }
}

fn cost(name: &str, task: &RealTimeDraft, sound_deadline: bool, faults: &mut Vec<Fault>) {
    let at = |key: &str| Place::value(format!("tasks.{name}.{key}"));
    if task.wcet.value.is_zero() {
        let message = format!("task `{name}` takes no time at all");
        faults.push(
            Fault::error(codes::BAD_WCET, message, at("wcet.value"), "zero")
                .help("measure it, or write a guess that is too large and `source = \"guess\"`"),
        );
        return;
    }
    let Some(bound) = task.wcet.bound() else {
        let message = format!("the execution time of task `{name}` with its margin cannot be told");
        faults.push(
            Fault::error(codes::BAD_WCET, message, at("wcet.value"), "too long")
                .help("is the unit right? This is centuries"),
        );
        return;
    };
    if sound_deadline && bound > task.deadline {
        let message = format!("task `{name}` cannot be done by its deadline, even alone");
        let text = match task.wcet.margin_permille {
            0 => format!("takes up to {bound}"),
            _ => format!("takes up to {bound} with its margin"),
        };
        // The largest value whose bound, rounded up, still fits.
        let scaled = u128::from(task.deadline.as_ns()) * 1_000;
        let most = scaled / (1_000 + u128::from(task.wcet.margin_permille));
        let most = Duration::from_ns(u64::try_from(most).unwrap_or(u64::MAX));
        faults.push(
            Fault::error(codes::WCET_OVER_DEADLINE, message, at("wcet.value"), text)
                .also(at("deadline"), format!("deadline {}", task.deadline))
                .help(format!("at most {most} fits, before any other task and overhead")),
        );
    }
    if task.non_preemptive > bound {
        let message = format!("task `{name}` holds the core for longer than it runs");
        let text = format!("not preemptible for {}", task.non_preemptive);
        faults.push(
            Fault::error(codes::BAD_NON_PREEMPTIVE, message, at("non-preemptive"), text)
                .also(at("wcet.value"), format!("runs for at most {bound}"))
                .help("the longest non-preemptive stretch is part of the execution time"),
        );
    }
}
