// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which types of this crate threads can send and share.

#[macro_use]
#[path = "../../share/tests/given/mod.rs"]
mod given;

use taut_gauge::Samples;

#[test]
fn shared_types_are_send_and_sync() {
    threads! {
        Samples: both,
    }
}
