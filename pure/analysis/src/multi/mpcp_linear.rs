// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! MPCP, charging no section twice: waiting as the maximum of a linear program.
//!
//! ```text
//! Equation    w_i = C_i + V_i + Σ_{h∈hp} ⌈(w_i + δ_h) / T_h⌉ · C_h;  R = w + J;  δ_h as in `mpcp_lnr09_sound`
//!             V_i = min( B_i + L_i of `mpcp_lnr09_sound`,
//!                        max Σ w_xq · (D_xq + I_xq) + Σ w_yq · L_yq + Σ c_y · K_y  over the rows below )
//! Symbols     [ns] w from release, R from arrival, C cost, J jitter, T period, w_xq longest section,
//!             c_y longest section of y on a local resource with a ceiling at least as urgent as i
//!             how many requests are not complete while a job of i is pending, in fractions of their length:
//!             D while they hold what i waits for, I while they keep such a holder from running (x on other cores);
//!             L while they keep i or such a holder from running (y less urgent, same core); K: y's local sections
//!             H_xq how many requests of x for q hold it while i waits for it
//!             N requests of a job, n_x = ⌈(w_i + R_x) / T_x⌉ jobs, b_iq as in `mpcp_lnr09_sound`
//! Rows        1  D_xq + I_xq ≤ n_x · N_xq;  L_yq ≤ n_y · N_yq;  H_xq ≤ n_x · N_xq;  D_xq ≤ H_xq
//!             2  Σ { H_xq : x less urgent } ≤ N_iq
//!             3  H_xq ≤ N_iq · ⌈(b_iq + R_x) / T_x⌉ · N_xq  for x as urgent or more, if b_iq ≤ T_i
//!             4  Σ { I_yp : ceiling(p) ≤ c } ≤ Σ { H_xq : x ≠ y, core of y, ceiling(q) ≤ c }  for each y and ceiling c
//!             5  K_y + Σ_p L_yp ≤ 1 + Σ_q N_iq + G_i;  G_i = Σ { H_xq : x as urgent or more, same core }
//!             6  K_y + Σ_p L_yp ≤ 1 + Σ_{x, q} H_xq + G_i
//!             7  Σ_y K_y ≤ 1 + Σ_q N_iq,  Σ_y K_y ≤ 1 + Σ_{x, q} H_xq
//! Assumes     as `mpcp_lnr09_sound`   A5 R_x bounds x: all tasks keep their deadlines, or nothing is proven for any
//! Verdict     sufficient; never above `mpcp_lnr09_sound` in V for the same w
//! Cost        a linear program per task and round of the outer iteration: for 80 tasks thousands of times that of
//!             `mpcp_lnr09_sound`; the solver has no limit of steps
//! Source      [Brandenburg13] blocking as a linear program; the rows are ours, each proven here
//! ```
//!
//! **What is charged.** Take an instant at which a job of i is pending, and neither it nor a task of its core that is
//! at least as urgent executes. One of these holds, and the instant is charged to one request:
//! - The job waits for q, and another task x holds q: queues hand over at once. If x executes, D_xq; or L_xq, if x is
//!   less urgent and of the same core. If x does not execute, a job that is boosted to x's ceiling or above does on x's
//!   core, in a section of y on p: I_yp; or L_yp, if that is the core of i.
//! - The job does not wait. A less urgent job executes in its place: boosted, L_yp; or in a local section, K_y.
//!
//! **Rows.** 1. A section executes once, whatever it is charged to, and each request is of a job that overlaps the
//! window. A job that executes while it holds q is a holder. 2. Per request, at most one less urgent x can hold q:
//! the one that held it when i made the request. 3. A request waits b_iq at most, and in that time at most so many
//! requests of x come. 4. As long as x holds q, no job on its core runs that is not boosted. So y makes no new
//! request: at most one request of y, pending when x was given q, comes before x; and its ceiling is at least as
//! urgent as that of q. 5. i becomes ready when it is released, and when it continues after a wait. From then until
//! it waits again or completes, no less urgent task of its core executes outside of sections, so none makes a
//! request: what blocks i was pending when i became ready, one request or one local section for each y. That also
//! holds for what blocks i in the wait that follows, if a less urgent task of the core holds q: boosted and ready it
//! would have run in i's place, so it was given q at the very instant at which i made the request; and a job that
//! keeps it from running had also made its request before i became ready. If a task of the core that is at least as
//! urgent holds q, each y blocks once each time, as in row 4: that is G. 6. i waits only if another task holds q,
//! with another request each time: the earlier one has released q by the time i has had it. 7. Of the local sections
//! with such a ceiling, one can block each time that i becomes ready: under ceilings the first keeps all others out.
//!
//! In any run, the counts of requests and the fractions of their lengths are a solution of the program. It may have
//! larger ones: the maximum over fractions is not below any run. `multi::linear` says why a solver in floating point
//! is enough.
//!
//! V is not split: it is reported under `remote_blocking` for a task that requests a global resource, else under
//! `local_blocking`.

