// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Messages whose senders that are not real-time drop their own oldest value: they are never refused, the receiver gets the
//! newest and learns how many it has lost, and real-time senders lose nothing and are in time.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;
mod processes;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use app::{TURN, each, plan, run};
use processes::{attach, folder, start};
use taut_boot::LoadedPlan;
use taut_event::Kind;
use taut_plan::ValidPlan;
use taut_run::bench::Bench;
use taut_run::{
    App, Attachment, Component, Context, Failure, Job, MessageReader, Payload, QueueWriter, Task,
};
use taut_segment::Role;
use taut_sys::usage::thread_usage;
use taut_time::Duration;

/// `serves`, which is task 0, receives from `urgent`, `steers` and `panel`, in this order of lanes.
fn tables(executor: &str, len: usize, keys: &str) -> String {
    format!(
        "{executor}\n[payloads]\nValue = {{ type = \"u64\", len = {len} }}\n[clients.panel]\n\
         [tasks.serves]\narrival = {{ sporadic = \"2ms\", trigger = \"requests\" }}\ndeadline = \"2ms\"\n\
         wcet = {{ value = \"50us\", source = \"guess\" }}\ncore = 0\npriority = 40\n\
         [tasks.urgent]\narrival = {{ periodic = \"10ms\" }}\ndeadline = \"10ms\"\n\
         wcet = {{ value = \"50us\", source = \"guess\" }}\ncore = 0\npriority = 30\n\
         [tasks.steers]\nclass = \"best-effort\"\n\
         [channels.requests]\nkind = \"message\"\nfrom = [\"urgent\", \"steers\", \"panel\"]\nto = \"serves\"\n\
         payload = \"Value\"\noverflow = \"drop-oldest\"\n{keys}"
    )
}

/// The sender, the value's number, and what was lost before it.
type Taken = Arc<Mutex<Vec<(String, u64, u64)>>>;

struct Serves<'p, P: Payload> {
    requests: MessageReader<'p, P>,
    taken: Taken,
    number: fn(&P) -> u64,
}

impl<P: Payload> Component for Serves<'_, P> {}

impl<P: Payload> Task for Serves<'_, P> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        while let Some(request) = self.requests.next(job) {
            let taken = (request.sender.to_owned(), (self.number)(request.value), request.lost);
            self.taken.lock().unwrap().push(taken);
        }
        Ok(())
    }
}

