// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Broadcasts on both executors: each real-time reader gets every value in order, whatever the others do; an observer loses
//! the oldest ones, and knows how many; a reader that pauses or fails holds up nobody.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use app::{Outcome, each, run};
use taut_event::{Counter, Event, Kind};
use taut_run::{App, Component, Context, Create, Error, Failure, Job, QueueReader, Receiver, SendError};
use taut_time::Duration;

type Value = [u64; 5];

const EXECUTORS: [(&str, &str); 2] = [("native", ""), ("dispatched", "executor = \"dispatched\"\n")];

/// A value whose words show whether it is torn.
fn value(number: u64) -> Value {
    [number; 5]
}

/// What a reader got, in order, and how many values it has lost so far.
#[derive(Default)]
struct Taken {
    numbers: Vec<u64>,
    lost: u64,
}

impl Taken {
    fn take(&mut self, value: Value, lost: u64) {
        assert!(value.iter().all(|word| *word == value[0]), "torn: {value:?}");
        self.numbers.push(value[0]);
        self.lost = lost;
    }

    /// Whether the numbers follow one another without a gap.
    fn follow(&self) -> bool {
        self.numbers.windows(2).all(|pair| pair[1] == pair[0] + 1)
    }
}

/// The lists of one run: as large as any test needs, since jobs must not use the heap.
#[derive(Default)]
struct Lists([Mutex<Taken>; 5]);

impl Lists {
    fn new() -> &'static Self {
        let lists: &'static Self = Box::leak(Box::default());
        lists.0.iter().for_each(|list| list.lock().unwrap().numbers.reserve(4_000));
        lists
    }
}

/// `control` sends two values in each job to a receiver, a task that it releases, two that look, and a logger.
const TABLES: &str = "[payloads]\nValue = { type = \"u64\", len = 5 }\n[services.late]\n\
    [tasks.control]\narrival = { periodic = \"4ms\" }\ndeadline = \"4ms\"\nwcet = { value = \"50us\", source = \"guess\" }\n\
    [tasks.receives]\narrival = { sporadic = \"1ms\", trigger = \"values\" }\ndeadline = \"1ms\"\n\
    wcet = { value = \"20us\", source = \"guess\" }\n\
    [tasks.released]\narrival = { sporadic = \"1ms\", trigger = \"values\" }\ndeadline = \"1ms\"\n\
    wcet = { value = \"20us\", source = \"guess\" }\n\
    [tasks.looks]\narrival = { periodic = \"4ms\" }\ndeadline = \"4ms\"\nwcet = { value = \"50us\", source = \"guess\" }\n\
    [tasks.slow]\nservice = \"late\"\narrival = { periodic = \"20ms\" }\ndeadline = \"20ms\"\n\
    wcet = { value = \"50us\", source = \"guess\" }\n\
    [tasks.logger]\nclass = \"best-effort\"\n\
    [channels.values]\nkind = \"broadcast\"\nfrom = \"control\"\n\
    to = [\"receives\", \"released\", \"looks\", \"slow\", \"logger\"]\npayload = \"Value\"\n\
    sends-per-release = 2\ntakes-per-release = 10\n";

struct Receives(&'static Lists);

impl Component for Receives {}

impl Receiver<Value> for Receives {
    fn receive(&mut self, _: &mut Job<'_>, value: Value) -> Result<(), Failure> {
        self.0.0[0].lock().unwrap().take(value, 0);
        Ok(())
    }
}

/// Takes all that waits, up to ten values, one of which may fail it.
fn takes<'p>(
    create: &mut Create<'_, 'p>,
    list: &'static Mutex<Taken>,
    most: u32,
) -> Result<impl taut_run::Task + use<'p>, Error> {
    let mut values = create.queue_reader::<Value>("values")?;
    Ok(each(move |job| {
        for _ in 0..most {
            let Some(value) = values.receive(job) else { break };
            list.lock().unwrap().take(value, values.lost());
        }
        Ok(())
    }))
}

