// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Several processes of one client: they attach, are killed, stopped and replaced while a real-time task sends. Each gets or
//! counts every value that was sent while it was attached, and none disturbs another.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;
mod processes;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use app::{each, run};
use processes::{Process, attach, folder, made_folder, start_of_kind, until};
use taut_event::Kind;
use taut_run::{Attachment, ClientEnd, Context, Failure, NoValue};
use taut_segment::{Error as SegmentError, Liveness, attach_in};
use taut_sys::signals::kill;
use taut_time::Duration;

type Value = [u64; 5];

/// How many panels may be attached at a time.
const PANELS: usize = 8;

/// A value whose words show whether it is torn.
fn number(value: Value) -> u64 {
    assert!(value.iter().all(|word| *word == value[0]), "torn: {value:?}");
    value[0]
}

/// `control` sends three values in each job, `keeps` reads a broadcast of them, and so do the panels.
fn tables(kind: &str) -> String {
    let head = format!(
        "[payloads]\nValue = {{ type = \"u64\", len = 5 }}\n[clients.panel]\nmax-attached = {PANELS}\n\
         [tasks.control]\nservice = \"motion\"\narrival = {{ periodic = \"1ms\" }}\ndeadline = \"1ms\"\n\
         wcet = {{ value = \"50us\", source = \"guess\" }}\n[tasks.keeps]\narrival = {{ periodic = \"4ms\" }}\n\
         deadline = \"4ms\"\nwcet = {{ value = \"50us\", source = \"guess\" }}\n[tasks.watch]\nclass = \"best-effort\"\n\
         [services.motion]\n[channels.values]\nfrom = \"control\"\npayload = \"Value\"\nsends-per-release = 3\ncapacity = 64\n"
    );
    match kind {
        "broadcast" => head + "kind = \"broadcast\"\nto = [\"keeps\", \"panel\"]\ntakes-per-release = 20\n",
        _ => {
            let wakes = "[clients.ui]\n[channels.wakes]\nkind = \"queue\"\nfrom = \"control\"\nto = \"ui\"\n\
                         payload = \"Value\"\noverflow = \"drop-oldest\"\nreception = \"wait\"\n";
            let own =
                "kind = \"queue\"\nto = [\"watch\", \"panel\"]\noverflow = \"drop-oldest\"\nhistory = 20\n";
            head + own + wakes
        }
    }
}

/// The application, until the test says that it has seen enough.
fn application(folder: &Path, kind: &str) {
    static QUIET: AtomicBool = AtomicBool::new(false);
    let [over, quiet, paused] = ["over", "quiet", "paused"].map(|what| folder.join(what));
    let is_broadcast = kind == "broadcast";
    let outcome = run(&tables(kind), Some(Duration::from_ms(60_000)), |app| {
        app.service("motion", |service| {
            service.task("control", |create| {
                let mut values = create.queue_writer::<Value>("values")?;
                let mut wakes =
                    if is_broadcast { None } else { Some(create.queue_writer::<Value>("wakes")?) };
                let mut next = 1;
                Ok(each(move |job| {
                    if QUIET.load(Ordering::Relaxed) {
                        return Ok(());
                    }
                    if let Some(wakes) = &mut wakes {
                        wakes.send(job, [next; 5]).map_err(|_| Failure::Code(1))?;
                    }
                    for _ in 0..3 {
                        values.send(job, [next; 5]).map_err(|_| Failure::Code(1))?;
                        next += 1;
                    }
                    Ok(())
                }))
            })
        })?;
        app.task("keeps", |create| {
            let mut values = if is_broadcast { Some(create.queue_reader::<Value>("values")?) } else { None };
            let mut last = 0;
            Ok(each(move |job| {
                while let Some(value) = values.as_mut().and_then(|values| values.receive(job)) {
                    if std::mem::replace(&mut last, number(value)) + 1 != number(value) {
                        return Err(Failure::Code(2));
                    }
                }
                Ok(())
            }))
        })?;
        app.best_effort("watch", |create| {
            let mut values = if is_broadcast { None } else { Some(create.queue_reader::<Value>("values")?) };
            Ok(move |context: &mut Context<'_>| {
                while context.sleep(Duration::from_ms(5)) {
                    while values.as_mut().and_then(|values| values.receive(context)).is_some() {}
                    QUIET.store(quiet.exists(), Ordering::Relaxed);
                    let control = context.control();
                    let steered =
                        if paused.exists() { control.pause("motion") } else { control.resume("motion") };
                    steered.unwrap();
                    if over.exists() {
                        control.stop();
                    }
                }
            })
        })
    });
    assert!(outcome.ending.as_ref().unwrap().orderly, "{:?}", outcome.reported.unfinished);
    assert!(outcome.of(Kind::Failed).is_empty(), "a value was refused, or missing in `keeps`");
    assert!(outcome.of(Kind::Complete).len() > 20);
}

