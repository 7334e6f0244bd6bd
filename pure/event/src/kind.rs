// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use crate::table::with_all_events;

/// Whether a field is a task that the subject of a record carries.
macro_rules! is_task {
    (task, subject) => {
        true
    };
    ($field:ident, $word:ident) => {
        false
    };
}

macro_rules! kinds {
    ($(
        $(#[$doc:meta])*
        $kind:ident = $number:literal { $($(#[$field_doc:meta])* $field:ident: $type:ty = $word:ident $([$low:literal..$high:literal])?,)* }
    )*) => {
        /// What happened, as a record states it. [`crate::Event`] adds the fields.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Kind {
            $(
                $(#[$doc])*
                #[doc = ""]
                #[doc = concat!("In a record:" $(, " ", stringify!($word) $(, "[", stringify!($low), "..", stringify!($high), "]")?, " has `", stringify!($field), "`;")*)]
                #[doc = "all else is 0."]
                $kind = $number,
            )*
        }

        impl Kind {
            /// All kinds, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// Whether the subject of a record of this kind is a task.
            pub fn is_of_task(self) -> bool {
                match self {
                    $(Self::$kind => false $(|| is_task!($field, $word))*,)*
                }
            }
        }
    };
}

with_all_events!(kinds);

impl Kind {
    /// Each kind at the index of its number.
    const BY_NUMBER: [Option<Self>; 256] = {
        let mut places = [None; 256];
        let mut at = 0;
        while at < Self::ALL.len() {
            places[Self::ALL[at] as usize] = Some(Self::ALL[at]);
            at += 1;
        }
        places
    };

    /// The kind with that number, if there is one.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::BY_NUMBER[usize::from(number)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recordings of all versions have these numbers.
    #[test]
    fn numbers_stay() {
        let numbers: Vec<(u8, String)> =
            Kind::ALL.iter().map(|kind| (*kind as u8, format!("{kind:?}"))).collect();
        let expected = "1 Begin, 2 Release, 3 Start, 4 Complete, 5 Miss, 6 Overrun, 7 Skip, 8 Failed, \
            9 ScopeExceeded, 10 Send, 11 Receive, 12 Drop, 13 Stall, 14 Service, 15 Counted, 16 Lost, 17 End, \
            18 ChainEnd, 19 Preempt, 20 Resume, 21 Locked, 22 Unlock, 23 Spin, 24 Suspend, 25 Granted, \
            26 Exhausted, 27 Budget, 28 Level, 29 Ceiling, 30 CoreLost, 31 Looked, 32 Slept, 33 CoreCounted, \
            34 Moved, 35 ProbeMoved, 36 SafeState, 37 Stood, 38 CoreMoved, 39 Stopped, 40 Foreign, 42 Beside, \
            43 TooMany, 44 Panicked, 45 HeapUsed, 46 ModeFollowed, \
            47 ReceivedBy, 48 LostBy, 49 ValuesRecorded, 50 ValuesLost, 51 Followed";
        let found: Vec<String> = numbers.iter().map(|(number, kind)| format!("{number} {kind}")).collect();
        assert_eq!(found.join(", "), expected);
        assert_eq!((0..=u8::MAX).filter_map(Kind::from_number).count(), Kind::ALL.len());
        for kind in Kind::ALL {
            assert_eq!(Kind::from_number(*kind as u8), Some(*kind));
        }
        assert_eq!(Kind::from_number(u8::MAX), None);
    }

    #[test]
    fn the_subject_of_some_is_a_task() {
        assert!(
            [Kind::Release, Kind::Locked, Kind::Level, Kind::Looked, Kind::Stood].map(Kind::is_of_task)
                == [true; 5]
        );
        let others = [Kind::Begin, Kind::Send, Kind::Service, Kind::Ceiling, Kind::CoreLost, Kind::Budget];
        assert!(others.map(Kind::is_of_task) == [false; 6]);
    }
}
