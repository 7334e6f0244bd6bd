// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Synchronous flows in booted applications, compared with an interpreter of the model: whichever block is late,
//! paused or stopped, every job reads what the model reads. Jobs are late on purpose, so nothing here needs a quiet
//! machine; the same holds without the privilege to be real-time.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};

use app::TURN;
use app::plain::{Quiet, planned};
use taut_event::file::Run;
use taut_event::{Counter, Kind, Record};
use taut_plan::{Flow, Plan};
use taut_run::{App, Component, Config, Error, Failure, Job, RECORDING, StateReader, StateWriter, Task};
use taut_time::Duration;

/// The output of a block of the model, and the job that gave it.
type Value = [u64; 2];

/// A block: a task, and a state of the same name.
#[derive(Clone, Copy)]
struct Block {
    name: &'static str,
    period_ms: u64,
    offset_ms: u64,
    core: u32,
    priority: u32,
    /// The blocks that it reads, by position, and whether with a unit delay.
    reads: &'static [(usize, bool)],
    /// Further keys of its table.
    more: &'static str,
}

const fn block(
    name: &'static str,
    (period_ms, offset_ms): (u64, u64),
    (core, priority): (u32, u32),
    reads: &'static [(usize, bool)],
) -> Block {
    Block { name, period_ms, offset_ms, core, priority, reads, more: "" }
}

/// Flows between cores in both directions, with and without delays, faster and slower, out of phase.
const BLOCKS: &[Block] = &[
    block("sensor", (4, 0), (0, 60), &[(3, true), (4, true)]),
    block("filter", (2, 0), (1, 60), &[(0, false), (2, true)]),
    block("observer", (6, 2), (1, 50), &[(1, false), (4, true)]),
    block("control", (4, 0), (0, 50), &[(0, false), (1, false)]),
    block("plan", (12, 4), (0, 40), &[(3, false), (2, false), (0, false)]),
    block("log", (8, 6), (1, 40), &[(0, false), (1, false), (2, false), (3, false), (4, false)]),
];

fn mixed(mut hash: u64, word: u64) -> u64 {
    hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ hash >> 29
}

/// The output of a job, from what it has read; every third job has none.
fn compute(at: usize, job: u64, read: &[Option<Value>]) -> Option<Value> {
    let mut hash = mixed(at as u64 + 1, job);
    for value in read {
        hash = value.map_or(mixed(hash, 7), |[value, job]| mixed(mixed(hash, value), job));
    }
    (job % 3 != 2).then_some([hash | 1, job])
}

/// What every job reads in the model: at an instant, all blocks that are due compute, in no time, in an order of
/// their direct dependencies; a `held` job does nothing.
fn interpret(
    blocks: &[Block],
    until_ms: u64,
    held: &HashSet<(usize, u64)>,
) -> BTreeMap<(usize, u64), Vec<Option<Value>>> {
    let mut order: Vec<usize> = Vec::new();
    while order.len() < blocks.len() {
        let is_next = |at: &usize| {
            let mut direct = blocks[*at].reads.iter().filter(|(_, delayed)| !delayed);
            !order.contains(at) && direct.all(|(of, _)| order.contains(of))
        };
        order.push((0..blocks.len()).find(is_next).expect("no circle"));
    }
    let mut output: Vec<Option<Value>> = vec![None; blocks.len()];
    let mut delayed = output.clone();
    let mut read = BTreeMap::new();
    for now in 0..until_ms {
        let due = |at: usize| {
            now >= blocks[at].offset_ms && (now - blocks[at].offset_ms).is_multiple_of(blocks[at].period_ms)
        };
        // Delays give the output from before this instant.
        (0..blocks.len()).filter(|at| due(*at)).for_each(|at| delayed[at] = output[at]);
        for &at in order.iter().filter(|at| due(**at)) {
            let job = (now - blocks[at].offset_ms) / blocks[at].period_ms;
            if held.contains(&(at, job)) {
                continue;
            }
            let from = |(of, late): &(usize, bool)| if *late { delayed[*of] } else { output[*of] };
            let got: Vec<Option<Value>> = blocks[at].reads.iter().map(from).collect();
            output[at] = compute(at, job, &got).or(output[at]);
            read.insert((at, job), got);
        }
    }
    read
}

