// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The intermediate form between source and manifest: names and times of the source, and what was lost on the way.

use std::collections::BTreeMap;

use taut_time::Duration;

use crate::{ConversionLoss, TextPosition};

/// A task set of another tool, in terms of the manifest.
#[derive(Debug, Default)]
pub(crate) struct Sketch {
    pub(crate) name: String,
    /// Whether all cores schedule by deadlines.
    pub(crate) edf: bool,
    /// Whether times in the source are bare numbers.
    pub(crate) unitless: bool,
    /// The names of the cores in the source.
    pub(crate) cores: Vec<String>,
    pub(crate) resources: Vec<Named>,
    /// Positions of resources, by their name in the source.
    pub(crate) resource_at: BTreeMap<String, usize>,
    pub(crate) services: Vec<Service>,
    pub(crate) servers: Vec<Server>,
    pub(crate) tasks: Vec<Task>,
    /// Processes of their own.
    pub(crate) clients: Vec<Named>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) chains: Vec<Chain>,
    /// Whether the source is an application, which is to run: the costs of the machine are then taut's defaults.
    pub(crate) runs: bool,
    /// The cost of a switch between tasks.
    pub(crate) context_switch: Duration,
    pub(crate) lost: Vec<ConversionLoss>,
}

/// Something with a name in the source and one in the manifest, which is assigned once all names are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Named {
    pub(crate) name: String,
    /// The name in the manifest.
    pub(crate) ours: String,
    /// What else the comment beside it says.
    pub(crate) comment: String,
}

#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) named: Named,
    pub(crate) persistent: u64,
}

/// A share of a core: a server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) at: TextPosition,
    pub(crate) named: Named,
    /// The policy's word in the manifest.
    pub(crate) policy: &'static str,
    pub(crate) budget: Duration,
    pub(crate) period: Duration,
    /// A position in the list of cores.
    pub(crate) core: Option<usize>,
    /// Larger = more urgent; any number.
    pub(crate) priority: Option<i64>,
}

/// An end-to-end deadline of several consecutive tasks.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) at: TextPosition,
    pub(crate) named: Named,
    /// Positions of tasks.
    pub(crate) tasks: Vec<usize>,
    /// Positions of the channels between them.
    pub(crate) channels: Vec<usize>,
    pub(crate) latency: Duration,
}

#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) at: TextPosition,
    pub(crate) named: Named,
    /// Names in the manifest: of the task that stands for an unknown releasing event, and of the queue from that task
    /// to this one.
    pub(crate) outside: (String, String),
    /// Whether such an event releases it beside the channels that do, because none of them ever would.
    pub(crate) needs_outside: bool,
    pub(crate) arrival: Arrival,
    /// The period T, or the least time between arrivals.
    pub(crate) period: Duration,
    pub(crate) deadline: Duration,
    pub(crate) jitter: Duration,
    pub(crate) cost: Duration,
    pub(crate) cost_source: CostSource,
    /// A position in the list of cores.
    pub(crate) core: Option<usize>,
    /// Larger = more urgent; any number.
    pub(crate) priority: Option<i64>,
    /// Once one of its jobs has started, nothing preempts it.
    pub(crate) non_preemptive: bool,
    pub(crate) sections: Vec<Section>,
    /// Set instead of `sections`.
    pub(crate) segments: Vec<Segment>,
    pub(crate) service: Option<usize>,
    /// The server that it runs in.
    pub(crate) server: Option<usize>,
    /// Size of its persistent scope in bytes.
    pub(crate) persistent: u64,
    /// Size of its release scope in bytes.
    pub(crate) release: u64,
}

/// Where a task's execution time comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CostSource {
    /// The source states it as a bound.
    Bound,
    /// The source states a figure, and not where it comes from.
    Stated,
    /// The source does not state it.
    Guess,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    Periodic(Duration),
    /// The positions of the channels that release it; none if the source of its events is unknown.
    Sporadic(Vec<usize>),
    /// At any time: no guarantee is given for it.
    Any,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Section {
    /// A position in the list of resources.
    pub(crate) resource: usize,
    pub(crate) longest: Duration,
    pub(crate) count: u32,
}

/// A segment of a job.
#[derive(Clone, Debug)]
pub(crate) enum Segment {
    Run(Duration),
    Hold(usize, Vec<Segment>),
}

