// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Models for tests, made the way every input format makes them: from a draft.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use std::collections::BTreeSet;

use taut_model::{
    App, ArrivalDraft, BestEffort, ChainDraft, ChannelDraft, ChannelKind, ClassDraft, ClientDraft,
    ClientKind, Cost, Draft, Evidence, Executor, Fault, Model, OnMissingPrivilege, OverflowPolicy,
    OverheadSources, Overheads, Overrun, Payload, PayloadField, Platform, RealTimeDraft, Reception, Scalar,
    SchedulingPolicy, SegmentDraft, ServiceDraft, Severity, Size, Stated, TaskDraft, TriggerDraft,
};
use taut_plan::{Input, Plan, ValidPlan, digest};
use taut_planner::Planned;
use taut_time::Duration;

pub fn time(text: &str) -> Duration {
    text.parse().expect("a duration")
}

pub fn size(text: &str) -> Size {
    text.parse().expect("a size")
}

pub fn cost(value: &str, margin_percent: u32) -> Cost {
    Cost { value: time(value), source: Evidence::Measured, margin_permille: margin_percent * 10 }
}

/// A periodic task that leaves core and priority open.
pub fn periodic(name: &str, period: &str, deadline: &str, wcet: &str) -> TaskDraft {
    let real_time = RealTimeDraft {
        arrival: ArrivalDraft::Periodic { period: time(period), offset: Duration::ZERO },
        stated: Stated::new(time(deadline), cost(wcet, 0)),
        evidence: Vec::new(),
        sections: Vec::new(),
        segments: Vec::new(),
        server: None,
        core: None,
        priority: None,
    };
    TaskDraft { name: name.into(), service: None, class: ClassDraft::RealTime(real_time) }
}

/// A segment that holds nothing.
pub fn run(longest: &str) -> SegmentDraft {
    SegmentDraft { run: Some(time(longest)), ..SegmentDraft::default() }
}

/// A segment that holds a resource.
pub fn hold(resource: &str, segments: Vec<SegmentDraft>) -> SegmentDraft {
    SegmentDraft { hold: Some(resource.into()), run: None, segments }
}

pub trait Edit: Sized {
    fn with(self, edit: impl FnOnce(&mut RealTimeDraft)) -> Self;
}

impl Edit for TaskDraft {
    fn with(mut self, edit: impl FnOnce(&mut RealTimeDraft)) -> Self {
        edit(real_time(&mut self));
        self
    }
}

pub fn real_time(task: &mut TaskDraft) -> &mut RealTimeDraft {
    match &mut task.class {
        ClassDraft::RealTime(real_time) => real_time,
        ClassDraft::BestEffort(_) => panic!("{} is best-effort", task.name),
    }
}

pub fn task<'a>(draft: &'a mut Draft, name: &str) -> &'a mut RealTimeDraft {
    real_time(draft.tasks.iter_mut().find(|task| task.name == name).expect("a task"))
}

pub fn queue(name: &str, from: &str, to: &str, payload: &str, capacity: Option<i64>) -> ChannelDraft {
    ChannelDraft {
        name: name.into(),
        kind: ChannelKind::Queue,
        from: vec![from.into()],
        to: vec![to.into()],
        payload: payload.into(),
        one_of: Vec::new(),
        capacity,
        overflow: OverflowPolicy::Reject,
        reception: Reception::default(),
        flow: taut_model::Flow::Newest,
        delayed: Vec::new(),
        mechanism: None,
        sends_per_release: 1,
        takes_per_release: 1,
        order: None,
        order_by: None,
        sends_by_sender: Vec::new(),
        late: None,
        lane: None,
        source: None,
        request: false,
        reply: None,
        answers: None,
        broadcast: false,
        record: false,
        history: 0,
    }
}

pub fn state(name: &str, from: &str, to: &str, payload: &str) -> ChannelDraft {
    ChannelDraft { kind: ChannelKind::State, ..queue(name, from, to, payload, None) }
}

/// A machine with these real-time cores, and nothing else.
pub fn empty(cores: &[u16]) -> Draft {
    Draft {
        app: App { name: "test".into(), ..App::default() },
        platform: Platform {
            cores: cores.to_vec(),
            housekeeping: vec![100],
            scheduler: SchedulingPolicy::FixedPriority,
            memory: size("64MiB"),
            overheads: Overheads {
                release: time("60us"),
                context_switch: time("5us"),
                kernel_blocking: time("50us"),
                lock: time("2us"),
                sources: OverheadSources::default(),
                copy: Duration::ZERO,
                device: time("20us"),
            },
            on_missing_privilege: OnMissingPrivilege::Degrade,
            minimise: taut_model::Aim::Memory,
            executor: taut_model::Executor::Auto,
            group: None,
        },
        payloads: vec![payload("Sample", &[("", Scalar::I16, 128)])],
        services: vec![],
        modes: vec![],
        resources: Vec::new(),
        servers: Vec::new(),
        tasks: vec![],
        clients: vec![],
        channels: vec![],
        chains: vec![],
        faulty: BTreeSet::new(),
    }
}

pub fn payload(name: &str, fields: &[(&str, Scalar, u32)]) -> Payload {
    let field = |&(name, scalar, len): &(&str, Scalar, u32)| PayloadField { name: name.into(), scalar, len };
    Payload::new(name, fields.iter().map(field).collect())
}

