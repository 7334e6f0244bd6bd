// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every execution of small runs of DBP and TCCP, by loom: activations race with the jobs of the writer and of
//! readers. `RUSTFLAGS="--cfg loom" cargo test -p taut-share --release --test loom flow::`.

use loom::thread;
use taut_share::Memory;
use taut_share::state::dbp::{self, NotActivated, NotYet, Shape};
use taut_share::state::tccp;

use crate::explore::explore_on;
use crate::payload::{marked, number};

type Value = [u64; 2];

/// The value that a reader gets of a job of the writer: jobs of even numbers do not write, and so keep the previous
/// value.
fn value_of(version: u64) -> u64 {
    version - 1 + version % 2
}

/// Records the result of an activation: the writer's job whose value the reader's job reads.
fn activate_reader(activated: Result<u64, NotActivated>, reported: &mut Vec<u64>) {
    match activated {
        Ok(version) => reported.push(version),
        Err(NotActivated::Running) => {}
        Err(other) => panic!("{other}"),
    }
}

fn activate_writer(activated: Result<u64, NotActivated>) {
    assert!(matches!(activated, Ok(_) | Err(NotActivated::Running)), "{activated:?}");
}

/// Checks a reader's jobs: their numbers, and the versions that the dispatcher gave them.
fn check_told(jobs: &[(u64, u64)], reported: &[u64]) {
    for (number, version) in jobs {
        assert_eq!(reported[*number as usize - 1], *version, "not what was told");
    }
}

/// A reader looks for a job `looks` times, and reads twice in each.
fn dbp_reads(mut reader: dbp::Reader<'static, Value>, looks: usize, higher: bool) -> Vec<(u64, u64)> {
    let mut jobs = Vec::new();
    for _ in 0..looks {
        let Some(mut job) = reader.job() else { continue };
        jobs.push((job.number(), job.version()));
        match job.read() {
            Ok(None) => assert_eq!(job.version(), 0),
            Ok(Some(value)) => {
                assert_eq!(number(&value), value_of(job.version()), "another job's value");
                assert_eq!(job.read(), Ok(Some(value)), "another value in the same job");
            }
            Err(NotYet) => assert!(!higher, "a higher reader does not wait"),
        }
    }
    jobs
}

/// Activations on this thread, by the letters of `story`: `w` the writer, `W` the writer with its job at once, `r`
/// the reader. A reader, and the writer unless its jobs run at once, are on threads of their own.
fn dbp(memory: Memory<'static>, shape: Shape, story: &'static str, looks: usize) {
    let (mut dispatcher, mut writer, mut readers) = dbp::group::<Value>(memory, shape).unwrap();
    let reader = readers.next().unwrap();
    let reading = thread::spawn(move || dbp_reads(reader, looks, shape.lower == 0));
    let mut reported = Vec::new();
    let write = move |writer: &mut dbp::Writer<'static, Value>| {
        if let Some(mut job) = writer.job() {
            let number = job.number();
            if number % 2 == 1 {
                job.write(&marked(number));
            }
        }
    };
    if story.contains('w') {
        let jobs = story.matches('w').count();
        let writing = thread::spawn(move || (0..jobs).for_each(|_| write(&mut writer)));
        for (at, letter) in (0..).zip(story.chars()) {
            match letter {
                'w' => activate_writer(dispatcher.activate_writer(at)),
                _ => activate_reader(dispatcher.activate_reader(0, at), &mut reported),
            }
        }
        writing.join().unwrap();
    } else {
        for (at, letter) in (0..).zip(story.chars()) {
            match letter {
                'W' => {
                    activate_writer(dispatcher.activate_writer(at));
                    write(&mut writer);
                }
                _ => activate_reader(dispatcher.activate_reader(0, at), &mut reported),
            }
        }
    }
    check_told(&reading.join().unwrap(), &reported);
}

fn explore_dbp(shape: Shape, story: &'static str, looks: usize, preemptions: Option<usize>) {
    let bytes = dbp::bytes::<Value>(shape).unwrap();
    explore_on(bytes, &format!("dbp {shape:?} {story} × {looks}"), preemptions, move |memory| {
        dbp(memory, shape, story, looks);
    });
}

#[test]
fn dbp_lower_two_threads() {
    explore_dbp(Shape::several_processors(1, 0), "WrWrW", 2, None);
}

#[test]
fn dbp_lower_three_threads() {
    explore_dbp(Shape::several_processors(1, 0), "wrwr", 2, Some(4));
}

#[test]
fn dbp_higher_two_threads() {
    explore_dbp(Shape::several_processors(0, 1), "WWrWWrW", 2, None);
}

#[test]
fn dbp_higher_three_threads() {
    explore_dbp(Shape::several_processors(0, 1), "wwrwr", 2, Some(4));
}

