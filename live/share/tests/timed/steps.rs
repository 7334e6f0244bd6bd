// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The step bounds of timed slots, counted exactly: `RUSTFLAGS="--cfg steps" cargo test -p taut-share --test steps timed::`.

use taut_atomic::steps::{Steps, count};
use taut_share::queue::timed_slots::{self, Cancellation, Due, PendingSlot};
use taut_share::{LINE_BYTES, Line, Memory};

const NONE: Steps = Steps { loads: 0, stores: 0, exchanges: 0, fences: 0, words: 0 };

type Value = [u64; 8];

fn memory(bytes: usize) -> Memory<'static> {
    Memory::new(Vec::leak((0..bytes.div_ceil(LINE_BYTES)).map(|_| Line::new()).collect()))
}

fn steps(work: impl FnOnce()) -> Steps {
    count(work).1
}

#[test]
fn slots_are_as_documented() {
    for slots in [1, 8, 9, 300_u64] {
        let place = memory(timed_slots::bytes::<Value>(slots as u32).unwrap());
        let (mut setter, mut taker) = timed_slots::pair::<Value>(place, slots as u32).unwrap();
        let blocks = slots.div_ceil(8);
        let found: &mut Vec<(usize, PendingSlot)> = &mut Vec::new();
        // The setter has raised all flags, and the first collection is of all slots.
        let first = Steps { loads: slots, exchanges: slots, ..NONE };
        assert_eq!(steps(|| taker.collect(|_, of| assert_eq!(of, None))), first);
        assert_eq!(steps(|| taker.collect(|_, _| panic!("no news"))), Steps { loads: blocks, ..NONE });
        assert_eq!(steps(|| taker.arm()), Steps { stores: 1, fences: 1, ..NONE });
        assert_eq!(steps(|| taker.narrow(9)), Steps { stores: 1, ..NONE });

        let due = |period| Due { earliest: 5, latest: 5, period };
        let mut tokens = Vec::new();
        for period in [0, 7] {
            if period > 0 && slots == 1 {
                continue;
            }
            let set = Steps { loads: 2, stores: 5, fences: 1, words: 8, ..NONE };
            assert_eq!(steps(|| tokens.push(setter.free().unwrap().set(due(period), &[1; 8]).token)), set);
        }
        let news = tokens.len() as u64;
        let collected = Steps { loads: blocks + 4 * news, exchanges: news, ..NONE };
        assert_eq!(steps(|| taker.collect(|slot, of| found.extend(of.map(|of| (slot, of))))), collected);
        let mut value = [0; 8];
        let taken = Steps { loads: 3, stores: 1, exchanges: 1, words: 8, ..NONE };
        let (slot, of) = found[0];
        assert_eq!(steps(|| assert!(taker.take_into(slot, of, Some, &mut value).is_some())), taken);
        assert_eq!(
            steps(|| assert_eq!(setter.cancel(tokens[0]), Cancellation::Over)),
            Steps { loads: 1, ..NONE }
        );
        if let Some(&(slot, of)) = found.get(1) {
            let repeated = Steps { stores: 2, exchanges: 2, ..taken };
            assert_eq!(steps(|| assert!(taker.take_into(slot, of, Some, &mut value).is_some())), repeated);
            let cancelled = Steps { loads: 1, stores: 2, exchanges: 1, ..NONE };
            assert_eq!(steps(|| assert_eq!(setter.cancel(tokens[1]), Cancellation::Prevented)), cancelled);
        }
        // In use: a load for each slot.
        while setter.free().is_some() {
            setter.free().unwrap().set(due(0), &[2; 8]);
        }
        assert_eq!(steps(|| assert!(setter.free().is_none())), Steps { loads: slots, ..NONE });
    }
}
