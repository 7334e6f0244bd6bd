// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Checks the trace against Perfetto's own schema: nothing in it may be unknown. Needs Python with the package
//! `perfetto` (`TAUT_PYTHON` names the interpreter, else `python3`); without it, the test reports that and checks
//! nothing.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "test code")]

mod recorded;

use std::io::Write;
use std::process::{Command, Stdio};

use recorded::{MS, Script, plan, run};
use taut_model::{ArrivalPattern, Body, Request, Resource, SchedulingPolicy, SetTask, TaskSet};
use taut_report::{Focus, Report, Simulated, Window};
use taut_sim::{GlobalRule, Rules, Scenario, Simulation};
use taut_time::{Duration, Instant};

const CHECK: &str = r#"
import sys
try:
    from google.protobuf.unknown_fields import UnknownFieldSet
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema
except ImportError as missing:
    print("skip:", missing)
    sys.exit(0)

def unknown(message):
    count = len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            many = value if not hasattr(value, "ListFields") else [value]
            count += sum(unknown(one) for one in many)
    return count

trace = schema.Trace()
trace.ParseFromString(sys.stdin.buffer.read())
print("unknown", unknown(trace), "packets", len(trace.packet))
"#;

#[test]
fn no_field_is_unknown() {
    let script = Script { releases: 200, stalls: vec![(399 * MS + 900_000, 9 * MS)], ..Script::quiet() };
    check(&Report::new(&plan(), &run(script)).perfetto());
}

#[test]
fn no_field_is_unknown_of_a_simulated_run() {
    check(&simulated());
}

/// Tasks of two cores that suspend for a resource that they share.
fn simulated() -> Vec<u8> {
    let task = |name: &str, core, priority| SetTask {
        name: name.into(),
        core,
        priority,
        arrivals: ArrivalPattern::Periodic,
        period: Duration::from_ms(10),
        deadline: Duration::from_ms(4),
        jitter: Duration::ZERO,
        body: Body::Anywhere {
            cost: Duration::from_ms(3),
            requests: vec![Request { resource: 0, count: 2, length: Duration::from_ms(1), outermost: true }],
        },
    };
    let tasks = vec![task("recording", 0, 1), task("processing", 1, 2)];
    let resources = vec![Resource { name: "bus".into() }];
    let set = TaskSet::new(vec![SchedulingPolicy::FixedPriority; 2], resources, tasks).unwrap();
    let window = Window {
        from: Instant::from_ns(0),
        until: Instant::from_ns(1_000_000_000),
        events_max: 10_000,
        bounds: &[Some(Duration::from_ms(3)), None],
        focus: Some(Focus { task: 0, job: 1, title: "refuted claim" }),
    };
    let mut shown = Simulated::new(&plan(), &set, &window);
    let mut simulation = Simulation::new(&set, &Rules::of(&set, GlobalRule::Mpcp)).unwrap();
    simulation.run(&Scenario::worst(Duration::from_ms(100)), &mut shown).unwrap();
    assert!(shown.has_focus());
    shown.into_perfetto()
}

fn check(bytes: &[u8]) {
    let python = std::env::var("TAUT_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut command = Command::new(&python);
    command.args(["-c", CHECK]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        eprintln!("skipped: no {python}");
        return;
    };
    // A script that skips reads nothing: its end of the pipe may be closed.
    let _ = child.stdin.take().unwrap().write_all(bytes);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    if let Some(why) = said.strip_prefix("skip: ") {
        eprintln!("skipped: {why}");
        return;
    }
    assert!(output.status.success(), "{said}");
    assert!(said.starts_with("unknown 0 packets "), "{said}");
}
