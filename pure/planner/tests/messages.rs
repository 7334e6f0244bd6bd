// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Messages: a lane for each sender, in the order of taking, with its capacity and its bound.

mod drafts;

use drafts::{empty, payload, periodic, plan, proven, queue, shown, task, time};
use insta::assert_snapshot;
use taut_model::{
    ArrivalDraft, BestEffort, ChainDraft, ChannelDraft, ClassDraft, ClientDraft, ClientKind, Draft,
    LatePolicy, Mechanism, MessageLane, MessageOrder, OverflowPolicy, Scalar, TaskDraft, TriggerDraft, codes,
};
use taut_plan::{ChannelPlan, ClassPlan, Plan, ValidPlan, WholeNumber, explain_channel};
use taut_time::Duration;

const SENDERS: [&str; 4] = ["slow", "panel", "fast", "logger"];

/// `serves` receives a message of two tasks, a client and a best-effort task, at most one value every 2 ms.
fn draft(order: MessageOrder) -> Draft {
    let mut draft = empty(&[0]);
    draft.payloads = vec![payload("Request", &[("", Scalar::U64, 2)])];
    draft.tasks = vec![
        periodic("slow", "20ms", "20ms", "200us"),
        periodic("fast", "5ms", "5ms", "200us"),
        periodic("serves", "2ms", "2ms", "100us"),
        TaskDraft {
            name: "logger".into(),
            service: None,
            class: ClassDraft::BestEffort(BestEffort::default()),
        },
    ];
    task(&mut draft, "serves").arrival = ArrivalDraft::Sporadic {
        min_gap: time("2ms"),
        triggers: TriggerDraft::only("requests"),
        device: None,
    };
    draft.clients =
        vec![ClientDraft { name: "panel".into(), kind: ClientKind::Process, max_attached: 1, min_gap: None }];
    let (message, late) = ("requests".into(), LatePolicy::Deliver);
    let lane = Some(MessageLane { message, order, by: None, sender: 0, late });
    let from = SENDERS.map(String::from).to_vec();
    draft.channels = vec![ChannelDraft { from, lane, ..queue("requests", "", "serves", "Request", None) }];
    draft
}

fn senders(plan: &Plan) -> Vec<&str> {
    plan.lanes("requests").iter().map(|(_, lane)| lane.writer.name.as_str()).collect()
}

#[test]
fn lanes_come_by_urgency_and_have_bounds() {
    let plan = proven(&draft(MessageOrder::Sender));
    let names: Vec<&str> = plan.channels.iter().map(|channel| channel.name.as_str()).collect();
    assert_eq!(
        names,
        SENDERS.map(|sender| format!("requests/{sender}")),
        "one lane a sender, as the manifest has them"
    );
    assert_eq!(
        senders(&plan),
        ["fast", "slow", "panel", "logger"],
        "real-time senders first, the most urgent first"
    );
    let message = plan.message("requests").expect("a message");
    // A value every 20 ms and one every 5 ms, of one taken every 2 ms.
    assert_eq!((message.used_permille, message.takes, message.receiver), (500, 1, "serves"));
    let bounds: Vec<bool> = message.senders.iter().map(|sender| sender.delivery.is_some()).collect();
    assert_eq!(bounds, [true, true, false, false]);
    let response = |name: &str| match &plan.tasks[plan.task(name).expect("a task")].class {
        ClassPlan::RealTime { response, .. } => response.expect("proven"),
        ClassPlan::BestEffort {} => panic!("{name} is best-effort"),
    };
    // The most urgent waits for one job that takes another value, and for the job that takes it.
    let least = time("2ms").checked_add(response("serves")).expect("fits");
    assert_eq!(message.senders[0].delivery, Some(least));
    assert!(message.senders[1].delivery > Some(least));
    let ClassPlan::RealTime { arrival, .. } = &plan.tasks[plan.task("serves").expect("it")].class else {
        panic!("real-time")
    };
    assert_eq!(arrival.triggers(), SENDERS.map(|sender| format!("requests/{sender}")));
    assert_snapshot!(explain_channel(&plan, "requests").expect("a message"));
}

