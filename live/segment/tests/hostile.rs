// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A client, in a process of its own, that punches holes into every file that it received; and which other processes
//! that affects.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "test code")]

mod support;

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use support::*;
use taut_segment::registry::{Hybrid, Lease, Qrtr, Registry};
use taut_segment::{ChannelEntry, Liveness, Owner, OwnerState, Role, attach_in};
use taut_sys::memory::{self, Seals};
use taut_sys::socket;
use taut_sys::usage::thread_usage;

/// The offsets of the channels: one that tasks write; two that the hostile client writes, the second of which wakes a
/// task; and one that another client writes and a third one reads.
const LEVELS: u64 = 128;
const SETTINGS: u64 = 4096;
const ORDERS: u64 = 8192;
const NOTES: u64 = 12288;

/// Consecutive accesses to each word.
const ACCESSES: u64 = 10_000;

fn clients() -> Vec<(String, Vec<ChannelEntry>)> {
    let orders = ChannelEntry { triggered: true, ..entry("orders", Role::Writes, ORDERS) };
    let of = |client: &str, entries| (client.to_owned(), entries);
    vec![
        of(
            "ui",
            vec![entry("levels", Role::Reads, LEVELS), entry("settings", Role::Writes, SETTINGS), orders],
        ),
        of("editor", vec![entry("notes", Role::Writes, NOTES)]),
        of("viewer", vec![entry("levels", Role::Reads, LEVELS), entry("notes", Role::Reads, NOTES)]),
    ]
}

/// What a client receives, without the checks with which [`taut_segment::Attached`] protects it.
fn handed_out(folder: &Path, socket: &str, client: &str) -> (OwnedFd, Vec<OwnedFd>) {
    let connection = socket::connect(&folder.join(socket), PATIENCE).unwrap();
    let request = [b"TAUTDOOR\x05\x00", &(client.len() as u16).to_le_bytes()[..], client.as_bytes()].concat();
    socket::send(connection.as_fd(), &request, &[]).unwrap();
    socket::poll(&mut [socket::Poll::readable(connection.as_fd())], Some(PATIENCE)).unwrap();
    let received = socket::receive(connection.as_fd(), &mut [0; 4096]).unwrap();
    (connection, received.fds)
}

/// The error number of an attempt; 0 if it succeeded.
fn errno(result: Result<(), taut_sys::Error>) -> i32 {
    result.map_or_else(|error| error.errno, |()| 0)
}

#[test]
fn role() {
    match support::role().as_deref() {
        Some("puncher") => {
            let (_connection, files) = handed_out(&taut_segment::runtime_folder(), "cochlear.sock", "ui");
            for file in &files {
                let file = file.as_fd();
                let secret = memory::is_secret(file).unwrap();
                let size = memory::file_size(file).unwrap();
                announce(format_args!(
                    "secret={} punch={} shrink={} grow={} seal={} map={}",
                    u8::from(secret),
                    errno(memory::punch_hole(file, 0, size)),
                    errno(memory::resize(file, 0)),
                    errno(memory::resize(file, size + 4096)),
                    errno(memory::seal(file, Seals::WRITE)),
                    errno(memory::map_shared(file, size as usize, true).map(drop)),
                ));
            }
            announce("tried");
            loop {
                for file in &files {
                    let _ = memory::punch_hole(file.as_fd(), 0, 4096);
                }
            }
        }
        Some(other) => panic!("unknown role {other}"),
        None => println!("no test: for processes that tests start"),
    }
}

/// The first word of the region at this offset.
fn word(owner: &Owner, offset: u64) -> &AtomicU64 {
    // SAFETY: within a mapping that lives as long as the owner, aligned, accessed atomically by all.
    unsafe { AtomicU64::from_ptr(owner.region(offset, 1024).unwrap().cast::<u64>().as_ptr()) }
}

/// This thread's page faults while it uses the words.
fn faults(words: &[&AtomicU64]) -> u64 {
    let before = thread_usage();
    for n in 0..ACCESSES {
        for word in words {
            word.fetch_add(n, Ordering::Relaxed);
        }
    }
    thread_usage().since(before).minor_faults
}

