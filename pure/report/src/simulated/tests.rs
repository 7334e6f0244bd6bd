// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::collections::{BTreeMap, BTreeSet};

use taut_model::{ArrivalPattern, Body, Resource, SchedulingPolicy, Segment, SetTask};
use taut_sim::flow::{Delivery, FlowChannel, Flows, OnFull, Queue};
use taut_sim::{GlobalRule, LocalRule, Outcome, Rules, Scenario, SimEvent, Simulation};

use super::*;
use crate::decoded::{cpu_tracks, entries, lines, tracks};
use crate::recorded::{Script, plan, run};
use crate::report::Report;

const MS: Duration = Duration::from_ms(1);

fn all(bounds: &[Option<Duration>]) -> Window<'_> {
    Window {
        from: Instant::from_ns(0),
        until: Instant::from_ns(u64::MAX),
        events_max: u64::MAX,
        bounds,
        focus: None,
    }
}

fn task(name: &str, core: usize, priority: u32, period: u64, body: Body) -> SetTask {
    SetTask {
        name: name.into(),
        core,
        priority,
        arrivals: ArrivalPattern::Periodic,
        period: Duration::from_ms(period),
        deadline: Duration::from_ms(period),
        jitter: Duration::ZERO,
        body,
    }
}

fn cost(ms: u64) -> Body {
    Body::Anywhere { cost: Duration::from_ms(ms), requests: Vec::new() }
}

/// The tasks of the recorded plan.
fn cochlear() -> TaskSet {
    let us = |us| Body::Anywhere { cost: Duration::from_us(us), requests: Vec::new() };
    let mut tasks = vec![
        task("recording", 0, 80, 8, us(100)),
        task("processing", 0, 70, 8, us(900)),
        task("output", 0, 75, 8, us(80)),
    ];
    tasks[1].jitter = Duration::from_us(50);
    tasks[1].deadline = Duration::from_us(1_100); // missed by the first job alone
    tasks[2].deadline = MS;
    TaskSet::new(vec![SchedulingPolicy::FixedPriority], vec![], tasks).unwrap()
}

/// Two cores and a resource that they share.
fn bus() -> TaskSet {
    let section = |before, inside| {
        let inside = vec![Segment::Normal(Duration::from_ms(inside))];
        Body::Segments(vec![
            Segment::Normal(Duration::from_ms(before)),
            Segment::Section { resource: 0, inside },
            Segment::Normal(MS),
        ])
    };
    let tasks = vec![
        task("holds", 0, 1, 20, section(1, 4)),
        task("wants", 1, 3, 20, section(2, 1)),
        task("other", 1, 2, 20, cost(3)),
    ];
    let resources = vec![Resource { name: "bus".into() }];
    TaskSet::new(vec![SchedulingPolicy::FixedPriority; 2], resources, tasks).unwrap()
}

/// One core, nested sections, and protocols under which a job waits for a local resource.
fn nested() -> TaskSet {
    let section = |resource, inside| Segment::Section { resource, inside };
    let normal = || Segment::Normal(MS);
    let both = |outer, inner| {
        Body::Segments(vec![
            normal(),
            section(outer, vec![normal(), section(inner, vec![normal()]), normal()]),
        ])
    };
    let tasks = vec![
        task("low", 0, 1, 40, both(0, 1)),
        task("mid", 0, 2, 20, cost(2)),
        task("high", 0, 3, 15, both(0, 1)),
    ];
    let resources = ["first", "second"].map(|name| Resource { name: name.into() });
    TaskSet::new(vec![SchedulingPolicy::FixedPriority], resources.into(), tasks).unwrap()
}

fn shown(set: &TaskSet, rule: GlobalRule, scenario: &Scenario, window: &Window<'_>) -> (Simulated, Outcome) {
    shown_under(set, &Rules::of(set, rule), scenario, window)
}

fn shown_under(
    set: &TaskSet,
    rules: &Rules,
    scenario: &Scenario,
    window: &Window<'_>,
) -> (Simulated, Outcome) {
    let mut simulation = Simulation::new(set, rules).unwrap();
    let mut shown = Simulated::new(&plan(), set, window);
    let outcome = simulation.run(scenario, &mut shown).unwrap().clone();
    (shown, outcome)
}

