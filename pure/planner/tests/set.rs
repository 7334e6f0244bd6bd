// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The task set that a simulation gets from a model: what the manifest says, with margins and overheads.

mod drafts;

use drafts::{Edit, empty, hold, model, periodic, run, time};
use taut_model::{
    ArrivalDraft, ArrivalPattern, BestEffort, Body, ClassDraft, Segment, ServerDraft, ServerPolicy, SetFault,
    Shared, TaskDraft, Wrong,
};
use taut_planner::Planned;
use taut_time::Duration;

#[test]
fn segments_keep_their_order_and_their_nesting() {
    let mut draft = empty(&[0]);
    draft.platform.overheads.context_switch = time("10us");
    draft.resources = ["log", "bus"].map(|name| Shared { name: name.into(), protocol: None }).to_vec();
    draft.tasks = vec![periodic("slow", "50ms", "50ms", "10ms").with(|task| {
        task.wcet.margin_permille = 500;
        task.segments =
            vec![run("1ms"), hold("log", vec![run("2ms"), hold("bus", vec![run("400us")])]), run("800us")];
    })];
    let set = taut_planner::task_set(&model(&draft)).expect("a set");
    let normal = |longest: &str| Segment::Normal(time(longest));
    let inner = Segment::Section { resource: 1, inside: vec![normal("600us")] };
    let outer = Segment::Section { resource: 0, inside: vec![normal("3ms"), inner] };
    // 15 ms with the margin, less 1.5, 3, 0.6 and 1.2 ms.
    let segments = vec![normal("20us"), normal("1500us"), outer, normal("1200us"), normal("8700us")];
    assert_eq!(set.tasks()[0].body, Body::Segments(segments));
}

/// A charge that does not fit in 64 bits is a fault of its task; it is not left out.
#[test]
fn a_charge_that_does_not_fit_is_a_fault() {
    let mut draft = empty(&[0]);
    draft.tasks = vec![periodic("own", "10ms", "10ms", "1ms")];
    draft.platform.overheads.context_switch = Duration::MAX;
    let faults = taut_planner::task_set(&model(&draft)).expect_err("two switches do not fit");
    assert_eq!(faults, [SetFault { task: 0, what: Wrong::Overflow }]);
}

/// The phase of a task is its offset within a period; a server, whose releases have no known instants, has none.
#[test]
fn a_phase_is_that_of_a_periodic_task() {
    let mut draft = empty(&[0]);
    let offset =
        |period: &str, offset: &str| ArrivalDraft::Periodic { period: time(period), offset: time(offset) };
    draft.tasks = vec![
        periodic("own", "10ms", "10ms", "1ms").with(|task| task.arrival = offset("10ms", "23ms")),
        TaskDraft {
            name: "answers".into(),
            service: None,
            class: ClassDraft::BestEffort(BestEffort { min_gap: None, server: Some("share".into()) }),
        },
    ];
    draft.servers = vec![ServerDraft {
        name: "share".into(),
        policy: ServerPolicy::Polling,
        budget: time("1ms"),
        period: time("20ms"),
        core: None,
        priority: None,
    }];
    let set = taut_planner::task_set(&model(&draft)).expect("a set");
    let arrivals = |at: usize| (set.tasks()[at].name.as_str(), set.tasks()[at].arrivals);
    assert_eq!(arrivals(0), ("own", ArrivalPattern::Phased(time("3ms"))));
    assert_eq!(arrivals(1), ("server share", ArrivalPattern::Sporadic));
}

/// A task that is in no server and not real-time has no processor of its own; a server is on the processor of its
/// core.
#[test]
fn a_processor_is_that_of_the_task_or_of_its_server() {
    let mut draft = empty(&[4, 7]);
    let best_effort = |name: &str, server: Option<&str>| TaskDraft {
        name: name.into(),
        service: None,
        class: ClassDraft::BestEffort(BestEffort { min_gap: None, server: server.map(str::to_owned) }),
    };
    draft.tasks = vec![
        periodic("own", "10ms", "10ms", "1ms").with(|task| task.core = Some(4)),
        best_effort("answers", Some("share")),
        best_effort("logs", None),
    ];
    draft.servers = vec![ServerDraft {
        name: "share".into(),
        policy: ServerPolicy::Polling,
        budget: time("1ms"),
        period: time("20ms"),
        core: Some(7),
        priority: None,
    }];
    let plan = Planned::make(&model(&draft), Vec::new()).plan;
    let cpu = |name: &str| plan.cpu_of(&plan.tasks[plan.task(name).expect("a task")]);
    assert_eq!(["own", "answers", "logs"].map(cpu), [Some(4), Some(7), None]);
}
