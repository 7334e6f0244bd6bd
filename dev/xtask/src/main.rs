// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The command `cargo xtask`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::run()
}
