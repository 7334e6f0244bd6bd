// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Compares the runtime memory that a plan counts with the heap that a booted application takes. The tests are alone
//! in their process, one at a time: every allocation there counts.
#![allow(clippy::unwrap_used, unreachable_pub, reason = "test code")]

#[path = "app/plain.rs"]
mod plain;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use plain::{Quiet, planned};
use taut_run::{
    AlarmReader, AlarmSetter, App, Component, Config, Error, Failure, Job, StateReader, StateWriter, Task,
};
use taut_time::Duration;

/// The system's allocator, with a count of the bytes in use.
struct Weighing;

static IN_USE: AtomicUsize = AtomicUsize::new(0);

// SAFETY:
// - every method forwards to `System` with the arguments it got, so `System`'s guarantees are ours
// - counting touches an atomic integer only
unsafe impl GlobalAlloc for Weighing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's duties are those of `System`
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's duties are those of `System`
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Weighing = Weighing;

/// A task that uses its ends, and reads how much heap is in use.
struct User<'p> {
    readers: Vec<StateReader<'p, u64>>,
    writers: Vec<StateWriter<'p, u64>>,
    least: &'static AtomicUsize,
}

impl Component for User<'_> {}

impl Task for User<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        for reader in &mut self.readers {
            let _ = reader.latest(job);
        }
        for writer in &mut self.writers {
            writer.publish(job, job.number()).map_err(|_| Failure::Code(1))?;
        }
        self.least.fetch_min(IN_USE.load(Ordering::Relaxed), Ordering::Relaxed);
        Ok(())
    }
}

/// For `channels` states from one task to `readers` others: the plan's figure for the runtime, and the bytes of the
/// heap in use while the application runs.
fn weigh(flow: &str, mechanism: &str, channels: usize, readers: usize) -> (i64, i64) {
    let mut manifest =
        "manifest = 1\n[app]\nname = \"weighed\"\n[platform]\ncores = [0, 1]\nmemory = \"64MiB\"\n\
                        executor = \"dispatched\"\non-missing-privilege = \"degrade\"\n\
                        [payloads]\nWord = { type = \"u64\" }\n"
            .to_owned();
    let names: Vec<_> = (0..readers).map(|at| format!("reader{at}")).collect();
    for (at, name) in std::iter::once("writer").chain(names.iter().map(String::as_str)).enumerate() {
        let (core, priority) = (at % 2, 60 - at);
        manifest += &format!(
            "[tasks.{name}]\narrival = {{ periodic = \"20ms\" }}\ndeadline = \"20ms\"\ncore = {core}\n\
             wcet = {{ value = \"50us\", source = \"guess\" }}\npriority = {priority}\n"
        );
    }
    let to = names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    for at in 0..channels {
        manifest += &format!(
            "[channels.c{at:02}]\nkind = \"state\"\nfrom = \"writer\"\nto = [{to}]\npayload = \"Word\"\n\
             flow = \"{flow}\"\nmechanism = \"{mechanism}\"\n"
        );
    }
    weighed(&manifest, |app| {
        let all = || (0..channels).map(|at| format!("c{at:02}"));
        app.task("writer", |create| {
            let writers = all().map(|name| create.state_writer(&name)).collect::<Result<_, Error>>()?;
            Ok(User { readers: Vec::new(), writers, least: &LEAST })
        })?;
        for name in &names {
            app.task(name, |create| {
                let readers = all().map(|name| create.state_reader(&name)).collect::<Result<_, Error>>()?;
                Ok(User { readers, writers: Vec::new(), least: &LEAST })
            })?;
        }
        Ok(())
    })
}

/// The least heap in use that a job of the application saw.
static LEAST: AtomicUsize = AtomicUsize::new(0);
/// One test at a time: every allocation counts.
static ALONE: Mutex<()> = Mutex::new(());

