// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Turns a manifest that was read into a draft of the model.

use std::collections::BTreeSet;

use taut_model::{
    AfterFailure, Aim, App, ArrivalDraft, BestEffort, ChainDraft, ChannelDraft, ChannelKind, ClassDraft,
    ClientDraft, ClientKind, ClockDraft, Cost, Draft, Evidence, EvidenceFile, Executor, Flow, HeapPolicy,
    LatePolicy, LockingProtocol, Mechanism, MessageLane, MessageOrder, ModeDraft, NO_DEADLINE,
    OnFailureDraft, OnMissingPrivilege, OverflowPolicy, OverheadSources, Overheads, Overrun, Payload,
    PayloadField, Platform, RealTimeDraft, Reception, Scalar, SchedulingPolicy, SectionDraft, SegmentDraft,
    ServerDraft, ServerPolicy, ServiceDraft, ServiceStart, Shared, Size, Stated, TaskDraft, TriggerDraft,
};
use taut_time::Duration;

use crate::keys;
use crate::read::{Fields, Item};

/// The draft of a manifest. A neutral value stands for every value that could not be read; `faulty` has its path.
pub(crate) fn draft(root: &Fields<'_>, faulty: BTreeSet<String>) -> Draft {
    let app = root.fields("app");
    let text = |key: &str| app.and_then(|app| app.text(key)).map(str::to_owned);
    let heap = app.and_then(|app| HeapPolicy::from_word(app.word("heap")?)).unwrap_or_default();
    Draft {
        app: App {
            name: text("name").unwrap_or_default(),
            description: text("description").unwrap_or_default(),
            exec: text("exec"),
            safe_state: app.and_then(|app| app.duration("safe-state")),
            on_failure: app.and_then(|app| after_failure(app.word("on-failure"))),
            mode: text("mode"),
        },
        platform: platform(root.fields("platform")),
        payloads: all(root, "payloads", payload),
        services: all(root, "services", |name, fields| {
            let persistent = fields.and_then(|fields| fields.size("persistent"));
            let on_failure = fields.and_then(|fields| fields.fields("on-failure")).map(on_failure);
            let start = match fields.and_then(|fields| fields.word("start")) {
                Some("demand") => ServiceStart::Demand,
                _ => ServiceStart::Boot,
            };
            ServiceDraft { name, persistent: persistent.unwrap_or(Size::ZERO), start, on_failure }
        }),
        modes: root.entries("modes").iter().map(mode).collect(),
        resources: all(root, "resources", |name, fields| {
            let word = fields.and_then(|fields| fields.word("protocol"));
            let protocol = word.and_then(LockingProtocol::from_word);
            Shared { name, protocol }
        }),
        servers: all(root, "servers", server),
        tasks: all(root, "tasks", |name, fields| TaskDraft {
            name,
            service: fields.and_then(|fields| fields.text("service")).map(str::to_owned),
            class: class(fields, heap),
        }),
        clients: all(root, "clients", |name, fields| ClientDraft {
            name,
            kind: ClientKind::Process,
            min_gap: fields.and_then(|fields| fields.duration("min-gap")),
            max_attached: fields
                .and_then(|fields| fields.integer("max-attached"))
                .and_then(|most| u16::try_from(most).ok())
                .unwrap_or(1),
        }),
        channels: all(root, "channels", channel),
        chains: root.many("chains").iter().map(chain).collect(),
        faulty,
    }
}

fn after_failure(word: Option<&str>) -> Option<AfterFailure> {
    match word? {
        "stop-app" => Some(AfterFailure::StopApp),
        _ => Some(AfterFailure::StopService),
    }
}

fn on_failure(fields: &Fields<'_>) -> OnFailureDraft {
    OnFailureDraft {
        restart: fields.integer("restart").and_then(|restart| restart.try_into().ok()),
        within: fields.duration("within"),
        then: after_failure(fields.word("then")),
    }
}