/// Task sets under all protocols that have tracks of their own.
fn cases() -> Vec<(TaskSet, Rules)> {
    let mut cases: Vec<_> = [GlobalRule::Mpcp, GlobalRule::Msrp, GlobalRule::FmlpLong]
        .map(|rule| (bus(), Rules::of(&bus(), rule)))
        .into();
    let cores =
        [LocalRule::Immediate, LocalRule::Original, LocalRule::Srp, LocalRule::DfpByClock { jitter: None }];
    cases.extend(cores.map(|core| (nested(), Rules::all(&nested(), core, GlobalRule::Msrp))));
    cases
}

/// Tracks that a simulated run does not have: nobody judges it, and it has no counts, ends and ages.
fn is_of_recordings(track: &str) -> bool {
    track == "verdict" || track == "application" || track.starts_with("chain ")
}

/// All tracks of a recorded run but these.
fn of_the_run(trace: &[u8]) -> Vec<(u64, String)> {
    tracks(trace).into_iter().filter(|(_, name)| !is_of_recordings(name)).collect()
}

/// A viewer shows a recorded run and a simulated one with the same tracks and names.
#[test]
fn a_recorded_run_has_the_same_tracks() {
    let recorded = Report::new(&plan(), &run(Script { releases: 20, ..Script::quiet() })).perfetto();
    let set = cochlear();
    let scenario = Scenario::worst(Duration::from_ms(160));
    let (mut simulated, outcome) = shown(&set, GlobalRule::Msrp, &scenario, &all(&[]));
    let queue = |writer, reader| FlowChannel {
        writer,
        readers: vec![reader],
        delivery: Delivery::Queue(Queue { capacity: 2, sends: 1, takes: 2, full: OnFull::Refuse }),
    };
    let mut flows = Flows::new(&set, vec![queue(0, 1), queue(1, 2)]).unwrap();
    let mut simulation = Simulation::new(&set, &Rules::of(&set, GlobalRule::Msrp)).unwrap();
    flows.run(&mut simulation, &scenario, &mut ()).unwrap();
    simulated.values(&flows, &[(1, "audio"), (2, "electrodes")]);
    let simulated = simulated.into_perfetto();
    assert_eq!(of_the_run(&recorded), tracks(&simulated));

    // Events have the same names, except for the numbers of jobs.
    let words = |trace: &[u8]| -> BTreeSet<(String, u64, String, String)> {
        let entries = entries(trace).into_iter().filter(|entry| !entry.name.contains("samples"));
        let plain = |name: String| name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
        let entries = entries.filter(|entry| !entry.name.ends_with("missed"));
        let entries = entries.filter(|entry| !is_of_recordings(&entry.track) && entry.category != "count");
        entries.map(|entry| (entry.track, entry.kind, entry.category, plain(entry.name))).collect()
    };
    assert_eq!(words(&recorded), words(&simulated));

    let jobs = entries(&simulated).into_iter().filter(|entry| entry.category == "job" && entry.kind == 1);
    let of = |name: &str| -> Vec<u64> {
        let jobs = jobs.clone().filter(|entry| entry.track == format!("{name}: jobs"));
        jobs.map(|entry| entry.numbers["response_ns"]).collect()
    };
    for (task, found) in set.tasks().iter().zip(&outcome.tasks) {
        let responses = of(&task.name);
        assert_eq!(responses.len() as u64, found.completed);
        assert_eq!(responses.into_iter().max(), Some(found.response_max.as_ns()));
    }
    let missed = entries(&simulated).into_iter().filter(|entry| entry.name.ends_with(": missed")).count();
    assert_eq!(missed as u64, outcome.tasks.iter().map(|task| task.missed).sum::<u64>());
    assert!(missed > 0);
}

