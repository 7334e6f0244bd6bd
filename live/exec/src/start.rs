// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! From a set-up to threads, and back.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread::Builder;

use taut_lock::LayoutError;
use taut_lock::life::{Alive, Cpu, Lives};
use taut_policy::any_queue;
use taut_sys::interrupt::Seat;
use taut_sys::{clock, futex, signals, thread};

use crate::ahead::Ahead;
use crate::dispatcher::dispatch;
use crate::error::{Posture, SetupError, Wanted};
use crate::exec::{Control, Exec, Outcome, Reason};
use crate::jobs::Task;
use crate::ladder::Ladder;
use crate::log::{Level, Log};
use crate::serving::Serving;
use crate::setup::{CoreSetup, Setup};
use crate::shared::{Parts, Shared};
use crate::state::State;
use crate::worker::{Works, work};

/// The dispatcher's priority.
pub(crate) const DISPATCHER: u8 = 98;
/// Bytes of a thread's stack, present before release 0.
const STACK_BYTES: usize = 256 << 10;
/// From the moment at which all threads are ready to release 0.
const LEAD_NS: u64 = 5_000_000;

const WAIT: u32 = 0;
const GO: u32 = 1;
const CALLED_OFF: u32 = 2;

/// Holds threads until all are ready.
#[derive(Default)]
struct Start {
    ready: AtomicU32,
    word: AtomicU32,
    origin_ns: AtomicU64,
    refused: OnceLock<taut_sys::Error>,
}

impl Start {
    /// Release 0; `None` if the start is called off.
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

    fn gathered(&self, threads: u32) {
        loop {
            let ready = self.ready.load(Ordering::Acquire);
            if ready >= threads {
                return;
            }
            let _ = futex::wait(&self.ready, ready, None, false);
        }
    }

    fn say(&self, word: u32) {
        self.word.store(word, Ordering::Release);
        let _ = futex::wake(&self.word, u32::MAX, false);
    }

    /// A thread goes to its place, prepares what it needs there, and says that it is there.
    fn at_station<P>(&self, station: Option<(u32, u8)>, prepare: impl FnOnce() -> P) -> Option<(u64, P)> {
        let there = || {
            signals::block_all()?;
            if let Some((cpu, priority)) = station {
                thread::set_affinity(&[cpu as u16])?;
                thread::set_fifo(priority)?;
                thread::timer_slack(1)?;
                thread::prefault_stack(STACK_BYTES - (64 << 10));
            }
            Ok(())
        };
        if let Err(error) = there() {
            let _ = self.refused.set(error);
        }
        let prepared = prepare();
        self.wait().map(|origin_ns| (origin_ns, prepared))
    }
}

/// Whether pinned threads at fixed priorities can be had, tried by one.
fn strict(cpus: &[u16]) -> Result<(), taut_sys::Error> {
    let tried = std::thread::scope(|threads| {
        let tried = threads.spawn(|| {
            cpus.iter().try_for_each(|cpu| thread::set_affinity(&[*cpu]))?;
            thread::set_fifo(DISPATCHER)?;
            thread::set_other()
        });
        tried.join()
    });
    // It does nothing that panics.
    tried.unwrap_or(Err(taut_sys::Error { call: "sched_setscheduler", errno: taut_sys::EPERM }))
}