/// Follows without a pause to speak of, and now and then looks away for so long that it loses values.
fn logs(mut values: QueueReader<'_, Value>, context: &mut Context<'_>, list: &Mutex<Taken>) {
    let mut taken = list.lock().unwrap();
    while let Some(value) = values.receive_until_stop(context) {
        let (before, lost) = (taken.numbers.last().copied(), taken.lost);
        taken.take(value, values.lost());
        // What lies between is lost, and counted.
        let gap = before.map_or(0, |before| value[0] - before - 1);
        assert!(before.is_none() || gap == values.lost() - lost, "{value:?} after {before:?}: {lost}");
        if value[0] % 100 == 50 {
            context.sleep(Duration::from_ms(80));
        }
    }
}

fn set_up(app: &mut App<'_>, lists: &'static Lists, sent: &'static AtomicU64) -> Result<(), Error> {
    app.task("control", |create| {
        let mut values = create.queue_writer::<Value>("values")?;
        let mut next = 1;
        Ok(each(move |job| {
            for _ in 0..2 {
                values.send(job, value(next)).map_err(|_| Failure::Code(1))?;
                next += 1;
            }
            assert_eq!(values.send(job, value(next)), Err(SendError::TooMany(value(next))));
            sent.store(next - 1, Ordering::Relaxed);
            Ok(())
        }))
    })?;
    app.receiver::<Value, _>("receives", |_| Ok(Receives(lists)))?;
    app.task("released", |create| takes(create, &lists.0[1], 1))?;
    app.task("looks", |create| takes(create, &lists.0[2], 10))?;
    app.service("late", |service| service.task("slow", |create| takes(create, &lists.0[3], 10)))
}

/// Whether a reader got all that was sent, but for what waits at the end.
fn got_all(taken: &Taken, sent: u64, what: &str) {
    assert!(taken.follow() && taken.lost == 0, "{what}: {} lost of {sent}", taken.lost);
    assert_eq!(taken.numbers.first(), Some(&1), "{what}");
    // At the most what the slowest has not taken, and a stall of the machine.
    let left = sent - taken.numbers.len() as u64;
    assert!(left <= 60, "{what}: {left} left of {sent}");
}

/// What the recording has of a reader: how many values it received and lost.
fn recorded(outcome: &Outcome, task: u16) -> (u64, u64) {
    let events = || outcome.records.iter().filter_map(|record| Event::of(record).ok());
    let received =
        events().filter(|event| matches!(event, Event::ReceivedBy { reader, .. } if *reader == task));
    let lost = events().filter_map(|event| match event {
        Event::LostBy { reader, values, .. } if reader == task => Some(values),
        _ => None,
    });
    (received.count() as u64, lost.sum())
}

