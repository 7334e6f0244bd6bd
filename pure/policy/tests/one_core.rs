// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Schedules of one core, unit by unit, with every invariant asserted after each step.

mod units;

use proptest::prelude::*;
use taut_policy::{Dfp, LocalAnswer, LocalResource, Locking, Scheduler, Slot};
use taut_time::{Duration, Instant};
use units::{
    Lock, RESOURCES, Run, TASKS, Unlock, deadlines, dfp, dfp_next, dfp_with, heap, immediate, inside, job,
    ns, original, sets, srp,
};

/// The smallest set whose schedules under SRP and DFP differ: C does not use the resource and its deadline is shorter
/// than the floor, so SRP never delays it; DFP does, as C's deadline is not earlier than the holder's after the lock.
#[test]
fn smallest_set_on_which_srp_and_dfp_differ() {
    let jobs = [job(0, 4, &inside(0, 2)), job(1, 3, &inside(0, 1)), job(1, 2, &[Run])];
    assert_eq!(srp(&jobs).schedule, "A* C A* B*");
    assert_eq!(dfp(&jobs).schedule, "A* A* C B*");
    assert_eq!(srp(&jobs).missed, dfp(&jobs).missed);
}

/// B was nominally released before A locked, and the release is recognised after it: without J, B's deadline is
/// earlier than the floor, and B runs beside the holder.
#[test]
fn release_jitter_breaks_a_floor_without_it() {
    let mut jobs = [job(0, 20, &[Run, Lock(0), Run, Run, Unlock(0)]), job(0, 10, &inside(0, 1))];
    jobs[1].reported = 2;
    assert_eq!(dfp_with(&jobs, 0).broken, Some((2, 1)));
    let with = dfp_with(&jobs, 2);
    assert_eq!((with.broken, &*with.schedule), (None, "A A* A* B*"));
    assert_eq!(dfp_next(&jobs), with, "the next release is B's own, until it is told");
    assert_eq!(srp(&jobs).schedule, "A A* A* B*", "SRP looks at levels, which do not depend on it");
}

/// B arrives in the very tick of the lock, so its deadline equals the floor: the holder continues, whether the
/// release is reported before or after the lock.
#[test]
fn arrival_in_the_tick_of_the_lock_waits() {
    let jobs = [job(0, 20, &inside(0, 3)), job(0, 10, &[])];
    let (slots, resources) = ([Slot::EMPTY; TASKS], [LocalResource::EMPTY; RESOURCES]);
    let floors = [ns(10)];
    let mut rule =
        Dfp::new(heap(), slots, &deadlines(&jobs), resources, &floors, Duration::ZERO).expect("fits");
    let now = Instant::from_ns(5);
    rule.release(0, Instant::from_ns(0)).expect("idle");
    assert_eq!(rule.decide(), Some(0));
    assert_eq!(rule.lock(now, 0), Ok(LocalAnswer::Granted));
    rule.release(1, now).expect("idle");
    assert_eq!(rule.decide(), Some(0), "15 is not before 15");
    assert_eq!(rule.check_state(), Ok(()));
    assert_eq!(rule.unlock(0), Ok(()));
    assert_eq!(rule.decide(), Some(1));
}

/// A preempted holder whose floor equals the deadline of a later arrival continues before it.
#[test]
fn a_preempted_holder_goes_before_its_equals() {
    // A's deadline is 8 while it holds, C's is 4, D's 8, B's 10.
    let jobs =
        [job(0, 20, &inside(0, 3)), job(2, 8, &inside(0, 1)), job(1, 3, &[Run, Run]), job(2, 6, &[Run])];
    assert_eq!(dfp(&jobs).schedule, "A* C C A* A* D B*");
}

/// [Gutierrez13, Appendix A], with B among the users of R1, as the described behaviour requires.
#[test]
fn gutierrez13_appendix_a() {
    let a = [vec![Run], inside(0, 7), vec![Run, Run]].concat();
    let b = [inside(0, 1), vec![Run]].concat();
    let jobs = [job(0, 20, &a), job(2, 8, &b), job(4, 7, &[Run, Run])];
    let expected = "A A* A* A* A* A* A* A* B* B C C A A";
    for ran in [srp(&jobs), dfp(&jobs)] {
        assert_eq!((ran.broken, &*ran.schedule), (None, expected));
    }
}

/// With only A among the users, as in the text of [Gutierrez13, Appendix A], the ceiling is A's own and B preempts.
#[test]
fn gutierrez13_appendix_a_as_worded() {
    let a = [vec![Run], inside(0, 7), vec![Run, Run]].concat();
    let jobs = [job(0, 20, &a), job(2, 8, &[Run, Run]), job(4, 7, &[Run, Run])];
    for ran in [srp(&jobs), dfp(&jobs)] {
        assert_eq!(ran.schedule, "A A* B B C C A* A* A* A* A* A* A A");
    }
}

/// [Sha90]: under the original protocol a middle task that uses nothing runs beside a holder for which no task waits;
/// under the immediate one it waits. Both end at the same time.
#[test]
fn ceilings_original_and_immediate() {
    let low = [vec![Run], inside(0, 3), vec![Run]].concat();
    let high = [vec![Run], inside(0, 1)].concat();
    let jobs = [job(0, 30, &low), job(2, 20, &[Run, Run]), job(3, 10, &high)];
    assert_eq!(original(&jobs).schedule, "A A* B C A* A* C* B A");
    assert_eq!(immediate(&jobs).schedule, "A A* A* A* C C* B B A");
}

/// Two tasks that nest the same resources in opposite orders do not deadlock.
#[test]
fn crossed_nesting_does_not_deadlock() {
    let cross =
        |first, second| vec![Run, Lock(first), Run, Lock(second), Run, Unlock(second), Run, Unlock(first)];
    let jobs = [job(0, 30, &cross(0, 1)), job(2, 20, &cross(1, 0))];
    assert_eq!(original(&jobs).schedule, "A A* B A* A* B* B* B*");
    assert_eq!(immediate(&jobs).schedule, "A A* A* A* B B* B* B*");
    assert_eq!(srp(&jobs).schedule, "A A* A* A* B B* B* B*");
}

proptest! {
    // A third of the sets have equal deadlines, which some properties skip.
    #![proptest_config(ProptestConfig { max_global_rejects: 1 << 20, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn no_rule_breaks_and_all_jobs_end(jobs in sets(true)) {
        for ran in [srp(&jobs), dfp(&jobs), immediate(&jobs), original(&jobs)] {
            prop_assert_eq!(ran.broken, None);
        }
    }

    /// With two tasks the schedules of SRP and DFP never differ.
    #[test]
    fn two_tasks_are_scheduled_alike(jobs in sets(false)) {
        let jobs = &jobs[..2];
        prop_assume!(jobs[0].arrival + jobs[0].deadline != jobs[1].arrival + jobs[1].deadline);
        prop_assert_eq!(srp(jobs).schedule, dfp(jobs).schedule);
    }

    /// Releases reported at most J late do not break a floor that knows J.
    #[test]
    fn a_floor_with_jitter_holds(jobs in sets(true), late in prop::collection::vec(0_u64..4, TASKS)) {
        let mut jobs = jobs;
        jobs.iter_mut().zip(late).for_each(|(job, late)| job.reported = job.arrival + late);
        prop_assert_eq!(dfp_with(&jobs, 3).broken, None);
        prop_assert_eq!(dfp_next(&jobs).broken, None, "and one from the next release knows none");
    }
}
