// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Broadcasts: what each reader gets, how much one copy of all values must hold, and where it lies.

mod drafts;

use drafts::{Edit, empty, payload, periodic, plan, proven, queue, shown, time};
use insta::assert_snapshot;
use taut_model::{
    ArrivalDraft, BestEffort, ChainDraft, ChannelDraft, ClassDraft, ClientDraft, ClientKind, Draft,
    Mechanism, Reception, Scalar, TaskDraft, TriggerDraft, Way, codes,
};
use taut_plan::{ChannelPlan, ClassPlan, MemoryMap, Plan, ReaderPlan, ValidPlan, explain_channel};

const READERS: [&str; 5] = ["output", "recorder", "shows", "logger", "panel"];

fn sporadic(name: &str, gap: &str, trigger: &str) -> TaskDraft {
    periodic(name, gap, gap, "50us").with(|task| {
        task.arrival = ArrivalDraft::Sporadic {
            min_gap: time(gap),
            triggers: TriggerDraft::only(trigger),
            device: None,
        };
    })
}

fn best_effort(name: &str, min_gap: Option<&str>) -> TaskDraft {
    let class = ClassDraft::BestEffort(BestEffort { min_gap: min_gap.map(time), ..BestEffort::default() });
    TaskDraft { name: name.into(), service: None, class }
}

/// `records` sends a frame every 4 ms: to a task that each one releases, to two that look, and to two that are not real-time.
fn draft(to: &[&str]) -> Draft {
    let mut draft = empty(&[0, 1]);
    draft.payloads = vec![payload("Frame", &[("", Scalar::I16, 128)])];
    draft.tasks = vec![
        periodic("records", "4ms", "4ms", "200us"),
        sporadic("output", "4ms", "frames"),
        periodic("recorder", "4ms", "4ms", "100us"),
        periodic("shows", "20ms", "20ms", "400us"),
        best_effort("logger", None),
    ];
    let panel =
        ClientDraft { name: "panel".into(), kind: ClientKind::Process, max_attached: 1, min_gap: None };
    draft.clients = vec![panel];
    let to = to.iter().map(|name| (*name).to_owned()).collect();
    let frames = queue("frames", "records", "", "Frame", None);
    draft.channels = vec![ChannelDraft { to, broadcast: true, takes_per_release: 5, ..frames }];
    draft.tasks.retain(|task| task.name != "output" || draft.channels[0].to.contains(&task.name));
    draft
}

fn frames(plan: &Plan) -> &ChannelPlan {
    &plan.channels[0]
}

fn reader<'p>(plan: &'p Plan, name: &str) -> &'p ReaderPlan {
    frames(plan).readers.iter().find(|reader| reader.name == name).expect("a reader")
}

#[test]
fn each_reader_has_its_bounds() {
    let plan = proven(&draft(&READERS));
    let broadcast = plan.broadcasts().remove(0);
    let mut text = broadcast.lines().join("\n") + "\n\n";
    text += &explain_channel(&plan, "frames").expect("a channel");
    assert_snapshot!(text);
    let of = |name: &str| reader(&plan, name);
    assert!(READERS.iter().all(|name| of(name).triggered == (*name == "output")));
    // The one that looks least often needs the room; a slower reader does not change what holds for another.
    let alone = proven(&draft(&["output", "logger"]));
    assert_eq!(of("output").waiting, reader(&alone, "output").waiting);
    assert_eq!(of("output").latency, reader(&alone, "output").latency);
    assert!(of("shows").waiting > of("output").waiting && of("shows").latency > of("output").latency);
    assert_eq!(Some(frames(&plan).capacity), of("shows").waiting);
    assert!(frames(&plan).capacity > frames(&alone).capacity);
    assert_eq!(frames(&plan).latency, of("shows").latency, "the largest of all");
    for name in ["logger", "panel"] {
        assert_eq!((of(name).waiting, of(name).latency, of(name).way), (None, None, Some(Way::LooksOn)));
    }
    assert_eq!((frames(&plan).claims(), frames(&plan).respected("shows")), (3, Some(2)));
    assert_eq!(frames(&plan).respected("logger"), None);
}

/// A client maps the object only for reading: it lies with what no client writes, before all that one does.
#[test]
fn a_client_may_only_read() {
    let mut draft = draft(&["output", "panel"]);
    draft.channels.push(queue("asks", "panel", "recorder", "Frame", Some(4)));
    let plan = proven(&draft);
    let [object, asks] = [0, 1].map(|at: usize| plan.channels[at].region);
    assert_eq!(frames(&plan).place, MemoryMap::Segment);
    assert!((object.offset + object.size - 1) / 4096 < asks.offset / 4096, "{object:?} {asks:?}");
    assert_eq!(frames(&proven(&self::draft(&["output", "logger"]))).place, MemoryMap::Process);
}

