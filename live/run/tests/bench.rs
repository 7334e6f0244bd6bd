// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Applications in virtual time: the order of jobs, what each reads and when it sends, faults, and the recording, which
//! the simulator decides in the same way.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use std::sync::{Arc, Mutex};

use app::{each, plan};
use taut_boot::LoadedPlan;
use taut_event::file::Run;
use taut_event::{Ending, Kind, Record};
use taut_plan::ValidPlan;
use taut_run::bench::{Bench, ExecutionTime, Sent};
use taut_run::{
    Answer, App, Component, Error, Failure, Job, LockError, MessageReader, QueueWriter, Reason, Receiver,
    State, StateReader, Task,
};
use taut_sim::planned::Executed;
use taut_sim::replay::Replay;
use taut_time::Duration;

const MS: u64 = 1_000_000;

fn ms(ms: u64) -> Duration {
    Duration::from_ms(ms)
}

fn us(us: u64) -> Duration {
    Duration::from_us(us)
}

fn loaded(tables: &str) -> LoadedPlan {
    let plan = plan(tables).0;
    let text = plan.to_lock().unwrap();
    LoadedPlan { plan: ValidPlan::new(plan).unwrap(), text }
}

fn bench(tables: &str, setup: impl for<'p> FnOnce(&mut App<'p>) -> Result<(), Error>) -> Bench {
    Bench::with_plan(loaded(tables), setup).unwrap()
}

/// A periodic task of core 0.
fn periodic(name: &str, period: u64, wcet: u64, priority: u32, more: &str) -> String {
    format!(
        "[tasks.{name}]\narrival = {{ periodic = \"{period}ms\" }}\ndeadline = \"{period}ms\"\n\
         wcet = {{ value = \"{wcet}ms\", source = \"guess\" }}\ncore = 0\npriority = {priority}\n{more}"
    )
}

/// The instants of a task's events since release 0, each with its job, in ms.
fn of(bench: &Bench, kind: Kind, task: u16) -> Vec<(u64, u64)> {
    let of = bench.records().iter().filter(|record| record.kind == kind && record.subject == task);
    of.map(|record| (record.job, record.at.as_ns() / MS - 1_000)).collect()
}

/// Every decision that the bench recorded is the simulator's.
fn is_replayed(bench: &Bench, tables: &str) -> u64 {
    let run = Run::from_bytes(&bench.recording().unwrap()).unwrap();
    assert!(run.damage.is_none());
    let executed = Executed::new(&plan(tables).0).unwrap();
    // The real-time tasks come first in each of these manifests: a task's position is the same in the set.
    let is_of_set = |record: &&Record| {
        !record.kind.is_of_task() || usize::from(record.subject) < executed.set.tasks().len()
    };
    let records: Vec<Record> = run.records.iter().filter(is_of_set).copied().collect();
    let replay = Replay::new(&executed.set, &executed.rules)
        .limits(&executed.limits)
        .dispatched(&executed.dispatched)
        .servers(&executed.served);
    let replayed = replay.run(&records, &mut ()).unwrap();
    assert!(replayed.difference.is_none(), "{:?}", replayed.difference);
    replayed.events()
}

/// `sensor` sends its number every 10 ms, `filter` doubles it, `logger` is played.
const CHAIN: &str = r#"
[payloads]
Number = { type = "u64" }
[tasks.sensor]
arrival = { periodic = "10ms", offset = "2ms" }
deadline = "5ms"
wcet = { value = "1ms", source = "guess" }
core = 0
priority = 30
[tasks.filter]
arrival = { sporadic = "5ms", trigger = "samples" }
deadline = "5ms"
wcet = { value = "2ms", source = "guess" }
core = 0
priority = 20
[tasks.logger]
class = "best-effort"
[channels.samples]
kind = "queue"
from = "sensor"
to = "filter"
payload = "Number"
capacity = 4
[channels.doubled]
kind = "queue"
from = "filter"
to = "logger"
payload = "Number"
capacity = 4
overflow = "drop-oldest"
"#;

struct Filter<'p> {
    doubled: QueueWriter<'p, u64>,
}

impl Component for Filter<'_> {}

impl Receiver<u64> for Filter<'_> {
    fn receive(&mut self, job: &mut Job<'_>, value: u64) -> Result<(), Failure> {
        self.doubled.send(job, 2 * value).map_err(|_| Failure::Code(1))
    }
}

fn chain(app: &mut App<'_>) -> Result<(), Error> {
    app.task("sensor", |create| {
        let mut samples = create.queue_writer("samples")?;
        Ok(each(move |job| samples.send(job, job.number() + 1).map_err(|_| Failure::Code(1))))
    })?;
    app.receiver("filter", |create| Ok(Filter { doubled: create.queue_writer("doubled")? }))?;
    app.best_effort("logger", |create| {
        let mut doubled = create.queue_reader::<u64>("doubled")?;
        Ok(move |context: &mut taut_run::Context<'_>| {
            let _ = doubled.receive(context);
        })
    })
}

