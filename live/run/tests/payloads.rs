// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Messages that carry several payloads: the receiver gets each as what it is, and what a client sends that is none of them is
//! dropped, counted and recorded, and delays no real-time sender.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;
mod processes;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use app::{each, plan, run};
use processes::{attach, folder, start};
use taut_boot::LoadedPlan;
use taut_event::Kind;
use taut_plan::ValidPlan;
use taut_run::bench::Bench;
use taut_run::{
    App, Attachment, Component, Context, Error, Failure, Job, MessageReader, OneOf, QueueWriter, SendError,
    Task,
};
use taut_segment::Role;
use taut_time::Duration;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

taut_run::payload_with! {
    "zerocopy"
    /// How loud.
    #[derive(PartialEq)]
    struct SetVolume { left: f32, right: f32, fade_ms: u32 }
}

taut_run::payload_with! {
    "zerocopy"
    /// What `serves` is asked for.
    #[derive(PartialEq)]
    enum Request {
        SetVolume(SetVolume),
        Mute(u8) = "mute",
    }
}

type Stored = <Request as OneOf>::Stored;

const PAYLOADS: &str = "[payloads]\nSetVolume = { fields = { left = \"f32\", right = \"f32\", fade_ms = \"u32\" } }\n\
     mute = { type = \"u8\" }\n";

/// `serves`, which is task 0, receives from `urgent`, `steers` and `panel`, in this order of lanes.
fn tables(executor: &str, payload: &str, keys: &str) -> String {
    format!(
        "{executor}\n{PAYLOADS}[clients.panel]\n\
         [tasks.serves]\narrival = {{ sporadic = \"2ms\", trigger = \"requests\" }}\ndeadline = \"2ms\"\n\
         wcet = {{ value = \"50us\", source = \"guess\" }}\ncore = 0\npriority = 40\n\
         [tasks.urgent]\narrival = {{ periodic = \"10ms\" }}\ndeadline = \"10ms\"\n\
         wcet = {{ value = \"50us\", source = \"guess\" }}\ncore = 0\npriority = 30\n\
         [tasks.steers]\nclass = \"best-effort\"\n\
         [channels.requests]\nkind = \"message\"\nfrom = [\"urgent\", \"steers\", \"panel\"]\nto = \"serves\"\n\
         payload = {payload}\n{keys}"
    )
}

const BOTH: &str = "[\"SetVolume\", \"mute\"]";

fn volume(left: f32) -> Request {
    Request::SetVolume(SetVolume { left, right: -left, fade_ms: 7 })
}

/// A value that says that it is the payload of this number.
fn of_number(number: u64) -> Stored {
    let mut stored = Stored::new_zeroed();
    stored.as_mut_bytes()[..8].copy_from_slice(&number.to_ne_bytes());
    stored.as_mut_bytes()[8..].fill(0xA5);
    stored
}

/// What the jobs took, and how many values they dropped.
type Taken = Arc<Mutex<(Vec<(String, Request)>, u64)>>;

struct Serves<'p> {
    requests: MessageReader<'p, Stored>,
    taken: Taken,
}

impl Component for Serves<'_> {}

impl Task for Serves<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        while let Some(request) = self.requests.next_one_of::<Request>(job) {
            self.taken.lock().unwrap().0.push((request.sender.to_owned(), request.value));
        }
        self.taken.lock().unwrap().1 = self.requests.unknown();
        Ok(())
    }
}

