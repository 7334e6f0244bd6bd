// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Advice about a task: other tests, and figures with which the task fits or still fits. Figures hold when applied.

mod drafts;
mod systems;

use drafts::{Edit, empty, periodic, plan, real_time, shown, task, time};
use insta::assert_snapshot;
use systems::{Numbers, any, share, system, tasks};
use taut_model::{
    ArrivalDraft, Draft, LockingProtocol, Overrun, SchedulingPolicy, SectionDraft, ServerDraft, ServerPolicy,
    Severity, Shared, TaskDraft,
};
use taut_plan::ClassPlan;
use taut_planner::{Planned, advise_task};
use taut_time::Duration;

fn advice(draft: &Draft, name: &str) -> String {
    advise_task(&drafts::model(draft), name).expect("a task")
}

fn on(task: TaskDraft, core: u16, sections: &[(&str, &str)]) -> TaskDraft {
    task.with(|task| {
        task.core = Some(core);
        task.sections = sections
            .iter()
            .map(|(resource, longest)| SectionDraft {
                resource: (*resource).into(),
                longest: time(longest),
                count: 1,
            })
            .collect();
    })
}

fn bus(draft: &mut Draft, protocol: Option<LockingProtocol>) {
    draft.resources = vec![Shared { name: "bus".into(), protocol }];
}

#[test]
fn of_a_task_that_fits() {
    let draft = drafts::cochlear();
    assert_snapshot!(["recording", "processing"].map(|name| advice(&draft, name)).join("\n"));
    assert_eq!(advice(&draft, "source"), "");
    assert_eq!(advise_task(&drafts::model(&draft), "nobody"), None);
}

#[test]
fn of_a_task_that_does_not() {
    let mut draft = empty(&[0, 2]);
    draft.tasks = vec![
        on(periodic("control", "5ms", "5ms", "3ms"), 0, &[]),
        on(periodic("vision", "20ms", "10ms", "6ms"), 0, &[]),
        on(periodic("log", "100ms", "100ms", "1ms"), 0, &[]),
    ];
    task(&mut draft, "log").non_preemptive = time("400us");
    assert_snapshot!(advice(&draft, "vision"));
    assert_snapshot!(advice(&draft, "control"));
}

#[test]
fn of_a_section_that_blocks() {
    let mut draft = empty(&[0, 2]);
    bus(&mut draft, None);
    draft.tasks = vec![
        on(periodic("fast", "10ms", "5ms", "1ms"), 0, &[("bus", "100us")]),
        on(periodic("slow", "50ms", "50ms", "10ms"), 0, &[("bus", "4500us")]),
    ];
    assert_snapshot!(advice(&draft, "fast"));
    // A task of another core.
    task(&mut draft, "slow").core = Some(2);
    assert_snapshot!(advice(&draft, "fast"));
    task(&mut draft, "slow").sections[0].longest = time("300us");
    assert_snapshot!(advice(&draft, "fast"));
    bus(&mut draft, Some(LockingProtocol::FmlpPlus));
    assert_snapshot!(advice(&draft, "fast"));
}

#[test]
fn under_edf() {
    let mut draft = empty(&[0]);
    draft.platform.scheduler = SchedulingPolicy::Edf;
    draft.tasks = vec![periodic("a", "10ms", "10ms", "4ms"), periodic("b", "14ms", "14ms", "7ms")];
    assert_snapshot!(advice(&draft, "b"));
    task(&mut draft, "b").deadline = time("8ms");
    assert_snapshot!(advice(&draft, "b"));
    assert_snapshot!(shown(&plan(&draft).faults));
    bus(&mut draft, None);
    for name in ["a", "b"] {
        let section = SectionDraft { resource: "bus".into(), longest: time("500us"), count: 1 };
        task(&mut draft, name).sections = vec![section];
    }
    task(&mut draft, "b").deadline = time("14ms");
    assert_snapshot!(advice(&draft, "a"));
}