#[test]
fn code_runs_where_its_job_ends() {
    let tables = format!("executor = \"dispatched\"\n{CHAIN}");
    let mut bench = bench(&tables, chain);
    bench.watch("samples").unwrap();
    bench.run_for(ms(25)).unwrap();
    let at = |at, number| Sent { at: ms(at), number, value: number };
    assert_eq!(bench.sent::<u64>("samples").unwrap(), [at(3, 1), at(13, 2), at(23, 3)]);
    // The value releases the filter where it is sent; the third job is not complete.
    assert_eq!(of(&bench, Kind::Start, 1), [(0, 3), (1, 13), (2, 23)]);
    assert_eq!(of(&bench, Kind::Complete, 1), [(0, 5), (1, 15)]);
    let receive = |bench: &mut Bench| bench.task("logger").receive::<u64>("doubled").unwrap();
    assert_eq!([receive(&mut bench), receive(&mut bench), receive(&mut bench)], [Some(2), Some(4), None]);
    assert_eq!(bench.now(), ms(25));
    // An instant at which a run ends is the first of the next run.
    bench.run_until(ms(26)).unwrap();
    assert_eq!(receive(&mut bench), Some(6));
    assert!(is_replayed(&bench, &tables) > 10);
    bench.end().unwrap();
    bench.end().unwrap();
    bench.run_for(ms(100)).unwrap();
    assert_eq!(receive(&mut bench), None);
}

#[test]
fn nobody_is_waited_for() {
    let mut bench = bench(CHAIN, chain);
    let before = std::time::Instant::now();
    bench.run_for(Duration::from_s(100)).unwrap();
    assert_eq!(of(&bench, Kind::Complete, 1).len(), 10_000);
    assert!(before.elapsed() < std::time::Duration::from_secs(20), "{:?}", before.elapsed());
    // The queue to the logger drops the oldest.
    let receive = |bench: &mut Bench| bench.task("logger").receive::<u64>("doubled").unwrap();
    assert_eq!(receive(&mut bench), Some(2 * 9_997));
    bench.forget_records();
    bench.run_for(ms(10)).unwrap();
    assert_eq!(of(&bench, Kind::Complete, 1).len(), 1);
}

