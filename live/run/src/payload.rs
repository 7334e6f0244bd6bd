// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use taut_share::Plain;

/// A type of value that a channel can carry: plain data of a fixed layout, which the manifest states too.
///
/// `taut::payload!` makes one from named fields; arrays of numbers are payloads already.
pub trait Payload: Plain + FromBytes + IntoBytes + Immutable + KnownLayout {
    /// The layout in one line, as the manifest's: `frame:u64,levels:u8*176`, `i16*128`.
    fn layout() -> String;
}

macro_rules! scalars {
    ($($scalar:ident)*) => {$(
        impl Payload for $scalar {
            fn layout() -> String {
                stringify!($scalar).to_owned()
            }
        }

        impl<const N: usize> Payload for [$scalar; N] {
            fn layout() -> String {
                format!("{}*{N}", stringify!($scalar))
            }
        }
    )*};
}

scalars!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

/// What `taut::payload!` expands to; `$zerocopy` is the path of that crate, as a text, for its derives.
#[doc(hidden)]
#[macro_export]
macro_rules! payload_with {
    (
        $zerocopy:tt
        $(#[$meta:meta])*
        $visible:vis struct $name:ident {
            $($(#[$field_meta:meta])* $field_visible:vis $field:ident : $type:ty),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug,
            $crate::zerocopy::FromBytes,
            $crate::zerocopy::IntoBytes,
            $crate::zerocopy::Immutable,
            $crate::zerocopy::KnownLayout,
        )]
        #[zerocopy(crate = $zerocopy)]
        #[repr(C)]
        $visible struct $name {
            $($(#[$field_meta])* $field_visible $field: $type),+
        }

        impl $crate::Payload for $name {
            fn layout() -> ::std::string::String {
                let fields = [$(::std::format!(
                    "{}:{}", ::core::stringify!($field), <$type as $crate::Payload>::layout()
                )),+];
                fields.join(",")
            }
        }
    };
}

/// What stands in a channel: the value and what the runtime adds to it.
///
/// Packed, so that it has no padding whatever the value is; it is only ever copied whole.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, packed)]
pub(crate) struct Stamped<T> {
    /// When it was sent, on the monotonic clock (ns). Written by the sender, so not to be trusted across
    /// processes.
    pub(crate) sent_ns: u64,
    /// Counts the sender's values from 1.
    pub(crate) sequence: u64,
    /// The value.
    pub(crate) value: T,
}

#[cfg(test)]
mod tests {
    use super::*;

    payload_with! {
        "zerocopy"
        /// Three numbers.
        struct Sample { at: u64, left: [i16; 2], right: f32 }
    }

    #[test]
    fn layouts() {
        assert_eq!(Sample::layout(), "at:u64,left:i16*2,right:f32");
        assert_eq!(<[i16; 128]>::layout(), "i16*128");
        assert_eq!(u8::layout(), "u8");
        assert_eq!(size_of::<Stamped<[u8; 3]>>(), taut_plan::STAMP_BYTES as usize + 3);
        let sample = Sample { at: 1, left: [2, 3], right: 4.0 };
        assert_eq!((sample.at, sample.left, sample.right), (1, [2, 3], 4.0));
    }
}
