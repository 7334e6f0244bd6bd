// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What passes between a job's code and everything around it: values, instants, outcomes. Code that depends on
//! nothing else does the same again if it gets the same again.
//!
//! A recorded run has a topic `taut/jobs/TASK` for each task whose code it can replay, with an interaction in each
//! message. [`INTERACTION_SCHEMA`] lists their numbers and the words of a message.

use std::fmt;

/// Bytes of an interaction.
pub const INTERACTION_BYTES: usize = 19;

/// The schema of the topics of interactions, a ROS 1 message.
pub const INTERACTION_SCHEMA: &str = "\
uint8 BEGIN=1
uint8 END=2
uint8 SENT=3
uint8 REFUSED=4
uint8 RECEIVED=5
uint8 NOTHING=6
uint8 CLOCK=7
uint8 USED=8
uint8 CHECKPOINT=9
uint8 ALARM_ASKED=10
uint8 ALARM_PERIOD=11
uint8 ALARM_CANCELLED=12
uint8 ALARM_DUE=13
uint8 LENT=14
uint64 number
uint64 value
uint16 channel
uint8 kind
";

/// The code of its component that a job ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RanCode {
    /// The task's own.
    Task = 0,
    /// `reset`.
    Reset = 1,
    /// `resume`.
    Resume = 2,
    /// `pause`.
    Pause = 3,
    /// `stop`.
    Stop = 4,
}

impl RanCode {
    fn from_number(number: u16) -> Option<Self> {
        [Self::Task, Self::Reset, Self::Resume, Self::Pause, Self::Stop]
            .into_iter()
            .find(|code| *code as u16 == number)
    }
}

/// How the code of a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    /// Without a failure.
    Done,
    /// With this code of the application.
    Failed(u32),
    /// A scope was too small.
    Scope,
    /// It did not get a lock.
    Lock,
    /// It was killed.
    Killed,
    /// It panicked.
    Panicked,
}

/// From here on a number of an outcome is a code of the application.
const CODES: u64 = 1 << 32;

impl JobOutcome {
    fn number(self) -> u64 {
        match self {
            Self::Done => 0,
            Self::Scope => 1,
            Self::Lock => 2,
            Self::Killed => 3,
            Self::Panicked => 4,
            Self::Failed(code) => CODES | u64::from(code),
        }
    }

    fn from_number(number: u64) -> Option<Self> {
        let fixed = [Self::Done, Self::Scope, Self::Lock, Self::Killed, Self::Panicked];
        let code = number.checked_sub(CODES).and_then(|code| u32::try_from(code).ok());
        code.map(Self::Failed).or_else(|| fixed.into_iter().find(|outcome| outcome.number() == number))
    }
}

impl fmt::Display for JobOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("done"),
            Self::Failed(code) => write!(f, "failed with code {code}"),
            Self::Scope => f.write_str("a scope was too small"),
            Self::Lock => f.write_str("did not get a lock"),
            Self::Killed => f.write_str("killed"),
            Self::Panicked => f.write_str("panicked"),
        }
    }
}

/// Why a value was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Refusal {
    /// The channel did not take it.
    Full = 0,
    /// The job had sent as many as it may.
    TooMany = 1,
    /// The instant of the alarm had passed.
    Late = 2,
}

impl Refusal {
    fn from_number(number: u64) -> Option<Self> {
        [Self::Full, Self::TooMany, Self::Late].into_iter().find(|why| *why as u64 == number)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "no place was free",
            Self::TooMany => "the job had sent as many as it may",
            Self::Late => "its instant had passed",
        })
    }
}

/// What a setter learned about an alarm that it cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CancelOutcome {
    /// The receiver does not take it any more.
    Prevented = 0,
    /// The receiver is taking it.
    Underway = 1,
    /// It was over before.
    Over = 2,
}

impl CancelOutcome {
    fn from_number(number: u64) -> Option<Self> {
        [Self::Prevented, Self::Underway, Self::Over].into_iter().find(|outcome| *outcome as u64 == number)
    }
}

