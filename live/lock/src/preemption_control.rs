// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Preemption control: the threads of one processor share one state; the dispatcher preempts all others and defers
//! while a job is inside.
//!
//! # Use
//! An executor has such a state per core. Its jobs change the state in sections of a few instructions, at every
//! lock and unlock. The dispatcher, which Linux runs before any job, changes it at every release. A job's section
//! costs two stores and three loads, and no exchange and no processor fence, because one processor runs one thread
//! at a time.
//!
//! The thread that is inside can set which job's thread **owns the fast path**. When the owner enters, it learns that from
//! a load that it needs anyway.
//!
//! # Callers
//! `-` may run at the same time, `X` may not. The threads of the jobs (the job side) are all on one processor, and
//! have different fixed priorities or are asleep. So one of them runs while the others are stopped outside of
//! sections.
//!
//! |            | job side | dispatcher |
//! |------------|----------|------------|
//! | job side   | X        | -          |
//! | dispatcher | -        | X          |
//!
//! No type can guarantee that all threads are on one processor. So each caller checks which processor it is on
//! **after** it has declared that it is inside, and before it touches anything: a job after
//! [`PreemptionControl::enter_section`], the dispatcher in the closure of [`PreemptionControl::dispatcher_enter`].
//! A caller that finds itself elsewhere, or gets [`WrongProcessor`], must end the process.
//!
//! # Progress
//! | operation                           | bound                                                    |
//! |-------------------------------------|----------------------------------------------------------|
//! | `enter_section`, `enter_section_as` | 2 loads, 1 store                                         |
//! | `try_enter_section`                 | 1 exchange, then 1 load or 1 store                       |
//! | `leave_section`                     | 1 store, 1 load                                          |
//! | `dispatcher_enter`                  | 1 exchange, 1 load, 1 fence, at most 1 store             |
//! | `dispatcher_leave`; `transfer_to`   | 1 store; 2 stores                                        |
//! | `set_fast_path_owner`               | 1 load, at most 1 exchange                               |
//!
//! # Orderings
//! - O1 down: Release of `section` in `leave_section` ↔ Acquire of `section` in `dispatcher_enter` and in the next
//!   `enter_section`.
//! - O2 up: Release of `dispatcher` in `dispatcher_leave` and `transfer_to` ↔ Acquire of `dispatcher` in
//!   `enter_section`; an exchange in `set_fast_path_owner` between them continues the release sequence.
//! - O3 both: a SeqCst fence between the store of a thread's own word and its load of the other side's word: a
//!   processor fence in `dispatcher_enter`, a fence of the compiler alone in `enter_section` and `leave_section`. On
//!   one processor, where a thread sees all that ran there before it, the compiler fence is as good as a processor
//!   fence. A model runs each thread on its own processor; there it is a processor fence.
//!
//! # Crash
//! The threads are of one process and die together. A thread that ends or panics between `enter_section` and
//! `leave_section` leaves `section` set: all jobs that enter afterwards get an error, and the dispatcher waits for
//! ever. An executor ends the process there.
//!
//! # Source
//! Ours. The two words are the entry protocol of Dekker's algorithm; new is that the job side cannot lose.

use taut_atomic::AtomicU32;
use taut_atomic::Ordering::{Acquire, Relaxed, Release};
use taut_atomic::fence;

// # State
//
// ```text
// section      0 no job is inside   1 a job is inside, or the dispatcher has started a thread that will clear it
// dispatcher   n not inside, thread n owns the fast path   NOBODY not inside, no thread owns the fast path
//              INSIDE it is checking, or is inside   PREEMPT_PENDING it found `section` set and went back to sleep
// ```
//
// # Invariants
//
// - I1 The dispatcher touches the state only between a `dispatcher_enter` that returned true and its
//   `dispatcher_leave` or `transfer_to`. A job touches it only between `enter_section`, or receiving the section from
//   another thread, and `leave_section`, or passing the section on.
// - I2 While `section` is 1, exactly one thread of the job side owns the section.
// - I3 If `dispatcher_enter` returned false, a `leave_section` after it returns true.
// - I4 If `enter_section_as` returned true, the last thread inside that set the fast path owner set it to this thread.

