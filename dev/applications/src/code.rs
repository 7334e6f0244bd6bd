// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the tasks of any drawn application do, as its plan says: a job executes for a part of what it may, takes all that it
//! may take, and sends all that it may send. Every value has its sender and its number, so what is lost or comes twice shows.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};

use taut_plan::{ChannelKind, ChannelPlan, ClassPlan, Plan};
use taut_run::{
    AlarmReader, AlarmSetter, AlarmToken, App, Cancellation, Component, Context, Control, Create, Device,
    Error, Failure, Job, MessageReader, QueueReader, QueueWriter, Receiver, StateReader, StateWriter, Task,
    payload_with,
};
use taut_time::{Duration, Instant};

use crate::blocks::{self, Fills, Ledger, Takes};
use crate::draw::Draw;

payload_with! {
    "taut_run::zerocopy"
    /// A value of any channel.
    pub(crate) struct Value { pub(crate) urgency: u32, pub(crate) sender: u32, pub(crate) number: u64 }
}

/// What readers got, by channel and sender: how many values, and the largest number. Each task has a `Seen` of its own, so
/// no job waits for another or uses the heap.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    senders: usize,
    counts: Vec<(u64, u64)>,
    /// By channel: the alarms that were cancelled in time.
    prevented: Vec<u64>,
    /// By channel; only bulk channels have one.
    ledgers: BTreeMap<usize, Ledger>,
    /// What must not be.
    pub(crate) wrong: Vec<String>,
}

/// What all tasks have seen, once they have ended.
pub(crate) type Shared = Arc<Mutex<Seen>>;

impl Seen {
    pub(crate) fn of_plan(plan: &Plan) -> Self {
        let senders = plan.tasks.len();
        let channels = plan.channels.len();
        let bulk = plan.channels.iter().enumerate().filter(|(_, channel)| channel.kind == ChannelKind::Bulk);
        Self {
            senders,
            counts: vec![(0, 0); senders * channels],
            prevented: vec![0; channels],
            ledgers: bulk.map(|(at, _)| (at, Ledger::new())).collect(),
            wrong: Vec::new(),
        }
    }

    /// Counts a value. `ordered`: its number must be the next one of its sender, after `lost` numbers that are missing.
    fn take(&mut self, channel: usize, value: &Value, ordered: bool, lost: u64) {
        let entry = &mut self.counts[channel * self.senders + value.sender as usize];
        let next = entry.1 + 1 + lost;
        *entry = (entry.0 + 1, entry.1.max(value.number));
        if ordered && value.number != next {
            self.wrong(format!("channel {channel}: {value:?}, expected number {next}"));
        }
    }

    /// Something is as it must not be.
    pub(crate) fn wrong(&mut self, what: String) {
        if self.wrong.len() < 10 {
            self.wrong.push(what);
        }
    }

    /// How many values of a sender were got, and the largest number.
    pub(crate) fn of(&self, channel: usize, sender: u32) -> (u64, u64) {
        self.counts[channel * self.senders + sender as usize]
    }

    /// How many alarms of a channel were cancelled in time.
    pub(crate) fn prevented(&self, channel: usize) -> u64 {
        self.prevented[channel]
    }

    /// What became of the blocks of a channel.
    pub(crate) fn ledger(&self, channel: usize) -> Option<&Ledger> {
        self.ledgers.get(&channel)
    }

    /// The same, for a party to enter what it sees.
    pub(crate) fn enter(&mut self, channel: usize) -> &mut Ledger {
        self.ledgers.entry(channel).or_insert_with(Ledger::new)
    }

    /// As [`Seen::take`], of a channel that may lose values.
    pub(crate) fn take_any(&mut self, channel: usize, value: &Value) {
        self.take(channel, value, false, 0);
    }

    /// Adds this to what all tasks have seen.
    pub(crate) fn show(&self, shared: &Shared) {
        shared.lock().unwrap_or_else(PoisonError::into_inner).add(self);
    }

