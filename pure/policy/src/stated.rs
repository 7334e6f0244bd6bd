// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a manifest states and a plan repeats.

use alloc::string::String;

use taut_time::Duration;

/// The most urgent priority of a task. SCHED_FIFO on Linux has 1 to 99, sched(7).
pub const PRIORITY_MAX: u8 = 98;
/// The priority of the platform probe. It is above every task, to distinguish a stall of the machine from one of the
/// application.
pub const PROBE_PRIORITY: u8 = PRIORITY_MAX + 1;
/// The time between two wake-ups of the platform probe on each real-time core. The analysis charges them to every task.
pub const PROBE_PERIOD: Duration = Duration::from_ms(1);
/// The most devices that the device thread of one core watches: it asks for all of them with one system call, whose time is
/// within the overhead `device` of the platform.
pub const DEVICES_MAX: usize = 16;
/// The longest budget of a safe state: ending an application waits for it.
pub const SAFE_STATE_MAX: Duration = Duration::from_ms(1_000);
/// Bytes of the stack of a real-time thread. The runtime locks it and makes it present before release 0, and a plan
/// counts all of it.
pub const STACK_BYTES: usize = 256 << 10;
/// The largest capacity of a queue, in values.
pub const CAPACITY_MAX: u32 = 65_536;

/// The most processes that may be attached at a time under one client's name: each takes a descriptor of the application.
pub const ATTACHED_MAX: u16 = 128;
/// The fewest blocks of a bulk channel: one that the writer fills, and one that the reader has.
pub const BLOCKS_MIN: u32 = 2;
/// The most blocks of a bulk channel.
pub const BLOCKS_MAX: u32 = 64;

/// Bytes of a slot of a ring of recorded values.
pub const VALUE_SLOT_BYTES: u64 = 32;
/// The smallest ring of recorded values, in bytes.
pub const VALUE_RING_BYTES_MIN: u64 = 64 << 10;
/// The largest ring of recorded values, in bytes.
pub const VALUE_RING_BYTES_MAX: u64 = 16 << 20;

/// Records of a job besides those of its values: its begin, its end, and looks at the clock.
pub const VALUE_RECORDS_OF_JOB: u64 = 6;

/// Slots that a record takes in a ring of recorded values, with a value of this many bytes.
pub const fn value_slots(bytes: u32) -> u64 {
    1 + (bytes as u64).div_ceil(VALUE_SLOT_BYTES)
}

/// Whether a name is well formed: lower-case letters, digits and single `-` between them, starting with a letter, at
/// most 63 characters.
pub fn is_name(name: &str) -> bool {
    name.len() <= 63
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.ends_with('-')
        && !name.contains("--")
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// The source of an execution time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Evidence {
    /// The largest of many measured runs.
    Measured,
    /// A static analysis.
    Static,
    /// An unmeasured estimate.
    Guess,
}

/// A recording in which an execution time was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct EvidenceFile {
    /// Its name, as the manifest states it. Nothing opens it.
    pub file: String,
    /// The digest of its bytes, as the manifest states it: `sha256:` and 64 hexadecimal digits.
    pub hash: String,
    /// How many jobs of the task were measured in it; `None` if the manifest does not state it.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub jobs: Option<u64>,
}

/// The objective in choosing mechanisms, among those that meet every deadline and every chain's latency. The other
/// objectives break ties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Aim {
    /// Least memory; then slack, then response.
    #[default]
    Memory,
    /// Smallest sum of R / D over all tasks; then memory.
    Response,
    /// Largest minimum of (D − R) / D over all tasks; then memory.
    Slack,
}

impl Aim {
    /// All objectives.
    pub const ALL: [Self; 3] = [Self::Memory, Self::Response, Self::Slack];

    /// Its word in a manifest and on a command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Response => "response",
            Self::Slack => "slack",
        }
    }

    /// The objective with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|aim| aim.word() == word)
    }
}

/// What it means if a job uses the heap: if it allocates, reallocates or frees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum HeapPolicy {
    /// The job has failed, and the run is not as it was proven: the heap may take any time.
    #[default]
    Deny,
    /// It is counted, and the report says how often.
    Count,
}

impl HeapPolicy {
    /// All policies.
    pub const ALL: [Self; 2] = [Self::Deny, Self::Count];

    /// Its word in a manifest.
    pub fn word(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Count => "count",
        }
    }

    /// The policy with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.word() == word)
    }
}

/// What to do without the privilege for real-time scheduling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum OnMissingPrivilege {
    /// Refuse to start.
    Fail,
    /// Start without the guarantee, and report which guarantee is missing.
    Degrade,
}
