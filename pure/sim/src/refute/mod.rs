// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A search for a run that exceeds claimed bounds.
//!
//! It goes in rounds, each against one task's claim, and starts a round from a guess at what is bad:
//! - *critical*: all that may run in its place is released with it, one that should wait has just entered a section;
//! - *late*: first the response of one rival that may be suspended is made as long as may be, by others that ask for what
//!   it needs just before it does; then the task arrives where the rival's pushed execution meets its next job. The more
//!   a rival executes, the sooner it is chosen: it is the largest term of the response;
//! - *random*, and the *best* run so far.
//!
//! From there small changes are kept if the response does not become shorter, or at times a little. What is found is a
//! [`Witness`], made as small as its excess allows. Nothing found is no proof.

mod facts;
mod legal;
mod log;
mod moves;
mod shrink;

use taut_model::{Arrivals, TaskSet};
use taut_time::Duration;

use crate::random::Random;
use crate::{End, Execution, Fault, Rules, Scenario, Simulation};
use facts::{Facts, Way};
pub use legal::is_legal;
use log::Log;

/// Runs of a step, unless they are long.
const STEP_RUNS: u64 = 64;
/// Events after which a step ends.
const STEP_EVENTS: u64 = 1 << 17;
/// Events after which a run is given up.
const RUN_EVENTS: u64 = 1 << 20;
/// Changes without a longer response after which a round goes on, or ends.
const STALE_MAX: u64 = 400;

/// A run that exceeds a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The task: a position in the set.
    pub task: usize,
    /// Which of its jobs, from 0.
    pub job: u64,
    /// The bound that was claimed of its response, from the arrival.
    pub claimed: Duration,
    /// Its response.
    pub reached: Duration,
    /// The run: with the same set and rules it gives the same response.
    pub scenario: Scenario,
}

/// A claim and the longest response from an arrival that a run showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Best {
    /// The claim, if there is one.
    pub claimed: Option<Duration>,
    /// The longest response so far.
    pub reached: Duration,
}

impl Best {
    /// What was reached of the claim, in thousandths.
    pub fn permille(&self) -> Option<u64> {
        let claimed = self.claimed?;
        let share = u128::from(self.reached.as_ns()) * 1000 / u128::from(claimed.as_ns().max(1));
        Some(u64::try_from(share).unwrap_or(u64::MAX))
    }
}

/// How far a search is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Runs so far.
    pub runs: u64,
    /// What these took from their calendars.
    pub events: u64,
    /// Per task.
    pub tasks: Vec<Best>,
    /// At most one per task, in the order in which they were found.
    pub witnesses: Vec<Witness>,
    /// A run that ended as none should: jobs waited for each other, or a rule failed.
    pub stuck: Option<(End, Scenario)>,
}

/// A search. It ends when its caller wants it to: there is no clock here.
///
/// ```
/// use taut_model::{Arrivals, Body, Scheduler, SetTask, TaskSet};
/// use taut_sim::{GlobalRule, Hunt, Rules};
/// use taut_time::Duration;
///
/// let task = |name: &str, priority, cost, period| SetTask {
///     name: name.into(),
///     core: 0,
///     priority,
///     arrivals: Arrivals::Sporadic,
///     period: Duration::from_ms(period),
///     deadline: Duration::from_ms(period),
///     jitter: Duration::ZERO,
///     body: Body::Anywhere { cost: Duration::from_ms(cost), requests: Vec::new() },
/// };
/// let set = TaskSet::new(vec![Scheduler::FixedPriority], vec![], vec![task("a", 2, 1, 4), task("b", 1, 3, 8)]).unwrap();
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
    progress: Progress,
    /// Per task, the best run so far.
    best: Vec<Option<(Duration, Scenario)>>,
    round: Option<Round>,
    /// The run under way, and what it shows.
    trial: Scenario,
    log: Log,
}

/// Changes to one scenario, against one task.
#[derive(Clone, Debug)]
struct Round {
    task: usize,
    /// Whose response is made longer: the task's, or first a rival's.
    focus: usize,
    scenario: Scenario,
    log: Log,
    response: Duration,
    stale: u64,
}

