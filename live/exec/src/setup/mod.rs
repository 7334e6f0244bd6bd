// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What runs where, collected before the start.

pub(crate) mod between;
pub(crate) mod depth;
pub(crate) mod stated;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use taut_lock::Listener;
use taut_lock::life::{Alive, Lives};
use taut_policy::GlobalRule;
use taut_policy::LocalRule;
use taut_policy::{Attribute, Overrun};
use taut_time::Duration;
use taut_trace::{Drain, Recorder, RingOwner, ring};

use crate::error::SetupError;
use crate::job::Work;
use crate::locks::global::GlobalResource;
use crate::ready::log::RecordingLevel;
use crate::ready::worker_priorities::WORKERS_MAX;
use crate::resource::CoreResource;
use crate::server::{ServerId, ServerSetup};
use crate::task::{CoreId, Release, TaskId, TaskSetup};
use crate::threads::listeners::Listeners;
use crate::violation::ViolationHandler;

/// A core of a set-up.
pub(crate) struct CoreSetup<'w> {
    pub(crate) cpu: u16,
    pub(crate) rule: LocalRule,
    pub(crate) brand: u64,
    pub(crate) tasks: Vec<TaskSetup>,
    /// The position of each task among all tasks.
    pub(crate) indices: Vec<usize>,
    pub(crate) servers: Vec<ServerSetup>,
    pub(crate) works: Vec<Box<dyn Work + 'w>>,
    /// The event counts that the dispatcher listens to.
    pub(crate) listeners: Listeners<'w>,
    /// The number by which each resource is recorded.
    pub(crate) resources: Vec<u32>,
    /// The stated ceilings; at most as many entries as resources.
    pub(crate) stated: Vec<Option<Attribute>>,
    pub(crate) recorder: Option<(Recorder, RecordingLevel, u16)>,
    /// The processes that share resources with its tasks: see [`Alive::take_cpu`].
    pub(crate) others: Vec<(Lives<'w>, &'w Alive)>,
    /// An injected fault.
    #[cfg(test)]
    pub(crate) no_ceilings: bool,
    /// An injected fault: the number of threads that are missing.
    #[cfg(test)]
    pub(crate) missing: usize,
}

/// Cores, their resources and tasks. [`Setup::run`] allocates everything before the first release.
pub struct Setup<'w> {
    pub(crate) cores: Vec<CoreSetup<'w>>,
    pub(crate) tasks: usize,
    servers: usize,
    resources: u32,
    pub(crate) handler: ViolationHandler,
    pub(crate) on_stop: Option<&'w (dyn Fn(usize) + Sync)>,
    pub(crate) delay_ns: u64,
    #[cfg(test)]
    pub(crate) fault: crate::tests::Fault,
}

impl Default for Setup<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Setup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup").field("cores", &self.cores.len()).field("tasks", &self.tasks).finish()
    }
}

impl<'w> Setup<'w> {
    /// An empty set-up. By default a violation is written to the standard error stream.
    pub fn new() -> Self {
        Self {
            cores: Vec::new(),
            tasks: 0,
            servers: 0,
            resources: 0,
            handler: |violation| violation.report(),
            on_stop: None,
            delay_ns: 0,
            #[cfg(test)]
            fault: crate::tests::Fault::None,
        }
    }

    /// Adds a core: a CPU and its rule.
    pub fn core(&mut self, cpu: u16, rule: LocalRule) -> CoreId {
        /// Never the brand of an earlier core.
        static BRAND: AtomicU64 = AtomicU64::new(1);
        self.cores.push(CoreSetup {
            cpu,
            rule,
            brand: BRAND.fetch_add(1, Ordering::Relaxed),
            tasks: Vec::new(),
            indices: Vec::new(),
            servers: Vec::new(),
            works: Vec::new(),
            listeners: Listeners::default(),
            resources: Vec::new(),
            stated: Vec::new(),
            recorder: None,
            others: Vec::new(),
            #[cfg(test)]
            no_ceilings: false,
            #[cfg(test)]
            missing: 0,
        });
        CoreId(self.cores.len() - 1)
    }

    /// Adds a resource that tasks of one core share. It is recorded by its position among all resources of the
    /// set-up.
    pub fn resource<T: Send>(&mut self, core: CoreId, value: T) -> CoreResource<T> {
        let number = self.next_resource();
        self.resource_recorded_as(core, number, value)
    }

    pub(crate) fn next_resource(&mut self) -> u32 {
        self.resources += 1;
        self.resources - 1
    }

    /// As [`Setup::resource`], with the number by which it is recorded.
    pub fn resource_recorded_as<T: Send>(&mut self, core: CoreId, number: u32, value: T) -> CoreResource<T> {
        let core = &mut self.cores[core.0];
        core.resources.push(number);
        CoreResource::new(core.brand, core.resources.len() as u32 - 1, value)
    }

