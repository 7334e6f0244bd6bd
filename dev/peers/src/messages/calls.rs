// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What one call costs: a send, a take, a push to several readers.

use std::cell::Cell;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use taut_lock::EventCount;
use taut_share::queue::{broadcast, lanes, qrtr};
use taut_share::{LINE_BYTES, Line, Memory};

use super::Named;
use crate::clock::now;
use crate::surroundings::{Signals, Surroundings};

pub(super) type Value = [u64; 8];

pub(super) type Sender = lanes::Writer<'static, qrtr::Writer<'static, Value>>;
pub(super) type Receiver =
    lanes::Reader<'static, qrtr::Reader<'static, Value>, Vec<qrtr::Reader<'static, Value>>>;

/// Up to so many lanes need no flags: the receiver looks at each.
const FEW: usize = 8;
/// Places of each queue.
const CAPACITY: u32 = 16;
/// Calls that are timed one by one.
const SAMPLES: u32 = 20_000;

/// Memory that stays until the program ends: about 4 MB a round.
pub(super) fn memory(bytes: usize) -> Memory<'static> {
    Memory::new(Vec::leak((0..bytes.div_ceil(LINE_BYTES)).map(|_| Line::new()).collect()))
}

fn layout(error: taut_share::LayoutError) -> String {
    error.to_string()
}

/// `count` lanes of `capacity` each, with flags or without.
pub(super) fn lanes_of(
    count: usize,
    capacity: u32,
    flags: bool,
) -> Result<(Vec<Apart<Sender>>, Receiver), String> {
    let flagged = if flags { count as u32 } else { 0 };
    let (mut announcers, collector) = lanes::group(memory(lanes::bytes(flagged)), flagged).map_err(layout)?;
    let mut own = lanes::group(memory(lanes::bytes(count as u32)), count as u32).map_err(layout)?.0;
    let bytes = qrtr::bytes::<Value>(capacity).ok_or("a size")?;
    let (mut senders, mut queues) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let (writer, reader) = qrtr::pair::<Value>(memory(bytes), capacity).map_err(layout)?;
        // Without flags a sender announces where the receiver does not look.
        let announcer = announcers.next().or_else(|| own.next()).ok_or("an announcer for each")?;
        senders.push(Apart(lanes::Writer::new(writer, announcer)));
        queues.push(reader);
    }
    Ok((senders, lanes::Reader::new(collector, queues).map_err(layout)?))
}

/// The mean of the lower nine tenths.
fn lower_mean(samples: &mut [u64]) -> f64 {
    samples.sort_unstable();
    let lower = &samples[..(samples.len() * 9 / 10).max(1)];
    lower.iter().sum::<u64>() as f64 / lower.len() as f64
}

/// Times `call` again and again, and returns ns, less what the timer takes. Before each call it waits until `ready`, but not
/// beyond 400 ms in all.
pub(super) fn timed(
    surroundings: &Surroundings,
    mut ready: impl FnMut() -> bool,
    mut call: impl FnMut(),
) -> f64 {
    let count = SAMPLES / surroundings.haste;
    let (mut samples, mut bare) = (Vec::with_capacity(count as usize), Vec::with_capacity(count as usize));
    let end = now() + surroundings.ticks(400);
    for _ in 0..count {
        for _ in 0..40 {
            spin_loop();
        }
        while !ready() && now() < end {
            spin_loop();
        }
        let begin = now();
        let between = now();
        call();
        samples.push(now() - between);
        bare.push(between - begin);
    }
    (surroundings.clock.ns(1) * (lower_mean(&mut samples) - lower_mean(&mut bare))).max(0.1)
}

/// All figures of calls.
pub(super) fn measured(surroundings: &Surroundings) -> Result<Vec<Named>, String> {
    let mut figures = Vec::new();
    for count in [FEW, 300] {
        for (name, how) in [
            ("push", How::Push),
            ("push + exchange", How::Exchange),
            ("send", How::Send),
            ("send + notify", How::Notify),
        ] {
            figures.push((format!("{name} of {count}"), send(surroundings, count, how)?));
        }
    }
    for (name, flags) in [("take", true), ("scan", false)] {
        figures.push((format!("{name} of 300"), take(surroundings, 300, flags)?));
    }
    for readers in [1, 4, 16] {
        figures.push((format!("broadcast to {readers}"), push(surroundings, readers)?));
    }
    Ok(figures)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// The queue's push alone.
    Push,
    /// A push and an exchange on a word that the receiver loads.
    Exchange,
    /// A push and the lane's flag, if it has one.
    Send,
    /// The same, and the event count of a listener that is awake.
    Notify,
}

/// What one side uses, on lines of its own: no data of the other side lie on them.
#[repr(align(128))]
#[derive(Default)]
pub(super) struct Apart<E>(pub(super) E);