#[test]
fn the_seed_determines_the_recording() {
    let run = |seed| {
        let mut bench = bench(CHAIN, chain).seed(seed);
        bench.execution("sensor", ExecutionTime::uniform(us(100)..=ms(1))).unwrap();
        bench.execution("filter", ExecutionTime::uniform(us(100)..=ms(2))).unwrap();
        bench.run_for(Duration::from_s(1)).unwrap();
        bench.recording().unwrap()
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
    let of = |bytes: &[u8], task| {
        let run = Run::from_bytes(bytes).unwrap();
        let complete = |record: &&Record| record.kind == Kind::Complete && record.subject == task;
        run.records.iter().filter(complete).map(|record| record.value).collect::<Vec<_>>()
    };
    // The draws of one task do not depend on those of another.
    let mut other = bench(CHAIN, chain).seed(7);
    other.execution("sensor", ExecutionTime::uniform(us(100)..=ms(1))).unwrap();
    other.run_for(Duration::from_s(1)).unwrap();
    assert_eq!(of(&run(7), 0), of(&other.recording().unwrap(), 0));
    assert_ne!(of(&run(7), 1), of(&other.recording().unwrap(), 1));
}

#[test]
fn the_more_urgent_job_preempts() {
    for scheduler in ["fp", "edf"] {
        let executor = format!("executor = \"dispatched\"\nscheduler = \"{scheduler}\"\n");
        let tables =
            format!("{executor}{}{}", periodic("high", 4, 1, 30, ""), periodic("low", 20, 7, 20, ""));
        let tables = if scheduler == "edf" { without_priorities(&tables) } else { tables };
        let mut bench = bench(&tables, |app| {
            ["high", "low"].into_iter().try_for_each(|name| app.task(name, |_| Ok(each(|_| Ok(())))))
        });
        bench.run_for(ms(20)).unwrap();
        // 1 + 3 + 1 + 3 + 1 + 1
        assert_eq!(of(&bench, Kind::Preempt, 1), [(0, 4), (0, 8)], "{scheduler}");
        assert_eq!(of(&bench, Kind::Resume, 1), [(0, 5), (0, 9)], "{scheduler}");
        assert_eq!(of(&bench, Kind::Complete, 1), [(0, 10)], "{scheduler}");
        assert!(is_replayed(&bench, &tables) > 15, "{scheduler}");
    }
}

fn without_priorities(tables: &str) -> String {
    let kept = tables.lines().filter(|line| !line.starts_with("priority"));
    kept.map(|line| format!("{line}\n")).collect()
}

/// Random execution times, two cores, and every overrun policy: the simulator replays each recording without a
/// difference.
#[test]
fn the_simulator_decides_the_same() {
    let mut events = 0;
    for (round, policy) in ["run-on", "skip-next", "kill-job", "demote"].into_iter().enumerate() {
        let limits = if matches!(policy, "kill-job" | "demote") { "budget = \"3ms\"\n" } else { "" };
        let limits = format!("{limits}on-overrun = \"{policy}\"\n");
        let tables = format!(
            "executor = \"dispatched\"\n{}{}{}",
            periodic("first", 7, 1, 30, &limits),
            periodic("second", 11, 2, 20, &limits),
            periodic("third", 23, 3, 10, &limits),
        );
        let names = ["first", "second", "third"];
        let mut bench = bench(&tables, |app| {
            names.into_iter().try_for_each(|name| app.task(name, |_| Ok(each(|_| Ok(())))))
        })
        .seed(round as u64);
        for name in names {
            bench.execution(name, ExecutionTime::uniform(us(10)..=ms(9))).unwrap();
        }
        bench.run_for(Duration::from_s(2)).unwrap();
        let trouble = [Kind::Overrun, Kind::Exhausted].map(|kind| of(&bench, kind, 2).len());
        assert!(trouble.iter().sum::<usize>() > 5, "{policy}: {trouble:?}");
        events += is_replayed(&bench, &tables);
    }
    assert!(events > 5_000, "{events}");
}

#[test]
fn a_job_that_takes_too_long_meets_its_policy() {
    let run = |policy: &str, takes: u64| {
        let tables = periodic("late", 10, 2, 20, &format!("on-overrun = \"{policy}\"\n"));
        let mut bench = bench(&tables, |app| app.task("late", |_| Ok(each(|job| job.checkpoint()))));
        bench.takes("late", 1, ms(takes)).unwrap();
        bench.run_for(ms(60)).unwrap();
        let ended = of(&bench, Kind::Complete, 0);
        (ended, of(&bench, Kind::Skip, 0), bench.stopped())
    };
    let late = [(0, 2), (1, 35), (2, 37), (3, 39), (4, 42), (5, 52)];
    assert_eq!(run("run-on", 25), (late.to_vec(), vec![], None));
    let skipped = [(0, 2), (1, 35), (4, 42), (5, 52)];
    assert_eq!(run("skip-next", 25), (skipped.to_vec(), vec![(2, 20), (3, 30)], None));
    let killed = [(0, 2), (1, 20), (2, 22), (3, 32), (4, 42), (5, 52)];
    assert_eq!(run("kill-job", 25), (killed.to_vec(), vec![], None));
    assert_eq!(run("stop-app", 25), (vec![(0, 2)], vec![], Some(Reason::Overrun(0))));
    // A job that ends where the next is released is not late.
    assert_eq!(run("stop-app", 10).2, None);
}

#[test]
fn a_budget_ends_a_job_or_lets_others_go_first() {
    let run = |policy: &str| {
        let faulty = format!("budget = \"2ms\"\non-overrun = \"{policy}\"\n");
        let tables =
            format!("{}{}", periodic("faulty", 50, 2, 30, &faulty), periodic("other", 50, 3, 20, ""));
        let killed = Arc::new(Mutex::new(0));
        let count = Arc::clone(&killed);
        let mut bench = bench(&tables, |app| {
            app.task("faulty", |_| {
                Ok(each(move |job| {
                    *count.lock().unwrap() += u64::from(job.checkpoint() == Err(Failure::Killed));
                    assert!(job.used() <= ms(6));
                    Ok(())
                }))
            })?;
            app.task("other", |_| Ok(each(|_| Ok(()))))
        });
        bench.takes("faulty", 0, ms(6)).unwrap();
        bench.run_for(ms(40)).unwrap();
        assert_eq!(of(&bench, Kind::Exhausted, 0), [(0, 2)], "{policy}");
        let killed = *killed.lock().unwrap();
        (of(&bench, Kind::Complete, 0)[0].1, of(&bench, Kind::Complete, 1)[0].1, killed)
    };
    assert_eq!(run("run-on"), (6, 9, 0));
    assert_eq!(run("kill-job"), (5, 5, 1));
    assert_eq!(run("demote"), (9, 5, 0));
}

#[test]
fn a_release_may_come_late() {
    let mut bench = bench(CHAIN, chain);
    bench.late("sensor", 0, ms(1)).unwrap();
    bench.late("sensor", 2, ms(3)).unwrap();
    bench.late("filter", 1, us(500)).unwrap();
    bench.run_for(ms(40)).unwrap();
    assert_eq!(of(&bench, Kind::Start, 0), [(0, 3), (1, 12), (2, 25), (3, 32)]);
    // The release is nominal, and says how late it was seen.
    let release =
        bench.records().iter().find(|record| record.kind == Kind::Release && record.job == 2).unwrap();
    assert_eq!((release.at.as_ns(), release.value), ((1_000 + 22) * MS, 3 * MS));
    assert_eq!(of(&bench, Kind::Complete, 1), [(0, 6), (1, 15), (2, 28), (3, 35)]);
    let second = bench.records().iter().filter(|record| record.kind == Kind::Start && record.subject == 1);
    let starts: Vec<u64> = second.map(|record| record.at.as_ns() / 1_000 - 1_000_000).collect();
    assert_eq!(starts, [4_000, 13_500, 26_000, 33_000]);
}

#[test]
fn a_value_is_lost_and_nobody_learns_of_it() {
    let mut bench = bench(CHAIN, chain);
    bench.watch("samples").unwrap();
    bench.lose("samples", 2).unwrap();
    bench.run_for(ms(40)).unwrap();
    assert_eq!(bench.sent::<u64>("samples").unwrap().len(), 4);
    let mut got = Vec::new();
    while let Some(value) = bench.task("logger").receive::<u64>("doubled").unwrap() {
        got.push(value);
    }
    assert_eq!(got, [2, 6, 8]);
    assert!(of(&bench, Kind::Failed, 0).is_empty());
}

/// `control` reads what the client `panel` wishes, and shows its own value.
fn panel(more: &str) -> String {
    format!(
        "[payloads]\nNumber = {{ type = \"u64\" }}\n[clients.panel]\n{more}{}\
         [channels.wish]\nkind = \"state\"\nfrom = \"panel\"\nto = \"control\"\npayload = \"Number\"\n\
         [channels.shown]\nkind = \"state\"\nfrom = \"control\"\nto = \"panel\"\npayload = \"Number\"\n",
        periodic("control", 10, 1, 20, "")
    )
}

fn control(app: &mut App<'_>) -> Result<(), Error> {
    app.task("control", |create| {
        let mut wish: StateReader<'_, u64> = create.state_reader("wish")?;
        let mut shown = create.state_writer("shown")?;
        Ok(each(move |job| {
            let value = wish.latest(job).unwrap_or(0);
            shown.publish(job, value).map_err(|_| Failure::Code(1))
        }))
    })
}

#[test]
fn a_test_plays_the_clients() {
    let mut bench = bench(&panel(""), control);
    let shown = |bench: &mut Bench| bench.client("panel").latest::<u64>("shown").unwrap();
    assert_eq!(shown(&mut bench), None);
    bench.run_for(ms(5)).unwrap();
    assert_eq!(shown(&mut bench), Some(0));
    assert!(bench.client("panel").publish("wish", 7_u64).unwrap());
    bench.run_for(ms(10)).unwrap();
    assert_eq!(shown(&mut bench), Some(7));
    // A client that acts until it dies; a job sees what came before it ended.
    let mut wishes = 0;
    bench
        .every(ms(10), move |parties| {
            wishes += 1;
            let now = parties.now().as_ns() / MS;
            parties.client("panel").publish("wish", 100 + now)?;
            Ok(wishes < 3)
        })
        .unwrap();
    bench.at(ms(33), |parties| parties.client("panel").publish("wish", 1_u64).map(drop));
    bench.watch("shown").unwrap();
    bench.run_until(ms(60)).unwrap();
    let values: Vec<u64> = bench.sent::<u64>("shown").unwrap().iter().map(|sent| sent.value).collect();
    // At 21, 31, 41 and 51 ms; the client acts at 15, 25 and 35 ms.
    assert_eq!(values, [115, 125, 135, 135]);
    // An error of a script ends the run.
    bench.at(ms(70), |parties| parties.client("panle").publish("wish", 1_u64).map(drop));
    let error = bench.run_for(ms(100)).unwrap_err();
    assert_eq!((error.to_string().as_str(), bench.now()), ("the manifest has no client `panle`", ms(70)));
}

#[test]
fn what_does_not_fit_the_manifest_is_refused() {
    let mut bench = bench(&panel("[tasks.logger]\nclass = \"best-effort\"\n"), |app| {
        control(app)?;
        app.best_effort("logger", |_| Ok(|_: &mut taut_run::Context<'_>| ()))
    });
    let said = |result: Result<(), Error>| result.unwrap_err().to_string();
    let mut refused = vec![
        said(bench.client("screen").latest::<u64>("shown").map(drop)),
        said(bench.task("control").latest::<u64>("wish").map(drop)),
        said(bench.client("panel").latest::<u64>("shwon").map(drop)),
        said(bench.client("panel").receive::<u64>("shown").map(drop)),
        said(bench.client("panel").latest::<u64>("wish").map(drop)),
        said(bench.client("panel").latest::<u32>("shown").map(drop)),
        said(bench.client("panel").publish("shown", 1_u64).map(drop)),
        said(bench.client("panel").send("wish", 1_u64).map(drop)),
        said(bench.client("panel").publish("wish", 1_u32).map(drop)),
        said(bench.execution("logger", ExecutionTime::always(ms(1)))),
        said(bench.takes("contrl", 0, ms(1))),
        said(bench.late("contrl", 0, ms(1))),
        said(bench.lose("wihs", 1)),
        said(bench.lose("wish", 1)),
        said(bench.every(Duration::ZERO, |_| Ok(true))),
        said(bench.sent::<u32>("shown").map(drop)),
    ];
    let of = |tables: &str, setup: fn(&mut App<'_>) -> Result<(), Error>| {
        said(Bench::with_plan(loaded(tables), setup).map(drop))
    };
    refused.push(of(&panel(""), |_| Ok(())));
    refused.push(said(Bench::new("no/taut.lock", |_| Ok(())).map(drop)));
    let expected = [
        "the manifest has no client `screen`",
        "the manifest has no best-effort task `control`",
        "the manifest has no channel `shwon`",
        "the manifest has no queue `shown`",
        "that end of channel `wish` belongs to `control` in the manifest, not to `panel`",
        "channel `shown` carries other values in the code than in the manifest\n  manifest: u64\n  code:     u32",
        "that end of channel `shown` belongs to `control` in the manifest, not to `panel`",
        "the manifest has no queue `wish`",
        "channel `wish` carries other values in the code than in the manifest\n  manifest: u64\n  code:     u32",
        "the manifest has no real-time task `logger`",
        "the manifest has no real-time task `contrl`",
        "the manifest has no real-time task `contrl`",
        "the manifest has no channel `wihs`",
        "no party has sent anything to channel `wish` yet",
        "a party cannot act every 0 ns",
        "channel `shown` carries other values in the code than in the manifest\n  manifest: u64\n  code:     u32",
        "task `control` is in the manifest, but the code does not use it",
        "there is no no/taut.lock: `taut plan` makes it from the manifest",
    ];
    assert_eq!(refused, expected);
}

/// What jobs took: the sender and the value.
type Taken = Arc<Mutex<Vec<(String, u64)>>>;

struct Serves<'p> {
    requests: MessageReader<'p, u64>,
    taken: Taken,
}

impl Component for Serves<'_> {}

impl Task for Serves<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        while let Some(request) = self.requests.next(job) {
            self.taken.lock().unwrap().push((request.sender.to_owned(), *request.value));
        }
        Ok(())
    }
}

