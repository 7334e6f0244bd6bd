// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The life of a job, the same whether Linux schedules the task or a dispatcher does:
//!
//! ```text
//! released -> activated in its flows -> begins -> code -> completes its flows -> completes -> miss, overrun
//! ```
//!
//! A [`JobContext`] holds what all jobs of a task share, and has the steps. Two drivers call it. On a native core a
//! thread of the task's own waits for the releases, and takes all the steps: [`crate::native`]. On a dispatched core the
//! dispatcher releases, begins and completes jobs, and calls for the steps between: [`crate::dispatched`].
//!
//! # What is recorded
//!
//! Native and dispatched jobs record the same kinds of events with the same meaning, with these exceptions:
//!
//! - `Preempt` and `Resume`: a dispatcher records each of its decisions. A native core records none: no thread learns when
//!   Linux preempts or resumes the thread. So `taut replay` has nothing to compare on a native core, and says so.
//! - `Release`: a dispatcher records it when it sees the release; the value of the record is the delay from the release
//!   to that instant. A native thread does not run before its job begins; it records the release then, with value 0.
//! - `Overrun`: a dispatcher records one for each release that finds a job not complete, at that release. A native
//!   thread is inside the job then; it records one for each job that completes after its task's next release, at the
//!   completion.
//! - `Overrun` of a receiver: a native thread records it with `stop-app` alone, for a job that takes longer than the
//!   minimum inter-arrival time. A dispatcher never does: it asks for the next value once the job is complete. On a
//!   dispatched core a limit of the job stops the application instead ([`taut_exec::TaskSetup::limit`]).
//! - `Skip` of a paused service: a native thread records it in place of the job. A dispatcher does not know services; it
//!   releases the job, and the job does nothing.
//! - `Failed`, `ScopeExceeded` and `HeapUsed`: a native job records them at its completion. A dispatched job
//!   records them before, because the dispatcher records the completion later.
//! - `Counted`: a native task has a thread of its own and records every count of that thread. Dispatched tasks share
//!   threads; each task records its heap uses, and the core records the rest (`CoreCounted`).

use std::panic::{AssertUnwindSafe, catch_unwind};

use taut_event::{Counter, JobOutcome, Kind, RanCode};
use taut_exec::{Remedy, Trouble};
use taut_lock::Listener;
use taut_plan::{DeviceClock, FailureRemedy, HeapPolicy, Overrun};
use taut_scope::Scope;
use taut_sys::{clock, interrupt};

use crate::Component;
use crate::bench_resource::BenchJob;
use crate::broadcast::BroadcastPlaces;
use crate::control::{Control, ServiceView, State};
use crate::flow::{NotBegun, TaskFlows};
use crate::guard::heap_uses;
use crate::job::{EventRecorder, Failure, Job, JobDriver};
use crate::modes::FollowedMode;
use crate::request::UnansweredRequests;
use crate::values::TaskValues;

/// In the record of a service: the task was reset because the service restarted. The other numbers are those of
/// [`State`].
const RESTARTED: u64 = 4;

/// The number of code that runs outside of jobs, in recorded values.
const OUTSIDE: u64 = u64::MAX;

/// The planned timing of a task.
#[derive(Clone, Debug)]
pub(crate) struct Timing {
    pub(crate) task: u16,
    pub(crate) service: Option<usize>,
    pub(crate) period_ns: u64,
    pub(crate) offset_ns: u64,
    pub(crate) deadline_ns: u64,
    pub(crate) on_overrun: Overrun,
    pub(crate) heap: HeapPolicy,
    /// The channels that release it; none if it is periodic, or if a device does.
    pub(crate) triggers: Vec<String>,
    /// The device that releases it.
    pub(crate) device: Option<String>,
    /// The device's clock that it follows.
    pub(crate) clock: Option<DeviceClock>,
    /// Whether a client writes one of `triggers`.
    pub(crate) by_client: bool,
}

impl Timing {
    /// Whether the calendar releases it.
    pub(crate) fn is_periodic(&self) -> bool {
        self.triggers.is_empty() && self.device.is_none() && self.clock.is_none()
    }

