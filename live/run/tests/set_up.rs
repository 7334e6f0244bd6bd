// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the set-ups of components take from the heap: counted to the byte, in the recording, and bounded by the manifest.
//! Another allocator counts nothing: see `uncounted.rs`.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use app::{Outcome, each, plan, run};
use taut_boot::LoadedPlan;
use taut_event::{Counter, Kind};
use taut_plan::ValidPlan;
use taut_run::bench::Bench;
use taut_run::{
    App, BlockReceiver, BlockSender, Component, Context, Error, Failure, Job, QueueReader, QueueWriter, Task,
};
use taut_time::Duration;

/// A task with these keys in its table of memory.
fn task(name: &str, priority: u8, memory: &str) -> String {
    format!(
        "[tasks.{name}]\narrival = {{ periodic = \"5ms\" }}\ndeadline = \"5ms\"\n\
         wcet = {{ value = \"100us\", source = \"guess\" }}\ncore = 0\npriority = {priority}\n\
         memory = {{ {memory} }}\n"
    )
}

/// A component that takes bytes when it starts, or frees those that it has.
struct Table {
    bytes: Vec<u8>,
    /// How many it has once it has started.
    started: usize,
}

/// The bytes of the component itself.
const ITSELF: u64 = size_of::<Table>() as u64;

impl Table {
    fn new(made: usize, started: usize) -> Self {
        Self { bytes: vec![1; made], started }
    }
}

impl Component for Table {
    fn start(&mut self) {
        self.bytes = std::hint::black_box(vec![2; self.started]);
    }
}

impl Task for Table {
    fn release(&mut self, _: &mut Job<'_>) -> Result<(), Failure> {
        Ok(())
    }
}

/// What was recorded of a task: what was in use, and the most at one time.
fn counted(outcome: &Outcome, task: u16) -> [u64; 2] {
    let counts = outcome.of_task(Kind::Counted, task);
    [Counter::SetUpHeap, Counter::SetUpHeapPeak].map(|count| {
        let of: Vec<_> = counts.iter().filter(|record| record.job == count as u64).collect();
        assert_eq!(of.len(), 1, "{count:?}: {counts:?}");
        of[0].value
    })
}

fn executors() -> [String; 2] {
    ["native", "dispatched"].map(|executor| format!("executor = \"{executor}\"\n"))
}

fn short() -> Option<Duration> {
    Some(Duration::from_ms(30))
}

