// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! QrtWo: every value in order, as long as the reader keeps up; a full queue discards its oldest value. Real-time
//! writer.
//!
//! # Use
//!
//! Logs, traces and measurements out of a control loop, where the latest stretch without a gap is worth most. If
//! every value must arrive, use [`super::qrtr`]; if a gap makes all values before it worthless, [`super::qrtwc`].
//!
//! # Callers, Progress, State, Invariants, Orderings, Proof, Crash
//!
//! See [`ring`]. For several readers see [`ring::Reader`].
//!
//! # Source
//!
//! [Perez Ruiz 2020, Listing 3]. The printed queue can fail to notice that it is full, report "empty" when it is
//! full, and return values that it has discarded; the cause of all three is that both sides move the head. We differ:
//! each reader keeps its own head, and computes from the tail what was overwritten. The queue uses its whole
//! capacity.
//!
//! # Checked
//!
//! With the ring; see [`ring`].
//!
//! # Example
//!
//! ```
//! use taut_share::{Line, Memory, queue::qrtwo};
//!
//! let mut lines = [const { Line::new() }; 4];
//! let (mut writer, mut reader) = qrtwo::pair::<u64>(Memory::new(&mut lines), 2, 0)?;
//! for n in 1..=5 {
//!     writer.push(&n);
//! }
//! let popped = reader.pop().expect("nobody pushes").expect("two wait");
//! assert_eq!((popped.value, popped.lost), (4, 3));
//! # Ok::<(), taut_share::LayoutError>(())
//! ```

use super::ring;
pub use super::ring::{Overwritten, Popped, PoppedSlice, bytes, spare};

/// A full queue discards its oldest value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overwrite;

impl ring::sealed::Sealed for Overwrite {}

impl ring::DiscardPolicy for Overwrite {
    #[inline(always)]
    fn oldest(_: u64, tail: u64, capacity: u64) -> u64 {
        tail - capacity
    }
}

ring::ends!(Overwrite);