#[test]
fn each_real_time_reader_gets_every_value() {
    for (name, executor) in EXECUTORS {
        let lists = Lists::new();
        let sent: &'static AtomicU64 = Box::leak(Box::default());
        let outcome = run(&format!("{executor}{TABLES}"), Some(Duration::from_ms(800)), |app| {
            set_up(app, lists, sent)?;
            app.best_effort("logger", |create| {
                let values = create.queue_reader::<Value>("values")?;
                Ok(move |context: &mut Context<'_>| logs(values, context, &lists.0[4]))
            })
        });
        assert!(outcome.ending.as_ref().unwrap().orderly, "{name}: {:?}", outcome.reported.unfinished);
        let sent = sent.load(Ordering::Relaxed);
        assert!(sent > 200, "{name}: {sent}");
        assert_eq!(outcome.of(Kind::Send).len() as u64, sent, "{name}: each value is sent once");
        assert!(outcome.of(Kind::Drop).is_empty() && outcome.of(Kind::Failed).is_empty(), "{name}");
        assert!(outcome.of(Kind::TooMany).len() as u64 >= sent / 2, "{name}");
        for (reader, list) in ["receives", "released", "looks", "slow"].iter().zip(&lists.0) {
            got_all(&list.lock().unwrap(), sent, &format!("{name}, {reader}"));
        }
        let logged = lists.0[4].lock().unwrap();
        assert!(logged.lost > 0 && logged.numbers.len() > 50, "{name}: {} lost", logged.lost);
        for (task, list) in (1..).zip(&lists.0[..4]) {
            assert_eq!(recorded(&outcome, task), (list.lock().unwrap().numbers.len() as u64, 0), "{name}");
        }
        assert_eq!(recorded(&outcome, 5), (logged.numbers.len() as u64, logged.lost), "{name}");
        // Each value releases one job of a receiver, whatever the other readers do.
        let jobs = outcome.of_task(Kind::Complete, 1).len();
        assert_eq!(jobs, lists.0[0].lock().unwrap().numbers.len(), "{name}");
        let heap = |task| {
            let counted = outcome.of_task(Kind::Counted, task).into_iter();
            counted
                .filter(|record| record.job == Counter::HeapUse as u64)
                .map(|record| record.value)
                .sum::<u64>()
        };
        assert_eq!((0..5).map(heap).collect::<Vec<_>>(), [0; 5], "{name}: heap uses");
    }
}

/// The service of the slow reader pauses, for longer than the broadcast could hold: nobody notices, and the reader goes on
/// with what is sent after its pause.
#[test]
fn a_reader_that_pauses_holds_up_nobody() {
    for (name, executor) in EXECUTORS {
        let lists = Lists::new();
        let sent: &'static AtomicU64 = Box::leak(Box::default());
        let resumed: &'static AtomicU64 = Box::leak(Box::default());
        let outcome = run(&format!("{executor}{TABLES}"), None, |app| {
            set_up(app, lists, sent)?;
            app.best_effort("logger", |create| {
                let _observes = create.queue_reader::<Value>("values")?;
                Ok(move |context: &mut Context<'_>| {
                    context.sleep(Duration::from_ms(100));
                    context.control().pause("late").unwrap();
                    context.sleep(Duration::from_ms(300));
                    resumed.store(sent.load(Ordering::Relaxed), Ordering::Relaxed);
                    context.control().resume("late").unwrap();
                    context.sleep(Duration::from_ms(200));
                    context.control().stop();
                })
            })
        });
        assert!(outcome.ending.as_ref().unwrap().orderly, "{name}");
        assert!(outcome.of(Kind::Drop).is_empty() && outcome.of(Kind::Failed).is_empty(), "{name}");
        let sent = sent.load(Ordering::Relaxed);
        for (reader, list) in ["receives", "released", "looks"].iter().zip(&lists.0) {
            got_all(&list.lock().unwrap(), sent, &format!("{name}, {reader}"));
        }
        let slow = lists.0[3].lock().unwrap();
        let gaps: Vec<&[u64]> = slow.numbers.windows(2).filter(|pair| pair[1] != pair[0] + 1).collect();
        assert!(gaps.len() == 1 && slow.lost == 0, "{name}: {gaps:?}, {} lost", slow.lost);
        let resumed = resumed.load(Ordering::Relaxed);
        assert!(
            gaps[0][1] > resumed && gaps[0][1] - gaps[0][0] > 100,
            "{name}: {gaps:?}, resumed at {resumed}"
        );
        assert_eq!(recorded(&outcome, 4), (slow.numbers.len() as u64, 0), "{name}");
    }
}

/// A message with a backtrace takes longer than the broadcast has room for, and the job that panics prints it: panics on
/// purpose have none.
fn without_messages() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |about| {
        if !about.to_string().contains("on purpose") {
            hook(about);
        }
    }));
}

