// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Bounds chains: how old data are at the end of a chain, and how soon an outside event has an effect there.
//!
//! Both bounds use the proven response times of tasks, and which of the writer and the reader of a state runs first.
//! On one core under fixed priorities, a writer that is more urgent than its reader has written before the reader
//! starts, so its release counts and not its response. The bounds do not use this if tasks lock: the writer may then
//! wait for others.

use taut_analysis::chain::data_age::data_age;
use taut_analysis::chain::end_to_end::{self, Hop, Reading};
use taut_analysis::chain::reaction::reaction;
use taut_analysis::overheads::Charges;
use taut_analysis::{Overflow, Verdict, Why};
use taut_model::{
    Arrival, ArrivalPattern, Chain, ChainStep, ChannelId, ChannelKind, Class, Fault, Flow, KeyPath, Model,
    PartyId, RealTime, SchedulingPolicy, TaskId, codes,
};
use taut_plan::{ChainPlan, StepPlan};
use taut_time::Duration;

use crate::channels::{flow, messages};
use crate::placement::{Placements, Who};
use crate::response::bounds::ResponseBounds;

/// What the bounds of chains rest on.
pub(crate) struct Known<'a> {
    pub(crate) model: &'a Model,
    pub(crate) places: &'a Places,
    pub(crate) bounds: &'a ResponseBounds,
}

/// Where tasks run.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// By task: core and priority; none for a task without a placement of its own.
    of: Vec<Option<(usize, u8)>>,
    /// Whether any task may wait for a lock.
    waits: bool,
}

impl Places {
    pub(crate) fn of(model: &Model, placements: &Placements<'_>) -> Self {
        let mut of = vec![None; model.tasks().len()];
        for placement in &placements.placements {
            if let Who::Task(id) = placement.who {
                of[id.index()] = Some((placement.core, placement.priority));
            }
        }
        Self { of, waits: !model.resources().is_empty() }
    }

    pub(crate) fn with_waits(&self, waits: bool) -> Self {
        Self { waits, ..self.clone() }
    }
}

/// A chain in the form that the analyses take.
struct Way {
    first: end_to_end::ChainTask,
    hops: Vec<Hop>,
}

/// A limit that the manifest sets for a chain.
#[derive(Clone, Copy)]
struct Asked {
    key: &'static str,
    /// The quantity that the limit bounds, in words.
    what: &'static str,
    limit: Duration,
}

/// Bounds a chain.
pub(crate) fn follow(known: &Known<'_>, at: usize, chain: &Chain, faults: &mut Vec<Fault>) -> ChainPlan {
    let mut plan = ChainPlan {
        name: chain.name.clone(),
        path: Vec::new(),
        max_latency: chain.max_latency,
        latency: None,
        max_reaction: chain.max_reaction,
        reaction: None,
        reaction_path: Vec::new(),
    };
    let Some(way) = known.way(chain) else { return plan };
    let latency = Asked { key: "max-latency", what: "latency", limit: chain.max_latency };
    match data_age(&way.first, &way.hops) {
        Ok(Verdict::Schedulable(age)) => {
            plan.path = known.steps(chain, &way, Duration::ZERO, &age.hops);
            plan.latency = Some(age.until_output);
            if age.until_output > chain.max_latency {
                let message = format!("data of chain `{}` can be older than it allows", chain.name);
                faults.push(too_slow(at, message, latency, &plan.path, age.until_output));
            }
        }
        other => faults.push(not_shown(at, chain, latency, other.map(|verdict| verdict.map(drop)))),
    }
    let Some(limit) = chain.max_reaction else { return plan };
    let asked = Asked { key: "max-reaction", what: "reaction", limit };
    match reaction(&way.first, &way.hops) {
        Ok(Verdict::Schedulable(found)) => {
            plan.reaction_path = known.steps(chain, &way, found.sampling, &found.hops);
            plan.reaction = Some(found.total);
            if found.total > limit {
                let message = format!("chain `{}` can react later than it allows", chain.name);
                faults.push(too_slow(at, message, asked, &plan.reaction_path, found.total));
            }
        }
        other => faults.push(not_shown(at, chain, asked, other.map(|verdict| verdict.map(drop)))),
    }
    plan
}

