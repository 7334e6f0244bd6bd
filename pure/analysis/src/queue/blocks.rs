// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Blocks of a bulk channel between real-time tasks: how many are enough that a job that asks for one gets it.
//!
//! ```text
//! Symbols     those of [`super`]
//! Blocks      the capacity of [`super`]
//! Assumes     A1 to A4 of [`super`]
//!             A5 a job of the writer has one loan at a time, which it sends or gives back before it ends, and sends n at most
//!             A6 a job of the reader has one block at a time, which it gives back before it ends
//!             A7 a triggered reader has R_r ≤ T_r: it has one job at a time
//! Verdict     sufficient; exact where the capacity is
//! Cost        that of the capacity
//! Source      own
//! ```
//!
//! A block is away from the writer from its loan until the reader gives it back, and so longer than a value of a
//! queue waits. Still no more blocks are away than values can wait. Take any run, and an instant t at which a job
//! asks for a loan. Change the run from t on, and there alone: the job sends at t what it asks for, and the
//! reader's job that has a block at t takes that block just after t. Both may: by A5 the writer's job has n sends
//! left for this loan and has not ended, and by A6 the reader's job has not ended, so both are within their
//! response times. That a block waits longer releases no other job before t: a periodic reader's jobs arrive in any
//! case, and a triggered one has no other job by A7. In the changed run all blocks that were away at t, and the one
//! that is asked for, are values that wait at a send, which the capacity bounds.

use super::{SendingTask, TakingTask};
use crate::{Assumption, Overflow, Verdict};

