// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Something else stands where a folder or a socket belongs. Whatever it is, and whichever user made it, taut does
//! not follow it, wait for it or overwrite it, and the error names it. What dead owners leave blocks nobody.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "test code")]

mod support;

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;

use support::*;
use taut_segment::{Error, FolderProblem, Owner, attach_in, found_in, remove_stale_in};
use taut_sys::signals::{self, SIGKILL};

#[test]
fn role() {
    let folder = || PathBuf::from(std::env::var_os("TAUT_RUNTIME_DIR").unwrap());
    match support::role().as_deref() {
        // An owner with a child of `fork`, which holds the listener's socket for as long as it lives.
        Some("forked-owner") => {
            let _owner = owner(&folder());
            // SAFETY: the child sleeps until a signal kills it, or a minute.
            match unsafe { libc::fork() } {
                // SAFETY: plain integers; ends the child without running its parent's exit handlers or destructors.
                0 => unsafe {
                    libc::sleep(60);
                    libc::_exit(0)
                },
                child => announce(child),
            }
            until_released();
        }
        Some(other) => panic!("unknown role {other}"),
        None => println!("no test: for processes that tests start"),
    }
}

/// Something that a test puts in a place, and that must be unchanged afterwards.
struct Squatter<'a> {
    kind: &'static str,
    place: &'a Path,
    /// The file that a link leads to.
    target: PathBuf,
    _socket: Option<UnixDatagram>,
}

impl<'a> Squatter<'a> {
    const KINDS: [&'static str; 8] = [
        "a pipe",
        "a file",
        "a hard link",
        "a link",
        "a link to nothing",
        "a folder",
        "a socket",
        "a device",
    ];

    /// `None` if this user may not make it.
    fn put(kind: &'static str, place: &'a Path) -> Option<Self> {
        let target = place.with_extension("target");
        fs::write(&target, "precious").unwrap();
        let run =
            |program: &str, args: &[&str]| Command::new(program).arg(place).args(args).status().unwrap();
        let mut socket = None;
        match kind {
            "a pipe" => assert!(run("mkfifo", &[]).success()),
            "a file" => fs::write(place, "precious").unwrap(),
            "a hard link" => fs::hard_link(&target, place).unwrap(),
            "a link" => symlink(&target, place).unwrap(),
            "a link to nothing" => symlink(place.with_extension("nothing"), place).unwrap(),
            "a folder" => fs::create_dir(place).unwrap(),
            // Of another type than a listener's socket, and alive.
            "a socket" => socket = Some(UnixDatagram::bind(place).unwrap()),
            "a device" if !run("mknod", &["c", "1", "3"]).success() => return None,
            "a device" => {}
            other => panic!("{other}"),
        }
        Some(Self { kind, place, target, _socket: socket })
    }

    /// Asserts that it is unchanged.
    fn stands(&self) {
        let there = fs::symlink_metadata(self.place).unwrap_or_else(|error| panic!("{}: {error}", self.kind));
        let kind = there.file_type();
        let same = match self.kind {
            "a pipe" => kind.is_fifo(),
            "a file" => fs::read(self.place).unwrap() == b"precious",
            "a hard link" => there.ino() == fs::metadata(&self.target).unwrap().ino(),
            "a link" | "a link to nothing" => kind.is_symlink(),
            "a folder" => kind.is_dir(),
            "a socket" => kind.is_socket(),
            _ => kind.is_char_device(),
        };
        assert!(same, "{}", self.kind);
        assert_eq!(fs::read(&self.target).unwrap(), b"precious", "{}", self.kind);
        assert!(!self.place.with_extension("nothing").exists());
    }
}

impl Drop for Squatter<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.place).or_else(|_| fs::remove_dir(self.place));
        let _ = fs::remove_file(&self.target);
    }
}

/// The result of work that must not wait for another process.
fn at_once<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = channel();
    std::thread::spawn(move || drop(done.send(work())));
    result.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{what}: it waits"))
}

fn create(folder: &Path, what: &str) -> Result<(), Error> {
    let folder = folder.to_owned();
    at_once(what, move || Owner::create_in(&folder, APP, SIZE, clients(), None).map(drop))
}

fn attach(folder: &Path, what: &str) -> Error {
    let folder = folder.to_owned();
    at_once(what, move || attach_in(&folder, APP, "ui").map(drop)).unwrap_err()
}

