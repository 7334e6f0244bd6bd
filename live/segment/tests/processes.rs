// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Owners and clients that start and die as processes.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "test code")]

mod support;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

use support::*;
use taut_segment::registry::Registry;
use taut_segment::{
    Attached, ChannelEntry, ClientGrant, Error, FolderProblem, Liveness, Owner, OwnerSocket, OwnerState,
    PAGE_BYTES, Role, attach, attach_in, found, found_in, remove_stale, remove_stale_in, runtime_folder,
    stale, stale_in,
};

const SIGCONT: i32 = 18;
const SIGSTOP: i32 = 19;
const NOBODY: u32 = 65534;

/// The first word of a channel's region.
fn word(attached: &Attached, channel: &str) -> &'static AtomicU64 {
    let region = attached.region(channel).unwrap().cast::<u64>();
    // SAFETY: aligned to 128 bytes, mapped until the process ends (the callers never drop the attachment), accessed
    // atomically by all.
    unsafe { AtomicU64::from_ptr(region.as_ptr()) }
}

#[test]
fn role() {
    match support::role().as_deref() {
        Some("owner") => {
            let owner = Owner::create(APP, SIZE, clients(), None).unwrap();
            owner.set_running();
            announce(format_args!("ready {} {}", owner.epoch(), owner.replaced().is_some()));
            until_released();
            owner.end().unwrap();
        }
        Some("keeper") => keep_listening(),
        Some("idle-owner") => {
            // Without an orderly end, like a program that a signal stops.
            let _owner = Owner::create(APP, SIZE, clients(), None).unwrap();
            announce("ready");
            until_released();
        }
        Some("lister") => {
            let apps = |sockets: Result<Vec<OwnerSocket>, Error>| {
                sockets.unwrap().into_iter().map(|socket| socket.app).collect::<Vec<_>>().join("+")
            };
            announce(format_args!(
                "found {} stale {} removed {} left {}",
                apps(found()),
                apps(stale()),
                apps(remove_stale()),
                apps(found())
            ));
            announce(runtime_folder().display());
        }
        Some("writer") => {
            let attached = Box::leak(Box::new(attach(APP, "ui").unwrap()));
            announce("attached");
            let settings = word(attached, "settings");
            loop {
                settings.fetch_add(1, Ordering::Relaxed);
            }
        }
        Some("watcher") => loop {
            let attached = loop {
                match attach(APP, "viewer") {
                    Ok(attached) => break attached,
                    Err(Error::NotRunning { .. } | Error::Stale { .. } | Error::TurnedAway { .. }) => {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    Err(error) => panic!("{error}"),
                }
            };
            announce(format_args!("attached {}", attached.epoch()));
            while attached.alive() == Liveness::Alive {
                std::thread::sleep(Duration::from_millis(1));
            }
            announce(format_args!("{:?}", attached.alive()));
        },
        Some(other) => panic!("unknown role {other}"),
        None => println!("no test: for processes that tests start"),
    }
}

#[test]
fn client_is_killed_100_times() {
    let folder = folder();
    let mut keeper = Process::start("keeper", folder.path());
    let epoch: u64 = keeper.told_after("ready").parse().unwrap();
    let open = ask(&mut keeper).remove("open");
    let mut random = Random(0x7a07_0001);
    let mut written = 0;
    for round in 0..100 {
        let mut client = Process::start("writer", folder.path());
        if round % 2 == 0 {
            // Killed while it writes.
            assert_eq!(client.reported(), "attached");
            std::thread::sleep(Duration::from_micros(random.below(500)));
        } else {
            // Killed while it starts, asks, or has just attached.
            std::thread::sleep(Duration::from_micros(random.below(20_000)));
        }
        client.kill();
        // It is dead and collected: its name is free at once.
        let successor = attach_in(folder.path(), APP, "ui").unwrap();
        assert_eq!(successor.epoch(), epoch);
        assert_eq!(successor.alive(), Liveness::Alive);
        let settings = successor.region("settings").unwrap().cast::<u64>();
        // SAFETY: aligned to 128 bytes, mapped while `successor` lives, accessed atomically by all.
        let settings = unsafe { AtomicU64::from_ptr(settings.as_ptr()) }.load(Ordering::Relaxed);
        assert!(settings >= written, "what the dead wrote stays");
        written = settings;
    }
    assert!(written > 0);
    eventually("everybody has left", || ask(&mut keeper)["attached"].is_empty());
    let report = ask(&mut keeper);
    eprintln!("{report:?}");
    let granted: u64 = report["granted"].parse().unwrap();
    assert!((150..=200).contains(&granted), "{granted}");
    assert_eq!(report["refused"], "0");
    // A client that died between connecting and asking may still wait to be served.
    eventually("no descriptor leaks", || ask(&mut keeper).get("open") == open.as_ref());
    keeper.release();
    assert_eq!(contents(folder.path()), Vec::<std::path::PathBuf>::new());
}

/// As many processes as the owner says hold a name; the next one is refused with their list, and let in when one is gone.
#[test]
fn several_hold_a_name_and_no_more() {
    let folder = folder();
    let (_, entries) = clients().into_iter().find(|(name, _)| name == "viewer").unwrap();
    let mut grant = ClientGrant::new("viewer".to_owned(), entries);
    grant.max_attached = 3;
    let _owner = Owner::create_in(folder.path(), APP, SIZE, [grant.clone()], None).unwrap();
    let attach = || attach_in(folder.path(), APP, "viewer");
    let mut held = [(); 3].map(|()| Some(attach().unwrap()));
    for at in [1, 0, 2, 2] {
        let error = attach().unwrap_err().to_string();
        let own = std::process::id();
        let expected = format!(
            "client `viewer` is already attached: all its 3 places are taken, by the processes {own}, {own}, {own}: end one first"
        );
        assert_eq!(error, expected);
        held[at] = None;
        held[at] = Some(attach().unwrap());
    }
    assert!(held.iter().flatten().all(|held| held.alive() == Liveness::Alive));
    // No process may store what another one of its name reads.
    grant.entries[0].role = Role::Writes;
    let channel = grant.entries[0].channel.clone();
    let refused = Owner::create_in(folder.path(), "other", SIZE, [grant], None).map(drop);
    assert_eq!(refused, Err(Error::SharedPlace { client: "viewer".to_owned(), channel }));
}

#[test]
fn of_two_successors_one_is_let_in() {
    let folder = folder();
    let mut keeper = Process::start("keeper", folder.path());
    keeper.told_after("ready");
    let holder = attach_in(folder.path(), APP, "ui").unwrap();
    let mut open = || ask(&mut keeper)["open"].parse::<usize>().unwrap();
    let before = open();
    // Two clients are connected and have not asked yet.
    let mut asking = [(); 2].map(|()| UnixStream::connect(folder.path().join("cochlear.sock")).unwrap());
    eventually("the listener has accepted both", || open() == before + 2);
    // While the listener is stopped the holder leaves and both ask, so one round of the listener sees all three
    // events.
    taut_sys::signals::kill(keeper.child.id(), SIGSTOP).unwrap();
    eventually("all its threads stand still", || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", keeper.child.id())).unwrap();
        tasks
            .map(|task| std::fs::read_to_string(task.unwrap().path().join("status")).unwrap())
            .all(|status| status.contains("State:\tT"))
    });
    drop(holder);
    asking.iter_mut().for_each(|stream| stream.write_all(b"TAUTDOOR\x05\x00\x02\x00ui").unwrap());
    taut_sys::signals::kill(keeper.child.id(), SIGCONT).unwrap();
    let mut codes = asking.each_mut().map(|stream| {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        u16::from_le_bytes([head[10], head[11]])
    });
    codes.sort_unstable();
    assert_eq!(codes, [0, 4], "granted, name taken");
}

