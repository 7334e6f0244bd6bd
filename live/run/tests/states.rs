// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! States with a real-time writer and real-time readers, really booted, in every mechanism that serves them: a
//! writer, readers at other rates and on another core, an ordinary task and a client's process. Another client
//! writes to both real-time readers. Application and clients are processes of this test binary. The test kills the
//! reading client while it reads and the writing client while it writes; a second writing client takes its place.
//! Without the privilege to be real-time the application runs degraded, and these tests hold all the same.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use app::each;
use app::plain::{Quiet, planned};
use taut_event::file::Run;
use taut_event::{Counter, Kind};
use taut_plan::{Mechanism, MemoryMap, Plan, Way};
use taut_run::{App, Attachment, Config, Error, Failure, RECORDING};
use taut_segment::{Attached, Role};
use taut_time::Duration;

/// The role of this process; not set for the test itself.
const ROLE: &str = "TAUT_TEST_ROLE";
const MECHANISM: &str = "TAUT_TEST_MECHANISM";

/// Large enough to be torn.
type Pose = [u64; 100];

const SENDS: u64 = 5;

/// The second client's orders count from here.
const SECOND: u64 = 1 << 32;

fn manifest(mechanism: &str) -> String {
    let client = if clients_may_read(mechanism) { ", \"ui\"" } else { "" };
    let clients = if client.is_empty() { "" } else { "[clients.ui]\n" };
    // A client does not promise any times.
    let orders = if matches!(mechanism, "improved-chen" | "nbw") { "auto" } else { mechanism };
    let task = |name: &str, period: &str, core: u32, priority: u32| {
        format!(
            "[tasks.{name}]\narrival = {{ periodic = \"{period}\" }}\ndeadline = \"{period}\"\n\
             wcet = {{ value = \"100us\", source = \"guess\" }}\ncore = {core}\npriority = {priority}\non-overrun = \"skip-next\"\n"
        )
    };
    format!(
        "manifest = 1\n[app]\nname = \"states\"\n[platform]\ncores = [0, 1]\nmemory = \"32MiB\"\n\
         on-missing-privilege = \"degrade\"\n[payloads]\nPose = {{ type = \"u64\", len = 100 }}\n{}{}{}\
         [tasks.log]\nclass = \"best-effort\"\n{clients}[channels.pose]\nkind = \"state\"\nfrom = \"tracker\"\n\
         to = [\"control\", \"planner\", \"log\"{client}]\npayload = \"Pose\"\nsends-per-release = {SENDS}\nmechanism = \"{mechanism}\"\n\
         [clients.shell]\n[channels.orders]\nkind = \"state\"\nfrom = \"shell\"\nto = [\"control\", \"planner\"]\n\
         payload = \"Pose\"\nmechanism = \"{orders}\"\n\
         [[chains]]\nname = \"see\"\npath = [\"tracker\", \"pose\", \"control\"]\nmax-latency = \"5ms\"\nmax-reaction = \"7ms\"\n",
        task("tracker", "1ms", 0, 60),
        task("control", "3ms", 1, 50),
        task("planner", "7ms", 0, 50),
    )
}

fn clients_may_read(mechanism: &str) -> bool {
    matches!(mechanism, "auto" | "hybrid" | "improved-chen" | "nbw")
}

fn plan(mechanism: &str) -> (Plan, String) {
    let text = manifest(mechanism);
    (planned(&text), text)
}

/// How many values were written.
static WRITTEN: AtomicU64 = AtomicU64::new(0);
/// Reads of `control`, `planner` and `log` that gave a value.
static READ: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
/// Orders of the first and of the second client that `control` and `planner` have seen.
static ORDERS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// Reads after the first write that gave no value.
static NONE: AtomicU64 = AtomicU64::new(0);

