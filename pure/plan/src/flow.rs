// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Channels and chains: mechanism, capacity, latency, age.

use taut_analysis::chain::{self, Link};
use taut_analysis::queue::{self, Reader, Writer};
use taut_analysis::{Overflow, Verdict, Why};
use taut_model::{
    Arrival, CAPACITY_MAX, Chain, Channel, ChannelId, Class, Fault, Kind, Mechanism, Model, Party, Place,
    Step, TaskId, codes,
};
use taut_time::Duration;

use crate::{ChainPlan, StepPlan};

/// What is known about the response of a task: R if it is proven, and otherwise D, which it promises.
#[derive(Clone, Copy)]
pub(crate) struct Promise {
    pub(crate) response: Duration,
    pub(crate) proven: bool,
}

/// Promises by task; none for a best-effort task.
pub(crate) type Promises = Vec<Option<Promise>>;

/// How a channel is realised.
pub(crate) struct Realisation {
    pub(crate) mechanism: Mechanism,
    pub(crate) reason: String,
    pub(crate) capacity: u32,
    pub(crate) capacity_reason: Option<String>,
    pub(crate) latency: Option<Duration>,
}

/// The one reader of a queue, as the analysis needs it; none if nothing makes it look at the queue.
fn reader(model: &Model, id: ChannelId, promises: &Promises) -> Option<(Reader, bool)> {
    let channel = model.channel(id);
    let [Party::Task(task)] = channel.readers[..] else { return None };
    let (Class::RealTime(real_time), Some(promise)) = (&model.task(task).class, promises[task.index()])
    else {
        return None;
    };
    let triggered = match &real_time.arrival {
        Arrival::Periodic { .. } => false,
        Arrival::Sporadic { trigger, .. } if *trigger == id => true,
        Arrival::Sporadic { .. } => return None,
    };
    let period = real_time.arrival.period();
    let takes = channel.takes_per_release;
    Some((Reader { period, response: promise.response, takes, triggered }, promise.proven))
}

/// The writer of a queue, as the analysis needs it; none if it promises nothing.
fn writer(model: &Model, channel: &Channel, promises: &Promises) -> Option<(Writer, bool)> {
    let (period, response, proven) = match channel.writer {
        Party::Task(task) => match &model.task(task).class {
            Class::RealTime(real_time) => {
                let promise = promises[task.index()]?;
                (real_time.arrival.period(), promise.response, promise.proven)
            }
            // An activation ends before the next one starts, so all that it sends comes within the gap.
            Class::BestEffort(best_effort) => (best_effort.min_gap?, best_effort.min_gap?, true),
        },
        Party::Client(client) => (model.client(client).min_gap?, Duration::ZERO, true),
    };
    (!period.is_zero()).then_some((Writer { period, response, sends: channel.sends_per_release }, proven))
}

fn mechanism(model: &Model, channel: &Channel) -> (Mechanism, String) {
    let from = model.is_real_time(channel.writer);
    let urgent = channel.readers.iter().filter(|reader| model.is_real_time(**reader)).count();
    let only = Mechanism::for_parties(channel.kind, from, channel.readers.len(), urgent);
    // The model has refused what no mechanism serves; a state is then the safest reading.
    let mechanism = channel.mechanism.or(only).unwrap_or(Mechanism::Sdrtw);
    let parties = match mechanism {
        Mechanism::Sdrtr => "state of a writer that is not real-time, one real-time reader",
        Mechanism::Sdrtw => "state of a real-time writer, no real-time reader",
        Mechanism::Qrtr if from => "queue between real-time tasks",
        Mechanism::Qrtr => "queue from a writer that is not real-time to a real-time reader",
    };
    let pinned = if channel.mechanism.is_some() { "pinned by the manifest; " } else { "" };
    (mechanism, format!("{pinned}{parties}"))
}

