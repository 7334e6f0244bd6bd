// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The thread above all others of a core: asleep until the next release or a call, it tells the rule and starts who is
//! to run.

use std::sync::atomic::Ordering;

use taut_sys::clock;

use crate::admission::Admissions;
use crate::ahead::Ahead;
use crate::bells::Bells;
use crate::ladder::NONE;
use crate::settle::{Caller, Next};
use crate::shared::Shared;
use crate::state::NEVER;
use crate::worker::Works;

/// The dispatcher of a core, until it has been stopped and all jobs are complete. `stop` is for a task whose overrun stops
/// everything, `panicked` for a work that panics when it is asked.
pub(crate) fn dispatch(
    shared: &Shared,
    works: &Works<'_>,
    bells: &mut Bells<'_>,
    mut ahead: Option<Ahead>,
    origin_ns: u64,
    stop: &(dyn Fn(u32) + Sync),
    panicked: &(dyn Fn() + Sync),
) {
    let mut admissions = Admissions::new(works.works.len());
    // There is one dispatcher.
    let Some(mut responder) = shared.requests.responder() else { return };
    begin(shared, origin_ns);
    bells.begin_at(origin_ns);
    loop {
        let calls = shared.calls();
        if shared.delay_ns > 0 {
            clock::sleep_until(clock::monotonic_ns() + shared.delay_ns);
        }
        let Some(mut inside) = shared.visit() else {
            // Who is inside calls when it leaves.
            shared.sleep(calls, NEVER);
            continue;
        };
        let now_ns = clock::monotonic_ns();
        shared.held(NONE, inside.state().look_at_server(now_ns));
        bells.look();
        shared.tell_back(&mut inside, now_ns);
        let mut resumed = None;
        let answered = responder.answer(|question| {
            resumed = question.resumed();
            shared.answer(inside.state(), question)
        });
        let state = inside.state();
        shared.held(NONE, admissions.tell(state, now_ns));
        // What was released by hand before the stop still counts.
        let stop_now = shared.stop.load(Ordering::Acquire);
        if state.untimed {
            for (task, trigger) in (0..).zip(&shared.triggers) {
                if trigger.load(Ordering::Relaxed) > 0 {
                    // At most one more than can wait (`Exec::release`).
                    for _ in 0..trigger.swap(0, Ordering::Acquire) {
                        shared.held(NONE, state.release(task, now_ns, now_ns));
                    }
                }
            }
        }
        state.stopping |= stop_now;
        state.end_ns = shared.end_ns.load(Ordering::Relaxed);
        shared.held(NONE, state.tell(now_ns));
        bells.answer(shared, works, &mut inside, now_ns);
        if let Some(task) = resumed {
            // Its bells may have rung meanwhile.
            shared.held(task, works.poll(&mut inside, task, true, now_ns));
        }
        let state = inside.state();
        admissions.note(state, now_ns);
        state.look_at_budget(now_ns);
        let chosen = shared.held(NONE, state.decide(|| now_ns));
        state.log_turns(now_ns);
        let next = shared.settle(state, chosen, Caller::Above, now_ns);
        let (first, second) = state.next_two();
        let end = state.budget_end();
        let (first, second) = (first.min(end), first.max(end).min(second));
        state.wake_ns = first;
        let over = state.stopping && state.open == 0;
        let stopped_by = std::mem::replace(&mut state.stopped_by, NONE);
        shared.visited(inside, next);
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
            bells.sleep(shared, calls, (first, now_ns), admissions.wait());
        }
    }
    drop(responder);
    shared.quit.store(true, Ordering::Release);
    for gate in &shared.gates {
        gate.open();
    }
}

/// Before anything is released; all threads of the pool wait at their gates.
fn begin(shared: &Shared, origin_ns: u64) {
    let Some(mut inside) = shared.visit() else { return };
    let state = inside.state();
    for (worker, tid) in state.ladder.workers.iter_mut().zip(&shared.tids) {
        worker.tid = tid.load(Ordering::Acquire);
    }
    state.begin_at(origin_ns);
    shared.visited(inside, Next::Below);
}
