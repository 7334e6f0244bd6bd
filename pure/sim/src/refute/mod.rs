// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A search for a run that exceeds claimed bounds.
//!
//! The search goes in rounds. Each is against one task's claim and starts from a guess at a bad scenario:
//! - *critical*: all tasks that may run in the task's place are released with the task, and a less urgent task has
//!   just entered a section;
//! - *late*: the search first makes the response of one rival that may suspend as long as possible, by other tasks
//!   that request the rival's resources just before the rival does; then the task arrives where the rival's delayed
//!   execution meets the rival's next job. The search chooses a rival more often if it executes more: the rival is the
//!   largest term of the response;
//! - *random*, and the *best* run so far.
//!
//! The search then makes small changes, and keeps a change if the response does not become shorter, or sometimes if
//! it becomes a little shorter. A run that exceeds the claim becomes a [`Witness`], made as small as its excess
//! allows. A search that finds nothing proves nothing.

mod facts;
mod legal;
mod log;
mod moves;
mod round;
mod shrink;

use taut_model::TaskSet;
use taut_time::Duration;

use crate::random::Random;
use crate::{Rules, RulesFault, RunEnd, Scenario, Simulation};
pub use legal::is_legal;

use facts::Facts;
use log::Log;
use round::Round;

/// The number of runs in a step, unless they are long.
const STEP_RUNS: u64 = 64;
/// Events after which a step ends.
const STEP_EVENTS: u64 = 1 << 17;
/// How many ends of rounds are kept.
const BEST_MAX: usize = 128;
/// How many changes without a longer response end the first part of a round, or the round.
const STALE_MAX: u64 = 400;

/// A run that exceeds a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The task: a position in the set.
    pub task: usize,
    /// Which of its jobs, from 0.
    pub job: u64,
    /// The claimed bound of its response time, from the arrival.
    pub claimed: Duration,
    /// The job's response time.
    pub reached: Duration,
    /// The run: with the same set and rules it gives the same response time.
    pub scenario: Scenario,
}

/// A claim, and the longest response time from an arrival that a run has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Best {
    /// The claim, if there is one.
    pub claimed: Option<Duration>,
    /// The longest response time so far.
    pub reached: Duration,
}

impl Best {
    /// The longest response as a share of the claim, in thousandths.
    pub fn permille(&self) -> Option<u64> {
        let claimed = self.claimed?;
        let share = u128::from(self.reached.as_ns()) * 1000 / u128::from(claimed.as_ns().max(1));
        Some(u64::try_from(share).unwrap_or(u64::MAX))
    }
}

/// How far a search is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HuntProgress {
    /// Runs so far.
    pub runs: u64,
    /// The events that these runs took from their calendars.
    pub events: u64,
    /// The claim and the longest response time of each task.
    pub tasks: Vec<Best>,
    /// At most one witness per task, in the order in which they were found.
    pub witnesses: Vec<Witness>,
    /// A run that ended as no run should: jobs waited for each other, or a rule failed.
    pub stuck: Option<(RunEnd, Scenario)>,
}

/// A search. The caller decides when the search ends: a search has no clock.
///
/// ```
/// use taut_model::{ArrivalPattern, Body, SchedulingPolicy, SetTask, TaskSet};
/// use taut_sim::{GlobalRule, Hunt, Rules};
/// use taut_time::Duration;
///
/// let task = |name: &str, priority, cost, period| SetTask {
///     name: name.into(),
///     core: 0,
///     priority,
///     arrivals: ArrivalPattern::Sporadic,
///     period: Duration::from_ms(period),
///     deadline: Duration::from_ms(period),
///     jitter: Duration::ZERO,
///     body: Body::Anywhere { cost: Duration::from_ms(cost), requests: Vec::new() },
/// };
/// let tasks = vec![task("a", 2, 1, 4), task("b", 1, 3, 8)];
/// let set = TaskSet::new(vec![SchedulingPolicy::FixedPriority], vec![], tasks).unwrap();
/// let claims = [None, Some(Duration::from_us(3_999))];
/// let mut hunt = Hunt::new(&set, &Rules::of(&set, GlobalRule::Mpcp), &claims, 1).unwrap();
/// while hunt.progress().witnesses.is_empty() && hunt.progress().runs < 10_000 {
///     hunt.step();
/// }
/// assert_eq!(hunt.progress().witnesses[0].reached, Duration::from_ms(4));
/// ```
#[derive(Clone, Debug)]
pub struct Hunt {
    set: TaskSet,
    facts: Facts,
    simulation: Simulation,
    random: Random,
    progress: HuntProgress,
    /// The ends of rounds against some tasks, the oldest first.
    best: Vec<(usize, Duration, Scenario)>,
    round: Option<Round>,
    /// The current run, and its log.
    trial: Scenario,
    log: Log,
}

