// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The trace against Perfetto's own schema: nothing in it may be unknown. Needs Python with the package
//! `perfetto` (`TAUT_PYTHON` names the interpreter, else `python3`); without it, the test says so and checks nothing.

mod recorded;

use std::io::Write;
use std::process::{Command, Stdio};

use recorded::{MS, Script, plan, run};
use taut_report::Report;

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
    let bytes = Report::new(&plan(), &run(script)).perfetto();
    let python = std::env::var("TAUT_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut command = Command::new(&python);
    command.args(["-c", CHECK]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        eprintln!("skipped: no {python}");
        return;
    };
    // A script that skips reads nothing: its end of the pipe may be closed.
    let _ = child.stdin.take().unwrap().write_all(&bytes);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    if said.starts_with("skip:") {
        eprintln!("skipped: {said}");
        return;
    }
    assert!(output.status.success(), "{said}");
    assert!(said.starts_with("unknown 0 packets "), "{said}");
}
