// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! States with several sources: readers get what was written last, and never go back, whoever writes: real-time tasks, ordinary
//! ones, and clients that are killed or write nonsense.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;
mod processes;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use app::{each, plan, run};
use processes::{Process, attach, folder, start};
use taut_event::{Counter, Kind};
use taut_plan::ChannelPlan;
use taut_run::{App, Attachment, Context, Delivered, Error, Failure};
use taut_segment::Role;
use taut_time::Duration;

/// The instant before it was written (ns), the source, the number, and the number again: large enough to be torn.
type Value = [u64; 40];

const NUMBER: usize = 2;

fn value(before_ns: u64, source: u64, number: u64) -> Value {
    let mut value = [number; 40];
    (value[0], value[1]) = (before_ns, source);
    value
}

const EXECUTORS: [(&str, &str); 2] = [("native", ""), ("dispatched", "executor = \"dispatched\"")];

fn task(name: &str, period: u32, core: u32, priority: u32) -> String {
    let offset = if name == "fast" { ", offset = \"500us\"" } else { "" };
    format!(
        "[tasks.{name}]\narrival = {{ periodic = \"{period}ms\"{offset} }}\ndeadline = \"{period}ms\"\n\
         wcet = {{ value = \"100us\", source = \"guess\" }}\ncore = {core}\npriority = {priority}\n"
    )
}

/// The sources, in the order of `from`, and their numbers in values.
const SOURCES: [&str; 3] = ["fast", "any", "slow"];

/// Two real-time sources on two cores, and an ordinary one; three readers.
fn tables(executor: &str, more: &str) -> String {
    format!(
        "{executor}\n[payloads]\nValue = {{ type = \"u64\", len = 40 }}\n{}{}{}{}\
         [tasks.any]\nclass = \"best-effort\"\n[tasks.log]\nclass = \"best-effort\"\n\
         [channels.newest]\nkind = \"state\"\nfrom = [\"fast\", \"any\", \"slow\"]\nto = [\"control\", \"planner\", \"log\"]\n\
         payload = \"Value\"\nsends-per-release = 5\nsends-by-sender = {{ slow = 1 }}\n{more}",
        task("fast", 1, 0, 60),
        task("slow", 3, 1, 40),
        // It often reads just after `slow` has written.
        task("control", 3, 1, 30),
        task("planner", 7, 0, 30),
    )
}

const KEPT: usize = 8192;

/// What each source has written: the instant before its last complete write, and of the last values the instants behind them.
struct Written {
    before_ns: [AtomicU64; 3],
    behind_ns: [[AtomicU64; KEPT]; 3],
}

impl Written {
    const fn new() -> Self {
        Self {
            before_ns: [const { AtomicU64::new(0) }; 3],
            behind_ns: [const { [const { AtomicU64::new(0) }; KEPT] }; 3],
        }
    }

    /// Writes a value by `publish`.
    fn write(
        &self,
        source: usize,
        number: u64,
        now_ns: impl Fn() -> u64,
        publish: impl FnOnce(&Value) -> bool,
    ) {
        let cell = &self.behind_ns[source][number as usize % KEPT];
        cell.store(0, Ordering::Release);
        let before_ns = now_ns();
        assert!(publish(&value(before_ns, source as u64, number)), "it was refused");
        cell.store(now_ns(), Ordering::Release);
        self.before_ns[source].store(before_ns, Ordering::Release);
    }

    /// The instant before the latest of all complete writes.
    fn latest_ns(&self) -> u64 {
        self.before_ns.iter().map(|before_ns| before_ns.load(Ordering::Acquire)).max().unwrap_or(0)
    }

    /// The instant behind the write of this value, if that is known.
    fn behind_ns(&self, value: &Value) -> Option<u64> {
        let cell = &self.behind_ns[value[1] as usize][value[NUMBER] as usize % KEPT];
        Some(cell.load(Ordering::Acquire)).filter(|behind_ns| *behind_ns > 0)
    }
}

fn monotonic_ns() -> u64 {
    taut_sys::clock::monotonic_ns()
}

/// What a reader got last.
#[derive(Default)]
struct Follows(Option<Value>);

