// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the order of pending alarms costs its receiver: the heap of `taut-policy`, with 10,000 alarms pending.

use std::hint::black_box;

use taut_policy::queue::{Heap, HeapSlot, QueueEnd, ReadyQueue};

use super::Named;
use crate::clock::now;
use crate::figures::percentile;
use crate::surroundings::Surroundings;

/// Alarms that are pending all the time.
const PENDING: usize = 10_000;
/// Cancellations, and expiries, that are timed one by one; of insertions twice as many.
const SAMPLES: u32 = 100_000;

/// Instants and slots at random (xorshift).
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// The ticks of one call, and those of the timer alone.
fn timed<R>(call: impl FnOnce() -> R) -> (u64, u64) {
    let begin = now();
    let between = now();
    black_box(call());
    (now() - between, between - begin)
}

/// Inserts alarms, and cancels or expires as many. A random one is cancelled; the first one expires.
pub(super) fn measured(surroundings: &Surroundings) -> Result<Vec<Named>, String> {
    let mut heap = Heap::new(vec![HeapSlot::EMPTY; PENDING + 1].into_boxed_slice());
    let mut draw = Draw(0x9E37_79B9_7F4A_7C15);
    let mut clock_ns = 0;
    for slot in 0..PENDING {
        heap.insert(slot, draw.below(1 << 30), QueueEnd::Back).map_err(|refused| format!("{refused:?}"))?;
    }
    let mut free = PENDING;
    let names = ["insert", "cancel", "expire"];
    let mut samples: [Vec<u64>; 3] = Default::default();
    let mut bare = 0;
    let count = 2 * SAMPLES / surroundings.haste;
    for at in 0..count {
        let due_ns = clock_ns + draw.below(1 << 30);
        let (ticks, timer) = timed(|| heap.insert(free, due_ns, QueueEnd::Back));
        samples[0].push(ticks);
        bare += timer;
        if at % 2 == 0 {
            let slot = draw.below(PENDING as u64 + 1) as usize;
            let (ticks, _) = timed(|| heap.remove(slot));
            samples[1].push(ticks);
            free = slot;
        } else {
            let mut first = None;
            let (ticks, _) = timed(|| first = heap.take_first());
            samples[2].push(ticks);
            (free, clock_ns) = first.ok_or("the heap is never empty")?;
        }
    }
    let (tick_ns, timer) = (surroundings.clock.ns(1), bare as f64 / f64::from(count));
    let mut figures = Vec::new();
    for (name, samples) in names.into_iter().zip(&mut samples) {
        let mean = samples.iter().sum::<u64>() as f64 / samples.len() as f64;
        let high = percentile(samples, 0.999) as f64;
        for (what, ticks) in [("mean", mean), ("p99.9", high)] {
            figures.push((format!("alarm {name} {what}"), (tick_ns * (ticks - timer)).max(0.1)));
        }
    }
    Ok(figures)
}
