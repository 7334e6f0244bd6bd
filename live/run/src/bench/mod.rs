// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! An application in virtual time: the same components, on one thread, without privilege and without waiting.
//!
//! A [`Bench`] makes the application by the set-up that the program uses, under the plan that a run would
//! use, in memory of this process alone. The jobs of all cores run one after the other, in the order that the
//! plan's rules decide. Nothing waits, so a bench runs thousands of seconds in one, and the seed determines a
//! run: two runs have the same recording, byte by byte.
//!
//! A bench is a third driver of jobs, beside threads and dispatchers: `schedule` decides when a job ends, and
//! `body` runs its code there.

mod core;
pub(crate) mod environment;
mod execution;
mod parties;
mod schedule;
mod task;
mod values;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use taut_boot::{LoadError, LoadedPlan};
use taut_event::file::Head;
use taut_event::{Ending, Event, Kind, Record};
use taut_plan::{ChannelKind, Plan};
use taut_policy::Misuse;
use taut_time::{Duration, Instant};
use taut_trace::{RecordingWriter, RingOwner, ring};

use self::core::Core;
use self::environment::{Environment, Parts};
use self::execution::Random;
use self::task::BenchTask;
use self::values::BenchValues;
use crate::app::{App, Code, TaskCode};
use crate::bench_ends::BenchChannels;
use crate::clock::{BenchClock, RunClock};
use crate::dispatch::Dispatch;
use crate::job::EventRecorder;
use crate::lifecycle::JobContext;
use crate::names::{no_such, position};
use crate::payload::Stamped;
use crate::safe_state::Hook;
use crate::tap::ChannelTap;
use crate::{Control, Error, Payload, Reason};

pub use self::execution::ExecutionTime;
pub use self::parties::{PlayedParties, PlayedParty};
pub use crate::bench_ends::PartyCaller;

/// Release 0 on the clock of a bench (ns). It is not 0, because an instant of 0 counts as none.
const ORIGIN_NS: u64 = 1_000_000_000;
/// The records that a ring holds. The bench empties the rings after each step of a task.
const RING_RECORDS: usize = 8_192;

/// A rule refused an event: an error of the bench itself.
fn refused(misuse: Misuse) -> Error {
    Error::Bench(format!("the scheduling rule refused an event: {misuse}"))
}

/// A value that a task or a party sent: see [`Bench::sent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent<P> {
    /// When, since release 0.
    pub at: Duration,
    /// Its number; the sender counts from 1.
    pub number: u64,
    /// The value.
    pub value: P,
}

/// What a party does at an instant; returns whether it acts again.
type Act = Box<dyn FnMut(&mut PlayedParties) -> Result<bool, Error>>;

struct Script {
    at_ns: u64,
    period_ns: Option<u64>,
    act: Act,
}

/// An application in virtual time: the same components, on one thread, without privilege and without waiting.
///
/// **When code runs.** A job executes for a virtual time, drawn or given ([`ExecutionTime`]), and may be
/// preempted meanwhile. Its code runs all at once, at the instant at which the job ends: it reads what waits
/// in its channels at that instant, and its values are sent then. Only the state of its service is the one of
/// the instant at which the job began. So a value is never there before a real job could have sent it, and
/// the latencies of chains include all execution.
///
/// **Servers** have their budgets in virtual time: a real-time task in one runs as its budget lets it.
///
/// **What a bench does not show.** Sections of resources take no time, so no job is blocked; a best-effort task or client does
/// nothing but what the test does in its place ([`Bench::task`], [`Bench::client`]), and uses no budget. A bench
/// shows what the code
/// does, and the plan's bounds what the machine may add.
pub struct Bench {
    // What borrows from the environment is dropped before it.
    tasks: Vec<BenchTask>,
    parties: PlayedParties,
    rest: Option<Hook<'static>>,
    control: &'static Control,
    environment: Environment,
    cores: Vec<Core>,
    scripts: Vec<Script>,
    clock: Arc<BenchClock>,
    seed: u64,
    log: Vec<Record>,
    /// What is recorded of values, if something is.
    values: Option<BenchValues>,
    /// What the last decision of a core changed for its servers.
    turns: Vec<Event>,
    error_facts: String,
    has_ended: bool,
}

impl fmt::Debug for Bench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bench").field("seed", &self.seed).field("now", &self.now()).finish_non_exhaustive()
    }
}

