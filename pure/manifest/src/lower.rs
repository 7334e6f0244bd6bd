// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What was read becomes a draft of the model.

use std::collections::BTreeSet;

use taut_model::{
    App, ArrivalDraft, BestEffort, ChainDraft, ChannelDraft, ClassDraft, ClientDraft, ClientKind, Cost,
    Draft, Evidence, Kind, Mechanism, OnMissingPrivilege, Overflow, Overheads, Overrun, Payload,
    PayloadField, Platform, RealTimeDraft, Scheduler, ServiceDraft, Size, TaskDraft,
};
use taut_time::Duration;

use crate::keys;
use crate::read::{Fields, Item};

/// The draft of a manifest. What could not be read is left out and noted as incomplete.
pub(crate) fn draft(root: &Fields<'_>) -> Draft {
    let mut incomplete = root.wrong.iter().map(|key| (*key).to_owned()).collect::<BTreeSet<_>>();
    let app = match root.fields("app").map(|fields| (fields, fields.text("name"))) {
        Some((fields, Some(name))) => {
            note("app", fields, &mut incomplete);
            App {
                name: name.to_owned(),
                description: fields.text("description").unwrap_or_default().to_owned(),
                exec: fields.text("exec").map(str::to_owned),
            }
        }
        _ => {
            incomplete.insert("app".to_owned());
            App::default()
        }
    };
    let platform = platform(root.fields("platform"), &mut incomplete);
    Draft {
        app,
        platform,
        payloads: all(root, "payloads", &mut incomplete, payload),
        services: all(root, "services", &mut incomplete, |name, item, _| {
            let Item::Fields(fields) = item else { return None };
            Some(ServiceDraft { name: name.to_owned(), persistent: fields.size("persistent")? })
        }),
        tasks: all(root, "tasks", &mut incomplete, task),
        clients: all(root, "clients", &mut incomplete, |name, item, _| {
            let Item::Fields(fields) = item else { return None };
            let min_gap = fields.duration("min-gap");
            Some(ClientDraft { name: name.to_owned(), kind: ClientKind::Process, min_gap })
        }),
        channels: all(root, "channels", &mut incomplete, channel),
        chains: chains(root, &mut incomplete),
        incomplete,
    }
}

/// Notes wrong keys, so that no model is built.
fn note(path: &str, fields: &Fields<'_>, incomplete: &mut BTreeSet<String>) {
    incomplete.extend(fields.wrong.iter().map(|key| format!("{path}.{key}")));
}

/// The entries of a table by name; those that could not be read are noted.
fn all<'t, T>(
    root: &Fields<'t>,
    table: &str,
    incomplete: &mut BTreeSet<String>,
    read: impl Fn(&str, &Item<'t>, &mut BTreeSet<String>) -> Option<T>,
) -> Vec<T> {
    let mut found = Vec::new();
    for (name, item) in root.entries(table) {
        let path = format!("{table}.{name}");
        if let Some(Item::Fields(fields)) = item {
            note(&path, fields, incomplete);
        }
        match item.as_ref().and_then(|item| read(name, item, incomplete)) {
            Some(entry) => found.push(entry),
            None => _ = incomplete.insert(path),
        }
    }
    found
}

fn platform(fields: Option<&Fields<'_>>, incomplete: &mut BTreeSet<String>) -> Platform {
    let defaults = Fields::of_defaults(&keys::PLATFORM);
    let platform = fields.unwrap_or(&defaults);
    note("platform", platform, incomplete);
    let defaults = Fields::of_defaults(&keys::OVERHEADS);
    let overheads = platform.fields("overheads").unwrap_or(&defaults);
    note("platform.overheads", overheads, incomplete);
    let cores = |key: &str| {
        let items = platform.many(key).iter();
        items
            .filter_map(|item| if let Item::Integer(n) = item { u16::try_from(*n).ok() } else { None })
            .collect()
    };
    // Every one of these has a default, which stands for a wrong value, too.
    let overhead = |key: &str| overheads.duration(key).unwrap_or_default();
    Platform {
        cores: cores("cores"),
        housekeeping: cores("housekeeping"),
        scheduler: Scheduler::FixedPriority,
        memory: platform.size("memory").unwrap_or_default(),
        overheads: Overheads {
            release: overhead("release"),
            context_switch: overhead("context-switch"),
            kernel_blocking: overhead("kernel-blocking"),
        },
        on_missing_privilege: match platform.word("on-missing-privilege") {
            Some("fail") => OnMissingPrivilege::Fail,
            _ => OnMissingPrivilege::Degrade,
        },
        group: platform.text("group").map(str::to_owned),
    }
}

fn payload(name: &str, item: &Item<'_>, incomplete: &mut BTreeSet<String>) -> Option<Payload> {
    let Item::Fields(fields) = item else { return None };
    let mut list = Vec::new();
    if fields.variant == "type" {
        let len = u32::try_from(fields.integer("len")?).ok()?;
        list.push(PayloadField { name: String::new(), scalar: fields.scalar("type")?, len });
    } else {
        if !fields.wrong.is_empty() {
            return None;
        }
        for (field, item) in fields.entries("fields") {
            match item {
                Some(Item::Scalar(scalar, len)) => {
                    list.push(PayloadField { name: (*field).to_owned(), scalar: *scalar, len: *len });
                }
                _ => {
                    incomplete.insert(format!("payloads.{name}"));
                    return None;
                }
            }
        }
    }
    Some(Payload { name: name.to_owned(), fields: list })
}

