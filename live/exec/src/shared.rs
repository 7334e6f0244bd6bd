// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A core as its threads share it: who is inside of its state, and how it is handed on.
//!
//! ```text
//! S1  The state is touched by one thread at a time: who is inside. Strict: by the mark of taut-lock. Loose: by a mutex.
//! S2  Who is inside hands the mark on with the gate of a thread that it wakes; that one is inside then.
//! S3  A thread of the pool is inside of a job's sections only if it is the current one of the state.
//! S4  A borrow of anything that threads of a core use in turns (the state, a party, a work) is made by the one whose turn
//!     it is, and ends before another may run: it is never an argument of a function that leaves the state or goes in. An
//!     argument counts as borrowed until its function returns, whatever that still does with it. What is handed through
//!     such a function is the cell.
//! ```
//!
//! **Data races.** Between two that are inside one after the other stands, strict, an edge of the mark (O1, O2 there), or
//! that of a gate (S2): a Release before the second may be inside, an Acquire after; loose, the mutex. Each of these
//! reads the last value of its word, not an older one, because a thread that is switched to sees what ran on its
//! processor before; and one that is elsewhere ends the process before it touches anything (the proof of the mark). What a resource holds is touched
//! between the section that locked it and the one that unlocks it, of which each is inside, so it is ordered with them;
//! and two jobs do not hold it at once, since the state's rule has one holder, which it gives to the one that runs.

use std::cell::{OnceCell, UnsafeCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU32, AtomicU64, Ordering};

use taut_event::{Count, Kind};
use taut_lock::gate::Gate;
use taut_lock::latch::Latch;
use taut_lock::mark::{Intruder, Mark};
use taut_lock::request_slot::RequestSlot;
use taut_policy::Misuse;
use taut_sys::account::Account;
use taut_sys::cpu::CpuReader;
use taut_sys::switched::SwitchMark;
use taut_sys::usage::Usage;
use taut_sys::{clock, futex, interrupt};

use crate::change::{Answer, Question};
use crate::jobs::TaskOutcome;
use crate::ladder::NONE;
use crate::settle::{Caller, Next};
use crate::state::State;
use crate::task::TaskId;
use crate::violation::{Found, Handler, Violation};

/// A core.
#[derive(Debug)]
pub(crate) struct Shared {
    mark: Mark,
    cell: UnsafeCell<State>,
    /// The task whose job was chosen last, or [`NONE`]: what the state says, for those who are not inside of it.
    seen: AtomicU32,
    /// Whether Linux keeps to the priorities that it is told.
    pub(crate) strict: bool,
    pub(crate) cpu: u32,
    reader: CpuReader,
    loose: Latch,
    /// Of each thread of the pool.
    pub(crate) gates: Box<[Gate]>,
    /// Of each thread of the pool, which alone touches it.
    accounts: Box<[OnceCell<Account>]>,
    /// Of each thread that has gone home, its page faults and switches.
    totals: Box<[OnceCell<Usage>]>,
    /// Whether a thread is switched out.
    switched: SwitchMark,
    /// The same, if sections are to look at it.
    pub(crate) watched: SwitchMark,
    /// Calls of the dispatcher so far; it sleeps on it.
    call: AtomicU32,
    /// Threads that wait at their gates go home.
    pub(crate) quit: AtomicBool,
    /// Nothing is released any more.
    pub(crate) stop: AtomicBool,
    /// The calendar's releases from this instant on are not told.
    pub(crate) end_ns: AtomicU64,
    /// Releases by hand that the dispatcher has not seen, per task.
    pub(crate) triggers: Box<[AtomicU32]>,
    /// Of each task, a bit per resource that it may lock.
    pub(crate) listed: Box<[u64]>,
    pub(crate) words: usize,
    /// How many resources there are.
    pub(crate) resources: u32,
    /// Of each task, whether it uses a resource of several cores.
    pub(crate) shares: Box<[bool]>,
    /// What is asked from outside.
    pub(crate) requests: RequestSlot<Question, Answer>,
    /// Unlike any other core's of this process.
    pub(crate) brand: u64,
    pub(crate) names: Box<[String]>,
    /// Of each task, whether it is released by hand.
    pub(crate) by_hand: Box<[bool]>,
    /// Of each thread of the pool, whether it has come back with what other cores use, and the rule does not know.
    pub(crate) back: Box<[AtomicBool]>,
    /// Whether any has.
    pub(crate) any_back: AtomicBool,
    /// Of each thread of the pool, once it has started.
    pub(crate) tids: Box<[AtomicI32]>,
    /// The priority that each of them has been given.
    pub(crate) given: Arc<[AtomicU8]>,
    /// The dispatcher's thread, while it dispatches; else 0.
    pub(crate) dispatcher: AtomicI32,
    /// The least priority that one of the pool may have.
    pub(crate) least_priority: u8,
    pub(crate) handler: Handler,
    /// In tests, how much later than it could the dispatcher tells anything.
    pub(crate) delay_ns: u64,
    /// A mistake on purpose: nobody asks the rule after an unlock.
    #[cfg(test)]
    pub(crate) deaf: bool,
}

