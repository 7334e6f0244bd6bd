// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Changes of mode, in three steps: the services that the new mode does not have stop; once all of their
//! real-time tasks have stopped, the change waits for the idle time of the plan; then the services that the
//! old mode did not have start.
//!
//! The thread that asks takes the first step. The task that stops last takes the second and the third: it
//! sets the instant before which no job of the starting services is released, and starts them. So no other
//! thread has to watch the change, and the time that it takes has a bound. In all else the services stop and
//! start as they do where the application itself stops and starts them.
//!
//! One word holds how far a change is. The number in it makes the words of changes differ, so that a thread
//! that was kept from its processor cannot take a step of an earlier change.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use taut_plan::Plan;
use taut_time::Duration;

use crate::control::{Control, State};

/// Why a change of mode does not begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModeError {
    /// The manifest has no mode of this name.
    Unknown(String),
    /// Another change has not come to its end; see [`Control::is_mode_reached`].
    Changing,
}

impl fmt::Display for ModeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(f, "the manifest has no mode `{name}`"),
            Self::Changing => write!(f, "another change of mode has not come to its end"),
        }
    }
}

impl std::error::Error for ModeError {}

/// How far a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The mode is reached.
    Reached = 0,
    /// The thread that asks has begun the change, and no service has been stopped for it.
    Asked = 1,
    /// Tasks stop.
    Stopping = 2,
    /// All of them have stopped, and the last one starts the services.
    Starting = 3,
    /// The services have been started, and their tasks follow.
    Started = 4,
}

/// A change: its step (8 bits), the positions of the old and the new mode (16 bits each), and its number (24 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Progress(u64);

impl Progress {
    const NUMBER: u64 = 1 << 40;

    fn in_mode(mode: usize) -> Self {
        Self(Step::Reached as u64 | (mode as u64) << 8 | (mode as u64) << 24)
    }

    fn step(self) -> Step {
        match self.0 & 0xff {
            1 => Step::Asked,
            2 => Step::Stopping,
            3 => Step::Starting,
            4 => Step::Started,
            _ => Step::Reached,
        }
    }

    fn from(self) -> usize {
        (self.0 >> 8 & 0xffff) as usize
    }

    fn to(self) -> usize {
        (self.0 >> 24 & 0xffff) as usize
    }

    fn at(self, step: Step) -> Self {
        Self(self.0 & !0xff | step as u64)
    }

    /// The change from the mode that is reached to another.
    fn next(self, to: usize) -> Self {
        let number = (self.0 & !(Self::NUMBER - 1)).wrapping_add(Self::NUMBER);
        Self(number | (to as u64) << 24 | (self.to() as u64) << 8 | Step::Asked as u64)
    }
}

#[derive(Debug)]
struct Mode {
    name: String,
    /// By service, whether it runs in the mode.
    runs: Vec<bool>,
}

/// The modes of an application, and the change that is under way.
#[derive(Debug)]
pub(crate) struct Modes {
    modes: Vec<Mode>,
    /// By old mode and new mode: the time from the stop of the last task to the first release of a task that
    /// starts (ns).
    idle_ns: Vec<Vec<u64>>,
    progress: AtomicU64,
    /// When the request returned (ns); 0 while it runs.
    asked_ns: AtomicU64,
}

/// A change of mode, as a task that has followed it records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FollowedMode {
    pub(crate) from: u16,
    pub(crate) to: u16,
    /// How long ago the request returned (ns); 0 if it has not.
    pub(crate) since_ns: u64,
}

impl Modes {
    pub(crate) fn new(plan: &Plan) -> Self {
        let runs = |services: &[String]| plan.services.iter().map(|of| services.contains(&of.name)).collect();
        let modes =
            plan.modes.iter().map(|mode| Mode { name: mode.name.clone(), runs: runs(&mode.services) });
        let idle_ns = |from: usize, to: usize| {
            // A plan without a bound is not proven. Under it the services of the new mode never start.
            let idle = plan.change(from, to).map_or(Some(Duration::ZERO), |change| change.idle);
            idle.map_or(u64::MAX, |idle| idle.as_ns())
        };
        let count = plan.modes.len();
        Self {
            modes: modes.collect(),
            idle_ns: (0..count).map(|from| (0..count).map(|to| idle_ns(from, to)).collect()).collect(),
            progress: AtomicU64::new(Progress::in_mode(plan.first_mode().unwrap_or(0)).0),
            asked_ns: AtomicU64::new(0),
        }
    }

