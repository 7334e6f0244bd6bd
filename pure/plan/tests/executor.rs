// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Who decides on a core which job runs, and why.

mod drafts;

use drafts::{Edit, empty, periodic, plan, shown, time};
use taut_model::{Draft, Executor, Overrun, Scheduler, SectionDraft, Shared};

/// Two cores with a task each.
fn two() -> Draft {
    let mut draft = empty(&[0, 1]);
    draft.tasks = vec![
        periodic("left", "10ms", "10ms", "1ms").with(|task| task.core = Some(0)),
        periodic("right", "10ms", "10ms", "1ms").with(|task| task.core = Some(1)),
    ];
    draft
}

/// Why a dispatcher decides, per core.
fn reasons(draft: &Draft) -> Vec<Option<String>> {
    let planned = plan(draft);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    planned.plan.cores.into_iter().map(|core| core.dispatched).collect()
}

fn some(reason: &str) -> Option<String> {
    Some(reason.to_owned())
}

#[test]
fn linux_where_it_can() {
    let mut draft = two();
    assert_eq!(reasons(&draft), [None, None]);
    draft.platform.executor = Executor::Native;
    assert_eq!(reasons(&draft), [None, None]);
    draft.platform.executor = Executor::Dispatched;
    assert_eq!(reasons(&draft), [some("the manifest asks for it"), some("the manifest asks for it")]);
    draft.platform.executor = Executor::Auto;
    draft.platform.scheduler = Scheduler::Edf;
    let edf = some("jobs go by their deadlines, which Linux does not do for threads of one core");
    assert_eq!(reasons(&draft), [edf.clone(), edf]);
}

#[test]
fn only_the_cores_that_need_it() {
    let mut draft = two();
    drafts::task(&mut draft, "left").budget = Some(time("2ms"));
    assert_eq!(reasons(&draft), [some("task `left` has a budget"), None]);
    let mut draft = two();
    drafts::task(&mut draft, "right").on_overrun = Overrun::KillJob;
    drafts::task(&mut draft, "left").on_overrun = Overrun::Demote;
    let ended = some("late jobs of task `right` are ended");
    assert_eq!(reasons(&draft), [some("late jobs of task `left` are demoted"), ended]);
}

#[test]
fn every_core_that_locks() {
    let mut draft = two();
    draft.resources.push(Shared { name: "bus".into(), protocol: None });
    for name in ["left", "right"] {
        drafts::task(&mut draft, name).sections =
            vec![SectionDraft { resource: "bus".into(), longest: time("100us"), count: 1 }];
    }
    assert_eq!(reasons(&draft), [some("task `left` locks `bus`"), some("task `right` locks `bus`")]);
    assert_eq!(plan(&draft).plan.not_executed().as_deref(), Some("MSRP for resource `bus`"));
}
