// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Folders and users. Becoming another user takes root; without root the tests that do so report it and stop.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "test code")]

mod support;

use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use support::*;
use taut_segment::registry::{Lease, Registry, Sdrtw};
use taut_segment::{Error, FolderProblem, Owner, attach_in};
use taut_sys::{process, socket};

const LEVELS: Sdrtw<u64> = Sdrtw::new();

const NOBODY: u32 = 65534;
/// A group without members; a number needs no entry in `/etc/group`.
const GROUP: u32 = 54321;

#[test]
fn role() {
    let folder = || PathBuf::from(std::env::var_os("TAUT_RUNTIME_DIR").unwrap());
    match support::role().as_deref() {
        Some("viewer") => {
            match attach_in(&folder(), APP, "viewer") {
                Ok(_) => announce("attached"),
                Err(error) => announce(error),
            }
            until_released();
        }
        Some("owner") => {
            match Owner::create_in(&folder(), APP, SIZE, clients(), None) {
                Ok(_) => announce("created"),
                Err(error) => announce(error),
            }
            until_released();
        }
        Some("default-owner") => match Owner::create(&app(), SIZE, clients(), None) {
            Ok(owner) => {
                announce(owner.socket().display());
                until_released();
                owner.end().unwrap();
            }
            Err(error) => announce(error),
        },
        Some("default-viewer") => {
            let attached = taut_segment::attach(&app(), "viewer");
            announce(attached.map_or_else(|error| error.to_string(), |_| "attached".to_owned()));
            until_released();
        }
        Some("board") => {
            let _board = Registry::create_in(&folder(), APP, &[LEVELS.named("levels")]).unwrap();
            announce("created");
            until_released();
        }
        Some("climber") => {
            // Has a descriptor for reading and tries to open it again for writing.
            let connection = socket::connect(&folder().join("cochlear.sock"), PATIENCE).unwrap();
            socket::send(connection.as_fd(), b"TAUTDOOR\x05\x00\x06\x00viewer", &[]).unwrap();
            socket::poll(&mut [socket::Poll::readable(connection.as_fd())], Some(PATIENCE)).unwrap();
            let received = socket::receive(connection.as_fd(), &mut [0; 4096]).unwrap();
            let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&received.fds[0]));
            announce(match std::fs::OpenOptions::new().write(true).open(path) {
                Ok(_) => "opened for writing".to_owned(),
                Err(error) => error.to_string(),
            });
            until_released();
        }
        Some(other) => panic!("unknown role {other}"),
        None => println!("no test: for processes that tests start"),
    }
}

/// The application of the two roles with a default folder: other applications may use root's default folder.
fn app() -> String {
    std::env::var("TAUT_TEST_APP").unwrap_or_else(|_| APP.to_owned())
}

/// Starts this binary as a user, with the default folder.
struct Start<'a> {
    exe: &'a Path,
    uid: u32,
    app: &'a str,
}

impl Start<'_> {
    fn role(&self, role: &str) -> Process {
        Process::start_with(self.exe, role, Path::new("/"), |command| {
            command.uid(self.uid).gid(self.uid).current_dir("/").env("TAUT_TEST_APP", self.app);
            command.env_remove("TAUT_RUNTIME_DIR").env_remove("XDG_RUNTIME_DIR");
        })
    }

    fn viewer(&self) -> String {
        let viewer = self.role("default-viewer");
        let reported = viewer.reported();
        viewer.release();
        reported
    }
}

/// A user id and an application name that no other process uses; the tests of other checkouts have others.
fn unique(which: u32) -> (u32, String) {
    let id = std::process::id();
    (1_000_000 + 16 * id + which, format!("taut-test-{id}-{which}"))
}

/// A script that starts this binary within a command line; the word `TEST` stands for the binary.
fn within(bin: &Path, name: &str, command: &str) -> PathBuf {
    let (exe, script) = (reachable_exe(bin), bin.join(name));
    let text = format!("#!/bin/sh\nexec {} \"$@\"\n", command.replace("TEST", exe.to_str().unwrap()));
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    script
}

/// Whether this machine lets a user run this program with these arguments.
fn can(uid: u32, program: &str, args: &[&str]) -> bool {
    let status = std::process::Command::new(program).args(args).uid(uid).gid(uid).current_dir("/").output();
    status.is_ok_and(|output| output.status.success())
}

fn root() -> bool {
    process::effective_uid() == 0
}

/// This binary in a place where every user can run it.
fn reachable_exe(folder: &Path) -> PathBuf {
    let exe = folder.join("test");
    std::fs::copy(std::env::current_exe().unwrap(), &exe).unwrap();
    std::fs::set_permissions(&exe, std::fs::Permissions::from_mode(0o755)).unwrap();
    exe
}