/// A priority that the manifest states decides, against the deadlines.
#[test]
fn priorities_decide_before_deadlines() {
    let mut stated = draft(MessageOrder::Sender);
    for (name, priority) in [("serves", 60), ("slow", 50), ("fast", 40)] {
        task(&mut stated, name).priority = Some(priority);
    }
    assert_eq!(senders(&proven(&stated)), ["slow", "fast", "panel", "logger"]);
}

/// First in, first out: each real-time sender waits for the others, whatever their priorities.
#[test]
fn fifo_bounds_all_alike() {
    let plan = proven(&draft(MessageOrder::Fifo));
    let by_sender = proven(&draft(MessageOrder::Sender));
    let bounds = |plan: &Plan| {
        let message = plan.message("requests").expect("a message");
        message.senders.iter().map(|sender| sender.delivery).collect::<Vec<_>>()
    };
    let (fifo, urgent) = (bounds(&plan), bounds(&by_sender));
    assert_eq!(fifo[0], fifo[1]);
    assert!(fifo[0] > urgent[0] && fifo[1] <= urgent[1], "{fifo:?} {urgent:?}");
    assert_eq!(fifo[2..], [None, None]);
}

/// The message with values that say how urgent they are.
fn specified() -> Draft {
    let mut draft = draft(MessageOrder::Specified);
    draft.payloads = vec![payload(
        "Request",
        &[("level", Scalar::I32, 1), ("share", Scalar::F32, 1), ("parts", Scalar::U16, 4)],
    )];
    by(&mut draft, Some("level"));
    draft
}

/// Several payloads: a lane has room for the largest behind its number, and a number that all have at one place orders it.
#[test]
fn several_payloads_share_a_lane() {
    let mut draft = draft(MessageOrder::Specified);
    draft.payloads = vec![
        payload(
            "Volume",
            &[("urgency", Scalar::U16, 1), ("fade", Scalar::U16, 3), ("level", Scalar::F32, 3)],
        ),
        payload("mute", &[("urgency", Scalar::U16, 1)]),
    ];
    draft.channels[0].payload = String::new();
    draft.channels[0].one_of = ["Volume", "mute"].map(String::from).to_vec();
    by(&mut draft, Some("urgency"));
    let plan = proven(&draft);
    for lane in &plan.channels {
        assert_eq!(lane.layout, "Volume{urgency:u16,fade:u16*3,level:f32*3}|mute{urgency:u16}");
        assert_eq!(lane.size, 8 + 24);
        let urgency = WholeNumber::in_layout(&lane.layout, "urgency");
        assert_eq!(urgency, Some(WholeNumber { offset: 8, bytes: 2, signed: false }));
        assert_eq!(
            lane.ros_definition(),
            "uint64 Volume=0\nuint64 mute=1\nuint64 payload\nuint8[24] bytes\n"
        );
    }
    let message = plan.message("requests").expect("a message");
    assert_eq!(message.payloads, ["Volume", "mute"]);
    assert!(message.lines()[0].ends_with("% used; each is one of Volume, mute"), "{}", message.lines()[0]);
    assert_eq!(proven(&specified()).message("requests").expect("a message").payloads, [""; 0]);
}

