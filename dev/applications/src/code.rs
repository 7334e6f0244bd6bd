// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the tasks of any drawn application do, as its plan says: a job executes for a part of what it may, takes all that it
//! may take, and sends all that it may send.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use taut_plan::{ChannelKind, ClassPlan, Plan};
use taut_run::{App, Component, Context, Control, Create, Error, Failure, Job, Receiver, Task};
use taut_time::Duration;

use crate::draw::Draw;
use crate::ends::{Ends, Input, Output};
use crate::seen::{Seen, Shared, Value};

/// A task: its ends, and how long a job executes.
struct Works<'p> {
    number: u32,
    ends: Ends<'p>,
    most: Duration,
    draw: Draw,
    seen: Seen,
    shared: Shared,
    /// Whether the service restarts after a panic.
    may_panic: bool,
}

impl<'p> Works<'p> {
    fn new(code: Code<'_>, task: usize, create: &mut Create<'_, 'p>) -> Result<Self, Error> {
        let Code { plan, seed, shared, spins } = code;
        let (of, ends) = (&plan.tasks[task], Ends::new(plan, task, create)?);
        let most = match &of.class {
            ClassPlan::RealTime { wcet, .. } if spins => Duration::from_ns(wcet.as_ns() / 3),
            _ => Duration::ZERO,
        };
        let number = u32::try_from(task).unwrap_or(u32::MAX);
        let draw = Draw::new(seed ^ u64::from(number) << 32);
        let (seen, shared) = (Seen::of_plan(plan), shared.clone());
        let service = of.service.as_ref().and_then(|name| plan.services.iter().find(|one| one.name == *name));
        let may_panic = service.is_some_and(|service| service.on_failure.is_some());
        Ok(Self { number, ends, most, draw, seen, shared, may_panic })
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
            seen.take(self.ends.handed.unwrap_or(usize::MAX), &value, true, 0);
        }
        self.ends.inputs.iter_mut().for_each(|input| input.take(job, seen));
        // To the runtime this is a panic; unlike `panic!` it prints no message.
        if self.may_panic && self.draw.chance(1) {
            std::panic::resume_unwind(Box::new(()));
        }
        for output in &mut self.ends.outputs {
            output.send(job, (self.number, &mut self.draw, seen));
        }
        Ok(())
    }

    /// A best-effort task: sends at drawn intervals, or receives all there is. A sender also changes services and modes.
    fn in_background(mut self, context: &mut Context<'_>, control: &Control, names: &Names) {
        while !context.stopping() {
            if self.ends.inputs.is_empty() && self.draw.chance(10) {
                names.change(control, &mut self.draw);
            }
            for input in &mut self.ends.inputs {
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
            for output in &mut self.ends.outputs {
                let value = |number| Value { urgency: 9, sender: self.number, number };
                match output {
                    Output::Queue { end, next, .. } => {
                        *next += u64::from(end.send(context, value(*next)));
                    }
                    Output::State(end, last) => {
                        *last += u64::from(end.publish(context, value(*last + 1)).is_ok());
                    }
                    Output::Blocks(end) => end.in_background(context, &mut self.seen),
                    Output::Requests(end) => end.in_background(context, &mut self.draw, &mut self.seen),
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
pub(crate) fn sole_trigger(plan: &Plan, task: usize) -> Option<usize> {
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
