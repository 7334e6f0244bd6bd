// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Messages: several senders, one receiver. It takes in the order of the message, no more in a job than the manifest
//! allows, and no sender that is not real-time, not even a client that floods or spoils its lane, delays a real-time one.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;
mod processes;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use app::{Outcome, each, plan, run};
use processes::{attach, folder, start};
use taut_event::{Counter, Kind};
use taut_run::{App, Attachment, Component, Context, Error, Failure, Job, MessageReader, SendError, Task};
use taut_segment::Role;
use taut_time::Duration;

/// The sender's mark, and the number of the value.
type Value = [u64; 4];

fn value(mark: u64, number: u64) -> Value {
    [mark, number, mark, number]
}

/// The mark and the number of a value that is not torn.
fn parts(value: &Value) -> (u64, u64) {
    assert_eq!(value[..2], value[2..], "torn");
    (value[0], value[1])
}

/// `serves`, which is task 0, receives from three tasks and from clients.
fn tables(executor: &str, keys: &str, clients: &[&str]) -> String {
    let senders: String = clients.iter().map(|client| format!(", \"{client}\"")).collect();
    let clients: String = clients.iter().map(|client| format!("[clients.{client}]\n")).collect();
    let task = |name: &str, period: &str, service: &str, priority: u32| {
        format!(
            "[tasks.{name}]\n{service}{period}\nwcet = {{ value = \"50us\", source = \"guess\" }}\n\
             core = 0\npriority = {priority}\n"
        )
    };
    let periodic = |ms: u32| format!("arrival = {{ periodic = \"{ms}ms\" }}\ndeadline = \"{ms}ms\"");
    let serves = "arrival = { sporadic = \"2ms\", trigger = \"requests\" }\ndeadline = \"2ms\"";
    format!(
        "{executor}\n[payloads]\nValue = {{ type = \"u64\", len = 4 }}\n[services.serving]\n{clients}{}{}{}\
         [tasks.steers]\nclass = \"best-effort\"\n\
         [channels.requests]\nkind = \"message\"\nfrom = [\"low\", \"steers\", \"high\"{senders}]\nto = \"serves\"\n\
         payload = \"Value\"\n{keys}",
        task("serves", serves, "service = \"serving\"\n", 40),
        task("low", &periodic(10), "", 20),
        task("high", &periodic(10), "", 30),
    )
}

const EXECUTORS: [(&str, &str); 2] = [("native", ""), ("dispatched", "executor = \"dispatched\"")];

/// What a job took: the senders, and the values' marks and numbers.
type Taken = Vec<(String, u64, u64)>;

struct Serves<'p> {
    requests: MessageReader<'p, Value>,
    jobs: &'static Mutex<Vec<Taken>>,
}

impl Component for Serves<'_> {}

impl Task for Serves<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let mut taken = Taken::new();
        while let Some(request) = self.requests.next(job) {
            let (mark, number) = parts(request.value);
            taken.push((request.sender.to_owned(), mark, number));
        }
        self.jobs.lock().unwrap().push(taken);
        Ok(())
    }
}

/// Makes the receiver, and `low` and `high`, each of which sends `values` values, one a job, once `go` is set.
fn set_up(
    app: &mut App<'_>,
    jobs: &'static Mutex<Vec<Taken>>,
    go: &'static AtomicU64,
    values: u64,
) -> Result<(), Error> {
    app.service("serving", |service| {
        service.task("serves", |create| Ok(Serves { requests: create.message_reader("requests")?, jobs }))
    })?;
    for (mark, name) in [(1, "low"), (2, "high")] {
        app.task(name, |create| {
            let mut requests = create.queue_writer::<Value>("requests")?;
            let mut next = 1;
            Ok(each(move |job| {
                if go.load(Ordering::Acquire) > 0 && next <= values {
                    requests.send(job, value(mark, next)).map_err(|_| Failure::Code(1))?;
                    let more = requests.send(job, value(mark, next + 1));
                    assert_eq!(more, Err(SendError::TooMany(value(mark, next + 1))), "one in each job");
                    next += 1;
                }
                Ok(())
            }))
        })?;
    }
    Ok(())
}

