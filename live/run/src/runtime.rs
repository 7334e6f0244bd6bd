// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The threads of an application, from their start to their end.

use std::path::Path;
use std::sync::Arc;

use taut_boot::{Guarantee, Guarantees, Maps};
use taut_event::file::Head;
use taut_event::values::VALUES_FILE;
use taut_event::{Ending, Kind};
use taut_exec::{Exec, Wanted};
use taut_plan::Plan;
use taut_segment::ServiceState;
use taut_sys::crash::LeftToGuardian;
use taut_sys::safe_state::{self, ThreadEnd};
use taut_sys::{clock, interrupt, process, thread};
use taut_time::{Duration, Instant};
use taut_trace::{Drain, RecordingSink, RecordingWriter, RingOwner, ValueDrain, ring};

use crate::Error;
use crate::app::{Code, TaskCode};
use crate::control::{Control, Reason, State};
use crate::device::Device;
use crate::device_thread::DeviceThread;
use crate::dispatch::Dispatch;
use crate::dispatched::{DispatchedTask, Donor};
use crate::job::EventRecorder;
use crate::lifecycle::JobContext;
use crate::names::position;
use crate::outside::Lookout;
use crate::recording::Recording;
use crate::safe_state::{Said, record};
use crate::set_up::SetUpHeap;
use crate::supervisor::{Config, RunObserver, create, facts};
use crate::threads::{BestEffortTask, NativeTask, NativeThread, Probe, Spawner, ThreadHandles};
use crate::values::{TaskValues, ValuesFile, ValuesWriter};

/// Records that a ring holds: 64 KiB, as the planner counts it.
const RING_RECORDS: usize = 2_048;
/// The time from opening the start barrier to release 0. Within it every thread must reach its first sleep.
const LEAD_NS: u64 = 10_000_000;
/// How long threads may take to get ready, `start` included.
const GATHER_NS: u64 = 30_000_000_000;
/// How long the main thread waits at most before it empties the rings again.
const ROUND_NS: u64 = 20_000_000;
/// How long best-effort tasks may take to return.
const PATIENCE_NS: u64 = 2_000_000_000;
/// How long `finish` of all components, and the rest of the recording, may take.
const FINISH_NS: u64 = 10_000_000_000;
/// The exit code of an application whose best-effort task does not return.
const EXIT_STUCK: i32 = 4;
/// How often the main thread hands the recording to the system. A killed application loses the records of
/// about that time at most.
const FLUSH_NS: u64 = 100_000_000;

/// An application and everything it runs on, before its threads exist.
pub(crate) struct Runtime<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) guarantees: &'p Guarantees,
    pub(crate) control: &'p Control,
    pub(crate) maps: &'p Maps,
    /// The path of the recording; empty if there is none.
    pub(crate) recording: &'p Path,
    /// The names of the application's errors, as facts of the recording.
    pub(crate) error_facts: String,
    /// What the components take from the heap before release 0.
    pub(crate) set_up: Arc<SetUpHeap>,
}

/// The tasks of an application, by how they run, and the probes and device threads of its cores.
struct Tasks<'p> {
    native: Vec<NativeTask<'p>>,
    dispatched: Vec<DispatchedTask<'p>>,
    best_effort: Vec<BestEffortTask<'p>>,
    probes: Vec<Probe>,
    watching: Vec<DeviceThread<'p>>,
}

/// The ends of rings that the main thread empties.
struct Drains {
    events: Vec<Drain>,
    /// By task.
    values: Vec<(u16, ValueDrain)>,
}

