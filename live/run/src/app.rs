// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Assembles an application: the code for every task of the manifest.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use taut_boot::Maps;
use taut_boot::thread::ThreadPlacement;
use taut_event::file::ERRORS_OF;
use taut_lock::EventCount;
use taut_lock::Listener;
use taut_plan::{Arrival, ChannelPlan, ClassPlan, OverflowPolicy, TaskPlan, ValidPlan};
use taut_scope::Scope;
use taut_share::queue::broadcast::ReaderControl;

use crate::bench_ends::BenchChannels;
use crate::best_effort::Context;
use crate::body::Body;
use crate::broadcast::BroadcastPlaces;
use crate::create::{Create, PartyPosition};
use crate::device::{Device, DeviceBody};
use crate::device_clock::{ClockedBody, NewestTick};
use crate::dispatch::Dispatch;
use crate::flow::{Flows, TaskFlows};
use crate::lifecycle::Timing;
use crate::names::{no_such, position};
use crate::periodic::PeriodicBody;
use crate::receiver::ReceiverBody;
use crate::request::UnansweredRequests;
use crate::safe_state::Hook;
use crate::set_up::SetUpHeap;
use crate::triggered::{Trigger, TriggerSender, TriggeredBody};
use crate::{Control, Error, Payload, Receiver, Task};

/// An application before its release 0. It takes the code for everything that the manifest names.
///
/// All methods run on the main thread before any thread is real-time; they may allocate, read files and fail. `'p`
/// is the lifetime of the planned memory.
#[derive(Debug)]
pub struct App<'p> {
    pub(crate) plan: &'p ValidPlan,
    pub(crate) maps: &'p Maps,
    pub(crate) control: &'p Control,
    /// The services' scopes, in the plan's order.
    pub(crate) service_scopes: &'p [Scope<'p>],
    /// The tasks' scopes, in the plan's order; empty for best-effort tasks.
    pub(crate) task_scopes: &'p [Scope<'p>],
    pub(crate) task_codes: Vec<TaskCode<'p>>,
    /// The cores on which a dispatcher schedules.
    pub(crate) dispatch: Dispatch,
    pub(crate) flows: Flows<'p>,
    /// The code of the safe state.
    pub(crate) rest: Option<Hook<'p>>,
    /// The ends of channels that parties have taken, by channel and party; whether it is the writing end; and whether the party
    /// is a client, which it may be in a bench.
    pub(crate) taken: HashSet<(usize, String, bool, bool)>,
    /// The names of errors, by task.
    error_names: Vec<(String, &'static [&'static str])>,
    /// The channels that release the task in the making, whose code takes their values.
    pub(crate) triggers: Vec<(usize, Trigger<'p>)>,
    /// The places of the task in the making in the broadcasts that it reads.
    pub(crate) broadcasts: Vec<ReaderControl<'p>>,
    /// By channel of replies, the requests that the task in the making drops.
    pub(crate) unanswered: Vec<(u16, Arc<AtomicU64>)>,
    /// The devices that the application has given; `None` once a task has taken it.
    pub(crate) devices: HashMap<String, Option<Device>>,
    /// The device that the task in the making has taken.
    pub(crate) device_taken: Option<Device>,
    /// The same, once it is known that the device thread of the task's core watches it.
    device_watched: Option<Device>,
    /// The newest ticks of clocks, by the name of each, and whether somebody has the end that reports them.
    pub(crate) clocks: HashMap<String, (NewestTick, bool)>,
    /// What a bench adds to the ends of channels, if the application is in one.
    pub(crate) bench: Option<BenchChannels<'p>>,
    /// What the components took from the heap.
    pub(crate) set_up: Arc<SetUpHeap>,
}

/// A task with its code.
#[derive(Debug)]
pub(crate) struct TaskCode<'p> {
    pub(crate) task: usize,
    pub(crate) code: Code<'p>,
}

#[expect(clippy::large_enum_variant, reason = "few, and before release 0")]
pub(crate) enum Code<'p> {
    RealTime {
        body: Box<dyn Body + 'p>,
        scope: Scope<'p>,
        placement: ThreadPlacement,
        timing: Timing,
        /// `None` until the parties have taken all ends of channels.
        flows: Option<TaskFlows<'p>>,
        /// Listeners of the channels that release the task, and whether their writers are clients.
        listeners: Vec<(Listener<'p>, bool)>,
        broadcasts: BroadcastPlaces<'p>,
        unanswered: UnansweredRequests,
        /// The device that the device thread of the task's core watches.
        device: Option<Device>,
    },
    BestEffort(Box<dyn FnOnce(&mut Context<'_>) + Send + 'p>),
}

impl std::fmt::Debug for Code<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::RealTime { .. } => "RealTime",
            Self::BestEffort(_) => "BestEffort",
        })
    }
}

