// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A core as its threads share it: which thread is inside its state, and how it passes the state on.
//!
//! ```text
//! S1  One thread at a time touches the state: the thread inside. A strict core keeps the others out by the
//!     preemption control of taut-lock, a loose core by a mutex.
//! S2  The thread inside may hand its section to a thread that it unparks; that thread is inside then.
//! S3  A worker thread is inside a job's sections only if it is the current one of the state.
//! S4  Threads of a core use some things in turn: the state, a party, a work. Only the thread whose turn it is borrows
//!     such a thing, and the borrow ends before another thread may run. No function that leaves or enters the state
//!     takes the borrow as an argument: an argument counts as borrowed until its function returns, whatever the
//!     function still does with it. Such a function takes the cell instead.
//! ```
//!
//! **Data races.** Two threads are inside one after the other. On a strict core an edge of the preemption control (O1,
//! O2 there) orders them, or an edge of a parker (S2): a Release before the second thread may be inside, an Acquire
//! after. On a loose core the mutex orders them. Each Acquire reads the last value of its word, not an older one,
//! because a thread to which Linux switches sees all that ran on its processor before. A thread on another processor
//! ends the process before it touches anything (the proof of the preemption control). A job touches the value of a
//! resource between the section that locked it and the section that unlocks it. The thread is inside for both, so the
//! accesses are ordered with these sections. Two jobs do not hold a resource at once, since the state's rule has one
//! holder, and grants only to the running job.

pub(crate) mod answer;
pub(crate) mod outside;

use std::cell::{OnceCell, UnsafeCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU32, AtomicU64, Ordering};

use taut_event::{Counter, Kind};
use taut_lock::futex_mutex::FutexMutex;
use taut_lock::parker::Parker;
use taut_lock::preemption_control::{PreemptionControl, WrongProcessor};
use taut_lock::request_slot::RequestSlot;
use taut_policy::Misuse;
use taut_sys::account::Account;
use taut_sys::cpu::CpuReader;
use taut_sys::switched::SwitchMark;
use taut_sys::usage::Usage;
use taut_sys::{clock, futex, interrupt};

use crate::question::{Answer, Question};
use crate::ready::jobs::ExecTaskOutcome;
use crate::ready::settle::{Caller, Next};
use crate::ready::state::State;
use crate::ready::worker_priorities::NONE;
use crate::task::TaskId;
use crate::violation::{Violation, ViolationHandler, ViolationKind};

/// A core.
#[derive(Debug)]
pub(crate) struct Shared {
    control: PreemptionControl,
    cell: UnsafeCell<State>,
    /// The task whose job was chosen last, or [`NONE`]: a copy of the state's value, for threads that are not inside.
    seen: AtomicU32,
    /// Whether Linux enforces the priorities.
    pub(crate) strict: bool,
    pub(crate) cpu: u32,
    reader: CpuReader,
    loose: FutexMutex,
    /// One per worker thread.
    pub(crate) parkers: Box<[Parker]>,
    /// One per worker thread, which alone touches it.
    accounts: Box<[OnceCell<Account>]>,
    /// The page faults and switches of each worker thread that has ended.
    totals: Box<[OnceCell<Usage>]>,
    /// The mark that shows whether a thread was switched out.
    switched: SwitchMark,
    /// The same mark, if sections check it.
    pub(crate) watched: SwitchMark,
    /// How often a thread has called the dispatcher; the dispatcher sleeps on this word.
    call: AtomicU32,
    /// Whether worker threads that wait at their parkers end.
    pub(crate) quit: AtomicBool,
    /// Whether the dispatcher releases nothing any more.
    pub(crate) stop: AtomicBool,
    /// The dispatcher reports no calendar release from this instant on.
    pub(crate) end_ns: AtomicU64,
    /// Per task, releases by hand that the dispatcher has not seen.
    pub(crate) triggers: Box<[AtomicU32]>,
    /// Per task, a bit for each resource that it may lock.
    pub(crate) listed: Box<[u64]>,
    pub(crate) listed_words: usize,
    /// How many resources there are.
    pub(crate) resources: u32,
    /// Per task, whether it uses a resource of several cores.
    pub(crate) shares: Box<[bool]>,
    /// Questions from threads outside the executor.
    pub(crate) requests: RequestSlot<Question, Answer>,
    /// Unique among the cores of this process.
    pub(crate) brand: u64,
    pub(crate) names: Box<[String]>,
    /// Per task, whether it is released by hand.
    pub(crate) by_hand: Box<[bool]>,
    /// Per worker thread, whether it has come back with a resource of several cores of which the rule does not know
    /// yet.
    pub(crate) back: Box<[AtomicBool]>,
    /// Whether any worker thread has come back.
    pub(crate) any_back: AtomicBool,
    /// The id of each worker thread, once it has started.
    pub(crate) tids: Box<[AtomicI32]>,
    /// The priority that the executor has given to each worker thread.
    pub(crate) given: Arc<[AtomicU8]>,
    /// The id of the dispatcher's thread while it dispatches; otherwise 0.
    pub(crate) dispatcher: AtomicI32,
    /// The least priority that a worker thread may have.
    pub(crate) least_priority: u8,
    pub(crate) handler: ViolationHandler,
    /// In tests, the dispatcher's extra delay before each scan, ns.
    pub(crate) delay_ns: u64,
    /// An injected fault: no decision after an unlock.
    #[cfg(test)]
    pub(crate) deaf: bool,
}

