// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Resources that two cores share. Every decision checks each core's worker priorities and rule.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration as Time;

use taut_event::Kind;
use taut_lock::{Line, Memory};
use taut_sys::thread;
use taut_time::Duration;

use super::{Canary, Random, alone, busy, cpu, drained, postures};
use crate::{
    GlobalRule, Job, LocalRule, LockError, RecordingLevel, Release, Setup, SetupError, TaskSetup, Wanted,
};

const PARTIES: u32 = 8;
/// Room for records. Under Miri, making it takes long.
const RECORDS: usize = if cfg!(miri) { 1 << 9 } else { 1 << 16 };
/// The factor by which everything is slower. Under Miri time is virtual, and a few instructions take 5 µs: at the
/// usual rate the jobs would never be done. Sleeping costs nothing there.
const UNIT: u64 = if cfg!(miri) { 5_000 } else { 1 };

fn lines() -> [Line; 9] {
    [const { Line::new() }; 9]
}

/// Tasks on two cores that lock two global resources and a local one each. Checks that the values were whole; returns
/// the kinds of the records.
fn run(protocol: GlobalRule, rule: LocalRule, wanted: Wanted, seed: u64) -> Vec<Kind> {
    let mut random = Random(seed);
    let (torn, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let (mut first, mut second) = (lines(), lines());
    let cpus = thread::affinity().unwrap();
    let mut setup = Setup::new();
    let globals = [&mut first, &mut second]
        .map(|lines| setup.global(protocol, Memory::new(lines), PARTIES, Canary::default()).unwrap());
    let mut drains = Vec::new();
    for cpu in &cpus[..2] {
        let core = setup.core(*cpu, rule);
        let local = setup.resource(core, Canary::default());
        for at in 0..3 {
            let period = Duration::from_us(UNIT * (400 + 300 * random.below(5)));
            let task = TaskSetup::new("t", Release::Periodic { period, offset: Duration::ZERO });
            let task = task.priority(1 + random.below(5) as u32).uses(&local);
            let order = [0, 1].map(|_| random.below(2) as usize);
            let lengths = [0, 1, 2].map(|_| random.below(20_000));
            let (globals_, local) = (globals.clone(), local.clone());
            let (torn, done) = (&torn, &done);
            let task = setup.task(core, task, move |job: &mut Job<'_>| {
                let report = |whole: bool| torn.fetch_add(u64::from(!whole), Ordering::Relaxed);
                let me = u64::from(*cpu) * 8 + at;
                for which in order {
                    busy(lengths[2]);
                    let whole = job.lock_global(&globals_[which], |canary, job| {
                        let inner = job.lock(&local, |_, _| ());
                        assert_eq!(inner, Err(LockError::Nested));
                        canary.change(me, || busy(lengths[which]))
                    });
                    report(whole.unwrap());
                    let whole = job.lock(&local, |canary, job| {
                        assert_eq!(job.lock_global(&globals_[0], |_, _| ()), Err(LockError::Nested));
                        canary.change(me, || busy(2_000))
                    });
                    report(whole.unwrap());
                }
                done.fetch_add(1, Ordering::Relaxed);
            });
            globals.iter().for_each(|global| setup.uses_global(task, global).unwrap());
        }
        drains.push(setup.record(core, RecordingLevel::All, RECORDS));
    }
    let (_, outcome) = setup
        .run(wanted, |exec| {
            exec.wait(Some(Time::from_millis(if cfg!(miri) { UNIT } else { 60 })));
            for _ in 0..1000 {
                if done.load(Ordering::Relaxed) >= if cfg!(miri) { 3 } else { 30 } {
                    break;
                }
                exec.wait(Some(Time::from_millis(if cfg!(miri) { UNIT } else { 10 })));
            }
        })
        .unwrap();
    for task in outcome.tasks {
        assert_eq!(task.completed, task.released, "{task:?}");
    }
    assert_eq!(torn.into_inner(), 0, "sections were not alone");
    drains.iter_mut().flat_map(drained).map(|record| record.kind).collect()
}