/// The plan's figure for the runtime, and the bytes of the heap in use while the application runs.
fn weighed(manifest: &str, set_up: impl for<'p> FnOnce(&mut App<'p>) -> Result<(), Error>) -> (i64, i64) {
    let plan = planned(manifest);
    let runtime = plan.memory.runtime.as_bytes() as i64;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("taut.toml"), manifest).unwrap();
    let lock = folder.path().join("taut.lock");
    std::fs::write(&lock, plan.to_lock().unwrap()).unwrap();
    drop(plan);
    LEAST.store(usize::MAX, Ordering::Relaxed);
    let config = Config {
        lock,
        out: None,
        duration: Some(Duration::from_ms(100)),
        spawned_ns: None,
        record_limit: None,
        applications: None,
    };
    let before = IN_USE.load(Ordering::Relaxed);
    let ending = taut_run::run(&config, &mut Quiet, set_up);
    assert!(ending.unwrap().orderly);
    let least = LEAST.load(Ordering::Relaxed);
    assert_ne!(least, usize::MAX, "it has run");
    (runtime, least as i64 - before as i64)
}

/// The receiver of alarms, which it sets for itself and never takes.
struct Waits<'p> {
    _alarms: AlarmReader<'p, u64>,
    _own: AlarmSetter<'p, u64>,
}

impl Component for Waits<'_> {}

impl Task for Waits<'_> {
    fn release(&mut self, _: &mut Job<'_>) -> Result<(), Failure> {
        LEAST.fetch_min(IN_USE.load(Ordering::Relaxed), Ordering::Relaxed);
        Ok(())
    }
}

/// With `capacity` alarms: the plan's figure for the runtime, and the bytes of the heap in use.
fn weigh_alarms(capacity: u32) -> (i64, i64) {
    let manifest = format!(
        "manifest = 1\n[app]\nname = \"weighed\"\n[platform]\ncores = [0]\nmemory = \"64MiB\"\n\
         on-missing-privilege = \"degrade\"\n[payloads]\nWord = {{ type = \"u64\" }}\n\
         [tasks.waits]\narrival = {{ periodic = \"20ms\" }}\ndeadline = \"20ms\"\n\
         wcet = {{ value = \"50us\", source = \"guess\" }}\n\
         [channels.alarms]\nkind = \"alarm\"\nfrom = \"waits\"\nto = \"waits\"\npayload = \"Word\"\n\
         capacity = {capacity}\n"
    );
    weighed(&manifest, |app| {
        app.task("waits", |create| {
            Ok(Waits { _alarms: create.alarm_reader("alarms")?, _own: create.alarm_setter("alarms")? })
        })
    })
}

/// The plan's figure for alarms is not less than the heap that the order of their instants takes, and not much more.
#[test]
fn alarms_take_what_is_planned() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let ((few, lesser), (many, more)) = (weigh_alarms(1), weigh_alarms(5_001));
    let (planned, taken) = (many - few, more - lesser);
    println!("{planned} bytes planned, {taken} taken");
    assert!(taken > 100_000, "it is weighed");
    assert!(taken <= planned && 4 * planned <= 5 * taken, "{planned} bytes planned, {taken} taken");
}

/// The plan's figure for a flow is not less than the heap that the flow takes beyond a newest-value state, and not
/// much more.
#[test]
fn flows_take_what_is_planned() {
    const MORE: i64 = 8;
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for readers in [1, 6] {
        // For each channel beyond the first.
        let each = |flow: &str, mechanism: &str| {
            let (planned, taken) = weigh(flow, mechanism, 1 + MORE as usize, readers);
            let (less, lesser) = weigh(flow, mechanism, 1, readers);
            ((planned - less) / MORE, (taken - lesser) / MORE)
        };
        let (newest, plain) = each("newest", "chen");
        assert_eq!(newest, 0);
        for mechanism in ["dbp", "tccp"] {
            let (planned, taken) = each("synchronous", mechanism);
            let (whole, taken) = (taken, taken - plain);
            println!("{mechanism}, {readers} readers: {planned} bytes planned, {taken} taken");
            assert!(taken > 1000, "it is weighed");
            assert!(
                taken <= planned,
                "{mechanism}, {readers} readers: {planned} bytes planned, {taken} taken"
            );
            // All that such a channel takes, what every state takes included.
            assert!(2 * planned <= 3 * whole, "{mechanism}, {readers} readers: {planned}, {whole}");
        }
    }
}