impl<'p> Runtime<'p> {
    /// Starts all threads, watches them, and stops them. Returns whether all ended in order.
    ///
    /// The calling thread is best-effort, and empties the rings.
    pub(crate) fn run<W: RecordingSink>(
        &self,
        task_codes: Vec<TaskCode<'p>>,
        mut dispatch: Dispatch,
        config: &Config,
        observer: &mut dyn RunObserver,
        sink: W,
        lock: &str,
    ) -> Result<bool, Error> {
        let (tasks, mut drains) = self.tasks(task_codes, &dispatch);
        drains.events.extend(dispatch.take_drains());
        let mut recording = self.begin_recording(sink, lock, config, drains)?;
        let Tasks { native, mut dispatched, best_effort, probes, watching } = tasks;
        start_dispatched(&mut dispatched, &self.set_up, &mut recording);
        let handles = ThreadHandles::new(
            native.iter().map(|native| native.task),
            probes.iter().map(|probe| probe.core),
            watching.iter().map(|thread| thread.task),
            best_effort.iter().map(|best_effort| best_effort.task),
        );
        let executed = self.executed(&dispatched, &best_effort);
        let placements: Vec<(u16, u8)> =
            native.iter().map(|native| (native.placement.cpu, native.placement.priority)).collect();
        // Lives until the recording is finished.
        let mut left = None;
        let orderly = std::thread::scope(|threads| {
            let _over = handles.keep_donees();
            let (plan, guarantees, control, set_up) =
                (self.plan, self.guarantees, self.control, &*self.set_up);
            let spawner = Spawner { threads, plan, guarantees, control, set_up, handles: &handles };
            let mut main = MainThread {
                spawner,
                maps: self.maps,
                config,
                observer,
                recording: &mut recording,
                executed: &executed,
                placements: &placements,
                left: &mut left,
            };
            let native = main.spawn(native, probes, watching)?;
            let ran = match main.run_jobs(dispatch, &mut dispatched, best_effort) {
                Ok(ran) => ran,
                Err(error) => return Err(main.call_off(native, error)),
            };
            let orderly = main.shut_down(native, &mut dispatched);
            ran.map(|()| orderly)
        })?;
        recording.finish().map_err(|error| Error::Unwritten(self.recording.to_owned(), error))?;
        Ok(orderly)
    }

    /// Sorts the tasks by how they run. Returns them, and the drains of their rings and of the probes' rings.
    fn tasks(&self, task_codes: Vec<TaskCode<'p>>, dispatch: &Dispatch) -> (Tasks<'p>, Drains) {
        let (mut drains, mut of_values) = (Vec::new(), Vec::new());
        let mut event_recorder = |subject| {
            let (recorder, drain) = ring(RingOwner::Task(subject), RING_RECORDS);
            drains.push(drain);
            EventRecorder::new(recorder, subject)
        };
        let mut values = |task| {
            // What is recorded nowhere needs no ring.
            let is_recorded = !self.recording.as_os_str().is_empty();
            let (values, drain) =
                if is_recorded { TaskValues::of_task(self.plan, task) } else { Default::default() };
            of_values.extend(drain.map(|drain| (position(task), drain)));
            values
        };
        let (mut native, mut dispatched, mut best_effort) = (Vec::new(), Vec::new(), Vec::new());
        let mut watching = Vec::new();
        for TaskCode { task, code } in task_codes {
            let event_recorder = event_recorder(position(task)).with_values(values(task));
            match code {
                Code::BestEffort(run) => best_effort.push(BestEffortTask { task, run, event_recorder }),
                Code::RealTime {
                    body,
                    scope,
                    placement,
                    timing,
                    flows,
                    listeners,
                    broadcasts,
                    unanswered,
                    device,
                } => {
                    self.watch(&mut watching, (task, placement.cpu), device);
                    let context = JobContext::new(scope, event_recorder, self.control, timing, flows)
                        .with_broadcasts(broadcasts)
                        .with_unanswered(unanswered);
                    if dispatch.has(self.plan, task) {
                        dispatched.push(DispatchedTask::new(task, body, context, listeners));
                    } else {
                        native.push(NativeTask { task, body, context, placement });
                    }
                }
            }
        }
        let cores = if self.guarantees.keeps(Guarantee::Priorities) { self.plan.cores.len() } else { 0 };
        let probe = |core| Probe { core, event_recorder: event_recorder(position(core)) };
        let probes = (0..cores).map(probe).collect();
        (
            Tasks { native, dispatched, best_effort, probes, watching },
            Drains { events: drains, values: of_values },
        )
    }

    /// Lets the device thread of a CPU watch the device of a task, if there is one.
    fn watch(&self, threads: &mut Vec<DeviceThread<'p>>, (task, cpu): (usize, u16), device: Option<Device>) {
        let shared = self.control.watched_device(position(task));
        let Some((device, shared)) = device.zip(shared) else { return };
        let core = self.plan.cores.iter().position(|core| core.cpu == cpu).unwrap_or(0);
        let at = threads.iter().position(|thread| thread.core == core).unwrap_or_else(|| {
            threads.push(DeviceThread::new(core, task));
            threads.len() - 1
        });
        threads[at].add(device, shared);
    }

