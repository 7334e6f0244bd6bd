// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The text of the program that stands in for an application's code: it follows from the model alone.
//!
//! `main.rs`, whose template is in `templates`, has the payloads, and one call for each task, resource and service. What
//! tasks do is in `load.rs`, which is the same for every manifest. Names of the manifest reach `taut` as strings; Rust's
//! own names are made here.

use std::fmt::Write as _;

use taut_generate::{Payloads, fill};
use taut_model::{
    BestEffort, Channel, ChannelId, ChannelKind, Class, Model, PartyId, RealTime, Reception, Segment,
    ServiceStart, TaskId,
};
use taut_time::Duration;

/// What tasks and clients do: `src/load.rs` of every program.
pub(crate) const LOAD: &str = include_str!("load.rs");

/// How long a best-effort task without `min-gap` sleeps between two activations.
const TASK_GAP: Duration = Duration::from_ms(10);
/// How long a client without `min-gap` sleeps between two rounds.
const CLIENT_GAP: Duration = Duration::from_ms(100);

/// `Cargo.toml`, for a program that depends on `taut` as `source` says: `path = "…"` or `git = "…"`.
pub(crate) fn cargo_toml(app: &str, source: &str) -> String {
    fill(include_str!("templates/Cargo.toml.in"), &[("app", app), ("source", source)])
}

/// `src/main.rs`.
pub(crate) fn main_rs(model: &Model) -> String {
    fill(
        include_str!("templates/main.rs.in"),
        &[
            ("app", &model.app().name),
            ("payloads", &Payloads::of(model).text()),
            ("calls", &calls(model)),
            ("clients", &clients(model)),
        ],
    )
}

/// The type of a payload.
fn type_name(model: &Model, at: usize) -> String {
    Payloads::of(model).stored(at, "payload")
}

/// The calls that give the application its code.
fn calls(model: &Model) -> String {
    let mut text = String::new();
    if model.app().safe_state.is_some() {
        text.push_str("    app.safe_state(|| ())?;\n");
    }
    for (at, resource) in model.resources().iter().enumerate() {
        // The runtime makes those that guard a state.
        if model.guarding(at).is_none() {
            let _ = writeln!(text, "    app.resource(\"{}\", ())?;", resource.name);
        }
    }
    for (_, _, task) in model.real_time() {
        if let Some(device) = task.arrival.device() {
            let gap_ns = task.arrival.period().as_ns();
            let _ = writeln!(text, "    app.device(\"{device}\", load::ready_every({gap_ns})?)?;");
        }
    }
    for id in model.task_ids().filter(|id| model.task(*id).service.is_none()) {
        text.push_str(&task(model, id, "app", "    "));
    }
    for (at, service) in model.services().iter().enumerate() {
        let _ = writeln!(text, "    app.service(\"{}\", |service| {{", service.name);
        let own = |id: &TaskId| model.task(*id).service.is_some_and(|service| service.index() == at);
        for id in model.task_ids().filter(own) {
            text.push_str(&task(model, id, "service", "        "));
        }
        text.push_str("        Ok(())\n    })?;\n");
        if service.start == ServiceStart::Demand {
            let _ = writeln!(text, "    let _ = app.control().start_service(\"{}\");", service.name);
        }
    }
    text
}

/// The call that gives a task of `owner` its code.
fn task(model: &Model, id: TaskId, owner: &str, indent: &str) -> String {
    match &model.task(id).class {
        Class::RealTime(real_time) => real_time_task(model, (id, real_time), owner, indent),
        Class::BestEffort(best_effort) => best_effort_task(model, (id, best_effort), owner, indent),
    }
}

fn real_time_task(model: &Model, (id, task): (TaskId, &RealTime), owner: &str, indent: &str) -> String {
    // The runtime hands over the values of the one queue that releases a receiver.
    let trigger = model.sole_trigger(id).filter(|trigger| model.hands_over(*trigger));
    let call = match trigger {
        None => "task".to_owned(),
        Some(trigger) => format!("receiver::<{}, _>", type_name(model, model.channel(trigger).payload)),
    };
    let mut text = format!("{indent}{owner}.{call}(\"{}\", |create| {{\n", model.task(id).name);
    let steps = steps(model, task, &format!("{indent}        "));
    for (at, resource) in model.resources().iter().enumerate() {
        if task.sections.iter().any(|section| section.resource.index() == at) && model.guarding(at).is_none()
        {
            let _ = writeln!(text, "{indent}    let r{at} = create.resource::<()>(\"{}\")?;", resource.name);
        }
    }
    let (mut inputs, outputs) = ends(model, PartyId::Task(id), trigger);
    if let Some(device) = task.arrival.device() {
        inputs.push(format!("load::reads_device(create, \"{device}\")?"));
    }
    let _ = writeln!(text, "{indent}    let inputs = {};", list(&inputs, indent));
    let _ = writeln!(text, "{indent}    let steps = {};", list(&steps, indent));
    let _ = writeln!(text, "{indent}    let outputs = {};", list(&outputs, indent));
    let (at, ns) = (id.index(), task.wcet.value.as_ns());
    let _ = writeln!(text, "{indent}    Ok(Load::new((execution, {at}), {ns}, inputs, steps, outputs))");
    let _ = writeln!(text, "{indent}}})?;");
    text
}