    /// Adds what another task has seen: all readers of a channel together.
    fn add(&mut self, other: &Self) {
        for (all, own) in self.counts.iter_mut().zip(&other.counts) {
            *all = (all.0 + own.0, all.1.max(own.1));
        }
        self.prevented.iter_mut().zip(&other.prevented).for_each(|(all, own)| *all += own);
        for (channel, ledger) in &other.ledgers {
            let twice = self.ledgers.get_mut(channel).and_then(|all| all.add(ledger));
            if let Some(number) = twice {
                self.wrong
                    .push(format!("channel {channel}: block {number} came twice, or was taken back as well"));
            }
        }
        self.wrong.extend_from_slice(&other.wrong);
    }
}

/// An end that a task writes.
enum Output<'p> {
    Queue { end: QueueWriter<'p, Value>, sends: u32, next: u64 },
    State(StateWriter<'p, Value>, u64),
    Alarm { at: usize, end: AlarmSetter<'p, Value>, next: u64, last: Option<AlarmToken> },
    Blocks(Box<dyn Fills + Send + 'p>),
}

/// What a reader of a state has got.
struct Newest {
    /// By sender, the largest number.
    largest: Vec<u64>,
    /// The sender and the number of the last one.
    last: Option<(u32, u64)>,
}

impl Newest {
    fn of_plan(plan: &Plan) -> Self {
        Self { largest: vec![0; plan.tasks.len()], last: None }
    }

    /// Notes what a read got, and says what is wrong with it: a value that another has replaced comes no more.
    fn follow(&mut self, value: Option<Value>) -> Option<String> {
        let Some(Value { sender, number, .. }) = value else {
            return self.last.map(|last| format!("a state lost its value {last:?}"));
        };
        let largest = &mut self.largest[sender as usize];
        let goes_on = self.last == Some((sender, number)) || number > *largest;
        *largest = number.max(*largest);
        let before = self.last.replace((sender, number));
        (!goes_on).then(|| format!("a state went back from {before:?} to {:?}", (sender, number)))
    }
}

/// An end that a task reads.
enum Input<'p> {
    /// `ordered`: it gets every value, from the first on.
    Queue {
        at: usize,
        ordered: bool,
        end: QueueReader<'p, Value>,
        lost: u64,
    },
    Message {
        at: usize,
        ordered: bool,
        end: MessageReader<'p, Value>,
    },
    State(StateReader<'p, Value>, Newest),
    Alarm {
        at: usize,
        end: AlarmReader<'p, Value>,
    },
    Blocks(Box<dyn Takes + Send + 'p>),
    Device(Device),
}

impl Output<'_> {
    /// Sends all that a job may send.
    fn send(&mut self, job: &mut Job<'_>, (number, draw, seen): (u32, &mut Draw, &mut Seen)) {
        match self {
            Self::Queue { end, sends, next } => {
                for _ in 0..*sends {
                    let urgency = draw.pick(0, 3) as u32;
                    let value = Value { urgency, sender: number, number: *next };
                    // A queue to a reader that is not real-time may be full, and any queue while the machine stalls.
                    if end.send(job, value).is_ok() {
                        *next += 1;
                    }
                }
            }
            Self::Alarm { at, end, next, last } => {
                // The alarm may be over, or its receiver may be taking it.
                if let Some(token) = last.take().filter(|_| draw.chance(20))
                    && end.cancel(job, token) == Cancellation::Prevented
                {
                    seen.prevented[*at] += 1;
                }
                let value = Value { urgency: AT_ONE_INSTANT, sender: number, number: *next };
                *last = set_alarm(end, job, draw, value);
                *next += u64::from(last.is_some());
            }
            Self::Blocks(end) => end.in_job(job, seen),
            Self::State(end, last) => {
                *last += 1;
                let _ = end.publish(job, Value { urgency: 0, sender: number, number: *last });
            }
        }
    }
}

impl Input<'_> {
    /// Takes all that a job may take.
    fn take(&mut self, job: &mut Job<'_>, seen: &mut Seen) {
        match self {
            Self::Queue { at, ordered, end, .. } => {
                while let Some(value) = end.receive(job) {
                    seen.take(*at, &value, *ordered, 0);
                }
            }
            Self::Message { at, ordered, end } => {
                while let Some(delivered) = end.next(job) {
                    seen.take(*at, delivered.value, *ordered, 0);
                }
            }
            Self::State(end, newest) => {
                if let Some(wrong) = newest.follow(end.latest(job)) {
                    seen.wrong.push(wrong);
                }
            }
            Self::Alarm { at, end } => {
                while let Some(due) = end.next(job) {
                    seen.take(*at, due.value, false, 0);
                    if due.value.urgency == AT_ONE_INSTANT && due.due > job.now() {
                        seen.wrong.push(format!("an alarm for {:?} came before", due.due));
                    }
                }
            }
            Self::Blocks(end) => end.in_job(job, seen),
            Self::Device(line) => {
                let mut bytes = [0; 64];
                // What does not fit into this job releases the next one.
                let _ = line.read(job, &mut bytes);
            }
        }
    }
}

/// A task: its ends, and how long a job executes.
struct Works<'p> {
    number: u32,
    inputs: Vec<Input<'p>>,
    outputs: Vec<Output<'p>>,
    most: Duration,
    draw: Draw,
    seen: Seen,
    shared: Shared,
    /// The channel whose values the runtime hands over; `usize::MAX` if there is none.
    handed: usize,
    /// Whether the service restarts after a panic.
    may_panic: bool,
}

/// The urgency of an alarm that has no window.
const AT_ONE_INSTANT: u32 = 0;

fn lane(channel: &ChannelPlan) -> Option<&str> {
    channel.lane.as_ref().map(|lane| lane.message.as_str())
}

impl<'p> Works<'p> {
    fn new(code: Code<'_>, task: usize, create: &mut Create<'_, 'p>) -> Result<Self, Error> {
        let Code { plan, seed, shared, spins } = code;
        let of = &plan.tasks[task];
        let (mut inputs, mut outputs, mut handed) = (Vec::new(), Vec::new(), usize::MAX);
        for (at, channel) in plan.channels.iter().enumerate() {
            if channel.writer.name == of.name {
                outputs.push(match channel.kind {
                    ChannelKind::State => Output::State(create.state_writer(&channel.name)?, 0),
                    ChannelKind::Queue if channel.is_timed() => {
                        let end = create.alarm_setter(lane(channel).unwrap_or_default())?;
                        Output::Alarm { at, end, next: 1, last: None }
                    }
                    ChannelKind::Bulk => Output::Blocks(blocks::sender(plan, at, create)?),
                    ChannelKind::Queue => {
                        let end = create.queue_writer(lane(channel).unwrap_or(&channel.name))?;
                        Output::Queue { end, sends: channel.sends_per_release, next: 1 }
                    }
                });
            }
            let Some(reader) = channel.readers.iter().find(|reader| reader.name == of.name) else { continue };
            match (channel.kind, &channel.lane) {
                // One end reads all sources of a state.
                (ChannelKind::State, _) if channel.source.as_ref().is_some_and(|of| of.place > 0) => {}
                (ChannelKind::State, _) => {
                    let end = create.state_reader(channel.table())?;
                    inputs.push(Input::State(end, Newest::of_plan(plan)));
                }
                (ChannelKind::Bulk, _) => inputs.push(Input::Blocks(blocks::receiver(plan, at, create)?)),
                (_, Some(lane)) if plan.lanes(&lane.message)[0].0 == at && channel.is_timed() => {
                    inputs.push(Input::Alarm { at, end: create.alarm_reader(&lane.message)? });
                }
                (_, Some(lane)) if plan.lanes(&lane.message)[0].0 == at => {
                    let ordered = lane.by.is_none();
                    inputs.push(Input::Message { at, ordered, end: create.message_reader(&lane.message)? });
                }
                (_, Some(_)) => {}
                (_, None) if reader.triggered && sole_trigger(plan, task).is_some() => handed = at,
                (_, None) => {
                    // A reader of a broadcast takes no part in it while its service does not run.
                    let ordered = !channel.broadcast || of.service.is_none();
                    let end = create.queue_reader(&channel.name)?;
                    inputs.push(Input::Queue { at, ordered, end, lost: 0 });
                }
            }
        }
        let mut most = Duration::ZERO;
        if let ClassPlan::RealTime { arrival, wcet, .. } = &of.class {
            most = if spins { Duration::from_ns(wcet.as_ns() / 3) } else { Duration::ZERO };
            if let Some(device) = arrival.device() {
                inputs.push(Input::Device(create.device(device)?));
            }
        }
        let number = u32::try_from(task).unwrap_or(u32::MAX);
        let draw = Draw::new(seed ^ u64::from(number) << 32);
        let (seen, shared) = (Seen::of_plan(plan), shared.clone());
        let service = of.service.as_ref().and_then(|name| plan.services.iter().find(|one| one.name == *name));
        let may_panic = service.is_some_and(|service| service.on_failure.is_some());
        Ok(Self { number, inputs, outputs, most, draw, seen, shared, handed, may_panic })
    }

    /// One job: executes, takes and sends.
    fn work(&mut self, job: &mut Job<'_>, value: Option<Value>) -> Result<(), Failure> {
        let until = std::time::Duration::from_nanos(self.draw.pick(0, self.most.as_ns()));
        // A recorded job records each look at its own clock: its ring would be full of them.
        let begun = std::time::Instant::now();
        while begun.elapsed() < until {
            std::hint::spin_loop();
        }
        let seen = &mut self.seen;
        if let Some(value) = value {
            seen.take(self.handed, &value, true, 0);
        }
        self.inputs.iter_mut().for_each(|input| input.take(job, seen));
        // To the runtime this is a panic; unlike `panic!` it prints no message.
        if self.may_panic && self.draw.chance(1) {
            std::panic::resume_unwind(Box::new(()));
        }
        for output in &mut self.outputs {
            output.send(job, (self.number, &mut self.draw, seen));
        }
        Ok(())
    }

    /// A best-effort task: sends at drawn intervals, or receives all there is. A sender also changes services and modes.
    fn in_background(mut self, context: &mut Context<'_>, control: &Control, names: &Names) {
        while !context.stopping() {
            if self.inputs.is_empty() && self.draw.chance(10) {
                names.change(control, &mut self.draw);
            }
            for input in &mut self.inputs {
                match input {
                    Input::Queue { at, end, lost, .. } => {
                        while let Some(value) = end.receive_within(context, Duration::from_ms(5)) {
                            self.seen.take(*at, &value, true, end.lost() - *lost);
                            *lost = end.lost();
                        }
                    }
                    Input::Blocks(end) => end.in_background(context, &mut self.seen),
                    _ => {}
                }
            }
            for output in &mut self.outputs {
                let value = |number| Value { urgency: 9, sender: self.number, number };
                match output {
                    Output::Queue { end, next, .. } => {
                        *next += u64::from(end.send(context, value(*next)).is_ok());
                    }
                    Output::State(end, last) => {
                        *last += u64::from(end.publish(context, value(*last + 1)).is_ok());
                    }
                    Output::Blocks(end) => end.in_background(context, &mut self.seen),
                    Output::Alarm { .. } => {}
                }
            }
            context.sleep(Duration::from_us(self.draw.pick(50, 2_000)));
        }
    }
}

impl Component for Works<'_> {}

/// The runtime does not call `finish` of a component that has failed, but its values count as well.
impl Drop for Works<'_> {
    fn drop(&mut self) {
        self.seen.show(&self.shared);
    }
}