/// What passed between a job's code and everything around it. Channels are positions in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant says what its fields are")]
pub enum Interaction {
    /// The code began, in this job, which was released at this instant of the monotonic clock (ns).
    Begin { job: u64, release_ns: u64, code: RanCode },
    /// The code ended.
    End { job: u64, outcome: JobOutcome },
    /// It sent or published a value. Its sender counts from 1.
    Sent { channel: u16, number: u64 },
    /// A value was refused.
    Refused { channel: u16, why: Refusal },
    /// It received or read a value: the one with this number. `lost` values were dropped before it; of a repeated alarm, so many
    /// later instants had passed, too. A reader of a client's channel counts what it reads from 1; other values have the
    /// sender's number.
    Received { channel: u16, number: u64, lost: u64 },
    /// It looked, and there was no value.
    Nothing { channel: u16 },
    /// It asked for the time, and got this instant (ns).
    Clock { now_ns: u64 },
    /// It asked how long it has executed, and got this time (ns).
    Used { time_ns: u64 },
    /// It came to a checkpoint, and was or was not to end there.
    Checkpoint { is_killed: bool },
    /// It asked for an alarm, due at the latest at this instant, and from the other on if its receiver has a job anyway (ns). What
    /// follows says whether the alarm was set.
    AlarmAsked { channel: u16, earliest_ns: u64, latest_ns: u64 },
    /// The alarm that it has just asked for is to be repeated in this time (ns).
    AlarmPeriod { channel: u16, period_ns: u64 },
    /// It cancelled the alarm of this number.
    AlarmCancelled { channel: u16, number: u64, outcome: CancelOutcome },
    /// The alarm that it has just received was due at this instant (ns).
    AlarmDue { channel: u16, due_ns: u64 },
    /// It asked for a block of a bulk channel, and was lent this one of them. `recalled` is the number of the value that was
    /// taken back for it, 0 if none was: values are counted from 1.
    Lent { channel: u16, block: u8, recalled: u64 },
}

impl Interaction {
    /// Its number, channel, and two words.
    fn words(self) -> (u8, u16, u64, u64) {
        match self {
            Self::Begin { job, release_ns, code } => (1, code as u16, job, release_ns),
            Self::End { job, outcome } => (2, 0, job, outcome.number()),
            Self::Sent { channel, number } => (3, channel, number, 0),
            Self::Refused { channel, why } => (4, channel, 0, why as u64),
            Self::Received { channel, number, lost } => (5, channel, number, lost),
            Self::Nothing { channel } => (6, channel, 0, 0),
            Self::Clock { now_ns } => (7, 0, 0, now_ns),
            Self::Used { time_ns } => (8, 0, 0, time_ns),
            Self::Checkpoint { is_killed } => (9, 0, 0, is_killed.into()),
            Self::AlarmAsked { channel, earliest_ns, latest_ns } => (10, channel, earliest_ns, latest_ns),
            Self::AlarmPeriod { channel, period_ns } => (11, channel, 0, period_ns),
            Self::AlarmCancelled { channel, number, outcome } => (12, channel, number, outcome as u64),
            Self::AlarmDue { channel, due_ns } => (13, channel, 0, due_ns),
            Self::Lent { channel, block, recalled } => (14, channel, block.into(), recalled),
        }
    }

    fn from_words(kind: u8, channel: u16, number: u64, value: u64) -> Option<Self> {
        let flag = || [false, true].into_iter().find(|flag| u64::from(*flag) == value);
        Some(match kind {
            1 => Self::Begin { job: number, release_ns: value, code: RanCode::from_number(channel)? },
            2 => Self::End { job: number, outcome: JobOutcome::from_number(value)? },
            3 => Self::Sent { channel, number },
            4 => Self::Refused { channel, why: Refusal::from_number(value)? },
            5 => Self::Received { channel, number, lost: value },
            6 => Self::Nothing { channel },
            7 => Self::Clock { now_ns: value },
            8 => Self::Used { time_ns: value },
            9 => Self::Checkpoint { is_killed: flag()? },
            10 => Self::AlarmAsked { channel, earliest_ns: number, latest_ns: value },
            11 => Self::AlarmPeriod { channel, period_ns: value },
            12 => Self::AlarmCancelled { channel, number, outcome: CancelOutcome::from_number(value)? },
            13 => Self::AlarmDue { channel, due_ns: value },
            14 => Self::Lent { channel, block: u8::try_from(number).ok()?, recalled: value },
            _ => return None,
        })
    }

    /// Its bytes, as the schema describes them.
    pub fn to_bytes(self) -> [u8; INTERACTION_BYTES] {
        let (kind, channel, number, value) = self.words();
        let mut bytes = [0; INTERACTION_BYTES];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        bytes[8..16].copy_from_slice(&value.to_le_bytes());
        bytes[16..18].copy_from_slice(&channel.to_le_bytes());
        bytes[18] = kind;
        bytes
    }

