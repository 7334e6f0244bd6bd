// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The task of a replay: what its jobs got in the recorded run, and what they do in the replay.
//!
//! Each kind of question is answered by itself, in the order of the recorded job: the third look at a channel
//! gets what the third look got. So code that asks in another order gets the same answers. If a job asks more
//! often than the recorded one, it is answered as if nothing had come since: an empty queue, the same newest
//! value, the same time, the block that was lent last.

use std::collections::{HashMap, VecDeque};

use taut_event::values::{RecordedInteraction, RecordedJob};
use taut_event::{CancelOutcome, Interaction, Refusal};
use taut_plan::{ChannelKind, Plan, STAMP_BYTES};

use super::{GivenRead, LentBlock, ReadAnswer, RecordedEnds, SendAnswer};

/// What a look at a channel got.
#[derive(Clone, Debug)]
struct Read {
    given: GivenRead,
    /// The value with its stamp.
    stamped: Vec<u8>,
}

/// What the replayed job got in the recorded run.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// By the first lane of a message, the first source of a state, or by channel: in order, `None` if there was no value.
    reads: HashMap<u16, VecDeque<Option<Read>>>,
    /// By channel: when, and whether it took the value.
    sends: HashMap<u16, VecDeque<(u64, SendAnswer)>>,
    /// By channel: what became of cancelled alarms.
    cancels: HashMap<u16, VecDeque<CancelOutcome>>,
    /// By bulk channel: in order, `None` if there was no block.
    loans: HashMap<u16, VecDeque<Option<LentBlock>>>,
    clocks: VecDeque<u64>,
    used: VecDeque<u64>,
    checkpoints: VecDeque<bool>,
    begin_ns: u64,
}

/// By channel: the first lane of its message, the first source of its state, or itself.
fn firsts(plan: &Plan) -> Vec<u16> {
    let first = |channel: &taut_plan::ChannelPlan| {
        let of = |other: &taut_plan::ChannelPlan| other.table() == channel.table();
        crate::names::position(plan.channels.iter().position(of).unwrap_or(usize::MAX))
    };
    plan.channels.iter().map(first).collect()
}

fn is_bulk(plan: &Plan, channel: u16) -> bool {
    plan.channels.get(usize::from(channel)).is_some_and(|of| of.kind == ChannelKind::Bulk)
}

/// The answers for a job; `None` if the recorded job does not fit the plan.
pub(crate) fn answers(plan: &Plan, job: &RecordedJob<'_>) -> Option<Answers> {
    let firsts = firsts(plan);
    let mut answers = Answers { begin_ns: job.begin_ns, ..Answers::default() };
    let first = |channel: u16| firsts.get(usize::from(channel)).copied();
    for RecordedInteraction { at_ns, interaction, value, sent_ns } in &job.interactions {
        match *interaction {
            Interaction::Received { channel, number, lost } => {
                let value = value.filter(|value| {
                    value.len() == plan.channels.get(usize::from(channel)).map_or(0, |of| of.size as usize)
                })?;
                let mut stamped = Vec::with_capacity(STAMP_BYTES as usize + value.len());
                stamped.extend(sent_ns.to_ne_bytes());
                stamped.extend(number.to_ne_bytes());
                stamped.extend_from_slice(value);
                let read = Some(Read { given: GivenRead { channel, lost, due_ns: 0 }, stamped });
                answers.reads.entry(first(channel)?).or_default().push_back(read);
            }
            Interaction::Nothing { channel } => {
                answers.reads.entry(first(channel)?).or_default().push_back(None);
            }
            Interaction::Sent { channel, .. } => {
                answers.sends.entry(channel).or_default().push_back((*at_ns, Ok(())));
            }
            Interaction::Lent { channel, block, recalled } => {
                let recalled = Some(recalled).filter(|number| *number > 0);
                let of = plan.channels.get(usize::from(channel))?;
                let fits = of.kind == ChannelKind::Bulk && u32::from(block) < of.capacity;
                let lent = fits.then_some(LentBlock { block, recalled })?;
                answers.loans.entry(channel).or_default().push_back(Some(lent));
            }
            // The sending end finds that by itself.
            Interaction::Refused { why: Refusal::TooMany, .. } => {}
            Interaction::Refused { channel, .. } if is_bulk(plan, channel) => {
                answers.loans.entry(channel).or_default().push_back(None);
            }
            Interaction::Refused { channel, why } => {
                answers.sends.entry(channel).or_default().push_back((*at_ns, Err(why)));
            }
            // What the code asks for is its own.
            Interaction::AlarmAsked { .. } | Interaction::AlarmPeriod { .. } => {}
            Interaction::AlarmCancelled { channel, outcome, .. } => {
                answers.cancels.entry(channel).or_default().push_back(outcome);
            }
            Interaction::AlarmDue { channel, due_ns } => {
                let received = answers.reads.get_mut(&first(channel)?)?.back_mut()?.as_mut()?;
                received.given.due_ns = due_ns;
            }
            Interaction::Clock { now_ns } => answers.clocks.push_back(now_ns),
            Interaction::Used { time_ns } => answers.used.push_back(time_ns),
            Interaction::Checkpoint { is_killed } => answers.checkpoints.push_back(is_killed),
            Interaction::Begin { .. } | Interaction::End { .. } => return None,
        }
    }
    Some(answers)
}