#[test]
fn messages_come_in_their_order() {
    let tables = format!(
        "[payloads]\nNumber = {{ type = \"u64\" }}\n[clients.panel]\n[tasks.steers]\nclass = \"best-effort\"\n\
         {}[tasks.serves]\narrival = {{ sporadic = \"2ms\", trigger = \"requests\" }}\ndeadline = \"2ms\"\n\
         wcet = {{ value = \"100us\", source = \"guess\" }}\ncore = 0\npriority = 40\n\
         [channels.requests]\nkind = \"message\"\nfrom = [\"urgent\", \"steers\", \"panel\"]\nto = \"serves\"\n\
         payload = \"Number\"\ntakes-per-release = 2\ncapacity = 4\n",
        periodic("urgent", 10, 1, 30, "")
    );
    let taken = Taken::default();
    let kept = Arc::clone(&taken);
    let mut bench = bench(&tables, move |app| {
        app.task("urgent", |create| {
            let mut requests = create.queue_writer("requests")?;
            Ok(each(move |job| requests.send(job, job.number()).map_err(|_| Failure::Code(1))))
        })?;
        app.best_effort("steers", |create| {
            let _requests = create.queue_writer::<u64>("requests")?;
            Ok(|_: &mut taut_run::Context<'_>| ())
        })?;
        app.task("serves", |create| Ok(Serves { requests: create.message_reader("requests")?, taken: kept }))
    });
    assert!(bench.client("panel").send("requests", 7_u64).unwrap());
    assert!(bench.task("steers").send("requests", 8_u64).unwrap());
    assert!(bench.client("panel").send("requests", 9_u64).unwrap());
    bench.run_for(ms(9)).unwrap();
    // Two in each job, 2 ms apart; the real-time sender's value comes in between.
    let taken = taken.lock().unwrap().clone();
    let expected = [("steers", 8), ("panel", 7), ("urgent", 0), ("panel", 9)];
    assert_eq!(taken, expected.map(|(sender, value)| (sender.to_owned(), value)));
    assert_eq!(of(&bench, Kind::Start, 2), [(0, 0), (1, 2)]);
}

/// A state with several sources, one of which the test plays: the newest value counts, by the virtual clock.
#[test]
fn the_newest_of_several_sources_is_read() {
    let tables = format!(
        "[payloads]\nNumber = {{ type = \"u64\" }}\n[clients.panel]\n[clients.map]\n{}{}\
         [channels.position]\nkind = \"state\"\nfrom = [\"odometry\", \"panel\"]\nto = [\"control\", \"map\"]\n\
         payload = \"Number\"\n",
        periodic("odometry", 10, 1, 30, ""),
        periodic("control", 5, 1, 20, "")
    );
    let read = Taken::default();
    read.lock().unwrap().reserve(64);
    let kept = Arc::clone(&read);
    let mut bench = bench(&tables, move |app| {
        app.task("odometry", |create| {
            let mut position = create.state_writer("position")?;
            Ok(each(move |job| position.publish(job, 1_000 + job.number()).map_err(|_| Failure::Code(1))))
        })?;
        app.task("control", |create| {
            let mut position = create.state_reader::<u64>("position")?;
            Ok(each(move |job| {
                let newest = position.latest_from(job).ok_or(Failure::Code(2))?;
                kept.lock().unwrap().push((newest.sender.to_owned(), *newest.value));
                Ok(())
            }))
        })
    });
    let map = |bench: &mut Bench| bench.client("map").latest::<u64>("position").unwrap();
    bench.run_until(ms(4)).unwrap();
    assert_eq!(map(&mut bench), Some(1_000));
    assert!(bench.client("panel").publish("position", 7_u64).unwrap());
    assert_eq!(map(&mut bench), Some(7));
    bench.watch("position/odometry").unwrap();
    bench.run_until(ms(14)).unwrap();
    assert_eq!(map(&mut bench), Some(1_001));
    let expected = [("odometry", 1_000), ("panel", 7), ("odometry", 1_001)];
    assert_eq!(*read.lock().unwrap(), expected.map(|(source, value)| (source.to_owned(), value)));
    let sent = bench.sent::<u64>("position/odometry").unwrap();
    assert_eq!(sent.iter().map(|sent| sent.value).collect::<Vec<_>>(), [1_001]);
    assert!(bench.client("map").publish("position", 1_u64).is_err(), "it reads");
}

/// A client and a best-effort task, which the test plays, call a real-time task.
#[test]
fn a_test_plays_callers() {
    let tables = format!(
        "[payloads]\nNumber = {{ type = \"u64\" }}\n[clients.panel]\n[tasks.asks]\nclass = \"best-effort\"\n{}\
         [channels.doubles]\nkind = \"request\"\nfrom = [\"panel\", \"asks\"]\nto = \"serves\"\npayload = \"Number\"\n\
         reply = \"Number\"\ntakes-per-release = 2\ncapacity = 3\n",
        periodic("serves", 10, 1, 30, "")
    );
    let mut bench = bench(&tables, |app| {
        app.best_effort("asks", |create| {
            let _doubles = create.request_writer::<u64, u64>("doubles")?;
            Ok(|_: &mut taut_run::Context<'_>| ())
        })?;
        app.task("serves", |create| {
            let mut doubles = create.request_reader::<u64, u64>("doubles")?;
            Ok(each(move |job| {
                while let Some(request) = doubles.next(job) {
                    let value = *request.value();
                    if value != 13 {
                        request.reply(job, 2 * value).map_err(|_| Failure::Code(1))?;
                    }
                }
                Ok(())
            }))
        })
    });
    let ask =
        |bench: &mut Bench, value: u64| bench.client("panel").request::<u64, u64>("doubles", value).unwrap();
    let answer = |bench: &mut Bench| bench.client("panel").answer::<u64, u64>("doubles").unwrap();
    let asked = [4, 13, 5].map(|value| ask(&mut bench, value).unwrap());
    assert_eq!(ask(&mut bench, 6), None, "three are open");
    assert!(bench.task("asks").request::<u64, u64>("doubles", 7).unwrap().is_some());
    assert!(bench.client("panel").send("doubles", 1_u64).is_err(), "a request is no queue");
    assert_eq!(answer(&mut bench), None);
    bench.run_for(ms(9)).unwrap();
    // Two in each job. A client's requests count from when the receiver sees them.
    let (_, reply) = bench.task("asks").answer::<u64, u64>("doubles").unwrap().unwrap();
    assert_eq!(reply, Answer::Reply(14));
    assert_eq!(answer(&mut bench), Some((asked[0], Answer::Reply(8))));
    assert_eq!(answer(&mut bench), None);
    let last = ask(&mut bench, 6).unwrap();
    bench.run_for(ms(20)).unwrap();
    assert_eq!(answer(&mut bench), Some((asked[1], Answer::Unanswered)));
    assert_eq!(answer(&mut bench), Some((asked[2], Answer::Reply(10))));
    assert_eq!(answer(&mut bench), Some((last, Answer::Reply(12))));
    // What was dropped is recorded with the next look.
    let dropped = bench.records().iter().filter(|record| record.kind == Kind::Drop);
    assert_eq!(dropped.map(|record| (record.subject, record.value)).collect::<Vec<_>>(), [(2, 1)]);
}

struct Counts {
    log: Arc<Mutex<Vec<&'static str>>>,
}

impl Component for Counts {
    fn start(&mut self) {
        self.log.lock().unwrap().push("start");
    }
    fn pause(&mut self) {
        self.log.lock().unwrap().push("pause");
    }
    fn resume(&mut self) {
        self.log.lock().unwrap().push("resume");
    }
    fn reset(&mut self, _: &mut Job<'_>) -> Result<(), Failure> {
        self.log.lock().unwrap().push("reset");
        Ok(())
    }
    fn stop(&mut self) {
        self.log.lock().unwrap().push("stop");
    }
    fn finish(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        self.log.lock().unwrap().push("finish");
        Ok(())
    }
}

impl Task for Counts {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        assert!(job.number() != 5, "the sixth job is made to fail");
        self.log.lock().unwrap().push("job");
        Ok(())
    }
}

#[test]
fn a_service_pauses_restarts_and_stops() {
    let service = "[services.side]\non-failure = { restart = 1, within = \"1s\" }\n";
    let tables = format!("{service}{}", periodic("counts", 10, 1, 20, "service = \"side\"\n"));
    let log = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&log);
    let mut bench = bench(&tables, move |app| {
        app.service("side", |service| service.task("counts", |_| Ok(Counts { log: kept })))
    });
    bench.run_for(ms(15)).unwrap();
    bench.control().pause("side").unwrap();
    bench.run_for(ms(20)).unwrap();
    assert!(bench.control().is_acknowledged("side").unwrap());
    bench.control().resume("side").unwrap();
    bench.run_for(ms(40)).unwrap();
    assert_eq!(bench.control().state("side"), Ok(State::Running));
    bench.end().unwrap();
    let expected = ["start", "job", "job", "pause", "resume", "job", "reset", "job", "stop", "finish"];
    assert_eq!(*log.lock().unwrap(), expected);
    assert_eq!(of(&bench, Kind::Panicked, 0), [(5, 51)]);
}

