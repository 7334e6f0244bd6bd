// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Samples of each language, what becomes of them, and what becomes of damaged ones.
#![allow(clippy::unwrap_used, reason = "test code")]

use proptest::prelude::*;
use taut_exchange::{Imported, Options, Source, import};
use taut_model::{Model, Severity, TaskSet};
use taut_plan::Plan;

const SAMPLES: [(Source, &str); 8] = [
    (Source::Cheddar, include_str!("../samples/flight.xmlv3")),
    (Source::SchedCat, include_str!("../samples/two-partitions.xml")),
    (Source::Amalthea, include_str!("../samples/drive.amxmi")),
    (Source::Mast, include_str!("../samples/robot.mast")),
    (Source::RtDroid, include_str!("../samples/listen-manifest.xml")),
    (Source::Mast, include_str!("../samples/cell.mast")),
    (Source::Mast, include_str!("../samples/cell-mast.xml")),
    (Source::Cheddar, include_str!("../samples/lift.xmlv3")),
];

const RELEASED: &str =
    "who is released by another task is so a period after the last time, or later: the runtime sees to it";

fn load(manifest: &str) -> Model {
    let source = taut_manifest::Source { name: "taut.toml".into(), text: manifest.into() };
    let loaded = taut_manifest::load(&source, &[]);
    let faults = loaded.diagnostics.iter().filter(|fault| fault.severity == Severity::Error);
    let faults: Vec<_> = faults.map(|fault| fault.message.clone()).collect();
    loaded.model.unwrap_or_else(|| panic!("{faults:#?}\n{manifest}"))
}

fn imported(text: &str) -> (Imported, TaskSet) {
    let imported = import(text, &Options { name: "sample".into(), ..Options::default() }).unwrap();
    let set = Plan::task_set(&load(&imported.manifest)).unwrap();
    (imported, set)
}

/// A line a task: core, priority, arrivals, T, D, J, C, requests as resource × count × length.
fn lines(set: &TaskSet) -> Vec<String> {
    let line = |(at, task): (usize, &taut_model::SetTask)| {
        let request = |request: &taut_model::Request| {
            format!("{}×{}×{}", set.resources()[request.resource].name, request.count, request.length)
        };
        let requests: Vec<_> = set.requests(at).iter().map(request).collect();
        let (t, d, j, c) = (task.period, task.deadline, task.jitter, set.cost(at));
        let arrivals = format!("{:?}", task.arrivals).replace("Duration { ns: ", "").replace(" }", "");
        format!(
            "{} @{} {} {arrivals} {t} {d} {j} {c} {}",
            task.name,
            task.core,
            task.priority,
            requests.join(" ")
        )
    };
    set.tasks().iter().enumerate().map(line).collect()
}

fn lost(imported: &Imported) -> Vec<String> {
    imported.lost.iter().map(ToString::to_string).collect()
}

#[test]
fn languages_are_guessed() {
    for (source, text) in SAMPLES {
        assert_eq!(Source::guess(text), Some(source));
    }
    for text in ["", "<", "<!--", "hello", "<html/>", "{\"tasks\":{}}"] {
        assert_eq!(Source::guess(text), None, "{text}");
        assert!(import(text, &Options::default()).is_err(), "{text}");
    }
}

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
        "24:3: processor `lift_cpu` has 2 cores: a task of it keeps to one",
        "105:3: task `display` is on no core of its own: the plan chooses",
        "136:3: task `visitor` is of type APERIODIC_TYPE: it is left out",
        "164:3: `journal` is written faster than it is read, or has several readers: its newest value is carried",
        "170:3: `decide` is released by `read_buttons`: its deadline is one of both",
        "175:3: `move` is released by `decide`: its deadline is one of both",
        "180:3: that `watch` waits for `log` is left out: they do not start together",
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

/// Cheddar's files say the scheduler with each core.
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

