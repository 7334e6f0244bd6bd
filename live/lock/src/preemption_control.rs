// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Mark and note: one state for the threads of one processor, of which one stands above all others.
//!
//! # Use
//!
//! An executor's state per core. Its jobs change it in sections of a few instructions, at every lock and unlock; the
//! dispatcher, which Linux lets run before any of them, changes it at every release. The jobs' sections cost two stores
//! and three loads, no exchange and no fence of the processor: one processor runs one thread at a time.
//!
//! Whoever is inside may say which thread of the job side **may pass**: it learns that by the load that it needs anyway,
//! when it enters, and need look at nothing else that says so.
//!
//! # Callers
//!
//! `-` may run at the same time, `X` may not. All threads of the job side are on one processor and of different
//! fixed priorities, or asleep: so one of them runs while the others stand still outside of sections.
//!
//! |           | job side | above |
//! |-----------|----------|-------|
//! | job side  | X        | -     |
//! | above     | -        | X     |
//!
//! That all are on one processor cannot be promised by a type. So each caller looks which processor it is on **after** it
//! has said that it is inside, and before it touches anything: behind [`PreemptionControl::enter_section`], and in what
//! [`PreemptionControl::dispatcher_enter`] calls. Whoever finds itself elsewhere, or is told [`WrongProcessor`], must end the process.
//!
//! # Progress
//!
//! | operation     | bound                                                                                      |
//! |---------------|--------------------------------------------------------------------------------------------|
//! | `enter_section`, `enter_section_as` | 2 loads, 1 store                                                                     |
//! | `try_enter_section` | 1 exchange, then 1 load or 1 store                                                       |
//! | `leave_section`       | 1 store, 1 load                                                                            |
//! | `dispatcher_enter` | 1 exchange, 1 load, 1 fence, at most 1 store                                             |
//! | `dispatcher_leave`, `transfer_to` | 1 store, 2 stores                                                             |
//! | `set_fast_path_owner`    | 1 load, at most 1 exchange                                                                 |
//!
//! # State
//!
//! ```text
//! control    0 nobody of the job side is inside   1 one is, or one has been started who will take it off
//! dispatcher   n nobody, thread n may pass   NOBODY nobody, no thread may
//!         INSIDE the one dispatcher looks, or is inside   PREEMPT_PENDING it found the control and went back to sleep
//! ```
//!
//! # Invariants
//!
//! - I1 The one above touches the state only between an `dispatcher_enter` that gave true and its `dispatcher_leave` or
//!   `transfer_to`; the job side between `enter_section`, or being handed the mark, and `leave_section`, or handing it on.
//! - I2 While the mark is 1, exactly one thread of the job side answers for it.
//! - I3 If `dispatcher_enter` gave false, a `leave_section` after it gives true.
//! - I4 If `enter_section_as` gave true, who was last inside and said who may pass has said that this thread may.
//!
//! # Orderings
//!
//! - O1 down: Release of the mark in `leave_section` ↔ Acquire of the mark in `dispatcher_enter` and in the next `enter_section`.
//! - O2 up: Release of `dispatcher` in `dispatcher_leave` and `transfer_to` ↔ Acquire of `dispatcher` in `enter_section`; an exchange in `set_fast_path_owner`
//!   between them goes on with what it was given.
//! - O3 both: between a store of one's own word and the load of the other's stands a fence, SeqCst: in `dispatcher_enter`; in
//!   `enter_section` and in `leave_section` one of the compiler alone. On one processor, where a thread sees all that ran there before it,
//!   that is as good as a whole one. In a model, whose threads are on as many processors, it is a whole one.
//!
//! # Proof
//!
//! A mark that is handed on comes with whatever wakes its new owner: the caller's edge, as good as O1.
//!
//! *Two owners.* By O3, of "mark is 1; is anyone above?" and "I am above; is there a mark?" one sees the other. If the
//! one above sees the mark, it goes away. If `enter_section` sees it inside, it says so, and nobody has touched anything. If
//! the one above was inside and has left, `enter_section` has seen what it did (O2); if the job side has left, `dispatcher_enter` has
//! (O1). On one processor the one above is preempted by nobody: `enter_section` then never finds it inside.
//!
//! *A lost note.* `dispatcher_enter` that gives false has stored INSIDE, fenced, seen the mark, and stored NOTE. `leave_section` takes
//! the mark off, fences, and looks at `dispatcher`. By O3 either `leave_section` sees INSIDE or NOTE, and gives true, or `dispatcher_enter`
//! sees the mark taken off, and gives true itself. That is so even if both run at the same time. Whoever is told true by
//! `leave_section` calls the one above, which then finds the mark off, or that of another, who has I3 to keep again.
//!
//! A note is taken away by nobody but the one above, the next time it looks. So a caller of `leave_section` that is preempted
//! before it looks at `dispatcher` may call once in vain, and never erases another's note.
//!
//! *Who may pass.* Only who is inside says it: the one above as it leaves, the job side by `set_fast_path_owner` before it leaves. So
//! what is said last is said by who was last inside, and whoever enters sees it with all else that one did (O1, O2). By
//! "two owners" nobody says anything else while a section lasts: `dispatcher` may only become INSIDE or NOTE. The job side says
//! it by an exchange with a word that is neither, so it erases neither; if there is one, the one above is or will be inside
//! after it (I3), and says itself what the state has then. Until then no thread may pass, which is never wrong.
//!
//! *One that comes back.* A thread that the others of the job side cannot preempt, but which may find them in the middle of a
//! section, takes the mark by an exchange, so that it and a thread that the one above has just started do not both take
//! themselves for its owner. If it finds the mark, its note stays until that section ends, or the one above has looked.
//!
//! *A thread that is moved.* Let a job find itself on processor c behind its `enter_section`. At that instant it runs there, so
//! nobody else of c does; no other is inside, for of those that are on c each would have left before it let this one
//! run, but for one that slept inside, whose mark is seen. If it is moved from then on, the kernel switches it out, which
//! orders its store of the mark before whatever runs on c next: that one finds the mark. The same holds for the one
//! above and its INSIDE. So there is no instant at which a thread can be moved that lets two be inside: whoever comes
//! second finds the first, or finds itself elsewhere. `membarrier` would prove it without that look; it was measured at
//! 0.5 µs on each visit, and interrupts the processors of other cores, which no analysis charges.
//!
//! # Crash
//!
//! The threads are of one process and die together. A thread that ends or panics between `enter_section` and `leave_section` leaves the
//! mark: all that enter afterwards are told, and the one above waits for ever; an executor ends the process there.
//!
//! # Source
//!
//! Ours. The two words are Dekker's way in; what is new is that the loser on the side of the jobs cannot exist.
//!
//! # Checked
//!
//! - here, under loom: up to two sections against two visits, truly at the same time: 1 owner, no note lost;
//!   the mark handed down to a started thread; who may pass, said by both sides; without either fence, without the look in
//!   `leave_section`, if the job side says by a plain store who may pass, or the one above forgets to: fails
//! - here, under shuttle: 20 000 random runs of longer ones; without the look in `leave_section`, without that exchange, and if the
//!   one above forgets who may pass: fails
//! - `taut-exec`: threads under SCHED_FIFO on one processor, replayed decision by decision
//!
//! Not covered: that switching threads orders memory, which is the kernel's promise; processors that no tool here has.

