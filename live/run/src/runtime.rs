// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The threads of an application, from their start to their end.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::{Builder, Scope as ThreadScope, ScopedJoinHandle};

use taut_boot::thread::{STACK_BYTES, ThreadPlacement, place_thread};
use taut_boot::{Guarantee, Guarantees, Maps, StartBarrier};
use taut_event::file::Head;
use taut_event::{Ending, Kind, Place, Record, Stood};
use taut_exec::{Exec, Setup, Wanted};
use taut_plan::Plan;
use taut_sys::crash::LeftToGuardian;
use taut_sys::safe_state::{self, Outcome};
use taut_sys::thread::Policy;
use taut_sys::{clock, interrupt, process, thread};
use taut_time::{Duration, Instant};
use taut_trace::{Owner, Sink, Writer, ring};

use crate::app::{Code, TaskCode};
use crate::best_effort::Context;
use crate::body::Body;
use crate::control::{Control, Reason};
use crate::dispatch::Dispatch;
use crate::dispatched::{DispatchedTask, Donor};
use crate::job::EventRecorder;
use crate::lifecycle::JobContext;
use crate::names::position;
use crate::native::TaskThread;
use crate::outside::{Lookout, moved_value};
use crate::safe_state::{Said, record};
use crate::supervisor::{Config, Observer, facts};
use crate::{Error, probe};

/// Records that a ring holds: 64 KiB, as the planner counts it.
const RING_RECORDS: usize = 2_048;
/// Time from opening the start barrier to release 0; within it every thread must reach its first sleep.
const LEAD_NS: u64 = 10_000_000;
/// How long threads may take to get ready, `start` included.
const GATHER_NS: u64 = 30_000_000_000;
/// How often the main thread empties the rings.
const ROUND_NS: u64 = 20_000_000;
/// How long best-effort tasks may take to return.
const PATIENCE_NS: u64 = 2_000_000_000;
/// How long `finish` of all components, and the rest of the recording, may take.
const FINISH_NS: u64 = 10_000_000_000;
/// The exit code of an application whose best-effort task does not return.
const EXIT_STUCK: i32 = 4;
/// How often the recording is handed to the system: a killed application loses at most that much.
const FLUSH_NS: u64 = 100_000_000;

/// An application and everything it runs on, before its threads exist.
pub(crate) struct Runtime<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) guarantees: &'p Guarantees,
    pub(crate) control: &'p Control,
    pub(crate) maps: &'p Maps,
    /// The path of the recording; empty if there is none.
    pub(crate) recording: &'p Path,
}

/// A thread as the main thread sees it.
#[derive(Default)]
struct ThreadHandle {
    tid: AtomicI32,
    done: AtomicBool,
    /// The thread id of a best-effort task, once it is on its server's processor.
    donee: AtomicI32,
    /// What the system refused when the thread was placed.
    refused: OnceLock<taut_sys::Error>,
    /// Where the thread was placed.
    placed: OnceLock<ThreadPlacement>,
    /// The thread gives up its placement itself, because it has ended its work.
    leaves: AtomicBool,
    /// A record already says that somebody moved the thread.
    moved: AtomicBool,
}

