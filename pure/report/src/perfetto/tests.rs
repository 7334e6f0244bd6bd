// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::collections::BTreeMap;

use taut_event::{Kind, Record};
use taut_model::SchedulingPolicy;
use taut_plan::{LockingProtocol, ResourcePlan};
use taut_time::Instant;

use super::*;
use crate::Report;
use crate::decoded::{entries, messages, uint};
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
            deadlines += u32::from(kind == INSTANT && track >= deadlines_track(0));
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
        (8, "release scope used up", "asked_bytes", 4096),
        (9, "budget of 250us used up", "budget_ns", 250_000),
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
