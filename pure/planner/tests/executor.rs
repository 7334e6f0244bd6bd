// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which scheduler decides on a core, and why.

mod drafts;

use drafts::{Edit, empty, periodic, plan, shown, time};
use taut_model::{
    Draft, Executor, LockingProtocol, Overrun, SchedulingPolicy, SectionDraft, ServerDraft, ServerPolicy,
    Shared,
};
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

/// Why a dispatcher decides, by core.
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
    draft.platform.scheduler = SchedulingPolicy::Edf;
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

/// The plan counts the words of a lock between cores, and a lock has at most 64 users.
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
        // Both count the dispatchers.
        draft.platform.executor = taut_model::Executor::Dispatched;
        without.platform.executor = taut_model::Executor::Dispatched;
        let plan = drafts::plan(&draft).plan;
        let alone = drafts::plan(&without).plan.memory.runtime.as_bytes();
        (plan.memory.runtime.as_bytes() - alone, plan.not_executed())
    };
    use taut_model::LockingProtocol::{FmlpPlus, Mpcp, Msrp};
    assert_eq!(with(Some(Msrp), 5), (3 * 128, None), "a line for each core, and one");
    assert_eq!(with(Some(Mpcp), 5), (6 * 128, None), "for each task");
    assert_eq!(with(Some(FmlpPlus), 3).0, 4 * 128);
    assert_eq!(with(None, 64).1, None);
    let reported = with(None, 65).1;
    let reported = reported.map(|not| [not.what, not.help]).unwrap_or_default();
    assert_eq!(reported[0], "MSRP for resource `bus` with 65 users, more than 64");
    assert_eq!(reported[1], "let at most 64 tasks use `bus`, or let all of its users run on one core");
}

