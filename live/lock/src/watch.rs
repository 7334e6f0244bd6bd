// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::future::Future;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;

use taut_sys::clock;

use crate::event_count::{Epoch, EventCount, Woken};

/// Waits on an event count for `async` functions, on any executor: a thread sleeps in their place.
///
/// `B` holds the event count: it is a reference, or anything that keeps the memory mapped. Not for real-time
/// threads. The watch's thread calls the wakers. A child of `fork` does not have that thread: there a wait asks its
/// executor to poll it again and again.
pub struct Watch<B: Deref<Target = EventCount> + Send + Sync + 'static> {
    shared: Arc<Shared<B>>,
    thread: Option<JoinHandle<()>>,
    /// The process that has the thread.
    process: u32,
    /// The number of waits so far.
    waits: u64,
}

struct Shared<B> {
    events: B,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: Option<Waiting>,
    /// The number of the wait that ended, and why it ended.
    ended: Option<(u64, Woken)>,
    stop: bool,
}

struct Waiting {
    /// The number of the wait. A wait may be forgotten, and the next must not be taken for it.
    number: u64,
    epoch: Epoch,
    deadline_ns: Option<u64>,
    waker: Waker,
}

impl<B> Shared<B> {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B: Deref<Target = EventCount> + Send + Sync + 'static> Watch<B> {
    /// Starts the thread that waits.
    ///
    /// # Errors
    /// The error of the system, if it can start no more threads.
    pub fn new(events: B) -> std::io::Result<Self> {
        let shared = Arc::new(Shared { events, state: Mutex::default(), changed: Condvar::new() });
        let theirs = Arc::clone(&shared);
        let thread =
            std::thread::Builder::new().name("taut-watch".to_owned()).spawn(move || listen(&theirs))?;
        Ok(Self { shared, thread: Some(thread), process: std::process::id(), waits: 0 })
    }

    /// The notifications so far. Call it before looking for a value.
    pub fn epoch(&self) -> Epoch {
        self.shared.events.listener().epoch()
    }

    /// Ends at a notification since `epoch`, or at `deadline_ns` of CLOCK_MONOTONIC if there is one. May end in
    /// vain.
    pub fn wait(&mut self, epoch: Epoch, deadline_ns: Option<u64>) -> Notified<'_, B> {
        self.waits += 1;
        Notified { number: self.waits, watch: self, epoch, deadline_ns }
    }

    /// Calls `look` until it finds something; `None` if the deadline passes before.
    pub async fn until<T>(
        &mut self,
        deadline_ns: Option<u64>,
        mut look: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        loop {
            let epoch = self.epoch();
            if let Some(found) = look() {
                return Some(found);
            }
            if self.wait(epoch, deadline_ns).await == Woken::TimedOut {
                return look();
            }
        }
    }
}

impl<B: Deref<Target = EventCount> + Send + Sync + 'static> Drop for Watch<B> {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // A child of `fork` has no such thread, and its parent's goes on.
            if self.process != std::process::id() {
                return std::mem::forget(thread);
            }
            self.shared.state().stop = true;
            self.shared.changed.notify_one();
            // If that thread itself drops this watch, because a waker owned the watch, the thread ends by itself.
            if thread.thread().id() == std::thread::current().id() {
                return;
            }
            while !thread.is_finished() {
                // Repeated, because the thread may be between its look at `stop` and its sleep.
                self.shared.events.wake_in_vain();
                std::thread::yield_now();
            }
            let _ = thread.join();
        }
    }
}

/// The longest sleep of the thread before it checks whether its wait was given up. In nanoseconds.
const GIVEN_UP_NS: u64 = 100_000_000;

fn listen<B: Deref<Target = EventCount>>(shared: &Shared<B>) {
    let listener = shared.events.listener();
    let mut state = shared.state();
    while !state.stop {
        let Some(waiting) = &state.waiting else {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        let (number, epoch, deadline_ns) = (waiting.number, waiting.epoch, waiting.deadline_ns);
        drop(state);
        let look_ns = clock::monotonic_ns().saturating_add(GIVEN_UP_NS);
        let _ = listener.wait(epoch, Some(deadline_ns.map_or(look_ns, |end| end.min(look_ns))));
        state = shared.state();
        let woken = if listener.epoch() != epoch {
            Woken::Notified
        } else if deadline_ns.is_some_and(|end| clock::monotonic_ns() >= end) {
            Woken::TimedOut
        } else {
            // A wake in vain, or time to check: the caller sees neither.
            continue;
        };
        // If this wait was given up meanwhile, another wait may be in its place.
        if let Some(waiting) = state.waiting.take_if(|waiting| waiting.number == number) {
            state.ended = Some((number, woken));
            drop(state);
            wake(waiting.waker);
            state = shared.state();
        }
    }
}

/// Calls a waker, which is foreign code. It may poll the wait, drop it, or drop the whole watch, so the caller
/// holds no lock. It may also panic, which ends only its own wait.
fn wake(waker: Waker) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
        // Dropping the payload of the panic could panic again.
        std::mem::forget(panic);
    }
}

/// A wait in progress; given up when dropped.
pub struct Notified<'w, B: Deref<Target = EventCount> + Send + Sync + 'static> {
    watch: &'w mut Watch<B>,
    number: u64,
    epoch: Epoch,
    deadline_ns: Option<u64>,
}

