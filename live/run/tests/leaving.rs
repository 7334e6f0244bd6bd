// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Queues that leave the real-time side: a real-time task sends, best-effort tasks and clients receive, as slowly as they
//! like, and are killed. The sender never waits, and every value that a reader does not get counts as lost.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;
mod processes;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use app::{each, plan, run};
use processes::{attach, folder, start_of_kind, until};
use taut_event::{Counter, Kind};
use taut_run::{App, Attachment, Context, Create, Error, QueueReader, SendError};
use taut_segment::Role;
use taut_sys::clock;
use taut_time::Duration;

type Value = [u64; 5];

/// Longer than any run here.
const FAR: Duration = Duration::from_ms(60_000);

/// A value whose words show whether it is torn.
fn value(number: u64) -> Value {
    [number; 5]
}

fn number(value: Value) -> u64 {
    assert!(value.iter().all(|word| *word == value[0]), "torn: {value:?}");
    value[0]
}

/// What `control` sends to whom; three values in each job.
fn tables(overflow: &str, reception: &str, to: &str, capacity: &str) -> String {
    format!(
        "[payloads]\nValue = {{ type = \"u64\", len = 5 }}\n[clients.panel]\n[clients.spare]\n\
         [tasks.control]\narrival = {{ periodic = \"1ms\" }}\ndeadline = \"1ms\"\n\
         wcet = {{ value = \"50us\", source = \"guess\" }}\n\
         [tasks.logger]\nclass = \"best-effort\"\n[tasks.audit]\nclass = \"best-effort\"\n\
         [channels.values]\nkind = \"queue\"\nfrom = \"control\"\nto = {to}\npayload = \"Value\"\n{capacity}\
         overflow = \"{overflow}\"\nreception = \"{reception}\"\nsends-per-release = 3\n"
    )
}

/// What a reader got: each value has a greater number than the one before, and the reader was told how many it lost in
/// between.
#[derive(Default)]
struct Received {
    last: u64,
    values: u64,
    lost: u64,
}

impl Received {
    /// Takes in a value; `lost` counts all that its end has lost so far.
    fn take(&mut self, number: u64, lost: u64) {
        assert_eq!(number - self.last - 1, lost - self.lost, "{number} after {}", self.last);
        (self.last, self.lost) = (number, lost);
        self.values += 1;
    }
}

/// Sends three values in each job, and tries a fourth in every tenth. Returns in `sent` how many the queue took.
fn control<'p>(
    create: &mut Create<'_, 'p>,
    sent: &'static AtomicU64,
    rejects: bool,
) -> Result<impl taut_run::Task + use<'p>, Error> {
    let mut values = create.queue_writer::<Value>("values")?;
    let mut next = 1;
    Ok(each(move |job| {
        for _ in 0..3 {
            match values.send(job, value(next)) {
                Ok(()) => next += 1,
                Err(error) => assert!(rejects && error == SendError::Full(value(next))),
            }
        }
        if job.number() % 10 == 0 && !rejects {
            assert_eq!(values.send(job, value(next)), Err(SendError::TooMany(value(next))));
        }
        sent.store(next - 1, Ordering::Relaxed);
        Ok(())
    }))
}

