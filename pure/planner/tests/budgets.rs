// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Jobs that take far more than their manifest states, with an enforced budget: other tasks keep the bounds of the
//! plan.

mod drafts;
mod systems;

use drafts::{Edit, periodic, real_time};
use systems::{Numbers, rules, s, share, system, tasks};
use taut_model::{
    Body, Draft, LockingProtocol, Overrun, Request, SchedulingPolicy, SectionDraft, SetTask, Shared, TaskSet,
};
use taut_plan::{ClassPlan, Plan};
use taut_planner::Planned;
use taut_sim::{Jitter, Limit, Placement, RunEnd, Scenario, Simulation, Start};
use taut_time::Duration;

#[derive(Debug, Default)]
struct Seen {
    proven: u32,
    bounds: u32,
    attained: u32,
    exhausted: u64,
    /// Systems in which a run exceeds some bound if no budget is enforced.
    without: u32,
}

/// The longest time from arrival to completion of each task of a set under enforced budgets, and how many budgets
/// it used up.
fn run(set: &TaskSet, plan: &Plan, limits: &[(usize, Limit)], scenario: &Scenario) -> Vec<(Duration, u64)> {
    let rules = rules(plan, set);
    let simulation = Simulation::new(set, &rules).expect("valid").limited(limits);
    let mut simulation = simulation.expect("valid");
    let outcome = simulation.run(scenario, &mut ()).expect("it fits");
    assert_eq!(outcome.end, RunEnd::Complete);
    outcome.tasks.iter().map(|task| (task.response_max, task.exhausted)).collect()
}

/// The set in which jobs of the tasks in `limits` take three times their budgets; their sections are as long as
/// stated.
fn lying(set: &TaskSet, limits: &[(usize, Limit)]) -> TaskSet {
    let mut tasks: Vec<SetTask> = set.tasks().to_vec();
    for (at, limit) in limits {
        if let (Body::Anywhere { cost, .. }, Some(budget)) = (&mut tasks[*at].body, limit.budget) {
            *cost = budget.checked_mul(3).expect("small");
        }
    }
    TaskSet::new(set.cores().to_vec(), set.resources().to_vec(), tasks).expect("as before")
}

fn check(draft: &Draft, numbers: &mut Numbers, seen: &mut Seen) {
    let (Some(model), _) = draft.clone().build() else { return };
    let Planned { plan, model, .. } = Planned::make(&model, Vec::new());
    if !plan.proven {
        return;
    }
    seen.proven += 1;
    let set = taut_planner::task_set(&model).expect("small");
    let limit = |(at, task): (usize, &taut_plan::TaskPlan)| match task.class {
        ClassPlan::RealTime { on_overrun, budget: Some(budget), .. } => {
            Some((at, Limit { overrun: on_overrun, budget: Some(budget) }))
        }
        _ => None,
    };
    let limits: Vec<(usize, Limit)> = plan.tasks.iter().enumerate().filter_map(limit).collect();
    let liars = lying(&set, &limits);
    let mut longest = vec![Duration::ZERO; set.tasks().len()];
    let mut passed = false;
    let bounds: Vec<Option<Duration>> = plan
        .tasks
        .iter()
        .enumerate()
        .map(|(at, task)| match task.class {
            ClassPlan::RealTime { response, .. } if limits.iter().all(|(liar, _)| *liar != at) => response,
            _ => None,
        })
        .collect();
    for round in 0..12 {
        let placements = [Placement::Random, Placement::Front, Placement::Back, Placement::Even];
        let scenario = Scenario {
            seed: numbers.next(0, u64::MAX - 1),
            start: if round == 0 { Start::Critical } else { Start::Random },
            jitter: [Jitter::Random, Jitter::First, Jitter::Full][numbers.next(0, 2) as usize],
            placement: placements[numbers.next(0, 3) as usize],
            ..Scenario::worst(s(400))
        };
        for ((found, exhausted), longest) in run(&liars, &plan, &limits, &scenario).iter().zip(&mut longest) {
            *longest = (*longest).max(*found);
            seen.exhausted += exhausted;
        }
        let unlimited: Vec<_> =
            limits.iter().map(|(at, limit)| (*at, Limit { budget: None, ..*limit })).collect();
        let unlimited = run(&liars, &plan, &unlimited, &scenario);
        passed |= unlimited
            .iter()
            .zip(&bounds)
            .any(|((found, _), bound)| bound.is_some_and(|bound| *found > bound));
    }
    seen.without += u32::from(passed);
    for ((longest, bound), task) in longest.iter().zip(&bounds).zip(&plan.tasks) {
        let Some(bound) = *bound else { continue };
        assert!(*longest <= bound, "{}: {longest} seen, {bound} planned\n{limits:?}\n{liars:#?}", task.name);
        seen.bounds += 1;
        seen.attained += u32::from(longest.as_ns() / 100 * 105 >= bound.as_ns());
    }
}

