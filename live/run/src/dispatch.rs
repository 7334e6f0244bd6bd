// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Cores on which a dispatcher schedules: their resources, and the tasks on them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use taut_exec::{CoreId, RecordingLevel, Release, ServerId, ServerSetup, Setup, TaskSetup};
use taut_lock::Listener;
use taut_plan::{
    Arrival, ChannelPlan, ClassPlan, Flow, LockingProtocol, Overrun, Plan, ServerPlan, TaskPlan, Waiting,
};
use taut_time::Duration;
use taut_trace::Drain;

use crate::Error;
use crate::bench_resource::BenchResource;
use crate::dispatched::{DispatchedTask, Donor};
use crate::names::{no_such, position};
use crate::outside;
use crate::resource::{Guard, Resource};

/// How long a killed job may take to reach its next safe point, if its period is shorter: a stall of the machine must
/// not end an application.
const KILL: Duration = Duration::from_ms(100);
/// The longest stall after which a dispatched core drops no release of a periodic task with `on-overrun =
/// "run-on"`. Waiting releases take no room, and all of them run afterwards, as they do where Linux schedules.
const STALL: Duration = Duration::from_s(10);
/// Records in the ring of a dispatched core: four times those of a thread.
const RING_RECORDS: usize = 8_192;

/// The dispatched cores of a plan, before anything runs.
pub(crate) struct Dispatch {
    setup: Setup<'static>,
    /// By position in the plan; `None` where Linux schedules.
    cores: Vec<Option<CoreId>>,
    drains: Vec<Drain>,
    /// By position in the plan; `None` until the application has made it.
    resources: Vec<Option<Box<dyn Guard>>>,
    /// The locks of states under locks, by the channel's position.
    guards: HashMap<usize, Resource<()>>,
    /// Whether the tasks run in a bench: no core has a dispatcher, and resources are those of a bench.
    in_bench: bool,
}

impl fmt::Debug for Dispatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dispatch").field("setup", &self.setup).finish_non_exhaustive()
    }
}

impl Dispatch {
    pub(crate) fn new(plan: &Plan) -> Result<Self, Error> {
        let mut setup = Setup::new();
        setup.on_violation(outside::violated);
        let mut drains = Vec::new();
        let cores: Vec<_> = plan
            .cores
            .iter()
            .enumerate()
            .map(|(at, core)| {
                core.dispatched.as_ref()?;
                let id = setup.core(core.cpu, plan.local_rule(core));
                let number = u16::try_from(at).unwrap_or(u16::MAX);
                drains.push(setup.record_as(id, number, RecordingLevel::All, RING_RECORDS));
                Some(id)
            })
            .collect();
        Self::with_cores(plan, setup, cores, drains, false)
    }

    /// The resources of a plan whose tasks run in a bench.
    pub(crate) fn in_bench(plan: &Plan) -> Result<Self, Error> {
        Self::with_cores(plan, Setup::new(), vec![None; plan.cores.len()], Vec::new(), true)
    }

    fn with_cores(
        plan: &Plan,
        setup: Setup<'static>,
        cores: Vec<Option<CoreId>>,
        drains: Vec<Drain>,
        in_bench: bool,
    ) -> Result<Self, Error> {
        let resources = plan.resources.iter().map(|_| None).collect();
        let mut dispatch = Self { setup, cores, drains, resources, guards: HashMap::new(), in_bench };
        // Numbered after the manifest's resources, in the order of the channels.
        let states = plan.channels.iter().enumerate();
        let states = states.filter_map(|(at, channel)| Some((at, channel, channel.mechanism.locking()?)));
        for (number, (at, channel, protocol)) in (plan.resources.len()..).zip(states) {
            let guard = dispatch.guard_of(plan, (&channel.name, number), protocol, &users(channel), ())?;
            dispatch.guards.insert(at, guard);
        }
        Ok(dispatch)
    }

