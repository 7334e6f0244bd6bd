// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_model::{
    ChannelKind, Evidence, Mechanism, OnMissingPrivilege, OverflowPolicy, Overrun, SchedulingPolicy, Size,
};
use taut_plan::{
    Arrival, ChainPlan, ChannelPlan, ClassPlan, CorePlan, HeapPolicy, Input, MemoryMap, MemoryPlan,
    Overrides, Plan, ReaderPlan, Region, ServicePlan, StepPlan, TaskPlan, TermPlan, WriterPlan, digest,
};
use taut_time::Duration;

fn us(us: u64) -> Duration {
    Duration::from_us(us)
}

fn region(offset: u64, size: u64) -> Region {
    Region { offset, size }
}

fn term(kind: &str, of: Option<&str>, count: Option<u64>, time: Duration) -> TermPlan {
    TermPlan { kind: kind.to_owned(), of: of.map(str::to_owned), count, time }
}

struct Task {
    name: &'static str,
    service: Option<&'static str>,
    priority: u8,
    arrival: Arrival<String>,
    deadline: Duration,
    wcet: Duration,
    response: Duration,
    terms: Vec<TermPlan>,
    persistent: Region,
    release: Region,
}

fn task(task: Task) -> TaskPlan {
    TaskPlan {
        name: task.name.to_owned(),
        service: task.service.map(str::to_owned),
        value_ring: None,
        class: ClassPlan::RealTime {
            cpu: 0,
            cpu_reason: None,
            priority: task.priority,
            priority_reason: None,
            arrival: task.arrival,
            deadline: task.deadline,
            wcet: task.wcet,
            wcet_source: Evidence::Measured,
            wcet_evidence: Vec::new(),
            response: Some(task.response),
            test: "response time, fixed priority, preemptive, one core".to_owned(),
            terms: task.terms,
            on_overrun: Overrun::SkipNext,
            budget: None,
            heap: HeapPolicy::Deny,
            persistent: task.persistent,
            release: task.release,
            set_up: None,
        },
    }
}

