// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Nanoseconds from the call of `record` to its return: the average over a batch that fits the ring, including cold
//! cache lines; and the same when the ring is full. One thread, which drains between batches; nothing is pinned.
#![expect(clippy::print_stdout, reason = "a bench prints")]

use std::hint::black_box;
use std::time::Instant;

use taut_event::{Interaction, Kind, Record};
use taut_trace::{Drain, Recorder, RingOwner, ring, value_ring};

const BATCH: u64 = 4096;
const ROUNDS: usize = 200;

fn batch(recorder: &mut Recorder) -> f64 {
    let begin = Instant::now();
    for number in 0..BATCH {
        recorder.record(black_box(Record {
            at: taut_time::Instant::from_ns(number),
            kind: Kind::Start,
            cpu: 0,
            subject: 1,
            job: number,
            value: 0,
        }));
    }
    begin.elapsed().as_secs_f64() * 1e9 / BATCH as f64
}

fn row(name: &str, mut values: Vec<f64>) {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share) as usize];
    println!(
        "{name:<28} min {:6.2}  p50 {:6.2}  p99 {:6.2}  max {:6.2} ns",
        at(0.0),
        at(0.5),
        at(0.99),
        at(1.0)
    );
}

fn checked(drain: &mut Drain) {
    let mut next = 0;
    drain.drain(|record| {
        if record.kind != Kind::Lost {
            assert_eq!(record.job, next);
            next += 1;
        }
    });
    assert_eq!(next, BATCH);
}

/// Records of values of this size, half as many as the ring holds.
fn values(bytes: usize) -> Vec<f64> {
    let slots = 1 + bytes.div_ceil(32);
    let count = BATCH / slots as u64;
    let (mut recorder, mut drain) = value_ring(BATCH * 64);
    let value = vec![7; bytes];
    let round = |_| {
        let begin = Instant::now();
        for number in 0..count {
            let interaction = Interaction::Sent { channel: 1, number };
            recorder.record(black_box(number), black_box(interaction), black_box(&value));
        }
        let each = begin.elapsed().as_secs_f64() * 1e9 / count as f64;
        let mut drained = 0;
        drain.drain(|_, _, value| drained += u64::from(value.len() == bytes));
        assert_eq!((drained, drain.lost()), (count, 0));
        each
    };
    (0..ROUNDS).map(round).collect()
}

fn main() {
    let (mut recorder, mut drain) = ring(RingOwner::Task(0), BATCH as usize);
    let mut room = Vec::new();
    let mut full = Vec::new();
    for _ in 0..ROUNDS {
        room.push(batch(&mut recorder));
        full.push(batch(&mut recorder));
        checked(&mut drain);
    }
    assert_eq!(recorder.lost(), BATCH * ROUNDS as u64);
    row("record, room in the ring", room);
    row("record, ring full (lost)", full);
    for bytes in [0, 32, 256, 4096] {
        row(&format!("value of {bytes} bytes"), values(bytes));
    }
}
