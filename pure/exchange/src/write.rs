// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Writes a sketch as the text of a manifest, in the order in which people write one.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use taut_model::BLOCKS_MAX;

use crate::SourceFormat;
use crate::sketch::{
    Arrival, Carries, Chain, Channel, CostSource, Named, Party, Segment, Sender, Server, Sketch, Task,
};

const MIB: u64 = 1 << 20;
/// The longest comment, in characters.
const COMMENT: usize = 200;

/// The text of the manifest.
pub(crate) fn manifest(sketch: &Sketch, source: SourceFormat) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = whole(&mut text, sketch, source);
    text
}

fn whole(out: &mut String, sketch: &Sketch, source: SourceFormat) -> fmt::Result {
    writeln!(out, "manifest = 1\n\n[app]\nname = \"{}\"", sketch.name)?;
    writeln!(out, "description = \"Imported from {}\"", source.title())?;
    platform(out, sketch)?;
    payloads(out, sketch)?;
    for service in &sketch.services {
        table(out, "services", &service.named)?;
        writeln!(out, "persistent = \"{}B\"", service.persistent)?;
    }
    let used: BTreeSet<usize> = sketch.tasks.iter().flat_map(Task::uses).collect();
    for (_, resource) in sketch.resources.iter().enumerate().filter(|(at, _)| used.contains(at)) {
        table(out, "resources", resource)?;
        writeln!(out, "protocol = \"auto\"")?;
    }
    sketch.servers.iter().try_for_each(|one| server(out, one))?;
    for task in &sketch.tasks {
        match task.arrival {
            Arrival::Any => any(out, sketch, task)?,
            _ => one(out, sketch, task)?,
        }
    }
    for task in sketch.tasks.iter().filter(|task| task.is_released_from_outside()) {
        outside(out, task)?;
    }
    sketch.clients.iter().try_for_each(|client| table(out, "clients", client))?;
    sketch.channels.iter().try_for_each(|channel| flow(out, sketch, channel))?;
    sketch.chains.iter().try_for_each(|one| chain(out, sketch, one))
}

fn table(out: &mut String, kind: &str, named: &Named) -> fmt::Result {
    write!(out, "\n[{kind}.{}]", named.ours)?;
    comment(out, &[if named.name == named.ours { "" } else { &named.name }, &named.comment])
}

/// Ends a line with a comment. Characters that would end the comment, or display it in another order, become spaces.
fn comment(out: &mut String, words: &[&str]) -> fmt::Result {
    let words: Vec<_> = words.iter().filter(|word| !word.is_empty()).copied().collect();
    let harmless = |c: char| match c {
        '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => ' ',
        c if c.is_control() => ' ',
        c => c,
    };
    let words: String = words.join("; ").chars().take(COMMENT).map(harmless).collect();
    if words.is_empty() { writeln!(out) } else { writeln!(out, "   # {words}") }
}

fn platform(out: &mut String, sketch: &Sketch) -> fmt::Result {
    let cores: Vec<_> = (0..sketch.cores.len()).map(|cpu| cpu.to_string()).collect();
    write!(out, "\n[platform]\ncores = [{}]", cores.join(", "))?;
    comment(
        out,
        &[&sketch.cores.iter().filter(|name| !name.is_empty()).cloned().collect::<Vec<_>>().join(", ")],
    )?;
    writeln!(out, "scheduler = \"{}\"", if sketch.edf { "edf" } else { "fp" })?;
    let held = sketch.channels.iter().map(|channel| {
        u64::from(channel.bytes).saturating_mul(channel.to.len() as u64 + waiting(sketch, channel))
    });
    let scopes = sketch.tasks.iter().map(|task| task.release.saturating_add(task.persistent));
    let scopes = scopes.chain(sketch.services.iter().map(|service| service.persistent));
    let bytes = held.chain(scopes).fold(64 * MIB, u64::saturating_add);
    let bytes = bytes.saturating_add(sketch.tasks.len() as u64 * MIB);
    writeln!(out, "memory = \"{}MiB\"", bytes.div_ceil(MIB))?;
    if sketch.runs {
        let what =
            "# The costs of the machine are the defaults, which are guesses: `taut bench` measures yours.";
        return writeln!(out, "\n{what}");
    }
    let known =
        if sketch.context_switch.is_zero() { "the source knows of none" } else { "as the source says" };
    writeln!(out, "\n[platform.overheads]   # {known}: measure your machine's")?;
    writeln!(out, "release = \"0ns\"\ncontext-switch = \"{}\"", sketch.context_switch)?;
    writeln!(out, "kernel-blocking = \"0ns\"\nlock = \"0ns\"")
}