fn report_as(exe: &Path, role: &str, folder: &Path, gid: u32) -> String {
    let process = Process::start_with(exe, role, folder, |command| {
        command.uid(NOBODY).gid(gid).current_dir("/");
    });
    let reported = process.reported();
    process.release();
    reported
}

#[test]
fn another_user_needs_the_group() {
    if !root() {
        return println!("skipped: becoming another user takes root");
    }
    let (folder, bin) = (folder(), folder());
    let exe = reachable_exe(bin.path());
    let alone = owner(folder.path());
    let metadata = std::fs::metadata(alone.socket()).unwrap();
    assert_eq!(metadata.mode() & 0o777, 0o600);
    let reported = report_as(&exe, "viewer", folder.path(), NOBODY);
    assert!(reported.starts_with("cochlear does not permit this user to attach"), "{reported}");
    // If the mode were wider, the listener itself still checks the client's user.
    std::fs::set_permissions(alone.socket(), std::fs::Permissions::from_mode(0o666)).unwrap();
    let reported = report_as(&exe, "viewer", folder.path(), NOBODY);
    assert!(reported.contains("only root, the user of the application"), "{reported}");
    alone.end().unwrap();

    let group = GROUP.to_string();
    let owner = Owner::create_in(folder.path(), APP, SIZE, clients(), Some(&group)).unwrap();
    let metadata = std::fs::metadata(owner.socket()).unwrap();
    assert_eq!((metadata.mode() & 0o777, metadata.gid()), (0o660, GROUP));
    assert_eq!(report_as(&exe, "viewer", folder.path(), GROUP), "attached");
    let reported = report_as(&exe, "viewer", folder.path(), NOBODY);
    assert!(reported.starts_with("cochlear does not permit this user to attach"), "{reported}");
    let reported = report_as(&exe, "climber", folder.path(), GROUP);
    assert!(reported.starts_with("Permission denied"), "{reported}");
}

#[test]
fn owners_without_privilege_work() {
    if !root() {
        return println!("skipped: becoming another user takes root");
    }
    let (folder, bin) = (folder(), folder());
    let exe = reachable_exe(bin.path());
    chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    assert_eq!(report_as(&exe, "owner", folder.path(), NOBODY), "created");
}

/// Another user has made an entry, of any kind, with the name of a user's folder in the sticky folder. The user's
/// application starts all the same, and its clients find it.
#[test]
fn an_application_starts_with_a_taken_folder_name() {
    if !root() {
        return println!("skipped: becoming another user takes root");
    }
    let (folder, bin) = (folder(), folder());
    let exe = reachable_exe(bin.path());
    let (user, _) = unique(3);
    let squatted = PathBuf::from(format!("/dev/shm/taut-{user}"));
    let further = format!("{}.", squatted.display());
    let target = bin.path().join("target");
    std::fs::write(&target, "precious").unwrap();
    let owned = bin.path().join("owned");
    std::fs::create_dir(&owned).unwrap();
    chown(&owned, Some(user), Some(user)).unwrap();
    let start = |role| {
        Process::start_with(&exe, role, folder.path(), |command| {
            command.uid(user).gid(user).current_dir("/");
            command.env_remove("TAUT_RUNTIME_DIR").env_remove("XDG_RUNTIME_DIR");
        })
    };
    let attaches = || {
        let viewer = start("default-viewer");
        let reported = viewer.reported();
        viewer.release();
        reported
    };
    let run = |program: &str, args: &[&str]| {
        let status = std::process::Command::new(program).arg(&squatted).args(args).status().unwrap();
        assert!(status.success(), "{program}");
    };
    for kind in
        ["a folder", "a file", "a pipe", "a device", "a socket", "a link to a file", "a link to the user's"]
    {
        match kind {
            "a folder" => std::fs::create_dir(&squatted).unwrap(),
            "a file" => std::fs::write(&squatted, "").unwrap(),
            "a pipe" => run("mkfifo", &[]),
            "a device" => run("mknod", &["c", "1", "3"]),
            "a socket" => drop(socket::bind(&squatted).unwrap()),
            "a link to a file" => symlink(&target, &squatted).unwrap(),
            _ => symlink(&owned, &squatted).unwrap(),
        }
        std::os::unix::fs::lchown(&squatted, Some(NOBODY), None).unwrap();
        let owner = start("default-owner");
        let socket = PathBuf::from(owner.reported());
        let while_taken = attaches();
        let _ = std::fs::remove_file(&squatted).or_else(|_| std::fs::remove_dir(&squatted));
        assert_eq!((while_taken.as_str(), attaches().as_str()), ("attached", "attached"), "{kind}");
        let made = socket.parent().unwrap();
        assert!(made.display().to_string().starts_with(&further), "{kind}: {made:?}");
        assert_eq!(std::fs::metadata(made).unwrap().uid(), user);
        owner.release();
        assert!(!made.exists());
    }
    assert_eq!(std::fs::read(&target).unwrap(), b"precious");
    assert_eq!(contents(&owned), Vec::<PathBuf>::new());
}

