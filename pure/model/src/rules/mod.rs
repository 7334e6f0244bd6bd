// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The rules that need no timing analysis, one file per part of the manifest.
//!
//! One pass reports all faults except those that only follow from another fault: it reports a value that could not be
//! read or resolved once, and leaves out faults that would rest on that value (see `faults`). All arithmetic is
//! checked and uses whole numbers.
//!
//! Cost: O(n log n) in the size of the draft, without the search for the nearest name to an unresolved one.

mod alarms;
mod aperiodic;
mod attached;
mod broadcasts;
mod bulk;
mod chains;
mod channels;
mod clocks;
mod divided;
mod failures;
mod faults;
mod flows;
mod history;
mod messages;
mod modes;
mod names;
mod one_of;
mod payloads;
mod platform;
mod requests;
mod sections;
mod segments;
mod servers;
mod sources;
mod tasks;
pub(crate) mod traffic;
mod triggers;

use taut_time::Duration;

use crate::{
    Arrival, ArrivalDraft, Chain, Channel, ChannelDraft, ChannelId, Class, ClassDraft, Client, ClientDraft,
    CoreId, Draft, Fault, Model, OnFailure, OnFailureDraft, Overrun, RealTime, RealTimeDraft, Section,
    SectionDraft, Service, ServiceDraft, Severity, Stated, Task, TaskDraft, TriggerDraft, codes,
};
use channels::Link;
use faults::Faults;
use names::Names;

/// The most entries of one table: positions are numbered with 16 bits.
const ENTRIES_MAX: usize = u16::MAX as usize;

pub(crate) fn build(mut draft: Draft) -> (Option<Model>, Vec<Fault>) {
    one_of::join(&mut draft);
    let draft = divided::divide(draft);
    let mut faults = Faults::new(&draft);
    if !counts(&draft, &mut faults) {
        return (None, faults.into_found());
    }
    let names = Names::new(&draft);
    names.check(&mut faults);
    platform::check(&draft, &mut faults);
    failures::check(&draft, &mut faults);
    modes::check(&draft, &names, &mut faults);
    payloads::check(&draft, &mut faults);
    tasks::check(&draft, &names, &mut faults);
    sections::check(&draft, &names, &mut faults);
    segments::check(&draft, &names, &mut faults);
    servers::check(&draft, &names, &mut faults);
    let links = channels::check(&draft, &names, &mut faults);
    divided::named_again(&draft, &mut faults);
    messages::check(&draft, &links, &mut faults);
    sources::check(&draft, &mut faults);
    requests::check(&draft, &links, &mut faults);
    broadcasts::check(&draft, &links, &mut faults);
    attached::check(&draft, &links, &mut faults);
    history::check(&draft, &links, &mut faults);
    flows::check(&draft, &links, &mut faults);
    triggers::check(&draft, &names, &links, &mut faults);
    clocks::check(&draft, &mut faults);
    traffic::check(&draft, &links, &mut faults);
    aperiodic::check(&draft, &links, &mut faults);
    let chains = chains::check(&draft, &names, &mut faults);
    names.unused(&links, &mut faults);

    let faults = divided::once(&draft, faults.into_found());
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
        ("modes", draft.modes.len()),
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
            let place = crate::KeyPath::key(table);
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
    let servers = draft.servers.iter().map(|one| servers::server(draft, one));
    let tasks = draft.tasks.iter().map(|one| task(draft, names, one));
    let channels = draft.channels.iter().zip(links).map(|(one, link)| channel(one, link));
    let service = |one: &ServiceDraft| Service {
        name: one.name.clone(),
        persistent: one.persistent,
        start: one.start,
        on_failure: one.on_failure.as_ref().map(|of| on_failure(draft, of)),
    };
    let client = |one: &ClientDraft| Client {
        name: one.name.clone(),
        kind: one.kind,
        min_gap: one.min_gap,
        max_attached: one.max_attached,
    };
    Some(Model {
        app: draft.app.clone(),
        platform: draft.platform.clone(),
        payloads: draft.payloads.clone(),
        services: draft.services.iter().map(service).collect(),
        modes: draft.modes.iter().map(|one| modes::mode(names, one)).collect::<Option<_>>()?,
        resources: draft.resources.clone(),
        guarding: Vec::new(),
        protocols: Vec::new(),
        servers: servers.collect::<Option<_>>()?,
        tasks: tasks.collect::<Option<_>>()?,
        clients: draft.clients.iter().map(client).collect(),
        channels: channels.collect::<Option<_>>()?,
        chains: chains.into_iter().collect::<Option<_>>()?,
    })
}

