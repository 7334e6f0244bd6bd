// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Small applications, really booted: threads, memory, signals and files are the system's. Without the privilege to
//! be real-time they run degraded, and these tests hold all the same.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::{Duration as Time, Instant};

use app::{Observed, STOP_APP, TURN, each, plan, run, run_of};
use taut_boot::{Applications, Guarantees};
use taut_event::{Counter, Kind};
use taut_run::{
    App, Component, Config, Context, Error, Failure, Job, QueueWriter, Reason, Receiver, StateReader,
    StateWriter, Task,
};
use taut_time::Duration;

const TICK: &str = r#"
[tasks.tick]
arrival = { periodic = "2ms" }
deadline = "2ms"
wcet = { value = "100us", source = "guess" }
core = 0
priority = 50
memory = { release = "4KiB" }
on-overrun = "skip-next"
"#;

#[test]
fn releases_stand_on_an_absolute_clock() {
    // The application's memory lives longer than the closure that sets it up.
    /// The least number that the next job may have: a stall of the machine skips some.
    static JOBS: AtomicU64 = AtomicU64::new(0);
    let outcome = run(TICK, Some(Duration::from_ms(200)), |app| {
        app.task("tick", |_| {
            Ok(each(|job| {
                let least = JOBS.swap(job.number() + 1, Ordering::Relaxed);
                assert!(job.number() >= least, "each number once, in order");
                Ok(())
            }))
        })
    });
    let ending = outcome.ending.as_ref().unwrap();
    assert!(ending.orderly && outcome.reported.started);
    assert_eq!(outcome.reported.stopping, Some(Reason::Elapsed));
    let origin = outcome.of(Kind::Begin)[0].at.as_ns();
    for record in outcome.of(Kind::Release).iter().chain(&outcome.of(Kind::Skip)) {
        assert_eq!(record.at.as_ns(), origin + record.job * 2_000_000, "no drift, whatever came before");
    }
    // A stall of the machine may skip releases; every skip is recorded.
    let reported = outcome.of(Kind::Release).len() + outcome.of(Kind::Skip).len();
    assert_eq!(reported, 100);
    assert_eq!(outcome.of(Kind::Start).len(), outcome.of(Kind::Complete).len());
    let count = |count| outcome.of(Kind::Counted).iter().find(|r| r.job == count as u64).unwrap().value;
    for counted in [Counter::HeapUse, Counter::MinorFaults, Counter::MajorFaults, Counter::Blocked] {
        assert_eq!(count(counted), 0, "{counted:?}");
    }
    assert_eq!(outcome.of(Kind::End).len(), 1);
    assert_eq!(taut_event::Ending::of(&outcome.records), taut_event::Ending::Done);
}

/// Between the start barrier and release 0 the threads of a core run one after the other: each must need little.
#[test]
fn the_first_jobs_of_many_tasks_begin_at_release_0() {
    const TASKS: u16 = 40;
    let mut tables = String::new();
    for task in 0..TASKS {
        let _ = write!(
            tables,
            "[tasks.t{task}]\narrival = {{ periodic = \"500ms\" }}\ndeadline = \"500ms\"\n\
             wcet = {{ value = \"100us\", source = \"guess\" }}\ncore = 0\npriority = {}\n",
            10 + task
        );
    }
    // How long after release 0 the last of the first jobs began, in the best of some runs: a busy machine delays all.
    let latest = || {
        let outcome = run(&tables, Some(Duration::from_ms(100)), |app| {
            (0..TASKS).try_for_each(|task| app.task(&format!("t{task}"), |_| Ok(each(|_| Ok(())))))
        });
        let origin = outcome.of(Kind::Begin)[0].at;
        let starts = outcome.of(Kind::Start);
        assert_eq!(starts.len(), usize::from(TASKS));
        starts.into_iter().map(|start| start.at.as_ns() - origin.as_ns()).max()
    };
    let best = (0..3).filter_map(|_| latest()).min().unwrap();
    assert!(best < 12_000_000, "{best} ns");
}