/// A mode; one that is not a list has no services.
fn mode((name, services): &(&str, Option<Item<'_>>)) -> ModeDraft {
    let services = if let Some(Item::Many(services)) = services { texts(services) } else { Vec::new() };
    ModeDraft { name: (*name).to_owned(), services }
}

/// The entries of a table by name; an entry that is not a table has no fields.
fn all<'t, T>(root: &Fields<'t>, table: &str, read: impl Fn(String, Option<&Fields<'t>>) -> T) -> Vec<T> {
    let entries = root.entries(table).iter();
    entries
        .map(|(name, item)| match item {
            Some(Item::Fields(fields)) => read((*name).to_owned(), Some(fields)),
            _ => read((*name).to_owned(), None),
        })
        .collect()
}

fn platform(fields: Option<&Fields<'_>>) -> Platform {
    let defaults = Fields::of_defaults(&keys::PLATFORM);
    let platform = fields.unwrap_or(&defaults);
    let defaults = Fields::of_defaults(&keys::OVERHEADS);
    let overheads = platform.fields("overheads").unwrap_or(&defaults);
    let cores = |key: &str| {
        // Items keep their positions; a wrong one gets a number that no CPU has.
        let number = |item: &Item<'_>| match item {
            Item::Integer(number) => u16::try_from(*number).unwrap_or(u16::MAX),
            _ => u16::MAX,
        };
        platform.many(key).iter().map(number).collect()
    };
    // Each of these has a default, which also replaces a wrong value.
    let overhead = |key: &str| overheads.duration(key).unwrap_or_default();
    let evidence = evidence(overheads.word("source"));
    let source = |key: &str| platform.fields("overheads")?.is_written(key).then_some(evidence);
    Platform {
        cores: cores("cores"),
        housekeeping: cores("housekeeping"),
        scheduler: match platform.word("scheduler") {
            Some("edf") => SchedulingPolicy::Edf,
            _ => SchedulingPolicy::FixedPriority,
        },
        memory: platform.size("memory").unwrap_or_default(),
        overheads: Overheads {
            release: overhead("release"),
            context_switch: overhead("context-switch"),
            kernel_blocking: overhead("kernel-blocking"),
            lock: overhead("lock"),
            copy: overhead("copy"),
            device: overhead("device"),
            sources: OverheadSources {
                release: source("release"),
                context_switch: source("context-switch"),
                kernel_blocking: source("kernel-blocking"),
                lock: source("lock"),
                copy: source("copy"),
                device: source("device"),
            },
        },
        on_missing_privilege: match platform.word("on-missing-privilege") {
            Some("fail") => OnMissingPrivilege::Fail,
            _ => OnMissingPrivilege::Degrade,
        },
        minimise: platform.word("minimise").and_then(Aim::from_word).unwrap_or_default(),
        group: platform.text("group").map(str::to_owned),
        executor: platform.word("executor").and_then(Executor::from_word).unwrap_or_default(),
    }
}

/// The source of a figure.
fn evidence(word: Option<&str>) -> Evidence {
    match word {
        Some("measured") => Evidence::Measured,
        Some("static") => Evidence::Static,
        _ => Evidence::Guess,
    }
}

fn payload(name: String, fields: Option<&Fields<'_>>) -> Payload {
    let mut list = Vec::new();
    let unknown = (Scalar::U8, 1);
    match fields {
        Some(fields) if fields.variant == "fields" => {
            for (field, item) in fields.entries("fields") {
                let (scalar, len) = match item {
                    Some(Item::Scalar(scalar, len)) => (*scalar, *len),
                    _ => unknown,
                };
                list.push(PayloadField { name: (*field).to_owned(), scalar, len });
            }
        }
        fields => {
            let scalar = fields.and_then(|fields| fields.scalar("type")).unwrap_or(unknown.0);
            let len = fields.and_then(|fields| u32::try_from(fields.integer("len")?).ok());
            list.push(PayloadField { name: String::new(), scalar, len: len.unwrap_or(unknown.1) });
        }
    }
    Payload::new(name, list)
}

