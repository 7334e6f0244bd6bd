// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The highest thread of a core. It sleeps until the next release or a call, reports to the rule, and starts the
//! chosen thread.

use std::sync::atomic::Ordering;

use taut_sys::clock;

use crate::ready::settle::{Caller, Next};
use crate::ready::state::NEVER;
use crate::ready::worker_priorities::NONE;
use crate::shared::Shared;
use crate::threads::admissions::Admissions;
use crate::threads::ahead::Ahead;
use crate::threads::listeners::Listeners;
use crate::threads::worker::Works;

/// Runs a core's dispatcher until it has been stopped and all jobs are complete. It calls `stop` with a task whose
/// overrun stops the executor, and `panicked` if a work panics when asked.
pub(crate) fn dispatch(
    shared: &Shared,
    works: &Works<'_>,
    listeners: &mut Listeners<'_>,
    mut ahead: Option<Ahead>,
    origin_ns: u64,
    stop: &(dyn Fn(u32) + Sync),
    panicked: &(dyn Fn() + Sync),
) {
    let mut admissions = Admissions::new(works.works.len());
    // There is only one dispatcher.
    let Some(mut responder) = shared.requests.responder() else { return };
    begin(shared, origin_ns);
    listeners.begin_at(origin_ns);
    loop {
        let calls = shared.calls();
        if shared.delay_ns > 0 {
            clock::sleep_until(clock::monotonic_ns() + shared.delay_ns);
        }
        let Some(mut inside) = shared.dispatcher_enter() else {
            // The thread inside the state calls when it leaves.
            shared.sleep(calls, NEVER);
            continue;
        };
        let now_ns = clock::monotonic_ns();
        shared.or_abort(NONE, inside.state().look_at_server(now_ns));
        listeners.look();
        shared.apply_grants(&mut inside, now_ns);
        let mut resumed = None;
        let answered = responder.answer(|question| {
            resumed = question.resumed();
            shared.answer(inside.state(), question)
        });
        let state = inside.state();
        shared.or_abort(NONE, admissions.apply(state, now_ns));
        // Releases by hand from before the stop still count.
        let stop_now = shared.stop.load(Ordering::Acquire);
        if state.untimed {
            for (task, trigger) in (0..).zip(&shared.triggers) {
                if trigger.load(Ordering::Relaxed) > 0 {
                    // At most one more than can wait (`Exec::release`).
                    for _ in 0..trigger.swap(0, Ordering::Acquire) {
                        shared.or_abort(NONE, state.release(task, now_ns, now_ns));
                    }
                }
            }
        }
        state.stopping |= stop_now;
        state.end_ns = shared.end_ns.load(Ordering::Relaxed);
        shared.or_abort(NONE, state.release_due(now_ns));
        listeners.answer(shared, works, &mut inside, now_ns);
        if let Some(task) = resumed {
            // Its event counts may have been notified meanwhile.
            shared.or_abort(task, works.poll(&mut inside, task, true, now_ns));
        }
        let state = inside.state();
        admissions.collect(state, now_ns);
        state.look_at_budget(now_ns);
        let chosen = shared.or_abort(NONE, state.decide(|| now_ns));
        state.log_turns(now_ns);
        let next = shared.settle(state, chosen, Caller::Dispatcher, now_ns);
        let (first, second) = state.next_two();
        let end = state.budget_end();
        let (first, second) = (first.min(end), first.max(end).min(second));
        state.wake_ns = first;
        let over = state.stopping && state.open == 0;
        let stopped_by = std::mem::replace(&mut state.stopped_by, NONE);
        shared.dispatcher_leave(inside, next);
        if let Some(ahead) = &mut ahead {
            ahead.arm(second);
        }
        if answered {
            responder.wake();
        }
        if stopped_by != NONE {
            stop(stopped_by);
        }
        if over {
            break;
        }
        if !admissions.ask(works, panicked) {
            listeners.sleep(shared, calls, (first, now_ns), admissions.wait());
        }
    }
    drop(responder);
    shared.quit.store(true, Ordering::Release);
    for parker in &shared.parkers {
        parker.unpark();
    }
}

/// Runs before any release; all worker threads wait at their parkers.
fn begin(shared: &Shared, origin_ns: u64) {
    let Some(mut inside) = shared.dispatcher_enter() else { return };
    let state = inside.state();
    for (worker, tid) in state.priorities.workers.iter_mut().zip(&shared.tids) {
        worker.tid = tid.load(Ordering::Acquire);
    }
    state.begin_at(origin_ns);
    shared.dispatcher_leave(inside, Next::Below);
}