fn payloads(out: &mut String, sketch: &Sketch) -> fmt::Result {
    let mut sizes: BTreeSet<u32> = sketch.channels.iter().map(|channel| channel.bytes).collect();
    if sketch.tasks.iter().any(Task::is_released_from_outside) {
        sizes.insert(1);
    }
    if !sizes.is_empty() {
        writeln!(out, "\n[payloads]")?;
    }
    sizes.into_iter().try_for_each(|size| writeln!(out, "Bytes{size} = {{ type = \"u8\", len = {size} }}"))
}

fn one(out: &mut String, sketch: &Sketch, task: &Task) -> fmt::Result {
    table(out, "tasks", &task.named)?;
    service(out, sketch, task)?;
    arrival(out, sketch, task)?;
    writeln!(out, "deadline = \"{}\"", task.deadline)?;
    if !task.jitter.is_zero() {
        writeln!(out, "jitter = \"{}\"", task.jitter)?;
    }
    let (evidence, why) = match task.cost_source {
        CostSource::Bound => ("static", ""),
        CostSource::Stated => ("guess", "the source does not say where it comes from: measure it"),
        CostSource::Guess => ("guess", "the source does not say: measure it"),
    };
    write!(out, "wcet = {{ value = \"{}\", source = \"{evidence}\" }}", task.cost)?;
    comment(out, &[why])?;
    match task.server {
        Some(at) => served(out, sketch, at)?,
        None => placement(out, task.core, task.priority)?,
    }
    if task.non_preemptive {
        writeln!(out, "non-preemptive = \"{}\"", task.cost)?;
    }
    let scopes = [("persistent", task.persistent), ("release", task.release)];
    let scopes = scopes.iter().filter(|(_, bytes)| *bytes > 0);
    let scopes: Vec<_> = scopes.map(|(scope, bytes)| format!("{scope} = \"{bytes}B\"")).collect();
    if !scopes.is_empty() {
        writeln!(out, "memory = {{ {} }}", scopes.join(", "))?;
    }
    if task.deadline > task.period {
        writeln!(out, "on-overrun = \"run-on\"")?;
    }
    critical_sections(out, sketch, task)
}

fn service(out: &mut String, sketch: &Sketch, task: &Task) -> fmt::Result {
    let service = task.service.and_then(|at| sketch.services.get(at));
    service.map_or(Ok(()), |service| writeln!(out, "service = \"{}\"", service.named.ours))
}

fn arrival(out: &mut String, sketch: &Sketch, task: &Task) -> fmt::Result {
    match &task.arrival {
        Arrival::Periodic(offset) if offset.is_zero() => {
            writeln!(out, "arrival = {{ periodic = \"{}\" }}", task.period)
        }
        Arrival::Periodic(offset) => {
            writeln!(out, "arrival = {{ periodic = \"{}\", offset = \"{offset}\" }}", task.period)
        }
        Arrival::Any => Ok(()),
        Arrival::Sporadic(by) => {
            let known =
                by.iter().filter_map(|at| sketch.channels.get(*at)).map(|channel| &channel.named.ours);
            let outside = task.is_released_from_outside().then_some(&task.outside.1);
            let triggers: Vec<_> = known.chain(outside).map(|trigger| format!("\"{trigger}\"")).collect();
            let triggers = match triggers.as_slice() {
                [only] => format!("trigger = {only}"),
                many => format!("triggers = [{}]", many.join(", ")),
            };
            writeln!(out, "arrival = {{ sporadic = \"{}\", {triggers} }}", task.period)
        }
    }
}