/// `panel` sends ten values and `steers` three, before anything runs; then `urgent` sends one in each job.
fn played<P: Payload>(
    len: usize,
    keys: &str,
    value: fn(u64) -> P,
    number: fn(&P) -> u64,
) -> (Vec<(String, u64, u64)>, Bench) {
    let taken = Taken::default();
    let (plan, kept) = (plan(&tables("", len, keys)).0, Arc::clone(&taken));
    let text = plan.to_lock().unwrap();
    let loaded = LoadedPlan { plan: ValidPlan::new(plan).unwrap(), text };
    let mut bench = Bench::with_plan(loaded, move |app| {
        app.task("urgent", |create| {
            let mut requests = create.queue_writer::<P>("requests")?;
            Ok(each(move |job| {
                let value = value(job.number());
                requests.send_from(job, &value).map_err(|_| Failure::Code(1))
            }))
        })?;
        app.best_effort("steers", |create| {
            let _requests = create.queue_writer::<P>("requests")?;
            Ok(|_: &mut Context<'_>| ())
        })?;
        app.task("serves", |create| {
            Ok(Serves { requests: create.message_reader("requests")?, taken: kept, number })
        })
    })
    .unwrap();
    for number in 1..=10 {
        assert!(bench.client("panel").send("requests", value(number)).unwrap(), "never refused");
    }
    for number in 1..=3 {
        assert!(bench.task("steers").send("requests", value(number)).unwrap());
    }
    bench.run_for(Duration::from_ms(9)).unwrap();
    let taken = taken.lock().unwrap().clone();
    (taken, bench)
}

fn expected(all: &[(&str, u64, u64)]) -> Vec<(String, u64, u64)> {
    all.iter().map(|(sender, number, lost)| ((*sender).to_owned(), *number, *lost)).collect()
}

/// Four fit: of ten, the first six are lost, and told with the seventh. The recording has them in the sender's lane.
#[test]
fn the_newest_come_and_the_lost_are_counted() {
    let keys = "takes-per-release = 2\ncapacity = 4\n";
    let all = expected(&[
        ("urgent", 0, 0),
        ("steers", 1, 0),
        ("steers", 2, 0),
        ("steers", 3, 0),
        ("panel", 7, 6),
        ("panel", 8, 0),
        ("panel", 9, 0),
        ("panel", 10, 0),
    ]);
    // Values of which one fills a line of the ring, and values that the receiver copies two at once.
    let large = played::<[u64; 4]>(4, keys, |number| [number; 4], |value| value[3]);
    let small = played::<u64>(1, keys, |number| number, |value| *value);
    for (mut taken, bench) in [large, small] {
        // The real-time sender's value may come behind the first look.
        let urgent = taken.iter().position(|(sender, ..)| sender == "urgent").unwrap();
        assert!(urgent <= 2, "{taken:?}");
        let first = taken.remove(urgent);
        taken.insert(0, first);
        assert_eq!(taken, all);
        let lost = bench.records().iter().filter(|record| record.kind == Kind::Drop);
        assert_eq!(lost.map(|record| (record.subject, record.value)).collect::<Vec<_>>(), [(2, 6)]);
    }
}

/// First in, first out: a sender that drops its oldest values has no stamp to go by, and comes when it was seen.
#[test]
fn dropping_senders_have_an_order_too() {
    let keys = "takes-per-release = 8\ncapacity = 4\norder = \"fifo\"\n";
    let (taken, _) = played::<u64>(1, keys, |number| number, |value| *value);
    let of = |wanted: &str| {
        let own = taken.iter().filter(|(sender, ..)| sender == wanted);
        own.map(|(_, number, lost)| (*number, *lost)).collect::<Vec<_>>()
    };
    assert_eq!(of("urgent"), [(0, 0)]);
    assert_eq!(of("steers"), [(1, 0), (2, 0), (3, 0)]);
    assert_eq!(of("panel"), [(7, 6), (8, 0), (9, 0), (10, 0)]);
}

/// The sender's process, and the number of the value.
type Value = [u64; 4];

/// A client that sends without end, and is never refused.
fn flood(folder: &Path) {
    let mut end = Attachment::new(attach(folder, "panel")).end::<Value>("requests", Role::Writes).unwrap();
    let process = u64::from(std::process::id());
    for number in 1.. {
        assert!(end.publish([process, number, process, number]).is_ok());
    }
}

/// A client that writes nonsense into its lane.
fn vandal(folder: &Path) {
    let attachment = Attachment::new(attach(folder, "panel"));
    let bytes = attachment.attached().region("requests/panel").unwrap();
    let mut chance = 1u64;
    loop {
        for at in 0..bytes.len() / 8 {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // SAFETY:
            // - inside a mapping of this process, aligned to 8, which stays mapped as long as `attachment`
            // - others access these words atomically or as another program's memory; so does this store
            let word = unsafe { AtomicU64::from_ptr(bytes.cast::<u64>().as_ptr().add(at)) };
            word.store(chance, Ordering::Relaxed);
        }
    }
}

/// Counts what came from the real-time sender and from clients, and what was lost. It uses no heap.
struct Counts<'p> {
    requests: MessageReader<'p, Value>,
    counts: &'static [AtomicU64; 3],
    /// The client's process, and the number of its last value.
    last: (u64, u64),
    urgent: u64,
    /// Whether a client may write nonsense.
    spoiled: PathBuf,
}

impl Component for Counts<'_> {
    fn finish(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        let counts = self.counts.each_ref().map(|count| count.load(Ordering::Relaxed).to_string());
        Ok(std::fs::write(&self.spoiled, counts.join(" "))?)
    }
}

