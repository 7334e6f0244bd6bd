// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How the words of a record carry the fields of an event.

use taut_time::Duration;

/// Some bits of a word: those from `low` on, up to but without `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bits {
    low: u32,
    high: u32,
}

impl Bits {
    pub(crate) const fn new(low: u32, high: u32) -> Self {
        assert!(low < high && high <= u64::BITS, "no bits of a word");
        Self { low, high }
    }

    /// The largest number in them.
    const fn most(self) -> u64 {
        u64::MAX >> (u64::BITS - (self.high - self.low))
    }

    /// A word in which these bits are 1.
    pub(crate) const fn mask(self) -> u64 {
        self.most() << self.low
    }

    /// The number in these bits of a word.
    pub(crate) const fn of(self, word: u64) -> u64 {
        word >> self.low & self.most()
    }

    /// A word with the number in these bits. A number that does not fit is capped.
    pub(crate) const fn put(self, number: u64) -> u64 {
        let capped = if number > self.most() { self.most() } else { number };
        capped << self.low
    }
}

/// Whether no bit of subject, job and value carries two fields, by the bits of each field.
pub(crate) const fn are_apart(fields: &[[u64; 3]]) -> bool {
    let mut taken = [0; 3];
    let mut at = 0;
    while at < fields.len() {
        let mut word = 0;
        while word < taken.len() {
            if taken[word] & fields[at][word] != 0 {
                return false;
            }
            taken[word] |= fields[at][word];
            word += 1;
        }
        at += 1;
    }
    true
}

/// A field that one word carries, or some bits of a word, which then are a word of their own to it.
pub(crate) trait Word: Sized {
    /// `None` if this version does not know the value.
    fn from_word(word: u64) -> Option<Self>;

    fn to_word(self) -> u64;
}

/// A field that the job's word and the value's word carry together.
pub(crate) trait TwoWords: Sized {
    /// `None` if this version does not know the value.
    fn from_words(job: u64, value: u64) -> Option<Self>;

    fn to_words(self) -> (u64, u64);
}

impl Word for u64 {
    fn from_word(word: u64) -> Option<Self> {
        Some(word)
    }

    fn to_word(self) -> u64 {
        self
    }
}

impl Word for u16 {
    fn from_word(word: u64) -> Option<Self> {
        Self::try_from(word).ok()
    }

    fn to_word(self) -> u64 {
        self.into()
    }
}

/// A count plus 1; 0 if there is no count.
impl Word for Option<u16> {
    fn from_word(word: u64) -> Option<Self> {
        match word.checked_sub(1) {
            None => Some(None),
            Some(count) => u16::try_from(count).ok().map(Some),
        }
    }

    fn to_word(self) -> u64 {
        self.map_or(0, |count| u64::from(count) + 1)
    }
}

/// Every number but 1 is `false`.
impl Word for bool {
    fn from_word(word: u64) -> Option<Self> {
        Some(word == 1)
    }

    fn to_word(self) -> u64 {
        self.into()
    }
}

/// In ns.
impl Word for Duration {
    fn from_word(word: u64) -> Option<Self> {
        Some(Self::from_ns(word))
    }

    fn to_word(self) -> u64 {
        self.as_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_a_word() {
        let bits = Bits::new(4, 12);
        assert_eq!((bits.mask(), bits.of(0xabcd), bits.put(0xbc)), (0xff0, 0xbc, 0xbc0));
        assert_eq!(bits.put(0x100), 0xff0, "capped: the other bits are another field's");
        let whole = Bits::new(0, 64);
        assert_eq!((whole.mask(), whole.of(u64::MAX), whole.put(u64::MAX)), (u64::MAX, u64::MAX, u64::MAX));
    }

    #[test]
    fn fields_that_share_bits_are_found() {
        let [low, high] = [Bits::new(0, 46).mask(), Bits::new(46, 64).mask()];
        assert!(are_apart(&[[u64::MAX, 0, 0], [0, 0, low], [0, 0, high]]));
        assert!(!are_apart(&[[0, 0, low], [0, 0, Bits::new(45, 64).mask()]]));
        assert!(!are_apart(&[[0, 1, 0], [0, u64::MAX, u64::MAX]]));
    }
}
