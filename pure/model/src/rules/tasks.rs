// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Checks of a task's own figures that need no other task.

use taut_time::Duration;

use super::faults::Faults;
use super::names::{Names, Want};
use crate::{ArrivalDraft, ClassDraft, Draft, Fault, KeyPath, Overrun, RealTimeDraft, codes};

pub(super) fn check(draft: &Draft, names: &Names<'_>, faults: &mut Faults<'_>) {
    for task in &draft.tasks {
        if let Some(service) = &task.service
            && names.service(service).is_none()
        {
            let place = KeyPath::value(format!("tasks.{}.service", task.name));
            names.dangling(Want::Service, service, place, faults);
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

fn min_gap(gap: Option<Duration>, path: String, faults: &mut Faults<'_>) {
    if gap.is_some_and(Duration::is_zero) {
        let message = "a `min-gap` of zero limits nothing";
        faults.push(
            Fault::error(codes::ZERO_PERIOD, message, KeyPath::value(path), "zero")
                .help("leave `min-gap` out if there is no least gap"),
        );
    }
}

impl ArrivalDraft {
    /// T, and its key; zero if there is no least time between two jobs.
    pub(super) fn period(&self) -> (Duration, &'static str) {
        match self {
            Self::Periodic { period, .. } => (*period, "periodic"),
            Self::Clocked(clock) => (clock.clock().map_or(clock.period, |of| of.min_gap()), "periodic"),
            Self::Sporadic { min_gap, .. } => (*min_gap, "sporadic"),
            Self::Aperiodic { .. } => (Duration::ZERO, "aperiodic"),
        }
    }
}

fn figures(name: &str, task: &RealTimeDraft, faults: &mut Faults<'_>) {
    period(name, task, faults);
    deadline(name, task, faults);
    let limits = Limits::of(name, task, faults);
    cost(name, task, limits.cost.as_ref(), faults);
    jitter(name, task, limits.response, faults);
    offset(name, task, faults);
    budget(name, task, faults);
}

fn place(name: &str, key: &str) -> KeyPath {
    KeyPath::value(format!("tasks.{name}.{key}"))
}

/// T, and its place.
fn period_of(name: &str, task: &RealTimeDraft) -> (Duration, KeyPath) {
    let (period, key) = task.arrival.period();
    (period, place(name, &format!("arrival.{key}")))
}

/// T, if the author gave a valid one.
fn known_period(name: &str, task: &RealTimeDraft, faults: &Faults<'_>) -> Option<Duration> {
    let (period, place) = period_of(name, task);
    (!period.is_zero() && !faults.wrong(place.path())).then_some(period)
}

fn period(name: &str, task: &RealTimeDraft, faults: &mut Faults<'_>) {
    let (period, place) = period_of(name, task);
    if period.is_zero() && !matches!(task.arrival, ArrivalDraft::Aperiodic { .. }) {
        let message = format!("task `{name}` has a period of zero");
        faults.push(
            Fault::error(codes::ZERO_PERIOD, message, place, "zero")
                .help("a period, or the least time between two releases, is longer than zero"),
        );
    }
}

fn deadline(name: &str, task: &RealTimeDraft, faults: &mut Faults<'_>) {
    let known_period = known_period(name, task, faults);
    if task.deadline.is_zero() {
        let message = format!("task `{name}` has a deadline of zero");
        let most = known_period.map_or(String::new(), |period| format!(", {period}"));
        faults.push(
            Fault::error(codes::BAD_DEADLINE, message, place(name, "deadline"), "zero")
                .help(format!("a deadline is longer than zero and at most the period{most}")),
        );
    } else if let Some(period) = known_period
        && task.deadline > period
        && task.on_overrun != Overrun::RunOn
    {
        let message = format!("task `{name}` has a deadline longer than its period");
        let label = format!("deadline {}", task.deadline);
        let fault = Fault::error(codes::BAD_DEADLINE, message, place(name, "deadline"), label)
            .also(period_of(name, task).1, format!("period {period}"))
            .note("only `run-on` lets a job still run when the next one is released")
            .help(format!("use at most \"{period}\", or `on-overrun = \"run-on\"`"));
        faults.push_resting_on(fault, &[&format!("tasks.{name}.on-overrun")]);
    }
}

/// A limit of a time: its length, what it is, and its place in the manifest.
type Limit = (Duration, &'static str, KeyPath);

/// The limits of a task's times; `None` where the author gave none.
struct Limits {
    /// The limit of the execution time, which must fit into the period in any case.
    cost: Option<Limit>,
    /// The limit of a response time. A deadline beyond the period is an error without `run-on`, so the limit is then
    /// the period.
    response: Option<Limit>,
}

impl Limits {
    fn of(name: &str, task: &RealTimeDraft, faults: &Faults<'_>) -> Self {
        let known_period = known_period(name, task, faults);
        let known_deadline = !task.deadline.is_zero() && !faults.wrong(&format!("tasks.{name}.deadline"));
        let of_period = known_period.map(|period| (period, "period", period_of(name, task).1));
        let of_deadline = known_deadline.then(|| (task.deadline, "deadline", place(name, "deadline")));
        match (&of_deadline, &of_period) {
            (Some((deadline, ..)), Some((period, ..))) if deadline > period => {
                let runs_on = task.on_overrun == Overrun::RunOn;
                let response = if runs_on { of_deadline } else { of_period.clone() };
                Self { cost: of_period, response }
            }
            (Some(_), _) => Self { cost: of_deadline.clone(), response: of_deadline },
            (None, _) => Self { cost: of_period.clone(), response: of_period },
        }
    }
}

fn jitter(name: &str, task: &RealTimeDraft, limit: Option<Limit>, faults: &mut Faults<'_>) {
    if let Some((limit, what, limit_place)) = limit
        && task.jitter >= limit
    {
        let message = format!("task `{name}` may be released after its {what}");
        let text = format!("released up to {} late", task.jitter);
        faults.push(
            Fault::error(codes::BAD_JITTER, message, place(name, "jitter"), text)
                .also(limit_place, format!("{what} {limit} after the arrival"))
                .help("the deadline counts from the arrival, so it must be longer than the jitter"),
        );
    }
}

fn offset(name: &str, task: &RealTimeDraft, faults: &mut Faults<'_>) {
    let (period, period_place) = period_of(name, task);
    if let ArrivalDraft::Periodic { offset, .. } = &task.arrival
        && *offset >= period
        && !period.is_zero()
    {
        let message = format!("the offset of task `{name}` is a period or more");
        let label = format!("offset {offset}");
        faults.push(
            Fault::error(codes::LATE_OFFSET, message, place(name, "arrival.offset"), label)
                .warning()
                .also(period_place, format!("period {period}"))
                .help("an offset usually only orders tasks within a period"),
        );
    }
}

/// A job within its proven execution time never exhausts its budget.
fn budget(name: &str, task: &RealTimeDraft, faults: &mut Faults<'_>) {
    let (Some(budget), Some(bound)) = (task.budget, task.wcet.bound()) else { return };
    let wcet = format!("tasks.{name}.wcet");
    if budget >= bound || faults.wrong(&wcet) || faults.wrong(&format!("{wcet}.value")) {
        return;
    }
    let message = format!("task `{name}` may exhaust its budget before its job completes");
    let fault = Fault::error(
        codes::BAD_BUDGET,
        message,
        KeyPath::value(format!("tasks.{name}.budget")),
        format!("budget {budget}"),
    )
    .also(KeyPath::value(format!("{wcet}.value")), format!("{bound} with its margin"))
    .note("a budget limits jobs that exceed the stated execution time; it must cover that time")
    .help(format!("use at least \"{bound}\""));
    // If the value alone exceeds the budget, the margin does not matter.
    if budget < task.wcet.value {
        faults.push(fault);
    } else {
        faults.push_resting_on(fault, &[&format!("{wcet}.margin")]);
    }
}

fn cost(name: &str, task: &RealTimeDraft, limit: Option<&Limit>, faults: &mut Faults<'_>) {
    let at = |key: &str| place(name, key);
    if task.wcet.value.is_zero() {
        let message = format!("task `{name}` has an execution time of zero");
        faults.push(
            Fault::error(codes::BAD_WCET, message, at("wcet.value"), "zero")
                .help("measure it, or write a guess that is too large and `source = \"guess\"`"),
        );
        return;
    }
    let Some(bound) = task.wcet.bound() else {
        let message = format!("the execution time of task `{name}` with its margin does not fit in 64 bits");
        faults.push(
            Fault::error(codes::BAD_WCET, message, at("wcet.value"), "too long")
                .help("is the unit right? This is centuries"),
        );
        return;
    };
    if let Some((limit, what, place)) = limit
        && bound > *limit
    {
        let message = format!("task `{name}` cannot complete by its {what}, even alone");
        let text = match task.wcet.margin_permille {
            0 => format!("takes up to {bound}"),
            _ => format!("takes up to {} with its margin", bound.rounded()),
        };
        // The largest value whose bound, rounded up, still fits.
        let scaled = u128::from(limit.as_ns()) * 1_000;
        let most = scaled / (1_000 + u128::from(task.wcet.margin_permille));
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        // Whole µs if the value is at least 1 µs, so that it is easy to type.
        let most = Duration::from_ns(if most >= 1_000 { most - most % 1_000 } else { most });
        let help = if most.is_zero() {
            format!("no execution time fits: is the unit of the {what} right?")
        } else {
            format!("at most {most} fits, before any other task and overhead")
        };
        faults.push(
            Fault::error(codes::WCET_OVER_DEADLINE, message, at("wcet.value"), text)
                .also(place.clone(), format!("{what} {limit}"))
                .help(help),
        );
    }
    if task.non_preemptive > bound {
        let message =
            format!("the non-preemptive stretch of task `{name}` is longer than its execution time");
        let text = format!("not preemptible for {}", task.non_preemptive);
        let fault = Fault::error(codes::BAD_NON_PREEMPTIVE, message, at("non-preemptive"), text)
            .also(at("wcet.value"), format!("runs for at most {bound}"))
            .help("the longest non-preemptive stretch is part of the execution time");
        faults.push_resting_on(fault, &[&format!("tasks.{name}.wcet.margin")]);
    }
}