    /// Begins the recording.
    fn begin_recording<W: RecordingSink>(
        &self,
        sink: W,
        lock: &str,
        config: &Config,
        drains: Drains,
    ) -> Result<Recording<'p, W>, Error> {
        let facts = facts(self.guarantees) + &self.error_facts;
        // No two recordings on a machine begin at the same instant.
        let (id, limit) = (clock::monotonic_ns(), config.record_limit);
        let head = Head { plan: lock, machine: &facts, id, limit };
        let writer = RecordingWriter::new(sink, &head, drains.events)
            .map_err(|error| Error::Output(self.recording.to_owned(), error))?;
        let values = self.begin_values((id, lock), limit, drains.values)?;
        Ok(Recording::new(self.plan, self.control, writer, values))
    }

    /// Begins the file of values, beside the recording, if a channel is recorded.
    fn begin_values(
        &self,
        run: (u64, &str),
        limit: Option<u64>,
        drains: Vec<(u16, ValueDrain)>,
    ) -> Result<Option<ValuesFile>, Error> {
        if drains.is_empty() {
            return Ok(None);
        }
        let path = self.recording.with_file_name(VALUES_FILE);
        let written = create(&path).and_then(|file| ValuesWriter::new(file, self.plan, run, limit, false));
        let writer = written.map_err(|error| Error::Output(path, error))?;
        Ok(Some(ValuesFile::new(drains, writer)))
    }

    /// The tasks of the executor, in its order: the dispatched ones, and those whose threads receive donations.
    fn executed(&self, dispatched: &[DispatchedTask<'p>], best_effort: &[BestEffortTask<'p>]) -> Vec<usize> {
        let served = |task: &usize| self.plan.server_of(&self.plan.tasks[*task].name).is_some();
        let donees = best_effort.iter().map(|best_effort| best_effort.task).filter(served);
        dispatched.iter().map(|dispatched| dispatched.task).chain(donees).collect()
    }
}

/// Starts the dispatched tasks, on this thread. If a `start` ends the application, the guardian writes that to the
/// recording.
fn start_dispatched<W: RecordingSink>(
    dispatched: &mut [DispatchedTask<'_>],
    set_up: &SetUpHeap,
    recording: &mut Recording<'_, W>,
) {
    recording.leave_to_guardian();
    for task in dispatched {
        set_up.count(task.task, || task.start());
        process::end_if_forked();
    }
    recording.take_back();
}

/// The main thread, while the application has threads.
struct MainThread<'r, 'scope, 'env, 'p, W: RecordingSink> {
    spawner: Spawner<'scope, 'env, 'p>,
    maps: &'p Maps,
    config: &'r Config,
    observer: &'r mut dyn RunObserver,
    recording: &'r mut Recording<'p, W>,
    /// The tasks of the executor, in its order.
    executed: &'r [usize],
    /// The CPUs and priorities of native tasks.
    placements: &'r [(u16, u8)],
    /// Leaves this thread's signals to the guardian, once this thread has started its last thread.
    left: &'r mut Option<LeftToGuardian>,
}

/// Start.
impl<'scope, 'p: 'scope, W: RecordingSink> MainThread<'_, 'scope, '_, 'p, W> {
    /// Starts the real-time threads, and waits until all are ready.
    fn spawn(
        &mut self,
        native: Vec<NativeTask<'p>>,
        probes: Vec<Probe>,
        watching: Vec<DeviceThread<'p>>,
    ) -> Result<Vec<NativeThread<'scope, 'p>>, Error> {
        let mut threads = Vec::new();
        let spawned = self.spawner.spawn_real_time(native, probes, watching).map(|spawned| threads = spawned);
        match spawned.and_then(|()| self.all_ready()) {
            Ok(()) => Ok(threads),
            Err(error) => Err(self.call_off(threads, error)),
        }
    }

    /// Waits until all real-time threads are placed and have arrived at the start barrier. Then all components have started,
    /// and this checks what they took from the heap.
    fn all_ready(&mut self) -> Result<(), Error> {
        let Spawner { handles, control, set_up, plan, .. } = self.spawner;
        let expected = u32::try_from(handles.real_time().count()).unwrap_or(u32::MAX);
        let give_up_ns = clock::monotonic_ns().saturating_add(GATHER_NS);
        loop {
            let now_ns = clock::monotonic_ns();
            if handles.barrier.arrivals(expected, now_ns.saturating_add(ROUND_NS)) >= expected {
                break;
            }
            self.recording.last_if_ending();
            if control.stopping() {
                return Err(Error::Thread("a task ended before release 0".to_owned()));
            }
            if now_ns >= give_up_ns {
                return Err(Error::Thread("a real-time thread did not become ready within 30s".to_owned()));
            }
        }
        handles.refused().map_or(Ok(()), |error| Err(Error::System(error)))?;
        set_up.check(plan).map_err(Error::SetUp)
    }

    /// Calls the start off: no job is released. Returns the reason.
    fn call_off(&self, threads: Vec<NativeThread<'scope, 'p>>, why: Error) -> Error {
        self.spawner.control.stop();
        self.spawner.handles.barrier.call_off();
        threads.into_iter().for_each(|thread| drop(thread.join()));
        why
    }
}