#[test]
fn long_deadlines_offsets_and_servers() {
    let mut draft = empty(&[0]);
    draft.tasks =
        vec![periodic("above", "70ms", "70ms", "26ms"), periodic("below", "100ms", "150ms", "60ms")];
    assert_snapshot!(advice(&draft, "below"));
    let mut draft = empty(&[0]);
    draft.tasks = vec![
        periodic("first", "10ms", "4ms", "3ms"),
        periodic("then", "10ms", "4ms", "3ms").with(|task| {
            task.arrival = ArrivalDraft::Periodic { period: time("10ms"), offset: time("5ms") };
        }),
    ];
    assert_snapshot!(advice(&draft, "then"));
    draft
        .tasks
        .push(periodic("plan", "100ms", "50ms", "2ms").with(|task| task.server = Some("share".into())));
    draft.servers.push(ServerDraft {
        name: "share".into(),
        policy: ServerPolicy::Sporadic,
        budget: time("1ms"),
        period: time("20ms"),
        core: None,
        priority: None,
    });
    assert_snapshot!(advice(&draft, "plan"));
}

/// What the advice says of a test.
fn says<'a>(advice: &'a str, test: &str) -> &'a str {
    let row = advice.lines().find_map(|line| line.strip_prefix("  ")?.strip_prefix(test)?.strip_prefix("  "));
    row.unwrap_or_else(|| panic!("nothing of {test}:\n{advice}")).trim()
}

fn assert_says(advice: &str, rows: &[(&str, &str)]) {
    for (test, start) in rows {
        assert!(says(advice, test).starts_with(start), "{test}: {start}\n{advice}");
    }
}

/// A protocol was tried if it comes before the chosen one and the manifest names none.
#[test]
fn of_protocols_that_were_tried() {
    let mut draft = empty(&[0, 2]);
    bus(&mut draft, None);
    draft.tasks = vec![
        on(periodic("tight", "10ms", "4ms", "2ms"), 0, &[]),
        on(periodic("waits", "100ms", "100ms", "10ms"), 0, &[("bus", "100us")]),
        on(periodic("holds", "100ms", "100ms", "10ms"), 2, &[("bus", "4ms")]),
    ];
    let others = [("MSRP, requests of a job", "says no"), ("MSRP, each request alone", "says no")];
    let advised = advice(&draft, "waits");
    assert_says(&advised, &[("MSRP, requests of a core", "tried, says no"), ("MPCP", "used: R = ")]);
    assert_says(&advised, &others);
    bus(&mut draft, Some(LockingProtocol::Mpcp));
    let advised = advice(&draft, "waits");
    assert_says(&advised, &[("MSRP, requests of a core", "says no"), ("MPCP", "used: R = ")]);
    assert_says(&advised, &others);
}

/// Two cores that share a bus, and a third that does not.
fn three_cores() -> Draft {
    let mut draft = empty(&[0, 2, 4]);
    bus(&mut draft, None);
    draft.tasks = vec![
        on(periodic("fast", "10ms", "5ms", "1ms"), 0, &[("bus", "100us")]),
        on(periodic("other", "20ms", "15ms", "4ms"), 2, &[("bus", "300us")]),
        on(periodic("apart", "20ms", "15ms", "4ms"), 4, &[]),
    ];
    task(&mut draft, "fast").sections[0].count = 4;
    draft
}

/// Another analysis of the same protocol is weaker or gives the same; another protocol is not compared.
#[test]
fn of_other_analyses() {
    let draft = three_cores();
    let advised = advice(&draft, "fast");
    assert_says(&advised, &[("MSRP, requests of a core", "used"), ("MSRP, each request alone", "weaker: ")]);
    let advised = advice(&draft, "apart");
    assert_says(
        &advised,
        &[
            ("MSRP, each request alone", "not needed: would give the same R"),
            ("FMLP+", "not needed: would give R = "),
        ],
    );
}

/// Spinning beside suspending is an analysis of its own, and the plan asked none of the others.
#[test]
fn of_spinning_beside_suspending() {
    let mut draft = three_cores();
    let shared = [("bus", LockingProtocol::Msrp), ("log", LockingProtocol::Mpcp)];
    draft.resources =
        shared.map(|(name, protocol)| Shared { name: name.into(), protocol: Some(protocol) }).to_vec();
    for name in ["fast", "other"] {
        let section = SectionDraft { resource: "log".into(), longest: time("50us"), count: 1 };
        task(&mut draft, name).sections.push(section);
    }
    for name in ["fast", "apart"] {
        let advised = advice(&draft, name);
        assert_eq!(says(&advised, "MSRP beside MPCP"), "used", "{advised}");
        let not_asked = "not asked for: would give R = ";
        assert_says(&advised, &[("MSRP, requests of a core", not_asked), ("FMLP+", not_asked)]);
    }
}