impl<B: Deref<Target = EventCount> + Send + Sync + 'static> Future for Notified<'_, B> {
    type Output = Woken;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Woken> {
        if self.watch.epoch() != self.epoch {
            return Poll::Ready(Woken::Notified);
        }
        if self.watch.process != std::process::id() {
            // A child of `fork` has no thread that waits: it polls again and again.
            if self.deadline_ns.is_some_and(|end| clock::monotonic_ns() >= end) {
                return Poll::Ready(Woken::TimedOut);
            }
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        // A waker is cloned and dropped without the lock, for the reason for which `wake` calls it without the lock.
        let waker = context.waker().clone();
        let mut state = self.watch.shared.state();
        if let Some((number, woken)) = state.ended.take()
            && number == self.number
        {
            return Poll::Ready(woken);
        }
        let (number, epoch, deadline_ns) = (self.number, self.epoch, self.deadline_ns);
        let before = state.waiting.replace(Waiting { number, epoch, deadline_ns, waker });
        drop(state);
        self.watch.shared.changed.notify_one();
        drop(before);
        Poll::Pending
    }
}

impl<B: Deref<Target = EventCount> + Send + Sync + 'static> Drop for Notified<'_, B> {
    fn drop(&mut self) {
        // In a child of `fork` the lock may stay locked for ever.
        if self.watch.process != std::process::id() {
            return;
        }
        let mut state = self.watch.shared.state();
        state.ended = None;
        let waiting = state.waiting.take();
        drop(state);
        drop(waiting);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::task::Wake;
    use std::thread::Thread;

    use super::*;

    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    /// A minimal executor: one future, this thread.
    fn block_on<T>(future: impl Future<Output = T>) -> T {
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut context = Context::from_waker(&waker);
        let mut future = std::pin::pin!(future);
        loop {
            match future.as_mut().poll(&mut context) {
                Poll::Ready(result) => return result,
                Poll::Pending => std::thread::park(),
            }
        }
    }

    #[test]
    fn every_value_is_waited_for() {
        const VALUES: u64 = 2_000;
        let (events, written) = (Arc::new(EventCount::new()), Arc::new(AtomicU64::new(0)));
        let (theirs, count) = (Arc::clone(&events), Arc::clone(&written));
        let writer = std::thread::spawn(move || {
            let mut notifier = theirs.notifier();
            for value in 1..=VALUES {
                count.store(value, Ordering::Relaxed);
                notifier.notify();
                if value % 7 == 0 {
                    std::thread::yield_now();
                }
            }
        });
        let mut watch = Watch::new(events).unwrap();
        let mut last = 0;
        while last < VALUES {
            let newer = || Some(written.load(Ordering::Relaxed)).filter(|now| *now > last);
            last = block_on(watch.until(None, newer)).unwrap();
        }
        writer.join().unwrap();
    }

    #[test]
    fn a_deadline_ends_it_and_a_wait_can_be_given_up() {
        let mut watch = Watch::new(Arc::new(EventCount::new())).unwrap();
        let soon = clock::monotonic_ns() + 5_000_000;
        assert_eq!(block_on(watch.until(Some(soon), || None::<()>)), None);
        assert!(clock::monotonic_ns() >= soon);
        let epoch = watch.epoch();
        let unpark = Arc::new(Unpark(std::thread::current()));
        let waker = Waker::from(Arc::clone(&unpark));
        {
            let mut given_up = watch.wait(epoch, None);
            assert!(Pin::new(&mut given_up).poll(&mut Context::from_waker(&waker)).is_pending());
        }
        drop(waker);
        assert_eq!(Arc::strong_count(&unpark), 1, "nobody holds what would have been woken");
        let soon = clock::monotonic_ns() + 5_000_000;
        assert_eq!(block_on(watch.wait(epoch, Some(soon))), Woken::TimedOut);
        let events = Arc::clone(&watch.shared.events);
        events.notifier().notify();
        assert_eq!(block_on(watch.wait(epoch, None)), Woken::Notified);
        drop(watch);
    }

    /// The thread has ended when the drop of its watch returns, whatever the thread was doing.
    #[test]
    fn no_thread_outlives_its_watch() {
        let events = Arc::new(EventCount::new());
        for round in 0..if cfg!(miri) { 4 } else { 200 } {
            let mut watch = Watch::new(Arc::clone(&events)).unwrap();
            let epoch = watch.epoch();
            let mut wait = watch.wait(epoch, None);
            if round % 2 == 0 {
                let mut context = Context::from_waker(Waker::noop());
                assert!(Pin::new(&mut wait).poll(&mut context).is_pending());
            }
            drop(wait);
            drop(watch);
            assert_eq!(Arc::strong_count(&events), 1, "round {round}");
        }
    }

    #[test]
    #[cfg(not(miri))]
    fn a_child_of_fork_waits_and_drops_what_its_parent_listens_by() {
        static EVENTS: EventCount = EventCount::new();
        let mut watch = Watch::new(&EVENTS).unwrap();
        // SAFETY: the child calls nothing that another thread could have locked, and an alarm ends it if that takes
        // long.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: plain integers; the default action of the alarm ends the child.
            unsafe { libc::alarm(5) };
            // No thread wakes the wait here: it polls by itself.
            let soon = clock::monotonic_ns() + 5_000_000;
            let epoch = watch.epoch();
            let woken = block_on(watch.wait(epoch, Some(soon)));
            let found = block_on(watch.until(Some(soon), || Some(())));
            if (woken, found) != (Woken::TimedOut, Some(())) {
                // SAFETY: as below.
                unsafe { libc::_exit(1) };
            }
            drop(watch);
            // SAFETY: ends the child without running what belongs to its parent.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: the child is ours, and `status` is a local integer.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0);
        let epoch = watch.epoch();
        EVENTS.notifier().notify();
        assert_ne!(block_on(watch.wait(epoch, None)), Woken::TimedOut, "its thread goes on");
    }
}
