// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The scenario on a dispatched core, under immediate ceilings.

use std::time::Duration;

use taut_event::{Kind, Record};
use taut_exec::{
    CoreResource, Enforcement, Job, LocalRule, RecordingLevel, Release, Setup, TaskSetup, Wanted,
};
use taut_time::Instant;

use crate::plain::{compute, within};
use crate::scenario::{Scenario, Step};

/// The capacity of the core's recording, in records.
const RECORDS: usize = 16_384;

/// Executes `cycles` cycles; returns the records in the order of the decisions.
pub(crate) fn play(scenario: &Scenario, cycles: u64) -> Result<Vec<Record>, String> {
    let mut setup = Setup::new();
    let cpu = scenario.players.first().map_or(0, |participant| participant.cpu);
    let core = setup.core(cpu, LocalRule::Immediate);
    let mut drain = setup.record(core, RecordingLevel::All, RECORDS);
    let resources: Vec<CoreResource<()>> =
        scenario.plan.resources.iter().map(|_| setup.resource(core, ())).collect();
    for participant in &scenario.players {
        let period = taut_time::Duration::from_ns(participant.period_ns);
        let release =
            Release::Periodic { period, offset: taut_time::Duration::from_ns(participant.offset_ns) };
        let mut task = TaskSetup::new(&participant.name, release)
            .priority(participant.priority.into())
            .deadline(taut_time::Duration::from_ns(participant.deadline_ns));
        for step in &participant.steps {
            if let Step::Lock(resource) = step {
                task = task.uses(&resources[*resource]);
            }
        }
        let resources = resources.clone();
        setup.task(core, task, move |job: &mut Job<'_>| perform(&participant.steps, job, &resources));
    }
    let cycle = Duration::from_nanos(scenario.cycle_ns() * cycles);
    let played = setup.run(Wanted::Strict, |exec| {
        // End before the next cycle: its first releases are at its beginning.
        exec.wait(Some(cycle - Duration::from_millis(1)));
        (exec.origin(), exec.enforcement())
    });
    let ((origin, enforcement), _) = played.map_err(|error| error.to_string())?;
    debug_assert_eq!(enforcement, Enforcement::Strict);
    let edge = |at, kind| Record { at, kind, cpu: 0, subject: 0, job: 0, value: 0 };
    let mut records = vec![edge(origin, Kind::Begin)];
    drain.drain(|record| records.push(record));
    let last = records.iter().map(|record| record.at).max().unwrap_or(Instant::from_ns(0));
    records.push(edge(last, Kind::End));
    Ok(records)
}

/// Executes the steps of a job, with nested sections.
fn perform(steps: &[Step], job: &mut Job<'_>, resources: &[CoreResource<()>]) {
    let mut at = 0;
    while let Some(step) = steps.get(at) {
        at += 1;
        match *step {
            Step::Run(ns) => compute(within(ns)),
            Step::Unlock(_) => {}
            Step::Lock(resource) => {
                let end = steps[at..].iter().position(|step| *step == Step::Unlock(resource));
                let inside = &steps[at..at + end.unwrap_or(0)];
                let locked = job.lock(&resources[resource], |(), job| perform(inside, job, resources));
                debug_assert_eq!(locked, Ok(()), "it is listed, and not held");
                at += inside.len();
            }
        }
    }
}