    /// Whether nothing bounds how often it is released: its next job arrives when the last one is complete, at the earliest.
    pub(crate) fn is_aperiodic(&self) -> bool {
        !self.triggers.is_empty() && self.period_ns == 0
    }

    /// The instant by which a native job that is released at `release_ns` must have ended, for the threads that check
    /// limits.
    pub(crate) fn limit_ns(&self, release_ns: u64) -> u64 {
        match self.on_overrun {
            Overrun::StopApp => release_ns.saturating_add(self.period_ns),
            _ => interrupt::NEVER,
        }
    }

    /// Whether a job overruns if it is not complete when the next job may be released. Channels and devices release the next
    /// job later, or not at all; only `stop-app` does not wait for that release.
    fn is_due_at_next_release(&self) -> bool {
        self.is_periodic() || self.on_overrun == Overrun::StopApp
    }
}

/// A job that has been released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Released {
    /// Counted from 0; skipped releases count.
    pub(crate) number: u64,
    /// On the monotonic clock.
    pub(crate) at_ns: u64,
}

/// The code of its component that a job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobCode {
    /// The task's own.
    Task,
    /// `reset`, after a restart of the service.
    Reset,
    /// `pause`, `resume` or `stop`, after a change of the service. A component that has failed runs none of them.
    Change,
}

/// The condition of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    /// No job has panicked since the component was made or reset.
    Sound,
    /// A job has panicked. No code of the component runs before its `reset`, which comes when the service restarts or is
    /// started again.
    Failed,
    /// A job has panicked, and the task has no further job.
    Over,
}

/// What all jobs of a real-time task share, and the steps of their life.
pub(crate) struct JobContext<'s> {
    pub(crate) control: &'s Control,
    pub(crate) timing: Timing,
    scope: Scope<'s>,
    event_recorder: EventRecorder,
    /// The service as far as the task has followed it.
    followed: ServiceView,
    /// In a bench, while a job runs: the service as it was when the job began.
    begun_in: Option<ServiceView>,
    /// Whether the task has started or stopped with its service since it last acknowledged.
    has_switched: bool,
    condition: Condition,
    flows: Option<TaskFlows<'s>>,
    broadcasts: BroadcastPlaces<'s>,
    unanswered: UnansweredRequests,
    /// Where a dispatcher schedules the task: all releases before this number have been activated.
    activated: u64,
    /// Whether the task has left its flows and broadcasts for good.
    retired: bool,
    /// No job is released before this instant.
    next_ns: u64,
    /// How often the task's thread waited for the lock of a flow.
    waits: u64,
    /// Heap uses of dispatched jobs, which share threads.
    heap_uses: u64,
    /// Heap uses of the thread when the native job that runs began; `None` if nothing counts them.
    heap_before: Option<u64>,
    /// Whether the last job panicked. A panic uses the heap, and is a failure of the job already.
    has_unwound: bool,
}

/// The life of a job.
impl<'s> JobContext<'s> {
    pub(crate) fn new(
        scope: Scope<'s>,
        event_recorder: EventRecorder,
        control: &'s Control,
        timing: Timing,
        flows: Option<TaskFlows<'s>>,
    ) -> Self {
        // The service as the manifest says it, so that the task also follows a change that the set-up made.
        let followed = control.followed(timing.task);
        Self {
            control,
            timing,
            scope,
            event_recorder,
            followed,
            begun_in: None,
            has_switched: false,
            condition: Condition::Sound,
            flows,
            broadcasts: BroadcastPlaces::default(),
            unanswered: UnansweredRequests::default(),
            activated: 0,
            retired: false,
            next_ns: 0,
            waits: 0,
            heap_uses: 0,
            heap_before: None,
            has_unwound: false,
        }
    }

    /// Adds the broadcasts that the task reads, before release 0.
    pub(crate) fn with_broadcasts(mut self, places: BroadcastPlaces<'s>) -> Self {
        self.broadcasts = places;
        self.update_broadcasts();
        self
    }

    /// Adds the requests that the task drops, before release 0.
    pub(crate) fn with_unanswered(self, unanswered: UnansweredRequests) -> Self {
        Self { unanswered, ..self }
    }