    /// Makes the lock of a value that these tasks use by a protocol; records name the lock by `number`.
    fn guard_of<T: Send>(
        &mut self,
        plan: &Plan,
        (name, number): (&str, usize),
        protocol: LockingProtocol,
        users: &[&str],
        value: T,
    ) -> Result<Resource<T>, Error> {
        let number = position(number);
        if self.in_bench {
            let bench = BenchResource::new(value, protocol.global().is_some());
            return Ok(Resource::bench(bench, number));
        }
        let Some(rule) = protocol.global() else {
            let core = users.first().and_then(|user| self.core_of(plan, user));
            let core = core.ok_or_else(|| no_such("dispatched core for resource", name))?;
            return Ok(Resource::local(self.setup.resource_recorded_as(core, number.into(), value), number));
        };
        let parties = match rule.waiting() {
            Waiting::Spinning => {
                let mut cpus: Vec<_> = users.iter().map(|user| on_cpu(plan, user)).collect();
                cpus.sort_unstable();
                cpus.dedup();
                cpus.len()
            }
            Waiting::Suspended => users.len(),
        };
        let parties = position(parties).into();
        let global = self.setup.global_recorded_as(rule, parties, number.into(), value);
        let global = global.map_err(|error| Error::Lock(name.to_owned(), error))?;
        Ok(Resource::global(global, number))
    }

    /// The core of a task, if the core is dispatched.
    fn core_of(&self, plan: &Plan, task: &str) -> Option<CoreId> {
        let cpu = on_cpu(plan, task)?;
        self.cores[plan.cores.iter().position(|core| core.cpu == cpu)?]
    }

    /// Whether a task's jobs are dispatched.
    pub(crate) fn has(&self, plan: &Plan, task: usize) -> bool {
        self.core_of(plan, &plan.tasks[task].name).is_some()
    }

    /// The lock of a state's channel, if it has one.
    pub(crate) fn guard(&self, channel: usize) -> Option<Resource<()>> {
        self.guards.get(&channel).cloned()
    }

    /// Makes a resource of the manifest, with the value that it holds.
    pub(crate) fn make<T: Send + 'static>(&mut self, plan: &Plan, name: &str, value: T) -> Result<(), Error> {
        let at = plan.resources.iter().position(|resource| resource.name == name);
        let at = at.ok_or_else(|| no_such("resource", name))?;
        if self.resources[at].is_some() {
            return Err(Error::Twice(format!("resource `{name}`")));
        }
        let of = &plan.resources[at];
        let users: Vec<&str> = of.users.iter().map(String::as_str).collect();
        let resource = self.guard_of(plan, (name, at), of.protocol, &users, value)?;
        self.resources[at] = Some(Box::new(resource));
        Ok(())
    }

    /// A handle of a resource for one of its users.
    pub(crate) fn take<T: Send + 'static>(
        &self,
        plan: &Plan,
        name: &str,
        task: &str,
    ) -> Result<Resource<T>, Error> {
        let at = plan.resources.iter().position(|resource| resource.name == name);
        let at = at.ok_or_else(|| no_such("resource", name))?;
        let users = &plan.resources[at].users;
        if !users.iter().any(|user| user == task) {
            let of = users.iter().map(|user| format!("`{user}`")).collect::<Vec<_>>().join(", ");
            return Err(Error::NotUser { resource: name.to_owned(), of, by: task.to_owned() });
        }
        let made = self.resources[at].as_ref().ok_or_else(|| Error::NotMade(name.to_owned()))?;
        let handle = made.any().downcast_ref::<Resource<T>>();
        handle.cloned().ok_or_else(|| Error::OtherType(name.to_owned()))
    }

    /// A resource of the plan that the application has not made, if there is one.
    pub(crate) fn missing<'p>(&self, plan: &'p Plan) -> Option<&'p str> {
        let at = self.resources.iter().position(Option::is_none)?;
        Some(&plan.resources[at].name)
    }

    /// Takes the drains of the cores' rings.
    pub(crate) fn take_drains(&mut self) -> Vec<Drain> {
        std::mem::take(&mut self.drains)
    }

    /// The set-up with its tasks; the tasks of the donors come last.
    pub(crate) fn into_setup<'w>(
        self,
        plan: &Plan,
        dispatched_tasks: &'w mut [DispatchedTask<'_>],
        donors: Vec<Donor<'w>>,
    ) -> Result<Setup<'w>, Error> {
        let Self { mut setup, cores, resources, guards, .. } = self;
        let mut planned = PlannedCores { plan, cores, servers: Vec::new(), resources, guards };
        planned.add_servers(&mut setup);
        let mut setup: Setup<'w> = setup;
        let mut listeners = BTreeMap::new();
        for dispatched_task in dispatched_tasks {
            listeners.extend(planned.admission_listeners(dispatched_task));
            planned.add_task(&mut setup, dispatched_task)?;
        }
        for donor in donors {
            planned.add_donor(&mut setup, donor);
        }
        for ((cpu, _), listener) in listeners {
            if let Some(core) = planned.core(cpu) {
                setup.listen_for_admission(core, listener).map_err(Error::Executor)?;
            }
        }
        Ok(setup)
    }
}

