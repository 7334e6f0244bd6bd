// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The code of `docs/rtdroid-listings.md`, on real threads. Each listing stands here as it does there.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use app::plain::planned;
use app::run;
use taut::{
    App, Component, Context, Create, Error, Failure, Handler, Job, Looper, MessageHandler, MessageReader,
    QueueWriter, Receiver, Service, Task,
};
use taut_event::Kind;

/// What an application has under this name.
mod taut {
    pub(crate) use taut_run::*;
    pub(crate) use taut_time::Duration;
}

taut_run::payload_with! {
    "taut_run::zerocopy"
    /// What the processing is asked for.
    pub struct Request {
        /// The volume or the gain.
        pub what: u32,
        /// To what it is set.
        pub value: i32,
    }
}

taut_run::payload_with! {
    "taut_run::zerocopy"
    /// What the looper is told.
    pub struct Command {
        /// 1: at once, 2: later, 3: removed.
        pub what: u32,
        /// Not used.
        pub value: i32,
    }
}

const PAGE: &str = include_str!("../../../docs/rtdroid-listings.md");

fn configuration<'p>(
    create: &mut Create<'_, 'p>,
) -> Result<impl FnOnce(&mut Context<'_>) + Send + use<'p>, Error> {
    let mut requests = create.queue_writer::<Request>("msg-handler")?;
    Ok(move |context: &mut Context<'_>| {
        let mut clicks = 0;
        while context.sleep(taut::Duration::from_ms(5)) {
            clicks += 1;
            // The oldest of its own requests gives way if the lane is full; the receiver learns how many did.
            let _ = requests.send(context, Request { what: VOLUME, value: clicks });
        }
    })
}

const VOLUME: u32 = 1;

struct Processing<'p> {
    requests: MessageReader<'p, Request>,
    output: QueueWriter<'p, [u32; 22]>,
    volume: i32,
}

impl Component for Processing<'_> {}

impl Task for Processing<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        while let Some(request) = self.requests.next(job) {
            if request.value.what == VOLUME {
                self.volume = request.value.value;
            }
        }
        let scope = job.scope();
        let spectrum: &mut [i32] = scope.slice(64, self.volume)?;
        let mut electrodes = [0; 22];
        for (electrode, band) in electrodes.iter_mut().zip(spectrum.iter()) {
            *electrode = band.unsigned_abs();
        }
        self.output.send(job, electrodes).map_err(|_| Failure::Code(1))
    }
}

fn processing<'p>(create: &mut Create<'_, 'p>) -> Result<Processing<'p>, Error> {
    Ok(Processing {
        requests: create.message_reader("msg-handler")?,
        output: create.queue_writer("audio-output")?,
        volume: 0,
    })
}

struct Recording<'p> {
    requests: QueueWriter<'p, Request>,
}

impl Component for Recording<'_> {}

impl Task for Recording<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        self.requests.send(job, Request { what: GAIN, value: 3 }).map_err(|_| Failure::Code(1))
    }
}

const GAIN: u32 = 2;

struct Output {
    heard: u64,
}

impl Component for Output {}

impl Receiver<[u32; 22]> for Output {
    fn receive(&mut self, _: &mut Job<'_>, electrodes: [u32; 22]) -> Result<(), Failure> {
        self.heard += u64::from(electrodes[0] > 0);
        Ok(())
    }
}

struct Handles {
    last: Command,
}

impl Component for Handles {}

impl MessageHandler<Command> for Handles {
    fn handle_message(&mut self, _: &mut Job<'_>, message: &Command, _sender: &str) -> Result<(), Failure> {
        self.last = *message;
        Ok(())
    }
}

struct Guard<'p> {
    handler: Handler<'p, Command>,
}

impl Component for Guard<'_> {}

impl Task for Guard<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let refused = |_| Failure::Code(1);
        self.handler.send_message(job, Command { what: 1, value: 0 }).map_err(|_| Failure::Code(2))?;
        let delay = taut::Duration::from_ms(5);
        self.handler.send_message_delayed(job, Command { what: 2, value: 0 }, delay).map_err(refused)?;
        let at = job.release().checked_add(taut::Duration::from_ms(8)).ok_or(Failure::Code(3))?;
        let last =
            self.handler.send_message_at_time(job, Command { what: 3, value: 0 }, at).map_err(refused)?;
        // Not needed after all.
        let _outcome = self.handler.remove_message(job, last);
        Ok(())
    }
}

fn guard<'p>(create: &mut Create<'_, 'p>) -> Result<Guard<'p>, Error> {
    Ok(Guard { handler: Handler::new(create, "messages", "later")? })
}

