// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Applications whose cores share resources and states under a lock, really booted, with each protocol that a plan
//! can choose: with the privilege to be real-time if there is one, and without it in a process that gave it up.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use app::{Outcome, STOP_APP, each, plan, run, run_of};
use taut_event::{Kind, Record};
use taut_run::{App, Create, Error, Failure, Job, LockError, Reason, Resource};
use taut_time::Duration;

/// The periods make sections meet. Jobs take longer than their manifest says, and may: these tests check no times.
const TASKS: [(&str, u32, u64); 4] =
    [("left", 0, 2_000), ("slow", 0, 5_100), ("right", 1, 2_100), ("far", 1, 3_700)];

fn tables(scheduler: &str, tables: &str, of_task: &str) -> String {
    let task = |(name, core, period_us): (&str, u32, u64)| {
        format!(
            "[tasks.{name}]\narrival = {{ periodic = \"{period_us}us\" }}\ndeadline = \"{period_us}us\"\n\
             wcet = {{ value = \"50us\", source = \"guess\" }}\ncore = {core}\non-overrun = \"run-on\"\n{of_task}"
        )
    };
    let platform = if scheduler == "edf" { "scheduler = \"edf\"\n" } else { "" };
    let overheads = "[platform.overheads]\nlock = \"1us\"\nkernel-blocking = \"5us\"\nrelease = \"5us\"\n";
    format!("{platform}{overheads}{tables}{}", TASKS.map(task).concat())
}

/// All four tasks use a bus.
fn bus(scheduler: &str, protocol: &str) -> String {
    let resource = format!("[resources.bus]\nprotocol = \"{protocol}\"\n");
    tables(scheduler, &resource, "sections = [{ resource = \"bus\", longest = \"20us\" }]\n")
}

/// `far` writes a state that the others read.
fn pose(mechanism: &str) -> String {
    let channel = format!(
        "[payloads]\nCount = {{ type = \"u64\" }}\nPose = {{ type = \"u64\", len = 500 }}\n[channels.counts]\nkind = \"queue\"\n\
         from = \"slow\"\nto = \"left\"\npayload = \"Count\"\n[channels.pose]\nkind = \"state\"\nfrom = \"far\"\n\
         to = [\"left\", \"slow\", \"right\"]\npayload = \"Pose\"\nmechanism = \"{mechanism}\"\n"
    );
    tables("fp", &channel, "")
}

/// Both halves agree whenever a job looks.
#[derive(Default)]
struct Halves {
    left: u64,
    right: u64,
}

impl Halves {
    fn add(&mut self, job: &Job<'_>) {
        assert_eq!(self.left, self.right, "somebody was inside");
        self.left += 1;
        spend(job, 150);
        self.right += 1;
    }
}

fn spend(job: &Job<'_>, micros: u64) {
    let begun = job.now();
    while job.now().since(begun) < Duration::from_us(micros) {}
}

fn with_bus(app: &mut App<'_>) -> Result<(), Error> {
    app.resource("bus", Halves::default())?;
    for (name, ..) in TASKS {
        app.task(name, |create| {
            let bus = create.resource::<Halves>("bus")?;
            Ok(each(move |job| {
                spend(job, 100);
                job.lock(&bus, |halves, job| halves.add(job))?;
                Ok(())
            }))
        })?;
    }
    Ok(())
}

fn count(records: &[Record], kind: Kind) -> usize {
    records.iter().filter(|record| record.kind == kind).count()
}

/// Asserts by the instants of the records that a resource has one holder at a time. Returns how often it was
/// locked.
fn in_turns(outcome: &Outcome, number: u64) -> usize {
    let mut records: Vec<&Record> = outcome
        .records
        .iter()
        .filter(|record| matches!(record.kind, Kind::Locked | Kind::Granted | Kind::Unlock))
        .filter(|record| record.value == number)
        .collect();
    records.sort_by_key(|record| record.at);
    let mut holder = None;
    for record in &records {
        match record.kind {
            Kind::Unlock => assert_eq!(holder.take(), Some(record.subject), "{record:?}"),
            _ => assert_eq!(holder.replace(record.subject), None, "{record:?}"),
        }
    }
    records.len() / 2
}

