// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! More tasks than threads. In these tests a core has only as many threads as [`crate::ready::depth`] counts, so
//! every other test here checks that number as well.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration as Time;

use taut_policy::Attribute;
use taut_sys::clock;
use taut_time::Duration;

use super::{Canary, Fault, alone, busy, cpu, postures, processes};
use crate::{ChangeError, Job, LocalRule, Overrun, Release, Setup, SetupError, TaskId, TaskSetup, Wanted};

const TASKS: u64 = 200;
const LEVELS: u64 = 10;

/// The last level is the most urgent one.
fn task(at: u64) -> TaskSetup {
    let level = at % LEVELS;
    let (period, offset) = (Duration::from_ms(100), Duration::from_us(300 * level));
    TaskSetup::new(&format!("t{at}"), Release::Periodic { period, offset })
        .priority(level as u32 + 1)
        .deadline(Duration::from_ms(100 - 5 * level))
}

/// In each level one job is long enough that the next level's jobs are released meanwhile, so that jobs nest. Runs
/// until two jobs per task are complete on average, or for ten seconds. Returns the largest number of jobs that had
/// begun at once.
fn many(rule: LocalRule, wanted: Wanted) -> u64 {
    let (begun, most, done) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let (begun, most, done) = (&begun, &most, &done);
    let mut setup = Setup::new();
    let core = setup.core(cpu(), rule);
    let shared = setup.resource(core, Canary::default());
    let torn = AtomicU64::new(0);
    let torn = &torn;
    for at in 0..TASKS {
        let uses = at % LEVELS % 5 == 2;
        let own = if uses { task(at).uses(&shared) } else { task(at) };
        let shared = shared.clone();
        setup.task(core, own, move |job: &mut Job<'_>| {
            most.fetch_max(begun.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            for _ in 0..if at < LEVELS { 40 } else { 1 } {
                let _ = job.checkpoint();
                if uses && job.lock(&shared, |shared, _| shared.change(at, || busy(20_000))) != Ok(true) {
                    torn.fetch_add(1, Ordering::Relaxed);
                }
                busy(if at < LEVELS { 80_000 } else { 10_000 });
            }
            begun.fetch_sub(1, Ordering::Relaxed);
            done.fetch_add(1, Ordering::Relaxed);
        });
    }
    let (_, outcome) = setup
        .run(wanted, |_| {
            for _ in 0..1_000 {
                std::thread::sleep(Time::from_millis(10));
                if done.load(Ordering::Relaxed) >= 2 * TASKS {
                    break;
                }
            }
        })
        .unwrap();
    assert!(outcome.tasks.iter().all(|task| task.completed > 0), "{rule:?}, {wanted:?}");
    assert_eq!(torn.load(Ordering::Relaxed), 0, "{rule:?}, {wanted:?}");
    most.load(Ordering::Relaxed)
}

#[test]
#[cfg_attr(miri, ignore = "about a minute: `cargo xtask miri` runs it")]
fn two_hundred_tasks_on_ten_levels() {
    let _alone = alone();
    for wanted in postures() {
        for rule in [LocalRule::Immediate, LocalRule::Srp, LocalRule::Dfp] {
            let most = many(rule, wanted);
            println!("{rule:?}, {wanted:?}: {most} had begun at once");
            assert!((1..=LEVELS).contains(&most), "{rule:?}, {wanted:?}: {most}");
        }
    }
}

/// Two levels, and one thread. However late the lower job begins, it releases the upper job, and goes on until the
/// upper job has begun, too.
fn too_few_threads() {
    let began = AtomicBool::new(false);
    let (began, end_ns) = (&began, clock::monotonic_ns() + 10_000_000_000);
    let mut setup = Setup::new();
    setup.fault = Fault::ThreadMissing;
    let core = setup.core(cpu(), LocalRule::Srp);
    let upper = TaskSetup::new("upper", Release::ByHand).deadline(Duration::from_ms(1));
    let upper = setup.task(core, upper, |_: &mut Job<'_>| began.store(true, Ordering::Relaxed));
    let once = Release::Periodic { period: Duration::from_s(100), offset: Duration::ZERO };
    let lower = TaskSetup::new("lower", once).deadline(Duration::from_s(100));
    setup.task(core, lower, move |job: &mut Job<'_>| {
        job.release(upper).unwrap();
        while !began.load(Ordering::Relaxed) && clock::monotonic_ns() < end_ns {
            let _ = job.checkpoint();
            busy(100_000);
        }
    });
    setup.run(Wanted::Loose, |exec| exec.wait(Some(Time::from_secs(5)))).unwrap();
}

