// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Measured responses beside their bounds, and whether the machine is to blame for what is above.
//!
//! A stall of S delays a job by S, by what is released in that time and is more urgent, by what is released in that, and so
//! on: by S / (1 − U) in all on a core of utilisation U. What is above its bound by more than that is not excused.

use std::collections::BTreeMap;

use taut_event::{Kind, Record};
use taut_model::TaskSet;
use taut_time::Duration;

use super::silence::{Stall, covered};

/// What was found of a run's responses.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Judged {
    pub(crate) kept: u64,
    /// Above their bound, by no more than the machine stalled meanwhile.
    pub(crate) excused: u64,
    /// Above their bound by more than that: in words.
    pub(crate) exceeded: Vec<String>,
    /// The largest part of its bound that a response took; thousandths.
    pub(crate) nearest: u64,
}

/// A core while its records are read.
#[derive(Default)]
struct Core {
    /// Of jobs that are under way, when they arrived.
    open: BTreeMap<(usize, u64), u64>,
    /// When the first job arrived since nothing was under way.
    busy_ns: u64,
}

/// Holds responses against bounds. Where cores are `shared`, they wait for each other: then a stall of any of them counts,
/// from when nothing was under way on all of them.
pub(crate) fn judge(
    set: &TaskSet,
    bounds: &[Duration],
    records: &[Record],
    stalls: &[Vec<Stall>],
    shared: bool,
) -> Judged {
    let mut cores: Vec<Core> = set.cores().iter().map(|_| Core::default()).collect();
    // Core by core as they come; the first instant at which anybody knew, where they are one.
    let mut records: Vec<&Record> = records.iter().collect();
    if shared {
        records.sort_by_key(|record| record.at);
    }
    // Millionths of each core that nobody uses; of the fullest, where they are shared.
    let mut free: Vec<u64> = (0..set.cores().len()).map(|core| unused(set, core)).collect();
    if shared {
        let least = free.iter().copied().min().unwrap_or(1);
        free.fill(least);
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
            // One that was dropped after all.
            Kind::Skip => {
                core.open.remove(&(task, record.job));
            }
            Kind::Complete => {
                let Some(arrival_ns) = core.open.remove(&(task, record.job)) else { continue };
                let (end_ns, bound_ns) = (record.at.as_ns(), bounds[task].as_ns());
                let response_ns = end_ns.saturating_sub(arrival_ns);
                if response_ns <= bound_ns {
                    judged.kept += 1;
                    judged.nearest = judged.nearest.max(response_ns * 1000 / bound_ns.max(1));
                    continue;
                }
                let seen = stalls.iter().enumerate().filter(|(of, _)| shared || *of == at);
                let stalled_ns = covered(seen.flat_map(|(_, stalls)| stalls), core.busy_ns, end_ns);
                let above = u128::from(response_ns - bound_ns) * u128::from(free[at]);
                if u128::from(stalled_ns) * u128::from(MILLION) >= above {
                    judged.excused += 1;
                } else {
                    let busy_ns = end_ns - core.busy_ns;
                    judged.exceeded.push(format!(
                        "job {} of task {task} took {response_ns} ns, and the bound is {bound_ns} ns; in the {busy_ns} ns since nothing was under way the machine stalled for {stalled_ns} ns",
                        record.job
                    ));
                }
            }
            _ => {}
        }
    }
    judged
}

const MILLION: u64 = 1_000_000;

fn unused(set: &TaskSet, core: usize) -> u64 {
    let share = |at: usize| set.cost(at).as_ns() * MILLION / set.tasks()[at].period.as_ns();
    MILLION.saturating_sub(set.on_core(core).map(share).sum()).max(1)
}

#[cfg(test)]
mod tests {
    use taut_model::{Arrivals, Body, Scheduler, SetTask};
    use taut_time::Instant;

    use super::*;

    fn set() -> TaskSet {
        let task = |name: &str, core| SetTask {
            name: name.into(),
            core,
            priority: 1,
            arrivals: Arrivals::Sporadic,
            period: Duration::from_us(1),
            deadline: Duration::from_us(1),
            jitter: Duration::ZERO,
            body: Body::Anywhere { cost: Duration::from_ns(10), requests: vec![] },
        };
        let tasks = vec![task("a", 0), task("b", 0), task("c", 1)];
        TaskSet::new(vec![Scheduler::FixedPriority; 2], vec![], tasks).unwrap()
    }

    fn record(at: u64, kind: Kind, subject: u16) -> Record {
        Record { at: Instant::from_ns(at), kind, cpu: 0, subject, job: 0, value: 0 }
    }

    #[test]
    fn what_is_above_a_bound_is_the_machines_only_if_it_stalled() {
        let records = [
            record(100, Kind::Release, 0),
            record(110, Kind::Release, 1),
            record(160, Kind::Complete, 1),
            record(200, Kind::Complete, 0),
        ];
        let bounds = [60, 100, 100].map(Duration::from_ns);
        let with = |stalls: &[Vec<Stall>], shared| judge(&set(), &bounds, &records, stalls, shared);
        let none = with(&[vec![], vec![]], false);
        assert_eq!((none.kept, none.excused, none.exceeded.len(), none.nearest), (1, 0, 1, 500));
        assert_eq!(with(&[vec![(90, 130)], vec![]], false).exceeded.len(), 1, "30 of 40");
        assert_eq!(with(&[vec![(90, 130), (120, 145)], vec![]], false).excused, 1);
        // A fiftieth is in use.
        assert_eq!(with(&[vec![(100, 138)], vec![]], false).exceeded.len(), 1, "38 of 39.2");
        assert_eq!(with(&[vec![(100, 140)], vec![]], false).excused, 1, "40 of 39.2");
        assert_eq!(with(&[vec![(10, 99)], vec![]], false).excused, 0, "before");
        assert_eq!(with(&[vec![], vec![(100, 150)]], false).excused, 0, "elsewhere");
        assert_eq!(with(&[vec![], vec![(100, 150)]], true).excused, 1, "for whom it waited");
    }
}
