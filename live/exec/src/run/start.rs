// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Turns a set-up into threads, and stops them again.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread::{Builder, Scope};

use taut_lock::LockLayoutError;
use taut_lock::life::{Alive, Cpu, Lives};
use taut_policy::{STACK_BYTES, any_queue};
use taut_sys::interrupt::ThreadSlot;
use taut_sys::{clock, futex, signals, thread};

use crate::error::{Enforcement, SetupError, Wanted};
use crate::ready::jobs::Task;
use crate::ready::log::{Log, RecordingLevel};
use crate::ready::serving::Serving;
use crate::ready::state::State;
use crate::ready::worker_priorities::{DISPATCHER, WorkerPriorities};
use crate::run::exec::{Control, Exec, ExecOutcome, StopReason};
use crate::setup::{CoreSetup, Setup};
use crate::shared::{Parts, Shared, stop_all};
use crate::threads::ahead::Ahead;
use crate::threads::dispatcher::dispatch;
use crate::threads::listeners::Listeners;
use crate::threads::worker::{Works, work};

/// The time from the moment at which all threads are ready until release 0, ns.
const LEAD_NS: u64 = 5_000_000;

const WAIT: u32 = 0;
const GO: u32 = 1;
const CALLED_OFF: u32 = 2;

/// Holds threads until all are ready.
#[derive(Default)]
struct StartBarrier {
    ready: AtomicU32,
    word: AtomicU32,
    origin_ns: AtomicU64,
    refused: OnceLock<taut_sys::Error>,
}

impl StartBarrier {
    /// Waits for the start. Returns release 0, or `None` if the start is called off.
    fn wait(&self) -> Option<u64> {
        self.ready.fetch_add(1, Ordering::Release);
        let _ = futex::wake(&self.ready, 1, false);
        loop {
            match self.word.load(Ordering::Acquire) {
                WAIT => drop(futex::wait(&self.word, WAIT, None, false)),
                GO => return Some(self.origin_ns.load(Ordering::Relaxed)),
                _ => return None,
            }
        }
    }

    fn wait_for_threads(&self, threads: u32) {
        loop {
            let ready = self.ready.load(Ordering::Acquire);
            if ready >= threads {
                return;
            }
            let _ = futex::wait(&self.ready, ready, None, false);
        }
    }

    fn announce(&self, word: u32) {
        self.word.store(word, Ordering::Release);
        let _ = futex::wake(&self.word, u32::MAX, false);
    }

    /// Moves the calling thread to its processor and priority, prepares what it needs there, reports that it is
    /// ready, and waits for the start.
    fn place_and_wait<P>(
        &self,
        placement: Option<(u32, u8)>,
        prepare: impl FnOnce() -> P,
    ) -> Option<(u64, P)> {
        let place = || {
            signals::block_all()?;
            if let Some((cpu, priority)) = placement {
                thread::set_affinity(&[cpu as u16])?;
                thread::set_fifo(priority)?;
                thread::timer_slack(1)?;
                thread::prefault_stack(STACK_BYTES - (64 << 10));
            }
            Ok(())
        };
        if let Err(error) = place() {
            let _ = self.refused.set(error);
        }
        let prepared = prepare();
        self.wait().map(|origin_ns| (origin_ns, prepared))
    }
}

/// Whether the system allows pinned threads at fixed priorities; tried with one thread.
fn strict(cpus: &[u16]) -> Result<(), taut_sys::Error> {
    let tried = std::thread::scope(|threads| {
        let tried = threads.spawn(|| {
            cpus.iter().try_for_each(|cpu| thread::set_affinity(&[*cpu]))?;
            thread::set_fifo(DISPATCHER)?;
            thread::set_other()
        });
        tried.join()
    });
    // That thread does nothing that panics.
    tried.unwrap_or(Err(taut_sys::Error { call: "sched_setscheduler", errno: taut_sys::EPERM }))
}