/// One copy of each value, whoever reads; a line more for each real-time reader, none for another.
#[test]
fn one_copy_for_all() {
    let size = |to: &[&str]| {
        let mut draft = draft(to);
        draft.channels[0].capacity = Some(8);
        frames(&proven(&draft)).region.size
    };
    let one = size(&["recorder", "logger"]);
    assert_eq!(size(&["recorder", "logger", "panel"]), one);
    assert_eq!(size(&["recorder", "shows", "logger"]), one + 128);
    // The line that wakes.
    assert_eq!(size(&["recorder", "output", "logger"]), one + 2 * 128);
}

#[test]
fn capacities() {
    let needed = frames(&proven(&draft(&READERS))).capacity;
    let stated = |capacity: u32| {
        let mut draft = draft(&READERS);
        draft.channels[0].capacity = Some(capacity.into());
        plan(&draft)
    };
    let more = stated(100);
    assert!(more.plan.proven && frames(&more.plan).capacity == 100, "more for those who may lose some");
    assert_eq!(reader(&more.plan, "shows").waiting, Some(needed));
    let less = stated(needed - 1);
    assert!(!less.plan.proven);
    assert_snapshot!(shown(&less.faults));
    // More in each job of the writer, and of its readers.
    let mut several = draft(&["recorder", "shows"]);
    several.channels[0].sends_per_release = 3;
    several.channels[0].takes_per_release = 15;
    assert_eq!(frames(&proven(&several)).sends_per_release, 3);
    assert!(frames(&proven(&several)).capacity > needed);
}

/// A writer that is not real-time may find the broadcast full, so nothing must be proven of it; with a gap its readers have
/// bounds on what waits.
#[test]
fn a_writer_that_is_not_real_time() {
    let of = |gap: Option<&str>| {
        let mut draft = draft(&["recorder", "shows", "panel"]);
        draft.tasks.push(best_effort("plays", gap));
        draft.channels[0].from = vec!["plays".into()];
        let plan = proven(&draft);
        assert_eq!(frames(&plan).mechanism, Mechanism::Broadcast);
        assert_eq!(frames(&plan).latency, None);
        let bounds = plan.broadcasts().remove(0).lines().join("\n");
        (frames(&plan).capacity, reader(&plan, "shows").waiting, bounds)
    };
    let (capacity, waiting, text) = of(Some("4ms"));
    assert_eq!(waiting, Some(capacity));
    let (twice, none, without) = of(None);
    assert_eq!((twice, none), (10, None), "twice what a reader takes");
    assert_snapshot!(format!("{text}\n{without}"));
}

/// A broadcast without a real-time reader is a queue that drops the oldest.
#[test]
fn a_broadcast_to_observers_alone() {
    let plan = proven(&draft(&["logger", "panel"]));
    let frames = frames(&plan);
    assert_eq!((frames.mechanism, frames.capacity), (Mechanism::Qrtwo, 250));
    assert_snapshot!(plan.broadcasts().remove(0).lines().join("\n"));
}

/// Only readers that are not real-time wait on a line of their own, and the writer is charged a wake for each of them.
#[test]
fn a_wake_is_charged_for_those_who_wait() {
    let of = |reception, to: &[&str]| {
        let mut draft = draft(to);
        draft.channels[0].reception = reception;
        let plan = proven(&draft);
        let lines: Vec<bool> =
            frames(&plan).readers.iter().map(|reader| reader.event_count.is_some()).collect();
        let ClassPlan::RealTime { response, .. } = &plan.tasks[0].class else { panic!("real-time") };
        (response.expect("a bound").as_ns(), lines)
    };
    let (polls, none) = of(Reception::Poll, &READERS);
    assert_eq!(none, [false; 5]);
    let (waits, lines) = of(Reception::Wait, &READERS);
    assert_eq!(lines, [false, false, false, true, true]);
    assert_eq!(waits, polls + 2 * time("5us").as_ns());
    assert_eq!(of(Reception::Wait, &["output", "recorder", "panel"]).0, polls + time("5us").as_ns());
}

