// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::sync::Arc;

use seqlock::SeqLock;

use crate::object::{About, Alone, Ends, Kind};

/// The crate `seqlock`: readers try until they succeed, with volatile reads.
pub(super) struct Seqlock;

impl About for Seqlock {
    const NAME: &'static str = "seqlock";
    const KIND: Kind = Kind::State;
    const LINES: [&'static str; 2] =
        ["1 exchange waited for + L", "L + 1 look again, until not written meanwhile"];
}

impl<const N: usize> Ends<N> for Seqlock {
    type Writer = Arc<SeqLock<[u64; N]>>;
    type Reader = Arc<SeqLock<[u64; N]>>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        *writer.lock_write() = *value;
        true
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        Some(look(&reader.read()))
    }
}

impl<const N: usize> Alone<N> for Seqlock {
    fn pair() -> Result<(Self::Writer, Self::Reader), String> {
        let lock = Arc::new(SeqLock::new([0; N]));
        Ok((lock.clone(), lock))
    }
}