// SAFETY: what is not Sync is touched by one thread at a time:
// - the state by who is inside (S1)
// - an account and a total by the thread of the pool whose they are, while there is one; after that by who has all of this
unsafe impl Sync for Shared {}

/// What a core is made with.
pub(crate) struct Parts {
    pub(crate) state: State,
    pub(crate) strict: bool,
    pub(crate) cpu: u32,
    pub(crate) listed: Box<[u64]>,
    pub(crate) words: usize,
    pub(crate) resources: u32,
    pub(crate) shares: Box<[bool]>,
    pub(crate) brand: u64,
    pub(crate) names: Box<[String]>,
    pub(crate) by_hand: Box<[bool]>,
    pub(crate) handler: Handler,
    pub(crate) delay_ns: u64,
}

/// The right to the state. Ends by [`Inside::leave`] or [`Inside::wake`]; dropped otherwise, which is in a panic, it ends
/// the process.
pub(crate) struct Inside<'c> {
    shared: &'c Shared,
}

/// Why somebody did not get in by the short way: the mark is someone else's; `None`: it is ours, and more has to be looked at.
#[derive(Clone, Copy)]
pub(crate) struct Refused(Option<Intruder>);

impl Inside<'_> {
    #[inline(always)]
    pub(crate) fn state(&mut self) -> &mut State {
        // SAFETY: we are inside (S1), and the borrow ends before we leave, which takes us.
        unsafe { &mut *self.shared.cell.get() }
    }

    /// Ends it, where the core is strict, and who may pass still may.
    #[inline(always)]
    pub(crate) fn leave_as_it_was(self) {
        let shared = self.shared;
        std::mem::forget(self);
        if shared.mark.leave() {
            shared.call();
        }
    }

    /// Ends it.
    #[inline(always)]
    pub(crate) fn leave(mut self) {
        if self.shared.strict {
            let pass = self.state().pass;
            self.shared.mark.let_pass(pass);
            self.leave_as_it_was();
        } else {
            self.shared.loose.give();
            std::mem::forget(self);
        }
    }

    /// Ends it, and calls the dispatcher if it has to look at a budget.
    pub(crate) fn leave_and_call(mut self) {
        let shared = self.shared;
        let call = std::mem::take(&mut self.state().call);
        self.leave();
        if call {
            shared.call();
        }
    }

    /// Ends it by waking a thread, which is inside then; strict, one of a higher priority runs at once.
    pub(crate) fn wake(mut self, worker: u32) {
        let (shared, pass) = (self.shared, self.state().pass);
        std::mem::forget(self);
        if shared.strict {
            shared.mark.let_pass(pass);
        } else {
            shared.loose.give();
        }
        shared.gates[worker as usize].open();
    }
}

impl Drop for Inside<'_> {
    // The call is out of line, not this, which would need it in memory.
    #[inline(always)]
    fn drop(&mut self) {
        self.shared.dropped();
    }
}

