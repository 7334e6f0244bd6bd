// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The rules that need no timing analysis, one file per part of the manifest.
//!
//! One pass finds all faults, and none that only follows from another: a value that could not be read or resolved is
//! reported once, and faults that would rest on it are not (see `faults`). All arithmetic is checked and on whole
//! numbers.
//!
//! Cost: O(n log n) in the size of the draft, without the search for the nearest name to an unresolved one.

mod chains;
mod channels;
mod faults;
mod flows;
mod names;
mod payloads;
mod platform;
mod sections;
mod segments;
mod servers;
mod tasks;
mod traffic;
mod triggers;

use crate::{
    Arrival, ArrivalDraft, Chain, Channel, Class, ClassDraft, Client, CoreId, Draft, Fault, Model, RealTime,
    Section, SectionDraft, Service, Severity, Task, codes,
};
use channels::Link;
use faults::Faults;
use names::Names;

/// The most entries of one table: positions are numbered with 16 bits.
const ENTRIES_MAX: usize = u16::MAX as usize;

pub(crate) fn build(draft: Draft) -> (Option<Model>, Vec<Fault>) {
    let mut faults = Faults::new(&draft);
    if !counts(&draft, &mut faults) {
        return (None, faults.into_found());
    }
    let names = Names::new(&draft);
    names.check(&mut faults);
    platform::check(&draft, &mut faults);
    payloads::check(&draft, &mut faults);
    tasks::check(&draft, &names, &mut faults);
    sections::check(&draft, &names, &mut faults);
    segments::check(&draft, &names, &mut faults);
    servers::check(&draft, &names, &mut faults);
    let links = channels::check(&draft, &names, &mut faults);
    flows::check(&draft, &links, &mut faults);
    triggers::check(&draft, &names, &links, &mut faults);
    traffic::check(&draft, &links, &mut faults);
    let chains = chains::check(&draft, &names, &mut faults);
    names.unused(&links, &mut faults);

    let faults = faults.into_found();
    let refused = faults.iter().any(|fault| fault.severity == Severity::Error);
    if refused || !draft.faulty.is_empty() {
        return (None, faults);
    }
    (model(&draft, &names, links, chains), faults)
}

/// Whether all positions fit in 16 bits.
fn counts(draft: &Draft, faults: &mut Faults<'_>) -> bool {
    let tables = [
        ("payloads", draft.payloads.len()),
        ("services", draft.services.len()),
        ("resources", draft.resources.len()),
        ("servers", draft.servers.len()),
        ("tasks", draft.tasks.len()),
        ("clients", draft.clients.len()),
        ("channels", draft.channels.len()),
        ("platform.cores", draft.platform.cores.len()),
    ];
    for (table, count) in tables {
        if count > ENTRIES_MAX {
            let message = format!("{count} entries in `{table}`");
            let place = crate::Place::key(table);
            faults.push(
                Fault::error(codes::TOO_MANY, message, place, format!("at most {ENTRIES_MAX}"))
                    .help("split the application"),
            );
        }
    }
    faults.found().is_empty()
}

/// The model of a draft without faults; `None` only if a rule missed a fault.
fn model(draft: &Draft, names: &Names<'_>, links: Vec<Link>, chains: Vec<Option<Chain>>) -> Option<Model> {
    let mut tasks = Vec::with_capacity(draft.tasks.len());
    for task in &draft.tasks {
        let class = match &task.class {
            ClassDraft::BestEffort(best_effort) => Class::BestEffort(best_effort.clone()),
            ClassDraft::RealTime(real_time) => {
                let core = match real_time.core {
                    None => None,
                    Some(cpu) => {
                        let at = draft.platform.cores.iter().position(|c| *c == cpu)?;
                        Some(CoreId(u16::try_from(at).ok()?))
                    }
                };
                let priority = match real_time.priority {
                    None => None,
                    Some(priority) => Some(u8::try_from(priority).ok()?),
                };
                let arrival = match &real_time.arrival {
                    ArrivalDraft::Periodic { period, offset } => {
                        Arrival::Periodic { period: *period, offset: *offset }
                    }
                    ArrivalDraft::Sporadic { min_gap, trigger } => {
                        Arrival::Sporadic { min_gap: *min_gap, trigger: names.channel(trigger)? }
                    }
                };
                let section = |section: &SectionDraft| {
                    let SectionDraft { longest, count, .. } = *section;
                    Some(Section { resource: names.resource(&section.resource)?, longest, count })
                };
                let mut sections: Vec<Section> =
                    real_time.sections.iter().map(section).collect::<Option<_>>()?;
                let segments = segments::ordered(&real_time.segments, names, &mut sections)?.0;
                Class::RealTime(RealTime {
                    arrival,
                    deadline: real_time.deadline,
                    jitter: real_time.jitter,
                    wcet: real_time.wcet,
                    non_preemptive: real_time.non_preemptive,
                    sections,
                    segments,
                    server: match &real_time.server {
                        None => None,
                        Some(name) => Some(draft.servers.iter().position(|server| server.name == *name)?),
                    },
                    core,
                    priority,
                    persistent: real_time.persistent,
                    release: real_time.release,
                    on_overrun: real_time.on_overrun,
                    budget: real_time.budget,
                    copying: taut_time::Duration::ZERO,
                    waits: crate::Waits::default(),
                })
            }
        };
        let service = match &task.service {
            None => None,
            Some(service) => Some(names.service(service)?),
        };
        tasks.push(Task { name: task.name.clone(), class, service });
    }
    let mut channels = Vec::with_capacity(draft.channels.len());
    for (channel, link) in draft.channels.iter().zip(links) {
        let capacity = match channel.capacity {
            None => None,
            Some(capacity) => Some(u32::try_from(capacity).ok()?),
        };
        channels.push(Channel {
            name: channel.name.clone(),
            kind: channel.kind,
            writer: link.writer?,
            delayed: flows::delayed(channel),
            readers: link.readers,
            flow: channel.flow,
            payload: link.payload?,
            capacity,
            overflow: channel.overflow,
            mechanism: channel.mechanism,
            decided: None,
            sends_per_release: channel.sends_per_release,
            takes_per_release: channel.takes_per_release,
        });
    }
    Some(Model {
        app: draft.app.clone(),
        platform: draft.platform.clone(),
        payloads: draft.payloads.clone(),
        services: draft
            .services
            .iter()
            .map(|s| Service { name: s.name.clone(), persistent: s.persistent })
            .collect(),
        resources: draft.resources.clone(),
        guarding: Vec::new(),
        protocols: Vec::new(),
        servers: draft.servers.iter().map(|one| servers::server(draft, one)).collect::<Option<_>>()?,
        tasks,
        clients: draft
            .clients
            .iter()
            .map(|c| Client { name: c.name.clone(), kind: c.kind, min_gap: c.min_gap })
            .collect(),
        channels,
        chains: chains.into_iter().collect::<Option<_>>()?,
    })
}
