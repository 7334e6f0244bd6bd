// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The applications that run on this machine, of all its users, and whether one more can run beside them.
//!
//! Each application has a file in one folder, and holds a lock on it (`flock`) until it ends. The kernel
//! releases the lock when the process dies, in whatever way, so nothing must be cleaned up for its CPUs to be
//! free; the next application removes the file. An application that looks at the files and adds its own holds
//! the folder's lock meanwhile. So if two start at once, the second sees the first.
//!
//! A proof counts on the whole of a CPU. So a CPU on which an application has real-time threads is that application's
//! alone. An application without real-time threads, which runs degraded, takes no CPU and gets none.
//!
//! Every user may register. So what another user but root wrote is believed only as far as the kernel
//! confirms it: the process is that user's, and has a real-time thread. A user who may have real-time threads
//! can take CPUs by them; no other user can keep an application from starting. Nothing is written or removed
//! through links.
//!
//! This protects applications from one another's mistakes, not from an attack: the user who made the folder
//! may remove registrations, and so let two applications share a CPU.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use taut_plan::{Plan, Size};
use taut_sys::{file, machine, process, thread};

use crate::registration::{BYTES_MAX, CoreUse, Registration};
use crate::{Guarantee, Guarantees};

/// The exit code of an application that is not admitted.
pub const EXIT_NOT_ADMITTED: u8 = 6;

/// The suffix of an application's file.
const SUFFIX: &str = ".application";
/// The suffix of a file while its application makes it.
const NEW: &str = ".new";
/// How long to wait for another process that holds the folder's lock.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long another user may take between making the folder and opening it to all.
const MAKING: Duration = Duration::from_millis(200);

/// The folder in which the applications of a machine register.
#[derive(Clone, Debug)]
pub struct Applications {
    folder: PathBuf,
}

/// An application that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningApplication {
    /// Its name.
    pub app: String,
    /// The id of its process, in that process's PID namespace.
    pub pid: u32,
    /// The user that registered it.
    pub uid: u32,
    /// When it was admitted, in ns of the monotonic clock.
    pub since_ns: u64,
    /// The memory that its plan counts; zero if another user but root registered it, and its process shows no
    /// real-time thread.
    pub memory: Size,
    /// Whether it has real-time threads, so that its CPUs are its alone. False if another user but root
    /// registered it, and its process shows none.
    pub real_time: bool,
    /// The CPUs of its tasks.
    pub cores: Vec<CoreUse>,
}

/// The right of this process to the CPUs of its plan, until it is dropped or the process ends.
#[derive(Debug)]
pub struct Admission {
    /// Holds the lock.
    _file: File,
    folder: File,
    name: String,
    pid: u32,
    others: Vec<RunningApplication>,
}

/// Why an application cannot run beside the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// An application of this name runs, of the same user.
    Name(RunningApplication),
    /// Another application has real-time threads on a CPU.
    Core {
        /// The CPU, and what the application that starts needs of it.
        wanted: CoreUse,
        /// What the other application needs of it, in parts per million; `None` if no plan bounds that.
        used_ppm: Option<u64>,
        /// The other application.
        by: RunningApplication,
    },
    /// The plans of all applications together count more memory than the machine has.
    Memory {
        /// What the application that starts needs.
        needed: Size,
        /// What the others need.
        used: Size,
        /// What the machine has.
        machine: Size,
    },
    /// A registration that this version cannot read, of an application that runs.
    Unreadable {
        /// Its file.
        path: PathBuf,
        /// The user that owns the file.
        uid: u32,
    },
}

/// Why an application is not admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdmissionError {
    /// It does not fit beside those that run.
    Refused {
        /// The application that starts.
        app: String,
        /// Everything that is in the way.
        conflicts: Vec<Conflict>,
        /// CPUs of this machine on which no application has real-time threads.
        free: Vec<u16>,
    },
    /// The folder cannot be used: nobody knows which applications run.
    Folder(PathBuf, taut_sys::Error),
}

/// A file of the folder, and its application if that runs.
struct Entry {
    name: String,
    found: Found,
}

enum Found {
    Runs(RunningApplication),
    Unreadable {
        uid: u32,
    },
    /// Another user's, and unreadable: nothing confirms it.
    Ignored,
    Stale,
}

impl Applications {
    /// All applications of the machine: [`taut_segment::applications_folder`].
    pub fn of_machine() -> Self {
        Self::at(taut_segment::applications_folder())
    }

