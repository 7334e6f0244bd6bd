// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The file of recorded values: an MCAP file with the values of channels, and with what passed between jobs and everything
//! around them.
//!
//! ```text
//! metadata `taut-values`      format=1, run=the id of the recorded run, plan=the digest of its plan
//! topic CHANNEL               facts channel, writer, layout: the values that it carried, in the order of sending
//! topic CHANNEL               facts channel, writer, layout, reader: those that a task read of a client's channel
//! topic taut/jobs/TASK        facts task: the interactions of its jobs, if its code can be replayed
//! metadata `taut-values-end`  lost=records that did not fit into rings or into the file
//! ```
//!
//! Channels and tasks are positions in the plan. Numbers of values are positions in their topic, from 1.

use std::collections::HashMap;
use std::fmt;

use crate::mcap::{McapError, McapFile, Topic};
use crate::{INTERACTION_SCHEMA, Interaction, JobOutcome, RanCode};

/// The name of the file, beside the recording.
pub const VALUES_FILE: &str = "values.mcap";
/// The name of the file that a replay of code writes.
pub const REPLAYED_FILE: &str = "replayed.mcap";
/// The name of the metadata at the beginning of the file.
pub const VALUES: &str = "taut-values";
/// The name of the metadata at its end.
pub const VALUES_END: &str = "taut-values-end";
const FORMAT: &str = "1";

type Facts = Vec<(String, String)>;

fn fact(key: &str, value: impl ToString) -> (String, String) {
    (key.to_owned(), value.to_string())
}

/// The facts at the beginning of a file: the run's id, and the digest of its plan.
pub fn values_head(run: u64, plan: &str) -> Facts {
    vec![fact("format", FORMAT), fact("run", run), fact("plan", plan)]
}

/// The facts at its end.
pub fn values_end(lost: u64) -> Facts {
    vec![fact("lost", lost)]
}

/// The name of a ROS type for a channel or task: letters, digits and `_` alone.
fn type_name(name: &str) -> String {
    format!("taut/{}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "_"))
}

/// The topic of a channel's values; or of those that a task, `reader`, read of it.
pub fn value_topic(
    (channel, name): (u16, &str),
    (writer, layout, definition): (&str, &str, &str),
    reader: Option<u16>,
) -> Topic {
    let facts = [fact("channel", channel), fact("writer", writer), fact("layout", layout)];
    let reader = reader.map(|task| fact("reader", task));
    let definition = definition.to_owned();
    let facts = facts.into_iter().chain(reader).collect();
    Topic { name: name.to_owned(), schema: type_name(name), definition, facts }
}

/// The topic of the interactions of a task's jobs.
pub fn jobs_topic(task: u16, name: &str) -> Topic {
    Topic {
        name: format!("taut/jobs/{name}"),
        schema: "taut/Interaction".to_owned(),
        definition: INTERACTION_SCHEMA.to_owned(),
        facts: vec![fact("task", task)],
    }
}

/// Why a file of recorded values cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValuesError {
    /// It is not a whole MCAP file.
    Mcap(McapError),
    /// It is one, but not of recorded values, or of another format.
    Foreign,
    /// Message number N of a topic cannot be what was recorded.
    Nonsense(String, u64),
}

impl fmt::Display for ValuesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mcap(error) => error.fmt(f),
            Self::Foreign => f.write_str("it has no values that this version of taut recorded"),
            Self::Nonsense(topic, number) => {
                write!(f, "message {number} of topic `{}` cannot be what was recorded", topic.escape_debug())
            }
        }
    }
}

impl std::error::Error for ValuesError {}

/// An interaction of a job, with its value if that is in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedInteraction<'f> {
    /// When (ns).
    pub at_ns: u64,
    /// What.
    pub interaction: Interaction,
    /// The value that was sent or received.
    pub value: Option<&'f [u8]>,
    /// When the value that was received had been sent (ns); 0 for every other interaction.
    pub sent_ns: u64,
}

