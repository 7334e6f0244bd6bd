// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What runs where, before it does.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use taut_lock::Listener;
use taut_lock::life::{Alive, Lives};
use taut_policy::{Attribute, Overrun};
use taut_time::Duration;
use taut_trace::{Drain, Owner, Recorder, ring};

use crate::bells::Bells;
use crate::error::SetupError;
use crate::global::{Global, Protocol};
use crate::job::Work;
use crate::ladder::WORKERS_MAX;
use crate::log::Level;
use crate::resource::Resource;
use crate::rule::Rule;
use crate::serving::{ServerId, ServerSetup};
use crate::task::{CoreId, Release, TaskId, TaskSetup};
use crate::violation::Handler;

/// A core, as it is set up.
pub(crate) struct CoreSetup<'w> {
    pub(crate) cpu: u16,
    pub(crate) rule: Rule,
    pub(crate) brand: u64,
    pub(crate) tasks: Vec<TaskSetup>,
    /// Of each task, its position among all.
    pub(crate) indices: Vec<usize>,
    pub(crate) servers: Vec<ServerSetup>,
    pub(crate) works: Vec<Box<dyn Work + 'w>>,
    /// For which bells the dispatcher listens.
    pub(crate) bells: Bells<'w>,
    /// How each resource is recorded.
    pub(crate) resources: Vec<u32>,
    /// Ceilings that are stated; as many as resources, or fewer.
    pub(crate) stated: Vec<Option<Attribute>>,
    pub(crate) recorder: Option<(Recorder, Level, u16)>,
    /// Those who share resources with its tasks: see [`Alive::take_cpu`].
    pub(crate) others: Vec<(Lives<'w>, &'w Alive)>,
    /// A mistake on purpose.
    #[cfg(test)]
    pub(crate) no_ceilings: bool,
    /// A mistake on purpose: so many threads fewer.
    #[cfg(test)]
    pub(crate) missing: usize,
}

