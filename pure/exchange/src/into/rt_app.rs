// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! rt-app, JSON: a thread per task that runs, locks and waits for its next period. Times in microseconds.
//!
//! The order of keys in a task is its program; numbers at their ends keep them apart.

use taut_model::Scheduler;
use taut_time::Duration;

use super::{Export, Step, offset};

/// Writes everything.
pub(crate) fn write(export: &mut Export<'_>) {
    let set = export.set;
    let cpus: Vec<u16> = export.model.cores().map(|core| export.model.cpu(core)).collect();
    for (at, name) in export.resources() {
        let how =
            if set.is_local(at) { "a mutex with priority inheritance" } else { "a mutex of several cores" };
        export.lose(format!("resources.{name}: it is {how}"));
    }
    export.plain_periods(true);
    export.line("{");
    export.line("    \"tasks\": {");
    let mut late = false;
    for (at, task) in export.tasks() {
        let edf = set.cores().get(task.core) == Some(&Scheduler::Edf);
        let (name, key) = (&task.name, export.name(at).to_owned());
        if edf {
            export.lose(format!("tasks.{name}.core: a thread of SCHED_DEADLINE keeps to no core"));
        }
        let mut keys = Vec::new();
        if edf {
            keys.push("\"policy\": \"SCHED_DEADLINE\"".to_owned());
            for (key, time, up) in [
                ("runtime", set.cost(at), true),
                ("deadline", task.deadline, false),
                ("period", task.period, false),
            ] {
                keys.push(format!("\"dl-{key}\": {}", us(time, up)));
            }
        } else {
            keys.push("\"policy\": \"SCHED_FIFO\"".to_owned());
            keys.push(format!("\"priority\": {}", task.priority));
            keys.push(format!("\"cpus\": [{}]", cpus.get(task.core).copied().unwrap_or(0)));
        }
        late |= [offset(task), task.period].iter().any(|time| !time.as_ns().is_multiple_of(1_000));
        if !offset(task).is_zero() {
            keys.push(format!("\"delay\": {}", us(offset(task), false)));
        }
        keys.push("\"loop\": -1".to_owned());
        let (mut runs, mut locks, mut unlocks) = (0, 0, 0);
        for step in export.steps(at) {
            let resource = |at: usize| &set.resources()[at].name;
            keys.push(match step {
                Step::Run(time) => format!("\"run{}\": {}", next(&mut runs), us(time, true)),
                Step::Lock(at) => format!("\"lock{}\": \"{}\"", next(&mut locks), resource(at)),
                Step::Unlock(at) => format!("\"unlock{}\": \"{}\"", next(&mut unlocks), resource(at)),
            });
        }
        keys.push(format!(
            "\"timer\": {{ \"ref\": \"{key}-period\", \"period\": {}, \"mode\": \"absolute\" }}",
            us(task.period, false)
        ));
        let comma = if at + 1 < set.tasks().len() { "," } else { "" };
        export.line(format!(
            "        \"{key}\": {{\n            {}\n        }}{comma}",
            keys.join(",\n            ")
        ));
    }
    if late {
        export.lose("periods and offsets are cut to whole microseconds".to_owned());
    }
    let first = cpus.first().copied().unwrap_or(0);
    export.line("    },");
    export.line("    \"global\": {");
    export.line("        \"duration\": 10,");
    export.line(format!("        \"calibration\": \"CPU{first}\","));
    export.line("        \"default_policy\": \"SCHED_OTHER\",");
    export.line("        \"pi_enabled\": true,");
    export.line("        \"lock_pages\": true,");
    export.line("        \"logdir\": \"./\",");
    export.line(format!("        \"log_basename\": \"{}\",", export.model.app().name));
    export.line("        \"ftrace\": \"none\",");
    export.line("        \"gnuplot\": false");
    export.line("    }");
    export.line("}");
}

fn next(count: &mut u32) -> u32 {
    *count += 1;
    *count - 1
}

/// Whole microseconds.
fn us(time: Duration, up: bool) -> u64 {
    let ns = time.as_ns();
    if up { ns.div_ceil(1_000) } else { ns / 1_000 }
}
