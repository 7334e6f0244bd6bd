// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Tasks that a device releases: a socket, a timer, a pseudo-terminal, an event counter. A job while it can be read, none closer
//! than the least gap, and pause and stop reach a task that waits for it.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use app::{Outcome, each, run};
use taut_event::Kind;
use taut_run::{App, Component, Context, Create, Device, Error, Failure, Job, Task};
use taut_time::Duration;

const GAP_NS: u64 = 4_000_000;

/// The task that the device releases comes first: it is task 0.
const TABLES: &str = r#"
[services.sound]
[tasks.reads]
arrival = { sporadic = "4ms", device = "line" }
deadline = "4ms"
wcet = { value = "50us", source = "guess" }
service = "sound"
[tasks.steers]
class = "best-effort"
"#;

/// What a job read, or what the task was called for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Called {
    Read(Vec<u8>),
    Closed,
    Pause,
    Resume,
    Stop,
}

struct Reads {
    line: Device,
    calls: &'static Mutex<Vec<Called>>,
}

impl Component for Reads {
    fn pause(&mut self) {
        self.calls.lock().unwrap().push(Called::Pause);
    }
    fn resume(&mut self) {
        self.calls.lock().unwrap().push(Called::Resume);
    }
    fn stop(&mut self) {
        self.calls.lock().unwrap().push(Called::Stop);
    }
}

impl Task for Reads {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let mut bytes = [0; 64];
        let called = match self.line.read(job, &mut bytes) {
            Ok(0) => Called::Closed,
            Ok(count) => Called::Read(bytes[..count].to_vec()),
            Err(error) => panic!("released for nothing: {error}"),
        };
        self.calls.lock().unwrap().push(called);
        Ok(())
    }
}

fn calls() -> &'static Mutex<Vec<Called>> {
    Box::leak(Box::new(Mutex::new(Vec::with_capacity(1_024))))
}

/// Runs the task with a device, while `steers` does something with the other side.
fn with(
    device: impl Into<OwnedFd>,
    calls: &'static Mutex<Vec<Called>>,
    steers: impl FnOnce(&mut Context<'_>) + Send + 'static,
) -> Outcome {
    let device = device.into();
    run(TABLES, None, |app| {
        app.device("line", device)?;
        app.service("sound", |service| {
            service.task("reads", |create| Ok(Reads { line: create.device("line")?, calls }))
        })?;
        app.best_effort("steers", |_| Ok(steers))
    })
}

fn read(calls: &[Called]) -> Vec<u8> {
    let bytes = calls.iter().filter_map(|call| match call {
        Called::Read(bytes) => Some(bytes.as_slice()),
        _ => None,
    });
    bytes.flatten().copied().collect()
}

fn releases(outcome: &Outcome) -> Vec<u64> {
    outcome.of_task(Kind::Release, 0).iter().map(|record| record.at.as_ns()).collect()
}

/// Each byte that is sent is read, in order, by as many jobs as it takes.
#[test]
fn what_is_sent_is_read() {
    let calls = calls();
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let outcome = with(ours, calls, move |context| {
        for byte in 0..20 {
            theirs.write_all(&[byte]).unwrap();
            context.sleep(Duration::from_ms(if byte % 3 == 0 { 10 } else { 1 }));
        }
        context.sleep(Duration::from_ms(20));
        context.control().stop();
        // The stop reaches the task while nothing can be read.
        std::mem::forget(theirs);
    });
    assert!(outcome.ending.as_ref().unwrap().orderly, "{:?}", outcome.reported.unfinished);
    let calls = calls.lock().unwrap();
    assert_eq!(read(&calls), (0..20).collect::<Vec<_>>());
    assert_eq!(calls.last(), Some(&Called::Stop));
    let releases = releases(&outcome);
    assert!((7..=20).contains(&releases.len()), "{releases:?}");
    assert!(releases.windows(2).all(|pair| pair[1] - pair[0] >= GAP_NS), "{releases:?}");
}

/// A device that is always ready releases one job in each gap, and no more.
#[test]
fn a_flood_is_one_job_in_each_gap() {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let calls = calls();
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let outcome = with(ours, calls, move |context| {
        let begun = context.now();
        while context.now().since(begun) < Duration::from_ms(200) {
            if let Ok(count) = theirs.write(&[7; 4_096]) {
                WRITTEN.fetch_add(count as u64, Ordering::Relaxed);
            }
        }
        context.control().stop();
        std::mem::forget(theirs);
    });
    assert!(outcome.ending.as_ref().unwrap().orderly);
    assert!(WRITTEN.load(Ordering::Relaxed) > 4_096);
    let releases = releases(&outcome);
    assert!(releases.windows(2).all(|pair| pair[1] - pair[0] >= GAP_NS), "{releases:?}");
    let most = (releases.last().unwrap() - releases[0]) / GAP_NS + 1;
    assert!(releases.len() as u64 <= most && releases.len() > 20, "{} of {most}", releases.len());
}

/// Processor time of this process.
fn used_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is ours.
    let got = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(got, 0);
    u64::try_from(time.tv_sec * 1_000_000_000 + time.tv_nsec).unwrap()
}

