// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use serde::{Deserialize, Serialize};
use taut_policy::{
    AfterFailure, Aim, Arrival, ChannelKind, Evidence, EvidenceFile, Flow, HeapPolicy, LatePolicy,
    LockingProtocol, Mechanism, MessageOrder, OnFailure, OnMissingPrivilege, OverflowPolicy, Overrun,
    SchedulingPolicy, ServiceStart, Way,
};
use taut_time::{Duration, Size};

use crate::{OverheadPlan, Overrides, ServerPlan};

/// The decision for a whole application, and its proof in figures: the content of `taut.lock`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Plan {
    /// The format's version: [`Plan::FORMAT`].
    pub lock: u32,
    /// The application's name.
    pub app: String,
    /// One line for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Whether every deadline and every chain is proven.
    pub proven: bool,
    /// What to do without the privilege to be real-time.
    pub on_missing_privilege: OnMissingPrivilege,
    /// How long the code that brings outputs to rest may take; none if the manifest has no safe state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safe_state: Option<Duration>,
    /// What happens when a component fails and its service does not say otherwise, if the manifest states it; see
    /// [`Plan::on_failure`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<AfterFailure>,
    /// The mode at release 0; none without modes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_mode: Option<String>,
    /// Why the tasks of all modes are proven as if they ran together; none if each mode is proven by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<String>,
    /// The group that clients of another user may belong to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// CPUs for everything that is not real-time.
    pub housekeeping: Vec<u16>,
    /// The texts that the plan was made from: the manifest, then the overlays in order.
    pub inputs: Vec<Input>,
    /// The overrides that the plan was made with.
    #[serde(default, alias = "wish", skip_serializing_if = "Overrides::is_empty")]
    pub overrides: Overrides,
    /// How the planner chose the mechanisms of states that the manifest left open, if some of these states could have
    /// a lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionPlan>,
    /// The costs of the machine that the proof includes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overheads: Vec<OverheadPlan>,
    /// The memory map.
    pub memory: MemoryPlan,
    /// The real-time cores.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<CorePlan>,
    /// The resources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourcePlan>,
    /// The servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerPlan>,
    /// The services.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServicePlan>,
    /// The modes, in the manifest's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<ModePlan>,
    /// The changes from each mode to each other one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangePlan>,
    /// The tasks, in the manifest's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskPlan>,
    /// The outside processes' names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<String>,
    /// The clients of which several processes may be attached at a time; one process of each other client.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client_limits: Vec<ClientLimit>,
    /// The channels, in the manifest's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<ChannelPlan>,
    /// The chains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chains: Vec<ChainPlan>,
}

/// A client of which several processes may be attached at a time. They only read, by objects in which they store nothing, and
/// nothing wakes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ClientLimit {
    /// The client's name.
    pub client: String,
    /// How many processes: 2 to [`ATTACHED_MAX`](crate::ATTACHED_MAX).
    pub max_attached: u16,
}

impl Plan {
    /// How many processes of a client may be attached at a time.
    pub fn max_attached(&self, client: &str) -> u16 {
        let limit = self.client_limits.iter().find(|limit| limit.client == client);
        limit.map_or(1, |limit| limit.max_attached)
    }
}

/// A text that the plan was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Input {
    /// Its path, relative to the plan's folder.
    pub path: String,
    /// `sha256:` and 64 hexadecimal digits of its bytes.
    pub hash: String,
}

/// How the planner chose the mechanisms of states that the manifest left open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DecisionPlan {
    /// The number of these states.
    pub states: u32,
    /// The aim of the decision.
    pub minimised: Aim,
    /// Whether the search came to its end: by the analysis that it uses, no other selection is better. Otherwise a
    /// limit stopped the search, or the application is of a kind for which the planner tries one state after another.
    pub best: bool,
}

/// The memory of an application: its two maps, and what it takes beside them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MemoryPlan {
    /// Bytes of the process's own map: scopes and inner channels.
    pub process: Size,
    /// Bytes of the segment that clients map, its header included; 0 without clients.
    pub segment: Size,
    /// Bytes of trace rings, stacks and everything else that the runtime locks in memory.
    pub runtime: Size,
    /// Bytes of the heap that the set-ups of components may leave in use, where the manifest states a bound.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub set_up: Size,
    /// The sum.
    pub total: Size,
    /// What the manifest allows.
    pub limit: Size,
}

