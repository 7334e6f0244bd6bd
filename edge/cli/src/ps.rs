// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut ps`: the applications that run on this machine.

use taut_boot::{Applications, RunningApplication};
use taut_sys::clock;
use taut_time::shown;

use crate::arguments::{Format, Ps};
use crate::columns::columns;
use crate::outcome::{Failure, Outcome};
use crate::say::{out, outln};

/// The version of the JSON format.
const SCHEMA_VERSION: u32 = 1;

pub(crate) fn ps(arguments: &Ps) -> Result<Outcome, Failure> {
    let running = Applications::of_machine().running();
    let running = running.map_err(|error| Failure::Environment(error.to_string()))?;
    let now_ns = clock::monotonic_ns();
    match arguments.format {
        Format::Human if running.is_empty() => outln!("no application runs"),
        Format::Human => out!("{}", table(&running, now_ns)),
        Format::Json => {
            let applications: Vec<_> = running.iter().map(|application| json(application, now_ns)).collect();
            outln!(
                "{:#}",
                serde_json::json!({ "schema_version": SCHEMA_VERSION, "applications": applications })
            );
        }
    }
    Ok(Outcome::Yes)
}

fn table(running: &[RunningApplication], now_ns: u64) -> String {
    let row = |of: &RunningApplication| {
        let cpus: Vec<String> = of.cores.iter().map(|core| core.cpu.to_string()).collect();
        let cpus = if cpus.is_empty() { "-".to_owned() } else { cpus.join(",") };
        let real_time = if of.real_time { "yes" } else { "no" };
        let runs_for = shown::time(now_ns.saturating_sub(of.since_ns));
        [
            of.app.clone(),
            of.pid.to_string(),
            of.uid.to_string(),
            cpus,
            real_time.to_owned(),
            shown::size(of.memory.as_bytes()),
            runs_for,
        ]
    };
    let rows: Vec<_> = running.iter().map(row).collect();
    columns(["application", "process", "user", "cpus", "real-time", "memory", "runs for"], &rows)
}

fn json(of: &RunningApplication, now_ns: u64) -> serde_json::Value {
    let cores: Vec<_> = of
        .cores
        .iter()
        .map(|core| serde_json::json!({ "cpu": core.cpu, "utilisation_ppm": core.utilisation_ppm }))
        .collect();
    serde_json::json!({
        "app": of.app,
        "pid": of.pid,
        "uid": of.uid,
        "real_time": of.real_time,
        "cores": cores,
        "memory_bytes": of.memory.as_bytes(),
        "runs_for_ns": now_ns.saturating_sub(of.since_ns),
    })
}

#[cfg(test)]
mod tests {
    use taut_boot::CoreUse;
    use taut_plan::Size;

    use super::*;

    #[test]
    fn each_application_is_a_line() {
        let core = |cpu| CoreUse { cpu, utilisation_ppm: Some(630_000) };
        let mut one = RunningApplication {
            app: "arm".to_owned(),
            pid: 42,
            uid: 1000,
            since_ns: 1_000_000_000,
            memory: Size::from_bytes(32 << 20),
            real_time: true,
            cores: vec![core(0), core(3)],
        };
        let mut other = one.clone();
        (other.app, other.real_time, other.cores) = ("idle".to_owned(), false, Vec::new());
        let expected = "  application  process  user  cpus  real-time    memory  runs for\n  \
                        arm               42  1000   0,3        yes  32.0 MiB    2.50 s\n  \
                        idle              42  1000     -         no  32.0 MiB    2.50 s\n";
        assert_eq!(table(&[one.clone(), other], 3_500_000_000), expected);
        one.cores[1].utilisation_ppm = None;
        let said = json(&one, 3_500_000_000);
        let cores = serde_json::json!([
            { "cpu": 0, "utilisation_ppm": 630_000 },
            { "cpu": 3, "utilisation_ppm": null },
        ]);
        assert_eq!((&said["cores"], &said["runs_for_ns"]), (&cores, &2_500_000_000_u64.into()));
    }
}
