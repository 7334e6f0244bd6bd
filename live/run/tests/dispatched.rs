// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Small applications with a dispatcher, really booted, as those of `application.rs`. Without the privilege to be
//! real-time, jobs give way at their next call; these tests hold all the same.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use std::sync::atomic::{AtomicU64, Ordering};

use app::{STOP_APP, each, run, run_of};
use taut_event::{Kind, Record};
use taut_run::{Error, Failure, LockError, Reason};
use taut_time::Duration;

/// Two tasks that share a resource, under EDF.
const SHARED: &str = r#"
[resources.bus]
[tasks.fast]
arrival = { periodic = "2ms" }
deadline = "2ms"
wcet = { value = "100us", source = "guess" }
sections = [{ resource = "bus", longest = "20us" }]
[tasks.slow]
arrival = { periodic = "10ms" }
deadline = "10ms"
wcet = { value = "500us", source = "guess" }
sections = [{ resource = "bus", longest = "200us" }]
[tasks.other]
arrival = { periodic = "5ms", offset = "1ms" }
deadline = "5ms"
wcet = { value = "100us", source = "guess" }
"#;

fn shared(scheduler: &str) -> String {
    SHARED.replacen("[resources.bus]", &format!("scheduler = \"{scheduler}\"\n[resources.bus]"), 1)
}

/// Both halves agree whenever a job looks.
#[derive(Default)]
struct Halves {
    left: u64,
    right: u64,
}

impl Halves {
    fn add(&mut self, value: u64) {
        assert_eq!(self.left, self.right, "somebody was inside");
        self.left += value;
        std::hint::black_box(&mut self.left);
        self.right += value;
    }
}

#[test]
fn a_resource_is_one_jobs_at_a_time() {
    for scheduler in ["fp", "edf"] {
        let outcome = run(&shared(scheduler), Some(Duration::from_ms(200)), |app| {
            app.resource("bus", Halves::default())?;
            for (name, value) in [("fast", 1), ("slow", 1_000)] {
                app.task(name, |create| {
                    let bus = create.resource::<Halves>("bus")?;
                    Ok(each(move |job| Ok(job.lock(&bus, |halves, _| halves.add(value))?)))
                })?;
            }
            app.task("other", |_| Ok(each(|_| Ok(()))))
        });
        assert!(outcome.ending.unwrap().orderly);
        let count = |kind: Kind, task: u16| {
            outcome.records.iter().filter(|record| record.kind == kind && record.subject == task).count()
        };
        assert!(count(Kind::Complete, 0) >= 20 && count(Kind::Complete, 1) >= 5, "{scheduler}");
        for task in 0..2 {
            let jobs = count(Kind::Complete, task);
            assert_eq!((count(Kind::Start, task), count(Kind::Locked, task)), (jobs, jobs), "{scheduler}");
            assert_eq!(count(Kind::Unlock, task), jobs, "{scheduler}");
        }
        assert_eq!(count(Kind::Locked, 2), 0);
        in_order(&outcome.records);
    }
}

