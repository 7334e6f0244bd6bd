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
//! **Why.** Let a deadline d be missed, and call jobs due by d good. Another job runs before a good one only if it
//! holds a q whose floor has made it due by d. There cannot be two such jobs: the second would have to run while the
//! first holds its resource, and be due by then; but it is not good, and could not lock before. So one section
//! blocks, with any jitter. Let s be the instant of its lock: no good job is pending then, so from s to d, t long,
//! only that section and good jobs released after s run. By the floor, s + f_q ≤ d. The holder is released by s and
//! due after d; as in `srp`, if D_j − J_j ≤ t the demand includes it.
//!
//! The window counts from the lock, and is longer than that of the job that is late. **The set is tested as under
//! SRP, the job is not delayed as under SRP.** Under SRP, q never blocks a task with D < f_q. Under DFP it may: if q
//! was locked at t − x, the holder is due at t − x + f_q, which is before t + D if x > f_q − D. So a bound per job
//! that is made of SRP's ceilings does not hold under DFP; the longest section of any task that may be due later
//! does.
//!
//! **QPA may jump**, as in `srp`, but h + b also rises at f_q, where no job need be due.

use taut_model::TaskSet;

use super::demand::Demand;
use super::sections::{Section, by_floors};
use super::srp::{Levels, members, test, unmet};
use crate::{Overflow, Verdict};

/// The deadline floor: what a lock adds to its instant. Both variants keep out users that are released late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floors {
    /// The users' shortest D, less the longest J of the core's tasks: one J for all floors.
    Shared,
    /// The users' shortest D − J. Its deadline is never sooner than with `Shared`, so never worse.
    Own,
}

/// Whether the tasks of a core of a set keep their deadlines, with one J for all floors.
///
/// # Errors
/// [`Overflow`] if a horizon or the demand of a window does not fit in 64 bits.
pub fn core(set: &TaskSet, core: usize) -> Result<Verdict<Demand>, Overflow> {
    core_by(set, core, Floors::Shared)
}

/// The same with given floors.
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
