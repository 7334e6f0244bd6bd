// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use real_time::fifo::{Consumer, Producer};

use crate::object::{About, Alone, Ends, Kind, capacity};

/// The crate `real-time`, `fifo`.
pub(super) struct Fifo;

impl About for Fifo {
    const NAME: &'static str = "real-time fifo";
    const KIND: Kind = Kind::Queue;
    const LINES: [&'static str; 2] = ["L+1 posted", "1 (shared by what waits) + L, 1 posted"];
}

/// The length is part of the type, and cannot be an expression of the size.
macro_rules! of_words {
    ($($words:literal holds $length:literal),*) => {$(
        impl Ends<$words> for Fifo {
            type Writer = Producer<[u64; $words], $length>;
            type Reader = Consumer<[u64; $words], $length>;

            #[inline(always)]
            fn put(writer: &mut Self::Writer, value: &[u64; $words]) -> bool {
                writer.push(*value).is_ok()
            }

            #[inline(always)]
            fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; $words]) -> R) -> Option<R> {
                reader.pop_ref().map(|value| look(&value))
            }
        }

        impl Alone<$words> for Fifo {
            fn pair() -> Result<(Self::Writer, Self::Reader), String> {
                const { assert!($length == capacity($words), "every queue holds as many") };
                Ok(real_time::fifo())
            }
        }
    )*};
}

of_words! { 1 holds 256, 8 holds 256, 32 holds 256, 512 holds 64 }
