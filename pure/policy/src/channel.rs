// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a channel promises, whatever its mechanism.

/// Which values arrive at a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum ChannelKind {
    /// The latest value.
    State,
    /// Every value, in order. A real-time reader loses none; one that is not real-time may. Only a broadcast has several
    /// real-time readers.
    Queue,
    /// Every value, in order, each in a block that the writer fills and the one reader reads in place: no value is copied.
    Bulk,
}

impl ChannelKind {
    /// Whether values wait until their reader takes them: a queue, or a bulk channel.
    pub const fn is_queued(self) -> bool {
        match self {
            Self::State => false,
            Self::Queue | Self::Bulk => true,
        }
    }

    /// Bytes that the runtime puts in front of every value: the time of sending and the sequence number. The stamps of
    /// blocks lie beside them.
    pub const fn stamp_bytes(self) -> u32 {
        match self {
            Self::State | Self::Queue => STAMP_BYTES,
            Self::Bulk => 0,
        }
    }
}

/// Which of its writer's values a job reads from a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Flow {
    /// The newest value at the moment of reading.
    #[default]
    Newest,
    /// The value that the synchronous-reactive model reads [Han14, I-B]: of the writer's job that was activated last
    /// when the reader's job was activated, or of the job before it where there is a unit delay. Activations count by
    /// their nominal instants; at one instant the writer's comes before its readers'. A job that writes no new value
    /// leaves the last one.
    Synchronous,
}

impl Flow {
    /// Its word in a manifest.
    pub fn word(self) -> &'static str {
        match self {
            Self::Newest => "newest",
            Self::Synchronous => "synchronous",
        }
    }

    /// The flow with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Newest, Self::Synchronous].into_iter().find(|flow| flow.word() == word)
    }
}

/// Which of the values that wait in a message its receiver takes first.
///
/// By any order but that of instants, values of senders that are not real-time come after those of all real-time senders: no
/// such sender delays a real-time one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum MessageOrder {
    /// One of the most urgent sender; of one sender, in the order of sending.
    #[default]
    Sender,
    /// The one that was sent first.
    Fifo,
    /// The one with the largest number in a field of its own; of equals, the one that was sent first.
    Specified,
    /// The one whose instant is the earliest, and no value before its instant: the values are alarms. Alarms of all
    /// senders, real-time or not, come by their instants alone.
    Instant,
}

impl MessageOrder {
    /// Its word in a manifest.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Fifo => "fifo",
            Self::Specified => "specified",
            Self::Instant => "instant",
        }
    }

    /// The order with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Sender, Self::Fifo, Self::Specified, Self::Instant]
            .into_iter()
            .find(|order| order.word() == word)
    }
}

/// What happens to an alarm whose instant has passed when it is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum LatePolicy {
    /// It is due at once.
    #[default]
    Deliver,
    /// It is refused, and the call that sets it returns an error.
    Refuse,
}

impl LatePolicy {
    /// Its word in a manifest.
    pub fn word(self) -> &'static str {
        match self {
            Self::Deliver => "deliver",
            Self::Refuse => "refuse",
        }
    }

    /// The policy with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Deliver, Self::Refuse].into_iter().find(|policy| policy.word() == word)
    }
}

/// What happens to a value that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum OverflowPolicy {
    /// The new value is rejected and returned to the sender.
    Reject,
    /// The oldest value is dropped.
    DropOldest,
    /// All waiting values are dropped.
    Clear,
    /// The writer takes the oldest block back that the reader has not received. Of bulk channels only.
    Recall,
}

/// How a reader that is not real-time learns that its queue holds a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reception {
    /// It looks from time to time. A send makes no system call.
    #[default]
    Poll,
    /// It may sleep until a value comes. A send wakes the readers that sleep.
    Wait,
}

impl Reception {
    /// Its word in a manifest.
    pub fn word(self) -> &'static str {
        match self {
            Self::Poll => "poll",
            Self::Wait => "wait",
        }
    }

    /// The reception with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Poll, Self::Wait].into_iter().find(|reception| reception.word() == word)
    }
}

/// Bytes that the runtime puts in front of every value that it copies: the time of sending and the sequence number, 8 each.
pub const STAMP_BYTES: u32 = 16;
/// Bytes of the number, from 0, that says which of several payloads a value is. It lies in front of the payload.
pub const PAYLOAD_NUMBER_BYTES: u32 = 8;
/// Alignment of every object in a memory map, and the size of the line that wakes a receiver: two cache lines, since
/// processors fetch them in pairs.
pub const LINE_BYTES: u64 = 128;
