// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::sync::{Arc, Mutex, PoisonError};

use crate::object::{About, Alone, Ends, Kind};

/// The mutex of the standard library.
pub(super) struct StdMutex;

impl About for StdMutex {
    const NAME: &'static str = "std mutex";
    const KIND: Kind = Kind::State;
    const LINES: [&'static str; 2] =
        ["1 exchange waited for + L, and the other side", "1 exchange waited for + L, and the other side"];
}

impl<const N: usize> Ends<N> for StdMutex {
    type Writer = Arc<Mutex<[u64; N]>>;
    type Reader = Arc<Mutex<[u64; N]>>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        *writer.lock().unwrap_or_else(PoisonError::into_inner) = *value;
        true
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        Some(look(&reader.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl<const N: usize> Alone<N> for StdMutex {
    fn pair() -> Result<(Self::Writer, Self::Reader), String> {
        let mutex = Arc::new(Mutex::new([0; N]));
        Ok((mutex.clone(), mutex))
    }
}
