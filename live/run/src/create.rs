// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Making a task: its memory and its ends of channels. Each end is handed out once, and only to its own party.

mod requests;

use taut_lock::{EventCount, Listener};
use taut_plan::{ChannelKind, ChannelPlan, ClassPlan, Mechanism, OverflowPolicy, ReaderPlan, ValidPlan, Way};
use taut_scope::Scope;
use taut_share::bulk::{self, reserved};
use taut_share::queue::{broadcast, qrtr, qrtwo, timed_slots};

use crate::alarm::{AlarmReader, AlarmSetter, Instants, PendingAlarms, SharedAlarms};
use crate::app::{App, clock_name};
use crate::bulk::{BlockReceiver, BlockSender, LendingEnd, TakingEnd};
use crate::device::Device;
use crate::device_clock::TickReporter;
use crate::endpoint::{
    JobRate, QueueReader, QueueWriter, ReadingEnd, StateReader, StateSource, StateWriter, WritingEnd,
};
use crate::flow::Flows;
use crate::guard::Measure;
use crate::locked::Locked;
use crate::message::{LaneQueue, MessageReader, Order, ReadLane};
use crate::names::{no_such, position as index};
use crate::payload::{Own, Stamped};
use crate::pool::{LendingPool, TakingPool};
use crate::queue::{QueueShape, QueueSlot, QueueView, Wakes, spare};
use crate::resource::Resource;
use crate::sources::SourceStamps;
use crate::state::{Shape, StateSlot, StateView};
use crate::triggered::Trigger;
use crate::{Error, Payload};

/// The shape of a state's object, from the plan.
fn shape(plan: &ChannelPlan) -> Shape {
    Shape { mechanism: plan.mechanism, buffers: plan.buffers.unwrap_or(1), claims: plan.claims() }
}

/// A task in the making: hands out its memory and its ends of channels.
///
/// What these take from the heap is the runtime's: it is not counted with the set-up of the component.
#[derive(Debug)]
pub struct Create<'a, 'p> {
    app: &'a mut App<'p>,
    party: PartyPosition,
}

/// Whose ends they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PartyPosition {
    /// A task, by its position in the plan.
    Task(usize),
    /// A client, by its position in the plan: in a bench.
    Client(usize),
}

impl PartyPosition {
    /// The name of the party, and whether it is a client.
    pub(crate) fn name(self, plan: &ValidPlan) -> (&str, bool) {
        match self {
            Self::Task(task) => (&plan.tasks[task].name, false),
            Self::Client(client) => (&plan.clients[client], true),
        }
    }
}

impl<'a, 'p> Create<'a, 'p> {
    pub(crate) fn new(app: &'a mut App<'p>, party: PartyPosition) -> Self {
        Self { app, party }
    }

    /// The name of the party, and whether it is a client.
    fn me(&self) -> (&'p str, bool) {
        let plan: &'p ValidPlan = self.app.plan;
        self.party.name(plan)
    }

    /// The position of the task, if the party is one.
    fn task(&self) -> Option<usize> {
        match self.party {
            PartyPosition::Task(task) => Some(task),
            PartyPosition::Client(_) => None,
        }
    }

    /// What the plan says of this party as a reader of a channel.
    fn reader(&self, plan: &'p ChannelPlan) -> Option<&'p ReaderPlan> {
        let (me, is_client) = self.me();
        plan.readers.iter().find(|reader| reader.client == is_client && reader.name == me)
    }

    /// The task's own persistent scope; of size 0 if the manifest gives it none.
    pub fn scope(&self) -> &'p Scope<'p> {
        let of = self.task().and_then(|task| self.app.task_scopes.get(task));
        // Only tasks have code that asks for one.
        of.unwrap_or(&self.app.task_scopes[0])
    }

    /// The sending end of a queue or a broadcast that this task writes, or of a message that it sends.
    ///
    /// # Errors
    /// If the manifest has no such queue, another party writes it, the end was already taken, or it carries values
    /// of another type than `P`.
    pub fn queue_writer<P: Payload>(&mut self, channel: &str) -> Result<QueueWriter<'p, P>, Error> {
        let _runtime = Measure::begin();
        let has_other_end = |(_, lane): &(usize, &ChannelPlan)| lane.is_timed();
        if self.app.plan.lanes(channel).iter().any(has_other_end) || self.is_of_request(channel) {
            return Err(no_such("queue", channel));
        }
        let (position, plan) = self.end::<P>(channel, ChannelKind::Queue, true)?;
        self.lane_writer(position, plan)
    }