/// The manifest in apps/cochlear.
pub fn cochlear() -> Draft {
    let mut draft = empty(&[0]);
    draft.app.name = "cochlear".into();
    draft.app.description = "Cochlear implant: one 8 ms audio frame from microphone to electrodes".into();
    draft.platform.housekeeping = vec![1];
    draft.payloads = vec![
        payload("AudioFrame", &[("", Scalar::I16, 128)]),
        payload("Stimulation", &[("frame", Scalar::U64, 1), ("levels", Scalar::U8, 176)]),
        payload("Settings", &[("volume", Scalar::F32, 1), ("sensitivity", Scalar::F32, 1)]),
    ];
    draft.services = vec![ServiceDraft {
        name: "sound".into(),
        persistent: size("256KiB"),
        start: taut_model::ServiceStart::Boot,
        on_failure: None,
    }];
    let real_time = |name: &str, deadline: &str, wcet: &str, priority: i64| {
        periodic(name, "8ms", deadline, wcet).with(|task| {
            task.wcet = cost(wcet, 50);
            task.core = Some(0);
            task.priority = Some(priority);
            task.on_overrun = Overrun::SkipNext;
        })
    };
    let mut recording = real_time("recording", "2ms", "200us", 80).with(|task| task.release = size("16KiB"));
    recording.service = Some("sound".into());
    let mut processing = real_time("processing", "5ms", "1ms", 70).with(|task| {
        task.arrival = ArrivalDraft::Periodic { period: time("8ms"), offset: time("2ms") };
        task.release = size("256KiB");
    });
    processing.service = Some("sound".into());
    let output = real_time("output", "1ms", "100us", 75).with(|task| {
        task.arrival = ArrivalDraft::Sporadic {
            min_gap: time("4ms"),
            triggers: TriggerDraft::only("electrodes"),
            device: None,
        };
        task.persistent = size("8MiB");
        task.release = size("16KiB");
        task.on_overrun = Overrun::RunOn;
    });
    let source = TaskDraft {
        name: "source".into(),
        service: None,
        class: ClassDraft::BestEffort(BestEffort::default()),
    };
    draft.tasks = vec![recording, processing, output, source];
    draft.clients =
        vec![ClientDraft { name: "ui".into(), kind: ClientKind::Process, max_attached: 1, min_gap: None }];
    draft.channels = vec![
        queue("samples", "source", "recording", "AudioFrame", Some(64)),
        queue("audio", "recording", "processing", "AudioFrame", None),
        queue("electrodes", "processing", "output", "Stimulation", None),
        state("levels", "processing", "ui", "Stimulation"),
        state("settings", "ui", "processing", "Settings"),
    ];
    let path = ["recording", "audio", "processing", "electrodes", "output"].map(String::from).to_vec();
    draft.chains = vec![ChainDraft {
        name: "microphone-to-electrode".into(),
        path,
        max_latency: time("16ms"),
        max_reaction: None,
    }];
    draft
}

pub fn model(draft: &Draft) -> Model {
    let (model, faults) = draft.clone().build();
    let errors: Vec<&Fault> = faults.iter().filter(|f| f.severity == Severity::Error).collect();
    model.unwrap_or_else(|| panic!("{errors:#?}"))
}

pub fn plan(draft: &Draft) -> Planned {
    let input = Input { path: "taut.toml".into(), hash: digest(b"the manifest") };
    Planned::make(&model(draft), vec![input])
}

/// Faults as text: what a renderer gets, without the source.
pub fn shown(faults: &[Fault]) -> String {
    let mut text = String::new();
    for fault in faults {
        text += &format!("{}: {}\n", fault.code, fault.message);
        text += &format!("  {}: {}\n", fault.primary.place.path(), fault.primary.text);
        for label in &fault.secondary {
            text += &format!("  {}: {}\n", label.place.path(), label.text);
        }
        for note in &fault.notes {
            text += &format!("  = note: {note}\n");
        }
        if let Some(help) = &fault.help {
            text += &format!("  = help: {help}\n");
        }
    }
    text
}

/// The plan of a draft, which must be proven; its text has all of it.
pub fn proven(draft: &Draft) -> Plan {
    let planned = plan(draft);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    let text = planned.plan.to_lock().expect("it can be written");
    let read = ValidPlan::new(Plan::from_lock(&text).expect("it can be read")).expect("a valid plan");
    assert_eq!(read, ValidPlan::new(planned.plan).expect("a valid plan"), "the text has all of it");
    read.into_plan()
}

/// A writer and two readers; a copy of 4 KiB takes 4 us; the cost of a lock is stated, and dispatchers decide anyway.
pub fn sharing(cores: [u16; 3]) -> Draft {
    let mut draft = empty(&[0, 1]);
    draft.platform.overheads.sources.lock = Some(Evidence::Measured);
    draft.platform.executor = Executor::Dispatched;
    draft.platform.overheads.copy = time("1us");
    draft.platform.memory = size("64MiB");
    draft.payloads = vec![payload("Map", &[("", Scalar::U64, 510)])];
    let on = |name: &str, period: &str, core| {
        periodic(name, period, period, "500us").with(|task| task.core = Some(core))
    };
    draft.tasks =
        vec![on("writer", "4ms", cores[0]), on("near", "5ms", cores[1]), on("far", "20ms", cores[2])];
    let mut map = state("map", "writer", "near", "Map");
    map.to.push("far".into());
    draft.channels = vec![map];
    draft
}
