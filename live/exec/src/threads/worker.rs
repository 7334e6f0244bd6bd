// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A worker thread. It parks until the dispatcher or another worker gives it a job, and goes on with the next job as
//! long as it is chosen to.

use std::any::Any;
use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use taut_policy::Misuse;
use taut_sys::clock;
use taut_sys::interrupt::ThreadSlot;

use crate::job::{Job, Work};
use crate::ready::settle::{Caller, Next};
use crate::shared::{Inside, Shared};

/// The works of a core's tasks, by task.
pub(crate) struct Works<'w> {
    pub(crate) works: Box<[UnsafeCell<Box<dyn Work + 'w>>]>,
    /// The first panic of a job. Its payload is passed on or leaked: dropping it might panic again.
    panic: Mutex<Option<ManuallyDrop<Box<dyn Any + Send>>>>,
}

// SAFETY: only the thread that has the task's job touches the task's work, and there is one such thread at a time. Each
// thread gets its job, and completes it, inside the core's state, so the accesses of the last thread come before.
unsafe impl Sync for Works<'_> {}

impl<'w> Works<'w> {
    pub(crate) fn new(works: Vec<Box<dyn Work + 'w>>) -> Self {
        Self { works: works.into_iter().map(UnsafeCell::new).collect(), panic: Mutex::new(None) }
    }

    /// Calls application code outside the core's state; `None` if it panicked. That code is not run again: the
    /// executor stops, and the panic resumes in the executor's caller.
    pub(crate) fn call<R>(&self, stop: &(dyn Fn() + Sync), code: impl FnOnce() -> R) -> Option<R> {
        catch_unwind(AssertUnwindSafe(code))
            .map_err(|panic| {
                let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert(ManuallyDrop::new(panic));
                drop(first);
                stop();
            })
            .ok()
    }

    /// The payload of the first panic of a job.
    pub(crate) fn panicked(&self) -> Option<Box<dyn Any + Send>> {
        self.panic.lock().unwrap_or_else(PoisonError::into_inner).take().map(ManuallyDrop::into_inner)
    }

    /// Tells all works when release 0 is. Only the dispatcher calls this, before it releases anything.
    pub(crate) fn begin(&self, panicked: &(dyn Fn() + Sync), origin_ns: u64) {
        for work in &self.works {
            // SAFETY: no task has a job yet, and only the dispatcher gives one.
            let work = unsafe { &mut *work.get() };
            let _ = self.call(panicked, || work.begin(origin_ns));
        }
    }

    /// Asks a task's work whether there is something to do, if the state allows the question, and reports the release
    /// to the rule. Returns whether it put a release into the calendar. `above`: the caller is the dispatcher, which
    /// has reported all that was due at `now_ns`. Nothing arrives before `heard_ns`, from which on the dispatcher listened.
    pub(crate) fn poll(
        &self,
        inside: &mut Inside<'_>,
        task: u32,
        above: bool,
        (heard_ns, now_ns): (u64, u64),
    ) -> Result<bool, Misuse> {
        let state = inside.state();
        if !state.is_to_be_asked(task) {
            return Ok(false);
        }
        if state.tasks[task as usize].donates {
            return state.found(task, state.next_donation(task, now_ns), above, now_ns);
        }
        // SAFETY: the task has no job (one that is put off is none yet), and gets none before we leave the core's state. So no other thread has its
        // work, and the last job's accesses come before.
        let work = unsafe { &mut *self.works[task as usize].get() };
        match work.poll(now_ns) {
            Some(arrival_ns) => state.found(task, arrival_ns.max(heard_ns), above, now_ns),
            None => {
                state.withdraw(task);
                Ok(false)
            }
        }
    }
}

/// Runs the worker thread `me` until the dispatcher ends it.
pub(crate) fn work(
    shared: &Shared,
    works: &Works<'_>,
    (me, thread_slot): (u32, &ThreadSlot),
    stop: &(dyn Fn() + Sync),
) {
    let account = shared.account(me);
    loop {
        let mut begin_ns = account.idle(|| shared.parkers[me as usize].park());
        if shared.quit.load(Ordering::Acquire) {
            shared.went(me);
            return;
        }
        let mut inside = shared.arrive();
        if shared.strict {
            inside.state().started(me, begin_ns);
        }
        while let Some((done, now_ns)) = run(shared, works, (me, thread_slot), (inside, begin_ns), stop) {
            (inside, begin_ns) = (done, now_ns);
        }
    }
}

/// Runs the job that the dispatcher or a worker gave to this thread, and completes it. If the thread then gets another
/// job, returns the right to the state, and the instant, ns.
fn run<'c>(
    shared: &'c Shared,
    works: &Works<'_>,
    (me, thread_slot): (u32, &ThreadSlot),
    (mut inside, begin_ns): (Inside<'c>, u64),
    stop: &(dyn Fn() + Sync),
) -> Option<(Inside<'c>, u64)> {
    let account = shared.account(me);
    let state = inside.state();
    let task = state.priorities.workers[me as usize].task;
    let began_ns = account.look(begin_ns);
    let slot = &mut state.tasks[task as usize];
    slot.began_ns = began_ns;
    let mut job = Job::new(shared, me, task, slot.job, began_ns, slot.deadline_ns, thread_slot);
    let limit_ns = slot.limit_ns.saturating_add(slot.job.arrival_ns);
    thread_slot.begin(state.log.tasks[task as usize], slot.job.number, limit_ns);
    inside.leave_and_call();
    // SAFETY: the task's job is ours until it is complete (see `Works`).
    let body = unsafe { &mut *works.works[task as usize].get() };
    let _ = works.call(stop, || body.run(&mut job));

    thread_slot.end();
    account.catch_up();
    let mut inside = shared.enter(me, task);
    let now_ns = clock::monotonic_ns();
    let used_ns = account.look(now_ns).saturating_sub(began_ns);
    let state = inside.state();
    state.tasks[task as usize].outcome.count(account.take());
    shared.or_abort(task, state.complete(me, now_ns, used_ns));
    let put_off = shared.or_abort(task, works.poll(&mut inside, task, false, (0, now_ns)));
    let state = inside.state();
    let waits = state.tasks[task as usize].is_open();
    // The dispatcher now has something to wait for, or nothing any more.
    let call = put_off || waits || state.stopping && state.open == 0;
    let chosen = shared.or_abort(task, state.decide(|| now_ns));
    match shared.settle(state, chosen, Caller::Done(me), now_ns) {
        Next::Here => {
            if shared.strict {
                state.started(me, now_ns);
            }
            // The call follows when this thread leaves the state to run its next job.
            state.dispatcher.call |= call;
            return Some((inside, now_ns));
        }
        Next::Wake(worker) => inside.wake(worker),
        Next::Same | Next::Below => inside.leave_and_call(),
    }
    if call {
        shared.call();
    }
    None
}