#[test]
#[cfg_attr(miri, ignore = "takes more than 400 s")]
fn two_cores_share() {
    let _alone = alone();
    if thread::affinity().unwrap().len() < 2 {
        return println!("skipped: no second processor");
    }
    for wanted in postures() {
        for protocol in [GlobalRule::Msrp, GlobalRule::Mpcp, GlobalRule::FmlpLong] {
            for rule in [LocalRule::Immediate, LocalRule::Srp, LocalRule::Original] {
                // Under Miri each protocol runs once: what Miri looks for is in each run.
                let with = match protocol {
                    GlobalRule::Msrp => LocalRule::Srp,
                    GlobalRule::Mpcp => LocalRule::Immediate,
                    GlobalRule::FmlpLong => LocalRule::Original,
                };
                if cfg!(miri) && rule != with {
                    continue;
                }
                let of = |seeds: std::ops::Range<_>| seeds.flat_map(|seed| run(protocol, rule, wanted, seed));
                let mut kinds: Vec<_> = of(if cfg!(miri) { 1..2 } else { 1..4 }).collect();
                // On a busy machine the two cores may run by turns, and nobody waits: then more runs show it.
                let waits = matches!(protocol, GlobalRule::Mpcp | GlobalRule::FmlpLong) && !cfg!(miri);
                for seed in 4..20 {
                    if !waits || kinds.contains(&Kind::Granted) {
                        break;
                    }
                    kinds.extend(of(seed..seed + 1));
                }
                let count = |kind: Kind| kinds.iter().filter(|other| **other == kind).count();
                let line = [Kind::Locked, Kind::Spin, Kind::Suspend, Kind::Granted].map(count);
                println!("{wanted:?} {protocol:?} {rule:?}: locked, spun, away, back {line:?}");
                assert!(line[0] > 0);
                if protocol == GlobalRule::Msrp {
                    assert_eq!(line[3], 0);
                } else {
                    assert!(line[1] == 0 && (line[3] > 0 || cfg!(miri)), "nobody waited");
                }
            }
        }
    }
}

/// A job that waits asleep lets its core run other jobs. Once it has the resource, it runs before all jobs of its
/// core.
#[test]
fn a_suspended_job_lets_others_run() {
    let _alone = alone();
    let cpus = thread::affinity().unwrap();
    if cpus.len() < 2 {
        return println!("skipped: no second processor");
    }
    for wanted in postures() {
        let (held, others, over) = (AtomicBool::new(false), AtomicU64::new(0), AtomicBool::new(false));
        let mut memory = lines();
        let mut setup = Setup::new();
        let global = setup.global(GlobalRule::Mpcp, Memory::new(&mut memory), PARTIES, ()).unwrap();
        let (here, there) =
            (setup.core(cpus[0], LocalRule::Immediate), setup.core(cpus[1], LocalRule::Immediate));
        let (held, others, over) = (&held, &others, &over);
        let hand = |name: &str, priority| TaskSetup::new(name, Release::ByHand).priority(priority);
        let below = setup.task(here, hand("below", 1), |_: &mut Job<'_>| {
            others.fetch_add(1, Ordering::SeqCst);
        });
        let theirs = global.clone();
        let holder = setup.task(there, hand("holder", 1), move |job: &mut Job<'_>| {
            job.lock_global(&theirs, |(), _| {
                held.store(true, Ordering::SeqCst);
                // Until the job below the waiting one has run.
                while others.load(Ordering::SeqCst) == 0 {
                    std::thread::yield_now();
                }
            })
            .unwrap();
        });
        let ours = global.clone();
        let waiter = setup.task(here, hand("waiter", 2), move |job: &mut Job<'_>| {
            job.release(below).unwrap();
            assert_eq!(others.load(Ordering::SeqCst), 0, "less urgent");
            job.lock_global(&ours, |(), _| assert_eq!(others.load(Ordering::SeqCst), 1)).unwrap();
            over.store(true, Ordering::SeqCst);
        });
        for task in [holder, waiter] {
            setup.uses_global(task, &global).unwrap();
        }
        setup
            .run(wanted, |exec| {
                let until = |flag: &AtomicBool| {
                    while !flag.load(Ordering::SeqCst) {
                        std::thread::sleep(Time::from_millis(1));
                    }
                };
                exec.release(holder).unwrap();
                until(held);
                exec.release(waiter).unwrap();
                until(over);
            })
            .unwrap();
    }
}

