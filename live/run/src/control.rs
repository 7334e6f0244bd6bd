// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use taut_event::{Ending, Kind, Record};
use taut_lock::{Epoch, EventCount, Listener};
use taut_plan::{ClassPlan, FailureRemedy, OnFailure, Overrun, Plan, ServicePlan, ServiceStart, TaskPlan};
use taut_sys::device::Wake;
use taut_sys::timer::LastResort;
use taut_sys::{clock, futex, interrupt};
use taut_time::{Duration, Instant};
use taut_trace::FinalBlock;

use crate::clock::{BenchClock, RunClock};
use crate::modes::Modes;
use crate::watched_device::WatchedDevice;

/// How long running jobs and `stop` may take after a stop request, beyond the longest deadline.
const JOBS_NS: u64 = 1_000_000_000;
/// Time from the limit of the last stage until the kernel ends the process.
pub(crate) const RESORT_NS: u64 = 1_000_000_000;
/// How often a thread that waits for an acknowledgement looks.
const LOOK_NS: u64 = 1_000_000;
/// A guardian that has not looked for this long since the stop request is kept from its processor.
const KEPT_NS: u64 = 500_000_000;

/// The state of a service. Recorded runs contain these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum State {
    /// Its tasks are released.
    Running = 1,
    /// Its releases are skipped.
    Paused = 2,
    /// Its components have stopped, or were never started. Its releases are skipped until it is started.
    Stopped = 3,
}

impl State {
    fn from_number(number: u64) -> Self {
        match number {
            2 => Self::Paused,
            3 => Self::Stopped,
            _ => Self::Running,
        }
    }
}

/// Why the application stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The requested time is over.
    Elapsed,
    /// A signal, by its number.
    Signal(u32),
    /// A task with `on-overrun = "stop-app"` overran: its position in the plan.
    Overrun(u32),
    /// A task panicked: its position in the plan.
    Panic(u32),
    /// A job of a task with `on-overrun = "kill-job"` did not end when it was killed: the task's position in the
    /// plan.
    Limit(u32),
    /// The application asked for it.
    Asked,
}

impl Reason {
    /// The reason as one word, never 0: the kind in the high half, the kind's number in the low half.
    fn number(self) -> u32 {
        match self {
            Self::Elapsed => 1 << 16,
            Self::Signal(signal) => 2 << 16 | signal & 0xffff,
            Self::Overrun(task) => 3 << 16 | task & 0xffff,
            Self::Asked => 4 << 16,
            Self::Panic(task) => 5 << 16 | task & 0xffff,
            Self::Limit(task) => 6 << 16 | task & 0xffff,
        }
    }

    fn from_number(number: u32) -> Option<Self> {
        match number >> 16 {
            0 => None,
            1 => Some(Self::Elapsed),
            2 => Some(Self::Signal(number & 0xffff)),
            3 => Some(Self::Overrun(number & 0xffff)),
            5 => Some(Self::Panic(number & 0xffff)),
            6 => Some(Self::Limit(number & 0xffff)),
            _ => Some(Self::Asked),
        }
    }

    /// Whether the end was intended: no task went wrong.
    fn is_meant(self) -> bool {
        matches!(self, Self::Elapsed | Self::Signal(_) | Self::Asked)
    }

    /// The ending of a run that stops for this reason.
    pub fn ending(self) -> Ending {
        match self {
            Self::Elapsed | Self::Asked => Ending::Done,
            Self::Signal(signal) => Ending::Signal(signal),
            Self::Overrun(task) => Ending::Overrun(task),
            Self::Panic(task) => Ending::Panic(task),
            Self::Limit(task) => Ending::Limit(task),
        }
    }
}

/// An ending as one word, never 0, from the numbers of its record.
fn pack(ending: Ending) -> u64 {
    let record = ending.to_record(Instant::from_ns(0));
    record.map_or(1 << 32, |record| (record.job + 1) << 32 | record.value & 0xffff_ffff)
}

