// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! File operations that the standard library lacks.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::{Error, Result};

/// Opens the folder itself: it refuses a file, and does not follow a symbolic link. The descriptor's metadata then
/// describe this folder, even if another process renames it meanwhile; and the folder can be locked
/// ([`File::try_lock`]).
///
/// # Errors
/// ENOTDIR for anything else, a symbolic link included (ELOOP on some kernels); ENOENT; EACCES if this user may not
/// list it.
pub fn open_folder(path: &Path) -> Result<File> {
    std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(path)
        .map_err(|error| Error::from_io("open", &error))
}

/// Opens a file to read it: it does not follow a symbolic link, and does not wait for the writer of a pipe. The caller
/// checks by the descriptor's metadata that it is a regular file.
///
/// # Errors
/// ELOOP for a symbolic link; ENOENT; EACCES; ENXIO for a socket.
pub fn open_to_read(path: &Path) -> Result<File> {
    std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path)
        .map_err(|error| Error::from_io("open", &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "opens with O_NONBLOCK, and starts another process: `mkfifo`")]
    fn opening_to_read_follows_no_link_and_waits_for_no_writer() {
        let folder = std::env::temp_dir().join(format!("taut-sys-read-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let [link, file, pipe] = ["link", "file", "pipe"].map(|name| folder.join(name));
        std::fs::write(&file, "text").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(open_to_read(&file).unwrap().metadata().unwrap().is_file());
        assert_eq!(open_to_read(&link).unwrap_err().errno, libc::ELOOP);
        assert!(!open_to_read(&pipe).unwrap().metadata().unwrap().is_file());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    #[cfg_attr(miri, ignore = "opens with O_DIRECTORY")]
    fn only_a_folder_is_opened() {
        let folder = std::env::temp_dir().join(format!("taut-sys-folder-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let (link, file) = (folder.join("link"), folder.join("file"));
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        std::fs::write(&file, "").unwrap();
        let lock = open_folder(&folder).unwrap();
        lock.try_lock().unwrap();
        assert!(open_folder(&folder).unwrap().try_lock().is_err());
        assert!([libc::ENOTDIR, libc::ELOOP].contains(&open_folder(&link).unwrap_err().errno));
        assert_eq!(open_folder(&file).unwrap_err().errno, libc::ENOTDIR);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(open_folder(&folder).unwrap_err().errno, libc::ENOENT);
    }
}
