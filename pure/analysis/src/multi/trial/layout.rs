// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use core::ops::Range;

use super::{GlobalRequests, PLAIN, Parameters, Period, Rival, Row, SHORT, Solution, Stale, Trial, Users};
use crate::multi::contention::{Contention, Use};
use crate::multi::guarded::{Guard, GuardedSet};
use crate::multi::mpcp_blocking::ceilings;

/// By task, its place in the order of cores and urgencies; by core, its places.
fn places(contention: &Contention) -> (Vec<usize>, Vec<Range<usize>>) {
    let mut place = vec![0; contention.order.len()];
    contention.order.iter().enumerate().for_each(|(at, &task)| place[task] = at);
    let mut cores = vec![0..0; contention.cores];
    for (at, &task) in contention.order.iter().enumerate() {
        let core = &mut cores[contention.tasks[task].core];
        *core = if core.end == 0 { at..at + 1 } else { core.start..at + 1 };
    }
    (place, cores)
}

/// By resource, who uses it.
fn users(guarded: &GuardedSet, requests: &[GlobalRequests]) -> Vec<Users> {
    let contention = &guarded.contention;
    let mut of_resource = vec![Users::default(); contention.resources];
    for (at, request) in requests.iter().enumerate() {
        of_resource[request.resource].requests.push(at);
    }
    for section in &contention.local {
        of_resource[section.resource].core = Some(contention.tasks[section.task].core);
    }
    for (resource, users) in of_resource.iter_mut().enumerate() {
        users.longer = guarded.longer(resource);
    }
    of_resource
}

/// By core, its requests, those with the highest ceiling first.
fn by_ceiling(requests: &[GlobalRequests], rows: &[Row], cores: usize) -> Vec<Vec<usize>> {
    let mut by_ceiling = vec![Vec::new(); cores];
    for (at, request) in requests.iter().enumerate() {
        by_ceiling[rows[request.place].core].push(at);
    }
    for of_core in &mut by_ceiling {
        of_core.sort_by_key(|&at| core::cmp::Reverse(requests[at].ceiling));
    }
    by_ceiling
}

impl Trial {
    /// Lays out a set with its guards and costs.
    pub fn new(guarded: &GuardedSet) -> Self {
        let contention = &guarded.contention;
        let tasks = contention.order.len();
        let (place, cores) = places(contention);
        let requests = global_requests(contention, &place);
        let rows = rows(contention, guarded);
        let of_resource = users(guarded, &requests);
        let by_ceiling = by_ceiling(&requests, &rows, contention.cores);
        let times = rows.iter().map(|row| u128::from(row.period) + u128::from(row.jitter));
        let weights = requests.iter().map(GlobalRequests::weight);
        let limits = rows.iter().map(|row| row.limit.unwrap_or(0).into());
        let total = times.chain(weights).chain(limits).sum::<u128>();
        let zeros = vec![0; tasks];
        let mut trial = Self {
            plain: total < PLAIN,
            short: total < SHORT,
            total,
            periods: rows.iter().map(|row| Period::new(row.period)).collect(),
            order: contention.order.clone(),
            place,
            cores,
            by_ceiling,
            equals: rows.iter().enumerate().any(|(at, row)| row.higher.end != at + 1),
            moving: 0,
            suspending: 0,
            now: Parameters {
                cost: contention.order.iter().map(|&task| contention.tasks[task].cost).collect(),
                spin: zeros.clone(),
                requests: zeros.clone(),
                span: zeros.clone(),
                longest: zeros.clone(),
                local: zeros.clone(),
                remote: zeros,
                held: vec![0; requests.len()],
                wait: vec![0; requests.len()],
            },
            stale: Stale {
                local: vec![true; contention.cores],
                held: vec![true; contention.cores],
                wait: vec![true; contention.resources],
                remote: true,
            },
            suspect: 0,
            solution: Solution::default(),
            rows,
            requests,
            of_resource,
            guarded: guarded.clone(),
        };
        if trial.plain {
            for request in 0..trial.requests.len() {
                trial.set(request, guarded.guards()[trial.requests[request].resource]);
            }
        }
        trial
    }
}

fn rows(contention: &Contention, guarded: &GuardedSet) -> Vec<Row> {
    let row = |&task: &usize| {
        let row = &contention.tasks[task];
        let section = |section: &Use| (section.resource, section.length, guarded.ceiling(section.resource));
        Row {
            period: row.period,
            jitter: row.jitter,
            limit: row.deadline.checked_sub(row.jitter).filter(|limit| *limit > 0),
            priority: row.priority,
            core: row.core,
            requests: 0..0,
            higher: row.higher.clone(),
            local: contention.local[row.local.clone()].iter().map(section).collect(),
        }
    };
    let mut rows: Vec<Row> = contention.order.iter().map(row).collect();
    let mut from = 0;
    for (row, &task) in rows.iter_mut().zip(&contention.order) {
        row.requests = from..from + contention.tasks[task].global.len();
        from = row.requests.end;
    }
    rows
}

/// The requests of each task for each global resource, in the order of places.
fn global_requests(contention: &Contention, place: &[usize]) -> Vec<GlobalRequests> {
    let ceilings = ceilings(contention);
    let mut of_request = vec![0; contention.global.len()];
    let order = contention.order.iter().flat_map(|&task| contention.tasks[task].global.clone());
    let order: Vec<usize> = order.collect();
    order.iter().enumerate().for_each(|(at, &request)| of_request[request] = at);
    let requests_of = |&request: &usize| {
        let Use { task, resource, count, length, .. } = contention.global[request];
        let row = &contention.tasks[task];
        let (mut rivals, mut spin) = (Vec::new(), Some(0u64));
        for core in (0..contention.cores).filter(|&core| core != row.core) {
            let uses = contention.uses(resource, core);
            rivals.extend(uses.iter().map(|theirs| Rival {
                place: place[theirs.task],
                core,
                count: theirs.count,
                length: theirs.length,
            }));
            if let Some(first) = uses.first() {
                spin = spin.filter(|_| first.count >= count);
                spin = spin.map(|spin| spin.saturating_add(count.saturating_mul(first.length)));
            }
        }
        let others = contention.all_uses(resource).iter().filter(|user| user.task != task);
        let urgent = |user: &&Use| contention.tasks[user.task].priority >= row.priority;
        let (higher, lower): (Vec<&Use>, Vec<&Use>) = others.partition(urgent);
        let at = |users: Vec<&Use>| users.into_iter().map(|user| of_request[user.request]).collect();
        GlobalRequests {
            place: place[task],
            resource,
            count,
            length,
            ceiling: ceilings[request],
            guard: Guard::Absent,
            stretch: contention.spin_once(resource, row.core).saturating_add(length),
            spin,
            rivals,
            lower: at(lower),
            higher: at(higher),
        }
    };
    order.iter().map(requests_of).collect()
}