/// A send to each of `count` lanes in turn. The receiver looks and takes, awake.
fn send(surroundings: &Surroundings, count: usize, how: How) -> Result<f64, String> {
    let flags = count > FEW && matches!(how, How::Send | How::Notify);
    let (mut senders, receiver) = lanes_of(count, CAPACITY, flags)?;
    let mut receiver = Box::new(Apart(receiver));
    let (events, asleep, taken) = (EventCount::new(), Apart(AtomicU32::new(0)), Apart(AtomicU64::new(0)));
    let near = |_: &Signals| {
        let (sent, mut lane) = (Cell::new(0), 0);
        let ready = || sent.get() - taken.0.load(Acquire) < u64::from(CAPACITY) / 2;
        timed(surroundings, ready, || {
            let value = black_box([sent.get(); 8]);
            let sender = &mut senders[lane].0;
            let done =
                if flags { sender.send(&value).is_ok() } else { sender.parts().0.push_from(&value).is_ok() };
            match how {
                How::Exchange => drop(black_box(asleep.0.swap(0, AcqRel))),
                How::Notify => drop(black_box(events.notify_from_any())),
                How::Push | How::Send => {}
            }
            lane = if lane + 1 == count { 0 } else { lane + 1 };
            sent.set(sent.get() + u64::from(done));
        })
    };
    let far = |signals: &Signals| {
        let (listener, mut count) = (events.sole_listener(), 0);
        while !signals.stopped() {
            match how {
                How::Exchange => drop(black_box(asleep.0.load(Acquire))),
                How::Notify => drop(black_box(listener.epoch())),
                How::Push | How::Send => {}
            }
            if let Ok(Some(value)) = receiver.0.next() {
                black_box(value);
                count += 1;
                taken.0.store(count, Release);
            }
        }
    };
    surroundings.both(near, far).map(|(figure, _)| figure)
}

/// Takes a value that the other processor has just sent in one of `count` lanes, each time in another one.
fn take(surroundings: &Surroundings, count: usize, flags: bool) -> Result<f64, String> {
    let (mut senders, mut receiver) = lanes_of(count, CAPACITY, flags)?;
    let (wanted, sent) = (Apart(AtomicU64::new(0)), Apart(AtomicU64::new(0)));
    let near = |_: &Signals| {
        let (asked, missed) = (Cell::new(0), Cell::new(0_u64));
        let ready = || {
            if asked.get() == sent.0.load(Acquire) {
                // Asks for the next value, once.
                if wanted.0.load(Relaxed) == asked.get() {
                    wanted.0.store(asked.get() + 1, Release);
                }
                return false;
            }
            true
        };
        let figure = timed(surroundings, ready, || {
            match receiver.next() {
                Ok(Some(value)) => drop(black_box(value)),
                _ => missed.set(missed.get() + 1),
            }
            asked.set(asked.get() + 1);
        });
        (figure, missed.get())
    };
    let far = |signals: &Signals| {
        let (mut done, mut lane) = (0, 0);
        while !signals.stopped() {
            if wanted.0.load(Acquire) == done {
                spin_loop();
                continue;
            }
            let _ = senders[lane].0.send(&[done; 8]);
            // A prime distance apart, so that no two values in turn are in one block.
            lane = (lane + 127) % count;
            done += 1;
            sent.0.store(done, Release);
        }
    };
    let ((figure, missed), _) = surroundings.both(near, far)?;
    if missed > u64::from(SAMPLES / surroundings.haste / 10) {
        return Err(format!("{missed} values were not there"));
    }
    Ok(figure)
}

/// A push to `readers` readers, all of which take on the other processor.
fn push(surroundings: &Surroundings, readers: u32) -> Result<f64, String> {
    let bytes = broadcast::bytes::<Value>(readers, CAPACITY).ok_or("a size")?;
    let (mut writer, all) = broadcast::group::<Value>(memory(bytes), readers, CAPACITY).map_err(layout)?;
    let mut all: Vec<_> = all.map(Apart).collect();
    let taken = Apart(AtomicU64::new(0));
    let near = |_: &Signals| {
        let sent = Cell::new(0);
        let ready = || sent.get() - taken.0.load(Acquire) < u64::from(CAPACITY) / 2;
        timed(surroundings, ready, || {
            let value = black_box([sent.get(); 8]);
            sent.set(sent.get() + u64::from(writer.push(&value).is_ok()));
        })
    };
    let far = |signals: &Signals| {
        let mut count = 0;
        while !signals.stopped() {
            let (last, others) = all.split_last_mut().expect("one at least");
            for reader in others {
                black_box(reader.0.pop().is_ok());
            }
            if let Ok(Some(popped)) = last.0.pop() {
                black_box(popped.value);
                count += 1;
                taken.0.store(count, Release);
            }
        }
    };
    surroundings.both(near, far).map(|(figure, _)| figure)
}