/// What a job has used is its own processor time, whoever schedules it: a more urgent job preempts it, and its time does not
/// count.
#[test]
fn a_job_learns_what_it_has_used() {
    const TASKS: &str = r#"
[tasks.urgent]
arrival = { periodic = "2ms" }
deadline = "2ms"
wcet = { value = "600us", source = "guess" }
core = 0
priority = 50
[tasks.slow]
arrival = { periodic = "20ms" }
deadline = "20ms"
wcet = { value = "5ms", source = "guess" }
core = 0
priority = 40
"#;
    /// By job of `slow`: what it had used at its end, and how long it ran by the clock (ns).
    static ENDS: [[AtomicU64; 2]; 16] = [const { [const { AtomicU64::new(0) }; 2] }; 16];
    for executor in ["native", "dispatched"] {
        ENDS.iter().flatten().for_each(|end| end.store(0, Ordering::Relaxed));
        let tables = format!("executor = \"{executor}\"\n{TASKS}");
        let outcome = run(&tables, Some(Duration::from_ms(150)), |app| {
            app.task("urgent", |_| {
                Ok(each(|job| {
                    let from = job.now();
                    while job.now().since(from) < Duration::from_us(500) {}
                    Ok(())
                }))
            })?;
            app.task("slow", |_| {
                Ok(each(|job| {
                    let from = job.now();
                    while job.used() < Duration::from_ms(3) {}
                    let [used, took] = &ENDS[job.number() as usize % ENDS.len()];
                    took.store(job.now().since(from).as_ns(), Ordering::Relaxed);
                    used.store(job.used().as_ns(), Ordering::Relaxed);
                    Ok(())
                }))
            })
        });
        assert!(outcome.ending.as_ref().unwrap().orderly, "{executor}");
        let ends = ENDS.each_ref().map(|end| end.each_ref().map(|end| end.load(Ordering::Relaxed)));
        // It runs for 3 ms of its own, in which the urgent job preempts it at least once.
        assert!(ends.iter().any(|[used, took]| *took > used + 300_000), "{executor}: {ends:?}");
        let completions = outcome.of_task(Kind::Complete, 1);
        assert!(completions.len() > 3, "{executor}: {completions:?}");
        for complete in completions {
            let used = ends[complete.job as usize % ends.len()][0];
            // The record adds what the end of the job takes, and lacks a part of its wake-up.
            assert!(complete.value.abs_diff(used) < 200_000, "{executor}: {complete:?}, {ends:?}");
        }
    }
}

/// The policy of the task goes before that of the application, which is to deny. The heap serves the job in any case, and
/// the application goes on.
#[test]
fn a_job_that_uses_the_heap_has_failed_unless_it_is_counted() {
    /// The job that used the heap, plus 1.
    static USER: AtomicU64 = AtomicU64::new(0);
    let of_task = |heap: &str| format!("{TICK}heap = \"{heap}\"\n");
    for executor in ["native", "dispatched"] {
        for (app, task, is_denied) in [
            ("", TICK.to_owned(), true),
            ("heap = \"count\"\n", TICK.to_owned(), false),
            ("", of_task("count"), false),
            ("heap = \"count\"\n", of_task("deny"), true),
        ] {
            let what = format!("{executor} {app} {task}");
            USER.store(0, Ordering::Relaxed);
            let tables = format!("executor = \"{executor}\"\n{task}");
            let outcome = run_of(app, &tables, Some(Duration::from_ms(60)), |app| {
                app.task("tick", |_| {
                    Ok(each(move |job| {
                        if job.number() >= 3 && USER.load(Ordering::Relaxed) == 0 {
                            let number = std::hint::black_box(Box::new(job.number()));
                            USER.store(*number + 1, Ordering::Relaxed);
                        }
                        Ok(())
                    }))
                })
            });
            assert!(outcome.ending.as_ref().unwrap().orderly, "{what}");
            let user = USER.load(Ordering::Relaxed) - 1;
            let counts = outcome.of(Kind::Counted);
            let counted = counts.iter().find(|record| record.job == Counter::HeapUse as u64).unwrap();
            assert_eq!(counted.value, 2, "one allocation and one free: {what}");
            let denied: Vec<_> =
                outcome.of(Kind::HeapUsed).iter().map(|record| (record.job, record.value)).collect();
            assert_eq!(denied, if is_denied { vec![(user, 2)] } else { vec![] }, "{what}");
            let completed = outcome.of(Kind::Complete);
            assert!(completed.iter().any(|record| record.job == user), "it is complete nevertheless: {what}");
            assert!(completed.iter().any(|record| record.job > user), "{what}");
        }
    }
}