fn campaign(scheduler: SchedulingPolicy, seed: u64, protocols: &[Option<LockingProtocol>]) -> Seen {
    let (mut numbers, mut seen) = (Numbers(seed), Seen::default());
    for round in 0..240 {
        let mut tasks =
            tasks(1, &mut numbers, |numbers, cost, period| numbers.next(cost.max(2 * period / 3), period));
        let liar = numbers.next(0, tasks.len() as u64 - 1) as usize;
        for (at, task) in tasks.iter_mut().enumerate() {
            let task = real_time(task);
            task.wcet.value = s((task.wcet.value.as_ns() / 1_000_000_000).min(5));
            if at == liar || numbers.chance(20) {
                let longer = s(numbers.next(0, 1));
                task.budget = task.wcet.value.checked_add(longer);
                task.on_overrun = if numbers.chance(60) { Overrun::Demote } else { Overrun::KillJob };
            }
        }
        let mut draft = system(1, scheduler, tasks);
        let protocol = protocols[round % protocols.len()];
        if round % 4 != 0 {
            share(&mut draft, &mut numbers, |_| protocol);
        }
        check(&draft, &mut numbers, &mut seen);
    }
    seen
}

#[test]
fn others_never_notice_more_than_the_budget() {
    for (scheduler, protocols) in [
        (SchedulingPolicy::FixedPriority, &[None][..]),
        (SchedulingPolicy::Edf, &[None, Some(LockingProtocol::Dfp)][..]),
    ] {
        let seen = campaign(scheduler, 7, protocols);
        println!("{scheduler:?}: {seen:?}");
        assert!(seen.proven > 40 && seen.exhausted > 1_000 && seen.without * 3 > seen.proven, "{seen:?}");
        assert!(seen.attained * 8 > seen.bounds, "{seen:?}");
    }
}

/// A job can attain all that it is charged: its budget, and the section in which the budget ends.
#[test]
fn the_charge_is_attained() {
    let above = periodic("above", "20s", "20s", "4s").with(|task| {
        task.core = Some(0);
        (task.budget, task.on_overrun) = (Some(s(4)), Overrun::Demote);
        task.sections = vec![SectionDraft { resource: "a".into(), longest: s(3), count: 1 }];
    });
    let below = periodic("below", "20s", "20s", "5s").with(|task| task.core = Some(0));
    let user = periodic("user", "100s", "100s", "1s").with(|task| {
        task.core = Some(0);
        task.sections = vec![SectionDraft { resource: "a".into(), longest: s(1), count: 1 }];
    });
    let mut draft = system(1, SchedulingPolicy::FixedPriority, vec![above, below, user]);
    draft.resources = vec![Shared { name: "a".into(), protocol: None }];
    let (model, faults) = draft.build();
    let Planned { plan, model, .. } =
        Planned::make(&model.unwrap_or_else(|| panic!("{faults:?}")), Vec::new());
    let ClassPlan::RealTime { response: Some(bound), .. } = plan.tasks[1].class else { panic!("{plan:?}") };
    let set = taut_planner::task_set(&model).expect("small");
    let limits = [(0, Limit { overrun: Overrun::Demote, budget: Some(s(4)) })];
    let mut tasks = set.tasks().to_vec();
    // It locks just before its budget is used up.
    let part = |time| taut_model::Segment::Normal(time);
    let almost = s(4).saturating_sub(Duration::from_ns(1));
    let inside = vec![part(s(3))];
    let section = taut_model::Segment::Section { resource: 0, inside };
    tasks[0].body = Body::Segments(vec![part(almost), section, part(s(9))]);
    let liars = TaskSet::new(set.cores().to_vec(), set.resources().to_vec(), tasks).expect("as before");
    let found = run(&liars, &plan, &limits, &Scenario::worst(s(100)));
    assert!(found[0].1 > 1);
    // B + s - 1 ns, its own C, and no blocking, for the task below holds nothing in this run.
    assert_eq!(found[1].0, s(12).saturating_sub(Duration::from_ns(1)));
    assert!(bound >= s(12) && bound < s(14), "and the section below blocks, and the probe: {bound}");
}