/// A panel: writes down how many values it got and lost, until the test kills it.
fn panel(folder: &Path) {
    let attachment = Attachment::new(attach(folder, "panel"));
    let mut end = attachment.reading_end::<Value>("values", true).unwrap();
    let (mut last, mut values) = (None, 0_u64);
    let file = seen(folder, std::process::id());
    loop {
        let Some((sequence, value)) = end.receive_within(Duration::from_ms(10)) else { continue };
        assert_eq!(sequence, number(value));
        // It begins with what is sent next, and from then on gets or counts each value.
        let (before, lost) = last.unwrap_or((sequence - 1 - end.lost(), 0));
        assert_eq!(sequence - before - 1, end.lost() - lost, "{sequence} after {before}");
        last = Some((sequence, end.lost()));
        values += 1;
        if values.is_multiple_of(20) {
            std::fs::write(&file, format!("{values} {}", end.lost())).unwrap();
        }
    }
}

/// A panel that tries to write where the others read: Linux ends it.
fn vandal(folder: &Path) {
    let attached = attach(folder, "panel");
    let bytes = attached.region("values").unwrap();
    // SAFETY:
    // - inside a mapping of this process, aligned to 8; if it may be written, others access the word atomically
    let word = unsafe { AtomicU64::from_ptr(bytes.cast::<u64>().as_ptr()) };
    word.store(u64::MAX, Ordering::Relaxed);
    std::fs::write(folder.join("written"), b"").unwrap();
}

/// The test in a process of [`start_of_kind`]; in any other process it does nothing.
#[test]
fn role() {
    let Some(role) = processes::role() else { return println!("no test: for processes that tests start") };
    match role.as_str() {
        "application" => application(&folder(), &processes::kind()),
        "panel" => panel(&folder()),
        _ => vandal(&folder()),
    }
}

/// Where a panel writes down what it has seen.
fn seen(folder: &Path, pid: u32) -> PathBuf {
    folder.join(format!("seen-{pid}"))
}

/// How many values a panel has got and lost; none if it has not written it yet.
fn counted(folder: &Path, panel: &Process) -> Option<(u64, u64)> {
    let text = std::fs::read_to_string(seen(folder, panel.0.id())).ok()?;
    let (values, lost) = text.split_once(' ')?;
    Some((values.parse().ok()?, lost.parse().ok()?))
}

/// An application and its panels.
struct Running {
    folder: tempfile::TempDir,
    application: Process,
    panels: Vec<Process>,
}

impl Running {
    fn new(kind: &str) -> Self {
        let folder = made_folder();
        let application = start_of_kind("application", folder.path(), kind);
        let panels = (0..PANELS).map(|_| start_of_kind("panel", folder.path(), kind)).collect();
        let mut running = Self { folder, application, panels };
        running.until_all_receive();
        running
    }

    fn assert_alive(&mut self) {
        self.application.assert_alive("the application");
        self.panels.iter_mut().for_each(|panel| panel.assert_alive("a panel"));
    }

    fn until_all_receive(&mut self) {
        until("all panels receive", || {
            self.assert_alive();
            self.panels.iter().all(|panel| counted(self.folder.path(), panel).is_some())
        });
    }

    fn assert_full(&self) {
        let refused = attach_in(self.folder.path(), "test", "panel").map(drop);
        let Err(error @ SegmentError::NameTaken { .. }) = refused else {
            panic!("a ninth panel was let in, or refused for another reason: {refused:?}")
        };
        let text = error.to_string();
        assert!(text.contains("all its 8 places are taken, by the processes "), "{text}");
        assert!(self.panels.iter().all(|panel| text.contains(&panel.0.id().to_string())), "{text}");
    }

    fn end(mut self) {
        self.assert_alive();
        std::fs::write(self.folder.path().join("over"), b"").unwrap();
        assert!(self.application.0.wait().unwrap().success());
    }
}

