// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Tasks that devices release: analysed as sporadic ones, alone or beside channels, on cores of both kinds.

mod drafts;

use drafts::{empty, payload, periodic, plan, queue, shown, task, time};
use taut_model::{
    ArrivalDraft, Draft, Executor, LatePolicy, MessageLane, MessageOrder, Overrun, Scalar, SchedulingPolicy,
    TriggerDraft, codes,
};
use taut_plan::{Arrival, ClassPlan, DEVICES_MAX, Plan, TermPlan, ValidPlan, explain_task};

fn by_device(device: &str) -> ArrivalDraft {
    ArrivalDraft::Sporadic { min_gap: time("5ms"), triggers: Vec::new(), device: Some(device.to_owned()) }
}

fn draft() -> Draft {
    let mut draft = empty(&[0]);
    draft.tasks = vec![periodic("reads", "5ms", "5ms", "200us"), periodic("controls", "10ms", "10ms", "1ms")];
    task(&mut draft, "reads").arrival = by_device("imu");
    draft
}

#[test]
fn a_device_releases_as_events_from_outside_do() {
    let planned = plan(&draft());
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    let text = planned.plan.to_lock().expect("it can be written");
    assert!(text.contains("device = \"imu\"") && !text.contains("trigger"), "{text}");
    let read = ValidPlan::new(Plan::from_lock(&text).expect("it can be read")).expect("a valid plan");
    assert_eq!(*read, planned.plan, "the text has all of it");
    let of = |plan: &Plan, name: &str| plan.tasks[plan.task(name).expect("a task")].class.clone();
    let ClassPlan::RealTime { arrival, .. } = of(&planned.plan, "reads") else { panic!("real-time") };
    assert_eq!((arrival.device(), arrival.period()), (Some("imu"), time("5ms")));
    let explained = explain_task(&planned.plan, "reads").expect("a task");
    assert!(explained.contains("by device `imu`, at most every 5ms"), "{explained}");
    // As if the calendar released it as often.
    let mut alike = draft();
    task(&mut alike, "reads").arrival = ArrivalDraft::Periodic { period: time("5ms"), offset: time("0ns") };
    let response = |plan: &Plan| match of(plan, "controls") {
        ClassPlan::RealTime { response, .. } => response.expect("proven"),
        ClassPlan::BestEffort {} => panic!("real-time"),
    };
    assert!(response(&planned.plan) >= response(&plan(&alike).plan));
}

fn refused(change: impl Fn(&mut Draft)) -> (Vec<taut_model::Code>, String) {
    let mut wrong = draft();
    change(&mut wrong);
    let (model, faults) = wrong.clone().build();
    let mut faults = if model.is_some() { plan(&wrong).faults } else { faults };
    faults.retain(|fault| fault.code != codes::UNUSED);
    (faults.iter().map(|fault| fault.code).collect(), shown(&faults))
}

#[test]
fn what_no_thread_can_wait_for_is_refused() {
    let (found, text) = refused(|draft| task(draft, "controls").arrival = by_device("imu"));
    assert_eq!(found, [codes::BAD_TRIGGER], "{text}");
    assert!(text.contains("releases two tasks, `reads` and `controls`"), "{text}");
    let (found, text) = refused(|draft| task(draft, "reads").arrival = by_device("1 mu"));
    assert_eq!(found, [codes::BAD_NAME], "{text}");
}

/// A queue or a message that nothing makes the task look at in bounded time.
#[test]
fn what_is_sent_to_a_task_that_a_device_releases_has_no_bound() {
    let to_reads = |draft: &mut Draft| {
        draft.payloads = vec![payload("Value", &[("", Scalar::U64, 1)])];
        draft.channels = vec![queue("values", "controls", "reads", "Value", Some(100))];
    };
    let (found, text) = refused(to_reads);
    assert_eq!(found, [codes::NO_DELIVERY], "{text}");
    assert!(text.contains("queue `values`: nothing bounds when `reads` looks at it"), "{text}");
    // A sender that is not real-time learns that the queue is full, and no proof depends on its values.
    let (found, text) = refused(|draft| {
        to_reads(draft);
        draft.channels[0].from = vec!["noise".into()];
        draft.tasks.push(taut_model::TaskDraft {
            name: "noise".into(),
            service: None,
            class: taut_model::ClassDraft::BestEffort(taut_model::BestEffort::default()),
        });
    });
    assert_eq!(found, [], "{text}");
    let (found, text) = refused(|draft| {
        draft.payloads = vec![payload("Value", &[("", Scalar::U64, 1)])];
        let (message, order, late) = ("asks".into(), MessageOrder::Sender, LatePolicy::Deliver);
        let lane = MessageLane { message, order, by: None, sender: 0, late };
        let mut channel = queue("asks", "controls", "reads", "Value", None);
        channel.lane = Some(lane);
        draft.channels = vec![channel];
    });
    assert_eq!(found, [codes::NO_DELIVERY], "{text}");
    assert!(text.contains("a device releases it"), "{text}");
}