/// The main thread is above ordinary threads while it sets release 0, and an ordinary one from then on.
#[test]
fn the_main_thread_is_ordinary_after_release_0() {
    use taut_sys::thread::{ThreadPolicy, current_policy, policy_of, tid};
    for executor in ["native", "dispatched"] {
        let main = tid();
        let seen = &*Box::leak(Box::new(Mutex::new(None)));
        let tables = format!("executor = \"{executor}\"\n{TICK}[tasks.looks]\nclass = \"best-effort\"\n");
        let outcome = run(&tables, Some(Duration::from_ms(50)), |app| {
            app.task("tick", |_| Ok(each(|_| Ok(()))))?;
            app.best_effort("looks", move |_| {
                Ok(move |context: &mut taut_run::Context<'_>| {
                    context.sleep(Duration::from_ms(20));
                    *seen.lock().unwrap() = policy_of(main).ok();
                })
            })
        });
        assert!(outcome.ending.as_ref().unwrap().orderly, "{executor}");
        assert_eq!(*seen.lock().unwrap(), Some(ThreadPolicy::Other), "{executor}");
        assert_eq!(current_policy().unwrap(), ThreadPolicy::Other, "{executor}");
    }
}

/// A periodic task pauses between two jobs: what it uses of the heap then is counted, and fails no job.
#[test]
fn a_pause_that_uses_the_heap_is_counted() {
    struct Pausing;
    impl Component for Pausing {
        fn pause(&mut self) {
            drop(std::hint::black_box(Box::new(1)));
        }
    }
    impl Task for Pausing {
        fn release(&mut self, _: &mut Job<'_>) -> Result<(), Failure> {
            Ok(())
        }
    }
    for executor in ["native", "dispatched"] {
        let tables = format!(
            "executor = \"{executor}\"\n{TICK}service = \"sound\"\n[services.sound]\n[tasks.knob]\n\
             class = \"best-effort\"\n"
        );
        let outcome = run(&tables, Some(Duration::from_ms(100)), |app| {
            app.service("sound", |service| service.task("tick", |_| Ok(Pausing)))?;
            app.best_effort("knob", |_| {
                Ok(|context: &mut taut_run::Context<'_>| {
                    if context.sleep(Duration::from_ms(20)) {
                        context.control().pause("sound").unwrap();
                    }
                })
            })
        });
        assert!(outcome.ending.as_ref().unwrap().orderly, "{executor}");
        let counts = outcome.of_task(Kind::Counted, 0);
        let counted = counts.iter().find(|record| record.job == Counter::HeapUse as u64).unwrap();
        assert_eq!(counted.value, 2, "one allocation and one free: {executor}");
        assert!(outcome.of(Kind::HeapUsed).is_empty(), "{executor}");
    }
}

#[test]
fn an_exceeded_scope_fails_the_job_and_no_other() {
    let outcome = run(TICK, Some(Duration::from_ms(60)), |app| {
        app.task("tick", |_| {
            Ok(each(|job| {
                let bytes = if job.number() % 4 == 1 { 4_097 } else { 4_096 };
                job.scope().slice(bytes, 1u8)?[0] = 2;
                Ok(())
            }))
        })
    });
    let exceeded = outcome.of(Kind::ScopeExceeded);
    assert!(!exceeded.is_empty());
    assert!(exceeded.iter().all(|record| record.job % 4 == 1 && record.value == 4_097));
    let failed: Vec<u64> = exceeded.iter().map(|record| record.job).collect();
    let expected = outcome.of(Kind::Complete).iter().map(|r| r.job).filter(|job| job % 4 == 1).count();
    assert_eq!(failed.len(), expected);
}

