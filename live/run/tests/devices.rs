// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Tasks that a device releases: a socket, a timer, a pseudo-terminal, an event counter. A job while it can be read, none closer
//! than the least gap, and pause and stop reach a task that waits for it. The task waits by itself or by its core's device
//! thread: on a dispatched core, and beside a channel.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "test code")]

mod app;

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use app::{Outcome, each, run};
use taut_event::Kind;
use taut_run::{
    App, Component, Context, Create, Device, Error, Failure, Job, QueueReader, QueueWriter, Task,
};
use taut_time::Duration;

const GAP_NS: u64 = 4_000_000;

/// The task that the device releases comes first: it is task 0.
const TABLES: &str = r#"
EXECUTOR
[payloads]
Setting = { type = "u64" }
[services.sound]
[tasks.reads]
arrival = { sporadic = "4ms", device = "line" }
deadline = "4ms"
wcet = { value = "50us", source = "guess" }
service = "sound"
[tasks.steers]
class = "best-effort"
"#;

/// A channel that releases the task, too.
const SETTINGS: &str = r#"
[channels.settings]
kind = "queue"
from = "steers"
to = "reads"
payload = "Setting"
capacity = 16
"#;

/// How the task waits for its device: which executor its core has, and whether a channel releases it as well.
#[derive(Clone, Copy, Debug)]
struct Wait {
    dispatched: bool,
    beside: bool,
}

const WAITS: [Wait; 4] = [
    Wait { dispatched: false, beside: false },
    Wait { dispatched: true, beside: false },
    Wait { dispatched: false, beside: true },
    Wait { dispatched: true, beside: true },
];

impl Wait {
    fn tables(self) -> String {
        let executor = if self.dispatched { "executor = \"dispatched\"" } else { "" };
        let tables = TABLES.replace("EXECUTOR", executor);
        if self.beside {
            tables.replace("device = \"line\"", "device = \"line\", trigger = \"settings\"") + SETTINGS
        } else {
            tables
        }
    }
}

/// What a job read, or what the task was called for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Called {
    Read(Vec<u8>),
    /// A value of the channel, and the device had nothing.
    Set(u64),
    Closed,
    Pause,
    Resume,
    Stop,
}

struct Reads<'p> {
    line: Device,
    settings: Option<QueueReader<'p, u64>>,
    calls: &'static Mutex<Vec<Called>>,
}

impl Component for Reads<'_> {
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

impl Task for Reads<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let setting = self.settings.as_mut().and_then(|settings| settings.receive(job));
        let mut bytes = [0; 64];
        let called = match (self.line.read(job, &mut bytes), setting) {
            (Ok(0), _) => Called::Closed,
            (Ok(count), _) => Called::Read(bytes[..count].to_vec()),
            (Err(_), Some(setting)) => Called::Set(setting),
            (Err(error), None) => panic!("released for nothing: {error}"),
        };
        self.calls.lock().unwrap().push(called);
        Ok(())
    }
}

fn calls() -> &'static Mutex<Vec<Called>> {
    Box::leak(Box::new(Mutex::new(Vec::with_capacity(1_024))))
}

/// Sends a setting, if there is a channel for it.
type Set<'s> = &'s mut dyn FnMut(&mut Context<'_>, u64);

/// Runs the task with a device, while `steers` does something with the other side.
fn with(
    wait: Wait,
    device: impl Into<OwnedFd>,
    calls: &'static Mutex<Vec<Called>>,
    steers: impl FnOnce(&mut Context<'_>, Set<'_>) + Send + 'static,
) -> Outcome {
    let device = device.into();
    let outcome = run(&wait.tables(), None, |app| {
        app.device("line", device)?;
        app.service("sound", |service| {
            service.task("reads", |create| {
                let settings = wait.beside.then(|| create.queue_reader("settings")).transpose()?;
                Ok(Reads { line: create.device("line")?, settings, calls })
            })
        })?;
        app.best_effort("steers", |create| {
            let settings = wait.beside.then(|| create.queue_writer::<u64>("settings")).transpose()?;
            let mut settings: Option<QueueWriter<'_, u64>> = settings;
            Ok(move |context: &mut Context<'_>| {
                steers(context, &mut |context, value| {
                    settings.as_mut().unwrap().send(context, value).unwrap();
                });
            })
        })
    });
    assert!(outcome.of_task(Kind::Failed, 0).is_empty(), "{wait:?}");
    outcome
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
    WAITS.into_iter().for_each(sent_is_read);
}