/// Who sends or receives, by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Party {
    Task(usize),
    Client(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sender {
    pub(crate) party: Party,
    /// The most values that it sends per activation.
    pub(crate) sends: u32,
}

/// What a channel's readers get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carries {
    /// The latest value.
    Latest,
    /// Every value of one sender.
    Every,
    /// Every value of several senders.
    Message,
    /// Every value of one sender, in one copy for all readers.
    Broadcast,
    /// Every value of one sender that its reader has in time, in blocks that move.
    Blocks,
}

#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) at: Option<TextPosition>,
    pub(crate) named: Named,
    pub(crate) carries: Carries,
    /// One, or of a message at least one.
    pub(crate) from: Vec<Sender>,
    pub(crate) to: Vec<Party>,
    /// The size of a value.
    pub(crate) bytes: u32,
    /// The most values that a reader takes per activation.
    pub(crate) takes: u32,
    /// Of a message: whether the first value sent is the first taken, whoever sent it.
    pub(crate) fifo: bool,
    /// Whether the oldest value gives way to one that does not fit.
    pub(crate) drops_oldest: bool,
    /// The broadcast of which it is the part to one reader.
    pub(crate) part_of: Option<String>,
}

impl Channel {
    /// A channel from a task to others, on which an activation sends or takes one value.
    pub(crate) fn of_tasks(
        at: TextPosition,
        named: Named,
        carries: Carries,
        (from, to): (usize, Vec<usize>),
        bytes: u32,
    ) -> Self {
        Self {
            at: Some(at),
            named,
            carries,
            from: vec![Sender { party: Party::Task(from), sends: 1 }],
            to: to.into_iter().map(Party::Task).collect(),
            bytes,
            takes: 1,
            fifo: false,
            drops_oldest: false,
            part_of: None,
        }
    }
}

impl Named {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.trim().to_owned(), ..Self::default() }
    }
}

impl Sketch {
    /// Reports what could not be carried over.
    pub(crate) fn lose(&mut self, at: impl Into<Option<TextPosition>>, what: impl Into<String>) {
        self.lost.push(ConversionLoss { at: at.into(), place: None, what: what.into() });
    }

    /// The position of a resource; of two with one name, the first.
    pub(crate) fn resource(&self, name: &str) -> Option<usize> {
        self.resource_at.get(name.trim()).copied()
    }

    /// Adds a resource; returns its position.
    pub(crate) fn add_resource(&mut self, resource: Named) -> usize {
        let at = self.resources.len();
        self.resource_at.entry(resource.name.clone()).or_insert(at);
        self.resources.push(resource);
        at
    }
}

impl Task {
    /// A periodic task with all times 0, to be filled in.
    pub(crate) fn new(at: TextPosition, name: &str) -> Self {
        Self {
            at,
            named: Named::new(name),
            outside: Default::default(),
            needs_outside: false,
            arrival: Arrival::Periodic(Duration::ZERO),
            period: Duration::ZERO,
            deadline: Duration::ZERO,
            jitter: Duration::ZERO,
            cost: Duration::ZERO,
            cost_source: CostSource::Bound,
            core: None,
            priority: None,
            non_preemptive: false,
            sections: Vec::new(),
            segments: Vec::new(),
            service: None,
            server: None,
            persistent: 0,
            release: 0,
        }
    }

    /// Whether something outside of the source releases it.
    pub(crate) fn is_released_from_outside(&self) -> bool {
        matches!(&self.arrival, Arrival::Sporadic(by) if by.is_empty() || self.needs_outside)
    }

    /// The resources that it uses, one entry per section.
    pub(crate) fn uses(&self) -> Vec<usize> {
        fn within(segments: &[Segment], found: &mut Vec<usize>) {
            for segment in segments {
                if let Segment::Hold(resource, inside) = segment {
                    found.push(*resource);
                    within(inside, found);
                }
            }
        }
        let mut found: Vec<usize> = self.sections.iter().map(|section| section.resource).collect();
        within(&self.segments, &mut found);
        found
    }

    /// Adds `count` sections on a resource to those that it has.
    pub(crate) fn section(&mut self, resource: usize, longest: Duration, count: u32) {
        match self.sections.iter_mut().find(|section| section.resource == resource) {
            Some(section) => {
                section.longest = section.longest.max(longest);
                section.count = section.count.saturating_add(count);
            }
            None => self.sections.push(Section { resource, longest, count }),
        }
    }
}

/// The length of segments; `None` on overflow.
pub(crate) fn length(segments: &[Segment]) -> Option<Duration> {
    segments.iter().try_fold(Duration::ZERO, |sum, segment| {
        sum.checked_add(match segment {
            Segment::Run(time) => *time,
            Segment::Hold(_, inside) => length(inside)?,
        })
    })
}
