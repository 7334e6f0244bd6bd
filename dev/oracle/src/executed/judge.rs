// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Compares measured responses with their bounds, and decides whether the machine is to blame for the responses above.
//!
//! Let S be the total time for which the core has stalled since it last had nothing to do. Without these stalls a job
//! would have completed at an instant f, at its bound at the latest. The job completes later than f by S, and by the
//! costs of the jobs that arrive from f until its completion and go before it. A job that completes above its bound is
//! excused only if there is such an f: the bound, or the arrival of one of these jobs.
//!
//! Where cores wait for each other, a stall of any of them counts, and an arrival on any of them.

use std::collections::{BTreeMap, BTreeSet};

use taut_event::{Kind, Record};
use taut_model::{SchedulingPolicy, TaskSet};

use super::kind::Proven;
use super::silence::{Stall, covered};

/// The verdict on a run's responses.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Judged {
    pub(crate) kept: u64,
    /// Responses above their bound by no more than the machine stalled meanwhile.
    pub(crate) excused: u64,
    /// Responses above their bound by more than that, in words.
    pub(crate) exceeded: Vec<String>,
    /// The largest fraction of its bound that a response took, in thousandths.
    pub(crate) nearest: u64,
}

/// A core while its records are read.
#[derive(Default)]
struct Core {
    /// The arrivals of the open jobs.
    open: BTreeMap<(usize, u64), u64>,
    /// The arrival of the first job since no job was open.
    busy_ns: u64,
}

/// Compares responses with bounds. Where cores are `shared`, they wait for each other: then a stall of any of them
/// counts, from the first arrival after all of them had no open job.
pub(crate) fn judge(proven: &Proven, records: &[Record], stalls: &[Vec<Stall>], shared: bool) -> Judged {
    let set = &proven.set;
    let mut cores: Vec<Core> = set.cores().iter().map(|_| Core::default()).collect();
    let run = Run { proven, arrivals: arrivals(set, records), stalls, shared };
    // Records come core by core. Where cores count as one, they must be in order of time.
    let mut records: Vec<&Record> = records.iter().collect();
    if shared {
        records.sort_by_key(|record| record.at);
    }
    let mut judged = Judged::default();
    for record in records {
        let task = usize::from(record.subject);
        let Some(at) = set.tasks().get(task).map(|task| task.core) else { continue };
        let core = &mut cores[if shared { 0 } else { at }];
        match record.kind {
            Kind::Release => {
                let arrival_ns = record.at.as_ns();
                if core.open.is_empty() {
                    core.busy_ns = arrival_ns;
                }
                core.open.insert((task, record.job), arrival_ns);
            }
            // A released job that was dropped.
            Kind::Skip => {
                core.open.remove(&(task, record.job));
            }
            Kind::Complete => {
                let Some(arrival_ns) = core.open.remove(&(task, record.job)) else { continue };
                let end_ns = record.at.as_ns();
                let response = Response { task, job: record.job, arrival_ns, end_ns, busy_ns: core.busy_ns };
                run.judge(&response, &mut judged);
            }
            _ => {}
        }
    }
    judged
}

/// What responses are compared with.
struct Run<'r> {
    proven: &'r Proven,
    /// For each task, the arrivals of its jobs.
    arrivals: Vec<BTreeSet<u64>>,
    /// For each core.
    stalls: &'r [Vec<Stall>],
    shared: bool,
}

/// A job that completed.
struct Response {
    task: usize,
    job: u64,
    arrival_ns: u64,
    end_ns: u64,
    /// The arrival of the first job since no job was open.
    busy_ns: u64,
}