/// Making a bench.
impl Bench {
    /// Makes the application whose plan is `lock`, by the set-up that the program uses. Runs `start` of all components.
    ///
    /// # Errors
    /// [`Error`] if the plan cannot be booted, or if the set-up fails or does not fit it; [`Error::Bench`] if
    /// there is no plan.
    pub fn new(
        lock: impl AsRef<Path>,
        setup: impl for<'p> FnOnce(&mut App<'p>) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let lock = lock.as_ref();
        let missing = |error: LoadError| match error {
            LoadError::Read(_, error) if error.kind() == std::io::ErrorKind::NotFound => Error::Bench(
                format!("there is no {}: `taut plan` makes it from the manifest", lock.display()),
            ),
            error => Error::Load(error),
        };
        Self::with_plan(LoadedPlan::from_file(lock).map_err(missing)?, setup)
    }

    /// As [`Bench::new`], with a plan that was loaded or made.
    ///
    /// # Errors
    /// As [`Bench::new`].
    pub fn with_plan(
        loaded: LoadedPlan,
        setup: impl for<'p> FnOnce(&mut App<'p>) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let clock = Arc::new(BenchClock::default());
        clock.set(ORIGIN_NS);
        let environment = Environment::new(loaded, Arc::clone(&clock))?;
        // SAFETY:
        // - all that is made from the parts is in fields of `Self` before `environment`, which are dropped before it,
        //   or dropped in this call, before `environment` is
        // - `setup` gets them with a lifetime of which it knows nothing, and so does what a test gives to `send_blocks` and
        //   `receive_blocks`; no other method of `Self` gives them out
        let parts = unsafe { environment.parts() };
        let Parts { loaded, maps, control, event_counts, service_scopes, task_scopes } = parts;
        let plan = &loaded.plan;
        let dispatch = Dispatch::in_bench(plan)?;
        let mut app = App::new(plan, maps, control, service_scopes, task_scopes, event_counts, dispatch);
        app.bench = Some(BenchChannels::new(plan.channels.len()));
        setup(&mut app)?;
        app.check_complete()?;
        let (error_facts, rest) = (app.error_facts(), app.rest.take());
        let set_up = Arc::clone(&app.set_up);
        let task_codes = app.take_task_codes()?;
        let (tasks, cores) = real_time(plan, control, &clock, task_codes)?;
        let (recorder, drain) = ring(RingOwner::Task(u16::MAX), RING_RECORDS);
        let cpu = plan.housekeeping.first().copied().map_or(u8::MAX, cpu_number);
        let recorder = EventRecorder::with_clock(recorder, u16::MAX, RunClock::Bench(clock.clone(), cpu));
        let parties = PlayedParties::new(app, recorder, drain)?;
        let begin = Record {
            at: Instant::from_ns(ORIGIN_NS),
            kind: Kind::Begin,
            cpu: 0,
            subject: 0,
            job: 0,
            value: 0,
        };
        let mut bench = Self {
            tasks,
            parties,
            rest,
            control,
            environment,
            cores,
            scripts: Vec::new(),
            clock,
            seed: 0,
            log: vec![begin],
            values: None,
            turns: Vec::new(),
            error_facts,
            has_ended: false,
        };
        bench.tasks.iter_mut().for_each(|task| set_up.count(task.in_plan, || task.body.start()));
        set_up.check(plan).map_err(Error::SetUp)?;
        Ok(bench.seed(0))
    }

    /// Sets the seed of all draws; 0 if nothing sets it. Each task draws for itself, so that a change of one task
    /// changes no other's execution times.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        for task in &mut self.tasks {
            task.random = Random::of_task(seed, task.in_plan);
        }
        self
    }

    /// Sets how long the jobs of a task execute, from the next one that begins. If nothing sets it, each takes the plan's
    /// WCET.
    ///
    /// # Errors
    /// If the manifest has no such real-time task.
    pub fn execution(&mut self, task: &str, time: ExecutionTime) -> Result<(), Error> {
        self.find(task)?.execution = time;
        Ok(())
    }
}

/// Faults.
impl Bench {
    /// One job executes for this time in place of the one that was drawn for it. Changes nothing if the job
    /// has begun.
    ///
    /// # Errors
    /// If the manifest has no such real-time task.
    pub fn takes(&mut self, task: &str, job: u64, time: Duration) -> Result<(), Error> {
        self.find(task)?.takes.insert(job, time);
        Ok(())
    }

    /// The core learns of one job's release later by this much, as if a timer were late. Changes nothing if
    /// the job is released.
    ///
    /// # Errors
    /// If the manifest has no such real-time task.
    pub fn late(&mut self, task: &str, job: u64, by: Duration) -> Result<(), Error> {
        let task = self.find(task)?;
        task.late.insert(job, by);
        if task.number == job {
            task.set_due();
        }
        Ok(())
    }

