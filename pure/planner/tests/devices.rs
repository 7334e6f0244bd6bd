// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Tasks that devices release: analysed as sporadic ones, on cores where Linux decides.

mod drafts;

use drafts::{empty, payload, periodic, plan, queue, shown, task, time};
use taut_model::{
    ArrivalDraft, Draft, Executor, LatePolicy, MessageLane, MessageOrder, Overrun, Scalar, SchedulingPolicy,
    TriggerDraft, codes,
};
use taut_plan::{Arrival, ClassPlan, Plan, ValidPlan, explain_task};

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
    let (found, text) = refused(|draft| {
        draft.payloads = vec![payload("Value", &[("", Scalar::U64, 1)])];
        draft.channels = vec![queue("values", "controls", "reads", "Value", None)];
        let ArrivalDraft::Sporadic { triggers, .. } = &mut task(draft, "reads").arrival else { panic!() };
        *triggers = TriggerDraft::only("values");
    });
    assert_eq!(found, [codes::BAD_TRIGGER], "{text}");
    assert!(text.contains("a device and a channel"), "{text}");
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

/// On a core with a dispatcher no thread waits for a device.
#[test]
fn a_dispatched_core_refuses_devices() {
    type Change = fn(&mut Draft);
    let changes: [(Change, &str); 3] = [
        (|draft| draft.platform.executor = Executor::Dispatched, "the manifest asks for it"),
        (|draft| draft.platform.scheduler = SchedulingPolicy::Edf, "jobs go by their deadlines"),
        (|draft| task(draft, "controls").on_overrun = Overrun::KillJob, "late jobs of task `controls`"),
    ];
    for (change, why) in changes {
        let (found, text) = refused(change);
        assert_eq!(found, [codes::EXECUTOR_MISFIT], "{text}");
        assert!(text.contains(why), "{text}");
    }
    // Another core of the same application may have a dispatcher.
    let mut two = draft();
    two.platform.cores = vec![0, 1];
    task(&mut two, "reads").core = Some(0);
    task(&mut two, "controls").core = Some(1);
    task(&mut two, "controls").on_overrun = Overrun::KillJob;
    let planned = plan(&two);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    let mut forged = planned.plan.clone();
    forged.cores[0].dispatched = Some("forged".to_owned());
    let said = ValidPlan::new(forged).expect_err("forged").to_string();
    assert!(said.contains("on a core with a dispatcher"), "{said}");
    let mut forged = planned.plan;
    let ClassPlan::RealTime { arrival, .. } = &mut forged.tasks[0].class else { panic!("real-time") };
    *arrival = Arrival::Sporadic { min_gap: time("5ms"), triggers: Vec::new(), device: None };
    let said = ValidPlan::new(forged).expect_err("forged").to_string();
    assert!(said.contains("no channel releases"), "{said}");
}
