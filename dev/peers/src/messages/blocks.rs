// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What it takes to move a block to the other processor, large or small.

use std::cell::Cell;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};

use taut_share::{LINE_BYTES, Line, Memory, bulk};

use super::Named;
use super::calls::{Apart, timed};
use crate::surroundings::{Signals, Surroundings};

/// Blocks of a pool: one that the receiver has, one that is on the way, one that the sender fills.
const BLOCKS: u32 = 3;

/// Trips of blocks of 64 B and of 10 MiB.
pub(super) fn measured(surroundings: &Surroundings) -> Result<Vec<Named>, String> {
    Ok(vec![
        ("block of 64 B".to_owned(), trip::<8>(surroundings)?),
        ("block of 10 MiB".to_owned(), trip::<{ (10 << 20) / 8 }>(surroundings)?),
    ])
}

/// From the loan of a block until the other processor has received it and has looked at its first 64 bytes, which the sender
/// has written.
fn trip<const N: usize>(surroundings: &Surroundings) -> Result<f64, String> {
    let bytes = bulk::bytes::<[u64; N]>(BLOCKS).ok_or("a size")?;
    let mut lines: Vec<Line> = (0..bytes / LINE_BYTES).map(|_| Line::new()).collect();
    let ends = bulk::pair::<[u64; N]>(Memory::new(&mut lines), BLOCKS).map_err(|error| error.to_string())?;
    let (sender, receiver) = (Apart(ends.0), Apart(ends.1));
    let taken = Apart(AtomicU64::new(0));
    let taken = &taken;
    let near = move |signals: &Signals| {
        let refused = Cell::new(0_u64);
        let figure = timed(
            surroundings,
            || true,
            || {
                let Some(mut block) = sender.0.loan() else { return refused.set(refused.get() + 1) };
                let number = block.number();
                block[..8].fill(number);
                block.send_stamped(number);
                while taken.0.load(Acquire) < number && !signals.stopped() {
                    spin_loop();
                }
            },
        );
        (figure, refused.get())
    };
    let far = move |signals: &Signals| {
        while !signals.stopped() {
            if let Ok(Some(block)) = receiver.0.receive() {
                black_box(block[..8].iter().sum::<u64>() + block.stamp());
                let number = block.number();
                drop(block);
                taken.0.store(number, Release);
            }
        }
    };
    let ((figure, refused), _) = surroundings.both(near, far)?;
    if refused > 0 { Err(format!("{refused} blocks were not there")) } else { Ok(figure) }
}