    /// The channel loses the value of this number, counted from 1: its sender does not learn of it, and no reader gets
    /// it. The newest value of a state stays what it was.
    ///
    /// # Errors
    /// If the manifest has no such channel, or nobody has an end to write it yet: a test's party has one from its first
    /// send on. [`Error::Bench`] if it is a bulk channel.
    pub fn lose(&mut self, channel: &str, number: u64) -> Result<(), Error> {
        let plan = self.parties.app.plan;
        if plan.channel(channel).is_some_and(|at| plan.channels[at].kind == ChannelKind::Bulk) {
            let what = "whose blocks are never lost: under `recall` its sender takes some back";
            return Err(Error::Bench(format!("`{channel}` is a bulk channel, {what}")));
        }
        self.tap(channel)?.lose(number);
        Ok(())
    }
}

/// Running.
impl Bench {
    /// Runs for a time, up to and without its last instant. Ends early if the application stops: see
    /// [`Bench::stopped`].
    ///
    /// # Errors
    /// Those of the actions of [`Bench::at`] and [`Bench::every`]; [`Error::Bench`] if a scheduling rule
    /// refuses an event, which is an error of the bench.
    pub fn run_for(&mut self, time: Duration) -> Result<(), Error> {
        self.advance(self.clock.now_ns().saturating_add(time.as_ns()))
    }

    /// Runs up to an instant, given as the time since release 0, and without that instant. An instant in the past
    /// changes nothing.
    ///
    /// # Errors
    /// As [`Bench::run_for`].
    pub fn run_until(&mut self, instant: Duration) -> Result<(), Error> {
        self.advance(ORIGIN_NS.saturating_add(instant.as_ns()))
    }

    /// Lets parties act at an instant, given as the time since release 0: after the jobs that end then, and
    /// before the releases. An instant in the past means the present one.
    pub fn at(
        &mut self,
        instant: Duration,
        mut act: impl FnMut(&mut PlayedParties) -> Result<(), Error> + 'static,
    ) {
        let at_ns = ORIGIN_NS.saturating_add(instant.as_ns()).max(self.clock.now_ns());
        let act = Box::new(move |parties: &mut PlayedParties| act(parties).map(|()| false));
        self.scripts.push(Script { at_ns, period_ns: None, act });
    }

    /// Lets parties act at the present instant, and then once in every `period`, as in [`Bench::at`], for as
    /// long as `act` returns true: a client that dies returns false.
    ///
    /// # Errors
    /// [`Error::Bench`] if the period is 0.
    pub fn every(
        &mut self,
        period: Duration,
        act: impl FnMut(&mut PlayedParties) -> Result<bool, Error> + 'static,
    ) -> Result<(), Error> {
        if period.is_zero() {
            return Err(Error::Bench("a party cannot act every 0 ns".to_owned()));
        }
        let (at_ns, period_ns) = (self.clock.now_ns(), Some(period.as_ns()));
        self.scripts.push(Script { at_ns, period_ns, act: Box::new(act) });
        Ok(())
    }

    /// A client of the manifest, which acts at once: before anything else happens at the present instant.
    pub fn client(&mut self, name: &str) -> PlayedParty<'_> {
        self.parties.client(name)
    }

    /// A best-effort task of the manifest, which acts at once, as [`Bench::client`].
    pub fn task(&mut self, name: &str) -> PlayedParty<'_> {
        self.parties.task(name)
    }

    /// Steers the services.
    pub fn control(&self) -> &Control {
        self.control
    }

    /// Ends the application in order: runs `stop` of the components, the safe state, and `finish`. Nothing runs after
    /// that. A second call does nothing.
    ///
    /// # Errors
    /// The first error of a `finish`, or that a component had panicked.
    pub fn end(&mut self) -> Result<(), Error> {
        if std::mem::replace(&mut self.has_ended, true) {
            return Ok(());
        }
        self.control.stop();
        for task in &mut self.tasks {
            if !task.is_over && task.context.is_to_be_stopped() {
                task.body.stop();
            }
        }
        if let Some(rest) = &mut self.rest {
            (rest.0)();
        }
        let mut first = Ok(());
        for task in &mut self.tasks {
            let finished = if task.context.has_failed() {
                Err(Error::Application(Error::panicked()))
            } else {
                task.body.finish().map_err(Error::Application)
            };
            first = first.and(finished);
        }
        first
    }
}

/// What a run has shown.
impl Bench {
    /// The time since release 0.
    pub fn now(&self) -> Duration {
        Self::since_release_0(self.clock.now_ns())
    }

    /// Why the application has stopped; `None` while it runs.
    pub fn stopped(&self) -> Option<Reason> {
        self.control.reason()
    }

    /// Keeps the values of a channel from now on, for [`Bench::sent`].
    ///
    /// # Errors
    /// As [`Bench::lose`].
    pub fn watch(&mut self, channel: &str) -> Result<(), Error> {
        self.tap(channel)?.watch();
        Ok(())
    }

