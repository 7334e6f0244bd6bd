// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::collections::BTreeMap;

use taut_event::{Counter, Event, Foreign, Interference, Kind, ObservedPlacement, Record, SafeStateOutcome};
use taut_model::SchedulingPolicy;
use taut_plan::{LockingProtocol, ResourcePlan, ServerPlan, ServerPolicy};
use taut_time::{Duration, Instant};

use super::*;
use crate::Report;
use crate::decoded::{Entry, entries, messages, uint};
use crate::protobuf::{Value, fields};
use crate::recorded::{MS, Script, plan, run};

fn report() -> Report {
    let script = Script { stalls: vec![(3_999 * MS + 900_000, 9 * MS)], ..Script::quiet() };
    Report::new(&plan(), &run(script))
}

#[test]
fn slices_nest_and_flows_have_two_ends() {
    let report = report();
    let trace = report.perfetto();
    let mut tracks: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    let mut flows: BTreeMap<u64, u32> = BTreeMap::new();
    let (mut late, mut counters, mut deadlines) = (0, 0, 0);
    for packet in messages(&trace, 1) {
        assert_eq!(uint(packet, 10), Some(SEQUENCE));
        for event in messages(packet, 11) {
            let (kind, track) = (uint(event, 9).unwrap(), uint(event, 11).unwrap());
            counters += u32::from(kind == COUNTER);
            let deadline = (deadlines_track(0)..resource_track(0)).contains(&track);
            deadlines += u32::from(kind == INSTANT && deadline);
            if kind == SLICE_BEGIN || kind == SLICE_END {
                tracks.entry(track).or_default().push((uint(packet, 8).unwrap(), kind));
            }
            late += messages(event, 4).into_iter().filter(|a| messages(a, 10) == [b"late"]).count() as u64;
            for (_, value) in fields(event).into_iter().filter(|(number, _)| *number == 47) {
                let Value::Fixed(flow) = value else { panic!("a flow is fixed64") };
                *flows.entry(flow).or_default() += 1;
            }
        }
    }
    assert_eq!(counters, 3750);
    assert!(late > 0);
    assert_eq!(late, report.late_machine());
    assert_eq!(flows.len(), 3750);
    assert!(flows.values().all(|ends| *ends == 2));
    assert_eq!(tracks.len(), 4, "three tasks and the stalls");
    assert_eq!(deadlines, 3748, "two lie after the end");
    for events in tracks.values() {
        assert!(events.is_sorted_by_key(|event| event.0));
        let kinds = events.iter().map(|event| event.1);
        assert!(kinds.eq([SLICE_BEGIN, SLICE_END].into_iter().cycle().take(events.len())));
    }
}

/// An event of a kind, with words that all versions know.
fn event_of(kind: Kind) -> Event {
    let job = if matches!(kind, Kind::Counted | Kind::CoreCounted) { Counter::HeapUse as u64 } else { 0 };
    let at = Instant::from_ns(0);
    Event::of(&Record { at, kind, cpu: 0, subject: 0, job, value: 0 }).unwrap()
}

/// Whatever is recorded, the viewer has an event of it.
#[test]
fn each_event_is_shown() {
    let mut plan = plan();
    plan.servers.push(ServerPlan {
        backlog: Vec::new(),
        name: "spare".to_owned(),
        policy: ServerPolicy::Deferrable,
        cpu: 0,
        cpu_reason: None,
        priority: 1,
        priority_reason: None,
        budget: Duration::from_us(10),
        period: Duration::from_us(100),
        response: None,
        served: None,
        tasks: Vec::new(),
    });
    plan.resources.push(ResourcePlan {
        name: "bus".to_owned(),
        protocol: LockingProtocol::Srp,
        reason: String::new(),
        users: vec!["recording".to_owned()],
    });
    let shown = |more: Option<Event>| {
        let mut run = run(Script { releases: 3, ..Script::quiet() });
        let at = run.records[0].at;
        run.records.extend(more.map(|event| event.record(at, 0)));
        let report = Report::new(&plan, &run);
        let entries = entries(&report.perfetto()).into_iter().filter(|entry| entry.track != "verdict");
        let entries = entries.map(|entry| (entry.at, entry.track, entry.name, entry.category));
        entries.collect::<Vec<_>>()
    };
    let without = shown(None);
    let hidden: Vec<Kind> =
        Kind::ALL.iter().copied().filter(|kind| shown(Some(event_of(*kind))) == without).collect();
    // A late job is late by its deadline, and a switch is on the track of its CPU.
    assert_eq!(hidden, [Kind::Miss, Kind::Preempt, Kind::Resume]);
}

