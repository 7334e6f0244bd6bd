// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What passes between a task's code and everything around it, where a channel of the task is recorded.
//!
//! Every end of a channel, and every question of a job for the time, goes through the task's event recorder,
//! and so through its [`TaskValues`]. In a run they copy what passes into a ring. In a replay of code they
//! give what passed in the recorded run, and keep what the code does in the replay. A task that is neither
//! recorded nor replayed pays one branch for each.
//!
//! **What is kept.** The value of each send to a recorded channel, by its sender. If a client writes the
//! channel, the value of each read, by its reader, because nobody else in the process sees it. For a task
//! whose code can be replayed ([`taut_plan::Plan::replays`]), also all interactions, in order: what each job
//! read, and every answer that it got. A reader of another channel keeps only the number of what it read, so
//! no value is kept twice.

mod file;
mod replayed;

use std::cell::RefCell;

use taut_event::{CancelOutcome, Interaction, JobOutcome, RanCode, Refusal};
use taut_plan::Plan;
use taut_trace::{ValueDrain, ValueRecorder, value_ring};

pub(crate) use self::file::{ValuesFile, ValuesWriter};
pub(crate) use self::replayed::{Answers, Replayed, ReplayedTask, answers};

/// What is kept of a channel's values, by the task that has the end.
#[derive(Clone, Copy, Debug, Default)]
struct RecordedEnd {
    sends: bool,
    reads: bool,
    /// How many values were read and kept.
    read: u64,
}

/// What is kept of each channel, by one task.
#[derive(Clone, Debug)]
pub(crate) struct RecordedEnds(Box<[RecordedEnd]>);

impl RecordedEnds {
    /// In a run: what the task sends to recorded channels, and what it reads of those that clients write.
    pub(crate) fn in_run(plan: &Plan) -> Self {
        let of = plan.channels.iter().map(|channel| RecordedEnd {
            sends: channel.record,
            reads: channel.record && channel.writer.client,
            read: 0,
        });
        Self(of.collect())
    }

    /// In a replay: all that the task sends to recorded channels, and all that it reads of them, because
    /// their senders may not be replayed.
    pub(crate) fn in_replay(plan: &Plan) -> Self {
        let of = plan.channels.iter();
        Self(
            of.map(|channel| RecordedEnd { sends: channel.record, reads: channel.record, read: 0 }).collect(),
        )
    }

    /// The value if sends to the channel are kept, else nothing.
    fn sent<'v>(&self, channel: u16, value: &'v [u8]) -> &'v [u8] {
        if self.0.get(usize::from(channel)).is_some_and(|of| of.sends) { value } else { &[] }
    }

    /// The number under which a value of the channel is read, and the value if reads are kept.
    fn received<'v>(&mut self, channel: u16, number: u64, value: &'v [u8]) -> (u64, &'v [u8]) {
        match self.0.get_mut(usize::from(channel)).filter(|of| of.reads) {
            Some(of) => {
                of.read += 1;
                (of.read, value)
            }
            None => (number, &[]),
        }
    }
}

/// What a run records of a task.
#[derive(Debug)]
pub(crate) struct ValueTap {
    recorder: ValueRecorder,
    ends: RecordedEnds,
    /// Whether all interactions are recorded, for a replay of the code.
    logs: bool,
}

/// What is done with everything that passes between a task's code and its surroundings.
#[derive(Debug, Default)]
pub(crate) enum TaskValues {
    /// Nothing.
    #[default]
    Unrecorded,
    /// It is recorded. A cell, because a job may ask for the time through a shared reference; one thread uses
    /// it.
    Recorded(RefCell<ValueTap>),
    /// It is answered from a recorded run.
    Replayed(Box<RefCell<ReplayedTask>>),
}