#[test]
fn of_a_section_that_does_not_block_for_long() {
    let mut draft = empty(&[0]);
    bus(&mut draft, None);
    draft.tasks = vec![
        on(periodic("fast", "10ms", "5ms", "1ms"), 0, &[("bus", "100us")]),
        on(periodic("slow", "50ms", "50ms", "10ms"), 0, &[("bus", "300us")]),
    ];
    assert_eq!(says(&advice(&draft, "fast"), "immediate ceilings"), "used");
}

/// Under EDF the plan looks at the first core that asks for too much alone: advice names what blocks there, and
/// elsewhere names that core.
#[test]
fn of_cores_under_edf() {
    let mut draft = empty(&[0, 2]);
    bus(&mut draft, None);
    draft.platform.scheduler = SchedulingPolicy::Edf;
    draft.tasks = vec![
        on(periodic("fast", "10ms", "5ms", "1ms"), 0, &[("bus", "100us")]),
        on(periodic("slow", "50ms", "50ms", "10ms"), 0, &[("bus", "4500us")]),
        on(periodic("other", "50ms", "50ms", "10ms"), 2, &[]),
    ];
    let advised = advice(&draft, "fast");
    assert!(advised.contains("`slow` in `bus`: at most "), "{advised}");
    let advised = advice(&draft, "other");
    let named = "core 0 is the first whose demand is too high, and the test stops there; see `taut explain --task \
                 fast`";
    assert!(advised.contains(named), "{advised}");
}

/// A non-preemptive stretch would delay holders of a resource, which the analyses of suspending protocols do not
/// count.
#[test]
fn of_suspending_beside_a_non_preemptive_stretch() {
    let mut draft = three_cores();
    bus(&mut draft, Some(LockingProtocol::FmlpPlus));
    assert!(plan(&draft).plan.proven);
    task(&mut draft, "apart").non_preemptive = time("100us");
    let planned = plan(&draft);
    assert!(!planned.plan.proven);
    let said = shown(&planned.faults);
    assert!(said.contains("a non-preemptive stretch would delay those who hold a resource"), "{said}");
}

/// The core is not proven only because all times are rounded up: then more is asked for than it has. A fault says
/// so.
#[test]
fn a_core_that_is_full_by_rounding() {
    let tasks = vec![periodic("a", "2ns", "2ns", "1ns"), periodic("b", "3600s", "3600s", "1200s")];
    let planned =
        plan(&system(1, SchedulingPolicy::Edf, tasks.into_iter().map(|task| on(task, 0, &[])).collect()));
    assert!(!planned.plan.proven);
    assert_snapshot!(shown(&planned.faults));
}

/// Every refusal has a fault, and none is left to the fault of last resort.
#[test]
fn whatever_is_not_proven_says_why() {
    let mut refused = 0;
    for seed in 0..600u64 {
        let draft = any(&mut Numbers(seed));
        let (Some(model), _) = draft.clone().build() else { continue };
        let planned = Planned::make(&model, Vec::new());
        let errors = planned.faults.iter().filter(|fault| fault.severity == Severity::Error).count();
        assert_eq!(planned.plan.proven, errors == 0, "{seed}: {}", shown(&planned.faults));
        assert!(!shown(&planned.faults).contains("no test gives a bound"), "{seed}: {draft:#?}");
        refused += u32::from(errors > 0);
    }
    assert!(refused > 100, "{refused}");
}

/// If a utilisation bound says yes, so does the response time.
#[test]
fn quick_answers_are_right() {
    let mut yes = 0;
    for seed in 0..60u64 {
        let draft = any(&mut Numbers(seed));
        if draft.platform.scheduler == SchedulingPolicy::Edf || !draft.resources.is_empty() {
            continue;
        }
        let Some((_, kept)) = kept(&draft) else { continue };
        for (task, kept) in draft.tasks.iter().zip(kept) {
            let text = advice(&draft, &task.name);
            let says = |row: &str| row.trim().starts_with("utilisation, ") && row.contains("not needed: ");
            if text.lines().any(says) {
                assert!(kept, "{seed}: {text}");
                yes += 1;
            }
        }
    }
    assert!(yes > 10, "{yes}");
}