    /// The sending end of a queue that this task has taken.
    fn lane_writer<P: Payload>(
        &mut self,
        position: usize,
        plan: &'p ChannelPlan,
    ) -> Result<QueueWriter<'p, P>, Error> {
        let slot = self.queue_slot(position, plan)?;
        let wakes = self.wakes(plan)?;
        let rate = JobRate::new(plan.sends_per_release);
        Ok(QueueWriter { slot, wakes, channel: index(position), sequence: 0, rate, own: Own::new() })
    }

    fn queue_slot<P: Payload>(
        &mut self,
        position: usize,
        plan: &'p ChannelPlan,
    ) -> Result<QueueSlot<'p, P>, Error> {
        let memory = self.memory(plan)?;
        // SAFETY:
        // - `end` hands out the writing end of each channel once per process, and only to its own party
        // - the readers are in this process, or in ones that attached through the segment's directory
        let slot = unsafe { QueueSlot::over(memory, QueueShape::of(plan)) };
        let mut slot = slot.map_err(|_| Error::Region(plan.name.clone()))?;
        if let Some(bench) = &mut self.app.bench {
            slot = bench.queue(position, plan, slot);
        }
        Ok(slot)
    }

    /// The receiving end of a queue or a broadcast that this task reads. The runtime itself reads the trigger of a
    /// [`Receiver`](crate::Receiver). An end that may lose values begins with the next value that is sent.
    ///
    /// # Errors
    /// As [`Create::queue_writer`].
    pub fn queue_reader<P: Payload>(&mut self, channel: &str) -> Result<QueueReader<'p, P>, Error> {
        let _runtime = Measure::begin();
        let is_lane =
            self.app.plan.channel(channel).is_some_and(|at| self.app.plan.channels[at].lane.is_some());
        if is_lane || self.is_of_request(channel) {
            return Err(no_such("queue", channel));
        }
        let (position, plan) = self.end::<P>(channel, ChannelKind::Queue, false)?;
        let view = self.queue_view(plan)?;
        let reader = self.reader(plan);
        let event_count = reader.map_or(Ok(None), |reader| self.event_count_of(reader, channel))?;
        let listener = event_count.map(EventCount::listener);
        let releases = reader.is_some_and(|reader| reader.triggered);
        let owner = self.task().filter(|_| releases).map(index);
        let of_several = self.of_several(plan);
        if releases {
            self.watch::<P>(plan)?;
        }
        let channel = index(position);
        let (lost, deadline, own) = (0, None, Own::new());
        let sender = self.sending_service(plan);
        Ok(QueueReader { view, listener, channel, lost, owner, of_several, sender, deadline, own })
    }

    /// The service of the task that writes a channel.
    fn sending_service(&self, plan: &ChannelPlan) -> Option<usize> {
        let all = self.app.plan;
        let task = all.task(&plan.writer.name).filter(|_| !plan.writer.client)?;
        let name = all.tasks[task].service.as_ref()?;
        all.services.iter().position(|service| service.name == *name)
    }

    /// What a send to a queue or a bulk channel wakes.
    fn wakes(&self, plan: &'p ChannelPlan) -> Result<Wakes<'p>, Error> {
        let triggers = plan.readers.iter().any(|reader| reader.triggered);
        let trigger = if triggers { Some(self.event_count(plan)?) } else { None };
        let waiting =
            plan.readers.iter().filter_map(|reader| self.event_count_of(reader, &plan.name).transpose());
        let waiting = waiting.collect::<Result<Vec<_>, _>>()?;
        Ok(Wakes::new(trigger.into_iter().chain(waiting).map(EventCount::notifier)))
    }

    /// The sending end of a bulk channel that this task writes.
    ///
    /// # Errors
    /// As [`Create::queue_writer`].
    pub fn block_sender<P: Payload>(&mut self, channel: &str) -> Result<BlockSender<'p, P>, Error> {
        let _runtime = Measure::begin();
        let (position, plan) = self.end::<P>(channel, ChannelKind::Bulk, true)?;
        let memory = self.memory(plan)?;
        // SAFETY:
        // - as in `queue_writer`; no client writes blocks: they lie in the process's map, or in the file of the segment that no
        //   client writes (V1, V4), and the receiver's kind follows from the plan as here
        let pool = unsafe {
            match self.reservation(plan)? {
                None => bulk::sender(memory, plan.capacity)
                    .map(|pool| LendingPool::ToTask(pool, plan.overflow == OverflowPolicy::Recall)),
                Some(line) => reserved::sender(memory, line, plan.capacity)
                    .map(|pool| LendingPool::ToClient(Box::new(pool))),
            }
        };
        let pool = pool.map_err(|_| Error::Region(channel.to_owned()))?;
        let (wakes, rate) = (self.wakes(plan)?, JobRate::new(plan.sends_per_release));
        let tap = self.app.bench.as_mut().map(|bench| bench.blocks(position, plan));
        let end = LendingEnd::new(pool, index(position), tap);
        Ok(BlockSender { end, wakes, rate })
    }

    /// The line in which a client says which block of a channel it has; `None` of another channel.
    fn reservation(&self, plan: &ChannelPlan) -> Result<Option<taut_share::Memory<'p>>, Error> {
        let Some(reader) = plan.readers.iter().find(|reader| reader.reservation.is_some()) else {
            return Ok(None);
        };
        let line = self.app.maps.reservation(reader, &plan.name)?;
        // SAFETY:
        // - the line lies inside a map, which lives as long as 'p, and is aligned to 128 bytes; it was zeroed when taken
        // - in a valid plan it is a line of its own (V1), and only this protocol is laid over it
        Ok(line.map(|line| unsafe { taut_share::Memory::from_raw(line, taut_share::LINE_BYTES) }))
    }

    /// The receiving end of a bulk channel that this task reads.
    ///
    /// # Errors
    /// As [`Create::queue_writer`].
    pub fn block_receiver<P: Payload>(&mut self, channel: &str) -> Result<BlockReceiver<'p, P>, Error> {
        let _runtime = Measure::begin();
        let (position, plan) = self.end::<P>(channel, ChannelKind::Bulk, false)?;
        let memory = self.memory(plan)?;
        // SAFETY:
        // - as in `block_sender`, with the sides exchanged: a bulk channel of a valid plan has one reader (V4)
        // - of a client, in a bench: no other process attaches there
        let pool = unsafe {
            match self.reservation(plan)? {
                None => bulk::receiver(memory, plan.capacity).map(TakingPool::OfTask),
                Some(line) => reserved::receiver(memory, line, plan.capacity).map(TakingPool::OfClient),
            }
        };
        let pool = pool.map_err(|_| Error::Region(channel.to_owned()))?;
        let reader = self.reader(plan);
        let event_count = reader.map_or(Ok(None), |reader| self.event_count_of(reader, channel))?;
        let listener = event_count.map(EventCount::listener);
        if let Some(task) = self.task().filter(|_| reader.is_some_and(|reader| reader.triggered)) {
            let memory = self.memory(plan)?;
            // SAFETY:
            // - the memory holds this object, as above
            let watcher = unsafe { bulk::watcher::<P>(memory, plan.capacity) };
            let watcher = watcher.map_err(|_| Error::Region(channel.to_owned()))?;
            let listener = self.event_count(plan)?.listener();
            let trigger = Trigger::new(Box::new(watcher), listener, self.app.trigger_sender(plan));
            self.app.triggers.push((task, trigger));
        }
        let is_real_time =
            |task: &usize| matches!(self.app.plan.tasks[*task].class, ClassPlan::RealTime { .. });
        let end = TakingEnd::new(pool, index(position), self.task().filter(is_real_time).map(index));
        let rate = JobRate::new(plan.takes_per_release);
        Ok(BlockReceiver { end, listener, rate, replayed: Vec::new() })
    }

    /// The device that releases this task.
    ///
    /// # Errors
    /// If no such device releases it in the manifest, the application has not given it, or this was called before.
    pub fn device(&mut self, name: &str) -> Result<Device, Error> {
        let _runtime = Measure::begin();
        let class = self.task().map(|task| &self.app.plan.tasks[task].class);
        if !matches!(class, Some(ClassPlan::RealTime { arrival, .. }) if arrival.device() == Some(name)) {
            return Err(no_such("device of that task", name));
        }
        let given = self.app.devices.get_mut(name).ok_or_else(|| Error::NoDevice(name.to_owned()))?;
        let device = given.take().ok_or_else(|| Error::Twice(format!("device `{name}`")))?;
        self.app.device_taken = Some(device.clone());
        Ok(device)
    }

    /// The end that reports the ticks of a device's clock, which a task of the manifest follows. Whoever observes the device
    /// takes it: that task, or another one.
    ///
    /// # Errors
    /// If no task follows such a clock, or this was called before.
    pub fn clock(&mut self, name: &str) -> Result<TickReporter, Error> {
        let _runtime = Measure::begin();
        if !self.app.plan.tasks.iter().any(|task| clock_name(task) == Some(name)) {
            return Err(no_such("clock", name));
        }
        let (newest, is_reported) = self.app.clock(name);
        if std::mem::replace(is_reported, true) {
            return Err(Error::Twice(format!("clock `{name}`")));
        }
        Ok(TickReporter::new(newest.clone()))
    }

    /// The end that sets the alarms of a channel, for one of the tasks that may.
    ///
    /// # Errors
    /// As [`Create::queue_writer`].
    pub fn alarm_setter<P: Payload>(&mut self, alarm: &str) -> Result<AlarmSetter<'p, P>, Error> {
        let _runtime = Measure::begin();
        let (position, plan) = self.end::<P>(alarm, ChannelKind::Queue, true)?;
        let lane = plan.lane.as_ref().filter(|_| plan.is_timed()).ok_or_else(|| no_such("alarm", alarm))?;
        let memory = self.memory(plan)?;
        // SAFETY:
        // - as in `queue_writer`; alarms of a valid plan lie in the process's map, since no party is a client (V4)
        let slots = unsafe { timed_slots::setter(memory, plan.capacity) };
        let slots = slots.map_err(|_| Error::Region(plan.name.clone()))?;
        let triggers = plan.readers.iter().any(|reader| reader.triggered);
        let trigger = if triggers { Some(self.event_count(plan)?) } else { None };
        let (channel, rate) = (index(position), JobRate::new(plan.sends_per_release));
        let wakes = Wakes::new(trigger.into_iter().map(EventCount::notifier));
        Ok(AlarmSetter { slots, wakes, channel, sequence: 0, late: lane.late, rate, own: Own::new() })
    }

    /// The end that receives alarms, of all their setters.
    ///
    /// # Errors
    /// As [`Create::queue_writer`].
    pub fn alarm_reader<P: Payload>(&mut self, alarm: &str) -> Result<AlarmReader<'p, P>, Error> {
        let _runtime = Measure::begin();
        let all: &'p ValidPlan = self.app.plan;
        let found = all.lanes(alarm);
        let lane = found.first().filter(|(_, channel)| channel.is_timed());
        let lane =
            lane.and_then(|(_, channel)| channel.lane.as_ref()).ok_or_else(|| no_such("alarm", alarm))?;
        // Of a valid plan the one reader is a real-time task (V4).
        let task = self.task().ok_or_else(|| no_such("alarm", alarm))?;
        let (mut setters, mut lanes, mut listeners) = (Vec::new(), Vec::new(), Vec::new());
        for (_, channel) in &found {
            let (position, plan) = self.end::<P>(&channel.name, ChannelKind::Queue, false)?;
            if plan.readers.iter().any(|reader| reader.triggered) {
                listeners.push(self.event_count(plan)?.listener());
            }
            let memory = self.memory(plan)?;
            // SAFETY:
            // - as in `alarm_setter`, with the sides exchanged: alarms of a valid plan have one reader (V4). The runtime
            //   uses this taker too, through the lock of `SharedAlarms`
            let taker = unsafe { timed_slots::taker(memory, plan.capacity) };
            lanes.push(taker.map_err(|_| Error::Region(plan.name.clone()))?);
            setters.push((index(position), plan.writer.name.as_str()));
        }
        let pending = SharedAlarms::new(PendingAlarms::new(lanes));
        let mut instants: Option<Box<dyn Instants + 'p>> = Some(Box::new(pending.clone()));
        for listener in listeners {
            self.app.triggers.push((task, Trigger::timed(instants.take(), listener)));
        }
        let (rate, owner) = (JobRate::new(lane.takes), index(task));
        Ok(AlarmReader { pending, setters: setters.into(), rate, owner, own: Own::new() })
    }

    /// The receiving end of a message that this task receives.
    ///
    /// # Errors
    /// As [`Create::queue_writer`].
    pub fn message_reader<P: Payload>(&mut self, message: &str) -> Result<MessageReader<'p, P>, Error> {
        let _runtime = Measure::begin();
        if self.app.plan.is_request(message) {
            return Err(no_such("message", message));
        }
        self.lanes_reader(message)
    }

    /// The receiving end of the lanes of a message.
    fn lanes_reader<P: Payload>(&mut self, message: &str) -> Result<MessageReader<'p, P>, Error> {
        let all: &'p ValidPlan = self.app.plan;
        let found = all.lanes(message);
        let lane = found.first().filter(|(_, channel)| !channel.is_timed());
        let lane = lane.and_then(|(_, channel)| channel.lane.as_ref());
        let lane = lane.ok_or_else(|| no_such("message", message))?;
        let layout = P::layout();
        let order = Order::of(lane, &layout).ok_or_else(|| no_such("message", message))?;
        let mut lanes = Vec::with_capacity(found.len());
        for (_, channel) in &found {
            let (position, plan) = self.end::<P>(&channel.name, ChannelKind::Queue, false)?;
            if plan.readers.iter().any(|reader| reader.triggered) {
                self.watch::<P>(plan)?;
            }
            let writer = all.task(&plan.writer.name).filter(|_| !plan.writer.client);
            let real_time =
                writer.is_some_and(|at| matches!(all.tasks[at].class, ClassPlan::RealTime { .. }));
            lanes.push(ReadLane {
                queue: self.lane_queue(plan)?,
                channel: index(position),
                sender: &plan.writer.name,
                real_time,
                trusted: !plan.writer.client && plan.mechanism == Mechanism::Qrtr,
                seen_ns: None,
                lost: 0,
                taken: match order {
                    Order::Specified(_) if real_time => vec![false; plan.capacity as usize],
                    _ => Vec::new(),
                },
            });
        }
        let rate = JobRate::new(lane.takes);
        let owner = self.task().map_or(u16::MAX, index);
        Ok(MessageReader { lanes, order, rate, owner, unknown: 0, lost: 0, own: Own::new() })
    }

    /// The writing end of a state that this task writes.
    ///
    /// # Errors
    /// As [`Create::queue_writer`].
    pub fn state_writer<P: Payload>(&mut self, channel: &str) -> Result<StateWriter<'p, P>, Error> {
        let _runtime = Measure::begin();
        let (position, plan) = self.end::<P>(channel, ChannelKind::State, true)?;
        if let Some(locked) = self.locked(position, plan)? {
            let slot = WritingEnd::Locked(locked);
            let rate = JobRate::new(plan.sends_per_release);
            return Ok(StateWriter { slot, channel: index(position), sequence: 0, rate, own: Own::new() });
        }
        let memory = self.memory(plan)?;
        let slot = match Flows::shape(self.app.plan, position) {
            Some(shape) => {
                let task = self.task().ok_or_else(|| Error::Region(channel.to_owned()))?;
                let (memory, at) = ([memory, self.memory(plan)?], (position, task));
                // SAFETY:
                // - `end` hands out the writing end of each channel once per process, and only to its own party;
                //   the map was zeros, and the only other ends over it are readers of this shape
                let end = unsafe { self.app.flows.writer(self.app.plan, at, memory, shape) };
                end.map(StateSlot::Flow)
            }
            // SAFETY:
            // - as in `queue_writer`; every end gets the shape from the plan
            None => unsafe { StateSlot::over(memory, shape(plan)) },
        };
        let mut slot = slot.map_err(|_| Error::Region(channel.to_owned()))?;
        if let Some(bench) = &mut self.app.bench {
            slot = bench.state(position, plan, slot);
        }
        let slot = WritingEnd::Free(slot);
        let rate = JobRate::new(plan.sends_per_release);
        Ok(StateWriter { slot, channel: index(position), sequence: 0, rate, own: Own::new() })
    }

    /// A reading end of a state that this task reads, of all its sources.
    ///
    /// # Errors
    /// As [`Create::queue_writer`].
    pub fn state_reader<P: Payload>(&mut self, channel: &str) -> Result<StateReader<'p, P>, Error> {
        let _runtime = Measure::begin();
        let all: &'p ValidPlan = self.app.plan;
        let sources = all.sources(channel);
        if all.channel(channel).is_some_and(|at| all.channels[at].source.is_some()) {
            return Err(no_such("state", channel));
        }
        let names = sources.iter().map(|(_, source)| source.name.as_str());
        let names = if sources.is_empty() { vec![channel] } else { names.collect() };
        let sources = names.into_iter().map(|name| {
            let (position, plan) = self.end::<P>(name, ChannelKind::State, false)?;
            let end = self.state_source(position, plan)?;
            let stamps = SourceStamps::new(!plan.writer.client);
            Ok((StateSource { end, channel: index(position), name: &plan.writer.name }, stamps))
        });
        Ok(StateReader::new(sources.collect::<Result<_, Error>>()?))
    }

    /// The reading end of a state that one party writes.
    fn state_source<P: Payload>(
        &mut self,
        position: usize,
        plan: &'p ChannelPlan,
    ) -> Result<ReadingEnd<'p, P>, Error> {
        if let Some(locked) = self.locked(position, plan)? {
            return Ok(ReadingEnd::Locked(locked));
        }
        let memory = self.memory(plan)?;
        let (me, is_client) = self.me();
        // A client looks on, and claims no place.
        let (way, claim) = match is_client {
            true => (Some(Way::LooksOn), None),
            false => (self.reader(plan).and_then(|reader| reader.way), plan.claim(me)),
        };
        let slot = match Flows::shape(self.app.plan, position) {
            Some(shape) => {
                let task = self.task().ok_or_else(|| Error::Region(plan.name.clone()))?;
                let at = (position, task);
                // SAFETY:
                // - `end` hands out each reading end once per process, and only to its own party; each has a number
                //   of its own in the plan's shape
                let end = unsafe { self.app.flows.reader(self.app.plan, at, memory, shape) };
                end.map(StateView::Flow)
            }
            // SAFETY:
            // - as in `queue_writer`, with the sides exchanged: in a valid plan SDrtR has one reader (V4), names of
            //   readers are unique (V2), so each that claims has a place of its own; the process's maps are writable
            None => unsafe { StateView::over(memory, shape(plan), way, claim) },
        };
        Ok(ReadingEnd::Free(slot.map_err(|_| Error::Region(plan.name.clone()))?))
    }

    /// The queue that a receiver's runtime reads, the listener on which it waits, and the channel's position.
    pub(crate) fn trigger<P: Payload>(
        &mut self,
        channel: &str,
    ) -> Result<(QueueView<'p, P>, Listener<'p>, usize, Option<u16>), Error> {
        let (position, plan) = self.end::<P>(channel, ChannelKind::Queue, false)?;
        let listener = self.event_count(plan)?.listener();
        Ok((self.queue_view(plan)?, listener, position, self.of_several(plan)))
    }

    /// The task, if it is one of several readers that a recording tells apart.
    fn of_several(&self, plan: &ChannelPlan) -> Option<u16> {
        self.task().filter(|_| plan.broadcast).map(index)
    }

    /// The reading end of a queue; of a broadcast with the place that the writer respects, if this party has one.
    fn queue_view<P: Payload>(&mut self, plan: &'p ChannelPlan) -> Result<QueueView<'p, P>, Error> {
        let wrong = |_| Error::Region(plan.name.clone());
        let (me, is_client) = self.me();
        let which = plan.respected(me).filter(|_| !is_client);
        let memory = self.memory(plan)?;
        // SAFETY:
        // - as in `queue_writer`, with the sides exchanged: in a valid plan a queue that rejects has one reader, and each
        //   real-time reader of a broadcast has a place of its own (V4); the process's maps are writable
        let view = unsafe { QueueView::over(memory, QueueShape::of(plan), which) }.map_err(wrong)?;
        if let Some(which) = which {
            let memory = self.memory(plan)?;
            // SAFETY:
            // - the memory holds the object of that end
            let control = unsafe {
                broadcast::reader_control::<Stamped<P>>(memory, plan.claims(), plan.capacity, which)
            };
            self.app.broadcasts.push(control.map_err(wrong)?);
        }
        Ok(view)
    }

    /// Lets a queue release this task, whose code takes the values.
    fn watch<P: Payload>(&mut self, plan: &'p ChannelPlan) -> Result<(), Error> {
        let memory = self.memory(plan)?;
        let wrong = |_| Error::Region(plan.name.clone());
        let (listener, sender) = (self.event_count(plan)?.listener(), self.app.trigger_sender(plan));
        if let Some(which) = plan.respected(self.me().0) {
            // SAFETY:
            // - as in `queue_writer`; the shape is that of all its ends
            let watcher = unsafe {
                broadcast::reader_watcher::<Stamped<P>>(memory, plan.claims(), plan.capacity, which)
            };
            let trigger = Trigger::new(Box::new(watcher.map_err(wrong)?), listener, sender);
            self.app.triggers.extend(self.task().map(|task| (task, trigger)));
            return Ok(());
        }
        if plan.mechanism == Mechanism::Qrtwo {
            let watcher = qrtwo::watcher::<Stamped<P>>(memory, plan.capacity, spare::<P>()).map_err(wrong)?;
            let trigger = Trigger::new(Box::new(watcher), listener, sender);
            self.app.triggers.extend(self.task().map(|task| (task, trigger)));
            return Ok(());
        }
        // SAFETY:
        // - as in `queue_writer`; any other queue that releases a task is QrtR (V4, V5)
        // - the runtime looks only while the task has no job, on the thread that runs its jobs or on the dispatcher,
        //   which knows by its core's state that the job is complete; the end reads in jobs of this task alone
        //   (`owner`). Where a client writes the queue, the runtime does not look at the value (`Trigger`)
        let watcher = unsafe { qrtr::watcher::<Stamped<P>>(memory, plan.capacity) };
        let trigger = Trigger::new(Box::new(watcher.map_err(wrong)?), listener, sender);
        self.app.triggers.extend(self.task().map(|task| (task, trigger)));
        Ok(())
    }

    /// The receiver's end of a lane.
    fn lane_queue<P: Payload>(&self, plan: &'p ChannelPlan) -> Result<LaneQueue<'p, P>, Error> {
        let memory = self.memory(plan)?;
        // SAFETY:
        // - as in `queue_writer`, with the sides exchanged: a lane of a valid plan has one reader (V4); both ends have the
        //   spare slots of the payload
        let queue = unsafe {
            match plan.mechanism {
                Mechanism::Qrtwo => {
                    qrtwo::reader(memory, plan.capacity, spare::<P>()).map(LaneQueue::Dropping)
                }
                _ => qrtr::reader(memory, plan.capacity).map(LaneQueue::Rejecting),
            }
        };
        queue.map_err(|_| Error::Region(plan.name.clone()))
    }

    /// An end of a state that is under a lock; `None` for any other state.
    fn locked<P: Payload>(
        &self,
        position: usize,
        plan: &'p ChannelPlan,
    ) -> Result<Option<Locked<'p, P>>, Error> {
        let Some(resource) = self.app.dispatch.guard(position) else { return Ok(None) };
        let region = self.app.maps.place(plan)?;
        // SAFETY:
        // - every channel of a valid plan has a region of its own (V1), zeroed, in maps that live for 'p; all its
        //   ends are made here, with the channel's resource; clients have no end of a state under a lock (V4)
        let locked = unsafe { Locked::over(region, resource) };
        locked.map(Some).ok_or_else(|| Error::Region(plan.name.clone()))
    }

    /// A resource that the manifest lists for this task; the application has made it with [`App::resource`].
    ///
    /// # Errors
    /// If the manifest has no such resource or does not list it for this task, or it was not made yet, or holds
    /// another type.
    pub fn resource<T: Send + 'static>(&mut self, name: &str) -> Result<Resource<T>, Error> {
        let _runtime = Measure::begin();
        self.app.dispatch.take(self.app.plan, name, self.me().0)
    }

    fn memory(&self, plan: &ChannelPlan) -> Result<taut_share::Memory<'p>, Error> {
        // SAFETY:
        // - the maps were taken for this plan, which is valid: every channel has a region of its own (V1), and only
        //   the protocol that the channel names is laid over it
        Ok(unsafe { self.app.maps.channel(plan)? })
    }

    /// The event count on which a reader waits, if the plan gives it one.
    fn event_count_of(&self, reader: &ReaderPlan, channel: &str) -> Result<Option<&'p EventCount>, Error> {
        let Some(line) = self.app.maps.event_count(reader, channel)? else { return Ok(None) };
        // SAFETY:
        // - the line lies inside a map, which lives as long as 'p, and is aligned to 128 bytes
        // - in a valid plan it is a line of its own (V1, V5); an `EventCount` is an atomic and padding, for which all
        //   bytes are valid
        Ok(Some(unsafe { line.cast::<EventCount>().as_ref() }))
    }

    fn event_count(&self, plan: &ChannelPlan) -> Result<&'p EventCount, Error> {
        let line = self.app.maps.last_line(plan)?;
        // SAFETY:
        // - the line lies inside the map, which lives as long as 'p, and is aligned to 128 bytes
        // - a channel of a valid plan that releases a reader has a line at its end (V4, V5), which the protocol in
        //   front of it does not use; an `EventCount` is an atomic and padding, for which all bytes are valid
        Ok(unsafe { line.cast::<EventCount>().as_ref() })
    }

    /// Takes an end of a channel for this task, once.
    fn end<P: Payload>(
        &mut self,
        channel: &str,
        kind: ChannelKind,
        writes: bool,
    ) -> Result<(usize, &'p ChannelPlan), Error> {
        let what = match kind {
            ChannelKind::Queue => "queue",
            ChannelKind::State => "state",
            ChannelKind::Bulk => "bulk channel",
        };
        let (me, is_client) = self.me();
        // A writer knows its own part by the name of the message, or of the state with several sources.
        let part = || {
            let lanes = self.app.plan.lanes(channel).into_iter();
            let parts = lanes.chain(self.app.plan.sources(channel));
            let mut own = parts.filter(|(_, lane)| lane.writer.client == is_client && lane.writer.name == me);
            own.next().map(|(at, _)| at).filter(|_| writes)
        };
        let position = self.app.plan.channel(channel).or_else(part);
        let position = position.ok_or_else(|| no_such("channel", channel))?;
        let plan = &self.app.plan.channels[position];
        if plan.kind != kind {
            return Err(no_such(what, channel));
        }
        let mine = if writes {
            plan.writer.client == is_client && plan.writer.name == me
        } else {
            self.reader(plan).is_some()
        };
        if !mine {
            let readers = plan.readers.iter().map(|reader| format!("`{}`", reader.name));
            let of = if writes {
                format!("`{}`", plan.writer.name)
            } else {
                readers.collect::<Vec<_>>().join(", ")
            };
            return Err(Error::NotYours { channel: channel.to_owned(), of, by: me.to_owned() });
        }
        let code = P::layout();
        if code != plan.layout {
            let (channel, manifest) = (channel.to_owned(), plan.layout.clone());
            return Err(Error::Layout { channel, manifest, code });
        }
        if !self.app.taken.insert((position, me.to_owned(), writes, is_client)) {
            return Err(Error::Twice(format!("the end of channel `{channel}` that belongs to `{me}`")));
        }
        Ok((position, plan))
    }
}