#[test]
fn notes_of_a_run_are_in_words() {
    let mut run = run(Script { releases: 3, ..Script::quiet() });
    let at = run.records[0].at;
    let placement = ObservedPlacement { policy: 0, priority: 0, is_unpinned: true };
    let result = Some(SafeStateOutcome::Reached);
    let events = [
        Event::Drop { channel: 1, job: 0, values: 2 },
        Event::LostBy { channel: 1, reader: 1, values: 3 },
        Event::TooMany { channel: 1, job: 3, values: 1 },
        Event::Service { service: 0, task: 1, state: 2 },
        Event::Panicked { task: 1, job: 2, remedy: 0 },
        Event::ModeFollowed { task: 1, from: 0, to: 1, since: Duration::from_ns(5) },
        Event::CoreLost { core: 0, records: 1 },
        Event::ValuesRecorded { messages: 3, bytes: 4 },
        Event::ValuesLost { records: 1 },
        Event::Looked { task: 0 },
        Event::ProbeMoved { core: 0, is_main: true, placement },
        Event::CoreMoved { core: 0, worker: 0, placement },
        Event::SafeState { heap_use: None, result, took: Duration::from_us(40) },
        Event::Stopped { interference: Interference::Traced { pid: 7 } },
    ];
    run.records.extend(events.map(|event| event.record(at, 0)));
    let name = *b"multipathd\0\0\0\0\0\0";
    let thread =
        Foreign { core: 0, tid: 9, policy: 1, priority: 99, name, since: at, until: at, ran_ns: 5_000 };
    run.records.extend(thread.to_records());
    let trace = Report::new(&plan(), &run).perfetto();
    let others = ["application", "service sound", "channel audio", "dispatcher and probe, cpu 0"];
    let of_others = |entry: &Entry| others.contains(&entry.track.as_str()) && entry.at == at.as_ns();
    let lines: Vec<String> = entries(&trace)
        .into_iter()
        .filter(of_others)
        .map(|entry| format!("{}: {} [{}]", entry.track, entry.name, entry.category))
        .collect();
    let expected = [
        "application: release 0 [run]",
        "application: values are in values.mcap [run]",
        "application: values not recorded [trouble]",
        "application: outputs were brought to rest [run]",
        "application: process 7 traces the application [outside]",
        "service sound: processing is paused [change]",
        "channel audio: 2 values lost [trouble]",
        "channel audio: 3 values lost by `processing` [trouble]",
        "channel audio: job 3 sent more than the manifest allows [trouble]",
        "dispatcher and probe, cpu 0: 1 record lost [trouble]",
        "dispatcher and probe, cpu 0: checked its calendar [run]",
        "dispatcher and probe, cpu 0: the main thread was moved from outside: SCHED_OTHER, not on its CPU alone \
         [outside]",
        "dispatcher and probe, cpu 0: the dispatcher was moved from outside: SCHED_OTHER, not on its CPU alone \
         [outside]",
        "dispatcher and probe, cpu 0: foreign real-time thread `multipathd` (9), SCHED_FIFO 99, ran for 5us \
         [outside]",
    ];
    assert_eq!(lines, expected);
}

/// The viewer shows the verdict of the run, and its reasons.
#[test]
fn the_verdict_stands_at_the_end() {
    let said = |report: &Report| -> Vec<(u64, String)> {
        let entries = entries(&report.perfetto());
        entries
            .into_iter()
            .filter(|entry| entry.track == "verdict")
            .map(|entry| (entry.at, entry.name))
            .collect()
    };
    let kept = Report::new(&plan(), &run(Script::quiet()));
    let end = kept.begin + kept.duration;
    assert_eq!(said(&kept), [(end, "kept".to_owned())]);
    let mut run = run(Script { killed: true, ..Script::quiet() });
    run.records.extend(taut_event::Ending::Killed(6).to_record(Instant::from_ns(end)));
    let killed = Report::new(&plan(), &run);
    let reported = "the application was ended by SIGABRT (signal 6)";
    assert!(matches!(&said(&killed)[..], [(at, word), (_, why)]
        if *at == end && word == "broken" && why.starts_with(reported)));
}