#[test]
fn owner_dies_and_another_comes() {
    let folder = folder();
    let watcher = Process::start("watcher", folder.path());
    let mut epochs = std::collections::HashSet::new();
    for round in 0..10 {
        let mut owner = Process::start("owner", folder.path());
        let ready = owner.told_after("ready");
        let (epoch, replaced) = ready.split_once(' ').unwrap();
        assert_eq!(replaced, if round == 0 { "false" } else { "true" }, "what the dead left is found");
        assert_eq!(watcher.told_after("attached"), epoch);
        assert!(epochs.insert(epoch.to_owned()), "another epoch every time");
        owner.kill();
        assert_eq!(watcher.reported(), "Died");
        assert_eq!(contents(folder.path()), [folder.path().join("cochlear.sock")], "only the socket is left");
        let socket = folder.path().join("cochlear.sock");
        let stale = Error::Stale { app: APP.to_owned(), socket };
        assert_eq!(attach_in(folder.path(), APP, "ui").unwrap_err(), stale);
    }
    let owner = Process::start("owner", folder.path());
    let epoch = owner.told_after("ready");
    assert!(epoch.starts_with(&watcher.told_after("attached")));
    owner.release();
    assert_eq!(watcher.reported(), "Ended");
    assert_eq!(contents(folder.path()), Vec::<std::path::PathBuf>::new());
}

