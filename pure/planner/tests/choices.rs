// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the plan chooses where the manifest says `"auto"`, and that its advice is good.

mod drafts;

use drafts::{Edit, cost, empty, model, periodic, plan, queue, shown, task, time};
use insta::assert_snapshot;
use proptest::prelude::*;
use taut_model::{
    ArrivalDraft, BestEffort, ClassDraft, ClientDraft, ClientKind, Draft, TaskDraft, TriggerDraft, codes,
};
use taut_plan::{ClassPlan, MemoryMap, Plan, Region};
use taut_planner::Planned;
use taut_time::Duration;

fn placements(plan: &Plan) -> Vec<(&str, u16, u8, Option<&str>)> {
    let placement = |task: &'_ taut_plan::TaskPlan| match &task.class {
        ClassPlan::RealTime { cpu, priority, priority_reason, .. } => {
            Some((*cpu, *priority, priority_reason.clone()))
        }
        ClassPlan::BestEffort {} => None,
    };
    let mut list = Vec::new();
    for task in &plan.tasks {
        if let Some((cpu, priority, reason)) = placement(task) {
            let reason = match reason.as_deref() {
                Some(r) if r.starts_with("deadline-monotonic") => Some("deadline"),
                Some(_) => Some("none"),
                None => None,
            };
            list.push((task.name.as_str(), cpu, priority, reason));
        }
    }
    list
}

#[test]
fn priorities_by_deadline() {
    let mut draft = empty(&[3]);
    draft.tasks = vec![
        periodic("slow", "100ms", "100ms", "10ms"),
        periodic("fast", "5ms", "5ms", "1ms"),
        periodic("middle", "20ms", "10ms", "2ms"),
    ];
    let planned = plan(&draft);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    let by = Some("deadline");
    assert_eq!(placements(&planned.plan), [("slow", 3, 88, by), ("fast", 3, 90, by), ("middle", 3, 89, by)]);
}

#[test]
fn a_fixed_priority_is_kept() {
    let mut draft = empty(&[0]);
    draft.tasks = vec![
        periodic("fixed", "50ms", "50ms", "1ms").with(|task| task.priority = Some(60)),
        periodic("fast", "5ms", "5ms", "1ms"),
        periodic("slow", "100ms", "100ms", "1ms"),
    ];
    let planned = plan(&draft);
    let by = Some("deadline");
    assert_eq!(placements(&planned.plan), [("fixed", 0, 60, None), ("fast", 0, 90, by), ("slow", 0, 59, by)]);
}

#[test]
fn cores_are_filled_first_fit() {
    let mut draft = empty(&[4, 6]);
    draft.tasks = vec![
        periodic("a", "10ms", "10ms", "3ms"),
        periodic("b", "10ms", "10ms", "6ms"),
        periodic("c", "10ms", "10ms", "5ms"),
        periodic("d", "10ms", "10ms", "2ms"),
    ];
    let planned = plan(&draft);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    let cpus: Vec<_> = placements(&planned.plan).into_iter().map(|(name, cpu, ..)| (name, cpu)).collect();
    // By falling utilisation: b to 4, c to 6, a to 4, d to 6.
    assert_eq!(cpus, [("a", 4), ("b", 4), ("c", 6), ("d", 6)]);
    // If a task fits nowhere, a fault says so, and the plan still places the rest.
    draft.tasks.push(periodic("e", "10ms", "10ms", "5ms"));
    let planned = plan(&draft);
    assert!(!planned.plan.proven);
    assert_snapshot!(shown(&planned.faults));
}

#[test]
fn two_cores_hold_one_priority_each() {
    let mut draft = empty(&[0, 1]);
    let fixed = |name| periodic(name, "10ms", "10ms", "1ms").with(|task| task.priority = Some(50));
    draft.tasks = vec![fixed("a"), fixed("b")];
    let planned = plan(&draft);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    assert_eq!(placements(&planned.plan), [("a", 0, 50, None), ("b", 1, 50, None)]);
}

#[test]
fn more_tasks_than_numbers() {
    let mut draft = empty(&[0]);
    draft.tasks = (0..98).map(|i| periodic(&format!("t{i}"), "1s", "1s", "10us")).collect();
    assert!(plan(&draft).plan.proven);
    // As many, but no number is left above the least urgent task.
    draft.tasks = vec![
        periodic("fixed", "1s", "1s", "10us").with(|task| task.priority = Some(98)),
        periodic("urgent", "10ms", "10ms", "10us"),
    ];
    let planned = plan(&draft);
    assert_eq!(planned.faults.iter().map(|f| f.code).collect::<Vec<_>>(), [codes::CORE_FULL]);
    assert!(!planned.plan.proven);
}