/// A job releases another job inside its section. The released job runs when the section ends, within the call that
/// releases the lock, and uses the same party of the lock. One processor is enough.
#[test]
fn a_job_released_inside_a_section_locks_when_it_ends() {
    let _alone = alone();
    for wanted in postures() {
        for protocol in [GlobalRule::Msrp, GlobalRule::Mpcp, GlobalRule::FmlpLong] {
            let (mut memory, over) = (lines(), AtomicU64::new(0));
            let mut setup = Setup::new();
            let global = setup.global(protocol, Memory::new(&mut memory), PARTIES, 0_u64).unwrap();
            let core = setup.core(cpu(), LocalRule::Immediate);
            let hand = |name: &str, priority| TaskSetup::new(name, Release::ByHand).priority(priority);
            let (theirs, ours, over) = (global.clone(), global.clone(), &over);
            let high = setup.task(core, hand("high", 2), move |job: &mut Job<'_>| {
                job.lock_global(&theirs, |value, _| *value = *value * 10 + 2).unwrap();
            });
            let low = setup.task(core, hand("low", 1), move |job: &mut Job<'_>| {
                let section = |value: &mut u64, job: &mut Job<'_>| {
                    job.release(high).unwrap();
                    *value = *value * 10 + 1;
                };
                job.lock_global(&ours, section).unwrap();
                assert_eq!(job.lock_global(&ours, |value, _| *value), Ok(12), "the other one ran in between");
                over.fetch_add(1, Ordering::SeqCst);
            });
            for task in [high, low] {
                setup.uses_global(task, &global).unwrap();
            }
            setup
                .run(wanted, |exec| {
                    exec.release(low).unwrap();
                    while over.load(Ordering::SeqCst) == 0 {
                        std::thread::sleep(Time::from_millis(1));
                    }
                })
                .unwrap();
            assert_eq!(global.into_value(), Some(12));
        }
    }
}

