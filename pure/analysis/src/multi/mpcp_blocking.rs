// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! MPCP: how long a task waits for resources; shared by both response-time equations.
//!
//! ```text
//! Equation    W_iq = w_iq + Σ_{u ≠ i, same core} g_u(q) + max { (p_u − g_u(q))⁺ : u ≠ i, same core }
//!             g_u(q) = max { w_uv : ceiling(v) ≥ ceiling(q) }
//!             b_iq = max { W_lq : l less urgent, any core }
//!                    + Σ_{h as urgent or more, any core} (⌈b_iq / T_h⌉ + 1) · N_hq · W_hq
//!             B_i = Σ_q N_iq · b_iq
//!             L_i = (1 + Σ_q N_iq) · ( Σ_{l∈lp} g_l + max { (max(p_l, c_l) − g_l)⁺ : l ∈ lp } )
//! Symbols     [ns] w_iq longest section, W response time of a section once it holds, b wait for one request, B for
//!             all of a job, L local blocking, g_l longest global section of l, c_l longest section of l on a local
//!             resource with a ceiling at least as urgent as i, p_l longest non-preemptive stretch of l; N requests of
//!             a job; all but p and c: of resources that jobs suspend for
//!             ceiling(q) on a core: the most urgent user on another core, above all tasks' own priorities
//! Assumes     A1 all tasks keep D ≤ T, so that ⌈b / T⌉ + 1 jobs overlap a wait   A2 queues by priority
//!             A3 local resources under PCP or immediate ceilings   A4 global sections do not nest
//! Verdict     sufficient
//! Cost        pseudo-polynomial per request; stops at T; limited
//! Source      [Rajkumar90] the protocol; [Lakshmanan09, equations 1 to 3]; [Han14, equations 2 to 4]
//! ```
//!
//! **Local blocking.** Each time that a job starts, or continues after a request, a less urgent task of its core can
//! be inside one section or be waiting for one, which that task then executes before the job: the task cannot make a
//! second request while the job is ready. Under ceilings only one such task can hold a local resource that matters,
//! and it is then not in a global section too. The source has global resources only; c is our addition.
//!
//! **Non-preemptive stretches**, p, are our addition too: in one, a job spins for another global resource and uses it.
//! When a holder continues, one such stretch may run on the holder's core, and no other begins before the holder is
//! done, because no less urgent job runs. A task is either in such a stretch or has a section of the other kind open,
//! so it adds the larger of the two. The same holds when a job starts or continues. All p are 0 where jobs suspend for
//! every global resource.

use taut_time::Duration;

use super::contention::{BlockingTerm, Contention, Use};
use super::fixed_point::Charge;
use crate::Overflow;
use crate::recurring::{self, Least, Recurring};

/// B and L of a task.
#[derive(Clone, Debug)]
pub(crate) struct Waits {
    pub(crate) charge: Charge,
    /// b of each request, in the order of [`Suspension::requests`]; past T if there is no solution up to T.
    #[cfg_attr(not(feature = "linear-programming"), expect(dead_code))]
    pub(crate) each: Vec<u64>,
    /// Whether some b is past T: then its first value past T stands for it.
    pub(crate) unbounded: bool,
}

/// How jobs wait for resources.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspension<'a> {
    /// Per resource, whether jobs that wait for it suspend.
    pub(crate) suspends: &'a [bool],
    /// p of each task.
    pub(crate) spans: &'a [BlockingTerm],
}

impl Suspension<'_> {
    fn requests<'c>(self, contention: &'c Contention, task: usize) -> impl Iterator<Item = &'c Use>
    where
        Self: 'c,
    {
        contention.global_of(task).iter().filter(move |request| self.suspends[request.resource])
    }
}

/// B and L of all tasks, if jobs suspend for every global resource.
pub(crate) fn waits(contention: &Contention) -> Result<Vec<Waits>, Overflow> {
    let (suspends, spans) =
        (vec![true; contention.resources], vec![BlockingTerm::default(); contention.tasks.len()]);
    waits_among(contention, Suspension { suspends: &suspends, spans: &spans })
}

/// B and L of all tasks.
pub(crate) fn waits_among(contention: &Contention, how: Suspension<'_>) -> Result<Vec<Waits>, Overflow> {
    let ceilings = ceilings(contention);
    let held = held(contention, how, &ceilings)?;
    let waits = |task| {
        let (remote, unbounded, each) = remote_blocking(contention, how, task, &held)?;
        let local = local_blocking(contention, how, task)?;
        Ok(Waits { charge: Charge { local, remote, ..Charge::default() }, unbounded, each })
    };
    (0..contention.tasks.len()).map(waits).collect()
}

/// The ceiling of each request in [`Contention::global`] on its core.
pub(crate) fn ceilings(contention: &Contention) -> Vec<u32> {
    let ceiling = |request: &Use| {
        let core = contention.tasks[request.task].core;
        let users = contention.all_uses(request.resource).iter().map(|user| &contention.tasks[user.task]);
        users.filter(|user| user.core != core).map(|user| user.priority).max().unwrap_or(0)
    };
    contention.global.iter().map(ceiling).collect()
}