/// No thread owns the fast path. The numbers of threads are below this one.
pub const NOBODY: u32 = PREEMPT_PENDING - 1;
const PREEMPT_PENDING: u32 = u32::MAX - 1;
const INSIDE: u32 = u32::MAX;

/// Another thread is inside. The caller may touch nothing and can repair nothing: some thread is not where it must
/// be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrongProcessor {
    /// A job is inside: it slept or was migrated inside a section, or it runs on another processor.
    SectionOpen,
    /// The dispatcher is inside, on another processor.
    Dispatcher,
}

/// Whether a job or the dispatcher is inside, and whether preemption is pending.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct PreemptionControl {
    section: AtomicU32,
    dispatcher: AtomicU32,
    #[cfg(all(test, any(loom, shuttle)))]
    without: model::Without,
}

impl Default for PreemptionControl {
    fn default() -> Self {
        Self::new()
    }
}

impl PreemptionControl {
    /// A control with no thread inside.
    pub fn new() -> Self {
        Self {
            section: AtomicU32::new(0),
            dispatcher: AtomicU32::new(NOBODY),
            #[cfg(all(test, any(loom, shuttle)))]
            without: model::Without::Nothing,
        }
    }

    /// A control that is always in a section, for threads that another mechanism excludes from each other. A thread
    /// that tries to enter gets [`WrongProcessor::SectionOpen`], and uses that mechanism.
    pub fn always_in_section() -> Self {
        Self { section: AtomicU32::new(1), ..Self::new() }
    }

    /// Begins a section of a job.
    ///
    /// # Errors
    /// [`WrongProcessor`].
    pub fn enter_section(&self) -> Result<(), WrongProcessor> {
        // Proof: *A thread that is migrated.* Let a job find itself on processor c after its `enter_section`. At that
        // instant it runs there, so no other thread of c runs. No other thread is inside: each thread on c would have
        // left before it let this job run, except a thread that slept inside, and then the job sees that `section` is
        // set. If the kernel migrates the job from then on, it switches the job out, which orders the job's store of
        // `section` before whatever runs on c next: that thread finds `section` set. The same holds for the dispatcher
        // and its INSIDE. So there is no instant at which a migration lets two threads be inside: the second thread
        // finds the first inside, or finds itself on another processor. `membarrier` would prove this without the check
        // of the processor. It was measured at 0.5 µs per visit, and it interrupts the processors of other cores, which
        // no analysis charges.
        self.enter_section_as(NOBODY).map(drop)
    }

    /// As [`PreemptionControl::enter_section`], and returns whether `thread` owns the fast path. For [`NOBODY`] the
    /// result has no meaning.
    ///
    /// # Errors
    /// [`WrongProcessor`].
    #[inline(always)]
    pub fn enter_section_as(&self, thread: u32) -> Result<bool, WrongProcessor> {
        // Proof: *Two owners.* A job stores `section` and then loads `dispatcher`; the dispatcher stores INSIDE and
        // then loads `section`. By O3 one of the two sees the other's store. If the dispatcher sees `section` set, it
        // goes away. If `enter_section` sees the dispatcher inside, it returns an error, and its caller has touched
        // nothing. If the dispatcher was inside and has left, `enter_section` has seen what it did (O2); if the job has
        // left, `dispatcher_enter` has seen what the job did (O1). On one processor no thread preempts the dispatcher,
        // so `enter_section` never finds it inside.

        // O1 down (Acquire): what the last section did.
        if self.section.load(Acquire) != 0 {
            return Err(WrongProcessor::SectionOpen);
        }
        self.section.store(1, Relaxed);
        self.light_barrier();
        // O2 up (Acquire): what the dispatcher's last visit did.
        let dispatcher = self.dispatcher.load(Acquire);
        if dispatcher == thread {
            return Ok(true);
        }
        if dispatcher == INSIDE { Err(WrongProcessor::Dispatcher) } else { Ok(false) }
    }

