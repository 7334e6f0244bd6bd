// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What recording costs a job: sends and receives of values of 64 bytes, with `record = true` and without it.
//!
//! `ends` runs an application on real threads in which two pairs of tasks do the same, one of them recorded, within each 10 ms.
//! It prints a line for each operation and round: the times of an operation (ns), medians of the jobs of the round. `count N`
//! does N operations of each kind in virtual time, without recorded channels, for a tool that counts instructions of the functions
//! `send_once`, `receive_once`, `publish_once` and `latest_once`.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement for people and for bars")]

use std::sync::{Arc, Mutex};
use std::time::Instant;

use taut_boot::{Guarantees, LoadedPlan};
use taut_plan::{Input, Plan, ValidPlan, digest};
use taut_planner::Planned;
use taut_run::bench::Bench;
use taut_run::{
    App, Component, Config, Error, Failure, Job, QueueReader, QueueWriter, Reason, RunObserver, StateReader,
    StateWriter, Task,
};
use taut_time::Duration;

/// A value of 64 bytes.
type Value = [u64; 8];
/// Operations of each kind in a job.
const OF_JOB: u64 = 64;
/// Jobs of a round, one in each 10 ms; the first jobs warm caches and are in no round.
const OF_ROUND: usize = 20;
const WARM: usize = 5;
const ROUNDS: usize = 11;

/// The operations, and the functions that make one.
const OPERATIONS: [&str; 4] = ["send", "receive", "publish", "latest"];

/// A pair of tasks with a queue and a state between them. What the reading task sends makes the recorded one a task whose code
/// is replayed, so that all that it reads is recorded.
fn pair(name: &str, offset_ms: u64, record: bool) -> String {
    let record = if record { "record = true\n" } else { "" };
    let task = |of: &str, offset_ms: u64| {
        format!(
            "[tasks.{name}-{of}]\narrival = {{ periodic = \"10ms\", offset = \"{offset_ms}ms\" }}\ndeadline = \"2ms\"\n\
             wcet = {{ value = \"300us\", source = \"guess\" }}\ncore = 0\non-overrun = \"run-on\"\n"
        )
    };
    let channel = |of: &str, keys: &str| {
        format!(
            "[channels.{name}-{of}]\nfrom = \"{name}-writes\"\nto = \"{name}-reads\"\npayload = \"Value\"\n\
             sends-per-release = {OF_JOB}\n{record}{keys}"
        )
    };
    [
        task("writes", offset_ms),
        task("reads", offset_ms + 2),
        channel("queue", &format!("kind = \"queue\"\ncapacity = {}\ntakes-per-release = {}\n", 2 * OF_JOB, 2 * OF_JOB)),
        channel("state", "kind = \"state\"\n"),
        format!(
            "[channels.{name}-read]\nkind = \"state\"\nfrom = \"{name}-reads\"\nto = \"idle\"\npayload = \"Value\"\n{record}"
        ),
    ]
    .concat()
}

fn plan(pairs: &str) -> (Plan, String) {
    let text = format!(
        "manifest = 1\n[app]\nname = \"recorded\"\n[platform]\ncores = [0]\nhousekeeping = [1]\nmemory = \"32MiB\"\n\
         on-missing-privilege = \"degrade\"\n[payloads]\nValue = {{ type = \"u64\", len = 8 }}\n\
         [tasks.idle]\nclass = \"best-effort\"\n{pairs}"
    );
    let source = taut_manifest::SourceText { name: "taut.toml".to_owned(), text: text.clone() };
    let loaded = taut_manifest::load(&source, &[]);
    let shown = taut_manifest::render(&loaded.diagnostics, &[&source], false, 100);
    let model = loaded.model.unwrap_or_else(|| panic!("{shown}"));
    let input = Input { path: "taut.toml".to_owned(), hash: digest(text.as_bytes()) };
    let planned = Planned::make(&model, vec![input]);
    assert!(planned.plan.proven, "{:#?}", planned.faults);
    (planned.plan, text)
}