fn task(name: &str, item: &Item<'_>, incomplete: &mut BTreeSet<String>) -> Option<TaskDraft> {
    let Item::Fields(fields) = item else { return None };
    let class = if fields.variant == "best-effort" {
        ClassDraft::BestEffort(BestEffort { min_gap: fields.duration("min-gap") })
    } else {
        let path = format!("tasks.{name}");
        let arrival = fields.fields("arrival")?;
        note(&format!("{path}.arrival"), arrival, incomplete);
        let wcet = fields.fields("wcet")?;
        note(&format!("{path}.wcet"), wcet, incomplete);
        let memory = fields.fields("memory");
        if let Some(memory) = memory {
            note(&format!("{path}.memory"), memory, incomplete);
        }
        let size = |key: &str| memory.and_then(|memory| memory.size(key)).unwrap_or(Size::ZERO);
        ClassDraft::RealTime(RealTimeDraft {
            arrival: if arrival.variant == "periodic" {
                ArrivalDraft::Periodic {
                    period: arrival.duration("periodic")?,
                    offset: arrival.duration("offset").unwrap_or(Duration::ZERO),
                }
            } else {
                ArrivalDraft::Sporadic {
                    min_gap: arrival.duration("sporadic")?,
                    trigger: arrival.text("trigger")?.to_owned(),
                }
            },
            deadline: fields.duration("deadline")?,
            jitter: fields.duration("jitter")?,
            wcet: Cost {
                value: wcet.duration("value")?,
                source: match wcet.word("source")? {
                    "measured" => Evidence::Measured,
                    "static" => Evidence::Static,
                    _ => Evidence::Guess,
                },
                margin_permille: wcet.permille("margin")?,
            },
            non_preemptive: fields.duration("non-preemptive")?,
            core: fields.integer("core").and_then(|core| u16::try_from(core).ok()),
            priority: fields.integer("priority"),
            persistent: size("persistent"),
            release: size("release"),
            on_overrun: match fields.word("on-overrun")? {
                "run-on" => Overrun::RunOn,
                "kill-job" => Overrun::KillJob,
                "stop-app" => Overrun::StopApp,
                _ => Overrun::SkipNext,
            },
        })
    };
    Some(TaskDraft { name: name.to_owned(), service: fields.text("service").map(str::to_owned), class })
}

fn texts(items: &[Item<'_>]) -> Vec<String> {
    items
        .iter()
        .filter_map(|item| if let Item::Text(text) = item { Some((*text).to_owned()) } else { None })
        .collect()
}

fn channel(name: &str, item: &Item<'_>, _: &mut BTreeSet<String>) -> Option<ChannelDraft> {
    let Item::Fields(fields) = item else { return None };
    // Without these, a rule would speak about something that nobody wrote.
    if ["from", "to", "sends-per-release", "takes-per-release"].iter().any(|key| fields.wrong.contains(key)) {
        return None;
    }
    let count = |key: &str| fields.integer(key).and_then(|count| u32::try_from(count).ok());
    Some(ChannelDraft {
        name: name.to_owned(),
        kind: match fields.word("kind")? {
            "state" => Kind::State,
            _ => Kind::Queue,
        },
        from: texts(fields.many("from")),
        to: texts(fields.many("to")),
        payload: fields.text("payload")?.to_owned(),
        capacity: fields.integer("capacity"),
        overflow: match fields.word("overflow")? {
            "drop-oldest" => Overflow::DropOldest,
            "clear" => Overflow::Clear,
            _ => Overflow::Reject,
        },
        mechanism: match fields.word("mechanism")? {
            "sdrtr" => Some(Mechanism::Sdrtr),
            "sdrtw" => Some(Mechanism::Sdrtw),
            "qrtr" => Some(Mechanism::Qrtr),
            _ => None,
        },
        sends_per_release: count("sends-per-release")?,
        takes_per_release: count("takes-per-release")?,
    })
}

/// Chains go by position, so that one that could not be read keeps its place, noted as incomplete.
fn chains(root: &Fields<'_>, incomplete: &mut BTreeSet<String>) -> Vec<ChainDraft> {
    let mut found = Vec::new();
    for (at, item) in root.many("chains").iter().enumerate() {
        let mut chain = ChainDraft { name: String::new(), path: Vec::new(), max_latency: Duration::ZERO };
        match item {
            Item::Fields(fields) if fields.wrong.is_empty() => {
                chain.name = fields.text("name").unwrap_or_default().to_owned();
                chain.path = texts(fields.many("path"));
                chain.max_latency = fields.duration("max-latency").unwrap_or_default();
            }
            _ => _ = incomplete.insert(format!("chains.{at}")),
        }
        found.push(chain);
    }
    found
}