/// A region of one of the two maps. Offsets are multiples of 128 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Region {
    /// Bytes from the start of the map.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
}

/// One of the two maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryMap {
    /// The process's own.
    Process,
    /// The segment that clients map.
    Segment,
}

/// A real-time core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CorePlan {
    /// The CPU's number.
    pub cpu: u16,
    /// The scheduling policy.
    pub scheduler: SchedulingPolicy,
    /// Σ C'/T in parts per million, rounded up, overheads included.
    pub utilisation_ppm: u64,
    /// Why a dispatcher decides on this core; none if Linux does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatched: Option<String>,
}

/// A resource: one job at a time may use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ResourcePlan {
    /// Its name.
    pub name: String,
    /// The locking protocol, which says which job waits, how, and for how long.
    pub protocol: LockingProtocol,
    /// Why that protocol.
    pub reason: String,
    /// The tasks that use it.
    pub users: Vec<String>,
}

/// A service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ServicePlan {
    /// Its name.
    pub name: String,
    /// Its persistent scope, in the process's map.
    pub persistent: ScopePlan,
    /// Bound on the memory of the service: its persistent scope and its tasks' scopes.
    pub memory: Size,
    /// When it starts.
    #[serde(default, skip_serializing_if = "is_boot")]
    pub start: ServiceStart,
    /// What happens when one of its components fails, if the manifest states it; see [`Plan::on_failure`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,
}

/// A scope: a fixed stretch of the process's map.
pub type ScopePlan = Region;

/// A task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TaskPlan {
    /// Its name.
    pub name: String,
    /// Its service's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The size of its ring of recorded values; `None` if it has no end of a channel that is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_ring: Option<Size>,
    /// Its class, with all that is decided and proven about it.
    #[serde(flatten)]
    pub class: ClassPlan,
}

/// Whether a task has a deadline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "class", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
#[expect(clippy::large_enum_variant, reason = "nearly all tasks are of the large one")]
pub enum ClassPlan {
    /// It has a deadline, and a bound if one is shown.
    RealTime {
        /// The CPU that it is pinned to.
        cpu: u16,
        /// Why that CPU, if the plan chose.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cpu_reason: Option<String>,
        /// SCHED_FIFO priority, 1 to 98; 0, and not written, on a core under EDF, where it means nothing.
        #[serde(default, skip_serializing_if = "is_zero")]
        priority: u8,
        /// Why that priority, if the plan chose.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        priority_reason: Option<String>,
        /// When jobs arrive.
        arrival: Arrival<String>,
        /// D.
        deadline: Duration,
        /// C: execution time with its margin.
        wcet: Duration,
        /// Where C comes from.
        wcet_source: Evidence,
        /// The recordings in which C was measured, without its margin, as the manifest states them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        wcet_evidence: Vec<EvidenceFile>,
        /// R: the bound on the response time, from arrival to completion; none if not shown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response: Option<Duration>,
        /// The analysis that gave R.
        test: String,
        /// The terms of R, in the order of the equation; they sum to R. Without R, the demand until the deadline,
        /// which sums to more than the deadline.
        terms: Vec<TermPlan>,
        /// What happens on an overrun.
        on_overrun: Overrun,
        /// How long a job may execute before it overruns.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<Duration>,
        /// What it means if a job uses the heap.
        #[serde(default, skip_serializing_if = "is_denied")]
        heap: HeapPolicy,
        /// Its own persistent scope; a task of a service also has the service's.
        persistent: ScopePlan,
        /// Its release scope.
        release: ScopePlan,
        /// The most of the heap that the set-up of its component may leave in use.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        set_up: Option<Size>,
    },
    /// It has no deadline.
    BestEffort {},
}

fn is_newest(flow: &Flow) -> bool {
    *flow == Flow::Newest
}

fn is_denied(heap: &HeapPolicy) -> bool {
    *heap == HeapPolicy::Deny
}

fn is_nothing(size: &Size) -> bool {
    *size == Size::ZERO
}

fn is_delivered(late: &LatePolicy) -> bool {
    *late == LatePolicy::Deliver
}