#[test]
fn a_panic_may_stop_the_application() {
    let mut bench = {
        let tables = periodic("fails", 10, 1, 20, "");
        let (plan, _) = app::plan_of(app::STOP_APP, &tables);
        let text = plan.to_lock().unwrap();
        let loaded = LoadedPlan { plan: ValidPlan::new(plan).unwrap(), text };
        Bench::with_plan(loaded, |app| {
            app.task("fails", |_| {
                Ok(each(|job| {
                    assert!(job.number() < 2, "the third job is made to fail");
                    Ok(())
                }))
            })
        })
        .unwrap()
    };
    bench.run_for(ms(100)).unwrap();
    assert_eq!((bench.stopped(), bench.now()), (Some(Reason::Panic(0)), ms(21)));
    let run = Run::from_bytes(&bench.recording().unwrap()).unwrap();
    assert_eq!(Ending::of(&run.records), Ending::Panic(0));
    assert_eq!(bench.end().unwrap_err().to_string(), "it panicked");
}

const RESOURCES: &str = r#"
[resources.bus]
[resources.log]
[tasks.first]
arrival = { periodic = "10ms" }
deadline = "10ms"
wcet = { value = "1ms", source = "guess" }
core = 0
priority = 30
sections = [{ resource = "bus", longest = "100us" }, { resource = "log", longest = "100us" }]
[tasks.second]
arrival = { periodic = "10ms" }
deadline = "10ms"
wcet = { value = "1ms", source = "guess" }
core = 0
priority = 20
sections = [{ resource = "bus", longest = "100us" }, { resource = "log", longest = "100us" }]
"#;

