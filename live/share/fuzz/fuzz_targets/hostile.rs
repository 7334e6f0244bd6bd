// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The driver of `tests/fuzzed`, led by what it covers, under the address sanitizer:
//! `RUSTFLAGS="--cfg steps" cargo +nightly fuzz run hostile` in `live/share`. An input worth keeping goes to
//! `tests/fuzzed/corpus`, where `tests/fuzzed.rs` plays it again on the object with which the file's name begins.
#![no_main]

#[path = "../../tests/account/mod.rs"]
mod account;
#[path = "../../tests/fuzzed/mod.rs"]
mod fuzzed;
#[path = "../../tests/objects/mod.rs"]
mod objects;
#[path = "../../tests/payload/mod.rs"]
mod payload;

#[cfg(not(steps))]
compile_error!("operations are interrupted, and their steps counted, under --cfg steps alone");

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // The first byte selects the object.
    let Some((first, rest)) = bytes.split_first() else { return };
    let all = fuzzed::all();
    fuzzed::play_on(all[usize::from(*first) % all.len()].1, rest);
});
