// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Alarms: slots for each setter, and one bound for all.

mod drafts;

use drafts::{empty, payload, periodic, plan, proven, queue, shown, task, time};
use insta::assert_snapshot;
use taut_model::{
    ArrivalDraft, BestEffort, ChannelDraft, ClassDraft, Draft, LatePolicy, Mechanism, MessageLane,
    MessageOrder, Scalar, TaskDraft, TriggerDraft, codes,
};
use taut_plan::{ClassPlan, Plan, ValidPlan, explain_channel};

const SETTERS: [&str; 3] = ["control", "device", "logger"];

/// `control` receives alarms of itself, of a task and of a best-effort task, at most one every 2 ms.
fn draft(capacity: i64, takes: u32) -> Draft {
    let mut draft = empty(&[0]);
    draft.payloads = vec![payload("Timeout", &[("", Scalar::U64, 2)])];
    draft.tasks = vec![
        periodic("device", "5ms", "5ms", "200us"),
        periodic("control", "2ms", "2ms", "100us"),
        TaskDraft {
            name: "logger".into(),
            service: None,
            class: ClassDraft::BestEffort(BestEffort::default()),
        },
    ];
    task(&mut draft, "control").arrival = ArrivalDraft::Sporadic {
        min_gap: time("2ms"),
        triggers: TriggerDraft::only("timeouts"),
        device: None,
    };
    let (order, late) = (MessageOrder::Instant, LatePolicy::Refuse);
    let lane = Some(MessageLane { message: "timeouts".into(), order, by: None, sender: 0, late });
    let from = SETTERS.map(String::from).to_vec();
    draft.channels = vec![ChannelDraft {
        from,
        lane,
        takes_per_release: takes,
        ..queue("timeouts", "", "control", "Timeout", Some(capacity))
    }];
    draft
}

/// The bound is a gap for each share of all slots, and the response: whoever the setters are.
#[test]
fn all_alarms_have_the_bound_of_all_slots() {
    for (capacity, takes, jobs) in [(1, 1, 3), (4, 1, 12), (4, 5, 3), (4, 12, 1)] {
        let plan = proven(&draft(capacity, takes));
        let ClassPlan::RealTime { response, .. } = &plan.tasks[plan.task("control").expect("it")].class
        else {
            panic!("real-time")
        };
        let gaps = time("2ms").checked_mul(jobs).expect("fits");
        let bound = gaps.checked_add(response.expect("proven"));
        let alarm = plan.message("timeouts").expect("an alarm");
        for setter in &alarm.senders {
            assert_eq!((setter.delivery, u64::from(setter.capacity)), (bound, capacity as u64));
        }
        assert!(plan.channels.iter().all(|of| of.mechanism == Mechanism::TimedSlots && of.latency == bound));
        let late = plan.channels[0].lane.as_ref().expect("a lane").late;
        assert_eq!((alarm.order, alarm.used_permille, late), (MessageOrder::Instant, 0, LatePolicy::Refuse));
    }
    assert_snapshot!(explain_channel(&proven(&draft(4, 2)), "timeouts").expect("an alarm"));
}

/// What the receiver keeps for each slot counts, beside the slots.
#[test]
fn the_order_of_instants_takes_memory() {
    let [few, many] = [1, 1001].map(|capacity| proven(&draft(capacity, 3000)).memory);
    assert_eq!(many.runtime.as_bytes() - few.runtime.as_bytes(), 3 * 72 * 1000);
    assert!(many.process.as_bytes() - few.process.as_bytes() > 3 * (32 + 8 + 24) * 1000);
}

/// How many alarms may be pending does not change what the cores are proven to do.
#[test]
fn the_cores_do_not_notice() {
    let responses = |capacity| {
        let plan = proven(&draft(capacity, 1));
        let response = |of: &taut_plan::TaskPlan| match &of.class {
            ClassPlan::RealTime { response, .. } => *response,
            ClassPlan::BestEffort {} => None,
        };
        plan.tasks.iter().map(response).collect::<Vec<_>>()
    };
    assert_eq!(responses(1), responses(1000));
}

/// An alarm of a periodic task comes at any instant, unlike what that task sends: the receiver, alone on its core, may be as
/// late as its bound.
#[test]
fn an_alarm_does_not_follow_its_setter() {
    let test = |order| {
        let mut apart = draft(1, 1);
        apart.platform.cores = vec![0, 1];
        (task(&mut apart, "device").core, task(&mut apart, "control").core) = (Some(0), Some(1));
        apart.channels[0].from = vec!["device".into()];
        let late = LatePolicy::Deliver;
        apart.channels[0].lane =
            Some(MessageLane { message: "timeouts".into(), order, by: None, sender: 0, late });
        let plan = proven(&apart);
        match &plan.tasks[plan.task("control").expect("it")].class {
            ClassPlan::RealTime { test, .. } => test.clone(),
            ClassPlan::BestEffort {} => panic!("real-time"),
        }
    };
    assert!(test(MessageOrder::Instant).contains("exact"), "{}", test(MessageOrder::Instant));
    assert!(!test(MessageOrder::Sender).contains("exact"), "{}", test(MessageOrder::Sender));
}

#[test]
fn a_bound_that_no_number_holds_is_a_fault() {
    let mut long = draft(65_536, 1);
    for name in ["control", "device"] {
        task(&mut long, name).deadline = time("200000000s");
    }
    task(&mut long, "control").arrival = ArrivalDraft::Sporadic {
        min_gap: time("200000000s"),
        triggers: TriggerDraft::only("timeouts"),
        device: None,
    };
    task(&mut long, "device").arrival =
        ArrivalDraft::Periodic { period: time("200000000s"), offset: time("0s") };
    let planned = plan(&long);
    assert!(
        planned.faults.iter().any(|fault| fault.code == codes::NO_DELIVERY),
        "{}",
        shown(&planned.faults)
    );
}

/// What a `taut.lock` that nobody planned could say about alarms.
#[test]
fn forged_alarms_are_refused() {
    let plan = proven(&draft(4, 1));
    let refused = |change: &dyn Fn(&mut Plan)| {
        let mut forged = plan.clone();
        change(&mut forged);
        ValidPlan::new(forged).expect_err("forged").to_string()
    };
    let lane = |plan: &mut Plan, at: usize, change: &dyn Fn(&mut taut_plan::LanePlan)| {
        change(plan.channels[at].lane.as_mut().expect("a lane"));
    };
    let late = refused(&|plan| lane(plan, 0, &|lane| lane.late = LatePolicy::Deliver));
    assert!(late.contains("not of one message"), "{late}");
    // A message whose sender receives it, or whose lanes are slots.
    let message =
        refused(&|plan| (0..3).for_each(|at| lane(plan, at, &|lane| lane.order = MessageOrder::Sender)));
    assert!(message.contains("twice") || message.contains("Timed Slots"), "{message}");
    let queue = refused(&|plan| plan.channels[1].mechanism = Mechanism::Qrtr);
    assert!(queue.contains("QrtR"), "{queue}");
    let client = refused(&|plan| {
        plan.clients.push("ui".into());
        let channel = &mut plan.channels[2];
        channel.name = "timeouts/ui".into();
        (channel.writer.name, channel.writer.client) = ("ui".into(), true);
        plan.tasks.iter_mut().for_each(|of| {
            if let ClassPlan::RealTime { arrival: taut_plan::Arrival::Sporadic { triggers, .. }, .. } =
                &mut of.class
            {
                triggers[2] = "timeouts/ui".into();
            }
        });
    });
    assert!(client.contains("timeouts/ui"), "{client}");
}