fn bench(keys: &str, taken: &Taken) -> Bench {
    let (plan, taken) = (plan(&tables("", BOTH, keys)).0, Arc::clone(taken));
    let text = plan.to_lock().unwrap();
    let loaded = LoadedPlan { plan: ValidPlan::new(plan).unwrap(), text };
    Bench::with_plan(loaded, move |app| {
        app.task("urgent", |create| {
            let mut requests = create.queue_writer::<Stored>("requests")?;
            Ok(each(move |job| {
                requests.send_one_of(job, volume(1.0)).map_err(|_| Failure::Code(1))?;
                let more = requests.send_one_of(job, Request::Mute(1));
                assert_eq!(more, Err(SendError::TooMany(Request::Mute(1))), "the error returns the value");
                Ok(())
            }))
        })?;
        app.best_effort("steers", |create| {
            let _requests = create.queue_writer::<Stored>("requests")?;
            Ok(|_: &mut Context<'_>| ())
        })?;
        app.task("serves", |create| Ok(Serves { requests: create.message_reader("requests")?, taken }))
    })
    .unwrap()
}

/// The values that were recorded as lost, by lane.
fn dropped(bench: &Bench) -> Vec<u16> {
    let records = bench.records().iter().filter(|record| record.kind == Kind::Drop);
    records.map(|record| record.subject).collect()
}

#[test]
fn each_value_comes_as_what_it_is() {
    for order in ["", "order = \"fifo\"\n"] {
        let taken = Taken::default();
        let mut bench = bench(&format!("takes-per-release = 2\ncapacity = 4\n{order}"), &taken);
        assert!(bench.client("panel").send("requests", Request::Mute(5).to_stored()).unwrap());
        assert!(bench.client("panel").send("requests", volume(2.0).to_stored()).unwrap());
        assert!(bench.task("steers").send("requests", Request::Mute(6).to_stored()).unwrap());
        bench.run_for(Duration::from_ms(9)).unwrap();
        let mut taken = taken.lock().unwrap().0.clone();
        taken.sort_by(|one, other| one.0.cmp(&other.0));
        let expected = [
            ("panel", Request::Mute(5)),
            ("panel", volume(2.0)),
            ("steers", Request::Mute(6)),
            ("urgent", volume(1.0)),
        ];
        assert_eq!(taken, expected.map(|(sender, value)| (sender.to_owned(), value)), "{order}");
        assert!(dropped(&bench).is_empty());
    }
}

/// Two in a job, 2 ms apart. What is no payload counts as one of them, is counted and recorded with its lane, and the job goes
/// on to the next value.
#[test]
fn what_is_no_payload_is_dropped_and_counted() {
    let taken = Taken::default();
    let mut bench = bench("takes-per-release = 2\ncapacity = 8\n", &taken);
    for number in [2, u64::MAX, 1, 0x1_0000_0000, 0] {
        assert!(bench.client("panel").send("requests", of_number(number)).unwrap());
    }
    bench.run_for(Duration::from_ms(9)).unwrap();
    let (values, unknown) = taken.lock().unwrap().clone();
    let senders: Vec<&str> = values.iter().map(|(sender, _)| sender.as_str()).collect();
    assert_eq!(senders, ["urgent", "panel", "panel"]);
    assert_eq!(values[1].1, Request::Mute(0xA5));
    assert_eq!(unknown, 3);
    assert_eq!(dropped(&bench), [2, 2, 2], "the lane of the panel");
}

/// Code that knows other payloads, in another order, or with other fields is refused.
#[test]
fn the_layout_says_which_payloads_there_are() {
    taut_run::payload_with! {
        "zerocopy"
        /// The two payloads in the other order.
        enum Turned {
            Mute(u8) = "mute",
            SetVolume(SetVolume),
        }
    }
    taut_run::payload_with! {
        "zerocopy"
        /// Without one of them.
        enum Fewer {
            SetVolume(SetVolume),
        }
    }
    taut_run::payload_with! {
        "zerocopy"
        /// Two fields have changed places.
        struct Swapped { right: f32, left: f32, fade_ms: u32 }
    }
    taut_run::payload_with! {
        "zerocopy"
        /// Of the same size as the manifest's.
        enum Other {
            SetVolume(Swapped),
            Mute(u8) = "mute",
        }
    }
    let outcome = run(&tables("", BOTH, ""), None, |app| {
        app.task("serves", |create| {
            let refused = [
                create.message_reader::<<Turned as OneOf>::Stored>("requests").err(),
                create.message_reader::<<Fewer as OneOf>::Stored>("requests").err(),
                create.message_reader::<<Other as OneOf>::Stored>("requests").err(),
                create.message_reader::<SetVolume>("requests").err(),
            ];
            for error in refused {
                assert!(matches!(error, Some(Error::Layout { .. })), "{error:?}");
            }
            let requests: MessageReader<'_, Stored> = create.message_reader("requests")?;
            Ok(Serves { requests, taken: Taken::default() })
        })
    });
    assert!(outcome.ending.is_err(), "tasks have no code");
}

/// A client that sends without end: of nine values one is a payload.
fn liar(folder: &Path) {
    let attachment = Attachment::new(attach(folder, "panel"));
    assert!(attachment.end::<SetVolume>("requests", Role::Writes).is_err(), "another payload");
    let mut end = attachment.end::<Stored>("requests", Role::Writes).unwrap();
    let mut number = 0u64;
    loop {
        let value = match number % 9 {
            8 => Request::Mute(3).to_stored(),
            at => Stored::read_from_bytes(&[[0xFF - at as u8; 8], [at as u8; 8], [1; 8]].concat()).unwrap(),
        };
        number += u64::from(end.publish(value).is_ok());
    }
}

/// Counts what came from the real-time sender and from the client, and what was dropped. It uses no heap.
struct Counts<'p>(MessageReader<'p, Stored>, &'static [AtomicU64; 3]);

impl Component for Counts<'_> {}

impl Task for Counts<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        while let Some(request) = self.0.next_one_of::<Request>(job) {
            let (at, expected) = match request.sender {
                "urgent" => (0, volume(1.0)),
                _ => (1, Request::Mute(3)),
            };
            if request.value != expected {
                return Err(Failure::Code(9));
            }
            self.1[at].fetch_add(1, Ordering::Relaxed);
        }
        self.1[2].store(self.0.unknown(), Ordering::Relaxed);
        Ok(())
    }
}