/// What a replay gives at a read, besides the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GivenRead {
    /// The channel of the value: of a message or of alarms, that of the sender.
    pub(crate) channel: u16,
    /// How many values were dropped before it; of a repeated alarm, how many later instants had passed.
    pub(crate) lost: u64,
    /// Of an alarm, when it was due (ns).
    pub(crate) due_ns: u64,
}

/// What a replay answers to a read: `None` if there was no value.
pub(crate) type ReadAnswer = Option<GivenRead>;

/// What a replay answers to a send.
pub(crate) type SendAnswer = Result<(), Refusal>;
/// A block that a sender was lent: which one of the channel's blocks, and the number of the value that was taken back for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LentBlock {
    pub(crate) block: u8,
    pub(crate) recalled: Option<u64>,
}

impl TaskValues {
    /// The values of a task of a run, and the drain of its ring.
    pub(crate) fn of_task(plan: &Plan, task: usize) -> (Self, Option<ValueDrain>) {
        let Some(bytes) = plan.tasks[task].value_ring else { return (Self::Unrecorded, None) };
        let (recorder, drain) = value_ring(bytes.as_bytes());
        let tap = ValueTap { recorder, ends: RecordedEnds::in_run(plan), logs: plan.replays(task).is_ok() };
        (Self::Recorded(RefCell::new(tap)), Some(drain))
    }

    /// Whether all interactions of the task's jobs are kept.
    #[inline]
    pub(crate) fn logs(&self) -> bool {
        match self {
            Self::Unrecorded => false,
            Self::Recorded(tap) => tap.borrow().logs,
            Self::Replayed(_) => true,
        }
    }

    /// Keeps an interaction without a value.
    #[inline]
    fn keep(&self, at_ns: u64, interaction: Interaction) {
        if !self.is_unrecorded() {
            self.keep_recorded(at_ns, interaction);
        }
    }

    /// Whether nothing becomes of them. This and no more is inlined into the ends: code that records, in the middle of a send or a
    /// receive, would cost instructions there although it does not run.
    #[inline]
    pub(crate) fn is_unrecorded(&self) -> bool {
        matches!(self, Self::Unrecorded)
    }

    #[inline(never)]
    fn keep_recorded(&self, at_ns: u64, interaction: Interaction) {
        match self {
            Self::Unrecorded => {}
            Self::Recorded(tap) => {
                let tap = &mut *tap.borrow_mut();
                if tap.logs {
                    tap.recorder.record(at_ns, interaction, &[]);
                }
            }
            Self::Replayed(task) => task.borrow_mut().keep(at_ns, interaction, &[]),
        }
    }

    /// The code of a job begins.
    pub(crate) fn begin(&self, at_ns: u64, job: u64, release_ns: u64, code: RanCode) {
        self.keep(at_ns, Interaction::Begin { job, release_ns, code });
    }

    /// The code of a job has ended.
    pub(crate) fn end(&self, at_ns: u64, job: u64, outcome: JobOutcome) {
        self.keep(at_ns, Interaction::End { job, outcome });
    }

    /// A value was sent.
    #[inline]
    pub(crate) fn sent(&self, at_ns: u64, channel: u16, number: u64, value: &[u8]) {
        if !self.is_unrecorded() {
            self.keep_sent(at_ns, channel, number, value);
        }
    }

    #[inline(never)]
    fn keep_sent(&self, at_ns: u64, channel: u16, number: u64, value: &[u8]) {
        let interaction = Interaction::Sent { channel, number };
        match self {
            Self::Unrecorded => {}
            Self::Recorded(tap) => {
                let tap = &mut *tap.borrow_mut();
                let value = tap.ends.sent(channel, value);
                if tap.logs || !value.is_empty() {
                    tap.recorder.record(at_ns, interaction, value);
                }
            }
            Self::Replayed(task) => task.borrow_mut().sent(channel, interaction, value),
        }
    }

