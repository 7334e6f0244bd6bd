// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Transactions: activities that an event releases at fixed offsets, fixed priority, preemptive, one core.
//!
//! ```text
//! Model       an event of transaction i arrives every T_i, or T_i or more apart; activity j is released O_ij after it,
//!             up to J_ij late. The phases between transactions are free
//! Symbols     [ns] O offset, J jitter, T period, C cost, B blocking, D deadline and R response from the event
//! Assumes     A1 no self-suspension   A2 preemptive but for sections that B accounts for
//!             A3 jobs of an activity run in order of arrival
//!             A4 if events may be more than T_i apart: max_j (O_ij + J_ij) − min_j O_ij ≤ T_i; [`holistic`] needs no A4
//! Source      [Tindell94b] transactions; [Palencia98] offsets and jitter of any length, and chains
//! ```
//!
//! | method | looks at | verdict |
//! |---|---|---|
//! | [`holistic`] | each activity by itself: offsets only say how early it can be released | sufficient |
//! | [`approximate`] | per transaction the worst candidate at every instant | sufficient |
//! | [`slanted`] | the same, each job counted as it runs, not all at once | sufficient, never above `approximate` |
//! | [`exact`] | all combinations of candidates, up to a limit | exact |
//!
//! A candidate is an activity whose release, delayed by all of its jitter, is the start of the busy window; in some
//! worst run each transaction that interferes at all has a candidate.
//!
//! **Why A4.** The equations count modulo T: they assume that an activity of one event comes a whole number of
//! periods after that of another event. Let an event come late, while an activity of the previous event is not yet
//! released, because of a long offset or of jitter. That activity is then nearer to the activities of the late event
//! than any whole number of periods makes it, and a job that jitter delays until those are released has waited longer.
//! If each event's activities are released before the next event can release one, a late event only postpones work.
//! (A simulation of random sets found this; the papers' events are periodic.)
//!
//! **Chains.** [`chained`] also lets each activity wait for its predecessor: its offset is then the predecessor's
//! earliest end, and its jitter is the time from there to the predecessor's latest end. Jitters and responses depend
//! on each other, so it iterates. It treats the jitters of activities as independent: sufficient for all methods.

pub mod approximate;
mod divergence;
pub mod exact;
pub mod holistic;
mod scenario;
pub mod slanted;

use taut_time::Duration;

use super::preemptive::STEPS_MAX;
use crate::{Assumption, Overflow, Verdict, Why};

/// An activity of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// C.
    pub cost: Duration,
    /// The least time that it executes; only [`chained`] uses it. Zero is always safe.
    pub cost_least: Duration,
    /// Larger = more urgent; equal activities count against each other.
    pub priority: u32,
    /// O: the least time from the event to the release; may be longer than the period.
    pub offset: Duration,
    /// J: how much later than O it may be released.
    pub jitter: Duration,
    /// B: how long less urgent activities can block it.
    pub blocking: Duration,
    /// D, from the event.
    pub deadline: Duration,
}

/// Activities that one event releases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// T: the period of the event, or the least time between two events.
    pub period: Duration,
    /// Whether events come exactly T apart; otherwise they come T or more apart.
    pub periodic: bool,
    /// In any order; for [`chained`], each waits for its predecessor.
    pub activities: Vec<Activity>,
}

/// Which activity of which transaction: positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActivityPosition {
    /// Of the transaction.
    pub transaction: usize,
    /// Of the activity in the transaction.
    pub activity: usize,
}

/// A bound on the response time of an activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActivityResponse {
    /// R: from the event to the completion.
    pub from_event: Duration,
    /// Steps of all iterations.
    pub steps: u32,
}

/// The theorem to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetTheorem {
    /// [`holistic`].
    Holistic,
    /// [`approximate`].
    Approximate,
    /// [`slanted`].
    Slanted,
    /// [`exact`], up to this many scenarios per activity.
    Exact(u64),
}

/// Bounds the response time of the activity `of`.
///
/// # Errors
/// [`Overflow`] if a window does not fit in 64 bits.
pub fn response(
    method: OffsetTheorem,
    transactions: &[Transaction],
    of: ActivityPosition,
) -> Result<Verdict<ActivityResponse>, Overflow> {
    match method {
        OffsetTheorem::Holistic => holistic::response(transactions, of),
        OffsetTheorem::Approximate => approximate::response(transactions, of),
        OffsetTheorem::Slanted => slanted::response(transactions, of),
        OffsetTheorem::Exact(limit) => exact::response(transactions, of, limit),
    }
}