/// The scheduler: Linux, a dispatcher on each core, or a dispatcher on the first core only.
const EXECUTORS: [&str; 3] = ["native", "dispatched", "mixed"];

fn manifest(blocks: &[Block], mechanism: &str, (flow, executor): (&str, &str)) -> String {
    let all = if executor == "dispatched" { "executor = \"dispatched\"\n" } else { "" };
    let mut text = format!(
        "manifest = 1\n[app]\nname = \"flows\"\n[platform]\ncores = [0, 1]\nmemory = \"32MiB\"\n\
         on-missing-privilege = \"degrade\"\n{all}[payloads]\nWord = {{ type = \"u64\", len = 2 }}\n",
    );
    if blocks.iter().any(|block| block.more.contains("service")) {
        text += "[services.part]\npersistent = \"4KiB\"\n[tasks.hand]\nclass = \"best-effort\"\n";
    }
    if executor == "mixed" {
        // This task has nothing to do with the others.
        text += "[tasks.ended]\narrival = { periodic = \"10ms\" }\ndeadline = \"10ms\"\n\
                 wcet = { value = \"50us\", source = \"guess\" }\ncore = 0\npriority = 1\non-overrun = \"kill-job\"\n";
    }
    for Block { name, period_ms, offset_ms, core, priority, more, .. } in blocks {
        text += &format!(
            "[tasks.{name}]\narrival = {{ periodic = \"{period_ms}ms\", offset = \"{offset_ms}ms\" }}\n\
             deadline = \"{period_ms}ms\"\nwcet = {{ value = \"50us\", source = \"guess\" }}\ncore = {core}\n\
             priority = {priority}\n{}\n",
            if more.is_empty() { "on-overrun = \"run-on\"" } else { more }
        );
    }
    for (at, Block { name, .. }) in blocks.iter().enumerate() {
        let list = |wanted: Option<bool>| {
            let reads = |block: &&Block| {
                block
                    .reads
                    .iter()
                    .any(|(of, delayed)| *of == at && wanted.is_none_or(|wanted| wanted == *delayed))
            };
            let names = blocks.iter().filter(reads).map(|block| format!("\"{}\"", block.name));
            names.collect::<Vec<_>>().join(", ")
        };
        if list(None).is_empty() {
            continue;
        }
        text += &format!(
            "[channels.{name}]\nkind = \"state\"\nfrom = \"{name}\"\nto = [{}]\npayload = \"Word\"\n",
            list(None)
        );
        if flow == "synchronous" {
            text += &format!(
                "flow = \"{flow}\"\ndelayed = [{}]\nmechanism = \"{mechanism}\"\nsends-per-release = 2\n",
                list(Some(true))
            );
        }
    }
    text
}

type Log = Arc<Mutex<Vec<(usize, u64, Vec<Option<Value>>)>>>;

/// The task of a block: reads, computes for a given time, reads again, and writes.
struct Computing<'p, F> {
    at: usize,
    readers: Vec<StateReader<'p, Value>>,
    writer: Option<StateWriter<'p, Value>>,
    /// Whether a job must read the same value every time.
    steady: bool,
    /// How long a job takes, in µs.
    takes: F,
    /// Room for everything that the task reads: jobs allocate nothing.
    read: Vec<Option<Value>>,
    jobs: Vec<u64>,
    log: Log,
}

impl<F: Fn(u64) -> u64 + Send> Component for Computing<'_, F> {
    fn finish(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        let width = self.readers.len();
        let mut log = self.log.lock().unwrap();
        for (i, job) in self.jobs.iter().enumerate() {
            log.push((self.at, *job, self.read[i * width..(i + 1) * width].to_vec()));
        }
        Ok(())
    }
}

impl<F: Fn(u64) -> u64 + Send> Task for Computing<'_, F> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let first = self.read.len();
        for reader in &mut self.readers {
            self.read.push(reader.latest(job));
        }
        self.jobs.push(job.number());
        let begun = job.now();
        while job.now().since(begun) < Duration::from_us((self.takes)(job.number())) {}
        // Other jobs may have written meanwhile.
        for (reader, before) in self.readers.iter_mut().zip(&self.read[first..]) {
            let again = reader.latest(job);
            assert!(!self.steady || again == *before, "a job reads one value: {before:?}, {again:?}");
        }
        if let (Some(value), Some(writer)) =
            (compute(self.at, job.number(), &self.read[first..]), &mut self.writer)
        {
            // The last value counts.
            writer.publish(job, [0, 0]).map_err(|_| Failure::Code(1))?;
            writer.publish(job, value).map_err(|_| Failure::Code(1))?;
        }
        Ok(())
    }
}