/// Receives until the application stops, and then what is left.
fn drain(
    mut reader: QueueReader<'_, Value>,
    context: &mut Context<'_>,
    mut between: impl FnMut(&Context<'_>),
    received: &Mutex<Received>,
) {
    let mut received = received.lock().unwrap();
    while let Some(value) = reader.receive_until_stop(context) {
        received.take(number(value), reader.lost());
        between(context);
    }
    assert!(context.stopping());
    // The sender may send until all tasks have stopped.
    while context.sleep(Duration::from_ms(1)) {}
    while let Some(value) = reader.receive(context) {
        received.take(number(value), reader.lost());
    }
}

static SENT: AtomicU64 = AtomicU64::new(0);
static LOGGED: Mutex<Received> = Mutex::new(Received { last: 0, values: 0, lost: 0 });
static AUDITED: Mutex<Received> = Mutex::new(Received { last: 0, values: 0, lost: 0 });

fn set_up(app: &mut App<'_>) -> Result<(), Error> {
    app.task("control", |create| control(create, &SENT, false))?;
    app.best_effort("logger", |create| {
        let reader = create.queue_reader::<Value>("values")?;
        // Too slow: of 60 values in 20 ms it keeps 8 at most.
        let slow =
            |context: &Context<'_>| assert!(context.sleep(Duration::from_ms(20)) || context.stopping());
        Ok(move |context: &mut Context<'_>| drain(reader, context, slow, &LOGGED))
    })?;
    app.best_effort("audit", |create| {
        let reader = create.queue_reader::<Value>("values")?;
        Ok(move |context: &mut Context<'_>| drain(reader, context, |_| (), &AUDITED))
    })
}

/// Two best-effort readers of one queue: one too slow, one that sleeps until a value comes or looks every millisecond.
#[test]
fn each_task_gets_or_loses_every_value() {
    for overflow in ["drop-oldest", "clear"] {
        for reception in ["poll", "wait"] {
            for received in [&LOGGED, &AUDITED] {
                *received.lock().unwrap() = Received::default();
            }
            let tables = tables(overflow, reception, "[\"logger\", \"audit\"]", "capacity = 8\n");
            let outcome = run(&tables, Some(Duration::from_ms(400)), set_up);
            assert!(outcome.ending.as_ref().unwrap().orderly, "{:?}", outcome.reported.unfinished);
            let sent = SENT.load(Ordering::Relaxed);
            assert!(sent > 300, "{sent}");
            assert_eq!(outcome.of(Kind::Send).len() as u64, sent);
            let (logged, audited) = (LOGGED.lock().unwrap(), AUDITED.lock().unwrap());
            let what = format!("{overflow}, {reception}");
            for received in [&logged, &audited] {
                // Values that wait at the end are neither received nor lost.
                assert!(received.values + received.lost <= sent && received.values > 5, "{what}");
                assert_eq!(received.last, received.values + received.lost, "{what}");
            }
            // Many more, unless the machine stood still for most of the run.
            assert!(logged.lost > 0, "{what}: {} received of {sent}", logged.values);
            let of = |kind| outcome.of(kind).iter().map(|record| record.value).sum::<u64>();
            assert_eq!(of(Kind::Drop), logged.lost + audited.lost, "{what}");
            assert_eq!(outcome.of(Kind::Receive).len() as u64, logged.values + audited.values, "{what}");
            let too_many = outcome.of(Kind::TooMany).len() as u64;
            assert!(too_many >= sent / 30 && too_many > 0, "{what}: {too_many}");
            let heap = |record: &&taut_event::Record| record.job == Counter::HeapUse as u64;
            let heap = outcome.of_task(Kind::Counted, 0).into_iter().find(heap);
            assert_eq!(heap.unwrap().value, 0, "{what}: heap uses of the sender");
        }
    }
}

/// A queue that rejects, to one best-effort reader: nothing that was sent is lost, and the writer gets the rest back.
#[test]
fn a_queue_that_rejects_loses_nothing() {
    static SENT: AtomicU64 = AtomicU64::new(0);
    static RECEIVED: Mutex<Received> = Mutex::new(Received { last: 0, values: 0, lost: 0 });
    let tables = tables("reject", "wait", "\"logger\"", "capacity = 4\n");
    let outcome = run(&tables, Some(Duration::from_ms(300)), |app| {
        app.task("control", |create| control(create, &SENT, true))?;
        app.best_effort("logger", |create| {
            let reader = create.queue_reader::<Value>("values")?;
            let slow =
                |context: &Context<'_>| assert!(context.sleep(Duration::from_ms(5)) || context.stopping());
            Ok(move |context: &mut Context<'_>| drain(reader, context, slow, &RECEIVED))
        })?;
        app.best_effort("audit", |_| Ok(|_: &mut Context<'_>| ()))
    });
    assert!(outcome.ending.as_ref().unwrap().orderly, "{:?}", outcome.reported.unfinished);
    let (sent, received) = (SENT.load(Ordering::Relaxed), RECEIVED.lock().unwrap());
    assert!(received.lost == 0 && received.values > 10 && received.last == received.values);
    assert!(sent - received.values <= 4, "{sent} sent, {} received", received.values);
    assert!(outcome.of(Kind::Drop).len() > 50, "the writer was refused");
}

/// Two readers that wait get a value within a part of the time that they would sleep without a wake.
#[test]
fn a_reader_that_waits_is_woken() {
    static WOKEN: AtomicU64 = AtomicU64::new(0);
    let tables = tables("drop-oldest", "wait", "\"logger\"", "").replace("\"1ms\"", "\"50ms\"");
    let outcome = run(&tables, Some(Duration::from_ms(1_000)), |app| {
        app.task("control", |create| {
            let mut values = create.queue_writer::<Value>("values")?;
            Ok(each(move |job| {
                values.send(job, value(clock::monotonic_ns())).unwrap();
                Ok(())
            }))
        })?;
        app.best_effort("logger", |create| {
            let mut reader = create.queue_reader::<Value>("values")?;
            Ok(move |context: &mut Context<'_>| {
                while let Some(value) = reader.receive_within(context, FAR) {
                    // Far from the millisecond of a reader that looks.
                    let waited_ns = clock::monotonic_ns() - number(value);
                    WOKEN.fetch_add(u64::from(waited_ns < 500_000), Ordering::Relaxed);
                }
            })
        })?;
        app.best_effort("audit", |_| Ok(|_: &mut Context<'_>| ()))
    });
    assert!(outcome.ending.unwrap().orderly);
    let woken = WOKEN.load(Ordering::Relaxed);
    assert!(woken >= 5, "{woken} of 20 values came soon after they were sent");
}

/// A broadcast to a real-time task, a client and a best-effort task.
fn broadcast() -> String {
    let to = "[\"keeps\", \"panel\", \"logger\"]";
    let tables = tables("reject", "wait", to, "capacity = 64\n");
    let keeps = "[tasks.keeps]\narrival = { periodic = \"4ms\" }\ndeadline = \"4ms\"\n\
                 wcet = { value = \"50us\", source = \"guess\" }\n[channels.values]\n";
    let tables = tables.replace("[channels.values]\n", keeps);
    tables.replace("kind = \"queue\"", "kind = \"broadcast\"\ntakes-per-release = 20")
}

/// The kinds of queue that the processes below use, by name.
fn kind(name: &str) -> (String, bool) {
    let to = "[\"panel\", \"logger\"]";
    match name {
        "oldest" => (tables("drop-oldest", "wait", to, "capacity = 64\n"), false),
        "clear" => (tables("clear", "poll", to, "capacity = 64\n"), false),
        "broadcast" => (broadcast(), false),
        _ => (tables("reject", "wait", "\"panel\"", "capacity = 64\n"), true),
    }
}

/// The client: receives, and writes down how many values it got and lost, until the test kills it.
fn panel(folder: &Path, rejects: bool) {
    let attachment = Attachment::new(attach(folder, "panel"));
    let mut end = attachment.reading_end::<Value>("values", true).unwrap();
    assert!(attachment.reading_end::<Value>("values", false).is_err(), "it is a queue");
    let second = attachment.reading_end::<Value>("values", true);
    assert_eq!(second.is_err(), rejects, "one end of a queue that rejects, any number of another");
    assert!(attachment.end::<Value>("values", Role::Writes).is_err(), "in the manifest it reads");
    let mut received: Option<Received> = None;
    loop {
        let Some((sequence, value)) = end.receive_within(Duration::from_ms(10)) else { continue };
        assert_eq!(sequence, number(value));
        // A reader that comes later begins with what is sent next, or with what its predecessor left.
        let so_far =
            received.get_or_insert_with(|| Received { last: sequence - 1 - end.lost(), values: 0, lost: 0 });
        so_far.take(sequence, end.lost());
        if so_far.values.is_multiple_of(50) {
            std::fs::write(folder.join("seen"), so_far.values.to_string()).unwrap();
        }
    }
}

/// A client that writes nonsense into every word that it may write, without end.
fn vandal(folder: &Path) {
    let attached = attach(folder, "panel");
    let entry = attached.entry("values").unwrap();
    let mut words = Vec::new();
    if entry.role == Role::Takes {
        words.push(attached.region("values").unwrap());
    }
    words.extend(attached.event_count("values").unwrap());
    let mut chance = 1u64;
    loop {
        for bytes in &words {
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
}

/// The application, until the test says that it has seen enough.
fn application(folder: &Path, kind_name: &str) {
    static SENT: AtomicU64 = AtomicU64::new(0);
    let (tables, rejects) = kind(kind_name);
    let over = folder.join("over");
    let outcome = run(&tables, Some(Duration::from_ms(30_000)), |app| {
        app.task("control", |create| control(create, &SENT, rejects))?;
        if kind_name == "broadcast" {
            // It gets every value, whatever the client does: a value that it missed would fail its job.
            app.task("keeps", |create| {
                let mut values = create.queue_reader::<Value>("values")?;
                let mut last = 0;
                Ok(each(move |job| {
                    while let Some(value) = values.receive(job) {
                        if std::mem::replace(&mut last, number(value)) + 1 != number(value) {
                            return Err(taut_run::Failure::Code(1));
                        }
                    }
                    Ok(())
                }))
            })?;
        }
        app.best_effort("logger", |create| {
            // A second reader of the queues that may have several.
            let mut reader = if rejects { None } else { Some(create.queue_reader::<Value>("values")?) };
            let mut received = Received::default();
            Ok(move |context: &mut Context<'_>| {
                while context.sleep(Duration::from_ms(5)) {
                    if over.exists() {
                        context.control().stop();
                    }
                    while let Some((reader, value)) = reader
                        .as_mut()
                        .and_then(|reader| reader.receive(context).map(|value| (reader, value)))
                    {
                        received.take(number(value), reader.lost());
                    }
                }
            })
        })?;
        app.best_effort("audit", |_| Ok(|_: &mut Context<'_>| ()))
    });
    assert!(outcome.ending.as_ref().unwrap().orderly, "{:?}", outcome.reported.unfinished);
    assert!(outcome.of(Kind::Failed).is_empty());
    assert!(outcome.of(Kind::Complete).len() > 100);
    assert!(kind_name != "broadcast" || outcome.of(Kind::Drop).is_empty(), "the client held up the writer");
}

/// The test in a process of [`start`]; in any other process it does nothing.
#[test]
fn role() {
    let Some(role) = processes::role() else { return println!("no test: for processes that tests start") };
    let kind_name = processes::kind();
    match role.as_str() {
        "application" => application(&folder(), &kind_name),
        "panel" => panel(&folder(), kind(&kind_name).1),
        _ => vandal(&folder()),
    }
}

/// Clients are killed in the middle of receiving, and others take their place; then one writes nonsense. The application
/// ends in order.
#[test]
fn clients_die_and_lie() {
    for kind_name in ["oldest", "clear", "reject", "broadcast"] {
        let folder = tempfile::Builder::new().prefix("taut").tempdir().unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o711);
        std::fs::set_permissions(folder.path(), mode).unwrap();
        let mut application = start_of_kind("application", folder.path(), kind_name);
        let seen = folder.path().join("seen");
        for life in 0..6_u32 {
            let mut panel = start_of_kind("panel", folder.path(), kind_name);
            until(&format!("{kind_name}: the client of life {life} receives"), || {
                panel.assert_alive(kind_name);
                application.assert_alive(kind_name);
                seen.exists()
            });
            std::thread::sleep(std::time::Duration::from_micros(u64::from(life) * 370));
            drop(panel);
            let _ = std::fs::remove_file(&seen);
        }
        let mut vandal = start_of_kind("vandal", folder.path(), kind_name);
        std::thread::sleep(std::time::Duration::from_millis(200));
        vandal.assert_alive(kind_name);
        application.assert_alive(kind_name);
        std::fs::write(folder.path().join("over"), b"").unwrap();
        assert!(application.0.wait().unwrap().success(), "{kind_name}");
    }
}

/// The plan says where each reader waits, and charges the sender a wake of each for each value.
#[test]
fn the_plan_charges_each_wake() {
    let response = |reception: &str| {
        let (plan, _) = plan(&tables("drop-oldest", reception, "[\"panel\", \"logger\"]", ""));
        assert!(plan.proven);
        let waits = plan.channels[0].readers.iter().filter(|reader| reader.event_count.is_some()).count();
        let taut_plan::ClassPlan::RealTime { response, terms, .. } = &plan.tasks[0].class else {
            panic!("real-time")
        };
        let wakes = terms.iter().find(|term| term.of.as_deref() == Some("waiting and waking"));
        (waits, response.unwrap(), wakes.map(|term| term.time))
    };
    let (polls, waits) = (response("poll"), response("wait"));
    // Three sends, two readers, 10 us each by default.
    let charged = Duration::from_us(60);
    assert_eq!((polls.0, polls.2), (0, None));
    assert_eq!((waits.0, waits.2), (2, Some(charged)));
    assert_eq!(Some(waits.1), polls.1.checked_add(charged));
}
