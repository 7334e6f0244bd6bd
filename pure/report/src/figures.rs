// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use hdrhistogram::Histogram;
use serde::Serialize;

/// The file of recorded values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ValuesFileFigures {
    /// Values in it, and records of what passed between jobs and everything around them.
    pub messages: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

/// A distribution of values in ns. Percentiles come from a histogram with three significant digits and are rounded
/// up; the largest value is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Distribution {
    /// The number of values.
    pub count: u64,
    /// Half of them are at most this.
    pub p50_ns: u64,
    /// 99 % of them are at most this.
    pub p99_ns: u64,
    /// 99.9 % of them are at most this.
    pub p999_ns: u64,
    /// The largest value.
    pub max_ns: u64,
}

/// Collects values for a [`Distribution`] and for a curve.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    histogram: Histogram<u64>,
    max: u64,
}

impl Values {
    pub(crate) fn of(values: impl IntoIterator<Item = u64>) -> Self {
        // Auto-resizing; any value of 64 bits fits.
        let histogram = Histogram::new(3).expect("three digits are within the histogram's one to five");
        let mut found = Self { histogram, max: 0 };
        for value in values {
            if found.histogram.record(value).is_err() {
                // The histogram could not grow: count the value at its end.
                found.histogram.saturating_record(value);
            }
            found.max = found.max.max(value);
        }
        found
    }

    /// `None` without values.
    pub(crate) fn spread(&self) -> Option<Distribution> {
        let at = |share| self.histogram.value_at_quantile(share).min(self.max);
        (!self.histogram.is_empty()).then(|| Distribution {
            count: self.histogram.len(),
            p50_ns: at(0.5),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            max_ns: self.max,
        })
    }

    /// Points of the distribution: a value and the number of values that exceed it, from the smallest to the largest;
    /// at most about `points`, and none that is redundant.
    pub(crate) fn curve(&self, points: u32) -> Vec<(u64, u64)> {
        let total = self.histogram.len();
        let mut curve: Vec<(u64, u64)> = Vec::new();
        let (mut seen, mut reported) = (0, None);
        for step in self.histogram.iter_recorded() {
            seen += step.count_since_last_iteration();
            let above = total - seen;
            // Even steps over the body; every value of the last hundredth, where it matters.
            let level = seen.saturating_mul(u64::from(points)) / total.max(1);
            if reported != Some(level) || above.saturating_mul(100) < total {
                curve.push((step.value_iterated_to().min(self.max), above));
                reported = Some(level);
            }
        }
        curve
    }
}

/// A task: its timing in the plan, and its figures in the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskFigures {
    /// Its name.
    pub name: String,
    /// Its CPU. A best-effort task has none, and none of the next six values.
    pub cpu: Option<u16>,
    /// Its priority, 1 to 98; 0 under EDF.
    pub priority: Option<u8>,
    /// T: the period, or the least time between two releases.
    pub period_ns: Option<u64>,
    /// D.
    pub deadline_ns: Option<u64>,
    /// C, margin included.
    pub wcet_ns: Option<u64>,
    /// R, if the plan shows one.
    pub bound_ns: Option<u64>,
    /// The analysis that gave R.
    pub test: Option<String>,
    /// Releases that were not skipped.
    pub releases: u64,
    /// Jobs that completed.
    pub completions: u64,
    /// Releases that the overrun policy or a pause dropped.
    pub skipped: u64,
    /// Releases that fell due while the previous job still ran.
    pub overruns: u64,
    /// Jobs that exhausted their budgets before they completed.
    pub exhausted: u64,
    /// Jobs beyond their deadline, unfinished ones included.
    pub missed: u64,
    /// Jobs beyond their bound or deadline that the machine accounts for.
    pub late_machine: u64,
    /// Jobs beyond their bound or deadline that are our fault.
    pub late_ours: u64,
    /// Late jobs that cannot be judged: their cause may be before the recording begins.
    pub late_not_judged: u64,
    /// Jobs beyond their bound or deadline because a thread from outside used the core, or stopped or traced the
    /// application.
    pub late_outside: u64,
    /// Jobs that used more processor time than their WCET, beyond what stalls explain.
    pub beyond_wcet: u64,
    /// Response time: completion - release.
    pub response: Option<Distribution>,
    /// Release jitter: start - release.
    pub jitter: Option<Distribution>,
    /// Processor time of a job.
    pub execution: Option<Distribution>,
    /// Counts after release 0; none if the run has no end, or nothing was counted.
    pub counts: Option<Counts>,
    /// What its set-up took from the heap; none if the run has no end, or nothing was counted.
    pub set_up_heap: Option<SetUpFigures>,
    /// Its records that were lost.
    pub records_lost: u64,
}

