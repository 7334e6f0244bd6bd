// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Two processors, each with a thread that is real-time if the system permits it, and the words by which the two
//! sides of a trial begin and end together.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::thread;
use std::time::{Duration, Instant};

use taut_sys::thread as own;

use crate::clock::Clock;

/// Priority under SCHED_FIFO.
const PRIORITY: u8 = 20;

/// A word on cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
pub(crate) struct Word(AtomicU64);

/// The words by which the sides of a trial begin and end together. They may be in memory of two processes. All are
/// zero at first.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Signals {
    ready: Word,
    go: Word,
    stop: Word,
    over: Word,
    count: Word,
}

impl Signals {
    /// Whether the far side must end.
    #[inline(always)]
    pub(crate) fn stopped(&self) -> bool {
        self.stop.0.load(Relaxed) != 0
    }

    /// Whether the far side has ended.
    #[inline(always)]
    pub(crate) fn over(&self) -> bool {
        self.over.0.load(Relaxed) != 0
    }

    /// What the far side counted.
    pub(crate) fn count(&self) -> u64 {
        self.count.0.load(Acquire)
    }

    /// Reports what the far side counted.
    pub(crate) fn set_count(&self, count: u64) {
        self.count.0.store(count, Release);
    }

    /// Asks the far side to end.
    pub(crate) fn stop(&self) {
        self.stop.0.store(1, Release);
    }

    /// Runs the far side's part of a trial.
    pub(crate) fn far(&self, surroundings: &Surroundings, part: impl FnOnce()) {
        surroundings.enter(1);
        self.ready.0.store(1, Release);
        let patience = Instant::now() + Duration::from_secs(5);
        while self.go.0.load(Acquire) == 0 && Instant::now() < patience {
            std::hint::spin_loop();
        }
        part();
        self.over.0.store(1, Release);
        surroundings.leave();
    }

    /// Runs the near side's part of a trial in the calling thread, once the far side is ready. `alive` returns
    /// whether the far side may still become ready.
    pub(crate) fn near<A>(
        &self,
        surroundings: &Surroundings,
        mut alive: impl FnMut() -> bool,
        part: impl FnOnce() -> A,
    ) -> Result<A, String> {
        let patience = Instant::now() + Duration::from_secs(20);
        while self.ready.0.load(Acquire) == 0 {
            if !alive() || Instant::now() > patience {
                return Err("the other side did not begin".into());
            }
            thread::sleep(Duration::from_micros(20));
        }
        surroundings.enter(0);
        self.go.0.store(1, Release);
        let begin = Instant::now();
        let made = part();
        self.stop();
        surroundings.leave();
        // This keeps real-time threads below the share that Linux gives them, so that no trial is throttled.
        thread::sleep(begin.elapsed() / 8);
        Ok(made)
    }
}

/// The processors, and what the system granted.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    /// The near and the far processor.
    pub(crate) cpus: [u16; 2],
    /// Whether the threads are SCHED_FIFO.
    pub(crate) real_time: bool,
    /// The timer.
    pub(crate) clock: Clock,
    /// Divides the length of trials: 1, or more for a quick look.
    pub(crate) haste: u32,
}

impl Surroundings {
    /// Uses the last two processors that this thread may use.
    pub(crate) fn new(haste: u32) -> Result<Self, String> {
        Self::with(Clock::calibrated(), haste)
    }

    /// The same with a calibrated timer.
    pub(crate) fn with(clock: Clock, haste: u32) -> Result<Self, String> {
        let cpus = own::affinity().map_err(|error| error.to_string())?;
        let [.., near, far] = cpus[..] else { return Err("a trial needs two processors".into()) };
        let real_time = own::set_fifo(PRIORITY).and_then(|()| own::set_other()).is_ok();
        Ok(Self { cpus: [near, far], real_time, clock, haste })
    }

    fn enter(&self, side: usize) {
        // A thread that cannot be pinned or raised shows in the spread; `real_time` already says whether it may be
        // raised.
        let _ = own::set_affinity(&[self.cpus[side]]);
        if self.real_time {
            let _ = own::set_fifo(PRIORITY);
        }
    }

    /// The calling thread is an ordinary one again, wherever it may run.
    pub(crate) fn leave(&self) {
        if self.real_time {
            let _ = own::set_other();
        }
        let _ = own::set_affinity(&self.cpus);
    }

    /// Puts the calling thread on the far processor, above the far side.
    pub(crate) fn above(&self) {
        let _ = own::set_affinity(&[self.cpus[1]]);
        if self.real_time {
            let _ = own::set_fifo(PRIORITY + 1);
        }
    }

    /// Runs the near part here and the far part in a thread on the other processor. Returns the near part's result
    /// and the far side's count.
    pub(crate) fn both<A>(
        &self,
        near: impl FnOnce(&Signals) -> A,
        far: impl FnOnce(&Signals) + Send,
    ) -> Result<(A, u64), String> {
        let signals = Signals::default();
        let made = thread::scope(|scope| {
            scope.spawn(|| signals.far(self, || far(&signals)));
            signals.near(self, || true, || near(&signals))
        })?;
        Ok((made, signals.count()))
    }

    /// A time of a trial, `ms`, in ticks and divided by the haste.
    pub(crate) fn ticks(&self, ms: u32) -> u64 {
        self.clock.ticks(Duration::from_millis(ms.into())) / u64::from(self.haste)
    }
}
