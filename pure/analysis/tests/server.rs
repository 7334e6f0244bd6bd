// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Servers against a simulation, between a more and a less urgent task: neither requests nor the less urgent task
//! take longer than their bounds.

use taut_model::ArrivalPattern;
mod draw;

use std::collections::VecDeque;

use draw::Draw;
use proptest::prelude::*;
use taut_analysis::uni::fp::arbitrary;
use taut_analysis::uni::fp::preemptive::{FpTask, Subject};
use taut_analysis::uni::server::{
    Requests, ServerBacklog, ServerResponse, ServerSupply, deferrable, polling, sporadic,
};
use taut_analysis::{Assumption, Overflow, Verdict, Why};
use taut_time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Looks for requests when its period begins.
    PollingEarly,
    /// Looks for requests when it first gets the core.
    PollingLate,
    Deferrable,
    Sporadic,
}

const KINDS: [Kind; 4] = [Kind::PollingEarly, Kind::PollingLate, Kind::Deferrable, Kind::Sporadic];

/// (C, T, phase).
type Ticks = (u64, u64, u64);

/// What happened in a run.
#[derive(Default)]
struct Seen {
    /// The longest response time of a request.
    requests: u64,
    /// The longest response time of the less urgent task.
    low: u64,
    /// For each request the service that waits when it has arrived, its own included, and its response time.
    backlogs: Vec<(u64, u64)>,
}

/// Runs the tasks and the server.
fn observe(kind: Kind, high: Ticks, server: Ticks, requests: &[(u64, u64)], low: Ticks, end: u64) -> Seen {
    let (budget, period, phase) = server;
    // What is left of a period that began before; a polling server has given it up.
    let (mut left, mut worst) = (if kind == Kind::Deferrable { budget } else { 0 }, Seen::default());
    let mut parts: VecDeque<(u64, u64)> = VecDeque::from([(0, budget)]);
    let mut queue: VecDeque<(u64, u64)> = VecDeque::new();
    let mut waiting: VecDeque<u64> = VecDeque::new();
    let mut coming = requests.iter().peekable();
    let mut busy_since = 0;
    let mut plain: Vec<VecDeque<(u64, u64)>> = vec![VecDeque::new(); 2];
    for now in 0..end {
        for (line, task) in plain.iter_mut().zip([high, low]) {
            if now >= task.2 && (now - task.2).is_multiple_of(task.1) {
                line.push_back((now, task.0));
            }
        }
        while let Some(&&(at, cost)) = coming.peek().filter(|r| r.0 <= now) {
            if queue.is_empty() {
                busy_since = now;
            }
            queue.push_back((at, cost));
            waiting.push_back(queue.iter().map(|request| request.1).sum());
            coming.next();
        }
        if now >= phase && (now - phase).is_multiple_of(period) {
            left = if kind == Kind::PollingEarly && queue.is_empty() { 0 } else { budget };
        }
        if let Some(job) = plain[0].front_mut() {
            job.1 -= 1;
            if job.1 == 0 {
                plain[0].pop_front();
            }
            continue;
        }
        if queue.is_empty() && matches!(kind, Kind::PollingEarly | Kind::PollingLate) {
            left = 0;
        }
        let has = if kind == Kind::Sporadic { parts.front().is_some_and(|p| p.0 <= now) } else { left > 0 };
        if let Some(job) = queue.front_mut().filter(|_| has) {
            job.1 -= 1;
            if job.1 == 0 {
                worst.requests = worst.requests.max(now + 1 - job.0);
                worst.backlogs.extend(waiting.pop_front().map(|service| (service, now + 1 - job.0)));
                queue.pop_front();
            }
            if kind == Kind::Sporadic {
                let part = parts.front_mut().expect("it has");
                part.1 -= 1;
                let back = part.0.max(busy_since) + period;
                if part.1 == 0 {
                    parts.pop_front();
                }
                parts.push_back((back, 1));
            } else {
                left -= 1;
            }
            continue;
        }
        if let Some(job) = plain[1].front_mut() {
            job.1 -= 1;
            if job.1 == 0 {
                worst.low = worst.low.max(now + 1 - job.0);
                plain[1].pop_front();
            }
        }
    }
    worst
}

