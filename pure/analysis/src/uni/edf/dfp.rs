// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Processor demand, EDF, local resources under the deadline floor protocol.
//!
//! ```text
//! Equation    that of `srp`
//! Symbols     [ns] F_q the deadline floor: the shortest D of q's users; d := min(d, now + F_q) while q is held
//! Assumes     as `srp`   A6 the floor counts from the instant of the lock, and a holder wins a tie of deadlines
//! Verdict     as `srp`
//! Cost        as `srp`
//! Source      [Burns15] the protocol, and that SRP's test is its test; [Gutierrez13]
//! ```
//!
//! **The set is tested as under SRP, the job is not delayed as under SRP.** A task with D < F_q is never blocked by q
//! under SRP. Under DFP it may be: q was locked at t − x, so the holder is due at t − x + F_q, which is before t + D if
//! x > F_q − D. What is left of the section is then at most w − x. So a bound per job that is made of SRP's ceilings is
//! none under DFP; the longest section of any task with a longer deadline is.
//!
//! The test holds nevertheless: the window from the lock to the deadline is x longer, x + D ≥ F_q, so b has w in it,
//! and h(x + D) + w ≤ x + D leaves h(D) + (w − x) ≤ D.

use taut_model::TaskSet;

use super::demand::Demand;
use crate::{Overflow, Verdict};

/// Whether the tasks of a core of a set keep their deadlines.
///
/// # Errors
/// [`Overflow`] if a horizon or the demand of a window does not fit in 64 bits.
pub fn core(set: &TaskSet, core: usize) -> Result<Verdict<Demand>, Overflow> {
    super::srp::core(set, core)
}
