// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Capacity and latency of a broadcast: one copy of each value, and every real-time reader gets all of them.
//!
//! ```text
//! Symbols     those of `queue`, for each reader i: c_i the capacity of a queue from the writer to it, l_i its latency
//! Capacity    max_i c_i: no send finds the broadcast full
//! Waiting     c_i: at most so many values wait for reader i
//! Latency     l_i, from send to the end of reader i's job that takes the value
//! Assumes     A1 to A4 of `queue`, of the writer and each reader; A5 a reader that does not take part (its task is paused
//!             or has failed) does not count, and one that begins to does so behind all that was sent
//! Verdict     sufficient; exact where `queue` is
//! Source      own, on `queue`
//! ```
//!
//! **Proof.** A value is in the broadcast until the last reader has taken it. So what a send finds there is what waits for
//! the reader furthest behind, and the send is refused only if the capacity waits for one of them. Suppose that no send
//! before this one was refused. Then each reader has seen what a queue of its own would have shown it: the same sends at the
//! same instants, and no reader changes what another one does. So at most c_i - 1 wait for reader i, and the send fits. By A5
//! a reader begins with nothing waiting, as A1 of `queue` has it; the sends before do not matter to it. Readers that may
//! lose values do not hold the writer back.

use taut_time::Duration;

use super::{SendingTask, TakingTask, capacity, latency};
use crate::{Overflow, Verdict};

/// What holds for one reader of a broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderDelivery {
    /// c_i: the most values that wait for it.
    pub waiting: u64,
    /// l_i: from a send to the end of the job that takes the value.
    pub latency: Duration,
}

