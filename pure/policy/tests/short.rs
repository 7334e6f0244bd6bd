// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The short way of a lock is the long one: two of the same rule, told the same, of which one goes the short way wherever
//! there is one.

use proptest::prelude::*;
use taut_policy::{Answer, AnyLocal, Attributes, Light, LocalRule, Locking, Scheduler};
use taut_time::{Duration, Instant};

const TASKS: usize = 5;
const RESOURCES: usize = 4;

/// Of three resources the ceiling is that of all tasks; of the last one it is too low, so that locks are refused as well.
fn rule(rule: LocalRule, deadlines: &[u64]) -> AnyLocal {
    let priorities: Vec<_> = deadlines.iter().map(|deadline| 100 - *deadline as u32).collect();
    let deadlines: Vec<_> = deadlines.iter().map(|deadline| Duration::from_ns(*deadline)).collect();
    let floor = deadlines.iter().copied().min().expect("there are tasks");
    let ceiling = priorities.iter().copied().max().expect("there are tasks");
    let floors = [floor, floor, floor, Duration::from_ns(90)];
    let ceilings = [ceiling, ceiling, ceiling, 1];
    let of =
        Attributes { priorities: &priorities, deadlines: &deadlines, ceilings: &ceilings, floors: &floors };
    AnyLocal::new(rule, of).expect("places for all")
}

type Ran = Result<Vec<Option<usize>>, String>;

/// Who runs after each step, as the long way has it; an error if the short way has it otherwise. `deaf`: who unlocks goes
/// on, whatever is said. `light`: by the shortest way where there is one.
fn both(which: LocalRule, deadlines: &[u64], steps: &[(u8, usize)], light: bool, deaf: bool) -> Ran {
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
                let granted =
                    light && short.lock_light(Light::new(resource as u32)) || short.lock_short(resource);
                goes_on = granted;
                if !granted && (answer != Ok(Answer::Granted) || !short.is_short()) {
                    // The long way tells why.
                    assert_eq!(short.lock(now, resource), answer);
                }
                (answer == Ok(Answer::Granted), granted || !short.is_short() && answer == Ok(Answer::Granted))
            }
            _ if short.is_short() => {
                let light = light && short.unlock_light(Light::new(resource as u32));
                let told = if light { Ok(true) } else { short.unlock_short(resource) };
                goes_on = told == Ok(true) || deaf;
                let expected = long.unlock(resource);
                assert_eq!(told.map(|_| ()), expected);
                (expected.is_ok(), told.is_ok())
            }
            _ => (long.unlock(resource).is_ok(), short.unlock(resource).is_ok()),
        };
        if results.0 != results.1 {
            return Err(format!("step {at}, {what} of {index}: {results:?}"));
        }
        // Without being asked, where it says that it goes on.
        let runs = if goes_on { short.running() } else { short.decide() };
        let expected = long.decide();
        // Who has only noted what it holds is asked as if it had written it.
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

const RULES: [LocalRule; 4] = [LocalRule::Srp, LocalRule::DfpNext, LocalRule::Immediate, LocalRule::Original];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn the_short_way_is_the_long_one(
        deadlines in prop::collection::vec(1_u64..90, TASKS),
        steps in prop::collection::vec((0_u8..9, 0_usize..60), 0..120),
    ) {
        for rule in RULES {
            for light in [false, true] {
                let ran = both(rule, &deadlines, &steps, light, false);
                prop_assert!(ran.is_ok(), "{:?}: {:?}", rule, ran);
            }
        }
    }
}

/// Preempted inside of a section, and of one in it, by one that locks as well: what it was before is restored.
#[test]
fn who_is_preempted_in_a_section_gives_it_back_as_it_was() {
    let steps = [
        (0, 0), // the least urgent one is released,
        (5, 3), // locks what keeps nobody out,
        (0, 4), // and is preempted by one
        (5, 0), // that locks twice
        (5, 1),
        (0, 2), // and keeps out another
        (7, 1),
        (7, 0), // until it has given both back;
        (2, 0), // they complete,
        (2, 0),
        (5, 1), // and the first one locks inside of its section,
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
        for light in [false, true] {
            assert_eq!(both(rule, &deadlines, &steps, light, false), Ok(expected.into()), "{rule:?}");
            let deaf = both(rule, &deadlines, &steps, light, true);
            assert!(deaf.is_err_and(|what| what.starts_with("step 7")), "{rule:?}");
        }
    }
}

/// What is noted in a word is given back by one, unless something has happened; and where somebody holds something, or what
/// is asked for is not there, the shortest way is closed.
#[test]
fn the_shortest_way_is_open_as_long_as_nothing_happens() {
    let [first, second, none] = [0, 1, 9].map(Light::new);
    for which in [LocalRule::Srp, LocalRule::DfpNext, LocalRule::Immediate] {
        let mut rule = rule(which, &[80, 60, 5, 70, 20]);
        let at = Instant::from_ns;
        assert!(!rule.lock_light(first), "nothing runs");
        rule.release(0, at(0)).unwrap();
        rule.decide();
        rule.expect(at(10));
        assert!(!rule.lock_light(none) && !rule.unlock_light(first));
        for resource in [first, second] {
            assert!(rule.lock_light(resource) && !rule.lock_light(first) && !rule.lock_light(second));
            assert_eq!((rule.holder(resource.resource() as usize), rule.holds()), (Some(0), true));
            assert_eq!(rule.check_state(), Ok(()));
            assert!(!rule.unlock_light(none) && rule.unlock_light(resource) && !rule.holds());
        }
        // A release that the ceiling keeps out: who holds it goes on, and not after it has given it back.
        // Floors count from where they did at the lock.
        assert!(rule.lock_light(first));
        rule.expect(at(50));
        rule.release(2, at(10)).unwrap();
        assert_eq!((rule.decide(), rule.unlock_light(first)), (Some(0), false), "{which:?}");
        assert_eq!((rule.unlock_short(0), rule.decide()), (Ok(false), Some(2)), "{which:?}");
        // It is open for that one as well, until it has preempted somebody who holds something.
        assert!(rule.lock_light(second) && rule.unlock_light(second));
        rule.complete().unwrap();
        assert_eq!((rule.decide(), rule.lock_short(3)), (Some(0), true));
        rule.release(2, at(11)).unwrap();
        assert_eq!(rule.decide(), Some(2), "{which:?}");
        assert!(!rule.lock_light(first) && rule.lock_short(0));
        assert_eq!(rule.unlock_short(0), Ok(true));
        rule.complete().unwrap();
        assert_eq!((rule.decide(), rule.unlock_short(3), rule.decide()), (Some(0), Ok(true), Some(0)));
        assert!(rule.lock_light(first) && rule.unlock_light(first), "open again");
    }
    let mut rule = rule(LocalRule::Original, &[80, 60, 5, 70, 20]);
    rule.release(0, Instant::from_ns(0)).unwrap();
    rule.decide();
    assert!(!rule.lock_light(first));
}
