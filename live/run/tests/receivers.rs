// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Receivers learn of changes of their service while no value comes, and lose no value by it.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use std::sync::Mutex;

use app::{Outcome, run};
use taut_event::Kind;
use taut_run::{Component, Context, Failure, Job, Receiver};
use taut_time::{Duration, Instant};

/// The receiver comes first: it is task 0.
const TABLES: &str = r#"
EXECUTOR
[payloads]
Count = { type = "u64" }
[services.sound]
[tasks.takes]
arrival = { sporadic = "GAP", trigger = "counts" }
deadline = "GAP"
wcet = { value = "50us", source = "guess" }
service = "sound"
[tasks.also-takes]
arrival = { sporadic = "GAP", trigger = "others" }
deadline = "GAP"
wcet = { value = "50us", source = "guess" }
service = "sound"
[tasks.steers]
class = "best-effort"
[channels.counts]
kind = "queue"
from = "steers"
to = "takes"
payload = "Count"
capacity = 16
[channels.others]
kind = "queue"
from = "steers"
to = "also-takes"
payload = "Count"
capacity = 16
"#;

/// How much longer than stated anything may take here, on a busy machine.
const PATIENCE: Duration = Duration::from_s(2);

/// What a receiver was called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Called {
    Value(u64),
    Pause,
    Resume,
    Stop,
}

#[derive(Default)]
struct Calls(Mutex<Vec<(Called, u64)>>);

impl Calls {
    fn push(&self, call: Called) {
        self.0.lock().unwrap().push((call, taut_sys::clock::monotonic_ns()));
    }

    fn all(&self) -> Vec<Called> {
        self.0.lock().unwrap().iter().map(|(call, _)| *call).collect()
    }

    fn when(&self, call: Called) -> Option<u64> {
        self.0.lock().unwrap().iter().find(|(of, _)| *of == call).map(|(_, at)| *at)
    }
}

struct Taker<'t>(&'t Calls);

impl Component for Taker<'_> {
    fn pause(&mut self) {
        self.0.push(Called::Pause);
    }
    fn resume(&mut self) {
        self.0.push(Called::Resume);
    }
    fn stop(&mut self) {
        self.0.push(Called::Stop);
    }
}

impl Receiver<u64> for Taker<'_> {
    fn receive(&mut self, _: &mut Job<'_>, value: u64) -> Result<(), Failure> {
        self.0.push(Called::Value(value));
        Ok(())
    }
}

/// Runs an application whose best-effort task calls `steer`, with a writer to the first receiver. Returns what both
/// receivers were called for.
fn steered(
    executor: &str,
    gap: &str,
    steer: impl FnOnce(&mut Context<'_>, &mut dyn FnMut(&mut Context<'_>, u64), [&Calls; 2]) + Send + 'static,
) -> (Outcome, [Vec<Called>; 2]) {
    let tables = TABLES.replace("EXECUTOR", executor).replace("GAP", gap);
    let reported: &[Calls; 2] = Box::leak(Box::default());
    let outcome = run(&tables, None, |app| {
        app.service("sound", |service| {
            service.receiver::<u64, _>("takes", |_| Ok(Taker(&reported[0])))?;
            service.receiver::<u64, _>("also-takes", |_| Ok(Taker(&reported[1])))
        })?;
        app.best_effort("steers", |create| {
            let mut counts = create.queue_writer::<u64>("counts")?;
            let _others = create.queue_writer::<u64>("others")?;
            Ok(move |context: &mut Context<'_>| {
                let mut send = |context: &mut Context<'_>, value| counts.send(context, value).unwrap();
                steer(context, &mut send, [&reported[0], &reported[1]]);
                context.control().stop();
            })
        })
    });
    assert!(outcome.ending.as_ref().unwrap().orderly);
    assert!(outcome.of(Kind::Drop).is_empty() && outcome.of(Kind::Failed).is_empty());
    (outcome, [reported[0].all(), reported[1].all()])
}

/// Waits until both receivers were called for `call`. Returns how long that took, at most.
fn both(context: &Context<'_>, reported: [&Calls; 2], call: Called, since: Instant) -> Duration {
    let give_up = since.as_ns() + PATIENCE.as_ns();
    while context.now().as_ns() < give_up {
        if let [Some(one), Some(other)] = reported.map(|reported| reported.when(call)) {
            return Duration::from_ns(one.max(other).saturating_sub(since.as_ns()));
        }
        context.sleep(Duration::from_ms(1));
    }
    panic!("{call:?} was not called in {PATIENCE}: {:?}", reported.map(Calls::all));
}

/// Waits until the first receiver has received a value.
fn received(context: &Context<'_>, reported: [&Calls; 2], value: u64) {
    let give_up = context.now().as_ns() + PATIENCE.as_ns();
    while reported[0].when(Called::Value(value)).is_none() {
        assert!(context.now().as_ns() < give_up, "{value} was not received: {:?}", reported[0].all());
        context.sleep(Duration::from_ms(1));
    }
}

const EXECUTORS: [(&str, &str); 2] = [("native", ""), ("dispatched", "executor = \"dispatched\"")];