use taut_atomic::AtomicU32;
use taut_atomic::Ordering::{Acquire, Relaxed, Release};
use taut_atomic::fence;

/// No thread may pass. Threads have numbers below.
pub const NOBODY: u32 = PREEMPT_PENDING - 1;
const PREEMPT_PENDING: u32 = u32::MAX - 1;
const INSIDE: u32 = u32::MAX;

/// Another one is inside. Nothing may be touched, and nothing can be mended: the threads are not where they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrongProcessor {
    /// One of the job side: it slept, or was moved, inside a section; or it runs on another processor.
    SectionOpen,
    /// The one above, on another processor.
    Dispatcher,
}

/// Who is inside.
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
    /// Nobody is inside.
    pub fn new() -> Self {
        Self {
            section: AtomicU32::new(0),
            dispatcher: AtomicU32::new(NOBODY),
            #[cfg(all(test, any(loom, shuttle)))]
            without: model::Without::Nothing,
        }
    }

    /// Set, for good: for threads that are kept apart by something else. Whoever tries to enter is told, and looks there.
    pub fn always_in_section() -> Self {
        Self { section: AtomicU32::new(1), ..Self::new() }
    }

    /// Begins a section of the job side.
    ///
    /// # Errors
    /// [`WrongProcessor`].
    pub fn enter_section(&self) -> Result<(), WrongProcessor> {
        self.enter_section_as(NOBODY).map(drop)
    }

    /// The same, and whether this thread may pass; [`NOBODY`] is told nothing of use.
    ///
    /// # Errors
    /// [`WrongProcessor`].
    #[inline(always)]
    pub fn enter_section_as(&self, thread: u32) -> Result<bool, WrongProcessor> {
        // O1 down (Acquire): what the last section did.
        if self.section.load(Acquire) != 0 {
            return Err(WrongProcessor::SectionOpen);
        }
        self.section.store(1, Relaxed);
        self.light_barrier();
        // O2 up (Acquire): what the last visit from above did.
        let dispatcher = self.dispatcher.load(Acquire);
        if dispatcher == thread {
            return Ok(true);
        }
        if dispatcher == INSIDE { Err(WrongProcessor::Dispatcher) } else { Ok(false) }
    }

    /// Who may pass from now on: said by the job side, inside of a section. If the one above has been here meanwhile, it
    /// has yet to be called, and is to say it itself.
    #[inline]
    pub fn set_fast_path_owner(&self, thread: u32) {
        let dispatcher = self.dispatcher.load(Relaxed);
        if dispatcher == thread || dispatcher >= PREEMPT_PENDING {
            return;
        }
        #[cfg(all(test, any(loom, shuttle)))]
        if self.without == model::Without::Exchange {
            self.dispatcher.store(thread, Release); // O2 up
            return;
        }
        // O2 up: what the last visit from above did goes on with an exchange. If it fails, there is a note.
        let _ = self.dispatcher.compare_exchange(dispatcher, thread, Relaxed, Relaxed);
    }

    /// Ends a section of the job side, or takes off the mark that was handed on. Whether the one above must be called:
    /// it has been here meanwhile.
    #[inline(always)]
    #[must_use]
    pub fn leave_section(&self) -> bool {
        self.section.store(0, Release); // O1 down
        self.light_barrier();
        #[cfg(all(test, any(loom, shuttle)))]
        if self.without == model::Without::Look {
            return false;
        }
        self.dispatcher.load(Relaxed) >= PREEMPT_PENDING
    }

    /// As [`PreemptionControl::enter_section`], for one that the others of the job side may be in the middle of a section below, and that only
    /// the one above preempts: if the mark is set, it leaves a note instead, and whoever takes the mark off is told to call.
    /// An exchange, so that a mark that is set at the same time for a started thread is not taken for its own.
    ///
    /// # Errors
    /// [`WrongProcessor`].
    pub fn try_enter_section(&self) -> Result<bool, WrongProcessor> {
        // O1 down (Acquire): what the last section did.
        if self.section.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            self.dispatcher.store(PREEMPT_PENDING, Relaxed);
            return Ok(false);
        }
        self.light_barrier();
        // O2 up (Acquire): what the last visit from above did.
        if self.dispatcher.load(Acquire) == INSIDE {
            return Err(WrongProcessor::Dispatcher);
        }
        Ok(true)
    }

    /// Whether a section of the job side has begun, as one of it sees it.
    pub fn in_section(&self) -> bool {
        self.section.load(Relaxed) != 0
    }

    /// Begins a visit from above, unless a section is in progress: then a note is left, and whoever ends the section is
    /// told so. `look` is called when it has been said, to look which processor this is.
    #[inline]
    pub fn dispatcher_enter(&self, look: impl FnOnce()) -> bool {
        // An exchange, so that it comes behind that of `set_fast_path_owner` for a model, too, which does not follow it from the other one.
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

    /// Ends a visit from above. From now on `thread` may pass.
    pub fn dispatcher_leave(&self, thread: u32) {
        #[cfg(all(test, any(loom, shuttle)))]
        let thread = if self.without == model::Without::FastPathOwner { 0 } else { thread };
        self.dispatcher.store(thread, Release); // O2 up
    }

    /// Ends a visit from above, and sets the mark for a thread of the job side that is woken next: its first act is to
    /// look at the state, and to [`PreemptionControl::leave_section`]. From then on `thread` may pass.
    pub fn transfer_to(&self, thread: u32) {
        self.section.store(1, Relaxed);
        self.dispatcher.store(thread, Release); // O2 up
    }

    /// O3 both, the side of the jobs.
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

    /// O3 both, the side above.
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
        // What is said does not erase a note, and nobody passes while there is one.
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

    /// What is left out, to see that it is needed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Without {
        Nothing,
        LightBarrier,
        HeavyBarrier,
        Look,
        Exchange,
        FastPathOwner,
    }

    /// At most three changes of threads where none had to be; without a limit the last test takes minutes.
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

    /// As loom's.
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

    /// A value that one at a time changes: loom finds two at once, shuttle sees the halves disagree.
    #[cfg(loom)]
    struct State(UnsafeCell<u32>);

    #[cfg(loom)]
    impl State {
        fn new() -> Self {
            Self(UnsafeCell::new(0))
        }

        fn change(&self) -> u32 {
            self.0.with_mut(|value| {
                // SAFETY: what is tested.
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
        /// The one above sleeps here.
        call: Notify,
        /// A started thread waits here, until the word is 1: loom's wakes are at times in vain.
        parker: (Notify, AtomicU32),
    }

    // SAFETY: the state is what is tested; everything else is for that.
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

        /// A section. Here the two sides are on two processors, so a job may find the other inside; it waits for what on
        /// one processor would have been over.
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

        /// A visit from above: comes back when it is called.
        fn visit(&self) {
            while !self.control.dispatcher_enter(|| ()) {
                // A call too few is a deadlock.
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

    /// The one above starts a thread and comes back at once, while that one has the mark; then a third, which stood still
    /// below, has a section.
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
    fn one_owner_and_no_note_lost() {
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

    /// One visit that does not wait to be called.
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
                // Whether it may touch the state or not: it has set the mark.
                let _ = core.control.enter_section();
                core.control.set_fast_path_owner(section);
                called |= core.control.leave_section();
            }
            assert!(thread.join().unwrap() || called, "a note is lost");
        });
    }

    #[test]
    fn a_note_is_seen() {
        noted(Without::Nothing);
    }

    #[test]
    #[should_panic(expected = "a note is lost")]
    fn without_the_look_a_note_is_lost() {
        noted(Without::Look);
    }

    #[test]
    #[should_panic(expected = "a note is lost")]
    fn who_may_pass_said_by_a_store_erases_a_note() {
        noted(Without::Exchange);
    }

    /// Whoever is inside last says that the thread may pass whose number is how often the state has changed. Sections come as
    /// the thread that may pass if so many visits were before. Whether any has passed.
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
    fn who_may_pass_has_been_told_so() {
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