/// Pauses the receiver while every sender sends three values, and returns what it took then, job by job.
fn backlog(executor: &str, keys: &str) -> (Outcome, Vec<Taken>) {
    let jobs: &'static Mutex<Vec<Taken>> = Box::leak(Box::default());
    let go: &'static AtomicU64 = Box::leak(Box::default());
    let outcome = run(&tables(executor, keys, &[]), None, |app| {
        set_up(app, jobs, go, 3)?;
        app.best_effort("steers", |create| {
            let mut requests = create.queue_writer::<Value>("requests")?;
            Ok(move |context: &mut Context<'_>| {
                context.sleep(Duration::from_ms(20));
                context.control().pause("serving").unwrap();
                context.sleep(Duration::from_ms(20));
                (1..=3).for_each(|number| requests.send(context, value(3, number)).unwrap());
                go.store(1, Ordering::Release);
                context.sleep(Duration::from_ms(120));
                context.control().resume("serving").unwrap();
                context.sleep(Duration::from_ms(120));
                context.control().stop();
            })
        })
    });
    assert!(outcome.ending.as_ref().unwrap().orderly);
    assert!(outcome.of(Kind::Drop).is_empty() && outcome.of(Kind::Failed).is_empty());
    let jobs = jobs.lock().unwrap().clone();
    (outcome, jobs)
}

#[test]
fn the_most_urgent_sender_comes_first() {
    for (name, executor) in EXECUTORS {
        let (outcome, jobs) = backlog(executor, "takes-per-release = 2\ncapacity = 8\n");
        let all: Taken = jobs.iter().flatten().cloned().collect();
        let from = |sender: &str, mark| {
            (1..=3).map(move |number| (sender.to_owned(), mark, number)).collect::<Taken>()
        };
        assert_eq!(all, [from("high", 2), from("low", 1), from("steers", 3)].concat(), "{name}");
        // Two in each job, though the job asks for more.
        let counts: Vec<usize> = jobs.iter().map(Vec::len).collect();
        assert_eq!(
            counts.iter().filter(|count| **count > 0).copied().collect::<Vec<_>>(),
            [2, 2, 2, 2, 1],
            "{name}"
        );
        let releases: Vec<u64> = outcome.of_task(Kind::Release, 0).iter().map(|r| r.at.as_ns()).collect();
        assert!(releases.windows(2).all(|pair| pair[1] - pair[0] >= 2_000_000), "{name}: {releases:?}");
        // The report counts by sender: each lane is a channel of its own.
        for lane in 0..3 {
            assert_eq!(outcome.of_task(Kind::Send, lane).len(), 3, "{name}");
            assert_eq!(outcome.of_task(Kind::Receive, lane).len(), 3, "{name}");
        }
        assert_eq!(outcome.of(Kind::TooMany).len(), 6, "{name}");
        let heap = |record: &&taut_event::Record| record.job == Counter::HeapUse as u64;
        for sender in [1, 2] {
            let heap = outcome.of_task(Kind::Counted, sender).into_iter().find(heap);
            assert_eq!(heap.unwrap().value, 0, "{name}: heap uses of a sender");
        }
    }
}

#[test]
fn the_first_sent_comes_first() {
    for (name, executor) in EXECUTORS {
        let (outcome, jobs) = backlog(executor, "order = \"fifo\"\ncapacity = 8\n");
        let all: Taken = jobs.iter().flatten().cloned().collect();
        // Lanes are channels 0, 1 and 2: of `low`, `steers` and `high`.
        let mut sent: Vec<(u64, u64, u64)> = Vec::new();
        for (lane, mark) in [(0, 1), (2, 2)] {
            sent.extend(outcome.of_task(Kind::Send, lane).iter().map(|r| (r.at.as_ns(), mark, r.value)));
        }
        sent.sort_unstable();
        let mut expected: Vec<(u64, u64)> = sent.iter().map(|(_, mark, number)| (*mark, *number)).collect();
        assert_eq!(expected.len(), 6, "{name}");
        // The best-effort task sent all of its values before, and comes last all the same.
        expected.extend((1..=3).map(|number| (3, number)));
        let taken: Vec<(u64, u64)> = all.iter().map(|(_, mark, number)| (*mark, *number)).collect();
        assert_eq!(taken, expected, "{name}");
        assert!(jobs.iter().all(|taken| taken.len() <= 1), "{name}: one in each job");
    }
}