/// A chain through a broadcast has the bound of its own reader, whatever the others are.
#[test]
fn a_chain_to_each_reader() {
    let chain = |reader: &str| ChainDraft {
        name: format!("to-{reader}"),
        path: ["records", "frames", reader].map(String::from).to_vec(),
        max_latency: time("100ms"),
        max_reaction: Some(time("100ms")),
    };
    let readers = ["output", "recorder", "shows"];
    let bounds = |draft: &Draft| {
        let chains = proven(draft).chains.into_iter();
        chains
            .map(|chain| (chain.latency.expect("a bound"), chain.reaction.expect("a bound")))
            .collect::<Vec<_>>()
    };
    let mut draft = draft(&readers);
    draft.chains = readers.map(chain).to_vec();
    let all = bounds(&draft);
    assert!(all[0] < all[1] && all[1] < all[2], "{all:?}");
    // As if each had a queue of its own.
    let own = |reader: &str| {
        let takes_per_release = if reader == "output" { 1 } else { 5 };
        let name = format!("{reader}-frames");
        ChannelDraft { takes_per_release, ..queue(&name, "records", reader, "Frame", None) }
    };
    draft.channels = readers.map(own).to_vec();
    for (chain, reader) in draft.chains.iter_mut().zip(readers) {
        chain.path[1] = format!("{reader}-frames");
    }
    let task = drafts::task(&mut draft, "output");
    task.arrival = ArrivalDraft::Sporadic {
        min_gap: time("4ms"),
        triggers: TriggerDraft::only("output-frames"),
        device: None,
    };
    assert_eq!(bounds(&draft), all);
}

/// An altered plan is refused before anything relies on it.
#[test]
fn forged() {
    let mut draft = draft(&READERS);
    draft.channels[0].reception = Reception::Wait;
    let plan = proven(&draft);
    let refused = |alter: &dyn Fn(&mut Plan)| {
        let mut plan = plan.clone();
        alter(&mut plan);
        ValidPlan::new(plan).map(drop).expect_err("refused").to_string()
    };
    let line = reader(&plan, "logger").event_count;
    let alterations: [&dyn Fn(&mut Plan); 11] = [
        &|plan| plan.channels[0].readers[2].way = Some(Way::LooksOn),
        &|plan| plan.channels[0].readers[3].way = Some(Way::Claims),
        &|plan| plan.channels[0].readers[4].way = Some(Way::Claims),
        &|plan| plan.channels[0].readers[2].way = None,
        &|plan| plan.channels[0].broadcast = false,
        &|plan| plan.channels[0].mechanism = Mechanism::Qrtwo,
        &|plan| plan.channels[0].readers[2].waiting = Some(plan.channels[0].capacity + 1),
        &|plan| plan.channels[0].readers[3].waiting = Some(1),
        &|plan| plan.channels[0].readers[1].latency = None,
        &|plan| plan.channels[0].capacity = 1,
        &|plan| {
            plan.channels[0].readers[3].event_count = None;
            plan.channels[0].readers[2].event_count = line;
        },
    ];
    assert_snapshot!(alterations.map(refused).join("\n"));
    // A client would write where readers store what they have taken.
    draft.channels.push(queue("asks", "panel", "recorder", "Frame", Some(4)));
    let mut plan = proven(&draft);
    let asks = &mut plan.channels[1];
    (asks.broadcast, asks.mechanism, asks.readers[0].way) = (true, Mechanism::Broadcast, Some(Way::Claims));
    let reported = ValidPlan::new(plan).map(drop).expect_err("refused").to_string();
    assert_eq!(reported, "client `panel` writes broadcast `asks`");
}

/// Several processes of a client cost nothing: not a byte, and no part of a bound. A plan in which one of them would store is refused.
#[test]
fn several_processes_cost_nothing() {
    let mut draft = draft(&["output", "recorder", "logger", "panel"]);
    let alone = proven(&draft);
    draft.clients[0].max_attached = 128;
    let several = proven(&draft);
    assert_eq!((several.max_attached("panel"), several.max_attached("logger")), (128, 1));
    assert_eq!(Plan { client_limits: Vec::new(), ..several.clone() }, alone);
    let lines = several.broadcasts()[0].lines();
    let line = lines.iter().find(|line| line.contains("panel")).expect("a line");
    assert_eq!(line.trim(), "panel     not real-time, up to 128 processes: each counts what it loses");
    let refused = |alter: &dyn Fn(&mut Plan)| {
        let mut plan = several.clone();
        alter(&mut plan);
        ValidPlan::new(plan).map(drop).expect_err("refused").to_string()
    };
    let alterations: [&dyn Fn(&mut Plan); 4] = [
        &|plan| plan.client_limits[0].max_attached = 1,
        &|plan| plan.client_limits[0].max_attached = 129,
        &|plan| plan.client_limits[0].client = "logger".to_owned(),
        &|plan| plan.client_limits.push(plan.client_limits[0].clone()),
    ];
    assert_snapshot!(alterations.map(refused).join("\n"));
    // What one of the processes stored would be another's.
    let limit = several.client_limits.clone();
    draft.clients[0].max_attached = 1;
    draft.channels.push(queue("asks", "panel", "recorder", "Frame", Some(4)));
    let writes = Plan { client_limits: limit.clone(), ..proven(&draft) };
    let reported = ValidPlan::new(writes).map(drop).expect_err("refused").to_string();
    assert_eq!(reported, "several processes of client `panel` write channel `asks`");
    draft.channels.pop();
    draft.channels[0].reception = taut_model::Reception::Wait;
    let waits = Plan { client_limits: limit, ..proven(&draft) };
    let reported = ValidPlan::new(waits).map(drop).expect_err("refused").to_string();
    assert_eq!(reported, "several processes of client `panel` have one place in channel `frames`");
}