/// The blocks with which no loan is ever refused.
///
/// # Errors
/// [`Overflow`].
pub fn blocks(writer: &SendingTask, reader: &TakingTask) -> Result<Verdict<u64>, Overflow> {
    if reader.triggered && reader.response > reader.period {
        return Ok(Verdict::NotApplicable(Assumption::OneJobAtATime));
    }
    super::capacity(writer, reader)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use taut_time::Duration;

    use super::*;
    use crate::draw::Draw;

    const END: u64 = 200;

    /// A job: by when it ends, and how many blocks it still sends or takes.
    struct Working {
        due: u64,
        left: u32,
    }

    /// When the jobs of a task arrive, and those that have arrived and not ended.
    struct Jobs {
        period: u64,
        response: u64,
        most: u32,
        next: u64,
        working: VecDeque<Working>,
    }

    impl Jobs {
        fn new(period: Duration, response: Duration, most: u32, draw: &mut Draw) -> Self {
            let (period, response) = (period.as_ns(), response.as_ns());
            Self { period, response, most, next: draw.pick(0, period), working: VecDeque::new() }
        }

        /// A job arrives now, and the next one a period later at the earliest.
        fn arrive(&mut self, now: u64, later: u64) {
            self.working.push_back(Working { due: now + self.response, left: self.most });
            self.next = now + self.period + later;
        }
    }

    /// Where the blocks are.
    #[derive(Default)]
    struct Away {
        loaned: bool,
        waiting: u64,
        held: bool,
    }

    impl Away {
        /// A step of the writer's first job; returns whether it may do another one in this tick.
        fn write(&mut self, jobs: &mut Jobs, now: u64, draw: &mut Draw, lazy: u64) -> bool {
            let Some(job) = jobs.working.front_mut() else { return false };
            if now < job.due && draw.chance(lazy) {
                return false;
            }
            if self.loaned {
                self.loaned = false;
                // Sent, or given back.
                if !draw.chance(3) {
                    self.waiting += 1;
                    job.left -= 1;
                }
            } else if job.left > 0 && !draw.chance(2) {
                self.loaned = true;
            } else {
                jobs.working.pop_front();
            }
            true
        }

        /// A step of the reader's first job.
        fn read(&mut self, jobs: &mut Jobs, now: u64, draw: &mut Draw, lazy: u64) -> bool {
            let Some(job) = jobs.working.front_mut() else { return false };
            if now < job.due && draw.chance(lazy) {
                return false;
            }
            if self.held {
                self.held = false;
            } else if job.left > 0 && self.waiting > 0 {
                self.waiting -= 1;
                job.left -= 1;
                self.held = true;
            } else {
                jobs.working.pop_front();
            }
            true
        }

        fn sum(&self) -> u64 {
            u64::from(self.loaned) + self.waiting + u64::from(self.held)
        }
    }

    /// Runs both tasks tick by tick; returns the most blocks that were away at once.
    fn run(w: &SendingTask, r: &TakingTask, draw: &mut Draw) -> u64 {
        let mut writer = Jobs::new(w.period, w.response, w.sends, draw);
        let mut reader = Jobs::new(r.period, r.response, r.takes, draw);
        if r.triggered {
            reader.next = 0;
        }
        // Lazy jobs do all at their ends, eager ones at once; some change at an instant.
        let (mut lazy, turn) = ([95, 95].map(|most| draw.pick(0, most)), draw.pick(0, END));
        if draw.chance(50) {
            lazy = [draw.pick(90, 100), draw.pick(0, 10)];
        }
        let sporadic = draw.chance(30);
        let (mut away, mut most) = (Away::default(), 0);
        for now in 0..END {
            if now == turn {
                lazy.reverse();
            }
            if now >= writer.next {
                let later = if sporadic && draw.chance(30) { draw.pick(0, 9) } else { 0 };
                writer.arrive(now, later);
            }
            // What waits for the job under way releases no other one.
            let arrives = |reader: &mut Jobs, away: &Away| {
                let waits = away.waiting > 0 && reader.working.is_empty();
                if now >= reader.next && (!r.triggered || waits) {
                    reader.arrive(now, 0);
                }
            };
            arrives(&mut reader, &away);
            let reads_first = draw.chance(50);
            for turn in [reads_first, !reads_first] {
                if turn {
                    while away.read(&mut reader, now, draw, lazy[0]) {}
                } else {
                    while away.write(&mut writer, now, draw, lazy[1]) {
                        most = most.max(away.sum());
                        arrives(&mut reader, &away);
                    }
                }
            }
            // A job that ends in this tick may be followed by one that arrives in it, and that may have to end in it.
            for _ in 0..2 {
                while away.read(&mut reader, now, draw, 100) {}
                arrives(&mut reader, &away);
            }
            while away.read(&mut reader, now, draw, 100) {}
        }
        most
    }

    fn ns(ticks: u64) -> Duration {
        Duration::from_ns(ticks)
    }

    #[test]
    fn a_triggered_reader_with_two_jobs_at_once_is_not_judged() {
        let writer = SendingTask { period: ns(3), response: ns(2), sends: 1 };
        let reader =
            |response| TakingTask { period: ns(3), response: ns(response), takes: 1, triggered: true };
        assert!(blocks(&writer, &reader(3)).expect("small").bound().is_some());
        assert_eq!(blocks(&writer, &reader(4)), Ok(Verdict::NotApplicable(Assumption::OneJobAtATime)));
        assert!(
            blocks(&writer, &TakingTask { triggered: false, ..reader(4) }).expect("small").bound().is_some()
        );
    }

    /// No loan of 10,000 drawn runs finds all blocks away; in a quarter of those without two jobs at once all but that
    /// one are.
    #[test]
    fn runs_tick_by_tick() {
        let (mut plain, mut attained, mut triggered) = (0, 0, 0);
        for seed in 0..10_000 {
            let draw = &mut Draw::new(seed);
            let (sends, takes) = (draw.pick(1, 3), draw.pick(1, 3));
            let tr = draw.pick(2, 14);
            let least = (sends * tr).div_ceil(takes).max(2);
            let tw = if draw.chance(40) { least } else { least + draw.pick(0, 12) };
            let is_triggered = draw.chance(50);
            // Some tasks have two jobs at once.
            let longest = |period: u64, draw: &mut Draw| period * draw.pick(1, 4).saturating_sub(2).max(1);
            let (most_w, most_r) = (longest(tw, draw), if is_triggered { tr } else { longest(tr, draw) });
            let w = SendingTask { period: ns(tw), response: ns(draw.pick(0, most_w)), sends: sends as u32 };
            let r = TakingTask {
                period: ns(tr),
                response: ns(draw.pick(0, most_r)),
                takes: takes as u32,
                triggered: is_triggered,
            };
            let enough = *blocks(&w, &r).expect("small").bound().expect("the rate fits");
            let most = run(&w, &r, draw);
            assert!(most <= enough, "seed {seed}: {most} away of {enough}, {w:?} {r:?}");
            if w.response <= w.period && r.response <= r.period {
                plain += 1;
                attained += u32::from(most == enough);
                triggered += u32::from(most == enough && r.triggered);
            }
        }
        assert!(
            attained > plain / 4 && triggered > plain / 10,
            "{attained} attained of {plain}, {triggered} of triggered readers"
        );
    }
}
