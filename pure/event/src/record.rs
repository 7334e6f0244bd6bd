// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_time::Instant;

use crate::Kind;

/// The encoding of an event: when, what, to which subject and job, and a value whose meaning [`Kind`] gives.
/// [`crate::Event`] has the same content in named fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When, on the run's clock.
    pub at: Instant,
    /// What happened.
    pub kind: Kind,
    /// The CPU on which it was recorded.
    pub cpu: u8,
    /// The subject: a position in the plan's list of tasks, resources, servers, channels, cores, services or chains,
    /// by `kind`.
    pub subject: u16,
    /// The task's job, counted from 0; 0 where there is none. Some kinds give the field another meaning.
    pub job: u64,
    /// The meaning depends on `kind`.
    pub value: u64,
}

impl Record {
    /// Bytes of a record.
    pub const SIZE: usize = 32;

    /// The byte encoding: at, job, value (8 bytes each), subject (2), kind, cpu (1 each), 4 zero bytes; little-endian.
    pub fn to_bytes(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[0..8].copy_from_slice(&self.at.as_ns().to_le_bytes());
        bytes[8..16].copy_from_slice(&self.job.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.value.to_le_bytes());
        bytes[24..26].copy_from_slice(&self.subject.to_le_bytes());
        bytes[26] = self.kind as u8;
        bytes[27] = self.cpu;
        bytes
    }

    /// Decodes a record; `None` if the kind is unknown.
    pub fn from_bytes(bytes: &[u8; Self::SIZE]) -> Option<Self> {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        Some(Self {
            at: Instant::from_ns(word(0)),
            job: word(8),
            value: word(16),
            subject: u16::from_le_bytes([bytes[24], bytes[25]]),
            kind: Kind::from_number(bytes[26])?,
            cpu: bytes[27],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_back() {
        for &kind in Kind::ALL {
            let record = Record {
                at: Instant::from_ns(u64::MAX - 1),
                kind,
                cpu: 255,
                subject: 0xabcd,
                job: 7,
                value: 1 << 40,
            };
            assert_eq!(Record::from_bytes(&record.to_bytes()), Some(record));
        }
        assert_eq!(Record::from_bytes(&[0; 32]), None);
    }
}
