// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! An application records its values on real threads, and its code runs again with them: it sends the same. A change of the
//! code shows at the first value that differs.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use std::path::{Path, PathBuf};

use app::{Observed, TURN, each, plan};
use taut_event::file::Run;
use taut_event::values::{RecordedJob, RecordedTask, RecordedValues, VALUES_FILE};
use taut_event::{Counter, Interaction, JobOutcome, Kind, RanCode, Record, Refusal};
use taut_run::{
    App, Component, Config, Context, Error, Failure, Job, MessageReader, OneOf, QueueReader, QueueWriter,
    RECORDING, Receiver, ReplayConfig, RequestReader, StateReader, StateWriter, Task,
};
use taut_time::Duration;
use zerocopy::FromBytes;

/// `source` sends samples at its own pace, `steer` publishes gains, `filter` reads both and sends, `count` is released by what
/// it sends, and `logger` reads what `count` publishes.
fn tables(executor: &str) -> String {
    let task = |name: &str, arrival: &str, service: &str, priority: u32| {
        format!(
            "[tasks.{name}]\n{arrival}\ndeadline = \"5ms\"\n{service}wcet = {{ value = \"50us\", source = \"guess\" }}\n\
             core = 0\npriority = {priority}\n"
        )
    };
    let channel = |name: &str, kind: &str, from: &str, to: &str, payload: &str, keys: &str| {
        format!(
            "[channels.{name}]\nkind = \"{kind}\"\nfrom = \"{from}\"\nto = \"{to}\"\npayload = \"{payload}\"\n{keys}"
        )
    };
    [
        executor,
        "\n[payloads]\nSample = { type = \"u32\", len = 3 }\nOut = { fields = { number = \"u64\", sum = \"u64\" } }\n\
         Word = { type = \"u64\", len = 1 }\n[services.filtering]\n",
        "[tasks.source]\nclass = \"best-effort\"\n[tasks.logger]\nclass = \"best-effort\"\n",
        &task("steer", "arrival = { periodic = \"7ms\" }", "", 45),
        &task("filter", "arrival = { periodic = \"5ms\" }", "service = \"filtering\"\n", 40),
        &task("serves", "arrival = { sporadic = \"5ms\", trigger = \"requests\" }", "", 60),
        &task("count", "arrival = { sporadic = \"5ms\", trigger = \"out\" }", "", 50),
        &channel("samples", "queue", "source", "filter", "Sample", "record = true\ncapacity = 64\n"),
        &channel("gain", "state", "steer", "filter", "Word", "record = true\n"),
        &channel("out", "queue", "filter", "count", "Out", "record = true\ncapacity = 64\n"),
        &channel("note", "queue", "filter", "logger", "Word", "capacity = 4\n"),
        &channel("counted", "state", "count", "logger", "Word", "record = true\n"),
        &channel("even", "state", "steer", "filter", "Word", "record = true\nflow = \"synchronous\"\n"),
        &channel("served", "state", "serves", "logger", "Word", "record = true\n"),
        "[channels.requests]\nkind = \"message\"\nfrom = [\"steer\", \"filter\", \"source\"]\nto = \"serves\"\n\
         payload = [\"Word\", \"Out\"]\nrecord = true\ncapacity = 8\ntakes-per-release = 4\n",
        &channel("noise", "state", "source", "steer", "Sample", "record = true\n"),
        "[channels.asked]\nkind = \"request\"\nfrom = \"source\"\nto = \"filter\"\npayload = \"Word\"\nreply = \"Word\"\n\
         capacity = 4\nrecord = true\n",
        "[channels.turn]\nkind = \"state\"\nfrom = [\"source\", \"steer\"]\nto = \"filter\"\npayload = \"Word\"\nrecord = true\n",
    ]
    .concat()
}

taut_run::payload_with! {
    "taut_run::zerocopy"
    /// What the filter sends.
    struct Out { number: u64, sum: u64 }
}

taut_run::payload_with! {
    "taut_run::zerocopy"
    /// What is asked of `serves`.
    enum Request {
        Word(u64),
        Out(Out),
    }
}

type StoredRequest = <Request as OneOf>::Stored;

struct Filter<'p> {
    samples: QueueReader<'p, [u32; 3]>,
    gain: StateReader<'p, u64>,
    even: StateReader<'p, u64>,
    turn: StateReader<'p, u64>,
    requests: QueueWriter<'p, StoredRequest>,
    asked: RequestReader<'p, u64, u64>,
    out: QueueWriter<'p, Out>,
    note: QueueWriter<'p, u64>,
    sum: u64,
    number: u64,
    /// From this value on it adds one too many.
    off_from: u64,
}

impl Component for Filter<'_> {
    fn pause(&mut self) {
        self.sum = 1_000_000;
    }
}