#[test]
fn what_is_held_and_waited_for() {
    let scenario = Scenario::worst(Duration::from_ms(20));
    let bounds = [None, Some(Duration::from_ms(6)), Some(Duration::from_ms(12))];
    let focus = Some(Focus { task: 1, job: 0, title: "refuted claim" });
    let window = Window { focus, ..all(&bounds) };
    let (suspends, _) = shown(&bus(), GlobalRule::Mpcp, &scenario, &window);
    assert!(suspends.has_focus());
    insta::assert_snapshot!("suspends", lines(&suspends.into_perfetto()));
    let focus = Some(Focus { task: 2, job: 0, title: "longest response" });
    let (spins, _) = shown(&bus(), GlobalRule::Msrp, &scenario, &Window { focus, ..all(&bounds) });
    insta::assert_snapshot!("spins", lines(&spins.into_perfetto()));
}

/// In any window every beginning has an end, and the thread that leaves a CPU is the one that ran there.
#[test]
fn any_window_is_whole() {
    let scenario = Scenario::random(Duration::from_ms(60), 3);
    for (set, rules) in cases() {
        let (whole, _) = shown_under(&set, &rules, &scenario, &all(&[]));
        let most = whole.events;
        assert_eq!(whole.cut(), None);
        for from in (0..62).step_by(3).map(|ms| Instant::from_ns(ms * 1_000_000)) {
            for events_max in [0, 1, 2, 5, most / 2, most] {
                let until = Instant::from_ns(from.as_ns() + 7_000_000);
                let window = Window { from, until, events_max, ..all(&[]) };
                let (part, _) = shown_under(&set, &rules, &scenario, &window);
                assert!(part.events <= events_max && part.last() <= until);
                let trace = part.into_perfetto();
                cpu_tracks(&trace);
                let mut depth = BTreeMap::new();
                let entries = entries(&trace).into_iter().filter(|entry| entry.track.starts_with("thread"));
                for entry in entries {
                    assert!(entry.at >= from.as_ns() && entry.at <= until.as_ns());
                    let depth: &mut i32 = depth.entry(entry.track).or_default();
                    *depth += if entry.kind == 1 { 1 } else { -1 };
                    assert!(*depth >= 0);
                }
                assert!(depth.values().all(|depth| *depth == 0));
            }
        }
    }
}

/// The CPUs' tracks and the jobs' arguments come from different code: they agree on how long each task executed, and
/// no sleeping task executes.
#[test]
fn lanes_and_jobs_agree() {
    for (set, rules) in cases() {
        for seed in 0..20 {
            let scenario = Scenario::random(Duration::from_ms(200), seed);
            let (whole, outcome) = shown_under(&set, &rules, &scenario, &all(&[]));
            let trace = whole.into_perfetto();
            let mut of_jobs: BTreeMap<String, u64> = BTreeMap::new();
            for entry in entries(&trace) {
                if let Some(time) = entry.numbers.get("execution_ns") {
                    *of_jobs.entry(entry.track.replace(": jobs", "")).or_default() += time;
                }
            }
            let mut of_lanes: BTreeMap<String, u64> = BTreeMap::new();
            let mut running: BTreeMap<String, (String, u64)> = BTreeMap::new();
            let mut asleep: BTreeSet<String> = set.tasks().iter().map(|task| task.name.clone()).collect();
            for line in cpu_tracks(&trace) {
                let words: Vec<&str> = line.split([' ', ':', ',']).filter(|word| !word.is_empty()).collect();
                let (at, cpu): (u64, _) = (words[0].parse().unwrap(), words[2].to_owned());
                let (who, next) = (words[3].to_owned(), words[words.len() - 2].to_owned());
                if words[4] == "wakes" {
                    asleep.remove(&who);
                    continue;
                }
                if let Some((who, since)) = running.remove(&cpu) {
                    *of_lanes.entry(who).or_default() += at - since;
                }
                if words[4] == "sleeps" {
                    asleep.insert(who);
                }
                // A task that waits for a local resource gets no wake before it runs.
                let local = rules.cores[0] == LocalRule::Original;
                assert!(local || !asleep.contains(&next), "{line}");
                if next != "swapper" {
                    running.insert(cpu, (next, at));
                }
            }
            assert_eq!(of_jobs, of_lanes);
            assert_eq!(outcome.tasks.len(), of_jobs.len());
        }
    }
}

