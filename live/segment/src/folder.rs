// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Where the listeners' sockets are, and how to find and remove those of dead owners.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use taut_sys::{file, process, socket};

use crate::directory::is_name;
use crate::{Error, FolderProblem};

const SUFFIX: &str = ".sock";
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
/// How often an owner looks for its folder again, when other users take its name or several owners create it at once.
const TRIES: u32 = 8;

/// The folder that owners and clients use when the caller gives none; the crate's documentation says which it is. It
/// need not exist.
pub fn runtime_folder() -> PathBuf {
    default_folder().0
}

/// The folder in which the applications of all users of this machine register: `$TAUT_APPLICATIONS_DIR` if it is set,
/// else one in `/dev/shm`, where every user may create entries. It need not exist.
///
/// It does not follow `$TAUT_RUNTIME_DIR`: two applications that look for sockets in different folders still share the
/// machine's CPUs.
pub fn applications_folder() -> PathBuf {
    let set = std::env::var_os("TAUT_APPLICATIONS_DIR").filter(|value| !value.is_empty());
    set.map_or_else(|| Path::new("/dev/shm").join("taut.applications"), PathBuf::from)
}

/// The folder that holds an application's socket.
#[derive(Clone, Copy)]
pub(crate) enum Folder<'a> {
    Default,
    Given(&'a Path),
}

impl Folder<'_> {
    /// The folder's path, and whether the folder must belong to the caller's user.
    pub(crate) fn resolve(self) -> (PathBuf, bool) {
        match self {
            Self::Default => default_folder(),
            Self::Given(path) => (path.to_owned(), false),
        }
    }
}

/// The default folder, and whether it must belong to the caller's user.
fn default_folder() -> (PathBuf, bool) {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = set("TAUT_RUNTIME_DIR") {
        return (folder, false);
    }
    let system = Roots { run: Path::new("/run"), shared: Path::new("/dev/shm") };
    (system.own_folder(process::effective_uid(), set("XDG_RUNTIME_DIR")), true)
}

/// The places where users may have folders.
#[derive(Clone, Copy)]
struct Roots<'a> {
    /// Root's, with a folder for each user that is logged in.
    run: &'a Path,
    /// A folder where every user may create entries, and may remove only his own (sticky).
    shared: &'a Path,
}

impl Roots<'_> {
    /// The folder of a user. It lies below a folder where no other user may create entries; or else it lies in the
    /// sticky folder, under any name, and belongs to that user. No user can make a folder that belongs to another user,
    /// so no user can take this folder from its owner.
    fn own_folder(self, uid: u32, session: Option<PathBuf>) -> PathBuf {
        // `metadata` follows links, since a session's folder may be a link. The check is needed: after a change of user
        // the variable may still name the other user's folder, and root of a user namespace does not own `/run`.
        let ours = |path: &PathBuf| fs::metadata(path).is_ok_and(|there| judge(&there, Some(uid)).is_ok());
        let homes = match uid {
            // For root the answer is the same, whether the application was started by hand or as a service.
            0 => [Some(self.run.to_owned()), None],
            _ => [session, Some(self.run.join(format!("user/{uid}")))],
        };
        match homes.into_iter().flatten().find(ours) {
            Some(home) => home.join("taut"),
            None => self.among_all(uid),
        }
    }

    fn among_all(self, uid: u32) -> PathBuf {
        let plain = format!("taut-{uid}");
        let further = format!("{plain}.");
        let ours = |name: &String| {
            (*name == plain || name.starts_with(&further))
                && check(&self.shared.join(name), Some(uid)).is_ok()
        };
        let entries = fs::read_dir(self.shared).into_iter().flatten().flatten();
        let name = entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(ours).min();
        let is_free = || {
            let there = fs::symlink_metadata(self.shared.join(&plain));
            there.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
        };
        self.shared.join(name.unwrap_or_else(|| match is_free() {
            true => plain.clone(),
            // Another user made it first.
            false => format!("{further}{:016x}", process::random_u64().unwrap_or_default()),
        }))
    }
}

/// The path of an application's socket.
pub(crate) fn socket(folder: &Path, app: &str) -> Result<PathBuf, Error> {
    if !is_name(app) {
        return Err(Error::BadName { name: app.to_owned() });
    }
    let path = folder.join(format!("{app}{SUFFIX}"));
    if path.as_os_str().len() > socket::PATH_LIMIT {
        return Err(Error::PathTooLong { path });
    }
    Ok(path)
}