impl Task for Filter<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let first = self.gain.latest(job).unwrap_or(1);
        let mut taken = 0u64;
        while let Some(sample) = self.samples.receive(job) {
            self.sum = self.sum.wrapping_add(sample.iter().map(|part| u64::from(*part)).sum::<u64>() * first);
            taken += 1;
        }
        // Each third request is dropped.
        while let Some(request) = self.asked.next(job) {
            self.sum = self.sum.wrapping_add(*request.value());
            if !request.value().is_multiple_of(3) {
                request.reply(job, self.sum).map_err(|_| Failure::Code(8))?;
            }
        }
        // Whose turn is the newest, and which.
        for _ in 0..2 {
            let turn = self.turn.latest_from(job).map_or(0, |turn| *turn.value ^ turn.sender.len() as u64);
            self.sum = self.sum.wrapping_mul(31).wrapping_add(turn);
        }
        // All that differs from run to run is in the sum: the time, the samples of this job, the newest gain.
        let late = job.now().since(job.release()).as_ns();
        let second = self.gain.latest(job).unwrap_or(1) + self.even.latest(job).unwrap_or(0);
        self.sum = self.sum.wrapping_mul(31).wrapping_add(late ^ taken ^ (second << 32) ^ job.used().as_ns());
        self.number += 1;
        let off = u64::from(self.number >= self.off_from);
        self.out.send(job, Out { number: self.number, sum: self.sum + off }).map_err(|_| Failure::Code(1))?;
        let request = Request::Out(Out { number: self.number, sum: self.sum });
        self.requests.send_one_of(job, request).map_err(|_| Failure::Code(4))?;
        // The logger takes few of these, so most are refused.
        self.sum += u64::from(self.note.send(job, self.sum).is_err());
        if self.number.is_multiple_of(10) { Err(Failure::Code(7)) } else { Ok(()) }
    }
}

/// Its sum depends on who sent what, and in which order it came.
struct Serves<'p> {
    requests: MessageReader<'p, StoredRequest>,
    served: StateWriter<'p, u64>,
    sum: u64,
}

impl Component for Serves<'_> {}

impl Task for Serves<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        while let Some(request) = self.requests.next_one_of(job) {
            let sender = request.sender.bytes().map(u64::from).sum::<u64>();
            let value = match request.value {
                Request::Word(word) => word,
                Request::Out(Out { number, sum }) => number ^ sum,
            };
            self.sum = self.sum.wrapping_mul(31).wrapping_add(value ^ sender);
        }
        // `source` sends values of no payload.
        self.sum = self.sum.wrapping_add(self.requests.unknown() << 8);
        self.served.publish(job, self.sum).map_err(|_| Failure::Code(5))
    }
}

struct Count<'p> {
    counted: StateWriter<'p, u64>,
    sum: u64,
}

impl Component for Count<'_> {}

impl Receiver<Out> for Count<'_> {
    fn receive(&mut self, job: &mut Job<'_>, out: Out) -> Result<(), Failure> {
        self.sum = self.sum.wrapping_add(out.sum);
        self.counted.publish(job, self.sum).map_err(|_| Failure::Code(2))
    }
}

fn set_up(app: &mut App<'_>, off_from: u64, burst: u32) -> Result<(), Error> {
    app.best_effort("source", |create| {
        let mut samples = create.queue_writer::<[u32; 3]>("samples")?;
        let mut noise = create.state_writer::<[u32; 3]>("noise")?;
        let mut turn = create.state_writer::<u64>("turn")?;
        let mut requests = create.queue_writer::<StoredRequest>("requests")?;
        let of_no_payload = StoredRequest::read_from_bytes(&[7; 24]).unwrap();
        let mut asked = create.request_writer::<u64, u64>("asked")?;
        Ok(move |context: &mut Context<'_>| {
            let mut number = 0;
            for number in 0..burst {
                noise.publish(context, [number; 3]).unwrap();
            }
            while context.sleep(Duration::from_ms(2)) {
                if number == 60 {
                    context.control().pause("filtering").unwrap();
                    context.sleep(Duration::from_ms(20));
                    context.control().resume("filtering").unwrap();
                }
                number += 1;
                let _ = samples.send(context, [number, number * 2, 7]);
                let _ = turn.publish(context, number.into());
                let _ = requests.send(context, of_no_payload);
                let _ = asked.send(context, number.into());
                while asked.answer(context).is_some() {}
            }
        })
    })?;
    app.best_effort("logger", |create| {
        let mut served = create.state_reader::<u64>("served")?;
        let (mut note, mut counted) =
            (create.queue_reader::<u64>("note")?, create.state_reader::<u64>("counted")?);
        Ok(move |context: &mut Context<'_>| {
            while context.sleep(Duration::from_ms(13)) {
                note.receive(context);
                counted.latest(context);
                served.latest(context);
            }
        })
    })?;
    app.task("steer", |create| {
        let (mut gain, mut number) = (create.state_writer("gain")?, 1u64);
        let (mut even, mut requests) =
            (create.state_writer("even")?, create.queue_writer::<StoredRequest>("requests")?);
        let _noise = create.state_reader::<[u32; 3]>("noise")?;
        let mut turn = create.state_writer("turn")?;
        Ok(each(move |job| {
            number += 1;
            even.publish(job, number * 2).map_err(|_| Failure::Code(4))?;
            turn.publish(job, number << 32).map_err(|_| Failure::Code(6))?;
            requests.send_one_of(job, Request::Word(number)).map_err(|_| Failure::Code(5))?;
            gain.publish(job, number).map_err(|_| Failure::Code(3))
        }))
    })?;
    app.service("filtering", |service| {
        service.task("filter", |create| {
            let (samples, gain) = (create.queue_reader("samples")?, create.state_reader("gain")?);
            let (out, note) = (create.queue_writer("out")?, create.queue_writer("note")?);
            let (even, requests) = (create.state_reader("even")?, create.queue_writer("requests")?);
            let (turn, asked) = (create.state_reader("turn")?, create.request_reader("asked")?);
            Ok(Filter { samples, gain, even, turn, asked, requests, out, note, sum: 0, number: 0, off_from })
        })
    })?;
    app.task("serves", |create| {
        let (requests, served) = (create.message_reader("requests")?, create.state_writer("served")?);
        Ok(Serves { requests, served, sum: 0 })
    })?;
    app.receiver("count", |create| Ok(Count { counted: create.state_writer("counted")?, sum: 0 }))
}