fn one() -> u32 {
    1
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_none_kept(history: &u32) -> bool {
    *history == 0
}

fn is_one(count: &u32) -> bool {
    *count == 1
}

fn is_boot(start: &ServiceStart) -> bool {
    *start == ServiceStart::Boot
}

fn is_zero(priority: &u8) -> bool {
    *priority == 0
}

/// A term of a bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TermPlan {
    /// `own`, `spin`, `blocking`, `remote`, `interference`, `others`, `supply`, `jitter`, `overhead`, `demand`.
    pub kind: String,
    /// The task, resource or other cause of this term, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// How many times the cause occurs, if the term counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The length of all occurrences together.
    pub time: Duration,
}

/// A channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ChannelPlan {
    /// Its name.
    pub name: String,
    /// A state, which holds the newest value, or a queue or a bulk channel, which hold all of them.
    pub kind: ChannelKind,
    /// Which value a job of a reader reads.
    #[serde(default, skip_serializing_if = "is_newest")]
    pub flow: Flow,
    /// The sender.
    pub writer: WriterPlan,
    /// The receivers.
    pub readers: Vec<ReaderPlan>,
    /// The layout of a value, in one line.
    pub layout: String,
    /// Bytes of a value.
    pub size: u32,
    /// The mechanism that realises it.
    pub mechanism: Mechanism,
    /// Why that mechanism.
    pub reason: String,
    /// The alternatives, if there was a choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<ChoicePlan>,
    /// Copies of the value that the object of a state holds, if its mechanism counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffers: Option<u32>,
    /// Values that can wait, for a queue; blocks, for a bulk channel; 1 for a state.
    pub capacity: u32,
    /// Why that many, if the plan chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_reason: Option<String>,
    /// With how many earlier values an end begins that a client makes: at most the capacity.
    #[serde(default, skip_serializing_if = "is_none_kept")]
    pub history: u32,
    /// What happens to a value that does not fit.
    pub overflow: OverflowPolicy,
    /// The most values that a job of a real-time writer sends. The sending end refuses more.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub sends_per_release: u32,
    /// The most blocks that a job of the reader of a bulk channel takes. The receiving end gives no more; 1 for any other
    /// channel, whose reader takes what it likes.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub takes_per_release: u32,
    /// The message of which it is a lane: a queue from one of its senders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<LanePlan>,
    /// The state of which it is one of several sources: the values of one of its writers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourcePlan>,
    /// The request to one of whose callers it carries the replies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<ReplyPlan>,
    /// Whether it is a broadcast: each real-time reader gets every value, and the others lose the oldest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub broadcast: bool,
    /// Whether a run records its values.
    #[serde(default, skip_serializing_if = "is_false")]
    pub record: bool,
    /// Which map holds it.
    pub place: MemoryMap,
    /// Where in that map.
    pub region: Region,
    /// Bound on the time from send to receive, if all parties are real-time; of alarms, from their instants; of a broadcast,
    /// the largest of its real-time readers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Duration>,
}

/// What makes a channel a lane of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LanePlan {
    /// The message's name.
    pub message: String,
    /// Which value the receiver takes first.
    pub order: MessageOrder,
    /// Under `order = "specified"`: the field of a value that says how urgent it is, a whole number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Its place among the lanes of the message: 0 is the first from which the receiver takes, under `order = "sender"`.
    /// Lanes of senders that are not real-time come last under any order.
    pub rank: u16,
    /// The most values that a job of the receiver takes, from all lanes together.
    pub takes: u32,
    /// Of alarms (`order = "instant"`): what happens to one whose instant has passed when it is set.
    #[serde(default, skip_serializing_if = "is_delivered")]
    pub late: LatePolicy,
}

/// What makes a channel a source of a state that has several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SourcePlan {
    /// The state's name.
    pub state: String,
    /// Its place among the sources of the state, from 0. Of two values of one instant, that of the lower place is the newer.
    pub place: u16,
}

/// What makes a channel carry the replies of a request to one of its callers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReplyPlan {
    /// The request's name. Its lanes are those of a message of this name.
    pub request: String,
}

/// A choice among mechanisms: its price, and the alternatives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ChoicePlan {
    /// What the mechanism adds to a job of the writer, beyond what its execution time includes; waiting is left out.
    pub writer: Duration,
    /// The same for a reader.
    pub reader: Duration,
    /// The smallest other mechanism that the planner did not refuse, with everything else unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<OtherPlan>,
    /// The smaller mechanisms that the planner refused, with everything else unchanged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cheaper: Vec<OtherPlan>,
}