impl Hunt {
    /// Prepares a search. There is one claim per task; tasks past the end of the list have none. To claim that no
    /// deadline is missed, give the deadlines. The same seed gives the same search.
    ///
    /// # Errors
    /// The reason why set and rules do not fit, as [`Simulation::new`]; `Overflow` if a period or claim is longer
    /// than 2⁵⁸ ns.
    pub fn new(
        set: &TaskSet,
        rules: &Rules,
        claims: &[Option<Duration>],
        seed: u64,
    ) -> Result<Self, RulesFault> {
        let simulation = Simulation::new(set, rules)?;
        let facts = Facts::of(set, rules);
        let claim = |at: usize| claims.get(at).copied().flatten();
        let long = 1 << 58;
        let times = set.tasks().iter().enumerate().map(|(at, task)| {
            let claim = claim(at).map_or(0, Duration::as_ns);
            task.period.as_ns().max(task.jitter.as_ns()).max(claim).max(set.cost(at).as_ns())
        });
        if times.max().is_some_and(|time| time > long) {
            return Err(RulesFault::Overflow);
        }
        let count = set.tasks().len();
        let tasks = (0..count).map(|at| Best { claimed: claim(at), reached: Duration::ZERO }).collect();
        Ok(Self {
            set: set.clone(),
            trial: facts.silent(0),
            facts,
            simulation,
            random: Random::new(seed),
            progress: HuntProgress { runs: 0, events: 0, tasks, witnesses: Vec::new(), stuck: None },
            best: Vec::new(),
            round: None,
            log: Log::default(),
        })
    }

    /// How far the search is.
    pub fn progress(&self) -> &HuntProgress {
        &self.progress
    }

    /// Continues for some runs: a few milliseconds for most sets, some hundred milliseconds where it finds a witness.
    /// Has no effect once every claim is exceeded.
    pub fn step(&mut self) -> &HuntProgress {
        let (runs, events) = (self.progress.runs + STEP_RUNS, self.progress.events + STEP_EVENTS);
        while self.progress.runs < runs && self.progress.events < events {
            let Some(mut round) = self.round.take().or_else(|| self.start()) else { break };
            self.trial.clone_from(&round.scenario);
            moves::change(&self.facts, round.focus, &round.log, &mut self.trial, &mut self.random);
            let response = self.run(round.focus);
            // Sometimes accepts a slightly shorter response: later changes may make it longer.
            let floor = if self.random.up_to(63) == 0 {
                round.response.as_ns() / 32 * 31
            } else {
                round.response.as_ns()
            };
            if response > round.response {
                round.stale = 0;
            } else {
                round.stale += 1;
            }
            if response.as_ns() >= floor {
                core::mem::swap(&mut round.scenario, &mut self.trial);
                core::mem::swap(&mut round.log, &mut self.log);
                round.response = response;
            }
            let found = self.progress.witnesses.iter().any(|witness| witness.task == round.task);
            if round.stale < STALE_MAX && !found {
                self.round = Some(round);
            } else if round.focus != round.task && !found {
                self.round = Some(self.meet(round));
            } else {
                self.keep(round);
            }
        }
        &self.progress
    }

    /// Keeps the end of a round, for another round to continue from.
    fn keep(&mut self, round: Round) {
        let Round { task, response, scenario, .. } = round;
        match self.best.iter_mut().find(|(whose, ..)| *whose == task) {
            Some((_, best, _)) if *best > response => {}
            Some(best) => *best = (task, response, scenario),
            None => {
                if self.best.len() == BEST_MAX {
                    self.best.remove(0);
                }
                self.best.push((task, response, scenario));
            }
        }
    }

    /// Runs the trial, and logs it. Returns the longest response of the task in focus.
    fn run(&mut self, focus: usize) -> Duration {
        self.log.start(focus, self.facts.tasks.len());
        self.progress.runs += 1;
        let Ok(outcome) = self.simulation.run(&self.trial, &mut self.log) else { return Duration::ZERO };
        self.progress.events += outcome.events.max(1);
        if !matches!(outcome.end, RunEnd::Complete | RunEnd::Steps) {
            self.progress.stuck.get_or_insert_with(|| (outcome.end, self.trial.clone()));
            return Duration::ZERO;
        }
        let response = outcome.tasks[focus].response_max;
        let mut exceeded = None;
        for (at, best) in self.progress.tasks.iter_mut().enumerate() {
            let reached = outcome.tasks[at].response_max;
            if reached <= best.reached {
                continue;
            }
            best.reached = reached;
            if best.claimed.is_some_and(|claimed| reached > claimed) {
                exceeded = exceeded.or(Some(at));
            }
        }
        if let Some(task) = exceeded {
            self.witness(task);
        }
        response
    }

    /// Keeps the trial as a witness against a task's claim.
    fn witness(&mut self, task: usize) {
        let Some(claimed) = self.progress.tasks[task].claimed else { return };
        if self.progress.witnesses.iter().any(|witness| witness.task == task) {
            return;
        }
        let small = shrink::shrink(&self.set, &mut self.simulation, &self.trial, task, claimed);
        if let Some((witness, runs, events)) = small {
            self.progress.runs += runs;
            self.progress.events += events;
            self.progress.witnesses.push(witness);
        } else {
            // The set does not allow this run: a periodic task stopped too early.
            self.progress.tasks[task].reached = claimed;
            self.best.retain(|(whose, ..)| *whose != task);
        }
    }
}