/// Records a run of the application on real threads into `folder`.
fn record(folder: &Path, executor: &str, burst: u32) -> PathBuf {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (plan, manifest) = plan(&tables(executor));
    std::fs::write(folder.join("taut.toml"), manifest).unwrap();
    let lock = folder.join("taut.lock");
    std::fs::write(&lock, plan.to_lock().unwrap()).unwrap();
    let config = Config {
        lock,
        out: Some(folder.to_owned()),
        duration: Some(Duration::from_ms(300)),
        spawned_ns: None,
        record_limit: None,
        applications: None,
    };
    let ending =
        taut_run::run(&config, &mut Observed::default(), |app| set_up(app, u64::MAX, burst)).unwrap();
    assert!(ending.orderly);
    // Recording uses no heap and takes no page fault on a real-time thread.
    let run = Run::from_bytes(&std::fs::read(folder.join(RECORDING)).unwrap()).unwrap();
    let used = |record: &&Record| {
        let counted =
            [Counter::HeapUse, Counter::MajorFaults, Counter::MinorFaults].map(|count| count as u64);
        let of_task = record.kind == Kind::Counted && (2..6).contains(&record.subject);
        record.kind == Kind::HeapUsed || of_task && counted.contains(&record.job) && record.value > 0
    };
    assert_eq!(run.records.iter().filter(used).collect::<Vec<_>>(), Vec::<&Record>::new());
    let files = run.records.iter().filter(|record| record.kind == Kind::ValuesRecorded);
    let bytes = std::fs::metadata(folder.join(VALUES_FILE)).unwrap().len();
    assert_eq!(files.map(|record| record.value).collect::<Vec<_>>(), [bytes]);
    folder.join(VALUES_FILE)
}

/// Replays the code, and returns the file that the replay writes.
fn replay(folder: &Path, off_from: u64) -> Result<Vec<u8>, Error> {
    let config = ReplayConfig {
        lock: folder.join("taut.lock"),
        recorded: folder.join(VALUES_FILE),
        replayed: folder.join("replayed.mcap"),
    };
    taut_run::replay(&config, |app| set_up(app, off_from, 0))?;
    Ok(std::fs::read(&config.replayed).unwrap())
}

/// A job; the channel, number and bytes of a value that it sent, if this is about one; and how the job ended.
type Done<'v> = (u64, Option<(u16, u64, Option<&'v [u8]>)>, JobOutcome);

/// What the jobs of a task did.
fn done<'v>(task: &RecordedTask<'v>) -> Vec<Done<'v>> {
    let of_job = |job: &RecordedJob<'v>| {
        let (number, outcome) = (job.job, job.outcome);
        let sent = job.interactions.clone().into_iter().filter_map(move |of| match of.interaction {
            Interaction::Sent { channel, number: value } => {
                Some((number, Some((channel, value, of.value)), outcome))
            }
            Interaction::Refused { .. } => Some((number, None, outcome)),
            _ => None,
        });
        sent.chain([(number, None, outcome)])
    };
    task.jobs.iter().flat_map(of_job).collect()
}

const EXECUTORS: [(&str, &str); 2] = [("native", ""), ("dispatched", "executor = \"dispatched\"\n")];