/// The socket's mode keeps other users out. If somebody has changed the mode, the listener checks the client's user.
#[test]
fn an_open_socket_admits_no_other_user() {
    if !root() {
        return println!("skipped: becoming another user takes root");
    }
    let (folder, bin) = (folder(), folder());
    let exe = reachable_exe(bin.path());
    let owner = owner(folder.path());
    std::fs::set_permissions(owner.socket(), std::fs::Permissions::from_mode(0o666)).unwrap();
    let viewer = Process::start_with(&exe, "viewer", folder.path(), |command| {
        command.uid(NOBODY).gid(NOBODY).current_dir("/");
    });
    let reported = viewer.reported();
    assert!(reported.contains("only root, the user of the application"), "{reported}");
    viewer.release();
}

#[test]
fn a_registry_serves_one_user() {
    if !root() {
        return println!("skipped: becoming another user takes root");
    }
    let (folder, bin) = (folder(), folder());
    let exe = reachable_exe(bin.path());
    chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let process = Process::start_with(&exe, "board", folder.path(), |command| {
        command.uid(NOBODY).gid(NOBODY).current_dir("/");
    });
    assert_eq!(process.reported(), "created");
    // The listener of that user accepts root, but root's `Lease::take` refuses it.
    assert!(attach_in(folder.path(), APP, "observer-of-levels").is_ok());
    let refused = Lease::take_in(folder.path(), APP, "levels", LEVELS.observer()).unwrap_err();
    assert!(matches!(refused, Error::NotPermitted { .. }), "{refused}");
    assert!(refused.to_string().contains("the registry belongs to user 65534"), "{refused}");
    process.release();
}

