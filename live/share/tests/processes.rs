// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Two processes on one file, for every protocol: the test kills either side with SIGKILL at random moments, and a
//! successor follows. `TAUT_STRESS_DEATHS` says how often. (`deaths.rs` kills at every single step.)
#![cfg(not(any(loom, shuttle, miri)))]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test: helpers too, and its figures")]

mod account;
mod objects;
mod payload;
mod process;

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

use account::{Newest, Order};
use objects::{Got, Queue, State, WhenFull, every_queue, every_state};
use payload::{marked, number};
use process::{Mapping, orders};

/// Words of a value.
const N: usize = 24;
const CAPACITY: u32 = 5;

/// How often each side of each protocol dies.
fn deaths() -> u64 {
    std::env::var("TAUT_STRESS_DEATHS").ok().and_then(|s| s.parse().ok()).unwrap_or(10)
}

/// Runs `work` until the process reports more than `reported` in `mapping`, then for a time that differs from round
/// to round.
fn meanwhile(mapping: &Mapping, reported: u64, round: u64, mut work: impl FnMut()) {
    let limit = Instant::now() + Duration::from_secs(20);
    while mapping.reported(0).load(Relaxed) <= reported {
        work();
        assert!(Instant::now() < limit, "the process does not work");
    }
    let end = Instant::now() + Duration::from_micros(200 + round.wrapping_mul(7919) % 3000);
    while Instant::now() < end {
        work();
    }
}

/// A pause of 0 to 99 turns, so that sides fall out of step.
fn pause(n: u64) {
    (0..n % 100).for_each(|_| std::hint::spin_loop());
}

/// The started processes. Word 0 of the report line: number of operations done; word 1: the last value that a reader
/// has seen, or that was written.
#[test]
fn process() {
    let Some((role, mapping, from)) = orders() else {
        return println!("no test: for processes that tests start");
    };
    let (protocol, end) = role.split_once('-').unwrap();
    macro_rules! states {
        ($($module:ident $object:ident)*) => {
            match (protocol, end) {
                $(
                    (stringify!($module), "writer") => state_writer::<objects::$object>(&mapping, from),
                    (stringify!($module), _) => state_reader::<objects::$object>(&mapping),
                )*
                _ => {}
            }
        };
    }
    every_state!(states);
    macro_rules! queues {
        ($($module:ident $object:ident)*) => {
            match (protocol, end) {
                $(
                    (stringify!($module), "writer") => queue_writer::<objects::$object>(&mapping, from),
                    (stringify!($module), _) => queue_reader::<objects::$object>(&mapping),
                )*
                _ => {}
            }
        };
    }
    every_queue!(queues);
}

fn state_writer<S: State<N>>(mapping: &Mapping, from: u64) {
    // SAFETY: the test starts one at a time.
    let mut writer = unsafe { S::writer(mapping.memory()) };
    for n in from.. {
        if S::write(&mut writer, &marked(n)) {
            mapping.reported(1).store(n, Release);
            mapping.reported(0).fetch_add(1, Relaxed);
        }
        pause(n);
    }
}

fn state_reader<S: State<N>>(mapping: &Mapping) {
    // SAFETY: the test starts one at a time, and has no reader of this number itself.
    let mut reader = unsafe { S::reader(mapping.memory(), 0) };
    // It must not fall behind its predecessors either: their reads are over.
    let mut newest = Newest { last: if S::ATOMIC { mapping.reported(1).load(Acquire) } else { 0 } };
    loop {
        if let Some(n) = newest.judge::<N, S>(S::read(&mut reader), 0) {
            mapping.reported(1).store(n, Release);
            mapping.reported(0).fetch_add(1, Relaxed);
        }
    }
}

fn queue_writer<Q: Queue<N>>(mapping: &Mapping, from: u64) {
    // SAFETY: the test starts one at a time.
    let mut writer = unsafe { Q::writer(mapping.memory(), CAPACITY) };
    let mut n = from;
    loop {
        if Q::push(&mut writer, marked(n)) {
            mapping.reported(1).store(n, Release);
            n += 1;
            mapping.reported(0).fetch_add(1, Relaxed);
        }
        pause(n);
    }
}

