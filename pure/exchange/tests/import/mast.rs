// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! MAST: text and XML.

use crate::{RELEASED, SAMPLES, imported, lines, lost};
use taut_exchange::{Imported, Options, import};

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
        "10:4: `max_priority` of `processing_resource Arm_Cpu` is left out (99): priorities are numbered from 1 to 98",
        "15:1: processing_resource `Field_Bus`: a `Packet_Based_Network` is no processor: it is left out",
        "76:1: task `Planner` locks inside of a critical section what it holds, or what several cores use: only the outer section is carried over",
        "91:1: transaction `Reporter`: its tasks have no deadlines of their own but the reported ones: periods are \
         written",
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
        "10:4: `max_interrupt_priority` of `processing_resource Arm_Cpu` is left out (300): priorities are numbered from 1 to 98",
        "11:4: `min_interrupt_priority` of `processing_resource Arm_Cpu` is left out (200): priorities are numbered from 1 to 98",
        "12:4: `worst_isr_switch` of `processing_resource Arm_Cpu` is left out (2.0): the overheads of the manifest \
         replace it, and have to be measured",
        "18:4: `system_timer` of `processing_resource Cell_Cpu` is left out (Ticker 3.0 1000.0): the overheads of the \
         manifest replace it, and have to be measured",
        "21:1: processing_resource `Field_Bus`: a `Packet_Based_Network` is no processor: it is left out",
        "28:68: `max_priority` of `scheduler Arm` is left out (199): priorities are numbered from 1 to 98",
        "28:89: `min_priority` of `scheduler Arm` is left out (1): priorities are numbered from 1 to 98",
        "32:1: scheduler `Bus`: it is of no processor, and is left out",
        "36:68: `ceiling` of `shared_resource Pose` is left out (90): the plan computes ceilings",
        "37:1: shared_resource `Journal`: of priority inheritance: the plan chooses a protocol",
        "39:80: `best_case_execution_time` of `operation Read_Pose` is left out (10): a bound needs the worst case",
        "50:1: operation `telegram` is of type `Message_Transmission`: it is left out",
        "52:1: the priority of operation `Blink` is left out: its task's is written, not Overridden_Fixed_Priority 5",
        "55:1: scheduling_server `Sensor`: it serves an interrupt: its tasks are written like others",
        "61:1: scheduling_server `Sender`: it is of no processor, and is left out",
        "63:1: scheduling_server `Operator`: its execution without budget, at its background priority 1, is left out",
        "65:63: `max_pending_replenishments` of `scheduling_server Operator` is left out (3): any number of replenishments may be pending",
        "73:1: transaction `Weld`: what `Sender` sends, `Telegram`, is left out: what follows is released at once",
        "73:1: transaction `Weld`: its tasks have no deadlines of their own but the reported ones: periods are written",
        "73:1: transaction `Weld`: a timing requirement `Max_Output_Jitter_Req` is left out: 300 Tick",
        "97:1: transaction `Lights`: its tasks have no deadlines of their own but the reported ones: periods are \
         written",
        "97:1: `Lights.Lamp` and `Lights.Lamp` have the same priority: the first is made the more urgent",
        "117:58: `avg_interarrival` of `transaction Buttons` is left out (90000): a bound needs the worst case",
        "117:85: `distribution` of `transaction Buttons` is left out (POISSON): a bound needs the worst case",
        "124:1: transaction `Parts`: it has no deadline for all of it: its period is written",
        "124:1: transaction `Parts`: a timing requirement `Soft_Global_Deadline` is left out: 16000 Part",
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
