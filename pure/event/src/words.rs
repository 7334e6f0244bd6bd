// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How the words of a record carry the fields of an event.

use taut_time::Duration;

/// A field that one word carries. Fields that share a word use different bits of it.
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

/// A count: 0 if nothing was counted, otherwise the count plus 1.
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
