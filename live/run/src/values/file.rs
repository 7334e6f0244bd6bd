// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The file of recorded values, for the main thread.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};

use taut_event::Interaction;
use taut_event::mcap::{McapEncoder, Topic};
use taut_event::values::{VALUES, VALUES_END, jobs_topic, value_topic, values_end, values_head};
use taut_plan::{Plan, digest};
use taut_trace::ValueDrain;

use crate::names::position;

/// A chunk is written once it has this many bytes.
const CHUNK_BYTES: usize = 256 << 10;
/// Once in so many calls, [`ValuesFile::flush`] writes a smaller chunk: a killed application loses at most
/// the values of that time.
const FLUSHES: u32 = 10;

/// The topics of a file of values.
#[derive(Debug)]
struct Topics {
    /// By channel.
    values: Vec<Option<usize>>,
    /// By channel and reading task.
    reads: HashMap<(u16, u16), usize>,
    /// By task.
    jobs: Vec<Option<usize>>,
}

impl Topics {
    /// The topics of a plan. `of_readers` says for which channels each reader has a topic of its own.
    fn of(plan: &Plan, of_readers: impl Fn(usize) -> bool) -> (Self, Vec<Topic>) {
        let mut all = Vec::new();
        let mut add = |topic: Topic| {
            all.push(topic);
            all.len() - 1
        };
        let (mut values, mut reads) = (Vec::new(), HashMap::new());
        for (at, channel) in plan.channels.iter().enumerate() {
            let (at, name) = (position(at), channel.name.as_str());
            let definition = channel.ros_definition();
            let of = (channel.writer.name.as_str(), channel.layout.as_str(), definition.as_str());
            let is_sent = channel.record && !channel.writer.client;
            values.push(is_sent.then(|| add(value_topic((at, name), of, None))));
            if !channel.record || !of_readers(usize::from(at)) {
                continue;
            }
            for task in channel.readers.iter().filter(|reader| !reader.client) {
                if let Some(task) = plan.task(&task.name).map(position) {
                    reads.insert((at, task), add(value_topic((at, name), of, Some(task))));
                }
            }
        }
        let jobs = plan.tasks.iter().enumerate();
        let jobs = jobs
            .map(|(at, task)| plan.replays(at).is_ok().then(|| add(jobs_topic(position(at), &task.name))));
        let jobs = jobs.collect();
        (Self { values, reads, jobs }, all)
    }
}

/// What the next chunk has. A record may be two messages: a value, and an interaction.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    records: u64,
    messages: u64,
}

/// Writes a file of values. After the first error it writes nothing, and counts as lost what comes.
#[derive(Debug)]
pub(crate) struct ValuesWriter<W> {
    file: W,
    topics: Topics,
    encoder: McapEncoder,
    /// By task: its next number in its topic of interactions.
    sequences: Vec<u32>,
    waiting: Waiting,
    bytes: u64,
    /// The most bytes that the file may have before its end.
    limit: u64,
    /// Messages that are in the file.
    written: u64,
    /// Records that are not.
    unwritten: u64,
    is_full: bool,
    has_failed: bool,
}

impl<W: Write> ValuesWriter<W> {
    /// Begins a file. In a `replay`, each reader has a topic of its own.
    pub(crate) fn new(
        mut file: W,
        plan: &Plan,
        (run, lock): (u64, &str),
        limit: Option<u64>,
        replay: bool,
    ) -> io::Result<Self> {
        let (topics, all) = Topics::of(plan, |channel| replay || plan.channels[channel].writer.client);
        let (encoder, head) = McapEncoder::new(VALUES, &values_head(run, &digest(lock.as_bytes())), &all);
        file.write_all(&head)?;
        let (sequences, bytes) = (vec![0; plan.tasks.len()], head.len() as u64);
        let limit = limit.unwrap_or(u64::MAX);
        Ok(Self {
            file,
            topics,
            encoder,
            sequences,
            waiting: Waiting::default(),
            bytes,
            limit,
            written: 0,
            unwritten: 0,
            is_full: false,
            has_failed: false,
        })
    }