impl Follows {
    /// Checks a read that began when all writes up to `latest_ns` were complete.
    fn check(&mut self, written: &Written, latest_ns: u64, delivered: Option<Delivered<'_, &Value>>) {
        let Some(Delivered { value, sender, lost: 0 }) = delivered else {
            return assert!(self.0.is_none() && latest_ns == 0, "nothing, behind {latest_ns}");
        };
        assert!(value[3..].iter().all(|word| *word == value[NUMBER]), "torn: {value:?}");
        assert_eq!(sender, SOURCES[value[1] as usize]);
        let behind_ns = written.behind_ns(value);
        assert!(
            behind_ns.is_none_or(|behind_ns| behind_ns >= latest_ns),
            "{value:?} is older than {latest_ns}"
        );
        if let Some(last) = self.0 {
            if last[1] == value[1] {
                assert!(value[NUMBER] >= last[NUMBER], "back from {last:?}");
            } else {
                assert!(
                    behind_ns.is_none_or(|behind_ns| behind_ns >= last[0]),
                    "{value:?}, back from {last:?}"
                );
            }
        }
        self.0 = Some(*value);
    }
}

static WRITTEN: Written = Written::new();
/// Reads by source of the value, of `control` and `planner`.
static SEEN: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

fn set_up(app: &mut App<'_>) -> Result<(), Error> {
    WRITTEN.before_ns.iter().chain(&SEEN).for_each(|cell| cell.store(0, Ordering::Relaxed));
    for (source, name, writes) in [(0, "fast", 5), (2, "slow", 1)] {
        app.task(name, |create| {
            let mut writer = create.state_writer::<Value>("newest")?;
            assert!(create.state_writer::<Value>("newest").is_err(), "one end each");
            let mut number = 0;
            Ok(each(move |job| {
                for _ in 0..writes {
                    number += 1;
                    WRITTEN
                        .write(source, number, monotonic_ns, |value| writer.publish_from(job, value).is_ok());
                }
                assert!(writer.publish_from(job, &value(0, 0, 0)).is_err(), "no more than it may");
                Ok(())
            }))
        })?;
    }
    for name in ["control", "planner"] {
        app.task(name, |create| {
            assert!(create.state_reader::<Value>("newest/slow").is_err(), "one end for all sources");
            let mut reader = create.state_reader::<Value>("newest")?;
            let mut follows = Follows::default();
            Ok(each(move |job| {
                for _ in 0..20 {
                    let latest_ns = WRITTEN.latest_ns();
                    follows.check(&WRITTEN, latest_ns, reader.latest_from(job));
                    if let Some(last) = follows.0 {
                        SEEN[last[1] as usize].fetch_add(1, Ordering::Relaxed);
                    }
                }
                Ok(())
            }))
        })?;
    }
    app.best_effort("any", |create| {
        let mut writer = create.state_writer::<Value>("newest")?;
        Ok(move |context: &mut Context<'_>| {
            let mut number = 0;
            // It pauses now and then: meanwhile others write last.
            while context.sleep(Duration::from_us(if number % 40 == 39 { 20_000 } else { 300 })) {
                number += 1;
                WRITTEN.write(1, number, monotonic_ns, |value| writer.publish_from(context, value).is_ok());
            }
        })
    })?;
    app.best_effort("log", |create| {
        let mut reader = create.state_reader::<Value>("newest")?;
        Ok(move |context: &mut Context<'_>| {
            let mut follows = Follows::default();
            while context.sleep(Duration::from_us(200)) {
                let latest_ns = WRITTEN.latest_ns();
                // A reader that looks on may be overtaken at each attempt; then it gets nothing.
                if let Some(delivered) = reader.latest_from(context) {
                    follows.check(&WRITTEN, latest_ns, Some(delivered));
                }
            }
        })
    })
}

