// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Resources and EDF: which protocol the plan chooses, what is proven with it, and the faults if it does not fit.

mod drafts;

use drafts::{Edit, empty, hold, periodic, plan, run, shown, time};
use insta::assert_snapshot;
use taut_model::{Draft, LockingProtocol, SchedulingPolicy, SectionDraft, Shared, TaskDraft, codes};
use taut_plan::{ClassPlan, Plan, explain_task};
use taut_time::Duration;

fn uses(task: TaskDraft, core: u16, sections: &[(&str, &str, u32)]) -> TaskDraft {
    let section = |&(resource, longest, count): &(&str, &str, u32)| SectionDraft {
        resource: resource.into(),
        longest: time(longest),
        count,
    };
    task.with(|task| {
        task.core = Some(core);
        task.sections = sections.iter().map(section).collect();
    })
}

fn with(cores: &[u16], resources: &[(&str, Option<LockingProtocol>)], tasks: Vec<TaskDraft>) -> Draft {
    let mut draft = empty(cores);
    draft.resources =
        resources.iter().map(|&(name, protocol)| Shared { name: name.into(), protocol }).collect();
    draft.tasks = tasks;
    draft
}

/// Two tasks of one core that share a bus.
fn one_core(protocol: Option<LockingProtocol>) -> Draft {
    let tasks = vec![
        uses(periodic("fast", "10ms", "5ms", "1ms"), 0, &[("bus", "100us", 1)]),
        uses(periodic("slow", "50ms", "50ms", "10ms"), 0, &[("bus", "400us", 3)]),
        uses(periodic("middle", "20ms", "20ms", "2ms"), 0, &[]),
    ];
    with(&[0], &[("bus", protocol)], tasks)
}

/// Two cores that share a bus.
fn two_cores(protocol: Option<LockingProtocol>) -> Draft {
    let tasks = vec![
        uses(periodic("fast", "10ms", "5ms", "1ms"), 0, &[("bus", "100us", 2)]),
        uses(periodic("slow", "50ms", "50ms", "10ms"), 0, &[]),
        uses(periodic("other", "20ms", "15ms", "4ms"), 2, &[("bus", "300us", 1)]),
    ];
    with(&[0, 2], &[("bus", protocol)], tasks)
}

fn response(plan: &Plan, name: &str) -> Option<Duration> {
    let task = &plan.tasks[plan.task(name).expect("a task")];
    match &task.class {
        ClassPlan::RealTime { response, .. } => *response,
        ClassPlan::BestEffort {} => None,
    }
}

#[test]
fn a_local_resource_blocks_once() {
    let planned = plan(&one_core(None));
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    assert_eq!(planned.plan.resources[0].protocol, LockingProtocol::Srp);
    // The probe takes 20 us of every ms, which scales by 50/49 and adds 21.2 us, scaled, once. fast: 1 ms, two
    // switches, its lock of 2 us and a ns for rounding; slow's section with its lock; 60 us to the first instruction,
    // 50 us of the kernel, the probe.
    let parts = [1_012_001u64, 402_000, 21_200].map(|ns| (50 * ns).div_ceil(49));
    let sum = Duration::from_ns(parts.iter().sum::<u64>() + 110_000);
    assert_eq!(response(&planned.plan, "fast"), Some(sum));
    assert_snapshot!(explain_task(&planned.plan, "fast").unwrap());
    // A task that does not use it is blocked, too: the ceiling is above. And fast takes a lock less.
    let alone = plan(&{
        let mut draft = one_core(None);
        drafts::task(&mut draft, "fast").sections.clear();
        draft
    });
    let blocked = response(&planned.plan, "middle").unwrap();
    let fast = (50 * 1_012_001u64).div_ceil(49) - (50 * 1_010_000u64).div_ceil(49);
    let more = Duration::from_ns(fast + (50 * 402_000u64).div_ceil(49));
    assert_eq!(blocked.checked_sub(response(&alone.plan, "middle").unwrap()), Some(more));
}

#[test]
fn bounds_sum_up() {
    for draft in [
        one_core(None),
        two_cores(None),
        two_cores(Some(LockingProtocol::Mpcp)),
        two_cores(Some(LockingProtocol::FmlpPlus)),
    ] {
        let planned = plan(&draft);
        assert!(planned.plan.proven, "{}", shown(&planned.faults));
        for task in &planned.plan.tasks {
            let ClassPlan::RealTime { response, terms, .. } = &task.class else { panic!() };
            let sum = terms.iter().fold(Duration::ZERO, |sum, term| sum.checked_add(term.time).unwrap());
            assert_eq!(Some(sum), *response, "{}", task.name);
        }
    }
}

#[test]
fn a_global_resource_spins_if_that_fits() {
    let planned = plan(&two_cores(None));
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    let bus = &planned.plan.resources[0];
    assert_eq!((bus.protocol, bus.users.join(" ").as_str()), (LockingProtocol::Msrp, "fast other"));
    assert_snapshot!(explain_task(&planned.plan, "fast").unwrap());
    // The lock file says so, and can be read back.
    let text = planned.plan.to_lock().unwrap();
    assert_eq!(Plan::from_lock(&text).unwrap(), planned.plan);
}