fn best_effort(name: &str, min_gap: Option<&str>) -> TaskDraft {
    let class = ClassDraft::BestEffort(BestEffort { min_gap: min_gap.map(time), server: None });
    TaskDraft { name: name.into(), service: None, class }
}

#[test]
fn capacities() {
    let mut draft = empty(&[0]);
    draft.tasks = vec![
        periodic("reader", "10ms", "10ms", "1ms"),
        periodic("sender", "40ms", "40ms", "1ms"),
        best_effort("patient", Some("20ms")),
        best_effort("anytime", None),
    ];
    let gap = Some(time("20ms"));
    draft.clients = vec![ClientDraft {
        name: "outside".into(),
        kind: ClientKind::Process,
        max_attached: 1,
        min_gap: gap,
    }];
    draft.channels = ["sender", "patient", "anytime", "outside"]
        .map(|from| queue(&format!("from-{from}"), from, "reader", "Sample", None))
        .to_vec();
    draft.channels[0].sends_per_release = 3;
    let planned = plan(&draft);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    let line = |c: &taut_plan::ChannelPlan| {
        format!("{}: {} ({})", c.name, c.capacity, c.capacity_reason.as_deref().unwrap_or("given"))
    };
    assert_snapshot!(planned.plan.channels.iter().map(line).collect::<Vec<_>>().join("\n"));
    // A client is a party of one of them only: this one lies behind the segment's header.
    let places: Vec<_> = planned.plan.channels.iter().map(|c| (c.place, c.region.offset)).collect();
    assert_eq!(places[3], (MemoryMap::Segment, 4096), "a page of its client's own");
    assert!(places[..3].iter().all(|(place, _)| *place == MemoryMap::Process));
}

/// Every region starts at a multiple of 128, none overlap, and all lie in their map.
fn check_map(plan: &Plan) {
    let mut process: Vec<Region> = plan.services.iter().map(|service| service.persistent).collect();
    let mut segment = vec![Region { offset: 0, size: 128 }];
    for task in &plan.tasks {
        if let ClassPlan::RealTime { persistent, release, .. } = task.class {
            process.extend([persistent, release]);
        }
    }
    for channel in &plan.channels {
        match channel.place {
            MemoryMap::Process => process.push(channel.region),
            MemoryMap::Segment => segment.push(channel.region),
        }
    }
    for (mut regions, end) in
        [(process, plan.memory.process.as_bytes()), (segment, plan.memory.segment.as_bytes())]
    {
        regions.sort_by_key(|region| (region.offset, region.size));
        for pair in regions.windows(2) {
            assert!(pair[0].offset + pair[0].size <= pair[1].offset, "{pair:?}");
        }
        for region in &regions {
            assert_eq!(region.offset % 128, 0);
            assert!(end == 0 || region.offset + region.size <= end, "{region:?} in {end}");
        }
    }
    let memory = &plan.memory;
    let parts = [memory.process, memory.segment, memory.runtime].map(|size| size.as_bytes());
    assert_eq!(parts.iter().sum::<u64>(), memory.total.as_bytes());
}

#[derive(Clone, Debug)]
struct Drawn {
    period_us: u64,
    permille: u64,
    deadline_percent: u64,
    section_percent: u64,
    margin: u32,
    core: Option<usize>,
    fixed: bool,
    scope: u64,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let core = prop::option::of(0usize..2);
    (2_000u64..50_000, 5u64..400, 40u64..=100, 0u64..60, 0u32..80, core, any::<bool>(), 0u64..3_000).prop_map(
        |(period_us, permille, deadline_percent, section_percent, margin, core, fixed, scope)| Drawn {
            period_us,
            permille,
            deadline_percent,
            section_percent: section_percent.saturating_sub(40),
            margin,
            core,
            fixed,
            scope,
        },
    )
}