impl Hunt {
    /// Prepares a search; as many claims as tasks, those past the end of the list are none. That no deadline is missed is
    /// claimed by giving the deadlines. The same seed gives the same search.
    ///
    /// # Errors
    /// What does not fit together, as [`Simulation::new`]; `Overflow` if a period or claim is longer than 2⁵⁸ ns.
    pub fn new(set: &TaskSet, rules: &Rules, claims: &[Option<Duration>], seed: u64) -> Result<Self, Fault> {
        let simulation = Simulation::new(set, rules)?;
        let facts = Facts::of(set, rules);
        let claim = |at: usize| claims.get(at).copied().flatten();
        let long = 1 << 58;
        let times = set.tasks().iter().enumerate().map(|(at, task)| {
            let claim = claim(at).map_or(0, Duration::as_ns);
            task.period.as_ns().max(task.jitter.as_ns()).max(claim).max(set.cost(at).as_ns())
        });
        if times.max().is_some_and(|time| time > long) {
            return Err(Fault::Overflow);
        }
        let count = set.tasks().len();
        let tasks = (0..count).map(|at| Best { claimed: claim(at), reached: Duration::ZERO }).collect();
        Ok(Self {
            set: set.clone(),
            trial: facts.silent(0),
            facts,
            simulation,
            random: Random::new(seed),
            progress: Progress { runs: 0, events: 0, tasks, witnesses: Vec::new(), stuck: None },
            best: vec![None; count],
            round: None,
            log: Log::default(),
        })
    }

