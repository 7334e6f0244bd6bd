// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! One flow by itself. Its members come late and in any order, and each reads what its instant says; some member
//! can always go on, however few buffers there are.

use std::sync::{Arc, Mutex};

use taut_share::state::flow::Shape;
use taut_share::state::{dbp, tccp};
use taut_share::{LINE_BYTES, Line, Memory};

use super::calendar::{Blocked, Calendar, Dispatcher, Member, Role};
use super::ends::{End, Reader, Writer, read, write};
use crate::payload::Stamped;

/// xorshift64
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

type Value = u64;

/// A member that may come at any time.
struct Party {
    role: Role,
    period: u64,
    offset: u64,
    jobs: u64,
    begun: bool,
}

impl Party {
    fn instant(&self) -> u64 {
        self.offset + self.jobs * self.period
    }

    /// The number of its activations up to an instant.
    fn by(&self, at: u64) -> u64 {
        if at < self.offset { 0 } else { (at - self.offset) / self.period + 1 }
    }
}

/// Runs one flow until all members have passed `until`. Returns how often a member was blocked.
fn run(shape: Shape, is_dbp: bool, until: u64, random: &mut Random) -> u64 {
    let bytes =
        if is_dbp { dbp::bytes::<Stamped<Value>>(shape) } else { tccp::bytes::<Stamped<Value>>(shape) };
    let mut lines: Vec<Line> =
        (0..bytes.expect("a size").div_ceil(LINE_BYTES)).map(|_| Line::new()).collect();
    let memory = Memory::new(&mut lines);
    let (dispatcher, writer, readers): (_, _, Vec<Arc<Mutex<Reader<'_, Value>>>>) = if is_dbp {
        let (dispatcher, writer, readers) = dbp::group(memory, shape).expect("it fits");
        let readers = readers.map(|reader| Arc::new(Mutex::new(Reader::Dbp(reader))));
        (Dispatcher::Dbp(Box::new(dispatcher)), Writer::Dbp(writer), readers.collect())
    } else {
        let (dispatcher, writer, readers) = tccp::group(memory, shape).expect("it fits");
        let readers = readers.map(|reader| Arc::new(Mutex::new(Reader::Tccp(reader))));
        (Dispatcher::Tccp(Box::new(dispatcher)), Writer::Tccp(writer), readers.collect())
    };
    let writer = Mutex::new(writer);
    let mut party = |role| {
        let period = 1 + random.below(9);
        Party { role, period, offset: random.below(2) * random.below(period), jobs: 0, begun: false }
    };
    let mut parties = vec![party(Role::Writer)];
    parties.extend((0..shape.lower + shape.higher).map(|which| party(Role::Reader(which))));
    let member = |(task, party): (usize, &Party)| Member {
        task,
        next_ns: party.offset,
        period_ns: party.period,
        gone: false,
    };
    let mut members: Vec<Member> = parties.iter().enumerate().map(member).collect();
    let first = members.remove(0);
    let mut calendar = Calendar { dispatcher, writer: first, readers: members, written: 0, left: None };
    let (mut blocked, mut idle) = (0, 0);
    while parties.iter().any(|party| party.instant() < until) {
        assert!(idle < 10_000, "nobody can go on");
        idle += 1;
        let at = random.below(parties.len() as u64) as usize;
        let instant = parties[at].instant();
        if instant >= until {
            continue;
        }
        let role = parties[at].role;
        if !parties[at].begun {
            if let Err(Blocked { task }) = calendar.advance(role, instant) {
                // The task in the way has begun a job of an earlier instant, or still has to.
                assert!(parties[task].instant() < instant, "{task} is in the way of {at}");
                blocked += 1;
                continue;
            }
            assert_eq!(calendar.advance(role, instant), Ok(()), "once is enough");
            parties[at].begun = true;
            idle = 0;
            continue;
        }
        match role {
            Role::Writer => {
                let number = parties[at].jobs + 1;
                if number % 3 > 0 {
                    assert!(write(&writer, &Stamped { sent_ns: 0, sequence: number, value: number * 10 }));
                }
                writer.complete();
            }
            Role::Reader(which) => {
                let reader = &readers[which as usize];
                let due = parties[0].by(instant);
                let due = if which < shape.lower { due } else { due.saturating_sub(1) };
                if !reader.is_ready() {
                    assert!(which < shape.lower && parties[0].jobs < due);
                    continue;
                }
                // Every third job writes nothing.
                let expected = (1..=due).rev().find(|number| number % 3 > 0);
                for _ in 0..2 {
                    let mut stamped = Stamped { sent_ns: 0, sequence: 0, value: 0 };
                    let is_there = read(reader, &mut stamped).expect("it is not overtaken");
                    let value = is_there.then_some(stamped.value);
                    assert_eq!(value, expected.map(|number| number * 10), "{at} at {instant}");
                }
                reader.complete();
            }
        }
        parties[at].jobs += 1;
        parties[at].begun = false;
        idle = 0;
    }
    blocked
}