impl<'p> App<'p> {
    pub(crate) fn new(
        plan: &'p ValidPlan,
        maps: &'p Maps,
        control: &'p Control,
        service_scopes: &'p [Scope<'p>],
        task_scopes: &'p [Scope<'p>],
        event_counts: &'p [EventCount],
        dispatch: Dispatch,
    ) -> Self {
        let (task_codes, taken) = (Vec::new(), HashSet::new());
        let flows = Flows::new(event_counts);
        Self {
            plan,
            maps,
            control,
            service_scopes,
            task_scopes,
            task_codes,
            dispatch,
            flows,
            rest: None,
            taken,
            error_names: Vec::new(),
            triggers: Vec::new(),
            broadcasts: Vec::new(),
            unanswered: Vec::new(),
            devices: HashMap::new(),
            clocks: HashMap::new(),
            device_taken: None,
            device_watched: None,
            bench: None,
            set_up: Arc::new(SetUpHeap::new(plan.tasks.len())),
        }
    }

    /// Steers the application while it runs; may be passed to any thread.
    pub fn control(&self) -> &'p Control {
        self.control
    }

    /// Gives the names of the errors that jobs of a task fail with, by code from 1 on ([`crate::JobError::NAMES`]). Reports show
    /// them.
    ///
    /// # Errors
    /// If the manifest has no such task.
    pub fn error_names(&mut self, task: &str, names: &'static [&'static str]) -> Result<(), Error> {
        self.plan.task(task).ok_or_else(|| no_such("task", task))?;
        self.error_names.push((task.to_owned(), names));
        Ok(())
    }

    /// The names of errors as facts of a recording: a line for each task that has some.
    pub(crate) fn error_facts(&self) -> String {
        let named = self.error_names.iter().filter(|(_, names)| !names.is_empty());
        named.map(|(task, names)| format!("{ERRORS_OF}{task} = {}\n", names.join(", "))).collect()
    }

    /// The persistent scope of a task, which [`Create::scope`] gives as well; of size 0 if the manifest gives it none.
    ///
    /// # Errors
    /// If the manifest has no such task.
    pub fn task_scope(&self, name: &str) -> Result<&'p Scope<'p>, Error> {
        let at = self.plan.task(name).ok_or_else(|| no_such("task", name))?;
        Ok(&self.task_scopes[at])
    }

    /// The persistent scope of a service, which [`Service::scope`] gives as well.
    ///
    /// # Errors
    /// If the manifest has no such service.
    pub fn service_scope(&self, name: &str) -> Result<&'p Scope<'p>, Error> {
        Ok(&self.service_scopes[self.service_position(name)?])
    }

    fn service_position(&self, name: &str) -> Result<usize, Error> {
        let position = self.plan.services.iter().position(|service| service.name == name);
        position.ok_or_else(|| no_such("service", name))
    }

    /// Makes a resource of the manifest, with the value that it guards. A task that uses the resource takes it from
    /// [`Create::resource`], and locks it by [`crate::Job::lock`].
    ///
    /// # Errors
    /// If the manifest has no such resource, or it was already made.
    pub fn resource<T: Send + 'static>(&mut self, name: &str, value: T) -> Result<(), Error> {
        self.dispatch.make(self.plan, name, value)
    }

    /// Gives the code that brings outputs to rest. It runs once, before the application ends. At an orderly end it
    /// runs after the last job and before any `finish`; if the guardian ends the application where it stands, once
    /// the jobs are parked. It also runs at a crash, at `exit` and at a signal, but not at SIGKILL. It runs on a
    /// thread of its own, above all tasks, and must return within the manifest's `app.safe-state`, which the manifest
    /// must have.
    ///
    /// Meanwhile a job may stand anywhere, for ever, with every lock that it has taken, and in the middle of a
    /// write. So this code may touch only objects of its own that it can use whatever state they are in: mapped
    /// registers, an open file, an atomic. It must not wait for any thread, print, or use the heap; the report says
    /// if it used the heap.
    ///
    /// # Errors
    /// If the manifest has no `app.safe-state`, or the code was already given.
    pub fn safe_state(&mut self, rest: impl FnMut() + Send + 'p) -> Result<(), Error> {
        if self.plan.safe_state.is_none() {
            return Err(no_such("key", "app.safe-state"));
        }
        if self.rest.replace(Hook(Box::new(rest))).is_some() {
            return Err(Error::Twice("the safe state".to_owned()));
        }
        Ok(())
    }

    /// Makes a service; `create` gives the service its state and its tasks.
    ///
    /// # Errors
    /// If the manifest has no such service, or the error of `create`.
    pub fn service(
        &mut self,
        name: &str,
        create: impl FnOnce(&mut Service<'_, 'p>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let position = self.service_position(name)?;
        create(&mut Service { app: self, position })
    }

    /// Gives a device of the manifest: any file descriptor that can be polled, such as a timer, a socket, a serial line, a
    /// pipe, or a driver's. Before the task that it releases is made, which takes its end by [`Create::device`].
    ///
    /// Calls on the descriptor must not wait, so this sets `O_NONBLOCK` for the open file, also for other processes that
    /// share it.
    ///
    /// # Errors
    /// If the manifest has no such device, or it was already given, or the system refuses.
    pub fn device(&mut self, name: &str, descriptor: impl Into<OwnedFd>) -> Result<(), Error> {
        let is_of = |task: &TaskPlan| matches!(&task.class, ClassPlan::RealTime { arrival, .. } if arrival.device() == Some(name));
        if !self.plan.tasks.iter().any(is_of) {
            return Err(no_such("device", name));
        }
        let device = Device::new(descriptor.into()).map_err(Error::System)?;
        match self.devices.entry(name.to_owned()) {
            Entry::Occupied(_) => Err(Error::Twice(format!("device `{name}`"))),
            Entry::Vacant(place) => {
                place.insert(Some(device));
                Ok(())
            }
        }
    }

    /// Gives the code of a task that belongs to no service: a periodic one, or one that channels release and that takes
    /// their values by itself. `create` makes the code from the task's ends of channels.
    ///
    /// # Errors
    /// If the manifest has no such task, the task is of another kind or in a service, or was already made, or the
    /// error of `create`.
    pub fn task<T: Task + 'p>(
        &mut self,
        name: &str,
        create: impl FnOnce(&mut Create<'_, 'p>) -> Result<T, Error>,
    ) -> Result<(), Error> {
        self.add_task(name, None, create)
    }

    /// Gives the code of a receiver that belongs to no service: a task that one queue of `P` releases, and that gets each
    /// value handed over.
    ///
    /// # Errors
    /// As [`App::task`], and if the channel carries values of another type than `P`.
    pub fn receiver<P: Payload + 'p, R: Receiver<P> + 'p>(
        &mut self,
        name: &str,
        create: impl FnOnce(&mut Create<'_, 'p>) -> Result<R, Error>,
    ) -> Result<(), Error> {
        self.add_receiver(name, None, create)
    }

    /// Gives the code of a best-effort task that belongs to no service: an ordinary thread that runs the result of
    /// `create` once and must
    /// return soon after [`Context::stopping`] turns true. A task in a server runs on the server's processor, and
    /// at the server's priority while the server has a budget and the thread does not wait. At other times, and
    /// without the privilege, it runs like any ordinary thread.
    ///
    /// # Errors
    /// As [`App::task`].
    pub fn best_effort<F: FnOnce(&mut Context<'_>) + Send + 'p>(
        &mut self,
        name: &str,
        create: impl FnOnce(&mut Create<'_, 'p>) -> Result<F, Error>,
    ) -> Result<(), Error> {
        self.add_best_effort(name, None, create)
    }

    /// Makes the code of a task, and counts what it takes from the heap.
    fn created<T>(
        &mut self,
        task: usize,
        create: impl FnOnce(&mut Create<'_, 'p>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let set_up = Arc::clone(&self.set_up);
        let code = set_up.count(task, || create(&mut Create::new(self, PartyPosition::Task(task))))?;
        set_up.count_itself(task, size_of::<T>());
        Ok(code)
    }

    fn add_best_effort<F: FnOnce(&mut Context<'_>) + Send + 'p>(
        &mut self,
        name: &str,
        service: Option<&str>,
        create: impl FnOnce(&mut Create<'_, 'p>) -> Result<F, Error>,
    ) -> Result<(), Error> {
        let task = self.find(name, service)?;
        if !matches!(self.plan.tasks[task].class, ClassPlan::BestEffort {}) {
            return Err(no_such("best-effort task", name));
        }
        let run = self.created(task, create)?;
        self.task_codes.push(TaskCode { task, code: Code::BestEffort(Box::new(run)) });
        Ok(())
    }

    fn add_task<T: Task + 'p>(
        &mut self,
        name: &str,
        service: Option<&str>,
        create: impl FnOnce(&mut Create<'_, 'p>) -> Result<T, Error>,
    ) -> Result<(), Error> {
        let task = self.find(name, service)?;
        let timing = self.timing(task).ok_or_else(|| no_such("real-time task", name))?;
        let code = self.created(task, create)?;
        if let Some(name) = &timing.device {
            let device = self.device_taken.take().ok_or_else(|| Error::Unused(format!("device `{name}`")))?;
            return self.add_task_of_device(task, timing, code, device);
        }
        if let Some(clock) = timing.clock.clone() {
            let newest = self.clock(&clock.name).0.clone();
            let body = Box::new(ClockedBody::new(code, clock, newest));
            return self.add_real_time(task, timing, body, Vec::new());
        }
        if timing.is_periodic() {
            return self.add_real_time(task, timing, Box::new(PeriodicBody::new(code)), Vec::new());
        }
        self.add_triggered(task, timing, code, None)
    }

    /// The newest tick of a clock, and whether somebody reports it.
    pub(crate) fn clock(&mut self, name: &str) -> &mut (NewestTick, bool) {
        self.clocks.entry(name.to_owned()).or_default()
    }

    /// Adds a task that a device releases, alone or beside channels.
    fn add_task_of_device<T: Task + 'p>(
        &mut self,
        task: usize,
        timing: Timing,
        code: T,
        device: Device,
    ) -> Result<(), Error> {
        let in_bench = self.bench.is_some();
        let watched = self.control.watched_device(timing.task);
        let Some(watched) = watched.filter(|_| !in_bench || !timing.triggers.is_empty()) else {
            return self.add_real_time(task, timing, Box::new(DeviceBody::new(code, device)), Vec::new());
        };
        let trigger = if in_bench {
            Trigger::polled(device, watched)
        } else {
            self.device_watched = Some(device);
            Trigger::watched(watched)
        };
        self.add_triggered(task, timing, code, Some(trigger))
    }

    /// Adds a task that channels release whose ends it has taken, and maybe a device.
    fn add_triggered<T: Task + 'p>(
        &mut self,
        task: usize,
        timing: Timing,
        code: T,
        device: Option<Trigger<'p>>,
    ) -> Result<(), Error> {
        let (own, others) = std::mem::take(&mut self.triggers).into_iter().partition(|(of, _)| *of == task);
        self.triggers = others;
        let own: Vec<_> = Vec::into_iter(own).map(|(_, trigger)| trigger).chain(device).collect();
        let listeners = own.iter().map(Trigger::listener).collect();
        self.add_real_time(task, timing, Box::new(TriggeredBody::new(code, own)), listeners)
    }

    fn add_receiver<P: Payload + 'p, R: Receiver<P> + 'p>(
        &mut self,
        name: &str,
        service: Option<&str>,
        create: impl FnOnce(&mut Create<'_, 'p>) -> Result<R, Error>,
    ) -> Result<(), Error> {
        let task = self.find(name, service)?;
        let timing = self.timing(task).ok_or_else(|| no_such("receiver", name))?;
        // The code of a task with several triggers takes the values by itself.
        let ([trigger], None) = (timing.triggers.as_slice(), &timing.device) else {
            return Err(no_such("receiver of one queue", name));
        };
        let trigger = trigger.clone();
        if self.plan.channel(&trigger).is_some_and(|at| !self.plan.channels[at].hands_over()) {
            return Err(no_such("receiver of one queue", name));
        }
        let code = self.created(task, create)?;
        let mut ends = Create::new(self, PartyPosition::Task(task));
        let (queue, listener, channel, of_several) = ends.trigger::<P>(&trigger)?;
        let trusted = !timing.by_client;
        let wakes = vec![(listener.clone(), self.trigger_sender(&self.plan.channels[channel]).in_vain)];
        let channel = (position(channel), of_several);
        let body = Box::new(ReceiverBody::new(code, queue, listener, channel, trusted));
        self.add_real_time(task, timing, body, wakes)
    }

    /// What a trigger must know of the channel's sender.
    pub(crate) fn trigger_sender(&self, channel: &ChannelPlan) -> TriggerSender {
        let writer = &channel.writer;
        let task = self.plan.task(&writer.name).filter(|_| !writer.client);
        let is_real_time =
            task.is_some_and(|task| matches!(self.plan.tasks[task].class, ClassPlan::RealTime { .. }));
        let in_vain = !is_real_time || channel.overflow == OverflowPolicy::Recall;
        TriggerSender { trusted: !writer.client, in_vain }
    }

    fn add_real_time(
        &mut self,
        task: usize,
        timing: Timing,
        body: Box<dyn Body + 'p>,
        listeners: Vec<(Listener<'p>, bool)>,
    ) -> Result<(), Error> {
        let ClassPlan::RealTime { cpu, priority, release, .. } = &self.plan.tasks[task].class else {
            return Err(no_such("real-time task", &self.plan.tasks[task].name));
        };
        let placement = ThreadPlacement { cpu: *cpu, priority: *priority };
        // SAFETY:
        // - the maps were taken for this plan, which is valid: its scopes have regions of their own (V1)
        // - names are unique (V2), and `find` lets each task be made once
        let scope = unsafe { self.maps.scope(*release, &self.plan.tasks[task].name)? };
        let broadcasts = BroadcastPlaces::new(std::mem::take(&mut self.broadcasts));
        let unanswered = UnansweredRequests::new(std::mem::take(&mut self.unanswered));
        let device = self.device_watched.take();
        self.task_codes.push(TaskCode {
            task,
            code: Code::RealTime {
                body,
                scope,
                placement,
                timing,
                flows: None,
                listeners,
                broadcasts,
                unanswered,
                device,
            },
        });
        Ok(())
    }

    fn find(&self, name: &str, service: Option<&str>) -> Result<usize, Error> {
        let task = self.plan.task(name).ok_or_else(|| no_such("task", name))?;
        if self.plan.tasks[task].service.as_deref() != service {
            return Err(match &self.plan.tasks[task].service {
                Some(service) => Error::NotYours {
                    channel: name.to_owned(),
                    of: format!("service `{service}`"),
                    by: "the application".to_owned(),
                },
                None => no_such("task of that service", name),
            });
        }
        if self.task_codes.iter().any(|task_code| task_code.task == task) {
            return Err(Error::Twice(format!("task `{name}`")));
        }
        Ok(task)
    }

    fn timing(&self, task: usize) -> Option<Timing> {
        let ClassPlan::RealTime { arrival, deadline, on_overrun, heap, .. } = &self.plan.tasks[task].class
        else {
            return None;
        };
        let service = self.plan.tasks[task].service.as_ref();
        let service = service.and_then(|name| self.plan.services.iter().position(|s| s.name == *name));
        let (period_ns, offset_ns) = match arrival {
            Arrival::Periodic { period, offset } => (period.as_ns(), offset.as_ns()),
            Arrival::Clocked(_) | Arrival::Sporadic { .. } => (arrival.period().as_ns(), 0),
            Arrival::Aperiodic { .. } => (0, 0),
        };
        let triggers = arrival.triggers().to_vec();
        let device = arrival.device().map(str::to_owned);
        let clock = arrival.clock().cloned();
        let (on_overrun, heap) = (*on_overrun, *heap);
        let deadline_ns = deadline.as_ns();
        let mut channels = triggers.iter().filter_map(|trigger| self.plan.channel(trigger));
        let by_client = channels.any(|channel| self.plan.channels[channel].writer.client);
        let task = position(task);
        Some(Timing {
            task,
            service,
            period_ns,
            offset_ns,
            deadline_ns,
            on_overrun,
            heap,
            triggers,
            device,
            clock,
            by_client,
        })
    }

    /// Checks that the code uses everything that the manifest names: with an unused part, the proof would be about
    /// another application.
    pub(crate) fn check_complete(&self) -> Result<(), Error> {
        for (position, task) in self.plan.tasks.iter().enumerate() {
            if self.task_codes.iter().all(|task_code| task_code.task != position) {
                return Err(Error::Unused(format!("task `{}`", task.name)));
            }
        }
        for name in self.plan.tasks.iter().filter_map(clock_name) {
            if self.clocks.get(name).is_none_or(|(_, is_reported)| !is_reported) {
                return Err(Error::Unused(format!("clock `{name}`")));
            }
        }
        if self.plan.safe_state.is_some() && self.rest.is_none() {
            return Err(Error::Unused("`app.safe-state`".to_owned()));
        }
        if let Some(resource) = self.dispatch.missing(self.plan) {
            return Err(Error::Unused(format!("resource `{resource}`")));
        }
        for (position, channel) in self.plan.channels.iter().enumerate() {
            let writer = std::iter::once((&channel.writer.name, channel.writer.client, true));
            let readers = channel.readers.iter().map(|reader| (&reader.name, reader.client, false));
            for (party, client, writes) in writer.chain(readers) {
                if !client && !self.taken.contains(&(position, party.clone(), writes, false)) {
                    return Err(Error::Unused(format!(
                        "the end of channel `{}` that belongs to `{party}`",
                        channel.name
                    )));
                }
            }
        }
        Ok(())
    }
}