/// A service, with the state that [`Control`] sets.
#[derive(Debug)]
pub(crate) struct Steered {
    name: String,
    /// The state, and how often the service has restarted or started again: see [`ServiceView`].
    word: AtomicU64,
    /// No job of a service that a mode starts is released before this instant on the monotonic clock (ns). Set before the
    /// word that says that it starts.
    starts_ns: AtomicU64,
    /// Notified when the word has changed, for receivers: they wait for values meanwhile.
    events: EventCount,
    failures: Failures,
    /// The service's real-time tasks, by position in the plan.
    pub(crate) tasks: Vec<usize>,
    /// Wakes of those that a device releases.
    wakes: Vec<Arc<Wake>>,
}

/// A service at an instant: its [`State`] in the lower half of a word, and in the upper half how often its components were to
/// run `reset`, because it restarted or was started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServiceView(u64);

impl ServiceView {
    const RESTART: u64 = 1 << 32;

    pub(crate) const fn of(state: State) -> Self {
        Self(state as u64)
    }

    pub(crate) fn state(self) -> State {
        State::from_number(self.0 & (Self::RESTART - 1))
    }

    pub(crate) fn restarts(self) -> u64 {
        self.0 >> 32
    }

    /// With as many restarts, in another state.
    pub(crate) fn in_state(self, state: State) -> Self {
        Self(self.0 & !(Self::RESTART - 1) | state as u64)
    }

    /// In the same state, with as many restarts as `other`.
    pub(crate) fn restarted_as(self, other: Self) -> Self {
        other.in_state(self.state())
    }
}

// `Steered::stop` sets bits: in whatever state the service is, it is stopped then.
const _: () = assert!(State::Stopped as u64 | State::Running as u64 == State::Stopped as u64);
const _: () = assert!(State::Stopped as u64 | State::Paused as u64 == State::Stopped as u64);

impl Steered {
    pub(crate) fn view(&self) -> ServiceView {
        ServiceView(self.word.load(Ordering::Acquire))
    }

    /// Ends the sleep of the tasks that wait for something else than the next release.
    fn notify(&self) {
        self.events.notify_from_any();
        self.wakes.iter().for_each(|wake| wake.notify());
    }

    pub(crate) fn stop(&self) {
        self.word.fetch_or(State::Stopped as u64, Ordering::AcqRel);
        self.notify();
    }

    /// Starts the service if it is stopped: each component is reset.
    fn start(&self) {
        let started = |view: ServiceView| ServiceView(view.0 + ServiceView::RESTART).in_state(State::Running);
        self.change(State::Stopped, started);
    }

    /// The same, for jobs that are released at `starts_ns` or later.
    pub(crate) fn start_at(&self, starts_ns: u64) {
        self.starts_ns.store(starts_ns, Ordering::Release);
        self.start();
    }

    fn restart(&self) {
        self.word.fetch_add(ServiceView::RESTART, Ordering::AcqRel);
        self.notify();
    }

    /// Changes the state if it is `from`.
    fn change(&self, from: State, to: impl Fn(ServiceView) -> ServiceView) {
        let changed = |word| {
            let view = ServiceView(word);
            (view.state() == from).then(|| to(view).0)
        };
        if self.word.fetch_update(Ordering::AcqRel, Ordering::Acquire, changed).is_ok() {
            self.notify();
        }
    }
}

/// A service before release 0.
fn initial(plan: &Plan, service: &ServicePlan) -> ServiceView {
    let starts = match plan.first_mode() {
        Some(mode) => plan.modes[mode].services.contains(&service.name),
        None => service.start == ServiceStart::Boot,
    };
    ServiceView::of(if starts { State::Running } else { State::Stopped })
}

/// The positions of a service's real-time tasks.
fn real_time_tasks(plan: &Plan, service: &str) -> Vec<usize> {
    let is_of = |task: &TaskPlan| {
        task.service.as_deref() == Some(service) && matches!(task.class, ClassPlan::RealTime { .. })
    };
    (0..).zip(&plan.tasks).filter(|(_, task)| is_of(task)).map(|(at, _)| at).collect()
}

