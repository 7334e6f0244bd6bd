// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Servers in virtual time: what their tasks get and when, aperiodic tasks against their bounds, and recordings that the
//! simulator decides in the same way.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use app::{each, plan};
use taut_boot::LoadedPlan;
use taut_event::file::Run;
use taut_event::{Kind, Record};
use taut_plan::{Plan, ValidPlan};
use taut_run::bench::{Bench, ExecutionTime};
use taut_run::{App, Component, Error, Failure, Job, MessageReader, Receiver, Task};
use taut_sim::planned::Executed;
use taut_sim::replay::Replay;
use taut_time::Duration;

const MS: u64 = 1_000_000;
const POLICIES: [&str; 3] = ["polling", "deferrable", "sporadic"];

fn ms(ms: u64) -> Duration {
    Duration::from_ms(ms)
}

fn us(us: u64) -> Duration {
    Duration::from_us(us)
}

fn bench(tables: &str, setup: impl for<'p> FnOnce(&mut App<'p>) -> Result<(), Error>) -> Bench {
    let plan = plan(tables).0;
    let text = plan.to_lock().unwrap();
    Bench::with_plan(LoadedPlan { plan: ValidPlan::new(plan).unwrap(), text }, setup).unwrap()
}

fn server(name: &str, policy: &str, budget_us: u64, period_us: u64, priority: u32) -> String {
    format!(
        "[servers.{name}]\npolicy = \"{policy}\"\nbudget = \"{budget_us}us\"\nperiod = \"{period_us}us\"\ncore = 0\n\
         priority = {priority}\n"
    )
}

fn periodic(name: &str, period: u64, wcet_us: u64, more: &str) -> String {
    format!(
        "[tasks.{name}]\narrival = {{ periodic = \"{period}ms\" }}\ndeadline = \"{period}ms\"\n\
         wcet = {{ value = \"{wcet_us}us\", source = \"guess\" }}\n{more}"
    )
}

/// The instants of a task's events since release 0, each with its job, in us.
fn of(bench: &Bench, kind: Kind, task: u16) -> Vec<(u64, u64)> {
    let of = bench.records().iter().filter(|record| record.kind == kind && record.subject == task);
    of.map(|record| (record.job, record.at.as_ns() / 1_000 - 1_000_000)).collect()
}

/// The simulator replays the recording, and finds no difference. The set has the real-time tasks first, as these manifests do.
fn is_replayed(bench: &Bench, tables: &str) -> u64 {
    let run = Run::from_bytes(&bench.recording().unwrap()).unwrap();
    let executed = Executed::new(&plan(tables).0).unwrap();
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
    assert!(replayed.is_equal(), "{:?}", replayed.cores);
    replayed.events()
}

/// A job of 5 ms in a server of 2 ms every 10 ms, above a task of 8 ms: two whole budgets, and the rest when nothing else of
/// the core wants to run.
#[test]
fn a_job_in_a_server_runs_by_its_budget() {
    for policy in POLICIES {
        let tables = format!(
            "{}{}{}",
            server("share", policy, 2_000, 10_000, 50),
            periodic("bulk", 50, 1_000, "server = \"share\"\n"),
            periodic("low", 20, 8_000, "core = 0\npriority = 10\n")
        );
        let mut bench = bench(&tables, |app| {
            ["bulk", "low"].into_iter().try_for_each(|name| app.task(name, |_| Ok(each(|_| Ok(())))))
        });
        bench.takes("bulk", 0, ms(5)).unwrap();
        bench.run_for(ms(40)).unwrap();
        assert_eq!(of(&bench, Kind::Complete, 0), [(0, 13_000)], "{policy}");
        assert_eq!(of(&bench, Kind::Complete, 1), [(0, 10_000), (1, 28_000)], "{policy}");
        assert_eq!(
            of(&bench, Kind::Preempt, 0),
            [(0, 2_000)],
            "{policy}: nothing else wants to run at 12 ms"
        );
        assert!(is_replayed(&bench, &tables) > 8, "{policy}");
    }
}

/// Counts what it gets: the longest time from what a value says to the end of its job.
struct Handles<'p> {
    requests: MessageReader<'p, u64>,
    waited: Waited,
}

/// By sender: how many values came, and the longest time that one took.
type Waited = Arc<Mutex<HashMap<String, (u64, Duration)>>>;

fn note(waited: &Waited, sender: &str, sent_ns: u64, job: &mut Job<'_>) {
    let taken = Duration::from_ns(job.now().as_ns() - sent_ns);
    let mut all = waited.lock().unwrap();
    let entry = all.entry(sender.to_owned()).or_default();
    *entry = (entry.0 + 1, entry.1.max(taken));
}

impl Component for Handles<'_> {}

