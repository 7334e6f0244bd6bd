// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::collections::BTreeMap;

use taut_time::Instant;

use crate::{Kind, Record};

/// A real-time thread outside of the application that ran on one of its cores. Four records of [`Kind::Foreign`]
/// describe it, all with the core (position in the plan) as their subject, and with the same instant and thread:
///
/// | bits of `job` | |
/// |---|---|
/// | 0 to 31 | the thread's number |
/// | 32 to 39 | Linux's number of its policy: `SCHED_FIFO` 1, `SCHED_RR` 2, `SCHED_DEADLINE` 6 |
/// | 40 to 47 | its priority |
/// | 48 to 55 | the meaning of `value`: 0 processor time (ns), 1 since when (ns), 2 and 3 the two halves of its name |
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
            u64::from_le_bytes(bytes)
        };
        let job = u64::from(self.tid) | u64::from(self.policy) << 32 | u64::from(self.priority) << 40;
        let mut what = 0;
        [self.ran_ns, self.since.as_ns(), half(0), half(8)].map(|value| {
            let job = job | what << 48;
            what += 1;
            Record { at: self.until, kind: Kind::Foreign, cpu: 0, subject: self.core, job, value }
        })
    }

    /// All threads that these records describe, by instant. If one of a thread's records is missing, the remaining
    /// ones still count.
    pub fn of<'r>(records: impl IntoIterator<Item = &'r Record>) -> Vec<Self> {
        let mut found: BTreeMap<(Instant, u16, u64), Self> = BTreeMap::new();
        for record in records.into_iter().filter(|record| record.kind == Kind::Foreign) {
            let Record { at, subject, job, value, .. } = *record;
            let one = found.entry((at, subject, job & 0xffff_ffff_ffff)).or_insert(Self {
                core: subject,
                tid: (job & 0xffff_ffff) as u32,
                policy: (job >> 32 & 0xff) as u8,
                priority: (job >> 40 & 0xff) as u8,
                name: [0; 16],
                since: at,
                until: at,
                ran_ns: 0,
            });
            match job >> 48 & 0xff {
                0 => one.ran_ns = value,
                1 => one.since = Instant::from_ns(value).min(at),
                2 => one.name[..8].copy_from_slice(&value.to_le_bytes()),
                3 => one.name[8..].copy_from_slice(&value.to_le_bytes()),
                _ => {}
            }
        }
        found.into_values().collect()
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
