// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A system on two dispatched cores, which play the role of Erika in the paper.

use std::time::Duration as Time;

use taut_atomic::{LINE_BYTES, Line, Memory};
use taut_exec::{
    CoreId, CoreResource, GlobalResource, GlobalRule, Job, LocalRule, Release, Setup, TaskSetup, Wanted, Work,
};
use taut_lock::{EventCount, queued, spin};
use taut_time::Duration;

use super::mechanism::Mechanism;
use super::meter::{Call, now};
use super::system::{BYTES_MAX, System, TICK_NS, TICKS};
use super::task_code::{Locks, TaskCode, Value};

/// An object's lock.
#[derive(Clone)]
enum Handle<'m> {
    Local(CoreResource<Value>),
    Global(GlobalResource<'m, Value>),
}

/// The locks of a job.
struct OfJob<'l, 'j, 'm> {
    job: &'l mut Job<'j>,
    handles: &'l [Handle<'m>],
}

impl Locks for OfJob<'_, '_, '_> {
    #[inline]
    fn locked(&mut self, object: usize, section: impl FnOnce(&mut Value)) -> bool {
        match &self.handles[object] {
            Handle::Local(resource) => self.job.lock(resource, |value, _| section(value)).is_ok(),
            Handle::Global(global) => self.job.lock_global(global, |value, _| section(value)).is_ok(),
        }
    }
}

/// The work of a task.
struct OfTask<'w, 'f, 'p, 'm> {
    task_code: &'w mut TaskCode<'f, 'p>,
    handles: &'w [Handle<'m>],
    ticks: u64,
}

impl Work for OfTask<'_, '_, '_, '_> {
    fn run(&mut self, job: &mut Job<'_>) {
        if job.number() * self.task_code.task.ticks < self.ticks {
            self.task_code.job(&mut OfJob { job, handles: self.handles });
        }
    }

    /// Admits jobs as `taut run` does: makes activations at the release, and admits the job when its inputs are
    /// there.
    fn admit(&mut self, next: u64, begins: bool) -> bool {
        self.task_code.activate(next * self.task_code.task.ticks);
        if !begins {
            return true;
        }
        let begin = now();
        let Some((_, touch)) = self.task_code.missing() else { return true };
        self.task_code.meter.took(Call::Wait, touch, &[(begin, now())]);
        false
    }
}

/// Runs the system for `ticks` timer periods. Returns the instant of release 0.
///
/// # Errors
/// The reason why the system cannot run here.
pub(super) fn run(
    system: &System,
    mechanism: Mechanism,
    (task_codes, event_counts): (&mut [TaskCode<'_, '_>], &[EventCount]),
    (cpus, wanted, ticks): ([u16; 2], Wanted, u64),
) -> Result<u64, String> {
    let protocol = if mechanism == Mechanism::Msrp { GlobalRule::Msrp } else { GlobalRule::Mpcp };
    let room = |parties: u32| {
        if protocol == GlobalRule::Msrp { spin::bytes(parties) } else { queued::bytes(parties) }
    };
    let parties = |users: usize| if protocol == GlobalRule::Msrp { 2 } else { users as u32 };
    let room = |users: usize| (0..room(parties(users)).div_ceil(LINE_BYTES)).map(|_| Line::new()).collect();
    let mut lines: Vec<Vec<Line>> =
        system.objects.iter().map(|object| room(object.users().count())).collect();
    let mut handles = Vec::new();
    let mut setup = Setup::new();
    let cores = cpus.map(|cpu| setup.core(cpu, LocalRule::Immediate));
    for (object, lines) in system.objects.iter().zip(&mut lines).filter(|_| mechanism.is_lock()) {
        handles.push(if object.is_local(&system.tasks) {
            Handle::Local(setup.resource(cores[system.tasks[object.writer].core], [0; BYTES_MAX]))
        } else {
            let parties = parties(object.users().count());
            let made = setup.global(protocol, Memory::new(lines), parties, [0; BYTES_MAX]);
            Handle::Global(made.map_err(|error| error.to_string())?)
        });
    }
    tasks(system, &handles, task_codes, ticks, (&mut setup, cores))?;
    if mechanism.preserves() {
        listen(system, event_counts, (&mut setup, cores))?;
    }
    let ran = setup.run(wanted, |exec| {
        exec.wait(Some(Time::from_nanos(ticks.min(TICKS) * TICK_NS)));
        exec.origin().as_ns()
    });
    ran.map(|(origin_ns, _)| origin_ns).map_err(|error| error.to_string())
}

/// Sets up the tasks, with the locks that they use.
fn tasks<'w, 'm: 'w>(
    system: &System,
    handles: &'w [Handle<'m>],
    task_codes: &'w mut [TaskCode<'_, '_>],
    ticks: u64,
    (setup, cores): (&mut Setup<'w>, [CoreId; 2]),
) -> Result<(), String> {
    for (at, task_code) in task_codes.iter_mut().enumerate() {
        let task = task_code.task.clone();
        let release =
            Release::Periodic { period: Duration::from_ns(task.ticks * TICK_NS), offset: Duration::ZERO };
        let mut made = TaskSetup::new(&format!("t{at}"), release).priority(task.priority);
        let mut uses = Vec::new();
        for (object, handle) in system.objects.iter().zip(handles) {
            if object.users().any(|user| user == at) {
                match handle {
                    Handle::Local(resource) => made = made.uses(resource),
                    Handle::Global(global) => uses.push(global),
                }
            }
        }
        if !task_code.flows.is_empty() {
            made = made.admitted();
        }
        let id = setup.task(cores[task.core], made, OfTask { task_code, handles, ticks });
        for global in uses {
            setup.uses_global(id, global).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// Lets each core with a reader listen to the writer, even if it is the writer's own core: the reader's job waits
/// there for its admission.
fn listen<'w>(
    system: &System,
    event_counts: &'w [EventCount],
    (setup, cores): (&mut Setup<'w>, [CoreId; 2]),
) -> Result<(), String> {
    for (writer, events) in event_counts.iter().enumerate() {
        let written = || system.objects.iter().filter(|object| object.writer == writer);
        let reads = |core: usize| {
            written().flat_map(|object| &object.readers).any(|&reader| system.tasks[reader].core == core)
        };
        for (_, core) in cores.iter().enumerate().filter(|(at, _)| reads(*at)) {
            setup.listen_for_admission(*core, events.listener()).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}
