// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every analysis that there is for a task: which one the plan used, what the others say, and why some do not
//! apply.

use std::cmp::Ordering;

use taut_analysis::uni::utilisation::{Utilisation, hyperbolic, liu_layland};
use taut_analysis::{AnalysedCore, Bound, Overflow, Verdict, Why};
use taut_model::{Model, SchedulingPolicy};
use taut_time::Duration;
use taut_time::shown::percent;

use crate::placement::Placements;
use crate::response::proof::JOBS_ASKED_OFTEN;
use crate::response::shared::protocols::names;
use crate::response::waits;

/// One analysis, or several with the same result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) test: String,
    pub(crate) says: String,
}

impl Row {
    pub(crate) fn new(test: impl Into<String>, says: impl Into<String>) -> Self {
        Self { test: test.into(), says: says.into() }
    }

    /// A test that does not apply, with the assumption that fails.
    pub(crate) fn fails(test: &str, why: impl std::fmt::Display) -> Self {
        Self::new(test, format!("does not apply: {why}"))
    }
}

/// The rows for a task on a core under fixed priorities, if the application shares no resources.
pub(crate) fn by_core(model: &Model, placements: &Placements<'_>, placement: usize) -> Vec<Row> {
    let at = &placements.placements[placement];
    let Ok(core) = &placements.cores[at.core].analysis else {
        return vec![Row::new("all", "no answer: a cost with its overhead does not fit in 64 bits")];
    };
    let [plain, long, phases] = responses(model, placements, placement, core);
    let mut rows = vec![plain, long, phases];
    rows.extend(quick(placements, placement, core));
    let members = &placements.cores[at.core].members;
    let cpu = model.platform().cores[at.core];
    let keeps = members.iter().find(|&&i| !placements.placements[i].task.non_preemptive.is_zero());
    rows.push(match keeps {
        Some(&i) => Row::fails(
            "limited preemption",
            format!(
                "the manifest does not say where in a job `{}` keeps the core; it counts as blocking",
                placements.placements[i].name
            ),
        ),
        None => Row::fails("limited preemption", format!("no task of core {cpu} is `non-preemptive`")),
    });
    let ceilings = format!("ceilings, {}", names(SchedulingPolicy::FixedPriority).join(", "));
    rows.push(Row::fails(&ceilings, "there are no resources"));
    rows.push(Row::fails("processor demand, EDF response times, DFP", "the cores go by fixed priority"));
    rows
}

/// Response times: for one job at a time, for several jobs, and with offsets.
fn responses(model: &Model, placements: &Placements<'_>, placement: usize, core: &AnalysedCore) -> [Row; 3] {
    let at = &placements.placements[placement];
    let past_deadline = |past: &Bound| past.from_arrival.rounded_above(at.task.deadline);
    let by_phases = matches!(at.in_phase, Some(Verdict::Schedulable(_)));
    let verdict = placements.verdict(placement);
    let says = match &verdict {
        Ok(Verdict::Schedulable(_)) => "used".to_owned(),
        Ok(Verdict::Unschedulable(past)) => {
            format!("used, says no: R is at least {}, and a run attains that", past_deadline(past))
        }
        Ok(Verdict::NotShown(Why::Passes(past))) if by_phases => {
            format!("says no: R would be at least {}", past_deadline(past))
        }
        Ok(Verdict::NotShown(Why::Passes(past))) => {
            format!("used, says no: R is at least {}", past_deadline(past))
        }
        Ok(Verdict::NotShown(Why::Steps(n))) => format!("no answer: given up after {n} steps"),
        Ok(Verdict::NotShown(Why::Rate)) => "no bound: the demand exceeds the core's time".to_owned(),
        Ok(Verdict::NotApplicable(assumption)) => format!("does not apply: {assumption}"),
        Err(overflow) => format!("no answer: {overflow}"),
    };
    let (deadline, period) = (at.task.deadline, at.task.arrival.period());
    let (plain, long) = ("response time, a job at a time", "response time, several jobs");
    let [plain, long] = if deadline > period {
        let why = format!("the deadline {deadline} is longer than the period {period}");
        [Row::fails(plain, why), Row::new(long, says)]
    } else {
        let why = format!("not needed: the deadline {deadline} is within the period {period}");
        [Row::new(plain, says), Row::new(long, why)]
    };
    let phases = phases(model, placements, placement, core);
    [plain, long, Row::new("response time, offsets", phases)]
}

/// What the analysis by phases says.
fn phases(model: &Model, placements: &Placements<'_>, placement: usize, core: &AnalysedCore) -> String {
    let at = &placements.placements[placement];
    let few = core.jobs_in_phase().is_some_and(|jobs| jobs <= JOBS_ASKED_OFTEN);
    match (&at.in_phase, &placements.verdict(placement)) {
        (Some(Verdict::Schedulable(_)), _) => "used".to_owned(),
        (Some(Verdict::NotShown(Why::Passes(past))), _) => {
            format!("says no: R is at least {}", past.from_arrival.rounded_above(at.task.deadline))
        }
        (Some(Verdict::NotShown(Why::Steps(n))), _) => format!("no answer: given up after {n} steps"),
        (Some(_), _) => "no answer".to_owned(),
        (None, _) if !core.has_phases() => {
            let mut here = placements.placements.iter().filter(|placement| placement.core == at.core);
            let waits = here.any(|placement| waits::whose(model, placement.task).is_some());
            let who = if waits { "are periodic and wait for nobody" } else { "are periodic" };
            format!("does not apply: fewer than two tasks of the core {who}, so no phases are known")
        }
        (None, Ok(Verdict::Unschedulable(_))) => "does not help: a run misses the deadline".to_owned(),
        (None, Ok(Verdict::Schedulable(without))) if few => match core.response_in_phase(at.at) {
            Ok(Verdict::Schedulable(with)) => {
                let (with, without) = (with.from_arrival, without.from_arrival);
                match with.cmp(&without) {
                    Ordering::Less => format!("not needed: would give R = {}", with.rounded()),
                    Ordering::Equal => "not needed: would give the same R".to_owned(),
                    Ordering::Greater => format!("weaker: would give R = {}", with.rounded()),
                }
            }
            _ => "not needed: would show no bound".to_owned(),
        },
        (None, Ok(Verdict::Schedulable(_))) => "not needed: shown without".to_owned(),
        (None, _) => "no answer".to_owned(),
    }
}