    /// Sets the thread that owns the fast path from now on. For a job that is inside a section. If the dispatcher
    /// has tried to enter meanwhile, this changes nothing: the job must still call the dispatcher, which sets the
    /// owner itself.
    #[inline]
    pub fn set_fast_path_owner(&self, thread: u32) {
        // Proof: *The fast path owner.* Only a thread that is inside sets it: the dispatcher as it leaves, a job by
        // `set_fast_path_owner` before it leaves. So the last value is from the thread that was last inside, and a
        // thread that enters sees it with all else that thread did (O1, O2). By "two owners" no other thread sets it
        // while a section lasts: `dispatcher` can only become INSIDE or PREEMPT_PENDING. The job sets it by an
        // exchange that expects neither of these two, so it erases neither. If the word is one of them, the dispatcher
        // is or will be inside after the job (I3), and itself sets the owner that the state then has. Until then no
        // thread owns the fast path, which is always safe.
        let dispatcher = self.dispatcher.load(Relaxed);
        if dispatcher == thread || dispatcher >= PREEMPT_PENDING {
            return;
        }
        #[cfg(all(test, any(loom, shuttle)))]
        if self.without == model::Without::Exchange {
            self.dispatcher.store(thread, Release); // O2 up
            return;
        }
        // O2 up: an exchange continues the release sequence of the dispatcher's last visit. If it fails, preemption
        // is pending.
        let _ = self.dispatcher.compare_exchange(dispatcher, thread, Relaxed, Relaxed);
    }

    /// Ends a section that the job began, or that another thread passed on to it. Returns whether the caller must
    /// call the dispatcher, because the dispatcher has tried to enter meanwhile.
    #[inline(always)]
    #[must_use]
    pub fn leave_section(&self) -> bool {
        // Proof: *A lost request.* A `dispatcher_enter` that returns false has stored INSIDE, fenced, seen `section`
        // set, and stored PREEMPT_PENDING. `leave_section` clears `section`, fences, and loads `dispatcher`. By O3
        // either `leave_section` sees INSIDE or PREEMPT_PENDING, and returns true, or `dispatcher_enter` sees
        // `section` cleared, and returns true itself. That holds even if both run at the same time. A caller that gets
        // true from `leave_section` calls the dispatcher, which then finds `section` clear, or set by another job,
        // which must keep I3 in turn.
        self.section.store(0, Release); // O1 down
        self.light_barrier();
        #[cfg(all(test, any(loom, shuttle)))]
        if self.without == model::Without::Look {
            return false;
        }
        self.dispatcher.load(Relaxed) >= PREEMPT_PENDING
    }

