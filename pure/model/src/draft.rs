// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};

use taut_time::Duration;

use crate::{
    AfterFailure, App, BestEffort, ChannelKind, ClientKind, DeviceClock, EvidenceFile, Fault, Flow,
    LatePolicy, Mechanism, MessageLane, MessageOrder, Model, OverflowPolicy, Payload, Platform, Reception,
    ReplyLane, ServerPolicy, ServiceStart, Shared, Size, StateSource, Stated, rules,
};

/// The input of [`Draft::build`], with names as references: everything from which a [`Model`] is made, before any rule
/// is checked.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The application's name and settings.
    pub app: App,
    /// The machine.
    pub platform: Platform,
    /// The types of values.
    pub payloads: Vec<Payload>,
    /// The services.
    pub services: Vec<ServiceDraft>,
    /// The modes.
    pub modes: Vec<ModeDraft>,
    /// Resources that one job at a time may use.
    pub resources: Vec<Shared>,
    /// The servers.
    pub servers: Vec<ServerDraft>,
    /// The tasks.
    pub tasks: Vec<TaskDraft>,
    /// The outside processes.
    pub clients: Vec<ClientDraft>,
    /// The channels.
    pub channels: Vec<ChannelDraft>,
    /// The chains.
    pub chains: Vec<ChainDraft>,
    /// Paths of values that are faulty and already reported: a key (`tasks.recording.deadline`), an item of a list
    /// (`platform.cores.1`) or a whole table (`tasks.recording`). For each, the fields above hold a neutral value,
    /// under the same name if there is one, so that references resolve. No fault is reported that rests on a neutral
    /// value. A draft with a faulty path yields no model.
    pub faulty: BTreeSet<String>,
}

/// A service, by name.
#[derive(Clone, Debug)]
pub struct ServiceDraft {
    /// Its name.
    pub name: String,
    /// Its persistent scope, shared by its tasks.
    pub persistent: Size,
    /// When it starts.
    pub start: ServiceStart,
    /// What happens when one of its components fails, if the manifest states it.
    pub on_failure: Option<OnFailureDraft>,
}

/// A mode, by name.
#[derive(Clone, Debug)]
pub struct ModeDraft {
    /// Its name.
    pub name: String,
    /// The names of the services that run in it.
    pub services: Vec<String>,
}

/// What happens when a component of a service fails.
#[derive(Clone, Debug)]
pub struct OnFailureDraft {
    /// How often the service restarts within the window.
    pub restart: Option<u8>,
    /// The window.
    pub within: Option<Duration>,
    /// What happens at a failure after which the service does not restart; `None` as in the rest of the application.
    pub then: Option<AfterFailure>,
}

/// A server, by name. The fields mean what [`crate::Server`] says.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "crate::Server says it")]
pub struct ServerDraft {
    pub name: String,
    pub policy: ServerPolicy,
    pub budget: Duration,
    pub period: Duration,
    /// The CPU's number; `None` for `"auto"`.
    pub core: Option<u16>,
    /// Any whole number that the manifest states; `None` for `"auto"`.
    pub priority: Option<i64>,
}

/// A task, by name.
#[derive(Clone, Debug)]
pub struct TaskDraft {
    /// Its name.
    pub name: String,
    /// The service that it belongs to.
    pub service: Option<String>,
    /// Whether it has a deadline, and its parameters.
    pub class: ClassDraft,
}

/// Whether a task has a deadline, by name.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "most tasks are real-time, and all are few")]
pub enum ClassDraft {
    /// The task has a deadline.
    RealTime(RealTimeDraft),
    /// The task has no deadline.
    BestEffort(BestEffort),
}

/// The parameters of a real-time task, by name. The fields mean what [`crate::RealTime`] says.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "crate::RealTime says it")]
pub struct RealTimeDraft {
    pub arrival: ArrivalDraft,
    pub stated: Stated,
    pub evidence: Vec<EvidenceFile>,
    pub sections: Vec<SectionDraft>,
    pub segments: Vec<SegmentDraft>,
    pub server: Option<String>,
    /// The CPU's number; `None` for `"auto"`.
    pub core: Option<u16>,
    /// Any whole number that the manifest states; `None` for `"auto"`.
    pub priority: Option<i64>,
}

impl Deref for RealTimeDraft {
    type Target = Stated;

    fn deref(&self) -> &Stated {
        &self.stated
    }
}

