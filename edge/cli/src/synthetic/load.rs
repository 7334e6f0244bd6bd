// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the tasks and clients of a synthetic program do: they execute for the time that the manifest states, and move
//! values. This file is the same for every manifest; `main.rs` follows from the manifest.

use std::io::{ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use taut::{
    AlarmReader, AlarmSetter, AttachError, BlockReceiver, BlockSender, Caller, Client, ClientBlockReceiver,
    ClientReader, ClientReceiver, ClientRequests, ClientWriter, Component, Context, Create, Device, Duration, Error, Failure, Instant, Job, Liveness,
    MessageReader, Payload, QueueReader, QueueWriter, Receiver, Remedy, RequestReader, RequestWriter, Resource, StateReader,
    StateWriter, Task,
};

/// How long jobs execute.
#[derive(Clone, Copy, Debug)]
pub enum Execution {
    /// As long as the manifest states.
    Full,
    /// Between half of that and all of it, by a generator with this seed.
    Drawn(u64),
}

/// What this process is.
pub enum Role {
    Application(Execution),
    /// The client of this name.
    Client(String),
}

/// Reads the arguments of the process.
pub fn role() -> Result<Role, String> {
    let usage = "usage: [--execution full|drawn] [--seed N] | --client NAME";
    let (mut is_drawn, mut seed) = (false, 1);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or(usage)?;
        match argument.as_str() {
            "--client" => return Ok(Role::Client(value)),
            "--execution" if value == "full" => is_drawn = false,
            "--execution" if value == "drawn" => is_drawn = true,
            "--seed" => seed = value.parse().map_err(|_| usage)?,
            _ => return Err(usage.to_owned()),
        }
    }
    Ok(Role::Application(if is_drawn { Execution::Drawn(seed) } else { Execution::Full }))
}

/// An end of a channel, whatever its values are.
pub trait End: Send {
    /// Moves the values of one job.
    fn in_job(&mut self, job: &mut Job<'_>);
    /// Moves the values of one activation of a best-effort task.
    fn in_activation(&mut self, context: &mut Context<'_>);
    /// Whether a value wakes a best-effort task that sleeps here.
    fn wakes(&self) -> bool {
        false
    }
    /// Sleeps until a value comes, for at most `patience`, and takes it.
    fn sleep(&mut self, _context: &mut Context<'_>, _patience: Duration) {}
}

/// The most values that a reader that is not real-time takes at once.
const MANY: u32 = 65_536;
/// The largest value that a reader takes by moving it.
const MOVED_MAX: usize = 16 << 10;

struct Receives<'p, P: Payload> {
    end: QueueReader<'p, P>,
    most: u32,
    wakes: bool,
}

fn receive<P: Payload>(end: &mut QueueReader<'_, P>, by: &mut impl Caller, most: u32) {
    for _ in 0..most {
        if end.receive_ref(by).is_none() {
            break;
        }
    }
}

impl<P: Payload> End for Receives<'_, P> {
    fn in_job(&mut self, job: &mut Job<'_>) {
        receive(&mut self.end, job, self.most);
    }

    fn in_activation(&mut self, context: &mut Context<'_>) {
        receive(&mut self.end, context, MANY);
    }

    fn wakes(&self) -> bool {
        self.wakes && size_of::<P>() <= MOVED_MAX
    }

    fn sleep(&mut self, context: &mut Context<'_>, patience: Duration) {
        let _ = self.end.receive_within(context, patience);
    }
}

/// A queue from which a job takes up to `most` values; `wakes`: a value wakes a best-effort task.
pub fn receives<'p, P: Payload + 'p>(
    create: &mut Create<'_, 'p>,
    channel: &str,
    most: u32,
    wakes: bool,
) -> Result<Box<dyn End + 'p>, Error> {
    Ok(Box::new(Receives { end: create.queue_reader::<P>(channel)?, most, wakes }))
}

/// A message from which a job takes as many values as the manifest allows.
pub fn messages<'p, P: Payload + 'p>(
    create: &mut Create<'_, 'p>,
    message: &str,
) -> Result<Box<dyn End + 'p>, Error> {
    Ok(Box::new(Messages { end: create.message_reader::<P>(message)? }))
}

