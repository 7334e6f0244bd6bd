// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The ends of a drawn task's channels, as its plan says: a job takes all that it may take, and sends all that it may send.

use taut_plan::{ChannelKind, ChannelPlan, ClassPlan, Plan, TaskPlan};
use taut_run::{
    AlarmReader, AlarmSetter, AlarmToken, Cancellation, Create, Device, Error, Job, MessageReader, OneOf,
    Payload, QueueReader, QueueWriter, StateReader, StateWriter,
};
use taut_time::{Duration, Instant};

use crate::blocks::{self, Fills, Takes};
use crate::code::sole_trigger;
use crate::draw::Draw;
use crate::requests::{Answers, Asks, Caller};
use crate::seen::{Seen, Several, Value};

/// How a message carries one of several payloads.
type Stored = <Several as OneOf>::Stored;

/// The urgency of an alarm that has no window.
const AT_ONE_INSTANT: u32 = 0;

/// An end that a task writes.
pub(crate) enum Output<'p> {
    Queue { end: Sender<'p>, sends: u32, next: u64 },
    State(StateWriter<'p, Value>, u64),
    Alarm { at: usize, end: AlarmSetter<'p, Value>, next: u64, last: Option<AlarmToken> },
    Blocks(Box<dyn Fills + Send + 'p>),
    Requests(Caller<'p>),
}

/// The sending end of a queue, or of a lane whose message carries one payload or several.
pub(crate) enum Sender<'p> {
    One(QueueWriter<'p, Value>),
    Several(QueueWriter<'p, Stored>),
}

impl Sender<'_> {
    /// Sends a value; returns whether there was room.
    pub(crate) fn send(&mut self, by: &mut impl taut_run::Caller, value: Value) -> bool {
        match self {
            Self::One(end) => end.send(by, value).is_ok(),
            Self::Several(end) => end.send_one_of(by, Several::of(value)).is_ok(),
        }
    }
}

/// The receiving end of a message.
pub(crate) enum Messages<'p> {
    One(MessageReader<'p, Value>),
    Several(MessageReader<'p, Stored>),
}

impl Messages<'_> {
    /// The next value, and how many of its sender were dropped before it; `Err` if it is not as it was sent.
    fn next(&mut self, job: &mut Job<'_>) -> Option<Result<(Value, u64), Several>> {
        Some(match self {
            Self::One(end) => end.next(job).map(|of| Ok((*of.value, of.lost)))?,
            Self::Several(end) => {
                let of = end.next_one_of::<Several>(job)?;
                of.value.value().map(|value| (value, of.lost)).ok_or(of.value)
            }
        })
    }

    /// The values that senders have dropped, and those that were no payload.
    fn lost_and_unknown(&self) -> (u64, u64) {
        match self {
            Self::One(end) => (end.lost(), end.unknown()),
            Self::Several(end) => (end.lost(), end.unknown()),
        }
    }
}

/// Whether a message carries several payloads.
pub(crate) fn carries_several(channel: &ChannelPlan) -> bool {
    channel.layout == Stored::layout()
}

/// What a reader of a state has got.
pub(crate) struct Newest {
    /// By sender, the largest number.
    largest: Vec<u64>,
    /// The sender and the number of the last one.
    last: Option<(u32, u64)>,
}

impl Newest {
    pub(crate) fn of_plan(plan: &Plan) -> Self {
        Self { largest: vec![0; plan.tasks.len()], last: None }
    }

    /// Notes what a read got, and says what is wrong with it: a value that another has replaced comes no more.
    fn follow(&mut self, value: Option<Value>) -> Option<String> {
        let Some(Value { sender, number, .. }) = value else {
            return self.last.map(|last| format!("a state lost its value {last:?}"));
        };
        let largest = &mut self.largest[sender as usize];
        let goes_on = self.last == Some((sender, number)) || number > *largest;
        *largest = number.max(*largest);
        let before = self.last.replace((sender, number));
        (!goes_on).then(|| format!("a state went back from {before:?} to {:?}", (sender, number)))
    }
}

/// An end that a task reads.
pub(crate) enum Input<'p> {
    /// `ordered`: it gets every value, from the first on.
    Queue {
        at: usize,
        ordered: bool,
        end: QueueReader<'p, Value>,
        lost: u64,
    },
    Message {
        at: usize,
        /// By sender, whether its values come in the order of sending.
        ordered: Vec<bool>,
        end: Messages<'p>,
    },
    Requests(Answers<'p>),
    State(StateReader<'p, Value>, Newest),
    Alarm {
        at: usize,
        end: AlarmReader<'p, Value>,
    },
    Blocks(Box<dyn Takes + Send + 'p>),
    Device(Device),
}

impl Output<'_> {
    /// Sends all that a job may send.
    pub(crate) fn send(&mut self, job: &mut Job<'_>, (number, draw, seen): (u32, &mut Draw, &mut Seen)) {
        match self {
            Self::Queue { end, sends, next } => {
                for _ in 0..*sends {
                    let urgency = draw.pick(0, 3) as u32;
                    let value = Value { urgency, sender: number, number: *next };
                    // A queue to a reader that is not real-time may be full, and any queue while the machine stalls.
                    *next += u64::from(end.send(job, value));
                }
            }
            Self::Alarm { at, end, next, last } => {
                // The alarm may be over, or its receiver may be taking it.
                if let Some(token) = last.take().filter(|_| draw.chance(20))
                    && end.cancel(job, token) == Cancellation::Prevented
                {
                    seen.prevented[*at] += 1;
                }
                let value = Value { urgency: AT_ONE_INSTANT, sender: number, number: *next };
                *last = set_alarm(end, job, draw, value);
                *next += u64::from(last.is_some());
            }
            Self::Blocks(end) => end.in_job(job, seen),
            Self::State(end, last) => {
                *last += 1;
                let _ = end.publish(job, Value { urgency: 0, sender: number, number: *last });
            }
            // No job calls.
            Self::Requests(_) => {}
        }
    }
}

impl Input<'_> {
    /// Takes all that a job may take.
    pub(crate) fn take(&mut self, job: &mut Job<'_>, seen: &mut Seen) {
        match self {
            Self::Queue { at, ordered, end, .. } => {
                while let Some(value) = end.receive(job) {
                    seen.take(*at, &value, *ordered, 0);
                }
            }
            Self::Message { at, ordered, end } => {
                while let Some(delivered) = end.next(job) {
                    match delivered {
                        Ok((value, lost)) => {
                            seen.take(*at, &value, ordered[value.sender as usize], lost);
                            seen.lost[*at] += lost;
                        }
                        Err(other) => seen.wrong(format!("channel {at}: {other:?} is not as it was sent")),
                    }
                }
                let reported = end.lost_and_unknown();
                if reported != (seen.lost[*at], 0) {
                    let lost = seen.lost[*at];
                    seen.wrong(format!(
                        "channel {at}: {reported:?} are lost and unknown, {lost} came with values"
                    ));
                }
            }
            Self::Requests(end) => end.in_job(job, seen),
            Self::State(end, newest) => {
                if let Some(wrong) = newest.follow(end.latest(job)) {
                    seen.wrong.push(wrong);
                }
            }
            Self::Alarm { at, end } => {
                while let Some(due) = end.next(job) {
                    seen.take(*at, due.value, false, 0);
                    if due.value.urgency == AT_ONE_INSTANT && due.due > job.now() {
                        seen.wrong.push(format!("an alarm for {:?} came before", due.due));
                    }
                }
            }
            Self::Blocks(end) => end.in_job(job, seen),
            Self::Device(line) => {
                let mut bytes = [0; 64];
                // What does not fit into this job releases the next one.
                let _ = line.read(job, &mut bytes);
            }
        }
    }
}

/// Sets an alarm for a drawn instant, which may be over, or for a window.
fn set_alarm(
    end: &mut AlarmSetter<'_, Value>,
    job: &mut Job<'_>,
    draw: &mut Draw,
    value: Value,
) -> Option<AlarmToken> {
    let at = Instant::from_ns((job.now().as_ns() + draw.pick(0, 20_000_000)).saturating_sub(1_000_000));
    let set = if draw.chance(70) {
        end.set(job, at, value)
    } else {
        let until = at.checked_add(Duration::from_us(draw.pick(1, 3_000)))?;
        end.set_window(job, at, until, Value { urgency: AT_ONE_INSTANT + 1, ..value })
    };
    set.ok()
}

fn lane(channel: &ChannelPlan) -> Option<&str> {
    channel.lane.as_ref().map(|lane| lane.message.as_str())
}

/// All ends of a task.
#[derive(Default)]
pub(crate) struct Ends<'p> {
    pub(crate) inputs: Vec<Input<'p>>,
    pub(crate) outputs: Vec<Output<'p>>,
    /// The channel whose values the runtime hands over.
    pub(crate) handed: Option<usize>,
}

impl<'p> Ends<'p> {
    /// Those of the task at a position of the plan.
    pub(crate) fn new(plan: &Plan, task: usize, create: &mut Create<'_, 'p>) -> Result<Self, Error> {
        let of = &plan.tasks[task];
        let mut ends = Self::default();
        for (at, channel) in plan.channels.iter().enumerate() {
            // A request has one end for what it asks and what is replied.
            if channel.answers.is_some() {
                continue;
            }
            if channel.writer.name == of.name {
                ends.outputs.push(output(plan, (at, task), create)?);
            }
            if channel.readers.iter().any(|reader| reader.name == of.name) {
                ends.read(plan, (at, task), create)?;
            }
        }
        if let ClassPlan::RealTime { arrival, .. } = &of.class
            && let Some(device) = arrival.device()
        {
            ends.inputs.push(Input::Device(create.device(device)?));
        }
        Ok(ends)
    }

    /// Adds the end of a channel that the task reads.
    fn read(
        &mut self,
        plan: &Plan,
        (at, task): (usize, usize),
        create: &mut Create<'_, 'p>,
    ) -> Result<(), Error> {
        let (channel, of) = (&plan.channels[at], &plan.tasks[task]);
        let triggered = channel.readers.iter().any(|reader| reader.name == of.name && reader.triggered);
        // One end reads all parts of a channel.
        let is_first = match (&channel.source, &channel.lane) {
            (Some(source), _) => source.place == 0,
            (_, Some(lane)) => plan.lanes(&lane.message)[0].0 == at,
            _ => true,
        };
        if !is_first {
            return Ok(());
        }
        self.inputs.push(match (channel.kind, &channel.lane) {
            (ChannelKind::State, _) => {
                Input::State(create.state_reader(channel.table())?, Newest::of_plan(plan))
            }
            (ChannelKind::Bulk, _) => Input::Blocks(blocks::receiver(plan, at, create)?),
            (_, Some(lane)) if channel.is_timed() => {
                Input::Alarm { at, end: create.alarm_reader(&lane.message)? }
            }
            (_, Some(lane)) if plan.is_request(&lane.message) => {
                Input::Requests(Answers::new(plan, at, create)?)
            }
            (_, Some(lane)) => {
                // By a field, later values of a real-time sender may come first.
                let is_real_time = |task: &TaskPlan| matches!(task.class, ClassPlan::RealTime { .. });
                let ordered =
                    plan.tasks.iter().map(|task| lane.by.is_none() || !is_real_time(task)).collect();
                let end = match carries_several(channel) {
                    true => Messages::Several(create.message_reader(&lane.message)?),
                    false => Messages::One(create.message_reader(&lane.message)?),
                };
                Input::Message { at, ordered, end }
            }
            (_, None) if triggered && sole_trigger(plan, task).is_some() => {
                self.handed = Some(at);
                return Ok(());
            }
            (_, None) => {
                // A reader of a broadcast takes no part in it while its service does not run.
                let ordered = !channel.broadcast || of.service.is_none();
                Input::Queue { at, ordered, end: create.queue_reader(&channel.name)?, lost: 0 }
            }
        });
        Ok(())
    }
}

/// The writing end of the channel at a position of the plan.
fn output<'p>(
    plan: &Plan,
    (at, task): (usize, usize),
    create: &mut Create<'_, 'p>,
) -> Result<Output<'p>, Error> {
    let channel = &plan.channels[at];
    if let Some(asks) = lane(channel).and_then(|request| Asks::new(plan, task, request)) {
        return Ok(Output::Requests(Caller::new(asks, channel.table(), create)?));
    }
    Ok(match channel.kind {
        ChannelKind::State => Output::State(create.state_writer(&channel.name)?, 0),
        ChannelKind::Queue if channel.is_timed() => {
            let end = create.alarm_setter(lane(channel).unwrap_or_default())?;
            Output::Alarm { at, end, next: 1, last: None }
        }
        ChannelKind::Bulk => Output::Blocks(blocks::sender(plan, at, create)?),
        ChannelKind::Queue => {
            let name = lane(channel).unwrap_or(&channel.name);
            let end = match carries_several(channel) {
                true => Sender::Several(create.queue_writer(name)?),
                false => Sender::One(create.queue_writer(name)?),
            };
            Output::Queue { end, sends: channel.sends_per_release, next: 1 }
        }
    })
}
