// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a real-time thread does from release 0 to its end.

use std::cell::OnceCell;
use std::error::Error;

use taut_event::{Count, Kind};
use taut_lock::{Listener, Rings, Woken};
use taut_plan::Overrun;
use taut_scope::Scope;
use taut_sys::account::Account;
use taut_sys::switched::SwitchMark;
use taut_sys::usage::{Usage, thread_usage};
use taut_sys::{clock, futex, interrupt};

use crate::control::{Control, Reason, State};
use crate::flow::{NotBegun, TaskFlows};
use crate::guard::heap_uses;
use crate::job::{Failure, Job, Scribe};
use crate::{Component, Task};

/// How often a thread looks that waits for two bells where the system has no call for that.
const LOOK_NS: u64 = 1_000_000;

/// When a task is released, as planned.
#[derive(Clone, Debug)]
pub(crate) struct Timing {
    pub(crate) task: u16,
    pub(crate) service: Option<usize>,
    pub(crate) period_ns: u64,
    pub(crate) offset_ns: u64,
    pub(crate) deadline_ns: u64,
    pub(crate) on_overrun: Overrun,
    pub(crate) trigger: Option<String>,
    /// Whether a client writes to what releases it.
    pub(crate) by_client: bool,
}

/// The code of a real-time task.
pub(crate) trait Body: Send {
    /// Before release 0.
    fn start(&mut self);
    /// On a thread of its own that Linux schedules: from release 0 to the end.
    fn run(&mut self, stage: &mut Stage<'_>);
    /// Where a dispatcher decides, of a task that a channel releases: takes a value if there is one, and says since when its
    /// job is due. Only while there is no job.
    fn poll(&mut self, _stage: &Stage<'_>, _now_ns: u64) -> Option<u64> {
        None
    }
    /// Where a dispatcher decides: one job; `false` if there is to be no other.
    fn once(&mut self, stage: &mut Stage<'_>, job: &mut taut_exec::Job<'_>) -> bool;
    /// After the last job; of [`Body::run`] a part.
    fn stop(&mut self);
    /// On the main thread, after all others.
    fn finish(&mut self) -> Result<(), Box<dyn Error>>;
}

/// A real-time thread's surroundings.
pub(crate) struct Stage<'s> {
    pub(crate) scope: Scope<'s>,
    pub(crate) scribe: Scribe,
    pub(crate) control: &'s Control,
    pub(crate) timing: Timing,
    pub(crate) origin_ns: u64,
    /// Where the thread says which job it runs, if Linux schedules it.
    seat: interrupt::Seat,
    state: State,
    flows: Option<TaskFlows<'s>>,
    /// Where a dispatcher decides: releases before this one have been activated.
    activated: u64,
    retired: bool,
    /// What the thread has used of its processor, where it is its own.
    account: OnceCell<Account>,
    /// How often the thread gave its core up on purpose.
    waits: u64,
    /// Of dispatched jobs, which share threads.
    heap_uses: u64,
}

impl<'s> Stage<'s> {
    pub(crate) fn new(
        scope: Scope<'s>,
        scribe: Scribe,
        control: &'s Control,
        timing: Timing,
        origin_ns: u64,
    ) -> Self {
        let (state, flows) = (State::Running, None);
        Self {
            scope,
            scribe,
            control,
            timing,
            origin_ns,
            seat: interrupt::Seat::none(),
            state,
            flows,
            activated: 0,
            retired: false,
            account: OnceCell::new(),
            waits: 0,
            heap_uses: 0,
        }
    }

    /// The same with the flows that the task takes part in.
    pub(crate) fn with(self, flows: Option<TaskFlows<'s>>) -> Self {
        Self { flows, ..self }
    }

    /// The same on a thread of the task's own.
    pub(crate) fn on(self, seat: interrupt::Seat) -> Self {
        Self { seat, ..self }
    }

    /// Runs a body and counts what the thread did besides.
    pub(crate) fn play(&mut self, body: &mut dyn Body) {
        self.account();
        let before = Counts::now();
        body.run(self);
        let after = Counts::now();
        let now_ns = clock::monotonic_ns();
        for (count, value) in after.since(&before, self.waits) {
            self.scribe.own(now_ns, Kind::Counted, count as u64, value);
        }
    }

    /// That of the calling thread, which is the task's own.
    fn account(&self) -> &Account {
        self.account.get_or_init(|| Account::new(SwitchMark::new()))
    }