/// The critical sections of a task: in order, or anywhere in a job.
fn critical_sections(out: &mut String, sketch: &Sketch, task: &Task) -> fmt::Result {
    let name =
        |at: usize| sketch.resources.get(at).map_or_else(String::new, |resource| resource.ours.clone());
    if !task.segments.is_empty() {
        writeln!(out, "segments = [")?;
        task.segments.iter().try_for_each(|segment| writeln!(out, "    {},", of_part(segment, &name)))?;
        return writeln!(out, "]");
    }
    let section = |section: &crate::sketch::Section| {
        let (resource, longest) = (name(section.resource), section.longest);
        let count = if section.count == 1 { String::new() } else { format!(", count = {}", section.count) };
        format!("{{ resource = \"{resource}\", longest = \"{longest}\"{count} }}")
    };
    match task.sections.as_slice() {
        [] => Ok(()),
        [only] => writeln!(out, "sections = [{}]", section(only)),
        many => {
            writeln!(out, "sections = [")?;
            many.iter().try_for_each(|one| writeln!(out, "    {},", section(one)))?;
            writeln!(out, "]")
        }
    }
}

fn of_part(segment: &Segment, name: &dyn Fn(usize) -> String) -> String {
    match segment {
        Segment::Run(time) => format!("{{ run = \"{time}\" }}"),
        Segment::Hold(resource, inside) => {
            let resource = name(*resource);
            if let [Segment::Run(time)] = inside.as_slice() {
                return format!("{{ hold = \"{resource}\", run = \"{time}\" }}");
            }
            let inside: Vec<_> = inside.iter().map(|segment| of_part(segment, name)).collect();
            format!("{{ hold = \"{resource}\", segments = [{}] }}", inside.join(", "))
        }
    }
}

/// Core and priority, as far as they are known.
fn placement(out: &mut String, core: Option<usize>, priority: Option<i64>) -> fmt::Result {
    core.map_or(Ok(()), |core| writeln!(out, "core = {core}"))?;
    priority.map_or(Ok(()), |priority| writeln!(out, "priority = {priority}"))
}

fn served(out: &mut String, sketch: &Sketch, server: usize) -> fmt::Result {
    writeln!(
        out,
        "server = \"{}\"",
        sketch.servers.get(server).map_or("", |server| server.named.ours.as_str())
    )
}

fn server(out: &mut String, server: &Server) -> fmt::Result {
    table(out, "servers", &server.named)?;
    let Server { policy, budget, period, .. } = server;
    writeln!(out, "policy = \"{policy}\"\nbudget = \"{budget}\"\nperiod = \"{period}\"")?;
    placement(out, server.core, server.priority)
}

/// A best-effort task, for which no guarantee is given.
fn any(out: &mut String, sketch: &Sketch, task: &Task) -> fmt::Result {
    table(out, "tasks", &task.named)?;
    writeln!(out, "class = \"best-effort\"")?;
    service(out, sketch, task)?;
    task.server.map_or(Ok(()), |server| served(out, sketch, server))
}

/// A best-effort task and a queue, for an event whose origin the source does not give.
fn outside(out: &mut String, task: &Task) -> fmt::Result {
    let (name, gap, (source, event)) = (&task.named.ours, task.period, &task.outside);
    writeln!(out, "\n[tasks.{source}]   # stands for whatever releases `{name}`")?;
    writeln!(out, "class = \"best-effort\"\nmin-gap = \"{gap}\"")?;
    writeln!(
        out,
        "\n[channels.{event}]\nkind = \"queue\"\nfrom = \"{source}\"\nto = \"{name}\"\npayload = \"Bytes1\""
    )
}

