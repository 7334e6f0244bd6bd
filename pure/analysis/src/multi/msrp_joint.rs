// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! MSRP, spinning counted per core, not per job: no remote section is charged twice in a window.
//!
//! ```text
//! Equation    w_i = C_i + V_i + Σ_{h∈hp} m_h · C_h;  R = w + J;  m_h = ⌈(w_i + J_h) / T_h⌉
//!             V_i = min( S_i + Σ_{h∈hp} m_h · S_h + L_i,  V'_i );  S of `msrp_holistic`, L of `msrp_gai01`
//!             V'_i = Σ_q Σ_{E ≠ E_i} top(F_q)  +  max( c_i,  max { Σ_{E ≠ E_i} next(F_q) + w_lq : l∈lp, q } )
//!             F_q = N_iq + Σ_{h∈hp} m_h · N_hq
//!             In the window a task x of E can have ⌈(w_i + R_x) / T_x⌉ · N_xq sections on q of length w_xq. Of the
//!             sections of all x, top(F) is the sum of the F longest, next(F) the longest after those
//! Symbols     [ns] w_i from release, R_x from arrival, C cost without spinning, J jitter, T period, N requests of a job,
//!             w_lq longest section, E core, c_i longest section of a less urgent task on a local resource with a
//!             ceiling at least as urgent as i; hp, lp: same core
//! Assumes     as `msrp_holistic`
//! Verdict     sufficient; never more than `msrp_holistic`
//! Cost        rounds of the outer iteration, few
//! Source      [Wieder13] blocking as a mixed-integer linear program, with these rows; solved here without a solver
//! ```
//!
//! **Why.** Let a stretch start at t in which some job of i or hp is pending at all times, and none just before t,
//! and let a job of i be released in it. During the stretch the core executes these jobs, or spins for them, or
//! executes or spins for the one less urgent job that was in a section or spinning at t. Up to t + w, m_h jobs of h
//! are released and, as w + J ≤ D ≤ T, one of i. These jobs make F_q requests for q, and the less urgent job makes one
//! if it did not hold a local resource. Each such request waits for at most one section of each other core, as the
//! job is not preempted and queues are first come, first served, and no section executes twice. So w bounds all work
//! of the stretch, which ends by t + w.
//!
//! As a program: X are the parts of remote requests that delay one of the F_q requests, Y those that delay the less
//! urgent job's request, and A_q is 1 if that request is for q: Σ_{x on E} X_xq ≤ F_q, Σ_{x on E} Y_xq ≤ A_q,
//! X + Y ≤ requests, Σ A ≤ 1. For each choice of A, every row is about one q and one E, so the longest sections are
//! the maximum: no solver is needed. The other operand of min counts the sections that each job can meet in its own
//! window; their sum may be less.

use taut_model::TaskSet;

use super::bounds::Bounds;
use super::contention::{BlockingTerm, Contention, Use};
use super::fixed_point::{Basis, Charge, Deferral, State, solve_from};
use super::msrp_gai01::arrival_blockings;
use super::msrp_holistic::spins;
use super::remote::{Question, Sections, sections};
use crate::{Overflow, Verdict};

/// Bounds the response times of all tasks of a set; every core is scheduled by fixed priority.
///
/// # Errors
/// [`Overflow`] if a bound, or the first value past a deadline, does not fit in 64 bits.
pub fn response_times(set: &TaskSet) -> Result<Verdict<Bounds>, Overflow> {
    let contention = match Contention::new(set)? {
        Ok(contention) => contention,
        Err(assumption) => return Ok(Verdict::NotApplicable(assumption)),
    };
    let fixed = Fixed::new(&contention)?;
    let charges = |state: &State| fixed.charges(&contention, state);
    Ok(solve_from(&contention, &[], Deferral::Never, Basis::Responses, charges)?.verdict())
}

/// m.
fn jobs(contention: &Contention, task: usize, other: usize, state: &State) -> u64 {
    contention.jobs(other, state.window[task], contention.tasks[other].jitter).max(1)
}

/// What does not depend on a window.
struct Fixed {
    /// L of each task.
    arrival: Vec<BlockingTerm>,
    /// c of each task.
    ceiling: Vec<BlockingTerm>,
    /// Per core, the global resources that its tasks use, in their order.
    used: Vec<Vec<usize>>,
}

impl Fixed {
    fn new(contention: &Contention) -> Result<Self, Overflow> {
        let ceiling = |task: usize| {
            let lower = contention.lower(task).iter();
            lower.fold(BlockingTerm::default(), |longest, &lower| {
                longest.larger(contention.ceiling_section(task, lower))
            })
        };
        let mut used: Vec<Vec<usize>> = vec![Vec::new(); contention.cores];
        for resource in 0..contention.resources {
            for user in contention.all_uses(resource) {
                let of_core = &mut used[contention.tasks[user.task].core];
                if of_core.last() != Some(&resource) {
                    of_core.push(resource);
                }
            }
        }
        Ok(Self {
            arrival: arrival_blockings(contention)?,
            ceiling: (0..contention.tasks.len()).map(ceiling).collect(),
            used,
        })
    }

