// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Tasks that several channels release: a job while a value waits in any of them, and none closer than the least gap.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use std::sync::Mutex;

use app::{Outcome, run};
use taut_event::Kind;
use taut_run::{Component, Context, Error, Failure, Job, QueueReader, QueueWriter, Task};
use taut_time::Duration;

const GAP_NS: u64 = 3_000_000;

/// The task that several channels release comes first: it is task 0.
const TABLES: &str = r#"
EXECUTOR
[payloads]
Count = { type = "u64" }
Pair = { type = "u32", len = 2 }
[services.sound]
[tasks.mixes]
arrival = { sporadic = "3ms", triggers = ["counts", "pairs"] }
deadline = "3ms"
wcet = { value = "50us", source = "guess" }
service = "sound"
[tasks.steers]
class = "best-effort"
[channels.counts]
kind = "queue"
from = "steers"
to = "mixes"
payload = "Count"
capacity = 16
takes-per-release = 2
[channels.pairs]
kind = "queue"
from = "steers"
to = "mixes"
payload = "Pair"
capacity = 16
"#;

const EXECUTORS: [(&str, &str); 2] = [("native", ""), ("dispatched", "executor = \"dispatched\"")];

/// What a job took, or what the task was called for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Called {
    Took(Vec<u64>, Vec<u32>),
    Pause,
    Resume,
    Stop,
}

struct Mixes<'t, 'p> {
    counts: QueueReader<'p, u64>,
    pairs: QueueReader<'p, [u32; 2]>,
    calls: &'t Mutex<Vec<Called>>,
}

impl Component for Mixes<'_, '_> {
    fn pause(&mut self) {
        self.calls.lock().unwrap().push(Called::Pause);
    }
    fn resume(&mut self) {
        self.calls.lock().unwrap().push(Called::Resume);
    }
    fn stop(&mut self) {
        self.calls.lock().unwrap().push(Called::Stop);
    }
}

impl Task for Mixes<'_, '_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let counts = (0..2).filter_map(|_| self.counts.receive(job)).collect();
        let pairs = self.pairs.receive(job).map(|[first, _]| first).into_iter().collect();
        self.calls.lock().unwrap().push(Called::Took(counts, pairs));
        Ok(())
    }
}

type Ends<'e, 'p> = (&'e mut QueueWriter<'p, u64>, &'e mut QueueWriter<'p, [u32; 2]>);

fn steered(
    executor: &str,
    steer: impl for<'e, 'p> FnOnce(&mut Context<'_>, Ends<'e, 'p>, &Mutex<Vec<Called>>) + Send + 'static,
) -> (Outcome, Vec<Called>) {
    let tables = TABLES.replace("EXECUTOR", executor);
    let calls: &'static Mutex<Vec<Called>> = Box::leak(Box::default());
    let outcome = run(&tables, None, |app| {
        app.service("sound", |service| {
            service.task("mixes", |create| {
                let (counts, pairs) = (create.queue_reader("counts")?, create.queue_reader("pairs")?);
                Ok(Mixes { counts, pairs, calls })
            })
        })?;
        app.best_effort("steers", |create| {
            let mut counts = create.queue_writer::<u64>("counts")?;
            let mut pairs = create.queue_writer::<[u32; 2]>("pairs")?;
            Ok(move |context: &mut Context<'_>| {
                steer(context, (&mut counts, &mut pairs), calls);
                context.control().stop();
            })
        })
    });
    assert!(outcome.ending.as_ref().unwrap().orderly);
    assert!(outcome.of(Kind::Drop).is_empty() && outcome.of(Kind::Failed).is_empty());
    let calls = calls.lock().unwrap().clone();
    (outcome, calls)
}

fn took(calls: &[Called]) -> (Vec<u64>, Vec<u32>) {
    let mut all = (Vec::new(), Vec::new());
    for call in calls {
        if let Called::Took(counts, pairs) = call {
            all.0.extend(counts);
            all.1.extend(pairs);
        }
    }
    all
}

/// Waits until the task has taken so many values of both channels.
fn wait(context: &Context<'_>, calls: &Mutex<Vec<Called>>, counts: usize, pairs: usize) {
    let give_up = context.now().as_ns() + 2_000_000_000;
    loop {
        let now = took(&calls.lock().unwrap());
        if (now.0.len(), now.1.len()) == (counts, pairs) {
            return;
        }
        assert!(context.now().as_ns() < give_up, "{now:?}");
        context.sleep(Duration::from_ms(1));
    }
}

