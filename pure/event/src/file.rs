// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A recorded run: head, plan, machine, records.
//!
//! ```text
//! "taut-run"  u32 format=1  u32 plan bytes  u32 machine bytes  u32 0
//! the plan as in taut.lock (UTF-8), then the machine's facts (UTF-8, `key = value` lines)
//! records of 32 bytes to the end; a last partial record is what a killed run leaves, and is ignored
//! ```

use std::fmt;

use crate::Record;

/// The first bytes of a recorded run.
pub const MAGIC: [u8; 8] = *b"taut-run";
/// The format's version.
pub const FORMAT: u32 = 1;

/// The head of a recorded run, as bytes: what goes in front of the records.
///
/// # Errors
/// [`Malformed::TooLarge`] if a text does not fit in 32 bits of length.
pub fn head(plan: &str, machine: &str) -> Result<Vec<u8>, Malformed> {
    let length = |text: &str| u32::try_from(text.len()).map_err(|_| Malformed::TooLarge);
    let mut bytes = Vec::with_capacity(24 + plan.len() + machine.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&FORMAT.to_le_bytes());
    bytes.extend_from_slice(&length(plan)?.to_le_bytes());
    bytes.extend_from_slice(&length(machine)?.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(plan.as_bytes());
    bytes.extend_from_slice(machine.as_bytes());
    Ok(bytes)
}

/// A recorded run, read back.
#[derive(Clone, Debug)]
pub struct Run {
    /// The plan that ran, in the text of `taut.lock`.
    pub plan: String,
    /// What the machine was: `key = value` lines.
    pub machine: String,
    /// Everything that was recorded, in the order it was drained: sorted per thread, not overall.
    pub records: Vec<Record>,
    /// Records of a kind that this version does not know.
    pub unknown: u64,
}

/// Why bytes are not a recorded run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// They do not start with [`MAGIC`].
    NotARun,
    /// The format is not [`FORMAT`].
    Version(u32),
    /// They end inside the head.
    Truncated,
    /// A text of the head is not UTF-8.
    NotText,
    /// A text of the head is longer than 4 GiB.
    TooLarge,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotARun => f.write_str(
                "not a recorded run of taut: give a `run.taut` that `taut run` wrote, or its folder",
            ),
            Self::Version(v) => write!(f, "recorded in format {v}; this version reads format {FORMAT}"),
            Self::Truncated => f.write_str("the file ends inside its head; record it again with `taut run`"),
            Self::NotText => f.write_str("the head is damaged: its text is not UTF-8"),
            Self::TooLarge => f.write_str("the plan or the machine's facts exceed 4 GiB"),
        }
    }
}

impl std::error::Error for Malformed {}

impl Run {
    /// Reads a recorded run.
    ///
    /// # Errors
    /// [`Malformed`] says what is wrong with the head. A partial last record is not an error: a run that was
    /// killed leaves one.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.get(..8).is_none_or(|magic| magic != MAGIC) {
            return Err(Malformed::NotARun);
        }
        let word = |at: usize| match bytes.get(at..at + 4) {
            Some(&[a, b, c, d]) => Ok(u32::from_le_bytes([a, b, c, d])),
            _ => Err(Malformed::Truncated),
        };
        let format = word(8)?;
        if format != FORMAT {
            return Err(Malformed::Version(format));
        }
        let (plan_len, machine_len) = (word(12)? as usize, word(16)? as usize);
        let text = |from: usize, len: usize| {
            let bytes = from.checked_add(len).and_then(|end| bytes.get(from..end));
            let text = std::str::from_utf8(bytes.ok_or(Malformed::Truncated)?);
            text.map(str::to_owned).map_err(|_| Malformed::NotText)
        };
        let plan = text(24, plan_len)?;
        let machine = text(24 + plan_len, machine_len)?;
        let (records, _) = bytes[24 + plan_len + machine_len..].as_chunks::<{ Record::SIZE }>();
        let known: Vec<Record> = records.iter().filter_map(Record::from_bytes).collect();
        let unknown = (records.len() - known.len()) as u64;
        Ok(Self { plan, machine, records: known, unknown })
    }
}

#[cfg(test)]
mod tests {
    use taut_time::Instant;

    use super::*;
    use crate::Kind;

    #[test]
    fn file_and_back() {
        let record =
            Record { at: Instant::from_ns(5), kind: Kind::Start, cpu: 1, subject: 2, job: 3, value: 4 };
        let mut bytes = head("plan = 1\n", "kernel = \"6\"\n").unwrap();
        bytes.extend_from_slice(&record.to_bytes());
        bytes.extend_from_slice(&record.to_bytes()[..31]);
        let run = Run::from_bytes(&bytes).unwrap();
        assert_eq!((run.plan.as_str(), run.machine.as_str()), ("plan = 1\n", "kernel = \"6\"\n"));
        assert_eq!(run.records, [record]);
        for cut in 0..24 + 9 + 13 {
            let error = Run::from_bytes(&bytes[..cut]).unwrap_err();
            assert_eq!(error, if cut < 8 { Malformed::NotARun } else { Malformed::Truncated });
        }
        bytes[8] = 9;
        assert_eq!(Run::from_bytes(&bytes).unwrap_err(), Malformed::Version(9));
    }
}