use taut_model::TaskSet;

use super::bounds::Bounds;
use super::contention::{BlockingTerm, Contention};
use super::fixed_point::{Basis, Charge, Deferral, State, solve};
use super::linear::Program;
use super::mpcp_blocking::{Waits, ceilings, waits};
use crate::{Overflow, Verdict};

/// Bounds the response times of all tasks of a set; every core is of fixed priority.
///
/// # Errors
/// [`Overflow`] if a bound, or the first value past a deadline, does not fit in 64 bits.
pub fn response_times(set: &TaskSet) -> Result<Verdict<Bounds>, Overflow> {
    let contention = match Contention::new(set)? {
        Ok(contention) => contention,
        Err(assumption) => return Ok(Verdict::NotApplicable(assumption)),
    };
    let mut wait = Waiting::new(&contention)?;
    let charge = |task: usize, state: &State| wait.charge(task, state);
    Ok(solve(&contention, Deferral::Response, Basis::Responses, charge)?.verdict())
}

/// The input of the programs of all tasks, and their last results.
struct Waiting<'a> {
    contention: &'a Contention,
    ceilings: Vec<u32>,
    waits: Vec<Waits>,
    program: Program,
    /// Per task, V and what it was computed from: how many jobs of every other task, in the window and in waits.
    known: Vec<(Vec<u64>, u64)>,
    counts: Vec<u64>,
}

/// Variables of a request of another task.
#[derive(Clone, Copy)]
struct Theirs {
    /// Position in [`Contention::global`].
    request: usize,
    /// H, if i requests the same resource.
    holds: Option<usize>,
    /// I on another core, L on the core of i.
    delays: Option<usize>,
}

impl<'a> Waiting<'a> {
    fn new(contention: &'a Contention) -> Result<Self, Overflow> {
        Ok(Self {
            contention,
            ceilings: ceilings(contention),
            waits: waits(contention)?,
            program: Program::default(),
            known: vec![(Vec::new(), 0); contention.tasks.len()],
            counts: Vec::new(),
        })
    }

    fn charge(&mut self, task: usize, state: &State) -> Result<Charge, Overflow> {
        let Charge { local, remote, .. } = self.waits[task].charge;
        let plain = local.time.checked_add(remote.time).ok_or(Overflow)?;
        // 1. The program of these numbers of jobs, unless its result is known.
        self.count(task, state);
        if self.known[task].0 != self.counts {
            self.build(task);
            // Larger counts have no smaller maximum, but the solver may find a smaller bound.
            let least = self.known[task].1;
            self.known[task] = (self.counts.clone(), self.program.bound()?.max(least));
        }
        // 2. The better bound. A task with global requests may suspend, so its time must count as remote.
        let time = self.known[task].1.min(plain);
        let peak = remote.larger(local).peak;
        let all = BlockingTerm { time, peak };
        Ok(if self.contention.tasks[task].count > 0 {
            Charge { remote: all, ..Charge::default() }
        } else {
            Charge { local: all, ..Charge::default() }
        })
    }

    /// How many jobs of each task overlap the window, and how often each request for a resource of i can come in a
    /// wait.
    fn count(&mut self, task: usize, state: &State) {
        let Self { contention, waits, counts, .. } = self;
        counts.clear();
        let window = state.window[task];
        let jobs = |other: usize| contention.jobs(other, window, state.response[other]);
        counts.extend((0..contention.tasks.len()).map(jobs));
        for (own, wait) in contention.global_of(task).iter().zip(&waits[task].each) {
            for other in contention.all_uses(own.resource) {
                let times = if *wait > contention.tasks[task].period {
                    u64::MAX
                } else {
                    contention.jobs(other.task, *wait, state.response[other.task])
                };
                counts.push(times);
            }
        }
    }

