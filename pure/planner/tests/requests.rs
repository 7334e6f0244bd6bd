// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Requests: the lanes of a message, and a queue of replies to each caller, with room for each request that may be open.

mod drafts;

use drafts::{empty, payload, periodic, proven, queue, time};
use insta::assert_snapshot;
use taut_model::{
    BestEffort, ChannelDraft, ClassDraft, ClientDraft, ClientKind, Draft, LatePolicy, MessageLane,
    MessageOrder, Reception, Scalar, Severity, TaskDraft,
};
use taut_plan::{MemoryMap, Plan, ValidPlan, explain_channel};

/// `control` answers a client and an ordinary task.
fn draft() -> Draft {
    let mut draft = empty(&[0]);
    draft.payloads =
        vec![payload("Ask", &[("what", Scalar::U32, 1)]), payload("Told", &[("", Scalar::F32, 4)])];
    draft.tasks = vec![
        periodic("control", "2ms", "2ms", "300us"),
        TaskDraft {
            name: "logger".into(),
            service: None,
            class: ClassDraft::BestEffort(BestEffort::default()),
        },
    ];
    draft.clients =
        vec![ClientDraft { name: "panel".into(), kind: ClientKind::Process, max_attached: 1, min_gap: None }];
    let (message, order) = ("parameters".to_owned(), MessageOrder::Fifo);
    draft.channels = vec![ChannelDraft {
        from: vec!["panel".into(), "logger".into()],
        lane: Some(MessageLane { message, order, by: None, sender: 0, late: LatePolicy::Deliver }),
        request: true,
        reply: Some("Told".into()),
        takes_per_release: 2,
        ..queue("parameters", "panel", "control", "Ask", Some(4))
    }];
    draft
}

/// The faults of a draft that yields no model.
fn refused(edit: impl FnOnce(&mut Draft)) -> String {
    let mut draft = draft();
    edit(&mut draft);
    let (model, faults) = draft.build();
    assert!(model.is_none());
    let errors = faults.iter().filter(|fault| fault.severity == Severity::Error);
    errors
        .map(|fault| format!("{} {} at {}\n", fault.code, fault.message, fault.primary.place.path()))
        .collect()
}

