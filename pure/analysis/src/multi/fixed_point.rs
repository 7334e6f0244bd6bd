// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Response times of partitioned tasks whose blocking depends on other tasks' response times.
//!
//! ```text
//! Equation    w_i = C_i + S_i + L_i + B_i + Σ_{h∈hp} ⌈(w_i + δ_h) / T_h⌉ · (C_h + S_h);  R_i = w_i + J_i
//!             S, L, B may grow with any w and R: all equations are solved together, for the least solution
//! Symbols     [ns] w from release, R from arrival, C cost, S spinning, L local blocking, B suspended waiting,
//!             J jitter, T period; hp: same core, at least as urgent
//!             δ_h = J_h if h never suspends; else R_h − (C_h + S_h), or what an unsound equation has there
//! Assumes     A1 D ≤ T   A2 S, L and B never fall when a w or R grows
//! Verdict     as sound as S, L, B and δ
//! Cost        rounds · tasks · pseudo-polynomial; both limited
//! Source      [Audsley93] equations 3 to 6; [Chen19] suspension as jitter: δ = R − C
//! ```
//!
//! The iteration starts at or below the least solution (at w = C, or at a known lower bound of it), and no step passes
//! that solution (A2). So the iteration ends there, whatever the order of the steps. A task that passes its deadline
//! ends the iteration. Where blocking depends on other tasks' jobs, the equations count at most one job more than
//! fits, because all deadlines are kept; if one is not, nothing is proven for any other task ([`Status::Depends`]).

use taut_time::Duration;

use super::bounds::{Bounds, Contribution, Contributions, ResponseTerms, Status, TaskBound};
use super::contention::{BlockingTerm, Contention, Row};
use crate::{Overflow, Verdict, Why};

/// Rounds of the outer iteration after which the search gives up. Real sets need fewer than ten.
pub const ROUNDS_MAX: u32 = 1_000;

/// Steps of all inner iterations together after which the search gives up. Real sets need tens per task and round.
pub const STEPS_MAX: u32 = 2_000_000;

/// The same limit for terms of sums, for sets of very many tasks: some seconds.
pub const TERMS_MAX: u64 = 400_000_000;

/// What a task waits for, besides interference.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Charge {
    pub(crate) spin: BlockingTerm,
    /// Spinning of the job and of the jobs that interfere, all together; no job is then charged S as well.
    pub(crate) shared: BlockingTerm,
    pub(crate) local: BlockingTerm,
    pub(crate) remote: BlockingTerm,
}

/// By how much a job that suspends can run later than at the first possible instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deferral {
    /// Nothing suspends.
    Never,
    /// B_h: **unsound**, what \[Lakshmanan09\] prints.
    Blocking,
    /// R_h − (C_h + S_h).
    Response,
}

/// What charges depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    /// On the parameters alone.
    Parameters,
    /// On other tasks keeping their deadlines.
    Deadlines,
    /// On w and R of all tasks.
    Responses,
}

/// w and R of all tasks, so far.
pub(crate) struct State {
    pub(crate) window: Vec<u64>,
    pub(crate) response: Vec<u64>,
}

/// How the search ended.
pub(crate) enum Solved {
    /// All equations are solved, or some deadline is passed.
    Bounds(Bounds),
    /// The steps or rounds ran out.
    Steps(u32),
}

impl Solved {
    pub(crate) fn verdict(self) -> Verdict<Bounds> {
        match self {
            Self::Steps(steps) => Verdict::NotShown(Why::Steps(steps)),
            Self::Bounds(bounds) if bounds.tasks.iter().all(|task| task.status == Status::Proven) => {
                Verdict::Schedulable(bounds)
            }
            Self::Bounds(bounds) => Verdict::NotShown(Why::Passes(bounds)),
        }
    }
}

struct Search<'a> {
    contention: &'a Contention,
    charges: Vec<Charge>,
    /// C + S.
    busy: Vec<u64>,
    /// δ.
    deferred: Vec<u64>,
    terms: u64,
    steps: u32,
}