/// A cost and a T'.
type Share = (Duration, Duration);

/// Utilisation bounds over the task and the tasks of higher priority.
///
/// Let T' = min(T, D) − J for the task and T' = T − J for the tasks above it, and let its blocking count as
/// execution. If no task above it has a longer T', the task is the last in rate order, and R ≤ D whatever the order
/// of the others.
fn quick(placements: &Placements<'_>, placement: usize, core: &AnalysedCore) -> Vec<Row> {
    match level(core, placements.placements[placement].at) {
        Ok(level) => within(placements, placement, core, level),
        Err(overflow) => vec![Row::fails("utilisation bounds", overflow.to_string())],
    }
}

/// The cost and T' of the task, of the tasks above it, of the platform probe and of the devices, overheads charged.
fn level(core: &AnalysedCore, own: usize) -> Result<Vec<Share>, Overflow> {
    let (all, charged) = (core.tasks(), core.charged());
    let shortened = |of: usize, time: Duration| time.saturating_sub(charged[of].jitter);
    let cost = charged[own].cost.checked_add(core.blocking(own)?).ok_or(Overflow)?;
    let mut level = vec![(cost, shortened(own, all[own].period.min(all[own].deadline)))];
    let above = core.higher(own).chain(core.machine());
    level.extend(above.map(|task| (charged[task].cost, shortened(task, charged[task].period))));
    Ok(level)
}

/// The utilisation bounds, or why they say nothing.
fn within(
    placements: &Placements<'_>,
    placement: usize,
    core: &AnalysedCore,
    mut level: Vec<Share>,
) -> Vec<Row> {
    let (layland, hyper) = ("utilisation, Liu & Layland", "utilisation, hyperbolic");
    let own = placements.placements[placement].at;
    let members = &placements.cores[placements.placements[placement].core].members;
    let name = |task: usize| placements.placements[members[task]].name;
    let least = level[0].1;
    let refused = core.higher(own).zip(&level[1..]).find(|(_, (_, period))| *period > least);
    let why = if least.is_zero() {
        Some(format!("`{}` may be released as late as its deadline", name(own)))
    } else if let Some((task, (_, period))) = refused {
        Some(format!(
            "`{}` is above with the longer period, {} to {}, jitter taken off",
            name(task),
            period.rounded_above(least),
            least.rounded()
        ))
    } else if level.iter().any(|(_, period)| period.is_zero()) {
        Some("a task above may be released a period late".to_owned())
    } else {
        let mut machine = level[1 + core.higher(own).count()..].iter();
        let is_longer = |(_, period): &Share| *period > least;
        match (machine.next().is_some_and(is_longer), machine.any(is_longer)) {
            (true, _) => Some(format!("its {} are less than the probe's period", least.rounded())),
            (_, true) => Some(format!("its {} are less than the gap of a device", least.rounded())),
            _ => None,
        }
    };
    if let Some(why) = why {
        return vec![Row::fails("utilisation bounds", why)];
    }
    level.sort_by_key(|(_, period)| *period);
    let says = |verdict: Verdict<Utilisation>, figures: String| match verdict {
        Verdict::Schedulable(_) => format!("not needed: {figures}"),
        Verdict::NotShown(_) | Verdict::Unschedulable(_) => format!("says no: {figures}"),
        Verdict::NotApplicable(assumption) => format!("does not apply: {assumption}"),
    };
    let used = Utilisation::of(level.iter().copied()).map_or(u64::MAX, |u| u.ppm());
    let most = liu_layland::bound(u32::try_from(level.len()).unwrap_or(u32::MAX)) / 1_000;
    let sum = match used <= most {
        true => format!("{} are within {}", percent(used), percent(most)),
        false => format!("{} are not within {}", percent(used), percent(most)),
    };
    let found = hyperbolic::test(&level);
    let product = product(&level);
    let product = match found.holds() {
        true => format!("a product of {product} is within 2"),
        false => format!("a product of {product} is not within 2"),
    };
    vec![Row::new(layland, says(liu_layland::test(&level), sum)), Row::new(hyper, says(found, product))]
}

/// Π (C / T + 1), rounded up to thousandths.
fn product(tasks: &[(Duration, Duration)]) -> String {
    let millions = tasks.iter().fold(1_000_000u128, |product, &task| {
        let share = Utilisation::of([task]).map_or(u64::MAX, |share| share.ppm());
        product.saturating_mul(1_000_000 + u128::from(share)).div_ceil(1_000_000)
    });
    let thousandths = millions.div_ceil(1_000);
    format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000)
}
