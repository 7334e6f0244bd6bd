// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How often receivers are released, and how many values readers take, so that none waits for ever.
//!
//! Most files give a receiver no least time between releases. The import writes the longest time with which the
//! receiver takes as much as its senders send, at most the shortest of their periods. RTDroid demands that as much is
//! taken as is sent (`Yan18`, section 4.2); where a file states less, the import writes how many values it takes.

use std::collections::BTreeMap;

use taut_time::Duration;

use super::{Reader, Sporadic};
use crate::sketch::{Arrival, Carries, Channel, Party};
use crate::xml::shown;

/// The guess of a receiver's least time between releases, where nothing says it.
const GAP: Duration = Duration::from_ms(100);

/// Values per nanosecond, as a fraction.
#[derive(Clone, Copy)]
struct Rate {
    values: u128,
    ns: u128,
}

impl Rate {
    /// The sum of rates, each a count and how often that many are sent, none of them zero. Exact if its denominator has 64
    /// bits; otherwise all are taken as sent in the shortest of the times. `None` of no rates.
    fn sum(sent: &[(u32, Duration)]) -> Option<Self> {
        let shortest = sent.iter().map(|(_, every)| *every).min()?;
        let zero = Some(Self { values: 0, ns: 1 });
        let exact = sent.iter().fold(zero, |sum, (count, every)| sum?.plus(*count, *every));
        let all = sent.iter().map(|(count, _)| u128::from(*count)).sum();
        Some(exact.unwrap_or(Self { values: all, ns: shortest.as_ns().into() }))
    }

    fn plus(self, count: u32, every: Duration) -> Option<Self> {
        let every = u128::from(every.as_ns());
        let values = self.values.checked_mul(every)?.checked_add(self.ns.checked_mul(count.into())?)?;
        let ns = self.ns.checked_mul(every)?;
        let (mut a, mut b) = (values, ns);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let sum = Self { values: values / a.max(1), ns: ns / a.max(1) };
        (sum.ns <= u64::MAX.into()).then_some(sum)
    }

    /// The longest time in which at most this many values are sent, rounded down.
    fn within(self, values: u32) -> Option<Duration> {
        let ns = self.ns.checked_mul(values.into())?.checked_div(self.values)?;
        u64::try_from(ns).ok().map(Duration::from_ns)
    }

    /// How many values are sent in a time, rounded up; `u32::MAX` if that is more.
    fn in_time(self, time: Duration) -> u32 {
        let values = self.values.checked_mul(time.as_ns().into()).map(|values| values.div_ceil(self.ns));
        values.and_then(|values| u32::try_from(values).ok()).unwrap_or(u32::MAX)
    }
}