#[test]
fn two_owners_of_one_name() {
    let folder = folder();
    let first = owner(folder.path());
    let create = || Owner::create_in(folder.path(), APP, SIZE, clients(), None);
    let pid = std::process::id();
    assert_eq!(create().unwrap_err(), Error::AlreadyRunning { app: APP.to_owned(), pid });
    // The attempt has not disturbed the first owner.
    assert_eq!(attach_in(folder.path(), APP, "ui").unwrap().epoch(), first.epoch());
    first.end().unwrap();
    create().unwrap().end().unwrap();

    // Another process removes the socket, and a second owner binds a new one: the end of the first owner leaves the
    // second one's socket alone.
    let first = create().unwrap();
    std::fs::remove_file(first.socket()).unwrap();
    let second = create().unwrap();
    first.end().unwrap();
    assert_eq!(attach_in(folder.path(), APP, "ui").unwrap().epoch(), second.epoch());
    second.end().unwrap();

    // Many owners start at once, over a dead owner's socket: exactly one succeeds.
    let mut dead = Process::start("idle-owner", folder.path());
    assert_eq!(dead.reported(), "ready");
    dead.kill();
    let owners: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(create)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(owners.iter().filter(|owner| owner.is_ok()).count(), 1, "{owners:?}");
    let losers = owners.iter().filter_map(|owner| owner.as_ref().err());
    assert!(losers.clone().all(|error| *error == Error::AlreadyRunning { app: APP.to_owned(), pid }));
}

#[test]
fn doors_of_the_dead_are_listed_and_removed() {
    let folder = folder();
    assert_eq!(found_in(&folder.path().join("nowhere")), Ok(vec![]));
    let mut dead = Process::start("idle-owner", folder.path());
    assert_eq!(dead.reported(), "ready");
    let living = Owner::create_in(folder.path(), "uav", SIZE, Vec::<ClientGrant>::new(), None).unwrap();
    std::fs::write(folder.path().join("notes.sock"), "no socket").unwrap();
    let pid = dead.child.id();
    let sockets: Vec<_> = found_in(folder.path()).unwrap().into_iter().map(|d| (d.app, d.pid)).collect();
    assert_eq!(sockets, [(APP.to_owned(), Some(pid)), ("uav".to_owned(), Some(std::process::id()))]);
    assert_eq!(stale_in(folder.path()), Ok(vec![]));
    dead.kill();
    let stale = stale_in(folder.path()).unwrap();
    assert_eq!(stale.iter().map(|socket| socket.app.as_str()).collect::<Vec<_>>(), [APP]);
    assert_eq!(remove_stale_in(folder.path()), Ok(stale));
    assert_eq!(remove_stale_in(folder.path()), Ok(vec![]));
    let left = contents(folder.path());
    assert!(left.len() == 2 && left.contains(&living.socket().to_owned()), "{left:?}");
}

/// The functions that take no folder use the default one.
#[test]
fn doors_in_the_default_folder_are_listed_and_removed() {
    let folder = folder();
    let mut dead = Process::start("idle-owner", folder.path());
    assert_eq!(dead.reported(), "ready");
    dead.kill();
    let living = Owner::create_in(folder.path(), "uav", SIZE, Vec::<ClientGrant>::new(), None).unwrap();
    let lister = Process::start("lister", folder.path());
    assert_eq!(lister.reported(), "found cochlear+uav stale cochlear removed cochlear left uav");
    assert_eq!(lister.reported(), folder.path().display().to_string());
    assert_eq!(living.app(), "uav");
    lister.release();
}

