// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A client's channel releases a task, whether Linux or a dispatcher schedules the task's core, in a server or in
//! none. The client sends values as fast as they fit, and notifies in vain, without end. It is a thread of this
//! process, at the application's own socket.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use app::{each, plan, run};
use taut_event::Kind;
use taut_lock::EventCount;
use taut_run::{Attachment, Component, Failure, Job, Receiver};
use taut_segment::{Attached, Role};
use taut_time::Duration;

/// `takes` is independent of `tick`.
const TABLES: &str = r#"
[payloads]
Order = { type = "u64" }
[clients.shell]
[tasks.tick]
arrival = { periodic = "2ms" }
deadline = "2ms"
wcet = { value = "50us", source = "guess" }
priority = 20
[tasks.takes]
arrival = { sporadic = "5ms", trigger = "orders" }
deadline = "5ms"
wcet = { value = "100us", source = "guess" }
priority = 30
[channels.orders]
kind = "queue"
from = "shell"
to = "takes"
capacity = 4
payload = "Order"
"#;

/// Counts the values, which must come in order.
struct Taker;

static TAKEN: AtomicU64 = AtomicU64::new(0);

impl Component for Taker {}

impl Receiver<u64> for Taker {
    fn receive(&mut self, _: &mut Job<'_>, value: u64) -> Result<(), Failure> {
        assert_eq!(TAKEN.fetch_add(1, Ordering::Relaxed), value);
        Ok(())
    }
}

fn attach(over: &AtomicBool) -> Option<Attached> {
    while !over.load(Ordering::Relaxed) {
        if let Ok(attached) = taut_segment::attach("test", "shell") {
            return Some(attached);
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    None
}

/// Sends every value that fits, and notifies in between.
fn notify_without_end(over: &AtomicBool) -> u64 {
    let Some(attached) = attach(over) else { return 0 };
    let region = attached.region("orders").unwrap();
    let (start, bytes) = (region.cast::<u8>(), region.len());
    // SAFETY:
    // - the last line of the region of a channel that triggers is its event count, which is an atomic word
    // - it stays mapped as long as the attachment, which outlives the loop below
    let events: &'static EventCount =
        unsafe { start.add(bytes - size_of::<EventCount>()).cast::<EventCount>().as_ref() };
    let attachment = Attachment::new(attached);
    let mut end = attachment.end::<u64>("orders", Role::Writes).unwrap();
    let (mut notifier, mut next, mut notifications) = (events.notifier(), 0, 0);
    while !over.load(Ordering::Relaxed) {
        next += u64::from(end.publish(next).is_ok());
        for _ in 0..10 {
            notifier.notify();
            notifications += 1;
        }
        std::thread::sleep(std::time::Duration::from_micros(20));
    }
    notifications
}

#[test]
fn a_client_is_answered_no_more_often_than_is_planned() {
    // In a process with a folder of its own for the socket.
    let folder = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "notified", "--nocapture"]).env("TAUT_TEST_NOTIFIED", "1");
    let output = command.env("TAUT_RUNTIME_DIR", folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}\n{output:?}");
}

/// The test in that process; in any other process it does nothing.
#[test]
fn notified() {
    if std::env::var_os("TAUT_TEST_NOTIFIED").is_none() {
        return println!("no test: for processes that tests start");
    }
    let served = TABLES.replace("priority = 30", "server = \"share\"");
    let served = format!(
        "{served}[servers.share]\npolicy = \"deferrable\"\nbudget = \"300us\"\nperiod = \"2ms\"\npriority = 30\n"
    );
    for (executor, tables) in [("native", TABLES), ("dispatched", TABLES), ("auto", &served)] {
        let tables = format!("executor = \"{executor}\"\n{tables}");
        let planned = plan(&tables).0;
        assert_eq!(planned.cores[0].dispatched.is_some(), executor != "native");
        assert_eq!(planned.not_executed(), None);
        let over = AtomicBool::new(false);
        TAKEN.store(0, Ordering::Relaxed);
        let (outcome, notifications) = std::thread::scope(|threads| {
            let client = threads.spawn(|| notify_without_end(&over));
            let outcome = run(&tables, Some(Duration::from_ms(300)), |app| {
                app.task("tick", |_| Ok(each(|_| Ok(()))))?;
                app.receiver::<u64, _>("takes", |_| Ok(Taker))
            });
            over.store(true, Ordering::Relaxed);
            (outcome, client.join().unwrap())
        });
        assert!(outcome.ending.as_ref().unwrap().orderly, "{executor}: {:?}", outcome.reported.unfinished);
        let releases: Vec<u64> = outcome.of_task(Kind::Release, 1).iter().map(|r| r.at.as_ns()).collect();
        assert!(releases.len() > 10 && notifications > 500, "{executor}: {} {notifications}", releases.len());
        assert!(releases.windows(2).all(|pair| pair[1] - pair[0] >= 5_000_000), "{executor}: {releases:?}");
        assert_eq!(
            TAKEN.load(Ordering::Relaxed),
            outcome.of_task(Kind::Complete, 1).len() as u64,
            "{executor}"
        );
        // The other task goes on.
        assert!(outcome.of_task(Kind::Complete, 0).len() > 50, "{executor}");
    }
}