    /// Whether the application has modes: then these alone start and stop services.
    pub(crate) fn govern(&self) -> bool {
        !self.modes.is_empty()
    }

    fn progress(&self) -> Progress {
        Progress(self.progress.load(Ordering::Acquire))
    }

    /// Takes a step, unless another thread has; returns whether this one did.
    fn step(&self, from: Progress, to: Progress) -> bool {
        self.progress.compare_exchange(from.0, to.0, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// The services that run in one mode and not in another.
    fn only_in(&self, mode: usize, other: usize) -> impl Iterator<Item = usize> + '_ {
        let runs = self.modes[mode].runs.iter().zip(&self.modes[other].runs);
        runs.enumerate().filter(|(_, (runs, other))| **runs && !**other).map(|(at, _)| at)
    }
}

impl Control {
    /// Asks for another mode, and returns at once. The services that the new mode does not have stop, each
    /// task after its running job. Once all have stopped, and the cores have been idle, the services that the
    /// old mode did not have start, and each of their components runs `reset` in place of its first job.
    /// Tasks of both modes, and of no service, go on. If the application is in that mode already, nothing
    /// changes.
    ///
    /// Any thread may call this, a job too. It takes up to 10 shared accesses, for each service 4 and a futex
    /// wake, and for each real-time task 2 and, if a device releases it, a write to its eventfd. If nothing
    /// stops, it starts the services itself. Otherwise the last task that stops does the same in its last
    /// job.
    ///
    /// # Errors
    /// [`ModeError`] if the manifest has no such mode, or if an earlier change has not come to its end.
    pub fn change_mode(&self, mode: &str) -> Result<(), ModeError> {
        let modes = &self.modes;
        let to = modes.modes.iter().position(|other| other.name == mode);
        let to = to.ok_or_else(|| ModeError::Unknown(mode.to_owned()))?;
        let now = self.reach();
        if now.step() != Step::Reached {
            return Err(ModeError::Changing);
        }
        if now.to() == to {
            return Ok(());
        }
        let asked = now.next(to);
        if !modes.step(now, asked) {
            return Err(ModeError::Changing);
        }
        modes.asked_ns.store(0, Ordering::Relaxed);
        modes.progress.store(asked.at(Step::Stopping).0, Ordering::Release);
        for service in modes.only_in(asked.from(), to) {
            self.services[service].stop();
        }
        self.advance_mode();
        modes.asked_ns.store(self.now_ns(), Ordering::Release);
        Ok(())
    }

    /// The name of the application's mode; during a change, of the new one. `None` if the manifest has no modes.
    pub fn current_mode(&self) -> Option<&str> {
        self.modes.modes.get(self.modes.progress().to()).map(|mode| mode.name.as_str())
    }

    /// Whether the last change of mode has come to its end: every real-time task that stops has stopped, and every one that
    /// starts has run its `reset`. A service that a failure has stopped since counts as well.
    pub fn is_mode_reached(&self) -> bool {
        self.reach().step() == Step::Reached
    }

    /// Waits until [`Control::is_mode_reached`], at most for `patience`, or until the application stops; returns whether it
    /// is. It looks every millisecond. Not for a job: it sleeps.
    pub fn wait_mode_reached(&self, patience: Duration) -> bool {
        self.wait_until_true(patience, || self.is_mode_reached())
    }

    /// Records in the word that a change has come to its end, if it has; returns the word.
    fn reach(&self) -> Progress {
        let modes = &self.modes;
        let now = modes.progress();
        if now.step() != Step::Started {
            return now;
        }
        let mut started = modes.only_in(now.to(), now.from());
        let follows = |service: usize| {
            let steered = &self.services[service];
            let view = steered.view();
            view.state() == State::Stopped || self.have_followed(steered, view)
        };
        if started.all(follows) {
            modes.step(now, now.at(Step::Reached));
        }
        modes.progress()
    }