/// Owners make and remove sockets one after the other. One waits for the other, but not for ever.
#[test]
fn an_owner_waits_for_another_at_the_folder() {
    let folder = folder();
    let create = || Owner::create_in(folder.path(), APP, SIZE, clients(), None);
    let other = std::fs::File::open(folder.path()).unwrap();
    other.lock().unwrap();
    std::thread::scope(|scope| {
        let owner = scope.spawn(create);
        std::thread::sleep(Duration::from_millis(50));
        assert!(!owner.is_finished(), "it waits");
        other.unlock().unwrap();
        owner.join().unwrap().unwrap().end().unwrap();
    });
    other.lock().unwrap();
    let begin = Instant::now();
    let busy = create().unwrap_err();
    assert_eq!(busy, Error::Folder { path: folder.path().to_owned(), problem: FolderProblem::Busy });
    assert!(begin.elapsed() >= Duration::from_secs(2));
}

/// Another process has removed the folder with the socket: then nothing is left to remove. Any other obstacle is an
/// error.
#[test]
fn an_end_without_a_folder() {
    let folder = folder();
    let (path, away) = (folder.path().join("sockets"), folder.path().join("away"));
    let first = owner(&path);
    std::fs::remove_dir_all(&path).unwrap();
    assert_eq!(first.end(), Ok(()));
    let inner = path.join("inner");
    std::fs::create_dir(&path).unwrap();
    let second = owner(&inner);
    std::fs::rename(&path, &away).unwrap();
    std::fs::write(&path, "no folder").unwrap();
    let reported = second.end().unwrap_err().to_string();
    assert!(reported.contains("/inner: stat: ") && reported.contains("ENOTDIR"), "{reported}");
    std::fs::remove_file(&path).unwrap();
    std::fs::rename(&away, &path).unwrap();
    let registry = Registry::create_in(&inner, "board", &[]).unwrap();
    std::fs::rename(&path, &away).unwrap();
    std::fs::write(&path, "no folder").unwrap();
    assert!(matches!(registry.end(), Err(Error::Folder { .. })));
}

/// Neither a client nor the clean-up takes something else for a dead owner's socket.
#[test]
fn another_socket_is_not_taken_for_a_dead_owner_s() {
    let folder = folder();
    let socket = folder.path().join("cochlear.sock");
    let _other = std::os::unix::net::UnixDatagram::bind(&socket).unwrap();
    let refused = attach_in(folder.path(), APP, "ui").map(drop).unwrap_err();
    assert!(matches!(refused, Error::Socket { .. }), "{refused}");
    assert_eq!(found_in(folder.path()), Ok(vec![]));
    assert_eq!(remove_stale_in(folder.path()), Ok(vec![]));
    assert!(socket.exists());
    assert!(matches!(found_in(&socket), Err(Error::Folder { .. })), "it is no folder");
}

/// A socket's path has at most 107 bytes.
#[test]
fn the_longest_path_has_a_socket() {
    let folder = folder();
    let with = |bytes: usize| {
        let rest = bytes - folder.path().as_os_str().len() - "//cochlear.sock".len();
        folder.path().join("x".repeat(rest))
    };
    owner(&with(107)).end().unwrap();
    let too_long = Owner::create_in(&with(108), APP, SIZE, clients(), None).unwrap_err();
    assert_eq!(too_long, Error::PathTooLong { path: with(108).join("cochlear.sock") });
}

/// The smallest segment has only its header, in the owner's file.
#[test]
fn the_least_segment_is_a_header() {
    let folder = folder();
    let create = |size| Owner::create_in(folder.path(), APP, size, Vec::<ClientGrant>::new(), None);
    let owner = create(128).unwrap();
    assert_eq!((owner.secret_files(), owner.region(0, 128)), (0, None));
    owner.end().unwrap();
    assert_eq!(create(127).unwrap_err(), Error::Truncated { expected: 128, actual: 127 });
}

/// One file holds both channels; the lookup finds both, not only the one at the file's end.
#[test]
fn two_channels_of_one_file() {
    let folder = folder();
    let entries = vec![entry("first", Role::Reads, 128), entry("second", Role::Reads, 2048)];
    let owner =
        Owner::create_in(folder.path(), APP, SIZE, vec![("viewer".to_owned(), entries)], None).unwrap();
    let viewer = attach_in(folder.path(), APP, "viewer").unwrap();
    for (channel, offset) in [("first", 128), ("second", 2048)] {
        assert_eq!(viewer.region(channel).map(|region| region.len()), Ok(1024));
        assert!(owner.region(offset, 1024).is_some());
    }
}