    /// Sleeps until an instant; `false` if the application stops before it.
    pub(crate) fn sleep_until(&mut self, due_ns: u64) -> bool {
        if self.control.is_past(due_ns) {
            return false;
        }
        while !self.control.stopping() {
            if clock::monotonic_ns() >= due_ns {
                return true;
            }
            self.waits += 1;
            let mut woken = false;
            self.account().idle(|| {
                woken = interrupt::sleep_until(due_ns);
                1
            });
            if woken {
                return !self.control.stopping();
            }
        }
        false
    }

    /// Activates the job that is due at an instant, and waits until what it reads is there; `false` if the application
    /// stops before it.
    fn activate(&mut self, due_ns: u64) -> bool {
        self.account();
        let Self { flows: Some(flows), account, .. } = self else { return true };
        let at_ns = due_ns.saturating_sub(self.origin_ns);
        // Whom it listens to, and since when.
        let mut behind = None;
        loop {
            let task = match flows.begin(at_ns, &mut self.waits) {
                Ok(()) => return true,
                // After a panic inside of a flow, which stops the application: to try again would take its core until then.
                Err(NotBegun::Refused) => return false,
                Err(NotBegun::Behind(task)) => task,
            };
            if self.control.stopping() {
                return false;
            }
            match behind.take() {
                Some((other, rings)) if other == task => {
                    let listener = flows.listener(task);
                    if let Some(account) = account.get() {
                        self.waits += wait_for(account, &[(&listener, rings)]);
                    }
                }
                // Before it looks once more.
                _ => behind = Some((task, flows.listener(task).rings())),
            }
        }
    }

    /// Where a dispatcher decides: activates the releases before `next` that were dropped, whose jobs do nothing, and `next`
    /// itself if it `begins` a job. `false` if somebody is in the way, or if there is more to do than one look should take.
    pub(crate) fn admit(&mut self, next: u64, begins: bool) -> bool {
        /// Releases that one look activates; its own bell asks for another.
        const LOOK_MAX: u32 = 16;
        let Some(flows) = &mut self.flows else { return true };
        let at_ns = |number: u64| {
            let behind_ns = number.saturating_mul(self.timing.period_ns);
            self.timing.offset_ns.saturating_add(behind_ns)
        };
        for _ in 0..LOOK_MAX {
            if self.activated >= next.saturating_add(begins.into()) {
                return true;
            }
            if flows.begin(at_ns(self.activated), &mut self.waits).is_err() {
                return false;
            }
            if self.activated < next {
                flows.complete();
            }
            self.activated += 1;
        }
        self.activated >= next.saturating_add(begins.into())
    }