impl Setup<'_> {
    /// Starts all threads, calls `main` on the calling thread while they run, and stops them when `main` returns.
    /// Returns the result of `main`, and the outcome of all jobs.
    ///
    /// # Errors
    /// [`SetupError`]: nothing has run.
    ///
    /// # Panics
    /// After all threads have ended, if a job panicked, or a work panicked when the executor asked it for admission.
    pub fn run<R>(
        mut self,
        wanted: Wanted,
        main: impl FnOnce(&Exec<'_>) -> R,
    ) -> Result<(R, ExecOutcome), SetupError> {
        self.check()?;
        let cpus: Vec<_> = self.cores.iter().map(|core| core.cpu).collect();
        let enforcement = enforcement(wanted, &cpus)?;
        let is_strict = enforcement == Enforcement::Strict;
        // Held until all threads have ended.
        let _cpus = if is_strict { self.take_cpus()? } else { Vec::new() };
        let (mut shareds, mut bodies, mut listeners) = (Vec::new(), Vec::new(), Vec::new());
        for core in &mut self.cores {
            bodies.push(Works::new(std::mem::take(&mut core.works)));
            listeners.push(std::mem::take(&mut core.listeners));
            #[cfg(test)]
            self.fault.put_in(core);
            shareds.push(core.build(is_strict, self.handler, self.delay_ns)?);
            #[cfg(test)]
            self.fault.put_into(&mut shareds);
        }
        let (control, start) = (Control::default(), StartBarrier::default());
        let indices: Vec<_> = self.cores.iter().map(|core| core.indices.clone()).collect();
        let panicked = || {
            control.panic();
            stop_all(&shareds);
        };
        let all = All {
            cores: &shareds,
            indices: &indices,
            start: &start,
            control: &control,
            panicked: &panicked,
            on_stop: self.on_stop,
            is_strict,
        };
        let result = std::thread::scope(|threads| {
            let off = CalledOff(&start);
            let mut count = 0;
            for (at, (works, listeners)) in bodies.iter().zip(&mut listeners).enumerate() {
                count += all.spawn(threads, at, works, listeners)?;
            }
            start.wait_for_threads(count);
            if let Some(error) = start.refused.get() {
                return Err(SetupError::Enforcement(*error));
            }
            let origin_ns = clock::monotonic_ns() + LEAD_NS;
            start.origin_ns.store(origin_ns, Ordering::Relaxed);
            start.announce(GO);
            std::mem::forget(off);
            let exec = Exec { cores: &shareds, control: &control, enforcement, origin_ns };
            let stopped = Stopped(&exec);
            let result = main(&exec);
            drop(stopped);
            Ok(result)
        })?;
        if let Some(panic) = bodies.iter().find_map(Works::panicked) {
            std::panic::resume_unwind(panic);
        }
        shareds.iter_mut().for_each(Shared::record_counts);
        let reason = control.reason().unwrap_or(StopReason::Asked);
        let mut tasks = vec![Default::default(); self.tasks];
        for (shared, indices) in shareds.iter_mut().zip(indices) {
            for (task, index) in shared.alone().tasks.iter().zip(indices) {
                tasks[index] = task.outcome;
            }
        }
        Ok((result, ExecOutcome { tasks, enforcement, reason }))
    }
}

/// How Linux will enforce the decisions.
fn enforcement(wanted: Wanted, cpus: &[u16]) -> Result<Enforcement, SetupError> {
    let loose = |why| Enforcement::Loose { why: Some(why) };
    match wanted {
        Wanted::Loose => Ok(Enforcement::Loose { why: None }),
        Wanted::Strict => strict(cpus).map(|()| Enforcement::Strict).map_err(SetupError::Enforcement),
        Wanted::Best => Ok(strict(cpus).map_or_else(loose, |()| Enforcement::Strict)),
    }
}

/// What the threads of all cores have in common.
struct All<'a> {
    cores: &'a [Shared],
    /// By core and task: the task's position in the set-up.
    indices: &'a [Vec<usize>],
    start: &'a StartBarrier,
    control: &'a Control,
    panicked: &'a (dyn Fn() + Sync),
    on_stop: Option<&'a (dyn Fn(usize) + Sync)>,
    is_strict: bool,
}