/// W of each request in [`Contention::global`]; meaningless for those that spin.
fn held(contention: &Contention, how: Suspension<'_>, ceilings: &[u32]) -> Result<Vec<u64>, Overflow> {
    // g: the longest section comes first.
    let longest = |task: usize, ceiling: u32| {
        let mut requests = contention.tasks[task].global.clone();
        let blocks =
            requests.find(|&at| ceilings[at] >= ceiling && how.suspends[contention.global[at].resource]);
        blocks.map_or(0, |request| contention.global[request].length)
    };
    let mut sums: Vec<u64> = vec![0; contention.global.len()];
    // All requests for a resource from one core have the same ceiling: the sums over the core's tasks are computed
    // once.
    let mut known: Vec<Option<(usize, OnCore)>> = vec![None; contention.resources];
    for &task in &contention.order {
        let row = &contention.tasks[task];
        for request in row.global.clone() {
            let (resource, ceiling) = (contention.global[request].resource, ceilings[request]);
            if !how.suspends[resource] {
                continue;
            }
            let all = match known[resource] {
                Some((core, sum)) if core == row.core => sum,
                _ => {
                    let mut sum = OnCore::default();
                    for &other in &contention.order[row.higher.start..row.lower.end] {
                        let section = longest(other, ceiling);
                        sum.sections = sum.sections.checked_add(section).ok_or(Overflow)?;
                        sum.span(other, how.spans[other].time.saturating_sub(section));
                    }
                    known[resource] = Some((row.core, sum));
                    sum
                }
            };
            let others = all.sections - longest(task, ceiling);
            let span = if all.longest.1 == task { all.second } else { all.longest.0 };
            let once = contention.global[request].length.checked_add(others).ok_or(Overflow)?;
            sums[request] = once.checked_add(span).ok_or(Overflow)?;
        }
    }
    Ok(sums)
}

/// What the tasks of a core can add to a section of one of them.
#[derive(Clone, Copy, Default)]
struct OnCore {
    /// Σ g.
    sections: u64,
    /// The longest p − g and its task; and the longest of any other task.
    longest: (u64, usize),
    second: u64,
}

impl OnCore {
    fn span(&mut self, task: usize, time: u64) {
        if time > self.longest.0 {
            self.second = self.longest.0;
            self.longest = (time, task);
        } else {
            self.second = time.max(self.second);
        }
    }
}

/// L.
fn local_blocking(
    contention: &Contention,
    how: Suspension<'_>,
    task: usize,
) -> Result<BlockingTerm, Overflow> {
    let requests: u64 = how.requests(contention, task).map(|request| request.count).sum();
    let times = requests.checked_add(1).ok_or(Overflow)?;
    let mut sum = BlockingTerm::default();
    let mut more = 0;
    for &lower in contention.lower(task) {
        let section = contention.ceiling_section(task, lower).larger(how.spans[lower]);
        let longest = how.requests(contention, lower).next();
        let global = longest
            .map_or(BlockingTerm::default(), |use_| BlockingTerm::of(use_.length, lower, use_.resource));
        more = section.time.saturating_sub(global.time).max(more);
        sum.time = sum.time.checked_add(global.time).ok_or(Overflow)?;
        let peak = global.larger(section).peak;
        sum.raise(peak.time.as_ns(), peak.task, peak.resource);
    }
    sum.time = sum.time.checked_add(more).and_then(|once| once.checked_mul(times)).ok_or(Overflow)?;
    Ok(sum)
}

/// B.
fn remote_blocking(
    contention: &Contention,
    how: Suspension<'_>,
    task: usize,
    held: &[u64],
) -> Result<(BlockingTerm, bool, Vec<u64>), Overflow> {
    let (mut sum, mut unbounded, mut each) = (BlockingTerm::default(), false, Vec::new());
    for request in how.requests(contention, task) {
        let once = wait(contention, task, request.resource, held)?;
        sum.add(request.count, once, None, Some(request.resource))?;
        unbounded |= once > contention.tasks[task].period;
        each.push(once);
    }
    Ok((sum, unbounded, each))
}

/// Steps in 64 bits before another search takes over, which never takes long. Real sets need tens.
const STEPS_PLAIN: u32 = 1_000;

/// Steps of that search.
const STEPS_MAX: u32 = 10_000;

/// b: the least solution, or a value past T; also past T if no solution is found, which only makes the bound longer.
fn wait(contention: &Contention, task: usize, resource: usize, held: &[u64]) -> Result<u64, Overflow> {
    let row = &contention.tasks[task];
    let users = contention.all_uses(resource);
    let others = || {
        let other = |user: &Use| (&contention.tasks[user.task], user.count, held[user.request]);
        users.iter().filter(|user| user.task != task).map(other)
    };
    let lower = others().filter(|(other, ..)| other.priority < row.priority).map(|(.., held)| held);
    let first = lower.max().unwrap_or(0);
    let mut wait = 1u64;
    for _ in 0..STEPS_PLAIN {
        let mut next = first;
        for (other, count, held) in others().filter(|(other, ..)| other.priority >= row.priority) {
            // At least one more than fits: a job that was pending before.
            let jobs = wait.div_ceil(other.period).checked_add(1).ok_or(Overflow)?;
            let requests = jobs.checked_mul(count).ok_or(Overflow)?;
            let time = requests.checked_mul(held).ok_or(Overflow)?;
            next = next.checked_add(time).ok_or(Overflow)?;
        }
        if next <= wait {
            return Ok(next);
        }
        wait = next;
        if wait > row.period {
            return Ok(wait);
        }
    }
    let more = || others().filter(|(other, ..)| other.priority >= row.priority);
    let at_start = more().fold(u128::from(first), |sum, (_, count, held)| sum + requested(count, held));
    let streams = more().map(|(other, count, held)| Recurring {
        gap: Duration::from_ns(other.period),
        cost: requested(count, held),
    });
    match recurring::least(at_start, streams, row.period, STEPS_MAX)? {
        Least::Found(wait, _) => Ok(wait),
        Least::Past(..) | Least::Steps => row.period.checked_add(1).ok_or(Overflow),
    }
}

/// N · W.
fn requested(count: u64, held: u64) -> u128 {
    u128::from(count) * u128::from(held)
}