#[test]
fn jobs_that_are_dropped_and_not_complete() {
    let set =
        TaskSet::new(vec![SchedulingPolicy::FixedPriority], vec![], vec![task("much", 0, 1, 1, cost(3))])
            .unwrap();
    let window = Window { until: Instant::from_ns(20_000_000), ..all(&[]) };
    let (shown, _) = shown(&set, GlobalRule::Mpcp, &Scenario::worst(Duration::from_ms(20)), &window);
    let trace = shown.into_perfetto();
    let named = |what: &str| entries(&trace).into_iter().filter(|entry| entry.name.ends_with(what)).count();
    assert_eq!((named("dropped"), named("resumes")), (5, 9));
    assert!(tracks(&trace).iter().any(|(_, name)| name == "thread much"), "the plan does not have it");
    // The next job may start at once: the thread falls asleep, and is woken at the same instant.
    let back_to_back = [
        " 3000000 cpu 0: much sleeps, swapper runs",
        " 3000000 cpu 0: much wakes",
        " 3000000 cpu 0: swapper could go on, much runs",
    ];
    let lines = cpu_tracks(&trace);
    let at = lines.iter().position(|line| line.contains(" 3000000 cpu")).unwrap();
    assert!(
        lines[at..].iter().zip(back_to_back).all(|(line, expected)| line.contains(expected)),
        "{lines:?}"
    );
}

/// A plan with the tasks, cores and resources of a set, all dispatched.
fn dispatched(set: &TaskSet) -> Plan {
    let mut plan = plan();
    let (task, core) = (plan.tasks[0].clone(), plan.cores[0].clone());
    plan.tasks = set.tasks().iter().map(|of| with(&task, of)).collect();
    let cpus = 0..u16::try_from(set.cores().len()).unwrap();
    let dispatcher = Some("a test's".to_owned());
    plan.cores =
        cpus.map(|cpu| taut_plan::CorePlan { cpu, dispatched: dispatcher.clone(), ..core.clone() }).collect();
    let users = |at| set.users(at).map(|task| set.tasks()[task].name.clone()).collect();
    let resource = |(at, resource): (usize, &Resource)| taut_plan::ResourcePlan {
        name: resource.name.clone(),
        protocol: taut_plan::LockingProtocol::Mpcp,
        reason: String::new(),
        users: users(at),
    };
    plan.resources = set.resources().iter().enumerate().map(resource).collect();
    (plan.channels, plan.chains) = (Vec::new(), Vec::new());
    plan
}

fn with(task: &taut_plan::TaskPlan, of: &SetTask) -> taut_plan::TaskPlan {
    let mut task = taut_plan::TaskPlan { name: of.name.clone(), ..task.clone() };
    if let ClassPlan::RealTime { cpu, deadline, .. } = &mut task.class {
        (*cpu, *deadline) = (u16::try_from(of.core).unwrap(), of.deadline);
    }
    task
}

/// The record that an executor would have written for the event.
fn as_recorded(event: SimEvent, resource_waits: bool) -> Option<taut_event::Record> {
    use taut_event::Kind;
    let (kind, value) = match event.kind {
        taut_sim::SimEventKind::Release { .. } => (Kind::Release, 0),
        taut_sim::SimEventKind::Start => (Kind::Start, 0),
        taut_sim::SimEventKind::Preempt => (Kind::Preempt, 0),
        taut_sim::SimEventKind::Resume => (Kind::Resume, 0),
        taut_sim::SimEventKind::Suspend(resource) => (Kind::Suspend, resource),
        taut_sim::SimEventKind::Spin(resource) => (Kind::Spin, resource),
        taut_sim::SimEventKind::Locked(resource) if resource_waits => (Kind::Granted, resource),
        taut_sim::SimEventKind::Locked(resource) => (Kind::Locked, resource),
        taut_sim::SimEventKind::Unlock(resource) => (Kind::Unlock, resource),
        taut_sim::SimEventKind::Complete { .. } => (Kind::Complete, 0),
        _ => return None,
    };
    let (subject, value) = (u16::try_from(event.task).unwrap(), value as u64);
    Some(taut_event::Record { at: event.at, kind, cpu: 0, subject, job: event.job, value })
}