/// The dispatched cores of a plan, with what their tasks use, while a set-up is made.
struct PlannedCores<'a> {
    plan: &'a Plan,
    /// By position in the plan; `None` where Linux schedules.
    cores: Vec<Option<CoreId>>,
    /// By position in the plan; `None` on other cores.
    servers: Vec<Option<ServerId>>,
    resources: Vec<Option<Box<dyn Guard>>>,
    guards: HashMap<usize, Resource<()>>,
}

impl PlannedCores<'_> {
    /// The core of a CPU, if it is dispatched.
    fn core(&self, cpu: u16) -> Option<CoreId> {
        self.cores[self.plan.cores.iter().position(|core| core.cpu == cpu)?]
    }

    /// The server of a task, if it has one.
    fn server(&self, task: &TaskPlan) -> Option<(&ServerPlan, ServerId)> {
        let at = self.plan.servers.iter().position(|server| server.tasks.contains(&task.name))?;
        Some((&self.plan.servers[at], self.servers[at]?))
    }

    fn add_servers(&mut self, setup: &mut Setup<'_>) {
        for (at, server) in self.plan.servers.iter().enumerate() {
            let own = ServerSetup::new(&server.name, server.policy, server.budget, server.period)
                .priority(server.priority.into())
                .recorded_as(position(at));
            self.servers.push(self.core(server.cpu).map(|core| setup.server(core, own)));
        }
    }

    /// The listeners that the tasks in this task's flows notify when their jobs complete: a job of this task may wait
    /// for these jobs. Each is given with this task's CPU and the task that notifies.
    fn admission_listeners<'p>(&self, of: &DispatchedTask<'p>) -> Vec<((u16, usize), Listener<'p>)> {
        let task = &self.plan.tasks[of.task].name;
        let Some(cpu) = on_cpu(self.plan, task) else { return Vec::new() };
        let listener = |other: usize| Some(((cpu, other), of.context.listener(other)?));
        in_flows(self.plan, task).into_iter().filter_map(listener).collect()
    }

    /// Adds a task with its event counts.
    fn add_task<'w>(&self, setup: &mut Setup<'w>, of: &'w mut DispatchedTask<'_>) -> Result<(), Error> {
        let task = &self.plan.tasks[of.task];
        let Some((core, own)) = self.task_setup(task, of.task) else { return Ok(()) };
        let used = self.used(task);
        let own = used.iter().fold(own, |own, guard| guard.listed(own));
        // A receiver is notified of its values, and of its service's changes.
        // What wakes the dispatcher for an aperiodic task is charged once in each period of its server.
        let server = self.server(task).filter(|_| of.context.timing.is_aperiodic());
        let apart = |in_vain| server.map_or_else(|| of.apart(in_vain), |(server, _)| server.period);
        let values = of.listeners.iter().map(|(listener, in_vain)| (listener.clone(), apart(*in_vain)));
        let values: Vec<_> = values.collect();
        let service = of.context.service_listener().filter(|_| !values.is_empty());
        let id = setup.task(core, own, of);
        used.iter().try_for_each(|guard| guard.joined(setup, id)).map_err(Error::Executor)?;
        for (listener, apart) in values {
            setup.listen_apart(id, listener, apart).map_err(Error::Executor)?;
        }
        service.map_or(Ok(()), |listener| setup.listen(id, listener)).map_err(Error::Executor)?;
        Ok(())
    }

    /// What the dispatcher must know of a real-time task, without its resources, and the task's core; `None` if it is
    /// not dispatched.
    fn task_setup(&self, task: &TaskPlan, at: usize) -> Option<(CoreId, TaskSetup)> {
        let ClassPlan::RealTime { cpu, priority, arrival, deadline, on_overrun, budget, .. } = &task.class
        else {
            return None;
        };
        let core = self.core(*cpu)?;
        let (release, backlog) = match arrival {
            Arrival::Periodic { period, offset } => {
                (Release::Periodic { period: *period, offset: *offset }, Some(backlog(*period)))
            }
            Arrival::Clocked(_) | Arrival::Sporadic { .. } | Arrival::Aperiodic { .. } => {
                (Release::Polled, None)
            }
        };
        let own = TaskSetup::new(&task.name, release)
            .priority((*priority).into())
            .deadline(*deadline)
            .overrun(*on_overrun)
            .recorded_as(position(at));
        // The instant of its next alarm changes when another one is set.
        let timed =
            |trigger: &String| self.plan.channel(trigger).is_some_and(|at| self.plan.channels[at].is_timed());
        let own = if arrival.triggers().iter().any(timed) { own.reconsidered() } else { own };
        let own = if arrival.clock().is_some() { own.begins() } else { own };
        let own = backlog.into_iter().fold(own, TaskSetup::backlog);
        let own = limit(*on_overrun, arrival).into_iter().fold(own, TaskSetup::limit);
        let own = budget.iter().fold(own, |own, budget| own.budget(*budget));
        let own = self.server(task).into_iter().fold(own, |own, (_, server)| own.served_by(server));
        let own = if in_flows(self.plan, &task.name).is_empty() { own } else { own.admitted() };
        Some((core, own))
    }

    /// The resources that a task uses: those of the manifest, and the locks of its states.
    fn used(&self, task: &TaskPlan) -> Vec<&dyn Guard> {
        let mut used: Vec<&dyn Guard> = Vec::new();
        for (resource, made) in self.plan.resources.iter().zip(&self.resources) {
            used.extend(made.as_deref().filter(|_| resource.users.contains(&task.name)));
        }
        for (channel, guard) in &self.guards {
            if users(&self.plan.channels[*channel]).contains(&task.name.as_str()) {
                used.push(guard);
            }
        }
        used
    }

    /// Adds a task whose jobs donate their server's budget to a best-effort task's thread.
    fn add_donor<'w>(&self, setup: &mut Setup<'w>, donor: Donor<'w>) {
        let task = &self.plan.tasks[donor.task];
        let Some((of, server)) = self.server(task) else { return };
        let Some(core) = self.core(of.cpu) else { return };
        let own = TaskSetup::new(&task.name, Release::Polled).recorded_as(position(donor.task));
        setup.task(core, own.served_by(server).donates(), donor);
    }
}

