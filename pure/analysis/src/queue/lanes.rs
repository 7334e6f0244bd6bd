// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Delivery of a message: a queue (a lane) for each sender, and one receiver that takes from all of them.
//!
//! ```text
//! Symbols     [ns] T_j, R_j the period and the response time of a lane's sender, n_j values sent per job
//!             T_r, R_r the receiver's, m values taken per job, from all lanes together
//!             i the lane of the value; A its lanes ahead, whose values are taken first; P its peers, of whose values
//!             those are taken first that were sent before
//! Sent        a_j(t) = n_j · (⌊(t + R_j) / T_j⌋ + 1): the most values of a lane in a closed interval of length t
//! Rate        Σ_j n_j / T_j ≤ m / T_r, else no lane is long enough
//! Jobs        k(s): the least k with m · k ≥ a_i(s) + Σ_P a_j(s) + Σ_A a_j(k · T_r + R_r)
//! Wait        from a send to the arrival of the job that takes the value: W = max_s k(s) · T_r − s, over the instants s at
//!             which a_i or an a_j of P steps, from 0 to the end of the busy window
//! Window      the least k with m · k ≥ Σ_j a_j(k · T_r + R_r) ends it at k · T_r + R_r; or all periods have a common
//!             multiple before
//! Latency     from a send to the end of the job that takes the value: W + R_r
//! Capacity    n_i · (⌊(W + R_r + R_i) / T_i⌋ + 1)
//! Assumes     A1 lanes are empty at the start, each first in, first out
//!             A2 a sender's jobs arrive T_j or more apart, and send within R_j of their arrival
//!             A3 a receiver's job takes until it has m values or all lanes are empty, and each time from a lane by the order
//!             A4 a receiver's jobs arrive at most T_r apart while a value waits, and complete within R_r, in order
//! Overtaken   if values sent later, also of the own lane, may be taken first: W = k · T_r, with the k of the window
//! Verdict     sufficient
//! Cost        a step for each instant s and lane, and the fixed points
//! Source      own: the busy window of [`crate::delivery::message`], with equations 3.1 to 3.4 of [Yan18] behind it, whose
//!             handling times are here the receiver's gaps
//! ```
//!
//! **Jobs.** Let u be the last instant before the send at which no value of i, A and P waited, and count time from u. Until
//! the value is taken, one of theirs always waits, so by A4 the k-th job that arrives after u does so by k · T_r, and each
//! of them takes m values of these lanes by k · T_r + R_r. In front of the value are at most those of its own lane and of
//! its peers that were sent up to s, and those of A that come until it is taken. So the k(s)-th job takes it at the latest.
//! Between two steps k(s) stays and s grows, so the steps suffice.
//!
//! A peer's value that was stamped earlier, and then held up before it was in its lane, may still go first: it is
//! counted, since its job arrived before s.
//!
//! **Window.** All values that came until its end are taken by then, so no s lies behind it. If H is a multiple of all
//! periods and of T_r, then k(s + H) ≤ k(s) + H / T_r by the rate: s from 0 to H suffices, also where the window never ends.
//!
//! **Overtaken.** At the end of the window no value that came before waits, in whatever order the receiver takes. If the lanes
//! use all that it takes, the window may never end, and a value may wait for ever.
//!
//! **Capacity.** The values of lane i that wait at a send were sent at most a latency before.

use taut_time::Duration;

use super::{SendingTask, TakingTask};
use crate::wide::{duration, greatest_common_divisor};
use crate::{Assumption, Overflow, Verdict, Why};

/// The most steps of one bound: a step looks at one lane at one instant.
pub const STEPS_MAX: u32 = 1 << 22;

/// What bounds a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneDelivery {
    /// W: from a send to the arrival of the receiver's job that takes the value.
    pub wait: Duration,
    /// From a send to the end of that job.
    pub latency: Duration,
    /// A lane that holds so many values is never full at a send.
    pub capacity: u64,
}