#[test]
fn an_overrun_skips_and_is_reported() {
    /// The number of the long job: 5, or a later one if a stall skipped it.
    static LONG: AtomicU64 = AtomicU64::new(0);
    let outcome = run(TICK, Some(Duration::from_ms(60)), |app| {
        app.task("tick", |_| {
            Ok(each(|job| {
                if job.number() >= 5 && LONG.load(Ordering::Relaxed) == 0 {
                    LONG.store(job.number(), Ordering::Relaxed);
                    while job.now().since(job.release()) < Duration::from_ms(5) {}
                }
                Ok(())
            }))
        })
    });
    let long = LONG.load(Ordering::Relaxed);
    assert!(outcome.of(Kind::Overrun).iter().any(|record| record.job == long));
    let skipped: Vec<u64> = outcome.of(Kind::Skip).iter().map(|record| record.job).collect();
    assert!(skipped.contains(&(long + 1)) && skipped.contains(&(long + 2)), "{skipped:?}");
    let miss = outcome.of(Kind::Miss).into_iter().find(|record| record.job == long).unwrap();
    assert!(miss.value >= 5_000_000);
}

const FLOW: &str = r#"
[payloads]
Sample = { type = "u64", len = 4 }
[services.sound]
persistent = "4KiB"
[tasks.source]
service = "sound"
arrival = { periodic = "4ms" }
deadline = "4ms"
wcet = { value = "100us", source = "guess" }
core = 0
priority = 60
[tasks.sink]
arrival = { sporadic = "2ms", trigger = "samples" }
deadline = "2ms"
wcet = { value = "100us", source = "guess" }
core = 0
priority = 50
on-overrun = "run-on"
[tasks.knob]
class = "best-effort"
[channels.samples]
kind = "queue"
from = "source"
to = "sink"
payload = "Sample"
capacity = 4
[channels.gain]
kind = "state"
from = "knob"
to = "source"
payload = "Sample"
[channels.level]
kind = "state"
from = "source"
to = "knob"
payload = "Sample"
"#;

type Sample = [u64; 4];

struct Source<'p> {
    count: &'p mut u64,
    samples: QueueWriter<'p, Sample>,
    gain: StateReader<'p, Sample>,
    level: StateWriter<'p, Sample>,
    changes: &'p Mutex<Vec<&'static str>>,
}

impl Component for Source<'_> {
    fn start(&mut self) {
        self.changes.lock().unwrap().push("start");
    }
    fn pause(&mut self) {
        self.changes.lock().unwrap().push("pause");
    }
    fn resume(&mut self) {
        self.changes.lock().unwrap().push("resume");
    }
    fn stop(&mut self) {
        self.changes.lock().unwrap().push("stop");
    }
    fn finish(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        self.changes.lock().unwrap().push("finish");
        Ok(())
    }
}

impl Task for Source<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        *self.count += 1;
        let gain = self.gain.latest(job).unwrap_or([1; 4]);
        assert!(gain.iter().all(|word| *word == gain[0]), "torn");
        let _ = self.level.publish(job, [*self.count; 4]);
        self.samples.send(job, [*self.count * gain[0]; 4]).map_err(|_| Failure::Code(7))
    }
}

struct Sink(u64);

impl Component for Sink {}

impl Receiver<Sample> for Sink {
    fn receive(&mut self, _job: &mut Job<'_>, sample: Sample) -> Result<(), Failure> {
        assert!(sample.iter().all(|word| *word == sample[0]), "torn");
        self.0 += 1;
        Ok(())
    }
}