/// As [`prepare`], for the folder that the caller means; also returns the folder's path, and whether it must belong to
/// the caller's user. Resolves the folder again if another user made it meanwhile, or if two owners of this user each
/// made a folder.
pub(crate) fn prepare_at(folder: Folder<'_>) -> Result<(PathBuf, bool, fs::File), Error> {
    let mut tries = 0;
    loop {
        let (path, ours) = folder.resolve();
        tries += 1;
        match prepare(&path) {
            Err(Error::Folder { problem: FolderProblem::OtherOwner(_), .. }) if ours && tries < TRIES => {}
            Ok(lock) if !ours || folder.resolve().0 == path => return Ok((path, ours, lock)),
            Ok(_) if tries < TRIES => drop(fs::remove_dir(&path)),
            Ok(lock) => return Ok((path, ours, lock)),
            Err(error) => return Err(error),
        }
    }
}

/// Makes the folder if it is missing, checks that it is safe, and locks it against other owners until the result is
/// dropped.
fn prepare(path: &Path) -> Result<fs::File, Error> {
    let system = |call, error: &std::io::Error| Error::Folder {
        path: path.to_owned(),
        problem: FolderProblem::System(taut_sys::Error::from_io(call, error)),
    };
    loop {
        match fs::DirBuilder::new().mode(0o711).create(path) {
            // The umask may have cleared bits.
            Ok(()) => fs::set_permissions(path, fs::Permissions::from_mode(0o711))
                .map_err(|error| system("chmod", &error))?,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(system("mkdir", &error)),
        }
        // If an owner that ended has removed the folder meanwhile, the loop makes it again.
        if let Some(folder) = lock(path)? {
            return Ok(folder);
        }
    }
}

/// Checks that the folder is safe, and locks it; `None` if there is no folder (any more).
pub(crate) fn lock(path: &Path) -> Result<Option<fs::File>, Error> {
    let wrong = |problem| Error::Folder { path: path.to_owned(), problem };
    let system = |error: taut_sys::Error| wrong(FolderProblem::System(error));
    // Check before opening: another user's folder cannot even be opened, and an error that names its user says more
    // than EACCES.
    match check(path, Some(process::effective_uid())) {
        Err(Error::Folder { problem: FolderProblem::System(error), .. })
            if error.errno == taut_sys::ENOENT =>
        {
            return Ok(None);
        }
        other => other?,
    };
    let folder = match file::open_folder(path) {
        Err(error) if error.errno == taut_sys::ENOENT => return Ok(None),
        other => other.map_err(system)?,
    };
    let metadata = folder.metadata().map_err(|error| system(taut_sys::Error::from_io("fstat", &error)))?;
    judge(&metadata, Some(process::effective_uid())).map_err(wrong)?;
    let patience = Instant::now() + LOCK_PATIENCE;
    loop {
        match folder.try_lock() {
            Ok(()) => break,
            Err(fs::TryLockError::Error(error)) => {
                return Err(system(taut_sys::Error::from_io("flock", &error)));
            }
            Err(fs::TryLockError::WouldBlock) if Instant::now() < patience => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(fs::TryLockError::WouldBlock) => return Err(wrong(FolderProblem::Busy)),
        }
    }
    // The previous holder of the lock may have removed the folder: then this lock protects nothing.
    let here = |there: fs::Metadata| (there.dev(), there.ino()) == (metadata.dev(), metadata.ino());
    Ok(fs::symlink_metadata(path).is_ok_and(here).then_some(folder))
}

/// Checks that a folder is safe to use; returns the user that owns it. With `owner`, the folder must belong to that
/// user.
pub(crate) fn check(path: &Path, owner: Option<u32>) -> Result<u32, Error> {
    let wrong = |problem| Error::Folder { path: path.to_owned(), problem };
    let metadata = fs::symlink_metadata(path)
        .map_err(|error| wrong(FolderProblem::System(taut_sys::Error::from_io("stat", &error))))?;
    judge(&metadata, owner).map_err(wrong)?;
    Ok(metadata.uid())
}

fn judge(metadata: &fs::Metadata, owner: Option<u32>) -> Result<(), FolderProblem> {
    if !metadata.is_dir() {
        return Err(FolderProblem::NotAFolder);
    }
    if owner.is_some_and(|owner| owner != metadata.uid()) {
        return Err(FolderProblem::OtherOwner(metadata.uid()));
    }
    let mode = metadata.mode() & 0o7777;
    if mode & 0o022 != 0 {
        return Err(FolderProblem::WritableByOthers(mode));
    }
    Ok(())
}