#[test]
fn where_a_socket_belongs() {
    let folder = folder();
    let socket = folder.path().join("cochlear.sock");
    for kind in Squatter::KINDS {
        let Some(squatter) = Squatter::put(kind, &socket) else {
            println!("skipped: {kind}: making one takes root");
            continue;
        };
        let refused = create(folder.path(), kind).unwrap_err().to_string();
        assert!(refused.contains(socket.to_str().unwrap()), "{kind}: {refused}");
        squatter.stands();
        let refused = attach(folder.path(), kind);
        assert!(!matches!(refused, Error::Stale { .. }), "{kind}: nobody died");
        let (refused, nothing) = (refused.to_string(), kind == "a link to nothing");
        assert!(nothing || refused.contains(socket.to_str().unwrap()), "{kind}: {refused}");
        assert_eq!(found_in(folder.path()), Ok(Vec::new()), "{kind}");
        assert_eq!(remove_stale_in(folder.path()), Ok(Vec::new()), "{kind}");
        squatter.stands();
    }
    create(folder.path(), "nothing").unwrap();
}

/// A link to the socket of another application, alive or dead: it belongs neither to this owner nor to its clients.
#[test]
fn a_socket_that_links_elsewhere() {
    let (folder, elsewhere) = (folder(), folder());
    let other = owner(elsewhere.path());
    let socket = folder.path().join("cochlear.sock");
    symlink(other.socket(), &socket).unwrap();
    let refused = create(folder.path(), "a link").unwrap_err().to_string();
    assert!(refused.contains(socket.to_str().unwrap()), "{refused}");
    assert!(socket.is_symlink() && attach_in(elsewhere.path(), APP, "ui").is_ok());
}

#[test]
fn where_a_folder_belongs() {
    let above = folder();
    let place = above.path().join("sockets");
    for kind in Squatter::KINDS.into_iter().filter(|kind| *kind != "a folder") {
        let Some(squatter) = Squatter::put(kind, &place) else {
            println!("skipped: {kind}: making one takes root");
            continue;
        };
        for refused in [create(&place, kind).unwrap_err(), attach(&place, kind)] {
            let problem = FolderProblem::NotAFolder;
            assert_eq!(refused, Error::Folder { path: place.clone(), problem }, "{kind}");
            assert!(refused.to_string().contains(place.to_str().unwrap()));
        }
        squatter.stands();
    }
    create(&place, "nothing").unwrap();
}

/// Another process holds the folder's lock for good: the start fails, and the error names the folder.
#[test]
fn a_folder_that_is_locked_for_good() {
    let folder = folder();
    let held = fs::File::open(folder.path()).unwrap();
    held.lock().unwrap();
    let refused = create(folder.path(), "a lock").unwrap_err();
    assert_eq!(refused, Error::Folder { path: folder.path().to_owned(), problem: FolderProblem::Busy });
    assert!(refused.to_string().contains(folder.path().to_str().unwrap()), "{refused}");
    drop(held);
    create(folder.path(), "nothing").unwrap();
}

/// A new owner replaces the socket of a dead process, of any type.
#[test]
fn a_dead_socket_is_in_nobodys_way() {
    let folder = folder();
    let socket = folder.path().join("cochlear.sock");
    drop(UnixDatagram::bind(&socket).unwrap());
    assert_eq!(owner(folder.path()).replaced(), Some(socket.as_path()));
}

/// An owner is killed, and a child that it had forked still holds its socket: no owner listens there.
#[test]
fn a_child_that_outlives_its_owner() {
    struct Child(u32);
    impl Drop for Child {
        fn drop(&mut self) {
            let _ = signals::kill(self.0, SIGKILL);
        }
    }
    let folder = folder();
    let mut dead = Process::start("forked-owner", folder.path());
    let child = Child(dead.reported().parse().unwrap());
    dead.kill();
    let socket = folder.path().join("cochlear.sock");
    assert_eq!(
        attach(folder.path(), "a child"),
        Error::Stale { app: APP.to_owned(), socket: socket.clone() }
    );
    assert!(found_in(folder.path()).unwrap().iter().all(|found| found.pid.is_none()));
    let owner = owner(folder.path());
    assert_eq!(owner.replaced(), Some(socket.as_path()));
    assert!(attach_in(folder.path(), APP, "ui").is_ok());
    drop(child);
}