struct Messages<'p, P: Payload> {
    end: MessageReader<'p, P>,
}

impl<P: Payload> End for Messages<'_, P> {
    fn in_job(&mut self, job: &mut Job<'_>) {
        while self.end.next(job).is_some() {}
    }

    // The receiver of a message is a real-time task.
    fn in_activation(&mut self, _context: &mut Context<'_>) {}
}

/// A request of which a job answers as many as the manifest allows.
pub fn answers<'p, Q: Payload + 'p, R: Payload + 'p>(
    create: &mut Create<'_, 'p>,
    request: &str,
) -> Result<Box<dyn End + 'p>, Error> {
    Ok(Box::new(Answers { end: create.request_reader::<Q, R>(request)?, reply: value() }))
}

struct Answers<'p, Q: Payload, R: Payload> {
    end: RequestReader<'p, Q, R>,
    reply: Box<R>,
}

impl<Q: Payload, R: Payload> End for Answers<'_, Q, R> {
    fn in_job(&mut self, job: &mut Job<'_>) {
        while let Some(request) = self.end.next(job) {
            let _ = request.reply_from(job, &self.reply);
        }
    }

    // The receiver of a request is a real-time task.
    fn in_activation(&mut self, _context: &mut Context<'_>) {}
}

/// A request that an activation sends, after it has taken the answers to earlier ones.
pub fn calls<'p, Q: Payload + 'p, R: Payload + 'p>(
    create: &mut Create<'_, 'p>,
    request: &str,
) -> Result<Box<dyn End + 'p>, Error> {
    Ok(Box::new(Calls { end: create.request_writer::<Q, R>(request)?, value: value() }))
}

struct Calls<'p, Q: Payload, R: Payload> {
    end: RequestWriter<'p, Q, R>,
    value: Box<Q>,
}

impl<Q: Payload, R: Payload> End for Calls<'_, Q, R> {
    // A caller is not real-time.
    fn in_job(&mut self, _job: &mut Job<'_>) {}

    fn in_activation(&mut self, context: &mut Context<'_>) {
        while self.end.answer(context).is_some() {}
        let _ = self.end.send(context, *self.value);
    }
}

/// A device that can be read every `gap_ns`: the end of a socket into which a thread writes.
pub fn ready_every(gap_ns: u64) -> Result<OwnedFd, Error> {
    let refused = |error: std::io::Error| Error::Application(Box::new(error));
    let (ours, mut theirs) = UnixStream::pair().map_err(refused)?;
    theirs.set_nonblocking(true).map_err(refused)?;
    let gap = std::time::Duration::from_nanos(gap_ns);
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(gap);
            match theirs.write(&[0]) {
                Err(error) if error.kind() != ErrorKind::WouldBlock => return,
                _ => {}
            }
        }
    });
    Ok(ours.into())
}

/// The device that releases a task, of which a job reads all that is there.
pub fn reads_device<'p>(create: &mut Create<'_, 'p>, device: &str) -> Result<Box<dyn End + 'p>, Error> {
    Ok(Box::new(ReadsDevice(create.device(device)?)))
}

struct ReadsDevice(Device);

impl End for ReadsDevice {
    fn in_job(&mut self, job: &mut Job<'_>) {
        let mut bytes = [0; 64];
        while self.0.read(job, &mut bytes).is_ok_and(|count| count == bytes.len()) {}
    }

    // A device releases a real-time task.
    fn in_activation(&mut self, _context: &mut Context<'_>) {}
}

/// Alarms of which a job takes as many as the manifest allows.
pub fn alarms<'p, P: Payload + 'p>(
    create: &mut Create<'_, 'p>,
    alarm: &str,
) -> Result<Box<dyn End + 'p>, Error> {
    Ok(Box::new(Alarms { end: create.alarm_reader::<P>(alarm)? }))
}

struct Alarms<'p, P: Payload> {
    end: AlarmReader<'p, P>,
}

impl<P: Payload> End for Alarms<'_, P> {
    fn in_job(&mut self, job: &mut Job<'_>) {
        while self.end.next(job).is_some() {}
    }

    // The receiver of alarms is a real-time task.
    fn in_activation(&mut self, _context: &mut Context<'_>) {}
}

