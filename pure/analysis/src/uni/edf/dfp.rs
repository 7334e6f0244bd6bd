// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Processor demand, EDF, local resources under the deadline floor protocol, release jitter.
//!
//! ```text
//! Equation    h(t) + b(t) ≤ t at every t = D_i − J_i + n · T_i, and every f_q, up to max(L, D_max)
//!             b(t) = max { w_jq : f_q ≤ t < D_j − J_j }
//!             d := min(d, now + f_q) while q is held;  f_q = F_q − J_max, or the least D_k − J_k ([`Floors`])
//! Symbols     as `srp`; F_q the shortest D of q's users k
//! Assumes     A2 to A5 of `srp`   A6 the floor counts from the instant of the lock, and a holder wins a tie
//! Verdict     as `srp`
//! Cost        as `srp`
//! Source      [Burns15] the protocol, and that SRP's test is its test; [Gutierrez13]; with jitter it is ours
//! ```
//!
//! **Why.** Let a deadline d be missed, and jobs due by d be good. Another job runs before a good one only if it holds
//! a q that has made it due by d. Two such jobs cannot be: the second would have to run while the first holds, and be
//! due by then; it is not good, and could not lock before. So one section blocks, with any jitter. Let its lock be at
//! s: no good job is pending then, so from s to d, t long, run that section and good jobs released after s. The floor
//! says s + f_q ≤ d. The holder is released by s and due after d; as in `srp`, if D_j − J_j ≤ t the demand has it.
//!
//! The window counts from the lock, and is longer than that of the job that is late. **The set is tested as under SRP,
//! the job is not delayed as under SRP.** A task with D < f_q is never blocked by q under SRP. Under DFP it may be: q
//! was locked at t − x, so the holder is due at t − x + f_q, which is before t + D if x > f_q − D. So a bound per job
//! that is made of SRP's ceilings is none under DFP; the longest section of any task that may be due later is.
//!
//! **QPA may jump**, as in `srp`, but h + b also rises at f_q, where nobody need be due.

use taut_model::TaskSet;

use super::demand::Demand;
use super::sections::{Section, by_floors};
use super::srp::{Levels, members, test, unmet};
use crate::{Overflow, Verdict};

/// What is added to the instant of a lock. Both keep out users that are told of late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floors {
    /// The users' shortest D, less the longest J of the core's tasks: one J for all.
    Shared,
    /// The users' shortest D − J. Never sooner, so never worse.
    Own,
}

/// Whether the tasks of a core of a set keep their deadlines, with one J for all floors.
///
/// # Errors
/// [`Overflow`] if a horizon or the demand of a window does not fit in 64 bits.
pub fn core(set: &TaskSet, core: usize) -> Result<Verdict<Demand>, Overflow> {
    core_by(set, core, Floors::Shared)
}

/// The same with floors of one's choice.
///
/// # Errors
/// As for [`core()`].
pub fn core_by(set: &TaskSet, core: usize, floors: Floors) -> Result<Verdict<Demand>, Overflow> {
    if let Some(assumption) = unmet(set, core) {
        return Ok(Verdict::NotApplicable(assumption));
    }
    test(set, core, &mut sections(set, core, floors))
}

/// The sections of a core, with the windows that they block.
pub(super) fn sections(set: &TaskSet, core: usize, floors: Floors) -> Vec<Section> {
    let levels = if floors == Floors::Shared { Levels::Deadline } else { Levels::LatestRelease };
    let members = members(set, core, levels);
    let mut times = vec![u64::MAX; set.resources().len()];
    for member in &members {
        for request in set.requests(member.task) {
            times[request.resource] = times[request.resource].min(member.level);
        }
    }
    if floors == Floors::Shared {
        let jitter = set.on_core(core).map(|at| set.tasks()[at].jitter.as_ns()).max().unwrap_or(0);
        times.iter_mut().for_each(|time| *time = time.saturating_sub(jitter));
    }
    by_floors(set, &members, &times)
}
