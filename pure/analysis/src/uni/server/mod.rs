// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Aperiodic servers: a budget C_s every T_s for requests whose arrival is bounded, fixed priority, one core.
//!
//! | server | to less urgent tasks it looks like | the first budget after a request is used up by |
//! |---|---|---|
//! | [`polling`] | a periodic task | T_s + R_s |
//! | [`deferrable`] | a periodic task with jitter T_s − C_s | T_s − C_s + R_s |
//! | [`sporadic`] | a periodic task, under conditions | T_s + R_s |
//!
//! ```text
//! Equation    f(x) = first + (n − 1)·T_s − (n·C_s − x),  n = ⌈x / C_s⌉:  by then, x of service is supplied
//!             R = max_q { f(q·C) − max(0, (q − 1)·T − J) },  q = 1, 2, … while f(q·C) > q·T − J
//! Symbols     [ns] C_s budget, T_s its period, R_s response time of the budget: from its replenishment until it is
//!             used up if requests always wait;  C, T, J of the requests: cost, least time between, jitter
//! Assumes     A1 0 < C_s ≤ R_s ≤ T_s: the server as a periodic task keeps its period
//!             A2 requests are served in order of arrival, and never suspend   A3 the server serves only them
//! Verdict     sufficient: a lower bound of supply against an upper bound of demand
//! Cost        a step per request of the longest backlog, with a limit
//! Source      [ShinLee03] supply of a periodic resource; [Lehoczky87], [Sprunt89] for the servers
//! ```
//!
//! **Supply.** *If requests wait from any instant t on, and the server has c ≤ C_s of budget at t, then it has served c
//! by t + R_s, or the budget was taken from it before.* Let [s, t) be the longest time up to t in which a more urgent
//! task always has work; s = t if none has at t. In [s, t) the server serves nothing. R_s is a solution of
//! w = C_s + B + I(w), where I(w) is the most that more urgent tasks release in w from an instant on before which they
//! have nothing to do, which s is, and B is what blocks once. So in [s, s + R_s) others execute for at most R_s − C_s
//! (S1), and the server for the rest, C_s ≥ c, unless it has no budget; and s + R_s ≤ t + R_s. What of this is served at
//! last is served at a stretch in the worst case. The servers differ in what was left of the budget at t, and in when
//! the next replenishment comes: `first` bounds when C_s has been served from t on, and after that C_s is served in each
//! T_s.
//!
//! **Light requests.** If the requests that can arrive in a window, T_s for a sporadic server and T_s + R_s for a
//! deferrable one, fit into one budget, there is always budget left: R = R_s. By induction: each request is served
//! within R_s of its arrival, because the service in the window around it, at most T_s long, is at most C_s; so what
//! is charged to a budget arrived in that window. A polling server has no such case, since it gives its budget up.
//!
//! **A backlog.** `backlog` bounds how long x of service takes from any instant on at which that much waits, whatever arrives
//! later behind it: f(x). Nothing about the arrivals is assumed, so it holds for requests without a least time between
//! two. The instant may lie in the middle of a backlog, and of a time in which more urgent tasks execute: the claim above
//! and what the servers' files say of the first budget are about any instant from which on requests wait. The rest of a
//! request in service counts as a whole one.

pub mod deferrable;
pub mod polling;
pub mod sporadic;

use taut_time::Duration;

use super::fp::preemptive::STEPS_MAX;
use crate::{Assumption, Overflow, Verdict, Why};

/// A server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerSupply {
    /// C_s: how much it serves per period.
    pub budget: Duration,
    /// T_s: how often the budget is replenished.
    pub period: Duration,
    /// R_s: the response time of a periodic task with C_s and T_s in its place, from [`super::fp`].
    pub response: Duration,
}

/// Requests to a server: in any time t at most ⌈(t + J) / T⌉ arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requests {
    /// C: the longest service of one.
    pub cost: Duration,
    /// T: the least time between two, or their distance in the long run.
    pub period: Duration,
    /// J: by how much they can arrive earlier than that. A burst of n at once is J = (n − 1)·T.
    pub jitter: Duration,
    /// D: from a request until it is served.
    pub deadline: Duration,
}

/// A bound on how long a request takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerResponse {
    /// R: from the request until it is served.
    pub time: Duration,
    /// q: which request of a backlog attains it, from 1.
    pub request: u64,
    /// How many periods of the server it takes from the start of the backlog.
    pub budgets: u64,
}