taut_run::payload_with! {
    "taut_run::zerocopy"
    /// A value that says how urgent it is.
    struct Ordered { urgency: i32, mark: u32, number: u64 }
}

struct ServesOrdered<'p> {
    requests: MessageReader<'p, Ordered>,
    jobs: &'static Mutex<Vec<Taken>>,
}

impl Component for ServesOrdered<'_> {}

impl Task for ServesOrdered<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let mut taken = Taken::new();
        while let Some(request) = self.requests.next(job) {
            taken.push((request.sender.to_owned(), request.value.mark.into(), request.value.number));
        }
        self.jobs.lock().unwrap().push(taken);
        Ok(())
    }
}

/// Values that wait are taken by what they say, also against the order of their sender; jobs go on until all are taken.
#[test]
fn the_value_that_says_it_is_the_most_urgent_comes_first() {
    const SENT: [(&str, u32, [i32; 4]); 2] =
        [("low", 1, [2, 7, i32::MIN, 7]), ("high", 2, [5, 7, i32::MAX, -1])];
    for (name, executor) in EXECUTORS {
        let jobs: &'static Mutex<Vec<Taken>> = Box::leak(Box::default());
        let go: &'static AtomicU64 = Box::leak(Box::default());
        let keys = "takes-per-release = 2\ncapacity = 4\norder = \"specified\"\norder-by = \"urgency\"\n";
        let payload = "Value = { fields = { urgency = \"i32\", mark = \"u32\", number = \"u64\" } }";
        let tables = tables(executor, keys, &[]).replace("Value = { type = \"u64\", len = 4 }", payload);
        let outcome = run(&tables, None, |app| {
            app.service("serving", |service| {
                service.task("serves", |create| {
                    Ok(ServesOrdered { requests: create.message_reader("requests")?, jobs })
                })
            })?;
            for (name, mark, urgencies) in SENT {
                app.task(name, |create| {
                    let mut requests = create.queue_writer::<Ordered>("requests")?;
                    let mut next = 0;
                    Ok(each(move |job| {
                        if go.load(Ordering::Acquire) > 0 && next < urgencies.len() {
                            let value = Ordered { urgency: urgencies[next], mark, number: next as u64 };
                            requests.send(job, value).map_err(|_| Failure::Code(1))?;
                            next += 1;
                        }
                        Ok(())
                    }))
                })?;
            }
            app.best_effort("steers", |create| {
                let mut requests = create.queue_writer::<Ordered>("requests")?;
                Ok(move |context: &mut Context<'_>| {
                    // Two rounds, so that places which were handed back out of order are used again.
                    for _ in 0..2 {
                        context.sleep(Duration::from_ms(20));
                        context.control().pause("serving").unwrap();
                        context.sleep(Duration::from_ms(20));
                        for number in 0..2 {
                            let value =
                                Ordered { urgency: i32::MAX - number, mark: 3, number: number as u64 };
                            requests.send(context, value).unwrap();
                        }
                        go.store(1, Ordering::Release);
                        context.sleep(Duration::from_ms(120));
                        context.control().resume("serving").unwrap();
                        context.sleep(Duration::from_ms(120));
                    }
                    context.control().stop();
                })
            })
        });
        assert!(outcome.ending.as_ref().unwrap().orderly);
        assert!(outcome.of(Kind::Drop).is_empty() && outcome.of(Kind::Failed).is_empty(), "{name}");
        let jobs = jobs.lock().unwrap();
        let taken: Vec<(u64, u64)> =
            jobs.iter().flatten().map(|(_, mark, number)| (*mark, *number)).collect();
        // Of equals, the one that was sent first; what is not real-time comes last, in the order of sending.
        let sent = |mark: u64, number: usize| {
            let lane = if mark == 1 { 0 } else { 2 };
            outcome.of_task(Kind::Send, lane)[number].at.as_ns()
        };
        let mut expected: Vec<(i32, u64, u64, u64)> = Vec::new();
        for (_, mark, urgencies) in SENT {
            for (number, urgency) in urgencies.into_iter().enumerate() {
                expected.push((urgency, sent(mark.into(), number), mark.into(), number as u64));
            }
        }
        expected.sort_by_key(|(urgency, sent_ns, ..)| (std::cmp::Reverse(*urgency), *sent_ns));
        let expected = expected.iter().map(|(_, _, mark, number)| (*mark, *number));
        let expected: Vec<_> = expected.chain([(3, 0), (3, 1), (3, 0), (3, 1)]).collect();
        assert_eq!(taken, expected, "{name}");
        assert!(jobs.iter().all(|taken| taken.len() <= 2), "{name}");
    }
}

