// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! AMALTHEA: labels, stimuli, mappings.

use crate::{RELEASED, SAMPLES, imported, lines, lost};

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
        "21:9: task `Map`: its wait for an event is left out: it may complete later than the analysis finds",
        "34:58: `lowerBound` of `value` is left out (900000): a bound needs the upper limit",
        "34:99: `average` of `value` is left out (1.0E6): a bound needs the upper limit",
        "63:5: label `odometer` has 3 writers: it is a resource, whose sections are guessed to last 1us",
        "66:5: label `torque` is left out: it is its task's own",
        "69:5: label `terrain` is left out: its 3145728 bytes are more than the 1048576 that a value can have",
        "76:17: `name` of `structures` is left out (board): nothing refers to it by its name",
        "79:7: processing unit `Picture` is a GPU: it is left out",
        "96:52: `name` of `requirements` is left out (Control_in_time): nothing refers to it by its name",
        "103:44: `scheduler` of `taskAllocation` is left out (Os?type=TaskScheduler): each task states its core; and \
         3 more like it, up to 118:44",
    ];
    assert_eq!(lost(&imported), expected);
}

/// Other stimuli, and tasks that are mapped by their scheduler.
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
        // The task that it triggers has the same period.
        let period = expected.split(' ').rev().nth(4).unwrap();
        assert!(lines(&set)[1].starts_with(&format!("control @0 8 Sporadic {period}")), "{:?}", lines(&set));
        assert!(imported.manifest.contains("trigger = \"wheels-read-control\""));
    }
    let (imported, _) = tasks_from(&format!("<stimuli xsi:type=\"am:SingleStimulus\" {named}/>"));
    let reported = "task `Sense` is released by `every_10ms`, a SingleStimulus: it is left out";
    assert!(lost(&imported).iter().any(|lost| lost.ends_with(reported)), "{:?}", lost(&imported));
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