    /// As [`PreemptionControl::enter_section`], for a thread that only the dispatcher preempts, and that may have
    /// preempted another job in the middle of a section. If `section` is set, the call returns `Ok(false)` and
    /// preemption is pending: the job that ends the section must call the dispatcher. The call sets `section` by an
    /// exchange. So if the dispatcher sets `section` at the same time for a thread that it starts, the caller does not
    /// take that section for its own.
    ///
    /// # Errors
    /// [`WrongProcessor`].
    pub fn try_enter_section(&self) -> Result<bool, WrongProcessor> {
        // Proof: *A thread that comes back.* Some thread of the job side cannot be preempted by the others, but may
        // find one of them in the middle of a section. It sets `section` by an exchange, so that it and a thread that
        // the dispatcher has just started do not both take themselves for the owner. If it finds `section` set, its
        // PREEMPT_PENDING stays until that section ends or the dispatcher has entered.

        // O1 down (Acquire): what the last section did.
        if self.section.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            self.dispatcher.store(PREEMPT_PENDING, Relaxed);
            return Ok(false);
        }
        self.light_barrier();
        // O2 up (Acquire): what the dispatcher's last visit did.
        if self.dispatcher.load(Acquire) == INSIDE {
            return Err(WrongProcessor::Dispatcher);
        }
        Ok(true)
    }

    /// Whether a section has begun, as the job side sees it.
    pub fn in_section(&self) -> bool {
        self.section.load(Relaxed) != 0
    }

    /// Begins a visit of the dispatcher and returns true. If a section is in progress, it returns false and preemption
    /// is pending: the `leave_section` that ends the section returns true. `look` runs once the dispatcher has declared
    /// itself inside, to check which processor this is.
    #[inline]
    pub fn dispatcher_enter(&self, look: impl FnOnce()) -> bool {
        // Proof: Only the dispatcher clears PREEMPT_PENDING, the next time it enters. So a caller of `leave_section`
        // that is preempted before it loads `dispatcher` may call the dispatcher once in vain, and never erases a
        // pending preemption.

        // An exchange and not a store, so that a model too orders it after the exchange of `set_fast_path_owner`; that
        // exchange alone does not give this order in a model.
        self.dispatcher.swap(INSIDE, Relaxed);
        self.heavy_barrier();
        look();
        // O1 down (Acquire): what the last section did.
        if self.section.load(Acquire) == 0 {
            return true;
        }
        self.dispatcher.store(PREEMPT_PENDING, Relaxed);
        false
    }

    /// Ends a visit of the dispatcher. From now on `thread` owns the fast path.
    pub fn dispatcher_leave(&self, thread: u32) {
        #[cfg(all(test, any(loom, shuttle)))]
        let thread = if self.without == model::Without::FastPathOwner { 0 } else { thread };
        self.dispatcher.store(thread, Release); // O2 up
    }

    /// Ends a visit of the dispatcher, and sets `section` for a thread of the job side that the dispatcher wakes
    /// next. The first act of that thread is to look at the state, and to call
    /// [`PreemptionControl::leave_section`]. From now on `thread` owns the fast path.
    pub fn transfer_to(&self, thread: u32) {
        // Proof: A thread that passes the section on wakes the new owner. That wake-up, which is the caller's duty,
        // orders the two threads as O1 does.
        self.section.store(1, Relaxed);
        self.dispatcher.store(thread, Release); // O2 up
    }

    /// O3 both, the job side.
    #[inline(always)]
    fn light_barrier(&self) {
        #[cfg(not(any(loom, shuttle)))]
        core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst); // O3 both
        #[cfg(any(loom, shuttle))]
        {
            #[cfg(test)]
            if self.without == model::Without::LightBarrier {
                return;
            }
            fence(taut_atomic::Ordering::SeqCst); // O3 both
        }
    }

    /// O3 both, the dispatcher's side.
    fn heavy_barrier(&self) {
        #[cfg(all(test, any(loom, shuttle)))]
        if self.without == model::Without::HeavyBarrier {
            return;
        }
        fence(taut_atomic::Ordering::SeqCst); // O3 both
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn each_finds_the_other() {
        let control = PreemptionControl::new();
        assert!(!control.in_section() && PreemptionControl::always_in_section().in_section());
        assert_eq!(control.enter_section(), Ok(()));
        assert!(control.in_section() && !control.dispatcher_enter(|| ()));
        assert_eq!(control.enter_section(), Err(WrongProcessor::SectionOpen));
        assert!(control.leave_section(), "the note");
        assert!(control.dispatcher_enter(|| ()));
        control.dispatcher_leave(NOBODY);
        assert_eq!(control.enter_section(), Ok(()));
        assert!(!control.leave_section(), "the note was taken away");
        assert!(control.dispatcher_enter(|| ()));
        assert_eq!(control.enter_section(), Err(WrongProcessor::Dispatcher));
        control.transfer_to(NOBODY);
        assert!(!control.dispatcher_enter(|| ()));
        assert!(control.leave_section());
        assert!(control.dispatcher_enter(|| ()));
        assert_eq!(control.try_enter_section(), Err(WrongProcessor::Dispatcher));
        control.transfer_to(NOBODY);
        assert_eq!(control.try_enter_section(), Ok(false));
        assert!(control.leave_section(), "its note");
        assert!(control.dispatcher_enter(|| ()));
        control.dispatcher_leave(NOBODY);
        assert_eq!(control.try_enter_section(), Ok(true));
        assert!(!control.leave_section());
    }

    #[test]
    fn one_thread_may_pass_and_the_one_above_or_a_section_says_which() {
        let control = PreemptionControl::new();
        let enter_section_as = |thread| {
            let passes = control.enter_section_as(thread);
            (passes, control.leave_section())
        };
        assert_eq!(enter_section_as(7), (Ok(false), false));
        assert!(control.dispatcher_enter(|| ()));
        assert_eq!(control.enter_section_as(7), Err(WrongProcessor::Dispatcher));
        control.transfer_to(7);
        assert!(!control.leave_section());
        assert_eq!((enter_section_as(7), enter_section_as(0)), ((Ok(true), false), (Ok(false), false)));
        assert_eq!(control.enter_section_as(0), Ok(false));
        control.set_fast_path_owner(0);
        assert!(!control.leave_section());
        assert_eq!((enter_section_as(7), enter_section_as(0)), ((Ok(false), false), (Ok(true), false)));
        // Setting the owner does not erase a pending preemption, and no thread owns the fast path while one is
        // pending.
        assert_eq!(control.enter_section_as(0), Ok(true));
        assert!(!control.dispatcher_enter(|| ()));
        control.set_fast_path_owner(7);
        assert!(control.leave_section());
        assert_eq!((enter_section_as(7), enter_section_as(0)), ((Ok(false), true), (Ok(false), true)));
        assert!(control.dispatcher_enter(|| ()));
        control.dispatcher_leave(7);
        assert_eq!((enter_section_as(7), enter_section_as(0)), ((Ok(true), false), (Ok(false), false)));
    }
}