/// The example of the manual: proven, with a bound for each real-time sender.
#[test]
fn the_example_is_proven() {
    let plan = app::plain::planned(include_str!("../../../examples/messages/taut.toml"));
    assert!(plan.proven);
    let message = plan.message("requests").unwrap();
    let senders: Vec<(&str, bool)> =
        message.senders.iter().map(|of| (of.name, of.delivery.is_some())).collect();
    assert_eq!(senders, [("recording", true), ("guard", true), ("panel", false), ("logger", false)]);
}

/// The page shows what `taut check` prints for its manifest.
#[test]
fn the_page_tells_the_truth() {
    let page = include_str!("../../../docs/messages.md");
    let block = |kind: &str| {
        let (_, rest) = page.split_once(&format!("```{kind}\n")).unwrap();
        rest.split_once("```").unwrap().0
    };
    let plan = app::plain::planned(block("toml"));
    let lines: Vec<String> =
        plan.message("requests").unwrap().lines().iter().map(|line| format!("  {line}\n")).collect();
    assert_eq!(lines.concat(), block("text"));
}

/// The ends of a message are taken as such.
#[test]
fn ends_of_lanes_are_not_handed_out() {
    let outcome = run(&tables("", "", &[]), None, |app| {
        app.service("serving", |service| {
            service.task("serves", |create| {
                let refused = create.queue_reader::<Value>("requests/low").err();
                assert!(refused.is_some_and(|error| error.to_string().contains("requests/low")));
                assert!(create.message_reader::<[u64; 3]>("requests").is_err(), "another payload");
                assert!(create.message_reader::<Value>("others").is_err());
                Ok(Serves { requests: create.message_reader("requests")?, jobs: Box::leak(Box::default()) })
            })
        })?;
        app.task("low", |create| {
            assert!(create.message_reader::<Value>("requests").is_err(), "it sends");
            create.queue_writer::<Value>("requests/low")?;
            Ok(each(|_| Ok(())))
        })
    });
    assert!(outcome.ending.is_err(), "a task has no code");
}

/// A client that sends without end.
fn flood(folder: &Path, client: &str) {
    let attachment = Attachment::new(attach(folder, client));
    let mut end = attachment.end::<Value>("requests", Role::Writes).unwrap();
    assert!(attachment.end::<Value>("requests", Role::Writes).is_err(), "one at a time");
    let mut number = 1;
    loop {
        number += u64::from(end.publish(value(4, number)).is_ok());
    }
}

/// A client that writes nonsense into its lane, and wakes the receiver without end.
fn vandal(folder: &Path) {
    let attached = attach(folder, "panel");
    let bytes = attached.region("requests/panel").unwrap();
    let mut chance = 1u64;
    loop {
        for at in 0..bytes.len() / 8 {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // SAFETY:
            // - inside a mapping of this process, aligned to 8, which stays mapped as long as `attached`
            // - others access these words atomically or as another program's memory; so does this store
            let word = unsafe { AtomicU64::from_ptr(bytes.cast::<u64>().as_ptr().add(at)) };
            word.store(chance, Ordering::Relaxed);
        }
    }
}

/// A client that writes a tail into its lane that no queue of this capacity can have, and ends.
fn spoil(folder: &Path) {
    let attached = attach(folder, "panel");
    let bytes = attached.region("requests/panel").unwrap();
    for at in 0..bytes.len() / 8 {
        // SAFETY:
        // - inside a mapping of this process, aligned to 8, which stays mapped as long as `attached`
        // - others access these words atomically or as another program's memory; so does this store
        let word = unsafe { AtomicU64::from_ptr(bytes.cast::<u64>().as_ptr().add(at)) };
        word.store(u64::MAX / 2, Ordering::Relaxed);
    }
    std::fs::write(folder.join("spoiled"), "").unwrap();
}