/// `heap`: the policy of a real-time task that does not state one.
fn class(fields: Option<&Fields<'_>>, heap: HeapPolicy) -> ClassDraft {
    let Some(fields) = fields.filter(|fields| fields.variant == "real-time") else {
        let min_gap = fields.and_then(|fields| fields.duration("min-gap"));
        let server = fields.and_then(|fields| fields.text("server")).map(str::to_owned);
        return ClassDraft::BestEffort(BestEffort { min_gap, server });
    };
    let wcet = fields.fields("wcet");
    let memory = fields.fields("memory");
    let size = |key: &str| memory.and_then(|memory| memory.size(key)).unwrap_or(Size::ZERO);
    let time = |key: &str| fields.duration(key).unwrap_or(Duration::ZERO);
    let arrival = arrival(fields.fields("arrival"));
    let deadline = match arrival {
        ArrivalDraft::Aperiodic { .. } => fields.duration("deadline").unwrap_or(NO_DEADLINE),
        ArrivalDraft::Periodic { .. } | ArrivalDraft::Clocked(_) | ArrivalDraft::Sporadic { .. } => {
            time("deadline")
        }
    };
    ClassDraft::RealTime(RealTimeDraft {
        arrival,
        stated: Stated {
            deadline,
            jitter: time("jitter"),
            wcet: Cost {
                value: wcet.and_then(|wcet| wcet.duration("value")).unwrap_or(Duration::ZERO),
                source: evidence(wcet.and_then(|wcet| wcet.word("source"))),
                margin_permille: wcet.and_then(|wcet| wcet.permille("margin")).unwrap_or(0),
            },
            non_preemptive: time("non-preemptive"),
            persistent: size("persistent"),
            release: size("release"),
            set_up: memory.and_then(|memory| memory.size("set-up")),
            on_overrun: match fields.word("on-overrun") {
                Some("run-on") => Overrun::RunOn,
                Some("kill-job") => Overrun::KillJob,
                Some("stop-app") => Overrun::StopApp,
                Some("demote") => Overrun::Demote,
                _ => Overrun::SkipNext,
            },
            budget: fields.duration("budget"),
            heap: fields.word("heap").and_then(HeapPolicy::from_word).unwrap_or(heap),
        },
        evidence: wcet.map_or(&[][..], |wcet| wcet.many("evidence")).iter().filter_map(recording).collect(),
        sections: fields.many("sections").iter().map(section).collect(),
        segments: fields.many("segments").iter().map(segment).collect(),
        server: fields.text("server").map(str::to_owned),
        core: fields.integer("core").and_then(|core| u16::try_from(core).ok()),
        priority: fields.integer("priority"),
    })
}

/// `None` for a recording that could not be read.
fn recording(item: &Item<'_>) -> Option<EvidenceFile> {
    let Item::Fields(fields) = item else { return None };
    let jobs = fields.integer("jobs").and_then(|jobs| u64::try_from(jobs).ok());
    Some(EvidenceFile { file: fields.text("file")?.to_owned(), hash: fields.text("hash")?.to_owned(), jobs })
}

/// Sections are known by position, so a section that could not be read keeps its place.
fn section(item: &Item<'_>) -> SectionDraft {
    let fields = if let Item::Fields(fields) = item { Some(fields) } else { None };
    let count = fields.and_then(|fields| u32::try_from(fields.integer("count")?).ok());
    SectionDraft {
        resource: fields.and_then(|fields| fields.text("resource")).unwrap_or_default().to_owned(),
        longest: fields.and_then(|fields| fields.duration("longest")).unwrap_or(Duration::ZERO),
        count: count.unwrap_or(1),
    }
}