/// A model with other parameters of a task is the one that its draft builds; if the draft builds none, there is
/// none.
#[test]
fn what_if_is_what_a_draft_builds() {
    let (mut taken, mut refused) = (0, 0);
    for seed in 0..1_000u64 {
        let mut numbers = Numbers(seed);
        let mut draft = any(&mut numbers);
        draft.tasks[0] = draft.tasks[0].clone().with(|task| task.on_overrun = Overrun::SkipNext);
        let (Some(model), faults) = draft.clone().build() else { continue };
        let Some((id, _, now)) = model.real_time().nth(usize::from(numbers.chance(50))) else { continue };
        if faults.iter().any(|fault| fault.severity == Severity::Error) {
            continue;
        }
        let mut bound = now.clone();
        let task = real_time(&mut draft.tasks[id.index()]);
        let other = Duration::from_ns(bound.deadline.as_ns() * numbers.next(0, 20) / 10);
        match numbers.next(0, 4) {
            0 => (bound.deadline, task.deadline) = (other, other),
            1 => (bound.wcet.value, task.wcet.value) = (other, other),
            2 => (bound.non_preemptive, task.non_preemptive) = (other, other),
            3 if !bound.sections.is_empty() => {
                (bound.sections[0].longest, task.sections[0].longest) = (other, other);
            }
            _ if task.server.is_none() => {
                bound.core = model.cores().last();
                task.core = bound.core.map(|core| model.cpu(core));
            }
            _ => continue,
        }
        let (built, faults) = draft.build();
        let built = built.filter(|_| faults.iter().all(|fault| fault.severity != Severity::Error));
        let with = model.with_promise(id, bound);
        assert_eq!(with, built, "{seed}: {}", shown(&faults));
        taken += u32::from(with.is_some());
        refused += u32::from(with.is_none());
    }
    assert!(taken > 100 && refused > 100, "{taken} {refused}");
}

/// By task, whether it is shown to keep its deadline.
fn kept(draft: &Draft) -> Option<(bool, Vec<bool>)> {
    let (Some(model), faults) = draft.clone().build() else { return None };
    if faults.iter().any(|fault| fault.severity == Severity::Error) {
        return None;
    }
    let plan = Planned::make(&model, Vec::new()).plan;
    let kept = |class: &ClassPlan| match class {
        ClassPlan::RealTime { response, .. } => response.is_some(),
        ClassPlan::BestEffort {} => true,
    };
    Some((plan.proven, plan.tasks.iter().map(|task| kept(&task.class)).collect()))
}

/// The figure of a row of the advice, if it has one: what the figure is of, and the figure.
fn figure(row: &str) -> Option<(&str, Duration)> {
    let (what, rest) = row.trim().split_once("  ")?;
    let after =
        ["up to ", "down to ", "at most ", "at least "].iter().find_map(|words| rest.split_once(words))?.1;
    after.split([',', ' ']).next()?.parse().ok().map(|figure| (what, figure))
}

/// Advised figures hold; if a figure is the last that holds, one step more does not.
#[test]
fn advice_holds() {
    let (mut grown, mut cured, mut moved, mut shortened) = (0, 0, 0, 0);
    for seed in 0..60u64 {
        let mut numbers = Numbers(1_000 + seed);
        let cores = 1 + u16::from(seed % 3 != 0);
        let scheduler = if seed % 4 == 1 { SchedulingPolicy::Edf } else { SchedulingPolicy::FixedPriority };
        let list =
            tasks(cores, &mut numbers, |numbers, cost, period| numbers.next(cost.max(period / 2), period));
        let mut draft = system(cores, scheduler, list);
        if seed % 2 == 1 {
            share(&mut draft, &mut numbers, |_| None);
        }
        let Some((_, before)) = kept(&draft) else { continue };
        let serves = |draft: &Draft, at: usize| {
            kept(draft).is_some_and(|(_, now)| {
                now[at] && now.iter().zip(&before).all(|(now, before)| *now || !before)
            })
        };
        for (at, &was) in before.iter().enumerate().take(2) {
            let text = advice(&draft, &draft.tasks[at].name.clone());
            let rows = text.split_once("\n\n").expect("two tables").1;
            for (row, (what, figure)) in rows.lines().filter_map(|row| Some((row, figure(row)?))) {
                let (mut with, mut past) = (draft.clone(), draft.clone());
                let step = Duration::from_us(1);
                match what.trim() {
                    "wcet" => {
                        real_time(&mut with.tasks[at]).wcet.value = figure;
                        real_time(&mut past.tasks[at]).wcet.value = figure.checked_add(step).expect("small");
                    }
                    "deadline" => {
                        real_time(&mut with.tasks[at]).deadline = figure;
                        real_time(&mut past.tasks[at]).deadline = figure.saturating_sub(step);
                    }
                    "another's wcet" => {
                        let name = row.split('`').nth(1).expect("a name");
                        task(&mut with, name).wcet.value = figure;
                        task(&mut past, name).wcet.value = figure.checked_add(step).expect("small");
                        shortened += 1;
                    }
                    "section" => {
                        let names: Vec<&str> = row.split('`').collect();
                        let (name, resource) = (names[1], names[3]);
                        for (draft, longest) in
                            [(&mut with, figure), (&mut past, figure.checked_add(step).expect("small"))]
                        {
                            let sections = task(draft, name).sections.iter_mut();
                            sections.filter(|s| s.resource == resource).for_each(|s| s.longest = longest);
                        }
                        shortened += 1;
                    }
                    _ => continue,
                }
                assert!(serves(&with, at), "{seed}, {what} {figure}: {text}\n{draft:#?}");
                let last = !text.contains("the search did not use offsets");
                assert!(!last || !serves(&past, at), "{seed}, {what} past {figure}: {text}\n{draft:#?}");
                grown += u32::from(was);
                cured += u32::from(!was);
            }
            for row in rows.lines().filter(|row| row.trim().starts_with("core ")) {
                let cpu = row.trim()["core".len()..].trim().split([',', ' ']).next().expect("a word");
                let Ok(cpu) = cpu.parse::<u16>() else { continue };
                let mut with = draft.clone();
                real_time(&mut with.tasks[at]).core = Some(cpu);
                assert!(serves(&with, at), "{seed}: {text}");
                moved += 1;
            }
        }
    }
    assert!(grown > 40 && cured > 5 && moved > 0 && shortened > 0, "{grown} {cured} {moved} {shortened}");
}