fn task(c: u64, t: u64) -> FpTask {
    let ns = Duration::from_ns;
    FpTask { cost: ns(c), period: ns(t), jitter: Duration::ZERO, arrivals: ArrivalPattern::Periodic }
}

fn alone(task: FpTask, higher: &[FpTask]) -> Option<Duration> {
    let (deadline, blocking) = (Duration::MAX, Duration::ZERO);
    let subject = Subject { task, deadline, blocking, blocking_attained: true, preemptible: true };
    arbitrary::response(&subject, higher).expect("small numbers").bound().map(|r| r.from_arrival)
}

fn ask(kind: Kind, server: ServerSupply, requests: Requests) -> Result<Verdict<ServerResponse>, Overflow> {
    match kind {
        Kind::PollingEarly | Kind::PollingLate => polling::response(server, requests),
        Kind::Deferrable => deferrable::response(server, requests),
        Kind::Sporadic => sporadic::response(server, requests),
    }
}

fn interference(kind: Kind, server: ServerSupply) -> FpTask {
    match kind {
        Kind::PollingEarly | Kind::PollingLate => polling::interference(server),
        Kind::Deferrable => deferrable::interference(server),
        Kind::Sporadic => sporadic::interference(server),
    }
}

#[test]
fn no_run_exceeds_a_bound() {
    let draw = &mut Draw::new(9);
    let ns = Duration::from_ns;
    let (mut attained, mut low_attained, mut asked, mut light) = ([0; 4], [0; 4], 0, [0; 4]);
    for at in 0..1_000 {
        let at = at % 4;
        let kind = KINDS[at];
        let high = (draw.pick(1, 3), draw.pick(4, 9));
        let budget = (draw.pick(1, 4), draw.pick(6, 12));
        let Some(response) = alone(task(budget.0, budget.1), &[task(high.0, high.1)]) else { continue };
        let server = ServerSupply { budget: ns(budget.0), period: ns(budget.1), response };
        let (cost, gap) = (draw.pick(1, 6), draw.pick(6, 30));
        let jitter = if draw.pick(0, 1) == 0 { 0 } else { draw.pick(0, 40) };
        let requests =
            Requests { cost: ns(cost), period: ns(gap), jitter: ns(jitter), deadline: Duration::MAX };
        let Ok(Verdict::Schedulable(bound)) = ask(kind, server, requests) else { continue };
        let low = (draw.pick(1, 4), draw.pick(15, 30));
        let low_bound = alone(task(low.0, low.1), &[task(high.0, high.1), interference(kind, server)]);
        asked += 1;
        light[at] += u32::from(bound.time == response);
        for _ in 0..30 {
            let first = draw.pick(0, 30);
            let burst = draw.pick(0, 2);
            let arrivals: Vec<(u64, u64)> = (0..40)
                .scan(0, |last, k| {
                    // Each is late by up to J, in order; a burst, if all are late at first.
                    let late = match burst {
                        0 => jitter.saturating_sub(k * gap),
                        1 => draw.pick(0, jitter),
                        _ => 0,
                    };
                    *last = (first + k * gap + late).max(*last);
                    Some((*last, if draw.pick(0, 3) > 0 { cost } else { draw.pick(1, cost) }))
                })
                .collect();
            let phases = [draw.pick(0, high.1), draw.pick(0, budget.1), draw.pick(0, low.1)];
            let Seen { requests: of_requests, low: of_low, .. } = observe(
                kind,
                (high.0, high.1, phases[0]),
                (budget.0, budget.1, phases[1]),
                &arrivals,
                (low.0, low.1, phases[2]),
                400,
            );
            let limit = bound.time.as_ns();
            assert!(of_requests <= limit, "{kind:?} {server:?} {high:?} {requests:?}: {of_requests} {limit}");
            attained[at] += u32::from(of_requests + 1 >= limit);
            if let Some(limit) = low_bound.map(Duration::as_ns) {
                assert!(of_low <= limit, "{kind:?} {server:?} {high:?} {low:?}: {of_low} {limit}");
                low_attained[at] += u32::from(of_low == limit);
            }
        }
    }
    assert!(asked > 250, "{asked}");
    assert!(attained.iter().chain(&low_attained).all(|&n| n > 5), "{attained:?} {low_attained:?}");
    assert!(light[2] > 5 && light[3] > 10, "{light:?}");
}

