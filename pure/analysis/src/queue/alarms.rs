// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Delivery of an alarm: from its instant to the end of the receiver's job that takes it.
//!
//! ```text
//! Symbols     [ns] N slots of all setters together, each of which holds at most one alarm; T_r, R_r the receiver's period and
//!             response time, m alarms taken per job
//! Jobs        ⌈N / m⌉
//! Wait        from x to the arrival of the job that takes the alarm: ⌈N / m⌉ · T_r, where x is the alarm's instant, or the
//!             end of the call that set it if that is later; of an alarm with a window, the window's end
//! Latency     from x to the end of that job: ⌈N / m⌉ · T_r + R_r
//! Assumes     A1 an alarm keeps its slot until it is taken or cancelled; a repeated one is next due after it was taken
//!             A2 a receiver's job takes the alarm that is due first until it has m or none is due; an alarm may be taken
//!             before its window ends only if none is due
//!             A3 a receiver's jobs arrive at most T_r apart while an alarm is due, and complete within R_r
//!             A4 an alarm whose instant has passed when it is set is due after the reading of the clock that finds this,
//!             and that reading comes after its slot has become free
//! Verdict     sufficient; runs come within a tick of it
//! Cost        constant
//! Source      own; [Yan18, section 3.6.3] bounds alarms by rates and handling times: [`crate::delivery::alarm`]
//! ```
//!
//! **Jobs.** At x each of the other slots holds at most one alarm, so at most N − 1 are in front. None joins them: an alarm
//! that is set after x, or due again, in a slot that was free or was taken after x, is due after x by A1 and A4, and the
//! alarm in question is due at x or before. Until it is taken an alarm is due, so by A3 the k-th job that arrives after x
//! does so by x + k · T_r, and by A2 each of them takes m alarms, of those in front, or the alarm itself.
//!
//! Nothing is assumed about how often alarms are set: neither a best-effort task nor one that fails delays an alarm by more.

use taut_time::Duration;

use super::TakingTask;
use crate::wide::duration;
use crate::{Assumption, Overflow, Verdict};

/// What bounds an alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlarmDelivery {
    /// How many of the receiver's jobs arrive until the one that takes the alarm, that one included.
    pub jobs: u64,
    /// From the alarm's instant to the end of that job.
    pub latency: Duration,
}