    /// Takes an interaction of a task, with its value if that is kept.
    pub(crate) fn put(&mut self, task: u16, at_ns: u64, interaction: Interaction, value: &[u8]) {
        let topics = &self.topics;
        let of_value = match interaction {
            _ if value.is_empty() => None,
            Interaction::Sent { channel, number } => {
                topics.values.get(usize::from(channel)).copied().flatten().map(|topic| (topic, number))
            }
            Interaction::Received { channel, number, .. } => {
                topics.reads.get(&(channel, task)).map(|topic| (*topic, number))
            }
            _ => None,
        };
        if let Some((topic, number)) = of_value {
            // The format has 32 bits for it; the reader counts.
            self.encoder.message(topic, number as u32, at_ns, value);
            self.waiting.messages += 1;
        }
        let at = usize::from(task);
        if let Some(topic) = topics.jobs.get(at).copied().flatten() {
            self.sequences[at] = self.sequences[at].wrapping_add(1);
            self.encoder.message(topic, self.sequences[at], at_ns, &interaction.to_bytes());
            self.waiting.messages += 1;
        }
        self.waiting.records += 1;
        if self.encoder.waiting() >= CHUNK_BYTES {
            self.write_chunk();
        }
    }

    /// Writes what was taken.
    pub(crate) fn write_chunk(&mut self) {
        let Waiting { records, messages } = std::mem::take(&mut self.waiting);
        self.is_full |= self.bytes.saturating_add(self.encoder.chunk_bytes_max()) > self.limit;
        if self.is_full || self.has_failed {
            self.encoder.discard();
            self.unwritten += records;
            return;
        }
        let chunk = self.encoder.chunk();
        if self.file.write_all(chunk).is_ok() {
            (self.bytes, self.written) = (self.bytes + chunk.len() as u64, self.written + messages);
        } else {
            self.has_failed = true;
            self.unwritten += records;
        }
    }

    /// Writes the end of the file, and returns that; `lost` records did not reach it.
    pub(crate) fn finish(mut self, lost: u64) -> (Written, W) {
        self.write_chunk();
        let mut written = Written { messages: self.written, bytes: self.bytes, lost: lost + self.unwritten };
        // After a chunk that is not whole the file gets no end: so a reader finds that it is cut.
        if !self.has_failed {
            let end = self.encoder.finish(VALUES_END, &values_end(written.lost));
            written.bytes += if self.file.write_all(&end).is_ok() { end.len() as u64 } else { 0 };
        }
        (written, self.file)
    }
}

/// What a file of values has in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    /// Records that are not in it.
    pub(crate) lost: u64,
}

/// The values of a run: the rings, and the file into which the main thread empties them.
#[derive(Debug)]
pub(crate) struct ValuesFile {
    drains: Vec<(u16, ValueDrain)>,
    writer: ValuesWriter<File>,
    flushes: u32,
}

impl ValuesFile {
    /// The rings of these tasks go into a file.
    pub(crate) fn new(drains: Vec<(u16, ValueDrain)>, writer: ValuesWriter<File>) -> Self {
        Self { drains, writer, flushes: 0 }
    }

    /// Empties the rings.
    pub(crate) fn poll(&mut self) {
        let Self { drains, writer, .. } = self;
        for (task, drain) in drains {
            drain.drain(|at_ns, interaction, value| writer.put(*task, at_ns, interaction, value));
        }
    }

    /// Hands what was recorded to the system, once in [`FLUSHES`] calls.
    pub(crate) fn flush(&mut self) {
        self.flushes += 1;
        if self.flushes >= FLUSHES {
            self.flushes = 0;
            self.writer.write_chunk();
        }
    }

    /// Writes what is left, and the end of the file.
    pub(crate) fn finish(mut self) -> Written {
        self.poll();
        let lost = self.drains.iter().map(|(_, drain)| drain.lost()).sum();
        self.writer.finish(lost).0
    }
}

