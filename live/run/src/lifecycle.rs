// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The work of a real-time thread from release 0 to its end.

use std::cell::OnceCell;
use std::error::Error;

use taut_event::{Count, Kind};
use taut_lock::{Epoch, Listener, Woken};
use taut_plan::Overrun;
use taut_scope::Scope;
use taut_sys::account::Account;
use taut_sys::switched::SwitchMark;
use taut_sys::usage::{Usage, thread_usage};
use taut_sys::{clock, futex, interrupt};

use crate::Component;
use crate::control::{Control, State};
use crate::flow::{NotBegun, TaskFlows};
use crate::guard::heap_uses;
use crate::job::{EventRecorder, Failure, Job};

/// Sleep between two looks of a thread that waits for two event counts where the system has no call for that.
const LOOK_NS: u64 = 1_000_000;

/// The planned timing of a task.
#[derive(Clone, Debug)]
pub(crate) struct Timing {
    pub(crate) task: u16,
    pub(crate) service: Option<usize>,
    pub(crate) period_ns: u64,
    pub(crate) offset_ns: u64,
    pub(crate) deadline_ns: u64,
    pub(crate) on_overrun: Overrun,
    pub(crate) trigger: Option<String>,
    /// Whether a client writes the channel that releases the task.
    pub(crate) by_client: bool,
}

/// The code of a real-time task.
pub(crate) trait Body: Send {
    /// Runs before release 0.
    fn start(&mut self);
    /// Where Linux schedules the task, on a thread of its own: runs all jobs, from release 0 to the end.
    fn run(&mut self, context: &mut JobContext<'_>);
    /// Where a dispatcher schedules a task that a channel releases: takes a value if there is one, and returns the
    /// instant at which its job is due. The dispatcher calls this only while the task has no job.
    fn poll(&mut self, _stage: &JobContext<'_>, _now_ns: u64) -> Option<u64> {
        None
    }
    /// Where a dispatcher schedules the task: runs one job; returns `false` if the task gets no further job.
    fn once(&mut self, context: &mut JobContext<'_>, job: &mut taut_exec::Job<'_>) -> bool;
    /// Runs after the last job. [`Body::run`] calls it itself.
    fn stop(&mut self);
    /// Runs on the main thread, after all real-time threads have ended.
    fn finish(&mut self) -> Result<(), Box<dyn Error>>;
}

/// The context in which the jobs of a real-time task run.
pub(crate) struct JobContext<'s> {
    pub(crate) scope: Scope<'s>,
    pub(crate) event_recorder: EventRecorder,
    pub(crate) control: &'s Control,
    pub(crate) timing: Timing,
    pub(crate) origin_ns: u64,
    /// The slot in which the thread publishes the job it runs, if Linux schedules it.
    thread_slot: interrupt::ThreadSlot,
    state: State,
    flows: Option<TaskFlows<'s>>,
    /// Where a dispatcher schedules the task: all releases before this one have been activated.
    activated: u64,
    retired: bool,
    /// Processor time that the thread has used, if it is the task's own.
    account: OnceCell<Account>,
    /// How often the thread gave up its core on purpose.
    waits: u64,
    /// Heap uses of dispatched jobs, which share threads.
    heap_uses: u64,
}

impl<'s> JobContext<'s> {
    pub(crate) fn new(
        scope: Scope<'s>,
        event_recorder: EventRecorder,
        control: &'s Control,
        timing: Timing,
        origin_ns: u64,
    ) -> Self {
        let (state, flows) = (State::Running, None);
        Self {
            scope,
            event_recorder,
            control,
            timing,
            origin_ns,
            thread_slot: interrupt::ThreadSlot::none(),
            state,
            flows,
            activated: 0,
            retired: false,
            account: OnceCell::new(),
            waits: 0,
            heap_uses: 0,
        }
    }

    /// Adds the flows that the task takes part in.
    pub(crate) fn with(self, flows: Option<TaskFlows<'s>>) -> Self {
        Self { flows, ..self }
    }

    /// Adds the slot of the task's own thread.
    pub(crate) fn on(self, thread_slot: interrupt::ThreadSlot) -> Self {
        Self { thread_slot, ..self }
    }

    /// Runs a body, then records the counts of its thread.
    pub(crate) fn run_body(&mut self, body: &mut dyn Body) {
        self.account();
        let before = Counts::now();
        body.run(self);
        let after = Counts::now();
        let now_ns = clock::monotonic_ns();
        for (count, value) in after.since(&before, self.waits) {
            self.event_recorder.own(now_ns, Kind::Counted, count as u64, value);
        }
    }

