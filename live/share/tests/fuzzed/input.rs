// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Translates bytes to actions.

use super::events::Event;

pub(super) struct Input<'a>(&'a [u8]);

/// A word that a stranger writes.
#[derive(Clone, Copy)]
pub(super) struct Spoil {
    /// Selects the word: see `Ground::spoil`.
    pub(super) at: u8,
    pub(super) what: What,
}

/// What the stranger writes.
#[derive(Clone, Copy)]
pub(super) enum What {
    Value(u64),
    /// The old value plus or minus this much.
    Beside(u64),
    /// The same, applied above the lowest byte.
    BesideAbove(u64),
    /// The old value with one bit flipped.
    Flipped(u8),
    /// The value of another word.
    Other(u8),
}

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn eight(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*first))
    }

    pub(super) fn spoil(&mut self) -> Option<Spoil> {
        let (at, kind) = (self.byte()?, self.byte()?);
        let far = |n: u8| i64::from(n as i8) as u64;
        let what = match kind % 10 {
            0 => What::Value(0),
            1 => What::Value(u64::MAX),
            2 => What::Value(u64::from(self.byte()?)),
            3 => What::Value((1u64 << 63).wrapping_add(far(self.byte()?))),
            4 => What::Beside(far(self.byte()?)),
            5 => What::Beside(if kind & 16 == 0 { 1 } else { u64::MAX }),
            6 => What::BesideAbove(far(self.byte()?)),
            7 => What::Flipped(self.byte()?),
            8 => What::Other(self.byte()?),
            _ => What::Value(self.eight()?),
        };
        Some(Spoil { at, what })
    }

    pub(super) fn event(&mut self) -> Option<Event> {
        let byte = self.byte()?;
        let how = byte >> 3;
        Some(match byte & 7 {
            0..=2 => Event::Operate(0, how),
            3 | 4 => Event::Operate(how, how),
            5 => Event::Succeed(how),
            _ => Event::Spoil(self.spoil()?),
        })
    }
}