/// A job's code, from its beginning to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedJob<'f> {
    /// The number of the job; `u64::MAX` of code that ran outside of jobs.
    pub job: u64,
    /// When the job was released (ns).
    pub release_ns: u64,
    /// When the code began (ns).
    pub begin_ns: u64,
    /// Which code ran.
    pub code: RanCode,
    /// How it ended.
    pub outcome: JobOutcome,
    /// What it did in between, in order.
    pub interactions: Vec<RecordedInteraction<'f>>,
}

/// The jobs of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedTask<'f> {
    /// Its position in the plan.
    pub task: u16,
    /// Its jobs whose code has ended, in order.
    pub jobs: Vec<RecordedJob<'f>>,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedValues<'f> {
    /// The id of the run.
    pub run: u64,
    /// The digest of its plan.
    pub plan: String,
    /// How many records are missing.
    pub lost: u64,
    /// The tasks whose jobs are recorded, in the plan's order.
    pub tasks: Vec<RecordedTask<'f>>,
}

/// What a topic carries.
enum Carried {
    /// Values of a channel; of one reader, if a client writes it.
    Values(u16, Option<u16>),
    Jobs(u16),
}

impl Carried {
    fn of(topic: &Topic) -> Option<Self> {
        let position = |key| topic.fact(key).and_then(|text| text.parse().ok());
        match position("task") {
            Some(task) => Some(Self::Jobs(task)),
            None => Some(Self::Values(position("channel")?, position("reader"))),
        }
    }
}

/// The values of the topics, by channel and reader, each with the instant at which it was sent.
type Values<'f> = HashMap<(u16, Option<u16>), Vec<(u64, &'f [u8])>>;

impl<'f> RecordedValues<'f> {
    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// [`ValuesError`]: nothing is read then.
    pub fn from_bytes(bytes: &'f [u8]) -> Result<Self, ValuesError> {
        let file = McapFile::from_bytes(bytes).map_err(ValuesError::Mcap)?;
        let facts =
            |name: &str| file.metadata.iter().find(|(known, _)| known == name).map(|(_, facts)| facts);
        let head = facts(VALUES).ok_or(ValuesError::Foreign)?;
        let end = facts(VALUES_END).ok_or(ValuesError::Foreign)?;
        let of = |facts: &Facts, key: &str| {
            let found = facts.iter().find(|(known, _)| known == key);
            found.map(|(_, value)| value.clone()).ok_or(ValuesError::Foreign)
        };
        if of(head, "format")? != FORMAT {
            return Err(ValuesError::Foreign);
        }
        let number = |text: String| text.parse::<u64>().map_err(|_| ValuesError::Foreign);
        let (run, plan, lost) = (number(of(head, "run")?)?, of(head, "plan")?, number(of(end, "lost")?)?);
        let carried: Option<Vec<Carried>> = file.topics.iter().map(Carried::of).collect();
        let carried = carried.ok_or(ValuesError::Foreign)?;
        let mut tasks = jobs(&file, &carried, lost == 0)?;
        tasks.sort_by_key(|task| task.task);
        Ok(Self { run, plan, lost, tasks })
    }
}

/// The values of all topics; their numbers are checked if none is missing.
fn values<'f>(file: &McapFile<'f>, carried: &[Carried], is_whole: bool) -> Result<Values<'f>, ValuesError> {
    let mut values = Values::new();
    for message in &file.messages {
        let Carried::Values(channel, reader) = carried[message.topic] else { continue };
        let topic = values.entry((channel, reader)).or_default();
        topic.push((message.at_ns, message.value));
        if is_whole && message.sequence != topic.len() as u32 {
            let name = file.topics[message.topic].name.clone();
            return Err(ValuesError::Nonsense(name, topic.len() as u64));
        }
    }
    Ok(values)
}