#[inline(never)]
fn send_once(queue: &mut QueueWriter<'_, Value>, job: &mut Job<'_>, value: &Value) -> bool {
    queue.send_from(job, value).is_ok()
}

#[inline(never)]
fn receive_once(queue: &mut QueueReader<'_, Value>, job: &mut Job<'_>) -> Option<u64> {
    queue.receive_ref(job).map(|value| value[7])
}

#[inline(never)]
fn publish_once(state: &mut StateWriter<'_, Value>, job: &mut Job<'_>, value: &Value) -> bool {
    state.publish_from(job, value).is_ok()
}

#[inline(never)]
fn latest_once(state: &mut StateReader<'_, Value>, job: &mut Job<'_>) -> Option<u64> {
    state.latest_ref(job).map(|value| value[7])
}

/// What jobs took, by operation (ns for one).
type Times = [Vec<f64>; 2];
/// By task: `NAME-writes` or `NAME-reads`.
type Shared = Arc<Mutex<Vec<(String, Times)>>>;

/// The figures of a task, which it shows in the end. No job uses the heap.
struct Figures {
    name: String,
    times: Times,
    shared: Shared,
}

impl Figures {
    fn new(name: &str, shared: &Shared) -> Self {
        let times = std::array::from_fn(|_| Vec::with_capacity(WARM + (ROUNDS + 2) * OF_ROUND));
        Self { name: name.to_owned(), times, shared: Arc::clone(shared) }
    }

    /// Times the operations of a job.
    fn time(&mut self, at: usize, mut operation: impl FnMut(u64) -> bool) -> Result<(), Failure> {
        let begun = Instant::now();
        let all = (0..OF_JOB).all(&mut operation);
        let took = begun.elapsed().as_nanos() as f64 / OF_JOB as f64;
        if self.times[at].len() < self.times[at].capacity() {
            self.times[at].push(took);
        }
        if all { Ok(()) } else { Err(Failure::Code(1)) }
    }
}

impl Drop for Figures {
    fn drop(&mut self) {
        self.shared.lock().unwrap().push((self.name.clone(), std::mem::take(&mut self.times)));
    }
}

struct Writes<'p> {
    queue: QueueWriter<'p, Value>,
    state: StateWriter<'p, Value>,
    figures: Figures,
}

impl Component for Writes<'_> {}

impl Task for Writes<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let Self { queue, state, figures } = self;
        figures.time(0, |number| send_once(queue, job, &[number; 8]))?;
        figures.time(1, |number| publish_once(state, job, &[number; 8]))
    }
}

struct Reads<'p> {
    queue: QueueReader<'p, Value>,
    state: StateReader<'p, Value>,
    read: StateWriter<'p, Value>,
    figures: Figures,
}

impl Component for Reads<'_> {}

impl Task for Reads<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let Self { queue, state, read, figures } = self;
        let mut sum = 0;
        figures.time(0, |_| receive_once(queue, job).inspect(|value| sum += value).is_some())?;
        figures.time(1, |_| latest_once(state, job).inspect(|value| sum += value).is_some())?;
        read.publish(job, [sum; 8]).map_err(|_| Failure::Code(2))
    }
}