    /// Adds a task to a core, with what it does.
    pub fn task(&mut self, core: CoreId, task: TaskSetup, work: impl Work + 'w) -> TaskId {
        let core = &mut self.cores[core.0];
        core.tasks.push(task);
        core.works.push(Box::new(work));
        core.indices.push(self.tasks);
        self.tasks += 1;
        TaskId { brand: core.brand, task: core.tasks.len() as u32 - 1, index: self.tasks - 1 }
    }

    /// Adds a server to a core. The jobs of tasks that are [`TaskSetup::served_by`] it run at its priority, within
    /// its budget, and when no other job of the core wants to run.
    pub fn server(&mut self, core: CoreId, server: ServerSetup) -> ServerId {
        let subject = server.recorded_as.unwrap_or(u16::try_from(self.servers).unwrap_or(u16::MAX));
        self.servers += 1;
        let core = &mut self.cores[core.0];
        core.servers.push(server.recorded_as(subject));
        ServerId { brand: core.brand, server: core.servers.len() as u32 - 1 }
    }

    /// Adds an event count that announces work for a task with [`Release::Polled`]. A task may have several event
    /// counts, and share one with other tasks of its core.
    ///
    /// # Errors
    /// [`SetupError::Listeners`] if the core has too many; [`SetupError::ForeignResource`] if the task is of another
    /// set-up.
    pub fn listen(&mut self, task: TaskId, events: Listener<'w>) -> Result<(), SetupError> {
        self.listen_apart(task, events, Duration::ZERO)
    }

    /// As [`Setup::listen`], for an event count that may be notified endlessly and in vain. After each event of it that
    /// the dispatcher has answered, the dispatcher does not listen to it for `apart`. So the event count wakes the
    /// dispatcher at most once in that time, and once at the end of that time.
    ///
    /// # Errors
    /// As [`Setup::listen`].
    pub fn listen_apart(
        &mut self,
        task: TaskId,
        events: Listener<'w>,
        apart: Duration,
    ) -> Result<(), SetupError> {
        let core = self.cores.iter_mut().find(|core| core.brand == task.brand);
        let core = core.ok_or(SetupError::ForeignResource { task: format!("{task:?}") })?;
        let added = core.listeners.add(task.task, events, apart.as_ns());
        added.ok_or(SetupError::Listeners { cpu: core.cpu })
    }

    /// Adds an event count to a core. After an event the dispatcher asks again whether tasks are admitted:
    /// [`Work::admit`].
    ///
    /// # Errors
    /// [`SetupError::Listeners`] if the core has too many.
    pub fn listen_for_admission(&mut self, core: CoreId, events: Listener<'w>) -> Result<(), SetupError> {
        let core = &mut self.cores[core.0];
        core.listeners.add_admission(events).ok_or(SetupError::Listeners { cpu: core.cpu })
    }