#[test]
fn a_section_has_its_value_alone() {
    let found = Arc::new(Mutex::new(Vec::new()));
    let (kept, seen) = (Arc::clone(&found), Arc::clone(&found));
    let mut bench = bench(RESOURCES, move |app| {
        app.resource("bus", 0_u64)?;
        app.resource("log", 0_u64)?;
        app.task("first", |create| {
            let (bus, log) = (create.resource::<u64>("bus")?, create.resource::<u64>("log")?);
            Ok(each(move |job| {
                let number = job.number();
                let nested = job.lock(&bus, |count, job| {
                    *count += 1;
                    let again = job.lock(&bus, |_, _| ());
                    let inner = job.lock(&log, |count, job| {
                        *count += 1;
                        job.now();
                    });
                    assert!(number != 2, "the third job is made to fail");
                    (again, inner)
                })?;
                kept.lock().unwrap().push(format!("{nested:?}"));
                Ok(())
            }))
        })?;
        app.task("second", |create| {
            let bus = create.resource::<u64>("bus")?;
            Ok(each(move |job| {
                let got = job.lock(&bus, |count, _| *count);
                seen.lock().unwrap().push(format!("{got:?}"));
                if let Err(LockError::Poisoned { .. }) = got {
                    let repaired = job.recover(&bus, |count, is_torn, _| (*count, is_torn));
                    seen.lock().unwrap().push(format!("{repaired:?}"));
                }
                Ok(())
            }))
        })
    });
    bench.run_for(ms(40)).unwrap();
    let found = found.lock().unwrap().clone();
    let nested = "(Err(Held { resource: 0 }), Ok(()))";
    let expected = [nested, "Ok(1)", nested, "Ok(2)", "Err(Poisoned { by: 0 })", "Ok((3, true))", "Ok(3)"];
    assert_eq!(found, expected);
}