/// The rows of the advice for a decided model, words apart by one space.
fn rows(draft: &Draft, name: &str) -> Vec<String> {
    let text = advise_task(&plan(draft).model, name).expect("a task");
    let line = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().map(line).collect()
}

#[test]
fn offsets_of_fewer_than_two_tasks() {
    let mut draft = empty(&[0, 2]);
    let on = |name: &str, core, priority: i64| {
        periodic(name, "10ms", "10ms", "1ms")
            .with(|task| (task.core, task.priority) = (Some(core), Some(priority)))
    };
    draft.tasks = vec![on("writer", 2, 60), on("reader", 0, 60), on("other", 0, 50)];
    let mut flow = drafts::state("flow", "writer", "reader", "Sample");
    flow.flow = taut_model::Flow::Synchronous;
    draft.channels = vec![flow];
    let row = |who: &str| {
        format!(
            "response time, offsets does not apply: fewer than two tasks of the core {who}, so no phases are known"
        )
    };
    let alone = rows(&draft, "writer");
    assert!(alone.contains(&row("are periodic")));
    let reader = rows(&draft, "reader");
    assert!(reader.contains(&row("are periodic and wait for nobody")));
}

#[test]
fn of_utilisation_at_its_limits() {
    let of = |edit: &dyn Fn(&mut Draft)| {
        let mut draft = empty(&[0]);
        draft.tasks = vec![
            periodic("above", "10ms", "10ms", "1ms").with(|task| task.priority = Some(60)),
            periodic("below", "10ms", "10ms", "2ms").with(|task| task.priority = Some(50)),
        ];
        edit(&mut draft);
        let rows = rows(&draft, "below");
        rows.into_iter().filter(|row| row.starts_with("utilisation")).collect::<Vec<_>>()
    };
    let plain = of(&|_| {});
    assert_eq!(plain.len(), 2);
    assert!(plain[0].starts_with("utilisation, Liu & Layland not needed: "));
    assert_eq!(
        of(&|draft| task(draft, "below").non_preemptive = time("1ms")),
        plain,
        "its own blocks others"
    );
    // As long as the probe's period, and a ns shorter.
    let short = |period: Duration| {
        of(&move |draft| {
            draft.tasks.remove(0);
            let below = task(draft, "below");
            below.arrival = ArrivalDraft::Periodic { period, offset: Duration::ZERO };
            below.deadline = period;
            below.wcet = drafts::cost("100us", 0);
        })
    };
    let rows = short(time("1ms"));
    assert!(rows[0].starts_with("utilisation, Liu & Layland not needed: "), "{rows:?}");
    let rows = short(Duration::from_ns(999_999));
    assert_eq!(rows, ["utilisation bounds does not apply: its 940 µs are less than the probe's period"]);
}
