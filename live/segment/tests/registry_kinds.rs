// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every kind of object in a registry. This process builds the object; a second process uses an endpoint and is
//! killed in the middle of an operation; a successor goes on. Values cross both ways, and an endpoint that only reads
//! cannot write.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "test code")]

mod support;

use std::path::Path;
use std::time::Duration;

use support::*;
use taut_segment::registry::{
    Bulk, Chen, Dbp, DoubleBuffer, Emeralds, Hybrid, ImprovedChen, ImprovedDoubleBuffer, ImprovedPeterson,
    Lease, NamedObject, NbwTemporal, Peterson, Presence, Qrtr, Qrtwc, Qrtwo, Registry, Sdrtr, Sdrtw,
    Spinlock, Tccp, TccpNewest,
};
use taut_segment::{Attached, Error};

/// A number, seven times: a torn value is detected.
type V = [u64; 7];

/// One attempt on the leases that were taken: to write a number, or to read one.
type Write<'a> = &'a mut dyn FnMut(u64);
type Read<'a> = &'a mut dyn FnMut() -> Option<u64>;

/// Takes the leases of an object in a folder and passes them to the closure.
type Writing = fn(&Path, &mut dyn FnMut(&Attached, Write<'_>)) -> Result<(), Error>;
type Reading = fn(&Path, &mut dyn FnMut(&Attached, Read<'_>)) -> Result<(), Error>;

struct Row {
    name: &'static str,
    object: fn() -> NamedObject,
    writing: Writing,
    /// The endpoints that read, and whether they only read.
    reading: &'static [(bool, Reading)],
}

fn whole(value: V) -> u64 {
    assert!(value.iter().all(|word| *word == value[0]), "torn: {value:?}");
    value[0]
}

const OBJECT: &str = "it";
const NAME: &str = "kinds";

/// A row: the kind, how its writing endpoints write `n`, and for each reading endpoint whether it leaves no trace,
/// and how it reads. An attempt to read returns `None` if it gets no value, for whatever reason.
macro_rules! row {
    (
        $kind:expr,
        [$($writer:ident = $writing:expr),+] |$n:ident| $write:expr,
        $($any:literal $reader:ident = $reading:expr => $read:expr),+
    ) => {
        #[allow(unused_mut, reason = "bulk's ends are used by shared reference")]
        Row {
            name: stringify!($kind),
            object: || $kind.named(OBJECT),
            writing: |folder, play| {
                $(let mut $writer = Lease::take_in(folder, NAME, OBJECT, $writing)?;)+
                let mut first = None;
                $(
                    let (mut $writer, attached) = $writer.split().unwrap();
                    first.get_or_insert(attached);
                )+
                play(first.unwrap(), &mut |$n| $write);
                Ok(())
            },
            reading: &[$((
                $any,
                |folder, play| {
                    let mut $reader = Lease::take_in(folder, NAME, OBJECT, $reading)?;
                    let (mut $reader, attached) = $reader.split().unwrap();
                    play(attached, &mut || $read.map(whole));
                    Ok(())
                }
            )),+],
        }
    };
}

const HYBRID: Hybrid<V> = Hybrid::new(2, 6);
const CHEN: Chen<V> = Chen::new(2);
const IMPROVED_CHEN: ImprovedChen<V> = ImprovedChen::new(1, 8);
const PRESENCE: Presence<V> = Presence::new(2);
const DOUBLE_BUFFER: DoubleBuffer<V> = DoubleBuffer::new(2);
const IMPROVED_DOUBLE_BUFFER: ImprovedDoubleBuffer<V> = ImprovedDoubleBuffer::new(1, 8);
const PETERSON: Peterson<V> = Peterson::new(2);
const IMPROVED_PETERSON: ImprovedPeterson<V> = ImprovedPeterson::new(1, 16);
const EMERALDS: Emeralds<V> = Emeralds::new(1, 16);
const NBW: NbwTemporal<V> = NbwTemporal::new(16);
const SDRTR: Sdrtr<V> = Sdrtr::new();
const SDRTW: Sdrtw<V> = Sdrtw::new();
const SPINLOCK: Spinlock<V> = Spinlock::new(2);
const DBP: Dbp<V> = Dbp::new(1, 0, 4);
const TCCP: Tccp<V> = Tccp::new(1, 0, 200);
const TCCP_NEWEST: TccpNewest<V> = TccpNewest::new(1, 0, 16);
const QRTR: Qrtr<V> = Qrtr::new(8);
const QRTWO: Qrtwo<V> = Qrtwo::new(8, 2);
const QRTWC: Qrtwc<V> = Qrtwc::new(8, 2);
const BULK: Bulk<V> = Bulk::new(4);

/// Nanoseconds that never go back: the instants of activations.
fn now_ns() -> u64 {
    taut_sys::clock::monotonic_ns()
}

const ROWS: &[Row] = &[
    row!(HYBRID, [w = HYBRID.writer()] |n| w.write(&[n; 7]),
        false r = HYBRID.reader(1) => r.read(),
        true r = HYBRID.observer() => r.try_read().ok().flatten().map(|sample| sample.value)),
    row!(CHEN, [w = CHEN.writer()] |n| w.write(&[n; 7]), false r = CHEN.reader(1) => r.read()),
    row!(IMPROVED_CHEN, [w = IMPROVED_CHEN.writer()] |n| w.write(&[n; 7]),
        false r = IMPROVED_CHEN.slow_reader(0) => r.read(),
        true r = IMPROVED_CHEN.fast_reader() => r.try_read().ok().flatten().map(|sample| sample.value)),
    row!(PRESENCE, [w = PRESENCE.writer()] |n| w.write(&[n; 7]), false r = PRESENCE.reader(1) => r.read()),
    row!(DOUBLE_BUFFER, [w = DOUBLE_BUFFER.writer()] |n| w.write(&[n; 7]),
        false r = DOUBLE_BUFFER.reader(1) => r.read()),
    row!(IMPROVED_DOUBLE_BUFFER, [w = IMPROVED_DOUBLE_BUFFER.writer()] |n| w.write(&[n; 7]),
        false r = IMPROVED_DOUBLE_BUFFER.slow_reader(0) => r.read(),
        true r = IMPROVED_DOUBLE_BUFFER.fast_reader() => r.read().ok().flatten()),
    row!(PETERSON, [w = PETERSON.writer()] |n| w.write(&[n; 7]), false r = PETERSON.reader(1) => r.read()),
    row!(IMPROVED_PETERSON, [w = IMPROVED_PETERSON.writer()] |n| w.write(&[n; 7]),
        false r = IMPROVED_PETERSON.slow_reader(0) => r.read(),
        true r = IMPROVED_PETERSON.fast_reader() => r.read().ok().flatten().map(|sample| sample.value)),
    row!(EMERALDS, [w = EMERALDS.writer()] |n| w.write(&[n; 7]),
        false r = EMERALDS.slow_reader(0) => r.read().ok().flatten().map(|sample| sample.value),
        true r = EMERALDS.fast_reader() => r.read().ok().flatten().map(|sample| sample.value)),
    row!(NBW, [w = NBW.writer()] |n| w.write(&[n; 7]),
        true r = NBW.observer() => r.read().ok().flatten().map(|sample| sample.value)),
    row!(SDRTR, [w = SDRTR.writer()] |n| { let _ = w.try_publish(&[n; 7]); }, false r = SDRTR.reader() => r.read()),
    row!(SDRTW, [w = SDRTW.writer()] |n| w.write(&[n; 7]),
        true r = SDRTW.observer() => r.try_read().ok().flatten().map(|sample| sample.value)),
    row!(SPINLOCK, [w = SPINLOCK.writer()] |n| { let _ = w.try_write(&[n; 7]); },
        false r = SPINLOCK.reader(1) => r.try_read().ok().flatten().map(|sample| sample.value)),
    row!(DBP, [dispatcher = DBP.dispatcher(), w = DBP.writer()] |n| {
            let _ = dispatcher.activate_writer(now_ns());
            if let Some(mut job) = w.job() {
                job.write(&[n; 7]);
                job.complete();
            }
            let _ = dispatcher.activate_reader(0, now_ns());
        },
        false r = DBP.reader(0) => r.job().and_then(|mut job| job.read().ok().flatten())),
    // Only time protects its values, so its writer must keep a pace: a reader that finds its job within two pauses is
    // within the 200 buffers.
    row!(TCCP, [dispatcher = TCCP.dispatcher(), w = TCCP.writer()] |n| {
            if n.is_multiple_of(64) {
                std::thread::sleep(Duration::from_micros(50));
            }
            let _ = dispatcher.activate_writer(now_ns());
            if let Some(mut job) = w.job() {
                job.write(&[n; 7]);
                job.complete();
            }
            let _ = dispatcher.activate_reader(0, now_ns());
        },
        false r = TCCP.reader(0) => r.job().and_then(|mut job| job.read().ok().flatten())),
    row!(TCCP_NEWEST, [w = TCCP_NEWEST.publisher()] |n| w.write(&[n; 7]),
        false r = TCCP_NEWEST.reader(0) => r.read_newest().ok().flatten().map(|sample| sample.value)),
    row!(QRTR, [w = QRTR.writer()] |n| { let _ = w.push([n; 7]); }, false r = QRTR.reader() => r.pop().unwrap()),
    row!(QRTWO, [w = QRTWO.writer()] |n| w.push(&[n; 7]),
        false r = QRTWO.reader() => r.pop().ok().flatten().map(|popped| popped.value),
        true r = QRTWO.follower() => r.pop().ok().flatten().map(|popped| popped.value)),
    row!(QRTWC, [w = QRTWC.writer()] |n| w.push(&[n; 7]),
        false r = QRTWC.reader() => r.pop().ok().flatten().map(|popped| popped.value),
        true r = QRTWC.follower() => r.pop().ok().flatten().map(|popped| popped.value)),
    row!(BULK, [w = BULK.sender()] |n| if let Some(mut loan) = w.loan_or_recall() {
            *loan = [n; 7];
            loan.send();
        },
        false r = BULK.receiver() => r.receive().ok().flatten().map(|received| *received)),
];

/// The mapping's rights, as the kernel lists them: `rw-s` or `r--s`.
fn rights(attached: &Attached) -> String {
    let object = &attached.directory().entries()[0].channel;
    let start = format!("{:x}-", attached.mapping(object).unwrap().ptr().addr());
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let line = maps.lines().find(|line| line.trim_start_matches('0').starts_with(&start)).unwrap();
    line.split(' ').nth(1).unwrap().to_owned()
}

#[test]
fn role() {
    let Some(role) = support::role() else { return println!("no test: for processes that tests start") };
    let folder = taut_segment::runtime_folder();
    let mut words = role.split(' ');
    let (what, row) = (words.next().unwrap(), words.next().unwrap());
    let row = ROWS.iter().find(|other| other.name == row).unwrap();
    match what {
        "write" => (row.writing)(&folder, &mut |attached, write| {
            announce(rights(attached));
            for n in 1.. {
                write(n);
            }
        }),
        "read" => {
            let (_, reading) = row.reading[words.next().unwrap().parse::<usize>().unwrap()];
            reading(&folder, &mut |attached, read| {
                announce(rights(attached));
                let mut reported = 0;
                loop {
                    if let Some(n) = read()
                        && reported < 3
                    {
                        reported += 1;
                        announce(n);
                    }
                }
            })
        }
        other => panic!("unknown role {other}"),
    }
    .unwrap();
}

/// Reads until a number of at least `least` arrives; without pauses, because a value that time protects is soon
/// overwritten.
fn until(row: &Row, least: u64, read: Read<'_>) -> u64 {
    let mut got = 0;
    eventually(row.name, || {
        (0..10_000).any(|_| {
            got = read().unwrap_or(got);
            got >= least
        })
    });
    got
}

/// The successor's numbers: no killed process writes so many.
const LATER: u64 = 1 << 40;

#[test]
fn a_writer_is_killed_and_another_goes_on() {
    let mut random = Random(0x7a07_0015);
    for row in ROWS {
        for &(_, reading) in row.reading {
            let folder = folder();
            let registry = Registry::create_in(folder.path(), NAME, &[(row.object)()]).unwrap();
            let mut child = Process::start(&format!("write {}", row.name), folder.path());
            assert_eq!(child.reported(), "rw-s", "{}", row.name);
            reading(folder.path(), &mut |_, read| {
                // The writer is at work: the values get newer.
                let first = until(row, 1, read);
                until(row, first + 1, read);
                let taken = (row.writing)(folder.path(), &mut |_, _| {}).unwrap_err();
                assert!(matches!(taken, Error::EndpointTaken { .. }), "{}: {taken}", row.name);
                std::thread::sleep(Duration::from_micros(random.below(300)));
                child.kill();
                let mut n = LATER;
                (row.writing)(folder.path(), &mut |_, write| {
                    eventually(row.name, || {
                        n += 1;
                        write(n);
                        read().is_some_and(|got| got > LATER)
                    });
                })
                .unwrap();
            })
            .unwrap();
            assert_eq!(registry.report().dropped, 0);
            registry.end().unwrap();
        }
    }
}

#[test]
fn a_reader_is_killed_and_another_goes_on() {
    let mut random = Random(0x7a07_0016);
    for row in ROWS {
        for (index, &(looks, reading)) in row.reading.iter().enumerate() {
            let folder = folder();
            let _board = Registry::create_in(folder.path(), NAME, &[(row.object)()]).unwrap();
            let mut child = Process::start(&format!("read {} {index}", row.name), folder.path());
            assert_eq!(child.reported(), if looks { "r--s" } else { "rw-s" }, "{}", row.name);
            (row.writing)(folder.path(), &mut |_, write| {
                let mut n = 0;
                for _ in 0..3 {
                    let mut got = None;
                    eventually(row.name, || {
                        n += 1;
                        write(n);
                        std::thread::yield_now();
                        got = child.try_told();
                        got.is_some()
                    });
                    let got: u64 = got.unwrap().parse().unwrap();
                    assert!((1..=n).contains(&got), "{}: {got}", row.name);
                }
                let second = reading(folder.path(), &mut |_, _| {});
                match looks {
                    true => second.unwrap(),
                    false => assert!(matches!(second, Err(Error::EndpointTaken { .. })), "{}", row.name),
                }
                // Killed while it reads.
                for _ in 0..random.below(1000) {
                    n += 1;
                    write(n);
                }
                child.kill();
                reading(folder.path(), &mut |_, read| {
                    let least = n + 1;
                    eventually(row.name, || {
                        n += 1;
                        write(n);
                        read().is_some_and(|got| got >= least)
                    });
                })
                .unwrap();
            })
            .unwrap();
        }
    }
}
