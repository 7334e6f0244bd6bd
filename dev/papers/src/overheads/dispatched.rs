// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A system on two dispatched cores, which are to this what Erika is to the paper.

use std::time::Duration as Time;

use taut_atomic::{LINE_BYTES, Line, Memory};
use taut_exec::{Global, Job, Protocol, Release, Resource, Rule, Setup, TaskSetup, Wanted};
use taut_lock::{queued, spin};
use taut_time::Duration;

use super::mechanism::Mechanism;
use super::part::{Locks, Part, Value};
use super::system::{BYTES_MAX, System, TICK_NS, TICKS};

/// An object's lock.
#[derive(Clone)]
enum Handle<'m> {
    Local(Resource<Value>),
    Global(Global<'m, Value>),
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

/// Runs them for as many timer periods.
///
/// # Errors
/// What keeps it from running here.
pub(super) fn run(
    system: &System,
    mechanism: Mechanism,
    parts: &mut [Part<'_, '_>],
    (cpus, wanted, ticks): ([u16; 2], Wanted, u64),
) -> Result<(), String> {
    let protocol = if mechanism == Mechanism::Msrp { Protocol::Msrp } else { Protocol::Mpcp };
    let room =
        |parties: u32| if protocol == Protocol::Msrp { spin::bytes(parties) } else { queued::bytes(parties) };
    let parties = |users: usize| if protocol == Protocol::Msrp { 2 } else { users as u32 };
    let room = |users: usize| (0..room(parties(users)).div_ceil(LINE_BYTES)).map(|_| Line::new()).collect();
    let mut lines: Vec<Vec<Line>> =
        system.objects.iter().map(|object| room(object.users().count())).collect();
    let mut handles = Vec::new();
    let mut setup = Setup::new();
    let cores = cpus.map(|cpu| setup.core(cpu, Rule::Immediate));
    for (object, lines) in system.objects.iter().zip(&mut lines).filter(|_| mechanism.is_lock()) {
        handles.push(if object.is_local(&system.tasks) {
            Handle::Local(setup.resource(cores[system.tasks[object.writer].core], [0; BYTES_MAX]))
        } else {
            let parties = parties(object.users().count());
            let made = setup.global(protocol, Memory::new(lines), parties, [0; BYTES_MAX]);
            Handle::Global(made.map_err(|error| error.to_string())?)
        });
    }
    let handles = &handles[..];
    for (at, part) in parts.iter_mut().enumerate() {
        let task = part.task.clone();
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
        let id = setup.task(cores[task.core], made, move |job: &mut Job<'_>| {
            let tick = job.number() * task.ticks;
            part.meter.origin_ns = job.arrival().as_ns() - tick * TICK_NS;
            if tick < ticks {
                part.job(tick, &mut OfJob { job, handles });
            }
        });
        for global in uses {
            setup.uses_global(id, global).map_err(|error| error.to_string())?;
        }
    }
    let ran = setup.run(wanted, |exec| exec.wait(Some(Time::from_nanos(ticks.min(TICKS) * TICK_NS))));
    ran.map(drop).map_err(|error| error.to_string())
}
