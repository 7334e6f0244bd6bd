// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The threads of an application, from their start to their end.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::{Builder, Scope as ThreadScope, ScopedJoinHandle};

use taut_boot::thread::{STACK_BYTES, Station, take_station};
use taut_boot::{Gate, Guarantee, Maps, Posture};
use taut_event::file::Head;
use taut_event::{Ending, Kind, Place, Record, Stood};
use taut_exec::{Exec, Setup, Wanted};
use taut_plan::Plan;
use taut_scope::Scope;
use taut_sys::crash::LeftToGuardian;
use taut_sys::safe_state::{self, Outcome};
use taut_sys::thread::Policy;
use taut_sys::{clock, interrupt, process, thread};
use taut_time::{Duration, Instant};
use taut_trace::{Owner, Sink, Writer, ring};

use crate::app::{Code, Part, position};
use crate::best_effort::Context;
use crate::control::{Control, Reason};
use crate::dispatch::{Dispatch, Lender, Seat};
use crate::flow::TaskFlows;
use crate::job::Scribe;
use crate::outside::{Lookout, moved_value};
use crate::safe_state::{Said, record};
use crate::stage::{Body, Stage, Timing};
use crate::supervisor::{Config, Observer, facts};
use crate::{Error, probe};

/// Records a ring holds: 64 KiB, as the planner counts it.
const RING_RECORDS: usize = 2_048;
/// From the opening of the gate to release 0: all threads must have come to their first sleep by then.
const LEAD_NS: u64 = 10_000_000;
/// How long threads may take to get ready, `start` included.
const GATHER_NS: u64 = 30_000_000_000;
/// How often the rings are emptied.
const ROUND_NS: u64 = 20_000_000;
/// How long best-effort tasks may take to return.
const PATIENCE_NS: u64 = 2_000_000_000;
/// How long `finish` of all components, and the rest of the recording, may take.
const FINISH_NS: u64 = 10_000_000_000;
/// The exit code of an application whose best-effort task hangs.
const EXIT_STUCK: i32 = 4;
/// How often what was recorded is handed to the system: a killed application loses at most that much.
const FLUSH_NS: u64 = 100_000_000;

/// An application with all that it runs on, before its threads exist.
pub(crate) struct Play<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) posture: &'p Posture,
    pub(crate) control: &'p Control,
    pub(crate) maps: &'p Maps,
    /// Where the recording is written; empty if it is not.
    pub(crate) recording: &'p Path,
}

/// A thread as the main thread sees it.
#[derive(Default)]
struct Hand {
    tid: AtomicI32,
    done: AtomicBool,
    /// The same, of a best-effort task's that has come to its server's processor.
    lent: AtomicI32,
    /// What the system refused on the way to its station.
    refused: OnceLock<taut_sys::Error>,
    /// Where it was put.
    placed: OnceLock<Station>,
    /// It leaves its station itself, as it is over.
    leaves: AtomicBool,
    /// That somebody has moved it is recorded.
    moved: AtomicBool,
}

