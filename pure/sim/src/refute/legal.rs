// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_model::{ArrivalPattern, Body, TaskSet};
use taut_time::Duration;

use crate::{Scenario, SectionPosition};

/// Whether the set allows the exact times and places of a scenario: [`Simulation::run`] leaves this check to its
/// caller. For tasks without exact times the scenario's other fields always give legal ones.
///
/// A periodic task may begin at any time. Arrivals may end before the horizon.
///
/// [`Simulation::run`]: crate::Simulation::run
pub fn is_legal(set: &TaskSet, scenario: &Scenario) -> bool {
    let task = |at: usize| set.tasks().get(at);
    let arrivals = |(at, times): &(usize, Vec<Duration>)| {
        task(*at).is_some_and(|task| match task.arrivals {
            ArrivalPattern::Sporadic | ArrivalPattern::Driven => apart(times, |gap| gap >= task.period),
            ArrivalPattern::Periodic => apart(times, |gap| gap == task.period),
            ArrivalPattern::Phased(offset) => {
                apart(times, |gap| gap == task.period) && times.first().is_none_or(|first| *first == offset)
            }
        })
    };
    let delays = |(at, delays): &(usize, Vec<Duration>)| {
        task(*at).is_some_and(|task| delays.iter().all(|delay| *delay <= task.jitter))
    };
    let places =
        |(at, places): &(usize, Vec<SectionPosition>)| task(*at).is_some_and(|task| fits(&task.body, places));
    scenario.exactly.iter().all(arrivals)
        && scenario.delays.iter().all(delays)
        && scenario.placed.iter().all(places)
}

fn apart(times: &[Duration], may_be: impl Fn(Duration) -> bool) -> bool {
    times.windows(2).all(|pair| pair[1].checked_sub(pair[0]).is_some_and(&may_be))
}

fn fits(body: &Body, places: &[SectionPosition]) -> bool {
    let Body::Anywhere { cost, requests } = body else { return places.is_empty() };
    let of_resource = |resource| {
        let counts = requests.iter().filter(|request| request.resource == resource);
        counts.map(|request| u64::from(request.count)).sum::<u64>()
    };
    let sections = requests.iter().try_fold(Duration::ZERO, |sum, request| {
        sum.checked_add(request.length.checked_mul(request.count.into())?)
    });
    let all = sections
        .and_then(|sections| places.iter().try_fold(sections, |sum, place| sum.checked_add(place.before)));
    let asked = |place: &SectionPosition| {
        let times = places.iter().filter(|other| other.resource == place.resource).count() as u64;
        times <= of_resource(place.resource)
    };
    all.is_some_and(|sum| sum <= *cost) && places.iter().all(asked)
}
