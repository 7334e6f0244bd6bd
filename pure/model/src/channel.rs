// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_policy::{
    ChannelKind, Flow, LatePolicy, Mechanism, MessageOrder, OverflowPolicy, PAYLOAD_NUMBER_BYTES, Reception,
};

use crate::PartyId;

/// What makes a channel a lane of a message: the values of one of its senders. The alarms of a channel are such a message,
/// ordered by instants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageLane {
    /// The message's name in the manifest.
    pub message: String,
    /// Which value the receiver takes first.
    pub order: MessageOrder,
    /// Under [`MessageOrder::Specified`]: the field of the payload that says how urgent a value is.
    pub by: Option<String>,
    /// The sender's position in the message's `from`.
    pub sender: usize,
    /// Of alarms: what happens to one whose instant has passed when it is set.
    pub late: LatePolicy,
}

/// What makes a channel a source of a state that has several: the values of one of its writers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateSource {
    /// The state's name in the manifest.
    pub state: String,
    /// The writer's position in the state's `from`. Of two values of one instant, that of the lower position is the newer.
    pub place: usize,
}

/// What makes a channel carry the replies of a request to one of its callers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyLane {
    /// The request's name in the manifest. Its lanes are those of a message of this name.
    pub request: String,
    /// The caller's position in the request's `from`.
    pub caller: usize,
}

/// A flow of data from one writer to its readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Its name in the manifest; of a lane, `message/sender`; of a source, `state/writer`; of replies, `request_reply/caller`.
    pub name: String,
    /// Which values arrive at a reader.
    pub kind: ChannelKind,
    /// The party that sends.
    pub writer: PartyId,
    /// The parties that receive; at least one, each once.
    pub readers: Vec<PartyId>,
    /// The type of a value: a position in [`crate::Model::payloads`].
    pub payload: usize,
    /// How many values can wait, or how many blocks a bulk channel has; `None` lets the plan choose. Unused in a state
    /// channel.
    pub capacity: Option<u32>,
    /// What happens to a value that does not fit.
    pub overflow: OverflowPolicy,
    /// How readers that are not real-time learn of a value.
    pub reception: Reception,
    /// Which of its writer's values a job reads.
    pub flow: Flow,
    /// By reader: whether it reads with a unit delay; only readers of a synchronous flow can.
    pub delayed: Vec<bool>,
    /// The mechanism that implements it; `None` lets the plan choose.
    pub mechanism: Option<Mechanism>,
    /// The plan's choice where `mechanism` is open; `None` until the plan has chosen: [`crate::Model::decided`].
    pub decided: Option<Mechanism>,
    /// The most values the writer sends per activation.
    pub sends_per_release: u32,
    /// The most values each reader takes per activation; from all lanes of a message together. A task that a broadcast alone
    /// releases takes one.
    pub takes_per_release: u32,
    /// The message of which it is a lane.
    pub lane: Option<MessageLane>,
    /// The state of which it is one of several sources.
    pub source: Option<StateSource>,
    /// The request to one of whose callers it carries the replies.
    pub answers: Option<ReplyLane>,
    /// Whether it is a broadcast: each real-time reader gets every value, and the others lose the oldest.
    pub broadcast: bool,
    /// Whether a run records its values.
    pub record: bool,
    /// With how many earlier values an end begins that a client makes; of a queue that drops values, or a broadcast.
    pub history: u32,
}

impl Channel {
    /// Its table in the manifest: its name, or that of its message, of the state of which it is a source, or of its request.
    pub fn table(&self) -> &str {
        match (&self.lane, &self.source, &self.answers) {
            (Some(lane), ..) => &lane.message,
            (None, Some(source), _) => &source.state,
            (None, None, Some(reply)) => &reply.request,
            (None, None, None) => &self.name,
        }
    }

    /// Its writer's position in `from` of its table.
    pub fn place(&self) -> usize {
        let lane = self.lane.as_ref().map(|lane| lane.sender);
        lane.or(self.source.as_ref().map(|source| source.place)).unwrap_or(0)
    }