/// Within a core, records come in the order of the decisions.
fn in_order(records: &[Record]) {
    let mut holder = None;
    for record in records {
        match record.kind {
            Kind::Locked => assert_eq!(holder.replace(record.subject), None, "{record:?}"),
            Kind::Unlock => assert_eq!(holder.take(), Some(record.subject), "{record:?}"),
            _ => {}
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_before_release_0() {
    let refused = |setup: fn(&mut taut_run::App<'_>) -> Result<(), Error>| {
        let outcome = run(&shared("edf"), Some(Duration::from_ms(20)), setup);
        assert!(!outcome.reported.started);
        outcome.ending.unwrap_err().to_string()
    };
    let reported = refused(|app| app.resource("buss", ()));
    assert_eq!(reported, "the manifest has no resource `buss`");
    let reported = refused(|app| app.resource("bus", ()).and_then(|()| app.resource("bus", ())));
    assert_eq!(reported, "resource `bus` is requested twice; there is only one");
    let reported =
        refused(|app| app.task("fast", |create| create.resource::<()>("bus").map(|_| each(|_| Ok(())))));
    assert_eq!(reported, "resource `bus` is used before it is made; call `app.resource` first");
    let reported = refused(|app| {
        app.resource("bus", ())?;
        app.task("fast", |create| create.resource::<u8>("bus").map(|_| each(|_| Ok(()))))
    });
    assert_eq!(reported, "resource `bus` was made with another type than the requested one");
    let reported = refused(|app| {
        app.resource("bus", ())?;
        app.task("other", |create| create.resource::<()>("bus").map(|_| each(|_| Ok(()))))
    });
    assert_eq!(reported, "resource `bus` is used by `fast`, `slow` in the manifest, not by `other`");
    let reported = refused(|app| {
        for name in ["fast", "slow", "other"] {
            app.task(name, |_| Ok(each(|_| Ok(()))))?;
        }
        Ok(())
    });
    assert_eq!(reported, "resource `bus` is in the manifest, but the code does not use it");
}

#[test]
fn a_lock_that_is_not_listed_is_refused_and_nothing_happens() {
    static REFUSED: AtomicU64 = AtomicU64::new(0);
    let outcome = run(&shared("fp"), Some(Duration::from_ms(100)), |app| {
        app.resource("bus", 0_u64)?;
        let mut smuggled = None;
        for name in ["fast", "slow"] {
            app.task(name, |create| {
                let bus = create.resource::<u64>("bus")?;
                smuggled = Some(bus.clone());
                Ok(each(move |job| {
                    job.lock(&bus, |count, job| {
                        *count += 1;
                        // The same resource, inside of its own section.
                        assert!(matches!(job.lock(&bus, |_, _| ()), Err(LockError::Held { .. })));
                    })?;
                    Ok(())
                }))
            })?;
        }
        let bus = smuggled.unwrap();
        app.task("other", |_| {
            Ok(each(move |job| {
                let refused = job.lock(&bus, |_, _| ());
                assert!(matches!(refused, Err(LockError::NotListed { .. })), "{refused:?}");
                REFUSED.fetch_add(1, Ordering::Relaxed);
                Ok(refused?)
            }))
        })
    });
    assert!(outcome.ending.as_ref().unwrap().orderly);
    assert!(REFUSED.load(Ordering::Relaxed) > 5);
    let failed = outcome.of(Kind::Failed);
    assert_eq!(failed.len() as u64, REFUSED.load(Ordering::Relaxed));
    assert!(outcome.of(Kind::Locked).iter().all(|record| record.subject != 2));
}

#[test]
fn states_under_a_lock() {
    static SEEN: AtomicU64 = AtomicU64::new(0);
    let tables = format!(
        "{SHARED}\n[payloads]\nPose = {{ type = \"u64\", len = 40 }}\n[channels.pose]\nkind = \"state\"\nfrom = \"other\"\n\
         to = [\"fast\", \"slow\"]\npayload = \"Pose\"\nmechanism = \"srp\"\n"
    );
    let outcome = run(&tables, Some(Duration::from_ms(200)), |app| {
        app.resource("bus", ())?;
        app.task("other", |create| {
            let mut pose = create.state_writer::<[u64; 40]>("pose")?;
            Ok(each(move |job| {
                pose.publish(job, [job.number() + 1; 40]).map_err(|_| Failure::Code(1))?;
                Ok(())
            }))
        })?;
        for name in ["fast", "slow"] {
            app.task(name, |create| {
                let _ = create.resource::<()>("bus")?;
                let (mut pose, mut last) = (create.state_reader::<[u64; 40]>("pose")?, 0);
                Ok(each(move |job| {
                    let Some(value) = pose.latest(job) else { return Ok(()) };
                    assert!(value.iter().all(|word| *word == value[0]), "torn: {value:?}");
                    assert!(value[0] >= last, "backwards");
                    last = value[0];
                    SEEN.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                }))
            })?;
        }
        Ok(())
    });
    assert!(outcome.ending.as_ref().unwrap().orderly);
    assert!(SEEN.load(Ordering::Relaxed) > 50);
    assert!(outcome.of(Kind::Failed).is_empty());
    let numbers: Vec<u64> = outcome.of(Kind::Locked).iter().map(|record| record.value).collect();
    assert!(numbers.iter().all(|number| *number == 1), "behind the one resource: {numbers:?}");
}

#[test]
fn a_panic_ends_the_application_in_order() {
    let outcome = run_of(STOP_APP, &shared("edf"), None, |app| {
        app.resource("bus", 0_u64)?;
        app.task("slow", |create| {
            let bus = create.resource::<u64>("bus")?;
            Ok(each(move |job| Ok(job.lock(&bus, |_, job| assert!(job.number() < 2, "as asked for"))?)))
        })?;
        for name in ["fast", "other"] {
            app.task(name, |_| Ok(each(|_| Ok(()))))?;
        }
        Ok(())
    });
    assert_eq!(taut_event::Ending::of(&outcome.records), taut_event::Ending::Panic(1));
    let ending = outcome.ending.unwrap();
    assert_eq!((ending.reason, ending.orderly), (Reason::Panic(1), false));
    assert_eq!(outcome.reported.unfinished, ["slow: it panicked"]);
}

#[test]
fn late_jobs_end_where_they_lock() {
    static KILLED: AtomicU64 = AtomicU64::new(0);
    let tables = SHARED.replacen("deadline = \"2ms\"", "deadline = \"2ms\"\non-overrun = \"kill-job\"", 1);
    let outcome = run(&tables, Some(Duration::from_ms(100)), |app| {
        app.resource("bus", ())?;
        app.task("fast", |_| {
            Ok(each(|job| {
                if job.number() % 8 != 3 {
                    return Ok(());
                }
                // The job ends only by this.
                loop {
                    if let Err(reported) = job.checkpoint() {
                        KILLED.fetch_add(1, Ordering::Relaxed);
                        return Err(reported);
                    }
                }
            }))
        })?;
        for name in ["slow", "other"] {
            app.task(name, |_| Ok(each(|_| Ok(()))))?;
        }
        Ok(())
    });
    assert!(outcome.ending.as_ref().unwrap().orderly);
    assert!(KILLED.load(Ordering::Relaxed) >= 3);
    assert!(outcome.of_task(Kind::Overrun, 0).len() as u64 >= KILLED.load(Ordering::Relaxed));
    assert!(outcome.of_task(Kind::Complete, 0).len() > 20);
}

#[test]
fn a_job_that_uses_up_its_budget_is_out_of_the_way() {
    static SECTIONS: AtomicU64 = AtomicU64::new(0);
    static ENDED: AtomicU64 = AtomicU64::new(0);
    let limit = |policy: &str| {
        let limits = format!("deadline = \"10ms\"\nbudget = \"1ms\"\non-overrun = \"{policy}\"");
        shared("fp").replacen("deadline = \"10ms\"", &limits, 1)
    };
    for policy in ["demote", "kill-job", "run-on"] {
        SECTIONS.store(0, Ordering::Relaxed);
        ENDED.store(0, Ordering::Relaxed);
        let outcome = run(&limit(policy), Some(Duration::from_ms(150)), |app| {
            app.resource("bus", 0_u64)?;
            app.task("slow", |create| {
                let bus = create.resource::<u64>("bus")?;
                Ok(each(move |job| {
                    if job.number() % 4 != 1 {
                        return Ok(());
                    }
                    let until = std::time::Instant::now() + std::time::Duration::from_millis(4);
                    while std::time::Instant::now() < until {
                        if let Err(reported) = job.checkpoint() {
                            ENDED.fetch_add(1, Ordering::Relaxed);
                            return Err(reported);
                        }
                    }
                    SECTIONS.fetch_add(1, Ordering::Relaxed);
                    Ok(job.lock(&bus, |count, _| *count += 1)?)
                }))
            })?;
            for name in ["fast", "other"] {
                app.task(name, |_| Ok(each(|_| Ok(()))))?;
            }
            Ok(())
        });
        assert!(outcome.ending.as_ref().unwrap().orderly, "{policy}");
        let exhausted = outcome.of_task(Kind::Exhausted, 1);
        assert!(!exhausted.is_empty(), "{policy}");
        assert!(exhausted.iter().all(|record| record.value == 1_000_000), "{policy}");
        let (ended, sections) = (ENDED.load(Ordering::Relaxed), SECTIONS.load(Ordering::Relaxed));
        assert!(outcome.of(Kind::Failed).is_empty());
        if policy == "kill-job" {
            assert!(ended > 0 && ended <= (exhausted.len() + outcome.of(Kind::Overrun).len()) as u64);
        } else {
            assert!(ended == 0 && sections > 0, "{policy}: {ended} {sections}");
        }
        // A job whose budget is used up lets the others go first: it does not go on while they may run.
        let (mut below, mut ready) = (None, 0);
        for record in outcome.records.iter().filter(|_| policy == "demote") {
            match (record.kind, record.subject) {
                (Kind::Exhausted, 1) => below = Some(record.job),
                (Kind::Complete, 1) => below = None,
                (Kind::Release, 0 | 2) => ready += 1,
                (Kind::Complete, 0 | 2) => ready -= 1,
                (Kind::Resume, 1) if below == Some(record.job) => assert_eq!(ready, 0, "{record:?}"),
                _ => {}
            }
        }
    }
}

#[test]
fn a_task_in_a_server_runs_within_its_budget() {
    let tables = r#"
[servers.share]
policy = "POLICY"
budget = "2ms"
period = "10ms"
[tasks.control]
arrival = { periodic = "5ms" }
deadline = "5ms"
wcet = { value = "200us", source = "guess" }
[tasks.bulk]
arrival = { periodic = "100ms" }
deadline = "100ms"
wcet = { value = "6ms", source = "guess" }
server = "share"
[tasks.rest]
arrival = { periodic = "20ms" }
deadline = "20ms"
wcet = { value = "4ms", source = "guess" }
"#;
    for policy in ["polling", "deferrable", "sporadic"] {
        let outcome = run(&tables.replace("POLICY", policy), Some(Duration::from_ms(350)), |app| {
            for (name, ms) in [("control", 0), ("bulk", 6), ("rest", 2)] {
                app.task(name, move |_| {
                    Ok(each(move |_| {
                        let until = std::time::Instant::now() + std::time::Duration::from_millis(ms);
                        while std::time::Instant::now() < until {
                            std::hint::spin_loop();
                        }
                        Ok(())
                    }))
                })?;
            }
            Ok(())
        });
        assert!(outcome.ending.as_ref().unwrap().orderly, "{policy}");
        assert!(outcome.of_task(Kind::Complete, 1).len() >= 3, "{policy}");
        assert!(outcome.of_task(Kind::Complete, 0).len() >= 50, "{policy}");
        let turns = outcome.of(Kind::Budget);
        assert!(turns.len() > 5 && turns.iter().all(|turn| turn.subject == 0), "{policy}: {turns:?}");
        // Two whole budgets may follow each other at once, so a turn has at most two.
        assert!(turns.iter().all(|turn| turn.value <= 4_000_000), "{policy}: {turns:?}");
    }
}

/// A task in a server, on a core whose other tasks lock.
#[test]
fn a_server_beside_tasks_that_lock() {
    let tables = r#"
[servers.share]
policy = "POLICY"
budget = "2ms"
period = "10ms"
[resources.bus]
[tasks.control]
arrival = { periodic = "5ms" }
deadline = "5ms"
wcet = { value = "200us", source = "guess" }
sections = [{ resource = "bus", longest = "20us" }]
[tasks.bulk]
arrival = { periodic = "100ms" }
deadline = "100ms"
wcet = { value = "6ms", source = "guess" }
server = "share"
[tasks.rest]
arrival = { periodic = "20ms" }
deadline = "20ms"
wcet = { value = "2ms", source = "guess" }
sections = [{ resource = "bus", longest = "500us" }]
"#;
    for policy in ["polling", "deferrable", "sporadic"] {
        let outcome = run(&tables.replace("POLICY", policy), Some(Duration::from_ms(350)), |app| {
            app.resource("bus", Halves::default())?;
            for (name, value) in [("control", 1), ("rest", 1_000)] {
                app.task(name, |create| {
                    let bus = create.resource::<Halves>("bus")?;
                    Ok(each(move |job| Ok(job.lock(&bus, |halves, _| halves.add(value))?)))
                })?;
            }
            app.task("bulk", |_| {
                Ok(each(|_| {
                    let until = std::time::Instant::now() + std::time::Duration::from_millis(6);
                    while std::time::Instant::now() < until {
                        std::hint::spin_loop();
                    }
                    Ok(())
                }))
            })
        });
        assert!(outcome.ending.as_ref().unwrap().orderly, "{policy}");
        for (task, least) in [(0, 50), (2, 15)] {
            let jobs = outcome.of_task(Kind::Complete, task).len();
            assert!(jobs >= least, "{policy}: {jobs} of task {task}");
            assert_eq!(outcome.of_task(Kind::Unlock, task).len(), jobs, "{policy}");
        }
        assert!(
            outcome.of_task(Kind::Complete, 1).len() >= 3 && outcome.of(Kind::Budget).len() > 5,
            "{policy}"
        );
        in_order(&outcome.records);
    }
}

#[test]
fn a_job_has_the_same_life_on_a_native_and_on_a_dispatched_core() {
    const KINDS: [Kind; 5] = [Kind::Release, Kind::Start, Kind::Complete, Kind::Failed, Kind::ScopeExceeded];
    let lives = ["native", "dispatched"].map(|executor| {
        let tables = format!(
            "executor = \"{executor}\"\n[tasks.works]\narrival = {{ periodic = \"20ms\" }}\ndeadline = \"10ms\"\n\
             wcet = {{ value = \"100us\", source = \"guess\" }}\nmemory = {{ release = \"4KiB\" }}\n"
        );
        let outcome = run(&tables, Some(Duration::from_ms(150)), |app| {
            app.task("works", |_| {
                Ok(each(|job| match job.number() {
                    1 => Err(Failure::Code(7)),
                    2 => Ok(job.scope().slice(4_097, 1u8).map(drop)?),
                    3 => {
                        while job.now() < job.deadline() {}
                        Ok(())
                    }
                    _ => Ok(()),
                }))
            })
        });
        assert!(outcome.ending.as_ref().unwrap().orderly, "{executor}");
        let missed = outcome.of_task(Kind::Miss, 0);
        assert!(missed.iter().any(|record| record.job == 3 && record.value > 10_000_000), "{executor}");
        let of_job = |number: u64| {
            let records = outcome.records.iter().filter(|record| record.subject == 0 && record.job == number);
            let mut kinds: Vec<Kind> =
                records.map(|record| record.kind).filter(|kind| KINDS.contains(kind)).collect();
            kinds.sort_unstable();
            kinds
        };
        (0..5).map(of_job).collect::<Vec<_>>()
    });
    assert_eq!(lives[0], lives[1]);
    let life = [Kind::Release, Kind::Start, Kind::Complete];
    assert_eq!(lives[0][0], life);
    assert_eq!(lives[0][1], [&life[..], &[Kind::Failed]].concat());
    assert_eq!(lives[0][2], [&life[..], &[Kind::ScopeExceeded]].concat());
}

/// Counts the values.
struct Taker;

impl taut_run::Component for Taker {}

static TAKEN: AtomicU64 = AtomicU64::new(0);

impl taut_run::Receiver<u64> for Taker {
    fn receive(&mut self, _: &mut taut_run::Job<'_>, value: u64) -> Result<(), Failure> {
        // Every value, in order.
        assert_eq!(TAKEN.fetch_add(1, Ordering::Relaxed), value);
        Ok(())
    }
}

#[test]
fn a_channel_releases_a_receiver() {
    let tables = r#"
executor = "dispatched"
[payloads]
Count = { type = "u64" }
[tasks.sends]
arrival = { periodic = "2ms" }
deadline = "2ms"
wcet = { value = "100us", source = "guess" }
[tasks.takes]
arrival = { sporadic = "1ms", trigger = "counts" }
deadline = "1ms"
wcet = { value = "100us", source = "guess" }
[channels.counts]
kind = "queue"
from = "sends"
to = "takes"
payload = "Count"
"#;
    let outcome = run(tables, Some(Duration::from_ms(200)), |app| {
        app.task("sends", |create| {
            let mut counts = create.queue_writer::<u64>("counts")?;
            let mut next = 0;
            Ok(each(move |job| {
                counts.send(job, next).map_err(|_| Failure::Code(1))?;
                next += 1;
                Ok(())
            }))
        })?;
        app.receiver::<u64, _>("takes", |_| Ok(Taker))
    });
    assert!(outcome.ending.as_ref().unwrap().orderly);
    let taken = TAKEN.load(Ordering::Relaxed);
    assert!(taken > 50, "{taken}");
    assert!(outcome.of(Kind::Failed).is_empty());
    assert_eq!(outcome.of_task(Kind::Complete, 1).len() as u64, taken);
    // Releases keep the minimum inter-arrival time.
    let releases: Vec<u64> = outcome.of_task(Kind::Release, 1).iter().map(|r| r.at.as_ns()).collect();
    assert!(releases.windows(2).all(|pair| pair[1] - pair[0] >= 1_000_000), "{releases:?}");
}