    /// For each task the lower of two charges: S and L, job by job, or V'.
    fn charges(&self, contention: &Contention, state: &State) -> Result<Vec<Charge>, Overflow> {
        let spins = spins(contention, state, |_| true)?;
        let joint = self.joint(contention, state)?;
        let lower = |(task, joint): (usize, Charge)| {
            let each = self.each(contention, task, state, &spins)?;
            let total = |charge: &Charge| charge.shared.time.checked_add(charge.local.time).ok_or(Overflow);
            Ok(if total(&each)? < total(&joint)? { each } else { joint })
        };
        joint.into_iter().enumerate().map(lower).collect()
    }

    /// S and L, job by job.
    fn each(
        &self,
        contention: &Contention,
        task: usize,
        state: &State,
        spins: &[BlockingTerm],
    ) -> Result<Charge, Overflow> {
        let mut shared = spins[task];
        for higher in contention.higher(task) {
            let jobs = jobs(contention, task, higher, state);
            shared.add(jobs, spins[higher].time, None, spins[higher].peak.resource)?;
        }
        Ok(Charge { shared, local: self.arrival[task], ..Charge::default() })
    }

    /// V' of all tasks.
    fn joint(&self, contention: &Contention, state: &State) -> Result<Vec<Charge>, Overflow> {
        // 1. F, of each task and each resource that its core uses.
        let mut questions: Vec<Vec<Question>> = vec![Vec::new(); contention.resources];
        let mut asked = vec![0; contention.resources];
        for (task, row) in contention.tasks.iter().enumerate() {
            for &resource in &self.used[row.core] {
                asked[resource] = 0;
            }
            for request in contention.global_of(task) {
                asked[request.resource] = request.count;
            }
            for higher in contention.higher(task) {
                let jobs = jobs(contention, task, higher, state);
                for request in contention.global_of(higher) {
                    let count = &mut asked[request.resource];
                    let more = jobs.checked_mul(request.count).and_then(|more| more.checked_add(*count));
                    *count = more.ok_or(Overflow)?;
                }
            }
            let window = state.window[task];
            for &resource in &self.used[row.core] {
                questions[resource].push(Question { core: row.core, window, count: asked[resource] });
            }
        }
        // 2. The longest sections, and the section after them, for which a less urgent request may wait.
        let answers = questions.iter().enumerate();
        let answers = answers.map(|(resource, questions)| sections(contention, resource, state, questions));
        let answers = answers.collect::<Result<Vec<_>, Overflow>>()?;
        let mut answers: Vec<_> = answers.into_iter().map(Vec::into_iter).collect();
        let mut charges = Vec::with_capacity(contention.tasks.len());
        for (task, row) in contention.tasks.iter().enumerate() {
            let (mut shared, mut local) = (BlockingTerm::default(), self.ceiling[task]);
            for &resource in &self.used[row.core] {
                let Sections { longest, next } = answers[resource].next().unwrap_or_default();
                shared.add(1, longest, None, Some(resource))?;
                // 3. The less urgent request that blocks.
                let lower = |use_: &&Use| contention.tasks[use_.task].priority < row.priority;
                if let Some(section) = contention.uses(resource, row.core).iter().find(lower) {
                    let time = next.checked_add(section.length).ok_or(Overflow)?;
                    local = local.larger(BlockingTerm::of(time, section.task, resource));
                }
            }
            charges.push(Charge { shared, local, ..Charge::default() });
        }
        Ok(charges)
    }
}

#[cfg(test)]
mod tests {
    use super::super::drawn::{Draw, set};
    use super::super::fixed_point::solve;
    use super::super::msrp_gai01::span;
    use super::super::{Status, msrp_holistic};
    use super::*;

    /// The equations as printed above, walking over all cores for each task: the reference for the fast form.
    mod slow {
        use super::*;

        pub(super) fn response_times(contention: &Contention) -> Result<Verdict<Bounds>, Overflow> {
            let mut asked = vec![0; contention.resources];
            let charge = |task: usize, state: &State| {
                let joint = joint(contention, task, state, &mut asked)?;
                let each = each(contention, task, state)?;
                let total =
                    |charge: &Charge| charge.shared.time.checked_add(charge.local.time).ok_or(Overflow);
                Ok(if total(&each)? < total(&joint)? { each } else { joint })
            };
            Ok(solve(contention, Deferral::Never, Basis::Responses, charge)?.verdict())
        }

        pub(super) fn holistic(contention: &Contention) -> Result<Verdict<Bounds>, Overflow> {
            let charge = |task: usize, state: &State| {
                let (spin, local) =
                    (spin(contention, task, state, |_| true)?, arrival_blocking(contention, task)?);
                Ok(Charge { spin, local, ..Charge::default() })
            };
            Ok(solve(contention, Deferral::Never, Basis::Responses, charge)?.verdict())
        }