#[test]
fn where_spinning_does_not_fit_suspending_may() {
    // On core 0, a task without any slack beside a task that would spin for long.
    let tasks = vec![
        uses(periodic("tight", "10ms", "4ms", "2ms"), 0, &[]),
        uses(periodic("waits", "100ms", "100ms", "10ms"), 0, &[("bus", "100us", 1)]),
        uses(periodic("holds", "100ms", "100ms", "10ms"), 2, &[("bus", "4ms", 1)]),
    ];
    let planned = plan(&with(&[0, 2], &[("bus", None)], tasks.clone()));
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    assert_eq!(planned.plan.resources[0].protocol, LockingProtocol::Mpcp);
    let pinned = plan(&with(&[0, 2], &[("bus", Some(LockingProtocol::Msrp))], tasks));
    assert!(!pinned.plan.proven);
    assert_snapshot!(shown(&pinned.faults));
}

#[test]
fn protocols_that_do_not_fit() {
    let misfits = |draft: &Draft| {
        let planned = plan(draft);
        assert!(!planned.plan.proven);
        planned.faults.iter().filter(|fault| fault.code == codes::LOCKING_MISFIT).count()
    };
    assert_eq!(misfits(&one_core(Some(LockingProtocol::Dfp))), 1, "not under EDF");
    assert_eq!(misfits(&one_core(Some(LockingProtocol::Mpcp))), 1, "one core");
    assert_eq!(misfits(&two_cores(Some(LockingProtocol::Srp))), 1, "several cores");
    let mut edf = two_cores(Some(LockingProtocol::Mpcp));
    edf.platform.scheduler = SchedulingPolicy::Edf;
    assert_eq!(misfits(&edf), 1, "under EDF");
    let mut mixed = two_cores(Some(LockingProtocol::FmlpPlus));
    mixed.resources.push(Shared { name: "log".into(), protocol: Some(LockingProtocol::Msrp) });
    for task in ["fast", "other"] {
        let log = SectionDraft { resource: "log".into(), longest: time("1us"), count: 1 };
        drafts::task(&mut mixed, task).sections.push(log);
    }
    assert_eq!(misfits(&mixed), 1, "two of them");
    let mut guarded = one_core(Some(LockingProtocol::Srp));
    guarded.platform.scheduler = SchedulingPolicy::Edf;
    guarded.resources.push(Shared { name: "log".into(), protocol: Some(LockingProtocol::Dfp) });
    for task in ["fast", "slow"] {
        let log = SectionDraft { resource: "log".into(), longest: time("1us"), count: 1 };
        drafts::task(&mut guarded, task).sections.push(log);
    }
    assert_eq!(misfits(&guarded), 1, "a ceiling and a floor");
    guarded.resources[0].protocol = None;
    let planned = plan(&guarded);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    assert_eq!(planned.plan.resources[0].protocol, LockingProtocol::Dfp, "as the other");
    assert_snapshot!(shown(&plan(&mixed).faults));
}

#[test]
fn deadlines_under_edf() {
    let mut draft =
        with(&[0], &[], vec![periodic("a", "10ms", "10ms", "4ms"), periodic("b", "14ms", "14ms", "7ms")]);
    let by_priority = plan(&draft);
    assert!(!by_priority.plan.proven);
    draft.platform.scheduler = SchedulingPolicy::Edf;
    let planned = plan(&draft);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    // a's job runs first, as both can arrive together and a's is due first, then b's; overheads are less than 1 ms.
    assert!(response(&planned.plan, "b").is_some_and(|r| time("11ms") < r && r < time("12ms")));
    assert_snapshot!(explain_task(&planned.plan, "b").unwrap());
    drafts::task(&mut draft, "b").deadline = time("8ms");
    let planned = plan(&draft);
    assert!(!planned.plan.proven);
    assert_snapshot!(shown(&planned.faults));
}

#[test]
fn cores_under_edf_are_filled_by_its_own_test() {
    let tasks = vec![
        periodic("a", "10ms", "10ms", "4ms"),
        periodic("b", "14ms", "14ms", "7ms"),
        periodic("c", "10ms", "10ms", "8ms"),
    ];
    let mut draft = with(&[0, 2], &[], tasks);
    assert!(!plan(&draft).plan.proven, "a and b are too much for fixed priorities");
    draft.platform.scheduler = SchedulingPolicy::Edf;
    let planned = plan(&draft);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    let ClassPlan::RealTime { priority, priority_reason, .. } = &planned.plan.tasks[0].class else {
        panic!()
    };
    assert_eq!((*priority, priority_reason.as_deref()), (0, None), "a priority means nothing there");
}

/// Nested sections: a task above the outer ceiling waits for the inner section only.
#[test]
fn segments_nest_on_one_core() {
    let mut slow = periodic("slow", "50ms", "50ms", "10ms");
    let inside = vec![run("1ms"), hold("bus", vec![run("300us")]), run("2ms")];
    drafts::real_time(&mut slow).segments = vec![run("1ms"), hold("log", inside)];
    let tasks = vec![
        uses(periodic("fast", "10ms", "5ms", "1ms"), 0, &[("bus", "100us", 1)]),
        uses(periodic("middle", "20ms", "20ms", "2ms"), 0, &[("log", "100us", 1)]),
        slow,
    ];
    let mut draft = with(&[0], &[("bus", None), ("log", None)], tasks);
    let planned = plan(&draft);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    assert_snapshot!(
        ["fast", "middle", "slow"].map(|task| explain_task(&planned.plan, task).unwrap()).join("\n")
    );
    // The inner resource must not be used on another core as well.
    draft.platform.cores.push(2);
    drafts::task(&mut draft, "slow").core = Some(0);
    draft.tasks.push(uses(periodic("other", "20ms", "15ms", "4ms"), 2, &[("bus", "300us", 1)]));
    let planned = plan(&draft);
    assert!(!planned.plan.proven);
    assert_snapshot!(shown(&planned.faults));
}