impl Task for Counts<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        while let Some(request) = self.requests.next(job) {
            let [process, number, ..] = *request.value;
            if request.sender == "urgent" {
                self.urgent += 1;
                if (request.lost, number, request.value[3]) != (0, self.urgent, self.urgent) {
                    return Err(Failure::Code(8));
                }
                self.counts[0].fetch_add(1, Ordering::Relaxed);
                continue;
            }
            let is_whole = request.value[..2] == request.value[2..];
            let follows = self.last.0 != process || number == self.last.1 + 1 + request.lost;
            if process <= u64::from(u32::MAX) && !(is_whole && follows) {
                return Err(Failure::Code(9));
            }
            self.last = (process, number);
            self.counts[1].fetch_add(1, Ordering::Relaxed);
        }
        self.counts[2].store(self.requests.lost(), Ordering::Relaxed);
        Ok(())
    }
}

/// The application, for long enough that clients come and are killed. Its exit code says whether all held.
fn application(folder: &Path, executor: &str, order: &str) {
    let counts: &'static [AtomicU64; 3] = Box::leak(Box::default());
    let (over, seen) = (folder.join("over"), folder.join("seen"));
    // Room for what comes while the machine stands still.
    let tables = tables(executor, 4, &format!("capacity = 16\n{order}"));
    let outcome = run(&tables, Some(Duration::from_ms(30_000)), |app: &mut App<'_>| {
        app.task("urgent", |create| {
            let mut requests: QueueWriter<'_, Value> = create.queue_writer("requests")?;
            let mut number = 0;
            Ok(each(move |job| {
                number += 1;
                requests.send(job, [0, number, 0, number]).map_err(|_| Failure::Code(1))
            }))
        })?;
        app.best_effort("steers", |create| {
            let _requests = create.queue_writer::<Value>("requests")?;
            Ok(move |context: &mut Context<'_>| {
                while context.sleep(Duration::from_ms(5)) {
                    if over.exists() {
                        context.control().stop();
                    }
                }
            })
        })?;
        app.task("serves", |create| {
            let requests = create.message_reader("requests")?;
            Ok(Counts { requests, counts, last: (0, 0), urgent: 0, spoiled: seen })
        })
    });
    assert!(outcome.ending.as_ref().unwrap().orderly, "{:?}", outcome.reported.unfinished);
    let failed: Vec<u64> = outcome.of(Kind::Failed).iter().map(|record| record.value).collect();
    assert!(
        failed.is_empty(),
        "a value was torn or lost uncounted, or a real-time lane was full: {failed:?}"
    );
    let lost = outcome.of(Kind::Drop);
    assert!(lost.iter().all(|record| record.subject == 2), "only the client's: {lost:?}");
    // Every value of the real-time sender is received, and within its bound unless the machine stood still.
    let bound_ns = plan(&tables).0.channels[0].latency.unwrap().as_ns();
    let (sent, received) = (outcome.of_task(Kind::Send, 0).len(), outcome.of_task(Kind::Receive, 0));
    assert!(sent > 20 && sent - received.len() <= 1, "{sent} sent, {} received", received.len());
    let late = received.iter().filter(|record| record.value > bound_ns).count();
    assert!(late * 5 <= sent, "{late} of {sent} later than {bound_ns}");
    let releases: Vec<u64> = outcome.of_task(Kind::Release, 0).iter().map(|r| r.at.as_ns()).collect();
    assert!(releases.windows(2).all(|pair| pair[1] - pair[0] >= 2_000_000), "the gap is kept");
}

/// What the processes that [`start`] starts do; nothing, and quietly, in the test itself.
#[test]
fn role() {
    let Some(role) = processes::role() else { return println!("no test: for processes that tests start") };
    match role.as_str() {
        "flood" => flood(&folder()),
        "vandal" => vandal(&folder()),
        "native" => application(&folder(), "", ""),
        "native-fifo" => application(&folder(), "", "order = \"fifo\"\n"),
        _ => application(&folder(), "executor = \"dispatched\"", ""),
    }
}

