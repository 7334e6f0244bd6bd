// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Event counts and mutexes in memory that processes share, and parties that are killed there; and the priority
//! that an owner inherits.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test: helpers too, and what it could not try"
)]

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use taut_lock::{EventCount, Serial, Woken};
use taut_sys::mutex::{Had, PiMutex};

/// The memory that parent and children map.
#[repr(C)]
struct Shared {
    events: EventCount,
    mutex: std::mem::MaybeUninit<PiMutex>,
    value: AtomicU64,
    reported: AtomicU64,
}

impl Shared {
    fn map(path: &std::path::Path) -> &'static Self {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap();
        file.set_len(size_of::<Self>() as u64).unwrap();
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: this makes a new mapping of the whole file, which stays for the rest of the process.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size_of::<Self>(),
                protection,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        assert_ne!(start, libc::MAP_FAILED);
        // SAFETY: the memory is mapped at a page; zeros are a valid event count and valid atomics, and the mutex
        // may be uninitialised.
        unsafe { &*start.cast::<Self>() }
    }

    /// The mutex, after its first user has made it.
    fn mutex(&self) -> &PiMutex {
        // SAFETY: the tests make it before they start children.
        unsafe { self.mutex.assume_init_ref() }
    }
}

/// A mapping and its file, removed at the end.
struct Place {
    path: std::path::PathBuf,
    shared: &'static Shared,
}

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("taut-lock-{name}-{}", std::process::id()));
        let shared = Shared::map(&path);
        // SAFETY: no process uses it yet, and it stays mapped.
        unsafe { PiMutex::init(shared.mutex.as_ptr().cast_mut()) }.unwrap();
        Self { path, shared }
    }

    fn start(&self, role: &str) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["process", "--exact", "--test-threads=1"])
            .env("TAUT_LOCK_TEST", format!("{role} {}", self.path.display()))
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Waits until a child has reported this value.
    fn reported(&self, value: u64) {
        let limit = Instant::now() + Duration::from_secs(60);
        while self.shared.reported.load(Ordering::Acquire) != value {
            assert!(Instant::now() < limit, "the process does not work");
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The started processes.
#[test]
fn process() {
    let Ok(orders) = std::env::var("TAUT_LOCK_TEST") else {
        return println!("no test: for processes that tests start");
    };
    let (role, path) = orders.split_once(' ').unwrap();
    let shared = Shared::map(path.as_ref());
    match role {
        "owner" => {
            shared.mutex().lock().unwrap();
            shared.value.fetch_add(1, Ordering::Relaxed);
            shared.reported.store(1, Ordering::Release);
            loop {
                std::thread::park();
            }
        }
        "sleeper" => {
            let listener = shared.events.listener();
            shared.reported.store(1, Ordering::Release);
            loop {
                listener.wait(listener.epoch(), None);
            }
        }
        "sole-sleeper" => {
            let mut listener = shared.events.sole_listener();
            shared.reported.store(1, Ordering::Release);
            loop {
                listener.wait(listener.epoch(), None);
            }
        }
        "reader" => {
            let listener = shared.events.listener();
            let mut last = 0;
            while last < 1000 {
                let newer = || Some(shared.value.load(Ordering::Relaxed)).filter(|now| *now > last);
                last = listener.until(None, newer).unwrap();
                shared.reported.store(last, Ordering::Release);
            }
        }
        other => unreachable!("no role {other}"),
    }
}

#[test]
fn a_dead_owner_gives_its_mutex_to_the_next() {
    let place = Place::new("owner");
    for round in 1..=20 {
        place.shared.reported.store(0, Ordering::Relaxed);
        let mut owner = place.start("owner");
        place.reported(1);
        assert_eq!(place.shared.mutex().try_lock(), Ok(None));
        // In half of the rounds a thread waits already when the owner dies.
        let waiting = (round % 2 == 0).then(|| {
            let mutex = place.shared.mutex();
            std::thread::spawn(move || {
                let had = mutex.lock();
                mutex.unlock().unwrap();
                had
            })
        });
        if waiting.is_some() {
            std::thread::sleep(Duration::from_millis(5));
        }
        owner.kill().unwrap();
        owner.wait().unwrap();
        let had = waiting.map(|thread| thread.join().unwrap()).unwrap_or_else(|| {
            let had = place.shared.mutex().lock();
            place.shared.mutex().unlock().unwrap();
            had
        });
        assert_eq!(had, Ok(Had::OwnerDied), "round {round}");
        assert_eq!(place.shared.mutex().lock(), Ok(Had::Clean));
        assert_eq!(place.shared.value.load(Ordering::Relaxed), round);
        place.shared.mutex().unlock().unwrap();
    }
}

#[test]
fn a_killed_sleeper_costs_one_wake() {
    let place = Place::new("sleeper");
    let mut notifier = place.shared.events.notifier();
    for _ in 0..10 {
        place.shared.reported.store(0, Ordering::Relaxed);
        let mut sleeper = place.start("sleeper");
        place.reported(1);
        // Until it has slept at least once.
        let limit = Instant::now() + Duration::from_secs(60);
        while !notifier.notify() {
            assert!(Instant::now() < limit, "nobody listens");
            std::thread::sleep(Duration::from_micros(100));
        }
        std::thread::sleep(Duration::from_millis(1));
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        notifier.notify();
        assert!(!notifier.notify(), "a second wake for a dead one");
    }
}

#[test]
fn a_killed_sole_listener_has_a_successor() {
    let place = Place::new("sole-sleeper");
    let events = &place.shared.events;
    for _ in 0..10 {
        place.shared.reported.store(0, Ordering::Relaxed);
        let mut sleeper = place.start("sole-sleeper");
        place.reported(1);
        let limit = Instant::now() + Duration::from_secs(60);
        while !events.notify_from_any() {
            assert!(Instant::now() < limit, "nobody listens");
            std::thread::sleep(Duration::from_micros(100));
        }
        std::thread::sleep(Duration::from_millis(1));
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        let mut next = events.sole_listener();
        assert!(!events.notify_from_any(), "a wake for a dead one");
        assert_eq!(next.wait(next.epoch(), Some(1)), Woken::TimedOut);
        assert!(!events.notify_from_any(), "its successor is awake");
    }
}

#[test]
fn a_reader_in_another_process_sleeps_between_values() {
    let place = Place::new("reader");
    let mut reader = place.start("reader");
    let mut notifier = place.shared.events.notifier();
    for value in 1..=1000 {
        place.shared.value.store(value, Ordering::Relaxed);
        notifier.notify();
        if value % 50 == 0 {
            place.reported(value);
        }
    }
    place.reported(1000);
    assert!(reader.wait().unwrap().success());
    let listener = place.shared.events.listener();
    assert_eq!(listener.wait(listener.epoch(), Some(1)), Woken::TimedOut);
}

/// The present kernel priority of a thread: field 18 of its `stat`, which is -1 minus the priority of SCHED_FIFO.
fn priority(thread: i32) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap();
    let behind_name = stat.rsplit_once(')').unwrap().1;
    behind_name.split_whitespace().nth(15).unwrap().parse().unwrap()
}

fn set_fifo(priority: i32) -> bool {
    let param = libc::sched_param { sched_priority: priority };
    // SAFETY: the call changes only the calling thread's policy.
    unsafe { libc::pthread_setschedparam(libc::pthread_self(), libc::SCHED_FIFO, &raw const param) == 0 }
}

#[test]
fn an_owner_runs_at_the_priority_of_its_waiter() {
    let serial = Serial::new(()).unwrap();
    let (owned, owner, done) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let (serial, owned, owner, done) = (&serial, &owned, &owner, &done);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // SAFETY: the call only returns a number.
            owner.store(unsafe { libc::gettid() } as u64, Ordering::Relaxed);
            let section = |(): &mut ()| {
                owned.store(1, Ordering::Release);
                while done.load(Ordering::Acquire) == 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
            };
            serial.with(section).unwrap();
        });
        while owned.load(Ordering::Acquire) == 0 {
            std::thread::yield_now();
        }
        let owner = i32::try_from(owner.load(Ordering::Relaxed)).unwrap();
        let own = priority(owner);
        let waits = scope.spawn(move || {
            let permitted = set_fifo(17);
            serial.with(|()| ()).unwrap();
            permitted
        });
        let limit = Instant::now() + Duration::from_secs(5);
        while priority(owner) != -18 && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(1));
        }
        let inherited = priority(owner);
        done.store(1, Ordering::Release);
        if waits.join().unwrap() {
            // Without a real-time priority the value is 20 plus the nice value of the whole test.
            assert!(own >= 0, "{own}");
            assert_eq!(inherited, -18);
        } else {
            println!("not permitted to use SCHED_FIFO: nothing to inherit");
        }
    });
}
