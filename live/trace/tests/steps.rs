// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The step bounds of `record`, of events and of values, counted: `RUSTFLAGS="--cfg steps" cargo test -p taut-trace --test steps`.
#![cfg(steps)]

use taut_atomic::steps::{Steps, count};
use taut_event::{Interaction, Kind, Record};
use taut_time::Instant;
use taut_trace::{RingOwner, STEPS, VALUE_STEPS, ring, value_ring};

const NONE: Steps = Steps { loads: 0, stores: 0, exchanges: 0, fences: 0, words: 0 };

#[test]
fn steps_are_bounded() {
    let (mut recorder, mut drain) = ring(RingOwner::Task(0), 4);
    let at = Instant::from_ns(7);
    let record = Record { at, kind: Kind::Send, cpu: 0, subject: 0, job: 0, value: 0 };
    let (mut most, mut refused) = (NONE, NONE);
    for i in 0..100 {
        let (is_recorded, steps) = count(|| recorder.record(record));
        let kind = if is_recorded { &mut most } else { &mut refused };
        if steps.total() > kind.total() {
            *kind = steps;
        }
        if i % 7 == 0 {
            drain.drain(|_| {});
        }
    }
    assert_eq!(most, Steps { loads: 1, stores: 1, words: 4, ..NONE });
    assert_eq!(most.total(), u64::from(STEPS));
    assert_eq!(refused, Steps { loads: 1, stores: 1, ..NONE });
}

/// Besides the slots, which a chunk writes at once, recording a value takes two accesses, whatever its size.
#[test]
fn steps_of_values_are_bounded() {
    let (mut recorder, mut drain) = value_ring(4 << 10);
    let mut most = [0; 2];
    for i in 0..200 {
        let value = vec![7; i * 13 % 1_000];
        let interaction = Interaction::Sent { channel: 0, number: i as u64 };
        let (is_recorded, steps) = count(|| recorder.record(1, interaction, &value));
        most[usize::from(is_recorded)] = most[usize::from(is_recorded)].max(steps.loads + steps.stores);
        if i % 7 == 0 {
            drain.drain(|_, _, _| {});
        }
    }
    assert_eq!(most, [u64::from(VALUE_STEPS); 2]);
}