// SAFETY: what is not Sync is touched by one thread at a time:
// - the state by the thread inside (S1)
// - an account and a total by their worker thread, while it exists; after that by the owner of all of this
unsafe impl Sync for Shared {}

/// The values from which a core is made.
pub(crate) struct Parts {
    pub(crate) state: State,
    pub(crate) strict: bool,
    pub(crate) cpu: u32,
    pub(crate) listed: Box<[u64]>,
    pub(crate) listed_words: usize,
    pub(crate) resources: u32,
    pub(crate) shares: Box<[bool]>,
    pub(crate) brand: u64,
    pub(crate) names: Box<[String]>,
    pub(crate) by_hand: Box<[bool]>,
    pub(crate) handler: ViolationHandler,
    pub(crate) delay_ns: u64,
}

/// The right to the state. [`Inside::leave`] or [`Inside::wake`] ends it. Dropped in any other way, which happens in
/// a panic, it ends the process.
pub(crate) struct Inside<'c> {
    shared: &'c Shared,
}

/// Why the fast path refused a thread. `Some`: another thread has the section. `None`: this thread has it, but has to
/// check more.
#[derive(Clone, Copy)]
pub(crate) struct Refused(Option<WrongProcessor>);

impl Inside<'_> {
    #[inline(always)]
    pub(crate) fn state(&mut self) -> &mut State {
        // SAFETY: we are inside (S1), and the borrow ends before we leave, which takes us.
        unsafe { &mut *self.shared.cell.get() }
    }

    /// Leaves the state, on a strict core, without a change of the fast path's owner.
    #[inline(always)]
    pub(crate) fn leave_fast(self) {
        let shared = self.shared;
        std::mem::forget(self);
        if shared.control.leave_section() {
            shared.call();
        }
    }

    /// Leaves the state.
    #[inline(always)]
    pub(crate) fn leave(mut self) {
        if self.shared.strict {
            let fast_path_owner = self.state().running.fast_path_owner;
            self.shared.control.set_fast_path_owner(fast_path_owner);
            self.leave_fast();
        } else {
            self.shared.loose.unlock();
            std::mem::forget(self);
        }
    }

    /// Leaves the state, and calls the dispatcher if it has to check a budget.
    pub(crate) fn leave_and_call(mut self) {
        let shared = self.shared;
        let call = std::mem::take(&mut self.state().dispatcher.call);
        self.leave();
        if call {
            shared.call();
        }
    }

    /// Leaves the state by waking a thread, which is inside from then on. On a strict core a thread of a higher
    /// priority runs at once.
    pub(crate) fn wake(mut self, worker: u32) {
        let (shared, fast_path_owner) = (self.shared, self.state().running.fast_path_owner);
        std::mem::forget(self);
        if shared.strict {
            shared.control.set_fast_path_owner(fast_path_owner);
        } else {
            shared.loose.unlock();
        }
        shared.parkers[worker as usize].unpark();
    }
}

impl Drop for Inside<'_> {
    // Only the call is out of line. If `drop` itself were, `self` would have to be in memory.
    #[inline(always)]
    fn drop(&mut self) {
        self.shared.dropped();
    }
}

