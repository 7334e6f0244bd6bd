// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Cheddar: tasks, sections, units, priorities, dependencies.

use crate::{RELEASED, SAMPLES, imported, lines, lost};
use taut_exchange::{Options, import};

#[test]
fn cheddar() {
    let (imported, set) = imported(SAMPLES[0].1);
    assert_eq!(
        lines(&set),
        [
            "sensor-fusion @0 20 Phased(0) 50ms 40ms 3ms 2ms state-vector×1×1ms",
            "attitude-control @0 18 Phased(10000000) 100ms 100ms 0ns 6ms state-vector×1×3ms radio×1×1ms",
            "guidance @0 12 Phased(0) 200ms 200ms 0ns 9ms ",
            "telemetry @0 7 Phased(0) 400ms 400ms 20ms 15ms state-vector×1×3ms radio×1×4ms",
        ]
    );
    assert!(imported.manifest.contains("{ hold = \"state-vector\", segments = [{ run = \"1ms\" }, { hold = \"radio\", run = \"1ms\" }, { run = \"1ms\" }] }"));
    assert_eq!(
        lost(&imported),
        [
            "its times have no unit: 1 is taken as 1ms; `--unit` says otherwise",
            "47:3: the blocking time 4ms of task `attitude_control` is left out: the analysis finds its own",
            "81:3: the context switch overhead 1ms of task `telemetry` is left out: the analysis finds its own",
            "98:3: task `ground_command` is of type APERIODIC_TYPE: it is left out",
            "152:3: `downlink` has no size: a byte is written",
            "152:3: `downlink` is left out: 0 tasks write it",
        ]
    );
}

/// Two cores of a processor, tasks that wait for others, buffers, a blackboard and a message.
#[test]
fn cheddar_dependencies() {
    let (imported, set) = imported(SAMPLES[7].1);
    let expected = [
        "read-buttons @0 30 Phased(0) 40ms 40ms 0ns 2ms ",
        "decide @0 20 Sporadic 40ms 40ms 0ns 4ms ",
        "move @1 25 Sporadic 40ms 40ms 0ns 6ms ",
        "watch @1 10 Phased(0) 200ms 200ms 0ns 5ms ",
        "display @0 5 Phased(0) 400ms 400ms 0ns 3ms ",
        "log @0 4 Phased(0) 800ms 800ms 0ns 9ms ",
    ];
    assert_eq!(lines(&set), expected);
    let expected = [
        "its times have no unit: 1 is taken as 1ms; `--unit` says otherwise",
        RELEASED,
        "24:3: processor `lift_cpu` has 2 cores: each of its tasks stays on one",
        "105:3: task `display` is on no core of its own: the plan chooses",
        "136:3: task `visitor` is of type APERIODIC_TYPE: it is left out",
        "156:4: `queueing_system_type` of `buffer` is left out (QS_PP1): the plan finds how long a queue is",
        "164:3: `journal` is written faster than it is read, or has several readers: its newest value is carried",
        "170:3: `read_buttons` releases `decide`: the deadline is one of both",
        "175:3: `decide` releases `move`: the deadline is one of both",
        "180:3: the wait of `watch` for `log` is left out: they do not start together",
        "227:3: a dependency of type TIME_TRIGGERED_COMMUNICATION_DEPENDENCY is left out",
    ];
    assert_eq!(lost(&imported), expected);
    for part in [
        "[channels.steps]\nkind = \"queue\"\nfrom = \"watch\"\nto = \"read-buttons\"\npayload = \"Bytes12\"",
        "[channels.floor]\nkind = \"state\"\nfrom = \"move\"\nto = [\"watch\", \"display\"]\npayload = \"Bytes4\"",
        "path = [\"read-buttons\", \"read-buttons-before-decide\", \"decide\", \"decide-before-move\", \"move\"]\n\
         max-latency = \"40ms\"",
    ] {
        assert!(imported.manifest.contains(part), "{part}\n{}", imported.manifest);
    }
}

#[test]
fn a_unit_can_be_told() {
    let unit = Some(taut_time::Duration::from_us(100));
    let imported = import(SAMPLES[0].1, &Options { unit, ..Options::default() }).unwrap();
    assert!(imported.manifest.contains("arrival = { periodic = \"5ms\" }"));
    assert!(!lost(&imported).iter().any(|what| what.contains("no unit")));
}

/// Cheddar's files give the scheduler with each core.
#[test]
fn cheddar_without_preemption() {
    let text = SAMPLES[0].1.replace("<preemptive_type>PREEMPTIVE", "<preemptive_type>NOT_PREEMPTIVE");
    let (imported, _) = imported(&text);
    assert!(imported.manifest.contains("non-preemptive = \"6ms\""));
    assert!(imported.manifest.contains("longest = \"3ms\""), "{}", imported.manifest);
}

#[test]
fn priorities_are_numbered_anew_where_they_must() {
    let text =
        SAMPLES[0].1.replace("<priority>20<", "<priority>99<").replace("<priority>12<", "<priority>7<");
    let (imported, set) = imported(&text);
    let priorities: Vec<_> = set.tasks().iter().map(|task| task.priority).collect();
    assert_eq!(priorities, [4, 3, 2, 1]);
    let lost = lost(&imported).join("\n");
    assert!(lost.contains("numbered anew"), "{lost}");
    assert!(lost.contains("81:3: `guidance` and `telemetry` have the same priority"), "{lost}");
}

#[test]
fn what_is_never_in_time_is_left_out() {
    let text = SAMPLES[0].1.replace("<capacity>9<", "<capacity>900<");
    let (imported, set) = imported(&text);
    assert_eq!(set.tasks().len(), 3);
    assert!(lost(&imported).iter().any(|what| what.starts_with("64:3: task `guidance` takes 900ms")));
}
