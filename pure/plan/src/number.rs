// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Where a field of a value lies.

use crate::{PAYLOAD_NUMBER_BYTES, payloads_of};

/// A field of a value that is one whole number, in the processor's byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WholeNumber {
    /// Bytes in front of it.
    pub offset: usize,
    /// Its bytes: 1, 2, 4 or 8.
    pub bytes: usize,
    /// Whether it can be negative.
    pub signed: bool,
}

impl WholeNumber {
    /// The field of this name in a layout without structs in it, such as `urgency:u8,what:u8*7`; in one of several payloads,
    /// if all of them have it, of one type at one place. `None` if there is no such field, or if that is something else.
    pub fn in_layout(layout: &str, name: &str) -> Option<Self> {
        let payloads = payloads_of(layout);
        let Some(((_, first), others)) = payloads.split_first() else { return Self::in_fields(layout, name) };
        let found = Self::in_fields(first, name)?;
        let is_same = |(_, other): &(&str, &str)| Self::in_fields(other, name) == Some(found);
        let offset = found.offset.checked_add(PAYLOAD_NUMBER_BYTES as usize)?;
        others.iter().all(is_same).then_some(Self { offset, ..found })
    }

    fn in_fields(layout: &str, name: &str) -> Option<Self> {
        let mut offset = 0_usize;
        for field in layout.split(',') {
            let (its_name, item) = field.split_once(':')?;
            let mut factors = item.split('*');
            let word = factors.next()?;
            let bytes = bytes_of(word)?;
            let is_one = !item.contains('*');
            if its_name == name {
                let is_whole = is_one && !word.starts_with('f');
                return is_whole.then_some(Self { offset, bytes, signed: word.starts_with('i') });
            }
            let count = factors.try_fold(1_usize, |all, factor| all.checked_mul(factor.parse().ok()?))?;
            offset = offset.checked_add(bytes.checked_mul(count)?)?;
        }
        None
    }

    /// The number in the bytes of a value; `None` if the value is too short.
    #[inline]
    pub fn read(self, value: &[u8]) -> Option<i128> {
        let bytes = value.get(self.offset..)?.get(..self.bytes)?;
        let mut wide = [0; 8];
        wide.get_mut(..self.bytes)?.copy_from_slice(bytes);
        let number = if cfg!(target_endian = "little") {
            u64::from_le_bytes(wide)
        } else {
            u64::from_be_bytes(wide) >> (64 - 8 * self.bytes)
        };
        // The sign is the topmost of its own bits.
        let unused = 64 - 8 * self.bytes as u32;
        Some(if self.signed {
            i128::from((number << unused).cast_signed() >> unused)
        } else {
            i128::from(number)
        })
    }
}

fn bytes_of(word: &str) -> Option<usize> {
    Some(match word {
        "u8" | "i8" => 1,
        "u16" | "i16" => 2,
        "u32" | "i32" | "f32" => 4,
        "u64" | "i64" | "f64" => 8,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_where_they_lie() {
        let layout = "at:u64,left:i16*2,urgency:i16,low:u16,share:f32,last:u8*2*2,end:u32";
        let found = |name| WholeNumber::in_layout(layout, name);
        assert_eq!(found("at"), Some(WholeNumber { offset: 0, bytes: 8, signed: false }));
        assert_eq!(found("urgency"), Some(WholeNumber { offset: 12, bytes: 2, signed: true }));
        assert_eq!(found("low"), Some(WholeNumber { offset: 14, bytes: 2, signed: false }));
        assert_eq!(found("end"), Some(WholeNumber { offset: 24, bytes: 4, signed: false }));
        for not_one in ["left", "share", "last", "other", ""] {
            assert_eq!(found(not_one), None, "{not_one}");
        }
        for layout in ["u64*2", "", "at:(x:u8),b:u8", "at:u128,b:u8", "a:u8*x,b:u8", "a:u8*..3,b:u8"] {
            assert_eq!(WholeNumber::in_layout(layout, "b"), None, "{layout}");
        }
        let found = |layout| WholeNumber::in_layout(layout, "b");
        let all = "X{a:u32,b:i16,c:u16}|Y{a:f32,b:i16,d:u8*2}";
        assert_eq!(found(all), Some(WholeNumber { offset: 12, bytes: 2, signed: true }));
        for not_in_all in ["X{a:u32,b:i16,c:u16}|Y{a:f32,b:u16}", "X{a:u32,b:i32}|Y{b:i32}", "X{b:u8}|Y{u8}"]
        {
            assert_eq!(found(not_in_all), None, "{not_in_all}");
        }
    }

    #[test]
    fn numbers_are_read_with_their_sign() {
        let mut value = [0; 12];
        value[2..4].copy_from_slice(&(-2_i16).to_ne_bytes());
        value[4..12].copy_from_slice(&u64::MAX.to_ne_bytes());
        let read = |offset, bytes, signed| WholeNumber { offset, bytes, signed }.read(&value);
        assert_eq!(read(2, 2, true), Some(-2));
        assert_eq!(read(2, 2, false), Some(65_534));
        assert_eq!(read(4, 8, false), Some(i128::from(u64::MAX)));
        assert_eq!(read(4, 8, true), Some(-1));
        assert_eq!(read(4, 1, true), Some(-1));
        assert_eq!(read(8, 8, false), None);
    }
}