/// Readers get the newest value of all sources, on both executors and in each mechanism that serves them.
#[test]
fn what_was_written_last_is_read_and_nothing_older() {
    for (executor, key) in EXECUTORS {
        for mechanism in
            ["", "mechanism = \"hybrid\"\n", "mechanism = \"chen\"\n", "mechanism = \"presence\"\n"]
        {
            let tables = tables(key, mechanism);
            let outcome = run(&tables, Some(Duration::from_ms(1_000)), set_up);
            assert!(outcome.ending.as_ref().unwrap().orderly, "{:?}", outcome.reported.unfinished);
            assert!(outcome.of(Kind::Failed).is_empty(), "{executor} {mechanism}: a check failed");
            let counted = outcome.of(Kind::Counted);
            let heap = counted.iter().find(|record| record.job == Counter::HeapUse as u64);
            assert_eq!(heap.unwrap().value, 0, "heap uses of real-time tasks behind release 0");
            // Each source's values were read, and the recording names the source of each.
            for (source, name) in SOURCES.iter().enumerate() {
                let seen = SEEN[source].load(Ordering::Relaxed);
                assert!(seen > 0, "{executor} {mechanism}: nothing of `{name}` was read");
                let channel = source as u16;
                let (sent, received) = (
                    outcome.of_task(Kind::Send, channel).len(),
                    outcome.of_task(Kind::Receive, channel).len(),
                );
                assert!(
                    sent > 100 && received > 0,
                    "{executor} {mechanism}: {sent} sent, {received} received"
                );
            }
        }
    }
}

#[test]
fn each_source_has_the_mechanism_that_serves_it() {
    let (plan, _) = plan(&tables("", ""));
    let of =
        |channel: &ChannelPlan| (channel.name.clone(), channel.reason.split(':').next().unwrap().to_owned());
    let found: Vec<_> = plan.channels.iter().map(of).collect();
    let source = |at: usize, name: &str| (format!("newest/{name}"), format!("source {at} of 3"));
    assert_eq!(found, [source(1, "fast"), source(2, "any"), source(3, "slow")]);
    assert_eq!(plan.channels.iter().map(|channel| channel.sends_per_release).collect::<Vec<_>>(), [5, 5, 1]);
    assert_eq!(plan.not_executed(), None);
}

/// A state whose sources are locked: each is a lock of its own.
#[test]
fn sources_may_have_locks() {
    let tables = format!(
        "executor = \"dispatched\"\n[platform.overheads]\nlock = \"10us\"\ncopy = \"10us\"\n\
         [payloads]\nValue = {{ type = \"u64\", len = 40 }}\n{}{}{}\
         [channels.newest]\nkind = \"state\"\nfrom = [\"fast\", \"slow\"]\nto = \"control\"\npayload = \"Value\"\n\
         mechanism = \"srp\"\n",
        task("fast", 2, 0, 60),
        task("slow", 6, 0, 40),
        task("control", 4, 0, 30),
    );
    let outcome = run(&tables, Some(Duration::from_ms(300)), |app| {
        for (source, name) in [(0, "fast"), (2, "slow")] {
            app.task(name, |create| {
                let mut writer = create.state_writer::<Value>("newest")?;
                let mut number = 0;
                Ok(each(move |job| {
                    number += 1;
                    let value = value(job.now().as_ns(), source, number);
                    writer.publish_from(job, &value).map_err(|_| Failure::Code(1))
                }))
            })?;
        }
        app.task("control", |create| {
            let mut reader = create.state_reader::<Value>("newest")?;
            let mut last = 0;
            Ok(each(move |job| {
                let Some(newest) = reader.latest_ref(job) else { return Ok(()) };
                assert!(newest[0] >= last, "one core: what was written later counts later");
                last = newest[0];
                Ok(())
            }))
        })
    });
    assert!(outcome.ending.as_ref().unwrap().orderly, "{:?}", outcome.reported.unfinished);
    assert!(outcome.of(Kind::Failed).is_empty());
    assert!((0..2).all(|channel| !outcome.of_task(Kind::Receive, channel).is_empty()));
}

/// The page shows what `taut check` prints for its manifest.
#[test]
fn the_page_tells_the_truth() {
    let page = include_str!("../../../docs/sources.md");
    let block = |kind: &str| {
        let (_, rest) = page.split_once(&format!("```{kind}\n")).unwrap();
        rest.split_once("```").unwrap().0
    };
    let plan = app::plain::planned(block("toml"));
    let lines: Vec<String> =
        plan.sourced_state("position").unwrap().lines().iter().map(|line| format!("  {line}\n")).collect();
    assert_eq!(lines.concat(), block("text"));
}