    /// Lets the task take part in its broadcasts while it can take values.
    fn update_broadcasts(&mut self) {
        let takes_values = self.is_running() && self.condition == Condition::Sound && !self.retired;
        self.broadcasts.take_part(takes_values);
    }

    /// The time now, on the run's clock (ns).
    pub(crate) fn now_ns(&self) -> u64 {
        self.event_recorder.now_ns()
    }

    /// Records an event of the task.
    pub(crate) fn record(&mut self, at_ns: u64, kind: Kind, job: u64, value: u64) {
        self.event_recorder.own(at_ns, kind, job, value);
    }

    /// No job of the task is released before this instant, on the monotonic clock.
    pub(crate) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Sets the instant of the first release; or of the next one, if the task follows a device's clock.
    pub(crate) fn set_next_release(&mut self, at_ns: u64) {
        self.next_ns = at_ns;
    }

    /// Notes that the last job of the task was complete by `at_ns`. The next job of an aperiodic task arrives no earlier.
    pub(crate) fn note_completion(&mut self, at_ns: u64) {
        if self.timing.is_aperiodic() {
            self.next_ns = self.next_ns.max(at_ns);
        }
    }

    /// Notes that a job is released at `at_ns`: the next release comes a period later, or at least a minimum
    /// inter-arrival time later.
    pub(crate) fn note_release(&mut self, at_ns: u64) {
        self.next_ns = self.next_ns.max(at_ns.saturating_add(self.timing.period_ns));
    }

    /// Records that a native job was released, and begins. On a dispatched core the dispatcher records both.
    pub(crate) fn record_start(&mut self, job: Released, start_ns: u64) {
        self.event_recorder.own(job.at_ns, Kind::Release, job.number, 0);
        self.event_recorder.own(start_ns, Kind::Start, job.number, 0);
        self.heap_before = heap_uses();
    }

