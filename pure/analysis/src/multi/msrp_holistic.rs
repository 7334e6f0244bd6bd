// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! MSRP, charging no remote section more often than it can come.
//!
//! ```text
//! Equation    S_i = Σ_q Σ_{E ≠ E_i} the N_iq longest sections on q that tasks of E can have while a job of i is
//!             pending: x has ⌈(w_i + R_x) / T_x⌉ · N_xq of length w_xq
//!             L and w as in `msrp_gai01`
//! Symbols     [ns] w_i from release, R_x from arrival; all others as in `msrp_gai01`
//! Assumes     as `msrp_gai01`   A6 all tasks keep their deadlines, or nothing is said of any
//! Verdict     sufficient; never more than `msrp_gai01`
//! Cost        rounds of the outer iteration, few
//! Source      [Brandenburg11] B. B. Brandenburg, dissertation, 2011: blocking bounded over all requests
//!             of a job, not one by one
//! ```

use taut_model::TaskSet;
use taut_time::Duration;

use super::bounds::{Bounds, Terms};
use super::contention::{Contention, Part};
use super::fixed_point::{Basis, Charge, Deferral, State, solve, terms_at};
use super::msrp_gai01::arrival_blocking;
use crate::{Assumption, Overflow, Verdict};

/// Bounds the response times of all tasks of a set; every core is of fixed priority.
///
/// # Errors
/// [`Overflow`] if a bound, or the first value past a deadline, does not fit in 64 bits.
pub fn response_times(set: &TaskSet) -> Result<Verdict<Bounds>, Overflow> {
    let contention = match Contention::new(set)? {
        Ok(contention) => contention,
        Err(assumption) => return Ok(Verdict::NotApplicable(assumption)),
    };
    Ok(solve(&contention, Deferral::Never, Basis::Responses, charges(&contention)?)?.verdict())
}

/// S and L alone, of all tasks, if each job ends within `windows` of its release.
///
/// # Errors
/// [`Overflow`] as for [`response_times`].
pub fn blocking(set: &TaskSet, windows: &[Duration]) -> Result<Result<Vec<Terms>, Assumption>, Overflow> {
    match Contention::new(set)? {
        Ok(contention) => terms_at(&contention, windows, charges(&contention)?).map(Ok),
        Err(assumption) => Ok(Err(assumption)),
    }
}

fn charges(
    contention: &Contention,
) -> Result<impl FnMut(usize, &State) -> Result<Charge, Overflow>, Overflow> {
    let tasks = 0..contention.tasks.len();
    let local = tasks.map(|task| arrival_blocking(contention, task)).collect::<Result<Vec<_>, Overflow>>()?;
    Ok(move |task: usize, state: &State| {
        let spin = spin(contention, task, state, |_| true)?;
        Ok(Charge { spin, local: local[task], ..Charge::default() })
    })
}

/// S: the spinning of a job that is pending for w; `spins` says which global resources are so.
pub(crate) fn spin(
    contention: &Contention,
    task: usize,
    state: &State,
    spins: impl Fn(usize) -> bool,
) -> Result<Part, Overflow> {
    let window = state.window[task];
    let core = contention.tasks[task].core;
    let mut sum = Part::default();
    for request in contention.global_of(task).iter().filter(|request| spins(request.resource)) {
        let mut of_resource = Part::default();
        for other in (0..contention.cores).filter(|&other| other != core) {
            let mut left = request.count;
            for theirs in contention.uses(request.resource, other) {
                let jobs = contention.jobs(theirs.task, window, state.response[theirs.task]);
                let count = jobs.saturating_mul(theirs.count).min(left);
                of_resource.add(count, theirs.length, None, None)?;
                left -= count;
                if left == 0 {
                    break;
                }
            }
        }
        sum.add(1, of_resource.time, None, Some(request.resource))?;
    }
    Ok(sum)
}