struct Idle;

impl Component for Idle {}

impl Task for Idle {
    fn release(&mut self, _: &mut Job<'_>) -> Result<(), Failure> {
        Ok(())
    }
}

struct Outcome {
    plan: Plan,
    records: Vec<Record>,
    read: Vec<(usize, u64, Vec<Option<Value>>)>,
}

impl Outcome {
    fn of(&self, kind: Kind) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(move |record| record.kind == kind)
    }

    /// Compares every value that was read with the model. Returns the number of values, and the least number of
    /// jobs of a block.
    fn check(&self, blocks: &[Block], until_ms: u64) -> (usize, usize) {
        let task = |at: usize| self.plan.task(blocks[at].name).unwrap() as u16;
        let skipped: HashSet<(u16, u64)> =
            self.of(Kind::Skip).map(|record| (record.subject, record.job)).collect();
        let mut held = HashSet::new();
        // A dispatched job whose service is paused runs, and does nothing.
        let read: HashSet<(usize, u64)> = self.read.iter().map(|(at, job, _)| (*at, *job)).collect();
        let complete: HashSet<(u16, u64)> =
            self.of(Kind::Complete).map(|record| (record.subject, record.job)).collect();
        for at in 0..blocks.len() {
            let nothing = |job: &u64| {
                let of = (task(at), *job);
                skipped.contains(&of) || complete.contains(&of) && !read.contains(&(at, *job))
            };
            held.extend((0..until_ms).filter(nothing).map(|job| (at, job)));
        }
        let model = interpret(blocks, until_ms, &held);
        for (at, job, read) in &self.read {
            assert_eq!(Some(read), model.get(&(*at, *job)), "{}, job {job}", blocks[*at].name);
        }
        let jobs = |at: usize| self.read.iter().filter(|(of, ..)| *of == at).count();
        (self.read.iter().map(|(.., read)| read.len()).sum(), (0..blocks.len()).map(jobs).min().unwrap())
    }
}

const UNTIL_MS: u64 = 240;

/// Runs the blocks; `takes` gives the duration of each job of a block.
fn run<F: Fn(u64) -> u64 + Send + 'static>(
    blocks: &[Block],
    manifest: String,
    takes: impl Fn(usize) -> F,
    hand: impl FnOnce(&mut taut_run::Context<'_>) + Send + 'static,
) -> Outcome {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = tempfile::tempdir().unwrap();
    let plan = planned(&manifest);
    std::fs::write(folder.path().join("taut.toml"), manifest).unwrap();
    let lock = folder.path().join("taut.lock");
    std::fs::write(&lock, plan.to_lock().unwrap()).unwrap();
    let out = folder.path().join("out");
    let duration = Some(Duration::from_ms(UNTIL_MS));
    let config = Config {
        lock,
        out: Some(out.clone()),
        duration,
        spawned_ns: None,
        record_limit: None,
        applications: None,
    };
    let (log, steady) = (Log::default(), plan.channels[0].flow == Flow::Synchronous);
    let ending = taut_run::run(&config, &mut Quiet, |app| {
        for (at, block) in blocks.iter().enumerate() {
            let parts = (takes(at), log.clone(), steady);
            make(app, block, |create| computing(create, blocks, at, parts))?;
        }
        if blocks.iter().any(|block| block.more.contains("service")) {
            app.best_effort("hand", |_| Ok(hand))?;
        }
        if plan.task("ended").is_some() {
            app.task("ended", |_| Ok(Idle))?;
        }
        Ok(())
    });
    assert!(ending.unwrap().orderly);
    let records = Run::from_bytes(&std::fs::read(out.join(RECORDING)).unwrap()).unwrap().records;
    let read = std::mem::take(&mut *log.lock().unwrap());
    Outcome { plan, records, read }
}