#[test]
fn each_caller_has_replies_of_its_own() {
    let plan = proven(&draft());
    let channels: Vec<_> = plan
        .channels
        .iter()
        .map(|of| {
            (of.name.as_str(), of.writer.name.as_str(), of.readers[0].name.as_str(), of.capacity, of.place)
        })
        .collect();
    assert_eq!(
        channels,
        [
            ("parameters/panel", "panel", "control", 4, MemoryMap::Segment),
            ("parameters/logger", "logger", "control", 4, MemoryMap::Process),
            ("parameters_reply/panel", "control", "panel", 9, MemoryMap::Segment),
            ("parameters_reply/logger", "control", "logger", 9, MemoryMap::Process),
        ]
    );
    let open = |caller: &str| plan.replies("parameters", caller).map(|(_, replies)| replies.open_requests());
    assert_eq!([open("panel"), open("logger"), open("control")], [Some(4), Some(4), None]);
    assert!(plan.is_request("parameters") && !plan.is_request("parameters/panel"));
    assert_snapshot!(explain_channel(&plan, "parameters").expect("a request"), @"
request parameters -> control: 2 taken every 2ms, first sent, first taken
  panel   4 open at most, each with a reply
  logger  4 open at most, each with a reply

parameters/panel: holds 4; as the manifest states

parameters/logger: holds 4; as the manifest states

parameters_reply/panel: holds 9; at most 4 requests of `panel` are open, and as many and one are answered that it gave up or that were sent before it attached

parameters_reply/logger: holds 9; at most 4 requests of `logger` are open, and as many and one are answered that it gave up or that were sent before it attached

the receiver answers each request that it takes, or the caller learns that it did not; a reply always finds room if the caller keeps to its number of open requests
");
}

/// What a caller that keeps its least gap has open is bounded by rates, as the lane of a message is.
#[test]
fn replies_follow_the_lane() {
    let mut draft = draft();
    draft.channels[0].capacity = None;
    let plan = proven(&draft);
    let capacity = |name: &str| plan.channels[plan.channel(name).expect("a channel")].capacity;
    for caller in ["logger", "panel"] {
        let (replies, lane) = (format!("parameters_reply/{caller}"), format!("parameters/{caller}"));
        assert_eq!(capacity(&replies), 2 * capacity(&lane) + 1);
    }
}

/// A caller that sleeps is woken by the receiver, which the plan charges.
#[test]
fn callers_that_wait_cost_the_receiver() {
    let mut draft = draft();
    let response = |draft: &Draft| {
        let plan = proven(draft);
        let line = plan.replies("parameters", "panel").expect("replies").1.readers[0].event_count;
        let taut_plan::ClassPlan::RealTime { response, .. } = &plan.tasks[0].class else {
            panic!("real-time")
        };
        (line.is_some(), response.expect("a bound"))
    };
    let (polled, alone) = response(&draft);
    draft.channels[0].reception = Reception::Wait;
    let (waits, woken) = response(&draft);
    assert!(!polled && waits);
    assert!(woken >= alone.checked_add(time("5us")).expect("a time"), "{woken} behind {alone}");
}

#[test]
fn mistakes_are_refused_once() {
    let texts = [
        refused(|draft| draft.channels[0].reply = None),
        refused(|draft| draft.channels[0].reply = Some("Tol".into())),
        refused(|draft| draft.channels[0].request = false),
        refused(|draft| {
            draft.tasks.push(periodic("steer", "5ms", "5ms", "1ms"));
            draft.channels[0].from.push("steer".into());
        }),
        refused(|draft| draft.channels[0].from.push("panl".into())),
        refused(|draft| draft.channels[0].from.push("panel".into())),
        refused(|draft| draft.channels[0].from.push("control".into())),
        refused(|draft| draft.channels[0].to = vec!["logger".into()]),
        refused(|draft| draft.channels[0].to.push("logger".into())),
        refused(|draft| draft.channels[0].capacity = Some(0)),
        refused(|draft| draft.channels[0].takes_per_release = 0),
    ];
    assert_snapshot!(texts.join("-\n"), @"
TAUT0451 request `parameters` does not say what a reply is at channels.parameters
-
TAUT0302 there is no payload `Tol` at channels.parameters.reply
-
TAUT0113 message `parameters` has a payload for replies at channels.parameters.reply
-
TAUT0451 real-time task `steer` calls request `parameters` at channels.parameters.from.2
-
TAUT0302 there is no task or client `panl` at channels.parameters.from.2
-
TAUT0405 `panel` appears twice in `from` of request `parameters` at channels.parameters.from.2
-
TAUT0405 `control` writes to and reads from channel `parameters/control` at channels.parameters.to.0
TAUT0451 real-time task `control` calls request `parameters` at channels.parameters.from.2
-
TAUT0405 `logger` writes to and reads from channel `parameters/logger` at channels.parameters.to.0
TAUT0410 request `parameters` goes to a party that is not real-time at channels.parameters.to
-
TAUT0404 request `parameters` has 2 readers at channels.parameters.to
TAUT0405 `logger` writes to and reads from channel `parameters/logger` at channels.parameters.to.1
-
TAUT0408 request `parameters/panel` has a capacity of 0 at channels.parameters.capacity
-
TAUT0112 channel `parameters/panel` transfers no value at channels.parameters.takes-per-release
");
}

/// A plan that says something else of its replies is refused: the runtime relies on it.
#[test]
fn forged_replies_are_refused() {
    let refused = |change: &dyn Fn(&mut Plan)| {
        let mut plan = proven(&draft());
        change(&mut plan);
        ValidPlan::new(plan).expect_err("a forged plan").to_string()
    };
    let texts = [
        refused(&|plan| plan.channels[2].answers = None),
        refused(&|plan| plan.channels[2].answers.as_mut().expect("replies").request = "other".into()),
        refused(&|plan| {
            plan.channels[3].answers = None;
            plan.channels[3].name = "other".into();
        }),
        refused(&|plan| plan.channels[3].readers[0].triggered = true),
    ];
    assert_snapshot!(texts.join("\n"), @"
channel `parameters_reply/panel` is called as a part of another, but is none
channel `parameters_reply/panel` has replies of `other` and is not called `other_reply/panel`
request `parameters` has a lane without replies
channel `parameters_reply/logger` releases `logger`, which does not wait for it
");
}