impl Run<'_> {
    fn judge(&self, response: &Response, judged: &mut Judged) {
        let Response { task, job, arrival_ns, end_ns, busy_ns } = *response;
        let bound_ns = self.proven.bounds[task].as_ns();
        let response_ns = end_ns.saturating_sub(arrival_ns);
        if response_ns <= bound_ns {
            judged.kept += 1;
            judged.nearest = judged.nearest.max(response_ns * 1000 / bound_ns.max(1));
            return;
        }
        let core = self.proven.set.tasks()[task].core;
        let seen = self.stalls.iter().enumerate().filter(|(of, _)| self.shared || *of == core);
        let stalled_ns = covered(seen.flat_map(|(_, stalls)| stalls), busy_ns, end_ns);
        let latest_ns = latest(&self.more_urgent(response), arrival_ns + bound_ns, stalled_ns);
        if stalled_ns > 0 && end_ns <= latest_ns {
            judged.excused += 1;
        } else {
            let busy_ns = end_ns - busy_ns;
            judged.exceeded.push(format!(
                "job {job} of task {task} took {response_ns} ns, and the bound is {bound_ns} ns; in the \
                 {busy_ns} ns since the last idle instant the machine stalled for {stalled_ns} ns, which \
                 explains {} ns",
                latest_ns - arrival_ns
            ));
        }
    }

    /// Arrival and cost of the jobs that go before a job, and that arrive between its arrival plus its own cost and
    /// its completion.
    fn more_urgent(&self, response: &Response) -> Vec<(u64, u64)> {
        let Proven { set, costs, .. } = self.proven;
        let Response { task, arrival_ns, end_ns, .. } = *response;
        let before = |other: &usize| self.shared || goes_before(set, *other, task);
        let from_ns = arrival_ns + set.cost(task).as_ns();
        let mut come: Vec<(u64, u64)> = (0..set.tasks().len())
            .filter(before)
            .flat_map(|other| self.arrivals[other].range(from_ns..end_ns).map(move |at| (*at, other)))
            .map(|(at, other)| (at, costs[other].as_ns()))
            .collect();
        come.sort_unstable();
        come
    }
}

/// The latest completion, with the stalls and the jobs in `come` (arrival and cost) that come in between, of a job that
/// would otherwise have completed by `bound_ns`.
fn latest(come: &[(u64, u64)], bound_ns: u64, stalled_ns: u64) -> u64 {
    let after = |first: usize, done: u64| {
        let mut end = done + stalled_ns;
        for (at, cost) in &come[first..] {
            if *at >= end {
                break;
            }
            end += cost;
        }
        end
    };
    let count = come.partition_point(|(at, _)| *at < bound_ns);
    (0..count).map(|first| after(first, come[first].0)).fold(after(count, bound_ns), u64::max)
}

/// For each task, the arrivals of the jobs that were not dropped.
fn arrivals(set: &TaskSet, records: &[Record]) -> Vec<BTreeSet<u64>> {
    let of = |kind| {
        let which = records.iter().filter(move |record| record.kind == kind);
        which.map(|record| ((usize::from(record.subject), record.job), record.at.as_ns()))
    };
    let dropped: BTreeMap<_, _> = of(Kind::Skip).collect();
    let mut all = vec![BTreeSet::new(); set.tasks().len()];
    for ((task, job), at) in of(Kind::Release) {
        if let Some(arrivals) = all.get_mut(task).filter(|_| !dropped.contains_key(&(task, job))) {
            arrivals.insert(at);
        }
    }
    all
}

/// Whether a job of `one` that arrives after a job of `other`, on the same core, goes before it.
fn goes_before(set: &TaskSet, one: usize, other: usize) -> bool {
    let (one, other) = (&set.tasks()[one], &set.tasks()[other]);
    one.core == other.core
        && match set.cores()[other.core] {
            SchedulingPolicy::FixedPriority => one.priority > other.priority,
            SchedulingPolicy::Edf => one.deadline < other.deadline,
        }
}

#[cfg(test)]
mod tests {
    use taut_model::{ArrivalPattern, Body, SetTask};
    use taut_sim::Rules;
    use taut_time::{Duration, Instant};

    use super::*;