impl Setup<'_> {
    /// Starts everything, calls `main` on the calling thread meanwhile, and stops when that returns. Gives what `main`
    /// gave, and what became of all jobs.
    ///
    /// # Errors
    /// [`SetupError`]: nothing has run.
    ///
    /// # Panics
    /// If a job panicked, or a work that was asked whether it begins, when all threads have ended.
    pub fn run<R>(
        mut self,
        wanted: Wanted,
        main: impl FnOnce(&Exec<'_>) -> R,
    ) -> Result<(R, Outcome), SetupError> {
        self.check()?;
        let cpus: Vec<_> = self.cores.iter().map(|core| core.cpu).collect();
        let posture = match wanted {
            Wanted::Loose => Posture::Loose { why: None },
            Wanted::Strict => strict(&cpus).map(|()| Posture::Strict).map_err(SetupError::Posture)?,
            Wanted::Best => {
                strict(&cpus).map_or_else(|why| Posture::Loose { why: Some(why) }, |()| Posture::Strict)
            }
        };
        let is_strict = posture == Posture::Strict;
        // Until all threads have ended.
        let _cpus = if is_strict { self.take_cpus()? } else { Vec::new() };
        let (mut shareds, mut bodies, mut bells) = (Vec::new(), Vec::new(), Vec::new());
        for core in &mut self.cores {
            bodies.push(Works::new(std::mem::take(&mut core.works)));
            bells.push(std::mem::take(&mut core.bells));
            #[cfg(test)]
            self.fault.put_in(core);
            shareds.push(core.build(is_strict, self.handler, self.delay_ns)?);
            #[cfg(test)]
            self.fault.put_into(&mut shareds);
        }
        let (control, start) = (Control::default(), Start::default());
        let indices: Vec<_> = self.cores.iter().map(|core| core.indices.clone()).collect();
        let panicked = || {
            control.panic();
            stop_all(&shareds);
        };
        let on_stop = self.on_stop;
        let result = std::thread::scope(|threads| {
            let off = CalledOff(&start);
            let mut count = 0;
            for (at, ((shared, works), bells)) in shareds.iter().zip(&bodies).zip(&mut bells).enumerate() {
                let priorities = Ladder::new(shared.gates.len(), is_strict).priorities();
                let station = |priority| is_strict.then_some((shared.cpu, priority));
                // The highest first: so they go on, after a SIGSTOP, in the order of their rungs.
                for me in (0..shared.gates.len() as u32).rev() {
                    let (start, panicked) = (&start, &panicked);
                    let station = station(priorities[me as usize]);
                    let spawned = builder("worker", shared.cpu).spawn_scoped(threads, move || {
                        shared.tids[me as usize].store(thread::tid(), Ordering::Release);
                        if let Some((_, seat)) = start.at_station(station, Seat::take) {
                            work(shared, works, (me, &seat), panicked);
                        }
                    });
                    spawned
                        .map_err(|error| SetupError::Thread(format!("no thread for a worker: {error}")))?;
                    count += 1;
                }
                let (start, control, indices, all) = (&start, &control, &indices[at], &shareds);
                let panicked = &panicked;
                let station = station(DISPATCHER);
                let spawned = builder("dispatch", shared.cpu).spawn_scoped(threads, move || {
                    let ahead = || if is_strict { Ahead::new() } else { None };
                    shared.dispatcher.store(thread::tid(), Ordering::Release);
                    if let Some((origin_ns, ahead)) = start.at_station(station, ahead) {
                        let stop = |task: u32| {
                            control.overrun(indices[task as usize]);
                            stop_all(all);
                            if let Some(told) = on_stop {
                                let _ = works.call(panicked, || told(indices[task as usize]));
                            }
                        };
                        dispatch(shared, works, bells, ahead, origin_ns, &stop, panicked);
                    }
                    shared.dispatcher.store(0, Ordering::Release);
                });
                spawned
                    .map_err(|error| SetupError::Thread(format!("no thread for a dispatcher: {error}")))?;
                count += 1;
            }
            start.gathered(count);
            if let Some(error) = start.refused.get() {
                return Err(SetupError::Posture(*error));
            }
            let origin_ns = clock::monotonic_ns() + LEAD_NS;
            start.origin_ns.store(origin_ns, Ordering::Relaxed);
            start.say(GO);
            std::mem::forget(off);
            let exec = Exec { cores: &shareds, control: &control, posture, origin_ns };
            let stopped = Stopped(&exec);
            let result = main(&exec);
            drop(stopped);
            Ok(result)
        })?;
        if let Some(panic) = bodies.iter().find_map(Works::panicked) {
            std::panic::resume_unwind(panic);
        }
        shareds.iter_mut().for_each(Shared::record_counts);
        let reason = control.reason().unwrap_or(Reason::Asked);
        let mut tasks = vec![Default::default(); self.tasks];
        for (shared, indices) in shareds.iter_mut().zip(indices) {
            for (task, index) in shared.alone().tasks.iter().zip(indices) {
                tasks[index] = task.outcome;
            }
        }
        Ok((result, Outcome { tasks, posture, reason }))
    }
}

impl<'w> Setup<'w> {
    /// Says to those who share resources with a core that its CPU is this process's.
    fn take_cpus(&self) -> Result<Vec<Cpu<'w>>, SetupError> {
        let others = |core: &CoreSetup<'w>| core.others.clone().into_iter();
        let all = self.cores.iter().flat_map(|core| others(core).map(|other| (core.cpu, other)));
        let take = |(cpu, (lives, alive)): (u16, (Lives<'w>, &'w Alive))| {
            alive.take_cpu(lives, cpu).map_err(|error| match error {
                LayoutError::Taken => SetupError::CpuElsewhere(cpu),
                error => SetupError::Thread(format!("CPU {cpu} cannot be said to be taken: {error}")),
            })
        };
        all.map(take).collect()
    }
}

impl CoreSetup<'_> {
    fn build(&mut self, strict: bool, handler: crate::Handler, delay_ns: u64) -> Result<Shared, SetupError> {
        let made = self.attributes().rule(self.rule);
        // Everything was made for as many as there are.
        let rule = made.map_err(|misuse| SetupError::Thread(format!("CPU {}: {misuse}", self.cpu)))?;
        let tasks = self.tasks.iter().map(|task| Task::new(task, self.rule));
        let recorder = self.recorder.take();
        let (recorder, level, core) =
            recorder.map_or((None, Level::None, 0), |(to, level, core)| (Some(to), level, core));
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
        // They have been checked.
        let serving = Serving::new(count, &self.servers, subjects)
            .map_err(|unfit| SetupError::Thread(format!("CPU {}: {unfit}", self.cpu)))?;
        let ladder = Ladder::new(self.threads(), strict);
        let state = State::new((rule, serving), tasks.collect(), any_queue(count), ladder, log);
        let by_hand = |task: &crate::TaskSetup| task.release == crate::Release::ByHand;
        let (words, listed) = self.listed();
        Ok(Shared::new(Parts {
            state,
            strict,
            cpu: self.cpu.into(),
            listed,
            words,
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

/// Nothing is released any more on any core.
pub(crate) fn stop_all(cores: &[Shared]) {
    for core in cores {
        core.stop.store(true, Ordering::Release);
        core.call();
    }
}

fn builder(what: &str, cpu: u32) -> Builder {
    Builder::new().name(format!("{what}-{cpu}")).stack_size(STACK_BYTES)
}

/// Lets threads go home that wait for the start, if it does not come.
struct CalledOff<'s>(&'s Start);

impl Drop for CalledOff<'_> {
    fn drop(&mut self) {
        self.0.say(CALLED_OFF);
    }
}

/// Stops everything when `main` returns, or panics.
struct Stopped<'e>(&'e Exec<'e>);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}