/// The jobs of all tasks, each interaction with its value.
fn jobs<'f>(
    file: &McapFile<'f>,
    carried: &[Carried],
    is_whole: bool,
) -> Result<Vec<RecordedTask<'f>>, ValuesError> {
    let values = values(file, carried, is_whole)?;
    let mut found = Vec::new();
    for (topic, carried_here) in carried.iter().enumerate() {
        let Carried::Jobs(task) = *carried_here else { continue };
        let mut reading = Jobs { task, values: &values, jobs: Vec::new(), open: None };
        let messages = file.messages.iter().filter(|message| message.topic == topic);
        for (at, message) in messages.enumerate() {
            let read = message.value.try_into().ok().and_then(Interaction::from_bytes);
            // Of a file with losses, any record may be missing.
            let fits = read.is_some_and(|read| reading.take(message.at_ns, read).is_some());
            if is_whole && !fits {
                return Err(ValuesError::Nonsense(file.topics[topic].name.clone(), at as u64 + 1));
            }
        }
        found.push(RecordedTask { task, jobs: reading.jobs });
    }
    Ok(found)
}

/// The jobs of a task, as they are read.
struct Jobs<'v, 'f> {
    task: u16,
    values: &'v Values<'f>,
    jobs: Vec<RecordedJob<'f>>,
    /// The job whose end has not been read.
    open: Option<RecordedJob<'f>>,
}

impl<'f> Jobs<'_, 'f> {
    /// Takes the next interaction; `None` if it cannot follow those before it.
    fn take(&mut self, at_ns: u64, interaction: Interaction) -> Option<()> {
        let (value, sent_ns) = match interaction {
            Interaction::Begin { job, release_ns, code } => {
                let (outcome, interactions) = (JobOutcome::Done, Vec::new());
                let begun = RecordedJob { job, release_ns, begin_ns: at_ns, code, outcome, interactions };
                return self.open.replace(begun).is_none().then_some(());
            }
            Interaction::End { job, outcome } => {
                let open = self.open.take().filter(|open| open.job == job)?;
                self.jobs.push(RecordedJob { outcome, ..open });
                return Some(());
            }
            // Of a channel that is not recorded, there is no value.
            Interaction::Sent { channel, number } => match self.values.get(&(channel, None)) {
                Some(of_channel) => (Some(value(of_channel, number)?.1), 0),
                None => (None, 0),
            },
            Interaction::Received { channel, number, .. } => {
                let own = self.values.get(&(channel, Some(self.task)));
                let (sent_ns, bytes) = value(own.or_else(|| self.values.get(&(channel, None)))?, number)?;
                (Some(bytes), sent_ns)
            }
            _ => (None, 0),
        };
        let open = self.open.as_mut()?;
        open.interactions.push(RecordedInteraction { at_ns, interaction, value, sent_ns });
        Some(())
    }
}