fn set_up(app: &mut App<'_>, names: &[&str], shared: &Shared) -> Result<(), Error> {
    app.best_effort("idle", |create| {
        for name in names {
            create.state_reader::<Value>(&format!("{name}-read"))?;
        }
        Ok(|_: &mut taut_run::Context<'_>| {})
    })?;
    for name in names {
        let of = |part: &str| format!("{name}-{part}");
        app.task(&of("writes"), |create| {
            let (queue, state) = (create.queue_writer(&of("queue"))?, create.state_writer(&of("state"))?);
            Ok(Writes { queue, state, figures: Figures::new(&of("writes"), shared) })
        })?;
        app.task(&of("reads"), |create| {
            let (queue, state) = (create.queue_reader(&of("queue"))?, create.state_reader(&of("state"))?);
            let read = create.state_writer(&of("read"))?;
            Ok(Reads { queue, state, read, figures: Figures::new(&of("reads"), shared) })
        })?;
    }
    Ok(())
}

struct Quiet;

impl RunObserver for Quiet {
    fn guarantees(&mut self, guarantees: &Guarantees) {
        let is_real_time = guarantees.keeps(taut_boot::Guarantee::Priorities);
        println!("threads: {}", if is_real_time { "SCHED_FIFO" } else { "SCHED_OTHER" });
    }
    fn removed_stale(&mut self, _: &str) {}
    fn started(&mut self, _: &Plan, _: Option<Duration>) {}
    fn stopping(&mut self, _: Reason) {}
    fn stuck(&mut self, task: &str) {
        panic!("{task} is stuck");
    }
    fn unfinished(&mut self, task: &str, error: &dyn std::error::Error) {
        panic!("{task}: {error}");
    }
}

fn median(of: &[f64]) -> f64 {
    let mut sorted = of.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// The two pairs beside one another, on real threads.
fn ends() {
    const NAMES: [&str; 2] = ["plain", "recorded"];
    let (plan, manifest) = plan(&(pair("plain", 0, false) + &pair("recorded", 5, true)));
    let replays = |name: &str| plan.task(name).is_some_and(|task| plan.replays(task).is_ok());
    assert!(replays("recorded-writes") && replays("recorded-reads") && !replays("plain-reads"));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("taut.toml"), manifest).unwrap();
    let lock = folder.path().join("taut.lock");
    std::fs::write(&lock, plan.to_lock().unwrap()).unwrap();
    let length = Duration::from_ms(10 * (WARM + (ROUNDS + 1) * OF_ROUND) as u64);
    let config = Config {
        lock,
        out: Some(folder.path().join("out")),
        duration: Some(length),
        spawned_ns: None,
        record_limit: None,
        applications: None,
    };
    let shared = Shared::default();
    assert!(taut_run::run(&config, &mut Quiet, |app| set_up(app, &NAMES, &shared)).unwrap().orderly);
    let values = std::fs::read(folder.path().join("out/values.mcap")).unwrap();
    let recorded = taut_event::values::RecordedValues::from_bytes(&values).unwrap();
    println!("records lost: {}", recorded.lost);
    let all = shared.lock().unwrap();
    for (operation, (part, at)) in
        OPERATIONS.into_iter().zip([("writes", 0), ("reads", 0), ("writes", 1), ("reads", 1)])
    {
        let of = |name: &str| {
            let (_, times) = all.iter().find(|(task, _)| *task == format!("{name}-{part}")).unwrap();
            times[at][WARM..].chunks_exact(OF_ROUND).take(ROUNDS).map(median).collect::<Vec<_>>()
        };
        let [plain, recorded] = NAMES.map(of);
        for (plain, recorded) in plain.iter().zip(&recorded) {
            println!("{operation}: plain {plain:.1} recorded {recorded:.1}");
        }
    }
}

/// As many operations of each kind in virtual time, of tasks without a recorded channel.
fn count(operations: u64) {
    let (plan, _) = plan(&pair("plain", 0, false));
    let text = plan.to_lock().unwrap();
    let loaded = LoadedPlan { plan: ValidPlan::new(plan).unwrap(), text };
    let shared = Shared::default();
    let mut bench = Bench::with_plan(loaded, |app| set_up(app, &["plain"], &shared)).unwrap();
    let jobs = operations.div_ceil(OF_JOB);
    bench.run_for(Duration::from_ms(10 * jobs)).unwrap();
    bench.end().unwrap();
    println!("{} operations of each kind", jobs * OF_JOB);
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["ends"] => ends(),
        ["count", number] => count(number.parse().unwrap()),
        // `cargo test --benches` runs it without words: a look at both.
        [] => {
            ends();
            count(OF_JOB);
        }
        _ => panic!("ends, or count N"),
    }
}
