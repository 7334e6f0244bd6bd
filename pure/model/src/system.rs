// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_time::Duration;

use crate::{
    AfterFailure, Channel, ChannelId, ChannelKind, Class, ClientId, CoreId, LockingProtocol, Mode, OnFailure,
    PartyId, Payload, Platform, RealTime, ResourceId, Server, ServiceStart, Shared, Size, Task, TaskId,
};

/// A whole application on its machine. Holding a value proves that every rule of [`crate::Draft::build`] holds: names
/// are unique, references resolve, parties fit their channels. The analysis decides whether deadlines hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    pub(crate) app: App,
    pub(crate) platform: Platform,
    pub(crate) payloads: Vec<Payload>,
    pub(crate) services: Vec<Service>,
    pub(crate) modes: Vec<Mode>,
    pub(crate) resources: Vec<Shared>,
    /// The states that the last resources of the list guard; all earlier resources are the manifest's.
    pub(crate) guarding: Vec<ChannelId>,
    /// The plan's choice for each resource of the manifest.
    pub(crate) protocols: Vec<Option<LockingProtocol>>,
    pub(crate) servers: Vec<Server>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) clients: Vec<Client>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) chains: Vec<Chain>,
}

/// The application's name and settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct App {
    /// Its name: lower-case letters, digits and `-`; names its segment.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// The program to run instead of the Cargo package beside the manifest.
    pub exec: Option<String>,
    /// How long the code that brings the outputs to their safe state may take: above zero, at most
    /// [`SAFE_STATE_MAX`](crate::SAFE_STATE_MAX). `None` if there is no such code.
    pub safe_state: Option<Duration>,
    /// What happens when a component fails and no service says otherwise, if the manifest states it.
    pub on_failure: Option<AfterFailure>,
    /// The mode at release 0, if the manifest states it; see [`Model::first_mode`].
    pub mode: Option<String>,
}

impl App {
    /// What happens when a component fails and no service says otherwise. Unless the manifest states it, an application
    /// with a safe state stops: otherwise its outputs would stay as the failed component left them.
    pub fn after_failure(&self) -> AfterFailure {
        self.on_failure.unwrap_or(AfterFailure::by_default(self.safe_state.is_some()))
    }
}

/// Tasks that start, pause, resume and stop together and share a persistent scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Its name in the manifest.
    pub name: String,
    /// Its persistent scope, shared by its tasks.
    pub persistent: Size,
    /// When it starts.
    pub start: ServiceStart,
    /// What happens when one of its components fails, if that differs from [`App::after_failure`].
    pub on_failure: Option<OnFailure>,
}

/// A party outside of the application's process; never real-time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Its name in the manifest.
    pub name: String,
    /// The kind of party.
    pub kind: ClientKind,
    /// The least time between two of its sends, if it guarantees one.
    pub min_gap: Option<Duration>,
    /// How many processes may be attached under this name at a time: 1 to [`ATTACHED_MAX`](crate::ATTACHED_MAX). Of several, each
    /// only reads.
    pub max_attached: u16,
}

/// The kind of an outside party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientKind {
    /// A process on the same machine.
    Process,
}

/// A path of data from a first task to a last one, with a bound on its age at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Its name in the manifest.
    pub name: String,
    /// task, channel, task, …, task.
    pub path: Vec<ChainStep>,
    /// The greatest age of data when the last task completes.
    pub max_latency: Duration,
    /// The longest time from an external event until an output reflects it or something newer, if the manifest limits
    /// that.
    pub max_reaction: Option<Duration>,
}

/// A step of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainStep {
    /// A task that processes the data.
    Task(TaskId),
    /// A channel that carries the data.
    Channel(ChannelId),
}