/// An end-to-end deadline of several tasks.
fn chain(out: &mut String, sketch: &Sketch, chain: &Chain) -> fmt::Result {
    let task = |at: &usize| sketch.tasks.get(*at).map_or("", |task| task.named.ours.as_str());
    let channel = |at: &usize| sketch.channels.get(*at).map_or("", |channel| channel.named.ours.as_str());
    let mut steps: Vec<_> = chain.tasks.iter().take(1).map(task).collect();
    for (by, to) in chain.channels.iter().zip(chain.tasks.iter().skip(1)) {
        steps.extend([channel(by), task(to)]);
    }
    let steps: Vec<_> = steps.iter().map(|step| format!("\"{step}\"")).collect();
    writeln!(out, "\n[[chains]]\nname = \"{}\"\npath = [{}]", chain.named.ours, steps.join(", "))?;
    writeln!(out, "max-latency = \"{}\"", chain.latency)
}

/// How many values of a channel may wait, roughly: for the memory that the application may lock.
fn waiting(sketch: &Sketch, channel: &Channel) -> u64 {
    let of = |sender: &Sender| {
        let each_second = match sender.party {
            Party::Task(at) => {
                let period = sketch.tasks.get(at).map_or(0, |task| task.period.as_ns());
                1_000_000_000_u64.checked_div(period).unwrap_or(0)
            }
            Party::Client(_) => 0,
        };
        u64::from(sender.sends).saturating_mul(each_second.saturating_add(4))
    };
    let all = channel.from.iter().map(of).fold(channel.takes.into(), u64::saturating_add);
    if channel.carries == Carries::Blocks { all.min(BLOCKS_MAX.into()) } else { all }
}

fn flow(out: &mut String, sketch: &Sketch, channel: &Channel) -> fmt::Result {
    let name = |party: Party| match party {
        Party::Task(at) => sketch.tasks.get(at).map_or("", |task| task.named.ours.as_str()),
        Party::Client(at) => sketch.clients.get(at).map_or("", |client| client.ours.as_str()),
    };
    table(out, "channels", &channel.named)?;
    let is_message = channel.carries == Carries::Message;
    let kind = match channel.carries {
        Carries::Latest => "state",
        Carries::Every => "queue",
        Carries::Message => "message",
        Carries::Broadcast => "broadcast",
        Carries::Blocks => "bulk",
    };
    writeln!(out, "kind = \"{kind}\"")?;
    let listed = |names: Vec<&str>, always: bool| match names.as_slice() {
        [only] if !always => format!("\"{only}\""),
        many => format!("[{}]", many.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")),
    };
    let senders = channel.from.iter().map(|sender| name(sender.party)).collect();
    writeln!(out, "from = {}", listed(senders, is_message))?;
    writeln!(out, "to = {}", listed(channel.to.iter().map(|reader| name(*reader)).collect(), false))?;
    writeln!(out, "payload = \"Bytes{}\"", channel.bytes)?;
    if is_message {
        writeln!(out, "order = \"{}\"", if channel.fifo { "fifo" } else { "sender" })?;
    }
    match channel.from.as_slice() {
        [first, rest @ ..] if rest.iter().all(|sender| sender.sends == first.sends) => {
            if first.sends > 1 {
                writeln!(out, "sends-per-release = {}", first.sends)?;
            }
        }
        senders => {
            let more = senders.iter().filter(|sender| sender.sends > 1);
            let more: Vec<_> =
                more.map(|sender| format!("{} = {}", name(sender.party), sender.sends)).collect();
            writeln!(out, "sends-by-sender = {{ {} }}", more.join(", "))?;
        }
    }
    if channel.takes > 1 {
        writeln!(out, "takes-per-release = {}", channel.takes)?;
    }
    if channel.carries == Carries::Blocks {
        writeln!(out, "overflow = \"recall\"")?;
    } else if channel.drops_oldest {
        writeln!(out, "overflow = \"drop-oldest\"")?;
    }
    Ok(())
}