/// `odometry` and a client write, `control`, an ordinary task and another client read.
const CLIENTS: &str = "\n[payloads]\nValue = { type = \"u64\", len = 40 }\n[clients.panel]\n[clients.screen]\n\
    [tasks.odometry]\narrival = { periodic = \"5ms\" }\ndeadline = \"5ms\"\nwcet = { value = \"100us\", source = \"guess\" }\n\
    [tasks.control]\narrival = { periodic = \"2ms\" }\ndeadline = \"2ms\"\nwcet = { value = \"100us\", source = \"guess\" }\n\
    [tasks.log]\nclass = \"best-effort\"\n\
    [channels.newest]\nkind = \"state\"\nfrom = [\"odometry\", \"panel\"]\nto = [\"control\", \"log\", \"screen\"]\n\
    payload = \"Value\"\n";

/// What `control` reads: values of odometry, values of the panel, reads of a value of the panel that it has read before.
static READ: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

/// The application, until the test is done. It writes a file for each thing that `control` has seen.
fn application(folder: &Path) {
    static DRIVES: AtomicU64 = AtomicU64::new(0);
    let outcome = run(CLIENTS, Some(Duration::from_ms(60_000)), |app| {
        app.task("odometry", |create| {
            let mut writer = create.state_writer::<Value>("newest")?;
            let mut number = 0;
            Ok(each(move |job| {
                if DRIVES.load(Ordering::Acquire) == 0 {
                    return Ok(());
                }
                number += 1;
                writer.publish_from(job, &value(0, 0, number)).map_err(|_| Failure::Code(1))
            }))
        })?;
        app.task("control", |create| {
            let mut reader = create.state_reader::<Value>("newest")?;
            // The last value, and the largest number of odometry.
            let (mut last, mut largest) = ([0; 40], 0);
            Ok(each(move |job| {
                let Some(newest) = reader.latest_from(job) else { return Ok(()) };
                let at = if newest.sender == "odometry" {
                    let number = newest.value[NUMBER];
                    if newest.value[1..] != value(0, 0, number)[1..] || number < largest {
                        return Err(Failure::Code(2));
                    }
                    largest = number;
                    0
                } else {
                    1 + usize::from(*newest.value == last)
                };
                last = *newest.value;
                READ[at].fetch_add(1, Ordering::Relaxed);
                Ok(())
            }))
        })?;
        app.best_effort("log", |create| {
            let mut reader = create.state_reader::<Value>("newest")?;
            let folder = folder.to_owned();
            Ok(move |context: &mut Context<'_>| {
                let mut largest = 0;
                while context.sleep(Duration::from_ms(2)) {
                    if let Some(newest) =
                        reader.latest_from(context).filter(|newest| newest.sender == "odometry")
                    {
                        assert!(newest.value[NUMBER] >= largest, "back from {largest}");
                        largest = newest.value[NUMBER];
                    }
                    DRIVES.store(u64::from(folder.join("drives").exists()), Ordering::Release);
                    let counts: Vec<String> =
                        READ.iter().map(|count| count.load(Ordering::Relaxed).to_string()).collect();
                    std::fs::write(folder.join("new"), counts.join(" ")).unwrap();
                    std::fs::rename(folder.join("new"), folder.join("read")).unwrap();
                    if folder.join("done").exists() {
                        context.control().stop();
                    }
                }
            })
        })
    });
    assert!(outcome.ending.as_ref().unwrap().orderly, "{:?}", outcome.reported.unfinished);
    assert!(outcome.of(Kind::Failed).is_empty(), "a check failed");
}

