// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Whose values a run records, and whose code a recorded run can replay.

use std::fmt;

use crate::{ChannelKind, ChannelPlan, ClassPlan, PAYLOAD_NUMBER_BYTES, Plan, ResourcePlan, payloads_of};

/// Why a recorded run does not replay the code of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotReplayed {
    /// It is best-effort: its code runs once, waits for the world, and has no jobs that could be run one by one.
    BestEffort,
    /// This device releases it: what it reads there is in no recording. Others get what it sends.
    Device(String),
    /// It shares this resource with other tasks, which change its value, and that is in no recording.
    Resource(String),
    /// It sends or receives the blocks of this bulk channel, which is not recorded.
    Bulk(String),
    /// It sets or takes these alarms, which are not recorded: not even whether they are set is known.
    Alarm(String),
    /// It reads this channel, which is not recorded.
    Input(String),
    /// It writes no recorded channel, so there is nothing to compare.
    Output,
}

impl fmt::Display for NotReplayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BestEffort => f.write_str("it is best-effort, and has no jobs"),
            Self::Device(device) => {
                write!(f, "it reads device `{device}`, and what it read there is not recorded")
            }
            Self::Resource(resource) => {
                write!(f, "it locks resource `{resource}`, whose value other tasks change")
            }
            Self::Bulk(channel) => {
                write!(f, "it uses bulk channel `{channel}`, which is not recorded")
            }
            Self::Alarm(alarm) => write!(f, "it uses alarm `{alarm}`, which is not recorded"),
            Self::Input(channel) => write!(f, "it reads `{channel}`, which is not recorded"),
            Self::Output => f.write_str("it writes no channel that is recorded"),
        }
    }
}

impl std::error::Error for NotReplayed {}

fn writes(channel: &ChannelPlan, task: &str) -> bool {
    !channel.writer.client && channel.writer.name == task
}

fn reads(channel: &ChannelPlan, task: &str) -> bool {
    channel.readers.iter().any(|reader| !reader.client && reader.name == task)
}

impl ChannelPlan {
    /// The definition of a ROS 1 message whose bytes are those of a value: a field in each line. A value of a single number
    /// or array has the field `value`. One of several payloads has a constant for each, the number that says which it is, and
    /// its bytes.
    pub fn ros_definition(&self) -> String {
        let payloads = payloads_of(&self.layout);
        if !payloads.is_empty() {
            let names = payloads.iter().zip(0u64..);
            let constants = names.map(|((name, _), number)| format!("uint64 {}={number}\n", ros_name(name)));
            let bytes = self.size.saturating_sub(PAYLOAD_NUMBER_BYTES);
            return constants.chain([format!("uint64 payload\nuint8[{bytes}] bytes\n")]).collect();
        }
        let fields = self.layout.split(',').map(|of| match of.split_once(':') {
            Some((name, item)) => ros_field(item, name),
            None => ros_field(of, "value"),
        });
        // A plan of another version may have layouts that this one does not know: then they are bytes.
        fields.collect::<Option<String>>().unwrap_or_else(|| format!("uint8[{}] bytes\n", self.size))
    }
}

fn ros_name(name: &str) -> String {
    name.replace('-', "_")
}

/// The line of a field; `None` if it is neither a number nor an array of numbers.
fn ros_field(item: &str, name: &str) -> Option<String> {
    let (number, count) = item.split_once('*').map_or((item, None), |(number, count)| (number, Some(count)));
    let number = match number.split_at_checked(1)? {
        ("u", bits) => format!("uint{bits}"),
        ("i", bits) => format!("int{bits}"),
        ("f", bits) => format!("float{bits}"),
        _ => return None,
    };
    if !count.is_none_or(|count| count.bytes().all(|digit| digit.is_ascii_digit())) {
        return None;
    }
    let count = count.map_or(String::new(), |count| format!("[{count}]"));
    Some(format!("{number}{count} {}\n", ros_name(name)))
}

impl Plan {
    /// Whether a task has an end of a channel that is recorded.
    pub fn has_recorded_end(&self, task: &str) -> bool {
        let has = |channel: &ChannelPlan| channel.record && (writes(channel, task) || reads(channel, task));
        self.channels.iter().any(has)
    }

    /// Whether a recorded run has all that is needed to replay the code of a task: everything that comes to its jobs
    /// through channels, and something that they send. What its jobs read is then recorded.
    ///
    /// # Errors
    /// [`NotReplayed`]: the first reason why not; [`NotReplayed::Output`] for a position that the plan does not have.
    pub fn replays(&self, task: usize) -> Result<(), NotReplayed> {
        let task = self.tasks.get(task).ok_or(NotReplayed::Output)?;
        let ClassPlan::RealTime { arrival, .. } = &task.class else { return Err(NotReplayed::BestEffort) };
        if let Some(device) = arrival.device() {
            return Err(NotReplayed::Device(device.to_owned()));
        }
        let name = task.name.as_str();
        let is_shared =
            |resource: &&ResourcePlan| resource.users.len() > 1 && resource.users.contains(&task.name);
        if let Some(resource) = self.resources.iter().find(is_shared) {
            return Err(NotReplayed::Resource(resource.name.clone()));
        }
        let uses = |channel: &ChannelPlan| writes(channel, name) || reads(channel, name);
        // A sender needs to know which block each loan gave.
        let is_bulk =
            |channel: &&ChannelPlan| channel.kind == ChannelKind::Bulk && !channel.record && uses(channel);
        if let Some(channel) = self.channels.iter().find(is_bulk) {
            return Err(NotReplayed::Bulk(channel.name.clone()));
        }
        let mut unknown = self.channels.iter().filter(|channel| !channel.record);
        if let Some(alarm) = unknown.clone().find(|channel| channel.is_timed() && uses(channel)) {
            let of = alarm.lane.as_ref().map_or(&alarm.name, |lane| &lane.message);
            return Err(NotReplayed::Alarm(of.clone()));
        }
        if let Some(input) = unknown.find(|channel| reads(channel, name)) {
            return Err(NotReplayed::Input(input.name.clone()));
        }
        let compares = self.channels.iter().any(|channel| writes(channel, name) && channel.record);
        if compares { Ok(()) } else { Err(NotReplayed::Output) }
    }
}