impl Task for Works<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        self.work(job, None)
    }
}

impl Receiver<Value> for Works<'_> {
    fn receive(&mut self, job: &mut Job<'_>, value: Value) -> Result<(), Failure> {
        self.work(job, Some(value))
    }
}

/// The queue that alone releases a task, and is no lane and no bulk channel: the runtime hands its values over.
fn sole_trigger(plan: &Plan, task: usize) -> Option<usize> {
    let ClassPlan::RealTime { arrival, .. } = &plan.tasks[task].class else { return None };
    let is_queue = |at: &usize| {
        let channel = &plan.channels[*at];
        channel.lane.is_none() && channel.kind == ChannelKind::Queue
    };
    plan.channel(arrival.sole_trigger()?).filter(is_queue)
}

/// What an application can be asked to change.
pub(crate) struct Names {
    services: Vec<String>,
    modes: Vec<String>,
}

impl Names {
    pub(crate) fn of(plan: &Plan) -> Self {
        // With modes, they alone start and stop services.
        let services = plan.services.iter().filter(|_| plan.modes.is_empty());
        Self {
            services: services.map(|service| service.name.clone()).collect(),
            modes: plan.modes.iter().map(|mode| mode.name.clone()).collect(),
        }
    }

    /// Asks for one change; the runtime refuses it while an earlier one is under way.
    pub(crate) fn change(&self, control: &Control, draw: &mut Draw) {
        if let Some(mode) = draw.one(&self.modes) {
            let _ = control.change_mode(mode);
        }
        let Some(service) = draw.one(&self.services) else { return };
        match draw.pick(0, 3) {
            0 => _ = control.pause(service),
            1 => _ = control.resume(service),
            2 => _ = control.stop_service(service),
            _ => _ = control.start_service(service),
        }
    }
}