impl Shared {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts { mut state, strict, cpu, listed, listed_words, resources, shares, .. } = parts;
        let Parts { brand, names, by_hand, handler, delay_ns, .. } = parts;
        let (given, least_priority) = (state.priorities.given.clone(), state.priorities.priority(0));
        let tids = state.priorities.workers.iter().map(|_| AtomicI32::new(0)).collect();
        let reader = CpuReader::new();
        let switched = SwitchMark::new();
        state.needs.slow_path |= !reader.is_load();
        let back = state.priorities.workers.iter().map(|_| AtomicBool::new(false)).collect();
        Self {
            control: if strict { PreemptionControl::new() } else { PreemptionControl::always_in_section() },
            strict,
            cpu,
            reader,
            loose: FutexMutex::default(),
            parkers: state.priorities.workers.iter().map(|_| Parker::default()).collect(),
            accounts: state.priorities.workers.iter().map(|_| OnceCell::new()).collect(),
            totals: state.priorities.workers.iter().map(|_| OnceCell::new()).collect(),
            switched,
            watched: if strict { switched } else { SwitchMark::none() },
            triggers: state.tasks.iter().map(|_| AtomicU32::new(0)).collect(),
            cell: UnsafeCell::new(state),
            seen: AtomicU32::new(NONE),
            call: AtomicU32::new(0),
            quit: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            end_ns: AtomicU64::new(crate::ready::state::NEVER),
            listed,
            listed_words,
            resources,
            shares,
            requests: RequestSlot::default(),
            brand,
            names,
            by_hand,
            back,
            any_back: AtomicBool::new(false),
            tids,
            given,
            dispatcher: AtomicI32::new(0),
            least_priority,
            handler,
            delay_ns,
            #[cfg(test)]
            deaf: false,
        }
    }

    /// The position of a task, if it is of this core and released by hand.
    pub(crate) fn by_hand(&self, task: TaskId) -> Option<u32> {
        let here = task.brand == self.brand && self.by_hand.get(task.task as usize) == Some(&true);
        here.then_some(task.task)
    }

    /// Wakes the dispatcher, or keeps it from falling asleep.
    #[cold]
    pub(crate) fn call(&self) {
        self.call.fetch_add(1, Ordering::Release);
        let _ = futex::wake(&self.call, 1, false);
    }

    /// The number of calls so far. The dispatcher reads this before it looks for work.
    pub(crate) fn calls(&self) -> u32 {
        self.call.load(Ordering::Acquire)
    }

    /// The word of [`Shared::sleep`], for a dispatcher that also waits for events.
    pub(crate) fn awaited(&self, calls: u32) -> futex::Awaited<'_> {
        futex::Awaited::new(&self.call, calls, false)
    }

    /// The dispatcher's sleep: until the next call, or until an instant.
    pub(crate) fn sleep(&self, calls: u32, until_ns: u64) {
        let until = (until_ns != crate::ready::state::NEVER).then_some(until_ns);
        // After any return the dispatcher looks again.
        let _ = futex::wait(&self.call, calls, until, false);
    }

    /// The account of the worker thread `me`, which is the caller.
    pub(crate) fn account(&self, me: u32) -> &Account {
        let account = &self.accounts[me as usize];
        if account.get().is_none() {
            // Making it is the only exclusive access; later borrows are of the value that exists then.
            account.get_or_init(|| Account::new(self.switched));
        }
        account.get_or_init(|| Account::new(self.switched))
    }

    /// Records the usage of the worker thread `me`, which is the caller and ends.
    pub(crate) fn went(&self, me: u32) {
        let _ = self.totals[me as usize].set(self.account(me).total());
    }

    /// Records the counts of all jobs, when all threads have ended.
    pub(crate) fn record_counts(&mut self) {
        if !self.strict {
            // On a loose core threads wait for each other, and Linux does not distinguish these waits from others.
            return;
        }
        let sum = |count: fn(&Usage) -> u64| self.totals.iter().filter_map(OnceCell::get).map(count).sum();
        let faults = [
            (Counter::MinorFaults, sum(|usage| usage.minor_faults)),
            (Counter::MajorFaults, sum(|usage| usage.major_faults)),
        ];
        let now_ns = clock::monotonic_ns();
        let State { log, tasks, .. } = self.cell.get_mut();
        for (task, slot) in (0..).zip(tasks) {
            let ExecTaskOutcome { blocked, preempted, .. } = slot.outcome;
            for (count, value) in [(Counter::Blocked, blocked), (Counter::Preempted, preempted)] {
                log.job(now_ns, Kind::Counted, task, count as u64, value);
            }
        }
        for (count, value) in faults {
            log.core(now_ns, Kind::CoreCounted, count as u64, value);
        }
    }

    /// The state, before any thread of the core exists, and after all have ended.
    pub(crate) fn alone(&mut self) -> &mut State {
        self.cell.get_mut()
    }

    #[cold]
    #[inline(never)]
    fn dropped(&self) -> ! {
        self.violation("the executor", None, ViolationKind::Panic)
    }

    #[cold]
    fn violation(&self, who: &str, chosen: Option<&str>, found: ViolationKind) -> ! {
        if interrupt::is_parking() {
            // The threads are parked, and this is why one is not where the rule expects it.
            interrupt::stay();
        }
        // A panic inside the state is never caused from outside.
        let outside = if found == ViolationKind::Panic { None } else { self.outside() };
        (self.handler)(&Violation { cpu: self.cpu, who, chosen, found, outside });
        std::process::abort()
    }

    /// Reports a violation that a job found, and ends the process. The job may be inside the state or not, so this does
    /// not read the state. The chosen task is best effort, because the thread inside may go on at the same time. Names
    /// do not change.
    #[cold]
    #[inline(never)]
    pub(crate) fn found(&self, task: u32, found: ViolationKind) -> ! {
        let name = |task: u32| self.names.get(task as usize).map(String::as_str);
        let chosen = self.seen.load(Ordering::Relaxed);
        self.violation(name(task).unwrap_or("the dispatcher"), name(chosen), found)
    }

    /// Ends the process if the rule refused.
    pub(crate) fn or_abort<T>(&self, task: u32, result: Result<T, Misuse>) -> T {
        result.unwrap_or_else(|misuse| self.found(task, ViolationKind::Refused(misuse)))
    }

    /// Enters the state, as the worker thread `me` in the middle of its job.
    pub(crate) fn enter(&self, me: u32, task: u32) -> Inside<'_> {
        if self.strict { self.enter_strict(me, task) } else { self.enter_loose(me) }
    }

    fn enter_strict(&self, me: u32, task: u32) -> Inside<'_> {
        if let Err(found) = self.control.enter_section() {
            self.found(task, ViolationKind::Inside(found));
        }
        let mut inside = Inside { shared: self };
        self.check(&mut inside, me, task);
        inside
    }

    /// Enters the state by the fast path, if the worker thread `me` owns it and the core is strict. Otherwise the
    /// caller has to go on with [`Shared::enter_after_refusal`].
    #[inline(always)]
    pub(crate) fn enter_fast(&self, me: u32) -> Result<Inside<'_>, Refused> {
        // On a loose core the preemption control is always in a section.
        match self.control.enter_section_as(me) {
            Ok(true) if self.is_here() => Ok(Inside { shared: self }),
            Ok(_) => Err(Refused(None)),
            Err(found) => Err(Refused(Some(found))),
        }
    }

    /// Enters the state by the slow path, after the fast path refused.
    #[inline(always)]
    pub(crate) fn enter_after_refusal(&self, refused: Refused, me: u32, task: u32) -> Inside<'_> {
        match refused.0 {
            None => {
                let mut inside = Inside { shared: self };
                self.check(&mut inside, me, task);
                inside
            }
            Some(found) if self.strict => self.found(task, ViolationKind::Inside(found)),
            Some(_) => self.enter_loose(me),
        }
    }

    /// Checks that the thread inside is the one that the rule runs, and that it is on the core's processor.
    pub(crate) fn check(&self, inside: &mut Inside<'_>, me: u32, task: u32) {
        if inside.state().running.thread != me {
            self.found(task, ViolationKind::NotChosen);
        }
        self.on_cpu(task);
    }

    /// Whether this is the core's processor. Only for the owner of the fast path: a core has an owner only where
    /// reading the processor's number is a load.
    #[inline(always)]
    fn is_here(&self) -> bool {
        self.reader.loaded() == self.cpu
    }

    fn on_cpu(&self, task: u32) {
        let cpu = self.reader.now();
        if cpu != self.cpu {
            self.found(task, ViolationKind::OnCpu(cpu));
        }
    }

    /// Enters the state of a loose core, once the rule runs `me`.
    #[cold]
    pub(crate) fn enter_loose(&self, me: u32) -> Inside<'_> {
        loop {
            let mut inside = self.lock();
            let state = inside.state();
            if state.running.thread == me {
                return inside;
            }
            state.priorities.workers[me as usize].parked = true;
            inside.leave();
            self.account(me).wait(|| self.parkers[me as usize].park());
        }
    }

    fn lock(&self) -> Inside<'_> {
        self.loose.lock();
        Inside { shared: self }
    }

    /// Enters the state after the caller has returned from its parker: a thread that was unparked is inside.
    pub(crate) fn arrive(&self) -> Inside<'_> {
        if !self.strict {
            return self.lock();
        }
        // Nothing of the state may be read before this thread is known to be inside.
        let task = self.seen.load(Ordering::Relaxed);
        if !self.control.in_section() {
            self.found(task, ViolationKind::NotChosen);
        }
        self.on_cpu(task);
        Inside { shared: self }
    }

    /// Enters the state after a sleep for a resource of several cores; `None` if the dispatcher will report the grant.
    pub(crate) fn enter_returning(&self, task: u32) -> Option<Inside<'_>> {
        if !self.strict {
            return Some(self.lock());
        }
        match self.control.try_enter_section() {
            Ok(true) => {}
            Ok(false) => return None,
            Err(found) => self.found(task, ViolationKind::Inside(found)),
        }
        let inside = Inside { shared: self };
        self.on_cpu(task);
        Some(inside)
    }

    /// The dispatcher enters the state; `None` if a job is inside, which will call the dispatcher.
    pub(crate) fn dispatcher_enter(&self) -> Option<Inside<'_>> {
        if !self.strict {
            return Some(self.lock());
        }
        // The value is made only if the dispatcher is inside: dropping it would end the process.
        self.control.dispatcher_enter(|| self.on_cpu(NONE)).then(|| Inside { shared: self })
    }

    /// The dispatcher leaves the state after a decision.
    pub(crate) fn dispatcher_leave(&self, mut inside: Inside<'_>, next: Next) {
        let fast_path_owner = inside.state().running.fast_path_owner;
        match next {
            Next::Wake(worker) => {
                if self.strict {
                    self.control.transfer_to(fast_path_owner);
                }
                inside.wake(worker);
            }
            Next::Same | Next::Here | Next::Below => {
                std::mem::forget(inside);
                if self.strict {
                    self.control.dispatcher_leave(fast_path_owner);
                } else {
                    self.loose.unlock();
                }
            }
        }
    }

    /// Decides again, after a thread in the middle of its job has changed what the rule knows. Returns when that thread
    /// is the chosen one.
    #[inline(always)]
    pub(crate) fn decided(&self, inside: Inside<'_>, me: u32) {
        self.decided_at(inside, me, clock::monotonic_ns);
    }

    /// The same with the instant of that change; `now` reads the clock only if there are servers.
    #[inline(always)]
    pub(crate) fn decided_at(&self, mut inside: Inside<'_>, me: u32, now: impl FnOnce() -> u64) {
        let state = inside.state();
        let chosen = self.or_abort(NONE, state.decide(now));
        if chosen == Some(state.running.task as usize) {
            inside.leave();
        } else {
            self.switch(inside, chosen, Caller::Running(me), me);
        }
    }

    /// Turns the rule's choice into what the caller does. If the system refused a priority, this ends the process,
    /// because the threads are not in the rule's order.
    #[inline]
    pub(crate) fn settle(
        &self,
        state: &mut State,
        chosen: Option<usize>,
        caller: Caller,
        now_ns: u64,
    ) -> Next {
        let next = state.settle(chosen, caller, now_ns, self.strict);
        self.seen.store(state.running.task, Ordering::Relaxed);
        if let Some(error) = state.priorities.take_refused() {
            self.found(state.running.task, ViolationKind::System(error));
        }
        next
    }

    /// As [`Shared::decided`], if another job was chosen.
    #[cold]
    #[inline(never)]
    pub(crate) fn switch(&self, mut inside: Inside<'_>, chosen: Option<usize>, caller: Caller, me: u32) {
        let state = inside.state();
        let next = self.settle(state, chosen, caller, clock::monotonic_ns());
        match next {
            Next::Wake(worker) => {
                let stays = self.strict && matches!(caller, Caller::Running(_));
                if !stays {
                    state.priorities.workers[me as usize].parked = true;
                }
                inside.wake(worker);
                if stays {
                    // The other thread, on a higher level, has run meanwhile, and so have all that followed it: this
                    // thread is the chosen one again.
                    return;
                }
            }
            Next::Same | Next::Here | Next::Below => inside.leave_and_call(),
        }
        self.park(me);
    }

    /// Parks in the middle of a job until this thread is the chosen one.
    pub(crate) fn park(&self, me: u32) {
        self.account(me).wait(|| self.parkers[me as usize].park());
        if self.strict {
            self.arrive().leave_and_call();
        } else {
            self.enter_loose(me).leave_and_call();
        }
    }
}

/// Stops all cores: from now on they release nothing.
pub(crate) fn stop_all(cores: &[Shared]) {
    for core in cores {
        core.stop.store(true, Ordering::Release);
        core.call();
    }
}