impl DerefMut for RealTimeDraft {
    fn deref_mut(&mut self) -> &mut Stated {
        &mut self.stated
    }
}

/// Critical sections on a resource, by name. The fields mean what [`crate::Section`] says.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "crate::Section says it")]
pub struct SectionDraft {
    /// The resource's name.
    pub resource: String,
    pub longest: Duration,
    pub count: u32,
}

/// A segment of a job, by name: plain execution, or a critical section with one length or with segments of its own.
#[derive(Clone, Debug, Default)]
pub struct SegmentDraft {
    /// The name of the resource that the job holds; none for plain execution.
    pub hold: Option<String>,
    /// How long it lasts, without the margin; none if `segments` give the length.
    pub run: Option<Duration>,
    /// The segments inside.
    pub segments: Vec<SegmentDraft>,
}

impl RealTimeDraft {
    /// The names of the resources that the task uses, once per mention.
    pub(crate) fn held(&self) -> Vec<&str> {
        fn within<'d>(segments: &'d [SegmentDraft], names: &mut Vec<&'d str>) {
            for segment in segments {
                names.extend(segment.hold.as_deref());
                within(&segment.segments, names);
            }
        }
        let mut names = self.sections.iter().map(|section| section.resource.as_str()).collect();
        within(&self.segments, &mut names);
        names
    }
}

/// When jobs arrive, by name.
#[derive(Clone, Debug)]
pub enum ArrivalDraft {
    /// At `offset + k · period`.
    Periodic {
        /// T.
        period: Duration,
        /// The first arrival.
        offset: Duration,
    },
    /// In each period of a device, at an offset to its ticks.
    Clocked(ClockDraft),
    /// While values of one of the channels wait, or the device can be read, at most once per `min_gap`.
    Sporadic {
        /// T.
        min_gap: Duration,
        /// The channels, each once; at least one unless a device releases the task.
        triggers: Vec<TriggerDraft>,
        /// The device that releases the task instead.
        device: Option<String>,
    },
    /// While values of one of the channels wait, with no least time between two jobs.
    Aperiodic {
        /// The channels, each once; at least one.
        triggers: Vec<TriggerDraft>,
    },
}

impl ArrivalDraft {
    /// The channels that release the task.
    pub(crate) fn triggers(&self) -> &[TriggerDraft] {
        match self {
            Self::Periodic { .. } | Self::Clocked(_) => &[],
            Self::Sporadic { triggers, .. } | Self::Aperiodic { triggers } => triggers,
        }
    }
}

/// The device's clock that a periodic task follows. The three that are optional here belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockDraft {
    /// T.
    pub period: Duration,
    /// From a tick to a release.
    pub offset: Duration,
    /// The name of the clock.
    pub name: Option<String>,
    /// In millionths.
    pub drift_ppm: Option<u32>,
    /// How late a tick may be observed.
    pub jitter: Option<Duration>,
}

impl ClockDraft {
    /// The clock; `None` if something is not stated.
    pub(crate) fn clock(&self) -> Option<DeviceClock> {
        let Self { period, offset, ref name, drift_ppm, jitter } = *self;
        Some(DeviceClock { period, offset, name: name.clone()?, drift_ppm: drift_ppm?, jitter: jitter? })
    }
}

/// A channel that releases a task, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerDraft {
    /// The channel's name.
    pub channel: String,
    /// Where the name stands, below the task's `arrival`: `trigger`, `triggers.1`, or `aperiodic.1`.
    pub key: String,
}

impl TriggerDraft {
    /// The one channel that releases a task.
    pub fn only(channel: &str) -> Vec<Self> {
        vec![Self { channel: channel.to_owned(), key: "trigger".to_owned() }]
    }
}

/// An outside process, by name.
#[derive(Clone, Debug)]
pub struct ClientDraft {
    /// Its name.
    pub name: String,
    /// The kind of party.
    pub kind: ClientKind,
    /// The least time between two of its sends, if it guarantees one.
    pub min_gap: Option<Duration>,
    /// How many processes may be attached at a time.
    pub max_attached: u16,
}