    /// Runs the code of a job that has begun, in an empty release scope, and completes the job's flows.
    /// `began_ns` is the processor time that the thread had used when the job began. A panic ends the job,
    /// and is a failure of the component.
    #[inline]
    pub(crate) fn execute(
        &mut self,
        job: Released,
        driver: JobDriver<'_>,
        began_ns: u64,
        which: JobCode,
        code: impl FnOnce(&mut Job<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.scope.clear();
        let (number, release_ns, deadline_ns) = (job.number, job.at_ns, self.timing.deadline_ns);
        let (scope, event_recorder) = (&self.scope, &mut self.event_recorder);
        let runs = which != JobCode::Change || self.condition == Condition::Sound;
        let logs = runs && event_recorder.values().logs();
        if logs {
            let ran = ran_code(which, self.followed.state());
            event_recorder.values().begin(event_recorder.now_ns(), number, release_ns, ran);
        }
        // A panic may leave two things half changed: the component, of which no code runs before its `reset`,
        // and values under locks, which are poisoned.
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let mut job = Job { driver, number, release_ns, deadline_ns, began_ns, scope, event_recorder };
            if runs { code(&mut job) } else { Ok(()) }
        }));
        if logs {
            self.event_recorder.values().end(self.event_recorder.now_ns(), number, outcome(&ended));
        }
        self.unanswered.record(&mut self.event_recorder, number);
        self.has_unwound = ended.is_err();
        let result = match (ended, which) {
            (Ok(result), JobCode::Task) => result,
            (Ok(Ok(())), JobCode::Reset) => {
                self.condition = Condition::Sound;
                self.update_broadcasts();
                self.acknowledge();
                Ok(())
            }
            (Ok(Err(failure)), JobCode::Reset) => {
                self.fail(number);
                Err(failure)
            }
            (Ok(result), JobCode::Change) => {
                self.acknowledge();
                result
            }
            (Err(panic), JobCode::Task | JobCode::Reset) => {
                drop_panic(panic);
                self.fail(number);
                Ok(())
            }
            (Err(panic), JobCode::Change) => {
                drop_panic(panic);
                self.condition = Condition::Over;
                self.update_broadcasts();
                self.control.panicked(self.timing.task);
                Ok(())
            }
        };
        self.complete_flows();
        result
    }

    /// Records, for a replay of the code, that the component follows its service outside of a job.
    pub(crate) fn record_followed(&self, release_ns: u64) {
        let (values, now_ns) = (self.event_recorder.values(), self.now_ns());
        if values.logs() {
            values.begin(now_ns, OUTSIDE, release_ns, ran_code(JobCode::Change, self.followed.state()));
            values.end(now_ns, OUTSIDE, JobOutcome::Done);
        }
    }

    /// The component has failed in a job.
    #[cold]
    fn fail(&mut self, job: u64) {
        let now_ns = self.now_ns();
        let remedy = self.control.failed(self.timing.task, self.timing.service, now_ns);
        self.condition = match (remedy, self.timing.service) {
            // A service that has stopped may be started again.
            (FailureRemedy::Restart, _) | (FailureRemedy::StopService, Some(_)) => Condition::Failed,
            (FailureRemedy::StopService, None) | (FailureRemedy::StopApp, _) => Condition::Over,
        };
        self.update_broadcasts();
        // A task that failed during a change of mode does not know how long the change took.
        self.has_switched = false;
        self.event_recorder.own(now_ns, Kind::Panicked, job, remedy as u64);
    }

    /// Whether the component has failed, and has not been reset since: only `reset` may run.
    pub(crate) fn has_failed(&self) -> bool {
        self.condition != Condition::Sound
    }

    /// Whether the component's `stop` must still run at the end.
    pub(crate) fn is_to_be_stopped(&self) -> bool {
        !self.has_failed() && self.state() != State::Stopped
    }

    /// Whether the task has no further job because its component has failed.
    pub(crate) fn is_over(&self) -> bool {
        self.condition == Condition::Over
    }

    /// Records that a native job is complete: what it used, whether it failed, and whether it is late. On a dispatched
    /// core the dispatcher records the first and the last.
    pub(crate) fn record_completion(
        &mut self,
        job: Released,
        result: Result<(), Failure>,
        cpu_ns: u64,
        end_ns: u64,
    ) {
        self.event_recorder.own(end_ns, Kind::Complete, job.number, cpu_ns);
        self.record_failure(result, job.number, end_ns);
        self.record_heap(uses_since(self.heap_before), job.number, end_ns);
        let response_ns = end_ns.saturating_sub(job.at_ns);
        if response_ns > self.timing.deadline_ns {
            self.event_recorder.own(end_ns, Kind::Miss, job.number, response_ns);
        }
    }

    /// Records a failure of a job, and a scope that was too small for it.
    fn record_failure(&mut self, result: Result<(), Failure>, number: u64, at_ns: u64) {
        if self.scope.refused() != 0 {
            self.event_recorder.own(at_ns, Kind::ScopeExceeded, number, self.scope.refused() as u64);
        }
        match result {
            // The scope's failure is recorded above; the dispatcher records that it killed the job.
            Ok(()) | Err(Failure::Scope(_) | Failure::Killed) => {}
            Err(Failure::Code(code)) => self.event_recorder.own(at_ns, Kind::Failed, number, u64::from(code)),
            Err(Failure::Lock(_)) => {
                self.event_recorder.own(at_ns, Kind::Failed, number, u64::from(u32::MAX))
            }
        }
    }

    /// Records that a job used the heap, if the manifest denies that and the job did not panic. The heap has
    /// served the job all the same: if it refused a request, the process would end, because code that
    /// allocates does not expect a refusal.
    fn record_heap(&mut self, uses: u64, number: u64, at_ns: u64) {
        if uses > 0 && self.timing.heap == HeapPolicy::Deny && !self.has_unwound {
            self.event_recorder.own(at_ns, Kind::HeapUsed, number, uses);
        }
    }

    /// Counts what the calling thread used of the heap since it had used it `before` times.
    pub(crate) fn count_heap_since(&mut self, before: Option<u64>) {
        self.heap_uses += uses_since(before);
    }

    /// Runs a job that a dispatcher has released and begun, and that the dispatcher completes.
    pub(crate) fn execute_dispatched(
        &mut self,
        job: &mut taut_exec::Job<'_>,
        which: JobCode,
        code: impl FnOnce(&mut Job<'_>) -> Result<(), Failure>,
    ) {
        let released = Released { number: job.number(), at_ns: job.arrival().as_ns() };
        let (before, began_ns) = (heap_uses(), job.began_ns());
        let result = self.execute(released, JobDriver::Dispatcher(job.reborrow()), began_ns, which, code);
        if result.is_err() || self.scope.refused() != 0 {
            self.record_failure(result, released.number, clock::monotonic_ns());
        }
        let uses = uses_since(before);
        if uses > 0 {
            self.record_heap(uses, released.number, clock::monotonic_ns());
        }
        self.heap_uses += uses;
    }

    /// Runs a job that a bench has released, begun and let execute until `end_ns`, and records its completion.
    pub(crate) fn execute_in_bench(
        &mut self,
        job: Released,
        bench: BenchJob,
        end_ns: u64,
        which: JobCode,
        code: impl FnOnce(&mut Job<'_>) -> Result<(), Failure>,
    ) {
        let used_ns = bench.execution.as_ns();
        self.heap_before = heap_uses();
        let result = self.execute(job, JobDriver::Bench(bench), 0, which, code);
        self.record_completion(job, result, used_ns, end_ns);
    }

    /// Runs a job of a replay. Nothing is recorded but its values.
    pub(crate) fn execute_replayed(
        &mut self,
        job: Released,
        bench: BenchJob,
        which: JobCode,
        code: impl FnOnce(&mut Job<'_>) -> Result<(), Failure>,
    ) {
        // The recorded values say how it ended.
        let _ = self.execute(job, JobDriver::Bench(bench), 0, which, code);
    }

    /// In a replay: the component follows its service to this state.
    pub(crate) fn set_followed(&mut self, state: State) {
        self.followed = self.followed.in_state(state);
    }

    /// In a bench: from now on this becomes of the values of the task's ends.
    pub(crate) fn set_values(&mut self, values: TaskValues) {
        self.event_recorder.replace_values(values);
    }

    /// What becomes of the values of the task's ends.
    pub(crate) fn values(&self) -> &TaskValues {
        self.event_recorder.values()
    }

    /// Records the overrun of a native job that ended at `end_ns`, and returns the remedy; `None` if the job did not
    /// overrun. On a dispatched core the dispatcher sees an overrun, and applies the same remedies.
    #[inline]
    pub(crate) fn overrun(&mut self, number: u64, end_ns: u64) -> Option<Remedy> {
        if end_ns <= self.next_ns || !self.timing.is_due_at_next_release() {
            return None;
        }
        let policy = self.timing.on_overrun;
        self.event_recorder.own(end_ns, Kind::Overrun, number, policy as u64);
        Some(policy.remedy(Trouble::Due))
    }

    /// Records that a release, due now, is skipped: no job is released. The next release comes a period later.
    pub(crate) fn skip(&mut self, number: u64) {
        self.event_recorder.own(self.next_ns, Kind::Skip, number, 0);
        self.note_release(self.next_ns);
    }

    /// Records the counts of a native task's thread.
    pub(crate) fn record_counts(&mut self, counts: impl Iterator<Item = (Counter, u64)>) {
        let now_ns = clock::monotonic_ns();
        for (count, value) in counts {
            self.event_recorder.own(now_ns, Kind::Counted, count as u64, value);
        }
    }

    /// Records the counts of a dispatched task, after its last job.
    pub(crate) fn record_dispatched_counts(&mut self) {
        self.record_counts(heap_uses().map(|_| (Counter::HeapUse, self.heap_uses)).into_iter());
    }
}

/// The flows of a job.
impl<'s> JobContext<'s> {
    /// Activates the job that is released `at_ns` after release 0. May be called again for the same release.
    ///
    /// # Errors
    /// [`NotBegun`]: the task in the way.
    #[inline]
    pub(crate) fn activate(&mut self, at_ns: u64) -> Result<(), NotBegun> {
        match &mut self.flows {
            Some(flows) => flows.begin(at_ns, &mut self.waits),
            None => Ok(()),
        }
    }

    /// Activates the dropped releases of a dispatched task before `next`, whose jobs do nothing, and `next`
    /// itself if it `begins` a job. Returns `false` if a job of another task is in the way, or if more
    /// activations are due than one call makes.
    pub(crate) fn admit(&mut self, next: u64, begins: bool) -> bool {
        /// Releases that one call activates; the task's own event count causes the next call.
        const LOOK_MAX: u32 = 16;
        let Some(flows) = &mut self.flows else { return true };
        for _ in 0..LOOK_MAX {
            if self.activated >= next.saturating_add(begins.into()) {
                return true;
            }
            let behind_ns = self.activated.saturating_mul(self.timing.period_ns);
            let at_ns = self.timing.offset_ns.saturating_add(behind_ns);
            if flows.begin(at_ns, &mut self.waits).is_err() {
                return false;
            }
            if self.activated < next {
                flows.complete();
            }
            self.activated += 1;
        }
        self.activated >= next.saturating_add(begins.into())
    }

    /// Completes the activated job in every flow.
    #[inline]
    pub(crate) fn complete_flows(&mut self) {
        if let Some(flows) = &mut self.flows {
            flows.complete();
        }
    }

    /// Retires the task from its flows and broadcasts: from now on its jobs do nothing.
    pub(crate) fn retire(&mut self) {
        if std::mem::replace(&mut self.retired, true) {
            return;
        }
        self.update_broadcasts();
        if let Some(flows) = &mut self.flows {
            flows.retire();
        }
    }

    /// A listener of a task in the same flows, which is notified when a job of that task completes.
    pub(crate) fn listener(&self, task: usize) -> Option<Listener<'s>> {
        self.flows.as_ref().map(|flows| flows.listener(task))
    }

    /// How often the task's thread waited for the lock of a flow.
    pub(crate) fn waits(&self) -> u64 {
        self.waits
    }
}

/// The service of a job's task.
impl<'s> JobContext<'s> {
    /// The state to which the service has changed, which this records; `None` if it has not changed for a job
    /// that is released at `release_ns`. The caller acknowledges the change once the component has followed
    /// it.
    pub(crate) fn follow_service(&mut self, release_ns: u64) -> Option<State> {
        let service = self.timing.service?;
        let state = self.view(service, release_ns).state();
        if state == self.followed.state() {
            return None;
        }
        self.has_switched |= state == State::Stopped;
        self.followed = self.followed.in_state(state);
        self.update_broadcasts();
        self.record_service(service, state as u64);
        Some(state)
    }

    /// Whether the service has restarted, or was started again, since the task last followed that. If so,
    /// this records it, and the job that is released at `release_ns` is the component's reset. A task whose
    /// service is stopped follows no restart.
    pub(crate) fn follow_restart(&mut self, release_ns: u64) -> bool {
        let Some(service) = self.timing.service else { return false };
        let view = self.view(service, release_ns);
        if view.restarts() == self.followed.restarts() || view.state() == State::Stopped {
            return false;
        }
        // The reset is the start: a component that was stopped is not resumed as well.
        let starts = self.followed.state() == State::Stopped && view.state() == State::Running;
        self.followed = if starts { view } else { self.followed.restarted_as(view) };
        // The reset takes the place of a job, so the task takes no value before its next job. It leaves the
        // broadcasts and rejoins them, so that the values that wait do not hold up their writers.
        self.broadcasts.take_part(false);
        self.update_broadcasts();
        self.record_service(service, RESTARTED);
        self.has_switched |= starts;
        if starts {
            self.record_service(service, State::Running as u64);
        }
        true
    }

    fn record_service(&mut self, service: usize, state: u64) {
        let (service, task) = (crate::names::position(service), u64::from(self.timing.task));
        self.event_recorder.other(self.now_ns(), Kind::Service, service, task, state);
    }

    /// Reports that the component has followed its service as far as the task has. If that was part of a
    /// change of mode, records it.
    pub(crate) fn acknowledge(&mut self) {
        if std::mem::take(&mut self.has_switched)
            && let Some(service) = self.timing.service
            && let Some(FollowedMode { from, to, since_ns }) = self.control.followed_mode(service)
        {
            let modes = u64::from(from) | u64::from(to) << 16;
            self.event_recorder.own(self.now_ns(), Kind::ModeFollowed, modes, since_ns);
        }
        self.control.acknowledge(self.timing.task, self.followed);
    }

    /// The service as a job that is released at `release_ns` sees it. A job that is released before the
    /// service starts sees what the task has followed.
    fn view(&self, service: usize, release_ns: u64) -> ServiceView {
        let view = self.begun_in.unwrap_or_else(|| self.control.view(service));
        let starts = self.followed.state() == State::Stopped && view.restarts() != self.followed.restarts();
        if starts && release_ns < self.control.starts_ns(service) { self.followed } else { view }
    }

    /// Called in a bench when a job begins: the job's code runs when the job ends, but it follows the service
    /// as it is at this call, as any job does. Returns whether the job has something to do.
    pub(crate) fn begin_in_bench(&mut self, release_ns: u64) -> bool {
        let Some(service) = self.timing.service else { return true };
        self.begun_in = Some(self.control.view(service));
        self.is_running() || self.is_changed_to(self.view(service, release_ns))
    }

    /// The job of [`JobContext::begin_in_bench`] has ended.
    pub(crate) fn end_in_bench(&mut self) {
        self.begun_in = None;
    }

    /// When the service starts, if it does and that instant is after `now_ns`.
    pub(crate) fn starts_after(&self, now_ns: u64) -> Option<u64> {
        let service = self.timing.service.filter(|_| self.has_change())?;
        let starts_ns = self.control.starts_ns(service);
        (self.followed.state() == State::Stopped && starts_ns > now_ns).then_some(starts_ns)
    }

    /// Whether the service has changed its state, or restarted, and the task has not followed that.
    pub(crate) fn has_change(&self) -> bool {
        self.timing.service.is_some_and(|service| self.is_changed_to(self.control.view(service)))
    }

    fn is_changed_to(&self, view: ServiceView) -> bool {
        // A restart of a stopped service is followed when it is started.
        view.state() != self.followed.state()
            || view.restarts() != self.followed.restarts() && view.state() != State::Stopped
    }

    /// The state of the service that the task has followed last.
    pub(crate) fn state(&self) -> State {
        self.followed.state()
    }

    /// Whether the service runs, in the state that the task has followed last.
    pub(crate) fn is_running(&self) -> bool {
        self.followed.state() == State::Running
    }

    /// The listener that is notified when the service's state has changed.
    pub(crate) fn service_listener(&self) -> Option<Listener<'s>> {
        self.timing.service.map(|service| self.control.listener(service))
    }
}