/// The application, for long enough that clients come and are killed. Its exit code says whether all held.
fn application(folder: &Path, executor: &str, fifo: bool) {
    // Room for what comes while the machine stands still.
    let order = if fifo { "capacity = 16\norder = \"fifo\"\n" } else { "capacity = 16\n" };
    let over = folder.join("over");
    let seen = folder.join("seen");
    // The client writes what it likes into its values, so they are not looked at.
    struct Counts<'p>(MessageReader<'p, Value>, [u64; 4], PathBuf, u64);
    impl Component for Counts<'_> {
        fn finish(&mut self) -> Result<(), Box<dyn std::error::Error>> {
            Ok(std::fs::write(&self.2, self.1.map(|count| count.to_string()).join(" "))?)
        }
    }
    impl Task for Counts<'_> {
        fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
            if let Some(request) = self.0.next(job) {
                let at = ["low", "high", "steers", "panel"].iter().position(|name| *name == request.sender);
                self.1[at.ok_or(Failure::Code(9))?] += 1;
                if request.sender == "high" {
                    self.3 += 1;
                    if parts(request.value) != (2, self.3) {
                        return Err(Failure::Code(8));
                    }
                }
            }
            Ok(())
        }
    }
    let outcome = run(&tables(executor, order, &["panel"]), Some(Duration::from_ms(30_000)), |app| {
        senders(app)?;
        let counts = seen.clone();
        app.service("serving", |service| {
            service.task("serves", |create| Ok(Counts(create.message_reader("requests")?, [0; 4], counts, 0)))
        })?;
        app.best_effort("steers", |create| {
            let _requests = create.queue_writer::<Value>("requests")?;
            Ok(move |context: &mut Context<'_>| {
                while context.sleep(Duration::from_ms(5)) {
                    if over.exists() {
                        context.control().stop();
                    }
                }
            })
        })
    });
    assert!(outcome.ending.as_ref().unwrap().orderly, "{:?}", outcome.reported.unfinished);
    assert!(
        outcome.of(Kind::Failed).is_empty() && outcome.of(Kind::Drop).is_empty(),
        "a real-time value was lost"
    );
    // Every value of the real-time senders is received, and within the bound of the plan unless the machine stood still.
    let (plan, _) = plan(&tables(executor, order, &["panel"]));
    for lane in [0, 2] {
        let bound_ns = plan.channels[lane].latency.unwrap().as_ns();
        let channel = u16::try_from(lane).unwrap();
        let (sent, received) =
            (outcome.of_task(Kind::Send, channel).len(), outcome.of_task(Kind::Receive, channel));
        assert!(sent > 20 && sent - received.len() <= 1, "{sent} sent, {} received", received.len());
        let late = received.iter().filter(|record| record.value > bound_ns).count();
        assert!(late * 5 <= sent, "{late} of {sent} later than {bound_ns}");
    }
    let releases: Vec<u64> = outcome.of_task(Kind::Release, 0).iter().map(|r| r.at.as_ns()).collect();
    assert!(releases.windows(2).all(|pair| pair[1] - pair[0] >= 2_000_000), "the gap is kept");
}

/// `low` and `high`, which send in every job.
fn senders(app: &mut App<'_>) -> Result<(), Error> {
    for (mark, name) in [(1, "low"), (2, "high")] {
        app.task(name, |create| {
            let mut requests = create.queue_writer::<Value>("requests")?;
            let mut next = 0;
            Ok(each(move |job| {
                next += 1;
                requests.send(job, value(mark, next)).map_err(|_| Failure::Code(1))
            }))
        })?;
    }
    Ok(())
}

