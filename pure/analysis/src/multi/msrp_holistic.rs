// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! MSRP, charging no remote section more often than it can occur.
//!
//! ```text
//! Equation    S_i = Σ_q Σ_{E ≠ E_i} the N_iq longest sections on q that tasks of E can have while a job of i is
//!             pending: x has ⌈(w_i + R_x) / T_x⌉ · N_xq of length w_xq
//!             L and w as in `msrp_gai01`
//! Symbols     [ns] w_i from release, R_x from arrival; all others as in `msrp_gai01`
//! Assumes     as `msrp_gai01`   A6 all tasks keep their deadlines, or nothing is proven for any
//! Verdict     sufficient; never more than `msrp_gai01`
//! Cost        rounds of the outer iteration, few
//! Source      [Brandenburg11] B. B. Brandenburg, dissertation, 2011: blocking bounded over all requests
//!             of a job, not one by one
//! ```

use taut_model::TaskSet;
use taut_time::Duration;

use super::bounds::{Bounds, ResponseTerms};
use super::contention::{BlockingTerm, Contention, Use};
use super::fixed_point::{Basis, Charge, Deferral, State, solve_from, terms_at};
use super::msrp_gai01::arrival_blockings;
use super::remote::{Question, sections};
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
    let charges = charges(&contention)?;
    Ok(solve_from(&contention, &[], Deferral::Never, Basis::Responses, charges)?.verdict())
}

/// Only S and L, of all tasks, if each job ends within `windows` of its release.
///
/// # Errors
/// [`Overflow`] as for [`response_times`].
pub fn blocking(
    set: &TaskSet,
    windows: &[Duration],
) -> Result<Result<Vec<ResponseTerms>, Assumption>, Overflow> {
    match Contention::new(set)? {
        Ok(contention) => terms_at(&contention, windows, charges(&contention)?).map(Ok),
        Err(assumption) => Ok(Err(assumption)),
    }
}

fn charges(contention: &Contention) -> Result<impl Fn(&State) -> Result<Vec<Charge>, Overflow>, Overflow> {
    let local = arrival_blockings(contention)?;
    Ok(move |state: &State| {
        let spins = spins(contention, state, |_| true)?.into_iter().zip(&local);
        Ok(spins.map(|(spin, &local)| Charge { spin, local, ..Charge::default() }).collect())
    })
}

/// S of all tasks: the spinning of a job that is pending for w; `spins` says for which global resources jobs spin.
pub(crate) fn spins(
    contention: &Contention,
    state: &State,
    spins: impl Fn(usize) -> bool,
) -> Result<Vec<BlockingTerm>, Overflow> {
    // 1. By request.
    let mut times = vec![0; contention.global.len()];
    for resource in (0..contention.resources).filter(|&resource| spins(resource)) {
        let uses = contention.all_uses(resource);
        let question = |own: &Use| Question {
            core: contention.tasks[own.task].core,
            window: state.window[own.task],
            count: own.count,
        };
        let questions: Vec<Question> = uses.iter().map(question).collect();
        let answers = sections(contention, resource, state, &questions)?;
        uses.iter().zip(answers).for_each(|(own, answer)| times[own.request] = answer.longest);
    }
    // 2. By job.
    let of_task = |task: usize| {
        let mut sum = BlockingTerm::default();
        for request in contention.global_of(task).iter().filter(|request| spins(request.resource)) {
            sum.add(1, times[request.request], None, Some(request.resource))?;
        }
        Ok(sum)
    };
    (0..contention.tasks.len()).map(of_task).collect()
}