impl Shared {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts { mut state, strict, cpu, listed, words, resources, shares, .. } = parts;
        let Parts { brand, names, by_hand, handler, delay_ns, .. } = parts;
        let (given, least_priority) = (state.ladder.given.clone(), state.ladder.priority(0));
        let tids = state.ladder.workers.iter().map(|_| AtomicI32::new(0)).collect();
        let reader = CpuReader::new();
        let switched = SwitchMark::new();
        state.careful |= !reader.is_load();
        let back = state.ladder.workers.iter().map(|_| AtomicBool::new(false)).collect();
        Self {
            mark: if strict { Mark::new() } else { Mark::set() },
            strict,
            cpu,
            reader,
            loose: Latch::default(),
            gates: state.ladder.workers.iter().map(|_| Gate::default()).collect(),
            accounts: state.ladder.workers.iter().map(|_| OnceCell::new()).collect(),
            totals: state.ladder.workers.iter().map(|_| OnceCell::new()).collect(),
            switched,
            watched: if strict { switched } else { SwitchMark::none() },
            triggers: state.tasks.iter().map(|_| AtomicU32::new(0)).collect(),
            cell: UnsafeCell::new(state),
            seen: AtomicU32::new(NONE),
            call: AtomicU32::new(0),
            quit: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            end_ns: AtomicU64::new(crate::state::NEVER),
            listed,
            words,
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

    /// The position of a task of this core that is released by hand.
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

    /// Calls so far: to be taken before looking for what there is to do.
    pub(crate) fn calls(&self) -> u32 {
        self.call.load(Ordering::Acquire)
    }

    /// That sleep, for a dispatcher that waits for bells as well.
    pub(crate) fn awaited(&self, calls: u32) -> futex::Awaited<'_> {
        futex::Awaited::new(&self.call, calls, false)
    }

    /// The dispatcher's sleep: until it is called again, or until an instant.
    pub(crate) fn sleep(&self, calls: u32, until_ns: u64) {
        let until = (until_ns != crate::state::NEVER).then_some(until_ns);
        // Every reason to return is one to look again.
        let _ = futex::wait(&self.call, calls, until, false);
    }

    /// What the thread `me` of the pool, which calls, has used and done.
    pub(crate) fn account(&self, me: u32) -> &Account {
        let account = &self.accounts[me as usize];
        if account.get().is_none() {
            // The borrow that comes of making it is exclusive to those that come of it: all others are of what is there.
            account.get_or_init(|| Account::new(self.switched));
        }
        account.get_or_init(|| Account::new(self.switched))
    }

    /// The thread `me` of the pool, which calls, goes home.
    pub(crate) fn went(&self, me: u32) {
        let _ = self.totals[me as usize].set(self.account(me).total());
    }

    /// Records what was counted of all jobs, when all threads have gone home.
    pub(crate) fn record_counts(&mut self) {
        if !self.strict {
            // Threads wait for each other in ways that Linux does not tell from others.
            return;
        }
        let sum = |count: fn(&Usage) -> u64| self.totals.iter().filter_map(OnceCell::get).map(count).sum();
        let faults = [
            (Count::MinorFaults, sum(|usage| usage.minor_faults)),
            (Count::MajorFaults, sum(|usage| usage.major_faults)),
        ];
        let now_ns = clock::monotonic_ns();
        let State { log, tasks, .. } = self.cell.get_mut();
        for (task, slot) in (0..).zip(tasks) {
            let TaskOutcome { blocked, preempted, .. } = slot.outcome;
            for (count, value) in [(Count::Blocked, blocked), (Count::Preempted, preempted)] {
                log.job(now_ns, Kind::Counted, task, count as u64, value);
            }
        }
        for (count, value) in faults {
            log.core(now_ns, Kind::CoreCounted, count as u64, value);
        }
    }

    /// The state, before any thread of the core is there, and after all have gone.
    pub(crate) fn alone(&mut self) -> &mut State {
        self.cell.get_mut()
    }

    #[cold]
    #[inline(never)]
    fn dropped(&self) -> ! {
        self.violation("the executor", None, Found::Panic)
    }

