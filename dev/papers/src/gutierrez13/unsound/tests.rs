// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How the published rules break, unit by unit and in the simulator, and where they do not.

#[path = "../../../../../pure/policy/tests/units/mod.rs"]
mod units;

use proptest::prelude::*;
use taut_model::{ArrivalPattern, Body, Resource, SchedulingPolicy, Segment, SetTask, TaskSet};
use taut_policy::queue::{LinkedList, Node};
use taut_sim::{GlobalRule, RunEnd, Scenario, Simulation, Start};
use taut_time::Duration;

use self::units::{
    Job, Lock, RESOURCES, Ran, Run, TASKS, Unlock, deadlines, dfp, floors, heap, inside, job, run, sets, srp,
};
use super::{DfpQueue, DfpQueueResource, DfpQueueTask, SrpList, SrpListResource, SrpListTask};
use crate::gutierrez13::rules;

fn srp_list(jobs: &[Job]) -> Ran {
    let (tasks, resources) = ([SrpListTask::EMPTY; TASKS], [SrpListResource::EMPTY; RESOURCES]);
    let rule = SrpList::new([Node::EMPTY; TASKS], tasks, &deadlines(jobs), resources, &floors(jobs));
    run(&mut rule.expect("fits"), jobs, false)
}

/// On a list and on a heap, which must give the same run.
fn dfp_queue(jobs: &[Job]) -> Ran {
    let (tasks, resources) = ([DfpQueueTask::EMPTY; TASKS], [DfpQueueResource::EMPTY; RESOURCES]);
    let (deadlines, floors) = (deadlines(jobs), floors(jobs));
    let list = LinkedList::new([Node::EMPTY; TASKS]);
    let list = DfpQueue::new(list, tasks, &deadlines, resources, &floors);
    let heap = DfpQueue::new(heap(), tasks, &deadlines, resources, &floors);
    let ran = run(&mut list.expect("fits"), jobs, true);
    assert_eq!(run(&mut heap.expect("fits"), jobs, true), ran, "{jobs:?}");
    ran
}

/// A job that uses R1, and inside it R2.
fn nested(first: usize, second: usize) -> Vec<units::Step> {
    [vec![Lock(0)], vec![Run; first], inside(1, second), vec![Run, Unlock(0)]].concat()
}

/// The one list is wrong for nested locks: when B releases R2 at 10 it still holds R1, and A, which the ceiling of R1
/// should keep out, is inserted before it.
#[test]
fn one_list_breaks_on_nested_locks() {
    let jobs = [job(8, 2, &nested(1, 1)), job(5, 11, &nested(3, 2))];
    let list = srp_list(&jobs);
    assert_eq!(list.broken, Some((10, 0)), "A asks for R1 at 10, and B holds it");
    assert_eq!(list.schedule, ". . . . . B* B* B* B* B*");
    assert_eq!(srp(&jobs).schedule, ". . . . . B* B* B* B* B* B* A* A* A*");
}