    /// Starts the services of the new mode, if all tasks that stop have stopped. A task calls it when it has
    /// followed its service. At most as many shared accesses as [`Control::change_mode`].
    pub(crate) fn advance_mode(&self) {
        let modes = &self.modes;
        if !modes.govern() {
            return;
        }
        // Of two tasks that stop at once, the one whose fence is later sees what both have followed.
        fence(Ordering::SeqCst);
        let now = modes.progress();
        let has_stopped = |service: usize| {
            let steered = &self.services[service];
            let stopped = |task: &usize| self.followed_state(*task) == State::Stopped;
            steered.view().state() == State::Stopped && steered.tasks.iter().all(stopped)
        };
        if now.step() != Step::Stopping || !modes.only_in(now.from(), now.to()).all(has_stopped) {
            return;
        }
        let starts_ns = self.now_ns().saturating_add(modes.idle_ns[now.from()][now.to()]);
        if modes.step(now, now.at(Step::Starting)) {
            for service in modes.only_in(now.to(), now.from()) {
                self.services[service].start_at(starts_ns);
            }
            modes.progress.store(now.at(Step::Started).0, Ordering::Release);
        }
    }

    /// The change of mode that a service's task follows; `None` if the service does not take part in one.
    pub(crate) fn followed_mode(&self, service: usize) -> Option<FollowedMode> {
        let modes = &self.modes;
        let now = modes.progress();
        let runs = |mode: usize| modes.modes.get(mode).is_some_and(|mode| mode.runs[service]);
        if now.step() == Step::Reached || runs(now.from()) == runs(now.to()) {
            return None;
        }
        let asked_ns = modes.asked_ns.load(Ordering::Acquire);
        let since_ns = if asked_ns == 0 { 0 } else { self.now_ns().saturating_sub(asked_ns) };
        let position = crate::names::position;
        Some(FollowedMode { from: position(now.from()), to: position(now.to()), since_ns })
    }
}

#[cfg(test)]
mod tests {
    use taut_plan::{Input, digest};
    use taut_sys::clock;

    use super::*;
    use crate::ServiceError;
    use crate::control::ServiceView;

    const MANIFEST: &str = r#"
manifest = 1
[app]
name = "modes"
mode = "first"
[platform]
cores = [0]
memory = "8MiB"
[services.a]
[services.b]
[services.both]
[modes]
second = ["both", "b"]
first = ["a", "both"]
none = []
[tasks.a0]
service = "a"
arrival = { periodic = "10ms" }
deadline = "10ms"
wcet = { value = "1ms", source = "guess" }
[tasks.a1]
service = "a"
arrival = { periodic = "20ms" }
deadline = "20ms"
wcet = { value = "1ms", source = "guess" }
[tasks.b0]
service = "b"
arrival = { periodic = "10ms" }
deadline = "10ms"
wcet = { value = "1ms", source = "guess" }
[tasks.c0]
service = "both"
arrival = { periodic = "10ms" }
deadline = "10ms"
wcet = { value = "1ms", source = "guess" }
"#;

    fn plan() -> Plan {
        let source = taut_manifest::SourceText { name: "taut.toml".to_owned(), text: MANIFEST.to_owned() };
        let model = taut_manifest::load(&source, &[]).model.expect("a valid manifest");
        let input = Input { path: "taut.toml".to_owned(), hash: digest(MANIFEST.as_bytes()) };
        let plan = taut_planner::Planned::make(&model, vec![input]).plan;
        assert!(plan.proven);
        plan
    }

    /// A task follows its service, as its thread would.
    fn follow(control: &Control, task: u16) {
        let service = control.services.iter().position(|of| of.tasks.contains(&task.into()));
        let view: ServiceView = control.services[service.expect("a service")].view();
        control.acknowledge(task, view);
    }

    fn states(control: &Control) -> [State; 3] {
        ["a", "b", "both"].map(|service| control.state(service).expect("a service"))
    }

    use State::{Running, Stopped};