/// Runs the application under a protocol, and checks its records. Returns how often a job spun, waited and was granted
/// the resource.
fn sections(scheduler: &str, protocol: &str) -> [usize; 3] {
    let outcome = run(&bus(scheduler, protocol), Some(Duration::from_ms(300)), with_bus);
    assert!(outcome.ending.as_ref().unwrap().orderly, "{protocol}: {:?}", outcome.reported.unfinished);
    let of = |kind| count(&outcome.records, kind);
    assert!(outcome.of(Kind::Failed).is_empty() && outcome.of(Kind::Lost).is_empty());
    assert_eq!(of(Kind::Unlock), of(Kind::Complete), "{protocol}");
    assert!(of(Kind::Complete) > 50, "{protocol}");
    assert_eq!(in_turns(&outcome, 0), of(Kind::Complete), "{protocol}");
    [Kind::Spin, Kind::Suspend, Kind::Granted].map(of)
}

fn protocols(scheduler: &str, protocols: &[&str]) {
    // On a busy machine the two cores may run by turns, and no section meets another: then another run shows it.
    const RUNS: usize = 10;
    for protocol in protocols {
        let runs = std::iter::repeat_with(|| sections(scheduler, protocol)).take(RUNS);
        let met = runs.inspect(|[spun, waited, granted]| match *protocol {
            "msrp" => assert_eq!(waited + granted, 0, "{protocol}"),
            _ => assert!(*spun == 0 && waited == granted, "{protocol}: {spun} {waited} {granted}"),
        });
        assert!(met.into_iter().any(|counts| counts != [0; 3]), "{protocol}: no section met another");
    }
}

#[test]
fn a_resource_of_two_cores_is_one_jobs_at_a_time() {
    protocols("fp", &["msrp", "mpcp", "fmlp-plus"]);
    protocols("edf", &["msrp"]);
}