#[cfg(test)]
mod tests {
    use taut_event::values::RecordedValues;
    use taut_manifest::SourceText;

    use super::*;

    const MANIFEST: &str = r#"
manifest = 1
[app]
name = "recorded"
[platform]
cores = [0]
memory = "8MiB"
[payloads]
Frame = { fields = { number = "u32", parts = "i16*6" } }
[tasks.sends]
arrival = { periodic = "10ms" }
deadline = "10ms"
wcet = { value = "100us", source = "guess" }
[tasks.logs]
class = "best-effort"
[channels.frames]
kind = "queue"
from = "sends"
to = "logs"
payload = "Frame"
record = true
"#;

    fn plan() -> Plan {
        let source = SourceText { name: "taut.toml".to_owned(), text: MANIFEST.to_owned() };
        let model = taut_manifest::load(&source, &[]).model.expect("a valid manifest");
        taut_planner::Planned::make(&model, Vec::new()).plan
    }

    /// Sends `count` values in one job.
    fn write(limit: Option<u64>, count: u64) -> (Written, Vec<u8>) {
        let (plan, folder) = (plan(), tempfile::tempdir().unwrap());
        let path = folder.path().join("values.mcap");
        let file = File::create_new(&path).unwrap();
        let mut writer = ValuesWriter::new(file, &plan, (7, "lock"), limit, false).unwrap();
        let begin = Interaction::Begin { job: 0, release_ns: 1, code: taut_event::RanCode::Task };
        writer.put(0, 1, begin, &[]);
        for number in 1..=count {
            writer.put(0, number, Interaction::Sent { channel: 0, number }, &[number as u8; 16]);
        }
        let end = Interaction::End { job: 0, outcome: taut_event::JobOutcome::Done };
        writer.put(0, count, end, &[]);
        (writer.finish(0).0, std::fs::read(path).unwrap())
    }

    #[test]
    #[cfg_attr(miri, ignore = "files")]
    fn a_limit_holds_and_what_is_behind_it_is_counted() {
        let (whole, bytes) = write(None, 20_000);
        assert_eq!((whole.messages, whole.bytes, whole.lost), (40_002, bytes.len() as u64, 0));
        let read = RecordedValues::from_bytes(&bytes).unwrap();
        assert_eq!((read.run, read.tasks[0].jobs[0].interactions.len()), (7, 20_000));
        let limit = 1_000_000;
        let (cut, bytes) = write(Some(limit), 20_000);
        // The end of the file stands behind the limit.
        assert!(bytes.len() as u64 <= limit + 4_096 && cut.bytes == bytes.len() as u64, "{}", bytes.len());
        // A record of a send is two messages, and is lost as one; the job's begin and end are two records more.
        let of_jobs = taut_event::mcap::McapFile::from_bytes(&bytes).unwrap();
        let kept = of_jobs.messages.iter().filter(|message| message.topic == 1).count() as u64;
        assert_eq!((kept > 0, kept + cut.lost, 2 * kept - 1), (true, 20_002, cut.messages), "{cut:?}");
        assert_eq!(RecordedValues::from_bytes(&bytes).unwrap().lost, cut.lost);
    }

    /// As another program's reader sees them: names, types, and values.
    #[test]
    #[cfg_attr(miri, ignore = "files")]
    fn topics_describe_their_bytes() {
        let (_, bytes) = write(None, 2);
        let read = taut_event::mcap::McapFile::from_bytes(&bytes).unwrap();
        let of = |at: usize| (read.topics[at].name.as_str(), read.topics[at].definition.as_str());
        assert_eq!(of(0), ("frames", "uint32 number\nint16[6] parts\n"));
        assert_eq!(of(1).0, "taut/jobs/sends");
        assert_eq!(read.topics[0].fact("layout"), Some("number:u32,parts:i16*6"));
    }
}