    /// The applications that register in another folder.
    pub fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The applications that run, sorted by name. This does not take the folder's lock: an application that
    /// starts or ends meanwhile may be missing.
    ///
    /// # Errors
    /// [`AdmissionError::Folder`] if the folder is there and cannot be read.
    pub fn running(&self) -> Result<Vec<RunningApplication>, AdmissionError> {
        Ok(self.split(self.look()?).0)
    }

    /// Whether an application with this plan would be admitted now.
    ///
    /// # Errors
    /// As [`Applications::admit`].
    pub fn check(&self, plan: &Plan, guarantees: &Guarantees) -> Result<(), AdmissionError> {
        let (running, conflicts) = self.split(self.look()?);
        refuse(&Registration::of(plan, guarantees), &running, conflicts)
    }

    /// Admits the application of the calling process, and removes the files of applications that died. If the
    /// application has real-time threads, the calling process must have one already: other users see nothing
    /// else of them.
    ///
    /// Of two processes that ask at once, the second one waits until the first one has its answer.
    ///
    /// # Errors
    /// [`AdmissionError::Refused`] if the application does not fit beside those that run;
    /// [`AdmissionError::Folder`] if the folder cannot be used, or other processes hold its lock for two
    /// seconds.
    pub fn admit(&self, plan: &Plan, guarantees: &Guarantees) -> Result<Admission, AdmissionError> {
        let folder = self.lock().map_err(|error| self.unusable(error))?;
        let entries = entries(&folder).map_err(|error| self.unusable(error))?;
        for stale in entries.iter().filter(|entry| matches!(entry.found, Found::Stale)) {
            // The folder's sticky bit keeps this process from removing another user's file, which does no
            // harm.
            let _ = fs::remove_file(within(&folder, &stale.name));
        }
        let (others, conflicts) = self.split(entries);
        let registration = Registration::of(plan, guarantees);
        refuse(&registration, &others, conflicts)?;
        let (file, name) = register(&folder, &registration).map_err(|error| self.unusable(error))?;
        // Others may look from here on.
        folder.unlock().map_err(|error| self.unusable(taut_sys::Error::from_io("flock", &error)))?;
        Ok(Admission { _file: file, folder, name, pid: process::pid(), others })
    }

    /// The files of the folder, as they are without its lock; none if there is no folder.
    fn look(&self) -> Result<Vec<Entry>, AdmissionError> {
        match file::open_folder(&self.folder) {
            Err(error) if error.errno == taut_sys::ENOENT => Ok(Vec::new()),
            folder => folder.and_then(|folder| entries(&folder)).map_err(|error| self.unusable(error)),
        }
    }

    /// The applications that run, sorted by name, and those whose registrations cannot be read.
    fn split(&self, entries: Vec<Entry>) -> (Vec<RunningApplication>, Vec<Conflict>) {
        let (mut running, mut unreadable) = (Vec::new(), Vec::new());
        for Entry { name, found } in entries {
            match found {
                Found::Runs(application) => running.push(application),
                Found::Unreadable { uid } => {
                    unreadable.push(Conflict::Unreadable { path: self.folder.join(name), uid });
                }
                Found::Ignored | Found::Stale => {}
            }
        }
        running.sort_by(|a, b| (&a.app, a.pid).cmp(&(&b.app, b.pid)));
        (running, unreadable)
    }

    fn unusable(&self, error: taut_sys::Error) -> AdmissionError {
        AdmissionError::Folder(self.folder.clone(), error)
    }

    /// Locks the folder, and makes it if it is missing.
    fn lock(&self) -> Result<File, taut_sys::Error> {
        let begun = Instant::now();
        let pause = || std::thread::sleep(Duration::from_millis(2));
        loop {
            match fs::DirBuilder::new().create(&self.folder) {
                // Every user may register; nobody but the owner of a file may remove it (sticky).
                Ok(()) => fs::set_permissions(&self.folder, fs::Permissions::from_mode(0o1777))
                    .map_err(|error| taut_sys::Error::from_io("chmod", &error))?,
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(taut_sys::Error::from_io("mkdir", &error)),
            }
            let folder = match file::open_folder(&self.folder) {
                Ok(folder) => folder,
                Err(error) if error.is_privilege() && begun.elapsed() < MAKING => {
                    pause();
                    continue;
                }
                Err(error) => return Err(error),
            };
            match folder.try_lock() {
                // Otherwise another process removed or replaced the folder meanwhile: a lock on the old one
                // protects nothing.
                Ok(()) if is_at(&folder, &self.folder) => return Ok(folder),
                Err(TryLockError::Error(error)) => return Err(taut_sys::Error::from_io("flock", &error)),
                _ if begun.elapsed() < PATIENCE => pause(),
                _ => return Err(taut_sys::Error { call: "flock", errno: taut_sys::EAGAIN }),
            }
        }
    }
}