/// Bounds the response times of all activities, from the event, in the order given. Each activity is released when
/// its offset has passed *and* its predecessor in the transaction has ended, and then up to its jitter later.
///
/// [`Why::Passes`] gives the bounds as they were when one first passed its deadline. [`Why::Rate`] says that
/// there is no bound: more arrives than is served, or, with [`OffsetTheorem::Holistic`], responses that wait for each
/// other grow without end.
///
/// # Errors
/// [`Overflow`] if a window does not fit in 64 bits.
pub fn chained(
    method: OffsetTheorem,
    transactions: &[Transaction],
) -> Result<Verdict<Vec<Vec<Duration>>>, Overflow> {
    rounds(method, transactions, method == OffsetTheorem::Holistic)
}

/// Rounds before the first search for a proof that there is no bound; the search is repeated whenever the number of
/// rounds has doubled. Most sets need fewer rounds.
const ROUNDS_UNTIL_PROOF: u32 = 8;

/// The same; `proves` says whether to look for a proof that there is no bound.
fn rounds(
    method: OffsetTheorem,
    transactions: &[Transaction],
    proves: bool,
) -> Result<Verdict<Vec<Vec<Duration>>>, Overflow> {
    // 1. How early each activity can be released and end, and how late if nothing interferes.
    let mut set = transactions.to_vec();
    let mut found: Vec<Vec<Duration>> = Vec::with_capacity(set.len());
    for (transaction, given) in set.iter_mut().zip(transactions) {
        let (mut earliest, mut latest) = (Duration::ZERO, Duration::ZERO);
        let mut ends = Vec::with_capacity(given.activities.len());
        for (activity, given) in transaction.activities.iter_mut().zip(&given.activities) {
            activity.offset = given.offset.max(earliest);
            activity.jitter = late(given, latest)?.saturating_sub(activity.offset);
            earliest = activity.offset.checked_add(given.cost_least.min(given.cost)).ok_or(Overflow)?;
            latest = late(given, latest)?.checked_add(given.cost).ok_or(Overflow)?;
            ends.push(latest);
        }
        found.push(ends);
    }
    // 2. Responses from jitters, jitters from responses; both only grow.
    let mut steps = 0u32;
    for round in 1u32.. {
        let mut grown = false;
        for transaction in 0..set.len() {
            for activity in 0..set[transaction].activities.len() {
                let end = match response(method, &set, ActivityPosition { transaction, activity })? {
                    Verdict::Schedulable(r) => {
                        steps = steps.saturating_add(r.steps);
                        r.from_event
                    }
                    Verdict::Unschedulable(r) | Verdict::NotShown(Why::Passes(r)) => {
                        found[transaction][activity] = r.from_event;
                        return Ok(Verdict::NotShown(Why::Passes(found)));
                    }
                    Verdict::NotShown(Why::Rate) => return Ok(Verdict::NotShown(Why::Rate)),
                    // Growth without end, too, leads to a window that is too long to find.
                    Verdict::NotShown(Why::Steps(_)) if proves && divergence::has_no_bound(&set, &found) => {
                        return Ok(Verdict::NotShown(Why::Rate));
                    }
                    Verdict::NotShown(Why::Steps(n)) => return Ok(Verdict::NotShown(Why::Steps(n))),
                    Verdict::NotApplicable(why) => return Ok(Verdict::NotApplicable(why)),
                };
                if end > found[transaction][activity] {
                    grown = true;
                    found[transaction][activity] = end;
                    if let Some(next) = set[transaction].activities.get_mut(activity + 1) {
                        let given = &transactions[transaction].activities[activity + 1];
                        next.jitter = late(given, end)?.saturating_sub(next.offset);
                    }
                }
            }
        }
        if !grown {
            return Ok(Verdict::Schedulable(found));
        }
        // 3. Responses that have grown for many rounds may grow for ever.
        if proves
            && round.is_power_of_two()
            && round >= ROUNDS_UNTIL_PROOF
            && divergence::has_no_bound(&set, &found)
        {
            return Ok(Verdict::NotShown(Why::Rate));
        }
        if steps >= STEPS_MAX {
            break;
        }
    }
    Ok(Verdict::NotShown(Why::Steps(steps)))
}