/// While the service is paused, what is sent waits; pause, resume and stop reach a task that waits for the device at once.
#[test]
fn a_pause_reaches_a_task_that_waits() {
    let calls = calls();
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let outcome = with(ours, calls, move |context| {
        let settled = |context: &Context<'_>| context.sleep(Duration::from_ms(20));
        settled(context);
        context.control().pause("sound").unwrap();
        settled(context);
        theirs.write_all(b"later").unwrap();
        settled(context);
        assert_eq!(*calls.lock().unwrap(), [Called::Pause], "nothing is read meanwhile");
        context.control().resume("sound").unwrap();
        settled(context);
        // It sleeps until the next change, though there were some.
        let before_ns = used_ns();
        context.sleep(Duration::from_ms(100));
        let used_ns = used_ns() - before_ns;
        assert!(used_ns < 50_000_000, "{used_ns} ns of processor time in 100 ms");
        context.control().stop_service("sound").unwrap();
        assert!(context.control().wait_acknowledged("sound", Duration::from_ms(5_000)).unwrap());
        theirs.write_all(b"never").unwrap();
        settled(context);
        context.control().stop();
    });
    assert!(outcome.ending.as_ref().unwrap().orderly, "{:?}", outcome.reported.unfinished);
    let expected = [Called::Pause, Called::Resume, Called::Read(b"later".to_vec()), Called::Stop];
    assert_eq!(*calls.lock().unwrap(), expected);
}

/// A device whose other side is gone can be read, with nothing in it: a job in each gap learns it, and the stop comes through.
#[test]
fn a_closed_device_is_told() {
    let calls = calls();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let outcome = with(ours, calls, move |context| {
        drop(theirs);
        context.sleep(Duration::from_ms(30));
        context.control().stop();
    });
    assert!(outcome.ending.as_ref().unwrap().orderly);
    let calls = calls.lock().unwrap();
    let closed = calls.iter().filter(|call| **call == Called::Closed).count();
    assert!((2..=8).contains(&closed), "{calls:?}");
}

fn timer(every_ns: i64) -> OwnedFd {
    // SAFETY: plain integers.
    let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) };
    assert!(fd >= 0);
    // SAFETY: new, and ours alone.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let time = libc::timespec { tv_sec: 0, tv_nsec: every_ns };
    let every = libc::itimerspec { it_interval: time, it_value: time };
    // SAFETY: the setting is ours; the old one is not asked for.
    let set = unsafe { libc::timerfd_settime(fd.as_raw_fd(), 0, &every, std::ptr::null_mut()) };
    assert_eq!(set, 0);
    fd
}

/// A release says how many events there were, where the device counts them: late jobs lose none.
#[test]
fn a_timer_counts_what_came_between() {
    let calls = calls();
    // Eight expirations in each gap.
    let outcome = with(timer(500_000), calls, |context| {
        context.sleep(Duration::from_ms(100));
        context.control().stop();
    });
    assert!(outcome.ending.as_ref().unwrap().orderly);
    let calls = calls.lock().unwrap();
    let counts: Vec<u64> = calls
        .iter()
        .filter_map(|call| match call {
            Called::Read(bytes) => Some(u64::from_ne_bytes(bytes.as_slice().try_into().unwrap())),
            _ => None,
        })
        .collect();
    let (jobs, all) = (counts.len() as u64, counts.iter().sum::<u64>());
    assert!(jobs > 5 && all >= (jobs - 1) * 8, "{counts:?}");
    let releases = releases(&outcome);
    let span_ns = releases.last().unwrap() - releases[0];
    // From the first release to the last, within what one job more or less has seen.
    let expired = span_ns / 500_000;
    assert!(all <= expired + counts[0] + 2 && all + 2 >= expired, "{all} of {expired}, {counts:?}");
}