/// The same jobs in the simulator, to which this crate brings the rule.
#[test]
fn one_list_breaks_in_the_simulator() {
    let us = Duration::from_us;
    let nested = |first, second| {
        let inner = Segment::Section { resource: 1, inside: vec![Segment::Normal(us(second))] };
        let inside = vec![Segment::Normal(us(first)), inner, Segment::Normal(us(1))];
        Body::Segments(vec![Segment::Section { resource: 0, inside }])
    };
    let task = |name: &str, deadline, body| SetTask {
        name: name.into(),
        core: 0,
        priority: 1,
        arrivals: ArrivalPattern::Sporadic,
        period: us(100),
        deadline: us(deadline),
        jitter: Duration::ZERO,
        body,
    };
    let tasks = vec![task("A", 2, nested(1, 1)), task("B", 11, nested(3, 2))];
    let resources = ["R1", "R2"].map(|name| Resource { name: name.into() });
    let set = TaskSet::new(vec![SchedulingPolicy::Edf], resources.into(), tasks).expect("valid");
    let scenario = Scenario { start: Start::At([8, 5].map(us).into()), ..Scenario::worst(us(20)) };
    let globals = [GlobalRule::Msrp; 2];
    let listed = Simulation::under(&set, &globals, |of| rules::srp_list(of.deadlines, of.floors));
    let mut listed = listed.expect("fits");
    let outcome = listed.run(&scenario, &mut ()).expect("fits");
    assert_eq!(outcome.end, RunEnd::Broken { task: 0, resource: 0 });
    assert_eq!(outcome.last.as_ns(), us(10).as_ns());
    let ours = Simulation::under(&set, &globals, |of| rules::srp(of.deadlines, of.floors));
    let mut ours = ours.expect("fits");
    let outcome = ours.run(&scenario, &mut ()).expect("fits");
    assert_eq!(outcome.end, RunEnd::Complete);
    assert!(outcome.tasks.iter().all(|task| task.response_max == us(6)));
}

/// With the running task in the queue: B, which arrived in the tick of A's outer lock and is reported a tick later,
/// has the same deadline as A. A's inner unlock puts A behind B, and B requests what A holds.
#[test]
fn a_floor_in_the_queue_breaks_on_nested_locks_at_equal_deadlines() {
    let a = [vec![Run], nested(2, 1)].concat();
    let mut jobs = [job(0, 20, &a), job(1, 10, &[Lock(0), Run, Lock(1), Run, Unlock(1), Unlock(0)])];
    jobs[1].reported = 2;
    let queue = dfp_queue(&jobs);
    assert_eq!((queue.broken, &*queue.schedule), (Some((4, 1)), "A A* A* A*"));
    assert_eq!(dfp(&jobs).schedule, "A A* A* A* A* B* B*");
}

/// The smallest set whose schedules under SRP and DFP differ, in `taut-policy`'s tests.
#[test]
fn one_list_agrees_on_the_smallest_set() {
    let jobs = [job(0, 4, &inside(0, 2)), job(1, 3, &inside(0, 1)), job(1, 2, &[Run])];
    assert_eq!(srp_list(&jobs), srp(&jobs));
}

/// [Gutierrez13, Appendix A], with B among the users of R1, as the described behaviour requires, and without.
#[test]
fn gutierrez13_appendix_a() {
    let a = [vec![Run], inside(0, 7), vec![Run, Run]].concat();
    for b in [[inside(0, 1), vec![Run]].concat(), vec![Run, Run]] {
        let jobs = [job(0, 20, &a), job(2, 8, &b), job(4, 7, &[Run, Run])];
        assert_eq!(srp_list(&jobs), srp(&jobs));
        assert_eq!(dfp_queue(&jobs), dfp(&jobs));
    }
}

/// Whether no two jobs have the same absolute deadline.
fn deadlines_differ(jobs: &[Job]) -> bool {
    let mut due: Vec<_> = jobs.iter().map(|job| job.arrival + job.deadline).collect();
    due.sort_unstable();
    due.windows(2).all(|pair| pair[0] != pair[1])
}

proptest! {
    // A third of the sets have equal deadlines.
    #![proptest_config(ProptestConfig { max_global_rejects: 1 << 20, ..ProptestConfig::with_cases(400) })]

    /// The one list equals the two structures as long as no sections nest and no deadlines are equal.
    #[test]
    fn one_list_is_right_without_nesting(jobs in sets(false)) {
        prop_assume!(deadlines_differ(&jobs));
        prop_assert_eq!(srp_list(&jobs), srp(&jobs));
    }

    /// With the running task in the queue the schedules are the same as with it outside, under the same conditions.
    #[test]
    fn a_floor_in_the_queue_is_right_without_nesting(jobs in sets(false)) {
        prop_assume!(deadlines_differ(&jobs));
        prop_assert_eq!(dfp_queue(&jobs), dfp(&jobs));
    }
}
