// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What safe code can try against an executor: handles in another set-up, in another core, kept after the end; nested
//! executors; values that threads cannot share. Each attempt is refused, or harmless. Loose enforcement, so that Miri
//! sees each step.
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};

use taut_exec::{GlobalRule, Job, LocalRule, LockError, Release, Setup, SetupError, TaskSetup, Wanted, Work};
use taut_lock::{Line, Memory};
use taut_time::Duration;

fn by_hand(name: &str) -> TaskSetup {
    TaskSetup::new(name, Release::ByHand)
}

/// A resource of another core, also of a set-up whose executor has ended; a resource that the task does not list; and
/// a list with a resource of another core.
#[test]
fn resources_of_others_are_refused() {
    let seen = Mutex::new(Vec::new());
    let reported = &seen;
    let mut old = Setup::new();
    let core = old.core(0, LocalRule::Srp);
    let stale = old.resource(core, Cell::new(1));
    old.run(Wanted::Loose, |_| ()).unwrap();

    let mut setup = Setup::new();
    let (here, there) = (setup.core(0, LocalRule::Srp), setup.core(1, LocalRule::Srp));
    let (own, foreign, unlisted) =
        (setup.resource(here, 1), setup.resource(there, 2), setup.resource(here, 3));
    let uses = by_hand("t").uses(&own);
    let task = setup.task(here, uses, move |job: &mut Job<'_>| {
        let mut seen = reported.lock().unwrap();
        seen.push(job.lock(&own, |value, _| *value));
        seen.push(job.lock(&foreign, |value, _| *value));
        seen.push(job.recover(&foreign, |value, _, _| *value));
        seen.push(job.lock(&stale, |value, _| value.get()));
        seen.push(job.lock(&unlisted, |value, _| *value));
        seen.push(job.recover(&unlisted, |value, _, _| *value));
        // A nested lock by a clone of the handle, which is the same resource.
        let again = own.clone();
        seen.push(job.lock(&own, |_, job| job.lock(&again, |value, _| *value)).unwrap());
        seen.push(job.lock(&own, |_, job| job.reborrow().lock(&again, |value, _| *value)).unwrap());
    });
    setup.run(Wanted::Loose, |exec| exec.release(task).unwrap()).unwrap();
    let seen = seen.into_inner().unwrap();
    let foreign = Err(LockError::Foreign);
    assert_eq!(seen[..4], [Ok(1), foreign, foreign, foreign]);
    let refused = |seen: &Result<i32, LockError>| matches!(seen, Err(LockError::NotListed { .. }));
    assert!(refused(&seen[4]) && refused(&seen[5]), "{seen:?}");
    assert!(seen[6..].iter().all(|seen| matches!(seen, Err(LockError::Held { .. }))), "{seen:?}");
}

#[test]
fn foreign_resources_are_in_no_list() {
    let mut setup = Setup::new();
    let (here, there) = (setup.core(0, LocalRule::Srp), setup.core(1, LocalRule::Srp));
    let foreign = setup.resource(there, 1);
    setup.task(here, by_hand("t").uses(&foreign), |_: &mut Job<'_>| ());
    let refused = setup.run(Wanted::Loose, |_| ()).map(drop);
    assert!(matches!(refused, Err(SetupError::ForeignResource { .. })), "{refused:?}");
}

/// A resource of several cores: locked by a task that is not its user, locked inside a section of itself, and by a
/// handle whose memory belongs to the function that made it.
#[test]
fn resources_of_several_cores_are_refused_to_others() {
    let mut lines = [const { Line::new() }; 9];
    for protocol in [GlobalRule::Msrp, GlobalRule::Mpcp, GlobalRule::FmlpLong] {
        let seen = Mutex::new(Vec::new());
        let reported = &seen;
        let mut setup = Setup::new();
        let core = setup.core(0, LocalRule::Immediate);
        let global = setup.global(protocol, Memory::new(&mut lines), 8, RefCell::new(vec![0])).unwrap();
        let (user, other) = (global.clone(), global.clone());
        let uses = setup.task(core, by_hand("user"), move |job: &mut Job<'_>| {
            let nested = job.lock_global(&user, |value, job| {
                value.borrow_mut().push(1);
                let again = user.clone();
                job.lock_global(&again, |_, _| ()).err().zip(job.recover_global(&again, |_, _, _| ()).err())
            });
            reported.lock().unwrap().push(nested);
        });
        let none = setup.task(core, by_hand("other"), move |job: &mut Job<'_>| {
            let refused = job.lock_global(&other, |_, _| ()).err();
            reported.lock().unwrap().push(Ok(refused.zip(refused)));
        });
        setup.uses_global(uses, &global).unwrap();
        let run = |exec: &taut_exec::Exec<'_>| [uses, none].map(|task| exec.release(task).unwrap());
        setup.run(Wanted::Loose, run).unwrap();
        let reported = seen.into_inner().unwrap();
        assert!(reported.contains(&Ok(Some((LockError::Nested, LockError::Nested)))), "{reported:?}");
        assert!(
            matches!(
                reported.iter().flatten().flatten().find(|(why, _)| *why != LockError::Nested),
                Some((LockError::NotListed { .. }, _))
            ),
            "{reported:?}"
        );
        assert_eq!(global.into_value().unwrap().into_inner(), [0, 1]);
    }
}