/// Bounds each alarm of setters that have `slots` together. `triggered` of the receiver does not matter.
///
/// # Errors
/// [`Overflow`].
pub fn delivery(slots: u64, receiver: &TakingTask) -> Result<Verdict<AlarmDelivery>, Overflow> {
    if receiver.period.is_zero() {
        return Ok(Verdict::NotApplicable(Assumption::PositivePeriod));
    }
    if slots == 0 || receiver.takes == 0 {
        return Ok(Verdict::NotApplicable(Assumption::PositiveCount));
    }
    let jobs = slots.div_ceil(receiver.takes.into());
    let wait = u128::from(jobs).checked_mul(receiver.period.as_ns().into()).ok_or(Overflow)?;
    let latency = wait.checked_add(receiver.response.as_ns().into()).ok_or(Overflow)?;
    Ok(Verdict::Schedulable(AlarmDelivery { jobs, latency: duration(latency)? }))
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::draw::Draw;

    const END: u64 = 300;

    fn receiver(period: u64, response: u64, takes: u32) -> TakingTask {
        let [period, response] = [period, response].map(Duration::from_ns);
        TakingTask { period, response, takes, triggered: true }
    }

    /// An alarm.
    #[derive(Clone, Copy, Debug)]
    struct Alarm {
        /// It may be taken from here on.
        earliest: u64,
        /// The end of its window.
        latest: u64,
        /// How much later it is due again; 0 if never.
        period: u64,
        /// When it was set.
        set: u64,
    }

    /// A job: by when it must be complete, how many alarms it may still take, and from when the latencies of those
    /// that it took count.
    struct Released {
        due: u64,
        left: u32,
        since: Vec<u64>,
    }

    fn drawn(now: u64, draw: &mut Draw) -> Alarm {
        // All at one instant, soon, or late.
        let instant =
            [60, now + draw.pick(0, 20), now.saturating_sub(draw.pick(0, 20))][draw.pick(0, 2) as usize];
        // Late: due after the clock's reading (A4).
        let latest = (instant + if draw.chance(30) { draw.pick(0, 15) } else { 0 }).max(now + 1);
        let period = if draw.chance(30) { draw.pick(1, 25) } else { 0 };
        Alarm { earliest: instant.min(latest), latest, period, set: now }
    }

    /// Runs alarms tick by tick. Returns the longest time from an instant to the end of the job that took the alarm, and
    /// what happened, in numbers.
    fn run(slots: usize, of: &TakingTask, draw: &mut Draw) -> (u64, Vec<u64>) {
        let (gap, response) = (of.period.as_ns(), of.response.as_ns());
        let (lazy, periodic, setting) = (draw.pick(0, 100), draw.chance(30), draw.pick(1, 60));
        let mut held: Vec<Option<Alarm>> = vec![None; slots];
        let (mut jobs, mut earliest, mut longest) = (VecDeque::<Released>::new(), 0, 0);
        let mut log = Vec::new();
        for now in 0..2 * END {
            for slot in &mut held {
                match slot {
                    None if now < END && draw.chance(setting) => *slot = Some(drawn(now, draw)),
                    Some(of) if draw.chance(2) || now >= END && of.period > 0 => *slot = None,
                    _ => {}
                }
            }
            let is_due = held.iter().flatten().any(|of| of.latest <= now);
            // Another trigger, or a wake-up in vain, may count as a job.
            if now >= earliest && (periodic || is_due || draw.chance(5)) {
                jobs.push_back(Released { due: now + response, left: of.takes, since: Vec::new() });
                earliest = now + gap;
            }
            while let Some(job) = jobs.front_mut() {
                let must = now >= job.due;
                if !must && draw.chance(lazy) {
                    break;
                }
                let first = (0..slots).filter(|slot| held[*slot].is_some());
                let first = first.min_by_key(|slot| held[*slot].map(|of| of.latest));
                let taken = first.and_then(|slot| Some((slot, held[slot]?)));
                let Some((slot, alarm)) = taken.filter(|(_, of)| job.left > 0 && of.earliest <= now) else {
                    log.push(now);
                    for since in &job.since {
                        longest = longest.max(now.saturating_sub(*since));
                    }
                    jobs.pop_front();
                    continue;
                };
                job.left -= 1;
                job.since.push(alarm.latest.max(alarm.set));
                log.extend([now, slot as u64, alarm.latest]);
                let again = (alarm.period > 0).then(|| {
                    let missed = (now.max(alarm.latest) - alarm.latest) / alarm.period;
                    let by = (missed + 1) * alarm.period;
                    Alarm { earliest: alarm.earliest + by, latest: alarm.latest + by, ..alarm }
                });
                held[slot] = again;
            }
        }
        assert!(held.iter().all(Option::is_none), "all are taken in the end");
        (longest, log)
    }

    /// No alarm of 10,000 drawn runs comes later than its bound; some come within a tick of it: a job arrives just before all
    /// are due. The same seed gives the same run.
    #[test]
    fn runs_tick_by_tick() {
        let (mut near, mut attained) = (0, 0);
        for seed in 0..10_000 {
            let mut draw = Draw::new(seed);
            let of = receiver(draw.pick(1, 9), draw.pick(0, 9), draw.pick(1, 3) as u32);
            let slots = draw.pick(1, 6);
            let bound = delivery(slots, &of).expect("small");
            let bound = bound.bound().expect("there is one").latency.as_ns();
            let mut again = draw.clone();
            let (longest, log) = run(slots as usize, &of, &mut draw);
            assert!(longest <= bound, "{longest} {bound} {slots} {of:?}");
            near += usize::from(longest + of.period.as_ns() >= bound);
            attained += usize::from(longest + 1 == bound);
            if seed % 100 == 0 {
                assert_eq!(run(slots as usize, &of, &mut again), (longest, log));
            }
        }
        assert!(near > 3_000 && attained > 100, "{near} near, {attained} attained");
    }

    #[test]
    fn by_hand() {
        let of = |slots, takes| {
            let found = delivery(slots, &receiver(2, 1, takes)).expect("small");
            found.bound().map(|found| (found.jobs, found.latency.as_ns()))
        };
        assert_eq!([of(1, 1), of(5, 2), of(6, 2)], [Some((1, 3)), Some((3, 7)), Some((3, 7))]);
        let assumed = |assumption| Ok(Verdict::NotApplicable(assumption));
        assert_eq!(delivery(0, &receiver(2, 1, 1)), assumed(Assumption::PositiveCount));
        assert_eq!(delivery(1, &receiver(2, 1, 0)), assumed(Assumption::PositiveCount));
        assert_eq!(delivery(1, &receiver(0, 1, 1)), assumed(Assumption::PositivePeriod));
        assert!(delivery(2, &receiver(u64::MAX, 0, 1)).is_err());
        assert!(delivery(1, &receiver(u64::MAX, 1, 1)).is_err());
    }
}
