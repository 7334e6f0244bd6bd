// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Jobs that take longer than they may: budgets, and the reactions of [`taut_policy::Overrun`].
//!
//! A safe point is any point at which a job runs and holds nothing. Runs without limits skip this code.

use taut_policy::queue::{LinkedList, Node};
use taut_policy::{Background, Budget, Locking, Misuse, Overrun, Remedy, Scheduler, Trouble};
use taut_time::Duration;

use super::{EXTRA, Halt, Moment, NONE, Simulation, refused};
use crate::calendar::NEVER;
use crate::program::What;
use crate::{RulesFault, RunEnd, Scenario, SimEventKind, Sink};

/// A task's budget, and the reaction to an overrun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What happens to a job that uses up its budget, or is late.
    pub overrun: Overrun,
    /// How long a job may have its core, spinning included; unlimited if none.
    pub budget: Option<Duration>,
}

/// A task's limit, and the state of its job.
#[derive(Clone, Debug)]
struct Limited {
    limit: Limit,
    budget: Budget,
    /// The exhaustion of the budget has been reported.
    reported: bool,
    /// What to do at the next safe point: end the job, or demote it.
    due: Option<Remedy>,
    /// The job is back from the background, to request a resource.
    lifted: bool,
}

impl Limited {
    fn new(limit: Limit) -> Self {
        let budget = Budget::new(limit.budget.unwrap_or(Duration::MAX));
        Self { limit, budget, reported: false, due: None, lifted: false }
    }
}

type AnyBackground = Background<LinkedList<Box<[Node]>>>;

/// An empty background.
fn empty(tasks: usize) -> AnyBackground {
    Background::new(LinkedList::new(vec![Node::EMPTY; tasks].into()))
}

/// The limits of a set.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    tasks: Vec<Option<Limited>>,
    /// The background of each core.
    background: Vec<AnyBackground>,
    /// Per core, the rest of the executing step after the end of the budget, in ns.
    cut: Vec<u64>,
    /// A driver says when a budget is used up, and ends jobs.
    driven: bool,
}

impl Simulation {
    /// Sets the limits of tasks. A late or long job of any other task, or of any task without this call, runs on: jobs
    /// that are released meanwhile wait.
    ///
    /// # Errors
    /// [`RulesFault::Limit`]: there is no such task, or its budget is 0.
    pub fn limited(mut self, limits: &[(usize, Limit)]) -> Result<Self, RulesFault> {
        let mut tasks = vec![None; self.tasks.len()];
        for (task, limit) in limits.iter().copied() {
            let place = tasks.get_mut(task).ok_or(RulesFault::Limit { task })?;
            if limit.budget.is_some_and(Duration::is_zero) {
                return Err(RulesFault::Limit { task });
            }
            *place = Some(Limited::new(limit));
        }
        let background = self.members.iter().map(|core| empty(core.len())).collect();
        let driven = !self.state.on_the_way.is_empty();
        self.limits = Some(Box::new(Limits { tasks, background, cut: vec![0; self.members.len()], driven }));
        Ok(self)
    }
}

impl<L: Locking + Clone> Simulation<L> {
    /// Prepares a run.
    pub(super) fn reset_limits(&mut self) {
        let Some(limits) = &mut self.limits else { return };
        // `cut` may keep a value of the previous run: every job that gets a core clears it, and so does the first.
        limits.tasks.iter_mut().flatten().for_each(|task| *task = Limited::new(task.limit));
        if self.state.outcome.end != RunEnd::Complete {
            limits.background = self.members.iter().map(|core| empty(core.len())).collect();
        }
    }

    fn limit_mut(&mut self, task: usize) -> Option<&mut Limited> {
        self.limits.as_mut()?.tasks[task].as_mut()
    }

    /// A release is due while the task's last job is not complete. Returns whether the release is dropped.
    #[cold]
    pub(super) fn is_late(&mut self, task: usize, now: u64) -> Result<bool, Halt> {
        let Some(limited) = self.limit_mut(task) else { return Ok(false) };
        let remedy = limited.limit.overrun.remedy(Trouble::Due);
        match remedy {
            Remedy::Report | Remedy::Wait | Remedy::Drop => {}
            Remedy::Stop => return Err(RunEnd::Stopped { task }),
            Remedy::End | Remedy::Demote => {
                limited.due = Some(remedy);
                let core = self.fixed[task].core as usize;
                self.pause(core, task, now);
                self.touch(core);
            }
        }
        Ok(matches!(remedy, Remedy::Drop | Remedy::Demote))
    }