/// Synchronous flows between two cores: each job reads what its nominal instant says, whatever is late.
#[test]
fn a_flow_is_that_of_its_instants() {
    let task = |name: &str, period: u64, core: u32, priority: u32| {
        periodic(name, period, 1, priority, "").replace("core = 0", &format!("core = {core}"))
    };
    let state = |name: &str, from: &str, to: &str, more: &str| {
        format!(
            "[channels.{name}]\nkind = \"state\"\nflow = \"synchronous\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
             payload = \"Number\"\n{more}"
        )
    };
    let tables = format!(
        "[payloads]\nNumber = {{ type = \"u64\" }}\n{}{}{}{}",
        task("slow", 20, 1, 20),
        task("fast", 10, 0, 30),
        state("down", "slow", "fast", ""),
        state("up", "fast", "slow", "delayed = [\"slow\"]\n"),
    );
    for late in [false, true] {
        let found = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&found);
        let mut bench = bench(&tables, move |app| {
            app.task("slow", |create| {
                let (mut up, mut down) = (create.state_reader::<u64>("up")?, create.state_writer("down")?);
                Ok(each(move |job| {
                    let got = up.latest(job).unwrap_or(99);
                    down.publish(job, 100 * job.number() + got).map_err(|_| Failure::Code(1))
                }))
            })?;
            app.task("fast", |create| {
                let (mut down, mut up) = (create.state_reader::<u64>("down")?, create.state_writer("up")?);
                Ok(each(move |job| {
                    kept.lock().unwrap().push((job.number(), down.latest(job)));
                    up.publish(job, job.number()).map_err(|_| Failure::Code(1))
                }))
            })
        });
        if late {
            bench.takes("slow", 1, ms(9)).unwrap();
            bench.takes("fast", 3, ms(8)).unwrap();
            bench.late("slow", 3, ms(4)).unwrap();
        }
        bench.run_for(ms(90)).unwrap();
        // Job 2k of `fast` reads what job k of `slow` wrote at that instant, though both are released at once.
        let expected = [99, 99, 101, 101, 203, 203, 305, 305, 407];
        let expected: Vec<_> = (0..).zip(expected.map(Some)).collect();
        assert_eq!(*found.lock().unwrap(), expected, "late: {late}");
        // A job that needs a value of its instant waits for it.
        let start = of(&bench, Kind::Start, 1)[2];
        assert_eq!(start, (2, if late { 29 } else { 21 }));
    }
}