/// Decides everything about a channel but its place.
pub(crate) fn realise(
    model: &Model,
    id: ChannelId,
    promises: &Promises,
    faults: &mut Vec<Fault>,
) -> Realisation {
    let channel = model.channel(id);
    let (mechanism, reason) = mechanism(model, channel);
    let mut realisation =
        Realisation { mechanism, reason, capacity: 1, capacity_reason: None, latency: None };
    if channel.kind == Kind::State {
        return realisation;
    }
    let ends = writer(model, channel, promises).zip(reader(model, id, promises));
    let needed = ends.and_then(|((writer, _), (reader, _))| {
        let verdict = queue::capacity(&writer, &reader).ok()?;
        verdict.bound().map(|needed| (*needed, sized(*needed, &writer, &reader)))
    });
    let at = |key: &str| format!("channels.{}.{key}", channel.name);
    // Who is not real-time may find a queue full: it is told, and nothing that was proven depends on it.
    let from_real_time = model.is_real_time(channel.writer);
    match (channel.capacity, needed) {
        (Some(capacity), Some((needed, how))) if u64::from(capacity) < needed && from_real_time => {
            realisation.capacity = capacity;
            let message = format!("queue `{}` can be full when its writer sends", channel.name);
            let text = format!("holds {capacity}, {needed} can wait");
            faults.push(
                Fault::error(codes::BAD_CAPACITY, message, Place::value(at("capacity")), text)
                    .note(how)
                    .help(format!("use `capacity = {needed}`, or \"auto\"")),
            );
        }
        (Some(capacity), _) => realisation.capacity = capacity,
        (None, Some((needed, how))) => match u32::try_from(needed).ok().filter(|n| *n <= CAPACITY_MAX) {
            Some(capacity) => {
                realisation.capacity = capacity.max(channel.sends_per_release);
                realisation.capacity_reason = Some(how);
            }
            None => {
                realisation.capacity = CAPACITY_MAX;
                let message = format!("queue `{}` would have to hold {needed} values", channel.name);
                let place = Place::value(at("capacity"));
                faults.push(
                    Fault::error(codes::BAD_CAPACITY, message, place, format!("at most {CAPACITY_MAX}"))
                        .help("let its reader run more often"),
                );
            }
        },
        (None, None) => {
            let twice = channel.takes_per_release.saturating_mul(2);
            realisation.capacity = twice.max(channel.sends_per_release).min(CAPACITY_MAX);
            let nothing =
                "nothing bounds how much waits, so it can be full: twice what its reader takes at once";
            realisation.capacity_reason = Some(nothing.into());
        }
    }
    if let Some(((writer, true), (reader, true))) = ends.filter(|_| from_real_time) {
        realisation.latency =
            queue::latency(&writer, &reader).ok().and_then(|verdict| verdict.bound().copied());
    }
    realisation
}

fn sized(needed: u64, writer: &Writer, reader: &Reader) -> String {
    let (n, tw, rw) = (writer.sends, writer.period, writer.response);
    let (m, tr, rr) = (reader.takes, reader.period, reader.response);
    format!("at most {needed} wait: {n} sent per {tw} within {rw}, {m} taken per {tr} within {rr}")
}

/// Bounds a chain.
pub(crate) fn follow(
    model: &Model,
    at: usize,
    chain: &Chain,
    promises: &Promises,
    faults: &mut Vec<Fault>,
) -> ChainPlan {
    let mut plan = ChainPlan {
        name: chain.name.clone(),
        path: Vec::new(),
        max_latency: chain.max_latency,
        latency: None,
    };
    let response = |id: TaskId| promises[id.index()].filter(|p| p.proven).map(|p| p.response);
    let mut links = Vec::new();
    let mut first = None;
    // How often something newer is certain to come: behind a queue, as often as into it.
    let mut renewed = None;
    let mut samples = true;
    for (i, step) in chain.path.iter().enumerate() {
        match *step {
            Step::Task(id) => {
                // What is not shown about a task is said there.
                let Some(response) = response(id) else { return plan };
                first = first.or(Some(response));
                if samples {
                    renewed = period(model, id);
                }
            }
            Step::Channel(id) => match link(model, id, promises, renewed) {
                Some(link) => {
                    samples = matches!(link, Link::State { .. });
                    links.push(link);
                }
                None => {
                    let name = &model.channel(id).name;
                    let message = format!("the latency of chain `{}` is not shown", chain.name);
                    let place = Place::value(format!("chains.{at}.path.{i}"));
                    faults.push(
                        Fault::error(
                            codes::CHAIN_TOO_SLOW,
                            message,
                            place,
                            "nothing bounds how long a value waits",
                        )
                        .note(format!("the reader of `{name}` is released by another channel"))
                        .help("make the reader periodic, or let this channel release it"),
                    );
                    return plan;
                }
            },
        }
    }
    let Some(first) = first else { return plan };
    match chain::age(first, &links) {
        Ok(Verdict::Schedulable(age)) => {
            plan.path = steps(model, chain, first, &age, &links);
            plan.latency = Some(age.total);
            if age.total > chain.max_latency {
                faults.push(too_slow(at, chain, &plan, age.total));
            }
        }
        other => {
            let message = format!("the latency of chain `{}` is not shown", chain.name);
            let place = Place::value(format!("chains.{at}.max-latency"));
            let why = match other {
                Ok(Verdict::NotApplicable(assumption)) => assumption.to_string(),
                Ok(Verdict::NotShown(Why::Rate)) => "more is sent into a queue of it than is taken".into(),
                _ => Overflow.to_string(),
            };
            faults.push(Fault::error(codes::CHAIN_TOO_SLOW, message, place, why));
        }
    }
    plan
}

