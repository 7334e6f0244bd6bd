// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::collections::BTreeMap;

use taut_time::{Duration, Instant};

use crate::fields::{ForeignFact, ForeignThread, ForeignValue};
use crate::{Event, Record};

/// A real-time thread outside of the application that ran on one of the application's cores. Four records of
/// [`crate::Kind::Foreign`] describe it. All have the core (position in the plan) as their subject, and the same
/// instant and thread:
///
/// | bits of `job` | |
/// |---|---|
/// | 0 to 31 | the thread's number |
/// | 32 to 39 | Linux's number of its policy: `SCHED_FIFO` 1, `SCHED_RR` 2, `SCHED_DEADLINE` 6 |
/// | 40 to 47 | its priority |
/// | 48 to 55 | the meaning of `value`: 0 processor time (ns), 1 interval start (ns), 2 and 3 the halves of its name |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// The core: its position in the plan.
    pub core: u16,
    /// The thread's number.
    pub tid: u32,
    /// Linux's number of its policy.
    pub policy: u8,
    /// Its priority; 0 under `SCHED_DEADLINE`.
    pub priority: u8,
    /// Its name, padded with zeros.
    pub name: [u8; 16],
    /// The start of the interval in which it ran.
    pub since: Instant,
    /// The end of that interval: the instant at which the runtime saw the thread.
    pub until: Instant,
    /// Processor time that it used in that interval (ns).
    pub ran_ns: u64,
}

impl Foreign {
    /// The four records that describe it.
    pub fn to_records(self) -> [Record; 4] {
        let half = |from: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&self.name[from..from + 8]);
            bytes
        };
        let Self { core, tid, policy, priority, .. } = self;
        let thread = ForeignThread { tid, policy, priority };
        [
            ForeignValue::Ran(Duration::from_ns(self.ran_ns)),
            ForeignValue::Since(self.since),
            ForeignValue::NameBegin(half(0)),
            ForeignValue::NameEnd(half(8)),
        ]
        .map(|value| Event::Foreign { core, about: ForeignFact { thread, value } }.record(self.until, 0))
    }

    /// All threads that these records describe, sorted by instant. If one of a thread's records is missing, the
    /// remaining ones still count.
    pub fn of<'r>(records: impl IntoIterator<Item = &'r Record>) -> Vec<Self> {
        let mut found: BTreeMap<(Instant, u16, ForeignThread), Self> = BTreeMap::new();
        for record in records {
            let Ok(Event::Foreign { core, about: ForeignFact { thread, value } }) = Event::of(record) else {
                continue;
            };
            let at = record.at;
            let one = found.entry((at, core, thread)).or_insert(Self::unknown(at, core, thread));
            match value {
                ForeignValue::Ran(time) => one.ran_ns = time.as_ns(),
                ForeignValue::Since(since) => one.since = since.min(at),
                ForeignValue::NameBegin(half) => one.name[..8].copy_from_slice(&half),
                ForeignValue::NameEnd(half) => one.name[8..].copy_from_slice(&half),
            }
        }
        found.into_values().collect()
    }

    /// A thread that the runtime saw at an instant; its name, its interval and its processor time are unknown.
    fn unknown(at: Instant, core: u16, thread: ForeignThread) -> Self {
        let ForeignThread { tid, policy, priority } = thread;
        Self { core, tid, policy, priority, name: [0; 16], since: at, until: at, ran_ns: 0 }
    }

    /// Its name as text; replacement characters stand for invalid UTF-8 and control characters.
    pub fn name(&self) -> String {
        let length = self.name.iter().position(|byte| *byte == 0).unwrap_or(self.name.len());
        let text = String::from_utf8_lossy(&self.name[..length]);
        text.chars()
            .map(|letter| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn one() -> Foreign {
        let name = *b"multipathd\0\0\0\0\0\0";
        let (since, until) = (Instant::from_ns(10), Instant::from_ns(30));
        Foreign { core: 3, tid: u32::MAX, policy: 2, priority: 99, name, since, until, ran_ns: u64::MAX }
    }

    #[test]
    fn records_and_back() {
        let (first, second) = (one(), Foreign { core: 4, tid: 7, until: Instant::from_ns(20), ..one() });
        let mut records: Vec<Record> = [first, second].into_iter().flat_map(Foreign::to_records).collect();
        records.reverse();
        records.push(Record { kind: Kind::Begin, ..records[0] });
        assert_eq!(Foreign::of(&records), [second, first]);
        assert_eq!(first.name(), "multipathd");
    }

    #[test]
    fn what_is_missing_or_strange_does_no_harm() {
        let [ran, since, ..] = one().to_records();
        let late = Record { value: u64::MAX, ..since };
        let found = Foreign::of(&[ran, late, Record { job: ran.job | 9 << 48, ..ran }]);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].since, found[0].name()), (one().until, String::new()));
        let name = *b"a\x1b[31m\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
        assert!(Foreign { name, ..one() }.name().chars().all(|letter| !letter.is_control()));
    }
}