#[test]
fn folders_that_are_not_safe() {
    let folder = folder();
    let create = |path: &Path| Owner::create_in(path, APP, SIZE, clients(), None).map(drop);
    let attach = |path: &Path| attach_in(path, APP, "ui").map(drop);
    let problem = |result: Result<(), Error>| match result {
        Err(Error::Folder { problem, .. }) => problem,
        other => panic!("{other:?}"),
    };

    let made = folder.path().join("made");
    create(&made).unwrap();
    assert_eq!(std::fs::metadata(&made).unwrap().mode() & 0o7777, 0o711, "whatever the mask");

    let link = folder.path().join("link");
    symlink(&made, &link).unwrap();
    assert_eq!(problem(create(&link)), FolderProblem::NotAFolder);
    assert_eq!(problem(attach(&link)), FolderProblem::NotAFolder);

    for mode in [0o731, 0o713, 0o1777] {
        std::fs::set_permissions(&made, std::fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(problem(create(&made)), FolderProblem::WritableByOthers(mode));
        assert_eq!(problem(attach(&made)), FolderProblem::WritableByOthers(mode));
    }
    let nowhere = folder.path().join("a/b");
    assert!(matches!(problem(create(&nowhere)), FolderProblem::System(_)));
    assert!(matches!(attach(&nowhere), Err(Error::NotRunning { .. })));

    if root() {
        std::fs::set_permissions(&made, std::fs::Permissions::from_mode(0o711)).unwrap();
        chown(&made, Some(NOBODY), None).unwrap();
        assert_eq!(problem(create(&made)), FolderProblem::OtherOwner(NOBODY));
        // A client may use another user's folder, but then that user must own the listener.
        let listener = socket::bind(&made.join("cochlear.sock")).unwrap();
        socket::listen(listener.as_fd(), 1).unwrap();
        let error = Error::NotAnApplication { problem: "its user is not the owner of the folder" };
        assert_eq!(attach(&made), Err(error));
    }
}

/// A killed owner leaves a socket and its folder. They block nobody: neither another user with the same application,
/// nor root, nor the same user again, whose new owner removes them.
#[test]
fn the_remains_of_one_user_block_no_other_user() {
    if !root() {
        return println!("skipped: becoming another user takes root");
    }
    let bin = folder();
    let exe = reachable_exe(bin.path());
    let (first, app) = unique(0);
    let (second, _) = unique(1);
    let start = |uid| Start { exe: &exe, uid, app: &app };
    let mut dead = start(first).role("default-owner");
    let left = PathBuf::from(dead.reported());
    assert_eq!(std::fs::metadata(&left).unwrap().uid(), first, "{left:?}");
    dead.kill();
    assert!(left.exists());
    assert!(start(first).viewer().contains("it died and left"), "the client reports the dead owner");
    for uid in [second, 0] {
        let owner = start(uid).role("default-owner");
        let socket = PathBuf::from(owner.reported());
        assert_eq!(std::fs::metadata(&socket).unwrap().uid(), uid, "{socket:?}");
        assert_ne!(socket, left);
        assert_eq!(start(uid).viewer(), "attached");
        owner.release();
        assert!(!socket.exists());
    }
    let again = start(first).role("default-owner");
    assert_eq!(PathBuf::from(again.reported()), left);
    assert_eq!(start(first).viewer(), "attached");
    again.release();
    assert!(!left.parent().unwrap().exists(), "nothing is left of either");
}

/// Root of a user namespace is not the machine's root: it has a folder of its own, and finds it again from another
/// namespace of the same user. What a killed owner leaves there, its successor removes.
#[test]
fn a_user_namespace_has_applications_of_its_own() {
    if !root() {
        return println!("skipped: becoming another user takes root");
    }
    let (uid, app) = unique(2);
    if !can(uid, "unshare", &["--user", "--map-root-user", "true"]) {
        return println!("skipped: this machine gives users no namespaces of their own");
    }
    let bin = folder();
    let inside = within(bin.path(), "inside", "unshare --user --map-root-user TEST");
    let start = Start { exe: &inside, uid, app: &app };
    let mut dead = start.role("default-owner");
    let socket = PathBuf::from(dead.reported());
    // Outside the namespace the folder belongs to the user. Its name is the one that root has inside, or a longer one
    // if that was taken.
    assert!(socket.starts_with("/dev/shm") && !socket.starts_with("/run"), "{socket:?}");
    let folder = socket.parent().unwrap();
    assert!(folder.to_str().unwrap().starts_with("/dev/shm/taut-0"), "{socket:?}");
    assert_eq!(std::fs::metadata(folder).unwrap().uid(), uid);
    assert_eq!(start.viewer(), "attached");
    // The machine's root runs the same application, and neither finds the other's.
    let exe = bin.path().join("test");
    let outside = Start { exe: &exe, uid: 0, app: &app };
    assert!(outside.viewer().contains("is not running"));
    let owner = outside.role("default-owner");
    let its = PathBuf::from(owner.reported());
    assert_eq!(std::fs::metadata(&its).unwrap().uid(), 0, "{its:?}");
    assert_eq!((start.viewer().as_str(), outside.viewer().as_str()), ("attached", "attached"));
    owner.release();
    assert!(!its.exists());
    // `unshare` has become the owner, so this kills the owner.
    dead.kill();
    assert!(socket.exists());
    let again = start.role("default-owner");
    assert_eq!(PathBuf::from(again.reported()), socket);
    again.release();
    assert!(!folder.exists(), "nothing is left");
}

/// Errors of Linux name the path and say what to do.
#[test]
fn errors_name_the_path_and_what_to_do() {
    let folder = folder();
    let create = |path: &Path| Owner::create_in(path, APP, SIZE, clients(), None).unwrap_err().to_string();
    let reported = create(&folder.path().join("a/b"));
    assert!(
        reported.contains("/a/b: mkdir: ")
            && reported.ends_with("or set TAUT_RUNTIME_DIR to a folder that exists"),
        "{reported}"
    );
    // Something other than a socket stands where the socket belongs.
    let socket = folder.path().join("cochlear.sock");
    std::fs::create_dir(&socket).unwrap();
    let reported = create(folder.path());
    assert!(reported.starts_with(&format!("{} is not a socket", socket.display())), "{reported}");
    std::fs::remove_dir(&socket).unwrap();
    if !root() {
        return println!("skipped: becoming another user takes root");
    }
    let bin = self::folder();
    // Few descriptors; no /proc; a folder that cannot be written.
    let few = within(bin.path(), "few", "prlimit --nofile=4 TEST");
    let reported = Process::start_with(&few, "owner", folder.path(), |_| {}).reported();
    assert!(reported.contains("Too many open files") && reported.ends_with("(`ulimit -n`)"), "{reported}");
    let reported = Process::start_with(&few, "viewer", folder.path(), |_| {}).reported();
    assert!(
        reported.contains("cochlear is not running") || reported.contains(socket.to_str().unwrap()),
        "{reported}"
    );
    if !can(0, "unshare", &["--mount", "true"]) {
        return println!("skipped: this machine gives no mount namespaces");
    }
    let hidden = "unshare --mount sh -c 'mount -t tmpfs none /proc && exec TEST \"$@\"' sh";
    let hidden = within(bin.path(), "hidden", hidden);
    let reported = Process::start_with(&hidden, "owner", folder.path(), |_| {}).reported();
    assert!(
        reported.contains("open below /proc/self/fd: ") && reported.contains("is /proc mounted?"),
        "{reported}"
    );
}