fn best_effort_task(model: &Model, (id, task): (TaskId, &BestEffort), owner: &str, indent: &str) -> String {
    let (inputs, outputs) = ends(model, PartyId::Task(id), None);
    let gap_ns = task.min_gap.unwrap_or(TASK_GAP).as_ns();
    format!(
        "{indent}{owner}.best_effort(\"{}\", |create| {{\n{indent}    let inputs = {};\n\
         {indent}    let outputs = {};\n{indent}    Ok(load::best_effort({gap_ns}, inputs, outputs))\n{indent}}})?;\n",
        model.task(id).name,
        list(&inputs, indent),
        list(&outputs, indent)
    )
}

/// A `vec!` with these items, a line each, in a statement that is indented one level beyond `indent`.
fn list(items: &[String], indent: &str) -> String {
    if items.is_empty() {
        return "vec![]".to_owned();
    }
    let items: String = items.iter().map(|item| format!("{indent}        {item},\n")).collect();
    format!("vec![\n{items}{indent}    ]")
}

/// The ends of a task: those from which it reads, without its trigger's, and those to which it writes.
fn ends(model: &Model, party: PartyId, trigger: Option<ChannelId>) -> (Vec<String>, Vec<String>) {
    let mut ends = (Vec::new(), Vec::new());
    for id in model.channel_ids() {
        let Channel { name, kind, payload, sends_per_release: most, .. } = model.channel(id);
        let of = type_name(model, *payload);
        // Both parties of a request have one end for it and its replies.
        if model.channel(id).answers.is_some() {
            continue;
        }
        if let Some(reply) = reply_of(model, id) {
            let (channel, name) = (model.channel(id), model.channel(id).table());
            if channel.writer == party {
                ends.1.push(format!("load::calls::<{of}, {reply}>(create, \"{name}\")?"));
            } else if reads(model, id, party) && channel.place() == 0 {
                ends.0.push(format!("load::answers::<{of}, {reply}>(create, \"{name}\")?"));
            }
            continue;
        }
        if let Some(lane) = model.channel(id).lane.as_ref().filter(|_| reads(model, id, party)) {
            // One end for all lanes.
            let takes = if model.channel(id).is_timed() { "alarms" } else { "messages" };
            if lane.sender == 0 {
                ends.0.push(format!("load::{takes}::<{of}>(create, \"{}\")?", lane.message));
            }
        } else if reads(model, id, party) && trigger != Some(id) && model.channel(id).place() == 0 {
            ends.0.push(match kind {
                ChannelKind::Queue => {
                    let (most, wakes) = (model.channel(id).takes_per_release, wakes(model, id));
                    format!("load::receives::<{of}>(create, \"{name}\", {most}, {wakes})?")
                }
                ChannelKind::State => {
                    format!("load::reads::<{of}>(create, \"{}\")?", model.channel(id).table())
                }
                ChannelKind::Bulk => format!("load::blocks::<{of}>(create, \"{name}\")?"),
            });
        }
        if model.channel(id).writer == party {
            ends.1.push(match kind {
                ChannelKind::Queue if model.channel(id).is_timed() => {
                    format!("load::sets::<{of}>(create, \"{}\", {most})?", model.channel(id).table())
                }
                ChannelKind::Queue => format!("load::sends::<{of}>(create, \"{name}\", {most})?"),
                ChannelKind::State => format!("load::publishes::<{of}>(create, \"{name}\")?"),
                ChannelKind::Bulk => format!("load::fills::<{of}>(create, \"{name}\", {most})?"),
            });
        }
    }
    ends
}

/// The type of the replies to what a lane of a request carries; `None` of any other channel.
fn reply_of(model: &Model, lane: ChannelId) -> Option<String> {
    model.replies(lane).map(|replies| type_name(model, model.channel(replies).payload))
}