/// Requests that arrive at any time: each takes no longer than what waits with it, whatever was served before and arrives later.
#[test]
fn no_backlog_takes_longer() {
    let draw = &mut Draw::new(23);
    let ns = Duration::from_ns;
    let (mut asked, mut attained) = (0, [0; 4]);
    for at in 0..1_200 {
        let at = at % 4;
        let kind = KINDS[at];
        let high = (draw.pick(1, 3), draw.pick(4, 9));
        let budget = (draw.pick(1, 4), draw.pick(6, 12));
        let Some(response) = alone(task(budget.0, budget.1), &[task(high.0, high.1)]) else { continue };
        if response.as_ns() > budget.1 {
            continue;
        }
        let server = ServerSupply { budget: ns(budget.0), period: ns(budget.1), response };
        for _ in 0..10 {
            let (mut now, most) = (draw.pick(0, 30), draw.pick(0, 20));
            let arrivals: Vec<(u64, u64)> = (0..30)
                .map(|_| {
                    now += if draw.pick(0, 2) == 0 { 0 } else { draw.pick(0, most) };
                    (now, draw.pick(1, 3))
                })
                .collect();
            let phases = [draw.pick(0, high.1), draw.pick(0, budget.1)];
            let (high, server_of) = ((high.0, high.1, phases[0]), (budget.0, budget.1, phases[1]));
            let seen = observe(kind, high, server_of, &arrivals, (1, 1_000, 999), 600);
            for (service, response) in seen.backlogs {
                let bound = match kind {
                    Kind::PollingEarly | Kind::PollingLate => polling::backlog(server, ns(service)),
                    Kind::Deferrable => deferrable::backlog(server, ns(service)),
                    Kind::Sporadic => sporadic::backlog(server, ns(service)),
                };
                let bound = bound.ok().and_then(|verdict| verdict.bound().copied()).expect("small numbers");
                assert!(
                    response <= bound.time.as_ns(),
                    "{kind:?} {server:?} {high:?}: {service} waits, {response} seen, {bound:?}"
                );
                asked += 1;
                attained[at] += u32::from(response + 1 >= bound.time.as_ns());
            }
        }
    }
    assert!(asked > 50_000 && attained.iter().all(|&n| n > 5), "{asked} {attained:?}");
}

#[test]
fn a_backlog_of_several_budgets() {
    let ns = Duration::from_ns;
    let server = ServerSupply { budget: ns(2), period: ns(10), response: ns(5) };
    let of = |service, of: fn(ServerSupply, Duration) -> Result<Verdict<ServerBacklog>, Overflow>| {
        of(server, ns(service)).map(|v| v.bound().map(|found| (found.time.as_ns(), found.budgets)))
    };
    // As long as a burst of requests of that service.
    assert_eq!(of(5, polling::backlog), Ok(Some((34, 3))));
    assert_eq!(of(5, deferrable::backlog), Ok(Some((32, 3))));
    assert_eq!(of(6, sporadic::backlog), Ok(Some((35, 3))));
    let slow = ServerSupply { response: ns(11), ..server };
    assert_eq!(polling::backlog(slow, ns(1)), Ok(Verdict::NotApplicable(Assumption::ServedInPeriod)));
    let huge = ServerSupply { budget: ns(1), period: Duration::MAX, response: ns(1) };
    assert_eq!(polling::backlog(huge, Duration::MAX), Err(Overflow));
}

/// A periodic task in place of a deferrable server interferes too little with less urgent tasks: the reason for the
/// jitter.
#[test]
fn deferrable_servers_come_back_to_back() {
    let ns = Duration::from_ns;
    let server = ServerSupply { budget: ns(2), period: ns(6), response: ns(2) };
    let low = task(4, 20);
    let periodic = alone(low, &[polling::interference(server)]).expect("bounded");
    let back_to_back = alone(low, &[deferrable::interference(server)]).expect("bounded");
    assert_eq!((periodic, back_to_back), (ns(6), ns(8)));
    // Requests for two budgets at the end of a period, just as the less urgent task arrives.
    let run = observe(Kind::Deferrable, (1, 1_000, 500), (2, 6, 0), &[(4, 4)], (4, 20, 4), 15);
    assert_eq!(run.low, 8);
}