/// The client that writes, until the test kills it.
fn panel(folder: &Path) {
    let attachment = Attachment::new(attach(folder, "panel"));
    assert!(attachment.end::<Value>("newest", Role::Reads).is_err(), "it is told to write");
    let mut end = attachment.end::<Value>("newest", Role::Writes).unwrap();
    let mut number = 0;
    loop {
        number += 1;
        assert!(end.publish_from(&value(0, 1, number)));
        if number.is_multiple_of(100) {
            std::thread::sleep(std::time::Duration::from_micros(500));
        }
    }
}

/// A client that writes nonsense into its object, stamps from the future among it, until the test kills it.
fn vandal(folder: &Path) {
    let attached = attach(folder, "panel");
    let bytes = attached.region("newest/panel").unwrap();
    let mut chance = 1u64;
    loop {
        for at in 0..bytes.len() / 8 {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // SAFETY:
            // - inside a mapping of this process, aligned to 8, which stays mapped as long as `attached`
            // - others access these words atomically or as another program's memory; so does this store
            let word = unsafe { AtomicU64::from_ptr(bytes.cast::<u64>().as_ptr().add(at)) };
            word.store(chance | 1 << 63, Ordering::Relaxed);
        }
    }
}

/// The client that reads; it ends in order if odometry never went back.
fn screen(folder: &Path) {
    let attachment = Attachment::new(attach(folder, "screen"));
    let mut end = attachment.reading_end::<Value>("newest", false).unwrap();
    let (mut largest, mut reads) = (0, [0u64; 2]);
    while !folder.join("done").exists() {
        let Ok(Some(newest)) = end.latest_from() else { continue };
        let of_odometry = newest.sender == "odometry";
        reads[usize::from(!of_odometry)] += 1;
        if of_odometry {
            assert!(newest.value[NUMBER] >= largest, "back from {largest}");
            largest = newest.value[NUMBER];
        } else {
            assert_eq!(newest.sender, "panel");
        }
    }
    assert!(reads.iter().all(|count| *count > 0), "{reads:?}");
}

/// The test in a process of [`start`]; in any other process it does nothing.
#[test]
fn role() {
    let Some(role) = processes::role() else { return println!("no test: for processes that tests start") };
    let folder = folder();
    match role.as_str() {
        "application" => application(&folder),
        "panel" => panel(&folder),
        "vandal" => vandal(&folder),
        _ => screen(&folder),
    }
}

/// The last value of a client that was killed stays until another source writes; a client that comes after it goes on; one that
/// writes nonsense hides nobody once it is gone.
#[test]
fn clients_die_and_lie() {
    let made = tempfile::tempdir().unwrap();
    let folder = made.path();
    let mut application = start("application", folder);
    let mut screen = start("screen", folder);
    let read = || -> Option<[u64; 3]> {
        let text = std::fs::read_to_string(folder.join("read")).ok()?;
        let counts: Vec<u64> = text.split(' ').map(|count| count.parse().unwrap()).collect();
        counts.try_into().ok()
    };
    let mut wait = |what: &str, is_so: &dyn Fn([u64; 3]) -> bool| {
        let from = read().unwrap_or_default();
        for _ in 0..4_000 {
            let now = read().unwrap_or_default();
            if is_so([0, 1, 2].map(|at| now[at] - from[at])) {
                return;
            }
            assert!(application.0.try_wait().unwrap().is_none(), "{what}: the application has ended");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        panic!("{what}: not within 20 s");
    };
    let kill = |process: Process| drop(process);

    let panel = start("panel", folder);
    wait("the panel's values are read", &|[_, new, _]| new > 20);
    kill(panel);
    wait("its last one stays", &|[_, _, again]| again > 50);
    std::fs::write(folder.join("drives"), "").unwrap();
    wait("odometry is newer", &|[odometry, ..]| odometry > 50);
    let panel = start("panel", folder);
    wait("another panel's values are newer", &|[_, new, _]| new > 20);
    kill(panel);
    let vandal = start("vandal", folder);
    std::thread::sleep(std::time::Duration::from_millis(300));
    kill(vandal);
    wait("odometry is newer than nonsense", &|[odometry, ..]| odometry > 50);
    std::fs::write(folder.join("done"), "").unwrap();
    assert!(screen.0.wait().unwrap().success(), "the reading client");
    assert!(application.0.wait().unwrap().success(), "the application");
}