/// Where the oldest value gives way, it is that of a sender that is not real-time: the lanes of the others stay as they are.
#[test]
fn lanes_that_drop_are_not_real_time() {
    for order in [MessageOrder::Sender, MessageOrder::Fifo] {
        let mut dropping = draft(order);
        dropping.channels[0].overflow = OverflowPolicy::DropOldest;
        let (plan, rejecting) = (proven(&dropping), proven(&draft(order)));
        let lanes: Vec<_> = plan
            .lanes("requests")
            .iter()
            .map(|(_, lane)| (lane.writer.name.as_str(), lane.mechanism, lane.overflow))
            .collect();
        let (rejects, drops) = (OverflowPolicy::Reject, OverflowPolicy::DropOldest);
        assert_eq!(
            lanes,
            [
                ("fast", Mechanism::Qrtr, rejects),
                ("slow", Mechanism::Qrtr, rejects),
                ("panel", Mechanism::Qrtwo, drops),
                ("logger", Mechanism::Qrtwo, drops)
            ]
        );
        // A sender that is not real-time may wake the receiver's dispatcher in vain, once in a gap, whether it drops its values
        // or not; one of these looks releases the job.
        let mut alone = draft(order);
        alone.channels[0].from.retain(|name| name != "logger");
        let (alone, look) = (proven(&alone), time("5us"));
        let of = |plan: &Plan, more: Duration| {
            let latency =
                |lane: &ChannelPlan| lane.latency.map(|bound| bound.checked_add(more).expect("a time"));
            plan.channels.iter().map(|lane| (lane.capacity, latency(lane))).collect::<Vec<_>>()
        };
        assert_eq!(of(&plan, Duration::ZERO), of(&rejecting, Duration::ZERO));
        assert_eq!(of(&plan, Duration::ZERO)[..3], of(&alone, look)[..3]);
        // A plan in which a real-time sender would lose a value is none.
        let mut forged = plan.clone();
        let at = forged.channels.iter().position(|lane| lane.writer.name == "fast").expect("a lane");
        forged.channels[at].overflow = drops;
        assert!(ValidPlan::new(forged).is_err());
    }
    let mut clearing = draft(MessageOrder::Sender);
    clearing.channels[0].overflow = OverflowPolicy::Clear;
    let (_, faults) = clearing.build();
    assert!(faults.iter().any(|fault| fault.code == codes::BAD_OVERFLOW));
}

/// As the manifest states `order-by`.
fn by(draft: &mut Draft, field: Option<&str>) {
    let channel = &mut draft.channels[0];
    channel.order_by = field.map(str::to_owned);
    channel.lane.as_mut().expect("a message").by = channel.order_by.clone();
}

/// By what a value says: any other may go first, so all have the bound of the whole window, and none is less than in the
/// other orders.
#[test]
fn specified_bounds_all_by_the_window() {
    let plan = proven(&specified());
    let bounds = |plan: &Plan| {
        let message = plan.message("requests").expect("a message");
        message.senders.iter().map(|sender| sender.delivery).collect::<Vec<_>>()
    };
    let found = bounds(&plan);
    assert!(found[0].is_some() && found[0] == found[1], "{found:?}");
    assert_eq!(found[2..], [None, None]);
    for order in [MessageOrder::Sender, MessageOrder::Fifo] {
        let others = bounds(&proven(&draft(order)));
        assert!(found[..2].iter().zip(&others).all(|(found, other)| found >= other), "{found:?} {others:?}");
    }
    let message = plan.message("requests").expect("it");
    assert_eq!(message.by, Some("level"));
    assert!(message.lines()[0].contains("the largest `level` first"), "{:?}", message.lines());
    // Of senders that use all that is taken, a value may be overtaken for ever.
    let mut full = specified();
    full.channels[0].sends_by_sender = vec![("fast".into(), 2), ("slow".into(), 2)];
    let (model, faults) = full.clone().build();
    assert!(model.is_some(), "{}", shown(&faults));
    let refused = refusals(&full);
    assert!(
        refused.iter().all(|fault| fault.code == codes::NO_DELIVERY) && refused.len() == 2,
        "{}",
        shown(&refused)
    );
}

/// What the planner refuses of a draft that the model takes.
fn refusals(draft: &Draft) -> Vec<taut_model::Fault> {
    let planned = plan(draft);
    assert!(!planned.plan.proven);
    planned.faults
}