/// The path of an entry of an open folder. It stays that entry's if another folder, or a link to one, takes
/// the folder's place.
fn within(folder: &File, name: &str) -> PathBuf {
    Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name)
}

/// The files of an open folder.
fn entries(folder: &File) -> Result<Vec<Entry>, taut_sys::Error> {
    let system = |error: std::io::Error| taut_sys::Error::from_io("open", &error);
    let mut entries = Vec::new();
    for entry in fs::read_dir(within(folder, "")).map_err(system)? {
        let Ok(name) = entry.map_err(system)?.file_name().into_string() else { continue };
        if name.ends_with(SUFFIX) {
            let found = look(&within(folder, &name));
            entries.push(Entry { name, found });
        } else if name.ends_with(NEW) {
            // Such a file is made under the folder's lock: while `admit` has that, nobody is making one.
            entries.push(Entry { name, found: Found::Stale });
        }
    }
    Ok(entries)
}

/// Makes, locks and writes the file of an application, and only then gives it its name.
fn register(folder: &File, registration: &Registration) -> Result<(File, String), taut_sys::Error> {
    let stem = format!("{}.{:016x}", registration.app, process::random_u64()?);
    let [new, name] = [NEW, SUFFIX].map(|suffix| format!("{stem}{suffix}"));
    let system = |call| move |error: std::io::Error| taut_sys::Error::from_io(call, &error);
    let mut file = File::create_new(within(folder, &new)).map_err(system("open"))?;
    let done = (|| {
        file.try_lock().map_err(|error| system("flock")(error.into()))?;
        // Other users' applications must be able to read it, whatever this process's umask is.
        file.set_permissions(fs::Permissions::from_mode(0o644)).map_err(system("fchmod"))?;
        file.write_all(registration.to_text().as_bytes()).map_err(system("write"))?;
        fs::rename(within(folder, &new), within(folder, &name)).map_err(system("rename"))
    })();
    if done.is_err() {
        let _ = fs::remove_file(within(folder, &new));
    }
    done.map(|()| (file, name))
}

/// Whether an open folder is the one of this path.
fn is_at(folder: &File, path: &Path) -> bool {
    let identity = |there: fs::Metadata| (there.dev(), there.ino());
    let named = fs::symlink_metadata(path).map(identity).ok();
    named.is_some() && named == folder.metadata().map(identity).ok()
}

/// Whether the application of a file runs.
fn look(path: &Path) -> Found {
    let unreadable = |uid| match uid == 0 || uid == process::effective_uid() {
        true => Found::Unreadable { uid },
        false => Found::Ignored,
    };
    let Ok(file) = file::open_to_read(path) else {
        // Only a regular file is an application's.
        let there = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
        return there.map_or(Found::Stale, |there| unreadable(there.uid()));
    };
    let Some(uid) = file.metadata().ok().filter(fs::Metadata::is_file).map(|about| about.uid()) else {
        return Found::Stale;
    };
    // The application itself has locked its file before the file had its name.
    match file.try_lock_shared() {
        Ok(()) => return Found::Stale,
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(_)) => return unreadable(uid),
    }
    let mut text = String::new();
    let whole = (&file).take(BYTES_MAX).read_to_string(&mut text).is_ok();
    match Registration::from_text(&text).filter(|_| whole) {
        // A child of `fork` that outlives the application holds the lock, and has none of its threads.
        Some(registration) if registration.is_gone() => Found::Stale,
        Some(mut registration) => {
            if uid != 0 && uid != process::effective_uid() && !registration.is_shown(uid) {
                (registration.real_time, registration.memory) = (false, Size::ZERO);
            }
            Found::Runs(RunningApplication::of(registration, uid))
        }
        None => unreadable(uid),
    }
}

fn refuse(
    own: &Registration,
    others: &[RunningApplication],
    unreadable: Vec<Conflict>,
) -> Result<(), AdmissionError> {
    let mut conflicts = conflicts(own, others, process::effective_uid(), machine::memory_bytes());
    conflicts.extend(unreadable);
    if conflicts.is_empty() {
        return Ok(());
    }
    let taken = |cpu: &u16| others.iter().any(|other| other.takes(*cpu).is_some());
    let mut free = thread::online_cpus();
    free.retain(|cpu| !taken(cpu));
    Err(AdmissionError::Refused { app: own.app.clone(), conflicts, free })
}