/// A client floods its lane, never refused, and is killed in the middle of sending, again and again; another writes nonsense
/// into the lane. What comes is whole and in order, and what is lost is counted to the last value.
#[test]
fn clients_that_flood_lose_their_own() {
    // Its applications are processes of their own, which a job that computes for long would delay.
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for kind in ["native", "native-fifo", "dispatched"] {
        let runtime = tempfile::Builder::new().prefix("taut").tempdir().unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o711);
        std::fs::set_permissions(runtime.path(), mode).unwrap();
        let mut application = start(kind, runtime.path());
        for _ in 0..4 {
            let client = start("flood", runtime.path());
            std::thread::sleep(std::time::Duration::from_millis(200));
            drop(client);
        }
        let client = start("vandal", runtime.path());
        std::thread::sleep(std::time::Duration::from_millis(300));
        drop(client);
        std::fs::write(runtime.path().join("over"), "").unwrap();
        let status = application.0.wait().unwrap();
        assert!(status.success(), "{kind}: {status}");
        let seen = std::fs::read_to_string(runtime.path().join("seen")).unwrap();
        let seen: Vec<u64> = seen.split(' ').map(|count| count.parse().unwrap()).collect();
        assert!(seen[0] > 20 && seen[1] > 50 && seen[2] > 50, "{kind}: {seen:?}");
    }
}

/// How many gaps of `serves` an application runs.
const GAPS: u64 = 20;

/// How many values `steers` has sent, if it `sends` any, and how often jobs of `urgent` were preempted meanwhile.
fn preempted(overflow: &str, sends: bool) -> (u64, u64) {
    static SENT: AtomicU64 = AtomicU64::new(0);
    static SWITCHES: AtomicU64 = AtomicU64::new(0);
    let keys = "capacity = 16\ntakes-per-release = 16\n";
    // The sender has a processor of its own.
    let executor = "executor = \"dispatched\"\nhousekeeping = [1]";
    let tables = tables(executor, 4, keys).replace("\"2ms\"", "\"20ms\"").replace("drop-oldest", overflow);
    let outcome = run(&tables, Some(Duration::from_ms(20 * GAPS)), |app: &mut App<'_>| {
        app.task("urgent", |create| {
            let _requests: QueueWriter<'_, Value> = create.queue_writer("requests")?;
            // Computes for most of the time.
            Ok(each(move |_| {
                let (before, begun) = (thread_usage().involuntary_switches, Instant::now());
                while begun.elapsed().as_millis() < 8 {}
                SWITCHES.fetch_add(thread_usage().involuntary_switches - before, Ordering::Relaxed);
                Ok(())
            }))
        })?;
        app.best_effort("steers", |create| {
            let mut requests: QueueWriter<'_, Value> = create.queue_writer("requests")?;
            Ok(move |context: &mut Context<'_>| {
                while context.sleep(Duration::from_us(100)) {
                    let is_sent = sends && requests.send(context, [1; 4]).is_ok();
                    SENT.fetch_add(u64::from(is_sent), Ordering::Relaxed);
                }
            })
        })?;
        app.task("serves", |create| {
            let mut requests = create.message_reader::<Value>("requests")?;
            Ok(each(move |job| {
                while requests.next(job).is_some() {}
                Ok(())
            }))
        })
    });
    assert!(outcome.ending.as_ref().unwrap().orderly, "{:?}", outcome.reported.unfinished);
    (SENT.swap(0, Ordering::Relaxed), SWITCHES.swap(0, Ordering::Relaxed))
}

/// A sender that is not real-time wakes its receiver's dispatcher, above all tasks of the core, once in a gap, whether it drops its
/// values or gets back those that do not fit: the plan charges one look in each gap. The platform's probe preempts a job each
/// millisecond, sender or not.
#[test]
fn a_sender_wakes_the_dispatcher_once_in_a_gap() {
    for overflow in ["drop-oldest", "reject"] {
        let mut tried = Vec::new();
        // Whatever else runs above all tasks of this processor adds to some of these counts, and not to all.
        let is_seldom = (0..5).any(|_| {
            let ((_, without), (sent, with)) = (preempted(overflow, false), preempted(overflow, true));
            tried.push((sent, with, without));
            // A look, and a job of `serves`.
            sent >= 4 * GAPS && with <= without + 2 * GAPS
        });
        if tried.iter().all(|(sent, ..)| *sent < 4 * GAPS) {
            return println!("skipped: on this busy machine the sender sent too little: {tried:?}");
        }
        assert!(is_seldom, "{overflow}: sent, preemptions, and those without, in {GAPS} gaps: {tried:?}");
    }
}
