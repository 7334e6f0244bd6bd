// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Reads the recording ahead of the real-time side.

use taut::Context;
use taut_cochlear::manifest::task;
use taut_cochlear::speech::Speech;

/// Keeps the queue of samples full until the recording or the application ends.
pub(crate) fn source(io: &mut task::source::Io<'_>, context: &mut Context<'_>, speech: Speech) {
    for frame in speech {
        if context.stopping() || io.samples.send_until_stop(context, frame).is_err() {
            return;
        }
    }
}