#[test]
fn schedcat() {
    let (imported, set) = imported(SAMPLES[1].1);
    let lines: Vec<_> = lines(&set).into_iter().map(|line| line.replace("Phased(0) ", "")).collect();
    assert_eq!(lines.len(), 4);
    assert!(
        lines[0].starts_with("task-1 @0") && lines[0].ends_with("10ms 10ms 0ns 1.5ms resource-0×2×100us"),
        "{lines:?}"
    );
    assert!(lines[1].ends_with("20ms 15ms 0ns 4ms resource-1×2×300us"), "{lines:?}");
    assert!(lines[3].ends_with("50ms 50ms 0ns 9ms resource-2×1×500us resource-3×1×100us"), "{lines:?}");
    let lost = lost(&imported);
    assert!(lost.iter().any(|what| what == "4:3: `response_time` of task `1` is left out"), "{lost:?}");
    assert!(lost.iter().any(|what| what.starts_with("11:7: reading is written like writing")), "{lost:?}");
}

#[test]
fn amalthea() {
    let (imported, set) = imported(SAMPLES[2].1);
    assert_eq!(
        lines(&set),
        [
            "sense @0 9 Phased(500000) 10ms 10ms 0ns 1000.001us odometer×1×1us",
            "control @0 8 Sporadic 10ms 8ms 0ns 1ms ",
            "map @1 5 Phased(0) 100ms 100ms 0ns 20ms odometer×1×1us",
            "learn @1 4 Phased(0) 100ms 100ms 0ns 20ms odometer×1×1us",
        ]
    );
    let channel = "[channels.wheel-speed]   # wheel_speed\nkind = \"state\"\nfrom = \"sense\"\nto = [\"control\", \"map\", \"learn\"]\npayload = \"Bytes16\"";
    assert!(imported.manifest.contains(channel), "{}", imported.manifest);
    let expected = [
        RELEASED,
        "21:9: task `Map`: that it waits for an event is left out: it may end later than is found",
        "63:5: label `odometer` has 3 writers: it is a resource, whose sections are guessed to last 1us",
        "66:5: label `torque` is left out: it is its task's own",
        "69:5: label `terrain` is left out: its 3145728 bytes are more than the 1048576 that a value can have",
        "79:7: processing unit `Picture` is a GPU: it is left out",
    ];
    assert_eq!(lost(&imported), expected);
}

