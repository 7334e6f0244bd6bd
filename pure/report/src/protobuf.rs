// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The part of Protocol Buffers that a trace needs: varints, 64-bit words, text, messages in messages.
//!
//! Source: the Protocol Buffers encoding, wire types 0, 1 and 2.

/// A message under construction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push((value & 0x7f) as u8);
    }

    fn tag(&mut self, field: u32, wire: u64) {
        self.varint(u64::from(field) << 3 | wire);
    }

    /// A number of type `uint32`, `uint64`, `bool`, `enum`, or a non-negative `int32` or `int64`.
    pub(crate) fn uint(mut self, field: u32, value: u64) -> Self {
        self.tag(field, 0);
        self.varint(value);
        self
    }

    /// A number of type `fixed64`.
    pub(crate) fn fixed(mut self, field: u32, value: u64) -> Self {
        self.tag(field, 1);
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(crate) fn text(self, field: u32, text: &str) -> Self {
        self.delimited(field, text.as_bytes())
    }

    pub(crate) fn message(self, field: u32, message: &Self) -> Self {
        self.delimited(field, &message.bytes)
    }

    fn delimited(mut self, field: u32, bytes: &[u8]) -> Self {
        self.tag(field, 2);
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// A decoded field.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Uint(u64),
    Fixed(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message, in order; panics on anything that [`Message`] does not write.
#[cfg(test)]
pub(crate) fn fields(mut bytes: &[u8]) -> Vec<(u64, Value<'_>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return value;
            }
        }
        panic!("a varint of more than ten bytes")
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let value = match tag & 7 {
            0 => Value::Uint(varint(&mut bytes)),
            1 => {
                let (word, rest) = bytes.split_first_chunk::<8>().unwrap();
                bytes = rest;
                Value::Fixed(u64::from_le_bytes(*word))
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)).unwrap();
                let (inner, rest) = bytes.split_at(length);
                bytes = rest;
                Value::Bytes(inner)
            }
            wire => panic!("wire type {wire}"),
        };
        fields.push((tag >> 3, value));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_bytes() {
        // The encoding guide's examples.
        assert_eq!(Message::new().uint(1, 150).into_bytes(), [0x08, 0x96, 0x01]);
        assert_eq!(Message::new().text(2, "testing").into_bytes(), *b"\x12\x07testing");
        let inner = Message::new().uint(1, 150);
        assert_eq!(Message::new().message(3, &inner).into_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
    }

    #[test]
    fn there_and_back() {
        for value in [0, 1, 127, 128, 16_383, 16_384, u64::MAX] {
            let bytes = Message::new().uint(300, value).fixed(47, value).text(1, "é").into_bytes();
            let expected =
                [(300, Value::Uint(value)), (47, Value::Fixed(value)), (1, Value::Bytes("é".as_bytes()))];
            assert_eq!(fields(&bytes), expected);
        }
    }
}