fn server(name: String, fields: Option<&Fields<'_>>) -> ServerDraft {
    let time = |key: &str| fields.and_then(|fields| fields.duration(key)).unwrap_or(Duration::ZERO);
    let number = |key: &str| fields.and_then(|fields| fields.integer(key));
    ServerDraft {
        name,
        policy: match fields.and_then(|fields| fields.word("policy")) {
            Some("deferrable") => ServerPolicy::Deferrable,
            Some("sporadic") => ServerPolicy::Sporadic,
            _ => ServerPolicy::Polling,
        },
        budget: time("budget"),
        period: time("period"),
        core: number("core").and_then(|core| u16::try_from(core).ok()),
        priority: number("priority"),
    }
}

/// Segments, like sections, are known by position. The TOML parser limits how deep they nest.
fn segment(item: &Item<'_>) -> SegmentDraft {
    let Item::Fields(fields) = item else { return SegmentDraft::default() };
    SegmentDraft {
        hold: fields.text("hold").map(str::to_owned),
        run: fields.duration("run"),
        segments: fields.many("segments").iter().map(segment).collect(),
    }
}

fn arrival(fields: Option<&Fields<'_>>) -> ArrivalDraft {
    let time = |key: &str| fields.and_then(|fields| fields.duration(key)).unwrap_or(Duration::ZERO);
    match fields {
        Some(fields) if fields.variant == "sporadic" => {
            let device = fields.text("device").map(str::to_owned);
            ArrivalDraft::Sporadic { min_gap: time("sporadic"), triggers: triggers(fields), device }
        }
        Some(fields) if fields.variant == "aperiodic" => {
            let triggers = texts(fields.many("aperiodic")).into_iter().enumerate();
            let triggers =
                triggers.map(|(at, channel)| TriggerDraft { channel, key: format!("aperiodic.{at}") });
            ArrivalDraft::Aperiodic { triggers: triggers.collect() }
        }
        _ => periodic(fields, (time("periodic"), time("offset"))),
    }
}

/// A calendar, or a device's clock if a key of one is there.
fn periodic(fields: Option<&Fields<'_>>, (period, offset): (Duration, Duration)) -> ArrivalDraft {
    let name = fields.and_then(|fields| fields.text("clock")).map(str::to_owned);
    let drift_ppm = fields.and_then(|fields| u32::try_from(fields.integer("drift-ppm")?).ok());
    let jitter = fields.and_then(|fields| fields.duration("jitter"));
    if name.is_none() && drift_ppm.is_none() && jitter.is_none() {
        return ArrivalDraft::Periodic { period, offset };
    }
    ArrivalDraft::Clocked(ClockDraft { period, offset, name, drift_ppm, jitter })
}

/// The names of `trigger` and `triggers`, each with its key. A rule of the model refuses a task that has both.
fn triggers(fields: &Fields<'_>) -> Vec<TriggerDraft> {
    let one = fields.text("trigger").map(|one| ("trigger".to_owned(), one.to_owned()));
    let many = texts(fields.many("triggers"));
    let many = many.into_iter().enumerate().map(|(at, name)| (format!("triggers.{at}"), name));
    one.into_iter().chain(many).map(|(key, channel)| TriggerDraft { channel, key }).collect()
}