#[test]
fn a_receiver_hears_of_pause_resume_and_stop_without_a_value() {
    for (name, executor) in EXECUTORS {
        let (outcome, calls) = steered(executor, "2ms", move |context, send, reported| {
            context.sleep(Duration::from_ms(20));
            let change = |context: &Context<'_>, call, change: &dyn Fn()| {
                let since = context.now();
                change();
                both(context, reported, call, since);
            };
            let control = context.control();
            change(context, Called::Pause, &|| control.pause("sound").unwrap());
            // The values wait.
            (1..=5).for_each(|value| send(context, value));
            context.sleep(Duration::from_ms(30));
            assert_eq!(reported[0].all(), [Called::Pause], "{name}");
            change(context, Called::Resume, &|| control.resume("sound").unwrap());
            received(context, reported, 5);
            change(context, Called::Stop, &|| control.stop_service("sound").unwrap());
        });
        let values = (1..=5).map(Called::Value);
        let expected: Vec<Called> =
            [Called::Pause, Called::Resume].into_iter().chain(values).chain([Called::Stop]).collect();
        assert_eq!(calls[0], expected, "{name}: every value, once, in order");
        assert_eq!(calls[1], [Called::Pause, Called::Resume, Called::Stop], "{name}");
        // Two tasks record three changes each.
        let states: Vec<u64> = outcome.of(Kind::Service).iter().map(|record| record.value).collect();
        assert_eq!(states.len(), 6, "{name}: {states:?}");
        // Releases keep the minimum inter-arrival time, and none is late: a value that waited is due when it may be
        // received.
        let releases: Vec<u64> = outcome.of_task(Kind::Release, 0).iter().map(|r| r.at.as_ns()).collect();
        assert!(releases.len() >= 7, "{name}: {releases:?}");
        assert!(releases.windows(2).all(|pair| pair[1] - pair[0] >= 2_000_000), "{name}: {releases:?}");
        assert_eq!(outcome.of_task(Kind::Receive, 0).len(), 5, "{name}");
        let resumed = outcome.of(Kind::Service).iter().filter(|r| r.job == 0).nth(1).unwrap().at.as_ns();
        let of_values = releases.iter().filter(|release| **release > resumed).count();
        assert!(of_values >= 5, "{name}: {releases:?} after {resumed}");
        // Numbers without a gap: each one is a completed job.
        let numbers: Vec<u64> = outcome.of_task(Kind::Complete, 0).iter().map(|r| r.job).collect();
        assert!(numbers.iter().zip(0..).all(|(number, expected)| *number == expected), "{name}: {numbers:?}");
    }
}

/// A value has already been taken, for a job that is not due yet, when the pause comes.
#[test]
fn a_pause_does_not_lose_the_value_of_a_deferred_job() {
    for (name, executor) in EXECUTORS {
        let (_, calls) = steered(executor, "60ms", move |context, send, reported| {
            context.sleep(Duration::from_ms(80));
            (1..=2).for_each(|value| send(context, value));
            let since = context.now();
            received(context, reported, 1);
            context.control().pause("sound").unwrap();
            both(context, reported, Called::Pause, since);
            context.sleep(Duration::from_ms(100));
            assert_eq!(reported[0].all(), [Called::Value(1), Called::Pause], "{name}");
            let since = context.now();
            context.control().resume("sound").unwrap();
            both(context, reported, Called::Resume, since);
            received(context, reported, 2);
        });
        let expected = [Called::Value(1), Called::Pause, Called::Resume, Called::Value(2), Called::Stop];
        assert_eq!(calls[0], expected, "{name}");
    }
}

/// The end of the application wakes a best-effort task that sleeps; the task does not poll for it.
#[test]
fn a_sleep_ends_with_the_application_and_is_one() {
    let (_, calls) = steered("", "2ms", |context, _, reported| {
        let before = taut_sys::usage::thread_usage().voluntary_switches;
        context.sleep(Duration::from_ms(400));
        let slept = taut_sys::usage::thread_usage().voluntary_switches - before;
        assert!((1..10).contains(&slept), "{slept} times");
        assert_eq!(reported[0].all(), []);
        let (control, since) = (context.control(), context.now());
        let stopper = std::thread::scope(|threads| {
            threads.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(50));
                control.stop();
            });
            context.sleep(Duration::from_s(60))
        });
        assert!(!stopper && context.now().as_ns() - since.as_ns() < PATIENCE.as_ns());
    });
    assert_eq!(calls[0], [Called::Stop]);
}

/// Many changes in a row, at any moment of a receiver: it learns of the last one, and receives every value.
#[test]
fn no_change_and_no_value_is_lost_among_many() {
    for (name, executor) in EXECUTORS {
        let (_, calls) = steered(executor, "1ms", |context, send, reported| {
            let mut random = 1u64;
            for value in 1..=200 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if random >> 63 == 0 {
                    context.control().pause("sound").unwrap();
                } else {
                    context.control().resume("sound").unwrap();
                }
                // No more values wait than fit.
                if value % 10 == 0 {
                    context.control().resume("sound").unwrap();
                    received(context, reported, value - 1);
                }
                send(context, value);
                context.sleep(Duration::from_us(random >> 54));
            }
            context.control().resume("sound").unwrap();
            received(context, reported, 200);
        });
        let values: Vec<u64> = calls[0]
            .iter()
            .filter_map(|call| if let Called::Value(value) = call { Some(*value) } else { None })
            .collect();
        assert_eq!(values, (1..=200).collect::<Vec<u64>>(), "{name}");
        for of in calls {
            let changes = of.iter().filter(|call| !matches!(call, Called::Value(_)));
            let changes: Vec<&Called> = changes.collect();
            let turns = changes.iter().zip([Called::Pause, Called::Resume].iter().cycle());
            let turns = turns.take_while(|(call, expected)| *call == expected).count();
            assert_eq!(turns + 1, changes.len(), "{name}: in turns, the stop behind: {changes:?}");
            assert!(turns > 4 && turns.is_multiple_of(2), "{name}: {changes:?}");
        }
    }
}