#[test]
fn unusable_global_resources_are_refused() {
    let mut memory = lines();
    let mut setup = Setup::new();
    let global = setup.global(GlobalRule::Mpcp, Memory::new(&mut memory), 1, ()).unwrap();
    let (floors, srp) = (setup.core(0, LocalRule::Dfp), setup.core(1, LocalRule::Srp));
    let mut task = |core, name| setup.task(core, TaskSetup::new(name, Release::ByHand), |_: &mut Job<'_>| {});
    let (a, b, c) = (task(floors, "a"), task(srp, "b"), task(srp, "c"));
    assert_eq!(setup.uses_global(a, &global), Err(SetupError::Suspends { cpu: 0 }));
    assert_eq!(setup.uses_global(b, &global), Ok(()));
    assert_eq!(setup.uses_global(c, &global), Err(SetupError::Users { task: "c".to_owned() }));
    let mut other = Setup::new();
    assert!(matches!(other.uses_global(b, &global), Err(SetupError::ForeignResource { .. })));
}

/// Set-ups of several threads each get another party, or an error if none is left.
#[test]
fn two_setups_are_two_parties() {
    let rounds = if cfg!(miri) { 10 } else { 1_000 };
    for round in 0..rounds {
        let mut memory = lines();
        let protocol = if round % 2 == 0 { GlobalRule::Msrp } else { GlobalRule::Mpcp };
        let global = Setup::new().global(protocol, Memory::new(&mut memory), 1, ()).unwrap();
        let ready = AtomicU64::new(0);
        let added = || {
            let mut setup = Setup::new();
            let core = setup.core(0, LocalRule::Srp);
            let task = setup.task(core, TaskSetup::new("t", Release::ByHand), |_: &mut Job<'_>| {});
            // Both at the same instant, as far as two processors allow.
            ready.fetch_add(1, Ordering::SeqCst);
            while ready.load(Ordering::SeqCst) < 2 {
                std::hint::spin_loop();
            }
            setup.uses_global(task, &global).is_ok()
        };
        let accepted = std::thread::scope(|threads| {
            let other = threads.spawn(added);
            [added(), other.join().unwrap()]
        });
        assert_ne!(accepted[0], accepted[1], "one party, round {round}: who was accepted");
    }
}

/// A panic that unwinds a section, even if the job catches it, leaves a value that no job gets unawares.
#[test]
fn a_panic_inside_a_section_poisons_the_value() {
    let _alone = alone();
    let panics = |pair: &mut (u32, u32)| {
        pair.0 += 1;
        std::panic::resume_unwind(Box::new("on purpose"));
    };
    for wanted in postures() {
        for protocol in [GlobalRule::Msrp, GlobalRule::Mpcp, GlobalRule::FmlpLong] {
            let (mut memory, over) = (lines(), AtomicU64::new(0));
            let mut setup = Setup::new();
            let global = setup.global(protocol, Memory::new(&mut memory), PARTIES, (0, 0)).unwrap();
            let core = setup.core(cpu(), LocalRule::Srp);
            let local = setup.resource(core, (0, 0));
            let hand = |name: &str| TaskSetup::new(name, Release::ByHand).uses(&local);
            let (theirs, ours, over) = (global.clone(), local.clone(), &over);
            let other = setup.task(core, hand("other"), move |job: &mut Job<'_>| {
                let refused = Err(LockError::Poisoned { by: 1 });
                assert_eq!(job.lock(&ours, |pair, _| *pair), refused);
                assert_eq!(job.lock(&ours, |pair, _| *pair), refused, "nobody has repaired it");
                let again = AssertUnwindSafe(|| job.recover(&ours, |pair, _, _| panics(pair)));
                assert!(catch_unwind(again).is_err());
                assert_eq!(
                    job.lock(&ours, |pair, _| *pair),
                    Err(LockError::Poisoned { by: 0 }),
                    "nor has that"
                );
                let whole = |pair: &mut (u32, u32), by: Option<u32>| {
                    pair.1 = pair.0;
                    by
                };
                assert_eq!(job.recover(&ours, |pair, by, _| whole(pair, by)), Ok(Some(0)));
                assert_eq!(job.recover(&ours, |pair, by, _| whole(pair, by)), Ok(None));
                assert_eq!(job.lock(&ours, |pair, _| *pair), Ok((2, 2)));
                // `by` for the global resource is the party, which with `Msrp` is that of the core.
                let by = u32::from(protocol != GlobalRule::Msrp);
                assert_eq!(job.lock_global(&theirs, |pair, _| *pair), Err(LockError::Poisoned { by }));
                assert_eq!(job.recover_global(&theirs, |pair, by, _| whole(pair, by)), Ok(Some(by)));
                assert_eq!(job.recover_global(&theirs, |pair, by, _| whole(pair, by)), Ok(None));
                assert_eq!(job.lock_global(&theirs, |pair, _| *pair), Ok((1, 1)));
                over.fetch_add(1, Ordering::SeqCst);
            });
            let (theirs, ours) = (global.clone(), local.clone());
            let task = setup.task(core, hand("t"), move |job: &mut Job<'_>| {
                let local = AssertUnwindSafe(|| job.lock(&ours, |pair, _| panics(pair)));
                assert!(catch_unwind(local).is_err());
                let global = AssertUnwindSafe(|| job.lock_global(&theirs, |pair, _| panics(pair)));
                assert!(catch_unwind(global).is_err());
                // The job is in no section any more.
                assert!(matches!(job.lock_global(&theirs, |_, _| ()), Err(LockError::Poisoned { .. })));
                job.release(other).unwrap();
            });
            for task in [other, task] {
                setup.uses_global(task, &global).unwrap();
            }
            setup
                .run(wanted, |exec| {
                    exec.release(task).unwrap();
                    while over.load(Ordering::SeqCst) == 0 && exec.wait(Some(Time::from_millis(1))).is_none()
                    {
                    }
                })
                .unwrap();
        }
    }
}