    /// A block was lent.
    #[inline]
    pub(crate) fn lent(&self, at_ns: u64, channel: u16, lent: LentBlock) {
        let LentBlock { block, recalled } = lent;
        self.keep(at_ns, Interaction::Lent { channel, block, recalled: recalled.unwrap_or(0) });
    }

    /// A value was refused.
    #[inline]
    pub(crate) fn refused(&self, at_ns: u64, channel: u16, why: Refusal) {
        self.keep(at_ns, Interaction::Refused { channel, why });
    }

    /// An alarm was asked for: from when on it may come, when it is due, and in which time it is repeated, 0 if it is not (ns).
    /// What became of that is said by [`TaskValues::sent`] or [`TaskValues::refused`].
    #[inline]
    pub(crate) fn alarm_asked(
        &self,
        at_ns: u64,
        channel: u16,
        (earliest_ns, latest_ns): (u64, u64),
        period_ns: u64,
    ) {
        self.keep(at_ns, Interaction::AlarmAsked { channel, earliest_ns, latest_ns });
        if period_ns != 0 {
            self.keep(at_ns, Interaction::AlarmPeriod { channel, period_ns });
        }
    }

    /// The outcome of the cancellation of the alarm of this number, which is that of `cancel` in a run.
    #[inline]
    pub(crate) fn alarm_cancelled(
        &self,
        at_ns: impl FnOnce() -> u64,
        (channel, number): (u16, u64),
        cancel: impl FnOnce() -> CancelOutcome,
    ) -> CancelOutcome {
        let outcome = match self {
            Self::Replayed(task) => task.borrow_mut().answer_cancel(channel),
            _ => cancel(),
        };
        if self.logs() {
            self.keep(at_ns(), Interaction::AlarmCancelled { channel, number, outcome });
        }
        outcome
    }

    /// The alarm that was just received was due at this instant (ns).
    #[inline]
    pub(crate) fn alarm_due(&self, at_ns: u64, channel: u16, due_ns: u64) {
        self.keep(at_ns, Interaction::AlarmDue { channel, due_ns });
    }

    /// A value was received or read.
    #[inline]
    pub(crate) fn received(&self, at_ns: u64, channel: u16, number: u64, lost: u64, value: &[u8]) {
        if !self.is_unrecorded() {
            self.keep_received(at_ns, channel, number, lost, value);
        }
    }

    #[inline(never)]
    fn keep_received(&self, at_ns: u64, channel: u16, number: u64, lost: u64, value: &[u8]) {
        match self {
            Self::Unrecorded => {}
            Self::Recorded(tap) => {
                let tap = &mut *tap.borrow_mut();
                let (number, value) = tap.ends.received(channel, number, value);
                if tap.logs || !value.is_empty() {
                    tap.recorder.record(at_ns, Interaction::Received { channel, number, lost }, value);
                }
            }
            Self::Replayed(task) => task.borrow_mut().received(at_ns, channel, lost, value),
        }
    }

    /// A look at a channel found no value.
    #[inline]
    pub(crate) fn nothing(&self, at_ns: u64, channel: u16) {
        self.keep(at_ns, Interaction::Nothing { channel });
    }

    /// In a replay: the next job gets these answers.
    pub(crate) fn next_job(&self, answers: Answers) {
        if let Self::Replayed(task) = self {
            task.borrow_mut().next_job(answers);
        }
    }

    /// In a replay: what was done since the last call.
    pub(crate) fn take_done(&self) -> Vec<Replayed> {
        if let Self::Replayed(task) = self { task.borrow_mut().take_done() } else { Vec::new() }
    }

    /// Whether this is a replay.
    #[inline]
    pub(crate) fn is_replayed(&self) -> bool {
        matches!(self, Self::Replayed(_))
    }

    /// In a replay: whether the channel takes the next value that the job sends; `None` in a run.
    #[inline]
    pub(crate) fn answer_send(&self, channel: u16) -> Option<SendAnswer> {
        if self.is_replayed() { self.next_send(channel) } else { None }
    }