    /// On the first core the second task goes first; each job costs 10.
    fn proven(scheduler: SchedulingPolicy) -> Proven {
        let task = |name: &str, core, priority| SetTask {
            name: name.into(),
            core,
            priority,
            arrivals: ArrivalPattern::Sporadic,
            period: Duration::from_us(1),
            deadline: Duration::from_ns(1000 - u64::from(priority)),
            jitter: Duration::ZERO,
            body: Body::Anywhere { cost: Duration::from_ns(9), requests: vec![] },
        };
        let tasks = vec![task("a", 0, 1), task("b", 0, 2), task("c", 1, 1)];
        let set = TaskSet::new(vec![scheduler; 2], vec![], tasks).unwrap();
        let bounds = [60, 100, 100].map(Duration::from_ns).to_vec();
        let rules = Rules { cores: vec![], resources: vec![] };
        Proven { set, rules, bounds, costs: vec![Duration::from_ns(10); 3] }
    }

    fn record(at: u64, kind: Kind, subject: u16, job: u64) -> Record {
        Record { at: Instant::from_ns(at), kind, cpu: 0, subject, job, value: 0 }
    }

    #[test]
    fn only_a_stall_excuses_a_response_above_its_bound() {
        let records = [
            record(100, Kind::Release, 0, 0),
            record(110, Kind::Release, 1, 0),
            record(160, Kind::Complete, 1, 0),
            record(200, Kind::Complete, 0, 0),
        ];
        let proven = proven(SchedulingPolicy::FixedPriority);
        let with = |stalls: &[Vec<Stall>], shared| judge(&proven, &records, stalls, shared);
        let none = with(&[vec![], vec![]], false);
        assert_eq!((none.kept, none.excused, none.exceeded.len(), none.nearest), (1, 0, 1, 500));
        assert_eq!(with(&[vec![(90, 130)], vec![]], false).exceeded.len(), 1, "30 of 40");
        assert_eq!(with(&[vec![(90, 130), (120, 145)], vec![]], false).excused, 1);
        assert_eq!(with(&[vec![(100, 139)], vec![]], false).exceeded.len(), 1, "39 of 40");
        assert_eq!(with(&[vec![(100, 140)], vec![]], false).excused, 1, "40 of 40");
        assert_eq!(with(&[vec![(10, 99)], vec![]], false).excused, 0, "before");
        assert_eq!(with(&[vec![], vec![(100, 150)]], false).excused, 0, "elsewhere");
        assert_eq!(with(&[vec![], vec![(100, 150)]], true).excused, 1, "for whom it waited");
    }

    /// The bound ends at 160.
    #[test]
    fn who_comes_after_the_bound_and_goes_before_takes_its_time_too() {
        let run = |other, at| {
            [
                record(100, Kind::Release, 0, 0),
                record(at, Kind::Release, other, 7),
                record(200, Kind::Complete, 0, 0),
            ]
        };
        let excused = |proven: &Proven, records: &[Record], stall, shared| {
            judge(proven, records, &[vec![stall], vec![]], shared).excused == 1
        };
        for scheduler in [SchedulingPolicy::FixedPriority, SchedulingPolicy::Edf] {
            let proven = proven(scheduler);
            assert!(excused(&proven, &run(1, 160), (100, 130), false));
            assert!(!excused(&proven, &run(1, 160), (100, 129), false), "39 of 40");
            assert!(!excused(&proven, &run(1, 160), (0, 0), false), "no stall, no excuse");
            assert!(
                excused(&proven, &run(1, 159), (100, 131), false),
                "it would have been done when that came"
            );
            assert!(!excused(&proven, &run(1, 159), (100, 130), false), "40 of 41");
            assert!(!excused(&proven, &run(1, 108), (110, 141), false), "it is not done in 8");
            assert!(!excused(&proven, &run(1, 200), (100, 130), false), "it came too late");
            assert!(!excused(&proven, &run(0, 160), (100, 130), false), "it goes after");
            assert!(!excused(&proven, &run(2, 160), (100, 130), false), "elsewhere");
            assert!(excused(&proven, &run(2, 160), (100, 130), true));
            let [first, second, last] = run(1, 160);
            let dropped = [first, second, record(170, Kind::Skip, 1, 7), last];
            assert!(!excused(&proven, &dropped, (100, 130), false), "it never ran");
        }
    }
}