fn looper<'p, H: MessageHandler<Command>>(
    create: &mut Create<'_, 'p>,
    handles: H,
) -> Result<Looper<'p, Command, H>, Error> {
    Looper::new(create, "messages", "later", handles)
}

/// Counts what the output has heard.
struct Counted {
    output: Output,
    heard: &'static AtomicU64,
}

impl Component for Counted {}

impl Receiver<[u32; 22]> for Counted {
    fn receive(&mut self, job: &mut Job<'_>, electrodes: [u32; 22]) -> Result<(), Failure> {
        self.output.receive(job, electrodes)?;
        self.heard.store(self.output.heard, Ordering::Relaxed);
        Ok(())
    }
}

fn set_up(app: &mut App<'_>, heard: &'static AtomicU64) -> Result<(), Error> {
    app.service("processing", |service: &mut Service<'_, '_>| service.task("processing-task", processing))?;
    app.task("recording", |create| Ok(Recording { requests: create.queue_writer("msg-handler")? }))?;
    app.receiver("output", |_| Ok(Counted { output: Output { heard: 0 }, heard }))?;
    app.best_effort("configuration", configuration)
}

fn blocks(kind: &str) -> Vec<&'static str> {
    let fence = format!("```{kind}\n");
    PAGE.split(&fence).skip(1).map(|rest| rest.split_once("```").unwrap().0).collect()
}

#[test]
fn the_listings_run() {
    static HEARD: AtomicU64 = AtomicU64::new(0);
    let manifest = blocks("toml")[0];
    assert!(planned(manifest).proven);
    let tables = &manifest[manifest.find("[payloads]").unwrap()..];
    let outcome = run(tables, Some(taut::Duration::from_ms(200)), |app| set_up(app, &HEARD));
    assert!(outcome.ending.unwrap().orderly);
    let of = |kind| outcome.records.iter().filter(|record| record.kind == kind).count();
    assert_eq!((of(Kind::Failed), of(Kind::TooMany)), (0, 0));
    // From the first click on, the processing is as loud as it was asked for.
    assert!(HEARD.load(Ordering::Relaxed) > 0);
}

/// The looper's handler of the page, and what it was told: when, after release 0, and what.
struct Told {
    handles: Handles,
    times: &'static Mutex<Vec<(u64, u32)>>,
}

impl Component for Told {}

impl MessageHandler<Command> for Told {
    fn handle_message(&mut self, job: &mut Job<'_>, message: &Command, sender: &str) -> Result<(), Failure> {
        self.handles.handle_message(job, message, sender)?;
        assert_eq!(sender, "guard");
        let mut times = self.times.lock().unwrap();
        if times.len() < times.capacity() {
            times.push((job.now().as_ns(), self.handles.last.what));
        }
        Ok(())
    }
}

#[test]
fn messages_come_at_once_and_later() {
    for executor in ["", "executor = \"dispatched\"\n"] {
        let times: &'static Mutex<Vec<(u64, u32)>> = Box::leak(Box::new(Mutex::new(Vec::with_capacity(64))));
        let tables = format!("{executor}{}", blocks("toml")[1]);
        let outcome = run(&tables, Some(taut::Duration::from_ms(190)), |app| {
            app.task("guard", guard)?;
            app.task("looper", |create| {
                let handles = Handles { last: Command { what: 0, value: 0 } };
                looper(create, Told { handles, times })
            })
        });
        assert!(outcome.ending.as_ref().unwrap().orderly);
        let origin = outcome.of(Kind::Begin)[0].at.as_ns();
        let times = times.lock().unwrap();
        let of = |what: u32| {
            times.iter().filter(|(_, of)| *of == what).map(|(at, _)| at - origin).collect::<Vec<_>>()
        };
        let (at_once, later, removed) = (of(1), of(2), of(3));
        // Ten jobs of the guard; a stall of the machine may skip some.
        assert!(at_once.len() > 5 && later.len() > 5 && removed.is_empty(), "{times:?}");
        for (first, second) in at_once.iter().zip(&later) {
            assert!(first / 20_000_000 == second / 20_000_000, "of one job");
            assert!(second % 20_000_000 >= 5_000_000, "not before its instant");
        }
        assert_eq!(outcome.of(Kind::Failed).len(), 0);
    }
}

/// What the page shows is what runs here.
#[test]
fn the_page_shows_this_code() {
    let own = include_str!("listings.rs");
    let rust = blocks("rust");
    assert_eq!(rust.len(), 5);
    for block in rust {
        let shown: Vec<&str> = block.lines().filter(|line| !line.starts_with("# ")).collect();
        assert!(own.contains(&shown.join("\n")), "{block}");
    }
}