#[test]
fn instants_decide_and_not_the_order_of_calls() {
    let mut random = Random(0x5eed_f10d_0000_0001);
    let mut blocked = 0;
    for round in 0..if cfg!(miri) { 4 } else { 400 } {
        let (lower, higher) = (random.below(4) as u32, random.below(4) as u32);
        if lower + higher == 0 {
            continue;
        }
        // As many buffers as the shape counts, or as few as there can be.
        let few = if higher > 0 { 3 } else { 2 };
        let shape = match round % 4 {
            0 => Shape::several_processors(lower, higher),
            1 => Shape::one_processor(lower, higher),
            _ => Shape { lower, higher, buffers: few },
        };
        blocked += run(shape, round % 8 < 4, if cfg!(miri) { 70 } else { 200 }, &mut random);
    }
    assert!(blocked > if cfg!(miri) { 3 } else { 10_000 }, "{blocked}");
}

/// The overhead of one flow in a task's job: its activations, and its completion.
#[test]
#[ignore = "a figure, of an optimised build: cargo test --release -p taut-run --lib -- --ignored --nocapture"]
#[allow(clippy::print_stdout, reason = "it is there to be read")]
fn what_a_job_takes() {
    const JOBS: u64 = 100_000;
    let event_counts: Vec<taut_lock::EventCount> = (0..2).map(|_| taut_lock::EventCount::new()).collect();
    let shape = Shape::several_processors(1, 0);
    let mut lines: Vec<Line> = (0..64).map(|_| Line::new()).collect();
    let (dispatcher, writer, mut readers) =
        dbp::group::<Stamped<Value>>(Memory::new(&mut lines), shape).expect("it fits");
    let member = |task| Member { task, next_ns: 0, period_ns: 1, gone: false };
    let calendar = Calendar {
        dispatcher: Dispatcher::Dbp(Box::new(dispatcher)),
        writer: member(0),
        readers: vec![member(1)],
        written: 0,
        left: None,
    };
    let group = Arc::new(taut_lock::Serial::new(calendar).expect("a mutex"));
    let ends: [Arc<dyn End + '_>; 2] = [
        Arc::new(Mutex::new(Writer::Dbp(writer))),
        Arc::new(Mutex::new(Reader::Dbp(readers.next().expect("one")))),
    ];
    let roles = [Role::Writer, Role::Reader(0)];
    let mut tasks: Vec<super::TaskFlows<'_>> = ends
        .into_iter()
        .zip(roles)
        .enumerate()
        .map(|(task, (end, role))| super::TaskFlows {
            event_counts: &event_counts,
            notifier: event_counts[task].notifier(),
            joins: vec![(group.clone(), role)],
            ends: vec![super::Hold { end, writer: 0 }],
        })
        .collect();
    for round in 0..5 {
        let (mut waits, before) = (0, taut_sys::clock::monotonic_ns());
        for at in round * JOBS..(round + 1) * JOBS {
            for task in &mut tasks {
                assert_eq!(task.begin(at, &mut waits), Ok(()));
                task.complete();
            }
        }
        let per_job = (taut_sys::clock::monotonic_ns() - before) / (2 * JOBS);
        println!("{per_job} ns per job");
    }
}
