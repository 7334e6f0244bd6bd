// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_time::Instant;

use crate::words::TwoWords;
use crate::{Kind, Record};

/// How a run ended. Both sides use this one type: the runtime writes it into the last record of a run, the process
/// that started the application adds what only that process can see, and reports read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ending {
    /// The run ended by itself: its time was over, or the application asked to end.
    Done,
    /// The run ended in order, because this signal asked for that: SIGTERM, SIGINT.
    Signal(u32),
    /// The run ended in order, because a job of this task (its position in the plan) overran and the manifest says
    /// `stop-app`.
    Overrun(u32),
    /// A job of this task (its position in the plan) panicked.
    Panic(u32),
    /// This signal ended the process.
    Killed(u32),
    /// The process exited with this code before the end of the run, or without ending in order.
    Exited(u32),
    /// A job of this task (its position in the plan) did not end within its limit, so the runtime ended the
    /// application without waiting for it.
    Limit(u32),
    /// The running jobs did not end within the time that they have for that, so the runtime ended the application
    /// without waiting for them.
    Jobs,
    /// The work after the last job did not end in time, so the runtime ended the application without waiting for it.
    Finish,
    /// Release 0 did not come in time.
    Start,
    /// The run ended at once: this signal came after an earlier signal, which had asked for the end in order.
    Again(u32),
    /// A thread of the application called `exit`, so the application ended at once.
    Left,
    /// This best-effort task (its position in the plan) did not return, and the application ended without it.
    BestEffort(u32),
    /// The application could not write its last records, the end record among them.
    Unwritten,
    /// The records stop without an end record.
    Unrecorded,
}

impl Ending {
    /// The exit code by which an application reports [`Ending::Unwritten`], which it cannot record, to its parent
    /// process.
    pub const EXIT_UNWRITTEN: u8 = 5;

    /// Whether the run came to its intended end. Any other ending cut the recording short.
    pub fn is_own(self) -> bool {
        matches!(self, Self::Done | Self::Signal(_))
    }

    /// The last record of a run; `None` for [`Ending::Unrecorded`], which has no record.
    pub fn to_record(self, at: Instant) -> Option<Record> {
        let (job, value) = self.encode()?;
        Some(Record { at, kind: Kind::End, cpu: 0, subject: 0, job, value })
    }

    /// Decodes a [`Kind::End`] record; `None` if this version does not know the ending, or the record is of another
    /// kind.
    pub fn from_record(record: &Record) -> Option<Self> {
        if record.kind == Kind::End { Self::decode(record.job, record.value) } else { None }
    }

    /// The number of the ending, and its task, signal or exit code (0 if it has none).
    fn encode(self) -> Option<(u64, u64)> {
        let (number, value) = match self {
            Self::Done => (0, 0),
            Self::Signal(signal) => (1, signal),
            Self::Overrun(task) => (2, task),
            Self::Panic(task) => (3, task),
            Self::Killed(signal) => (4, signal),
            Self::Exited(code) => (5, code),
            Self::Limit(task) => (6, task),
            Self::Jobs => (7, 0),
            Self::Finish => (8, 0),
            Self::Start => (9, 0),
            Self::Again(signal) => (10, signal),
            Self::Left => (11, 0),
            Self::BestEffort(task) => (12, task),
            Self::Unwritten => (13, 0),
            Self::Unrecorded => return None,
        };
        Some((number, value.into()))
    }

    fn decode(number: u64, value: u64) -> Option<Self> {
        let value = u32::try_from(value).ok()?;
        match number {
            0 => Some(Self::Done),
            1 => Some(Self::Signal(value)),
            2 => Some(Self::Overrun(value)),
            3 => Some(Self::Panic(value)),
            4 => Some(Self::Killed(value)),
            5 => Some(Self::Exited(value)),
            6 => Some(Self::Limit(value)),
            7 => Some(Self::Jobs),
            8 => Some(Self::Finish),
            9 => Some(Self::Start),
            10 => Some(Self::Again(value)),
            11 => Some(Self::Left),
            12 => Some(Self::BestEffort(value)),
            13 => Some(Self::Unwritten),
            _ => None,
        }
    }

    /// How the run with these records ended. If several records give an ending, the last one that is not the intended
    /// end counts: a process that was killed after its last record did not end in order.
    pub fn of<'r>(records: impl IntoIterator<Item = &'r Record>) -> Self {
        let said = records.into_iter().filter(|record| record.kind == Kind::End);
        said.fold(Self::Unrecorded, |ending, record| {
            let next = Self::from_record(record).unwrap_or(Self::Unrecorded);
            if ending == Self::Unrecorded || !next.is_own() { next } else { ending }
        })
    }
}

/// A number that this version does not know decodes to [`Ending::Unrecorded`], which encodes as such a number.
impl TwoWords for Ending {
    fn from_words(job: u64, value: u64) -> Option<Self> {
        Some(Self::decode(job, value).unwrap_or(Self::Unrecorded))
    }

    fn to_words(self) -> (u64, u64) {
        self.encode().unwrap_or((u64::MAX, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Ending; 14] = [
        Ending::Done,
        Ending::Signal(15),
        Ending::Overrun(3),
        Ending::Panic(65_535),
        Ending::Killed(11),
        Ending::Exited(101),
        Ending::Limit(65_535),
        Ending::Jobs,
        Ending::Finish,
        Ending::Start,
        Ending::Again(2),
        Ending::Left,
        Ending::BestEffort(0),
        Ending::Unwritten,
    ];

    #[test]
    fn a_record_and_back() {
        for ending in ALL {
            let record = ending.to_record(Instant::from_ns(9)).unwrap();
            assert_eq!((record.kind, record.at), (Kind::End, Instant::from_ns(9)));
            assert_eq!(Ending::from_record(&record), Some(ending));
            assert_eq!(Ending::from_record(&Record { kind: Kind::Begin, ..record }), None);
            assert_eq!(Ending::from_record(&Record { job: 14, ..record }), None);
            assert_eq!(Ending::from_record(&Record { job: 1, value: 1 << 32, ..record }), None);
        }
        assert_eq!(Ending::Unrecorded.to_record(Instant::from_ns(0)), None);
    }

    #[test]
    fn only_an_end_that_was_meant_is_its_own() {
        let own: Vec<Ending> = ALL.into_iter().filter(|ending| ending.is_own()).collect();
        assert_eq!(own, [Ending::Done, Ending::Signal(15)]);
        assert!(!Ending::Unrecorded.is_own());
    }

    #[test]
    fn the_worst_that_is_said_stands() {
        let of = |endings: &[Ending]| {
            let records: Vec<Record> =
                endings.iter().filter_map(|ending| ending.to_record(Instant::from_ns(1))).collect();
            Ending::of(&records)
        };
        assert_eq!(of(&[]), Ending::Unrecorded);
        assert_eq!(of(&[Ending::Done]), Ending::Done);
        assert_eq!(of(&[Ending::Done, Ending::Killed(11)]), Ending::Killed(11));
        assert_eq!(of(&[Ending::Killed(11), Ending::Done]), Ending::Killed(11));
        assert_eq!(of(&[Ending::Overrun(1), Ending::Exited(4)]), Ending::Exited(4));
        let strange = Record { job: 99, ..Ending::Done.to_record(Instant::from_ns(1)).unwrap() };
        assert_eq!(
            Ending::of(&[strange]),
            Ending::Unrecorded,
            "what this version does not know is no own end"
        );
    }
}