/// What else releases tasks, and tasks that are mapped by their scheduler.
#[test]
fn amalthea_stimuli() {
    let tasks_from = |stimulus: &str| {
        let (start, rest) = SAMPLES[2].1.split_once("<stimuli xsi:type=\"am:PeriodicStimulus\"").unwrap();
        let (_, end) = rest.split_once("</stimuli>").unwrap();
        imported(&format!("{start}{stimulus}{end}"))
    };
    let named = "xmi:id=\"every_10ms?type=PeriodicStimulus\" name=\"every_10ms\"";
    let time = |name: &str, value: u32| format!("<{name} value=\"{value}\" unit=\"ms\"/>");
    let bounds = |name: &str| {
        format!(
            "<{name} xsi:type=\"am:TimeBoundaries\">{}{}</{name}>",
            time("lowerBound", 4),
            time("upperBound", 6)
        )
    };
    for (stimulus, expected) in [
        (
            format!(
                "<stimuli xsi:type=\"am:PeriodicStimulus\" {named}>{}{}</stimuli>",
                time("recurrence", 10),
                bounds("jitter")
            ),
            "sense @0 9 Phased(0) 10ms 10ms 6ms 1000.001us odometer×1×1us",
        ),
        (
            format!(
                "<stimuli xsi:type=\"am:RelativePeriodicStimulus\" {named}>{}</stimuli>",
                bounds("nextOccurrence")
            ),
            "sense @0 9 Sporadic 4ms 4ms 0ns 1000.001us odometer×1×1us",
        ),
        (
            format!("<stimuli xsi:type=\"am:SporadicStimulus\" {named}>{}</stimuli>", bounds("occurrence")),
            "sense @0 9 Sporadic 4ms 4ms 0ns 1000.001us odometer×1×1us",
        ),
        (
            format!(
                "<stimuli xsi:type=\"am:PeriodicBurstStimulus\" occurrenceCount=\"3\" {named}>{}</stimuli>",
                time("recurrence", 20)
            ),
            "sense @0 9 Phased(0) 20ms 20ms 0ns 3000.003us odometer×3×1us",
        ),
        (
            format!(
                "<stimuli xsi:type=\"am:VariableRateStimulus\" {named}>{}<occurrencesPerStep xsi:type=\"am:ContinuousValueBoundaries\" \
                 lowerBound=\"1.0\" upperBound=\"1.5\"/></stimuli>",
                time("step", 20)
            ),
            "sense @0 9 Sporadic 20ms 20ms 0ns 2000.002us odometer×2×1us",
        ),
    ] {
        let (imported, set) = tasks_from(&stimulus);
        assert_eq!(lines(&set)[0], expected, "{stimulus}");
        // What it triggers comes as often.
        let period = expected.split(' ').rev().nth(4).unwrap();
        assert!(lines(&set)[1].starts_with(&format!("control @0 8 Sporadic {period}")), "{:?}", lines(&set));
        assert!(imported.manifest.contains("trigger = \"wheels-read-control\""));
    }
    let (imported, _) = tasks_from(&format!("<stimuli xsi:type=\"am:SingleStimulus\" {named}/>"));
    let told = "task `Sense` is released by `every_10ms`, a SingleStimulus: it is left out";
    assert!(lost(&imported).iter().any(|lost| lost.ends_with(told)), "{:?}", lost(&imported));
}

#[test]
fn amalthea_schedulers() {
    let text = SAMPLES[2].1.replace(" affinity=\"Right?type=ProcessingUnit\"", "").replace(
        "<mappingModel>",
        "<mappingModel><schedulerAllocation scheduler=\"Os?type=TaskScheduler\" responsibility=\"Right?type=ProcessingUnit\"/>",
    );
    let (of_schedulers, _) = imported(&text);
    let (own, _) = imported(SAMPLES[2].1);
    assert_eq!(of_schedulers.manifest, own.manifest);
}

#[test]
fn mast() {
    let (imported, set) = imported(SAMPLES[3].1);
    assert_eq!(
        lines(&set),
        [
            "servo-loop @0 3 Phased(2000) 5us 5us 300ns 1.35us bus×2×100ns",
            "alarm @0 5 Sporadic 100us 10us 0ns 500ns ",
            "planner @1 2 Phased(0) 50us 50us 0ns 5.1us map×1×1us",
            "reporter-alarm-thread @0 4 Phased(0) 500us 500us 0ns 500ns ",
            "reporter-planner-thread @1 1 Sporadic 500us 500us 0ns 4.1us ",
        ]
    );
    let expected = [
        "its times have no unit: 1 is taken as 1us; `--unit` says otherwise",
        RELEASED,
        "priorities are not all different: they are numbered anew, in the same order",
        "15:1: processing_resource `Field_Bus`: it is no processor, and is left out",
        "76:1: task `Planner` locks inside of a critical section what it holds, or what several cores use: only the outer \
         section is carried over",
        "91:1: transaction `Reporter`: its tasks have no deadlines of their own but those told: periods are written",
        "91:1: `Planner` and `Reporter.Planner_Thread` have the same priority: the first is made the more urgent",
        "91:1: `Alarm` and `Reporter.Alarm_Thread` have the same priority: the first is made the more urgent",
    ];
    assert_eq!(lost(&imported), expected);
    assert!(imported.manifest.contains("name = \"robot-arm\""));
    assert!(imported.manifest.contains("context-switch = \"50ns\""));
}

