// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Threads that measure, and the mechanism that ends them if another thread keeps their CPU.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle, Thread};
use std::time::{Duration, Instant};

use taut_sys::{Error, thread};

/// Priority of a measuring thread: above all threads but those that guard the system.
pub(crate) const MEASURES: Option<u8> = Some(98);
/// Priority of the thread that wakes the measuring thread and is preempted by it.
pub(crate) const SERVES: Option<u8> = Some(10);
/// An ordinary thread. A thread that is busy all the time must not be real-time, or the kernel's throttle would stop
/// all real-time threads.
pub(crate) const ORDINARY: Option<u8> = None;

/// How much longer than undisturbed a measurement may take before the calling thread gives it up.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// Why there is no figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotMeasured {
    /// The system does not permit the measurement, or the CPU does not exist.
    System(Error),
    /// The threads that measure did not get enough time on the CPU: other threads keep it.
    Starved,
}

impl fmt::Display for NotMeasured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(error) => error.fmt(f),
            Self::Starved => f.write_str("the threads that measure did not get the CPU"),
        }
    }
}

impl std::error::Error for NotMeasured {}

impl From<Error> for NotMeasured {
    fn from(error: Error) -> Self {
        Self::System(error)
    }
}

/// The threads of one measurement, and the instant at which the calling thread gives it up.
pub(crate) struct Crew {
    until: Instant,
    given_up: AtomicBool,
    tids: Mutex<Vec<i32>>,
    waits: Thread,
}

/// A thread on its CPU and at its priority, which ends with a result.
pub(crate) struct Posted<'s, T> {
    thread: ScopedJoinHandle<'s, Result<T, Error>>,
    ended: Arc<AtomicBool>,
}

impl<T> Posted<'_, T> {
    /// Whether the thread has finished its work and is only about to exit.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }
}

/// Reports the end of a thread to its crew, even if the thread panics.
struct Ending<'a> {
    crew: &'a Crew,
    ended: Arc<AtomicBool>,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        self.crew.wake();
    }
}

impl Crew {
    /// The crew of a measurement that takes `takes` if undisturbed.
    pub(crate) fn new(takes: Duration) -> Self {
        let now = Instant::now();
        let until = now.checked_add(takes).and_then(|end| end.checked_add(PATIENCE));
        Self {
            // No measurement lasts a year.
            until: until.unwrap_or_else(|| now + Duration::from_secs(31_536_000)),
            given_up: AtomicBool::new(false),
            tids: Mutex::default(),
            waits: std::thread::current(),
        }
    }

    /// Whether the threads must end now, with whatever they have measured.
    pub(crate) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    /// As [`Self::is_given_up`], but also true once the time is over. For a thread that spins on its CPU: the thread
    /// that would give up may have no other CPU to run on.
    pub(crate) fn is_over(&self) -> bool {
        self.is_given_up() || Instant::now() >= self.until
    }

    /// Starts a thread that takes a priority, moves to a CPU and works there.
    pub(crate) fn post<'s, T: Send + 's>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        cpu: u16,
        priority: Option<u8>,
        work: impl FnOnce() -> T + Send + 's,
    ) -> Result<Posted<'s, T>, Error> {
        let ended = Arc::new(AtomicBool::new(false));
        let ending = Ending { crew: self, ended: Arc::clone(&ended) };
        let body = move || {
            let _ending = ending;
            self.tids().push(thread::tid());
            // Sets the priority first: on that CPU, an ordinary thread may not get to run and ask for the priority.
            match priority {
                Some(priority) => thread::set_fifo(priority)?,
                None => thread::set_other()?,
            }
            thread::set_affinity(&[cpu])?;
            thread::prefault_stack(64 << 10);
            // The thread keeps its priority until it exits: an ordinary thread might not get the CPU time to exit.
            Ok(work())
        };
        let thread = Builder::new().name("taut-gauge".into()).spawn_scoped(scope, body).map_err(|error| {
            Error { call: "clone", errno: error.raw_os_error().unwrap_or(taut_sys::ENOMEM) }
        })?;
        Ok(Posted { thread, ended })
    }

    /// Waits for the result of a thread. When [`PATIENCE`] is used up, gives the measurement up. Passes on the panic
    /// of a thread that panicked.
    pub(crate) fn joined<T>(&self, posted: Posted<'_, T>) -> Result<T, NotMeasured> {
        self.wait_for(|| posted.has_ended());
        // The thread has only some instructions left, if it gets to run them. If a thread moves to its CPU after the
        // measurement was given up, this loop moves it away again.
        while !posted.thread.is_finished() {
            if self.is_over() {
                self.give_up();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let found = posted.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        if self.is_given_up() { Err(NotMeasured::Starved) } else { Ok(found) }
    }

    /// Waits until `so` holds, or until [`PATIENCE`] is used up. Checks `so` when [`Self::wake`] is called, and does
    /// not poll in between: polling would disturb the measurement.
    pub(crate) fn wait_for(&self, so: impl Fn() -> bool) {
        while !so() && !self.is_given_up() {
            let left = self.until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.give_up();
            } else {
                std::thread::park_timeout(left);
            }
        }
    }

    /// Makes the waiting thread check its condition again.
    pub(crate) fn wake(&self) {
        self.waits.unpark();
    }

    /// Makes all threads end, on any CPU, because the CPU that they were to measure is not available.
    fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
        let online = thread::online_cpus();
        for &tid in self.tids().iter() {
            // This fails for a thread that has ended, which needs no CPU any more.
            let _ = thread::set_affinity_of(tid, &online);
        }
    }

    fn tids(&self) -> MutexGuard<'_, Vec<i32>> {
        self.tids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
