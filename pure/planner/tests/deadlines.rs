// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Deadlines longer than the period, and in servers.

mod drafts;

use drafts::{Edit, empty, periodic, plan, shown, task, time};
use insta::assert_snapshot;
use taut_model::{
    BestEffort, ClassDraft, Overrun, SchedulingPolicy, SectionDraft, ServerDraft, ServerPolicy, Shared,
    TaskDraft,
};
use taut_plan::{Plan, explain_task};

/// As in [Lehoczky90], the worst job is not the first of its busy window. Here with 70 ms and 100 ms, and with
/// overheads.
#[test]
fn a_deadline_longer_than_the_period() {
    let mut draft = empty(&[0]);
    draft.tasks =
        vec![periodic("above", "70ms", "70ms", "26ms"), periodic("below", "100ms", "150ms", "60ms")];
    let planned = plan(&draft);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    assert_snapshot!(explain_task(&planned.plan, "below").unwrap());
    task(&mut draft, "below").deadline = time("110ms");
    assert_snapshot!(shown(&plan(&draft).faults));
    // With resources of several cores, no analysis here covers such deadlines.
    draft.platform.cores.push(2);
    draft.resources = vec![Shared { name: "bus".into(), protocol: None }];
    draft.tasks.push(periodic("other", "100ms", "100ms", "1ms"));
    for (name, core) in [("above", 0), ("below", 0), ("other", 2)] {
        let task = task(&mut draft, name);
        task.core = Some(core);
        task.sections = vec![SectionDraft { resource: "bus".into(), longest: time("1ms"), count: 1 }];
    }
    let planned = plan(&draft);
    assert!(!planned.plan.proven);
    assert!(shown(&planned.faults).contains("some deadline is longer than its period"));
}

/// A server costs tasks below it its budget once per period, a deferrable server twice in a row.
#[test]
fn servers() {
    let mut draft = empty(&[0]);
    draft.tasks = vec![periodic("control", "10ms", "10ms", "3ms"), periodic("log", "40ms", "40ms", "5ms")];
    let answers = TaskDraft {
        name: "answers".into(),
        service: None,
        class: ClassDraft::BestEffort(BestEffort { min_gap: None, server: Some("requests".into()) }),
    };
    draft.tasks.push(answers);
    draft.servers.push(ServerDraft {
        name: "requests".into(),
        policy: ServerPolicy::Deferrable,
        budget: time("2ms"),
        period: time("8ms"),
        core: None,
        priority: None,
    });
    let planned = plan(&draft);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    assert_snapshot!(
        ["answers", "control"].map(|task| explain_task(&planned.plan, task).unwrap()).join("\n")
    );
    assert_eq!(planned.plan.not_executed(), None);
    let lock = planned.plan.to_lock().unwrap();
    assert_eq!(Plan::from_lock(&lock).unwrap(), planned.plan);
    // Below both tasks the server does not get as much.
    let server = &mut draft.servers[0];
    (server.budget, server.priority) = (time("4ms"), Some(1));
    let planned = plan(&draft);
    assert!(!planned.plan.proven && planned.plan.servers[0].response.is_none());
    assert_snapshot!(shown(&planned.faults));
    // Beside a resource of one core.
    draft.resources = vec![Shared { name: "bus".into(), protocol: None }];
    let name = draft.tasks[0].name.clone();
    task(&mut draft, &name).sections =
        vec![SectionDraft { resource: "bus".into(), longest: time("1us"), count: 1 }];
    assert_snapshot!(shown(&plan(&draft).faults));
    let server = &mut draft.servers[0];
    (server.budget, server.priority) = (time("2ms"), None);
    let planned = plan(&draft);
    assert!(planned.plan.proven && planned.plan.servers[0].response.is_some(), "{}", shown(&planned.faults));
    draft
        .tasks
        .iter_mut()
        .filter(|task| task.name == name)
        .for_each(|task| drafts::real_time(task).sections.clear());
    draft.resources.clear();
    draft.platform.scheduler = SchedulingPolicy::Edf;
    let planned = plan(&draft);
    assert!(!planned.plan.proven);
    assert_snapshot!(shown(&planned.faults));
}

/// Beside a resource of several cores a server is shown to get its budget, unless it is deferrable.
#[test]
fn servers_beside_a_resource_of_several_cores() {
    let mut draft = empty(&[0, 1]);
    let section = || SectionDraft { resource: "bus".into(), longest: time("100us"), count: 1 };
    let user = |name, core| {
        periodic(name, "10ms", "10ms", "2ms").with(|task| {
            task.sections.push(section());
            task.core = Some(core);
        })
    };
    draft.tasks = vec![user("left", 0), user("right", 1)];
    draft.resources = vec![Shared { name: "bus".into(), protocol: None }];
    draft.servers.push(ServerDraft {
        name: "requests".into(),
        policy: ServerPolicy::Sporadic,
        budget: time("2ms"),
        period: time("8ms"),
        core: Some(0),
        priority: None,
    });
    draft.tasks.push(TaskDraft {
        name: "answers".into(),
        service: None,
        class: ClassDraft::BestEffort(BestEffort { min_gap: None, server: Some("requests".into()) }),
    });
    let planned = plan(&draft);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    assert_snapshot!(["answers", "left"].map(|task| explain_task(&planned.plan, task).unwrap()).join("\n"));
    draft.servers[0].policy = ServerPolicy::Deferrable;
    let planned = plan(&draft);
    assert!(!planned.plan.proven);
    assert_snapshot!(shown(&planned.faults));
}

/// A task with a deadline, alone in a server.
#[test]
fn a_deadline_in_a_server() {
    let mut draft = empty(&[0]);
    draft.tasks = vec![
        periodic("control", "10ms", "10ms", "3ms"),
        periodic("plan", "100ms", "50ms", "6ms").with(|task| task.server = Some("share".into())),
    ];
    draft.servers.push(ServerDraft {
        name: "share".into(),
        policy: ServerPolicy::Sporadic,
        budget: time("2ms"),
        period: time("8ms"),
        core: None,
        priority: None,
    });
    let planned = plan(&draft);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    assert_snapshot!(explain_task(&planned.plan, "plan").unwrap());
    task(&mut draft, "plan").deadline = time("30ms");
    assert_snapshot!(shown(&plan(&draft).faults));
    // The task must be alone, and must not state what its server states.
    let mut twice = periodic("again", "100ms", "50ms", "6ms").with(|task| task.server = Some("share".into()));
    let task = drafts::real_time(&mut twice);
    (task.priority, task.budget, task.on_overrun) = (Some(7), Some(time("7ms")), Overrun::Demote);
    draft.tasks.push(twice);
    assert_snapshot!(shown(&draft.build().1));
}

/// A resource that no task uses changes no bound: the tests without resources still apply.
#[test]
fn a_resource_that_nobody_uses() {
    let mut draft = empty(&[0]);
    draft.tasks =
        vec![periodic("above", "70ms", "70ms", "26ms"), periodic("below", "100ms", "150ms", "60ms")];
    let without = plan(&draft);
    draft.resources = vec![Shared { name: "bus".into(), protocol: None }];
    let with = plan(&draft);
    assert!(with.plan.proven, "{}", shown(&with.faults));
    assert_eq!(explain_task(&with.plan, "below"), explain_task(&without.plan, "below"));
}