/// The failures of a service's components.
#[derive(Debug)]
struct Failures {
    policy: OnFailure,
    /// How many there were.
    count: AtomicU64,
    /// The instants of the last ones on the monotonic clock (ns), as many as the policy allows restarts.
    instants: Box<[AtomicU64]>,
}

impl Failures {
    fn new(policy: OnFailure) -> Self {
        let instants = (0..policy.restart).map(|_| AtomicU64::new(0)).collect();
        Self { policy, count: AtomicU64::new(0), instants }
    }

    /// Counts a failure at `now_ns`, and returns its remedy. Wait-free: two shared accesses. Of failures that come at
    /// once, each takes its own place; a restart more than the policy allows is possible only if a thread is stopped
    /// between its two accesses while as many further failures come as the policy allows restarts.
    fn count(&self, now_ns: u64) -> FailureRemedy {
        let places = self.instants.len() as u64;
        let number = self.count.fetch_add(1, Ordering::AcqRel);
        let place = number.checked_rem(places).unwrap_or(0) as usize;
        let before_ns = self.instants.get(place).map(|instant| instant.swap(now_ns, Ordering::AcqRel));
        let since = before_ns.filter(|_| number >= places);
        self.policy.remedy(since.map(|before_ns| Duration::from_ns(now_ns.saturating_sub(before_ns))))
    }
}

/// The manifest has no service of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown(pub String);

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the manifest has no service `{}`", self.0)
    }
}

impl std::error::Error for Unknown {}

/// Why a service is neither started nor stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceError {
    /// The manifest has no such service.
    Unknown(Unknown),
    /// The manifest has modes, which alone start and stop services: [`Control::change_mode`]. Holds the service's name.
    OfModes(String),
}

impl std::fmt::Display for ServiceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown(unknown) => unknown.fmt(f),
            Self::OfModes(name) => {
                write!(f, "modes start and stop service `{name}`: ask for a mode with `Control::change_mode`")
            }
        }
    }
}

impl std::error::Error for ServiceError {}

impl From<Unknown> for ServiceError {
    fn from(unknown: Unknown) -> Self {
        Self::Unknown(unknown)
    }
}

/// Steers a running application: starts, pauses, resumes and stops services, and stops the application. Any thread may
/// call, unless the call waits. A call takes 2 or 3 shared accesses and a futex wake; `pause`, `resume` and
/// `start_service` repeat an access if another change of the same service comes in between. A periodic task follows at
/// its next release. A receiver follows at once, in a job of its own: at the latest when the minimum inter-arrival time
/// since its last job is over.
#[derive(Debug)]
pub struct Control {
    pub(crate) services: Vec<Steered>,
    pub(crate) modes: Modes,
    /// The clock of changes of mode.
    clock: RunClock,
    /// By task, the view of its service that the task has followed to the end.
    followed: Vec<AtomicU64>,
    /// By task, what ends its sleep while it waits for a device itself; `None` also if the system has no descriptor for it.
    wakes: Vec<Option<Arc<Wake>>>,
    /// By task, what it shares with the device thread that watches its device.
    watched: Vec<Option<WatchedDevice>>,
    /// 0 while the application runs, then the reason, as [`Reason::number`] encodes it.
    stop: AtomicU32,
    /// When the stop was requested, on the monotonic clock (ns); 0 before.
    stopped_ns: AtomicU64,
    /// No job is released at or after this instant.
    end_ns: AtomicU64,
    /// What happens when a component fails that belongs to no service.
    on_failure: OnFailure,
    /// For each task, whether its policy is `kill-job`: a job of such a task that is over its limit was killed before.
    kills: Vec<bool>,
    /// How often the code of the safe state used the heap, plus 1; 0: nothing counted it.
    rest_heap: AtomicU64,
    /// The guardian's thread id; 0: there is no guardian.
    guardian: AtomicI32,
    /// When the guardian last looked.
    looked_ns: AtomicU64,
    /// Ends the process if the guardian does not. `None` if the system has no timer; the application runs without it.
    resort: Option<LastResort>,
    /// How long running jobs and each `stop` may take after a stop request.
    jobs_ns: u64,
    /// By when everything that follows the last job must be done (ns); 0: the time limit of the jobs still counts.
    limit_ns: AtomicU64,
    /// Whether release 0 has been set.
    begun: AtomicBool,
    /// The ending, as [`pack`] encodes it, if the guardian ends the application where it stands; 0: it does not.
    ending: AtomicU64,
    /// 1 when the main thread has written what was recorded, as far as it could.
    written: AtomicU32,
    /// The end of the recording, while the thread that writes it runs code of the application.
    final_block: Mutex<Option<FinalBlock>>,
}