fn value<'f>(of: &[(u64, &'f [u8])], number: u64) -> Option<(u64, &'f [u8])> {
    of.get(usize::try_from(number.checked_sub(1)?).ok()?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcap::McapEncoder;

    type Message<'m> = (usize, u32, u64, &'m [u8]);

    fn file(messages: &[Message<'_>], lost: u64) -> Vec<u8> {
        let of = ("control", "u8", "uint8 value\n");
        let topics = [
            value_topic((0, "levels"), of, None),
            value_topic((1, "settings"), ("ui", "u8", "uint8 value\n"), Some(3)),
            jobs_topic(3, "control"),
        ];
        let (mut encoder, mut bytes) = McapEncoder::new(VALUES, &values_head(9, "sha256:00"), &topics);
        for (topic, sequence, at_ns, value) in messages {
            encoder.message(*topic, *sequence, *at_ns, value);
        }
        bytes.extend(encoder.chunk());
        bytes.extend(encoder.finish(VALUES_END, &values_end(lost)));
        bytes
    }

    fn begin(job: u64) -> [u8; crate::INTERACTION_BYTES] {
        Interaction::Begin { job, release_ns: 100, code: RanCode::Task }.to_bytes()
    }

    fn end(job: u64) -> [u8; crate::INTERACTION_BYTES] {
        Interaction::End { job, outcome: JobOutcome::Done }.to_bytes()
    }

    fn sent(number: u64) -> [u8; crate::INTERACTION_BYTES] {
        Interaction::Sent { channel: 0, number }.to_bytes()
    }

    #[test]
    fn jobs_have_their_values() {
        let received = Interaction::Received { channel: 1, number: 1, lost: 0 };
        let elsewhere = Interaction::Sent { channel: 2, number: 1 };
        let bytes = file(
            &[
                (2, 1, 101, &begin(5)),
                (1, 1, 90, &[7]),
                (2, 2, 102, &received.to_bytes()),
                (0, 1, 103, &[8]),
                (2, 3, 103, &sent(1)),
                (2, 4, 104, &elsewhere.to_bytes()),
                (2, 5, 105, &end(5)),
                (2, 6, 201, &begin(6)),
            ],
            0,
        );
        let read = RecordedValues::from_bytes(&bytes).unwrap();
        assert_eq!((read.run, read.plan.as_str(), read.lost), (9, "sha256:00", 0));
        let of =
            |at_ns, interaction, value, sent_ns| RecordedInteraction { at_ns, interaction, value, sent_ns };
        let expected = RecordedJob {
            job: 5,
            release_ns: 100,
            begin_ns: 101,
            code: RanCode::Task,
            outcome: JobOutcome::Done,
            interactions: vec![
                of(102, received, Some(&[7]), 90),
                of(103, Interaction::Sent { channel: 0, number: 1 }, Some(&[8]), 0),
                of(104, elsewhere, None, 0),
            ],
        };
        // The last job's end is not there: the run ended meanwhile.
        assert_eq!(read.tasks, [RecordedTask { task: 3, jobs: vec![expected] }]);
    }

    /// A file whose words cannot be true is refused, with the place.
    #[test]
    fn nonsense_is_refused() {
        let nothing = Interaction::Nothing { channel: 0 }.to_bytes();
        let cases: [(&str, &[Message<'_>], &str, u64); 7] = [
            ("a begin in a job", &[(2, 1, 1, &begin(0)), (2, 2, 2, &begin(1))], "taut/jobs/control", 2),
            ("the end of another job", &[(2, 1, 1, &begin(0)), (2, 2, 2, &end(1))], "taut/jobs/control", 2),
            ("outside of jobs", &[(2, 1, 1, &nothing)], "taut/jobs/control", 1),
            (
                "a value that is not there",
                &[(2, 1, 1, &begin(0)), (0, 1, 1, &[8]), (2, 2, 2, &sent(2))],
                "taut/jobs/control",
                2,
            ),
            (
                "value 0",
                &[(2, 1, 1, &begin(0)), (0, 1, 1, &[8]), (2, 2, 2, &sent(0))],
                "taut/jobs/control",
                2,
            ),
            ("no interaction", &[(2, 1, 1, &[0; 19])], "taut/jobs/control", 1),
            ("a number is missing", &[(0, 1, 1, &[8]), (0, 3, 1, &[8])], "levels", 2),
        ];
        for (what, messages, topic, number) in cases {
            let error = RecordedValues::from_bytes(&file(messages, 0)).unwrap_err();
            assert_eq!(error, ValuesError::Nonsense(topic.to_owned(), number), "{what}");
            // In a file with losses they may be the cause: it is read, and reports them.
            assert_eq!(RecordedValues::from_bytes(&file(messages, 1)).map(|read| read.lost), Ok(1), "{what}");
        }
    }

    #[test]
    fn other_files_are_refused() {
        assert_eq!(RecordedValues::from_bytes(b"taut-run"), Err(ValuesError::Mcap(McapError::Foreign)));
        let (encoder, mut bytes) = McapEncoder::new("another", &[], &[]);
        bytes.extend(encoder.finish("tool", &[]));
        assert_eq!(RecordedValues::from_bytes(&bytes), Err(ValuesError::Foreign));
        let of_format = |format: &str| {
            let mut head = values_head(9, "sha256:00");
            head[0].1 = format.to_owned();
            let (encoder, mut bytes) = McapEncoder::new(VALUES, &head, &[]);
            bytes.extend(encoder.finish(VALUES_END, &values_end(0)));
            RecordedValues::from_bytes(&bytes).map(|read| read.run)
        };
        assert_eq!((of_format("1"), of_format("2")), (Ok(9), Err(ValuesError::Foreign)));
    }
}