/// Panels are killed at random, and others take their places; nothing is lost that was not counted.
#[test]
fn panels_die_and_are_replaced() {
    for kind in ["oldest", "broadcast"] {
        let mut running = Running::new(kind);
        running.assert_full();
        let mut chance = 7_u64;
        for round in 0..20_u64 {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (chance >> 33) as usize % PANELS;
            std::thread::sleep(std::time::Duration::from_micros(round * 90));
            running.panels[at] = start_of_kind("panel", running.folder.path(), kind);
            running.assert_alive();
        }
        running.until_all_receive();
        running.assert_full();
        running.end();
    }
}

/// A panel that is stopped keeps its place and disturbs nobody; when it goes on, it has lost values, and counts them. One that
/// writes where it reads is ended by Linux, and nobody else notices.
#[test]
fn a_stopped_panel_and_a_hostile_one() {
    let mut running = Running::new("broadcast");
    let path = running.folder.path().to_owned();
    let values =
        |running: &Running, at: usize| counted(&path, &running.panels[at]).map_or(0, |(values, _)| values);
    let stopped = running.panels[3].0.id();
    kill(stopped, libc::SIGSTOP).unwrap();
    let before = values(&running, 5);
    until("another panel goes on", || values(&running, 5) > before + 200);
    running.assert_full();
    kill(stopped, libc::SIGCONT).unwrap();
    let lost = |running: &Running| counted(&path, &running.panels[3]).map_or(0, |(_, lost)| lost);
    until("it has counted what it lost", || lost(&running) > 100);
    // A place comes free, and a vandal takes it.
    drop(running.panels.pop());
    let mut vandal = start_of_kind("vandal", &path, "broadcast");
    let status = vandal.0.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(libc::SIGSEGV));
    assert!(!path.join("written").exists());
    let before = values(&running, 5);
    until("the others go on", || values(&running, 5) > before + 100);
    running.panels.push(start_of_kind("panel", &path, "broadcast"));
    running.until_all_receive();
    running.assert_full();
    running.end();
}

/// The attachment of a client of this test's process, as soon as the application is there.
fn attached(folder: &Path, client: &str) -> taut_segment::Attached {
    let mut found = None;
    until("the application runs", || {
        found = attach_in(folder, "test", client).ok();
        found.is_some()
    });
    found.unwrap()
}

/// The end by which a client of this test's process reads a queue.
fn end(folder: &Path, client: &str, channel: &str) -> ClientEnd<Value> {
    Attachment::new(attached(folder, client)).reading_end::<Value>(channel, true).unwrap()
}

/// A client that attaches late begins with the values before, as many as the manifest says; so does each further end.
#[test]
fn a_client_begins_with_the_history() {
    let folder = made_folder();
    let mut application = start_of_kind("application", folder.path(), "oldest");
    let mut without = end(folder.path(), "ui", "wakes");
    assert!(without.receive_within(Duration::from_ms(20_000)).is_some(), "it runs");
    let attachment = Attachment::new(attached(folder.path(), "panel"));
    let mut early = attachment.reading_end::<Value>("values", true).unwrap();
    while early.receive_within(Duration::from_ms(1_000)).unwrap().0 < 100 {}
    for _ in 0..5 {
        let mut end = attachment.reading_end::<Value>("values", true).unwrap();
        let waits: Vec<u64> = std::iter::from_fn(|| end.receive()).map(|(number, _)| number).collect();
        let newest = std::iter::from_fn(|| early.receive()).map(|(number, _)| number).last().unwrap_or(0);
        assert!(waits.len() >= 20, "only {} values", waits.len());
        assert!(end.lost() > 0 || waits.windows(2).all(|pair| pair[1] == pair[0] + 1), "{waits:?}");
        // The sender has gone on between the two looks, by less than the queue holds.
        assert!(waits[0] + 20 + 64 > newest, "begins with {}, the newest is {newest}", waits[0]);
        std::thread::sleep(std::time::Duration::from_millis(3));
    }
    application.assert_alive("the application");
    std::fs::write(folder.path().join("over"), b"").unwrap();
    assert!(application.0.wait().unwrap().success());
}