/// What the set-up of a task's component took from the heap before release 0 (bytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SetUpFigures {
    /// What was in use at its end.
    pub in_use: u64,
    /// The most at one time.
    pub peak: u64,
    /// The bound on what is in use, if the manifest states one.
    pub bound: Option<u64>,
}

/// What a task's jobs did after release 0; none for a count that was not taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Heap allocations, reallocations and frees.
    pub heap_use: Option<u64>,
    /// Page faults without IO. For dispatched tasks, whose jobs share threads, see [`CoreFigures`].
    pub minor_faults: Option<u64>,
    /// Page faults with IO. For dispatched tasks, see [`CoreFigures`].
    pub major_faults: Option<u64>,
    /// Voluntary context switches beyond waiting for a release or a trigger.
    pub blocked: Option<u64>,
    /// Involuntary context switches.
    pub preempted: Option<u64>,
}

impl Counts {
    /// Page faults of either kind.
    pub fn faults(&self) -> Option<u64> {
        Some(self.minor_faults?.saturating_add(self.major_faults?))
    }
}

/// Counts after release 0 of the threads that take turns on a dispatched core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CoreFigures {
    /// Its CPU.
    pub cpu: u16,
    /// Page faults without IO.
    pub minor_faults: u64,
    /// Page faults with IO.
    pub major_faults: u64,
}

/// A channel: its plan, and its figures in the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChannelFigures {
    /// Its name.
    pub name: String,
    /// The party that sends.
    pub writer: String,
    /// The parties that receive.
    pub readers: Vec<String>,
    /// The protocol, as its paper names it.
    pub mechanism: &'static str,
    /// The number of values that can wait, or of copies of a state's value where its mechanism counts them.
    pub capacity: u32,
    /// Values sent, if the sender's records exist.
    pub sent: u64,
    /// Values received, if the receiver's records exist.
    pub received: u64,
    /// Values rejected or lost.
    pub dropped: u64,
    /// The time from send to receive.
    pub latency: Option<Distribution>,
    /// The bound on that time.
    pub bound_ns: Option<u64>,
    /// Values beyond the bound, or lost against the proof, that the machine accounts for.
    pub late_machine: u64,
    /// Such values that are our fault.
    pub late_ours: u64,
    /// Such values that cannot be judged: their cause may be before the recording begins.
    pub late_not_judged: u64,
    /// Such values that count as nobody's fault, because a task on the way was paused by its service or had stopped.
    pub late_paused: u64,
    /// Of a broadcast: each reader that is a task.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_reader: Vec<ReaderFigures>,
}

/// A reader of a broadcast: its figures in the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReaderFigures {
    /// Its name.
    pub name: String,
    /// Values that it received.
    pub received: u64,
    /// Values that it lost, as far as it learned of them.
    pub lost: u64,
    /// The time from send to receive.
    pub latency: Option<Distribution>,
    /// The bound on that time.
    pub bound_ns: Option<u64>,
}

/// A chain: its plan, and its figures in the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChainFigures {
    /// Its name.
    pub name: String,
    /// Age of the data at its end.
    pub age: Option<Distribution>,
    /// The proven bound on the age.
    pub bound_ns: Option<u64>,
    /// The limit in the manifest.
    pub limit_ns: u64,
    /// Ages beyond the bound that the machine accounts for.
    pub late_machine: u64,
    /// Ages beyond the bound that are our fault.
    pub late_ours: u64,
    /// Late ages that cannot be judged: their cause may be before the recording begins.
    pub late_not_judged: u64,
    /// Late ages that count as nobody's fault, because a task on the way was paused by its service or had stopped.
    pub late_paused: u64,
    /// Its steps.
    pub steps: Vec<StepFigures>,
    /// Its reaction times, if the manifest limits them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reaction: Option<ReactionFigures>,
}