/// Servers with budgets, a chain of tasks over a bus, a fork with an offset, bursts, divided rates.
#[test]
fn mast_cell() {
    let (imported, set) = imported(SAMPLES[5].1);
    let expected = [
        "weld-sensor @0 9 Phased(500000) 10ms 2ms 100us 155us pose×2×20us",
        "weld-mover @0 8 Sporadic 10ms 10ms 0ns 305us ",
        "weld-logger @1 2 Sporadic 10ms 10ms 0ns 505us journal×1×100us",
        "lights-lamp @1 4 Phased(0) 50ms 30ms 0ns 255us ",
        "lights-lamp-2 @1 3 Phased(25000000) 50ms 20ms 200us 255us ",
        "sparks @0 7 Sporadic 100ms 100ms 0ns 205us journal×4×50us",
        "divided @1 1 Phased(0) 100ms 90ms 0ns 405us ",
        "server operator @1 6 Sporadic 5ms 5ms 0ns 1.005ms ",
        "server scanner @1 5 Sporadic 4ms 4ms 0ns 555us ",
    ];
    assert_eq!(lines(&set), expected);
    let expected = [
        "context switches take different times: the longest, 2.5us, is written",
        "its times have no unit: 1 is taken as 1us; `--unit` says otherwise",
        RELEASED,
        "priorities are not all in 1 to 98: they are numbered anew, in the same order",
        "12:4: `worst_isr_switch` of processor `Arm_Cpu` is left out",
        "18:4: `system_timer` of processor `Cell_Cpu` is left out",
        "21:1: processing_resource `Field_Bus`: it is no processor, and is left out",
        "37:1: shared_resource `Journal`: of priority inheritance: the plan chooses a protocol",
        "50:1: operation `telegram` is of type `Message_Transmission`: it is left out",
        "52:1: the priority of operation `Blink` is left out: its task's is written",
        "55:1: scheduling_server `Sensor`: it serves an interrupt: its tasks are written like others",
        "63:1: scheduling_server `Operator`: what it does without budget, at its background priority, is left out",
        "73:1: transaction `Weld`: what `Sender` sends is left out: what follows is released at once",
        "73:1: transaction `Weld`: its tasks have no deadlines of their own but those told: periods are written",
        "73:1: transaction `Weld`: a timing requirement `Max_Output_Jitter_Req` is left out",
        "97:1: transaction `Lights`: its tasks have no deadlines of their own but those told: periods are written",
        "97:1: `Lights.Lamp` and `Lights.Lamp` have the same priority: the first is made the more urgent",
        "124:1: transaction `Parts`: it has no deadline for all of it: its period is written",
        "124:1: transaction `Parts`: a timing requirement `Soft_Global_Deadline` is left out",
        "132:1: transaction `Sparks`: its event is bursty: one job of 4 times the work is written per interval",
        "132:1: `Weld.Mover` and `Sparks` have the same priority: the first is made the more urgent",
        "140:1: `Weld.Logger` and `Divided` have the same priority: the first is made the more urgent",
    ];
    assert_eq!(lost(&imported), expected);
    let chain = "name = \"weld-noted\"\npath = [\"weld-sensor\", \"weld-mover\", \"weld-mover\", \"weld-logger\", \
                 \"weld-logger\"]\nmax-latency = \"20ms\"";
    assert!(imported.manifest.contains(chain), "{}", imported.manifest);
    for server in [
        "[servers.operator]   # Operator\npolicy = \"sporadic\"\nbudget = \"1ms\"\nperiod = \"5ms\"\ncore = 1\n",
        "[servers.scanner]   # Scanner\npolicy = \"polling\"\nbudget = \"550us\"\nperiod = \"4ms\"\ncore = 1\n",
    ] {
        assert!(imported.manifest.contains(server), "{}", imported.manifest);
    }
}