#[test]
fn a_layout_has_its_number() {
    let folder = folder();
    let hash = |clients| Owner::create_in(folder.path(), APP, SIZE, clients, None).unwrap().layout_hash();
    let (ours, mut other) = (hash(clients()), clients());
    assert_eq!(ours, hash(clients()));
    other[1].1[0].capacity = 2;
    assert_ne!(ours, hash(other));
}

/// As many files as one message can carry: the owner's, and one of each client whose channels this one reads.
#[test]
fn a_client_is_given_so_many_files_and_no_more() {
    let folder = folder();
    let create = |others: u64| {
        let channels = (0..others).map(|at| (format!("c{at}"), PAGE_BYTES * (1 + at)));
        let reads = channels.clone().map(|(channel, offset)| entry(&channel, Role::Reads, offset));
        let writers = channels
            .map(|(channel, offset)| (format!("of-{channel}"), vec![entry(&channel, Role::Writes, offset)]));
        let clients: Vec<_> = writers.chain([("viewer".to_owned(), reads.collect())]).collect();
        Owner::create_in(folder.path(), APP, PAGE_BYTES * (1 + others), clients, None)
    };
    let owner = create(31).unwrap();
    let viewer = attach_in(folder.path(), APP, "viewer").unwrap();
    assert!((0..31).all(|at| viewer.region(&format!("c{at}")).is_ok()));
    owner.end().unwrap();
    let too_many = Error::TooManyFiles { client: "viewer".to_owned(), limit: 32 };
    assert_eq!(create(32).map(drop), Err(too_many));
}

#[test]
fn default_folder_is_gone_after_the_end() {
    let (folder, bin) = (folder(), folder());
    let taut = folder.path().join("taut");
    // Root has another default folder, which applications of this machine may use: then the test runs as another
    // user.
    let root = taut_sys::process::effective_uid() == 0;
    let exe = bin.path().join("test");
    std::fs::copy(std::env::current_exe().unwrap(), &exe).unwrap();
    std::fs::set_permissions(&exe, std::fs::Permissions::from_mode(0o755)).unwrap();
    if root {
        std::os::unix::fs::chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let start = |role| {
        Process::start_with(&exe, role, folder.path(), |command| {
            command.env_remove("TAUT_RUNTIME_DIR").env("XDG_RUNTIME_DIR", folder.path());
            if root {
                command.uid(NOBODY).gid(NOBODY).current_dir("/");
            }
        })
    };
    let owner = start("owner");
    let _ = owner.told_after("ready");
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&taut).unwrap()) & 0o7777;
    assert_eq!(mode, 0o711);
    let watcher = start("watcher");
    let _ = watcher.told_after("attached");
    owner.release();
    assert_eq!(watcher.reported(), "Ended");
    assert!(!taut.exists());
}