impl<'p> Play<'p> {
    /// Starts all threads, watches, stops them; whether all ended in order.
    ///
    /// The calling thread is the best-effort one that empties the rings.
    pub(crate) fn play<W: Sink>(
        &self,
        parts: Vec<Part<'p>>,
        mut dispatch: Dispatch,
        config: &Config,
        observer: &mut dyn Observer,
        sink: W,
        lock: &str,
    ) -> Result<bool, Error> {
        let probes = if self.posture.keeps(Guarantee::Priorities) { self.plan.cores.len() } else { 0 };
        let mut drains = Vec::new();
        let mut scribe = |subject| {
            let (recorder, drain) = ring(Owner::Task(subject), RING_RECORDS);
            drains.push(drain);
            Scribe::new(recorder, subject)
        };
        let (mut actors, mut extras, mut seats) = (Vec::new(), Vec::new(), Vec::new());
        for Part { task, code } in parts {
            let scribe = scribe(position(task));
            match code {
                Code::BestEffort(run) => extras.push((task, run, scribe)),
                Code::RealTime { body, scope, timing, flows, bell, .. } if dispatch.has(self.plan, task) => {
                    // Dispatched jobs are told when they arrive.
                    let stage = Stage::new(scope, scribe, self.control, timing, 0).with(flows);
                    seats.push(Seat::new(task, body, stage, bell, self.control));
                }
                Code::RealTime { body, scope, station, timing, flows, .. } => {
                    actors.push((task, Actor { body, scope, station, timing, flows, scribe }));
                }
            }
        }
        let owners = actors.iter().map(|(task, _)| (Kind::Moved, position(*task)));
        let owners = owners.chain((0..probes).map(|core| (Kind::ProbeMoved, position(core))));
        let owners: Vec<(Kind, u16)> = owners.collect();
        let natives = actors.iter().map(|(_, actor)| (actor.station.cpu, actor.station.priority));
        let natives: Vec<(u16, u8)> = natives.collect();
        let probes: Vec<(usize, Scribe)> = (0..probes).map(|core| (core, scribe(position(core)))).collect();
        let facts = facts(self.posture);
        let served = |task: usize| self.plan.server_of(&self.plan.tasks[task].name).map(|server| server.cpu);
        let lent = extras.iter().map(|(task, ..)| *task).filter(|task| served(*task).is_some());
        let dispatched: Vec<usize> = seats.iter().map(|seat| seat.task).chain(lent).collect();
        drains.extend(dispatch.take_drains());
        // No two recordings on a machine begin at once.
        let (id, limit) = (clock::monotonic_ns(), config.record_limit);
        let head = Head { plan: lock, machine: &facts, id, limit };
        let mut writer = Writer::new(sink, &head, drains)
            .map_err(|error| Error::Output(self.recording.to_owned(), error))?;
        // Here: an application that ends in one has a recording that says so.
        self.control.leave(writer.last_words());
        for seat in &mut seats {
            seat.body.start();
            process::end_if_forked();
        }
        self.control.leave(None);

        let gate = Gate::default();
        let real_time: Vec<Hand> = (0..actors.len() + probes.len()).map(|_| Hand::default()).collect();
        let best_effort: Vec<Hand> = extras.iter().map(|_| Hand::default()).collect();
        let tasks: Vec<usize> = extras.iter().map(|(task, ..)| *task).collect();
        let hands = extras.iter().map(|(task, ..)| *task).zip(&best_effort);
        let lenders: Vec<Lender<'_>> = hands
            .filter(|(task, _)| served(*task).is_some())
            .map(|(task, hand)| Lender { task, thread: &hand.lent })
            .collect();
        let over = Gate::default();
        let mut left = None;
        let orderly = std::thread::scope(|threads| {
            let _over = Over(&over);
            let mut joins = Vec::new();
            let gathered = self
                .gather(threads, actors, probes, &real_time, &gate)
                .map(|gathered| joins = gathered)
                .and_then(|()| self.all_ready(&real_time, &gate, &mut writer));
            if let Err(error) = gathered {
                self.control.stop();
                gate.call_off();
                // A panic is told by the thread's own message; its join must not panic again, as what it carries may, dropped.
                joins.into_iter().for_each(|(_, join)| drop(join.join().map_err(std::mem::forget)));
                return Err(error);
            }
            let played = |executor: Option<&Exec<'_>>| {
                let soon = || clock::monotonic_ns().saturating_add(LEAD_NS);
                let origin_ns = executor.map_or_else(soon, |executor| executor.origin().as_ns());
                let end_ns = config.duration.map(|duration| origin_ns.saturating_add(duration.as_ns()));
                self.control.end_at(end_ns.unwrap_or(u64::MAX));
                if let Some((executor, end_ns)) = executor.zip(end_ns) {
                    executor.end_at(Instant::from_ns(end_ns));
                }
                self.control.begin();
                gate.open(origin_ns);
                for ((task, run, scribe), hand) in extras.into_iter().zip(&best_effort) {
                    let server = served(task).filter(|_| self.wanted() == Wanted::Strict).zip(Some(&over));
                    if let Err(error) = self.spawn_best_effort(threads, task, run, scribe, hand, server) {
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
                // Behind the last thread that inherits which signals are blocked. What this one writes may wait for a disk.
                left = LeftToGuardian::leave().ok();
                let lookout = Lookout::new(self.plan, executor, &natives);
                let watched = self.watch(
                    end_ns,
                    &mut writer,
                    executor.map(|executor| (executor, &*dispatched)),
                    (lookout, || {
                        let placed = owners.iter().zip(&real_time);
                        placed.filter_map(|(owner, hand)| self.moved(*owner, hand)).collect()
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
                played(None)
            } else {
                let overran = |task: usize| {
                    let task = dispatched.get(task).copied().unwrap_or(usize::MAX);
                    self.control.stop_because(Reason::Overrun(position(task).into()));
                };
                let setup = dispatch.into_setup(self.plan, &mut seats, lenders);
                let setup = setup.map(|mut setup| {
                    setup.on_stop(&overran);
                    setup
                });
                let run = |setup: Setup<'_>| {
                    setup.run(self.wanted(), |executor| played(Some(executor))).map_err(Error::Executor)
                };
                match setup.and_then(run) {
                    Ok((watched, _)) => watched,
                    Err(error) => {
                        self.control.stop();
                        gate.call_off();
                        joins.into_iter().for_each(|(_, join)| drop(join.join().map_err(std::mem::forget)));
                        return Err(error);
                    }
                }
            };
            let give_up_ns = clock::monotonic_ns().saturating_add(PATIENCE_NS);
            self.interrupt_until(&real_time, None, &mut writer);
            self.control.limit(give_up_ns.saturating_add(FINISH_NS));
            seats.iter_mut().for_each(|seat| seat.stop());
            let rest = safe_state::bring_to_rest();
            seats.iter_mut().for_each(|seat| seat.stage.counted());
            writer.poll();
            // What follows is not written before `finish` has returned, where the application may do anything.
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
            for seat in &mut seats {
                let ended = seat.end();
                process::end_if_forked();
                if let Err(error) = ended {
                    observer.unfinished(&self.plan.tasks[seat.task].name, &*error);
                    orderly = false;
                }
            }
            self.control.leave(None);
            if !self.interrupt_until(&best_effort, Some(give_up_ns), &mut writer) {
                // The threads that hang borrow what would have to be given back, so the process ends here.
                for (task, _) in
                    tasks.iter().zip(&best_effort).filter(|(_, hand)| !hand.done.load(Ordering::Acquire))
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

    /// Whether Linux keeps to what a dispatcher decides.
    fn wanted(&self) -> Wanted {
        let strict = self.posture.keeps(Guarantee::Priorities) && self.posture.keeps(Guarantee::Cores);
        if strict { Wanted::Strict } else { Wanted::Loose }
    }

    /// Starts the real-time threads and the probes.
    fn gather<'scope>(
        &'scope self,
        threads: &'scope ThreadScope<'scope, '_>,
        actors: Vec<(usize, Actor<'p>)>,
        probes: Vec<(usize, Scribe)>,
        hands: &'scope [Hand],
        gate: &'scope Gate,
    ) -> Result<Vec<Join<'scope, 'p>>, Error>
    where
        'p: 'scope,
    {
        let (actor_hands, probe_hands) = hands.split_at(actors.len());
        let mut joins = Vec::with_capacity(actors.len());
        for ((task, actor), hand) in actors.into_iter().zip(actor_hands) {
            joins.push(self.spawn_real_time(threads, task, actor, hand, gate)?);
        }
        for ((core, scribe), hand) in probes.into_iter().zip(probe_hands) {
            self.spawn_probe(threads, core, scribe, hand, gate)?;
        }
        Ok(joins)
    }

    /// Takes the calling thread to its station. What fails here was possible when the posture was found; the
    /// main thread calls the start off then.
    fn take_station(&self, station: Station, hand: &Hand) {
        let taken = take_station(station, self.posture);
        let _ =
            taken.map_or_else(|error| hand.refused.set(error).is_ok(), |()| hand.placed.set(station).is_ok());
    }

    /// Waits until all real-time threads stand at the gate, at their stations.
    fn all_ready<W: Sink>(&self, hands: &[Hand], gate: &Gate, writer: &mut Writer<W>) -> Result<(), Error> {
        let expected = u32::try_from(hands.len()).unwrap_or(u32::MAX);
        let give_up_ns = clock::monotonic_ns().saturating_add(GATHER_NS);
        loop {
            let now_ns = clock::monotonic_ns();
            if gate.gathered(expected, now_ns.saturating_add(ROUND_NS)) >= expected {
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
        match hands.iter().find_map(|hand| hand.refused.get()) {
            Some(error) => Err(Error::System(*error)),
            None => Ok(()),
        }
    }

    /// Joins the real-time threads and lets their components finish; whether all did.
    fn finish(&self, joins: Vec<Join<'_, 'p>>, observer: &mut dyn Observer) -> bool {
        let mut orderly = true;
        for (task, join) in joins {
            let name = &self.plan.tasks[task].name;
            // What a panic carries is leaked: dropped, it might panic again.
            match join.join().map_err(std::mem::forget).map(|mut body| body.finish()) {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => observer.unfinished(name, &*error),
                Err(()) => observer.unfinished(name, &Error::Thread("it panicked".to_owned())),
            }
            orderly = false;
        }
        process::end_if_forked();
        orderly
    }

    fn spawn_real_time<'scope>(
        &'scope self,
        threads: &'scope ThreadScope<'scope, '_>,
        task: usize,
        actor: Actor<'p>,
        hand: &'scope Hand,
        gate: &'scope Gate,
    ) -> Result<Join<'scope, 'p>, Error>
    where
        'p: 'scope,
    {
        let name = &self.plan.tasks[task].name;
        let spawned =
            Builder::new().name(name.clone()).stack_size(STACK_BYTES).spawn_scoped(threads, move || {
                let _done = Done { hand, control: self.control, task };
                let Actor { mut body, scope, station, timing, flows, scribe } = actor;
                let seat = interrupt::Seat::take();
                hand.tid.store(thread::tid(), Ordering::Release);
                body.start();
                process::end_if_forked();
                self.take_station(station, hand);
                if let Some(origin_ns) = gate.wait() {
                    let stage = Stage::new(scope, scribe, self.control, timing, origin_ns).on(seat);
                    stage.with(flows).play(&mut *body);
                }
                hand.leaves.store(true, Ordering::Release);
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
        mut scribe: Scribe,
        hand: &'scope Hand,
        gate: &'scope Gate,
    ) -> Result<(), Error> {
        let station = Station { cpu: self.plan.cores[core].cpu, priority: probe::PRIORITY };
        let name = format!("probe-{}", station.cpu);
        let builder = Builder::new().name(name).stack_size(STACK_BYTES);
        let spawned = builder.spawn_scoped(threads, move || {
            let _done = Done { hand, control: self.control, task: usize::MAX };
            hand.tid.store(thread::tid(), Ordering::Release);
            self.take_station(station, hand);
            if let Some(origin_ns) = gate.wait() {
                probe::watch(origin_ns, self.control, &mut scribe);
            }
        });
        spawned.map(drop).map_err(|error| Error::Thread(format!("no thread for the probe: {error}")))
    }

    fn spawn_best_effort<'scope>(
        &'scope self,
        threads: &'scope ThreadScope<'scope, '_>,
        task: usize,
        run: Box<dyn FnOnce(&mut Context<'_>) + Send + 'p>,
        scribe: Scribe,
        hand: &'scope Hand,
        server: Option<(u16, &'scope Gate)>,
    ) -> Result<(), Error>
    where
        'p: 'scope,
    {
        let name = &self.plan.tasks[task].name;
        let spawned = Builder::new().name(name.clone()).spawn_scoped(threads, move || {
            // Last: while the executor is there, so is who may be lent a place.
            let _stays = server.map(|(_, over)| Stays(over));
            let _done = Done { hand, control: self.control, task };
            // To be parked: in a server it is above others.
            let _seat = interrupt::Seat::take();
            hand.tid.store(thread::tid(), Ordering::Release);
            // Where that is refused, it runs as it would without a server.
            if server.is_some_and(|(cpu, _)| thread::set_affinity(&[cpu]).is_ok()) {
                hand.lent.store(thread::tid(), Ordering::Release);
            }
            run(&mut Context { control: self.control, scribe });
            process::end_if_forked();
        });
        spawned.map(drop).map_err(|error| Error::Thread(format!("no thread for `{name}`: {error}")))
    }

    /// What to record of a thread that somebody else has moved from where it was put, the first time.
    fn moved(&self, (kind, subject): (Kind, u16), hand: &Hand) -> Option<Record> {
        let station = hand.placed.get().filter(|_| !hand.moved.load(Ordering::Relaxed))?;
        let tid = hand.tid.load(Ordering::Acquire);
        // One that has just ended is no longer there.
        let policy = thread::policy_of(tid).ok()?;
        let pinned = thread::is_pinned(tid, station.cpu).ok()? || !self.posture.keeps(Guarantee::Cores);
        let stays = policy == Policy::Fifo(station.priority) || !self.posture.keeps(Guarantee::Priorities);
        if stays && pinned || hand.leaves.load(Ordering::Acquire) || hand.done.load(Ordering::Acquire) {
            return None;
        }
        hand.moved.store(true, Ordering::Relaxed);
        let value = moved_value(policy, pinned);
        Some(Record { subject, ..mark(kind, clock::monotonic_ns(), value) })
    }

    /// Wakes threads until all of them have ended; `false` if some have not at `give_up_ns`.
    fn interrupt_until<W: Sink>(
        &self,
        hands: &[Hand],
        give_up_ns: Option<u64>,
        writer: &mut Writer<W>,
    ) -> bool {
        loop {
            // Again each round: a thread may have been on its way to sleep.
            let mut alive = false;
            for hand in hands.iter().filter(|hand| !hand.done.load(Ordering::Acquire)) {
                alive = true;
                interrupt::send(hand.tid.load(Ordering::Acquire));
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

    /// Empties the rings, and sleeps a little. If the application is ended where it stands, that is the last thing.
    fn round<W: Sink>(&self, writer: &mut Writer<W>) {
        self.empty(writer);
        if self.control.guardian_is_kept(clock::monotonic_ns()) {
            // Then the guardian goes on.
            interrupt::park();
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }

    /// Empties the rings. If the application is ended where it stands, that is the last thing.
    fn empty<W: Sink>(&self, writer: &mut Writer<W>) {
        writer.poll();
        self.last_if_ending(writer);
    }

    /// If the application is ended where it stands, what is known of that is recorded, and the calling thread does no more.
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

    /// Empties the rings until the time is over, a signal comes or somebody stops the application. Beside the executor
    /// stand the tasks that it has, in its order.
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
                self.control.stop_because(Reason::Overrun(position(tasks[task]).into()));
                break;
            }
            let now_ns = clock::monotonic_ns();
            // Where a job has raised itself above whoever else would see that.
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

/// A real-time thread's belongings.
struct Actor<'p> {
    body: Box<dyn Body + 'p>,
    scope: Scope<'p>,
    station: Station,
    timing: Timing,
    flows: Option<TaskFlows<'p>>,
    scribe: Scribe,
}

type Join<'scope, 'p> = (usize, ScopedJoinHandle<'scope, Box<dyn Body + 'p>>);

/// Says that a thread has ended. One that panicked ends the application: without it, what was proven is not what
/// runs.
struct Done<'h> {
    hand: &'h Hand,
    control: &'h Control,
    task: usize,
}

impl Drop for Done<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.control.stop_because(Reason::Panic(position(self.task).into()));
        }
        self.hand.done.store(true, Ordering::Release);
    }
}

/// Lets threads go that have stayed until the executor was over.
struct Over<'g>(&'g Gate);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.call_off();
    }
}

/// Keeps a thread until then.
struct Stays<'g>(&'g Gate);

impl Drop for Stays<'_> {
    fn drop(&mut self) {
        self.0.wait();
    }
}