/// The main thread while it sets release 0: above all ordinary threads, where the process may do that. If one of them took
/// its processor for longer than the lead, the threads of tasks would learn of release 0 after it, and their first jobs
/// would be late.
struct Urgent(bool);

impl Urgent {
    fn begin(guarantees: &Guarantees) -> Self {
        Self(guarantees.keeps(Guarantee::Priorities) && thread::set_fifo(1).is_ok())
    }
}

impl Drop for Urgent {
    fn drop(&mut self) {
        if self.0 {
            // The priority was set, so it can be given up.
            let _ = thread::set_other();
        }
    }
}

/// Supervision.
impl<'scope, 'p: 'scope, W: RecordingSink> MainThread<'_, 'scope, '_, 'p, W> {
    /// Runs all jobs, from release 0 until the application stops.
    ///
    /// # Errors
    /// The outer error is [`Error::Executor`], or another error that kept the executor from starting: no job was
    /// released. The inner error came after release 0: the caller must then shut the threads down.
    fn run_jobs(
        &mut self,
        dispatch: Dispatch,
        dispatched: &mut [DispatchedTask<'p>],
        best_effort: Vec<BestEffortTask<'p>>,
    ) -> Result<Result<(), Error>, Error> {
        let Spawner { plan, control, handles, .. } = self.spawner;
        let executed = self.executed;
        let urgent = Urgent::begin(self.spawner.guarantees);
        if executed.is_empty() {
            return Ok(self.supervise(None, urgent, best_effort));
        }
        let overran = |task: usize| {
            control.overran(position(executed.get(task).copied().unwrap_or(usize::MAX)));
        };
        let served = handles.best_effort().filter(|(task, _)| executed.contains(task));
        let donors = served.map(|(task, handle)| Donor { task, thread: handle.donee() }).collect();
        let mut setup = dispatch.into_setup(plan, dispatched, donors)?;
        setup.on_stop(&overran);
        let wanted = self.wanted();
        let ran = setup.run(wanted, |executor| self.supervise(Some(executor), urgent, best_effort));
        ran.map(|(supervised, _)| supervised).map_err(Error::Executor)
    }

    /// The enforcement that the executor asks for: strict if Linux enforces a dispatcher's decisions, else
    /// loose.
    fn wanted(&self) -> Wanted {
        let keeps = |guarantee| self.spawner.guarantees.keeps(guarantee);
        if keeps(Guarantee::Priorities) && keeps(Guarantee::Cores) { Wanted::Strict } else { Wanted::Loose }
    }

    /// Releases the threads, watches them until the application stops, and waits for the jobs of the executor.
    fn supervise(
        &mut self,
        executor: Option<&Exec<'_>>,
        urgent: Urgent,
        best_effort: Vec<BestEffortTask<'p>>,
    ) -> Result<(), Error> {
        let (origin_ns, end_ns) = self.set_release_0(executor);
        drop(urgent);
        let spawned = self.spawner.spawn_best_effort(best_effort, self.wanted() == Wanted::Strict);
        spawned.inspect_err(|_| self.spawner.control.stop())?;
        self.report_start(origin_ns);
        // After the last spawn, because threads inherit the mask of blocked signals. This thread may wait for
        // a disk, so it leaves its signals to the guardian.
        *self.left = LeftToGuardian::leave().ok();
        let lookout = Lookout::new(self.spawner.plan, executor, self.placements);
        self.watch(end_ns, executor, lookout);
        self.stop(executor);
        Ok(())
    }

    /// Sets release 0 for all threads. Returns its instant, and that of the end if the time is limited.
    fn set_release_0(&self, executor: Option<&Exec<'_>>) -> (u64, Option<u64>) {
        let Spawner { control, handles, .. } = self.spawner;
        let soon = || clock::monotonic_ns().saturating_add(LEAD_NS);
        let origin_ns = executor.map_or_else(soon, |executor| executor.origin().as_ns());
        let end_ns = self.config.duration.map(|duration| origin_ns.saturating_add(duration.as_ns()));
        control.end_at(end_ns.unwrap_or(u64::MAX));
        if let Some((executor, end_ns)) = executor.zip(end_ns) {
            executor.end_at(Instant::from_ns(end_ns));
        }
        control.begin();
        handles.barrier.open(origin_ns);
        (origin_ns, end_ns)
    }

    /// Reports release 0 to the clients, to the recording, and to the person who runs the application.
    fn report_start(&mut self, origin_ns: u64) {
        self.publish_services();
        if let Some(segment) = self.maps.segment() {
            segment.set_running();
        }
        let boot_ns = self.config.spawned_ns.map(|spawned| origin_ns.saturating_sub(spawned));
        self.recording.append_own(Kind::Begin, origin_ns, boot_ns.unwrap_or(0));
        self.observer.started(self.spawner.plan, boot_ns.map(Duration::from_ns));
    }

    /// Publishes to the clients which services run: a store for each.
    fn publish_services(&self) {
        let Some(segment) = self.maps.segment() else { return };
        for (service, steered) in (0u16..).zip(&self.spawner.control.services) {
            segment.set_service(
                service,
                match steered.view().state() {
                    State::Running => ServiceState::Running,
                    State::Paused => ServiceState::Paused,
                    State::Stopped => ServiceState::Stopped,
                },
            );
        }
    }

    /// Empties the rings until the time is over, a signal comes or something stops the application.
    fn watch(&mut self, end_ns: Option<u64>, executor: Option<&Exec<'_>>, mut lookout: Lookout<'_>) {
        let Spawner { handles, control, guarantees, .. } = self.spawner;
        let places = || handles.moved(guarantees);
        let mut flushed_ns = clock::monotonic_ns();
        while !control.stopping() {
            let now_ns = clock::monotonic_ns();
            if self.stops(now_ns, end_ns, executor) {
                break;
            }
            let left_ns = end_ns.map_or(u64::MAX, |end| end.saturating_sub(now_ns));
            control.wait_until(now_ns.saturating_add(ROUND_NS.min(left_ns)));
            self.publish_services();
            self.recording.last_if_ending();
            lookout.look(clock::monotonic_ns(), false, places, &mut |record| self.recording.append(record));
            self.recording.empty();
            if now_ns.saturating_sub(flushed_ns) >= FLUSH_NS {
                self.recording.flush();
                flushed_ns = now_ns;
            }
        }
        lookout.look(clock::monotonic_ns(), true, places, &mut |record| self.recording.append(record));
    }

    /// Stops the application if there is a reason that no other thread finds; returns whether there is.
    fn stops(&self, now_ns: u64, end_ns: Option<u64>, executor: Option<&Exec<'_>>) -> bool {
        let control = self.spawner.control;
        let stopped = executor.and_then(|executor| executor.wait(Some(std::time::Duration::ZERO)));
        if let Some(taut_exec::StopReason::Overrun(task)) = stopped {
            control.overran(position(self.executed[task]));
            return true;
        }
        // Finds a job over its limit that has raised itself above every other thread that checks limits.
        if let Some(over) = interrupt::over_limit(now_ns) {
            control.over_limit(over.task);
            return true;
        }
        if end_ns.is_some_and(|end_ns| end_ns <= now_ns) {
            control.stop_because(Reason::Elapsed);
            return true;
        }
        false
    }

    /// Stops the jobs, and waits for those of the executor.
    fn stop(&mut self, executor: Option<&Exec<'_>>) {
        let control = self.spawner.control;
        control.stop();
        self.observer.stopping(control.reason().unwrap_or(Reason::Asked));
        if let Some(executor) = executor {
            executor.stop();
            while !executor.is_over() {
                self.recording.round();
            }
        }
    }
}