/// A change of a manifest.
type Change = fn(&mut Draft);

/// How a plan comes to have a device thread.
const WATCHED: [(Change, &str); 4] = [
    (|draft| draft.platform.executor = Executor::Dispatched, "device thread, for imu"),
    (|draft| draft.platform.scheduler = SchedulingPolicy::Edf, "platform probe and device threads"),
    (|draft| task(draft, "controls").on_overrun = Overrun::KillJob, "device thread, for imu"),
    (beside, "device thread, for imu"),
];

/// A channel from outside releases the task, too.
fn beside(draft: &mut Draft) {
    draft.payloads = vec![payload("Value", &[("", Scalar::U64, 1)])];
    draft.channels = vec![queue("values", "controls", "reads", "Value", None)];
    let ArrivalDraft::Sporadic { triggers, .. } = &mut task(draft, "reads").arrival else { panic!() };
    *triggers = TriggerDraft::only("values");
}

fn bound(plan: &Plan, name: &str) -> (taut_time::Duration, Vec<TermPlan>) {
    match &plan.tasks[plan.task(name).expect("a task")].class {
        ClassPlan::RealTime { response, terms, .. } => (response.expect("proven"), terms.clone()),
        ClassPlan::BestEffort {} => panic!("real-time"),
    }
}

/// On a core with a dispatcher, and beside a channel, the device thread of the core waits for the device. Every task of the
/// core pays for it, and the plan names it.
#[test]
fn every_task_of_a_core_is_charged_its_device_thread() {
    let native = plan(&draft()).plan;
    assert!(!native.is_watched(&native.tasks[0]));
    assert!(native.overheads.iter().all(|overhead| overhead.name != "device"));
    for (at, (change, named)) in WATCHED.into_iter().enumerate() {
        let mut of = draft();
        change(&mut of);
        let planned = plan(&of);
        assert!(planned.plan.proven, "{at}: {}", shown(&planned.faults));
        let plan_of = ValidPlan::new(planned.plan).expect("a valid plan");
        assert!(plan_of.is_watched(&plan_of.tasks[0]) && !plan_of.is_watched(&plan_of.tasks[1]));
        let overheads: Vec<_> = plan_of.overheads.iter().map(|overhead| overhead.name.as_str()).collect();
        assert_eq!(overheads, ["release", "context-switch", "kernel-blocking", "device"], "{at}");
        for name in ["reads", "controls"] {
            let (response, terms) = bound(&plan_of, name);
            let term = terms.iter().find(|term| term.of.as_deref() == Some(named));
            let term = term.unwrap_or_else(|| panic!("{at}, {name}: {terms:?}"));
            // 2 · 20 us; the switches are in the term of all switches.
            assert!(term.time >= time("40us"), "{at}, {name}: {term:?}");
            // Without the device: as if a channel from outside released the task.
            let mut cheap = of.clone();
            cheap.platform.overheads.device = time("0us");
            let (less, _) = bound(&plan(&cheap).plan, name);
            assert!(less < response, "{at}, {name}: {less} and {response}");
            let explained = explain_task(&plan_of, name).expect("a task");
            assert!(explained.contains(named), "{explained}");
        }
        let memory = plan_of.memory.runtime.as_bytes();
        let stack = taut_plan::STACK_BYTES as u64;
        assert!(memory >= native.memory.runtime.as_bytes() + stack, "{at}: a stack more");
    }
}

