// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What was measured is a value.

#[macro_use]
#[path = "../../share/tests/given/mod.rs"]
mod given;

use taut_gauge::Spread;

#[test]
fn what_threads_share() {
    threads! {
        Spread: both,
    }
}