/// `RUSTFLAGS="--cfg loom" cargo test -p taut-lock --release --lib control`, and the same with `--cfg shuttle`.
#[cfg(all(test, any(loom, shuttle)))]
mod model {
    #[cfg(loom)]
    use loom::{
        cell::UnsafeCell,
        sync::{Arc, Notify},
        thread,
    };
    #[cfg(shuttle)]
    use shuttle::{sync::Arc, thread};

    use super::*;

    /// What a model leaves out, to show that it is needed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Without {
        Nothing,
        LightBarrier,
        HeavyBarrier,
        Look,
        Exchange,
        FastPathOwner,
    }

    /// At most three preemptions; without a bound the last test takes minutes.
    #[cfg(loom)]
    fn explore(run: impl Fn() + Send + Sync + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(run);
    }

    #[cfg(shuttle)]
    fn explore(run: impl Fn() + Send + Sync + 'static) {
        shuttle::check_random(run, 20_000);
    }

    /// Like loom's.
    #[cfg(shuttle)]
    struct Notify(shuttle::sync::Mutex<bool>, shuttle::sync::Condvar);

    #[cfg(shuttle)]
    impl Notify {
        fn new() -> Self {
            Self(shuttle::sync::Mutex::new(false), shuttle::sync::Condvar::new())
        }

        fn notify(&self) {
            *self.0.lock().unwrap() = true;
            self.1.notify_one();
        }

        fn wait(&self) {
            let mut called = self.0.lock().unwrap();
            while !*called {
                called = self.1.wait(called).unwrap();
            }
            *called = false;
        }
    }

    /// A value that one thread at a time changes: loom reports two at once, shuttle finds that the halves disagree.
    #[cfg(loom)]
    struct State(UnsafeCell<u32>);

    #[cfg(loom)]
    impl State {
        fn new() -> Self {
            Self(UnsafeCell::new(0))
        }

        fn change(&self) -> u32 {
            self.0.with_mut(|value| {
                // SAFETY: the protocol makes the access exclusive, which is what is tested: loom panics otherwise.
                unsafe {
                    *value += 1;
                    *value
                }
            })
        }
    }

    #[cfg(shuttle)]
    struct State(AtomicU32, AtomicU32);

    #[cfg(shuttle)]
    impl State {
        fn new() -> Self {
            Self(AtomicU32::new(0), AtomicU32::new(0))
        }

        fn change(&self) -> u32 {
            let value = self.0.load(Relaxed) + 1;
            self.0.store(value, Relaxed);
            assert_eq!(self.1.load(Relaxed), value - 1, "two owners");
            self.1.store(value, Relaxed);
            value
        }
    }

    struct Core {
        control: PreemptionControl,
        state: State,
        /// The dispatcher sleeps here.
        call: Notify,
        /// A started thread waits here until the word is 1: loom's `Notify` may wake in vain.
        parker: (Notify, AtomicU32),
    }

    // SAFETY: whether access to the state is exclusive is what is tested; all other fields are made to be shared.
    unsafe impl Sync for Core {}
    // SAFETY: as above.
    unsafe impl Send for Core {}

    impl Core {
        fn new(without: Without) -> Arc<Self> {
            let control = PreemptionControl { without, ..PreemptionControl::new() };
            Arc::new(Self {
                control,
                state: State::new(),
                call: Notify::new(),
                parker: (Notify::new(), AtomicU32::new(0)),
            })
        }

        fn leave_section(&self) {
            if self.control.leave_section() {
                self.call.notify();
            }
        }

        /// A section. Here the two sides run on two processors, so a job may find the dispatcher inside. It then
        /// waits until the dispatcher has left; on one processor that would have happened before.
        fn section(&self) {
            if self.control.enter_section() == Err(WrongProcessor::Dispatcher) {
                // O2 up
                while self.control.dispatcher.load(Acquire) == INSIDE {
                    thread::yield_now();
                }
            }
            self.state.change();
            self.leave_section();
        }

        /// A visit of the dispatcher, which comes back when it is called.
        fn visit(&self) {
            while !self.control.dispatcher_enter(|| ()) {
                // A missing call is a deadlock.
                self.call.wait();
            }
            self.state.change();
        }
    }

    fn sections_and_visits(without: Without, sections: u32, visits: u32) {
        explore(move || {
            let core = Core::new(without);
            let dispatcher = Arc::clone(&core);
            let thread = thread::spawn(move || {
                for _ in 0..visits {
                    dispatcher.visit();
                    dispatcher.control.dispatcher_leave(NOBODY);
                }
            });
            for _ in 0..sections {
                core.section();
            }
            thread.join().unwrap();
            assert_eq!(core.state.change(), sections + visits + 1);
        });
    }

    /// The dispatcher starts a thread and comes back at once, while that thread owns the section. Then a third
    /// thread, which was stopped below, has a section.
    fn started(without: Without) {
        explore(move || {
            let core = Core::new(without);
            let (dispatcher, below) = (Arc::clone(&core), Arc::clone(&core));
            let thread = thread::spawn(move || {
                dispatcher.visit();
                dispatcher.control.transfer_to(NOBODY);
                dispatcher.parker.1.store(1, Release);
                dispatcher.parker.0.notify();
                dispatcher.visit();
                dispatcher.control.dispatcher_leave(NOBODY);
            });
            let worker = thread::spawn(move || {
                while below.parker.1.load(Acquire) == 0 {
                    below.parker.0.wait();
                }
                below.state.change();
                below.leave_section();
                below.section();
            });
            worker.join().unwrap();
            thread.join().unwrap();
            assert_eq!(core.state.change(), 5);
        });
    }

    #[test]
    fn one_owner_and_no_pending_preemption_lost() {
        #[cfg(loom)]
        for (sections, visits) in [(1, 2), (2, 1), (2, 2)] {
            sections_and_visits(Without::Nothing, sections, visits);
        }
        #[cfg(shuttle)]
        sections_and_visits(Without::Nothing, 8, 6);
    }

    #[test]
    fn a_mark_is_handed_down() {
        started(Without::Nothing);
    }

    #[test]
    #[cfg(loom)]
    #[should_panic(expected = "Causality violation")]
    fn without_the_light_fence_there_are_two() {
        sections_and_visits(Without::LightBarrier, 1, 1);
    }

    #[test]
    #[cfg(loom)]
    #[should_panic(expected = "Causality violation")]
    fn without_the_heavy_fence_there_are_two() {
        sections_and_visits(Without::HeavyBarrier, 1, 1);
    }

    /// One visit of the dispatcher, which does not wait to be called.
    fn noted(without: Without) {
        explore(move || {
            let core = Core::new(without);
            let dispatcher = Arc::clone(&core);
            let thread = thread::spawn(move || {
                let entered = dispatcher.control.dispatcher_enter(|| ());
                if entered {
                    dispatcher.control.dispatcher_leave(NOBODY);
                }
                entered
            });
            let mut called = false;
            for section in 0..2 {
                // Whether or not the job may touch the state, it has set `section`.
                let _ = core.control.enter_section();
                core.control.set_fast_path_owner(section);
                called |= core.control.leave_section();
            }
            assert!(thread.join().unwrap() || called, "a note is lost");
        });
    }

    #[test]
    fn a_pending_preemption_is_seen() {
        noted(Without::Nothing);
    }

    #[test]
    #[should_panic(expected = "a note is lost")]
    fn without_the_check_a_pending_preemption_is_lost() {
        noted(Without::Look);
    }

    #[test]
    #[should_panic(expected = "a note is lost")]
    fn a_plain_store_of_the_fast_path_owner_loses_a_pending_preemption() {
        noted(Without::Exchange);
    }

    /// Each thread that was inside gives the fast path to the thread whose number is the number of changes of the
    /// state. Each section enters as the thread that owns the fast path if `before` visits came before it. Returns
    /// whether any section found itself the owner.
    fn passing(without: Without, before: u32, sections: u32, visits: u32) -> bool {
        use std::sync::atomic::AtomicBool;
        let passed = std::sync::Arc::new(AtomicBool::new(false));
        let seen = std::sync::Arc::clone(&passed);
        explore(move || {
            let core = Core::new(without);
            let dispatcher = Arc::clone(&core);
            let thread = thread::spawn(move || {
                for _ in 0..visits {
                    while !dispatcher.control.dispatcher_enter(|| ()) {
                        dispatcher.call.wait();
                    }
                    let changes = dispatcher.state.change();
                    dispatcher.control.dispatcher_leave(changes);
                }
            });
            for section in 0..sections {
                let thread = section + before;
                let passes = core.control.enter_section_as(thread);
                if passes == Err(WrongProcessor::Dispatcher) {
                    // O2 up
                    while core.control.dispatcher.load(Acquire) == INSIDE {
                        thread::yield_now();
                    }
                }
                let changes = core.state.change();
                if passes == Ok(true) {
                    assert_eq!(changes, thread + 1, "another one may pass");
                    seen.store(true, std::sync::atomic::Ordering::Relaxed);
                }
                core.control.set_fast_path_owner(changes);
                core.leave_section();
            }
            thread.join().unwrap();
        });
        passed.load(std::sync::atomic::Ordering::Relaxed)
    }

    #[test]
    fn the_fast_path_owner_is_the_one_that_was_set() {
        #[cfg(loom)]
        for (before, sections, visits) in [(1, 1, 1), (1, 2, 1), (1, 1, 2), (2, 1, 2)] {
            assert!(passing(Without::Nothing, before, sections, visits), "none");
        }
        #[cfg(shuttle)]
        for before in 0..=4 {
            assert!(passing(Without::Nothing, before, 4, 4), "none");
        }
    }

    #[test]
    #[should_panic(expected = "another one may pass")]
    fn without_what_the_one_above_says_another_one_passes() {
        passing(Without::FastPathOwner, 0, 1, 1);
    }
}

// # Checked
//
// - here, under loom: up to two sections against two visits of the dispatcher, truly at the same time: one owner, no
//   request lost; the section transferred to a started thread; the fast path owner, set by both sides. It fails
//   without either fence, without the load in `leave_section`, with a plain store in `set_fast_path_owner`, and if the
//   dispatcher does not set the owner
// - here, under shuttle: 20 000 random runs of longer ones. It fails without the load in `leave_section`, without that
//   exchange, and if the dispatcher does not set the owner
// - `taut-exec`: threads under SCHED_FIFO on one processor, replayed decision by decision
//
// Not covered: that switching threads orders memory, which is the kernel's promise; processors that no tool here has.
