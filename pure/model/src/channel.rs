// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use serde::{Deserialize, Serialize};

use crate::Party;

/// A flow of data from one writer to its readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Its name in the manifest.
    pub name: String,
    /// Which values arrive.
    pub kind: Kind,
    /// Who sends.
    pub writer: Party,
    /// Who receives; at least one, none twice.
    pub readers: Vec<Party>,
    /// The type of a value: a position in [`crate::Model::payloads`].
    pub payload: usize,
    /// Values that can wait; `None` lets the plan choose. A state channel has none.
    pub capacity: Option<u32>,
    /// What happens to a value that does not fit.
    pub overflow: Overflow,
    /// How it is realised; `None` lets the plan choose.
    pub mechanism: Option<Mechanism>,
    /// The most values the writer sends per activation.
    pub sends_per_release: u32,
    /// The most values each reader takes per activation.
    pub takes_per_release: u32,
}

/// Which values arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The latest value.
    State,
    /// Every value, in order, one writer to one reader.
    Queue,
}

/// What happens to a value that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overflow {
    /// The new value is refused and given back.
    Reject,
    /// The oldest value is dropped.
    DropOldest,
    /// All waiting values are dropped.
    Clear,
}

/// A protocol of `taut-share`, under its paper's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// Latest value; a non-real-time writer, one real-time reader.
    Sdrtr,
    /// Latest value; a real-time writer, non-real-time readers.
    Sdrtw,
    /// Queue that refuses when full; one writer, one real-time reader.
    Qrtr,
}

impl Mechanism {
    /// The name as the paper prints it.
    pub fn paper_name(self) -> &'static str {
        match self {
            Self::Sdrtr => "SDrtR",
            Self::Sdrtw => "SDrtW",
            Self::Qrtr => "QrtR",
        }
    }
}

impl Mechanism {
    /// The one mechanism of this version for a channel of `kind` from a writer to `readers` readers, of which
    /// `real_time_readers` are real-time; `None` if there is none.
    pub fn for_parties(
        kind: Kind,
        writer_is_real_time: bool,
        readers: usize,
        real_time_readers: usize,
    ) -> Option<Self> {
        match (kind, writer_is_real_time, readers, real_time_readers) {
            (Kind::State, false, 1, 1) => Some(Self::Sdrtr),
            (Kind::State, true, 1.., 0) => Some(Self::Sdrtw),
            (Kind::Queue, _, 1, 1) => Some(Self::Qrtr),
            _ => None,
        }
    }
}

/// The most values that a queue can hold.
pub const CAPACITY_MAX: u32 = 65_536;
/// The most bytes of a value.
pub const PAYLOAD_BYTES_MAX: u32 = 1 << 20;
/// Bytes that the runtime puts in front of every value: when it was sent and its sequence number, 8 each.
pub const STAMP_BYTES: u32 = 16;
/// Alignment of every object in a memory map, and the size of the line that wakes a receiver: two cache lines,
/// since processors fetch them in pairs.
pub const LINE_BYTES: u64 = 128;

impl Mechanism {
    /// Bytes of an object for values of `value` bytes, of which `capacity` can wait (states ignore it); the
    /// formulas of `taut-share`, which tests itself against them. `None` on overflow.
    ///
    /// SDrtR: a line and two slots. SDrtW: a counter and one slot. QrtR: two lines and `capacity` slots, which
    /// stand close together below 64 bytes and on cache lines of their own above.
    pub fn bytes(self, value: u32, capacity: u32) -> Option<u64> {
        let lines = |bytes: u64| bytes.checked_next_multiple_of(LINE_BYTES);
        let word = u64::from(value).checked_next_multiple_of(8)?;
        match self {
            Self::Sdrtr => lines(word)?.checked_mul(2)?.checked_add(LINE_BYTES),
            Self::Sdrtw => lines(word.checked_add(8)?),
            Self::Qrtr => {
                let slot = if word < 64 { word } else { word.checked_next_multiple_of(64)? };
                lines(slot.checked_mul(u64::from(capacity))?)?.checked_add(2 * LINE_BYTES)
            }
        }
    }
}

/// The fixed layout of a value. Fields stand one after another without padding; every scalar is aligned to its
/// size, which [`crate::Draft::build`] checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// Its name in the manifest.
    pub name: String,
    /// Its fields in memory order; at least one.
    pub fields: Vec<PayloadField>,
}

/// One field of a payload: `len` scalars of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayloadField {
    /// Its name; empty if the payload is one unnamed array.
    pub name: String,
    /// The type of an element.
    pub scalar: Scalar,
    /// How many; at least 1.
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
    /// All of them, with their names.
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
    /// Bytes of a value; `None` on overflow of 32 bits. There is no padding, also not at the end.
    pub fn size(&self) -> Option<u32> {
        let mut bytes = 0u32;
        for field in &self.fields {
            bytes = bytes.checked_add(field.scalar.size().checked_mul(field.len)?)?;
        }
        Some(bytes)
    }

    /// The layout in one line, as code and manifest must agree on it: `sequence:u64,levels:u8*176`.
    pub fn layout(&self) -> String {
        let field = |f: &PayloadField| match (f.name.as_str(), f.len) {
            ("", 1) => f.scalar.name().to_owned(),
            ("", n) => format!("{}*{n}", f.scalar.name()),
            (name, 1) => format!("{name}:{}", f.scalar.name()),
            (name, n) => format!("{name}:{}*{n}", f.scalar.name()),
        };
        self.fields.iter().map(field).collect::<Vec<_>>().join(",")
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
    fn bytes_of_objects() {
        assert_eq!(Mechanism::Sdrtr.bytes(24, 1), Some(128 + 2 * 128));
        assert_eq!(Mechanism::Sdrtw.bytes(120, 1), Some(128));
        assert_eq!(Mechanism::Sdrtw.bytes(121, 1), Some(256));
        assert_eq!(Mechanism::Qrtr.bytes(24, 4), Some(256 + 128));
        assert_eq!(Mechanism::Qrtr.bytes(272, 4), Some(256 + 4 * 320));
    }

    #[test]
    fn layout_is_one_line() {
        let field = |name: &str, scalar, len| PayloadField { name: name.into(), scalar, len };
        let fields = vec![field("sequence", Scalar::U64, 1), field("levels", Scalar::U8, 176)];
        let payload = Payload { name: "Levels".into(), fields };
        assert_eq!(payload.layout(), "sequence:u64,levels:u8*176");
        assert_eq!(payload.size(), Some(184));
        let audio = Payload { name: "Audio".into(), fields: vec![field("", Scalar::I16, 128)] };
        assert_eq!(audio.layout(), "i16*128");
        let huge = Payload { name: "Huge".into(), fields: vec![field("", Scalar::U64, u32::MAX)] };
        assert_eq!(huge.size(), None);
    }
}