#[test]
fn what_orders_a_message_is_checked() {
    let refused = |change: &dyn Fn(&mut Draft)| {
        let mut wrong = specified();
        change(&mut wrong);
        let (model, faults) = wrong.build();
        assert!(model.is_none());
        let codes: Vec<_> = faults.iter().map(|fault| fault.code).collect();
        (codes, shown(&faults))
    };
    for (field, help) in
        [("levels", "did you mean `level`?"), ("share", "it has `level`"), ("parts", "it has `level`")]
    {
        let (found, text) = refused(&|draft| by(draft, Some(field)));
        assert_eq!(found, [codes::BAD_ORDER], "{text}");
        assert!(text.contains(help), "{text}");
    }
    let (found, text) = refused(&|draft| by(draft, None));
    assert_eq!(found, [codes::BAD_ORDER], "{text}");
    let (found, text) = refused(&|draft| {
        draft.channels[0].lane.as_mut().expect("a message").order = MessageOrder::Fifo;
    });
    assert_eq!(found, [codes::MISPLACED_KEY], "{text}");
    // A payload without a name for its numbers.
    let (found, text) = refused(&|draft| draft.payloads = vec![payload("Request", &[("", Scalar::U64, 2)])]);
    assert_eq!(found, [codes::BAD_ORDER], "{text}");
    assert!(text.contains("give the payload such a field"), "{text}");
    // A queue has no order.
    let (found, text) = refused(&|draft| {
        let channel = &mut draft.channels[0];
        (channel.lane, channel.from) = (None, vec!["slow".into()]);
    });
    assert!(found.contains(&codes::MISPLACED_KEY), "{text}");
}

/// A client that floods its lane, or states no gap, changes nothing for real-time senders, and a second sender that is not
/// real-time adds a look of the dispatcher; a client that states a gap has a lane of a size that fits.
#[test]
fn senders_that_are_not_real_time_come_last() {
    for order in [MessageOrder::Sender, MessageOrder::Fifo] {
        let mut alone = draft(order);
        alone.channels[0].from = ["slow", "fast"].map(String::from).to_vec();
        alone.clients.clear();
        let mut client = draft(order);
        client.channels[0].from.retain(|name| name != "logger");
        let (alone, client, both) = (proven(&alone), proven(&client), proven(&draft(order)));
        let of = |plan: &Plan| {
            plan.message("requests").expect("it").senders[..2].iter().map(|s| s.delivery).collect::<Vec<_>>()
        };
        assert_eq!(of(&alone), of(&client));
        let looked = |bound: Option<Duration>| bound.and_then(|bound| bound.checked_add(time("5us")));
        assert_eq!(of(&client).into_iter().map(looked).collect::<Vec<_>>(), of(&both));
        let mut gap = draft(order);
        gap.clients[0].min_gap = Some(time("10ms"));
        gap.channels[0].from.pop();
        let gap = proven(&gap);
        let panel = &gap.channels[gap.channel("requests/panel").expect("a lane")];
        assert!(panel.capacity_reason.as_deref().is_some_and(|why| why.starts_with("at most")), "{panel:?}");
        assert_eq!(panel.latency, None);
    }
}

/// What each sender sends counts by itself, and all together against what the receiver takes.
#[test]
fn rates_add_up() {
    let mut more = draft(MessageOrder::Sender);
    more.channels[0].sends_by_sender = vec![("fast".into(), 2)];
    let plan = proven(&more);
    let sends = |name: &str| plan.channels[plan.channel(name).expect("a lane")].sends_per_release;
    assert_eq!((sends("requests/fast"), sends("requests/slow")), (2, 1));
    assert_eq!(plan.message("requests").expect("it").used_permille, 900);
    // 2/5 + 2/20 of one every 2 ms is all that it takes; one more is too much.
    more.channels[0].sends_by_sender.push(("slow".into(), 2));
    assert_eq!(proven(&more).message("requests").expect("it").used_permille, 1_000);
    more.channels[0].sends_by_sender[1].1 = 3;
    let (model, faults) = more.clone().build();
    assert!(model.is_none());
    assert_eq!(faults.iter().map(|fault| fault.code).collect::<Vec<_>>(), [codes::RATE_OVERFLOW]);
    assert_snapshot!(shown(&faults));
    // Two in each job are enough again.
    more.channels[0].takes_per_release = 2;
    assert_eq!(proven(&more).message("requests").expect("it").used_permille, 550);
}

