// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A ring of recorded values: one recording thread, one draining thread.
//!
//! As the [ring of records](crate::ring()), it is a [`qrtr`](mod@qrtr) on memory of its own, which refuses
//! what does not fit. A record takes one slot for the interaction, and after it as many as its value needs.
//! It is published as a whole or lost as a whole, and losses are counted.
//!
//! ```text
//! slot   0 u64 instant (ns)  8 u32 bytes of the value  12 the interaction, 19 bytes  31 0
//! value  32 bytes in each slot, the rest of the last one 0
//! ```
//!
//! Checked: unit tests; the step count (`tests/steps.rs`); page faults on Linux, in the tests of `taut-run`.

use core::fmt;
use std::sync::Arc;

use taut_atomic::AtomicU64;
use taut_atomic::Ordering::Relaxed;
use taut_event::{INTERACTION_BYTES, Interaction};
use taut_share::ends::{Pop, Push};
use taut_share::owned::{self, Owned};
use taut_share::queue::qrtr;

use crate::ring::{Line, Lost};

const SLOT_BYTES: usize = 32;
type Slot = [u8; SLOT_BYTES];

/// The most shared accesses that [`ValueRecorder::record`] makes besides those to the slots: to the reader's position, and to
/// its own, or to the count of lost records.
pub const VALUE_STEPS: u32 = 2;

/// Slots of a record with a value of this many bytes.
const fn slots(bytes: usize) -> usize {
    1 + bytes.div_ceil(SLOT_BYTES)
}

/// The recording end, owned by one thread.
pub struct ValueRecorder {
    writer: Owned<qrtr::Writer<'static, Slot>>,
    shared_lost: Lost,
    lost: u64,
}

impl fmt::Debug for ValueRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValueRecorder").field("lost", &self.lost).finish_non_exhaustive()
    }
}

/// The draining end, owned by one thread.
pub struct ValueDrain {
    reader: Owned<qrtr::Reader<'static, Slot>>,
    capacity: u32,
    shared_lost: Lost,
    value: Vec<u8>,
}

impl fmt::Debug for ValueDrain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValueDrain").field("lost", &self.lost()).finish_non_exhaustive()
    }
}

/// A ring of as many slots of 32 bytes as `bytes` has room for, at least two, rounded up to a power of two.
///
/// Allocates all memory, and writes to every page of it, so that recording takes no page fault.
///
/// # Panics
/// If there is no memory for that many bytes, or they are more than 2^36.
pub fn value_ring(bytes: u64) -> (ValueRecorder, ValueDrain) {
    let slots = (bytes / SLOT_BYTES as u64).max(2).checked_next_power_of_two();
    let capacity = slots.and_then(|slots| u32::try_from(slots).ok());
    let made = capacity.and_then(|capacity| Some((capacity, owned::qrtr::<Slot>(capacity).ok()?)));
    let (capacity, (mut writer, mut reader)) = made.expect("memory for a ring of values");
    // The kernel may promise zeroed memory without providing it. So this writes every slot once.
    while writer.push(&[u8::MAX; SLOT_BYTES]).is_ok() {}
    while let Ok(Some(_)) = reader.pop() {}
    let shared_lost = Arc::new(Line(AtomicU64::new(0)));
    let recorder = ValueRecorder { writer, shared_lost: Arc::clone(&shared_lost), lost: 0 };
    (recorder, ValueDrain { reader, capacity, shared_lost, value: Vec::new() })
}

impl ValueRecorder {
    /// Records an interaction, with its value if it has one. If the ring has too little room, it counts the record as lost
    /// and returns `false`.
    ///
    /// Wait-free: at most [`VALUE_STEPS`] shared accesses and a copy of the value, no allocation, no system call.
    #[inline]
    pub fn record(&mut self, at_ns: u64, interaction: Interaction, value: &[u8]) -> bool {
        let wanted = slots(value.len());
        let is_recorded = self.writer.with(|writer| {
            let mut chunk = writer.write_chunk(wanted);
            if chunk.len() < wanted {
                return false;
            }
            let mut places = chunk.iter_mut();
            if let Some(head) = places.next() {
                let bytes = u32::try_from(value.len()).unwrap_or(u32::MAX);
                head[..8].copy_from_slice(&at_ns.to_le_bytes());
                head[8..12].copy_from_slice(&bytes.to_le_bytes());
                head[12..31].copy_from_slice(&interaction.to_bytes());
                head[31] = 0;
            }
            for (place, part) in places.zip(value.chunks(SLOT_BYTES)) {
                let (own, rest) = place.split_at_mut(part.len());
                own.copy_from_slice(part);
                rest.fill(0);
            }
            chunk.commit_all();
            true
        });
        if !is_recorded {
            self.lost += 1;
            self.shared_lost.0.store(self.lost, Relaxed);
        }
        is_recorded
    }
}

