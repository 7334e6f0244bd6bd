// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Planning takes time that grows with the tasks, not with their square, though eight resources tie all cores together.

mod drafts;

use std::time::{Duration as Time, Instant};

use drafts::{Edit, empty, periodic, time};
use taut_model::{Draft, SchedulingPolicy, SectionDraft, Shared, Size};
use taut_planner::Planned;
use taut_time::Duration;

/// Tasks, 40 to a core; every third one locks one of eight resources.
fn tied(tasks: u16, scheduler: SchedulingPolicy) -> Draft {
    let cores: Vec<u16> = (0..tasks / 40).collect();
    let mut draft = empty(&cores);
    draft.platform.housekeeping = Vec::new();
    draft.platform.scheduler = scheduler;
    let overheads = &mut draft.platform.overheads;
    for overhead in [
        &mut overheads.release,
        &mut overheads.context_switch,
        &mut overheads.kernel_blocking,
        &mut overheads.lock,
    ] {
        *overhead = Duration::ZERO;
    }
    draft.platform.memory = Size::from_bytes(1 << 40);
    draft.resources = (0..8).map(|at| Shared { name: format!("r{at}"), protocol: None }).collect();
    for at in 0..tasks {
        let period = ["200ms", "500ms", "1s", "2s", "5s"][usize::from(at * 7 % 5)];
        draft.tasks.push(periodic(&format!("t{at}"), period, period, "40us").with(|task| {
            task.core = Some(at / 40);
            if at % 3 == 0 {
                let resource = format!("r{}", at / 3 % 8);
                task.sections.push(SectionDraft { resource, longest: time("1ns"), count: 1 });
            }
        }));
    }
    draft
}

fn fastest(tasks: u16, scheduler: SchedulingPolicy) -> Time {
    let model = drafts::model(&tied(tasks, scheduler));
    let runs = (0..2).map(|_| {
        let start = Instant::now();
        let planned = Planned::make(&model, Vec::new());
        let took = start.elapsed();
        assert!(planned.plan.proven, "{}", drafts::shown(&planned.faults));
        took
    });
    runs.min().unwrap_or_default()
}

#[test]
fn near_linear() {
    for scheduler in [SchedulingPolicy::FixedPriority, SchedulingPolicy::Edf] {
        let (few, many) = (fastest(400, scheduler), fastest(3_200, scheduler));
        let exponent = (many.as_secs_f64() / few.as_secs_f64()).log(8.0);
        println!("{scheduler:?}: 400 tasks {few:?}, 3200 {many:?}: grows with the power {exponent:.2}");
        // 8 times as many tasks; the square would be 64. The margin is for caches and a busy machine.
        assert!(many < few * 24, "{scheduler:?}: 400 tasks {few:?}, 3200 {many:?}");
    }
}