#[test]
fn values_and_states_are_seen() {
    let folder = folder();
    let owner = owner(folder.path());
    let ui = attach_in(folder.path(), APP, "ui").unwrap();
    let viewer = attach_in(folder.path(), APP, "viewer").unwrap();
    assert_eq!(ui.state(), OwnerState::Booting);
    owner.set_running();
    assert_eq!((ui.state(), viewer.state()), (OwnerState::Running, OwnerState::Running));
    let writable = |attached: &Attached, channel| attached.mapping(channel).unwrap().writable();
    assert!(writable(&ui, "settings"));
    assert!(!writable(&ui, "levels") && !writable(&viewer, "levels"), "the owner's alone");
    assert_eq!(ui.owner_pid(), std::process::id());
    assert_eq!(ui.layout_hash(), owner.layout_hash());
    // The reply may arrive before the listener has recorded the client.
    eventually("both are listed", || {
        owner.report().attached.iter().map(|client| client.client.as_str()).eq(["ui", "viewer"])
    });

    // SAFETY: within the owner's mapping, aligned, accessed atomically by all, and used before the owner ends.
    let ours = unsafe { AtomicU64::from_ptr(owner.region(128, 1024).unwrap().cast::<u64>().as_ptr()) };
    ours.store(42, Ordering::Release);
    let viewer: &'static Attached = Box::leak(Box::new(viewer));
    assert_eq!(word(viewer, "levels").load(Ordering::Acquire), 42);
    let ui: &'static Attached = Box::leak(Box::new(ui));
    word(ui, "settings").store(43, Ordering::Release);
    // SAFETY: as above.
    let theirs = unsafe { AtomicU64::from_ptr(owner.region(4096, 1024).unwrap().cast::<u64>().as_ptr()) };
    assert_eq!(theirs.load(Ordering::Acquire), 43);
    assert_eq!(owner.region(0, 128), None, "the header is no region");
    assert_eq!(owner.region(128, SIZE), None);
    assert_eq!(owner.region(u64::MAX - 5, 10), None);

    owner.end().unwrap();
    assert_eq!((ui.alive(), viewer.alive()), (Liveness::Ended, Liveness::Ended));
    assert_eq!(word(viewer, "levels").load(Ordering::Acquire), 42, "the memory outlives its owner");
}

#[test]
fn ends_are_seen_beside_a_fork() {
    let folder = folder();
    let owner = owner(folder.path());
    let ui = attach_in(folder.path(), APP, "ui").unwrap();
    let viewer = attach_in(folder.path(), APP, "viewer").unwrap();
    let (forked, has_forked) = std::io::pipe().unwrap();
    let mut command = std::process::Command::new("true");
    // SAFETY: between fork and exec only async-signal-safe calls: a write and a sleep.
    unsafe {
        std::os::unix::process::CommandExt::pre_exec(&mut command, move || {
            std::io::Write::write_all(&mut &has_forked, b"!")?;
            std::thread::sleep(Duration::from_millis(300));
            Ok(())
        });
    }
    std::thread::scope(|scope| {
        scope.spawn(|| command.status().unwrap());
        std::io::Read::read_exact(&mut &forked, &mut [0]).unwrap();
        // The child has copies of all descriptors of this process now, and closes them only when it executes.
        drop(viewer);
        let viewer = attach_in(folder.path(), APP, "viewer").unwrap();
        owner.end().unwrap();
        assert_eq!((ui.alive(), viewer.alive()), (Liveness::Ended, Liveness::Ended));
    });
}

#[test]
fn programs_that_differ_from_the_manifest_are_refused() {
    let folder = folder();
    let _owner = owner(folder.path());
    let ui = attach_in(folder.path(), APP, "ui").unwrap();
    let layout = "volume:f32 sensitivity:f32";
    assert_eq!(ui.entry_as("settings", Role::Writes, layout).unwrap().offset, 4096);
    let error = ui.entry_as("setings", Role::Writes, layout).unwrap_err();
    assert_eq!(error.to_string(), "no channel `setings` for this client: it has levels, settings");
    let error = ui.entry_as("levels", Role::Writes, layout).unwrap_err();
    assert_eq!(
        error.to_string(),
        "this program writes channel levels, but in the manifest its client reads it"
    );
    let error = ui.entry_as("settings", Role::Writes, "volume:f64").unwrap_err();
    assert_eq!(
        error.to_string(),
        "channel settings carries another type: this program has `volume:f64`, the application \
         `volume:f32 sensitivity:f32`"
    );
    let error = attach_in(folder.path(), APP, "ui").unwrap_err();
    let pid = std::process::id();
    assert_eq!(
        error.to_string(),
        format!("client `ui` is already attached: process {pid} holds it: end that process first")
    );
    let error = attach_in(folder.path(), APP, "gui").unwrap_err();
    assert_eq!(error.to_string(), "no client `gui`: the clients of the application are ui, viewer");
    let error = attach_in(folder.path(), "uav", "ui").unwrap_err();
    assert!(error.to_string().starts_with("uav is not running (no "), "{error}");
    assert!(matches!(attach_in(folder.path(), "../uav", "ui"), Err(Error::BadName { .. })));
    assert!(matches!(attach_in(folder.path(), APP, "u/i"), Err(Error::BadName { .. })));
}