impl Reader<'_, '_, '_> {
    /// Gives each receiver its period, and each channel as many takes as it needs.
    pub(super) fn rates(&mut self) {
        let sporadic: BTreeMap<usize, Sporadic> =
            std::mem::take(&mut self.sporadic).into_iter().map(|one| (one.task, one)).collect();
        let is_open = |reader: &Self, task: usize| {
            sporadic.contains_key(&task) && reader.sketch.tasks[task].period.is_zero()
        };
        // Each receiver after the receivers that send to it.
        let mut waits: BTreeMap<usize, usize> =
            sporadic.keys().filter(|task| is_open(self, **task)).map(|task| (*task, 0)).collect();
        let mut releases: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for channel in &self.sketch.channels {
            let [Party::Task(reader)] = *channel.to.as_slice() else { continue };
            let Some(count) = waits.get(&reader).copied() else { continue };
            let open = channel.from.iter().filter_map(|sender| match sender.party {
                Party::Task(task) if is_open(self, task) => Some(task),
                _ => None,
            });
            let open: Vec<usize> = open.collect();
            waits.insert(reader, count + open.len());
            open.into_iter().for_each(|sender| releases.entry(sender).or_default().push(reader));
        }
        let all: Vec<usize> = waits.keys().copied().collect();
        let mut ready: Vec<usize> = all.iter().copied().filter(|task| waits[task] == 0).collect();
        // Those that are left when none is ready release each other in a circle.
        for next in all {
            while let Some(task) = ready.pop() {
                if !is_open(self, task) {
                    continue;
                }
                self.give_gap(task);
                for released in releases.remove(&task).unwrap_or_default() {
                    if let Some(count) = waits.get_mut(&released) {
                        *count -= 1;
                        ready.extend((*count == 0).then_some(released));
                    }
                }
            }
            ready.extend(is_open(self, next).then_some(next));
        }
        while let Some(task) = ready.pop() {
            if is_open(self, task) {
                self.give_gap(task);
            }
        }
        for Sporadic { task, deadline, cost } in sporadic.into_values() {
            self.complete(task, deadline, cost);
            let released = &self.sketch.tasks[task];
            if matches!(&released.arrival, Arrival::Sporadic(by) if by.is_empty()) {
                let (at, name) = (released.at, shown(&released.named.name));
                let what = format!("nothing here releases `{name}`: a best-effort task stands for what does");
                self.sketch.lose(at, what);
            }
        }
        self.takes();
    }

    /// How many values the real-time senders of a channel send, and how often. Others have no rate.
    fn sent(&self, channel: &Channel) -> Vec<(u32, Duration)> {
        let of = |party: Party| match party {
            Party::Task(at) => Some(self.sketch.tasks[at].period).filter(|period| !period.is_zero()),
            Party::Client(_) => None,
        };
        channel.from.iter().filter_map(|sender| Some((sender.sends, of(sender.party)?))).collect()
    }

    /// Gives a receiver its least time between releases.
    fn give_gap(&mut self, task: usize) {
        let Arrival::Sporadic(by) = &self.sketch.tasks[task].arrival else { return };
        let gaps = by.iter().filter_map(|at| {
            let channel = &self.sketch.channels[*at];
            let sent = self.sent(channel);
            let shortest = sent.iter().map(|(_, every)| *every).min()?;
            Some(Rate::sum(&sent)?.within(channel.takes)?.min(shortest))
        });
        let gap = gaps.min().filter(|gap| !gap.is_zero());
        let (place, name) = (self.sketch.tasks[task].at, shown(&self.sketch.tasks[task].named.name));
        let what = match gap {
            Some(gap) => {
                format!("`{name}` has no period: it is released every {gap} at most, as its senders send")
            }
            None => format!(
                "nothing says how often `{name}` is released: every {GAP} at most is a guess; state it as `periodic`"
            ),
        };
        self.sketch.lose(place, what);
        self.sketch.tasks[task].period = gap.unwrap_or(GAP);
    }

    /// Lets each real-time reader take as much as is sent.
    fn takes(&mut self) {
        for at in 0..self.sketch.channels.len() {
            let channel = &self.sketch.channels[at];
            let [Party::Task(reader)] = *channel.to.as_slice() else { continue };
            let task = &self.sketch.tasks[reader];
            if task.arrival == Arrival::Any || task.period.is_zero() {
                continue;
            }
            let needed = Rate::sum(&self.sent(channel)).map_or(1, |rate| rate.in_time(task.period));
            if needed <= channel.takes {
                continue;
            }
            let what = format!(
                "`{}` would take {} values per release of channel `{}`, and {needed} come in {}: it takes {needed}",
                shown(&task.named.name),
                channel.takes,
                shown(&channel.named.name),
                task.period
            );
            let (place, is_released) = (channel.at, matches!(task.arrival, Arrival::Sporadic(_)));
            self.sketch.lose(place, what);
            let channel = &mut self.sketch.channels[at];
            channel.takes = needed;
            // A task that one queue releases takes one value; one that a message releases may take more.
            if is_released && channel.carries == Carries::Every {
                channel.carries = Carries::Message;
            }
        }
    }
}