/// Texts at their positions; an empty one replaces an item that is not a text.
fn texts(items: &[Item<'_>]) -> Vec<String> {
    let text = |item: &Item<'_>| if let Item::Text(text) = item { (*text).to_owned() } else { String::new() };
    items.iter().map(text).collect()
}

fn channel(name: String, fields: Option<&Fields<'_>>) -> ChannelDraft {
    let word = |key: &str| fields.and_then(|fields| fields.word(key));
    let names = |key: &str| fields.map_or(Vec::new(), |fields| texts(fields.many(key)));
    let count = |key: &str| {
        let count = fields.and_then(|fields| u32::try_from(fields.integer(key)?).ok());
        count.unwrap_or(1)
    };
    let mut payloads = names("payload");
    let one_of = if payloads.len() > 1 { std::mem::take(&mut payloads) } else { Vec::new() };
    let order = fields.filter(|fields| fields.is_written("order")).and_then(|fields| fields.word("order"));
    let order = order.and_then(MessageOrder::from_word);
    let late = fields.filter(|fields| fields.is_written("late")).and_then(|fields| fields.word("late"));
    let late = late.and_then(LatePolicy::from_word);
    // Alarms are a message that is ordered by instants, and a request is a message with replies.
    let taken = match word("kind") {
        Some("message") => Some(order.unwrap_or_default()),
        Some("request") => Some(order.unwrap_or(MessageOrder::Fifo)),
        Some("alarm") => Some(MessageOrder::Instant),
        _ => None,
    };
    let late_is = late.unwrap_or_default();
    let order_by = fields.and_then(|fields| fields.text("order-by")).map(str::to_owned);
    let by = order_by.clone();
    let lane = |order| MessageLane { message: name.clone(), order, by, sender: 0, late: late_is };
    ChannelDraft {
        order,
        order_by: order_by.clone(),
        sends_by_sender: fields.map_or(Vec::new(), sends_by_sender),
        late,
        lane: taken.map(lane),
        source: None,
        request: word("kind") == Some("request"),
        reply: fields.and_then(|fields| fields.text("reply")).map(str::to_owned),
        answers: None,
        broadcast: word("kind") == Some("broadcast"),
        name,
        kind: match word("kind") {
            Some("state") => ChannelKind::State,
            Some("bulk") => ChannelKind::Bulk,
            // A message is divided into queues, and a broadcast is a queue with several readers.
            _ => ChannelKind::Queue,
        },
        from: names("from"),
        to: names("to"),
        // A list of one name is that name.
        payload: payloads.pop().unwrap_or_default(),
        one_of,
        capacity: fields.and_then(|fields| fields.integer("capacity")),
        overflow: overflow(word("overflow")),
        reception: word("reception").and_then(Reception::from_word).unwrap_or_default(),
        flow: word("flow").and_then(Flow::from_word).unwrap_or_default(),
        delayed: names("delayed"),
        mechanism: word("mechanism").and_then(Mechanism::from_word),
        sends_per_release: count("sends-per-release"),
        takes_per_release: count("takes-per-release"),
        record: fields.and_then(|fields| fields.truth("record")).unwrap_or(false),
        history: fields.map_or(0, history),
    }
}

fn overflow(word: Option<&str>) -> OverflowPolicy {
    match word {
        Some("drop-oldest") => OverflowPolicy::DropOldest,
        Some("clear") => OverflowPolicy::Clear,
        Some("recall") => OverflowPolicy::Recall,
        _ => OverflowPolicy::Reject,
    }
}

/// With how many earlier values clients begin; a number that could not be read is 0.
fn history(fields: &Fields<'_>) -> u32 {
    fields.integer("history").and_then(|count| u32::try_from(count).ok()).unwrap_or(0)
}

/// What each sender of a message sends at most; a count that could not be read is 1.
fn sends_by_sender(fields: &Fields<'_>) -> Vec<(String, u32)> {
    let count = |item: &Option<Item<'_>>| match item {
        Some(Item::Integer(count)) => u32::try_from(*count).unwrap_or(1),
        _ => 1,
    };
    fields.entries("sends-by-sender").iter().map(|(name, item)| ((*name).to_owned(), count(item))).collect()
}

/// Chains are known by position, so a chain that could not be read keeps its place.
fn chain(item: &Item<'_>) -> ChainDraft {
    let fields = if let Item::Fields(fields) = item { Some(fields) } else { None };
    ChainDraft {
        name: fields.and_then(|fields| fields.text("name")).unwrap_or_default().to_owned(),
        path: fields.map_or(Vec::new(), |fields| texts(fields.many("path"))),
        max_latency: fields.and_then(|fields| fields.duration("max-latency")).unwrap_or(Duration::ZERO),
        max_reaction: fields.and_then(|fields| fields.duration("max-reaction")),
    }
}