/// A chain's reaction: from an external event to the first output that reflects it or something newer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReactionFigures {
    /// By such output: the longest time since an event that it is the first to reflect.
    pub seen: Option<Distribution>,
    /// The proven bound on that time.
    pub bound_ns: Option<u64>,
    /// The limit in the manifest.
    pub limit_ns: u64,
    /// Reactions beyond the bound that the machine accounts for.
    pub late_machine: u64,
    /// Reactions beyond the bound that are our fault.
    pub late_ours: u64,
    /// Late reactions that cannot be judged: their cause may be before the recording begins.
    pub late_not_judged: u64,
    /// The share of each step in the bound; the first task may appear twice.
    pub steps: Vec<StepFigures>,
}

/// A step of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepFigures {
    /// The task's or channel's name.
    pub name: String,
    /// What the step adds to the bound, in words.
    pub adds: String,
    /// The time that it adds.
    pub bound_ns: u64,
    /// The largest response of the task or latency of the channel.
    pub max_ns: Option<u64>,
}

/// A resource whose locks were recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResourceFigures {
    /// Its name.
    pub name: String,
    /// Its locking protocol, as papers name it.
    pub protocol: &'static str,
    /// Requests that were not granted at once.
    pub waited: u64,
    /// The time from each request to its grant, for granted requests; 0 if granted at once.
    pub wait: Option<Distribution>,
    /// The time from the grant to the release.
    pub held: Option<Distribution>,
}

/// What the platform probe of a core observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ProbeFigures {
    /// The CPU.
    pub cpu: u16,
    /// Wake-ups later than the probe's threshold.
    pub stalls: u64,
    /// The sum of their lateness.
    pub total_ns: u64,
    /// The largest lateness.
    pub max_ns: u64,
}

/// A device's clock that a task follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClockFigures {
    /// The clock.
    pub clock: String,
    /// The task.
    pub task: String,
    /// Since when, from release 0, the grid was locked at the end; none if it was not.
    pub locked_since_ns: Option<u64>,
    /// How often the lock was lost.
    pub lost: u64,
    /// How often an observation proved that the device broke its word.
    pub broken: u64,
    /// The most by which a release and its tick can have been apart while locked; none if the grid was never locked.
    pub error_ns: Option<u64>,
    /// The proven bound on that.
    pub bound_ns: u64,
}

/// A change of mode that a run made, all times that it was made together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModeChangeFigures {
    /// The old mode.
    pub from: String,
    /// The new mode.
    pub to: String,
    /// How often a task followed it.
    pub followed: u64,
    /// The longest time from a request until a task had followed.
    pub longest_ns: u64,
    /// The proven bound on the time until all tasks have followed.
    pub bound_ns: Option<u64>,
    /// How often a task followed late, which the machine accounts for.
    pub late_machine: u64,
    /// How often a task followed late by our fault.
    pub late_ours: u64,
    /// How often it cannot be judged: the cause may be before the recording begins.
    pub late_not_judged: u64,
}

/// A change of a service's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServiceChange {
    /// The instant of the change, after release 0; 0 if before.
    pub at_ns: u64,
    /// The service.
    pub service: String,
    /// The number of its new state.
    pub state: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_and_curve() {
        assert_eq!(Values::of([]).spread(), None);
        let values = Values::of(1..=100_000);
        let spread = values.spread().unwrap();
        assert_eq!((spread.count, spread.max_ns), (100_000, 100_000));
        for (seen, exact) in [(spread.p50_ns, 50_000), (spread.p99_ns, 99_000), (spread.p999_ns, 99_900)] {
            assert!(seen >= exact && seen <= exact + exact / 1_000 + 1, "{seen} for {exact}");
        }
        let curve = values.curve(100);
        assert!(curve.len() < 250, "{}", curve.len());
        assert!(curve.is_sorted_by(|a, b| a.0 < b.0 && a.1 > b.1));
        assert_eq!(curve.last(), Some(&(100_000, 0)));
    }
}