/// Bounds the delivery of the values of one lane. `triggered` of the receiver does not matter.
///
/// # Errors
/// [`Overflow`].
pub fn delivery(
    own: &SendingTask,
    ahead: &[SendingTask],
    peers: &[SendingTask],
    receiver: &TakingTask,
) -> Result<Verdict<LaneDelivery>, Overflow> {
    let lanes: Vec<SendingTask> = [own].into_iter().chain(ahead).chain(peers).copied().collect();
    if let Some(not) = unbounded(&lanes, receiver) {
        return Ok(not);
    }
    let mut left = STEPS_MAX;
    let of = Service::of(receiver);
    // 1. The instants from 0 to `end` suffice.
    let Some(end) = of.window(&lanes, common_multiple(&lanes, of.gap), &mut left)? else {
        return Ok(Verdict::NotShown(Why::Steps(STEPS_MAX)));
    };
    // 2. W at each instant at which more values are in front.
    let (mut at, mut jobs, mut wait) = (0_u128, 0_u128, 0_u128);
    while at <= end {
        let sent = lanes_of(own, peers).map(|lane| most(lane, at)).sum();
        match of.jobs(sent, ahead, jobs, &mut left)? {
            Some(least) => jobs = least,
            None => return Ok(Verdict::NotShown(Why::Steps(STEPS_MAX))),
        }
        wait = wait.max(jobs.checked_mul(of.gap).ok_or(Overflow)?.saturating_sub(at));
        if spend(&mut left, peers.len() + 1).is_none() {
            return Ok(Verdict::NotShown(Why::Steps(STEPS_MAX)));
        }
        let next = lanes_of(own, peers).map(|lane| step_after(lane, at)).min();
        at = next.ok_or(Overflow)?;
    }
    // 3. The latency and the capacity that follow.
    bounded(own, wait, &of)
}

/// The verdict on lanes that have no bound; `None` if the analysis can look for one.
fn unbounded(lanes: &[SendingTask], receiver: &TakingTask) -> Option<Verdict<LaneDelivery>> {
    if lanes.iter().any(|lane| lane.period.is_zero()) || receiver.period.is_zero() {
        return Some(Verdict::NotApplicable(Assumption::PositivePeriod));
    }
    if lanes.iter().any(|lane| lane.sends == 0) || receiver.takes == 0 {
        return Some(Verdict::NotApplicable(Assumption::PositiveCount));
    }
    (!keeps_up(lanes, receiver)).then_some(Verdict::NotShown(Why::Rate))
}

/// The bounds of a lane whose values wait for at most `wait` until the job arrives that takes them.
fn bounded(own: &SendingTask, wait: u128, of: &Service) -> Result<Verdict<LaneDelivery>, Overflow> {
    let latency = wait.checked_add(of.response).ok_or(Overflow)?;
    let capacity = u64::try_from(most(own, latency)).map_err(|_| Overflow)?;
    Ok(Verdict::Schedulable(LaneDelivery { wait: duration(wait)?, latency: duration(latency)?, capacity }))
}

/// Bounds the delivery of the values of one lane if the receiver may take the waiting values in any order: a value
/// of this lane or of the `others` that is sent later may go first.
///
/// # Errors
/// [`Overflow`].
pub fn overtaken(
    own: &SendingTask,
    others: &[SendingTask],
    receiver: &TakingTask,
) -> Result<Verdict<LaneDelivery>, Overflow> {
    let lanes: Vec<SendingTask> = lanes_of(own, others).copied().collect();
    if let Some(not) = unbounded(&lanes, receiver) {
        return Ok(not);
    }
    let mut left = STEPS_MAX;
    let of = Service::of(receiver);
    // The end of the window is that of a job, R_r behind its arrival.
    match of.window(&lanes, None, &mut left)? {
        Some(end) => bounded(own, end - of.response, &of),
        None => Ok(Verdict::NotShown(Why::Steps(STEPS_MAX))),
    }
}

/// Whether the receiver takes as many values as are sent, in the long run.
pub fn keeps_up(lanes: &[SendingTask], receiver: &TakingTask) -> bool {
    let sent: Vec<_> = lanes.iter().map(|lane| (lane.sends, lane.period)).collect();
    taut_model::keeps_up(&sent, (receiver.takes, receiver.period))
}