/// The application, until the liar's values have come. Its exit code says whether all held.
fn application(folder: &Path, executor: &str) {
    let counts: &'static [AtomicU64; 3] = Box::leak(Box::default());
    let seen = folder.join("seen");
    // Room for what comes while the machine stands still.
    let tables = tables(executor, BOTH, "capacity = 16\n");
    let outcome = run(&tables, Some(Duration::from_ms(20_000)), |app: &mut App<'_>| {
        app.task("urgent", |create| {
            let mut requests: QueueWriter<'_, Stored> = create.queue_writer("requests")?;
            Ok(each(move |job| requests.send_one_of(job, volume(1.0)).map_err(|_| Failure::Code(1))))
        })?;
        app.best_effort("steers", |create| {
            let _requests = create.queue_writer::<Stored>("requests")?;
            Ok(move |context: &mut Context<'_>| {
                while context.sleep(Duration::from_ms(5)) {
                    let [urgent, panel, unknown] =
                        counts.each_ref().map(|count| count.load(Ordering::Relaxed));
                    if urgent > 20 && panel > 4 && unknown > 40 {
                        std::fs::write(&seen, "").unwrap();
                        context.control().stop();
                    }
                }
            })
        })?;
        app.task("serves", |create| Ok(Counts(create.message_reader("requests")?, counts)))
    });
    assert!(outcome.ending.as_ref().unwrap().orderly, "{:?}", outcome.reported.unfinished);
    assert!(outcome.of(Kind::Failed).is_empty(), "a value came as another, or a real-time lane was full");
    let lost = outcome.of(Kind::Drop);
    assert!(lost.len() > 40 && lost.iter().all(|record| record.subject == 2), "only the liar's: {lost:?}");
    // Every value of the real-time sender is received, and within its bound unless the machine stood still.
    let bound_ns = plan(&tables).0.channels[0].latency.unwrap().as_ns();
    let (sent, received) = (outcome.of_task(Kind::Send, 0).len(), outcome.of_task(Kind::Receive, 0));
    assert!(sent > 20 && sent - received.len() <= 1, "{sent} sent, {} received", received.len());
    let late = received.iter().filter(|record| record.value > bound_ns).count();
    assert!(late * 5 <= sent, "{late} of {sent} later than {bound_ns}");
}

/// What the processes that [`start`] starts do; nothing, and quietly, in the test itself.
#[test]
fn role() {
    let Some(role) = processes::role() else { return println!("no test: for processes that tests start") };
    match role.as_str() {
        "liar" => liar(&folder()),
        "native" => application(&folder(), ""),
        _ => application(&folder(), "executor = \"dispatched\""),
    }
}

/// A client sends numbers of no payload without end: they are dropped and counted as its own, its payloads come, and the
/// real-time sender loses nothing and is in time.
#[test]
fn a_client_that_lies_spoils_its_own_values() {
    for kind in ["native", "dispatched"] {
        let runtime = tempfile::Builder::new().prefix("taut").tempdir().unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o711);
        std::fs::set_permissions(runtime.path(), mode).unwrap();
        let mut application = start(kind, runtime.path());
        let liar = start("liar", runtime.path());
        let status = application.0.wait().unwrap();
        drop(liar);
        assert!(status.success(), "{kind}: {status}");
        assert!(runtime.path().join("seen").exists(), "{kind}: what the liar sent came");
    }
}
