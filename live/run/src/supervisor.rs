// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Boots an application and runs it to its end.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::Builder;

use taut_boot::{Admission, Applications, Guarantee, Guarantees, LoadedPlan, Maps, RunningApplication};
use taut_plan::{ClassPlan, OnMissingPrivilege, Plan, Size, ValidPlan};
use taut_scope::{Block, Scope};
use taut_sys::account::look_ns;
use taut_sys::switched::SwitchMark;
use taut_sys::{crash, interrupt, machine, memory, process, safe_state, signals, thread};
use taut_time::Duration;

use crate::app::App;
use crate::control::{Control, Reason};
use crate::dispatch::Dispatch;
use crate::guardian::{Guardian, Home};
use crate::runtime::Runtime;
use crate::safe_state::SafeState;
use crate::{Error, flow};

/// What to run, and for how long.
#[derive(Clone, Debug)]
pub struct Config {
    /// The plan.
    pub lock: PathBuf,
    /// The folder for the recording; `None` records nothing.
    pub out: Option<PathBuf>,
    /// Limit of the recording in bytes: the newest records are kept. `None` keeps all.
    pub record_limit: Option<u64>,
    /// How long to run; `None` runs until a signal.
    pub duration: Option<Duration>,
    /// When the parent started the process, on the monotonic clock (ns), as the parent measured it.
    pub spawned_ns: Option<u64>,
    /// The applications of the machine, beside which this one must fit. `None` asks nobody, and registers nowhere: other
    /// applications may take the same CPUs.
    pub applications: Option<Applications>,
}

/// Receives the progress of an application, to show it to a person. The runtime calls it on the main thread.
pub trait RunObserver {
    /// Reports which guarantees are missing, before any thread is real-time.
    fn guarantees(&mut self, guarantees: &Guarantees);
    /// Reports which applications ran on the machine when this one was admitted.
    fn beside(&mut self, others: &[RunningApplication]) {
        let _ = others;
    }
    /// Reports that the runtime found and removed a segment of an application that had died.
    fn removed_stale(&mut self, what: &str);
    /// Reports that release 0 is set, and how long booting took, if the start of the process is known.
    fn started(&mut self, plan: &Plan, boot: Option<Duration>);
    /// Reports that the application stops, and why.
    fn stopping(&mut self, reason: Reason);
    /// Reports the outcome of the safe state at an orderly end, if outputs may not be at rest or the safe state
    /// used the heap.
    fn rested(&mut self, what: &dyn std::fmt::Display) {
        let _ = what;
    }
    /// Reports a best-effort task that did not return.
    fn stuck(&mut self, task: &str);
    /// Reports a component that panicked or whose `finish` failed.
    fn unfinished(&mut self, task: &str, error: &dyn std::error::Error);
}

/// How an application ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppEnd {
    /// Why.
    pub reason: Reason,
    /// Whether outputs are at rest, and every component finished without error or panic.
    pub orderly: bool,
    /// Where the recording is.
    pub recording: Option<PathBuf>,
}

/// The name of the recording in the output folder.
pub const RECORDING: &str = "run.taut";

/// Runs an application to its end.
///
/// # Errors
/// [`Error`] if the application does not reach release 0, or its recording cannot be written.
pub fn run(
    config: &Config,
    observer: &mut dyn RunObserver,
    setup: impl for<'p> FnOnce(&mut App<'p>) -> Result<(), Error>,
) -> Result<AppEnd, Error> {
    let LoadedPlan { plan, text } = LoadedPlan::from_file(&config.lock)?;
    // Before any thread exists: every thread inherits the mask, and only the guardian takes these signals.
    signals::block(signals::termination())?;
    // A blocked SIGCONT still resumes a stopped process. The guardian takes the signal, and so learns of the stop.
    signals::block(&[signals::SIGCONT])?;
    signals::write_errors_only()?;
    interrupt::allow()?;
    let guarantees = Guarantees::find(&plan);
    // The thread of the segment listener inherits this affinity.
    keep_house(&plan);
    let control = Control::new(&plan);
    let guardian = Guardian::new(&plan, &control);
    std::thread::scope(|threads| {
        let (ready, is_ready) = mpsc::channel();
        let guard = || {
            guardian.guard(move || {
                let _ = ready.send(());
            });
        };
        let spawned = Builder::new().name("guardian".to_owned()).spawn_scoped(threads, guard);
        spawned.map_err(|error| Error::Thread(format!("cannot start the guardian: {error}")))?;
        let _home = Home(&control);
        // From here on the guardian watches.
        is_ready.recv().map_err(|_| Error::Thread("the guardian did not become ready".to_owned()))?;
        booted(config, observer, setup, (&plan, &text), &control, guarantees)
    })
}