#[test]
fn holes_reach_only_the_channels_by_which_their_maker_wakes_a_task() {
    let folder = folder();
    let owner = Owner::create_in(folder.path(), APP, SIZE, clients(), None).unwrap();
    owner.set_running();
    let viewer = attach_in(folder.path(), APP, "viewer").unwrap();
    let [levels, settings, orders, notes] = [LEVELS, SETTINGS, ORDERS, NOTES].map(|at| word(&owner, at));
    for word in [levels, settings, notes] {
        word.store(42, Ordering::Relaxed);
    }
    let puncher = Process::start("puncher", folder.path());
    let tried: Vec<_> =
        std::iter::repeat_with(|| puncher.reported()).take_while(|reported| reported != "tried").collect();
    // EPERM 1, EBADF 9, EACCES 13, EINVAL 22, EOPNOTSUPP 95.
    let secret = memory::secret_file(1).is_ok();
    assert_eq!(owner.secret_files(), usize::from(secret), "settings, where the machine can");
    let of_settings = if secret {
        "secret=1 punch=95 shrink=22 grow=22 seal=22 map=0"
    } else {
        "secret=0 punch=0 shrink=1 grow=1 seal=1 map=0"
    };
    assert_eq!(
        tried,
        [
            "secret=0 punch=9 shrink=22 grow=22 seal=1 map=13",
            of_settings,
            "secret=0 punch=0 shrink=1 grow=1 seal=1 map=0",
        ]
    );
    let kept = [levels, notes].map(|word| word.load(Ordering::Relaxed));
    assert_eq!(kept, [42, 42]);
    if secret {
        assert_eq!(settings.load(Ordering::Relaxed), 42);
    } else {
        println!("no secret memory here: what the client writes without waking a task has holes too");
    }
    // In turns, until this thread has met so many holes that the other words would have met some too.
    let (mut of_others, mut of_its_own, mut of_holes) = (0, 0, 0);
    eventually("100 holes are met", || {
        of_others += faults(&[levels, notes]);
        of_its_own += faults(&[settings]);
        of_holes += faults(&[orders]);
        of_holes > 100
    });
    assert_eq!(of_others, 0, "what others write");
    assert_eq!(of_its_own == 0, secret, "what it writes without waking a task: {of_its_own}");
    // The holes do not reach the header either: other clients still attach, and read the truth.
    let editor = attach_in(folder.path(), APP, "editor").unwrap();
    for attached in [&editor, &viewer] {
        assert_eq!((attached.alive(), attached.state()), (Liveness::Alive, OwnerState::Running));
    }
}

#[test]
fn each_is_given_its_own_files_and_no_other() {
    let folder = folder();
    let _owner = Owner::create_in(folder.path(), APP, SIZE, clients(), None).unwrap();
    let given = |client| {
        let (_connection, files) = handed_out(folder.path(), "cochlear.sock", client);
        files.iter().map(|file| memory::is_writable(file).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(given("ui"), [false, true, true], "the owner's, settings, orders");
    assert_eq!(given("editor"), [false, true], "the owner's, notes");
    assert_eq!(given("viewer"), [false, false], "the owner's, notes to read");
}

/// No process may write to this file except through a mapping that exists already: not even one that opens it again
/// as its owner's user.
#[test]
fn the_first_file_is_its_maker_s_alone() {
    let folder = folder();
    let owner = Owner::create_in(folder.path(), APP, SIZE, clients(), None).unwrap();
    let (_connection, files) = handed_out(folder.path(), "cochlear.sock", "viewer");
    assert!(memory::seals(files[0].as_fd()).unwrap().contains(Seals::FUTURE_WRITE.and(Seals::FIXED)));
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&files[0]));
    let anew = OwnedFd::from(std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap());
    assert_eq!(errno(memory::punch_hole(anew.as_fd(), 0, 4096)), taut_sys::EPERM);
    assert_eq!(errno(memory::map_shared(anew.as_fd(), 4096, true).map(drop)), taut_sys::EPERM);
    word(&owner, LEVELS).store(1, Ordering::Relaxed);
}

#[test]
fn regions_of_different_writers_on_one_page_are_refused() {
    let folder = folder();
    let create = |clients| Owner::create_in(folder.path(), APP, SIZE, clients, None).unwrap_err().to_string();
    let with = |settings, orders| {
        let mut clients = clients();
        clients[0].1[1].offset = settings;
        clients[0].1[2].offset = orders;
        create(clients)
    };
    let reported = with(2048, ORDERS);
    assert_eq!(reported, "channel settings lies on a page of channels that its client does not write");
    let reported = with(SETTINGS, NOTES + 2048);
    assert!(reported.contains(" share a page of 4096 bytes but need different files"), "{reported}");
    // A channel of its own that wakes a task cannot share a page with secret memory, where the kernel refuses
    // futexes.
    let reported = with(SETTINGS, SETTINGS + 2048);
    assert!(
        reported.contains("orders") && reported.contains("settings") && reported.contains("share a page"),
        "{reported}"
    );
}

#[test]
fn an_endpoint_reaches_no_other_object() {
    const POSE: Hybrid<[u64; 4]> = Hybrid::new(1, 4);
    const JOBS: Qrtr<u32> = Qrtr::new(16);
    let folder = folder();
    let registry =
        Registry::create_in(folder.path(), "robot", &[POSE.named("pose"), JOBS.named("jobs")]).unwrap();
    let mut writer = Lease::take_in(folder.path(), "robot", "pose", POSE.writer()).unwrap();
    writer.end().unwrap().write(&[7; 4]);
    let (connection, files) = handed_out(folder.path(), "robot.sock", "reader-of-jobs");
    let punched: Vec<_> =
        files.iter().map(|file| errno(memory::punch_hole(file.as_fd(), 0, 1 << 20))).collect();
    assert_eq!(punched, [9, 0], "the owner's file, and the object's");
    let mut reader = Lease::take_in(folder.path(), "robot", "pose", POSE.reader(0)).unwrap();
    assert_eq!(reader.end().unwrap().read(), Some([7; 4]));
    // The catalogue lists all objects, and receives the memory of none.
    let (_, files) = handed_out(folder.path(), "robot.sock", "catalogue");
    assert_eq!(files.len(), 1);
    drop(connection);
    registry.end().unwrap();
}