    /// How far it is.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Goes on for some runs: a few milliseconds for most sets. Without effect once every claim is exceeded.
    pub fn step(&mut self) -> &Progress {
        let (runs, events) = (self.progress.runs + STEP_RUNS, self.progress.events + STEP_EVENTS);
        while self.progress.runs < runs && self.progress.events < events {
            let Some(mut round) = self.round.take().or_else(|| self.start()) else { break };
            self.trial.clone_from(&round.scenario);
            moves::change(&self.facts, round.focus, &round.log, &mut self.trial, &mut self.random);
            let response = self.run(round.focus);
            // A little shorter at times: others may follow that make it longer.
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
            }
        }
        &self.progress
    }

    /// Runs the trial, and takes notes. Gives the longest response of a task.
    fn run(&mut self, focus: usize) -> Duration {
        self.log.start(focus, self.facts.tasks.len());
        self.progress.runs += 1;
        let Ok(outcome) = self.simulation.run(&self.trial, &mut self.log) else { return Duration::ZERO };
        self.progress.events += outcome.events.max(1);
        if !matches!(outcome.end, End::Complete | End::Steps) {
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
            if best.claimed.is_some() {
                match &mut self.best[at] {
                    Some((response, scenario)) => {
                        *response = reached;
                        scenario.clone_from(&self.trial);
                    }
                    none => *none = Some((reached, self.trial.clone())),
                }
            }
        }
        if let Some(task) = exceeded {
            self.witness(task);
        }
        response
    }

    /// Keeps the trial as what exceeds a task's claim.
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
            // No run of the set: something periodic had ended too soon.
            self.progress.tasks[task].reached = claimed;
            self.best[task] = None;
        }
    }

    /// A round against a claim that holds as yet, if there is one.
    fn start(&mut self) -> Option<Round> {
        let holds = |at: &usize| {
            self.progress.tasks[*at].claimed.is_some()
                && !self.progress.witnesses.iter().any(|witness| witness.task == *at)
        };
        let open: Vec<usize> = (0..self.facts.tasks.len()).filter(holds).collect();
        // Of three, the one whose claim is nearest; or just any.
        let nearest = self.random.up_to(1) == 0;
        let mut task = *self.random.pick(&open)?;
        for _ in 0..2 {
            let other = *self.random.pick(&open)?;
            if nearest && self.progress.tasks[other].permille() > self.progress.tasks[task].permille() {
                task = other;
            }
        }
        let claimed = self.progress.tasks[task].claimed?.as_ns();
        let late = self.late_rival(task);
        let (focus, scenario) = match (self.random.up_to(9), late) {
            (0..=3, Some(rival)) => (rival, self.late(task, rival, claimed)),
            (0..=6, _) => (task, self.critical(task, claimed)),
            (7..=8, _) => match &self.best[task] {
                Some((_, scenario)) => (task, scenario.clone()),
                None => (task, self.anything(task, claimed)),
            },
            _ => (task, self.anything(task, claimed)),
        };
        self.trial = scenario;
        let response = self.run(focus);
        Some(Round { task, focus, scenario: self.trial.clone(), log: self.log.clone(), response, stale: 0 })
    }

    /// A rival that may be suspended, the sooner the more it executes.
    fn late_rival(&mut self, task: usize) -> Option<usize> {
        let tasks = &self.facts.tasks;
        let suspends = |at: &&usize| tasks[**at].suspends;
        let all: u64 = tasks[task].rivals.iter().filter(suspends).map(|at| tasks[*at].cost).sum();
        let mut left = self.random.up_to(all.checked_sub(1)?);
        for at in tasks[task].rivals.iter().filter(suspends) {
            match left.checked_sub(tasks[*at].cost) {
                Some(less) => left = less,
                None => return Some(*at),
            }
        }
        None
    }

    /// Where a rival alone with its own rivals begins.
    fn late(&mut self, task: usize, rival: usize, claimed: u64) -> Scenario {
        let jitter = self.facts.tasks[rival].jitter;
        let horizon = 2 * self.facts.tasks[rival].period + jitter + claimed + claimed / 4;
        let mut scenario = self.facts.silent(horizon);
        scenario.steps_max = RUN_EVENTS;
        self.facts.dense(rival, 0, &mut scenario);
        for other in self.facts.tasks[rival].rivals.iter().filter(|other| **other != task) {
            self.facts.dense(*other, 0, &mut scenario);
        }
        scenario
    }

    /// The rival of a round is late: now the task meets it and its next job.
    fn meet(&mut self, round: Round) -> Round {
        let Round { task, mut scenario, log, .. } = round;
        let at = self.random.pick(&log.marks).map_or(0, |mark| mark.at);
        self.facts.put(task, at, false, &mut scenario);
        self.trial = scenario;
        let response = self.run(task);
        Round { task, focus: task, scenario: self.trial.clone(), log: self.log.clone(), response, stale: 0 }
    }

    /// All rivals at once with the task, and often something in a section just before.
    fn critical(&mut self, task: usize, claimed: u64) -> Scenario {
        let tasks = &self.facts.tasks;
        let own = &tasks[task];
        let longest =
            tasks.iter().filter(|t| t.core == own.core).map(|t| t.jitter.max(t.cost)).max().unwrap_or(0);
        let lead = match self.random.up_to(2) {
            0 => own.period.min(claimed),
            1 => own.rivals.iter().map(|at| tasks[*at].period).max().unwrap_or(0).min(claimed),
            _ => 0,
        };
        let start = longest.saturating_mul(2) + lead;
        let mut scenario = self.facts.silent(start + claimed.max(own.period) + claimed / 4);
        scenario.steps_max = RUN_EVENTS;
        for at in own.rivals.iter().chain([&task]) {
            let jitter = tasks[*at].jitter;
            self.facts.dense(*at, start - jitter, &mut scenario);
            if jitter > 0 && !matches!(tasks[*at].arrivals, Arrivals::Phased(_)) {
                scenario.delays[*at].1.push(Duration::from_ns(jitter));
            }
        }
        if let Some(&lower) = self.random.pick(&own.lower)
            && let Some(resource) = self.facts.any_resource(lower, &mut self.random)
            && let Some(before) = self.facts.before(lower, resource, &scenario, &mut self.random)
        {
            self.facts.put(lower, start.saturating_sub(before + 1), false, &mut scenario);
        }
        let away = self.random.up_to(1) == 0;
        for at in 0..self.facts.tasks.len() {
            if self.random.up_to(3) == 0 {
                scenario.placed[at].1 = self.facts.places(at, Way::any(&mut self.random), &mut self.random);
            }
            if away && self.facts.tasks[at].core != self.facts.tasks[task].core {
                let from = self.random.up_to(self.facts.tasks[at].period);
                self.facts.dense(at, from, &mut scenario);
            }
        }
        scenario
    }

    /// Whatever may be.
    fn anything(&mut self, task: usize, claimed: u64) -> Scenario {
        let own = &self.facts.tasks[task];
        let mut scenario = self.facts.silent(own.period.saturating_mul(2).saturating_add(claimed));
        scenario.steps_max = RUN_EVENTS;
        scenario.seed = self.random.next();
        if self.random.up_to(3) == 0 {
            scenario.execution = Execution::Random { least_percent: 50 };
        }
        for at in 0..self.facts.tasks.len() {
            let from = self.random.up_to(self.facts.tasks[at].period);
            self.facts.dense(at, from, &mut scenario);
            scenario.placed[at].1 = self.facts.places(at, Way::any(&mut self.random), &mut self.random);
        }
        scenario
    }
}