    /// The values that were sent to a channel since [`Bench::watch`], oldest first, also those that were lost. Each is moved
    /// over the stack: of a block of a mebibyte, the thread of a test needs a larger one.
    ///
    /// # Errors
    /// As [`Bench::lose`], and if the channel carries other values.
    pub fn sent<P: Payload>(&self, channel: &str) -> Result<Vec<Sent<P>>, Error> {
        let plan = self.parties.app.plan;
        let at = plan.channel(channel).ok_or_else(|| no_such("channel", channel))?;
        if plan.channels[at].layout != P::layout() {
            return Err(parties::other_values::<P>(plan, at));
        }
        let mut sent = Vec::new();
        self.tap(channel)?.values(|Stamped { sent_ns, sequence, value }| {
            sent.push(Sent { at: Self::since_release_0(sent_ns), number: sequence, value });
        });
        Ok(sent)
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        self.parties.app.plan
    }

    /// The events so far, in the order in which they happened.
    pub fn records(&self) -> &[Record] {
        &self.log
    }

    /// The recording of the run so far, as the application would have written it: for a file that `taut report` reads.
    ///
    /// # Errors
    /// [`Error::Application`] if the texts of the recording exceed 4 GiB.
    pub fn recording(&self) -> Result<Vec<u8>, Error> {
        // SAFETY:
        // - the parts are dropped in this call
        let parts = unsafe { self.environment.parts() };
        let machine = format!("virtual-time = seed {}\n{}", self.seed, self.error_facts);
        let head = Head { plan: &parts.loaded.text, machine: &machine, id: self.seed, limit: None };
        let mut writer = RecordingWriter::new(Vec::new(), &head, Vec::new())?;
        self.log.iter().for_each(|record| writer.append(*record));
        let ending = self.stopped().map_or(Ending::Done, Reason::ending);
        ending
            .to_record(Instant::from_ns(self.clock.now_ns()))
            .into_iter()
            .for_each(|end| writer.append(end));
        Ok(writer.finish()?.0)
    }

    /// Forgets the events so far: for a long run of which the test records nothing, or only the end.
    pub fn forget_records(&mut self) {
        self.log.truncate(1);
    }

    fn find(&mut self, task: &str) -> Result<&mut BenchTask, Error> {
        let in_plan = self.parties.app.plan.task(task);
        let found = self.tasks.iter_mut().find(|of| Some(of.in_plan) == in_plan);
        found.ok_or_else(|| no_such("real-time task", task))
    }

    fn tap(&self, channel: &str) -> Result<&ChannelTap, Error> {
        let at = self.parties.app.plan.channel(channel).ok_or_else(|| no_such("channel", channel))?;
        if self.parties.app.plan.channels[at].is_timed() {
            return Err(Error::Bench(format!(
                "`{channel}` carries alarms, of which a bench keeps and loses none"
            )));
        }
        let tap = self.parties.app.bench.as_ref().and_then(|bench| bench.tap_of(at));
        tap.ok_or_else(|| Error::Bench(format!("no party has sent anything to channel `{channel}` yet")))
    }
}

fn cpu_number(cpu: u16) -> u8 {
    u8::try_from(cpu).unwrap_or(u8::MAX)
}

/// The real-time tasks with their cores. The code of best-effort tasks is dropped.
fn real_time(
    plan: &'static Plan,
    control: &'static Control,
    clock: &Arc<BenchClock>,
    mut task_codes: Vec<TaskCode<'static>>,
) -> Result<(Vec<BenchTask>, Vec<Core>), Error> {
    task_codes.sort_by_key(|code| code.task);
    let mut on_core = vec![Vec::new(); plan.cores.len()];
    let core_of = |cpu: u16| plan.cores.iter().position(|core| core.cpu == cpu);
    let mut tasks = Vec::new();
    for TaskCode { task, code } in task_codes {
        let Code::RealTime { body, scope, placement, timing, flows, broadcasts, unanswered, .. } = code
        else {
            continue;
        };
        let Some(core) = core_of(placement.cpu) else { continue };
        let (recorder, drain) = ring(RingOwner::Task(position(task)), RING_RECORDS);
        let of_task = RunClock::Bench(Arc::clone(clock), cpu_number(placement.cpu));
        let recorder = EventRecorder::with_clock(recorder, position(task), of_task);
        let context = JobContext::new(scope, recorder, control, timing, flows)
            .with_broadcasts(broadcasts)
            .with_unanswered(unanswered);
        let local = on_core[core].len();
        on_core[core].push(task);
        tasks.extend(BenchTask::new(plan, task, (core, local), body, context, drain));
    }
    let mut cores = Vec::new();
    for (core, in_plan) in plan.cores.iter().zip(&on_core) {
        cores.push(Core::new(plan, core, in_plan)?);
    }
    for (at, task) in tasks.iter().enumerate() {
        cores[task.core].tasks.push(at);
    }
    Ok((tasks, cores))
}