#[test]
fn owners_refuse_what_cannot_be() {
    let folder = folder();
    let create =
        |size, clients, group| Owner::create_in(folder.path(), APP, size, clients, group).unwrap_err();
    let one = |entries| vec![("ui".to_owned(), entries)];
    let levels = || entry("levels", Role::Reads, 128);
    assert!(matches!(create(1024, one(vec![levels()]), None), Error::OutOfBounds { .. }));
    assert!(matches!(create(64, vec![], None), Error::Truncated { .. }));
    let overlap = one(vec![levels(), entry("settings", Role::Writes, 1024)]);
    let error = Error::Overlap { first: "levels".to_owned(), second: "settings".to_owned() };
    assert_eq!(create(SIZE, overlap, None), error);
    let twice = [one(vec![levels()]), one(vec![levels()])].concat();
    assert_eq!(create(SIZE, twice, None), Error::ClientTwice { client: "ui".to_owned() });
    let nobody = Error::UnknownGroup { group: "no-such-group".to_owned() };
    assert_eq!(create(SIZE, vec![], Some("no-such-group")), nobody);
    assert_eq!(contents(folder.path()), Vec::<std::path::PathBuf>::new(), "a refused owner leaves nothing");
    let long = folder.path().join("x".repeat(100));
    let error = Owner::create_in(&long, APP, SIZE, clients(), None).unwrap_err();
    assert!(matches!(error, Error::PathTooLong { .. }));
}

/// The event count of a client is a line in a file that this client alone may write, in ordinary memory, where the owner's
/// wake finds who sleeps.
#[test]
fn a_client_waits_on_a_line_of_its_own() {
    let folder = folder();
    let levels = |offset| ChannelEntry { event_count: Some(offset), ..entry("levels", Role::Reads, 128) };
    let clients = |offset| {
        vec![
            ("ui".to_owned(), vec![levels(offset), entry("orders", Role::Takes, 4096)]),
            ("viewer".to_owned(), vec![levels(12288)]),
        ]
    };
    let error = Owner::create_in(folder.path(), APP, SIZE, clients(2048), None).unwrap_err();
    assert!(matches!(error, Error::SharedPage { .. }), "{error}");
    let error = Owner::create_in(folder.path(), APP, SIZE, clients(SIZE), None).unwrap_err();
    assert!(matches!(error, Error::OutOfBounds { .. }), "{error}");
    let owner = Owner::create_in(folder.path(), APP, SIZE, clients(8192), None).unwrap();
    let [ui, viewer] = ["ui", "viewer"].map(|client| attach_in(folder.path(), APP, client).unwrap());
    let word = |bytes: std::ptr::NonNull<[u8]>| {
        assert_eq!(bytes.len(), 128);
        // SAFETY: mapped as long as its segment, which outlives the test's end; aligned to 128; an atomic for all.
        unsafe { std::sync::atomic::AtomicU32::from_ptr(bytes.cast::<u32>().as_ptr()) }
    };
    let ours = word(ui.event_count("levels").unwrap().unwrap());
    let other = word(viewer.event_count("levels").unwrap().unwrap());
    assert_eq!(ui.event_count("orders"), Ok(None));
    let [owners, owners_other] = [8192, 12288].map(|offset| word(owner.region(offset, 128).unwrap()));
    ours.store(7, Ordering::SeqCst);
    assert_eq!([owners, other, owners_other].map(|word| word.load(Ordering::SeqCst)), [7, 0, 0]);
    // What it takes, it may write; at most that file is secret memory.
    assert_eq!(ui.entry_as("orders", Role::Reads, "volume:f32 sensitivity:f32").unwrap().role, Role::Takes);
    let taken = word(std::ptr::NonNull::slice_from_raw_parts(ui.region("orders").unwrap().cast(), 128));
    taken.store(9, Ordering::SeqCst);
    assert_eq!(word(owner.region(4096, 128).unwrap()).load(Ordering::SeqCst), 9);
    assert!(owner.secret_files() <= 1);
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| taut_sys::futex::wait(ours, 7, None, true));
        eventually("the owner's wake finds the client", || {
            taut_sys::futex::wake(owners, 1, true) == Ok(1) || sleeper.is_finished()
        });
        assert_eq!(sleeper.join().unwrap(), Ok(taut_sys::futex::Waited::Woken));
    });
    owner.end().unwrap();
}