fn states() {
    static SEEN: AtomicU64 = AtomicU64::new(0);
    for mechanism in ["msrp", "mpcp"] {
        SEEN.store(0, Ordering::Relaxed);
        let outcome = run(&pose(mechanism), Some(Duration::from_ms(300)), |app| {
            app.task("far", |create| {
                let mut pose = create.state_writer::<[u64; 500]>("pose")?;
                Ok(each(move |job| {
                    pose.publish_from(job, &[job.number() + 1; 500]).map_err(|_| Failure::Code(1))
                }))
            })?;
            for name in ["left", "slow", "right"] {
                app.task(name, |create| {
                    ends_of_counts(name, create)?;
                    let (mut pose, mut last) = (create.state_reader::<[u64; 500]>("pose")?, 0);
                    Ok(each(move |job| {
                        let Some(value) = pose.latest_ref(job) else { return Ok(()) };
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
        assert!(outcome.ending.as_ref().unwrap().orderly, "{mechanism}: {:?}", outcome.reported.unfinished);
        assert!(SEEN.load(Ordering::Relaxed) > 50);
        assert!(outcome.of(Kind::Failed).is_empty());
        // The only state under a lock, whatever other channels there are.
        assert!(in_turns(&outcome, 0) > 80, "{mechanism}");
        assert_eq!(in_turns(&outcome, 1), 0);
    }
}

fn ends_of_counts(name: &str, create: &mut Create<'_, '_>) -> Result<(), Error> {
    match name {
        "slow" => create.queue_writer::<u64>("counts").map(drop),
        "left" => create.queue_reader::<u64>("counts").map(drop),
        _ => Ok(()),
    }
}

#[test]
fn states_under_a_lock_of_two_cores() {
    states();
}

/// The test in a process without the privilege; in any other process it does nothing.
#[test]
fn given_up() {
    if std::env::var_os("TAUT_TEST_GIVEN_UP").is_none() {
        return println!("no test: for processes that tests start");
    }
    let outcome = run(&bus("fp", "mpcp"), Some(Duration::from_ms(50)), with_bus);
    assert!(!outcome.reported.lost.is_empty(), "something is missing");
    protocols("fp", &["msrp", "mpcp", "fmlp-plus"]);
    states();
}

#[test]
fn without_privilege_as_well() {
    let given_up = ["--bounding-set=-sys_nice", "--inh-caps=-sys_nice"];
    let may = Command::new("setpriv").args(given_up).arg("true").output();
    if !may.is_ok_and(|output| output.status.success()) {
        // A user who may not give up the privilege has none, so the tests above ran without it.
        return println!("skipped: no `setpriv`, or no privilege to give up");
    }
    let mut command = Command::new("setpriv");
    command.args(given_up).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "given_up", "--nocapture"]).env("TAUT_TEST_GIVEN_UP", "1");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}\n{output:?}");
}

#[test]
fn an_unplanned_use_is_refused_without_effect() {
    static REFUSED: AtomicU64 = AtomicU64::new(0);
    for protocol in ["msrp", "mpcp"] {
        // One task of each core uses the bus, and one of these also a resource of its own.
        let resources = format!("[resources.bus]\nprotocol = \"{protocol}\"\n[resources.own]\n");
        let bus = "{ resource = \"bus\", longest = \"20us\" }";
        let own = "{ resource = \"own\", longest = \"10us\" }";
        let tables = tables("fp", &resources, "")
            .replacen("core = 0\n", &format!("core = 0\nsections = [{bus}, {own}]\n"), 1)
            .replacen("core = 1\n", &format!("core = 1\nsections = [{bus}]\n"), 1);
        REFUSED.store(0, Ordering::Relaxed);
        let outcome = run(&tables, Some(Duration::from_ms(60)), |app| {
            app.resource("bus", 0_u64)?;
            app.resource("own", 0_u64)?;
            let mut smuggled: Option<Resource<u64>> = None;
            app.task("left", |create| {
                let (bus, own) = (create.resource::<u64>("bus")?, create.resource::<u64>("own")?);
                Ok(each(move |job| {
                    let nested = job.lock(&own, |_, job| job.lock(&bus, |_, _| ()))?;
                    assert_eq!(nested, Err(LockError::Nested));
                    let nested = job.lock(&bus, |_, job| job.lock(&own, |_, _| ()))?;
                    assert_eq!(nested, Err(LockError::Nested));
                    REFUSED.fetch_add(1, Ordering::Relaxed);
                    Ok(job.lock(&bus, |count, _| *count += 1)?)
                }))
            })?;
            app.task("right", |create| {
                let bus = create.resource::<u64>("bus")?;
                smuggled = Some(bus.clone());
                Ok(each(move |job| Ok(job.lock(&bus, |count, _| *count += 1)?)))
            })?;
            for name in ["slow", "far"] {
                let bus = smuggled.clone().unwrap();
                app.task(name, |_| {
                    Ok(each(move |job| {
                        let refused = job.lock(&bus, |_, _| ());
                        assert!(matches!(refused, Err(LockError::NotListed { .. })), "{refused:?}");
                        Ok(())
                    }))
                })?;
            }
            Ok(())
        });
        assert!(outcome.ending.as_ref().unwrap().orderly, "{protocol}: {:?}", outcome.reported.unfinished);
        assert!(REFUSED.load(Ordering::Relaxed) > 5);
        assert!(outcome.of(Kind::Locked).iter().all(|record| record.subject % 2 == 0), "left and right");
    }
}

#[test]
fn a_panic_inside_lets_others_go_on_to_the_end() {
    for protocol in ["msrp", "mpcp", "fmlp-plus"] {
        let outcome = run_of(STOP_APP, &bus("fp", protocol), None, |app| {
            app.resource("bus", ())?;
            for (name, ..) in TASKS {
                app.task(name, |create| {
                    let bus = create.resource::<()>("bus")?;
                    Ok(each(move |job| {
                        job.lock(&bus, |(), job| {
                            spend(job, 150);
                            assert!(name != "slow" || job.number() < 4, "as asked for");
                        })?;
                        Ok(())
                    }))
                })?;
            }
            Ok(())
        });
        let ending = outcome.ending.unwrap();
        assert_eq!((ending.reason, ending.orderly), (Reason::Panic(1), false), "{protocol}");
        assert_eq!(outcome.reported.unfinished, ["slow: it panicked"]);
    }
}

/// The planner knows the largest number of users of a lock, and the bytes of a lock.
#[test]
fn the_planned_locks_are_built() {
    assert_eq!(taut_plan::Plan::LOCK_USERS_MAX, taut_lock::PARTIES_LIMIT as usize);
    let of = |protocol: &str| plan(&bus("fp", protocol)).0.memory.runtime.as_bytes();
    let (two, four) = (taut_lock::spin::bytes(2) as u64, taut_lock::queued::bytes(4) as u64);
    assert_eq!(of("mpcp") - of("msrp"), four - two);
    // The same cores with their dispatchers, without anything that they share.
    let without = plan(&("executor = \"dispatched\"\n".to_owned() + &tables("fp", "", ""))).0;
    assert_eq!(of("msrp") - without.memory.runtime.as_bytes(), two);
}