/// The examples with servers that MAST 1.5.1 comes with: its results, as facts. Its sporadic server keeps one
/// replenishment only, and its bound on requests to it (10) does not apply to the corrected rules.
#[test]
fn mast_examples_with_servers() {
    let ns = Duration::from_ns;
    let requests = |c, t| Requests { cost: ns(c), period: ns(t), jitter: ns(0), deadline: ns(100) };
    let response = alone(task(1, 6), &[task(1, 5)]).expect("bounded");
    let server = ServerSupply { budget: ns(1), period: ns(6), response };
    let found = polling::response(server, requests(1, 8)).expect("small numbers");
    assert_eq!(found.bound().map(|r| r.time), Some(ns(8)));
    let above = [task(1, 5), polling::interference(server), task(2, 12)];
    assert_eq!(alone(task(2, 12), &above[..2]), Some(ns(4)));
    assert_eq!(alone(task(3, 15), &above), Some(ns(9)));
    let response = alone(task(2, 10), &[task(1, 5)]).expect("bounded");
    let server = ServerSupply { budget: ns(2), period: ns(10), response };
    let above = [task(1, 5), sporadic::interference(server), task(2, 12)];
    assert_eq!(alone(task(2, 12), &above[..2]), Some(ns(5)));
    assert_eq!(alone(task(3, 15), &above), Some(ns(9)));
    // There is always budget left: two requests in ten need two.
    let found = sporadic::response(server, requests(1, 6)).expect("small numbers");
    assert_eq!(found.bound().map(|r| r.time), Some(ns(3)));
}

#[test]
fn ways_to_give_up() {
    let ns = Duration::from_ns;
    let server = ServerSupply { budget: ns(2), period: ns(10), response: ns(5) };
    let requests = |c, t, j, d| Requests { cost: ns(c), period: ns(t), jitter: ns(j), deadline: ns(d) };
    let time = |v: Result<Verdict<ServerResponse>, Overflow>| {
        v.map(|v| v.bound().map(|r| (r.time.as_ns(), r.budgets)))
    };
    // One request that fits the budget; one that needs three budgets; a burst of three.
    assert_eq!(time(polling::response(server, requests(2, 100, 0, 100))), Ok(Some((15, 1))));
    assert_eq!(time(polling::response(server, requests(5, 100, 0, 100))), Ok(Some((34, 3))));
    assert_eq!(time(deferrable::response(server, requests(5, 100, 0, 100))), Ok(Some((32, 3))));
    assert_eq!(time(sporadic::response(server, requests(2, 100, 200, 100))), Ok(Some((35, 3))));
    // Requests come as fast as they are served: the backlog has no end, but gets no worse either.
    assert_eq!(time(polling::response(server, requests(2, 10, 0, 100))), Ok(Some((15, 1))));
    assert_eq!(polling::response(server, requests(3, 14, 0, 100)), Ok(Verdict::NotShown(Why::Rate)));
    let late = polling::response(server, requests(2, 100, 0, 14));
    assert!(matches!(late, Ok(Verdict::NotShown(Why::Passes(r))) if r.time == ns(15)));
    let slow = ServerSupply { response: ns(11), ..server };
    let refused = Verdict::NotApplicable(Assumption::ServedInPeriod);
    assert_eq!(polling::response(slow, requests(2, 100, 0, 100)), Ok(refused));
    let huge = ServerSupply { budget: ns(1), period: Duration::MAX, response: ns(1) };
    assert_eq!(polling::response(huge, requests(2, u64::MAX, 0, u64::MAX)), Ok(Verdict::NotShown(Why::Rate)));
    assert_eq!(polling::response(huge, requests(1, u64::MAX, u64::MAX, u64::MAX)), Err(Overflow));
}

proptest! {
    /// Any input ends with an answer.
    #[test]
    fn any_numbers_end(numbers in prop::array::uniform7(prop_oneof![
        any::<u64>(), 0u64..4, (0u32..64).prop_map(|e| 1 << e),
    ])) {
        let [budget, period, response, cost, gap, jitter, deadline] = numbers.map(Duration::from_ns);
        let server = ServerSupply { budget, period, response };
        for kind in KINDS {
            let _ = ask(kind, server, Requests { cost, period: gap, jitter, deadline });
        }
    }
}