fn draft_of(wishes: &[Drawn], cores: usize) -> Draft {
    let numbers: Vec<u16> = (0..cores).map(|i| 2 + 2 * i as u16).collect();
    let mut draft = empty(&numbers);
    for (i, drawn) in wishes.iter().enumerate() {
        let period = Duration::from_us(drawn.period_us);
        let value = (drawn.period_us * drawn.permille / 1_000).max(1);
        let mut task = periodic(&format!("t{i}"), "1ms", "1ms", "1us");
        let real_time = drafts::real_time(&mut task);
        real_time.arrival = ArrivalDraft::Periodic { period, offset: Duration::ZERO };
        real_time.wcet = cost("1us", drawn.margin);
        real_time.wcet.value = Duration::from_us(value);
        let bound = real_time.wcet.bound().expect("small numbers");
        real_time.deadline = Duration::from_us(drawn.period_us * drawn.deadline_percent / 100).max(bound);
        if real_time.deadline > period {
            // The model refuses what cannot fit; ask it for less.
            real_time.wcet = cost("500us", 0);
            real_time.deadline = period;
        }
        let section = real_time.wcet.value.as_ns() * drawn.section_percent / 100;
        real_time.non_preemptive = Duration::from_ns(section);
        real_time.core = drawn.core.map(|core| numbers[core % cores]);
        real_time.priority = drawn.fixed.then_some(10 + 7 * i as i64);
        real_time.persistent = taut_model::Size::from_bytes(drawn.scope);
        real_time.release = taut_model::Size::from_bytes(drawn.scope / 3);
        draft.tasks.push(task);
    }
    draft
}

/// The value that a help names.
fn advised(help: &str) -> Option<Duration> {
    help.split_once("value = \"").and_then(|(_, rest)| rest.split_once('"')).map(|(value, _)| time(value))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn plans_hold_together(wishes in prop::collection::vec(drawn(), 1..9), cores in 1usize..=2) {
        let draft = draft_of(&wishes, cores);
        let planned = plan(&draft);
        check_map(&planned.plan);
        prop_assert_eq!(planned.plan.proven, planned.faults.is_empty());
        let text = planned.plan.to_lock().unwrap();
        prop_assert_eq!(Plan::from_lock(&text).unwrap(), planned.plan.clone());
        prop_assert_eq!(plan(&draft).plan.to_lock().unwrap(), text);
        let mut taken = std::collections::BTreeSet::new();
        for task in &planned.plan.tasks {
            let ClassPlan::RealTime { cpu, priority, response, deadline, terms, .. } = &task.class else {
                continue;
            };
            prop_assert!(taken.insert((*cpu, *priority)), "shared priority");
            let sum: u64 = terms.iter().map(|term| term.time.as_ns()).sum();
            match response {
                Some(response) => {
                    prop_assert!(response <= deadline);
                    prop_assert_eq!(sum, response.as_ns());
                }
                None => prop_assert!(sum > deadline.as_ns()),
            }
        }
    }

    /// With the advised value and its margin, the task is proven, every task that was proven still is, and if cores
    /// are fixed, a microsecond more would not do.
    #[test]
    fn the_advised_value_fits(wishes in prop::collection::vec(drawn(), 1..7), cores in 1usize..=2) {
        let draft = draft_of(&wishes, cores);
        let planned = plan(&draft);
        let missed = planned.faults.iter().filter(|fault| fault.code == codes::DEADLINE_MISSED);
        for fault in missed {
            let Some(value) = fault.help.as_deref().and_then(advised) else { continue };
            let name = fault.primary.place.path().split('.').nth(1).unwrap().to_owned();
            let proven = |draft: &Draft, name: &str| {
                let plan = Planned::make(&model(draft), vec![]).plan;
                let at = plan.task(name).unwrap();
                matches!(plan.tasks[at].class, ClassPlan::RealTime { response: Some(_), .. })
            };
            let mut better = draft.clone();
            task(&mut better, &name).wcet.value = value;
            prop_assert!(proven(&better, &name), "{name} with {value}");
            for other in draft.tasks.iter().map(|task| task.name.as_str()) {
                prop_assert!(proven(&better, other) || !proven(&draft, other), "{other} lost its deadline");
            }
        }
    }
}

/// The advised value is the largest: with a microsecond more, the task or one that it delays is late.
#[test]
fn the_advised_value_is_the_largest() {
    let mut draft = drafts::cochlear();
    task(&mut draft, "processing").wcet = cost("3ms", 50);
    let value = plan(&draft).faults[0].help.as_deref().and_then(advised).unwrap();
    let mut with = |value: Duration| {
        task(&mut draft, "processing").wcet.value = value;
        plan(&draft).faults.len()
    };
    assert_eq!(with(value), 0);
    assert_eq!(with(value.checked_add(Duration::from_us(1)).unwrap()), 1);
}