/// The socket of an application, and the process that listens on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerSocket {
    /// The application.
    pub app: String,
    /// Its socket.
    pub socket: PathBuf,
    /// The owner's process, 0 if its backlog is full; `None` if the owner is dead: the socket is stale.
    pub pid: Option<u32>,
}

/// Whether the entry at this path is a socket, and not a link to one; `None` if there is no entry.
pub(crate) fn is_socket(socket: &Path) -> Option<bool> {
    fs::symlink_metadata(socket).ok().map(|there| there.file_type().is_socket())
}

/// The process that listens on a socket, 0 if its backlog is full; `None` if the process is dead.
pub(crate) fn behind(socket: &Path) -> Result<Option<u32>, taut_sys::Error> {
    let gone = |errno: i32| {
        [std::io::ErrorKind::ConnectionRefused, std::io::ErrorKind::NotFound]
            .contains(&std::io::Error::from_raw_os_error(errno).kind())
    };
    match socket::connect(socket, Duration::ZERO) {
        // A child that the owner had forked may still hold the socket; it answers no client.
        Ok(connection) => {
            Ok(Some(socket::peer(connection.as_fd())?.pid).filter(|&pid| !process::is_gone(pid)))
        }
        // The backlog is full, and a connect would wait: a live process holds the socket.
        Err(error) if error.would_block() => Ok(Some(0)),
        Err(error) if gone(error.errno) => Ok(None),
        Err(error) => Err(error),
    }
}

/// All sockets of applications in the default folder, sorted by name; none if there is no folder.
///
/// # Errors
/// [`Error::Folder`] if it cannot be read.
pub fn found() -> Result<Vec<OwnerSocket>, Error> {
    found_in(&runtime_folder())
}

/// As [`found`], in another folder. Leaves out the sockets to which the caller may not connect.
///
/// # Errors
/// As [`found`].
pub fn found_in(folder: &Path) -> Result<Vec<OwnerSocket>, Error> {
    let system = |error: &std::io::Error| Error::Folder {
        path: folder.to_owned(),
        problem: FolderProblem::System(taut_sys::Error::from_io("open", error)),
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(system(&error)),
    };
    let mut sockets = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| system(&error))?;
        let name = entry.file_name();
        let Some(app) = name.to_str().and_then(|name| name.strip_suffix(SUFFIX)) else { continue };
        let is_socket = entry.file_type().is_ok_and(|kind| kind.is_socket());
        if !is_socket || !is_name(app) {
            continue;
        }
        if let Ok(pid) = behind(&entry.path()) {
            sockets.push(OwnerSocket { app: app.to_owned(), socket: entry.path(), pid });
        }
    }
    sockets.sort_by(|a, b| a.app.cmp(&b.app));
    Ok(sockets)
}

/// The sockets of dead owners in the default folder.
///
/// # Errors
/// As [`found`].
pub fn stale() -> Result<Vec<OwnerSocket>, Error> {
    stale_in(&runtime_folder())
}

/// As [`stale`], in another folder.
///
/// # Errors
/// As [`found`].
pub fn stale_in(folder: &Path) -> Result<Vec<OwnerSocket>, Error> {
    Ok(found_in(folder)?.into_iter().filter(|socket| socket.pid.is_none()).collect())
}

/// Removes the sockets of dead owners from the default folder; returns the sockets that it removed.
///
/// # Errors
/// As [`found`]; also if the folder does not belong to the caller's user, or a socket cannot be removed.
pub fn remove_stale() -> Result<Vec<OwnerSocket>, Error> {
    remove_stale_in(&runtime_folder())
}

/// As [`remove_stale`], in another folder.
///
/// # Errors
/// As [`remove_stale`].
pub fn remove_stale_in(folder: &Path) -> Result<Vec<OwnerSocket>, Error> {
    if stale_in(folder)?.is_empty() {
        return Ok(Vec::new());
    }
    // While this thread holds the lock, no new owner can replace a socket that is about to be removed.
    let Some(_lock) = lock(folder)? else { return Ok(Vec::new()) };
    let sockets = stale_in(folder)?;
    for socket in &sockets {
        remove(&socket.socket)?;
    }
    Ok(sockets)
}

