// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_time::{Duration, Instant};

use crate::words::Word;
use crate::{Event, Record};

/// Bits of an address in the program.
const OFFSET_BITS: u32 = 44;
const IS_KNOWN: u64 = 1 << 44;
const IS_IN_CALL: u64 = 1 << 45;

/// Where a job stood when the runtime ended the application without waiting for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stood {
    /// The task's position in the plan.
    pub task: u16,
    /// The number of the job.
    pub job: u64,
    /// What its thread was doing, if the thread reported it.
    pub at: Option<CodeLocation>,
    /// The innermost resource that the job held or waited for, by its number in records, and whether the job held it.
    pub resource: Option<(u16, bool)>,
}

/// Where a thread was in its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodeLocation {
    /// Whether it was in a system call; otherwise it was computing.
    pub in_call: bool,
    /// The address in the program, relative to its load address; `None` inside a library.
    pub offset: Option<u64>,
}

impl Stood {
    /// Encodes it as a record.
    pub fn to_record(self, at: Instant) -> Record {
        let Self { task, job, at: place, resource } = self;
        Event::Stood { task, job, place, resource }.record(at, 0)
    }

    /// Decodes a [`Kind::Stood`](crate::Kind::Stood) record; `None` if the record is of another kind.
    pub fn from_record(record: &Record) -> Option<Self> {
        match Event::of(record) {
            Ok(Event::Stood { task, job, place, resource }) => Some(Self { task, job, at: place, resource }),
            _ => None,
        }
    }
}

impl Word for Option<CodeLocation> {
    fn from_word(word: u64) -> Option<Self> {
        let offset = word & ((1 << OFFSET_BITS) - 1);
        let place = CodeLocation { in_call: word & IS_IN_CALL != 0, offset: (offset != 0).then_some(offset) };
        Some((word & IS_KNOWN != 0).then_some(place))
    }

    fn to_word(self) -> u64 {
        self.map_or(0, |place| {
            let offset = place.offset.filter(|offset| offset >> OFFSET_BITS == 0).unwrap_or(0);
            offset | IS_KNOWN | if place.in_call { IS_IN_CALL } else { 0 }
        })
    }
}

/// A resource's number plus 1, and a bit for whether the job holds it; 0 for none.
impl Word for Option<(u16, bool)> {
    fn from_word(word: u64) -> Option<Self> {
        let number = (word >> 1).checked_sub(1).and_then(|number| u16::try_from(number).ok());
        Some(number.map(|number| (number, word & 1 == 1)))
    }

    fn to_word(self) -> u64 {
        self.map_or(0, |(number, held)| (u64::from(number) + 1) << 1 | u64::from(held))
    }
}

/// The result of the code that brings the outputs to their safe state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SafeStateOutcome {
    /// It returned within its budget.
    Reached,
    /// It panicked.
    Panicked,
    /// It raised this signal.
    Crashed(u32),
    /// It did not return within its budget.
    Late,
    /// Its thread did not receive a processor.
    NotStarted,
}

impl SafeStateOutcome {
    /// Encodes it as a record: the instant of the request, how long the code took (ns), and how often it used the
    /// heap, if that was counted.
    pub fn to_record(self, at: Instant, took_ns: u64, heap: Option<u64>) -> Record {
        let heap_use = heap.map(|uses| u16::try_from(uses).unwrap_or(u16::MAX));
        let took = Duration::from_ns(took_ns);
        Event::SafeState { heap_use, result: Some(self), took }.record(at, 0)
    }

    /// Decodes a [`Kind::SafeState`](crate::Kind::SafeState) record; `None` if this version does not know the result,
    /// or the record is of another kind.
    pub fn from_record(record: &Record) -> Option<Self> {
        match Event::of(record) {
            Ok(Event::SafeState { result, .. }) => result,
            _ => None,
        }
    }

    fn decode(word: u64) -> Option<Self> {
        match (word & 0xff, word >> 8) {
            (0, 0) => Some(Self::Reached),
            (1, 0) => Some(Self::Panicked),
            (2, 0) => Some(Self::Late),
            (3, 0) => Some(Self::NotStarted),
            (4, signal) => Some(Self::Crashed(u32::try_from(signal).ok()?)),
            _ => None,
        }
    }
}

/// A number that this version does not know decodes to `None`, which encodes as such a number.
impl Word for Option<SafeStateOutcome> {
    fn from_word(word: u64) -> Option<Self> {
        Some(SafeStateOutcome::decode(word))
    }

    fn to_word(self) -> u64 {
        match self {
            Some(SafeStateOutcome::Reached) => 0,
            Some(SafeStateOutcome::Panicked) => 1,
            Some(SafeStateOutcome::Late) => 2,
            Some(SafeStateOutcome::NotStarted) => 3,
            Some(SafeStateOutcome::Crashed(signal)) => 4 | u64::from(signal) << 8,
            None => u64::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    #[test]
    fn where_a_job_stood_is_a_record_and_back() {
        let places = [
            None,
            Some(CodeLocation { in_call: false, offset: None }),
            Some(CodeLocation { in_call: true, offset: Some(1) }),
            Some(CodeLocation { in_call: false, offset: Some((1 << OFFSET_BITS) - 1) }),
        ];
        for at in places {
            for resource in [None, Some((0, true)), Some((65_535, false)), Some((65_535, true))] {
                let stood = Stood { task: 7, job: u64::MAX, at, resource };
                let record = stood.to_record(Instant::from_ns(5));
                assert_eq!(Stood::from_record(&record), Some(stood));
                assert_eq!(Stood::from_record(&Record { kind: Kind::End, ..record }), None);
            }
        }
        // The encoding does not truncate an address outside of the program into another one.
        let far = CodeLocation { in_call: false, offset: Some(1 << OFFSET_BITS) };
        let stood = Stood { task: 0, job: 0, at: Some(far), resource: None };
        let read = Stood::from_record(&stood.to_record(Instant::from_ns(0))).unwrap();
        assert_eq!(read.at, Some(CodeLocation { offset: None, ..far }));
    }

    #[test]
    fn what_became_of_the_safe_state_is_a_record_and_back() {
        for rest in [
            SafeStateOutcome::Reached,
            SafeStateOutcome::Panicked,
            SafeStateOutcome::Late,
            SafeStateOutcome::NotStarted,
            SafeStateOutcome::Crashed(11),
        ] {
            let record = rest.to_record(Instant::from_ns(3), 17, Some(2));
            assert_eq!((record.at, record.value, record.subject), (Instant::from_ns(3), 17, 3));
            assert_eq!(SafeStateOutcome::from_record(&record), Some(rest));
            assert_eq!(SafeStateOutcome::from_record(&Record { job: 5, ..record }), None);
        }
    }
}
