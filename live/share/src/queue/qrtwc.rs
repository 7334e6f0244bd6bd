// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! QrtWc: every value in order, as long as the reader keeps up; a full queue discards all its values. Real-time
//! writer.
//!
//! # Use
//!
//! Sequences of which a part is worth nothing: increments, deltas, a stream that must start again after a gap. After
//! an overflow the reader gets the value that caused it, and those that follow. If the latest stretch is worth more,
//! use [`super::qrtwo`]; if every value must arrive, [`super::qrtr`].
//!
//! # Callers, Progress, State, Invariants, Orderings, Proof, Crash
//!
//! See [`ring`]. For several readers see [`ring::Reader`].
//!
//! # Source
//!
//! [Perez Ruiz 2020, Listing 4]. The printed queue returns values that it has discarded, and also discards the value
//! that did not fit. We differ: each reader computes from the tail how often the queue was cleared since its last
//! pop; the value that did not fit stays; a push to another slot disturbs no pop. The queue uses its whole capacity.
//!
//! # Checked
//!
//! With the ring; see [`ring`].
//!
//! # Example
//!
//! ```
//! use taut_share::{Line, Memory, queue::qrtwc};
//!
//! let mut lines = [const { Line::new() }; 4];
//! let (mut writer, mut reader) = qrtwc::pair::<u64>(Memory::new(&mut lines), 2, 0)?;
//! for n in 1..=3 {
//!     writer.push(&n);
//! }
//! let popped = reader.pop().expect("nobody pushes").expect("one waits");
//! assert_eq!((popped.value, popped.lost), (3, 2));
//! # Ok::<(), taut_share::LayoutError>(())
//! ```

use super::ring;
pub use super::ring::{Overwritten, Popped, PoppedSlice, bytes, spare};

/// A full queue discards all its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clear;

impl ring::sealed::Sealed for Clear {}

impl ring::DiscardPolicy for Clear {
    #[inline(always)]
    fn oldest(head: u64, tail: u64, capacity: u64) -> u64 {
        // Since `head` was the oldest, every `capacity`-th push found the queue full, and cleared it.
        let clears = (tail - head - 1) / capacity;
        head + clears * capacity
    }
}

ring::ends!(Clear);
