// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use triple_buffer::{Input, Output};

use crate::object::{About, Alone, Ends, Kind};

/// The crate `triple_buffer`: one reader.
pub(super) struct TripleBuffer;

impl About for TripleBuffer {
    const NAME: &'static str = "triple_buffer";
    const KIND: Kind = Kind::State;
    const LINES: [&'static str; 2] = ["L + 1 exchange waited for", "1 exchange + L; 0 if unchanged"];
}

impl<const N: usize> Ends<N> for TripleBuffer {
    type Writer = Input<[u64; N]>;
    type Reader = Output<[u64; N]>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        *writer.input_buffer_mut() = *value;
        writer.publish();
        true
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        Some(look(reader.read()))
    }

    #[inline(always)]
    fn newer<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        reader.update().then(|| look(reader.output_buffer()))
    }
}

impl<const N: usize> Alone<N> for TripleBuffer {
    fn pair() -> Result<(Self::Writer, Self::Reader), String> {
        Ok(triple_buffer::triple_buffer(&[0; N]))
    }
}