/// `create`, `start` and the component itself count, on whichever thread they run; the ends of channels do not, nor does
/// what others allocate.
#[test]
fn a_set_up_is_counted_to_the_byte() {
    const CHANNEL: &str = "[payloads]\nWord = { type = \"u64\" }\n[tasks.logger]\nclass = \"best-effort\"\n\
        [channels.words]\nkind = \"queue\"\nfrom = \"sends\"\nto = [\"logger\"]\npayload = \"Word\"\ncapacity = 8\n\
        overflow = \"drop-oldest\"\n";
    for executor in executors() {
        let tables = executor.clone() + &task("table", 50, "") + &task("sends", 40, "") + CHANNEL;
        let outcome = run(&tables, short(), |app| {
            app.task("table", |_| {
                drop(std::hint::black_box(vec![0_u8; 20_000]));
                Ok(Table::new(10_000, 3_000))
            })?;
            app.task("sends", |create| {
                let mut words: QueueWriter<'_, u64> = create.queue_writer("words")?;
                Ok(each(move |job| words.send(job, job.number()).map_err(|_| Failure::Code(1))))
            })?;
            app.best_effort("logger", |create| {
                let words: QueueReader<'_, u64> = create.queue_reader("words")?;
                // What grows is counted once.
                let mut text = std::hint::black_box(String::with_capacity(100));
                text.reserve_exact(500);
                Ok(move |_: &mut Context<'_>| drop((words, text)))
            })
        });
        assert!(outcome.ending.as_ref().unwrap().orderly, "{executor}");
        // The new bytes of `start` are there before the old ones are freed.
        let started = 3_000 + ITSELF;
        assert_eq!(counted(&outcome, 0), [started, 20_000.max(13_000 + ITSELF)], "{executor}");
        let end = size_of::<QueueWriter<'_, u64>>() as u64;
        assert_eq!(counted(&outcome, 1), [end, end], "{executor}");
        let logger = 500 + size_of::<(QueueReader<'_, u64>, String)>() as u64;
        assert_eq!(counted(&outcome, 2), [logger, logger], "{executor}");
    }
}

/// The ends of a bulk channel are the runtime's, also what lets a channel release a task.
#[test]
fn ends_of_bulk_channels_do_not_count() {
    const CHANNEL: &str = "[payloads]\nBlock = { type = \"u64\", len = 64 }\n\
        [tasks.takes]\narrival = { sporadic = \"5ms\", trigger = \"blocks\" }\ndeadline = \"5ms\"\n\
        wcet = { value = \"100us\", source = \"guess\" }\ncore = 0\npriority = 30\n\
        [channels.blocks]\nkind = \"bulk\"\nfrom = \"sends\"\nto = \"takes\"\npayload = \"Block\"\n";
    let outcome = run(&(task("sends", 40, "") + CHANNEL), short(), |app| {
        app.task("sends", |create| {
            let mut blocks: BlockSender<'_, [u64; 64]> = create.block_sender("blocks")?;
            Ok(each(move |job| blocks.loan(job).map(drop).map_err(|_| Failure::Code(1))))
        })?;
        app.task("takes", |create| {
            let mut blocks: BlockReceiver<'_, [u64; 64]> = create.block_receiver("blocks")?;
            Ok(each(move |job| {
                drop(blocks.next(job));
                Ok(())
            }))
        })
    });
    assert!(outcome.ending.as_ref().unwrap().orderly);
    let ends = [size_of::<BlockSender<'_, [u64; 64]>>(), size_of::<BlockReceiver<'_, [u64; 64]>>()]
        .map(|end| end as u64);
    assert_eq!([counted(&outcome, 0), counted(&outcome, 1)], ends.map(|end| [end, end]));
}

fn two_tables(app: &mut App<'_>, first: (usize, usize), second: (usize, usize)) -> Result<(), Error> {
    app.task("first", |_| Ok(Table::new(first.0, first.1)))?;
    app.task("second", |_| Ok(Table::new(second.0, second.1)))
}

fn bounded(executor: &str) -> String {
    let bound = "set-up = \"4KiB\"";
    executor.to_owned() + &task("first", 50, bound) + &task("second", 40, bound)
}

/// The most that a table may have beside itself within `bounded`.
const REST: usize = 4_096 - ITSELF as usize;

/// No job is released, whichever part of the set-up took too much; all tasks that did are named.
#[test]
fn a_set_up_beyond_its_bound_is_refused_before_release_0() {
    for executor in executors() {
        let outcome = run(&bounded(&executor), short(), |app| {
            two_tables(app, (REST + 1, REST + 1), (0, 70_000 - ITSELF as usize))
        });
        let expected = "TAUT0604: set-ups left more of the heap in use than the manifest states\n  \
             tasks.first.memory.set-up = \"4KiB\": `first` left 4097B in use\n  \
             tasks.second.memory.set-up = \"4KiB\": `second` left 70000B in use";
        assert_eq!(outcome.ending.as_ref().unwrap_err().to_string(), expected, "{executor}");
        assert!(!outcome.reported.started, "{executor}");
        assert!(outcome.of(Kind::Release).is_empty() && outcome.of(Kind::Begin).is_empty(), "{executor}");
    }
}

/// What a set-up frees again is not in use: the bound holds at the end of the set-up, to the byte.
#[test]
fn a_set_up_that_frees_what_it_took_is_not_refused() {
    for executor in executors() {
        let outcome = run(&bounded(&executor), short(), |app| two_tables(app, (1 << 20, 0), (REST, REST)));
        assert!(outcome.ending.as_ref().unwrap().orderly, "{executor}");
        assert_eq!(counted(&outcome, 0), [ITSELF, (1 << 20) + ITSELF], "{executor}");
        assert_eq!(counted(&outcome, 1), [4_096, 4_096 + REST as u64], "{executor}");
        assert!(!outcome.of(Kind::Complete).is_empty(), "{executor}");
    }
}

/// A bench refuses what a run refuses.
#[test]
fn a_bench_refuses_a_set_up_beyond_its_bound() {
    let bench = |started: usize| {
        let plan = plan(&bounded("")).0;
        let text = plan.to_lock().unwrap();
        let loaded = LoadedPlan { plan: ValidPlan::new(plan).unwrap(), text };
        Bench::with_plan(loaded, |app| two_tables(app, (0, 0), (REST + 1, started)))
    };
    assert!(bench(REST).is_ok());
    let error = bench(REST + 1).unwrap_err().to_string();
    assert!(error.ends_with("tasks.second.memory.set-up = \"4KiB\": `second` left 4097B in use"), "{error}");
}