/// The latest release of an activity, if its predecessor ends by `before`.
fn late(given: &Activity, before: Duration) -> Result<Duration, Overflow> {
    given.offset.max(before).checked_add(given.jitter).ok_or(Overflow)
}

/// Refuses input that no method can analyse.
fn refuses(transactions: &[Transaction], of: ActivityPosition) -> Option<Verdict<ActivityResponse>> {
    let own = transactions.get(of.transaction).and_then(|t| t.activities.get(of.activity));
    let Some(own) = own else {
        return Some(Verdict::NotApplicable(Assumption::KnownActivity));
    };
    if transactions.iter().any(|t| t.period.is_zero()) {
        return Some(Verdict::NotApplicable(Assumption::PositivePeriod));
    }
    rate(transactions, own.priority)
}

/// Also refuses input that the methods that count modulo T cannot analyse.
fn refuses_offsets(transactions: &[Transaction], of: ActivityPosition) -> Option<Verdict<ActivityResponse>> {
    let apart = |t: &Transaction| {
        let wide = |time: Duration| u128::from(time.as_ns());
        let first = t.activities.iter().map(|a| wide(a.offset)).min();
        let last = t.activities.iter().map(|a| wide(a.offset) + wide(a.jitter)).max();
        first.zip(last).is_some_and(|(first, last)| last - first > wide(t.period))
    };
    if transactions.iter().any(|t| !t.periodic && apart(t)) {
        return Some(Verdict::NotApplicable(Assumption::PeriodicEvent));
    }
    refuses(transactions, of)
}

fn rate(transactions: &[Transaction], priority: u32) -> Option<Verdict<ActivityResponse>> {
    let counts = move |a: &&Activity| a.priority >= priority;
    let all =
        transactions.iter().flat_map(move |t| t.activities.iter().filter(counts).map(|a| (a.cost, t.period)));
    super::window::overloaded(all).then_some(Verdict::NotShown(Why::Rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random chains, whose activities interfere with each other.
    fn chains(draw: &mut impl FnMut(u64) -> u64) -> Vec<Transaction> {
        let activity = |draw: &mut dyn FnMut(u64) -> u64| Activity {
            cost: Duration::from_ns(draw(40) + 1),
            cost_least: Duration::from_ns(1),
            priority: draw(6) as u32,
            offset: Duration::from_ns(draw(30)),
            jitter: Duration::from_ns(draw(5)),
            blocking: Duration::ZERO,
            deadline: Duration::MAX,
        };
        let transaction = |draw: &mut dyn FnMut(u64) -> u64| Transaction {
            period: Duration::from_ns([100, 150, 200, 400][draw(4) as usize]),
            periodic: true,
            activities: (0..draw(3) + 1).map(|_| activity(draw)).collect(),
        };
        (0..draw(3) + 1).map(|_| transaction(draw)).collect()
    }

    #[test]
    fn what_is_said_to_have_no_bound_never_settles() {
        let mut state = 5u64;
        let mut draw = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let (mut without, mut given_up, mut bounded) = (0, 0, 0);
        for _ in 0..1_500 {
            let set = chains(&mut draw);
            let early = chained(OffsetTheorem::Holistic, &set).expect("fits");
            if let Verdict::Schedulable(_) = early {
                assert_eq!(rounds(OffsetTheorem::Holistic, &set, false), Ok(early));
                bounded += 1;
                continue;
            }
            // Whether the rates of the activities alone show it.
            let alone = (0..set.len()).any(|transaction| {
                (0..set[transaction].activities.len()).any(|activity| {
                    let of = ActivityPosition { transaction, activity };
                    matches!(holistic::response(&set, of), Ok(Verdict::NotShown(Why::Rate)))
                })
            });
            if alone {
                continue;
            }
            match early {
                Verdict::NotShown(Why::Rate) if without < 4 => {
                    // A run without the proof is long: only a few of them.
                    let late = rounds(OffsetTheorem::Holistic, &set, false);
                    assert!(
                        matches!(late, Ok(Verdict::NotShown(Why::Steps(_))) | Err(Overflow)),
                        "{set:?} {late:?}"
                    );
                    without += 1;
                }
                Verdict::NotShown(Why::Rate) => without += 1,
                other => {
                    println!("given up: {other:?} {set:?}");
                    given_up += 1;
                }
            }
        }
        println!("{bounded} bounded, {without} without bound, {given_up} given up");
        assert!(without > 20 && bounded > 1_000 && given_up * 10 < without, "{bounded} {without} {given_up}");
    }
}