/// The value of a lock that owns its memory, taken out of the last handle.
#[test]
fn a_value_leaves_its_lock() {
    let mut setup = Setup::new();
    let core = setup.core(0, LocalRule::Immediate);
    let global = setup.global_recorded_as(GlobalRule::Mpcp, 2, 0, vec![1]).unwrap();
    let kept = global.clone();
    let task = setup.task(core, by_hand("t"), move |job: &mut Job<'_>| {
        job.lock_global(&global, |value, _| value.push(2)).unwrap();
    });
    setup.uses_global(task, &kept).unwrap();
    setup.run(Wanted::Loose, |exec| exec.release(task).unwrap()).unwrap();
    assert_eq!(kept.into_value(), Some(vec![1, 2]));
}

/// A job drops the last handle, and would drop the value with it, inside a section of that value.
#[test]
fn a_section_keeps_its_value() {
    let mut setup = Setup::new();
    let core = setup.core(0, LocalRule::Srp);
    let resource = setup.resource(core, vec![1, 2, 3]);
    let uses = by_hand("t").uses(&resource);
    let mut handle = Some(resource);
    let task = setup.task(core, uses, move |job: &mut Job<'_>| {
        let own = handle.take().unwrap();
        let sum = job.lock(&own, |value, _| {
            assert!(own.clone().into_value().is_none(), "it is not the last");
            value.iter().sum::<i32>()
        });
        assert_eq!((sum, own.into_value()), (Ok(6), Some(vec![1, 2, 3])));
    });
    setup.run(Wanted::Loose, |exec| exec.release(task).unwrap()).unwrap();
}

/// An executor inside a job of another one. The two share no resource.
#[test]
fn an_executor_in_a_job() {
    let count = AtomicU64::new(0);
    let done = &count;
    let mut setup = Setup::new();
    let core = setup.core(0, LocalRule::Srp);
    let resource = setup.resource(core, 0);
    let task = setup.task(core, by_hand("outer").uses(&resource), {
        let resource = resource.clone();
        move |job: &mut Job<'_>| {
            let inner = job.lock(&resource, |value, _| {
                let mut setup = Setup::new();
                let core = setup.core(0, LocalRule::Srp);
                let theirs = resource.clone();
                let task = setup.task(core, by_hand("inner"), move |job: &mut Job<'_>| {
                    assert_eq!(job.lock(&theirs, |value, _| *value += 1), Err(LockError::Foreign));
                    done.fetch_add(1, Ordering::Relaxed);
                });
                *value += 1;
                setup.run(Wanted::Loose, |exec| exec.release(task).unwrap()).map(drop)
            });
            assert!(inner.unwrap().is_ok());
        }
    });
    setup.run(Wanted::Loose, |exec| exec.release(task).unwrap()).unwrap();
    assert_eq!(count.into_inner(), 1);
    assert_eq!(resource.into_value(), Some(1));
}

/// Sections that panic in any order, with the panic caught outside all of them or in between: all held resources are
/// released, and poisoned from the inside out.
#[test]
fn nested_sections_that_panic() {
    let mut setup = Setup::new();
    let core = setup.core(0, LocalRule::Original);
    let [outer, inner] = [0, 1].map(|value| setup.resource(core, value));
    let uses = by_hand("t").uses(&outer).uses(&inner);
    let task = setup.task(core, uses, move |job: &mut Job<'_>| {
        let all = catch_unwind(AssertUnwindSafe(|| {
            job.lock(&outer, |_, job| {
                let within =
                    catch_unwind(AssertUnwindSafe(|| job.lock(&inner, |_, _| resume_unwind(Box::new(())))));
                assert!(within.is_err());
                assert_eq!(job.lock(&inner, |value, _| *value), Err(LockError::Poisoned { by: 0 }));
                assert_eq!(job.recover(&inner, |value, by, _| (*value, by)), Ok((1, Some(0))));
                assert_eq!(job.lock(&inner, |value, _| *value), Ok(1));
                resume_unwind(Box::new(()))
            })
        }));
        assert!(all.is_err());
        assert_eq!(job.lock(&outer, |value, _| *value), Err(LockError::Poisoned { by: 0 }));
        assert_eq!(job.recover(&outer, |value, by, _| (*value, by)), Ok((0, Some(0))));
    });
    setup.run(Wanted::Loose, |exec| exec.release(task).unwrap()).unwrap();
}