/// How much later an alarm is due than it is set.
const ALARM_AFTER: Duration = Duration::from_ms(1);

struct Sets<'p, P: Payload> {
    end: AlarmSetter<'p, P>,
    value: Box<P>,
    most: u32,
}

impl<P: Payload> Sets<'_, P> {
    fn set(&mut self, by: &mut impl Caller, now: Instant) {
        for _ in 0..self.most {
            // The end records a refusal.
            let at = now.checked_add(ALARM_AFTER).unwrap_or(now);
            if self.end.set(by, at, *self.value).is_err() {
                break;
            }
        }
    }
}

impl<P: Payload> End for Sets<'_, P> {
    fn in_job(&mut self, job: &mut Job<'_>) {
        let now = job.now();
        self.set(job, now);
    }

    fn in_activation(&mut self, context: &mut Context<'_>) {
        let now = context.now();
        self.set(context, now);
    }
}

/// Alarms of which a job or an activation sets `most`, each due a millisecond later.
pub fn sets<'p, P: Payload + 'p>(
    create: &mut Create<'_, 'p>,
    alarm: &str,
    most: u32,
) -> Result<Box<dyn End + 'p>, Error> {
    Ok(Box::new(Sets { end: create.alarm_setter::<P>(alarm)?, value: value(), most }))
}

/// A bulk channel of which a job takes as many blocks as the manifest allows.
pub fn blocks<'p, P: Payload + 'p>(
    create: &mut Create<'_, 'p>,
    channel: &str,
) -> Result<Box<dyn End + 'p>, Error> {
    Ok(Box::new(Blocks { end: create.block_receiver::<P>(channel)? }))
}

struct Blocks<'p, P: Payload> {
    end: BlockReceiver<'p, P>,
}

impl<P: Payload> End for Blocks<'_, P> {
    fn in_job(&mut self, job: &mut Job<'_>) {
        while self.end.next(job).is_some() {}
    }

    fn in_activation(&mut self, context: &mut Context<'_>) {
        for _ in 0..MANY {
            if self.end.next(context).is_none() {
                break;
            }
        }
    }
}

struct Fills<'p, P: Payload> {
    end: BlockSender<'p, P>,
    most: u32,
}

impl<P: Payload> Fills<'_, P> {
    fn send(&mut self, by: &mut impl Caller) {
        for _ in 0..self.most {
            // The end records a refusal.
            let Ok(block) = self.end.loan(by) else { break };
            block.send(by);
        }
    }
}

impl<P: Payload> End for Fills<'_, P> {
    fn in_job(&mut self, job: &mut Job<'_>) {
        self.send(job);
    }

    fn in_activation(&mut self, context: &mut Context<'_>) {
        self.send(context);
    }
}

/// A bulk channel to which a job or an activation sends `most` blocks, without changing their bytes.
pub fn fills<'p, P: Payload + 'p>(
    create: &mut Create<'_, 'p>,
    channel: &str,
    most: u32,
) -> Result<Box<dyn End + 'p>, Error> {
    Ok(Box::new(Fills { end: create.block_sender::<P>(channel)?, most }))
}

struct Sends<'p, P: Payload> {
    end: QueueWriter<'p, P>,
    value: Box<P>,
    most: u32,
}

fn send<P: Payload>(end: &mut QueueWriter<'_, P>, by: &mut impl Caller, value: &P, most: u32) {
    for _ in 0..most {
        // The end records the loss.
        if end.send_from(by, value).is_err() {
            break;
        }
    }
}

impl<P: Payload> End for Sends<'_, P> {
    fn in_job(&mut self, job: &mut Job<'_>) {
        send(&mut self.end, job, &self.value, self.most);
    }

    fn in_activation(&mut self, context: &mut Context<'_>) {
        send(&mut self.end, context, &self.value, self.most);
    }
}

/// A queue to which a job or an activation sends `most` values.
pub fn sends<'p, P: Payload + 'p>(
    create: &mut Create<'_, 'p>,
    channel: &str,
    most: u32,
) -> Result<Box<dyn End + 'p>, Error> {
    Ok(Box::new(Sends { end: create.queue_writer::<P>(channel)?, value: value(), most }))
}