    /// Whether its values are alarms: each waits for an instant of its own.
    pub fn is_timed(&self) -> bool {
        self.lane.as_ref().is_some_and(|lane| lane.order == MessageOrder::Instant)
    }

    /// Whether it is a lane of this message.
    pub fn is_lane_of(&self, message: &str) -> bool {
        self.lane.as_ref().is_some_and(|lane| lane.message == message)
    }
}

/// The largest size of a value that is copied, in bytes.
pub const PAYLOAD_BYTES_MAX: u32 = 1 << 20;
/// The largest size of a value that only bulk channels carry, in bytes: no operation copies it.
pub const BLOCK_BYTES_MAX: u32 = 64 << 20;

/// The fixed layout of a value. Fields follow each other without padding; every scalar is aligned to its size, which
/// [`crate::Draft::build`] checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// Its name in the manifest.
    pub name: String,
    /// Its fields in memory order; at least one, but none of a value that is one of several payloads.
    pub fields: Vec<PayloadField>,
    /// The payloads of which a value is one, each by the number that says which it is, from 0. [`crate::Draft::build`] makes
    /// such a payload for each message that carries several.
    pub one_of: Vec<Payload>,
}

/// One field of a payload: `len` scalars of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayloadField {
    /// Its name; empty if the payload is one unnamed array.
    pub name: String,
    /// The type of an element.
    pub scalar: Scalar,
    /// The number of elements; at least 1.
    pub len: u32,
}

/// A plain number type: every bit pattern is a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Scalar {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F32,
    F64,
}

impl Scalar {
    /// All scalars, with their names.
    pub const ALL: [(&'static str, Self); 10] = [
        ("u8", Self::U8),
        ("i8", Self::I8),
        ("u16", Self::U16),
        ("i16", Self::I16),
        ("u32", Self::U32),
        ("i32", Self::I32),
        ("u64", Self::U64),
        ("i64", Self::I64),
        ("f32", Self::F32),
        ("f64", Self::F64),
    ];

    /// Its name, as in Rust.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }

    /// Whether it is a whole number.
    pub fn is_whole(self) -> bool {
        !matches!(self, Self::F32 | Self::F64)
    }

    /// Its size and alignment in bytes.
    pub fn size(self) -> u32 {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }
}

impl Payload {
    /// A value with these fields.
    pub fn new(name: impl Into<String>, fields: Vec<PayloadField>) -> Self {
        Self { name: name.into(), fields, one_of: Vec::new() }
    }

    /// Bytes of a value; `None` on overflow of 32 bits. There is no padding, not even at the end. One of several payloads has
    /// the size of the largest, in whole words of 8 bytes, behind its number.
    pub fn size(&self) -> Option<u32> {
        if !self.one_of.is_empty() {
            let mut sizes = self.one_of.iter().map(Self::size);
            let most = sizes.try_fold(0, |most, size| Some(most.max(size?)))?;
            return most.checked_next_multiple_of(8)?.checked_add(PAYLOAD_NUMBER_BYTES);
        }
        let mut bytes = 0u32;
        for field in &self.fields {
            bytes = bytes.checked_add(field.scalar.size().checked_mul(field.len)?)?;
        }
        Some(bytes)
    }

    /// The layout in one line, on which code and manifest must agree: `sequence:u64,levels:u8*176`; of one of several
    /// payloads `Volume{value:f32}|Mute{u8}`.
    pub fn layout(&self) -> String {
        if !self.one_of.is_empty() {
            let one = |of: &Self| format!("{}{{{}}}", of.name, of.layout());
            return self.one_of.iter().map(one).collect::<Vec<_>>().join("|");
        }
        let field = |f: &PayloadField| match (f.name.as_str(), f.len) {
            ("", 1) => f.scalar.name().to_owned(),
            ("", n) => format!("{}*{n}", f.scalar.name()),
            (name, 1) => format!("{name}:{}", f.scalar.name()),
            (name, n) => format!("{name}:{}*{n}", f.scalar.name()),
        };
        self.fields.iter().map(field).collect::<Vec<_>>().join(",")
    }