/// A service that does not run at release 0 has no share in what is sent before it starts; one whose component has failed
/// and stops has none in what comes after.
#[test]
fn a_reader_that_starts_late_or_fails() {
    without_messages();
    for (name, executor) in EXECUTORS {
        let lists = Lists::new();
        let sent: &'static AtomicU64 = Box::leak(Box::default());
        let fails: &'static AtomicBool = Box::leak(Box::default());
        let late = "[services.late]\nstart = \"demand\"\non-failure = { then = \"stop-service\" }\n";
        let tables = format!("{executor}{}", TABLES.replace("[services.late]\n", late));
        let outcome = run(&tables, None, |app| {
            app.task("control", |create| {
                let mut values = create.queue_writer::<Value>("values")?;
                let mut next = 1;
                Ok(each(move |job| {
                    values.send(job, value(next)).map_err(|_| Failure::Code(1))?;
                    next += 1;
                    sent.store(next - 1, Ordering::Relaxed);
                    Ok(())
                }))
            })?;
            app.receiver::<Value, _>("receives", |_| Ok(Receives(lists)))?;
            app.task("released", |create| takes(create, &lists.0[1], 1))?;
            app.task("looks", |create| takes(create, &lists.0[2], 10))?;
            app.service("late", |service| {
                service.task("slow", |create| {
                    let mut values = create.queue_reader::<Value>("values")?;
                    Ok(each(move |job| {
                        while let Some(value) = values.receive(job) {
                            lists.0[3].lock().unwrap().take(value, values.lost());
                            assert!(!fails.load(Ordering::Relaxed), "on purpose");
                        }
                        Ok(())
                    }))
                })
            })?;
            app.best_effort("logger", |create| {
                let _observes = create.queue_reader::<Value>("values")?;
                Ok(move |context: &mut Context<'_>| {
                    context.sleep(Duration::from_ms(200));
                    let before = sent.load(Ordering::Relaxed);
                    context.control().start_service("late").unwrap();
                    context.sleep(Duration::from_ms(150));
                    fails.store(true, Ordering::Relaxed);
                    context.sleep(Duration::from_ms(300));
                    lists.0[4].lock().unwrap().numbers.push(before);
                    context.control().stop();
                })
            })
        });
        let refused = (outcome.of(Kind::Drop), outcome.of(Kind::Failed));
        assert!(refused.0.is_empty() && refused.1.is_empty(), "{name}: {refused:?}");
        assert_eq!(outcome.of(Kind::Panicked).len(), 1, "{name}");
        assert!(outcome.of(Kind::Drop).is_empty() && outcome.of(Kind::Failed).is_empty(), "{name}");
        let sent = sent.load(Ordering::Relaxed);
        for (reader, list) in ["receives", "released", "looks"].iter().zip(&lists.0) {
            got_all(&list.lock().unwrap(), sent, &format!("{name}, {reader}"));
        }
        let (slow, before) = (lists.0[3].lock().unwrap(), lists.0[4].lock().unwrap().numbers[0]);
        let (first, last) = (slow.numbers[0], *slow.numbers.last().unwrap());
        assert!(slow.follow() && slow.lost == 0 && first > before, "{name}: {first} after {before}");
        assert!(sent - last > 40, "{name}: {last} of {sent}");
    }
}

/// The example of the manual: proven, with bounds for each real-time reader.
#[test]
fn the_example_is_proven() {
    let plan = app::plain::planned(include_str!("../../../examples/broadcasts/taut.toml"));
    assert!(plan.proven);
    let frames = plan.broadcasts().remove(0);
    let readers: Vec<(&str, bool)> =
        frames.readers.iter().map(|of| (of.name, of.latency.is_some())).collect();
    assert_eq!(readers, [("output", true), ("statistics", true), ("logger", false), ("panel", false)]);
}

/// The page shows what `taut check` prints for its manifest.
#[test]
fn the_page_tells_the_truth() {
    let page = include_str!("../../../docs/broadcasts.md");
    let block = |kind: &str| {
        let (_, rest) = page.split_once(&format!("```{kind}\n")).unwrap();
        rest.split_once("```").unwrap().0
    };
    let plan = app::plain::planned(block("toml"));
    let lines: Vec<String> =
        plan.broadcasts().remove(0).lines().iter().map(|line| format!("  {line}\n")).collect();
    assert_eq!(lines.concat(), block("text"));
}