/// The task of a block, with its ends.
fn computing<'p, F>(
    create: &mut taut_run::Create<'_, 'p>,
    blocks: &[Block],
    at: usize,
    (takes, log, steady): (F, Log, bool),
) -> Result<Computing<'p, F>, Error> {
    let reads = blocks[at].reads.iter();
    let readers: Vec<StateReader<'p, Value>> =
        reads.map(|(of, _)| create.state_reader(blocks[*of].name)).collect::<Result<_, Error>>()?;
    let is_read = blocks.iter().any(|block| block.reads.iter().any(|(of, _)| *of == at));
    let writer = if is_read { Some(create.state_writer(blocks[at].name)?) } else { None };
    let jobs = UNTIL_MS as usize;
    let (read, jobs) = (Vec::with_capacity(jobs * readers.len()), Vec::with_capacity(jobs));
    Ok(Computing { at, readers, writer, steady, takes, read, jobs, log })
}

fn make<'p, T: Task + 'p>(
    app: &mut App<'p>,
    block: &Block,
    create: impl FnOnce(&mut taut_run::Create<'_, 'p>) -> Result<T, Error>,
) -> Result<(), Error> {
    if block.more.contains("service") {
        app.service("part", |service| service.task(block.name, create))
    } else {
        app.task(block.name, create)
    }
}

#[test]
fn all_read_what_the_model_reads() {
    for (mechanism, executor) in
        ["dbp", "tccp", "auto"].iter().flat_map(|one| EXECUTORS.map(|executor| (*one, executor)))
    {
        let outcome = run(BLOCKS, manifest(BLOCKS, mechanism, ("synchronous", executor)), |_| |_| 0, |_| ());
        let dispatched: Vec<bool> = outcome.plan.cores.iter().map(|core| core.dispatched.is_some()).collect();
        assert_eq!(dispatched, [executor != "native", executor == "dispatched"]);
        let (reads, jobs) = outcome.check(BLOCKS, UNTIL_MS);
        assert!(reads > 100 && jobs > 2, "{mechanism}, {executor}: {reads} {jobs}");
        let heap: u64 = outcome
            .of(Kind::Counted)
            .filter(|record| record.job == Counter::HeapUse as u64)
            .map(|record| record.value)
            .sum();
        assert_eq!(heap, 0, "heap uses of real-time tasks behind release 0");
    }
}

#[test]
fn readers_wait_for_a_late_writer() {
    // Now and then each block in turn is late by several of its periods; one core is late altogether.
    let late = |at: usize| {
        move |job: u64| match (job + at as u64 * 3) % 17 {
            0 => BLOCKS[at].period_ms * 2_500,
            1 => 900,
            _ => 0,
        }
    };
    for (mechanism, executor) in
        ["dbp", "tccp"].iter().flat_map(|one| EXECUTORS.map(|executor| (*one, executor)))
    {
        let outcome = run(BLOCKS, manifest(BLOCKS, mechanism, ("synchronous", executor)), late, |_| ());
        let (reads, jobs) = outcome.check(BLOCKS, UNTIL_MS);
        assert!(reads > 60 && jobs > 1, "{mechanism}, {executor}: {reads} {jobs}");
        assert!(outcome.of(Kind::Miss).count() > 3, "they were late");
    }
}

/// The stall lasts 20 periods of the block, and of others that wait for it.
#[test]
fn a_long_stall_drops_no_job() {
    let late = |at: usize| move |job: u64| if (at, job) == (0, 5) { 80_000 } else { 0 };
    for executor in EXECUTORS {
        let outcome = run(BLOCKS, manifest(BLOCKS, "auto", ("synchronous", executor)), late, |_| ());
        let (reads, jobs) = outcome.check(BLOCKS, UNTIL_MS);
        assert!(reads > 100 && jobs > 2, "{executor}: {reads} {jobs}");
        assert!(outcome.of(Kind::Miss).count() > 20, "{executor}: it was late");
        // Jobs that still wait at the end never begin.
        let end = outcome.of(Kind::Begin).next().unwrap().at.as_ns() + UNTIL_MS * 1_000_000;
        let dropped = outcome.of(Kind::Skip).filter(|record| record.at.as_ns() + 20_000_000 < end);
        assert_eq!(dropped.count(), 0, "{executor}");
    }
}