pub(crate) fn remove(socket: &Path) -> Result<(), Error> {
    fs::remove_file(socket).map_err(crate::owner::io("unlink", socket))
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::os::unix::fs::{chown, symlink};

    const NOBODY: u32 = 65534;

    /// The `/run` and `/dev/shm` of a machine, and the user that runs the test.
    struct Machine {
        run: tempfile::TempDir,
        shared: tempfile::TempDir,
        uid: u32,
    }

    impl Machine {
        fn new() -> Self {
            let [run, shared] = [0o755, 0o1777].map(|mode| {
                let folder = tempfile::tempdir().expect("a folder");
                fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).expect("ours");
                folder
            });
            Self { run, shared, uid: process::effective_uid() }
        }

        fn folder_of(&self, uid: u32, session: Option<&Path>) -> PathBuf {
            let roots = Roots { run: self.run.path(), shared: self.shared.path() };
            roots.own_folder(uid, session.map(Path::to_owned))
        }

        fn made(&self, name: &str, owner: u32, mode: u32) -> PathBuf {
            let path = self.shared.path().join(name);
            fs::create_dir(&path).expect("a folder");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("ours");
            self.give(&path, owner);
            path
        }

        /// A machine, and a user other than root: the test's own user, unless that is root.
        fn with_user() -> (Self, u32) {
            let machine = Self::new();
            let user = if machine.uid == 0 { NOBODY } else { machine.uid };
            (machine, user)
        }

        fn give(&self, path: &Path, owner: u32) {
            if owner != self.uid {
                chown(path, Some(owner), None).expect("we are root");
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "files of Miri have no owners")]
    fn only_its_user_uses_a_session_s_folder() {
        let machine = Machine::new();
        let session = machine.made("session", machine.uid, 0o700);
        let of = |uid, session| machine.folder_of(uid, session);
        // Root's folder is the same with and without a session.
        let expected = match machine.uid {
            0 => machine.run.path().join("taut"),
            _ => session.join("taut"),
        };
        assert_eq!(of(machine.uid, Some(&session)), expected);
        // Another user's, named by a variable that was left over.
        let shared = machine.shared.path();
        assert_eq!(of(4242, Some(&session)), shared.join("taut-4242"));
        // A folder that others may write.
        let open = machine.made("open", machine.uid, 0o777);
        assert_ne!(of(machine.uid, Some(&open)), open.join("taut"));
    }

    #[test]
    #[cfg_attr(miri, ignore = "files of Miri have no owners")]
    fn a_user_that_is_logged_in_needs_no_variable() {
        let (machine, user) = Machine::with_user();
        let home = machine.run.path().join(format!("user/{user}"));
        fs::create_dir_all(&home).expect("a folder");
        fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).expect("ours");
        machine.give(&home, user);
        assert_eq!(machine.folder_of(user, None), home.join("taut"));
    }

    #[test]
    fn a_user_with_a_taken_folder_name_finds_the_same_other_folder() {
        let machine = Machine::new();
        let (shared, uid) = (machine.shared.path(), 4242);
        let plain = shared.join("taut-4242");
        let find = || machine.folder_of(uid, None);
        assert_eq!(find(), plain);
        // A file, a link and another user's folder in its place.
        let further = |path: &Path| path.to_str().is_some_and(|path| path.contains("/taut-4242."));
        fs::write(&plain, "").expect("ours");
        assert!(further(&find()));
        assert_ne!(find(), find(), "nobody can know it before");
        fs::remove_file(&plain).expect("ours");
        symlink("/", &plain).expect("ours");
        assert!(further(&find()));
        fs::remove_file(&plain).expect("ours");
        machine.made("taut-4242", machine.uid, 0o711);
        assert!(further(&find()));
    }

    #[test]
    #[cfg_attr(miri, ignore = "files of Miri have no owners")]
    fn a_user_s_own_folder_is_found_by_its_owner() {
        let (machine, user) = Machine::with_user();
        let name = |rest: &str| format!("taut-{user}{rest}");
        let plain = machine.shared.path().join(name(""));
        symlink("/", &plain).expect("ours");
        machine.made(&name(".0001"), user, 0o777);
        machine.made(&name("5"), user, 0o711);
        if machine.uid == 0 {
            machine.made(&name(".0000"), 0, 0o711);
        }
        let made = machine.made(&name(".00ff"), user, 0o711);
        assert_eq!(machine.folder_of(user, None), made);
        // After the other user has removed his entry, the search still finds the folder in use.
        fs::remove_file(&plain).expect("ours");
        assert_eq!(machine.folder_of(user, None), made);
        // Root of a user namespace does not own `/run`.
        machine.give(machine.run.path(), user);
        if user != 0 {
            assert_eq!(machine.folder_of(0, None), machine.shared.path().join("taut-0"));
        }
    }
}
