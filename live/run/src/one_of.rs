// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A value that is one of several payloads, as a message carries it.

use crate::Payload;

/// A value that is one of several payloads: an enum, which `taut::payload!` makes of its variants.
///
/// A channel carries its [`Stored`](OneOf::Stored) form, plain data like any other payload: a number that says which it is,
/// counted from 0 in the order of the variants, and room for the largest. The room behind a smaller one is zeros. Another
/// process may write any number; [`OneOf::from_stored`] gives nothing for one that no variant has.
///
/// ```
/// use taut_run::{OneOf, Payload, payload_with, zerocopy};
///
/// payload_with! {
///     "zerocopy"
///     /// What the receiver is asked for.
///     #[derive(PartialEq)]
///     pub enum Request {
///         /// How loud.
///         Volume(f32),
///         /// Which of the channels.
///         Mute([u8; 3]) = "mute-all",
///     }
/// }
///
/// assert_eq!(<Request as OneOf>::Stored::layout(), "Volume{f32}|mute-all{u8*3}");
/// let stored = Request::Mute([1, 2, 3]).to_stored();
/// assert_eq!(Request::from_stored(&stored), Some(Request::Mute([1, 2, 3])));
/// ```
pub trait OneOf: Copy + Send + 'static {
    /// What a channel carries.
    type Stored: Payload;

    /// The value as a channel carries it. Takes a copy of the variant's payload, and zeros for the rest.
    fn to_stored(&self) -> Self::Stored;

    /// The value that a channel has carried; `None` if its number is that of no variant.
    fn from_stored(stored: &Self::Stored) -> Option<Self>;
}

/// The expansion of `taut::payload!` of an enum; `$zerocopy` is the path of that crate, as a string, for its derives.
#[doc(hidden)]
#[macro_export]
macro_rules! one_of_with {
    (
        $zerocopy:tt
        $(#[$meta:meta])*
        $visible:vis enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident($payload:ty) $(= $word:literal)?),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[allow(clippy::large_enum_variant, reason = "the application chooses its payloads")]
        #[derive(Clone, Copy, Debug)]
        $visible enum $name {
            $($(#[$variant_meta])* $variant($payload)),+
        }

        #[allow(missing_docs, unreachable_pub, reason = "the type of a trait's item, without a name outside")]
        const _: () = {
            const TAUT_WORDS: usize = {
                let mut most = 0;
                $(
                    if ::core::mem::size_of::<$payload>() > most {
                        most = ::core::mem::size_of::<$payload>();
                    }
                )+
                most.div_ceil(8)
            };

            /// The numbers of the variants.
            #[repr(u64)]
            enum TautNumber {
                $($variant),+
            }

            /// A number, and room for the largest payload.
            #[derive(
                Clone, Copy, Debug,
                $crate::zerocopy::FromBytes,
                $crate::zerocopy::IntoBytes,
                $crate::zerocopy::Immutable,
                $crate::zerocopy::KnownLayout,
            )]
            #[zerocopy(crate = $zerocopy)]
            #[repr(C)]
            pub struct TautStored {
                number: u64,
                room: [u64; TAUT_WORDS],
            }

            impl $crate::Layout for TautStored {
                const WORDS: $crate::Words = $crate::Words::OneOf(&[
                    $(($crate::one_of_with!(@word $variant $($word)?), <$payload as $crate::Layout>::WORDS)),+
                ]);
            }

            impl $crate::OneOf for $name {
                type Stored = TautStored;

                fn to_stored(&self) -> TautStored {
                    let mut stored = TautStored { number: 0, room: [0; TAUT_WORDS] };
                    let room = $crate::zerocopy::IntoBytes::as_mut_bytes(&mut stored.room);
                    stored.number = match self {
                        $(
                            Self::$variant(payload) => {
                                // The room is as large as the largest.
                                let _ = $crate::zerocopy::IntoBytes::write_to_prefix(payload, room);
                                TautNumber::$variant as u64
                            }
                        )+
                    };
                    stored
                }

                fn from_stored(stored: &TautStored) -> ::core::option::Option<Self> {
                    let room = $crate::zerocopy::IntoBytes::as_bytes(&stored.room);
                    $(
                        if stored.number == TautNumber::$variant as u64 {
                            let payload = <$payload as $crate::zerocopy::FromBytes>::read_from_prefix(room);
                            return payload.ok().map(|(payload, _)| Self::$variant(payload));
                        }
                    )+
                    ::core::option::Option::None
                }
            }
        };
    };
    (@word $variant:ident) => { ::core::stringify!($variant) };
    (@word $variant:ident $word:literal) => { $word };
}

#[cfg(test)]
mod tests {
    use zerocopy::{FromBytes, IntoBytes};

    use super::*;
    use crate::payload_with;

    payload_with! {
        "zerocopy"
        /// Two numbers.
        #[derive(PartialEq)]
        struct Pair { at: u64, low: u32, high: u32 }
    }

    payload_with! {
        "zerocopy"
        /// Values of several sizes.
        #[derive(PartialEq)]
        enum Request {
            Small(u8),
            Pair(Pair),
            List([i16; 5]) = "list",
        }
    }

    type Stored = <Request as OneOf>::Stored;

    #[test]
    fn what_is_stored_comes_back() {
        let all = [
            Request::Small(7),
            Request::Pair(Pair { at: 1, low: 2, high: 3 }),
            Request::List([-1, 2, -3, 4, -5]),
        ];
        for (number, value) in (0u64..).zip(all) {
            let stored = value.to_stored();
            assert_eq!(stored.as_bytes()[..8], number.to_ne_bytes());
            assert_eq!(Request::from_stored(&stored), Some(value));
        }
    }

    /// Nothing of an earlier value is behind a smaller one: the rest is zeros.
    #[test]
    fn the_rest_of_the_room_is_zeros() {
        assert_eq!(size_of::<Stored>(), 8 + 16);
        let bytes = Request::Small(7).to_stored();
        assert_eq!(bytes.as_bytes()[8..], [7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    /// Any bytes are a stored value, and of those whose number no variant has nothing comes.
    #[test]
    fn no_number_is_taken_for_another() {
        for number in [3, 4, 255, 256, u64::from(u32::MAX) + 1, u64::MAX] {
            let mut bytes = [0xA5; 24];
            bytes[..8].copy_from_slice(&number.to_ne_bytes());
            let stored = Stored::read_from_bytes(&bytes).expect("any bytes");
            assert_eq!(Request::from_stored(&stored), None, "{number}");
            assert!(!<Stored as crate::Layout>::WORDS.admits(&bytes), "{number}");
        }
        for number in 0..3u64 {
            let mut bytes = [0xA5; 24];
            bytes[..8].copy_from_slice(&number.to_ne_bytes());
            let stored = Stored::read_from_bytes(&bytes).expect("any bytes");
            assert!(Request::from_stored(&stored).is_some(), "{number}");
            assert!(<Stored as crate::Layout>::WORDS.admits(&bytes), "{number}");
        }
    }

    #[test]
    fn the_layout_says_which_has_which_fields() {
        assert_eq!(Stored::layout(), "Small{u8}|Pair{at:u64,low:u32,high:u32}|list{i16*5}");
    }
}
