// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Who decides on a core which job runs, and why.

mod drafts;

use drafts::{Edit, empty, periodic, plan, shown, time};
use taut_model::{Draft, Executor, Locking, Overrun, Scheduler, SectionDraft, Shared};
use taut_plan::{Mechanism, NotExecuted};

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
    assert_eq!(plan(&draft).plan.not_executed(), None);
}

/// The lock's words are counted, and there are as many as can be.
#[test]
fn locks_between_cores() {
    let with = |protocol, tasks: usize| {
        let mut draft = empty(&[0, 1]);
        draft.platform.memory = drafts::size("256MiB");
        draft.resources.push(Shared { name: "bus".into(), protocol });
        let user = |at: usize| {
            let longest = time("1us");
            periodic(&format!("t{at}"), "1s", "1s", "100us").with(|task| {
                task.core = Some(at as u16 % 2);
                task.sections = vec![SectionDraft { resource: "bus".into(), longest, count: 1 }];
            })
        };
        draft.tasks = (0..tasks).map(user).collect();
        let mut without = draft.clone();
        without.tasks.iter_mut().skip(1).for_each(|task| drafts::real_time(task).sections.clear());
        without.resources[0].protocol = None;
        // Dispatchers are counted in both.
        draft.platform.executor = taut_model::Executor::Dispatched;
        without.platform.executor = taut_model::Executor::Dispatched;
        let plan = drafts::plan(&draft).plan;
        let alone = drafts::plan(&without).plan.memory.runtime.as_bytes();
        (plan.memory.runtime.as_bytes() - alone, plan.not_executed())
    };
    use taut_model::Locking::{FmlpPlus, Mpcp, Msrp};
    assert_eq!(with(Some(Msrp), 5), (3 * 128, None), "a line for each core, and one");
    assert_eq!(with(Some(Mpcp), 5), (6 * 128, None), "for each task");
    assert_eq!(with(Some(FmlpPlus), 3).0, 4 * 128);
    assert_eq!(with(None, 64).1, None);
    let told = with(None, 65).1;
    let told = told.map(|not| [not.what, not.help]).unwrap_or_default();
    assert_eq!(told[0], "MSRP for resource `bus` with 65 users, more than 64");
    assert_eq!(told[1], "let 64 tasks at most use `bus`, or all of one core");
}

/// Readers and the writer of a state count, and a lock of one core has no limit.
#[test]
fn locks_between_cores_for_states() {
    let told = |mechanism, readers: usize| {
        let mut draft = empty(&[0, 1]);
        draft.platform.memory = drafts::size("256MiB");
        draft.payloads = vec![drafts::payload("Word", &[("", taut_model::Scalar::U64, 1)])];
        let other = u16::from(mechanism == Mechanism::Msrp);
        let on = |name: &str, core| periodic(name, "1s", "1s", "100us").with(|task| task.core = Some(core));
        draft.tasks = (0..readers).map(|at| on(&format!("t{at}"), other)).collect();
        draft.tasks.push(on("writer", 0));
        draft.channels = vec![drafts::state("map", "writer", "", "Word")];
        draft.channels[0].to = (0..readers).map(|at| format!("t{at}")).collect();
        draft.channels[0].mechanism = Some(mechanism);
        let planned = plan(&draft);
        assert!(planned.plan.proven, "{}", shown(&planned.faults));
        planned.plan.not_executed()
    };
    assert_eq!(told(Mechanism::Msrp, 63), None);
    let what = told(Mechanism::Msrp, 64).map(|not| not.what);
    assert_eq!(what.as_deref(), Some("MSRP for state `map` with 65 users, more than 64"));
    assert_eq!(told(Mechanism::Srp, 64), None);
}

/// SRP and DFP on one core by deadlines, or on one each.
#[test]
fn two_protocols_of_one_core() {
    let told = |cores: [u16; 2], scheduler| {
        let mut draft = two();
        draft.platform.scheduler = scheduler;
        let uses = [("left", "own", Locking::Srp), ("right", "shared", Locking::Dfp)];
        let section =
            |resource: &str| SectionDraft { resource: resource.into(), longest: time("100us"), count: 1 };
        for ((task, resource, protocol), core) in uses.into_iter().zip(cores) {
            draft.resources.push(Shared { name: resource.into(), protocol: Some(protocol) });
            let task = drafts::task(&mut draft, task);
            task.core = Some(core);
            task.sections = vec![section(resource)];
        }
        // Who locks with another core beside them does not count.
        draft.resources.push(Shared { name: "bus".into(), protocol: Some(Locking::Msrp) });
        for (name, core) in [("here", 0), ("there", 1)] {
            draft.tasks.push(periodic(name, "10ms", "10ms", "1ms").with(|task| {
                task.core = Some(core);
                task.sections = vec![section("bus")];
            }));
        }
        plan(&draft).plan.not_executed().map(|not| not.what)
    };
    assert_eq!(told([0, 0], Scheduler::Edf).as_deref(), Some("SRP and DFP on core 0"));
    assert_eq!(told([1, 1], Scheduler::Edf).as_deref(), Some("SRP and DFP on core 1"));
    assert_eq!(told([0, 1], Scheduler::Edf), None);
    assert_eq!(told([1, 0], Scheduler::Edf), None);
}

/// What an executor has threads for: levels, not tasks; but each task that may leave its place in the rule.
#[test]
fn more_tasks_than_threads() {
    let told = |tasks: usize, levels: usize, edit: fn(&mut taut_model::RealTimeDraft)| {
        let mut draft = empty(&[0]);
        draft.platform.memory = drafts::size("256MiB");
        draft.platform.scheduler = Scheduler::Edf;
        let own = |at: usize| {
            let period = format!("{}s", 1 + at % levels);
            periodic(&format!("t{at}"), &period, &period, "10us").with(edit)
        };
        draft.tasks = (0..tasks).map(own).collect();
        let plan = plan(&draft).plan;
        assert!(plan.proven);
        plan.not_executed()
    };
    let refused = |n: usize| {
        let what = format!("{n} jobs of core 0 begun at once, more than 90");
        Some(NotExecuted { what, help: "move tasks to another core".to_owned() })
    };
    assert_eq!(told(200, 10, |_| ()), None);
    assert_eq!(told(90, 90, |_| ()), None);
    assert_eq!(told(200, 91, |_| ()), refused(91));
    assert_eq!(told(91, 10, |task| task.budget = Some(time("1ms"))), refused(91));
    assert_eq!(told(91, 10, |task| task.on_overrun = Overrun::KillJob), refused(91));
}