impl Control {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self { resort: LastResort::new().ok(), ..Self::with_clock(plan, RunClock::Machine) }
    }

    /// Steers an application in a bench: nothing ends the process.
    pub(crate) fn in_bench(plan: &Plan, clock: Arc<BenchClock>) -> Self {
        Self::with_clock(plan, RunClock::Bench(clock, 0))
    }

    fn with_clock(plan: &Plan, clock: RunClock) -> Self {
        let gap_ns = |task: &TaskPlan| match &task.class {
            ClassPlan::RealTime { arrival, .. } if arrival.device().is_some() => {
                Some(arrival.period().as_ns())
            }
            _ => None,
        };
        let watched =
            |task: &TaskPlan| gap_ns(task).filter(|_| plan.is_watched(task)).map(WatchedDevice::new);
        let waits = |task: &TaskPlan| gap_ns(task).is_some() && !plan.is_watched(task);
        let wake = |task: &TaskPlan| if waits(task) { Wake::new().ok().map(Arc::new) } else { None };
        let wakes: Vec<Option<Arc<Wake>>> = plan.tasks.iter().map(wake).collect();
        let wakes_of = |tasks: &[usize]| tasks.iter().filter_map(|at| wakes[*at].clone()).collect();
        let services = plan.services.iter().enumerate().map(|(at, service)| Steered {
            wakes: wakes_of(&real_time_tasks(plan, &service.name)),
            name: service.name.clone(),
            word: AtomicU64::new(initial(plan, service).0),
            starts_ns: AtomicU64::new(0),
            events: EventCount::new(),
            failures: Failures::new(plan.on_failure(Some(at))),
            tasks: real_time_tasks(plan, &service.name),
        });
        let followed = plan.tasks.iter().map(|task| {
            let service = plan.services.iter().find(|service| task.service.as_ref() == Some(&service.name));
            AtomicU64::new(service.map_or(ServiceView::of(State::Running), |of| initial(plan, of)).0)
        });
        let kills =
            |task: &TaskPlan| matches!(task.class, ClassPlan::RealTime { on_overrun: Overrun::KillJob, .. });
        let deadlines = plan.tasks.iter().filter_map(|task| match &task.class {
            ClassPlan::RealTime { deadline, .. } => Some(deadline.as_ns()),
            ClassPlan::BestEffort {} => None,
        });
        let jobs_ns = JOBS_NS.saturating_add(deadlines.max().unwrap_or(0));
        Self {
            followed: followed.collect(),
            services: services.collect(),
            wakes,
            watched: plan.tasks.iter().map(watched).collect(),
            modes: Modes::new(plan),
            clock,
            on_failure: plan.on_failure(None),
            kills: plan.tasks.iter().map(kills).collect(),
            looked_ns: AtomicU64::new(0),
            resort: None,
            jobs_ns,
            rest_heap: AtomicU64::new(0),
            stop: AtomicU32::new(0),
            stopped_ns: AtomicU64::new(0),
            end_ns: AtomicU64::new(u64::MAX),
            guardian: AtomicI32::new(0),
            limit_ns: AtomicU64::new(0),
            begun: AtomicBool::new(false),
            ending: AtomicU64::new(0),
            written: AtomicU32::new(0),
            final_block: Mutex::new(None),
        }
    }

    /// Starts a service that is stopped: one with `start = "demand"` in the manifest, or one that has stopped, whether by
    /// [`Control::stop_service`] or by a failure. Each of its components runs `reset` in place of its next job. Best-effort
    /// tasks that have returned do not start again. A service that is not stopped stays as it is.
    ///
    /// # Errors
    /// [`ServiceError`] if the manifest has no such service, or if it has modes: these start services.
    pub fn start_service(&self, service: &str) -> Result<(), ServiceError> {
        self.find_free(service)?.start();
        Ok(())
    }

    /// Skips the releases of a service's tasks until [`Control::resume`]. Values that would release a receiver wait
    /// meanwhile, as many as the queue holds. A stopped service stays stopped.
    ///
    /// # Errors
    /// [`Unknown`] if the manifest has no such service.
    pub fn pause(&self, service: &str) -> Result<(), Unknown> {
        self.find(service)?.change(State::Running, |view| view.in_state(State::Paused));
        Ok(())
    }

    /// Releases a paused service's tasks again, in their old phase. Its receivers get the values that waited, then
    /// later ones, always with their minimum inter-arrival time in between.
    ///
    /// # Errors
    /// [`Unknown`] if the manifest has no such service.
    pub fn resume(&self, service: &str) -> Result<(), Unknown> {
        self.find(service)?.change(State::Paused, |view| view.in_state(State::Running));
        Ok(())
    }

    /// Stops a service's tasks, each after its running job, until [`Control::start_service`]. Values that they have not
    /// received stay in their channels.
    ///
    /// # Errors
    /// [`ServiceError`] if the manifest has no such service, or if it has modes: these stop services.
    pub fn stop_service(&self, service: &str) -> Result<(), ServiceError> {
        self.find_free(service)?.stop();
        Ok(())
    }

    /// The state of a service.
    ///
    /// # Errors
    /// [`Unknown`] if the manifest has no such service.
    pub fn state(&self, service: &str) -> Result<State, Unknown> {
        Ok(self.find(service)?.view().state())
    }

    /// Whether every real-time task of a service has followed its last change: the components' callbacks have returned. A
    /// task whose component has failed follows nothing until it is reset.
    ///
    /// # Errors
    /// [`Unknown`] if the manifest has no such service.
    pub fn is_acknowledged(&self, service: &str) -> Result<bool, Unknown> {
        let steered = self.find(service)?;
        Ok(self.have_followed(steered, steered.view()))
    }

    /// Whether every real-time task of a service has followed it to this view.
    pub(crate) fn have_followed(&self, steered: &Steered, view: ServiceView) -> bool {
        steered.tasks.iter().all(|task| self.followed[*task].load(Ordering::Acquire) == view.0)
    }

    /// The state to which a task has followed its service, by its position.
    pub(crate) fn followed_state(&self, task: usize) -> State {
        ServiceView(self.followed[task].load(Ordering::Acquire)).state()
    }

    /// Waits until [`Control::is_acknowledged`], at most for `patience`, or until the application stops; returns whether it
    /// is. It looks every millisecond. Not for a job: it sleeps.
    ///
    /// # Errors
    /// [`Unknown`] if the manifest has no such service.
    pub fn wait_acknowledged(&self, service: &str, patience: Duration) -> Result<bool, Unknown> {
        let steered = self.find(service)?;
        Ok(self.wait_until_true(patience, || self.have_followed(steered, steered.view())))
    }

    /// The time now, on the run's clock (ns).
    pub(crate) fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// Waits until a condition is true, at most for `patience`, or until the application stops; returns whether it is. In
    /// a bench nothing happens during a call, so none waits.
    pub(crate) fn wait_until_true(&self, patience: Duration, is_true: impl Fn() -> bool) -> bool {
        if self.clock.is_virtual() {
            return is_true();
        }
        let end_ns = clock::monotonic_ns().saturating_add(patience.as_ns());
        loop {
            if is_true() {
                return true;
            }
            let now_ns = clock::monotonic_ns();
            if self.stopping() || now_ns >= end_ns {
                return false;
            }
            self.wait_until(end_ns.min(now_ns.saturating_add(LOOK_NS)));
        }
    }

    /// Stops the application in order, as SIGTERM does.
    pub fn stop(&self) {
        self.stop_because(Reason::Asked);
    }

    /// Whether the application is stopping.
    pub fn stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire) != 0
    }

    /// Sets the instant from which on no job is released. The caller calls this before release 0.
    pub(crate) fn end_at(&self, end_ns: u64) {
        self.end_ns.store(end_ns, Ordering::Release);
    }

    /// Whether a release at an instant is past the end.
    pub(crate) fn is_past(&self, release_ns: u64) -> bool {
        release_ns >= self.end_ns.load(Ordering::Acquire)
    }

    pub(crate) fn stop_because(&self, reason: Reason) {
        // A thread that sees the reason also sees an instant: if two requests come at once, the instant of either.
        let now_ns = clock::monotonic_ns();
        if self.stopped_ns.compare_exchange(0, now_ns, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            // Armed here, not by the guardian alone: a job may keep the guardian from its processor.
            self.resort_at(now_ns.saturating_add(self.jobs_ns).saturating_add(RESORT_NS));
            self.call_guardian();
        }
        // The first reason stands, except that a panic of a job that was still running replaces an intended end.
        let number = reason.number();
        let replaces = |before| {
            Reason::from_number(before)
                .is_none_or(|before| matches!(reason, Reason::Panic(_)) && before.is_meant())
                .then_some(number)
        };
        if self.stop.fetch_update(Ordering::AcqRel, Ordering::Acquire, replaces).is_ok() {
            let _ = futex::wake(&self.stop, u32::MAX, false);
            self.call_guardian();
        }
    }

    /// Stops the application because a task with `on-overrun = "stop-app"` overran.
    pub(crate) fn overran(&self, task: u16) {
        self.stop_because(Reason::Overrun(task.into()));
    }

    /// A job of a task panicked. Applies the remedy, and returns it. At most 5 shared accesses and a futex wake, unless the
    /// application stops.
    pub(crate) fn failed(&self, task: u16, service: Option<usize>, now_ns: u64) -> FailureRemedy {
        let Some(steered) = service.and_then(|at| self.services.get(at)) else {
            let remedy = self.on_failure.remedy(None);
            if remedy == FailureRemedy::StopApp {
                self.panicked(task);
            }
            return remedy;
        };
        let remedy = steered.failures.count(now_ns);
        match remedy {
            FailureRemedy::Restart => steered.restart(),
            FailureRemedy::StopService => steered.stop(),
            FailureRemedy::StopApp => self.panicked(task),
        }
        remedy
    }

    /// A service now.
    pub(crate) fn view(&self, service: usize) -> ServiceView {
        self.services[service].view()
    }

    /// The view of its service that a task has followed to the end.
    pub(crate) fn followed(&self, task: u16) -> ServiceView {
        ServiceView(self.followed[usize::from(task)].load(Ordering::Acquire))
    }

    /// A task has followed its service to this view. If it was the last one for which a change of mode waited, it starts the
    /// services of the new mode.
    pub(crate) fn acknowledge(&self, task: u16, view: ServiceView) {
        self.followed[usize::from(task)].store(view.0, Ordering::Release);
        self.advance_mode();
    }

    /// No job with which a service starts is released before this instant (ns). Valid for a view that was read before.
    pub(crate) fn starts_ns(&self, service: usize) -> u64 {
        self.services[service].starts_ns.load(Ordering::Acquire)
    }

    /// A best-effort task, which cannot restart, panicked: applies the remedy, and returns it.
    pub(crate) fn failed_best_effort(&self, task: u16, service: Option<usize>) -> FailureRemedy {
        let steered = service.and_then(|at| self.services.get(at));
        let then = steered.map_or(self.on_failure.then, |steered| steered.failures.policy.then);
        match (then.remedy(), steered) {
            (FailureRemedy::StopApp, _) => self.panicked(task),
            (_, Some(steered)) => steered.stop(),
            (_, None) => {}
        }
        then.remedy()
    }

    /// Stops the application because a task panicked where no remedy of its service applies.
    pub(crate) fn panicked(&self, task: u16) {
        self.stop_because(Reason::Panic(task.into()));
    }

    /// Stops the application because a job of a task is over its limit.
    pub(crate) fn over_limit(&self, task: u16) {
        let killed = self.kills.get(usize::from(task)).copied().unwrap_or(false);
        if killed {
            self.stop_because(Reason::Limit(task.into()));
        } else {
            self.overran(task);
        }
    }

    /// Sets how often the code of the safe state used the heap.
    pub(crate) fn set_rest_heap(&self, uses: u64) {
        self.rest_heap.store(uses.saturating_add(1), Ordering::Relaxed);
    }

    pub(crate) fn rest_heap(&self) -> Option<u64> {
        self.rest_heap.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Waits until the application stops, at most until an instant. For a thread that is not real-time.
    pub(crate) fn wait_until(&self, ns: u64) {
        let _ = futex::wait(&self.stop, 0, Some(ns), false);
    }

    /// As [`Control::wait_until`], or until one of at most two event counts has passed its epoch. Where Linux cannot
    /// wait for several words, before 5.16, it waits until `look_ns` at most.
    pub(crate) fn wait_for(&self, events: [Option<(&Listener<'_>, Epoch)>; 2], until_ns: u64, look_ns: u64) {
        let mut words = [futex::Awaited::new(&self.stop, 0, false); 3];
        let mut count = 1;
        for (listener, epoch) in events.into_iter().flatten() {
            let Some(event) = listener.awaited(epoch) else { return };
            words[count] = event;
            count += 1;
        }
        if count == 1 {
            self.wait_until(until_ns);
        } else if futex::wait_any(&words[..count], Some(until_ns)).is_err() {
            self.wait_until(until_ns.min(look_ns));
        }
    }

    /// What a task shares with the device thread that watches its device.
    pub(crate) fn watched_device(&self, task: u16) -> Option<&WatchedDevice> {
        self.watched[usize::from(task)].as_ref()
    }

    /// What ends the sleep of a task that waits for a device.
    pub(crate) fn device_wake(&self, task: u16) -> Option<&Wake> {
        self.wakes[usize::from(task)].as_deref()
    }

    /// When the stop was requested; `None` before.
    pub(crate) fn stopped_ns(&self) -> Option<u64> {
        self.stopping().then(|| self.stopped_ns.load(Ordering::Acquire))
    }

    /// Sets the guardian's thread id; 0: there is no guardian any more.
    pub(crate) fn set_guardian(&self, tid: i32) {
        self.guardian.store(tid, Ordering::Release);
    }

    /// The guardian calls this whenever it looks.
    pub(crate) fn looks(&self, now_ns: u64) {
        self.looked_ns.store(now_ns, Ordering::Release);
    }

    /// Whether the guardian has not looked for long since the stop request: code of the application may run at a
    /// priority that only the guardian is meant to have.
    pub(crate) fn guardian_is_kept(&self, now_ns: u64) -> bool {
        let looked_ns = self.looked_ns.load(Ordering::Acquire);
        self.stopped_ns()
            .is_some_and(|stopped_ns| looked_ns < stopped_ns && now_ns.saturating_sub(stopped_ns) >= KEPT_NS)
    }

    /// Sets the instant at which the kernel ends the process, in place of the instant that was set before.
    pub(crate) fn resort_at(&self, ns: u64) {
        if let Some(resort) = &self.resort {
            resort.arm(ns);
        }
    }

    /// How long running jobs and each `stop` may take after a stop request.
    pub(crate) fn jobs_ns(&self) -> u64 {
        self.jobs_ns
    }

    /// Makes the guardian look again.
    pub(crate) fn call_guardian(&self) {
        interrupt::send(self.guardian.load(Ordering::Acquire));
    }

    /// Reports to the guardian that release 0 has been set.
    pub(crate) fn begin(&self) {
        self.begun.store(true, Ordering::Release);
        self.call_guardian();
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    pub(crate) fn end_ns(&self) -> u64 {
        self.end_ns.load(Ordering::Acquire)
    }

    /// Reports to the guardian that the jobs are done, and by which instant everything that follows must be done.
    pub(crate) fn limit(&self, ns: u64) {
        self.limit_ns.store(ns, Ordering::Release);
        self.call_guardian();
    }

    pub(crate) fn limit_ns(&self) -> Option<u64> {
        Some(self.limit_ns.load(Ordering::Acquire)).filter(|ns| *ns != 0)
    }

    /// Leaves the end of the recording to the guardian, or takes it back. For the thread that writes the recording.
    pub(crate) fn leave(&self, final_block: Option<FinalBlock>) {
        *self.final_block.lock().unwrap_or_else(PoisonError::into_inner) = final_block;
    }

    /// Ends the application where it stands. Waits at most `wait_ns` until the main thread has written what was
    /// recorded. If that thread does not, because it runs code of the application, this call writes `last` instead.
    pub(crate) fn end_here(&self, ending: Ending, wait_ns: u64, last: &[Record]) {
        self.ending.store(pack(ending), Ordering::Release);
        // The main thread may wait for the application to stop.
        let _ = futex::wake(&self.stop, u32::MAX, false);
        let until_ns = clock::monotonic_ns().saturating_add(wait_ns);
        while self.written.load(Ordering::Acquire) == 0 && clock::monotonic_ns() < until_ns {
            let _ = futex::wait(&self.written, 0, Some(until_ns), false);
        }
        // If another thread holds this lock, that thread is about to write.
        if self.written.load(Ordering::Acquire) == 0
            && let Ok(mut left) = self.final_block.try_lock()
            && let Some(left) = left.take()
        {
            let _ = left.write(last);
        }
    }

    /// The ending, if the guardian ends the application where it stands.
    pub(crate) fn ending(&self) -> Option<Ending> {
        let word = self.ending.load(Ordering::Acquire);
        let (job, value) = ((word >> 32).checked_sub(1)?, word & 0xffff_ffff);
        let (at, kind) = (Instant::from_ns(0), Kind::End);
        Ending::from_record(&Record { at, kind, cpu: 0, subject: 0, job, value })
    }

    /// Reports to the guardian that what was recorded is written, and waits for the end of the process.
    pub(crate) fn written(&self) -> ! {
        self.written.store(1, Ordering::Release);
        let _ = futex::wake(&self.written, u32::MAX, false);
        interrupt::stay()
    }

    pub(crate) fn reason(&self) -> Option<Reason> {
        Reason::from_number(self.stop.load(Ordering::Acquire))
    }

    /// The listener that is notified when a service's state has changed.
    pub(crate) fn listener(&self, service: usize) -> Listener<'_> {
        self.services[service].events.listener()
    }

    /// A service that the application may start and stop.
    fn find_free(&self, service: &str) -> Result<&Steered, ServiceError> {
        let found = self.find(service)?;
        if self.modes.govern() { Err(ServiceError::OfModes(service.to_owned())) } else { Ok(found) }
    }

    fn find(&self, service: &str) -> Result<&Steered, Unknown> {
        let found = self.services.iter().find(|steered| steered.name == service);
        found.ok_or_else(|| Unknown(service.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use taut_plan::AfterFailure;

    use super::*;

    /// Just after the machine has started, no failure is mistaken for one of the instant 0.
    #[test]
    fn failures_are_counted_in_a_window_that_slides() {
        let within = Duration::from_ns(100);
        let failures = Failures::new(OnFailure { restart: 2, within, then: AfterFailure::StopService });
        let remedies: Vec<_> = [5, 10, 110, 111, 209, 311].map(|now_ns| failures.count(now_ns)).into();
        let expected = [
            FailureRemedy::Restart,
            FailureRemedy::Restart,
            // The failure two before was 105 ns ago.
            FailureRemedy::Restart,
            FailureRemedy::Restart,
            FailureRemedy::StopService,
            FailureRemedy::Restart,
        ];
        assert_eq!(remedies, expected);
        let never = Failures::new(OnFailure::never(AfterFailure::StopApp));
        assert_eq!(never.count(5), FailureRemedy::StopApp);
    }
}