#[test]
fn code_that_waits_for_an_instant_comes_to_it() {
    let mut bench = bench(&periodic("waits", 20, 5, 20, ""), |app| {
        app.task("waits", |_| {
            Ok(each(|job| {
                let begun = job.now();
                assert_eq!(begun.since(job.release()), ms(5));
                let mut looks = 0_u32;
                while job.now().since(begun) < ms(3) {
                    looks += 1;
                }
                assert_eq!(looks, 2_999);
                Ok(())
            }))
        })
    });
    bench.run_for(ms(50)).unwrap();
    assert_eq!(of(&bench, Kind::Complete, 0), [(0, 5), (1, 25), (2, 45)]);
    assert!(of(&bench, Kind::Panicked, 0).is_empty());
}

/// The bench itself uses no heap while a job runs, so that a job's own use is seen.
#[test]
fn a_job_that_uses_the_heap_has_failed() {
    let mut bench = bench(CHAIN, |app| {
        app.task("sensor", |create| {
            let mut samples = create.queue_writer("samples")?;
            Ok(each(move |job| {
                if job.number() == 2 {
                    drop(std::hint::black_box(Box::new(1_u64)));
                }
                samples.send(job, job.number()).map_err(|_| Failure::Code(1))
            }))
        })?;
        app.receiver("filter", |create| Ok(Filter { doubled: create.queue_writer("doubled")? }))?;
        app.best_effort("logger", |create| {
            let doubled = create.queue_reader::<u64>("doubled")?;
            Ok(move |_: &mut taut_run::Context<'_>| drop(doubled))
        })
    });
    bench.watch("samples").unwrap();
    bench.watch("doubled").unwrap();
    bench.run_for(ms(95)).unwrap();
    let used: Vec<_> = bench.records().iter().filter(|record| record.kind == Kind::HeapUsed).collect();
    let used: Vec<_> = used.iter().map(|record| (record.subject, record.job, record.value)).collect();
    assert_eq!(used, [(0, 2, 2)]);
}