#[test]
fn skipped_jobs_leave_what_was_there() {
    let mut blocks = BLOCKS.to_vec();
    for block in &mut blocks {
        block.more = "on-overrun = \"skip-next\"";
    }
    let late = |at: usize| {
        move |job: u64| if at.is_multiple_of(2) && job % 9 == 4 { BLOCKS[at].period_ms * 2_300 } else { 0 }
    };
    for executor in EXECUTORS {
        let outcome = run(&blocks, manifest(&blocks, "auto", ("synchronous", executor)), late, |_| ());
        let (reads, _) = outcome.check(&blocks, UNTIL_MS);
        assert!(reads > 100, "{executor}: {reads}");
        assert!(outcome.of(Kind::Skip).count() > 5, "{executor}: releases were dropped");
    }
}

#[test]
fn a_paused_block_gives_what_it_gave() {
    let mut blocks = BLOCKS.to_vec();
    blocks[0].more = "service = \"part\"\non-overrun = \"run-on\"";
    for executor in EXECUTORS {
        let outcome = run(
            &blocks,
            manifest(&blocks, "dbp", ("synchronous", executor)),
            |_| |_| 0,
            |context| {
                for round in 0..20 {
                    if !context.sleep(Duration::from_ms(10)) {
                        return;
                    }
                    let control = context.control();
                    if round % 2 == 0 {
                        control.pause("part").unwrap()
                    } else {
                        control.resume("part").unwrap()
                    }
                }
            },
        );
        let (reads, _) = outcome.check(&blocks, UNTIL_MS);
        let own = outcome.read.iter().filter(|(at, ..)| *at == 0).count();
        assert!(reads > 100 && own < 50, "{executor}: {reads} {own}");
    }
}

#[test]
fn a_stopped_block_gives_what_it_gave_last() {
    // One block that others read directly, and one that others also read with a delay.
    for (stopped, mechanism, executor) in
        [(1, "tccp"), (2, "dbp")].iter().flat_map(|(at, one)| EXECUTORS.map(|executor| (*at, *one, executor)))
    {
        let mut blocks = BLOCKS.to_vec();
        blocks[stopped].more = "service = \"part\"\non-overrun = \"run-on\"";
        let stop = |context: &mut taut_run::Context<'_>| {
            if context.sleep(Duration::from_ms(80)) {
                context.control().stop_service("part").unwrap();
            }
        };
        let manifest = manifest(&blocks, mechanism, ("synchronous", executor));
        let mut outcome = run(&blocks, manifest, |_| |_| 0, stop);
        // The block does nothing from some job on.
        let jobs = outcome.read.iter().filter(|(at, ..)| *at == stopped).map(|(_, job, _)| *job);
        let first = jobs.max().map_or(0, |last| last + 1);
        let like = *outcome.of(Kind::Release).next().unwrap();
        let subject = outcome.plan.task(blocks[stopped].name).unwrap() as u16;
        let skip = |job| Record { kind: Kind::Skip, subject, job, ..like };
        outcome.records.extend((first..UNTIL_MS).map(skip));
        let (reads, _) = outcome.check(&blocks, UNTIL_MS);
        // The other blocks go on afterwards.
        let instant = |at: usize, job: u64| blocks[at].offset_ms + job * blocks[at].period_ms;
        let last = instant(stopped, first);
        let behind =
            outcome.read.iter().filter(|(at, job, _)| *at != stopped && instant(*at, *job) > last + 24);
        let behind = behind.count();
        assert!(reads > 100 && last < 200 && behind > 10, "{executor}: {reads} {last} {behind}");
    }
}

/// Without synchronous flows, the same blocks read other values; otherwise the tests above would show nothing.
#[test]
fn the_newest_value_is_not_the_model() {
    let lasting = |at: usize| move |_| if at == 0 { 1_000 } else { 0 };
    for executor in EXECUTORS {
        let outcome = run(BLOCKS, manifest(BLOCKS, "auto", ("newest", executor)), lasting, |_| ());
        let model = interpret(BLOCKS, UNTIL_MS, &HashSet::new());
        let differs = |(at, job, read): &&(usize, u64, _)| model.get(&(*at, *job)) != Some(read);
        let differ = outcome.read.iter().filter(differs).count();
        assert!(differ > 20, "{executor}: {differ}");
    }
}