impl Model {
    /// The application's name and settings.
    pub fn app(&self) -> &App {
        &self.app
    }
    /// The machine.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }
    /// The types of values.
    pub fn payloads(&self) -> &[Payload] {
        &self.payloads
    }
    /// The services, in the manifest's order.
    pub fn services(&self) -> &[Service] {
        &self.services
    }
    /// The modes, in the manifest's order; none if all services may run at any time.
    pub fn modes(&self) -> &[Mode] {
        &self.modes
    }
    /// The resources, in the manifest's order; then those that guard a state.
    pub fn resources(&self) -> &[Shared] {
        &self.resources
    }
    /// The state that the resource at this position guards; none for a resource of the manifest.
    pub fn guarding(&self, resource: usize) -> Option<ChannelId> {
        let at = resource.checked_sub(self.resources.len() - self.guarding.len())?;
        self.guarding.get(at).copied()
    }
    /// The servers, in the manifest's order.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }
    /// The tasks, in the manifest's order.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }
    /// The clients, in the manifest's order.
    pub fn clients(&self) -> &[Client] {
        &self.clients
    }
    /// The channels, in the manifest's order.
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }
    /// The chains, in the manifest's order.
    pub fn chains(&self) -> &[Chain] {
        &self.chains
    }
    /// A task.
    pub fn task(&self, id: TaskId) -> &Task {
        &self.tasks[id.index()]
    }
    /// A resource.
    pub fn resource(&self, id: ResourceId) -> &Shared {
        &self.resources[id.index()]
    }
    /// A channel.
    pub fn channel(&self, id: ChannelId) -> &Channel {
        &self.channels[id.index()]
    }
    /// A client.
    pub fn client(&self, id: ClientId) -> &Client {
        &self.clients[id.index()]
    }
    /// The CPU of a core.
    pub fn cpu(&self, id: CoreId) -> u16 {
        self.platform.cores[id.index()]
    }
    /// The cores.
    pub fn cores(&self) -> impl Iterator<Item = CoreId> + '_ {
        (0u16..).take(self.platform.cores.len()).map(CoreId)
    }
    /// The ids of all tasks.
    pub fn task_ids(&self) -> impl Iterator<Item = TaskId> + '_ {
        (0u16..).take(self.tasks.len()).map(TaskId)
    }
    /// The ids of all clients.
    pub fn client_ids(&self) -> impl Iterator<Item = ClientId> + '_ {
        (0u16..).take(self.clients.len()).map(ClientId)
    }
    /// The ids of all channels.
    pub fn channel_ids(&self) -> impl Iterator<Item = ChannelId> + '_ {
        (0u16..).take(self.channels.len()).map(ChannelId)
    }
    /// The real-time tasks.
    pub fn real_time(&self) -> impl Iterator<Item = (TaskId, &Task, &RealTime)> + '_ {
        self.task_ids().zip(&self.tasks).filter_map(|(id, task)| match &task.class {
            Class::RealTime(real_time) => Some((id, task, real_time)),
            Class::BestEffort(_) => None,
        })
    }
    /// The name of a party, as in the manifest.
    pub fn party_name(&self, party: PartyId) -> &str {
        match party {
            PartyId::Task(id) => &self.task(id).name,
            PartyId::Client(id) => &self.client(id).name,
        }
    }
    /// Whether a party is real-time.
    pub fn is_real_time(&self, party: PartyId) -> bool {
        matches!(party, PartyId::Task(id) if matches!(self.task(id).class, Class::RealTime(_)))
    }
    /// The channels that release a task; none of a periodic or a best-effort task.
    pub fn triggers(&self, id: TaskId) -> &[ChannelId] {
        match &self.task(id).class {
            Class::RealTime(task) => task.arrival.triggers(),
            Class::BestEffort(_) => &[],
        }
    }
    /// The channel that alone releases a task.
    pub fn sole_trigger(&self, id: TaskId) -> Option<ChannelId> {
        match &self.task(id).class {
            Class::RealTime(task) => task.arrival.sole_trigger().copied(),
            Class::BestEffort(_) => None,
        }
    }
    /// Whether the runtime hands over the values of a channel to the one task that it alone releases. A task takes the values
    /// of a message and the blocks of a bulk channel by itself.
    pub fn hands_over(&self, id: ChannelId) -> bool {
        let channel = self.channel(id);
        channel.kind == ChannelKind::Queue && channel.lane.is_none()
    }
    /// The channel of the replies to what a lane of a request carries; `None` of any other channel.
    pub fn replies(&self, lane: ChannelId) -> Option<ChannelId> {
        let of = self.channel(lane);
        let message = &of.lane.as_ref()?.message;
        self.channel_ids().find(|id| {
            let answers = &self.channel(*id).answers;
            answers.as_ref().is_some_and(|reply| reply.request == *message && reply.caller == of.place())
        })
    }

    /// Whether a channel releases a party.
    pub fn releases(&self, channel: ChannelId, party: PartyId) -> bool {
        matches!(party, PartyId::Task(task) if self.triggers(task).contains(&channel))
    }
}