/// Solves the equations of all tasks.
pub(crate) fn solve(
    contention: &Contention,
    deferral: Deferral,
    basis: Basis,
    mut charge: impl FnMut(usize, &State) -> Result<Charge, Overflow>,
) -> Result<Solved, Overflow> {
    let tasks = contention.tasks.len();
    solve_from(contention, &[], deferral, basis, |state| (0..tasks).map(|task| charge(task, state)).collect())
}

/// The same, where `charges` returns the charges of all tasks. `least` holds a lower bound of w in every solution, by
/// task, as far as such bounds are known.
pub(crate) fn solve_from(
    contention: &Contention,
    least: &[u64],
    deferral: Deferral,
    basis: Basis,
    mut charges: impl FnMut(&State) -> Result<Vec<Charge>, Overflow>,
) -> Result<Solved, Overflow> {
    let tasks = &contention.tasks;
    let known = |task: usize| least.get(task).copied().unwrap_or(0);
    let window = tasks.iter().enumerate().map(|(at, task)| task.cost.max(known(at))).collect();
    let mut state = State { window, response: Vec::new() };
    let arrival = |(task, window): (&Row, &u64)| window.checked_add(task.jitter).ok_or(Overflow);
    state.response = tasks.iter().zip(&state.window).map(arrival).collect::<Result<_, _>>()?;
    let mut search = Search {
        contention,
        charges: vec![Charge::default(); tasks.len()],
        busy: vec![0; tasks.len()],
        deferred: tasks.iter().map(|task| task.jitter).collect(),
        terms: 0,
        steps: 0,
    };
    let mut passes = vec![false; tasks.len()];
    let mut rounds = 0;
    loop {
        if rounds == ROUNDS_MAX {
            return Ok(Solved::Steps(search.steps));
        }
        rounds += 1;
        // 1. What each task waits for, as far as is known.
        if rounds == 1 || basis == Basis::Responses {
            search.charges = charges(&state)?;
            for (task, row) in tasks.iter().enumerate() {
                let spin = search.charges[task].spin.time;
                search.busy[task] = row.cost.checked_add(spin).ok_or(Overflow)?;
            }
        }
        // 2. w of each task, the most urgent first; each continues from its last value.
        let mut changed = false;
        for &task in &contention.order {
            if passes[task] {
                continue;
            }
            let Some((window, fits)) = search.window(task, state.window[task])? else {
                return Ok(Solved::Steps(search.steps));
            };
            changed |= window != state.window[task];
            passes[task] = !fits;
            state.window[task] = window;
            state.response[task] = window.checked_add(tasks[task].jitter).ok_or(Overflow)?;
            let jitter = tasks[task].jitter;
            search.deferred[task] = match deferral {
                _ if search.charges[task].remote.time == 0 => jitter,
                Deferral::Never => jitter,
                Deferral::Blocking => jitter.checked_add(search.charges[task].remote.time).ok_or(Overflow)?,
                Deferral::Response => state.response[task].saturating_sub(search.busy[task]).max(jitter),
            };
        }
        // 3. Until nothing changes.
        let once = basis != Basis::Responses && deferral != Deferral::Response;
        if !changed || once || (basis == Basis::Responses && passes.contains(&true)) {
            break;
        }
    }
    let alone = basis == Basis::Parameters && deferral != Deferral::Response;
    let any = passes.contains(&true);
    let status = |task: usize| match passes[task] {
        true => Status::Passes,
        false if any && !alone => Status::Depends,
        false => Status::Proven,
    };
    let bound = |task| search.bound(task, &state, status(task));
    let bounds = (0..tasks.len()).map(bound).collect::<Result<_, _>>()?;
    Ok(Solved::Bounds(Bounds { tasks: bounds, rounds }))
}

