// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the writer puts into a file, and what it does when it cannot.
#![cfg(not(loom))]
#![expect(clippy::unwrap_used, reason = "a test panics to fail")]

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use taut_event::file::Run;
use taut_event::{Kind, Record};
use taut_time::Instant;
use taut_trace::{Owner, Writer, ring};

fn record(subject: u16, number: u64) -> Record {
    Record { at: Instant::from_ns(number), kind: Kind::Start, cpu: 1, subject, job: number, value: 0 }
}

#[test]
fn all_rings_reach_the_file_in_their_order() {
    let (mut first, first_drain) = ring(Owner::Task(0), 64);
    let (mut second, second_drain) = ring(Owner::Task(1), 4);
    let mut writer =
        Writer::new(Vec::new(), "lock = 1\n", "cpus = 2\n", vec![first_drain, second_drain]).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let thread = std::thread::spawn(move || {
        writer.run(&flag);
        writer.append(Record { kind: Kind::End, ..record(0, 99) });
        writer.finish().unwrap()
    });
    for number in 0..50 {
        assert!(first.record(record(0, number)));
    }
    for number in 0..50 {
        second.record(record(1, number));
    }
    stop.store(true, Ordering::Release);
    thread.thread().unpark();
    let (bytes, written) = thread.join().unwrap();
    let run = Run::from_bytes(&bytes).unwrap();
    assert_eq!((run.plan.as_str(), run.machine.as_str()), ("lock = 1\n", "cpus = 2\n"));
    assert_eq!(written.records, run.records.len() as u64);
    let of = |subject, kind| run.records.iter().filter(move |r| r.subject == subject && r.kind == kind);
    assert!(of(0, Kind::Start).map(|r| r.job).eq(0..50));
    let seen = of(1, Kind::Start).count() as u64;
    assert_eq!(seen + of(1, Kind::Lost).map(|r| r.value).sum::<u64>(), 50);
    assert_eq!(run.records.last().map(|r| r.kind), Some(Kind::End));
}

/// Takes some bytes, then fails.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_told_at_the_end_and_the_rings_stay_empty() {
    let (mut recorder, drain) = ring(Owner::Task(0), 4);
    let mut writer = Writer::new(Full(100), "", "", vec![drain]).unwrap();
    for number in 0..12 {
        assert!(recorder.record(record(0, number)), "record {number} found no room");
        assert_eq!(writer.poll(), 1);
        writer.flush();
    }
    assert_eq!(recorder.lost(), 0);
    assert_eq!(writer.finish().map(|_| ()).unwrap_err().kind(), io::ErrorKind::StorageFull);
}

#[test]
fn a_sink_that_takes_no_head_is_an_error_at_once() {
    assert!(Writer::new(Full(10), "a plan of more than ten bytes", "", Vec::new()).is_err());
}

/// Faults of this thread that needed no IO, from its line in `/proc`.
#[cfg(target_os = "linux")]
fn minor_faults(text: &mut String) -> u64 {
    use std::io::Read;
    text.clear();
    std::fs::File::open("/proc/thread-self/stat").unwrap().read_to_string(text).unwrap();
    let after_name = text.rsplit_once(')').unwrap().1;
    after_name.split_ascii_whitespace().nth(7).unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn recording_takes_no_page_fault() {
    let (mut recorder, mut drain) = ring(Owner::Task(0), 1 << 16);
    let mut text = String::with_capacity(4096);
    recorder.record(record(0, 0));
    drain.drain(|_| ());
    minor_faults(&mut text);
    let before = minor_faults(&mut text);
    for number in 0..1 << 16 {
        assert!(recorder.record(record(0, number)));
    }
    assert_eq!(minor_faults(&mut text), before, "2 MiB of records should have been present");
}