    #[cold]
    fn violation(&self, who: &str, chosen: Option<&str>, found: Found) -> ! {
        if interrupt::is_parking() {
            // Threads stand where they should not, since they are parked.
            interrupt::stay();
        }
        // A panic of ours is nobody else's.
        let outside = if found == Found::Panic { None } else { self.outside() };
        (self.handler)(&Violation { cpu: self.cpu, who, chosen, found, outside });
        std::process::abort()
    }

    /// One that a job found, inside of the state or not: so the state is not looked at. Best effort, for whoever is inside may
    /// go on at the same time: names do not change.
    #[cold]
    #[inline(never)]
    pub(crate) fn found(&self, task: u32, found: Found) -> ! {
        let name = |task: u32| self.names.get(task as usize).map(String::as_str);
        let chosen = self.seen.load(Ordering::Relaxed);
        self.violation(name(task).unwrap_or("the dispatcher"), name(chosen), found)
    }

    /// A rule's refusal ends the process.
    pub(crate) fn held<T>(&self, task: u32, result: Result<T, Misuse>) -> T {
        result.unwrap_or_else(|misuse| self.found(task, Found::Refused(misuse)))
    }

    /// Goes inside, as the thread `me` of the pool in the middle of its job.
    pub(crate) fn enter(&self, me: u32, task: u32) -> Inside<'_> {
        if self.strict { self.enter_strict(me, task) } else { self.enter_loose(me) }
    }

    fn enter_strict(&self, me: u32, task: u32) -> Inside<'_> {
        if let Err(intruder) = self.mark.enter() {
            self.found(task, Found::Inside(intruder));
        }
        let mut inside = Inside { shared: self };
        self.check(&mut inside, me, task);
        inside
    }

    /// Goes inside as the thread `me`, if it may pass and the core is strict; else it has to go on with [`Shared::enter_on`].
    #[inline(always)]
    pub(crate) fn enter_short(&self, me: u32) -> Result<Inside<'_>, Refused> {
        // Where it is not strict, the mark is always set.
        match self.mark.enter_as(me) {
            Ok(true) if self.is_here() => Ok(Inside { shared: self }),
            Ok(_) => Err(Refused(None)),
            Err(intruder) => Err(Refused(Some(intruder))),
        }
    }

    /// Goes inside with care, where the short way refused it.
    #[inline(always)]
    pub(crate) fn enter_on(&self, refused: Refused, me: u32, task: u32) -> Inside<'_> {
        match refused.0 {
            None => {
                let mut inside = Inside { shared: self };
                self.check(&mut inside, me, task);
                inside
            }
            Some(intruder) if self.strict => self.found(task, Found::Inside(intruder)),
            Some(_) => self.enter_loose(me),
        }
    }

    /// That who has come in is the one whom the rule runs, and where it should be.
    pub(crate) fn check(&self, inside: &mut Inside<'_>, me: u32, task: u32) {
        if inside.state().current != me {
            self.found(task, Found::NotChosen);
        }
        self.on_cpu(task);
    }

    /// Whether this is the core's processor. Only where a pass has been given, which needs a processor that is a load away.
    #[inline(always)]
    fn is_here(&self) -> bool {
        self.reader.loaded() == self.cpu
    }

    fn on_cpu(&self, task: u32) {
        let cpu = self.reader.now();
        if cpu != self.cpu {
            self.found(task, Found::OnCpu(cpu));
        }
    }

    /// Waits until the rule runs `me`.
    #[cold]
    pub(crate) fn enter_loose(&self, me: u32) -> Inside<'_> {
        loop {
            let mut inside = self.lock();
            let state = inside.state();
            if state.current == me {
                return inside;
            }
            state.ladder.workers[me as usize].parked = true;
            inside.leave();
            self.account(me).wait(|| self.gates[me as usize].wait());
        }
    }

    fn lock(&self) -> Inside<'_> {
        self.loose.take();
        Inside { shared: self }
    }

    /// After its gate, a thread is inside.
    pub(crate) fn arrive(&self) -> Inside<'_> {
        if !self.strict {
            return self.lock();
        }
        // Of the state nothing is looked at before it is clear that we are inside.
        let task = self.seen.load(Ordering::Relaxed);
        if !self.mark.is_set() {
            self.found(task, Found::NotChosen);
        }
        self.on_cpu(task);
        Inside { shared: self }
    }

    /// One that comes back from a sleep for what other cores use goes inside; `None` if the dispatcher will tell of it.
    pub(crate) fn enter_back(&self, task: u32) -> Option<Inside<'_>> {
        if !self.strict {
            return Some(self.lock());
        }
        match self.mark.enter_or_note() {
            Ok(true) => {}
            Ok(false) => return None,
            Err(intruder) => self.found(task, Found::Inside(intruder)),
        }
        let inside = Inside { shared: self };
        self.on_cpu(task);
        Some(inside)
    }

    /// The dispatcher goes inside; `None` if it will be called.
    pub(crate) fn visit(&self) -> Option<Inside<'_>> {
        if !self.strict {
            return Some(self.lock());
        }
        // Made only if we are: dropped, it would end the process.
        self.mark.enter_above(|| self.on_cpu(NONE)).then(|| Inside { shared: self })
    }

    /// The dispatcher has settled.
    pub(crate) fn visited(&self, mut inside: Inside<'_>, next: Next) {
        let pass = inside.state().pass;
        match next {
            Next::Wake(worker) => {
                if self.strict {
                    self.mark.hand_down(pass);
                }
                inside.wake(worker);
            }
            Next::Same | Next::Here | Next::Below => {
                std::mem::forget(inside);
                if self.strict {
                    self.mark.leave_above(pass);
                } else {
                    self.loose.give();
                }
            }
        }
    }

    /// A thread in the middle of its job has told the rule something: it goes on when it is the chosen one.
    #[inline(always)]
    pub(crate) fn decided(&self, inside: Inside<'_>, me: u32) {
        self.decided_at(inside, me, clock::monotonic_ns);
    }

    /// The same, at an instant that is only asked for where there are servers: that of what was told.
    #[inline(always)]
    pub(crate) fn decided_at(&self, mut inside: Inside<'_>, me: u32, now: impl FnOnce() -> u64) {
        let state = inside.state();
        let chosen = self.held(NONE, state.decide(now));
        if chosen == Some(state.chosen as usize) {
            inside.leave();
        } else {
            self.switch(inside, chosen, Caller::Running(me), me);
        }
    }

    /// From what the rule has chosen to what the caller does. That the system refused a priority ends the process: threads are
    /// not ordered as the rule has it.
    #[inline]
    pub(crate) fn settle(
        &self,
        state: &mut State,
        chosen: Option<usize>,
        caller: Caller,
        now_ns: u64,
    ) -> Next {
        let next = state.settle(chosen, caller, now_ns, self.strict);
        self.seen.store(state.chosen, Ordering::Relaxed);
        if let Some(error) = state.ladder.take_refused() {
            self.found(state.chosen, Found::System(error));
        }
        next
    }

    /// As [`Shared::decided`], where another one was chosen.
    #[cold]
    #[inline(never)]
    pub(crate) fn switch(&self, mut inside: Inside<'_>, chosen: Option<usize>, caller: Caller, me: u32) {
        let state = inside.state();
        let next = self.settle(state, chosen, caller, clock::monotonic_ns());
        match next {
            Next::Wake(worker) => {
                let stays = self.strict && matches!(caller, Caller::Running(_));
                if !stays {
                    state.ladder.workers[me as usize].parked = true;
                }
                inside.wake(worker);
                if stays {
                    // The other one, of a higher rung, has run meanwhile, and all after it: we are the chosen one again.
                    return;
                }
            }
            Next::Same | Next::Here | Next::Below => inside.leave_and_call(),
        }
        self.park(me);
    }

    /// Sleeps in the middle of a job until it is the chosen one.
    pub(crate) fn park(&self, me: u32) {
        self.account(me).wait(|| self.gates[me as usize].wait());
        if self.strict {
            self.arrive().leave_and_call();
        } else {
            self.enter_loose(me).leave_and_call();
        }
    }
}