fn lanes_of<'l>(own: &'l SendingTask, peers: &'l [SendingTask]) -> impl Iterator<Item = &'l SendingTask> {
    [own].into_iter().chain(peers)
}

/// a_j(t). Fits: t is below 2^96 where it is used, counts have 32 bits and times 64.
fn most(lane: &SendingTask, t: u128) -> u128 {
    let (period, response) = (u128::from(lane.period.as_ns()), u128::from(lane.response.as_ns()));
    u128::from(lane.sends).saturating_mul(t.saturating_add(response) / period + 1)
}

/// The first instant after t at which a_j steps.
fn step_after(lane: &SendingTask, t: u128) -> u128 {
    let (period, response) = (u128::from(lane.period.as_ns()), u128::from(lane.response.as_ns()));
    (((t + response) / period + 1) * period).saturating_sub(response).max(t + 1)
}

/// The least common multiple of all periods and the gap; `None` if it has more than 128 bits.
fn common_multiple(lanes: &[SendingTask], gap: u128) -> Option<u128> {
    lanes.iter().try_fold(gap, |multiple, lane| {
        let period = u128::from(lane.period.as_ns());
        (multiple / greatest_common_divisor(multiple, period)).checked_mul(period)
    })
}

fn spend(left: &mut u32, steps: usize) -> Option<()> {
    *left = left.checked_sub(u32::try_from(steps).ok()?)?;
    Some(())
}

/// The receiver.
struct Service {
    gap: u128,
    response: u128,
    takes: u128,
}

impl Service {
    fn of(receiver: &TakingTask) -> Self {
        Self {
            gap: receiver.period.as_ns().into(),
            response: receiver.response.as_ns().into(),
            takes: receiver.takes.into(),
        }
    }

    /// k · T_r + R_r.
    fn done_by(&self, jobs: u128) -> Result<u128, Overflow> {
        jobs.checked_mul(self.gap).and_then(|time| time.checked_add(self.response)).ok_or(Overflow)
    }

    /// The least k ≥ `jobs` with m · k ≥ `sent` + Σ a_j(k · T_r + R_r); `None` if that takes more steps than are left.
    fn jobs(
        &self,
        sent: u128,
        ahead: &[SendingTask],
        jobs: u128,
        left: &mut u32,
    ) -> Result<Option<u128>, Overflow> {
        let mut jobs = jobs;
        loop {
            if spend(left, ahead.len() + 1).is_none() {
                return Ok(None);
            }
            let until = self.done_by(jobs)?;
            let front = ahead.iter().fold(sent, |sum, lane| sum.saturating_add(most(lane, until)));
            let needed = front.div_ceil(self.takes);
            if needed <= jobs {
                return Ok(Some(jobs));
            }
            jobs = needed;
        }
    }