/// A bound on how long a backlog takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerBacklog {
    /// f(x): from an instant at which it waits until it is served.
    pub time: Duration,
    /// n: how many budgets it takes.
    pub budgets: u64,
}

/// How long `service` takes that waits from some instant on, if the first budget from there is used up within `first`.
fn backlog(server: ServerSupply, first: u128, service: Duration) -> Result<Verdict<ServerBacklog>, Overflow> {
    let wide = |time: Duration| u128::from(time.as_ns());
    let (budget, period, service) = (wide(server.budget), wide(server.period), wide(service));
    if period == 0 {
        return Ok(Verdict::NotApplicable(Assumption::PositivePeriod));
    }
    if budget == 0 || server.budget > server.response || server.response > server.period {
        return Ok(Verdict::NotApplicable(Assumption::ServedInPeriod));
    }
    let count = service.div_ceil(budget).max(1);
    // All numbers are below 2⁶⁴, so their products are below 2¹²⁸.
    let whole = first.checked_add((count - 1) * period).ok_or(Overflow)?;
    let time = whole - (count * budget - service).min(whole);
    let narrow = |n: u128| u64::try_from(n).map_err(|_| Overflow);
    Ok(Verdict::Schedulable(ServerBacklog {
        time: Duration::from_ns(narrow(time)?),
        budgets: narrow(count)?,
    }))
}

/// R of requests, if the first budget after the start of a backlog is used up within `first`, and if there is always
/// budget left when the requests that arrive within `light` fit into one.
fn response(
    server: ServerSupply,
    first: u128,
    light: Option<u128>,
    requests: Requests,
) -> Result<Verdict<ServerResponse>, Overflow> {
    let wide = |time: Duration| u128::from(time.as_ns());
    let (budget, replenished) = (wide(server.budget), wide(server.period));
    let (cost, period, jitter) = (wide(requests.cost), wide(requests.period), wide(requests.jitter));
    if period == 0 || replenished == 0 {
        return Ok(Verdict::NotApplicable(Assumption::PositivePeriod));
    }
    if budget == 0 || server.budget > server.response || server.response > server.period {
        return Ok(Verdict::NotApplicable(Assumption::ServedInPeriod));
    }
    let together = light.map(|window| (window + jitter).div_ceil(period));
    if together.and_then(|n| n.checked_mul(cost)).is_some_and(|most| most <= budget) {
        let at_hand = ServerResponse { time: server.response, request: 1, budgets: 1 };
        return Ok(if at_hand.time > requests.deadline {
            Verdict::NotShown(Why::Passes(at_hand))
        } else {
            Verdict::Schedulable(at_hand)
        });
    }
    // 1. C / T ≤ C_s / T_s, or the backlog grows for ever.
    if cost * replenished > budget * period {
        return Ok(Verdict::NotShown(Why::Rate));
    }
    // 2. After the requests that arrive at once, R repeats or falls every `budget` requests at the latest.
    let most = (jitter / period).saturating_add(budget).saturating_add(1);
    let mut worst = ServerResponse { time: Duration::ZERO, request: 1, budgets: 1 };
    for q in 1..=u128::from(STEPS_MAX) {
        let service = q * cost;
        let count = service.div_ceil(budget).max(1);
        // All factors but q are below 2⁶⁵; q is below 2²⁰, and count ≤ service.
        let whole = (count - 1).checked_mul(replenished).ok_or(Overflow)?;
        let served = first.checked_add(whole).ok_or(Overflow)? - (count * budget - service.max(1));
        let arrival = ((q - 1) * period).saturating_sub(jitter);
        let time = u64::try_from(served - arrival.min(served)).map_err(|_| Overflow)?;
        if time > worst.time.as_ns() {
            let narrow = |n: u128| u64::try_from(n).map_err(|_| Overflow);
            worst = ServerResponse {
                time: Duration::from_ns(time),
                request: narrow(q)?,
                budgets: narrow(count)?,
            };
        }
        if worst.time > requests.deadline {
            return Ok(Verdict::NotShown(Why::Passes(worst)));
        }
        // 3. The backlog ends before the next request.
        if served <= (q * period).saturating_sub(jitter) || q >= most {
            return Ok(Verdict::Schedulable(worst));
        }
    }
    Ok(Verdict::NotShown(Why::Steps(STEPS_MAX)))
}