/// Without real-time tasks there is nothing to prove, and there is a lock all the same.
#[test]
fn nothing_real_time() {
    let mut draft = empty(&[]);
    draft.tasks = vec![best_effort("writer", None)];
    let planned = plan(&draft);
    assert_eq!(planned.faults, []);
    assert!(planned.plan.proven);
    assert_eq!(planned.plan.memory.total, taut_model::Size::ZERO);
    let bare = Planned::make(&model(&draft), vec![]).plan;
    assert_eq!(Plan::from_lock(&bare.to_lock().unwrap()), Ok(bare));
}

/// Times of centuries: a fault says that a bound does not fit, and nothing wraps.
#[test]
fn centuries() {
    let mut draft = empty(&[0]);
    let long = |name| {
        periodic(name, "1ms", "1ms", "1us").with(|task| {
            task.arrival = ArrivalDraft::Periodic { period: Duration::MAX, offset: Duration::ZERO };
            task.deadline = Duration::MAX;
            task.wcet.value = Duration::from_ns(u64::MAX / 4);
        })
    };
    draft.tasks = vec![long("a"), long("b")];
    let planned = plan(&draft);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    draft.tasks.extend([long("c"), long("d"), long("e")]);
    let planned = plan(&draft);
    assert!(!planned.plan.proven);
    let codes: Vec<_> = planned.faults.iter().map(|fault| fault.code).collect();
    assert!(codes.contains(&codes::CORE_OVERLOADED), "{}", shown(&planned.faults));
    assert!(codes.contains(&codes::NOT_SHOWN), "{}", shown(&planned.faults));
}

/// Of a core's many tasks, the fault shows those that take most, and says what the rest takes: the user who makes
/// room looks among the first, and the text stays readable with thousands of tasks.
#[test]
fn of_many_tasks_those_that_take_most_are_shown() {
    let mut draft = empty(&[0]);
    draft.tasks = (1..=40u64)
        .map(|i| {
            periodic(&format!("t{i}"), "10ms", "10ms", "1us").with(|task| {
                task.wcet.value = Duration::from_ns(15_000 * i);
            })
        })
        .collect();
    let planned = plan(&draft);
    let fault = planned.faults.iter().find(|fault| fault.code == codes::CORE_OVERLOADED).unwrap();
    let shown: Vec<_> =
        fault.secondary.iter().map(|label| label.text.split(' ').next().unwrap().to_owned()).collect();
    let most: Vec<_> = (33..=40).rev().map(|i| format!("`t{i}`")).collect();
    assert_eq!(shown, most);
    let rest = "32 more tasks take ";
    assert!(fault.notes.iter().any(|note| note.starts_with(rest)), "{:?}", fault.notes);
    // One more than the fault shows, and as many as it shows.
    for (tasks, reported) in [(9, Some("1 more task takes ")), (8, None)] {
        let mut few = draft.clone();
        few.tasks = (0..tasks).map(|i| periodic(&format!("t{i}"), "10ms", "10ms", "2ms")).collect();
        let planned = plan(&few);
        let fault = planned.faults.iter().find(|fault| fault.code == codes::CORE_OVERLOADED).unwrap();
        let more = fault.notes.iter().find(|note| note.contains(" more task"));
        assert_eq!(more.is_some(), reported.is_some(), "{:?}", fault.notes);
        assert!(more.is_none_or(|note| note.starts_with(reported.unwrap())), "{more:?}");
    }
}

/// A deadline is missed for certain only if arrivals are free; a task that another task releases need not arrive
/// when all do.
#[test]
fn who_releases_decides_what_is_certain() {
    let said = |from: &str| {
        let mut draft = empty(&[0]);
        let released = |task: &mut taut_model::RealTimeDraft| {
            task.arrival = ArrivalDraft::Sporadic {
                min_gap: time("10ms"),
                triggers: TriggerDraft::only("tick"),
                device: None,
            };
        };
        draft.tasks = vec![
            periodic("above", "10ms", "3ms", "1ms"),
            periodic("late", "10ms", "5ms", "4500us").with(released),
            TaskDraft {
                name: "free".into(),
                service: None,
                class: ClassDraft::BestEffort(BestEffort::default()),
            },
        ];
        draft.platform.overheads.kernel_blocking = Duration::ZERO;
        draft.channels = vec![queue("tick", from, "late", "Sample", Some(8))];
        let planned = plan(&draft);
        assert!(!planned.plan.proven);
        planned.faults.iter().map(|fault| fault.message.clone()).collect::<Vec<_>>()
    };
    assert_eq!(said("free"), ["task `late` can miss its deadline on core 0"]);
    assert_eq!(said("above"), ["task `late` is not shown to keep its deadline on core 0"]);
}
