// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What is written in other languages, and what is reported as lost.
#![allow(clippy::unwrap_used, reason = "test code")]

use taut_exchange::{Exported, Target, export};

const MANIFEST: &str = r#"
manifest = 1
[app]
name = "arm"
[platform]
cores = [2, 3]
memory = "64MiB"
[platform.overheads]
release = "0ns"
context-switch = "0ns"
kernel-blocking = "20us"
lock = "0ns"
[payloads]
Byte = { type = "u8" }
[resources.bus]
[resources.log]
[tasks.servo]
arrival = { periodic = "5ms", offset = "1ms" }
deadline = "4ms"
jitter = "100us"
wcet = { value = "1ms", source = "measured", margin = "10%" }
core = 2
priority = 30
sections = [{ resource = "bus", longest = "50us", count = 2 }]
[tasks.grip]
arrival = { sporadic = "20ms", trigger = "touch" }
deadline = "20ms"
wcet = { value = "2ms", source = "static" }
core = 3
priority = 20
sections = [{ resource = "bus", longest = "100us" }]
[tasks.look]
arrival = { periodic = "40ms" }
deadline = "40ms"
wcet = { value = "5ms", source = "static" }
core = 3
priority = 10
segments = [{ run = "1ms" }, { hold = "log", segments = [{ run = "100us" }] }]
[tasks.skin]
class = "best-effort"
min-gap = "20ms"
[channels.touch]
kind = "queue"
from = "skin"
to = "grip"
payload = "Byte"
"#;

fn exported(target: Target) -> Exported {
    let source = taut_manifest::SourceText { name: "taut.toml".into(), text: MANIFEST.into() };
    let model = taut_manifest::load(&source, &[]).model.unwrap();
    export(&model, &taut_planner::task_set(&model).unwrap(), target)
}

fn lost(exported: &Exported) -> Vec<String> {
    exported.lost.iter().map(ToString::to_string).collect()
}

const ALWAYS: [&str; 3] = [
    "tasks.skin: it has no deadline, and is left out",
    "channels.touch: data are left out",
    "platform.overheads.kernel-blocking: delays by the kernel are left out",
];

/// The losses beyond those that every language reports.
fn beyond(exported: &Exported) -> Vec<String> {
    let lost = lost(exported);
    assert_eq!(lost[..ALWAYS.len()], ALWAYS);
    lost[ALWAYS.len()..].to_vec()
}

#[test]
fn mast() {
    let exported = exported(Target::Mast);
    assert_eq!(
        beyond(&exported),
        [
            "resources.bus: of several cores: nothing preempts its holder there, and users of other cores do not delay it"
        ]
    );
    let flat = exported.text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "Operation ( Type => Enclosing, Name => \"servo_job\", Worst_Case_Execution_Time => 1100.0, Composite_Operation_List \
         => ( \"servo_part_1\", \"servo_part_2\" ) );",
        "Name => \"servo_part_2\", Worst_Case_Execution_Time => 55.0, Shared_Resources_List => ( \"bus\" ) );",
        "( Type => Periodic, Name => \"servo_arrives\", Period => 5000.0, Max_Jitter => 100.0, Phase => 1000.0 )",
        "( Type => Sporadic, Name => \"grip_arrives\", Min_Interarrival => 20000.0 )",
        "Type => Immediate_Ceiling_Resource, Name => \"bus\", Ceiling => 32767, Preassigned => YES",
        "Operation ( Type => Composite, Name => \"look_job\", Composite_Operation_List => ( \"look_part_1\", \"look_part_2\", \"look_part_3\" ) );",
        "The_Priority => 10, Preassigned => YES ), Scheduler => scheduler_1 );",
    ] {
        assert!(flat.contains(part), "{part}\n{}", exported.text);
    }
    assert!(exported.text.lines().all(|line| line.len() < 80 && line.trim_end() == line));
}

#[test]
fn simso() {
    let exported = exported(Target::SimSo);
    assert_eq!(
        beyond(&exported),
        [
            "platform.cores: `simso.schedulers.FP` moves tasks between cores; write each core alone, or use the field `core`",
            "resources.bus: critical sections are left out, their time is not",
            "resources.log: critical sections are left out, their time is not",
            "tasks.servo.jitter: jitter is left out",
            "tasks.grip.arrival: sporadic, written as periodic",
        ]
    );
    let task = "period=\"5.0\" activationDate=\"1.0\" instructions=\"0\" mix=\"0.5\" WCET=\"1.1\"";
    assert!(exported.text.contains(task), "{}", exported.text);
    assert!(exported.text.contains("duration=\"801000000\" cycles_per_ms=\"1000000\""), "{}", exported.text);
}