struct Reads<'p, P: Payload>(StateReader<'p, P>);

impl<P: Payload> End for Reads<'_, P> {
    fn in_job(&mut self, job: &mut Job<'_>) {
        let _ = self.0.latest_ref(job);
    }

    fn in_activation(&mut self, context: &mut Context<'_>) {
        let _ = self.0.latest_ref(context);
    }
}

/// A state that a job or an activation reads.
pub fn reads<'p, P: Payload + 'p>(
    create: &mut Create<'_, 'p>,
    channel: &str,
) -> Result<Box<dyn End + 'p>, Error> {
    Ok(Box::new(Reads(create.state_reader::<P>(channel)?)))
}

struct Publishes<'p, P: Payload> {
    end: StateWriter<'p, P>,
    value: Box<P>,
}

impl<P: Payload> End for Publishes<'_, P> {
    fn in_job(&mut self, job: &mut Job<'_>) {
        let _ = self.end.publish_from(job, &self.value);
    }

    fn in_activation(&mut self, context: &mut Context<'_>) {
        let _ = self.end.publish_from(context, &self.value);
    }
}

/// A state that a job or an activation publishes.
pub fn publishes<'p, P: Payload + 'p>(
    create: &mut Create<'_, 'p>,
    channel: &str,
) -> Result<Box<dyn End + 'p>, Error> {
    Ok(Box::new(Publishes { end: create.state_writer::<P>(channel)?, value: value() }))
}

/// A value of zeros: its content has no influence on what is measured.
fn value<P: Payload>() -> Box<P> {
    Box::new(<P as taut::zerocopy::FromZeros>::new_zeroed())
}

/// A part of a job.
pub enum Step {
    /// Executes for a time (ns).
    Run(u64),
    /// Takes these steps while it holds a resource.
    Hold(Resource<()>, Vec<Step>),
    /// Takes these steps so many times.
    Times(u32, Vec<Step>),
}

/// Executes for a time (ns).
pub fn run(ns: u64) -> Step {
    Step::Run(ns)
}

/// Holds a resource during these steps.
pub fn hold(resource: &Resource<()>, steps: Vec<Step>) -> Step {
    Step::Hold(resource.clone(), steps)
}

/// Takes these steps so many times.
pub fn times(count: u32, steps: Vec<Step>) -> Step {
    Step::Times(count, steps)
}

/// The code of a real-time task: a job takes values, executes step by step, and sends values.
pub struct Load<'p> {
    inputs: Vec<Box<dyn End + 'p>>,
    steps: Vec<Step>,
    outputs: Vec<Box<dyn End + 'p>>,
    execution_ns: u64,
    random: Option<Random>,
    /// How long the outputs take, as estimated from the jobs so far (ns).
    outputs_ns: u64,
}

/// A job stops executing this much before its execution time is over (ns): for the time that its end takes,
/// and the last look at the time that it has used.
const END_NS: u64 = 3_000;
/// The first estimate of how long one output takes, until a job has measured it (ns).
const OUTPUT_NS: u64 = 5_000;

impl<'p> Load<'p> {
    /// The code of the task at this position in the manifest, whose jobs execute for `execution_ns` in all.
    pub fn new(
        (execution, task): (Execution, u64),
        execution_ns: u64,
        inputs: Vec<Box<dyn End + 'p>>,
        steps: Vec<Step>,
        outputs: Vec<Box<dyn End + 'p>>,
    ) -> Self {
        let random = match execution {
            Execution::Full => None,
            Execution::Drawn(seed) => Some(Random::new(seed, task)),
        };
        let outputs_ns = OUTPUT_NS.saturating_mul(outputs.len() as u64).min(execution_ns / 2);
        Self { inputs, steps, outputs, execution_ns, random, outputs_ns }
    }