    /// Interrupts the step that executes, so that the core looks at the task again.
    fn pause(&mut self, core: usize, task: usize, now: u64) {
        let boundary = self.state.boundary[core];
        if self.state.current[core] as usize == task && boundary != NEVER {
            self.state.live[task].remaining = boundary - now + self.uncut(core);
            self.state.boundary[core] = NEVER;
        }
    }

    /// A job begins; it may execute longer than C.
    #[cold]
    pub(super) fn begin_limited(&mut self, task: usize, job: u64, scenario: &Scenario) {
        let lists = scenario.excess.iter().filter(|(whose, _)| *whose == task);
        let of_job = lists.flat_map(|(_, jobs)| jobs).filter(|(which, _)| *which == job);
        self.state.excess[task] = of_job.map(|(_, more)| more.as_ns()).fold(0, u64::saturating_add);
        if let Some(limited) = self.limit_mut(task) {
            *limited = Limited::new(limited.limit);
        }
    }

    /// Another job gets the core.
    #[cold]
    pub(super) fn switch_limited(
        &mut self,
        core: usize,
        current: u32,
        chosen: u32,
        moment: &Moment<'_, impl Sink>,
    ) {
        let rest = self.uncut(core);
        if current != NONE {
            self.state.boundary[core] = self.state.boundary[core].saturating_add(rest);
            self.runs_limited(current as usize, false, moment);
        }
        if chosen != NONE {
            self.runs_limited(chosen as usize, true, moment);
        }
    }

    /// A job gets the core, or loses it.
    pub(super) fn runs_limited(&mut self, task: usize, runs: bool, moment: &Moment<'_, impl Sink>) {
        let Some(limited) = self.limit_mut(task) else { return };
        if runs {
            limited.budget.start(moment.at());
        } else {
            limited.budget.stop(moment.at());
        }
    }

    /// The task that runs from now on, by the rule or in the background.
    #[cold]
    pub(super) fn decide_limited(&mut self, core: usize, now: u64) -> Result<Option<usize>, Halt> {
        let Some(mut limits) = self.limits.take() else {
            return Ok(self.state.cores[core].decide());
        };
        let Limits { tasks, background, driven, .. } = &mut *limits;
        let leaves =
            |task: u32| *driven && tasks[task as usize].as_ref().is_some_and(|limited| limited.due.is_some());
        let chosen = if self.is_served(core) {
            refused(self.decide_served(core, now, &mut background[core], leaves), 0)
        } else {
            let members = &self.members[core];
            let rule = &mut self.state.cores[core];
            Ok(background[core].decide_leaving(rule, |local| leaves(members[local])))
        };
        self.limits = Some(limits);
        chosen
    }

    /// The running job, by the rule or in the background, is complete.
    #[cold]
    pub(super) fn finish_limited(&mut self, core: usize) -> Result<usize, Misuse> {
        let rule = &mut self.state.cores[core];
        match &mut self.limits {
            Some(limits) => limits.background[core].complete(rule),
            None => rule.complete(),
        }
    }

    /// Ends the executing step early if the budget ends before it.
    #[cold]
    pub(super) fn cut(&mut self, core: usize, task: usize) {
        let boundary = self.state.boundary[core];
        let Some(limited) = self.limit_mut(task).filter(|limited| !limited.reported) else { return };
        let Some(end) = limited.budget.used_up().map(|end| end.as_ns()).filter(|end| *end < boundary) else {
            return;
        };
        self.state.boundary[core] = end;
        if let Some(limits) = &mut self.limits {
            limits.cut[core] = boundary - end;
        }
    }

    /// Takes and returns the rest of a core's step after the end of a budget.
    #[cold]
    pub(super) fn uncut(&mut self, core: usize) -> u64 {
        self.limits.as_mut().map_or(0, |limits| core::mem::take(&mut limits.cut[core]))
    }