#[test]
fn values_flow_and_services_live() {
    let changes = Box::leak(Box::new(Mutex::new(Vec::new())));
    let changes = &*changes;
    let outcome = run(FLOW, None, |app| {
        app.service("sound", |service| {
            let count = service.scope().alloc(0u64)?;
            service.task("source", |create| {
                Ok(Source {
                    count,
                    samples: create.queue_writer("samples")?,
                    gain: create.state_reader("gain")?,
                    level: create.state_writer("level")?,
                    changes,
                })
            })
        })?;
        app.receiver::<Sample, _>("sink", |_| Ok(Sink(0)))?;
        app.best_effort("knob", |create| {
            let mut gain = create.state_writer::<Sample>("gain")?;
            let mut level = create.state_reader::<Sample>("level")?;
            Ok(move |context: &mut taut_run::Context<'_>| {
                let mut step = 0;
                while context.sleep(Duration::from_ms(10)) {
                    // Under load a change may take its time: the next step waits until the task has seen it.
                    let reported = |change| changes.lock().unwrap().contains(&change);
                    if (step == 10 && !reported("pause")) || (step == 20 && !reported("resume")) {
                        continue;
                    }
                    step += 1;
                    gain.publish(context, [step; 4]).unwrap();
                    let seen = level.latest(context);
                    assert!(seen.is_none_or(|level| level.iter().all(|word| *word == level[0])));
                    match step {
                        10 => context.control().pause("sound").unwrap(),
                        20 => context.control().resume("sound").unwrap(),
                        40 => context.control().stop(),
                        _ => {}
                    }
                }
                assert!(context.control().pause("light").is_err());
            })
        })
    });
    assert!(outcome.ending.as_ref().unwrap().orderly);
    assert_eq!(*changes.lock().unwrap(), ["start", "pause", "resume", "stop", "finish"]);
    let sent: Vec<u64> = outcome.of_task(Kind::Send, 0).iter().map(|record| record.value).collect();
    let received: Vec<u64> = outcome.of_task(Kind::Receive, 0).iter().map(|record| record.job).collect();
    assert!(sent.len() > 40, "{}", sent.len());
    assert!(received.len() + 1 >= sent.len() && received.len() <= sent.len());
    assert!(received.iter().zip(1..).all(|(got, expected)| *got == expected), "all, once, in order");
    assert!(outcome.of_task(Kind::Skip, 0).len() >= 20, "releases of a paused service are skipped");
    let states: Vec<u64> = outcome.of(Kind::Service).iter().map(|record| record.value).collect();
    assert_eq!(states, [2, 1]);
    // The sink's releases are at least two milliseconds apart, whatever the source does.
    let releases: Vec<u64> = outcome.of_task(Kind::Release, 1).iter().map(|r| r.at.as_ns()).collect();
    assert!(releases.windows(2).all(|pair| pair[1] - pair[0] >= 2_000_000));
    assert!(outcome.of_task(Kind::Receive, 1).len() > 10, "the newest gain is read");
}