/// A client that waits learns that a value is overdue, that the sender is paused, and that the application has ended or died, and
/// gets values again where they come; whether a send wakes it or not.
#[test]
fn why_no_value_came() {
    for ends_in_order in [true, false] {
        let folder = made_folder();
        let path = folder.path();
        let mut application = start_of_kind("application", path, "oldest");
        let mut both = [end(path, "panel", "values"), end(path, "ui", "wakes")];
        let reach = |end: &mut ClientEnd<Value>, what: &str, wanted: Result<(), NoValue>| {
            end.set_deadline(Some(Duration::from_ms(60)));
            until(what, || end.receive_by_deadline().map(drop) == wanted);
        };
        let all = |both: &mut [ClientEnd<Value>; 2], what: &str, wanted: Result<(), NoValue>| {
            both.iter_mut().for_each(|end| reach(end, what, wanted));
        };
        all(&mut both, "values come", Ok(()));
        assert!(both.iter().all(|end| end.liveness() == (Liveness::Alive, true)));
        let [quiet, paused, over] = ["quiet", "paused", "over"].map(|what| path.join(what));
        std::fs::write(&quiet, b"").unwrap();
        all(&mut both, "values stop coming", Err(NoValue::Overdue));
        // This end has waited for the other one: the next value is due a deadline from now.
        assert_eq!(both[0].receive_by_deadline().map(drop), Err(NoValue::Overdue));
        let begun = Instant::now();
        assert_eq!(both[0].receive_by_deadline().map(drop), Err(NoValue::Overdue), "again, a deadline later");
        assert!(begun.elapsed() >= std::time::Duration::from_millis(20));
        std::fs::write(&paused, b"").unwrap();
        all(&mut both, "the sender is paused", Err(NoValue::Paused));
        assert!(both.iter().all(|end| end.liveness() == (Liveness::Alive, false)));
        for file in [quiet, paused] {
            std::fs::remove_file(file).unwrap();
        }
        all(&mut both, "values come again", Ok(()));
        // Without a deadline they wait for the end.
        let [polls, waits] = both;
        let waiting = [polls, waits].map(|mut end| {
            std::thread::spawn(move || {
                end.set_deadline(None);
                loop {
                    if let Err(why) = end.receive_by_deadline() {
                        return (why, Instant::now());
                    }
                }
            })
        });
        std::thread::sleep(std::time::Duration::from_millis(50));
        let gone = if ends_in_order {
            std::fs::write(&over, b"").unwrap();
            assert!(application.0.wait().unwrap().success());
            Instant::now()
        } else {
            application.0.kill().unwrap();
            application.0.wait().unwrap();
            Instant::now()
        };
        for waiting in waiting {
            let (why, at) = waiting.join().unwrap();
            assert_eq!(why, if ends_in_order { NoValue::Ended } else { NoValue::Died });
            // 10 ms are promised, on a machine that runs the threads when they are ready.
            let late = at.saturating_duration_since(gone);
            assert!(late < std::time::Duration::from_millis(200), "{late:?}");
        }
    }
}

/// A best-effort task learns the same: overdue, paused, and that it is to stop.
#[test]
fn a_task_learns_why_no_value_came() {
    static HEARD: std::sync::Mutex<Vec<Result<(), NoValue>>> = std::sync::Mutex::new(Vec::new());
    let outcome =
        run(&tables("broadcast").replace("[\"keeps\", \"panel\"]", "[\"keeps\", \"watch\"]"), None, |app| {
            app.service("motion", |service| {
                service.task("control", |create| {
                    let mut values = create.queue_writer::<Value>("values")?;
                    Ok(each(move |job| {
                        if job.number() < 20 {
                            values.send(job, [1; 5]).map_err(|_| Failure::Code(1))
                        } else {
                            Ok(())
                        }
                    }))
                })
            })?;
            app.task("keeps", |create| {
                let mut values = create.queue_reader::<Value>("values")?;
                Ok(each(move |job| {
                    while values.receive(job).is_some() {}
                    Ok(())
                }))
            })?;
            app.best_effort("watch", |create| {
                let mut values = create.queue_reader::<Value>("values")?;
                Ok(move |context: &mut Context<'_>| {
                    let hear = |values: &mut taut_run::QueueReader<'_, Value>, context: &mut Context<'_>| {
                        let heard = values.receive_by_deadline(context).map(drop);
                        let mut all = HEARD.lock().unwrap();
                        if all.last() != Some(&heard) {
                            all.push(heard);
                        }
                        heard
                    };
                    while hear(&mut values, context).is_err() {}
                    values.set_deadline(Some(Duration::from_ms(40)));
                    while hear(&mut values, context).is_ok() {}
                    context.control().pause("motion").unwrap();
                    while hear(&mut values, context) != Err(NoValue::Paused) {}
                    context.control().stop();
                    while hear(&mut values, context) != Err(NoValue::Ended) {}
                })
            })
        });
    assert!(outcome.ending.as_ref().unwrap().orderly, "{:?}", outcome.reported.unfinished);
    let expected = [Ok(()), Err(NoValue::Overdue), Err(NoValue::Paused), Err(NoValue::Ended)];
    assert_eq!(*HEARD.lock().unwrap(), expected);
}