fn reads(model: &Model, channel: ChannelId, party: PartyId) -> bool {
    model.channel(channel).readers.contains(&party)
}

/// Whether a reader that is not real-time sleeps until a value comes.
fn wakes(model: &Model, channel: ChannelId) -> bool {
    model.channel(channel).reception == Reception::Wait
}

/// The steps of a job: its segments; or its sections, each after an equal part of the execution time outside
/// of sections. The program executes what is left of the execution time after the last step.
fn steps(model: &Model, task: &RealTime, indent: &str) -> Vec<String> {
    if !task.segments.is_empty() {
        return task.segments.iter().flat_map(|part| segment(part, indent)).collect();
    }
    let own = |at: usize| model.guarding(at).is_none();
    let sections: Vec<_> = task.sections.iter().filter(|section| own(section.resource.index())).collect();
    let count: u64 = sections.iter().map(|section| u64::from(section.count)).sum();
    let held = sections.iter().fold(0u64, |held, section| {
        held.saturating_add(section.longest.as_ns().saturating_mul(section.count.into()))
    });
    let gap = task.wcet.value.as_ns().saturating_sub(held) / (count + 1);
    let step = |section: &&taut_model::Section| {
        let (resource, ns) = (section.resource.index(), section.longest.as_ns());
        let once = format!("run({gap}), hold(&r{resource}, vec![run({ns})])");
        if section.count == 1 { once } else { format!("times({}, vec![{once}])", section.count) }
    };
    sections.iter().map(step).collect()
}

/// A segment, with those inside it.
fn segment(part: &Segment, indent: &str) -> Vec<String> {
    match part {
        Segment::Normal(time) => vec![format!("run({})", time.as_ns())],
        Segment::Section { resource, inside } => {
            let deeper = format!("{indent}    ");
            let inside: Vec<String> = inside.iter().flat_map(|part| segment(part, &deeper)).collect();
            let is_flat = inside.iter().all(|step| step.starts_with("run("));
            let inside = if is_flat {
                format!("vec![{}]", inside.join(", "))
            } else {
                let lines: String = inside.iter().map(|step| format!("{deeper}{step},\n")).collect();
                format!("vec![\n{lines}{indent}]")
            };
            vec![format!("hold(&r{resource}, {inside})")]
        }
    }
}

/// For each client of the manifest, the arm of the `match` that runs it.
fn clients(model: &Model) -> String {
    let mut text = String::new();
    let app = &model.app().name;
    let mut parties = Vec::new();
    for channel in model.channels() {
        parties.extend(std::iter::once(channel.writer).chain(channel.readers.iter().copied()));
    }
    for (at, client) in model.clients().iter().enumerate() {
        let gap_ns = client.min_gap.unwrap_or(CLIENT_GAP).as_ns();
        let party = parties.iter().find(|party| matches!(party, PartyId::Client(id) if id.index() == at));
        let ends = party.map_or_else(Vec::new, |party| client_ends(model, *party));
        let _ = writeln!(
            text,
            "        \"{0}\" => load::client(\"{app}\", \"{0}\", {gap_ns}, |client| {{\n            Ok({1})\n        }}),",
            client.name,
            list(&ends, "        ")
        );
    }
    text
}

fn client_ends(model: &Model, party: PartyId) -> Vec<String> {
    let mut ends = Vec::new();
    for id in model.channel_ids() {
        let Channel { name, kind, payload, sends_per_release: most, .. } = model.channel(id);
        let of = type_name(model, *payload);
        if model.channel(id).answers.is_some() {
            continue;
        }
        if let Some(reply) = reply_of(model, id).filter(|_| model.channel(id).writer == party) {
            let name = model.channel(id).table();
            ends.push(format!("load::client_calls::<{of}, {reply}>(client, \"{name}\")?"));
            continue;
        }
        if reads(model, id, party) && model.channel(id).place() == 0 {
            let name = model.channel(id).table();
            ends.push(match kind {
                ChannelKind::Queue => {
                    format!("load::client_receives::<{of}>(client, \"{name}\", {})?", wakes(model, id))
                }
                ChannelKind::State => format!("load::client_reads::<{of}>(client, \"{name}\")?"),
                ChannelKind::Bulk => {
                    format!("load::client_blocks::<{of}>(client, \"{name}\", {})?", wakes(model, id))
                }
            });
        }
        if model.channel(id).writer == party {
            let most = if *kind == ChannelKind::Queue { *most } else { 1 };
            ends.push(format!("load::client_writes::<{of}>(client, \"{name}\", {most})?"));
        }
    }
    ends
}