/// A work that replaces itself by another one while it runs.
#[test]
fn works_are_dropped_once() {
    struct Counted(Arc<AtomicU64>, Option<Box<Counted>>);
    impl Work for Counted {
        fn run(&mut self, _: &mut Job<'_>) {
            // Replaces its own work while it runs.
            let before = std::mem::replace(self, Counted(Arc::clone(&self.0), None));
            self.1 = Some(Box::new(before));
        }
    }
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let drops = Arc::new(AtomicU64::new(0));
    let mut setup = Setup::new();
    let core = setup.core(0, LocalRule::Srp);
    let task = setup.task(core, by_hand("t"), Counted(Arc::clone(&drops), None));
    setup.run(Wanted::Loose, |exec| exec.release(task).unwrap()).unwrap();
    assert_eq!((drops.load(Ordering::Relaxed), Arc::strong_count(&drops)), (2, 1));
}

/// A work panics when it is asked for admission: the executor ends, and the panic resumes in the caller.
#[test]
fn a_panic_where_a_job_is_admitted() {
    struct Panics;
    impl Work for Panics {
        fn run(&mut self, _: &mut Job<'_>) {}
        fn admit(&mut self, _: u64, _: bool) -> bool {
            resume_unwind(Box::new("admit"))
        }
    }
    let mut setup = Setup::new();
    let core = setup.core(0, LocalRule::Srp);
    let every = Release::Periodic { period: Duration::from_ms(1), offset: Duration::ZERO };
    setup.task(core, TaskSetup::new("t", every).admitted(), Panics);
    let ends = catch_unwind(AssertUnwindSafe(|| {
        setup.run(Wanted::Loose, |exec| {
            let _ = exec.wait(None);
        })
    }));
    assert_eq!(ends.unwrap_err().downcast_ref(), Some(&"admit"));
}

/// A work panics when it is polled, which happens inside the core's state: the process ends with a message, and a
/// `catch_unwind` around the executor does not see the panic.
#[cfg(not(miri))]
#[test]
fn a_panic_where_a_work_is_polled_ends_the_process() {
    use std::os::unix::process::ExitStatusExt;

    const NAME: &str = "a_panic_where_a_work_is_polled_ends_the_process";
    const CHILD: &str = "TAUT_TEST_POLL_PANICS";
    struct Panics;
    impl Work for Panics {
        fn run(&mut self, _: &mut Job<'_>) {}
        fn poll(&mut self, _: u64) -> Option<u64> {
            panic!("on purpose")
        }
    }
    if std::env::var_os(CHILD).is_some() {
        let events = taut_lock::EventCount::new();
        let mut setup = Setup::new();
        let core = setup.core(0, LocalRule::Srp);
        let task = setup.task(core, TaskSetup::new("t", Release::Polled), Panics);
        setup.listen(task, events.listener()).unwrap();
        let ends = catch_unwind(AssertUnwindSafe(|| {
            setup.run(Wanted::Loose, |exec| {
                events.notifier().notify();
                exec.wait(Some(std::time::Duration::from_secs(5)));
            })
        }));
        println!("caught: {}", ends.is_err());
        std::process::exit(0);
    }
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stderr);
    assert_eq!(child.status.signal(), Some(libc::SIGABRT), "{text}");
    assert!(text.contains("on purpose") && text.contains("a panic inside the core's state"), "{text}");
}

/// Jobs of two cores panic at once, with payloads that panic again when dropped: the executor ends, and one of the
/// panics resumes in the caller.
#[test]
fn panics_that_carry_panics() {
    struct Again;
    impl Drop for Again {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let both = Barrier::new(2);
    let mut setup = Setup::new();
    let tasks = [0, 1].map(|cpu| {
        let core = setup.core(cpu, LocalRule::Srp);
        setup.task(core, by_hand("t"), |_: &mut Job<'_>| {
            both.wait();
            resume_unwind(Box::new(Again))
        })
    });
    let ends = catch_unwind(AssertUnwindSafe(|| {
        setup.run(Wanted::Loose, |exec| {
            tasks.iter().for_each(|task| exec.release(*task).unwrap());
            exec.wait(None);
        })
    }));
    let panic = ends.unwrap_err();
    assert!(panic.is::<Again>());
    std::mem::forget(panic);
}