fn sent_is_read(wait: Wait) {
    let calls = calls();
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let outcome = with(wait, ours, calls, move |context, _| {
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
    WAITS.into_iter().for_each(flooded);
}

fn flooded(wait: Wait) {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let calls = calls();
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let outcome = with(wait, ours, calls, move |context, _| {
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
    WAITS.into_iter().for_each(paused);
}

fn paused(wait: Wait) {
    let calls = calls();
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let outcome = with(wait, ours, calls, move |context, _| {
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
    WAITS.into_iter().for_each(closed);
}

fn closed(wait: Wait) {
    let calls = calls();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let outcome = with(wait, ours, calls, move |context, _| {
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
    WAITS.into_iter().for_each(counted);
}

fn counted(wait: Wait) {
    let calls = calls();
    // Eight expirations in each gap.
    let outcome = with(wait, timer(500_000), calls, |context, _| {
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
    WAITS.into_iter().for_each(of_other_kinds);
}

fn of_other_kinds(wait: Wait) {
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    let calls_of_datagrams = calls();
    let outcome = with(wait, ours, calls_of_datagrams, move |context, _| {
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
    let outcome = with(wait, secondary, calls_of_lines, move |context, _| {
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
    never_waits(WAITS[0]);
    never_waits(WAITS[1]);
}

fn never_waits(wait: Wait) {
    static WROTE: AtomicU64 = AtomicU64::new(0);
    WROTE.store(0, Ordering::Relaxed);
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let outcome = run(&wait.tables(), None, |app| {
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
    run(&WAITS[0].tables(), None, setup).ending.err().unwrap().to_string()
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

/// The device and the channel release jobs of one task, none closer than the least gap, and nothing is lost of either.
#[test]
fn a_device_and_a_channel_release_one_task() {
    both(WAITS[2]);
    both(WAITS[3]);
}

fn both(wait: Wait) {
    let calls = calls();
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let outcome = with(wait, ours, calls, move |context, set| {
        context.sleep(Duration::from_ms(10));
        set(context, 1);
        context.sleep(Duration::from_ms(15));
        theirs.write_all(b"a").unwrap();
        context.sleep(Duration::from_ms(15));
        // Both at once, in either order.
        for value in 2..10 {
            if value % 2 == 0 {
                set(context, value);
            }
            theirs.write_all(&[u8::try_from(value).unwrap()]).unwrap();
            if value % 2 != 0 {
                set(context, value);
            }
            context.sleep(Duration::from_ms(1));
        }
        context.sleep(Duration::from_ms(60));
        context.control().stop();
        std::mem::forget(theirs);
    });
    assert!(outcome.ending.as_ref().unwrap().orderly, "{wait:?}: {:?}", outcome.reported.unfinished);
    let calls = calls.lock().unwrap();
    assert_eq!(read(&calls), b"a\x02\x03\x04\x05\x06\x07\x08\x09", "{wait:?} {calls:?}");
    assert_eq!(calls[..2], [Called::Set(1), Called::Read(b"a".to_vec())], "{wait:?} {calls:?}");
    let releases = releases(&outcome);
    assert!(releases.windows(2).all(|pair| pair[1] - pair[0] >= GAP_NS), "{wait:?} {releases:?}");
    // Nine settings, each in a job of its own.
    assert!(releases.len() >= 10, "{wait:?} {releases:?}");
}

/// What the device thread of a core does: a wake for a device, and one to look again, in each gap.
fn switches_of_device_thread() -> Option<u64> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks.filter_map(Result::ok).find_map(|task| {
        let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
        let status = std::fs::read_to_string(task.path().join("status")).ok()?;
        let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches"))?;
        name.starts_with("device-").then(|| line.split_whitespace().last()?.parse().ok())?
    })
}

/// A flood wakes the device thread twice in a gap at most. Natively a task without a channel has no such thread.
#[test]
fn a_flood_wakes_the_device_thread_twice_in_a_gap_at_most() {
    static WOKEN: Mutex<Option<(u64, u64)>> = Mutex::new(None);
    for wait in WAITS {
        let calls = calls();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        let outcome = with(wait, ours, calls, move |context, _| {
            let flood = |theirs: &mut UnixStream, context: &Context<'_>, ms| {
                let begun = context.now();
                while context.now().since(begun) < Duration::from_ms(ms) {
                    let _ = theirs.write(&[7; 512]);
                }
                context.now().since(begun).as_ns()
            };
            flood(&mut theirs, context, 20);
            let before = switches_of_device_thread();
            let time_ns = flood(&mut theirs, context, 200);
            let after = switches_of_device_thread();
            *WOKEN.lock().unwrap() = before.zip(after).map(|(before, after)| (after - before, time_ns));
            context.control().stop();
            std::mem::forget(theirs);
        });
        assert!(outcome.ending.as_ref().unwrap().orderly);
        let woken = WOKEN.lock().unwrap().take();
        let Some((count, time_ns)) = woken else {
            assert!(!wait.dispatched && !wait.beside, "{wait:?} has no device thread");
            continue;
        };
        assert!(wait.dispatched || wait.beside, "{wait:?} has a device thread");
        let most = 2 * (time_ns / GAP_NS + 1);
        assert!((10..=most).contains(&count), "{wait:?}: {count} of {most}");
    }
}

/// The other side is another process, which writes, and dies.
#[test]
fn another_process_holds_the_device() {
    for wait in WAITS {
        let calls = calls();
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut other = std::process::Command::new("sh")
            .args(["-c", "sleep 0.1; printf one; sleep 0.05; printf two; exec sleep 5"])
            .stdout(OwnedFd::from(theirs))
            .spawn()
            .unwrap();
        let outcome = with(wait, ours, calls, move |context, _| {
            let give_up = context.now().as_ns() + 3_000_000_000;
            while read(&calls.lock().unwrap()).len() < 6 && context.now().as_ns() < give_up {
                context.sleep(Duration::from_ms(5));
            }
            other.kill().unwrap();
            other.wait().unwrap();
            context.sleep(Duration::from_ms(30));
            context.control().stop();
        });
        assert!(outcome.ending.as_ref().unwrap().orderly);
        let calls = calls.lock().unwrap();
        assert_eq!(read(&calls), b"onetwo", "{wait:?} {calls:?}");
        assert!(calls.contains(&Called::Closed), "{wait:?} {calls:?}");
    }
}
