// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A thread of the pool: it begins jobs at its gate, and goes on with the next as long as it is the one to do so.

use std::any::Any;
use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use taut_policy::Misuse;
use taut_sys::clock;
use taut_sys::interrupt::Seat;

use crate::job::{Job, Work};
use crate::settle::{Caller, Next};
use crate::shared::{Inside, Shared};

/// What a core's tasks do, by task.
pub(crate) struct Works<'w> {
    pub(crate) works: Box<[UnsafeCell<Box<dyn Work + 'w>>]>,
    /// The first panic of a job. What a panic carries is given on or leaked: dropped, it might panic again.
    panic: Mutex<Option<ManuallyDrop<Box<dyn Any + Send>>>>,
}

// SAFETY: a task's work is touched by the thread that has its job, of which there is one at a time, and what the last one
// did comes before: each is given its job, and completes it, inside of the core's state.
unsafe impl Sync for Works<'_> {}

impl<'w> Works<'w> {
    pub(crate) fn new(works: Vec<Box<dyn Work + 'w>>) -> Self {
        Self { works: works.into_iter().map(UnsafeCell::new).collect(), panic: Mutex::new(None) }
    }

    /// Calls code of the application outside of the core's state; `None` if it panicked. What a panic leaves behind is not run
    /// again: everything stops, and the panic goes on in the caller of the executor.
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

    /// What the first panic of a job carries.
    pub(crate) fn panicked(&self) -> Option<Box<dyn Any + Send>> {
        self.panic.lock().unwrap_or_else(PoisonError::into_inner).take().map(ManuallyDrop::into_inner)
    }

    /// Asks a task's work whether there is something to do, if the task is one to ask; and tells the rule. Whether that
    /// put a release into the calendar. `above`: the dispatcher asks, which has told all that was due at `now_ns`.
    pub(crate) fn poll(
        &self,
        inside: &mut Inside<'_>,
        task: u32,
        above: bool,
        now_ns: u64,
    ) -> Result<bool, Misuse> {
        let state = inside.state();
        if !state.is_to_be_asked(task) {
            return Ok(false);
        }
        if state.tasks[task as usize].lends {
            return state.found(task, state.next_loan(task, now_ns), above, now_ns);
        }
        // SAFETY: the task has no job, and cannot get one before we leave the core's state, inside of which we are; so
        // nobody has its work, and what the last job did comes before.
        let work = unsafe { &mut *self.works[task as usize].get() };
        match work.poll(now_ns) {
            Some(arrival_ns) => state.found(task, arrival_ns, above, now_ns),
            None => Ok(false),
        }
    }
}

/// The thread `me` of the pool, until it is sent home.
pub(crate) fn work(shared: &Shared, works: &Works<'_>, (me, seat): (u32, &Seat), stop: &(dyn Fn() + Sync)) {
    let account = shared.account(me);
    loop {
        let mut begin_ns = account.idle(|| shared.gates[me as usize].wait());
        if shared.quit.load(Ordering::Acquire) {
            shared.went(me);
            return;
        }
        let mut inside = shared.arrive();
        if shared.strict {
            inside.state().started(me, begin_ns);
        }
        while let Some((done, now_ns)) = run(shared, works, (me, seat), (inside, begin_ns), stop) {
            (inside, begin_ns) = (done, now_ns);
        }
    }
}

/// Runs the job that this thread has been given, and completes it; inside again, and when, if it has been given another.
fn run<'c>(
    shared: &'c Shared,
    works: &Works<'_>,
    (me, seat): (u32, &Seat),
    (mut inside, begin_ns): (Inside<'c>, u64),
    stop: &(dyn Fn() + Sync),
) -> Option<(Inside<'c>, u64)> {
    let account = shared.account(me);
    let state = inside.state();
    let task = state.ladder.workers[me as usize].task;
    let began_ns = account.look(begin_ns);
    let slot = &mut state.tasks[task as usize];
    slot.began_ns = began_ns;
    let mut job = Job::new(shared, me, task, slot.job, slot.deadline_ns, seat);
    let limit_ns = slot.limit_ns.saturating_add(slot.job.arrival_ns);
    seat.begin(state.log.tasks[task as usize], slot.job.number, limit_ns);
    inside.leave_and_call();
    // SAFETY: the task's job is ours until it is complete (see `Works`).
    let body = unsafe { &mut *works.works[task as usize].get() };
    let _ = works.call(stop, || body.run(&mut job));

    seat.end();
    account.catch_up();
    let mut inside = shared.enter(me, task);
    let now_ns = clock::monotonic_ns();
    let used_ns = account.look(now_ns).saturating_sub(began_ns);
    let state = inside.state();
    state.tasks[task as usize].outcome.count(account.take());
    shared.held(task, state.complete(me, now_ns, used_ns));
    let put_off = shared.held(task, works.poll(&mut inside, task, false, now_ns));
    let state = inside.state();
    let waits = state.tasks[task as usize].is_open();
    // The dispatcher has something to wait for, or nothing any more.
    let call = put_off || waits || state.stopping && state.open == 0;
    let chosen = shared.held(task, state.decide(|| now_ns));
    match shared.settle(state, chosen, Caller::Done(me), now_ns) {
        Next::Here => {
            if shared.strict {
                state.started(me, now_ns);
            }
            // When this thread has left to run its next job.
            state.call |= call;
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