        /// S: the spinning of a job that is pending for w; `spins` says for which global resources jobs spin.
        fn spin(
            contention: &Contention,
            task: usize,
            state: &State,
            spins: impl Fn(usize) -> bool,
        ) -> Result<BlockingTerm, Overflow> {
            let window = state.window[task];
            let core = contention.tasks[task].core;
            let mut sum = BlockingTerm::default();
            for request in contention.global_of(task).iter().filter(|request| spins(request.resource)) {
                let mut of_resource = BlockingTerm::default();
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

        /// L: one section of a less urgent task that has just started; a global one includes its spinning.
        fn arrival_blocking(contention: &Contention, task: usize) -> Result<BlockingTerm, Overflow> {
            let mut longest = BlockingTerm::default();
            for &lower in contention.lower(task) {
                longest = longest.larger(contention.ceiling_section(task, lower)).larger(span(
                    contention,
                    lower,
                    |_| true,
                )?);
            }
            Ok(longest)
        }

        /// S and L, job by job.
        fn each(contention: &Contention, task: usize, state: &State) -> Result<Charge, Overflow> {
            let mut shared = spin(contention, task, state, |_| true)?;
            for higher in contention.higher(task) {
                let spin = spin(contention, higher, state, |_| true)?;
                let jobs = jobs(contention, task, higher, state);
                shared.add(jobs, spin.time, None, spin.peak.resource)?;
            }
            Ok(Charge { shared, local: arrival_blocking(contention, task)?, ..Charge::default() })
        }

        /// V'. `asked` is scratch space for F.
        fn joint(
            contention: &Contention,
            task: usize,
            state: &State,
            asked: &mut [u64],
        ) -> Result<Charge, Overflow> {
            // 1. F.
            asked.fill(0);
            let own = contention.tasks[task].core;
            for request in contention.global_of(task) {
                asked[request.resource] = request.count;
            }
            for higher in contention.higher(task) {
                let jobs = jobs(contention, task, higher, state);
                for request in contention.global_of(higher) {
                    let count = jobs
                        .checked_mul(request.count)
                        .and_then(|count| count.checked_add(asked[request.resource]));
                    asked[request.resource] = count.ok_or(Overflow)?;
                }
            }
            // 2. The longest sections, and the section after them, for which a less urgent request may wait.
            let (mut shared, mut local) = (BlockingTerm::default(), BlockingTerm::default());
            for &lower in contention.lower(task) {
                local = local.larger(contention.ceiling_section(task, lower));
            }
            for (resource, &count) in asked.iter().enumerate() {
                let (mut longest, mut next) = (BlockingTerm::default(), 0u64);
                for core in (0..contention.cores).filter(|&core| core != own) {
                    let mut left = count;
                    for theirs in contention.uses(resource, core) {
                        let window = state.window[task];
                        let most = contention.jobs(theirs.task, window, state.response[theirs.task]);
                        let most = most.saturating_mul(theirs.count);
                        let taken = most.min(left);
                        longest.add(taken, theirs.length, None, None)?;
                        left -= taken;
                        if most > taken {
                            next = next.checked_add(theirs.length).ok_or(Overflow)?;
                            break;
                        }
                    }
                }
                shared.add(1, longest.time, None, Some(resource))?;
                // 3. The less urgent request that blocks.
                let lower =
                    |use_: &&Use| contention.tasks[use_.task].priority < contention.tasks[task].priority;
                if let Some(section) = contention.uses(resource, own).iter().find(lower) {
                    let time = next.checked_add(section.length).ok_or(Overflow)?;
                    local = local.larger(BlockingTerm::of(time, section.task, resource));
                }
            }
            Ok(Charge { shared, local, ..Charge::default() })
        }
    }

    #[test]
    fn all_numbers_are_those_of_the_slow_form() {
        let mut draw = Draw(11);
        let (mut proven, mut passed) = (0, 0);
        for round in 0..400 {
            // Some sets have so many cores that questions are answered together.
            let (cores, each) =
                if round % 10 == 0 { (40, 3) } else { (draw.below(6) + 1, draw.below(5) + 1) };
            let resources = draw.below(4) + 1;
            let set = set(&mut draw, cores, each, resources);
            let contention = Contention::new(&set).expect("fits").expect("applies");
            let found = response_times(&set);
            assert_eq!(found, slow::response_times(&contention), "{set:?}");
            assert_eq!(msrp_holistic::response_times(&set), slow::holistic(&contention), "{set:?}");
            match found.expect("fits") {
                Verdict::Schedulable(_) => proven += 1,
                Verdict::NotShown(crate::Why::Passes(bounds)) => {
                    passed += usize::from(bounds.tasks.iter().any(|task| task.status == Status::Passes));
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(proven > 40 && passed > 40, "{proven} {passed}");
    }
}