/// Checks one read: whole, not older than the last write before it, and not older than the last read.
fn check(which: usize, written: u64, last: &mut u64, pose: Option<Pose>) {
    let Some(pose) = pose else {
        NONE.fetch_add(u64::from(written > 0), Ordering::Relaxed);
        return;
    };
    assert!(pose.iter().all(|word| *word == pose[0]), "torn: {pose:?}");
    assert!(pose[0] >= written, "{} is older than {written}", pose[0]);
    assert!(pose[0] >= *last, "backwards: {} behind {last}", pose[0]);
    *last = pose[0];
    READ[which].fetch_add(1, Ordering::Relaxed);
}

fn set_up(app: &mut App<'_>) -> Result<(), Error> {
    app.task("tracker", |create| {
        let mut writer = create.state_writer::<Pose>("pose")?;
        Ok(each(move |job| {
            for _ in 0..SENDS {
                let number = WRITTEN.load(Ordering::Relaxed) + 1;
                writer.publish_from(job, &[number; 100]).map_err(|_| Failure::Code(1))?;
                WRITTEN.store(number, Ordering::Release);
            }
            Ok(())
        }))
    })?;
    for (which, name) in ["control", "planner"].into_iter().enumerate() {
        app.task(name, |create| {
            let mut reader = create.state_reader::<Pose>("pose")?;
            let mut orders = create.state_reader::<Pose>("orders")?;
            let (mut last, mut newest) = (0, 0);
            Ok(each(move |job| {
                if let Some(order) = orders.latest_ref(job) {
                    assert!(order.iter().all(|word| *word == order[0]), "torn: {order:?}");
                    assert!(order[0] >= newest, "backwards: {} behind {newest}", order[0]);
                    ORDERS[usize::from(order[0] >= SECOND)]
                        .fetch_add(u64::from(order[0] > newest), Ordering::Relaxed);
                    newest = order[0];
                }
                for _ in 0..20 {
                    let written = WRITTEN.load(Ordering::Acquire);
                    check(which, written, &mut last, reader.latest_ref(job).copied());
                }
                Ok(())
            }))
        })?;
    }
    app.best_effort("log", |create| {
        let mut reader = create.state_reader::<Pose>("pose")?;
        let mut last = 0;
        Ok(move |context: &mut taut_run::Context<'_>| {
            while context.sleep(Duration::from_us(500)) {
                let written = WRITTEN.load(Ordering::Acquire);
                check(2, written, &mut last, reader.latest(context));
                for (which, sign) in ORDERS.iter().zip(["first-order", "second-order"]) {
                    if which.load(Ordering::Relaxed) > 0 {
                        std::fs::write(folder().join(sign), b"").unwrap();
                    }
                }
                if folder().join("done").exists() {
                    context.control().stop();
                }
            }
        })
    })
}

/// The application: runs until the test has seen enough.
fn application(folder: &Path, mechanism: &str) {
    let (plan, text) = plan(mechanism);
    std::fs::write(folder.join("taut.toml"), text).unwrap();
    let lock = folder.join("taut.lock");
    std::fs::write(&lock, plan.to_lock().unwrap()).unwrap();
    let out = folder.join("out");
    let duration = Some(Duration::from_ms(20_000));
    let config = Config {
        lock,
        out: Some(out.clone()),
        duration,
        spawned_ns: None,
        record_limit: None,
        applications: None,
    };
    let ending = taut_run::run(&config, &mut Quiet, set_up).unwrap();
    assert!(ending.orderly);
    let run = Run::from_bytes(&std::fs::read(out.join(RECORDING)).unwrap()).unwrap();
    let heap = run.records.iter().find(|r| r.kind == Kind::Counted && r.job == Counter::HeapUse as u64);
    assert_eq!(heap.unwrap().value, 0, "heap uses of real-time tasks behind release 0");
    let received = run.records.iter().filter(|record| record.kind == Kind::Receive).count();
    assert!(received > 20, "{received}: the first read of a value is traced");
    for (read, least) in READ.iter().zip([400, 200, 20]) {
        assert!(read.load(Ordering::Relaxed) > least, "{READ:?}");
    }
    assert!(ORDERS.iter().all(|seen| seen.load(Ordering::Relaxed) > 0), "{ORDERS:?}");
    // A read gives nothing after a thousand attempts, or if a degraded run does not keep the times of its proof.
    let none = NONE.load(Ordering::Relaxed);
    assert!(none <= 2, "{none} reads gave nothing");
}

