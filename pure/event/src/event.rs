// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use core::fmt;

use taut_time::{Duration, Instant};

use crate::fields::*;
use crate::table::with_all_events;
use crate::words::{Bits, TwoWords, Word, are_apart};
use crate::{CodeLocation, Ending, Kind, Record, SafeStateOutcome};

/// A record of a known kind with a value that this version does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undecodable {
    /// Its kind.
    pub kind: Kind,
    /// The value.
    pub word: u64,
}

impl fmt::Display for Undecodable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} with {}, which this version does not know", self.kind, self.word)
    }
}

impl core::error::Error for Undecodable {}

/// The bits of a word that carry a field: the whole word, if the row does not say which.
macro_rules! bits {
    (subject) => {
        Bits::new(0, u16::BITS)
    };
    ($word:ident) => {
        Bits::new(0, u64::BITS)
    };
    ($word:ident $low:literal $high:literal) => {
        Bits::new($low, $high)
    };
}

/// The bits of subject, job and value that carry a field.
macro_rules! masks {
    (subject $($bits:literal)*) => {
        [bits!(subject $($bits)*).mask(), 0, 0]
    };
    (job $($bits:literal)*) => {
        [0, bits!(job $($bits)*).mask(), 0]
    };
    (value $($bits:literal)*) => {
        [0, 0, bits!(value $($bits)*).mask()]
    };
    (both) => {
        [0, u64::MAX, u64::MAX]
    };
}

macro_rules! decoded {
    ($record:ident, both) => {
        decoded!($record, $record.job, TwoWords::from_words($record.job, $record.value))
    };
    ($record:ident, subject $($bits:literal)*) => {
        decoded!($record, u64::from($record.subject), Word::from_word(bits!(subject $($bits)*).of($record.subject.into())))
    };
    ($record:ident, $word:ident $($bits:literal)*) => {
        decoded!($record, $record.$word, Word::from_word(bits!($word $($bits)*).of($record.$word)))
    };
    ($record:ident, $word:expr, $field:expr) => {
        match $field {
            Some(field) => field,
            None => return Err(Undecodable { kind: $record.kind, word: $word }),
        }
    };
}

macro_rules! encode {
    ($record:ident, $field:ident, both) => {
        ($record.job, $record.value) = $field.to_words()
    };
    ($record:ident, $field:ident, subject $($bits:literal)*) => {
        // It fits: the bits are 16 at most.
        $record.subject |= u16::try_from(bits!(subject $($bits)*).put($field.to_word())).unwrap_or(u16::MAX)
    };
    ($record:ident, $field:ident, $word:ident $($bits:literal)*) => {
        $record.$word |= bits!($word $($bits)*).put($field.to_word())
    };
}