#[test]
fn dbp_a_lower_and_a_higher_reader() {
    let shape = Shape::several_processors(1, 1);
    let bytes = dbp::bytes::<Value>(shape).unwrap();
    explore_on(bytes, "dbp, both kinds", Some(2), move |memory| {
        let (mut dispatcher, mut writer, mut readers) = dbp::group::<Value>(memory, shape).unwrap();
        let (lower, higher) = (readers.next().unwrap(), readers.next().unwrap());
        let lower = thread::spawn(move || dbp_reads(lower, 2, false));
        let higher = thread::spawn(move || dbp_reads(higher, 2, true));
        let (mut told_lower, mut told_higher) = (Vec::new(), Vec::new());
        for at in 0..4 {
            dispatcher.activate_writer(at).unwrap();
            activate_reader(dispatcher.activate_reader(0, at), &mut told_lower);
            activate_reader(dispatcher.activate_reader(1, at), &mut told_higher);
            let mut job = writer.job().unwrap();
            let number = job.number();
            if number % 2 == 1 {
                job.write(&marked(number));
            }
        }
        check_told(&lower.join().unwrap(), &told_lower);
        check_told(&higher.join().unwrap(), &told_higher);
    });
}

fn tccp_reads(mut reader: tccp::Reader<'static, Value>, looks: usize, higher: bool) -> Vec<(u64, u64)> {
    let mut jobs = Vec::new();
    for _ in 0..looks {
        let Some(mut job) = reader.job() else { continue };
        jobs.push((job.number(), job.version()));
        match job.read() {
            Ok(None) => assert_eq!(job.version(), 0),
            Ok(Some(value)) => assert_eq!(number(&value), value_of(job.version()), "another job's value"),
            Err(tccp::NotRead::NotYet) => assert!(!higher, "a higher reader does not wait"),
            Err(tccp::NotRead::Overrun) => {}
        }
    }
    jobs
}

fn explore_tccp(shape: Shape, story: &'static str, looks: usize, preemptions: Option<usize>) {
    let bytes = tccp::bytes::<Value>(shape).unwrap();
    explore_on(bytes, &format!("tccp {shape:?} {story} × {looks}"), preemptions, move |memory| {
        let (mut dispatcher, mut writer, mut readers) = tccp::group::<Value>(memory, shape).unwrap();
        let reader = readers.next().unwrap();
        let reading = thread::spawn(move || tccp_reads(reader, looks, shape.lower == 0));
        let jobs = story.matches('w').count();
        let writing = thread::spawn(move || {
            for _ in 0..jobs {
                if let Some(mut job) = writer.job() {
                    let number = job.number();
                    if number % 2 == 1 {
                        job.write(&marked(number));
                    }
                }
            }
        });
        let mut reported = Vec::new();
        for (at, letter) in (0..).zip(story.chars()) {
            match letter {
                'w' => activate_writer(dispatcher.activate_writer(at)),
                _ => activate_reader(dispatcher.activate_reader(0, at), &mut reported),
            }
        }
        writing.join().unwrap();
        check_told(&reading.join().unwrap(), &reported);
    });
}

#[test]
fn tccp_lower() {
    explore_tccp(Shape { lower: 1, higher: 0, buffers: 1 }, "wrwr", 2, Some(4));
}

#[test]
fn tccp_higher() {
    explore_tccp(Shape { lower: 0, higher: 1, buffers: 2 }, "wwrwr", 2, Some(4));
}

fn newest(memory: Memory<'static>, buffers: u32, writes: u64, reads: usize) {
    let shape = Shape { lower: 1, higher: 0, buffers };
    let (mut publisher, mut readers) = tccp::newest::<Value>(memory, shape).unwrap();
    let mut reader = readers.next().unwrap();
    let writing = thread::spawn(move || (1..=writes).for_each(|n| publisher.write(&marked(n))));
    let mut last = 0;
    for _ in 0..reads {
        if let Ok(Some(sample)) = reader.read_newest() {
            assert_eq!(number(&sample.value), sample.version, "another write's value");
            assert!(sample.version >= last, "backwards");
            last = sample.version;
        }
    }
    writing.join().unwrap();
    let sample = reader.read_newest().unwrap().unwrap();
    assert_eq!((number(&sample.value), sample.version), (writes, writes), "not the newest");
}

#[test]
fn tccp_newest() {
    let bytes = tccp::bytes::<Value>(Shape { lower: 1, higher: 0, buffers: 2 }).unwrap();
    explore_on(bytes, "tccp newest, 1 buffer, 2×1", None, |memory| newest(memory, 1, 2, 1));
    explore_on(bytes, "tccp newest, 2 buffers, 3×2", Some(3), |memory| newest(memory, 2, 3, 2));
}