/// Sets the application up with one mistake at a time.
#[test]
fn mistakes_are_refused_before_release_0() {
    struct Nobody;
    impl Component for Nobody {}
    impl Task for Nobody {
        fn release(&mut self, _: &mut Job<'_>) -> Result<(), Failure> {
            Ok(())
        }
    }
    type Setup = Box<dyn for<'a, 'p> FnOnce(&'a mut App<'p>) -> Result<(), Error>>;
    let source = |create: fn(&mut taut_run::Create<'_, '_>) -> Result<(), Error>| -> Setup {
        Box::new(move |app| {
            app.service("sound", |service| service.task("source", |c| create(c).map(|()| Nobody)))
        })
    };
    let cases: Vec<(Setup, &str)> = vec![
        (Box::new(|_| Ok(())), "task `source` is in the manifest, but the code does not use it"),
        (Box::new(|app| app.task("sauce", |_| Ok(Nobody))), "the manifest has no task `sauce`"),
        (
            Box::new(|app| {
                app.service("sound", |service| {
                    service.task("source", |create| create.queue_writer::<Sample>("samples").map(|_| Nobody))
                })?;
                app.best_effort("knob", |_| Ok(|_: &mut Context<'_>| {}))?;
                // A task may take the values of its trigger by itself, and must.
                app.task("sink", |_| Ok(Nobody))
            }),
            "the end of channel `samples` that belongs to `sink`",
        ),
        (Box::new(|app| app.task("source", |_| Ok(Nobody))), "belongs to service `sound`"),
        (Box::new(|app| app.service("light", |_| Ok(()))), "the manifest has no service `light`"),
        (source(|_| Ok(())), "task `sink` is in the manifest"),
        (source(|c| c.queue_writer::<Sample>("gain").map(drop)), "the manifest has no queue `gain`"),
        (source(|c| c.queue_reader::<Sample>("samples").map(drop)), "belongs to `sink` in the manifest"),
        (source(|c| c.queue_writer::<[u32; 8]>("samples").map(drop)), "manifest: u64*4\n  code:     u32*8"),
        (
            source(|c| {
                c.queue_writer::<Sample>("samples")?;
                c.queue_writer::<Sample>("samples").map(drop)
            }),
            "requested twice",
        ),
    ];
    for (setup, expected) in cases {
        let outcome = run(FLOW, Some(Duration::from_ms(20)), setup);
        let error = outcome.ending.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\nexpected: {expected}");
        assert!(!outcome.reported.started);
    }
}

#[test]
fn a_stale_or_unproven_plan_is_refused() {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = tempfile::tempdir().unwrap();
    let (mut plan, manifest) = plan(TICK);
    let lock: PathBuf = folder.path().join("taut.lock");
    let boot = |expected: &str| {
        let config = Config {
            lock: lock.clone(),
            out: None,
            duration: None,
            spawned_ns: None,
            record_limit: None,
            applications: None,
        };
        let error = taut_run::run(&config, &mut Observed::default(), |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    boot("cannot read");
    std::fs::write(&lock, "lock = 99").unwrap();
    boot("format 99");
    std::fs::write(&lock, plan.to_lock().unwrap()).unwrap();
    std::fs::write(folder.path().join("taut.toml"), format!("{manifest}\n# changed")).unwrap();
    boot("TAUT0601");
    std::fs::write(folder.path().join("taut.toml"), manifest).unwrap();
    plan.proven = false;
    std::fs::write(&lock, plan.to_lock().unwrap()).unwrap();
    boot("does not keep every deadline");
}

/// An application is admitted before anything else, holds its CPUs while it runs, and gives them back.
#[test]
fn an_application_is_admitted_first_and_gives_its_cpus_back() {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = tempfile::tempdir().unwrap();
    let applications = Applications::at(folder.path().join("applications"));
    let (plan, manifest) = plan(TICK);
    std::fs::write(folder.path().join("taut.toml"), manifest).unwrap();
    let lock: PathBuf = folder.path().join("taut.lock");
    std::fs::write(&lock, plan.to_lock().unwrap()).unwrap();
    let config = Config {
        lock,
        out: None,
        duration: Some(Duration::from_ms(20)),
        spawned_ns: None,
        record_limit: None,
        applications: Some(applications.clone()),
    };
    let run = |seen: &Mutex<Vec<String>>| {
        taut_run::run(&config, &mut Observed::default(), |app| {
            let running = applications.running().unwrap();
            *seen.lock().unwrap() = running.iter().map(|one| one.app.clone()).collect();
            app.task("tick", |_| Ok(each(|_| Ok(()))))
        })
    };
    let seen = Mutex::new(Vec::new());
    let mut other = plan.clone();
    "other".clone_into(&mut other.app);
    let other = applications.admit(&other, &Guarantees::default()).unwrap();
    match run(&seen) {
        Err(Error::NotAdmitted(error)) => {
            assert!(error.to_string().contains("CPU 0: `other` (process "), "{error}");
            assert!(seen.lock().unwrap().is_empty(), "the application's code did not run");
        }
        Ok(_) => println!("skipped: this user may not create real-time threads, which take CPUs"),
        Err(error) => panic!("{error}"),
    }
    drop(other);
    assert!(run(&seen).unwrap().orderly);
    assert_eq!(*seen.lock().unwrap(), ["test"]);
    assert_eq!(applications.running().unwrap(), []);
    // Without the folder nobody knows of others: that is reported, and the application runs.
    std::fs::remove_dir_all(applications.folder()).unwrap();
    std::fs::write(applications.folder(), "").unwrap();
    let mut observed = Observed::default();
    let ended = taut_run::run(&config, &mut observed, |app| app.task("tick", |_| Ok(each(|_| Ok(())))));
    assert!(ended.unwrap().orderly);
    let lost =
        observed.lost.iter().filter(|lost| lost.starts_with("Exclusive lost: applications cannot register"));
    assert_eq!(lost.count(), 1, "{:?}", observed.lost);
}

#[test]
fn a_panic_ends_an_application_that_it_must_stop() {
    for last in [3, 400] {
        let outcome = run_of(STOP_APP, TICK, None, |app| {
            app.task("tick", |_| {
                Ok(each(move |job| {
                    assert!(job.number() < last, "on purpose");
                    Ok(())
                }))
            })
        });
        assert_eq!(taut_event::Ending::of(&outcome.records), taut_event::Ending::Panic(0));
        let ending = outcome.ending.unwrap();
        assert_eq!((ending.reason, ending.orderly), (Reason::Panic(0), false));
        assert_eq!(outcome.reported.unfinished, ["tick: it panicked"]);
    }
}

/// Panics before release 0.
struct Early;

impl Component for Early {
    fn start(&mut self) {
        panic!("on purpose");
    }
}

impl Task for Early {
    fn release(&mut self, _: &mut Job<'_>) -> Result<(), Failure> {
        Ok(())
    }
}

#[test]
fn a_panic_before_release_0_is_an_error() {
    let outcome = run(TICK, None, |app| app.task("tick", |_| Ok(Early)));
    assert!(outcome.ending.unwrap_err().to_string().contains("ended before release 0"));
    assert!(!outcome.reported.started);
}

#[test]
fn a_core_that_is_not_there_is_a_lost_guarantee() {
    let tables = TICK.replace("core = 0", "core = 1000");
    let outcome = run(&tables, Some(Duration::from_ms(20)), |app| app.task("tick", |_| Ok(each(|_| Ok(())))));
    assert!(outcome.ending.unwrap().orderly);
    assert!(
        outcome.reported.lost.iter().any(|lost| lost.contains("has no CPU 1000")),
        "{:?}",
        outcome.reported.lost
    );
}

#[test]
fn a_long_period_does_not_delay_the_end() {
    let tables = TICK.replace("\"2ms\"", "\"1000s\"");
    let before = std::time::Instant::now();
    let outcome = run(&tables, Some(Duration::from_ms(50)), |app| app.task("tick", |_| Ok(each(|_| Ok(())))));
    assert!(outcome.ending.unwrap().orderly);
    assert!(before.elapsed().as_secs() < 20);
}

/// A real-time thread that an outsider moves is recorded, whether its policy or its affinity changed.
#[test]
fn a_thread_that_is_moved_from_outside_is_recorded() {
    /// Linux's id of the task's thread.
    static TICK_IS: AtomicI32 = AtomicI32::new(0);
    let changes: [(_, &[&str], _); 2] =
        [("chrt", &["-o", "-p", "0"], 0), ("taskset", &["-p", "ffff"], 1 | 50 << 8 | 1 << 16)];
    for (program, arguments, seen) in changes {
        TICK_IS.store(0, Ordering::Release);
        let outcome = std::thread::scope(|threads| {
            threads.spawn(|| {
                let give_up = Instant::now() + Time::from_secs(5);
                while TICK_IS.load(Ordering::Acquire) == 0 && Instant::now() < give_up {
                    std::thread::sleep(Time::from_millis(1));
                }
                let tid = TICK_IS.load(Ordering::Acquire).to_string();
                let mut command = std::process::Command::new(program);
                let done = command.args(arguments).arg(tid).output().unwrap();
                assert!(done.status.success(), "{done:?}");
            });
            run(TICK, Some(Duration::from_ms(700)), |app| {
                app.task("tick", |_| {
                    Ok(each(|job| {
                        if job.number() == 20 {
                            TICK_IS.store(taut_sys::thread::tid(), Ordering::Release);
                        }
                        Ok(())
                    }))
                })
            })
        });
        if !outcome.reported.lost.is_empty() {
            println!("skipped: {:?}", outcome.reported.lost);
            return;
        }
        let moved = outcome.of(Kind::Moved);
        let [moved] = moved[..] else { panic!("{program}: {moved:?}") };
        assert_eq!((moved.subject, moved.value), (0, seen), "{program}");
        assert!(outcome.of(Kind::ProbeMoved).is_empty());
    }
    // If nobody moves a thread, nothing is recorded.
    let outcome = run(TICK, Some(Duration::from_ms(500)), |app| app.task("tick", |_| Ok(each(|_| Ok(())))));
    assert!(outcome.of(Kind::Moved).is_empty() && outcome.of(Kind::ProbeMoved).is_empty());
}