/// Asks for admission beside the applications that run, unless the configuration asks nobody. Where nobody can be
/// asked, a guarantee is lost.
fn admit(config: &Config, plan: &Plan, guarantees: &mut Guarantees) -> Result<Option<Admission>, Error> {
    let Some(applications) = &config.applications else { return Ok(None) };
    match applications.admit(plan, guarantees) {
        Ok(admission) => Ok(Some(admission)),
        Err(error) => Ok(error.lose_exclusive(guarantees).map(|()| None)?),
    }
}

/// The part of [`run`] that the guardian watches.
fn booted(
    config: &Config,
    observer: &mut dyn RunObserver,
    setup: impl for<'p> FnOnce(&mut App<'p>) -> Result<(), Error>,
    (plan, text): (&ValidPlan, &str),
    control: &Control,
    mut guarantees: Guarantees,
) -> Result<AppEnd, Error> {
    // The guardian is a real-time thread, which shows to other users that this application can have some. Held until the
    // last task has ended, so that the CPUs are free only then.
    let admission = admit(config, plan, &mut guarantees)?;
    if let Some(admission) = &admission {
        observer.beside(admission.others());
    }
    let recording = config.out.as_ref().map(|out| out.join(RECORDING));
    let maps = Maps::take(plan)?;
    if let Err(error) = memory::lock_all() {
        guarantees.lose(Guarantee::Memory, error);
    }
    // The file stays open while the application runs: closing it would end the request.
    let wakeup = machine::dma_latency_hold();
    if let Err(error) = &wakeup {
        guarantees.lose(Guarantee::Wakeup, error);
    }
    observer.guarantees(&guarantees);
    if guarantees.is_degraded() && plan.on_missing_privilege == OnMissingPrivilege::Fail {
        return Err(Error::Privilege(guarantees.lost));
    }
    if let Some(stale) = maps.segment().and_then(|segment| segment.replaced()) {
        observer.removed_stale(&stale.display().to_string());
    }

    let (service_scopes, task_scopes) = scopes(plan, &maps)?;
    let event_counts = flow::event_counts(plan);
    let dispatch = Dispatch::new(plan)?;
    let mut app = App::new(plan, &maps, control, &service_scopes, &task_scopes, &event_counts, dispatch);
    let set_up = setup(&mut app);
    process::end_if_forked();
    set_up?;
    app.check_complete()?;
    let (error_facts, set_up) = (app.error_facts(), Arc::clone(&app.set_up));
    let hook = app.rest.take();
    let (task_codes, dispatch) = app.into_task_codes()?;

    let path = recording.as_deref().unwrap_or(Path::new(""));
    let context =
        Runtime { plan, guarantees: &guarantees, control, maps: &maps, recording: path, error_facts, set_up };
    let run = |observer: &mut dyn RunObserver| match &recording {
        Some(path) => {
            let sink = create(path).map_err(|error| Error::Output(path.clone(), error))?;
            context.run(task_codes, dispatch, config, observer, sink, text)
        }
        None => context.run(task_codes, dispatch, config, observer, std::io::sink(), text),
    };
    let orderly = std::thread::scope(|threads| {
        let start = |(budget, hook)| SafeState::start(threads, control, budget, hook);
        let _rest = plan.safe_state.zip(hook).map(start).transpose()?;
        crash::catch_exits();
        run(observer)
    });
    safe_state::clear();
    let orderly = orderly?;
    drop(wakeup);
    let reason = control.reason().unwrap_or(Reason::Asked);
    Ok(AppEnd { reason, orderly, recording })
}

/// Keeps the main thread, and the threads it starts, off the real-time cores. `Guarantees::find` has already
/// reported CPUs that are missing.
fn keep_house(plan: &Plan) {
    let online = thread::online_cpus();
    let house: Vec<u16> = plan.housekeeping.iter().copied().filter(|cpu| online.contains(cpu)).collect();
    if !house.is_empty() {
        let _ = thread::set_affinity(&house);
    }
}

pub(crate) type Scopes<'p> = (Vec<Scope<'p>>, Vec<Scope<'p>>);

pub(crate) fn scopes<'p>(plan: &ValidPlan, maps: &'p Maps) -> Result<Scopes<'p>, Error> {
    let none: &'static mut [Block] = &mut [];
    let mut none = Some(none);
    let mut tasks = Vec::with_capacity(plan.tasks.len());
    for task in &plan.tasks {
        tasks.push(match &task.class {
            // SAFETY:
            // - the maps were taken for this plan, which is valid: every scope has a region of its own (V1), and
            //   this is the only place that makes scopes over persistent regions
            ClassPlan::RealTime { persistent, .. } => unsafe { maps.scope(*persistent, &task.name)? },
            ClassPlan::BestEffort {} => Scope::new(none.take().unwrap_or_default()),
        });
    }
    let mut services = Vec::with_capacity(plan.services.len());
    for service in &plan.services {
        // SAFETY:
        // - as above
        services.push(unsafe { maps.scope(service.persistent, &service.name)? });
    }
    Ok((services, tasks))
}

