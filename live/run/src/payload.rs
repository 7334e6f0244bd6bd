// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

use taut_share::{Layout, Plain};

/// A type of value that a channel can carry: plain data of a fixed layout, which the manifest states too.
///
/// `taut::payload!` makes one from named fields; arrays of numbers are payloads already, and so is any plain type
/// that implements [`Layout`]. Of an enum it makes a value that is one of several payloads: [`OneOf`](crate::OneOf).
///
/// Its alignment is at most 8 bytes, and the words of its layout state its size. A type that violates either does
/// not compile as soon as its layout is asked for:
///
/// ```compile_fail,E0080
/// use taut_run::zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
/// use taut_run::{Layout, Payload, Words, zerocopy};
///
/// #[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
/// #[repr(C, align(16))]
/// struct Wide([u8; 16]);
///
/// impl Layout for Wide {
///     const WORDS: Words = <[u8; 16]>::WORDS;
/// }
///
/// assert_eq!(Wide::layout(), "u8*16");
/// ```
/// ```compile_fail,E0080
/// use taut_run::zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
/// use taut_run::{Layout, Payload, Words, zerocopy};
///
/// #[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
/// #[repr(C)]
/// struct Short([u8; 16]);
///
/// impl Layout for Short {
///     const WORDS: Words = <[u8; 8]>::WORDS;
/// }
///
/// assert_eq!(Short::layout(), "u8*8");
/// ```
pub trait Payload: Plain + Layout + FromBytes + IntoBytes + Immutable + KnownLayout {
    /// The layout in one line, as the manifest's: `frame:u64,levels:u8*176`, `i16*128`.
    fn layout() -> String {
        const {
            let (said, size) = (Self::WORDS.bytes(), size_of::<Self>());
            assert!(said == size, "the words of a payload's layout say how many bytes it has");
            // A payload lies behind a stamp, packed, where no object depends on its alignment.
            assert!(align_of::<Self>() <= 8, "a payload is aligned to at most 8 bytes");
        }
        Self::WORDS.to_string()
    }
}

impl<T: Plain + Layout + FromBytes + IntoBytes + Immutable + KnownLayout> Payload for T {}

/// The expansion of `taut::payload!`; `$zerocopy` is the path of that crate, as a string, for its derives.
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

        $crate::layout!($name { $($field: $type),+ });
    };
    ($zerocopy:tt $(#[$meta:meta])* $visible:vis enum $($rest:tt)+) => {
        $crate::one_of_with! { $zerocopy $(#[$meta])* $visible enum $($rest)+ }
    };
}

/// The content of a channel: the value, and what the runtime adds to it.
///
/// Packed, so that it has no padding for any type of value; it is only copied whole.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, packed)]
pub(crate) struct Stamped<T> {
    /// When the value was sent, on the monotonic clock (ns). The sender writes it, so a reader in another process
    /// must not trust it.
    pub(crate) sent_ns: u64,
    /// The number of the value; the sender counts from 1.
    pub(crate) sequence: u64,
    /// The value.
    pub(crate) value: T,
}

impl<T: IntoBytes + Immutable> Stamped<T> {
    /// The bytes of the value.
    pub(crate) fn value_bytes(&self) -> &[u8] {
        &self.as_bytes()[taut_plan::STAMP_BYTES as usize..]
    }
}

/// The place for the value that an end sends or has received. An end keeps it for as long as it lives, so a value
/// is copied between this place and the channel, and moved nowhere on its way. Made before release 0.
pub(crate) struct Own<P>(Box<Aligned<P>>);

/// Aligned as much as a payload may be (`Plain`); the stamp's size is a multiple of that.
#[derive(FromBytes)]
#[repr(C, align(8))]
struct Aligned<P>(Stamped<P>);

impl<P: Payload> Own<P> {
    /// A place full of zeros.
    pub(crate) fn new() -> Self {
        const { assert!(align_of::<P>() <= 8, "a payload is aligned to at most 8 bytes") };
        Self(Box::new(Aligned::new_zeroed()))
    }

    /// The value with its stamp.
    #[inline]
    pub(crate) fn stamped(&self) -> &Stamped<P> {
        &self.0.0
    }

    /// The same, for writing.
    #[inline]
    pub(crate) fn stamped_mut(&mut self) -> &mut Stamped<P> {
        &mut self.0.0
    }

    /// Sets the stamp, and copies the value after it.
    #[inline]
    pub(crate) fn set(&mut self, sent_ns: u64, sequence: u64, value: &P) -> &Stamped<P> {
        let place = &raw mut self.0.0.value;
        // SAFETY:
        // - aligned: `Aligned` is aligned to 8, the value lies 16 bytes after its start (`Stamped` is packed), and
        //   a payload is aligned to at most 8 (asserted in `new`; objects of `taut-share` see a `Stamped`, which is
        //   aligned to 1)
        // - unique: `&mut self` excludes any other reference to it
        taut_share::copy(value, unsafe { &mut *place });
        (self.0.0.sent_ns, self.0.0.sequence) = (sent_ns, sequence);
        &self.0.0
    }

    /// The value.
    #[inline]
    pub(crate) fn value(&self) -> &P {
        let place = &raw const self.0.0.value;
        // SAFETY: aligned, as in `set`; initialised, as every byte of a `Stamped` is; borrowed for as long as
        // `self` is.
        unsafe { &*place }
    }
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
        let mut own = Own::<[u64; 3]>::new();
        assert_eq!(*own.value(), [0; 3]);
        own.set(7, 8, &[1, 2, 3]);
        assert_eq!((*own.value(), { own.stamped().sent_ns }, { own.stamped().sequence }), ([1, 2, 3], 7, 8));
        let sample = Sample { at: 1, left: [2, 3], right: 4.0 };
        assert_eq!((sample.at, sample.left, sample.right), (1, [2, 3], 4.0));
    }
}