macro_rules! events {
    ($(
        $(#[$doc:meta])*
        $kind:ident = $number:literal {
            $($(#[$field_doc:meta])* $field:ident: $type:ty = $word:ident $([$low:literal..$high:literal])?,)*
        }
    )*) => {
        $(const _: () = assert!(
            are_apart(&[$(masks!($word $($low $high)?)),*]),
            concat!("two fields of `", stringify!($kind), "` share a bit of a word")
        );)*

        /// What happened, with everything that a record says about it except the instant and the CPU. A [`Record`] is
        /// its encoding.
        ///
        /// Tasks, channels, cores and so on are positions in the plan's lists; a resource with a number above those of
        /// the manifest is a state under a lock. Jobs are counted from 0. The enum is exhaustive, so the compiler
        /// reports each reader that does not handle a new event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Event {
            $(
                $(#[$doc])*
                $kind { $($(#[$field_doc])* $field: $type,)* },
            )*
        }

        impl Event {
            /// Its kind.
            pub fn kind(&self) -> Kind {
                match self {
                    $(Self::$kind { .. } => Kind::$kind,)*
                }
            }

            /// Decodes a record.
            ///
            /// # Errors
            /// [`Undecodable`] if a word of it has a value that this version does not know.
            pub fn of(record: &Record) -> Result<Self, Undecodable> {
                Ok(match record.kind {
                    $(Kind::$kind => Self::$kind { $($field: decoded!(record, $word $($low $high)?),)* },)*
                })
            }

            /// Encodes it as a record of this instant and this CPU.
            pub fn record(self, at: Instant, cpu: u8) -> Record {
                let mut record = Record { at, kind: self.kind(), cpu, subject: 0, job: 0, value: 0 };
                match self {
                    $(Self::$kind { $($field,)* } => {
                        $(encode!(record, $field, $word $($low $high)?);)*
                    })*
                }
                record
            }
        }
    };
}

with_all_events!(events);

impl TryFrom<&Record> for Event {
    type Error = Undecodable;

    fn try_from(record: &Record) -> Result<Self, Undecodable> {
        Self::of(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::{ForeignThread, ForeignValue};

    const AT: Instant = Instant::from_ns(77);

    fn ns(ns: u64) -> Duration {
        Duration::from_ns(ns)
    }

    /// One event of each kind with the three words of its record: subject, job, value.
    fn all() -> Vec<(Event, u16, u64, u64)> {
        let placement = ObservedPlacement { policy: 1, priority: 52, is_unpinned: true };
        let moved = 1 | 52 << 8 | 1 << 16;
        let place = Some(CodeLocation { in_call: true, offset: Some(0xfee) });
        let stood = 0xfee | 1 << 44 | 1 << 45 | 1 << 46 | 6 << 47;
        let thread = ForeignThread { tid: 4711, policy: 2, priority: 99 };
        let about = ForeignFact { thread, value: ForeignValue::Since(Instant::from_ns(9)) };
        let foreign = 4711 | 2 << 32 | 99 << 40 | 1 << 48;
        vec![
            (Event::Begin { running: ns(5) }, 0, 0, 5),
            (Event::Release { task: 1, job: 2, delay: ns(3) }, 1, 2, 3),
            (Event::Start { task: 1, job: 2 }, 1, 2, 0),
            (Event::Complete { task: 1, job: 2, used: ns(3) }, 1, 2, 3),
            (Event::Miss { task: 1, job: 2, response: ns(3) }, 1, 2, 3),
            (Event::Overrun { task: 1, job: 2, policy: 3 }, 1, 2, 3),
            (Event::Skip { task: 1, job: 2, is_backlog_full: true }, 1, 2, 1),
            (Event::Failed { task: 1, job: 2, code: 3 }, 1, 2, 3),
            (Event::ScopeExceeded { task: 1, job: 2, bytes: 3 }, 1, 2, 3),
            (Event::Send { channel: 1, job: 2, sequence: 3 }, 1, 2, 3),
            (Event::Receive { channel: 1, sequence: 2, latency: ns(3) }, 1, 2, 3),
            (Event::Drop { channel: 1, job: 2, values: 3 }, 1, 2, 3),
            (Event::Stall { core: 1, lateness: ns(3) }, 1, 0, 3),
            (Event::Service { service: 1, task: 2, state: 3 }, 1, 2, 3),
            (Event::Counted { task: 1, count: Counter::Blocked, times: 3 }, 1, 4, 3),
            (Event::Lost { task: 1, records: 3 }, 1, 0, 3),
            (Event::End { ending: Ending::Killed(11) }, 0, 4, 11),
            (Event::ChainEnd { chain: 1, job: 2, age: ns(3) }, 1, 2, 3),
            (Event::Preempt { task: 1, job: 2 }, 1, 2, 0),
            (Event::Resume { task: 1, job: 2 }, 1, 2, 0),
            (Event::Locked { task: 1, job: 2, resource: 3 }, 1, 2, 3),
            (Event::Unlock { task: 1, job: 2, resource: 3 }, 1, 2, 3),
            (Event::Spin { task: 1, job: 2, resource: 3 }, 1, 2, 3),
            (Event::Suspend { task: 1, job: 2, resource: 3 }, 1, 2, 3),
            (Event::Granted { task: 1, job: 2, resource: 3 }, 1, 2, 3),
            (Event::Exhausted { task: 1, job: 2, budget: ns(3) }, 1, 2, 3),
            (Event::Budget { server: 1, budget: ns(3) }, 1, 0, 3),
            (Event::Level { task: 1, level: 3 }, 1, 0, 3),
            (Event::Ceiling { resource: 1, ceiling: 3 }, 1, 0, 3),
            (Event::CoreLost { core: 1, records: 3 }, 1, 0, 3),
            (Event::Looked { task: 1 }, 1, 0, 0),
            (Event::Slept { task: 1, job: 2, times: 3 }, 1, 2, 3),
            (Event::CoreCounted { core: 1, count: Counter::MinorFaults, times: 3 }, 1, 2, 3),
            (Event::Moved { task: 1, placement }, 1, 0, moved),
            (Event::ProbeMoved { core: 1, is_main: true, placement }, 1, 1, moved),
            (
                Event::SafeState {
                    heap_use: Some(4),
                    result: Some(SafeStateOutcome::Crashed(11)),
                    took: ns(3),
                },
                5,
                4 | 11 << 8,
                3,
            ),
            (Event::Stood { task: 1, job: 2, place, resource: Some((5, true)) }, 1, 2, stood),
            (Event::CoreMoved { core: 1, worker: 2, placement }, 1, 2, moved),
            (Event::Stopped { interference: Interference::Traced { pid: 3 } }, 0, 1, 3),
            (Event::Foreign { core: 1, about }, 1, foreign, 9),
            (Event::Beside { server: 1, passed: ns(2), others: ns(3) }, 1, 2, 3),
            (Event::TooMany { channel: 1, job: 2, values: 3 }, 1, 2, 3),
            (Event::Panicked { task: 1, job: 2, remedy: 1 }, 1, 2, 1),
            (Event::HeapUsed { task: 1, job: 2, uses: 3 }, 1, 2, 3),
            (Event::ModeFollowed { task: 1, from: 2, to: 3, since: ns(4) }, 1, 2 | 3 << 16, 4),
            (Event::ReceivedBy { channel: 1, sequence: 2, reader: 3, latency: ns(4) }, 1, 2 | 3 << 48, 4),
            (Event::LostBy { channel: 1, reader: 2, values: 3 }, 1, 2, 3),
            (Event::ValuesRecorded { messages: 2, bytes: 3 }, 0, 2, 3),
            (Event::ValuesLost { records: 3 }, 0, 0, 3),
            (
                Event::Followed {
                    task: 1,
                    release: 2,
                    error: ns(3),
                    phase: GridPhase::Locked,
                    has_broken: true,
                },
                1,
                2,
                3 | 2 << 48 | 1 << 50,
            ),
        ]
    }

    #[test]
    fn each_event_has_its_words_and_comes_back() {
        let kinds: Vec<Kind> = all().iter().map(|(event, ..)| event.kind()).collect();
        assert_eq!(kinds, Kind::ALL, "each kind once");
        for (event, subject, job, value) in all() {
            let record = event.record(AT, 9);
            assert_eq!(
                record,
                Record { at: AT, kind: event.kind(), cpu: 9, subject, job, value },
                "{event:?}"
            );
            assert_eq!(Event::of(&record), Ok(event));
            assert_eq!(Event::try_from(&record), Ok(event));
            let stored = Record::from_bytes(&record.to_bytes());
            assert_eq!(stored.map(|record| Event::of(&record)), Some(Ok(event)));
        }
    }

    /// Decoding returns for any words, and an event that it returns is the same after encoding and decoding.
    #[test]
    fn any_words_are_an_event_or_undecodable() {
        let words = [0, 1, 2, 4, 5, 14, 99, 65_535, 65_536, u64::MAX, 1 << 44, 1 << 47, u64::MAX << 47];
        for &kind in Kind::ALL {
            for job in words {
                for value in words {
                    for subject in [0, 1, u16::MAX] {
                        let record = Record { at: AT, kind, cpu: 0, subject, job, value };
                        match Event::of(&record) {
                            Ok(event) => {
                                assert_eq!(event.kind(), kind);
                                assert_eq!(Event::of(&event.record(AT, 0)), Ok(event));
                            }
                            Err(why) => assert!(why.kind == kind && (why.word == job || why.word == value)),
                        }
                    }
                }
            }
        }
    }

    /// An end that this version does not know in full is still read as an end.
    #[test]
    fn an_unknown_ending_is_still_an_end() {
        let end = Event::End { ending: Ending::Done }.record(AT, 0);
        let unknown = Event::End { ending: Ending::Unrecorded };
        assert_eq!(Event::of(&Record { job: 99, ..end }), Ok(unknown));
        assert_eq!(Event::of(&unknown.record(AT, 0)), Ok(unknown));
        let rest = Event::SafeState { heap_use: None, result: None, took: ns(1) };
        assert_eq!(Event::of(&Record { kind: Kind::SafeState, job: 5, value: 1, ..end }), Ok(rest));
    }

    #[test]
    fn a_value_that_nobody_knows_is_named() {
        let count = Event::Counted { task: 1, count: Counter::HeapUse, times: 3 }.record(AT, 0);
        let why = Event::of(&Record { job: 77, ..count }).unwrap_err();
        assert_eq!(why, Undecodable { kind: Kind::Counted, word: 77 });
        assert_eq!(why.to_string(), "Counted with 77, which this version does not know");
    }
}