    /// The account of the calling thread, which is the task's own.
    fn account(&self) -> &Account {
        self.account.get_or_init(|| Account::new(SwitchMark::new()))
    }

    /// Sleeps until an instant; `false` if the application stops first.
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

    /// Activates the job that is due at an instant, and waits until the values that it reads are there; `false` if
    /// the application stops first.
    pub(crate) fn activate(&mut self, due_ns: u64) -> bool {
        self.account();
        let Self { flows: Some(flows), account, .. } = self else { return true };
        let at_ns = due_ns.saturating_sub(self.origin_ns);
        // The task to wait for, and its epoch before the last attempt.
        let mut behind = None;
        loop {
            let task = match flows.begin(at_ns, &mut self.waits) {
                Ok(()) => return true,
                // A panic inside a flow stops the application; to try again would occupy the core until then.
                Err(NotBegun::Refused) => return false,
                Err(NotBegun::Behind(task)) => task,
            };
            if self.control.stopping() {
                return false;
            }
            match behind.take() {
                Some((other, epoch)) if other == task => {
                    let listener = flows.listener(task);
                    if let Some(account) = account.get() {
                        self.waits += wait_for(account, &[(&listener, epoch)]);
                    }
                }
                // The epoch is read before the next attempt, so that no notification is missed.
                _ => behind = Some((task, flows.listener(task).epoch())),
            }
        }
    }

    /// Where a dispatcher schedules the task: activates the dropped releases before `next`, whose jobs do nothing,
    /// and `next` itself if it `begins` a job. `false` if a job of another task is in the way, or if more
    /// activations are due than one call makes.
    pub(crate) fn admit(&mut self, next: u64, begins: bool) -> bool {
        /// Releases that one call activates; the task's own event count causes the next call.
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

    /// A listener of a task in the same flows, which is notified when a job of that task completes.
    pub(crate) fn listener(&self, task: usize) -> Option<Listener<'s>> {
        self.flows.as_ref().map(|flows| flows.listener(task))
    }

    /// Retires the task from its flows: from now on its jobs do nothing.
    pub(crate) fn retire(&mut self) {
        if !std::mem::replace(&mut self.retired, true)
            && let Some(flows) = &mut self.flows
        {
            flows.retire();
        }
    }

    /// Completes the activated job in every flow.
    pub(crate) fn complete(&mut self) {
        if let Some(flows) = &mut self.flows {
            flows.complete();
        }
    }

    /// Activates and completes a job that does nothing, in place of a skipped release; `false` if the application
    /// stops first.
    pub(crate) fn hold(&mut self, due_ns: u64) -> bool {
        let activated = self.activate(due_ns);
        if activated {
            self.complete();
        }
        activated
    }

    /// Follows the service's state. Returns whether the job that is due may run; `None` if the service has stopped.
    pub(crate) fn follow(&mut self, component: &mut dyn Component) -> Option<bool> {
        if let Some(state) = self.changed() {
            notify(component, state);
        }
        match self.state {
            State::Running => Some(true),
            State::Paused => Some(false),
            State::Stopped => None,
        }
    }

    /// The state to which the service has changed, which is recorded; `None` if it has not changed.
    pub(crate) fn changed(&mut self) -> Option<State> {
        let (service, state) = (self.timing.service?, self.change()?);
        self.state = state;
        let now_ns = clock::monotonic_ns();
        let (service, task) = (crate::names::position(service), u64::from(self.timing.task));
        self.event_recorder.other(now_ns, Kind::Service, service, task, state as u64);
        Some(state)
    }

    /// The state to which the service has changed, before the task follows it; `None` if it has not changed.
    pub(crate) fn change(&self) -> Option<State> {
        let state = self.control.state_at(self.timing.service?);
        (state != self.state).then_some(state)
    }

    /// Whether the service runs, in the last state that the task has followed.
    pub(crate) fn is_running(&self) -> bool {
        self.state == State::Running
    }