/// A pseudo-terminal and datagrams are devices like any other.
#[test]
fn other_kinds_of_devices_release_as_well() {
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    let calls_of_datagrams = calls();
    let outcome = with(ours, calls_of_datagrams, move |context| {
        for datagram in [b"ab".as_slice(), b"c"] {
            theirs.send(datagram).unwrap();
        }
        context.sleep(Duration::from_ms(50));
        context.control().stop();
    });
    assert!(outcome.ending.as_ref().unwrap().orderly);
    let expected = [Called::Read(b"ab".to_vec()), Called::Read(b"c".to_vec()), Called::Stop];
    assert_eq!(*calls_of_datagrams.lock().unwrap(), expected, "a datagram a job");

    let (mut primary, mut secondary) = (0, 0);
    let none = std::ptr::null_mut();
    // SAFETY: two places for descriptors; nothing else is asked for.
    let opened = unsafe { libc::openpty(&mut primary, &mut secondary, none, none.cast(), none.cast()) };
    if opened != 0 {
        println!("skipped: no pseudo-terminal here");
        return;
    }
    // SAFETY: new, and ours alone.
    let (mut primary, secondary) = unsafe { (File::from_raw_fd(primary), OwnedFd::from_raw_fd(secondary)) };
    let calls_of_lines = calls();
    let outcome = with(secondary, calls_of_lines, move |context| {
        primary.write_all(b"one\ntwo\n").unwrap();
        context.sleep(Duration::from_ms(50));
        context.control().stop();
        std::mem::forget(primary);
    });
    assert!(outcome.ending.as_ref().unwrap().orderly);
    assert_eq!(read(&calls_of_lines.lock().unwrap()), b"one\ntwo\n");
}

/// A job writes what fits, and does not wait where nothing does.
#[test]
fn a_job_never_waits_for_its_device() {
    static WROTE: AtomicU64 = AtomicU64::new(0);
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let outcome = run(TABLES, None, |app| {
        app.device("line", ours)?;
        app.service("sound", |service| {
            service.task("reads", |create| {
                let mut line = create.device("line")?;
                Ok(each(move |job| {
                    let mut bytes = [0; 8];
                    while line.read(job, &mut bytes).is_ok() {}
                    assert_eq!(line.read(job, &mut bytes).unwrap_err().kind(), ErrorKind::WouldBlock);
                    loop {
                        match line.write(job, &[1; 1_024]) {
                            Ok(count) => WROTE.fetch_add(count as u64, Ordering::Relaxed),
                            Err(error) => {
                                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                                return Ok(());
                            }
                        };
                    }
                }))
            })
        })?;
        app.best_effort("steers", |_| {
            Ok(move |context: &mut Context<'_>| {
                theirs.write_all(b"go").unwrap();
                context.sleep(Duration::from_ms(20));
                context.control().stop();
                theirs.set_nonblocking(true).unwrap();
                let (mut all, mut bytes) = (0, vec![0; 1 << 16]);
                while let Ok(count) = theirs.read(&mut bytes) {
                    all += count as u64;
                }
                assert_eq!(all, WROTE.load(Ordering::Relaxed));
                std::mem::forget(theirs);
            })
        })
    });
    assert!(outcome.ending.as_ref().unwrap().orderly, "{:?}", outcome.reported.unfinished);
    assert!(WROTE.load(Ordering::Relaxed) > 1_024);
    assert!(outcome.of_task(Kind::Failed, 0).is_empty());
}

fn refused(setup: impl for<'p> FnOnce(&mut App<'p>) -> Result<(), Error>) -> String {
    run(TABLES, None, setup).ending.err().unwrap().to_string()
}

fn nothing<'p>(_: &mut Create<'_, 'p>) -> Result<impl Task + use<'p>, Error> {
    Ok(each(|_| Ok(())))
}

#[test]
fn a_device_is_given_once_and_taken_once() {
    let device = || OwnedFd::from(UnixStream::pair().unwrap().0);
    let said = refused(|app| {
        app.service("sound", |service| {
            service.task("reads", |create| create.device("line").map(|_| each(|_| Ok(()))))
        })
    });
    assert!(said.contains("`line` is used before it is given"), "{said}");
    let said = refused(|app| {
        app.device("line", device())?;
        app.device("line", device())
    });
    assert!(said.contains("device `line`"), "{said}");
    let said = refused(|app| app.device("other", device()));
    assert!(said.contains("no device `other`"), "{said}");
    let said = refused(|app| {
        app.device("line", device())?;
        app.service("sound", |service| service.task("reads", nothing))
    });
    assert!(said.contains("device `line`"), "the task does not take it: {said}");
    let said = refused(|app| {
        app.device("line", device())?;
        app.service("sound", |service| {
            service.task("reads", |create| {
                create.device("line")?;
                create.device("line").map(|_| each(|_| Ok(())))
            })
        })
    });
    assert!(said.contains("device `line`"), "{said}");
    let said = refused(|app| {
        app.device("line", device())?;
        app.best_effort("steers", |create| create.device("line").map(|_| |_: &mut Context<'_>| ()))
    });
    assert!(said.contains("no device of that task `line`"), "{said}");
}