    #[cold]
    #[inline(never)]
    fn next_send(&self, channel: u16) -> Option<SendAnswer> {
        if let Self::Replayed(task) = self { Some(task.borrow_mut().answer_send(channel)) } else { None }
    }

    /// In a replay: which block the job is lent next; `None` inside if it gets none, and `None` in a run.
    #[inline]
    pub(crate) fn answer_loan(&self, channel: u16) -> Option<Option<LentBlock>> {
        if let Self::Replayed(task) = self { Some(task.borrow_mut().answer_loan(channel)) } else { None }
    }

    /// In a replay: copies what the job reads next of the channel, or of its message, with its stamp, into `stamped`; `None`
    /// in a run.
    #[inline]
    pub(crate) fn answer_read(&self, channel: u16, stamped: &mut [u8]) -> Option<ReadAnswer> {
        if self.is_replayed() { self.next_read(channel, stamped) } else { None }
    }

    #[cold]
    #[inline(never)]
    fn next_read(&self, channel: u16, stamped: &mut [u8]) -> Option<ReadAnswer> {
        if let Self::Replayed(task) = self {
            Some(task.borrow_mut().answer_read(channel, stamped))
        } else {
            None
        }
    }

    /// The time that the job gets (ns), which is `now_ns` in a run.
    #[inline]
    pub(crate) fn clock(&self, now_ns: impl FnOnce() -> u64) -> u64 {
        let now_ns = match self {
            Self::Replayed(task) => task.borrow_mut().answer_clock(),
            _ => now_ns(),
        };
        self.keep(now_ns, Interaction::Clock { now_ns });
        now_ns
    }

    /// The execution time that the job gets (ns), which is `time_ns` in a run.
    #[inline]
    pub(crate) fn used(&self, at_ns: impl FnOnce() -> u64, time_ns: impl FnOnce() -> u64) -> u64 {
        let time_ns = match self {
            Self::Replayed(task) => task.borrow_mut().answer_used(),
            _ => time_ns(),
        };
        if self.logs() {
            self.keep(at_ns(), Interaction::Used { time_ns });
        }
        time_ns
    }