/// What holds for each reader, in their order. The capacity that a broadcast needs is the largest `waiting`.
///
/// The first reader without a bound is the verdict.
///
/// # Errors
/// [`Overflow`].
pub fn delivery(
    writer: &SendingTask,
    readers: &[TakingTask],
) -> Result<Verdict<Vec<ReaderDelivery>>, Overflow> {
    let mut all = Vec::with_capacity(readers.len());
    for reader in readers {
        match (capacity(writer, reader)?, latency(writer, reader)?) {
            (Verdict::Schedulable(waiting), Verdict::Schedulable(latency)) => {
                all.push(ReaderDelivery { waiting, latency });
            }
            (Verdict::Schedulable(_), other) => return Ok(other.map(|_| Vec::new())),
            (other, _) => return Ok(other.map(|_| Vec::new())),
        }
    }
    Ok(Verdict::Schedulable(all))
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::Why;
    use crate::draw::Draw;

    fn ns(ticks: u64) -> Duration {
        Duration::from_ns(ticks)
    }

    fn drawn(draw: &mut Draw) -> (SendingTask, Vec<TakingTask>) {
        let period = draw.pick(2, 24);
        let sends = draw.pick(1, 3) as u32;
        let writer = SendingTask { period: ns(period), response: ns(draw.pick(0, period + 4)), sends };
        let mut readers = Vec::new();
        while readers.is_empty() || readers.len() < 4 && draw.chance(70) {
            let triggered = draw.chance(40);
            let takes = if triggered { 1 } else { draw.pick(1, 4) as u32 };
            let reader =
                TakingTask { period: ns(draw.pick(1, 30)), response: ns(draw.pick(0, 12)), takes, triggered };
            if capacity(&writer, &reader).is_ok_and(|verdict| verdict.bound().is_some()) {
                readers.push(reader);
            }
        }
        (writer, readers)
    }

    /// A reader as it runs.
    struct Running {
        of: TakingTask,
        /// How many values it has taken, or skipped while it did not take part.
        head: usize,
        takes_part: bool,
        /// Jobs that have arrived: by when each must be done, and how many values it may still take.
        jobs: VecDeque<(u64, u32)>,
        /// No job arrives before.
        earliest: u64,
        longest: u64,
        most: u64,
    }

    /// Runs a broadcast of this capacity tick by tick; readers pause at drawn instants, and go on. Returns what was refused,
    /// and of each reader the longest latency and the most waiting values.
    fn run(
        writer: &SendingTask,
        readers: &[TakingTask],
        room: u64,
        draw: &mut Draw,
    ) -> (u64, Vec<(u64, u64)>) {
        const END: u64 = 500;
        let sends = sends(writer, END, draw);
        let pauses = draw.chance(30);
        let mut all: Vec<Running> = readers
            .iter()
            .map(|of| Running {
                of: *of,
                head: 0,
                takes_part: true,
                jobs: VecDeque::new(),
                earliest: if of.triggered { 0 } else { draw.pick(0, of.period.as_ns() - 1) },
                longest: 0,
                most: 0,
            })
            .collect();
        let (mut sent, mut next, mut refused) = (Vec::new(), 0, 0);
        let lazy = draw.pick(0, 100);
        for now in 0..3 * END {
            while next < sends.len() && sends[next] <= now {
                next += 1;
                let waiting = |of: &Running| if of.takes_part { (sent.len() - of.head) as u64 } else { 0 };
                if all.iter().map(waiting).max().unwrap_or(0) >= room {
                    refused += 1;
                    continue;
                }
                sent.push(now);
                all.iter_mut().filter(|of| of.takes_part).for_each(|of| {
                    of.most = of.most.max((sent.len() - of.head) as u64);
                    of.follow(now, sent.len());
                });
            }
            for of in &mut all {
                of.tick(now, &sent, lazy, draw);
                if pauses && draw.chance(1) {
                    of.turn(sent.len());
                }
            }
        }
        (refused, all.iter().map(|of| (of.longest, of.most)).collect())
    }

    /// The instants of all sends: the first jobs late, the others early, or as drawn.
    fn sends(writer: &SendingTask, end: u64, draw: &mut Draw) -> Vec<u64> {
        let (period, response) = (writer.period.as_ns(), writer.response.as_ns());
        let (mut arrival, mut last, mut all) = (draw.pick(0, period), 0, Vec::new());
        let dense = draw.chance(70);
        let mut late = draw.chance(60);
        while arrival < end {
            let mut at = arrival.max(last);
            for _ in 0..writer.sends {
                let to = (arrival + response).max(at);
                at = if late {
                    to
                } else if dense {
                    at
                } else {
                    draw.pick(at, to)
                };
                all.push(at);
            }
            last = at;
            late = draw.chance(if dense { 5 } else { 40 });
            arrival += period + if dense { 0 } else { draw.pick(0, period) };
        }
        all
    }

    impl Running {
        fn arrive(&mut self, now: u64) {
            self.jobs.push_back((now + self.of.response.as_ns(), self.of.takes));
            self.earliest = now + self.of.period.as_ns();
        }

        /// A triggered reader's job arrives for each value that no earlier job takes, unless its gap delays it.
        fn follow(&mut self, now: u64, sent: usize) {
            let taken: u64 = self.jobs.iter().map(|(_, left)| u64::from(*left)).sum();
            let waits = self.takes_part && (sent - self.head) as u64 > taken;
            if self.of.triggered && waits && now >= self.earliest {
                self.arrive(now);
            }
        }

        fn tick(&mut self, now: u64, sent: &[u64], lazy: u64, draw: &mut Draw) {
            if !self.of.triggered && now >= self.earliest {
                self.arrive(now);
            }
            self.follow(now, sent.len());
            while let Some((by, left)) = self.jobs.front_mut() {
                let must = now >= *by;
                if !must && draw.chance(lazy) {
                    break;
                }
                if *left == 0 || !self.takes_part || self.head >= sent.len() {
                    self.jobs.pop_front();
                    continue;
                }
                *left -= 1;
                self.longest = self.longest.max(now - sent[self.head]);
                self.head += 1;
            }
        }

        /// Pauses, or goes on behind all that was sent: between two jobs.
        fn turn(&mut self, sent: usize) {
            if self.jobs.is_empty() {
                self.takes_part = !self.takes_part;
                self.head = self.head.max(if self.takes_part { sent } else { 0 });
            }
        }
    }

    /// No drawn run finds the broadcast full or exceeds a reader's bound; one place less is too few now and then.
    #[test]
    fn runs_tick_by_tick() {
        let mut draw = Draw::new(50);
        let (mut several, mut near, mut full, mut too_few) = (0, 0, 0, 0);
        for _ in 0..2_000 {
            let (writer, readers) = drawn(&mut draw);
            several += usize::from(readers.len() > 1);
            let found = delivery(&writer, &readers).expect("small");
            let found = found.bound().expect("they keep up");
            let room = found.iter().map(|of| of.waiting).max().expect("there is a reader");
            for _ in 0..5 {
                let (refused, seen) = run(&writer, &readers, room, &mut draw);
                assert_eq!(refused, 0, "{room} {found:?} {writer:?} {readers:?}");
                for (found, (latency, waiting)) in found.iter().zip(seen) {
                    assert!(latency <= found.latency.as_ns(), "{latency} {found:?} {writer:?} {readers:?}");
                    assert!(waiting <= found.waiting, "{waiting} {found:?} {writer:?} {readers:?}");
                    near += usize::from(latency + writer.period.as_ns() >= found.latency.as_ns());
                    full += usize::from(waiting == found.waiting);
                }
                if room > 1 {
                    too_few += usize::from(run(&writer, &readers, room - 1, &mut draw).0 > 0);
                }
            }
        }
        assert!(
            several > 800 && near > 2_000 && full > 2_000 && too_few > 500,
            "{several} {near} {full} {too_few}"
        );
    }

    /// Two readers at their own rates: the slower one needs the room.
    #[test]
    fn by_hand() {
        let writer = SendingTask { period: ns(10), response: ns(2), sends: 1 };
        let reader = |period, response, takes, triggered| TakingTask {
            period: ns(period),
            response: ns(response),
            takes,
            triggered,
        };
        let readers = [reader(10, 4, 1, true), reader(40, 8, 4, false)];
        let found = delivery(&writer, &readers).expect("small");
        let found = found.bound().expect("they keep up");
        assert_eq!(found[0], ReaderDelivery { waiting: 1, latency: ns(2 + 4) });
        assert_eq!(Ok(Verdict::Schedulable(found[1].waiting)), capacity(&writer, &readers[1]));
        assert!(found[1].waiting >= 5, "{found:?}");
        let slow = [readers[0], reader(41, 8, 4, false)];
        assert_eq!(delivery(&writer, &slow), Ok(Verdict::NotShown(Why::Rate)));
        assert_eq!(delivery(&writer, &[]), Ok(Verdict::Schedulable(Vec::new())));
    }
}