/// Under EDF a job in the background locks with a deadline that is past, and keeps out a job that uses no resource
/// at all.
#[test]
fn a_late_section_blocks_all_under_edf() {
    let request = Request { resource: 0, count: 1, length: s(3), outermost: true };
    let task = |name: &str, period: u64, deadline: u64, cost: u64, requests: Vec<Request>| SetTask {
        name: name.into(),
        core: 0,
        priority: 0,
        arrivals: taut_model::ArrivalPattern::Periodic,
        period: s(period),
        deadline: s(deadline),
        jitter: Duration::ZERO,
        body: Body::Anywhere { cost: s(cost), requests },
    };
    let user = Request { length: s(1), ..request };
    let tasks = vec![
        task("late", 100, 100, 8, vec![request]),
        task("urgent", 200, 2, 1, vec![]),
        task("user", 200, 200, 1, vec![user]),
    ];
    let resources = vec![taut_model::Resource { name: "a".into() }];
    let set = TaskSet::new(vec![SchedulingPolicy::Edf], resources, tasks).expect("valid");
    let rules = taut_sim::Rules::of(&set, taut_sim::GlobalRule::Msrp);
    let limits = [(0, Limit { overrun: Overrun::Demote, budget: Some(s(2)) })];
    let mut simulation = Simulation::new(&set, &rules).expect("valid").limited(&limits).expect("valid");
    let mut scenario = Scenario::worst(s(150));
    scenario.placement = Placement::Back;
    // From 105 to 108 it is in its section, if no other job is there; its deadline is 200.
    scenario.start = Start::At(vec![s(100), s(106), s(149)]);
    let outcome = simulation.run(&scenario, &mut ()).expect("it fits").clone();
    let ceilings = outcome.tasks[1].response_max;
    assert_eq!(ceilings, s(1), "it is not late yet, so its ceiling counts");
    // Now it is late: released at 0, it cannot run until 105.
    let busy = task("busy", 400, 400, 101, vec![]);
    let tasks: Vec<SetTask> = set.tasks().iter().cloned().chain([busy]).collect();
    let set = TaskSet::new(vec![SchedulingPolicy::Edf], set.resources().to_vec(), tasks).expect("valid");
    let rules = taut_sim::Rules::of(&set, taut_sim::GlobalRule::Msrp);
    let mut simulation = Simulation::new(&set, &rules).expect("valid").limited(&limits).expect("valid");
    scenario.start = Start::At(vec![s(0), s(107), s(149), s(0)]);
    let outcome = simulation.run(&scenario, &mut ()).expect("it fits");
    assert_eq!(outcome.tasks[0].exhausted, 1);
    assert_eq!(outcome.tasks[1].response_max, s(3), "two of the section, and its own");
}

/// The bound of the lower of two tasks of core 0; the upper one uses a resource and may have a budget. A task of
/// core 2 uses the bus.
fn shares(resource: &str, on_overrun: Overrun, budget: Option<&str>) -> Duration {
    let mut draft = drafts::empty(&[0, 2]);
    draft.resources = ["bus", "log"].map(|name| Shared { name: name.into(), protocol: None }).to_vec();
    let uses = |name: &str, core: u16, priority: i64, resource: &str| {
        periodic(name, "20ms", "20ms", "2ms").with(|task| {
            (task.core, task.priority) = (Some(core), Some(priority));
            task.sections =
                vec![SectionDraft { resource: resource.into(), longest: drafts::time("100us"), count: 1 }];
        })
    };
    draft.tasks = vec![
        uses("above", 0, 60, resource).with(|task| {
            (task.on_overrun, task.budget) = (on_overrun, budget.map(drafts::time));
        }),
        uses("below", 0, 50, "log"),
        uses("other", 2, 60, "bus"),
    ];
    let planned = drafts::plan(&draft);
    assert!(planned.plan.proven, "{}", drafts::shown(&planned.faults));
    let ClassPlan::RealTime { response: Some(bound), .. } = planned.plan.tasks[1].class else { panic!() };
    bound
}

/// Other tasks are charged a budget if it is enforced, and if its task uses no resource of another core.
#[test]
fn what_a_budget_is_charged() {
    let demoted = |resource| shares(resource, Overrun::Demote, Some("3ms"));
    let without = |resource| shares(resource, Overrun::Demote, None);
    assert!(demoted("log") > without("log"));
    assert_eq!(demoted("bus"), without("bus"));
    for lax in [Overrun::RunOn, Overrun::SkipNext] {
        assert_eq!(shares("log", lax, Some("3ms")), shares("log", lax, None));
    }
}