    /// Where the field of this name lies, in bytes, and its type, if it is one whole number; of one of several payloads, if
    /// all of them have it, of one type at one place.
    pub fn whole_number(&self, name: &str) -> Option<(u64, Scalar)> {
        if let Some((first, others)) = self.one_of.split_first() {
            let (place, scalar) = first.whole_number(name)?;
            let is_same = |other: &Self| other.whole_number(name) == Some((place, scalar));
            return others
                .iter()
                .all(is_same)
                .then_some((place.saturating_add(PAYLOAD_NUMBER_BYTES.into()), scalar));
        }
        let mut place = 0u64;
        for field in &self.fields {
            if !name.is_empty() && field.name == name {
                return (field.len == 1 && field.scalar.is_whole()).then_some((place, field.scalar));
            }
            place = place.saturating_add(u64::from(field.scalar.size()) * u64::from(field.len));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_stand_in_order() {
        for (i, (_, scalar)) in Scalar::ALL.into_iter().enumerate() {
            assert_eq!(scalar as usize, i);
        }
    }

    #[test]
    fn layout_is_one_line() {
        let field = |name: &str, scalar, len| PayloadField { name: name.into(), scalar, len };
        let fields = vec![field("sequence", Scalar::U64, 1), field("levels", Scalar::U8, 176)];
        let payload = Payload::new("Levels", fields);
        assert_eq!(payload.layout(), "sequence:u64,levels:u8*176");
        assert_eq!(payload.size(), Some(184));
        let audio = Payload::new("Audio", vec![field("", Scalar::I16, 128)]);
        assert_eq!(audio.layout(), "i16*128");
        let huge = Payload::new("Huge", vec![field("", Scalar::U64, u32::MAX)]);
        assert_eq!(huge.size(), None);
        let one_of = |one_of: Vec<Payload>| Payload { one_of, ..Payload::new("all", Vec::new()) };
        let some = one_of(vec![payload.clone(), audio.clone()]);
        assert_eq!(some.layout(), "Levels{sequence:u64,levels:u8*176}|Audio{i16*128}");
        assert_eq!(some.size(), Some(8 + 256));
        let odd = Payload::new("Odd", vec![field("", Scalar::U8, 3)]);
        assert_eq!(one_of(vec![odd.clone(), odd]).size(), Some(8 + 8));
        assert_eq!(one_of(vec![audio, huge]).size(), None);
        let almost = Payload::new("Almost", vec![field("", Scalar::U8, u32::MAX - 7)]);
        assert_eq!(one_of(vec![almost.clone(), almost]).size(), None, "the number does not fit");
    }

    #[test]
    fn a_number_that_all_have_is_found() {
        let field = |name: &str, scalar, len| PayloadField { name: name.into(), scalar, len };
        let first = |name: &str, scalar| {
            Payload::new(name, vec![field("at", scalar, 1), field("urgency", Scalar::I16, 1)])
        };
        let (wide, also) = (first("Wide", Scalar::U32), first("Also", Scalar::I32));
        let narrow = first("Narrow", Scalar::U16);
        assert_eq!(wide.whole_number("urgency"), Some((4, Scalar::I16)));
        assert_eq!(wide.whole_number(""), None);
        let of = |one: &Payload, other: &Payload| {
            let one_of = vec![one.clone(), other.clone()];
            Payload { one_of, ..Payload::new("all", Vec::new()) }.whole_number("urgency")
        };
        assert_eq!(of(&wide, &also), Some((12, Scalar::I16)));
        assert_eq!(of(&wide, &narrow), None, "at another place");
        let array =
            Payload::new("Array", vec![field("at", Scalar::U32, 1), field("urgency", Scalar::I16, 2)]);
        assert_eq!(of(&wide, &array), None, "not one number");
    }
}
