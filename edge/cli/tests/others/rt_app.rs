// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! rt-app: threads on this machine execute what was exported. A machine that others use stalls, so the test checks
//! only values that do not depend on that, or that hold for most jobs.

use std::path::Path;
use std::process::Command;

use taut_exchange::{ExportOptions, Target};
use taut_time::Duration;

use crate::{exported, program, ran, simulated, system};

const SECONDS: u64 = 2;

/// Two tasks that lock, one with a priority between them that does not, and one on another core.
const MANIFEST: &str = r#"
manifest = 1
[app]
name = "load"
[platform]
cores = [0, 1]
memory = "64MiB"
[platform.overheads]
release = "0ns"
context-switch = "0ns"
kernel-blocking = "0ns"
lock = "0ns"
[resources.bus]
[tasks.fast]
arrival = { periodic = "10ms" }
deadline = "10ms"
wcet = { value = "1ms", source = "static" }
core = 0
priority = 30
segments = [{ run = "300us" }, { hold = "bus", run = "200us" }]
[tasks.middle]
arrival = { periodic = "25ms" }
deadline = "25ms"
wcet = { value = "3ms", source = "static" }
core = 0
priority = 20
[tasks.slow]
arrival = { periodic = "50ms", offset = "5ms" }
deadline = "50ms"
wcet = { value = "5ms", source = "static" }
core = 0
priority = 10
segments = [{ run = "1ms" }, { hold = "bus", run = "500us" }]
[tasks.aside]
arrival = { periodic = "20ms" }
deadline = "20ms"
wcet = { value = "2ms", source = "static" }
core = 1
priority = 15
"#;

/// A line of rt-app's log, in us.
#[derive(Clone, Copy, Debug)]
struct Row {
    run: u64,
    slack: i64,
    cost: u64,
    period: u64,
    latency: u64,
}

fn rows(path: &Path) -> Vec<Row> {
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    rows.map(|line| {
        let columns: Vec<i64> = line.split_whitespace().map(|column| column.parse().unwrap()).collect();
        let [_, _, run, _, _, _, _, slack, cost, period, latency] = columns[..] else { panic!("{line}") };
        let whole = |value: i64| u64::try_from(value).unwrap();
        Row { run: whole(run), slack, cost: whole(cost), period: whole(period), latency: whole(latency) }
    })
    .collect()
}

#[test]
#[ignore = "needs rt-app, and real-time priorities: `cargo xtask exchange`"]
fn rt_app_runs_what_was_written() {
    let rt_app = program("TAUT_RT_APP");
    let folder = tempfile::tempdir().unwrap();
    let system = system(MANIFEST);
    let path = folder.path().join("load.json");
    let duration = Some(Duration::from_s(SECONDS));
    exported(&system, &ExportOptions { duration, ..ExportOptions::new(Target::RtApp) }, &path);
    ran(Command::new(rt_app).arg(&path).current_dir(folder.path()));
    let ours = simulated(&system.set, Duration::from_s(1));
    let mut least_of = Vec::new();
    for (at, task) in system.set.tasks().iter().enumerate() {
        let name = &task.name;
        let rows = rows(&folder.path().join(format!("load-{name}-{at}.log")));
        let (period, cost) = (task.period.as_ns() / 1_000, system.set.cost(at).as_ns() / 1_000);
        // Each thread has the cost and period of its task.
        assert!(rows.iter().all(|row| row.cost == cost && row.period == period), "{name}: {rows:?}");
        // As many releases as fit, except at both ends: threads start one after the other.
        let fit = SECONDS * 1_000_000 / period;
        let count = u64::try_from(rows.len()).unwrap();
        assert!(count.abs_diff(fit) <= 2 + fit / 50, "{name}: {count} releases where {fit} fit");
        // In our simulation no job misses its deadline; in rt-app, a stall of the machine may make some late.
        let worst = ours[at].iter().map(|job| job.response).max().unwrap() / 1_000;
        assert!(worst <= task.deadline.as_ns() / 1_000);
        let late = rows.iter().filter(|row| row.slack < 0).count();
        assert!(10 * late <= rows.len(), "{name}: {late} of {} late", rows.len());
        let runs = || rows.iter().map(|row| row.run);
        let (least, most) = (runs().min().unwrap(), runs().max().unwrap());
        let latency = rows.iter().map(|row| row.latency).max().unwrap();
        println!(
            "{name}: {count} jobs, {late} late; ran {least} to {most} us for {cost}, ours up to {worst}; woke up to {latency} us late"
        );
        least_of.push((name, least, cost));
    }
    // rt-app calibrates its loop once, on a machine that may have been busy then, so all costs are wrong by the same
    // factor. By that measure, the least disturbed job takes its specified time.
    let (_, least, cost) = least_of[0];
    for (name, other, of) in least_of {
        let (here, there) = (other * cost, least * of);
        assert!(
            2 * here >= there && here <= 3 * there,
            "{name}: {other} us for {of}, where {least} are for {cost}"
        );
    }
}