/// An application with two clients under `fifo`: it counts what they send, and ends by itself once the second one's values have
/// come, or without them after a while.
fn two_clients(folder: &Path) {
    struct Counts<'p>(MessageReader<'p, Value>, &'static [AtomicU64; 2]);
    impl Component for Counts<'_> {}
    impl Task for Counts<'_> {
        fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
            if let Some(request) = self.0.next(job)
                && let Some(at) = ["panel", "other"].iter().position(|name| *name == request.sender)
            {
                self.1[at].fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        }
    }
    let counts: &'static [AtomicU64; 2] = Box::leak(Box::default());
    let spoiled = folder.join("spoiled");
    let outcome = run(
        &tables("", "capacity = 16\norder = \"fifo\"\n", &["panel", "other"]),
        Some(Duration::from_ms(30_000)),
        |app| {
            senders(app)?;
            app.service("serving", |service| {
                service.task("serves", |create| Ok(Counts(create.message_reader("requests")?, counts)))
            })?;
            app.best_effort("steers", |create| {
                let _requests = create.queue_writer::<Value>("requests")?;
                Ok(move |context: &mut Context<'_>| {
                    while !spoiled.exists() && context.sleep(Duration::from_ms(5)) {}
                    let before = counts[1].load(Ordering::Relaxed);
                    for _ in 0..400 {
                        let more = counts[1].load(Ordering::Relaxed) - before;
                        if more > 20 || !context.sleep(Duration::from_ms(5)) {
                            break;
                        }
                    }
                    context.control().stop();
                })
            })
        },
    );
    assert!(outcome.ending.as_ref().unwrap().orderly, "{:?}", outcome.reported.unfinished);
    let seen = counts.each_ref().map(|count| count.load(Ordering::Relaxed).to_string());
    std::fs::write(folder.join("seen"), seen.join(" ")).unwrap();
}

/// What the processes that [`start`] starts do; nothing, and quietly, in the test itself.
#[test]
fn role() {
    let Some(role) = processes::role() else { return println!("no test: for processes that tests start") };
    match role.as_str() {
        "flood" => flood(&folder(), "panel"),
        "flood-other" => flood(&folder(), "other"),
        "vandal" => vandal(&folder()),
        "spoil" => spoil(&folder()),
        "two-clients" => two_clients(&folder()),
        "native" => application(&folder(), "", false),
        "native-fifo" => application(&folder(), "", true),
        _ => application(&folder(), "executor = \"dispatched\"", false),
    }
}

/// A client floods its lane and is killed in the middle of sending, again and again; another spoils the lane. Real-time
/// senders lose nothing, and their values come within their bounds.
#[test]
fn clients_flood_die_and_lie() {
    for kind in ["native", "native-fifo", "dispatched"] {
        let runtime = tempfile::Builder::new().prefix("taut").tempdir().unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o711);
        std::fs::set_permissions(runtime.path(), mode).unwrap();
        let mut application = start(kind, runtime.path());
        for _ in 0..6 {
            let client = start("flood", runtime.path());
            std::thread::sleep(std::time::Duration::from_millis(150));
            drop(client);
        }
        let client = start("vandal", runtime.path());
        std::thread::sleep(std::time::Duration::from_millis(400));
        drop(client);
        std::fs::write(runtime.path().join("over"), "").unwrap();
        let status = application.0.wait().unwrap();
        assert!(status.success(), "{kind}: {status}");
        let seen = std::fs::read_to_string(runtime.path().join("seen")).unwrap();
        let seen: Vec<u64> = seen.split(' ').map(|count| count.parse().unwrap()).collect();
        assert!(seen[3] > 50, "{kind}: the client was served, too: {seen:?}");
    }
}

/// Under `fifo` the lane that a client has spoiled counts as empty: the values of another client still come.
#[test]
fn a_spoiled_lane_holds_up_no_other_client() {
    let runtime = tempfile::Builder::new().prefix("taut").tempdir().unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o711);
    std::fs::set_permissions(runtime.path(), mode).unwrap();
    let mut application = start("two-clients", runtime.path());
    let mut spoiler = start("spoil", runtime.path());
    assert!(spoiler.0.wait().unwrap().success());
    let other = start("flood-other", runtime.path());
    let status = application.0.wait().unwrap();
    drop(other);
    assert!(status.success(), "{status}");
    let seen = std::fs::read_to_string(runtime.path().join("seen")).unwrap();
    let seen: Vec<u64> = seen.split(' ').map(|count| count.parse().unwrap()).collect();
    assert!(seen[1] > 20, "{seen:?}");
}
