// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Small changes of a scenario, each based on an idea of what makes a response longer.

use taut_model::ArrivalPattern;
use taut_time::Duration;

use super::facts::{Facts, Way};
use super::log::{Checkpoint, Log};
use crate::Scenario;
use crate::random::Random;

/// Changes a scenario. `log` is the log of its run, `focus` the task whose response is to become longer.
pub(super) fn change(facts: &Facts, focus: usize, log: &Log, scenario: &mut Scenario, random: &mut Random) {
    match random.up_to(19) {
        0..=6 => request(facts, focus, log, scenario, random),
        7..=8 => victim(facts, focus, log, scenario, random),
        9..=11 => rival(facts, focus, log, scenario, random),
        12..=13 => below(facts, focus, log, scenario, random),
        14..=15 => place(facts, scenario, random),
        16 => quiet(facts, log, scenario, random),
        17 => shift(facts, scenario, random),
        18 => delay(facts, scenario, random),
        _ => refill(facts, scenario, random),
    }
}

/// Lets another user of a resource request it just before a request on the core in focus: one user, or one user of
/// each core.
fn request(facts: &Facts, focus: usize, log: &Log, scenario: &mut Scenario, random: &mut Random) {
    let core = facts.tasks[focus].core;
    let is_ours = |mark: &Checkpoint| mark.asks.is_some() && facts.tasks[mark.task].core == core;
    let Some(mark) = sample(log, random, is_ours) else { return };
    let Some(resource) = mark.asks else { return };
    let users = &facts.users[resource];
    let Some(&first) = random.pick(users) else { return };
    let everywhere = random.up_to(2) == 0;
    let mut core_done = [mark.task; 16];
    for step in 0..core_done.len() {
        let other = if step == 0 { first } else { *random.pick(users).unwrap_or(&first) };
        let own = facts.tasks[other].core;
        let taken = core_done[..step].iter().any(|done| facts.tasks[*done].core == own);
        core_done[step] = other;
        if other == mark.task || (taken && step > 0) {
            continue;
        }
        ask(facts, other, resource, mark.at, scenario, random);
        if !everywhere {
            return;
        }
    }
}

/// Lets a task request a resource just before an instant.
fn ask(facts: &Facts, task: usize, resource: usize, at: u64, scenario: &mut Scenario, random: &mut Random) {
    if facts.is_open(task) && random.up_to(3) == 0 {
        first(task, resource, scenario);
    }
    let Some(before) = facts.before(task, resource, scenario, random) else { return };
    let Some(arrival) = at.checked_sub(before.saturating_add(1)) else { return };
    facts.put(task, arrival, random.up_to(2) == 0, scenario);
    // Sometimes no rival is in the task's way.
    if random.up_to(3) == 0 {
        for other in facts.rivals(task).iter().filter(|other| **other != task) {
            let from = arrival.saturating_sub(facts.tasks[*other].cost);
            facts.silence(*other, from, at, scenario);
        }
    }
}

/// Moves a section of the resource to the front of the job.
fn first(task: usize, resource: usize, scenario: &mut Scenario) {
    let places = &mut scenario.placed[task].1;
    let Some(found) = places.iter().position(|place| place.resource == resource) else { return };
    places[..=found].rotate_right(1);
    places[0].before = Duration::ZERO;
}

/// Lets the task in focus arrive when something happens on its core.
fn victim(facts: &Facts, focus: usize, log: &Log, scenario: &mut Scenario, random: &mut Random) {
    let core = facts.tasks[focus].core;
    let Some(mark) = sample(log, random, |mark| facts.tasks[mark.task].core == core) else { return };
    let at = near(mark.at, random).saturating_sub(if random.up_to(1) == 0 {
        0
    } else {
        facts.tasks[focus].jitter
    });
    if facts.tasks[focus].arrivals.is_sporadic() && random.up_to(1) == 0 {
        scenario.exactly[focus].1.clear();
    }
    facts.put(focus, at, random.up_to(1) == 0, scenario);
}

/// Lets a rival arrive with the task in focus, or when something happens, and sometimes from then on as often as it
/// may.
fn rival(facts: &Facts, focus: usize, log: &Log, scenario: &mut Scenario, random: &mut Random) {
    let Some(&rival) = random.pick(facts.rivals(focus)).filter(|rival| **rival != focus) else { return };
    let core = facts.tasks[focus].core;
    let at = match random.up_to(2) {
        0 => log.arrival,
        1 => log.arrival + 1,
        _ => match sample(log, random, |mark| facts.tasks[mark.task].core == core) {
            Some(mark) => near(mark.at, random),
            None => return,
        },
    };
    let at = at.saturating_sub(if random.up_to(1) == 0 { 0 } else { facts.tasks[rival].jitter });
    match random.up_to(2) {
        0 => facts.put(rival, at, false, scenario),
        1 => facts.put(rival, at, true, scenario),
        _ => facts.dense(rival, at, scenario),
    }
}