fn queue_reader<Q: Queue<N>>(mapping: &Mapping) {
    // SAFETY: the test starts one at a time.
    let mut reader = unsafe { Q::reader(mapping.memory(), CAPACITY) };
    let mut order = Order { last: mapping.reported(1).load(Acquire), ..Order::default() };
    let mut first = true;
    loop {
        let got = Q::pop(&mut reader);
        if let (true, Got::Value((value, lost))) = (first, got) {
            // The previous reader may have died after a pop and before its report: of one value, and of those lost
            // before that.
            let before = number(&value) - 1 - lost;
            let untold = if Q::WHEN_FULL == WhenFull::Refuse { 1 } else { u64::MAX - order.last };
            let possible = order.last..=order.last + untold;
            assert!(possible.contains(&before), "{}: {before}, not {possible:?}", Q::NAME);
            order.last = before;
            first = false;
        }
        if let Some(n) = order.judge::<N, Q>(got, 0, CAPACITY, || u64::MAX) {
            mapping.reported(1).store(n, Release);
            mapping.reported(0).fetch_add(1, Relaxed);
        }
    }
}

fn state_writer_dies<S: State<N>>(role: &str) {
    let mapping = Mapping::create(S::bytes());
    // SAFETY: the only ends, each once.
    let mut readers: Vec<_> = (0..S::READERS)
        .map(|which| (unsafe { S::reader(mapping.memory(), which) }, Newest::default(), 0u64))
        .collect();
    for round in 0..deaths() {
        let reported = mapping.reported(0).load(Relaxed);
        let writer = mapping.start(role, (round + 1) << 40);
        let mut n = 0;
        meanwhile(&mapping, reported, round, || {
            let mut complete = mapping.reported(1).load(Acquire);
            for (reader, newest, _) in &mut readers {
                let got = newest.judge::<N, S>(S::read(reader), complete);
                if S::ATOMIC {
                    complete = complete.max(got.unwrap_or(0));
                }
            }
            n += 1;
            pause(n);
        });
        writer.kill();
        let complete = mapping.reported(1).load(Acquire);
        assert_eq!(complete >> 40, round + 1);
        for (reader, newest, untold) in &mut readers {
            *untold += u64::from(newest.judge::<N, S>(S::read(reader), complete).is_none());
        }
    }
    println!("{} of {} writers died where nothing can be read", readers[0].2, deaths());
    let last = (deaths() + 1) << 40;
    // SAFETY: the previous writers were killed.
    let mut writer = unsafe { S::writer(mapping.memory()) };
    assert!(S::write(&mut writer, &marked(last)), "{}: nobody reads", S::NAME);
    for (reader, newest, _) in &mut readers {
        assert_eq!(newest.judge::<N, S>(S::read(reader), last), Some(last), "{}", S::NAME);
    }
}

fn state_reader_dies<S: State<N>>(role: &str) {
    let mapping = Mapping::create(S::bytes());
    // SAFETY: the only ends of their numbers here.
    let (mut writer, mut others) = unsafe {
        let others = (1..S::READERS).map(|which| (S::reader(mapping.memory(), which), Newest::default()));
        (S::writer(mapping.memory()), others.collect::<Vec<_>>())
    };
    let (mut n, mut last, mut refused_after) = (0, 0, 0);
    let mut write = || {
        n += 1;
        let written = S::write(&mut writer, &marked(n));
        if written {
            last = n;
        } else {
            assert!(!S::WRITES_ALWAYS, "{}: a write that did not", S::NAME);
        }
        for (reader, newest) in &mut others {
            let got = S::read(reader);
            let seen = newest.judge::<N, S>(got, last).unwrap_or(0);
            // Nobody writes meanwhile. In a protocol where a reader can block the writer, the reader that is to die
            // may block this one too.
            let in_the_way = got == Got::Unavailable && !S::WRITES_ALWAYS;
            assert!(in_the_way || seen == last, "{}: {got:?}, {last} was complete", S::NAME);
        }
        pause(n);
        (written, last)
    };
    for round in 0..deaths() {
        let reported = mapping.reported(0).load(Relaxed);
        let reader = mapping.start(role, 0);
        meanwhile(&mapping, reported, round, || {
            write();
        });
        reader.kill();
        refused_after += u64::from(!write().0);
        assert!(refused_after == 0 || !S::READERS_MAY_DIE, "{}: a death costs the writer", S::NAME);
    }
    println!("{refused_after} of {} readers died where the writer needs a new one", deaths());
    // SAFETY: the previous readers were killed.
    let mut reader = unsafe { S::reader(mapping.memory(), 0) };
    let (written, last) = write();
    assert!(written, "{}: nobody reads", S::NAME);
    assert_eq!(Newest::default().judge::<N, S>(S::read(&mut reader), last), Some(last), "{}", S::NAME);
}