    /// Adds a resource that tasks of several cores share, on the given memory. If waiters spin
    /// ([`GlobalRule::waiting`]), `parties` is the number of cores that use the resource, and the memory needs
    /// [`taut_lock::spin::bytes`]. Otherwise it is the number of tasks that use it, and the memory needs
    /// [`taut_lock::queued::bytes`].
    ///
    /// # Errors
    /// [`LockLayoutError`](taut_lock::LockLayoutError) if there is no room.
    pub fn global<'m, T: Send>(
        &mut self,
        protocol: GlobalRule,
        memory: taut_lock::Memory<'m>,
        parties: u32,
        value: T,
    ) -> Result<GlobalResource<'m, T>, taut_lock::LockLayoutError> {
        let number = self.next_resource();
        GlobalResource::new(protocol, memory, parties, number, value, None)
    }

    /// As [`Setup::global`], on memory that lives as long as its last handle, with the number by which it is
    /// recorded.
    ///
    /// # Errors
    /// [`LockLayoutError`](taut_lock::LockLayoutError) if this number of parties is not possible.
    pub fn global_recorded_as<T: Send>(
        &mut self,
        protocol: GlobalRule,
        parties: u32,
        number: u32,
        value: T,
    ) -> Result<GlobalResource<'static, T>, taut_lock::LockLayoutError> {
        GlobalResource::owned(protocol, parties, number, value)
    }

    /// Lets a task's jobs lock a resource of several cores.
    ///
    /// # Errors
    /// [`SetupError::Users`] if the resource has more users than parties, [`SetupError::Suspends`] if jobs may be
    /// suspended for it and the core's rule does not support that, [`SetupError::Served`] if the task runs in a
    /// server, [`SetupError::ForeignResource`] if the task is of another set-up.
    pub fn uses_global<'m: 'w, T: Send>(
        &mut self,
        task: TaskId,
        global: &GlobalResource<'m, T>,
    ) -> Result<(), SetupError> {
        let core = self.cores.iter_mut().find(|core| core.brand == task.brand);
        let Some(core) = core.filter(|core| core.tasks.len() > task.task as usize) else {
            return Err(SetupError::ForeignResource { task: format!("{task:?}") });
        };
        if global.inner.suspends() && core.rule == LocalRule::Dfp {
            return Err(SetupError::Suspends { cpu: core.cpu });
        }
        let user = &mut core.tasks[task.task as usize];
        if user.server.is_some() {
            return Err(SetupError::Served { task: user.name.clone() });
        }
        let added = global.inner.add(core.brand, task.task, user.priority);
        added.map_err(|_| SetupError::Users { task: user.name.clone() })?;
        user.shares = true;
        if let Some((lives, alive)) = global.inner.others()
            && !core.others.iter().any(|(_, other)| std::ptr::eq(*other, alive))
        {
            core.others.push((lives, alive));
        }
        Ok(())
    }

    /// Records the events of a core, into a ring for at least `records` records of 32 bytes. The owner of the drain
    /// empties the ring meanwhile; a record that finds the ring full is lost and counted.
    pub fn record(&mut self, core: CoreId, level: RecordingLevel, records: usize) -> Drain {
        self.record_as(core, u16::try_from(core.0).unwrap_or(u16::MAX), level, records)
    }

    /// As [`Setup::record`], with the number by which the core is recorded.
    pub fn record_as(&mut self, core: CoreId, number: u16, level: RecordingLevel, records: usize) -> Drain {
        let (recorder, drain) = ring(RingOwner::Core(number), records);
        self.cores[core.0].recorder = Some((recorder, level, number));
        drain
    }

    /// Sets the handler that is called before a violation aborts the process. It replaces the message on the standard
    /// error stream.
    pub fn on_violation(&mut self, handler: ViolationHandler) {
        self.handler = handler;
    }

    /// Sets a function that the dispatcher's thread calls at once when a task's overrun stops the executor. Its
    /// argument is the task's position in the set-up.
    pub fn on_stop(&mut self, notify: &'w (dyn Fn(usize) + Sync)) {
        self.on_stop = Some(notify);
    }

    /// Checks all that can be checked before the start; returns the first error.
    pub(crate) fn check(&self) -> Result<(), SetupError> {
        for (at, core) in self.cores.iter().enumerate() {
            if self.cores[..at].iter().any(|other| other.cpu == core.cpu) {
                return Err(SetupError::SameCpu(core.cpu));
            }
            if !core.rule.is_for_machines() {
                return Err(SetupError::Rule { cpu: core.cpu });
            }
            if core.depth() > WORKERS_MAX {
                return Err(SetupError::TooManyTasks { cpu: core.cpu });
            }
            if let Some(server) = core.servers.iter().find(|server| !server.is_fit()) {
                return Err(SetupError::Server { server: server.name.clone() });
            }
            for task in &core.tasks {
                if task.donates && task.server.is_none() {
                    return Err(SetupError::Served { task: task.name.clone() });
                }
                if let Some(server) = task.server {
                    let own = !task.uses.is_empty() || task.budget.is_some();
                    if server.brand != core.brand || own || task.overrun == Overrun::Demote {
                        return Err(SetupError::Served { task: task.name.clone() });
                    }
                }
                let period = match task.release {
                    Release::Periodic { period, .. } => period,
                    Release::ByHand | Release::Polled => Duration::MAX,
                };
                let budget = task.budget.unwrap_or(Duration::MAX);
                if period.is_zero() || task.relative().is_zero() || budget.is_zero() {
                    return Err(SetupError::ZeroTime { task: task.name.clone() });
                }
                if task.uses.iter().any(|(brand, _)| *brand != core.brand) {
                    return Err(SetupError::ForeignResource { task: task.name.clone() });
                }
            }
            core.check_stated()?;
        }
        Ok(())
    }
}

impl CoreSetup<'_> {
    /// The number of 64-bit words per task, and per task a bit for each resource that it lists.
    pub(crate) fn listed(&self) -> (usize, Box<[u64]>) {
        let words = self.resources.len().div_ceil(64).max(1);
        let mut listed = vec![0; words * self.tasks.len()];
        for (at, task) in self.tasks.iter().enumerate() {
            for (_, resource) in &task.uses {
                listed[words * at + *resource as usize / 64] |= 1 << (resource % 64);
            }
        }
        (words, listed.into())
    }

    pub(crate) fn names(&self) -> Box<[String]> {
        self.tasks.iter().map(|task| task.name.clone()).collect()
    }

    /// The subject by which each task is recorded.
    pub(crate) fn subjects(&self) -> Box<[u16]> {
        let own = |index: usize| u16::try_from(index).unwrap_or(u16::MAX);
        let pairs = self.tasks.iter().zip(&self.indices);
        pairs.map(|(task, index)| task.recorded_as.unwrap_or(own(*index))).collect()
    }
}