/// The same cell in both forms of MAST.
#[test]
fn mast_as_xml() {
    let (text, xml) = (import(SAMPLES[5].1, &Options::default()).unwrap(), imported(SAMPLES[6].1).0);
    assert_eq!(text.manifest, xml.manifest);
    let whats = |imported: &Imported| {
        imported
            .lost
            .iter()
            .map(|lost| lost.what.to_ascii_lowercase())
            .collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(whats(&text), whats(&xml));
}

#[test]
fn rtdroid() {
    let (imported, set) = imported(SAMPLES[4].1);
    assert_eq!(
        lines(&set),
        [
            "sample-task @0 70 Phased(2500000) 10ms 10ms 0ns 500us ",
            "watch-task @0 30 Phased(0) 100ms 100ms 0ns 5ms ",
            "detector @0 50 Sporadic 10ms 10ms 0ns 500us ",
        ]
    );
    let expected = [
        "there are no execution times: a 20th of the period is written; measure them",
        "there are no deadlines: periods are written",
        "there are no cores: one is written",
        RELEASED,
        "3:3: the garbage collector's heap and priority are left out",
    ];
    assert_eq!(lost(&imported)[..5], expected);
    let watched = "kind = \"state\"\nfrom = \"sample-task\"\nto = \"watch-task\"\npayload = \"Bytes320\"";
    assert!(imported.manifest.contains(watched), "{}", imported.manifest);
    assert!(imported.manifest.contains("[services.microphone]   # Microphone\npersistent = \"1048576B\""));
}

#[test]
fn errors_have_places() {
    for (text, error) in [
        ("<cheddar>\n <tasks>\n</cheddar>", "3:1: not XML: expected 'tasks' tag, not 'cheddar'"),
        ("<cheddar/>", "no task is left"),
        (
            "<taskset>\n<task id='7' period='x' wcet='1'/></taskset>",
            "2:1: no task is left: task `7` has no period; it is left out",
        ),
    ] {
        assert_eq!(import(text, &Options::default()).unwrap_err().to_string(), error);
    }
}

/// A text with a few of its parts replaced, doubled or gone.
fn damaged(text: &str, changes: &[(usize, usize, String)]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for (at, len, with) in changes {
        let at = at % (chars.len() + 1);
        let end = (at + len).min(chars.len());
        chars.splice(at..end, with.chars());
    }
    chars.into_iter().collect()
}

/// Numbers of a text replaced: it stays well formed, and means something else.
fn renumbered(text: &str, numbers: &[(usize, u64)]) -> String {
    let mut words: Vec<String> = Vec::new();
    for c in text.chars() {
        match words.last_mut() {
            Some(word) if word.ends_with(|last: char| last.is_ascii_digit()) == c.is_ascii_digit() => {
                word.push(c)
            }
            _ => words.push(c.to_string()),
        }
    }
    let digits: Vec<usize> =
        (0..words.len()).filter(|at| words[*at].starts_with(|c: char| c.is_ascii_digit())).collect();
    for (at, number) in numbers {
        if let Some(word) = digits.get(at % digits.len().max(1)).and_then(|at| words.get_mut(*at)) {
            *word = number.to_string();
        }
    }
    words.concat()
}

fn sound(text: &str, source: Source) {
    let options = Options { source: Some(source), ..Options::default() };
    if let Ok(imported) = import(text, &options) {
        Plan::task_set(&load(&imported.manifest)).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// No text makes it panic, and what it writes loads.
    #[test]
    fn damaged_samples(
        sample in 0..SAMPLES.len(),
        changes in prop::collection::vec((any::<usize>(), 0usize..8, "[<>/\"=a-z0-9 (),;]{0,4}"), 1..4),
    ) {
        let (source, text) = SAMPLES[sample];
        sound(&damaged(text, &changes), source);
    }

    #[test]
    fn renumbered_samples(
        sample in 0..SAMPLES.len(),
        numbers in prop::collection::vec((any::<usize>(), prop_oneof![0u64..4, 0u64..500, Just(99), any::<u64>()]), 1..6),
    ) {
        let (source, text) = SAMPLES[sample];
        sound(&renumbered(text, &numbers), source);
    }
}