impl All<'_> {
    /// Spawns the threads of a core. Returns how many there are.
    fn spawn<'scope>(
        &'scope self,
        threads: &'scope Scope<'scope, '_>,
        at: usize,
        works: &'scope Works<'_>,
        listeners: &'scope mut Listeners<'_>,
    ) -> Result<u32, SetupError> {
        let shared = &self.cores[at];
        let priorities = WorkerPriorities::new(shared.parkers.len(), self.is_strict).priorities();
        let placement = |priority| self.is_strict.then_some((shared.cpu, priority));
        let refused = |what: &str, error: std::io::Error| {
            SetupError::Thread(format!("cannot start a {what} thread: {error}"))
        };
        let workers = shared.parkers.len() as u32;
        // The highest first: after a SIGSTOP the threads go on in the order of their levels.
        for me in (0..workers).rev() {
            let placement = placement(priorities[me as usize]);
            let spawned = builder("worker", shared.cpu).spawn_scoped(threads, move || {
                shared.tids[me as usize].store(thread::tid(), Ordering::Release);
                if let Some((_, thread_slot)) = self.start.place_and_wait(placement, ThreadSlot::take) {
                    work(shared, works, (me, &thread_slot), self.panicked);
                }
            });
            spawned.map_err(|error| refused("worker", error))?;
        }
        let placement = placement(DISPATCHER);
        let spawned = builder("dispatch", shared.cpu).spawn_scoped(threads, move || {
            let ahead = || if self.is_strict { Ahead::new() } else { None };
            shared.dispatcher.store(thread::tid(), Ordering::Release);
            if let Some((origin_ns, ahead)) = self.start.place_and_wait(placement, ahead) {
                let stop = |task: u32| self.overrun(self.indices[at][task as usize], works);
                dispatch(shared, works, listeners, ahead, origin_ns, &stop, self.panicked);
            }
            shared.dispatcher.store(0, Ordering::Release);
        });
        spawned.map_err(|error| refused("dispatcher", error))?;
        Ok(workers + 1)
    }

    /// Stops all cores, because a task overran whose policy demands it.
    fn overrun(&self, task: usize, works: &Works<'_>) {
        self.control.overrun(task);
        stop_all(self.cores);
        if let Some(notify) = self.on_stop {
            let _ = works.call(self.panicked, || notify(task));
        }
    }
}

impl<'w> Setup<'w> {
    /// Claims the CPU of each strict core for this process, among the processes that share resources with the core.
    fn take_cpus(&self) -> Result<Vec<Cpu<'w>>, SetupError> {
        let others = |core: &CoreSetup<'w>| core.others.clone().into_iter();
        let all = self.cores.iter().flat_map(|core| others(core).map(|other| (core.cpu, other)));
        let take = |(cpu, (lives, alive)): (u16, (Lives<'w>, &'w Alive))| {
            alive.take_cpu(lives, cpu).map_err(|error| match error {
                LockLayoutError::Taken => SetupError::CpuElsewhere(cpu),
                error => SetupError::Thread(format!("cannot claim CPU {cpu}: {error}")),
            })
        };
        all.map(take).collect()
    }
}

impl CoreSetup<'_> {
    fn build(
        &mut self,
        strict: bool,
        handler: crate::ViolationHandler,
        delay_ns: u64,
    ) -> Result<Shared, SetupError> {
        let made = self.attributes().rule(self.rule);
        // The attributes were made for exactly these tasks and resources.
        let rule = made.map_err(|misuse| SetupError::Thread(format!("CPU {}: {misuse}", self.cpu)))?;
        let tasks = self.tasks.iter().map(|task| Task::new(task, self.rule));
        let recorder = self.recorder.take();
        let (recorder, level, core) =
            recorder.map_or((None, RecordingLevel::None, 0), |(to, level, core)| (Some(to), level, core));
        let log = Log {
            recorder,
            level,
            cpu: u8::try_from(self.cpu).unwrap_or(u8::MAX),
            core,
            tasks: self.subjects(),
            resources: self.resources.clone().into(),
            stated: self.stated_values(),
        };
        let count = self.tasks.len();
        let subjects = self.servers.iter().map(|server| server.recorded_as.unwrap_or(u16::MAX)).collect();
        // The servers have been checked.
        let serving = Serving::new(count, &self.servers, subjects)
            .map_err(|unfit| SetupError::Thread(format!("CPU {}: {unfit}", self.cpu)))?;
        let priorities = WorkerPriorities::new(self.threads(), strict);
        let state = State::new((rule, serving), tasks.collect(), any_queue(count), priorities, log);
        let by_hand = |task: &crate::TaskSetup| task.release == crate::Release::ByHand;
        let (listed_words, listed) = self.listed();
        Ok(Shared::new(Parts {
            state,
            strict,
            cpu: self.cpu.into(),
            listed,
            listed_words,
            resources: self.resources.len() as u32,
            shares: self.tasks.iter().map(|task| task.shares).collect(),
            brand: self.brand,
            names: self.names(),
            by_hand: self.tasks.iter().map(by_hand).collect(),
            handler,
            delay_ns,
        }))
    }
}

fn builder(what: &str, cpu: u32) -> Builder {
    Builder::new().name(format!("{what}-{cpu}")).stack_size(STACK_BYTES)
}

/// Ends the threads that wait for the start, if the start is called off.
struct CalledOff<'s>(&'s StartBarrier);

impl Drop for CalledOff<'_> {
    fn drop(&mut self) {
        self.0.announce(CALLED_OFF);
    }
}

/// Stops the executor when `main` returns, or panics.
struct Stopped<'e>(&'e Exec<'e>);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}