    /// Whether the job is to end at this checkpoint, which is `is_killed` in a run.
    #[inline]
    pub(crate) fn checkpoint(&self, at_ns: impl FnOnce() -> u64, is_killed: bool) -> bool {
        let is_killed = match self {
            Self::Replayed(task) => task.borrow_mut().answer_checkpoint(),
            _ => is_killed,
        };
        if self.logs() {
            self.keep(at_ns(), Interaction::Checkpoint { is_killed });
        }
        is_killed
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use taut_event::values::{RecordedInteraction, RecordedJob, RecordedValues};
    use taut_manifest::SourceText;
    use taut_plan::STAMP_BYTES;
    use taut_policy::{VALUE_RECORDS_OF_JOB, VALUE_RING_BYTES_MAX, VALUE_SLOT_BYTES};

    use super::*;

    const MANIFEST: &str = r#"
manifest = 1
[app]
name = "recorded"
[platform]
cores = [0]
memory = "8MiB"
[payloads]
Word = { type = "u64" }
[tasks.control]
arrival = { periodic = "10ms" }
deadline = "10ms"
wcet = { value = "100us", source = "guess" }
[tasks.logger]
class = "best-effort"
[clients.ui]
[channels.settings]
kind = "state"
from = "ui"
to = "control"
payload = "Word"
record = true
[channels.power]
kind = "state"
from = "control"
to = "ui"
payload = "Word"
record = true
[channels.images]
kind = "bulk"
from = "control"
to = "logger"
payload = "Word"
capacity = 3
record = true
"#;

    fn plan() -> Plan {
        let source = SourceText { name: "taut.toml".to_owned(), text: MANIFEST.to_owned() };
        let model = taut_manifest::load(&source, &[]).model.expect("a valid manifest");
        taut_planner::Planned::make(&model, Vec::new()).plan
    }

    const SETTINGS: u16 = 0;
    const POWER: u16 = 1;
    const IMAGES: u16 = 2;

    /// What a job of the replay reads, and when it was sent; `None` if there is no value.
    fn read(values: &TaskValues) -> Option<(u64, u64)> {
        let mut stamped = [0; STAMP_BYTES as usize + 8];
        let answer = values.answer_read(SETTINGS, &mut stamped).expect("a replay");
        let word = |at: usize| u64::from_ne_bytes(stamped[at..at + 8].try_into().unwrap());
        answer.map(|given| {
            assert_eq!((given.lost, given.channel), (0, SETTINGS));
            (word(16), word(0))
        })
    }

    /// A client may say any number of a value, another client counts anew, and one number may stand for two values: each read is
    /// recorded with its value, and a replay gives what each read gave.
    #[test]
    #[cfg_attr(miri, ignore = "files")]
    fn what_a_client_wrote_is_recorded_at_each_read() {
        let (plan, folder) = (plan(), tempfile::tempdir().unwrap());
        let (values, drain) = TaskValues::of_task(&plan, 0);
        values.begin(10, 0, 9, RanCode::Task);
        values.nothing(11, SETTINGS);
        for (at_ns, number, value) in [(12, 7, 100u64), (13, 7, 200), (14, 1, 300)] {
            values.received(at_ns, SETTINGS, number, 0, &value.to_le_bytes());
        }
        assert_eq!(values.clock(|| 15), 15);
        values.sent(16, POWER, 1, &1u64.to_le_bytes());
        assert!(values.checkpoint(|| 17, true));
        assert_eq!(values.used(|| 18, || 4), 4);
        values.end(19, 0, JobOutcome::Done);
        assert_eq!(values.answer_send(POWER), None, "in a run, the channel answers");

        let path = folder.path().join("values.mcap");
        let writer =
            ValuesWriter::new(File::create_new(&path).unwrap(), &plan, (7, ""), None, false).unwrap();
        let written = ValuesFile::new(vec![(0, drain.unwrap())], writer).finish();
        assert_eq!((written.messages, written.lost), (10 + 4, 0));
        let bytes = std::fs::read(path).unwrap();
        let recorded = RecordedValues::from_bytes(&bytes).unwrap();

        let job = &recorded.tasks[0].jobs[0];
        let values = TaskValues::Replayed(Box::new(RefCell::new(ReplayedTask::new(&plan))));
        values.next_job(answers(&plan, job).unwrap());
        assert_eq!(read(&values), None);
        assert_eq!([read(&values), read(&values)], [Some((100, 12)), Some((200, 13))]);
        // Questions beyond those of the recorded job: the newest value, the same time.
        assert_eq!([read(&values), read(&values)], [Some((300, 14)); 2]);
        assert_eq!([values.clock(|| 99), values.clock(|| 99)], [15, 15]);
        assert_eq!([values.used(|| 0, || 99), values.used(|| 0, || 99)], [4, 4]);
        assert_eq!([values.checkpoint(|| 0, false), values.checkpoint(|| 0, true)], [true, false]);
        assert_eq!(values.answer_send(POWER), Some(Ok(())));
        // In the next job nothing new came.
        values.next_job(Answers::default());
        assert_eq!(read(&values), Some((300, 14)));
    }

    /// A job in which nothing else happened.
    fn job_of(interactions: &[(Interaction, Option<&'static [u8]>)]) -> RecordedJob<'static> {
        let of = interactions.iter().map(|(interaction, value)| RecordedInteraction {
            at_ns: 5,
            interaction: *interaction,
            value: *value,
            sent_ns: 0,
        });
        let interactions = of.collect();
        RecordedJob {
            job: 0,
            release_ns: 0,
            begin_ns: 0,
            code: RanCode::Task,
            outcome: JobOutcome::Done,
            interactions,
        }
    }

    /// Loans get the blocks of the recorded ones, or none, whatever else a job asks; a loan more gets the last block again.
    #[test]
    fn loans_are_answered_in_order() {
        let plan = plan();
        let lent = |block, recalled| (Interaction::Lent { channel: IMAGES, block, recalled }, None);
        let refused = |why| (Interaction::Refused { channel: IMAGES, why }, None);
        let sent = (Interaction::Sent { channel: IMAGES, number: 1 }, None);
        let job = job_of(&[lent(2, 0), sent, refused(Refusal::TooMany), refused(Refusal::Full), lent(1, 7)]);
        let values = TaskValues::Replayed(Box::new(RefCell::new(ReplayedTask::new(&plan))));
        assert_eq!(
            values.answer_loan(IMAGES),
            Some(Some(LentBlock { block: 0, recalled: None })),
            "no job yet"
        );
        values.next_job(answers(&plan, &job).unwrap());
        let expected = [Some((2, None)), None, Some((1, Some(7))), Some((1, None)), Some((1, None))];
        for lent in expected {
            let lent = lent.map(|(block, recalled)| LentBlock { block, recalled });
            assert_eq!(values.answer_loan(IMAGES), Some(lent));
        }
        assert_eq!(values.answer_send(IMAGES), Some(Ok(())), "what is refused is no send of a bulk channel");
        assert_eq!(TaskValues::Unrecorded.answer_loan(IMAGES), None);
    }

    /// The rule of the manifest (TAUT0460) is as wide as the ring: a release takes 6 slots, and a block 2 besides its own.
    #[test]
    #[cfg_attr(miri, ignore = "16 MiB")]
    fn the_largest_ring_takes_the_largest_block() {
        let slots = VALUE_RING_BYTES_MAX / VALUE_SLOT_BYTES - VALUE_RECORDS_OF_JOB - 2;
        let bytes = usize::try_from(slots * VALUE_SLOT_BYTES).unwrap();
        let block = vec![7u8; bytes + 1];
        for (size, fits) in [(bytes, true), (bytes + 1, false)] {
            let (mut recorder, mut drain) = value_ring(VALUE_RING_BYTES_MAX);
            for now_ns in 0..VALUE_RECORDS_OF_JOB {
                assert!(recorder.record(now_ns, Interaction::Clock { now_ns }, &[]));
            }
            assert!(recorder.record(7, Interaction::Lent { channel: IMAGES, block: 0, recalled: 0 }, &[]));
            let sent = Interaction::Sent { channel: IMAGES, number: 1 };
            assert_eq!(recorder.record(8, sent, &block[..size]), fits);
            let mut drained = 0;
            drain.drain(|_, _, value| drained += value.len());
            assert_eq!((drained, drain.lost()), if fits { (bytes, 0) } else { (0, 1) });
        }
    }

    /// A job that does not fit the plan has no answers: a hostile file.
    #[test]
    fn a_job_of_another_plan_has_no_answers() {
        let plan = plan();
        let job = |channel, value: &'static [u8]| {
            job_of(&[(Interaction::Received { channel, number: 1, lost: 0 }, Some(value))])
        };
        for (channel, block, fits) in
            [(IMAGES, 2, true), (IMAGES, 3, false), (POWER, 0, false), (9, 0, false)]
        {
            let lent = job_of(&[(Interaction::Lent { channel, block, recalled: 0 }, None)]);
            assert_eq!(answers(&plan, &lent).is_some(), fits, "{channel} {block}");
        }
        assert!(answers(&plan, &job(SETTINGS, &[0; 8])).is_some());
        assert!(answers(&plan, &job(SETTINGS, &[0; 7])).is_none(), "a value of another size");
        assert!(answers(&plan, &job(9, &[0; 8])).is_none(), "no such channel");
    }
}
