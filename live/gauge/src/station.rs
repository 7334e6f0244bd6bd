// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Threads that measure, and what ends them where somebody else has their CPU.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle, Thread};
use std::time::{Duration, Instant};

use taut_sys::{Error, thread};

/// Above all but what guards the system.
pub(crate) const MEASURES: Option<u8> = Some(98);
/// What wakes it and is preempted.
pub(crate) const SERVES: Option<u8> = Some(10);
/// An ordinary thread: one that is busy all the time must not be real-time, or the kernel's throttle would stop all that
/// are.
pub(crate) const ORDINARY: Option<u8> = None;

/// How much longer a measurement may take than its samples do where nobody disturbs; then it is given up.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// Why there is no figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The system does not permit it, or the CPU is not there.
    System(Error),
    /// The threads that measure did not get the CPU for long enough: others have it.
    Starved,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(error) => error.fmt(f),
            Self::Starved => f.write_str("the threads that measure did not get the CPU"),
        }
    }
}

impl std::error::Error for Refused {}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::System(error)
    }
}

/// The threads of one measurement, and until when it may last.
pub(crate) struct Crew {
    until: Instant,
    given_up: AtomicBool,
    tids: Mutex<Vec<i32>>,
    waits: Thread,
}

/// A thread at its station, ended with what it found.
pub(crate) struct Posted<'s, T> {
    thread: ScopedJoinHandle<'s, Result<T, Error>>,
    ended: Arc<AtomicBool>,
}

impl<T> Posted<'_, T> {
    /// Whether it has nothing more to do than to end.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }
}

/// Says so, however a thread ends.
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
    /// For a measurement that takes so long where nobody disturbs.
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

    /// Whether a thread is to end, with whatever it has.
    pub(crate) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    /// The same, for a thread that keeps its own CPU while it waits: whoever gives up may have no other.
    pub(crate) fn is_over(&self) -> bool {
        self.is_given_up() || Instant::now() >= self.until
    }

    /// Starts a thread that goes to a CPU and a priority and works there.
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
            // The priority first: at the CPU an ordinary thread may not get to ask for it.
            match priority {
                Some(priority) => thread::set_fifo(priority)?,
                None => thread::set_other()?,
            }
            thread::set_affinity(&[cpu])?;
            thread::prefault_stack(64 << 10);
            // It ends at its priority: without, it might not get the CPU that it takes.
            Ok(work())
        };
        let thread = Builder::new().name("taut-gauge".into()).spawn_scoped(scope, body).map_err(|error| {
            Error { call: "clone", errno: error.raw_os_error().unwrap_or(taut_sys::ENOMEM) }
        })?;
        Ok(Posted { thread, ended })
    }

    /// Waits for what a thread finds, until there is no patience left; then all are to end. One that panicked passes its
    /// panic on.
    pub(crate) fn joined<T>(&self, posted: Posted<'_, T>) -> Result<T, Refused> {
        self.wait_for(|| posted.has_ended());
        // From there it is some instructions, if it gets to them: one that goes to its CPU only now is let go again.
        while !posted.thread.is_finished() {
            if self.is_over() {
                self.give_up();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let found = posted.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        if self.is_given_up() { Err(Refused::Starved) } else { Ok(found) }
    }

    /// Waits until something is so that [`Self::wake`] says, or until there is no patience left. It does not look in
    /// between: that would be seen in what is measured.
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

    /// Lets the waiting thread look again.
    pub(crate) fn wake(&self) {
        self.waits.unpark();
    }

    /// Lets all threads end: on any CPU, as the one they are to measure is not to be had.
    fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
        let online = thread::online_cpus();
        for &tid in self.tids().iter() {
            // One that has ended needs it no more.
            let _ = thread::set_affinity_of(tid, &online);
        }
    }

    fn tids(&self) -> MutexGuard<'_, Vec<i32>> {
        self.tids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