#[test]
fn switches_join_and_tell_completion_from_preemption() {
    let trace = report().perfetto();
    let (mut last, mut running) = (0, 0);
    let (mut completed, mut preempted, mut woken) = (0, 0, 0);
    for bundle in messages(&trace, 1).into_iter().flat_map(|packet| messages(packet, 1)) {
        assert_eq!(uint(bundle, 1), Some(0), "the cpu");
        for event in messages(bundle, 2) {
            let at = uint(event, 1).unwrap();
            assert!(at >= last);
            last = at;
            woken += messages(event, 20).len();
            for switch in messages(event, 4) {
                assert_eq!(uint(switch, 2), Some(running), "who leaves is who ran");
                match (running, uint(switch, 4)) {
                    (0, Some(0)) => {}
                    (_, Some(1)) => completed += 1,
                    (_, Some(0)) => preempted += 1,
                    (who, state) => panic!("{who} left in state {state:?}"),
                }
                running = uint(switch, 6).unwrap();
            }
        }
    }
    assert_eq!(running, 0, "idle at the end");
    assert_eq!((completed, preempted, woken), (3750, 1250, 3750));
}

/// The same for releases that came too soon, and for jobs that failed.
#[test]
fn trouble_is_shown_on_its_task() {
    let record =
        |at, kind, value| Record { at: Instant::from_ns(at), kind, cpu: 0, subject: 1, job: 3, value };
    let mut run = run(Script { releases: 2, ..Script::quiet() });
    run.records.extend([
        record(5, Kind::Overrun, 1),
        record(6, Kind::Skip, 0),
        record(7, Kind::Failed, 42),
        record(8, Kind::ScopeExceeded, 4096),
        record(9, Kind::Exhausted, 250_000),
    ]);
    let trace = Report::new(&plan(), &run).perfetto();
    let found: Vec<_> = entries(&trace).into_iter().filter(|entry| entry.category == "trouble").collect();
    let expected = [
        (5, "released while its job still ran", "job", 3),
        (6, "release dropped", "job", 3),
        (7, "job failed", "code", 42),
        (8, "release scope exhausted", "asked_bytes", 4096),
        (9, "budget of 250us exhausted", "budget_ns", 250_000),
    ];
    assert_eq!(found.len(), expected.len());
    for (entry, (at, name, what, value)) in found.iter().zip(expected) {
        let track = (entry.track.as_str(), entry.kind);
        assert_eq!((entry.at, track, entry.name.as_str()), (at, ("thread processing", INSTANT), name));
        assert_eq!(entry.numbers, BTreeMap::from([(what.to_owned(), value)]));
    }
}

/// Attributes changed at run time appear on the tracks of their owners: as priorities, and under EDF as deadlines.
#[test]
fn changes_are_shown_with_their_values() {
    let record =
        |at, kind, subject, value| Record { at: Instant::from_ns(at), kind, cpu: 0, subject, job: 3, value };
    let said = vec![
        record(5, Kind::Level, 1, 40_000),
        record(7, Kind::Ceiling, 0, 60_000),
        record(8, Kind::Ceiling, 9, 1),
        record(8, Kind::Level, 99, 1),
    ];
    for (scheduler, what, words) in [
        (SchedulingPolicy::FixedPriority, "priority", ["40000", "60000"]),
        (SchedulingPolicy::Edf, "deadline_ns", ["40us", "60us"]),
    ] {
        let mut plan = plan();
        plan.cores[0].scheduler = scheduler;
        plan.resources = vec![ResourcePlan {
            name: "bus".to_owned(),
            protocol: LockingProtocol::Srp,
            reason: String::new(),
            users: vec!["processing".to_owned()],
        }];
        let mut run = run(Script { releases: 2, ..Script::quiet() });
        run.records.extend(&said);
        let trace = Report::new(&plan, &run).perfetto();
        let found: Vec<_> = entries(&trace).into_iter().filter(|entry| entry.category == "change").collect();
        let expected = [
            (5, "thread processing", format!("level {}", words[0]), what, 40_000),
            (7, "bus: held by", format!("ceiling {}", words[1]), what, 60_000),
        ];
        assert_eq!(found.len(), expected.len());
        for (entry, (at, track, name, what, value)) in found.iter().zip(expected) {
            assert_eq!(
                (entry.at, entry.track.as_str(), entry.kind, &entry.name),
                (at, track, INSTANT, &name)
            );
            assert_eq!(entry.numbers, BTreeMap::from([(what.to_owned(), value)]));
        }
    }
}