    fn build(&mut self, task: usize) {
        let Self { contention, ceilings, program, counts, .. } = self;
        program.clear();
        let own = &contention.tasks[task];
        let asked = contention.global_of(task);
        let mut theirs: Vec<Theirs> = Vec::new();
        // 1. Variables of all requests of other tasks, and row 1.
        for request in contention.global.iter().filter(|request| request.task != task) {
            let other = &contention.tasks[request.task];
            let (same_core, higher) = (other.core == own.core, other.priority >= own.priority);
            let most = counts[request.task].saturating_mul(request.count);
            let wanted = asked.iter().any(|mine| mine.resource == request.resource);
            let holds = wanted.then(|| program.variable(0, most));
            // A task of the same core that is at least as urgent interferes; i does not wait for it.
            let delays = (!same_core || !higher).then(|| program.variable(request.length, most));
            if let (Some(holds), Some(delays), false) = (holds, delays, same_core) {
                let direct = program.variable(request.length, most);
                program.at_most(vec![(direct, 1), (delays, 1)], most);
                program.at_most(vec![(direct, 1), (holds, -1)], 0);
            }
            theirs.push(Theirs { request: request.request, holds, delays });
        }
        let of = |theirs: &Theirs| &contention.global[theirs.request];
        let row = |theirs: &Theirs| &contention.tasks[of(theirs).task];
        // 2. Rows 2 and 3: which tasks can hold what i requests.
        let mut times = contention.tasks.len();
        for mine in asked {
            let users = contention.all_uses(mine.resource);
            let mut lower = Vec::new();
            for other in &theirs {
                let Some(holds) = other.holds.filter(|_| of(other).resource == mine.resource) else {
                    continue;
                };
                if row(other).priority < own.priority {
                    lower.push((holds, 1));
                } else if let Some(at) = users.iter().position(|user| user.task == of(other).task) {
                    let once = counts[times + at].saturating_mul(of(other).count);
                    program.at_most(vec![(holds, 1)], once.saturating_mul(mine.count));
                }
            }
            program.at_most(lower, mine.count);
            times += users.len();
        }
        // 3. Row 4: for each request of y, its requests with no more urgent a ceiling, and the other requests that
        // may hold.
        for other in theirs.iter().filter(|other| row(other).core != own.core) {
            let (task, core, ceiling) = (of(other).task, row(other).core, ceilings[other.request]);
            let below = |theirs: &&Theirs| row(theirs).core == core && ceilings[theirs.request] <= ceiling;
            let delays = theirs.iter().filter(below).filter(|theirs| of(theirs).task == task);
            let holders = theirs.iter().filter(below).filter(|theirs| of(theirs).task != task);
            let mut sum: Vec<_> = delays.filter_map(|theirs| Some((theirs.delays?, 1))).collect();
            sum.extend(holders.filter_map(|theirs| Some((theirs.holds?, -1))));
            program.at_most(sum, 0);
        }
        // 4. Rows 5 to 7: the less urgent tasks of the core.
        let holders = theirs.iter().filter(|theirs| theirs.holds.is_some());
        let local = |theirs: &&Theirs| row(theirs).core == own.core && row(theirs).priority >= own.priority;
        let minus = |times: i64| move |theirs: &Theirs| Some((theirs.holds?, -times));
        let local_holders: Vec<_> = holders.clone().filter(local).filter_map(minus(1)).collect();
        let mut waits: Vec<_> = holders.clone().filter_map(minus(1)).collect();
        let ready = own.count.saturating_add(1);
        let mut sections = Vec::new();
        for &lower in contention.lower(task) {
            let longest = contention.ceiling_section(task, lower).time;
            let section = program.variable(longest, ready);
            sections.push((section, 1));
            let mut sum = vec![(section, 1)];
            let delays = theirs.iter().filter(|theirs| of(theirs).task == lower);
            sum.extend(delays.filter_map(|theirs| Some((theirs.delays?, 1))));
            // Row 6 counts holders of the core that are at least as urgent twice: for the wait, and for being delayed
            // in it.
            let twice =
                holders.clone().filter_map(|theirs| minus(if local(&theirs) { 2 } else { 1 })(theirs));
            program.at_most(sum.iter().copied().chain(twice).collect(), 1);
            sum.extend(&local_holders);
            program.at_most(sum, ready);
        }
        if !sections.is_empty() {
            program.at_most(sections.clone(), ready);
            waits.extend(sections);
            program.at_most(waits, 1);
        }
    }
}
