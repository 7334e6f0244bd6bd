// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Where the doors are, and what dead owners left there.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use taut_sys::{file, process, socket};

use crate::directory::is_name;
use crate::{Error, FolderProblem};

const SUFFIX: &str = ".sock";
const LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// The folder that owners and clients use when none is given; the crate's documentation says which. It need not
/// exist.
pub fn runtime_folder() -> PathBuf {
    default_folder().0
}

/// Where a door is.
#[derive(Clone, Copy)]
pub(crate) enum Folder<'a> {
    Default,
    Given(&'a Path),
}

impl Folder<'_> {
    /// Its path, and whether it must be our own.
    pub(crate) fn resolve(self) -> (PathBuf, bool) {
        match self {
            Self::Default => default_folder(),
            Self::Given(path) => (path.to_owned(), false),
        }
    }
}

/// The folder, and whether it must be our own.
fn default_folder() -> (PathBuf, bool) {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = set("TAUT_RUNTIME_DIR") {
        return (folder, false);
    }
    let uid = process::effective_uid();
    // After a change of user the variable may still name the other one's folder.
    let ours = |path: &PathBuf| fs::metadata(path).is_ok_and(|metadata| metadata.uid() == uid);
    match set("XDG_RUNTIME_DIR").filter(ours) {
        Some(folder) => (folder.join("taut"), true),
        None => (PathBuf::from(format!("/dev/shm/taut-{uid}")), true),
    }
}

/// The door of an application.
pub(crate) fn door(folder: &Path, app: &str) -> Result<PathBuf, Error> {
    if !is_name(app) {
        return Err(Error::BadName { name: app.to_owned() });
    }
    let path = folder.join(format!("{app}{SUFFIX}"));
    if path.as_os_str().len() > socket::PATH_LIMIT {
        return Err(Error::PathTooLong { path });
    }
    Ok(path)
}

/// The folder, made if need be, found to be safe, and locked against other owners until the answer is dropped.
pub(crate) fn prepare(path: &Path) -> Result<fs::File, Error> {
    let system = |call, error: &std::io::Error| Error::Folder {
        path: path.to_owned(),
        problem: FolderProblem::System(taut_sys::Error::from_io(call, error)),
    };
    loop {
        match fs::DirBuilder::new().mode(0o711).create(path) {
            // The mask may have taken bits away.
            Ok(()) => fs::set_permissions(path, fs::Permissions::from_mode(0o711))
                .map_err(|error| system("chmod", &error))?,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(system("mkdir", &error)),
        }
        // If an owner that ended took it away meanwhile, make it again.
        if let Some(folder) = lock(path)? {
            return Ok(folder);
        }
    }
}

/// The folder, found to be safe and locked; `None` if there is none (any more).
pub(crate) fn lock(path: &Path) -> Result<Option<fs::File>, Error> {
    let wrong = |problem| Error::Folder { path: path.to_owned(), problem };
    let system = |error: taut_sys::Error| wrong(FolderProblem::System(error));
    // Look before opening: another user's folder cannot even be opened, and whose it is says more than EACCES.
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
    // Whoever held the lock may have removed the folder: then we hold the lock of nothing.
    let here = |there: fs::Metadata| (there.dev(), there.ino()) == (metadata.dev(), metadata.ino());
    Ok(fs::symlink_metadata(path).is_ok_and(here).then_some(folder))
}

/// Whether a folder is safe to use; gives its owner. With `owner`, it must be that user's.
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

/// A door, and who is behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The application.
    pub app: String,
    /// Its socket.
    pub door: PathBuf,
    /// Its process; `None` if it is dead: the door is stale.
    pub pid: Option<u32>,
}

/// Who is behind a door. `None` if nobody is any more.
pub(crate) fn behind(door: &Path) -> Result<Option<u32>, taut_sys::Error> {
    let gone = |errno: i32| {
        [std::io::ErrorKind::ConnectionRefused, std::io::ErrorKind::NotFound]
            .contains(&std::io::Error::from_raw_os_error(errno).kind())
    };
    match socket::connect(door, Duration::ZERO) {
        Ok(connection) => Ok(Some(socket::peer(connection.as_fd())?.pid)),
        // So many wait that we would have to: someone lives there.
        Err(error) if error.would_block() => Ok(Some(0)),
        Err(error) if gone(error.errno) => Ok(None),
        Err(error) => Err(error),
    }
}

/// All doors in the default folder, by name; none if there is no folder.
///
/// # Errors
/// [`Error::Folder`] if it cannot be read.
pub fn found() -> Result<Vec<Found>, Error> {
    found_in(&runtime_folder())
}

/// As [`found`], in another folder. Doors that are shut to us are left out.
///
/// # Errors
/// As [`found`].
pub fn found_in(folder: &Path) -> Result<Vec<Found>, Error> {
    let system = |error: &std::io::Error| Error::Folder {
        path: folder.to_owned(),
        problem: FolderProblem::System(taut_sys::Error::from_io("open", error)),
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(system(&error)),
    };
    let mut doors = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| system(&error))?;
        let name = entry.file_name();
        let Some(app) = name.to_str().and_then(|name| name.strip_suffix(SUFFIX)) else { continue };
        let is_socket = entry.file_type().is_ok_and(|kind| std::os::unix::fs::FileTypeExt::is_socket(&kind));
        if !is_socket || !is_name(app) {
            continue;
        }
        if let Ok(pid) = behind(&entry.path()) {
            doors.push(Found { app: app.to_owned(), door: entry.path(), pid });
        }
    }
    doors.sort_by(|a, b| a.app.cmp(&b.app));
    Ok(doors)
}

/// The doors of dead owners in the default folder.
///
/// # Errors
/// As [`found`].
pub fn stale() -> Result<Vec<Found>, Error> {
    stale_in(&runtime_folder())
}

/// As [`stale`], in another folder.
///
/// # Errors
/// As [`found`].
pub fn stale_in(folder: &Path) -> Result<Vec<Found>, Error> {
    Ok(found_in(folder)?.into_iter().filter(|door| door.pid.is_none()).collect())
}

/// Removes the doors of dead owners from the default folder; gives those that it removed.
///
/// # Errors
/// As [`found`]; also if the folder is not ours, or a door cannot be removed.
pub fn remove_stale() -> Result<Vec<Found>, Error> {
    remove_stale_in(&runtime_folder())
}

/// As [`remove_stale`], in another folder.
///
/// # Errors
/// As [`remove_stale`].
pub fn remove_stale_in(folder: &Path) -> Result<Vec<Found>, Error> {
    if stale_in(folder)?.is_empty() {
        return Ok(Vec::new());
    }
    // Under the lock no owner can move in behind a door that we are about to remove.
    let Some(_lock) = lock(folder)? else { return Ok(Vec::new()) };
    let doors = stale_in(folder)?;
    for door in &doors {
        remove(&door.door)?;
    }
    Ok(doors)
}

pub(crate) fn remove(door: &Path) -> Result<(), Error> {
    fs::remove_file(door).map_err(|error| Error::System(taut_sys::Error::from_io("unlink", &error)))
}