/// The client that writes, until the test kills it.
fn shell(folder: &Path, first: u64) {
    let attachment = Attachment::new(attach(folder, "shell"));
    let mut end = attachment.end::<Pose>("orders", Role::Writes).unwrap();
    let mut number = first;
    loop {
        number += 1;
        assert!(end.publish_from(&[number; 100]));
        if number.is_multiple_of(1_000) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

fn attach(folder: &Path, client: &str) -> Attached {
    loop {
        match taut_segment::attach_in(folder, "states", client) {
            Ok(attached) => return attached,
            Err(_) => std::thread::sleep(std::time::Duration::from_millis(1)),
        }
    }
}

/// The client that reads, until the test kills it; it reports when it has seen 20 values.
fn client(folder: &Path) {
    let attachment = Attachment::new(attach(folder, "ui"));
    let mut end = attachment.end::<Pose>("pose", Role::Reads).unwrap();
    let refused = attachment.end::<Pose>("pose", Role::Writes).map(drop);
    assert!(refused.is_err(), "it is told to read");
    let (mut last, mut seen) = ((0, 0), 0);
    loop {
        if let Ok(Some((sequence, pose))) = end.latest_ref() {
            assert!(pose.iter().all(|word| *word == pose[0]), "torn: {pose:?}");
            assert_eq!(sequence, pose[0]);
            assert!((sequence, pose[0]) >= last, "{sequence} behind {last:?}");
            seen += u64::from((sequence, pose[0]) > last);
            last = (sequence, pose[0]);
        }
        if seen == 20 {
            std::fs::write(folder.join("seen"), b"20").unwrap();
        }
    }
}

fn start(role: &str, folder: &Path, mechanism: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "role", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role).env(MECHANISM, mechanism).env("TAUT_RUNTIME_DIR", folder);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.spawn().unwrap()
}

fn folder() -> PathBuf {
    PathBuf::from(std::env::var("TAUT_RUNTIME_DIR").unwrap())
}

/// The test in a process of [`start`]; in any other process it does nothing.
#[test]
fn role() {
    let Ok(role) = std::env::var(ROLE) else { return println!("no test: for processes that tests start") };
    let folder = folder();
    match role.as_str() {
        "application" => application(&folder, &std::env::var(MECHANISM).unwrap()),
        "shell" => shell(&folder, 0),
        "second-shell" => shell(&folder, SECOND),
        _ => client(&folder),
    }
}

#[test]
fn every_mechanism_runs() {
    for mechanism in
        ["auto", "chen", "double-buffer", "presence", "peterson", "hybrid", "improved-chen", "nbw"]
    {
        let folder = tempfile::tempdir().unwrap();
        let mut application = start("application", folder.path(), mechanism);
        // The kill usually comes in the middle of a read or a write.
        let mut kill_behind = |role: &str, sign: &str| {
            let mut client = start(role, folder.path(), mechanism);
            let sign = folder.path().join(sign);
            while !sign.exists() && application.try_wait().unwrap().is_none() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
            client.kill().unwrap();
            client.wait().unwrap();
            assert!(sign.exists(), "{mechanism}: {role} was not served in time");
        };
        kill_behind("shell", "first-order");
        kill_behind("second-shell", "second-order");
        if clients_may_read(mechanism) {
            kill_behind("client", "seen");
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        std::fs::write(folder.path().join("done"), b"").unwrap();
        assert!(application.wait().unwrap().success(), "{mechanism}");
    }
}

#[test]
fn the_run_follows_the_plan() {
    let (plan, _) = plan("auto");
    let pose = &plan.channels[0];
    assert_eq!((pose.place, pose.mechanism), (MemoryMap::Segment, Mechanism::ImprovedChen));
    let ways = pose.readers.iter().map(|reader| reader.way.unwrap()).collect::<Vec<_>>();
    assert_eq!(ways, [Way::ByTime, Way::ByTime, Way::LooksOn, Way::LooksOn]);
    assert_eq!(plan.not_executed(), None);
}