#[test]
fn rt_app() {
    let exported = exported(Target::RtApp);
    assert_eq!(
        beyond(&exported),
        [
            "resources.bus: it is a mutex, of several cores",
            "resources.log: it is a mutex with priority inheritance",
            "tasks.servo.jitter: jitter is left out",
            "tasks.grip.arrival: sporadic, written as periodic",
            "tasks.servo.sections: they may be anywhere; they are written first",
            "tasks.servo.deadline: its slack is to the end of the period",
            "tasks.grip.sections: they may be anywhere; they are written first",
        ]
    );
    let flat = exported.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let servo = "\"servo\": { \"policy\": \"SCHED_FIFO\", \"priority\": 30, \"cpus\": [2], \"delay\": 1000, \"loop\": -1, \
                 \"lock0\": \"bus\", \"run0\": 55, \"unlock0\": \"bus\", \"lock1\": \"bus\", \"run1\": 55, \"unlock1\": \
                 \"bus\", \"run2\": 990, \"timer\": { \"ref\": \"servo-period\", \"period\": 5000, \"mode\": \"absolute\" } }";
    assert!(flat.contains(servo), "{flat}");
    assert!(flat.contains("\"calibration\": \"CPU2\""), "{flat}");
}

/// Core, priority, arrivals, T, D, J, C and requests of each task.
fn figures(set: &taut_model::TaskSet) -> Vec<String> {
    let figure = |(at, task): (usize, &taut_model::SetTask)| {
        let request = |request: &taut_model::Request| {
            (set.resources()[request.resource].name.clone(), request.count, request.length, request.outermost)
        };
        let requests: Vec<_> = set.requests(at).iter().map(request).collect();
        let (name, core, priority) = (&task.name, task.core, task.priority);
        let times = (task.arrivals, task.period, task.deadline, task.jitter, set.cost(at));
        format!("{name} {core} {priority} {times:?} {requests:?}")
    };
    set.tasks().iter().enumerate().map(figure).collect()
}

fn load(text: &str) -> taut_model::Model {
    let source = taut_manifest::SourceText { name: "taut.toml".into(), text: text.into() };
    taut_manifest::load(&source, &[]).model.unwrap()
}

/// Exports a manifest and imports it again: the task set is the same.
fn round_trip(manifest: &str, target: Target) {
    let model = load(manifest);
    let set = taut_planner::task_set(&model).unwrap();
    let text = export(&model, &set, target).text;
    let imported = taut_exchange::import(&text, &taut_exchange::Options::default()).unwrap();
    assert!(!imported.lost.iter().any(|lost| lost.what.contains("no unit")), "{:?}", imported.lost);
    let again = taut_planner::task_set(&load(&imported.manifest)).unwrap();
    assert_eq!(figures(&again), figures(&set), "{text}\n{:?}", imported.lost);
    assert_eq!(again.cores(), set.cores());
}

#[test]
fn mast_there_and_back() {
    round_trip(MANIFEST, Target::Mast);
    round_trip(&MANIFEST.replace("cores = [2, 3]", "cores = [2, 3]\nscheduler = \"edf\""), Target::Mast);
    for sample in [include_str!("../samples/flight.xmlv3"), include_str!("../samples/robot.mast")] {
        let imported = taut_exchange::import(sample, &taut_exchange::Options::default()).unwrap();
        round_trip(&imported.manifest, Target::Mast);
    }
}

/// Sections that may be anywhere come back at fixed places: counts and lengths are the same.
#[test]
fn cheddar_there_and_back() {
    round_trip(MANIFEST, Target::Cheddar);
    round_trip(&MANIFEST.replace("cores = [2, 3]", "cores = [2, 3]\nscheduler = \"edf\""), Target::Cheddar);
    for sample in [include_str!("../samples/flight.xmlv3"), include_str!("../samples/robot.mast")] {
        let imported = taut_exchange::import(sample, &taut_exchange::Options::default()).unwrap();
        round_trip(&imported.manifest, Target::Cheddar);
    }
}

#[test]
fn cheddar() {
    let exported = exported(Target::Cheddar);
    assert_eq!(
        beyond(&exported),
        [
            "tasks.servo.sections: they may be anywhere; they are written first",
            "tasks.grip.sections: they may be anywhere; they are written first",
            "resources.bus: of several cores: it stands on the first of them",
        ]
    );
    let flat: String = exported.text.split_whitespace().collect();
    assert!(flat.contains("<task_begin>56</task_begin><task_end>110</task_end>"), "{}", exported.text);
}