#[test]
fn either_channel_releases_and_a_job_takes_from_both() {
    for (name, executor) in EXECUTORS {
        let (outcome, calls) = steered(executor, |context, (counts, pairs), calls| {
            context.sleep(Duration::from_ms(20));
            counts.send(context, 1).unwrap();
            wait(context, calls, 1, 0);
            pairs.send(context, [7, 0]).unwrap();
            wait(context, calls, 1, 1);
            // All of these wait until the gap is over: a job takes two of one channel and one of the other.
            (2..=6).for_each(|count| counts.send(context, count).unwrap());
            (8..=9).for_each(|first| pairs.send(context, [first, 0]).unwrap());
            wait(context, calls, 6, 3);
        });
        assert_eq!(took(&calls), ((1..=6).collect(), (7..=9).collect()), "{name}");
        assert_eq!(calls[..2], [Called::Took(vec![1], vec![]), Called::Took(vec![], vec![7])], "{name}");
        let jobs = calls.iter().filter(|call| matches!(call, Called::Took(..))).count();
        assert!(jobs <= 2 + 4, "{name}: a value that was sent while a job ran may cost one more: {calls:?}");
        assert_eq!(calls.last(), Some(&Called::Stop), "{name}");
        let releases: Vec<u64> = outcome.of_task(Kind::Release, 0).iter().map(|r| r.at.as_ns()).collect();
        assert!(releases.windows(2).all(|pair| pair[1] - pair[0] >= GAP_NS), "{name}: {releases:?}");
        // A job is released when the oldest value was sent, or when the gap is over.
        let sent: Vec<u64> = outcome.of(Kind::Send).iter().map(|record| record.at.as_ns()).collect();
        assert_eq!(releases[0], sent[0], "{name}");
        let second = sent[1].max(releases[0] + GAP_NS);
        assert_eq!(releases[1], second, "{name}");
    }
}

/// Best-effort tasks begin before release 0. What they send then is due at release 0, and the gap counts from there.
#[test]
fn what_was_sent_before_release_0_is_due_then() {
    for (name, executor) in EXECUTORS {
        // A machine may let the sender begin late.
        let was_early = (0..5).any(|_| {
            let (outcome, calls) = steered(executor, |context, (counts, pairs), calls| {
                (1..=6).for_each(|count| counts.send(context, count).unwrap());
                pairs.send(context, [7, 0]).unwrap();
                wait(context, calls, 6, 1);
            });
            assert_eq!(took(&calls), ((1..=6).collect(), vec![7]), "{name}");
            let begun = outcome.of(Kind::Begin)[0].at;
            let releases = outcome.of_task(Kind::Release, 0);
            let due = releases
                .iter()
                .zip(0..)
                .all(|(release, at)| release.at.as_ns() >= begun.as_ns() + at * GAP_NS);
            assert!(due, "{name}: {releases:?} of {begun:?}");
            outcome.of(Kind::Send)[0].at < begun
        });
        assert!(was_early, "{name}: nothing was sent before release 0");
    }
}

#[test]
fn values_wait_for_a_pause() {
    for (name, executor) in EXECUTORS {
        let (_, calls) = steered(executor, |context, (counts, pairs), calls| {
            context.sleep(Duration::from_ms(20));
            context.control().pause("sound").unwrap();
            context.sleep(Duration::from_ms(20));
            counts.send(context, 1).unwrap();
            pairs.send(context, [2, 0]).unwrap();
            context.sleep(Duration::from_ms(30));
            assert_eq!(calls.lock().unwrap().as_slice(), [Called::Pause]);
            context.control().resume("sound").unwrap();
            wait(context, calls, 1, 1);
            context.control().stop_service("sound").unwrap();
            context.sleep(Duration::from_ms(20));
            counts.send(context, 3).unwrap();
            context.sleep(Duration::from_ms(20));
        });
        let expected = [Called::Pause, Called::Resume, Called::Took(vec![1], vec![2]), Called::Stop];
        assert_eq!(calls, expected, "{name}");
    }
}

/// An end of a channel that releases a task gives its values to the jobs of that task alone: the runtime looks at the
/// channel in between.
#[test]
fn only_the_released_task_reads_its_triggers() {
    const HANDED: &str = r#"
[payloads]
Count = { type = "u64" }
[tasks.released]
arrival = { sporadic = "2ms", trigger = "counts" }
deadline = "2ms"
wcet = { value = "50us", source = "guess" }
[tasks.steers]
class = "best-effort"
[channels.counts]
kind = "queue"
from = "steers"
to = "released"
payload = "Count"
capacity = 16
"#;
    let found: &'static Mutex<Vec<Option<u64>>> = Box::leak(Box::default());
    let outcome = run(HANDED, None, |app| {
        let mut taken = None;
        app.task("released", |create| {
            taken = Some(create.queue_reader::<u64>("counts")?);
            Ok(app::each(|_| Ok(())))
        })?;
        let mut taken = taken.unwrap();
        app.best_effort("steers", |create| {
            let mut counts = create.queue_writer::<u64>("counts")?;
            Ok(move |context: &mut Context<'_>| {
                counts.send(context, 1).unwrap();
                found.lock().unwrap().push(taken.receive(context));
                context.control().stop();
            })
        })
    });
    assert!(outcome.ending.unwrap().orderly);
    assert_eq!(*found.lock().unwrap(), [None]);
}

/// A task that several channels release is no receiver: the runtime could hand over the values of one alone.
#[test]
fn a_receiver_has_one_queue() {
    struct Takes;
    impl Component for Takes {}
    impl taut_run::Receiver<u64> for Takes {
        fn receive(&mut self, _: &mut Job<'_>, _: u64) -> Result<(), Failure> {
            Ok(())
        }
    }
    let outcome = run(&TABLES.replace("EXECUTOR", ""), None, |app| {
        app.service("sound", |service| service.receiver::<u64, _>("mixes", |_| Ok(Takes)))
    });
    let error = outcome.ending.err().map(|error: Error| error.to_string());
    assert!(error.as_ref().is_some_and(|error| error.contains("receiver of one queue")), "{error:?}");
}