/// Cores, their resources and tasks. Everything is allocated by [`Setup::run`] before anything is released.
pub struct Setup<'w> {
    pub(crate) cores: Vec<CoreSetup<'w>>,
    pub(crate) tasks: usize,
    servers: usize,
    resources: u32,
    pub(crate) handler: Handler,
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
    /// Nothing yet. A violation is written to the standard error stream.
    pub fn new() -> Self {
        Self {
            cores: Vec::new(),
            tasks: 0,
            servers: 0,
            resources: 0,
            handler: |violation| violation.tell(),
            on_stop: None,
            delay_ns: 0,
            #[cfg(test)]
            fault: crate::tests::Fault::None,
        }
    }

    /// A core: a CPU and its rule.
    pub fn core(&mut self, cpu: u16, rule: Rule) -> CoreId {
        /// Not one of a core that there has been.
        static BRAND: AtomicU64 = AtomicU64::new(1);
        self.cores.push(CoreSetup {
            cpu,
            rule,
            brand: BRAND.fetch_add(1, Ordering::Relaxed),
            tasks: Vec::new(),
            indices: Vec::new(),
            servers: Vec::new(),
            works: Vec::new(),
            bells: Bells::default(),
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

    /// A resource that tasks of one core share. It is recorded as its position among all of the set-up.
    pub fn resource<T: Send>(&mut self, core: CoreId, value: T) -> Resource<T> {
        let number = self.next_resource();
        self.resource_recorded_as(core, number, value)
    }

    pub(crate) fn next_resource(&mut self) -> u32 {
        self.resources += 1;
        self.resources - 1
    }

    /// As [`Setup::resource`], with the number by which it is recorded.
    pub fn resource_recorded_as<T: Send>(&mut self, core: CoreId, number: u32, value: T) -> Resource<T> {
        let core = &mut self.cores[core.0];
        core.resources.push(number);
        Resource::new(core.brand, core.resources.len() as u32 - 1, value)
    }

    /// A task of a core, and what it does.
    pub fn task(&mut self, core: CoreId, task: TaskSetup, work: impl Work + 'w) -> TaskId {
        let core = &mut self.cores[core.0];
        core.tasks.push(task);
        core.works.push(Box::new(work));
        core.indices.push(self.tasks);
        self.tasks += 1;
        TaskId { brand: core.brand, task: core.tasks.len() as u32 - 1, index: self.tasks - 1 }
    }

    /// A server of a core: jobs of tasks that are [`TaskSetup::served_by`] it run at its priority, within its budget, and
    /// when nothing else of the core wants to run.
    pub fn server(&mut self, core: CoreId, server: ServerSetup) -> ServerId {
        let subject = server.recorded_as.unwrap_or(u16::try_from(self.servers).unwrap_or(u16::MAX));
        self.servers += 1;
        let core = &mut self.cores[core.0];
        core.servers.push(server.recorded_as(subject));
        ServerId { brand: core.brand, server: core.servers.len() as u32 - 1 }
    }

    /// A bell that tells of something to do for a task with [`Release::Polled`]; it may have several, and share one with others
    /// of its core.
    ///
    /// # Errors
    /// [`SetupError::Bells`] if a core has too many, [`SetupError::ForeignResource`] if the task is of another set-up.
    pub fn bell(&mut self, task: TaskId, bell: Listener<'w>) -> Result<(), SetupError> {
        self.bell_apart(task, bell, Duration::ZERO)
    }

    /// As [`Setup::bell`], of one that may ring without end, in vain: the dispatcher listens to it again `apart` after it has
    /// answered a ring, so it is woken by it once in that time at most, and once by the end of that.
    ///
    /// # Errors
    /// As [`Setup::bell`].
    pub fn bell_apart(
        &mut self,
        task: TaskId,
        bell: Listener<'w>,
        apart: Duration,
    ) -> Result<(), SetupError> {
        let core = self.cores.iter_mut().find(|core| core.brand == task.brand);
        let core = core.ok_or(SetupError::ForeignResource { task: format!("{task:?}") })?;
        let added = core.bells.add(task.task, bell, apart.as_ns());
        added.ok_or(SetupError::Bells { cpu: core.cpu })
    }

    /// A bell behind which tasks of a core may be admitted that were not before: [`Work::admit`].
    ///
    /// # Errors
    /// [`SetupError::Bells`] if the core has too many.
    pub fn admission_bell(&mut self, core: CoreId, bell: Listener<'w>) -> Result<(), SetupError> {
        let core = &mut self.cores[core.0];
        core.bells.add_admission(bell).ok_or(SetupError::Bells { cpu: core.cpu })
    }

    /// A resource that tasks of several cores share, on memory of its own: [`taut_lock::spin::bytes`] or
    /// [`taut_lock::queued::bytes`] of as many `parties` as cores use it, with [`Protocol::Msrp`], or as tasks do.
    ///
    /// # Errors
    /// [`LayoutError`](taut_lock::LayoutError) if there is no room.
    pub fn global<'m, T: Send>(
        &mut self,
        protocol: Protocol,
        memory: taut_lock::Memory<'m>,
        parties: u32,
        value: T,
    ) -> Result<Global<'m, T>, taut_lock::LayoutError> {
        let number = self.next_resource();
        Global::new(protocol, memory, parties, number, value, None)
    }

    /// As [`Setup::global`], on memory that lives as long as its last handle, with the number by which it is recorded.
    ///
    /// # Errors
    /// [`LayoutError`](taut_lock::LayoutError) of so many parties.
    pub fn global_recorded_as<T: Send>(
        &mut self,
        protocol: Protocol,
        parties: u32,
        number: u32,
        value: T,
    ) -> Result<Global<'static, T>, taut_lock::LayoutError> {
        Global::owned(protocol, parties, number, value)
    }

    /// Lets a task's jobs lock a resource of several cores.
    ///
    /// # Errors
    /// [`SetupError::Users`] if it has more users than parties, [`SetupError::Suspends`] if jobs may be suspended for it and
    /// the core's rule does not bear that, [`SetupError::Served`] if it runs in a server, [`SetupError::ForeignResource`] if the task is of another set-up.
    pub fn uses_global<'m: 'w, T: Send>(
        &mut self,
        task: TaskId,
        global: &Global<'m, T>,
    ) -> Result<(), SetupError> {
        let core = self.cores.iter_mut().find(|core| core.brand == task.brand);
        let Some(core) = core.filter(|core| core.tasks.len() > task.task as usize) else {
            return Err(SetupError::ForeignResource { task: format!("{task:?}") });
        };
        if global.inner.suspends() && core.rule == Rule::Dfp {
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

    /// Records what happens on a core, into a ring for at least `records` of 32 bytes. Whoever has the drain empties it
    /// meanwhile; what finds it full is lost and counted.
    pub fn record(&mut self, core: CoreId, level: Level, records: usize) -> Drain {
        self.record_as(core, u16::try_from(core.0).unwrap_or(u16::MAX), level, records)
    }

    /// As [`Setup::record`], with the number by which the core is recorded.
    pub fn record_as(&mut self, core: CoreId, number: u16, level: Level, records: usize) -> Drain {
        let (recorder, drain) = ring(Owner::Core(number), records);
        self.cores[core.0].recorder = Some((recorder, level, number));
        drain
    }

    /// Who is told of a violation before the process aborts, in place of writing it to the standard error stream.
    pub fn on_violation(&mut self, handler: Handler) {
        self.handler = handler;
    }

    /// Who is told on the dispatcher's thread, at once, of a task whose overrun stops everything: its position in the set-up.
    pub fn on_stop(&mut self, told: &'w (dyn Fn(usize) + Sync)) {
        self.on_stop = Some(told);
    }

    /// All that is wrong and can be seen before anything is started; the first of it.
    pub(crate) fn check(&self) -> Result<(), SetupError> {
        for (at, core) in self.cores.iter().enumerate() {
            if self.cores[..at].iter().any(|other| other.cpu == core.cpu) {
                return Err(SetupError::SameCpu(core.cpu));
            }
            if core.depth() > WORKERS_MAX {
                return Err(SetupError::TooManyTasks { cpu: core.cpu });
            }
            if let Some(server) = core.servers.iter().find(|server| !server.is_fit()) {
                return Err(SetupError::Server { server: server.name.clone() });
            }
            for task in &core.tasks {
                if task.lends && task.server.is_none() {
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
    /// Words of bits per task, and of each task a bit per resource that it lists.
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

    /// How each task is recorded.
    pub(crate) fn subjects(&self) -> Box<[u16]> {
        let own = |index: usize| u16::try_from(index).unwrap_or(u16::MAX);
        let pairs = self.tasks.iter().zip(&self.indices);
        pairs.map(|(task, index)| task.recorded_as.unwrap_or(own(*index))).collect()
    }
}