/// The time from a job's arrival within which the job must have ended; `None` if there is no limit.
fn limit(on_overrun: Overrun, arrival: &Arrival<String>) -> Option<Duration> {
    match (on_overrun, arrival) {
        // The dispatcher kills the job at the task's next release, at the latest.
        (Overrun::KillJob, _) => {
            let period = arrival.period();
            Some(period.checked_add(period.max(KILL)).unwrap_or(Duration::MAX))
        }
        // The dispatcher asks for the task's next value only when this job is done, so it does not see that the job
        // is late.
        (Overrun::StopApp, Arrival::Clocked(_) | Arrival::Sporadic { .. }) => Some(arrival.period()),
        // No release falls due while a job runs.
        (Overrun::StopApp, Arrival::Aperiodic { .. }) => None,
        // The dispatcher sees that the job is late, unless the job has raised itself above the dispatcher.
        (Overrun::StopApp, Arrival::Periodic { period, .. }) => {
            Some(period.checked_add(ABOVE).unwrap_or(Duration::MAX))
        }
        _ => None,
    }
}

/// The tasks in the synchronous flows of a task, itself among them; empty if it takes part in none.
fn in_flows(plan: &Plan, task: &str) -> BTreeSet<usize> {
    let flows = plan.channels.iter().filter(|channel| channel.flow == Flow::Synchronous);
    let members = flows.map(users).filter(|members| members.contains(&task));
    members.flatten().filter_map(|member| plan.task(member)).collect()
}

/// The longest time until a dispatcher has seen that a job is late.
const ABOVE: Duration = Duration::from_ms(5);

/// How many jobs of a task may wait behind one that is not complete, so that a stall of [`STALL`] drops none: the
/// jobs released during the stall, and one more, because the job before the stall may be late already.
fn backlog(period: Duration) -> u32 {
    let within = STALL.as_ns().div_ceil(period.as_ns().max(1));
    u32::try_from(within).unwrap_or(u32::MAX).saturating_add(1)
}

/// The tasks that write or read a state.
fn users(channel: &ChannelPlan) -> Vec<&str> {
    let readers = channel.readers.iter().map(|reader| reader.name.as_str());
    std::iter::once(channel.writer.name.as_str()).chain(readers).collect()
}

/// The CPU of a real-time task.
fn on_cpu(plan: &Plan, task: &str) -> Option<u16> {
    match &plan.tasks[plan.task(task)?].class {
        ClassPlan::RealTime { cpu, .. } => Some(*cpu),
        ClassPlan::BestEffort {} => None,
    }
}
