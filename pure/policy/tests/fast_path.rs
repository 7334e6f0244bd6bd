// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The fast path of a lock gives the results of the slow one. Two instances of the same rule receive the same calls;
//! one takes the fast path wherever there is one.

use proptest::prelude::*;
use taut_policy::{AnyLocal, Attributes, LocalAnswer, LocalRule, Locking, Scheduler, Uncontended};
use taut_time::{Duration, Instant};

const TASKS: usize = 5;
const RESOURCES: usize = 4;

/// Three resources have the ceiling of all tasks; the last one's is too low, so that locks are refused as well.
fn rule(rule: LocalRule, deadlines: &[u64]) -> AnyLocal {
    let priorities: Vec<_> = deadlines.iter().map(|deadline| 100 - *deadline as u32).collect();
    let deadlines: Vec<_> = deadlines.iter().map(|deadline| Duration::from_ns(*deadline)).collect();
    let floor = deadlines.iter().copied().min().expect("there are tasks");
    let ceiling = priorities.iter().copied().max().expect("there are tasks");
    let floors = [floor, floor, floor, Duration::from_ns(90)];
    let ceilings = [ceiling, ceiling, ceiling, 1];
    let jitter = Duration::ZERO;
    let of = Attributes {
        priorities: &priorities,
        deadlines: &deadlines,
        ceilings: &ceilings,
        floors: &floors,
        jitter,
    };
    AnyLocal::new(rule, of).expect("places for all")
}

type Ran = Result<Vec<Option<usize>>, String>;

/// The running task after each step, by the slow path; an error if the fast path differs. `deaf`: a task that unlocks
/// continues, whatever the rule says. `uncontended`: uses uncontended sections where possible.
fn both(which: LocalRule, deadlines: &[u64], steps: &[(u8, usize)], uncontended: bool, deaf: bool) -> Ran {
    let (mut long, mut short) = (rule(which, deadlines), rule(which, deadlines));
    let mut chosen = Vec::new();
    for (at, &(what, index)) in steps.iter().enumerate() {
        let now = Instant::from_ns(at as u64);
        let (task, resource) = (index % (TASKS + 1), index % (RESOURCES + 1));
        let mut goes_on = false;
        let results = match what {
            0 | 1 => (long.release(task, now).is_ok(), short.release(task, now).is_ok()),
            2 => (long.complete().is_ok(), short.complete().is_ok()),
            3 => (long.suspend().is_ok(), short.suspend().is_ok()),
            4 => (long.resume(task).is_ok(), short.resume(task).is_ok()),
            5 | 6 => {
                short.expect(now);
                let answer = long.lock(now, resource);
                let granted = uncontended && short.lock_uncontended(Uncontended::new(resource as u32))
                    || short.lock_fast(resource);
                goes_on = granted;
                if !granted && (answer != Ok(LocalAnswer::Granted) || !short.has_fast_path()) {
                    // The slow path says why.
                    assert_eq!(short.lock(now, resource), answer);
                }
                (
                    answer == Ok(LocalAnswer::Granted),
                    granted || !short.has_fast_path() && answer == Ok(LocalAnswer::Granted),
                )
            }
            _ if short.has_fast_path() => {
                let uncontended = uncontended && short.unlock_uncontended(Uncontended::new(resource as u32));
                let reported = if uncontended { Ok(true) } else { short.unlock_fast(resource) };
                goes_on = reported == Ok(true) || deaf;
                let expected = long.unlock(resource);
                assert_eq!(reported.map(|_| ()), expected);
                (expected.is_ok(), reported.is_ok())
            }
            _ => (long.unlock(resource).is_ok(), short.unlock(resource).is_ok()),
        };
        if results.0 != results.1 {
            return Err(format!("step {at}, {what} of {index}: {results:?}"));
        }
        // Without a decision, if the rule says that the task continues.
        let runs = if goes_on { short.running() } else { short.decide() };
        let expected = long.decide();
        // A rule that has only noted what the task holds decides as if it had recorded it.
        if runs != expected || short.clone().decide() != expected {
            return Err(format!("step {at}: {runs:?} and not {expected:?}"));
        }
        let held = |rule: &AnyLocal| [0, 1, 2, 3].map(|resource| rule.holder(resource));
        if long.holds() != short.holds() || held(&long) != held(&short) {
            return Err(format!("step {at}: what it holds"));
        }
        let limit = short.ceiling(resource);
        if limit.is_ok_and(|limit| long.set_ceiling(resource, limit) != short.set_ceiling(resource, limit)) {
            return Err(format!("step {at}: what may be changed"));
        }
        chosen.push(expected);
        for rule in [&long, &short] {
            rule.check_state().map_err(|broken| format!("step {at}: {broken}"))?;
        }
    }
    Ok(chosen)
}

