// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::collections::BTreeMap;

use super::*;
use crate::Report;
use crate::decoded::{messages, uint};
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