/// With one thread too few, the process ends when the last thread is needed.
#[test]
#[cfg_attr(miri, ignore = "starts other processes")]
fn with_a_thread_less_the_process_ends() {
    if processes::is_child() {
        return too_few_threads();
    }
    let name = "tests::depth::with_a_thread_less_the_process_ends";
    let said = processes::ended(&processes::child(name, "").output().unwrap());
    assert!(said.contains("index out of bounds"), "{said}");
}

#[test]
fn a_thread_for_each_level_and_each_task_that_is_not_plain() {
    let nothing = |_: &mut Job<'_>| {};
    let depth = |rule: LocalRule, of: &dyn Fn(TaskSetup) -> TaskSetup, uses: bool| {
        let mut setup = Setup::new();
        let core = setup.core(0, rule);
        let resource = setup.resource(core, ());
        for at in 0..20 {
            let own = of(task(at));
            setup.task(core, if uses { own.uses(&resource) } else { own }, nothing);
        }
        setup.cores[core.0].depth() as u64
    };
    let polled = |mut task: TaskSetup| {
        task.release = Release::Polled;
        task
    };
    for rule in [LocalRule::Immediate, LocalRule::Original, LocalRule::Srp, LocalRule::Dfp] {
        assert_eq!(depth(rule, &|task| task, false), LEVELS);
        assert_eq!(depth(rule, &|task| task.overrun(Overrun::SkipNext), false), LEVELS);
        assert_eq!(depth(rule, &|task| task, true), if rule == LocalRule::Original { 20 } else { LEVELS });
        for other in [
            &polled as &dyn Fn(TaskSetup) -> TaskSetup,
            &|task| task.admitted(),
            &|task| task.budget(Duration::from_ms(1)),
            &|task| task.overrun(Overrun::Demote),
            &|task| task.overrun(Overrun::KillJob),
        ] {
            assert_eq!(depth(rule, other, false), 20, "{rule:?}");
        }
    }
}

/// With 90 levels there are as many as there can be threads.
#[test]
fn a_level_of_its_own_needs_a_thread() {
    let full = |more: u32| {
        let mut setup = Setup::new();
        let core = setup.core(cpu(), LocalRule::Immediate);
        let tasks: Vec<TaskId> = (0..90 + more)
            .map(|at| {
                let later =
                    Release::Periodic { period: Duration::from_ms(1), offset: Duration::from_s(1000) };
                setup.task(core, TaskSetup::new("t", later).priority(1 + at.min(89)), |_: &mut Job<'_>| {})
            })
            .collect();
        (setup, core, tasks)
    };
    let (setup, _, tasks) = full(2);
    let (reported, _) = setup
        .run(Wanted::Loose, |exec| {
            let set = |at: usize, priority| exec.set_level(tasks[at], Attribute::Priority(priority));
            [set(90, 91), set(90, 1), set(0, 200), set(1, 201), set(1, 200), set(90, 91)]
        })
        .unwrap();
    let levels = |task| Err(ChangeError::Levels { task });
    // Tasks 90 and 91 share the level of 89; then 90 shares that of 0. Task 1 has a level of its own, and keeps one.
    assert_eq!(reported, [levels(90), Ok(()), levels(0), Ok(()), Ok(()), levels(90)]);
    let (mut setup, core, _) = full(0);
    let more = TaskSetup::new("more", Release::ByHand);
    setup.task(core, more, |_: &mut Job<'_>| {});
    let refused = setup.run(Wanted::Loose, |_| ()).unwrap_err();
    assert_eq!(refused, SetupError::TooManyTasks { cpu: cpu() });
    assert!(refused.to_string().contains("more than 90 jobs"), "{refused}");
}