/// An interaction of the replay, with its instant in the recorded run and its value if that is kept.
pub(crate) type Replayed = (u64, Interaction, Vec<u8>);

/// A task of a replay.
#[derive(Debug)]
pub(crate) struct ReplayedTask {
    firsts: Vec<u16>,
    is_state: Vec<bool>,
    ends: RecordedEnds,
    answers: Answers,
    /// By channel: the newest value of a state that a job read.
    newest: HashMap<u16, Read>,
    /// What the last clock and the last question for the execution time got.
    now_ns: u64,
    used_ns: u64,
    /// When the value that is being sent was sent in the recorded run.
    send_ns: u64,
    /// By bulk channel: the block that was lent last.
    lent: HashMap<u16, u8>,
    done: Vec<Replayed>,
}

impl ReplayedTask {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            firsts: firsts(plan),
            is_state: plan.channels.iter().map(|channel| channel.kind == ChannelKind::State).collect(),
            ends: RecordedEnds::in_replay(plan),
            answers: Answers::default(),
            newest: HashMap::new(),
            now_ns: 0,
            used_ns: 0,
            send_ns: 0,
            lent: HashMap::new(),
            done: Vec::new(),
        }
    }

    /// The next job gets these answers.
    pub(crate) fn next_job(&mut self, answers: Answers) {
        (self.now_ns, self.used_ns, self.send_ns) = (answers.begin_ns, 0, answers.begin_ns);
        self.answers = answers;
    }

    /// What was done since the last call.
    pub(crate) fn take_done(&mut self) -> Vec<Replayed> {
        std::mem::take(&mut self.done)
    }

    pub(super) fn keep(&mut self, at_ns: u64, interaction: Interaction, value: &[u8]) {
        self.done.push((at_ns, interaction, value.to_vec()));
    }

    pub(super) fn sent(&mut self, channel: u16, interaction: Interaction, value: &[u8]) {
        let value = self.ends.sent(channel, value);
        self.keep(self.send_ns, interaction, value);
    }

    pub(super) fn received(&mut self, at_ns: u64, channel: u16, lost: u64, value: &[u8]) {
        let (number, value) = self.ends.received(channel, 0, value);
        self.keep(at_ns, Interaction::Received { channel, number, lost }, value);
    }

    pub(super) fn answer_send(&mut self, channel: u16) -> SendAnswer {
        let next = self.answers.sends.get_mut(&channel).and_then(VecDeque::pop_front);
        let (at_ns, answer) = next.unwrap_or((self.answers.begin_ns, Ok(())));
        self.send_ns = at_ns;
        answer
    }

    pub(super) fn answer_cancel(&mut self, channel: u16) -> CancelOutcome {
        let next = self.answers.cancels.get_mut(&channel).and_then(VecDeque::pop_front);
        next.unwrap_or(CancelOutcome::Over)
    }

    pub(super) fn answer_loan(&mut self, channel: u16) -> Option<LentBlock> {
        let last = self.lent.entry(channel).or_default();
        let next = self.answers.loans.get_mut(&channel).and_then(VecDeque::pop_front);
        let lent = next.unwrap_or(Some(LentBlock { block: *last, recalled: None }))?;
        *last = lent.block;
        Some(lent)
    }

    pub(super) fn answer_read(&mut self, channel: u16, stamped: &mut [u8]) -> ReadAnswer {
        let first = self.firsts.get(usize::from(channel)).copied().unwrap_or(channel);
        let is_state = self.is_state.get(usize::from(channel)).is_some_and(|state| *state);
        let next = self.answers.reads.get_mut(&first).and_then(VecDeque::pop_front);
        let read = match next {
            Some(read) => read?,
            None => self.newest.get(&channel)?.clone(),
        };
        if stamped.len() != read.stamped.len() {
            return None;
        }
        stamped.copy_from_slice(&read.stamped);
        let answer = Some(read.given);
        if is_state {
            self.newest.insert(channel, read);
        }
        answer
    }

    pub(super) fn answer_clock(&mut self) -> u64 {
        self.now_ns = self.answers.clocks.pop_front().unwrap_or(self.now_ns);
        self.now_ns
    }

    pub(super) fn answer_used(&mut self) -> u64 {
        self.used_ns = self.answers.used.pop_front().unwrap_or(self.used_ns);
        self.used_ns
    }

    pub(super) fn answer_checkpoint(&mut self) -> bool {
        self.answers.checkpoints.pop_front().unwrap_or(false)
    }
}