/// A mechanism that was not chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct OtherPlan {
    /// The mechanism.
    pub mechanism: Mechanism,
    /// Bytes of the object; none if the channel cannot have the mechanism.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Why the mechanism was not possible: a deadline or chain that would not be kept, or another reason; none if it
    /// was possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// The writing party.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WriterPlan {
    /// A task's or a client's name.
    pub name: String,
    /// Whether it is a client: a process of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub client: bool,
}

/// A reading party.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReaderPlan {
    /// A task's or a client's name.
    pub name: String,
    /// Whether it is a client: a process of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub client: bool,
    /// Whether a value of this channel releases it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub triggered: bool,
    /// Whether it reads with a unit delay, in a synchronous flow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delayed: bool,
    /// How it gets a value of a state that the writer does not change meanwhile, if the mechanism has several ways.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way: Option<Way>,
    /// Where the event count lies on which it waits for a value, if a send wakes it: in the process's map for a task,
    /// in the segment for a client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_count: Option<Region>,
    /// Of a client that receives blocks: where the line lies in the segment in which it says which block it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<Region>,
    /// Of a real-time reader of a broadcast: the most values that wait for it; none if nothing bounds that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<u32>,
    /// Of a real-time reader of a broadcast: the bound on the time from send to receive, if it is proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Duration>,
}

/// A chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ChainPlan {
    /// Its name.
    pub name: String,
    /// Its steps, with what each adds to the bound.
    pub path: Vec<StepPlan>,
    /// The greatest age of data that the manifest allows.
    pub max_latency: Duration,
    /// The bound on the age of data when the last task completes; none if not shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Duration>,
    /// The longest reaction that the manifest allows, if the manifest limits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_reaction: Option<Duration>,
    /// The bound on the time from an outside event, which the first task samples or which releases it, to the
    /// completion of the first job of the last task that shows this event or something newer; none if the manifest
    /// does not limit that time, or if no bound is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reaction: Option<Duration>,
    /// What each step adds to the reaction. A periodic first task occurs twice: its first entry is the wait of an
    /// event that comes just after a sample.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reaction_path: Vec<StepPlan>,
}

/// A step of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct StepPlan {
    /// The task's or channel's name.
    pub name: String,
    /// What it adds, in words: `waits at most a period`, `response`.
    pub adds: String,
    /// How long.
    pub time: Duration,
}

impl Plan {
    /// The version of the format that this code writes and reads.
    pub const FORMAT: u32 = 2;

    /// The position of a task.
    pub fn task(&self, name: &str) -> Option<usize> {
        self.tasks.iter().position(|task| task.name == name)
    }

    /// The position of a channel.
    pub fn channel(&self, name: &str) -> Option<usize> {
        self.channels.iter().position(|channel| channel.name == name)
    }
}

impl ChainPlan {
    /// Whether all bounds that the manifest limits are shown and within their limits.
    pub fn kept(&self) -> bool {
        let within = |bound: Option<Duration>, limit| bound.is_some_and(|bound| bound <= limit);
        within(self.latency, self.max_latency)
            && self.max_reaction.is_none_or(|limit| within(self.reaction, limit))
    }
}

/// A mode: the services that run in it, and what is proven of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ModePlan {
    /// Its name.
    pub name: String,
    /// The names of its services, in the manifest's order of the mode.
    pub services: Vec<String>,
    /// For each real-time core, in their order, Σ C'/T in this mode in parts per million, rounded up, overheads
    /// included.
    pub utilisation_ppm: Vec<u64>,
    /// The bounds of the real-time tasks that run in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<ModeBound>,
}

/// The bound of a task in a mode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ModeBound {
    /// The task's name.
    pub task: String,
    /// R in this mode; none if not shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Duration>,
}

/// A change from one mode to another, in three steps: the services that are not in the new mode stop; every core has
/// no pending job at least once; the services that were not in the old mode start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ChangePlan {
    /// The old mode's name.
    pub from: String,
    /// The new mode's name.
    pub to: String,
    /// The longest time from the request until all real-time tasks that stop have stopped; zero if none stops.
    pub stop: Duration,
    /// The time from then on within which every core on which tasks stop and start has had no pending job: no job
    /// of a service that starts is released before. None if no bound is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Duration>,
    /// The longest time from then on until each real-time task that starts has completed its first job; zero if
    /// none starts.
    pub start: Duration,
}