/// End.
impl<'scope, 'p: 'scope, W: RecordingSink> MainThread<'_, 'scope, '_, 'p, W> {
    /// Waits for the threads, brings the outputs to rest, and finishes all components. Returns whether all ended in
    /// order.
    fn shut_down(
        &mut self,
        native: Vec<NativeThread<'scope, 'p>>,
        dispatched: &mut [DispatchedTask<'p>],
    ) -> bool {
        let Spawner { handles, control, .. } = self.spawner;
        let give_up_ns = clock::monotonic_ns().saturating_add(PATIENCE_NS);
        self.recording.interrupt_until(handles.real_time(), None);
        control.limit(give_up_ns.saturating_add(FINISH_NS));
        dispatched.iter_mut().for_each(DispatchedTask::stop);
        let rests = self.bring_to_rest(dispatched);
        self.recording.append_ending(control.reason().map_or(Ending::Done, Reason::ending));
        let finished = self.finish(native, dispatched);
        self.recording.take_back();
        if !self.recording.interrupt_until(handles.best_effort().map(|(_, handle)| handle), Some(give_up_ns))
        {
            self.exit_stuck();
        }
        let failed = handles.best_effort().filter(|(_, handle)| handle.has_failed()).map(|(task, _)| task);
        let failed = failed.map(|task| self.has_finished(task, Err(Error::panicked()))).count();
        rests && finished && failed == 0
    }

    /// Brings the outputs to rest, if the application has a safe state, and records the outcome; returns whether they
    /// are at rest.
    ///
    /// From here on the guardian has the recording's end: this thread writes the records that follow only after
    /// `finish` has returned, and `finish` may do anything.
    fn bring_to_rest(&mut self, dispatched: &mut [DispatchedTask<'p>]) -> bool {
        let rest = safe_state::bring_to_rest();
        dispatched.iter_mut().for_each(|task| task.context.record_dispatched_counts());
        let counts = self.spawner.set_up.records(Instant::from_ns(clock::monotonic_ns()));
        counts.into_iter().for_each(|record| self.recording.append(record));
        self.recording.poll();
        self.recording.leave_to_guardian();
        let Some(rest) = rest else { return true };
        let said = Said { rest, heap: self.spawner.control.rest_heap() };
        let is_at_rest = rest.outcome == ThreadEnd::Done;
        if !is_at_rest || said.heap.is_some_and(|uses| uses > 0) {
            self.observer.rested(&said);
        }
        self.recording.append(record(rest, said.heap));
        is_at_rest
    }

    /// Joins the native threads, and calls every component's `finish`. Returns whether all succeeded.
    fn finish(
        &mut self,
        native: Vec<NativeThread<'scope, 'p>>,
        dispatched: &mut [DispatchedTask<'p>],
    ) -> bool {
        let mut orderly = true;
        for thread in native {
            let task = thread.task;
            let finished = thread.join().and_then(|mut body| body.finish());
            orderly &= self.has_finished(task, finished);
        }
        process::end_if_forked();
        for task in dispatched {
            let finished = task.end();
            process::end_if_forked();
            orderly &= self.has_finished(task.task, finished);
        }
        orderly
    }

    /// Reports a task that has not finished; returns whether the task has finished.
    fn has_finished(&mut self, task: usize, finished: Result<(), Box<dyn std::error::Error>>) -> bool {
        if let Err(error) = &finished {
            self.observer.unfinished(&self.spawner.plan.tasks[task].name, &**error);
        }
        finished.is_ok()
    }

    /// Ends the process, because threads of best-effort tasks hang: they borrow data that a return of this thread
    /// would free.
    fn exit_stuck(&mut self) -> ! {
        let Spawner { plan, handles, .. } = self.spawner;
        for (task, _) in handles.best_effort().filter(|(_, handle)| !handle.is_done()) {
            self.observer.stuck(&plan.tasks[task].name);
            self.recording.append_ending(Ending::BestEffort(position(task).into()));
        }
        self.recording.close();
        process::exit_now(EXIT_STUCK)
    }
}