    /// Applies the limit of the chosen task. Returns whether that changed something, so that the core must decide
    /// again.
    #[cold]
    pub(super) fn relieve(
        &mut self,
        core: usize,
        task: usize,
        moment: &mut Moment<'_, impl Sink>,
    ) -> Result<bool, Halt> {
        if self.limits.as_ref().is_none_or(|limits| limits.driven) {
            return Ok(false);
        }
        let what = self.op(task).what;
        let stays = self.state.live[task].waits || matches!(what, What::Unlock(_) | What::End);
        let Some(limited) = self.limit_mut(task).filter(|_| !stays) else { return Ok(false) };
        if !limited.reported && limited.budget.is_used_up(moment.at()) {
            limited.reported = true;
            let remedy = limited.limit.overrun.remedy(Trouble::UsedUp);
            if matches!(remedy, Remedy::End | Remedy::Demote) {
                limited.due = Some(remedy);
            }
            self.state.outcome.tasks[task].exhausted += 1;
            self.emit(task, SimEventKind::Exhausted, moment);
            if remedy == Remedy::Stop {
                return Err(RunEnd::Stopped { task });
            }
        }
        let Some(due) = self.limit_mut(task).and_then(|limited| limited.due) else { return Ok(false) };
        if self.holds(task) {
            return Ok(false);
        }
        if due == Remedy::End {
            refused(self.finish_limited(core), task)?;
            self.state.outcome.tasks[task].killed += 1;
            self.emit(task, SimEventKind::Kill, moment);
            self.leave(core, task, moment)?;
            return Ok(true);
        }
        let Some(limits) = &mut self.limits else { return Ok(false) };
        let (background, rule) = (&mut limits.background[core], &mut self.state.cores[core]);
        let Some(limited) = &mut limits.tasks[task] else { return Ok(false) };
        let asks = matches!(what, What::Lock(_));
        if background.running().is_some() {
            if asks {
                refused(background.lift(rule), task)?;
                limited.lifted = true;
            }
            return Ok(asks);
        }
        if asks && core::mem::take(&mut limited.lifted) {
            return Ok(false);
        }
        limited.lifted = false;
        refused(background.demote(rule), task)?;
        Ok(true)
    }

    /// Whether a job holds a resource.
    fn holds(&self, task: usize) -> bool {
        let (begin, at) = (self.fixed[task].begin as usize, self.state.live[task].at as usize);
        let passed = self.ops.get(begin..at).unwrap_or(&[]);
        let count = |is: fn(&What) -> bool| passed.iter().filter(|op| is(&op.what)).count();
        count(|what| matches!(what, What::Lock(_))) > count(|what| matches!(what, What::Unlock(_)))
    }

    /// A job is at its end. If the scenario gives the job an excess, the job executes that next, and this returns
    /// true.
    #[cold]
    pub(super) fn exceeds(&mut self, task: usize) -> bool {
        let excess = core::mem::take(&mut self.state.excess[task]);
        let live = &mut self.state.live[task];
        if excess > 0 {
            (live.at, live.remaining) = (EXTRA, excess);
        }
        excess > 0
    }
}

impl Simulation {
    /// The driver says that a job has used up its budget. If the job must end, it stays in the background until it
    /// ends. Returns whether the job has its core.
    pub(crate) fn has_used_up(
        &mut self,
        now: u64,
        task: usize,
        job: u64,
        sink: &mut impl Sink,
    ) -> Result<bool, Halt> {
        let core = self.fixed[task].core as usize;
        if self.state.current[core] != task as u32 || self.state.live[task].now.job != job {
            return Ok(false);
        }
        if let Some(limited) = self.limit_mut(task) {
            let remedy = limited.limit.overrun.remedy(Trouble::UsedUp);
            limited.due = Some(remedy).filter(|remedy| matches!(remedy, Remedy::End | Remedy::Demote));
        }
        self.pause(core, task, now);
        self.at(now, sink, |run, moment| {
            run.emit(task, SimEventKind::Exhausted, moment);
            Ok(true)
        })
    }

    /// The driver says that a release is due while the task's last job is not complete. Returns whether the release
    /// is dropped and the late job goes to the background.
    pub(crate) fn is_demoted_late(&mut self, task: usize) -> bool {
        let Some(limited) = self.limit_mut(task) else { return false };
        let demotes = limited.limit.overrun.remedy(Trouble::Due) == Remedy::Demote;
        if demotes {
            limited.due = Some(Remedy::Demote);
        }
        demotes
    }

    /// The job on the core requests a resource: a job in the background first goes back to its place in the rule.
    pub(super) fn lift(&mut self, core: usize, task: usize) -> Result<(), Halt> {
        let Some(limits) = self.limits.as_mut().filter(|limits| limits.driven) else { return Ok(()) };
        let (background, rule) = (&mut limits.background[core], &mut self.state.cores[core]);
        if background.running().is_some() {
            refused(background.lift(rule), task)?;
            background.decide(rule);
        }
        Ok(())
    }
}
