// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A recorder belongs to one thread, and its drain to another.

#[macro_use]
#[path = "../../share/tests/given/mod.rs"]
mod given;

use taut_trace::{Drain, Recorder, RecordingWriter};

#[test]
fn shared_types_are_send_and_sync() {
    threads! {
        Recorder: send,
        Drain: send,
        RecordingWriter<Vec<u8>>: send,
    }
}