/// Sets an alarm for a drawn instant, which may be over, or for a window.
fn set_alarm(
    end: &mut AlarmSetter<'_, Value>,
    job: &mut Job<'_>,
    draw: &mut Draw,
    value: Value,
) -> Option<AlarmToken> {
    let at = Instant::from_ns((job.now().as_ns() + draw.pick(0, 20_000_000)).saturating_sub(1_000_000));
    let set = if draw.chance(70) {
        end.set(job, at, value)
    } else {
        let until = at.checked_add(Duration::from_us(draw.pick(1, 3_000)))?;
        end.set_window(job, at, until, Value { urgency: AT_ONE_INSTANT + 1, ..value })
    };
    set.ok()
}

/// The code of all tasks of an application.
#[derive(Clone, Copy)]
pub(crate) struct Code<'c> {
    pub(crate) plan: &'c Plan,
    pub(crate) seed: u64,
    pub(crate) shared: &'c Shared,
    /// Whether jobs execute for a while. In virtual time the bench decides for how long.
    pub(crate) spins: bool,
}

impl Code<'_> {
    /// Gives an application its code; `device` makes what releases a task.
    pub(crate) fn set_up(
        self,
        app: &mut App<'_>,
        mut device: impl FnMut() -> std::io::Result<OwnedFd>,
    ) -> Result<(), Error> {
        let control = app.control();
        for (at, task) in self.plan.tasks.iter().enumerate() {
            if let ClassPlan::RealTime { arrival, .. } = &task.class
                && let Some(name) = arrival.device()
            {
                app.device(name, device().map_err(|error| Error::Application(error.into()))?)?;
            }
            if let Some(service) = &task.service {
                // Services have periodic tasks alone.
                app.service(service, |service| {
                    service.task(&task.name, |create| Works::new(self, at, create))
                })?;
                continue;
            }
            match &task.class {
                ClassPlan::BestEffort {} => app.best_effort(&task.name, |create| {
                    let (works, names) = (Works::new(self, at, create)?, Names::of(self.plan));
                    Ok(move |context: &mut Context<'_>| works.in_background(context, control, &names))
                })?,
                ClassPlan::RealTime { .. } if sole_trigger(self.plan, at).is_some() => {
                    app.receiver::<Value, _>(&task.name, |create| Works::new(self, at, create))?;
                }
                ClassPlan::RealTime { .. } => app.task(&task.name, |create| Works::new(self, at, create))?,
            }
        }
        Ok(())
    }
}

/// A device into which an ordinary thread writes at drawn instants, now and then as fast as it can.
pub(crate) fn line(seed: u64) -> std::io::Result<OwnedFd> {
    let (ours, mut theirs) = UnixStream::pair()?;
    theirs.set_nonblocking(true)?;
    let mut draw = Draw::new(seed ^ 0xdead);
    std::thread::spawn(move || {
        loop {
            let burst = if draw.chance(10) { 1_000 } else { 1 };
            for _ in 0..burst {
                match theirs.write(&[0; 32]) {
                    Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => return,
                    _ => {}
                }
            }
            std::thread::sleep(std::time::Duration::from_micros(draw.pick(200, 8_000)));
        }
    });
    Ok(ours.into())
}
