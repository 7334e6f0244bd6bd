// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Chains: how old data are at their end.

use taut_analysis::chain::{self, Link};
use taut_analysis::{Overflow, Verdict, Why};
use taut_model::{Arrival, Chain, ChannelId, Class, Fault, Kind, Model, Party, Place, Step, TaskId, codes};
use taut_time::Duration;

use crate::flow::{Promises, reader, writer};
use crate::{ChainPlan, StepPlan};

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