    /// The interaction of these bytes; `None` if they are of none.
    pub fn from_bytes(bytes: [u8; INTERACTION_BYTES]) -> Option<Self> {
        let (&[number, value], &[low, high, kind]) = bytes.as_chunks::<8>() else { return None };
        let (number, value) = (u64::from_le_bytes(number), u64::from_le_bytes(value));
        Self::from_words(kind, u16::from_le_bytes([low, high]), number, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_read_as_they_were_written() {
        const BIG: u64 = 0xfedc_ba98_7654_3210;
        let outcomes =
            [JobOutcome::Done, JobOutcome::Failed(7), JobOutcome::Failed(u32::MAX), JobOutcome::Scope]
                .into_iter()
                .chain([JobOutcome::Lock, JobOutcome::Killed, JobOutcome::Panicked]);
        let ends = outcomes.map(|outcome| Interaction::End { job: BIG, outcome });
        let codes = [RanCode::Task, RanCode::Reset, RanCode::Resume, RanCode::Pause, RanCode::Stop];
        let begins = codes.map(|code| Interaction::Begin { job: 3, release_ns: BIG, code });
        let others = [
            Interaction::Sent { channel: 0xabcd, number: BIG },
            Interaction::Received { channel: 2, number: BIG, lost: 9 },
            Interaction::Nothing { channel: 3 },
            Interaction::Clock { now_ns: BIG },
            Interaction::Used { time_ns: BIG },
            Interaction::Checkpoint { is_killed: true },
            Interaction::Checkpoint { is_killed: false },
            Interaction::AlarmAsked { channel: 4, earliest_ns: 5, latest_ns: BIG },
            Interaction::AlarmPeriod { channel: 5, period_ns: BIG },
            Interaction::AlarmDue { channel: 6, due_ns: BIG },
            Interaction::Lent { channel: 4, block: 63, recalled: BIG },
        ];
        let refused = [Refusal::Full, Refusal::TooMany, Refusal::Late]
            .map(|why| Interaction::Refused { channel: 1, why });
        let cancelled = [CancelOutcome::Prevented, CancelOutcome::Underway, CancelOutcome::Over]
            .map(|outcome| Interaction::AlarmCancelled { channel: 7, number: BIG, outcome });
        for interaction in ends.chain(begins).chain(others).chain(refused).chain(cancelled) {
            assert_eq!(Interaction::from_bytes(interaction.to_bytes()), Some(interaction));
        }
    }

    /// A file of another version, or a hostile one.
    #[test]
    fn others_are_none() {
        for (kind, channel, value) in
            [(0, 0, 0), (15, 0, 0), (255, 0, 0), (1, 5, 0), (2, 0, 5), (4, 0, 3), (9, 0, 2), (12, 0, 3)]
        {
            let mut bytes = [0; INTERACTION_BYTES];
            (bytes[8], bytes[16], bytes[18]) = (value, channel, kind);
            assert_eq!(Interaction::from_bytes(bytes), None, "{kind} {channel} {value}");
        }
        let mut lent = Interaction::Lent { channel: 0, block: 255, recalled: 0 }.to_bytes();
        lent[1] = 1;
        assert_eq!(Interaction::from_bytes(lent), None, "block 511");
    }

    /// The constants of the schema are the numbers, and its fields have the size of the bytes.
    #[test]
    fn the_schema_is_of_these_bytes() {
        let samples = [
            ("BEGIN", Interaction::Begin { job: 0, release_ns: 0, code: RanCode::Task }),
            ("END", Interaction::End { job: 0, outcome: JobOutcome::Done }),
            ("SENT", Interaction::Sent { channel: 0, number: 0 }),
            ("REFUSED", Interaction::Refused { channel: 0, why: Refusal::Full }),
            ("RECEIVED", Interaction::Received { channel: 0, number: 0, lost: 0 }),
            ("NOTHING", Interaction::Nothing { channel: 0 }),
            ("CLOCK", Interaction::Clock { now_ns: 0 }),
            ("USED", Interaction::Used { time_ns: 0 }),
            ("CHECKPOINT", Interaction::Checkpoint { is_killed: false }),
            ("ALARM_ASKED", Interaction::AlarmAsked { channel: 0, earliest_ns: 0, latest_ns: 0 }),
            ("ALARM_PERIOD", Interaction::AlarmPeriod { channel: 0, period_ns: 0 }),
            (
                "ALARM_CANCELLED",
                Interaction::AlarmCancelled { channel: 0, number: 0, outcome: CancelOutcome::Over },
            ),
            ("ALARM_DUE", Interaction::AlarmDue { channel: 0, due_ns: 0 }),
            ("LENT", Interaction::Lent { channel: 0, block: 0, recalled: 0 }),
        ];
        for (word, interaction) in samples {
            assert!(
                INTERACTION_SCHEMA.contains(&format!("uint8 {word}={}\n", interaction.to_bytes()[18])),
                "{word}"
            );
        }
        let fields = INTERACTION_SCHEMA.lines().filter(|line| !line.contains('='));
        let bits = fields.map(|field| field[4..].split(' ').next().unwrap().parse::<usize>().unwrap());
        assert_eq!(bits.sum::<usize>(), INTERACTION_BYTES * 8);
    }
}