fn queue_writer_dies<Q: Queue<N>>(role: &str) {
    let mapping = Mapping::create(Q::bytes(CAPACITY));
    // SAFETY: the only reader.
    let mut reader = unsafe { Q::reader(mapping.memory(), CAPACITY) };
    let mut order = Order::default();
    for round in 0..deaths() {
        let reported = mapping.reported(0).load(Relaxed);
        let writer = mapping.start(role, order.last + 1);
        let mut n = 0;
        meanwhile(&mapping, reported, round, || {
            let complete = mapping.reported(1).load(Acquire);
            order.judge::<N, Q>(Q::pop(&mut reader), complete, CAPACITY, || u64::MAX);
            n += 1;
            pause(n);
        });
        writer.kill();
        let complete = mapping.reported(1).load(Acquire);
        // All pushed values are there; a pop may report the push that was begun and is not complete.
        let mut pop = || order.judge::<N, Q>(Q::pop(&mut reader), complete, CAPACITY, || u64::MAX);
        while pop().is_some() {}
        if order.last < complete {
            assert_ne!(Q::WHEN_FULL, WhenFull::Refuse, "{}: {complete} is missing", Q::NAME);
            // SAFETY: the writer was killed.
            let mut next = unsafe { Q::writer(mapping.memory(), CAPACITY) };
            // In general it is not known whether the push that was begun has happened; here it has not.
            assert!(Q::push(&mut next, marked(complete + 1)), "{}", Q::NAME);
            while order.judge::<N, Q>(Q::pop(&mut reader), complete + 1, CAPACITY, || u64::MAX).is_some() {}
        }
        assert!(order.last >= complete, "{}: {complete} is missing", Q::NAME);
    }
    assert!(order.popped > 0);
}

fn queue_reader_dies<Q: Queue<N>>(role: &str) {
    let mapping = Mapping::create(Q::bytes(CAPACITY));
    // SAFETY: the only writer.
    let mut writer = unsafe { Q::writer(mapping.memory(), CAPACITY) };
    let mut pushed = 0;
    for round in 0..deaths() {
        let reported = mapping.reported(0).load(Relaxed);
        let reader = mapping.start(role, 0);
        meanwhile(&mapping, reported, round, || {
            let taken = Q::push(&mut writer, marked(pushed + 1));
            assert!(taken || Q::WHEN_FULL == WhenFull::Refuse, "{}: refused", Q::NAME);
            pushed += u64::from(taken);
            pause(pushed);
        });
        reader.kill();
    }
    assert!(pushed >= deaths());
    // SAFETY: the previous readers were killed.
    let mut reader = unsafe { Q::reader(mapping.memory(), CAPACITY) };
    let mut newest = 0;
    while let Got::Value((value, _)) = Q::pop(&mut reader) {
        newest = number(&value);
    }
    assert!(
        newest == pushed || (newest == 0 && mapping.reported(1).load(Acquire) + 1 >= pushed),
        "{}",
        Q::NAME
    );
}

macro_rules! states {
    ($($module:ident $object:ident)*) => {$(
        mod $module {
            #[test]
            fn writer_dies() {
                super::state_writer_dies::<super::objects::$object>(concat!(stringify!($module), "-writer"));
            }

            #[test]
            fn reader_dies() {
                super::state_reader_dies::<super::objects::$object>(concat!(stringify!($module), "-reader"));
            }
        }
    )*};
}
every_state!(states);

macro_rules! queues {
    ($($module:ident $object:ident)*) => {$(
        mod $module {
            #[test]
            fn writer_dies() {
                super::queue_writer_dies::<super::objects::$object>(concat!(stringify!($module), "-writer"));
            }

            #[test]
            fn reader_dies() {
                super::queue_reader_dies::<super::objects::$object>(concat!(stringify!($module), "-reader"));
            }
        }
    )*};
}
every_queue!(queues);