/// The readers and the writer of a state count as users, and a lock of one core has no limit.
#[test]
fn locks_between_cores_for_states() {
    let reported = |mechanism, readers: usize| {
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
    assert_eq!(reported(Mechanism::Msrp, 63), None);
    let what = reported(Mechanism::Msrp, 64).map(|not| not.what);
    assert_eq!(what.as_deref(), Some("MSRP for state `map` with 65 users, more than 64"));
    assert_eq!(reported(Mechanism::Srp, 64), None);
}

/// SRP and DFP on one core under EDF, or on one core each.
#[test]
fn two_protocols_of_one_core() {
    let reported = |cores: [u16; 2], scheduler| {
        let mut draft = two();
        draft.platform.scheduler = scheduler;
        let uses = [("left", "own", LockingProtocol::Srp), ("right", "shared", LockingProtocol::Dfp)];
        let section =
            |resource: &str| SectionDraft { resource: resource.into(), longest: time("100us"), count: 1 };
        for ((task, resource, protocol), core) in uses.into_iter().zip(cores) {
            draft.resources.push(Shared { name: resource.into(), protocol: Some(protocol) });
            let task = drafts::task(&mut draft, task);
            task.core = Some(core);
            task.sections = vec![section(resource)];
        }
        // A task that locks together with another core does not count.
        draft.resources.push(Shared { name: "bus".into(), protocol: Some(LockingProtocol::Msrp) });
        for (name, core) in [("here", 0), ("there", 1)] {
            draft.tasks.push(periodic(name, "10ms", "10ms", "1ms").with(|task| {
                task.core = Some(core);
                task.sections = vec![section("bus")];
            }));
        }
        plan(&draft).plan.not_executed().map(|not| not.what)
    };
    assert_eq!(reported([0, 0], SchedulingPolicy::Edf).as_deref(), Some("SRP and DFP on core 0"));
    assert_eq!(reported([1, 1], SchedulingPolicy::Edf).as_deref(), Some("SRP and DFP on core 1"));
    assert_eq!(reported([0, 1], SchedulingPolicy::Edf), None);
    assert_eq!(reported([1, 0], SchedulingPolicy::Edf), None);
}

/// An executor has one thread per level, not per task, but one more for each task that may leave the scheduling
/// rule.
#[test]
fn more_tasks_than_threads() {
    let reported = |tasks: usize, levels: usize, edit: fn(&mut taut_model::RealTimeDraft)| {
        let mut draft = empty(&[0]);
        draft.platform.memory = drafts::size("256MiB");
        draft.platform.scheduler = SchedulingPolicy::Edf;
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
        let what = format!("{n} jobs of core 0 in progress at once, more than 90");
        Some(NotExecuted { what, help: "move tasks to another core".to_owned() })
    };
    assert_eq!(reported(200, 10, |_| ()), None);
    assert_eq!(reported(90, 90, |_| ()), None);
    assert_eq!(reported(200, 91, |_| ()), refused(91));
    assert_eq!(reported(91, 10, |task| task.budget = Some(time("1ms"))), refused(91));
    assert_eq!(reported(91, 10, |task| task.on_overrun = Overrun::KillJob), refused(91));
}

/// Which tasks have a thread of their own beside that of their level: 90 levels, one more task on the first of
/// them, and a task on another core.
#[test]
fn a_thread_of_its_own() {
    let begun = |edit: &dyn Fn(&mut Draft)| {
        let mut draft = empty(&[0, 1]);
        draft.platform.memory = drafts::size("256MiB");
        draft.platform.scheduler = SchedulingPolicy::Edf;
        draft.payloads = vec![drafts::payload("Word", &[("", taut_model::Scalar::U64, 1)])];
        let own = |at: u64| {
            let period = format!("{}s", 1 + at);
            periodic(&format!("t{at}"), &period, &period, "10us").with(|task| task.core = Some(0))
        };
        draft.tasks = (0..90).map(own).collect();
        draft.tasks.push(periodic("more", "1s", "1s", "10us").with(|task| task.core = Some(0)));
        draft.tasks.push(periodic("there", "1s", "1s", "10us").with(|task| task.core = Some(1)));
        edit(&mut draft);
        let planned = plan(&draft);
        assert!(planned.plan.proven, "{}", shown(&planned.faults));
        planned.plan.not_executed().map(|not| not.what)
    };
    let refused = || Some("91 jobs of core 0 in progress at once, more than 90".to_owned());
    assert_eq!(begun(&|_| ()), None);

    let locks = |draft: &mut Draft, users: [&str; 2], protocol| {
        draft.resources.push(Shared { name: "shared".into(), protocol: Some(protocol) });
        for user in users {
            let section = SectionDraft { resource: "shared".into(), longest: time("1us"), count: 1 };
            drafts::task(draft, user).sections = vec![section];
        }
    };
    assert_eq!(
        begun(&|draft| locks(draft, ["more", "t1"], LockingProtocol::Srp)),
        None,
        "it waits before it begins"
    );
    assert_eq!(begun(&|draft| locks(draft, ["more", "t1"], LockingProtocol::Dfp)), None);
    assert_eq!(begun(&|draft| locks(draft, ["more", "there"], LockingProtocol::Msrp)), refused());
    // A task that leaves a level on which there is no other task takes the level's thread along.
    assert_eq!(begun(&|draft| locks(draft, ["t1", "there"], LockingProtocol::Msrp)), None, "another's lock");

    let shares = |draft: &mut Draft, from: &str, to: &str, edit: &dyn Fn(&mut taut_model::ChannelDraft)| {
        let mut channel = drafts::state("map", from, to, "Word");
        edit(&mut channel);
        draft.channels.push(channel);
    };
    let under = |mechanism| move |channel: &mut taut_model::ChannelDraft| channel.mechanism = Some(mechanism);
    let synchronous = |channel: &mut taut_model::ChannelDraft| channel.flow = taut_model::Flow::Synchronous;
    assert_eq!(begun(&|draft| shares(draft, "more", "there", &|_| ())), None, "free of waits");
    assert_eq!(begun(&|draft| shares(draft, "more", "t1", &under(Mechanism::Srp))), None);
    assert_eq!(begun(&|draft| shares(draft, "more", "there", &under(Mechanism::Msrp))), refused());
    assert_eq!(begun(&|draft| shares(draft, "there", "more", &under(Mechanism::Msrp))), refused());
    assert_eq!(
        begun(&|draft| shares(draft, "t1", "there", &under(Mechanism::Msrp))),
        None,
        "another's state"
    );
    assert_eq!(begun(&|draft| shares(draft, "more", "there", &synchronous)), refused());
    assert_eq!(begun(&|draft| shares(draft, "there", "more", &synchronous)), refused());
    assert_eq!(begun(&|draft| shares(draft, "t1", "there", &synchronous)), None, "another's flow");

    let demoted = |draft: &mut Draft| drafts::task(draft, "more").on_overrun = Overrun::Demote;
    assert_eq!(begun(&demoted), refused());
    // Under fixed priorities each task is a level.
    let by_priorities = |draft: &mut Draft| draft.platform.scheduler = SchedulingPolicy::FixedPriority;
    let each = |draft: &mut Draft| {
        by_priorities(draft);
        locks(draft, ["t1", "t2"], LockingProtocol::Srp);
    };
    assert_eq!(begun(&each), refused());
    let served = |draft: &mut Draft, core: u16| {
        by_priorities(draft);
        draft.platform.executor = Executor::Dispatched;
        draft.tasks.retain(|task| task.name != "more");
        draft.servers.push(ServerDraft {
            name: "share".into(),
            policy: ServerPolicy::Polling,
            budget: time("1ms"),
            period: time("500ms"),
            core: Some(core),
            priority: None,
        });
        let inside = |task: &mut taut_model::RealTimeDraft| task.server = Some("share".into());
        draft.tasks.push(periodic("inside", "10s", "10s", "10us").with(inside));
    };
    assert_eq!(begun(&|draft| served(draft, 0)), refused());
    assert_eq!(begun(&|draft| served(draft, 1)), None, "another core's server");
}