impl ValueDrain {
    /// Passes the records to `take`, oldest first, with their instants and values, at most as many as the ring holds.
    pub fn drain(&mut self, mut take: impl FnMut(u64, Interaction, &[u8])) {
        let (mut left, Self { reader, value, .. }) = (self.capacity as usize, self);
        while left > 0 {
            // The recorder never leaves an impossible position.
            let Ok(Some(head)) = reader.pop() else { return };
            let (&[at_ns, second, ..], _) = head.value.as_chunks::<8>() else { return };
            let [b0, b1, b2, b3, ..] = second;
            let bytes = u32::from_le_bytes([b0, b1, b2, b3]) as usize;
            value.clear();
            while value.len() < bytes {
                // Published together with its head.
                let Ok(Some(part)) = reader.pop() else { return };
                let wanted = (bytes - value.len()).min(SLOT_BYTES);
                value.extend_from_slice(&part.value[..wanted]);
            }
            left = left.saturating_sub(slots(bytes));
            let mut interaction = [0; INTERACTION_BYTES];
            interaction.copy_from_slice(&head.value[12..31]);
            if let Some(interaction) = Interaction::from_bytes(interaction) {
                take(u64::from_le_bytes(at_ns), interaction, value);
            }
        }
    }

    /// How many records were lost so far.
    pub fn lost(&self) -> u64 {
        self.shared_lost.0.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Drained = Vec<(u64, Interaction, Vec<u8>)>;

    fn drained(drain: &mut ValueDrain) -> Drained {
        let mut all = Vec::new();
        drain.drain(|at_ns, interaction, value| all.push((at_ns, interaction, value.to_vec())));
        all
    }

    fn sent(number: u64) -> Interaction {
        Interaction::Sent { channel: 7, number }
    }

    fn value(bytes: usize, seed: u64) -> Vec<u8> {
        (0..bytes as u64).map(|at| (at.wrapping_mul(31) ^ seed) as u8).collect()
    }

    #[test]
    fn values_of_any_size_in_order_over_many_rounds() {
        let (mut recorder, mut drain) = value_ring(1_024);
        let sizes = [0, 1, 31, 32, 33, 64, 500];
        for round in 0..20u64 {
            let expected: Drained = sizes
                .iter()
                .enumerate()
                .map(|(at, bytes)| {
                    let number = round * 100 + at as u64;
                    (number, sent(number), value(*bytes, number))
                })
                .collect();
            for (at_ns, interaction, value) in &expected {
                assert!(recorder.record(*at_ns, *interaction, value));
            }
            assert_eq!(drained(&mut drain), expected);
        }
        assert_eq!(drain.lost(), 0);
    }

    /// What does not fit is lost as a whole and counted; what came before it and comes after it is not touched.
    #[test]
    fn a_value_that_does_not_fit_is_lost_as_a_whole() {
        let (mut recorder, mut drain) = value_ring(256);
        assert!(recorder.record(1, sent(1), &value(100, 1)));
        assert!(!recorder.record(2, sent(2), &value(100, 2)), "three slots are left");
        assert!(recorder.record(3, sent(3), &value(64, 3)));
        assert!(!recorder.record(4, sent(4), &[]), "none is left");
        assert_eq!(drain.lost(), 2);
        assert_eq!(drained(&mut drain), [(1, sent(1), value(100, 1)), (3, sent(3), value(64, 3))]);
        assert!(!recorder.record(5, sent(5), &value(257, 5)), "longer than the ring");
        assert!(recorder.record(6, sent(6), &value(200, 6)));
        assert_eq!((drained(&mut drain), drain.lost()), (vec![(6, sent(6), value(200, 6))], 3));
    }

    #[test]
    fn two_threads_lose_nothing_unseen() {
        const RECORDS: u64 = if cfg!(miri) { 100 } else { 100_000 };
        let (mut recorder, mut drain) = value_ring(4_096);
        let thread = std::thread::spawn(move || {
            let recorded =
                (0..RECORDS).filter(|n| recorder.record(*n, sent(*n), &value((n % 90) as usize, *n)));
            recorded.count() as u64
        });
        let (mut thread, mut next, mut seen) = (Some(thread), 0, 0);
        loop {
            // `is_finished` orders nothing: only `join` makes the thread's last writes visible.
            let recorded = thread.take_if(|thread| thread.is_finished()).map(|thread| thread.join().unwrap());
            drain.drain(|at_ns, interaction, got| {
                assert!(at_ns >= next, "order");
                assert_eq!((interaction, got), (sent(at_ns), &*value((at_ns % 90) as usize, at_ns)), "torn");
                (next, seen) = (at_ns + 1, seen + 1);
            });
            if let Some(recorded) = recorded {
                assert_eq!((seen, drain.lost()), (recorded, RECORDS - recorded));
                break;
            }
        }
    }
}