impl Known<'_> {
    fn real_time(&self, id: TaskId) -> Option<&RealTime> {
        match &self.model.task(id).class {
            Class::RealTime(task) => Some(task),
            Class::BestEffort(_) => None,
        }
    }

    /// A task as the theorems see it: its jitter includes the release overhead, after which the task is ready.
    fn task(&self, id: TaskId) -> Option<end_to_end::ChainTask> {
        let task = self.real_time(id)?;
        let response = self.bounds[id.index()].filter(|bound| bound.proven)?.response;
        let charges = Charges::of(&self.model.platform().overheads);
        Some(end_to_end::ChainTask {
            arrivals: match task.arrival {
                Arrival::Periodic { .. } => ArrivalPattern::Periodic,
                // The model refuses chains through aperiodic tasks, and through those that follow a clock.
                Arrival::Clocked(_) | Arrival::Sporadic { .. } | Arrival::Aperiodic { .. } => {
                    ArrivalPattern::Sporadic
                }
            },
            period: task.arrival.period(),
            response,
            // R includes the jitter.
            jitter: charges.released(task.delay()).map_or(response, |jitter| jitter.min(response)),
        })
    }

    fn way(&self, chain: &Chain) -> Option<Way> {
        let mut tasks = Vec::new();
        let mut channels = Vec::new();
        for step in &chain.path {
            match *step {
                ChainStep::Task(id) => tasks.push((id, self.task(id)?)),
                ChainStep::Channel(id) => channels.push(id),
            }
        }
        let hop = |(pair, &id): (&[(TaskId, end_to_end::ChainTask)], &ChannelId)| {
            let channel = self.channel(id, pair[0].0, pair[1].0)?;
            Some(Hop { channel, reader: pair[1].1 })
        };
        // In a synchronous flow, activations count at their nominal instants.
        for ((_, task), &id) in tasks.iter_mut().zip(&channels) {
            if self.model.channel(id).flow == Flow::Synchronous {
                task.jitter = Duration::ZERO;
            }
        }
        let first = tasks.first()?.1;
        let hops = tasks.windows(2).zip(&channels).map(hop).collect::<Option<_>>()?;
        Some(Way { first, hops })
    }

    /// The channel between two tasks; none if its delivery has no bound, which a fault of its own reports.
    fn channel(&self, id: ChannelId, writer: TaskId, reader: TaskId) -> Option<end_to_end::ChainChannel> {
        let channel = self.model.channel(id);
        if channel.flow == Flow::Synchronous {
            let mut readers = channel.readers.iter().zip(&channel.delayed);
            let delayed = readers.any(|(party, delayed)| *delayed && *party == PartyId::Task(reader));
            let reading = if delayed { Reading::PreservedDelayed } else { Reading::Preserved };
            return Some(end_to_end::ChainChannel::State(reading));
        }
        if channel.kind == ChannelKind::State {
            let below = self.starts_behind(writer, reader);
            let reading = if below { Reading::NewestBelowWriter } else { Reading::Newest };
            return Some(end_to_end::ChainChannel::State(reading));
        }
        if let Some(lane) = &channel.lane {
            let wait = messages::bound(self.model, id, lane.order, self.bounds).found()?.wait;
            return Some(end_to_end::ChainChannel::Message { wait });
        }
        let triggered = flow::follows(&self.real_time(reader)?.arrival, id)?;
        let (sends, takes) = (channel.sends_per_release, flow::takes(channel, triggered));
        Some(end_to_end::ChainChannel::Queue { sends, takes, triggered })
    }

    /// Whether the reader cannot start while the writer is ready: one core, fixed priorities, the writer more urgent,
    /// and no task ever waits for a lock.
    fn starts_behind(&self, writer: TaskId, reader: TaskId) -> bool {
        let place = |id: TaskId| self.places.of[id.index()];
        let fixed = self.model.platform().scheduler == SchedulingPolicy::FixedPriority;
        place(writer).zip(place(reader)).is_some_and(|(writer, reader)| {
            fixed && !self.places.waits && writer.0 == reader.0 && writer.1 > reader.1
        })
    }

    /// The two bounds of a chain: the age of data at its end, and its reaction; `None` where none is shown.
    ///
    /// # Errors
    /// [`Overflow`] if times do not fit in 64 bits.
    pub(crate) fn times(&self, chain: &Chain) -> Result<[Option<Duration>; 2], Overflow> {
        let Some(way) = self.way(chain) else { return Ok([None; 2]) };
        let age = data_age(&way.first, &way.hops)?.bound().map(|age| age.until_output);
        let reaction = match chain.max_reaction {
            Some(_) => reaction(&way.first, &way.hops)?.bound().map(|found| found.total),
            None => None,
        };
        Ok([age, reaction])
    }

    /// What each step adds: `sampling`, then the hops, each from the arrival of one task to that of the next.
    fn steps(&self, chain: &Chain, way: &Way, sampling: Duration, hops: &[Duration]) -> Vec<StepPlan> {
        let mut steps = Vec::with_capacity(chain.path.len());
        let mut writer = &way.first;
        if !sampling.is_zero() {
            let name = self.name(&chain.path[0]);
            steps.push(StepPlan { name, adds: "has just sampled".into(), time: sampling });
        }
        for ((hop, &time), at) in way.hops.iter().zip(hops).zip((0..).step_by(2)) {
            let (adds, own) = match hop.channel {
                end_to_end::ChainChannel::State(Reading::NewestBelowWriter) => {
                    ("release, above its reader", writer.jitter)
                }
                end_to_end::ChainChannel::State(Reading::Preserved | Reading::PreservedDelayed) => {
                    ("activation, which decides who reads it", writer.jitter)
                }
                _ => ("response", writer.response),
            };
            let wait = time.saturating_sub(own);
            steps.push(StepPlan { name: self.name(&chain.path[at]), adds: adds.into(), time: own });
            let adds = match hop.channel {
                end_to_end::ChainChannel::State(Reading::PreservedDelayed) => {
                    "waits a period, and is read until it is replaced"
                }
                end_to_end::ChainChannel::State(_) if sampling.is_zero() => "is read until it is replaced",
                end_to_end::ChainChannel::State(_) => "waits for its reader's next job",
                end_to_end::ChainChannel::Message { .. } => {
                    "waits for its receiver and the messages in front"
                }
                end_to_end::ChainChannel::Queue { triggered: true, .. } if wait.is_zero() => {
                    "releases its reader at once"
                }
                end_to_end::ChainChannel::Queue { triggered: true, .. } => "waits for its reader's gap",
                end_to_end::ChainChannel::Queue { .. } if wait == hop.reader.period => {
                    "waits at most a period of its reader"
                }
                end_to_end::ChainChannel::Queue { .. } => "waits at most some periods of its reader",
            };
            steps.push(StepPlan { name: self.name(&chain.path[at + 1]), adds: adds.into(), time: wait });
            writer = &hop.reader;
        }
        let name = chain.path.last().map_or_else(String::new, |last| self.name(last));
        steps.push(StepPlan { name, adds: "response".into(), time: writer.response });
        steps
    }

    fn name(&self, step: &ChainStep) -> String {
        match *step {
            ChainStep::Task(id) => self.model.task(id).name.clone(),
            ChainStep::Channel(id) => self.model.channel(id).name.clone(),
        }
    }
}