/// A channel, by name. The fields mean what [`crate::Channel`] says.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "crate::Channel says it")]
pub struct ChannelDraft {
    pub name: String,
    pub kind: ChannelKind,
    pub from: Vec<String>,
    pub to: Vec<String>,
    /// The payload's name.
    pub payload: String,
    /// The names of the payloads of a message that carries several; otherwise empty. [`Draft::build`] makes one payload of
    /// them, and names it in `payload`.
    pub one_of: Vec<String>,
    /// Any whole number that the manifest states; `None` for `"auto"`.
    pub capacity: Option<i64>,
    pub overflow: OverflowPolicy,
    pub reception: Reception,
    pub flow: Flow,
    /// The names of readers with a unit delay.
    pub delayed: Vec<String>,
    pub mechanism: Option<Mechanism>,
    pub sends_per_release: u32,
    pub takes_per_release: u32,
    pub record: bool,
    pub history: u32,
    /// The order of a message, as the manifest states it.
    pub order: Option<MessageOrder>,
    /// The field by which a message is ordered, as the manifest states it.
    pub order_by: Option<String>,
    /// Senders of a message whose `sends_per_release` is another.
    pub sends_by_sender: Vec<(String, u32)>,
    /// What happens to a late alarm, as the manifest states it.
    pub late: Option<LatePolicy>,
    pub broadcast: bool,
    /// Of a message, what its lanes have in common: [`Draft::build`] makes a lane for each sender.
    pub lane: Option<MessageLane>,
    /// Of one of several sources of a state, which it is: [`Draft::build`] makes a state for each writer.
    pub source: Option<StateSource>,
    /// Whether it is a request, whose receiver answers each value.
    pub request: bool,
    /// The name of the payload of replies, as the manifest states it.
    pub reply: Option<String>,
    /// Of the replies of a request to one caller, which they are: [`Draft::build`] makes such a channel for each caller.
    pub answers: Option<ReplyLane>,
}

impl ChannelDraft {
    /// Its table in the manifest: its name, or that of its message, of the state of which it is a source, or of its request.
    pub(crate) fn table(&self) -> &str {
        match (&self.lane, &self.source, &self.answers) {
            (Some(lane), ..) => &lane.message,
            (None, Some(source), _) => &source.state,
            (None, None, Some(reply)) => &reply.request,
            (None, None, None) => &self.name,
        }
    }

    /// Its writer's position in `from` of its table, if it has been divided.
    pub(crate) fn place(&self) -> Option<usize> {
        self.lane.as_ref().map(|lane| lane.sender).or(self.source.as_ref().map(|source| source.place))
    }

    /// Whether it stands for its table: no lane or source but the first, and no replies.
    pub(crate) fn is_first(&self) -> bool {
        self.place().is_none_or(|place| place == 0) && self.answers.is_none()
    }

    /// Whether its values are alarms.
    pub(crate) fn is_timed(&self) -> bool {
        self.lane.as_ref().is_some_and(|lane| lane.order == MessageOrder::Instant)
    }

    /// What it is called: its kind, as the manifest says it.
    pub(crate) fn noun(&self) -> &'static str {
        match (&self.lane, self.kind) {
            (Some(_), _) if self.is_timed() => "alarm",
            (Some(_), _) if self.request => "request",
            (Some(_), _) => "message",
            (None, _) if self.answers.is_some() => "reply",
            (None, ChannelKind::Queue) if self.broadcast => "broadcast",
            (None, ChannelKind::Queue) => "queue",
            (None, ChannelKind::Bulk) => "bulk channel",
            (None, ChannelKind::State) => "state",
        }
    }

    /// Whether it is a lane of this message.
    pub(crate) fn is_lane_of(&self, message: &str) -> bool {
        self.lane.as_ref().is_some_and(|lane| lane.message == message)
    }

    /// Whether it carries the payload of this name, alone or as one of several.
    pub(crate) fn carries(&self, payload: &str) -> bool {
        self.payload == payload || self.one_of.iter().any(|one| one == payload)
    }
}

/// A chain, by name.
#[derive(Clone, Debug)]
pub struct ChainDraft {
    /// Its name.
    pub name: String,
    /// Names: task, channel, task, …, task.
    pub path: Vec<String>,
    /// The greatest age of data at the end of the chain.
    pub max_latency: Duration,
    /// The longest time from an external event until an output reflects it, if the manifest limits that.
    pub max_reaction: Option<Duration>,
}

impl Draft {
    /// Checks every rule that needs no timing analysis.
    ///
    /// Returns the model, if there was no error, and all errors and warnings, in the order of the manifest's tables.
    pub fn build(self) -> (Option<Model>, Vec<Fault>) {
        rules::build(self)
    }
}