/// A stated capacity that a real-time sender could fill is refused at its number.
#[test]
fn a_lane_is_never_full() {
    let mut small = draft(MessageOrder::Sender);
    small.channels[0].sends_by_sender = vec![("fast".into(), 2)];
    small.channels[0].capacity = Some(2);
    assert!(plan(&small).plan.proven, "two at once, and the next job of the sender finds room");
    task(&mut small, "fast").deadline = time("5ms");
    small.channels[0].sends_by_sender = vec![("slow".into(), 3)];
    small.channels[0].sends_per_release = 1;
    let (model, faults) = small.build();
    assert!(model.is_none());
    assert_eq!(faults[0].code, codes::BAD_CAPACITY, "{}", shown(&faults));
}

/// A chain goes through a message by its name.
#[test]
fn a_chain_goes_through_a_lane() {
    let mut chained = draft(MessageOrder::Sender);
    chained.chains = vec![ChainDraft {
        name: "asks".into(),
        path: ["slow", "requests", "serves"].map(String::from).to_vec(),
        max_latency: time("100ms"),
        max_reaction: Some(time("200ms")),
    }];
    let plan = proven(&chained);
    let chain = &plan.chains[0];
    assert_eq!(chain.path[1].name, "requests/slow");
    let lane = plan.channels[plan.channel("requests/slow").expect("a lane")].latency.expect("a bound");
    let response = |name: &str| match &plan.tasks[plan.task(name).expect("a task")].class {
        ClassPlan::RealTime { response, .. } => response.expect("proven"),
        ClassPlan::BestEffort {} => panic!("{name}"),
    };
    // The sender responds, and the value is handled within the bound of the lane.
    assert_eq!(chain.latency, response("slow").checked_add(lane));
    chained.chains[0].path[0] = "serves".into();
    let (model, faults) = chained.build();
    assert!(model.is_none());
    assert_eq!(faults[0].code, codes::BROKEN_CHAIN, "{}", shown(&faults));
}

/// What a `taut.lock` that nobody planned could say about lanes.
#[test]
fn forged_lanes_are_refused() {
    let plan = proven(&draft(MessageOrder::Sender));
    let refused = |change: &dyn Fn(&mut Plan)| {
        let mut forged = plan.clone();
        change(&mut forged);
        ValidPlan::new(forged).expect_err("forged").to_string()
    };
    let lane = |plan: &mut Plan, at: usize, change: &dyn Fn(&mut taut_plan::LanePlan)| {
        change(plan.channels[at].lane.as_mut().expect("a lane"));
    };
    assert!(refused(&|plan| plan.channels[0].lane = None).contains("called as a part of another"));
    assert!(refused(&|plan| lane(plan, 0, &|lane| lane.message = "others".into())).contains("not called"));
    assert!(refused(&|plan| lane(plan, 0, &|lane| lane.rank = 7)).contains("rank"));
    assert!(refused(&|plan| lane(plan, 0, &|lane| lane.takes = 2)).contains("not of one message"));
    assert!(
        refused(&|plan| lane(plan, 0, &|lane| lane.order = MessageOrder::Fifo))
            .contains("not of one message")
    );
    let mut ordered = proven(&specified());
    let text = |plan: &Plan| ValidPlan::new(plan.clone()).expect_err("forged").to_string();
    for channel in &mut ordered.channels {
        channel.lane.as_mut().expect("a lane").by = Some("share".into());
    }
    assert!(text(&ordered).contains("no whole number"), "{}", text(&ordered));
    for channel in &mut ordered.channels {
        channel.lane.as_mut().expect("a lane").by = None;
    }
    assert!(text(&ordered).contains("no whole number"), "{}", text(&ordered));
    // The client before a real-time task.
    let swapped = refused(&|plan| {
        lane(plan, 0, &|lane| lane.rank = 2);
        lane(plan, 1, &|lane| lane.rank = 1);
    });
    assert!(swapped.contains("comes after"), "{swapped}");
}