    #[test]
    #[cfg_attr(miri, ignore = "the application's control makes a timer")]
    fn the_last_task_that_stops_starts_the_others() {
        let plan = plan();
        let control = Control::new(&plan);
        assert_eq!((control.current_mode(), states(&control)), (Some("first"), [Running, Stopped, Running]));
        assert_eq!(control.change_mode("third"), Err(ModeError::Unknown("third".to_owned())));
        assert_eq!(control.change_mode("first"), Ok(()));
        assert!(control.is_mode_reached());
        assert_eq!(control.change_mode("second"), Ok(()));
        assert_eq!((control.current_mode(), states(&control)), (Some("second"), [Stopped, Stopped, Running]));
        assert_eq!(control.change_mode("first"), Err(ModeError::Changing));
        // A task of both modes has nothing to follow.
        follow(&control, 3);
        follow(&control, 1);
        assert_eq!(states(&control), [Stopped, Stopped, Running], "the other task has not stopped");
        let before_ns = clock::monotonic_ns();
        follow(&control, 0);
        assert_eq!(states(&control), [Stopped, Running, Running]);
        let idle = plan.change(1, 0).and_then(|change| change.idle).expect("a bound");
        assert!(idle > Duration::ZERO);
        assert!(control.starts_ns(1) >= before_ns + idle.as_ns(), "the cores may not have been idle");
        assert!(!control.is_mode_reached());
        assert_eq!(control.change_mode("first"), Err(ModeError::Changing));
        follow(&control, 2);
        assert!(control.is_mode_reached());
        // Back: the service that was stopped is reset.
        assert_eq!(control.change_mode("first"), Ok(()));
        follow(&control, 2);
        assert_eq!(states(&control), [Running, Stopped, Running]);
        assert_eq!(control.view(0).restarts(), 1);
        follow(&control, 0);
        assert!(!control.is_mode_reached());
        follow(&control, 1);
        assert!(control.wait_mode_reached(Duration::ZERO));
    }

    /// A mode that only stops services is reached when they have stopped; one that only starts some starts them at once.
    #[test]
    #[cfg_attr(miri, ignore = "the application's control makes a timer")]
    fn a_change_may_only_stop_or_only_start() {
        let control = Control::new(&plan());
        assert_eq!(control.change_mode("none"), Ok(()));
        for task in [0, 1] {
            follow(&control, task);
        }
        assert!(!control.is_mode_reached(), "a task of the third service runs");
        follow(&control, 3);
        assert!(control.is_mode_reached());
        assert_eq!(states(&control), [Stopped; 3]);
        assert_eq!(control.change_mode("second"), Ok(()));
        assert_eq!(states(&control), [Stopped, Running, Running]);
        assert!(control.starts_ns(1) <= clock::monotonic_ns());
        for task in [2, 3] {
            assert!(!control.is_mode_reached());
            follow(&control, task);
        }
        assert!(control.is_mode_reached());
    }

    /// A service that a failure stops counts as followed: its tasks have no job, in the old mode or in the new one.
    #[test]
    #[cfg_attr(miri, ignore = "the application's control makes a timer")]
    fn a_failure_keeps_no_change_from_its_end() {
        let control = Control::new(&plan());
        control.services[0].stop();
        follow(&control, 0);
        follow(&control, 1);
        assert_eq!(control.change_mode("second"), Ok(()));
        assert_eq!(states(&control), [Stopped, Running, Running], "nothing was left to stop");
        control.services[1].stop();
        assert!(control.is_mode_reached());
    }

    /// A thread that was kept from its processor since an earlier change takes no step of a later one.
    #[test]
    fn the_words_of_changes_differ() {
        let first = Progress::in_mode(3).next(65_535);
        assert_eq!((first.from(), first.to(), first.step()), (3, 65_535, Step::Asked));
        let back = first.at(Step::Reached).next(3);
        let again = back.at(Step::Reached).next(65_535);
        assert_eq!((again.from(), again.to()), (first.from(), first.to()));
        assert_ne!(again, first);
    }

    #[test]
    #[cfg_attr(miri, ignore = "the application's control makes a timer")]
    fn modes_alone_start_and_stop_services() {
        let control = Control::new(&plan());
        let of_modes = Err(ServiceError::OfModes("b".to_owned()));
        assert_eq!((control.start_service("b"), control.stop_service("b")), (of_modes.clone(), of_modes));
        assert!(matches!(control.start_service("d"), Err(ServiceError::Unknown(_))));
        assert_eq!(states(&control), [Running, Stopped, Running]);
        // To pause is to skip releases, which the proof of every mode allows.
        control.pause("a").expect("a service");
        assert_eq!(control.state("a"), Ok(State::Paused));
    }
}
