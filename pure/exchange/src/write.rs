// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A sketch as the text of a manifest, in the order in which people write one.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use taut_time::Duration;

use crate::Source;
use crate::sketch::{Arrival, Channel, Named, Part, Sketch, Task};

const MIB: u64 = 1 << 20;

/// The text.
pub(crate) fn manifest(sketch: &Sketch, source: Source) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = whole(&mut text, sketch, source);
    text
}

fn whole(out: &mut String, sketch: &Sketch, source: Source) -> fmt::Result {
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
    for task in &sketch.tasks {
        one(out, sketch, task)?;
    }
    for task in sketch.tasks.iter().filter(|task| task.arrival == Arrival::Sporadic(None)) {
        outside(out, sketch, task)?;
    }
    for channel in &sketch.channels {
        flow(out, sketch, channel)?;
    }
    Ok(())
}

fn table(out: &mut String, kind: &str, named: &Named) -> fmt::Result {
    write!(out, "\n[{kind}.{}]", named.ours)?;
    comment(out, &[if named.name == named.ours { "" } else { &named.name }, &named.comment])
}

/// Ends a line, with what there is to say.
fn comment(out: &mut String, words: &[&str]) -> fmt::Result {
    let words: Vec<_> = words.iter().filter(|word| !word.is_empty()).copied().collect();
    let words = words.join("; ").replace(char::is_control, " ");
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
    let held = sketch
        .channels
        .iter()
        .map(|channel| u64::from(channel.bytes).saturating_mul(channel.to.len() as u64 + 4));
    let scopes = sketch.tasks.iter().map(|task| task.release);
    let scopes = scopes.chain(sketch.services.iter().map(|service| service.persistent));
    let bytes = held.chain(scopes).fold(64 * MIB, u64::saturating_add);
    let bytes = bytes.saturating_add(sketch.tasks.len() as u64 * MIB);
    writeln!(out, "memory = \"{}MiB\"", bytes.div_ceil(MIB))?;
    writeln!(out, "\n[platform.overheads]   # the source knows of none: measure your machine's")?;
    for key in ["release", "context-switch", "kernel-blocking", "lock"] {
        writeln!(out, "{key} = \"0ns\"")?;
    }
    Ok(())
}

fn payloads(out: &mut String, sketch: &Sketch) -> fmt::Result {
    let mut sizes: BTreeSet<u32> = sketch.channels.iter().map(|channel| channel.bytes).collect();
    if sketch.tasks.iter().any(|task| task.arrival == Arrival::Sporadic(None)) {
        sizes.insert(1);
    }
    if !sizes.is_empty() {
        writeln!(out, "\n[payloads]")?;
    }
    sizes.into_iter().try_for_each(|size| writeln!(out, "Bytes{size} = {{ type = \"u8\", len = {size} }}"))
}

/// What the channel is called that stands for an unknown event.
fn event(task: &Task) -> String {
    format!("{}-event", task.named.ours)
}

fn one(out: &mut String, sketch: &Sketch, task: &Task) -> fmt::Result {
    table(out, "tasks", &task.named)?;
    if let Some(service) = task.service.and_then(|at| sketch.services.get(at)) {
        writeln!(out, "service = \"{}\"", service.named.ours)?;
    }
    match &task.arrival {
        Arrival::Periodic(offset) if offset.is_zero() => {
            writeln!(out, "arrival = {{ periodic = \"{}\" }}", task.period)?;
        }
        Arrival::Periodic(offset) => {
            writeln!(out, "arrival = {{ periodic = \"{}\", offset = \"{offset}\" }}", task.period)?;
        }
        Arrival::Sporadic(by) => {
            let known = by.and_then(|at| sketch.channels.get(at)).map(|channel| channel.named.ours.clone());
            let trigger = known.unwrap_or_else(|| event(task));
            writeln!(out, "arrival = {{ sporadic = \"{}\", trigger = \"{trigger}\" }}", task.period)?;
        }
    }
    writeln!(out, "deadline = \"{}\"", task.deadline)?;
    if !task.jitter.is_zero() {
        writeln!(out, "jitter = \"{}\"", task.jitter)?;
    }
    let evidence = if task.guess { "guess" } else { "static" };
    write!(out, "wcet = {{ value = \"{}\", source = \"{evidence}\" }}", task.cost)?;
    comment(out, &[if task.guess { "the source does not say: measure it" } else { "" }])?;
    if let Some(core) = task.core {
        writeln!(out, "core = {core}")?;
    }
    if let Some(priority) = task.priority {
        writeln!(out, "priority = {priority}")?;
    }
    if task.non_preemptive {
        writeln!(out, "non-preemptive = \"{}\"", task.cost)?;
    }
    if task.release > 0 {
        writeln!(out, "memory = {{ release = \"{}B\" }}", task.release)?;
    }
    if task.deadline > task.period {
        writeln!(out, "on-overrun = \"run-on\"")?;
    }
    let name =
        |at: usize| sketch.resources.get(at).map_or_else(String::new, |resource| resource.ours.clone());
    if !task.parts.is_empty() {
        writeln!(out, "segments = [")?;
        task.parts.iter().try_for_each(|part| writeln!(out, "    {},", of_part(part, &name)))?;
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

fn of_part(part: &Part, name: &dyn Fn(usize) -> String) -> String {
    match part {
        Part::Run(time) => format!("{{ run = \"{time}\" }}"),
        Part::Hold(resource, inside) => {
            let resource = name(*resource);
            if let [Part::Run(time)] = inside.as_slice() {
                return format!("{{ hold = \"{resource}\", run = \"{time}\" }}");
            }
            let inside: Vec<_> = inside.iter().map(|part| of_part(part, name)).collect();
            format!("{{ hold = \"{resource}\", segments = [{}] }}", inside.join(", "))
        }
    }
}

/// A task without promises and a queue, for an event that the source does not tell the origin of.
fn outside(out: &mut String, sketch: &Sketch, task: &Task) -> fmt::Result {
    let (name, event, gap): (_, _, Duration) = (&task.named.ours, event(task), task.period);
    // Names of tasks end in no `-source` of a source: they would have been told apart.
    let mut source = format!("{event}-source");
    while sketch.tasks.iter().any(|task| task.named.ours == source) {
        source.push('s');
    }
    writeln!(out, "\n[tasks.{source}]   # stands for whatever releases `{name}`")?;
    writeln!(out, "class = \"best-effort\"\nmin-gap = \"{gap}\"")?;
    writeln!(
        out,
        "\n[channels.{event}]\nkind = \"queue\"\nfrom = \"{source}\"\nto = \"{name}\"\npayload = \"Bytes1\""
    )
}

fn flow(out: &mut String, sketch: &Sketch, channel: &Channel) -> fmt::Result {
    let name = |at: usize| sketch.tasks.get(at).map_or("", |task| task.named.ours.as_str());
    table(out, "channels", &channel.named)?;
    writeln!(out, "kind = \"{}\"", if channel.queue { "queue" } else { "state" })?;
    writeln!(out, "from = \"{}\"", channel.from.map_or("", name))?;
    let readers: Vec<_> = channel.to.iter().map(|reader| format!("\"{}\"", name(*reader))).collect();
    match readers.as_slice() {
        [only] => writeln!(out, "to = {only}")?,
        many => writeln!(out, "to = [{}]", many.join(", "))?,
    }
    writeln!(out, "payload = \"Bytes{}\"", channel.bytes)
}