impl Task for Handles<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        while let Some(request) = self.requests.next(job) {
            let (sender, sent_ns) = (request.sender.to_owned(), *request.value);
            note(&self.waited, &sender, sent_ns, job);
        }
        Ok(())
    }
}

struct Takes {
    waited: Waited,
}

impl Component for Takes {}

impl Receiver<u64> for Takes {
    fn receive(&mut self, job: &mut Job<'_>, sent_ns: u64) -> Result<(), Failure> {
        note(&self.waited, "", sent_ns, job);
        Ok(())
    }
}

/// Random numbers that a seed determines: xorshift.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, from: u64, to: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        from + self.0 % (to - from + 1)
    }
}

fn latency(plan: &Plan, channel: &str) -> Duration {
    plan.channels[plan.channel(channel).unwrap()].latency.unwrap()
}

/// Bursts of a task that states no rate, into a queue of four places: what the queue takes is handled within the
/// bound, what it does
/// not take is refused, whatever the policy; nothing gets lost, and the tasks around it keep their deadlines.
#[test]
fn an_aperiodic_task_handles_what_its_queue_takes_within_the_bound() {
    for (round, policy) in POLICIES.into_iter().cycle().take(12).enumerate() {
        let mut numbers = Numbers(0x9e37_79b9 + round as u64);
        let (budget, period) = (numbers.next(300, 2_000), numbers.next(8_000, 15_000));
        let wcet = numbers.next(100, 2_500);
        let tables = format!(
            "[payloads]\nNumber = {{ type = \"u64\" }}\n{}{}{}{}[tasks.asks]\nclass = \"best-effort\"\n\
             [channels.orders]\nkind = \"queue\"\nfrom = \"asks\"\nto = \"takes\"\npayload = \"Number\"\ncapacity = 4\n",
            server("share", policy, budget, period, 50),
            periodic("high", 7, 1_000, "core = 0\npriority = 60\n"),
            format_args!(
                "[tasks.takes]\narrival = {{ aperiodic = \"orders\" }}\nserver = \"share\"\n\
                 wcet = {{ value = \"{wcet}us\", source = \"guess\" }}\n"
            ),
            periodic("low", 40, 9_000, "core = 0\npriority = 10\n"),
        );
        let waited = Waited::default();
        let of_task = Arc::clone(&waited);
        let mut bench = bench(&tables, move |app| {
            for name in ["high", "low"] {
                app.task(name, |_| Ok(each(|_| Ok(()))))?;
            }
            app.receiver("takes", |_| Ok(Takes { waited: of_task }))?;
            app.best_effort("asks", |create| {
                let _ = create.queue_writer::<u64>("orders")?;
                Ok(|_: &mut taut_run::Context<'_>| {})
            })
        });
        let counted = Arc::new(Mutex::new((0_u64, 0_u64)));
        let counts = Arc::clone(&counted);
        let mut quiet = 0;
        bench
            .every(us(numbers.next(500, 3_000)), move |parties| {
                quiet -= i64::from(quiet > 0);
                if quiet > 0 {
                    return Ok(true);
                }
                quiet = if numbers.next(0, 3) == 0 { numbers.next(1, 60) as i64 } else { 0 };
                let now_ns = 1_000 * MS + parties.now().as_ns();
                for _ in 0..numbers.next(1, 6) {
                    let taken = parties.task("asks").send("orders", now_ns)?;
                    let mut counts = counts.lock().unwrap();
                    *counts = (counts.0 + u64::from(taken), counts.1 + u64::from(!taken));
                }
                Ok(true)
            })
            .unwrap();
        bench.run_for(Duration::from_s(2)).unwrap();
        let (taken, refused) = *counted.lock().unwrap();
        let (handled, longest) = waited.lock().unwrap()[""];
        let bound = latency(bench.plan(), "orders");
        assert!(longest <= bound, "{policy} {budget} {period} {wcet}: {longest}, {bound} promised");
        assert!(
            taken - handled <= 5 && handled > 20 && refused > 0,
            "{taken} taken, {handled} handled, {refused}"
        );
        let late: Vec<_> = bench.records().iter().filter(|record| record.kind == Kind::Miss).collect();
        assert!(late.is_empty(), "{policy}: {late:?}");
        assert!(is_replayed(&bench, &tables) > 500);
    }
}

/// A message from a real-time task, whose lane goes first, and from one that states no rate: both lanes have a bound.
#[test]
fn lanes_of_a_message_to_an_aperiodic_task_keep_their_bounds() {
    for order in ["sender", "fifo"] {
        let tables = format!(
            "[payloads]\nNumber = {{ type = \"u64\" }}\n{}{}[tasks.takes]\narrival = {{ aperiodic = [\"orders\"] }}\n\
             server = \"share\"\nwcet = {{ value = \"300us\", source = \"guess\" }}\n{}[tasks.asks]\nclass = \"best-effort\"\n\
             [channels.orders]\nkind = \"message\"\nfrom = [\"high\", \"asks\"]\nto = \"takes\"\npayload = \"Number\"\n\
             capacity = 3\norder = \"{order}\"\n",
            server("share", "deferrable", 1_000, 8_000, 50),
            periodic("high", 9, 500, "core = 0\npriority = 60\n"),
            periodic("low", 40, 9_000, "core = 0\npriority = 10\n"),
        );
        let waited = Waited::default();
        let of_task = Arc::clone(&waited);
        let mut bench = bench(&tables, move |app| {
            app.task("high", |create| {
                let mut orders = create.queue_writer::<u64>("orders")?;
                Ok(each(move |job| {
                    let now_ns = job.now().as_ns();
                    orders.send(job, now_ns).map_err(|_| Failure::Code(1))
                }))
            })?;
            app.task("low", |_| Ok(each(|_| Ok(()))))?;
            app.task("takes", |create| {
                Ok(Handles { requests: create.message_reader("orders")?, waited: of_task })
            })?;
            app.best_effort("asks", |create| {
                let _ = create.queue_writer::<u64>("orders")?;
                Ok(|_: &mut taut_run::Context<'_>| {})
            })
        });
        for name in ["high", "low"] {
            let most = if name == "high" { us(500) } else { us(9_000) };
            bench.execution(name, ExecutionTime::uniform(us(50)..=most)).unwrap();
        }
        bench
            .every(us(1_300), |parties| {
                let now_ns = 1_000 * MS + parties.now().as_ns();
                let _ = parties.task("asks").send("orders", now_ns)?;
                Ok(true)
            })
            .unwrap();
        bench.run_for(Duration::from_s(3)).unwrap();
        let waited = waited.lock().unwrap();
        for sender in ["high", "asks"] {
            let (handled, longest) = waited[sender];
            let bound = latency(bench.plan(), &format!("orders/{sender}"));
            assert!(handled > 300 && longest <= bound, "{order} {sender}: {handled}, {longest} of {bound}");
        }
        assert!(waited["high"].1 < waited["asks"].1, "{order}: {waited:?}");
        assert!(is_replayed(&bench, &tables) > 1_000);
    }
}

/// Every policy beside every policy for late jobs, with random execution times: the simulator replays each recording without a
/// difference.
#[test]
fn the_simulator_decides_the_same() {
    let mut events = 0;
    let overruns = ["run-on", "skip-next", "kill-job"];
    for (round, (policy, overrun)) in
        POLICIES.into_iter().flat_map(|policy| overruns.map(|overrun| (policy, overrun))).enumerate()
    {
        let tables = format!(
            "{}{}{}{}{}{}",
            server("one", policy, 1_500, 6_000, 40),
            server("two", POLICIES[round % 3], 1_000, 9_000, 20),
            periodic(
                "first",
                7,
                1_000,
                "core = 0\npriority = 50\non-overrun = \"demote\"\nbudget = \"2ms\"\n"
            ),
            periodic("second", 23, 1_000, &format!("server = \"one\"\non-overrun = \"{overrun}\"\n")),
            periodic("third", 31, 1_000, &format!("server = \"two\"\non-overrun = \"{overrun}\"\n")),
            periodic("fourth", 37, 4_000, "core = 0\npriority = 10\n"),
        );
        let names = ["first", "second", "third", "fourth"];
        let mut bench = bench(&tables, |app| {
            names.into_iter().try_for_each(|name| app.task(name, |_| Ok(each(|_| Ok(())))))
        })
        .seed(round as u64);
        for name in names {
            bench.execution(name, ExecutionTime::uniform(us(10)..=ms(9))).unwrap();
        }
        bench.run_for(Duration::from_s(3)).unwrap();
        let late: usize = (1..3).map(|task| of(&bench, Kind::Overrun, task).len()).sum();
        assert!(late > 5, "{policy} {overrun}: {late}");
        events += is_replayed(&bench, &tables);
    }
    assert!(events > 10_000, "{events}");
}

/// The page shows what `taut check` prints for its manifest.
#[test]
fn the_page_tells_the_truth() {
    let page = include_str!("../../../docs/servers.md");
    let (_, page) = page.split_once("## Aperiodic tasks").unwrap();
    let block = |kind: &str| {
        let (_, rest) = page.split_once(&format!("```{kind}\n")).unwrap();
        rest.split_once("```").unwrap().0
    };
    let plan = app::plain::planned(block("toml"));
    let lines: Vec<String> = plan
        .aperiodic()
        .iter()
        .flat_map(taut_plan::AperiodicTask::lines)
        .map(|line| format!("  {line}\n"))
        .collect();
    assert_eq!(lines.concat(), block("text"));
}