fn on_failure(draft: &Draft, of: &OnFailureDraft) -> OnFailure {
    let then = of.then.unwrap_or(draft.app.after_failure());
    OnFailure { restart: of.restart.unwrap_or(0), within: of.within.unwrap_or(Duration::ZERO), then }
}

fn task(draft: &Draft, names: &Names<'_>, task: &TaskDraft) -> Option<Task> {
    let class = match &task.class {
        ClassDraft::BestEffort(best_effort) => Class::BestEffort(best_effort.clone()),
        ClassDraft::RealTime(task) => Class::RealTime(real_time(draft, names, task)?),
    };
    let service = match &task.service {
        None => None,
        Some(service) => Some(names.service(service)?),
    };
    Some(Task { name: task.name.clone(), class, service })
}

fn real_time(draft: &Draft, names: &Names<'_>, task: &RealTimeDraft) -> Option<RealTime> {
    let core = match task.core {
        None => None,
        Some(cpu) => {
            let at = draft.platform.cores.iter().position(|c| *c == cpu)?;
            Some(CoreId(u16::try_from(at).ok()?))
        }
    };
    let priority = match task.priority {
        None => None,
        Some(priority) => Some(u8::try_from(priority).ok()?),
    };
    let server = match &task.server {
        None => None,
        Some(name) => Some(draft.servers.iter().position(|server| server.name == *name)?),
    };
    let sections = task.sections.iter().map(|one| section(names, one));
    let mut sections: Vec<Section> = sections.collect::<Option<_>>()?;
    let segments = segments::ordered(&task.segments, names, &mut sections)?.0;
    Some(RealTime {
        arrival: arrival(names, &task.arrival)?,
        stated: stated(task),
        evidence: task.evidence.clone(),
        sections,
        segments,
        server,
        core,
        priority,
        copying: taut_time::Duration::ZERO,
        waits: crate::Waits::default(),
    })
}

/// What is stated of a task. No release of an aperiodic task falls due while its job runs, so a late one goes on.
fn stated(task: &RealTimeDraft) -> Stated {
    match task.arrival {
        ArrivalDraft::Aperiodic { .. } => Stated { on_overrun: Overrun::RunOn, ..task.stated },
        ArrivalDraft::Periodic { .. } | ArrivalDraft::Clocked(_) | ArrivalDraft::Sporadic { .. } => {
            task.stated
        }
    }
}

fn arrival(names: &Names<'_>, arrival: &ArrivalDraft) -> Option<Arrival<ChannelId>> {
    Some(match arrival {
        ArrivalDraft::Periodic { period, offset } => Arrival::Periodic { period: *period, offset: *offset },
        ArrivalDraft::Clocked(clock) => Arrival::Clocked(clock.clock()?),
        ArrivalDraft::Sporadic { min_gap, triggers, device } => {
            let triggers = channels_of(names, triggers)?;
            Arrival::Sporadic { min_gap: *min_gap, triggers, device: device.clone() }
        }
        ArrivalDraft::Aperiodic { triggers } => {
            Arrival::Aperiodic { triggers: channels_of(names, triggers)? }
        }
    })
}

fn channels_of(names: &Names<'_>, triggers: &[TriggerDraft]) -> Option<Vec<ChannelId>> {
    triggers.iter().map(|trigger| names.channel(&trigger.channel)).collect()
}

fn section(names: &Names<'_>, section: &SectionDraft) -> Option<Section> {
    let SectionDraft { longest, count, .. } = *section;
    Some(Section { resource: names.resource(&section.resource)?, longest, count })
}

fn channel(channel: &ChannelDraft, link: Link) -> Option<Channel> {
    let capacity = match channel.capacity {
        None => None,
        Some(capacity) => Some(u32::try_from(capacity).ok()?),
    };
    Some(Channel {
        name: channel.name.clone(),
        kind: channel.kind,
        writer: link.writer?,
        delayed: flows::delayed(channel),
        readers: link.readers,
        flow: channel.flow,
        payload: link.payload?,
        capacity,
        overflow: channel.overflow,
        reception: channel.reception,
        mechanism: channel.mechanism,
        decided: None,
        sends_per_release: channel.sends_per_release,
        takes_per_release: channel.takes_per_release,
        lane: channel.lane.clone(),
        source: channel.source.clone(),
        answers: channel.answers.clone(),
        broadcast: channel.broadcast,
        record: channel.record,
        history: channel.history,
    })
}
