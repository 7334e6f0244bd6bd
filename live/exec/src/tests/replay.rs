// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Reports the records to a fresh rule: each decision of the threads must be the rule's.

use std::collections::VecDeque;

use taut_event::{Kind, Record};
use taut_policy::{AnyCore, LocalAnswer, Locking, Scheduler};
use taut_time::{Duration, Instant};

use crate::LocalRule;
use crate::ready::rule::Attributes;

/// What a replay has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) completed: u64,
    pub(super) locked: u64,
    pub(super) preempted: u64,
    pub(super) at_unlock: u64,
    pub(super) waited: u64,
}

struct Replay<'r> {
    rule: AnyCore,
    records: &'r [Record],
    at: usize,
    running: Option<usize>,
    begun: Vec<bool>,
    active: Vec<bool>,
    wants: Vec<Option<u64>>,
    behind: Vec<VecDeque<Instant>>,
    /// Per task, the next release and the period; `None` if no calendar knows.
    next: Vec<Option<(u64, Duration)>>,
    seen: Seen,
}

/// Replays all of a core's records. `periods` has the offset, counted from `origin`, and the period of each periodic
/// task.
pub(super) fn replay(
    records: &[Record],
    rule: LocalRule,
    attributes: &Attributes,
    origin: Instant,
    periods: &[Option<(Duration, Duration)>],
) -> Result<Seen, String> {
    let count = periods.len();
    let first = |(offset, period): (Duration, Duration)| (origin.as_ns() + offset.as_ns(), period);
    let mut replay = Replay {
        rule: attributes.rule(rule).map_err(|misuse| misuse.to_string())?,
        records,
        at: 0,
        running: None,
        begun: vec![false; count],
        active: vec![false; count],
        wants: vec![None; count],
        behind: vec![VecDeque::new(); count],
        next: periods.iter().map(|times| times.map(first)).collect(),
        seen: Seen::default(),
    };
    while replay.at < records.len() {
        let at = replay.at;
        replay.step().map_err(|what| {
            let around = records[at.saturating_sub(6)..(at + 4).min(records.len())].iter();
            let lines: Vec<_> = around.map(|record| format!("{record:?}")).collect();
            format!("record {at}: {what}\n{}", lines.join("\n"))
        })?;
    }
    match replay.active.iter().any(|active| *active) {
        true => Err("a job is lost".to_owned()),
        false => Ok(replay.seen),
    }
}

impl Replay<'_> {
    fn step(&mut self) -> Result<(), String> {
        let record = self.records[self.at];
        let task = usize::from(record.subject);
        let reported = |record: &Record| record.at.as_ns() + record.value;
        let refused = |misuse: taut_policy::Misuse| misuse.to_string();
        let resource = record.value as usize;
        self.at += 1;
        match record.kind {
            Kind::Overrun | Kind::Miss => return Ok(()),
            Kind::Skip => {
                self.advance(task);
                return Ok(());
            }
            Kind::Release => {
                let instant = reported(&record);
                self.at -= 1;
                // All releases of one scan are reported before the rule decides.
                while let Some(record) = self.records.get(self.at) {
                    match record.kind {
                        Kind::Release if reported(record) == instant => self.release(record)?,
                        Kind::Skip => self.advance(usize::from(record.subject)),
                        Kind::Overrun => {}
                        _ => break,
                    }
                    self.at += 1;
                }
            }
            Kind::Complete => {
                if self.rule.complete().map_err(refused)? != task {
                    return Err("it completes and does not run".to_owned());
                }
                self.running = None;
                (self.begun[task], self.active[task]) = (false, false);
                self.seen.completed += 1;
                // Releases that wait behind it are dropped once the executor has been stopped.
                while let Some(record) = self.records.get(self.at) {
                    match record.kind {
                        Kind::Miss => {}
                        Kind::Skip if usize::from(record.subject) == task && self.drops(task) => {}
                        _ => break,
                    }
                    self.at += 1;
                }
                if let Some(arrival) = self.behind[task].pop_front() {
                    self.active[task] = true;
                    self.rule.release(task, arrival).map_err(refused)?;
                }
            }
            Kind::Locked if self.wants[task].take() == Some(record.value) => return Ok(()),
            Kind::Locked | Kind::Suspend => {
                let floor = self.next.iter().flatten().map(|(at, _)| *at).min().unwrap_or(u64::MAX);
                let answer = self.rule.lock(Instant::from_ns(floor), resource).map_err(refused)?;
                let expected =
                    if record.kind == Kind::Locked { LocalAnswer::Granted } else { LocalAnswer::Waits };
                if self.running != Some(task) || answer != expected {
                    return Err(format!("the rule answers {answer:?} to {:?}", self.running));
                }
                if answer == LocalAnswer::Waits {
                    self.wants[task] = Some(record.value);
                    self.running = None;
                    self.seen.waited += 1;
                }
                self.seen.locked += u64::from(answer == LocalAnswer::Granted);
            }
            Kind::Unlock => {
                if self.running != Some(task) {
                    return Err("it unlocks and does not run".to_owned());
                }
                self.rule.unlock(resource).map_err(refused)?;
                let before = self.seen.preempted;
                self.decide()?;
                self.seen.at_unlock += self.seen.preempted - before;
                return Ok(());
            }
            Kind::Counted | Kind::CoreCounted | Kind::Slept => return Ok(()),
            kind => return Err(format!("{kind:?} was not decided")),
        }
        self.decide()
    }

    fn release(&mut self, record: &Record) -> Result<(), String> {
        let task = usize::from(record.subject);
        self.advance(task);
        if self.active[task] {
            self.behind[task].push_back(record.at);
            return Ok(());
        }
        self.active[task] = true;
        self.rule.release(task, record.at).map_err(|misuse| misuse.to_string())
    }

    fn drops(&mut self, task: usize) -> bool {
        self.behind[task].pop_front().is_some()
    }

    fn advance(&mut self, task: usize) {
        if let Some((at, period)) = &mut self.next[task] {
            *at += period.as_ns();
        }
    }

    /// Lets the rule decide, and checks that the records follow the decision.
    fn decide(&mut self) -> Result<(), String> {
        let chosen = self.rule.decide();
        self.rule.check_state()?;
        if chosen == self.running {
            return Ok(());
        }
        if let Some(task) = self.running {
            self.expect(Kind::Preempt, task)?;
            self.seen.preempted += 1;
        }
        self.running = chosen;
        if let Some(task) = chosen {
            let kind =
                if std::mem::replace(&mut self.begun[task], true) { Kind::Resume } else { Kind::Start };
            self.expect(kind, task)?;
        }
        Ok(())
    }

    fn expect(&mut self, kind: Kind, task: usize) -> Result<(), String> {
        match self.records.get(self.at) {
            Some(record) if record.kind == kind && usize::from(record.subject) == task => {
                self.at += 1;
                Ok(())
            }
            found => Err(format!("the rule says {kind:?} of {task}; recorded is {found:?}")),
        }
    }
}
