// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The highest thread of a core. It sleeps until the next release or a call, reports to the rule, and starts the
//! chosen thread.

use std::sync::atomic::Ordering;

use taut_lock::request_slot::Responder;
use taut_sys::clock;

use crate::question::{Answer, Question};
use crate::ready::settle::{Caller, Next};
use crate::ready::state::NEVER;
use crate::ready::worker_priorities::NONE;
use crate::shared::{Inside, Shared};
use crate::threads::admissions::Admissions;
use crate::threads::ahead::Ahead;
use crate::threads::listeners::Listeners;
use crate::threads::worker::Works;

/// Runs a core's dispatcher until it has been stopped and all jobs are complete. It calls `stop` with a task whose
/// overrun stops the executor, and `panicked` if a work panics when the dispatcher asks it for admission.
pub(crate) fn dispatch(
    shared: &Shared,
    works: &Works<'_>,
    listeners: &mut Listeners<'_>,
    ahead: Option<Ahead>,
    origin_ns: u64,
    stop: &(dyn Fn(u32) + Sync),
    panicked: &(dyn Fn() + Sync),
) {
    // There is only one dispatcher.
    let Some(responder) = shared.requests.responder() else { return };
    let admissions = Admissions::new(works.works.len());
    works.begin(panicked, origin_ns);
    begin(shared, origin_ns);
    listeners.begin_at(origin_ns);
    let returned = Vec::with_capacity(shared.back.len());
    let mut dispatcher =
        Dispatcher { shared, works, listeners, ahead, admissions, responder, returned, stop, panicked };
    loop {
        let calls = shared.calls();
        if shared.delay_ns > 0 {
            clock::sleep_until(clock::monotonic_ns() + shared.delay_ns);
        }
        let Some(mut inside) = shared.dispatcher_enter() else {
            // The thread inside the state calls the dispatcher when it leaves.
            shared.sleep(calls, NEVER);
            continue;
        };
        shared.take_returned(&mut dispatcher.returned);
        let now_ns = clock::monotonic_ns();
        let question = dispatcher.collect(&mut inside, now_ns);
        dispatcher.release(&mut inside, &question, now_ns);
        let decision = dispatcher.decide(&mut inside, now_ns);
        shared.dispatcher_leave(inside, decision.next);
        if !dispatcher.act(&question, &decision, (calls, now_ns)) {
            break;
        }
    }
    drop(dispatcher);
    shared.quit.store(true, Ordering::Release);
    for parker in &shared.parkers {
        parker.unpark();
    }
}

struct Dispatcher<'d, 'w, 'l> {
    shared: &'d Shared,
    works: &'d Works<'w>,
    listeners: &'d mut Listeners<'l>,
    ahead: Option<Ahead>,
    admissions: Admissions,
    responder: Responder<'d, Question, Answer>,
    /// Threads whose jobs were granted what they waited for. Its capacity is the number of threads.
    returned: Vec<u32>,
    stop: &'d (dyn Fn(u32) + Sync),
    panicked: &'d (dyn Fn() + Sync),
}

/// What became of a question that another thread asked of the core.
struct AnsweredQuestion {
    /// Whether the dispatcher answered a question.
    answered: bool,
    /// The task that the question resumed.
    resumed: Option<u32>,
}

/// What follows from one scan.
struct Decision {
    next: Next,
    /// The instant until which the dispatcher sleeps, ns.
    wake_ns: u64,
    /// The next instant after that at which the dispatcher is due, ns.
    then_ns: u64,
    /// Whether it was the last scan.
    over: bool,
    /// A task whose overrun stops the executor, or [`NONE`].
    stopped_by: u32,
}

impl Dispatcher<'_, '_, '_> {
    /// Collects what happened outside the dispatcher: time that servers used, events, grants of resources of several
    /// cores, and questions.
    fn collect(&mut self, inside: &mut Inside<'_>, now_ns: u64) -> AnsweredQuestion {
        let shared = self.shared;
        shared.or_abort(NONE, inside.state().look_at_server(now_ns));
        self.listeners.look();
        shared.apply_grants(inside, &mut self.returned, now_ns);
        let mut resumed = None;
        let answered = self.responder.answer(|question| {
            resumed = question.resumed();
            shared.answer(inside.state(), question)
        });
        AnsweredQuestion { answered, resumed }
    }

    /// Reports releases to the rule: admitted ones, those by hand, those of the calendar, and those that works have
    /// found.
    fn release(&mut self, inside: &mut Inside<'_>, question: &AnsweredQuestion, now_ns: u64) {
        let Self { shared, works, admissions, .. } = self;
        let state = inside.state();
        shared.or_abort(NONE, admissions.apply(state, now_ns));
        // Releases by hand from before the stop still count.
        let stop_now = shared.stop.load(Ordering::Acquire);
        if state.calendar.untimed {
            for (task, trigger) in (0..).zip(&shared.triggers) {
                if trigger.load(Ordering::Relaxed) > 0 {
                    // The count is at most `BACKLOG_MAX` + 1 (`Exec::release`).
                    for _ in 0..trigger.swap(0, Ordering::Acquire) {
                        shared.or_abort(NONE, state.release(task, now_ns, now_ns));
                    }
                }
            }
        }
        state.stopping |= stop_now;
        state.calendar.end_ns = shared.end_ns.load(Ordering::Relaxed);
        shared.or_abort(NONE, state.release_due(now_ns));
        self.listeners.answer(shared, works, inside, now_ns);
        if let Some(task) = question.resumed {
            // The task's event counts may have been notified while it was paused.
            shared.or_abort(task, works.poll(inside, task, true, (0, now_ns)));
        }
        admissions.collect(inside.state(), now_ns);
    }

    /// Decides which job runs, and until when the dispatcher may sleep.
    fn decide(&mut self, inside: &mut Inside<'_>, now_ns: u64) -> Decision {
        let shared = self.shared;
        let state = inside.state();
        state.look_at_budget(now_ns);
        let chosen = shared.or_abort(NONE, state.decide(|| now_ns));
        state.log_turns(now_ns);
        let next = shared.settle(state, chosen, Caller::Dispatcher, now_ns);
        let (first, second) = state.next_two();
        let end = state.budget_end();
        state.dispatcher.wake_ns = first.min(end);
        Decision {
            next,
            wake_ns: state.dispatcher.wake_ns,
            then_ns: first.max(end).min(second),
            over: state.stopping && state.open == 0,
            stopped_by: std::mem::replace(&mut state.dispatcher.stopped_by, NONE),
        }
    }

    /// Acts outside the state: arms the timer, wakes the requester that it answered, asks works for admission, and
    /// sleeps. Returns whether another scan follows.
    fn act(&mut self, question: &AnsweredQuestion, decision: &Decision, (calls, now_ns): (u32, u64)) -> bool {
        if let Some(ahead) = &mut self.ahead {
            ahead.arm(decision.then_ns);
        }
        if question.answered {
            self.responder.wake();
        }
        if decision.stopped_by != NONE {
            (self.stop)(decision.stopped_by);
        }
        if !decision.over && !self.admissions.ask(self.works, self.panicked) {
            self.listeners.sleep(self.shared, calls, (decision.wake_ns, now_ns), self.admissions.wait());
        }
        !decision.over
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
