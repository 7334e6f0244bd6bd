// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the writer puts into a file, and what it does when it cannot write.
#![expect(clippy::unwrap_used, reason = "a test panics to fail")]

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use taut_event::file::{BLOCK_BYTES, HEAD_BYTES, Head, Run};
use taut_event::{Ending, Kind, Record};
use taut_time::Instant;
use taut_trace::{RecordingSink, RecordingWriter, RingOwner, Written, ring};

fn record(subject: u16, number: u64) -> Record {
    Record { at: Instant::from_ns(number), kind: Kind::Start, cpu: 1, subject, job: number, value: 0 }
}

#[test]
fn all_rings_reach_the_file_in_their_order() {
    let (mut first, first_drain) = ring(RingOwner::Task(0), 64);
    let (mut second, second_drain) = ring(RingOwner::Task(1), 4);
    let head = Head { plan: "lock = 1\n", machine: "cpus = 2\n", id: 7, limit: None };
    let mut writer = RecordingWriter::new(Vec::new(), &head, vec![first_drain, second_drain]).unwrap();
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

/// A disk with room for `room` bytes, and its file.
struct Disk {
    file: Vec<u8>,
    room: usize,
}

impl RecordingSink for Disk {
    fn write_at(&mut self, place: u64, bytes: &[u8]) -> io::Result<()> {
        let place = usize::try_from(place).unwrap();
        // The disk still writes as much as fits.
        let fits = bytes.len().min(self.room.saturating_sub(place));
        self.file.resize(self.file.len().max(place + fits), 0);
        self.file[place..place + fits].copy_from_slice(&bytes[..fits]);
        if fits == bytes.len() { Ok(()) } else { Err(io::Error::from_raw_os_error(28)) }
    }

    fn cut(&mut self, place: u64) -> io::Result<()> {
        self.file.truncate(usize::try_from(place).unwrap());
        Ok(())
    }
}

/// A disk that the test can read while a writer has it.
#[derive(Clone)]
struct Shared(Arc<Mutex<Disk>>);

impl RecordingSink for Shared {
    fn write_at(&mut self, place: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap().write_at(place, bytes)
    }

    fn cut(&mut self, place: u64) -> io::Result<()> {
        self.0.lock().unwrap().cut(place)
    }
}

fn disk(room: usize) -> Shared {
    Shared(Arc::new(Mutex::new(Disk { file: Vec::new(), room })))
}

/// Of 40 records in blocks of 10, the second and third block find the disk full. The run goes on, and the recording
/// says what it lacks and has the run's end.
#[test]
fn a_full_disk_is_reported_and_the_recording_continues_when_there_is_space() {
    let (mut recorder, drain) = ring(RingOwner::Task(0), 64);
    let disk = disk(HEAD_BYTES + BLOCK_BYTES + 12 * Record::SIZE);
    let mut writer = RecordingWriter::new(disk.clone(), &Head::default(), vec![drain]).unwrap();
    for block in 0..4 {
        if block == 3 {
            disk.0.lock().unwrap().room = 1 << 20;
        }
        for number in 0..10 {
            assert!(recorder.record(record(0, block * 10 + number)), "no room in the ring");
        }
        writer.poll();
        writer.flush();
        // No half written block is left behind.
        let run = Run::from_bytes(&disk.0.lock().unwrap().file).unwrap();
        assert_eq!(run.damage, None);
    }
    writer.append(Ending::Done.to_record(Instant::from_ns(99)).unwrap());
    assert_eq!(writer.finish().map(|_| ()).unwrap_err().raw_os_error(), Some(28));
    let run = Run::from_bytes(&disk.0.lock().unwrap().file).unwrap();
    let jobs: Vec<u64> = run.records.iter().map(|record| record.job).collect();
    assert_eq!(jobs, (0..10).chain(30..40).chain([0]).collect::<Vec<_>>());
    assert_eq!((run.unwritten, run.os_error), (20, 28));
    assert_eq!((run.ending(), run.closed), (Ending::Done, true));
}

/// Room for one block's head and two records is enough to record the end.
#[test]
fn a_disk_that_stays_full_has_the_end_and_what_is_missing() {
    let (mut recorder, drain) = ring(RingOwner::Task(0), 64);
    let disk = disk(HEAD_BYTES + 3 * BLOCK_BYTES + 12 * Record::SIZE);
    let mut writer = RecordingWriter::new(disk.clone(), &Head::default(), vec![drain]).unwrap();
    for number in 0..40 {
        assert!(recorder.record(record(0, number)));
        if number % 10 == 9 {
            writer.poll();
            writer.flush();
        }
    }
    for number in 40..50 {
        assert!(recorder.record(record(0, number)));
    }
    writer.poll();
    writer.append(Ending::Signal(15).to_record(Instant::from_ns(99)).unwrap());
    assert!(writer.finish().is_err());
    let run = Run::from_bytes(&disk.0.lock().unwrap().file).unwrap();
    assert_eq!((run.unwritten, run.os_error, run.records.len()), (40, 28, 11));
    assert_eq!((run.ending(), run.damage), (Ending::Signal(15), None));
}

/// A recording with a limit never grows beyond it, and keeps the newest records.
#[test]
#[cfg_attr(miri, ignore = "200,000 records, without `unsafe` of its own")]
fn a_limit_holds_whatever_comes() {
    const LIMIT: u64 = 2 << 20;
    let (mut recorder, drain) = ring(RingOwner::Task(0), 4_096);
    let head = Head { limit: Some(LIMIT), ..Head::default() };
    let mut writer = RecordingWriter::new(Vec::new(), &head, vec![drain]).unwrap();
    const RECORDS: u64 = 200_000;
    for number in 0..RECORDS {
        assert!(recorder.record(record(0, number + 1)));
        if number % 1_777 == 0 {
            writer.poll();
        }
        if number % 9_001 == 0 {
            writer.flush();
        }
    }
    let (bytes, written) = writer.finish().unwrap();
    assert_eq!(written, Written { records: RECORDS, unwritten: 0 });
    assert!(bytes.len() as u64 <= LIMIT);
    let run = Run::from_bytes(&bytes).unwrap();
    assert_eq!(run.dropped + run.records.len() as u64, RECORDS);
    assert!(run.records.len() as u64 * 32 > LIMIT * 3 / 4, "{} records", run.records.len());
    let first = RECORDS + 1 - run.records.len() as u64;
    assert!(run.records.iter().map(|record| record.job).eq(first..=RECORDS));
}

/// An idle run flushes as often as any other, and its recording does not grow.
#[test]
fn a_flush_of_nothing_writes_nothing() {
    let disk = disk(1 << 20);
    let length = || disk.0.lock().unwrap().file.len();
    let mut writer = RecordingWriter::new(disk.clone(), &Head::default(), Vec::new()).unwrap();
    let head = length();
    writer.flush();
    assert_eq!(length(), head, "nothing was recorded yet");
    writer.append(record(0, 1));
    writer.flush();
    let once = length();
    assert!(once > head);
    writer.flush();
    assert_eq!(length(), once, "nothing was recorded since");
}

#[test]
fn a_sink_that_takes_no_head_is_an_error_at_once() {
    let head = Head { plan: "a plan of more than ten bytes", ..Head::default() };
    assert!(RecordingWriter::new(disk(10), &head, Vec::new()).is_err());
    let small = Head { limit: Some(1_000), ..head };
    let error = RecordingWriter::new(Vec::new(), &small, Vec::new()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
}

/// The page faults of this thread that needed no IO, from its line in `/proc`.
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
#[cfg_attr(miri, ignore = "reads the page faults of the machine from /proc")]
fn recording_takes_no_page_fault() {
    let (mut recorder, mut drain) = ring(RingOwner::Task(0), 1 << 16);
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
