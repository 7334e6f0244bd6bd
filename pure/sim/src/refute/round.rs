// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The beginnings of rounds.

use taut_model::ArrivalPattern;
use taut_time::Duration;

use super::Hunt;
use super::facts::Way;
use super::log::Log;
use crate::{Execution, Scenario};

/// Events after which a run is given up.
const RUN_EVENTS: u64 = 1 << 20;
/// The longest busy stretch in a scenario, in ns: so that no sum overflows.
const STRETCH_MAX: u64 = 1 << 60;

/// Changes to one scenario, against one task's claim.
#[derive(Clone, Debug)]
pub(super) struct Round {
    pub(super) task: usize,
    /// The task whose response becomes longer: the round's task, or first a rival.
    pub(super) focus: usize,
    pub(super) scenario: Scenario,
    pub(super) log: Log,
    pub(super) response: Duration,
    pub(super) stale: u64,
}

impl Hunt {
    /// A round against a claim that no run has exceeded yet, if there is one.
    pub(super) fn start(&mut self) -> Option<Round> {
        let holds = |at: &usize| {
            self.progress.tasks[*at].claimed.is_some()
                && !self.progress.witnesses.iter().any(|witness| witness.task == *at)
        };
        let open: Vec<usize> = (0..self.facts.tasks.len()).filter(holds).collect();
        // Of three tasks, the one nearest to its claim; or a task at random.
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
            (7..=8, _) => match self.best.iter().find(|(whose, ..)| *whose == task) {
                Some((_, _, scenario)) => (task, scenario.clone()),
                None => (task, self.anything(task, claimed)),
            },
            _ => (task, self.anything(task, claimed)),
        };
        self.trial = scenario;
        let response = self.run(focus);
        Some(Round { task, focus, scenario: self.trial.clone(), log: self.log.clone(), response, stale: 0 })
    }

    /// A rival that may suspend, at random; a rival that executes more is more likely.
    fn late_rival(&mut self, task: usize) -> Option<usize> {
        let tasks = &self.facts.tasks;
        let suspends = |at: &&usize| **at != task && tasks[**at].suspends;
        let all: u64 = self.facts.rivals(task).iter().filter(suspends).map(|at| tasks[*at].cost).sum();
        let mut left = self.random.up_to(all.checked_sub(1)?);
        for at in self.facts.rivals(task).iter().filter(suspends) {
            match left.checked_sub(tasks[*at].cost) {
                Some(less) => left = less,
                None => return Some(*at),
            }
        }
        None
    }

    /// The initial scenario in which only a rival and its own rivals arrive.
    fn late(&mut self, task: usize, rival: usize, claimed: u64) -> Scenario {
        let jitter = self.facts.tasks[rival].jitter;
        let horizon = 2 * self.facts.tasks[rival].period + jitter + claimed + claimed / 4;
        let mut scenario = self.facts.silent(horizon);
        scenario.steps_max = RUN_EVENTS;
        self.facts.dense(rival, 0, &mut scenario);
        for other in self.facts.rivals(rival).iter().filter(|other| ![task, rival].contains(other)) {
            self.facts.dense(*other, 0, &mut scenario);
        }
        scenario
    }

    /// The rival of a round is late: now the task arrives where it meets the rival and the rival's next job.
    pub(super) fn meet(&mut self, round: Round) -> Round {
        let Round { task, mut scenario, log, .. } = round;
        let at = self.random.pick(&log.marks).map_or(0, |mark| mark.at);
        self.facts.put(task, at, false, &mut scenario);
        self.trial = scenario;
        let response = self.run(task);
        Round { task, focus: task, scenario: self.trial.clone(), log: self.log.clone(), response, stale: 0 }
    }

    /// All rivals arrive together with the task, and often a less urgent task is in a section just before.
    fn critical(&mut self, task: usize, claimed: u64) -> Scenario {
        let tasks = &self.facts.tasks;
        let own = &tasks[task];
        let longest =
            tasks.iter().filter(|t| t.core == own.core).map(|t| t.jitter.max(t.cost)).max().unwrap_or(0);
        let lead = match self.random.up_to(2) {
            0 => own.period.min(claimed),
            1 => self.facts.rivals(task).iter().map(|at| tasks[*at].period).max().unwrap_or(0).min(claimed),
            _ => 0,
        };
        let start = longest.saturating_mul(2) + lead;
        // Later jobs of a busy stretch may be worse: some stretches are long.
        let stretch = claimed.max(own.period) + claimed / 4;
        let times =
            if own.edf || claimed > own.period { [1, 1, 8, 64][self.random.up_to(3) as usize] } else { 1 };
        let mut scenario = self.facts.silent(start + stretch.saturating_mul(times).min(STRETCH_MAX));
        scenario.steps_max = RUN_EVENTS;
        for at in self.facts.rivals(task) {
            let jitter = tasks[*at].jitter;
            self.facts.dense(*at, start - jitter, &mut scenario);
            if jitter > 0 && !matches!(tasks[*at].arrivals, ArrivalPattern::Phased(_)) {
                scenario.delays[*at].1.push(Duration::from_ns(jitter));
            }
        }
        if let Some(&lower) = self.random.pick(self.facts.lower(task))
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

    /// A random scenario.
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