/// Everything that keeps an application of user `uid` from running beside the others, on a machine with so many bytes
/// of memory (`None`: unknown).
fn conflicts(
    own: &Registration,
    others: &[RunningApplication],
    uid: u32,
    memory: Option<u64>,
) -> Vec<Conflict> {
    let mut conflicts = Vec::new();
    let namesake = others.iter().find(|other| other.app == own.app && other.uid == uid);
    conflicts.extend(namesake.cloned().map(Conflict::Name));
    for &wanted in own.cores.iter().filter(|_| own.real_time) {
        for by in others {
            if let Some(used) = by.takes(wanted.cpu) {
                let used_ppm = used.utilisation_ppm;
                conflicts.push(Conflict::Core { wanted, used_ppm, by: by.clone() });
            }
        }
    }
    let used = others.iter().map(|other| other.memory.as_bytes()).fold(0, u64::saturating_add);
    if let Some(machine) = memory
        && used.saturating_add(own.memory.as_bytes()) > machine
    {
        let (used, machine) = (Size::from_bytes(used), Size::from_bytes(machine));
        conflicts.push(Conflict::Memory { needed: own.memory, used, machine });
    }
    conflicts
}

impl RunningApplication {
    fn of(registration: Registration, uid: u32) -> Self {
        let Registration { app, pid, since_ns, memory, real_time, cores, .. } = registration;
        Self { app, pid, uid, since_ns, memory, real_time, cores }
    }

    /// What the application uses of a CPU that belongs to it alone.
    fn takes(&self, cpu: u16) -> Option<&CoreUse> {
        self.cores.iter().find(|core| self.real_time && core.cpu == cpu)
    }
}