    fn execute(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        for input in &mut self.inputs {
            input.in_job(job);
        }
        let part = self.random.as_mut().map_or(WHOLE, Random::part);
        let end_ns = scaled(self.execution_ns, part);
        let end_ns = end_ns - END_NS.min(end_ns / 4);
        let mut progress =
            Progress { part, end_ns: end_ns.saturating_sub(self.outputs_ns), planned_ns: 0, waited_ns: 0 };
        progress.take(&self.steps, job)?;
        progress.finish(job)?;
        let from_ns = used_ns(job);
        for output in &mut self.outputs {
            output.in_job(job);
        }
        let took_ns = used_ns(job).saturating_sub(from_ns);
        self.outputs_ns = took_ns.max(self.outputs_ns - self.outputs_ns / 16);
        progress.end_ns = end_ns;
        progress.finish(job)
    }
}

impl Component for Load<'_> {}

impl Task for Load<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        self.execute(job)
    }
}

impl<P: Payload> Receiver<P> for Load<'_> {
    fn receive(&mut self, job: &mut Job<'_>, _: P) -> Result<(), Failure> {
        self.execute(job)
    }
}

/// How far a job is.
struct Progress {
    /// Which part of each time the job executes, in units of 1 / [`WHOLE`].
    part: u64,
    /// The processor time at which the job stops executing, without the time that it waited (ns).
    end_ns: u64,
    /// The execution of the steps so far (ns).
    planned_ns: u64,
    /// The processor time for which the job spun for resources (ns). The plan counts it beside the execution
    /// time.
    waited_ns: u64,
}

/// How long at most a job takes to lock and unlock a resource that no other job holds (ns). It is a part of
/// the job's execution time.
const LOCK_NS: u64 = 5_000;

/// How long a job executes between two looks at the processor time that it has used (ns).
const LOOK_NS: u64 = 100_000;

impl Progress {
    /// Takes steps outside of all sections.
    fn take(&mut self, steps: &[Step], job: &mut Job<'_>) -> Result<(), Failure> {
        for step in steps {
            match step {
                Step::Run(ns) => {
                    self.planned_ns += scaled(*ns, self.part);
                    self.spin(self.planned_ns.min(self.end_ns), job)?;
                }
                Step::Times(count, steps) => {
                    for _ in 0..*count {
                        self.take(steps, job)?;
                    }
                }
                Step::Hold(resource, steps) => {
                    let asked_ns = used_ns(job);
                    let part = self.part;
                    let held_ns = job.lock(resource, |_, job| inside(steps, part, job))??;
                    let took_ns = used_ns(job).saturating_sub(asked_ns);
                    self.planned_ns += held_ns;
                    self.waited_ns += took_ns.saturating_sub(held_ns + LOCK_NS);
                }
            }
        }
        Ok(())
    }

    /// Executes until the end.
    fn finish(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        self.spin(self.end_ns, job)
    }

    /// Executes until the job has used `until_ns`, without the time that it waited.
    fn spin(&self, until_ns: u64, job: &mut Job<'_>) -> Result<(), Failure> {
        let until_ns = until_ns.saturating_add(self.waited_ns);
        loop {
            let used_ns = used_ns(job);
            if used_ns >= until_ns {
                return Ok(());
            }
            spin_by_clock((until_ns - used_ns).min(LOOK_NS), job);
            job.checkpoint()?;
        }
    }
}

/// Takes steps inside a section; returns how long they execute (ns).
fn inside(steps: &[Step], part: u64, job: &mut Job<'_>) -> Result<u64, Failure> {
    let mut held_ns = 0;
    for step in steps {
        match step {
            Step::Run(ns) => {
                let ns = scaled(*ns, part);
                hold_for(ns, job);
                held_ns += ns;
            }
            Step::Times(count, steps) => {
                for _ in 0..*count {
                    held_ns += inside(steps, part, job)?;
                }
            }
            Step::Hold(resource, steps) => {
                held_ns += job.lock(resource, |_, job| inside(steps, part, job))??;
            }
        }
    }
    Ok(held_ns)
}

/// Executes for a time (ns) inside a section, and not longer. For a short section the clock alone decides,
/// because a look at the processor time would take longer than the section may: then the time for which other
/// jobs preempt this one counts, too.
fn hold_for(ns: u64, job: &mut Job<'_>) {
    /// How long two looks may take (ns).
    const LOOKS_NS: u64 = 2_000;
    if ns < LOOK_NS {
        return spin_by_clock(ns, job);
    }
    let from_ns = used_ns(job);
    loop {
        let left_ns = (ns - LOOKS_NS).saturating_sub(used_ns(job).saturating_sub(from_ns));
        if left_ns == 0 {
            return;
        }
        spin_by_clock(left_ns.min(LOOK_NS), job);
    }
}

