// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::sync::Arc;

use bbqueue::nicknames::{GogiGui, YakiNiku};
use bbqueue::prod_cons::framed::{FramedConsumer, FramedProducer};
use bbqueue::traits::storage::BoxedSlice;

use crate::object::{About, Alone, Ends, Kind, capacity};

/// The crate `bbqueue`, with frames, which may have any length.
pub(super) struct Frames;

impl About for Frames {
    const NAME: &'static str = "bbqueue";
    const KIND: Kind = Kind::Queue;
    const LINES: [&'static str; 2] = ["exchanges waited for + L", "exchanges waited for + L"];
}

impl<const N: usize> Ends<N> for Frames {
    type Writer = FramedProducer<Arc<YakiNiku>>;
    type Reader = FramedConsumer<Arc<YakiNiku>>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        let bytes = size_of_val(value) as u16;
        let Ok(mut grant) = writer.grant(bytes) else { return false };
        for (place, word) in grant.chunks_exact_mut(8).zip(value) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        grant.commit(bytes);
        true
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        let grant = reader.read().ok()?;
        let mut value = [0; N];
        for (word, place) in value.iter_mut().zip(grant.chunks_exact(8)) {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(place);
            *word = u64::from_ne_bytes(bytes);
        }
        grant.release();
        Some(look(&value))
    }
}

impl<const N: usize> Alone<N> for Frames {
    fn pair() -> Result<(Self::Writer, Self::Reader), String> {
        // A frame has a header of 2 bytes, and frames do not wrap around the end.
        let queue = GogiGui::new_with_storage(BoxedSlice::new((capacity(N) + 1) * (8 * N + 2)));
        Ok((queue.framed_producer(), queue.framed_consumer()))
    }
}