impl fmt::Display for RunningApplication {
    /// `` `arm` (process 42 of user 1000) ``
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` (process {} of user {})", self.app, self.pid, self.uid)
    }
}

impl Admission {
    /// The applications that ran when this one was admitted.
    pub fn others(&self) -> &[RunningApplication] {
        &self.others
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        // A child of `fork` must not remove the registration of its parent.
        if self.pid == process::pid() {
            // If this fails, the next application removes the file: nobody holds its lock then.
            let _ = fs::remove_file(within(&self.folder, &self.name));
        }
    }
}

impl AdmissionError {
    /// Gives up the guarantee that no other application has these CPUs, if the folder cannot be used. A
    /// refusal is not a missing guarantee: it is returned.
    ///
    /// # Errors
    /// [`AdmissionError::Refused`]
    pub fn lose_exclusive(self, guarantees: &mut Guarantees) -> Result<(), Self> {
        match self {
            refused @ Self::Refused { .. } => Err(refused),
            folder @ Self::Folder(..) => {
                guarantees.lose(Guarantee::Exclusive, folder);
                Ok(())
            }
        }
    }
}

/// A utilisation in percent.
struct Percent(u64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.0.div_ceil(1_000);
        write!(f, "{}.{} %", tenths / 10, tenths % 10)
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(by) => write!(f, "{by} has the same name"),
            Self::Core { wanted, used_ppm, by } => {
                write!(f, "CPU {}: {by} has real-time threads there", wanted.cpu)?;
                match used_ppm {
                    Some(ppm) => write!(f, ", which need {} of it", Percent(*ppm))?,
                    None => write!(f, ", because the system does not keep them on its own CPUs")?,
                }
                match wanted.utilisation_ppm {
                    Some(ppm) => write!(f, "; this application needs {}", Percent(ppm)),
                    None => f.write_str("; the system does not keep this application's threads from it"),
                }
            }
            Self::Memory { needed, used, machine } => write!(
                f,
                "memory: this application locks {needed}, those that run lock {used}, and the machine has {machine}"
            ),
            Self::Unreadable { path, uid } => write!(
                f,
                "{}: an application of user {uid} runs, and this version cannot read what it uses",
                path.display()
            ),
        }
    }
}

impl fmt::Display for AdmissionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (app, conflicts, free) = match self {
            Self::Folder(path, error) => {
                return write!(f, "applications cannot register in {}: {error}", path.display());
            }
            Self::Refused { app, conflicts, free } => (app, conflicts, free),
        };
        write!(f, "TAUT0603: `{app}` does not fit beside the applications that run")?;
        for conflict in conflicts {
            write!(f, "\n  {conflict}")?;
        }
        f.write_str("\n  help: end what is in the way")?;
        if conflicts.iter().any(|conflict| matches!(conflict, Conflict::Core { .. })) {
            f.write_str(
                ", or give this application CPUs of its own (`cores` in [platform], or in an overlay): ",
            )?;
            match free.as_slice() {
                [] => f.write_str("this machine has none left")?,
                free => {
                    let free: Vec<String> = free.iter().map(u16::to_string).collect();
                    write!(f, "no application has {}", free.join(", "))?;
                }
            }
        }
        Ok(())
    }
}

impl std::error::Error for AdmissionError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn core(cpu: u16, utilisation_ppm: Option<u64>) -> CoreUse {
        CoreUse { cpu, utilisation_ppm }
    }

    fn application(app: &str, uid: u32, memory: u64, cores: &[CoreUse]) -> RunningApplication {
        RunningApplication {
            app: app.to_owned(),
            pid: 42,
            uid,
            since_ns: 0,
            memory: Size::from_bytes(memory),
            real_time: true,
            cores: cores.to_vec(),
        }
    }

    fn registration(memory: u64, cores: &[CoreUse]) -> Registration {
        Registration {
            app: "arm".to_owned(),
            pid: 43,
            started: 1,
            namespace: None,
            since_ns: 0,
            memory: Size::from_bytes(memory),
            real_time: true,
            cores: cores.to_vec(),
        }
    }

    /// All conflicts are found at once, each with its numbers.
    #[test]
    fn all_conflicts_are_reported() {
        let others = [
            application("arm", 7, 100, &[core(0, Some(300_001)), core(2, Some(1))]),
            application("leg", 8, u64::MAX, &[core(1, None)]),
        ];
        let own = registration(10, &[core(0, Some(500_000)), core(1, Some(0)), core(2, None), core(3, None)]);
        let conflicts = conflicts(&own, &others, 7, Some(1 << 20));
        let free = vec![3, 5];
        let refused = AdmissionError::Refused { app: own.app, conflicts, free };
        assert_eq!(
            refused.to_string(),
            "TAUT0603: `arm` does not fit beside the applications that run\n  \
             `arm` (process 42 of user 7) has the same name\n  \
             CPU 0: `arm` (process 42 of user 7) has real-time threads there, which need 30.1 % of it; this application \
             needs 50.0 %\n  \
             CPU 1: `leg` (process 42 of user 8) has real-time threads there, because the system does not keep them on \
             its own CPUs; this application needs 0.0 %\n  \
             CPU 2: `arm` (process 42 of user 7) has real-time threads there, which need 0.1 % of it; the system does \
             not keep this application's threads from it\n  \
             memory: this application locks 10B, those that run lock 18446744073709551615B, and the machine has 1MiB\n  \
             help: end what is in the way, or give this application CPUs of its own (`cores` in [platform], or in an \
             overlay): no application has 3, 5"
        );
    }

    /// Memory is counted over all applications, up to the last byte; without CPUs in common nothing else is in the way.
    #[test]
    fn memory_is_summed() {
        let others = [application("leg", 7, 60, &[core(1, Some(1))]), application("toe", 7, 30, &[])];
        let own = registration(10, &[core(0, Some(1_000_000))]);
        assert_eq!(conflicts(&own, &others, 7, Some(100)), []);
        assert_eq!(conflicts(&own, &others, 7, None), []);
        let [needed, used, machine] = [10, 90, 99].map(Size::from_bytes);
        assert_eq!(conflicts(&own, &others, 7, Some(99)), [Conflict::Memory { needed, used, machine }]);
    }

    /// Neither side's CPUs count without real-time threads, and a name counts for one user only.
    #[test]
    fn only_real_time_threads_take_cpus() {
        let mut own = registration(1, &[core(0, Some(1))]);
        let mut others = [application("arm", 8, 1, &[core(0, Some(1))])];
        assert_eq!(conflicts(&own, &others, 7, None).len(), 1);
        own.real_time = false;
        assert_eq!(conflicts(&own, &others, 7, None), []);
        (own.real_time, others[0].real_time) = (true, false);
        assert_eq!(conflicts(&own, &others, 7, None), []);
        assert_eq!(conflicts(&own, &others, 8, None), [Conflict::Name(others[0].clone())]);
    }
}