fn spin_by_clock(ns: u64, job: &Job<'_>) {
    let from = job.now();
    while job.now().since(from).as_ns() < ns {
        std::hint::spin_loop();
    }
}

fn used_ns(job: &Job<'_>) -> u64 {
    job.used().as_ns()
}

/// How many parts a whole execution time has.
const WHOLE: u64 = 1 << 20;

fn scaled(ns: u64, part: u64) -> u64 {
    // At most `ns`.
    (u128::from(ns) * u128::from(part) / u128::from(WHOLE)) as u64
}

/// The generator splitmix64 [Steele, Lea, Flood 2014].
pub struct Random(u64);

impl Random {
    fn new(seed: u64, task: u64) -> Self {
        let mut random = Self(seed);
        let first = random.next();
        Self(first ^ task.wrapping_mul(0xff51_afd7_ed55_8ccd))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Between half of a whole and a whole.
    fn part(&mut self) -> u64 {
        WHOLE / 2 + (self.next() >> 20) % (WHOLE / 2 + 1)
    }
}

/// The code of a best-effort task: it takes all values that wait, sends its own, and sleeps for `gap_ns`.
/// While it sleeps, it takes at once what comes into the first of its queues that may wake it.
pub fn best_effort<'p>(
    gap_ns: u64,
    mut inputs: Vec<Box<dyn End + 'p>>,
    mut outputs: Vec<Box<dyn End + 'p>>,
) -> impl FnOnce(&mut Context<'_>) + Send + use<'p> {
    move |context: &mut Context<'_>| {
        while !context.stopping() {
            for end in inputs.iter_mut().chain(&mut outputs) {
                end.in_activation(context);
            }
            let from = context.now();
            while let Some(left) = left(from, context.now(), gap_ns).filter(|_| !context.stopping()) {
                match inputs.iter_mut().find(|input| input.wakes()) {
                    Some(input) => input.sleep(context, left),
                    None => {
                        context.sleep(left);
                    }
                }
            }
        }
    }
}

/// What is left of a time that began at `from`; `None` if it is over.
fn left(from: Instant, now: Instant, ns: u64) -> Option<Duration> {
    let left_ns = ns.saturating_sub(now.since(from).as_ns());
    (left_ns > 0).then(|| Duration::from_ns(left_ns))
}

/// An end of a channel in a client.
pub trait ClientEnd {
    /// Moves the values of one round.
    fn in_round(&mut self);
    /// Whether a value wakes a client that sleeps here.
    fn wakes(&self) -> bool {
        false
    }
    /// Sleeps until a value comes, for at most `patience`, and takes it.
    fn sleep(&mut self, _patience: Duration) {}
}

struct ClientReceives<P: Payload>(ClientReceiver<P>, bool);

impl<P: Payload> ClientEnd for ClientReceives<P> {
    fn in_round(&mut self) {
        for _ in 0..MANY {
            if self.0.receive_ref().is_none() {
                break;
            }
        }
    }

    fn wakes(&self) -> bool {
        self.1 && size_of::<P>() <= MOVED_MAX
    }

    fn sleep(&mut self, patience: Duration) {
        let _ = self.0.receive_within(patience);
    }
}

/// A queue of which a client takes all values; `wakes`: a value wakes the client.
pub fn client_receives<P: Payload + 'static>(
    client: &Client,
    channel: &str,
    wakes: bool,
) -> Result<Box<dyn ClientEnd>, AttachError> {
    Ok(Box::new(ClientReceives(client.receiver::<P>(channel)?, wakes)))
}

struct ClientTakesBlocks<P: Payload>(ClientBlockReceiver<P>, bool);

impl<P: Payload> ClientEnd for ClientTakesBlocks<P> {
    fn in_round(&mut self) {
        for _ in 0..MANY {
            if self.0.next().is_none() {
                break;
            }
        }
    }