    /// The listener that is notified when the service's state has changed.
    pub(crate) fn service_listener(&self) -> Option<Listener<'s>> {
        self.timing.service.map(|service| self.control.listener(service))
    }

    /// Sleeps until one of these event counts has passed its epoch.
    pub(crate) fn wait_for(&mut self, listeners: &[(&Listener<'_>, Epoch)]) {
        self.waits += wait_for(self.account(), listeners);
    }

    /// Runs one job, and returns the instant of its completion.
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
        self.thread_slot.begin(self.timing.task, number, limit_ns);
        let start_ns = clock::monotonic_ns();
        self.event_recorder.own(release_ns, Kind::Release, number, 0);
        self.event_recorder.own(start_ns, Kind::Start, number, 0);
        self.scope.clear();
        let deadline_ns = self.timing.deadline_ns;
        let cpu_before_ns = self.account().look(start_ns);
        let result = {
            let (scope, event_recorder) = (&self.scope, &mut self.event_recorder);
            work(&mut Job { inner: None, number, release_ns, deadline_ns, scope, event_recorder })
        };
        self.complete();
        let end_ns = clock::monotonic_ns();
        let cpu_ns = self.account().look(end_ns).saturating_sub(cpu_before_ns);
        self.thread_slot.end();
        self.event_recorder.own(end_ns, Kind::Complete, number, cpu_ns);
        self.came_to(result, number, end_ns);
        let response_ns = end_ns.saturating_sub(release_ns);
        if response_ns > deadline_ns {
            self.event_recorder.own(end_ns, Kind::Miss, number, response_ns);
        }
        end_ns
    }

    /// Runs one job that a dispatcher has released. The dispatcher records when the job begins and ends.
    pub(crate) fn dispatched(
        &mut self,
        job: &mut taut_exec::Job<'_>,
        work: impl FnOnce(&mut Job<'_>) -> Result<(), Failure>,
    ) {
        let (number, release_ns) = (job.number(), job.arrival().as_ns());
        let before = heap_uses();
        self.scope.clear();
        let result = {
            let (inner, deadline_ns) = (Some(job.reborrow()), self.timing.deadline_ns);
            let (scope, event_recorder) = (&self.scope, &mut self.event_recorder);
            work(&mut Job { inner, number, release_ns, deadline_ns, scope, event_recorder })
        };
        if result.is_err() || self.scope.refused() != 0 {
            self.came_to(result, number, clock::monotonic_ns());
        }
        self.heap_uses += heap_uses().zip(before).map_or(0, |(after, before)| after - before);
    }

    /// Records a failure of a job, and a scope that was too small for it.
    fn came_to(&mut self, result: Result<(), Failure>, number: u64, end_ns: u64) {
        if self.scope.refused() != 0 {
            self.event_recorder.own(end_ns, Kind::ScopeExceeded, number, self.scope.refused() as u64);
        }
        match result {
            // The scope's failure is recorded above; the dispatcher records that it killed the job.
            Ok(()) | Err(Failure::Scope(_) | Failure::Killed) => {}
            Err(Failure::Code(code)) => {
                self.event_recorder.own(end_ns, Kind::Failed, number, u64::from(code))
            }
            Err(Failure::Lock(_)) => {
                self.event_recorder.own(end_ns, Kind::Failed, number, u64::from(u32::MAX))
            }
        }
    }

    /// Records the counts of a dispatched task, after its last job.
    pub(crate) fn counted(&mut self) {
        if heap_uses().is_some() {
            let uses = self.heap_uses;
            self.event_recorder.own(clock::monotonic_ns(), Kind::Counted, Count::HeapUse as u64, uses);
        }
    }
}

/// Notifies a component of its service's state.
pub(crate) fn notify(component: &mut dyn Component, state: State) {
    match state {
        State::Running => component.resume(),
        State::Paused => component.pause(),
        State::Stopped => {}
    }
}

/// Sleeps until one of at most two event counts has passed its epoch. Returns how often the thread gave up its core
/// for it.
fn wait_for(account: &Account, listeners: &[(&Listener<'_>, Epoch)]) -> u64 {
    let mut waits = 0;
    account.idle(|| {
        waits = match listeners {
            [(listener, epoch)] => u32::from(listener.wait(*epoch, None) != Woken::Notified),
            _ => wait_for_any(listeners),
        };
        waits
    });
    waits.into()
}

/// The same for two event counts.
fn wait_for_any(listeners: &[(&Listener<'_>, Epoch)]) -> u32 {
    let awaited = |at: usize| listeners.get(at).and_then(|(listener, epoch)| listener.awaited(*epoch));
    let [Some(first), Some(second)] = [awaited(0), awaited(1)] else { return 0 };
    match futex::wait_any(&[first, second], None) {
        Ok(futex::Waited::Changed) => 0,
        Ok(_) => 1,
        // Before Linux 5.16 no call waits for two words: sleep briefly, so that the caller looks at both.
        Err(_) => {
            clock::sleep_until(clock::monotonic_ns().saturating_add(LOOK_NS));
            1
        }
    }
}

/// The counts of a thread.
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