fn not_shown(at: usize, chain: &Chain, asked: Asked, why: Result<Verdict<()>, Overflow>) -> Fault {
    let message = format!("the {} of chain `{}` is not shown", asked.what, chain.name);
    let place = KeyPath::value(format!("chains.{at}.{}", asked.key));
    let why = match why {
        Ok(Verdict::NotApplicable(assumption)) => assumption.to_string(),
        Ok(Verdict::NotShown(Why::Rate)) => "a queue of it receives more values than its reader takes".into(),
        _ => Overflow.to_string(),
    };
    Fault::error(codes::CHAIN_TOO_SLOW, message, place, why)
}

fn too_slow(at: usize, message: String, asked: Asked, path: &[StepPlan], total: Duration) -> Fault {
    let place = KeyPath::value(format!("chains.{at}.{}", asked.key));
    let text = format!("{} passed: the bound is {}", asked.limit, total.rounded());
    let mut fault = Fault::error(codes::CHAIN_TOO_SLOW, message, place, text);
    // The first task of a reaction occurs twice: once for the event that it has just missed, once for its response.
    let twice = path.len().is_multiple_of(2);
    for (i, step) in path.iter().enumerate().filter(|(_, step)| !step.time.is_zero()) {
        let place = KeyPath::value(format!("chains.{at}.path.{}", i.saturating_sub(usize::from(twice))));
        fault = fault.also(place, format!("{}: {}", step.adds, step.time.rounded()));
    }
    let largest = path.iter().rev().max_by_key(|step| step.time);
    let fault = fault.note("test: sum of response times and of the longest wait in each channel");
    let Some(step) = largest else { return fault };
    let name = &step.name;
    fault.help(match step.adds.as_str() {
        "response" => format!("`{name}` adds most: make it faster, or allow \"{total}\""),
        "has just sampled" => format!("`{name}` adds most: let it run more often, or allow \"{total}\""),
        "release, above its reader" => {
            format!("`{name}` adds most: let it be released earlier, or allow \"{total}\"")
        }
        "is read until it is replaced" => {
            format!("`{name}` adds most: let its writer run more often, or allow \"{total}\"")
        }
        "waits for its reader's next job" => {
            format!("`{name}` adds most: let its reader run more often, or allow \"{total}\"")
        }
        _ => format!(
            "`{name}` adds most: let its reader run more often or be released by it, or allow \"{total}\""
        ),
    })
}