/// Drops the payload of a panic. If that panics, the payload of the second panic is leaked, because a
/// sequence of payloads that panic need not end.
pub(crate) fn drop_panic(panic: Box<dyn std::any::Any + Send>) {
    if let Err(next) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(next);
    }
}

/// How often the calling thread has used the heap since it had used it `before` times; 0 if nothing counts.
fn uses_since(before: Option<u64>) -> u64 {
    heap_uses().zip(before).map_or(0, |(after, before)| after - before)
}

/// The code that ran in a job.
fn ran_code(which: JobCode, followed: State) -> RanCode {
    match (which, followed) {
        (JobCode::Task, _) => RanCode::Task,
        (JobCode::Reset, _) => RanCode::Reset,
        (JobCode::Change, State::Running) => RanCode::Resume,
        (JobCode::Change, State::Paused) => RanCode::Pause,
        (JobCode::Change, State::Stopped) => RanCode::Stop,
    }
}

/// How the code of a job ended.
fn outcome<P>(ended: &Result<Result<(), Failure>, P>) -> JobOutcome {
    match ended {
        Ok(Ok(())) => JobOutcome::Done,
        Ok(Err(Failure::Code(code))) => JobOutcome::Failed(*code),
        Ok(Err(Failure::Scope(_))) => JobOutcome::Scope,
        Ok(Err(Failure::Lock(_))) => JobOutcome::Lock,
        Ok(Err(Failure::Killed)) => JobOutcome::Killed,
        Err(_) => JobOutcome::Panicked,
    }
}

/// Notifies a component of its service's state.
pub(crate) fn notify(component: &mut impl Component, state: State) {
    match state {
        State::Running => component.resume(),
        State::Paused => component.pause(),
        State::Stopped => component.stop(),
    }
}