struct Channel {
    name: &'static str,
    kind: ChannelKind,
    from: (&'static str, bool),
    to: (&'static str, bool, bool),
    layout: &'static str,
    size: u32,
    mechanism: Mechanism,
    reason: &'static str,
    capacity: u32,
    region: Region,
    latency: Option<Duration>,
}

fn channel(channel: Channel) -> ChannelPlan {
    let outside = channel.from.1 || channel.to.1;
    ChannelPlan {
        flow: taut_plan::Flow::Newest,
        name: channel.name.to_owned(),
        kind: channel.kind,
        writer: WriterPlan { name: channel.from.0.to_owned(), client: channel.from.1 },
        readers: vec![ReaderPlan {
            name: channel.to.0.to_owned(),
            client: channel.to.1,
            triggered: channel.to.2,
            delayed: false,
            way: None,
            event_count: None,
            reservation: None,
            waiting: None,
            latency: None,
        }],
        layout: channel.layout.to_owned(),
        size: channel.size,
        mechanism: channel.mechanism,
        reason: channel.reason.to_owned(),
        choice: None,
        buffers: None,
        capacity: channel.capacity,
        capacity_reason: None,
        history: 0,
        overflow: OverflowPolicy::Reject,
        sends_per_release: 1,
        takes_per_release: 1,
        lane: None,
        source: None,
        answers: None,
        broadcast: false,
        record: false,
        place: if outside { MemoryMap::Segment } else { MemoryMap::Process },
        region: channel.region,
        latency: channel.latency,
    }
}

fn step(name: &str, adds: &str, time: Duration) -> StepPlan {
    StepPlan { name: name.to_owned(), adds: adds.to_owned(), time }
}

/// The plan of the cochlear application, written by hand.
pub(crate) fn plan() -> Plan {
    let periodic = |offset| Arrival::Periodic { period: us(8_000), offset };
    let sporadic =
        Arrival::Sporadic { min_gap: us(4_000), triggers: vec!["electrodes".to_owned()], device: None };
    let tasks = vec![
        task(Task {
            name: "recording",
            service: Some("sound"),
            priority: 80,
            arrival: periodic(us(0)),
            deadline: us(2_000),
            wcet: us(300),
            response: us(420),
            terms: vec![
                term("own", None, None, us(300)),
                term("blocking", None, None, us(50)),
                term("jitter", None, None, us(60)),
                term("overhead", None, Some(2), us(10)),
            ],
            persistent: region(262_144, 0),
            release: region(262_144, 16_384),
        }),
        task(Task {
            name: "processing",
            service: Some("sound"),
            priority: 70,
            arrival: periodic(us(2_000)),
            deadline: us(5_000),
            wcet: us(1_500),
            response: us(2_090),
            terms: vec![
                term("own", None, None, us(1_500)),
                term("interference", Some("recording"), Some(1), us(310)),
                term("interference", Some("output"), Some(1), us(160)),
                term("blocking", None, None, us(50)),
                term("jitter", None, None, us(60)),
                term("overhead", None, Some(2), us(10)),
            ],
            persistent: region(278_528, 0),
            release: region(278_528, 262_144),
        }),
        task(Task {
            name: "output",
            service: None,
            priority: 75,
            arrival: sporadic,
            deadline: us(1_000),
            wcet: us(150),
            response: us(580),
            terms: vec![
                term("own", None, None, us(150)),
                term("interference", Some("recording"), Some(1), us(310)),
                term("blocking", None, None, us(50)),
                term("jitter", None, None, us(60)),
                term("overhead", None, Some(2), us(10)),
            ],
            persistent: region(540_672, 8 << 20),
            release: region(8_929_280, 16_384),
        }),
        TaskPlan {
            name: "source".to_owned(),
            service: None,
            value_ring: None,
            class: ClassPlan::BestEffort {},
        },
    ];
    let frame = "i16 × 128";
    let stimulation = "frame u64, levels u8 × 176";
    let channels = vec![
        channel(Channel {
            name: "samples",
            kind: ChannelKind::Queue,
            from: ("source", false),
            to: ("recording", false, false),
            layout: frame,
            size: 256,
            mechanism: Mechanism::Qrtr,
            reason: "a queue with one real-time reader: it never waits for the writer",
            capacity: 64,
            region: region(8_945_664, 20_736),
            latency: None,
        }),
        channel(Channel {
            name: "audio",
            kind: ChannelKind::Queue,
            from: ("recording", false),
            to: ("processing", false, false),
            layout: frame,
            size: 256,
            mechanism: Mechanism::Qrtr,
            reason: "a queue between real-time tasks, sized by analysis",
            capacity: 2,
            region: region(8_966_400, 896),
            latency: Some(us(8_060)),
        }),
        channel(Channel {
            name: "electrodes",
            kind: ChannelKind::Queue,
            from: ("processing", false),
            to: ("output", false, true),
            layout: stimulation,
            size: 184,
            mechanism: Mechanism::Qrtr,
            reason: "a queue between real-time tasks, sized by analysis",
            capacity: 2,
            region: region(8_967_296, 768),
            latency: Some(us(580)),
        }),
        channel(Channel {
            name: "levels",
            kind: ChannelKind::State,
            from: ("processing", false),
            to: ("ui", true, false),
            layout: stimulation,
            size: 184,
            mechanism: Mechanism::Sdrtw,
            reason: "a state with a real-time writer and non-real-time readers: readers retry, the writer never",
            capacity: 1,
            region: region(4_096, 256),
            latency: None,
        }),
        channel(Channel {
            name: "settings",
            kind: ChannelKind::State,
            from: ("ui", true),
            to: ("processing", false, false),
            layout: "volume f32, sensitivity f32",
            size: 8,
            mechanism: Mechanism::Sdrtr,
            reason: "a state with a non-real-time writer and one real-time reader: the reader never waits",
            capacity: 1,
            region: region(4_352, 384),
            latency: None,
        }),
    ];
    Plan {
        resources: Vec::new(),
        servers: Vec::new(),
        lock: Plan::FORMAT,
        app: "cochlear".to_owned(),
        description: "Cochlear implant: one 8 ms audio frame from microphone to electrodes".to_owned(),
        proven: true,
        on_missing_privilege: OnMissingPrivilege::Degrade,
        safe_state: None,
        on_failure: None,
        group: None,
        housekeeping: vec![1],
        overrides: Overrides::default(),
        decision: None,
        overheads: Vec::new(),
        inputs: vec![Input { path: "taut.toml".to_owned(), hash: digest(b"taut.toml") }],
        memory: MemoryPlan {
            process: Size::from_bytes(8_970_240),
            segment: Size::from_bytes(8_192),
            runtime: Size::from_bytes(12 << 20),
            set_up: Size::ZERO,
            total: Size::from_bytes(8_970_240 + 8_192 + (12 << 20)),
            limit: Size::from_bytes(64 << 20),
        },
        cores: vec![CorePlan {
            cpu: 0,
            scheduler: SchedulingPolicy::FixedPriority,
            utilisation_ppm: 267_500,
            dispatched: None,
        }],
        first_mode: None,
        together: None,
        modes: vec![],
        changes: vec![],
        services: vec![ServicePlan {
            name: "sound".to_owned(),
            persistent: region(0, 262_144),
            memory: Size::from_bytes(262_144 + 16_384 + 262_144),
            start: taut_plan::ServiceStart::Boot,
            on_failure: None,
        }],
        tasks,
        clients: vec!["ui".to_owned()],
        client_limits: vec![],
        channels,
        chains: vec![ChainPlan {
            name: "microphone-to-electrode".to_owned(),
            path: vec![
                step("recording", "response", us(420)),
                step("audio", "waits at most a period", us(8_000)),
                step("processing", "response", us(2_090)),
                step("electrodes", "releases its reader", us(0)),
                step("output", "response", us(580)),
            ],
            max_latency: us(16_000),
            latency: Some(us(11_090)),
            max_reaction: None,
            reaction: None,
            reaction_path: Vec::new(),
        }],
    }
}