impl<'p> Runtime<'p> {
    /// Starts all threads, watches them, and stops them. Returns whether all ended in order.
    ///
    /// The calling thread is best-effort, and empties the rings.
    pub(crate) fn run<W: Sink>(
        &self,
        task_codes: Vec<TaskCode<'p>>,
        mut dispatch: Dispatch,
        config: &Config,
        observer: &mut dyn Observer,
        sink: W,
        lock: &str,
    ) -> Result<bool, Error> {
        let probes = if self.guarantees.keeps(Guarantee::Priorities) { self.plan.cores.len() } else { 0 };
        let mut drains = Vec::new();
        let mut event_recorder = |subject| {
            let (recorder, drain) = ring(Owner::Task(subject), RING_RECORDS);
            drains.push(drain);
            EventRecorder::new(recorder, subject)
        };
        let (mut starts, mut best_effort_tasks, mut dispatched_tasks) = (Vec::new(), Vec::new(), Vec::new());
        for TaskCode { task, code } in task_codes {
            let event_recorder = event_recorder(position(task));
            match code {
                Code::BestEffort(run) => best_effort_tasks.push((task, run, event_recorder)),
                Code::RealTime { body, scope, timing, flows, listener, .. }
                    if dispatch.has(self.plan, task) =>
                {
                    let context = JobContext::new(scope, event_recorder, self.control, timing, flows);
                    dispatched_tasks.push(DispatchedTask::new(task, body, context, listener));
                }
                Code::RealTime { body, scope, placement, timing, flows, .. } => {
                    let context = JobContext::new(scope, event_recorder, self.control, timing, flows);
                    starts.push((task, ThreadStart { body, placement, context }));
                }
            }
        }
        let owners = starts.iter().map(|(task, _)| (Kind::Moved, position(*task)));
        let owners = owners.chain((0..probes).map(|core| (Kind::ProbeMoved, position(core))));
        let owners: Vec<(Kind, u16)> = owners.collect();
        let natives = starts.iter().map(|(_, start)| (start.placement.cpu, start.placement.priority));
        let natives: Vec<(u16, u8)> = natives.collect();
        let probes: Vec<(usize, EventRecorder)> =
            (0..probes).map(|core| (core, event_recorder(position(core)))).collect();
        let facts = facts(self.guarantees);
        let served = |task: usize| self.plan.server_of(&self.plan.tasks[task].name).map(|server| server.cpu);
        let donee = best_effort_tasks.iter().map(|(task, ..)| *task).filter(|task| served(*task).is_some());
        let dispatched: Vec<usize> =
            dispatched_tasks.iter().map(|dispatched_task| dispatched_task.task).chain(donee).collect();
        drains.extend(dispatch.take_drains());
        // No two recordings on a machine begin at the same instant.
        let (id, limit) = (clock::monotonic_ns(), config.record_limit);
        let head = Head { plan: lock, machine: &facts, id, limit };
        let mut writer = Writer::new(sink, &head, drains)
            .map_err(|error| Error::Output(self.recording.to_owned(), error))?;
        // If a `start` ends the application, the guardian writes that to the recording.
        self.control.leave(writer.last_words());
        for dispatched_task in &mut dispatched_tasks {
            dispatched_task.start();
            process::end_if_forked();
        }
        self.control.leave(None);

        let barrier = StartBarrier::default();
        let real_time: Vec<ThreadHandle> =
            (0..starts.len() + probes.len()).map(|_| ThreadHandle::default()).collect();
        let best_effort: Vec<ThreadHandle> =
            best_effort_tasks.iter().map(|_| ThreadHandle::default()).collect();
        let tasks: Vec<usize> = best_effort_tasks.iter().map(|(task, ..)| *task).collect();
        let handles = best_effort_tasks.iter().map(|(task, ..)| *task).zip(&best_effort);
        let donors: Vec<Donor<'_>> = handles
            .filter(|(task, _)| served(*task).is_some())
            .map(|(task, handle)| Donor { task, thread: &handle.donee })
            .collect();
        let over = StartBarrier::default();
        let mut left = None;
        let orderly = std::thread::scope(|threads| {
            let _over = Over(&over);
            let mut joins = Vec::new();
            let arrivals = self
                .gather(threads, starts, probes, &real_time, &barrier)
                .map(|arrivals| joins = arrivals)
                .and_then(|()| self.all_ready(&real_time, &barrier, &mut writer));
            if let Err(error) = arrivals {
                self.control.stop();
                barrier.call_off();
                // The message of the panicking thread reports the panic. Its payload is leaked: dropping it might
                // panic again.
                joins.into_iter().for_each(|(_, join)| drop(join.join().map_err(std::mem::forget)));
                return Err(error);
            }
            let run_between = |executor: Option<&Exec<'_>>| {
                let soon = || clock::monotonic_ns().saturating_add(LEAD_NS);
                let origin_ns = executor.map_or_else(soon, |executor| executor.origin().as_ns());
                let end_ns = config.duration.map(|duration| origin_ns.saturating_add(duration.as_ns()));
                self.control.end_at(end_ns.unwrap_or(u64::MAX));
                if let Some((executor, end_ns)) = executor.zip(end_ns) {
                    executor.end_at(Instant::from_ns(end_ns));
                }
                self.control.begin();
                barrier.open(origin_ns);
                for ((task, run, event_recorder), handle) in best_effort_tasks.into_iter().zip(&best_effort) {
                    let server = served(task).filter(|_| self.wanted() == Wanted::Strict).zip(Some(&over));
                    if let Err(error) =
                        self.spawn_best_effort(threads, task, run, event_recorder, handle, server)
                    {
                        self.control.stop();
                        return Err(error);
                    }
                }
                if let Some(segment) = self.maps.segment() {
                    segment.set_running();
                }
                let boot = config.spawned_ns.map(|spawned| origin_ns.saturating_sub(spawned));
                writer.append(mark(Kind::Begin, origin_ns, boot.unwrap_or(0)));
                observer.started(self.plan, boot.map(Duration::from_ns));
                // After the last spawn, because threads inherit the mask of blocked signals. A write of this thread
                // may wait for a disk, so it leaves its signals to the guardian.
                left = LeftToGuardian::leave().ok();
                let lookout = Lookout::new(self.plan, executor, &natives);
                let watched = self.watch(
                    end_ns,
                    &mut writer,
                    executor.map(|executor| (executor, &*dispatched)),
                    (lookout, || {
                        let placed = owners.iter().zip(&real_time);
                        placed.filter_map(|(owner, handle)| self.moved(*owner, handle)).collect()
                    }),
                );
                self.control.stop();
                observer.stopping(self.control.reason().unwrap_or(Reason::Asked));
                if let Some(executor) = executor {
                    executor.stop();
                    while !executor.is_over() {
                        self.round(&mut writer);
                    }
                }
                watched
            };
            let watched = if dispatched.is_empty() {
                run_between(None)
            } else {
                let overran = |task: usize| {
                    let task = dispatched.get(task).copied().unwrap_or(usize::MAX);
                    self.control.overran(position(task));
                };
                let setup = dispatch.into_setup(self.plan, &mut dispatched_tasks, donors);
                let setup = setup.map(|mut setup| {
                    setup.on_stop(&overran);
                    setup
                });
                let run = |setup: Setup<'_>| {
                    setup.run(self.wanted(), |executor| run_between(Some(executor))).map_err(Error::Executor)
                };
                match setup.and_then(run) {
                    Ok((watched, _)) => watched,
                    Err(error) => {
                        self.control.stop();
                        barrier.call_off();
                        joins.into_iter().for_each(|(_, join)| drop(join.join().map_err(std::mem::forget)));
                        return Err(error);
                    }
                }
            };
            let give_up_ns = clock::monotonic_ns().saturating_add(PATIENCE_NS);
            self.interrupt_until(&real_time, None, &mut writer);
            self.control.limit(give_up_ns.saturating_add(FINISH_NS));
            dispatched_tasks.iter_mut().for_each(|dispatched_task| dispatched_task.stop());
            let rest = safe_state::bring_to_rest();
            dispatched_tasks
                .iter_mut()
                .for_each(|dispatched_task| dispatched_task.context.record_dispatched_counts());
            writer.poll();
            // The records that follow are not written before `finish` has returned, and `finish` may do anything:
            // the guardian gets the recording's end.
            self.control.leave(writer.last_words());
            let mut orderly = true;
            if let Some(rest) = rest {
                let said = Said { rest, heap: self.control.rest_heap() };
                orderly = rest.outcome == Outcome::Done;
                if !orderly || said.heap.is_some_and(|uses| uses > 0) {
                    observer.rested(&said);
                }
                writer.append(record(rest, said.heap));
            }
            let ending = self.control.reason().map_or(Ending::Done, Reason::ending);
            if let Some(end) = ending.to_record(now()) {
                writer.append(end);
            }
            orderly &= self.finish(joins, observer);
            for dispatched_task in &mut dispatched_tasks {
                let ended = dispatched_task.end();
                process::end_if_forked();
                if let Err(error) = ended {
                    observer.unfinished(&self.plan.tasks[dispatched_task.task].name, &*error);
                    orderly = false;
                }
            }
            self.control.leave(None);
            if !self.interrupt_until(&best_effort, Some(give_up_ns), &mut writer) {
                // The hanging threads borrow what returning would free, so the process ends here.
                for (task, _) in
                    tasks.iter().zip(&best_effort).filter(|(_, handle)| !handle.done.load(Ordering::Acquire))
                {
                    observer.stuck(&self.plan.tasks[*task].name);
                    let ending = Ending::BestEffort(position(*task).into());
                    ending.to_record(now()).into_iter().for_each(|end| writer.append(end));
                }
                writer.close();
                process::exit_now(EXIT_STUCK);
            }
            watched.map(|()| orderly)
        })?;
        writer.finish().map_err(|error| Error::Unwritten(self.recording.to_owned(), error))?;
        Ok(orderly)
    }

    /// Strict if Linux enforces the decisions of a dispatcher, else loose.
    fn wanted(&self) -> Wanted {
        let strict = self.guarantees.keeps(Guarantee::Priorities) && self.guarantees.keeps(Guarantee::Cores);
        if strict { Wanted::Strict } else { Wanted::Loose }
    }

    /// Starts the real-time threads and the probes.
    fn gather<'scope>(
        &'scope self,
        threads: &'scope ThreadScope<'scope, '_>,
        starts: Vec<(usize, ThreadStart<'p>)>,
        probes: Vec<(usize, EventRecorder)>,
        handles: &'scope [ThreadHandle],
        barrier: &'scope StartBarrier,
    ) -> Result<Vec<Join<'scope, 'p>>, Error>
    where
        'p: 'scope,
    {
        let (start_handles, probe_handles) = handles.split_at(starts.len());
        let mut joins = Vec::with_capacity(starts.len());
        for ((task, start), handle) in starts.into_iter().zip(start_handles) {
            joins.push(self.spawn_real_time(threads, task, start, handle, barrier)?);
        }
        for ((core, event_recorder), handle) in probes.into_iter().zip(probe_handles) {
            self.spawn_probe(threads, core, event_recorder, handle, barrier)?;
        }
        Ok(joins)
    }

    /// Places the calling thread. A placement that fails here was possible when the guarantees were found; the main
    /// thread then calls the start off.
    fn place_thread(&self, placement: ThreadPlacement, handle: &ThreadHandle) {
        let taken = place_thread(placement, self.guarantees);
        let _ = taken.map_or_else(
            |error| handle.refused.set(error).is_ok(),
            |()| handle.placed.set(placement).is_ok(),
        );
    }

    /// Waits until all real-time threads are placed and have arrived at the start barrier.
    fn all_ready<W: Sink>(
        &self,
        handles: &[ThreadHandle],
        barrier: &StartBarrier,
        writer: &mut Writer<W>,
    ) -> Result<(), Error> {
        let expected = u32::try_from(handles.len()).unwrap_or(u32::MAX);
        let give_up_ns = clock::monotonic_ns().saturating_add(GATHER_NS);
        loop {
            let now_ns = clock::monotonic_ns();
            if barrier.arrivals(expected, now_ns.saturating_add(ROUND_NS)) >= expected {
                break;
            }
            self.last_if_ending(writer);
            if self.control.stopping() {
                return Err(Error::Thread("a task ended before release 0".to_owned()));
            }
            if now_ns >= give_up_ns {
                return Err(Error::Thread("a real-time thread did not get ready within 30s".to_owned()));
            }
        }
        match handles.iter().find_map(|handle| handle.refused.get()) {
            Some(error) => Err(Error::System(*error)),
            None => Ok(()),
        }
    }

    /// Joins the real-time threads and calls their components' `finish`. Returns whether all succeeded.
    fn finish(&self, joins: Vec<Join<'_, 'p>>, observer: &mut dyn Observer) -> bool {
        let mut orderly = true;
        for (task, join) in joins {
            let name = &self.plan.tasks[task].name;
            // The payload of a panic is leaked: dropping it might panic again.
            let body = join.join().map_err(std::mem::forget).map_err(|()| Error::panicked());
            if let Err(error) = body.and_then(|mut body| body.finish()) {
                observer.unfinished(name, &*error);
                orderly = false;
            }
        }
        process::end_if_forked();
        orderly
    }

    fn spawn_real_time<'scope>(
        &'scope self,
        threads: &'scope ThreadScope<'scope, '_>,
        task: usize,
        start: ThreadStart<'p>,
        handle: &'scope ThreadHandle,
        barrier: &'scope StartBarrier,
    ) -> Result<Join<'scope, 'p>, Error>
    where
        'p: 'scope,
    {
        let name = &self.plan.tasks[task].name;
        let spawned =
            Builder::new().name(name.clone()).stack_size(STACK_BYTES).spawn_scoped(threads, move || {
                let _done = Done { handle, control: self.control, task };
                let ThreadStart { mut body, placement, context } = start;
                let thread_slot = interrupt::ThreadSlot::take();
                handle.tid.store(thread::tid(), Ordering::Release);
                body.start();
                process::end_if_forked();
                self.place_thread(placement, handle);
                if let Some(origin_ns) = barrier.wait() {
                    TaskThread::new(context, thread_slot, origin_ns).count(|thread| body.run_native(thread));
                }
                handle.leaves.store(true, Ordering::Release);
                let _ = thread::set_other();
                body
            });
        let join = spawned.map_err(|error| Error::Thread(format!("no thread for `{name}`: {error}")))?;
        Ok((task, join))
    }

    fn spawn_probe<'scope>(
        &'scope self,
        threads: &'scope ThreadScope<'scope, '_>,
        core: usize,
        mut event_recorder: EventRecorder,
        handle: &'scope ThreadHandle,
        barrier: &'scope StartBarrier,
    ) -> Result<(), Error> {
        let placement = ThreadPlacement { cpu: self.plan.cores[core].cpu, priority: probe::PRIORITY };
        let name = format!("probe-{}", placement.cpu);
        let builder = Builder::new().name(name).stack_size(STACK_BYTES);
        let spawned = builder.spawn_scoped(threads, move || {
            let _done = Done { handle, control: self.control, task: usize::MAX };
            handle.tid.store(thread::tid(), Ordering::Release);
            self.place_thread(placement, handle);
            if let Some(origin_ns) = barrier.wait() {
                probe::watch(origin_ns, self.control, &mut event_recorder);
            }
        });
        spawned.map(drop).map_err(|error| Error::Thread(format!("no thread for the probe: {error}")))
    }

    fn spawn_best_effort<'scope>(
        &'scope self,
        threads: &'scope ThreadScope<'scope, '_>,
        task: usize,
        run: Box<dyn FnOnce(&mut Context<'_>) + Send + 'p>,
        event_recorder: EventRecorder,
        handle: &'scope ThreadHandle,
        server: Option<(u16, &'scope StartBarrier)>,
    ) -> Result<(), Error>
    where
        'p: 'scope,
    {
        let name = &self.plan.tasks[task].name;
        let spawned = Builder::new().name(name.clone()).spawn_scoped(threads, move || {
            // Dropped last: a thread that may receive a donation must exist as long as the executor.
            let _stays = server.map(|(_, over)| Stays(over));
            let _done = Done { handle, control: self.control, task };
            // So that it can be parked: in a server the thread runs above others.
            let _thread_slot = interrupt::ThreadSlot::take();
            handle.tid.store(thread::tid(), Ordering::Release);
            // If the system refuses, the task runs as it would without a server.
            if server.is_some_and(|(cpu, _)| thread::set_affinity(&[cpu]).is_ok()) {
                handle.donee.store(thread::tid(), Ordering::Release);
            }
            run(&mut Context { control: self.control, event_recorder });
            process::end_if_forked();
        });
        spawned.map(drop).map_err(|error| Error::Thread(format!("no thread for `{name}`: {error}")))
    }

    /// The record of a thread that somebody else has moved from its placement; `None` after the first time.
    fn moved(&self, (kind, subject): (Kind, u16), handle: &ThreadHandle) -> Option<Record> {
        let placement = handle.placed.get().filter(|_| !handle.moved.load(Ordering::Relaxed))?;
        let tid = handle.tid.load(Ordering::Acquire);
        // A thread that has just ended is no longer there.
        let policy = thread::policy_of(tid).ok()?;
        let pinned = thread::is_pinned(tid, placement.cpu).ok()? || !self.guarantees.keeps(Guarantee::Cores);
        let stays =
            policy == Policy::Fifo(placement.priority) || !self.guarantees.keeps(Guarantee::Priorities);
        if stays && pinned || handle.leaves.load(Ordering::Acquire) || handle.done.load(Ordering::Acquire) {
            return None;
        }
        handle.moved.store(true, Ordering::Relaxed);
        let value = moved_value(policy, pinned);
        Some(Record { subject, ..mark(kind, clock::monotonic_ns(), value) })
    }

    /// Interrupts the sleeps of threads until all have ended; `false` if some have not at `give_up_ns`.
    fn interrupt_until<W: Sink>(
        &self,
        handles: &[ThreadHandle],
        give_up_ns: Option<u64>,
        writer: &mut Writer<W>,
    ) -> bool {
        loop {
            // Again each round: a thread may have been on its way to sleep.
            let mut alive = false;
            for handle in handles.iter().filter(|handle| !handle.done.load(Ordering::Acquire)) {
                alive = true;
                interrupt::send(handle.tid.load(Ordering::Acquire));
            }
            if !alive {
                writer.poll();
                return true;
            }
            if give_up_ns.is_some_and(|give_up| clock::monotonic_ns() >= give_up) {
                return false;
            }
            self.round(writer);
        }
    }

    /// Empties the rings, and sleeps a little. Does not return if the guardian ends the application where it
    /// stands.
    fn round<W: Sink>(&self, writer: &mut Writer<W>) {
        self.empty(writer);
        if self.control.guardian_is_kept(clock::monotonic_ns()) {
            // With the threads parked, the guardian gets its processor.
            interrupt::park();
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }

    /// Empties the rings. Does not return if the guardian ends the application where it stands.
    fn empty<W: Sink>(&self, writer: &mut Writer<W>) {
        writer.poll();
        self.last_if_ending(writer);
    }

    /// If the guardian ends the application where it stands: records what is known of that, and does not return.
    fn last_if_ending<W: Sink>(&self, writer: &mut Writer<W>) {
        let Some(ending) = self.control.ending() else { return };
        writer.poll();
        if let Some(rest) = safe_state::seen() {
            writer.append(record(rest, self.control.rest_heap()));
        }
        Lookout::cause(self.plan).into_iter().for_each(|record| writer.append(record));
        for job in interrupt::running() {
            let place = |stood: interrupt::Stood| Place {
                in_call: stood.in_call,
                offset: stood.offset.map(|offset| offset as u64),
            };
            let (at, resource) = (job.stood().map(place), job.resource());
            writer.append(Stood { task: job.task, job: job.number, at, resource }.to_record(now()));
        }
        ending.to_record(now()).into_iter().for_each(|end| writer.append(end));
        writer.flush();
        self.control.written()
    }

    /// Empties the rings until the time is over, a signal comes or something stops the application. The executor
    /// comes with its tasks, in its order.
    fn watch<W: Sink>(
        &self,
        end_ns: Option<u64>,
        writer: &mut Writer<W>,
        executor: Option<(&Exec<'_>, &[usize])>,
        (mut lookout, places): (Lookout<'_>, impl Fn() -> Vec<Record>),
    ) -> Result<(), Error> {
        let mut flushed_ns = clock::monotonic_ns();
        while !self.control.stopping() {
            if let Some((executor, tasks)) = executor
                && let Some(taut_exec::Reason::Overrun(task)) = executor.wait(Some(std::time::Duration::ZERO))
            {
                self.control.overran(position(tasks[task]));
                break;
            }
            let now_ns = clock::monotonic_ns();
            // Finds a job over its limit that has raised itself above every other thread that checks limits.
            if let Some(over) = interrupt::over_limit(now_ns) {
                self.control.over_limit(over.task);
                break;
            }
            let left_ns = end_ns.map_or(u64::MAX, |end| end.saturating_sub(now_ns));
            if left_ns == 0 {
                self.control.stop_because(Reason::Elapsed);
                break;
            }
            let round = ROUND_NS.min(left_ns);
            self.control.wait_until(now_ns.saturating_add(round));
            self.last_if_ending(writer);
            lookout.look(clock::monotonic_ns(), false, &places, &mut |record| writer.append(record));
            self.empty(writer);
            if now_ns.saturating_sub(flushed_ns) >= FLUSH_NS {
                writer.flush();
                flushed_ns = now_ns;
            }
        }
        lookout.look(clock::monotonic_ns(), true, &places, &mut |record| writer.append(record));
        Ok(())
    }
}

fn now() -> Instant {
    Instant::from_ns(clock::monotonic_ns())
}

/// A record of the application as a whole.
fn mark(kind: Kind, at_ns: u64, value: u64) -> Record {
    Record { at: Instant::from_ns(at_ns), kind, cpu: 0, subject: 0, job: 0, value }
}

/// What a real-time thread starts with.
struct ThreadStart<'p> {
    body: Box<dyn Body + 'p>,
    placement: ThreadPlacement,
    context: JobContext<'p>,
}

type Join<'scope, 'p> = (usize, ScopedJoinHandle<'scope, Box<dyn Body + 'p>>);

/// Reports that a thread has ended. A panicked thread stops the application: without that thread, the running
/// system is not the one that was proven.
struct Done<'h> {
    handle: &'h ThreadHandle,
    control: &'h Control,
    task: usize,
}

impl Drop for Done<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.control.panicked(position(self.task));
        }
        self.handle.done.store(true, Ordering::Release);
    }
}

/// Releases the threads that have stayed until the executor is over.
struct Over<'g>(&'g StartBarrier);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.call_off();
    }
}

/// Keeps a thread until `Over` is dropped.
struct Stays<'g>(&'g StartBarrier);

impl Drop for Stays<'_> {
    fn drop(&mut self) {
        self.0.wait();
    }
}
