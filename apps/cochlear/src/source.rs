// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Reads the recording ahead of the real-time side.

use taut::{Context, Duration};
use taut_cochlear::manifest::task;
use taut_cochlear::speech::Speech;

/// How long to wait while the queue is full: it holds half a second.
const PAUSE: Duration = Duration::from_ms(20);

/// Keeps the queue of samples full until the recording or the application ends.
pub(crate) fn source(io: &mut task::source::Io<'_>, context: &mut Context<'_>, speech: Speech) {
    for mut frame in speech {
        while let Err(refused) = io.samples.send(context, frame) {
            frame = refused.into_value();
            if !context.sleep(PAUSE) {
                return;
            }
        }
        if context.stopping() {
            return;
        }
    }
}