/// The period of a periodic task.
fn period(model: &Model, id: TaskId) -> Option<Duration> {
    match &model.task(id).class {
        Class::RealTime(real_time) => match real_time.arrival {
            Arrival::Periodic { .. } => Some(real_time.arrival.period()),
            Arrival::Sporadic { .. } => None,
        },
        Class::BestEffort(_) => None,
    }
}

fn link(model: &Model, id: ChannelId, promises: &Promises, renewed: Option<Duration>) -> Option<Link> {
    let channel = model.channel(id);
    let (reader, _) = reader(model, id, promises)?;
    let (writer, _) = writer(model, channel, promises)?;
    let Party::Task(_) = channel.writer else { return None };
    Some(match channel.kind {
        Kind::Queue => Link::Queue(writer, reader),
        Kind::State => Link::State {
            period: renewed.unwrap_or(writer.period),
            periodic: renewed.is_some(),
            response: reader.response,
        },
    })
}

fn steps(model: &Model, chain: &Chain, first: Duration, age: &chain::Age, links: &[Link]) -> Vec<StepPlan> {
    let times = age.steps.iter().zip(links).flat_map(|(step, link)| {
        let adds = match link {
            Link::State { .. } => "is read until it is replaced",
            Link::Queue(_, reader) if reader.triggered && step.wait.is_zero() => {
                "releases its reader at once"
            }
            Link::Queue(_, reader) if reader.triggered => "waits for its reader's gap",
            Link::Queue(_, reader) if step.wait == reader.period => "waits at most a period of its reader",
            Link::Queue(..) => "waits at most some periods of its reader",
        };
        [(adds, step.wait), ("response", step.response)]
    });
    let name = |step: &Step| match *step {
        Step::Task(id) => model.task(id).name.clone(),
        Step::Channel(id) => model.channel(id).name.clone(),
    };
    let times = [("response", first)].into_iter().chain(times);
    let step = |(step, (adds, time)): (&Step, (&str, Duration))| StepPlan {
        name: name(step),
        adds: adds.into(),
        time,
    };
    chain.path.iter().zip(times).map(step).collect()
}

fn too_slow(at: usize, chain: &Chain, plan: &ChainPlan, total: Duration) -> Fault {
    let message = format!("data of chain `{}` can be older than it allows", chain.name);
    let place = Place::value(format!("chains.{at}.max-latency"));
    let text = format!("{} passed: the bound is {total}", chain.max_latency);
    let mut fault = Fault::error(codes::CHAIN_TOO_SLOW, message, place, text);
    for (i, step) in plan.path.iter().enumerate().filter(|(_, step)| !step.time.is_zero()) {
        let place = Place::value(format!("chains.{at}.path.{i}"));
        fault = fault.also(place, format!("{}: {}", step.adds, step.time));
    }
    let largest = plan.path.iter().rev().max_by_key(|step| step.time);
    let fault = fault.note("test: sum of response times and of the longest wait in each channel");
    match largest {
        Some(step) if step.adds != "response" => fault.help(format!(
            "`{}` adds most: let its reader run more often or be released by it, or allow \"{total}\"",
            step.name
        )),
        Some(step) => fault.help(format!("`{}` adds most: make it faster, or allow \"{total}\"", step.name)),
        None => fault,
    }
}