#[test]
fn the_same_code_does_the_same_again() {
    for (name, executor) in EXECUTORS {
        let folder = tempfile::tempdir().unwrap();
        let recorded = std::fs::read(record(folder.path(), executor, 0)).unwrap();
        let recorded = RecordedValues::from_bytes(&recorded).unwrap();
        let replayed = replay(folder.path(), u64::MAX).unwrap();
        let replayed = RecordedValues::from_bytes(&replayed).unwrap();
        // `filter` and `count` get all that they get through recorded channels, and `steer` gets nothing.
        let tasks: Vec<u16> = recorded.tasks.iter().map(|task| task.task).collect();
        assert_eq!((recorded.lost, tasks), (0, vec![2, 3, 4, 5]), "{name}");
        for (was, is) in recorded.tasks.iter().zip(&replayed.tasks) {
            assert!(was.jobs.len() > 20, "{name}: {} jobs", was.jobs.len());
            assert_eq!(done(was), done(is), "{name}");
        }
        let filter = &recorded.tasks[1];
        let codes: Vec<RanCode> = filter.jobs.iter().map(|job| job.code).collect();
        assert!(codes.contains(&RanCode::Pause) && codes.contains(&RanCode::Resume), "{name}: {codes:?}");
        let has = |wanted: fn(&Interaction) -> bool| {
            filter.jobs.iter().flat_map(|job| &job.interactions).any(|of| wanted(&of.interaction))
        };
        assert!(has(|of| matches!(of, Interaction::Refused { why: Refusal::Full, .. })), "{name}");
        assert!(filter.jobs.iter().any(|job| job.outcome == JobOutcome::Failed(7)), "{name}");
    }
}

/// One too many from the 20th value on: the first 19 are equal, and what other tasks sent stays as it was.
#[test]
fn an_off_by_one_shows_at_its_first_value() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = std::fs::read(record(folder.path(), "", 0)).unwrap();
    let recorded = RecordedValues::from_bytes(&recorded).unwrap();
    let replayed = replay(folder.path(), 20).unwrap();
    let replayed = RecordedValues::from_bytes(&replayed).unwrap();
    let [steer, filter, serves, count] =
        [0, 1, 2, 3].map(|at| (done(&recorded.tasks[at]), done(&replayed.tasks[at])));
    assert_eq!((steer.0, serves.0, count.0), (steer.1, serves.1, count.1));
    let first = filter.0.iter().zip(&filter.1).find(|(was, is)| was != is).unwrap();
    let ((_, Some((2, 20, Some(was))), _), (_, Some((2, 20, Some(is))), _)) = first else {
        panic!("not value 20 of `out`: {first:?}");
    };
    let sum = |bytes: &[u8]| u64::from_le_bytes(bytes[8..].try_into().unwrap());
    assert_eq!((sum(was) + 1, &was[..8]), (sum(is), &is[..8]));
}

/// What cannot be replayed is refused with the reason.
#[test]
fn unusable_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = record(folder.path(), "", 0);
    let whole = std::fs::read(&path).unwrap();
    let why = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let error = replay(folder.path(), u64::MAX).unwrap_err();
        assert!(matches!(error, Error::Replay(_)), "{error:?}");
        error.to_string().split_once(": ").unwrap().1.to_owned()
    };
    assert_eq!(why(b"nothing"), "it is not an MCAP file");
    assert!(why(&whole[..whole.len() - 9]).starts_with("it is cut at byte "));
    let mut damaged = whole.clone();
    let at = damaged.len() / 3;
    damaged[at] ^= 1;
    assert!(why(&damaged).starts_with("it is damaged at byte "));
    std::fs::write(&path, &whole).unwrap();
    let (plan, manifest) = plan(&tables("").replace("capacity = 64", "capacity = 65"));
    std::fs::write(folder.path().join("taut.toml"), manifest).unwrap();
    std::fs::write(folder.path().join("taut.lock"), plan.to_lock().unwrap()).unwrap();
    assert_eq!(why(&whole), "it was recorded under another plan");
}

/// More values at once than a ring holds: those that did not fit are counted, and the file is whole, but not replayable.
#[test]
fn a_recording_with_losses_is_not_replayed() {
    const BURST: u32 = 20_000;
    let folder = tempfile::tempdir().unwrap();
    let path = record(folder.path(), "", BURST);
    let bytes = std::fs::read(&path).unwrap();
    let lost = RecordedValues::from_bytes(&bytes).unwrap().lost;
    // A ring of 64 KiB holds 1,024 of them, and the main thread empties it in between a few times.
    assert!((1_000..u64::from(BURST) - 1_024).contains(&lost), "{lost}");
    let error = replay(folder.path(), u64::MAX).unwrap_err().to_string();
    assert_eq!(error, format!("{}: {lost} records are missing", path.display()));
}