    fn wakes(&self) -> bool {
        self.1
    }

    fn sleep(&mut self, patience: Duration) {
        let _ = self.0.next_within(patience);
    }
}

/// A bulk channel of which a client takes all blocks; `wakes`: a block wakes the client.
pub fn client_blocks<P: Payload + 'static>(
    client: &Client,
    channel: &str,
    wakes: bool,
) -> Result<Box<dyn ClientEnd>, AttachError> {
    Ok(Box::new(ClientTakesBlocks(client.block_receiver::<P>(channel)?, wakes)))
}

struct ClientReads<P: Payload>(ClientReader<P>);

impl<P: Payload> ClientEnd for ClientReads<P> {
    fn in_round(&mut self) {
        let _ = self.0.latest_ref();
    }
}

/// A state that a client reads.
pub fn client_reads<P: Payload + 'static>(
    client: &Client,
    channel: &str,
) -> Result<Box<dyn ClientEnd>, AttachError> {
    Ok(Box::new(ClientReads(client.reader::<P>(channel)?)))
}

struct ClientWrites<P: Payload> {
    end: ClientWriter<P>,
    value: Box<P>,
    most: u32,
}

impl<P: Payload> ClientEnd for ClientWrites<P> {
    fn in_round(&mut self) {
        for _ in 0..self.most {
            let _ = self.end.publish_from(&self.value);
        }
    }
}

/// A channel to which a client writes `most` values at once.
pub fn client_writes<P: Payload + 'static>(
    client: &Client,
    channel: &str,
    most: u32,
) -> Result<Box<dyn ClientEnd>, AttachError> {
    Ok(Box::new(ClientWrites { end: client.writer::<P>(channel)?, value: value(), most }))
}

struct ClientCalls<Q: Payload, R: Payload> {
    end: ClientRequests<Q, R>,
    value: Box<Q>,
}

impl<Q: Payload, R: Payload> ClientEnd for ClientCalls<Q, R> {
    fn in_round(&mut self) {
        while self.end.answer().is_some() {}
        let _ = self.end.send(*self.value);
    }
}

/// A request that a client sends in each round, after it has taken the answers to earlier ones.
pub fn client_calls<Q: Payload + 'static, R: Payload + 'static>(
    client: &Client,
    request: &str,
) -> Result<Box<dyn ClientEnd>, AttachError> {
    Ok(Box::new(ClientCalls { end: client.requests::<Q, R>(request)?, value: value() }))
}

/// Runs as a client of the application `app` until the application or the standard input of this process ends: every
/// `gap_ns` the client takes all values that wait for it, and sends its own.
pub fn client(
    app: &str,
    name: &str,
    gap_ns: u64,
    ends: impl FnOnce(&Client) -> Result<Vec<Box<dyn ClientEnd>>, AttachError>,
) -> ExitCode {
    // `taut run` holds the other end, so this process ends also if `taut run` is killed.
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    let attached = attach(app, name).and_then(|client| ends(&client).map(|ends| (client, ends)));
    let (client, mut ends) = match attached {
        Ok(attached) => attached,
        Err(error) => {
            taut::errln!("client `{name}`: {error}");
            return ExitCode::FAILURE;
        }
    };
    while client.liveness() == Liveness::Running {
        for end in &mut ends {
            end.in_round();
        }
        let (from, gap) = (std::time::Instant::now(), std::time::Duration::from_nanos(gap_ns));
        while let Some(left) = gap.checked_sub(from.elapsed()).filter(|left| !left.is_zero()) {
            if client.liveness() != Liveness::Running {
                break;
            }
            match ends.iter_mut().find(|end| end.wakes()) {
                Some(end) => end.sleep(Duration::from_ns(left.as_nanos() as u64)),
                None => std::thread::sleep(left.min(std::time::Duration::from_millis(100))),
            }
        }
    }
    ExitCode::SUCCESS
}

/// Attaches to the application as soon as it runs.
fn attach(app: &str, name: &str) -> Result<Client, AttachError> {
    loop {
        match Client::attach(app, name) {
            Err(error) if error.remedy() != Remedy::Change => {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            attached => return attached,
        }
    }
}