const RULES: [LocalRule; 4] = [LocalRule::Srp, LocalRule::Dfp, LocalRule::Immediate, LocalRule::Original];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn the_short_way_is_the_long_one(
        deadlines in prop::collection::vec(1_u64..90, TASKS),
        steps in prop::collection::vec((0_u8..9, 0_usize..60), 0..120),
    ) {
        for rule in RULES {
            for uncontended in [false, true] {
                let ran = both(rule, &deadlines, &steps, uncontended, false);
                prop_assert!(ran.is_ok(), "{:?}: {:?}", rule, ran);
            }
        }
    }
}

/// A job is preempted in a section, and in one nested in it, by a job that locks as well: the previous state is
/// restored.
#[test]
fn who_is_preempted_in_a_section_gives_it_back_as_it_was() {
    let steps = [
        (0, 0), // the least urgent one is released,
        (5, 3), // locks a resource that keeps no task out,
        (0, 4), // and is preempted by a task
        (5, 0), // that locks twice
        (5, 1),
        (0, 2), // and keeps out another task
        (7, 1),
        (7, 0), // until it has released both;
        (2, 0), // they complete,
        (2, 0),
        (5, 1), // and the first one locks inside its section,
        (0, 4), // keeps out the second,
        (7, 1), // which preempts it here.
        (2, 0),
        (7, 3),
        (2, 0),
    ];
    let [slow, fast, faster] = [Some(0), Some(4), Some(2)];
    for rule in [LocalRule::Srp, LocalRule::Immediate] {
        let deadlines = [80, 60, 5, 70, 20];
        let expected = [
            slow, slow, fast, fast, fast, fast, fast, faster, fast, slow, slow, slow, fast, slow, slow, None,
        ];
        for uncontended in [false, true] {
            assert_eq!(both(rule, &deadlines, &steps, uncontended, false), Ok(expected.into()), "{rule:?}");
            let deaf = both(rule, &deadlines, &steps, uncontended, true);
            assert!(deaf.is_err_and(|what| what.starts_with("step 7")), "{rule:?}");
        }
    }
}

/// An uncontended lock is noted in one word and released by one, unless an event has come; and it is refused where a
/// task holds something, or the resource does not exist.
#[test]
fn the_shortest_way_is_open_as_long_as_nothing_happens() {
    let [first, second, none] = [0, 1, 9].map(Uncontended::new);
    for which in [LocalRule::Srp, LocalRule::Dfp, LocalRule::Immediate] {
        let mut rule = rule(which, &[80, 60, 5, 70, 20]);
        let at = Instant::from_ns;
        assert!(!rule.lock_uncontended(first), "nothing runs");
        rule.release(0, at(0)).unwrap();
        rule.decide();
        rule.expect(at(10));
        assert!(!rule.lock_uncontended(none) && !rule.unlock_uncontended(first));
        for resource in [first, second] {
            assert!(
                rule.lock_uncontended(resource)
                    && !rule.lock_uncontended(first)
                    && !rule.lock_uncontended(second)
            );
            assert_eq!((rule.holder(resource.resource() as usize), rule.holds()), (Some(0), true));
            assert_eq!(rule.check_state(), Ok(()));
            assert!(!rule.unlock_uncontended(none) && rule.unlock_uncontended(resource) && !rule.holds());
        }
        // A release that the ceiling keeps out: the holder continues, but not after it has released the resource.
        // Floors count from where they did at the lock.
        assert!(rule.lock_uncontended(first));
        rule.expect(at(50));
        rule.release(2, at(10)).unwrap();
        assert_eq!((rule.decide(), rule.unlock_uncontended(first)), (Some(0), false), "{which:?}");
        assert_eq!((rule.unlock_fast(0), rule.decide()), (Ok(false), Some(2)), "{which:?}");
        // The fast path is open for that task as well, until it has preempted a task that holds something.
        assert!(rule.lock_uncontended(second) && rule.unlock_uncontended(second));
        rule.complete().unwrap();
        assert_eq!((rule.decide(), rule.lock_fast(3)), (Some(0), true));
        rule.release(2, at(11)).unwrap();
        assert_eq!(rule.decide(), Some(2), "{which:?}");
        assert!(!rule.lock_uncontended(first) && rule.lock_fast(0));
        assert_eq!(rule.unlock_fast(0), Ok(true));
        rule.complete().unwrap();
        assert_eq!((rule.decide(), rule.unlock_fast(3), rule.decide()), (Some(0), Ok(true), Some(0)));
        assert!(rule.lock_uncontended(first) && rule.unlock_uncontended(first), "open again");
    }
    let mut rule = rule(LocalRule::Original, &[80, 60, 5, 70, 20]);
    rule.release(0, Instant::from_ns(0)).unwrap();
    rule.decide();
    assert!(!rule.lock_uncontended(first));
}