/// A dispatched run looks like the simulated run that it equals: which task ran, and what tasks held and waited for.
#[test]
fn what_a_dispatcher_records_is_shown_alike() {
    for (set, rules) in cases() {
        let plan = dispatched(&set);
        let scenario = Scenario::worst(Duration::from_ms(40));
        let mut simulation = Simulation::new(&set, &rules).unwrap();
        let mut shown = Simulated::new(&plan, &set, &all(&[]));
        simulation.run(&scenario, &mut shown).unwrap();
        let simulated = shown.into_perfetto();
        let mut records = Vec::new();
        let mut suspended = BTreeSet::new();
        let mut note = |event: SimEvent| {
            if let taut_sim::SimEventKind::Suspend(resource) = event.kind
                && !set.is_local(resource)
            {
                suspended.insert(event.task);
            }
            let granted =
                matches!(event.kind, taut_sim::SimEventKind::Locked(_)) && suspended.remove(&event.task);
            records.extend(as_recorded(event, granted));
            if granted {
                // The thread that waited records the lock once more.
                records.extend(as_recorded(event, false));
            }
        };
        simulation.run(&scenario, &mut note).unwrap();
        let run = taut_event::file::Run::of(records);
        let report = Report::new(&plan, &run);
        let recorded = report.perfetto();
        assert_eq!(cpu_tracks(&recorded), cpu_tracks(&simulated), "{rules:?}");
        let of = |trace: &[u8]| -> Vec<_> {
            let all = entries(trace).into_iter();
            all.filter(|entry| entry.track.starts_with("thread") || entry.track.ends_with("held by"))
                .collect()
        };
        assert_eq!(of(&recorded), of(&simulated), "{rules:?}");
        assert_eq!(of_the_run(&recorded), tracks(&simulated));
        // The waiting times, in every output format.
        let waits: u64 = report.resources().iter().map(|resource| resource.waited).sum();
        let waited = run
            .records
            .iter()
            .filter(|record| matches!(record.kind, taut_event::Kind::Suspend | taut_event::Kind::Spin));
        assert_eq!(waits, waited.count() as u64);
        let name = &set.resources()[0].name;
        let text = report.text(100, false);
        let row = text.lines().find(|line| line.starts_with(name.as_str())).unwrap();
        assert!(text.contains("\nlocks  from the request") && row.contains("MPCP"), "{text}");
        assert!(report.json().contains("\"resources\": ["));
        assert!(report.html(&crate::About::default()).contains("\"resources\":[{\"name\":\""));
    }
}

#[test]
fn a_run_of_two_cores_in_the_viewer() {
    let set = bus();
    let plan = dispatched(&set);
    let mut records = Vec::new();
    let mut simulation = Simulation::new(&set, &Rules::of(&set, GlobalRule::Msrp)).unwrap();
    let mut note = |event: SimEvent| {
        // A switch takes 100 us, in which no task runs.
        let late = matches!(event.kind, taut_sim::SimEventKind::Start | taut_sim::SimEventKind::Resume);
        let at = event.at.checked_add(Duration::from_us(if late { 100 } else { 0 })).unwrap();
        let cpu = set.tasks()[event.task].core as u8;
        let recorded = as_recorded(SimEvent { at, ..event }, false);
        records.extend(recorded.map(|record| taut_event::Record { cpu, ..record }));
    };
    simulation.run(&Scenario::worst(Duration::from_ms(20)), &mut note).unwrap();
    records[0].value = 30_000;
    let run = taut_event::file::Run::of(records);
    let report = Report::new(&plan, &run);
    insta::assert_snapshot!("dispatched", lines(&report.perfetto()));
    let spun = &report.resources()[0];
    assert_eq!((spun.waited, spun.wait.unwrap().max_ns), (1, 3_000_000));
}