impl<'p> App<'p> {
    /// The code of all tasks, each with its flows, and the dispatched cores.
    pub(crate) fn into_task_codes(mut self) -> Result<(Vec<TaskCode<'p>>, Dispatch), Error> {
        Ok((self.take_task_codes()?, self.dispatch))
    }

    /// Takes the code of all tasks, each with its flows.
    pub(crate) fn take_task_codes(&mut self) -> Result<Vec<TaskCode<'p>>, Error> {
        let mut flows = self.flows.take().assemble(self.plan).map_err(Error::System)?;
        let mut task_codes = std::mem::take(&mut self.task_codes);
        for task_code in &mut task_codes {
            if let Code::RealTime { flows: own, .. } = &mut task_code.code {
                *own = flows.remove(&task_code.task);
            }
        }
        Ok(task_codes)
    }
}

/// A service in the making.
#[derive(Debug)]
pub struct Service<'a, 'p> {
    app: &'a mut App<'p>,
    position: usize,
}

impl<'p> Service<'_, 'p> {
    /// The service's persistent scope, which lives as long as the application.
    pub fn scope(&self) -> &'p Scope<'p> {
        &self.app.service_scopes[self.position]
    }

    /// Gives the code of a task of this service; see [`App::task`].
    ///
    /// # Errors
    /// As [`App::task`].
    pub fn task<T: Task + 'p>(
        &mut self,
        name: &str,
        create: impl FnOnce(&mut Create<'_, 'p>) -> Result<T, Error>,
    ) -> Result<(), Error> {
        let service = self.app.plan.services[self.position].name.as_str();
        self.app.add_task(name, Some(service), create)
    }

    /// Gives the code of a receiver of this service; see [`App::receiver`].
    ///
    /// # Errors
    /// As [`App::receiver`].
    pub fn receiver<P: Payload + 'p, R: Receiver<P> + 'p>(
        &mut self,
        name: &str,
        create: impl FnOnce(&mut Create<'_, 'p>) -> Result<R, Error>,
    ) -> Result<(), Error> {
        let service = self.app.plan.services[self.position].name.as_str();
        self.app.add_receiver(name, Some(service), create)
    }

    /// Gives the code of a best-effort task of this service; see [`App::best_effort`]. [`Context::stopping`] is true,
    /// too, once the service has stopped.
    ///
    /// # Errors
    /// As [`App::best_effort`].
    pub fn best_effort<F: FnOnce(&mut Context<'_>) + Send + 'p>(
        &mut self,
        name: &str,
        create: impl FnOnce(&mut Create<'_, 'p>) -> Result<F, Error>,
    ) -> Result<(), Error> {
        let service = self.app.plan.services[self.position].name.as_str();
        self.app.add_best_effort(name, Some(service), create)
    }
}

/// The name of the device's clock that a task follows.
pub(crate) fn clock_name(task: &TaskPlan) -> Option<&str> {
    match &task.class {
        ClassPlan::RealTime { arrival, .. } => Some(arrival.clock()?.name.as_str()),
        ClassPlan::BestEffort {} => None,
    }
}