/// What clients begin with is a part of what the broadcast holds; a plan that promises more, or to nobody, is refused.
#[test]
fn the_history_of_clients() {
    let mut draft = draft(&["output", "recorder", "panel"]);
    let least = proven(&draft).channels[0].capacity;
    for (history, capacity) in [(0, least), (1, least), (least, least), (least + 5, least + 5)] {
        draft.channels[0].history = history;
        let plan = proven(&draft);
        let frames = &plan.channels[0];
        assert_eq!((frames.history, frames.capacity), (history, capacity));
        let reason = frames.capacity_reason.as_deref();
        assert_eq!(reason == Some("the values that a client begins with"), history > least);
        let text = taut_plan::explain_channel(&plan, "frames").expect("a channel");
        let line = format!("an end that a client makes begins with the {history} values before");
        assert_eq!(text.contains(&line), history > 0);
    }
    let plan = proven(&draft);
    let refused = |alter: &dyn Fn(&mut Plan)| {
        let mut plan = plan.clone();
        alter(&mut plan);
        ValidPlan::new(plan).map(drop).expect_err("refused").to_string()
    };
    let reported = refused(&|plan| plan.channels[0].history += 1);
    let kept = least + 6;
    assert_eq!(
        reported,
        format!("channel `frames` keeps {kept} earlier values for clients, which it cannot")
    );
    draft.channels[0].to.retain(|reader| reader != "panel");
    draft.channels[0].history = 0;
    let mut alone = proven(&draft);
    alone.channels[0].history = 1;
    let reported = ValidPlan::new(alone).map(drop).expect_err("refused").to_string();
    assert_eq!(reported, "channel `frames` keeps 1 earlier values for clients, which it cannot");
}

/// A reader without a bound is refused by the model; the planner says so of times that it cannot add up.
#[test]
fn a_delivery_without_a_bound() {
    let mut draft = draft(&["recorder", "shows"]);
    for (name, period) in [("records", "18000000000s"), ("shows", "12000000000s")] {
        drafts::task(&mut draft, name).arrival =
            ArrivalDraft::Periodic { period: time(period), offset: taut_time::Duration::ZERO };
    }
    (draft.channels[0].sends_per_release, draft.channels[0].takes_per_release) = (3, 2);
    let planned = plan(&draft);
    assert!(!planned.plan.proven);
    let fault = planned.faults.iter().find(|fault| fault.code == codes::NO_DELIVERY);
    let fault = fault.unwrap_or_else(|| panic!("{}", shown(&planned.faults)));
    assert_eq!(fault.message, "broadcast `frames`: the delivery to `shows` has no bound");
}

/// A task that the broadcast alone releases takes one value in each job, whatever others take: as of a queue of its own.
#[test]
fn a_task_that_it_releases_takes_one() {
    let mut draft = draft(&["output", "recorder"]);
    let task = drafts::task(&mut draft, "output");
    task.arrival =
        ArrivalDraft::Sporadic { min_gap: time("1ms"), triggers: TriggerDraft::only("frames"), device: None };
    (task.stated.deadline, draft.channels[0].sends_per_release) = (time("1ms"), 3);
    let plan = proven(&draft);
    let own = ChannelDraft {
        to: vec!["output".into()],
        broadcast: false,
        takes_per_release: 1,
        ..draft.channels[0].clone()
    };
    draft.channels[0].to.remove(0);
    draft.channels[0].name = "others".into();
    draft.channels.push(own);
    let queue = proven(&draft).channels.remove(1);
    let output = reader(&plan, "output");
    assert_eq!((output.latency, output.waiting), (queue.latency, Some(queue.capacity)));
    assert!(output.latency > Some(time("2ms")), "the third waits for two gaps");
}