/// A core whose device thread has no time left for the tasks.
#[test]
fn a_device_thread_may_be_too_much_for_a_core() {
    for (change, _) in WATCHED {
        let mut of = draft();
        change(&mut of);
        of.platform.overheads.device = time("2400us");
        let planned = plan(&of);
        assert!(!planned.plan.proven);
        let text = shown(&planned.faults);
        assert!(!planned.faults.is_empty(), "{text}");
    }
}

/// What a channel sends that releases the task, too, has a bound.
#[test]
fn what_is_sent_beside_a_device_has_a_bound() {
    let mut of = draft();
    beside(&mut of);
    of.channels[0].takes_per_release = 2;
    let planned = plan(&of);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    let explained = explain_task(&planned.plan, "reads").expect("a task");
    assert!(explained.contains("by device `imu`, `values`, at most every 5ms"), "{explained}");
    // A job of the device may have come just before, so a value waits for a gap more than where it alone releases the task.
    let waiting = |plan: &Plan| plan.channels[0].latency.expect("a bound");
    let mut alone = of.clone();
    let ArrivalDraft::Sporadic { device, .. } = &mut task(&mut alone, "reads").arrival else { panic!() };
    *device = None;
    alone.channels[0].takes_per_release = 1;
    let less = waiting(&plan(&alone).plan);
    let most = waiting(&planned.plan);
    assert!(most > less && most >= time("5ms"), "{less} and {most}");
}

/// Tasks that release each other would never start, unless a device starts one of them.
#[test]
fn a_device_starts_tasks_that_release_each_other() {
    let circle = |device: Option<&str>| {
        let mut of = draft();
        beside(&mut of);
        of.channels.push(queue("answers", "reads", "controls", "Value", None));
        let sporadic = |channel: &str, device: Option<&str>| ArrivalDraft::Sporadic {
            min_gap: time("10ms"),
            triggers: TriggerDraft::only(channel),
            device: device.map(str::to_owned),
        };
        task(&mut of, "reads").arrival = sporadic("values", device);
        task(&mut of, "controls").arrival = sporadic("answers", None);
        of.build()
    };
    let (_, faults) = circle(None);
    assert!(faults.iter().any(|fault| fault.code == codes::TRIGGER_CYCLE), "{}", shown(&faults));
    let (model, faults) = circle(Some("imu"));
    assert!(model.is_some() && faults.is_empty(), "{}", shown(&faults));
}

#[test]
fn a_device_thread_watches_a_limited_number_of_devices() {
    let with = |count: usize| {
        let mut of = draft();
        of.platform.executor = Executor::Dispatched;
        for at in 1..count {
            let name = format!("r{at}");
            of.tasks.push(periodic(&name, "1s", "1s", "20us"));
            task(&mut of, &name).arrival = ArrivalDraft::Sporadic {
                min_gap: time("1s"),
                triggers: Vec::new(),
                device: Some(format!("d{at}")),
            };
        }
        plan(&of)
    };
    let most = with(DEVICES_MAX);
    assert!(most.plan.proven, "{}", shown(&most.faults));
    let over = with(DEVICES_MAX + 1);
    let text = shown(&over.faults);
    assert!(over.faults.iter().any(|fault| fault.code == codes::DEVICES_EXCEEDED), "{text}");
    assert!(text.contains("the device thread of CPU 0 watches 17 devices"), "{text}");
    assert!(!over.plan.proven);
    let said = ValidPlan::new(over.plan.clone()).expect_err("too many").to_string();
    assert!(said.contains("watches 17 devices"), "{said}");
    // Natively each task waits by itself.
    let mut native = over.plan;
    native.cores[0].dispatched = None;
    assert!(ValidPlan::new(native).is_ok());
}

#[test]
fn a_plan_without_a_device_or_a_channel_is_forged() {
    let mut forged = plan(&draft()).plan;
    let ClassPlan::RealTime { arrival, .. } = &mut forged.tasks[0].class else { panic!("real-time") };
    *arrival = Arrival::Sporadic { min_gap: time("5ms"), triggers: Vec::new(), device: None };
    let said = ValidPlan::new(forged).expect_err("forged").to_string();
    assert!(said.contains("no channel releases"), "{said}");
}