/// Makes a new file in place of one that has this path.
pub(crate) fn create(path: &Path) -> std::io::Result<std::fs::File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // Always makes a new file: the recording must not go through a link or a second name that an earlier run left
    // there. Anything but a file or link is an error: opening a pipe, for example, would block until somebody reads
    // it.
    match std::fs::symlink_metadata(path).map(|there| there.file_type()) {
        Ok(there) if there.is_file() || there.is_symlink() => std::fs::remove_file(path)?,
        Ok(_) => {
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    std::fs::File::create_new(path)
}

/// Facts for the report: the machine, and the missing guarantees.
pub(crate) fn facts(guarantees: &Guarantees) -> String {
    let facts = machine::machine_facts().into_iter();
    let lost = guarantees.lost.iter().map(|lost| (format!("lost-{:?}", lost.guarantee), lost.why.clone()));
    // Without a switch mark, every look reads processor time and switches by system calls.
    let unmarked = SwitchMark::missing().into_iter().flat_map(|why| {
        [("no-switch-mark".to_owned(), why.to_owned()), ("switch-look-ns".to_owned(), look_ns().to_string())]
    });
    let line = |(key, value): (String, String)| {
        format!("{} = {}\n", key.to_lowercase().replace(' ', "-"), value.replace('\n', " "))
    };
    facts.chain(lost).chain(unmarked).map(line).collect()
}

impl Config {
    /// The configuration that `taut run` hands to the program it starts, in its environment: `TAUT_LOCK` (else
    /// `taut.lock` in the working folder), `TAUT_OUT`, `TAUT_RECORD_LIMIT`, `TAUT_FOR`, `TAUT_SPAWNED_NS`. It registers
    /// among the applications of the machine.
    ///
    /// # Errors
    /// The name and text of a variable that does not parse.
    pub fn from_environment() -> Result<Self, (&'static str, String)> {
        let variable = |name| std::env::var(name).ok();
        let lock = variable("TAUT_LOCK").map_or_else(|| Path::new("taut.lock").to_owned(), PathBuf::from);
        let out = variable("TAUT_OUT").map(PathBuf::from);
        let duration = match variable("TAUT_FOR") {
            Some(text) => Some(text.parse().map_err(|_| ("TAUT_FOR", text))?),
            None => None,
        };
        let spawned_ns = variable("TAUT_SPAWNED_NS").and_then(|text| text.parse().ok());
        let record_limit = match variable("TAUT_RECORD_LIMIT") {
            Some(text) => Some(text.parse::<Size>().map_err(|_| ("TAUT_RECORD_LIMIT", text))?.as_bytes()),
            None => None,
        };
        let applications = Some(Applications::of_machine());
        Ok(Self { lock, out, record_limit, duration, spawned_ns, applications })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `create` never writes through what already has the recording's name, and never waits for a reader.
    #[test]
    #[cfg_attr(miri, ignore = "starts another process: `mkfifo`")]
    fn a_recording_is_a_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let (place, target) = (folder.path().join("out/run"), folder.path().join("target"));
        let put = |text: &str| {
            use std::io::Write;
            create(&place).unwrap().write_all(text.as_bytes()).unwrap();
            assert_eq!(std::fs::read(&place).unwrap(), text.as_bytes());
        };
        put("a folder is made");
        put("once more");
        std::fs::write(&target, "precious").unwrap();
        std::fs::remove_file(&place).unwrap();
        std::os::unix::fs::symlink(&target, &place).unwrap();
        put("of a link");
        std::fs::remove_file(&place).unwrap();
        std::fs::hard_link(&target, &place).unwrap();
        put("of a file with two names");
        assert_eq!(std::fs::read(&target).unwrap(), b"precious");
        std::fs::remove_file(&place).unwrap();
        std::fs::create_dir(&place).unwrap();
        assert!(create(&place).is_err());
        std::fs::remove_dir(&place).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&place).status().unwrap().success());
        // The test reads the pipe itself: without a reader, opening a pipe for writing blocks.
        let pipe = std::fs::File::options().read(true).write(true).open(&place).unwrap();
        assert_eq!(create(&place).unwrap_err().to_string(), "it is not a regular file");
        drop(pipe);
    }
}