    /// What rings when a job of a task is complete that takes part in the same flows.
    pub(crate) fn listener(&self, task: usize) -> Option<Listener<'s>> {
        self.flows.as_ref().map(|flows| flows.listener(task))
    }

    /// The task's jobs do nothing from now on.
    pub(crate) fn retire(&mut self) {
        if !std::mem::replace(&mut self.retired, true)
            && let Some(flows) = &mut self.flows
        {
            flows.retire();
        }
    }

    /// Completes the job that is activated.
    fn complete(&mut self) {
        if let Some(flows) = &mut self.flows {
            flows.complete();
        }
    }

    /// A job that does nothing, in place of one that is not released; `false` if the application stops before it.
    fn hold(&mut self, due_ns: u64) -> bool {
        let activated = self.activate(due_ns);
        if activated {
            self.complete();
        }
        activated
    }

    /// Follows the service's state; whether the job that is due may run, or `None` at the end.
    fn follow(&mut self, component: &mut dyn Component) -> Option<bool> {
        if let Some(state) = self.changed() {
            tell(component, state);
        }
        match self.state {
            State::Running => Some(true),
            State::Paused => Some(false),
            State::Stopped => None,
        }
    }

    /// The state that the service has changed to, which is recorded; none if it is as it was.
    pub(crate) fn changed(&mut self) -> Option<State> {
        let (service, state) = (self.timing.service?, self.change()?);
        self.state = state;
        let now_ns = clock::monotonic_ns();
        let (service, task) = (crate::app::position(service), u64::from(self.timing.task));
        self.scribe.other(now_ns, Kind::Service, service, task, state as u64);
        Some(state)
    }

    /// The same before anything has followed it.
    pub(crate) fn change(&self) -> Option<State> {
        let state = self.control.state_at(self.timing.service?);
        (state != self.state).then_some(state)
    }

    /// Whether the service runs, as far as the task has followed it.
    pub(crate) fn is_running(&self) -> bool {
        self.state == State::Running
    }

    /// What rings when the service's state has changed.
    pub(crate) fn service_bell(&self) -> Option<Listener<'s>> {
        self.timing.service.map(|service| self.control.listener(service))
    }

    /// Sleeps until one of these bells has rung more often than that.
    pub(crate) fn wait_for(&mut self, bells: &[(&Listener<'_>, Rings)]) {
        self.waits += wait_for(self.account(), bells);
    }

    /// Runs one job; the instant of its completion.
    pub(crate) fn job(
        &mut self,
        number: u64,
        release_ns: u64,
        work: impl FnOnce(&mut Job<'_>) -> Result<(), Failure>,
    ) -> u64 {
        let limit_ns = match self.timing.on_overrun {
            Overrun::StopApp => release_ns.saturating_add(self.timing.period_ns),
            _ => interrupt::NEVER,
        };
        self.seat.begin(self.timing.task, number, limit_ns);
        let start_ns = clock::monotonic_ns();
        self.scribe.own(release_ns, Kind::Release, number, 0);
        self.scribe.own(start_ns, Kind::Start, number, 0);
        self.scope.clear();
        let deadline_ns = self.timing.deadline_ns;
        let cpu_before_ns = self.account().look(start_ns);
        let result = {
            let (scope, scribe) = (&self.scope, &mut self.scribe);
            work(&mut Job { inner: None, number, release_ns, deadline_ns, scope, scribe })
        };
        self.complete();
        let end_ns = clock::monotonic_ns();
        let cpu_ns = self.account().look(end_ns).saturating_sub(cpu_before_ns);
        self.seat.end();
        self.scribe.own(end_ns, Kind::Complete, number, cpu_ns);
        self.came_to(result, number, end_ns);
        let response_ns = end_ns.saturating_sub(release_ns);
        if response_ns > deadline_ns {
            self.scribe.own(end_ns, Kind::Miss, number, response_ns);
        }
        end_ns
    }

    /// Runs one job that a dispatcher has released; it records when that begins and ends.
    pub(crate) fn dispatched(
        &mut self,
        job: &mut taut_exec::Job<'_>,
        work: impl FnOnce(&mut Job<'_>) -> Result<(), Failure>,
    ) {
        let (number, release_ns) = (job.number(), job.arrival().as_ns());
        let before = heap_uses();
        self.scope.clear();
        let result = {
            let (inner, deadline_ns) = (Some(job.lent()), self.timing.deadline_ns);
            let (scope, scribe) = (&self.scope, &mut self.scribe);
            work(&mut Job { inner, number, release_ns, deadline_ns, scope, scribe })
        };
        if result.is_err() || self.scope.refused() != 0 {
            self.came_to(result, number, clock::monotonic_ns());
        }
        self.heap_uses += heap_uses().zip(before).map_or(0, |(after, before)| after - before);
    }

    /// Records how a job ended, if not as it should.
    fn came_to(&mut self, result: Result<(), Failure>, number: u64, end_ns: u64) {
        if self.scope.refused() != 0 {
            self.scribe.own(end_ns, Kind::ScopeExceeded, number, self.scope.refused() as u64);
        }
        match result {
            // Of a job that was told to end, its dispatcher records it.
            Ok(()) | Err(Failure::Scope(_) | Failure::Killed) => {}
            Err(Failure::Code(code)) => self.scribe.own(end_ns, Kind::Failed, number, u64::from(code)),
            Err(Failure::Lock(_)) => self.scribe.own(end_ns, Kind::Failed, number, u64::from(u32::MAX)),
        }
    }

    /// After the last job of a dispatched task: what was counted.
    pub(crate) fn counted(&mut self) {
        if heap_uses().is_some() {
            let uses = self.heap_uses;
            self.scribe.own(clock::monotonic_ns(), Kind::Counted, Count::HeapUse as u64, uses);
        }
    }
}

/// A component hears of its service's state.
pub(crate) fn tell(component: &mut dyn Component, state: State) {
    match state {
        State::Running => component.resume(),
        State::Paused => component.pause(),
        State::Stopped => {}
    }
}

/// Sleeps until one of at most two bells has rung more often than that; how often the thread gave its core up for it.
fn wait_for(account: &Account, bells: &[(&Listener<'_>, Rings)]) -> u64 {
    let mut waits = 0;
    account.idle(|| {
        waits = match bells {
            [(bell, rings)] => u32::from(bell.wait(*rings, None) != Woken::Rung),
            _ => wait_for_any(bells),
        };
        waits
    });
    waits.into()
}

/// The same where there are several.
fn wait_for_any(bells: &[(&Listener<'_>, Rings)]) -> u32 {
    let awaited = |at: usize| bells.get(at).and_then(|(bell, rings)| bell.awaited(*rings));
    let [Some(first), Some(second)] = [awaited(0), awaited(1)] else { return 0 };
    match futex::wait_any(&[first, second], None) {
        Ok(futex::Waited::Changed) => 0,
        Ok(_) => 1,
        // Before Linux 5.16: it looks at both from time to time.
        Err(_) => {
            clock::sleep_until(clock::monotonic_ns().saturating_add(LOOK_NS));
            1
        }
    }
}

/// What is counted of a thread.
struct Counts {
    heap: Option<u64>,
    usage: Usage,
}

impl Counts {
    fn now() -> Self {
        Self { heap: heap_uses(), usage: thread_usage() }
    }

    fn since(&self, before: &Self, waits: u64) -> impl Iterator<Item = (Count, u64)> {
        let (now, then) = (&self.usage, &before.usage);
        let heap = self.heap.zip(before.heap).map(|(now, then)| (Count::HeapUse, now - then));
        let voluntary = now.voluntary_switches - then.voluntary_switches;
        heap.into_iter().chain([
            (Count::MinorFaults, now.minor_faults - then.minor_faults),
            (Count::MajorFaults, now.major_faults - then.major_faults),
            (Count::Blocked, voluntary.saturating_sub(waits)),
            (Count::Preempted, now.involuntary_switches - then.involuntary_switches),
        ])
    }
}

/// A periodic task's thread.
pub(crate) struct PeriodicBody<T> {
    task: T,
}

impl<T: Task> PeriodicBody<T> {
    pub(crate) fn new(task: T) -> Self {
        Self { task }
    }
}

impl<T: Task> Body for PeriodicBody<T> {
    fn start(&mut self) {
        self.task.start();
    }

    fn run(&mut self, stage: &mut Stage<'_>) {
        let period_ns = stage.timing.period_ns;
        let mut due_ns = stage.origin_ns.saturating_add(stage.timing.offset_ns);
        let mut number = 0;
        while stage.sleep_until(due_ns) {
            match stage.follow(&mut self.task) {
                None => {
                    stage.retire();
                    break;
                }
                Some(false) => {
                    stage.scribe.own(due_ns, Kind::Skip, number, 0);
                    if !stage.hold(due_ns) {
                        break;
                    }
                }
                Some(true) => {
                    if !stage.activate(due_ns) {
                        break;
                    }
                    let end_ns = stage.job(number, due_ns, |job| self.task.release(job));
                    if end_ns > due_ns.saturating_add(period_ns) {
                        let policy = stage.timing.on_overrun;
                        stage.scribe.own(end_ns, Kind::Overrun, number, policy as u64);
                        match policy {
                            Overrun::SkipNext => {
                                let mut next_ns = due_ns.saturating_add(period_ns);
                                while next_ns <= end_ns && !stage.control.is_past(next_ns) {
                                    number += 1;
                                    stage.scribe.own(next_ns, Kind::Skip, number, 0);
                                    if !stage.hold(next_ns) {
                                        break;
                                    }
                                    due_ns = next_ns;
                                    next_ns = due_ns.saturating_add(period_ns);
                                }
                            }
                            Overrun::StopApp => {
                                stage.control.stop_because(Reason::Overrun(stage.timing.task.into()));
                                break;
                            }
                            // The next job starts at once. The other two are for dispatched cores alone.
                            Overrun::RunOn | Overrun::KillJob | Overrun::Demote => {}
                        }
                    }
                }
            }
            due_ns = due_ns.saturating_add(period_ns);
            number += 1;
        }
        self.stop();
    }

    fn once(&mut self, stage: &mut Stage<'_>, job: &mut taut_exec::Job<'_>) -> bool {
        match stage.follow(&mut self.task) {
            // It retires from its flows at its next release: that may take a lock.
            None => {
                stage.complete();
                return false;
            }
            Some(false) => {}
            Some(true) => stage.dispatched(job, |job| self.task.release(job)),
        }
        stage.complete();
        true
    }

    fn stop(&mut self) {
        self.task.stop();
    }

    fn finish(&mut self) -> Result<(), Box<dyn Error>> {
        self.task.finish()
    }
}