    /// The end of the busy window, or `repeats` if that is sooner; `None` if neither is found within the steps that are left.
    fn window(
        &self,
        lanes: &[SendingTask],
        repeats: Option<u128>,
        left: &mut u32,
    ) -> Result<Option<u128>, Overflow> {
        let mut jobs = 1;
        loop {
            let end = self.done_by(jobs)?;
            if let Some(repeats) = repeats.filter(|repeats| *repeats <= end) {
                return Ok(Some(repeats));
            }
            if spend(left, lanes.len()).is_none() {
                return Ok(repeats);
            }
            let sent = lanes.iter().fold(0_u128, |sum, lane| sum.saturating_add(most(lane, end)));
            let needed = sent.div_ceil(self.takes);
            if needed <= jobs {
                return Ok(Some(end));
            }
            jobs = needed;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::draw::Draw;

    fn ns(ticks: u64) -> Duration {
        Duration::from_ns(ticks)
    }

    fn sender(period: u64, response: u64, sends: u32) -> SendingTask {
        SendingTask { period: ns(period), response: ns(response), sends }
    }

    fn receiver(period: u64, response: u64, takes: u32) -> TakingTask {
        TakingTask { period: ns(period), response: ns(response), takes, triggered: true }
    }

    fn bound(is: Result<Verdict<LaneDelivery>, Overflow>) -> LaneDelivery {
        *is.expect("small").bound().expect("there is a bound")
    }

    #[derive(Clone, Copy, Debug)]
    enum Order {
        Sender,
        Fifo,
        Specified,
    }

    /// A value on its way: its number in its lane, when it was stamped and when it is in its lane.
    #[derive(Clone, Copy, Debug)]
    struct Sent {
        number: u64,
        stamped: u64,
        at: u64,
    }

    /// All values of a sender until `end`, in order. `dense` jobs arrive as soon as possible; where a job sends is drawn.
    fn values(of: &SendingTask, end: u64, dense: bool, draw: &mut Draw) -> Vec<Sent> {
        let (period, response) = (of.period.as_ns(), of.response.as_ns());
        let mut arrival = draw.pick(0, period);
        let (mut last, mut values) = (0, Vec::new());
        let mut late = draw.chance(60);
        while arrival < end {
            let mut at = arrival.max(last);
            for _ in 0..of.sends {
                let to = (arrival + response).max(at);
                let stamped = if late { to } else { draw.pick(at, to) };
                at = if draw.chance(50) { stamped } else { draw.pick(stamped, to) };
                values.push(Sent { number: values.len() as u64, stamped, at });
            }
            last = at;
            // The densest run of sends: a late job, and early ones behind it.
            late = draw.chance(if dense { 5 } else { 40 });
            arrival += period + if dense { 0 } else { draw.pick(0, period) };
        }
        values
    }

    /// Runs a message tick by tick. Returns the longest latency and the most waiting values of each lane.
    fn run(lanes: &[SendingTask], order: Order, of: &TakingTask, draw: &mut Draw) -> Vec<(u64, u64)> {
        const END: u64 = 600;
        let (gap, response, takes) = (of.period.as_ns(), of.response.as_ns(), of.takes);
        let dense = draw.chance(70);
        let mut coming: Vec<VecDeque<Sent>> =
            lanes.iter().map(|lane| values(lane, END, dense, draw).into()).collect();
        let mut waiting: Vec<VecDeque<Sent>> = vec![VecDeque::new(); lanes.len()];
        let mut seen = vec![(0, 0); lanes.len()];
        // Jobs that have arrived: by when each must be done, and how many values it may still take.
        let mut jobs: VecDeque<(u64, u32)> = VecDeque::new();
        let mut earliest = 0;
        let (periodic, lazy) = (draw.chance(30), draw.pick(0, 100));
        for now in 0..4 * END {
            for (lane, coming) in coming.iter_mut().enumerate() {
                while coming.front().is_some_and(|sent| sent.at <= now) {
                    waiting[lane].extend(coming.pop_front());
                    // Places are handed back in the order of sending.
                    let (first, last) = (waiting[lane].front(), waiting[lane].back());
                    let held = first.zip(last).map_or(0, |(first, last)| last.number - first.number + 1);
                    seen[lane].1 = seen[lane].1.max(held);
                }
            }
            let any = waiting.iter().any(|lane| !lane.is_empty());
            // Something else may release a job: another trigger, or a client.
            let other = draw.chance(3);
            if now >= earliest && (periodic || any || other) {
                jobs.push_back((now + response, takes));
                earliest = now + gap;
            }
            while let Some((due, left)) = jobs.front_mut() {
                let must = now >= *due;
                if !must && draw.chance(lazy) {
                    break;
                }
                let full = (0..lanes.len()).filter(|lane| !waiting[*lane].is_empty());
                let next = match order {
                    Order::Sender => full.min().map(|lane| (lane, 0)),
                    Order::Fifo => full.min_by_key(|lane| waiting[*lane][0].stamped).map(|lane| (lane, 0)),
                    // The newest, which is worst for the oldest; and sometimes any.
                    Order::Specified => {
                        let all = full.flat_map(|lane| (0..waiting[lane].len()).map(move |at| (lane, at)));
                        let all: Vec<_> = all.collect();
                        let newest = all.iter().max_by_key(|(lane, at)| waiting[*lane][*at].at).copied();
                        if draw.chance(20) {
                            newest.map(|_| all[draw.pick(0, all.len() as u64 - 1) as usize])
                        } else {
                            newest
                        }
                    }
                };
                let Some((lane, at)) = next.filter(|_| *left > 0) else {
                    jobs.pop_front();
                    continue;
                };
                *left -= 1;
                let sent = waiting[lane].remove(at).expect("it waits");
                seen[lane].0 = seen[lane].0.max(now - sent.at);
                if !must {
                    break;
                }
            }
        }
        assert!(waiting.iter().chain(&coming).all(VecDeque::is_empty), "all are taken in the end");
        seen
    }

    fn drawn(draw: &mut Draw) -> (Vec<SendingTask>, TakingTask) {
        let of = receiver(draw.pick(1, 8), draw.pick(0, 12), draw.pick(1, 3) as u32);
        let mut lanes = Vec::new();
        for _ in 0..draw.pick(1, 4) {
            let period = draw.pick(4, 40);
            let lane = sender(period, draw.pick(0, period + 4), draw.pick(1, 3) as u32);
            lanes.push(lane);
            if !keeps_up(&lanes, &of) {
                lanes.pop();
            }
        }
        (lanes, of)
    }

    /// The bounds of all lanes; `None` of one that may be overtaken for ever.
    fn bounds(lanes: &[SendingTask], order: Order, of: &TakingTask) -> Vec<Option<LaneDelivery>> {
        let one = |at: usize| {
            let others: Vec<_> = (0..lanes.len()).filter(|other| *other != at).map(|at| lanes[at]).collect();
            match order {
                Order::Fifo => Some(bound(delivery(&lanes[at], &[], &others, of))),
                Order::Sender => Some(bound(delivery(&lanes[at], &lanes[..at], &[], of))),
                Order::Specified => match overtaken(&lanes[at], &others, of).expect("small") {
                    Verdict::NotShown(Why::Steps(_)) => None,
                    found => Some(*found.bound().expect("it keeps up")),
                },
            }
        };
        (0..lanes.len()).map(one).collect()
    }

    /// No run of drawn messages exceeds a bound, in any order; some runs come close.
    #[test]
    fn runs_tick_by_tick() {
        let mut draw = Draw::new(44);
        let (mut systems, mut near, mut full, mut unbounded) = (0, 0, 0, 0);
        for _ in 0..500 {
            let (lanes, of) = drawn(&mut draw);
            systems += usize::from(lanes.len() > 1);
            for order in [Order::Sender, Order::Fifo, Order::Specified] {
                let found = bounds(&lanes, order, &of);
                let mut most = vec![(0, 0); lanes.len()];
                for _ in 0..10 {
                    for (most, seen) in most.iter_mut().zip(run(&lanes, order, &of, &mut draw)) {
                        *most = (most.0.max(seen.0), most.1.max(seen.1));
                    }
                }
                for (found, (latency, waiting)) in found.iter().zip(most) {
                    let Some(found) = found else {
                        unbounded += 1;
                        continue;
                    };
                    assert!(
                        latency <= found.latency.as_ns(),
                        "{latency} {found:?} {lanes:?} {of:?} {order:?}"
                    );
                    assert!(waiting <= found.capacity, "{waiting} {found:?} {lanes:?} {of:?} {order:?}");
                    near += usize::from(latency + of.period.as_ns() >= found.latency.as_ns());
                    full += usize::from(waiting == found.capacity);
                }
            }
        }
        assert!(systems > 250, "{systems}");
        assert!(near > 500 && full > 500, "near {near}, full {full}");
        assert!((1..500).contains(&unbounded), "{unbounded} can be overtaken for ever");
    }

    /// Two lanes with one value a job, which together use all takes: a value of the less urgent one waits for two
    /// values of the other.
    #[test]
    fn by_hand() {
        let (of, lanes) = (receiver(2, 1, 1), [sender(4, 0, 1), sender(4, 0, 1)]);
        assert!(keeps_up(&lanes, &of));
        let found = bounds(&lanes, Order::Sender, &of).into_iter().flatten().collect::<Vec<_>>();
        assert_eq!(found[0], LaneDelivery { wait: ns(2), latency: ns(3), capacity: 1 });
        // Two of the first lane come until the second job is done, at 5, and no third until the third is, at 7.
        assert_eq!(found[1].wait, ns(6));
        let more = [lanes[0], lanes[1], sender(1_000_000, 0, 1)];
        assert!(!keeps_up(&more, &of));
        assert_eq!(delivery(&more[2], &more[..2], &[], &of), Ok(Verdict::NotShown(Why::Rate)));
    }

    /// A value that all others may overtake, of its own sender's too, waits until the window ends.
    #[test]
    fn overtaken_by_hand() {
        let (of, lanes) = (receiver(2, 1, 1), [sender(10, 0, 1), sender(20, 0, 2)]);
        // One of the first and two of the second lane: three jobs, the third done at 7.
        let found = bounds(&lanes, Order::Specified, &of);
        let latency = Some(LaneDelivery { wait: ns(6), latency: ns(7), capacity: 1 });
        assert_eq!(found, [latency, latency.map(|found| LaneDelivery { capacity: 2, ..found })]);
        // They use all that is taken: there is no end.
        let full = [sender(4, 0, 1), sender(4, 0, 1)];
        assert!(keeps_up(&full, &of));
        assert_eq!(bounds(&full, Order::Specified, &of), [None, None]);
        let zero = overtaken(&sender(0, 0, 1), &[], &of);
        assert_eq!(zero, Ok(Verdict::NotApplicable(Assumption::PositivePeriod)));
        assert_eq!(overtaken(&sender(1, 0, 1), &[], &of), Ok(Verdict::NotShown(Why::Rate)));
    }

    /// A lane alone has a bound exactly if a queue with a periodic reader has one, and its latency is no longer.
    #[test]
    fn one_lane_is_a_queue() {
        let mut draw = Draw::new(7);
        for _ in 0..2_000 {
            let period = draw.pick(1, 40);
            let own = sender(period, draw.pick(0, 60), draw.pick(1, 4) as u32);
            let of = TakingTask {
                triggered: false,
                ..receiver(draw.pick(1, 30), draw.pick(0, 40), draw.pick(1, 4) as u32)
            };
            let lane = delivery(&own, &[], &[], &of).expect("small");
            let queue = super::super::latency(&own, &of).expect("small");
            assert_eq!(lane.bound().is_some(), queue.bound().is_some());
            if let (Some(lane), Some(queue)) = (lane.bound(), queue.bound()) {
                assert!(lane.latency <= *queue, "{own:?} {of:?} {lane:?} {queue:?}");
            }
        }
    }

    #[test]
    fn extremes() {
        let of = receiver(u64::MAX, u64::MAX, 1);
        let long = sender(u64::MAX, u64::MAX, 1);
        let found = delivery(&long, &[], &[], &of);
        assert!(matches!(found, Err(Overflow)), "{found:?}");
        let zero = sender(0, 1, 1);
        let assumed = |assumption| Ok(Verdict::NotApplicable(assumption));
        assert_eq!(delivery(&zero, &[], &[], &of), assumed(Assumption::PositivePeriod));
        assert_eq!(delivery(&long, &[sender(1, 1, 0)], &[], &of), assumed(Assumption::PositiveCount));
        // Periods without a common multiple of 128 bits: rounded against the receiver.
        let primes = [u64::MAX - 58, u64::MAX - 82, u64::MAX - 94].map(|period| sender(period, 0, 1));
        assert_eq!(common_multiple(&primes, 1), None);
        assert!(keeps_up(&primes, &receiver(u64::MAX / 4, 0, 1)));
        assert!(!keeps_up(&primes, &receiver(u64::MAX / 2, 0, 1)));
        // Periods that repeat late, and takes that are all used: the steps end.
        let many: Vec<_> = (0..1_000).map(|at| sender(1_000_003 + 2 * at, 5, 1)).collect();
        let slow = receiver(1_000, 5, 1);
        assert!(keeps_up(&many, &slow));
        let last = delivery(&many[999], &many[..999], &[], &slow).expect("small");
        assert!(!matches!(last, Verdict::NotApplicable(_)), "{last:?}");
    }
}