/// What each task waits for, if each job ends within its task's entry of `windows`, counted from its release; other
/// terms are zero. A task without an entry in `windows` has a window of 0.
pub(crate) fn terms_at(
    contention: &Contention,
    windows: &[Duration],
    charges: impl FnOnce(&State) -> Result<Vec<Charge>, Overflow>,
) -> Result<Vec<ResponseTerms>, Overflow> {
    let tasks = contention.tasks.iter();
    let window: Vec<u64> = (0..tasks.len()).map(|at| windows.get(at).map_or(0, |w| w.as_ns())).collect();
    let arrival = |(row, &window): (&Row, &u64)| row.jitter.checked_add(window).ok_or(Overflow);
    let response = tasks.zip(&window).map(arrival).collect::<Result<_, _>>()?;
    let state = State { window, response };
    let terms = |Charge { spin, local, remote, .. }| {
        let [spin, local_blocking, remote_blocking] =
            [spin, local, remote].map(|part: BlockingTerm| Duration::from_ns(part.time));
        ResponseTerms { spin, local_blocking, remote_blocking, ..ResponseTerms::default() }
    };
    Ok(charges(&state)?.into_iter().map(terms).collect())
}

impl Search<'_> {
    /// All terms that do not depend on w.
    fn fixed(&self, task: usize) -> Result<u64, Overflow> {
        let Charge { shared, local, remote, .. } = self.charges[task];
        let blocking = local.time.checked_add(remote.time).ok_or(Overflow)?;
        let blocking = blocking.checked_add(shared.time).ok_or(Overflow)?;
        self.busy[task].checked_add(blocking).ok_or(Overflow)
    }

    /// The demand, in a window, of a task and of the tasks of its core that are at least as urgent.
    fn demand(&mut self, task: usize, fixed: u64, window: u64) -> Result<u64, Overflow> {
        let higher = self.contention.tasks[task].higher.len();
        self.terms += u64::try_from(higher).unwrap_or(u64::MAX);
        self.steps = self.steps.saturating_add(1);
        let mut sum = fixed;
        for other in self.contention.higher(task) {
            let jobs = self.contention.jobs(other, window, self.deferred[other]).max(1);
            let time = jobs.checked_mul(self.busy[other]).ok_or(Overflow)?;
            sum = sum.checked_add(time).ok_or(Overflow)?;
        }
        Ok(sum)
    }

    /// The least w that is at least `least`, and whether it keeps the deadline; if not, the demand of the longest
    /// window that would. `None` if the limits are used up.
    fn window(&mut self, task: usize, least: u64) -> Result<Option<(u64, bool)>, Overflow> {
        let row = &self.contention.tasks[task];
        let (limit, late) = (row.deadline.saturating_sub(row.jitter), row.jitter >= row.deadline);
        let fixed = self.fixed(task)?;
        let mut window = least.max(fixed);
        while window <= limit && !late {
            if self.terms > TERMS_MAX || self.steps > STEPS_MAX {
                return Ok(None);
            }
            let next = self.demand(task, fixed, window)?;
            if next == window {
                return Ok(Some((window, true)));
            }
            window = next;
        }
        Ok(Some((self.demand(task, fixed, limit)?, false)))
    }

    fn bound(&self, task: usize, state: &State, status: Status) -> Result<TaskBound, Overflow> {
        let ns = Duration::from_ns;
        let (row, charge) = (&self.contention.tasks[task], &self.charges[task]);
        // The window whose demand is w: w itself, or the window that ends at the deadline.
        let counted = match status {
            Status::Passes => row.deadline.saturating_sub(row.jitter),
            _ => state.window[task],
        };
        let mut most = BlockingTerm::default();
        for other in self.contention.higher(task) {
            let jobs = self.contention.jobs(other, counted, self.deferred[other]).max(1);
            most.raise(jobs.saturating_mul(self.busy[other]), Some(other), None);
        }
        let interference = state.window[task].saturating_sub(self.fixed(task)?);
        Ok(TaskBound {
            from_release: ns(state.window[task]),
            from_arrival: ns(state.response[task]),
            status,
            terms: ResponseTerms {
                own: ns(row.cost),
                // At most one of the two is used.
                spin: ns(charge.spin.time.max(charge.shared.time)),
                local_blocking: ns(charge.local.time),
                remote_blocking: ns(charge.remote.time),
                interference: ns(interference),
                jitter: ns(row.jitter),
            },
            witnesses: Contributions {
                spin: charge.spin.larger(charge.shared).peak,
                local_blocking: charge.local.peak,
                remote_blocking: charge.remote.peak,
                interference: if interference == 0 { Contribution::default() } else { most.peak },
            },
        })
    }
}