/// Lets a less urgent task be in a section just before the task in focus arrives, or something happens on its core.
fn below(facts: &Facts, focus: usize, log: &Log, scenario: &mut Scenario, random: &mut Random) {
    let Some(&lower) = random.pick(facts.lower(focus)) else { return };
    let Some(resource) = facts.any_resource(lower, random) else { return };
    let core = facts.tasks[focus].core;
    let at = match random.up_to(1) {
        0 => Some(log.arrival),
        _ => sample(log, random, |mark| facts.tasks[mark.task].core == core).map(|mark| mark.at),
    };
    if let Some(at) = at {
        ask(facts, lower, resource, at, scenario, random);
    }
}

/// Changes the places of a task's sections.
fn place(facts: &Facts, scenario: &mut Scenario, random: &mut Random) {
    let task = random.up_to(facts.tasks.len() as u64 - 1) as usize;
    if !facts.is_open(task) {
        return;
    }
    if random.up_to(1) == 0 {
        scenario.placed[task].1 = facts.places(task, Way::any(random), random);
        return;
    }
    let (rest, places) = (facts.rest(task), &mut scenario.placed[task].1);
    let at = random.up_to(places.len() as u64 - 1) as usize;
    if random.up_to(1) == 0 {
        let other = random.up_to(places.len() as u64 - 1) as usize;
        places.swap(at, other);
    } else {
        let others: u64 =
            places.iter().map(|place| place.before.as_ns()).sum::<u64>() - places[at].before.as_ns();
        places[at].before = Duration::from_ns(random.up_to(rest.saturating_sub(others)));
    }
}

/// Removes a task's arrivals: all, or those in an interval.
fn quiet(facts: &Facts, log: &Log, scenario: &mut Scenario, random: &mut Random) {
    let task = random.up_to(facts.tasks.len() as u64 - 1) as usize;
    let at = sample(log, random, |_| true).map_or(0, |mark| mark.at);
    let (from, to) = match random.up_to(3) {
        0 => (0, u64::MAX),
        1 => (0, at),
        2 => (at, u64::MAX),
        _ => (at, at + facts.tasks[task].period),
    };
    facts.silence(task, from, to, scenario);
}

/// Shifts all arrivals of a task.
fn shift(facts: &Facts, scenario: &mut Scenario, random: &mut Random) {
    let task = random.up_to(facts.tasks.len() as u64 - 1) as usize;
    let scale = random.up_to(20);
    let by = random.up_to(facts.tasks[task].period >> scale);
    let horizon = scenario.horizon.as_ns();
    let list = &mut scenario.exactly[task].1;
    match facts.tasks[task].arrivals {
        ArrivalPattern::Phased(_) => {}
        ArrivalPattern::Periodic => {
            let Some(start) = list.first().map(|time| time.as_ns()) else { return };
            let start = if random.up_to(1) == 0 { start + by } else { start.saturating_sub(by) };
            facts.dense(task, start, scenario);
        }
        ArrivalPattern::Sporadic | ArrivalPattern::Driven => {
            let by = Duration::from_ns(by);
            if random.up_to(1) == 0 {
                list.iter_mut().for_each(|time| *time = Duration::from_ns(time.as_ns() + by.as_ns()));
                list.retain(|time| time.as_ns() < horizon);
            } else {
                list.retain(|time| *time >= by);
                list.iter_mut().for_each(|time| *time = time.saturating_sub(by));
            }
        }
    }
}

/// Changes a task's times from arrival to release.
fn delay(facts: &Facts, scenario: &mut Scenario, random: &mut Random) {
    let task = random.up_to(facts.tasks.len() as u64 - 1) as usize;
    let (jitter, jobs) = (facts.tasks[task].jitter, scenario.exactly[task].1.len());
    let list = &mut scenario.delays[task].1;
    if jitter == 0 || jobs == 0 {
        return;
    }
    match random.up_to(3) {
        0 => list.clear(),
        1 => {
            list.clear();
            list.resize(jobs, Duration::from_ns(jitter));
        }
        kind => {
            let job = random.up_to(jobs as u64 - 1) as usize;
            list.resize(jobs.max(list.len()), Duration::ZERO);
            list[job] = Duration::from_ns(if kind == 2 { jitter } else { random.up_to(jitter) });
        }
    }
}

/// Lets a task arrive as often as it may.
fn refill(facts: &Facts, scenario: &mut Scenario, random: &mut Random) {
    let task = random.up_to(facts.tasks.len() as u64 - 1) as usize;
    let from = random.up_to(facts.tasks[task].period);
    facts.dense(task, from, scenario);
}

/// An instant, or the instant 1 ns before or after it.
fn near(at: u64, random: &mut Random) -> u64 {
    (at + random.up_to(2)).saturating_sub(1)
}

/// A checkpoint that `wanted` accepts, preferably from the worst job's time: a long run has many others.
fn sample(log: &Log, random: &mut Random, wanted: impl Fn(&Checkpoint) -> bool) -> Option<Checkpoint> {
    let from = log.marks.partition_point(|mark| mark.at < log.arrival);
    let to = log.marks.partition_point(|mark| mark.at <= log.end);
    let window = &log.marks[from..to];
    for attempt in 0..24 {
        let marks = if attempt % 3 == 0 { &log.marks } else { window };
        if let Some(mark) = random.pick(marks)
            && wanted(mark)
        {
            return Some(*mark);
        }
    }
    None
}
